"""How the fields and the numbers of CSV are written, and what is said where it is in another way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from discrim.errors import DataError
from discrim.frame.sources.files import COMPRESSED

__all__ = ["Dialect", "SeparatorError", "decimal_commas", "refuse_other_separator"]

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
