"""Design matrix, classes and frequency weights of the rows of a table or source, computed block by block.

`DesignRows` combines a `Design` (which columns the formula makes) with `Rows` (the observations). Iterating
over it yields `Block` objects that fit the processor cache. The observations are either `TableRows`, a table
in memory, or rows of a source, which are read in chunks (`discrim.design.source_rows`).

The matrix x (m, p) of a block is the transposed view of a buffer (p, m), because tables are stored and
products are computed by column. The buffer is reused for the next block, so a pass over the rows needs the
memory of one block only. A block of plain float64 columns is a view of the table and needs no buffer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.core.numerics.map_reduce import StoredValue, map_reduce
from discrim.core.numerics.progress import refresh_progress
from discrim.core.numerics.threads import all_blas_threads
from discrim.data.column_range import ColumnRange
from discrim.data.table import Table
from discrim.data.values import as_floats, has_values, pandas_column_type
from discrim.design.levels import check_booleans_or_counts, unseen_level_mask
from discrim.design.matrix import DesignMatrix, check_finite, design_of_columns, missing_row_mask
from discrim.errors import DataError, DroppedRowsWarning, NotSupportedError, add_path_to_errors, warn_user
from discrim.formula.design import Design

T = TypeVar("T")

VALUES_PER_BLOCK = 2**18
"""Target number of values in a block: 2 MiB of float64."""

BLOCK_ROW_LIMITS = (1024, 8192)
"""Minimum and maximum number of rows of a block."""

BLOCK_ROW_DIVISOR = 64
"""A block has a multiple of this number of rows, because BLAS rounds the remainder rows differently."""

MIN_IN_PLACE_ROWS = 4096
"""Minimum number of rows of a block that is a view of the table, because short views are read slowly."""

MAX_IN_PLACE_VALUES = 2**22
"""Maximum number of values of a block that is a view; it has precedence over `MIN_IN_PLACE_ROWS`."""

MIN_ROWS_PER_DROPPED_ROW = 32
"""Minimum number of rows per dropped row at which the rows between dropped rows are copied as slices."""

MAX_SPARSE_BLOCK_VALUES = 2**21
"""Maximum number of values in a block of sparse columns, unless the block would have too few rows."""


class Block(NamedTuple):
    """Consecutive rows of a design matrix. The arrays are valid until the next block is computed.

    Attributes
    ----------
    x : (m, p) float64 array
        Rows of the design matrix. NaN for missing values, if the fit uses incomplete rows.
    codes : (m,) int array
        Class of each row as a position in `Design.levels`, 0 or more.
    weights : (m,) float64 array or None
        Frequency weights, 0 or more; None without weights.
    """

    x: NDArray[np.float64]
    codes: NDArray[np.intp]
    weights: NDArray[np.float64] | None


class Rows(ABC):
    """Rows of a table or a source, with their classes and frequency weights.

    Methods that are not abstract have the behaviour of a table in memory, which is a single chunk.

    Attributes
    ----------
    table : Table
        The table, or its stand-in if the rows come from a source.
    codes : (n,) int array or None
        Class of each row, -1 if it is missing. None if each pass over a source reads the classes; then
        `codes_for_levels` returns them.
    weights : (n,) float array or None
        Frequency weights. None without weights, or if each pass over a source reads them; then `all_weights`
        returns them.
    excluded : (n,) bool array or None
        Rows that are treated as missing, for example because of a level that the fit has not seen.
    """

    __slots__ = ()

    table: Table
    codes: Codes | None
    weights: Floats | None
    excluded: Mask | None

    @property
    @abstractmethod
    def has_weights(self) -> bool:
        """Whether the rows have weights."""

    @abstractmethod
    def codes_for_levels(self, levels: tuple[Any, ...]) -> Codes:
        """Return the class (n,) of each row as a position in `levels`, -1 if it is missing.

        The classes of a source are read at the first call.
        """

    @abstractmethod
    def all_weights(self) -> Floats | None:
        """Return the weights (n,) of the rows, or None. A source is read for them at the first call."""

    @abstractmethod
    def n_labelled(self, n_columns: int) -> int:
        """Return the number of labelled rows.

        For a source it is the number of all rows, because labels are counted while rows are read. If that is
        unknown, too, it is a rough number that suffices for a comparison with `n_columns`, the number of
        columns of the design.
        """

    @abstractmethod
    def class_counts(self) -> Codes | None:
        """Return the number of rows of each class, unweighted and up to the last class with rows.

        None if a source has to be read first.
        """

    @abstractmethod
    def has_whole_weights(self) -> bool:
        """Return whether the weights of labelled rows are whole numbers; True without weights.

        Only the rows of a source that have been read so far are considered.
        """

    @abstractmethod
    def chunks(self, design: Design, *, with_classes: bool = True) -> Iterator[TableRows]:
        """Iterate over chunks that have at least the columns of a design.

        Parameters
        ----------
        design : Design
            Its `levels` define the codes of the classes.
        with_classes : bool
            Whether the classes and weights of a source are read; otherwise all codes are -1 and the weights
            None, unless they are in memory.

        Yields
        ------
        TableRows
        """

    @abstractmethod
    def weight_column(self, used_columns: Collection[str]) -> str | None:
        """Return the name of a column outside `used_columns` that contains the weights, or None."""

    @property
    def source_description(self) -> str:
        """Description of the source that is read in chunks; "" for a table in memory."""
        return ""

    @property
    def is_local(self) -> bool:
        """Whether iterating over the rows reads them in this process."""
        return True

    @property
    def rows_in_memory(self) -> float:
        """Number of rows in memory; infinity if each pass reads the rows again."""
        return self.table.nrows

    def with_classes(self, levels: tuple[Any, ...]) -> Rows:
        """Return the rows with classes and weights in memory."""
        return self

    def unweighted(self) -> Rows:
        """Return the same rows without weights."""
        return self.with_weights(None)

    def with_response_design(self, design: Design) -> Rows:
        """Return rows whose classes are computed from the response of another design.

        Rows whose classes have been read already, as in this base class, are returned unchanged.
        """
        return self

    def check_or_defer_counts(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Validate columns of counts, and return the names of those that could not be validated yet.

        A table is validated now (DataError for a negative value); the columns of a source have to be
        validated while rows are read.
        """
        check_booleans_or_counts(self.table, names, counts=True)
        return ()

    def folds_by_pass(self, folds: int) -> list[range]:
        """Group the fold numbers 0, ..., folds - 1 by passes over the rows: for a table one fold per pass."""
        return [range(fold, fold + 1) for fold in range(folds)]

    def require_table(self, before: str, after: str, *, hint: str) -> None:
        """Raise NotSupportedError, with this hint, if rows are read in chunks; do nothing for a table.

        The message is `before`, the description of the source, and `after`.
        """
        if self.source_description:
            raise NotSupportedError(f"{before}{self.source_description}{after}", hint=hint)

    def map_reduce(
        self, design_rows: DesignRows, task: Callable[[DesignRows], T], merge: Callable[[T, T], T]
    ) -> T:
        """Apply a task to all rows at once, or on workers to each chunk, and merge the results.

        `design_rows` is the design with these rows. `merge` combines the results of two chunks.
        """
        return task(design_rows)

    def map_reduce_stored(
        self, design_rows: DesignRows, task: Callable[[DesignRows], T], merge: Callable[[T, T], T]
    ) -> StoredValue[T]:
        """Return the result of `map_reduce`, stored on the worker that computed it, here for local rows."""
        return StoredValue(task(design_rows))

    def map_rows(self, design_rows: DesignRows, task: Callable[[DesignRows], NDArray[Any]]) -> NDArray[Any]:
        """Return the integers (n,) that a task computes, one for each row."""
        return task(design_rows)

    def copy_blocks(self, design_rows: DesignRows, max_values: int) -> Iterable[Block]:
        """Return copies of all blocks if n p is at most `max_values`; otherwise `design_rows` itself.

        Iterating over the result several times then does not compute the rows again.
        """
        if self.table.nrows * max(len(design_rows.terms), 1) > max_values:
            return design_rows
        return [
            Block(np.array(x, order="F"), codes.copy(), None if weights is None else weights.copy())
            for x, codes, weights in design_rows
        ]

    def with_codes(self, codes: Codes) -> Self:
        """Return the same rows with other classes (n,); -1 for a row without a class."""
        return self._copy_with(codes=codes)

    def with_weights(self, weights: Floats | None) -> Self:
        """Return the same rows with other weights (n,), or without weights."""
        return self._copy_with(weights=weights)

    def with_excluded(self, excluded: Mask | None) -> Self:
        """Return the same rows with another mask (n,) of excluded rows; None excludes none."""
        return self._copy_with(excluded=excluded)

    def _copy_with(self, **change: Any) -> Self:
        """Return a copy with some fields replaced; `change` contains the new values by field."""
        rows: Any = self  # Subclasses are dataclasses; this base class is not.
        changed: Self = replace(rows, **change)
        return changed


