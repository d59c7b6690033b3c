"""Frames that follow one another: each has the columns of the first, and each column is of one kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.frame.given import given_frame
from discrim.frame.sources.parts import batch_rows, capital, listed, refuse_twice
from discrim.frame.values import Kind, narwhals_kind, pandas_kind

__all__ = ["Kinds", "frame_of", "native", "slices"]


def frame_of(data: Any, what: str) -> Any:
    """A frame of pandas, or of narwhals over any other library, of one that a function or an iterator gave.

    Raises
    ------
    DataError
        It is no table.
    """
    try:
        return given_frame(data)
    except DataError as error:
        raise DataError(
            f"{capital(what)} is no table, where each has to be one: {error} Give a file by its path, "
            "as in data='table.csv'."
        ) from None


def slices(frame: Any) -> Iterator[Any]:
    """The rows of a frame in parts of no more than a batch, as frames like it."""
    step, nrows = batch_rows(len(frame.columns)), len(frame)
    if nrows <= 2 * step:
        yield frame
        return
    for start in range(0, nrows, step):
        stop = min(start + step, nrows)
        yield frame.iloc[start:stop] if isinstance(frame, pd.DataFrame) else frame[start:stop]


def native(frame: Any) -> Any:
    """A frame as its own library has it."""
    return frame if isinstance(frame, pd.DataFrame) else frame.to_native()


class Kinds:
    """What the columns of a first frame hold, which those of the later ones have to hold as well.

    Parameters
    ----------
    frame : DataFrame of pandas or narwhals
    what : str
        What it is, for messages: "frame 1 of the iterator".
    """

    def __init__(self, frame: Any, what: str) -> None:
        self.what = what
        self.names = _names(frame)
        refuse_twice(self.names, what)
        self._dtypes = _dtypes(frame)
        self._first = {
            name: _described(frame[label]) for name, label in zip(self.names, frame.columns, strict=True)
        }

    def fitted(self, frame: Any, what: str, columns: Sequence[str] | None = None) -> Any:
        """A later frame as its library has it; columns that are all missing are of the kind of the first.

        Raises
        ------
        DataError
            A column is missing, is new, or is of another kind.
        """
        names = _names(frame)
        refuse_twice(names, what)
        self._compare_names(names, what)
        labels, dtypes = dict(zip(names, frame.columns, strict=True)), _dtypes(frame)
        for name in self.names if columns is None else columns:
            # What Python's objects are, each of them says.
            if dtypes[name] == self._dtypes[name] and dtypes[name] != np.dtype(object):
                continue
            kind, dtype = self._first[name]
            now, other = _described(frame[labels[name]])
            if now == kind:
                continue
            if not _all_missing(frame[labels[name]]):
                raise DataError(
                    f"Column {name!r} is {dtype} in {self.what} and {other} in {what}: give it one type in "
                    "all of them (a reader of text takes types as dtype=), or leave it out of the formula."
                )
            frame = _with_kind(frame, labels[name], kind)
        return native(frame)

    def _compare_names(self, names: tuple[str, ...], what: str) -> None:
        if names == self.names:
            return
        for these, those, here, there in (
            (self.names, names, what, self.what),
            (names, self.names, self.what, what),
        ):
            known = set(those)
            lost = [name for name in these if name not in known]
            if lost:
                raise DataError(
                    f"{capital(here)} lacks the column{'s' if len(lost) > 1 else ''} {listed(lost)} of "
                    f"{there}: give the same columns in all of them."
                )


def _names(frame: Any) -> tuple[str, ...]:
    return tuple(str(label) for label in frame.columns)


def _dtypes(frame: Any) -> dict[str, Any]:
    held = frame.dtypes if isinstance(frame, pd.DataFrame) else frame.schema.values()
    return dict(zip(_names(frame), held, strict=True))


def _described(series: Any) -> tuple[Kind, str]:
    """What a column holds, and its type in the words of its library."""
    if isinstance(series, pd.Series):
        return pandas_kind(series), str(series.dtype)
    native = series.to_native()
    return narwhals_kind(series.dtype), str(getattr(native, "dtype", getattr(native, "type", series.dtype)))


def _all_missing(series: Any) -> bool:
    if isinstance(series, pd.Series):
        return bool(series.isna().all())
    return int(series.null_count()) == len(series)


def _with_kind(frame: Any, label: Any, kind: Kind) -> Any:
    """The frame with a column, all of which is missing, as one of a kind."""
    if isinstance(frame, pd.DataFrame):
        dtypes = {"numeric": "float64", "boolean": "boolean", "categorical": "category"}
        empty = pd.Series([None] * len(frame), frame.index, dtype=dtypes.get(kind, "object"))
        return frame.assign(**{label: empty}) if isinstance(label, str) else _assigned(frame, label, empty)
    import narwhals as nw

    types: dict[Kind, Any] = {"numeric": nw.Float64, "boolean": nw.Boolean, "categorical": nw.Categorical}
    return frame.with_columns(nw.col(label).cast(types.get(kind, nw.String)))


def _assigned(frame: pd.DataFrame, label: Any, column: pd.Series) -> pd.DataFrame:
    frame = frame.copy(deep=False)
    frame[label] = column
    return frame
