"""Evaluate the factors of a formula on the rows of a table.

An `Expression` is a syntax tree and is walked, never evaluated as text. Columns come from a `RowRange`,
arithmetic is in float64 and elementwise on numbers, columns and the matrices that splines and powers make,
and only functions of the formula language and of the user (`functions=`) are called. Rows with missing
values are dropped before. A value that is not finite afterwards was therefore produced by the factor, and
raises an error with the row.

A function of the user is called on a whole column at once, but has to compute each row from that row alone.
A function that depends on other rows, such as ``x - x.mean()``, would return another value for a new row with
other rows around it, and a prediction would depend on its neighbours. Each result is therefore compared with
the result for some of the rows in another order, and for single rows.

`formula/formula.py` uses this module to learn designs, and `design/` to build their columns.
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
    ColumnType,
    are_numbers,
    as_floats,
    check_category_precision,
    format_value,
    largest_rounding_error,
    occurring_labels,
    pandas_column_type,
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
    iter_nodes,
)
from discrim.formula.transforms import State, apply, learn, spline_bounds

Functions = Mapping[str, Callable[..., Any]]
FunctionResult = NDArray[np.float64] | pd.Series
"""Result of a call for m rows: numbers (m,) or (m, k), or categories (m,)."""

_OPERATORS: Mapping[str, np.ufunc] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
}


def apply_operator(symbol: str, left_operand: Floats, right_operand: Floats) -> Floats:
    """Apply an arithmetic operator to two operands.

    Parameters
    ----------
    symbol : str
        One of ``+ - * / // % **``.
    left_operand, right_operand : ndarray
        A number (), a column (m,) or a matrix (m, k). A column is combined with each column of a matrix.

    Returns
    -------
    ndarray, shape (), (m,) or (m, k)

    Raises
    ------
    FormulaError
        Both operands are matrices, and have different numbers of columns.

    Examples
    --------
    >>> apply_operator("*", np.array([1.0, 2.0]), np.array([[1.0, 3.0], [1.0, 3.0]])).tolist()
    [[1.0, 3.0], [2.0, 6.0]]
    """
    if (
        left_operand.ndim == right_operand.ndim == 2
        and 1 != left_operand.shape[1] != right_operand.shape[1] != 1
    ):
        raise FormulaError(
            f"The operands of {symbol} are a matrix of {left_operand.shape[1]} columns and a matrix of "
            f"{right_operand.shape[1]}.",
            hint="Use matrices with the same number of columns, or an interaction such as a:b.",
        )
    if left_operand.ndim == 1 and right_operand.ndim == 2:
        left_operand = left_operand[:, None]
    elif left_operand.ndim == 2 and right_operand.ndim == 1:
        right_operand = right_operand[:, None]
    return np.asarray(_OPERATORS[symbol](left_operand, right_operand))


MAX_CACHED_ROWS = 2**16
"""Largest number of rows for which numeric columns are cached between factors: a block, not a table."""

N_FIRST_ROWS = 2**13
"""Number of rows that are searched for all labels before the full column is read."""

_HINTS: Mapping[str, str] = {
    "log": "A logarithm requires positive numbers: drop the row, or mark the value as missing.",
    "log2": "A logarithm requires positive numbers: drop the row, or mark the value as missing.",
    "log10": "A logarithm requires positive numbers: drop the row, or mark the value as missing.",
    "log1p": "log1p(x) requires x > -1: drop the row, or mark the value as missing.",
    "sqrt": "A square root requires numbers of 0 or more: drop the row, or mark the value as missing.",
    "bs": "A B-spline ends at its boundary knots: set lower_bound= and upper_bound= when fitting.",
}


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Values of a categorical factor.

    Attributes
    ----------
    values : Series (m,)
        Labels of the rows.
    levels : tuple, optional
        Levels that a ``C()`` lists.
    contrast : Contrast, optional
        Contrast that a ``C()`` names.
    """

    values: pd.Series
    levels: tuple[Any, ...] | None = None
    contrast: Contrast | None = None


