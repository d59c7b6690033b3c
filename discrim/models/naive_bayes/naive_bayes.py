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
from discrim.core.moments.derived_moments import reduce_moments
from discrim.core.moments.level_counts import count_sums, level_position_moments
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import ScatterType
from discrim.core.naive_bayes import naive_bayes as core
from discrim.core.naive_bayes.kernel_density import BANDWIDTH_FACTORS
from discrim.core.naive_bayes.naive_bayes import NaiveBayesFit
from discrim.core.naive_bayes.tally import ColumnPlan, Tally
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import ColumnSubsetRule, Rule
from discrim.data.values import format_value
from discrim.design import levels as frame_levels
from discrim.design.design_rows import DesignRows, design_without_rows
from discrim.design.levels import Unseen, level_design, term_levels
from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError, sentence
from discrim.models.base import reading
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec, refit_scorer
from discrim.models.base.reading import Data, Divisor, NaAction, Prior, verb_options
from discrim.models.discriminant.normal_fits import drop_hint, join_class_problems
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import NeedsRows, Sample, usable_moments
from discrim.models.naive_bayes.available_rows import (
    select_present_classes,
    tally_available_values,
    usable_available_rows,
)
from discrim.models.results.geometry import ClassCovariances
from discrim.models.results.results import ClassifierResults

NORMAL, TABLE, KERNEL, COUNT = range(4)
"""Codes of the families of columns in `ColumnPlan.families`: normal, categorical, kernel density, count."""

AVAILABLE_NEEDS_ROWS = NeedsRows(
    'missing="available" requires the rows, because each column is fitted to the rows in which it is '
    "observed.",
    "Leave out missing=",
)
"""Message and hint of the error for `missing="available"` with `moments=`."""

KERNELS_NEED_ROWS = NeedsRows(
    "Kernel densities require the rows; moments do not determine them.", "Leave out kernel="
)
"""Message and hint of the error for `kernel=` with `moments=`."""

SUGGESTED_SMOOTHING = 1e-9
"""Value of `smoothing` that hints suggest: the default of scikit-learn's `var_smoothing`."""

N_DENSITY_VALUES = 512
"""Number of values at which `density` evaluates a column by default."""

DENSITY_GRID_MARGIN = 3.0
"""Distance of the ends of the default grid of `density` from the extreme values of each class.

In bandwidths from the extreme rows for kernel densities, in standard deviations from the mean for normal.
"""


def _levels_by_term(fit: FittedModel[NaiveBayesFit]) -> dict[str, Any]:
    """Return the tuple of levels of each categorical column, by term; a boolean column has (False, True)."""
    levels_by_position = term_levels(fit.design_rows.design)
    return {
        fit.terms[j]: levels_by_position[j] or (False, True)
        for j in fit.estimates.plan.categorical_positions.tolist()
    }


def _refit_rule(fit: FittedModel[NaiveBayesFit], design_rows: DesignRows) -> Rule | None:
    """Return the rule of a refit to rows, under the prior of the fit.

    It is None if a class is empty or in some class a normal column lacks a positive variance, a kernel
    density lacks a bandwidth, or all counts are zero without `laplace`. If
    `design_rows.uses_incomplete_rows`, constant columns are left out of the refit, and the result is also
    None if no column varies. The rule accepts all columns of `design_rows` in any case.
    """
    moments, tally = _tally_rows(fit, design_rows)
    keep = np.arange(moments.n_columns)
    if design_rows.uses_incomplete_rows:
        # Constant columns are removed here, because the caller removes them only from complete rows.
        keep = np.setdiff1d(keep, constant_columns(moments))
        moments = moments.select_columns(keep)
        tally = tally.columns(keep)
    refit = replace(fit.estimates, plan=tally.plan).refit(moments, tally) if len(keep) else None
    if refit is None:
        return None
    rule = refit.rule(fit.log_prior())
    return rule if len(keep) == len(design_rows.terms) else ColumnSubsetRule(rule, keep)


def _tally_rows(fit: FittedModel[NaiveBayesFit], design_rows: DesignRows) -> tuple[ClassMoments, Tally]:
    """Compute the moments and the tally of rows, with the families and options of a fit.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        Rows with the classes of the fit and all or some of its columns.

    Returns
    -------
    moments : ClassMoments
        Diagonal class moments of the columns of `design_rows`.
    tally : Tally
        Tally of the same columns; it has `available` only if `design_rows.uses_incomplete_rows`.
    """
    positions = np.array([fit.terms.get_loc(term) for term in design_rows.terms], dtype=np.intp)
    plan = fit.estimates.plan.columns(positions)
    if design_rows.uses_incomplete_rows:
        return tally_available_values(design_rows, plan)
    tally = Tally(plan, len(fit.classes))
    return reading.class_moments(design_rows, "diagonal", tally.wrap), tally


