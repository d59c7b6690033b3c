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

from discrim.data.sources import base
from discrim.data.sources.base import Chunk, SinglePassSource, Source, TableSource
from discrim.data.sources.files import CSVSource, Files, files_of, is_path
from discrim.data.table import Table, as_frame
from discrim.data.values import ColumnType, has_values, narwhals_column_type, pandas_column_type
from discrim.errors import DataError


def _as_described_frame(data: Any, description: str) -> Any:
    """Return `as_frame(data)`; add the description to the DataError for an object that is not a table."""
    try:
        return as_frame(data)
    except DataError as error:
        raise DataError(
            f"{base.capitalize_first(description)} is not a table: {error.message}",
            hint=f"{error.hint} Pass a file by its path, for example data='table.csv'.",
        ) from None


def to_native(frame: Any) -> Any:
    """Return a frame of narwhals as a frame of its own library, and a frame of pandas as it is."""
    return frame if isinstance(frame, pd.DataFrame) else frame.to_native()


class _DeterminedType(NamedTuple):
    """Type of a column, from the first frame in which the column has a value.

    Attributes
    ----------
    column_type : ColumnType
    dtype : dtype of pandas or narwhals
    type_name : str
        Name of the type in the library of the frame.
    frame : str
        Description of the frame, for messages.
    """

    column_type: ColumnType
    dtype: Any
    type_name: str
    frame: str


class ColumnTypes:
    """Names and types of the columns of the frames of a source.

    The first frame determines the names, and the first frame in which a column has a value determines its
    type. A column without values is compatible with every type.

    Parameters
    ----------
    frame : DataFrame of pandas or narwhals
        The first frame that has rows.
    description : str
        Name of the frame in messages, such as "frame 1 of the iterator".

    Attributes
    ----------
    names : tuple of str
        Names of the columns of the first frame, as text.
    """

    def __init__(self, frame: Any, description: str) -> None:
        self.description = description
        self.names = _column_names(frame)
        base.check_unique_names(self.names, description)
        self._determined: dict[str, _DeterminedType] = {}

    def conform(self, frame: Any, description: str, columns: Sequence[str]) -> Any:
        """Check the column types of a frame, and convert its columns without values to the determined types.

        The type of a column that has its first value in this frame is stored. The frame is not modified.

        Parameters
        ----------
        frame : DataFrame of pandas or narwhals
        description : str
            Name of the frame in messages.
        columns : sequence of str
            The columns whose types are checked.

        Returns
        -------
        DataFrame of pandas or another library, with all columns

        Raises
        ------
        DataError
            A column of the first frame is missing, a column is new, two have the same name, or one of
            `columns` has another type. The order of the columns does not matter.
        """
        names = _column_names(frame)
        base.check_unique_names(names, description)
        self._compare_names(names, description)
        labels = dict(zip(names, frame.columns, strict=True))
        dtypes = _dtype_by_name(frame)
        for name in columns:
            determined = self._determined.get(name)
            dtype = dtypes[name]
            # The dtype object does not determine the type of the values.
            if determined is not None and dtype == determined.dtype and dtype != np.dtype(object):
                continue
            column = frame[labels[name]]
            column_type, type_name = _column_and_library_type(column)
            if determined is None:
                if has_values(column):
                    self._determined[name] = _DeterminedType(column_type, dtype, type_name, description)
            elif column_type != determined.column_type:
                if has_values(column):
                    raise DataError(
                        f"Column {name!r} is {determined.type_name} in {determined.frame} and {type_name} "
                        f"in {description}.",
                        hint=(
                            "Convert it to one type in all frames (for example with dtype= of a CSV reader), "
                            "or exclude it from the formula."
                        ),
                        columns=(name,),
                    )
                frame = _convert_empty_column(frame, labels[name], determined.column_type)
        return to_native(frame)

    def _compare_names(self, names: tuple[str, ...], description: str) -> None:
        """Raise a DataError if a frame has other columns than the first frame, in any order."""
        if names == self.names:
            return
        for required_names, present_names, incomplete_frame, complete_frame in (
            (self.names, names, description, self.description),
            (names, self.names, self.description, description),
        ):
            present = set(present_names)
            lacking = [name for name in required_names if name not in present]
            if lacking:
                plural = "s" if len(lacking) > 1 else ""
                raise DataError(
                    f"{base.capitalize_first(incomplete_frame)} lacks the column{plural} "
                    f"{base.quoted_names(lacking)} of {complete_frame}.",
                    hint="Pass frames with the same columns.",
                )


