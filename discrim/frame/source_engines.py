"""Sources that another library reads: Arrow datasets and streams, polars' LazyFrames, relations of DuckDB.

Each of them reads no more than the columns that are asked for. None of the libraries is imported before an
object of theirs has come.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from discrim.errors import DataError, UnreadableFileError
from discrim.frame.source_parts import OnceSource, Part, Source, batch_rows, closed_at_end

__all__ = ["DatasetSource", "LazyFrameSource", "RelationSource", "StreamSource"]

BUFFER = 2**20
"""Bytes of a column of a Parquet file that are read at once: else a whole row group is held."""


class DatasetSource(Source):
    """A dataset of Arrow, with its filter if it has one.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
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

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        import pyarrow as pa
        import pyarrow.dataset as ds

        asked = self.names if columns is None else columns
        options: dict[str, Any] = {}
        if _format(self._dataset) == "parquet":
            options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(
                pre_buffer=False, use_buffered_stream=True, buffer_size=BUFFER
            )
        scanner = self._dataset.scanner(
            columns=list(asked),
            batch_size=batch_rows(len(asked)),
            batch_readahead=1,
            fragment_readahead=1,
            **options,
        )
        last, empty = None, True
        try:
            for tagged in scanner.scan_batches():
                last, empty = getattr(tagged.fragment, "path", None), False
                yield Part(pa.Table.from_batches([tagged.record_batch]), last)
        except (pa.ArrowException, OSError) as error:
            self._name_file(asked, last, error)
            raise
        if empty:
            yield Part(scanner.projected_schema.empty_table())

    def _name_file(self, columns: tuple[str, ...], last: str | None, error: Exception) -> None:
        """Raise an error that names the file at which a pass has failed: that read last, or a later one."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        files = list(getattr(self._dataset, "files", ()))
        given: dict[str, Any] = {
            "format": _format_of(self._dataset),
            "filesystem": getattr(self._dataset, "filesystem", None),
        }
        for path in files[files.index(last) if last in files else 0 :]:
            try:
                file = ds.dataset(path, **given)
                held = [name for name in columns if name in file.schema.names]
                _read_all(file, held)
            except (pa.ArrowException, OSError) as fault:
                raise UnreadableFileError(
                    f"{path!r} of the Arrow dataset cannot be read: {_said(fault)}. Write the file again, or "
                    "make the dataset without it."
                ) from error
            as_said = ds.dataset(path, schema=self._dataset.schema, **given)
            for name in held:
                try:
                    _read_all(as_said, [name])
                except (pa.ArrowException, OSError) as fault:
                    now, meant = (each.schema.field(name).type for each in (file, as_said))
                    raise DataError(
                        f"Column {name!r} of {path!r} is {now}, which does not become {meant}, as it is in "
                        f"the Arrow dataset: {_said(fault)}. Write the file again with that type, or make "
                        "the dataset with a schema= that holds for all files."
                    ) from error


def _read_all(dataset: Any, columns: list[str]) -> None:
    for _ in dataset.to_batches(columns=columns):
        pass


class StreamSource(OnceSource):
    """A stream of Arrow batches, which can be read once.

    Parameters
    ----------
    stream : object with __arrow_c_stream__
    """

    def __init__(self, stream: Any) -> None:
        import pyarrow as pa

        self._reader: Any = stream
        if not isinstance(stream, pa.RecordBatchReader):
            try:
                self._reader = pa.RecordBatchReader.from_stream(stream)
            except (pa.ArrowInvalid, TypeError) as error:
                raise DataError(
                    f"data is a {type(stream).__name__}, whose Arrow is no table ({_said(error)}): give a "
                    "table, or a stream of batches."
                ) from error
        super().__init__(f"the {type(stream).__name__}", self._reader.schema.names)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        # The columns are there whether they are asked for or not, and a pass may yet ask for others.
        return _tables(self._reader, self.names)


class LazyFrameSource(Source):
    """A LazyFrame of polars, of which a pass computes only the columns that are asked for.

    Parameters
    ----------
    frame : polars.LazyFrame
    what : str, optional
    """

    def __init__(self, frame: Any, what: str = "the LazyFrame") -> None:
        if not hasattr(frame, "collect_batches"):
            raise DataError(
                "This version of polars cannot give the rows of a LazyFrame in batches: update it (pip "
                "install -U polars), or write the rows by sink_parquet(...) and give the path of that file."
            )
        self._frame = frame
        super().__init__(what, frame.collect_schema().names())

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        asked = self.names if columns is None else columns
        chosen, empty = self._frame.select(list(asked)), True
        for batch in chosen.collect_batches(
            chunk_size=batch_rows(len(asked)), maintain_order=True, lazy=True, engine="streaming"
        ):
            empty = False
            yield Part(batch)
        if empty:
            yield Part(chosen.head(0).collect())


class RelationSource(Source):
    """A relation of DuckDB, whose query is run at each pass.

    Parameters
    ----------
    relation : duckdb.DuckDBPyRelation
    """

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        super().__init__("the DuckDB relation", relation.columns)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        import duckdb

        asked = self.names if columns is None else columns
        chosen = self._relation.select(*[duckdb.ColumnExpression(name) for name in asked])
        read = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        return _tables(read(batch_rows(len(asked))), asked)


def _tables(reader: Any, columns: tuple[str, ...]) -> Iterator[Part]:
    """The batches of a reader, which is closed at the end: until then a connection may be taken by it."""
    import pyarrow as pa

    step = batch_rows(len(columns))
    with closed_at_end(reader):
        yield Part(reader.schema.empty_table().select(list(columns)))
        for batch in reader:
            table = pa.Table.from_batches([batch]).select(list(columns))
            for start in range(0, len(table), step):
                yield Part(table.slice(start, step))


def _format_of(dataset: Any) -> Any:
    return getattr(dataset, "format", None)


def _format(dataset: Any) -> str | None:
    return getattr(_format_of(dataset), "default_extname", None)


def _said(error: Exception) -> str:
    """What an error says, on one line and without a stop."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