@dataclass(frozen=True, slots=True, eq=False)
class TableRows(Rows):
    """Rows of a table in memory, or of one chunk of a source; see `Rows` for the other attributes.

    Attributes
    ----------
    has_unseen : bool or None
        Whether a row has a level that the fit has not seen; None if this has not been determined.
    start : int
        Position of the first row of the chunk in the source.
    path : str or None
        Path of the file that contains the chunk.
    is_training : bool
        Whether these are the training rows of a model. Training rows without a class or a positive weight
        may have levels that the fit has not seen. Such levels are treated as missing values.
    """

    table: Table
    codes: Codes
    weights: Floats | None = None
    excluded: Mask | None = None
    has_unseen: bool | None = None
    start: int = 0
    path: str | None = None
    is_training: bool = False

    @property
    def unused(self) -> Mask | None:
        """Mask (n,) of the training rows without a class or a positive weight; None without such rows."""
        if not self.is_training:
            return None
        unused = self.codes < 0 if self.weights is None else (self.codes < 0) | ~(self.weights > 0)
        return unused if unused.any() else None

    @property
    def has_weights(self) -> bool:
        """Whether the rows have weights."""
        return self.weights is not None

    def codes_for_levels(self, levels: tuple[Any, ...]) -> Codes:
        """Return the class (n,) of each row. The codes of a table already refer to `levels`."""
        return self.codes

    def all_weights(self) -> Floats | None:
        """Return the weights (n,) of the rows, or None."""
        return self.weights

    def n_labelled(self, n_columns: int) -> int:
        """Return the number of labelled rows; `n_columns` is ignored."""
        return int((self.codes >= 0).sum())

    def class_counts(self) -> Codes:
        """Count the rows per class, unweighted and up to the last nonempty class."""
        return np.bincount(self.codes[self.codes >= 0])

    def has_whole_weights(self) -> bool:
        """Return whether the weights of labelled rows are whole numbers."""
        return not has_fractional_weights(self.codes, self.weights)

    def chunks(self, design: Design, *, with_classes: bool = True) -> Iterator[TableRows]:
        """Yield the rows as one chunk."""
        yield self

    def weight_column(self, used_columns: Collection[str]) -> str | None:
        """Return the name of the first column outside `used_columns` whose values are the weights."""
        for name in self.table.names:
            if name in used_columns:
                continue
            values = pd.to_numeric(pd.Series(self.table.frame([name])[name]), errors="coerce")
            column_values = values.to_numpy(dtype=np.float64, na_value=np.nan)
            if self.weights is not None and np.array_equal(column_values, self.weights, equal_nan=True):
                return name
        return None


