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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import lgamma, log, pi
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from discrim.core.moments.moments import ClassMoments, column_squares, gather, standard_columns
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.rules.rules import NoLikelihood, refuse_method
from discrim.core.scatter.covariance import EPS, Covariance, dependencies, pooled, separate

Kernel = Literal["normal", "epanechnikov", "biweight", "triweight", "uniform"]

KERNELS: dict[str, int] = {"uniform": 0, "epanechnikov": 1, "biweight": 2, "triweight": 3}
"""Powers of 1 - u, of the kernels that end at the radius."""

TINY = float(np.finfo(np.float64).tiny)

AT_ONCE = 2**22
"""Distances that are in memory at once."""


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
    """The rows of one class, points (p, n) in coordinates in which its metric is Euclidean.

    These are about the mean of the class (p,); the covariance of the metric is in units of the scale (p,).
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

    def pieces(self, m: int) -> Iterator[slice]:
        """Some of m other rows at a time, whose distances from these are in memory at once."""
        return slices(m, max(AT_ONCE // max(self.points.shape[1], 1), 1))

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
            with np.errstate(over="ignore", invalid="ignore"):
                scores[k] = self.log_prior[k] + self.log_density(k, place.coordinates(x))
        scores[:, np.isnan(x).any(axis=1)] = np.nan
        return scores.T

    def log_density(self, k: int, z: Floats) -> Floats:
        """Log densities (m,) of class k at coordinates z (p, m)."""
        place, out = self.places[k], np.empty(z.shape[1])
        for part in place.pieces(z.shape[1]):
            u, edge = in_radii(*place.squared(z[:, part]), float(self.radii[k]))
            out[part] = log_mean(self.kernel, place, u, edge)
        out += log_constant(self.kernel, len(z)) - len(z) * np.log(self.radii[k]) - 0.5 * place.logdet
        return out


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
    place: Places,
    u: Floats,
    edge: Floats,
    positions: Codes | None = None,
    equal: Mask | None = None,
) -> Floats:
    """Logarithms (m,) of the mean kernel over the rows of a class, without what a kernel is multiplied by.

    Squared distances u (n, m) over the squared radius are known to `edge` (m,). Of rows at positions (m,)
    among those of the class, one unit of weight is left out, or in its place all those that are equal (n, m).
    """
    values = _log_kernel(kernel, u, edge)
    left = np.full(u.shape[1], float(place.weights.sum()))
    with np.errstate(divide="ignore", invalid="ignore"):
        values += np.log(place.weights)[:, None]
        if equal is not None:
            left -= place.weights @ equal
            values[equal] = -np.inf
        elif positions is not None:
            unit = np.minimum(1.0, place.weights[positions])
            left -= unit
            # The distance of a row from itself is none, whatever rounding made of it.
            values[positions, np.arange(len(positions))] = np.log(place.weights[positions] - unit)
        top = values.max(axis=0)
        top = np.where(np.isfinite(top), top, 0.0)
        means = top + np.log(np.exp(values - top).sum(axis=0)) - np.log(left)
    means[~(left > 0)] = -np.inf
    return np.asarray(means)


def _log_kernel(kernel: Kernel, u: Floats, edge: Floats) -> Floats:
    """Logarithms of a kernel at squares u (n, m) in units of the radius, known to `edge` (m,)."""
    if kernel == "normal":
        return np.asarray(-0.5 * np.maximum(u, 0.0))
    power = KERNELS[kernel]
    with np.errstate(divide="ignore"):
        values = power * np.log(np.clip(1 - u, 0.0, 1.0)) if power else np.zeros_like(u)
    # Rounding may put a row a little beyond the radius on which it lies.
    return np.where(u <= 1 + edge, values, -np.inf)


LEAST_METRIC = 1e-6
"""Of a metric without a row, over that of all rows, what is too little to be told from rounding."""


class _Downdate(NamedTuple):
    """What a metric is without each of some rows of a class, given by their deviations (p, m) from its mean.

    These are in the coordinates of the metric; `share` (m,) is e and `left` (m,) is (f - 1) / f of each row.
    """

    deviations: Floats
    share: Floats
    left: Floats

    @classmethod
    def of(cls, place: Places, unit: Floats, total: float, free: float) -> _Downdate:
        """Without the units (n,) of weight of all rows of the class, in turn."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = place.points @ place.weights / total
            share = unit * total / (total - unit) / free
            return cls(place.points - mean[:, None], share, (free - unit) / free)

    def part(self, rows: slice) -> _Downdate:
        """That of some of the rows."""
        return _Downdate(self.deviations[:, rows], self.share[rows], self.left[rows])


