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

from discrim.core.numerics.arrays import Floats
from discrim.inference.result import TestResult, chi_square_test

EM_STEPS = 10
"""Number of EM steps before Newton's method; EM is efficient far from the maximum."""

BLOCK = 2**18
"""Maximum number of elements of a row-by-class array that are processed at once."""

RIDGE = 1e-12
"""Added to the diagonal of the scaled information, which is singular for classes with equal densities."""

SINGULAR = 1e-9
"""Relative norm of a difference of two classes below which the rows do not identify their proportions."""

EPS = float(np.finfo(np.float64).eps)

HALVINGS = 40
"""Maximum number of step halvings."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassShares:
    """Maximum likelihood estimates of class proportions.

    Attributes
    ----------
    shares : (K,) float
        Proportions, which sum to one; exactly zero on the boundary.
    slope : (K,) float
        g_k - 1: zero for a positive proportion, zero or negative for a proportion of zero.
    em_steps, newton_steps : int
    converged : bool
        Whether the slopes satisfy the conditions of a maximum up to the tolerance.
    """

    shares: Floats
    slope: Floats
    em_steps: int
    newton_steps: int
    converged: bool


def densities_over_best(scores: Floats) -> Floats:
    """Densities relative to the largest one of each row.

    Parameters
    ----------
    scores : (m, K) float
        Log densities up to a constant for each row.

    Returns
    -------
    (m, K) float
        Values that underflow are negligible in any mixture.
    """
    with np.errstate(invalid="ignore"):
        out = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(np.exp(out, out=out))


def class_shares(
    densities: Floats,
    start: Floats,
    weights: Floats | None = None,
    *,
    tol: float = 1e-10,
    maxiter: int = 200,
    progress: Callable[[float], object] = lambda share: None,
) -> ClassShares:
    """Estimate class proportions by maximum likelihood.

    Parameters
    ----------
    densities : (n, K) float
        Nonnegative densities up to a factor for each row; each row has a positive one.
    start : (K,) float
        Positive starting values.
    weights : (n,) float, optional
        Frequency weights.
    tol : float
        Tolerance of the largest slope.
    maxiter : int
        Maximum number of EM and Newton steps together.
    progress : callable, optional
        Called with 1 before each step.

    Returns
    -------
    ClassShares

    Examples
    --------
    >>> densities = np.array([[1.0, 0.5], [1.0, 0.5], [0.25, 1.0]])
    >>> estimated = class_shares(densities, np.array([0.5, 0.5]))
    >>> estimated.shares.round(4).tolist(), estimated.converged
    ([0.5556, 0.4444], True)
    """
    at = _Place.of(densities, start / start.sum(), weights)
    em = 0
    newton = 0
    while at.off > tol and em + newton < maxiter:
        progress(1)
        shares = at.shares * (1.0 + at.slope) if em < EM_STEPS else _newton_step(densities, at, weights)
        if shares is None:
            break
        em, newton = (em + 1, newton) if em < EM_STEPS else (em, newton + 1)
        at = _Place.of(densities, shares / shares.sum(), weights)
    polished = _newton_step(densities, at, weights) if at.off <= tol else None
    if polished is not None:
        # Newton's method converges quadratically: one more step reaches full accuracy.
        better = _Place.of(densities, polished / polished.sum(), weights)
        at, newton = (better, newton + 1) if better.off < at.off else (at, newton)
    return ClassShares(at.shares, at.slope, em, newton, at.off <= tol)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Proportions (K,), with the mixture density (n,) of each row and the slopes (K,)."""

    shares: Floats
    mixture: Floats
    slope: Floats

    @classmethod
    def of(cls, densities: Floats, shares: Floats, weights: Floats | None) -> _Place:
        """Evaluate mixture and slopes at proportions (K,)."""
        mixture = densities @ shares
        over = 1.0 / mixture if weights is None else weights / mixture
        total = len(mixture) if weights is None else weights.sum()
        return cls(shares, mixture, (over @ densities) / total - 1.0)

    @property
    def off(self) -> float:
        """Largest violation of the conditions of a maximum."""
        return float(np.where(self.shares > 0, np.abs(self.slope), self.slope).max(initial=0.0))