class NaiveBayesResults(ClassCovariances, ClassifierResults):
    """A fitted naive Bayes classifier.

    Attributes
    ----------
    covs : dict of class to DataFrame
        Diagonal covariance of each class; NotSupportedError unless every column is normal.
    logdet : Series by class
        Natural log-determinants of `covs`, under the same condition.
    smoothing, laplace : float
        Options of the fit.
    llf, aic, bic : float
        Joint log-likelihood of class and row, without multinomial coefficients, and its criteria. It is
        evaluated at the probabilities of the fit and at variances with divisor n_k, smoothed if the fit is
        smoothed. Not defined for fits with kernel densities.
    df_model : int
        Number of free parameters of the densities and, if the prior is the class proportions, of the prior.
        Not defined for fits with kernel densities.
    """

    _fit: FittedModel[NaiveBayesFit]

    def __init__(self, fit: FittedModel[NaiveBayesFit]) -> None:
        """Wrap a fit, with its smoothing, Laplace correction and levels of categorical columns."""
        super().__init__(fit)
        estimates = fit.estimates
        self.smoothing = estimates.smoothing
        self.laplace = estimates.laplace
        self._levels_by_term = _levels_by_term(fit)

    # ---- the densities

    @property
    def normal_terms(self) -> pd.Index:
        """The columns that are normal within classes."""
        return self.terms[self._fit.estimates.plan.normal_positions]

    @property
    @with_display_formats(every="count")
    def available(self) -> pd.DataFrame:
        """Number of rows, or their weight, to which each column is fitted, by class.

        Shape: classes by columns; integers if all are whole. With missing="available" these are the rows with
        a value of the column; otherwise every column has the class counts.
        """
        available = self._fit.estimates.available
        counts = self._fit.counts[:, None] if available is None else available
        values = np.broadcast_to(counts, (len(self.classes), len(self.terms)))
        is_integral = (values % 1 == 0).all()
        return pd.DataFrame(
            values.astype(np.int64) if is_integral else values, index=self.classes, columns=self.terms
        )

    @property
    def means(self) -> pd.DataFrame:
        """Class means of the normal columns, classes by normal columns; without columns if none is normal."""
        normal = self._fit.estimates.normal
        return self._class_table(None if normal is None else normal.moments.class_means, self.normal_terms)

    @property
    def sds(self) -> pd.DataFrame:
        """Standard deviations of the normal columns within classes, smoothing included.

        Shape: classes by normal columns. The divisor of the variances follows `method=`.
        """
        normal = self._fit.estimates.normal
        sds = None if normal is None else [c.sd / normal.moments.scale for c in normal.covariances]
        return self._class_table(sds, self.normal_terms)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """P(level | class) of each categorical column, Laplace's correction included.

        Dict of column to DataFrame, classes by levels; empty without categorical columns.
        """
        tables = self._fit.estimates.tables
        probabilities = () if tables is None else tables.probabilities()
        return {
            term: pd.DataFrame(values, index=self.classes, columns=pd.Index(list(levels), name=term))
            for (term, levels), values in zip(self._levels_by_term.items(), probabilities, strict=True)
        }

    @property
    def bandwidths(self) -> pd.DataFrame:
        """Bandwidths of the kernel densities, classes by columns with kernel densities (maybe none).

        They are the standard deviations of the kernels, in the units of the columns.
        """
        terms = self.terms[self._fit.estimates.plan.kernel_positions]
        kernels = self._fit.estimates.kernels
        return self._class_table(None if kernels is None else kernels.bandwidths(), terms)

    @property
    def multinomial(self) -> pd.DataFrame:
        """Probabilities of the columns of counts, Laplace's correction included; each class sums to one.

        Shape: classes by columns of counts; zero columns for a fit without counts.
        """
        terms = self.terms[self._fit.estimates.plan.count_positions]
        counts = self._fit.estimates.counts
        return self._class_table(None if counts is None else counts.probabilities(), terms)

    def _class_table(self, values: Any, terms: pd.Index) -> pd.DataFrame:
        """Return values (K, q) as a table of classes by terms; without columns if `values` is None."""
        values = np.zeros((len(self.classes), 0)) if values is None else values
        return pd.DataFrame(values, index=self.classes, columns=terms)

    @with_display_formats()
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
            Densities, not multiplied by the prior. The index has the values and the name of the column.

        Raises
        ------
        DataError
            The column is unknown, categorical or a count, or a value is not a number.
        """
        plan = self._fit.estimates.plan
        numeric = self.terms[np.sort(np.concatenate([plan.normal_positions, plan.kernel_positions]))]
        if not (isinstance(term, str) and term in numeric):
            numeric_names = reading.join_labels(numeric) if len(numeric) else "no column"
            density_text = f"{numeric_names} {'have' if len(numeric) > 1 else 'has'}"
            raise DataError(
                f"density() is not available for {term!r}: {density_text} a density.",
                hint="See tables and multinomial.",
            )
        try:
            values = self._density_grid(term) if at is None else np.asarray(at, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise DataError(
                f"at={at!r} is not valid.", hint=f"Pass the values of {term!r} as numbers."
            ) from None
        if term in self.normal_terms:
            mean = self.means[term].to_numpy()
            sd = self.sds[term].to_numpy()
            z = (values[:, None] - mean) / sd
            densities = np.exp(-0.5 * z**2) / (sd * np.sqrt(2 * np.pi))
        else:
            kernels = self._kernel_densities(term)
            densities = np.stack([np.exp(kernel.log_density(values)) for kernel in kernels], axis=1)
        return pd.DataFrame(densities, index=pd.Index(values, name=term), columns=self.classes)

    def _kernel_densities(self, term: str) -> tuple[Any, ...]:
        """Return the K kernel densities of a column, in the order of the classes.

        The tuple is empty if no column of the fit has kernel densities; KeyError is raised if only other
        columns have them.
        """
        kernels = self._fit.estimates.kernels
        return () if kernels is None else kernels.densities[self.bandwidths.columns.get_loc(term)]

    def _density_grid(self, term: str) -> Floats:
        """Return `N_DENSITY_VALUES` evenly spaced values that cover a column's densities in all classes."""
        if term in self.normal_terms:
            low = high = self.means[term].to_numpy()
            width = self.sds[term].to_numpy()
        else:
            kernels = self._kernel_densities(term)
            low, high = (np.array([kernel.points[position] for kernel in kernels]) for position in (0, -1))
            width = self.bandwidths[term].to_numpy()
        return np.linspace(
            (low - DENSITY_GRID_MARGIN * width).min(),
            (high + DENSITY_GRID_MARGIN * width).max(),
            N_DENSITY_VALUES,
        )

    def _require_complete_numbers(self) -> None:
        """Raise NotSupportedError for `group_summary()` unless all columns are numeric and the rows complete.

        It is also raised if the fit does not have its rows.
        """
        if len(self._levels_by_term):
            raise NotSupportedError(
                f"group_summary() requires numeric columns, but {reading.join_labels(self._levels_by_term)} "
                f"{'is' if len(self._levels_by_term) == 1 else 'are'} categorical.",
                hint="See tables.",
                columns=list(self._levels_by_term),
            )
        if self._fit.estimates.available is not None:
            raise NotSupportedError(
                'group_summary() requires complete rows. With missing="available" each column is fitted to '
                "the rows in which it is observed.",
                hint="See means, sds and available.",
            )
        super()._require_complete_numbers()

    def _require_covariances(self, method: str) -> None:
        """Raise NotSupportedError, whose message starts with `method`, unless every column is normal."""
        if not self._fit.estimates.is_normal:
            non_normal = self.terms[np.flatnonzero(self._fit.estimates.plan.families)]
            raise NotSupportedError(
                f"{method} requires normal columns, but {reading.join_labels(non_normal)} "
                f"{'are' if len(non_normal) > 1 else 'is'} not normal.",
                hint="See means, sds, tables, bandwidths and multinomial.",
                columns=list(non_normal),
            )

    # ---- tables

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class and parameter.

        Returns
        -------
        DataFrame
            Columns class, term, and the parameters of the term: mean and sd (including the smoothing) for
            normal columns, bandwidth for kernel densities, probability for counts, and level and probability
            for categorical columns. Columns of parameters that a term does not have are NaN.
        """
        tables = []
        for names, frames in (
            (("mean", "sd"), (self.means, self.sds)),
            (("bandwidth",), (self.bandwidths,)),
            (("probability",), (self.multinomial,)),
        ):
            if frames[0].shape[1]:
                tables.append(self._to_long_table(frames[0].columns, "term", names, frames))
        for term, table in self.tables.items():
            level_table = self._to_long_table(table.columns, "level", ("probability",), (table,))
            level_table.insert(1, "term", term)
            tables.append(level_table)
        return pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]

    def _to_long_table(
        self,
        columns: pd.Index,
        label_name: str,
        value_names: tuple[str, ...],
        tables: tuple[pd.DataFrame, ...],
    ) -> pd.DataFrame:
        """Convert tables of the same shape to one table in long form.

        Parameters
        ----------
        columns : Index
            Columns of the tables.
        label_name : {"term", "level"}
            Name of the result's column with the labels in `columns`.
        value_names : tuple of str
            Names of the result's columns with the values, one for each table.
        tables : tuple of DataFrame
            Tables, classes by columns.

        Returns
        -------
        DataFrame
            One row for each class and column, the columns of a class together: "class", `label_name`, and the
            value in each table.
        """
        index = pd.MultiIndex.from_product([self.classes, columns], names=["class", label_name])
        values = {
            value_name: frame.to_numpy().ravel()
            for value_name, frame in zip(value_names, tables, strict=True)
        }
        return pd.DataFrame(values, index=index).reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit.

        Columns: nobs, classes, terms, df_model, llf, aic, bic (NaN for kernel densities), smoothing, laplace.
        """
        return pd.DataFrame([self._glance() | {"smoothing": self.smoothing, "laplace": self.laplace}])

    def _is_plane(self) -> bool:
        """Return whether the formula reads exactly two columns, both numeric: a plane then shows the rule."""
        return super()._is_plane() and not self._levels_by_term


