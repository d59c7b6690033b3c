"""Any table as a re-iterable run of blocks that fit the cache.

A block is columns side by side: its x (m, p) is the transposed view of a buffer
(p, m), the layout both of tables and of the products taken of it. The buffer is
used again for the next block, so that a pass needs no more memory than one block.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, warn_user
from discrim.frame.formula import Design, fill, resolve
from discrim.frame.level_codes import refuse_values
from discrim.frame.narrowing import narrowed_design
from discrim.frame.table import Table
from discrim.frame.values import as_floats, pandas_kind

__all__ = ["Block", "Blocks", "of_arrays", "read", "without_rows"]

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

WEIGHT = (1e-280, 1e110)
"""What weights may sum to: tests take squares of the sum, times others, and divide by it."""


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


@dataclass(slots=True)
class Blocks:
    """The rows of a table that a fit uses, block by block.

    Attributes
    ----------
    design : Design
    table : Table
    codes : (n,) int
        Class of each row of the table, -1 where it is missing.
    weights : (n,) float64 or None
    functions : mapping of str to callable
        The user's functions that the formula calls.
    keep : tuple of int, optional
        Positions of the design's columns that are used; all without it.
    lost : (n,) bool, optional
        Rows that are missing whatever they hold, as with a level that the fit has not seen.
    unit : (p,) float64, optional
        What the columns of x are divided by.
    constant, collinear : tuple of str
        Columns that the formula names and the fit has left out: they have one value in all rows, or others
        determine them.
    dropped : int
        Rows left out because a value is missing; known after a full pass.
    partial : bool
        Whether a row with a missing value is used, for prediction, by the columns that are not made of it.
    """

    design: Design
    table: Table
    codes: NDArray[np.intp]
    weights: NDArray[np.float64] | None = None
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    keep: tuple[int, ...] | None = None
    dropped: int = 0
    partial: bool = False
    lost: NDArray[np.bool_] | None = None
    unit: NDArray[np.float64] | None = None
    constant: tuple[str, ...] = ()
    collinear: tuple[str, ...] = ()

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
        """Complete rows; a row with a missing value, response or weight is left out and counted."""
        return self.shown_to(None)

    def shown_to(
        self, see: Callable[[slice, NDArray[np.float64], NDArray[np.bool_] | None], None] | None
    ) -> Iterator[Block]:
        """Complete rows, as of iteration, of which each block with all its rows is shown first.

        What is shown is what `every_row` gives.
        """
        dropped = 0
        for start, x, finite in self._filled():
            stop = start + len(x)
            if see is not None:
                see(slice(start, stop), x, None if finite else np.asarray(np.isnan(x).any(axis=1)))
            codes = self.codes[start:stop]
            weights = None if self.weights is None else self.weights[start:stop]
            kept = codes >= 0
            if weights is not None:
                kept &= ~np.isnan(weights)
            if not finite:
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
        for start, x, finite in self._filled(checked=checked):
            missing = None if finite else np.asarray(np.isnan(x).any(axis=1))
            yield slice(start, start + len(x)), x, missing

    def missing(self, x: NDArray[np.float64], start: int) -> NDArray[np.bool_]:
        """Which rows (m,) of an unchecked block hold a missing value; an infinite one is refused."""
        self._refuse_infinite(x, start)
        return np.asarray(np.isnan(x).any(axis=1))

    def row(self, position: int) -> NDArray[np.float64]:
        """One row (1, p) of the table."""
        columns = self.table.view(self.design.columns) if self.design.plain else None
        if columns is not None:
            x = columns[:, position : position + 1].T
        else:
            x = np.empty((1, len(self.design.terms)))
            fill(self.design, self.table, position, position + 1, x, self.functions)
        x = x if self.keep is None else x[:, self.keep]
        return x if self.unit is None else x / self.unit

    def refuse_missing(self) -> None:
        """Raise a DataError that names the first missing value, if there is one."""
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
        if self.weights is not None and np.isnan(self.weights).any():
            row = self.table.label(int(np.argmax(np.isnan(self.weights))))
            raise DataError(f'The weight is missing at row {row!r}: fill it, or pass na_action="drop".')
        for start, x, _ in self._filled():
            lost = (self.codes[start : start + len(x)] < 0) | np.isnan(x).any(axis=1)
            if lost.any():
                row = self.table.label(start + int(lost.argmax()))
                raise DataError(
                    f"A function of functions= gives no category to row {row!r}: correct it, drop the row, "
                    'or pass na_action="drop".'
                )

    def _filled(self, *, checked: bool = True) -> Iterator[tuple[int, NDArray[np.float64], bool]]:
        """First row, x, and whether no value of it is missing."""
        refuse_values(self.table, self.design.boolean_columns, counts=False)
        p, n = len(self.design.terms), self.table.nrows
        # A small table's block is a part of it, too.
        m = int(np.clip(min(max(BLOCK_NUMBERS // max(p, 1), 4 * p), n // 32), *BLOCK_ROWS))
        columns = self.table.view(self.design.columns) if self.design.plain else None
        if columns is not None:
            m = max(m, min(LONG_ROWS, LONG_NUMBERS // p, n // 4))
        if columns is None and self.table.sparse is not None:
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
                fill(self.design, self.table, start, stop, x, self.functions, partial=self.partial, lost=lost)
            if self.keep is not None:
                x = x[:, self.keep]
            finite = not checked or _all_finite(x)
            if not finite:
                self._refuse_infinite(x, start)
            if self.unit is not None:
                x = (x.T / self.unit[:, None]).T
            yield start, x, finite

    def _refuse_infinite(self, x: NDArray[np.float64], start: int) -> None:
        infinite = np.isinf(x)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise DataError(
                f"Column {self.terms[column]!r} is infinite at row {self.table.label(start + row)!r}: "
                "replace the value, or make it missing to drop the row."
            )


def read(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    part: bool = False,
) -> Blocks:
    """The rows that a formula asks of a table, or of a part of one; see `Blocks` for what is left out."""
    table = Table(data, part=part, learnt_from=not part, held=True)
    exclude = (weights,) if isinstance(weights, str) else ()
    design, codes = resolve(formula, table, functions=functions, levels=levels, exclude=exclude)
    return Blocks(design, table, codes, weight_vector(weights, table), dict(functions or {}))


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


def weight_vector(weights: Any, table: Table) -> NDArray[np.float64] | None:
    """Frequency weights (n,) from a column name or a vector; a missing weight is NaN, with a warning.

    Raises
    ------
    DataError
        The wrong length, a negative or infinite weight, no positive weight at all in a whole table, or a sum
        of weights that is out of range.
    """
    if weights is None:
        return None
    name = weights if isinstance(weights, str) else getattr(weights, "name", None)
    label = f"weights {name!r}" if name is not None else "weights"
    if isinstance(weights, str):
        if table.kind(weights) not in ("numeric", "boolean"):
            raise DataError(f"The {label} are not numeric: give a numeric column of counts.")
        vector = table.column(weights).to_numpy(dtype=np.float64)
    else:
        if isinstance(weights, pd.Series) and not weights.index.equals(table.index):
            raise DataError(
                f"The index of the {label} differs from the table's: align them, or pass an array."
            )
        vector = _numbers(weights, label)
    if vector.shape != (table.nrows,):
        raise DataError(
            f"The {label} have shape {vector.shape}; the table has {table.nrows} rows: give one number "
            "for each row."
        )
    for bad, what in ((vector < 0, "negative"), (np.isinf(vector), "infinite")):
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"The {label} are {what} at row {table.label(row)!r} ({vector[row]:g}): give 0 or more, or "
                "drop the row."
            )
    if not table.part and not (vector > 0).any():
        raise DataError(
            f"The {label} are all zero or missing: no row is left. Give some rows a weight above 0."
        )
    with np.errstate(over="ignore"):
        total = float(np.nansum(vector))
    if total > WEIGHT[1] or 0 < total < WEIGHT[0]:
        raise DataError(
            f"The {label} sum to {total:g}, and products of them would be out of the range of double "
            "precision: divide them by their largest, or by their mean where only their ratios matter."
        )
    missing = np.isnan(vector)
    if missing.any():
        row, more = table.label(int(np.argmax(missing))), int(missing.sum()) - 1
        warn_user(
            f"The {label} are missing at row {row!r}{f' and in {more} more' if more else ''}: left out, and "
            "counted as dropped. Fill them, for example with 1."
        )
    # The caller's own array, or column, may change after the fit.
    return vector.copy()


def _numbers(weights: Any, label: str) -> NDArray[np.float64]:
    """A vector as doubles; text, times and complex numbers count no rows."""
    labelled = isinstance(weights, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    values = weights if labelled else np.asarray(weights)
    if values.ndim != 1:
        return np.zeros(values.shape)  # Its shape is the fault.
    series = pd.Series(values)
    if pandas_kind(series) not in ("numeric", "boolean"):
        raise DataError(f"The {label} are not numeric but {series.dtype}: give a vector of counts.")
    return as_floats(series, label)


def _all_finite(x: NDArray[np.float64]) -> bool:
    # One product a block finds NaN and inf alike; overflow only sends finite rows to a closer look.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.ones(x.shape[1]) @ x.T).all()) or bool(np.isfinite(x).all())
