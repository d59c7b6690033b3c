"""Counts of levels by class, accumulated in the same pass as the moments; they can be merged like moments.

Naive Bayes and other models of categorical columns use them. For columns that contain positions of levels a
mean is not meaningful, and counts that are computed from means of indicators lose digits. Therefore n_kl,
the number of rows (or the sum of weights) of class k and level l, is counted directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.numerics.arrays import EPS, Codes, Floats
from discrim.core.numerics.map_reduce import map_reduce

T = TypeVar("T")

ROUNDING_TOLERANCE = 64 * EPS
"""Proportion of a sum of weights that may be rounding error of a difference."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelCounts:
    """Counts of levels by class.

    Attributes
    ----------
    tables : tuple of (K, L_j) float
        For each column of levels, the numbers of rows (sums of weights) by class and level: K classes and L_j
        levels.
    negative : (p,) bool
        Which of the p numeric columns have a negative value in any row.
    """

    tables: tuple[Floats, ...]
    negative: NDArray[np.bool_]

    def merge(self, other: LevelCounts) -> LevelCounts:
        """Return the counts of both sets of rows; without tables if their numbers of tables differ."""
        if len(self.tables) != len(other.tables):
            return LevelCounts((), self.negative | other.negative)
        tables = tuple(a + b for a, b in zip(self.tables, other.tables, strict=True))
        return LevelCounts(tables, self.negative | other.negative)

    def subtract(self, other: LevelCounts) -> LevelCounts:
        """Return the counts less the counts of other rows; negative if the other rows are not a subset.

        Without tables if the numbers of tables differ. The flag of a column with negative values is
        kept, because such a value may be in the remaining rows.
        """

        def less(a: Floats, b: Floats) -> Floats:
            """Return a - b, with zero for differences of at most `ROUNDING_TOLERANCE` times a."""
            remaining = a - b
            return np.asarray(np.where(np.abs(remaining) <= ROUNDING_TOLERANCE * a, 0.0, remaining))

        if len(self.tables) != len(other.tables):
            return LevelCounts((), self.negative)
        tables = tuple(less(a, b) for a, b in zip(self.tables, other.tables, strict=True))
        return LevelCounts(tables, self.negative)

    def select_classes(self, keep: Codes) -> LevelCounts:
        """Return the counts of the classes at positions `keep` (C,), in this order."""
        return LevelCounts(tuple(table[keep] for table in self.tables), self.negative)

    def extend_to_classes(self, position: Codes, n_classes: int) -> LevelCounts:
        """Return the counts for `n_classes` classes: class k becomes position[k], new classes have zeros."""
        placed = []
        for table in self.tables:
            out = np.zeros((n_classes, table.shape[1]))
            out[position] = table
            placed.append(out)
        return LevelCounts(tuple(placed), self.negative)


def add_levels(table: Floats, codes: Codes, levels: Floats, weights: Floats | None) -> None:
    """Count the levels of a column of rows by class, and add the counts to a table in place.

    Parameters
    ----------
    table : (K, L) float
        Counts of the L levels of a column by class; modified.
    codes : (m,) int
        Class of each row.
    levels : (m,) float
        Position of the level of each row.
    weights : (m,) float, optional
        Weights of the rows; ones by default.
    """
    cells = codes * table.shape[1] + levels.astype(np.intp)
    table += np.bincount(cells, weights, table.size).reshape(table.shape)


