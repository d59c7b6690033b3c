"""The rows of a fit, with the class and the frequency weight of each, as a run of blocks that fit the cache.

A table in memory is a source of one part, itself; rows of other sources are in `discrim.design.source_rows`.
A block is columns side by side: its x (m, p) is the transposed view of a buffer (p, m), the layout both of
tables and of the products taken of it. The buffer is used again for the next block, so that a pass needs no
more memory than one block.
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
from discrim.data.column_range import ColumnRange
from discrim.data.table import Table
from discrim.data.values import as_floats, has_values, pandas_kind
from discrim.design.levels import refuse_values, unseen_rows
from discrim.design.matrix import DesignMatrix, design_of_columns, missing_rows, refuse_infinite
from discrim.errors import DataError, DroppedRowsWarning, NotSupportedError, naming_file, warn_user
from discrim.formula.design import Design

T = TypeVar("T")

BLOCK_NUMBERS = 2**18
"""Numbers in a block: 2 MiB of float64."""

BLOCK_ROWS = (1024, 8192)
"""Fewest and most rows of a block."""

EVEN_ROWS = 64
"""What the rows of a block are a multiple of: products round the odd rows at the end in their own way."""

LONG_ROWS = 4096
LONG_NUMBERS = 2**22
"""Rows of a block that is read in place, and its most numbers: short runs of a column are read slowly."""

SHORT_RUN = 32
"""Rows between those left out from which on they are moved together."""

SPARSE_NUMBERS = 2**21
"""Most numbers of a block that sparse columns are written out to, where its rows are not too few."""


class Block(NamedTuple):
    """Rows of a design, good until the next block is asked for.

    Attributes
    ----------
    x : (m, p) float64
    codes : (m,) int
        Class of each row; -1 where it is not known (prediction only).
    weights : (m,) float64 or None
    """

    x: NDArray[np.float64]
    codes: NDArray[np.intp]
    weights: NDArray[np.float64] | None


class Rows(ABC):
    """Rows with what is known of them: their classes, weights, and which are excluded whatever they hold.

    The defaults are those of a table in memory, which is its own one part.

    Attributes
    ----------
    table : Table
        The table, or what stands for it where rows come from a source.
    codes : (n,) int or None
        Class of each row, -1 where it is missing; None where nobody has asked a source for it.
    weights : (n,) float or None
    excluded : (n,) bool or None
        Rows that are missing whatever they hold, as with a level that the fit has not seen.
    """

    __slots__ = ()

    table: Table
    codes: Codes | None
    weights: Floats | None
    excluded: Mask | None

    @property
    @abstractmethod
    def weighted(self) -> bool:
        """Whether rows have weights."""

    @abstractmethod
    def codes_among(self, levels: tuple[Any, ...]) -> Codes:
        """Class (n,) of each row as a position in levels, -1 where it is missing."""

    @abstractmethod
    def all_weights(self) -> Floats | None:
        """Weights (n,) of the rows."""

    @abstractmethod
    def known(self, columns: int) -> int:
        """Rows whose class is known; of a source no fewer than these, as far as it tells before a pass."""

    @abstractmethod
    def class_counts(self) -> Codes | None:
        """Rows of each class up to the last that has one; None where only a pass over a source tells."""

    @abstractmethod
    def has_whole_weights(self) -> bool:
        """Whether the weights of rows whose class is known are whole numbers; of a source, after a pass."""

    @abstractmethod
    def parts(self, design: Design, *, classed: bool = True) -> Iterator[TableRows]:
        """The parts in order, with the columns of a design and, if asked, its classes and weights."""

    @abstractmethod
    def weight_column(self, used: Collection[str]) -> str | None:
        """The column that holds the weights, none of those that are used otherwise; None where none does."""

    @property
    def read_from(self) -> str:
        """What the rows are read from part by part, in words; empty of a table in memory."""
        return ""

    @property
    def is_local(self) -> bool:
        """Whether iterating over the rows reads them in this process."""
        return True

    @property
    def at_hand(self) -> float:
        """Number of rows in memory; infinite where they are read anew for each pass."""
        return self.table.nrows

    def with_classes(self, levels: tuple[Any, ...]) -> Rows:
        """Rows whose classes and weights a pass need not read."""
        return self

    def unweighted(self) -> Rows:
        """The same rows, each counted once."""
        return self.with_weights(None)

    def read_as(self, design: Design) -> Rows:
        """Rows whose response is read by another design, where it is not read yet."""
        return self

    def uncounted(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Which columns of counts a pass has to look at; those of a table are looked at here."""
        refuse_values(self.table, names, counts=True)
        return ()

    def passes(self, folds: int) -> list[range]:
        """The folds whose rows one pass serves: of a table, where a pass takes a fold alone, each its own."""
        return [range(fold, fold + 1) for fold in range(folds)]

    def need_table(self, before: str, after: str, *, hint: str) -> None:
        """Raise NotSupportedError if rows are read chunk by chunk; the message names their source."""
        if self.read_from:
            raise NotSupportedError(f"{before}{self.read_from}{after}", hint=hint)

    def map_reduce(self, blocks: Blocks, task: Callable[[Blocks], T], merge: Callable[[T, T], T]) -> T:
        """Apply a task to blocks of these rows; on workers, to each part, and merge the results."""
        return task(blocks)

    def map_reduce_stored(
        self, blocks: Blocks, task: Callable[[Blocks], T], merge: Callable[[T, T], T]
    ) -> StoredValue[T]:
        """Return the result of `map_reduce`, stored where it was computed."""
        return StoredValue(task(blocks))

    def per_row(self, blocks: Blocks, task: Callable[[Blocks], NDArray[Any]]) -> NDArray[Any]:
        """Integers (n,) that a task gives, one for each row of blocks."""
        return task(blocks)

    def copied(self, blocks: Blocks, most: int) -> Iterable[Block]:
        """Blocks, or copies of them where they hold no more numbers, so that no pass makes these again."""
        if self.table.nrows * max(len(blocks.terms), 1) > most:
            return blocks
        return [
            Block(np.array(x, order="F"), codes.copy(), None if weights is None else weights.copy())
            for x, codes, weights in blocks
        ]

    def with_codes(self, codes: Codes) -> Self:
        """The same rows in other classes."""
        return self._with(codes=codes)

    def with_weights(self, weights: Floats | None) -> Self:
        """The same rows with other weights."""
        return self._with(weights=weights)

    def excluding(self, excluded: Mask | None) -> Self:
        """The same rows, of which these are excluded."""
        return self._with(excluded=excluded)

    def _with(self, **change: Any) -> Self:
        rows: Any = self
        changed: Self = replace(rows, **change)
        return changed


