"""Kernel discriminant analysis: class densities as sums of kernels at the rows, in several columns.

Theory (Parzen, 1962, Annals of Mathematical Statistics 33, 1065-1076; Silverman, 1986, Density Estimation,
ch. 4; SAS/STAT User's Guide, The DISCRIM Procedure, nonparametric methods). With the covariance V of a metric
and a radius r, the density of class k is f_k(x) = sum_j w_j K(d_j^2 / r^2) / (n_k r^p |V|^(1/2)), d_j the
distance of x from row j in the metric. The kernels are exp(-u/2) and, for u below one, 1, 1 - u, (1 - u)^2
and (1 - u)^3, each divided by its integral. Distances are computed from rows centred at the class mean, which
preserves digits however far the classes lie from each other or from zero.

*Leave-one-out* removes the row's own kernel and changes the covariance of the metric. With d the deviation of
the row from the mean of its class of n rows, and f degrees of freedom, the covariance V becomes
(f V - c dd') / (f - 1) without the row, c = n / (n - 1). By the Sherman-Morrison formula the squared distance
between the row and another, D2 under V, becomes (f - 1)/f (D2 + e t^2 / (1 - e q)) with e = c / f, t the
product of their difference with d and q the product of d with itself, both under V^-1. In coordinates that
whiten V these are inner products of columns. If 1 - e q is close to zero, the row is refitted.

*Many rows.* If there are many rows, the choice of a bandwidth leaves out a sample of them, and compares each
with all rows; its time is then proportional to the number of rows (`search_rows`).

When a bandwidth is chosen, a row and all rows equal to it are left out together. Otherwise narrow kernels at
its copies would give it an arbitrarily large density; rounded or repeated values have many copies, and the
choice would depend on the precision of the data (Silverman, 1986, Density Estimation, sec. 3.4).

*Many radii.* Normal kernels of several radii share most of the work. At the squared distances u = c + h x of
an interval, x from -1 to 1, the kernels of all rates s = 1 / (2 r^2) are series in the same Chebyshev
polynomials,

    exp(-s u) = exp(-s c) (I_0(s h) + 2 sum_q (-1)^q I_q(s h) T_q(x)),

with modified Bessel functions I_q (Abramowitz & Stegun, 1964, 9.6.34). Sums of powers of x, computed once per
interval of the sorted distances, therefore give the sums of kernels of every radius by one product. In
intervals [a, (1 + g) a], the remainder after Q terms is at most (g/4)^Q at any rate, by I_q(z) <= (z/2)^q
exp(z) / q!. Distances are
relative to the nearest row, whose kernel is one: an absolute error of each kernel is the same relative error
of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, lgamma, log, pi
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import (
    Covariance,
    class_covariances,
    dependencies,
    pooled_covariance,
)
from discrim.core.covariance.principal import marginal_covariance
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, column_squares, gather, standardize_columns
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, min_class_rows, sample_of_classes, slices
from discrim.core.rules.rules import NoLikelihood, require_plugin_method

Kernel = Literal["normal", "epanechnikov", "biweight", "triweight", "uniform"]
"""Names of kernels: exp(-u/2), and 1 - u to the powers of `BOUNDED_KERNEL_POWERS`."""

BOUNDED_KERNEL_POWERS: dict[str, int] = {"uniform": 0, "epanechnikov": 1, "biweight": 2, "triweight": 3}
"""Powers of 1 - u of the kernels with bounded support."""

MAX_BLOCK_DISTANCES = 2**16
"""Number of distances per block, chosen to fit the processor's cache."""

MAX_UNSCALED_VALUE = 1e48
"""Largest absolute value, or reciprocal of it, that is used without rescaling by a power of two."""

NEGLIGIBLE_LOG_RATIO = 37.0
MIN_EXPONENT = -700.0
"""`NEGLIGIBLE_LOG_RATIO` is the difference of logarithms between the nearest row's kernel and the sum of all
neglected kernels (half a rounding error); `MIN_EXPONENT` is the smallest exponent of a normal floating-point
number.
"""

INTERVALS_PER_OCTAVE = 8
INTERVAL_BITS = 49
"""`INTERVALS_PER_OCTAVE` is the number of intervals of a series per power of two, `INTERVAL_BITS` the number
of bits of a float64 that vary within an interval.
"""

MAX_SERIES_TERMS = 24
MAX_INTERVAL_START = 2.0**60
"""`MAX_SERIES_TERMS` is the maximum number of terms of a series, above which coefficients would lose digits;
`MAX_INTERVAL_START` is the upper limit for the start of the last interval.
"""

MAX_SEARCH_PAIRS = 2**22
MIN_SEARCH_ROWS = 1000
"""A choice of the bandwidth leaves out each row, or of more than `MAX_SEARCH_PAIRS` pairs of rows a sample of
about as many pairs, and at least `MIN_SEARCH_ROWS` rows.
"""

MIN_SERIES_RADII = 8
MIN_SERIES_ROWS = 64
MIN_SERIES_PAIRS = 2**16
"""Numbers of radii, rows of a class, and pairs of rows below which direct sums are faster than series."""


def _log_ball_volume(p: int) -> float:
    """Return the logarithm of the volume of the unit ball in p dimensions."""
    return 0.5 * p * log(pi) - lgamma(0.5 * p + 1)


def log_constant(kernel: Kernel, p: int) -> float:
    """Return the log of the constant by which a kernel in p dimensions is multiplied to integrate to one.

    The kernel is a function of u, the squared distance in units of the squared radius, for radius one.
    """
    if kernel == "normal":
        return -0.5 * p * log(2 * pi)
    power = BOUNDED_KERNEL_POWERS[kernel]
    # The integral of (1 - u)^q over the unit ball is its volume times G(p/2+1) G(q+1) / G(p/2+q+1).
    return lgamma(0.5 * p + power + 1) - lgamma(0.5 * p + 1) - lgamma(power + 1.0) - _log_ball_volume(p)


