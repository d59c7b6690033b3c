"""Sections of a summary, and grids of their formatted texts, from which every table format is written.

The first half formats numbers and labels: a column has as many digits as its numbers need, and labels are cut
to a bounded width as long as they stay distinct. The second half defines `Section` and `Pairs`, which the
modules of the models create, and `grid_of`, which the modules of the table formats call.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats

Format = Literal["general", "count", "p", "tail", "z", "share", "ratio", "text"]
"""Format of the numbers of a column, described in `column_texts`."""

SIGNIFICANT_DIGITS = 5
"""Significant digits of the largest number of a column."""

MIN_DIGITS = 3
"""Significant digits that the smallest number of a column keeps, if the width allows it."""

RATIO_DIGITS = 4
"""Significant digits of a ratio; the ratios of a column may differ by powers of ten."""

MAX_FIXED_DIGITS = 9
"""Largest number of digits of a fixed-point number; columns with more use exponents."""

MAX_DIGITS = 15
"""Decimal digits that float64 represents; no number is shown with more."""

EXACT_TOLERANCE = 1e-12
"""Relative error up to which a shorter text is exact: a mean of 5.006 has three decimals, not four."""

LABEL_WIDTH = 30
"""Display width above which a label is shortened in its middle."""

MAX_LABEL_WIDTH = 46
"""Display width of labels that are equal if they are shorter; a row label and a column fit one line."""

LABEL_WIDTHS = (LABEL_WIDTH, MAX_LABEL_WIDTH)
"""The two widths of labels in a line of a hundred columns; see `short_labels`."""

MIN_LABEL_DIGITS = 6
"""Significant digits of labels that are numbers, if these stay distinct."""


def display_width(text: str) -> int:
    """Return the width of a text on a terminal: wide characters count two, combining marks zero."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(c: str) -> int:
    """Return the width of a character on a terminal: 0, 1 or 2."""
    if c.isascii():
        return 1
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def clean(label: Any) -> str:
    r"""Return a label as one line of text, with control and direction characters as escapes.

    Examples
    --------
    >>> clean("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    text = str(label)
    if text.isascii() and text.isprintable():
        return text
    characters = (
        c if c == " " or (unicodedata.category(c)[0] != "C" and unicodedata.category(c) not in ("Zl", "Zp"))
        else c.encode("unicode_escape").decode("ascii")
        for c in text
    )  # fmt: skip
    return "".join(characters)


def shorten(text: str, width: int) -> str:
    """Return a text of at most a display width; the middle of a wider one is replaced by an ellipsis."""
    if display_width(text) <= width:
        return text
    head = tail = 0
    free_width = width - 1
    for first, last in zip(text, reversed(text), strict=True):
        free_width -= _character_width(first)
        if free_width < 0:
            break
        head += 1
        free_width -= _character_width(last)
        if free_width < 0:
            break
        tail += 1
    return f"{text[:head]}…{text[len(text) - tail :]}"


def format_pvalue(p: float) -> str:
    """Return the text of a p-value, which is never zero; "nan" if it is missing.

    Examples
    --------
    >>> [format_pvalue(p) for p in (0.02134, 7.31e-22, 0.0)]
    ['0.0213', '7.3e-22', '<1e-300']
    """
    if math.isnan(p):
        return "nan"
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.4f}" if p >= 0.001 else f"{p:.1e}"


def column_texts(values: Sequence[Any], number_format: Format, error: float = math.inf) -> list[str]:
    """Format the cells of a column.

    Numbers of the formats "general", "count" and "z" have the same number of decimals, or all of them
    exponents. The other formats round each number by itself.

    Parameters
    ----------
    values : sequence
        Cells of the column; missing numbers become "nan", missing texts an empty text.
    number_format : Format
        Format of the column: "general" with five significant digits of the largest number, without common
        trailing zeros; "count" without decimals, if all are integers; "z" with two decimals; "p" for a
        p-value with three decimals, or "<0.001"; "tail" for a p-value that may be tiny, see `format_pvalue`;
        "share" for a proportion with four decimals; "ratio" with four significant digits; "text" for labels.
        A column of "count" with fractions, or of "z" with numbers of 10 million or more, is formatted as
        "general".
    error : float
        Largest acceptable absolute rounding error of a number in the format "general"; inf for no limit.

    Returns
    -------
    list of str
        Text of each cell.

    Examples
    --------
    >>> column_texts([13.4558634, -7.84595831, 0.0], "general")
    ['13.456', '-7.846', '0.000']
    >>> column_texts([5.006, 5.936, 6.5], "general")
    ['5.006', '5.936', '6.500']
    >>> column_texts([2.65e-19, 9.27e-20], "general")
    ['2.65e-19', '9.27e-20']
    >>> column_texts([0.3333333, 1e-7], "share")
    ['0.3333', '1.0e-07']
    """
    if number_format == "text":
        return ["" if _is_missing(v) else clean(v) for v in values]
    cells = list(map(as_float, values))
    if number_format in _SINGLE_FORMATS:
        return [_SINGLE_FORMATS[number_format](x) for x in cells]
    sizes = [abs(x) for x in cells if math.isfinite(x)]
    if number_format == "count" and all(x == round(x) for x in sizes):
        return [_format_fixed(x, 0) for x in cells]
    if number_format == "z" and max(sizes, default=0.0) < 10.0 ** (MAX_FIXED_DIGITS - 2):
        return [_format_fixed(x, 2) for x in cells]
    decimals = _column_decimals(cells, error)
    return _format_alike(cells, decimals) if decimals >= 0 else _exponent_texts(cells, error)


def table_texts(columns: Sequence[Sequence[float]]) -> list[list[str]]:
    """Format columns of comparable numbers, such as covariances, with one number of decimals for all.

    The numbers of all columns have exponents if they are very large, small or of very different magnitude.

    Examples
    --------
    >>> table_texts([[0.265008, 0.092721], [0.092721, 0.115388]])
    [['0.26501', '0.09272'], ['0.09272', '0.11539']]
    """
    cells = [float(x) for column in columns for x in column]
    texts = iter(_format_alike(cells, _column_decimals(cells)))
    return [[next(texts) for _ in column] for column in columns]


def suits_decimals(values: Sequence[float]) -> bool:
    """Return whether a column of numbers is formatted with decimals, not with exponents."""
    return _column_decimals(values) >= 0


def row_texts(rows: Sequence[Sequence[float]], errors: Sequence[float]) -> list[list[str]]:
    """Format rows of numbers whose magnitudes differ.

    Each row has its own number of decimals, unless these numbers are similar: then all rows have the largest.

    Parameters
    ----------
    rows : sequence of sequence of float
    errors : sequence of float
        Largest acceptable absolute rounding error in each row; inf for no limit. No number is shown with more
        than 15 digits.

    Returns
    -------
    list of list of str
        Texts row by row.

    Examples
    --------
    >>> row_texts([[-86.30847, -72.85261], [2.354417e-08, 1.569821e-08]], [1e-4, 1e-13])
    [['-86.3085', '-72.8526'], ['2.35442e-08', '1.56982e-08']]
    >>> row_texts([[23.544167, 15.698209], [7.072507, 3.685280]], [1e-3, 1e-5])
    [['23.54417', '15.69821'], ['7.07251', '3.68528']]
    """
    decimals = [_row_decimals(row, error) for row, error in zip(rows, errors, strict=True)]
    min_decimals = min(decimals, default=0)
    max_decimals = max(decimals, default=0)
    exponents = [_decimal_exponent(abs(x)) for row in rows for x in row if math.isfinite(x) and x != 0]
    if 0 <= max_decimals - 2 <= min_decimals and max([*exponents, 0]) + 1 + max_decimals <= MAX_FIXED_DIGITS:
        decimals = [max_decimals] * len(decimals)
    return [
        _format_alike(row, d) if d >= 0 else _exponent_texts(row, error)
        for row, d, error in zip(rows, decimals, errors, strict=True)
    ]


def ratio_texts(rows: Sequence[Sequence[float]]) -> list[list[str]]:
    """Format rows of a ratio and its limits; return the texts row by row.

    The numbers of a row have equal decimals, unless one is zero or not finite, or all would be too long.

    Examples
    --------
    >>> ratio_texts([[1.1323, 0.99751, 1.2853], [1.001017, 1.000629, 1.001405], [2.5, 1e-9, 6e9]])
    [['1.132', '0.998', '1.285'], ['1.00102', '1.00063', '1.00141'], ['2.500', '1.000e-09', '6.000e+09']]
    """
    texts = []
    for row in rows:
        sizes = [abs(x) for x in row if math.isfinite(x) and x != 0]
        top, low = (_decimal_exponent(size(sizes)) for size in (max, min)) if sizes else (0, 0)
        # A ratio near one gets enough digits to differ from its limits.
        range_exponent = (
            _decimal_exponent(max(sizes) - min(sizes)) if sizes and max(sizes) > min(sizes) else top
        )
        decimals = max(RATIO_DIGITS - 1 - top, MIN_DIGITS - 1 - low, MIN_DIGITS - 2 - range_exponent, 0)
        fits = max(top, 0) + 1 + decimals <= MAX_FIXED_DIGITS and len(sizes) == len(row)
        texts.append([_format_fixed(x, decimals) if fits else _format_ratio(x) for x in row])
    return texts


def _format_ratio(x: float) -> str:
    """Format a ratio with `RATIO_DIGITS` significant digits."""
    return f"{x:#.{RATIO_DIGITS}g}".removesuffix(".")


def _row_decimals(row: Sequence[float], error: float) -> int:
    """Choose the number of decimals of a row of numbers.

    The smallest number keeps at least one significant digit, and the largest one `MIN_DIGITS`, or
    `SIGNIFICANT_DIGITS` if `error` is infinite. No number gets more than `MAX_DIGITS` significant digits.

    Parameters
    ----------
    row : sequence of float
    error : float
        Largest acceptable absolute rounding error of a number; inf for no limit.

    Returns
    -------
    int
        Number of decimals without common trailing zeros; -1 if the row requires exponents, because its
        numbers are very large, very small or of very different magnitude.
    """
    sizes = [abs(x) for x in row if math.isfinite(x) and x != 0]
    if not sizes:
        return 0
    low, top = _decimal_exponent(min(sizes)), _decimal_exponent(max(sizes))
    digits = SIGNIFICANT_DIGITS if math.isinf(error) else MIN_DIGITS
    # Only zero is shown as zero.
    decimals = max(_error_decimals(error), digits - 1 - top, -low, 0)
    decimals = min(decimals, MAX_DIGITS - 1 - top)
    if top < -4 or decimals < -low or (decimals <= 0 and top >= MAX_FIXED_DIGITS - 2):
        return -1
    return _min_decimals(sizes, decimals, error)


def _exponent_texts(values: Sequence[float], error: float) -> list[str]:
    """Format numbers with exponents of the same length, and round the largest one by at most `error`.

    No number has more than 15 digits, even if `error` requires more.

    At least one of the values must be finite and not zero. `error` is absolute; inf stands for no limit.
    """
    top = _decimal_exponent(max(abs(x) for x in values if math.isfinite(x) and x != 0))
    return _format_alike(
        values, -1, min(max(SIGNIFICANT_DIGITS - 1, _error_decimals(error) + top), MAX_DIGITS - 1), error
    )


def _error_decimals(error: float) -> int:
    """Return the decimals that keep the absolute rounding error within `error`; -MAX_DIGITS for 0 or inf.

    The number is negative if even digits before the decimal point may be rounded.
    """
    return math.ceil(-math.log10(2 * error) - EXACT_TOLERANCE) if 0 < error < math.inf else -MAX_DIGITS


def align_points(texts: Sequence[str]) -> list[str]:
    """Pad numbers on the right to align their decimal points.

    Examples
    --------
    >>> align_points(["-0.020072", "0.5692", "12", "inf"])
    ['-0.020072', '0.5692  ', '12       ', 'inf']
    """
    tails = [len(text) - min(text.find(c) if c in text else len(text) for c in ".e") for text in texts]
    max_tail = max(tails, default=0)
    return [
        text if text.strip("- ") in ("inf", "nan") else text + " " * (max_tail - tail)
        for text, tail in zip(texts, tails, strict=True)
    ]


def short_labels(labels: Sequence[Any], widths: tuple[int, int] = LABEL_WIDTHS) -> list[str]:
    """Return labels shortened to a display width, and still distinct.

    Parameters
    ----------
    labels : sequence
        Labels of any type; those that are equal as text stay equal. Fractions are rounded.
    widths : (int, int)
        Display width, and the larger width that is used if labels would become equal. Labels that are equal
        even then end in "~" and their position from 1.

    Returns
    -------
    list of str

    Examples
    --------
    >>> short_labels(["gene expression before any treatment", "gene expression after any treatment"])
    ['gene expression before any treatment', 'gene expression after any treatment']
    >>> short_labels(["x", "y" * 60])
    ['x', 'yyyyyyyyyyyyyyy…yyyyyyyyyyyyyy']
    >>> short_labels([1 / 3, 0.5, 1234567.0])
    ['0.333333', '0.5', '1234567.0']
    """
    are_numbers = all(isinstance(label, float) for label in labels)
    texts = _number_labels(labels) if are_numbers else [clean(label) for label in labels]
    shortened = texts
    for width in widths:
        shortened = [shorten(text, width) for text in texts]
        if len(set(shortened)) == len(set(texts)):
            return shortened
    full_by_short: dict[str, set[str]] = {}
    for text, short in zip(texts, shortened, strict=True):
        full_by_short.setdefault(short, set()).add(text)
    # Labels that are still equal get their position, like in R's make.unique.
    return [
        short if len(full_by_short[short]) == 1 else f"{shorten(text, widths[1] - 1 - len(str(i)))}~{i}"
        for i, (text, short) in enumerate(zip(texts, shortened, strict=True), start=1)
    ]


def _number_labels(labels: Sequence[float]) -> list[str]:
    """Return numbers with the fewest significant digits, at least six, with which they stay distinct.

    Two decimals are always kept, so that large numbers do not change.
    """
    n_distinct = len(set(map(str, labels)))
    texts: list[str] = []
    for digits in range(MIN_LABEL_DIGITS, MAX_DIGITS + 3):
        texts = [str(_round_significant(float(label), digits)) for label in labels]
        if len(set(texts)) == n_distinct:
            break
    return texts


def _round_significant(x: float, digits: int) -> float:
    """Round a number to significant digits, but not to fewer than two decimals."""
    is_rounded = x != 0 and math.isfinite(x)
    return round(x, max(2, digits - 1 - _decimal_exponent(abs(x)))) if is_rounded else x


def fold(text: str, width: int) -> list[str]:
    """Fold a text into lines of at most a display width, at blanks; only longer words are split.

    Examples
    --------
    >>> fold("a line and another", 8)
    ['a line', 'and', 'another']
    """
    lines: list[str] = []
    line = ""
    line_width = 0
    for word in text.split(" "):
        *full_lines, last_piece = _split_word(word, width)
        if full_lines:
            lines += [line, *full_lines] if line else full_lines
            line = ""
            line_width = 0
        piece_width = display_width(last_piece)
        if line and line_width + 1 + piece_width > width:
            lines.append(line)
            line = last_piece
            line_width = piece_width
        else:
            line_width += 1 + piece_width if line else piece_width
            line = f"{line} {last_piece}" if line else last_piece
    return [*lines, line]


def _split_word(word: str, width: int) -> list[str]:
    """Split a word into pieces of at most a display width, in one pass because words may be very long."""
    if display_width(word) <= width:
        return [word]
    chunks = []
    start = 0
    chunk_width = 0
    for position, c in enumerate(word):
        character_width = _character_width(c)
        if chunk_width + character_width > width and position > start:
            chunks.append(word[start:position])
            start = position
            chunk_width = 0
        chunk_width += character_width
    return [*chunks, word[start:]]


def _column_decimals(values: Sequence[float], error: float = math.inf) -> int:
    """Choose the number of decimals of a column of numbers.

    The largest number keeps at least `SIGNIFICANT_DIGITS` significant digits, and the smallest one
    `MIN_DIGITS` if the numbers have at most `MAX_FIXED_DIGITS` digits.

    Parameters
    ----------
    values : sequence of float
    error : float
        Largest acceptable absolute rounding error of a number; inf for no limit.

    Returns
    -------
    int
        Number of decimals without common trailing zeros; -1 if the column requires exponents, because its
        numbers are very large, very small or of very different magnitude.
    """
    sizes = [abs(x) for x in values if math.isfinite(x) and x != 0]
    if not sizes:
        return 0
    top = _decimal_exponent(max(sizes))
    low = _decimal_exponent(min(sizes))
    n_integer_digits = max(top, 0) + 1
    full_decimals = MIN_DIGITS - 1 - low
    decimals = max(0, SIGNIFICANT_DIGITS - 1 - top, min(full_decimals, MAX_FIXED_DIGITS - n_integer_digits))
    error_decimals = min(_error_decimals(error), MAX_DIGITS - n_integer_digits)
    needs_exponents = (
        top >= MAX_FIXED_DIGITS - 2
        or n_integer_digits + decimals > MAX_FIXED_DIGITS
        or full_decimals > decimals + 2
    )
    if top < -4 or (needs_exponents and error_decimals <= decimals):
        return -1
    return _min_decimals(sizes, max(decimals, error_decimals), error)


def _min_decimals(sizes: Sequence[float], decimals: int, error: float) -> int:
    """Remove decimals that are zero in all numbers.

    Parameters
    ----------
    sizes : sequence of float
        Absolute values of the numbers, finite and not zero.
    decimals : int
        Number of decimals before the removal.
    error : float
        Largest acceptable absolute rounding error of a number, see `_is_exact`.

    Returns
    -------
    int
        Smallest number of decimals, at most `decimals`, with which each text is exact by `_is_exact`.
    """
    # Most numbers need all decimals, so the search starts there.
    while decimals > 0 and all(_is_exact(x, f"{x:.{decimals - 1}f}", error) for x in sizes):
        decimals -= 1
    return decimals


def _decimal_exponent(size: float) -> int:
    """Return the power of ten of a positive number in scientific notation."""
    return math.floor(math.log10(size))


def _is_exact(x: float, text: str, error: float = math.inf) -> bool:
    """Return whether a text shows a number exactly, except for rounding errors of float64.

    Parameters
    ----------
    x : float
        The number, finite.
    text : str
        The number as text, which `float` can parse.
    error : float
        Largest acceptable absolute rounding error of the displayed number; inf for no limit.

    Returns
    -------
    bool
        Whether the text differs from `x` by at most `EXACT_TOLERANCE` times abs(x) and by at most
        `error` / 100.
    """
    # If the rounding error of a number is multiplied by large factors, its last digits matter.
    return abs(float(text) - x) <= min(EXACT_TOLERANCE * abs(x), error / 100)


def _format_alike(
    values: Sequence[float], decimals: int, max_digits: int = SIGNIFICANT_DIGITS - 1, error: float = math.inf
) -> list[str]:
    """Format all numbers of a column with the same decimals, or with exponents of the same length.

    Parameters
    ----------
    values : sequence of float
    decimals : int
        Number of decimals; negative for exponents.
    max_digits : int
        Largest number of digits after the point in numbers with exponents; fewer if they suffice.
    error : float
        Largest acceptable absolute rounding error of numbers with exponents; see `_is_exact`.

    Returns
    -------
    list of str
    """
    if decimals >= 0:
        return [_format_fixed(x, decimals) for x in values]
    finite = [x for x in values if math.isfinite(x)]
    digits = next(
        d
        for d in range(max_digits + 1)
        if d == max_digits or all(_is_exact(x, f"{x:.{d}e}", error) for x in finite)
    )
    texts = [f"{abs(x) if x == 0 else x:.{digits}e}" for x in values]
    # Exponents get the same number of digits, which aligns the decimal points.
    n_digits = max((len(text.partition("e")[2]) for text in texts), default=0)
    padded = []
    for text in texts:
        mantissa, e, exponent = text.partition("e")
        padded.append(f"{mantissa}e{exponent[0]}{exponent[1:].zfill(n_digits - 1)}" if e else text)
    return padded


def _format_fixed(x: float, decimals: int) -> str:
    """Format a number with fixed decimals, without a sign for zero."""
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


_SINGLE_FORMATS: Mapping[Format, Callable[[float], str]] = {
    "p": lambda p: "<0.001" if p < 0.001 else f"{p:.3f}",
    "tail": format_pvalue,
    "share": lambda x: f"{x:.1e}" if 0 < abs(x) < 0.00005 else _format_fixed(x, 4),
    "ratio": _format_ratio,
}
"""Formats of numbers whose text does not depend on the other numbers of the column."""


def as_float(value: Any) -> float:
    """Return a cell as a float; missing cells are nan."""
    return value if type(value) is float else math.nan if _is_missing(value) else float(value)


def _is_number(value: Any) -> bool:
    """Return whether a cell is a number, possibly a missing one."""
    return _is_missing(value) or (isinstance(value, Real) and not isinstance(value, bool))


def _is_missing(value: Any) -> bool:
    """Return whether a cell is a missing scalar: None, NaN, NaT or NA."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


