"""Rows of a source with their classes and weights, read in chunks here (`SourceRows`) or on workers.

A chunk is released when the next one is read. If all classes or weights are needed at once, for example for
stratified folds, a pass over their columns reads them. Rows on workers (`DistributedRows`) stay there: a
`ChunkTask` is sent to each chunk, and its result is returned together with its warnings and whether it found
fractional weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, Mask, check_memory
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.progress import Progress
from discrim.data.sources.base import ChunkWork, DistributedSource, no_rows_error
from discrim.design.design_rows import (
    NO_ROWS,
    Block,
    DesignRows,
    Rows,
    TableRows,
    has_fractional_weights,
    positive_weight_mask,
    read_weights,
)
from discrim.design.matrix import response_codes
from discrim.design.source_tables import SourceTable, chunk_table, chunk_tables
from discrim.errors import DiscrimWarning, add_path_to_errors, collect_warnings, warn_user
from discrim.formula.design import Design
from discrim.formula.factors import Functions

T = TypeVar("T")

ASSUMED_ROWS = 2**20
"""Number of rows that is assumed if the length of a source is unknown."""


@dataclass(slots=True, eq=False)
class SourceReader:
    """Reader of the classes and weights of a source, which stores what its passes have found.

    Attributes
    ----------
    table : SourceTable
    design : Design
        Design with which the formula was resolved; labels outside its levels are errors.
    functions : mapping of str to callable
    weight_name : str or None
        The column of frequency weights.
    is_training : bool
        Whether a model is fitted to the rows, like `TableRows.is_training`.
    has_fractional_weights : bool
        Whether a pass has found a weight that is not an integer.
    has_warned : bool
        Whether a pass has been made; its warnings are not repeated.
    """

    table: SourceTable
    design: Design
    functions: Functions
    weight_name: str | None = None
    is_training: bool = False
    has_fractional_weights: bool = field(default=False, init=False, repr=False)
    has_warned: bool = field(default=False, init=False, repr=False)
    _classes_and_weights: tuple[Codes, Floats | None] | None = field(default=None, init=False, repr=False)
    _codes_by_levels: tuple[tuple[Any, ...], Codes] | None = field(default=None, init=False, repr=False)

    def read_chunks(self, design: Design, *, with_labels: bool = True) -> Iterator[TableRows]:
        """Iterate over the chunks with rows, as tables with the columns of `design`.

        Classes are positions in the levels of the reader's own design. Without `with_labels` they are all -1
        and the weights None. The first complete pass issues the warnings; each updates
        `has_fractional_weights` and the row count of the table.
        """
        label_columns = (
            (*self.design.response_columns, *([self.weight_name] if self.weight_name else ()))
            if with_labels
            else ()
        )
        columns = list(dict.fromkeys((*design.columns, *label_columns)))
        start = 0
        for table, path in chunk_tables(self.table.source, columns, design.kinds):
            codes = np.full(table.nrows, -1, dtype=np.intp)
            weights = None
            if with_labels:
                with add_path_to_errors(path), warnings.catch_warnings():
                    if self.has_warned:
                        # The first pass has issued these warnings.
                        warnings.simplefilter("ignore", DiscrimWarning)
                    positive = positive_weight_mask(self.weight_name, table)
                    codes = response_codes(self.design, table, self.functions, positive)
                    weights = read_weights(self.weight_name, table)
                self.has_fractional_weights = self.has_fractional_weights or has_fractional_weights(
                    codes, weights
                )
            yield TableRows(table, codes, weights, start=start, path=path, is_training=self.is_training)
            start += table.nrows
        self.table.set_row_count(start)
        self.has_warned = True

    def classes_and_weights(self) -> tuple[Codes, Floats | None]:
        """Return classes and weights (n,) of all rows, which are read at the first call."""
        if self._classes_and_weights is None:
            self._classes_and_weights = self._read_all_rows()
        return self._classes_and_weights

    def _read_all_rows(self) -> tuple[Codes, Floats | None]:
        """Read classes and weights (n,) of all rows by a pass; weights are None without a column of weights.

        Raises an error before the pass if the memory is too small.
        """
        check_memory(
            2.0 * self.table.nrows,
            f"The classes of {self.table.nrows:,} rows at once",
            "Pass a subset of the rows as a table in memory",
        )
        codes = []
        weights = []
        with Progress(self.table.nrows, "classes of rows") as progress:
            for chunk in self.read_chunks(response_design(self.design)):
                codes.append(chunk.codes)
                if chunk.weights is not None:
                    weights.append(chunk.weights)
                progress(chunk.table.nrows)
        return np.concatenate(codes), np.concatenate(weights) if weights else None

    def codes_for_levels(self, levels: tuple[Any, ...]) -> Codes:
        """Return the class (n,) of all rows as a position in `levels`, which may be a subset; else -1."""
        if levels == self.design.levels:
            return self.classes_and_weights()[0]
        if self._codes_by_levels is None or self._codes_by_levels[0] != levels:
            codes = self.classes_and_weights()[0]
            self._codes_by_levels = levels, _recode_levels(codes, self.design.levels, levels)
        return self._codes_by_levels[1]


@dataclass(frozen=True, slots=True, eq=False)
class SourceRows(Rows):
    """Rows of a source that is read in chunks in this process.

    `codes` and `weights` replace the values of the source, unless they are None.
    """

    table: SourceTable
    reader: SourceReader
    codes: Codes | None = None
    weights: Floats | None = None
    excluded: Mask | None = None

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None or self.reader.weight_name is not None

    def codes_for_levels(self, levels: tuple[Any, ...]) -> Codes:
        """Return the class (n,) of each row as a position in `levels`, -1 for other rows.

        Codes that replace the codes of the source are returned as they are.
        """
        return self.reader.codes_for_levels(levels) if self.codes is None else self.codes

    def all_weights(self) -> Floats | None:
        """Return the weights (n,) of the rows, which are read at the first call."""
        if self.weights is not None or self.reader.weight_name is None:
            return self.weights
        return self.reader.classes_and_weights()[1]

    def with_classes(self, levels: tuple[Any, ...]) -> SourceRows:
        """Read classes and weights now, because a second pass may not be possible during a pass."""
        return replace(self, codes=self.codes_for_levels(levels), weights=self.all_weights())

    def n_labelled(self, n_columns: int) -> int:
        """Return the number of labelled rows if `codes` is set, else the number of all rows.

        If the source does not state that number, return `ASSUMED_ROWS`, which a long source may exceed. If
        `n_columns` is as large, count the rows instead.
        """
        if self.codes is not None:
            return int((self.codes >= 0).sum())
        return (
            ASSUMED_ROWS if self.table.source.nrows is None and n_columns < ASSUMED_ROWS else self.table.nrows
        )

    def class_counts(self) -> None:
        """Return None, because only a pass over the source counts the classes."""

    def has_whole_weights(self) -> bool:
        """Return whether the weights read so far are whole numbers."""
        if self.weights is None:
            return not self.reader.has_fractional_weights
        return not has_fractional_weights(self.codes_for_levels(self.reader.design.levels), self.weights)

    def unweighted(self) -> SourceRows:
        """Return the same rows without weights."""
        return replace(self, reader=replace(self.reader, weight_name=None), weights=None)

    def with_response_design(self, design: Design) -> SourceRows:
        """Return rows whose response is read by another design."""
        return replace(self, reader=replace(self.reader, design=design))

    def chunks(self, design: Design, *, with_classes: bool = True) -> Iterator[TableRows]:
        """Iterate over the chunks of the source, with the classes, weights and mask of these rows.

        Codes are positions in `design.levels`, unless `codes` replaces them. Without `with_classes` only
        codes and weights in memory are set; otherwise codes are -1 and weights None.
        """
        is_labelled = self.codes is not None and (self.weights is not None or not self.has_weights)
        for chunk in self.reader.read_chunks(design, with_labels=with_classes and not is_labelled):
            row_slice = slice(chunk.start, chunk.start + chunk.table.nrows)
            codes = _recode_levels(chunk.codes, self.reader.design.levels, design.levels)
            yield replace(
                chunk,
                codes=codes if self.codes is None else self.codes[row_slice],
                weights=chunk.weights if self.weights is None else self.weights[row_slice],
                excluded=None if self.excluded is None else self.excluded[row_slice],
            )

    def check_or_defer_counts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return all names: columns of counts of a source are validated while its rows are read."""
        return names

    @property
    def source_description(self) -> str:
        """Description of the source."""
        return self.table.source.description

    @property
    def rows_in_memory(self) -> float:
        """Infinite, because each pass reads the rows again."""
        return np.inf

    def weight_column(self, used_columns: Collection[str]) -> str | None:
        """Return the column of weights."""
        return self.reader.weight_name

    def folds_by_pass(self, folds: int) -> list[range]:
        """Return all folds as one pass."""
        return [range(folds)]