def normal_reference_radii(kernel: Kernel, p: int, counts: Floats) -> Floats:
    """Return bandwidths that minimize the asymptotic mean integrated squared error for normal classes.

    They are radii in a metric in which the classes have unit covariance.

    r^(p+4) = p R(K) / (n m^2 (2 sqrt(pi))^(-p) (p/2 + p^2/4)), with R the integral of the squared kernel and
    m its variance along an axis (Silverman, 1986, sec. 4.3).

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    p : int
        Number of columns.
    counts : (K,) float
        Numbers n of rows (sums of weights) by class.

    Returns
    -------
    (K,) float
    """
    if kernel == "normal":
        roughness = -0.5 * p * log(4 * pi)
        variance = 1.0
    else:
        power = BOUNDED_KERNEL_POWERS[kernel]
        log_squared_integral = (
            _log_ball_volume(p)
            + lgamma(0.5 * p + 1)
            + lgamma(2.0 * power + 1)
            - lgamma(0.5 * p + 2 * power + 1)
        )
        roughness = log_squared_integral + 2 * log_constant(kernel, p)
        variance = 1.0 / (p + 2 + 2 * power)
    log_numerator = log(p) + roughness + p * log(2 * pi**0.5) - log(0.5 * p + 0.25 * p**2) - 2 * log(variance)
    return np.asarray(np.exp((log_numerator - np.log(counts)) / (p + 4)))


