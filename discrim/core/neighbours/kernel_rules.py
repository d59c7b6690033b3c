"""Densities of classes by kernels about their rows, in several columns.

Theory (Parzen, 1962, Annals of Mathematical Statistics 33, 1065-1076; Silverman, 1986, Density Estimation,
ch. 4; SAS/STAT User's Guide, The DISCRIM Procedure, nonparametric methods). With the covariance V of a metric
and a radius r, the density of class k is f_k(x) = sum_j w_j K(d_j^2 / r^2) / (n_k r^p |V|^(1/2)), d_j the
distance of x from row j in the metric. The kernels are exp(-u/2) and, of u below one, 1, 1 - u, (1 - u)^2 and
(1 - u)^3, each over its integral. Distances are about the mean of each class, so that no digit is lost to how
far classes lie from each other or from zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.coordinates import column_squares, standard_columns

__all__ = [
    "KERNELS",
    "Kernel",
    "KernelRule",
    "Places",
    "in_radii",
    "log_constant",
    "log_mean",
    "normal_radius",
    "pieces",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
Kernel = Literal["normal", "epanechnikov", "biweight", "triweight", "uniform"]

KERNELS: dict[str, int] = {"uniform": 0, "epanechnikov": 1, "biweight": 2, "triweight": 3}
"""Powers of 1 - u, of the kernels that end at the radius."""

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)

HELD = 2**22
"""Distances that are held at once."""


def _log_ball(p: int) -> float:
    """Logarithm of the volume of the unit ball."""
    return 0.5 * p * log(pi) - lgamma(0.5 * p + 1)


def log_constant(kernel: Kernel, p: int) -> float:
    """Logarithm of what a kernel of p columns is multiplied by to have the integral one."""
    if kernel == "normal":
        return -0.5 * p * log(2 * pi)
    power = KERNELS[kernel]
    # The integral of (1 - u)^q over the unit ball is its volume times G(p/2+1) G(q+1) / G(p/2+q+1).
    return lgamma(0.5 * p + power + 1) - lgamma(0.5 * p + 1) - lgamma(power + 1.0) - _log_ball(p)


def normal_radius(kernel: Kernel, p: int, counts: Floats) -> Floats:
    """Radii (K,) of least asymptotic mean integrated squared error where classes (of n_k rows) are normal.

    r^(p+4) = p R(K) / (n m^2 (2 sqrt(pi))^(-p) (p/2 + p^2/4)), with R the integral of the squared kernel and
    m its variance along an axis (Silverman, 1986, sec. 4.3).
    """
    if kernel == "normal":
        roughness, variance = -0.5 * p * log(4 * pi), 1.0
    else:
        power = KERNELS[kernel]
        squared = (
            _log_ball(p) + lgamma(0.5 * p + 1) + lgamma(2.0 * power + 1) - lgamma(0.5 * p + 2 * power + 1)
        )
        roughness, variance = squared + 2 * log_constant(kernel, p), 1.0 / (p + 2 + 2 * power)
    top = log(p) + roughness + p * log(2 * pi**0.5) - log(0.5 * p + 0.25 * p**2) - 2 * log(variance)
    return np.asarray(np.exp((top - np.log(counts)) / (p + 4)))


@dataclass(frozen=True, slots=True)
class Places:
    """The rows of one class, in coordinates in which its metric is Euclidean.

    Attributes
    ----------
    centre : (p,) float
        The mean of the class.
    scale : (p,) float
    covariance : Covariance
        Of the metric, in units of the scale.
    points : (p, n) float
    weights : (n,) float
    """

    centre: Floats
    scale: Floats
    covariance: Covariance
    points: Floats
    weights: Floats

    def coordinates(self, x: Floats) -> Floats:
        """Those (p, m) of rows x (m, p)."""
        return self.covariance.whiten(standard_columns(x, self.centre, self.scale))

    def squared(self, z: Floats) -> tuple[Floats, Floats]:
        """Squared distances (n, m) of coordinates z (p, m) from the rows, and their rounding (m,)."""
        squares, lengths = column_squares(self.points), column_squares(z)
        d2 = squares[:, None] - 2 * (self.points.T @ z)
        d2 += lengths
        return d2, 8 * EPS * (lengths + squares.max(initial=0.0))

    @property
    def resolution(self) -> float:
        """Distance between rows of the class below which rounding may have made it."""
        return 4 * float(np.sqrt(EPS * column_squares(self.points).max(initial=0.0)))

    @property
    def logdet(self) -> float:
        """Log-determinant of the metric in the units of the data."""
        return self.covariance.logdet - 2 * float(np.log(self.scale).sum())


@dataclass(frozen=True, slots=True)
class KernelRule:
    """Scores ln prior_k + ln f_k(x).

    Attributes
    ----------
    log_prior : (K,) float
    places : tuple of K Places
    radii : (K,) float
    kernel : str
    has_ends : bool
        A row may be impossible in every class.
    """

    has_ends: ClassVar[bool] = True

    log_prior: Floats
    places: tuple[Places, ...]
    radii: Floats
    kernel: Kernel

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p); minus infinity where no kernel of the class reaches."""
        scores = np.empty((len(self.places), len(x)))
        for k, own in enumerate(self.places):
            with np.errstate(over="ignore", invalid="ignore"):
                scores[k] = self.log_prior[k] + self.log_density(k, own.coordinates(x))
        scores[:, np.isnan(x).any(axis=1)] = np.nan
        return scores.T

    def log_density(self, k: int, z: Floats) -> Floats:
        """Log densities (m,) of class k at coordinates z (p, m)."""
        own, out = self.places[k], np.empty(z.shape[1])
        for part in pieces(own, z.shape[1]):
            u, edge = in_radii(*own.squared(z[:, part]), float(self.radii[k]))
            out[part] = log_mean(self.kernel, own, u, edge)
        out += log_constant(self.kernel, len(z)) - len(z) * np.log(self.radii[k]) - 0.5 * own.logdet
        return out


