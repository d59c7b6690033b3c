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

Two distances are tied where they differ by no more than the rounding of the numbers that they are made of:
columns with one decimal have ties, though 5.1 - 4.9 is not 4.9 - 4.7 in binary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import Covariance
from discrim.core.neighbour_filter import Candidates, ProductFilter
from discrim.errors import DataError

__all__ = ["METRICS", "ZERO_ONE", "Neighbours", "Search", "Space", "is_free_of_origin", "undefined"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

EPS = float(np.finfo(np.float64).eps)

NORMS = {"euclidean": 2.0, "mahalanobis": 2.0, "minkowski": 2.0, "seuclidean": 2.0, "sqeuclidean": 2.0} | {
    "cityblock": 1.0,
    "chebyshev": np.inf,
}
"""Metrics that are a norm of x - y, squared or not: minkowski is that of p = 2."""

ZERO_ONE = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of columns of zeros and ones."""

METRICS = (
    *NORMS,
    *("braycurtis", "canberra", "correlation", "cosine", "hamming", "jensenshannon"),
    *ZERO_ONE,
)
"""Metrics by the names of scipy's `cdist`."""

TREE_COLUMNS = 10
"""Columns up to which a tree is faster than products."""

MEASURED = 2**21
"""Distances that are held at once."""

TIED = 1e-13
"""Relative difference of two distances below which they are one, whatever the columns."""


def is_free_of_origin(metric: str) -> bool:
    """Whether a metric depends on differences x - y only."""
    return metric in NORMS or metric == "hamming"


@dataclass(frozen=True, slots=True)
class Space:
    """Coordinates in which distances are taken.

    Attributes
    ----------
    metric : str
        One of `METRICS`.
    origin, unit : (p,) float
        z = (x - origin) * unit.
    within : Covariance or None
        Of z within classes, which the coordinates have as their unit.
    slack : float
        Difference of two distances that the rounding of the rows can make.
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

    Attributes
    ----------
    rows : (m, k) int
        Positions of the rows, nearest first.
    distances : (m, k) float
        In the coordinates of the search.
    beyond : (m, K) int
        Rows of each class that are as near as the k-th and not among the k.
    """

    rows: Codes
    distances: Floats
    beyond: Codes

    def part(self, rows: slice) -> Neighbours:
        """Views of some of the rows that were asked for."""
        return Neighbours(self.rows[rows], self.distances[rows], self.beyond[rows])

    def without(self, own: Codes, codes: Codes) -> Neighbours:
        """The k - 1 nearest of the other rows, where rows themselves, own (m,), were searched for."""
        m, k = self.rows.shape
        every = np.arange(m)
        itself = self.rows == own[:, None]
        found = itself.any(axis=1)
        # A row that is not among its own nearest has k others at no distance: one of them is given up.
        place = np.where(found, itself.argmax(axis=1), k - 1)
        beyond = self.beyond.copy()
        lost = every[~found]
        beyond[lost, codes[self.rows[lost, -1]]] += 1
        beyond[lost, codes[own[lost]]] -= 1
        kept = np.arange(k) != place[:, None]
        return Neighbours(self.rows[kept].reshape(m, -1), self.distances[kept].reshape(m, -1), beyond)


@dataclass(frozen=True, slots=True)
class Search:
    """Rows with their classes, ready to be searched.

    Attributes
    ----------
    space : Space
    points : (n, p) float
        Coordinates of the rows.
    codes : (n,) int
    n_classes : int
    tree : scipy's cKDTree or None
    products : ProductFilter or None
    """

    space: Space
    points: Floats
    codes: Codes
    n_classes: int
    tree: Any = field(init=False, repr=False)
    products: ProductFilter | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make ready what finds the candidates."""
        norm = NORMS.get(self.space.metric)
        tree: Any = None
        if norm is not None and self.points.shape[1] <= TREE_COLUMNS:
            from scipy.spatial import cKDTree

            tree = cKDTree(self.points)
        object.__setattr__(self, "tree", tree)
        filtered = norm == 2 and tree is None
        object.__setattr__(self, "products", ProductFilter.of(self.points) if filtered else None)

    def nearest(self, x: Floats, k: int) -> Neighbours:
        """The k nearest of the rows to each of x (m, p).

        Raises
        ------
        DataError
            The metric gives no distance to some row.
        """
        self._refuse_other_than_zero_one(x)
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
        m, n = len(z), len(self.points)
        found = self.blank(m, k)
        left = np.ones(m, dtype=bool)
        if self.tree is not None and k < n:
            left = self._by_tree(z, k, found)
        elif self.products is not None and self.products.reaches(k):
            left = self._by_all_products(self.products, z, k, found)
        rows = np.flatnonzero(left)
        step = max(MEASURED // n, 1)
        for start in range(0, len(rows), step):
            piece = rows[start : start + step]
            self._by_measure(z[piece], k, piece, found)
        return found

    def _by_tree(self, z: Floats, k: int, found: Neighbours) -> NDArray[np.bool_]:
        """Fill in what a tree finds; True for rows of more ties than were asked for."""
        distances, rows = self.tree.query(z, k=np.arange(1, k + 2), p=NORMS[self.space.metric], workers=-1)
        found.rows[:], found.distances[:] = rows[:, :k], distances[:, :k]
        return np.asarray(~(distances[:, k] > self.space.tied(distances[:, k - 1])))

    def _by_all_products(
        self, products: ProductFilter, z: Floats, k: int, found: Neighbours
    ) -> NDArray[np.bool_]:
        """Fill in what products find, some rows at a time; True for rows with too many candidates."""
        left = np.ones(len(z), dtype=bool)
        room = products.room()
        for start in range(0, len(z), products.rows_at_once):
            rows = slice(start, min(start + products.rows_at_once, len(z)))
            candidates = products.candidates(z[rows], k, self.space.tied, room)
            self._remeasure(candidates, z[rows], k, found.part(rows))
            left[rows] = candidates.left
        return left

    def _remeasure(self, candidates: Candidates, z: Floats, k: int, found: Neighbours) -> None:
        """Fill in the nearest of the candidates, by their distances in double precision."""
        rows, width = candidates.rows, candidates.position.max(initial=-1) + 1
        distances = np.full((len(z), width), np.inf)
        members = np.zeros((len(z), width), dtype=np.intp)
        gaps = np.empty(len(rows))
        for start in range(0, len(rows), step := max(2**18 // z.shape[1], 1)):
            piece = slice(start, start + step)
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
        found.rows[kept], found.distances[kept] = members[:, :k], near[:, :k]
        row, more = np.nonzero(near[:, k:] <= self.space.tied(near[:, k - 1 : k]))
        np.add.at(found.beyond, (kept[row], self.codes[members[row, k + more]]), 1)

    def _by_measure(self, z: Floats, k: int, place: Codes, found: Neighbours) -> None:
        """Fill in, at places (m,), what measuring the distance to every row finds."""
        from scipy.spatial.distance import cdist

        name = "euclidean" if NORMS.get(self.space.metric) == 2 else self.space.metric
        measured = z != 0 if name in ZERO_ONE else z
        points: Any = self.points != 0 if name in ZERO_ONE else self.points
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            distances = cdist(measured, points, name)
        if np.isnan(distances).any():
            raise DataError(
                f"metric={name!r} gives no distance between some rows: {undefined(name, z)[0]}. Leave such "
                "rows out, or take another metric."
            )
        members = np.broadcast_to(np.arange(len(points)), distances.shape)
        self.settle(distances, members, k, place, found)

    def settle(self, distances: Floats, members: Codes, k: int, place: Codes, found: Neighbours) -> None:
        """Fill in, at places (m,), the k nearest of members (m, w), and what is tied with the last."""
        m, width = distances.shape
        if k < width:
            first = np.argpartition(distances, k - 1, axis=1)[:, :k]
        else:
            first = np.broadcast_to(np.arange(k), (m, k))
        near = np.take_along_axis(distances, first, axis=1)
        order = np.argsort(near, axis=1)
        first = np.take_along_axis(first, order, axis=1)
        near = np.take_along_axis(near, order, axis=1)
        found.rows[place], found.distances[place] = np.take_along_axis(members, first, axis=1), near
        tied = distances <= self.space.tied(near[:, -1:])
        np.put_along_axis(tied, first, False, axis=1)
        row, more = np.nonzero(tied)
        cells = np.bincount(
            row * self.n_classes + self.codes[members[row, more]], minlength=m * self.n_classes
        )
        found.beyond[place] = cells.reshape(m, self.n_classes)

    def _refuse_other_than_zero_one(self, x: Floats) -> None:
        if self.space.metric not in ZERO_ONE:
            return
        other = np.argwhere((x != 0) & (x != 1))
        if len(other):
            row, column = other[0]
            raise DataError(
                f"metric={self.space.metric!r} takes columns of zeros and ones; column {column + 1} of the "
                f"design holds {x[row, column]:g}. Take another metric."
            )


def undefined(metric: str, z: Floats) -> tuple[str, NDArray[np.bool_]]:
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