@dataclass(frozen=True, slots=True, eq=False)
class TableRows(Rows):
    """Rows of a table in memory, or of a part of others.

    Attributes
    ----------
    has_unseen : bool or None
        Whether some row has a level that the fit has not seen; None where nobody has looked.
    start : int
        Rows before the part.
    where : str or None
        The file that it is of.
    fitted : bool
        Whether a model is fitted to the rows. Rows that the fit does not use (without a class, or with a
        weight that is not positive) may then have levels that the fit has not seen; these are missing values.
    """

    table: Table
    codes: Codes
    weights: Floats | None = None
    excluded: Mask | None = None
    has_unseen: bool | None = None
    start: int = 0
    where: str | None = None
    fitted: bool = False

    @property
    def unused(self) -> Mask | None:
        """Rows (n,) that the fit to these rows does not use, whatever they hold; None if there is none."""
        if not self.fitted:
            return None
        unused = self.codes < 0 if self.weights is None else (self.codes < 0) | ~(self.weights > 0)
        return unused if unused.any() else None

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    def codes_among(self, levels: tuple[Any, ...]) -> Codes:
        """Class (n,) of each row."""
        return self.codes

    def all_weights(self) -> Floats | None:
        """Weights (n,) of the rows."""
        return self.weights

    def known(self, columns: int) -> int:
        """Rows whose class is known."""
        return int((self.codes >= 0).sum())

    def class_counts(self) -> Codes:
        """Rows of each class up to the last that has one."""
        return np.bincount(self.codes[self.codes >= 0])

    def has_whole_weights(self) -> bool:
        """Whether the weights of rows whose class is known are whole numbers."""
        return not has_fractions(self.codes, self.weights)

    def parts(self, design: Design, *, classed: bool = True) -> Iterator[TableRows]:
        """The rows, as their one part."""
        yield self

    def weight_column(self, used: Collection[str]) -> str | None:
        """The first column whose values are the weights."""
        for name in self.table.names:
            if name in used:
                continue
            values = pd.to_numeric(pd.Series(self.table.frame([name])[name]), errors="coerce")
            numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
            if self.weights is not None and np.array_equal(numbers, self.weights, equal_nan=True):
                return name
        return None