# ---- sections and their grids

MAX_TITLE_WIDTH = 500
"""Display width of a title, because a formula of two thousand terms would fill the screen."""

ROW_LIMITS = (40, 24, 8)
COLUMN_LIMITS = (30, 16, 4)
"""Largest number of rows (columns) that are all shown; else the numbers of first and of last ones shown."""

MAX_CELLS = 240
SHORT_ROW_LIMITS = (20, 12, 4)
SHORT_COLUMN_LIMITS = (8, 5, 1)
"""Limits like `ROW_LIMITS` for tables of more than `MAX_CELLS` cells in a summary of several tables."""

MAX_RANKED_ROWS = 31
"""Largest number of ranked rows that are all shown in a summary of several tables.

If there are more, half of this number are shown, or a third if the rows are in groups."""

INTERVAL_COLUMNS = {"low", "high"}
TIDY_INTERVAL_COLUMNS = {"conf_low", "conf_high"}
ESTIMATE_COLUMNS = {
    "coef",
    "estimate",
    "difference",
    "debiased",
    "se",
    "std_error",
    *INTERVAL_COLUMNS,
    *TIDY_INTERVAL_COLUMNS,
}
"""Columns with as many decimals as the confidence limits of their row."""

SHARED_HEADINGS = {"se": "std err", "low": "[0.025", "high": "0.975]", "aic": "AIC", "bic": "BIC"}
"""Headings of columns that all tables have in common, like in statsmodels."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns with labels, a cheap form of a DataFrame; `frame` converts them.

    Attributes
    ----------
    values : (n, m) float array or sequence of m columns
    index : Index (n,) or list
        Labels of the rows.
    names : Index (m,) or list
        Labels of the columns.
    levels : tuple
        Names of the index levels if the row labels are tuples; otherwise empty.
    """

    values: Floats | Sequence[Any]
    index: pd.Index | list[Any]
    names: pd.Index | list[Any]
    levels: tuple[Any, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self.index), len(self.names)

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as a DataFrame."""
        values = self.values
        columns = values if isinstance(values, np.ndarray) else dict(zip(self.names, values, strict=True))
        labels: Any = self.index
        if self.levels:
            labels = pd.MultiIndex.from_tuples(labels, names=self.levels)
        return pd.DataFrame(columns, index=labels, columns=self.names)


def frame_of(table: pd.DataFrame | Columns) -> pd.DataFrame:
    """Return the table of a section as a DataFrame, which may share memory with the section."""
    return table.frame if isinstance(table, Columns) else table


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A table of a summary, and how it is formatted.

    Attributes
    ----------
    title : str
        Title above the table.
    table : DataFrame or Columns
        Numbers at full precision. Rows with an index of several levels are printed in groups.
    formats : format, or mapping of column to format
        See `column_texts`. Columns that are not in the mapping are "general".
    row_formats : mapping of row label to format
        Formats of rows with another kind of number than the other rows; they replace the columns' formats,
        except for cells that are not numbers.
    headings : mapping of column to text
        Headings of columns that are not headed by their names.
    shared : bool
        Whether all "general" columns have the same number of decimals.
    triangle : bool
        Whether only the upper triangle of a symmetric table is shown, with its diagonal. It consists of the
        last n columns; columns before it are shown completely.
    errors : (n,) or (n, m) float, optional
        Largest absolute rounding error of "general" numbers in each row, or cell, if rows have different
        magnitudes. For estimates with standard errors or limits it follows from these.
    column_errors : mapping of column to float
        Largest absolute rounding error of "general" numbers in each column; none for other columns.
    note : str
        Plain text below the table; empty for none.
    source : str
        The expression that returns the full table, for the note on rows left out; ".tables" if empty.
    replacement : (str, Section), optional
        Name and section of another table that is shown instead of this one.
    ranking : (str, (n,) float), optional
        Name of a criterion, and its value for each row, NaN for none. If a table of more than `max_rows` rows
        is one of several, the rows with the largest values are shown, and below them those without a value.
    n_last_columns : int, optional
        Number of columns at the end that a text keeps if the line is too narrow for all columns and the
        section is one of several. By default the other columns are continued below.
    max_rows : int
        0 if the table is the only one. If it is one of several, the number of rows up to which a table with a
        `ranking` is whole; a table without one is then shortened if it has more than `MAX_CELLS` cells.
    more : str
        The expression that shows more of a shortened table; empty for none.
    column_limits : (int, int, int)
        Number of columns up to which all are shown if the table stands alone, and the numbers of first and
        last columns shown of a wider one.
    """

    title: str
    table: pd.DataFrame | Columns
    formats: Format | Mapping[Any, Format] = "general"
    row_formats: Mapping[Any, Format] = field(default_factory=dict)
    headings: Mapping[Any, str] = field(default_factory=dict)
    shared: bool = False
    triangle: bool = False
    errors: Sequence[float] | Floats | None = None
    column_errors: Mapping[Any, float] = field(default_factory=dict)
    note: str = ""
    source: str = ""
    replacement: tuple[str, Section] | None = None
    ranking: tuple[str, Floats] | None = None
    n_last_columns: int | None = None
    max_rows: int = 0
    more: str = ""
    column_limits: tuple[int, int, int] = COLUMN_LIMITS