@dataclass(frozen=True, slots=True, eq=False)
class ClassPoints:
    """The n rows of one class in coordinates in which its metric is Euclidean.

    Attributes
    ----------
    centre : (p,) float
        Mean of the class in the units of the data, the origin of the coordinates.
    scale : (p,) float
        Powers of two by which the deviations of the columns from `centre` are multiplied before whitening.
    covariance : Covariance
        Covariance V of the metric, in the scaled columns.
    points : (p, n) float
        Coordinates of the rows.
    weights : (n,) float
        Weights of the rows.
    unit : float
        Factor by which a radius is multiplied to be in units of the coordinates.
    """

    centre: Floats
    scale: Floats
    covariance: Covariance
    points: Floats
    weights: Floats
    unit: float = 1.0

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates (p, m) of rows x (m, p)."""
        return self.covariance.whiten(standardize_columns(x, self.centre, self.scale))

    def squared_distances(self, z: Floats) -> tuple[Floats, Floats]:
        """Return the squared distances of points from the rows of the class.

        Parameters
        ----------
        z : (p, m) float
            Coordinates of points.

        Returns
        -------
        d2 : (m, n) float
            Rounding can make them slightly negative.
        error : (m,) float
            Bound of the absolute rounding error of the distances from each point.
        """
        squares = column_squares(self.points)
        squared_norms = column_squares(z)
        # (-2 z, |z|^2, 1)'(x, 1, |x|^2), which needs no further pass over the distances.
        d2 = np.vstack([-2 * z, squared_norms, np.ones_like(squared_norms)]).T @ np.vstack(
            [self.points, np.ones_like(squares), squares]
        )
        return d2, 8 * EPS * (squared_norms + squares.max(initial=0.0))

    @property
    def resolution(self) -> float:
        """Distance, in units of the radii, below which two rows of the class may differ only by rounding."""
        return 4 * float(np.sqrt(EPS * column_squares(self.points).max(initial=0.0))) / self.unit

    @property
    def logdet(self) -> float:
        """Log-determinant of the metric in the units of the data."""
        return self.covariance.logdet - 2 * float(np.log(self.scale).sum())


@dataclass(frozen=True, slots=True, eq=False)
class KernelRule:
    """Decision rule with scores ln prior_k + ln f_k(x).

    A row can have density zero in every class.

    Attributes
    ----------
    log_prior : (K,) float
        Log prior probabilities of the classes.
    points_by_class : tuple of K ClassPoints
        Rows of each class with its metric.
    radii : (K,) float
        Bandwidths of the classes, as distances in the metric.
    kernel : str
        Name of the kernel.
    """

    has_impossible_rows: ClassVar[bool] = True

    log_prior: Floats
    points_by_class: tuple[ClassPoints, ...]
    radii: Floats
    kernel: Kernel

    def scores(self, x: Floats) -> Floats:
        """Return the scores of rows.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.

        Returns
        -------
        (m, K) float
            Minus infinity if the density of the class is zero; NaN for rows with missing values.
        """
        scores = np.empty((len(self.points_by_class), len(x)))
        for k, class_points in enumerate(self.points_by_class):
            scores[k] = self.log_prior[k] + self.log_density(k, class_points.coordinates(x))
        scores[:, np.isnan(x).any(axis=1)] = np.nan
        return scores.T

    def log_density(self, k: int, z: Floats) -> Floats:
        """Return the log density of a class, in the units of the data, at points.

        Parameters
        ----------
        k : int
            Position of the class.
        z : (p, m) float
            Coordinates of points in the metric of the class.

        Returns
        -------
        (m,) float
            Minus infinity if no kernel reaches the point.
        """
        class_points = self.points_by_class[k]
        log_densities = np.empty(z.shape[1])
        for chunk in row_chunks(z.shape[1], [class_points]):
            d2, rounding = class_points.squared_distances(z[:, chunk])
            radii = np.full((1, len(d2)), self.radii[k] * class_points.unit)
            remaining = _remaining_weights(class_points, d2, None, None)
            log_densities[chunk] = log_mean_kernels(self.kernel, d2, rounding, radii, *remaining)[0]
        log_densities += log_constant(self.kernel, len(z)) - 0.5 * class_points.logdet
        log_densities -= len(z) * np.log(self.radii[k] * class_points.unit)
        return log_densities


def marginal_kernel_rule(fit: KernelDensityFit, log_prior: Floats, method: str, keep: Codes) -> KernelRule:
    """Return the rule for a subset of the columns, for normal kernels.

    Marginals of normal kernels are normal kernels with the same radii.

    Parameters
    ----------
    fit : KernelDensityFit
        Fit to the rows.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    method : {"plugin"}
        Method of the posteriors; any other raises a NotSupportedError.
    keep : (q,) int
        Positions of the columns.

    Returns
    -------
    KernelRule
    """
    require_plugin_method(method, "is defined for normal classes")
    points_by_class = []
    for class_points in fit.points_by_class:
        covariance = marginal_covariance(class_points.covariance, keep)
        root = class_points.covariance.root
        unwhitened = (
            root[keep, None] * class_points.points[keep]
            if root.ndim == 1
            else root[:, keep].T @ class_points.points
        )
        points = covariance.whiten(unwhitened)
        centre = class_points.centre[keep]
        scale = class_points.scale[keep]
        points_by_class.append(
            replace(class_points, centre=centre, scale=scale, covariance=covariance, points=points)
        )
    return KernelRule(log_prior, tuple(points_by_class), fit.radii, fit.kernel)


def row_chunks(m: int, points_by_class: Sequence[ClassPoints]) -> Iterator[slice]:
    """Yield slices of m rows, each with at most `MAX_BLOCK_DISTANCES` distances from the largest class."""
    return slices(
        m,
        max(MAX_BLOCK_DISTANCES // max(class_points.points.shape[1] for class_points in points_by_class), 1),
    )


def log_mean_kernels(
    kernel: Kernel,
    d2: Floats,
    rounding: Floats,
    radii: Floats,
    weights: Floats,
    total: Floats,
    series: KernelSeries | None = None,
) -> Floats:
    """Return logs of the weighted means of unnormalized kernels over the rows of a class, for L radii.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    d2 : (m, n) float
        Squared distances, infinite for rows that are left out. Overwritten.
    rounding : (m,) float
        Bound of their rounding error.
    radii : (L, m) float
        L radii for which results are computed, by point, in the units of the distances.
    weights : (n,) or (m, n) float
        Weights of the rows of the class; by point if they differ.
    total : (m,) float
        Sum of the weights without rows that are left out.
    series : KernelSeries or None
        For normal kernels, if all points have the same radii. It is used if its `log_cutoff` is at least
        the one that `_log_cutoff` requires for these weights, instead of direct sums.

    Returns
    -------
    (L, m) float
        Minus infinity for points without remaining rows, or farther than the radius of a bounded kernel from
        all rows.
    """
    np.maximum(d2, 0.0, out=d2)
    nearest = np.fmin.reduce(d2, axis=1) if kernel == "normal" else np.zeros(len(d2))
    d2 -= np.where(nearest < np.inf, nearest, 0.0)[:, None]
    log_cutoff = _log_cutoff(d2.shape[1], weights)
    if series is not None and log_cutoff <= series.log_cutoff:
        sums = series.sums(d2, weights)
    else:
        sums = _direct_sums(kernel, d2, rounding, radii, weights, log_cutoff)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.log(sums) - np.log(total) - 0.5 * _in_squared_radii(nearest, radii)
    means[:, ~(total > 0)] = -np.inf
    return np.asarray(means)


def _log_cutoff(n: int, weights: Floats) -> float:
    """Return how far below the nearest row's log kernel the log kernels of n rows are negligible.

    It is `NEGLIGIBLE_LOG_RATIO` plus the log of n times the largest over the smallest positive weight.
    """
    min_weight = weights.min(where=weights > 0, initial=np.inf)
    return NEGLIGIBLE_LOG_RATIO + float(np.log(n * weights.max(initial=0.0) / min_weight))


def _direct_sums(
    kernel: Kernel, d2: Floats, rounding: Floats, radii: Floats, weights: Floats, log_cutoff: float
) -> Floats:
    """Return sums of weighted kernels, computed directly for one radius after the other.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    d2 : (m, n) float
        Squared distances, for normal kernels less the smallest of the point; overwritten.
    rounding : (m,) float
        Bound of their rounding error.
    radii : (L, m) float
        L radii for which results are computed, by point.
    weights : (n,) or (m, n) float
        Weights of the rows of the class; by point if they differ.
    log_cutoff : float
        Difference of logarithms below which a kernel is negligible.

    Returns
    -------
    (L, m) float
    """
    has_weights = bool((weights != 1).any())
    buffer = np.empty(d2.shape)
    sums = np.empty(radii.shape)
    if kernel == "normal":
        d2 *= -0.5
    for radius, out in zip(radii, sums, strict=True):
        values = _in_squared_radii(d2, radius[:, None], buffer)
        if kernel == "normal":
            # Exponentials that underflow to subnormal numbers are slow; clip negligible exponents.
            if values.min() < MIN_EXPONENT:
                np.maximum(values, -log_cutoff, out=values)
            np.exp(values, out=values)
        else:
            values = _bounded_kernel(
                BOUNDED_KERNEL_POWERS[kernel], values, _in_squared_radii(rounding, radius)
            )
        if has_weights:
            np.einsum("mn,mn->m", values, np.broadcast_to(weights, values.shape), out=out)
        else:
            values.sum(axis=1, out=out)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class KernelSeries:
    """Chebyshev series of normal kernels of several radii, piecewise in the squared distance.

    Attributes
    ----------
    radius : (1,) float
        Smallest of the L radii; squared distances are in units of its square.
    log_cutoff : float
        The error of a kernel is below exp(-log_cutoff).
    interval_centres, inverse_half_widths : (B,) float
        Midpoints of the intervals, and reciprocals of their half widths. In the last interval all kernels are
        negligible.
    coefficients : (Q, B, L) float
        Coefficients of powers of the position in an interval, from -1 to 1.
    """

    radius: Floats
    log_cutoff: float
    interval_centres: Floats
    inverse_half_widths: Floats
    coefficients: Floats

    @classmethod
    def from_radii(cls, radii: Floats, log_cutoff: float) -> KernelSeries | None:
        """Compute a series with an error below exp(-log_cutoff).

        Parameters
        ----------
        radii : (L,) float
            Radii of the kernels.
        log_cutoff : float
            Log of the reciprocal of the tolerated error.

        Returns
        -------
        KernelSeries or None
            None if it would require more than `MAX_SERIES_TERMS` terms, or intervals of squared distances up
            to `MAX_INTERVAL_START` in units of the smallest squared radius.
        """
        rates = 0.5 * (radii.min() / radii) ** 2
        n_terms = ceil(log_cutoff / log(4 * INTERVALS_PER_OCTAVE))
        with np.errstate(divide="ignore"):
            max_squared_distance = float(np.fmin(log_cutoff / rates.min(), MAX_INTERVAL_START))
        if n_terms > MAX_SERIES_TERMS or max_squared_distance == MAX_INTERVAL_START:
            return None
        first, last = _interval(np.array([1.0, max_squared_distance])).tolist()
        interval_ends = (np.arange(first, last + 2) << INTERVAL_BITS).view(np.float64)
        starts = np.append(0.0, interval_ends[:-1])
        half_widths = 0.5 * (interval_ends - starts)
        log_decreases = np.outer(starts, rates)
        orders = np.arange(n_terms)[:, None]
        is_relevant = log_decreases < log_cutoff
        bessel = scipy.special.ive(orders, np.outer(half_widths, rates)[is_relevant]) * np.exp(
            -log_decreases[is_relevant]
        )
        chebyshev = np.zeros((n_terms, len(interval_ends) + 1, len(radii)))
        chebyshev[:, :-1][:, is_relevant] = np.where(orders > 0, 2 * (-1.0) ** orders, 1) * bessel
        # Row q has the coefficients of powers in the Chebyshev polynomial of degree q.
        powers = np.eye(n_terms)
        for q in range(2, n_terms):
            powers[q] = 2 * np.roll(powers[q - 1], 1) - powers[q - 2]
        coefficients = np.tensordot(powers, chebyshev, (0, 0))
        interval_centres = np.append(starts + half_widths, interval_ends[-1])
        return cls(
            radii.min(keepdims=True),
            log_cutoff,
            interval_centres,
            np.append(1 / half_widths, 1.0),
            coefficients,
        )

    def sums(self, d2: Floats, weights: Floats) -> Floats:
        """Return the sums of weighted kernels for all L radii.

        Parameters
        ----------
        d2 : (m, n) float
            Squared distances less the smallest of the point, in the units of the squared radii.
        weights : (n,) or (m, n) float
            Weights of the rows of the class; by point if they differ.

        Returns
        -------
        (L, m) float
        """
        m = len(d2)
        n_intervals = len(self.interval_centres)
        u = _in_squared_radii(d2, self.radius)
        np.minimum(u, self.interval_centres[-1], out=u)
        # The distances of an interval are consecutive if they are sorted.
        if (weights == weights.flat[0]).all():
            u.sort(axis=1)
            power = np.full(u.size, weights.flat[0])
        else:
            order = np.argsort(u, axis=1)
            u = np.take_along_axis(u, order, axis=1)
            power = np.take_along_axis(np.broadcast_to(weights, u.shape), order, axis=1).ravel()
        interval = _interval(u)
        interval -= _interval(self.interval_centres[-1:]) - (n_intervals - 1)
        np.clip(interval, 0, n_intervals - 1, out=interval)
        interval += n_intervals * np.arange(m)[:, None]
        cells = interval.ravel()
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        counts = np.diff(starts, append=len(cells))
        row, interval_of_cell = np.divmod(cells[starts], n_intervals)
        positions = u.ravel()
        positions -= np.repeat(self.interval_centres[interval_of_cell], counts)
        positions *= np.repeat(self.inverse_half_widths[interval_of_cell], counts)
        occupied, column = np.unique(interval_of_cell, return_inverse=True)
        power_sums = np.zeros((m, len(occupied)))
        sums = np.zeros((m, self.coefficients.shape[2]))
        for power_coefficients in self.coefficients[:, occupied]:
            power_sums[row, column] = np.add.reduceat(power, starts)
            sums += power_sums @ power_coefficients
            power *= positions
        return sums.T


def _interval(u: Floats) -> NDArray[np.int64]:
    """Return the indices of the intervals of u >= 0, with INTERVALS_PER_OCTAVE per power of two."""
    return np.asarray(u.view(np.int64) >> INTERVAL_BITS)


def _in_squared_radii(d2: Floats, radius: Floats, out: Floats | None = None) -> Floats:
    """Return squared distances divided by the squared radius; broadcasts, and writes to `out` if given."""
    return np.asarray(np.multiply(d2, 1 / (radius * radius), out=out))


def _bounded_kernel(power: int, u: Floats, rounding: Floats) -> Floats:
    """Evaluate the unnormalized kernel (1 - u)^power for u below one, and zero for larger u.

    Parameters
    ----------
    power : int
        Power of 1 - u; 0 for the uniform kernel.
    u : (m, n) float
        Squared distances in units of the squared radius. Overwritten.
    rounding : (m,) float
        Bound of their rounding error.

    Returns
    -------
    (m, n) float or bool
        Bool for the uniform kernel.
    """
    if not power:
        # Rounding can place a row on the boundary slightly outside the radius.
        return np.asarray(u <= 1 + rounding[:, None])
    np.subtract(1.0, u, out=u)
    base = np.fmax(u, 0.0)
    values = base.copy()
    for _ in range(power - 1):
        values *= base
    return values


MIN_METRIC_RATIO = 1e-6
"""Smallest ratio of a metric without a row to the metric of all rows that is not attributed to rounding."""


class _Downdate(NamedTuple):
    """Change of the metric of a class when each of m rows is left out.

    Attributes
    ----------
    deviations : (p, m) float
        Deviations of the rows from the class mean, in the coordinates of the metric.
    factors : (m,) float
        The e of the module docstring, n / ((n - 1) f) for unit weights.
    df_ratio : (m,) float
        (f - 1) / f, the ratio of the degrees of freedom.
    """

    deviations: Floats
    factors: Floats
    df_ratio: Floats


def search_rows(fit: KernelDensityFit, codes: Codes) -> tuple[Codes, Codes]:
    """Select the rows that a choice of the bandwidth leaves out: all, or a sample by `sample_strata`.

    It is a sample of more than `MAX_SEARCH_PAIRS` pairs of rows. `codes` (n,) are the classes of the rows.
    """
    size = max(MAX_SEARCH_PAIRS / len(codes), MIN_SEARCH_ROWS)
    return sample_strata(fit.points_by_class, codes, size, min_class_rows(size, len(fit.points_by_class)))


def sample_strata(
    points_by_class: Sequence[ClassPoints], codes: Codes, size: float, min_rows: int
) -> tuple[Codes, Codes]:
    """Sample rows of which some are far from all others, such that the sample has these.

    Log-likelihoods and densities in sparse regions depend on the few rows far from all others. A quarter of
    the sample of each class therefore are the rows that are farthest from its mean; the others are random.

    Parameters
    ----------
    points_by_class : sequence of K ClassPoints
        Rows of each class, in their order.
    codes : (n,) int
        Classes of the rows.
    size : float
        Number of rows of the sample, apart from rounding.
    min_rows : int
        Smallest number of random rows of a class, or all of them.

    Returns
    -------
    positions : (m,) int
        Ascending positions of the sample; all rows if there are at most `size`.
    strata : (n,) int
        Stratum of each row: twice its class, plus one for the rows that are farthest from the mean.
    """
    n = len(codes)
    strata = 2 * codes
    if n <= size:
        return np.arange(n), strata
    for k, class_points in enumerate(points_by_class):
        squares = column_squares(class_points.points)
        n_farthest = ceil(0.25 * len(squares) * size / n)
        strata[np.flatnonzero(codes == k)[np.argsort(-squares, kind="stable")[:n_farthest]]] += 1
    is_farthest = strata % 2 == 1
    others = sample_of_classes(np.where(is_farthest, -1, codes), 0.75 * size, min_rows)
    return np.sort(np.concatenate([np.flatnonzero(is_farthest), others])), strata


def left_out_kernel_scores(
    fit: KernelDensityFit,
    radii: Floats,
    log_prior: Floats,
    x: Floats,
    codes: Codes,
    groups: Codes | None = None,
    positions: Codes | None = None,
) -> Iterator[tuple[Codes, Floats]]:
    """Yield the leave-one-out scores of the rows of a fit in blocks, class by class.

    At most one unit of the weight of a row is left out. Normal reference radii of its class are recomputed.

    Parameters
    ----------
    fit : KernelDensityFit
        Fit to the rows.
    radii : (L, K) float
        L bandwidths of each class, for each of which scores are computed.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    x : (n, p) float
        Rows of the design matrix.
    codes : (n,) int
        Classes of the rows.
    groups : (n,) int or None
        Rows with equal numbers, of any class, are left out together from the sums of kernels; None to leave
        out single rows.
    positions : (s,) int or None
        Ascending positions of the rows to score; None for all rows. Each is compared with all rows.

    Yields
    ------
    positions : (m,) int
        Positions of the rows of the block.
    scores : (L, m, K) float
        NaN in the classes whose metric without the row is singular up to rounding; the row needs a refit.
    """
    n_classes = len(fit.points_by_class)
    totals = np.array([float(class_points.weights.sum()) for class_points in fit.points_by_class])
    series_by_class = _choose_series(fit, radii, len(x))
    is_scored = np.ones(len(x), dtype=bool) if positions is None else np.isin(np.arange(len(x)), positions)
    for g, own_class in enumerate(fit.points_by_class):
        class_rows = np.flatnonzero(codes == g)
        scored_index = np.flatnonzero(is_scored[class_rows])
        left_out_weights = np.minimum(1.0, own_class.weights)
        df = totals.sum() - n_classes if fit.common else totals[g] - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations = own_class.points - (own_class.points @ own_class.weights / totals[g])[:, None]
            factors = left_out_weights * totals[g] / (totals[g] - left_out_weights) / df
            df_ratio = (df - left_out_weights) / df
        for scored_chunk in row_chunks(len(scored_index), fit.points_by_class):
            chunk = scored_index[scored_chunk]
            rows = class_rows[chunk]
            scores = np.empty((len(radii), len(rows), n_classes))
            for k, class_points in enumerate(fit.points_by_class):
                z = own_class.points[:, chunk] if k == g else class_points.coordinates(x[rows])
                metric_changes = fit.metric != "euclidean" and (fit.common or k == g)
                radius = np.repeat(radii[:, [k]] * class_points.unit, len(rows), axis=1)
                if fit.radius_rule == "normal" and k == g:
                    with np.errstate(divide="ignore"):
                        radius[:] = (
                            normal_reference_radii(fit.kernel, len(z), totals[g] - left_out_weights[chunk])
                            * class_points.unit
                        )
                downdate = (
                    _Downdate(deviations[:, chunk], factors[chunk], df_ratio[chunk])
                    if metric_changes
                    else None
                )
                own_rows = chunk if k == g else None
                is_equal = None if groups is None else groups[rows, None] == groups[codes == k]
                scores[:, :, k] = log_prior[k] + _left_out_log_density(
                    fit, class_points, z, radius, downdate, own_rows, is_equal, series_by_class[k]
                )
            yield rows, scores


def _choose_series(fit: KernelDensityFit, radii: Floats, n: int) -> list[KernelSeries | None]:
    """Return the series of the kernels of each class, or None if direct sums are faster.

    A series requires normal kernels with at least `MIN_SERIES_RADII` radii, which are equal in all classes,
    at least `MIN_SERIES_PAIRS` pairs of rows, and at least `MIN_SERIES_ROWS` rows in the class.

    Parameters
    ----------
    fit : KernelDensityFit
        Fit to the rows.
    radii : (L, K) float
        L radii for which results are computed, by class.
    n : int
        Number of rows that are scored.

    Returns
    -------
    list of K KernelSeries or None
        One entry for each class. All series are the same object.
    """
    series = None
    sizes = [class_points.points.shape[1] for class_points in fit.points_by_class]
    is_worthwhile = len(radii) >= MIN_SERIES_RADII and n**2 >= MIN_SERIES_PAIRS
    if fit.kernel == "normal" and is_worthwhile and (radii == radii[:, :1]).all():
        log_cutoff = max(
            _log_cutoff(size, class_points.weights)
            for size, class_points in zip(sizes, fit.points_by_class, strict=True)
        )
        series = KernelSeries.from_radii(radii[:, 0] * fit.points_by_class[0].unit, log_cutoff)
    return [series if size >= MIN_SERIES_ROWS else None for size in sizes]


def _left_out_log_density(
    fit: KernelDensityFit,
    class_points: ClassPoints,
    z: Floats,
    radii: Floats,
    downdate: _Downdate | None,
    own_rows: Codes | None,
    is_equal: Mask | None,
    series: KernelSeries | None,
) -> Floats:
    """Return log densities of a class at points, each without one row of the fit.

    Parameters
    ----------
    fit : KernelDensityFit
        Fit to the rows.
    class_points : ClassPoints
        The class.
    z : (p, m) float
        Coordinates of the points.
    radii : (L, m) float
        L radii for which results are computed, by point.
    downdate : _Downdate or None
        Change of the metric without each row; None if the metric does not change.
    own_rows : (m,) int or None
        Positions of the points among the rows of the class; None if they belong to another class.
    is_equal : (m, n) bool or None
        Rows of the class that are left out together with each point; None for the point itself only.
    series : KernelSeries or None
        Series of the kernels; None for direct sums.

    Returns
    -------
    (L, m) float
        NaN if the metric without the row is singular up to rounding; minus infinity if no row of the class
        remains or no kernel reaches the point.
    """
    p = len(z)
    logdet = np.full(z.shape[1], class_points.logdet)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d2, rounding = class_points.squared_distances(z)
        if downdate is not None and fit.metric == "diagonal":
            remaining_metric = 1 - downdate.factors * downdate.deviations**2
            ratios = downdate.df_ratio / np.where(
                remaining_metric > MIN_METRIC_RATIO, remaining_metric, np.nan
            )
            d2 = ratios.T @ class_points.points**2 - 2 * ((ratios * z).T @ class_points.points)
            d2 += np.einsum("ij,ij->j", ratios, z**2)[:, None]
            logdet -= np.log(ratios).sum(axis=0)
            rounding = rounding * ratios.max(axis=0)
        elif downdate is not None:
            remaining_metric = 1 - downdate.factors * column_squares(downdate.deviations)
            remaining_metric = np.where(
                (remaining_metric > MIN_METRIC_RATIO) & (downdate.df_ratio > 0), remaining_metric, np.nan
            )
            directions = np.sqrt(downdate.factors / remaining_metric) * downdate.deviations
            products = directions.T @ class_points.points
            products -= np.einsum("ij,ij->j", z, directions)[:, None]
            products *= products
            d2 += products
            d2 *= downdate.df_ratio[:, None]
            logdet += np.log(remaining_metric) - p * np.log(downdate.df_ratio)
            rounding = (
                rounding
                * downdate.df_ratio
                * (1 + downdate.factors / remaining_metric * column_squares(downdate.deviations))
            )
        means = log_mean_kernels(
            fit.kernel, d2, rounding, radii, *_remaining_weights(class_points, d2, own_rows, is_equal), series
        )
        logs = means + log_constant(fit.kernel, p) - p * np.log(radii) - 0.5 * logdet
    logs[:, np.isnan(logdet)] = np.nan
    return np.asarray(logs)


def _remaining_weights(
    class_points: ClassPoints, d2: Floats, own_rows: Codes | None, is_equal: Mask | None
) -> tuple[Floats, Floats]:
    """Return the weights of the rows of a class that remain for each point if rows are left out.

    One unit of weight of the point itself is left out if it belongs to the class, or all rows equal to it.

    Parameters
    ----------
    class_points : ClassPoints
        The class.
    d2 : (m, n) float
        Squared distances. They become infinite for rows that are left out, and zero between a point and
        itself if some of its weight remains.
    own_rows : (m,) int or None
        Positions of the points among the rows of the class.
    is_equal : (m, n) bool or None
        Rows that are left out together with each point.

    Returns
    -------
    weights : (n,) or (m, n) float
        Weights of the rows of the class; by point if some weight of a point itself remains.
    total : (m,) float
        Sum of the remaining weights.
    """
    weights = class_points.weights
    total = np.full(len(d2), class_points.weights.sum())
    if is_equal is not None:
        d2[is_equal] = np.inf
        return weights, total - is_equal @ weights
    if own_rows is not None:
        diagonal = (np.arange(len(d2)), own_rows)
        left_out_weights = np.minimum(1.0, weights[own_rows])
        remaining = weights[own_rows] - left_out_weights
        # The distance of a row from itself is zero, but rounding can make it positive.
        d2[diagonal] = np.where(remaining > 0, 0.0, np.inf)
        total -= left_out_weights
        if remaining.any():
            weights = np.tile(weights, (len(d2), 1))
            weights[diagonal] = remaining
    return weights, total


Metric = Literal["mahalanobis", "diagonal", "euclidean"]
"""Metrics of the kernels: by full covariances, by variances, or in the units of the data."""

Radii = Literal["given", "normal", "chosen"]
"""Origins of the bandwidths: from the user, by the normal reference rule, or by cross-validation."""


def required_moments_of_metric(metric: str, common: bool) -> ScatterType:
    """Return the second moments that a metric requires; `common` is whether classes share a covariance."""
    if metric != "mahalanobis":
        return "diagonal"
    return "pooled" if common else "class"


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensityFit(NoLikelihood):
    """Fitted kernel discriminant analysis: the rows of the classes with a bandwidth for each class.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions.
    kernel : str
        Name of the kernel.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        Metric of the distances.
    common : bool
        Whether the metric uses the pooled covariance and not the covariance of each class.
    radii : (K,) float
        Bandwidths of the classes, as distances in the metric.
    radius_rule : {"given", "normal", "chosen"}
        Whether the bandwidths are set by the user, by the normal reference rule, or by cross-validation.
    points_by_class : tuple of K ClassPoints
        Rows of each class with its metric.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    kernel: Kernel
    metric: Metric
    common: bool
    radii: Floats
    radius_rule: Radii
    points_by_class: tuple[ClassPoints, ...]

    has_distances = False
    no_likelihood = "no_likelihood_of_kernel_density"
    no_parameters = "no_parameters_of_kernel_density"

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> KernelRule:
        """Return the rule under a log prior (K,).

        Any `method` except "plugin" raises a NotSupportedError; `convention` is ignored.
        """
        require_plugin_method(method, "is defined for normal classes")
        return KernelRule(log_prior, self.points_by_class, self.radii, self.kernel)

    def of_classes(self, keep: Codes) -> KernelDensityFit:
        """Return a copy with the bandwidths of the classes at positions (C,) only, for a refit to them.

        The other fields still are of all classes.
        """
        return replace(self, radii=self.radii[keep])

    def sampled(self, size: int, min_rows: int) -> KernelDensityFit:
        """Return a copy with kernels at a sample of about `size` rows, with the total weight of all rows.

        The sample is that of `sample_strata`; metric and bandwidths stay the same. The result is `self` if
        there are at most `size` rows.
        """
        codes = np.repeat(np.arange(len(self.prior)), [len(rows.weights) for rows in self.points_by_class])
        if len(codes) <= size:
            return self
        positions, strata = sample_strata(self.points_by_class, codes, size, min_rows)
        weights = np.concatenate([class_points.weights for class_points in self.points_by_class])
        totals, counts = (
            np.bincount(strata[rows], weights[rows], 2 * len(self.prior)) for rows in (slice(None), positions)
        )
        starts = np.searchsorted(codes, np.arange(len(self.prior)))
        points_by_class = []
        for k, class_points in enumerate(self.points_by_class):
            rows = positions[codes[positions] == k]
            points_by_class.append(
                replace(
                    class_points,
                    points=class_points.points[:, rows - starts[k]],
                    weights=weights[rows] * totals[strata[rows]] / counts[strata[rows]],
                )
            )
        return replace(self, points_by_class=tuple(points_by_class))

    def with_radii(self, radii: Floats, rule: Radii) -> KernelDensityFit:
        """Return the same fit with other bandwidths (K,); `rule` is its new `radius_rule`."""
        return replace(self, radii=radii, radius_rule=rule)

    def normal_radii(self) -> Floats:
        """Return the bandwidths (K,) by the normal reference rule, for a metric of unit covariances."""
        return normal_reference_radii(self.kernel, self.moments.n_columns, self.moments.counts)

    def typical_deviation(self) -> float:
        """Return the root mean square of the within-class standard deviations, by which radii are scaled.

        In the metric "euclidean" it is in the units of the data, and one if all columns are constant within
        classes; in the other metrics it is one.
        """
        if self.metric != "euclidean":
            return 1.0
        df = max(self.moments.total - self.moments.n_classes, 1.0)
        sd = np.sqrt(self.moments.squares.sum(axis=0) / df) / self.moments.scale
        max_sd = float(sd.max())
        return max_sd * float(np.sqrt(np.mean((sd / max_sd) ** 2))) if max_sd > 0 else 1.0

    def refit(self, x: Floats, codes: Codes, weights: Floats | None) -> KernelDensityFit | None:
        """Fit the same model to other rows of the same classes.

        Bandwidths by the normal reference rule are recomputed, others stay.

        Parameters
        ----------
        x : (n, p) float
            Rows of the design matrix.
        codes : (n,) int
            Classes of the rows.
        weights : (n,) float or None
            Weights of the rows; None for ones.

        Returns
        -------
        KernelDensityFit or None
            None if a class is without rows of positive weight, or a covariance of the metric is singular.
        """
        shape = {"n_classes": len(self.prior), "n_columns": x.shape[1]}
        moments = gather([(x, codes, weights)], **shape, required_moments="diagonal")
        required_moments = required_moments_of_metric(self.metric, self.common)
        within = (
            moments
            if required_moments == "diagonal"
            else gather([(x, codes, weights)], **shape, required_moments=required_moments)
        )
        if (moments.rows < 1).any() or find_singular_metrics(within, self.metric, self.common):
            return None
        options: dict[str, Any] = {"kernel": self.kernel, "metric": self.metric, "common": self.common}
        fit = fit_kernel_density(moments, within, x, codes, weights, self.prior, **options)
        fit = replace(fit, estimated_prior=self.estimated_prior)
        if self.radius_rule == "normal":
            return fit
        return fit.with_radii(self.radii, self.radius_rule)

    def leave_one_out_scores(
        self, log_prior: Floats, x: Floats, codes: Codes, positions: Codes | None = None
    ) -> Floats:
        """Return the leave-one-out scores of the rows of the fit.

        Parameters
        ----------
        log_prior : (K,) float
            Log prior probabilities of the classes.
        x : (n, p) float
            Rows of the fit.
        codes : (n,) int
            Classes of the rows.
        positions : (m,) int or None
            Ascending positions of the rows to score; None for all rows.

        Returns
        -------
        (m, K) float
            NaN for rows that require a refit.
        """
        all_scores = np.empty((len(x), len(self.points_by_class)))
        for rows, scores in left_out_kernel_scores(
            self, self.radii[None], log_prior, x, codes, positions=positions
        ):
            all_scores[rows] = scores[0]
        return all_scores if positions is None else all_scores[positions]

    def min_radii(self) -> Floats:
        """Return the smallest supported bandwidths (K,), the `ClassPoints.resolution` of each class."""
        return np.array([class_points.resolution for class_points in self.points_by_class])

    def validate(self) -> None:
        """Raise InvalidStateError if parts of a stored fit contradict each other.

        Each class must have one bandwidth and one ClassPoints, with at least one row; its arrays must
        match in length and its covariance the metric; weights, scales and units must be positive, and
        bandwidths at least `min_radii`.
        """
        if len(self.points_by_class) != len(self.prior) or self.radii.shape != self.prior.shape:
            raise InvalidStateError("its rows or its bandwidths do not match its classes")
        p = self.moments.n_columns
        for class_points in self.points_by_class:
            root = class_points.covariance.root
            n = len(class_points.weights)
            shapes = class_points.centre.shape, class_points.scale.shape, class_points.points.shape
            if shapes != ((p,), (p,), (p, n)) or not n or class_points.weights.ndim != 1:
                raise InvalidStateError("the arrays of a class differ in length")
            if root.shape != ((p, p) if self.metric == "mahalanobis" else (p,)):
                raise InvalidStateError("its covariance does not match its metric")
            if not (
                (class_points.weights > 0).all() and (class_points.scale > 0).all() and class_points.unit > 0
            ):
                raise InvalidStateError("a weight or a scale is not positive")
        if not ((self.radii > 0).all() and (self.radii >= self.min_radii()).all()):
            raise InvalidStateError("a bandwidth is smaller than the rounding error of distances")


