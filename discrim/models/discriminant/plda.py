"""Probabilistic linear discriminant analysis: random class means, and verification of unseen classes.

The verb `plda`, its results with the verification methods, its summary and its `PLDASpec`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import dependencies
from discrim.core.discriminant import plda as core
from discrim.core.discriminant.plda import LengthNormalization, PLDAFit
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import Codes, Floats, check_memory, sample_of_classes
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.core.rules.rules import Rule
from discrim.design.design_rows import DesignRows
from discrim.design.rows import response_codes_of_all_rows
from discrim.errors import CollinearError, ConvergenceWarning, DataError, UninformativeFitWarning, warn_user
from discrim.inference.verification import Costs, PairScores
from discrim.models.base import reading
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, ModelSpec, refit_scorer
from discrim.models.base.reading import (
    Data,
    NaAction,
    Prior,
    verb_options,
    warn_of_tied_axes,
    with_public_errors,
)
from discrim.models.moments.moments import Moments
from discrim.models.moments.sample import NeedsRows, Sample
from discrim.models.results import headers
from discrim.models.results.geometry import GroupSummary
from discrim.models.results.results import ClassifierResults, ClassMeans
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

NORMALIZE_NEEDS_ROWS = NeedsRows(
    "plda(normalize=True) requires the rows: it whitens them by their total covariance and computes "
    "moments of the whitened rows.",
    "Leave out normalize=",
)


@with_public_errors
def plda(
    formula: str | None = None,
    data: Data | None = None,
    *,
    components: int | None = None,
    normalize: bool = False,
    tol: float = core.TOL,
    maxiter: int = core.MAXITER,
    moments: Moments | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> PLDAResults:
    """Probabilistic linear discriminant analysis, which tests whether rows are of one class, old or new.

    The class means are normal themselves, with a covariance B between classes in addition to the covariance W
    within them. `verify` computes the likelihood ratio that two rows, or sets of rows, are of one class or of
    two, also for classes that are not in the data of the fit: speakers, faces, writers, animals.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that is read in chunks; see the page on shared arguments.
    components : int, optional
        Rank of B: the number of dimensions in which the classes differ. By default it is free, up to the
        number of columns or of classes less one.
    normalize : bool
        Whether rows are centred, whitened by the covariance of all rows and brought to one length first, as
        is usual for embeddings of speakers (Garcia-Romero & Espy-Wilson, 2011). It needs another pass over
        the rows, and is therefore not available for moments. Means and covariances refer to such rows.
    tol : float
        EM ends when it can raise the log-likelihood by less than this for each row.
    maxiter : int
        The largest number of steps of EM. If all classes have one size, none is needed.
    moments : Moments, optional
        Moments in place of formula and data; see the page on shared arguments.
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
    PLDAResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        A column is constant within classes or determined by others there, and W is singular.
    NotSupportedError
        `normalize=True` is combined with moments.

    Notes
    -----
    A row of class k is x = m + y_k + e with y_k ~ N(0, B), once for the class, and e ~ N(0, W)
    (Ioffe, 2006, ECCV, 531-542; Prince & Elder, 2007, ICCV). m, B and W maximize the likelihood of the rows
    conditional on which of them share a class, with divisors K and N instead of R's and REML's K - 1 and N -
    K. They depend on counts, means and the pooled scatter: in closed form for classes of one size (Anderson,
    Anderson & Olkin, 1986, Annals of Statistics 14, 405-417), and by EM with expanded parameters otherwise.
    The precision of B depends on the number of classes rather than of rows.

    The classes of the fit are predicted by the predictive density of a row conditional on the rows of the
    class, which shrinks the mean of a class of few rows towards m. `llf` is of class and row, with the class
    means integrated out.

    Examples
    --------
    >>> import discrim
    >>> wine = discrim.datasets.load_wine()
    >>> fit = discrim.plda("cultivar ~ .", wine)
    >>> fit.verify(wine.iloc[[0, 0]], wine.iloc[[1, 100]]).round(2).tolist()
    [2.38, -6.01]
    """
    options = verb_options(locals())
    reading.check_flag("normalize", normalize)
    tol = reading.check_number("tol", tol, 0, 1, ends="[)")
    maxiter = reading.check_integer("maxiter", maxiter, 1)
    if components is not None:
        components = reading.check_integer("components", components, 1)
    sample = Sample("plda", "pooled", moments, formula, data, weights, levels, functions, na_action)
    if sample.has_rows:
        design_rows, stats = reading.usable_rows(sample.read(), "pooled", na_action)
    else:
        design_rows, stats = sample.read_moments("pooled", NORMALIZE_NEEDS_ROWS if normalize else None)
    _raise_if_singular(stats, design_rows)
    max_components = core.max_rank(stats.n_classes, stats.n_columns)
    if components is not None and components > max_components:
        raise DataError(
            f"components={components} exceeds {max_components}, the largest rank of B for {stats.n_classes} "
            f"classes and {stats.n_columns} columns.",
            hint=f"Pass a number up to {max_components}, or leave out components=.",
        )
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    fit_options = {"components": components, "tol": tol, "maxiter": maxiter, "estimated_prior": estimated}
    with Progress(0, "steps of EM") as progress:
        estimates = _fit_plda(design_rows if normalize else None, stats, priors, fit_options, progress)
    if not estimates.converged:
        warn_user(
            f"EM did not converge in {maxiter} steps. Pass a larger maxiter=, or a larger tol=.",
            ConvergenceWarning,
        )
    if components is not None:
        warn_of_tied_axes("components", components, estimates.tie)
    if not estimates.rank:
        warn_user(
            "The class means differ no more than expected from the variation within classes: B is "
            "estimated as zero, and all log likelihood ratios are zero. Use more observations of each "
            "class, or other columns.",
            UninformativeFitWarning,
        )
    return PLDAResults(PLDASpec().fit(estimates, design_rows, options, has_rows=sample.has_rows))


def _raise_if_singular(moments: ClassMoments, design_rows: DesignRows) -> None:
    """Raise CollinearError if the covariance W within classes is singular; warn if it nearly is.

    It is singular if the number of rows minus the number of classes is less than the number of columns, or if
    columns are constant or collinear within classes. `moments` are the moments of `design_rows`, which name
    the columns.
    """
    rows = int(moments.rows.sum())
    k = moments.n_classes
    p = moments.n_columns
    if rows - k < p:
        raise CollinearError(
            f"{rows} observations in {k} classes have {rows - k} degrees of freedom within classes, too few "
            f"for W of {p} columns.",
            hint=(
                "Use more observations of each class, or fewer columns, such as the scores of "
                'lda(covariance="shrunk").'
            ),
        )
    reading.raise_if_no_within_variance(moments)
    collinear = dependencies(moments)
    if collinear:
        raise reading.collinear_error(collinear, design_rows.terms, alternative="use fewer columns")
    reading.warn_of_near_dependencies(moments, design_rows.terms)


@dataclass(frozen=True, slots=True)
class _NormalizedRows:
    """Iterable of blocks (x, codes, weights) whose rows are whitened and scaled to one length.

    Attributes
    ----------
    design_rows : DesignRows
        The original rows, which are read in each iteration.
    sphere : LengthNormalization
        The transformation.
    """

    design_rows: DesignRows
    sphere: LengthNormalization

    def __iter__(self) -> Iterator[tuple[Floats, Codes, Floats | None]]:
        for x, codes, weights in self.design_rows:
            yield self.sphere.normalize(x), codes, weights


def _fit_plda(
    design_rows: DesignRows | None,
    moments: ClassMoments,
    prior: Floats,
    fit_options: Mapping[str, Any],
    progress: Callable[[int], None] | None = None,
) -> PLDAFit:
    """Fit PLDA to moments of the rows or, with length normalization, to moments of the normalized rows.

    Parameters
    ----------
    design_rows : DesignRows or None
        Rows to normalize; None without length normalization.
    moments : ClassMoments
        Moments of the original rows.
    prior : (K,) float
        Prior probabilities of the classes.
    fit_options : mapping
        Further arguments of `core.fit_plda`: components, tol, maxiter, estimated_prior.
    progress : callable, optional
        Called with 1 at each step of EM.

    Returns
    -------
    PLDAFit
        Its `converged` is False if EM reached `maxiter`.
    """
    normalized = None
    if design_rows is not None:
        normalization = LengthNormalization.from_moments(moments)
        shape: Any = {"n_classes": moments.n_classes, "n_columns": moments.n_columns}
        normalized = (
            normalization,
            gather(_NormalizedRows(design_rows, normalization), **shape, required_moments="pooled"),
        )
    return core.fit_plda(moments, prior, **fit_options, progress=progress, normalization=normalized)


MIN_SAMPLED_CLASSES = 20
"""Number of classes below which a sample of pairs has some rows of each class instead of all rows of some."""


class PLDAResults(GroupSummary, ClassMeans, ClassifierResults):
    """A fitted probabilistic linear discriminant analysis.

    Attributes
    ----------
    means : DataFrame, classes by terms
        Class means of the rows.
    llf, aic, bic : float
        Log-likelihood of class and row, the class means integrated out, and its criteria.
    df_model : int
        Number of free parameters: m, B of its rank, W, and the prior if it is estimated.
    """

    _fit: FittedModel[PLDAFit]

    def _term_frame(self, values: Floats) -> pd.DataFrame:
        """Return a matrix (p, p), in the units of the fit, as a table of terms by terms."""
        return pd.DataFrame(values, index=self.terms, columns=self.terms)

    @property
    def between(self) -> pd.DataFrame:
        """B, the covariance of the random class means by maximum likelihood (divisor K), terms by terms.

        With `normalize=True` it refers to the normalized rows.
        """
        return self._term_frame(self._fit.estimates.covariances()[0])

    @property
    def within(self) -> pd.DataFrame:
        """W, the covariance of rows within classes by maximum likelihood (divisor N), terms by terms.

        With `normalize=True` it refers to the normalized rows.
        """
        return self._term_frame(self._fit.estimates.covariances()[1])

    @property
    def mean(self) -> pd.Series:
        """m, the expectation of the random class means, indexed by term.

        With `normalize=True` it refers to the normalized rows.
        """
        estimates = self._fit.estimates
        return pd.Series(estimates.origin + estimates.mean / estimates.scale, index=self.terms, name="mean")

    @property
    def ratios(self) -> pd.Series:
        """Variance between classes divided by the variance within classes, on each axis of `axes`.

        Indexed by PLDA1, PLDA2, ..., in decreasing order.
        """
        values = self._fit.estimates.between[: self._fit.estimates.n_axes]
        names = pd.Index([f"PLDA{j + 1}" for j in range(len(values))])
        return pd.Series(values, index=names, name="ratio", copy=True)

    @property
    def axes(self) -> pd.DataFrame:
        """Coefficients of the axes, terms by PLDA1, PLDA2, ..., for columns in their units.

        Axes are the directions in which the classes differ: on them rows have unit variance within classes
        and are uncorrelated, and class means have the variances `ratios`. The largest coefficient of each,
        times the standard deviation of its column within classes, is positive. With `normalize=True` they
        refer to the normalized rows.
        """
        estimates = self._fit.estimates
        values = estimates.axes[:, : estimates.n_axes] * estimates.scale[:, None]
        return pd.DataFrame(values, index=self.terms, columns=self.ratios.index)

    @property
    def rank(self) -> int:
        """Rank of B, the number of axes. If B is zero, `axes` still has one column."""
        return self._fit.estimates.rank

    @property
    def steps(self) -> int:
        """Number of EM steps; zero if all classes have one size, which allows a closed form."""
        return self._fit.estimates.steps

    @property
    def converged(self) -> bool:
        """Whether EM ended before `maxiter`; True if it was not needed."""
        return self._fit.estimates.converged

    @property
    def llf_given(self) -> float:
        """Log-likelihood of the rows conditional on which of them share a class."""
        return self._fit.estimates.log_marginal

    # ---- verification

    def transform(self, data: Data | None = None) -> pd.DataFrame:
        """Coordinates of rows on the axes, relative to the mean m, with unit variance within classes.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.

        Returns
        -------
        DataFrame, rows by PLDA1, PLDA2, ...
            Missing for a row with a missing value.
        """
        design_rows, coordinates = self._coordinates(data)
        return pd.DataFrame(coordinates, index=design_rows.table.index, columns=self.ratios.index)

    def _coordinates(self, data: Any) -> tuple[DesignRows, Floats]:
        """Read a table; return its rows and their coordinates (m, r) on the r axes, NaN for incomplete rows.

        None stands for the data of the fit. Coordinates are relative to the mean m, with unit variance within
        classes.
        """
        design_rows = self._fit.new_rows(data)
        coordinates = np.full((design_rows.table.nrows, self._fit.estimates.n_axes), np.nan)
        for row_slice, x, missing in design_rows.iter_all_rows():
            complete = slice(None) if missing is None else ~missing
            coordinates[row_slice][complete] = self._fit.estimates.coordinates(x[complete])
        return design_rows, coordinates

    def verify(self, a: Data, b: Data, *, by: str | None = None) -> pd.Series:
        """Log likelihood ratios of one class against two, for pairs of rows or of sets of rows.

        Values above zero are evidence for one class. With the probability pi of a pair of one class, the
        posterior log odds are the ratio plus log(pi/(1 - pi)).

        Parameters
        ----------
        a, b : table
            Rows with the columns of the fit, as many of each: the first of `a` is compared with the first of
            `b`, and so on. Their classes may be any; the response is ignored.
        by : column name, optional
            A column of both tables that names sets of rows, each of one class: each set of `a` is compared
            with the set of `b` of the same name.

        Returns
        -------
        Series
            Natural logarithms, on the index of `a` or by the names of sets. Missing if a row has a missing
            value, or a set lacks complete rows. Incomplete rows of other sets are left out.

        Raises
        ------
        DataError
            The tables have different numbers of rows, or name different sets.

        See Also
        --------
        verify_all : Each row or set of one table against each of another.

        Notes
        -----
        The ratio is `N(a, b | one class) / (N(a) N(b))`, with m, B and W as estimated. It is exact for sets
        too, not an average over pairs (Brümmer & de Villiers, 2010, Odyssey).

        Examples
        --------
        >>> import discrim
        >>> iris = discrim.datasets.load_iris()
        >>> fit = discrim.plda("species ~ .", iris[:100].astype({"species": str}))
        >>> virginica = iris[100:]
        >>> bool((fit.verify(virginica[:25], virginica[25:]) > 0).mean() > 0.8)
        True
        """
        sets, names = self._row_sets(a, by)
        other_sets, other_names = self._row_sets(b, by)
        if by is None and len(names) != len(other_names):
            raise DataError(
                f"verify() requires tables with equal numbers of rows; a has {len(names)} and b has "
                f"{len(other_names)}.",
                hint="Pass equal numbers, or use verify_all(a, b) to compare all pairs.",
            )
        if by is not None:
            if set(names) != set(other_names):
                unmatched = sorted(map(str, set(names) ^ set(other_names)))
                raise DataError(
                    f"The sets of {by!r} in a and b differ: {reading.join_labels(unmatched)} in only one of "
                    "them.",
                    hint="Pass the same sets in both, or use verify_all(a, b, by=) to compare all pairs.",
                )
            order = other_names.get_indexer(names)
            other_sets = core.RowSets(other_sets.sizes[order], other_sets.means[order])
        ratios = core.paired_log_ratios(self.ratios.to_numpy(), sets, other_sets)
        return pd.Series(ratios, index=names, name="llr")

    def verify_all(
        self, a: Data, b: Data, *, by: str | tuple[str | None, str | None] | None = None
    ) -> pd.DataFrame:
        """Log likelihood ratios of one class against two, for each of `a` and each of `b`.

        Parameters
        ----------
        a, b : table
            Rows with the columns of the fit.
        by : column name, or two of them, optional
            Columns that name sets of rows in `a` and in `b`, each set of one class; None instead of one of
            the two if each row of that table stands for itself, for example ("speaker", None).

        Returns
        -------
        DataFrame, rows or sets of `a` by rows or sets of `b`
            Natural logarithms. Missing if a row has a missing value, or a set lacks complete rows.

        Raises
        ------
        DataError
            `by` is not a column of the table or a pair, or the ratios do not fit memory.

        Examples
        --------
        >>> import discrim
        >>> wine = discrim.datasets.load_wine()
        >>> fit = discrim.plda("cultivar ~ .", wine)
        >>> fit.verify_all(wine, wine[::60], by=("cultivar", None)).round(1).to_numpy().tolist()
        [[2.6, -11.1, -7.2], [-16.8, 1.3, 2.1], [-36.5, -8.1, -19.1]]
        """
        columns = by if isinstance(by, tuple) else (by, by)
        if len(columns) != 2:
            raise DataError(
                f"by={by!r} is not valid.", hint="Pass one column, or two: one for a and one for b."
            )
        sets, names = self._row_sets(a, columns[0])
        other_sets, other_names = self._row_sets(b, columns[1])
        check_memory(
            2.0 * len(names) * len(other_names),
            f"Ratios of {len(names):,} by {len(other_names):,} rows or sets",
            "Pass fewer at a time",
        )
        ratios = core.all_log_ratios_matrix(self.ratios.to_numpy(), sets, other_sets)
        return pd.DataFrame(ratios, index=names, columns=other_names)

    def _row_sets(self, data: Any, by: str | None) -> tuple[core.RowSets, pd.Index]:
        """Read the rows of a table, group them into sets by a column, and return the sets with their names.

        Parameters
        ----------
        data : table
            Rows with the columns of the fit.
        by : str or None
            Column with the names of the sets; by default each row is a set.

        Returns
        -------
        core.RowSets
            Sizes and mean coordinates of the sets, of their complete rows. A set without a complete row has
            the size 1 and missing coordinates; without `by` all sizes are 1.
        Index
            Names of the sets in the order of their first row, or the index of the table. Rows without a name
            are left out.

        Raises
        ------
        DataError
            The table does not have the column `by`.
        """
        design_rows, coordinates = self._coordinates(data)
        if by is None:
            return core.RowSets(np.ones(len(coordinates)), coordinates), design_rows.table.index
        if by not in design_rows.table.names:
            raise DataError(
                f"Unknown column {by!r} in by=.",
                hint="Pass a column of the table that contains the set of each row.",
                columns=(by,),
            )
        codes, names = pd.factorize(design_rows.table.column(by))
        has_set = (codes >= 0) & ~np.isnan(coordinates).any(axis=1)
        sets = core.compute_row_sets(coordinates[has_set], codes[has_set], len(names))
        empty = sets.sizes == 0
        sets.means[empty] = np.nan
        return core.RowSets(np.where(empty, 1.0, sets.sizes), sets.means), pd.Index(names, name=by)

    @with_display_formats(estimate="share", low="share", high="share")
    def trials(
        self,
        data: Data | None = None,
        *,
        probability: float = 0.01,
        cost_miss: float = 1.0,
        cost_false: float = 1.0,
        level: float = 0.95,
        replicates: int = 200,
        seed: int | None = 0,
    ) -> pd.DataFrame:
        """Errors of verification over each pair of rows: equal error rate, detection costs, C_llr.

        Parameters
        ----------
        data : table, optional
            Rows with the response of the formula, whose classes should not occur in the fit. By default the
            rows of the fit, for which the errors are optimistic.
        probability : float
            Probability of a pair of one class, for the costs.
        cost_miss, cost_false : float
            Costs of classifying a pair of one class as two, and a pair of two as one.
        level : float
            Level of the intervals: 0.95 stands for 95 percent.
        replicates : int
            Number of bootstrap samples of the classes for the intervals; 0 omits the intervals.
        seed : int, optional
            Seed of the bootstrap.

        Returns
        -------
        DataFrame by measure
            estimate, low, high. "equal error rate" is the error at which misses and false alarms are equally
            frequent. "minimum cost" uses the best threshold, and "cost at Bayes' threshold" the threshold
            that is optimal if the ratios are correct, both divided by the cost of ignoring the scores.
            "C_llr" is a mean cost of the ratios; 1 means uninformative. low and high are missing if
            `replicates` is 0.

        Raises
        ------
        DataError
            The rows are of one class, no class has two rows, the pairs do not fit memory, or an option is out
            of range.

        Notes
        -----
        Pairs that share a row or a class are not independent. The intervals are percentiles of a bootstrap of
        the classes and assume that these are a random sample of future classes; with few classes, and for
        costs if few pairs exceed the threshold, they are too short. The upper limit of an equal
        error rate of zero is the exact one of as many classes without an error. Rows with a missing value or
        class are left out; each of the others counts once, regardless of its weight.

        Examples
        --------
        >>> import discrim
        >>> wine = discrim.datasets.load_wine()
        >>> fit = discrim.plda("cultivar ~ .", wine)
        >>> bool(fit.trials(replicates=0).loc["equal error rate", "estimate"] < 0.05)
        True
        """
        costs = Costs(
            reading.check_number("probability", probability, 0, 1, ends="()"),
            reading.check_number("cost_miss", cost_miss, 0, np.inf, ends="()"),
            reading.check_number("cost_false", cost_false, 0, np.inf, ends="()"),
        )
        level = reading.check_number("level", level, 0, 1, ends="()")
        replicates = reading.check_integer("replicates", replicates, 0)
        pairs, _ = self._score_pairs(data)
        limits = np.full((2, 4), np.nan)
        if replicates:
            limits = pairs.bootstrap_limits(costs, level, replicates, seed)
        names = ["equal error rate", "minimum cost", "cost at Bayes' threshold", "C_llr"]
        values = {"estimate": pairs.error_measures(costs), "low": limits[0], "high": limits[1]}
        return pd.DataFrame(values, index=pd.Index(names, name="measure"))

    def _score_pairs(self, data: Any, max_rows: float = np.inf) -> tuple[PairScores, str]:
        """Compute the log likelihood ratios of one class against two for all pairs of labelled complete rows.

        Parameters
        ----------
        data : table or None
            Rows with their response; None stands for the rows of the fit.
        max_rows : float
            Largest number of rows, apart from rounding. If there are more, a random sample of classes is
            used, the same in each call. If fewer than `MIN_SAMPLED_CLASSES` classes have as few rows, it is a
            sample of the rows of this number of classes, in proportion to their sizes.

        Returns
        -------
        pairs : PairScores
            Ratios of pairs of one class (`same`) and of two (`other`); weights are ignored.
        sample : str
            Description of the sample, to follow the name of the rows; empty for all rows.

        Raises
        ------
        DataError
            The rows are of one class, no class has two rows, or the pairs do not fit memory.
        """
        design_rows, coordinates = self._coordinates(data)
        codes = response_codes_of_all_rows(design_rows)
        is_used = (codes >= 0) & ~np.isnan(coordinates).any(axis=1)
        sample_text = ""
        if is_used.sum() > max_rows:
            order = np.random.default_rng(0).permutation(codes.max() + 1)
            counts = np.bincount(codes[is_used], minlength=len(order))[order]
            is_sampled = np.cumsum(counts) <= max_rows
            is_sampled[:MIN_SAMPLED_CLASSES] = True
            is_used &= np.isin(codes, order[is_sampled])
            if counts[~is_sampled].any():
                sample_text = f" of {np.count_nonzero(counts[is_sampled]):,} randomly chosen classes"
            if is_used.sum() > max_rows:
                sampled = sample_of_classes(np.where(is_used, codes, -1), max_rows, min_rows=2)
                is_used = np.isin(np.arange(len(codes)), sampled)
                sample_text += f" ({len(sampled):,} chosen at random)"
        codes = np.unique(codes[is_used], return_inverse=True)[1]
        counts = np.bincount(codes, minlength=1)
        if len(counts) < 2 or counts.max() < 2:
            raise DataError(
                "trials() requires pairs of rows of the same class and of different classes. There are "
                f"{len(codes)} rows of {len(set(codes.tolist()))} classes.",
                hint="Pass at least two rows of some class, and rows of another class.",
            )
        check_memory(
            6.0 * len(codes) ** 2,
            f"Pairs of {len(codes):,} rows",
            "Pass the rows of some of the classes as data=",
        )
        rows = core.RowSets(np.ones(len(codes)), coordinates[is_used])
        scores = core.all_log_ratios_matrix(self.ratios.to_numpy(), rows, rows)
        return PairScores.from_scores(scores, codes), sample_text

    # ---- tables

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each term: term, mean, between, within, share.

        "between" and "within" are the variances in B and W; share is between / (between + within).
        """
        between, within = (np.diagonal(covariance) for covariance in self._fit.estimates.covariances())
        table = pd.DataFrame({"term": self.terms, "mean": self.mean.to_numpy()})
        return table.assign(between=between, within=within, share=self._fit.estimates.between_shares())

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: sizes, criteria, rank, llf_given, steps and converged.

        Columns: nobs, classes, terms, df_model, llf, aic, bic, rank, llf_given, steps, converged.
        """
        search_columns = {name: getattr(self, name) for name in ("rank", "llf_given", "steps", "converged")}
        return pd.DataFrame([self._glance() | search_columns])


class PLDASpec(ModelSpec[PLDAFit]):
    """Specification of probabilistic linear discriminant analysis."""

    name = "plda"
    title = "Probabilistic linear discriminant analysis"
    results_class = PLDAResults
    refit_failure = (
        "a class has no row, or a column is constant or collinear within classes",
        "fewer columns",
    )
    leave_one_out_cost = 1000
    constructor = PLDAFit

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `plda_sections` and `plda_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return plda_sections, plda_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `PLDA_PLOTS`, the plots of the method `plot`; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import PLDA_PLOTS

        return PLDA_PLOTS

    def required_moments(self, fit: FittedModel[PLDAFit]) -> ScatterType | None:
        """Return "pooled"; None with `normalize=True`, because a refit needs the rows to normalize them."""
        return None if fit.estimates.normalize else "pooled"

    def refit_with_fixed(self, fit: FittedModel[PLDAFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit with the prior of the fit and a new length normalization, if it has one.

        None if a class is empty, or W is singular.
        """
        estimates = fit.estimates
        if not estimates.normalize:
            return super().refit_with_fixed(fit, rows)
        moments = reading.class_moments(rows, "pooled")
        if (moments.rows < 1).any() or not core.is_within_regular(moments):
            return None
        return _fit_plda(rows, moments, estimates.prior, estimates.options()).rule(fit.log_prior())

    def leave_one_out(self, fit: FittedModel[PLDAFit]) -> LeaveOneOutScorer:
        """Return a scorer of missing scores, which makes the caller refit without each row.

        Raises NotSupportedError if there are too many rows for this.
        """
        return refit_scorer(fit, "requires a refit for each row")

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of k classes and p columns, by name.

        The arrays "axes" and "sphere.root" are (p, p), "class_places" is (k, p), and "origin", "scale",
        "mean", "between", "sphere.origin", "sphere.scale" and "sphere.centre" are (p,).
        """
        columns = ("origin", "scale", "mean", "between", "sphere.origin", "sphere.scale", "sphere.centre")
        axes = {"axes": (p, p), "class_places": (k, p), "sphere.root": (p, p)}
        return {**dict.fromkeys(columns, (p,)), **axes}


# ---- summary


MAX_SHOWN_AXES = 12
"""Largest number of axes that the summary shows."""


def plda_sections(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    The names are "header", "classes", "columns" and "axes". Each is a function of `results` and `fit` that
    returns a section.
    """
    return {
        "header": _header_section,
        "classes": headers.classes_section,
        "columns": _columns_section,
        "axes": _axes_section,
    }


