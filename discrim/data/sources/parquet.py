"""Parquet files as one table, and datasets of Arrow.

The ends of the files are read first, and say what does not fit before a row is read. Datasets are files that
Arrow finds, with its filters and the schema that it has.
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

from discrim.data.sources.files import File, Files, folder_labels, refuse_lacking
from discrim.data.sources.parts import Part, Source, batch_rows, one_line, refuse_twice
from discrim.data.values import Kind
from discrim.errors import DataError, UnreadableFileError

BUFFER = 2**20
"""Bytes of a column that are read at once: else a whole row group of it is held."""

LONG_GROUP = 2**15
"""Rows that a group has at least, on average, where texts are read as codes."""

TEXT = ("string", "large_string", "string_view")

FEW_BYTES = 2
"""Bytes a row of a column of text up to which its texts are few."""

LABELS = 4
"""Times as many rows are read at once where all columns are text: what a part costs is most of the pass."""


class _End(NamedTuple):
    """What the end of a Parquet file says: the Arrow types of its columns, of which its `own` are in itself.

    The others are of the names of its folders.
    """

    types: dict[str, Any]
    own: frozenset[str]
    nrows: int


class ParquetSource(Source):
    """Parquet files that follow one another, read as `pandas.read_parquet` reads them.

    The index of a DataFrame that pandas wrote is no column; what folders are named for (``year=2024``) is
    one of categories. The columns are those of all files; one that a file lacks is refused when it is read.
    """

    def __init__(self, files: Files) -> None:
        self._files = files.files
        self._labels = folder_labels(self._files)
        self._keys = {name: _categories(labels.values()) for name, labels in self._labels.items()}
        self._ends = [self._end(file) for file in self._files]
        names = dict.fromkeys(name for end in self._ends for name in end.types)
        super().__init__(files.what, list(names))
        self.files, self._rows = files, sum(end.nrows for end in self._ends)

    def _end(self, file: File) -> _End:
        with _read_errors(file.path), _opened(file.path) as parquet:
            schema = parquet.schema_arrow
            nrows = parquet.metadata.num_rows
        refuse_twice(schema.names, repr(file.path))
        described = schema.pandas_metadata or {}
        index = {name for name in described.get("index_columns", []) if isinstance(name, str)}
        types = {field.name: field.type for field in schema if field.name not in index}
        keys = {
            name: pa.dictionary(pa.int32(), self._keys[name].type)
            for name in file.keys
            if name not in schema.names
        }
        return _End({**types, **keys}, frozenset(types), nrows)

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        return self._batches({name: self._type(name) for name in columns})

    def _type(self, name: str) -> Any:
        """The type of a column where files have several: whole numbers and others are floating.

        A DataError says which file lacks the column, or has another kind of it.
        """
        types = {file.path: end.types for file, end in zip(self._files, self._ends, strict=True)}
        refuse_lacking(name, types)
        known = pa.null()
        where = self._files[0].path
        numbers = set()
        for path, of_file in types.items():
            now = of_file[name]
            if pa.types.is_null(now):
                continue
            if pa.types.is_null(known):
                known = now
                where = path
            elif arrow_kind(now) != arrow_kind(known):
                raise DataError(
                    f"Column {name!r} is {known} in {where!r} and {now} in {path!r}.",
                    hint=(
                        "Write one of them again with the type of the other, or leave the column out of "
                        "the formula."
                    ),
                    columns=(name,),
                )
            numbers.add((pa.types.is_integer(now), pa.types.is_floating(now)))
        return pa.float64() if numbers == {(True, False), (False, True)} else known

    def _batches(self, types: dict[str, Any]) -> Iterator[Part]:
        rows = batch_rows(len(types)) * (LABELS if set(map(arrow_kind, types.values())) <= {"text"} else 1)
        for file, end in zip(self._files, self._ends, strict=True):
            own = [name for name in types if name in end.own]
            for batch, coded in file_batches(file.path, own, rows):
                yield Part(self._completed(batch, types, file), file.path, coded)

    def _completed(self, batch: Any, types: dict[str, Any], file: File) -> Any:
        """A batch as a table with the columns that are asked for, in their order and of their types."""
        columns = []
        own = dict(zip(batch.schema.names, batch.columns, strict=True))
        for name, dtype in types.items():
            if name in own:
                columns.append(_cast(own[name], dtype, name, file.path))
            else:
                columns.append(
                    _repeated(self._keys[name], self._labels[name].get(file.keys[name]), batch.num_rows)
                )
        return pa.table(columns, names=list(types))


def file_batches(
    path: str, columns: Sequence[str], rows: int | None = None
) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Columns of a file in batches, of which the first has no row; and those of texts, which are codes."""
    with _read_errors(path), _opened(path) as parquet:
        schema = parquet.schema_arrow
        if not set(columns) <= set(schema.names):
            raise DataError(
                f"{path!r} was written anew since its columns were read.", hint="Fit the model again."
            )
        yield pa.RecordBatch.from_arrays([pa.nulls(0, each.type) for each in schema], schema=schema), ()
        coded = _repeated_texts(parquet, columns)
    with _read_errors(path), _opened(path, coded) as parquet:
        step = rows or batch_rows(len(columns))
        for batch in parquet.iter_batches(batch_size=step, columns=list(columns)):
            yield batch, coded


