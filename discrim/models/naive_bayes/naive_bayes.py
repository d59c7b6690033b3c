"""Naive Bayes: the verb `naive_bayes`, its results and the validation of its options.

Columns are independent within classes: normal, categorical, multinomial counts, or kernel densities. A fit
needs the moments of normal columns and a tally of the others. With `missing="available"` each column is
fitted to the rows that have it. If a density does not exist, the error contains the class and the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import constant_columns, dependencies
from discrim.core.moments.derived_moments import with_scatter
from discrim.core.moments.level_counts import as_columns, count_sums
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import Spread
from discrim.core.naive_bayes import naive_bayes as core
from discrim.core.naive_bayes.kernel_density import FACTORS
from discrim.core.naive_bayes.naive_bayes import NaiveBayesFit
from discrim.core.naive_bayes.tally import ColumnPlan, Tally
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import PartRule, Rule
from discrim.data.values import shown
from discrim.design import levels as frame_levels
from discrim.design.blocks import Blocks, without_rows
from discrim.design.levels import Unseen, level_design, term_levels
from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError, sentence
from discrim.models.base import reading
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import FittedModel, Gaps, ModelSpec, scores_by_refits
from discrim.models.base.reading import Data, Divisor, NaAction, Prior, verb_options
from discrim.models.discriminant.normal_fits import drop_hint, first_of_classes
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import NeedsRows, Sample, usable_moments
from discrim.models.naive_bayes.available_rows import available_tally, tally_of_present, usable_available_rows
from discrim.models.results.geometry import ClassCovariances
from discrim.models.results.results import ClassifierResults

NORMAL, TABLE, KERNEL, COUNT = range(4)

AVAILABLE = NeedsRows('missing="available" reads the rows that have each column.', "Leave it out")
KERNELS = NeedsRows(
    "Kernel densities are computed from rows and not from their moments.", "Leave out kernel="
)

SMOOTHING = 1e-9
"""Value of `smoothing` that hints suggest: the default of scikit-learn's `var_smoothing`."""

GRID = 512
"""Number of values at which `density` evaluates a column by default."""

BEYOND = 3.0
"""Margin of that grid outside the extremes, in bandwidths or standard deviations."""


def _levels(fit: FittedModel[NaiveBayesFit]) -> dict[str, Any]:
    """Levels of each categorical column, by term."""
    known = term_levels(fit.design_rows.design)
    return {fit.terms[j]: known[j] or (False, True) for j in fit.estimates.plan.tables.tolist()}


def _rule_of_tally(fit: FittedModel[NaiveBayesFit], blocks: Blocks) -> Rule | None:
    """Refit to rows and return the rule; None if a density does not exist."""
    moments, tally = _tallied(fit, blocks)
    keep = np.arange(moments.n_columns)
    if blocks.incomplete:
        # Constant columns are removed here, because the caller removes them only from complete rows.
        keep = np.setdiff1d(keep, constant_columns(moments))
        moments = moments.columns(keep)
        tally = tally.columns(keep)
    refit = replace(fit.estimates, plan=tally.plan).refit(moments, tally) if len(keep) else None
    if refit is None:
        return None
    rule = refit.rule(fit.log_prior())
    return rule if len(keep) == len(blocks.terms) else PartRule(rule, keep)


def _tallied(fit: FittedModel[NaiveBayesFit], blocks: Blocks) -> tuple[ClassMoments, Tally]:
    """Compute the moments and the tally of rows, which may lack columns of the fit.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    blocks : Blocks
        The rows.

    Returns
    -------
    moments : ClassMoments
        Diagonal class moments of the columns.
    tally : Tally
        Tally of the columns that are not normal.
    """
    places = np.array([fit.terms.get_loc(term) for term in blocks.terms], dtype=np.intp)
    plan = fit.estimates.plan.columns(places)
    if blocks.incomplete:
        return available_tally(blocks, plan)
    tally = Tally(plan, len(fit.classes))
    return reading.class_moments(blocks, "diagonal", tally.wrap), tally


