"""Numbers and labels as a reader wants them: as many digits as they have, in columns that line up."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import Any, Literal

__all__ = ["Format", "clean", "column_texts", "display_width", "p_text", "shorten"]

Format = Literal["general", "count", "p", "tail", "z", "share", "text"]

SIGNIFICANT = 5
"""Significant digits of the largest number of a column."""

SMALLEST = 3
"""Significant digits that the smallest number of a column should keep, where the width allows it."""

WIDEST = 9
"""Digits of a fixed-point number; beyond, the column turns to powers of ten."""


def display_width(text: str) -> int:
    """Columns of a terminal that a text takes: two for wide characters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2 if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )  # fmt: skip


def clean(label: Any) -> str:
    r"""A label as one line of text, control and direction characters written out.

    Examples
    --------
    >>> clean("a\nb\x1b[31m")
    'a\\nb\\x1b[31m'
    """
    text = str(label)
    shown = (
        c if c == " " or (unicodedata.category(c)[0] != "C" and unicodedata.category(c) not in ("Zl", "Zp"))
        else c.encode("unicode_escape").decode("ascii")
        for c in text
    )  # fmt: skip
    return "".join(shown)


def shorten(text: str, width: int) -> str:
    """A text cut in its middle to a display width."""
    if display_width(text) <= width:
        return text
    head, tail = "", ""
    for left, right in zip(text, reversed(text), strict=True):
        if display_width(head + left + tail) + 1 > width:
            break
        head += left
        if display_width(head + right + tail) + 1 > width:
            break
        tail = right + tail
    return f"{head}…{tail}"


def p_text(p: float) -> str:
    """A p-value, never zero: 0.0213, 7.3e-22, <1e-300.

    Examples
    --------
    >>> [p_text(p) for p in (0.02134, 7.31e-22, 0.0)]
    ['0.0213', '7.3e-22', '<1e-300']
    """
    if math.isnan(p):
        return ""
    if p < 1e-300:
        return "<1e-300"
    return f"{p:.4f}" if p >= 0.001 else f"{p:.1e}"


def column_texts(values: Sequence[Any], form: Format) -> list[str]:
    """Texts of a column, with the same number of decimals; a missing value is blank.

    Examples
    --------
    >>> column_texts([13.4558634, -7.84595831, 0.0], "general")
    ['13.456', '-7.846', '0.000']
    >>> column_texts([2.65e-19, 9.27e-20], "general")
    ['2.6500e-19', '9.2700e-20']
    """
    if form == "text":
        return ["" if _missing(v) else clean(v) for v in values]
    if form in ("p", "tail"):
        return [_p_short(v) if form == "p" else p_text(float(v)) for v in values]
    numbers = [float(v) if v is not None else math.nan for v in values]
    if form == "count" and all(x == round(x) for x in numbers if math.isfinite(x)):
        return [_fixed(x, 0) for x in numbers]
    decimals = {"z": 2, "share": 4}.get(form)
    if decimals is None:
        decimals = decimals_of(numbers)
    return [_scientific(x) if decimals < 0 else _fixed(x, decimals) for x in numbers]


def decimals_of(numbers: Sequence[float]) -> int:
    """Decimals that suit numbers printed under one another; -1 where powers of ten do."""
    sizes = [abs(x) for x in numbers if math.isfinite(x) and x != 0]
    if not sizes:
        return 0
    top, low = _exponent(max(sizes)), _exponent(min(sizes))
    # Digits below the rounding of the largest are noise of it, as in a difference that should be zero.
    low = max(low, top - 12)
    decimals = max(0, SIGNIFICANT - 1 - max(top, 0) if top >= 0 else SIGNIFICANT - 1 - top)
    decimals = max(decimals, min(SMALLEST - 1 - low, WIDEST - 1 - max(top, 0)))
    if (
        top >= WIDEST - 2
        or max(top, 0) + 1 + decimals > WIDEST
        or -top > 4
        or SMALLEST - 1 - low > decimals + 2
    ):
        return -1
    return decimals


def _exponent(size: float) -> int:
    return math.floor(math.log10(size)) if size > 0 else 0


def _fixed(x: float, decimals: int) -> str:
    if math.isnan(x):
        return ""
    text = f"{x:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def _scientific(x: float) -> str:
    return "" if math.isnan(x) else f"{x:.{SIGNIFICANT - 1}e}" if x else "0"


def _p_short(p: Any) -> str:
    value = float(p)
    return "" if math.isnan(value) else "<0.001" if value < 0.001 else f"{value:.3f}"


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
