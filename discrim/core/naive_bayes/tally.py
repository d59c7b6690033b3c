"""Sufficient statistics of naive Bayes in addition to moments, accumulated in the same pass over the rows.

They are counts of levels, sums of counts, and the values of columns with kernel densities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discrim.core.moments.level_counts import add_levels, merge_results_and_counts
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.moments.sparse_rows import SparseRows, class_indicators
from discrim.core.numerics.arrays import Codes, Floats, slices
from discrim.core.numerics.map_reduce import map_reduce

ColumnBlock = tuple[Floats, Codes, Floats | None]
"""Values (m,) of one column in a block of rows, their classes (m,) and their weights (m,) or None."""
T = TypeVar("T")

MAX_DENSE_COLUMNS = 8
"""Number of columns of sparse rows that are converted to a dense block at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnPlan:
    """Distribution of each of p columns, and options of the estimates.

    Attributes
    ----------
    families : (p,) int
        0 normal, 1 categorical, 2 kernel density, 3 count.
    sizes : (p,) int
        Number of levels of categorical columns; 0 for others.
    bandwidths : (p,) float
        Fixed bandwidths of kernel densities; 0 applies the rule.
    rule : {"nrd0", "nrd"}
        Rule of thumb for bandwidths, Silverman's or Scott's.
    laplace, smoothing : float
        Pseudo-count added to each count, and fraction of the largest variance of a column over all rows that
        is added to each variance.
    method : {"moment", "mle"}
        Divisor of the variances of a class of weight n: n - 1 or n.
    unseen : {"raise", "missing"}
        Treatment of levels in new rows that are unknown to the fit: an error, or a missing value.
    """

    families: Codes
    sizes: Codes
    bandwidths: Floats
    rule: str = "nrd0"
    laplace: float = 0.0
    smoothing: float = 0.0
    method: str = "moment"
    unseen: str = "raise"

    def columns(self, keep: Codes) -> ColumnPlan:
        """Return the plan for the columns at positions `keep`, in this order."""
        return replace(
            self, families=self.families[keep], sizes=self.sizes[keep], bandwidths=self.bandwidths[keep]
        )

    @property
    def normal_positions(self) -> Codes:
        """Positions of the normal columns."""
        return np.flatnonzero(self.families == 0)

    @property
    def categorical_positions(self) -> Codes:
        """Positions of the categorical columns."""
        return np.flatnonzero(self.families == 1)

    @property
    def kernel_positions(self) -> Codes:
        """Positions of the columns with kernel densities."""
        return np.flatnonzero(self.families == 2)

    @property
    def count_positions(self) -> Codes:
        """Positions of the columns of counts."""
        return np.flatnonzero(self.families == 3)


