"""Errors of leave-one-out over a grid of shrinkages, from one factorisation for all of them.

Theory. In the principal axes of a scatter every shrinkage of it is diagonal, so that what depends on the
shrinkage is a division a number: a row is turned once, and scored under each candidate without itself by
the formulas of `discrim.core.shrinkage.leave_one_out_shrunk`. The candidate stays while a row is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.principal import Principal, principal
from discrim.core.moments.coordinates import from_class_means
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import removal
from discrim.core.shrinkage.leave_one_out_shrunk import Removed, common_scores, own_scores, without
from discrim.core.shrinkage.median_shrinkage import median_shrunk, scores_without, without_row

__all__ = ["Trial", "common_trial", "diagonal_trial", "missed", "separate_trial"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

BARELY = 1e-8
"""What must be left of a determinant for a label to be told: it takes fewer digits than a posterior."""

Trial = Callable[[Floats, Codes, Floats | None], Iterator[Floats]]
"""From x (m, p), codes (m,) and weights (m,) or None to scores (K, m) by shrinkage, without the row."""


def missed(trial: Trial, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
    """Whether rows are called another class without themselves, (m,) by shrinkage; missing where unknown."""
    found = []
    for scores in trial(x, codes, weights):
        wrong = (scores.argmax(axis=0) != codes).astype(np.float64)
        wrong[np.isnan(scores).any(axis=0)] = np.nan
        found.append(wrong)
    return np.stack(found)


def common_trial(moments: ClassMoments, divisor: float, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under one covariance for all classes, shrunk towards a sphere.

    Parameters
    ----------
    moments : ClassMoments
        Pooled.
    divisor : float
        Of the covariance of all rows.
    log_prior : (K,) float
    grid : (G,) float
        Shrinkages.
    """
    held = principal(moments).spanning(moments.means.T - moments.means[:1].T)
    centres = held.turned(moments.means.T)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        gone = removal(moments.counts[codes], weights, divisor)
        rows = Removed(held.turned(from_class_means(moments, x, codes)), codes, gone, weights)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                part = without(held, rows, np.full(len(codes), g), BARELY)
                out = common_scores(centres, rows, part, divisor, log_prior)
            out[:, part.spoilt] = np.nan
            yield out

    return scores


def separate_trial(moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under a covariance for each class, all shrunk alike; as `common_trial`.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    divisors : (K,) float
    log_prior : (K,) float
    grid : (G,) float
    """
    axes = [principal(moments, k) for k in range(moments.n_classes)]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        m, k = len(codes), moments.n_classes
        squares, beyond, taken = [], [], []
        for c, held in enumerate(axes):
            z = from_class_means(moments, x, c)
            e = held.turned(z)
            squares.append(e**2)
            beyond.append(_beyond(held, z, e))
            mine = np.flatnonzero(codes == c)
            given = None if weights is None else weights[mine]
            gone = removal(moments.counts[codes[mine]], given, divisors[c])
            taken.append(Removed(e[:, mine], codes[mine], gone, given))
        for g in grid.tolist():
            out, spoilt = np.empty((k, m)), np.zeros(m, dtype=bool)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                for c, held in enumerate(axes):
                    mine = np.flatnonzero(codes == c)
                    out[c] = _density(held, squares[c], beyond[c], divisors[c], g)
                    part = without(held, taken[c], np.full(len(mine), g), BARELY)
                    out[c, mine] = own_scores(held, taken[c], part, divisors[c])
                    spoilt[mine] = part.spoilt
            out += log_prior[:, None]
            out[:, spoilt] = np.nan
            yield out

    return scores


def _beyond(held: Principal, z: Floats, e: Floats) -> Floats:
    """Squared length (m,) of z beyond the axes on which it is e."""
    if not held.beyond or held.axes is None:
        return np.zeros(z.shape[1])
    return np.asarray(((z * held.unit[:, None] - held.axes.T @ e) ** 2).sum(axis=0))


def _density(held: Principal, squares: Floats, beyond: Floats, divisor: float, g: float) -> Floats:
    """Log density (m,) but for a constant, from squares (r, m) on the axes and (m,) beyond them."""
    sphere = g / held.n_columns
    variances = (1.0 - g) * held.lengths + sphere
    d2 = (1.0 / variances) @ squares
    logdet = np.log(variances).sum() - 2.0 * np.log(held.unit).sum() - held.n_columns * np.log(divisor)
    if held.beyond:
        d2 = d2 + beyond / sphere
        logdet += held.beyond * np.log(sphere)
    return np.asarray(-0.5 * (logdet + divisor * d2))


def diagonal_trial(moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats) -> Trial:
    """Scores under variances shrunk towards their median, for all classes or by class.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    grid : (G,) float
    """
    squares = moments.squares.sum(axis=0, keepdims=True) if len(divisors) == 1 else moments.squares

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rows = without_row(moments, x, codes, weights, divisors)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                full = tuple(
                    median_shrunk(own, moments.scale, divisor, g)
                    for own, divisor in zip(squares, divisors.tolist(), strict=True)
                )
                at = np.full(len(codes), g)
                yield scores_without(moments, rows, at, full, divisors, log_prior, BARELY)

    return scores
