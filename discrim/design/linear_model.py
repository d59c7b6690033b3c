"""Linear models of factors and covariates on the left side of a formula, with responses on the right.

In a discriminant analysis the class is on the left. A model of several factors takes its place: "sex * island
~ bill_length_mm + bill_depth_mm". Responses in `cbind()`, as in R, may be on either side. Hypotheses on
coefficients are written as equations: "a = b, c = 0". `models/linear_model/` uses this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.data.sources.base import DistributedSource
from discrim.data.sources.sources import source_of
from discrim.data.table import Table
from discrim.data.values import Scalar
from discrim.design.design_rows import DesignRows
from discrim.design.rows import read_rows, require_rows_in_memory
from discrim.design.source_tables import first_table
from discrim.errors import FormulaError
from discrim.formula.design import Coding, Design, Spec
from discrim.formula.factors import Functions, check_functions
from discrim.formula.formula import (
    Expansion,
    Node,
    ParsedFormula,
    Terms,
    expand_right_side,
    parse_sides,
    read_leaf,
)
from discrim.formula.grammar import (
    MAX_TEXT,
    Column,
    Expression,
    ScannedFormula,
    expression,
    quote,
    read_one_factor,
    scan,
)

_CBIND = re.compile(r"\s*cbind\s*\(")


@dataclass(frozen=True, slots=True)
class ModelTerm:
    """A term of a linear model.

    Attributes
    ----------
    label : str
        The term as the formula writes it.
    factors : frozenset of str
        Codes (texts) of the factors that it multiplies.
    columns : tuple of int
        Positions of its columns in the design.
    categories : tuple of str
        Codes of the categorical factors among them, in order.
    """

    label: str
    factors: frozenset[str]
    columns: tuple[int, ...]
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Combinations of levels of some factors, and the values of the design in them.

    Attributes
    ----------
    labels : list of tuple
        Levels of the factors in each cell. The last factor varies fastest.
    columns : tuple of int
        Positions of the columns of the design that are functions of these factors only.
    values : (cells, columns) float array
        Values of these columns in each cell.
    """

    labels: list[tuple[Scalar, ...]]
    columns: tuple[int, ...]
    values: Floats


def move_responses_right(formula: str) -> str:
    """Rewrite a formula with the responses on the right and without `cbind()`.

    An argument without a `cbind()`, or that is not text with one ``~``, is returned unchanged.

    Examples
    --------
    >>> move_responses_right("cbind(y1, log(y2)) ~ a * b")
    'a * b ~ y1 + log(y2)'
    >>> move_responses_right("a * b ~ cbind(y1, y2)")
    'a * b ~ y1 + y2'
    """
    if not isinstance(formula, str) or formula.count("~") != 1:
        return formula
    left_side, right_side_text = formula.split("~")
    if (responses := _cbind_arguments(left_side)) is not None:
        return f"{right_side_text.strip()} ~ {responses}"
    responses = _cbind_arguments(right_side_text)
    return formula if responses is None else f"{left_side.strip()} ~ {responses}"


def _cbind_arguments(side: str) -> str | None:
    """Return the arguments of `cbind()` as a sum, or None if a side of a formula is not such a call."""
    call_start = _CBIND.match(side)
    if call_start is None or not side.rstrip().endswith(")"):
        return None
    inner = side[call_start.end() :].rstrip()[:-1]
    depth = 0
    quoted = False
    arguments = [""]
    for character in inner:
        quoted ^= character == "`"
        depth += 0 if quoted else (character in "([") - (character in ")]")
        if depth < 0:
            return None
        if character == "," and not depth and not quoted:
            arguments.append("")
        else:
            arguments[-1] += character
    return " + ".join(argument.strip() for argument in arguments)


_DOT = re.compile(r"(?<![\w.])\.(?![\w.])")


def exclude_from_dot(formula: str, columns: Sequence[Any]) -> str:
    """Rewrite a formula such that ``.`` excludes some columns; entries that are not text are ignored.

    Examples
    --------
    >>> exclude_from_dot("species ~ . + log(`a.b`)", ["block", None])
    'species ~ (. - block) + log(`a.b`)'
    """
    excluded = [quote(name) for name in columns if isinstance(name, str)]
    if not excluded or not isinstance(formula, str):
        return formula
    segments = formula.split("`")
    replacement = f"(. - {' - '.join(excluded)})"
    return "`".join(
        segment if j % 2 else _DOT.sub(lambda _: replacement, segment) for j, segment in enumerate(segments)
    )


