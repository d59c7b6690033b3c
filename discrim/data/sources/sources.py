"""Sources of rows that are not tables in memory: `source_of` selects the reader for `data=`.

Python functions and iterators return frames one after another; each frame must have the columns of the first,
and each column has one kind throughout. Streams of Arrow, LazyFrames of polars and relations of DuckDB are
read by their own libraries, only in the required columns. No library is imported before an object of it is
passed.

Files are read by `files.py` and `parquet.py`, Dask frames by `data/distributed.py`.
"""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.data.sources import parts
from discrim.data.sources.files import CSVSource, Files, files_of, is_path
from discrim.data.sources.parts import OnceSource, Part, Source, TableSource
from discrim.data.table import Table, given_frame
from discrim.data.values import Kind, has_values, narwhals_kind, pandas_kind
from discrim.errors import DataError


def _frame_of_table(data: Any, what: str) -> Any:
    """Convert an item of a function or iterator to a frame of pandas, or of narwhals for other libraries."""
    try:
        return given_frame(data)
    except DataError as error:
        raise DataError(
            f"{parts.capital(what)} is not a table, which each has to be: {error.message}",
            hint=f"{error.hint} Give a file by its path, as in data='table.csv'.",
        ) from None


def native(frame: Any) -> Any:
    """Return a frame of narwhals as a frame of its own library."""
    return frame if isinstance(frame, pd.DataFrame) else frame.to_native()


class _ColumnKind(NamedTuple):
    """Kind and type of a column, and the first frame in which the column has a value."""

    kind: Kind
    dtype: Any
    type_name: str
    frame: str


class ColumnKinds:
    """Names and kinds of the columns of the frames of a source.

    The first frame sets the names, and the first frame in which a column has a value sets its kind. A column
    without values is compatible with every kind.

    Parameters
    ----------
    frame : DataFrame of pandas or narwhals
        The first frame that has rows.
    what : str
        Name of the frame in messages, such as "frame 1 of the iterator".
    """

    def __init__(self, frame: Any, what: str) -> None:
        self.what = what
        self.names = _names(frame)
        parts.refuse_twice(self.names, what)
        self._known: dict[str, _ColumnKind] = {}

    def fitted(self, frame: Any, what: str, columns: Sequence[str]) -> Any:
        """Return a frame of its own library whose columns have their determined kinds.

        Parameters
        ----------
        frame : DataFrame of pandas or narwhals
        what : str
            Name of the frame in messages.
        columns : sequence of str
            The columns to be checked.

        Returns
        -------
        DataFrame
            Columns without values are converted to the determined kind.

        Raises
        ------
        DataError
            A column is missing, new or of another kind.
        """
        names = _names(frame)
        parts.refuse_twice(names, what)
        self._compare_names(names, what)
        labels = dict(zip(names, frame.columns, strict=True))
        dtypes = _dtypes(frame)
        for name in columns:
            known = self._known.get(name)
            dtype = dtypes[name]
            # The dtype object does not determine the kind of the values.
            if known is not None and dtype == known.dtype and dtype != np.dtype(object):
                continue
            column = frame[labels[name]]
            kind, type_name = _described(column)
            if known is None:
                if has_values(column):
                    self._known[name] = _ColumnKind(kind, dtype, type_name, what)
            elif kind != known.kind:
                if has_values(column):
                    raise DataError(
                        f"Column {name!r} is {known.type_name} in {known.frame} and {type_name} in {what}.",
                        hint=(
                            "Give it one type in all of them (a reader of text takes types as dtype=), "
                            "or leave it out of the formula."
                        ),
                        columns=(name,),
                    )
                frame = _with_kind(frame, labels[name], known.kind)
        return native(frame)

    def _compare_names(self, names: tuple[str, ...], what: str) -> None:
        """Raise a DataError if a frame, described by `what`, has other columns than the first frame."""
        if names == self.names:
            return
        for these, those, here, there in (
            (self.names, names, what, self.what),
            (names, self.names, self.what, what),
        ):
            known = set(those)
            lacking = [name for name in these if name not in known]
            if lacking:
                many = "s" if len(lacking) > 1 else ""
                raise DataError(
                    f"{parts.capital(here)} lacks the column{many} {parts.quoted_names(lacking)} of {there}.",
                    hint="Give the same columns in all of them.",
                )


