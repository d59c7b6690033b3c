"""From values to levels and codes: the classes of a response, the categories of a predictor.

Levels are plain Python scalars in a fixed order, so that a fit can be saved as text and read back; codes are
positions in them. Labels of a file stay as it writes them: a reader of CSV takes 007 and 7 for one number,
and whole numbers beside a missing one for floating ones. That is right for measurements. Classes and
categories are read as text, and become numbers only where that tells all of them apart and changes none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes
from discrim.errors import DataError, warn_user

FACTORIZED = 2**13
"""Values that are looked up at once."""

ROWS_NAMED = 10
"""Rows from which text that seldom repeats is taken for the names of the rows."""

Scalar = str | int | float | bool


FIT_WITH = "or fit with this level"
"""What may be done about a value that is no level, but for a change of the rows."""


def find_levels(
    values: pd.Series, what: str, levels: Sequence[Any] | None = None, *, unused: bool = False
) -> tuple[tuple[Scalar, ...], Codes]:
    """The levels of values (those given, else the categorical's order, else sorted), and their codes.

    Parameters
    ----------
    values : (m,) Series
        None is missing.
    what : str
        What to call the values in a message, such as ``"The response 'species'"``.
    levels : sequence, optional
        All levels there may be, in order.
    unused : bool
        Keep the levels that no row has.

    Returns
    -------
    levels : tuple of str, int, float or bool
        Levels that no row has are left out, with a DiscrimWarning that names them, unless they are kept.
    codes : (m,) int array
        Positions in levels.

    Raises
    ------
    DataError
        A value that is not among the given levels, levels that repeat, or values without an order.

    Examples
    --------
    >>> find_levels(pd.Series(["b", "a", "b"]), "The response 'g'")
    (('a', 'b'), array([1, 0, 1]))
    """
    codes, uniques = _factorize(values)
    if levels is not None:
        wanted = _scalars(list(levels), what)
        if len(set(wanted)) < len(wanted):
            raise DataError(f"{what}: levels= names a level twice: {list(wanted)}. Name each once.")
    elif isinstance(values.dtype, pd.CategoricalDtype):
        wanted = _scalars(uniques, what)
    else:
        wanted = _sorted(_scalars(uniques, what), what)
    positions = _positions(values, codes, uniques, wanted, what)
    present = np.bincount(positions, minlength=len(wanted)) > 0
    if unused or present.all():
        return wanted, positions
    kept = _without_unused(wanted, present, what)
    return kept, (np.cumsum(present) - 1)[positions]


def encode(values: pd.Series, levels: Sequence[Scalar], what: str, way_out: str = FIT_WITH) -> Codes:
    """Positions of values in the levels.

    Parameters
    ----------
    values : (m,) Series
        None is missing.
    what : str
        What to call the values in a message.
    way_out : str, optional
        What the message says may be done about a value that is no level.

    Returns
    -------
    (m,) int array

    Raises
    ------
    DataError
        A value that is no level; the message names it and its row.

    Examples
    --------
    >>> encode(pd.Series(["b", "a"]), ("a", "b"), "The response 'g'")
    array([1, 0])
    """
    codes, uniques = _factorize(values)
    return _positions(values, codes, uniques, levels, what, way_out)


def refuse_numbers_as_text(values: pd.Series, name: str) -> None:
    """Raise where a text column is mostly numbers, so it was hardly meant as categories.

    Parameters
    ----------
    values : Series
        None is missing.
    name : str
        The column.

    Raises
    ------
    DataError
        More than half of the values read as numbers; the message names the first row that is text, or
        the first row where all are numbers, and both ways out.
    """
    counts = values.value_counts()
    numeric = pd.to_numeric(pd.Series(counts.index, dtype=object), errors="coerce").notna().to_numpy()
    if counts.to_numpy()[numeric].sum() * 2 <= counts.sum():
        return
    unreadable = values.isin(counts.index[~numeric]).to_numpy()
    row = int(unreadable.argmax())
    problem = "is text and not a number" if unreadable.any() else "is a number written as text"
    raise DataError(
        f"Column {name!r} is text, but most of it reads as numbers; row {shown(values.index[row])}, "
        f"{values.iloc[row]!r}, {problem}. Convert it with pd.to_numeric(..., errors='coerce'), or write "
        f"C({name}) in the formula to use it as categories."
    )


def warn_of_names(levels: int, rows: int, what: str, code: str) -> None:
    """Warn of text with another level on most rows: it names the rows, and no new row has its levels."""
    if rows >= ROWS_NAMED and 2 * levels > rows:
        warn_user(
            f"{what} has {levels:,} different texts in {rows:,} rows: it names the rows rather than groups "
            f"them, and each text takes a column of its own. Leave it out of the formula, as in . - {code}."
        )


def _no_levels(values: pd.Series) -> DataError:
    """The error of values such as lists, which can be no levels."""
    row = next((i for i, value in enumerate(values) if not isinstance(value, Hashable)), 0)
    kind = type(values.iloc[row]).__name__
    return DataError(
        f"Column {values.name!r} holds a {kind} at row {shown(values.index[row])}, which is no level: "
        "levels are text, numbers or truth values. Correct or drop the row."
    )


def _factorize(values: pd.Series) -> tuple[NDArray[Any], list[Any]]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), values.cat.categories.tolist()
    codes = np.empty(len(values), dtype=np.intp)
    places: dict[Any, int] = {}
    # Piece by piece: the table that looks values up is as long as the piece, however few they are.
    for start in range(0, len(values), FACTORIZED):
        try:
            own, found = pd.factorize(values.iloc[start : start + FACTORIZED])
        except TypeError:
            raise _no_levels(values) from None
        seen = [places.setdefault(each, len(places)) for each in found.tolist()]
        # A missing value has the code -1, which is no level, and not the last one.
        codes[start : start + FACTORIZED] = np.array([*seen, -1], dtype=np.intp)[own]
    return codes, list(places)


def _positions(
    values: pd.Series,
    codes: NDArray[Any],
    uniques: list[Any],
    levels: Sequence[Scalar],
    what: str,
    way_out: str = FIT_WITH,
) -> Codes:
    where = {level: position for position, level in enumerate(levels)}
    table = np.array([*(where.get(each, -1) for each in uniques), -1], dtype=np.intp)
    positions = codes if codes.dtype == np.intp else codes.astype(np.intp)
    # In place and piece by piece: a long column of codes is there once.
    for start in range(0, len(codes), FACTORIZED):
        piece = slice(start, start + FACTORIZED)
        positions[piece] = table[positions[piece]]
    if len(positions) and positions.min() < 0:
        row = int((positions < 0).argmax())
        value = values.iloc[row]
        known = ", ".join(repr(level) for level in levels[:8]) + (", ..." if len(levels) > 8 else "")
        raise DataError(
            f"{what} is {shown(value)} at row {shown(values.index[row])}, which is "
            f"none of its levels {known}: correct or drop the row, {way_out}."
        )
    return positions


def shown(value: Any) -> str:
    """A value or a row's label for a message: NumPy's scalars as Python's."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _without_unused(levels: tuple[Scalar, ...], present: NDArray[np.bool_], what: str) -> tuple[Scalar, ...]:
    unused = [level for level, there in zip(levels, present, strict=True) if not there]
    if unused:
        named = ", ".join(repr(level) for level in unused[:8])
        more = f" and {len(unused) - 8} more" if len(unused) > 8 else ""
        warn_user(f"{what} has no row of {named}{more}; left out.")
    return tuple(level for level, there in zip(levels, present, strict=True) if there)


def _scalars(values: list[Any], what: str) -> tuple[Scalar, ...]:
    return tuple(_scalar(value, what) for value in values)


def _scalar(value: Any, what: str) -> Scalar:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise DataError(
        f"{what} has the level {value!r} of type {type(value).__name__}; levels are text, numbers or truth "
        "values: convert the column, for example with astype(str); of pd.cut() and pd.qcut(), give labels=."
    )


def _sorted(levels: tuple[Scalar, ...], what: str) -> tuple[Scalar, ...]:
    texts = sum(isinstance(level, str) for level in levels)
    if texts and texts < len(levels):
        raise DataError(
            f"{what} mixes text and numbers, which have no common order: convert the column to one type, "
            "or give levels=."
        )
    return tuple(sorted(levels, key=lambda level: level))


_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTHS = [{"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"}]
_EXACT = 2**53


def with_type(values: pd.Series) -> pd.Series:
    """Labels that were read as text, as numbers or truth values where that changes none of them."""
    there = values.dropna()
    texts = there.unique().tolist()
    if not texts:
        return values
    holed = len(there) < len(values)
    if all(_WHOLE.fullmatch(text) for text in texts):
        # Longer numbers than Python reads at once are none that a type can hold.
        if max(map(len, texts)) > 20:
            return values
        numbers = [int(text) for text in texts]
        fits = min(numbers) >= -(2**63) and max(numbers) < 2**63
        if not fits and not (min(numbers) >= 0 and max(numbers) < 2**64):
            return values
        dtype = "int64" if fits else "uint64"
        dtype = {"int64": "Int64", "uint64": "UInt64"}[dtype] if holed else dtype
        known = dict(zip(texts, numbers, strict=True))
        return pd.Series([known.get(text) for text in values], index=values.index, dtype=dtype)
    if any(set(texts) <= pair for pair in _TRUTHS):
        truths = values.map({text: text.casefold() == "true" for text in texts})
        return truths.astype("boolean" if holed else "bool")
    if all(_NUMBER.fullmatch(text) for text in texts):
        floats = [float(text) for text in texts]
        if len(set(floats)) == len(texts) and max(map(abs, floats)) < _EXACT:
            return values.map(dict(zip(texts, floats, strict=True))).astype("float64")
    return values
