"""Sums of normal kernels by expansions about boxes of places.

Theory. With c the centre of a box, t_i = (x_i - c) / h, a place x = c + u h in it, and a bandwidth h' of its
own, b = (h/h')^2 and d = (b - 1)/2,

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
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.neighbours.neighbour_cells import runs

__all__ = ["REACH", "KernelBoxes", "pieces"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Keys = NDArray[np.int64]

REACH = 2 * 38.0
"""Twice the logarithm of what a sum may lose of its points in the distance, over the sum."""

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
    """Boxes of places, with the moments of those that were asked for.

    Whether a sum is an expansion depends on its place and bandwidth alone, so that a row has the same bits
    whatever was asked before. Each point is in reach of some twenty boxes a bandwidth, which bounds what all
    moments together take.

    Parameters
    ----------
    points : (u,) float
        That differ, sorted.
    weights : (u,) float
    bandwidth : float
        By which most are asked for.
    """

    __slots__ = ("_bandwidth", "_held", "_logs", "_points", "_whole")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        self._points, self._bandwidth = points, bandwidth
        self._logs, self._whole = np.log(weights), float(np.log(weights.sum()))
        self._held = _Held(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.intp), _Expansions.none())

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
        held = np.flatnonzero(expansion >= 0)
        for start in range(0, len(held), AT_ONCE):
            some = held[start : start + AT_ONCE]
            rows = fits[some]
            out[rows] = expansions.log_sums(expansion[some], at[rows], bandwidths[rows])
        return out

    def _expansions(self, boxes: Keys) -> tuple[Codes, _Expansions]:
        """The number of the expansion of each of some boxes (B,), below zero for none, among those held."""
        # Taken and put back as one: threads that ask at once may repeat work, and see no half of it.
        held = self._held
        found = held.numbers_of(boxes)
        waiting = np.flatnonzero(found < 0)
        windows = self._windows(boxes[waiting])
        many = windows.lengths > FEW_POINTS
        if many.any():
            made = _Expansions.of(self._points, self._logs, windows.part(many))
            found[waiting[many]] = len(held.expansions.right) + np.arange(int(many.sum()))
            held = held.and_more(boxes[waiting[many]], found[waiting[many]], made)
            self._held = held
        return found, held.expansions

    def _windows(self, boxes: Keys) -> _Windows:
        """What boxes (B,) reach."""
        levels = (boxes + 2**31) >> 32
        h = self._bandwidth * np.exp(levels * STEP)
        centres = self._points[0] + (boxes - levels * 2**32) * (2 * HALF * h)
        right = np.searchsorted(self._points, centres)
        near = np.stack([np.maximum(right - 1, 0), np.minimum(right, len(self._points) - 1)])
        gaps = np.abs(self._points[near] - centres) / h
        first = gaps.argmin(axis=0)
        nearest, gap = near[first, np.arange(len(boxes))], gaps.min(axis=0)
        lost = 2 * (self._whole - self._logs[nearest]) + REACH
        reach = (EDGE + np.sqrt((gap + EDGE) ** 2 + lost * (1 + STEP))) * h
        reach += 8 * EPS * (reach + np.abs(centres))
        low, high = np.searchsorted(self._points, [centres - reach, centres + reach])
        return _Windows(centres, h, low, high)


class _Windows(NamedTuple):
    """Boxes, and the points in reach of them.

    Attributes
    ----------
    centres, bandwidths : (B,) float
    low, high : (B,) int
        Position of the first point, and beyond the last.
    """

    centres: Floats
    bandwidths: Floats
    low: Codes
    high: Codes

    @property
    def lengths(self) -> Codes:
        """Points of each."""
        return self.high - self.low

    def part(self, which: NDArray[np.bool_] | Codes | slice) -> _Windows:
        """Some of them."""
        return _Windows(self.centres[which], self.bandwidths[which], self.low[which], self.high[which])


@dataclass(frozen=True, slots=True)
class _Expansions:
    """Expansions of boxes.

    Attributes
    ----------
    centres, bandwidths : (B,) float
    means, peaks : (B,) float
        t, and the logarithm of the largest of w_i exp(-t_i^2/2), which the moments are divided by.
    moments : (Q, B) float
        M_q / q!; NaN where they are not good to rounding everywhere in the box.
    right : (B,) int
        Where the expansion is of the points left of the centre, the one of those to the right; -1 elsewhere.
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
        made = _Expansions._whole(points, logs, windows)
        middle = np.searchsorted(points, windows.centres)
        split = np.flatnonzero(np.isnan(made.moments[0]) & (windows.low < middle) & (middle < windows.high))
        held, middle = windows.part(split), middle[split]
        left = _Expansions._whole(points, logs, held._replace(high=middle))
        right = _Expansions._whole(points, logs, held._replace(low=middle))
        made.means[split], made.peaks[split], made.moments[:, split] = left.means, left.peaks, left.moments
        made.right[split] = len(made.right) + np.arange(len(split))
        return made.and_more(right)

    @staticmethod
    def _whole(points: Floats, logs: Floats, windows: _Windows) -> _Expansions:
        """With one mean for each."""
        count = len(windows.low)
        means, peaks, moments = np.empty(count), np.empty(count), np.empty((TERMS, count))
        for boxes in pieces(windows.lengths):
            held, lengths = windows.part(boxes), windows.lengths[boxes]
            which = runs(held.low, lengths)
            first, of = np.cumsum(lengths) - lengths, np.repeat(np.arange(len(lengths)), lengths)
            t = (points[which] - held.centres[of]) / held.bandwidths[of]
            terms = logs[which] - 0.5 * t**2
            peaks[boxes] = np.maximum.reduceat(terms, first)
            terms = np.exp(terms - peaks[boxes][of])
            means[boxes] = np.add.reduceat(terms * t, first) / np.add.reduceat(terms, first)
            t -= means[boxes][of]
            good = _is_good(terms, t, means[boxes], first, of)
            for q in range(TERMS):
                moments[q, boxes] = np.where(good, np.add.reduceat(terms, first) / factorial(q), np.nan)
                terms *= t
        none = np.full(count, -1, dtype=np.intp)
        return _Expansions(windows.centres, windows.bandwidths, means, peaks, moments, none)

    def and_more(self, other: _Expansions) -> _Expansions:
        """These and others."""
        right = np.where(other.right < 0, -1, other.right + len(self.right))
        return _Expansions(
            np.concatenate([self.centres, other.centres]),
            np.concatenate([self.bandwidths, other.bandwidths]),
            np.concatenate([self.means, other.means]),
            np.concatenate([self.peaks, other.peaks]),
            np.concatenate([self.moments, other.moments], axis=1),
            np.concatenate([self.right, right]),
        )

    def log_sums(self, box: Codes, at: Floats, bandwidths: Floats) -> Floats:
        """Logs (m,) of the sums at places (m,) of boxes (m,)."""
        b = (self.bandwidths[box] / bandwidths) ** 2
        u, d, mean = (at - self.centres[box]) / self.bandwidths[box], 0.5 * (b - 1), self.means[box]
        a = b * u - 2 * d * mean
        if d.any():
            before, now = np.zeros(len(box)), np.ones(len(box))
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
        found = np.log(total) + self.peaks[box] + b * u * (mean - 0.5 * u) - d * mean**2
        two = np.flatnonzero(self.right[box] >= 0)
        if len(two):
            other = self.log_sums(self.right[box[two]], at[two], bandwidths[two])
            found[two] = np.logaddexp(found[two], other)
        return np.asarray(found)


