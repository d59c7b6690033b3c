"""Frequency weights of the rows of a table, from a column or a vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.data.table import Table
from discrim.data.values import as_floats, has_values, pandas_kind
from discrim.errors import DataError, DroppedRowsWarning, warn_user

WEIGHT_SUMS = (1e-280, 1e110)
"""Smallest and largest sum of weights: tests take squares of the sum, times others, and divide by it."""


def weight_vector(weights: Any, table: Table) -> NDArray[np.float64] | None:
    """Frequency weights (n,) from a column name or a vector; a missing weight is NaN, with a warning.

    A DataError tells of a wrong length, a negative or infinite weight, no positive weight at all in a whole
    table, or a sum of weights that is out of range.
    """
    if weights is None:
        return None
    name = weights if isinstance(weights, str) else getattr(weights, "name", None)
    label = f"weights {name!r}" if name is not None else "weights"
    if isinstance(weights, str):
        if table.kind(weights) not in ("numeric", "boolean") and table.has_values(weights):
            raise DataError(f"The {label} are not numeric.", hint="Give a numeric column of counts.")
        numbers = np.empty((table.nrows, 1))
        table.fill([weights], 0, table.nrows, numbers)
        vector = numbers[:, 0]
    else:
        if isinstance(weights, pd.Series) and not weights.index.equals(table.index):
            raise DataError(
                f"The index of the {label} differs from the table's.", hint="Align them, or pass an array."
            )
        vector = _numbers(weights, label)
    if vector.shape != (table.nrows,):
        raise DataError(
            f"The {label} have shape {vector.shape}; the table has {table.nrows} rows.",
            hint="Give one number for each row.",
        )
    for bad, what in ((vector < 0, "negative"), (np.isinf(vector), "infinite")):
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"The {label} are {what} at row {table.label(row)!r} ({vector[row]:g}).",
                hint="Give 0 or more, or drop the row.",
                rows=(table.label(row),),
            )
    if not table.part and not (vector > 0).any():
        raise DataError(
            f"The {label} are all zero or missing: no row is left.", hint="Give some rows a weight above 0."
        )
    with np.errstate(over="ignore"):
        total = float(np.nansum(vector))
    if total > WEIGHT_SUMS[1] or 0 < total < WEIGHT_SUMS[0]:
        raise DataError(
            f"The {label} sum to {total:g}, and products of them would be out of the range of double "
            "precision.",
            hint="Divide them by their largest, or by their mean where only their ratios matter.",
        )
    missing = np.isnan(vector)
    if missing.any():
        row = table.label(int(np.argmax(missing)))
        more = int(missing.sum()) - 1
        warn_user(
            f"The {label} are missing at row {row!r}{f' and in {more} more' if more else ''}: left out, and "
            "counted as dropped. Fill them, for example with 1.",
            DroppedRowsWarning,
        )
    # The caller's own array, or column, may change after the fit.
    return vector.copy()


def positive_weights(column: str | None, table: Table) -> NDArray[np.bool_] | None:
    """Return which rows (n,) have a positive weight in a column; None without a column of numbers.

    `weight_vector` reports what is wrong with a column of weights.
    """
    if column is None or table.kind(column) not in ("numeric", "boolean"):
        return None
    return table.column(column).to_numpy(dtype=np.float64) > 0


def learnt_rows(weights: NDArray[np.float64] | None, table: Table) -> NDArray[np.bool_] | None:
    """Return the rows (n,) whose weight (n,) is positive, from which levels are learnt; None for all rows.

    A part of a table may have no such row. Its classes are then those of all its rows.
    """
    positive = None if weights is None else weights > 0
    if positive is None or positive.all() or (table.part and not positive.any()):
        return None
    return positive


def _numbers(weights: Any, label: str) -> NDArray[np.float64]:
    """A vector as doubles; text, times and complex numbers count no rows."""
    labelled = isinstance(weights, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    values = weights if labelled else np.asarray(weights)
    if values.ndim != 1:
        return np.zeros(values.shape)  # Its shape is the fault.
    series = pd.Series(values)
    if pandas_kind(series) not in ("numeric", "boolean") and has_values(series):
        raise DataError(f"The {label} are not numeric but {series.dtype}.", hint="Give a vector of counts.")
    return as_floats(series, label)
