"""The rows of a source, part by part, with the class and the weight of each.

Nothing of a part is held when the next one is read. What is asked for of all rows at once, as the classes
that folds are dealt by, is read when it is asked for, by a pass over the columns that tell it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.core.numerics.progress import late_bar
from discrim.errors import DiscrimError, DiscrimWarning
from discrim.frame.design import Design
from discrim.frame.filled import response_codes
from discrim.frame.own_functions import Functions
from discrim.frame.sources.parts import ApartSource, Source
from discrim.frame.table import Table
from discrim.frame.values import Kind
from discrim.frame.weights import weight_vector

__all__ = ["Piece", "SourceRows", "SourceTable", "has_fractions", "kinds_of", "named", "part_table", "tables"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Piece(NamedTuple):
    """A part of the rows.

    Attributes
    ----------
    start : int
        Rows of the source before it.
    table : Table
    codes : (m,) int
        -1 where the class is missing, or not asked for.
    weights : (m,) float or None
    where : str or None
        The file that it is of.
    """

    start: int
    table: Table
    codes: Codes
    weights: Floats | None
    where: str | None


def tables(
    source: Source, columns: Sequence[str] | None = None, kinds: Mapping[str, Kind] | None = None
) -> Iterator[tuple[Table, str | None]]:
    """The parts that have rows, as tables whose rows are numbered through, each with the file it is of.

    A column without any value is of the kind that it is in other parts.
    """
    start = 0
    with late_bar(source.nrows or 0, "rows read") as tell:
        for data, where, coded in source.parts(columns):
            with named(where):
                table = part_table(data, kinds, start, coded)
            if table is not None:
                yield table, where
                start += table.nrows
                tell(table.nrows)


def part_table(
    data: Any, kinds: Mapping[str, Kind] | None = None, before: int = 0, coded: Sequence[str] = ()
) -> Table | None:
    """A part of the rows as a table, None where it has none; as of `tables`."""
    table = Table(data, part=True, learnt_from=True, before=before, coded=coded)
    bare = [name for name, kind in (kinds or {}).items() if _tells_nothing(table, name, kind)]
    if bare and table.nrows:
        frame = table.frame(table.names).assign(**dict.fromkeys(bare, np.nan))
        table = Table(frame, part=True, learnt_from=True)
    return table if table.nrows else None


def kinds_of(design: Design) -> dict[str, Kind]:
    """What the columns of a design hold."""
    if design.spec is None:
        return dict.fromkeys(design.columns, "numeric")
    return dict(zip(design.columns, design.spec.kinds, strict=True))


class named:
    """Say of which file an error is."""

    def __init__(self, where: str | None) -> None:
        self._where = where

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, DiscrimError) and self._where is not None and self._where not in str(error):
            error.args = (f"{error} This is in {self._where!r}.",)


def _tells_nothing(table: Table, name: str, kind: Kind) -> bool:
    """Whether a column of numbers has neither numbers nor anything else here."""
    if kind not in ("numeric", "boolean") or table.kind(name) in ("numeric", "boolean"):
        return False
    return not table.column(name).notna().any()


class SourceTable(Table):
    """What stands for the table where rows come from a source: a column is read when it is asked for.

    Parameters
    ----------
    source : Source
    data : object
        As the user gave it.
    first : Table
        The first part that has rows; it tells what columns hold.
    """

    __slots__ = ("_first", "_rows", "_source")

    def __init__(self, source: Source, data: Any, first: Table) -> None:
        super().__init__(pd.DataFrame(columns=list(source.names)))
        self.data, self.learnt_from = data, True
        self._source, self._first, self._rows = source, first, source.nrows

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceTable, (self._source, self.data, self._first)

    @property
    def source(self) -> Source:
        """Where the rows come from."""
        return self._source

    @property
    def nrows(self) -> int:
        """Rows of the source, counted by a pass over one column where nothing else tells."""
        if self._rows is None and isinstance(self._source, ApartSource):
            self._rows = sum(self._source.lengths)
        if self._rows is None:
            self._rows = sum(table.nrows for table, _ in tables(self._source, self.names[:1]))
        return self._rows

    @property
    def index(self) -> pd.Index:
        """Numbers of the rows."""
        return pd.RangeIndex(self.nrows)

    def counted(self, rows: int) -> None:
        """Take note of how many rows a pass found."""
        self._rows = rows

    def kind(self, name: str) -> Kind:
        """What a column holds, by the first part."""
        return self._sample(name).kind(name)

    def dtype(self, name: str) -> Any:
        """The dtype of a column in the first part."""
        return self._sample(name).dtype(name)

    def holds_integers(self, name: str) -> bool:
        """Whether a column's type in the first part is whole numbers."""
        return self._sample(name).holds_integers(name)

    def _sample(self, name: str) -> Table:
        """The first part that has rows, with a column of this name."""
        if name not in self._first.names:
            self.position(name)
            self._first = next(table for table, _ in tables(self._source))
        return self._first

    def watch(self, names: Sequence[str]) -> None:
        """Do nothing: values are read anew, and the source notices where rows are more or fewer."""

    def refuse_changes(self) -> None:
        """Do nothing, likewise."""

    def view(self, names: Sequence[str]) -> NDArray[np.float64] | None:
        """None: the columns do not lie in memory."""
        return None

    def native(self, name: str) -> pd.Series:
        """A column of all rows, as far as memory goes."""
        self.position(name)
        refuse_beyond_memory(
            4.0 * self.nrows,
            f"Column {name!r} of {self.nrows:,} rows at once",
            "Give a part of the rows, as a table in memory",
        )
        kinds = {name: self.kind(name)}
        parts = [table.column(name) for table, _ in tables(self._source, [name], kinds)]
        if all(isinstance(part.dtype, pd.CategoricalDtype) for part in parts):
            return pd.Series(pd.api.types.union_categoricals(parts), name=name)
        return pd.concat(parts, ignore_index=True)

    def _array(self, name: str) -> NDArray[Any] | None:
        return None