def _newton_step(densities: Floats, place: _Place, weights: Floats | None) -> Floats | None:
    """Proportions (K,) after a Newton step with line search, not yet normalized; None without progress."""
    shares = place.shares
    mixture = place.mixture
    wanted = _quadratic_program(_information(densities, mixture, weights), shares, place.slope)
    step = wanted - shares
    rise = float(place.slope @ step)
    total = len(mixture) if weights is None else float(weights.sum())
    for halved in range(HALVINGS):
        size = 0.5**halved
        # For a full step use the solution itself, in which proportions may be exactly zero.
        at = wanted if halved == 0 else shares + size * step
        gains = _log_ratio(densities @ at, mixture)
        gain = float(gains.sum() if weights is None else weights @ gains) / total - float((at - shares).sum())
        if gain >= 1e-4 * size * rise - 4 * EPS:
            return at if (at != shares).any() else None
    return None


def _log_ratio(a: Floats, b: Floats) -> Floats:
    """ln(a / b) for positive b, accurate if a and b are close."""
    with np.errstate(divide="ignore", over="ignore"):
        ratio = (a - b) / b
        return np.asarray(np.where(np.abs(ratio) < 0.5, np.log1p(ratio), np.log(a) - np.log(b)))


def _information(densities: Floats, mixture: Floats, weights: Floats | None) -> Floats:
    """Mean over rows of the products b_ik b_il, (K, K)."""
    n, k = densities.shape
    products = np.zeros((k, k))
    step = max(BLOCK // k, 1)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        part = densities[rows] / mixture[rows, None]
        products += part.T @ (part if weights is None else part * weights[rows, None])
    return products / (n if weights is None else float(weights.sum()))


def _quadratic_program(information: Floats, shares: Floats, slope: Floats) -> Floats:
    """Maximize slope'(y - x) - (y - x)'H (y - x) / 2 over y >= 0.

    By active sets, starting at the proportions: a class whose value would become negative is fixed at zero,
    and a class enters if the objective increases with it (Lawson & Hanson, 1974, Solving Least Squares
    Problems, chapter 23).

    Parameters
    ----------
    information : (K, K) float
        The matrix H.
    shares : (K,) float
        The proportions x.
    slope : (K,) float

    Returns
    -------
    (K,) float
    """
    # The diagonal is at least one for a class with a positive proportion; smaller values are not scaled up.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1.0))
    matrix = information * np.outer(scale, scale) + RIDGE * np.eye(len(shares))
    start = shares / scale
    # Solve for the difference to the current proportions, which is as accurate as the slopes.
    right = scale * slope
    y = start.copy()
    inside = y > 0
    for _ in range(10 * len(y)):
        wanted = y.copy()
        wanted[inside] += np.linalg.solve(
            matrix[np.ix_(inside, inside)], (right - matrix @ (y - start))[inside]
        )
        below = inside & (wanted <= 0)
        if below.any():
            ratio = y[below] / (y[below] - wanted[below])
            y[inside] += ratio.min() * (wanted - y)[inside]
            y[np.flatnonzero(below)[ratio <= ratio.min()]] = 0.0
            inside &= y > 0
            continue
        y = wanted
        rises = np.where(inside, -np.inf, right - matrix @ (y - start))
        enters = int(np.argmax(rises))
        if not rises[enters] > EPS:
            break
        inside[enters] = True
    return np.asarray(scale * y)


def covariance_of_shares(
    densities: Floats, shares: Floats, weights: Floats | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """Covariance of estimated proportions, and which of them the rows identify.

    Parameters
    ----------
    densities : (n, K) float
    shares : (K,) float
        Maximum likelihood estimates.
    weights : (n,) float, optional
        Frequency weights.

    Returns
    -------
    covariance : (K, K) float
        NaN for proportions of zero, which are treated as fixed, for proportions that are not identified, and
        if only one class has a positive proportion.
    determined : (K,) bool
        False for classes that the rows do not distinguish.
    """
    k = len(shares)
    inside = np.flatnonzero(shares > 0)
    covariance = np.full((k, k), np.nan)
    determined = np.ones(k, dtype=bool)
    if len(inside) < 2:
        return covariance, determined
    root, lengths = _root_of_differences(densities[:, inside], shares[inside], weights)
    largest = int(np.argmax(shares[inside]))
    others = np.delete(np.arange(len(inside)), largest)
    _, values, directions = np.linalg.svd(root / lengths[others], full_matrices=False)
    singular = values <= SINGULAR
    if singular.any():
        moved = np.zeros((int(singular.sum()), len(inside)))
        moved[:, others] = directions[singular] / lengths[others]
        moved[:, largest] = -moved[:, others].sum(axis=1)
        size = np.abs(moved * lengths).max(axis=0)
        determined[inside[size > 1e-6 * size.max()]] = False
    known = ~singular
    half = directions[known] / values[known, None] / lengths[others]
    whole = np.zeros((len(half), len(inside)))
    whole[:, others] = half
    whole[:, largest] = -half.sum(axis=1)
    covariance[np.ix_(inside, inside)] = whole.T @ whole
    covariance[~determined] = np.nan
    covariance[:, ~determined] = np.nan
    return covariance, determined


def _root_of_differences(densities: Floats, shares: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
    """Root of the information of the proportions without the largest one.

    Parameters
    ----------
    densities : (n, m) float
    shares : (m,) float
    weights : (n,) float or None

    Returns
    -------
    root : (r, m - 1) float
    lengths : (m,) float
        Norms of the columns b_k.
    """
    largest = int(np.argmax(shares))
    n, m = densities.shape
    root = np.zeros((0, m - 1))
    squares = np.zeros(m)
    step = max(BLOCK // m, m)
    for start in range(0, n, step):
        block = densities[start : start + step]
        part = block / (block @ shares)[:, None]
        if weights is not None:
            part *= np.sqrt(weights[start : start + step, None])
        squares += (part**2).sum(axis=0)
        part -= part[:, largest : largest + 1]
        stacked = np.vstack([root, np.delete(part, largest, axis=1)])
        root = np.asarray(scipy.linalg.qr(stacked, mode="r", overwrite_a=True)[0])[: m - 1]
    return root, np.sqrt(squares)


def ratio_to_prior(
    densities: Floats, shares: Floats, prior: Floats, weights: Floats | None = None
) -> TestResult:
    """Likelihood-ratio test that the proportions equal a positive prior.

    Parameters
    ----------
    densities : (n, K) float
    shares : (K,) float
        Maximum likelihood estimates.
    prior : (K,) float
    weights : (n,) float, optional

    Returns
    -------
    TestResult
    """
    ratios = _log_ratio(densities @ shares, densities @ prior)
    gain = float(ratios.sum() if weights is None else weights @ ratios)
    # The statistic may be slightly negative if the estimates equal the prior.
    statistic = max(2.0 * gain, 0.0)
    assumes = "Densities within classes, and the prior, are taken as known. The chi-square is asymptotic"
    if (shares > 0).all():
        assumes += "."
    else:
        assumes += "; because some share is zero, its p-value is too large rather than too small."
    return chi_square_test("Likelihood ratio", statistic, float(len(shares) - 1), assumes)


def profile_limits(
    densities: Floats,
    estimated: ClassShares,
    at: int,
    level: float,
    weights: Floats | None = None,
    *,
    tol: float = 1e-10,
    maxiter: int = 200,
) -> tuple[float, float]:
    """Profile likelihood interval of one proportion.

    If the proportion is fixed at u, the densities of the other classes become (1 - u) f_j + u f_k, and their
    proportions are estimated again.

    Parameters
    ----------
    densities : (n, K) float
    estimated : ClassShares
    at : int
        Position of the class.
    level : float
        Confidence level.
    weights : (n,) float, optional
    tol, maxiter
        See `class_shares`.

    Returns
    -------
    low, high : float
    """
    quantile = float(scipy.special.chdtri(1, 1 - level))
    best = densities @ estimated.shares
    estimate = float(estimated.shares[at])
    others = np.delete(np.arange(densities.shape[1]), at)
    start = np.full(len(others), 1.0 / len(others))

    def short(u: float) -> float:
        mixed = (1 - u) * densities[:, others] + u * densities[:, at : at + 1]
        top = mixed.max(axis=1)
        if not (top > np.finfo(float).tiny).all():
            return np.inf
        mixed /= top[:, None]
        refitted = class_shares(mixed, start, weights, tol=tol, maxiter=maxiter)
        falls = _log_ratio(best, top * (mixed @ refitted.shares))
        return 2.0 * float(falls.sum() if weights is None else weights @ falls) - quantile

    return _crossing(short, estimate, 0.0), _crossing(short, estimate, 1.0)


def _crossing(short: Callable[[float], float], inner: float, outer: float) -> float:
    """Root of an increasing function that is negative at `inner`; `outer` if there is no root before it."""
    if inner == outer or short(outer) <= 0:
        return outer
    for _ in range(200):
        # The ends of a bracket have to be finite.
        middle = 0.5 * (inner + outer)
        if np.isfinite(short(outer)) or middle in (inner, outer):
            break
        inner, outer = (middle, outer) if short(middle) <= 0 else (inner, middle)
    if not short(outer) > 0:
        return outer
    return float(scipy.optimize.brentq(short, inner, outer, xtol=1e-12, rtol=1e-10))
