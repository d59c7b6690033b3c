"""What a source of tables is: its columns, and its rows part by part, as often as they are asked for.

A table that does not fit in memory is read from a source. Whatever the source is, its parts are tables of
some `ROWS` rows, with the same columns, each of one kind throughout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, Generic, NamedTuple, TypeVar

import pandas as pd

from discrim.core.numerics.map_reduce import StoredValue
from discrim.errors import DataError, DiscrimError

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

ROWS = 2**16
"""Most rows of a part."""

FEWEST_ROWS = 2**10
NUMBERS = 2**21
"""Rows of a part whose columns are many, and the most numbers of one whose columns are fewer."""


class Part(NamedTuple):
    """Some rows of a source, the file they are from, and columns of text that are codes of a dictionary."""

    data: Any
    where: str | None = None
    coded: tuple[str, ...] = ()


class Source(ABC):
    """Rows that are read part by part, of columns by name, in order.

    Messages call them `what`, as "the LazyFrame". They may be readable `once`, and of `files`.
    """

    def __init__(self, what: str, names: Sequence[str], *, once: bool = False) -> None:
        self.what, self.names, self.once = what, tuple(names), once
        refuse_twice(self.names, what)
        self._rows: int | None = None
        self.files: Any = None

    @property
    def nrows(self) -> int | None:
        """Rows, where they are known without reading them."""
        return self._rows

    def reads(self, path: str) -> bool:
        """Whether a file of this path is, or would be, one of those that are read."""
        return self.files is not None and bool(self.files.include(path))

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Part]:
        """The rows in order, from the first on; of the columns that are named alone, where that can be."""
        return self._counted(self.begun(self.names if columns is None else self._checked_columns(columns)))

    def begun(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """A pass over columns that are there; nobody counts its rows."""
        return self._read(columns)

    @abstractmethod
    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """The parts of a pass; the columns are there."""

    def _checked_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        known = set(self.names)
        for name in columns:
            if name not in known:
                raise no_column(name, self.names, self.what)
        # Without any column most readers do not know how many rows there are.
        return tuple(dict.fromkeys(columns)) or self.names[:1]

    def _counted(self, parts: Iterator[Part]) -> Iterator[Part]:
        """The parts; an error says after how many rows it came, and all passes have as many rows."""
        rows = 0
        where = None
        with closed_at_end(parts):
            while True:
                try:
                    part = next(parts)
                except StopIteration:
                    break
                except DiscrimError:
                    raise
                except Exception as error:
                    there = "" if where is None else f" of {where!r}"
                    error.add_note(f"{capital(self.what)} raised this after {rows:,} rows{there}.")
                    raise
                where = part.where
                rows += len(part.data)
                yield part
        if self._rows is not None and rows != self._rows:
            raise DataError(
                f"{capital(self.what)} has {rows:,} rows now and had {self._rows:,} before: what reads "
                "rows several times needs the same each time.",
                hint="If it is a function, let it begin anew at each call.",
            )
        self._rows = rows

    def refuse_vector(self, weights: Any) -> None:
        """Raise a DataError where weights are no column."""
        if weights is not None and not isinstance(weights, str):
            raise DataError(
                "weights= is an array, and the rows come from a source.",
                hint="Name the column of the source that holds them.",
            )

    def labels_of(self, parts: Sequence[pd.Index]) -> pd.Index:
        """Labels of all rows, of those of each part: numbers, as parts are numbered through."""
        return pd.RangeIndex(sum(map(len, parts)))


class TableSource(Source):
    """A table in memory: its one part is the table, or blocks of rows read before, as it was given."""

    def __init__(self, data: Any) -> None:
        super().__init__("the table", ())
        self.data = data

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Part]:
        """The table, with all its columns."""
        return self._read(())

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        yield Part(self.data)

    def refuse_vector(self, weights: Any) -> None:
        """Do nothing: the table says itself which weights fit."""

    def labels_of(self, parts: Sequence[pd.Index]) -> pd.Index:
        """The table's own."""
        return parts[0]


class PartWork(NamedTuple, Generic[T]):
    """Work on each part of a source where it lies, and how its values merge.

    The work goes from a part, with these columns, and what is given of it to a value, None of one without
    rows; values of two runs of parts are merged in their order.
    """

    columns: Sequence[str]
    work: Callable[[Any, Any], T | None]
    merge: Callable[[T, T], T]
    given: Sequence[Any] | None = None


