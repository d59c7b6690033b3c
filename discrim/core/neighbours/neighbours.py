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

from discrim.core.covariance.covariance import Covariance
from discrim.core.errors import CoreDataError
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.core.numerics.progress import refresh_progress

MIN_ROWS_PER_POINT = 2
"""Mean number of rows per distinct point, from which distinct points are searched instead of rows."""

MAX_BLOCK_PAIRS = 2**21
"""Number of pairs of a query and a tied row per block."""


def distinct_points(rows: Floats) -> tuple[Codes, Codes]:
    """Group equal rows.

    Parameters
    ----------
    rows : (n, p) float
        Rows of an array.

    Returns
    -------
    order : (n,) int
        Positions that sort the rows.
    starts : (u + 1,) int
        Start of each of the u distinct rows in this order, and n.
    """
    order = np.lexsort(rows.T)
    sorted_rows = rows[order]
    is_new = (sorted_rows[1:] != sorted_rows[:-1]).any(axis=1)
    return order, np.concatenate([[0], 1 + np.flatnonzero(is_new), [len(rows)]])


def concatenate_ranges(starts: Codes, lengths: Codes) -> Codes:
    """Concatenate the ranges start, ..., start + length - 1 of integers.

    Parameters
    ----------
    starts, lengths : (r,) int
        First integer and length of each range.

    Returns
    -------
    (sum of lengths,) int
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.repeat(starts - ends + lengths, lengths) + np.arange(total))


def split_ranges(lengths: Codes, max_length: int) -> list[slice]:
    """Split ranges into consecutive blocks.

    Parameters
    ----------
    lengths : (r,) int
        Lengths of the ranges.
    max_length : int
        Maximum total length of a block; a longer range is a block by itself.

    Returns
    -------
    list of slice
        Slices of the r ranges that form each block; empty without ranges.
    """
    ends = np.cumsum(lengths)
    start = 0
    blocks = []
    while start < len(lengths):
        n_before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, n_before + max_length, side="right")), start + 1)
        blocks.append(slice(start, stop))
        start = stop
    return blocks


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
    def from_points(points: Floats) -> PointRows | None:
        """Group equal rows, if many are equal.

        Parameters
        ----------
        points : (n, p) float
            Coordinates of the rows.

        Returns
        -------
        PointRows or None
            None if more than n / `MIN_ROWS_PER_POINT` rows are distinct.
        """
        n = len(points)
        if any(MIN_ROWS_PER_POINT * len(np.unique(column)) > n for column in points.T):
            return None
        order, starts = distinct_points(points)
        if MIN_ROWS_PER_POINT * (len(starts) - 1) > n:
            return None
        return PointRows(points[order[starts[:-1]]], order, starts[:-1], np.diff(starts))

    def nearest_rows(
        self, distances: Floats, nearest: Codes, limits: Floats, k: int, codes: Codes, n_classes: int
    ) -> tuple[Codes, Floats, Codes]:
        """Convert the nearest distinct points of queries to their nearest rows, and count tied rows.

        Parameters
        ----------
        distances : (m, w) float
            Distances of each query from its w nearest points, ascending.
        nearest : (m, w) int
            Positions of these points, which include all points tied with the k-th row.
        limits : (m,) float
            Largest distance that is tied with the k-th row.
        k : int
            Number of neighbours.
        codes : (n,) int
            Classes of the rows.
        n_classes : int
            Number of classes.

        Returns
        -------
        rows : (m, k) int
            Positions of the k nearest rows, nearest first.
        distances : (m, k) float
            Their distances.
        tied_counts : (m, n_classes) int
            Numbers of rows by class that are tied with the k-th and not among the k.
        """
        m = len(nearest)
        sizes = self.sizes[nearest]
        starts = self.starts[nearest]
        n_taken = np.clip(k + sizes - np.cumsum(sizes, axis=1), 0, sizes)
        tied_counts = np.zeros((m, n_classes), dtype=np.intp)
        n_tied = np.where(distances <= limits[:, None], sizes - n_taken, 0)
        tied_per_query = n_tied.sum(axis=1)
        for block in split_ranges(tied_per_query, MAX_BLOCK_PAIRS):
            members = self.order[concatenate_ranges((starts + n_taken)[block].ravel(), n_tied[block].ravel())]
            rows = np.repeat(np.arange(len(tied_per_query[block])), tied_per_query[block])
            cells = np.bincount(
                rows * n_classes + codes[members], minlength=len(tied_per_query[block]) * n_classes
            )
            tied_counts[block] = cells.reshape(-1, n_classes)
        first = self.order[concatenate_ranges(starts.ravel(), n_taken.ravel())]
        return first.reshape(m, k), np.repeat(distances.ravel(), n_taken.ravel()).reshape(m, k), tied_counts


SingleFloats = NDArray[np.float32]
"""Array of float32."""

MIN_PRODUCT_ROWS = 1024
"""Minimum number of rows for which matrix products are faster than computing all distances."""

MAX_BLOCK_PRODUCTS = 2**23, 2**24
"""Numbers of values of a product per block; the second applies to blocks of up to 128 queries."""

N_SPARE_GROUPS = 4
"""Number of groups that are examined in addition to one per neighbour."""

MAX_GROUP_SIZE = 64
"""Maximum number of rows of a group."""

FLOAT32_EPS = float(np.finfo(np.float32).eps)
"""Machine epsilon of float32."""

PADDING_BOUND = np.float32(1e37)
"""Bound of the padding of the last groups."""


class Candidates(NamedTuple):
    """Pairs of a query and a row that may be among its nearest.

    Attributes
    ----------
    queries : (c,) int
        Positions of the queries, sorted.
    members : (c,) int
        Positions of the candidate rows.
    candidate_index : (c,) int
        Number of the candidate among the candidates of its query.
    unresolved : (m,) bool
        Queries without candidates, whose distances to all rows have to be computed.
    """

    queries: Codes
    members: Codes
    candidate_index: Codes
    unresolved: Mask


@dataclass(frozen=True, slots=True)
class ProductFilter:
    """Filter that finds candidate neighbours by lower bounds of distances from single-precision products.

    Attributes
    ----------
    columns : (p + 1, N) float32
        Coordinates y of the rows times -2, and in the last row their squared lengths less their error. N is n
        rounded up to a multiple of `MAX_GROUP_SIZE`.
    doubled_errors : (N,) float32
        Twice the error g |y|^2.
    relative_error : float
        The relative error g.
    unit : float
        Power of two that scales the rows to the range of single precision.
    n_rows : int
        Number n of rows.
    """

    columns: SingleFloats
    doubled_errors: SingleFloats
    relative_error: float
    unit: float
    n_rows: int

    @staticmethod
    def from_points(points: Floats) -> ProductFilter | None:
        """Create the filter of rows (n, p); return None for fewer than `MIN_PRODUCT_ROWS` rows."""
        n, p = points.shape
        if n < MIN_PRODUCT_ROWS:
            return None
        error = 2 * (p + 8) * FLOAT32_EPS
        max_value = float(np.abs(points).max())
        unit = 2.0 ** -np.frexp(max_value)[1] if max_value > 0 else 1.0
        n_padded = -(-n // MAX_GROUP_SIZE) * MAX_GROUP_SIZE
        columns = np.zeros((p + 1, n_padded), dtype=np.float32)
        widths = np.zeros(n_padded, dtype=np.float32)
        columns[p] = PADDING_BOUND
        for chunk in slices(n, max(2**20 // p, 1)):
            z = points[chunk] * unit
            columns[:p, chunk] = -2 * z.T
            squares = np.einsum("ij,ij->i", z, z)
            columns[p, chunk] = (1 - error) * squares
            widths[chunk] = 2 * error * squares
        return ProductFilter(columns, widths, error, unit, n)

    @property
    def queries_per_block(self) -> int:
        """Number of queries whose products with all rows are computed at once."""
        n_padded = int(self.columns.shape[1])
        low, high = (max(max_values // n_padded, 1) for max_values in MAX_BLOCK_PRODUCTS)
        return max(low, min(high, 128))

    def group_size(self, k: int) -> int:
        """Return the number of rows per group, a power of two that balances bounds against distances.

        One more bound of a group costs a tenth of one more member.
        """
        steps = int(np.rint(np.log2(max(self.n_rows / (10 * (k + N_SPARE_GROUPS)), 1.0)) / 2))
        return min(max(1 << steps, 4), MAX_GROUP_SIZE)

    def can_skip_groups(self, k: int) -> bool:
        """Return whether a search of k neighbours can skip groups of rows.

        It can if the number of groups is above 4 (k + `N_SPARE_GROUPS`), the largest number that is examined.
        """
        return bool(4 * (k + N_SPARE_GROUPS) < self.columns.shape[1] // self.group_size(k))

    def buffer(self) -> SingleFloats:
        """Return an array (`queries_per_block`, N) float32, not set, for the products of a block."""
        return np.empty((self.queries_per_block, self.columns.shape[1]), dtype=np.float32)

    def candidates(
        self, z: Floats, k: int, tie_limit: Callable[[Floats], Floats], buffer: SingleFloats
    ) -> Candidates:
        """Find pairs of queries and rows that may be among the k nearest, or tied with the k-th.

        Parameters
        ----------
        z : (m, p) float
            Coordinates of the queries; m is at most `queries_per_block`.
        k : int
            Number of neighbours.
        tie_limit : callable
            Returns the largest distances that are tied with given distances.
        buffer : float32 array
            Result of `buffer`; overwritten.

        Returns
        -------
        Candidates
            A query is unresolved if 4 (k + `N_SPARE_GROUPS`) groups may not contain all its nearest or tied
            rows.
        """
        refresh_progress()
        m, p = z.shape
        queries = np.ones((m, p + 1), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            scaled = z * self.unit
            queries[:, :p] = scaled
            squares = np.einsum("ij,ij->i", scaled, scaled)
            bounds = np.matmul(queries, self.columns, out=buffer[:m])
            group_size = self.group_size(k)
            minima = bounds.reshape(m, group_size, -1).min(axis=1)
            found_pairs = []
            unresolved = np.arange(m)
            for n_examined in (k + N_SPARE_GROUPS, 4 * (k + N_SPARE_GROUPS)):
                query_bounds = bounds[unresolved] if len(unresolved) < m else bounds
                rows, members, failed = self._examine_groups(
                    query_bounds, minima[unresolved], squares[unresolved], k, n_examined, tie_limit
                )
                found_pairs.append((unresolved[rows], members))
                unresolved = unresolved[failed]
                if not len(unresolved):
                    break
        rows = np.concatenate([pair[0] for pair in found_pairs])
        members = np.concatenate([pair[1] for pair in found_pairs])
        if len(found_pairs) > 1:
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
            members = members[order]
        counts = np.bincount(rows, minlength=m)
        position = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        failed = np.zeros(m, dtype=bool)
        failed[unresolved] = True
        return Candidates(rows, members, position, failed)

    def _examine_groups(
        self,
        bounds: SingleFloats,
        minima: SingleFloats,
        squares: Floats,
        k: int,
        n_examined: int,
        tie_limit: Callable[[Floats], Floats],
    ) -> tuple[Codes, Codes, Mask]:
        """Find the candidates of queries in the groups of rows with the smallest bounds of the distance.

        Parameters
        ----------
        bounds : (m, N) float32
            Bounds of the squared distances to all rows, less |x|^2.
        minima : (m, G) float32
            Smallest bound of each of the G groups of rows.
        squares : (m,) float
            Squared lengths of the queries.
        k : int
            Number of neighbours.
        n_examined : int
            Number of groups to examine.
        tie_limit : callable
            Returns the largest distances that are tied with given distances.

        Returns
        -------
        rows, members : (c,) int
            Positions of the queries, ascending, and of the rows that are their candidates.
        failed : (m,) bool
            Queries for which these groups do not suffice.
        """
        m, n_groups = minima.shape
        groups, next_minimum = _smallest_groups(minima, n_examined)
        steps = np.arange(0, bounds.shape[1], n_groups)
        members = (groups[:, :, None] + steps).reshape(m, -1)
        lower_bounds = np.take(bounds, members + bounds.shape[1] * np.arange(m)[:, None])
        upper_bounds = np.partition(lower_bounds + self.doubled_errors[members], k - 1, axis=1)[:, k - 1]
        max_distance = (
            np.sqrt(np.maximum(upper_bounds + (1 + 2 * self.relative_error) * squares, 0.0)) / self.unit
        )
        max_squared = (tie_limit(max_distance) * self.unit) ** 2 * (1 + 4 * FLOAT32_EPS)
        bound_limit = (max_squared - (1 - self.relative_error) * squares).astype(np.float32)
        bound_limit = np.nextafter(bound_limit, np.float32(np.inf))
        failed = ~((next_minimum > bound_limit) & (bound_limit < PADDING_BOUND))
        rows, position = np.nonzero((lower_bounds <= bound_limit[:, None]) & ~failed[:, None])
        return rows, members[rows, position], failed


def _smallest_groups(minima: SingleFloats, n_examined: int) -> tuple[Codes, SingleFloats]:
    """Select the groups with the smallest minima.

    Parameters
    ----------
    minima : (m, G) float32
        Smallest bound of each of G groups, for m queries.
    n_examined : int
        One less than the number of groups to select.

    Returns
    -------
    groups : (m, n_examined + 1) int
        Positions of the groups, not ordered by their minima.
    largest : (m,) float32
        The largest of the selected minima.
    """
    # Partitioning values takes half the time of partitioning positions.
    (m, n_groups), count = minima.shape, n_examined + 1
    largest = np.partition(minima, n_examined, axis=1)[:, n_examined]
    selected = np.flatnonzero(minima <= largest[:, None])
    if len(selected) > m * count:
        # More than one minimum equals the largest selected one.
        row = selected // n_groups
        is_largest = np.take(minima, selected) == largest[row]
        n_missing = count - np.bincount(row[~is_largest], minlength=m)
        rank = np.cumsum(is_largest)
        n_before = np.concatenate([[0], np.cumsum(np.bincount(row[is_largest], minlength=m))[:-1]])
        selected = selected[~is_largest | (rank - n_before[row] <= n_missing[row])]
    if len(selected) == m * count:
        return (selected % n_groups).reshape(m, count), largest
    # Some minima are NaN.
    groups = np.argpartition(minima, n_examined, axis=1)[:, :count]
    return groups, largest


NORM_ORDERS = {
    "euclidean": 2.0,
    "mahalanobis": 2.0,
    "minkowski": 2.0,
    "seuclidean": 2.0,
    "sqeuclidean": 2.0,
} | {
    "cityblock": 1.0,
    "chebyshev": np.inf,
}
"""Order p of the metrics that are a p-norm of x - y, squared or not. Minkowski has p = 2.

