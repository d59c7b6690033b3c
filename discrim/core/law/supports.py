"""Normal laws of rows on a plane of fewer dimensions: singular covariances.

A normal distribution of rank r has a density on its plane of r dimensions alone, and none beside it. A class
of more dimensions never hits the plane: a row on it is of the class of fewer dimensions, whatever numbers the
two densities have there, for they are densities of different measures (Khatri, 1968, Sankhya A 30, 267-280).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Plane", "distance_of", "on_smallest", "plane_of", "rank_of", "seems_singular"]

Floats = NDArray[np.float64]

EPS = float(np.finfo(np.float64).eps)

NOTHING = 1e6 * EPS
"""Variance along an axis, over the largest, that is none; as in scipy."""

BESIDE = 1e-7
"""Distance from a plane, over the largest standard deviation in it, at which a row lies beside it: random
rows are off by the root of a rounding."""


@dataclass(frozen=True, slots=True)
class Plane:
    """Where a normal distribution lies, in columns of unit variance.

    Attributes
    ----------
    unit : (p,) float
        Standard deviations of the columns; one for a column that has none.
    axes : (p, r) float
        Orthogonal directions of the plane.
    sd : (r,) float
        Standard deviations along them.
    across : (p, p - r) float
        Directions that leave the plane.
    log_volume : float
        Half the logarithm of the product of the positive eigenvalues of the covariance.
    """

    unit: Floats
    axes: Floats
    sd: Floats
    across: Floats
    log_volume: float

    def holds(self, gaps: Floats, size: Floats) -> NDArray[np.bool_]:
        """Whether rows less the mean (m, p) lie on it, where the columns have numbers of some size (p,)."""
        away = np.sqrt(((gaps / self.unit @ self.across) ** 2).sum(axis=-1))
        return np.asarray(away <= BESIDE * self.sd.max(initial=0.0) + 64 * EPS * (size / self.unit).max())

    def distances(self, gaps: Floats) -> Floats:
        """Mahalanobis distances (m,) of rows less the mean (m, p), within the plane."""
        return np.asarray(np.sqrt(((gaps / self.unit @ self.axes / self.sd) ** 2).sum(axis=-1)))

    def log_density(self, x: Floats, mean: Floats) -> Floats:
        """Log density (m,) on the plane of rows x (m, p); minus infinity beside it."""
        gaps = x - mean
        logs = -0.5 * (self.distances(gaps) ** 2 + len(self.sd) * np.log(2 * np.pi)) - self.log_volume
        return np.where(self.holds(gaps, np.abs(mean)), logs, -np.inf)


def plane_of(cov: Floats) -> Plane:
    """The plane of a covariance (p, p), which is all of the space where it has full rank."""
    sd = np.sqrt(np.diagonal(cov))
    unit = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(cov / unit / unit[:, None])
    there = values > NOTHING * values[-1]
    axes, lengths = vectors[:, there], np.sqrt(values[there])
    root = np.linalg.qr(unit[:, None] * axes * lengths, mode="r")
    volume = float(np.log(np.abs(np.diagonal(root))).sum())
    return Plane(unit, axes, lengths, vectors[:, ~there], volume)


def rank_of(cov: Floats) -> int:
    """Dimensions in which a covariance (p, p) spreads."""
    return len(plane_of(cov).sd)


def seems_singular(cov: Floats) -> bool:
    """Whether scipy takes a covariance (p, p) for singular, as it does where columns differ much in unit."""
    values = np.linalg.eigvalsh(cov)
    return bool(values[0] <= NOTHING * values[-1])


def distance_of(cov: Floats, first: Floats, second: Floats) -> float:
    """Mahalanobis distance of two means (p,): infinite where their planes lie side by side."""
    gap, plane = second - first, plane_of(cov)
    if len(plane.sd) == len(cov):
        return float(np.linalg.norm(np.linalg.solve(np.linalg.cholesky(cov), gap)))
    if not plane.holds(gap, np.abs(first) + np.abs(second)):
        return np.inf
    return float(plane.distances(gap))


def on_smallest(logs: Floats, ranks: NDArray[np.intp]) -> Floats:
    """Log densities (m, K) of classes of ranks (K,), but minus infinity beside one of fewer dimensions."""
    if (ranks == ranks[0]).all():
        return logs
    here = np.where(np.isneginf(logs), ranks.max() + 1, ranks)
    return np.where(here > here.min(axis=1, keepdims=True), -np.inf, logs)
