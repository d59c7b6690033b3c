"""The value of a factor on rows of a table that are complete in its columns.

An `Expression` is walked, never evaluated as text: columns come from `RowRange`, arithmetic is on doubles,
row by row, on numbers, columns and the matrices that splines and powers make, and the only functions are
those of the formula language and the user's own. The rows are complete in the columns and in what the user's
functions make of them, so whatever is not finite afterwards was made by the factor, and is an error that
names the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats, Mask
from discrim.errors import DataError, FormulaError
from discrim.frame import grammar
from discrim.frame.categories import shown
from discrim.frame.design import Spec
from discrim.frame.grammar import Call, Column, Contrast, Expression, Negative, Node, Number, Operation
from discrim.frame.own_functions import Functions, Made, OwnCall
from discrim.frame.table import Table
from discrim.frame.transforms import State, apply, bounds_of, learn
from discrim.frame.values import Kind, refuse_merged

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
            f"{symbol} stands between a matrix of {left.shape[1]} columns and one of {right.shape[1]}: give "
            "matrices of as many columns, or write an interaction, as in a:b."
        )
    if left.ndim == 1 and right.ndim == 2:
        left = left[:, None]
    elif left.ndim == 2 and right.ndim == 1:
        right = right[:, None]
    return np.asarray(_OPERATORS[symbol](left, right))


CACHED_ROWS = 2**16
"""Rows up to which columns of numbers are kept between factors: a block, not a table."""

_HINTS: Mapping[str, str] = {
    "log": "A logarithm needs positive numbers: drop the row, or mark the value as missing.",
    "log2": "A logarithm needs positive numbers: drop the row, or mark the value as missing.",
    "log10": "A logarithm needs positive numbers: drop the row, or mark the value as missing.",
    "log1p": "log1p(x) needs x > -1: drop the row, or mark the value as missing.",
    "sqrt": "A square root needs numbers from 0 on: drop the row, or mark the value as missing.",
    "bs": "A B-spline ends at its boundary knots: set lower_bound= and upper_bound= when fitting.",
}


@dataclass(frozen=True, slots=True)
class Categories:
    """Values to be read as categories, with the levels and the contrast the formula asks for."""

    values: pd.Series
    levels: tuple[Any, ...] | None = None
    contrast: Contrast | None = None


class RowRange:
    """Rows start to stop of a table, or those of them that are complete.

    Kinds are what columns hold, where it is known already: looking costs a pass over a column of objects.
    """

    def __init__(
        self,
        table: Table,
        start: int,
        stop: int,
        keep: NDArray[np.bool_] | None = None,
        kinds: Mapping[str, Kind] | None = None,
    ) -> None:
        self.table, self.start, self.stop, self.keep = table, start, stop, keep
        self._kinds: dict[str, Kind] = dict(kinds or {})
        index = table.index[start:stop]
        self.index = index if keep is None else index[keep]
        self._numbers: dict[str, Floats] = {}
        self._columns: dict[str, pd.Series] = {}

    def kind(self, name: str) -> Kind:
        """What a column holds, as `Table.kind` says; looked up once."""
        if name not in self._kinds:
            self._kinds[name] = self.table.kind(name)
        return self._kinds[name]

    def complete(self, columns: Sequence[str]) -> tuple[RowRange, NDArray[np.bool_]]:
        """The rows without a missing value in any of the columns, and where they are."""
        keep = np.ones(len(self.index), dtype=bool)
        for name in columns:
            if self.kind(name) in {"numeric", "boolean"}:
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
        rows = RowRange(self.table, self.start, self.stop, whole, self._kinds)
        rows._columns = {name: values[keep] for name, values in self._columns.items()}
        rows._numbers = {name: values[keep] for name, values in self._numbers.items()}
        return rows

    def numbers(self, name: str) -> Floats:
        """A numeric or boolean column as doubles; anything else is a DataError."""
        kind = self.kind(name)
        if kind not in {"numeric", "boolean"}:
            what = kind if kind in ("text", "categorical") else "neither numbers nor categories"
            raise DataError(
                f"Column {name!r} is {what}, and the formula computes with it: "
                f"use C({name}) for categories, or make it a number first."
            )
        self.table.compare_to_doubles([name])
        values = self._read(name)
        finite = np.isfinite(values)
        if not finite.all() and np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise DataError(
                f"Column {name!r} is {values[row]} at row {shown(self.index[row])}: an infinite value has no "
                "place in a design; drop the row or mark the value as missing."
            )
        return values

    def series(self, name: str) -> pd.Series:
        """A column as categories are read from it: whole numbers and truth values keep their type."""
        kind = self.kind(name)
        if kind == "other":
            if not self.table.column(name).notna().any():
                raise DataError(f"Column {name!r} has no value in any row: leave it out, or fill it.")
            raise DataError(
                f"Column {name!r} holds {_types(self.table, name)}, which is neither numbers nor categories: "
                "convert it, for example with astype(str), or leave it out."
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
                return self._whole_numbers(name, values.index)
            refuse_merged(values, name)
        return values

    @property
    def known_kinds(self) -> Mapping[str, Kind]:
        """Kinds of the columns that were looked at."""
        return self._kinds

    def _whole_numbers(self, name: str, index: pd.Index) -> pd.Series:
        """A column of whole numbers as it came, each of them exactly, also beyond 2^53."""
        native = self.table.native(name)[self.start : self.stop]
        exact = np.array(native.tolist() if isinstance(native, pd.Series) else native.to_list(), dtype=object)
        return pd.Series((exact if self.keep is None else exact[self.keep]).tolist(), index=index, name=name)

    def _column(self, name: str) -> pd.Series:
        if name not in self._columns:
            values = self.table.column(name, self.start, self.stop)
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
    """A factor on rows that are complete in its columns: finite doubles (m,) or (m, k), or categories."""
    root = expression.root
    if isinstance(root, Column) and rows.kind(root.name) not in {"numeric", "boolean"}:
        return Categories(rows.series(root.name))
    with np.errstate(all="ignore"):
        value = _Evaluation(expression.code, rows, memory, functions).value(root)
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
    hint = _HINTS.get(name, "Drop the row, or mark the value as missing.")
    raise DataError(f"{expression.label} is {result} at row {shown(rows.index[row])}, where {where}. {hint}")


class _Evaluation:
    """One walk over one expression."""

    def __init__(self, code: str, rows: RowRange, memory: Memory, functions: Functions) -> None:
        self.code, self.rows, self.memory = code, rows, memory
        self.functions = functions

    def value(self, node: Node) -> Floats | Categories:
        if isinstance(node, Call) and node.function == "C":
            options = dict(node.options)
            levels, contrast = options.get("levels"), options.get("contrast")
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
                f"{self.code}: categories are made from one column, not a matrix: give C() one column."
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
                    f"{self.code}: {node.function}() gives categories, not numbers: use it as "
                    "a term of its own."
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
            raise FormulaError(f"{grammar.shortened(self.code)}: {error}") from None

    def spread(self, value: Floats) -> Floats:
        return np.broadcast_to(value, len(self.rows.index)) if np.ndim(value) == 0 else value

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
        call = OwnCall(self.code, node.function, self.functions[node.function], dict(node.options))
        return call(arguments, rows.index) if len(rows.index) else np.empty(0)

    def of_whole(self, node: Call, states: tuple[State, ...]) -> Made:
        """Rows of what the call makes of all rows of the table that are complete in its own columns."""
        table = self.rows.table
        called = {name: self.functions[name] for name in _calls(node) if name in self.functions}
        key = (repr(node), states, tuple(map(id, called.values())))
        if key not in table.made:
            columns = tuple(dict.fromkeys(each.name for each in _nodes(node) if isinstance(each, Column)))
            rows, there = RowRange(table, 0, table.nrows, kinds=self.rows.known_kinds).complete(columns)
            inner = _Evaluation(self.code, rows, Memory(states), self.functions)
            places = np.arange(table.nrows) if there.all() else np.cumsum(there) - 1
            # The functions are held so that their ids stay theirs.
            table.made[key] = inner.called_on(rows, node), places, called
        made, places, _ = table.made[key]
        places = places[self.rows.start : self.rows.stop]
        places = places if self.rows.keep is None else places[self.rows.keep]
        values: Made = made.iloc[places] if isinstance(made, pd.Series) else made[places]
        return values


def _nodes(node: Node) -> Iterator[Node]:
    """A node and all within it."""
    yield node
    inner: tuple[Node, ...] = ()
    match node:
        case Negative(operand):
            inner = (operand,)
        case Operation(first, rest):
            inner = (first, *(operand for _, operand in rest))
        case Call(_, arguments):
            inner = arguments
    for each in inner:
        yield from _nodes(each)


def _calls(node: Node) -> Iterator[str]:
    """The functions that are called within a node."""
    return (each.function for each in _nodes(node) if isinstance(each, Call))


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
    """The complete rows, from which the factors of a new design learn; a DataError where there is none."""
    complete, keep = rows.complete((*columns, *beside))
    if not keep.any():
        missing = max(columns, key=lambda name: int((~rows.complete((name,))[1]).sum()))
        raise DataError(
            f"No row has a value in every column the formula reads; {missing!r} is missing most often: "
            "leave it out, or fill its values."
        )
    made = [(each, Memory()) for each in expressions]
    known, keep = _without_uncategorized(complete, keep, made, functions)
    if not keep.any():
        called = dict.fromkeys(each.code for each, _ in made if each.functions)
        raise DataError(
            f"No row is left: {', '.join(called)} gives no category to any of {len(complete.index)} rows. "
            "Correct the function, or give it other columns."
        )
    return known


def _without_uncategorized(
    complete: RowRange,
    keep: Mask,
    made: Iterable[tuple[Expression, Memory]],
    functions: Functions,
) -> tuple[RowRange, Mask]:
    """Complete rows without those to which a function of the user's gives no category."""
    missing = np.zeros(len(complete.index), dtype=bool)
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