class RowOverrides(NamedTuple):
    """Classes, weights and mask (n,) of excluded rows that replace the values of a source or chunk.

    None keeps the values of the source.
    """

    codes: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    excluded: NDArray[Any] | None = None


NO_OVERRIDES = RowOverrides()
"""Nothing is replaced."""


class ChunkResult(NamedTuple, Generic[T]):
    """Merged result of a task for some chunks, whether a weight is fractional, and the warnings.

    Each of `messages` is the text and the category of a warning.
    """

    value: T
    has_fractional_weights: bool
    messages: tuple[tuple[str, type[DiscrimWarning]], ...]


@dataclass(frozen=True, slots=True)
class ChunkTask(Generic[T]):
    """A task with everything that is required to read the rows of a chunk on a worker.

    Attributes
    ----------
    design : Design
        Design of the columns and levels of the rows.
    response_design : Design
        Design with which the response is read.
    functions : mapping of str to callable
        Functions of the user.
    weight_name : str or None
        Column of frequencies.
    task : callable
        Function of the rows of the chunk.
    is_training : bool
        Whether a model is fitted to the rows, like `TableRows.is_training`.
    """

    design: Design
    response_design: Design
    functions: Functions
    weight_name: str | None
    task: Callable[[TableRows], T]
    is_training: bool

    def __call__(self, data: Any, overrides: RowOverrides | None) -> ChunkResult[T] | None:
        """Read a chunk and apply the task; return None if the chunk is empty."""
        table = chunk_table(data, self.design.kinds)
        if table is None:
            return None
        codes, weights, excluded = overrides or NO_OVERRIDES
        with collect_warnings() as messages:
            if codes is None:
                positive = positive_weight_mask(self.weight_name, table)
                codes = response_codes(self.response_design, table, self.functions, positive)
                codes = _recode_levels(codes, self.response_design.levels, self.design.levels)
            codes = codes.astype(np.intp, copy=False)
            weights = read_weights(self.weight_name, table) if weights is None else weights
            value = self.task(TableRows(table, codes, weights, excluded, is_training=self.is_training))
        return ChunkResult(value, has_fractional_weights(codes, weights), tuple(dict.fromkeys(messages)))