@dataclass(slots=True, eq=False)
class Tally:
    """Sufficient statistics of the columns that are not normal: counts of levels, sums, and values.

    Attributes
    ----------
    plan : ColumnPlan
        Distribution of each column.
    n_classes : int
        Number of classes K.
    available : (K, p) float or None
        Weight of the rows of each class in which each column is observed, if columns are fitted to different
        rows. It is only stored; `add_block` does not update it.
    tables : list of (K, L_j) float
        Weights by class and level of each categorical column with L_j levels.
    sums : (K, J) float
        Weighted sums by class of the J columns of counts.
    values : list of lists of (values, codes, weights)
        For each column with a kernel density, one entry per block of m rows: values (m,), class codes (m,)
        and weights (m,) or None.
    """

    plan: ColumnPlan
    n_classes: int
    available: Floats | None = None
    tables: list[Floats] = field(init=False)
    sums: Floats = field(init=False)
    values: list[list[ColumnBlock]] = field(init=False)

    def __post_init__(self) -> None:
        """Start with counts and sums of zero, and without values."""
        plan = self.plan
        self.tables = [
            np.zeros((self.n_classes, size)) for size in plan.sizes[plan.categorical_positions].tolist()
        ]
        self.sums = np.zeros((self.n_classes, len(plan.count_positions)))
        self.values = [[] for _ in plan.kernel_positions]

    def wrap(self, blocks: RowBlocks) -> RowBlocks:
        """Return the blocks, wrapped to replace the contents of this tally after each complete pass.

        If all columns are normal, the blocks are returned unchanged.
        """
        return blocks if not self.plan.families.any() else _TalliedBlocks(blocks, self)

    def classes(self, keep: Codes) -> Tally:
        """Return the tally of the classes at positions `keep`, numbered from 0 in this order.

        Other classes must not have values of kernel densities: these would get the code -1.
        """
        position = np.full(self.n_classes, -1)
        position[keep] = np.arange(len(keep))
        values = [
            [(column_values, position[codes], w) for column_values, codes, w in column]
            for column in self.values
        ]
        available = None if self.available is None else self.available[keep]
        tally = Tally(self.plan, len(keep), available)
        tally.tables = [n[keep] for n in self.tables]
        tally.sums = self.sums[keep]
        tally.values = values
        return tally

    def merge(self, other: Tally) -> Tally:
        """Return the tally of the union of two disjoint sets of rows with the same plan and classes.

        `available` is None unless both have it.
        """
        available = None
        if self.available is not None and other.available is not None:
            available = self.available + other.available
        tally = Tally(self.plan, self.n_classes, available)
        tally.tables = [a + b for a, b in zip(self.tables, other.tables, strict=True)]
        tally.sums = self.sums + other.sums
        tally.values = [a + b for a, b in zip(self.values, other.values, strict=True)]
        return tally

    def columns(self, keep: Codes) -> Tally:
        """Return the tally of the columns at positions `keep`, which have to be in increasing order."""
        plan = self.plan
        kept_columns = set(keep.tolist())

        def retained_index(positions: Codes) -> list[int]:
            """Return the indices i for which positions[i] is in `keep`."""
            return [i for i, j in enumerate(positions.tolist()) if j in kept_columns]

        available = None if self.available is None else self.available[:, keep]
        tally = Tally(plan.columns(keep), self.n_classes, available)
        tally.tables = [self.tables[i] for i in retained_index(plan.categorical_positions)]
        tally.sums = self.sums[:, retained_index(plan.count_positions)]
        tally.values = [self.values[i] for i in retained_index(plan.kernel_positions)]
        return tally

    def values_by_class(self) -> list[list[tuple[Floats, Floats | None]]]:
        """Return the values of the columns with kernel densities, separated by class.

        Returns
        -------
        list of q lists of K (values, weights)
            Values (m,) of the rows of the class in the column, in the order in which they were added, and
            their weights (m,). The weights are None if no block of the column has weights; rows of blocks
            without weights count once.
        """
        columns = []
        for blocks in self.values:
            values, codes = (np.concatenate([block[i] for block in blocks]) for i in (0, 1))
            weights = None
            if any(block[2] is not None for block in blocks):
                weights = np.concatenate([np.ones(len(x)) if w is None else w for x, _, w in blocks])
            classes = (np.flatnonzero(codes == k) for k in range(self.n_classes))
            columns.append([(values[r], None if weights is None else weights[r]) for r in classes])
        return columns

    def add_block(self, x: Floats | SparseRows, codes: Codes, weights: Floats | None) -> None:
        """Add the statistics of a block of rows to this tally, in place.

        Parameters
        ----------
        x : (m, p) float or SparseRows
            Rows without missing values; levels are positions 0, ..., L_j - 1. Values of kernel densities are
            copied.
        codes : (m,) int
            Class of each row.
        weights : (m,) float or None
            Frequency weights; None if all are one.
        """
        plan = self.plan
        if isinstance(x, SparseRows):
            self._add_sparse(x, codes, weights)
            return
        for position, table in zip(plan.categorical_positions.tolist(), self.tables, strict=True):
            add_levels(table, codes, x[:, position], weights)
        if len(plan.count_positions):
            counts = x.T[plan.count_positions]
            counts = counts if weights is None else counts * weights
            self.sums += np.stack([np.bincount(codes, row, self.n_classes) for row in counts], axis=1)
        if len(plan.kernel_positions):
            codes = codes.copy()
            weights = None if weights is None else weights.copy()
            for position, blocks in zip(plan.kernel_positions.tolist(), self.values, strict=True):
                blocks.append((x[:, position].copy(), codes, weights))

    def _add_sparse(self, x: SparseRows, codes: Codes, weights: Floats | None) -> None:
        """Add the statistics of a block of sparse rows to this tally, in place.

        Parameters
        ----------
        x : SparseRows
            Shape (m, p).
        codes : (m,) int
            Class of each row.
        weights : (m,) float or None
            Frequency weights; None if all are one.
        """
        plan = self.plan
        if len(plan.count_positions):
            counts = x.select_columns(plan.count_positions)
            indicators = class_indicators(codes, weights, self.n_classes)
            self.sums += (indicators @ counts.steps).toarray()
            self.sums += np.outer(np.bincount(codes, weights, self.n_classes), counts.base)
        for chunk_tally, start in self._tally_chunks(plan.categorical_positions, x, codes, weights):
            for table, chunk_table in zip(self.tables[start:], chunk_tally.tables, strict=False):
                table += chunk_table
        for chunk_tally, start in self._tally_chunks(plan.kernel_positions, x, codes, weights):
            for blocks, chunk_blocks in zip(self.values[start:], chunk_tally.values, strict=False):
                blocks += chunk_blocks

    def _tally_chunks(
        self, columns: Codes, x: SparseRows, codes: Codes, weights: Floats | None
    ) -> Iterator[tuple[Tally, int]]:
        """Yield tallies of a few columns of sparse rows at a time, which are converted to dense blocks.

        Parameters
        ----------
        columns : (c,) int
            Positions of the columns.
        x : SparseRows
            Rows, shape (m, p).
        codes : (m,) int
            Class of each row.
        weights : (m,) float or None
            Frequency weights; None if all are one.

        Yields
        ------
        tally : Tally
            Statistics of at most `MAX_DENSE_COLUMNS` columns.
        start : int
            Index in `columns` of the first of them.
        """
        for chunk in slices(len(columns), MAX_DENSE_COLUMNS):
            chunk_tally = Tally(self.plan.columns(columns[chunk]), self.n_classes)
            chunk_tally.add_block(x.select_columns(columns[chunk]).to_dense(), codes, weights)
            yield chunk_tally, chunk.start


