"""Read DATA of the command line: a data set of the package, or CSV or Parquet files.

A file is read into memory, and decompressed here if pandas would not detect damage at its end. Folders,
patterns and large files are read in chunks. Class labels and categories are read as they are spelled in the
file.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from discrim import datasets
from discrim.cli.output import read_standard_input
from discrim.cli.parsing import closest_word
from discrim.errors import DataError, DiscrimError, missing_package, warn_user

if TYPE_CHECKING:
    import pandas as pd

    from discrim.data.sources.base import Source
    from discrim.data.sources.files import Dialect


def open_rereadable(source: str) -> str | io.StringIO | io.BytesIO:
    """Return an object that can be read twice: the path itself, or the contents as a buffer.

    Standard input ("-") and pipes are read here. Tar archives and zstd files are decompressed here: pandas
    does not read tar archives to the end, and would miss damage there, and it accepts truncated zstd files. A
    damaged file raises the error of the decompressor; a device, or an archive of several files, is a
    DataError.

    Examples
    --------
    >>> open_rereadable("table.csv.gz")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: 'table.csv.gz'
    """
    if source == "-":
        return io.StringIO(read_standard_input())
    mode = os.stat(source).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise DataError(f"{source!r} is a device, not a file.", hint="Name a file, or - for standard input.")
    stem, suffix = os.path.splitext(source.lower())
    if suffix == ".tar" or stem.endswith(".tar"):
        return io.BytesIO(_extract_only_file(source, suffix))
    if suffix == ".zst" or stat.S_ISFIFO(mode):
        return io.BytesIO(_decompress(source, suffix))
    return source


def _extract_only_file(source: str, suffix: str) -> bytes:
    """Return the contents of the only file of a tar archive; raise a DataError if there are several or none.

    `suffix` is the extension in lower case, such as ".gz" of a compressed archive.
    """
    import tarfile

    archive_bytes = io.BytesIO(_decompress(source, suffix))
    with tarfile.open(fileobj=archive_bytes, mode="r:") as archive:
        members = [member for member in archive if not member.isdir()]
        file = archive.extractfile(members[0]) if len(members) == 1 and members[0].isreg() else None
        # A sparse file may have holes that are larger than the memory.
        if file is None or members[0].issparse():
            raise DataError(
                f"{source!r} is not an archive of one file.", hint="Unpack it, and name the CSV file."
            )
        return file.read()


def _decompress(source: str, suffix: str) -> bytes:
    """Return the contents of a file, decompressed according to its extension."""
    if suffix == ".zst":
        return _decompress_zstd(source)
    module = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}.get(suffix, "builtins")
    with import_module(module).open(source, "rb") as packed:
        contents: bytes = packed.read()
    return contents


def _decompress_zstd(source: str) -> bytes:
    """Return the contents of all frames of a zstd file; raise an EOFError if the last one is truncated."""
    with open(source, "rb") as file:
        compressed = file.read()
    frames: list[bytes] = []
    while compressed or not frames:
        frame = _zstd_frame(source)
        frames.append(frame.decompress(compressed))
        if not frame.eof:
            raise EOFError("the file is truncated")
        compressed = frame.unused_data
    return b"".join(frames)


def _zstd_frame(source: str) -> Any:
    """Return a decompressor of one zstd frame, from the standard library (Python 3.14) or a package."""
    try:
        return import_module("compression.zstd").ZstdDecompressor()
    except ImportError:
        pass
    try:
        return import_module("zstandard").ZstdDecompressor().decompressobj()
    except ImportError:
        raise missing_package(f"{source!r}", "zstandard", alternative="unpack it first") from None


class LabelColumns(NamedTuple):
    """Columns that contain class labels or levels of factors, and how they are read.

    Attributes
    ----------
    typed : frozenset of str
        Columns that are read as text and then converted to numbers or booleans if that is lossless.
    text : frozenset of str
        Columns that remain text.
    numbers : frozenset of str or None
        If not None, all columns except these remain text.
    """

    typed: frozenset[str] = frozenset()
    text: frozenset[str] = frozenset()
    numbers: frozenset[str] | None = None

    def columns_to_read_as_text(self, names: Sequence[str]) -> list[str]:
        """Select the columns, among `names`, that are read as text."""
        converted_columns = self.numbers
        return [
            name
            for name in names
            if name in self.typed
            or name in self.text
            or (converted_columns is not None and name not in converted_columns)
        ]

    def convert_typed_columns(self, table: Any) -> Any:
        """Convert the typed columns of a DataFrame to numbers or booleans, if that loses nothing."""
        from discrim.data.values import convert_text_labels

        converted = {name: convert_text_labels(table[name]) for name in table.columns if name in self.typed}
        return table.assign(**converted) if converted else table


def label_columns_to_fit(*formulas: str) -> LabelColumns:
    """Return the columns that contain labels according to the formulas that are to be fitted."""
    from discrim.formula.formula import label_columns_of_formula

    return LabelColumns(
        typed=frozenset(name for formula in formulas for name in label_columns_of_formula(formula))
    )


def label_columns_of_fit(fit: Any, *, keeps_unread: bool) -> LabelColumns:
    """Return the columns that contain labels (classes or levels) in a table that is to be predicted by a fit.

    Columns whose levels in the fit are text remain text, others are converted.

    Parameters
    ----------
    fit : object
        Results of a verb.
    keeps_unread : bool
        Whether columns that the fit does not use are read as text, so that they are written unchanged.

    Returns
    -------
    LabelColumns
        Empty if the fit lacks a design.
    """
    from discrim.formula.formula import label_columns_of_design

    fitted_model = getattr(fit, "_fit", None)
    design_rows = None if fitted_model is None else fitted_model.design_rows
    if design_rows is None:
        return LabelColumns()
    design = design_rows.design
    is_text_by_column = label_columns_of_design(design)
    text = frozenset(name for name, is_text in is_text_by_column.items() if is_text)
    numeric_columns = frozenset(design.columns) - set(is_text_by_column) if keeps_unread else None
    return LabelColumns(frozenset(is_text_by_column) - text, text, numeric_columns)


_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".tar")


def read_table(source: str, labels: LabelColumns | None = None, dialect: Dialect | None = None) -> Any:
    """Read a data set of the package or a file into a DataFrame.

    Parameters
    ----------
    source : str
        Name of a data set, path of a file, or "-" for standard input.
    labels : LabelColumns, optional
        Columns that are read as text; by default none.
    dialect : Dialect, optional
        Separator and decimal sign of CSV.

    Returns
    -------
    DataFrame
        Of polars if a Parquet file is read without pyarrow.

    Raises
    ------
    DataError
        The source does not exist, cannot be read as a table, or is larger than the memory. An OSError with a
        file name, such as missing permission, is raised unchanged.

    Examples
    --------
    >>> read_table("iris").shape
    (150, 5)
    """
    if source in datasets.names():
        check_no_csv_options(source, "a data set of the package", dialect)
        return datasets.load(source)
    if "://" in source:
        raise DataError(f"{source!r} is an address, not a file.", hint="Download it first.")
    suffixes = [suffix.lower() for suffix in PurePath(source).suffixes]
    is_compressed = any(suffix in _COMPRESSED for suffix in suffixes[-1:])
    extension = next((suffix for suffix in reversed(suffixes) if suffix not in _COMPRESSED), "")
    is_parquet = extension in (".parquet", ".pq", ".parq")
    try:
        if is_parquet:
            check_no_csv_options(source, "Parquet", dialect)
            return _read_parquet(source)
        return _read_delimited(source, labels or LabelColumns(), dialect)
    except DiscrimError:
        raise
    except FileNotFoundError:
        raise DataError(
            f"{source!r} is neither a file nor a data set of the package.", hint=_hint_for_source(source)
        ) from None
    except UnicodeDecodeError as error:
        if is_parquet:
            raise DataError(
                f"{source!r} cannot be read as Parquet: {error}.", hint="Write it again."
            ) from error
        raise DataError(
            f"{source!r} is not text in UTF-8.", hint="Save it as CSV in UTF-8, or Parquet."
        ) from error
    except MemoryError as error:
        raise DataError(
            f"{source!r} is larger than the memory.", hint="Use some of its rows or columns."
        ) from error
    except Exception as error:
        # Decompressors and Parquet readers raise errors of their own classes.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        reason = str(error).strip().rstrip(".") or type(error).__name__
        fault = "read as a table"
        hint = "Use a CSV or Parquet file."
        if is_compressed and not isinstance(error, ValueError):
            fault = "unpacked"
            hint = "Download or pack it again."
        raise DataError(f"{source!r} cannot be {fault}: {reason}.", hint=hint) from error


def check_no_csv_options(source: str, description: str, dialect: Dialect | None) -> None:
    """Raise a DataError if a dialect other than the default was passed for data that are not CSV.

    `description` says what `source` is instead, such as "Parquet".
    """
    if dialect is not None and dialect != type(dialect)():
        raise DataError(
            f"--sep and --decimal are for CSV, and {source!r} is {description}.", hint="Leave them out."
        )


def _hint_for_source(source: str) -> str:
    """Return the hint for a path that does not exist: a similar name, or the names of the data sets."""
    folder, name = os.path.split(source)
    known_names = [] if folder else datasets.names()
    with suppress(OSError):
        known_names += [file_name for file_name in os.listdir(folder or ".") if not file_name.startswith(".")]
    closest = closest_word(name, known_names)
    if closest is not None:
        return f"Did you mean {os.path.join(folder, closest)}?"
    return f"Name a file, or one of {', '.join(datasets.names())}."


def _read_delimited(source: str, labels: LabelColumns, dialect: Dialect | None) -> pd.DataFrame:
    """Read a CSV file, and raise errors or warnings for defects that pandas would repair silently.

    Parameters
    ----------
    source : str
        Path of the file, or "-" for standard input.
    labels : LabelColumns
        Columns that are read as text.
    dialect : Dialect or None
        Separator and decimal sign.

    Returns
    -------
    DataFrame
    """
    import pandas as pd

    from discrim.data.sources.files import Dialect, raise_if_nul, raise_if_wrong_separator

    dialect = dialect or Dialect()
    file = open_rereadable(source)
    options = dialect.read_csv_options(source)
    header = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    header_names = [str(name) for name in header.iloc[0]]
    raise_if_wrong_separator(source, file, header_names, dialect)
    raise_if_nul(source, file)
    duplicates = [name for name, count in Counter(header_names).items() if name and count > 1]
    if duplicates:
        raise DataError(
            f"{source!r} has more than one column named {duplicates[0]!r}.", hint="Rename all but one."
        )
    if not isinstance(file, str):
        file.seek(0)
    dtypes: Any = dict.fromkeys(labels.columns_to_read_as_text(header_names), str)
    table: pd.DataFrame = labels.convert_typed_columns(pd.read_csv(file, dtype=dtypes, **options))
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(
            f"{source!r} has rows with more fields than the header.", hint="Name every column in the header."
        )
    warn_of_decimal_commas(table, source, labels)
    for position, name in enumerate(header_names):
        if not name:
            _warn_of_unnamed_column(position + 1, source, table.columns[position])
    return table


def _warn_of_unnamed_column(position: int, source: str, name: str) -> None:
    """Warn of a column without a name, by its position from 1."""
    warn_user(
        f"column {position} of {source!r} has no name and is called {name!r}: "
        f"exclude it with - `{name}` if it only numbers the rows"
    )


def read_first_rows(path: str, dialect: Dialect | None) -> pd.DataFrame:
    """Read the first `N_SAMPLED_ROWS` rows of a CSV file."""
    import pandas as pd

    from discrim.data.sources.files import N_SAMPLED_ROWS, Dialect

    rows: pd.DataFrame = pd.read_csv(
        path, nrows=N_SAMPLED_ROWS, **(dialect or Dialect()).read_csv_options(path)
    )
    return rows


def warn_of_decimal_commas(table: pd.DataFrame, source: str, labels: LabelColumns) -> None:
    """Warn of a column that is text only because its numbers have decimal commas.

    Parameters
    ----------
    table : DataFrame
        The first rows or all rows.
    source : str
        Name of the file.
    labels : LabelColumns
        Columns that are meant to be text, without a warning.
    """
    from discrim.data.sources.files import find_decimal_comma_column

    names = [str(name) for name in table.columns]
    as_text = set(labels.columns_to_read_as_text(names))
    name_and_text = find_decimal_comma_column(table, [name for name in names if name not in as_text])
    if name_and_text is not None:
        warn_user(
            f"column {name_and_text[0]!r} of {source!r} is read as text such as {name_and_text[1]!r}: add "
            "--decimal , if it is numeric"
        )


def _read_parquet(source: str) -> Any:
    """Read a Parquet file with pandas, or with polars if pandas lacks an engine."""
    import pandas as pd

    try:
        file: Any = open_rereadable(source)
        return _restore_integers(pd.read_parquet(file), file)
    except ImportError:
        pass
    try:
        import polars as pl
    except ImportError:
        raise missing_package(f"{source!r}", "pyarrow", alternative="install polars") from None
    try:
        return pl.read_parquet(source)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{source!r} cannot be read as Parquet: {error}.",
            hint="Use a Parquet file, or rename the file to .csv if it is CSV.",
        ) from error


def _restore_integers(table: pd.DataFrame, file: Any) -> pd.DataFrame:
    """Return a table from Parquet in which integer columns with missing values have the dtype Int64.

    pandas makes them float64, so they are read again from `file`, the path or buffer of the Parquet file from
    which `table` was read.
    """
    import pandas as pd

    floating = [str(name) for name, dtype in table.dtypes.items() if dtype == "float64"]
    with_missing = [name for name in floating if bool(table[name].isna().any())]
    if not with_missing:
        return table
    if not isinstance(file, str):
        file.seek(0)
    nullable = pd.read_parquet(file, columns=with_missing, dtype_backend="numpy_nullable")
    integer_columns = [name for name in with_missing if pd.api.types.is_integer_dtype(nullable[name].dtype)]
    return table.assign(**{name: nullable[name] for name in integer_columns}) if integer_columns else table


MIN_CHUNKED_BYTES = 2**28
MIN_CHUNKED_COMPRESSED_BYTES = 2**26
"""Size in bytes from which a plain text file, or a compressed or Parquet file, is read in chunks."""

_UNNAMED = re.compile(r"Unnamed: ([0-9]+)")
"""Name that pandas assigns to a column without a name."""


def chunked_source(data: str, labels: LabelColumns, dialect: Dialect | None = None) -> Source | None:
    """Return the source of a folder, a pattern or a large file; None for tables that are read into memory.

    Parameters
    ----------
    data : str
        DATA of the command line.
    labels : LabelColumns
        Columns that are read as text.
    dialect : Dialect, optional
        Separator and decimal sign of CSV.

    Returns
    -------
    Source or None

    Examples
    --------
    >>> chunked_source("iris", LabelColumns()) is None
    True
    """
    if not _is_read_in_chunks(data):
        return None
    from discrim.data.sources.files import files_of
    from discrim.data.sources.sources import source_of

    files = files_of(data)
    if files.format != "CSV":
        check_no_csv_options(data, files.format, dialect)
        return source_of(data)
    from discrim.data.sources.files import TextLabelSource

    source = TextLabelSource(files, labels.columns_to_read_as_text, labels.typed, dialect)
    warn_of_decimal_commas(read_first_rows(files.files[0].path, dialect), files.files[0].path, labels)
    for name in source.names:
        if unnamed := _UNNAMED.fullmatch(name):
            _warn_of_unnamed_column(int(unnamed[1]) + 1, files.files[0].path, name)
    return source


def _is_read_in_chunks(data: str) -> bool:
    """Return whether DATA is a folder, a pattern or a file of at least `MIN_CHUNKED_BYTES`.

    The limit of compressed and Parquet files is `MIN_CHUNKED_COMPRESSED_BYTES`. Other extensions than those
    of CSV and Parquet are never read in chunks.
    """
    if data == "-" or data in datasets.names() or "://" in data:
        return False
    from glob import has_magic

    from discrim.data.sources.files import COMPRESSED, format_of

    path = os.path.expanduser(data)
    if not os.path.isfile(path):
        return os.path.isdir(path) or (has_magic(path) and not os.path.exists(path))
    file_format = format_of(path)
    is_compressed = file_format == "Parquet" or PurePath(path).suffix.lower() in COMPRESSED
    return file_format is not None and os.path.getsize(path) >= (
        MIN_CHUNKED_COMPRESSED_BYTES if is_compressed else MIN_CHUNKED_BYTES
    )


def distinct_labels(source: Source, name: str) -> list[Any]:
    """Return the distinct labels in a column of a source, in order of appearance, by a pass over it.

    They include a missing value, if there is one.
    """
    from discrim.core.numerics.progress import Progress
    from discrim.design.source_tables import chunk_tables

    labels: dict[Any, None] = {}
    with Progress(source.nrows or 0, "classes of rows") as progress:
        for table, _ in chunk_tables(source, [name]):
            # The native column: next to missing values `column` would convert integers to float64.
            values = table.native(name).unique()
            labels.update(dict.fromkeys(values.to_list() if hasattr(values, "to_list") else values.tolist()))
            progress(table.nrows)
    return list(labels)


class TableArgument(NamedTuple):
    """The argument DATA of the command line, and the separator and decimal sign with which it is read.

    Attributes
    ----------
    data : str
        Name of a data set, path, pattern, or "-" for standard input.
    dialect : Dialect
        Separator and decimal sign of CSV.
    """

    data: str
    dialect: Any

    def rows(self, labels: LabelColumns) -> Any:
        """Return a source that is read in chunks if DATA is large, else the table in memory.

        The columns in `labels` are read as text first, see `LabelColumns`.
        """
        return chunked_source(self.data, labels, self.dialect) or self.table(labels)

    def table(self, labels: LabelColumns | None = None) -> Any:
        """Read the table into memory as a DataFrame, however large it is.

        The columns in `labels` are read as text first, see `LabelColumns`; by default none. Errors are those
        of `read_table`.
        """
        return read_table(self.data, labels, self.dialect)

    @property
    def is_csv(self) -> bool:
        """Whether DATA is CSV, and not a data set of the package or Parquet."""
        from discrim.data.sources.files import files_of, format_of

        if _is_read_in_chunks(self.data):
            return files_of(self.data).format == "CSV"
        return self.data not in datasets.names() and format_of(self.data) != "Parquet"


def pop_table_options(options: dict[str, Any]) -> TableArgument:
    """Remove the options data, sep and decimal from a dictionary, and return them.

    Raises a DataError if the separator is the decimal sign.
    """
    from discrim.data.sources.files import Dialect

    data, separator, decimal = (options.pop(name, None) for name in ("data", "sep", "decimal"))
    dialect = Dialect(separator, decimal or ".")
    _raise_if_decimal_as_separator(dialect, data, "--sep ';' or another separator")
    return TableArgument(data, dialect)


def pop_output_dialect(options: dict[str, Any], table_argument: TableArgument, out: str | None) -> Dialect:
    """Remove the options of the output's CSV dialect from a dictionary, and return the dialect.

    Parameters
    ----------
    options : dict
        Options of the command line, which is updated.
    table_argument : TableArgument
        The input, whose dialect is the default.
    out : str or None
        The file to write, None for standard output.

    Returns
    -------
    Dialect
        A file named .tsv has tabs unless another separator was requested.

    Raises
    ------
    DataError
        An option was passed for a file that is not CSV, or the separator is the decimal sign.
    """
    from discrim.data.sources.files import Dialect, format_of

    separator = options.pop("out_sep", None)
    decimal = options.pop("out_decimal", None)
    is_csv = out is None or format_of(out) == "CSV"
    if not is_csv and (separator is not None or decimal is not None):
        option = "--out-sep" if separator is not None else "--out-decimal"
        raise DataError(
            f"{option} is for CSV, and {out!r} is not CSV.", hint="Leave it out, or name a .csv file."
        )
    if not is_csv:
        return Dialect()
    if separator is None and out is None:
        separator = table_argument.dialect.separator_of(table_argument.data)
    elif separator is None and Dialect().separator_of(str(out)) == ",":
        separator = table_argument.dialect.separator
    dialect = Dialect(separator, decimal or table_argument.dialect.decimal)
    target = out or "standard output"
    _raise_if_decimal_as_separator(
        dialect, target, "--out-sep ';', or another decimal sign with --out-decimal"
    )
    return dialect


def _raise_if_decimal_as_separator(dialect: Dialect, path: str, hint: str) -> None:
    """Raise a DataError if the decimal sign of a file is its separator; the hint is "Use {hint}."."""
    if dialect.separator_of(path) == dialect.decimal:
        raise DataError(
            f"Numbers of {path!r} cannot have the decimal sign {dialect.decimal!r}, which separates "
            "its fields.",
            hint=f"Use {hint}.",
        )
