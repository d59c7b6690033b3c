"""Class proportions in a batch of unlabelled rows, by maximum likelihood with fixed class densities.

The estimation of a prior from new observations uses these functions (`models/evaluation/estimated_prior.py`).

Theory. With fixed class densities f_k, rows x_i of weight w_i, N the sum of weights, and proportions pi,

    l(pi) = sum_i w_i ln sum_k pi_k f_k(x_i),    g_k = (1/N) sum_i w_i f_k(x_i) / sum_j pi_j f_j(x_i).

l is concave on the simplex, and pi is its maximum if and only if g_k = 1 for pi_k > 0 and g_k <= 1 for pi_k =
0 (Karush, Kuhn and Tucker). Because sum_k pi_k g_k = 1, l is at most N (max g_k - 1) below its maximum, which
serves as the convergence criterion. Densities matter only up to a factor for each row; posteriors divided by
the prior that they were computed with are sufficient.

EM replaces pi_k by pi_k g_k (Saerens, Latinne & Decaestecker, 2002, Neural Computation 14, 21-41). Each step
increases l, but convergence is slow for overlapping classes, and a proportion becomes zero only in the limit.
After a few EM steps, Newton's method therefore maximizes l / N - sum pi_k over pi >= 0, whose solution sums
to one, by quadratic programs with this bound (Kim, Carbonetto, Stephens & Anitescu, 2020, Journal of
Computational and Graphical Statistics 29, 261-273), in which a proportion can become exactly zero.

With r the class of the largest proportion and b_ik = f_k(x_i) / sum_j pi_j f_j(x_i), the other nonzero
proportions have the observed information sum_i w_i (b_ik - b_ir)(b_il - b_ir).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.numerics.arrays import EPS, Floats
from discrim.inference.result import TestResult, chi_square_test

EM_STEPS = 10
"""Number of EM steps before Newton's method; EM is efficient far from the maximum."""

MAX_CHUNK_ELEMENTS = 2**18
"""Maximum number of elements of a row-by-class array that are processed at once."""

RIDGE = 1e-12
"""Added to the diagonal of the scaled information, which is singular for classes with equal densities."""

IDENTIFICATION_TOLERANCE = 1e-9
"""Relative norm of a difference of two classes below which the rows do not identify their proportions."""

