"""Means and covariances of normal classes by maximum likelihood from rows with missing values.

`fit_em` computes the estimates for LDA and QDA, and `EMCovariance` is the covariance model.

Such a fit stores moments with the counts of the rows, the means of maximum likelihood, and scatters that
divided by the counts are the covariances. Rules, functions and axes are computed from these moments in the
usual way. Results that depend on the sampling distribution of moments are refused.

*EM.* Rows of class k are normal with mean m_k and a covariance S that the classes share, and only some
columns of each row are observed. EM maximizes the product of the normal densities of the observed values
(Dempster, Laird & Rubin, 1977, JRSS B 39, 1-38; Little & Rubin, 2020, Statistical Analysis with Missing Data,
3rd ed., sec. 11.2). An iteration completes each row by the regression of its missing columns on the observed
ones, computes means and products of the completed rows, and adds the residual covariance of the regression to
the products of missing columns. The estimates are valid if the missingness does not depend on the missing
values.

*Patterns.* Rows with the same missing columns enter by their count and mean in each class and by the root of
their scatter, therefore the cost of an iteration depends on the number of patterns and not on the number of
rows.

*Digits.* The covariance is stored as a root, R'R = S. The triangle of the columns of R, the observed ones
first, contains the root of their covariance, the slopes, and the root of the residual covariance, and the
root of the next S is the triangle of all completed rows: nothing is squared.

*Acceleration.* Pairs of iterations are extrapolated (SQUAREM: Varadhan & Roland, 2008, Scandinavian Journal
of Statistics 35, 335-353), in the means and in the root with the logarithms of its diagonal, a
parametrization in which every value is a covariance; a step that lowers the likelihood is undone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import MIN_SLOPE_RATIO
from discrim.core.covariance.model import (
    CovarianceTraits,
    FullCovariance,
    NormalClasses,
)
from discrim.core.errors import CoreDataError, CoreNotSupportedError
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.moments.row_sums import column_scale, triangular_root
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.gaussian import missingness_patterns
from discrim.core.rules.leave_one_out import LeaveOneOutScorer

TOLERANCE = 1e-8
"""Estimated distance to the maximum, in standard errors of complete rows, at convergence."""

LLF_TOLERANCE = 1e-10
"""Estimated remaining gain in log-likelihood, relative to its size, at convergence."""

MAX_ITERATIONS = 5000
"""Maximum number of EM iterations."""

MAX_LOG_SD_CHANGE = 3.0
"""Maximum change of the logarithm of a diagonal element of the root by extrapolation."""

MIN_RESIDUAL_RATIO = 1e-9
"""Residual of a column on earlier ones, relative to its length, at which a covariance counts as singular."""


@dataclass(frozen=True, slots=True, eq=False)
class _PatternGroup:
    """Statistics of B missingness patterns with the same number q of observed columns.

    Attributes
    ----------
    order : (B, p) int
        Positions of the observed columns of each pattern, followed by the missing ones.
    counts : (B, K) float
        Sums of weights by class.
    means : (B, K, q) float
        Means of the observed columns in z, that is, about the class centres.
    roots : (B, q, q) float
        Upper triangular roots of the scatters of z about these means, summed over the classes.
    """

    order: Codes
    counts: Floats
    means: Floats
    roots: Floats

    @property
    def n_observed(self) -> int:
        """Number of observed columns, q."""
        return int(self.means.shape[2])


@dataclass(frozen=True, slots=True, eq=False)
class ObservedStatistics:
    """Sufficient statistics of rows with missing values, for classes that share a covariance.

    Attributes
    ----------
    groups : tuple of _PatternGroup
        Statistics of the rows by number of observed columns, in increasing order of this number.
    counts : (K,) float
        Sums of weights.
    centres : (K, p) float
        Weighted class means of the observed values, in the units of the data.
    unit : (p,) float
        Powers of two that bring the columns near one: z = (x - centre of the class) * unit.
    """

    groups: tuple[_PatternGroup, ...]
    counts: Floats
    centres: Floats
    unit: Floats


@dataclass(frozen=True, slots=True, eq=False)
class EMMaximum:
    """Maximum-likelihood estimates, in z, and the result of the search.

    Attributes
    ----------
    means : (K, p) float
        Class means.
    root : (p, p) float
        Upper triangular root of the covariance; the signs of its rows are arbitrary.
    llf : float
        Log-likelihood of the observed values conditional on the classes, in the units of the data.
    steps : int
        Number of EM iterations.
    converged : bool
        Whether the iterations converged.
    dependent_column : int or None
        Position of a linearly dependent column if the covariance became singular, else None.
    """

    means: Floats
    root: Floats
    llf: float
    steps: int
    converged: bool
    dependent_column: int | None = None

    def moments(self, observed: ObservedStatistics, rows: NDArray[np.int64]) -> ClassMoments:
        """Return moments with the estimated means, and with a scatter that over the counts is the covariance.

        Parameters
        ----------
        observed : ObservedStatistics
            Statistics from which the estimates were computed.
        rows : (K,) int
            Numbers of rows of the classes, which are stored in the result.

        Returns
        -------
        ClassMoments
            With a pooled scatter and its root.
        """
        sd = np.sqrt((self.root**2).sum(axis=0))
        scale = column_scale(sd / observed.unit)
        ratio = scale / observed.unit
        centres, centre_errors = split_mean(observed.centres, self.means * ratio, scale)
        root = self.root * ratio * np.sqrt(observed.counts.sum())
        return ClassMoments(
            observed.counts, rows, centres, centre_errors, scale, (root.T @ root)[None], root[None]
        )


def observed_moments(x: Floats, codes: Codes, weights: Floats | None, k: int) -> ClassMoments:
    """Compute the counts of rows, and class means and sums of squares of the observed values by column.

    Counts include all rows. A sum of squares is about the class mean and is not scaled up for missing values.

    Parameters
    ----------
    x : (n, p) float
        With NaN for missing values.
    codes : (n,) int
        Class of each row.
    weights : (n,) float, optional
        Weights of the rows; by default one.
    k : int
        Number of classes.

    Returns
    -------
    ClassMoments
        With diagonal scatters. A column without observed values in a class has a mean and a square of zero.
    """
    w = np.ones(len(x)) if weights is None else weights
    means, squares = np.zeros((2, k, x.shape[1]))
    scale = _power_of_two_scale(x - _first_values(x))
    for c in range(k):
        class_rows = x[codes == c]
        weight = w[codes == c, None]
        if not len(class_rows):
            continue
        observed_weights = ~np.isnan(class_rows) * weight
        n = np.maximum(observed_weights.sum(axis=0), np.finfo(np.float64).tiny)
        first_values = np.nan_to_num(_first_values(class_rows))
        means[c] = first_values + np.nansum((class_rows - first_values) * observed_weights, axis=0) / n
        squares[c] = np.nansum(((class_rows - means[c]) * scale) ** 2 * observed_weights, axis=0)
    counts = np.bincount(codes, w, k).astype(np.float64)
    rows = np.bincount(codes, minlength=k)
    return ClassMoments(counts, rows, means, np.zeros_like(means), scale, squares)


def _first_values(x: Floats) -> Floats:
    """Return the first observed value (p,) of each column of rows (n, p); NaN for a column without values."""
    return np.asarray(x[np.argmax(~np.isnan(x), axis=0), np.arange(x.shape[1])])


def _power_of_two_scale(deviations: Floats) -> Floats:
    """Return powers of two (p,) that multiply deviations (n, p), some NaN, so that squares are finite."""
    return column_scale(np.fmax.reduce(np.abs(deviations), axis=0))


def sufficient_statistics(
    x: Floats, codes: Codes, weights: Floats | None, n_classes: int
) -> ObservedStatistics:
    """Compute the sufficient statistics of rows with missing values.

    Parameters
    ----------
    x : (n, p) float
        With NaN for missing values; each class has an observed value in each column.
    codes : (n,) int
        Class of each row.
    weights : (n,) float, optional
        Weights of the rows; by default one.
    n_classes : int
        Number of classes.

    Returns
    -------
    ObservedStatistics
        One group for each number of observed columns that occurs.
    """
    w = np.ones(len(x)) if weights is None else weights
    centres = np.empty((n_classes, x.shape[1]))
    z = np.empty_like(x)
    for k in range(n_classes):
        members = codes == k
        rows = x[members]
        # Relative to a first value, because a sum of large values would lose digits of their mean.
        first_values = _first_values(rows)
        deviations = rows - first_values
        observed_weights = ~np.isnan(deviations) * w[members, None]
        centres[k] = first_values + np.nansum(deviations * observed_weights, axis=0) / observed_weights.sum(
            axis=0
        )
        z[members] = rows - centres[k]
    scale = _power_of_two_scale(z)
    sizes = np.sqrt(np.nanmean((z * scale) ** 2, axis=0)) / scale
    unit = np.exp2(-np.round(np.log2(np.where(sizes > 0, sizes, 1.0))))
    z *= unit
    row_patterns = missingness_patterns(np.isnan(x))
    groups = []
    for q in sorted({len(columns) for columns, _ in row_patterns}):
        patterns_of_size = [(columns, rows) for columns, rows in row_patterns if len(columns) == q]
        groups.append(_pattern_group(patterns_of_size, z, codes, w, n_classes))
    counts = np.bincount(codes, w, n_classes).astype(np.float64)
    return ObservedStatistics(tuple(groups), counts, centres, unit)


def _pattern_group(
    patterns_of_size: list[tuple[Codes, Codes]], z: Floats, codes: Codes, w: Floats, k: int
) -> _PatternGroup:
    """Compute the statistics of patterns with the same number q of observed columns.

    Parameters
    ----------
    patterns_of_size : list of (columns, rows)
        Positions of the observed columns and of the rows of each pattern.
    z : (n, p) float
        Rows less the class centres, times `unit` of `ObservedStatistics`; NaN for missing values.
    codes : (n,) int
        Class of each row.
    w : (n,) float
        Weights.
    k : int
        Number of classes.

    Returns
    -------
    _PatternGroup
        Patterns in the order of `patterns_of_size`. Means are zero for classes without rows of a pattern.
    """
    p = z.shape[1]
    q = len(patterns_of_size[0][0])
    order = np.array([np.concatenate([c, np.setdiff1d(np.arange(p), c)]) for c, _ in patterns_of_size])
    counts, means, roots = (np.zeros((len(patterns_of_size), *shape)) for shape in ((k,), (k, q), (q, q)))
    for i, (columns, rows) in enumerate(patterns_of_size):
        observed_values = z[rows][:, columns]
        classes = codes[rows]
        weight = w[rows]
        counts[i] = np.bincount(classes, weight, k)
        for c in np.flatnonzero(counts[i]).tolist():
            is_member = classes == c
            means[i, c] = weight[is_member] @ observed_values[is_member] / counts[i, c]
        roots[i] = triangular_root(np.sqrt(weight)[:, None] * (observed_values - means[i, classes]))
    return _PatternGroup(order, counts, means, roots)


def maximize_likelihood(
    observed: ObservedStatistics, progress: Callable[[int], None] = lambda steps: None
) -> EMMaximum:
    """Compute class means and a common covariance by maximum likelihood, by EM with extrapolation.

    Parameters
    ----------
    observed : ObservedStatistics
        Sufficient statistics of the rows.
    progress : callable
        Called with 1 after each iteration.

    Returns
    -------
    EMMaximum
        Estimates, log-likelihood and number of iterations. `converged` is False if the covariance became
        singular, in which case `dependent_column` is a column, or if `MAX_ITERATIONS` was reached.

    Raises
    ------
    CoreDataError
        The likelihood at the initial estimates is not finite.
    """
    current = _initial_estimates(observed)
    steps = 0
    fallback = current
    previous_llf = -np.inf
    previous_change = np.inf
    while steps < MAX_ITERATIONS:
        first, llf = _em_iteration(observed, current)
        steps += 1
        progress(1)
        if not np.isfinite(llf) and steps == 1:
            raise CoreDataError("no_likelihood_of_rows")
        if not np.isfinite(llf) or llf < previous_llf - LLF_TOLERANCE * (1 + abs(previous_llf)):
            # The extrapolation went too far; return to the last iteration.
            current = fallback
            previous_llf = -np.inf
            continue
        older_change = previous_change
        previous_change = _standardized_change(observed, current, first)
        norms = np.sqrt((first[1] ** 2).sum(axis=0))
        if (np.abs(np.diagonal(first[1])) / norms).min() <= MIN_RESIDUAL_RATIO:
            dependent_column = _dependent_column(observed, first[1])
            return EMMaximum(*first, llf + _unit_log_likelihood(observed), steps, False, dependent_column)
        second, second_llf = _em_iteration(observed, first)
        steps += 1
        progress(1)
        change = _standardized_change(observed, first, second)
        rate = min(change / previous_change, 1.0) if previous_change > 0 else 0.0
        remaining_change = change * rate / (1.0 - rate) if rate < 1 else np.inf
        gain = (second_llf - llf) * rate**2 / (1.0 - rate**2) if rate < 1 else np.inf
        has_converged = remaining_change <= TOLERANCE and gain <= LLF_TOLERANCE * (1 + abs(second_llf))
        if has_converged or (
            change <= TOLERANCE and change >= previous_change and previous_change >= older_change
        ):
            final_llf = _em_iteration(observed, second)[1]
            return EMMaximum(*second, final_llf + _unit_log_likelihood(observed), steps + 1, True)
        fallback = second
        previous_llf = second_llf
        current = _extrapolate(current, first, second)
    return EMMaximum(*second, second_llf + _unit_log_likelihood(observed), steps, False)


_Estimates = tuple[Floats, Floats]
"""Class means (K, p) and upper triangular root (p, p) of the covariance, in z."""


def _initial_estimates(observed: ObservedStatistics) -> _Estimates:
    """Return the (means, root), in z, at which EM starts: zeros, and a diagonal of standard deviations."""
    p = len(observed.unit)
    squares = np.zeros(p)
    counts = np.zeros(p)
    for group in observed.groups:
        q = group.n_observed
        group_sums = (group.roots**2).sum(axis=1) + np.einsum("bk,bkq->bq", group.counts, group.means**2)
        np.add.at(squares, group.order[:, :q], group_sums)
        np.add.at(counts, group.order[:, :q], group.counts.sum(axis=1)[:, None])
    return np.zeros_like(observed.centres), np.diag(np.sqrt(squares / counts))


def _em_iteration(observed: ObservedStatistics, current: _Estimates) -> tuple[_Estimates, float]:
    """Compute one iteration of EM.

    Parameters
    ----------
    observed : ObservedStatistics
        Sufficient statistics of the rows.
    current : (means, root)
        Current estimates, (K, p) and (p, p).

    Returns
    -------
    estimates : (means, root)
        Estimates after the iteration, (K, p) and (p, p).
    llf : float
        Log-likelihood of the observed values, in z, at the current estimates, before the iteration.
    """
    means, root = current
    p = len(root)
    llf = 0.0
    completed = []
    mean_changes = np.zeros_like(means)
    for group in observed.groups:
        q = group.n_observed
        order = group.order
        triangles: Floats = np.asarray(np.linalg.qr(np.moveaxis(root[:, order], 1, 0), mode="r"))
        observed_root = triangles[:, :q, :q]
        slopes = np.zeros((len(order), q, p))
        slopes[:, :, :q] = np.eye(q)
        slopes[:, :, q:] = np.linalg.solve(observed_root, triangles[:, :q, q:])
        mean_differences = group.means - np.moveaxis(means[:, order[:, :q]], 0, 1)
        n = group.counts.sum(axis=1)
        transposed = np.swapaxes(observed_root, 1, 2)
        squares = (np.linalg.solve(transposed, np.swapaxes(group.roots, 1, 2)) ** 2).sum()
        squares += (
            (np.linalg.solve(transposed, np.swapaxes(mean_differences, 1, 2)) ** 2).sum(axis=1) * group.counts
        ).sum()
        logs = np.log(np.abs(np.diagonal(observed_root, axis1=1, axis2=2))).sum(axis=1)
        llf -= 0.5 * (squares + n @ (2 * logs + q * np.log(2 * np.pi)))
        completed_means = _in_table_order(mean_differences @ slopes, order)
        mean_changes += np.einsum("bk,bkp->kp", group.counts, completed_means)
        residual_roots = np.zeros((len(order), p - q, p))
        residual_roots[:, :, q:] = np.sqrt(n)[:, None, None] * triangles[:, q:, q:]
        completed.append(
            (
                completed_means,
                _in_table_order(group.roots @ slopes, order),
                _in_table_order(residual_roots, order),
            )
        )
    mean_changes /= observed.counts[:, None]
    rows = []
    for group, (completed_means, products, residual_roots) in zip(observed.groups, completed, strict=True):
        between = np.sqrt(group.counts)[:, :, None] * (completed_means - mean_changes)
        rows += [rows_of_part.reshape(-1, p) for rows_of_part in (between, products, residual_roots)]
    return (
        means + mean_changes,
        triangular_root(np.concatenate(rows)) / np.sqrt(observed.counts.sum()),
    ), float(llf)


def _in_table_order(values: Floats, order: Codes) -> Floats:
    """Return columns (B, m, p) in the order of the table, from columns in the `order` (B, p) of patterns."""
    out = np.empty_like(values)
    np.put_along_axis(out, np.broadcast_to(order[:, None, :], values.shape), values, axis=2)
    return out


def _standardized_change(observed: ObservedStatistics, old: _Estimates, new: _Estimates) -> float:
    """Compute the largest change of a whitened mean or of the whitened covariance between two estimates.

    Parameters
    ----------
    observed : ObservedStatistics
        Sufficient statistics of the rows.
    old, new : (means, root)
        Estimates before and after an iteration.

    Returns
    -------
    float
        In standard errors that the estimates would have if the rows were complete.
    """
    relative_root = np.linalg.solve(old[1].T, new[1].T)
    change = np.abs(relative_root @ relative_root.T - np.eye(len(relative_root))).max() * np.sqrt(
        observed.counts.sum()
    )
    mean_changes = np.linalg.solve(old[1].T, (new[0] - old[0]).T) * np.sqrt(observed.counts)
    return float(max(change, np.abs(mean_changes).max()))


def _dependent_column(observed: ObservedStatistics, root: Floats) -> int:
    """Return the position of a column that is linearly dependent under a nearly singular `root`.

    Of all columns that take part in the dependency it is the one with the fewest observed rows, the last of
    ties.
    """
    loadings = np.abs(np.linalg.svd(root / np.sqrt((root**2).sum(axis=0)))[2][-1])
    counts = np.zeros(len(root))
    for group in observed.groups:
        np.add.at(counts, group.order[:, : group.n_observed], group.counts.sum(axis=1)[:, None])
    candidate_counts = np.where(loadings > MIN_SLOPE_RATIO * loadings.max(), counts, np.inf)
    return int(np.flatnonzero(candidate_counts == candidate_counts.min())[-1])


def _unit_log_likelihood(observed: ObservedStatistics) -> float:
    """Return the constant that is added to a log-likelihood of z to convert it to the units of the data."""
    return float(
        sum(
            group.counts.sum(axis=1) @ np.log(observed.unit)[group.order[:, : group.n_observed]].sum(axis=1)
            for group in observed.groups
        )
    )


def _as_parameter_vector(state: _Estimates) -> Floats:
    """Return the means, and the elements above the diagonal and the logarithms of the diagonal of the root.

    They are concatenated to a vector of K p + p (p + 1)/2 elements. The rows of the root get the signs that
    make its diagonal positive.
    """
    root = state[1] * np.sign(np.diagonal(state[1]))[:, None]
    above = root[np.triu_indices(len(root), 1)]
    return np.concatenate([state[0].ravel(), above, np.log(np.diagonal(root))])


def _extrapolate(current: _Estimates, first: _Estimates, second: _Estimates) -> _Estimates:
    """Extrapolate two successive iterations by SQUAREM.

    Parameters
    ----------
    current, first, second : (means, root)
        Estimates before and after the first and the second iteration.

    Returns
    -------
    (means, root)
        Extrapolated estimates; `second` if the logarithm of a diagonal element would change by
        `MAX_LOG_SD_CHANGE` or more, or if both iterations made the same change.
    """
    a = _as_parameter_vector(current)
    b = _as_parameter_vector(first)
    c = _as_parameter_vector(second)
    step = b - a
    curvature = (c - b) - (b - a)
    norm = float(np.linalg.norm(curvature))
    if not norm > 0:
        return second
    factor = max(float(np.linalg.norm(step)) / norm, 1.0)
    extrapolated = a + 2 * factor * step + factor**2 * curvature
    (k, p), means = current[0].shape, extrapolated[: current[0].size]
    if not np.abs(extrapolated[-p:] - c[-p:]).max() < MAX_LOG_SD_CHANGE:
        return second
    root = np.diag(np.exp(extrapolated[-p:]))
    root[np.triu_indices(p, 1)] = extrapolated[current[0].size : -p]
    return means.reshape(k, p), root


@dataclass(frozen=True, slots=True)
class EMCovariance(FullCovariance):
    """Full covariance estimated by EM from rows with missing values.

    Attributes
    ----------
    steps : int
        Number of EM iterations, summed over the classes if each has its own covariance.
    converged : bool
        Whether EM converged, for all classes.
    row_llf : float
        Log-likelihood of the observed values conditional on the classes, in the units of the data.
    patterns : int
        Number of different sets of observed columns.
    incomplete : int
        Number of rows with missing values.
    """

    steps: int
    converged: bool
    row_llf: float
    patterns: int
    incomplete: int

    traits = replace(FullCovariance.traits, is_plain_full=False, uses_incomplete_rows=True)

    def for_refit(self) -> FullCovariance:
        """Return a `FullCovariance`: EM is not repeated, because the moments contain its estimates."""
        return FullCovariance()


@dataclass(frozen=True, slots=True)
class IncompleteEMCovariance(EMCovariance):
    """Full covariance by EM of rows of which some have missing values.

    The likelihood does not follow from moments and is stored; `EMCovariance` itself is for complete rows.
    """

    traits = CovarianceTraits(
        is_full=True, is_moment_estimate=False, is_maximum_likelihood=True, uses_incomplete_rows=True
    )

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the joint log-likelihood of the classes and the observed values, `row_llf` plus log prior.

        Of `fitted`, only the counts and the log prior are used.
        """
        return float(fitted.moments.counts @ fitted.log_prior) + self.row_llf

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Raise CoreNotSupportedError for any number of rows, because each would require a search by EM."""
        raise CoreNotSupportedError("search_for_each_row", n_rows=int(fitted.moments.rows.sum()))

    def check_leave_one_out(self, moments: ClassMoments) -> None:
        """Raise CoreNotSupportedError for any number of rows, because each would require a search by EM."""
        raise CoreNotSupportedError("search_for_each_row", n_rows=int(moments.rows.sum()))

    @property
    def refits_each_row(self) -> bool:
        """Whether leaving out a row requires a refit, which is always the case."""
        return True


def em_covariance(
    steps: int, converged: bool, row_llf: float, patterns: int, incomplete: int
) -> EMCovariance:
    """Return an `IncompleteEMCovariance` if `incomplete`, the number of incomplete rows, is positive.

    Otherwise return an `EMCovariance`. The arguments are the attributes of `EMCovariance`.
    """
    model = IncompleteEMCovariance if incomplete else EMCovariance
    return model(steps, converged, row_llf, patterns, incomplete)


@dataclass(frozen=True, slots=True)
class SingularDuringSearch:
    """Result of a fit by EM in which a covariance became singular.

    Attributes
    ----------
    class_position : int or None
        Position of the class; None for the common covariance.
    column : int
        Position of a column that is a linear combination of others.
    """

    class_position: int | None
    column: int


def fit_em(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    n_classes: int,
    *,
    common: bool,
    progress: Callable[[int], None] = lambda steps: None,
) -> tuple[ClassMoments, EMCovariance] | SingularDuringSearch:
    """Estimate class means and covariances of normal classes by EM from rows with missing values.

    Parameters
    ----------
    x : (n, p) float
        Rows with NaN for missing values.
    codes : (n,) int
        Class of each row.
    weights : (n,) float, optional
        Weights of the rows; by default one.
    n_classes : int
        Number of classes.
    common : bool
        Whether all classes have the same covariance.
    progress : callable
        Called with 1 after each iteration.

    Returns
    -------
    (ClassMoments, EMCovariance) or SingularDuringSearch
        The moments, with a scatter that is pooled (`common`) or by class, contain the estimates: a scatter
        over its count is the covariance. The model has the results of the search; `converged` is False if
        any search reached `MAX_ITERATIONS`. A `SingularDuringSearch` for the first class, or for the common
        covariance, that became singular.

    Raises
    ------
    CoreDataError
        The likelihood at the initial estimates is not finite.
    """
    incomplete = int(np.isnan(x).any(axis=1).sum())
    n_patterns = len(missingness_patterns(np.isnan(x)))
    class_moments = []
    searches = []
    for k in [None] if common else range(n_classes):
        members = np.ones(len(x), dtype=bool) if k is None else codes == k
        w = None if weights is None else weights[members]
        labels = codes if k is None else np.zeros(int(np.count_nonzero(members)), dtype=np.intp)
        observed = sufficient_statistics(x[members], labels, w, n_classes if k is None else 1)
        maximum = maximize_likelihood(observed, progress)
        if maximum.dependent_column is not None:
            return SingularDuringSearch(k, maximum.dependent_column)
        rows = np.bincount(labels, minlength=len(observed.counts))
        class_moments.append(maximum.moments(observed, rows))
        searches.append(maximum)
    steps = sum(search.steps for search in searches)
    llf = sum(search.llf for search in searches)
    covariance_model = em_covariance(
        steps, all(search.converged for search in searches), llf, n_patterns, incomplete
    )
    return (class_moments[0] if common else _concatenate_moments(class_moments)), covariance_model


def _concatenate_moments(class_moments: list[ClassMoments]) -> ClassMoments:
    """Return the moments of all classes from moments of single classes, in their order.

    They are rescaled to the scale of the first class.
    """
    scale = class_moments[0].scale
    rescaled = [moments.rescale(scale) for moments in class_moments]
    names = ("counts", "rows", "centres", "rests", "scatters", "roots")
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(moments, name) for moments in rescaled]) for name in names
    }
    return ClassMoments(scale=scale, **joined)
