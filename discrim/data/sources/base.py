"""Base classes of the sources of rows: `Source` has named columns, and yields its rows in chunks (`Chunk`).

Tables that do not fit in memory are read from a source, as often as an algorithm needs. The chunks of any
source are tables of about `rows_per_chunk` rows with the same columns and column types. The subclasses are in
the other files of this package and in `data/distributed.py`; `design/` reads them.
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

MAX_CHUNK_ROWS = 2**16
"""Largest number of rows that `rows_per_chunk` returns."""

MIN_CHUNK_ROWS = 2**10
MAX_CHUNK_VALUES = 2**21
"""Smallest number of rows that `rows_per_chunk` returns, and the number of values (rows times columns) above
which it returns fewer rows."""


class Chunk(NamedTuple):
    """A chunk of rows of a source.

    Attributes
    ----------
    data : table
        Rows as a data frame of any library.
    path : str or None
        The file that contains the rows; None if they are not from a file, or if it is unknown.
    coded_columns : tuple of str
        Columns of text that `data` stores as dictionary codes.
    """

    data: Any
    path: str | None = None
    coded_columns: tuple[str, ...] = ()


class Source(ABC):
    """Rows that are read in chunks, with named columns.

    Parameters
    ----------
    description : str
        Description in messages, such as "the LazyFrame".
    names : sequence of str
        Columns, in order.
    is_single_pass : bool
        Whether the rows can be read only once.

    Attributes
    ----------
    files : Files or None
        The CSV or Parquet files that are read; None for other sources.
    """

    def __init__(self, description: str, names: Sequence[str], *, is_single_pass: bool = False) -> None:
        self.description, self.names, self.is_single_pass = description, tuple(names), is_single_pass
        check_unique_names(self.names, description)
        self._rows: int | None = None
        self.files: Any = None

    @property
    def nrows(self) -> int | None:
        """Number of rows, or None if it is unknown before a pass."""
        return self._rows

    def reads(self, path: str) -> bool:
        """Return whether a path is one of the files that are read, or would be if it existed."""
        return self.files is not None and bool(self.files.include(path))

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield all rows in chunks from the beginning, with at least the named columns, by default all.

        A pass to the end stores the number of rows. Raises a DataError if a column does not exist, or if an
        earlier pass had another number of rows.
        """
        return self._count_rows(
            self.start_pass(self.names if columns is None else self._checked_columns(columns))
        )

    def start_pass(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        """Start a pass over columns that exist, without checking the names or counting the rows."""
        return self._read(columns)

    @abstractmethod
    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        """Yield the chunks of a pass over existing columns."""

    def _checked_columns(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return columns without duplicates, or the first column of the source if `columns` is empty.

        Raises a DataError if a column does not exist.
        """
        existing_names = set(self.names)
        for name in columns:
            if name not in existing_names:
                raise unknown_column_error(name, self.names, self.description)
        # Most readers cannot count the rows of a selection without columns.
        return tuple(dict.fromkeys(columns)) or self.names[:1]

    def _count_rows(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield chunks and store the number of their rows; raise a DataError if an earlier pass had another.

        The number is compared and stored at the end of the pass. A note on the position is added to errors of
        other libraries.
        """
        rows = 0
        path = None
        with close_at_end(chunks):
            while True:
                try:
                    chunk = next(chunks)
                except StopIteration:
                    break
                except DiscrimError:
                    raise
                except Exception as error:
                    file_text = "" if path is None else f" of {path!r}"
                    error.add_note(
                        f"{capitalize_first(self.description)} raised this after {rows:,} rows{file_text}."
                    )
                    raise
                path = chunk.path
                rows += len(chunk.data)
                yield chunk
        if self._rows is not None and rows != self._rows:
            raise DataError(
                f"{capitalize_first(self.description)} has {rows:,} rows now and had {self._rows:,} before, "
                "but a fit that reads rows several times needs the same rows each time.",
                hint="If it is a function, it must start from the beginning at each call.",
            )
        self._rows = rows

    def check_weights_are_column(self, weights: Any) -> None:
        """Raise a DataError if weights are an array and not the name of a column."""
        if weights is not None and not isinstance(weights, str):
            raise DataError(
                "weights= is an array, and the rows come from a source.",
                hint="Name the column of the source that contains the weights.",
            )

    def labels_of(self, chunk_labels: Sequence[pd.Index]) -> pd.Index:
        """Return the labels of all rows, given the labels of each chunk; here integers from 0."""
        return pd.RangeIndex(sum(map(len, chunk_labels)))


class TableSource(Source):
    """A table in memory as a source of one chunk: the table itself, or `DesignRows` that were read before.

    Its `names` are empty.

    Parameters
    ----------
    data : table or DesignRows
    """

    def __init__(self, data: Any) -> None:
        super().__init__("the table", ())
        self.data = data

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[Chunk]:
        """Yield the table as one chunk with all its columns; `columns` is ignored."""
        return self._read(())

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        yield Chunk(self.data)

    def check_weights_are_column(self, weights: Any) -> None:
        """Do nothing: the table validates its weights."""

    def labels_of(self, chunk_labels: Sequence[pd.Index]) -> pd.Index:
        """Return the labels of the only chunk."""
        return chunk_labels[0]


class ChunkWork(NamedTuple, Generic[T]):
    """A function of the chunks of a source, and how its results are merged.

    Attributes
    ----------
    columns : sequence of str
        Columns to read.
    function : callable
        Function of a chunk and its row metadata that returns a result, or None if the chunk is empty.
    merge : callable
        Function of the results of two consecutive runs of chunks that returns the result of both.
    row_metadata : sequence or None
        Metadata of the rows of each chunk: a named tuple of arrays (or None), of one element per row.
    """

    columns: Sequence[str]
    function: Callable[[Any, Any], T | None]
    merge: Callable[[T, T], T]
    row_metadata: Sequence[Any] | None = None


class DistributedSource(Source):
    """Rows whose chunks are stored elsewhere, and are processed there."""

    @property
    @abstractmethod
    def chunk_row_counts(self) -> list[int]:
        """Number of rows of each chunk; counted by a pass if no pass has counted them."""

    @property
    @abstractmethod
    def meta(self) -> pd.DataFrame:
        """Empty frame with the dtypes of the columns."""

    @abstractmethod
    def map_reduce(self, work: ChunkWork[T]) -> T | None:
        """Apply a function to each chunk on its worker, and merge the results; None if all are empty."""

    @abstractmethod
    def map_reduce_stored(
        self,
        work: ChunkWork[T],
        return_function: Callable[[T | None], V],
        store_function: Callable[[T | None], U],
    ) -> tuple[V, StoredValue[U]]:
        """Apply a function to each chunk, merge the results, and compute two values from the merged result.

        Parameters
        ----------
        work : ChunkWork
            The function, the merging of two results, and the columns to read.
        return_function : callable
            Function of the merged result, or of None if all chunks are empty, whose value is transferred.
        store_function : callable
            Function of the merged result, or of None, whose value stays on a worker.

        Returns
        -------
        object
            Value of `return_function`.
        StoredValue
            Value of `store_function`.
        """

    @abstractmethod
    def apply_lazily(
        self, columns: Sequence[str], function: Callable[[Any], Any], *, allows_unknown_labels: bool = False
    ) -> Any:
        """Apply a function to each chunk lazily: it is called when the returned object is computed.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        function : callable
            Function of a chunk that returns a Series or a DataFrame with its index.
        allows_unknown_labels : bool
            Whether the function may return missing labels, in which case its result has the dtype object.

        Returns
        -------
        lazy Series or DataFrame
        """


class SinglePassSource(Source):
    """Rows that can be read only once.

    A pass may be abandoned after the first chunk with rows, for example to inspect the columns. These chunks
    are stored, and the next pass starts with them.

    Parameters
    ----------
    description : str
        Description in messages.
    names : sequence of str
        Columns, in order.

    Attributes
    ----------
    is_exhausted : bool
        Whether a pass has gone past the first chunk with rows; no other pass is possible then.
    is_being_read : bool
        Whether a pass is under way.
    read_columns : tuple of str
        Columns of the latest pass.
    """

    def __init__(self, description: str, names: Sequence[str]) -> None:
        super().__init__(description, names, is_single_pass=True)
        self.is_exhausted = self.is_being_read = False
        self.read_columns: tuple[str, ...] = ()
        self._stored_chunks: list[Chunk] = []
        self._remaining_chunks: Iterator[Chunk] | None = None

    def start_pass(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        """Start a pass, or raise a DataError if an earlier one has gone past the first chunk with rows."""
        self._raise_if_exhausted()
        return self._iter_once(columns)

    def _iter_once(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        """Yield the stored chunks, and then the remaining ones, upon which the source is exhausted."""
        self.read_columns = columns
        self.is_being_read = True
        try:
            yield from list(self._stored_chunks)
            self._raise_if_exhausted()
            remaining = self._remaining_chunks = self._remaining_chunks or self._read(columns)
            with close_at_end(self):
                if not any(len(chunk.data) for chunk in self._stored_chunks):
                    for chunk in remaining:
                        self._stored_chunks.append(chunk)
                        yield chunk
                        if len(chunk.data):
                            break
                self._raise_if_exhausted()
                self.is_exhausted = True
                self._stored_chunks.clear()
                yield from remaining
        finally:
            self.is_being_read = False

    def close(self) -> None:
        """Close the underlying iterator if the pass has gone past the stored chunks."""
        if self.is_exhausted and self._remaining_chunks is not None:
            with close_at_end(self._remaining_chunks):
                self._remaining_chunks = None

    def _raise_if_exhausted(self) -> None:
        """Raise a DataError if the rows have been read already."""
        if self.is_exhausted:
            raise DataError(
                f"{capitalize_first(self.description)} can be read only once, and has been read.",
                hint=(
                    "Pass a function that creates it, such as data=lambda: frames(), so that the rows can be "
                    "read again; or pass levels= if the first pass only determined the classes."
                ),
            )


@contextmanager
def close_at_end(iterator: Any) -> Iterator[None]:
    """Call the method `close` of an iterator, if it has one, at the end of a block.

    An open iterator may keep a file or a connection open.
    """
    try:
        yield
    finally:
        close = getattr(iterator, "close", None)
        if callable(close):
            close()


def rows_per_chunk(columns: int) -> int:
    """Return the number of rows of a chunk with this number of columns.

    They are `MAX_CHUNK_VALUES` values, but between `MIN_CHUNK_ROWS` and `MAX_CHUNK_ROWS` rows.
    """
    return min(MAX_CHUNK_ROWS, max(MIN_CHUNK_ROWS, MAX_CHUNK_VALUES // max(columns, 1)))


def iter_slices(frame: Any) -> Iterator[Any]:
    """Yield the rows of a frame in chunks, as frames of the same library.

    A frame of up to two times `rows_per_chunk` rows is yielded undivided.
    """
    step = rows_per_chunk(len(frame.columns))
    nrows = len(frame)
    if nrows <= 2 * step:
        yield frame
        return
    for start in range(0, nrows, step):
        stop = min(start + step, nrows)
        yield frame.iloc[start:stop] if isinstance(frame, pd.DataFrame) else frame[start:stop]


def no_rows_error(source: Source) -> DataError:
    """Return the error for a source without rows."""
    return DataError(f"{capitalize_first(source.description)} has no rows.", hint="Pass a source with rows.")


def capitalize_first(text: str) -> str:
    """Return a text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def quoted_names(names: Sequence[str], max_names: int = 8) -> str:
    """Return names in quotes, separated by commas; those after the first `max_names` become "and 3 more"."""
    quoted = ", ".join(repr(name) for name in names[:max_names])
    return quoted if len(names) <= max_names else f"{quoted} and {len(names) - max_names} more"


def unknown_column_error(name: str, names: Sequence[str], description: str) -> DataError:
    """Return the error for an unknown column, with the most similar name as hint.

    Parameters
    ----------
    name : str
        The unknown column.
    names : sequence of str
        Existing columns.
    description : str
        Description of the table.

    Returns
    -------
    DataError
    """
    close_matches = get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"Did you mean {close_matches[0]!r}?" if close_matches else f"Columns: {quoted_names(names)}."
    return DataError(f"No column {name!r} in {description}.", hint=hint, columns=(name,))


def one_line_message(error: Exception) -> str:
    """Return the message of an error on one line, without a full stop; the class name if it is empty."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


def check_unique_names(names: Sequence[str], description: str) -> None:
    """Raise a DataError if two columns have the same name; `description` describes the table."""
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(
            f"Duplicate column name{'s' if len(duplicates) > 1 else ''} {quoted_names(duplicates)} in "
            f"{description}.",
            hint="Rename the columns so that each name stands for one.",
            columns=duplicates,
        )
