"""Conversion of a column to float64, to levels and codes, or to labels; and checks of its precision.

Numbers become float64 with NaN, integers that float64 would round stay exact, and text becomes objects.
Numbers outside the range of float64 and invalid Unicode are errors that name the row. Whole numbers above
2**53, such as ids and times in nanoseconds, and decimals of many digits are rounded to the nearest float64,
with a warning if the rounding is large compared with the variation of the column.

Levels are plain Python scalars in a fixed order, which can be saved as text and read again; codes are
positions in the levels. Labels in a file have to stay as they are written: a reader of CSV does not
distinguish 007 and 7, and converts integers to floats if a value is missing. That is right for
measurements. Classes and categories are read as text, and become numbers only if this changes no label and
keeps all of them distinct.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Mask
from discrim.errors import DataError, DroppedColumnsWarning, LabelWarning, PrecisionWarning, warn_user

FACTORIZE_CHUNK_ROWS = 2**13
"""Number of values that are looked up at a time."""

MIN_ROWS_FOR_NAMES = 10
"""Number of rows from which text that rarely repeats is probably the names of the rows."""

Scalar = str | int | float | bool
"""Type of a level."""


DEFAULT_LEVEL_HINT = "or fit with this level"
"""Hint for a value that is not a level, in addition to changing the rows."""


def find_levels(
    values: pd.Series, description: str, levels: Sequence[Any] | None = None, *, keep_unused: bool = False
) -> tuple[tuple[Scalar, ...], Codes]:
    """Return the levels of a column of m categories or texts, and the codes (m,) of its values.

    A code is the position of a value among the levels. Levels without rows are dropped with a
    DroppedColumnsWarning that names them, unless `keep_unused`.

    Parameters
    ----------
    values : Series (m,)
        Values, none of them missing.
    description : str
        Name of the values for messages, such as ``"The response 'species'"``.
    levels : sequence, optional
        The levels in order; by default the order of the categories, or sorted.
    keep_unused : bool
        Whether levels without rows are kept.

    Returns
    -------
    levels : tuple
    codes : (m,) int array

    Raises
    ------
    DataError
        A value is not among `levels`, a level is repeated or not a scalar, or text is mixed with numbers.

    Examples
    --------
    >>> find_levels(pd.Series(["b", "a", "b"]), "The response 'g'")
    (('a', 'b'), array([1, 0, 1]))
    """
    codes, uniques = factorize(values)
    if levels is None:
        declared = isinstance(values.dtype, pd.CategoricalDtype)
        return coded_levels(codes, uniques, description, is_declared=declared, keep_unused=keep_unused)
    requested_levels = tuple(_as_scalar(level, description) for level in levels)
    if len(set(requested_levels)) < len(requested_levels):
        raise DataError(
            f"{description}: levels= names a level twice: {list(requested_levels)}.",
            hint="List each level once.",
        )
    return _used_levels(
        requested_levels,
        _level_positions(values, codes, uniques, requested_levels, description),
        description,
        keep_unused=keep_unused,
    )


def coded_levels(
    codes: NDArray[Any], uniques: list[Any], description: str, *, is_declared: bool, keep_unused: bool
) -> tuple[tuple[Scalar, ...], Codes]:
    """Return the levels and codes of m values that are stored as codes; see `find_levels`.

    Parameters
    ----------
    codes : (m,) int
        Positions in `uniques`; no value may be missing (-1).
    uniques : list
        The labels of the codes, without duplicates.
    description : str
        Name of the values for messages.
    is_declared : bool
        Whether the labels are the categories of a categorical, in their order.
    keep_unused : bool
        Whether levels without rows are kept.

    Returns
    -------
    levels : tuple
        In the order of `uniques` if `is_declared`, else sorted.
    codes : (m,) int array
        Positions in `levels`.
    """
    ordered_levels = tuple(_as_scalar(label, description) for label in uniques)
    ordered_levels = ordered_levels if is_declared else _sort_levels(ordered_levels, description)
    position_by_level = {level: position for position, level in enumerate(ordered_levels)}
    positions = np.array([*(position_by_level[label] for label in uniques), -1], dtype=np.intp)[codes]
    return _used_levels(ordered_levels, positions, description, keep_unused=keep_unused)


def _used_levels(
    levels: tuple[Scalar, ...], positions: Codes, description: str, *, keep_unused: bool
) -> tuple[tuple[Scalar, ...], Codes]:
    """Drop levels without rows, with a DroppedColumnsWarning.

    Parameters
    ----------
    levels : tuple
        All levels.
    positions : (n,) int array
        Level of each of n rows, as its position in `levels`; none may be missing (-1).
    description : str
        Name of the values for the warning.
    keep_unused : bool
        Whether levels without rows are kept, without a warning.

    Returns
    -------
    levels : tuple
        The levels that are left, in their order.
    codes : (n,) int array
        Level of each row, as its position among them.
    """
    present = np.bincount(positions, minlength=len(levels)) > 0
    if keep_unused or present.all():
        return levels, positions
    absent = [level for level, is_present in zip(levels, present, strict=True) if not is_present]
    absent_text = ", ".join(repr(level) for level in absent[:8])
    more = f" and {len(absent) - 8} more" if len(absent) > 8 else ""
    warn_user(
        f"{description} has no rows of {absent_text}{more}; these levels were dropped.", DroppedColumnsWarning
    )
    kept_levels = tuple(level for level, is_present in zip(levels, present, strict=True) if is_present)
    return kept_levels, (np.cumsum(present) - 1)[positions]


def occurring_labels(
    codes: NDArray[Any], labels: list[Any], used_mask: Mask
) -> tuple[NDArray[Any], list[Any]]:
    """Drop the labels that do not occur in the rows of a mask, and adapt the codes of all rows.

    Parameters
    ----------
    codes : (n,) int
        Position of the label of each of n rows, -1 if it is missing.
    labels : list
        The labels.
    used_mask : (n,) bool
        The rows whose labels are kept.

    Returns
    -------
    codes : (n,) int
        Positions in the labels that are left; -1 also if the label of a row was dropped.
    labels : list
        The labels that are left, in their order.
    """
    occurs = np.bincount(codes[used_mask].astype(np.intp) + 1, minlength=len(labels) + 1)[1:] > 0
    if occurs.all():
        return codes, labels
    positions = np.array([*np.where(occurs, np.cumsum(occurs) - 1, -1), -1], dtype=np.intp)
    return positions[codes], [label for label, is_used in zip(labels, occurs, strict=True) if is_used]


def encode(
    values: pd.Series, levels: Sequence[Scalar], description: str, hint: str = DEFAULT_LEVEL_HINT
) -> Codes:
    """Return the positions (m,) of m values among given levels; raise a DataError if one is not a level.

    Parameters
    ----------
    values : Series (m,)
        Values, none of them missing.
    levels : sequence
    description : str
        Name of the values for messages.
    hint : str
        How to handle a value that is not a level, which completes "Correct or drop the row, ...".

    Returns
    -------
    (m,) int array
        Positions in `levels`.

    Examples
    --------
    >>> encode(pd.Series(["b", "a"]), ("a", "b"), "The response 'g'")
    array([1, 0])
    """
    codes, uniques = factorize(values)
    return _level_positions(values, codes, uniques, levels, description, hint)


def check_not_numbers_as_text(
    levels: Sequence[Scalar], codes: Codes, name: str, index: Callable[[], pd.Index]
) -> None:
    """Raise a DataError if more than half of the m values of a text column can be read as numbers.

    The message names the first row that is text, or the first row if all are numbers.

    Parameters
    ----------
    levels : sequence
        Distinct values.
    codes : (m,) int
        Position of each row's value among the levels; none is missing.
    name : str
        Name of the column.
    index : callable
        Function without arguments that returns the labels (m,) of the rows.
    """
    numeric = are_numbers(levels)
    if np.bincount(codes, minlength=len(levels))[numeric].sum() * 2 <= len(codes):
        return
    unreadable = ~numeric[codes]
    row = int(unreadable.argmax())
    problem = "is text and not a number" if unreadable.any() else "is a number written as text"
    raise DataError(
        f"Column {name!r} is text, but most of its values are numbers; row {format_value(index()[row])}, "
        f"{levels[codes[row]]!r}, {problem}.",
        hint=(
            f"Convert it with pd.to_numeric(..., errors='coerce'), or write C({name}) in the formula to "
            "use it as categories."
        ),
        columns=(name,),
        rows=(index()[row],),
    )


def are_numbers(labels: Sequence[Scalar]) -> Mask:
    """Return the mask, as long as the labels, of labels that can be read as numbers."""
    return pd.to_numeric(pd.Series(list(labels), dtype=object), errors="coerce").notna().to_numpy()


def warn_if_labels_name_rows(n_levels: int, n_rows: int, description: str, code: str) -> None:
    """Warn (LabelWarning) if a text predictor has more levels than half its rows: it probably names the rows.

    Fewer than `MIN_ROWS_FOR_NAMES` rows do not cause a warning.

    Parameters
    ----------
    n_levels, n_rows : int
        Numbers of levels and of rows.
    description : str
        Name of the predictor for messages.
    code : str
        The factor as written in the formula.
    """
    if n_rows >= MIN_ROWS_FOR_NAMES and 2 * n_levels > n_rows:
        warn_user(
            f"{description} has {n_levels:,} different texts in {n_rows:,} rows: it probably names the rows, "
            f"and each text needs its own column. Exclude it from the formula, for example by . - {code}.",
            LabelWarning,
        )


def _not_hashable_error(values: pd.Series) -> DataError:
    """Return the error for values such as lists, which cannot be levels."""
    row = next((i for i, value in enumerate(values) if not isinstance(value, Hashable)), 0)
    type_name = type(values.iloc[row]).__name__
    return DataError(
        f"Column {values.name!r} contains a {type_name} at row {format_value(values.index[row])}; levels "
        "must be text, numbers or booleans.",
        hint="Correct or drop the row.",
        columns=(values.name,),
        rows=(values.index[row],),
    )


def factorize(values: pd.Series) -> tuple[NDArray[Any], list[Any]]:
    """Return the codes (m,) of m values, -1 if missing, and the labels to which they refer.

    The labels are all categories of a categorical, otherwise the distinct values, in ascending order for
    integers in a range no longer than the column and in the order of appearance for others. Raises a
    DataError for values that are not hashable, such as lists.
    """
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.codes.to_numpy(), values.cat.categories.tolist()
    texts = text_codes(values)
    if texts is not None:
        return texts
    codes = np.empty(len(values), dtype=np.intp)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind == "i" and len(values):
        integers = values.to_numpy()
        low, high = int(integers.min()), int(integers.max())
        if high - low < len(values):
            np.subtract(integers, low, out=codes, dtype=np.intp)
            present = np.zeros(high - low + 1, dtype=bool)
            present[codes] = True
            positions = np.cumsum(present) - 1
            for start in range(0, 0 if present.all() else len(codes), FACTORIZE_CHUNK_ROWS):
                chunk = slice(start, start + FACTORIZE_CHUNK_ROWS)
                codes[chunk] = positions[codes[chunk]]
            return codes, (np.flatnonzero(present) + low).tolist()
    code_by_label: dict[Any, int] = {}
    # In chunks, because the hash table is as long as the chunk even if there are few distinct values.
    for start in range(0, len(values), FACTORIZE_CHUNK_ROWS):
        try:
            chunk_codes, chunk_labels = pd.factorize(values.iloc[start : start + FACTORIZE_CHUNK_ROWS])
        except TypeError:
            raise _not_hashable_error(values) from None
        label_codes = [code_by_label.setdefault(label, len(code_by_label)) for label in chunk_labels.tolist()]
        # A missing value has the code -1, which is not a level, and not the last one.
        codes[start : start + FACTORIZE_CHUNK_ROWS] = np.array([*label_codes, -1], dtype=np.intp)[chunk_codes]
    return codes, list(code_by_label)


def _level_positions(
    values: pd.Series,
    codes: NDArray[Any],
    uniques: list[Any],
    levels: Sequence[Scalar],
    description: str,
    hint: str = DEFAULT_LEVEL_HINT,
) -> Codes:
    """Return the position of each of n values among some levels; `codes` of dtype intp are overwritten.

    Parameters
    ----------
    values : Series (n,)
        The values, for messages.
    codes : (n,) int array
        Position of each value in `uniques`, -1 if missing.
    uniques : list
        Distinct values.
    levels : sequence
    description : str
        Name of the values for messages.
    hint : str
        Completes "Correct or drop the row, ...".

    Returns
    -------
    (n,) int array

    Raises
    ------
    DataError
        A value is missing or not a level.
    """
    position_by_level = {level: position for position, level in enumerate(levels)}
    position_by_code = np.array(
        [*(position_by_level.get(value_label, -1) for value_label in uniques), -1], dtype=np.intp
    )
    positions = codes if codes.dtype == np.intp else codes.astype(np.intp)
    # In place and in chunks, because a long column of codes should be in memory only once.
    for start in range(0, len(codes), FACTORIZE_CHUNK_ROWS):
        chunk = slice(start, start + FACTORIZE_CHUNK_ROWS)
        positions[chunk] = position_by_code[positions[chunk]]
    if len(positions) and positions.min() < 0:
        row = int((positions < 0).argmax())
        value = values.iloc[row]
        level_text = ", ".join(repr(level) for level in levels[:8]) + (", ..." if len(levels) > 8 else "")
        raise DataError(
            f"{description} is {format_value(value)} at row {format_value(values.index[row])}, which is not "
            f"one of its levels {level_text}.",
            hint=f"Correct or drop the row, {hint}.",
            columns=() if values.name is None else (values.name,),
            rows=(values.index[row],),
        )
    return positions


def format_value(value: Any) -> str:
    """Return the `repr` of a value or a row label for a message; a NumPy scalar becomes a Python scalar."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _as_scalar(value: Any, description: str) -> Scalar:
    """Return a level as a Python scalar; raise a DataError for other types, infinite numbers and NaN."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise DataError(
        f"{description} has the level {value!r} of type {type(value).__name__}; levels must be text, numbers "
        "or booleans.",
        hint="Convert the column, for example with astype(str), or pass labels= to pd.cut() or pd.qcut().",
    )


def _sort_levels(levels: tuple[Scalar, ...], description: str) -> tuple[Scalar, ...]:
    """Sort levels in ascending order; raise a DataError about `description` if text is mixed with numbers."""
    texts = sum(isinstance(level, str) for level in levels)
    if texts and texts < len(levels):
        raise DataError(
            f"{description} mixes text and numbers, which have no common order.",
            hint="Convert the column to one type, or pass levels=.",
        )
    return tuple(sorted(levels, key=lambda level: level))


# Without leading zeros or a plus sign, which a number would not preserve.
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEAN_TEXTS = [{"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"}]


def convert_text_labels(values: pd.Series) -> pd.Series:
    """Convert labels that were read as text to numbers or booleans if this changes none of them.

    Parameters
    ----------
    values : Series of str
        Labels, some of which may be missing.

    Returns
    -------
    Series
        Integers (int64 or uint64) or booleans, of a nullable dtype if some are missing; float64 if all texts
        are numbers that stay distinct; otherwise `values` itself.
    """
    present = values.dropna()
    texts = present.unique().tolist()
    if not texts:
        return values
    has_missing = len(present) < len(values)
    if all(_INTEGER.fullmatch(text) for text in texts):
        # No integer dtype has more than 20 digits, and Python refuses to convert very long text.
        if max(map(len, texts)) > 20:
            return values
        integers = [int(text) for text in texts]
        fits = min(integers) >= -(2**63) and max(integers) < 2**63
        if not fits and not (min(integers) >= 0 and max(integers) < 2**64):
            return values
        dtype = "int64" if fits else "uint64"
        dtype = {"int64": "Int64", "uint64": "UInt64"}[dtype] if has_missing else dtype
        value_by_text = dict(zip(texts, integers, strict=True))
        return pd.Series([value_by_text.get(text) for text in values], index=values.index, dtype=dtype)
    if any(set(texts) <= pair for pair in _BOOLEAN_TEXTS):
        booleans = values.map({text: text.casefold() == "true" for text in texts})
        return booleans.astype("boolean" if has_missing else "bool")
    if all(_NUMBER.fullmatch(text) for text in texts):
        floats = [float(text) for text in texts]
        if len(set(floats)) == len(texts) and max(map(abs, floats)) < MAX_EXACT_INTEGER:
            return values.map(dict(zip(texts, floats, strict=True))).astype("float64")
    return values


LABEL_DTYPES = re.compile(
    r"object|str|string|bool|boolean|(string|bool|u?int(8|16|32|64)|float|double)\[pyarrow\]"
    r"|u?int(8|16|32|64)|U?Int(8|16|32|64)|float(32|64)|Float(32|64)"
)
"""Names of dtypes whose labels are text, integers, floats or booleans."""


@dataclass(frozen=True, slots=True)
class LabelType:
    """The dtype of labels, in a form that can be saved as text.

    Attributes
    ----------
    dtype : str
        Name of the dtype, one of `LABEL_DTYPES`; for a categorical the dtype of its categories.
    categories : tuple or None
        All categories of a categorical in their order, also those without rows; None for other dtypes.
    ordered : bool
        Whether a categorical is ordered.
    """

    dtype: str
    categories: tuple[Scalar, ...] | None = None
    ordered: bool = False


def label_type(dtype: Any) -> LabelType | None:
    """Return the label type of a pandas dtype; None if labels of this dtype cannot be saved as text."""
    if isinstance(dtype, pd.CategoricalDtype):
        inner = label_type(dtype.categories.dtype)
        values = tuple(dtype.categories.tolist())
        other_values = [value for value in values if not isinstance(value, str | int)]
        if inner is None or not all(
            isinstance(value, float) and math.isfinite(value) for value in other_values
        ):
            return None
        return LabelType(inner.dtype, values, bool(dtype.ordered))
    name = str(dtype)
    return LabelType(name) if LABEL_DTYPES.fullmatch(name) else None


def dtype_represents(dtype: str, labels: Sequence[Scalar]) -> bool:
    """Return whether a dtype, which is passed by name, can represent all labels unchanged.

    A dtype of a library that is not installed is accepted.
    """
    if dtype in ("object", "str") and all(isinstance(label, str) for label in labels):
        # A shortcut, because pandas is slow here compared with reading the rest of a small file.
        return True
    try:
        values = pd.Series(list(labels), dtype=dtype).tolist()
    except ImportError:
        # A dtype of a library that is not installed, which prediction reports.
        return True
    except (ArithmeticError, TypeError, ValueError):
        return False
    return bool(values == list(labels))


MAX_EXACT_INTEGER = 2.0**53
"""float64 represents every integer up to this one exactly."""

MAX_DECIMAL_ROUNDING = 1e-9
"""Maximum rounding error of a decimal column relative to its range; larger errors are reported."""


class RoundingError(NamedTuple):
    """The largest rounding error of a column that is converted to float64.

    Attributes
    ----------
    position : int
        Position of the value with the largest error.
    error : float
        Absolute error.
    value_range : float
        Difference of the largest and the smallest value of the column.
    minimum : number
        Smallest value of the column.
    """

    position: int
    error: float
    value_range: float
    minimum: Any


def largest_rounding_error(values: NDArray[Any]) -> RoundingError | None:
    """Return the largest error of rounding integers or objects (n,) to float64; None if all are exact.

    Arrays of other dtypes, and objects that are not numbers, give None. For decimals see `_object_errors`.

    Examples
    --------
    >>> largest_rounding_error(np.array([2**53, 2**53 + 1])).error
    1.0
    >>> largest_rounding_error(np.array([1, 2])) is None
    True
    """
    if not len(values):
        return None
    if values.dtype.kind in "iu":
        low, high = values.min(), values.max()
        if max(-int(low), int(high)) <= MAX_EXACT_INTEGER:
            return None
        floats = values.astype(np.float64)
        # The float64 nearest to the largest integers of a dtype is above its maximum.
        largest = float(np.iinfo(values.dtype).max)
        representable = np.minimum(floats, np.nextafter(largest, 0.0))
        integer_errors = (values - representable.astype(values.dtype)).astype(np.int64)
        errors = np.asarray(np.abs(integer_errors - (floats - representable)))
    elif values.dtype.kind == "O":
        object_errors = _object_errors(values)
        if object_errors is None:
            return None
        errors = object_errors
        finite = values[np.isfinite(values.astype(np.float64))]
        low, high = (finite.min(), finite.max()) if len(finite) else (0, 0)
    else:
        return None
    position = int(np.argmax(errors))
    if not errors[position] > 0:
        return None
    low, high = (extreme.item() if isinstance(extreme, np.generic) else extreme for extreme in (low, high))
    return RoundingError(position, float(errors[position]), float(Fraction(high) - Fraction(low)), low)


def _object_errors(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Return the absolute rounding errors (n,) of n objects that are converted to float64.

    Returns None if the values are not integers, decimals and floats, or if none of them is large enough for a
    rounding error that matters. Errors of non-finite values are zero.
    """
    value_types = {type(value) for value in values}
    if not value_types <= {int, Decimal, float, bool} and not all(
        issubclass(k, (int, np.integer)) for k in value_types
    ):
        return None
    floats = values.astype(np.float64)
    finite = np.isfinite(floats)
    if not finite.any():
        return None
    size = float(np.abs(floats[finite]).max())
    decimals = Decimal in value_types
    if size <= MAX_EXACT_INTEGER and not (
        decimals and size * 2.0**-53 > MAX_DECIMAL_ROUNDING * np.ptp(floats[finite])
    ):
        return None
    errors = np.zeros(len(values))
    for position in np.flatnonzero(finite):
        value = values[position]
        exact = Fraction(value.item() if isinstance(value, np.generic) else value)
        errors[position] = float(abs(exact - Fraction(floats[position].item())))
    return errors


