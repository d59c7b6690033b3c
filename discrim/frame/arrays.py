"""Arrays as tables, without a copy of their numbers."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.frame.sparse import SparseFrame
from discrim.frame.table import Table

__all__ = ["array_table", "incomplete_rows", "last_column", "refuse_missing", "with_column"]


def array_table(x: NDArray[Any], names: Sequence[str]) -> pd.DataFrame:
    """An array (n, p) as a table with these columns, a view of it."""
    return pd.DataFrame(x, columns=pd.Index(list(names)), copy=False)


def with_column(
    data: Any, names: Sequence[str], name: str, codes: NDArray[np.intp], levels: Sequence[Any]
) -> Any:
    """Columns of a table and one more, a categorical of codes and levels; those of pandas are not copied.

    Parameters
    ----------
    data : table
    names : sequence of str
        The columns of the table that are taken.
    name : str
        The new column; one of the table of this name is replaced.
    codes : (n,) int
    levels : sequence
    """
    values = pd.Categorical.from_codes(codes, categories=pd.Index(levels))
    kept = [each for each in names if each != name]
    if isinstance(data, SparseFrame):
        return data.with_column(name, values)
    if not isinstance(data, pd.DataFrame):
        frame = Table(data).frame(kept)
    elif list(data.columns) == kept:
        frame = data.copy(deep=False)
    else:
        frame = data[kept].copy(deep=False)
    with warnings.catch_warnings():
        # One column more is no reason to mend how the caller's table lies in memory.
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        frame[name] = values
    return frame


def refuse_missing(data: Any, names: Sequence[str]) -> None:
    """Raise a DataError that names the first missing value in these columns of a table, if there is one."""
    table = Table(data)
    columns = table.view(names)
    # One sum finds whether there is anything to look for.
    with np.errstate(over="ignore", invalid="ignore"):
        if columns is not None and np.isfinite(columns.sum()):
            return
    if table.sparse is not None and not table.sparse.misses():
        names = [name for name in names if name not in table.sparse.kinds]
    for name in names:
        missing = table.column(name).isna().to_numpy()
        if missing.any():
            row, more = table.label(int(np.argmax(missing))), int(missing.sum()) - 1
            raise DataError(
                f"Column {name!r} is missing (NaN) at row {row!r}{f' and in {more} more' if more else ''}: "
                "impute it, for example with sklearn.impute, or leave the row out."
            )


def last_column(data: pd.DataFrame | SparseFrame) -> pd.Series:
    """The column that `with_column` put last."""
    return (data.beside if isinstance(data, SparseFrame) else data).iloc[:, -1]


def incomplete_rows(data: pd.DataFrame | SparseFrame) -> int:
    """Number of rows with a missing value."""
    if not isinstance(data, SparseFrame):
        return int(data.isna().any(axis=1).sum())
    values = data.matrix.data
    if values.dtype.kind != "f":
        return 0
    row = np.repeat(np.arange(len(data)), np.diff(data.matrix.indptr))
    return len(np.unique(row[np.isnan(values)]))
