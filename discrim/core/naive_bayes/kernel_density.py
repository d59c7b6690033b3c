"""Densities of numeric columns by class as sums of normal kernels.

Theory. The density of a column in class k, whose n_k rows have the values x_i, is estimated as

    f_k(x) = 1 / (n_k h) sum_i phi((x - x_i) / h),

phi the standard normal density (Silverman, 1986, Density Estimation, ch. 2; John & Langley, 1995, UAI,
338-345). The sum is exact to rounding, in logarithms, so that tails do not underflow; R's density() puts the
rows on a grid. The bandwidth is Silverman's rule of thumb, h = 0.9 min(s, IQR / 1.34) n_k^(-1/5) ("nrd0"; s
alone where the quartiles coincide), Scott's with 1.06 for 0.9 ("nrd"), or given. Quantiles interpolate
linearly between order statistics (type 7 of Hyndman & Fan, 1996); a row of weight w counts as w rows.

Without one of its rows a class has another bandwidth: it is computed anew for each row left out, from the
sum of squares less the row's own and from the order statistics of the others.

*Sums* about many points, at many places, take time linear in both: they are expanded about boxes of places,
with a bound on their error. Elsewhere they are taken as they stand: in sparse tails, and in the middle of
gaps between crowds of points. With c the centre of a box, t_i = (x_i - c) / h, a place x = c + u h in it, and
a bandwidth h' of its own, b = (h/h')^2 and d = (b - 1)/2,

    -((x - x_i)/h')^2 / 2 = -t_i^2/2 - b u^2/2 + b u t_i - d t_i^2.

About the mean t of the t_i, weighted by w_i exp(-t_i^2/2), with s_i = t_i - t, the sum of the kernels is

    exp(-b u^2/2 + b u t - d t^2) sum_i w_i exp(-t_i^2/2) exp(a s_i - d s_i^2),   a = b u - 2 d t.

The last factor generates polynomials p_q of exp(a s - d s^2) = sum_q p_q(a, d) s^q / q!,

    p_{q+1} = a p_q - 2 d q p_{q-1},   p_0 = 1,

so that the sum over the points is sum_q p_q(a, d) M_q / q! with M_q = sum_i w_i exp(-t_i^2/2) s_i^q: the
moments of a box are taken once and serve all places in it (Greengard & Strain, 1991, SIAM Journal on
Scientific and Statistical Computing 12, 79-94, expand about boxes of points as well). By the mean t a box
beside a crowd of points, where all t_i are large, is as good as one within. Bandwidths that differ by more
than a step have boxes of their own.

*Bound.* By Cauchy's estimate |p_q(a, d)| / q! <= r^-q exp(r|a| + r^2 |d|) for every r > 0; with r = R / |s|
the terms from the Q-th on are below R^-Q / (1 - 1/R) exp(R |a s| + R^2 |d| s^2), R > 1. Summed over points
and compared with the least that the sum can be, this says of each box whether the expansion is good to
rounding there.

*Reach.* Points whose kernels add up to less than rounding are passed over: with W the weight of all, w that
of the nearest at distance g, these are beyond sqrt(g^2 + 2 ln(W/w) + 2 ln(1/eps)), in bandwidths. Far from
all points little but the nearest is left, and logarithms are taken relative to it, so that nothing
underflows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.neighbours.neighbours import pieces_of_runs, runs
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.rules.leave_one_out import SPOILT

Keys = NDArray[np.int64]

NEGLIGIBLE = 2 * 38.0
"""Twice the logarithm of the sum over what it may lose of its points in the distance."""

TERMS = 26
"""Of the expansion, Q."""

HALF = 0.4
"""Half of a box, in bandwidths."""

EDGE = 1.02 * HALF
"""How far from the centre of its box a place may be: where a centre is rounded that can be beyond half."""

STEP = 2e-3
"""Between the logarithms of bandwidths with boxes of their own."""

TILT = 0.5 * float(np.expm1(STEP))
"""The largest |d| then."""

FEW_POINTS = 48
"""Points in reach of a box up to which sums as they stand are faster."""

PLACES = 2.0**30
"""Boxes to either side of the first point that have a number."""

STEPS = 2.0**20
"""Steps up or down from the bandwidth that have one."""

RADIUS = 6.0
"""The R of the bound."""

EXACT = 2.0**-54
"""Error of a sum, over the sum, that an expansion may have."""

SPREAD = 64.0
"""How much larger than the sum its terms may be in an expansion."""

PAIRS = 2**17
"""Kernels that are evaluated at once."""

AT_ONCE = 8192
"""Places whose expansions are evaluated at once."""


class KernelBoxes:
    """Boxes of places, with the moments of those that sums have come to.

    Whether a sum is an expansion depends on its place and bandwidth alone, so that a row has the same bits
    whatever came before. Each point is in reach of some twenty boxes a bandwidth, which bounds what all
    moments together take.

    The points (u,) differ and are sorted; the bandwidth is that of most places.
    """

    __slots__ = ("_bandwidth", "_known", "_logs", "_points", "_whole")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        self._points = points
        self._bandwidth = bandwidth
        self._logs, self._whole = np.log(weights), float(np.log(weights.sum()))
        self._known = _KnownBoxes(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.intp), _Expansions.none())

    def log_sums(self, at: Floats, bandwidths: Floats) -> Floats:
        """Logs (m,) of the sums of kernels at places (m,); NaN where an expansion is not worth it, or bad."""
        out = np.full(len(at), np.nan)
        levels = np.rint(np.log(bandwidths / self._bandwidth) / STEP)
        h = self._bandwidth * np.exp(levels * STEP)
        place = np.rint((at - self._points[0]) / h / (2 * HALF))
        fits = np.flatnonzero((np.abs(place) < PLACES) & (np.abs(levels) < STEPS))
        keys = levels[fits].astype(np.int64) * 2**32 + place[fits].astype(np.int64)
        boxes, of = np.unique(keys, return_inverse=True)
        expansion, expansions = self._expansions(boxes)
        expansion = expansion[of]
        expanded = np.flatnonzero(expansion >= 0)
        for at_once in slices(len(expanded), AT_ONCE):
            some = expanded[at_once]
            rows = fits[some]
            out[rows] = expansions.log_sums(expansion[some], at[rows], bandwidths[rows])
        return out

    def _expansions(self, boxes: Keys) -> tuple[Codes, _Expansions]:
        """Numbers of the expansions of boxes (B,) among the known ones, below zero for none."""
        # Taken and put back as one: threads that come at once may repeat work, and see no half of it.
        known = self._known
        numbers = known.numbers_of(boxes)
        unknown = np.flatnonzero(numbers < 0)
        windows = self._windows(boxes[unknown])
        many = windows.lengths > FEW_POINTS
        if many.any():
            expansions = _Expansions.of(self._points, self._logs, windows.part(many))
            numbers[unknown[many]] = len(known.expansions.right) + np.arange(int(many.sum()))
            known = known.and_more(boxes[unknown[many]], numbers[unknown[many]], expansions)
            self._known = known
        return numbers, known.expansions

    def _windows(self, boxes: Keys) -> _Windows:
        """What boxes (B,) reach."""
        levels = (boxes + 2**31) >> 32
        h = self._bandwidth * np.exp(levels * STEP)
        centres = self._points[0] + (boxes - levels * 2**32) * (2 * HALF * h)
        right = np.searchsorted(self._points, centres)
        near = np.stack([np.maximum(right - 1, 0), np.minimum(right, len(self._points) - 1)])
        gaps = np.abs(self._points[near] - centres) / h
        first = gaps.argmin(axis=0)
        nearest = near[first, np.arange(len(boxes))]
        gap = gaps.min(axis=0)
        negligible = 2 * (self._whole - self._logs[nearest]) + NEGLIGIBLE
        reach = (EDGE + np.sqrt((gap + EDGE) ** 2 + negligible * (1 + STEP))) * h
        reach += 8 * EPS * (reach + np.abs(centres))
        low, high = np.searchsorted(self._points, [centres - reach, centres + reach])
        return _Windows(centres, h, low, high)


class _Windows(NamedTuple):
    """Boxes (B,), and the positions of the first point in reach of each, and beyond the last."""

    centres: Floats
    bandwidths: Floats
    low: Codes
    high: Codes

    @property
    def lengths(self) -> Codes:
        """Points of each."""
        return self.high - self.low

    def part(self, which: Mask | Codes | slice) -> _Windows:
        """Some of them."""
        return _Windows(self.centres[which], self.bandwidths[which], self.low[which], self.high[which])


@dataclass(frozen=True, slots=True, eq=False)
class _Expansions:
    """Expansions of boxes (B,).

    `means` are t; `moments` (Q, B) are M_q / q! over the largest of w_i exp(-t_i^2/2), whose logarithms are
    `peaks`, and NaN where they are not good to rounding everywhere in the box. Where an expansion is of the
    points left of the centre, `right` is the one of those to the right; -1 elsewhere.
    """

    centres: Floats
    bandwidths: Floats
    means: Floats
    peaks: Floats
    moments: Floats
    right: Codes

    @staticmethod
    def none() -> _Expansions:
        """Of no box."""
        nothing = np.zeros(0)
        return _Expansions(*4 * (nothing,), np.zeros((TERMS, 0)), np.zeros(0, dtype=np.intp))

    @staticmethod
    def of(points: Floats, logs: Floats, windows: _Windows) -> _Expansions:
        """Of points (u,) with logarithms of their weights.

        In the middle of a gap one mean is far from the points on both sides: there each side has its own.
        """
        whole = _Expansions._whole(points, logs, windows)
        middle = np.searchsorted(points, windows.centres)
        split = np.flatnonzero(np.isnan(whole.moments[0]) & (windows.low < middle) & (middle < windows.high))
        parted = windows.part(split)
        middle = middle[split]
        left = _Expansions._whole(points, logs, parted._replace(high=middle))
        right = _Expansions._whole(points, logs, parted._replace(low=middle))
        whole.means[split] = left.means
        whole.peaks[split] = left.peaks
        whole.moments[:, split] = left.moments
        whole.right[split] = len(whole.right) + np.arange(len(split))
        return whole.and_more(right)

    @staticmethod
    def _whole(points: Floats, logs: Floats, windows: _Windows) -> _Expansions:
        """With one mean for each."""
        count = len(windows.low)
        means = np.empty(count)
        peaks = np.empty(count)
        moments = np.empty((TERMS, count))
        for boxes in pieces_of_runs(windows.lengths, PAIRS):
            some = windows.part(boxes)
            lengths = windows.lengths[boxes]
            which = runs(some.low, lengths)
            first = np.cumsum(lengths) - lengths
            of = np.repeat(np.arange(len(lengths)), lengths)
            t = (points[which] - some.centres[of]) / some.bandwidths[of]
            terms = logs[which] - 0.5 * t**2
            peaks[boxes] = np.maximum.reduceat(terms, first)
            terms = np.exp(terms - peaks[boxes][of])
            means[boxes] = np.add.reduceat(terms * t, first) / np.add.reduceat(terms, first)
            t -= means[boxes][of]
            # Expansions that are accurate to rounding everywhere in their boxes.
            furthest = (EDGE * (1 + 2 * TILT) + 2 * TILT * np.abs(means[boxes]))[of] * np.abs(t)
            lift = np.exp(furthest + TILT * t**2)
            least = np.add.reduceat(terms / lift, first)
            most = np.add.reduceat(terms * lift, first)
            remainder = np.add.reduceat(terms * np.exp(RADIUS * furthest + RADIUS**2 * TILT * t**2), first)
            remainder *= RADIUS**-TERMS / (1 - 1 / RADIUS)
            good = (remainder <= EXACT * least) & (most <= SPREAD * least)
            for q in range(TERMS):
                moments[q, boxes] = np.where(good, np.add.reduceat(terms, first) / factorial(q), np.nan)
                terms *= t
        none = np.full(count, -1, dtype=np.intp)
        return _Expansions(windows.centres, windows.bandwidths, means, peaks, moments, none)

    def and_more(self, other: _Expansions) -> _Expansions:
        """These and others."""
        other = replace(other, right=np.where(other.right < 0, -1, other.right + len(self.right)))
        both = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return _Expansions(*(np.concatenate(pair, axis=-1) for pair in both))

    def log_sums(self, box: Codes, at: Floats, bandwidths: Floats) -> Floats:
        """Logs (m,) of the sums at places (m,) of boxes (m,)."""
        b = (self.bandwidths[box] / bandwidths) ** 2
        u = (at - self.centres[box]) / self.bandwidths[box]
        d = 0.5 * (b - 1)
        mean = self.means[box]
        a = b * u - 2 * d * mean
        if d.any():
            before = np.zeros(len(box))
            now = np.ones(len(box))
            total = self.moments[0][box]
            for q in range(1, TERMS):
                before, now = now, a * now - 2 * (q - 1) * d * before
                total += now * self.moments[q][box]
        else:
            total = self.moments[-1][box]
            for q in range(TERMS - 2, -1, -1):
                total *= a
                total += self.moments[q][box]
        total[np.abs(u) > EDGE] = np.nan
        logs = np.log(total) + self.peaks[box] + b * u * (mean - 0.5 * u) - d * mean**2
        two = np.flatnonzero(self.right[box] >= 0)
        if len(two):
            other = self.log_sums(self.right[box[two]], at[two], bandwidths[two])
            logs[two] = np.logaddexp(logs[two], other)
        return np.asarray(logs)


class _KnownBoxes(NamedTuple):
    """Boxes whose expansions are known: sorted keys (B,), and the number of the expansion of each (B,)."""

    keys: Keys
    numbers: Codes
    expansions: _Expansions

    def numbers_of(self, boxes: Keys) -> Codes:
        """The numbers (b,) of some boxes, -1 for one that is not there."""
        place = np.searchsorted(self.keys, boxes)
        known = np.append(self.keys, np.iinfo(np.int64).max)[place] == boxes
        return np.where(known, np.append(self.numbers, -1)[place], -1)

    def and_more(self, keys: Keys, numbers: Codes, expansions: _Expansions) -> _KnownBoxes:
        """These and others, whose keys are sorted."""
        place = np.searchsorted(self.keys, keys)
        return _KnownBoxes(
            np.insert(self.keys, place, keys),
            np.insert(self.numbers, place, numbers),
            self.expansions.and_more(expansions),
        )


LEAST_LEFT = 0.25
"""Least share of a sum that may be left of it where a place's own point is taken out."""


