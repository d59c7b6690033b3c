"""The numbers of discriminant analysis by kernel densities.

Densities of classes by kernels about their rows, in several columns.

Theory (Parzen, 1962, Annals of Mathematical Statistics 33, 1065-1076; Silverman, 1986, Density Estimation,
ch. 4; SAS/STAT User's Guide, The DISCRIM Procedure, nonparametric methods). With the covariance V of a metric
and a radius r, the density of class k is f_k(x) = sum_j w_j K(d_j^2 / r^2) / (n_k r^p |V|^(1/2)), d_j the
distance of x from row j in the metric. The kernels are exp(-u/2) and, of u below one, 1, 1 - u, (1 - u)^2 and
(1 - u)^3, each over its integral. Distances are about the mean of each class, so that no digit is lost to how
far classes lie from each other or from zero.

Rows left out of kernel densities: each leaves its own kernel, and the covariance of the metric too.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lgamma, log, pi
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

import numpy as np

from discrim.core.moments.moments import ClassMoments, column_squares, gather, standard_columns
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.core.scatter.covariance import Covariance, dependencies, pooled, separate
from discrim.errors import NotSupportedError

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
        for part in row_pieces(own, z.shape[1]):
            u, edge = in_radii(*own.squared(z[:, part]), float(self.radii[k]))
            out[part] = log_mean(self.kernel, own, u, edge)
        out += log_constant(self.kernel, len(z)) - len(z) * np.log(self.radii[k]) - 0.5 * own.logdet
        return out


def row_pieces(own: Places, m: int) -> list[slice]:
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


def left_out_kernel_scores(
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
            for part in row_pieces(place, len(at)):
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


Metric = Literal["mahalanobis", "diagonal", "euclidean"]
Radii = Literal["given", "normal", "chosen"]


def metric_spread(metric: str, common: bool) -> Spread:
    """What a metric needs of the moments."""
    if metric != "mahalanobis":
        return "diagonal"
    return "pooled" if common else "class"


@dataclass(frozen=True, slots=True)
class KernelDensityFit:
    """Rows with their classes, and the kernels about them.

    Attributes
    ----------
    prior : (K,) float
    metric : {"mahalanobis", "diagonal", "euclidean"}
    common : bool
        Whether the metric is that of the pooled covariance, and not of each class's own.
    radii : (K,) float
        Bandwidths.
    rule_of_radii : {"given", "normal", "chosen"}
        Where they are from.
    places : tuple of K Places
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

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> KernelRule:
        """The rule under a prior (K,).

        Raises
        ------
        NotSupportedError
            Another method than "plugin".
        """
        if method != "plugin":
            raise NotSupportedError(f'method="{method}" is defined for normal classes: use "plugin".')
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
        """Scores (n, K) of the rows of the fit, each without itself; missing where a refit is needed.

        Rows of the same number among groups (n,) leave their kernels together.
        """
        anew = self.rule_of_radii == "normal"
        return left_out_kernel_scores(self.rule(log_prior), x, codes, self.metric, self.common, anew, groups)

    def resolution(self) -> Floats:
        """Least bandwidths (K,) that can be told from the rounding of distances."""
        return np.array([place.resolution for place in self.places])

    def llf(self) -> NoReturn:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError(
            "The likelihood of kernels at their own rows says nothing: see fit.path, and error_rates()."
        )

    def df_model(self) -> NoReturn:
        """Not there: raises NotSupportedError."""
        raise NotSupportedError("Kernels have no parameters to count: see error_rates().")

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
    found: list[tuple[int | None, tuple[int, ...]]] = []
    for c, rest in enumerate(free):
        k = None if common else c
        if rest <= 0:
            found.append((k, ()))
            continue
        alike = dependencies(moments, k, diagonal=metric == "diagonal")
        if alike:
            found.append((k, tuple(dependency.column for dependency in alike)))
    return found


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

    Parameters
    ----------
    moments : ClassMoments
        Of the rows, diagonal.
    within : ClassMoments
        The same, of the spread that the metric needs and not singular in it.
    x : (n, p) float
    codes : (n,) int
    weights : (n,) float, optional
    prior : (K,) float
    kernel, metric, common, estimated_prior
        As of `KernelDensityFit`.
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
        own = codes == c
        bare = Places(moments.centres[c], scale, covariance, np.empty((p, 0)), w[own])
        places.append(replace(bare, points=bare.coordinates(x[own])))
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
    held = roots if roots is not None else deviations
    ends = np.cumsum(np.asarray(sizes, dtype=np.intp)).tolist()
    places, start = [], 0
    for c, end in enumerate(ends):
        root = np.empty(0) if held is None else held[c]
        covariance = Covariance.from_root(root)
        places.append(
            Places(
                centres_of_rows[c],
                unit,
                covariance,
                np.ascontiguousarray(points[start:end].T),
                weights[start:end],
            )
        )
        start = end
    return KernelDensityFit(
        moments, prior, estimated_prior, kernel, metric, common, radii, rule_of_radii, tuple(places)
    )
