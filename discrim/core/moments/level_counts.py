"""Counts of levels by class, gathered while the rows of a pass go by; they add up as moments do.

Of columns that hold positions of levels a mean says little, and counts of levels from means of indicators
have lost digits. So they are counted: n_kl is the number of rows, or the sum of weights, of class k and
level l.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.map_reduce import map_reduce

T = TypeVar("T")

ROUNDED = 64 * EPS
"""Share of a sum of weights that may be the rounding of a difference."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Counts of levels by class: a table (K, L_j) of rows, or weights, for each column of levels.

    Negative are the columns (p,) of numbers in which a value below zero was met, which no counts of things
    have.
    """

    tables: tuple[Floats, ...]
    negative: NDArray[np.bool_]

    def merge(self, other: LevelCounts) -> LevelCounts:
        """The counts of both sets of rows together; none where one of them has none."""
        if len(self.tables) != len(other.tables):
            return LevelCounts((), self.negative | other.negative)
        tables = tuple(a + b for a, b in zip(self.tables, other.tables, strict=True))
        return LevelCounts(tables, self.negative | other.negative)

    def without(self, other: LevelCounts) -> LevelCounts:
        """The counts of what is left without the other rows; below zero where these are no part of them.

        Whether a negative value is left is not known, so that one that was met stays.
        """

        def less(a: Floats, b: Floats) -> Floats:
            left = a - b
            return np.asarray(np.where(np.abs(left) <= ROUNDED * a, 0.0, left))

        if len(self.tables) != len(other.tables):
            return LevelCounts((), self.negative)
        tables = tuple(less(a, b) for a, b in zip(self.tables, other.tables, strict=True))
        return LevelCounts(tables, self.negative)

    def classes(self, keep: Codes) -> LevelCounts:
        """The counts of some of the classes."""
        return LevelCounts(tuple(table[keep] for table in self.tables), self.negative)

    def among(self, position: Codes, n_classes: int) -> LevelCounts:
        """The same counts where there are more classes: class k is class position[k] of them."""
        placed = []
        for table in self.tables:
            out = np.zeros((n_classes, table.shape[1]))
            out[position] = table
            placed.append(out)
        return LevelCounts(tuple(placed), self.negative)


def add_levels(table: Floats, codes: Codes, levels: Floats, weights: Floats | None) -> None:
    """Add rows of classes (m,) and positions of levels (m,) to a table (K, L)."""
    cells = codes * table.shape[1] + levels.astype(np.intp)
    table += np.bincount(cells, weights, table.size).reshape(table.shape)


@dataclass(slots=True)
class CountedBlocks:
    """Blocks, also of sparse rows, whose levels and negative values are counted by each complete pass.

    Iteration yields the first `n_columns` columns of each block.

    Attributes
    ----------
    blocks : iterable of blocks
    n_classes, n_columns : int
    places : tuple of int
        Positions of the columns that contain positions of levels.
    sizes : tuple of int
        Number of levels of each of these columns.
    counts : LevelCounts
        Counts of the last complete pass.
    """

    blocks: Iterable[Any]
    n_classes: int
    n_columns: int
    places: tuple[int, ...]
    sizes: tuple[int, ...]
    counts: LevelCounts = field(init=False)

    def __post_init__(self) -> None:
        tables = tuple(np.zeros((self.n_classes, size)) for size in self.sizes)
        self.counts = LevelCounts(tables, np.zeros(self.n_columns, dtype=bool))

    def __iter__(self) -> Iterator[Any]:
        tables = tuple(np.zeros((self.n_classes, size)) for size in self.sizes)
        negative = np.zeros(self.n_columns, dtype=bool)
        for x, codes, weights in self.blocks:
            for place, table in zip(self.places, tables, strict=True):
                levels = x.column(place) if isinstance(x, SparseRows) else x[:, place]
                add_levels(table, codes, levels, weights)
            if isinstance(x, SparseRows):
                # Columns of positions are of designs that are not sparse.
                steps = x.steps
                below = x.base[steps.indices] + steps.data < 0
                negative[steps.indices[below]] = True
                negative |= (x.base < 0) & (np.bincount(steps.indices, minlength=len(x.base)) < len(x))
                yield x, codes, weights
                continue
            columns = x[:, : self.n_columns]
            if len(x) and not negative.all():
                negative |= columns.min(axis=0) < 0
            yield columns, codes, weights
        self.counts = LevelCounts(tables, negative)

    def map_reduce(self, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
        """Apply a task to the blocks, or on workers to each part, and merge results and counts."""
        bare = replace(self, blocks=())
        found: tuple[T, LevelCounts] = map_reduce(
            self.blocks, partial(_with_counts, task, bare), partial(both_merged, merge)
        )
        self.counts = found[1]
        return found[0]


def _with_counts(task: Callable[[Any], T], counted: CountedBlocks, blocks: Any) -> tuple[T, LevelCounts]:
    own = replace(counted, blocks=blocks)
    return task(own), own.counts


def both_merged(merge: Callable[[T, T], T], a: tuple[T, Any], b: tuple[T, Any]) -> tuple[T, Any]:
    """Merge the results of two parts, and the counts that their passes made."""
    return merge(a[0], b[0]), a[1].merge(b[1])


def as_columns(tables: tuple[Floats, ...], counts: Floats) -> tuple[Floats, Floats]:
    """Means (K, q) and sums of squares about them (K, q) of the positions of levels that tables count."""
    means = np.zeros((len(counts), len(tables)))
    squares = np.zeros((len(counts), len(tables)))
    whole = np.where(counts > 0, counts, 1.0)[:, None]
    for j, table in enumerate(tables):
        # From the level of most rows, so that a column of one level has that as its mean to the last bit.
        usual = table.argmax(axis=1)[:, None]
        steps = np.arange(table.shape[1]) - usual
        shift = (table * steps).sum(axis=1, keepdims=True) / whole
        means[:, j] = np.where(counts > 0, (usual + shift)[:, 0], 0.0)
        squares[:, j] = (table * (steps - shift) ** 2).sum(axis=1)
    return means, squares


def count_sums(moments: ClassMoments, columns: Codes) -> Floats:
    """Sums (K, J) of columns of counts by class, whole where they are whole but for rounding."""
    part = moments.columns(columns)
    # Powers of two apart, so that neither product rounds more than once.
    sums = part.counts[:, None] * part.centres + part.counts[:, None] * (part.rests / part.scale)
    slack = ROUNDED * np.abs(sums).sum(axis=0)
    whole = np.round(sums)
    return np.asarray(np.where(np.abs(sums - whole) <= slack, whole, sums))
