"""The numbers of discriminant analysis by kernel densities: kernels about the rows, in several columns.

Theory (Parzen, 1962, Annals of Mathematical Statistics 33, 1065-1076; Silverman, 1986, Density Estimation,
ch. 4; SAS/STAT User's Guide, The DISCRIM Procedure, nonparametric methods). With the covariance V of a metric
and a radius r, the density of class k is f_k(x) = sum_j w_j K(d_j^2 / r^2) / (n_k r^p |V|^(1/2)), d_j the
distance of x from row j in the metric. The kernels are exp(-u/2) and, of u below one, 1, 1 - u, (1 - u)^2 and
(1 - u)^3, each over its integral. Distances are about the mean of each class, so that no digit is lost to how
far classes lie from each other or from zero.

*A row left out* leaves its own kernel, and the covariance of the metric too. With d the deviation of the row
from the mean of its class, of n rows, and f degrees of freedom, the covariance V becomes (f V - c dd') / (f -
1) without the row, c = n / (n - 1). By Sherman and Morrison's formula the squared distance between the row
and another, D2 under V, is then (f - 1)/f (D2 + e t^2 / (1 - e q)) with e = c / f, t the product of their
difference with d and q that of d with itself, both under V^-1. In coordinates that V makes Euclidean these
are products of columns. Where 1 - e q is next to nothing the row is left to a refit.

Where a bandwidth is to be chosen, all rows that are equal to a row leave their kernels with it. Kernels of no
radius about its copies would give it any density, however large, and rounded or repeated values have many
copies: the choice would say how the values were written down (Silverman, 1986, Density Estimation, sec. 3.4).

*Many radii* of normal kernels share what takes time. At the squared distances u = c + h x of an interval, x
from -1 to 1, the kernels of all rates s = 1 / (2 r^2) are series in the same Chebyshev polynomials,

    exp(-s u) = exp(-s c) (I_0(s h) + 2 sum_q (-1)^q I_q(s h) T_q(x)),

with modified Bessel functions I_q (Abramowitz & Stegun, 1964, 9.6.34). So sums of powers of x, taken once of
each interval, give the sums of kernels of every radius by one product. In intervals [a, (1 + g) a], what is
left after Q terms is at most (g/4)^Q at any rate, by I_q(z) <= (z/2)^q exp(z) / q!. The nearest row's kernel
is one, as distances are taken from its own: an error of so much in each kernel is as much of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, lgamma, log, pi
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS, Covariance, dependencies, pooled, separate
from discrim.core.covariance.principal import of_columns
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, column_squares, gather, standard_columns
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.rules.rules import NoLikelihood, refuse_method

Kernel = Literal["normal", "epanechnikov", "biweight", "triweight", "uniform"]

KERNELS: dict[str, int] = {"uniform": 0, "epanechnikov": 1, "biweight": 2, "triweight": 3}
"""Powers of 1 - u, of the kernels that end at the radius."""

AT_ONCE = 2**16
"""Distances that are worked on at once: in the processor's cache they cost less than their exponentials."""

LARGEST_VALUE = 1e48
"""Size of values, or of one over them, beyond which columns are brought near one by a power of two."""

REACH = 37.0
LEAST_EXPONENT = -700.0
"""By how much the logarithm of all kernels that are left out lies below that of the nearest row's, which is
half its rounding; and the exponent of numbers that are still normal."""

PARTS = 4
STEP = 50
"""Intervals of a series for each power of two, and the bits of a double that tell places within them."""

MOST_TERMS = 24
LONGEST = 2.0**60
"""Of a series, whose coefficients would else lose digits, and where its last interval may begin."""