def arrow_kind(dtype: Any) -> Kind:
    """What a column of an Arrow type holds."""
    if pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype):
        return "numeric"
    if pa.types.is_boolean(dtype):
        return "boolean"
    if pa.types.is_dictionary(dtype):
        return "categorical"
    return "text" if str(dtype) in TEXT else "other"


def _opened(path: str, coded: Sequence[str] = ()) -> Any:
    # What is buffered before and what is read at once may be as large as a file; checksums are verified
    # where a file has them.
    return pq.ParquetFile(
        path,
        read_dictionary=list(coded),
        pre_buffer=False,
        buffer_size=BUFFER,
        page_checksum_verification=True,
    )


def _repeated_texts(parquet: Any, columns: Sequence[str]) -> tuple[str, ...]:
    """Columns of a few texts, which are faster read as the codes that a file has of them.

    Batches of codes end where a group of rows ends, so that the groups have to be long.
    """
    schema = parquet.schema_arrow
    groups = parquet.metadata.num_row_groups
    texts = {name for name in columns if name in schema.names and str(schema.field(name).type) in TEXT}
    if not texts or parquet.metadata.num_rows < groups * LONG_GROUP:
        return ()
    first = parquet.metadata.row_group(0)
    chunks = (first.column(j) for j in range(first.num_columns))
    return tuple(
        each.path_in_schema
        for each in chunks
        if each.path_in_schema in texts and each.total_uncompressed_size <= FEW_BYTES * first.num_rows
    )


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Name the file of an error of reading it."""
    try:
        yield
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        said = one_line(error)
        raise UnreadableFileError(
            f"{path!r} cannot be read as Parquet: {said}.", hint="Write the file again, or leave it out."
        ) from error


def _categories(labels: Collection[Any]) -> Any:
    """Labels of folders, each of which is there once: of 32 bits where all are whole numbers that fit."""
    distinct = list(dict.fromkeys(labels))
    if not distinct or isinstance(distinct[0], str):
        return pa.array(distinct, pa.string())
    short = all(-(2**31) <= number < 2**31 for number in distinct)
    return pa.array(distinct, pa.int32() if short else pa.int64())


def _repeated(values: Any, label: Any, nrows: int) -> Any:
    """One of the values as a column of categories; a missing one where there is no label."""
    place = pa.scalar(None if label is None else values.index(label).as_py(), pa.int32())
    return pa.DictionaryArray.from_arrays(pa.repeat(place, nrows), values)


def _cast(column: Any, dtype: Any, name: str, path: str) -> Any:
    """A column that has no type, or whole numbers where other files hold fractions, as of a type."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), dtype)
    if not (pa.types.is_float64(dtype) and pa.types.is_integer(column.type)):
        return column
    try:
        return column.cast(dtype)
    except pa.ArrowInvalid as error:
        raise DataError(
            f"Column {name!r} is {column.type} in {path!r} and floating in other files, where it would "
            f"be rounded ({str(error).rstrip('.')}).",
            hint="Write it with one type in all files.",
            columns=(name,),
        ) from error


