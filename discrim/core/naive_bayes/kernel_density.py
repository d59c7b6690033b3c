"""Kernel density estimates of numeric columns by class, used by naive Bayes.

Theory. The density of a column in class k, whose n_k rows have the values x_i, is estimated as

    f_k(x) = 1 / (n_k h) sum_i phi((x - x_i) / h),

with phi the standard normal density (Silverman, 1986, Density Estimation, ch. 2; John & Langley, 1995, UAI,
338-345). The sum is exact to rounding and computed in logarithms, which avoids underflow in the tails; R's
density() bins the rows on a grid. The bandwidth h is Silverman's rule of thumb, 0.9 min(s, IQR / 1.34)
n_k^(-1/5) ("nrd0"; only s if the quartiles coincide), Scott's rule with 1.06 instead of 0.9 ("nrd"), or a
number set by the user. Quantiles interpolate linearly between order statistics (type 7 of Hyndman & Fan,
1996); a row of weight w counts as w rows.

For leave-one-out, the bandwidth is recomputed without each row, from the downdated sum of squares and from
the order statistics of the other rows.

*Fast sums.* A direct sum over u points at m evaluation points costs u m operations. If many points
contribute, the sum is instead expanded about boxes of evaluation points, with a bound on the error, and the
cost is linear in u + m. Direct sums remain in sparse tails and in the middle of gaps between clusters of
points. Let c be the centre of a box, h its bandwidth, t_i = (x_i - c) / h, x = c + u h an evaluation point in
the box with bandwidth h', b = (h/h')^2 and d = (b - 1)/2. Then

    -((x - x_i)/h')^2 / 2 = -t_i^2/2 - b u^2/2 + b u t_i - d t_i^2.

About the mean t of the t_i, weighted by w_i exp(-t_i^2/2), with s_i = t_i - t, the sum of the kernels is

    exp(-b u^2/2 + b u t - d t^2) sum_i w_i exp(-t_i^2/2) exp(a s_i - d s_i^2),   a = b u - 2 d t.

The last factor generates polynomials p_q of exp(a s - d s^2) = sum_q p_q(a, d) s^q / q!,

    p_{q+1} = a p_q - 2 d q p_{q-1},   p_0 = 1,

and the sum over the points becomes sum_q p_q(a, d) M_q / q! with M_q = sum_i w_i exp(-t_i^2/2) s_i^q. The
moments M_q of a box are computed once and used for all evaluation points in it (Greengard & Strain, 1991,
SIAM Journal on Scientific and Statistical Computing 12, 79-94, also expand about boxes of points). Centring
at the mean t keeps the expansion accurate for a box next to a cluster of points, whose t_i are all large.
Bandwidths that differ by more than a step have separate boxes.

*Error bound.* By Cauchy's estimate |p_q(a, d)| / q! <= r^-q exp(r|a| + r^2 |d|) for every r > 0. With
r = R / |s| the terms of order Q and higher are below R^-Q / (1 - 1/R) exp(R |a s| + R^2 |d| s^2), R > 1. This
bound, summed over the points and compared with the smallest possible value of the sum, decides for each box
whether the expansion is accurate to rounding.

*Cut-off.* Points whose kernels together are smaller than rounding are skipped. With W the total weight and w
the weight of the nearest point at distance g, these are the points farther away than
sqrt(g^2 + 2 ln(W/w) + 2 ln(1/eps)), in bandwidths. Far from all points the nearest one dominates, and
logarithms are computed relative to it to avoid underflow.
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
"""Twice the logarithm of the ratio of a sum to the contribution of the points that are skipped."""

TERMS = 26
"""Number Q of terms of an expansion."""

HALF = 0.4
"""Half width of a box, in bandwidths."""

EDGE = 1.02 * HALF
"""Largest accepted distance of an evaluation point from the centre of its box, in bandwidths.