FEW_RADII = 8
FEW_ROWS = 64
FEW_PAIRS = 2**16
"""Radii, rows of a class, and pairs of rows below which kernels one by one take less time than series."""


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
        roughness = -0.5 * p * log(4 * pi)
        variance = 1.0
    else:
        power = KERNELS[kernel]
        squared = (
            _log_ball(p) + lgamma(0.5 * p + 1) + lgamma(2.0 * power + 1) - lgamma(0.5 * p + 2 * power + 1)
        )
        roughness = squared + 2 * log_constant(kernel, p)
        variance = 1.0 / (p + 2 + 2 * power)
    top = log(p) + roughness + p * log(2 * pi**0.5) - log(0.5 * p + 0.25 * p**2) - 2 * log(variance)
    return np.asarray(np.exp((top - np.log(counts)) / (p + 4)))


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The rows of one class, points (p, n) in coordinates in which its metric is Euclidean.

    These are about the mean of the class (p,). The covariance of the metric is in units of the scale (p,); a
    radius times the unit is in those of the coordinates.
    """

    centre: Floats
    scale: Floats
    covariance: Covariance
    points: Floats
    weights: Floats
    unit: float = 1.0

    def coordinates(self, x: Floats) -> Floats:
        """Those (p, m) of rows x (m, p)."""
        return self.covariance.whiten(standard_columns(x, self.centre, self.scale))

    def squared(self, z: Floats) -> tuple[Floats, Floats]:
        """Squared distances (m, n) of coordinates z (p, m) from the rows, and their rounding (m,)."""
        squares = column_squares(self.points)
        lengths = column_squares(z)
        d2 = z.T @ self.points
        d2 *= -2
        d2 += squares
        d2 += lengths[:, None]
        return d2, 8 * EPS * (lengths + squares.max(initial=0.0))

    @property
    def resolution(self) -> float:
        """Distance between rows of the class below which rounding may have made it."""
        return 4 * float(np.sqrt(EPS * column_squares(self.points).max(initial=0.0))) / self.unit

    @property
    def logdet(self) -> float:
        """Log-determinant of the metric in the units of the data."""
        return self.covariance.logdet - 2 * float(np.log(self.scale).sum())


@dataclass(frozen=True, slots=True, eq=False)
class KernelRule:
    """Scores ln prior_k + ln f_k(x), of kernels with radii (K,); a row may be impossible in every class."""

    has_ends: ClassVar[bool] = True

    log_prior: Floats
    places: tuple[Places, ...]
    radii: Floats
    kernel: Kernel

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p); minus infinity where no kernel of the class reaches."""
        scores = np.empty((len(self.places), len(x)))
        for k, place in enumerate(self.places):
            scores[k] = self.log_prior[k] + self.log_density(k, place.coordinates(x))
        scores[:, np.isnan(x).any(axis=1)] = np.nan
        return scores.T

    def log_density(self, k: int, z: Floats) -> Floats:
        """Log densities (m,) of class k at coordinates z (p, m)."""
        place = self.places[k]
        out = np.empty(z.shape[1])
        for part in pieces(z.shape[1], [place]):
            d2, edge = place.squared(z[:, part])
            radii = np.full((1, len(d2)), self.radii[k] * place.unit)
            left = _left(place, d2, None, None)
            out[part] = log_means(self.kernel, d2, edge, radii, *left)[0]
        out += log_constant(self.kernel, len(z)) - 0.5 * place.logdet
        out -= len(z) * np.log(self.radii[k] * place.unit)
        return out


def kernel_marginal(fit: KernelDensityFit, log_prior: Floats, method: str, keep: Codes) -> KernelRule:
    """The rule of some columns (q,) of normal kernels: they are normal there too, with the same radii."""
    refuse_method(method, "is defined for normal classes")
    places = []
    for place in fit.places:
        covariance = of_columns(place.covariance, keep)
        root = place.covariance.root
        own = root[keep, None] * place.points[keep] if root.ndim == 1 else root[:, keep].T @ place.points
        points = covariance.whiten(own)
        centre = place.centre[keep]
        scale = place.scale[keep]
        places.append(replace(place, centre=centre, scale=scale, covariance=covariance, points=points))
    return KernelRule(log_prior, tuple(places), fit.radii, fit.kernel)