def _names(frame: Any) -> tuple[str, ...]:
    """Return the column names of a frame as text."""
    return tuple(str(label) for label in frame.columns)


def _dtypes(frame: Any) -> dict[str, Any]:
    """Return the dtype of each column of a frame."""
    held = frame.dtypes if isinstance(frame, pd.DataFrame) else frame.schema.values()
    return dict(zip(_names(frame), held, strict=True))


def _described(series: Any) -> tuple[Kind, str]:
    """Return the kind of a column, and its type as its library names it."""
    if isinstance(series, pd.Series):
        return pandas_kind(series), str(series.dtype)
    native = series.to_native()
    return narwhals_kind(series.dtype), str(getattr(native, "dtype", getattr(native, "type", series.dtype)))


def _with_kind(frame: Any, label: Any, kind: Kind) -> Any:
    """Convert a column whose values are all missing to a kind.

    Parameters
    ----------
    frame : DataFrame of pandas or narwhals
    label : hashable
        Label of the column.
    kind : Kind

    Returns
    -------
    DataFrame of pandas or narwhals
    """
    if isinstance(frame, pd.DataFrame):
        dtypes = {"numeric": "float64", "boolean": "boolean", "categorical": "category"}
        empty = pd.Series([None] * len(frame), frame.index, dtype=dtypes.get(kind, "object"))
        frame = frame.copy(deep=False)
        frame[label] = empty
        return frame
    import narwhals as nw

    types: dict[Kind, Any] = {"numeric": nw.Float64, "boolean": nw.Boolean, "categorical": nw.Categorical}
    return frame.with_columns(nw.col(label).cast(types.get(kind, nw.String)))


_REFUSED = (str, bytes, Mapping, pd.DataFrame)
"""Iterable types that are not iterables of frames."""


class IteratorSource(OnceSource):
    """Frames of an iterator, which can be read once.

    The constructor reads up to the first frame that has rows, which sets the names and kinds of the columns
    unless these are passed; the pass over the source starts with these frames.

    Parameters
    ----------
    frames : iterator of tables
    what : str
        Description of the iterator in messages.
    kinds : ColumnKinds, optional
        Names and kinds of the columns from an earlier pass.
    """

    def __init__(self, frames: Iterator[Any], what: str, kinds: ColumnKinds | None = None) -> None:
        self._frames = frames
        self._first: deque[Any] = deque()
        try:
            self._look(what)
        except Exception as error:
            if not isinstance(error, DataError):
                error.add_note(f"{parts.capital(what)} raised this before its first frame.")
            raise
        number = len(self._first)
        self.kinds = kinds or ColumnKinds(self._first[-1], f"frame {number} of {what}")
        super().__init__(what, self.kinds.names)

    def _look(self, what: str) -> None:
        """Read frames up to the first that has rows; raise a DataError if there is no frame."""
        for given in self._frames:
            self._first.append(_frame_of_table(given, f"frame {len(self._first) + 1} of {what}"))
            if len(self._first[-1]):
                return
        if not self._first:
            raise DataError(
                f"{parts.capital(what)} gives no frame, so that its columns are not known.",
                hint="Give at least one, which may be without rows.",
            )

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        with parts.closed_at_end(self._frames):
            for number, given in enumerate(self._given(), start=1):
                what = f"frame {number:,} of {self.what}"
                frame = _frame_of_table(given, what)
                for rows in parts.slices(frame):
                    # All columns read so far are checked: another pass may have started on the first rows.
                    yield Part(self.kinds.fitted(rows, what, self.read_columns))

    def _given(self) -> Iterator[Any]:
        """Yield all frames, first those that the constructor has read."""
        # The first frames are released, and do not occupy memory while later ones are read.
        while self._first:
            yield self._first.popleft()
        yield from self._frames