def pieces(own: Places, m: int) -> list[slice]:
    """Parts of so many rows whose distances from those of a class are held at once."""
    step = max(HELD // max(own.points.shape[1], 1), 1)
    return [slice(start, min(start + step, m)) for start in range(0, m, step)]


def in_radii(d2: Floats, edge: Floats, radius: float | Floats) -> tuple[Floats, Floats]:
    """Squared distances (n, m) and their rounding (m,) over the square of a radius, or of one for each (m,).

    The square itself may be out of the range of doubles.
    """
    with np.errstate(over="ignore"):
        square = np.square(radius)
    if np.all((square >= TINY) & (square < np.inf)):
        return d2 / square, edge / square
    return d2 / radius / radius, edge / radius / radius


def log_mean(
    kernel: Kernel,
    own: Places,
    u: Floats,
    edge: Floats,
    positions: Codes | None = None,
    equal: Mask | None = None,
) -> Floats:
    """Logarithms (m,) of the mean kernel over the rows of a class, without what a kernel is multiplied by.

    Parameters
    ----------
    kernel : str
    own : Places
    u : (n, m) float
        Squared distances over the squared radius.
    edge : (m,) float
        To what they are known.
    positions : (m,) int, optional
        Where the rows are among those of the class; one unit of the weight of each is left out.
    equal : (n, m) bool, optional
        Rows of the class that are left out altogether, in place of that unit.
    """
    values = _log_kernel(kernel, u, edge)
    rest = np.full(u.shape[1], float(own.weights.sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        values += np.log(own.weights)[:, None]
        if equal is not None:
            rest -= own.weights @ equal
            values[equal] = -np.inf
        elif positions is not None:
            unit = np.minimum(1.0, own.weights[positions])
            rest -= unit
            # The distance of a row from itself is none, whatever rounding made of it.
            values[positions, np.arange(len(positions))] = np.log(own.weights[positions] - unit)
        top = values.max(axis=0)
        held = np.where(np.isfinite(top), top, 0.0)
        found = held + np.log(np.exp(values - held).sum(axis=0)) - np.log(rest)
    found[~(rest > 0)] = -np.inf
    return np.asarray(found)


def _log_kernel(kernel: Kernel, u: Floats, edge: Floats) -> Floats:
    """Logarithms of a kernel at squares u (n, m) in units of the radius, known to `edge` (m,)."""
    if kernel == "normal":
        return np.asarray(-0.5 * np.maximum(u, 0.0))
    power = KERNELS[kernel]
    with np.errstate(divide="ignore"):
        values = power * np.log(np.clip(1 - u, 0.0, 1.0)) if power else np.zeros_like(u)
    # Rounding may put a row a little beyond the radius on which it lies.
    return np.where(u <= 1 + edge, values, -np.inf)
