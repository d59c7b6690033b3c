"""Which of many rows can be among the nearest, from one matrix product in single precision.

The bounds and the groups are those of `neighbours.neighbours`. Group j of s holds the rows j, j + s, j +
2 s and so on, so that the least bounds of all groups are an elementwise minimum of slices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.progress import tick

__all__ = ["Candidates", "ProductFilter"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Codes = NDArray[np.intp]

FEWEST_ROWS = 1024
"""Rows from which products are worth their trouble."""

PRODUCTS = 2**23, 2**24
"""Numbers of a product that are held at once; the second where rows are so many that the first is few."""

MORE = 4
"""Groups that are looked into beyond one for each neighbour."""

LARGEST_GROUP = 64

SINGLE = float(np.finfo(np.float32).eps)

FAR = np.float32(1e37)
"""Bound of the rows that fill up the last groups."""


class Candidates(NamedTuple):
    """Pairs of a row that is asked for and a row that may be among its nearest.

    Attributes
    ----------
    rows, members : (c,) int
        The rows that are asked for, in order, and the candidates.
    position : (c,) int
        Number of the candidate among those of its row.
    left : (m,) bool
        Rows whose nearest may be elsewhere; they have no candidates.
    """

    rows: Codes
    members: Codes
    position: Codes
    left: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ProductFilter:
    """Rows in single precision, ready to be multiplied.

    Attributes
    ----------
    columns : (p + 1, N) single
        Coordinates times -2, and below them the squared lengths less their error; N is n filled up.
    widths : (N,) single
        Twice the error g |y|^2.
    error : float
        g.
    unit : float
        A power of two that brings the rows to the range of single precision.
    rows : int
        n.
    """

    columns: Singles
    widths: Singles
    error: float
    unit: float
    rows: int

    @staticmethod
    def of(points: Floats) -> ProductFilter | None:
        """For rows (n, p); None where they are few."""
        n, p = points.shape
        if n < FEWEST_ROWS:
            return None
        error = 2 * (p + 8) * SINGLE
        largest = float(np.abs(points).max())
        unit = 2.0 ** -np.frexp(largest)[1] if largest > 0 else 1.0
        filled = -(-n // LARGEST_GROUP) * LARGEST_GROUP
        columns = np.zeros((p + 1, filled), dtype=np.float32)
        widths = np.zeros(filled, dtype=np.float32)
        columns[p] = FAR
        step = max(2**20 // p, 1)
        for start in range(0, n, step):
            piece = slice(start, min(start + step, n))
            z = points[piece] * unit
            columns[:p, piece] = -2 * z.T
            squares = np.einsum("ij,ij->i", z, z)
            columns[p, piece] = (1 - error) * squares
            widths[piece] = 2 * error * squares
        return ProductFilter(columns, widths, error, unit, n)

    @property
    def rows_at_once(self) -> int:
        """Rows whose products are held at once."""
        filled = int(self.columns.shape[1])
        low, high = (max(numbers // filled, 1) for numbers in PRODUCTS)
        return max(low, min(high, 128))

    def group(self, k: int) -> int:
        """Rows of a group, a power of two: one more least bound costs a tenth of one more member."""
        steps = int(np.rint(np.log2(max(self.rows / (10 * (k + MORE)), 1.0)) / 2))
        return min(max(1 << steps, 4), LARGEST_GROUP)

    def reaches(self, k: int) -> bool:
        """Whether k neighbours leave groups to be passed over."""
        return bool(4 * (k + MORE) < self.columns.shape[1] // self.group(k))

    def room(self) -> Singles:
        """Memory for the products of rows that are asked for at once."""
        return np.empty((self.rows_at_once, self.columns.shape[1]), dtype=np.float32)

    def candidates(self, z: Floats, k: int, tied: Callable[[Floats], Floats], room: Singles) -> Candidates:
        """Candidates for the k nearest of rows z (m, p), and for what is tied with the k-th.

        Parameters
        ----------
        z : (m, p) float
        k : int
        tied : callable
            From distances to the largest that are tied with them.
        room : (m or more, N) single
            Is written to.
        """
        tick()
        m, p = z.shape
        asked = np.ones((m, p + 1), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            own = z * self.unit
            asked[:, :p] = own
            squares = np.einsum("ij,ij->i", own, own)
            bounds = np.matmul(asked, self.columns, out=room[:m])
            group = self.group(k)
            minima = bounds.reshape(m, group, -1).min(axis=1)
            parts = []
            left = np.arange(m)
            for looked in (k + MORE, 4 * (k + MORE)):
                rows, members, failed = self._look(
                    bounds[left] if len(left) < m else bounds, minima[left], squares[left], k, looked, tied
                )
                parts.append((left[rows], members))
                left = left[failed]
                if not len(left):
                    break
        rows = np.concatenate([part[0] for part in parts])
        members = np.concatenate([part[1] for part in parts])
        if len(parts) > 1:
            order = np.argsort(rows, kind="stable")
            rows, members = rows[order], members[order]
        counts = np.bincount(rows, minlength=m)
        position = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        failed = np.zeros(m, dtype=bool)
        failed[left] = True
        return Candidates(rows, members, position, failed)

    def _look(
        self,
        bounds: Singles,
        minima: Singles,
        squares: Floats,
        k: int,
        looked: int,
        tied: Callable[[Floats], Floats],
    ) -> tuple[Codes, Codes, NDArray[np.bool_]]:
        """Candidates in the groups of least bounds, and the rows for which these are not enough."""
        m, n_groups = minima.shape
        groups, beyond = _least(minima, looked)
        steps = np.arange(0, bounds.shape[1], n_groups)
        members = (groups[:, :, None] + steps).reshape(m, -1)
        low = np.take(bounds, members + bounds.shape[1] * np.arange(m)[:, None])
        high = np.partition(low + self.widths[members], k - 1, axis=1)[:, k - 1]
        farthest = np.sqrt(np.maximum(high + (1 + 2 * self.error) * squares, 0.0)) / self.unit
        reach = (tied(farthest) * self.unit) ** 2 * (1 + 4 * SINGLE)
        cut = (reach - (1 - self.error) * squares).astype(np.float32)
        cut = np.nextafter(cut, np.float32(np.inf))
        failed = ~((beyond > cut) & (cut < FAR))
        rows, places = np.nonzero((low <= cut[:, None]) & ~failed[:, None])
        return rows, members[rows, places], failed


def _least(minima: Singles, looked: int) -> tuple[Codes, Singles]:
    """Groups (m, looked + 1) whose minima are least, and the largest of these (m,)."""
    # Values are parted in half the time of their positions.
    (m, n_groups), count = minima.shape, looked + 1
    beyond = np.partition(minima, looked, axis=1)[:, looked]
    near = np.flatnonzero(minima <= beyond[:, None])
    if len(near) > m * count:
        # More than one is equal to the largest.
        row = near // n_groups
        equal = np.take(minima, near) == beyond[row]
        room = count - np.bincount(row[~equal], minlength=m)
        rank = np.cumsum(equal)
        before = np.concatenate([[0], np.cumsum(np.bincount(row[equal], minlength=m))[:-1]])
        near = near[~equal | (rank - before[row] <= room[row])]
    if len(near) == m * count:
        return (near % n_groups).reshape(m, count), beyond
    # Some are no numbers.
    groups = np.argpartition(minima, looked, axis=1)[:, :count]
    return groups, beyond
