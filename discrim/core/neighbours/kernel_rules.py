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
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.coordinates import column_squares, standard_columns

__all__ = ["KERNELS", "Kernel", "KernelRule", "Places", "log_constant", "normal_radius"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Kernel = Literal["normal", "epanechnikov", "biweight", "triweight", "uniform"]

KERNELS: dict[str, int] = {"uniform": 0, "epanechnikov": 1, "biweight": 2, "triweight": 3}
"""Powers of 1 - u, of the kernels that end at the radius."""

EPS = float(np.finfo(np.float64).eps)

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
    """

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

    def log_density(self, k: int, z: Floats, positions: Codes | None = None) -> Floats:
        """Log densities (m,) of class k at coordinates z (p, m), or of its rows without themselves.

        Parameters
        ----------
        k : int
        z : (p, m) float
        positions : (m,) int, optional
            Where the rows are among those of the class; one unit of the weight of each is left out.
        """
        own, out = self.places[k], np.empty(z.shape[1])
        squares = column_squares(own.points)
        logs = np.log(own.weights)[:, None]
        step = max(HELD // max(len(squares), 1), 1)
        for start in range(0, z.shape[1], step):
            part = z[:, start : start + step]
            d2 = squares[:, None] - 2 * (own.points.T @ part)
            d2 += column_squares(part)
            np.maximum(d2, 0.0, out=d2)
            # Of squares of this size the difference is known to so much.
            edge = 8 * EPS * (column_squares(part) + squares.max()) / self.radii[k] ** 2
            d2 /= self.radii[k] ** 2
            values = self._log_kernel(d2, edge) + logs
            if positions is not None:
                at, columns = positions[start : start + step], np.arange(part.shape[1])
                left = own.weights[at] - np.minimum(1.0, own.weights[at])
                # The distance of a row from itself is none, whatever rounding made of it.
                with np.errstate(divide="ignore"):
                    values[at, columns] = np.log(left)
            top = values.max(axis=0)
            held = np.where(np.isfinite(top), top, 0.0)
            with np.errstate(divide="ignore"):
                out[start : start + step] = held + np.log(np.exp(values - held).sum(axis=0))
        p, total = len(own.points), float(own.weights.sum())
        rest = np.full(z.shape[1], total)
        if positions is not None:
            rest -= np.minimum(1.0, own.weights[positions])
        with np.errstate(divide="ignore", invalid="ignore"):
            out -= np.log(rest)
        out[~(rest > 0)] = -np.inf
        out += log_constant(self.kernel, p) - p * np.log(self.radii[k]) - 0.5 * own.logdet
        return out

    def _log_kernel(self, u: Floats, edge: Floats) -> Floats:
        """Logarithms of the kernel at squares u (n, m) in units of the radius, known to `edge` (m,)."""
        if self.kernel == "normal":
            return np.multiply(u, -0.5, out=u)
        power = KERNELS[self.kernel]
        # Rounding may put a row a little beyond the radius on which it lies.
        inside = u <= 1 + edge
        with np.errstate(divide="ignore"):
            values = power * np.log(np.maximum(1 - u, 0.0)) if power else np.zeros_like(u)
        return np.where(inside, values, -np.inf)

    def left_out(self, every: tuple[Floats, Codes]) -> Floats:
        """Scores (n, K) of the rows x (n, p) of the fit, with their classes, each without itself."""
        x, codes = every
        scores = self.scores(x)
        for k, own in enumerate(self.places):
            at = np.flatnonzero(codes == k)
            scores[at, k] = self.log_prior[k] + self.log_density(k, own.points, np.arange(len(at)))
        return scores
