"""k nearest neighbours: the verb `knn`, its results and its summary.

k is an option or is chosen by leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import constant_columns, dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.neighbours.knn import KNNFit, NeighbourRule, fit_knn, restore_knn
from discrim.core.neighbours.neighbours import BINARY_METRICS, NeighbourMetric, explain_undefined
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule, log_posteriors
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import GatheredRows, gather_used_rows, read_rows, repeat_rows, used_rows
from discrim.errors import CollinearError, DataError, PriorError, warn_user
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, ModelSpec, PriorInRefits
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import error_path, largest_acceptable, stored_path
from discrim.models.results import headers
from discrim.models.results.results import ClassifierResults
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

MAX_DEFAULT_K = 50
"""Largest k to try by default."""


def _pooled_moments(design_rows: DesignRows, moments: ClassMoments) -> ClassMoments:
    """Compute the pooled scatter matrix for the Mahalanobis metric.

    Parameters
    ----------
    design_rows : DesignRows
        The rows.
    moments : ClassMoments
        Diagonal moments of the same rows, which show whether there are enough of them.

    Returns
    -------
    ClassMoments
        Moments of the rows, with the scatter matrix within classes, pooled over the classes.

    Raises
    ------
    CollinearError
        There are fewer than K + p rows for K classes and p columns, or the matrix is singular.
    """
    terms = design_rows.terms
    if moments.total - moments.n_classes < len(terms):
        # Check before the scatter matrix is computed.
        raise CollinearError(
            f"{moments.total:g} observations in {moments.n_classes} classes are too few for the covariance "
            f"matrix of {len(terms)} columns.",
            hint='Use fewer columns, or pass metric="euclidean".',
            options={"metric": "euclidean"},
        )
    within = reading.class_moments(design_rows, "pooled")
    collinear = [terms[dependency.column] for dependency in dependencies(within)]
    if collinear:
        raise CollinearError(
            f"The covariance matrix within classes is singular: {reading.join_labels(collinear)} "
            f"{'is' if len(collinear) == 1 else 'are'} constant or a linear combination of preceding "
            "columns.",
            hint='Drop such columns from the formula, or pass metric="euclidean".',
            options={"metric": "euclidean"},
            columns=collinear,
        )
    return within


def _raise_if_metric_undefined(
    metric: str, rows: GatheredRows, points: Floats, design_rows: DesignRows
) -> None:
    """Raise DataError if the metric is not defined for a row, such as a row of zeros for "cosine".

    It is also raised if a value is neither 0 nor 1 and the metric is one of `BINARY_METRICS`.

    Parameters
    ----------
    metric : str
        The option `metric` of `knn`.
    rows : GatheredRows
        The n rows of the fit.
    points : (n, q) float64
        Their coordinates in the space in which distances are computed, in which columns are scaled.
    design_rows : DesignRows
        The rows, for names.
    """
    if metric in BINARY_METRICS:
        invalid = np.argwhere((rows.x != 0) & (rows.x != 1))
        if len(invalid):
            row, column = invalid[0]
            label = design_rows.table.label(int(rows.positions[row]))
            raise DataError(
                f"metric={metric!r} requires columns of zeros and ones, but {design_rows.terms[column]!r} is "
                f"{rows.x[row, column]:g} in row {label!r}.",
                hint="Use another metric, or leave out the column.",
                columns=(design_rows.terms[column],),
                rows=(label,),
            )
    reason, is_undefined = explain_undefined(metric, points)
    if is_undefined.any():
        row = design_rows.table.label(int(rows.positions[int(np.argmax(is_undefined))]))
        raise DataError(
            f"metric={metric!r} is not defined for row {row!r}: {reason}.",
            hint="Leave out such rows, or use another metric.",
            rows=(row,),
        )


def _raise_if_zero_prior(prior: Floats, classes: Any) -> None:
    """Raise PriorError if the prior (K,) of a class is zero."""
    if not (prior > 0).all():
        raise PriorError(
            f"The prior of class {format_value(classes[int(np.argmin(prior))])} is 0. If all neighbours of a "
            "row are of such classes, its posterior is undefined.",
            hint="Pass a positive prior for the class, or leave it out.",
            classes=(classes[int(np.argmin(prior))],),
        )


MIN_COPIED_SHARE = 0.75
"""Smallest share of rows that equal another row of their class for the warning on duplicated rows."""

MAX_SHARED_SHARE = 0.05
"""Largest excess of distinct pairs of row and class over distinct rows for this warning, as a share of pairs.