class NaiveBayesOptions(NamedTuple):
    """Options of `naive_bayes` as the user passed them, before they are validated.

    Each field has the value of the argument of the same name. Only `missing` has been validated; it is
    "available", or None for "drop".
    """

    kernel: Any
    bandwidth: Any
    counts: Any
    laplace: Any
    smoothing: Any
    method: str
    unseen: str
    missing: str | None = None


@reading.with_public_errors
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
        A normal column is constant within a class without smoothing; a class lacks a bandwidth; or its counts
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
    missing_policy = None if missing == "drop" else missing
    column_options = NaiveBayesOptions(
        kernel, bandwidth, counts, laplace, smoothing, method, unseen, missing_policy
    )
    sample = Sample("naive_bayes", "diagonal", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        reason = "A kernel density uses all rows, and" if kernel else None
        design_rows = sample.read(reason, incomplete=missing_policy == "available")
        design_rows, stats, tally = _tally_usable_rows(design_rows, column_options, na_action)
    else:
        design_rows, stats, tally = _tally_from_moments(sample, column_options)
    _raise_if_no_density(stats, tally, design_rows)
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    fit = core.fit_naive_bayes(stats, tally, priors, estimated_prior=estimated)
    _raise_if_no_bandwidth(fit, design_rows)
    return NaiveBayesResults(NaiveBayesSpec().fit(fit, design_rows, options, has_rows=sample.has_rows))


def _tally_usable_rows(
    design_rows: DesignRows, options: NaiveBayesOptions, na_action: NaAction
) -> tuple[DesignRows, ClassMoments, Tally]:
    """Validate the options and compute the statistics of the rows that naive Bayes requires.

    Rows with missing values are dropped (unless the option `missing` is "available"), and, with a warning,
    empty classes and columns that are constant over all rows. Constant counts are kept.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    options : NaiveBayesOptions
        Options of `naive_bayes`.
    na_action : {"drop", "raise"}
        Treatment of rows with a missing value; "raise" is a DataError if there is one.

    Returns
    -------
    design_rows : DesignRows
        Rows without empty classes and dropped columns; a categorical predictor is one column of level
        positions 0, 1, ...
    moments : ClassMoments
        Diagonal class moments of all remaining columns, whatever their family.
    tally : Tally
        Counts of levels, sums and values of the remaining columns that are not normal, and their plan.

    Raises
    ------
    DataError, CollinearError, NotSupportedError
        For the reasons that `naive_bayes` documents. Variances, bandwidths and sums of counts that are zero
        are not checked here.
    """
    design_rows = replace(design_rows, design=level_design(design_rows.design))
    plan = _read_plan(design_rows, options)
    if options.missing is not None:
        return usable_available_rows(design_rows, plan, na_action)
    design_rows = design_rows.with_count_columns(tuple(design_rows.terms[j] for j in plan.count_positions))
    tally = Tally(plan, len(design_rows.design.levels))
    classes = design_rows.design.levels
    terms = design_rows.terms
    # A constant count is kept, because it contributes to the sum of the counts.
    design_rows, moments = reading.usable_rows(
        design_rows, "diagonal", na_action, tally.wrap, keep=plan.count_positions.tolist()
    )
    if not design_rows.constant_terms:
        return design_rows, moments, select_present_classes(tally, classes, design_rows)
    constant = set(design_rows.constant_terms)
    varying = [j for j, term in enumerate(terms) if term not in constant]
    tally = Tally(plan.columns(np.array(varying)), len(design_rows.design.levels))
    return design_rows, reading.class_moments(design_rows, "diagonal", tally.wrap), tally


def _tally_from_moments(sample: Sample, options: NaiveBayesOptions) -> tuple[DesignRows, ClassMoments, Tally]:
    """Return the design, the class moments and the tally that the user passed as `moments=`.

    Empty classes and constant columns except counts are dropped with a warning.

    Parameters
    ----------
    sample : Sample
        Sample with moments instead of rows.
    options : NaiveBayesOptions
        Options of `naive_bayes`.

    Returns
    -------
    design_rows : DesignRows
        The design, without rows; a categorical predictor is one column of level positions.
    moments : ClassMoments
        Diagonal class moments of its columns.
    tally : Tally
        Counts of levels and sums of the columns that are not normal.

    Raises
    ------
    NotSupportedError
        The options require rows, or the moments lack variances or counts of levels.
    DataError
        An option is not valid, or a column of counts has negative values.
    """
    kernel = options.kernel
    has_kernels = bool(kernel) if isinstance(kernel, bool | np.bool_ | str | list | tuple) else True
    needs_rows = (
        AVAILABLE_NEEDS_ROWS if options.missing is not None else KERNELS_NEED_ROWS if has_kernels else None
    )
    user_moments = sample.validated_moments(needs_rows)
    user_moments._require_scatters("Naive Bayes", "diagonal")
    design = level_design(user_moments._design)
    design_rows = design_without_rows(
        design,
        user_moments._functions,
        weighted=user_moments._has_weighted_counts,
        n_dropped_rows=user_moments.dropped,
    )
    plan = _read_plan(design_rows, options)
    names, _ = frame_levels.level_terms(design)
    if len(user_moments._level_counts.tables) != len(names):
        raise NotSupportedError(
            f"These moments do not contain counts of the levels of {reading.join_labels(names)}, because "
            "some of them come from published statistics.",
            hint="Add up moments of tables only, or leave out such columns.",
            columns=list(names),
        )
    moments = _moments_with_level_columns(user_moments, design_rows.terms, names)
    _raise_if_negative_counts(user_moments, plan, design_rows, moments)
    tally = Tally(plan, moments.n_classes)
    tally.tables, tally.sums = (
        list(user_moments._level_counts.tables),
        count_sums(moments, plan.count_positions),
    )
    classes = design.levels
    terms = design_rows.terms
    design_rows, moments = usable_moments(
        user_moments, design_rows, moments, keep=plan.count_positions.tolist()
    )
    tally = select_present_classes(tally, classes, design_rows)
    if len(design_rows.terms) < len(terms):
        tally = tally.columns(np.array([terms.index(term) for term in design_rows.terms]))
    return design_rows, moments, tally


def _moments_with_level_columns(
    user_moments: Moments, terms: tuple[str, ...], categorical_terms: tuple[str, ...]
) -> ClassMoments:
    """Return diagonal moments in which each category is one column of level positions 0, 1, ...

    Parameters
    ----------
    user_moments : Moments
        Moments with numeric columns and counts of levels.
    terms : tuple of str
        Columns of the result, in order.
    categorical_terms : tuple of str
        The categorical columns among them, in the order of the tables of level counts.

    Returns
    -------
    ClassMoments
        Numeric columns are copied from `user_moments`; categorical ones are computed from the counts of
        levels, with scale 1.
    """
    moments = reduce_moments(user_moments._moments, "diagonal")
    user_terms = user_moments._design.terms
    if not categorical_terms:
        return moments
    means, squares = level_position_moments(user_moments._level_counts.tables, moments.counts)
    numeric = [j for j, term in enumerate(terms) if term not in categorical_terms]
    source = [user_terms.index(terms[j]) for j in numeric]
    levels = [terms.index(name) for name in categorical_terms]
    shape = (moments.n_classes, len(terms))
    centres = np.zeros(shape)
    residual_means = np.zeros(shape)
    scatters = np.zeros(shape)
    scale = np.ones(len(terms))
    centres[:, numeric], residual_means[:, numeric] = moments.centres[:, source], moments.rests[:, source]
    scatters[:, numeric], scale[numeric] = moments.scatters[:, source], moments.scale[source]
    centres[:, levels] = means
    scatters[:, levels] = squares
    return replace(moments, centres=centres, rests=residual_means, scale=scale, scatters=scatters)


def _raise_if_negative_counts(
    user_moments: Moments, plan: ColumnPlan, design_rows: DesignRows, moments: ClassMoments
) -> None:
    """Raise DataError if the moments show that a column of counts has negative values.

    Parameters
    ----------
    user_moments : Moments
        The moments, with a flag for each column with negative values. Moments of published statistics lack
        flags; their class means are checked.
    plan : ColumnPlan
        The families of the columns of `design_rows`.
    design_rows : DesignRows
        The design, for names.
    moments : ClassMoments
        Diagonal moments of the columns of `design_rows`, whose means select the class in the message.
    """
    has_negative_mean = user_moments._moments.class_means < 0
    for j in plan.count_positions.tolist():
        position = user_moments._design.terms.index(design_rows.terms[j])
        if not user_moments._level_counts.negative[position] and not has_negative_mean[:, position].any():
            continue
        k = int(np.argmax(moments.class_means[:, j] < 0))
        mean_text = (
            f" (its mean in class {format_value(design_rows.design.levels[k])} is negative)"
            if has_negative_mean[:, position].any()
            else ""
        )
        raise DataError(
            f"Column {design_rows.terms[j]!r} has negative values{mean_text} and cannot be a count.",
            hint="Leave it out of counts=, or correct the rows and compute the moments again.",
            columns=(design_rows.terms[j],),
        )


def _read_plan(design_rows: DesignRows, options: NaiveBayesOptions) -> ColumnPlan:
    """Validate the options; return the family of each column and the options of the densities.

    The families are normal, categorical, kernel and count. The design of the rows is a `level_design`, in
    which a categorical column has positions of levels. Boolean columns are categorical with two levels.
    DataError is raised if an option is not valid, or if `counts=` names a term that the formula computes.
    """
    reading.check_word("method", options.method, Divisor)
    reading.check_word("unseen", options.unseen, Unseen)
    terms = list(design_rows.terms)
    levels = term_levels(design_rows.design)
    families = np.array(
        [NORMAL if column_levels is None else TABLE for column_levels in levels], dtype=np.intp
    )
    sizes = np.array(
        [0 if column_levels is None else len(column_levels) for column_levels in levels], dtype=np.intp
    )
    for name in frame_levels.boolean_terms(design_rows.design):
        families[terms.index(name)] = TABLE
        sizes[terms.index(name)] = 2
    for family, option, requested in ((COUNT, "counts", options.counts), (KERNEL, "kernel", options.kernel)):
        families[_option_positions(option, requested, terms, families)] = family
    columns = set(design_rows.design.columns)
    computed = [terms[j] for j in np.flatnonzero(families == COUNT) if terms[j] not in columns]
    if computed:
        raise DataError(
            f"counts= requires columns of the table, but {reading.join_labels(computed)} "
            f"{'is' if len(computed) == 1 else 'are'} computed by the formula.",
            hint="Add the computed column to the table before the fit.",
            columns=computed,
        )
    rule, bandwidths = _read_bandwidths(options.bandwidth, terms, families)
    laplace = reading.check_number("laplace", options.laplace, 0)
    smoothing = reading.check_number("smoothing", options.smoothing, 0)
    return ColumnPlan(families, sizes, bandwidths, rule, laplace, smoothing, options.method, options.unseen)


def _option_positions(option: str, requested: Any, terms: list[str], families: Codes) -> list[int] | Codes:
    """Return the positions of the columns that `kernel=` or `counts=` names.

    Parameters
    ----------
    option : {"kernel", "counts"}
        Name of the option.
    requested : bool, str or sequence of str
        Its value; True stands for all columns that are still normal, False for none, a str for one name.
    terms : list of str
        Names of the p columns.
    families : (p,) int
        Families assigned so far: `NORMAL`, `TABLE` or `COUNT`.

    Returns
    -------
    list of int, or (q,) int
        Positions in `terms`: of names in the order of the names, for True in increasing order.

    Raises
    ------
    DataError
        The value is invalid, or a name is not a numeric column or was assigned to another option.
    """
    if isinstance(requested, bool | np.bool_):
        return np.flatnonzero((families == NORMAL) & bool(requested))
    names = [requested] if isinstance(requested, str) else requested
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{option}={requested!r} is not valid.", hint="Pass True, or a list of names of columns."
        )
    numeric = [term for term, family in zip(terms, families, strict=True) if family == NORMAL]
    position_by_term = {term: j for j, term in enumerate(terms)}
    for name in names:
        if name in position_by_term and families[position_by_term[name]] != NORMAL:
            conflict = "also in counts=" if families[position_by_term[name]] == COUNT else "categorical"
            raise DataError(
                f"{option}= contains {name!r}, which is {conflict}.",
                hint=f"Leave {name!r} out of {option}=.",
                columns=(name,),
            )
        if name not in position_by_term:
            raise DataError(
                f"{option}= contains {name!r}, which is not a numeric column of the formula.",
                hint=f"The numeric columns are {reading.join_labels(numeric)}.",
                columns=(name,),
            )
    return [position_by_term[name] for name in names]