@dataclass(frozen=True, slots=True)
class _MergeResults(Generic[T]):
    """Merge function of two results of a `ChunkTask`; `values` merges their values."""

    values: Callable[[T, T], T]

    def __call__(self, a: ChunkResult[T], b: ChunkResult[T]) -> ChunkResult[T]:
        """Merge two results, with their warnings and whether one of them has fractional weights."""
        messages = tuple(dict.fromkeys((*a.messages, *b.messages)))
        return ChunkResult(
            self.values(a.value, b.value), a.has_fractional_weights or b.has_fractional_weights, messages
        )


@dataclass(slots=True, eq=False)
class DistributedReader(SourceReader):
    """Reader of the classes and weights of rows on workers."""

    def map_reduce_rows(
        self,
        design: Design,
        task: Callable[[TableRows], T],
        merge: Callable[[T, T], T],
        overrides: RowOverrides = NO_OVERRIDES,
    ) -> T:
        """Apply a task to the rows of each chunk on the workers, and merge the results.

        Parameters
        ----------
        design : Design
        task : callable
            Function of `TableRows`.
        merge : callable
            Function that combines the results of two sets of chunks.
        overrides : RowOverrides
            Replacements for properties of all rows.

        Returns
        -------
        object
            The merged results. The pass is recorded, see `record_pass`.

        Raises
        ------
        DataError
            The source is empty.
        """
        source: Any = self.table.source
        merged = source.map_reduce(self.chunk_work(design, task, merge, overrides))
        self.record_pass(merged, overrides)
        value: T = merged.value
        return value

    def chunk_work(
        self,
        design: Design,
        task: Callable[[TableRows], T],
        merge: Callable[[T, T], T],
        overrides: RowOverrides,
    ) -> ChunkWork[ChunkResult[T]]:
        """Return the columns, task and merge function that the source applies to its chunks.

        Parameters
        ----------
        design : Design
        task : callable
            Function of `TableRows`.
        merge : callable
            Function that combines the results of two sets of chunks.
        overrides : RowOverrides
            Replacements for properties of the rows.

        Returns
        -------
        ChunkWork
        """
        source: Any = self.table.source
        column = self.weight_name if overrides.weights is None else None
        label_columns = (
            *(() if overrides.codes is not None else self.design.response_columns),
            *((column,) if column else ()),
        )
        columns = list(dict.fromkeys((*design.columns, *label_columns)))
        chunk_task = ChunkTask(design, self.design, self.functions, column, task, self.is_training)
        has_no_overrides = all(values is None for values in overrides)
        return ChunkWork(
            columns,
            chunk_task,
            _MergeResults(merge),
            None if has_no_overrides else _split_overrides(overrides, source),
        )

    def record_pass(self, merged: ChunkResult[Any] | None, overrides: RowOverrides) -> None:
        """Store the number of rows and fractional weights found by a pass; issue the first pass's warnings.

        Raises DataError if `merged` is None, because the source is empty.
        """
        source: Any = self.table.source
        if merged is None:
            raise no_rows_error(source)
        self.table.set_row_count(sum(source.chunk_row_counts))
        if overrides.weights is None:
            self.has_fractional_weights = self.has_fractional_weights or merged.has_fractional_weights
        if not self.has_warned:
            self.has_warned = True
            for message in merged.messages:
                warn_user(*message)

    def _read_all_rows(self) -> tuple[Codes, Floats | None]:
        """Read classes and weights (n,) of all rows on the workers."""
        codes, weights = self.map_reduce_rows(
            response_design(self.design), _codes_and_weights, _concatenate_pairs
        )
        return codes.astype(np.intp), weights if self.weight_name else None


