"""Files of CSV as one table, read in parts as `pandas.read_csv` reads them, with one kind of value a column.

What a column holds is what its first values say: truth values, whole numbers, numbers or text. Whole numbers
may be missing or become fractions later. Any other value that does not fit is an error that names it:
pandas, which has the whole of a file before it, would make text of all the others.

How the fields and the numbers of CSV are written, and what is said where it is in another way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from discrim.errors import DataError, DiscrimError, UnreadableFileError
from discrim.frame.categories import shown
from discrim.frame.sources.files import COMPRESSED, Files
from discrim.frame.sources.parts import Part, Source, batch_rows, one_line, refuse_twice
from discrim.frame.values import pandas_kind

SIGNS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""What separates fields, and what it is called."""

_DECIMAL_COMMA = re.compile(r"\s*[-+]?[0-9]*,[0-9]+(e[-+]?[0-9]+)?\s*", re.IGNORECASE)

SAMPLE = 50
"""Rows that tell how numbers are written."""


class Dialect(NamedTuple):
    """How CSV is written.

    Attributes
    ----------
    separator : str or None
        The sign between two fields; None: tabs in files whose names have .tsv, else commas.
    decimal : str
        The decimal sign of numbers.
    """

    separator: str | None = None
    decimal: str = "."

    def separator_of(self, path: str) -> str:
        """The sign between two fields of a file."""
        if self.separator is not None:
            return self.separator
        suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
        return "\t" if [each for each in suffixes if each not in COMPRESSED][-1:] == [".tsv"] else ","

    def options(self, path: str) -> dict[str, Any]:
        """What `pandas.read_csv` is told of a file."""
        exact: dict[str, Any] = {}
        # pandas before 3.1 reads numbers fast and wrong in the last digit unless told otherwise.
        if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
            exact = {"float_precision": "round_trip"}
        return {"sep": self.separator_of(path), "decimal": self.decimal} | exact


class SeparatorError(DataError):
    """A file has other signs between its fields than those that it was read by.

    Attributes
    ----------
    on_command_line : str
        What the command line says of it.
    """

    def __init__(self, message: str, on_command_line: str) -> None:
        super().__init__(message)
        self.on_command_line = on_command_line


def refuse_other_separator(path: str, file: Any, written: Sequence[str], dialect: Dialect) -> None:
    """Raise where the first line of a file is one field, in which other separators stand.

    Parameters
    ----------
    path : str
        What the file is called.
    file : str or file object
        What is read; a file object is left where it stands after that.
    written : sequence of str
        The fields of the first line.
    dialect : Dialect
        By which it was read; one with a separator was asked for, and nothing is refused.

    Raises
    ------
    SeparatorError
    """
    if len(written) != 1 or dialect.separator is not None:
        return
    own = dialect.separator_of(path)
    counts = {sign: written[0].count(sign) for sign in SIGNS if sign != own}
    sign = max(counts, key=lambda each: counts[each])
    if counts[sign]:
        _refuse(path, file, sign, counts[sign], own, written[0])


def _refuse(path: str, file: Any, sign: str, count: int, own: str, line: str) -> NoReturn:
    if re.fullmatch(r"(?i)sep=.", line):
        fault = f"the first line of {path!r} is {line!r}, which tells Excel how the others are written"
        raise SeparatorError(f"T{fault[1:]}: leave that line out.", f"{fault}: leave that line out")
    if not isinstance(file, str):
        file.seek(0)
    rows = pd.read_csv(
        file,
        sep=sign,
        header=None,
        skiprows=1,
        nrows=SAMPLE,
        dtype=str,
        keep_default_na=False,
        on_bad_lines="skip",
    )
    comma = sign != "," and bool(
        rows.map(lambda text: bool(_DECIMAL_COMMA.fullmatch(str(text)))).to_numpy().any()
    )
    fault = (
        f"the first line of {path!r} has {count} {SIGNS[sign]}{'s' if count > 1 else ''} and no {SIGNS[own]}"
    )
    decimal = (", decimal=','", " --decimal ,") if comma else ("", "")
    typed = {"\t": "tab", ",": ","}.get(sign, f"'{sign}'")
    raise SeparatorError(
        f"T{fault[1:]}: give data=lambda: pandas.read_csv({path!r}, sep={sign!r}{decimal[0]}, "
        "chunksize=50_000).",
        f"{fault}: give --sep {typed}{decimal[1]}",
    )