def _read_bandwidths(bandwidth: Any, terms: list[str], families: Codes) -> tuple[str, Floats]:
    """Validate `bandwidth=`.

    Parameters
    ----------
    bandwidth : str, float or mapping
        The option.
    terms : list of str
        Names of the p columns.
    families : (p,) int
        Families of the columns.

    Returns
    -------
    rule : {"nrd0", "nrd"}
        Rule for the bandwidths that are not fixed; "nrd0" if `bandwidth` is a number or a mapping.
    bandwidths : (p,) float64
        Fixed bandwidth of each column; 0 for columns that follow the rule or lack a kernel density.

    Raises
    ------
    DataError
        `bandwidth` is not valid, names a column without a kernel density, or is not the default although no
        column has a kernel density.
    """
    fixed_bandwidths = np.zeros(len(terms))
    kernels = [terms[j] for j in np.flatnonzero(families == KERNEL)]
    if isinstance(bandwidth, str):
        reading.check_word("bandwidth", bandwidth, tuple(BANDWIDTH_FACTORS))
    if not kernels and not (isinstance(bandwidth, str) and bandwidth == "nrd0"):
        raise DataError(
            f"bandwidth={bandwidth!r} requires kernel densities, but no column has one.",
            hint="Name columns in kernel=, or leave out bandwidth=.",
        )
    if isinstance(bandwidth, str):
        return bandwidth, fixed_bandwidths
    requested = bandwidth if isinstance(bandwidth, Mapping) else dict.fromkeys(kernels, bandwidth)
    for name, value in requested.items():
        if name not in kernels:
            raise DataError(
                f"bandwidth= contains {name!r}, which has no kernel density. The columns of kernel= are "
                f"{reading.join_labels(kernels)}.",
                hint=f"Add {name!r} to kernel=, or leave it out of bandwidth=.",
                columns=(name,),
            )
        alternative = f" for {name!r}, or one of {reading.join_labels(BANDWIDTH_FACTORS)}"
        fixed_bandwidths[terms.index(name)] = reading.check_number(
            "bandwidth", value, 0, ends="()", also=alternative
        )
    return "nrd0", fixed_bandwidths