def left_out_kernel_scores(
    fit: KernelDensityFit, log_prior: Floats, x: Floats, codes: Codes, groups: Codes | None = None
) -> Floats:
    """Scores (n, K) of the rows x (n, p) of the fit, each without itself; missing where a refit is needed.

    Rows of the same number among groups (n,) leave their kernels together, of whatever class they are.
    """
    n_classes = len(fit.places)
    totals = np.array([float(place.weights.sum()) for place in fit.places])
    scores = np.empty((len(x), n_classes))
    for g, of_rows in enumerate(fit.places):
        at = np.flatnonzero(codes == g)
        unit = np.minimum(1.0, of_rows.weights)
        free = totals.sum() - n_classes if fit.common else totals[g] - 1
        downdate = _Downdate.of(of_rows, unit, totals[g], free)
        for k, place in enumerate(fit.places):
            z = of_rows.points if k == g else place.coordinates(x[at])
            changed = fit.metric != "euclidean" and (fit.common or k == g)
            radius = np.full(len(at), fit.radii[k])
            if fit.rule_of_radii == "normal" and k == g:
                with np.errstate(divide="ignore"):
                    radius = normal_radius(fit.kernel, len(z), totals[g] - unit)
            for part in place.pieces(len(at)):
                positions = np.arange(part.start, part.stop) if k == g else None
                equal = None if groups is None else groups[codes == k, None] == groups[at[part]]
                rows = downdate.part(part) if changed else None
                density = _density(fit, place, z[:, part], radius[part], rows, positions, equal)
                scores[at[part], k] = log_prior[k] + density
    return scores


def _density(
    fit: KernelDensityFit,
    place: Places,
    z: Floats,
    radius: Floats,
    rows: _Downdate | None,
    positions: Codes | None,
    equal: Mask | None,
) -> Floats:
    """Log densities (m,) of a class at coordinates z (p, m), in the metric without each of the rows."""
    p, logdet = len(z), np.full(z.shape[1], place.logdet)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d2, edge = place.squared(z)
        if rows is not None and fit.metric == "diagonal":
            without = 1 - rows.share * rows.deviations**2
            ratios = rows.left / np.where(without > LEAST_METRIC, without, np.nan)
            d2 = (place.points**2).T @ ratios - 2 * (place.points.T @ (ratios * z))
            d2 += np.einsum("ij,ij->j", ratios, z**2)
            logdet -= np.log(ratios).sum(axis=0)
            edge = edge * ratios.max(axis=0)
        elif rows is not None:
            without = 1 - rows.share * column_squares(rows.deviations)
            without = np.where((without > LEAST_METRIC) & (rows.left > 0), without, np.nan)
            across = np.einsum("ij,ij->j", z, rows.deviations) - place.points.T @ rows.deviations
            d2 += rows.share / without * across**2
            d2 *= rows.left
            logdet += np.log(without) - p * np.log(rows.left)
            edge = edge * rows.left * (1 + rows.share / without * column_squares(rows.deviations))
        means = log_mean(fit.kernel, place, *in_radii(d2, edge, radius), positions, equal)
        logs = means + log_constant(fit.kernel, p) - p * np.log(radius) - 0.5 * logdet
    logs[np.isnan(logdet)] = np.nan
    return np.asarray(logs)


