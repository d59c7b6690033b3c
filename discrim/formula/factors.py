"""The value of a factor on rows of a table that are complete in its columns.

An `Expression` is walked, never evaluated as text: columns come from `RowRange`, arithmetic is on doubles,
row by row, on numbers, columns and the matrices that splines and powers make, and the only functions are
those of the formula language and the user's own. The rows are complete in the columns and in what the user's
functions make of them, so whatever is not finite afterwards was made by the factor, and is an error that
names the row.

A function of the user's is called on a whole column at once, and has to look at each row alone. One that
looks at other rows, as ``x - x.mean()`` does, gives a new row another value with other rows beside it, so
that a prediction would depend on its neighbours. Each result is therefore compared with what the function
gives for some of the rows, in another order, and for single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats, Mask
from discrim.data.table import Table
from discrim.data.values import (
    Kind,
    are_numbers,
    as_floats,
    occurring_labels,
    pandas_kind,
    refuse_merged,
    rounding,
    shown,
)
from discrim.errors import DataError, FormulaError
from discrim.formula import grammar
from discrim.formula.design import Spec
from discrim.formula.grammar import (
    Call,
    Column,
    Contrast,
    Expression,
    Negative,
    Node,
    Number,
    Operation,
    nodes,
)
from discrim.formula.transforms import State, apply, bounds_of, learn

Functions = Mapping[str, Callable[..., Any]]
Made = NDArray[np.float64] | pd.Series
"""What a call makes of m rows: numbers (m,) or (m, k), or categories (m,)."""

_OPERATORS: Mapping[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
}


def combined(symbol: str, left: Floats, right: Floats) -> Floats:
    """What an operator makes of two operands, each a number, a column (m,) or a matrix (m, k).

    A column goes with each column of a matrix.

    Examples
    --------
    >>> combined("*", np.array([1.0, 2.0]), np.array([[1.0, 3.0], [1.0, 3.0]])).tolist()
    [[1.0, 3.0], [2.0, 6.0]]
    """
    if left.ndim == right.ndim == 2 and 1 != left.shape[1] != right.shape[1] != 1:
        raise FormulaError(
            f"{symbol} stands between a matrix of {left.shape[1]} columns and one of {right.shape[1]}.",
            hint="Give matrices of as many columns, or write an interaction, as in a:b.",
        )
    if left.ndim == 1 and right.ndim == 2:
        left = left[:, None]
    elif left.ndim == 2 and right.ndim == 1:
        right = right[:, None]
    return np.asarray(_OPERATORS[symbol](left, right))


CACHED_ROWS = 2**16
"""Rows up to which columns of numbers are kept between factors: a block, not a table."""

FIRST_ROWS = 2**13
"""Rows of a table in which labels are looked for before all others are read."""

_HINTS: Mapping[str, str] = {
    "log": "A logarithm needs positive numbers: drop the row, or mark the value as missing.",
    "log2": "A logarithm needs positive numbers: drop the row, or mark the value as missing.",
    "log10": "A logarithm needs positive numbers: drop the row, or mark the value as missing.",
    "log1p": "log1p(x) needs x > -1: drop the row, or mark the value as missing.",
    "sqrt": "A square root needs numbers from 0 on: drop the row, or mark the value as missing.",
    "bs": "A B-spline ends at its boundary knots: set lower_bound= and upper_bound= when fitting.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Values to be read as categories, with the levels and the contrast the formula asks for."""

    values: pd.Series
    levels: tuple[Any, ...] | None = None
    contrast: Contrast | None = None