class HeaderItem(NamedTuple):
    """One entry of a header.

    Attributes
    ----------
    label : str
        Label that is printed.
    value : object
        Value at full precision.
    text : str or None
        Value as it is printed; None for ``str(value)``.
    key : str
        Name under which `Pairs.item` finds the entry; empty if nothing looks for it.
    brief : str
        Name of the entry in the short form of a summary; empty if it is not part of the short form.
    options : tuple of str
        Options of the verb that the entry states, so the short form does not repeat them.
    """

    label: str
    value: Any
    text: str | None = None
    key: str = ""
    brief: str = ""
    options: tuple[str, ...] = ()

    @property
    def printed(self) -> str:
        """Value as it is printed."""
        return str(self.value) if self.text is None else self.text


@dataclass(frozen=True, slots=True)
class Pairs:
    """The header of a summary: a title, labels with values, two in a line, and a note below them.

    The note is plain text, empty for none.
    """

    title: str
    items: Sequence[HeaderItem]
    note: str = ""

    def item(self, key: str) -> HeaderItem | None:
        """Return the first entry with a key, or None."""
        return next((item for item in self.items if item.key == key), None)

    @property
    def table(self) -> pd.DataFrame:
        """The values at full precision, in one column "value" of objects, indexed by the labels."""
        values = pd.Series([item.value for item in self.items], dtype=object)
        return pd.DataFrame({"value": values.to_numpy()}, index=[item.label for item in self.items])