MAX_HALVINGS = 40
"""Maximum number of step halvings."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassProportions:
    """Maximum likelihood estimates of class proportions.

    Attributes
    ----------
    proportions : (K,) float
        Estimated proportions, which sum to one; exactly zero on the boundary.
    slope : (K,) float
        Derivatives of the mean log-likelihood minus 1, g_k - 1. At the maximum they are zero for a positive
        proportion, and zero or negative for a proportion of zero.
    em_steps, newton_steps : int
        Numbers of EM and Newton steps.
    converged : bool
        Whether the slopes satisfy the conditions of a maximum up to the tolerance. A failure is not
        reported by a warning.
    """

    proportions: Floats
    slope: Floats
    em_steps: int
    newton_steps: int
    converged: bool


def densities_relative_to_best(scores: Floats) -> Floats:
    """Return the densities of each row divided by the largest one.

    Parameters
    ----------
    scores : (m, K) float
        Log densities up to a constant for each row, at least one of them finite.

    Returns
    -------
    (m, K) float
        Densities between 0 and 1; values that underflow to 0 are negligible in any mixture.
    """
    with np.errstate(invalid="ignore"):
        relative_densities = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(np.exp(relative_densities, out=relative_densities))


def estimate_class_proportions(
    densities: Floats,
    start: Floats,
    weights: Floats | None = None,
    *,
    tol: float = 1e-10,
    maxiter: int = 200,
    progress: Callable[[float], object] = lambda n_steps: None,
) -> ClassProportions:
    """Estimate class proportions by maximum likelihood with fixed class densities.

    Parameters
    ----------
    densities : (n, K) float
        Nonnegative densities up to a factor for each row; each row has a positive one.
    start : (K,) float
        Positive starting values; they are normalized to a sum of one.
    weights : (n,) float, optional
        Frequency weights.
    tol : float
        Tolerance of the largest violation of the conditions of a maximum. The mean log-likelihood is then at
        most `tol` below its maximum.
    maxiter : int
        Maximum number of EM and Newton steps together, not counting a last Newton step after convergence.
    progress : callable, optional
        Called with 1 before each step.

    Returns
    -------
    ClassProportions

    Examples
    --------
    >>> densities = np.array([[1.0, 0.5], [1.0, 0.5], [0.25, 1.0]])
    >>> estimated = estimate_class_proportions(densities, np.array([0.5, 0.5]))
    >>> estimated.proportions.round(4).tolist(), estimated.converged
    ([0.5556, 0.4444], True)
    """
    point = _EvaluatedProportions.from_proportions(densities, start / start.sum(), weights)
    n_em_steps = 0
    n_newton_steps = 0
    while point.max_violation > tol and n_em_steps + n_newton_steps < maxiter:
        progress(1)
        proportions = (
            point.proportions * (1.0 + point.slope)
            if n_em_steps < EM_STEPS
            else _newton_step(densities, point, weights)
        )
        if proportions is None:
            break
        n_em_steps, n_newton_steps = (
            (n_em_steps + 1, n_newton_steps) if n_em_steps < EM_STEPS else (n_em_steps, n_newton_steps + 1)
        )
        point = _EvaluatedProportions.from_proportions(densities, proportions / proportions.sum(), weights)
    polished = _newton_step(densities, point, weights) if point.max_violation <= tol else None
    if polished is not None:
        # Newton's method converges quadratically: one more step reaches full accuracy.
        polished_point = _EvaluatedProportions.from_proportions(densities, polished / polished.sum(), weights)
        point, n_newton_steps = (
            (polished_point, n_newton_steps + 1)
            if polished_point.max_violation < point.max_violation
            else (point, n_newton_steps)
        )
    return ClassProportions(
        point.proportions, point.slope, n_em_steps, n_newton_steps, point.max_violation <= tol
    )


@dataclass(frozen=True, slots=True, eq=False)
class _EvaluatedProportions:
    """Proportions at which the likelihood is evaluated.

    Attributes
    ----------
    proportions : (K,) float
        Class proportions.
    mixture : (n,) float
        Mixture density of each row.
    slope : (K,) float
        Derivatives of the mean log-likelihood, minus 1.
    """

    proportions: Floats
    mixture: Floats
    slope: Floats

    @classmethod
    def from_proportions(
        cls, densities: Floats, proportions: Floats, weights: Floats | None
    ) -> _EvaluatedProportions:
        """Evaluate mixture densities and slopes at class proportions.

        Parameters
        ----------
        densities : (n, K) float
            Density of each row in each class, up to a factor for each row.
        proportions : (K,) float
            Class proportions, which sum to one.
        weights : (n,) float or None
            Frequency weights.

        Returns
        -------
        _EvaluatedProportions
        """
        mixture = densities @ proportions
        inverse_mixture = 1.0 / mixture if weights is None else weights / mixture
        total = len(mixture) if weights is None else weights.sum()
        return cls(proportions, mixture, (inverse_mixture @ densities) / total - 1.0)

    @property
    def max_violation(self) -> float:
        """Largest violation of the conditions of a maximum, |slope| or, for zero proportions, the slope."""
        return float(np.where(self.proportions > 0, np.abs(self.slope), self.slope).max(initial=0.0))


def _newton_step(densities: Floats, point: _EvaluatedProportions, weights: Floats | None) -> Floats | None:
    """Make a Newton step with line search.

    Parameters
    ----------
    densities : (n, K) float
        Density of each row in each class, up to a factor for each row.
    point : _EvaluatedProportions
        Current proportions.
    weights : (n,) float or None
        Frequency weights.

    Returns
    -------
    (K,) float or None
        New proportions, not normalized; None if no step increases the likelihood or changes the proportions.
    """
    proportions = point.proportions
    mixture = point.mixture
    target = _maximize_quadratic(_information_matrix(densities, mixture, weights), proportions, point.slope)
    step = target - proportions
    slope_along_step = float(point.slope @ step)
    total = len(mixture) if weights is None else float(weights.sum())
    for n_halvings in range(MAX_HALVINGS):
        step_size = 0.5**n_halvings
        # For a full step use the solution itself, in which proportions may be exactly zero.
        candidate = target if n_halvings == 0 else proportions + step_size * step
        gains = _log_ratio(densities @ candidate, mixture)
        gain = float(gains.sum() if weights is None else weights @ gains) / total - float(
            (candidate - proportions).sum()
        )
        if gain >= 1e-4 * step_size * slope_along_step - 4 * EPS:
            return candidate if (candidate != proportions).any() else None
    return None


def _log_ratio(a: Floats, b: Floats) -> Floats:
    """Return ln(a / b) for positive b, accurate if a and b are close."""
    with np.errstate(divide="ignore", over="ignore"):
        ratio = (a - b) / b
        return np.asarray(np.where(np.abs(ratio) < 0.5, np.log1p(ratio), np.log(a) - np.log(b)))


def _information_matrix(densities: Floats, mixture: Floats, weights: Floats | None) -> Floats:
    """Compute the information matrix per row, without the constraint that proportions sum to one.

    It is the weighted mean over rows of b_ik b_il, with b_ik = f_k(x_i) / sum_j pi_j f_j(x_i).

    Parameters
    ----------
    densities : (n, K) float
        Class densities f_k(x_i), up to a factor for each row.
    mixture : (n,) float
        Mixture densities sum_j pi_j f_j(x_i), up to the same factors.
    weights : (n,) float or None
        Frequency weights.

    Returns
    -------
    (K, K) float
    """
    n, k = densities.shape
    products = np.zeros((k, k))
    chunk_rows = max(MAX_CHUNK_ELEMENTS // k, 1)
    for start in range(0, n, chunk_rows):
        rows = slice(start, start + chunk_rows)
        chunk = densities[rows] / mixture[rows, None]
        products += chunk.T @ (chunk if weights is None else chunk * weights[rows, None])
    return products / (n if weights is None else float(weights.sum()))


def _maximize_quadratic(information: Floats, proportions: Floats, slope: Floats) -> Floats:
    """Maximize the quadratic approximation of the log-likelihood over proportions y >= 0.

    The objective is slope'(y - x) - (y - x)'H (y - x) / 2. Active sets start at the current proportions x: a
    class whose value would become negative is fixed at zero, and a class enters if the objective increases
    (Lawson & Hanson, 1974, Solving Least Squares Problems, chapter 23). `RIDGE` is added to the diagonal of
    the scaled H.

    Parameters
    ----------
    information : (K, K) float
        The matrix H.
    proportions : (K,) float
        The current proportions x.
    slope : (K,) float
        Gradient of the objective at x.

    Returns
    -------
    (K,) float
        The maximum y, not normalized.
    """
    # The diagonal is at least one for a class with a positive proportion; smaller values are not scaled up.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1.0))
    matrix = information * np.outer(scale, scale) + RIDGE * np.eye(len(proportions))
    start = proportions / scale
    # Solve for the difference to the current proportions, which is as accurate as the slopes.
    linear_term = scale * slope
    y = start.copy()
    is_positive = y > 0
    for _ in range(10 * len(y)):
        target = y.copy()
        target[is_positive] += np.linalg.solve(
            matrix[np.ix_(is_positive, is_positive)], (linear_term - matrix @ (y - start))[is_positive]
        )
        becomes_negative = is_positive & (target <= 0)
        if becomes_negative.any():
            ratio = y[becomes_negative] / (y[becomes_negative] - target[becomes_negative])
            y[is_positive] += ratio.min() * (target - y)[is_positive]
            y[np.flatnonzero(becomes_negative)[ratio <= ratio.min()]] = 0.0
            is_positive &= y > 0
            continue
        y = target
        gradient = np.where(is_positive, -np.inf, linear_term - matrix @ (y - start))
        entering_class = int(np.argmax(gradient))
        if not gradient[entering_class] > EPS:
            break
        is_positive[entering_class] = True
    return np.asarray(scale * y)


def covariance_of_proportions(
    densities: Floats, proportions: Floats, weights: Floats | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Estimate the covariance of estimated proportions, and which of them the rows identify.

    The covariance is the inverse of the observed information (see the module docstring).

    Parameters
    ----------
    densities : (n, K) float
        Density of each row in each class, up to a factor for each row.
    proportions : (K,) float
        Maximum likelihood estimates.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    covariance : (K, K) float
        NaN for proportions of zero, which are treated as fixed, for proportions that are not identified, and
        if only one class has a positive proportion.
    identified : (K,) bool
        False for classes with positive proportions that the rows do not distinguish; true for all others.
    """
    k = len(proportions)
    positive_index = np.flatnonzero(proportions > 0)
    covariance = np.full((k, k), np.nan)
    identified = np.ones(k, dtype=bool)
    if len(positive_index) < 2:
        return covariance, identified
    root, column_norms = _information_root(densities[:, positive_index], proportions[positive_index], weights)
    largest = int(np.argmax(proportions[positive_index]))
    others = np.delete(np.arange(len(positive_index)), largest)
    _, singular_values, directions = np.linalg.svd(root / column_norms[others], full_matrices=False)
    is_singular = singular_values <= IDENTIFICATION_TOLERANCE
    if is_singular.any():
        null_directions = np.zeros((int(is_singular.sum()), len(positive_index)))
        null_directions[:, others] = directions[is_singular] / column_norms[others]
        null_directions[:, largest] = -null_directions[:, others].sum(axis=1)
        change_sizes = np.abs(null_directions * column_norms).max(axis=0)
        identified[positive_index[change_sizes > 1e-6 * change_sizes.max()]] = False
    is_identified = ~is_singular
    reduced_root = directions[is_identified] / singular_values[is_identified, None] / column_norms[others]
    covariance_root = np.zeros((len(reduced_root), len(positive_index)))
    covariance_root[:, others] = reduced_root
    covariance_root[:, largest] = -reduced_root.sum(axis=1)
    covariance[np.ix_(positive_index, positive_index)] = covariance_root.T @ covariance_root
    covariance[~identified] = np.nan
    covariance[:, ~identified] = np.nan
    return covariance, identified