class RowRange:
    """Rows start to stop of a table, or those of them that are complete.

    Kinds are what columns hold, where it is known already: looking costs a pass over a column of objects.
    Of the rows of the table, only those in `used` (n,) belong to the range, if it is given, and a text that
    occurs only in other rows is not a level. An infinite value, or one that a factor cannot be computed from,
    is refused, or is missing if the rows are `lenient`.
    """

    def __init__(
        self,
        table: Table,
        start: int,
        stop: int,
        keep: NDArray[np.bool_] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        used: Mask | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.lenient = lenient
        keep = used[start:stop] if keep is None and used is not None else keep
        self.table = table
        self.start = start
        self.stop = stop
        self.keep = keep
        self._used = used
        self._kinds: dict[str, Kind] = dict(kinds or {})
        self.size = stop - start if keep is None else int(keep.sum())
        self._numbers: dict[str, Floats] = {}
        self._columns: dict[str, pd.Series] = {}
        self._codes: dict[str, tuple[NDArray[Any], list[Any]] | None] = {}

    @cached_property
    def index(self) -> pd.Index:
        """Labels of the rows."""
        index = self.table.index[self.start : self.stop]
        return index if self.keep is None else index[self.keep]

    def kind(self, name: str) -> Kind:
        """What a column holds, as `Table.kind` says; looked up once."""
        if name not in self._kinds:
            self._kinds[name] = self.table.kind(name)
        return self._kinds[name]

    def complete(self, columns: Sequence[str]) -> tuple[RowRange, NDArray[np.bool_]]:
        """The rows without a missing value in any of the columns, and where they are."""
        keep = np.ones(self.size, dtype=bool)
        for name in columns:
            present = self.table.present(name, self.start, self.stop)
            if present is not None:
                keep &= present if self.keep is None else present[self.keep]
            elif self.kind(name) in {"numeric", "boolean"}:
                keep &= ~np.isnan(self._read(name))
            else:
                keep &= self._column(name).notna().to_numpy()
        return self.only(keep), keep

    def only(self, keep: NDArray[np.bool_]) -> RowRange:
        """Those of the rows to keep (m,)."""
        if keep.all():
            return self
        whole = keep if self.keep is None else self.keep.copy()
        if self.keep is not None:
            whole[self.keep] = keep
        rows = RowRange(
            self.table, self.start, self.stop, whole, self._kinds, self._used, lenient=self.lenient
        )
        rows._columns = {name: values[keep] for name, values in self._columns.items()}
        rows._numbers = {name: values[keep] for name, values in self._numbers.items()}
        rows._codes = self._codes
        return rows

    def beginning(self, count: int) -> RowRange:
        """The first so many rows of the table, or those of them that are kept."""
        keep = None if self.keep is None else self.keep[:count]
        rows = RowRange(self.table, self.start, self.start + count, keep, self._kinds, self._used)
        rows._codes = self._codes
        return rows

    def coded(self, name: str) -> tuple[NDArray[Any], list[Any]] | None:
        """A column of categories or text as `Table.factorized` gives it, with the texts of used rows only."""
        if name not in self._codes:
            found = self.table.factorized(name)
            if found is not None and self._used is not None and self.kind(name) == "text":
                found = occurring_labels(*found, self._used)
            self._codes[name] = found
        found = self._codes[name]
        if found is None:
            return None
        codes = found[0][self.start : self.stop]
        return codes if self.keep is None else codes[self.keep], found[1]

    def numbers(self, name: str) -> Floats:
        """A numeric or boolean column as doubles; anything else is a DataError."""
        kind = self.kind(name)
        if kind not in {"numeric", "boolean"}:
            what = kind if kind in ("text", "categorical") else "neither numbers nor categories"
            raise DataError(
                f"Column {name!r} is {what}, and the formula computes with it.",
                hint=f"Use C({name}) for categories, or make it a number first.",
                columns=(name,),
            )
        self.table.compare_to_doubles([name])
        values = self._read(name)
        finite = np.isfinite(values)
        if not self.lenient and not finite.all() and np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise DataError(
                f"Column {name!r} is {values[row]} at row {shown(self.index[row])}: an infinite value "
                "has no place in a design.",
                hint="Drop the row or mark the value as missing.",
                columns=(name,),
                rows=(self.index[row],),
            )
        return values

    def series(self, name: str) -> pd.Series:
        """A column as categories are read from it: whole numbers and truth values keep their type."""
        kind = self.kind(name)
        if kind == "other" and self.table.has_values(name):
            raise DataError(
                f"Column {name!r} holds {_types(self.table, name)}, which is neither numbers nor categories.",
                hint="Convert it, for example with astype(str), or leave it out.",
                columns=(name,),
            )
        values = self._column(name)
        if isinstance(values.dtype, pd.CategoricalDtype):
            refuse_merged(pd.Series(values.cat.categories), name, "category")
        if kind == "categorical" and not isinstance(values.dtype, pd.CategoricalDtype):
            return values.astype(object)
        if kind in {"numeric", "boolean"} and not values.isna().any():
            if kind == "boolean":
                return values.astype(bool)
            if values.dtype.kind == "f" and self.table.holds_integers(name):
                # Integers above 2^53 are exact only in the column as it came.
                native = self.table.native(name)[self.start : self.stop]
                exact = np.array(
                    native.tolist() if isinstance(native, pd.Series) else native.to_list(), dtype=object
                )
                return pd.Series(
                    (exact if self.keep is None else exact[self.keep]).tolist(), index=values.index, name=name
                )
            refuse_merged(values, name)
        return values

    def _column(self, name: str) -> pd.Series:
        if name not in self._columns:
            values = self.table.labels(name, self.start, self.stop)
            self._columns[name] = values if self.keep is None else values[self.keep]
        return self._columns[name]

    def _read(self, name: str) -> Floats:
        if name not in self._numbers:
            buffer = np.empty((self.stop - self.start, 1))
            self.table.fill([name], self.start, self.stop, buffer)
            values = buffer[:, 0]
            values = values if self.keep is None else values[self.keep]
            if len(values) > CACHED_ROWS:
                return values
            self._numbers[name] = values
        return self._numbers[name]


class Memory:
    """The states of a factor's stateful calls: learnt in the order they are met, or recalled in it.

    Without states, or `learning` anew within the ends of the splines of these, they are learnt.
    """

    def __init__(self, states: Sequence[State] | None = None, *, learning: bool = False) -> None:
        self.learning = states is None or learning
        self._before = list(states or ()) if learning else []
        self.states: list[State] = [] if self.learning else list(states or ())
        self._next = 0

    def take(self, count: int) -> tuple[State, ...]:
        """The next states, as of calls that are applied elsewhere."""
        self._next += count
        return tuple(self.states[self._next - count : self._next])

    def transform(self, call: Call, x: Floats) -> Floats:
        """Apply a stateful call, first learning it where nothing is known yet."""
        if self.learning:
            options = {name: grammar.plain_value(value) for name, value in call.options}
            if self._before:
                options |= bounds_of(self._before[self._next])
            self.states.append(learn(call.function, x, options))
        state = self.states[self._next]
        self._next += 1
        return apply(state, x)


def evaluate(
    expression: Expression, rows: RowRange, memory: Memory, functions: Functions
) -> Floats | Categories:
    """A factor on rows that are complete in its columns: finite doubles (m,) or (m, k), or categories.

    Numbers that are not finite are NaN if the rows are lenient.
    """
    root = expression.root
    if isinstance(root, Column) and rows.kind(root.name) not in {"numeric", "boolean"}:
        return Categories(rows.series(root.name))
    with np.errstate(all="ignore"):
        value = _Evaluation(expression.code, rows, memory, functions).value(root)
    if rows.lenient:
        return value if isinstance(value, Categories) else np.where(np.isfinite(value), value, np.nan)
    if not isinstance(value, Categories):
        _refuse_infinite(expression, rows, value)
    elif not expression.functions and value.values.dtype == np.float64:
        # What a function of the user's leaves out is a missing row; arithmetic that fails is an error.
        _refuse_infinite(expression, rows, value.values.to_numpy())
    return value


def _refuse_infinite(expression: Expression, rows: RowRange, value: Floats) -> None:
    finite = np.isfinite(value)
    if finite.all():
        return
    row = int((~finite if value.ndim == 1 else ~finite.all(axis=1)).argmax())
    parts = np.atleast_1d(value[row])
    result = parts[~np.isfinite(parts)][0]
    where = ", ".join(f"{name} = {shown(rows.series(name).iloc[row])}" for name in expression.columns)
    name = expression.root.function if isinstance(expression.root, Call) else ""
    raise DataError(
        f"{expression.label} is {result} at row {shown(rows.index[row])}, where {where}.",
        hint=_HINTS.get(name, "Drop the row, or mark the value as missing."),
        columns=expression.columns,
        rows=(rows.index[row],),
    )


class _Evaluation:
    """One walk over one expression."""

    def __init__(self, code: str, rows: RowRange, memory: Memory, functions: Functions) -> None:
        self.code = code
        self.rows = rows
        self.memory = memory
        self.functions = functions

    def value(self, node: Node) -> Floats | Categories:
        if isinstance(node, Call) and node.function == "C":
            options = dict(node.options)
            levels = options.get("levels")
            contrast = options.get("contrast")
            return Categories(
                self.categories(node.arguments[0]),
                levels if isinstance(levels, tuple) else None,
                contrast if isinstance(contrast, Contrast) else None,
            )
        if isinstance(node, Call) and node.function in self.functions:
            return self.of_users(node)
        return self.numbers(node)

    def categories(self, node: Node) -> pd.Series:
        if isinstance(node, Column):
            return self.rows.series(node.name)
        value = self.value(node)
        if isinstance(value, Categories):
            return value.values
        if value.ndim > 1:
            raise FormulaError(
                f"{self.code}: categories are made from one column, not a matrix.",
                hint="Give C() one column.",
            )
        return pd.Series(value, index=self.rows.index)

    def numbers(self, node: Node) -> Floats:
        match node:
            case Column(name):
                return self.rows.numbers(name)
            case Number(value):
                return np.full((), value)
            case Negative(operand):
                return np.negative(self.numbers(operand))
            case Operation(first, rest):
                total = self.numbers(first)
                for symbol, operand in rest:
                    other = self.numbers(operand)
                    with self.named():
                        total = combined(symbol, total, other)
                return total
            case Call():
                return self.called(node)

    def called(self, node: Call) -> Floats:
        if node.function in self.functions or node.function == "C":
            value = self.value(node)
            if isinstance(value, Categories):
                raise FormulaError(
                    f"{self.code}: {node.function}() gives categories, not numbers.",
                    hint="Use it as a term of its own.",
                )
            return value
        argument = self.numbers(node.arguments[0])
        if node.function in grammar.NUMPY_FUNCTIONS:
            return np.asarray(getattr(np, node.function)(argument))
        if node.function in grammar.STATEFUL_FUNCTIONS:
            with self.named():
                return self.memory.transform(node, self.spread(argument))
        return self.spread(argument)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let an error begin with the factor that it is of."""
        try:
            yield
        except FormulaError as error:
            raise error.with_message(f"{grammar.shortened(self.code)}: {error.message}") from None

    def spread(self, value: Floats) -> Floats:
        return np.broadcast_to(value, self.rows.size) if np.ndim(value) == 0 else value

    def of_users(self, node: Call) -> Floats | Categories:
        """What a function of the user's gives for the rows, of one call on the whole column.

        An argument that learns has first to learn, from these rows; the function sees them alone then.
        """
        learns = sum(name in grammar.STATEFUL_FUNCTIONS for name in _calls(node))
        if learns and self.memory.learning:
            made = self.called_on(self.rows, node)
        else:
            made = self.of_whole(node, self.memory.take(learns))
        return Categories(made) if isinstance(made, pd.Series) else made

    def called_on(self, rows: RowRange, node: Call) -> Made:
        arguments = [
            self.rows.series(each.name) if isinstance(each, Column) else self.numbers(each)
            for each in node.arguments
        ]
        # A function of the user's is given text as objects.
        arguments = [
            each.astype(object) if isinstance(each.dtype, pd.StringDtype) else each for each in arguments
        ]
        call = OwnCall(self.code, node.function, self.functions[node.function], dict(node.options))
        return call(arguments, rows.index) if rows.size else np.empty(0)

    def of_whole(self, node: Call, states: tuple[State, ...]) -> Made:
        """Rows of what the call makes of all rows of the table that are complete in its own columns."""
        table = self.rows.table
        called = {name: self.functions[name] for name in _calls(node) if name in self.functions}
        key = (repr(node), states, tuple(map(id, called.values())))
        if key not in table.made:
            columns = tuple(dict.fromkeys(each.name for each in nodes(node) if isinstance(each, Column)))
            rows, there = RowRange(table, 0, table.nrows, kinds=self.rows._kinds).complete(columns)
            inner = _Evaluation(self.code, rows, Memory(states), self.functions)
            places = np.arange(table.nrows) if there.all() else np.cumsum(there) - 1
            # The functions are held so that their ids stay theirs.
            table.made[key] = inner.called_on(rows, node), places, called
        made, places, _ = table.made[key]
        places = places[self.rows.start : self.rows.stop]
        places = places if self.rows.keep is None else places[self.rows.keep]
        values: Made = made.iloc[places] if isinstance(made, pd.Series) else made[places]
        return values


def _calls(node: Node) -> Iterator[str]:
    """The functions that are called within a node."""
    return (each.function for each in nodes(node) if isinstance(each, Call))


def _types(table: Table, name: str) -> str:
    values = table.column(name).dropna()
    if values.dtype.kind != "O":
        return f"values of type {values.dtype}"
    types = values.map(type)
    kinds = sorted({each.__name__ for each in types.unique()})
    # The type met least often is the one that does not belong.
    odd = int((types == types.value_counts().index[-1]).to_numpy().argmax())
    return f"values of type {' and '.join(kinds)} ({values.iloc[odd]!r} at row {shown(values.index[odd])})"


def complete_rows(
    rows: RowRange, columns: Sequence[str], spec: Spec, functions: Functions
) -> tuple[RowRange, Mask]:
    """The rows that miss nothing in the columns that the factors read, and where they are, (m,).

    A row is missing in which a column has no value, or to which a function of the user's gives no category.
    """
    complete, keep = rows.complete(columns)
    names = frozenset(functions)
    made = [
        (grammar.expression(factor.code, names), Memory(factor.states))
        for factor in spec.factors
        if factor.levels is not None
    ]
    return _without_uncategorized(complete, keep, made, functions)


def learning_rows(
    rows: RowRange,
    columns: Sequence[str],
    beside: Sequence[str],
    expressions: Iterable[Expression],
    functions: Functions,
) -> RowRange:
    """The complete rows, from which the factors of a new design learn; a DataError where there is none.

    Of a long table whose factors are columns, the first ones, where these show all labels that there are.
    """
    expressions = tuple(expressions)
    # Columns that lie side by side are found at once.
    rows.table.view([name for name in columns if rows.kind(name) == "numeric"])
    if rows.stop - rows.start > FIRST_ROWS:
        first, _ = rows.beginning(FIRST_ROWS).complete((*columns, *beside))
        if first.size and all(_shows_all(each, first) for each in expressions):
            return first
    complete, keep = rows.complete((*columns, *beside))
    if not keep.any():
        missing = max(columns, key=lambda name: int((~rows.complete((name,))[1]).sum()))
        raise DataError(
            f"No row has a value in every column the formula reads; {missing!r} is missing most often.",
            hint="Leave it out, or fill its values.",
        )
    made = [(each, Memory()) for each in expressions]
    known, keep = _without_uncategorized(complete, keep, made, functions)
    if not keep.any():
        called = dict.fromkeys(each.code for each, _ in made if each.functions)
        raise DataError(
            f"No row is left: {', '.join(called)} gives no category to any of {complete.size} rows.",
            hint="Correct the function, or give it other columns.",
        )
    return known


def _shows_all(each: Expression, rows: RowRange) -> bool:
    """Whether further rows would show nothing of a factor, nor make other than groups of its labels."""
    root = each.root
    if not isinstance(root, Column) or rows.kind(root.name) in {"numeric", "boolean"}:
        return isinstance(root, Column)
    coded = rows.coded(root.name)
    if coded is None or 2 * len(coded[1]) > rows.size or len(np.unique(coded[0])) < len(coded[1]):
        return False
    return rows.kind(root.name) == "categorical" or not are_numbers(coded[1]).any()


def _without_uncategorized(
    complete: RowRange,
    keep: Mask,
    made: Iterable[tuple[Expression, Memory]],
    functions: Functions,
) -> tuple[RowRange, Mask]:
    """Complete rows without those to which a function of the user's gives no category."""
    missing = np.zeros(complete.size, dtype=bool)
    for each, memory in made:
        if each.functions and len(missing):
            value = evaluate(each, complete, memory, functions)
            if isinstance(value, Categories):
                missing |= value.values.isna().to_numpy()
    if missing.any():
        keep = keep.copy()
        keep[keep] = ~missing
        complete = complete.only(~missing)
    return complete, keep


CHECKED_ROWS = 2048
"""A user's function is called again on about so many rows, evenly spaced, the last one first."""

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
                f"{self._called}, given {rows}, raised {type(error).__name__}: {error}.",
                hint="Correct the function, or give it other columns.",
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
                f"{self._called} gave a {type(result).__name__} whose index is not that of its column, "
                "so that its rows have no place.",
                hint="Have it keep the index, or return an array in the order of the rows.",
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
                f"rows; it gave an array of shape {array.shape}.",
                hint="Correct the function.",
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
                f"{self._called} gave {series.dtype}, not numbers or text.", hint="Have it return either."
            )
        known = series[series.notna()].to_numpy()
        rounded = rounding(known)
        if rounded is not None:
            raise FormulaError(
                f"{self._called} gave the number {known[rounded.position]}, which doubles round by "
                f"{rounded.error:g}.",
                hint="Have it return smaller numbers, or text where they are categories.",
            )
        try:
            return as_floats(series, self.code)
        except DataError as error:
            raise FormulaError(
                f"{self._called}, which returned it: {error.message}",
                hint=f"{error.hint} Correct the function.",
                rows=error.rows,
            ) from None

    def _compare(self, whole: Made, part: Made, rows: NDArray[np.intp], index: pd.Index) -> None:
        """Raise where rows (r,) are something else in the whole than they are in the part."""
        before = whole.iloc[rows] if isinstance(whole, pd.Series) else whole[rows]
        differ = _differences(before, part, whole)
        if differ is None:
            raise FormulaError(
                f"{self._called} gives {_kind(whole)} for all rows and {_kind(part)} for {len(rows)} of "
                "them.",
                hint=f"Give a function that looks at each row alone. {_WAY_OUT}",
            )
        if differ.any():
            at = int(differ.argmax())
            ours, theirs = (
                each.iloc[at] if isinstance(each, pd.Series) else each[at].tolist() for each in (before, part)
            )
            raise FormulaError(
                f"{self._called} gives row {shown(index[rows[at]])} {shown(ours)} beside all other rows "
                f"and {shown(theirs)} {'alone' if len(rows) == 1 else 'beside some of them'}, so that a "
                "prediction would depend on its neighbours.",
                hint=f"Give a function that looks at each row alone. {_WAY_OUT}",
                rows=(index[rows[at]],),
            )