class FunctionSource(Source):
    """Frames that a function without arguments returns, from the beginning at each call.

    The function may return an iterator of frames, one frame, or anything that `source_of` accepts. It is
    called once by the constructor, and the first pass uses that result.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._given: Any = None
        self._kinds: ColumnKinds | None = None
        name = getattr(function, "__name__", "<lambda>")
        self._said = "the function given as data=" if name == "<lambda>" else f"the function {name!r}"
        _refuse_arguments(function, self._said)
        self._ready = self._called()
        super().__init__(self._said, self._ready.names)

    @property
    def nrows(self) -> int | None:
        """Number of rows, if the returned source has counted them or a pass has; else None."""
        return self._ready.nrows if self._rows is None else self._rows

    def _called(self) -> Source:
        """Call the function and return its result as a source."""
        try:
            given = self._function()
        except Exception as error:
            error.add_note(f"It was raised by a call of {self._said}.")
            raise
        if hasattr(given, "__next__"):
            if given is self._given:
                raise DataError(
                    f"{parts.capital(self._said)} gives the same iterator at each call, and that has "
                    "been read.",
                    hint="Let it make a new one each time.",
                )
            self._given = given
        elif callable(given):
            raise DataError(
                f"{parts.capital(self._said)} gives a function.",
                hint="Give that one itself as data=, or call it.",
            )
        source = None if isinstance(given, Iterator) else source_of(given)
        if source is None:
            # A frame is iterable too, hence the test for its columns.
            frame = any(hasattr(given, name) for name in ("columns", "column_names", "num_columns"))
            many = isinstance(given, Iterable) and not isinstance(given, _REFUSED) and not frame
            source = IteratorSource(iter(given if many else [given]), self._said, self._kinds)
            self._kinds = source.kinds
        return source

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        # A pass over other columns may start while another is running.
        if isinstance(self._ready, OnceSource) and (self._ready.spent or self._ready.is_read):
            self._ready = self._called()
        return self._ready.begun(columns)


def _refuse_arguments(function: Callable[..., Any], said: str) -> None:
    """Raise a DataError if a function cannot be called without arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind()
    except TypeError as error:
        raise DataError(
            f"{parts.capital(said)} is called without arguments, and that cannot be: {error}.",
            hint="Give one that needs none, as in data=lambda: frames(path).",
        ) from None


class StreamSource(OnceSource):
    """A stream of Arrow batches, which can be read once."""

    def __init__(self, stream: Any) -> None:
        pa = _pyarrow(stream)
        self._reader: Any = stream
        if not isinstance(stream, pa.RecordBatchReader):
            try:
                self._reader = pa.RecordBatchReader.from_stream(stream)
            except (pa.ArrowInvalid, TypeError) as error:
                raise DataError(
                    f"data is a {type(stream).__name__}, whose Arrow is no table ({parts.one_line(error)}).",
                    hint="Give a table, or a stream of batches.",
                ) from error
        super().__init__(f"the {type(stream).__name__}", self._reader.schema.names)

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        # The stream contains all columns anyway, and a later pass over its first rows may need others.
        return _tables(self._reader, self.names)


class LazyFrameSource(Source):
    """LazyFrame of polars, of which each pass computes only the required columns."""

    def __init__(self, frame: Any, what: str = "the LazyFrame") -> None:
        if not hasattr(frame, "collect_batches"):
            raise DataError(
                "This version of polars cannot give the rows of a LazyFrame in batches.",
                hint=(
                    "Update it (pip install -U polars), or write the rows by sink_parquet(...) and give the "
                    "path of that file."
                ),
            )
        self._frame = frame
        super().__init__(what, frame.collect_schema().names())

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        chosen = self._frame.select(list(columns))
        empty = True
        for batch in chosen.collect_batches(
            chunk_size=parts.batch_rows(len(columns)), maintain_order=True, lazy=True, engine="streaming"
        ):
            empty = False
            yield Part(batch)
        if empty:
            yield Part(chosen.head(0).collect())


class RelationSource(Source):
    """Relation of DuckDB, whose query runs at each pass."""

    def __init__(self, relation: Any) -> None:
        _pyarrow(relation)
        self._relation = relation
        super().__init__("the DuckDB relation", relation.columns)

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        import duckdb

        chosen = self._relation.select(*[duckdb.ColumnExpression(name) for name in columns])
        read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        return _tables(read(parts.batch_rows(len(columns))), columns)