class DistributedRows(SourceRows):
    """Rows on workers, which are transferred only for models whose computation cannot be merged."""

    __slots__ = ()

    reader: DistributedReader

    @property
    def is_local(self) -> bool:
        """Return False: the rows stay on the workers."""
        return False

    def map_reduce(
        self, design_rows: DesignRows, task: Callable[[DesignRows], T], merge: Callable[[T, T], T]
    ) -> T:
        """Apply a task to the rows of each chunk on the workers, and merge the results.

        `design_rows.dropped` is set if the task has iterated over the blocks of each chunk.
        """
        value_and_dropped: tuple[T, int | None] = self.reader.map_reduce_rows(
            design_rows.design, *self._task_and_merge(design_rows, task, merge)
        )
        design_rows.dropped = design_rows.dropped if value_and_dropped[1] is None else value_and_dropped[1]
        return value_and_dropped[0]

    def map_reduce_stored(
        self, design_rows: DesignRows, task: Callable[[DesignRows], T], merge: Callable[[T, T], T]
    ) -> StoredValue[T]:
        """Return the result of `map_reduce`, stored on the worker that merged it.

        Parameters
        ----------
        design_rows : DesignRows
            The design matrix of these rows.
        task : callable
            Function of the `DesignRows` of one chunk.
        merge : callable
            Function that combines the results of two sets of chunks.

        Returns
        -------
        StoredValue
            Handle of the result, which is not transferred until it is needed.
        """
        source: Any = self.table.source
        task_and_merge = self._task_and_merge(design_rows, task, merge)
        merged, stored = source.map_reduce_stored(
            self.reader.chunk_work(design_rows.design, *task_and_merge),
            lambda made: None if made is None else made._replace(value=None),
            lambda made: None if made is None else made.value[0],
        )
        self.reader.record_pass(merged, task_and_merge[2])
        value: StoredValue[T] = stored
        return value

    def _task_and_merge(
        self, design_rows: DesignRows, task: Any, merge: Any
    ) -> tuple[Any, Any, RowOverrides]:
        """Return the task for each chunk, its merge function, and the replacements for all rows.

        The results of the task are as in `_apply_to_chunk`: pairs of a value and a number of dropped rows.
        """
        empty_blocks = replace(design_rows, rows=NO_ROWS)
        codes = None if self.codes is None else _smallest_dtype(self.codes)
        overrides = RowOverrides(codes, self.weights, self.excluded)
        return (
            partial(_apply_to_chunk, empty_blocks, task),
            partial(_merge_values_and_counts, merge),
            overrides,
        )

    def copy_blocks(self, design_rows: DesignRows, max_values: int) -> Iterable[Block]:
        """Return the blocks, because their rows stay on the workers."""
        return design_rows

    def map_rows(self, design_rows: DesignRows, task: Callable[[DesignRows], NDArray[Any]]) -> NDArray[Any]:
        """Return the integers (n,) that a task computes for each row, transferred in the smallest dtype."""
        small_codes = self.map_reduce(
            design_rows, lambda part: _smallest_dtype(task(part)), lambda a, b: np.concatenate([a, b])
        )
        return small_codes.astype(np.intp)