ColumnType = Literal["numeric", "boolean", "categorical", "text", "other"]
"""Type of a column in all libraries; other are for example dates, complex numbers and mixed objects."""

MAX_FLOAT_INTEGER = 2**1024 - 2**970 - 1
"""The largest integer that converts to a finite float64."""

LONG_INTEGER_TYPES = ("Int128", "UInt128")
"""Integer dtypes that NumPy lacks."""

# Column type by the type that pandas infers for a column of objects.
_TYPE_BY_INFERRED: dict[str, ColumnType] = {
    "boolean": "boolean",
    "integer": "numeric",
    "floating": "numeric",
    "mixed-integer-float": "numeric",
    "decimal": "numeric",
    "string": "text",
    "empty": "text",
}


def check_category_precision(values: pd.Series, name: str, index_label: str = "row") -> None:
    """Raise a DataError if a floating-point category is so large that several integers round to it.

    Parameters
    ----------
    values : Series
        The categories, or the values of a column of categories; other dtypes than floats are accepted.
    name : str
        Column, for the message.
    index_label : str
        Noun for the labels in the index of the values, such as "row" or "category".
    """
    if values.dtype.kind != "f" or not len(values):
        return
    floats = values.to_numpy()
    large = np.isfinite(floats) & (np.abs(floats) >= 2.0 ** (np.finfo(floats.dtype).nmant + 1))
    if large.any():
        row = int(large.argmax())
        raise DataError(
            f"Column {name!r} is {floats[row]:.17g} at {index_label} {format_value(values.index[row])}, a "
            f"{values.dtype} to which several integers are rounded; different labels may have become equal.",
            hint=(
                f"Read the column as integers, for example with pd.read_csv(..., "
                f"dtype={{{name!r}: 'Int64'}}), "
                "or convert it to text with astype(str) if no labels are rounded."
            ),
            columns=(name,),
        )


