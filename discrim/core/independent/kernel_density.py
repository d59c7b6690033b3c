"""Densities of numeric columns by class as sums of normal kernels.

Theory. The density of a column in class k, whose n_k rows have the values x_i, is estimated as

    f_k(x) = 1 / (n_k h) sum_i phi((x - x_i) / h),

phi the standard normal density (Silverman, 1986, Density Estimation, ch. 2; John & Langley, 1995, UAI,
338-345). The sum is exact to rounding, in logarithms, so that tails do not underflow
(`independent.kernel_sums`); R's density() puts the rows on a grid. The bandwidth is Silverman's rule of
thumb, h = 0.9 min(s, IQR / 1.34) n_k^(-1/5) ("nrd0"; s alone where the quartiles coincide), Scott's with
1.06 for 0.9 ("nrd"), or given. Quantiles interpolate linearly between order statistics (type 7 of Hyndman &
Fan, 1996); a row of weight w counts as w rows.

Without one of its rows a class has another bandwidth: it is computed anew for each row left out, from the
sum of squares less the row's own and from the order statistics of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.independent.kernel_sums import KernelSums
from discrim.core.rules.far_rows import FARTHEST
from discrim.core.rules.leave_one_out import SPOILT

__all__ = ["FACTORS", "KernelColumns", "KernelDensity", "normal_reference"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

FACTORS = {"nrd0": 0.9, "nrd": 1.06}
"""Rules of thumb for the bandwidth, and their factors."""


@dataclass(frozen=True, slots=True)
class KernelDensity:
    """The density of one column in one class.

    Attributes
    ----------
    points : (u,) float
        Values that differ, sorted.
    weights : (u,) float
        How many rows have each.
    bandwidth : float
        Zero where the rule gives none: too few rows, or all of one value.
    sums : KernelSums
        Of kernels about the points.
    order : _Order
        The rows in the order of their values.
    """

    points: Floats
    weights: Floats
    bandwidth: float
    sums: KernelSums = field(init=False, repr=False, compare=False)
    order: _Order = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make ready what serves all places."""
        object.__setattr__(self, "sums", KernelSums(self.points, self.weights, self.bandwidth))
        object.__setattr__(self, "order", _Order.of(self.points, self.weights))

    @staticmethod
    def of(values: Floats, weights: Floats | None, rule: str, given: float) -> KernelDensity:
        """From the values (m,) of a class and their weights; a given bandwidth of 0 follows the rule."""
        points, where = np.unique(values, return_inverse=True)
        counts = np.bincount(where, weights, len(points)).astype(np.float64)
        points, counts = points[counts > 0], counts[counts > 0]
        return KernelDensity(points, counts, given or normal_reference(points, counts, rule))

    def log_density(self, at: Floats) -> Floats:
        """Log density (m,) at some values (m,)."""
        sums = self._log_sums(at, np.full(len(at), self.bandwidth), None, None)
        return np.asarray(sums - np.log(self.order.total))

    def log_density_without(self, at: Floats, weights: Floats | None, rule: str, given: float) -> Floats:
        """Log density (m,) at rows of the class, each without itself; NaN where it has no bandwidth.

        Parameters
        ----------
        at : (m,) float
        weights : (m,) float or None
            Frequency weights; at most one unit is left out.
        rule, given
            As for `of`: a given bandwidth is held, one by a rule is computed without the row.
        """
        out = np.ones(len(at)) if weights is None else np.minimum(weights, 1.0)
        own, total = np.searchsorted(self.points, at), self.order.total
        bandwidths = np.full(len(at), given) if given else self._bandwidths_without(own, out, rule)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._log_sums(at, bandwidths, own, out) - np.log(total - out))

    def _log_sums(self, at: Floats, bandwidths: Floats, own: Codes | None, out: Floats | None) -> Floats:
        """Logs of sums of weighted kernels, the weight of the own point less what is left out."""
        left = None
        if own is not None and out is not None:
            held = self.weights[own]
            left = np.where(held - out <= EPS * held, 0.0, held - out)
        logs = self.sums.logs(at, bandwidths, own, left)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(logs - np.log(bandwidths) - 0.5 * np.log(2 * np.pi))

    def _bandwidths_without(self, own: Codes, out: Floats, rule: str) -> Floats:
        """Bandwidths by a rule without each row, NaN where there is none."""
        total = self.order.total
        left = total - out
        with np.errstate(divide="ignore", invalid="ignore"):
            quartiles = [self.order.value_without(own, out, (left - 1) * share) for share in (0.25, 0.75)]
            between = quartiles[1] - quartiles[0]
            bandwidths = _reference(self.order.sds_without(own, out), between, left, FACTORS[rule])
        return np.where((left > 1 + EPS * total) & (bandwidths > 0), bandwidths, np.nan)