def rows_of_source(
    table: SourceTable,
    design: Design,
    functions: Functions,
    weight_name: str | None = None,
    *,
    is_training: bool = False,
) -> SourceRows:
    """Return the rows of a source.

    Parameters
    ----------
    table : SourceTable
    design : Design
        Design with which the response is read.
    functions : mapping of str to callable
    weight_name : str, optional
        Column of weights.
    is_training : bool
        Whether a model is fitted to the rows.

    Returns
    -------
    SourceRows
        `DistributedRows` if workers store the chunks of the source.
    """
    if isinstance(table.source, DistributedSource):
        return DistributedRows(table, DistributedReader(table, design, functions, weight_name, is_training))
    return SourceRows(table, SourceReader(table, design, functions, weight_name, is_training))


def response_design(design: Design) -> Design:
    """Return a copy of a design without columns, which computes only the response."""
    return replace(design, columns=(), terms=(), spec=None, is_plain=True)


def _recode_levels(codes: Codes, current_levels: tuple[Any, ...], new_levels: tuple[Any, ...]) -> Codes:
    """Convert codes (n,) of levels to codes of other levels; -1 for a level that these do not contain.

    A code of -1 remains -1. If the levels are equal, the same array is returned.
    """
    if current_levels == new_levels:
        return codes
    position = {label: k for k, label in enumerate(new_levels)}
    return np.array([*(position.get(label, -1) for label in current_levels), -1], dtype=np.intp)[codes]


def _split_overrides(overrides: RowOverrides, source: DistributedSource) -> list[RowOverrides]:
    """Split the replacements for all rows of a source into replacements for each of its chunks."""
    stops = np.cumsum([0, *source.chunk_row_counts]).tolist()
    return [
        RowOverrides(*(None if values is None else values[start:stop] for values in overrides))
        for start, stop in pairwise(stops)
    ]


def _apply_to_chunk(
    empty_blocks: DesignRows, task: Callable[[DesignRows], T], rows: TableRows
) -> tuple[T, int | None]:
    """Apply a task to the rows of a chunk; return its value and the number of dropped rows.

    The number is None if the task has not iterated over all blocks.
    """
    chunk_blocks = replace(empty_blocks, rows=rows, dropped=-1)
    value: T = task(chunk_blocks)
    return value, chunk_blocks.dropped if chunk_blocks.dropped >= 0 else None


def _merge_values_and_counts(
    merge: Callable[[T, T], T], a: tuple[T, int | None], b: tuple[T, int | None]
) -> Any:
    """Merge two results of `_apply_to_chunk`; the number of dropped rows is None if one of them is."""
    return merge(a[0], b[0]), None if a[1] is None or b[1] is None else a[1] + b[1]


def _codes_and_weights(rows: TableRows) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the classes (n,) and weights (n,) of a chunk for transfer; absent weights are empty."""
    return _smallest_dtype(rows.codes), np.zeros(0) if rows.weights is None else rows.weights


def _concatenate_pairs(a: tuple[NDArray[Any], NDArray[Any]], b: tuple[NDArray[Any], NDArray[Any]]) -> Any:
    """Concatenate the classes and the weights of two results."""
    return tuple(np.concatenate(arrays) for arrays in zip(a, b, strict=True))


def _smallest_dtype(codes: NDArray[Any]) -> NDArray[Any]:
    """Convert codes of -1 or more to the smallest signed integer dtype, for transfer."""
    return codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0))))