SummarySection = Section | Pairs
"""A section of a summary: a table, or the header."""


class SummaryContent(Protocol):
    """The attributes of a summary that the table formats read: its title, and its sections by name."""

    title: str
    _sections: dict[str, SummarySection]

    @property
    def _last_line(self) -> str:
        """Line below the sections; empty if absent."""

    def _all_sections(self) -> dict[str, SummarySection]:
        """Return all sections by name, also those that are not shown."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table as texts, from which every format is written.

    Texts are not escaped for any format.

    Attributes
    ----------
    headers : list of str
        Headings of the columns; empty if absent.
    stubs : list of str
        Labels of the rows, indented by two blanks within a group. A group begins with a row of its label and
        empty cells.
    cells : list of list of str
        Texts by row, which may end in blanks that align the decimal points; empty if nothing is shown.
    notes : list of str
        Paragraphs below the table.
    triangle : bool
        Whether cells below the diagonal are blank.
    aligns : str
        Alignments of the columns, "l" or "r", repeated as often as needed.
    """

    headers: list[str]
    stubs: list[str]
    cells: list[list[str]]
    notes: list[str]
    triangle: bool = False
    aligns: str = "r"


def limit_rows(section: SummarySection, more: str = "", max_rows: int = MAX_RANKED_ROWS) -> SummarySection:
    """Return a copy of a section that shortens a large table, for a summary of several sections.

    A header (`Pairs`) is returned unchanged. The limits apply to the `replacement` of a section too.

    Parameters
    ----------
    section : Section or Pairs
    more : str
        The expression that shows more rows, for the note below the table.
    max_rows : int
        Number of rows up to which a table with a `ranking` is shown whole. Other tables are shortened if they
        have more than `MAX_CELLS` cells.

    Returns
    -------
    Section or Pairs
    """
    if isinstance(section, Pairs):
        return section
    replacement = section.replacement and (
        section.replacement[0],
        replace(section.replacement[1], max_rows=max_rows, more=more),
    )
    return replace(section, max_rows=max_rows, more=more, replacement=replacement)