def _raise_if_no_density(moments: ClassMoments, tally: Tally, design_rows: DesignRows) -> None:
    """Raise CollinearError, with class and column, if a normal or multinomial density does not exist.

    A normal density requires a positive variance (see `_raise_if_no_variance`) and, with
    missing="available", observed values with a weight above one for the divisor n - 1, above zero for n. The
    multinomial requires a count above zero in each class, or `laplace` above zero.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal class moments of all columns.
    tally : Tally
        Sums of counts, observed weights of columns if values are missing, and the plan of the columns.
    design_rows : DesignRows
        The design, for names.
    """
    plan = tally.plan
    terms = np.array(design_rows.terms, dtype=object)
    levels = design_rows.design.levels
    if len(plan.normal_positions):
        names = tuple(terms[plan.normal_positions])
        available: Any = np.inf if tally.available is None else tally.available[:, plan.normal_positions]
        too_few = np.argwhere(available <= (1 if plan.method == "moment" else 0))
        if len(too_few):
            k, j = too_few[0]
            raise CollinearError(
                f"The observed values of {names[j]!r} in class {levels[k]!r} have a total weight of "
                f"{available[k, j]:g}, which is too small to estimate a variance.",
                hint=f'Leave out the column, or pass method="mle" with smoothing={SUGGESTED_SMOOTHING:g}.',
                options={"method": "mle"},
                columns=(names[j],),
                classes=(levels[k],),
            )
        _raise_if_no_variance(moments.select_columns(plan.normal_positions), names, levels, plan)
    is_empty = tally.sums.sum(axis=1) + plan.laplace <= 0
    if len(plan.count_positions) and is_empty.any():
        raise CollinearError(
            f"The counts {reading.join_labels(terms[plan.count_positions])} are all zero in class "
            f"{levels[int(is_empty.argmax())]!r}.",
            hint="Pass laplace=1, for example, or leave out the class.",
            options={"laplace": 1},
            columns=list(terms[plan.count_positions]),
            classes=(levels[int(is_empty.argmax())],),
        )


