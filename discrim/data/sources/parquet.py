"""Parquet files as one table, and Arrow datasets.

The footers of the files are read first, and incompatible files are reported before any row is read. Datasets
are read through Arrow, with their filters and schemas. This module requires pyarrow; without it, `sources.py`
reads Parquet with polars.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq

from discrim.data.sources.base import Chunk, Source, check_unique_names, one_line_message, rows_per_chunk
from discrim.data.sources.files import File, Files, folder_labels, raise_if_column_missing
from discrim.data.values import ColumnType
from discrim.errors import DataError, UnreadableFileError

BUFFER_BYTES = 2**20
"""Size in bytes of the read buffer of a column; without it, a whole row group is kept in memory."""

MIN_GROUP_ROWS = 2**15
"""Smallest average number of rows of a row group for which text is read as dictionary codes."""

TEXT_TYPES = ("string", "large_string", "string_view")
"""Names of the Arrow types of text."""

MAX_CODED_BYTES_PER_ROW = 2
"""Largest number of uncompressed bytes per row, in the first row group, of a text column that is read as
dictionary codes."""

TEXT_CHUNK_FACTOR = 4
"""Factor for the number of rows in a chunk of text columns only, because the overhead per chunk dominates."""


class _Footer(NamedTuple):
    """Footer of a Parquet file.

    Attributes
    ----------
    types : dict of str to pyarrow.DataType
        Types of the columns, including types of folder keys.
    column_names : frozenset of str
        Columns that the file itself contains.
    nrows : int
        Number of rows.
    """

    types: dict[str, Any]
    column_names: frozenset[str]
    nrows: int


class ParquetSource(Source):
    """Consecutive Parquet files as one table, with the columns that `pandas.read_parquet` returns.

    The index that pandas has written is not a column; keys in the names of folders (``year=2024``) are
    categorical columns, unless the file has a column of that name. The columns are the union of the columns
    of all files; reading one that a file lacks is an error.

    Parameters
    ----------
    files : Files
    """

    def __init__(self, files: Files) -> None:
        self._files = files.files
        self._labels = folder_labels(self._files)
        self._keys = {name: _distinct_labels(labels.values()) for name, labels in self._labels.items()}
        self._footers = [self._read_footer(file) for file in self._files]
        names = dict.fromkeys(name for footer in self._footers for name in footer.types)
        super().__init__(files.description, list(names))
        self.files, self._rows = files, sum(footer.nrows for footer in self._footers)

    def _read_footer(self, file: File) -> _Footer:
        """Read the footer of a file; leave out the index of pandas, and add the keys of the file's folders.

        Raises an UnreadableFileError, or a DataError if two columns have the same name.
        """
        with _read_errors(file.path), _open_parquet(file.path) as parquet:
            schema = parquet.schema_arrow
            nrows = parquet.metadata.num_rows
        check_unique_names(schema.names, repr(file.path))
        described = schema.pandas_metadata or {}
        index = {name for name in described.get("index_columns", []) if isinstance(name, str)}
        types = {field.name: field.type for field in schema if field.name not in index}
        keys = {
            name: pa.dictionary(pa.int32(), self._keys[name].type)
            for name in file.keys
            if name not in schema.names
        }
        return _Footer({**types, **keys}, frozenset(types), nrows)

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        return self._iter_batches({name: self._common_type(name) for name in columns})

    def _common_type(self, name: str) -> Any:
        """Return the Arrow type of a column in all files: float64 if some have integers and others floats.

        Otherwise it is the type in the first file in which it is not null, or null if it is null in all.

        Raises
        ------
        DataError
            A file lacks the column, or its type in a file is incompatible with that in another.
        """
        types = {file.path: footer.types for file, footer in zip(self._files, self._footers, strict=True)}
        raise_if_column_missing(name, types)
        common_type = pa.null()
        path_of_type = self._files[0].path
        numeric_types = set()
        for path, file_types in types.items():
            file_type = file_types[name]
            if pa.types.is_null(file_type):
                continue
            if pa.types.is_null(common_type):
                common_type = file_type
                path_of_type = path
            elif arrow_kind(file_type) != arrow_kind(common_type):
                raise DataError(
                    f"Column {name!r} is {common_type} in {path_of_type!r} and {file_type} in {path!r}.",
                    hint=(
                        "Write one of the files with the type of the other, or exclude the column from "
                        "the formula."
                    ),
                    columns=(name,),
                )
            numeric_types.add((pa.types.is_integer(file_type), pa.types.is_floating(file_type)))
        return pa.float64() if numeric_types == {(True, False), (False, True)} else common_type

    def _iter_batches(self, types: dict[str, Any]) -> Iterator[Chunk]:
        """Yield the rows of columns, with their types, file by file in chunks."""
        rows = rows_per_chunk(len(types)) * (
            TEXT_CHUNK_FACTOR if set(map(arrow_kind, types.values())) <= {"text"} else 1
        )
        for file, footer in zip(self._files, self._footers, strict=True):
            file_columns = [name for name in types if name in footer.column_names]
            for batch, coded in file_batches(file.path, file_columns, rows):
                yield Chunk(self._complete_batch(batch, types, file), file.path, coded)

    def _complete_batch(self, batch: Any, types: dict[str, Any], file: File) -> Any:
        """Convert a batch to a table of the required columns, in their order and types.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
        types : dict of str to pyarrow.DataType
            Types of the required columns.
        file : File
            The file, whose folder keys are added.

        Returns
        -------
        pyarrow.Table
        """
        columns = []
        column_by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, dtype in types.items():
            if name in column_by_name:
                columns.append(_cast_to_common_type(column_by_name[name], dtype, name, file.path))
            else:
                columns.append(
                    _repeat_label(self._keys[name], self._labels[name].get(file.keys[name]), batch.num_rows)
                )
        return pa.table(columns, names=list(types))


def file_batches(
    path: str, columns: Sequence[str], rows: int | None = None
) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Read columns of a Parquet file in batches, beginning with an empty one of all columns of the file.

    Parameters
    ----------
    path : str
        Path of the file.
    columns : sequence of str
        Columns to read.
    rows : int, optional
        Largest number of rows of a batch; by default `rows_per_chunk`.

    Yields
    ------
    batch : pyarrow.RecordBatch
    coded : tuple of str
        Columns of text that the batch contains as dictionary codes.

    Raises
    ------
    DataError
        The file lacks a column.
    UnreadableFileError
        The file cannot be read.
    """
    with _read_errors(path), _open_parquet(path) as parquet:
        schema = parquet.schema_arrow
        if not set(columns) <= set(schema.names):
            raise DataError(
                f"{path!r} was rewritten after its columns were read.", hint="Fit the model again."
            )
        yield pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema), ()
        coded = _columns_to_read_coded(parquet, columns)
    with _read_errors(path), _open_parquet(path, coded) as parquet:
        step = rows or rows_per_chunk(len(columns))
        for batch in parquet.iter_batches(batch_size=step, columns=list(columns)):
            yield batch, coded