class DistributedSource(Source):
    """Rows whose parts lie elsewhere, and are worked on there."""

    @property
    @abstractmethod
    def lengths(self) -> list[int]:
        """Rows of each part; where no pass has counted them, one does."""

    @property
    @abstractmethod
    def meta(self) -> pd.DataFrame:
        """A frame without rows, of the types of the columns."""

    @abstractmethod
    def map_reduce(self, work: PartWork[T]) -> T | None:
        """Apply some work to each part where it is, and merge the results; None if no part has rows."""

    @abstractmethod
    def map_reduce_stored(
        self, work: PartWork[T], returned: Callable[[T | None], V], stored: Callable[[T | None], U]
    ) -> tuple[V, StoredValue[U]]:
        """Map-reduce, and split the result into a part that is returned and a part that stays on a worker.

        Parameters
        ----------
        work : PartWork
        returned, stored : callable
            Functions of the merged result, which is None if no part has rows.

        Returns
        -------
        object
            The part that is returned.
        StoredValue
            The other one.
        """

    @abstractmethod
    def lazily(self, columns: Sequence[str], answer: Callable[[Any], Any], *, beyond: bool = False) -> Any:
        """What an answer says of each part, a Series or a DataFrame on its index, when that is computed.

        `beyond` is that labels may be others than the classes.
        """


class OnceSource(Source):
    """Rows that can be read once.

    Who wants only the first part, to see what columns hold, may begin a pass and leave it: until the next
    part is asked for, the pass has not been made.
    """

    def __init__(self, what: str, names: Sequence[str]) -> None:
        super().__init__(what, names, once=True)
        self.spent = self.is_read = False
        self.read_columns: tuple[str, ...] = ()
        self._ahead: list[Part] = []
        self._left: Iterator[Part] | None = None

    def begun(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """The one pass."""
        self._refuse_second()
        return self._once(columns)

    def _once(self, columns: tuple[str, ...]) -> Iterator[Part]:
        self.read_columns = columns
        self.is_read = True
        try:
            yield from list(self._ahead)
            self._refuse_second()
            left = self._left = self._left or self._read(columns)
            with closed_at_end(self):
                if not any(len(part.data) for part in self._ahead):
                    for part in left:
                        self._ahead.append(part)
                        yield part
                        if len(part.data):
                            break
                self._refuse_second()
                self.spent = True
                self._ahead.clear()
                yield from left
        finally:
            self.is_read = False

    def close(self) -> None:
        """Let go of what is read, when the pass has gone beyond its first part."""
        if self.spent and self._left is not None:
            with closed_at_end(self._left):
                self._left = None

    def _refuse_second(self) -> None:
        if self.spent:
            raise DataError(
                f"{capital(self.what)} can be read once only, and that has been done.",
                hint=(
                    "Give a function that makes it, as in data=lambda: frames(), so that its rows can be "
                    "read again; or levels=, where the first pass only looked for the classes."
                ),
            )


@contextmanager
def closed_at_end(iterator: Any) -> Iterator[None]:
    """Close an iterator at the end of a block, where it can be closed: it may hold files, or a connection."""
    try:
        yield
    finally:
        close = getattr(iterator, "close", None)
        if callable(close):
            close()


def batch_rows(columns: int) -> int:
    """Rows of a part with so many columns."""
    return min(ROWS, max(FEWEST_ROWS, NUMBERS // max(columns, 1)))


def slices(frame: Any) -> Iterator[Any]:
    """The rows of a frame in parts of no more than a batch, as frames like it."""
    step = batch_rows(len(frame.columns))
    nrows = len(frame)
    if nrows <= 2 * step:
        yield frame
        return
    for start in range(0, nrows, step):
        stop = min(start + step, nrows)
        yield frame.iloc[start:stop] if isinstance(frame, pd.DataFrame) else frame[start:stop]


def no_rows(source: Source) -> DataError:
    """The error of a source that has no rows."""
    return DataError(f"{capital(source.what)} has no rows.", hint="Give one that has some.")


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def quoted_names(names: Sequence[str], most: int = 8) -> str:
    """Names in quotes, of many only the first."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def no_column(name: str, names: Sequence[str], what: str) -> DataError:
    """The error that something has no such column, which names the nearest one."""
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]!r}?" if near else f"Columns: {quoted_names(names)}."
    return DataError(f"No column {name!r} in {what}.", hint=hint, columns=(name,))


def one_line(error: Exception) -> str:
    """What an error says, on one line and without a stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def refuse_twice(names: Sequence[str], where: str) -> None:
    """Raise a DataError where two columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(
            f"Duplicate column name{'s' if len(twice) > 1 else ''} {quoted_names(twice)} in {where}.",
            hint="Rename the columns so that each name stands for one.",
            columns=twice,
        )