class _Held(NamedTuple):
    """Boxes whose expansions are there.

    Attributes
    ----------
    keys : (B,) int
        Sorted.
    numbers : (B,) int
        Of the expansion of each.
    expansions : _Expansions
    """

    keys: Keys
    numbers: Codes
    expansions: _Expansions

    def numbers_of(self, boxes: Keys) -> Codes:
        """The numbers (b,) of some boxes, -1 for one that is not there."""
        place = np.searchsorted(self.keys, boxes)
        known = np.append(self.keys, np.iinfo(np.int64).max)[place] == boxes
        return np.where(known, np.append(self.numbers, -1)[place], -1)

    def and_more(self, keys: Keys, numbers: Codes, expansions: _Expansions) -> _Held:
        """These and others, whose keys are sorted."""
        place = np.searchsorted(self.keys, keys)
        return _Held(
            np.insert(self.keys, place, keys),
            np.insert(self.numbers, place, numbers),
            self.expansions.and_more(expansions),
        )


def _is_good(terms: Floats, s: Floats, means: Floats, first: Codes, of: Codes) -> NDArray[np.bool_]:
    """Whether expansions are good to rounding everywhere in their boxes."""
    furthest = (EDGE * (1 + 2 * TILT) + 2 * TILT * np.abs(means))[of] * np.abs(s)
    lift = np.exp(furthest + TILT * s**2)
    least, most = np.add.reduceat(terms / lift, first), np.add.reduceat(terms * lift, first)
    beyond = np.add.reduceat(terms * np.exp(RADIUS * furthest + RADIUS**2 * TILT * s**2), first)
    beyond *= RADIUS**-TERMS / (1 - 1 / RADIUS)
    return np.asarray((beyond <= EXACT * least) & (most <= SPREAD * least))


def pieces(lengths: Codes) -> list[slice]:
    """Pieces of runs of some lengths, not too long in sum unless one is."""
    whole, found, start = np.cumsum(lengths), [], 0
    while start < len(lengths):
        gone = whole[start - 1] if start else 0
        stop = max(int(np.searchsorted(whole, gone + PAIRS, side="right")), start + 1)
        found.append(slice(start, stop))
        start = stop
    return found