def grid_of(section: SummarySection, label_widths: tuple[int, int] = LABEL_WIDTHS) -> Grid:
    """Return a section, or its `replacement` if it has one, as a grid of texts.

    The rows of the grid of a header (`Pairs`) are a label, its value, another label and its value.

    Parameters
    ----------
    section : Section or Pairs
    label_widths : (int, int)
        Display widths of labels; see `short_labels`.

    Returns
    -------
    Grid
    """
    if isinstance(section, Section):
        return _section_grid(section.replacement[1] if section.replacement else section, label_widths)
    items = pair_texts(section)
    half = (len(items) + 1) // 2
    right = [*items[half:], ("", "")]
    cells = [[text, *right[min(i, len(right) - 1)]] for i, (_, text) in enumerate(items[:half])]
    notes = [clean(section.note)] if section.note else []
    return Grid([], [label for label, _ in items[:half]], cells, notes, aligns="rlr")


def heading(section: SummarySection) -> str:
    """Return the title of a section, or of its `replacement`, as one line of at most `MAX_TITLE_WIDTH`."""
    shown_section = (
        section.replacement[1] if isinstance(section, Section) and section.replacement else section
    )
    return shorten(clean(shown_section.title), MAX_TITLE_WIDTH)


def pair_texts(pairs: Pairs) -> list[tuple[str, str]]:
    """Return the label and the value of each entry as texts, each of at most the width `MAX_LABEL_WIDTH`."""
    return [
        (
            shorten(clean(item.label), LABEL_WIDTHS[1]),
            shorten(clean(item.printed), LABEL_WIDTHS[1]),
        )
        for item in pairs.items
    ]