Metric = Literal["mahalanobis", "diagonal", "euclidean"]
Radii = Literal["given", "normal", "chosen"]


def metric_spread(metric: str, common: bool) -> Spread:
    """What a metric needs of the moments."""
    if metric != "mahalanobis":
        return "diagonal"
    return "pooled" if common else "class"


@dataclass(frozen=True, slots=True)
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
    no_likelihood = (
        "The likelihood of kernels at their own rows says nothing: see fit.path, and error_rates()."
    )
    no_parameters = "Kernels have no parameters to count: see error_rates()."

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> KernelRule:
        """The rule under a prior (K,)."""
        refuse_method(method, "is defined for normal classes")
        return KernelRule(log_prior, self.places, self.radii, self.kernel)

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

    def left_out(self, log_prior: Floats, x: Floats, codes: Codes, groups: Codes | None = None) -> Floats:
        """As `left_out_kernel_scores`."""
        return left_out_kernel_scores(self, log_prior, x, codes, groups)

    def resolution(self) -> Floats:
        """Least bandwidths (K,) that can be told from the rounding of distances."""
        return np.array([place.resolution for place in self.places])

    def buffers(self) -> dict[str, Floats]:
        """What a file keeps: the coordinates of the rows, their weights, and how they were made."""
        sizes = [place.points.shape[1] for place in self.places]
        roots = np.stack([place.covariance.root for place in self.places])
        return {
            "radii": self.radii,
            "sizes": np.array(sizes, dtype=np.float64),
            "points": np.concatenate([place.points.T for place in self.places]),
            "weights": np.concatenate([place.weights for place in self.places]),
            "centres_of_rows": np.stack([place.centre for place in self.places]),
            "unit": self.places[0].scale,
            ("roots" if roots.ndim == 3 else "deviations"): roots,
        }


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
    k, p = moments.n_classes, moments.n_columns
    diagonal = metric == "diagonal"
    scale = within.scale
    if metric == "euclidean":
        scale = np.ones(p)
        covariances = (Covariance.from_root(np.ones(p)),) * k
    elif common:
        covariances = (pooled(within, within.total - k, diagonal=diagonal),) * k
    else:
        covariances = separate(within, within.counts - 1, diagonal=diagonal)
    w = np.ones(len(x)) if weights is None else weights
    places = []
    for c, covariance in enumerate(covariances):
        rows = codes == c
        place = Places(moments.centres[c], scale, covariance, np.empty((p, 0)), w[rows])
        places.append(replace(place, points=place.coordinates(x[rows])))
    fit = KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, np.ones(k), "normal", tuple(places)
    )
    return replace(fit, radii=fit.normal_radii())


def kernel_from_file(
    moments: ClassMoments,
    prior: Floats,
    *,
    kernel: Kernel,
    metric: Metric,
    common: bool,
    rule_of_radii: Radii,
    estimated_prior: bool,
    radii: Floats,
    sizes: Sequence[float],
    points: Floats,
    weights: Floats,
    centres_of_rows: Floats,
    unit: Floats,
    roots: Floats | None = None,
    deviations: Floats | None = None,
) -> KernelDensityFit:
    """The fit that `KernelDensityFit.buffers` and its options are of."""
    whole = roots if roots is not None else deviations
    ends = np.cumsum(np.asarray(sizes, dtype=np.intp)).tolist()
    places, start = [], 0
    for c, end in enumerate(ends):
        covariance = Covariance.from_root(np.empty(0) if whole is None else whole[c])
        rows = np.ascontiguousarray(points[start:end].T)
        places.append(Places(centres_of_rows[c], unit, covariance, rows, weights[start:end]))
        start = end
    return KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, radii, rule_of_radii, tuple(places)
    )
