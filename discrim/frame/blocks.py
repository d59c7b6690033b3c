"""Any table as a re-iterable run of blocks that fit the cache.

A block is columns side by side: its x (m, p) is the transposed view of a buffer
(p, m), the layout both of tables and of the products taken of it. The buffer is
used again for the next block, so that a pass needs no more memory than one block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.progress import tick
from discrim.errors import DataError
from discrim.frame.design import Design
from discrim.frame.levels import refuse_values, unseen_rows
from discrim.frame.matrix import design_of_columns, fill
from discrim.frame.row_parts import NO_ROWS, Rows, TableRows
from discrim.frame.sources.rows import named
from discrim.frame.table import Table

T = TypeVar("T")

BLOCK_NUMBERS = 2**18
"""Numbers in a block: 2 MiB of float64."""

BLOCK_ROWS = (1024, 8192)
"""Fewest and most rows of a block."""

EVEN_ROWS = 64
"""What the rows of a block are a multiple of: products round the odd rows at the end in their own way."""

LONG_ROWS, LONG_NUMBERS = 4096, 2**22
"""Rows of a block that is read in place, and its most numbers: short runs of a column are read slowly."""

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


_Filled = tuple[int, NDArray[np.float64], bool, NDArray[np.intp], NDArray[np.float64] | None]


@dataclass(slots=True)
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
        Rows left out because a value is missing; known after a full pass.
    partial : bool
        Whether a row with a missing value is used, for prediction, by the columns that are not made of it.
    incomplete : bool
        Whether such rows are used by the fit too, so that only those without class or weight are left out;
        `partial` is true then.
    counts : tuple of str
        Columns that have to hold counts, where a pass over the rows is to see to it.
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
    def read_here(self) -> bool:
        """Whether a pass brings the rows here; on workers they stay where they are."""
        return self.rows.read_here

    def reduced(self, task: Callable[[Blocks], T], merge: Callable[[T, T], T]) -> T:
        """What a task makes of the rows, or of those of each part where they lie, merged."""
        return self.rows.reduced(self, task, merge)

    def per_row(self, task: Callable[[Blocks], NDArray[Any]]) -> NDArray[Any]:
        """Integers (n,) that a task gives, one for each row."""
        return self.rows.per_row(self, task)

    def with_codes(self, codes: NDArray[np.intp]) -> Blocks:
        """The blocks with each row (n,) in another class; -1 leaves it out."""
        return replace(self, rows=self.rows.with_codes(codes))

    def with_weights(self, weights: NDArray[np.float64] | None) -> Blocks:
        """The blocks with other weights (n,) of the rows; zero leaves a row out."""
        return replace(self, rows=self.rows.with_weights(weights))

    def with_classes(self) -> Blocks:
        """The blocks with the class and the weight of each row, which no pass need then read."""
        return replace(self, rows=self.rows.with_classes(self.design.levels))

    def has_whole_weights(self) -> bool:
        """Whether the weights of rows whose class is known are whole numbers; of a source, after a pass."""
        return self.rows.has_whole_weights()

    def with_counts(self, names: tuple[str, ...]) -> Blocks:
        """The blocks whose columns of counts are looked at: of a table now, of a source as it is read."""
        return replace(self, counts=self.rows.uncounted(names))

    def unweighted(self) -> Blocks:
        """The blocks with each row counted once."""
        return replace(self, rows=self.rows.unweighted())

    def classes(self, keep: NDArray[np.intp]) -> Blocks:
        """The blocks of some of the classes, by position; rows of others are of none."""
        levels = self.design.levels
        position = np.full(len(levels) + 1, -1)
        position[keep] = np.arange(len(keep))
        design = replace(self.design, levels=tuple(levels[k] for k in keep))
        return replace(self, design=design, rows=self.rows.recoded(position))

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the columns of x."""
        terms = self.design.terms
        return terms if self.keep is None else tuple(terms[j] for j in self.keep)

    def columns(self, keep: Collection[int]) -> Blocks:
        """The blocks of some of the columns, by position."""
        used = range(len(self.design.terms)) if self.keep is None else self.keep
        design, positions = design_of_columns(self.design, {used[j] for j in keep})
        return replace(self, design=design, keep=positions)

    def __iter__(self) -> Iterator[Block]:
        """Rows of the fit; one with a missing response, weight, or value is left out and counted."""
        return self.shown_to(None)

    def shown_to(
        self, see: Callable[[slice, NDArray[np.float64], NDArray[np.bool_] | None], None] | None
    ) -> Iterator[Block]:
        """Rows of the fit, as of iteration, of which each block with all its rows is shown first.

        What is shown is what `every_row` gives.
        """
        dropped = 0
        for start, x, finite, codes, weights in self._filled():
            if see is not None:
                see(slice(start, start + len(x)), x, None if finite else np.asarray(np.isnan(x).any(axis=1)))
            kept = codes >= 0
            if weights is not None:
                kept &= ~np.isnan(weights)
            if not finite and not self.incomplete:
                kept &= ~np.isnan(x).any(axis=1)
            if not kept.all():
                dropped += int(len(kept) - kept.sum())
                x, codes = np.compress(kept, x.T, axis=1).T, codes[kept]
                weights = None if weights is None else weights[kept]
            yield Block(x, codes, weights)
        self.dropped = dropped

    def every_row(
        self, *, checked: bool = True
    ) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.bool_] | None]]:
        """All rows, for prediction: their place, x, and which hold a missing value (None: none does).

        Unchecked ones are left to `missing`, where what is computed of them is not finite.
        """
        for start, x, finite, *_ in self._filled(checked=checked, classed=False):
            missing = None if finite else np.asarray(np.isnan(x).any(axis=1))
            yield slice(start, start + len(x)), x, missing

    def missing(self, x: NDArray[np.float64], start: int) -> NDArray[np.bool_]:
        """Which rows (m,) of an unchecked block hold a missing value; an infinite one is refused."""
        self._refuse_infinite(self.table, x, start)
        return np.asarray(np.isnan(x).any(axis=1))

    def rows_at(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows (m, p) of the table, by position."""
        found = np.empty((0, 0))
        for part in self.rows.parts(self.design, classed=False):
            here = (positions >= part.start) & (positions < part.start + part.table.nrows)
            x = self._single_rows(part, positions[here] - part.start)
            if here.all():
                return x
            found = found if found.size else np.empty((len(positions), len(self.terms)))
            found[here] = x
        return found

    def _single_rows(self, part: TableRows, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        columns = part.table.view(self.design.columns) if self.design.plain else None
        if columns is not None:
            x = columns[:, positions].T
        else:
            x = np.empty((len(positions), len(self.design.terms)))
            with named(part.where):
                for i, position in enumerate(positions.tolist()):
                    row, stop = x[i : i + 1], position + 1
                    fill(self.design, part.table, position, stop, row, self.functions, partial=self.partial)
        x = x if self.keep is None else x[:, self.keep]
        return x if self.unit is None else x / self.unit

    def refuse_missing(self) -> None:
        """Raise a DataError that names the first missing value, if there is one."""
        self.reduced(_refuse_missing, _neither)

    def _refuse_missing(self, part: TableRows) -> None:
        names = (*self.design.response_columns, *self.design.columns)
        for name in dict.fromkeys(names):
            missing = part.table.column(name).isna().to_numpy()
            if missing.any():
                row, more = part.table.label(int(np.argmax(missing))), int(missing.sum()) - 1
                raise DataError(
                    f"Column {name!r} is missing at row {row!r}"
                    f"{f' and in {more} more' if more else ''}: fill or drop the rows, "
                    'or pass na_action="drop".'
                )
        weights = part.weights
        if weights is not None and np.isnan(weights).any():
            row = part.table.label(int(np.argmax(np.isnan(weights))))
            raise DataError(f'The weight is missing at row {row!r}: fill it, or pass na_action="drop".')
        for start, x, _, codes, _ in self._blocks_of(part):
            lost = (codes < 0) | np.isnan(x).any(axis=1)
            if lost.any():
                row = part.table.label(start + int(lost.argmax()))
                raise DataError(
                    f"A function of functions= gives no category to row {row!r}: correct it, drop the row, "
                    'or pass na_action="drop".'
                )

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

    def _filled(self, *, checked: bool = True, classed: bool = True) -> Iterator[_Filled]:
        """First row, x, whether no value of it is missing, codes and weights, block by block."""
        for part in self.rows.parts(self.design, classed=classed):
            with named(part.where):
                yield from self._blocks_of(self._compared(part), checked)

    def _blocks_of(self, part: TableRows, checked: bool = True) -> Iterator[_Filled]:
        """The same of one part."""
        table = part.table
        refuse_values(table, self.design.boolean_columns, counts=False)
        refuse_values(table, self.counts, counts=True)
        p, n = len(self.design.terms), table.nrows
        # A small table's block is a part of it, too; that of a source is one already.
        most = n if table.part else n // 32
        m = int(np.clip(min(max(BLOCK_NUMBERS // max(p, 1), 4 * p), most), *BLOCK_ROWS))
        columns = table.view(self.design.columns) if self.design.plain else None
        if columns is not None:
            m = max(m, min(LONG_ROWS, LONG_NUMBERS // p, n // 4))
        if columns is None and table.sparse is not None:
            # Sparse tables are wide, and the fewest rows of a block would not be few numbers.
            m = min(m, max(SPARSE_NUMBERS // max(p, 1), EVEN_ROWS))
        m = max(m - m % EVEN_ROWS, min(m, EVEN_ROWS))
        buffer = np.empty((p, min(m, n))) if columns is None else columns
        for start in range(0, n, m):
            stop = min(start + m, n)
            if columns is not None:
                x = columns[:, start:stop].T
            else:
                x = buffer[:, : stop - start].T
                fill(
                    self.design, table, start, stop, x, self.functions, partial=self.partial,
                    unseen=bool(part.has_unseen),
                    excluded=None if part.excluded is None else part.excluded[start:stop],
                )  # fmt: skip
            if self.keep is not None:
                x = x[:, self.keep]
            finite = not checked or _all_finite(x)
            if not finite:
                self._refuse_infinite(table, x, start)
            if self.unit is not None:
                x = (x.T / self.unit[:, None]).T
            weights = None if part.weights is None else part.weights[start:stop]
            yield part.start + start, x, finite, part.codes[start:stop], weights
            tick()

    def _refuse_infinite(self, table: Table, x: NDArray[np.float64], start: int) -> None:
        infinite = np.isinf(x)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise DataError(
                f"Column {self.terms[column]!r} is infinite at row {table.label(start + row)!r}: "
                "replace the value, or make it missing to drop the row."
            )


def _refuse_missing(blocks: Blocks) -> None:
    for part in blocks.rows.parts(blocks.design):
        with named(part.where):
            blocks._refuse_missing(part)


def _neither(a: None, b: None) -> None:
    """Nothing, of two parts in which nothing is missing."""


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


def _all_finite(x: NDArray[np.float64]) -> bool:
    # One product a block finds NaN and inf alike; overflow only sends finite rows to a closer look.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.ones(x.shape[1]) @ x.T).all()) or bool(np.isfinite(x).all())
