"""Any table as a re-iterable run of blocks that fit the cache.

A block is columns side by side: its x (m, p) is the transposed view of a buffer
(p, m), the layout both of tables and of the products taken of it. The buffer is
used again for the next block, so that a pass needs no more memory than one block.

Blocks whose rows lie in parts elsewhere: what a part needs to be read and worked on where it is.

A part goes through the same steps there as a part that is read here: a table, the class and the weight of
each row, blocks of these. What comes back is what was made of them, with what the pass has found beside:
how many rows there are, how many miss a value, and what there is to warn of.

Levels in new rows that a fit has not seen: where they are, and what they are.

A design without some of its columns: what a fit has left out is not read from new rows either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Mask
from discrim.core.numerics.progress import tick
from discrim.errors import DataError, kept_warnings, warn_user
from discrim.frame.categories import Scalar, shown
from discrim.frame.design import Design, Product, Spec
from discrim.frame.factors import Categories, Memory, RowRange, evaluate
from discrim.frame.formula import spline_bases
from discrim.frame.grammar import expression, quote
from discrim.frame.level_codes import refuse_values
from discrim.frame.matrix import fill, response_codes
from discrim.frame.own_functions import Functions, recall_functions
from discrim.frame.sources.parts import ApartSource, no_rows
from discrim.frame.sources.rows import SourceRows, column_kinds, has_fractions, named, part_table
from discrim.frame.table import Table, weight_vector

T = TypeVar("T")

UNKNOWN = -1
"""Rows left out, where no pass has counted them."""


class GivenRows(NamedTuple):
    """What is known of each row of a part beforehand: class, weight, and whether it is lost."""

    codes: NDArray[Any] | None
    weights: NDArray[Any] | None
    lost: NDArray[Any] | None


class Made(NamedTuple, Generic[T]):
    """What was made of some parts.

    Attributes
    ----------
    dropped : int
        Rows that miss a value; `UNKNOWN` where the task has not read them all.
    fractions : bool
        Whether a weight is no whole number.
    said : tuple of str
        Warnings.
    """

    value: T
    dropped: int
    fractions: bool
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartWork(Generic[T]):
    """A task and all that makes blocks of a part, without any row.

    Attributes
    ----------
    blocks : Blocks
        Those of the fit, without rows.
    design : Design
        With the levels that the response is read with.
    task : callable
        From blocks to a value.
    """

    blocks: Any
    design: Design
    functions: Functions
    weights: str | None
    task: Callable[[Any], T]

    def __call__(self, data: Any, given: GivenRows | None) -> Made[T] | None:
        """What is made of a part; None of one without rows."""
        table = part_table(data, column_kinds(self.blocks.design))
        if table is None:
            return None
        codes, weights, lost = given or GivenRows(None, None, None)
        with kept_warnings() as said:
            codes = self._codes(table) if codes is None else codes.astype(np.intp)
            weights = weight_vector(self.weights, table) if weights is None else weights
            part = replace(
                self.blocks, table=table, held_codes=codes, held_weights=weights, lost=lost, dropped=UNKNOWN
            )
            value = self.task(part)
        return Made(value, part.dropped, has_fractions(codes, weights), tuple(dict.fromkeys(said)))

    def _codes(self, table: Table) -> NDArray[np.intp]:
        codes = response_codes(self.design, table, self.functions)
        if self.design.levels == self.blocks.design.levels:
            return codes
        position = {label: k for k, label in enumerate(self.blocks.design.levels)}
        own = [position.get(label, -1) for label in self.design.levels]
        return np.array([*own, -1], dtype=np.intp)[codes]


@dataclass(frozen=True, slots=True)
class _Merge(Generic[T]):
    """How what was made of two parts becomes what is made of both."""

    values: Callable[[T, T], T]

    def __call__(self, a: Made[T], b: Made[T]) -> Made[T]:
        known = a.dropped != UNKNOWN and b.dropped != UNKNOWN
        return Made(
            self.values(a.value, b.value),
            a.dropped + b.dropped if known else UNKNOWN,
            a.fractions or b.fractions,
            tuple(dict.fromkeys((*a.said, *b.said))),
        )


def reduced_blocks(
    blocks: Any, rows: SourceRows, source: ApartSource, task: Callable[[Any], T], merge: Callable[[T, T], T]
) -> tuple[T, int | None]:
    """What a task makes of blocks whose rows lie apart, and how many rows it left out, if it has read all.

    Raises
    ------
    DataError
        There are no rows.
    """
    held, weights = blocks.held_codes, blocks.held_weights
    bare = replace(
        blocks, table=Table(pd.DataFrame(index=pd.RangeIndex(0))), held_codes=None, held_weights=None,
        lost=None, source=None,
    )  # fmt: skip
    work = PartWork(bare, rows.design, rows.functions, rows.weights if weights is None else None, task)
    beside = (
        *(() if held is not None else rows.design.response_columns),
        *((rows.weights,) if work.weights else ()),
    )
    columns = list(dict.fromkeys((*blocks.design.columns, *beside)))
    given = None
    if held is not None or weights is not None or blocks.lost is not None:
        given = _dealt(GivenRows(None if held is None else small_codes(held), weights, blocks.lost), source)
    made = source.reduced(columns, work, _Merge(merge), given)
    if made is None:
        raise no_rows(source)
    rows.table.counted(sum(source.lengths))
    if weights is None:
        rows.fractions = rows.fractions or made.fractions
    if not rows.said:
        rows.said = True
        for message in made.said:
            warn_user(message)
    return made.value, None if made.dropped == UNKNOWN else made.dropped


def small_codes(codes: NDArray[np.intp]) -> NDArray[Any]:
    """Codes in the shortest type that holds them, for the way."""
    return codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0))))


def _dealt(given: GivenRows, source: ApartSource) -> list[GivenRows]:
    """What is known of the rows of each part."""
    found, start = [], 0
    for rows in source.lengths:
        place = slice(start, start + rows)
        found.append(GivenRows(*(None if each is None else each[place] for each in given)))
        start += rows
    return found


Unseen = Literal["raise", "missing"]
"""What a level of new rows is that the fit has not seen: an error, or missing."""


class _Category(NamedTuple):
    """A category of a design: its name, its levels, its values, and the rows that have them."""

    label: str
    levels: tuple[Scalar, ...]
    values: pd.Series
    rows: NDArray[np.intp]


def unseen_rows(
    design: Design, table: Table, functions: Functions | None = None, *, partial: bool = False
) -> Mask | None:
    """Rows (n,) of a table with a level that the fit has not seen, which a warning counts; None for none.

    Parameters
    ----------
    functions : dict, optional
        The user's own functions that the formula calls.
    partial : bool
        Whether such a row is used by its other columns.
    """
    lost = np.zeros(table.nrows, dtype=bool)
    said: list[str] = []
    for label, levels, values, at in _categories(design, table, functions):
        strange = values.notna().to_numpy() & ~values.isin(list(levels)).to_numpy()
        if strange.any():
            first = int(np.argmax(strange))
            said.append(f"{label} is {shown(values.iloc[first])} at row {shown(table.label(int(at[first])))}")
            lost[at[strange]] = True
    if not said:
        return None
    count = int(lost.sum())
    others = len(said) - 2
    more = f" and in {others} more {'column' if others == 1 else 'columns'}" if others > 0 else ""
    what = "what is said of {} is missing" if not partial else "what is said of {} rests on other columns"
    warn_user(
        f"{count} {'row has' if count == 1 else 'rows have'} a level that the fit has not seen "
        f"({', '.join(said[:2])}{more}): {what.format('it' if count == 1 else 'them')}."
    )
    return lost


def absent_levels(design: Design, table: Table, keep: Mask, functions: Functions | None = None) -> bool:
    """Whether some level of a category has no row among those to keep (n,)."""
    for _, levels, values, at in _categories(design, table, functions):
        if values[keep[at]].nunique() < len(levels):
            return True
    return False


def lone_rows(design: Design, table: Table, keep: Mask, functions: Functions | None = None) -> Mask:
    """Which rows (n,) leave some level of a category without any other row among those to keep (n,)."""
    lone = np.zeros(table.nrows, dtype=bool)
    for _, levels, values, at in _categories(design, table, functions):
        kept = values[keep[at]]
        if kept.nunique() < len(levels):
            lone[:] = True
        lone[at[keep[at]]] |= ~kept.duplicated(keep=False).to_numpy()
    return lone


def _categories(design: Design, table: Table, functions: Functions | None) -> Iterator[_Category]:
    if design.spec is None:
        return
    functions = recall_functions(design.functions, functions)
    kinds = dict(zip(design.columns, design.spec.kinds, strict=True))
    known = {name: kind for name, kind in kinds.items() if kind in {"categorical", "text"}}
    for factor in design.spec.factors:
        if factor.levels is None:
            continue
        each = expression(factor.code, frozenset(functions))
        rows, keep = RowRange(table, 0, table.nrows, kinds=known).complete(each.columns)
        value = evaluate(each, rows, Memory(factor.states), functions, spline_bases())
        if isinstance(value, Categories):
            yield _Category(each.label, factor.levels, value.values, np.flatnonzero(keep))


def narrowed_design(design: Design, keep: Collection[int]) -> tuple[Design, tuple[int, ...] | None]:
    """The design without the terms of which no column is kept, and which of its columns are.

    Parameters
    ----------
    keep : collection of int
        Positions of columns, one or more.

    Returns
    -------
    design : Design
    keep : tuple of int or None
        Positions in that design, None for all: a category of which some levels are kept stays whole.
    """
    spec = design.spec
    if spec is None:
        names = tuple(name for j, name in enumerate(design.columns) if j in keep)
        return replace(design, columns=names, terms=names), None
    products: list[Product] = []
    terms: list[str] = []
    kept: list[int] = []
    stop = 0
    for product in spec.products:
        start, stop = stop, stop + math.prod(spec.widths(product))
        own = [j for j in range(start, stop) if j in keep]
        if own:
            kept.extend(len(terms) + j - start for j in own)
            terms.extend(design.terms[start:stop])
            products.append(product)
    found = None if len(kept) == len(terms) else tuple(kept)
    return _of_products(design, spec, products, tuple(terms)), found


def _of_products(design: Design, spec: Spec, products: list[Product], terms: tuple[str, ...]) -> Design:
    """The design of some products, which reads no other columns."""
    functions = frozenset(design.functions)
    used = sorted({factor for product in products for factor, _ in product})
    factors = tuple(spec.factors[factor] for factor in used)
    read = {name for factor in factors for name in expression(factor.code, functions).columns}
    columns = tuple(name for name in design.columns if name in read)
    kind_of = dict(zip(design.columns, spec.kinds, strict=True))
    kinds = tuple(kind_of[name] for name in columns)
    numbers = [
        quote(name) for name, kind in zip(columns, kinds, strict=True) if kind in ("numeric", "boolean")
    ]
    position = {factor: place for place, factor in enumerate(used)}
    single = [factors[position[product[0][0]]].code for product in products if len(product) == 1]
    if len(single) == len(products) and single == numbers and terms == columns:
        return replace(design, columns=columns, terms=terms, plain=True, spec=None)
    moved = tuple(tuple((position[factor], coding) for factor, coding in product) for product in products)
    own = Spec(kinds, factors, spec.codings, moved)
    return replace(design, columns=columns, terms=terms, spec=own)


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
