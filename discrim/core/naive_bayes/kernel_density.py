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

from discrim.core.neighbours.neighbours import concatenate_ranges, split_ranges
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.core.rules.leave_one_out import MIN_DETERMINANT_RATIO

Keys = NDArray[np.int64]
"""Keys of boxes: 2^32 times the bandwidth level plus the position of the box."""

NEGLIGIBLE_LOG_RATIO = 2 * 38.0
"""Twice the log of the ratio of a sum to the largest possible contribution of all points that are skipped."""

N_TERMS = 34
"""Number Q of terms of an expansion."""

BOX_HALF_WIDTH = 0.8
"""Half width of a box, in bandwidths.

Wider boxes are fewer but need more terms, whose products lose digits; at 0.8 expansions take half the time of
0.4 and have the same errors.
"""

MAX_BOX_DISTANCE = 1.02 * BOX_HALF_WIDTH
"""Largest accepted distance of an evaluation point from the centre of its box, in bandwidths.

Slightly more than half a box, because the centre is rounded.
"""

LOG_BANDWIDTH_STEP = 2e-3
"""Step of the grid of log bandwidths; each level of the grid has its own boxes."""

MAX_TILT = 0.5 * float(np.expm1(LOG_BANDWIDTH_STEP))
"""Largest |d| (see the module docstring) within a step of the bandwidth grid."""

MAX_DIRECT_POINTS = 48
"""Number of points that contribute to a box up to which direct sums are faster than an expansion."""

MAX_BOX_POSITION = 2.0**30
"""Largest number of boxes on either side of the first point; farther boxes do not get a key."""

MAX_BANDWIDTH_STEPS = 2.0**20
"""Largest number of steps between a bandwidth and the reference bandwidth; others do not get a key."""

BOUND_RADIUS = 6.0
"""The R of the error bound."""

MAX_RELATIVE_ERROR = 2.0**-54
"""Largest relative error of a sum that is computed by an expansion."""

MAX_TERM_RATIO = 64.0
"""Largest accepted ratio of an upper bound of a sum of kernels in a box to a lower bound."""

MAX_BLOCK_KERNELS = 2**17
"""Number of kernels that are evaluated in one block."""

MAX_BLOCK_POINTS = 8192
"""Number of evaluation points whose expansions are evaluated in one block."""