Searches compute the norm itself, also for "sqeuclidean".
"""

BINARY_METRICS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of binary columns."""

NeighbourMetric = Literal[
    "euclidean", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean", "cityblock", "chebyshev",
    "braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon",
    "dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule",
]  # fmt: skip
METRICS: tuple[NeighbourMetric, ...] = get_args(NeighbourMetric)
"""Metrics by the names of scipy's `cdist`."""

MAX_TREE_COLUMNS = 8
"""Maximum number of columns for which a tree is always used."""

MAX_TREE_DIMENSION = 4
"""Maximum effective dimension for which a tree is used with more columns."""

MAX_LOW_DIMENSIONAL_TREE_COLUMNS = 10
"""Maximum number of columns for which a tree is considered."""

WIDENING_FACTOR = 4
"""Factor by which the number of requested points grows while ties remain."""

MAX_BLOCK_POINTS = 2**21
"""Number of points that a tree returns per block."""

MINIMA_GROUP_SIZE = 16
"""Number of distances in a group; the minima of groups are partitioned before the distances."""

MAX_BLOCK_DISTANCES = 2**21
"""Number of distances per block."""

TIE_TOLERANCE = 1e-13
"""Relative difference below which two distances are tied, for any columns."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Metric and coordinates z = (x - origin) * unit, whitened for Mahalanobis distance.

    All rows have p columns.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    origin, unit : (p,) float
        Origin in the units of the data, and factors by which x - origin is multiplied.
    within : Covariance or None
        Pooled covariance of z within classes, for Mahalanobis distance; None for other metrics.
    slack : float
        Difference between two distances, in the coordinates of the search, that rounding of the rows can
        cause.
    """

    metric: str
    origin: Floats
    unit: Floats
    within: Covariance | None
    slack: float

    @staticmethod
    def from_ranges(
        metric: str, origin: Floats, unit: Floats, within: Covariance | None, max_values: Floats
    ) -> Space:
        """Create a space; `slack` is derived from the largest absolute values of the rows.

        Parameters
        ----------
        metric : str
            One of `METRICS`.
        origin, unit : (p,) float
            Origin in the units of the data, and factors by which x - origin is multiplied.
        within : Covariance or None
            Pooled covariance of z within classes, for Mahalanobis distance; None for other metrics.
        max_values : (p,) float
            Largest absolute values of the columns in the units of the data.

        Returns
        -------
        Space
            With a `slack` of 4 eps times the norm of the coordinates of `max_values` for metrics in
            `NORM_ORDERS`, and 16 eps for others.
        """
        norm = NORM_ORDERS.get(metric)
        if norm is None:
            return Space(metric, origin, unit, within, 16 * EPS)
        size = max_values * unit
        if within is not None:
            size = size @ np.abs(within.inverse)
        return Space(metric, origin, unit, within, 4 * EPS * float(np.linalg.norm(size, norm)))

    def coordinates(self, x: Floats) -> Floats:
        """Return z, whitened if `within` is set, as coordinates (m, p) of rows x (m, p), in C order."""
        z = np.subtract(x, self.origin, order="C")
        z *= self.unit
        return z if self.within is None else np.ascontiguousarray(self.within.whiten(z.T).T)

    def tie_limit(self, distances: Floats) -> Floats:
        """Return the largest distances that count as equal to given distances, by elements."""
        return distances * (1 + TIE_TOLERANCE) + self.slack