def object_array(values: list[Any]) -> NDArray[Any]:
    """Return a list as an array (n,) of objects."""
    return np.fromiter(values, dtype=object, count=len(values))


def present_exact_values(series: Any, name: str) -> tuple[NDArray[Any] | None, NDArray[np.intp] | None]:
    """Return the integers or objects of a column that are not missing, and their positions; None for floats.

    Raises DataError if an integer is outside the range of float64.

    Parameters
    ----------
    series : Series of pandas or narwhals
    name : str
        Name of the column, for the message.

    Returns
    -------
    values : (m,) array or None
        The m present values, as integers if the dtype is integer, else as objects. None for floats, and in
        other libraries than pandas for all columns except integers and decimals.
    rows : (m,) int array or None
        Their positions; None if `values` is None.
    """
    values, rows = _present_values(series)
    if values is not None and values.dtype.kind == "O":
        _check_float_range(values, series, rows, name)
    return values, rows


def _present_values(series: Any) -> tuple[NDArray[Any] | None, NDArray[np.intp] | None]:
    """Return the same as `present_exact_values`, without the check of the range."""
    if not isinstance(series, pd.Series):
        dtype = series.dtype
        if not (dtype.is_integer() or dtype.is_decimal()):
            return None, None
        is_present = ~series.is_null().to_numpy().astype(bool)
        present_series = series.drop_nulls()
        fits_numpy = dtype.is_integer() and str(dtype) not in LONG_INTEGER_TYPES
        values = present_series.to_numpy() if fits_numpy else object_array(present_series.to_list())
        return values if values.dtype.kind in "iu" else object_array(
            present_series.to_list()
        ), np.flatnonzero(is_present)
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu":
        return series.to_numpy(), np.arange(len(series))
    if pd.api.types.is_float_dtype(series.dtype):
        return None, None
    is_present = series.notna().to_numpy()
    present_values = series[is_present]
    if pd.api.types.is_integer_dtype(series.dtype):
        unsigned = pd.api.types.is_unsigned_integer_dtype(series.dtype)
        return present_values.to_numpy(dtype=np.uint64 if unsigned else np.int64), np.flatnonzero(is_present)
    return present_values.to_numpy(dtype=object), np.flatnonzero(is_present)