class KernelBoxes:
    """Boxes of evaluation points and a cache of their expansions, for sums of weighted kernels.

    Whether an expansion is used depends only on the evaluation point and its bandwidth, not on earlier calls.
    A row therefore has bitwise the same result in every call. Each point contributes to some ten boxes per
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

    __slots__ = ("_bandwidth", "_cache", "_log_total", "_log_weights", "_points")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        """Store the points; see the class for the parameters."""
        self._points = points
        self._bandwidth = bandwidth
        self._log_weights, self._log_total = np.log(weights), float(np.log(weights.sum()))
        self._cache = _ExpansionCache(
            np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.intp), _Expansions.empty()
        )

    def log_sums(self, x: Floats, bandwidths: Floats) -> Floats:
        """Return the logarithms of kernel sums at evaluation points, as far as expansions are available.

        The sums over all points are sum_i w_i exp(-((x - x_i)/h)^2 / 2), not divided by the bandwidth h or
        the total weight. New expansions are added to the cache.

        Parameters
        ----------
        x : (m,) float
            Evaluation points, finite.
        bandwidths : (m,) float
            Bandwidth of each evaluation point, positive.

        Returns
        -------
        (m,) float
            NaN if a direct sum is faster, the expansion is not accurate, or the evaluation point is not in a
            box.
        """
        log_sums = np.full(len(x), np.nan)
        levels = np.rint(np.log(bandwidths / self._bandwidth) / LOG_BANDWIDTH_STEP)
        h = self._bandwidth * np.exp(levels * LOG_BANDWIDTH_STEP)
        box_positions = np.rint((x - self._points[0]) / h / (2 * BOX_HALF_WIDTH))
        has_key = np.flatnonzero(
            (np.abs(box_positions) < MAX_BOX_POSITION) & (np.abs(levels) < MAX_BANDWIDTH_STEPS)
        )
        keys = levels[has_key].astype(np.int64) * 2**32 + box_positions[has_key].astype(np.int64)
        boxes, box_index = np.unique(keys, return_inverse=True)
        expansion_index, expansions = self._expansions(boxes)
        expansion_index = expansion_index[box_index]
        expanded = np.flatnonzero(expansion_index >= 0)
        for chunk in slices(len(expanded), MAX_BLOCK_POINTS):
            expanded_chunk = expanded[chunk]
            rows = has_key[expanded_chunk]
            log_sums[rows] = expansions.log_sums(expansion_index[expanded_chunk], x[rows], bandwidths[rows])
        return log_sums

    def _expansions(self, boxes: Keys) -> tuple[Codes, _Expansions]:
        """Return the expansions of boxes, computing and caching the missing ones.

        Parameters
        ----------
        boxes : (B,) int
            Distinct keys of boxes, sorted.

        Returns
        -------
        expansion_index : (B,) int
            Position of the expansion of each box in `expansions`; -1 if direct sums are faster.
        expansions : _Expansions
            All cached expansions, not only of these boxes.
        """
        # Read and replace the cache as one object: concurrent threads may repeat work but never see a partial
        # update.
        cache = self._cache
        expansion_index = cache.find(boxes)
        missing = np.flatnonzero(expansion_index < 0)
        windows = self._windows(boxes[missing])
        is_expanded = windows.n_points > MAX_DIRECT_POINTS
        if is_expanded.any():
            expansions = _Expansions.from_windows(
                self._points, self._log_weights, windows.select(is_expanded)
            )
            expansion_index[missing[is_expanded]] = len(cache.expansions.right_index) + np.arange(
                int(is_expanded.sum())
            )
            cache = cache.add(boxes[missing[is_expanded]], expansion_index[missing[is_expanded]], expansions)
            self._cache = cache
        return expansion_index, cache.expansions

    def _windows(self, boxes: Keys) -> _Windows:
        """Return the ranges of points that contribute to any sum in boxes with keys (B,)."""
        levels = (boxes + 2**31) >> 32
        h = self._bandwidth * np.exp(levels * LOG_BANDWIDTH_STEP)
        centres = self._points[0] + (boxes - levels * 2**32) * (2 * BOX_HALF_WIDTH * h)
        right = np.searchsorted(self._points, centres)
        neighbours = np.stack([np.maximum(right - 1, 0), np.minimum(right, len(self._points) - 1)])
        distances = np.abs(self._points[neighbours] - centres) / h
        nearer = distances.argmin(axis=0)
        nearest = neighbours[nearer, np.arange(len(boxes))]
        min_distance = distances.min(axis=0)
        negligible = 2 * (self._log_total - self._log_weights[nearest]) + NEGLIGIBLE_LOG_RATIO
        max_distance = (
            MAX_BOX_DISTANCE
            + np.sqrt((min_distance + MAX_BOX_DISTANCE) ** 2 + negligible * (1 + LOG_BANDWIDTH_STEP))
        ) * h
        max_distance += 8 * EPS * (max_distance + np.abs(centres))
        low, high = np.searchsorted(self._points, [centres - max_distance, centres + max_distance])
        return _Windows(centres, h, low, high)


class _Windows(NamedTuple):
    """Boxes and the ranges of points that contribute to them.

    Attributes
    ----------
    centres, bandwidths : (B,) float
        Centre of each box, and the bandwidth of its expansion.
    low, high : (B,) int
        Positions, among the sorted points, of the first contributing point of each box and after the last.
    """

    centres: Floats
    bandwidths: Floats
    low: Codes
    high: Codes

    @property
    def n_points(self) -> Codes:
        """Number of contributing points (B,) of each box."""
        return self.high - self.low

    def select(self, selection: Mask | Codes | slice) -> _Windows:
        """Select boxes by mask, index or slice."""
        return _Windows(
            self.centres[selection], self.bandwidths[selection], self.low[selection], self.high[selection]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Expansions:
    """Expansions of B boxes; see the module docstring for the symbols.

    Attributes
    ----------
    centres, bandwidths : (B,) float
        Centre c and bandwidth h of each box.
    means : (B,) float
        Means t of the standardized points t_i = (x_i - c) / h, weighted by w_i exp(-t_i^2/2).
    peaks : (B,) float
        Log of the largest w_i exp(-t_i^2/2).
    moments : (Q, B) float
        M_q / q!, divided by the largest w_i exp(-t_i^2/2); NaN if the expansion is not accurate everywhere in
        the box.
    right_index : (B,) int
        If the expansion covers only the points left of the centre, position of the expansion for the points
        on the right; otherwise -1.
    """

    centres: Floats
    bandwidths: Floats
    means: Floats
    peaks: Floats
    moments: Floats
    right_index: Codes

    @staticmethod
    def empty() -> _Expansions:
        """Return an empty set of expansions."""
        nothing = np.zeros(0)
        return _Expansions(*4 * (nothing,), np.zeros((N_TERMS, 0)), np.zeros(0, dtype=np.intp))

    @staticmethod
    def from_windows(points: Floats, logs: Floats, windows: _Windows) -> _Expansions:
        """Compute the expansions of boxes.

        A box in the middle of a gap is far from the points on both sides, and an expansion about their common
        mean is inaccurate. Such a box has one expansion for each side.

        Parameters
        ----------
        points : (u,) float
            Distinct values, sorted.
        logs : (u,) float
            Logarithms of the weights of the values.
        windows : _Windows
            The B boxes.

        Returns
        -------
        _Expansions
            The first B expansions belong to the boxes, the others to right-hand sides.
        """
        expansions = _Expansions._expand_about_means(points, logs, windows)
        centre_positions = np.searchsorted(points, windows.centres)
        split_boxes = np.flatnonzero(
            np.isnan(expansions.moments[0])
            & (windows.low < centre_positions)
            & (centre_positions < windows.high)
        )
        if not len(split_boxes):
            return expansions
        split_windows = windows.select(split_boxes)
        centre_positions = centre_positions[split_boxes]
        left_expansions = _Expansions._expand_about_means(
            points, logs, split_windows._replace(high=centre_positions)
        )
        right_expansions = _Expansions._expand_about_means(
            points, logs, split_windows._replace(low=centre_positions)
        )
        expansions.means[split_boxes] = left_expansions.means
        expansions.peaks[split_boxes] = left_expansions.peaks
        expansions.moments[:, split_boxes] = left_expansions.moments
        expansions.right_index[split_boxes] = len(expansions.right_index) + np.arange(len(split_boxes))
        return expansions.concatenate(right_expansions)

    @staticmethod
    def _expand_about_means(points: Floats, logs: Floats, windows: _Windows) -> _Expansions:
        """Compute the expansions of boxes, each about one weighted mean of its points.

        Parameters
        ----------
        points, logs : (u,) float
            Sorted values and logs of their weights.
        windows : _Windows
            The boxes, each with at least one point.

        Returns
        -------
        _Expansions
            Without right-hand sides; moments are NaN if the expansion is not accurate.
        """
        n_boxes = len(windows.low)
        means = np.empty(n_boxes)
        peaks = np.empty(n_boxes)
        moments = np.empty((N_TERMS, n_boxes))
        for boxes in split_ranges(windows.n_points, MAX_BLOCK_KERNELS):
            chunk = windows.select(boxes)
            n_points = windows.n_points[boxes]
            point_index = concatenate_ranges(chunk.low, n_points)
            first = np.cumsum(n_points) - n_points
            box_index = np.repeat(np.arange(len(n_points)), n_points)
            t = (points[point_index] - chunk.centres[box_index]) / chunk.bandwidths[box_index]
            terms = logs[point_index] - 0.5 * t**2
            peaks[boxes] = np.maximum.reduceat(terms, first)
            terms = np.exp(terms - peaks[boxes][box_index])
            means[boxes] = np.add.reduceat(terms * t, first) / np.add.reduceat(terms, first)
            t -= means[boxes][box_index]
            # Accept expansions that are accurate to rounding everywhere in their boxes (see *Error bound*).
            max_exponents = (MAX_BOX_DISTANCE * (1 + 2 * MAX_TILT) + 2 * MAX_TILT * np.abs(means[boxes]))[
                box_index
            ] * np.abs(t)
            term_bounds = np.exp(max_exponents + MAX_TILT * t**2)
            min_sums = np.add.reduceat(terms / term_bounds, first)
            max_sums = np.add.reduceat(terms * term_bounds, first)
            remainder = np.add.reduceat(
                terms * np.exp(BOUND_RADIUS * max_exponents + BOUND_RADIUS**2 * MAX_TILT * t**2), first
            )
            remainder *= BOUND_RADIUS**-N_TERMS / (1 - 1 / BOUND_RADIUS)
            is_accurate = (remainder <= MAX_RELATIVE_ERROR * min_sums) & (
                max_sums <= MAX_TERM_RATIO * min_sums
            )
            for q in range(N_TERMS):
                moments[q, boxes] = np.where(
                    is_accurate, np.add.reduceat(terms, first) / factorial(q), np.nan
                )
                terms *= t
        no_right = np.full(n_boxes, -1, dtype=np.intp)
        return _Expansions(windows.centres, windows.bandwidths, means, peaks, moments, no_right)

    def concatenate(self, other: _Expansions) -> _Expansions:
        """Return these expansions followed by other ones, whose `right_index` is shifted."""
        other = replace(
            other, right_index=np.where(other.right_index < 0, -1, other.right_index + len(self.right_index))
        )
        pairs = ((getattr(self, column.name), getattr(other, column.name)) for column in fields(self))
        return _Expansions(*(np.concatenate(pair, axis=-1) for pair in pairs))

    def log_sums(self, box: Codes, x: Floats, bandwidths: Floats) -> Floats:
        """Evaluate the logarithms of kernel sums by expansions.

        Parameters
        ----------
        box : (m,) int
            Position of the expansion of each evaluation point.
        x : (m,) float
            Evaluation points.
        bandwidths : (m,) float
            Bandwidth of each evaluation point.

        Returns
        -------
        (m,) float
            Logs of the sums; NaN if the expansion is not accurate or the evaluation point lies outside its
            box.
        """
        b = (self.bandwidths[box] / bandwidths) ** 2
        u = (x - self.centres[box]) / self.bandwidths[box]
        d = 0.5 * (b - 1)
        mean = self.means[box]
        a = b * u - 2 * d * mean
        if d.any():
            previous = np.zeros(len(box))
            polynomial = np.ones(len(box))
            total = self.moments[0][box]
            for q in range(1, N_TERMS):
                previous, polynomial = polynomial, a * polynomial - 2 * (q - 1) * d * previous
                total += polynomial * self.moments[q][box]
        else:
            total = self.moments[-1][box]
            for q in range(N_TERMS - 2, -1, -1):
                total *= a
                total += self.moments[q][box]
        total[np.abs(u) > MAX_BOX_DISTANCE] = np.nan
        logs = np.log(total) + self.peaks[box] + b * u * (mean - 0.5 * u) - d * mean**2
        two_sided = np.flatnonzero(self.right_index[box] >= 0)
        if len(two_sided):
            right_logs = self.log_sums(self.right_index[box[two_sided]], x[two_sided], bandwidths[two_sided])
            logs[two_sided] = np.logaddexp(logs[two_sided], right_logs)
        return np.asarray(logs)


class _ExpansionCache(NamedTuple):
    """Cache of the expansions computed so far.

    Attributes
    ----------
    keys : (B,) int
        Sorted keys of boxes.
    expansion_index : (B,) int
        Position of the expansion of each box in `expansions`.
    expansions : _Expansions
        All expansions, also of right-hand sides, in the order in which they were added.
    """

    keys: Keys
    expansion_index: Codes
    expansions: _Expansions

    def find(self, boxes: Keys) -> Codes:
        """Return the positions (b,) of the expansions of boxes with keys (b,); -1 if a box is not cached."""
        positions = np.searchsorted(self.keys, boxes)
        is_cached = np.append(self.keys, np.iinfo(np.int64).max)[positions] == boxes
        return np.where(is_cached, np.append(self.expansion_index, -1)[positions], -1)

    def add(self, keys: Keys, expansion_index: Codes, expansions: _Expansions) -> _ExpansionCache:
        """Return the cache with additional boxes.

        Parameters
        ----------
        keys, expansion_index : (b,) int
            Sorted keys that are not cached yet, and the positions of their expansions after the addition.
        expansions : _Expansions
            The additional expansions, which are appended.

        Returns
        -------
        _ExpansionCache
        """
        positions = np.searchsorted(self.keys, keys)
        return _ExpansionCache(
            np.insert(self.keys, positions, keys),
            np.insert(self.expansion_index, positions, expansion_index),
            self.expansions.concatenate(expansions),
        )


MIN_REMAINING_FRACTION = 0.25
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
        Bandwidth of most evaluation points, the reference of the boxes; 0 disables expansions.
    """

    __slots__ = ("_boxes", "_log_total", "_log_weights", "_points", "_weights")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        """Store the points; see the class for the parameters."""
        self._points = points
        self._weights = weights
        self._log_weights, self._log_total = np.log(weights), float(np.log(weights.sum()))
        self._boxes = KernelBoxes(points, weights, bandwidth) if bandwidth > 0 else None

    def log_sums(
        self,
        x: Floats,
        bandwidths: Floats,
        own_points: Codes | None = None,
        own_weights: Floats | None = None,
    ) -> Floats:
        """Return the logarithms of the kernel sums sum_i w_i exp(-((x - x_i)/h)^2 / 2).

        They are not divided by the bandwidth or the total weight.

        Parameters
        ----------
        x : (m,) float
            Evaluation points x.
        bandwidths : (m,) float
            Bandwidth h of each evaluation point.
        own_points : (m,) int or None
            Position of the point that equals each evaluation point, for leave-one-out. None, here or in
            `own_weights`, leaves all weights unchanged.
        own_weights : (m,) float or None
            Weight of that point in the sum instead of its full weight.

        Returns
        -------
        (m,) float
            NaN if the evaluation point is not finite, or the bandwidth is NaN or not positive. Minus
            infinity if no weight remains.
        """
        log_sums = np.full(len(x), np.nan)
        direct = np.flatnonzero((bandwidths > 0) & np.isfinite(x))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if self._boxes is not None:
                sums = self._boxes.log_sums(x[direct], bandwidths[direct])
                if own_points is not None and own_weights is not None:
                    # At its centre a kernel is one.
                    own_fraction = (self._weights[own_points[direct]] - own_weights[direct]) * np.exp(-sums)
                    sums = np.where(
                        own_fraction <= 1 - MIN_REMAINING_FRACTION, sums + np.log1p(-own_fraction), np.nan
                    )
                log_sums[direct] = sums
                direct = direct[np.isnan(sums)]
            own_direct = (
                None
                if own_points is None or own_weights is None
                else (own_points[direct], own_weights[direct])
            )
            log_sums[direct] = self._direct_log_sums(x[direct], bandwidths[direct], own_direct)
        return log_sums

    def _direct_log_sums(
        self, x: Floats, bandwidths: Floats, replaced: tuple[Codes, Floats] | None
    ) -> Floats:
        """Compute the logarithms of kernel sums by adding the kernels of the points near each x.

        Parameters
        ----------
        x, bandwidths : (m,) float
            Evaluation points, finite, and their bandwidths, positive.
        replaced : tuple of (m,) int and (m,) float, or None
            `own_points` and `own_weights` of `log_sums`; None leaves all weights unchanged.

        Returns
        -------
        (m,) float
            Minus infinity if no weight remains.
        """
        points = self._points
        logs = self._log_weights
        neighbours = np.searchsorted(points, x)[:, None] + np.arange(-2, 2)
        exists = (neighbours >= 0) & (neighbours < len(points))
        neighbours = np.clip(neighbours, 0, len(points) - 1)
        log_weights = logs[neighbours]
        if replaced is not None:
            own_points, own_weights = replaced
            log_own_weights = np.where(own_weights > 0, np.log(own_weights), -np.inf)
            log_weights = np.where(neighbours == own_points[:, None], log_own_weights[:, None], log_weights)
        exponents = -0.5 * ((x[:, None] - points[neighbours]) / bandwidths[:, None]) ** 2 + log_weights
        exponents[~exists] = -np.inf
        # The largest term of the nearest points is a lower bound of the largest term, within rounding.
        max_nearby = exponents.max(axis=1)
        max_distance = bandwidths * np.sqrt(
            np.maximum(2 * (self._log_total - max_nearby) + NEGLIGIBLE_LOG_RATIO, 0.0)
        )
        # Far from all points the addition to the distance of the nearest point is lost in rounding.
        max_distance += 8 * EPS * (max_distance + np.abs(x))
        low = np.minimum(np.searchsorted(points, x - max_distance), neighbours[:, 0])
        n_points = (
            np.maximum(np.searchsorted(points, x + max_distance, side="right"), neighbours[:, -1] + 1) - low
        )
        log_sums = np.full(len(x), -np.inf)
        for rows in split_ranges(n_points, MAX_BLOCK_KERNELS):
            first = np.cumsum(n_points[rows]) - n_points[rows]
            row_index = np.repeat(np.arange(len(first)), n_points[rows])
            point_index = concatenate_ranges(low[rows], n_points[rows])
            terms = -0.5 * ((x[rows][row_index] - points[point_index]) / bandwidths[rows][row_index]) ** 2
            terms += logs[point_index]
            if replaced is not None:
                is_own = point_index == own_points[rows][row_index]
                terms[is_own] = log_own_weights[rows][row_index[is_own]]
            peak = np.maximum.reduceat(terms, first)
            # A sum whose only point is left out is zero.
            peak[np.isneginf(peak)] = 0.0
            log_sums[rows] = np.log(np.add.reduceat(np.exp(terms - peak[row_index]), first)) + peak
        return log_sums


