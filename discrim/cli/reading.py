"""What the command line reads as a table: a bundled one, or a file of CSV or Parquet, read into memory."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from discrim import datasets
from discrim.cli.files import readable
from discrim.cli.labels import Labels
from discrim.cli.parser import nearest
from discrim.errors import DataError, DiscrimError, warn_user

if TYPE_CHECKING:
    import pandas as pd

    from discrim.frame.sources.dialect import Dialect

__all__ = ["first_rows", "read_table", "refuse_dialect", "warn_of_commas"]

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst", ".tar")


def read_table(source: str, labels: Labels | None = None, dialect: Dialect | None = None) -> Any:
    """Read a table by the name of a bundled one or of a file.

    Parameters
    ----------
    source : str
        As DATA on the command line.
    labels : Labels, optional
        Columns that hold labels and no measurements, which are kept as they are written.
    dialect : Dialect, optional
        How CSV is written.

    Returns
    -------
    DataFrame
        Of pandas, or of polars where a Parquet file is read without pyarrow.

    Raises
    ------
    DataError
        The file cannot be read as a table, or two columns have the same name.
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> read_table("iris").shape
    (150, 5)
    """
    if source in datasets.names():
        refuse_dialect(source, "a table of the package", dialect)
        return datasets.load(source)
    if "://" in source:
        raise DataError(f"{source!r} is an address, not a file: download it first")
    suffixes = [suffix.lower() for suffix in PurePath(source).suffixes]
    packed = any(suffix in _COMPRESSED for suffix in suffixes[-1:])
    kind = next((suffix for suffix in reversed(suffixes) if suffix not in _COMPRESSED), "")
    try:
        if kind in (".parquet", ".pq"):
            refuse_dialect(source, "Parquet", dialect)
            return _read_parquet(source)
        return _read_delimited(source, labels or Labels(), dialect)
    except DiscrimError:
        raise
    except FileNotFoundError:
        way_out = _meant(source)
        raise DataError(f"{source!r} is neither a file nor a table of the package{way_out}") from None
    except UnicodeDecodeError as error:
        if kind in (".parquet", ".pq"):
            raise DataError(f"{source!r} cannot be read as Parquet: {error}. Write it again") from error
        raise DataError(f"{source!r} is not text in UTF-8: save it as CSV in UTF-8, or Parquet") from error
    except MemoryError as error:
        raise DataError(f"{source!r} is larger than the memory: give some of its rows or columns") from error
    except Exception as error:
        # Readers of packed files and of Parquet raise errors of kinds that only they know.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        said = str(error).strip().rstrip(".") or type(error).__name__
        fault, way = "read as a table", "Give a CSV or Parquet file"
        if packed and not isinstance(error, ValueError):
            fault, way = "unpacked", "Download or pack it again"
        raise DataError(f"{source!r} cannot be {fault}: {said}. {way}") from error


def refuse_dialect(source: str, what: str, dialect: Dialect | None) -> None:
    """Raise where it was said how CSV is written of something that is none."""
    if dialect is not None and dialect != type(dialect)():
        raise DataError(f"--sep and --decimal are for CSV, and {source!r} is {what}: leave them out")


def _meant(source: str) -> str:
    """The way out of a name that is neither that of a file nor that of a table."""
    folder, name = os.path.split(source)
    known = [] if folder else datasets.names()
    with suppress(OSError):
        known += [each for each in os.listdir(folder or ".") if not each.startswith(".")]
    near = nearest(name, known)
    if near is not None:
        return f": did you mean {os.path.join(folder, near)}?"
    return f": name a file, or one of {', '.join(datasets.names())}"


def _read_delimited(source: str, labels: Labels, dialect: Dialect | None) -> pd.DataFrame:
    """Read text columns, and refuse or report what pandas would mend in silence."""
    import pandas as pd

    from discrim.frame.sources.dialect import Dialect, refuse_other_separator

    dialect = dialect or Dialect()
    file, options = readable(source), dialect.options(source)
    header = pd.read_csv(file, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    given = [str(name) for name in header.iloc[0]]
    refuse_other_separator(source, file, given, dialect)
    twice = [name for name, times in Counter(given).items() if name and times > 1]
    if twice:
        raise DataError(f"{source!r} has more than one column named {twice[0]!r}: rename all but one")
    if not isinstance(file, str):
        file.seek(0)
    dtypes: Any = dict.fromkeys(labels.as_text(given), str)
    table: pd.DataFrame = labels.with_types(pd.read_csv(file, dtype=dtypes, **options))
    if not isinstance(table.index, pd.RangeIndex):
        raise DataError(f"{source!r} has rows longer than its first: give every column a name there")
    warn_of_commas(table, source, labels)
    for position, name in enumerate(given):
        if not name:
            read_as = table.columns[position]
            message = (
                f"column {position + 1} of {source!r} has no name and is called {read_as!r}: "
                f"leave it out with - `{read_as}` if it only numbers the rows"
            )
            warn_user(message)
    return table


def first_rows(path: str, dialect: Dialect | None) -> pd.DataFrame:
    """Some rows of a file of CSV that can be read."""
    import pandas as pd

    from discrim.frame.sources.dialect import SAMPLE, Dialect

    rows: pd.DataFrame = pd.read_csv(path, nrows=SAMPLE, **(dialect or Dialect()).options(path))
    return rows


def warn_of_commas(table: pd.DataFrame, source: str, labels: Labels) -> None:
    """Warn of a column that is text only because its numbers have decimal commas."""
    from discrim.frame.sources.dialect import decimal_commas

    names = [str(name) for name in table.columns]
    as_text = set(labels.as_text(names))
    found = decimal_commas(table, [name for name in names if name not in as_text])
    if found is not None:
        warn_user(
            f"column {found[0]!r} of {source!r} is read as text such as {found[1]!r}: give --decimal , if "
            "that is a number"
        )


def _read_parquet(source: str) -> Any:
    """Read Parquet with what there is: pandas' engine, else polars."""
    import pandas as pd

    try:
        file: Any = readable(source)
        return _whole_columns(pd.read_parquet(file), file)
    except ImportError:
        pass
    try:
        import polars as pl
    except ImportError:
        raise DataError(f"{source!r}: Parquet needs pyarrow or polars: pip install pyarrow") from None
    try:
        return pl.read_parquet(source)
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{source!r} cannot be read as Parquet: {error}. Give a Parquet file, or name the file .csv "
            "if it is one"
        ) from error


def _whole_columns(table: pd.DataFrame, file: Any) -> pd.DataFrame:
    """Read whole numbers of Parquet beside missing ones again, as whole numbers.

    Parameters
    ----------
    table : DataFrame
        As pandas reads the file: such columns are floating, and beyond 2^53 they are rounded.
    file : str or file object
    """
    import pandas as pd

    floating = [str(name) for name, dtype in table.dtypes.items() if dtype == "float64"]
    holed = [name for name in floating if bool(table[name].isna().any())]
    if not holed:
        return table
    if not isinstance(file, str):
        file.seek(0)
    again = pd.read_parquet(file, columns=holed, dtype_backend="numpy_nullable")
    whole = [name for name in holed if pd.api.types.is_integer_dtype(again[name].dtype)]
    return table.assign(**{name: again[name] for name in whole}) if whole else table