@dataclass(slots=True)
class CountedBlocks:
    """Blocks, also of sparse rows, whose levels and negative values are counted by each complete pass.

    Iteration yields (x, codes, weights) of each block, with the first `n_columns` columns of a dense x, and
    sets `counts` at its end.

    Attributes
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of rows.
    n_classes, n_columns : int
        Numbers of classes and of columns.
    positions : tuple of int
        Positions of the columns that contain positions of levels.
    n_levels : tuple of int
        Number of levels of each of these columns.
    counts : LevelCounts
        Counts of the last complete pass; zeros before the first one.
    """

    blocks: Iterable[Any]
    n_classes: int
    n_columns: int
    positions: tuple[int, ...]
    n_levels: tuple[int, ...]
    counts: LevelCounts = field(init=False)

    def __post_init__(self) -> None:
        tables = tuple(np.zeros((self.n_classes, size)) for size in self.n_levels)
        self.counts = LevelCounts(tables, np.zeros(self.n_columns, dtype=bool))

    def __iter__(self) -> Iterator[Any]:
        tables = tuple(np.zeros((self.n_classes, size)) for size in self.n_levels)
        negative = np.zeros(self.n_columns, dtype=bool)
        for x, codes, weights in self.blocks:
            for position, table in zip(self.positions, tables, strict=True):
                levels = x.column(position) if isinstance(x, SparseRows) else x[:, position]
                add_levels(table, codes, levels, weights)
            if isinstance(x, SparseRows):
                # Sparse designs have no columns of level positions.
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
        """Apply a task to the blocks, or on workers to each chunk of them; return the merged result.

        The task receives an iterable of blocks and has to iterate over it completely at least once. `merge`
        combines two results. The merged counts are stored in `counts`.
        """
        without_blocks = replace(self, blocks=())
        result_and_counts: tuple[T, LevelCounts] = map_reduce(
            self.blocks,
            partial(_apply_with_counts, task, without_blocks),
            partial(merge_results_and_counts, merge),
        )
        self.counts = result_and_counts[1]
        return result_and_counts[0]


def _apply_with_counts(
    task: Callable[[Any], T], counted: CountedBlocks, blocks: Any
) -> tuple[T, LevelCounts]:
    """Apply a task to blocks, and count their levels; return the result and the counts.

    `counted` provides all attributes except its blocks, which `blocks` replace. The task has to iterate over
    them completely at least once, otherwise the counts are zero.
    """
    block_source = replace(counted, blocks=blocks)
    return task(block_source), block_source.counts


def merge_results_and_counts(merge: Callable[[T, T], T], a: tuple[T, Any], b: tuple[T, Any]) -> tuple[T, Any]:
    """Merge the results and the counts of two parts.

    Parameters
    ----------
    merge : callable
        Merges two results.
    a, b : (result, counts)
        Results, and counts with a method `merge`, of the parts.

    Returns
    -------
    (result, counts)
        The merged result and the merged counts.
    """
    return merge(a[0], b[0]), a[1].merge(b[1])


def level_position_moments(tables: tuple[Floats, ...], counts: Floats) -> tuple[Floats, Floats]:
    """Compute means and sums of squares of level positions, as if they were numeric columns, from counts.

    Parameters
    ----------
    tables : tuple of q (K, L_j) float
        For each of q columns, the counts of its L_j levels by class.
    counts : (K,) float
        Sums of weights by class.

    Returns
    -------
    means : (K, q) float
        Mean positions, from 0; zero for classes without weight.
    squares : (K, q) float
        Sums of squares about the means.
    """
    means = np.zeros((len(counts), len(tables)))
    squares = np.zeros((len(counts), len(tables)))
    divisors = np.where(counts > 0, counts, 1.0)[:, None]
    for j, table in enumerate(tables):
        # Relative to the most frequent level: the mean of a column with one level is exact.
        usual = table.argmax(axis=1)[:, None]
        steps = np.arange(table.shape[1]) - usual
        shift = (table * steps).sum(axis=1, keepdims=True) / divisors
        means[:, j] = np.where(counts > 0, (usual + shift)[:, 0], 0.0)
        squares[:, j] = (table * (steps - shift) ** 2).sum(axis=1)
    return means, squares


def count_sums(moments: ClassMoments, columns: Codes) -> Floats:
    """Return the sums by class of columns that contain counts, such as words per document.

    A sum is rounded to an integer that differs by at most `ROUNDING_TOLERANCE` times the sum of the column
    over all classes.

    Parameters
    ----------
    moments : ClassMoments
        Sums of weights and means of the K classes are used.
    columns : (J,) int
        Positions of the J columns that contain counts.

    Returns
    -------
    (K, J) float
        Weighted sums of the counts.
    """
    column_moments = moments.select_columns(columns)
    # The scale is a power of two, so each product is rounded only once.
    sums = column_moments.counts[:, None] * column_moments.centres + column_moments.counts[:, None] * (
        column_moments.rests / column_moments.scale
    )
    slack = ROUNDING_TOLERANCE * np.abs(sums).sum(axis=0)
    rounded = np.round(sums)
    return np.asarray(np.where(np.abs(sums - rounded) <= slack, rounded, sums))
