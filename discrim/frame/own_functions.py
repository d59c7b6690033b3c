"""Functions of the user's own: called on a whole column at once, and held to look at each row alone.

A function that looks at other rows, as ``x - x.mean()`` does, gives a new row another value with other rows
beside it, so that a prediction would depend on its neighbours. Each result is therefore compared with what
the function gives for some of the rows, in another order, and for single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError, FormulaError
from discrim.frame.categories import shown
from discrim.frame.grammar import FUNCTIONS
from discrim.frame.values import as_floats, pandas_kind, rounding

Functions = Mapping[str, Callable[..., Any]]
Made = NDArray[np.float64] | pd.Series
"""What a call makes of m rows: numbers (m,) or (m, k), or categories (m,)."""

CHECKED_ROWS = 2048
"""About so many rows of a table, evenly spaced, does a function see once more, the last one first."""

SLACK = 1e-9
"""Share of a column's largest size by which the same row may differ: sums round as their length wants."""


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A function of the user's, the factor it is called in, and its arguments that are no columns."""

    code: str
    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]

    def __call__(self, arguments: Sequence[Any], index: pd.Index) -> Made:
        """What the function makes of complete rows: checked for kind, length and order, and to be by row.

        Arguments are Series (m,), or arrays (m,), (m, k) or (). Only categories may be missing in the result.
        """
        whole = self._made(arguments, index, f"all {len(index)} rows")
        for rows in _parts(whole):
            # A number stands for all rows.
            given = [
                each.iloc[rows] if isinstance(each, pd.Series) else each[rows] if np.ndim(each) else each
                for each in arguments
            ]
            part = self._made(given, index[rows], "some rows alone")
            self._compare(whole, part, rows, index)
        return whole

    def _made(self, arguments: Sequence[Any], index: pd.Index, rows: str) -> Made:
        # Copies, for a function may write into what it is given.
        given = [each.copy() if isinstance(each, (pd.Series, np.ndarray)) else each for each in arguments]
        try:
            result = self.function(*given, **self.options)
        except Exception as error:
            raise FormulaError(
                f"{self._called}, given {rows}, raised {type(error).__name__}: {error}. "
                "Correct the function, or give it other columns."
            ) from error
        return self._read(self._aligned(result, index), index)

    @property
    def _called(self) -> str:
        return f"{self.code}: {self.name}() of functions="

    def _aligned(self, result: Any, index: pd.Index) -> Any:
        """The result in the order of the rows: by its index, where it has one of its own."""
        if not isinstance(result, (pd.Series, pd.DataFrame)) or result.index.equals(index):
            return result
        n = len(index)
        fresh = isinstance(result.index, pd.RangeIndex) and result.index.equals(pd.RangeIndex(n))
        if fresh or len(result) != n:
            # Without labels of its own, as a Series made of an array.
            return result
        if not index.is_unique or set(result.index) != set(index):
            raise FormulaError(
                f"{self._called} gave a {type(result).__name__} whose index is not that of its column, so "
                "that its rows have no place: have it keep the index, or return an array in the order of "
                "the rows."
            )
        return result.reindex(index)

    def _read(self, result: Any, index: pd.Index) -> Made:
        if isinstance(result, np.ma.MaskedArray):
            known = np.array(result.data, dtype=object)
            known[np.ma.getmaskarray(result)] = None
            result = known
        try:
            array = result if isinstance(result, pd.DataFrame) else np.asarray(result)
        except Exception:
            array = np.array(None)
        if array.ndim not in {1, 2} or len(array) != len(index) or 0 in array.shape[1:]:
            raise FormulaError(
                f"{self._called} must give one value, or one row of a matrix, for each of {len(index)} "
                f"rows; it gave an array of shape {array.shape}."
            )
        if array.ndim == 2:
            frame = pd.DataFrame(array)
            return np.column_stack([self._numbers(frame.iloc[:, j]) for j in range(frame.shape[1])])
        series = result if isinstance(result, pd.Series) else None
        if series is None:
            series = pd.Series(result if isinstance(result, pd.Categorical) else array)
        kind = pandas_kind(series)
        if kind == "categorical":
            return pd.Series(pd.Categorical(series), index=index)
        if kind == "text":
            return pd.Series(series.to_numpy(dtype=object), index=index)
        return self._numbers(series)

    def _numbers(self, series: pd.Series) -> NDArray[np.float64]:
        if series.isna().all():
            return np.full(len(series), np.nan)
        if pandas_kind(series) not in {"numeric", "boolean"}:
            raise FormulaError(
                f"{self._called} gave {series.dtype}, not numbers or text: have it return either."
            )
        known = series[series.notna()].to_numpy()
        rounded = rounding(known)
        if rounded is not None:
            raise FormulaError(
                f"{self._called} gave the number {known[rounded.position]}, which doubles round by "
                f"{rounded.error:g}: have it return smaller numbers, or text where they are categories."
            )
        try:
            return as_floats(series, self.code)
        except DataError as error:
            raise FormulaError(f"{self._called}, which gave it: {error} Correct the function.") from None

    def _compare(self, whole: Made, part: Made, rows: NDArray[np.intp], index: pd.Index) -> None:
        """Raise where rows (r,) are something else in the whole than they are in the part."""
        before = whole.iloc[rows] if isinstance(whole, pd.Series) else whole[rows]
        differ = _differences(before, part, whole)
        if differ is None:
            raise FormulaError(
                f"{self._called} gives {_kind(whole)} for all rows and {_kind(part)} for {len(rows)} of "
                f"them: give a function that looks at each row alone. {_WAY_OUT}"
            )
        if differ.any():
            at = int(differ.argmax())
            ours, theirs = (
                each.iloc[at] if isinstance(each, pd.Series) else each[at].tolist() for each in (before, part)
            )
            raise FormulaError(
                f"{self._called} gives row {shown(index[rows[at]])} {shown(ours)} beside all other rows and "
                f"{shown(theirs)} {'alone' if len(rows) == 1 else 'beside some of them'}, so that a "
                f"prediction would depend on its neighbours: give a function that looks at each row alone. "
                f"{_WAY_OUT}"
            )


