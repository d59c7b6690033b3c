"""Search for the k nearest rows, including all rows tied with the k-th.

Theory. Rows x become coordinates z = (x - origin) * unit, whitened for Mahalanobis distance, in which the
Euclidean distance is computed. With few columns a k-d tree finds the nearest rows (Bentley, 1975,
Communications of the ACM 18, 509-517). With many columns,

    |x - y|^2 = |x|^2 - 2 x'y + |y|^2

is one matrix product, computed in single precision about the centre with an error below g (|x|^2 + |y|^2), g
being a few roundings per column. Subtracting that error gives a lower bound of each distance. Rows are put
into groups, and only groups whose smallest bound is below the k-th distance are examined. Their distances are
computed again from x - y in float64; rounding of the product thus affects neither distances nor ties. For
queries with too many remaining groups, and for all other metrics, the distances to all rows are computed.

Group j of s contains the rows j, j + s, j + 2 s and so on; the smallest bounds of all groups then are an
elementwise minimum of slices.

Equal rows are searched as one point: a table of integers has fewer distinct points than rows. The k nearest
rows are among the k nearest points, and rows tied with the k-th are the rows of all tied points. A search
that returns more and more points, until the last one is farther than the k-th row, finds both. In the same
way more points are requested from a tree while the last point is tied with the k-th row.

Two distances are tied if they differ by no more than the rounding of the data: columns with one decimal have
ties, although 5.1 - 4.9 differs from 4.9 - 4.7 in binary.
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
"""Mean number of rows per distinct point, from which distinct points are searched instead of rows."""

PAIRS = 2**21
"""Number of pairs of a query and a tied row per block."""


def distinct_points(rows: Floats) -> tuple[Codes, Codes]:
    """Group equal rows.

    Parameters
    ----------
    rows : (n, p) float

    Returns
    -------
    order : (n,) int
        Positions that sort the rows.
    starts : (u + 1,) int
        Start of each of the u distinct rows in this order, and n.
    """
    order = np.lexsort(rows.T)
    sorted_rows = rows[order]
    new = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    return order, np.concatenate([[0], 1 + np.flatnonzero(new), [len(rows)]])


def runs(starts: Codes, lengths: Codes) -> Codes:
    """Concatenate ranges of integers.

    Parameters
    ----------
    starts, lengths : (r,) int

    Returns
    -------
    (sum of lengths,) int
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - ends + lengths, lengths) + np.arange(total))


