"""Sums of normal kernels about many points, at many places, in time linear in both.

Where places are many and points too, sums are expanded about boxes of places, with a bound on their error
(`independent.kernel_boxes`). Elsewhere they are taken as they stand: in sparse tails, and in the middle of
gaps between crowds of points.

*Reach.* Points whose kernels add up to less than rounding are passed over: with W the weight of all, w that
of the nearest at distance g, these are beyond sqrt(g^2 + 2 ln(W/w) + 2 ln(1/eps)), in bandwidths. Far from
all points little but the nearest is left, and logarithms are taken relative to it, so that nothing
underflows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.independent.kernel_boxes import REACH, KernelBoxes, pieces
from discrim.core.neighbours.neighbour_cells import runs

__all__ = ["KernelSums"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

LOST = 0.25
"""Least share of a sum that may be left of it where a place's own point is taken out."""


class KernelSums:
    """Points whose kernels are summed, again and again.

    Parameters
    ----------
    points : (u,) float
        That differ, sorted.
    weights : (u,) float
    bandwidth : float
        That most places have.
    """

    __slots__ = ("_boxes", "_logs", "_points", "_weights", "_whole")

    def __init__(self, points: Floats, weights: Floats, bandwidth: float) -> None:
        self._points, self._weights = points, weights
        self._logs, self._whole = np.log(weights), float(np.log(weights.sum()))
        self._boxes = KernelBoxes(points, weights, bandwidth) if bandwidth > 0 else None

    def logs(
        self, at: Floats, bandwidths: Floats, own: Codes | None = None, left: Floats | None = None
    ) -> Floats:
        """Logs (m,) of sum_i w_i exp(-((x - x_i)/h)^2 / 2).

        Parameters
        ----------
        at : (m,) float
        bandwidths : (m,) float
            Of each place; one that is not a number makes the sum none.
        own : (m,) int, optional
            The point that each place is.
        left : (m,) float, optional
            Its weight there.
        """
        out = np.full(len(at), np.nan)
        rest = np.flatnonzero((bandwidths > 0) & np.isfinite(at))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            if self._boxes is not None:
                sums = self._boxes.log_sums(at[rest], bandwidths[rest])
                if own is not None and left is not None:
                    # At its own point a kernel is one.
                    less = (self._weights[own[rest]] - left[rest]) * np.exp(-sums)
                    sums = np.where(less <= 1 - LOST, sums + np.log1p(-less), np.nan)
                out[rest] = sums
                rest = rest[np.isnan(sums)]
            held = None if own is None or left is None else (own[rest], left[rest])
            out[rest] = self._as_they_stand(at[rest], bandwidths[rest], held)
        return out

    def _as_they_stand(self, at: Floats, bandwidths: Floats, held: tuple[Codes, Floats] | None) -> Floats:
        """The logs, of the points within reach of each place."""
        points, logs = self._points, self._logs
        around = np.searchsorted(points, at)[:, None] + np.arange(-2, 2)
        there = (around >= 0) & (around < len(points))
        around = np.clip(around, 0, len(points) - 1)
        size = logs[around]
        if held is not None:
            own, left = held
            log_left = np.where(left > 0, np.log(left), -np.inf)
            size = np.where(around == own[:, None], log_left[:, None], size)
        exponents = -0.5 * ((at[:, None] - points[around]) / bandwidths[:, None]) ** 2 + size
        exponents[~there] = -np.inf
        # The largest of the nearest is no more than the largest of all, and no less than rounding of it.
        floor = exponents.max(axis=1)
        reach = bandwidths * np.sqrt(np.maximum(2 * (self._whole - floor) + REACH, 0.0))
        # Far out what is added to the distance of the nearest is less than rounding of it.
        reach += 8 * EPS * (reach + np.abs(at))
        low = np.minimum(np.searchsorted(points, at - reach), around[:, 0])
        lengths = np.maximum(np.searchsorted(points, at + reach, side="right"), around[:, -1] + 1) - low
        out = np.full(len(at), -np.inf)
        for rows in pieces(lengths):
            first = np.cumsum(lengths[rows]) - lengths[rows]
            of = np.repeat(np.arange(len(first)), lengths[rows])
            which = runs(low[rows], lengths[rows])
            terms = -0.5 * ((at[rows][of] - points[which]) / bandwidths[rows][of]) ** 2
            terms += logs[which]
            if held is not None:
                mine = which == own[rows][of]
                terms[mine] = log_left[rows][of[mine]]
            peak = np.maximum.reduceat(terms, first)
            # Beyond 1e154 bandwidths the logarithm itself overflows: the density is zero.
            peak[np.isneginf(peak)] = 0.0
            out[rows] = np.log(np.add.reduceat(np.exp(terms - peak[of]), first)) + peak
        return out