def class_factor(formula: str, functions: Collection[str] = ()) -> str | None:
    """Return the left side of a formula if it is a single factor, as for `lda`, or None.

    A column, ``C()``, or a call of one of the user's functions is a factor. Any other expression, such as
    ``log(age)``, is a covariate.
    """
    source = scan(move_responses_right(formula))
    left_node, _ = parse_sides(source)
    if left_node.type != "PYTHON_EXPR":
        return None
    code = str(left_node.token.extra)
    origin = left_node.origin
    factor = read_one_factor(source, origin.start, origin.end, code, frozenset(functions))
    is_factor = isinstance(factor.root, Column) or factor.is_coded or factor.functions
    return source.restore(code) if is_factor else None


def model_rows(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    responses: bool = True,
    in_memory: str | None = None,
) -> tuple[DesignRows, list[ModelTerm]]:
    """Read the rows of a linear model.

    Parameters
    ----------
    formula : str
    data : table or source
    weights : (n,) array or str, optional
        Frequency weights, or the column that contains them.
    functions : mapping of str to callable, optional
        Functions of the user.
    responses : bool
        Whether the model has responses; otherwise the right side is 1.
    in_memory : str, optional
        Reason that rows have to be in memory, a sentence. A source is then refused.

    Returns
    -------
    design_rows : DesignRows
        The columns encode the terms, with sum-to-zero contrasts, followed by the responses. The classes
        are the levels of the first column of a categorical factor; without one there is a single class.
    terms : list of ModelTerm
        Without the intercept and the responses, lower orders first; empty if the left side is 1.

    Raises
    ------
    FormulaError
        The formula is not valid, or a response is categorical.
    """
    text = move_responses_right(formula)
    checked_functions = check_functions(functions)
    table_source = None if in_memory is None or isinstance(data, Table) else source_of(data)
    if table_source is not None and in_memory is not None:
        # Before the first part is read, because some sources can be read only once.
        require_rows_in_memory(in_memory, table_source)
    first = _table_for_column_types(data)
    source = scan(text)
    left_node, _ = parse_sides(source)
    terms, expressions, labels = _parse_left_side(source, left_node, first, checked_functions)
    categories = [
        expr
        for expr in expressions.values()
        if (
            first.column_type(expr.root.name) not in ("numeric", "boolean")
            if isinstance(expr.root, Column)
            else expr.is_coded
        )
    ]
    factor = next((name for expr in categories for name in expr.columns), None)
    left_columns = dict.fromkeys(name for expr in expressions.values() for name in expr.columns)

    def parse_design(text: str, table: Table, functions: Functions, exclude: Sequence[str]) -> ParsedFormula:
        """Parse the terms and the responses, as a `FormulaParser` whose response is the first factor."""
        source = scan(text)
        _, right_node = parse_sides(source)
        left_expression = Expression("1", Column(factor or "1"), tuple(left_columns))
        if not responses and right_node.type != "ONE":
            raise source.error(
                "The distances are given, so responses are not used.",
                right_node.origin.start,
                right_node.origin.end,
                hint="Write 1 on the right side.",
            )
        response_expressions: dict[str, Expression] = {}
        response_terms: list[tuple[str, ...]] = []
        if responses:
            response_expressions, response_terms = expand_right_side(
                source, right_node, table, functions, left_expression, exclude
            )
        all_expressions = expressions | response_expressions
        response = _class_expression(factor, all_expressions, first)
        return ParsedFormula(text, response, all_expressions, [*terms, *response_terms], tuple(exclude))

    design_rows = read_rows(
        text, data, weights=weights, functions=functions, in_memory=in_memory, parser=parse_design
    )
    return _apply_sum_contrasts(design_rows, terms, labels, first)


def _class_expression(factor: str | None, expressions: Mapping[str, Expression], table: Table) -> Expression:
    """Return the expression of the classes: a factor, or a constant for a model without factors.

    The constant is a power of a numeric column that the model reads, because classes are computed from
    columns.
    """
    columns = [name for expr in expressions.values() for name in expr.columns]
    numeric = (name for name in columns if table.column_type(name) in ("numeric", "boolean"))
    if factor is None and (name := next(numeric, None)) is not None:
        return expression(f"I({quote(name)} ** 0)", frozenset())
    name = factor or columns[0]
    return Expression(quote(name), Column(name), (name,))


