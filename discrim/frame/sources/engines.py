"""Sources that another library reads: streams of Arrow, polars' LazyFrames, relations of DuckDB.

Each of them reads no more than the columns that are asked for. None of the libraries is imported before an
object of theirs has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discrim.errors import DataError
from discrim.frame.sources.parts import OnceSource, Part, Source, batch_rows, closed_at_end, one_line

__all__ = ["LazyFrameSource", "RelationSource", "StreamSource"]


class StreamSource(OnceSource):
    """A stream of Arrow batches, which can be read once.

    Parameters
    ----------
    stream : object with __arrow_c_stream__
    """

    def __init__(self, stream: Any) -> None:
        pa = _pyarrow(stream)
        self._reader: Any = stream
        if not isinstance(stream, pa.RecordBatchReader):
            try:
                self._reader = pa.RecordBatchReader.from_stream(stream)
            except (pa.ArrowInvalid, TypeError) as error:
                raise DataError(
                    f"data is a {type(stream).__name__}, whose Arrow is no table ({one_line(error)}): give a "
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
        _pyarrow(relation)
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


def _pyarrow(data: Any) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise DataError(
            f"The rows of a {type(data).__name__} are read by pyarrow, which is not there: pip install "
            "pyarrow."
        ) from None
    return pa