def _section_grid(section: Section, label_widths: tuple[int, int]) -> Grid:
    """Return the grid of a table: the rows and columns to show, formatted, with labels and notes.

    The grid of an empty table has only notes.

    Parameters
    ----------
    section : Section
        Its `replacement` is ignored.
    label_widths : (int, int)
        Display widths of labels; see `short_labels`.

    Returns
    -------
    Grid
    """
    table, (n, m) = section.table, section.table.shape
    if not n * m:
        return Grid([], [], [], [clean(section.note or "Nothing to show.")])
    rows, columns = _shown_positions(section, ROW_LIMITS, section.column_limits)
    all_positions = rows, columns
    if section.max_rows and section.ranking is not None:
        rows = _top_rows(section.ranking[1], frame_of(table).index, section.max_rows)
    elif section.max_rows and n * m > MAX_CELLS:
        rows, columns = _shown_positions(
            section, SHORT_ROW_LIMITS if n <= ROW_LIMITS[0] else ROW_LIMITS, SHORT_COLUMN_LIMITS
        )
    shown_index = [i for i in rows if i >= 0], [j for j in columns if j >= 0]
    # A table that is shown whole need not be copied.
    if (len(shown_index[0]), len(shown_index[1])) != (n, m):
        table = frame_of(table).iloc[shown_index]
    table = _as_columns(table)
    n_before = _n_columns_before_triangle(section)
    errors = _rounding_errors(section)
    errors = errors[shown_index[0]] if errors.ndim == 1 else errors[np.ix_(*shown_index)]
    lines = _cell_texts(section, table, errors, label_widths[1])
    headers = short_labels([section.headings.get(column, column) for column in table.names], label_widths)
    if section.triangle:
        lines = [
            [text if j < n_before or j - n_before >= i else "" for j, text in enumerate(line)]
            for i, line in enumerate(lines)
        ]
    if -1 in columns:
        ellipsis_column = columns.index(-1)
        headers.insert(ellipsis_column, "…")
        for i, line in enumerate(lines):
            line.insert(ellipsis_column, "" if section.triangle and i >= ellipsis_column - n_before else "…")
    stubs, lines = _add_row_labels(table, lines, rows.index(-1) if -1 in rows else -1, label_widths)
    return Grid(
        headers,
        stubs,
        lines,
        _table_notes(section, rows, columns, has_more=(rows, columns) != all_positions),
        section.triangle,
    )


def _as_columns(table: pd.DataFrame | Columns) -> Columns:
    """Return a table as `Columns`."""
    if isinstance(table, Columns):
        return table
    levels = tuple(table.index.names) if table.index.nlevels > 1 else ()
    return Columns([column.tolist() for _, column in table.items()], table.index, table.columns, levels)


def _rounding_errors(section: Section) -> Floats:
    """Return the largest absolute rounding errors, by row (n,) or by cell (n, m); infinite by default."""
    return np.full(section.table.shape[0], math.inf) if section.errors is None else np.asarray(section.errors)


