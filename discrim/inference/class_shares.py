"""Shares of known classes in a batch of rows whose classes are not known, by maximum likelihood.

Theory. With densities f_k that are known, rows x_i of weight w_i, N the sum of weights, and shares pi,

    l(pi) = sum_i w_i ln sum_k pi_k f_k(x_i),    g_k = (1/N) sum_i w_i f_k(x_i) / sum_j pi_j f_j(x_i).

l is concave on the simplex, and pi is its maximum if and only if g_k = 1 where pi_k > 0 and g_k <= 1 where
pi_k = 0 (Karush, Kuhn and Tucker). As sum_k pi_k g_k = 1 always, l falls short of its maximum by N (max g_k -
1) at most: no other certificate is needed. Densities count up to a factor of the row, and so posteriors over
the prior that they were computed with do as well.

EM takes pi_k g_k in the place of pi_k (Saerens, Latinne & Decaestecker, 2002, Neural Computation 14, 21-41).
It climbs at every step, but slowly where classes overlap, and to a share of zero only in the limit. So a few
of its steps are followed by Newton's: the maximum of l / N - sum pi_k over pi >= 0, whose shares sum to one
by themselves, by quadratic programs with that bound (Kim, Carbonetto, Stephens & Anitescu, 2020, Journal of
Computational and Graphical Statistics 29, 261-273), in which a share becomes zero exactly.

With r the class of the largest share and b_ik = f_k(x_i) / sum_j pi_j f_j(x_i), the shares of the other
classes that are not zero have the observed information sum_i w_i (b_ik - b_ir)(b_il - b_ir).
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
"""Steps of EM before the first of Newton's: it is at its best far from the maximum."""

BLOCK = 2**18
"""Numbers of rows by classes that are worked on at once."""

RIDGE = 1e-12
"""Added to the diagonal of the scaled information, which classes of one density leave singular."""

SINGULAR = 1e-9
"""Length of a difference of two classes, over their own, below which rows do not tell them apart."""

EPS = float(np.finfo(np.float64).eps)

HALVINGS = 40
"""Times that a step is halved at most."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassShares:
    """Shares (K,) of maximum likelihood, which sum to one; those on the boundary are zero exactly.

    The slope (K,) is g_k - 1: zero for a class with a share, zero or less for one without. The search has
    converged where the slopes are within the tolerance of what a maximum has.
    """

    shares: Floats
    slope: Floats
    em_steps: int
    newton_steps: int
    converged: bool


def densities_over_best(scores: Floats) -> Floats:
    """Densities (m, K) over the largest of each row, from their logarithms up to a number of the row.

    What underflows is beside a one, and so counts for nothing in any mixture.
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
    """Shares of maximum likelihood of rows whose densities are known.

    Densities (n, K) are zero or more, up to a factor of each row, and no row is zero in every class. The
    search starts from positive shares (K,) that sum to one, and ends where the largest slope is within the
    tolerance, or after so many steps of EM and Newton together, each of which is told.

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
        # Newton's steps square what is lacking: one more gives the digits that the tolerance leaves.
        better = _Place.of(densities, polished / polished.sum(), weights)
        at, newton = (better, newton + 1) if better.off < at.off else (at, newton)
    return ClassShares(at.shares, at.slope, em, newton, at.off <= tol)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Shares (K,), the mixture density (n,) of each row, and the slopes (K,)."""

    shares: Floats
    mixture: Floats
    slope: Floats

    @classmethod
    def of(cls, densities: Floats, shares: Floats, weights: Floats | None) -> _Place:
        mixture = densities @ shares
        over = 1.0 / mixture if weights is None else weights / mixture
        total = len(mixture) if weights is None else weights.sum()
        return cls(shares, mixture, (over @ densities) / total - 1.0)

    @property
    def off(self) -> float:
        """How far the slopes are from those of a maximum."""
        return float(np.where(self.shares > 0, np.abs(self.slope), self.slope).max(initial=0.0))


def _newton_step(densities: Floats, place: _Place, weights: Floats | None) -> Floats | None:
    """The shares (K,) of a better likelihood, not yet divided by their sum; None where there are none."""
    shares = place.shares
    mixture = place.mixture
    wanted = _quadratic_program(_information(densities, mixture, weights), shares, place.slope)
    step = wanted - shares
    rise = float(place.slope @ step)
    total = len(mixture) if weights is None else float(weights.sum())
    for halved in range(HALVINGS):
        size = 0.5**halved
        # Exactly what was wanted where the whole step is taken, so that a share of zero is zero.
        at = wanted if halved == 0 else shares + size * step
        gains = _log_ratio(densities @ at, mixture)
        gain = float(gains.sum() if weights is None else weights @ gains) / total - float((at - shares).sum())
        if gain >= 1e-4 * size * rise - 4 * EPS:
            return at if (at != shares).any() else None
    return None


def _log_ratio(a: Floats, b: Floats) -> Floats:
    """ln(a / b) of positive numbers b, whose digits hold where the two are close."""
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
    """Maximum y (K,) of slope'(y - x) - (y - x)'H (y - x) / 2 over y >= 0, x being the shares.

    By active sets, from the shares: a class whose value would fall below zero leaves at zero, one along which
    the maximum still rises enters (Lawson & Hanson, 1974, Solving Least Squares Problems, chapter 23).
    """
    # Of a class that has a share the diagonal is one or more; one that hardly has a density stays small.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(information), 1.0))
    matrix = information * np.outer(scale, scale) + RIDGE * np.eye(len(shares))
    start = shares / scale
    # About the shares, so that what is found is as exact as the slopes, not as their sizes.
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
    """Covariance (K, K) of estimated shares, and which of them (K,) the rows determine.

    Shares of zero are taken as known, and have no variance: their rows and columns are missing, as is all of
    one class alone. So are those of classes that no row tells apart, whose shares are not determined.
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
    """R (., m - 1) with R'R the information of all shares (m,) but the largest; lengths (m,) of b_k."""
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
    """Likelihood-ratio test that the shares are those of a prior (K,), which is positive."""
    ratios = _log_ratio(densities @ shares, densities @ prior)
    gain = float(ratios.sum() if weights is None else weights @ ratios)
    # The estimate may be the prior itself.
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
    """Ends of the interval of one share in which twice the log-likelihood falls by a chi-square's quantile.

    With the share fixed at u, the densities of the others are (1 - u) f_j + u f_k, and their shares those of
    maximum likelihood again.
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
    """Where a function that is negative at the inner end, and rises, is zero; the outer end if nowhere."""
    if inner == outer or short(outer) <= 0:
        return outer
    for _ in range(200):
        # An infinite end is no end of a bracket.
        middle = 0.5 * (inner + outer)
        if np.isfinite(short(outer)) or middle in (inner, outer):
            break
        inner, outer = (middle, outer) if short(middle) <= 0 else (inner, middle)
    if not short(outer) > 0:
        return outer
    return float(scipy.optimize.brentq(short, inner, outer, xtol=1e-12, rtol=1e-10))