A larger excess means that classes have rows in common.
"""


@reading.with_public_errors
def knn(
    formula: str,
    data: Data,
    *,
    k: int | None = None,
    metric: NeighbourMetric = "euclidean",
    scale: bool = True,
    grid: Sequence[int] | None = None,
    prior: Prior = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> KNNResults:
    """K nearest neighbours.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table
        Table in memory; sources that are read in chunks are refused. Weights are not supported: repeat
        rows instead.
    k : int, optional
        Number of nearest observations that vote; observations as near as the k-th also vote. By default
        leave-one-out chooses k, the largest one if errors are equal.
    metric : str
        "euclidean"; "mahalanobis", with the pooled covariance within classes (divisor N - K), for which
        `scale` makes no difference; or another metric of scipy's `cdist`: "cityblock", "chebyshev",
        "braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon", and for columns of
        zeros and ones "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule". "minkowski"
        (p = 2), "sqeuclidean" and, with `scale`, "seuclidean" have the neighbours of "euclidean".
    scale : bool
        Whether each column is divided by its overall standard deviation (divisor N - 1).
    grid : sequence of int, optional
        The k to choose from if `k` is None; by default 1 to 50, or to the number of rows less one.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions. Each probability must be above
        zero.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    KNNResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also a k that is not
        from 1 to the number of rows, both a k and a grid, and a metric that is unknown or undefined for some
        rows.
    PriorError
        The prior is not a distribution over the classes, or one of its probabilities is zero.
    CollinearError
        A column that is to be scaled is constant, or the covariance for "mahalanobis" is singular.
    NotSupportedError
        The rows do not fit in memory.

    Notes
    -----
    The rule is due to Fix & Hodges (1951, USAF School of Aviation Medicine, report 4) and Cover & Hart (1967,
    IEEE Transactions on Information Theory 13, 21-27).

    Let class g have k_g of the votes, the share s_g of the rows and the prior pi_g. Its posterior is
    proportional to pi_g k_g / s_g, because k_g / n_g estimates the density of the class. By default pi_g =
    s_g, and the posteriors are shares of votes.

    `discrim.kernel_density` with kernel="uniform" counts all rows within a radius, its bandwidth, instead of
    the k nearest.

    Nothing is random. Distances that differ by no more than the rounding of the table's numbers are tied, and
    all rows as near as the k-th vote; R's class::knn does so with use.all=TRUE, and ties distances up to a
    ten-thousandth of their square. If posteriors tie, class::knn decides at random and scikit-learn by the
    order of the levels; here the row is assigned to the class with the nearest neighbour, then to the class
    with the larger prior, then to the first of the levels.

    The rule for ties suits rows that are a sample. It does not suit a table with one row for each cell and
    class, such as a table of frequencies: the row that is left out was the only one of its class in its cell.
    Its nearest neighbours are all of other classes, and leave-one-out has more errors than guessing under any
    rule for ties, and most under this one. Repeat each row according to its frequency. All of the many rows
    that are then equally near vote, as in class::knn, while scikit-learn uses the first k of them in the
    order of the table.

    Leave-one-out leaves out one row, and not the rows that are equal to it. If observations were entered more
    than once, the nearest neighbour of every row is its copy, and the chosen k is too small. A warning is
    issued if three quarters of the rows have a copy and the distinct rows would choose another k.

    A saved fit contains its rows, in the coordinates in which distances are computed, with their classes.

    Leave-one-out needs one search for all k. The row that is left out is also removed from the covariance of
    "mahalanobis", by a rank-one update, and from the class proportions that break ties. The standard
    deviations of `scale` are fixed: they are computed from all rows and do not depend on the classes. A prior
    passed by the user is fixed too, while the proportions s_g in the weights of votes pi_g / s_g are computed
    without the row that is left out. Folds are fitted again, with their own standard deviations, and choose k
    again.

    Examples
    --------
    >>> from discrim import knn
    >>> from discrim.datasets import load_iris
    >>> fit = knn("species ~ .", load_iris(), k=5)
    >>> fit.error_rates(["loo"])["wrong"].tolist()
    [8.0]
    >>> fit.predict_proba().iloc[70].round(2).tolist()
    [0.0, 0.4, 0.6]
    """
    options = verb_options(locals())
    reading.check_word("metric", metric, NeighbourMetric)
    reading.check_flag("scale", scale)
    if metric == "seuclidean" and not scale:
        raise DataError("metric='seuclidean' requires scale=True.", hint="Pass scale=True.")
    if k is not None and grid is not None:
        raise DataError("grid= cannot be combined with k=.", hint="Leave out one of the two.")
    reason = "knn() compares each row with all others, and"
    design_rows = read_rows(formula, data, levels=levels, functions=functions, in_memory=reason)
    reading.raise_if_large(design_rows, "knn() keeps its rows")
    design_rows, moments = reading.usable_rows(design_rows, "diagonal", na_action)
    candidates = _candidate_ks(k, grid, int(moments.total))
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, moments.counts)
    _raise_if_zero_prior(priors, design_rows.design.levels)
    within = _pooled_moments(design_rows, moments) if metric == "mahalanobis" else None
    constant = [design_rows.terms[j] for j in constant_columns(moments)]
    if constant and within is None and scale:
        raise CollinearError(
            f"{reading.join_labels(constant)} {'is' if len(constant) == 1 else 'are'} constant and cannot be "
            "divided by the standard deviation.",
            hint="Drop such columns from the formula, or pass scale=False.",
            options={"scale": False},
            columns=constant,
        )
    rows = gather_used_rows(design_rows)
    fit = fit_knn(
        rows.x, rows.codes, moments, priors, k=candidates[0], metric=metric, scale=bool(scale),
        estimated_prior=estimated, within=within,
    )  # fmt: skip
    _raise_if_metric_undefined(metric, rows, fit.search.points, design_rows)
    if k is not None:
        return KNNResults(KNNSpec().fit(fit, design_rows, options))
    path = _candidate_table(fit, candidates)
    fit = fit.with_k(largest_acceptable(path))
    _warn_of_copies(fit, rows.x, candidates)
    return KNNResults(KNNSpec(tuple(path["k"].tolist())).fit(fit, design_rows, options, path=path))


def _candidate_ks(k: int | None, grid: Sequence[int] | None, n: int) -> list[int]:
    """Validate `k` and `grid`; return the candidates for k.

    Parameters
    ----------
    k : int or None
        The option; if it is not None, it is the only candidate.
    grid : sequence of int or None
        Candidates of the user; None stands for 1 to the smaller of `MAX_DEFAULT_K` and n - 1.
    n : int
        Number of rows.

    Returns
    -------
    list of int
        In increasing order.

    Raises
    ------
    DataError
        k is not from 1 to n, a candidate is not from 1 to n - 1, or k has to be chosen from fewer than two
        rows.
    """
    if k is not None:
        if not (reading.is_integer(k) and 1 <= k <= n):
            raise DataError(
                f"k={reading.format_argument(k)} is not valid.",
                hint=(
                    f"Pass a number of neighbours from 1 to {n}, the number of observations, or None to have "
                    "it chosen."
                ),
            )
        return [int(k)]
    if n < 2:
        raise DataError(
            "The choice of k by leave-one-out requires at least two observations.", hint="Pass k=."
        )
    if grid is None:
        return list(range(1, min(MAX_DEFAULT_K, n - 1) + 1))
    limit_text = ", one less than the number of rows, because each is left out"
    return reading.check_grid(grid, "k", 1, n - 1, integers_only=True, also=limit_text)


def _warn_of_copies(fit: KNNFit, x: Floats, grid: list[int]) -> None:
    """Warn if many rows have a copy in their class and the distinct rows would choose another k.

    A copy of a left-out row votes for its class, which favours a small k. No warning is issued if classes
    have many rows in common; see `MIN_COPIED_SHARE` and `MAX_SHARED_SHARE`.

    Parameters
    ----------
    fit : KNNFit
        The fit with the chosen k.
    x : (n, p) float64
        Rows of the fit.
    grid : list of int
        The candidates for k.
    """
    codes = fit.search.codes
    n = len(x)
    n_distinct = len(np.unique(x, axis=0))
    if n_distinct == n:
        return
    _, first_index, repetitions = np.unique(
        np.column_stack([x, codes]), axis=0, return_index=True, return_counts=True
    )
    n_copied = int(repetitions[repetitions > 1].sum())
    # If classes have rows in common, columns have few values, and equal rows are different observations.
    if n_copied < MIN_COPIED_SHARE * n or len(first_index) - n_distinct > MAX_SHARED_SHARE * len(first_index):
        return
    distinct_fit = fit.with_k(1).refit(x[np.sort(first_index)], codes[np.sort(first_index)])
    candidates = [k for k in grid if k < len(first_index)]
    if distinct_fit is None or not candidates:
        return
    distinct_k = largest_acceptable(_candidate_table(distinct_fit, candidates))
    if distinct_k != fit.k:
        warn_user(
            f"Leave-one-out chose k={fit.k}, but {n_copied} of {n} rows equal another row of their class, "
            f"which still votes when they are left out. Among the {len(first_index)} distinct rows "
            f"leave-one-out chooses k={distinct_k}. If equal rows are one observation that was entered "
            "several times, keep it once; otherwise pass k=."
        )


def _candidate_table(fit: KNNFit, grid: list[int]) -> pd.DataFrame:
    """Return the leave-one-out error of each candidate for k, as a table with columns k, error and se.

    The errors are proportions and equal `error_rates(["loo"])` of a fit with this k; se is their
    standard error. `fit.k` is not used.
    """
    with Progress(len(fit.search.points), "choice of k") as progress:
        misclassified = fit.left_out_errors_by_class(grid, fit.prior, progress)
    return error_path("k", grid, misclassified, fit.moments.counts, fit.prior, sampled=fit.estimated_prior)


def _refit_rule(
    fit: FittedModel[KNNFit], design_rows: DesignRows, candidates: Sequence[int] = ()
) -> NeighbourRule | None:
    """Refit to other rows and return the rule.

    A prior of class proportions is estimated again; any other prior of the fit is kept.

    Parameters
    ----------
    fit : FittedModel
        The fitted model.
    design_rows : DesignRows
        The rows; their weights are whole numbers, by which they are repeated.
    candidates : sequence of int
        Candidates for k to choose from again, without those that are not below the number of rows; if empty,
        the k of the fit is used.

    Returns
    -------
    NeighbourRule or None
        None if rows are absent or fewer than k, a class is empty, a column to be scaled is constant, or the
        covariance for "mahalanobis" is singular. With candidates, also if none is below the number of rows.
    """
    chunks = [repeat_rows(x, codes, weights) for _, x, codes, weights in used_rows(design_rows)]
    if not chunks:
        return None
    x, codes = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
    # The k of the fit may be larger than the number of these rows.
    refit = (fit.estimates.with_k(min(candidates)) if candidates else fit.estimates).refit(x, codes)
    if refit is not None and candidates:
        grid = [k for k in candidates if k < refit.moments.rows.sum()]
        refit = refit.with_k(largest_acceptable(_candidate_table(refit, grid))) if grid else None
    return None if refit is None else refit.rule_with_prior(refit.prior)


class KNNResults(ClassifierResults):
    """A fit of k nearest neighbours. It does not have a likelihood, and k is its only estimate."""

    _fit: FittedModel[KNNFit]

    @property
    def k(self) -> int:
        """Number of nearest rows that vote; more vote if others are as near as the k-th."""
        return self._fit.estimates.k

    @property
    def metric(self) -> str:
        """Metric of the distances, an option of `discrim.knn`."""
        return self._fit.estimates.metric

    @property
    @available_if()
    @with_display_formats(se="share")
    def path(self) -> pd.DataFrame:
        """Leave-one-out errors of the candidate values of k, in increasing order.

        Columns: k, error (a proportion, classes weighted by the prior), se (its standard error).

        Raises
        ------
        NotSupportedError
            k was an option, or the fit was loaded.
        """
        reason = "because k was set, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without k= to have it chosen")

    # ---- neighbours

    def votes(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Numbers of neighbours by class, rows by classes, not weighted by the prior.

        Parameters
        ----------
        data : table, optional
            New rows. By default the rows of the fit, each of which votes for itself.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Whole numbers that sum to k, or to more if several rows are as near as the k-th; NA if the row has
            a missing value. The dtype is int64, or Int64 if there is such a row.

        Examples
        --------
        >>> from discrim import knn
        >>> from discrim.datasets import load_iris
        >>> knn("species ~ .", load_iris(), k=5).votes().iloc[70].tolist()
        [0, 2, 3]
        """
        design_rows = self._fit.new_rows(data, MissingPolicy(unseen))
        rule = self._fit.estimates.rule_with_prior(self._fit.prior_values())
        frame = pd.DataFrame(0, index=design_rows.table.index, columns=self.classes, dtype="Int64")
        for row_slice, x, missing in design_rows.iter_all_rows():
            votes = np.full((len(x), len(self.classes)), pd.NA, dtype=object)
            is_complete = slice(None) if missing is None else ~missing
            if len(x[is_complete]):
                votes[is_complete] = rule.votes(x[is_complete])
            frame.iloc[row_slice] = votes
        return frame if frame.isna().any(axis=None) else frame.astype(np.int64)

    # ---- tables and pictures

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each class: class, prior, rows, and vote: the weight of a vote, pi_g / s_g."""
        vote = self._fit.estimates.vote_weights(self._fit.estimates.prior)
        table = pd.DataFrame({"prior": self.prior, "rows": self.counts, "vote": vote})
        return table.rename_axis("class").reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, k, metric, scale."""
        row = self._sizes() | {"k": self.k, "metric": self.metric, "scale": self._fit.estimates.scale}
        return pd.DataFrame([row])


