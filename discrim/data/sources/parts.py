"""Base classes of the sources of rows: `Source` has named columns, and yields its rows in chunks (`Part`).

Tables that do not fit in memory are read from a source, as often as an algorithm needs. The chunks of any
source are tables of up to `ROWS` rows with the same columns, each of one kind. The subclasses are in the
other files of this package and in `data/distributed.py`; `design/` reads them.
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
"""Largest number of rows of a chunk."""

FEWEST_ROWS = 2**10
NUMBERS = 2**21
"""Smallest number of rows of a chunk, and the number of values above which the rows become fewer."""


class Part(NamedTuple):
    """A chunk of rows of a source.

    Attributes
    ----------
    data : table
    where : str or None
        The file that contains the rows.
    coded : tuple of str
        Columns of text that are stored as dictionary codes.
    """

    data: Any
    where: str | None = None
    coded: tuple[str, ...] = ()


class Source(ABC):
    """Rows that are read in chunks, with named columns.

    Parameters
    ----------
    what : str
        Description in messages, such as "the LazyFrame".
    names : sequence of str
        Columns, in order.
    once : bool
        Whether the rows can be read only once.

    Attributes
    ----------
    files : Files or None
        The files that are read.
    """

    def __init__(self, what: str, names: Sequence[str], *, once: bool = False) -> None:
        self.what, self.names, self.once = what, tuple(names), once
        refuse_twice(self.names, what)
        self._rows: int | None = None
        self.files: Any = None

    @property
    def nrows(self) -> int | None:
        """Number of rows, or None if it is unknown before a pass."""
        return self._rows

    def reads(self, path: str) -> bool:
        """Return whether a path is one of the files that are read, or would be if it existed."""
        return self.files is not None and bool(self.files.include(path))

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Part]:
        """Yield all rows in chunks from the beginning, with only the named columns if possible."""
        return self._counted(self.begun(self.names if columns is None else self._checked_columns(columns)))

    def begun(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """Start a pass over existing columns, without counting its rows."""
        return self._read(columns)

    @abstractmethod
    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """Yield the chunks of a pass over existing columns."""

    def _checked_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return columns without duplicates; raise a DataError if one does not exist."""
        known = set(self.names)
        for name in columns:
            if name not in known:
                raise no_column(name, self.names, self.what)
        # Most readers cannot count the rows of a selection without columns.
        return tuple(dict.fromkeys(columns)) or self.names[:1]

    def _counted(self, parts: Iterator[Part]) -> Iterator[Part]:
        """Yield chunks; raise a DataError if the number of rows changes between passes.

        A note on the position is added to any error.
        """
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
        """Raise a DataError if weights are an array and not the name of a column."""
        if weights is not None and not isinstance(weights, str):
            raise DataError(
                "weights= is an array, and the rows come from a source.",
                hint="Name the column of the source that holds them.",
            )

    def labels_of(self, parts: Sequence[pd.Index]) -> pd.Index:
        """Combine the labels of the rows of all chunks: consecutive integers."""
        return pd.RangeIndex(sum(map(len, parts)))


class TableSource(Source):
    """A table in memory as a source of one chunk: the table itself, or `Blocks` that were read before."""

    def __init__(self, data: Any) -> None:
        super().__init__("the table", ())
        self.data = data

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[Part]:
        """Yield the table with all its columns."""
        return self._read(())

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        yield Part(self.data)

    def refuse_vector(self, weights: Any) -> None:
        """Do nothing: the table validates its weights."""

    def labels_of(self, parts: Sequence[pd.Index]) -> pd.Index:
        """Return the labels of the only chunk."""
        return parts[0]


class PartWork(NamedTuple, Generic[T]):
    """A function of the chunks of a source, and how its results are merged.

    Attributes
    ----------
    columns : sequence of str
        Columns to read.
    work : callable
        Function of a chunk and its row metadata that returns a result, or None if the chunk is empty.
    merge : callable
        Function of the results of two consecutive runs of chunks.
    given : sequence or None
        Row metadata of each chunk.
    """

    columns: Sequence[str]
    work: Callable[[Any, Any], T | None]
    merge: Callable[[T, T], T]
    given: Sequence[Any] | None = None