def all_texts(section: SummarySection) -> list[list[str]]:
    """Return the texts of all cells of a table row by row, also of those that are not shown.

    The list is empty if the section has a `replacement` or no cells.
    """
    if isinstance(section, Pairs):
        return [[item.printed] for item in section.items]
    if section.replacement or not math.prod(section.table.shape):
        return []
    return _cell_texts(section, _as_columns(section.table), _rounding_errors(section), MAX_LABEL_WIDTH)


def _top_rows(criterion: Floats, index: pd.Index, max_lines: int) -> list[int]:
    """Return the positions of the rows with the largest values of a criterion, then of rows without a value.

    All positions are returned, in order, if there are at most `max_lines` rows.

    Parameters
    ----------
    criterion : (n,) float array
        Value of each row, NaN for none.
    index : Index (n,)
        Row labels. If it has two levels, rows of the same group (first level) are adjacent.
    max_lines : int
        Number of rows that are all shown; of more rows half as many are chosen, a third for two levels.

    Returns
    -------
    list of int
        Positions in descending order of the criterion, within groups if there are any.
    """
    sort_keys = np.nan_to_num(-criterion, nan=np.inf)
    n = len(criterion)
    if n <= max_lines:
        return list(range(n))
    rows = np.argsort(sort_keys, kind="stable")[: max_lines // (1 + index.nlevels)]
    if index.nlevels == 2:
        rows = rows[np.argsort(pd.factorize(index.get_level_values(0))[0][rows], kind="stable")]
    return [*rows.tolist(), *np.flatnonzero(np.isnan(criterion)).tolist()]


def _n_columns_before_triangle(section: Section) -> int:
    """Return the number of columns before the triangle of a section; 0 if it is not a triangle."""
    return section.table.shape[1] - section.table.shape[0] if section.triangle else 0


def _shown_positions(
    section: Section, row_limits: tuple[int, int, int], column_limits: tuple[int, int, int]
) -> tuple[list[int], list[int]]:
    """Return the positions of the rows and of the columns to show, with -1 instead of those left out.

    Parameters
    ----------
    section : Section
    row_limits, column_limits : (int, int, int)
        See `_shown_or_omitted`. The rows of a triangle have the limits of the columns.

    Returns
    -------
    rows, columns : list of int
    """
    n_before = _n_columns_before_triangle(section)
    rows = _shown_or_omitted(section.table.shape[0], column_limits if section.triangle else row_limits)
    columns = _shown_or_omitted(section.table.shape[1] - n_before, column_limits)
    return rows, [*range(n_before), *(j + n_before if j >= 0 else j for j in columns)]


def _shown_or_omitted(count: int, limits: tuple[int, int, int]) -> list[int]:
    """Return the positions of rows or columns to show; one -1 stands for all that are left out.

    Parameters
    ----------
    count : int
        Number of rows or columns.
    limits : (int, int, int)
        Largest number that is shown completely, and the numbers of first and last ones shown otherwise.

    Returns
    -------
    list of int
    """
    max_shown, head, tail = limits
    return list(range(count)) if count <= max_shown else [*range(head), -1, *range(count - tail, count)]


def _table_notes(section: Section, rows: list[int], columns: list[int], has_more: bool) -> list[str]:
    """Return the lines below a table: its note, and how many rows and columns are shown if not all are.

    Parameters
    ----------
    section : Section
    rows, columns : list of int
        Positions shown, with -1 for those left out.
    has_more : bool
        Whether the section would show more rows or columns if it were the only one.

    Returns
    -------
    list of str
    """
    counts = dict(zip(("rows", "columns"), section.table.shape, strict=True))
    positions = {"rows": rows, "columns": columns}
    n_shown = {dimension: sum(position >= 0 for position in positions[dimension]) for dimension in counts}
    ranking = section.ranking if section.max_rows else None
    if ranking is not None:
        n_unranked = int(np.isnan(ranking[1]).sum())
        counts["rows"], n_shown["rows"] = counts["rows"] - n_unranked, n_shown["rows"] - n_unranked
    omissions = [
        f"{n_shown[dimension]} of {count} {dimension}"
        for dimension, count in counts.items()
        if n_shown[dimension] < count
    ]
    notes = [clean(section.note)] if section.note else []
    if omissions:
        ranking_text = "" if ranking is None else f", the largest by {ranking[0]} first"
        notes.append(
            f"{' and '.join(omissions)} shown{ranking_text}; "
            f"all of them: {clean(section.source) or '.tables'}."
        )
        if section.more and has_more and ranking is None:
            notes[-1] += f" More of them: {section.more}."
    return notes


def _cell_texts(section: Section, cells: Columns, errors: Floats, max_width: int) -> list[list[str]]:
    """Format the cells of some rows and columns of a table.

    Parameters
    ----------
    section : Section
    cells : Columns
        The rows and columns.
    errors : (n,) or (n, m) float array
        Largest absolute rounding errors by row or by cell of these n rows and m columns; inf for no limit.
    max_width : int
        Largest display width of a cell in the format "text"; wider ones are shortened.

    Returns
    -------
    list of list of str
        Texts row by row.
    """
    labels = cells.index if section.row_formats else [None] * len(cells.index)
    row_formats = [section.row_formats.get(label) for label in labels]
    columns = cells.values
    names = list(cells.names)
    values = columns.T.tolist() if isinstance(columns, np.ndarray) else list(map(list, columns))
    column_values = [
        [v for v, row_format in zip(column, row_formats, strict=True) if row_format is None]
        for column in values
    ]
    formats = section.formats
    forms = [formats if isinstance(formats, str) else formats.get(c, "general") for c in names]
    column_errors = [section.column_errors.get(column, math.inf) for column in names]
    texts = [column_texts(*column) for column in zip(column_values, forms, column_errors, strict=True)]
    has_column_format = np.array([row_format is None for row_format in row_formats], dtype=bool)
    for j, column in _texts_across_columns(
        section, names, forms, column_values, errors[has_column_format]
    ).items():
        texts[j] = column
    for j, column in enumerate(texts):
        if any(row_formats):
            unformatted = iter(column)
            texts[j] = align_points(
                [
                    next(unformatted)
                    if row_format is None
                    else column_texts([value], row_format if _is_number(value) else "text")[0]
                    for value, row_format in zip(values[j], row_formats, strict=True)
                ]
            )
        if forms[j] == "text":
            texts[j] = [shorten(text, max_width) for text in texts[j]]
    return [list(line) for line in zip(*texts, strict=True)]


def _texts_across_columns(
    section: Section, names: list[Any], forms: list[Format], column_values: list[list[Any]], errors: Floats
) -> dict[int, list[str]]:
    """Format the columns whose decimals depend on other columns or vary by row.

    These are "general" columns that share their decimals, ratios with limits, estimates with limits, and
    "general" columns with rounding errors by row or cell.

    Parameters
    ----------
    section : Section
    names : list
        Names of the m columns.
    forms : list of Format
        Their formats.
    column_values : list of list
        Values by column, without rows that have formats of their own.
    errors : (n,) or (n, m) float array
        Largest absolute rounding errors by row or by cell; inf for no limit.

    Returns
    -------
    dict of int to list of str
        Texts by position of the column; columns that can be formatted alone are left out.
    """
    general = [j for j, form in enumerate(forms) if form == "general"]
    ratios = [j for j, form in enumerate(forms) if form == "ratio"]
    if section.shared:
        return dict(zip(general, table_texts([column_values[j] for j in general]), strict=True))
    if ratios and set(names) >= INTERVAL_COLUMNS:
        return _columns_from_rows(ratios, ratio_texts(_rows_of_columns(column_values, ratios)))
    general_names = {names[j] for j in general}
    if general_names >= INTERVAL_COLUMNS or general_names >= TIDY_INTERVAL_COLUMNS:
        general = [j for j in general if names[j] in ESTIMATE_COLUMNS]
        rows = _rows_of_columns(column_values, general)
        errors = np.fmin(errors, _row_standard_errors(rows, [names[j] for j in general]) / 200)
        return _columns_from_rows(general, row_texts(rows, errors.tolist()))
    if errors.ndim == 2:
        texts_by_column = {
            j: row_texts([[as_float(x)] for x in column_values[j]], errors[:, j].tolist()) for j in general
        }
        return {j: align_points([text for (text,) in texts]) for j, texts in texts_by_column.items()}
    if section.errors is None:
        return {}
    return _columns_from_rows(general, row_texts(_rows_of_columns(column_values, general), errors.tolist()))


def _row_standard_errors(rows: list[list[float]], names: list[Any]) -> Floats:
    """Return the standard error (n,) of each row, or a quarter of its interval; infinite if not positive.

    Parameters
    ----------
    rows : list of list of float
        Estimates with their standard errors and limits.
    names : list
        Names of the columns, of which "se" (or "std_error"), else "low" and "high", are used.

    Returns
    -------
    (n,) float array
    """
    short_names = {"std_error": "se", "conf_low": "low", "conf_high": "high"}
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    columns = dict(zip((short_names.get(name, name) for name in names), values.T, strict=True))
    with np.errstate(invalid="ignore"):
        standard_errors = columns["se"] if "se" in columns else (columns["high"] - columns["low"]) / 4
    return np.where(standard_errors > 0, standard_errors, math.inf)


def _rows_of_columns(columns: list[list[Any]], positions: list[int]) -> list[list[float]]:
    """Return the numeric columns at the positions `positions` as rows of floats; missing cells are nan."""
    return [list(map(as_float, row)) for row in zip(*(columns[j] for j in positions), strict=True)]


def _columns_from_rows(positions: list[int], texts: list[list[str]]) -> dict[int, list[str]]:
    """Convert texts by row to texts by position of the column, with decimal points aligned in each column."""
    return {j: align_points(column) for j, column in zip(positions, zip(*texts, strict=True), strict=False)}


def _add_row_labels(
    table: Columns, lines: list[list[str]], ellipsis_row: int, label_widths: tuple[int, int]
) -> tuple[list[str], list[list[str]]]:
    """Add row labels, a line for each group, and an ellipsis for rows that are left out.

    Rows are in groups if their labels have several levels. A group begins with a line of its label, which
    consists of the levels before the last one.

    Parameters
    ----------
    table : Columns
        Rows that are shown, with their labels.
    lines : list of list of str
        Texts of the rows.
    ellipsis_row : int
        Position of the row before which rows are left out, -1 for none.
    label_widths : (int, int)
        Display widths of labels; see `short_labels`.

    Returns
    -------
    stubs : list of str
        Labels of the lines, indented by two blanks within a group.
    lines : list of list of str
        Texts of the lines, including lines of groups and of the ellipsis.
    """
    row_labels = list(table.index)
    grouped = len(table.levels) > 1
    stubs = short_labels(
        [row_label[-1] for row_label in row_labels] if table.levels else row_labels, label_widths
    )
    groups = [
        " / ".join(map(clean, label[:-1])) if len(label) > 2 else label[0] for label in row_labels if grouped
    ]
    group_labels = short_labels(groups, label_widths)
    blank = [""] * len(lines[0])
    labelled: list[tuple[str, list[str]]] = []
    for i, (stub, line) in enumerate(zip(stubs, lines, strict=True)):
        if i == ellipsis_row:
            labelled.append(("…", blank))
        if grouped and (i in (0, ellipsis_row) or group_labels[i] != group_labels[i - 1]):
            labelled.append((group_labels[i], blank))
        labelled.append((f"  {stub}" if grouped else stub, line))
    return [stub for stub, _ in labelled], [line for _, line in labelled]