class Neighbours(NamedTuple):
    """The k nearest rows of m queries.

    Attributes
    ----------
    rows : (m, k) int
        Positions of the rows, nearest first.
    distances : (m, k) float
        Distances in the coordinates of the search, ascending; never squared.
    tied_counts : (m, K) int
        Number of further rows, not in `rows`, of each of K classes that are tied with the k-th.
    """

    rows: Codes
    distances: Floats
    tied_counts: Codes

    def select(self, rows: slice) -> Neighbours:
        """Return the neighbours of a slice of the queries, as views."""
        return Neighbours(self.rows[rows], self.distances[rows], self.tied_counts[rows])

    def remove_self(self, own_positions: Codes, codes: Codes) -> Neighbours:
        """Remove the query itself from its neighbours, leaving the k - 1 nearest other rows.

        Parameters
        ----------
        own_positions : (m,) int
            Positions of the queries among the rows.
        codes : (n,) int
            Classes of the rows.

        Returns
        -------
        Neighbours
            With k - 1 columns of `rows` and `distances`. If a query is not among its own neighbours, because
            k other rows are equal to it, the last of them is removed, and counted as tied instead of it.
        """
        m, k = self.rows.shape
        is_self = self.rows == own_positions[:, None]
        has_self = is_self.any(axis=1)
        # If the query is not among its own neighbours, k other rows have distance zero; remove one of them.
        removed_position = np.where(has_self, is_self.argmax(axis=1), k - 1)
        tied_counts = self.tied_counts.copy()
        absent = np.flatnonzero(~has_self)
        tied_counts[absent, codes[self.rows[absent, -1]]] += 1
        tied_counts[absent, codes[own_positions[absent]]] -= 1
        is_kept = np.arange(k) != removed_position[:, None]
        return Neighbours(
            self.rows[is_kept].reshape(m, -1), self.distances[is_kept].reshape(m, -1), tied_counts
        )


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourIndex:
    """Rows with their classes, indexed for searches.

    The fields after `n_classes` are built from the others; the search uses a tree, products, or neither.

    Attributes
    ----------
    space : Space
        Metric and coordinates.
    points : (n, p) float
        Coordinates of the rows.
    codes : (n,) int
        Classes of the rows.
    n_classes : int
        Number of classes.
    point_rows : PointRows or None
        Rows by distinct point, if many rows are equal. The tree or the inner index then is of the points.
    tree : scipy.spatial.cKDTree or None
        Tree of the rows, or of the distinct points.
    products : ProductFilter or None
        Filter of candidates, for Euclidean distances without a tree.
    point_index : NeighbourIndex or None
        Index of the distinct points if they do not suit a tree.
    """

    space: Space
    points: Floats
    codes: Codes
    n_classes: int
    point_rows: PointRows | None = field(init=False, repr=False)
    tree: Any = field(init=False, repr=False)
    products: ProductFilter | None = field(init=False, repr=False)
    point_index: NeighbourIndex | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Group equal rows, and build a tree, a filter or an index of the distinct points."""
        norm = NORM_ORDERS.get(self.space.metric)
        point_rows = PointRows.from_points(self.points)
        points = self.points if point_rows is None else point_rows.points
        tree: Any = None
        point_index = products = None
        if norm is not None and _suits_tree(points, norm):
            from scipy.spatial import cKDTree

            tree = cKDTree(points)
        elif point_rows is not None:
            point_index = NeighbourIndex(self.space, points, np.zeros(len(points), dtype=np.intp), 1)
        elif norm == 2:
            products = ProductFilter.from_points(points)
        object.__setattr__(self, "point_rows", point_rows)
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "products", products)
        object.__setattr__(self, "point_index", point_index)

    def nearest(self, x: Floats, k: int) -> Neighbours:
        """Find the k nearest indexed rows of each new row.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        k : int
            Number of neighbours, at most the number of indexed rows.

        Returns
        -------
        Neighbours
            `rows` are positions among the n indexed rows; a query that is indexed can be its own neighbour.

        Raises
        ------
        CoreDataError
            A distance is undefined for the metric, or a value is not 0 or 1 for a metric of binary columns.
        """
        if self.space.metric in BINARY_METRICS and len(other := np.argwhere((x != 0) & (x != 1))):
            row, column = other[0]
            raise CoreDataError(
                "not_binary", column_positions=(column,), metric=self.space.metric, value=x[row, column]
            )
        return self.nearest_points(self.space.coordinates(x), k)

    def nearest_others(self, positions: Codes, k: int) -> Neighbours:
        """Find the k nearest other rows of the indexed rows at positions (m,).

        Must not be called for k of at least the number of indexed rows. Raises a CoreDataError if a distance
        is undefined for the metric.
        """
        return self.nearest_points(self.points[positions], k + 1).remove_self(positions, self.codes)

    def allocate(self, m: int, k: int) -> Neighbours:
        """Allocate a result for m queries and k neighbours; tied counts are zero, other arrays not set."""
        return Neighbours(
            np.empty((m, k), dtype=np.intp), np.empty((m, k)), np.zeros((m, self.n_classes), dtype=np.intp)
        )

    def nearest_points(self, z: Floats, k: int) -> Neighbours:
        """Find the k nearest rows of queries in coordinates z (m, p)."""
        m = len(z)
        n = len(self.points)
        if self.point_rows is not None and m > 1:
            order, starts = distinct_points(z)
            if len(starts) <= m:
                # Search once for equal queries.
                nearest = self.nearest_points(z[order[starts[:-1]]], k)
                query_index = np.empty(m, dtype=np.intp)
                query_index[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
                return Neighbours(
                    nearest.rows[query_index],
                    nearest.distances[query_index],
                    nearest.tied_counts[query_index],
                )
        nearest = self.allocate(m, k)
        unresolved = np.arange(m)
        if self.tree is not None or self.point_rows is not None:
            unresolved = self._search_points(z, k, nearest)
        elif self.products is not None and self.products.can_skip_groups(k):
            is_unresolved = np.ones(m, dtype=bool)
            buffer = self.products.buffer()
            for rows in slices(m, self.products.queries_per_block):
                candidates = self.products.candidates(z[rows], k, self.space.tie_limit, buffer)
                self._fill_from_candidates(candidates, z[rows], k, nearest.select(rows))
                # Queries with too many candidates are compared with all rows.
                is_unresolved[rows] = candidates.unresolved
            unresolved = np.flatnonzero(is_unresolved)
        chunks = [unresolved[chunk] for chunk in slices(len(unresolved), max(MAX_BLOCK_DISTANCES // n, 1))]
        run_in_threads(
            lambda chunk_rows: self._fill_from_all_distances(z[chunk_rows], k, chunk_rows, nearest), chunks
        )
        return nearest

    def _search_points(self, z: Floats, k: int, nearest: Neighbours) -> Codes:
        """Search the tree or the distinct points, and write the neighbours to the result.

        The number of points per query grows until they contain k rows and the last point is farther than all
        rows tied with the k-th.

        Parameters
        ----------
        z : (m, p) float
            Coordinates of the queries.
        k : int
            Number of neighbours.
        nearest : Neighbours
            Result for all queries, to which rows, distances and ties are written.

        Returns
        -------
        (s,) int
            Positions of the queries that have to be compared with all rows, because the tree would have to
            return too many of them; always empty if there are `point_rows`.
        """
        points = self.points if self.point_rows is None else self.point_rows.points
        unresolved = np.arange(len(z))
        n_points = min(k + 1, len(points))
        # A tree that returns a large fraction of its points is slower than computing every distance.
        max_points = (
            len(points) if self.point_rows is not None else max(len(points) // MINIMA_GROUP_SIZE, n_points)
        )
        while len(unresolved):
            still_unresolved = []
            for chunk in slices(len(unresolved), max(MAX_BLOCK_POINTS // n_points, 1)):
                rows = unresolved[chunk]
                still_unresolved.append(rows[~self._fill_from_points(z[rows], k, n_points, rows, nearest)])
                refresh_progress()
            unresolved = np.concatenate(still_unresolved)
            if n_points == max_points:
                break
            n_points = min(WIDENING_FACTOR * n_points, max_points)
        return unresolved

    def _fill_from_points(
        self, z: Floats, k: int, n_points: int, positions: Codes, nearest: Neighbours
    ) -> Mask:
        """Find the `n_points` nearest points, and write the result of the queries for which they suffice.

        A point is a row, or with `point_rows` a distinct location of one or more rows. The points suffice if
        they contain k rows and all rows tied with the k-th.

        Parameters
        ----------
        z : (m, p) float
            Coordinates of the queries.
        k : int
            Number of neighbours.
        n_points : int
            Number of points to find for each query.
        positions : (m,) int
            Positions of the queries in the result.
        nearest : Neighbours
            Result for all queries, to which rows, distances and ties are written.

        Returns
        -------
        (m,) bool
            Whether the points suffice. The result of the other queries is not written.
        """
        if self.tree is not None:
            norm = NORM_ORDERS[self.space.metric]
            distances, points = self.tree.query(
                z, k=np.arange(1, n_points + 1), p=norm, workers=n_worker_threads()
            )
        elif self.point_index is not None:
            points, distances, _ = self.point_index.nearest_points(z, n_points)
        kth_point = np.full(len(z), k - 1)
        if self.point_rows is not None:
            kth_point = (np.cumsum(self.point_rows.sizes[points], axis=1) < k).sum(axis=1)
        limits = self.space.tie_limit(distances[np.arange(len(z)), np.minimum(kth_point, n_points - 1)])
        has_all_points = n_points == (
            len(self.points) if self.point_rows is None else len(self.point_rows.points)
        )
        is_enough = (kth_point < n_points) & ((distances[:, -1] > limits) | has_all_points)
        enough_index = np.flatnonzero(is_enough)
        rows = positions[is_enough]
        if self.point_rows is not None:
            row_neighbours = self.point_rows.nearest_rows(
                distances[enough_index],
                points[enough_index],
                limits[enough_index],
                k,
                self.codes,
                self.n_classes,
            )
            nearest.rows[rows], nearest.distances[rows], nearest.tied_counts[rows] = row_neighbours
            return np.asarray(is_enough)
        nearest.rows[rows], nearest.distances[rows] = points[enough_index, :k], distances[enough_index, :k]
        row, tied_column = np.nonzero(distances[enough_index, k:] <= limits[enough_index, None])
        np.add.at(nearest.tied_counts, (rows[row], self.codes[points[enough_index[row], k + tied_column]]), 1)
        return np.asarray(is_enough)

    def _fill_from_candidates(self, candidates: Candidates, z: Floats, k: int, nearest: Neighbours) -> None:
        """Compute the distances of candidates in float64, and write the nearest ones to the result.

        Parameters
        ----------
        candidates : Candidates
            Candidates for the nearest rows.
        z : (m, p) float
            Coordinates of the queries.
        k : int
            Number of neighbours.
        nearest : Neighbours
            Result for these queries, to which rows, distances and ties of resolved queries are written.
        """
        rows = candidates.queries
        width = candidates.candidate_index.max(initial=-1) + 1
        distances = np.full((len(z), width), np.inf)
        members = np.zeros((len(z), width), dtype=np.intp)
        candidate_distances = np.empty(len(rows))
        for chunk in slices(len(rows), max(2**18 // z.shape[1], 1)):
            differences = z[rows[chunk]] - self.points[candidates.members[chunk]]
            candidate_distances[chunk] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        distances[rows, candidates.candidate_index] = candidate_distances
        members[rows, candidates.candidate_index] = candidates.members
        resolved = np.flatnonzero(~candidates.unresolved)
        if not len(resolved):
            return
        order = np.argsort(distances[resolved], axis=1)
        sorted_distances = np.take_along_axis(distances[resolved], order, axis=1)
        members = np.take_along_axis(members[resolved], order, axis=1)
        nearest.rows[resolved], nearest.distances[resolved] = members[:, :k], sorted_distances[:, :k]
        row, tied_column = np.nonzero(
            sorted_distances[:, k:] <= self.space.tie_limit(sorted_distances[:, k - 1 : k])
        )
        np.add.at(nearest.tied_counts, (resolved[row], self.codes[members[row, k + tied_column]]), 1)

    def _fill_from_all_distances(self, z: Floats, k: int, positions: Codes, nearest: Neighbours) -> None:
        """Compute the distances to all rows, and write the nearest rows to the result.

        Parameters
        ----------
        z : (m, p) float
            Coordinates of the queries.
        k : int
            Number of neighbours.
        positions : (m,) int
            Positions of the queries in the result.
        nearest : Neighbours
            Result for all queries, to which rows, distances and ties are written.

        Raises
        ------
        CoreDataError
            A distance is undefined for the metric.
        """
        from scipy.spatial.distance import cdist

        name = "euclidean" if NORM_ORDERS.get(self.space.metric) == 2 else self.space.metric
        converted = z != 0 if name in BINARY_METRICS else z
        points: Any = self.points != 0 if name in BINARY_METRICS else self.points
        with np.errstate(invalid="ignore", divide="ignore"):
            distances = cdist(converted, points, name)
        if np.isnan(distances.min()):
            raise CoreDataError("undefined_distance", metric=name, cause=explain_undefined(name, z)[0])
        members = np.broadcast_to(np.arange(len(points)), distances.shape)
        self.fill_nearest(distances, members, k, positions, nearest)

    def fill_nearest(
        self, distances: Floats, members: Codes, k: int, positions: Codes, nearest: Neighbours
    ) -> None:
        """Write the k nearest rows, and the number of further rows tied with the k-th, to the result.

        Parameters
        ----------
        distances : (m, w) float
            Distances of each query from w rows, in any order, which include its k nearest and all tied rows.
        members : (m, w) int
            Positions of these rows.
        k : int
            Number of neighbours.
        positions : (m,) int
            Positions of the queries in the result.
        nearest : Neighbours
            Result for all queries, to which rows, distances and ties are written.
        """
        m, width = distances.shape
        groups = width // MINIMA_GROUP_SIZE
        minima = distances
        if groups > 2 * k:
            # The k-th smallest of the minima of groups is an upper bound of the k-th smallest distance.
            minima = (
                distances[:, : groups * MINIMA_GROUP_SIZE].reshape(m, MINIMA_GROUP_SIZE, groups).min(axis=1)
            )
        bounds = np.partition(minima, k - 1, axis=1)[:, k - 1]
        row, column = np.nonzero(distances <= self.space.tie_limit(bounds)[:, None])
        candidate_distances = distances[row, column]
        order = np.lexsort((candidate_distances, row))
        row = row[order]
        column = column[order]
        candidate_distances = candidate_distances[order]
        counts = np.bincount(row, minlength=m)
        starts = np.cumsum(counts) - counts
        rank = np.arange(len(row)) - np.repeat(starts, counts)
        is_nearest = rank < k
        nearest.rows[positions] = members[row[is_nearest], column[is_nearest]].reshape(m, k)
        nearest.distances[positions] = candidate_distances[is_nearest].reshape(m, k)
        is_tied = ~is_nearest & (
            candidate_distances <= self.space.tie_limit(candidate_distances[starts + k - 1])[row]
        )
        cells = row[is_tied] * self.n_classes + self.codes[members[row[is_tied], column[is_tied]]]
        nearest.tied_counts[positions] = np.bincount(cells, minlength=m * self.n_classes).reshape(
            m, self.n_classes
        )


def _suits_tree(points: Floats, norm: float) -> bool:
    """Return whether a tree of points (n, p) is faster than matrix products, for a p-norm of order `norm`.

    It is for up to `MAX_TREE_COLUMNS` columns, and not for more than `MAX_LOW_DIMENSIONAL_TREE_COLUMNS`. In
    between it is if the order is not 2, because only Euclidean distances have matrix products, or if the
    effective dimension, (sum of l)^2 / (sum of l^2) with l the eigenvalues of the covariance, is at most
    `MAX_TREE_DIMENSION`.
    """
    p = int(points.shape[1])
    if p <= MAX_TREE_COLUMNS or p > MAX_LOW_DIMENSIONAL_TREE_COLUMNS:
        return p <= MAX_TREE_COLUMNS
    if norm != 2:
        return True
    sample = points[:: max(len(points) // 4096, 1)]
    squares = (sample - sample.mean(axis=0)).T @ (sample - sample.mean(axis=0))
    squared_norm = float((squares**2).sum())
    return bool(not squared_norm > 0 or float(np.trace(squares)) ** 2 <= MAX_TREE_DIMENSION * squared_norm)


@cache
def n_worker_threads() -> int:
    """Return the number of processors, or one if threads cannot be started, for example in a browser."""
    try:
        thread = Thread(target=int)
        thread.start()
    except RuntimeError:
        return 1
    thread.join()
    return os.cpu_count() or 1


def run_in_threads(task: Callable[[Codes], None], chunks: Sequence[Codes]) -> None:
    """Apply a task to blocks of rows, in parallel threads on all processors; raises errors of the task.

    Parameters
    ----------
    task : callable
        Function of the positions of the rows of a block.
    chunks : sequence of int arrays
        Positions of the rows of each block.
    """
    if len(chunks) < 2 or n_worker_threads() == 1:
        for chunk in chunks:
            task(chunk)
            refresh_progress()
        return
    with ThreadPoolExecutor(n_worker_threads()) as pool:
        for _ in pool.map(task, chunks):
            refresh_progress()


def explain_undefined(metric: str, z: Floats) -> tuple[str, Mask]:
    """Return the cause for which a metric is undefined, and the rows to which it applies.

    Parameters
    ----------
    metric : str
        One of `METRICS`.
    z : (m, p) float
        Coordinates of the queries.

    Returns
    -------
    cause : str
        A clause such as "a row is all zero".
    mask : (m,) bool
        Rows whose distance to every other row is undefined; all false for metrics that are undefined only for
        some pairs of rows.
    """
    if metric == "cosine":
        return "a row is all zero", (z == 0).all(axis=1)
    if metric == "correlation":
        return "all columns of a row are equal", (z == z[:, :1]).all(axis=1)
    if metric == "jensenshannon":
        return "a row has a negative value, or is all zero", (z < 0).any(axis=1) | (z == 0).all(axis=1)
    no_rows = np.zeros(len(z), dtype=bool)
    if metric == "braycurtis":
        return "all values of two rows are zero, or cancel in their sum", no_rows
    return "its formula divides zero by zero", no_rows