def _tables(reader: Any, columns: tuple[str, ...]) -> Iterator[Part]:
    """Yield the batches of an Arrow reader, beginning with an empty one, and close it at the end.

    Until the reader is closed, it may occupy the connection of its database.
    """
    import pyarrow as pa

    step = parts.batch_rows(len(columns))
    with parts.closed_at_end(reader):
        yield Part(reader.schema.empty_table().select(list(columns)))
        for batch in reader:
            table = pa.Table.from_batches([batch]).select(list(columns))
            for start in range(0, len(table), step):
                yield Part(table.slice(start, step))


def _pyarrow(data: Any) -> Any:
    """Import pyarrow; raise a DataError if it is not installed."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            f"The rows of a {type(data).__name__} are read by pyarrow, which is not there.",
            hint="Install it with pip install pyarrow.",
        ) from None
    return pa


def source_of(data: Any) -> Source | None:
    """Return the source that reads `data`, or None for a table in memory and for other objects.

    Sources are an Arrow dataset; a RecordBatchReader or another stream of Arrow; a LazyFrame of polars; a
    relation of DuckDB; a DataFrame of Dask; a path to CSV or Parquet files, to a folder, a pattern such as
    "data/2024-*.parquet", or a list of paths; a function that returns an iterator of frames; or such an
    iterator.

    Examples
    --------
    >>> import pandas as pd
    >>> days = [pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [3.0]})]
    >>> source = source_of(lambda: iter(days))
    >>> source.names, source.once, [len(part.data) for part in source.parts()]
    (('x',), False, [2, 1])
    """
    if isinstance(data, pd.DataFrame | dict | type):
        return None
    if isinstance(data, Source):
        return data
    if is_path(data):
        files = files_of(data)
        if files.format == "CSV":
            return CSVSource(files)
        try:
            from discrim.data.sources.parquet import ParquetSource
        except ImportError:
            return _by_polars(files)
        return ParquetSource(files)
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        from discrim.data.distributed import DaskSource

        return DaskSource(data)
    if _is(data, "pyarrow.dataset", "Dataset"):
        from discrim.data.sources.parquet import DatasetSource

        return DatasetSource(data)
    if _is(data, "polars", "LazyFrame"):
        return LazyFrameSource(data)
    if _is(data, "duckdb", "DuckDBPyRelation"):
        return RelationSource(data)
    if _is(data, "narwhals", "LazyFrame"):
        return source_of(data.to_native())
    if isinstance(data, Iterator) or _is(data, "pyarrow", "RecordBatchReader"):
        is_stream = hasattr(data, "__arrow_c_stream__")
        return StreamSource(data) if is_stream else IteratorSource(data, "the iterator")
    if hasattr(data, "__arrow_c_stream__"):
        # A Series offers the Arrow interface too, but is not a stream of tables.
        if any(_is(data, library, "Series") for library in ("pandas", "polars")):
            return None
        try:
            given_frame(data)
        except DataError:
            return StreamSource(data)
        return None
    return FunctionSource(data) if callable(data) else None


def rows_given(data: Any) -> Source:
    """Return the source of any data; a table in memory is a source of one chunk."""
    return (None if isinstance(data, Table) else source_of(data)) or TableSource(data)


def _by_polars(files: Files) -> Source:
    """Return a source that reads Parquet files with polars, for installations without pyarrow."""
    try:
        import polars as pl
    except ImportError:
        raise DataError(
            f"{parts.capital(files.what)} needs pyarrow or polars to be read.",
            hint="Install it with pip install pyarrow.",
        ) from None
    if any(file.keys for file in files.files):
        raise DataError(
            f"The folders of {files.files[0].path!r} are named for values of their rows, which only "
            "pyarrow adds here.",
            hint="Install it with pip install pyarrow.",
        )
    return LazyFrameSource(pl.scan_parquet([file.path for file in files.files]), files.what)


def _is(data: Any, module: str, name: str) -> bool:
    """Return whether an object is an instance of a class of a module, without importing the module."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(data, kind)
