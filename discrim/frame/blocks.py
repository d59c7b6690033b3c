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
from discrim.frame.apart import reduced_blocks, small_codes
from discrim.frame.filled import fill
from discrim.frame.formula import Design
from discrim.frame.level_codes import refuse_values
from discrim.frame.narrowing import narrowed_design
from discrim.frame.sources.parts import ApartSource
from discrim.frame.sources.rows import SourceRows, has_fractions, named
from discrim.frame.table import Table
from discrim.frame.unseen import unseen_rows

__all__ = ["Block", "Blocks", "of_arrays", "without_rows"]

BLOCK_NUMBERS = 2**18
"""Numbers in a block: 2 MiB of float64."""

BLOCK_ROWS = (1024, 8192)
"""Fewest and most rows of a block."""

EVEN_ROWS = 64
"""What the rows of a block are a multiple of: products round the odd rows at the end in their own way."""

MANY_ROWS = 2**20
"""Rows that a source is taken to have which does not tell."""

LONG_ROWS, LONG_NUMBERS = 4096, 2**22
"""Rows of a block that is read in place, and its most numbers: short runs of a column are read slowly."""

SPARSE_NUMBERS = 2**21
"""Most numbers of a block that sparse columns are written out to, where its rows are not too few."""


T = TypeVar("T")


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
    design : Design
    table : Table
    held_codes : (n,) int, or None
        Class of each row of the table, -1 where it is missing; None of a source as long as nobody asked.
    held_weights : (n,) float64 or None
    functions : mapping of str to callable
        The user's functions that the formula calls.
    keep : tuple of int, optional
        Positions of the design's columns that are used; all without it.
    lost : (n,) bool, optional
        Rows that are missing whatever they hold, as with a level that the fit has not seen.
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
    source : SourceRows, optional
        What the rows are read from, part by part, in the place of a table in memory.
    counts : tuple of str
        Columns of a source that have to hold counts.
    """

    design: Design
    table: Table
    held_codes: NDArray[np.intp] | None
    held_weights: NDArray[np.float64] | None = None
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    keep: tuple[int, ...] | None = None
    dropped: int = 0
    partial: bool = False
    incomplete: bool = False
    lost: NDArray[np.bool_] | None = None
    unseen: bool = False
    unit: NDArray[np.float64] | None = None
    constant: tuple[str, ...] = ()
    collinear: tuple[str, ...] = ()
    source: SourceRows | None = None
    counts: tuple[str, ...] = ()

    @property
    def codes(self) -> NDArray[np.intp]:
        """Class (n,) of each row of the table, -1 where it is missing; of a source, read when asked for."""
        if self.held_codes is not None or self.source is None:
            return np.zeros(0, dtype=np.intp) if self.held_codes is None else self.held_codes
        if self.apart:
            found = self._without_columns().reduced(_codes_of, _joined)
            self.held_codes = found.astype(np.intp)
            return self.held_codes
        self.held_codes = self._as_levels(self.source.codes())
        return self.held_codes

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Weights (n,) of the rows, or None; of a source they are read when asked for."""
        if self.held_weights is None and self.source is not None and self.weighted:
            if self.apart:
                self.held_weights = self._without_columns().reduced(_weights_of, _joined)
            else:
                self.held_weights = self.source.weight_values()
        return self.held_weights

    def _without_columns(self) -> Blocks:
        """Blocks that read class and weight of each row, and nothing else."""
        bare = replace(self.design, columns=(), terms=(), spec=None, plain=True)
        return replace(self, design=bare, keep=None, unit=None, counts=())

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.held_weights is not None or (self.source is not None and self.source.weights is not None)

    @property
    def apart(self) -> bool:
        """Whether the rows lie in parts elsewhere, which are worked on there."""
        return self.source is not None and isinstance(self.source.table.source, ApartSource)

    def reduced(self, task: Callable[[Blocks], T], merge: Callable[[T, T], T]) -> T:
        """What a task makes of the rows, or of those of each part where they lie, merged."""
        rows = self.source
        source = None if rows is None else rows.table.source
        if rows is None or not isinstance(source, ApartSource):
            return task(self)
        value, dropped = reduced_blocks(self, rows, source, task, merge)
        self.dropped = self.dropped if dropped is None else dropped
        return value

    @property
    def known(self) -> int:
        """Rows whose class is known; of a source no fewer than these, as far as it tells before a pass."""
        if self.held_codes is None and self.source is not None:
            rows = self.source.table.source.nrows
            return MANY_ROWS if rows is None and len(self.design.terms) < MANY_ROWS else self.table.nrows
        return int((self.codes >= 0).sum())

    def has_whole_weights(self) -> bool:
        """Whether the weights of rows whose class is known are whole numbers; of a source, after a pass."""
        if self.held_weights is None and self.source is not None:
            return not self.source.fractions
        return not has_fractions(self.codes, self.held_weights)

    def unweighted(self) -> Blocks:
        """The blocks with each row counted once."""
        return replace(
            self, held_weights=None, source=None if self.source is None else self.source.unweighted()
        )

    def _as_levels(self, codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Codes among the levels that the source was read with, as those among the levels left."""
        known = () if self.source is None else self.source.design.levels
        if known == self.design.levels:
            return codes
        position = {label: k for k, label in enumerate(self.design.levels)}
        return np.array([*(position.get(label, -1) for label in known), -1], dtype=np.intp)[codes]

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the columns of x."""
        terms = self.design.terms
        return terms if self.keep is None else tuple(terms[j] for j in self.keep)

    def columns(self, keep: Collection[int]) -> Blocks:
        """The blocks of some of the columns, by position."""
        held = range(len(self.design.terms)) if self.keep is None else self.keep
        design, own = narrowed_design(self.design, {held[j] for j in keep})
        return replace(self, design=design, keep=own)

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
        self._refuse_infinite(x, start)
        return np.asarray(np.isnan(x).any(axis=1))

    def rows_at(self, positions: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows (m, p) of the table, by position."""
        if self.source is not None:
            found = np.empty((len(positions), len(self.terms)))
            for place, x, _ in self.every_row():
                here = (positions >= place.start) & (positions < place.stop)
                found[here] = x[positions[here] - place.start]
            return found
        columns = self.table.view(self.design.columns) if self.design.plain else None
        if columns is not None:
            x = columns[:, positions].T
        else:
            x = np.empty((len(positions), len(self.design.terms)))
            for i, position in enumerate(positions.tolist()):
                row, stop = x[i : i + 1], position + 1
                fill(self.design, self.table, position, stop, row, self.functions, partial=self.partial)
        x = x if self.keep is None else x[:, self.keep]
        return x if self.unit is None else x / self.unit

    def refuse_missing(self) -> None:
        """Raise a DataError that names the first missing value, if there is one."""
        if self.apart:
            self.reduced(Blocks.refuse_missing, _neither)
            return
        if self.source is not None:
            for piece in self.source.pieces(self.design):
                with named(piece.where):
                    replace(
                        self,
                        table=piece.table,
                        held_codes=self._as_levels(piece.codes),
                        held_weights=piece.weights,
                        source=None,
                    ).refuse_missing()
            return
        names = (*self.design.response_columns, *self.design.columns)
        for name in dict.fromkeys(names):
            missing = self.table.column(name).isna().to_numpy()
            if missing.any():
                row, more = self.table.label(int(np.argmax(missing))), int(missing.sum()) - 1
                raise DataError(
                    f"Column {name!r} is missing at row {row!r}"
                    f"{f' and in {more} more' if more else ''}: fill or drop the rows, "
                    'or pass na_action="drop".'
                )
        weights = self.held_weights
        if weights is not None and np.isnan(weights).any():
            row = self.table.label(int(np.argmax(np.isnan(weights))))
            raise DataError(f'The weight is missing at row {row!r}: fill it, or pass na_action="drop".')
        for start, x, _, codes, _ in self._filled():
            lost = (codes < 0) | np.isnan(x).any(axis=1)
            if lost.any():
                row = self.table.label(start + int(lost.argmax()))
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

    def with_lost(self) -> Blocks:
        """The blocks of a table that know its rows with unseen levels, where these are to be missing."""
        if not self.unseen:
            return self
        lost = unseen_rows(self.design, self.table, self.functions, partial=self.partial)
        # Of rows that are used in part, the columns that are made of such a level are missing alone.
        return replace(self, unseen=lost is not None, lost=None if self.partial else lost)

    def _filled(self, *, checked: bool = True, classed: bool = True) -> Iterator[_Filled]:
        """First row, x, whether no value of it is missing, codes and weights, block by block."""
        if self.source is None:
            yield from self._filled_of(self.table, checked)
            return
        given, weights = self.held_codes, self.held_weights
        told = given is not None and (weights is not None or not self.weighted)
        for piece in self.source.pieces(self.design, classed=classed and not told):
            place = slice(piece.start, piece.start + piece.table.nrows)
            part = replace(
                self,
                table=piece.table,
                held_codes=self._as_levels(piece.codes) if given is None else given[place],
                held_weights=piece.weights if weights is None else weights[place],
                lost=None if self.lost is None else self.lost[place],
                source=None,
            )
            with named(piece.where):
                for start, x, finite, codes, weight in part.with_lost()._filled_of(piece.table, checked):
                    yield piece.start + start, x, finite, codes, weight

    def _filled_of(self, table: Table, checked: bool) -> Iterator[_Filled]:
        """The same of a table in memory."""
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
                lost = None if self.lost is None else self.lost[start:stop]
                how = {"partial": self.partial, "unseen": self.unseen}
                fill(self.design, table, start, stop, x, self.functions, lost=lost, **how)
            if self.keep is not None:
                x = x[:, self.keep]
            finite = not checked or _all_finite(x)
            if not finite:
                self._refuse_infinite(x, start)
            if self.unit is not None:
                x = (x.T / self.unit[:, None]).T
            codes = self.codes[start:stop]
            weights = None if self.held_weights is None else self.held_weights[start:stop]
            yield start, x, finite, codes, weights
            tick()

    def _refuse_infinite(self, x: NDArray[np.float64], start: int) -> None:
        infinite = np.isinf(x)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise DataError(
                f"Column {self.terms[column]!r} is infinite at row {self.table.label(start + row)!r}: "
                "replace the value, or make it missing to drop the row."
            )


def _codes_of(part: Blocks) -> NDArray[Any]:
    return small_codes(part.codes)


def _weights_of(part: Blocks) -> NDArray[Any]:
    return np.zeros(0) if part.weights is None else part.weights


def _joined(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([a, b])


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
    return Blocks(design, table, codes, weights)


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
    nothing = Table(pd.DataFrame(index=pd.RangeIndex(0)))
    weights = np.zeros(0) if weighted else None
    none = np.zeros(0, dtype=np.intp)
    constant, collinear = left_out
    return Blocks(
        design, nothing, none, weights, functions or {}, keep, dropped, constant=constant, collinear=collinear
    )


def _all_finite(x: NDArray[np.float64]) -> bool:
    # One product a block finds NaN and inf alike; overflow only sends finite rows to a closer look.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.ones(x.shape[1]) @ x.T).all()) or bool(np.isfinite(x).all())