def _column_names(frame: Any) -> tuple[str, ...]:
    """Return the column names of a frame as text."""
    return tuple(str(label) for label in frame.columns)


def _dtype_by_name(frame: Any) -> dict[str, Any]:
    """Return the dtype of each column of a frame, by its name as text."""
    dtypes = frame.dtypes if isinstance(frame, pd.DataFrame) else frame.schema.values()
    return dict(zip(_column_names(frame), dtypes, strict=True))


def _column_and_library_type(series: Any) -> tuple[ColumnType, str]:
    """Return the column type of a series, and the name of its dtype in its library."""
    if isinstance(series, pd.Series):
        return pandas_column_type(series), str(series.dtype)
    native = series.to_native()
    return narwhals_column_type(series.dtype), str(
        getattr(native, "dtype", getattr(native, "type", series.dtype))
    )


def _convert_empty_column(frame: Any, label: Any, column_type: ColumnType) -> Any:
    """Return a frame with a column, whose values are all missing, converted to a dtype of a column type.

    Parameters
    ----------
    frame : DataFrame of pandas or narwhals
    label : hashable
        Label of the column.
    column_type : ColumnType

    Returns
    -------
    DataFrame of pandas or narwhals
    """
    if isinstance(frame, pd.DataFrame):
        dtypes = {"numeric": "float64", "boolean": "boolean", "categorical": "category"}
        empty = pd.Series([None] * len(frame), frame.index, dtype=dtypes.get(column_type, "object"))
        frame = frame.copy(deep=False)
        frame[label] = empty
        return frame
    import narwhals as nw

    types: dict[ColumnType, Any] = {
        "numeric": nw.Float64,
        "boolean": nw.Boolean,
        "categorical": nw.Categorical,
    }
    return frame.with_columns(nw.col(label).cast(types.get(column_type, nw.String)))


_NOT_FRAME_ITERABLES = (str, bytes, Mapping, pd.DataFrame)
"""Iterable types that are not iterables of frames."""


class IteratorSource(SinglePassSource):
    """Frames of an iterator, which can be read once.

    The constructor reads up to the first frame that has rows, which determines the names and types of the
    columns unless these are passed; the pass over the source starts with these frames.

    Parameters
    ----------
    frames : iterator of tables
    description : str
        Description of the iterator in messages.
    column_types : ColumnTypes, optional
        Names and types of the columns from an earlier pass, to which types are added; available as an
        attribute.

    Raises
    ------
    DataError
        The iterator is empty, or returns an object that is not a table.
    """

    def __init__(
        self, frames: Iterator[Any], description: str, column_types: ColumnTypes | None = None
    ) -> None:
        self._frames = frames
        self._first: deque[Any] = deque()
        try:
            self._read_first_frames(description)
        except Exception as error:
            if not isinstance(error, DataError):
                error.add_note(f"{base.capitalize_first(description)} raised this before its first frame.")
            raise
        number = len(self._first)
        self.column_types = column_types or ColumnTypes(self._first[-1], f"frame {number} of {description}")
        super().__init__(description, self.column_types.names)

    def _read_first_frames(self, description: str) -> None:
        """Read frames up to the first that has rows; raise a DataError if the iterator is empty."""
        for table in self._frames:
            self._first.append(_as_described_frame(table, f"frame {len(self._first) + 1} of {description}"))
            if len(self._first[-1]):
                return
        if not self._first:
            raise DataError(
                f"{base.capitalize_first(description)} returned no frame, so its columns are unknown.",
                hint="Return at least one frame, which may be empty.",
            )

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        with base.close_at_end(self._frames):
            for number, table in enumerate(self._iter_tables(), start=1):
                description = f"frame {number:,} of {self.description}"
                frame = _as_described_frame(table, description)
                for rows in base.iter_slices(frame):
                    # All columns read so far are checked: another pass may have started on the first rows.
                    yield Chunk(self.column_types.conform(rows, description, self.read_columns))

    def _iter_tables(self) -> Iterator[Any]:
        """Yield all frames, first those that the constructor has read."""
        # The first frames are released, and do not occupy memory while later ones are read.
        while self._first:
            yield self._first.popleft()
        yield from self._frames