class DatasetSource(Source):
    """A dataset of Arrow, with its filter if it has one.

    Files of Parquet on this machine, without a filter and with the types of the dataset, are read in short
    parts. Of all others Arrow holds a group of rows or more, and reads on one thread: on several it runs
    ahead of who takes the rows, up to a gigabyte.
    """

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        super().__init__("the Arrow dataset", dataset.schema.names)

    def reads(self, path: str) -> bool:
        """Whether a file of this path is one of those that are read."""
        files = getattr(self._dataset, "files", ())
        return os.path.realpath(path) in {os.path.realpath(file) for file in files}

    @cached_property
    def _fragments(self) -> list[Any] | None:
        """Its files; None of one that is filtered, which does not say."""
        try:
            return list(self._dataset.get_fragments())
        except ValueError:
            return None

    @property
    def nrows(self) -> int | None:
        """Rows, by the ends of its Parquet files."""
        if self._rows is None and _format(self._dataset) == "parquet" and self._fragments is not None:
            try:
                return sum(int(fragment.count_rows()) for fragment in self._fragments)
            except (OSError, ValueError):
                return None
        return self._rows

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        if self._alike(columns):
            return (
                Part(pa.Table.from_batches([batch]).select(list(columns)), path, coded)
                for path in self._dataset.files
                for batch, coded in file_batches(path, columns)
            )
        return self._scanned(columns)

    def _alike(self, columns: tuple[str, ...]) -> bool:
        """Whether the files have these columns as the dataset says, and can be read by themselves."""
        local = isinstance(getattr(self._dataset, "filesystem", None), pa.fs.LocalFileSystem)
        # A format that was given may ask for other types than the files have, or decipher them.
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

    def _scanned(self, columns: tuple[str, ...]) -> Iterator[Part]:
        options: dict[str, Any] = {}
        if _format(self._dataset) == "parquet":
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=BUFFER
            )
        scanner = self._dataset.scanner(
            columns=list(columns),
            batch_size=batch_rows(len(columns)),
            batch_readahead=1,
            fragment_readahead=1,
            use_threads=False,
            **options,
        )
        last = None
        yield Part(scanner.projected_schema.empty_table())
        try:
            for tagged in scanner.scan_batches():
                last = getattr(tagged.fragment, "path", None)
                yield Part(pa.Table.from_batches([tagged.record_batch]), last)
        except (pa.ArrowException, OSError) as error:
            self._name_file(columns, last, error)
            raise

    def _name_file(self, columns: tuple[str, ...], last: str | None, error: Exception) -> None:
        """Raise an error that names the file at which a pass has failed: that read last, or a later one."""
        files = list(getattr(self._dataset, "files", ()))
        given: dict[str, Any] = {
            "format": getattr(self._dataset, "format", None),
            "filesystem": getattr(self._dataset, "filesystem", None),
        }
        for path in files[files.index(last) if last in files else 0 :]:
            try:
                file = ds.dataset(path, **given)
                present = [name for name in columns if name in file.schema.names]
                _read_all(file, present)
            except (pa.ArrowException, OSError) as fault:
                raise UnreadableFileError(
                    f"{path!r} of the Arrow dataset cannot be read: {one_line(fault)}.",
                    hint="Write the file again, or make the dataset without it.",
                ) from error
            as_said = ds.dataset(path, schema=self._dataset.schema, **given)
            for name in present:
                try:
                    _read_all(as_said, [name])
                except (pa.ArrowException, OSError) as fault:
                    now, meant = (each.schema.field(name).type for each in (file, as_said))
                    raise DataError(
                        f"Column {name!r} of {path!r} is {now}, which does not become {meant}, as it is "
                        f"in the Arrow dataset: {one_line(fault)}.",
                        hint=(
                            "Write the file again with that type, or make the dataset with a schema= "
                            "that holds for all files."
                        ),
                        columns=(name,),
                    ) from error


def _read_all(dataset: Any, columns: list[str]) -> None:
    for _ in dataset.to_batches(columns=columns):
        pass


def _format(dataset: Any) -> str | None:
    return getattr(getattr(dataset, "format", None), "default_extname", None)