def find_singular_metrics(
    moments: ClassMoments, metric: str, common: bool
) -> list[tuple[int | None, tuple[int, ...]]]:
    """Find the covariances that are singular, and therefore do not define the metric of the kernels.

    Parameters
    ----------
    moments : ClassMoments
        Moments with the scatter that the metric requires: diagonal unless it is "mahalanobis", then pooled if
        `common` and otherwise by class.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        By full covariances, by variances, or in the units of the data; "euclidean" is never singular.
    common : bool
        Whether the metric uses the pooled covariance instead of one covariance for each class.

    Returns
    -------
    list of (int or None, tuple of int)
        For each singular covariance the position of its class, or None for the pooled covariance, and the
        positions of the columns that are constant or linearly dependent on earlier columns; an empty tuple if
        the degrees of freedom are not positive. An empty list if all covariances are regular.
    """
    if metric == "euclidean":
        return []
    df_by_class = [moments.total - moments.n_classes] if common else (moments.counts - 1).tolist()
    collinear: list[tuple[int | None, tuple[int, ...]]] = []
    for c, df in enumerate(df_by_class):
        k = None if common else c
        if df <= 0:
            collinear.append((k, ()))
        elif dependent := dependencies(moments, k, diagonal=metric == "diagonal"):
            collinear.append((k, tuple(dependency.column for dependency in dependent)))
    return collinear