def _raise_if_no_bandwidth(fit: NaiveBayesFit, design_rows: DesignRows) -> None:
    """Raise CollinearError if a rule yields no bandwidth for a kernel density.

    This happens in a class whose rows have one value of the column, or whose weights sum to at most one. The
    error has the classes and, unless the weights are the reason, the columns.
    """
    lacking = fit.without_bandwidth()
    if not lacking.any():
        return
    names = [design_rows.terms[j] for j in fit.plan.kernel_positions]
    counts = fit.moments.counts
    rows = fit.moments.rows
    has_light_weights = (counts <= 1) & (rows > 1) & lacking.any(axis=1)
    if has_light_weights.any():
        k = int(has_light_weights.argmax())
        raise CollinearError(
            f"The weights of class {design_rows.design.levels[k]!r} sum to {counts[k]:g}, but the rule for "
            "the bandwidth requires a sum above one.",
            hint=(
                "Pass weights that count rows, for example divided by their mean, or pass the "
                f"bandwidths, for example bandwidth={{{names[0]!r}: ...}}."
            ),
            classes=(design_rows.design.levels[k],),
        )
    problems = [
        f"{reading.join_labels(names[j] for j in np.flatnonzero(lacks_bandwidth))} "
        f"{'has' if lacks_bandwidth.sum() == 1 else 'have'} only one row or one value in class {label!r}"
        for label, lacks_bandwidth in zip(design_rows.design.levels, lacking, strict=True)
        if lacks_bandwidth.any()
    ]
    example = ", ".join(f"{names[j]!r}: ..." for j in np.flatnonzero(lacking.any(axis=0)))
    raise CollinearError(
        f"{join_class_problems(problems)}, which is not enough to estimate a bandwidth.",
        hint=f"Pass the bandwidth, for example bandwidth={{{example}}}, or leave out such columns.",
        columns=[names[j] for j in np.flatnonzero(lacking.any(axis=0))],
        classes=[
            label
            for label, lacks_bandwidth in zip(design_rows.design.levels, lacking, strict=True)
            if lacks_bandwidth.any()
        ],
    )