def _check_float_range(values: NDArray[Any], series: Any, rows: NDArray[np.intp] | None, name: str) -> None:
    """Raise a DataError if an integer is outside the range of float64.

    Parameters
    ----------
    values : (m,) array
        The m values that are not missing; only integers are checked.
    series : Series
        The column, which labels the rows.
    rows : (m,) int array or None
        Positions of the values; None if none is missing.
    name : str
    """
    try:
        values.astype(np.float64)
    except OverflowError:
        value_index = next(
            i for i, value in enumerate(values) if isinstance(value, int) and abs(value) > MAX_FLOAT_INTEGER
        )
        row_position = value_index if rows is None else int(rows[value_index])
        row = series.index[row_position] if isinstance(series, pd.Series) else row_position
        digits = round(int(values[value_index]).bit_length() * math.log10(2))
        raise DataError(
            f"Column {name!r} contains an integer of about {digits:,} digits at row {format_value(row)}, "
            "which is outside the range of double precision.",
            hint="Convert the column to another unit, or categories to text with astype(str).",
            columns=(name,),
            rows=(row,),
        ) from None
    except (TypeError, ValueError):
        return


def integers_beyond_float(series: Any, name: str) -> NDArray[Any] | None:
    """Return the values (n,) of a column of integers without missing values, if float64 would round some.

    Returns None for all other columns. Raises a DataError if an integer is outside the range of float64.
    """
    values, rows = present_exact_values(series, name)
    if values is None or rows is None or values.dtype.kind not in "iu" or len(rows) < len(series):
        return None
    return None if largest_rounding_error(values) is None else values


