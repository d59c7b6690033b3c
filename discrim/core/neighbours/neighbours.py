"""Nearest rows, all that are as near as the k-th among them.

Theory. Rows x become coordinates z = (x - origin) * unit, whitened for Mahalanobis' distance, in which the
Euclidean distance is taken. Of few columns a k-d tree finds the nearest rows (Bentley, 1975, Communications
of the ACM 18, 509-517). Of many,

    |x - y|^2 = |x|^2 - 2 x'y + |y|^2

is one matrix product, in single precision and about the centre, of which the error is below g (|x|^2 + |y|^2)
with g a few roundings a column. Less that error it is a lower bound of each distance: rows go to groups, and
only groups whose least bound is below the k-th distance are looked into. What is left is measured again from
x - y in double precision, so that no digit of a distance, and no tie, comes from the product. Rows for which
too many groups are left, and all other metrics, are measured one by one.

Group j of s holds the rows j, j + s, j + 2 s and so on, so that the least bounds of all groups are an
elementwise minimum of slices.

Rows that coincide are searched for as one point: a table of whole numbers has fewer points than rows. The k
nearest rows are in the k nearest points at most, and those as near as the k-th are the rows of all points as
near: a search that is given more points until the last of them is farther finds both. A tree, too, is asked
for more points where the last of those that it gave is tied with the k-th.

Two distances are tied where they differ by no more than the rounding of the numbers that they are made of:
columns with one decimal have ties, though 5.1 - 4.9 is not 4.9 - 4.7 in binary.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from threading import Thread
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS, Covariance
from discrim.core.errors import CoreDataError
from discrim.core.numerics.arrays import Codes, Floats, Mask, slices
from discrim.core.numerics.progress import refresh_progress

ROWS = 2
"""Rows of a point, in the mean, from which on points are searched in their place."""

PAIRS = 2**21
"""Pairs of a query and a row beyond its k-th that are in memory at once."""


def distinct_points(rows: Floats) -> tuple[Codes, Codes]:
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


def pieces_of_runs(lengths: Codes, most: int) -> list[slice]:
    """Pieces of runs of some lengths, of no more than `most` numbers in all unless one alone has more."""
    ends = np.cumsum(lengths)
    start = 0
    parts = []
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), start + 1)
        parts.append(slice(start, stop))
        start = stop
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class PointRows:
    """The rows of each of the points (u, p) that differ.

    The rows come point after point in their order (n,), where those of each begin at its start (u,) and are
    of its size (u,).
    """

    points: Floats
    order: Codes
    starts: Codes
    sizes: Codes

    @staticmethod
    def of(points: Floats) -> PointRows | None:
        """Of rows (n, p); None where nearly all of them differ."""
        n = len(points)
        if any(ROWS * len(np.unique(column)) > n for column in points.T):
            return None
        order, starts = distinct_points(points)
        if ROWS * (len(starts) - 1) > n:
            return None
        return PointRows(points[order[starts[:-1]]], order, starts[:-1], np.diff(starts))

    def nearest_rows(
        self, distances: Floats, nearest: Codes, limits: Floats, k: int, codes: Codes, n_classes: int
    ) -> tuple[Codes, Floats, Codes]:
        """What the nearest points (m, w) say of the nearest rows; as the fields of `Neighbours`.

        All points that are as near as the k-th row are among them, which are those up to the limits (m,).
        """
        m = len(nearest)
        sizes = self.sizes[nearest]
        starts = self.starts[nearest]
        taken = np.clip(k + sizes - np.cumsum(sizes, axis=1), 0, sizes)
        beyond = np.zeros((m, n_classes), dtype=np.intp)
        more = np.where(distances <= limits[:, None], sizes - taken, 0)
        lengths = more.sum(axis=1)
        for piece in pieces_of_runs(lengths, PAIRS):
            members = self.order[runs((starts + taken)[piece].ravel(), more[piece].ravel())]
            rows = np.repeat(np.arange(len(lengths[piece])), lengths[piece])
            cells = np.bincount(rows * n_classes + codes[members], minlength=len(lengths[piece]) * n_classes)
            beyond[piece] = cells.reshape(-1, n_classes)
        first = self.order[runs(starts.ravel(), taken.ravel())]
        return first.reshape(m, k), np.repeat(distances.ravel(), taken.ravel()).reshape(m, k), beyond


Singles = NDArray[np.float32]

FEWEST_ROWS = 1024
"""Rows from which products are worth their trouble."""

PRODUCTS = 2**23, 2**24
"""Numbers of a product that are in memory at once; the second where the first is few of so many rows."""

SPARE_GROUPS = 4
"""Groups that are looked into beyond one for each neighbour."""

LARGEST_GROUP = 64

SINGLE = float(np.finfo(np.float32).eps)

OF_NO_ROW = np.float32(1e37)
"""Bound of what fills up the last groups in place of rows."""


class Candidates(NamedTuple):
    """Pairs of a query and a row that may be among its nearest.

    Of each pair (c,): the positions of the query, in order, and of the candidate among the rows, and its
    number among those of its query. Queries that are left, (m,), have no candidates: their nearest may be
    elsewhere.
    """

    rows: Codes
    members: Codes
    position: Codes
    left: Mask


@dataclass(frozen=True, slots=True)
class ProductFilter:
    """Rows in single precision, ready to be multiplied.

    The columns (p + 1, N) are coordinates times -2, and below them the squared lengths less their error, N
    being n filled up; the widths (N,) are twice the error g |y|^2. The unit is a power of two that brings the
    rows to the range of single precision.
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
        columns[p] = OF_NO_ROW
        for piece in slices(n, max(2**20 // p, 1)):
            z = points[piece] * unit
            columns[:p, piece] = -2 * z.T
            squares = np.einsum("ij,ij->i", z, z)
            columns[p, piece] = (1 - error) * squares
            widths[piece] = 2 * error * squares
        return ProductFilter(columns, widths, error, unit, n)

    @property
    def rows_at_once(self) -> int:
        """Queries whose products are in memory at once."""
        filled = int(self.columns.shape[1])
        low, high = (max(numbers // filled, 1) for numbers in PRODUCTS)
        return max(low, min(high, 128))

    def group(self, k: int) -> int:
        """Rows of a group, a power of two: one more least bound costs a tenth of one more member."""
        steps = int(np.rint(np.log2(max(self.rows / (10 * (k + SPARE_GROUPS)), 1.0)) / 2))
        return min(max(1 << steps, 4), LARGEST_GROUP)

    def reaches(self, k: int) -> bool:
        """Whether k neighbours leave groups to be passed over."""
        return bool(4 * (k + SPARE_GROUPS) < self.columns.shape[1] // self.group(k))

    def buffer(self) -> Singles:
        """Memory for the products of the queries at once."""
        return np.empty((self.rows_at_once, self.columns.shape[1]), dtype=np.float32)

    def candidates(self, z: Floats, k: int, tied: Callable[[Floats], Floats], buffer: Singles) -> Candidates:
        """Candidates for the k nearest of queries z (m, p), and for what is tied with the k-th.

        From distances to the largest that are tied with them leads `tied`; the buffer is written to.
        """
        refresh_progress()
        m, p = z.shape
        queries = np.ones((m, p + 1), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scaled = z * self.unit
            queries[:, :p] = scaled
            squares = np.einsum("ij,ij->i", scaled, scaled)
            bounds = np.matmul(queries, self.columns, out=buffer[:m])
            group = self.group(k)
            minima = bounds.reshape(m, group, -1).min(axis=1)
            parts = []
            left = np.arange(m)
            for looked in (k + SPARE_GROUPS, 4 * (k + SPARE_GROUPS)):
                some = bounds[left] if len(left) < m else bounds
                rows, members, failed = self._look(some, minima[left], squares[left], k, looked, tied)
                parts.append((left[rows], members))
                left = left[failed]
                if not len(left):
                    break
        rows = np.concatenate([part[0] for part in parts])
        members = np.concatenate([part[1] for part in parts])
        if len(parts) > 1:
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
            members = members[order]
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
    ) -> tuple[Codes, Codes, Mask]:
        """Candidates in the groups of least bounds, and the queries for which these are not enough."""
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
        failed = ~((beyond > cut) & (cut < OF_NO_ROW))
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
        missing = count - np.bincount(row[~equal], minlength=m)
        rank = np.cumsum(equal)
        before = np.concatenate([[0], np.cumsum(np.bincount(row[equal], minlength=m))[:-1]])
        near = near[~equal | (rank - before[row] <= missing[row])]
    if len(near) == m * count:
        return (near % n_groups).reshape(m, count), beyond
    # Some are no numbers.
    groups = np.argpartition(minima, looked, axis=1)[:, :count]
    return groups, beyond


NORMS = {"euclidean": 2.0, "mahalanobis": 2.0, "minkowski": 2.0, "seuclidean": 2.0, "sqeuclidean": 2.0} | {
    "cityblock": 1.0,
    "chebyshev": np.inf,
}
"""Metrics that are a norm of x - y, squared or not: minkowski is that of p = 2."""

ZERO_ONE = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of columns of zeros and ones."""

NeighbourMetric = Literal[
    "euclidean", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean", "cityblock", "chebyshev",
    "braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon",
    "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule",
]  # fmt: skip
METRICS: tuple[NeighbourMetric, ...] = get_args(NeighbourMetric)
"""Metrics by the names of scipy's `cdist`."""

TREE_COLUMNS = 8
"""Columns up to which a tree is as fast as products, or faster."""

TREE_DIRECTIONS = 4
"""Directions in which rows of more columns spread, up to which it is."""

TREE_MOST = 10
"""Columns beyond which no tree is thought of."""

WIDER = 4
"""How many times as many points a tree is asked for next, where those that it gave are tied."""

POINTS = 2**21
"""Points that a tree is asked for at once."""

GROUP = 16
"""Distances of which only the least is sorted first."""

MEASURED = 2**21
"""Distances that are in memory at once."""

TIED = 1e-13
"""Relative difference of two distances below which they are one, whatever the columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Coordinates in which distances are taken: z = (x - origin) * unit, (p,) each, whitened.

    They have the covariance of z within classes, where there is one, as their unit. The slack is the
    difference of two distances that the rounding of the rows can make.
    """

    metric: str
    origin: Floats
    unit: Floats
    within: Covariance | None
    slack: float

    @staticmethod
    def of(metric: str, origin: Floats, unit: Floats, within: Covariance | None, largest: Floats) -> Space:
        """With the slack of rows whose largest absolute values are given, (p,)."""
        norm = NORMS.get(metric)
        if norm is None:
            return Space(metric, origin, unit, within, 16 * EPS)
        size = largest * unit
        if within is not None:
            size = size @ np.abs(within.inverse)
        return Space(metric, origin, unit, within, 4 * EPS * float(np.linalg.norm(size, norm)))

    def coordinates(self, x: Floats) -> Floats:
        """The coordinates (m, p) of rows x (m, p), row by row in memory."""
        z = np.subtract(x, self.origin, order="C")
        z *= self.unit
        return z if self.within is None else np.ascontiguousarray(self.within.whiten(z.T).T)

    def tied(self, distances: Floats) -> Floats:
        """Up to where another distance is tied with these."""
        return distances * (1 + TIED) + self.slack


class Neighbours(NamedTuple):
    """The k nearest of n rows, and how many more are as near as the k-th.

    Rows (m, k) are positions, nearest first, and distances (m, k) are in the coordinates of the search.
    Beyond them are (m, K) rows of each class that are as near as the k-th and not among the k.
    """

    rows: Codes
    distances: Floats
    beyond: Codes

    def part(self, rows: slice) -> Neighbours:
        """Views of those of some queries."""
        return Neighbours(self.rows[rows], self.distances[rows], self.beyond[rows])

    def without(self, own: Codes, codes: Codes) -> Neighbours:
        """The k - 1 nearest of the other rows, where the queries were rows themselves, own (m,)."""
        m, k = self.rows.shape
        itself = self.rows == own[:, None]
        among = itself.any(axis=1)
        # A row that is not among its own nearest has k others at no distance: one of them is given up.
        place = np.where(among, itself.argmax(axis=1), k - 1)
        beyond = self.beyond.copy()
        absent = np.flatnonzero(~among)
        beyond[absent, codes[self.rows[absent, -1]]] += 1
        beyond[absent, codes[own[absent]]] -= 1
        kept = np.arange(k) != place[:, None]
        return Neighbours(self.rows[kept].reshape(m, -1), self.distances[kept].reshape(m, -1), beyond)


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourIndex:
    """Rows with their classes, ready to be searched, of which the coordinates are points (n, p).

    Where the points that differ are fewer than the rows, cells have the rows by points, and the tree, scipy's
    cKDTree, or the inner index is of the points.
    """

    space: Space
    points: Floats
    codes: Codes
    n_classes: int
    cells: PointRows | None = field(init=False, repr=False)
    tree: Any = field(init=False, repr=False)
    products: ProductFilter | None = field(init=False, repr=False)
    inner: NeighbourIndex | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make ready what finds the candidates."""
        norm = NORMS.get(self.space.metric)
        cells = PointRows.of(self.points)
        points = self.points if cells is None else cells.points
        tree: Any = None
        inner = products = None
        if norm is not None and _suits_a_tree(points, norm):
            from scipy.spatial import cKDTree

            tree = cKDTree(points)
        elif cells is not None:
            inner = NeighbourIndex(self.space, points, np.zeros(len(points), dtype=np.intp), 1)
        elif norm == 2:
            products = ProductFilter.of(points)
        for name, value in (("cells", cells), ("tree", tree), ("products", products), ("inner", inner)):
            object.__setattr__(self, name, value)

    def nearest(self, x: Floats, k: int) -> Neighbours:
        """The k nearest of the rows to each of x (m, p); a DataError where the metric gives no distance."""
        if self.space.metric in ZERO_ONE and len(other := np.argwhere((x != 0) & (x != 1))):
            row, column = other[0]
            raise CoreDataError(
                "not_binary", column_positions=(column,), metric=self.space.metric, value=x[row, column]
            )
        return self._nearest(self.space.coordinates(x), k)

    def among(self, start: int, stop: int, k: int) -> Neighbours:
        """The k nearest rows, themselves among them, to the rows from start to stop."""
        return self._nearest(self.points[start:stop], k)

    def others(self, start: int, stop: int, k: int) -> Neighbours:
        """The k nearest other rows to the rows from start to stop."""
        return self.among(start, stop, k + 1).without(np.arange(start, stop), self.codes)

    def blank(self, m: int, k: int) -> Neighbours:
        """To be filled in, for m rows."""
        return Neighbours(
            np.empty((m, k), dtype=np.intp), np.empty((m, k)), np.zeros((m, self.n_classes), dtype=np.intp)
        )

    def _nearest(self, z: Floats, k: int) -> Neighbours:
        m = len(z)
        n = len(self.points)
        if self.cells is not None and m > 1:
            order, starts = distinct_points(z)
            if len(starts) <= m:
                # Each of queries that are equal is searched for once.
                nearest = self._nearest(z[order[starts[:-1]]], k)
                of = np.empty(m, dtype=np.intp)
                of[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
                return Neighbours(nearest.rows[of], nearest.distances[of], nearest.beyond[of])
        nearest = self.blank(m, k)
        left = np.arange(m)
        if self.tree is not None or self.cells is not None:
            left = self._by_points(z, k, nearest)
        elif self.products is not None and self.products.reaches(k):
            is_left = np.ones(m, dtype=bool)
            buffer = self.products.buffer()
            for rows in slices(m, self.products.rows_at_once):
                candidates = self.products.candidates(z[rows], k, self.space.tied, buffer)
                self._remeasure(candidates, z[rows], k, nearest.part(rows))
                # Queries with too many candidates are measured.
                is_left[rows] = candidates.left
            left = np.flatnonzero(is_left)
        pieces = [left[some] for some in slices(len(left), max(MEASURED // n, 1))]
        in_threads(lambda piece: self._by_measure(z[piece], k, piece, nearest), pieces)
        return nearest

    def _by_points(self, z: Floats, k: int, nearest: Neighbours) -> Codes:
        """Fill in what the nearest points tell; positions of queries that are left to be measured.

        More points are looked for where these are too few, or the last of them is tied with the k-th row.
        """
        points = self.points if self.cells is None else self.cells.points
        left = np.arange(len(z))
        width = min(k + 1, len(points))
        # A tree that gives a large part of its points is slower than measuring every distance.
        most = len(points) if self.cells is not None else max(len(points) // GROUP, width)
        while len(left):
            too_few = []
            for some in slices(len(left), max(POINTS // width, 1)):
                rows = left[some]
                too_few.append(rows[~self._take_points(z[rows], k, width, rows, nearest)])
                refresh_progress()
            left = np.concatenate(too_few)
            if width == most:
                break
            width = min(WIDER * width, most)
        return left

    def _take_points(self, z: Floats, k: int, width: int, place: Codes, nearest: Neighbours) -> Mask:
        """Whether so many points are enough; where they are, what they tell is filled in at places (m,)."""
        if self.tree is not None:
            norm = NORMS[self.space.metric]
            distances, points = self.tree.query(z, k=np.arange(1, width + 1), p=norm, workers=processors())
        elif self.inner is not None:
            points, distances, _ = self.inner._nearest(z, width)
        at = np.full(len(z), k - 1)
        if self.cells is not None:
            at = (np.cumsum(self.cells.sizes[points], axis=1) < k).sum(axis=1)
        limits = self.space.tied(distances[np.arange(len(z)), np.minimum(at, width - 1)])
        whole = width == (len(self.points) if self.cells is None else len(self.cells.points))
        enough = (at < width) & ((distances[:, -1] > limits) | whole)
        kept = np.flatnonzero(enough)
        rows = place[enough]
        if self.cells is not None:
            part = self.cells.nearest_rows(
                distances[kept], points[kept], limits[kept], k, self.codes, self.n_classes
            )
            nearest.rows[rows], nearest.distances[rows], nearest.beyond[rows] = part
            return np.asarray(enough)
        nearest.rows[rows], nearest.distances[rows] = points[kept, :k], distances[kept, :k]
        row, more = np.nonzero(distances[kept, k:] <= limits[kept, None])
        np.add.at(nearest.beyond, (rows[row], self.codes[points[kept[row], k + more]]), 1)
        return np.asarray(enough)

    def _remeasure(self, candidates: Candidates, z: Floats, k: int, nearest: Neighbours) -> None:
        """Fill in the nearest of the candidates, by their distances in double precision."""
        rows = candidates.rows
        width = candidates.position.max(initial=-1) + 1
        distances = np.full((len(z), width), np.inf)
        members = np.zeros((len(z), width), dtype=np.intp)
        gaps = np.empty(len(rows))
        for piece in slices(len(rows), max(2**18 // z.shape[1], 1)):
            gap = z[rows[piece]] - self.points[candidates.members[piece]]
            gaps[piece] = np.sqrt(np.einsum("ij,ij->i", gap, gap))
        distances[rows, candidates.position] = gaps
        members[rows, candidates.position] = candidates.members
        kept = np.flatnonzero(~candidates.left)
        if not len(kept):
            return
        order = np.argsort(distances[kept], axis=1)
        near = np.take_along_axis(distances[kept], order, axis=1)
        members = np.take_along_axis(members[kept], order, axis=1)
        nearest.rows[kept], nearest.distances[kept] = members[:, :k], near[:, :k]
        row, more = np.nonzero(near[:, k:] <= self.space.tied(near[:, k - 1 : k]))
        np.add.at(nearest.beyond, (kept[row], self.codes[members[row, k + more]]), 1)

    def _by_measure(self, z: Floats, k: int, place: Codes, nearest: Neighbours) -> None:
        """Fill in, at places (m,), what measuring the distance to every row tells."""
        from scipy.spatial.distance import cdist

        name = "euclidean" if NORMS.get(self.space.metric) == 2 else self.space.metric
        measured = z != 0 if name in ZERO_ONE else z
        points: Any = self.points != 0 if name in ZERO_ONE else self.points
        with np.errstate(invalid="ignore", divide="ignore"):
            distances = cdist(measured, points, name)
        if np.isnan(distances.min()):
            raise CoreDataError("undefined_distance", metric=name, cause=undefined(name, z)[0])
        members = np.broadcast_to(np.arange(len(points)), distances.shape)
        self.settle(distances, members, k, place, nearest)

    def settle(self, distances: Floats, members: Codes, k: int, place: Codes, nearest: Neighbours) -> None:
        """Fill in, at places (m,), the k nearest of members (m, w), and what is tied with the last."""
        m, width = distances.shape
        groups = width // GROUP
        smallest = distances
        if groups > 2 * k:
            # The k-th smallest of the minima of groups is an upper bound of the k-th smallest distance.
            smallest = distances[:, : groups * GROUP].reshape(m, GROUP, groups).min(axis=1)
        bounds = np.partition(smallest, k - 1, axis=1)[:, k - 1]
        row, at = np.nonzero(distances <= self.space.tied(bounds)[:, None])
        near = distances[row, at]
        order = np.lexsort((near, row))
        row = row[order]
        at = at[order]
        near = near[order]
        counts = np.bincount(row, minlength=m)
        starts = np.cumsum(counts) - counts
        rank = np.arange(len(row)) - np.repeat(starts, counts)
        first = rank < k
        nearest.rows[place] = members[row[first], at[first]].reshape(m, k)
        nearest.distances[place] = near[first].reshape(m, k)
        more = ~first & (near <= self.space.tied(near[starts + k - 1])[row])
        cells = row[more] * self.n_classes + self.codes[members[row[more], at[more]]]
        nearest.beyond[place] = np.bincount(cells, minlength=m * self.n_classes).reshape(m, self.n_classes)


def _suits_a_tree(points: Floats, norm: float) -> bool:
    """Whether a tree of points is faster than products: they spread in few directions.

    Their number is (sum of l)^2 / (sum of l^2), with l the eigenvalues of the covariance. Only Euclidean
    distances have products.
    """
    p = int(points.shape[1])
    if p <= TREE_COLUMNS or p > TREE_MOST:
        return p <= TREE_COLUMNS
    if norm != 2:
        return True
    some = points[:: max(len(points) // 4096, 1)]
    squares = (some - some.mean(axis=0)).T @ (some - some.mean(axis=0))
    size = float((squares**2).sum())
    return bool(not size > 0 or float(np.trace(squares)) ** 2 <= TREE_DIRECTIONS * size)


@cache
def processors() -> int:
    """How many pieces can be worked on at once: one where no thread can start, as in a browser."""
    try:
        thread = Thread(target=int)
        thread.start()
    except RuntimeError:
        return 1
    thread.join()
    return os.cpu_count() or 1


def in_threads(task: Callable[[Codes], None], pieces: Sequence[Codes]) -> None:
    """A task of each piece of rows, as many at once as there are processors."""
    if len(pieces) < 2 or processors() == 1:
        for piece in pieces:
            task(piece)
            refresh_progress()
        return
    with ThreadPoolExecutor(processors()) as pool:
        for _ in pool.map(task, pieces):
            refresh_progress()


def undefined(metric: str, z: Floats) -> tuple[str, Mask]:
    """When a metric gives no distance, in words, and which of rows z (m, p) have one to no other row."""
    if metric == "cosine":
        return "a row is all zero", (z == 0).all(axis=1)
    if metric == "correlation":
        return "all columns of a row are equal", (z == z[:, :1]).all(axis=1)
    if metric == "jensenshannon":
        return "a row has a negative value, or is all zero", (z < 0).any(axis=1) | (z == 0).all(axis=1)
    never = np.zeros(len(z), dtype=bool)
    if metric == "braycurtis":
        return "two rows are all zero, or cancel", never
    return "the formula of the metric is 0/0 there", never
