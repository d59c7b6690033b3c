"""Write a sequence of frames to a Parquet or CSV file, or to a folder of Parquet files.

The output appears completely or not at all: a file or folder replaces the old one in a single step when all
frames are written.
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from decimal import Decimal
from errno import ENOENT
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.atomic_write import (
    atomic_write,
    is_folder_path,
    resolve_target,
    temporary_folder,
    validate_path,
)
from discrim.data.sources.base import Source, close_at_end, quoted_names
from discrim.data.sources.files import Dialect, format_of
from discrim.errors import DataError, MissingFolderError

MAX_FILE_ROWS = 2**20
MIN_GROUP_ROWS = 2**16
"""Numbers of rows from which a file in a folder, and a row group, are complete."""


def csv_text(frame: pd.DataFrame, separator: str, decimal: str, *, header: bool, index: bool = False) -> str:
    """Return rows as CSV text whose numbers have one decimal sign, also those in columns of objects.

    Lines end in a line feed. All text is quoted if any contains a carriage return.

    Parameters
    ----------
    frame : DataFrame
        Not modified.
    separator, decimal : str
        Separator of the fields and decimal sign of the numbers.
    header : bool
        Whether the names of the columns are written.
    index : bool
        Whether the labels of the rows are written.

    Returns
    -------
    str
    """
    if decimal != ".":
        # pandas applies the decimal sign to floating columns, but not to objects and categories.
        for column_index, dtype in enumerate(frame.dtypes):
            if pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.CategoricalDtype):
                column = frame.iloc[:, column_index].astype(object).map(partial(_apply_decimal_sign, decimal))
                frame = frame.copy(deep=False)
                frame.isetitem(column_index, column.to_numpy())
    options: dict[str, Any] = {"sep": separator, "decimal": decimal, "header": header, "index": index}
    text = str(frame.to_csv(lineterminator="\n", **options))
    # The csv module before Python 3.13 does not quote a carriage return, which readers take for a line end.
    if "\r" in text:
        text = str(frame.to_csv(lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, **options))
    return text


def _apply_decimal_sign(decimal: str, value: Any) -> Any:
    """Return a finite float or Decimal as text with the decimal sign, and any other value as it is."""
    is_number = isinstance(value, float | np.floating | Decimal) and math.isfinite(value)
    return str(value).replace(".", decimal) if is_number else value


def write_frames(
    frames: Iterable[pd.DataFrame],
    out: str | os.PathLike[str],
    *,
    source: Source | None = None,
    dialect: Dialect | None = None,
) -> Path:
    """Write frames with the same columns one after another.

    The output path is validated before the first frame is computed.

    Parameters
    ----------
    frames : iterable of DataFrame
        At least one. The index is written unless it is a range without a name.
    out : path
        A file that ends in .parquet, .csv or .tsv, or for compressed CSV also in .gz, .bz2 or .xz, which is
        replaced if it exists; or a folder, new or empty, for files ``part-00000.parquet`` and so on.
    source : Source, optional
        Source from which the frames are computed, which must not contain `out`.
    dialect : Dialect, optional
        Separator and decimal sign of CSV.

    Returns
    -------
    Path
        Path of the file or folder.

    Raises
    ------
    DataError
        The path is unsuitable or belongs to the source, `frames` is empty, a frame has other columns than the
        first, pyarrow is missing, or values do not fit the types of the first frame (Parquet).
    MissingFolderError
        The folder that is to contain the output does not exist.

    Examples
    --------
    >>> import pandas as pd
    >>> write_frames([pd.DataFrame({"x": [1.0]}), pd.DataFrame({"x": [2.0]})], "x.csv")  # doctest: +SKIP
    PosixPath('x.csv')
    """
    if not isinstance(out, str | os.PathLike):
        raise DataError(f"out={out!r} is not a path.", hint="Name a .parquet or .csv file, or a folder.")
    path = validate_path(out)
    opened = _select_opener(path, os.fsdecode(out), dialect or Dialect())
    if source is not None and source.reads(str(path)):
        raise DataError(
            f"out={str(out)!r} belongs to {source.description}, from which the rows are read.",
            hint="Name another file or folder.",
        )
    frame_iterator = iter(frames)
    with close_at_end(frame_iterator), opened(path) as write:
        first = next(frame_iterator, None)
        if first is None:
            raise DataError(f"There are no rows to write to {str(out)!r}.", hint="Pass rows.")
        names = list(first.columns)
        write(first)
        for frame in frame_iterator:
            if list(frame.columns) != names:
                raise DataError(
                    f"A frame for {str(out)!r} has the columns "
                    f"{quoted_names([str(name) for name in frame.columns])}, and the first has "
                    f"{quoted_names([str(name) for name in names])}.",
                    hint="Pass frames with the same columns.",
                )
            write(frame)
    return path


Write = Callable[[pd.DataFrame], None]
Opener = Callable[[Path], AbstractContextManager[Write]]
"""Function from a path to a context manager that yields a function which appends a frame."""


def _select_opener(path: Path, path_text: str, dialect: Dialect) -> Opener:
    """Validate an output path, and return the context manager that opens it for writing.

    Parameters
    ----------
    path : Path
        Output path.
    path_text : str
        The path as the user wrote it.
    dialect : Dialect
        Separator and decimal sign of CSV.

    Returns
    -------
    callable
        See `Opener`.

    Raises
    ------
    DataError
        The extension is unknown, a folder is not empty or is a file, or pyarrow is missing.
    MissingFolderError
        The parent folder does not exist.
    """
    file_format = format_of(str(path))
    # os.path, because pathlib raises an OSError for names that are too long.
    if os.path.isdir(path) or is_folder_path(path_text) or (file_format is None and not path.suffix):
        if not path.parent.is_dir():
            raise MissingFolderError(
                ENOENT, "There is no such folder", str(path.parent), hint="Create it, or name another folder."
            )
        if path.is_dir():
            if any(path.iterdir()):
                raise DataError(
                    f"The folder {str(path)!r} is not empty.", hint="Name a new folder, or empty it."
                )
        elif os.path.lexists(path):
            raise DataError(
                f"{str(path)!r} is a file.", hint="Name a folder, or a file that ends in .parquet or .csv."
            )
        _require_pyarrow(path)
        return _open_folder
    if file_format is None or path.suffix.lower() in (".zst", ".zip"):
        raise DataError(
            f"out={path_text!r} has no known file extension.",
            hint=(
                "Name a file that ends in .parquet, .csv, .tsv, .csv.gz, .csv.bz2 or .csv.xz, or a folder."
            ),
        )
    resolve_target(path)
    if file_format == "Parquet":
        _require_pyarrow(path)
        return _open_parquet
    return partial(_open_csv, dialect=dialect)


def _require_pyarrow(path: Path) -> None:
    """Raise a DataError if pyarrow is not installed, which is required to write a file."""
    try:
        import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"{str(path)!r}: writing Parquet requires the package pyarrow.",
            hint="Install it with pip install pyarrow, or name a .csv file.",
        ) from None


@contextmanager
def _open_csv(path: Path, dialect: Dialect) -> Iterator[Write]:
    """Open a CSV file, and yield a function that appends a frame; the file replaces `path` at the end."""
    separator = dialect.separator_of(str(path))
    with atomic_write(path) as file, _open_compressed(file, path.suffix.lower()) as compressed:
        text = io.TextIOWrapper(compressed, encoding="utf-8", newline="")
        header = True

        def write(frame: pd.DataFrame) -> None:
            """Append the rows of a frame, the first after a header."""
            nonlocal header
            text.write(
                csv_text(frame, separator, dialect.decimal, header=header, index=_has_row_labels(frame))
            )
            header = False

        try:
            yield write
        finally:
            # The outer context manager closes the file.
            text.detach()


def _open_compressed(file: IO[bytes], suffix: str) -> AbstractContextManager[Any]:
    """Return a file object that compresses into an open file, or that file, by the extension `suffix`."""
    if suffix == ".gz":
        import gzip

        return gzip.open(file, "wb")
    if suffix == ".bz2":
        import bz2

        return bz2.open(file, "wb")
    if suffix == ".xz":
        import lzma

        return lzma.open(file, "wb")
    return nullcontext(file)


@contextmanager
def _open_parquet(path: Path) -> Iterator[Write]:
    """Open a Parquet file, and yield a function that appends a frame; the file replaces `path` at the end."""
    with atomic_write(path) as file:
        parquet = _ParquetWriter(path)
        parquet.begin(file)
        yield parquet.write
        parquet.end()


@contextmanager
def _open_folder(path: Path) -> Iterator[Write]:
    """Open a folder of Parquet files, and yield a function that appends a frame.

    The files are written to a temporary folder, which replaces `path` (missing or empty) at the end.
    """
    target = Path(os.path.realpath(path))
    with temporary_folder(target, path) as temporary:
        parts_folder = temporary / "parts"
        parts_folder.mkdir()
        with ExitStack() as stack:
            parquet = _ParquetWriter(path)
            number = 0

            def write(frame: pd.DataFrame) -> None:
                """Append the rows of a frame, to a new file if the current one is complete."""
                nonlocal number
                if parquet.rows >= MAX_FILE_ROWS:
                    parquet.end()
                    stack.close()
                if parquet.rows == 0 and not parquet.is_open:
                    parquet.begin(stack.enter_context(open(parts_folder / f"part-{number:05}.parquet", "xb")))
                    number += 1
                parquet.write(frame)

            yield write
            parquet.end()
        if target.is_dir():
            target.rmdir()
        os.rename(parts_folder, target)


class _ParquetWriter:
    """Writer of frames to Parquet files, of which one is open at a time; each row group has several frames.

    Parameters
    ----------
    path : Path
        Output path, for messages.

    Attributes
    ----------
    is_open : bool
        Whether a file is open.
    rows : int
        Number of rows in the current file, written or waiting; 0 if no file is open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._schema: Any = None
        self._index = False
        self._file: Any = None
        self._writer: Any = None
        self._pending_tables: list[Any] = []
        self.is_open = False
        self.rows = 0

    def begin(self, file: IO[bytes]) -> None:
        """Write the following frames to this open file, which the caller closes after `end`."""
        self._file = file
        self._writer = None
        self.is_open = True
        self.rows = 0

    def write(self, frame: pd.DataFrame) -> None:
        """Append rows, which are written when there are enough for a row group."""
        table = self._to_arrow(frame)
        self._pending_tables.append(table)
        self.rows += len(table)
        if sum(map(len, self._pending_tables)) >= MIN_GROUP_ROWS:
            self._flush()

    def end(self) -> None:
        """Write the remaining rows, and finish the file; do nothing if none is open."""
        if self.is_open:
            self._flush()
            self._writer.close()
            self.is_open = False
            self.rows = 0

    def _flush(self) -> None:
        """Write the waiting rows as a row group."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._writer = pq.ParquetWriter(self._file, self._schema)
        if self._pending_tables:
            table = pa.concat_tables(self._pending_tables).unify_dictionaries()
            self._pending_tables = []
            self._writer.write_table(table, row_group_size=max(len(table), 1))

    def _to_arrow(self, frame: pd.DataFrame) -> Any:
        """Convert a frame to an Arrow table with the schema of the first frame, which is stored.

        Raises a DataError if values cannot be converted.
        """
        import pyarrow as pa

        if self._schema is None:
            self._index = _has_row_labels(frame)
        try:
            if self._schema is not None:
                # The names in a schema are text, but columns may be named by classes of other types.
                frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
            table = pa.Table.from_pandas(frame, self._schema, preserve_index=self._index)
            if self._schema is None:
                # Columns whose values are all missing so far are labels or other text, not numbers.
                fields = [f.with_type(pa.string()) if pa.types.is_null(f.type) else f for f in table.schema]
                self._schema = pa.schema(fields, table.schema.metadata)
                table = table.cast(self._schema)
        except (pa.ArrowException, ValueError, KeyError) as error:
            message = ", ".join(str(argument) for argument in error.args).rstrip(".")
            raise DataError(
                f"Some values cannot be written to {str(self._path)!r}, whose columns have the types of "
                f"the first rows: {message}.",
                hint="Convert the column, or write a .csv file.",
            ) from error
        return table


def _has_row_labels(frame: pd.DataFrame) -> bool:
    """Return whether the index of a frame has labels to write: it is not a range, or has a name."""
    return not isinstance(frame.index, pd.RangeIndex) or frame.index.name is not None