def fit_kernel_density(
    moments: ClassMoments,
    within: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    prior: Floats,
    *,
    kernel: Kernel,
    metric: Metric,
    common: bool,
    estimated_prior: bool = True,
) -> KernelDensityFit:
    """Fit a kernel discriminant analysis with bandwidths by the normal reference rule.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the rows.
    within : ClassMoments
        Moments with the scatter that the metric requires: diagonal unless it is "mahalanobis", then pooled if
        `common` and otherwise by class. The covariances must not be singular.
    x : (n, p) float
        Rows of the design matrix.
    codes : (n,) int
        Classes of the rows.
    weights : (n,) float or None
        Weights of the rows; None for ones.
    prior : (K,) float
        Prior probabilities of the classes.
    kernel : str
        Name of the kernel.
    metric : {"mahalanobis", "diagonal", "euclidean"}
        Metric of the distances.
    common : bool
        Whether the metric uses the pooled covariance.
    estimated_prior : bool, default True
        Whether the prior is the class proportions.

    Returns
    -------
    KernelDensityFit
        With the `radius_rule` "normal".
    """
    k = moments.n_classes
    p = moments.n_columns
    diagonal = metric == "diagonal"
    scale = within.scale
    unit = 1.0
    if metric == "euclidean":
        # Scaling all columns by one power of two changes neither relative distances nor digits.
        max_value = np.abs(x).max()
        if max_value > 0 and not 1 / MAX_UNSCALED_VALUE <= max_value <= MAX_UNSCALED_VALUE:
            unit = float(2.0 ** -np.round(np.log2(max_value)))
        scale = np.full(p, unit)
        covariances = (Covariance.from_root(np.ones(p)),) * k
    elif common:
        covariances = (pooled_covariance(within, within.total - k, diagonal=diagonal),) * k
    else:
        covariances = class_covariances(within, within.counts - 1, diagonal=diagonal)
    w = np.ones(len(x)) if weights is None else weights
    points_by_class = []
    for c, covariance in enumerate(covariances):
        rows = codes == c
        class_points = ClassPoints(moments.centres[c], scale, covariance, np.empty((p, 0)), w[rows], unit)
        points_by_class.append(replace(class_points, points=class_points.coordinates(x[rows])))
    fit = KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, np.ones(k), "normal", tuple(points_by_class)
    )
    return replace(fit, radii=fit.normal_radii())