def decimal_commas(table: pd.DataFrame, among: Sequence[str]) -> tuple[str, str] | None:
    """The first of some columns that is text with a decimal comma throughout, and its first value.

    Examples
    --------
    >>> decimal_commas(pd.DataFrame({"a": ["x", "y"], "b": ["1,5", "-2,25"]}), ["a", "b"])
    ('b', '1,5')
    """
    for name in among:
        column = table[name].dropna()
        if len(column) and not pd.api.types.is_numeric_dtype(column.dtype):
            texts = [str(value) for value in column.head(SAMPLE)]
            if all(map(_DECIMAL_COMMA.fullmatch, texts)):
                return name, texts[0]
    return None


Held = Literal["truth values", "whole numbers", "numbers", "text"]

_EXACT = 2.0**53
"""Up to this doubles hold every whole number."""


class CSVSource(Source):
    """Files of comma-separated values, or (.tsv) of tab-separated ones, in UTF-8, each with its header.

    Parameters
    ----------
    files : Files
        The columns are those of all of them; one that a file lacks is refused when it is asked for.
    as_text : callable, optional
        Which of the columns it is given are text, whatever they hold.
    dialect : Dialect, optional
        How the files are written.
    """

    def __init__(
        self,
        files: Files,
        as_text: Callable[[Sequence[str]], list[str]] | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self._given, self._dialect = files, dialect or Dialect()
        self._paths = [file.path for file in files.files]
        self._headers = {path: _header(path, self._dialect) for path in self._paths}
        self._held: dict[str, Held] = {}
        self._read_through = False
        super().__init__(files.what, list(dict.fromkeys(name for h in self._headers.values() for name in h)))
        self._held.update(dict.fromkeys(as_text(self.names) if as_text else (), "text"))

    def reads(self, path: str) -> bool:
        """Whether a file of this path is, or would be, one of those that are read."""
        return self._given.include(path)

    def _read(self, columns: tuple[str, ...] | None) -> Iterator[Part]:
        asked = self.names if columns is None else columns
        for path, header in self._headers.items():
            held = set(header)
            for name in (name for name in asked if name not in held):
                there = next(each for each, names in self._headers.items() if name in names)
                raise DataError(
                    f"{path!r} lacks the column {name!r}, which {there!r} has: leave the column out "
                    "of the formula, or give files that have it."
                )
        return self._parts(asked)

    def _parts(self, columns: Sequence[str]) -> Iterator[Part]:
        self._learn([name for name in columns if name not in self._held])
        for path in self._paths:
            # Only where all columns are read does pandas notice that a row has too many values.
            header = self._headers[path]
            chosen = columns if self._read_through else header
            text = [name for name in chosen if self._held.get(name, "text") == "text"]
            for frame in self._frames(path, chosen, text):
                found = {name: self._fitted(frame[name], name, path) for name in columns}
                yield Part(pd.DataFrame(found, index=frame.index), path)
        self._read_through = True

    def _learn(self, columns: Sequence[str]) -> None:
        """Learn what columns hold by the first part of the files in which each has a value."""
        unknown = list(columns)
        for path in self._paths:
            if not unknown:
                return
            for frame in self._frames(path, unknown, ()):
                found = {name: held for name in unknown if (held := _held(frame[name])) is not None}
                self._held.update(found)
                unknown = [name for name in unknown if name not in found]
                if not unknown:
                    break
        # What is missing everywhere is so whatever it would be.
        self._held.update(dict.fromkeys(unknown, "numbers"))

    def _frames(self, path: str, columns: Sequence[str], text: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The rows of a file in parts; one without rows where it has none."""
        rest: dict[str, Any] = {} if len(columns) == len(self._headers[path]) else {"usecols": list(columns)}
        dtypes: Any = dict.fromkeys(text, str)
        rest |= {"dtype": dtypes} | self._dialect.options(path)
        size = batch_rows(len(columns))
        with _read_errors(path), pd.read_csv(path, chunksize=size, low_memory=False, **rest) as reader:
            frames = iter(reader)
            for number in count():
                frame = next(frames, None)
                if frame is None:
                    if number == 0:
                        yield pd.read_csv(path, nrows=0, **rest)
                    return
                yield frame

    def _fitted(self, column: pd.Series, name: str, path: str) -> pd.Series:
        """The values of a part as what the column holds everywhere."""
        held = self._held[name]
        if held == "text":
            return column
        found = _held(column)
        if found is None:
            return pd.Series(np.nan, column.index, dtype="boolean" if held == "truth values" else "float64")
        numbers = ("whole numbers", "numbers")
        if held != found and not (held in numbers and found in numbers):
            row = int(_other_than(column, held).to_numpy().argmax())
            raise DataError(
                f"Column {name!r} holds {shown(column.iloc[row])} at row {shown(column.index[row])} of "
                f"{path!r}, and {held} before: if that stands for a missing value, give "
                f"data=lambda: pandas.read_csv({path!r}, na_values=[{str(column.iloc[row])!r}], "
                f"chunksize=50_000); if all are labels, dtype={{{name!r}: str}} in its place."
            )
        if held == "numbers":
            return column.astype(np.float64)
        whole = column.dtype == np.float64 and bool(column.isna().any()) and _whole(column.dropna())
        return column.astype("Int64") if whole else column


def _held(column: pd.Series) -> Held | None:
    """What a column that pandas has read holds, None where all of it is missing."""
    if column.isna().all():
        return None
    kind = pandas_kind(column)
    if kind == "boolean":
        return "truth values"
    if kind != "numeric":
        return "text"
    return "whole numbers" if column.dtype.kind in "iu" else "numbers"


def _whole(numbers: pd.Series) -> bool:
    return bool(((numbers % 1 == 0) & (numbers.abs() <= _EXACT)).all())


def _other_than(column: pd.Series, held: Held) -> pd.Series:
    """Which values of a column are neither missing nor what it holds elsewhere."""
    values = column.astype(object)
    if held == "truth values":
        fit = values.map(
            lambda value: isinstance(value, bool | np.bool_) or str(value).lower() in ("true", "false")
        )
    else:
        truth = values.map(lambda value: isinstance(value, bool | np.bool_))
        fit = pd.to_numeric(values.where(~truth), errors="coerce").notna()
    return column.notna() & ~fit


def _header(path: str, dialect: Dialect) -> tuple[str, ...]:
    """The names of the columns of a file, as pandas gives them.

    Raises
    ------
    DataError
        Two are the same, or rows are longer than the first; or there are other separators in the first.
    """
    options = dialect.options(path)
    with _read_errors(path):
        written = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
        names = [str(name) for name in written.iloc[0]]
        refuse_other_separator(path, path, names, dialect)
        first = pd.read_csv(path, nrows=1, **options)
    refuse_twice([name for name in names if name], repr(path))
    if not isinstance(first.index, pd.RangeIndex):
        raise DataError(f"{path!r} has rows longer than its first: give every column a name there.")
    return tuple(map(str, first.columns))


@contextmanager
def _read_errors(path: str) -> Iterator[None]:
    """Name the file of an error of reading it, which may be of a kind that only its unpacker knows."""
    try:
        yield
    except (DiscrimError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{path!r} is not text in UTF-8: save it as CSV in UTF-8, or Parquet."
        ) from error
    except Exception as error:
        said = one_line(error)
        raise UnreadableFileError(
            f"{path!r} cannot be read as CSV: {said}. Correct the file, or give a function that reads it, "
            f"as in data=lambda: pandas.read_csv({path!r}, chunksize=50_000)."
        ) from error