@dataclass(frozen=True, slots=True)
class _TalliedBlocks:
    """Blocks of rows that replace the contents of a tally after each complete pass.

    Attributes
    ----------
    blocks : RowBlocks
        Blocks (x, codes, weights) of rows.
    tally : Tally
        The tally whose tables, sums and values are replaced.
    """

    blocks: RowBlocks
    tally: Tally

    def map_reduce(self, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
        """Apply a task to the blocks, possibly in parts on workers; merge results and replace the tally.

        Parameters
        ----------
        task : callable
            Computes a result from blocks; it has to read all of them.
        merge : callable
            Combines the results of two parts.

        Returns
        -------
        object
            The result of `task`, merged over the parts by `merge`.
        """
        tallied_task = partial(_with_tally, task, self.tally.plan, self.tally.n_classes)
        result: tuple[T, Tally] = map_reduce(
            self.blocks, tallied_task, partial(merge_results_and_counts, merge)
        )
        self._keep(result[1])
        return result[0]

    def _keep(self, total: Tally) -> None:
        """Replace tables, sums and values of the tally by the ones of `total`, from a complete pass."""
        self.tally.tables = total.tables
        self.tally.sums = total.sums
        self.tally.values = total.values

    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks, and replace the tally after the last one; not if the iteration ends earlier."""
        # A pass that ends early does not change the tally.
        total = Tally(self.tally.plan, self.tally.n_classes)
        for block in self.blocks:
            total.add_block(*block)
            yield block
        self._keep(total)


def _with_tally(
    task: Callable[[Any], T], plan: ColumnPlan, n_classes: int, blocks: RowBlocks
) -> tuple[T, Tally]:
    """Apply a task to blocks, and return its result with the tally of the rows that it read.

    The tally stays zero if all columns are normal, or the task does not read all blocks.
    """
    tally = Tally(plan, n_classes)
    return task(tally.wrap(blocks)), tally