def _header_section(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Pairs:
    """Return the header of the summary: rows, rank of B, traces, EM steps, likelihoods and errors."""
    estimates = fit.estimates
    between, within = (float(np.trace(covariance)) for covariance in estimates.covariances())
    steps = "none: classes of one size" if not estimates.steps else f"{estimates.steps}"
    steps += "" if estimates.converged else ", not converged"
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Rank of B", results.rank, str(results.rank)),
        HeaderItem("Trace of B", between, f"{between:.5g}"),
        HeaderItem("Trace of W", within, f"{within:.5g}"),
        HeaderItem("Steps of EM", estimates.steps, steps),
        HeaderItem("Log-lik. given the classes", results.llf_given, f"{results.llf_given:.2f}"),
        headers.criterion_item(results, "llf", "Log-likelihood"),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
        headers.error_item(fit, "apparent"),
    ]
    note = f"The precision of B depends on the number of classes, {len(fit.classes):,}, not of observations."
    if estimates.normalize:
        note += (
            " Observations are centred, whitened and scaled to one length; B, W and likelihoods refer to the "
            "scaled observations."
        )
    return headers.header(fit, items, note)


def _columns_section(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Section:
    """Return the section of the columns: mean, variances between and within classes, share of the former."""
    table = results.tidy().set_index("term").rename_axis(index=None)
    formats: dict[Any, Any] = {"between": "general", "within": "general", "share": "share"}
    return Section(
        "Mean, and variances between and within classes",
        table,
        formats,
        note="share is the variance between classes, divided by the sum of both variances.",
        source="fit.mean, fit.between, fit.within",
        ranking=headers.rank_columns(fit.estimates.moments) if headers.has_many_columns(fit.terms) else None,
    )


def _axes_section(results: PLDAResults, fit: FittedModel[PLDAFit]) -> Section:
    """Return the section of the first `MAX_SHOWN_AXES` axes: ratio, and reliability, ratio / (1 + ratio).

    The ratio is the variance between classes divided by the variance within classes.
    """
    ratios = results.ratios
    table = pd.DataFrame({"ratio": ratios, "reliability": ratios / (1 + ratios)}).head(MAX_SHOWN_AXES)
    omitted_text = (
        f" And {len(ratios) - MAX_SHOWN_AXES} more: fit.ratios." if len(ratios) > MAX_SHOWN_AXES else ""
    )
    return Section(
        "Axes: ratio of the variances between and within classes",
        table,
        {"ratio": "general", "reliability": "share"},
        note=f"reliability is the correlation of two observations of one class on the axis.{omitted_text}",
        source="fit.ratios, fit.axes",
    )


plda_brief: Sections = {"axes": _axes_section}
"""Sections of the short summary."""