def pandas_column_type(series: pd.Series) -> ColumnType:
    """Return the column type of a pandas Series, from its dtype or, for objects, from its values.

    Objects without values are text.
    """
    dtype: Any = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "biuf":
        return "boolean" if dtype.kind == "b" else "numeric"
    if isinstance(dtype, pd.StringDtype | pd.CategoricalDtype):
        return "text" if isinstance(dtype, pd.StringDtype) else "categorical"
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_complex_dtype(dtype):
        return "other"
    if pd.api.types.is_numeric_dtype(dtype):
        return "numeric"
    if isinstance(dtype, pd.ArrowDtype) or dtype.kind == "O":
        if isinstance(dtype, pd.ArrowDtype) and str(dtype.pyarrow_dtype).startswith("dictionary"):
            return "categorical"
        return _TYPE_BY_INFERRED.get(pd.api.types.infer_dtype(series, skipna=True), "other")
    return "text" if pd.api.types.is_string_dtype(dtype) else "other"


def has_values(series: Any) -> bool:
    """Return whether a column of pandas or narwhals has a value that is not missing."""
    if isinstance(series, pd.Series):
        return bool(series.notna().any())
    return bool(series.null_count() < len(series))


def narwhals_column_type(dtype: Any) -> ColumnType:
    """Return the column type of a narwhals dtype."""
    import narwhals as nw

    if dtype.is_numeric():
        return "numeric"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.Categorical, nw.Enum):
        return "categorical"
    return "text" if dtype == nw.String else "other"


