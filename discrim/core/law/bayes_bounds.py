"""Chernoff's and Bhattacharyya's bounds on the Bayes error.

min(a, b) <= a^s b^(1-s) for s in [0, 1], so that two classes err by at most pi_0^s pi_1^(1-s) times the
integral of f_0^s f_1^(1-s). Chernoff's bound takes the best s, Bhattacharyya's s = 1/2; with rho its
integral, 1/2 gives a lower bound as well, by the inequality of Cauchy and Schwarz: (m - sqrt(m^2 - 4 pi_0
pi_1 rho^2))/2, m = pi_0 + pi_1.

Fukunaga (1990), Introduction to Statistical Pattern Recognition, section 3.4. Of more than two classes,
the error is at most the sum over pairs of theirs, and at least the largest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.law.bayes_law import LOOSE, DensityLaw, MassLaw, line_breaks
from discrim.core.law.densities import Normal
from discrim.core.law.quadrature import integrate
from discrim.core.law.supports import rank_of
from discrim.core.rules.rules import log_posteriors

__all__ = ["PairBound", "is_regular", "log_affinity", "normal_affinity", "pair_bound"]

Floats = NDArray[np.float64]
Affinity = Callable[[float], float]


class PairBound(NamedTuple):
    """Bounds on what two classes add to the error.

    Attributes
    ----------
    exponent : float
        Chernoff's s, of the first of the two.
    chernoff, bhattacharyya : float
        Upper bounds.
    lower : float
    distance : float
        Bhattacharyya's, -ln rho.
    """

    exponent: float
    chernoff: float
    bhattacharyya: float
    lower: float
    distance: float


def pair_bound(affinity: Affinity, first: float, second: float, log_least: float | None = None) -> PairBound:
    """The bounds of two classes of priors first and second.

    Parameters
    ----------
    affinity : callable
        From s to the logarithm of the integral of f_0^s f_1^(1-s), which is convex in s.
    log_least : float, optional
        Less than the logarithm at s = 1/2 by the error of the integral.
    """
    from scipy.optimize import minimize_scalar

    log_rho = affinity(0.5)
    rho = float(np.exp(log_rho))
    if not (first > 0 and second > 0):
        return PairBound(0.5, 0.0, 0.0, 0.0, -log_rho)
    logs = np.log([first, second])

    def log_bound(s: float) -> float:
        return float(s * logs[0] + (1 - s) * logs[1] + affinity(s))

    found = minimize_scalar(log_bound, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    tried = {float(found.x): float(found.fun)} | {s: log_bound(s) for s in (0.0, 0.5, 1.0)}
    best = min(tried, key=lambda s: tried[s])
    both = first + second
    # As a difference of square roots it would have no digits where the affinity is small.
    least = rho if log_least is None else float(np.exp(log_least))
    product = 4 * first * second * least**2
    lower = 0.5 * product / (both + np.sqrt(max(both**2 - product, 0.0)))
    upper = float(np.sqrt(first * second)) * rho
    return PairBound(best, float(np.exp(tried[best])), upper, float(lower), -log_rho)


def normal_affinity(first: Normal, second: Normal) -> Affinity:
    """Log affinity of two normals, in closed form.

    -s(1-s)/2 d'C^-1 d - (ln|C| - (1-s) ln|A| - s ln|B|)/2, C = (1-s) A + s B the mixed covariance, d the
    difference of the means.
    """
    d = second.mean - first.mean
    logs = [float(np.linalg.slogdet(normal.cov)[1]) for normal in (first, second)]

    def affinity(s: float) -> float:
        mixed = (1 - s) * first.cov + s * second.cov
        distance = float(d @ np.linalg.solve(mixed, d))
        log_det = float(np.linalg.slogdet(mixed)[1]) - (1 - s) * logs[0] - s * logs[1]
        return -0.5 * (s * (1 - s) * distance + log_det)

    return affinity


def log_affinity(
    law: MassLaw | DensityLaw, i: int, j: int, draws: int, seed: int | None
) -> tuple[Affinity, float | None]:
    """Log affinity of classes i and j as a function of s, and less than that of 1/2 by its error if known."""
    if isinstance(law, MassLaw):
        with np.errstate(divide="ignore"):
            logs = np.log(law.mass[[i, j]])
        return lambda s: _log(_powers(logs[0], logs[1], s).sum()), None
    first, second = law.densities[i].normal, law.densities[j].normal
    if first is not None and second is not None and is_regular(first.cov) and is_regular(second.cov):
        return normal_affinity(first, second), None
    listed = law.enumerated()
    if listed is not None:
        return log_affinity(listed, i, j, draws, seed)
    pair = DensityLaw((law.densities[i], law.densities[j]))
    if law.on_line:
        return _line_affinity(pair)
    return _sampled_affinity(pair, draws, seed), None


def is_regular(cov: Floats) -> bool:
    """Whether a covariance (p, p) has a density on all of the space: it is of full rank."""
    return rank_of(cov) == len(cov)


def _powers(first: Floats, second: Floats, s: float) -> Floats:
    """f_0^s f_1^(1-s) of logarithms, zero where either is; a pole has no mass of its own."""
    held = np.isfinite(first) & np.isfinite(second)
    out = np.zeros(np.shape(first))
    with np.errstate(over="ignore"):
        out[held] = np.exp(s * first[held] + (1 - s) * second[held])
    return np.where(np.isfinite(out), out, 0.0)


def _log(value: float) -> float:
    return float(np.log(value)) if value > 0 else -np.inf


def _line_affinity(pair: DensityLaw) -> tuple[Affinity, float]:
    """By quadrature, and more than the integral by its error, so that an upper bound remains one.

    Of probabilities d_0 and d_1 that no panel saw it may miss d_0^s d_1^(1-s), by Hoelder's inequality.
    """
    breaks = line_breaks(pair)

    def integral(of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        def at(x: Floats) -> Floats:
            logs = pair.log_densities(x[:, None])
            logs[~np.isfinite(x)] = -np.inf
            return of(logs)

        return integrate(at, breaks, rtol=1e-10)

    whole, bound = integral(
        lambda logs: np.column_stack([_powers(logs[:, k], logs[:, k], 1.0) for k in (0, 1)])
    )
    lack, seen = np.abs(1 - whole), bound + LOOSE
    lack = np.maximum(lack, seen) if (lack > seen).any() else np.zeros(2)

    def affinity(s: float) -> tuple[float, float]:
        value, error = integral(lambda logs: _powers(logs[:, 0], logs[:, 1], s)[:, None])
        missed = lack[0] ** s * lack[1] ** (1 - s) if lack.any() else 0.0
        return float(value[0]), float(error[0] + missed)

    value, error = affinity(0.5)
    return lambda s: _log(sum(affinity(s))), _log(value - error)


def _sampled_affinity(pair: DensityLaw, draws: int, seed: int | None) -> Affinity:
    # Points of the even mixture h: the mean of f_0^s f_1^(1-s)/h is bounded.
    rng = np.random.default_rng(seed)
    x = np.concatenate([held.draw(draws, rng) for held in pair.densities])
    shares = log_posteriors(pair.log_densities(x)) + np.log(2.0)
    return lambda s: _log(_powers(shares[:, 0], shares[:, 1], s).mean())
