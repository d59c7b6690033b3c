"""Change of the columns of a design with a column of the table: derivatives, and values with columns fixed.

Factors are differentiated symbolically along their expressions, and products of factors by the product rule.
A spline is a polynomial between its knots, whose values at a few points determine its derivative. No finite
differences are used, hence no digits are lost for any unit of the column. Categories cannot be
differentiated; `count_level_class_cells` counts rows by level and class without the columns of the design.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.map_reduce import map_reduce
from discrim.data.values import Scalar, encode
from discrim.design.design_rows import DesignRows
from discrim.design.matrix import factor_values
from discrim.errors import NotSupportedError
from discrim.formula import grammar
from discrim.formula.design import Design, Factor, Spec
from discrim.formula.factors import (
    CallStates,
    Categories,
    Functions,
    RowRange,
    apply_operator,
    complete_rows,
    evaluate,
    select_functions,
)
from discrim.formula.grammar import Call, Column, Expression, Negative, Node, Number, Operation
from discrim.formula.transforms import State, apply

_Dual = tuple[Floats, Floats | None]
"""A value and its derivative with respect to a column; None if it does not depend on the column."""

OUTER_SAMPLE_LENGTH = 0.5
"""Distance outside the boundary knots, in lengths of the spline, up to which its outer pieces are sampled."""


def category_levels(design: Design, functions: Functions, name: str) -> tuple[Any, ...] | None:
    """Return the levels of the first categorical factor that reads a column, or None.

    Parameters
    ----------
    design : Design
    functions : mapping of str to callable
        Functions of the user.
    name : str
        The column.

    Returns
    -------
    tuple or None
    """
    names = frozenset(functions)
    factors = () if design.spec is None else design.spec.factors
    categories = (factor for factor in factors if factor.levels is not None)
    return next((f.levels for f in categories if name in grammar.expression(f.code, names).columns), None)


class ChangedDesign:
    """Complete rows of a design with p columns, with some columns of the table fixed at other values.

    Parameters
    ----------
    design : Design
        With a spec; otherwise a ValueError is raised.
    rows : RowRange
        The m rows. With `means`, m is 1 in the results.
    functions : mapping of str to callable
        Functions of the user.
    means : mapping of str to float, optional
        If passed, one row represents all: numbers at these means, and categories in the proportions in
        `level_proportions`.
    level_proportions : mapping of int to (levels,) float array, optional
        Proportions of the levels of each categorical factor, by its position in `Spec.factors`. Required with
        `means`.

    Attributes
    ----------
    count : int
        Number m of rows of the results.
    """

    def __init__(
        self,
        design: Design,
        rows: RowRange,
        functions: Functions,
        means: Mapping[str, float] | None = None,
        level_proportions: Mapping[int, Floats] | None = None,
    ) -> None:
        if design.spec is None:
            raise ValueError("The design has no spec; the derivative of a plain design is the identity.")
        self._spec: Spec = design.spec
        self._rows = rows
        self._functions = functions
        self._means = means
        self._level_proportions = level_proportions or {}
        self._duals: dict[int, _Dual] = {}
        names = frozenset(functions)
        self._expressions = [grammar.expression(factor.code, names) for factor in design.spec.factors]
        self.count = 1 if means is not None else len(rows.index)

    def values_at(self, fixed: Mapping[str, Any]) -> Floats:
        """Return the design matrix (m, p) with columns of the table fixed at numbers or levels, by name.

        Raises NotSupportedError if a factor computes categories from a fixed column.
        """
        return self._values_and_slopes(fixed, None)[0]

    def slope(self, name: str) -> Floats:
        """Return the derivative of the design matrix (m, p) with respect to a numeric column, by name.

        Raises NotSupportedError if a factor of the column, such as a user's function, lacks a derivative.
        """
        return self._values_and_slopes({}, name)[1]

    def level_weights(self, weights: Floats) -> dict[int, Floats]:
        """Sum the weights (m,) of the rows in each level of each categorical factor.

        The keys are the positions of the factors in `Spec.factors`, the values have shape (levels,).
        """
        return {
            i: np.bincount(self._codes(factor, expr, {}), weights, len(factor.levels)).astype(np.float64)
            for i, (factor, expr) in enumerate(zip(self._spec.factors, self._expressions, strict=True))
            if factor.levels is not None
        }

    def _values_and_slopes(self, fixed: Mapping[str, Any], name: str | None) -> tuple[Floats, Floats]:
        """Return the design matrix and its derivative.

        Parameters
        ----------
        fixed : mapping of str to value
            Columns of the table fixed at values.
        name : str or None
            Column of the derivative.

        Returns
        -------
        tuple of (m, p) float arrays
        """
        spec = self._spec
        factors = [self._factor_dual(i, fixed, name) for i in range(len(spec.factors))]
        columns = []
        slopes = []
        for factor_codings in spec.products:
            coded_factors = [self._apply_coding(factors[factor], coding) for factor, coding in factor_codings]
            # The columns of the first factor run fastest.
            for backwards in product(*(range(values.shape[1]) for values, _ in reversed(coded_factors))):
                value = np.ones(self.count)
                slope = np.zeros(self.count)
                for (values, derivatives), j in zip(coded_factors, reversed(backwards), strict=True):
                    slope = slope * values[:, j]
                    if derivatives is not None:
                        slope = slope + value * derivatives[:, j]
                    value = value * values[:, j]
                columns.append(value)
                slopes.append(slope)
        return np.column_stack(columns), np.column_stack(slopes)

    def _apply_coding(self, factor: _Dual, coding: int) -> _Dual:
        """Apply a coding to a factor.

        Parameters
        ----------
        factor : tuple of array and array or None
            Numeric values and their derivative, or indicators or proportions (m, levels) of a categorical
            factor.
        coding : int
            Position in `Spec.codings`, or -1 for a numeric factor, which is returned unchanged.

        Returns
        -------
        tuple of array and array or None
            The columns of the design, and their derivative.
        """
        if coding < 0:
            return factor
        proportions = factor[0]
        coding_of_factor = self._spec.codings[coding]
        if coding_of_factor.picks is not None:
            return proportions[:, list(coding_of_factor.picks)], None
        return proportions @ np.array(coding_of_factor.matrix), None

    def _factor_dual(self, i: int, fixed: Mapping[str, Any], name: str | None) -> _Dual:
        """Return the values of a factor and their derivative with respect to a column.

        Parameters
        ----------
        i : int
            Position of the factor.
        fixed : mapping of str to value
            Columns of the table fixed at values.
        name : str or None
            Column of the derivative.

        Returns
        -------
        tuple of array and array or None
        """
        factor = self._spec.factors[i]
        expr = self._expressions[i]
        depends_on_change = name in expr.columns or any(column in fixed for column in expr.columns)
        if not depends_on_change and i in self._duals:
            return self._duals[i]
        dual: _Dual
        if factor.levels is not None and self._means is not None and not depends_on_change:
            dual = self._level_proportions[i][None, :], None
        elif factor.levels is not None:
            dual = np.eye(len(factor.levels))[self._codes(factor, expr, fixed)], None
        elif not depends_on_change and self._means is None:
            dual = np.asarray(factor_values(factor, self._rows, self._functions)), None
        else:
            value, change = _DualEvaluator(self, factor, fixed, name).dual(expr.root)
            dual = (_as_matrix(value, self.count), None if change is None else _as_matrix(change, self.count))
        if not depends_on_change:
            self._duals[i] = dual
        return dual

    def _codes(self, factor: Factor, expr: Expression, fixed: Mapping[str, Any]) -> NDArray[np.intp]:
        """Return the codes (m,) of a categorical factor.

        Parameters
        ----------
        factor : Factor
        expr : Expression
            The parsed factor.
        fixed : mapping of str to value
            Columns of the table fixed at values.

        Returns
        -------
        (m,) int array
        """
        levels = factor.levels or ()
        if not any(column in fixed for column in expr.columns):
            return np.asarray(factor_values(factor, self._rows, self._functions))
        if expr.category is None:
            raise NotSupportedError(
                f"The effects of {', '.join(expr.columns)} cannot be computed, because {factor.code} "
                "computes categories from them.",
                hint="Store the categories as a column of the table, and use this column in the formula.",
                columns=expr.columns,
            )
        level_index = next(k for k, level in enumerate(levels) if level == fixed[expr.category])
        return np.full(self.count, level_index, dtype=np.intp)


def _as_matrix(value: Floats, rows: int) -> Floats:
    """Return a value (), (rows,) or (rows, k) as a matrix; a constant is repeated for each row."""
    return np.broadcast_to(value, rows)[:, None] if value.ndim < 2 else value


class _DualEvaluator:
    """Evaluator of a numeric factor and its derivative with respect to a column.

    It meets stateful calls in the order in which their states were learnt, so an object evaluates the factor
    only once.

    Parameters
    ----------
    changed_design : ChangedDesign
        Rows (or means) and functions with which the factor is evaluated.
    factor : Factor
        The fitted factor, with the states of its stateful calls.
    fixed : mapping of str to value
        Columns of the table fixed at values.
    name : str or None
        Column of the derivative; None if only the value is needed.
    """

    def __init__(
        self, changed_design: ChangedDesign, factor: Factor, fixed: Mapping[str, Any], name: str | None
    ) -> None:
        self._rows = changed_design._rows
        self._functions = changed_design._functions
        self._means = changed_design._means
        self._states = iter(factor.states)
        self._code = factor.code
        self._fixed = fixed
        self._name = name
        self._count = changed_design.count

    def dual(self, node: Node) -> _Dual:
        """Return the value of a node, () for a constant, (m,) or (m, k), and its derivative or None."""
        match node:
            case Column(name):
                return self._column_dual(name)
            case Number(number):
                return np.full((), number), None
            case Negative(operand):
                value, derivative = self.dual(operand)
                return -value, None if derivative is None else -derivative
            case Operation(first, rest):
                total = self.dual(first)
                for symbol, operand in rest:
                    total = self._apply_operator(symbol, total, self.dual(operand))
                return total
            case Call():
                return self._call_dual(node)

    def _column_dual(self, name: str) -> _Dual:
        """Return a numeric column (count,), and its derivative: ones for the column of the derivative."""
        if name in self._fixed:
            values = np.full(self._count, float(self._fixed[name]))
        elif self._means is not None:
            values = np.full(self._count, self._means[name])
        else:
            values = self._rows.numbers(name)
        return values, np.ones(self._count) if name == self._name else None

    def _apply_operator(self, symbol: str, left_dual: _Dual, right_dual: _Dual) -> _Dual:
        """Apply an operator to two values, and its rule of differentiation to their derivatives.

        Parameters
        ----------
        symbol : str
        left_dual, right_dual : tuple of array and array or None

        Returns
        -------
        tuple of array and array or None
        """
        (a, da), (b, db) = left_dual, right_dual
        with np.errstate(all="ignore"):
            value = apply_operator(symbol, a, b)
            if da is None and db is None:
                return value, None
            if symbol in ("//", "%"):
                raise self._no_derivative(f"replace {symbol}, which is a step function")
            zero = np.zeros(())
            da = zero if da is None else da
            db = zero if db is None else db
            if symbol in ("+", "-"):
                derivative = apply_operator(symbol, da, db)
            elif symbol == "*":
                derivative = apply_operator("+", apply_operator("*", da, b), apply_operator("*", a, db))
            elif symbol == "/":
                derivative = apply_operator("/", apply_operator("-", da, apply_operator("*", value, db)), b)
            else:
                derivative = apply_operator(
                    "*",
                    apply_operator("*", b, apply_operator("**", a, apply_operator("-", b, np.ones(())))),
                    da,
                )
                if np.any(db):
                    exponent_derivative = apply_operator("*", apply_operator("*", value, np.log(a)), db)
                    derivative = apply_operator("+", derivative, exponent_derivative)
        if value.ndim == 2 and np.ndim(derivative) < 2:
            # The derivative of a column that is combined with a matrix applies to each column of the matrix.
            derivative = np.broadcast_to(np.reshape(derivative, (-1, 1)), value.shape)
        return value, derivative

    def _call_dual(self, node: Call) -> _Dual:
        """Return the value and derivative of a call, by the chain rule.

        Raises NotSupportedError for a function of the user, and for a step function.
        """
        if node.function in self._functions:
            if self._name is None and not self._fixed:
                raise NotSupportedError(
                    f"{self._code} cannot be evaluated at the means, because {node.function}() is a function "
                    "in functions=.",
                    hint='Use at="overall", or store its values as a column of the table.',
                )
            raise self._no_derivative(f"write the formula of {node.function}() without functions=")
        value, derivative = self.dual(node.arguments[0])
        if node.function in grammar.NUMPY_FUNCTIONS:
            with np.errstate(all="ignore"):
                result = np.asarray(getattr(np, node.function)(value))
                return result, None if derivative is None else _DERIVATIVES[node.function](
                    value, result
                ) * derivative
        if node.function in grammar.STATEFUL_FUNCTIONS:
            state = next(self._states)
            argument = np.broadcast_to(value, self._count) if value.ndim == 0 else value
            result = apply(state, argument)
            if derivative is None:
                return result, None
            inner = derivative[:, None] if result.ndim == 2 and derivative.ndim == 1 else derivative
            return result, _state_derivative(state, argument, result) * inner
        return value, derivative

    def _no_derivative(self, workaround: str) -> NotSupportedError:
        """Return the error for a factor without a derivative; `workaround` completes its hint."""
        name = self._name or next(iter(self._fixed))
        return NotSupportedError(
            f"The effect of {name!r} cannot be computed through {self._code}.",
            hint=(
                f"Store {self._code} as a column of the table, leave {name!r} out of columns=, or "
                f"{workaround}."
            ),
            columns=(name,),
        )


_DERIVATIVES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "log": lambda x, y: 1 / x,
    "log2": lambda x, y: 1 / (x * np.log(2)),
    "log10": lambda x, y: 1 / (x * np.log(10)),
    "log1p": lambda x, y: 1 / (1 + x),
    "exp": lambda x, y: y,
    "sqrt": lambda x, y: 0.5 / y,
    # At 0 the symmetric derivative, which is the mean of the two one-sided derivatives.
    "abs": lambda x, y: np.sign(x),
}


def _state_derivative(state: State, x: Floats, result: Floats) -> Floats:
    """Return the derivative of a stateful call with respect to its argument.

    Parameters
    ----------
    state : State
        Learnt state of center(), scale(), standardize(), poly(), bs() or cr().
    x : (m,) or (m, k) float array
        Argument.
    result : (m,) or (m, q) float array
        Value of the call.

    Returns
    -------
    float array of the shape of `result`
    """
    values: dict[str, Any] = dict(state.values)
    if state.function == "center":
        return np.ones(np.shape(result))
    if state.function in ("scale", "standardize"):
        sd = np.asarray(values["sd"])
        return np.asarray(np.ones(np.shape(result)) / (sd if result.ndim == 2 else sd[0]))
    column = x[:, 0] if x.ndim == 2 else x
    if state.function == "poly":
        return _poly_derivative(column, values)
    return _spline_derivative(state, column, values)


def _poly_derivative(x: Floats, values: Mapping[str, Any]) -> Floats:
    """Return the derivatives of the columns of poly(), by the differentiated three-term recurrence.

    Parameters
    ----------
    x : (m,) float array
    values : mapping of str to value
        "raw_degree" for powers of x. Otherwise "middle" and "spread" (centre and half range of x, by which it
        is scaled), "centres" and "norms" (coefficients and squared norms of the recurrence).

    Returns
    -------
    (m, degree) float array
    """
    if "raw_degree" in values:
        return np.column_stack([power * x ** (power - 1) for power in range(1, values["raw_degree"] + 1)])
    scaled = (x - values["middle"]) / values["spread"]
    unit = 1 / values["spread"]
    norms = (1.0, *values["norms"])
    out = np.empty((len(x), len(values["centres"])))
    previous = np.zeros_like(scaled)
    current = np.ones_like(scaled)
    previous_slope = np.zeros_like(scaled)
    slope = np.zeros_like(scaled)
    for j, centre in enumerate(values["centres"]):
        norm_ratio = norms[j + 1] / norms[j]
        previous_slope, slope = slope, current + (scaled - centre) * slope - norm_ratio * previous_slope
        previous, current = current, (scaled - centre) * current - norm_ratio * previous
        out[:, j] = slope * unit / np.sqrt(norms[j + 2])
    return out


def _spline_derivative(state: State, x: Floats, values: Mapping[str, Any]) -> Floats:
    """Return the derivative of a spline basis, from the Chebyshev interpolation of each piece between knots.

    At a knot it is the derivative from the right, at the upper boundary from the left.

    Parameters
    ----------
    state : State
        State of ``bs()`` or ``cr()``.
    x : (m,) float array
    values : mapping of str to value
        Values of the state: the inner "knots", "lower_bound", "upper_bound" and, for ``bs()``, "degree".

    Returns
    -------
    (m, q) float array
        For the q columns of the basis. NaN outside the bounds of ``bs()``.
    """
    degree = int(values.get("degree", 3))
    if degree == 0:
        raise NotSupportedError(
            "bs(degree=0) is a step function, which has no derivative.",
            hint="Use a higher degree=, or convert the column to categories.",
        )
    lower, upper = float(values["lower_bound"]), float(values["upper_bound"])
    knots = np.unique([lower, *np.ravel(values["knots"]), upper])
    ends = np.array(
        [lower - OUTER_SAMPLE_LENGTH * (upper - lower), *knots, upper + OUTER_SAMPLE_LENGTH * (upper - lower)]
    )
    nodes = chebyshev.chebpts1(degree + 1)
    values_to_coefs = np.linalg.inv(chebyshev.chebvander(nodes, degree))
    # The last knot belongs to the piece before it.
    interval = np.searchsorted(knots, x, side="right")
    interval[x == upper] = len(knots) - 1
    out: Floats | None = None
    for j in np.unique(interval):
        in_interval = interval == j
        midpoint = (ends[j] + ends[j + 1]) / 2
        half_width = (ends[j + 1] - ends[j]) / 2
        coefs = values_to_coefs @ apply(state, midpoint + half_width * nodes)
        out = np.empty((len(x), coefs.shape[1])) if out is None else out
        slopes = chebyshev.chebder(coefs, axis=0)
        out[in_interval] = chebyshev.chebval((x[in_interval] - midpoint) / half_width, slopes).T / half_width
    return np.empty((0, 0)) if out is None else out


@dataclass(frozen=True, slots=True, eq=False)
class CategoryCounts:
    """Unweighted counts of a categorical predictor by class.

    Attributes
    ----------
    label : str
        Name of the predictor.
    levels : tuple
        Its L levels.
    rows : (L, K) int array
        Number of complete rows of positive weight by level and by the K classes.
    """

    label: str
    levels: tuple[Scalar, ...]
    rows: NDArray[np.intp]


def count_level_class_cells(design_rows: DesignRows) -> list[CategoryCounts]:
    """Count the rows of a fit by level and class, for each categorical predictor that is a term of its own.

    The list is empty without such predictors. Booleans and interactions are not included.
    """
    return map_reduce(design_rows, _count_chunk_cells, _add_counts)


def _add_counts(a: list[CategoryCounts], b: list[CategoryCounts]) -> list[CategoryCounts]:
    """Add the counts of two chunks."""
    return [
        replace(left_cells, rows=left_cells.rows + right_cells.rows)
        for left_cells, right_cells in zip(a, b, strict=True)
    ]


def _count_chunk_cells(design_rows: DesignRows) -> list[CategoryCounts]:
    """Count the rows of one chunk by level and class, for each categorical predictor that is a term."""
    design = design_rows.design
    table = design_rows.table
    products = () if design.spec is None else design.spec.products
    single_factors = [
        factor_codings[0][0]
        for factor_codings in products
        if len(factor_codings) == 1 and factor_codings[0][1] >= 0
    ]
    if design.spec is None or not single_factors:
        return []
    functions = select_functions(design.functions, design_rows.functions)
    all_rows = RowRange(table, 0, table.nrows, kinds=design.kinds)
    rows, complete = complete_rows(all_rows, design.columns, design.spec, functions)
    used = design_rows.codes[complete] >= 0
    if design_rows.weights is not None:
        used &= design_rows.weights[complete] > 0
    rows = rows.select(used)
    classes = design_rows.codes[complete][used]
    k = len(design.levels)
    cells = []
    for factor_index in single_factors:
        factor = design.spec.factors[factor_index]
        expr = grammar.expression(factor.code, frozenset(functions))
        value = evaluate(expr, rows, CallStates(factor.states), functions)
        if isinstance(value, Categories) and factor.levels is not None:
            codes = encode(value.values, factor.levels, f"The predictor {expr.label!r}")
            counts = np.bincount(codes * k + classes, minlength=len(factor.levels) * k)
            cells.append(CategoryCounts(expr.label, factor.levels, counts.reshape(-1, k)))
    return cells