_WAY_OUT = (
    "What is learnt from the rows is remembered by center(), scale(), poly() and bs(); compute other such "
    "columns before the fit."
)


def check_functions(functions: Functions | None) -> Functions:
    """The user's functions, if every one can be called by its name; else a FormulaError."""
    if functions is not None and not isinstance(functions, Mapping):
        raise FormulaError(
            f"functions= is a {type(functions).__name__}: give a dict of names and functions, {{'f': f}}."
        )
    for name, function in (functions or {}).items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise FormulaError(f"functions= names a function {name!r}, which no formula can call: rename it.")
        if name in FUNCTIONS or name == "np":
            raise FormulaError(f"functions= may not redefine {name}: give yours another name.")
        if not callable(function):
            raise FormulaError(
                f"functions={{{name!r}: ...}} is a {type(function).__name__}, not a function: give a "
                "function of columns."
            )
    return functions or {}


def recall_functions(names: Sequence[str], functions: Functions | None) -> Functions:
    """The functions a design calls, out of those given with new data; one that is not is a FormulaError."""
    functions = check_functions(functions)
    for name in names:
        if name not in functions:
            raise FormulaError(f"The formula calls {name}(): pass functions={{{name!r}: ...}} again.")
    return {name: functions[name] for name in names}


def _parts(whole: Made) -> list[NDArray[np.intp]]:
    """Rows that are computed once more: some from the last on, and those of extreme results alone."""
    n = len(whole)
    if n < 2:
        return []
    spaced = np.arange(n - 1, -1, -max(2, -(-n // CHECKED_ROWS)), dtype=np.intp)
    values = pd.factorize(whole)[0] if isinstance(whole, pd.Series) else whole.reshape(n, -1)[:, 0]
    known = np.where(np.isnan(values), -np.inf, values)
    alone = {n - 1, int(known.argmax()), int(known.argmin())}
    return [spaced, *(np.array([row], dtype=np.intp) for row in sorted(alone))]


def _differences(before: Made, part: Made, whole: Made) -> NDArray[np.bool_] | None:
    """Rows (r,) that are not the same twice; None where they are of another kind or width."""
    if isinstance(before, pd.Series) or isinstance(part, pd.Series):
        texts = [_texts(each) for each in (before, part)]
        if texts[0] is None or texts[1] is None:
            return None
        return np.asarray(texts[0] != texts[1], dtype=bool)
    if before.shape[1:] != part.shape[1:]:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.max(np.abs(np.where(np.isfinite(whole), whole, 0.0)), axis=0)
        same = (before == part) | (np.isnan(before) & np.isnan(part))
        near = same | (np.abs(before - part) <= SLACK * size)
    return np.asarray(~near.reshape(len(near), -1).all(axis=1))


def _texts(values: Made) -> NDArray[Any] | None:
    """Categories as objects, None where missing; of numbers only where all are missing."""
    if isinstance(values, pd.Series):
        texts: NDArray[Any] = values.to_numpy(dtype=object).copy()
        texts[values.isna().to_numpy()] = None
        return texts
    return np.full(len(values), None) if values.ndim == 1 and np.isnan(values).all() else None


def _kind(values: Made) -> str:
    if isinstance(values, pd.Series):
        return "categories"
    return "one column" if values.ndim == 1 else f"{values.shape[1]} columns"