class NaiveBayesResults(ClassCovariances, ClassifierResults):
    """A fitted naive Bayes classifier.

    Attributes
    ----------
    covs : dict of class to DataFrame
        Diagonal covariance of each class, if every column is normal.
    logdet : Series by class
        Log-determinants of the covariances.
    smoothing, laplace : float
        Options of the fit.
    llf, aic, bic : float
        Joint log-likelihood of class and row, without multinomial coefficients, and its criteria. It is
        evaluated at the probabilities of the fit and at variances with divisor n_k, smoothed if the fit is
        smoothed. Not defined for fits with kernel densities.
    df_model : int
        Number of free parameters.
    """

    _fit: FittedModel[NaiveBayesFit]

    def __init__(self, fit: FittedModel[NaiveBayesFit]) -> None:
        super().__init__(fit)
        estimates = fit.estimates
        self.smoothing = estimates.smoothing
        self.laplace = estimates.laplace
        self._levels = _levels(fit)

    # ---- the densities

    @property
    def normal_terms(self) -> pd.Index:
        """The columns that are normal within classes."""
        return self.terms[self._fit.estimates.plan.normal]

    @property
    @displayed(every="count")
    def available(self) -> pd.DataFrame:
        """Number of rows, or their weight, that have a value of each column, by class.

        Shape: classes by columns. Each column is fitted to these rows.
        """
        available = self._fit.estimates.available
        counts = self._fit.counts[:, None] if available is None else available
        values = np.broadcast_to(counts, (len(self.classes), len(self.terms)))
        whole = (values % 1 == 0).all()
        return pd.DataFrame(
            values.astype(np.int64) if whole else values, index=self.classes, columns=self.terms
        )

    @property
    def means(self) -> pd.DataFrame:
        """Class means of the normal columns, classes by normal columns."""
        normal = self._fit.estimates.normal
        return self._by_class(None if normal is None else normal.moments.class_means, self.normal_terms)

    @property
    def sds(self) -> pd.DataFrame:
        """Standard deviations of the normal columns within classes, smoothing included.

        Shape: classes by normal columns.
        """
        normal = self._fit.estimates.normal
        sds = None if normal is None else [c.sd / normal.moments.scale for c in normal.covariances]
        return self._by_class(sds, self.normal_terms)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """P(level | class) of each categorical column, Laplace's correction included.

        Dict of column to DataFrame, classes by levels.
        """
        tables = self._fit.estimates.tables
        shares = () if tables is None else tables.probabilities()
        return {
            term: pd.DataFrame(values, index=self.classes, columns=pd.Index(list(levels), name=term))
            for (term, levels), values in zip(self._levels.items(), shares, strict=True)
        }

    @property
    def bandwidths(self) -> pd.DataFrame:
        """Bandwidths of the kernel densities, classes by columns with kernel densities.

        Standard deviations of the kernels.
        """
        terms = self.terms[self._fit.estimates.plan.kernels]
        kernels = self._fit.estimates.kernels
        return self._by_class(None if kernels is None else kernels.bandwidths(), terms)

    @property
    def multinomial(self) -> pd.DataFrame:
        """Probabilities of the columns of counts by class; they sum to one.

        Shape: classes by columns of counts.
        """
        terms = self.terms[self._fit.estimates.plan.counts]
        counts = self._fit.estimates.counts
        return self._by_class(None if counts is None else counts.probabilities(), terms)

    def _by_class(self, values: Any, terms: pd.Index) -> pd.DataFrame:
        """Label values of columns of one family, classes by terms; an empty table if `values` is None."""
        values = np.zeros((len(self.classes), 0)) if values is None else values
        return pd.DataFrame(values, index=self.classes, columns=terms)

    @displayed()
    def density(self, term: str, at: Any = None) -> pd.DataFrame:
        """Density of a normal or kernel column within each class.

        Parameters
        ----------
        term : str
            Name of the column.
        at : array-like of float, optional
            Values at which the density is evaluated. By default they are 512 evenly spaced values, to three
            bandwidths or standard deviations outside the extreme rows or means.

        Returns
        -------
        DataFrame, values by classes

        Raises
        ------
        DataError
            The column is unknown or has no density, or a value is not a number.
        """
        plan = self._fit.estimates.plan
        numeric = self.terms[np.sort(np.concatenate([plan.normal, plan.kernels]))]
        if not (isinstance(term, str) and term in numeric):
            named = reading.listed(numeric) if len(numeric) else "no column"
            has = f"{named} {'have' if len(numeric) > 1 else 'has'}"
            raise DataError(f"{term!r} has no density ({has} one).", hint="See tables and multinomial.")
        try:
            values = self._grid(term) if at is None else np.asarray(at, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise DataError(
                f"at={at!r} is not valid.", hint=f"Give the values of {term!r} as numbers."
            ) from None
        if term in self.normal_terms:
            mean = self.means[term].to_numpy()
            sd = self.sds[term].to_numpy()
            z = (values[:, None] - mean) / sd
            densities = np.exp(-0.5 * z**2) / (sd * np.sqrt(2 * np.pi))
        else:
            kernels = self._kernels_of(term)
            densities = np.stack([np.exp(kernel.log_density(values)) for kernel in kernels], axis=1)
        return pd.DataFrame(densities, index=pd.Index(values, name=term), columns=self.classes)

    def _kernels_of(self, term: str) -> tuple[Any, ...]:
        """Return the kernel density of a column in each class."""
        kernels = self._fit.estimates.kernels
        return () if kernels is None else kernels.densities[self.bandwidths.columns.get_loc(term)]

    def _grid(self, term: str) -> Floats:
        """Return `GRID` evenly spaced values (m,) that cover the densities of a column in all classes."""
        if term in self.normal_terms:
            low = high = self.means[term].to_numpy()
            width = self.sds[term].to_numpy()
        else:
            kernels = self._kernels_of(term)
            low, high = (np.array([each.points[end] for each in kernels]) for end in (0, -1))
            width = self.bandwidths[term].to_numpy()
        return np.linspace((low - BEYOND * width).min(), (high + BEYOND * width).max(), GRID)

    def _need_complete_numbers(self) -> None:
        """Raise NotSupportedError if a column is categorical or fitted to some of the rows."""
        if len(self._levels):
            raise NotSupportedError(
                f"group_summary() describes numbers, and {reading.listed(self._levels)} "
                f"{'is' if len(self._levels) == 1 else 'are'} categorical.",
                hint="See tables.",
            )
        if self._fit.estimates.available is not None:
            raise NotSupportedError(
                "group_summary() describes complete rows, and here each column is fitted to the rows "
                "that have it.",
                hint="See means, sds and available.",
            )
        super()._need_complete_numbers()

    def _need_covariances(self, what: str) -> None:
        if not self._fit.estimates.is_normal:
            other = self.terms[np.flatnonzero(self._fit.estimates.plan.families)]
            raise NotSupportedError(
                f"{what} needs normal columns, and {reading.listed(other)} "
                f"{'are' if len(other) > 1 else 'is'} not.",
                hint="See means, sds, tables, bandwidths and multinomial.",
            )

    # ---- tables

    @displayed()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and parameter.

        Returns
        -------
        DataFrame
            class, term, and the parameters of the term: mean and sd (including the smoothing) for normal
            columns, level and probability for categorical columns and counts, and bandwidth for kernel
            densities.
        """
        parts = []
        for names, frames in (
            (("mean", "sd"), (self.means, self.sds)),
            (("bandwidth",), (self.bandwidths,)),
            (("probability",), (self.multinomial,)),
        ):
            if frames[0].shape[1]:
                parts.append(self._long(frames[0].columns, "term", names, frames))
        for term, table in self.tables.items():
            part = self._long(table.columns, "level", ("probability",), (table,))
            part.insert(1, "term", term)
            parts.append(part)
        return pd.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]

    def _long(
        self, columns: pd.Index, name: str, names: tuple[str, ...], frames: tuple[pd.DataFrame, ...]
    ) -> pd.DataFrame:
        """Return tables of the same shape in long form, a column for each table.

        Parameters
        ----------
        columns : Index
            Columns of the tables.
        name : str
            Name of the column with these labels.
        names : tuple of str
            Names of the columns with the values.
        frames : tuple of DataFrame
            Tables, classes by columns.

        Returns
        -------
        DataFrame
        """
        index = pd.MultiIndex.from_product([self.classes, columns], names=["class", name])
        values = {each: frame.to_numpy().ravel() for each, frame in zip(names, frames, strict=True)}
        return pd.DataFrame(values, index=index).reset_index()

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: sizes, criteria, smoothing and laplace."""
        return pd.DataFrame([self._glance() | {"smoothing": self.smoothing, "laplace": self.laplace}])

    def _is_plane(self) -> bool:
        return super()._is_plane() and not self._levels


class Options(NamedTuple):
    """Options of `naive_bayes` before their validation."""

    kernel: Any
    bandwidth: Any
    counts: Any
    laplace: Any
    smoothing: Any
    method: str
    unseen: str
    missing: str | None = None


@reading.with_keyword_hints
def naive_bayes(
    formula: str | None = None,
    data: Data | None = None,
    *,
    moments: Moments | None = None,
    kernel: bool | Sequence[str] = False,
    bandwidth: Literal["nrd0", "nrd"] | float | Mapping[str, float] = "nrd0",
    counts: bool | Sequence[str] = False,
    laplace: float = 0.0,
    smoothing: float = 0.0,
    method: Divisor = "moment",
    unseen: Unseen = "raise",
    missing: Literal["drop", "available"] | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> NaiveBayesResults:
    """Naive Bayes: columns independent within classes.

    Numeric columns are normal within classes unless they are named in `kernel` or `counts`. Columns of text,
    categories or truth values, and any column x written as C(x), have a table of P(level | class).

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas. A category is a term of its
        own here and is not multiplied with another column.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments. Kernel densities need rows and
        cannot be computed from moments.
    kernel : bool or list of str
        Columns whose density within a class is the mean of normal kernels about the rows of the class; True
        stands for every numeric column. The sum is exact to rounding, and not approximated on a grid as in
        R's density() and klaR's NaiveBayes.
    bandwidth : {"nrd0", "nrd"}, float, or dict of column to float
        Standard deviation of the kernels. "nrd0" is Silverman's rule of thumb (R's bw.nrd0), and "nrd" is
        Scott's rule (R's bw.nrd); both are applied by class and column. A number is used for all columns. A
        dict has the numbers of some columns, and the others follow "nrd0".
    counts : bool or list of str
        Columns of counts, such as the words of a text; True stands for every numeric column. Given their sum,
        all of them together follow one multinomial distribution in each class.
    laplace : float
        Number that is added to each count of a table and of the multinomial: (n_kl + laplace) / (n_k +
        laplace L); L is the number of levels in the rows of the fit, or of columns of counts. It is zero by
        default: a level that a class never had has probability zero in it.
    smoothing : float
        This share of the largest variance of a normal column (over all rows, divisor N) is added to each
        variance of each class, like scikit-learn's `var_smoothing`, whose default is 1e-9. It depends on the
        units of the columns. It is zero by default.
    method : {"moment", "mle"}
        Divisor of the variances within a class: n_k - 1 for "moment", as in R's e1071, or n_k for "mle", as
        in scikit-learn.
    unseen : {"raise", "missing"}
        How to treat new rows with a level that the rows of the fit do not have: raise an error, or treat the
        value as missing. "missing" is possible for a column, or for C() of a column that no other term uses.
    missing : {"drop", "available"}, optional
        "drop" (the default) leaves rows with a missing value out of the fit and counts them. "available" fits
        each column to the rows that have it, as R's e1071 and klaR do, and leaves out only rows without a
        class; the classes then have the proportions of all rows.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    NaiveBayesResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also an option that
        names a column of the wrong kind or is not a number, and a negative count.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A normal column is constant within a class without smoothing; a class has no bandwidth; or its counts
        are all zero and laplace is zero. The message names the class and the column.
    NotSupportedError
        A category is multiplied with another column.

    Notes
    -----
    Hand & Yu (2001, International Statistical Review 69, 385-398) explain why the method often classifies
    well although its assumption is false. The model of counts is due to McCallum & Nigam (1998, AAAI-98
    Workshop on Learning for Text Categorization, 41-48), and kernel densities in naive Bayes to John &
    Langley (1995, Uncertainty in Artificial Intelligence, 338-345).

    A row with a missing value is predicted from the values that it has: the factor of a missing column is
    left out, counts are conditioned on the sum of the observed counts, and the posterior of a row without any
    value is the prior. The fit, its leave-one-out and its error rates use the complete rows. Under
    `missing="available"` they use all rows with a class, the likelihood is the likelihood of the observed
    values, and the fit needs a pass for each group of columns that are missing in the same rows.

    Leave-one-out equals a refit without each row: bandwidths that follow a rule, the smoothing and the levels
    of each column are computed again, while the prior is fixed. The label and the posteriors of a row that
    alone has some level are missing.

    Columns of a Sparse dtype, for example from `pandas.DataFrame.sparse.from_spmatrix`, are never converted
    to dense arrays at once. The time and memory of fit, prediction and leave-one-out of counts grow with the
    number of stored values.

    The posterior of a row that has probability zero in every class, which can happen only without `laplace`,
    is undefined: it would be 0/0. Its label and posteriors are missing, with a warning, and error rates leave
    it out. R's e1071 replaces each zero by 0.001.

    Examples
    --------
    >>> from discrim import naive_bayes
    >>> from discrim.datasets import load_iris, load_penguins
    >>> fit = naive_bayes("species ~ .", data=load_iris())
    >>> fit.confusion().to_numpy().tolist()
    [[50, 0, 0], [0, 47, 3], [0, 3, 47]]
    >>> mixed = naive_bayes("species ~ bill_length_mm + island + sex", load_penguins(), laplace=1)
    >>> mixed.tables["sex"].round(3).loc["Adelie"].tolist()
    [0.5, 0.5]

    Penguins of unknown sex are used for the column of bills too:

    >>> some = load_penguins()[["species", "sex", "bill_depth_mm"]]
    >>> whole = naive_bayes("species ~ .", some, missing="available")
    >>> whole.nobs, len(some.dropna()), int(whole.available.loc["Adelie", "sex"])
    (344, 333, 146)

    Counts of words, most of which are zero and not stored:

    >>> import pandas as pd
    >>> from scipy.sparse import csr_array
    >>> counts = csr_array([[2, 0, 0], [1, 1, 0], [0, 0, 3], [0, 1, 1]])
    >>> texts = pd.DataFrame.sparse.from_spmatrix(counts, columns=["ham", "egg", "spam"])
    >>> texts["kind"] = ["food", "food", "mail", "mail"]
    >>> naive_bayes("kind ~ .", texts, counts=True, laplace=1).multinomial.round(3).loc["food"].tolist()
    [0.571, 0.286, 0.143]
    """
    options = verb_options(locals())
    reading.check_word("missing", missing, ("drop", "available"), optional=True)
    whole = None if missing == "drop" else missing
    columns = Options(kernel, bandwidth, counts, laplace, smoothing, method, unseen, whole)
    sample = Sample("naive_bayes", "diagonal", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        why = "A kernel density is made of all rows, and" if kernel else None
        blocks = sample.read(why, incomplete=whole == "available")
        blocks, stats, tally = _usable_tally(blocks, columns, na_action)
    else:
        blocks, stats, tally = _given_tally(sample, columns)
    _refuse_no_density(stats, tally, blocks)
    shares, estimated = reading.read_prior(prior, blocks.design.levels, stats.counts)
    fit = core.fit_naive_bayes(stats, tally, shares, estimated_prior=estimated)
    _refuse_no_bandwidth(fit, blocks)
    return NaiveBayesResults(NaiveBayesSpec().fit(fit, blocks, options, has_rows=sample.has_rows))


def _usable_tally(
    blocks: Blocks, options: Options, na_action: NaAction
) -> tuple[Blocks, ClassMoments, Tally]:
    """Return the usable rows with their diagonal moments and their tally.

    Parameters
    ----------
    blocks : Blocks
        The rows; their design is replaced by one with a column of level positions for each category.
    options : Options
        Options of the verb.
    na_action : {"drop", "raise"}
        Treatment of rows with a missing value.

    Returns
    -------
    blocks : Blocks
        Rows without empty classes and constant columns.
    moments : ClassMoments
        Diagonal class moments.
    tally : Tally
        Tally of the columns that are not normal.
    """
    blocks = replace(blocks, design=level_design(blocks.design))
    plan = _plan_of(blocks, options)
    if options.missing is not None:
        return usable_available_rows(blocks, plan, na_action)
    blocks = blocks.with_counts(tuple(blocks.terms[j] for j in plan.counts))
    tally = Tally(plan, len(blocks.design.levels))
    classes = blocks.design.levels
    terms = blocks.terms
    # A constant count is kept, because it contributes to the sum of the counts.
    blocks, moments = reading.usable_rows(
        blocks, "diagonal", na_action, tally.wrap, keep=plan.counts.tolist()
    )
    if not blocks.constant:
        return blocks, moments, tally_of_present(tally, classes, blocks)
    constant = set(blocks.constant)
    kept = [j for j, term in enumerate(terms) if term not in constant]
    tally = Tally(plan.columns(np.array(kept)), len(blocks.design.levels))
    return blocks, reading.class_moments(blocks, "diagonal", tally.wrap), tally


def _given_tally(sample: Sample, options: Options) -> tuple[Blocks, ClassMoments, Tally]:
    """Return the moments and the tally stored in a `Moments` object.

    Parameters
    ----------
    sample : Sample
        Sample with moments instead of rows.
    options : Options
        Options of the verb.

    Returns
    -------
    blocks : Blocks
        The design, without rows.
    moments : ClassMoments
        Diagonal class moments of its columns.
    tally : Tally
        Tally of the columns that are not normal.

    Raises
    ------
    NotSupportedError
        The options require rows, or the moments lack counts of levels.
    """
    kernel = options.kernel
    has_kernels = bool(kernel) if isinstance(kernel, bool | np.bool_ | str | list | tuple) else True
    needs_rows = AVAILABLE if options.missing is not None else KERNELS if has_kernels else None
    given = sample.checked_moments(needs_rows)
    given._need("Naive Bayes", "diagonal")
    design = level_design(given._design)
    blocks = without_rows(design, given._functions, weighted=given._in_weights, dropped=given.dropped)
    plan = _plan_of(blocks, options)
    names, _ = frame_levels.level_terms(design)
    if len(given._level_counts.tables) != len(names):
        raise NotSupportedError(
            f"These moments hold no counts of the levels of {reading.listed(names)}, because a part of "
            "them comes from published statistics.",
            hint="Add up moments of tables only, or leave such columns out.",
        )
    moments = _moments_of_levels(given, blocks.terms, names)
    _refuse_negative(given, plan, blocks, moments)
    tally = Tally(plan, moments.n_classes)
    tally.tables, tally.sums = list(given._level_counts.tables), count_sums(moments, plan.counts)
    classes = design.levels
    terms = blocks.terms
    blocks, moments = usable_moments(given, blocks, moments, keep=plan.counts.tolist())
    tally = tally_of_present(tally, classes, blocks)
    if len(blocks.terms) < len(terms):
        tally = tally.columns(np.array([terms.index(term) for term in blocks.terms]))
    return blocks, moments, tally


def _moments_of_levels(given: Moments, terms: tuple[str, ...], names: tuple[str, ...]) -> ClassMoments:
    """Diagonal moments in which each category is one column of level positions.

    Parameters
    ----------
    given : Moments
        Moments with numeric columns and counts of levels.
    terms : tuple of str
        Columns of the result, p.
    names : tuple of str
        The categorical columns among them.

    Returns
    -------
    ClassMoments
        Numeric columns are copied from `given`; categorical ones are computed from the counts of levels.
    """
    moments = with_scatter(given._moments, "diagonal")
    given_terms = given._design.terms
    if not names:
        return moments
    means, squares = as_columns(given._level_counts.tables, moments.counts)
    numeric = [j for j, term in enumerate(terms) if term not in names]
    source = [given_terms.index(terms[j]) for j in numeric]
    levels = [terms.index(name) for name in names]
    shape = (moments.n_classes, len(terms))
    centres = np.zeros(shape)
    rests = np.zeros(shape)
    scatters = np.zeros(shape)
    scale = np.ones(len(terms))
    centres[:, numeric], rests[:, numeric] = moments.centres[:, source], moments.rests[:, source]
    scatters[:, numeric], scale[numeric] = moments.scatters[:, source], moments.scale[source]
    centres[:, levels] = means
    scatters[:, levels] = squares
    return replace(moments, centres=centres, rests=rests, scale=scale, scatters=scatters)


def _refuse_negative(given: Moments, plan: ColumnPlan, blocks: Blocks, moments: ClassMoments) -> None:
    """Raise DataError if the moments show that a column of counts has negative values.

    Parameters
    ----------
    given : Moments
        The moments, with a flag for each column with negative values.
    plan : ColumnPlan
        The families of the columns.
    blocks : Blocks
        The design, for names.
    moments : ClassMoments
        Diagonal moments of the columns of `blocks`.
    """
    below = given._moments.class_means < 0
    for j in plan.counts.tolist():
        place = given._design.terms.index(blocks.terms[j])
        if not given._level_counts.negative[place] and not below[:, place].any():
            continue
        k = int(np.argmax(moments.class_means[:, j] < 0))
        where = f" (its mean in class {shown(blocks.design.levels[k])} is)" if below[:, place].any() else ""
        raise DataError(
            f"Column {blocks.terms[j]!r} holds values below zero{where}, and a count is 0 or more.",
            hint="Leave it out of counts=, or gather the moments again of corrected rows.",
            columns=(blocks.terms[j],),
        )


def _plan_of(blocks: Blocks, options: Options) -> ColumnPlan:
    """Validate the options and assign each column of a level design to its family."""
    reading.check_word("method", options.method, Divisor)
    reading.check_word("unseen", options.unseen, Unseen)
    terms = list(blocks.terms)
    levels = term_levels(blocks.design)
    families = np.array([NORMAL if each is None else TABLE for each in levels], dtype=np.intp)
    sizes = np.array([0 if each is None else len(each) for each in levels], dtype=np.intp)
    for name in frame_levels.boolean_terms(blocks.design):
        families[terms.index(name)] = TABLE
        sizes[terms.index(name)] = 2
    for family, what, wanted in ((COUNT, "counts", options.counts), (KERNEL, "kernel", options.kernel)):
        families[_wanted(what, wanted, terms, families)] = family
    columns = set(blocks.design.columns)
    made = [terms[j] for j in np.flatnonzero(families == COUNT) if terms[j] not in columns]
    if made:
        raise DataError(
            f"counts= takes columns of the table as they stand, and {reading.listed(made)} is computed.",
            hint="Compute the column before the fit.",
        )
    rule, given = _bandwidths(options.bandwidth, terms, families)
    laplace = reading.check_number("laplace", options.laplace, 0)
    smoothing = reading.check_number("smoothing", options.smoothing, 0)
    return ColumnPlan(families, sizes, given, rule, laplace, smoothing, options.method, options.unseen)


def _wanted(what: str, wanted: Any, terms: list[str], families: Codes) -> list[int] | Codes:
    """Return the positions of the columns that `kernel=` or `counts=` names.

    Parameters
    ----------
    what : str
        Name of the option.
    wanted : bool or sequence of str
        Its value; True stands for all columns that are still normal.
    terms : list of str
        Names of the columns.
    families : (p,) int
        Families assigned so far.

    Returns
    -------
    list of int, or (q,) int

    Raises
    ------
    DataError
        The value is invalid, or a name is not a numeric column.
    """
    if isinstance(wanted, bool | np.bool_):
        return np.flatnonzero((families == NORMAL) & bool(wanted))
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{what}={wanted!r} is not valid.", hint="Give True, or a list of the columns that are meant."
        )
    numeric = [term for term, family in zip(terms, families, strict=True) if family == NORMAL]
    place = {term: j for j, term in enumerate(terms)}
    for name in names:
        if name in place and families[place[name]] != NORMAL:
            kind = "in counts=, too" if families[place[name]] == COUNT else "categorical"
            raise DataError(
                f"{what}= names {name!r}, which is {kind}.", hint="Leave it out of one of the two."
            )
        if name not in place:
            raise DataError(
                f"{what}= names {name!r}, which is not a numeric column of the fit.",
                hint=f"Name some of {reading.listed(numeric)}.",
                columns=(name,),
            )
    return [place[name] for name in names]


def _bandwidths(bandwidth: Any, terms: list[str], families: Codes) -> tuple[str, Floats]:
    """Validate `bandwidth=`.

    Parameters
    ----------
    bandwidth : str, float or mapping
        The option.
    terms : list of str
        Names of the columns.
    families : (p,) int
        Families of the columns.

    Returns
    -------
    rule : str
        Rule for the bandwidths that are not fixed.
    bandwidths : (p,) float64
        Fixed bandwidth of each column; 0 for columns that follow the rule.
    """
    given = np.zeros(len(terms))
    kernels = [terms[j] for j in np.flatnonzero(families == KERNEL)]
    if isinstance(bandwidth, str):
        reading.check_word("bandwidth", bandwidth, tuple(FACTORS))
    if not kernels and not (isinstance(bandwidth, str) and bandwidth == "nrd0"):
        raise DataError(
            f"bandwidth={bandwidth!r} goes with kernel densities, and no column has one.",
            hint="Name its columns in kernel=, or leave bandwidth= out.",
        )
    if isinstance(bandwidth, str):
        return bandwidth, given
    wanted = bandwidth if isinstance(bandwidth, Mapping) else dict.fromkeys(kernels, bandwidth)
    for name, value in wanted.items():
        if name not in kernels:
            raise DataError(
                f"bandwidth= names {name!r}, which has no kernel density: kernel= makes one of "
                f"{reading.listed(kernels)}.",
                hint="Name the column there too.",
            )
        also = f" for {name!r}, or one of {reading.listed(FACTORS)}"
        given[terms.index(name)] = reading.check_number("bandwidth", value, 0, ends="()", also=also)
    return "nrd0", given


def _refuse_no_density(moments: ClassMoments, tally: Tally, blocks: Blocks) -> None:
    """Raise CollinearError, with class and column, if a normal or multinomial density does not exist.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal class moments.
    tally : Tally
        Tally of the columns that are not normal.
    blocks : Blocks
        The design, for names.
    """
    plan = tally.plan
    terms = np.array(blocks.terms, dtype=object)
    levels = blocks.design.levels
    if len(plan.normal):
        names = tuple(terms[plan.normal])
        available: Any = np.inf if tally.available is None else tally.available[:, plan.normal]
        few = np.argwhere(available <= (1 if plan.method == "moment" else 0))
        if len(few):
            k, j = few[0]
            raise CollinearError(
                f"{names[j]!r} has values in rows of class {levels[k]!r} that weigh {available[k, j]:g} "
                "together, too few for a variance.",
                hint=f'Leave the column out, or pass method="mle" with smoothing={SMOOTHING:g}.',
                options={"method": "mle"},
                classes=(levels[k],),
            )
        _refuse_no_variance(moments.columns(plan.normal), names, levels, plan)
    empty = tally.sums.sum(axis=1) + plan.laplace <= 0
    if len(plan.counts) and empty.any():
        raise CollinearError(
            f"The counts {reading.listed(terms[plan.counts])} are all zero in class "
            f"{levels[int(empty.argmax())]!r}.",
            hint="Pass laplace=1, for example, or leave the class out.",
            options={"laplace": 1},
            classes=(levels[int(empty.argmax())],),
        )


def _refuse_no_bandwidth(fit: NaiveBayesFit, blocks: Blocks) -> None:
    """Raise CollinearError, with classes and columns, if a rule yields no bandwidth for a kernel density."""
    lacking = fit.without_bandwidth()
    if not lacking.any():
        return
    names = [blocks.terms[j] for j in fit.plan.kernels]
    counts = fit.moments.counts
    rows = fit.moments.rows
    light = (counts <= 1) & (rows > 1) & lacking.any(axis=1)
    if light.any():
        k = int(light.argmax())
        raise CollinearError(
            f"The rows of class {blocks.design.levels[k]!r} have weights that sum to {counts[k]:g}, and "
            "a bandwidth by a rule takes more than one row.",
            hint=(
                "Pass weights that count rows, for example divided by their mean, or give the "
                f"bandwidths, as in bandwidth={{{names[0]!r}: ...}}."
            ),
            classes=(blocks.design.levels[k],),
        )
    said = [
        f"{reading.listed(name for name, none in zip(names, bare, strict=True) if none)} "
        f"{'has' if bare.sum() == 1 else 'have'} one row or one value only in class {label!r}"
        for label, bare in zip(blocks.design.levels, lacking, strict=True)
        if bare.any()
    ]
    given = ", ".join(f"{names[j]!r}: ..." for j in np.flatnonzero(lacking.any(axis=0)))
    raise CollinearError(
        f"{first_of_classes(said)}, too few for a bandwidth.",
        hint=f"Give one, as in bandwidth={{{given}}}, or leave such columns out.",
    )


def _refuse_no_variance(
    moments: ClassMoments, terms: tuple[str, ...], levels: Sequence[Any], plan: ColumnPlan
) -> None:
    """Raise CollinearError if a normal column has no variance in some class.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal class moments of the normal columns.
    terms : tuple of str
        Names of these columns.
    levels : sequence
        The classes.
    plan : ColumnPlan
        Divisor and smoothing of the variances.
    """
    said: list[str] = []
    constant: set[int] = set()
    faulty: list[Any] = []
    few = light = False
    for k, label in enumerate(levels):
        count = moments.counts[k]
        if count <= 1 and plan.method == "moment":
            few = True
            faulty.append(label)
            light = light or moments.rows[k] != count
            has = f"has weights that sum to {count:g}" if moments.rows[k] != count else "has 1 row"
            said.append(f"class {label!r} {has}, too few for a variance, which takes more than one")
            continue
        here = [] if plan.smoothing else [each.column for each in dependencies(moments, k, diagonal=True)]
        if here:
            constant.update(here)
            faulty.append(label)
            verb = "is" if len(here) == 1 else "are"
            said.append(f"{reading.listed(terms[j] for j in here)} {verb} constant in class {label!r}")
    if said:
        text = first_of_classes(said)
        smoothing = f"smoothing={SMOOTHING:g}"
        counted = ", or weights that count rows, for example divided by their mean" if light else ""
        way_out = (
            f'pass method="mle"{"" if plan.smoothing else f" with {smoothing}"}{counted}'
            if few
            else f"pass {smoothing}, this share of the largest variance being added to each (scikit-learn's)"
        )
        tells = reading.separation_note(moments, tuple(terms))
        hint = "" if few or tells else drop_hint([terms[j] for j in sorted(constant)], len(terms))
        raise CollinearError(
            f"{text[0].upper()}{text[1:]}: a normal density needs a variance.{tells}",
            hint=sentence(f"{way_out}{hint}"),
            columns=[terms[j] for j in sorted(constant)],
            classes=faulty,
        )
    if plan.smoothing and not core.has_variances(moments, plan):
        raise CollinearError(
            f"smoothing={plan.smoothing:g} of the largest variance leaves a variance of "
            f"{reading.listed(terms)} at zero or infinite: no column varies, the share is too small or "
            "too large, or the columns' units are too far apart.",
            hint="Give another share, or columns of like units.",
        )


class NaiveBayesSpec(ModelSpec[NaiveBayesFit]):
    """Naive Bayes: how it is fitted, refitted, scored and saved."""

    name = "naive_bayes"
    title = "Naive Bayes"
    results_class = NaiveBayesResults
    integrates_missing = True
    constructor = staticmethod(core.naive_bayes_of_tables)
    file_moments = "diagonal"
    allows_constant = True

    def summary_sections(self) -> tuple[Any, Any]:
        """Return the sections of the full and of the short summary."""
        from discrim.models.naive_bayes.naive_bayes_summary import naive_bayes_brief, naive_bayes_sections

        return naive_bayes_sections, naive_bayes_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the plots; the first that suits a fit is its default."""
        from discrim.models.naive_bayes.plots import NAIVE_BAYES_PLOTS

        return NAIVE_BAYES_PLOTS

    def fit(
        self, estimates: NaiveBayesFit, rows: Blocks, arguments: Mapping[str, Any], **options: Any
    ) -> FittedModel[NaiveBayesFit]:
        """Return a fitted model; see `ModelSpec.fit` for the parameters.

        Parameters
        ----------
        estimates : NaiveBayesFit
            The estimates.
        rows : Blocks
            The rows, or a design without rows.
        arguments : mapping
            Options of the verb.
        **options
            Further parameters of `ModelSpec.fit`.

        Raises
        ------
        DataError
            The tables of a loaded fit do not match the levels of its design.
        """
        fit = super().fit(estimates, rows, arguments, **options)
        sizes = estimates.plan.sizes[estimates.plan.tables].tolist()
        of_levels = [len(levels) for levels in _levels(fit).values()] == sizes
        if not (of_levels and frame_levels.codes_are_positions(rows.design)):
            raise DataError(
                "A saved fit of naive Bayes is damaged: its tables do not fit its levels.",
                hint="Save the fit again.",
            )
        return fit

    def read_rows(self, fit: FittedModel[NaiveBayesFit], data: Any, gaps: Gaps) -> Blocks:
        """Return the rows of new data; a row with missing values is used unless `gaps` forbids it."""
        unseen: Unseen = "missing" if (gaps.unseen or fit.estimates.unseen) == "missing" else "raise"
        rows = super().read_rows(fit, data, Gaps(unseen, gaps.missing or "integrate"))
        if data is None:
            return rows
        plain = [term for term, levels in _levels(fit).items() if levels == (False, True)]
        frame_levels.refuse_values(rows.table, plain, counts=False)
        frame_levels.refuse_values(rows.table, fit.terms[fit.estimates.plan.counts].tolist(), counts=True)
        return rows

    def shows_log_posteriors(self, fit: FittedModel[NaiveBayesFit]) -> bool:
        """Return whether `decision_function` returns log posteriors instead of scores of the rule."""
        return False

    def required_moments(self, fit: FittedModel[NaiveBayesFit]) -> Spread | None:
        """Return "diagonal" if a refit needs only moments; None if it needs the rows."""
        is_of_moments = fit.estimates.is_normal and fit.estimates.available is None
        return "diagonal" if is_of_moments else None

    def refit_with_fixed(self, fit: FittedModel[NaiveBayesFit], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows; None if a density does not exist."""
        if self.required_moments(fit) is not None:
            return super().refit_with_fixed(fit, rows)
        return _rule_of_tally(fit, rows)

    def leave_one_out(self, fit: FittedModel[NaiveBayesFit]) -> LeftOut | Floats:
        """Return the scores of each row by the rule fitted without it."""
        estimates = fit.estimates
        if estimates.available is not None and estimates.smoothing and estimates.normal is not None:
            reason = "of smoothed variances of columns that rows miss takes a refit a row"
            return scores_by_refits(fit, reason)
        return super().leave_one_out(fit)

    def informative(self, fit: FittedModel[NaiveBayesFit]) -> Sequence[int]:
        """Return the positions of columns of counts, which a refit uses even if they are constant."""
        positions: list[int] = fit.estimates.plan.counts.tolist()
        return positions

    def why_no_rule(self, fit: FittedModel[NaiveBayesFit], rows: Blocks) -> DiscrimError | None:
        """Return the error that explains why a refit to these rows fails; None if the reason is unknown."""
        try:
            _refuse_no_density(*_tallied(fit, rows), rows)
        except CollinearError as error:
            return error
        return None

    def recode(
        self, fit: FittedModel[NaiveBayesFit], rows: Blocks, *, fixed: bool
    ) -> tuple[FittedModel[NaiveBayesFit], Blocks]:
        """Adapt a fit to rows that lack levels of the fit: its tables have the levels that remain.

        Parameters
        ----------
        fit : FittedModel
            The fitted model.
        rows : Blocks
            Rows of some of the levels.
        fixed : bool
            Not used.

        Returns
        -------
        fit : FittedModel
            The fit with the table sizes of the rows.
        rows : Blocks
            The rows with a level design.
        """
        rows = replace(rows, design=level_design(rows.design))
        rows = rows.columns([j for j, term in enumerate(rows.terms) if term in fit.terms])
        plan = fit.estimates.plan.columns(np.array([fit.terms.get_loc(term) for term in rows.terms]))
        levels = dict(zip(rows.design.terms, term_levels(rows.design), strict=True))
        counts = np.array([len(levels[term] or ()) for term in rows.terms], dtype=np.intp)
        # Boolean columns always have two levels.
        plan = replace(plan, sizes=np.where(counts > 0, counts, plan.sizes))
        return self.fit(replace(fit.estimates, plan=plan), rows, fit.options), rows

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays stored in a file."""
        return {"available": (k, p)}