def pieces(m: int, places: Sequence[Places]) -> Iterator[slice]:
    """Some of m rows at a time, whose distances from those of a class are worked on at once."""
    return slices(m, max(AT_ONCE // max(place.points.shape[1] for place in places), 1))


def log_means(
    kernel: Kernel,
    d2: Floats,
    edge: Floats,
    radii: Floats,
    weights: Floats,
    total: Floats,
    series: KernelSeries | None = None,
) -> Floats:
    """Logarithms (L, m) of the mean kernel over the rows of a class, without what a kernel is multiplied by.

    Squared distances (m, n), which are written over, are known to `edge` (m,); rows that are left out are
    infinitely far. The radii are (L, m), the weights (n,) or (m, n), and their sum without what is left out
    is (m,). Normal kernels may have a series, which is of the same radii for all rows.
    """
    np.maximum(d2, 0.0, out=d2)
    nearest = np.fmin.reduce(d2, axis=1) if kernel == "normal" else np.zeros(len(d2))
    d2 -= np.where(nearest < np.inf, nearest, 0.0)[:, None]
    far = _far(d2.shape[1], weights)
    if series is not None and far <= series.far:
        sums = series.sums(d2, weights)
    else:
        sums = _sums(kernel, d2, edge, radii, weights, far)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.log(sums) - np.log(total) - 0.5 * _in_radii(nearest, radii)
    means[:, ~(total > 0)] = -np.inf
    return np.asarray(means)


def _far(n: int, weights: Floats) -> float:
    """By how much the logarithms of kernels lie below the nearest row's, where n of them are left out."""
    least = weights.min(where=weights > 0, initial=np.inf)
    return REACH + float(np.log(n * weights.max(initial=0.0) / least))


def _sums(kernel: Kernel, d2: Floats, edge: Floats, radii: Floats, weights: Floats, far: float) -> Floats:
    """Sums (L, m) of weighted kernels at squared distances (m, n), the kernels of one radius at a time."""
    weighed = bool((weights != 1).any())
    work = np.empty(d2.shape)
    sums = np.empty(radii.shape)
    if kernel == "normal":
        d2 *= -0.5
    for radius, out in zip(radii, sums, strict=True):
        values = _in_radii(d2, radius[:, None], work)
        if kernel == "normal":
            # What is too small to count takes long where it is no normal number.
            if values.min() < LEAST_EXPONENT:
                np.maximum(values, -far, out=values)
            np.exp(values, out=values)
        else:
            values = _ending_kernel(KERNELS[kernel], values, _in_radii(edge, radius))
        if weighed:
            np.einsum("mn,mn->m", values, np.broadcast_to(weights, values.shape), out=out)
        else:
            values.sum(axis=1, out=out)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class KernelSeries:
    """Normal kernels of several radii (L,) as polynomials within intervals of the squared distance.

    Squared distances are in units of the least radius's square. Intervals have middles (B,) and halves, of
    which these are the inverses (B,); the last begins beyond the reach of every kernel. The coefficients
    (Q, B, L) are of powers of the place within an interval, from -1 to 1.
    """

    radius: Floats
    far: float
    middles: Floats
    inverses: Floats
    coefficients: Floats

    @classmethod
    def of(cls, radii: Floats, far: float) -> KernelSeries | None:
        """What loses less than exp(-far) of any kernel; None where that takes too many terms or intervals."""
        rates = 0.5 * (radii.min() / radii) ** 2
        n_terms = ceil(far / log(4 * PARTS))
        with np.errstate(divide="ignore"):
            reach = float(np.fmin(far / rates.min(), LONGEST))
        if n_terms > MOST_TERMS or reach == LONGEST:
            return None
        first, last = _interval(np.array([1.0, reach])).tolist()
        ends = (np.arange(first, last + 2) << STEP).view(np.float64)
        starts = np.append(0.0, ends[:-1])
        halves = 0.5 * (ends - starts)
        lost = np.outer(starts, rates)
        orders = np.arange(n_terms)[:, None]
        within = lost < far
        bessel = scipy.special.ive(orders, np.outer(halves, rates)[within]) * np.exp(-lost[within])
        chebyshev = np.zeros((n_terms, len(ends) + 1, len(radii)))
        chebyshev[:, :-1][:, within] = np.where(orders > 0, 2 * (-1.0) ** orders, 1) * bessel
        # Row q has the coefficients of powers in the Chebyshev polynomial of degree q.
        powers = np.eye(n_terms)
        for q in range(2, n_terms):
            powers[q] = 2 * np.roll(powers[q - 1], 1) - powers[q - 2]
        coefficients = np.tensordot(powers, chebyshev, (0, 0))
        middles = np.append(starts + halves, ends[-1])
        return cls(radii.min(keepdims=True), far, middles, np.append(1 / halves, 1.0), coefficients)

    def sums(self, d2: Floats, weights: Floats) -> Floats:
        """Sums (L, m) of weighted kernels at squared distances (m, n)."""
        m = len(d2)
        size = len(self.middles)
        u = _in_radii(d2, self.radius)
        np.minimum(u, self.middles[-1], out=u)
        interval = _interval(u)
        interval -= _interval(self.middles[-1:]) - (size - 1)
        np.clip(interval, 0, size - 1, out=interval)
        u -= self.middles[interval]
        u *= self.inverses[interval]
        interval += size * np.arange(m)[:, None]
        cells = interval.ravel()
        place = u.ravel()
        power = np.broadcast_to(weights, d2.shape).flatten()
        sums = np.zeros((m, self.coefficients.shape[2]))
        for of_power in self.coefficients:
            sums += np.bincount(cells, power, m * size).reshape(m, size) @ of_power
            power *= place
        return sums.T


def _interval(u: Floats) -> NDArray[np.int64]:
    """Numbers of the intervals of u >= 0, of which each power of two begins PARTS equal ones."""
    return np.asarray(u.view(np.int64) >> STEP)


def _in_radii(d2: Floats, radius: Floats, out: Floats | None = None) -> Floats:
    """Squared distances over the square of a radius."""
    return np.asarray(np.multiply(d2, 1 / (radius * radius), out=out))


def _ending_kernel(power: int, u: Floats, edge: Floats) -> Floats:
    """A power of 1 - u, at squares u (m, n) in units of the radius that are known to `edge` (m,)."""
    if not power:
        # Rounding may put a row a little beyond the radius on which it lies.
        return np.asarray(u <= 1 + edge[:, None])
    np.subtract(1.0, u, out=u)
    base = np.fmax(u, 0.0)
    values = base.copy()
    for _ in range(power - 1):
        values *= base
    return values


LEAST_METRIC = 1e-6
"""Of a metric without a row, over that of all rows, what is too little to be told from rounding."""


class _Downdate(NamedTuple):
    """What a metric is without each of some rows of a class, given by their deviations (p, m) from its mean.

    These are in the coordinates of the metric; `share` (m,) is e and `left` (m,) is (f - 1) / f of each row.
    """

    deviations: Floats
    share: Floats
    left: Floats


def left_out_kernel_scores(
    fit: KernelDensityFit,
    radii: Floats,
    log_prior: Floats,
    x: Floats,
    codes: Codes,
    groups: Codes | None = None,
) -> Iterator[tuple[Codes, Floats]]:
    """Positions (m,) of some rows x (n, p) of the fit at a time, and their scores (L, m, K) at radii (L, K).

    The scores are those without the row itself, and missing where a refit is needed. Rows of the same number
    among groups (n,) leave their kernels together, of whatever class they are.
    """
    n_classes = len(fit.places)
    totals = np.array([float(place.weights.sum()) for place in fit.places])
    series_by_class = _series(fit, radii, len(x))
    for g, of_rows in enumerate(fit.places):
        at = np.flatnonzero(codes == g)
        unit = np.minimum(1.0, of_rows.weights)
        free = totals.sum() - n_classes if fit.common else totals[g] - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations = of_rows.points - (of_rows.points @ of_rows.weights / totals[g])[:, None]
            share = unit * totals[g] / (totals[g] - unit) / free
            left = (free - unit) / free
        for part in pieces(len(at), fit.places):
            rows = at[part]
            scores = np.empty((len(radii), len(at[part]), n_classes))
            for k, place in enumerate(fit.places):
                z = of_rows.points[:, part] if k == g else place.coordinates(x[rows])
                changed = fit.metric != "euclidean" and (fit.common or k == g)
                radius = np.repeat(radii[:, [k]] * place.unit, len(rows), axis=1)
                if fit.rule_of_radii == "normal" and k == g:
                    with np.errstate(divide="ignore"):
                        radius[:] = normal_radius(fit.kernel, len(z), totals[g] - unit[part]) * place.unit
                without = _Downdate(deviations[:, part], share[part], left[part]) if changed else None
                own = part if k == g else None
                equal = None if groups is None else groups[rows, None] == groups[codes == k]
                scores[:, :, k] = log_prior[k] + _density(
                    fit, place, z, radius, without, own, equal, series_by_class[k]
                )
            yield rows, scores


def _series(fit: KernelDensityFit, radii: Floats, n: int) -> list[KernelSeries | None]:
    """Of the kernels of each class, at radii (L, K), where n rows are scored and kernels take longer."""
    series = None
    sizes = [place.points.shape[1] for place in fit.places]
    many = len(radii) >= FEW_RADII and n**2 >= FEW_PAIRS
    if fit.kernel == "normal" and many and (radii == radii[:, :1]).all():
        far = max(_far(size, place.weights) for size, place in zip(sizes, fit.places, strict=True))
        series = KernelSeries.of(radii[:, 0] * fit.places[0].unit, far)
    return [series if size >= FEW_ROWS else None for size in sizes]


def _density(
    fit: KernelDensityFit,
    place: Places,
    z: Floats,
    radii: Floats,
    rows: _Downdate | None,
    own: slice | None,
    equal: Mask | None,
    series: KernelSeries | None,
) -> Floats:
    """Log densities (L, m) of a class at coordinates z (p, m) by radii (L, m), without each of the rows."""
    p = len(z)
    logdet = np.full(z.shape[1], place.logdet)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d2, edge = place.squared(z)
        if rows is not None and fit.metric == "diagonal":
            without = 1 - rows.share * rows.deviations**2
            ratios = rows.left / np.where(without > LEAST_METRIC, without, np.nan)
            d2 = ratios.T @ place.points**2 - 2 * ((ratios * z).T @ place.points)
            d2 += np.einsum("ij,ij->j", ratios, z**2)[:, None]
            logdet -= np.log(ratios).sum(axis=0)
            edge = edge * ratios.max(axis=0)
        elif rows is not None:
            without = 1 - rows.share * column_squares(rows.deviations)
            without = np.where((without > LEAST_METRIC) & (rows.left > 0), without, np.nan)
            across = rows.deviations.T @ place.points
            across -= np.einsum("ij,ij->j", z, rows.deviations)[:, None]
            across *= across
            across *= (rows.share / without)[:, None]
            d2 += across
            d2 *= rows.left[:, None]
            logdet += np.log(without) - p * np.log(rows.left)
            edge = edge * rows.left * (1 + rows.share / without * column_squares(rows.deviations))
        means = log_means(fit.kernel, d2, edge, radii, *_left(place, d2, own, equal), series)
        logs = means + log_constant(fit.kernel, p) - p * np.log(radii) - 0.5 * logdet
    logs[:, np.isnan(logdet)] = np.nan
    return np.asarray(logs)


def _left(place: Places, d2: Floats, own: slice | None, equal: Mask | None) -> tuple[Floats, Floats]:
    """Weights (n,) or (m, n) of a class's rows that stay where each of some rows leaves, and their sum (m,).

    What leaves is a unit of weight of the row where it is of the class, or in its place all rows that are
    equal (m, n). Their squared distances (m, n) become infinite, or zero where some weight stays.
    """
    weights = place.weights
    total = np.full(len(d2), place.weights.sum())
    if equal is not None:
        d2[equal] = np.inf
        return weights, total - equal @ weights
    if own is not None:
        places = (np.arange(len(d2)), np.arange(own.start, own.stop))
        unit = np.minimum(1.0, weights[own])
        rest = weights[own] - unit
        # The distance of a row from itself is none, whatever rounding made of it.
        d2[places] = np.where(rest > 0, 0.0, np.inf)
        total -= unit
        if rest.any():
            weights = np.tile(weights, (len(d2), 1))
            weights[places] = rest
    return weights, total


Metric = Literal["mahalanobis", "diagonal", "euclidean"]
Radii = Literal["given", "normal", "chosen"]


def metric_spread(metric: str, common: bool) -> Spread:
    """What a metric needs of the moments."""
    if metric != "mahalanobis":
        return "diagonal"
    return "pooled" if common else "class"


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensityFit(NoLikelihood):
    """Rows with their classes, and the kernels about them with bandwidths, radii (K,), by some rule.

    The metric is common where it is that of the pooled covariance, and not of each class's own.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    kernel: Kernel
    metric: Metric
    common: bool
    radii: Floats
    rule_of_radii: Radii
    places: tuple[Places, ...]

    has_distances = False
    no_likelihood = "no_likelihood_of_kernel_density"
    no_parameters = "no_parameters_of_kernel_density"

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> KernelRule:
        """The rule under a prior (K,)."""
        refuse_method(method, "is defined for normal classes")
        return KernelRule(log_prior, self.places, self.radii, self.kernel)

    def of_classes(self, keep: Codes) -> KernelDensityFit:
        """The options of some classes (C,)."""
        return replace(self, radii=self.radii[keep])

    def with_radii(self, radii: Floats, rule: Radii) -> KernelDensityFit:
        """The same rows and other bandwidths."""
        return replace(self, radii=radii, rule_of_radii=rule)

    def normal_radii(self) -> Floats:
        """Bandwidths (K,) that are best for normal classes of as many rows."""
        return normal_radius(self.kernel, self.moments.n_columns, self.moments.counts)

    def typical_deviation(self) -> float:
        """Root mean square of the columns' standard deviations within classes, in the metric."""
        if self.metric != "euclidean":
            return 1.0
        free = max(self.moments.total - self.moments.n_classes, 1.0)
        sd = np.sqrt(self.moments.squares.sum(axis=0) / free) / self.moments.scale
        largest = float(sd.max())
        return largest * float(np.sqrt(np.mean((sd / largest) ** 2))) if largest > 0 else 1.0

    def refit(self, x: Floats, codes: Codes, weights: Floats | None) -> KernelDensityFit | None:
        """The same of other rows, bandwidths by the normal rule anew; None where the metric is singular."""
        shape = {"n_classes": len(self.prior), "n_columns": x.shape[1]}
        moments = gather([(x, codes, weights)], **shape, spread="diagonal")
        spread = metric_spread(self.metric, self.common)
        within = moments if spread == "diagonal" else gather([(x, codes, weights)], **shape, spread=spread)
        if (moments.rows < 1).any() or singular(within, self.metric, self.common):
            return None
        options: dict[str, Any] = {"kernel": self.kernel, "metric": self.metric, "common": self.common}
        fit = fit_kernel_density(moments, within, x, codes, weights, self.prior, **options)
        fit = replace(fit, estimated_prior=self.estimated_prior)
        if self.rule_of_radii == "normal":
            return fit
        return fit.with_radii(self.radii, self.rule_of_radii)

    def left_out(self, log_prior: Floats, x: Floats, codes: Codes) -> Floats:
        """Scores (n, K) of the rows x (n, p) of the fit, each without itself."""
        out = np.empty((len(x), len(self.places)))
        for rows, scores in left_out_kernel_scores(self, self.radii[None], log_prior, x, codes):
            out[rows] = scores[0]
        return out

    def resolution(self) -> Floats:
        """Least bandwidths (K,) that can be told from the rounding of distances."""
        return np.array([place.resolution for place in self.places])

    def validate(self) -> None:
        """Raise InvalidStateError if parts of a file contradict each other."""
        if len(self.places) != len(self.prior) or self.radii.shape != self.prior.shape:
            raise InvalidStateError("its rows are not those of its classes")
        p = self.moments.n_columns
        for place in self.places:
            root = place.covariance.root
            n = len(place.weights)
            shapes = place.centre.shape, place.scale.shape, place.points.shape
            if shapes != ((p,), (p,), (p, n)) or not n or place.weights.ndim != 1:
                raise InvalidStateError("its rows are not as many as its classes have")
            if root.shape != ((p, p) if self.metric == "mahalanobis" else (p,)):
                raise InvalidStateError("it has no covariance of its metric")
            if not ((place.weights > 0).all() and (place.scale > 0).all() and place.unit > 0):
                raise InvalidStateError("a weight or a scale of it is not above 0")
        if not ((self.radii > 0).all() and (self.radii >= self.resolution()).all()):
            raise InvalidStateError("a bandwidth of it is below the rounding of distances")


def singular(moments: ClassMoments, metric: str, common: bool) -> list[tuple[int | None, tuple[int, ...]]]:
    """Classes, or None for all together, and columns by which no distance can be measured."""
    if metric == "euclidean":
        return []
    free = [moments.total - moments.n_classes] if common else (moments.counts - 1).tolist()
    collinear: list[tuple[int | None, tuple[int, ...]]] = []
    for c, freedom in enumerate(free):
        k = None if common else c
        if freedom <= 0:
            collinear.append((k, ()))
        elif alike := dependencies(moments, k, diagonal=metric == "diagonal"):
            collinear.append((k, tuple(dependency.column for dependency in alike)))
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
    """The rows in the metric, with the bandwidths that are best for normal classes.

    Of the rows x (n, p) there are diagonal moments, and those within of the spread that the metric needs, not
    singular in it.
    """
    k = moments.n_classes
    p = moments.n_columns
    diagonal = metric == "diagonal"
    scale = within.scale
    unit = 1.0
    if metric == "euclidean":
        # One power of two for all columns, which leaves distances and digits as they are.
        largest = np.abs(x).max()
        if largest > 0 and not 1 / LARGEST_VALUE <= largest <= LARGEST_VALUE:
            unit = float(2.0 ** -np.round(np.log2(largest)))
        scale = np.full(p, unit)
        covariances = (Covariance.from_root(np.ones(p)),) * k
    elif common:
        covariances = (pooled(within, within.total - k, diagonal=diagonal),) * k
    else:
        covariances = separate(within, within.counts - 1, diagonal=diagonal)
    w = np.ones(len(x)) if weights is None else weights
    places = []
    for c, covariance in enumerate(covariances):
        rows = codes == c
        place = Places(moments.centres[c], scale, covariance, np.empty((p, 0)), w[rows], unit)
        places.append(replace(place, points=place.coordinates(x[rows])))
    fit = KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, np.ones(k), "normal", tuple(places)
    )
    return replace(fit, radii=fit.normal_radii())