@dataclass(frozen=True, eq=False)
class KNNSpec(ModelSpec[KNNFit]):
    """Specification of k nearest neighbours.

    Parameters
    ----------
    search : tuple of int
        Candidates from which refits choose k again; empty if k was an option.
    """

    name = "knn"
    title = "k nearest neighbours"
    results_class = KNNResults
    refit_failure = ("k is more than the rows, or a column is constant", "a smaller k")
    leave_one_out_cost = 20
    compares_rows = True
    chosen_options = MappingProxyType({"k": "k"})
    search_options = ("grid",)
    constructor = staticmethod(restore_knn)
    file_moments = "diagonal"
    allows_constant = True
    # Some metrics do not define a distance to a class mean.
    scores_class_means = False

    search: tuple[int, ...] = ()

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `knn_sections` and `knn_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return knn_sections, knn_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the `Plot` objects of the method `plot`; the first that suits a fit is its default.

        They are `shared.WITH_POSTERIORS` and "path".
        """
        from discrim.models.neighbours.plots import KNN_PLOTS

        return KNN_PLOTS

    def likelihood_of(self, fit: FittedModel[KNNFit]) -> str:
        """Return "none": the model does not compute a likelihood; see `ModelSpec.likelihood_of`."""
        return "none"

    def prior_in_refits(self, fit: FittedModel[KNNFit]) -> PriorInRefits:
        """Return "refitted": refits estimate a prior of class proportions again; other priors are kept."""
        return "refitted"

    def rule(
        self, fit: FittedModel[KNNFit], prior: Floats, method: str, convention: str | None
    ) -> NeighbourRule:
        """Return the rule that weights votes by a prior (K,) divided by the class proportions.

        Any `method` but "plugin" is a NotSupportedError; `convention` is not used.
        """
        return fit.estimates.rule_with_prior(prior, method)

    def decision(self, fit: FittedModel[KNNFit], scores: Floats) -> Floats:
        """Return the log posteriors (m, K) of scores (m, K), which `decision_function` shows."""
        return log_posteriors(scores)

    def check_prior(self, prior: Floats, classes: pd.Index) -> None:
        """Raise PriorError if the prior (K,) of a class is zero."""
        _raise_if_zero_prior(prior, classes)

    def required_moments(self, fit: FittedModel[KNNFit]) -> None:
        """Return None: a refit needs the rows."""

    def choice_description(self, fit: FittedModel[KNNFit]) -> str:
        """Return "k" if it was chosen from the rows, otherwise ""."""
        return "k" if self.search else ""

    def refit_to_rows(self, fit: FittedModel[KNNFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that chooses k again if it was chosen.

        None if there are too few rows for k, a class is empty, a column to be scaled is constant, or the
        covariance for "mahalanobis" is singular.
        """
        return _refit_rule(fit, rows, self.search)

    def refit_with_fixed(self, fit: FittedModel[KNNFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps k.

        None if there are fewer rows than k, a class is empty, a column to be scaled is constant, or the
        covariance for "mahalanobis" is singular.
        """
        return _refit_rule(fit, rows)

    def leave_one_out(self, fit: FittedModel[KNNFit]) -> Floats:
        """Return the scores (n, K) of the rows of the fit, each by the rule fitted without it.

        One search finds the neighbours of all rows. NotSupportedError is raised if k is not below the number
        of rows.
        """
        with Progress(len(fit.estimates.search.points), "rows left out") as progress:
            return fit.estimates.leave_one_out_scores(fit.prior_values(), progress)

    def leave_one_out_of_rows(
        self, fit: FittedModel[KNNFit], x: Floats, codes: Codes, positions: Codes
    ) -> Floats:
        """Return the scores (m, K) of `leave_one_out` of some used rows; see `ModelSpec`."""
        return fit.estimates.leave_one_out_scores(fit.prior_values(), positions=positions)

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of k classes and p columns, by name; -1 is any length.

        The names are "points", "codes", "space.origin", "space.unit" and "space.within".
        """
        space = {"space.origin": (p,), "space.unit": (p,), "space.within": (p, p)}
        return {"points": (-1, p), "codes": (-1,), **space}


MAX_SHOWN_CANDIDATES = 20
"""Largest number of candidates for k that the summary shows, in addition to the chosen one."""


def knn_sections(results: KNNResults, fit: FittedModel[KNNFit]) -> Sections:
    """Return the section functions of the full summary, by name, in their order.

    The names are "header", "classes" and "path"; each function accepts `results` and `fit` and returns a
    section. "path" is left out if the fit does not store the errors of a choice.
    """
    section_functions: Sections = {"header": _header_section, "classes": _classes_section}
    return section_functions if fit.path is None else section_functions | {"path": _path_section}


def _header_section(results: KNNResults, fit: FittedModel[KNNFit]) -> Pairs:
    """Return the header of the summary: rows, k and its choice, metric, scaling, prior and errors.

    The errors are the apparent and the leave-one-out error.
    """
    scale = HeaderItem("Columns divided by", "SD, all rows" if fit.estimates.scale else "nothing")
    if results.metric == "mahalanobis":
        scale = HeaderItem("Covariance", "pooled, 1/(N-K)")
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        HeaderItem("Neighbours k", results.k, brief="neighbours k", options=("k",)),
        headers.chosen_item(fit, "leave-one-out"),
        HeaderItem("Metric", results.metric),
        scale,
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = (
        "All neighbours at the distance of the k-th vote. If posteriors are tied, the class of the nearest "
        "neighbour is predicted, then the class with the larger prior."
    )
    if fit.path is not None:
        note += " The leave-one-out error is optimistic, because k was chosen by it: see error_rates(['cv'])."
    return headers.header(fit, items, note + headers.error_sample_note(fit))


def _classes_section(results: KNNResults, fit: FittedModel[KNNFit]) -> Section:
    """Return the section of the classes: priors, rows and weights of a vote."""
    vote = fit.estimates.vote_weights(fit.estimates.prior)
    table = pd.DataFrame({"prior": results.prior, "n": results.counts, "vote": vote})
    formats: dict[Any, Any] = {"prior": "share", "n": "count"}
    headings = {"vote": "weight of a vote"}
    return Section("Classes", table, formats, headings=headings, source="fit.prior, fit.counts, fit.tidy()")


def _path_section(results: KNNResults, fit: FittedModel[KNNFit]) -> Section:
    """Return the section of up to `MAX_SHOWN_CANDIDATES` evenly spaced candidates, with leave-one-out errors.

    The chosen k, which "*" marks, is always among the rows.
    """
    path = results.path
    chosen = path["k"] == results.k
    steps = np.unique(np.linspace(0, len(path) - 1, min(MAX_SHOWN_CANDIDATES, len(path))).round().astype(int))
    listed = path.loc[np.union1d(steps, np.flatnonzero(chosen))]
    table = listed.set_index("k").rename_axis(index=None)
    table["chosen"] = np.where(table.index == results.k, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "chosen": "text"}
    end_note = ""
    candidates = path["k"]
    if len(candidates) > 1 and results.k == candidates.iloc[-1] < results.nobs - 1:
        end_note = " The chosen k is the largest candidate; larger ones may be better: see grid=."
    elif len(candidates) > 1 and results.k == candidates.iloc[0] > 1:
        end_note = " The chosen k is the smallest candidate; smaller ones may be better: see grid=."
    note = (
        f"{len(listed)} of {len(path)} candidates are shown. The largest k with the smallest error is "
        f"chosen.{end_note}"
    )
    title = "Leave-one-out error by k"
    return Section(title, table, formats, headings=SHARED_HEADINGS, note=note, source="fit.path")


knn_brief: Sections = {"classes": _classes_section}
"""Sections of the short summary, which follow the header."""