def as_floats(series: pd.Series, name: str) -> NDArray[np.float64]:
    """Convert a column of pandas to float64 with NaN.

    Objects that are text of a number are converted too. Raises a DataError that names the first value that is
    not a number, or the first integer outside the range of float64.
    """
    try:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    except OverflowError:
        present_exact_values(series, name)
        raise
    except (TypeError, ValueError):
        converted = pd.to_numeric(series.astype(object), errors="coerce")
        is_text = converted.isna() & series.notna()
        if not is_text.any():
            return np.asarray(converted, dtype=np.float64)
        row = int(is_text.to_numpy().argmax())
        raise DataError(
            f"Column {name!r} is not numeric: row {format_value(series.index[row])} has the value "
            f"{format_value(series.iloc[row])}.",
            hint=(
                "Convert it with pd.to_numeric(..., errors='coerce'), or write C(column) to use it as "
                "categories."
            ),
            columns=(name,),
            rows=(series.index[row],),
        ) from None


def narwhals_values(series: Any) -> Any:
    """Convert a narwhals column to values for pandas: float64 with NaN, bool, Categorical or object.

    Booleans with missing values become float64, and integers are rounded. Objects are None if missing.
    """
    column_type = narwhals_column_type(series.dtype)
    if column_type == "numeric" or (column_type == "boolean" and series.null_count()):
        import narwhals as nw

        native = series.to_native()
        if hasattr(native, "unify_dictionaries"):
            # narwhals would request a cast that fails if values are rounded.
            return native.cast("double", safe=False).to_numpy().astype(np.float64)
        return series.cast(nw.Float64).to_numpy().astype(np.float64)
    if column_type == "boolean":
        return series.to_numpy().astype(bool)
    if column_type == "categorical":
        # An Enum and an Arrow dictionary have an order of their own; other categories are sorted.
        values = object_array(series.to_list())
        native = series.to_native()
        if hasattr(native, "unify_dictionaries"):
            return categorical_of_dictionary(values, native)
        order = getattr(series.dtype, "categories", None)
        return pd.Categorical(values, categories=None if order is None else list(order))
    return object_array(series.to_list())