class FunctionSource(Source):
    """Frames that a function without arguments returns, from the beginning at each call.

    The function may return an iterator of frames, one frame, or anything that `source_of` accepts. It is
    called once by the constructor, and the first pass uses that result.

    Parameters
    ----------
    function : callable
        Function without arguments; another one raises a DataError.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._iterator: Any = None
        self._column_types: ColumnTypes | None = None
        name = getattr(function, "__name__", "<lambda>")
        self._description = "the function given as data=" if name == "<lambda>" else f"the function {name!r}"
        _check_callable_without_arguments(function, self._description)
        self._source = self._call_function()
        super().__init__(self._description, self._source.names)

    @property
    def nrows(self) -> int | None:
        """Number of rows, if the returned source has counted them or a pass has; else None."""
        return self._source.nrows if self._rows is None else self._rows

    def _call_function(self) -> Source:
        """Call the function and return its result as a source; raise a DataError for an unsuitable result."""
        try:
            returned = self._function()
        except Exception as error:
            error.add_note(f"It was raised by a call of {self._description}.")
            raise
        if hasattr(returned, "__next__"):
            if returned is self._iterator:
                raise DataError(
                    f"{base.capitalize_first(self._description)} returned the same iterator again, which "
                    "has been read.",
                    hint="Return a new iterator at each call.",
                )
            self._iterator = returned
        elif callable(returned):
            raise DataError(
                f"{base.capitalize_first(self._description)} returned a function.",
                hint="Pass that function as data=, or call it.",
            )
        source = None if isinstance(returned, Iterator) else source_of(returned)
        if source is None:
            # A frame is iterable too, hence the test for its columns.
            is_frame = any(hasattr(returned, name) for name in ("columns", "column_names", "num_columns"))
            is_iterable = (
                isinstance(returned, Iterable)
                and not isinstance(returned, _NOT_FRAME_ITERABLES)
                and not is_frame
            )
            source = IteratorSource(
                iter(returned if is_iterable else [returned]), self._description, self._column_types
            )
            self._column_types = source.column_types
        return source

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        """Start a pass; the function is called again if its iterator has been used."""
        # A pass over other columns may start while another is running.
        if isinstance(self._source, SinglePassSource) and (
            self._source.is_exhausted or self._source.is_being_read
        ):
            self._source = self._call_function()
        return self._source.start_pass(columns)


def _check_callable_without_arguments(function: Callable[..., Any], description: str) -> None:
    """Raise a DataError if a function cannot be called without arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind()
    except TypeError as error:
        raise DataError(
            f"{base.capitalize_first(description)} must be callable without arguments: {error}.",
            hint="Pass a function without arguments, such as data=lambda: frames(path).",
        ) from None


class StreamSource(SinglePassSource):
    """A stream of Arrow batches, which can be read once.

    Parameters
    ----------
    stream : pyarrow.RecordBatchReader, or object with the method ``__arrow_c_stream__``
    """

    def __init__(self, stream: Any) -> None:
        pa = _import_pyarrow(stream)
        self._reader: Any = stream
        if not isinstance(stream, pa.RecordBatchReader):
            try:
                self._reader = pa.RecordBatchReader.from_stream(stream)
            except (pa.ArrowInvalid, TypeError) as error:
                raise DataError(
                    f"data is a {type(stream).__name__}, which Arrow cannot read as a table "
                    f"({base.one_line_message(error)}).",
                    hint="Pass a table, or a stream of batches.",
                ) from error
        super().__init__(f"the {type(stream).__name__}", self._reader.schema.names)

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        # The stream contains all columns anyway, and a later pass over its first rows may need others.
        return _iter_batches(self._reader, self.names)


class LazyFrameSource(Source):
    """LazyFrame of polars; each pass computes only the required columns.

    Parameters
    ----------
    frame : polars.LazyFrame
        If polars is too old to return batches, a DataError is raised.
    description : str
        Description in messages.
    """

    def __init__(self, frame: Any, description: str = "the LazyFrame") -> None:
        if not hasattr(frame, "collect_batches"):
            raise DataError(
                "This version of polars cannot return the rows of a LazyFrame in batches.",
                hint=(
                    "Update it (pip install -U polars), or write the rows with sink_parquet(...) and pass "
                    "the path of that file."
                ),
            )
        self._frame = frame
        super().__init__(description, frame.collect_schema().names())

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        chosen = self._frame.select(list(columns))
        empty = True
        for batch in chosen.collect_batches(
            chunk_size=base.rows_per_chunk(len(columns)), maintain_order=True, lazy=True, engine="streaming"
        ):
            empty = False
            yield Chunk(batch)
        if empty:
            yield Chunk(chosen.head(0).collect())