def _table_for_column_types(data: Any) -> Table:
    """Return a table with the column types of the data: all rows, or the first chunk of a source."""
    source = None if isinstance(data, Table) else source_of(data)
    if source is None:
        return data if isinstance(data, Table) else Table(data, is_stored=True)
    if isinstance(source, DistributedSource):
        return Table(source.meta, is_chunk=True, is_training=True)
    return first_table(source)


def _parse_left_side(
    source: ScannedFormula, node: Node, table: Table, functions: Functions
) -> tuple[list[tuple[str, ...]], dict[str, Expression], dict[str, str]]:
    """Parse the left side of a formula.

    Parameters
    ----------
    source : ScannedFormula
    node : Node
        The left side.
    table : Table
        Table from which the kinds of columns are read.
    functions : mapping of str to callable

    Returns
    -------
    terms : list of tuple of str
        Codes of the factors of each term, lower orders first.
    factors : dict of str to Expression
        The factors of these terms by code; categorical ones are calls of ``C()``.
    labels : dict of str to str
        Names of the factors, by code.
    """
    factors: dict[str, Expression] = {}
    labels: dict[str, str] = {}
    is_single_factor = node.type == "PYTHON_EXPR"

    def leaf(leaf_node: Node) -> Terms:
        """Return a factor as a term, and record it.

        It is coded by ``C()`` if it is not numeric or the only factor of the side.
        """
        if leaf_node.token.extra == ".":
            raise source.error(
                "`.` is only allowed on the right side.",
                leaf_node.origin.start,
                leaf_node.origin.end,
                hint="Name the factors of the model.",
            )
        factor = read_leaf(source, leaf_node, table, functions)
        label = factor.label
        root = factor.root
        if isinstance(root, Column):
            if is_single_factor or table.column_type(root.name) != "numeric":
                factor = expression(f"C({factor.code})", frozenset(functions))
        elif factor.category is not None:
            # A contrast of the user would change the hypotheses of type III tests.
            factor = expression(f"C({quote(factor.columns[0])})", frozenset(functions))
        factors[factor.code] = factor
        labels[factor.code] = label
        return {frozenset({factor.code}): (factor.code,)}

    expanded = Expansion(source, leaf).expand(node)
    if expanded.intercept is False:
        raise source.error(
            "The model always has an intercept.",
            node.origin.start,
            node.origin.end,
            hint="Leave out the 0 or - 1.",
        )
    terms = sorted(expanded.terms.values(), key=len)
    used_factors = {code: factors[code] for term in terms for code in term}
    return terms, used_factors, labels


def _apply_sum_contrasts(
    design_rows: DesignRows, terms: Sequence[tuple[str, ...]], labels: Mapping[str, str], first: Table
) -> tuple[DesignRows, list[ModelTerm]]:
    """Code the factors by sum-to-zero contrasts, and find the columns of each term.

    The last level is -1 in each column. Codings with a column for each level are kept. Raises FormulaError if
    a response is categorical.

    Parameters
    ----------
    design_rows : DesignRows
    terms : sequence of tuple of str
        Codes of the factors of each term.
    labels : mapping of str to str
        Names of the factors, by code.
    first : Table
        Table from which the types of columns are read.

    Returns
    -------
    design_rows : DesignRows
    terms : list of ModelTerm
    """
    spec = design_rows.design.spec
    if spec is None:
        # All terms and responses are plain columns.
        return design_rows, [
            ModelTerm(labels[code], frozenset([code]), (j,), ()) for j, (code,) in enumerate(terms)
        ]
    categorical_codes = {factor.code for factor in spec.factors if factor.levels is not None}
    coded = {pair for factor_codings in spec.products for pair in factor_codings if pair[1] >= 0}
    codings = list(spec.codings)
    for factor, coding_index in coded:
        levels = spec.factors[factor].levels or ()
        if codings[coding_index].width == len(levels) - 1:
            contrasts = np.vstack([np.eye(len(levels) - 1), -np.ones(len(levels) - 1)])
            codings[coding_index] = Coding(None, tuple(map(tuple, contrasts.tolist())))
    summed_spec = replace(spec, codings=tuple(codings))
    columns_of: list[list[int]] = [[] for _ in terms]
    names = list(design_rows.design.terms)
    term_index = 0
    for column_slice, factor_codings in summed_spec.products_with_columns():
        codes = {spec.factors[factor].code for factor, _ in factor_codings}
        # Without the terms that it contains, a term has several products, all of its own factors.
        while term_index < len(terms) and not codes <= set(terms[term_index]):
            term_index += 1
        if term_index < len(terms):
            columns_of[term_index].extend(range(column_slice.start, column_slice.stop))
            names[column_slice] = _product_column_names(summed_spec, factor_codings, labels)
        elif any(pair in coded for pair in factor_codings):
            label = ":".join(spec.factors[factor].code for factor, _ in factor_codings)
            hint = (
                f"Exclude it from the right side, for example by `. - {label}`, or make it a factor on the "
                "left."
            )
            if not categorical_codes.intersection(labels):
                hint = (
                    "Factors belong on the left and responses on the right, or in cbind() on the left like "
                    "in R: swap the sides of the formula."
                )
            raise FormulaError(
                f"The response {label!r} is categorical, not numeric.", hint=hint, columns=(label,)
            )
    model_terms = [
        ModelTerm(
            ":".join(labels[code] for code in term),
            frozenset(term),
            tuple(columns),
            tuple(code for code in term if code in categorical_codes),
        )
        for term, columns in zip(terms, columns_of, strict=True)
    ]
    design = replace(design_rows.design, spec=summed_spec, terms=tuple(names))
    return replace(
        design_rows, design=design, rows=design_rows.rows.with_response_design(design)
    ), model_terms


