"""Rows left out of kernel densities: each leaves its own kernel, and the covariance of the metric too.

Theory. With d the deviation of the row from the mean of its class, of n rows, and f degrees of freedom, the
covariance V becomes (f V - c dd') / (f - 1) without the row, c = n / (n - 1). By Sherman and Morrison's
formula the squared distance between the row and another, D2 under V, is then (f - 1)/f (D2 + e t^2 / (1 -
e q)) with e = c / f, t the product of their difference with d and q that of d with itself, both under V^-1.
In coordinates that V makes Euclidean these are products of columns. Where 1 - e q is next to nothing the row
is left to a refit.

Where a bandwidth is to be chosen, all rows that are equal to a row leave their kernels with it. Kernels of no
radius about its copies would give it any density, however large, and rounded or repeated values have many
copies: the choice would say how the values were written down (Silverman, 1986, Density Estimation, sec. 3.4).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.coordinates import column_squares
from discrim.core.neighbours.kernel_rules import (
    KernelRule,
    Places,
    in_radii,
    log_constant,
    log_mean,
    normal_radius,
    pieces,
)

__all__ = ["left_out_scores"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]

LEAST = 1e-6
"""Of a metric without a row, over that of all rows, what is too little to be told from rounding."""


class _Gone(NamedTuple):
    """What some rows of a class take away with them.

    Attributes
    ----------
    deviations : (p, m) float
        From the mean of the class, in the coordinates of the metric.
    share : (m,) float
        e.
    left : (m,) float
        (f - 1) / f.
    """

    deviations: Floats
    share: Floats
    left: Floats


def left_out_scores(
    rule: KernelRule,
    x: Floats,
    codes: Codes,
    metric: str,
    common: bool,
    anew: bool,
    groups: Codes | None = None,
) -> Floats:
    """Scores (n, K) of the rows x (n, p) of the fit, each without itself; missing where a refit is needed.

    Parameters
    ----------
    rule : KernelRule
    x : (n, p) float
    codes : (n,) int
    metric, common
        As of `KernelDensityFit`.
    anew : bool
        Whether bandwidths are those that are best for normal classes of the rows that are left.
    groups : (n,) int, optional
        Rows of the same number leave their kernels together, of whatever class they are.
    """
    n_classes = len(rule.places)
    totals = np.array([float(place.weights.sum()) for place in rule.places])
    scores = np.empty((len(x), n_classes))
    for g, own in enumerate(rule.places):
        at = np.flatnonzero(codes == g)
        unit = np.minimum(1.0, own.weights)
        free = totals.sum() - n_classes if common else totals[g] - 1
        gone = _gone(own, unit, totals[g], free)
        for k, place in enumerate(rule.places):
            z = own.points if k == g else place.coordinates(x[at])
            changed = metric != "euclidean" and (common or k == g)
            radius = np.full(len(at), rule.radii[k])
            if anew and k == g:
                with np.errstate(divide="ignore"):
                    radius = normal_radius(rule.kernel, len(z), totals[g] - unit)
            for part in pieces(place, len(at)):
                positions = np.arange(part.start, part.stop) if k == g else None
                equal = None if groups is None else groups[codes == k, None] == groups[at[part]]
                taken = (
                    _Gone(gone.deviations[:, part], gone.share[part], gone.left[part]) if changed else None
                )
                scores[at[part], k] = rule.log_prior[k] + _density(
                    rule, place, z[:, part], radius[part], taken, metric, positions, equal
                )
    return scores


def _gone(own: Places, unit: Floats, total: float, free: float) -> _Gone:
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = own.points @ own.weights / total
        share = unit * total / (total - unit) / free
        return _Gone(own.points - mean[:, None], share, (free - unit) / free)


def _density(
    rule: KernelRule,
    place: Places,
    z: Floats,
    radius: Floats,
    gone: _Gone | None,
    metric: str,
    positions: Codes | None,
    equal: Mask | None,
) -> Floats:
    """Log densities (m,) of a class at coordinates z (p, m), in the metric without each of the rows."""
    p, d2, logdet = len(z), None, np.full(z.shape[1], place.logdet)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d2, edge = place.squared(z)
        if gone is not None and metric == "diagonal":
            rest = 1 - gone.share * gone.deviations**2
            ratios = gone.left / np.where(rest > LEAST, rest, np.nan)
            d2 = (place.points**2).T @ ratios - 2 * (place.points.T @ (ratios * z))
            d2 += np.einsum("ij,ij->j", ratios, z**2)
            logdet -= np.log(ratios).sum(axis=0)
            edge = edge * ratios.max(axis=0)
        elif gone is not None:
            rest = 1 - gone.share * column_squares(gone.deviations)
            rest = np.where((rest > LEAST) & (gone.left > 0), rest, np.nan)
            across = np.einsum("ij,ij->j", z, gone.deviations) - place.points.T @ gone.deviations
            d2 += gone.share / rest * across**2
            d2 *= gone.left
            logdet += np.log(rest) - p * np.log(gone.left)
            edge = edge * gone.left * (1 + gone.share / rest * column_squares(gone.deviations))
        values = log_mean(rule.kernel, place, *in_radii(d2, edge, radius), positions, equal)
        found = values + log_constant(rule.kernel, p) - p * np.log(radius) - 0.5 * logdet
    found[np.isnan(logdet)] = np.nan
    return np.asarray(found)
