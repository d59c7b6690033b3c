"""Where rows come from that are no table in memory: what reads each kind of `data=`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd

from discrim.errors import DataError
from discrim.frame.given import given_frame
from discrim.frame.sources.engines import LazyFrameSource, RelationSource, StreamSource
from discrim.frame.sources.files import Files, files_of, is_path
from discrim.frame.sources.frames import FunctionSource, IteratorSource
from discrim.frame.sources.parts import Part, Source, capital

__all__ = ["Part", "Source", "source_of"]


def source_of(data: Any) -> Source | None:
    """What reads the rows of something larger than memory.

    Parameters
    ----------
    data : object
        An Arrow dataset; a RecordBatchReader, or any other that gives a stream of Arrow; a LazyFrame of
        polars; a relation of DuckDB; a DataFrame of Dask; a path to CSV or Parquet, to a folder, a pattern
        such as "data/2024-*.parquet", or a list of paths; a function that gives an iterator of frames; or
        such an iterator.

    Returns
    -------
    Source or None
        None of a table in memory, and of what is no table.

    Raises
    ------
    DataError
        There is no such file, one cannot be read, or a function or an iterator gives no tables.

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
        return _of_paths(data)
    library = type(data).__module__.partition(".")[0]
    if library in ("dask", "dask_expr"):
        from discrim.frame.distributed import dask_source

        return dask_source(data)
    if _is(data, "pyarrow.dataset", "Dataset"):
        from discrim.frame.sources.dataset import DatasetSource

        return DatasetSource(data)
    if _is(data, "polars", "LazyFrame"):
        return LazyFrameSource(data)
    if _is(data, "duckdb", "DuckDBPyRelation"):
        return RelationSource(data)
    if _is(data, "narwhals", "LazyFrame"):
        return source_of(data.to_native())
    if isinstance(data, Iterator) or _is(data, "pyarrow", "RecordBatchReader"):
        return (
            StreamSource(data)
            if hasattr(data, "__arrow_c_stream__")
            else IteratorSource(data, "the iterator")
        )
    if hasattr(data, "__arrow_c_stream__"):
        # A column alone says what it is as well, and is no stream.
        column = any(_is(data, library, "Series") for library in ("pandas", "polars"))
        return None if column or _is_table(data) else StreamSource(data)
    return FunctionSource(data, source_of) if callable(data) else None


def _of_paths(data: Any) -> Source:
    found = files_of(data)
    if found.format == "CSV":
        from discrim.frame.sources.csv import CSVSource

        return CSVSource(found)
    try:
        from discrim.frame.sources.parquet import ParquetSource
    except ImportError:
        return _by_polars(found)
    return ParquetSource(found)


def _by_polars(found: Files) -> Source:
    """Parquet without pyarrow."""
    try:
        import polars as pl
    except ImportError:
        raise DataError(
            f"{capital(found.what)} needs pyarrow or polars to be read: pip install pyarrow."
        ) from None
    if any(file.keys for file in found.files):
        raise DataError(
            f"The folders of {found.files[0].path!r} are named for values of their rows, which only "
            "pyarrow adds here: pip install pyarrow."
        )
    return LazyFrameSource(pl.scan_parquet([file.path for file in found.files]), found.what)


def _is(data: Any, module: str, name: str) -> bool:
    """Whether something is of a class of a library, which need not be imported for it."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(data, kind)


def _is_table(data: Any) -> bool:
    try:
        given_frame(data)
    except DataError:
        return False
    return True