class RelationSource(Source):
    """Relation of DuckDB, whose query runs at each pass, only for the required columns.

    Parameters
    ----------
    relation : duckdb.DuckDBPyRelation
    """

    def __init__(self, relation: Any) -> None:
        _import_pyarrow(relation)
        self._relation = relation
        super().__init__("the DuckDB relation", relation.columns)

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        import duckdb

        chosen = self._relation.select(*[duckdb.ColumnExpression(name) for name in columns])
        read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        return _iter_batches(read(base.rows_per_chunk(len(columns))), columns)


def _iter_batches(reader: Any, columns: tuple[str, ...]) -> Iterator[Chunk]:
    """Yield the batches of an Arrow reader as tables, beginning with an empty one, and close it at the end.

    Batches of more than `rows_per_chunk` rows are divided.

    Until the reader is closed, it may occupy the connection of its database.
    """
    import pyarrow as pa

    step = base.rows_per_chunk(len(columns))
    with base.close_at_end(reader):
        yield Chunk(reader.schema.empty_table().select(list(columns)))
        for batch in reader:
            table = pa.Table.from_batches([batch]).select(list(columns))
            for start in range(0, len(table), step):
                yield Chunk(table.slice(start, step))


def _import_pyarrow(data: Any) -> Any:
    """Import pyarrow; raise a DataError if it is not installed."""
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            f"The rows of a {type(data).__name__} are read by pyarrow, which is not installed.",
            hint="Install it with pip install pyarrow.",
        ) from None
    return pa


def source_of(data: Any) -> Source | None:
    """Return the source that reads `data`, or None for a table in memory and for other objects.

    Sources are an Arrow dataset; a RecordBatchReader or another stream of Arrow; a LazyFrame of polars; a
    relation of DuckDB; a DataFrame of Dask; a path to CSV or Parquet files, to a folder, a pattern such as
    "data/2024-*.parquet", or a list of paths; a function that returns an iterator of frames; or such an
    iterator. A `Source` is returned as it is. Files are searched for at once, which may raise a DataError.

    Examples
    --------
    >>> import pandas as pd
    >>> days = [pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [3.0]})]
    >>> source = source_of(lambda: iter(days))
    >>> source.names, source.is_single_pass, [len(part.data) for part in source.chunks()]
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
            return _polars_source(files)
        return ParquetSource(files)
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        from discrim.data.distributed import DaskSource

        return DaskSource(data)
    if _is_instance(data, "pyarrow.dataset", "Dataset"):
        from discrim.data.sources.parquet import DatasetSource

        return DatasetSource(data)
    if _is_instance(data, "polars", "LazyFrame"):
        return LazyFrameSource(data)
    if _is_instance(data, "duckdb", "DuckDBPyRelation"):
        return RelationSource(data)
    if _is_instance(data, "narwhals", "LazyFrame"):
        return source_of(data.to_native())
    if isinstance(data, Iterator) or _is_instance(data, "pyarrow", "RecordBatchReader"):
        is_stream = hasattr(data, "__arrow_c_stream__")
        return StreamSource(data) if is_stream else IteratorSource(data, "the iterator")
    if hasattr(data, "__arrow_c_stream__"):
        # A Series offers the Arrow interface too, but is not a stream of tables.
        if any(_is_instance(data, library, "Series") for library in ("pandas", "polars")):
            return None
        try:
            as_frame(data)
        except DataError:
            return StreamSource(data)
        return None
    return FunctionSource(data) if callable(data) else None


def source_of_rows(data: Any) -> Source:
    """Return the source of any data; a table in memory is a source of one chunk."""
    return (None if isinstance(data, Table) else source_of(data)) or TableSource(data)


def _polars_source(files: Files) -> Source:
    """Return a source that reads Parquet files with polars, for installations without pyarrow."""
    try:
        import polars as pl
    except ImportError:
        raise DataError(
            f"{base.capitalize_first(files.description)} can only be read with pyarrow or polars.",
            hint="Install it with pip install pyarrow.",
        ) from None
    if any(file.keys for file in files.files):
        raise DataError(
            f"The folders of {files.files[0].path!r} contain keys of their rows, which only "
            "pyarrow can read.",
            hint="Install it with pip install pyarrow.",
        )
    return LazyFrameSource(pl.scan_parquet([file.path for file in files.files]), files.description)


def _is_instance(data: Any, module: str, name: str) -> bool:
    """Return whether an object is an instance of a class of a module, without importing the module."""
    class_of_name = getattr(sys.modules.get(module), name, None)
    return isinstance(class_of_name, type) and isinstance(data, class_of_name)
