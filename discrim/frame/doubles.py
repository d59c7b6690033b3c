"""What a user is told where doubles round the numbers of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discrim.errors import DataError, warn_user
from discrim.frame.rounding import rounding
from discrim.frame.values import exact_values

__all__ = ["compare_to_doubles"]

TELLING = 1e-6
"""Share of a column's range up to which its rounding leaves a fit what the column says."""


def compare_to_doubles(series: Any, name: str, label: Callable[[int], Any], *, refused: bool) -> None:
    """Say so where doubles round the numbers of a column.

    Parameters
    ----------
    series : Series of pandas or narwhals
    name : str
    label : callable
        From the position of a row to what it is called.
    refused : bool
        A model is to be fitted, and cannot be to a column of which little is left.

    Raises
    ------
    DataError
        It is refused, and of what the column says too little is left.
    """
    values, rows = exact_values(series, name)
    lost = None if values is None else rounding(values)
    if lost is None or values is None or rows is None:
        return
    row = label(int(rows[lost.position]))
    what = f"the number {values[lost.position]} of column {name!r}, at row {row!r},"
    way_out = (
        f"Subtract one origin from the column in every table, as in data[{name!r}] - {lost.low}, or "
        "convert it to float64 if such differences mean nothing."
    )
    if refused and lost.error > TELLING * lost.spread:
        raise DataError(
            f"Double precision rounds {what} by {lost.error:.3g}, and the column ranges over "
            f"{lost.spread:.3g}: too little of what it says is left. {way_out}"
        )
    warn_user(f"Double precision rounds {what} by {lost.error:.3g}. {way_out}")