Slightly more than half a box, because the centre is rounded.
"""

STEP = 2e-3
"""Step of the grid of log bandwidths; each level of the grid has its own boxes."""

TILT = 0.5 * float(np.expm1(STEP))
"""Largest |d| within a step of the bandwidth grid."""

FEW_POINTS = 48
"""Number of contributing points up to which a direct sum is faster than an expansion."""

PLACES = 2.0**30
"""Largest number of boxes on either side of the first point; farther boxes have no key."""

STEPS = 2.0**20
"""Largest number of steps between a bandwidth and the reference bandwidth; others have no key."""

RADIUS = 6.0
"""The R of the error bound."""

EXACT = 2.0**-54
"""Largest relative error of a sum that is computed by an expansion."""

SPREAD = 64.0
"""Largest ratio of the terms of an expansion to their sum."""

PAIRS = 2**17
"""Number of kernels that are evaluated in one block."""

AT_ONCE = 8192
"""Number of evaluation points whose expansions are evaluated in one block."""


class KernelBoxes:
    """Boxes of evaluation points and a cache of their expansions.

    Whether an expansion is used depends only on the evaluation point and its bandwidth, not on earlier calls.
    A row therefore has bitwise the same result in every call. Each point contributes to some twenty boxes per
    bandwidth, which bounds the memory of the cache.

    Parameters
    ----------
    points : (u,) float
        Distinct values, sorted.
    weights : (u,) float
        Positive weights of the points.
    bandwidth : float
        Reference bandwidth, which most evaluation points have.
    """

    __slots__ = ("_bandwidth", "_known", "_logs", "_points", "_whole")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        self._points = points
        self._bandwidth = bandwidth
        self._logs, self._whole = np.log(weights), float(np.log(weights.sum()))
        self._known = _KnownBoxes(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.intp), _Expansions.none())

    def log_sums(self, at: Floats, bandwidths: Floats) -> Floats:
        """Log sums of kernels computed by expansions.

        Parameters
        ----------
        at : (m,) float
            Evaluation points.
        bandwidths : (m,) float

        Returns
        -------
        (m,) float
            NaN if a direct sum is faster, or the expansion is not accurate.
        """
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
        """Find the expansions of boxes, computing and caching the missing ones.

        Parameters
        ----------
        boxes : (B,) int
            Keys of boxes, sorted.

        Returns
        -------
        numbers : (B,) int
            Index of the expansion of each box; -1 if direct sums are faster.
        expansions : _Expansions
            All cached expansions.
        """
        # Read and replace the cache as one object: concurrent threads may repeat work but never see a partial
        # update.
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
        """Return the ranges of points that contribute to boxes with keys (B,)."""
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
    """Boxes and the ranges of points that contribute to them.

    Attributes
    ----------
    centres, bandwidths : (B,) float
    low, high : (B,) int
        Positions of the first contributing point of each box and after the last one.
    """

    centres: Floats
    bandwidths: Floats
    low: Codes
    high: Codes

    @property
    def lengths(self) -> Codes:
        """Number of contributing points (B,) of each box."""
        return self.high - self.low

    def part(self, which: Mask | Codes | slice) -> _Windows:
        """Select boxes by mask, index or slice."""
        return _Windows(self.centres[which], self.bandwidths[which], self.low[which], self.high[which])


@dataclass(frozen=True, slots=True, eq=False)
class _Expansions:
    """Expansions of B boxes.

    Attributes
    ----------
    centres, bandwidths : (B,) float
    means : (B,) float
        Weighted means t of the standardized points.
    peaks : (B,) float
        Log of the largest w_i exp(-t_i^2/2).
    moments : (Q, B) float
        M_q / q!, relative to the peak; NaN if the expansion is not accurate everywhere in the box.
    right : (B,) int
        If the expansion covers only the points left of the centre, index of the expansion for the points on
        the right; otherwise -1.
    """

    centres: Floats
    bandwidths: Floats
    means: Floats
    peaks: Floats
    moments: Floats
    right: Codes

    @staticmethod
    def none() -> _Expansions:
        """Return an empty set of expansions."""
        nothing = np.zeros(0)
        return _Expansions(*4 * (nothing,), np.zeros((TERMS, 0)), np.zeros(0, dtype=np.intp))

    @staticmethod
    def of(points: Floats, logs: Floats, windows: _Windows) -> _Expansions:
        """Compute the expansions of boxes.

        A box in the middle of a gap is far from the points on both sides, and an expansion about their common
        mean is inaccurate. Such a box has one expansion for each side.

        Parameters
        ----------
        points : (u,) float
            Distinct values, sorted.
        logs : (u,) float
            Logs of their weights.
        windows : _Windows

        Returns
        -------
        _Expansions
            The first B expansions belong to the boxes, the others to right-hand sides.
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
        """Compute expansions about one mean for each box.

        Parameters
        ----------
        points, logs : (u,) float
            Sorted values and logs of their weights.
        windows : _Windows

        Returns
        -------
        _Expansions
        """
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
            # Accept expansions that are accurate to rounding everywhere in their boxes (see *Error bound*).
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
        """Concatenate with other expansions."""
        other = replace(other, right=np.where(other.right < 0, -1, other.right + len(self.right)))
        both = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return _Expansions(*(np.concatenate(pair, axis=-1) for pair in both))

    def log_sums(self, box: Codes, at: Floats, bandwidths: Floats) -> Floats:
        """Evaluate expansions.

        Parameters
        ----------
        box : (m,) int
            Index of the expansion of each evaluation point.
        at : (m,) float
            Evaluation points.
        bandwidths : (m,) float

        Returns
        -------
        (m,) float
            Logs of the sums; NaN for an evaluation point outside its box.
        """
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
    """Cache of the expansions computed so far.

    Attributes
    ----------
    keys : (B,) int
        Sorted keys of boxes.
    numbers : (B,) int
        Index of the expansion of each box.
    expansions : _Expansions
    """

    keys: Keys
    numbers: Codes
    expansions: _Expansions

    def numbers_of(self, boxes: Keys) -> Codes:
        """Return the indices (b,) of the expansions of boxes; -1 for a box that is not cached."""
        place = np.searchsorted(self.keys, boxes)
        known = np.append(self.keys, np.iinfo(np.int64).max)[place] == boxes
        return np.where(known, np.append(self.numbers, -1)[place], -1)

    def and_more(self, keys: Keys, numbers: Codes, expansions: _Expansions) -> _KnownBoxes:
        """Return the cache with additional boxes.

        Parameters
        ----------
        keys, numbers : (b,) int
            Sorted keys, and the indices of their expansions.
        expansions : _Expansions
            The additional expansions.

        Returns
        -------
        _KnownBoxes
        """
        place = np.searchsorted(self.keys, keys)
        return _KnownBoxes(
            np.insert(self.keys, place, keys),
            np.insert(self.numbers, place, numbers),
            self.expansions.and_more(expansions),
        )


