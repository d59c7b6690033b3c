"""Scores of each row under the rule fitted without it, without a refit.

Theory. Taking a row x of class g with weight w out of the moments moves one mean
and takes a rank-one matrix from one scatter:

    m_g -> m_g - w / (n_g - w) (x - m_g),   W -> W - w n_g / (n_g - w) (x - m_g)(x - m_g)'.

With Sherman and Morrison's formula every distance under the new rule follows from
distances under the old one. Write D2_k for the squared distance to m_k and
T_k = (x - m_k)' S^-1 (x - m_g), both under the full fit. With divisor N - h,
c = w n_g / ((n_g - w)(N - h)) and s = (N - w - h)/(N - h), a common covariance gives

    D2_k -> s (D2_k + c T_k^2 / (1 - c D2_g)),   D2_g -> s (n_g/(n_g - w))^2 D2_g / (1 - c D2_g),

and a covariance for each class changes the own class alone. Priors are held. (Lachenbruch &
Mickey, 1968, Technometrics 10, 1-11; the determinant lemma gives the second case.)

A row alone in its class leaves a class without a mean: its own score is minus infinity. Where
1 - c D2_g is small the subtraction has lost digits (and is zero where the covariance without
the row is singular): such rows, few of them by the sum of the leverages, are missing here and
left to a refit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import EPS
from discrim.core.rules import Distances, column_squares, standard_columns

__all__ = [
    "LeftOut",
    "Removal",
    "common_distances",
    "common_scores",
    "diagonal_scores",
    "removal",
    "separate_distances",
    "separate_scores",
    "settle",
    "squared_gaps",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

LeftOut = Callable[[Floats, Codes, Floats | None], Floats]
"""From x (m, p), codes (m,) and weights (m,) or None to scores (m, K), each row left out in turn."""

SPOILT = 0.05
"""Value of 1 - c D2_g up to which a row is left to a refit."""


def common_scores(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisor: float,
    log_prior: Floats,
) -> Floats:
    """Leave-one-out scores (m, K) where the classes share one covariance.

    Parameters
    ----------
    x : (m, p) float
    codes : (m,) int
        Class of each row.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row's weight is left out.
    distances : Distances
        Of the full fit, with one covariance.
    counts : (K,) float
        Sum of weights by class in the full fit.
    divisor : float
        N - h of the full fit's covariance.
    log_prior : (K,) float
    """
    d2, gone = common_distances(x, codes, weights, distances, counts, divisor)
    d2 *= -0.5
    d2 += log_prior[:, None]
    return settle(d2, codes, gone).T


def common_distances(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisor: float,
) -> tuple[Floats, Removal]:
    """Leave-one-out squared distances (K, m) where the classes share one covariance; as `common_scores`."""
    (covariance,) = distances.covariances
    means = covariance.whiten(distances.means.T).T
    own = covariance.whiten(standard_columns(x, distances.origin, distances.scale)) - means.T[:, codes]
    d2_own = column_squares(own)
    along = means @ own
    rows = np.arange(len(codes))
    lead = along[codes, rows] - along
    between = squared_gaps(means)
    # D2_k and T_k from the row's deviation from its own mean, so that nothing large cancels.
    cross = d2_own + lead
    d2 = cross + lead + between[:, codes]
    gone = removal(d2_own, counts[codes], weights, divisor)
    with np.errstate(divide="ignore", invalid="ignore"):
        lift = gone.out * gone.count / ((gone.count - gone.out) * divisor) / gone.left
        d2 = gone.shrink * (d2 + lift * cross**2)
        d2[codes, rows] = gone.shrink * gone.stretch * d2_own / gone.left
    return d2, gone


def separate_scores(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
    constant: Floats,
) -> Floats:
    """Leave-one-out scores (m, K) where each class has a covariance of its own.

    Parameters
    ----------
    x, codes, weights, distances, counts
        As for `common_scores`, with one covariance a class.
    divisors : (K,) float
        n_k - h of the full fit's covariances.
    constant : (K,) float
        ln prior_k - ln|S_k| / 2.
    """
    d2, gone = separate_distances(x, codes, weights, distances, counts, divisors)
    scores = -0.5 * d2 + constant[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logdet_change = np.log(gone.left) - x.shape[1] * np.log(gone.shrink)
    scores[codes, np.arange(len(codes))] -= 0.5 * logdet_change
    return settle(scores, codes, gone).T


def separate_distances(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
) -> tuple[Floats, Removal]:
    """Leave-one-out squared distances (K, m) where each class has its covariance; as `separate_scores`."""
    d2 = distances.squared(x)
    rows = np.arange(len(codes))
    gone = removal(d2[codes, rows], counts[codes], weights, divisors[codes])
    with np.errstate(divide="ignore", invalid="ignore"):
        d2[codes, rows] *= gone.stretch * gone.shrink / gone.left
    return d2, gone


def diagonal_scores(
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    distances: Distances,
    counts: Floats,
    divisors: Floats,
    log_prior: Floats,
    added: tuple[Floats, Floats] | None = None,
) -> Floats:
    """Leave-one-out scores (m, K) under diagonal covariances, one for all classes or one for each.

    Parameters
    ----------
    x, codes, weights, distances, counts, log_prior
        As for `common_scores`; with several covariances the score contains -ln|S_k|/2.
    divisors : (1,) or (K,) float
        Of the covariances.
    added : tuple of (p,) and (p, m) float, optional
        What the variances contain beyond sums of squares: in the full fit, and without each row. A row
        without which it is not known (NaN) is missing.
    """
    common = len(distances.covariances) == 1
    before, after = (0.0, np.zeros((1, 1))) if added is None else added
    variances = np.stack([covariance.root**2 for covariance in distances.covariances]) - before
    origins = np.broadcast_to(distances.origin, distances.means.shape)
    own = standard_columns(x, origins[codes].T, distances.scale) - distances.means[codes].T
    which = np.zeros_like(codes) if common else codes
    held, divisor, count = variances[which].T, divisors[which], counts[codes]
    gone = removal(np.zeros(len(codes)), count, weights, divisor)
    lift = gone.out * gone.count / np.where(gone.alone, 1.0, gone.count - gone.out)
    left = held - lift / divisor * own**2
    scores = np.empty((len(counts), len(codes)))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = left / gone.shrink
        for k in range(len(counts)):
            mine = codes == k
            deviations = (
                standard_columns(x, origins[k][:, None], distances.scale) - distances.means[k][:, None]
            )
            deviations *= np.where(mine, np.sqrt(gone.stretch), 1.0)
            variance = moved if common else np.where(mine, moved, variances[k][:, None])
            variance = variance + after
            scores[k] = log_prior[k] - 0.5 * (deviations**2 / variance).sum(axis=0)
            if not common:
                scores[k] -= 0.5 * np.log(variance).sum(axis=0)
    kept = ((left + after) / (held + after)).min(axis=0)
    kept = np.where((gone.shrink > 0) & np.isfinite(kept), kept, 0.0)
    return settle(scores, codes, replace(gone, leverage=1.0 - kept)).T


@dataclass(frozen=True, slots=True)
class Removal:
    """What leaving one row out does to the row's own class, (m,) each.

    Attributes
    ----------
    out : (m,) float
        Weight that is left out, zero for a row alone in its class.
    count : (m,) float
        n_g before.
    alone : (m,) bool
    shrink : (m,) float
        Divisor after over divisor before.
    leverage : (m,) float
        c D2_g; 1 - leverage is what the determinant is multiplied by.
    """

    out: Floats
    count: Floats
    alone: NDArray[np.bool_]
    shrink: Floats
    leverage: Floats

    @property
    def left(self) -> Floats:
        """1 - leverage, which divides the distances."""
        return np.asarray(1.0 - self.leverage)

    @property
    def stretch(self) -> Floats:
        """Square of what the row's distance from its mean grows by."""
        return np.asarray((self.count / (self.count - self.out)) ** 2)


def removal(d2_own: Floats, counts: Floats, weights: Floats | None, divisor: float | Floats) -> Removal:
    """What leaving rows out does, from their distances (m,) and the counts (m,) of their classes."""
    out = np.ones(len(d2_own)) if weights is None else np.minimum(weights, 1.0)
    alone = counts - out <= EPS * counts
    out = np.where(alone, 0.0, out)
    leverage = out * counts / ((counts - out) * divisor) * d2_own
    return Removal(out, counts, alone, (divisor - out) / divisor, leverage)


def settle(scores: Floats, codes: Codes, gone: Removal) -> Floats:
    """Scores (K, m): minus infinity for the class of a row alone in it, missing for what a refit must do."""
    alone = np.flatnonzero(gone.alone)
    scores[codes[alone], alone] = -np.inf
    scores[:, gone.left <= SPOILT] = np.nan
    return scores


def squared_gaps(means: Floats) -> Floats:
    """Squared distances (K, K) between whitened means (K, p)."""
    return np.stack([((means - mean) ** 2).sum(axis=1) for mean in means])
