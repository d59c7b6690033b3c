"""What a fit remembers of the values of its table, to notice a change that is made behind it.

A fit holds its table by reference. What is done to the caller's table by its own library does not reach the
fit; what is written into the memory that both share, as into the array that a frame was made of, does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.frame.categories import shown
from discrim.frame.values import LONG, objects

__all__ = ["NEVER_WRITTEN", "Fingerprint", "column_values", "every_so_many"]

WHOLE = 2**17
"""Numbers of the columns that are read up to which every one is held: 1 MiB."""

SAMPLED = 2**15
"""About so many of a larger table are held, of evenly spaced rows."""


NEVER_WRITTEN = (pd.ArrowDtype, pd.StringDtype)
"""Dtypes of columns in memory that no one writes to: Arrow's, and pandas' text."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Values of a table's columns, of all rows or of evenly spaced ones.

    A column that is sorted or overwritten is noticed. Of a table of more than `WHOLE` numbers, a change of a
    few rows may not be.

    Attributes
    ----------
    step : int
        Every so many rows are held.
    values : dict of tuple of str to array
        Of one column (rows,), or of several that lie side by side in memory (columns, rows).
    """

    step: int
    values: Mapping[tuple[str, ...], NDArray[Any]]

    def refuse_changes(
        self, now: Mapping[tuple[str, ...], NDArray[Any]], label: Callable[[int], Any]
    ) -> None:
        """Raise a DataError that names the first value that is another one now, and its row."""
        for names, before in self.values.items():
            after = now[names]
            if before.dtype != object and before.tobytes() == after.tobytes():
                continue
            differ = _differing(before, after)
            if not differ.any():
                continue
            column, at = np.argwhere(differ.reshape(len(names), -1))[0].tolist()
            was, found = (each.reshape(len(names), -1)[column, at] for each in (before, after))
            raise DataError(
                "The table of this fit was changed after the fit, in the memory that both share: column "
                f"{names[column]!r} at row {label(at * self.step)!r} was {shown(was)} and is {shown(found)}. "
                "Fit again; a fit to data.copy() keeps its own table."
            )


def _differing(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two arrays differ; missing values do not."""
    try:
        return np.asarray((before != after) & ~(pd.isna(before) & pd.isna(after)), dtype=bool)
    except (TypeError, ValueError):
        # pd.NA, and arrays in the place of values, have no comparison that is true or false.
        pairs = zip(before.ravel(), after.ravel(), strict=True)
        return np.array([not _same(one, other) for one, other in pairs], dtype=bool).reshape(before.shape)


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False


def every_so_many(rows: int, columns: int) -> int:
    """Of how many rows one is held."""
    count = rows * max(columns, 1)
    return 1 if count <= WHOLE else -(-count // SAMPLED)


def column_values(series: Any, step: int) -> NDArray[Any] | None:
    """A copy of every so many values of a column, of categories their codes; None where nothing is shared."""
    if not isinstance(series, pd.Series):
        if not series.dtype.is_numeric():
            return None
        held = series.gather_every(step)
        return objects(held.to_list()) if str(series.dtype) in LONG else np.array(held.to_numpy())
    if isinstance(series.dtype, np.dtype):
        return series.to_numpy()[::step].copy()
    if isinstance(series.dtype, pd.CategoricalDtype):
        return np.array(series.cat.codes.to_numpy()[::step])
    return np.array(series.iloc[::step].to_numpy(dtype=object))