class KernelSums:
    """Points (u,), which differ and are sorted, whose kernels are summed; most places have the bandwidth."""

    __slots__ = ("_boxes", "_logs", "_points", "_weights", "_whole")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        self._points = points
        self._weights = weights
        self._logs, self._whole = np.log(weights), float(np.log(weights.sum()))
        self._boxes = KernelBoxes(points, weights, bandwidth) if bandwidth > 0 else None

    def logs(
        self, at: Floats, bandwidths: Floats, own: Codes | None = None, left: Floats | None = None
    ) -> Floats:
        """Logs (m,) of sum_i w_i exp(-((x - x_i)/h)^2 / 2), missing where the bandwidth of a place is.

        Places may be points themselves, `own` (m,), of which a weight `left` (m,) is summed only.
        """
        out = np.full(len(at), np.nan)
        places = np.flatnonzero((bandwidths > 0) & np.isfinite(at))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if self._boxes is not None:
                sums = self._boxes.log_sums(at[places], bandwidths[places])
                if own is not None and left is not None:
                    # At its own point a kernel is one.
                    less = (self._weights[own[places]] - left[places]) * np.exp(-sums)
                    sums = np.where(less <= 1 - LEAST_LEFT, sums + np.log1p(-less), np.nan)
                out[places] = sums
                places = places[np.isnan(sums)]
            less_own = None if own is None or left is None else (own[places], left[places])
            out[places] = self._term_by_term(at[places], bandwidths[places], less_own)
        return out

    def _term_by_term(self, at: Floats, bandwidths: Floats, less_own: tuple[Codes, Floats] | None) -> Floats:
        """The logs, of the points within reach of each place."""
        points = self._points
        logs = self._logs
        around = np.searchsorted(points, at)[:, None] + np.arange(-2, 2)
        there = (around >= 0) & (around < len(points))
        around = np.clip(around, 0, len(points) - 1)
        size = logs[around]
        if less_own is not None:
            own, left = less_own
            log_left = np.where(left > 0, np.log(left), -np.inf)
            size = np.where(around == own[:, None], log_left[:, None], size)
        exponents = -0.5 * ((at[:, None] - points[around]) / bandwidths[:, None]) ** 2 + size
        exponents[~there] = -np.inf
        # The largest of the nearest is no more than the largest of all, and no less than rounding of it.
        floor = exponents.max(axis=1)
        reach = bandwidths * np.sqrt(np.maximum(2 * (self._whole - floor) + NEGLIGIBLE, 0.0))
        # Far out what is added to the distance of the nearest is less than rounding of it.
        reach += 8 * EPS * (reach + np.abs(at))
        low = np.minimum(np.searchsorted(points, at - reach), around[:, 0])
        lengths = np.maximum(np.searchsorted(points, at + reach, side="right"), around[:, -1] + 1) - low
        out = np.full(len(at), -np.inf)
        for rows in pieces_of_runs(lengths, PAIRS):
            first = np.cumsum(lengths[rows]) - lengths[rows]
            of = np.repeat(np.arange(len(first)), lengths[rows])
            which = runs(low[rows], lengths[rows])
            terms = -0.5 * ((at[rows][of] - points[which]) / bandwidths[rows][of]) ** 2
            terms += logs[which]
            if less_own is not None:
                mine = which == own[rows][of]
                terms[mine] = log_left[rows][of[mine]]
            peak = np.maximum.reduceat(terms, first)
            # A sum whose only point is left out is zero.
            peak[np.isneginf(peak)] = 0.0
            out[rows] = np.log(np.add.reduceat(np.exp(terms - peak[of]), first)) + peak
        return out