@dataclass(frozen=True, slots=True)
class _Order:
    """Rows in the order of their values, of which one can be left out.

    Attributes
    ----------
    points, weights : (u,) float
        Values that differ, sorted, and how many rows have each.
    reached : (u,) float
        Running sums of the weights.
    total : float
    centred : (u,) float
        Deviations of the points from the mean, in units of the largest.
    size : float
        That unit.
    squares : float
        Their sum of squares, weighted.
    """

    points: Floats
    weights: Floats
    reached: Floats
    total: float
    centred: Floats
    size: float
    squares: float

    @staticmethod
    def of(points: Floats, weights: Floats) -> _Order:
        centred, size = _centred(points, weights)
        total, squares = float(weights.sum()), float(weights @ centred**2)
        return _Order(points, weights, np.cumsum(weights), total, centred, size, squares)

    def sds_without(self, own: Codes, out: Floats) -> Floats:
        """Standard deviations without each row: downdated, or anew where that would cost digits."""
        left = self.total - out
        rest = self.squares - out * self.total / left * self.centred[own] ** 2
        sds = self.size * np.sqrt(np.maximum(rest, 0.0) / (left - 1))
        for row in np.flatnonzero(rest <= SPOILT * self.squares).tolist():
            weights = self.weights.copy()
            weights[own[row]] -= out[row]
            others = weights > EPS * self.weights
            sds[row] = _sd(self.points[others], weights[others])
        return np.asarray(sds)

    def value_without(self, own: Codes, out: Floats, place: Floats) -> Floats:
        """The value at a place among the sorted rows, counted from zero, without one row each."""
        lower = np.floor(place + EPS * place)
        values = [self._statistic(own, out, lower + step) for step in (0, 1)]
        share = np.clip(place - lower, 0.0, 1.0)
        return np.asarray(np.where(share > 0, values[0] + share * (values[1] - values[0]), values[0]))

    def _statistic(self, own: Codes, out: Floats, place: Floats) -> Floats:
        slack = EPS * self.reached[-1]
        before = np.searchsorted(self.reached, place + slack, side="right")
        after = np.searchsorted(self.reached, place + out + slack, side="right")
        found = np.where(before < own, before, after)
        return np.asarray(self.points[np.minimum(found, len(self.points) - 1)])


def normal_reference(points: Floats, weights: Floats, rule: str) -> float:
    """Bandwidth by a rule of thumb, from values sorted (u,) and their weights; zero where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> round(normal_reference(np.arange(1.0, 11.0), np.ones(10), "nrd0"), 6)
    1.719286
    """
    order = _Order.of(points, weights)
    if order.total <= 1 or len(points) < 2:
        return 0.0
    nothing, beyond = np.zeros(1), np.full(1, len(points))
    low, high = (
        order.value_without(beyond, nothing, np.array([(order.total - 1) * share])) for share in (0.25, 0.75)
    )
    sd = np.array([_sd(points, weights)])
    return float(_reference(sd, high - low, np.array([order.total]), FACTORS[rule])[0])


def _reference(sd: Floats, between: Floats, counts: Floats, factor: float) -> Floats:
    spread = np.where(between > 0, np.minimum(sd, between / 1.34), sd)
    return np.asarray(factor * spread * counts**-0.2)


def _sd(points: Floats, weights: Floats) -> float:
    centred, size = _centred(points, weights)
    return float(size * np.sqrt(weights @ centred**2 / (weights.sum() - 1))) if len(points) > 1 else 0.0


def _centred(points: Floats, weights: Floats) -> tuple[Floats, float]:
    """Deviations from the mean, in units of the largest, and that unit."""
    share = weights / weights.sum()
    away = points - points[0]
    away = away - share @ away
    size = float(np.abs(away).max())
    return (away / size if size > 0 else away), size


@dataclass(frozen=True, slots=True)
class KernelColumns:
    """Kernel densities of several columns.

    Attributes
    ----------
    positions : (q,) int
        Of the columns in the rows.
    densities : tuple of q tuples of K KernelDensity
    rule : {"nrd0", "nrd"}
    given : (q,) float
        Bandwidths; 0 for the rule's.
    """

    positions: Codes
    densities: tuple[tuple[KernelDensity, ...], ...]
    rule: str
    given: Floats

    def bandwidths(self) -> Floats:
        """Bandwidths (K, q)."""
        return np.array([[density.bandwidth for density in column] for column in self.densities]).T

    def log_densities(self, x: Floats) -> Floats:
        """Log densities (K, m) of rows x (m, p), summed over the columns that are not missing."""
        total = np.zeros((len(self.densities[0]), len(x)))
        for position, column in zip(self.positions.tolist(), self.densities, strict=True):
            values = x[:, position]
            known = ~np.isnan(values)
            for k, density in enumerate(column):
                total[k, known] += density.log_density(values[known])
        far = np.flatnonzero(np.isneginf(total).all(axis=0))
        if len(far):
            nearer = self._nearer(x[far])
            moved = (nearer != x[far]).any(axis=1) & ~np.isnan(x[far]).all(axis=1)
            total[:, far[moved]] = self.log_densities(nearer[moved])
        return total

    def _nearer(self, x: Floats) -> Floats:
        """Rows x (m, p), those beyond the range of squares moved in their direction to within it.

        From there on the widest kernel has the largest density, and among equals the nearest point, as from
        the row itself.
        """
        ends = np.array(
            [[min(d.points[0] for d in own), max(d.points[-1] for d in own)] for own in self.densities]
        )
        middle = 0.5 * ends[:, 0] + 0.5 * ends[:, 1]
        widths = np.frexp(self.bandwidths().min(axis=0))[1]
        reach = np.minimum(np.maximum(widths + 20, np.frexp(ends[:, 1] - middle)[1] + 10), widths + FARTHEST)
        away = 0.5 * x[:, self.positions] - 0.5 * middle
        over = (np.frexp(np.nan_to_num(away))[1] - reach).max(axis=1)
        nearer = x.copy()
        nearer[:, self.positions] = middle + np.ldexp(away, -np.maximum(over, 0)[:, None])
        return nearer

    def left_out(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """The same of rows of the fit, each without itself; NaN where that has no bandwidth."""
        total = np.zeros((len(self.densities[0]), len(x)))
        for j, column in enumerate(self.densities):
            values, given = x[:, self.positions[j]], float(self.given[j])
            there = ~np.isnan(values)
            for k, density in enumerate(column):
                own, others = np.flatnonzero(there & (codes == k)), np.flatnonzero(there & (codes != k))
                total[k, others] += density.log_density(values[others])
                held = None if weights is None else weights[own]
                total[k, own] += density.log_density_without(values[own], held, self.rule, given)
        return total