_WAY_OUT = (
    "What is learnt from the rows is remembered by center(), scale(), poly() and bs(); compute other such "
    "columns before the fit."
)


def check_functions(functions: Functions | None) -> Functions:
    """The user's functions, if every one can be called by its name; else a FormulaError."""
    if functions is not None and not isinstance(functions, Mapping):
        raise FormulaError(
            f"functions= is a {type(functions).__name__}.",
            hint="Give a dict of names and functions, {'f': f}.",
        )
    for name, function in (functions or {}).items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise FormulaError(
                f"functions= names a function {name!r}, which no formula can call.", hint="Rename it."
            )
        if name in grammar.FUNCTIONS or name == "np":
            raise FormulaError(f"functions= may not redefine {name}.", hint="Give yours another name.")
        if not callable(function):
            raise FormulaError(
                f"functions={{{name!r}: ...}} is a {type(function).__name__}, not a function.",
                hint="Give a function of columns.",
            )
    return functions or {}


def recall_functions(names: Sequence[str], functions: Functions | None) -> Functions:
    """The functions a design calls, out of those given with new data; one that is not is a FormulaError."""
    functions = check_functions(functions)
    for name in names:
        if name not in functions:
            raise FormulaError(
                f"The formula calls {name}().", hint=f"Pass functions={{{name!r}: ...}} again."
            )
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