def _product_column_names(
    spec: Spec, factor_codings: Sequence[tuple[int, int]], labels: Mapping[str, str]
) -> list[str]:
    """Return the names of the columns of a product of factors, such as ``a[S.low]:x``.

    The columns of the first factor run fastest.

    Parameters
    ----------
    spec : Spec
    factor_codings : sequence of (int, int)
        Factors and codings of the product.
    labels : mapping of str to str
        Names of the factors, by code.

    Returns
    -------
    list of str
    """
    names_by_factor = []
    for factor, coding in factor_codings:
        label = labels[spec.factors[factor].code]
        factor_width = spec.factors[factor].width
        if coding < 0:
            names_by_factor.append(
                [label] if factor_width == 1 else [f"{label}[{j}]" for j in range(factor_width)]
            )
            continue
        levels = spec.factors[factor].levels or ()
        width = spec.codings[coding].width
        mark = "S." if width < len(levels) else ""
        names_by_factor.append([f"{label}[{mark}{level}]" for level in levels[:width]])
    return [":".join(reversed(combination)) for combination in product(*reversed(names_by_factor))]


def level_cells(design: Design, codes: Sequence[str]) -> Cells:
    """Return all combinations of levels of some factors, with the values of the design in them.

    Parameters
    ----------
    design : Design
    codes : sequence of str
        Codes of categorical factors.

    Returns
    -------
    Cells
        Without the intercept.
    """
    spec = design.spec or Spec((), (), (), ())
    position = {factor.code: j for j, factor in enumerate(spec.factors)}
    levels = [spec.factors[position[code]].levels or () for code in codes]
    grid = list(product(*(range(len(factor_codings)) for factor_codings in levels)))
    within = frozenset(codes)
    columns: list[int] = []
    values: list[Floats] = []
    for column_slice, factor_codings in spec.products_with_columns():
        factors = [spec.factors[factor].code for factor, _ in factor_codings]
        if factors and within.issuperset(factors):
            block = np.ones((len(grid), 1))
            for code, (_, coding) in zip(factors, factor_codings, strict=True):
                code_index = list(codes).index(code)
                rows = contrast_matrix(spec.codings[coding], len(levels[code_index]))[
                    [cell[code_index] for cell in grid]
                ]
                # The first factor runs fastest.
                block = (rows[:, :, None] * block[:, None, :]).reshape(len(grid), -1)
            columns.extend(range(column_slice.start, column_slice.stop))
            values.append(block)
    labels = [tuple(levels[i][code_index] for i, code_index in enumerate(cell)) for cell in grid]
    together = np.hstack(values) if values else np.zeros((len(grid), 0))
    return Cells(labels, tuple(columns), together)


def contrast_matrix(coding: Coding, levels: int) -> Floats:
    """Return the contrast matrix (levels, width) of a coding."""
    if coding.picks is not None:
        return np.eye(levels)[:, list(coding.picks)]
    return np.asarray(coding.matrix, dtype=np.float64)


