"""Sums of normal kernels about many points, at many places, in time linear in both.

Theory. With t_i = (x_i - c) / h about the centre c of a box, a place x = c + u h in it, and a bandwidth h'
of its own, b = (h/h')^2,

    exp(-((x - x_i)/h')^2 / 2) = exp(-t^2/2) exp(-b u^2/2) exp(a t - d t^2),   a = b u,   d = (b - 1)/2.

The last factor generates the polynomials P_q of exp(a t - d t^2) = sum_q P_q(a, d) t^q,

    (q + 1) P_{q+1} = a P_q - 2 d P_{q-1},   P_0 = 1,

so that a sum over points is sum_q P_q(a, d) M_q with M_q = sum_i w_i t_i^q exp(-t_i^2/2): the moments of a
box are taken once and serve all its places (Greengard & Strain, 1991, SIAM Journal on Scientific and
Statistical Computing 12, 79-94, expand about boxes of points as well).

*Bound.* By Cauchy's estimate |P_q(a, d)| <= r^-q exp(r|a| + r^2 |d|) for every r > 0; with r = s |t| the
terms from the Q-th on are below s^-Q / (1 - 1/s) exp(s |a t| + s^2 |d| t^2), s > 1. Summed over the points
and compared with the least that the sum can be, this says of each box whether the expansion is good to
rounding there. Where it is not, in tails and gaps, the sum is taken as it stands.

*Reach.* Points whose kernels add up to less than rounding are passed over: with W the weight of all, w that
of the nearest at distance g, these are beyond sqrt(g^2 + 2 ln(W/w) + 2 ln(1/eps)), in bandwidths. Far from
all points little but the nearest is left, and logarithms are taken relative to it, so that nothing
underflows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import EPS
from discrim.core.neighbour_cells import runs

__all__ = ["log_kernel_sums"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

TERMS = 26
"""Of the expansion, Q."""

HALF = 0.25
"""Half of a box, in bandwidths."""

FEW = 8
"""Places of a box up to which sums as they stand are faster."""

FEWEST_POINTS = 256
"""Points from which on boxes are worth their trouble."""

RADIUS = 8.0
"""The s of the bound."""

CLOSE = 2e-3
"""Most that b is from one in a box."""

EXACT = 2.0**-54
"""Error of a sum, over the sum, that an expansion may have."""

SPREAD = 64.0
"""How much larger than the sum its terms may be in an expansion."""

LOST = 0.25
"""Least share of a sum that may be left of it where a place's own point is taken out."""

REACH = 2 * 38.0
"""2 ln(1/eps) of the reach."""

PAIRS = 2**18
"""Kernels that are evaluated at once."""


