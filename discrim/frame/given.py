"""What a caller passes as a table: read as a frame or refused, and held apart from later changes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, NotSupportedError
from discrim.frame.sparse import SparseFrame

__all__ = ["given_frame", "held_frame", "rows_of"]


def given_frame(data: Any) -> Any:
    """A frame of pandas, or of narwhals over any other library, of what was given as a table.

    Raises
    ------
    DataError
        It is no table.
    """
    if isinstance(data, dict):
        data = _frame_of_dict(data)
    return data if isinstance(data, pd.DataFrame | SparseFrame) else _narwhals_frame(data)


def held_frame(frame: Any) -> Any:
    """The frame as a fit holds it, without a copy of its values.

    What is done to the caller's frame by its own library does not reach it: columns that are added, renamed
    or left out, rows that are sorted or dropped; with pandas from 3.0 on, values that are set.
    """
    if isinstance(frame, SparseFrame):
        return frame
    if isinstance(frame, pd.DataFrame):
        return frame.copy(deep=False)
    return frame.clone() if frame.implementation.is_polars() else frame


def _frame_of_dict(data: dict[Any, Any]) -> pd.DataFrame:
    """A dict of columns as a frame.

    Raises
    ------
    DataError
        It holds numbers in the place of columns, or columns of different lengths.
    """
    single = [name for name, value in data.items() if isinstance(value, str) or not hasattr(value, "__len__")]
    if len(single) == len(data) > 0:
        raise DataError(
            f"data is a dict of single values, as {single[0]!r}: write lists, {{{single[0]!r}: [...]}}, "
            "one value a row."
        )
    try:
        return pd.DataFrame(data)
    except ValueError as error:
        lengths = ", ".join(f"{name!r} {len(data[name])}" for name in data if name not in single)
        raise DataError(
            f"The dict of columns is no table ({error}); lengths: {lengths}. Give lists of one length."
        ) from None


def _whole(data: Any) -> Any:
    """A batch of Arrow as a table of it; all else as it is."""
    if type(data).__module__.partition(".")[0] == "pyarrow":
        import pyarrow as pa

        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
    return data


def _narwhals_frame(data: Any) -> Any:
    import narwhals as nw

    data = _whole(data)
    try:
        return nw.from_native(data, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            f"{' '.join(str(error).split())}: rename the columns so that each name stands for one."
        ) from error
    except TypeError:
        raise DataError(
            f"data is {_told(data)}, not a table: pass a pandas DataFrame, a polars or pyarrow "
            f"table, or a dict of columns{_of_arrays(data)}."
        ) from None


def _of_arrays(data: Any) -> str:
    """Where to go with X and y."""
    name = type(data).__name__
    return "; for X and y see the estimators in discrim.sklearn" if name in ("ndarray", "Series") else ""


def _told(data: Any) -> str:
    """What was given in the place of a table."""
    if isinstance(data, str):
        kind = "the formula, which goes first" if "~" in data else "text (read a file by pandas.read_csv)"
        return f"{data[:60]!r}, {kind}"
    return f"an {type(data).__name__}" if type(data).__name__[0] in "aeiou" else f"a {type(data).__name__}"


def rows_of(data: Any, positions: NDArray[np.intp]) -> Any:
    """Some rows of a table, as the same kind of table; those of a dict as a frame of pandas.

    Raises
    ------
    NotSupportedError
        It is no table whose rows can be taken by their positions.
    """
    try:
        frame = given_frame(data)
        if isinstance(frame, pd.DataFrame):
            return frame.iloc[positions]
        return frame[positions.tolist()].to_native()
    except (AttributeError, DataError, TypeError):
        raise NotSupportedError(
            f"Each fold takes a call with its rows, and rows of a {type(data).__name__} cannot be taken by "
            "their positions: pass a DataFrame, or a sample of the rows as one."
        ) from None
