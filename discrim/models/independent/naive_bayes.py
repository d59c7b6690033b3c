"""Naive Bayes: columns independent within classes, normal, categorical, counts, or of any density."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from discrim.core.independent.naive_bayes import (
    NaiveBayesFit,
    fit_naive_bayes,
    naive_bayes_buffers,
    naive_bayes_from_file,
)
from discrim.core.independent.tally import ColumnPlan, Tally
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.frame.levels import Unseen, codes_are_positions, refuse_values, term_levels
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Gaps, Model, as_scored, read_rows
from discrim.models.fits.options import verb_options
from discrim.models.fits.reading import NaAction, check_word, class_moments, listed, prior_vector
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.independent import naive_bayes_sample
from discrim.models.independent.naive_bayes_sample import Options
from discrim.models.moments.given import Sample, by_moments
from discrim.models.moments.moments import Moments
from discrim.models.results.geometry import ClassCovariances
from discrim.models.results.results import ClassifierResults
from discrim.models.saving.fit_file import Saved

GRID = 512
"""Values at which `density` shows a column."""

BEYOND = 3.0
"""Bandwidths, or standard deviations, by which that grid goes beyond the extremes."""


def _levels(fit: Fit[NaiveBayesFit]) -> dict[str, Any]:
    """Levels of each categorical column, by term."""
    known = term_levels(fit.blocks.design)
    return {fit.terms[j]: known[j] or (False, True) for j in fit.numbers.plan.tables.tolist()}


def _rows(fit: Fit[NaiveBayesFit], data: Any, gaps: Gaps) -> Blocks:
    """Rows that are used in part where some of their values are missing, unless this is not wanted."""
    unseen: Unseen = "missing" if (gaps.unseen or fit.numbers.unseen) == "missing" else "raise"
    blocks = read_rows(fit, data, Gaps(unseen, gaps.missing or "integrate"))
    if data is None:
        return blocks
    plain = [term for term, levels in _levels(fit).items() if levels == (False, True)]
    refuse_values(blocks.table, plain, counts=False)
    refuse_values(blocks.table, fit.terms[fit.numbers.plan.counts].tolist(), counts=True)
    return blocks


MODEL = Model(
    "naive_bayes", "Naive Bayes", holds_levels=True, rows=_rows, decision=as_scored, reads_gaps=True
)


def naive_bayes_fit(
    numbers: NaiveBayesFit, blocks: Blocks, options: Mapping[str, Any], *, has_rows: bool = True
) -> Fit[NaiveBayesFit]:
    """A naive Bayes classifier as one value."""
    refits = replace(
        moment_refits("diagonal"), informative=numbers.plan.counts.tolist(), why_no_rule=_why_no_rule
    )
    if not numbers.is_normal or numbers.available is not None:
        refits = replace(refits, spread=None, of_rows=_rule_of_tally, held=_rule_of_tally)
    if numbers.available is not None and numbers.smoothing and numbers.normal is not None:
        refits = replace(refits, left_out=_left_out_smoothed)
    fit = Fit(MODEL, numbers, blocks, numbers.prior, refits, options, has_rows)
    sizes = numbers.plan.sizes[numbers.plan.tables].tolist()
    fitting = [len(levels) for levels in _levels(fit).values()] == sizes
    if not (fitting and codes_are_positions(blocks.design)):
        raise DataError("A saved fit of naive Bayes is damaged: its tables do not fit its levels.")
    return fit


def _rule_of_tally(fit: Fit[NaiveBayesFit], blocks: Blocks) -> Rule | None:
    numbers = fit.numbers
    if len(blocks.terms) < len(fit.terms):
        kept = [fit.terms.get_loc(term) for term in blocks.terms]
        numbers = replace(numbers, plan=numbers.plan.columns(np.array(kept)))
    refit = numbers.refit(*_gathered(fit, blocks, numbers.plan))
    return None if refit is None else refit.rule(fit.log_prior())


def _gathered(fit: Fit[NaiveBayesFit], blocks: Blocks, plan: ColumnPlan) -> tuple[ClassMoments, Tally]:
    if blocks.incomplete:
        return naive_bayes_sample.gather_available(blocks, plan)
    tally = Tally(plan, len(fit.classes))
    return class_moments(blocks, "diagonal", tally.watch), tally


def _left_out_smoothed(fit: Fit[NaiveBayesFit]) -> LeftOut:
    return left_out_by_refits(fit, "of smoothed variances of columns that rows miss takes a refit a row")


def _why_no_rule(fit: Fit[NaiveBayesFit], blocks: Blocks) -> str | None:
    kept = np.array([fit.terms.get_loc(term) for term in blocks.terms], dtype=np.intp)
    try:
        naive_bayes_sample.refuse_no_density(*_gathered(fit, blocks, fit.numbers.plan.columns(kept)), blocks)
    except CollinearError as error:
        return str(error)
    return None


SAVED = Saved(
    {"method": (str,), "smoothing": (float,), "laplace": (float,), "bandwidth": (str,)}
    | {"unseen": (str,), "estimated_prior": (bool,)},
    "diagonal",
    naive_bayes_from_file,
    naive_bayes_fit,
    naive_bayes_buffers,
    lambda k, p: {"columns": (3, p), "tables": (k, -1), "sums": (k, -1), "points": (-1, 4)},
    lambda k, p: {"available": (k, p)},
    constant=True,
)


class NaiveBayesResults(ClassCovariances, ClassifierResults):
    """A fitted naive Bayes classifier.

    Attributes
    ----------
    means, sds : DataFrame, classes by normal columns
        Class means, and standard deviations including the smoothing.
    covs : dict of class to DataFrame
        Diagonal covariance of each class, where every column is normal.
    logdet : Series by class
        Log-determinants of the covariances.
    tables : dict of column to DataFrame, classes by levels
        P(level | class).
    bandwidths : DataFrame, classes by columns with kernel densities
        Standard deviations of the kernels.
    multinomial : DataFrame, classes by columns of counts
        Probabilities of the columns of counts.
    available : DataFrame, classes by columns
        Number of rows, or their weight, that have a value of the column; the column is fitted to these.
    smoothing, laplace : float
        As they were given.
    llf, aic, bic : float
        Joint log-likelihood of class and row, without multinomial coefficients, and its criteria. It is taken
        at the probabilities of the fit and at variances of divisor n_k, which are smoothed where those of the
        fit are. Fits with kernel densities have none.
    df_model : int
        Number of free parameters.
    """

    _fit: Fit[NaiveBayesFit]

    def __init__(self, fit: Fit[NaiveBayesFit]) -> None:
        super().__init__(fit)
        numbers = fit.numbers
        self.smoothing, self.laplace = numbers.smoothing, numbers.laplace
        self._levels = _levels(fit)

    # ---- the densities

    @property
    def normal_terms(self) -> pd.Index:
        """The columns that are normal within classes."""
        return self.terms[self._fit.numbers.plan.normal]

    @property
    @displayed(every="count")
    def available(self) -> pd.DataFrame:
        """Number of rows, or their weight, that have a value of each column, by class."""
        available = self._fit.numbers.available
        counts = self._fit.counts[:, None] if available is None else available
        values = np.broadcast_to(counts, (len(self.classes), len(self.terms)))
        whole = (values % 1 == 0).all()
        return pd.DataFrame(
            values.astype(np.int64) if whole else values, index=self.classes, columns=self.terms
        )

    @property
    def means(self) -> pd.DataFrame:
        """Class means of the normal columns."""
        normal = self._fit.numbers.normal
        values = np.zeros((len(self.classes), 0)) if normal is None else normal.moments.class_means
        return pd.DataFrame(values, index=self.classes, columns=self.normal_terms)

    @property
    def sds(self) -> pd.DataFrame:
        """Standard deviations of the normal columns within classes, smoothing included."""
        normal = self._fit.numbers.normal
        values = [] if normal is None else [c.sd / normal.moments.scale for c in normal.covariances]
        shape = (len(self.classes), len(self.normal_terms))
        return pd.DataFrame(np.reshape(values, shape), index=self.classes, columns=self.normal_terms)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """P(level | class) of each categorical column, Laplace's correction included."""
        tables = self._fit.numbers.tables
        shares = () if tables is None else tables.probabilities()
        return {
            term: pd.DataFrame(values, index=self.classes, columns=pd.Index(list(levels), name=term))
            for (term, levels), values in zip(self._levels.items(), shares, strict=True)
        }

    @property
    def bandwidths(self) -> pd.DataFrame:
        """Bandwidths of the kernel densities."""
        terms, kernels = self.terms[self._fit.numbers.plan.kernels], self._fit.numbers.kernels
        values = np.zeros((len(self.classes), 0)) if kernels is None else kernels.bandwidths()
        return pd.DataFrame(values, index=self.classes, columns=terms)

    @property
    def multinomial(self) -> pd.DataFrame:
        """Probabilities of the columns of counts by class; they sum to one."""
        terms, counts = self.terms[self._fit.numbers.plan.counts], self._fit.numbers.counts
        values = np.zeros((len(self.classes), 0)) if counts is None else counts.probabilities()
        return pd.DataFrame(values, index=self.classes, columns=terms)

    @displayed()
    def density(self, term: str, at: Any = None) -> pd.DataFrame:
        """Density of a normal or kernel column within each class.

        Parameters
        ----------
        term : str
            Name of the column.
        at : array-like of float, optional
            Values at which the density is taken. By default they are 512 evenly spaced values, to three
            bandwidths or standard deviations beyond the extreme rows or means.

        Returns
        -------
        DataFrame, values by classes

        Raises
        ------
        DataError
            There is no such column, it has no density, or a value is no number.
        """
        plan = self._fit.numbers.plan
        numeric = self.terms[np.sort(np.concatenate([plan.normal, plan.kernels]))]
        if not (isinstance(term, str) and term in numeric):
            has = (
                f"{listed(numeric)} {'have' if len(numeric) > 1 else 'has'}"
                if len(numeric)
                else "no column has"
            )
            raise DataError(f"{term!r} has no density ({has} one): see tables and multinomial.")
        try:
            values = self._grid(term) if at is None else np.asarray(at, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise DataError(f"at={at!r}: give the values of {term!r} as numbers.") from None
        if term in self.normal_terms:
            mean, sd = self.means[term].to_numpy(), self.sds[term].to_numpy()
            z = (values[:, None] - mean) / sd
            densities = np.exp(-0.5 * z**2) / (sd * np.sqrt(2 * np.pi))
        else:
            kernels = self._kernels_of(term)
            densities = np.stack([np.exp(kernel.log_density(values)) for kernel in kernels], axis=1)
        return pd.DataFrame(densities, index=pd.Index(values, name=term), columns=self.classes)

    def _kernels_of(self, term: str) -> tuple[Any, ...]:
        kernels = self._fit.numbers.kernels
        return () if kernels is None else kernels.densities[self.bandwidths.columns.get_loc(term)]

    def _grid(self, term: str) -> Floats:
        if term in self.normal_terms:
            low = high = self.means[term].to_numpy()
            width = self.sds[term].to_numpy()
        else:
            kernels = self._kernels_of(term)
            low, high = (np.array([each.points[end] for each in kernels]) for end in (0, -1))
            width = self.bandwidths[term].to_numpy()
        return np.linspace((low - BEYOND * width).min(), (high + BEYOND * width).max(), GRID)

    @displayed()
    def group_summary(self) -> pd.DataFrame:
        """Rows, mean and unsmoothed standard deviation by (class, term), and over all rows ("total")."""
        if len(self._levels):
            raise NotSupportedError(
                f"group_summary() describes numbers, and {listed(self._levels)} "
                f"{'is' if len(self._levels) == 1 else 'are'} categorical: see tables."
            )
        if self._fit.numbers.available is not None:
            raise NotSupportedError(
                "group_summary() describes complete rows, and here each column is fitted to the rows "
                "that have it: see means, sds and available."
            )
        return super().group_summary()

    def _need_covariances(self, what: str) -> None:
        if not self._fit.numbers.is_normal:
            other = self.terms[np.flatnonzero(self._fit.numbers.plan.families)]
            raise NotSupportedError(
                f"{what} needs normal columns, and {listed(other)} "
                f"{'are' if len(other) > 1 else 'is'} not: see means, sds, tables, bandwidths and "
                "multinomial."
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
        index = pd.MultiIndex.from_product([self.classes, columns], names=["class", name])
        values = {each: frame.to_numpy().ravel() for each, frame in zip(names, frames, strict=True)}
        return pd.DataFrame(values, index=index).reset_index()

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        return pd.DataFrame([self._glance() | {"smoothing": self.smoothing, "laplace": self.laplace}])

    def _is_plane(self) -> bool:
        return super()._is_plane() and not self._levels


@by_moments("diagonal")
def naive_bayes(
    formula: str | None = None,
    data: Any = None,
    *,
    moments: Moments | None = None,
    kernel: bool | Sequence[str] = False,
    bandwidth: Literal["nrd0", "nrd"] | float | Mapping[str, float] = "nrd0",
    counts: bool | Sequence[str] = False,
    laplace: float = 0.0,
    smoothing: float = 0.0,
    method: Literal["moment", "mle"] = "moment",
    unseen: Literal["raise", "missing"] = "raise",
    missing: Literal["drop", "available"] | None = None,
    prior: Any = None,
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
        Response and predictors in R's language of formulas, such as `species ~ .`; the page on formulas
        describes it. A category is a term of its own here and is not multiplied with another column.
    data : table or source of tables
        A DataFrame of pandas, or any other table that narwhals knows. A source is read part by part and may
        be larger than memory: an Arrow dataset or stream, a LazyFrame of polars, a relation of DuckDB, a
        DataFrame of Dask, a path to CSV or Parquet (a file, a folder, a pattern, or a list of them), a
        function that returns an iterator of frames, or such an iterator itself, which can be read only once.
    moments : Moments, optional
        What `discrim.moments` or `discrim.from_stats` returned, or a sum of such moments, in place of formula
        and data. The fit then has no rows, and methods that need rows take them as `data=`. Moments hold no
        rows for kernel densities.
    kernel : bool or list of str
        Columns whose density within a class is the mean of normal kernels about the rows of the class; True
        stands for every numeric column. The sum is exact to rounding, and not taken on a grid as in R's
        density() and klaR's NaiveBayes.
    bandwidth : {"nrd0", "nrd"}, float, or dict of column to float
        Standard deviation of the kernels. "nrd0" is Silverman's rule of thumb, as R's bw.nrd0, and "nrd" is
        Scott's, as R's bw.nrd; both are applied by class and column. A number is used for all columns. A dict
        gives numbers for the columns that it names, and the others follow "nrd0".
    counts : bool or list of str
        Columns of counts, such as the words of a text; True stands for every numeric column. Given their sum,
        all of them together follow one multinomial distribution in each class.
    laplace : float
        Number that is added to each count of a table and of the multinomial: (n_kl + laplace) / (n_k +
        laplace L), where L is the number of levels in the rows of the fit, or of columns of counts. It is
        zero by default, so that a class gives probability zero to what it never had.
    smoothing : float
        This share of the largest variance of a normal column (over all rows, divisor N) is added to each
        variance of each class, as scikit-learn's `var_smoothing` does, where it is 1e-9. It depends on the
        units of the columns. It is zero by default.
    method : {"moment", "mle"}
        Divisor of the variances within a class: n_k - 1 for "moment", as in R's e1071, or n_k for "mle", as
        in scikit-learn.
    unseen : {"raise", "missing"}
        What to do with new rows that have a level which the fit has not seen: raise an error, or treat the
        value as missing. "missing" is possible for a column, or for C() of a column that no other term is
        made of.
    missing : {"drop", "available"}, optional
        "drop" (the default) leaves rows with a missing value out of the fit and counts them. "available" fits
        each column to the rows that have it, as R's e1071 and klaR do, and leaves out only rows without a
        class; the classes then have the proportions of all rows.
    prior : None, "equal", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes. None stands for the class proportions of the rows.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three equal rows. A column that is named here is not part
        of ``.`` in the formula.
    levels : sequence, optional
        The classes in order. By default they have the order of the categories, and are sorted where the
        response has none.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped, and counted, or refused.
    functions : dict of str to callable, optional
        Functions of your own that the formula may call, by name. Each is called once with whole columns, as
        Series, and returns for every row a number, a truth value, a text or category, or a row of a matrix; a
        Series or DataFrame is aligned by its index. It has to treat each row alone: a function whose value
        for a row changes with the other rows, such as `x - x.mean()` or ranks, is refused. The formula's own
        `center`, `scale`, `poly` and `bs` remember what they learnt. A row without a category counts as
        missing.

    Returns
    -------
    NaiveBayesResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or only one class is. Also an option that
        names no column of its kind or is no number, and a negative count.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A normal column is constant within a class and there is no smoothing; a class has no bandwidth; or its
        counts are all zero and laplace is zero. The message names the class and the column.
    NotSupportedError
        A category is multiplied with another column.

    Notes
    -----
    Hand & Yu (2001, International Statistical Review 69, 385-398) explain why the method does well. Counts
    are those of McCallum & Nigam (1998, AAAI-98 Workshop on Learning for Text Categorization, 41-48), and
    kernels those of John & Langley (1995, Uncertainty in Artificial Intelligence, 338-345).

    A row with a missing value is predicted from what it has: the factor of a missing column is left out,
    counts are judged given the sum of those that are there, and a row without any value has the prior. The
    fit, its leave-one-out and its error rates use the complete rows. Under `missing="available"` they use all
    rows with a class, the likelihood is that of the values that are there, and the fit takes a pass for each
    group of columns that the same rows miss.

    Leave-one-out gives what a refit without each row would give: bandwidths that follow a rule and the
    smoothing are computed anew, while the prior and the levels of each column are held.

    Columns of a Sparse dtype, such as those of `pandas.DataFrame.sparse.from_spmatrix`, are never written out
    at once. The time and memory of fit, prediction and leave-one-out of counts grow with the number of stored
    values.

    A row that has probability zero in every class, which can happen only without `laplace`, has no posterior:
    it would be 0/0. Its label and posteriors are missing, with a warning, and error rates leave it out. R's
    e1071 puts 0.001 for each zero.

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

    Penguins of unknown sex still have bills, which their column is fitted to:

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
    check_word("missing", missing, ("drop", "available"), optional=True)
    whole = None if missing == "drop" else missing
    columns = Options(kernel, bandwidth, counts, laplace, smoothing, method, unseen, whole)
    sample = Sample("naive_bayes", moments, formula, data, weights, levels, functions)
    if moments is None:
        blocks = sample.read("A kernel density is made of all rows, and" if kernel else None)
        blocks, stats, tally = naive_bayes_sample.usable_tally(blocks, columns, na_action)
    else:
        blocks, stats, tally = naive_bayes_sample.given_tally(sample, columns)
    naive_bayes_sample.refuse_no_density(stats, tally, blocks)
    shares = prior_vector(prior, blocks.design.levels, stats.counts)
    fit = fit_naive_bayes(stats, tally, shares, estimated_prior=prior is None)
    naive_bayes_sample.refuse_no_bandwidth(fit, blocks)
    return NaiveBayesResults(naive_bayes_fit(fit, blocks, options, has_rows=moments is None))