def pieces_of_runs(lengths: Codes, most: int) -> list[slice]:
    """Split ranges into consecutive blocks.

    Parameters
    ----------
    lengths : (r,) int
        Lengths of the ranges.
    most : int
        Maximum total length of a block; a longer range is a block by itself.

    Returns
    -------
    list of slice
    """
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
    """Distinct points and the rows that are equal to each.

    Attributes
    ----------
    points : (u, p) float
        Distinct points.
    order : (n,) int
        Positions of the rows, sorted by point.
    starts, sizes : (u,) int
        Start of each point in this order, and its number of rows.
    """

    points: Floats
    order: Codes
    starts: Codes
    sizes: Codes

    @staticmethod
    def of(points: Floats) -> PointRows | None:
        """Group equal rows.

        Parameters
        ----------
        points : (n, p) float

        Returns
        -------
        PointRows or None
            None if nearly all rows are distinct.
        """
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
        """Convert the nearest points of queries to their nearest rows.

        Parameters
        ----------
        distances : (m, w) float
        nearest : (m, w) int
            Nearest points with their distances, including all points tied with the k-th row.
        limits : (m,) float
            Largest distance that is tied with the k-th row.
        k : int
        codes : (n,) int
            Classes of the rows.
        n_classes : int

        Returns
        -------
        rows : (m, k) int
        distances : (m, k) float
        beyond : (m, n_classes) int
            Fields of `Neighbours`.
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
"""Minimum number of rows for which matrix products are faster than computing all distances."""

PRODUCTS = 2**23, 2**24
"""Numbers of values of a product per block; the second applies to blocks of up to 128 queries."""

SPARE_GROUPS = 4
"""Number of groups that are examined in addition to one per neighbour."""

LARGEST_GROUP = 64
"""Maximum number of rows of a group."""

SINGLE = float(np.finfo(np.float32).eps)
"""Machine epsilon of float32."""

OF_NO_ROW = np.float32(1e37)
"""Bound of the padding of the last groups."""


class Candidates(NamedTuple):
    """Pairs of a query and a row that may be among its nearest.

    Attributes
    ----------
    rows : (c,) int
        Positions of the queries, sorted.
    members : (c,) int
        Positions of the candidate rows.
    position : (c,) int
        Number of the candidate among the candidates of its query.
    left : (m,) bool
        Queries without candidates, whose distances to all rows have to be computed.
    """

    rows: Codes
    members: Codes
    position: Codes
    left: Mask


@dataclass(frozen=True, slots=True)
class ProductFilter:
    """Rows in single precision, prepared for matrix products.

    Attributes
    ----------
    columns : (p + 1, N) float32
        Coordinates times -2, and in the last row the squared lengths less their error. N is n padded.
    widths : (N,) float32
        Twice the error g |y|^2.
    error : float
        The relative error g.
    unit : float
        Power of two that scales the rows to the range of single precision.
    rows : int
        Number n of rows.
    """

    columns: Singles
    widths: Singles
    error: float
    unit: float
    rows: int

    @staticmethod
    def of(points: Floats) -> ProductFilter | None:
        """Prepare rows (n, p); return None if there are too few to benefit."""
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
        """Number of queries per block."""
        filled = int(self.columns.shape[1])
        low, high = (max(numbers // filled, 1) for numbers in PRODUCTS)
        return max(low, min(high, 128))

    def group(self, k: int) -> int:
        """Number of rows per group, a power of two that balances the numbers of groups and members.

        One more bound of a group costs a tenth of one more member.
        """
        steps = int(np.rint(np.log2(max(self.rows / (10 * (k + SPARE_GROUPS)), 1.0)) / 2))
        return min(max(1 << steps, 4), LARGEST_GROUP)

    def reaches(self, k: int) -> bool:
        """Whether the search for k neighbours can skip groups."""
        return bool(4 * (k + SPARE_GROUPS) < self.columns.shape[1] // self.group(k))

    def buffer(self) -> Singles:
        """Allocate memory for the products of a block of queries."""
        return np.empty((self.rows_at_once, self.columns.shape[1]), dtype=np.float32)

    def candidates(self, z: Floats, k: int, tied: Callable[[Floats], Floats], buffer: Singles) -> Candidates:
        """Find the candidates for the k nearest rows of queries, including ties.

        Parameters
        ----------
        z : (m, p) float
            Queries.
        k : int
        tied : callable
            Returns the largest distances that are tied with given distances.
        buffer : float32 array
            Result of `buffer`; overwritten.

        Returns
        -------
        Candidates
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
        """Find the candidates in the groups with the smallest bounds.

        Parameters
        ----------
        bounds : (m, N) float32
            Bounds of the squared distances to all rows, less |x|^2.
        minima : (m, G) float32
            Smallest bound of each group.
        squares : (m,) float
            Squared lengths of the queries.
        k : int
        looked : int
            Number of groups to examine.
        tied : callable
            Returns the largest distances that are tied with given distances.

        Returns
        -------
        rows, members : (c,) int
            Queries and candidates.
        failed : (m,) bool
            Queries for which these groups do not suffice.
        """
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
    """Select the groups with the smallest minima.

    Parameters
    ----------
    minima : (m, G) float32
    looked : int

    Returns
    -------
    groups : (m, looked + 1) int
    beyond : (m,) float32
        The largest of the selected minima.
    """
    # Partitioning values takes half the time of partitioning positions.
    (m, n_groups), count = minima.shape, looked + 1
    beyond = np.partition(minima, looked, axis=1)[:, looked]
    near = np.flatnonzero(minima <= beyond[:, None])
    if len(near) > m * count:
        # More than one minimum equals the largest selected one.
        row = near // n_groups
        equal = np.take(minima, near) == beyond[row]
        missing = count - np.bincount(row[~equal], minlength=m)
        rank = np.cumsum(equal)
        before = np.concatenate([[0], np.cumsum(np.bincount(row[equal], minlength=m))[:-1]])
        near = near[~equal | (rank - before[row] <= missing[row])]
    if len(near) == m * count:
        return (near % n_groups).reshape(m, count), beyond
    # Some minima are NaN.
    groups = np.argpartition(minima, looked, axis=1)[:, :count]
    return groups, beyond


NORMS = {"euclidean": 2.0, "mahalanobis": 2.0, "minkowski": 2.0, "seuclidean": 2.0, "sqeuclidean": 2.0} | {
    "cityblock": 1.0,
    "chebyshev": np.inf,
}
"""Order p of the metrics that are a p-norm of x - y, squared or not. Minkowski has p = 2."""

ZERO_ONE = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of binary columns."""

NeighbourMetric = Literal[
    "euclidean", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean", "cityblock", "chebyshev",
    "braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon",
    "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule",
]  # fmt: skip
METRICS: tuple[NeighbourMetric, ...] = get_args(NeighbourMetric)
"""Metrics by the names of scipy's `cdist`."""