def has_fractions(codes: Codes, weights: Floats | None) -> bool:
    """Whether a row whose class is known has a weight that is no whole number."""
    return weights is not None and bool((weights[(codes >= 0) & (weights > 0)] % 1 != 0).any())


@dataclass(slots=True, eq=False)
class SourceRows:
    """The rows of a source, with what tells their classes and weights.

    Attributes
    ----------
    table : SourceTable
    design : Design
        As the formula was resolved: its levels are those of `codes`.
    functions : mapping
        The user's own functions that the formula calls.
    weights : str or None
        The column of frequencies.
    fractions : bool
        Whether a weight that a pass has met is no whole number.
    said : bool
        Whether a pass has been made, whose warnings are not to be said again.
    """

    table: SourceTable
    design: Design
    functions: Functions
    weights: str | None = None
    fractions: bool = field(default=False, init=False, repr=False)
    said: bool = field(default=False, init=False, repr=False)
    _codes: Codes | None = field(default=None, init=False, repr=False)
    _weight_values: Floats | None = field(default=None, init=False, repr=False)

    def unweighted(self) -> SourceRows:
        """The same rows, each counted once."""
        return replace(self, weights=None)

    def pieces(self, design: Design, *, classed: bool = True) -> Iterator[Piece]:
        """The parts in order.

        Parameters
        ----------
        design : Design
            Whose columns are read.
        classed : bool
            Read class and weight too.
        """
        beside = (*self.design.response_columns, *([self.weights] if self.weights else ())) if classed else ()
        columns = list(dict.fromkeys((*design.columns, *beside)))
        start = 0
        for table, where in tables(self.table.source, columns, kinds_of(design)):
            codes, weights = np.full(table.nrows, -1, dtype=np.intp), None
            if classed:
                with named(where), self._said_once():
                    codes = response_codes(self.design, table, self.functions)
                    weights = weight_vector(self.weights, table)
                self.fractions = self.fractions or has_fractions(codes, weights)
            yield Piece(start, table, codes, weights, where)
            start += table.nrows
        self.table.counted(start)
        self.said = True

    def codes(self) -> Codes:
        """The class (n,) of every row among the levels of the design."""
        return self._gathered()[0]

    def weight_values(self) -> Floats | None:
        """The weight (n,) of every row."""
        return None if self.weights is None else self._gathered()[1]

    def _gathered(self) -> tuple[Codes, Floats | None]:
        """Classes and weights of all rows, held from the first time that they are asked for."""
        if self._codes is None:
            self._codes, self._weight_values = self._read_all()
        return self._codes, self._weight_values

    def _read_all(self) -> tuple[Codes, Floats | None]:
        refuse_beyond_memory(
            2.0 * self.table.nrows,
            f"The classes of {self.table.nrows:,} rows at once",
            "Give a part of the rows, as a table in memory",
        )
        bare = replace(self.design, columns=(), terms=(), spec=None, plain=True)
        codes, weights = [], []
        with late_bar(self.table.nrows, "classes of rows") as tell:
            for piece in self.pieces(bare):
                codes.append(piece.codes)
                if piece.weights is not None:
                    weights.append(piece.weights)
                tell(piece.table.nrows)
        return np.concatenate(codes), np.concatenate(weights) if weights else None

    def _said_once(self) -> warnings.catch_warnings[None]:
        """What the first pass warned of is not said again."""
        if self.said:
            return warnings.catch_warnings(action="ignore", category=DiscrimWarning)
        return warnings.catch_warnings()