LEAST_LEFT = 0.25
"""Smallest remaining fraction of an expanded sum after the kernel at the evaluation point is subtracted.

If less remains, the sum is computed directly, because the subtraction loses digits.
"""


class KernelSums:
    """Sums of weighted kernels at any evaluation points, by expansions or directly.

    Parameters
    ----------
    points : (u,) float
        Distinct values, sorted.
    weights : (u,) float
        Positive weights of the points.
    bandwidth : float
        Bandwidth of most evaluation points; 0 disables expansions.
    """

    __slots__ = ("_boxes", "_logs", "_points", "_weights", "_whole")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        self._points = points
        self._weights = weights
        self._logs, self._whole = np.log(weights), float(np.log(weights.sum()))
        self._boxes = KernelBoxes(points, weights, bandwidth) if bandwidth > 0 else None

    def logs(
        self, at: Floats, bandwidths: Floats, own: Codes | None = None, left: Floats | None = None
    ) -> Floats:
        """Logs of sum_i w_i exp(-((x - x_i)/h)^2 / 2).

        Parameters
        ----------
        at : (m,) float
            Evaluation points x.
        bandwidths : (m,) float
            Bandwidth h of each evaluation point.
        own : (m,) int or None
            Position of the point that equals each evaluation point, for leave-one-out.
        left : (m,) float or None
            Weight of that point in the sum instead of its full weight.

        Returns
        -------
        (m,) float
            NaN if the evaluation point or its bandwidth is missing or the bandwidth is not positive.
        """
        out = np.full(len(at), np.nan)
        places = np.flatnonzero((bandwidths > 0) & np.isfinite(at))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if self._boxes is not None:
                sums = self._boxes.log_sums(at[places], bandwidths[places])
                if own is not None and left is not None:
                    # At its centre a kernel is one.
                    less = (self._weights[own[places]] - left[places]) * np.exp(-sums)
                    sums = np.where(less <= 1 - LEAST_LEFT, sums + np.log1p(-less), np.nan)
                out[places] = sums
                places = places[np.isnan(sums)]
            less_own = None if own is None or left is None else (own[places], left[places])
            out[places] = self._term_by_term(at[places], bandwidths[places], less_own)
        return out

    def _term_by_term(self, at: Floats, bandwidths: Floats, less_own: tuple[Codes, Floats] | None) -> Floats:
        """Compute log sums directly over the points near each evaluation point.

        Parameters
        ----------
        at, bandwidths : (m,) float
        less_own : tuple of (m,) int and (m,) float, or None
            `own` and `left` of `logs`.

        Returns
        -------
        (m,) float
        """
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
        # The largest term of the nearest points is a lower bound of the largest term, within rounding.
        floor = exponents.max(axis=1)
        reach = bandwidths * np.sqrt(np.maximum(2 * (self._whole - floor) + NEGLIGIBLE, 0.0))
        # Far from all points the addition to the distance of the nearest point is lost in rounding.
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
"""Factors of the rules of thumb for the bandwidth."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelDensity:
    """Kernel density of one column in one class.

    Attributes
    ----------
    points : (u,) float
        Distinct values, sorted.
    weights : (u,) float
        Weight of the rows with each value.
    bandwidth : float
        Zero if the rule does not yield a bandwidth: too few rows, or all values equal.
    sums : KernelSums
        Evaluates sums of kernels.
    order : _Order
        Order statistics, used to leave out rows.
    """

    points: Floats
    weights: Floats
    bandwidth: float
    sums: KernelSums = field(init=False, repr=False, compare=False)
    order: _Order = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Precompute the sums and the order statistics."""
        object.__setattr__(self, "sums", KernelSums(self.points, self.weights, self.bandwidth))
        object.__setattr__(self, "order", _Order.of(self.points, self.weights))

    @staticmethod
    def of(values: Floats, weights: Floats | None, rule: str, given: float) -> KernelDensity:
        """Create the density of the values of a class.

        Parameters
        ----------
        values : (m,) float
        weights : (m,) float or None
        rule : {"nrd0", "nrd"}
            Rule of thumb for the bandwidth.
        given : float
            Fixed bandwidth; 0 applies the rule.

        Returns
        -------
        KernelDensity
        """
        points, where = np.unique(values, return_inverse=True)
        counts = np.bincount(where, weights, len(points)).astype(np.float64)
        points = points[counts > 0]
        counts = counts[counts > 0]
        return KernelDensity(points, counts, given or normal_reference(points, counts, rule))

    def log_density(self, at: Floats) -> Floats:
        """Log density (m,) at values (m,)."""
        sums = self._log_sums(at, np.full(len(at), self.bandwidth), None, None)
        return np.asarray(sums - np.log(self.order.total))

    def log_density_without(self, at: Floats, weights: Floats | None, rule: str, given: float) -> Floats:
        """Leave-one-out log density of rows of the class.

        At most one unit of a frequency weight is left out. A fixed bandwidth stays; a bandwidth by rule is
        recomputed without the row.

        Parameters
        ----------
        at : (m,) float
            Values of the rows.
        weights : (m,) float or None
            Weights of the rows.
        rule : {"nrd0", "nrd"}
        given : float
            Fixed bandwidth; 0 applies the rule.

        Returns
        -------
        (m,) float
            NaN if the density does not have a bandwidth without the row.
        """
        out = np.ones(len(at)) if weights is None else np.minimum(weights, 1.0)
        own = np.searchsorted(self.points, at)
        total = self.order.total
        bandwidths = np.full(len(at), given) if given else self._bandwidths_without(own, out, rule)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self._log_sums(at, bandwidths, own, out) - np.log(total - out))

    def _log_sums(self, at: Floats, bandwidths: Floats, own: Codes | None, out: Floats | None) -> Floats:
        """Log of the sum of weighted normal densities (not divided by the total weight).

        Parameters
        ----------
        at, bandwidths : (m,) float
        own : (m,) int or None
            Position of the point of each row that is left out.
        out : (m,) float or None
            Weight that is left out.

        Returns
        -------
        (m,) float
        """
        left = None
        if own is not None and out is not None:
            weight = self.weights[own]
            left = np.where(weight - out <= EPS * weight, 0.0, weight - out)
        logs = self.sums.logs(at, bandwidths, own, left)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(logs - np.log(bandwidths) - 0.5 * np.log(2 * np.pi))

    def _bandwidths_without(self, own: Codes, out: Floats, rule: str) -> Floats:
        """Bandwidths by rule without each row.

        Parameters
        ----------
        own : (m,) int
            Position of the point of each row.
        out : (m,) float
            Weight that is left out.
        rule : {"nrd0", "nrd"}

        Returns
        -------
        (m,) float
            NaN if the rule does not yield a bandwidth.
        """
        total = self.order.total
        left = total - out
        with np.errstate(divide="ignore", invalid="ignore"):
            quartiles = [self.order.value_without(own, out, (left - 1) * share) for share in (0.25, 0.75)]
            between = quartiles[1] - quartiles[0]
            bandwidths = _reference(self.order.sds_without(own, out), between, left, FACTORS[rule])
        return np.where((left > 1 + EPS * total) & (bandwidths > 0), bandwidths, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """Sorted values of a sample, with the statistics that leave-one-out downdates.

    Attributes
    ----------
    points, weights : (u,) float
        Distinct values, sorted, and their weights.
    reached : (u,) float
        Cumulative weights.
    total : float
        Total weight.
    centred : (u,) float
        Deviations from the mean, divided by the largest absolute deviation.
    size : float
        The largest absolute deviation.
    squares : float
        Weighted sum of squares of `centred`.
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
        """Compute the statistics of distinct, sorted values (u,) with weights (u,)."""
        centred, size = _centred(points, weights)
        total = float(weights.sum())
        squares = float(weights @ centred**2)
        return _Order(points, weights, np.cumsum(weights), total, centred, size, squares)

    def sds_without(self, own: Codes, out: Floats) -> Floats:
        """Standard deviations without each row, downdated, or recomputed if the downdate would lose digits.

        Parameters
        ----------
        own : (m,) int
            Position of the value of each row.
        out : (m,) float
            Weight that is left out.

        Returns
        -------
        (m,) float
        """
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
        """Interpolated order statistics without each row.

        Parameters
        ----------
        own : (m,) int
            Position of the value of each row; u for none.
        out : (m,) float
            Weight that is left out.
        place : (m,) float
            Rank among the remaining sorted rows, starting at zero; fractions interpolate.

        Returns
        -------
        (m,) float
        """
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
    """Bandwidth by a rule of thumb for normal data.

    Parameters
    ----------
    points, weights : (u,) float
        Distinct values, sorted, and their weights.
    rule : {"nrd0", "nrd"}

    Returns
    -------
    float
        Zero if the rule does not yield a bandwidth.

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
    """Bandwidths factor * min(sd, IQR / 1.34) * n^(-1/5); without the IQR if it is zero."""
    spread = np.where(between > 0, np.minimum(sd, between / 1.34), sd)
    return np.asarray(factor * spread * counts**-0.2)


def _sd(points: Floats, weights: Floats) -> float:
    """Weighted standard deviation, computed on rescaled deviations to avoid overflow."""
    centred, size = _centred(points, weights)
    return float(size * np.sqrt(weights @ centred**2 / (weights.sum() - 1))) if len(points) > 1 else 0.0


def _centred(points: Floats, weights: Floats) -> tuple[Floats, float]:
    """Centre and rescale values.

    Parameters
    ----------
    points, weights : (u,) float

    Returns
    -------
    centred : (u,) float
        Deviations from the weighted mean, divided by the largest absolute deviation.
    size : float
        That divisor.
    """
    share = weights / weights.sum()
    away = points - points[0]
    away = away - share @ away
    size = float(np.abs(away).max())
    return (away / size if size > 0 else away), size


@dataclass(frozen=True, slots=True, eq=False)
class KernelColumns:
    """Kernel densities of some columns of naive Bayes.

    Attributes
    ----------
    positions : (q,) int
        Positions of the columns.
    densities : tuple of q tuples of K KernelDensity
        Densities by column and class.
    rule : {"nrd0", "nrd"}
        Rule of thumb for the bandwidth.
    given : (q,) float
        Fixed bandwidths; 0 applies the rule.
    """

    positions: Codes
    densities: tuple[tuple[KernelDensity, ...], ...]
    rule: str
    given: Floats

    def bandwidths(self) -> Floats:
        """Return the bandwidths (K, q)."""
        return np.array([[density.bandwidth for density in column] for column in self.densities]).T

    def log_densities(self, x: Floats) -> Floats:
        """Log densities of rows, summed over the columns that are not missing.

        Parameters
        ----------
        x : (m, p) float

        Returns
        -------
        (K, m) float
        """
        total = np.zeros((len(self.densities[0]), len(x)))
        for position, column in zip(self.positions.tolist(), self.densities, strict=True):
            values = x[:, position]
            known = ~np.isnan(values)
            for k, density in enumerate(column):
                total[k, known] += density.log_density(values[known])
        return total

    def left_out(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Leave-one-out log densities of rows of the fit, summed over the columns that are not missing.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None

        Returns
        -------
        (K, m) float
            NaN if a density does not have a bandwidth without the row.
        """
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