NO_ROWS = TableRows(Table(pd.DataFrame(index=pd.RangeIndex(0))), np.zeros(0, dtype=np.intp))
"""Rows of an empty table."""


def has_fractional_weights(codes: Codes, weights: Floats | None) -> bool:
    """Return whether a labelled row has a positive weight that is not a whole number."""
    return weights is not None and bool((weights[(codes >= 0) & (weights > 0)] % 1 != 0).any())


BlockCallback = Callable[[slice, NDArray[np.float64], NDArray[np.bool_] | None], None]
"""Called with each block: the slice of its rows, x, and the mask of rows with a missing value or None."""


class _UnfilteredBlock(NamedTuple):
    """All rows of a block, before those that a fit does not use are dropped.

    Attributes
    ----------
    start : int
        Position of the first row in the table.
    x : (m, p) float64 array
    missing : (m,) bool array or None
        Rows with a missing value; None without missing values.
    codes : (m,) int array
    weights : (m,) float64 array or None
    """

    start: int
    x: NDArray[np.float64]
    missing: NDArray[np.bool_] | None
    codes: NDArray[np.intp]
    weights: NDArray[np.float64] | None


@dataclass(slots=True, eq=False)
class DesignRows:
    """The design matrix of a table or source, computed block by block.

    Iterating yields a `Block` of the rows that a fit uses; `iter_all_rows` yields all rows, for predictions.

    Attributes
    ----------
    design : Design
        The columns of the design matrix and the classes.
    rows : Rows
        The observations with their classes and weights.
    functions : mapping of str to callable
        The user's functions that the formula calls.
    kept_columns : tuple of int, optional
        Positions of the columns of the design that x has, p columns; by default all.
    unseen_as_missing : bool
        Whether a level that the fit has not seen is a missing value; otherwise it is an error.
    column_units : (p,) float64 array, optional
        Divisors of the columns of x.
    constant_terms, collinear_terms : tuple of str
        Terms that the fit dropped because they are constant or linear combinations of others.
    dropped : int
        Number of rows that the last pass dropped because their class, weight or a value is missing, except
        rows of weight zero; set at the end of a pass, and 0 before.
    integrates_missing : bool
        Whether a row with a missing value is predicted from its other columns.
    uses_incomplete_rows : bool
        Whether the fit also uses rows with missing values, and drops only rows without a class or weight;
        implies `integrates_missing`.
    count_columns : tuple of str
        Columns of a source whose values are validated as counts while they are read.
    column_range : ColumnRange, optional
        Accepted range of each column of x; values outside are an OutOfRangeError. None for the training rows,
        which determine it.
    """

    design: Design
    rows: Rows
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    kept_columns: tuple[int, ...] | None = None
    dropped: int = 0
    integrates_missing: bool = False
    uses_incomplete_rows: bool = False
    unseen_as_missing: bool = False
    column_units: NDArray[np.float64] | None = None
    constant_terms: tuple[str, ...] = ()
    collinear_terms: tuple[str, ...] = ()
    count_columns: tuple[str, ...] = ()
    column_range: ColumnRange | None = None

    @property
    def table(self) -> Table:
        """The table, or its stand-in if the rows come from a source."""
        return self.rows.table

    @property
    def codes(self) -> NDArray[np.intp]:
        """Class (n,) of each row, -1 if it is missing; read from a source at the first access."""
        return self.rows.codes_for_levels(self.design.levels)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights (n,) of the rows, or None; read from a source at the first access."""
        return self.rows.all_weights()

    @property
    def has_weights(self) -> bool:
        """Whether the rows have weights."""
        return self.rows.has_weights

    @property
    def n_labelled(self) -> int:
        """Number of labelled rows; for a source only a rough number, see `Rows.n_labelled`."""
        return self.rows.n_labelled(len(self.design.terms))

    @property
    def is_local(self) -> bool:
        """Whether iterating over the rows reads them in this process, and not on workers."""
        return self.rows.is_local

    @property
    def map_reduce(self) -> Any:
        """The `map_reduce` of the rows, bound to this object, if they are on workers; else None.

        It is a function of a task and of a merge function, for `discrim.core.numerics.map_reduce.map_reduce`.
        """
        return None if self.rows.is_local else partial(self.rows.map_reduce, self)

    def with_codes(self, codes: NDArray[np.intp]) -> DesignRows:
        """Return a copy with other classes (n,); -1 drops a row."""
        return replace(self, rows=self.rows.with_codes(codes))

    def with_weights(self, weights: NDArray[np.float64] | None) -> DesignRows:
        """Return a copy with other weights (n,). Blocks include rows of weight zero; NaN drops a row."""
        return replace(self, rows=self.rows.with_weights(weights))

    def with_classes(self) -> DesignRows:
        """Return a copy with classes and weights in memory."""
        return replace(self, rows=self.rows.with_classes(self.design.levels))

    def with_count_columns(self, names: tuple[str, ...]) -> DesignRows:
        """Return a copy that validates columns of counts: now for a table, while reading for a source."""
        return replace(self, count_columns=self.rows.check_or_defer_counts(names))

    def count_dropped(self, used: Mask) -> int:
        """Count the rows outside the mask `used` (n,), except rows of weight zero; NaN weights count."""
        weights = self.weights
        return int((~used).sum() if weights is None else (~used & (weights != 0)).sum())

    def unweighted(self) -> DesignRows:
        """Return a copy without weights."""
        return replace(self, rows=self.rows.unweighted())

    def select_classes(self, positions: NDArray[np.intp]) -> DesignRows:
        """Return a copy with the classes at some positions of the levels, in this order.

        Rows of other classes become unlabelled.
        """
        levels = self.design.levels
        rows = self.rows
        if rows.codes is not None:
            new_code = np.full(len(levels) + 1, -1)
            new_code[positions] = np.arange(len(positions))
            rows = rows.with_codes(new_code[rows.codes])
        design = replace(self.design, levels=tuple(levels[k] for k in positions))
        return replace(self, design=design, rows=rows)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the columns of x."""
        terms = self.design.terms
        return terms if self.kept_columns is None else tuple(terms[j] for j in self.kept_columns)

    @property
    def n_covariates(self) -> int:
        """Number of covariates, which are the first columns of x."""
        return len(set(self.design.covariates).intersection(self.terms))

    def select_columns(self, keep: Collection[int]) -> DesignRows:
        """Return a copy with only the columns of x at the positions `keep`, in their present order.

        `column_units` and `column_range` are not reduced.
        """
        used = range(len(self.design.terms)) if self.kept_columns is None else self.kept_columns
        design, positions = design_of_columns(self.design, {used[j] for j in keep})
        return replace(self, design=design, kept_columns=positions)

    def iter_with_callback(self, callback: BlockCallback | None = None) -> Iterator[Block]:
        """Iterate over the rows that a fit uses, as blocks; `iter()` does so without a callback.

        Rows with a missing class or weight are dropped, and rows with a missing value unless
        `uses_incomplete_rows`. Rows with a class and weight zero are included.

        The callback is called before unused rows are dropped from the block. Its arguments are the positions
        of the rows (a slice), the rows (m, p), and the mask (m,) of rows with a missing value or None.
        """
        dropped_counts: list[int] = []
        return map(
            partial(self._select_used_rows, callback, dropped_counts, _RowBuffer()),
            self._iter_blocks(dropped_counts),
        )

    __iter__ = iter_with_callback

    def _select_used_rows(
        self,
        callback: BlockCallback | None,
        dropped_counts: list[int],
        row_buffer: _RowBuffer,
        block: _UnfilteredBlock,
    ) -> Block:
        """Drop the rows of a block that a fit does not use.

        Parameters
        ----------
        callback : BlockCallback or None
            Called with all rows of the block before rows are dropped.
        dropped_counts : list of int
            Number of dropped rows of each block, to which this block is appended.
        row_buffer : _RowBuffer
            Buffer for the used rows.
        block : _UnfilteredBlock

        Returns
        -------
        Block
        """
        start, x, missing, codes, weights = block
        if callback is not None:
            callback(slice(start, start + len(x)), x, missing)
        used_mask = codes >= 0
        if weights is not None:
            used_mask &= ~np.isnan(weights)
        if missing is not None and not self.uses_incomplete_rows:
            used_mask &= ~missing
        if not used_mask.all():
            dropped_mask = ~used_mask if weights is None else ~used_mask & (weights != 0)
            dropped_counts.append(int(dropped_mask.sum()))
            x = row_buffer.select(x.T, used_mask).T
            codes = codes[used_mask]
            weights = None if weights is None else weights[used_mask]
        return Block(x, codes, weights)

    def iter_all_rows(
        self, *, checked: bool = True
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.bool_] | None]]:
        """Iterate over all rows, block by block.

        Parameters
        ----------
        checked : bool
            Whether all values are checked to be finite and in range. A caller that computes scores can
            instead check only rows with large or undefined scores, by `missing_mask`, which is faster.

        Yields
        ------
        rows : slice
            Positions of the rows in the table or source.
        x : (m, p) float64 array
            Valid until the next block is computed, because the buffer is reused.
        missing : (m,) bool array or None
            Rows with a missing value; None without missing values, or if plain columns are not checked.
        """
        for start, x, missing, *_ in self._iter_blocks(checked=checked, with_classes=False):
            yield slice(start, start + len(x)), x, missing

    def missing_mask(self, x: NDArray[np.float64], start: int) -> NDArray[np.bool_]:
        """Check some rows, and return the mask (m,) of the rows with a missing value.

        Parameters
        ----------
        x : (m, p) float64 array
            Consecutive rows of the design matrix.
        start : int
            Position of the first of them in the table.

        Raises
        ------
        DataError
            A value is infinite, or (OutOfRangeError) outside `column_range`.
        """
        check_finite(self.terms, self.table, x, np.arange(start, start + len(x)))
        if self.column_range is not None:
            self.column_range.check(x, start, self.terms, self.table)
        return np.asarray(np.isnan(x).any(axis=1))

    def rows_at_positions(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the rows (m, p) of the design matrix at some positions (m,) of the table or source.

        Missing values are NaN. The values are divided by `column_units`, and not compared with
        `column_range`.
        """
        rows = np.empty((0, 0))
        for chunk in self.rows.chunks(self.design, with_classes=False):
            in_chunk = (positions >= chunk.start) & (positions < chunk.start + chunk.table.nrows)
            chunk_positions = positions[in_chunk] - chunk.start
            with add_path_to_errors(chunk.path):
                unused = None if self.design.spec is None else chunk.unused
                matrix = DesignMatrix(
                    self.design, chunk.table, self.functions, partial=self.integrates_missing, unused=unused
                )
                if matrix.view is not None:
                    x = matrix.view[:, chunk_positions].T.astype(np.float64, copy=False)
                else:
                    x = np.empty((len(chunk_positions), len(self.design.terms)))
                    for i, position in enumerate(chunk_positions.tolist()):
                        matrix.fill(position, position + 1, x[i : i + 1])
            x = x if self.kept_columns is None else x[:, self.kept_columns]
            x = x if self.column_units is None else x / self.column_units
            if in_chunk.all():
                return x  # In a table, or in a single chunk of a source.
            rows = rows if rows.size else np.empty((len(positions), len(self.terms)))
            rows[in_chunk] = x
        return rows

    def raise_if_missing(self) -> None:
        """Raise a DataError that names the first missing value, class or weight, if there is one.

        All columns of the formula are checked, in all rows except rows of weight zero.
        """
        map_reduce(self, _raise_if_missing, lambda a, b: None)

    def without_rows(self) -> DesignRows:
        """Return a copy with the same design and no rows, without `column_range` and `count_columns`.

        `unseen_as_missing` is False in the copy.
        """
        empty_rows = design_without_rows(
            self.design, self.functions, weighted=self.has_weights, kept_columns=self.kept_columns,
            dropped_terms=(self.constant_terms, self.collinear_terms), n_dropped_rows=self.dropped,
        )  # fmt: skip
        return replace(
            empty_rows,
            integrates_missing=self.integrates_missing,
            uses_incomplete_rows=self.uses_incomplete_rows,
            column_units=self.column_units,
        )

    def with_table(self, table: Table) -> DesignRows:
        """Return a copy with the rows of another table, without classes (all codes are -1) and weights.

        If `unseen_as_missing`, a warning names unseen levels now.
        """
        return replace(self, rows=self._mark_unseen_levels(TableRows(table, np.full(table.nrows, -1))))

    def _mark_unseen_levels(self, chunk: TableRows) -> TableRows:
        """Determine, with a warning, which rows of a chunk have unseen levels.

        The chunk is returned unchanged if such levels are errors, or if this has been determined already.
        """
        if not self.unseen_as_missing or chunk.has_unseen is not None:
            return chunk
        unseen_mask = unseen_level_mask(
            self.design, chunk.table, self.functions, partial=self.integrates_missing
        )
        # With `integrates_missing`, only the columns of the unseen level are missing, and the row is still
        # predicted.
        return replace(
            chunk,
            has_unseen=unseen_mask is not None,
            excluded=None if self.integrates_missing else unseen_mask,
        )

    def _iter_blocks(
        self, dropped_counts: list[int] | None = None, *, checked: bool = True, with_classes: bool = True
    ) -> Iterator[_UnfilteredBlock]:
        """Iterate over the blocks of all chunks with all their rows.

        Parameters
        ----------
        dropped_counts : list of int, optional
            Numbers of dropped rows, whose sum becomes `dropped` at the end of the pass.
        checked : bool
            Whether values are checked to be finite and in range.
        with_classes : bool
            Whether classes and weights are read.

        Yields
        ------
        _UnfilteredBlock
        """
        # A chain of iterators, because each level of nested generators costs time for each block.
        chunks = self._iter_chunks(dropped_counts, with_classes)
        return chain.from_iterable(map(partial(self._iter_chunk_blocks, checked=checked), chunks))

    def _iter_chunks(self, dropped_counts: list[int] | None, with_classes: bool) -> Iterator[TableRows]:
        """Iterate over the chunks, of which large ones are used with all BLAS threads; then set `dropped`."""
        p = len(self.terms)
        for chunk in self.rows.chunks(self.design, with_classes=with_classes):
            n = chunk.table.nrows
            with all_blas_threads(n * p * min(n, p)):
                yield chunk
        if dropped_counts is not None:
            self.dropped = sum(dropped_counts)

    def _iter_chunk_blocks(self, chunk: TableRows, checked: bool = True) -> Iterator[_UnfilteredBlock]:
        """Iterate over the blocks of one chunk with all its rows; errors name its file.

        With `checked`, plain values are checked to be finite and in range; computed columns always are.
        """
        with nullcontext() if chunk.path is None else add_path_to_errors(chunk.path):
            chunk = self._mark_unseen_levels(chunk)
            design = self.design
            table = chunk.table
            if design.spec is not None or design.plain_booleans:
                check_booleans_or_counts(table, design.boolean_columns, counts=False)
            if self.count_columns:
                check_booleans_or_counts(table, self.count_columns, counts=True)
            p = len(design.terms)
            n = table.nrows
            if not n:
                return
            # A block of plain columns is a view of the table or a copy. Other columns are computed.
            matrix = None
            view = None
            if design.spec is not None:
                matrix = DesignMatrix(
                    design, table, self.functions, partial=self.integrates_missing,
                    unseen=bool(chunk.has_unseen), excluded=chunk.excluded, unused=chunk.unused,
                )  # fmt: skip
            else:
                view = table.view(design.columns)
                if view is None:
                    table.check_float_precision(design.columns)
            # Computed columns are always checked: by `matrix.fill`, and against `column_range`.
            checked = checked or matrix is not None
            max_rows = n if table.is_chunk else n // 32  # A chunk of a source is short.
            in_place = view is not None and view.dtype == np.float64
            m = _rows_per_block(p, n, max_rows, in_place=in_place, sparse=table.sparse is not None)
            # The buffer has the memory order of the table, in which copying is fastest.
            by_row = view is not None and view.strides[0] < view.strides[1]
            buffer = np.empty((p, 0 if in_place else min(m, n)), order="F" if by_row else "C")
            for start in range(0, n, m):
                stop = min(start + m, n)
                x = view[:, start:stop].T if view is not None and in_place else buffer[:, : stop - start].T
                missing = None
                if matrix is not None:
                    missing = matrix.fill(start, stop, x)
                elif not in_place:
                    table.fill(design.columns, start, stop, x)
                all_columns = x
                if self.kept_columns is not None:
                    x = x[:, self.kept_columns]
                if self.column_units is not None:
                    x = (x.T / self.column_units[:, None]).T
                column_range = self.column_range
                if checked and not (column_range is not None and column_range.contains(x)):
                    if matrix is None and not _has_finite_sum(all_columns):
                        missing = missing_row_mask(design.terms, table, start, all_columns)
                    if column_range is not None:
                        column_range.check(x, start, self.terms, table)
                weights = None if chunk.weights is None else chunk.weights[start:stop]
                codes = chunk.codes[start:stop]
                yield _UnfilteredBlock(chunk.start + start, x, missing, codes, weights)
                refresh_progress()


def _has_finite_sum(x: NDArray[np.float64]) -> bool:
    """Return whether the sum of all values is finite, which implies that each value is finite."""
    # The sum of finite values can overflow. If it is not finite, the caller checks each value.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.einsum("ij->", x)))


def _raise_if_missing(design_rows: DesignRows) -> None:
    """Raise a DataError that names the first missing value of the rows, if any."""
    for chunk in design_rows.rows.chunks(design_rows.design):
        with add_path_to_errors(chunk.path):
            _raise_if_missing_in_chunk(design_rows, chunk)


def _raise_if_missing_in_chunk(design_rows: DesignRows, chunk: TableRows) -> None:
    """Raise a DataError that names the first missing value, weight or category of a chunk, if any."""
    names = (*design_rows.design.response_columns, *design_rows.design.columns)
    weights = chunk.weights
    has_weight = np.ones(chunk.table.nrows, dtype=bool) if weights is None else weights != 0
    for name in dict.fromkeys(names):
        missing = chunk.table.column(name).isna().to_numpy() & has_weight
        if missing.any():
            row = chunk.table.label(int(np.argmax(missing)))
            n_more = int(missing.sum()) - 1
            raise DataError(
                f"Column {name!r} has a missing value at row {row!r}"
                f"{f' and in {n_more} more rows' if n_more > 1 else ' and in 1 more row' if n_more else ''}.",
                hint='Fill in the values, drop the rows, or pass na_action="drop".',
                options={"na_action": "drop"},
                columns=(name,),
                rows=(row,),
            )
    if weights is not None and np.isnan(weights).any():
        row = chunk.table.label(int(np.argmax(np.isnan(weights))))
        raise DataError(
            f"The weight is missing at row {row!r}.",
            hint='Fill it in, or pass na_action="drop".',
            options={"na_action": "drop"},
            rows=(row,),
        )
    for source_start, x, _, codes, _ in design_rows._iter_chunk_blocks(chunk):
        start = source_start - chunk.start
        incomplete_mask = ((codes < 0) | np.isnan(x).any(axis=1)) & has_weight[start : start + len(x)]
        if incomplete_mask.any():
            row = chunk.table.label(start + int(incomplete_mask.argmax()))
            raise DataError(
                f"A function in functions= returned no category for row {row!r}.",
                hint='Correct the function, drop the row, or pass na_action="drop".',
                options={"na_action": "drop"},
                rows=(row,),
            )


def _rows_per_block(p: int, n: int, max_rows: int, *, in_place: bool, sparse: bool) -> int:
    """Return the number of rows of a block.

    Parameters
    ----------
    p : int
        Number of columns.
    n : int
        Number of rows of the table.
    max_rows : int
        Largest number of rows, unless it is below the minimum of a block.
    in_place : bool
        Whether the block is a view of the memory of the table.
    sparse : bool
        Whether the table has sparse columns.

    Returns
    -------
    int
    """
    # At least 4 p rows, because the products of each block are added to a (p, p) matrix.
    n_block_rows = min(max(VALUES_PER_BLOCK // max(p, 1), 4 * p), max_rows)
    n_block_rows = min(max(n_block_rows, BLOCK_ROW_LIMITS[0]), BLOCK_ROW_LIMITS[1])
    if in_place:
        n_block_rows = max(n_block_rows, min(MIN_IN_PLACE_ROWS, MAX_IN_PLACE_VALUES // p, n // 4))
    elif sparse:
        # Sparse tables are wide, hence the minimum number of rows of a dense table may be too many.
        n_block_rows = min(n_block_rows, max(MAX_SPARSE_BLOCK_VALUES // max(p, 1), BLOCK_ROW_DIVISOR))
    # An odd multiple of the divisor, because columns whose distance in memory is a power of two compete for
    # the same cache lines.
    return (
        (n_block_rows - n_block_rows % BLOCK_ROW_DIVISOR) | BLOCK_ROW_DIVISOR
        if n_block_rows > BLOCK_ROW_DIVISOR
        else n_block_rows
    )


def rows_from_arrays(
    x: NDArray[np.float64],
    codes: NDArray[np.intp],
    levels: tuple[Any, ...],
    weights: NDArray[np.float64] | None = None,
) -> DesignRows:
    """Return the design rows of arrays, with the columns as numeric predictors named 0, ..., p - 1.

    Parameters
    ----------
    x : (n, p) float array
    codes : (n,) int array
        Class of each row as a position in `levels`; -1 if it is missing.
    levels : tuple
        The classes.
    weights : (n,) float array, optional
        Frequency weights, which are not validated.

    Returns
    -------
    DesignRows
        With a plain design.
    """
    table = Table(pd.DataFrame(x))
    design = Design(
        formula="", response="", response_columns=(), columns=table.names, terms=table.names, levels=levels,
        is_plain=True, spec=None, functions=(),
    )  # fmt: skip
    return DesignRows(design, TableRows(table, codes, weights))


def design_without_rows(
    design: Design,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    weighted: bool = False,
    kept_columns: tuple[int, ...] | None = None,
    dropped_terms: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    n_dropped_rows: int = 0,
) -> DesignRows:
    """Return a design without rows, which suffices to read new rows.

    Parameters
    ----------
    design : Design
    functions : mapping of str to callable, optional
        Functions of the user.
    weighted : bool
        Whether the fit had weights.
    kept_columns : tuple of int, optional
        Positions of the columns of the design that the fit kept; all by default.
    dropped_terms : pair of tuple of str
        Constant and collinear terms that the fit dropped.
    n_dropped_rows : int
        Number of rows that the fit dropped.

    Returns
    -------
    DesignRows
    """
    rows = NO_ROWS.with_weights(np.zeros(0) if weighted else None)
    constant, collinear = dropped_terms
    return DesignRows(
        design,
        rows,
        functions or {},
        kept_columns,
        n_dropped_rows,
        constant_terms=constant,
        collinear_terms=collinear,
    )


@dataclass(slots=True)
class _RowBuffer:
    """Buffer for the used rows of a block with dropped rows, which is reused for the next block.

    Attributes
    ----------
    values : (m,) float64 array
        The memory, replaced by a larger one if a block needs more.
    """

    values: NDArray[np.float64] = field(default_factory=partial(np.empty, 0))

    def select(self, columns: NDArray[np.float64], used_mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Copy the used rows of a block into the buffer.

        Parameters
        ----------
        columns : (p, m) float64 array
            Columns of the block.
        used_mask : (m,) bool array

        Returns
        -------
        (p, used) float64 array
            A view of the buffer.
        """
        stops = np.flatnonzero(~used_mask).tolist()
        shape = len(columns), len(used_mask) - len(stops)
        if self.values.size < math.prod(shape):
            self.values = np.empty(columns.size)
        out = self.values[: math.prod(shape)].reshape(shape)
        if len(stops) * MIN_ROWS_PER_DROPPED_ROW > len(used_mask):
            return np.compress(used_mask, columns, axis=1, out=out)
        start = 0
        for n_dropped, stop in enumerate([*stops, len(used_mask)]):
            out[:, start - n_dropped : stop - n_dropped] = columns[:, start:stop]
            start = stop + 1
        return out


WEIGHT_SUM_RANGE = (1e-280, 1e110)
"""Accepted range of the sum of weights; outside it, products in formulas of tests overflow or underflow."""


def read_weights(weights: Any, table: Table) -> NDArray[np.float64] | None:
    """Return validated frequency weights.

    Parameters
    ----------
    weights : str, (n,) array or None
        Name of a column of the table, or a vector.
    table : Table

    Returns
    -------
    (n,) float64 array or None
        A copy; NaN for a missing weight, with a DroppedRowsWarning.

    Raises
    ------
    DataError
        The weights are not numeric, their length or index differs from the table's, a weight is
        negative or infinite, no weight of the full table is positive, or the sum of the weights is not in
        `WEIGHT_SUM_RANGE`. Weights of a chunk may all be zero.
    """
    if weights is None:
        return None
    name = weights if isinstance(weights, str) else getattr(weights, "name", None)
    label = f"weights {name!r}" if name is not None else "weights"
    if isinstance(weights, str):
        if table.column_type(weights) not in ("numeric", "boolean") and table.has_values(weights):
            raise DataError(
                f"The {label} are not numeric.", hint="Name a numeric column of counts.", columns=(weights,)
            )
        column_values = np.empty((table.nrows, 1))
        table.fill([weights], 0, table.nrows, column_values)
        vector = column_values[:, 0]
    else:
        if isinstance(weights, pd.Series) and not weights.index.equals(table.index):
            raise DataError(
                f"The index of the {label} differs from the index of the table.",
                hint="Align the two, or pass an array.",
            )
        vector = _weights_as_floats(weights, label)
    if vector.shape != (table.nrows,):
        raise DataError(
            f"The {label} have shape {vector.shape}; the table has {table.nrows} rows.",
            hint="Pass one weight for each row.",
        )
    for invalid_mask, fault in ((vector < 0, "negative"), (np.isinf(vector), "infinite")):
        if invalid_mask.any():
            row = int(np.argmax(invalid_mask))
            raise DataError(
                f"The {label} are {fault} at row {table.label(row)!r} ({vector[row]:g}).",
                hint="Use a weight of 0 or more, or drop the row.",
                rows=(table.label(row),),
            )
    if not table.is_chunk and not (vector > 0).any():
        raise DataError(
            f"The {label} are all zero or missing, so no observations remain.",
            hint="Give some rows a weight above 0.",
        )
    with np.errstate(over="ignore"):
        total = float(np.nansum(vector))
    if total > WEIGHT_SUM_RANGE[1] or 0 < total < WEIGHT_SUM_RANGE[0]:
        raise DataError(
            f"The {label} sum to {total:g}; products of this size are outside the range of double precision.",
            hint="Divide the weights by their maximum, or by their mean if only their ratios matter.",
        )
    missing = np.isnan(vector)
    if missing.any():
        row = table.label(int(np.argmax(missing)))
        n_more = int(missing.sum()) - 1
        warn_user(
            f"The {label} are missing at row {row!r}{f' and in {n_more} more' if n_more else ''}. Rows "
            "without a weight are left out and counted as dropped. Fill in the weights, for example with 1.",
            DroppedRowsWarning,
        )
    # A copy, because the caller may change the array or the column after the fit.
    return vector.copy()


def positive_weight_mask(column: str | None, table: Table) -> NDArray[np.bool_] | None:
    """Return the mask (n,) of rows with a positive weight in a column; False for a missing weight.

    None without a column of weights, or if it is not numeric. Invalid weights are reported by
    `read_weights`.
    """
    if column is None or table.column_type(column) not in ("numeric", "boolean"):
        return None
    return table.column(column).to_numpy(dtype=np.float64) > 0


def learning_row_mask(weights: NDArray[np.float64] | None, table: Table) -> NDArray[np.bool_] | None:
    """Return the mask (n,) of the rows from which the levels of factors are learnt; None for all rows.

    These are the rows with a positive weight, or all rows of a chunk without such rows.

    Parameters
    ----------
    weights : (n,) float array or None
        Weights of the rows of the table, as `read_weights` returns them.
    table : Table

    Returns
    -------
    (n,) bool array or None
    """
    positive = None if weights is None else weights > 0
    if positive is None or positive.all() or (table.is_chunk and not positive.any()):
        return None
    return positive


def _weights_as_floats(weights: Any, label: str) -> NDArray[np.float64]:
    """Convert a vector of weights to float64; raise DataError for text, dates and complex numbers.

    An array that is not a vector becomes zeros of its shape, which the caller reports.
    """
    labelled = isinstance(weights, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    values = weights if labelled else np.asarray(weights)
    if values.ndim != 1:
        return np.zeros(values.shape)  # The caller reports the wrong shape.
    series = pd.Series(values)
    if pandas_column_type(series) not in ("numeric", "boolean") and has_values(series):
        raise DataError(
            f"The {label} are not numeric; their dtype is {series.dtype}.", hint="Pass a vector of counts."
        )
    return as_floats(series, label)