NO_ROWS = TableRows(Table(pd.DataFrame(index=pd.RangeIndex(0))), np.zeros(0, dtype=np.intp))
"""Rows of a table that has none."""


def has_fractions(codes: Codes, weights: Floats | None) -> bool:
    """Whether a row whose class is known has a weight that is no whole number."""
    return weights is not None and bool((weights[(codes >= 0) & (weights > 0)] % 1 != 0).any())


Watcher = Callable[[slice, NDArray[np.float64], NDArray[np.bool_] | None], None]
"""What is shown each block with all its rows: their place, x, and which miss a value (None: none does)."""

_Filled = tuple[
    int, NDArray[np.float64], NDArray[np.bool_] | None, NDArray[np.intp], NDArray[np.float64] | None
]


@dataclass(slots=True, eq=False)
class Blocks:
    """The rows of a table that a fit uses, block by block.

    Attributes
    ----------
    rows : Rows
        A table in memory, or what its rows are read from part by part, with the class and weight of each.
    functions : mapping of str to callable
        The user's functions that the formula calls.
    keep : tuple of int, optional
        Positions of the design's columns that are used; all without it.
    unseen : bool
        Whether a level of new rows that the fit has not seen is a missing value, and no error.
    unit : (p,) float64, optional
        What the columns of x are divided by.
    constant, collinear : tuple of str
        Columns that the formula names and the fit has left out: they have one value in all rows, or others
        determine them.
    dropped : int
        Rows left out because a value is missing; known after a full pass. Rows with a weight of zero are not
        counted.
    partial : bool
        Whether a row with a missing value is used, for prediction, by the columns that are not made of it.
    incomplete : bool
        Whether such rows are used by the fit too, so that only those without class or weight are left out;
        `partial` is true then.
    counts : tuple of str
        Columns that have to hold counts, where a pass over the rows is to see to it.
    column_range : ColumnRange, optional
        Range that the columns of x are checked against; None for the rows of a fit, which define it.
    """

    design: Design
    rows: Rows
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    keep: tuple[int, ...] | None = None
    dropped: int = 0
    partial: bool = False
    incomplete: bool = False
    unseen: bool = False
    unit: NDArray[np.float64] | None = None
    constant: tuple[str, ...] = ()
    collinear: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    column_range: ColumnRange | None = None

    @property
    def table(self) -> Table:
        """The table, or what stands for it where rows are read part by part."""
        return self.rows.table

    @property
    def codes(self) -> NDArray[np.intp]:
        """Class (n,) of each row of the table, -1 where it is missing; of a source, read when asked for."""
        return self.rows.codes_among(self.design.levels)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights (n,) of the rows, or None; of a source they are read when asked for."""
        return self.rows.all_weights()

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.rows.weighted

    @property
    def known(self) -> int:
        """Rows whose class is known; of a source no fewer than these, as far as it tells before a pass."""
        return self.rows.known(len(self.design.terms))

    @property
    def is_local(self) -> bool:
        """Whether iterating over the rows reads them in this process, and not on workers."""
        return self.rows.is_local

    @property
    def map_reduce(self) -> Any:
        """A function of a task and of how its results merge, or None if the rows are local.

        See `discrim.core.numerics.map_reduce.map_reduce`.
        """
        return None if self.rows.is_local else partial(self.rows.map_reduce, self)

    def with_codes(self, codes: NDArray[np.intp]) -> Blocks:
        """The blocks with each row (n,) in another class; -1 leaves it out."""
        return replace(self, rows=self.rows.with_codes(codes))

    def with_weights(self, weights: NDArray[np.float64] | None) -> Blocks:
        """The blocks with other weights (n,) of the rows; zero leaves a row out."""
        return replace(self, rows=self.rows.with_weights(weights))

    def with_classes(self) -> Blocks:
        """The blocks with the class and the weight of each row, which no pass need then read."""
        return replace(self, rows=self.rows.with_classes(self.design.levels))

    def with_counts(self, names: tuple[str, ...]) -> Blocks:
        """The blocks whose columns of counts are looked at: of a table now, of a source as it is read."""
        return replace(self, counts=self.rows.uncounted(names))

    def n_dropped(self, used: Mask) -> int:
        """Number of rows of the table that are not used (n,), without those that have a weight of zero."""
        weights = self.weights
        return int((~used).sum() if weights is None else (~used & (weights != 0)).sum())

    def unweighted(self) -> Blocks:
        """The blocks with each row counted once."""
        return replace(self, rows=self.rows.unweighted())

    def classes(self, keep: NDArray[np.intp]) -> Blocks:
        """The blocks of some of the classes, by position; rows of others are of none."""
        levels = self.design.levels
        rows = self.rows
        if rows.codes is not None:
            position = np.full(len(levels) + 1, -1)
            position[keep] = np.arange(len(keep))
            rows = rows.with_codes(position[rows.codes])
        design = replace(self.design, levels=tuple(levels[k] for k in keep))
        return replace(self, design=design, rows=rows)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the columns of x."""
        terms = self.design.terms
        return terms if self.keep is None else tuple(terms[j] for j in self.keep)

    @property
    def covariates(self) -> int:
        """How many columns of x, the first, are covariates of the others."""
        return len(set(self.design.covariates).intersection(self.terms))

    def columns(self, keep: Collection[int]) -> Blocks:
        """The blocks of some of the columns, by position."""
        used = range(len(self.design.terms)) if self.keep is None else self.keep
        design, positions = design_of_columns(self.design, {used[j] for j in keep})
        return replace(self, design=design, keep=positions)

    def __iter__(self) -> Iterator[Block]:
        """Rows of the fit; one with a missing response, weight, or value is left out and counted."""
        left_out: list[int] = []
        return map(partial(self._used, None, left_out, _RowsKept()), self._filled(left_out))

    def shown_to(self, see: Watcher | None) -> Iterator[Block]:
        """Rows of the fit, as of iteration, of which each block with all its rows is shown first.

        What is shown is what `every_row` gives.
        """
        left_out: list[int] = []
        return map(partial(self._used, see, left_out, _RowsKept()), self._filled(left_out))

    def _used(self, see: Watcher | None, left_out: list[int], space: _RowsKept, filled: _Filled) -> Block:
        """The rows of a block that a fit uses; how many are left out is added to a list."""
        start, x, missing, codes, weights = filled
        if see is not None:
            see(slice(start, start + len(x)), x, missing)
        kept = codes >= 0
        if weights is not None:
            kept &= ~np.isnan(weights)
        if missing is not None and not self.incomplete:
            kept &= ~missing
        if not kept.all():
            lost = ~kept if weights is None else ~kept & (weights != 0)
            left_out.append(int(lost.sum()))
            x = space.kept(x.T, kept).T
            codes = codes[kept]
            weights = None if weights is None else weights[kept]
        return Block(x, codes, weights)

    def every_row(
        self, *, checked: bool = True
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.bool_] | None]]:
        """All rows, for prediction: their place, x, and which hold a missing value (None: none does).

        Unchecked rows are left to `missing`, if a score of them is not finite or is large.
        """
        for start, x, missing, *_ in self._filled(checked=checked, classed=False):
            yield slice(start, start + len(x)), x, missing

    def missing(self, x: NDArray[np.float64], start: int) -> NDArray[np.bool_]:
        """Return which rows (m,) of an unchecked block miss a value; infinite and far values are refused."""
        refuse_infinite(self.terms, self.table, x, np.arange(start, start + len(x)))
        if self.column_range is not None:
            self.column_range.check(x, start, self.terms, self.table)
        return np.asarray(np.isnan(x).any(axis=1))

    def rows_at(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return some rows (m, p) of the table, by position."""
        rows = np.empty((0, 0))
        for part in self.rows.parts(self.design, classed=False):
            in_part = (positions >= part.start) & (positions < part.start + part.table.nrows)
            here = positions[in_part] - part.start
            with naming_file(part.where):
                unused = None if self.design.spec is None else part.unused
                matrix = DesignMatrix(
                    self.design, part.table, self.functions, partial=self.partial, unused=unused
                )
                if matrix.view is not None:
                    x = matrix.view[:, here].T.astype(np.float64, copy=False)
                else:
                    x = np.empty((len(here), len(self.design.terms)))
                    for i, position in enumerate(here.tolist()):
                        matrix.fill(position, position + 1, x[i : i + 1])
            x = x if self.keep is None else x[:, self.keep]
            x = x if self.unit is None else x / self.unit
            if in_part.all():
                return x
            rows = rows if rows.size else np.empty((len(positions), len(self.terms)))
            rows[in_part] = x
        return rows

    def refuse_missing(self) -> None:
        """Raise a DataError that names the first missing value, if there is one."""
        map_reduce(self, _refuse_missing, lambda a, b: None)

    def without_rows(self) -> Blocks:
        """How rows are read, without those that there are."""
        bare = without_rows(
            self.design, self.functions, weighted=self.weighted, keep=self.keep,
            left_out=(self.constant, self.collinear), dropped=self.dropped,
        )  # fmt: skip
        return replace(bare, partial=self.partial, incomplete=self.incomplete, unit=self.unit)

    def of_table(self, table: Table) -> Blocks:
        """Rows of a table, whose classes are not known, as these blocks read them."""
        return replace(self, rows=self._compared(TableRows(table, np.full(table.nrows, -1))))

    def _compared(self, part: TableRows) -> TableRows:
        """A part that knows its rows with levels that the fit has not seen, where these are to be missing."""
        if not self.unseen or part.has_unseen is not None:
            return part
        rows = unseen_rows(self.design, part.table, self.functions, partial=self.partial)
        # Of rows that are used in part, the columns that are made of such a level are missing alone.
        return replace(part, has_unseen=rows is not None, excluded=None if self.partial else rows)

    def _filled(
        self, left_out: list[int] | None = None, *, checked: bool = True, classed: bool = True
    ) -> Iterator[_Filled]:
        """First row, x, which rows miss a value (None: none does), codes and weights, block by block."""
        # Chained, as generators within each other would all be gone through again for each block.
        parts = self._parts(left_out, classed)
        return chain.from_iterable(map(partial(self._blocks_of, checked=checked), parts))

    def _parts(self, left_out: list[int] | None, classed: bool) -> Iterator[TableRows]:
        """The parts; after the last one, `dropped` is the sum of what the pass has put into the list."""
        yield from self.rows.parts(self.design, classed=classed)
        if left_out is not None:
            self.dropped = sum(left_out)

    def _blocks_of(self, part: TableRows, checked: bool = True) -> Iterator[_Filled]:
        """The blocks of one part, as of `_filled`; errors name the file that it is of."""
        with nullcontext() if part.where is None else naming_file(part.where):
            part = self._compared(part)
            design = self.design
            table = part.table
            if design.spec is not None or design.truths:
                refuse_values(table, design.boolean_columns, counts=False)
            if self.counts:
                refuse_values(table, self.counts, counts=True)
            p = len(design.terms)
            n = table.nrows
            if not n:
                return
            view = table.view(design.columns) if design.plain else None
            matrix = None
            if view is None and design.spec is None:
                table.compare_to_doubles(design.columns)
            elif view is None:
                matrix = DesignMatrix(
                    design, table, self.functions, partial=self.partial, unseen=bool(part.has_unseen),
                    excluded=part.excluded, unused=part.unused,
                )  # fmt: skip
            checked = checked or design.spec is not None
            most = n if table.part else n // 32  # A part of a source is a block already.
            in_place = view is not None and view.dtype == np.float64
            m = _rows_a_block(p, n, most, in_place=in_place, sparse=table.sparse is not None)
            by_row = view is not None and view.strides[0] < view.strides[1]
            buffer = np.empty((p, 0 if in_place else min(m, n)), order="F" if by_row else "C")
            for start in range(0, n, m):
                stop = min(start + m, n)
                x = buffer[:, : stop - start].T if view is None or not in_place else view[:, start:stop].T
                missing = None
                if matrix is not None:
                    missing = matrix.fill(start, stop, x)
                elif not in_place:
                    table.fill(design.columns, start, stop, x)
                whole = x
                if self.keep is not None:
                    x = x[:, self.keep]
                if self.unit is not None:
                    x = (x.T / self.unit[:, None]).T
                accepted = self.column_range
                if checked and not (accepted is not None and accepted.contains(x)):
                    if matrix is None and not _has_finite_sum(whole):
                        missing = missing_rows(design.terms, table, start, whole)
                    if accepted is not None:
                        accepted.check(x, start, self.terms, table)
                weights = None if part.weights is None else part.weights[start:stop]
                yield part.start + start, x, missing, part.codes[start:stop], weights
                refresh_progress()


def _has_finite_sum(x: NDArray[np.float64]) -> bool:
    # It finds NaN and inf alike; of rows whose own sum overflows a closer look is taken.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.einsum("ij->", x)))


def _refuse_missing(blocks: Blocks) -> None:
    for part in blocks.rows.parts(blocks.design):
        with naming_file(part.where):
            _refuse_missing_in_part(blocks, part)


def _refuse_missing_in_part(blocks: Blocks, part: TableRows) -> None:
    names = (*blocks.design.response_columns, *blocks.design.columns)
    weights = part.weights
    counted = np.ones(part.table.nrows, dtype=bool) if weights is None else weights != 0
    for name in dict.fromkeys(names):
        missing = part.table.column(name).isna().to_numpy() & counted
        if missing.any():
            row = part.table.label(int(np.argmax(missing)))
            more = int(missing.sum()) - 1
            raise DataError(
                f"Column {name!r} is missing at row {row!r}{f' and in {more} more' if more else ''}.",
                hint='Fill or drop the rows, or pass na_action="drop".',
                options={"na_action": "drop"},
                columns=(name,),
                rows=(row,),
            )
    if weights is not None and np.isnan(weights).any():
        row = part.table.label(int(np.argmax(np.isnan(weights))))
        raise DataError(
            f"The weight is missing at row {row!r}.",
            hint='Fill it, or pass na_action="drop".',
            options={"na_action": "drop"},
            rows=(row,),
        )
    for first, x, _, codes, _ in blocks._blocks_of(part):
        start = first - part.start
        lost = ((codes < 0) | np.isnan(x).any(axis=1)) & counted[start : start + len(x)]
        if lost.any():
            row = part.table.label(start + int(lost.argmax()))
            raise DataError(
                f"A function of functions= gives no category to row {row!r}.",
                hint='Correct it, drop the row, or pass na_action="drop".',
                options={"na_action": "drop"},
                rows=(row,),
            )


def _rows_a_block(p: int, n: int, most: int, *, in_place: bool, sparse: bool) -> int:
    """Rows of a block of p columns of n rows; in place, it is a view of the table's memory."""
    m = min(max(BLOCK_NUMBERS // max(p, 1), 4 * p), most)
    m = min(max(m, BLOCK_ROWS[0]), BLOCK_ROWS[1])
    if in_place:
        m = max(m, min(LONG_ROWS, LONG_NUMBERS // p, n // 4))
    elif sparse:
        # Sparse tables are wide, and the fewest rows of a block would not be few numbers.
        m = min(m, max(SPARSE_NUMBERS // max(p, 1), EVEN_ROWS))
    # An odd multiple: columns a power of two apart share a few lines of the cache, and are turned slowly.
    return (m - m % EVEN_ROWS) | EVEN_ROWS if m > EVEN_ROWS else m


def of_arrays(
    x: NDArray[np.float64],
    codes: NDArray[np.intp],
    levels: tuple[Any, ...],
    weights: NDArray[np.float64] | None = None,
) -> Blocks:
    """Rows x (n, p) that were read before, or are made of others, as the rows of a table without names."""
    table = Table(pd.DataFrame(x))
    design = Design("", "", (), table.names, table.names, levels, True, None, ())
    return Blocks(design, TableRows(table, codes, weights))


def without_rows(
    design: Design,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    *,
    weighted: bool = False,
    keep: tuple[int, ...] | None = None,
    left_out: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
    dropped: int = 0,
) -> Blocks:
    """What is left of blocks whose rows are gone: enough to read new ones."""
    rows = NO_ROWS.with_weights(np.zeros(0) if weighted else None)
    constant, collinear = left_out
    return Blocks(design, rows, functions or {}, keep, dropped, constant=constant, collinear=collinear)


class _RowsKept:
    """Memory for the rows of a block that are used where some are not, which serves block after block."""

    def __init__(self) -> None:
        self._numbers = np.empty(0)

    def kept(self, columns: NDArray[np.float64], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The columns of (p, m) to keep (m,), run by run where few are left out: numbers move together."""
        stops = np.flatnonzero(~kept).tolist()
        shape = len(columns), len(kept) - len(stops)
        if self._numbers.size < math.prod(shape):
            self._numbers = np.empty(columns.size)
        out = self._numbers[: math.prod(shape)].reshape(shape)
        if len(stops) * SHORT_RUN > len(kept):
            return np.compress(kept, columns, axis=1, out=out)
        start = 0
        for left_out, stop in enumerate([*stops, len(kept)]):
            out[:, start - left_out : stop - left_out] = columns[:, start:stop]
            start = stop + 1
        return out


WEIGHT_SUMS = (1e-280, 1e110)
"""Smallest and largest sum of weights: tests take squares of the sum, times others, and divide by it."""


def weight_vector(weights: Any, table: Table) -> NDArray[np.float64] | None:
    """Frequency weights (n,) from a column name or a vector; a missing weight is NaN, with a warning.

    A DataError tells of a wrong length, a negative or infinite weight, no positive weight at all in a whole
    table, or a sum of weights that is out of range.
    """
    if weights is None:
        return None
    name = weights if isinstance(weights, str) else getattr(weights, "name", None)
    label = f"weights {name!r}" if name is not None else "weights"
    if isinstance(weights, str):
        if table.kind(weights) not in ("numeric", "boolean") and table.has_values(weights):
            raise DataError(f"The {label} are not numeric.", hint="Give a numeric column of counts.")
        numbers = np.empty((table.nrows, 1))
        table.fill([weights], 0, table.nrows, numbers)
        vector = numbers[:, 0]
    else:
        if isinstance(weights, pd.Series) and not weights.index.equals(table.index):
            raise DataError(
                f"The index of the {label} differs from the table's.", hint="Align them, or pass an array."
            )
        vector = _numbers(weights, label)
    if vector.shape != (table.nrows,):
        raise DataError(
            f"The {label} have shape {vector.shape}; the table has {table.nrows} rows.",
            hint="Give one number for each row.",
        )
    for bad, what in ((vector < 0, "negative"), (np.isinf(vector), "infinite")):
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"The {label} are {what} at row {table.label(row)!r} ({vector[row]:g}).",
                hint="Give 0 or more, or drop the row.",
                rows=(table.label(row),),
            )
    if not table.part and not (vector > 0).any():
        raise DataError(
            f"The {label} are all zero or missing: no row is left.", hint="Give some rows a weight above 0."
        )
    with np.errstate(over="ignore"):
        total = float(np.nansum(vector))
    if total > WEIGHT_SUMS[1] or 0 < total < WEIGHT_SUMS[0]:
        raise DataError(
            f"The {label} sum to {total:g}, and products of them would be out of the range of double "
            "precision.",
            hint="Divide them by their largest, or by their mean where only their ratios matter.",
        )
    missing = np.isnan(vector)
    if missing.any():
        row = table.label(int(np.argmax(missing)))
        more = int(missing.sum()) - 1
        warn_user(
            f"The {label} are missing at row {row!r}{f' and in {more} more' if more else ''}: left out, and "
            "counted as dropped. Fill them, for example with 1.",
            DroppedRowsWarning,
        )
    # The caller's own array, or column, may change after the fit.
    return vector.copy()


def positive_weights(column: str | None, table: Table) -> NDArray[np.bool_] | None:
    """Return which rows (n,) have a positive weight in a column; None without a column of numbers.

    `weight_vector` reports what is wrong with a column of weights.
    """
    if column is None or table.kind(column) not in ("numeric", "boolean"):
        return None
    return table.column(column).to_numpy(dtype=np.float64) > 0


def learnt_rows(weights: NDArray[np.float64] | None, table: Table) -> NDArray[np.bool_] | None:
    """Return the rows (n,) whose weight (n,) is positive, from which levels are learnt; None for all rows.

    A part of a table may have no such row. Its classes are then those of all its rows.
    """
    positive = None if weights is None else weights > 0
    if positive is None or positive.all() or (table.part and not positive.any()):
        return None
    return positive


def _numbers(weights: Any, label: str) -> NDArray[np.float64]:
    """A vector as doubles; text, times and complex numbers count no rows."""
    labelled = isinstance(weights, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    values = weights if labelled else np.asarray(weights)
    if values.ndim != 1:
        return np.zeros(values.shape)  # Its shape is the fault.
    series = pd.Series(values)
    if pandas_kind(series) not in ("numeric", "boolean") and has_values(series):
        raise DataError(f"The {label} are not numeric but {series.dtype}.", hint="Give a vector of counts.")
    return as_floats(series, label)