def plain_numbers(column: Any, dtype: Any) -> NDArray[Any] | None:
    """Return a column of Arrow or polars as NumPy numbers, if these represent it completely.

    Parameters
    ----------
    column : Arrow array or polars Series
    dtype : narwhals dtype of the column
        Passed too, because creating a narwhals Series for each column is as slow as reading a chunk.

    Returns
    -------
    (n,) array of bool, int or float, or None
        None if the column is not numeric, or is not floating-point and has missing values.
    """
    missing = getattr(column, "null_count", None)
    missing = missing() if callable(missing) else missing
    if missing is None or not (
        dtype.is_float() or (not missing and narwhals_column_type(dtype) in ("numeric", "boolean"))
    ):
        return None
    has_one_chunk = getattr(column, "num_chunks", 0) == 1
    values = np.asarray(
        column.chunk(0).to_numpy(zero_copy_only=False) if has_one_chunk else column.to_numpy()
    )
    return values if values.dtype.kind in "biuf" else None


def dictionary_to_text(series: Any) -> Any:
    """Convert a narwhals column of dictionary codes to a column of text."""
    import narwhals as nw

    return series.cast(nw.String)


def text_codes(series: Any, *, has_codes: bool = False) -> tuple[NDArray[Any], list[str]] | None:
    """Return the codes (n,) of a column of text, -1 if missing, and its distinct texts; else None.

    Returns None also if the column is not of pandas and pyarrow is not installed.

    Parameters
    ----------
    series : Series of pandas or narwhals
    has_codes : bool
        Whether a narwhals column is a dictionary of text, whose codes are returned.

    Returns
    -------
    codes : (n,) int array
    texts : list of str
    """
    if isinstance(series, pd.Series):
        if not isinstance(series.dtype, pd.StringDtype):
            return None
        if series.dtype.storage != "pyarrow":
            codes, texts = pd.factorize(series)
            return codes, texts.tolist()
        arrow_array = cast("Any", series.array).__arrow_array__()
    elif not has_codes and narwhals_column_type(series.dtype) != "text":
        return None
    else:
        try:
            arrow_array = series.to_arrow()
        except ImportError:
            return None
    if not len(arrow_array):
        # Arrow cannot combine zero chunks of a dictionary of large texts.
        return np.empty(0, dtype=np.int32), []
    arrow_array = arrow_array if has_codes else arrow_array.dictionary_encode()
    arrow_array = arrow_array.combine_chunks() if hasattr(arrow_array, "combine_chunks") else arrow_array
    indices = arrow_array.indices.fill_null(-1) if arrow_array.indices.null_count else arrow_array.indices
    return indices.to_numpy(zero_copy_only=False), arrow_array.dictionary.to_pylist()