BANDWIDTH_FACTORS = {"nrd0": 0.9, "nrd": 1.06}
"""Factors of the rules of thumb for the bandwidth: Silverman's "nrd0" and Scott's "nrd"."""


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
        Bandwidth h in the units of the column; zero if the rule applies and there are fewer than two distinct
        values or the total weight is at most one.
    sums : KernelSums
        Evaluates sums of kernels.
    order : _OrderStatistics
        Order statistics, used to leave out rows.
    """

    points: Floats
    weights: Floats
    bandwidth: float
    sums: KernelSums = field(init=False, repr=False, compare=False)
    order: _OrderStatistics = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Precompute the sums and the order statistics."""
        object.__setattr__(self, "sums", KernelSums(self.points, self.weights, self.bandwidth))
        object.__setattr__(self, "order", _OrderStatistics.from_points(self.points, self.weights))

    @staticmethod
    def from_values(
        values: Floats, weights: Floats | None, rule: str, fixed_bandwidth: float
    ) -> KernelDensity:
        """Build the density from the values of a class.

        Parameters
        ----------
        values : (m,) float
            Values of the rows of the class, none missing.
        weights : (m,) float or None
            Frequency weights; None if all are one. Rows of weight zero are dropped.
        rule : {"nrd0", "nrd"}
            Rule of thumb for the bandwidth.
        fixed_bandwidth : float
            Fixed bandwidth; 0 applies the rule.

        Returns
        -------
        KernelDensity
            Its bandwidth is zero if the rule applies but does not yield one.
        """
        points, point_index = np.unique(values, return_inverse=True)
        counts = np.bincount(point_index, weights, len(points)).astype(np.float64)
        points = points[counts > 0]
        counts = counts[counts > 0]
        return KernelDensity(points, counts, fixed_bandwidth or rule_of_thumb_bandwidth(points, counts, rule))

    def log_density(self, x: Floats) -> Floats:
        """Return the log density (m,) at values (m,); NaN if the bandwidth is zero."""
        sums = self._log_sums(x, np.full(len(x), self.bandwidth), None, None)
        return np.asarray(sums - np.log(self.order.total))

    def log_density_without(
        self, x: Floats, weights: Floats | None, rule: str, fixed_bandwidth: float
    ) -> Floats:
        """Return the leave-one-out log density of rows of the class at their own values.

        At most one unit of a frequency weight is left out. A fixed bandwidth stays; a bandwidth by rule is
        recomputed without the row.

        Parameters
        ----------
        x : (m,) float
            Values of the rows; each has to be one of `points`.
        weights : (m,) float or None
            Frequency weights of the rows; None if all are one.
        rule : {"nrd0", "nrd"}
            Rule of thumb for the bandwidth.
        fixed_bandwidth : float
            Fixed bandwidth; 0 applies the rule.

        Returns
        -------
        (m,) float
            NaN if the density does not have a bandwidth, or no row remains, without the row.
        """
        left_out_weights = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        own_points = np.searchsorted(self.points, x)
        total = self.order.total
        bandwidths = (
            np.full(len(x), fixed_bandwidth)
            if fixed_bandwidth
            else self._bandwidths_without(own_points, left_out_weights, rule)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(
                self._log_sums(x, bandwidths, own_points, left_out_weights) - np.log(total - left_out_weights)
            )

    def _log_sums(
        self, x: Floats, bandwidths: Floats, own_points: Codes | None, left_out_weights: Floats | None
    ) -> Floats:
        """Return the logarithm of the sum of weighted normal densities (not divided by the total weight).

        Parameters
        ----------
        x, bandwidths : (m,) float
            Evaluation points and their bandwidths.
        own_points : (m,) int or None
            Position in `points` of the value of each row that is left out; None leaves out nothing.
        left_out_weights : (m,) float or None
            Weight that is left out.

        Returns
        -------
        (m,) float
            NaN if the bandwidth is NaN or not positive; minus infinity if no weight remains.
        """
        own_weights = None
        if own_points is not None and left_out_weights is not None:
            weight = self.weights[own_points]
            own_weights = np.where(weight - left_out_weights <= EPS * weight, 0.0, weight - left_out_weights)
        logs = self.sums.log_sums(x, bandwidths, own_points, own_weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(logs - np.log(bandwidths) - 0.5 * np.log(2 * np.pi))

    def _bandwidths_without(self, own_points: Codes, left_out_weights: Floats, rule: str) -> Floats:
        """Return the bandwidths by rule without each row.

        Parameters
        ----------
        own_points : (m,) int
            Position of the point of each row.
        left_out_weights : (m,) float
            Weight that is left out.
        rule : {"nrd0", "nrd"}
            Rule of thumb for the bandwidth.

        Returns
        -------
        (m,) float
            NaN if the rule does not yield a bandwidth.
        """
        total = self.order.total
        remaining = total - left_out_weights
        with np.errstate(divide="ignore", invalid="ignore"):
            quartiles = [
                self.order.quantile_without(own_points, left_out_weights, (remaining - 1) * fraction)
                for fraction in (0.25, 0.75)
            ]
            iqr = quartiles[1] - quartiles[0]
            bandwidths = _bandwidth_by_rule(
                self.order.sds_without(own_points, left_out_weights), iqr, remaining, BANDWIDTH_FACTORS[rule]
            )
        return np.where((remaining > 1 + EPS * total) & (bandwidths > 0), bandwidths, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _OrderStatistics:
    """Sorted values of a sample, with the statistics that leave-one-out downdates.

    Attributes
    ----------
    points, weights : (u,) float
        Distinct values, sorted, and their weights.
    cumulative_weights : (u,) float
        Cumulative weights.
    total : float
        Total weight.
    centred : (u,) float
        Deviations from the weighted mean, divided by the largest absolute deviation.
    max_deviation : float
        The largest absolute deviation; 0 if there is only one value.
    squares : float
        Weighted sum of squares of `centred`.
    """

    points: Floats
    weights: Floats
    cumulative_weights: Floats
    total: float
    centred: Floats
    max_deviation: float
    squares: float

    @staticmethod
    def from_points(points: Floats, weights: Floats) -> _OrderStatistics:
        """Compute the statistics of distinct, sorted values (u,) with weights (u,)."""
        centred, size = _center_and_rescale(points, weights)
        total = float(weights.sum())
        squares = float(weights @ centred**2)
        return _OrderStatistics(points, weights, np.cumsum(weights), total, centred, size, squares)

    def sds_without(self, own_points: Codes, left_out_weights: Floats) -> Floats:
        """Return the standard deviations without each row (divisor: remaining weight - 1).

        They are downdated, or recomputed if the downdate would lose digits.

        Parameters
        ----------
        own_points : (m,) int
            Position in `points` of the value of each row.
        left_out_weights : (m,) float
            Weight that is left out.

        Returns
        -------
        (m,) float
            Meaningless unless a weight above one remains.
        """
        remaining = self.total - left_out_weights
        squares = self.squares - left_out_weights * self.total / remaining * self.centred[own_points] ** 2
        sds = self.max_deviation * np.sqrt(np.maximum(squares, 0.0) / (remaining - 1))
        for row in np.flatnonzero(squares <= MIN_DETERMINANT_RATIO * self.squares).tolist():
            weights = self.weights.copy()
            weights[own_points[row]] -= left_out_weights[row]
            others = weights > EPS * self.weights
            sds[row] = _weighted_sd(self.points[others], weights[others])
        return np.asarray(sds)

    def quantile_without(self, own_points: Codes, left_out_weights: Floats, ranks: Floats) -> Floats:
        """Return interpolated order statistics without each row.

        Parameters
        ----------
        own_points : (m,) int
            Position of the value of each row among the u distinct values; u if no value is left out.
        left_out_weights : (m,) float
            Weight that is left out.
        ranks : (m,) float
            Rank among the remaining sorted rows, starting at zero and counting a row once per unit of weight;
            fractions interpolate.

        Returns
        -------
        (m,) float
            Value at the rank, or between the values at the two adjacent integer ranks.
        """
        lower = np.floor(ranks + EPS * ranks)
        slack = EPS * self.cumulative_weights[-1]
        adjacent_values = []
        for step in (0, 1):
            position_in_full = np.searchsorted(self.cumulative_weights, lower + step + slack, side="right")
            position_without = np.searchsorted(
                self.cumulative_weights, lower + step + left_out_weights + slack, side="right"
            )
            position = np.where(position_in_full < own_points, position_in_full, position_without)
            adjacent_values.append(self.points[np.minimum(position, len(self.points) - 1)])
        fraction = np.clip(ranks - lower, 0.0, 1.0)
        return np.asarray(
            np.where(
                fraction > 0,
                adjacent_values[0] + fraction * (adjacent_values[1] - adjacent_values[0]),
                adjacent_values[0],
            )
        )


def rule_of_thumb_bandwidth(points: Floats, weights: Floats, rule: str) -> float:
    """Return the bandwidth by a rule of thumb for normal data.

    Parameters
    ----------
    points, weights : (u,) float
        Distinct values, sorted, and their weights.
    rule : {"nrd0", "nrd"}
        Rule of thumb for the bandwidth.

    Returns
    -------
    float
        Zero if there are fewer than two values or the total weight is at most one.

    Examples
    --------
    >>> round(rule_of_thumb_bandwidth(np.arange(1.0, 11.0), np.ones(10), "nrd0"), 6)
    1.719286
    """
    order = _OrderStatistics.from_points(points, weights)
    if order.total <= 1 or len(points) < 2:
        return 0.0
    no_weight = np.zeros(1)
    no_point = np.full(1, len(points))
    low, high = (
        order.quantile_without(no_point, no_weight, np.array([(order.total - 1) * fraction]))
        for fraction in (0.25, 0.75)
    )
    sd = np.array([_weighted_sd(points, weights)])
    return float(_bandwidth_by_rule(sd, high - low, np.array([order.total]), BANDWIDTH_FACTORS[rule])[0])


def _bandwidth_by_rule(sd: Floats, iqr: Floats, counts: Floats, factor: float) -> Floats:
    """Return factor * min(sd, IQR / 1.34) * n^(-1/5) elementwise, or factor * sd * n^(-1/5) if the IQR is 0.

    n are the total weights `counts`, which have to be positive.
    """
    dispersion = np.where(iqr > 0, np.minimum(sd, iqr / 1.34), sd)
    return np.asarray(factor * dispersion * counts**-0.2)


def _weighted_sd(points: Floats, weights: Floats) -> float:
    """Return the weighted standard deviation, divisor total weight - 1; 0 for a single point.

    With several points (u,), the total of the weights (u,) has to exceed one.
    """
    centred, size = _center_and_rescale(points, weights)
    return float(size * np.sqrt(weights @ centred**2 / (weights.sum() - 1))) if len(points) > 1 else 0.0


def _center_and_rescale(points: Floats, weights: Floats) -> tuple[Floats, float]:
    """Centre values at their weighted mean, and divide them by the largest absolute deviation.

    Parameters
    ----------
    points, weights : (u,) float
        Values and their weights.

    Returns
    -------
    centred : (u,) float
        Deviations from the weighted mean, divided by the largest absolute deviation.
    max_deviation : float
        That divisor; if it is zero, the deviations are not divided.
    """
    proportions = weights / weights.sum()
    deviations = points - points[0]
    deviations = deviations - proportions @ deviations
    max_deviation = float(np.abs(deviations).max())
    return (deviations / max_deviation if max_deviation > 0 else deviations), max_deviation


@dataclass(frozen=True, slots=True, eq=False)
class KernelColumns:
    """Kernel densities of q of the p columns of naive Bayes in K classes.

    Attributes
    ----------
    positions : (q,) int
        Positions of the columns among all p.
    densities : tuple of q tuples of K KernelDensity
        Densities by column and class.
    rule : {"nrd0", "nrd"}
        Rule of thumb for the bandwidth.
    fixed_bandwidths : (q,) float
        Fixed bandwidths; 0 applies the rule.
    """

    positions: Codes
    densities: tuple[tuple[KernelDensity, ...], ...]
    rule: str
    fixed_bandwidths: Floats

    def bandwidths(self) -> Floats:
        """Return the bandwidths (K, q); zero if the rule does not yield one."""
        return np.array([[density.bandwidth for density in column] for column in self.densities]).T

    def log_densities(self, x: Floats) -> Floats:
        """Return the log densities of rows, summed over the columns that are not missing.

        Parameters
        ----------
        x : (m, p) float
            Rows with all columns; NaN is missing.

        Returns
        -------
        (K, m) float
            Zero if all q columns are missing; NaN if the bandwidth of the density of an observed column is
            zero.
        """
        total = np.zeros((len(self.densities[0]), len(x)))
        for position, column in zip(self.positions.tolist(), self.densities, strict=True):
            values = x[:, position]
            observed = ~np.isnan(values)
            for k, density in enumerate(column):
                total[k, observed] += density.log_density(values[observed])
        return total

    def leave_one_out_scores(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Return leave-one-out log densities of rows of the fit, summed over observed columns.

        Only the densities of the row's own class change without it.

        Parameters
        ----------
        x : (m, p) float
            Rows with all columns; NaN is missing.
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None
            Frequency weights; at most one unit of a row is left out. None if all are one.

        Returns
        -------
        (K, m) float
            Zero if all q columns are missing. NaN if the bandwidth of the density of an observed column is
            zero or, in the row's own class, the rule does not yield a bandwidth, or no row remains, without
            the row.
        """
        total = np.zeros((len(self.densities[0]), len(x)))
        for j, column in enumerate(self.densities):
            values = x[:, self.positions[j]]
            fixed_bandwidth = float(self.fixed_bandwidths[j])
            observed = ~np.isnan(values)
            for k, density in enumerate(column):
                own_rows = np.flatnonzero(observed & (codes == k))
                other_rows = np.flatnonzero(observed & (codes != k))
                total[k, other_rows] += density.log_density(values[other_rows])
                own_weights = None if weights is None else weights[own_rows]
                total[k, own_rows] += density.log_density_without(
                    values[own_rows], own_weights, self.rule, fixed_bandwidth
                )
        return total