def parse_within_terms(design: str, table: Table) -> list[tuple[str, ...]]:
    """Parse the terms of a within-subject design, as tuples of column names, lower orders first.

    A ``.`` stands for all columns of the table. Raises FormulaError if the text is not valid.

    Examples
    --------
    >>> parse_within_terms("~ time * drug", Table({"time": [1, 1, 2, 2], "drug": ["a", "b"] * 2}))
    [('time',), ('drug',), ('time', 'drug')]
    """
    if not isinstance(design, str):
        raise FormulaError(
            f"design= is of type {type(design).__name__}.",
            hint=(
                f"Write a formula in the columns of within=, such as {' * '.join(map(quote, table.names))!r}."
            ),
        )
    source = scan(f"responses ~ {design.strip().removeprefix('~')}")

    def leaf(leaf_node: Node) -> Terms:
        """Return the term of a column name, or the terms of all columns for a `.`."""
        if leaf_node.token.extra == ".":
            return {frozenset({name}): (name,) for name in table.names}
        factor = read_leaf(source, leaf_node, table, {})
        if not isinstance(factor.root, Column):
            start = leaf_node.origin.start
            end = leaf_node.origin.end
            raise source.error(
                "Within-subject factors must be plain columns.", start, end, hint="Name a column."
            )
        return {frozenset({factor.root.name}): (factor.root.name,)}

    left_node, right_node = parse_sides(source)
    if left_node.type != "PYTHON_EXPR":
        raise source.error(
            "design= must not have a left side.",
            left_node.origin.start,
            left_node.origin.end,
            hint="Remove it.",
        )
    terms = Expansion(source, leaf).expand(right_node).terms
    if not terms:
        raise FormulaError(f"design={design[:80]!r} has no term.", hint="Name a column of within=.")
    return sorted(terms.values(), key=len)


PATSY_PARSE_ERRORS = (
    AssertionError,
    AttributeError,
    IndexError,
    RecursionError,
    ValueError,
    ZeroDivisionError,
)
"""Errors of patsy for equations that it cannot parse, in addition to PatsyError."""


def parse_equations(text: str, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Parse equations in coefficients.

    The language is patsy's, like in statsmodels: names, numbers, `+ - * / ( )`, `=` and commas. An expression
    without `=` is zero under the hypothesis. Names may contain any characters.

    Parameters
    ----------
    text : str
        Equations that are separated by commas.
    names : sequence of str
        Names of the k coefficients.

    Returns
    -------
    matrix : (r, k) float array
        Left sides of the r equations: ``matrix @ coefficients = right_side``.
    right_side : (r,) float array

    Raises
    ------
    FormulaError
        The text cannot be parsed, is longer than `MAX_TEXT`, or contains numbers that are not finite.

    Examples
    --------
    >>> parse_equations("a = b, 2 * c = 1", ["a", "b", "c"])
    (array([[ 1., -1.,  0.],
           [ 0.,  0.,  2.]]), array([0., 1.]))
    """
    from patsy import DesignInfo, PatsyError

    if len(text) > MAX_TEXT:
        raise FormulaError(
            f"The hypothesis has {len(text):,} characters.", hint=f"Write {MAX_TEXT:,} characters or fewer."
        )
    try:
        with np.errstate(all="ignore"):
            constraint = DesignInfo(list(names)).linear_constraint(text)
    except (PatsyError, *PATSY_PARSE_ERRORS) as error:
        origin = getattr(error, "origin", None)
        location = "" if origin is None else f" at {text[origin.start :][:40]!r}"
        reason = error.message if isinstance(error, PatsyError) else type(error).__name__
        raise FormulaError(
            f"The hypothesis {text[:80]!r} cannot be read{location} ({reason}).",
            hint=(
                f"Write equations in the coefficients, such as '{names[-1]} = 0', with commas between them."
            ),
        ) from None
    coefs, values = (np.asarray(side, dtype=np.float64) for side in (constraint.coefs, constraint.constants))
    if not (np.isfinite(coefs).all() and np.isfinite(values).all()):
        raise FormulaError(
            f"The hypothesis {text[:80]!r} divides by zero or contains a number that is out of range.",
            hint="Write finite numbers.",
        )
    return coefs, values[:, 0]