class RowRange:
    """A range of rows of a table, or a subset of the range, from which factors read their columns.

    Parameters
    ----------
    table : Table
    start, stop : int
        First row of the range, and the row after its last.
    keep : (stop - start,) array of bool, optional
        Rows of the range to include. By default those in `used`, or all.
    kinds : mapping of str to ColumnType, optional
        Kinds of columns that have been determined already. Determining one requires a pass over a column
        of objects.
    used : (n,) array of bool, optional
        Rows of the table that are used at all. Text that occurs only in other rows does not become a
        level.
    lenient : bool
        Whether an infinite value, and one that a factor cannot be computed from, counts as missing.
        Otherwise it is an error.

    Attributes
    ----------
    size : int
        Number m of the included rows.
    """

    def __init__(
        self,
        table: Table,
        start: int,
        stop: int,
        keep: NDArray[np.bool_] | None = None,
        kinds: Mapping[str, ColumnType] | None = None,
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
        self._used_mask = used
        self._kinds: dict[str, ColumnType] = dict(kinds or {})
        self.size = stop - start if keep is None else int(keep.sum())
        self._floats: dict[str, Floats] = {}
        self._columns: dict[str, pd.Series] = {}
        self._codes: dict[str, tuple[NDArray[Any], list[Any]] | None] = {}

    @cached_property
    def index(self) -> pd.Index:
        """Labels of the rows."""
        index = self.table.index[self.start : self.stop]
        return index if self.keep is None else index[self.keep]

    def column_type(self, name: str) -> ColumnType:
        """Return the kind of a column, see `Table.column_type`; cached."""
        if name not in self._kinds:
            self._kinds[name] = self.table.column_type(name)
        return self._kinds[name]

    def select_complete(self, columns: Sequence[str]) -> tuple[RowRange, NDArray[np.bool_]]:
        """Select the rows without a missing value in any of the columns.

        Parameters
        ----------
        columns : sequence of str

        Returns
        -------
        rows : RowRange
            The complete rows.
        keep : (m,) array of bool
            Which rows of this range they are.
        """
        keep = np.ones(self.size, dtype=bool)
        for name in columns:
            present = self.table.present_mask(name, self.start, self.stop)
            if present is not None:
                keep &= present if self.keep is None else present[self.keep]
            elif self.column_type(name) in {"numeric", "boolean"}:
                keep &= ~np.isnan(self._float_column(name))
            else:
                keep &= self._column(name).notna().to_numpy()
        return self.select(keep), keep

    def select(self, keep: NDArray[np.bool_]) -> RowRange:
        """Return the rows of this range that are in a mask (m,), as a range of the same table.

        If the mask has all rows, this range itself is returned.
        """
        if keep.all():
            return self
        table_mask = keep if self.keep is None else self.keep.copy()
        if self.keep is not None:
            table_mask[self.keep] = keep
        rows = RowRange(
            self.table, self.start, self.stop, table_mask, self._kinds, self._used_mask, lenient=self.lenient
        )
        rows._columns = {name: values[keep] for name, values in self._columns.items()}
        rows._floats = {name: values[keep] for name, values in self._floats.items()}
        rows._codes = self._codes
        return rows

    def first_rows(self, count: int) -> RowRange:
        """Return the included rows among the first `count` rows of this range; they are not lenient."""
        keep = None if self.keep is None else self.keep[:count]
        rows = RowRange(self.table, self.start, self.start + count, keep, self._kinds, self._used_mask)
        rows._codes = self._codes
        return rows

    def codes_and_labels(self, name: str) -> tuple[NDArray[Any], list[Any]] | None:
        """Return the codes (m,) and labels of a categorical or text column, None for other columns.

        A code is a position in the labels, -1 for a missing value; see `Table.factorized`. Labels of text
        that occur only in unused rows are left out.
        """
        if name not in self._codes:
            codes_and_labels = self.table.factorized(name)
            if (
                codes_and_labels is not None
                and self._used_mask is not None
                and self.column_type(name) == "text"
            ):
                codes_and_labels = occurring_labels(*codes_and_labels, self._used_mask)
            self._codes[name] = codes_and_labels
        codes_and_labels = self._codes[name]
        if codes_and_labels is None:
            return None
        codes = codes_and_labels[0][self.start : self.stop]
        return codes if self.keep is None else codes[self.keep], codes_and_labels[1]

    def numbers(self, name: str) -> Floats:
        """Return a numeric or boolean column (m,) as float64, with NaN for missing values.

        Raises a DataError for any other column, for numbers that float64 does not represent, and for infinite
        values unless the rows are lenient.
        """
        column_type = self.column_type(name)
        if column_type not in {"numeric", "boolean"}:
            description = (
                column_type if column_type in ("text", "categorical") else "neither numbers nor categories"
            )
            raise DataError(
                f"Column {name!r} is {description}, but the formula computes with it.",
                hint=f"Use C({name}) for categories, or convert it to numbers first.",
                columns=(name,),
            )
        self.table.check_float_precision([name])
        values = self._float_column(name)
        finite = np.isfinite(values)
        if not self.lenient and not finite.all() and np.isinf(values).any():
            row = int(np.isinf(values).argmax())
            raise DataError(
                f"Column {name!r} is {values[row]} at row {format_value(self.index[row])}: infinite values "
                "are not allowed.",
                hint="Drop the row or mark the value as missing.",
                columns=(name,),
                rows=(self.index[row],),
            )
        return values

    def series(self, name: str) -> pd.Series:
        """Return a column (m,) to be read as categories.

        Integers and booleans keep their type if no value is missing.
        Raises a DataError for values that are neither numbers nor categories, and for numbers too large to be
        told apart.
        """
        column_type = self.column_type(name)
        if column_type == "other" and self.table.has_values(name):
            raise DataError(
                f"Column {name!r} holds {_describe_types(self.table, name)}, which is neither numbers nor "
                "categories.",
                hint="Convert it, for example with astype(str), or exclude it.",
                columns=(name,),
            )
        values = self._column(name)
        if isinstance(values.dtype, pd.CategoricalDtype):
            check_category_precision(pd.Series(values.cat.categories), name, "category")
        if column_type == "categorical" and not isinstance(values.dtype, pd.CategoricalDtype):
            return values.astype(object)
        if column_type in {"numeric", "boolean"} and not values.isna().any():
            if column_type == "boolean":
                return values.astype(bool)
            if values.dtype.kind == "f" and self.table.has_integer_dtype(name):
                # Integers above 2^53 are exact only in the column of the user's own table.
                native = self.table.native(name)[self.start : self.stop]
                exact = np.array(
                    native.tolist() if isinstance(native, pd.Series) else native.to_list(), dtype=object
                )
                return pd.Series(
                    (exact if self.keep is None else exact[self.keep]).tolist(), index=values.index, name=name
                )
            check_category_precision(values, name)
        return values

    def _column(self, name: str) -> pd.Series:
        """Return a column (m,) as a Series of labels, cached."""
        if name not in self._columns:
            values = self.table.labels(name, self.start, self.stop)
            self._columns[name] = values if self.keep is None else values[self.keep]
        return self._columns[name]

    def _float_column(self, name: str) -> Floats:
        """Return a column (m,) as float64, cached if it is short."""
        if name not in self._floats:
            buffer = np.empty((self.stop - self.start, 1))
            self.table.fill([name], self.start, self.stop, buffer)
            values = buffer[:, 0]
            values = values if self.keep is None else values[self.keep]
            if len(values) > MAX_CACHED_ROWS:
                return values
            self._floats[name] = values
        return self._floats[name]


class CallStates:
    """States of the stateful calls of one factor, such as the knots of a spline, in the order of evaluation.

    Parameters
    ----------
    states : sequence of State, optional
        Learnt states, which are applied. Without them the states are learnt.
    learning : bool
        Whether new states are learnt although there are `states`, whose boundary knots are kept.
    """

    def __init__(self, states: Sequence[State] | None = None, *, learning: bool = False) -> None:
        self.learning = states is None or learning
        self._before = list(states or ()) if learning else []
        self.states: list[State] = [] if self.learning else list(states or ())
        self._next = 0

    def skip(self, count: int) -> tuple[State, ...]:
        """Return the next `count` states and skip them; the caller evaluates their calls itself."""
        self._next += count
        return tuple(self.states[self._next - count : self._next])

    def transform(self, call: Call, x: Floats) -> Floats:
        """Apply a stateful call to x, (m,) or (m, k); if `learning`, learn its state from x first.

        The result has the shape (m,), (m, k) or (m, q) for the q columns of a basis. The calls of a factor
        have to be made in the order of evaluation.
        """
        if self.learning:
            options = {name: grammar.plain_value(value) for name, value in call.options}
            if self._before:
                options |= spline_bounds(self._before[self._next])
            self.states.append(learn(call.function, x, options))
        state = self.states[self._next]
        self._next += 1
        return apply(state, x)


def evaluate(
    expression: Expression, rows: RowRange, memory: CallStates, functions: Functions
) -> Floats | Categories:
    """Evaluate a factor on rows that are complete in its columns.

    Parameters
    ----------
    expression : Expression
    rows : RowRange
        m rows.
    memory : CallStates
        States of the stateful calls of the factor; learnt states are added to it.
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    float64 ndarray, shape (m,) or (m, k), or Categories
        Numbers are finite; if the rows are lenient, those that are not become NaN.

    Raises
    ------
    DataError
        The factor is not finite at a row, and the rows are not lenient.
    """
    root = expression.root
    if isinstance(root, Column) and rows.column_type(root.name) not in {"numeric", "boolean"}:
        return Categories(rows.series(root.name))
    with np.errstate(all="ignore"):
        value = _Evaluation(expression.code, rows, memory, functions).value(root)
    if rows.lenient:
        return value if isinstance(value, Categories) else np.where(np.isfinite(value), value, np.nan)
    if not isinstance(value, Categories):
        _check_finite(expression, rows, value)
    elif not expression.functions and value.values.dtype == np.float64:
        # A missing value from a user's function makes the row missing; a failure of arithmetic is an error.
        _check_finite(expression, rows, value.values.to_numpy())
    return value


def _check_finite(expression: Expression, rows: RowRange, value: Floats) -> None:
    """Raise a DataError if a factor is not finite at a row, with the row and the values of its columns.

    Parameters
    ----------
    expression : Expression
    rows : RowRange
        m rows.
    value : (m,) or (m, k) float array
        Values of the factor.
    """
    finite = np.isfinite(value)
    if finite.all():
        return
    row = int((~finite if value.ndim == 1 else ~finite.all(axis=1)).argmax())
    row_values = np.atleast_1d(value[row])
    result = row_values[~np.isfinite(row_values)][0]
    column_text = ", ".join(
        f"{name} = {format_value(rows.series(name).iloc[row])}" for name in expression.columns
    )
    name = expression.root.function if isinstance(expression.root, Call) else ""
    raise DataError(
        f"{expression.label} is {result} at row {format_value(rows.index[row])}, where {column_text}.",
        hint=_HINTS.get(name, "Drop the row, or mark the value as missing."),
        columns=expression.columns,
        rows=(rows.index[row],),
    )


class _Evaluation:
    """Evaluator of the nodes of one expression on m rows.

    Attributes
    ----------
    code : str
        The factor, for messages.
    rows : RowRange
    memory : CallStates
        States of the stateful calls of the factor.
    functions : mapping of str to callable
        Functions of the user.
    """

    def __init__(self, code: str, rows: RowRange, memory: CallStates, functions: Functions) -> None:
        self.code = code
        self.rows = rows
        self.memory = memory
        self.functions = functions

    def value(self, node: Node) -> Floats | Categories:
        """Return the value of a node: numbers (), (m,) or (m, k), or categories.

        Categories are the values of ``C()`` and of user functions that return categories or text.
        """
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
            return self.user_function_value(node)
        return self.numbers(node)

    def categories(self, node: Node) -> pd.Series:
        """Return the argument of a ``C()`` as a Series (m,); raise a FormulaError for a matrix."""
        if isinstance(node, Column):
            return self.rows.series(node.name)
        value = self.value(node)
        if isinstance(value, Categories):
            return value.values
        if value.ndim > 1:
            raise FormulaError(
                f"{self.code}: C() requires one column, not a matrix.",
                hint="Pass one column to C().",
            )
        return pd.Series(value, index=self.rows.index)

    def numbers(self, node: Node) -> Floats:
        """Return the value of a node as numbers (), (m,) or (m, k)."""
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
                    with self.prefix_errors():
                        total = apply_operator(symbol, total, other)
                return total
            case Call():
                return self.call_to_numbers(node)

    def call_to_numbers(self, node: Call) -> Floats:
        """Evaluate a call to numbers, (m,) or (m, k); raise a FormulaError if it returns categories."""
        if node.function in self.functions or node.function == "C":
            value = self.value(node)
            if isinstance(value, Categories):
                raise FormulaError(
                    f"{self.code}: {node.function}() returns categories, not numbers.",
                    hint="Use it as a separate term.",
                )
            return value
        argument = self.numbers(node.arguments[0])
        if node.function in grammar.NUMPY_FUNCTIONS:
            return np.asarray(getattr(np, node.function)(argument))
        if node.function in grammar.STATEFUL_FUNCTIONS:
            with self.prefix_errors():
                return self.memory.transform(node, self.repeat_constant(argument))
        return self.repeat_constant(argument)

    @contextmanager
    def prefix_errors(self) -> Iterator[None]:
        """Prefix the message of a FormulaError raised in the context with the factor."""
        try:
            yield
        except FormulaError as error:
            raise error.with_message(f"{grammar.shorten_factor(self.code)}: {error.message}") from None

    def repeat_constant(self, value: Floats) -> Floats:
        """Repeat a constant for each row; return other values unchanged."""
        return np.broadcast_to(value, self.rows.size) if np.ndim(value) == 0 else value

    def user_function_value(self, node: Call) -> Floats | Categories:
        """Return the result of a user's function for the rows.

        The function is called once on the whole column. If an argument has a state that is still to be
        learnt, it is learnt from these rows, and the function is called on these rows only.
        """
        n_stateful = sum(name in grammar.STATEFUL_FUNCTIONS for name in _called_functions(node))
        if n_stateful and self.memory.learning:
            result = self.call_user_function(self.rows, node)
        else:
            result = self.cached_user_function_result(node, self.memory.skip(n_stateful))
        return Categories(result) if isinstance(result, pd.Series) else result

    def call_user_function(self, rows: RowRange, node: Call) -> FunctionResult:
        """Evaluate the arguments of a call, and call the user's function on them.

        `rows` must be the rows of this evaluation. The result is empty without rows.
        """
        arguments = [
            self.rows.series(argument.name) if isinstance(argument, Column) else self.numbers(argument)
            for argument in node.arguments
        ]
        # Functions of the user receive text as objects.
        arguments = [
            argument.astype(object) if isinstance(argument.dtype, pd.StringDtype) else argument
            for argument in arguments
        ]
        call = UserFunctionCall(self.code, node.function, self.functions[node.function], dict(node.options))
        return call(arguments, rows.index) if rows.size else np.empty(0)

    def cached_user_function_result(self, node: Call, states: tuple[State, ...]) -> FunctionResult:
        """Call a user's function on the complete rows of the whole table; return its values for these rows.

        The result for the whole table is cached in `Table.function_cache`.

        Parameters
        ----------
        node : Call
        states : tuple of State
            States of the stateful calls within the arguments.

        Returns
        -------
        FunctionResult
            Numbers (m,) or (m, k), or a Series of categories (m,).
        """
        table = self.rows.table
        called_functions = {
            name: self.functions[name] for name in _called_functions(node) if name in self.functions
        }
        key = (repr(node), states, tuple(map(id, called_functions.values())))
        if key not in table.function_cache:
            columns = tuple(
                dict.fromkeys(
                    column_node.name for column_node in iter_nodes(node) if isinstance(column_node, Column)
                )
            )
            rows, is_complete = RowRange(table, 0, table.nrows, kinds=self.rows._kinds).select_complete(
                columns
            )
            inner = _Evaluation(self.code, rows, CallStates(states), self.functions)
            result_positions = np.arange(table.nrows) if is_complete.all() else np.cumsum(is_complete) - 1
            # A reference to the functions keeps Python from reusing their ids, which are part of the key.
            table.function_cache[key] = (
                inner.call_user_function(rows, node),
                result_positions,
                called_functions,
            )
        all_values, result_positions, _ = table.function_cache[key]
        result_positions = result_positions[self.rows.start : self.rows.stop]
        result_positions = result_positions if self.rows.keep is None else result_positions[self.rows.keep]
        values: FunctionResult = (
            all_values.iloc[result_positions]
            if isinstance(all_values, pd.Series)
            else all_values[result_positions]
        )
        return values


def _called_functions(node: Node) -> Iterator[str]:
    """Yield the names of the functions that are called within a node."""
    return (inner_node.function for inner_node in iter_nodes(node) if isinstance(inner_node, Call))


def _describe_types(table: Table, name: str) -> str:
    """Describe the types of the values in a column, with an example of the rarest, as part of a message."""
    values = table.column(name).dropna()
    if values.dtype.kind != "O":
        return f"values of type {values.dtype}"
    types = values.map(type)
    kinds = sorted({value_type.__name__ for value_type in types.unique()})
    # The rarest type is most likely the mistake.
    rare_row = int((types == types.value_counts().index[-1]).to_numpy().argmax())
    example = f"{values.iloc[rare_row]!r} at row {format_value(values.index[rare_row])}"
    return f"values of type {' and '.join(kinds)} ({example})"


def complete_rows(
    rows: RowRange, columns: Sequence[str], spec: Spec, functions: Functions
) -> tuple[RowRange, Mask]:
    """Select the rows that have a value in every column and a category in every factor of a design.

    A row is missing if a column lacks a value, or if a user's function does not return a category for it.

    Parameters
    ----------
    rows : RowRange
        m rows.
    columns : sequence of str
        Columns that the factors read.
    spec : Spec
        The learnt factors.
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    rows : RowRange
        The complete rows.
    keep : (m,) array of bool
        Which rows they are.
    """
    complete, keep = rows.select_complete(columns)
    names = frozenset(functions)
    factor_memories = [
        (grammar.expression(factor.code, names), CallStates(factor.states))
        for factor in spec.factors
        if factor.levels is not None
    ]
    return _drop_uncategorized_rows(complete, keep, factor_memories, functions)


def learning_rows(
    rows: RowRange,
    columns: Sequence[str],
    other_columns: Sequence[str],
    expressions: Iterable[Expression],
    functions: Functions,
) -> RowRange:
    """Select the rows from which the factors of a new design learn levels and the parameters of transforms.

    These are the complete rows, without those for which a user's function returns no category. For a long
    table whose factors are plain columns, the complete rows among the first `N_FIRST_ROWS` are enough if they
    contain every label.

    Parameters
    ----------
    rows : RowRange
        Rows of the table to select from.
    columns : sequence of str
        Columns that the factors read.
    other_columns : sequence of str
        Other columns in which the rows must be complete, such as the response.
    expressions : iterable of Expression
        The factors.
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    RowRange

    Raises
    ------
    DataError
        No row is complete, or the functions return no category for any of the complete rows.
    """
    expressions = tuple(expressions)
    # Reading adjacent columns together is faster than one by one.
    rows.table.view([name for name in columns if rows.column_type(name) == "numeric"])
    if rows.stop - rows.start > N_FIRST_ROWS:
        first, _ = rows.first_rows(N_FIRST_ROWS).select_complete((*columns, *other_columns))
        if first.size and all(_contains_all_labels(expr, first) for expr in expressions):
            return first
    complete, keep = rows.select_complete((*columns, *other_columns))
    if not keep.any():
        missing = max(columns, key=lambda name: int((~rows.select_complete((name,))[1]).sum()))
        raise DataError(
            f"No row has a value in every column the formula reads; {missing!r} is missing most often.",
            hint="Exclude the column, or fill in its values.",
        )
    factor_memories = [(expr, CallStates()) for expr in expressions]
    categorized, keep = _drop_uncategorized_rows(complete, keep, factor_memories, functions)
    if not keep.any():
        function_factors = dict.fromkeys(expr.code for expr, _ in factor_memories if expr.functions)
        raise DataError(
            f"No observations remain: {', '.join(function_factors)} returned no category for any of "
            f"{complete.size} rows.",
            hint="Correct the function, or pass other columns to it.",
        )
    return categorized


def _contains_all_labels(expr: Expression, rows: RowRange) -> bool:
    """Return whether these rows surely contain every label of a factor, so further rows have nothing to add.

    True for a numeric column. False for a factor that is not a column, for labels that occur less than twice
    on average, and for text with numbers, which is checked in all rows.
    """
    root = expr.root
    if not isinstance(root, Column) or rows.column_type(root.name) in {"numeric", "boolean"}:
        return isinstance(root, Column)
    # Count in these rows first, because all rows are read for the labels.
    if 2 * rows.series(root.name).nunique() > rows.size:
        return False
    factorized = rows.codes_and_labels(root.name)
    if (
        factorized is None
        or 2 * len(factorized[1]) > rows.size
        or len(np.unique(factorized[0])) < len(factorized[1])
    ):
        return False
    return rows.column_type(root.name) == "categorical" or not are_numbers(factorized[1]).any()


def _drop_uncategorized_rows(
    complete: RowRange,
    keep: Mask,
    factor_memories: Iterable[tuple[Expression, CallStates]],
    functions: Functions,
) -> tuple[RowRange, Mask]:
    """Drop the complete rows for which a user's function returns no category.

    Parameters
    ----------
    complete : RowRange
        c complete rows.
    keep : (m,) array of bool
        Which of m rows they are.
    factor_memories : iterable of (Expression, CallStates)
        Categorical factors and their states.
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    rows : RowRange
    keep : (m,) array of bool
    """
    missing = np.zeros(complete.size, dtype=bool)
    for expr, memory in factor_memories:
        if expr.functions and len(missing):
            value = evaluate(expr, complete, memory, functions)
            if isinstance(value, Categories):
                missing |= value.values.isna().to_numpy()
    if missing.any():
        keep = keep.copy()
        keep[keep] = ~missing
        complete = complete.select(~missing)
    return complete, keep


N_CHECKED_ROWS = 2048
"""Approximate number of evenly spaced rows on which a user's function is called again."""

RELATIVE_TOLERANCE = 1e-9
"""Tolerance for the same row in two calls, relative to the largest absolute value of the column.

The rounding of a sum depends on the number of its summands.
"""


@dataclass(frozen=True, slots=True)
class UserFunctionCall:
    """A call of a user's function in a factor, with the checks of its result.

    Parameters
    ----------
    code : str
        The factor, for messages.
    name : str
        Name of the function in the formula.
    function : callable
    options : mapping of str to value
        Literal keyword arguments.
    """

    code: str
    name: str
    function: Callable[..., Any]
    options: Mapping[str, Any]

    def __call__(self, arguments: Sequence[Any], index: pd.Index) -> FunctionResult:
        """Call the function on complete rows, and check the result and that each row is computed alone.

        Parameters
        ----------
        arguments : sequence of Series (m,) or ndarray (m,), (m, k) or ()
        index : Index (m,)
            Labels of the rows.

        Returns
        -------
        FunctionResult
            Numbers (m,) or (m, k), or a Series of categories (m,). Only categories may be missing.

        Raises
        ------
        FormulaError
            The function raises, returns a result of the wrong kind, length or order, or computes a row from
            other rows.
        """
        full_result = self._call_function(arguments, index, f"all {len(index)} rows")
        for rows in _rows_to_check(full_result):
            # A number is a constant for all rows.
            row_arguments = [
                argument.iloc[rows]
                if isinstance(argument, pd.Series)
                else argument[rows]
                if np.ndim(argument)
                else argument
                for argument in arguments
            ]
            partial_result = self._call_function(row_arguments, index[rows], "some rows alone")
            self._check_row_independence(full_result, partial_result, rows, index)
        return full_result

    def _call_function(self, arguments: Sequence[Any], index: pd.Index, rows: str) -> FunctionResult:
        """Call the function on some rows; return the validated result.

        Parameters
        ----------
        arguments : sequence of Series or ndarray
        index : Index (m,)
            Labels of the rows.
        rows : str
            Description of the rows for messages.

        Returns
        -------
        FunctionResult (m, ...)
        """
        # A function may modify its arguments in place, hence the copies.
        copies = [
            argument.copy() if isinstance(argument, (pd.Series, np.ndarray)) else argument
            for argument in arguments
        ]
        try:
            result = self.function(*copies, **self.options)
        except Exception as error:
            raise FormulaError(
                f"{self._description}, given {rows}, raised {type(error).__name__}: {error}.",
                hint="Correct the function, or pass other columns to it.",
            ) from error
        return self._validate_result(self._align_to_rows(result, index), index)

    @property
    def _description(self) -> str:
        """Description of the call, which begins messages."""
        return f"{self.code}: {self.name}() of functions="

    def _align_to_rows(self, result: Any, index: pd.Index) -> Any:
        """Reorder a Series or DataFrame to the order of the rows, if its index has their labels.

        Results with a default index or another length are returned unchanged. Raises a FormulaError for any
        other index.
        """
        if not isinstance(result, (pd.Series, pd.DataFrame)) or result.index.equals(index):
            return result
        n = len(index)
        is_default_index = isinstance(result.index, pd.RangeIndex) and result.index.equals(pd.RangeIndex(n))
        if is_default_index or len(result) != n:
            # A default index, for example of a Series made from an array.
            return result
        if not index.is_unique or set(result.index) != set(index):
            raise FormulaError(
                f"{self._description} returned a {type(result).__name__} whose index differs from the index "
                "of its column.",
                hint="Keep the index, or return an array in the order of the rows.",
            )
        return result.reindex(index)

    def _validate_result(self, result: Any, index: pd.Index) -> FunctionResult:
        """Convert the result for rows (m,) to numbers or categories; raise a FormulaError for any other.

        Values that are all missing become NaN.
        """
        if isinstance(result, np.ma.MaskedArray):
            unmasked = np.array(result.data, dtype=object)
            unmasked[np.ma.getmaskarray(result)] = None
            result = unmasked
        try:
            array = result if isinstance(result, pd.DataFrame) else np.asarray(result)
        except Exception:
            array = np.array(None)
        if array.ndim not in {1, 2} or len(array) != len(index) or 0 in array.shape[1:]:
            raise FormulaError(
                f"{self._description} must return one value, or one row of a matrix, for each of "
                f"{len(index)} rows; it returned an array of shape {array.shape}.",
                hint="Correct the function.",
            )
        if array.ndim == 2:
            frame = pd.DataFrame(array)
            return np.column_stack([self._floats(frame.iloc[:, j]) for j in range(frame.shape[1])])
        series = result if isinstance(result, pd.Series) else None
        if series is None:
            series = pd.Series(result if isinstance(result, pd.Categorical) else array)
        column_type = pandas_column_type(series)
        if column_type == "categorical":
            return pd.Series(pd.Categorical(series), index=index)
        if column_type == "text":
            return pd.Series(series.to_numpy(dtype=object), index=index)
        return self._floats(series)

    def _floats(self, series: pd.Series) -> NDArray[np.float64]:
        """Convert a column (m,) of the result to float64; raise a FormulaError if that is inexact."""
        if series.isna().all():
            return np.full(len(series), np.nan)
        if pandas_column_type(series) not in {"numeric", "boolean"}:
            raise FormulaError(
                f"{self._description} returned {series.dtype}, not numbers or text.",
                hint="Return numbers or text.",
            )
        present_values = series[series.notna()].to_numpy()
        rounding_error = largest_rounding_error(present_values)
        if rounding_error is not None:
            raise FormulaError(
                f"{self._description} returned the number {present_values[rounding_error.position]}, which "
                f"float64 rounds by {rounding_error.error:g}.",
                hint="Return smaller numbers, or text if they are categories.",
            )
        try:
            return as_floats(series, self.code)
        except DataError as error:
            raise FormulaError(
                f"{self._description}, which returned it: {error.message}",
                hint=f"{error.hint} Correct the function.",
                rows=error.rows,
            ) from None

    def _check_row_independence(
        self,
        full_result: FunctionResult,
        partial_result: FunctionResult,
        rows: NDArray[np.intp],
        index: pd.Index,
    ) -> None:
        """Raise a FormulaError if rows have another value when the function is called on them alone.

        Parameters
        ----------
        full_result : FunctionResult (m, ...)
            Result for all rows.
        partial_result : FunctionResult (r, ...)
            Result of a call on some of the rows.
        rows : (r,) array of int
            Positions of these rows.
        index : Index (m,)
            Labels of all rows.
        """
        expected = full_result.iloc[rows] if isinstance(full_result, pd.Series) else full_result[rows]
        differ = _difference_mask(expected, partial_result, full_result)
        if differ is None:
            raise FormulaError(
                f"{self._description} returns {_describe_result(full_result)} for all rows and "
                f"{_describe_result(partial_result)} for {len(rows)} of "
                "them.",
                hint=f"Use a function that computes each row separately. {_ROWWISE_HINT}",
            )
        if differ.any():
            row_index = int(differ.argmax())
            full_value, partial_value = (
                values.iloc[row_index] if isinstance(values, pd.Series) else values[row_index].tolist()
                for values in (expected, partial_result)
            )
            raise FormulaError(
                f"{self._description} returns {format_value(full_value)} for row "
                f"{format_value(index[rows[row_index]])} together with all rows, and "
                f"{format_value(partial_value)} {'alone' if len(rows) == 1 else 'together with some rows'}: "
                "predictions would depend on other rows.",
                hint=f"Use a function that computes each row separately. {_ROWWISE_HINT}",
                rows=(index[rows[row_index]],),
            )


_ROWWISE_HINT = (
    "center(), scale(), poly() and bs() store what they learn from the training rows; compute other columns "
    "that depend on several rows before the fit."
)


def check_functions(functions: Functions | None) -> Functions:
    """Return the user's functions, {} for None; raise a FormulaError if one cannot be called by its name."""
    if functions is not None and not isinstance(functions, Mapping):
        raise FormulaError(
            f"functions= is a {type(functions).__name__}.",
            hint="Pass a dict of names and functions, {'f': f}.",
        )
    for name, function in (functions or {}).items():
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise FormulaError(
                f"functions= names a function {name!r}, which a formula cannot call.", hint="Rename it."
            )
        if name in grammar.FUNCTIONS or name == "np":
            raise FormulaError(f"functions= must not redefine {name}.", hint="Use another name.")
        if not callable(function):
            raise FormulaError(
                f"functions={{{name!r}: ...}} is a {type(function).__name__}, not a function.",
                hint="Pass a function of columns.",
            )
    return functions or {}


def select_functions(names: Sequence[str], functions: Functions | None) -> Functions:
    """Select the functions that a fitted design calls from those passed with new data.

    Parameters
    ----------
    names : sequence of str
        Functions that the design calls.
    functions : mapping of str to callable, or None
        Functions of the user.

    Returns
    -------
    mapping of str to callable

    Raises
    ------
    FormulaError
        One of the functions is missing.
    """
    functions = check_functions(functions)
    for name in names:
        if name not in functions:
            raise FormulaError(
                f"The formula calls {name}().", hint=f"Pass functions={{{name!r}: ...}} again."
            )
    return {name: functions[name] for name in names}


def _rows_to_check(full_result: FunctionResult) -> list[NDArray[np.intp]]:
    """Choose the rows on which a user's function is called again.

    Parameters
    ----------
    full_result : FunctionResult (m, ...)
        Result for all rows.

    Returns
    -------
    list of (r,) arrays of int
        Evenly spaced rows in reverse order; then the last row and those with the largest and the smallest
        result (in the first column), each alone. Empty for fewer than two rows.
    """
    n = len(full_result)
    if n < 2:
        return []
    spaced_rows = np.arange(n - 1, -1, -max(2, -(-n // N_CHECKED_ROWS)), dtype=np.intp)
    values = (
        pd.factorize(full_result)[0]
        if isinstance(full_result, pd.Series)
        else full_result.reshape(n, -1)[:, 0]
    )
    ordered_values = np.where(np.isnan(values), -np.inf, values)
    single_rows = {n - 1, int(ordered_values.argmax()), int(ordered_values.argmin())}
    return [spaced_rows, *(np.array([row], dtype=np.intp) for row in sorted(single_rows))]


def _difference_mask(
    expected: FunctionResult, partial_result: FunctionResult, full_result: FunctionResult
) -> NDArray[np.bool_] | None:
    """Find the rows whose values differ between two calls of a function.

    Parameters
    ----------
    expected, partial_result : FunctionResult (r, ...)
        Values of the rows in the first and in the second call.
    full_result : FunctionResult (m, ...)
        Values of all rows, which set the scale of the tolerance.

    Returns
    -------
    (r,) array of bool, or None
        None if one has categories and the other numbers, or if they have different widths.
    """
    if isinstance(expected, pd.Series) or isinstance(partial_result, pd.Series):
        texts = [_category_texts(values) for values in (expected, partial_result)]
        if texts[0] is None or texts[1] is None:
            return None
        return np.asarray(texts[0] != texts[1], dtype=bool)
    if expected.shape[1:] != partial_result.shape[1:]:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        magnitude = np.max(np.abs(np.where(np.isfinite(full_result), full_result, 0.0)), axis=0)
        is_equal = (expected == partial_result) | (np.isnan(expected) & np.isnan(partial_result))
        is_close = is_equal | (np.abs(expected - partial_result) <= RELATIVE_TOLERANCE * magnitude)
    return np.asarray(~is_close.reshape(len(is_close), -1).all(axis=1))


def _category_texts(values: FunctionResult) -> NDArray[Any] | None:
    """Return categories (m,) as objects with None for missing values; None if the values are numbers.

    A column of NaN only counts as categories that are all missing.
    """
    if isinstance(values, pd.Series):
        texts: NDArray[Any] = values.to_numpy(dtype=object).copy()
        texts[values.isna().to_numpy()] = None
        return texts
    return np.full(len(values), None) if values.ndim == 1 and np.isnan(values).all() else None


def _describe_result(values: FunctionResult) -> str:
    """Describe the kind of a result in messages."""
    if isinstance(values, pd.Series):
        return "categories"
    return "one column" if values.ndim == 1 else f"{values.shape[1]} columns"