class DistributedSource(Source):
    """Rows whose chunks are stored elsewhere, and are processed there."""

    @property
    @abstractmethod
    def lengths(self) -> list[int]:
        """Number of rows of each chunk; counted by a pass if no pass has counted them."""

    @property
    @abstractmethod
    def meta(self) -> pd.DataFrame:
        """Empty frame with the dtypes of the columns."""

    @abstractmethod
    def map_reduce(self, work: PartWork[T]) -> T | None:
        """Apply a function to each chunk on its worker, and merge the results; None if all are empty."""

    @abstractmethod
    def map_reduce_stored(
        self, work: PartWork[T], returned: Callable[[T | None], V], stored: Callable[[T | None], U]
    ) -> tuple[V, StoredValue[U]]:
        """Map-reduce, and split the result into a component that is returned and one that stays on a worker.

        Parameters
        ----------
        work : PartWork
        returned, stored : callable
            Functions of the merged result, which is None if no part has rows.

        Returns
        -------
        object
            The component that is returned.
        StoredValue
            The other one.
        """

    @abstractmethod
    def lazily(self, columns: Sequence[str], answer: Callable[[Any], Any], *, beyond: bool = False) -> Any:
        """Apply a function to each chunk when the result is computed.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        answer : callable
            Function of a chunk that returns a Series or a DataFrame with its index.
        beyond : bool
            Whether labels may be outside the classes.

        Returns
        -------
        lazy Series or DataFrame
        """


class OnceSource(Source):
    """Rows that can be read only once.

    A pass may be abandoned after the first chunk with rows, for example to inspect the columns. These chunks
    are stored, and the next pass starts with them.
    """

    def __init__(self, what: str, names: Sequence[str]) -> None:
        super().__init__(what, names, once=True)
        self.spent = self.is_read = False
        self.read_columns: tuple[str, ...] = ()
        self._ahead: list[Part] = []
        self._left: Iterator[Part] | None = None

    def begun(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """Start the only pass, or raise a DataError if it has been made."""
        self._refuse_second()
        return self._once(columns)

    def _once(self, columns: tuple[str, ...]) -> Iterator[Part]:
        """Yield the stored chunks and then the rest; the source is spent after the first chunk with rows."""
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
        """Close the underlying iterator if the pass has gone past the stored chunks."""
        if self.spent and self._left is not None:
            with closed_at_end(self._left):
                self._left = None

    def _refuse_second(self) -> None:
        """Raise a DataError if the rows have been read."""
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
    """Close an iterator at the end of a block if it has `close`: it may keep a file or a connection open."""
    try:
        yield
    finally:
        close = getattr(iterator, "close", None)
        if callable(close):
            close()


def batch_rows(columns: int) -> int:
    """Return the number of rows of a chunk with this number of columns."""
    return min(ROWS, max(FEWEST_ROWS, NUMBERS // max(columns, 1)))


def slices(frame: Any) -> Iterator[Any]:
    """Yield the rows of a frame in chunks, as frames of the same library."""
    step = batch_rows(len(frame.columns))
    nrows = len(frame)
    if nrows <= 2 * step:
        yield frame
        return
    for start in range(0, nrows, step):
        stop = min(start + step, nrows)
        yield frame.iloc[start:stop] if isinstance(frame, pd.DataFrame) else frame[start:stop]


def no_rows(source: Source) -> DataError:
    """Return the error for a source without rows."""
    return DataError(f"{capital(source.what)} has no rows.", hint="Give one that has some.")


def capital(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def quoted_names(names: Sequence[str], most: int = 8) -> str:
    """Return names in quotes, separated by commas, and only the count of names after the first `most`."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def no_column(name: str, names: Sequence[str], what: str) -> DataError:
    """Return the error for an unknown column, with the most similar name as hint.

    Parameters
    ----------
    name : str
        The unknown column.
    names : sequence of str
        Existing columns.
    what : str
        Description of the table.

    Returns
    -------
    DataError
    """
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]!r}?" if near else f"Columns: {quoted_names(names)}."
    return DataError(f"No column {name!r} in {what}.", hint=hint, columns=(name,))


def one_line(error: Exception) -> str:
    """Return the message of an error on one line, without a full stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def refuse_twice(names: Sequence[str], where: str) -> None:
    """Raise a DataError if two columns have the same name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(
            f"Duplicate column name{'s' if len(twice) > 1 else ''} {quoted_names(twice)} in {where}.",
            hint="Rename the columns so that each name stands for one.",
            columns=twice,
        )