def log_kernel_sums(
    points: Floats,
    weights: Floats,
    at: Floats,
    bandwidths: Floats,
    own: Codes | None = None,
    left: Floats | None = None,
) -> Floats:
    """Logs (m,) of sum_i w_i exp(-((x - x_i)/h)^2 / 2).

    Parameters
    ----------
    points : (u,) float
        That differ, sorted.
    weights : (u,) float
    at : (m,) float
    bandwidths : (m,) float
        Of each place; one that is not a number makes the sum none.
    own : (m,) int, optional
        The point that each place is.
    left : (m,) float, optional
        Its weight there.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        out = np.full(len(at), np.nan)
        known = np.flatnonzero((bandwidths > 0) & np.isfinite(at))
        rest = known
        if len(points) >= FEWEST_POINTS and len(known) > FEW:
            boxed, sums = _by_boxes(points, weights, at[known], bandwidths[known])
            if own is not None and left is not None:
                # At its own point a kernel is one.
                less = sums - (weights[own[known]] - left[known])
                boxed &= less >= LOST * sums
                sums = less
            out[known[boxed]] = np.log(sums[boxed])
            rest = known[~boxed]
        held = None if own is None or left is None else (own[rest], left[rest])
        out[rest] = _as_they_stand(points, weights, at[rest], bandwidths[rest], held)
    return out


def _by_boxes(
    points: Floats, weights: Floats, at: Floats, bandwidths: Floats
) -> tuple[NDArray[np.bool_], Floats]:
    """Which places (m,) have a sum by expansion, and that."""
    h = float(np.median(bandwidths))
    b = (h / bandwidths) ** 2
    place = np.rint((at - points[0]) / h / (2 * HALF))
    fits = np.flatnonzero((np.abs(b - 1) <= CLOSE) & (np.abs(place) < 2.0**40))
    good, sums = np.zeros(len(at), dtype=bool), np.zeros(len(at))
    boxes, of, counts = np.unique(place[fits], return_inverse=True, return_counts=True)
    taken = np.flatnonzero(counts > FEW)
    moments = np.zeros((len(boxes), TERMS))
    centres = points[0] + boxes * (2 * HALF * h)
    found = np.zeros(len(boxes), dtype=bool)
    furthest = 0.5 * float(np.abs(b[fits] - 1).max(initial=0.0))
    for box in taken.tolist():
        made = _moments(points, weights, float(centres[box]), h, furthest)
        if made is not None:
            moments[box], found[box] = made, True
    held = found[of]
    good[fits[held]] = True
    rows, of = fits[held], of[held]
    u = (at[rows] - centres[of]) / h
    a, d = b[rows] * u, 0.5 * (b[rows] - 1)
    before, now = np.zeros(len(rows)), np.ones(len(rows))
    total = moments[of, 0].copy()
    for q in range(1, TERMS):
        before, now = now, (a * now - 2 * d * before) / q
        total += now * moments[of, q]
    sums[rows] = total * np.exp(-0.5 * b[rows] * u**2)
    return good, sums


def _moments(points: Floats, weights: Floats, centre: float, h: float, furthest: float) -> Floats | None:
    """M_q (Q,) about a centre; None where the expansion is not good to rounding everywhere in the box."""
    right = int(np.searchsorted(points, centre))
    near = slice(max(right - 1, 0), right + 1)
    gaps = np.abs(points[near] - centre) / h + HALF
    nearest = int(gaps.argmin())
    weight = float(weights[near][nearest])
    reach = HALF + np.sqrt(gaps[nearest] ** 2 + 2 * np.log(weights.sum() / weight) + REACH)
    low, high = np.searchsorted(points, [centre - reach * h, centre + reach * h])
    t = (points[low:high] - centre) / h
    terms = weights[low:high] * np.exp(-0.5 * t**2)
    size = np.abs(t)
    largest = HALF * (1 + CLOSE)
    lift = np.exp(largest * size + furthest * t**2)
    least, most = float((terms / lift).sum()), float((terms * lift).sum())
    tail = RADIUS**-TERMS / (1 - 1 / RADIUS)
    tail *= float((terms * np.exp(RADIUS * largest * size + RADIUS**2 * furthest * t**2)).sum())
    if not (tail <= EXACT * least and most <= SPREAD * least):
        return None
    found = np.empty(TERMS)
    for q in range(TERMS):
        found[q] = terms.sum()
        terms *= t
    return found


def _as_they_stand(
    points: Floats, weights: Floats, at: Floats, bandwidths: Floats, held: tuple[Codes, Floats] | None
) -> Floats:
    """The logs, of the points within reach of each place."""
    m, u = len(at), len(points)
    logs = np.log(weights)
    right = np.searchsorted(points, at)
    around = right[:, None] + np.arange(-2, 2)
    there = (around >= 0) & (around < u)
    around = np.clip(around, 0, u - 1)
    size = logs[around]
    if held is not None:
        own, left = held
        log_left = np.where(left > 0, np.log(left), -np.inf)
        size = np.where(around == own[:, None], log_left[:, None], size)
    exponents = -0.5 * ((at[:, None] - points[around]) / bandwidths[:, None]) ** 2 + size
    exponents[~there] = -np.inf
    # The largest of the nearest is no more than the largest of all, and no less than rounding of it.
    floor = exponents.max(axis=1)
    reach = bandwidths * np.sqrt(np.maximum(2 * (np.log(weights.sum()) - floor) + REACH, 0.0))
    # Far out what is added to the distance of the nearest is less than rounding of it.
    reach += 8 * EPS * (reach + np.abs(at))
    low = np.minimum(np.searchsorted(points, at - reach), around[:, 0])
    high = np.maximum(np.searchsorted(points, at + reach, side="right"), around[:, -1] + 1)
    out = np.full(m, -np.inf)
    lengths = high - low
    whole, start = np.cumsum(lengths), 0
    while start < m:
        gone = whole[start - 1] if start else 0
        stop = max(int(np.searchsorted(whole, gone + PAIRS, side="right")), start + 1)
        rows, start = np.arange(start, stop), stop
        first, runs_of = np.cumsum(lengths[rows]) - lengths[rows], np.repeat(rows, lengths[rows])
        which = runs(low[rows], lengths[rows])
        terms = -0.5 * ((at[runs_of] - points[which]) / bandwidths[runs_of]) ** 2
        terms += logs[which]
        if held is not None:
            mine = which == held[0][runs_of]
            terms[mine] = log_left[runs_of[mine]]
        peak = np.maximum.reduceat(terms, first)
        # Beyond 1e154 bandwidths the logarithm itself overflows: the density is zero.
        peak[np.isneginf(peak)] = 0.0
        terms -= np.repeat(peak, lengths[rows])
        out[rows] = np.log(np.add.reduceat(np.exp(terms), first)) + peak
    return out