FACTORS = {"nrd0": 0.9, "nrd": 1.06}
"""Rules of thumb for the bandwidth, and their factors."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensity:
    """The density of one column in one class: values (u,) that differ, sorted, and how many rows have each.

    The bandwidth is zero where the rule gives none: too few rows, or all of one value.
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
        points = points[counts > 0]
        counts = counts[counts > 0]
        return KernelDensity(points, counts, given or normal_reference(points, counts, rule))

    def log_density(self, at: Floats) -> Floats:
        """Log density (m,) at some values (m,)."""
        sums = self._log_sums(at, np.full(len(at), self.bandwidth), None, None)
        return np.asarray(sums - np.log(self.order.total))

    def log_density_without(self, at: Floats, weights: Floats | None, rule: str, given: float) -> Floats:
        """Log density (m,) at rows of the class, each without itself; NaN where it has no bandwidth.

        At most one unit of a frequency weight is left out. A given bandwidth stays, one by a rule is computed
        without the row.
        """
        out = np.ones(len(at)) if weights is None else np.minimum(weights, 1.0)
        own = np.searchsorted(self.points, at)
        total = self.order.total
        bandwidths = np.full(len(at), given) if given else self._bandwidths_without(own, out, rule)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._log_sums(at, bandwidths, own, out) - np.log(total - out))

    def _log_sums(self, at: Floats, bandwidths: Floats, own: Codes | None, out: Floats | None) -> Floats:
        """Logs of sums of weighted kernels, the weight of the own point less what is left out."""
        left = None
        if own is not None and out is not None:
            weight = self.weights[own]
            left = np.where(weight - out <= EPS * weight, 0.0, weight - out)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """Rows in the order of their values, of which one can be left out.

    Of the values that differ, sorted (u,): how many rows have each, running sums of these weights
    (`reached`), and deviations from the mean in units of the largest (`size`), with their weighted sum of
    squares.
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
        total = float(weights.sum())
        squares = float(weights @ centred**2)
        return _Order(points, weights, np.cumsum(weights), total, centred, size, squares)

    def sds_without(self, own: Codes, out: Floats) -> Floats:
        """Standard deviations without each row: downdated, or anew where that would cost digits."""
        left = self.total - out
        squares = self.squares - out * self.total / left * self.centred[own] ** 2
        sds = self.size * np.sqrt(np.maximum(squares, 0.0) / (left - 1))
        for row in np.flatnonzero(squares <= SPOILT * self.squares).tolist():
            weights = self.weights.copy()
            weights[own[row]] -= out[row]
            others = weights > EPS * self.weights
            sds[row] = _sd(self.points[others], weights[others])
        return np.asarray(sds)

    def value_without(self, own: Codes, out: Floats, place: Floats) -> Floats:
        """The value at a place among the sorted rows, counted from zero, without one row each."""
        lower = np.floor(place + EPS * place)
        slack = EPS * self.reached[-1]
        values = []
        for step in (0, 1):
            before = np.searchsorted(self.reached, lower + step + slack, side="right")
            after = np.searchsorted(self.reached, lower + step + out + slack, side="right")
            position = np.where(before < own, before, after)
            values.append(self.points[np.minimum(position, len(self.points) - 1)])
        share = np.clip(place - lower, 0.0, 1.0)
        return np.asarray(np.where(share > 0, values[0] + share * (values[1] - values[0]), values[0]))


def normal_reference(points: Floats, weights: Floats, rule: str) -> float:
    """Bandwidth by a rule of thumb, from values sorted (u,) and their weights; zero where there is none.

    Examples
    --------
    >>> round(normal_reference(np.arange(1.0, 11.0), np.ones(10), "nrd0"), 6)
    1.719286
    """
    order = _Order.of(points, weights)
    if order.total <= 1 or len(points) < 2:
        return 0.0
    nothing = np.zeros(1)
    beyond = np.full(1, len(points))
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


@dataclass(frozen=True, slots=True, eq=False)
class KernelColumns:
    """Kernel densities of the columns at positions (q,), with bandwidths given (q,), 0 for the rule's."""

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
        return total

    def left_out(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """The same of rows of the fit, each without itself; NaN where that has no bandwidth."""
        total = np.zeros((len(self.densities[0]), len(x)))
        for j, column in enumerate(self.densities):
            values = x[:, self.positions[j]]
            given = float(self.given[j])
            there = ~np.isnan(values)
            for k, density in enumerate(column):
                own = np.flatnonzero(there & (codes == k))
                others = np.flatnonzero(there & (codes != k))
                total[k, others] += density.log_density(values[others])
                own_weights = None if weights is None else weights[own]
                total[k, own] += density.log_density_without(values[own], own_weights, self.rule, given)
        return total