def _raise_if_no_variance(
    moments: ClassMoments, terms: tuple[str, ...], levels: Sequence[Any], plan: ColumnPlan
) -> None:
    """Raise CollinearError if a normal column lacks a positive variance in some class.

    It is raised if the weight of a class is at most one and the divisor is n - 1; without smoothing, if a
    column is constant in a class; with smoothing, if a smoothed variance is zero or infinite.

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
    problems: list[str] = []
    constant: set[int] = set()
    affected_classes: list[Any] = []
    has_small_class = has_light_weights = False
    for k, label in enumerate(levels):
        count = moments.counts[k]
        if count <= 1 and plan.method == "moment":
            has_small_class = True
            affected_classes.append(label)
            has_light_weights = has_light_weights or moments.rows[k] != count
            problem = f"has weights that sum to {count:g}" if moments.rows[k] != count else "has 1 row"
            problems.append(f"class {label!r} {problem}, but a variance requires more than one")
            continue
        class_constant = (
            []
            if plan.smoothing
            else [dependency.column for dependency in dependencies(moments, k, diagonal=True)]
        )
        if class_constant:
            constant.update(class_constant)
            affected_classes.append(label)
            verb = "is" if len(class_constant) == 1 else "are"
            problems.append(
                f"{reading.join_labels(terms[j] for j in class_constant)} {verb} constant in class {label!r}"
            )
    if problems:
        text = join_class_problems(problems)
        smoothing = f"smoothing={SUGGESTED_SMOOTHING:g}"
        weight_advice = (
            ", or weights that count rows, for example divided by their mean" if has_light_weights else ""
        )
        hint = (
            f'pass method="mle"{"" if plan.smoothing else f" with {smoothing}"}{weight_advice}'
            if has_small_class
            else f"pass {smoothing}, which adds this share of the largest variance to each variance"
        )
        separation_note = reading.separation_note(moments, tuple(terms))
        drop_advice = (
            ""
            if has_small_class or separation_note
            else drop_hint([terms[j] for j in sorted(constant)], len(terms))
        )
        raise CollinearError(
            f"{text[0].upper()}{text[1:]}. A normal density requires a positive variance.{separation_note}",
            hint=sentence(f"{hint}{drop_advice}"),
            columns=[terms[j] for j in sorted(constant)],
            classes=affected_classes,
        )
    if plan.smoothing and not core.has_variances(moments, plan):
        raise CollinearError(
            f"With smoothing={plan.smoothing:g} a variance of {reading.join_labels(terms)} is zero or "
            "infinite: no column varies, the smoothing is too small or too large, or the scales of the "
            "columns differ too much.",
            hint="Use another smoothing, or rescale the columns.",
        )


class NaiveBayesSpec(ModelSpec[NaiveBayesFit]):
    """Specification of naive Bayes: how it is fitted, refitted, scored and saved."""

    name = "naive_bayes"
    title = "Naive Bayes"
    results_class = NaiveBayesResults
    integrates_missing = True
    constructor = staticmethod(core.restore_naive_bayes)
    file_moments = "diagonal"
    allows_constant = True

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `naive_bayes_sections` and `naive_bayes_brief`, for the full and the short summary.

        Both are functions of the results and the fit that return section functions by name.
        """
        from discrim.models.naive_bayes.naive_bayes_summary import naive_bayes_brief, naive_bayes_sections

        return naive_bayes_sections, naive_bayes_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        In addition to `shared.WITH_POSTERIORS`, they are "table", "ellipses" and "density".
        """
        from discrim.models.naive_bayes.plots import NAIVE_BAYES_PLOTS

        return NAIVE_BAYES_PLOTS

    def fit(
        self, estimates: NaiveBayesFit, rows: DesignRows, arguments: Mapping[str, Any], **options: Any
    ) -> FittedModel[NaiveBayesFit]:
        """Return a fitted model; see `ModelSpec.fit` for the parameters.

        Parameters
        ----------
        estimates : NaiveBayesFit
            The estimates.
        rows : DesignRows
            The rows, or a design without rows.
        arguments : mapping
            Options of the verb.
        **options
            Further parameters of `ModelSpec.fit`.

        Returns
        -------
        FittedModel
            With this specification, `estimates`, `rows` and `arguments`.

        Raises
        ------
        DataError
            The tables of a loaded fit do not match the levels of its design.
        """
        fit = super().fit(estimates, rows, arguments, **options)
        sizes = estimates.plan.sizes[estimates.plan.categorical_positions].tolist()
        sizes_match = [len(levels) for levels in _levels_by_term(fit).values()] == sizes
        if not (sizes_match and frame_levels.codes_are_positions(rows.design)):
            raise DataError(
                "The saved naive Bayes fit is damaged: its tables do not match its levels.",
                hint="Fit and save the model again.",
            )
        return fit

    def read_rows(
        self, fit: FittedModel[NaiveBayesFit], data: Any, missing_policy: MissingPolicy
    ) -> DesignRows:
        """Return the rows of new data, or of the fit if `data` is None.

        Parameters
        ----------
        fit : FittedModel
            The fitted model.
        data : table or None
            New data.
        missing_policy : MissingPolicy
            Options for missing values and unseen levels. None means: missing columns are integrated out, and
            unseen levels are treated according to the option `unseen` of the fit.

        Returns
        -------
        DesignRows
            The rows of the fit, or of `data` in the design of the fit.

        Raises
        ------
        DataError
            A boolean column of the new data has other values, or a column of counts has negative values.
        """
        unseen: Unseen = (
            "missing" if (missing_policy.unseen or fit.estimates.unseen) == "missing" else "raise"
        )
        rows = super().read_rows(fit, data, MissingPolicy(unseen, missing_policy.missing or "integrate"))
        if data is None:
            return rows
        boolean_terms = [term for term, levels in _levels_by_term(fit).items() if levels == (False, True)]
        frame_levels.check_booleans_or_counts(rows.table, boolean_terms, counts=False)
        frame_levels.check_booleans_or_counts(
            rows.table, fit.terms[fit.estimates.plan.count_positions].tolist(), counts=True
        )
        return rows

    def shows_log_posteriors(self, fit: FittedModel[NaiveBayesFit]) -> bool:
        """Return False: `decision_function` shows the scores of the rule instead of log posteriors."""
        return False

    def required_moments(self, fit: FittedModel[NaiveBayesFit]) -> ScatterType | None:
        """Return "diagonal" if all columns are normal and fitted to complete rows; otherwise None.

        None means that a refit needs the rows.
        """
        needs_only_moments = fit.estimates.is_normal and fit.estimates.available is None
        return "diagonal" if needs_only_moments else None

    def refit_with_fixed(self, fit: FittedModel[NaiveBayesFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit to rows under the prior of the fit.

        Nothing else is fixed: levels, bandwidths that follow a rule and smoothing are computed again. None if
        a variance, bandwidth or sum of counts of a class is zero; see `_refit_rule`.
        """
        if self.required_moments(fit) is not None:
            return super().refit_with_fixed(fit, rows)
        return _refit_rule(fit, rows)

    def leave_one_out(self, fit: FittedModel[NaiveBayesFit]) -> LeaveOneOutScorer | Floats:
        """Return the function that scores each row by the rule fitted without it.

        With missing="available", smoothing and normal columns a closed form does not exist. All scores are
        then NaN, so that the caller refits without each row, and more than 2,000 rows raise
        NotSupportedError.
        """
        estimates = fit.estimates
        if estimates.available is not None and estimates.smoothing and estimates.normal is not None:
            work = "with smoothed variances of columns with missing values requires a refit for each row"
            return refit_scorer(fit, work)
        return super().leave_one_out(fit)

    def kept_if_constant(self, fit: FittedModel[NaiveBayesFit]) -> Sequence[int]:
        """Return the positions of columns of counts, which a refit uses even if they are constant."""
        positions: list[int] = fit.estimates.plan.count_positions.tolist()
        return positions

    def refit_error(self, fit: FittedModel[NaiveBayesFit], rows: DesignRows) -> DiscrimError | None:
        """Return the error that explains why a refit to these rows fails.

        None if all normal and multinomial densities exist; the refit then failed because a kernel density
        lacks a bandwidth.
        """
        try:
            _raise_if_no_density(*_tally_rows(fit, rows), rows)
        except CollinearError as error:
            return error
        return None

    def recode(
        self, fit: FittedModel[NaiveBayesFit], rows: DesignRows, *, fixed: bool
    ) -> tuple[FittedModel[NaiveBayesFit], DesignRows]:
        """Adapt a fit to rows that lack levels of the fit: its tables have the levels that remain.

        Parameters
        ----------
        fit : FittedModel
            The fitted model.
        rows : DesignRows
            Rows of some of the levels.
        fixed : bool
            Not used.

        Returns
        -------
        fit : FittedModel
            The fit with the columns and the numbers of levels of the rows. Its other estimates are from
            the original fit and have to be refitted.
        rows : DesignRows
            The rows with a level design, without columns that the fit does not have.
        """
        rows = replace(rows, design=level_design(rows.design))
        rows = rows.select_columns([j for j, term in enumerate(rows.terms) if term in fit.terms])
        plan = fit.estimates.plan.columns(np.array([fit.terms.get_loc(term) for term in rows.terms]))
        levels = dict(zip(rows.design.terms, term_levels(rows.design), strict=True))
        counts = np.array([len(levels[term] or ()) for term in rows.terms], dtype=np.intp)
        # Boolean columns always have two levels.
        plan = replace(plan, sizes=np.where(counts > 0, counts, plan.sizes))
        return self.fit(replace(fit.estimates, plan=plan), rows, fit.options), rows

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shape (k, p) of "available" in a file of k classes and p columns.

        Only fits with missing="available" store this array.
        """
        return {"available": (k, p)}
