"""Rows that coincide, searched as one point.

A table of whole numbers has fewer points than rows. The k nearest rows are in the k nearest points at most,
and those as near as the k-th are the rows of all points as near: a search that is given more points until
the last of them is farther finds both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cells", "distinct", "runs"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

ROWS = 2
"""Rows of a point, in the mean, from which on points are searched for in their place."""

PAIRS = 2**21
"""Pairs of a row that is asked for and a row beyond its k-th that are held at once."""


def distinct(rows: Floats) -> tuple[Codes, Codes]:
    """Positions (n,) that sort rows (n, p), and where (u + 1,) rows that differ start among them."""
    order = np.lexsort(rows.T)
    sorted_rows = rows[order]
    new = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    return order, np.concatenate([[0], 1 + np.flatnonzero(new), [len(rows)]])


def runs(starts: Codes, lengths: Codes) -> Codes:
    """The whole numbers from each start on, so many of them, one run after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - ends + lengths, lengths) + np.arange(total))


@dataclass(frozen=True, slots=True)
class Cells:
    """The rows of each point.

    Attributes
    ----------
    points : (u, p) float
        That differ.
    order : (n,) int
        Rows, point after point.
    starts, sizes : (u,) int
        First of the rows of each point among them, and how many they are.
    """

    points: Floats
    order: Codes
    starts: Codes
    sizes: Codes

    @staticmethod
    def of(points: Floats) -> Cells | None:
        """Of rows (n, p); None where next to all of them differ."""
        n = len(points)
        if any(ROWS * len(np.unique(column)) > n for column in points.T):
            return None
        order, starts = distinct(points)
        if ROWS * (len(starts) - 1) > n:
            return None
        return Cells(points[order[starts[:-1]]], order, starts[:-1], np.diff(starts))

    def nearest_rows(
        self, distances: Floats, nearest: Codes, limits: Floats, k: int, codes: Codes, n_classes: int
    ) -> tuple[Codes, Floats, Codes]:
        """What the nearest points say of the nearest rows.

        Parameters
        ----------
        distances, nearest : (m, w) float, int
            To the nearest points, and these; all that are as near as the k-th row among them.
        limits : (m,) float
            Up to where a point is as near as the k-th row.
        k : int
        codes : (n,) int
            Class of each row.
        n_classes : int

        Returns
        -------
        rows, distances : (m, k) int, float
        beyond : (m, K) int
            Rows of each class that are as near as the k-th and not among the k.
        """
        m = len(nearest)
        sizes, starts = self.sizes[nearest], self.starts[nearest]
        taken = np.clip(k + sizes - np.cumsum(sizes, axis=1), 0, sizes)
        beyond = np.zeros((m, n_classes), dtype=np.intp)
        more = np.where(distances <= limits[:, None], sizes - taken, 0)
        whole = np.cumsum(more.sum(axis=1))
        start = 0
        while start < m:
            gone = whole[start - 1] if start else 0
            stop = max(int(np.searchsorted(whole, gone + PAIRS, side="right")), start + 1)
            piece = slice(start, stop)
            members = self.order[runs((starts + taken)[piece].ravel(), more[piece].ravel())]
            rows = np.repeat(np.arange(stop - start), more[piece].sum(axis=1))
            cells = np.bincount(rows * n_classes + codes[members], minlength=(stop - start) * n_classes)
            beyond[piece] = cells.reshape(-1, n_classes)
            start = stop
        first = self.order[runs(starts.ravel(), taken.ravel())]
        return first.reshape(m, k), np.repeat(distances.ravel(), taken.ravel()).reshape(m, k), beyond