TREE_COLUMNS = 8
"""Maximum number of columns for which a tree is always used."""

TREE_DIRECTIONS = 4
"""Maximum effective dimension for which a tree is used with more columns."""

TREE_MOST = 10
"""Maximum number of columns for which a tree is considered."""

WIDER = 4
"""Factor by which the number of requested points grows while ties remain."""

POINTS = 2**21
"""Number of points that a tree returns per block."""

GROUP = 16
"""Number of distances of which only the minimum is partitioned first."""

MEASURED = 2**21
"""Number of distances per block."""

TIED = 1e-13
"""Relative difference below which two distances are tied, for any columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Metric and coordinates z = (x - origin) * unit, whitened for Mahalanobis distance.

    Attributes
    ----------
    metric : str
    origin, unit : (p,) float
    within : Covariance or None
        Covariance of z within classes, for Mahalanobis distance.
    slack : float
        Difference between two distances that rounding of the rows can cause.
    """

    metric: str
    origin: Floats
    unit: Floats
    within: Covariance | None
    slack: float

    @staticmethod
    def of(metric: str, origin: Floats, unit: Floats, within: Covariance | None, largest: Floats) -> Space:
        """Create a space; `slack` is derived from the largest absolute values of the rows.

        Parameters
        ----------
        metric : str
        origin, unit : (p,) float
        within : Covariance or None
        largest : (p,) float
            Largest absolute values of the columns.

        Returns
        -------
        Space
        """
        norm = NORMS.get(metric)
        if norm is None:
            return Space(metric, origin, unit, within, 16 * EPS)
        size = largest * unit
        if within is not None:
            size = size @ np.abs(within.inverse)
        return Space(metric, origin, unit, within, 4 * EPS * float(np.linalg.norm(size, norm)))

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates (m, p) of rows x (m, p), in C order."""
        z = np.subtract(x, self.origin, order="C")
        z *= self.unit
        return z if self.within is None else np.ascontiguousarray(self.within.whiten(z.T).T)

    def tied(self, distances: Floats) -> Floats:
        """Return the largest distances that are tied with given distances."""
        return distances * (1 + TIED) + self.slack


class Neighbours(NamedTuple):
    """The k nearest rows of m queries.

    Attributes
    ----------
    rows : (m, k) int
        Positions of the rows, nearest first.
    distances : (m, k) float
        Distances in the coordinates of the search.
    beyond : (m, K) int
        Number of further rows of each class that are tied with the k-th.
    """

    rows: Codes
    distances: Floats
    beyond: Codes

    def part(self, rows: slice) -> Neighbours:
        """Return views of a slice of the queries."""
        return Neighbours(self.rows[rows], self.distances[rows], self.beyond[rows])

    def without(self, own: Codes, codes: Codes) -> Neighbours:
        """Remove the query itself from its neighbours, leaving the k - 1 nearest other rows.

        Parameters
        ----------
        own : (m,) int
            Positions of the queries among the rows.
        codes : (n,) int
            Classes of the rows.

        Returns
        -------
        Neighbours
        """
        m, k = self.rows.shape
        itself = self.rows == own[:, None]
        among = itself.any(axis=1)
        # If the query is not among its own neighbours, k other rows have distance zero; remove one of them.
        place = np.where(among, itself.argmax(axis=1), k - 1)
        beyond = self.beyond.copy()
        absent = np.flatnonzero(~among)
        beyond[absent, codes[self.rows[absent, -1]]] += 1
        beyond[absent, codes[own[absent]]] -= 1
        kept = np.arange(k) != place[:, None]
        return Neighbours(self.rows[kept].reshape(m, -1), self.distances[kept].reshape(m, -1), beyond)


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourIndex:
    """Rows with their classes, indexed for searches.

    The fields after `n_classes` are built from the others; the search uses a tree, products, or neither.

    Attributes
    ----------
    space : Space
    points : (n, p) float
        Coordinates of the rows.
    codes : (n,) int
        Classes of the rows.
    n_classes : int
    cells : PointRows or None
        Rows by distinct point, if many rows are equal. The tree or the inner index then is of the points.
    tree : scipy.spatial.cKDTree or None
    products : ProductFilter or None
    inner : NeighbourIndex or None
        Index of the distinct points if they do not suit a tree.
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
        """Build the structures that find candidates."""
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
        """Find the k nearest rows of new rows.

        Parameters
        ----------
        x : (m, p) float
        k : int

        Returns
        -------
        Neighbours

        Raises
        ------
        CoreDataError
            A distance is undefined for the metric.
        """
        if self.space.metric in ZERO_ONE and len(other := np.argwhere((x != 0) & (x != 1))):
            row, column = other[0]
            raise CoreDataError(
                "not_binary", column_positions=(column,), metric=self.space.metric, value=x[row, column]
            )
        return self._nearest(self.space.coordinates(x), k)

    def among(self, start: int, stop: int, k: int) -> Neighbours:
        """Find the k nearest rows, including the row itself, of the rows in a range."""
        return self._nearest(self.points[start:stop], k)

    def others(self, start: int, stop: int, k: int) -> Neighbours:
        """Find the k nearest other rows of the rows in a range."""
        return self.among(start, stop, k + 1).without(np.arange(start, stop), self.codes)

    def blank(self, m: int, k: int) -> Neighbours:
        """Allocate a result for m queries."""
        return Neighbours(
            np.empty((m, k), dtype=np.intp), np.empty((m, k)), np.zeros((m, self.n_classes), dtype=np.intp)
        )

    def _nearest(self, z: Floats, k: int) -> Neighbours:
        """Find the k nearest rows of queries in coordinates z (m, p)."""
        m = len(z)
        n = len(self.points)
        if self.cells is not None and m > 1:
            order, starts = distinct_points(z)
            if len(starts) <= m:
                # Search once for equal queries.
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
                # Queries with too many candidates are compared with all rows.
                is_left[rows] = candidates.left
            left = np.flatnonzero(is_left)
        pieces = [left[some] for some in slices(len(left), max(MEASURED // n, 1))]
        in_threads(lambda piece: self._by_measure(z[piece], k, piece, nearest), pieces)
        return nearest

    def _by_points(self, z: Floats, k: int, nearest: Neighbours) -> Codes:
        """Search with the tree or the distinct points, and fill in the result.

        The number of points grows until they contain k rows and the last one is not tied with the k-th row.

        Parameters
        ----------
        z : (m, p) float
        k : int
        nearest : Neighbours
            Filled in.

        Returns
        -------
        (s,) int
            Queries that have to be compared with all rows.
        """
        points = self.points if self.cells is None else self.cells.points
        left = np.arange(len(z))
        width = min(k + 1, len(points))
        # A tree that returns a large fraction of its points is slower than computing every distance.
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
        """Search for a number of points, and fill in the result of queries for which they suffice.

        Parameters
        ----------
        z : (m, p) float
        k : int
        width : int
            Number of points.
        place : (m,) int
            Positions of the queries in the result.
        nearest : Neighbours
            Filled in.

        Returns
        -------
        (m,) bool
            Whether the points suffice.
        """
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
        """Compute the distances of candidates in float64 and fill in the nearest.

        Parameters
        ----------
        candidates : Candidates
        z : (m, p) float
        k : int
        nearest : Neighbours
            Filled in.
        """
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
        """Compute the distances to all rows and fill in the nearest.

        Parameters
        ----------
        z : (m, p) float
        k : int
        place : (m,) int
            Positions of the queries in the result.
        nearest : Neighbours
            Filled in.
        """
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
        """Select the k nearest from computed distances, and fill in them and the ties with the last.

        Parameters
        ----------
        distances : (m, w) float
        members : (m, w) int
            Positions of the rows.
        k : int
        place : (m,) int
            Positions of the queries in the result.
        nearest : Neighbours
            Filled in.
        """
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
    """Whether a tree of points is faster than matrix products.

    With more than a few columns this requires a low effective dimension, (sum of l)^2 / (sum of l^2) with l
    the eigenvalues of the covariance. Only Euclidean distances have matrix products.
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
    """Number of worker threads; one if threads cannot be started, for example in a browser."""
    try:
        thread = Thread(target=int)
        thread.start()
    except RuntimeError:
        return 1
    thread.join()
    return os.cpu_count() or 1


def in_threads(task: Callable[[Codes], None], pieces: Sequence[Codes]) -> None:
    """Apply a task to blocks of rows, in parallel on all processors.

    Parameters
    ----------
    task : callable
        Function of the positions of the rows of a block.
    pieces : sequence of int arrays
        Positions of the rows of each block.
    """
    if len(pieces) < 2 or processors() == 1:
        for piece in pieces:
            task(piece)
            refresh_progress()
        return
    with ThreadPoolExecutor(processors()) as pool:
        for _ in pool.map(task, pieces):
            refresh_progress()


def undefined(metric: str, z: Floats) -> tuple[str, Mask]:
    """Explain when a metric is undefined.

    Parameters
    ----------
    metric : str
    z : (m, p) float

    Returns
    -------
    cause : str
    mask : (m,) bool
        Rows whose distance to every other row is undefined.
    """
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