def _information_root(
    densities: Floats, proportions: Floats, weights: Floats | None
) -> tuple[Floats, Floats]:
    """Compute a root of the observed information of the proportions other than the largest one.

    Parameters
    ----------
    densities : (n, m) float
        Density of each row in each of m classes, up to a factor for each row.
    proportions : (m,) float
        Estimated proportions of these classes, all positive.
    weights : (n,) float or None
        Frequency weights.

    Returns
    -------
    root : (r, m - 1) float
        Upper triangular root with r <= m - 1 rows; root'root is the information. Columns are in the order of
        the classes, without the class of the largest proportion.
    norms : (m,) float
        Weighted norms over the rows of the densities divided by the mixture density, b_k.
    """
    largest = int(np.argmax(proportions))
    n, m = densities.shape
    root = np.zeros((0, m - 1))
    squares = np.zeros(m)
    chunk_rows = max(MAX_CHUNK_ELEMENTS // m, m)
    for start in range(0, n, chunk_rows):
        block = densities[start : start + chunk_rows]
        chunk = block / (block @ proportions)[:, None]
        if weights is not None:
            chunk *= np.sqrt(weights[start : start + chunk_rows, None])
        squares += (chunk**2).sum(axis=0)
        chunk -= chunk[:, largest : largest + 1]
        stacked = np.vstack([root, np.delete(chunk, largest, axis=1)])
        root = np.asarray(scipy.linalg.qr(stacked, mode="r", overwrite_a=True)[0])[: m - 1]
    return root, np.sqrt(squares)


def prior_likelihood_ratio_test(
    densities: Floats, proportions: Floats, prior: Floats, weights: Floats | None = None
) -> TestResult:
    """Likelihood-ratio test that the proportions equal a positive prior.

    Parameters
    ----------
    densities : (n, K) float
        Density of each row in each class, up to a factor for each row.
    proportions : (K,) float
        Maximum likelihood estimates.
    prior : (K,) float
        Proportions under the hypothesis, all positive.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    TestResult
        Chi-square with K - 1 degrees of freedom.
    """
    ratios = _log_ratio(densities @ proportions, densities @ prior)
    gain = float(ratios.sum() if weights is None else weights @ ratios)
    # The statistic may be slightly negative if the estimates equal the prior.
    statistic = max(2.0 * gain, 0.0)
    assumes = "The class densities and the prior are assumed to be known. The chi-square is asymptotic"
    if (proportions > 0).all():
        assumes += "."
    else:
        assumes += "; because some proportion is zero, the p-value is conservative."
    return chi_square_test("Likelihood ratio", statistic, float(len(proportions) - 1), assumes)


def profile_limits(
    densities: Floats,
    estimated: ClassProportions,
    class_index: int,
    level: float,
    weights: Floats | None = None,
    *,
    tol: float = 1e-10,
    maxiter: int = 200,
) -> tuple[float, float]:
    """Compute the profile likelihood interval of the proportion of one class.

    If the proportion is fixed at u, the densities of the other classes become (1 - u) f_j + u f_k, and their
    proportions are estimated again.

    Parameters
    ----------
    densities : (n, K) float
        Density of each row in each class, up to a factor for each row.
    estimated : ClassProportions
        Maximum likelihood estimates from the same densities and weights.
    class_index : int
        Position of the class, k.
    level : float
        Confidence level.
    weights : (n,) float, optional
        Frequency weights.
    tol, maxiter
        See `estimate_class_proportions`.

    Returns
    -------
    low, high : float
        Limits within [0, 1]; 0 or 1 if the likelihood does not exclude it.
    """
    quantile = float(scipy.special.chdtri(1, 1 - level))
    mixture = densities @ estimated.proportions
    estimate = float(estimated.proportions[class_index])
    others = np.delete(np.arange(densities.shape[1]), class_index)
    start = np.full(len(others), 1.0 / len(others))

    def deviance_excess(u: float) -> float:
        """Deviance if the proportion is fixed at u, minus its chi-square quantile; zero at a limit."""
        mixed = (1 - u) * densities[:, others] + u * densities[:, class_index : class_index + 1]
        top = mixed.max(axis=1)
        if not (top > np.finfo(float).tiny).all():
            return np.inf
        mixed /= top[:, None]
        refitted = estimate_class_proportions(mixed, start, weights, tol=tol, maxiter=maxiter)
        log_ratios = _log_ratio(mixture, top * (mixed @ refitted.proportions))
        return 2.0 * float(log_ratios.sum() if weights is None else weights @ log_ratios) - quantile

    return _bracketed_root(deviance_excess, estimate, 0.0), _bracketed_root(deviance_excess, estimate, 1.0)


def _bracketed_root(increasing: Callable[[float], float], inner: float, outer: float) -> float:
    """Find the root of a function that increases from `inner` to `outer`.

    Parameters
    ----------
    increasing : callable
        The function, negative at `inner`; it may be infinite near `outer`.
    inner, outer : float
        Ends of the interval; `outer` may be the smaller one.

    Returns
    -------
    float
        `outer` without a root in the interval.
    """
    if inner == outer or increasing(outer) <= 0:
        return outer
    for _ in range(200):
        # The ends of a bracket have to be finite.
        midpoint = 0.5 * (inner + outer)
        if np.isfinite(increasing(outer)) or midpoint in (inner, outer):
            break
        inner, outer = (midpoint, outer) if increasing(midpoint) <= 0 else (inner, midpoint)
    if not increasing(outer) > 0:
        return outer
    return float(scipy.optimize.brentq(increasing, inner, outer, xtol=1e-12, rtol=1e-10))
