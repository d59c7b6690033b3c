"""Where rows come from that are no table in memory: what reads each kind of `data=`.

Files of CSV some of whose columns hold labels, which are read as they are written there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from discrim.core.numerics.progress import late_bar
from discrim.errors import DataError
from discrim.frame.categories import with_type
from discrim.frame.sources.csv import CSVSource, Dialect
from discrim.frame.sources.files import Files, files_of, is_path
from discrim.frame.sources.frames import (
    FunctionSource,
    IteratorSource,
    LazyFrameSource,
    RelationSource,
    StreamSource,
)
from discrim.frame.sources.parts import Part, Source, TableSource, capital
from discrim.frame.table import Table, given_frame


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
        from discrim.frame.sources.parquet import DatasetSource

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


def rows_given(data: Any) -> Source:
    """What gives the rows of any data, part by part: of a table in memory that is its one part."""
    return (None if isinstance(data, Table) else source_of(data)) or TableSource(data)


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


class WrittenLabels(Source):
    """Files of CSV whose labels are no measurements.

    Parameters
    ----------
    as_text : callable
        Which of the columns it is given are read as text.
    typed : collection of str
        Those of them that become numbers or truth values where nothing is lost. That takes a pass over
        them, since all labels together tell it.
    dialect : Dialect, optional
        How the files are written.
    """

    def __init__(
        self,
        files: Files,
        as_text: Callable[[Sequence[str]], list[str]],
        typed: frozenset[str],
        dialect: Dialect | None = None,
    ) -> None:
        self._inner = CSVSource(files, as_text, dialect)
        self._typed = typed
        self._known: dict[str, pd.Series] = {}
        super().__init__(self._inner.what, self._inner.names)

    def reads(self, path: str) -> bool:
        """Whether a file of this path is, or would be, one of those that are read."""
        return self._inner.reads(path)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        typed = [name for name in (self.names if columns is None else columns) if name in self._typed]
        parts = self._inner.begun(columns)
        self._learn([name for name in typed if name not in self._known])
        for part in parts:
            found = {name: _of_type(part.data[name], self._known[name]) for name in typed}
            yield Part(part.data.assign(**found) if found else part.data, part.where)

    def _learn(self, columns: Sequence[str]) -> None:
        """Learn the type of columns that are read as text."""
        if not columns:
            return
        seen: dict[str, dict[Any, None]] = {name: {} for name in columns}
        with late_bar(0, "labels") as tell:
            for part in self._inner.begun(tuple(columns)):
                for name in columns:
                    seen[name].update(dict.fromkeys(part.data[name].unique().tolist()))
                tell(len(part.data))
        for name in columns:
            texts = [text for text in seen[name] if isinstance(text, str)]
            missing = [None] * (len(texts) < len(seen[name]))
            values = pd.Series([*texts, *missing], index=[*texts, *missing], dtype=object)
            self._known[name] = with_type(values)


def _of_type(texts: pd.Series, known: pd.Series) -> pd.Series:
    """Texts as the labels that they are known for."""
    places = known.index.get_indexer(pd.Index(texts.astype(object).where(texts.notna(), None)))
    return known.iloc[places].set_axis(texts.index)