def categorical_of_dictionary(values: NDArray[Any], native: Any) -> pd.Categorical:
    """Return the values of an Arrow dictionary column as a Categorical with the categories of the dictionary.

    Parameters
    ----------
    values : (n,) object array
        Values of the column, missing ones as None or NaN.
    native : pyarrow.ChunkedArray
        The column.

    Returns
    -------
    Categorical (n,)
    """
    chunks = native.unify_dictionaries().chunks
    categories = chunks[0].dictionary.to_pylist() if chunks else []
    return pd.Categorical(values, categories=categories, ordered=native.type.ordered)


MAX_TRAINING_ROUNDING = 1e-6
"""Largest rounding error of a training column relative to its range; a larger one is an error."""


def check_float_precision(
    series: Any, name: str, row_label: Callable[[int], Any], *, is_training: bool
) -> None:
    """Warn (PrecisionWarning) if float64 rounds the numbers of a column.

    Parameters
    ----------
    series : Series of pandas or narwhals
    name : str
        Name of the column, for messages.
    row_label : callable
        Function from the position of a row to its label.
    is_training : bool
        Whether to raise a DataError if the largest error exceeds `MAX_TRAINING_ROUNDING` times the range of
        the column.
    """
    values, rows = present_exact_values(series, name)
    rounding_error = None if values is None else largest_rounding_error(values)
    if rounding_error is None or values is None or rows is None:
        return
    row = row_label(int(rows[rounding_error.position]))
    description = f"the number {values[rounding_error.position]} of column {name!r}, at row {row!r},"
    hint = (
        f"Subtract the same origin from the column in every table, for example data[{name!r}] - "
        f"{rounding_error.minimum}, or convert it to float64 if such differences are irrelevant."
    )
    if is_training and rounding_error.error > MAX_TRAINING_ROUNDING * rounding_error.value_range:
        raise DataError(
            f"Double precision rounds {description} by {rounding_error.error:.3g}, and the column ranges "
            f"over {rounding_error.value_range:.3g}: differences between the values are lost.",
            hint=hint,
            columns=(name,),
            rows=(row,),
        )
    warn_user(
        f"Double precision rounds {description} by {rounding_error.error:.3g}. {hint}", PrecisionWarning
    )