def arrow_kind(dtype: Any) -> ColumnType:
    """Return the column type of an Arrow type."""
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return "numeric"
    if pa.types.is_boolean(dtype):
        return "boolean"
    if pa.types.is_dictionary(dtype):
        return "categorical"
    return "text" if str(dtype) in TEXT_TYPES else "other"


def _open_parquet(path: str, coded: Sequence[str] = ()) -> Any:
    """Return a `pyarrow.parquet.ParquetFile`, which reads the columns `coded` as dictionary codes."""
    # Without pre-buffering and with a limited buffer, because either may grow as large as the file.
    # Checksums are verified if the file has them.
    return pq.ParquetFile(
        path,
        read_dictionary=list(coded),
        pre_buffer=False,
        buffer_size=BUFFER_BYTES,
        page_checksum_verification=True,
    )


def _columns_to_read_coded(parquet: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the text columns that are read faster as dictionary codes, because they have few distinct texts.

    The size of a column in the first row group decides, see `MAX_CODED_BYTES_PER_ROW`. None are returned if
    row groups are short, because batches of codes end at the end of a row group.
    """
    schema = parquet.schema_arrow
    groups = parquet.metadata.num_row_groups
    texts = {name for name in columns if name in schema.names and str(schema.field(name).type) in TEXT_TYPES}
    if not texts or parquet.metadata.num_rows < groups * MIN_GROUP_ROWS:
        return ()
    first = parquet.metadata.row_group(0)
    chunks = (first.column(j) for j in range(first.num_columns))
    return tuple(
        column_chunk.path_in_schema
        for column_chunk in chunks
        if column_chunk.path_in_schema in texts
        and column_chunk.total_uncompressed_size <= MAX_CODED_BYTES_PER_ROW * first.num_rows
    )


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Convert errors of Arrow in the block to an UnreadableFileError with the path of a Parquet file."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        message = one_line_message(error)
        raise UnreadableFileError(
            f"{path!r} cannot be read as Parquet: {message}.", hint="Write the file again, or exclude it."
        ) from error


def _distinct_labels(labels: Collection[Any]) -> Any:
    """Return the distinct labels of folders as an Arrow array of string, or of int32, or int64 if needed."""
    distinct = list(dict.fromkeys(labels))
    if not distinct or isinstance(distinct[0], str):
        return pa.array(distinct, pa.string())
    short = all(-(2**31) <= number < 2**31 for number in distinct)
    return pa.array(distinct, pa.int32() if short else pa.int64())


def _repeat_label(values: Any, label: Any, nrows: int) -> Any:
    """Return a dictionary column of `nrows` equal labels.

    Parameters
    ----------
    values : pyarrow.Array
        Dictionary of labels.
    label : object
        One of them, or None for a column of missing values.
    nrows : int

    Returns
    -------
    pyarrow.DictionaryArray
    """
    label_index = pa.scalar(None if label is None else values.index(label).as_py(), pa.int32())
    return pa.DictionaryArray.from_arrays(pa.repeat(label_index, nrows), values)


def _cast_to_common_type(column: Any, dtype: Any, name: str, path: str) -> Any:
    """Convert a column of the type null, or of integers, to the type that the column has in all files.

    Integers are converted to float64 only; any other column is returned unchanged.

    Parameters
    ----------
    column : pyarrow.Array
    dtype : pyarrow.DataType
    name, path : str
        Column and file, for messages.

    Returns
    -------
    pyarrow.Array

    Raises
    ------
    DataError
        An integer is not exact in float64.
    """
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), dtype)
    if not (pa.types.is_float64(dtype) and pa.types.is_integer(column.type)):
        return column
    try:
        return column.cast(dtype)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {name!r} is {column.type} in {path!r} and floating point in other files, and would "
            f"be rounded ({str(error).rstrip('.')}).",
            hint="Write it with one type in all files.",
            columns=(name,),
        ) from error


class DatasetSource(Source):
    """An Arrow dataset, with its filter if it has one.

    Local Parquet files without a filter, with the types of the dataset, are read in short chunks. Other
    datasets are scanned by Arrow, which keeps at least one row group in memory. It is limited to one thread:
    with more it reads up to a gigabyte ahead of the consumer.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        super().__init__("the Arrow dataset", dataset.schema.names)

    def reads(self, path: str) -> bool:
        """Return whether a path is one of the files of the dataset."""
        files = getattr(self._dataset, "files", ())
        return os.path.realpath(path) in {os.path.realpath(file) for file in files}

    @cached_property
    def _fragments(self) -> list[Any] | None:
        """Fragments (files) of the dataset, or None if it is filtered."""
        try:
            return list(self._dataset.get_fragments())
        except ValueError:
            return None

    @property
    def nrows(self) -> int | None:
        """Number of rows, from the footers if the files are Parquet; None if unknown before a pass."""
        if self._rows is None and _file_format(self._dataset) == "parquet" and self._fragments is not None:
            try:
                return sum(int(fragment.count_rows()) for fragment in self._fragments)
            except (OSError, ValueError):
                return None
        return self._rows

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        if self._can_read_files(columns):
            return (
                Chunk(pa.Table.from_batches([batch]).select(list(columns)), path, coded)
                for path in self._dataset.files
                for batch, coded in file_batches(path, columns)
            )
        return self._scan(columns)

    def _can_read_files(self, columns: tuple[str, ...]) -> bool:
        """Return whether the files have these columns in the dataset's types and can be read directly."""
        local = isinstance(getattr(self._dataset, "filesystem", None), pa.fs.LocalFileSystem)
        # A custom format may convert types, or decrypt the files.
        if not local or self._dataset.format != ds.ParquetFileFormat() or not self._fragments:
            return False
        try:
            schemas = [fragment.physical_schema for fragment in self._fragments]
        except (pa.ArrowException, OSError):
            return False
        types = {name: self._dataset.schema.field(name).type for name in columns}
        return all(
            schema.get_field_index(name) >= 0 and schema.field(name).type == dtype
            for schema in schemas
            for name, dtype in types.items()
        )

    def _scan(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        """Yield the rows of columns from a scanner of Arrow, after an empty chunk.

        If reading fails, the error names the file if it can be found.
        """
        options: dict[str, Any] = {}
        if _file_format(self._dataset) == "parquet":
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=BUFFER_BYTES
            )
        scanner = self._dataset.scanner(
            columns=list(columns),
            batch_size=rows_per_chunk(len(columns)),
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            **options,
        )
        last = None
        yield Chunk(scanner.projected_schema.empty_table())
        try:
            for tagged in scanner.scan_batches():
                last = getattr(tagged.fragment, "path", None)
                yield Chunk(pa.Table.from_batches([tagged.record_batch]), last)
        except (pa.ArrowException, OSError) as error:
            self._raise_with_file(columns, last, error)
            raise

    def _raise_with_file(self, columns: tuple[str, ...], last_path: str | None, error: Exception) -> None:
        """Read files again, and raise an error for the first that fails; return if none fails.

        Parameters
        ----------
        columns : tuple of str
            Columns of the scan that has failed.
        last_path : str or None
            The last file of which rows were read, with which the search begins.
        error : Exception
            The error of the scan.
        """
        files = list(getattr(self._dataset, "files", ()))
        options: dict[str, Any] = {
            "format": getattr(self._dataset, "format", None),
            "filesystem": getattr(self._dataset, "filesystem", None),
        }
        for path in files[files.index(last_path) if last_path in files else 0 :]:
            try:
                file = ds.dataset(path, **options)
                present = [name for name in columns if name in file.schema.names]
                _read_all(file, present)
            except (pa.ArrowException, OSError) as fault:
                raise UnreadableFileError(
                    f"{path!r} of the Arrow dataset cannot be read: {one_line_message(fault)}.",
                    hint="Write the file again, or create the dataset without it.",
                ) from error
            typed_dataset = ds.dataset(path, schema=self._dataset.schema, **options)
            for name in present:
                try:
                    _read_all(typed_dataset, [name])
                except (pa.ArrowException, OSError) as fault:
                    file_type, dataset_type = (
                        table.schema.field(name).type for table in (file, typed_dataset)
                    )
                    raise DataError(
                        f"Column {name!r} of {path!r} is {file_type}, which cannot be converted to "
                        f"{dataset_type}, its type in the Arrow dataset: {one_line_message(fault)}.",
                        hint=(
                            "Write the file again with that type, or create the dataset with a schema= "
                            "that is valid for all files."
                        ),
                        columns=(name,),
                    ) from error


def _read_all(dataset: Any, columns: list[str]) -> None:
    """Read columns of a dataset to the end, and discard the rows."""
    for _ in dataset.to_batches(columns=columns):
        pass


def _file_format(dataset: Any) -> str | None:
    """Return the name of the file format of a dataset, such as "parquet", or None if it is not of files."""
    return getattr(getattr(dataset, "format", None), "default_extname", None)
