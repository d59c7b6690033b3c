"""Parse a formula (`parse_formula`) and learn its `Design` from a table (`learn_design`).

The language is patsy's with R's ``.``; patsy parses it and codes categories by its contrasts. A factor is
never evaluated as Python: see `discrim.formula.grammar`.

- There is always an intercept, but it is not a column: categories get treatment coding, and the rule has the
  constant. ``- 1`` and ``+ 0`` change nothing and cause a warning.
- Columns have the order of the terms in the formula.
- A row with a missing value in any column that is read becomes a row of NaN, and its code is -1 if the
  response is missing or the weight is zero. Levels and transformations are learnt from the complete rows
  whose code is not -1. A model that uses incomplete rows learns the levels of a factor from all rows that
  have a code and the columns of the factor.
- If every term is one numeric column, the design is `plain`, and rows are copied unchanged.

A term is a tuple of the texts of its factors. Two terms are equal if their factors are, in any order. The
tree is traversed with a stack instead of recursion, to allow sums of thousands of terms, and the size of a
product is checked before it is expanded. Within a product, a power or a nesting, main effects come before
interactions, like in R; a sum keeps its order.

*Covariates.* In ``y ~ x1 + x2 | age`` the columns of the covariates are the first ones of the design. The
``.`` excludes them, and a column cannot be a predictor and a covariate.

`label_columns_of_formula` and `label_columns_of_design` determine which columns contain labels before a table
is read from text, because these columns must not be converted to numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np

from discrim.core.numerics.arrays import Codes, Mask
from discrim.data.table import Table
from discrim.data.values import (
    Scalar,
    are_numbers,
    check_not_numbers_as_text,
    coded_levels,
    factorize,
    find_levels,
    warn_if_labels_name_rows,
)
from discrim.errors import DataError, FormulaError, FormulaWarning, warn_user
from discrim.formula import grammar
from discrim.formula.design import Coding, Design, Factor, Product, Spec
from discrim.formula.factors import (
    CallStates,
    Categories,
    Functions,
    RowRange,
    evaluate,
    learning_rows,
)
from discrim.formula.grammar import Column, Contrast, Expression, ScannedFormula
from discrim.formula.response import classes_and_codes

Terms = dict[frozenset[str], tuple[str, ...]]
"""Terms in order, as texts of their factors. The key is the set of the factors, so that b:a equals a:b."""


class Node(Protocol):
    """A node of patsy's parse tree.

    Attributes
    ----------
    type : str
        Operator, such as "+", or type of a leaf: "PYTHON_EXPR" (a factor), "ZERO", "ONE" or "NUMBER".
    args : sequence of Node
        Operands; empty for a leaf.
    token : object
        Token of a leaf, with its text in `extra`.
    origin : object
        Range of the node in the code, with the attributes `start` and `end`.
    """

    type: Any
    args: Sequence[Any]
    token: Any
    origin: Any


@dataclass(slots=True)
class TermSum:
    """Terms in order, and whether the formula has an intercept (None: not mentioned)."""

    terms: Terms = field(default_factory=dict)
    intercept: bool | None = None


@dataclass(slots=True)
class Expansion:
    """Expansion of one side of a formula to its terms.

    Attributes
    ----------
    source : ScannedFormula
        The formula, for errors.
    expand_factor : callable
        Function that returns the terms of a leaf, which is a factor or the ``.``.
    ineffective_parts : list of str
        Parts of the formula that change nothing, which `expand` collects for a warning.
    """

    source: ScannedFormula
    expand_factor: Callable[[Node], Terms]
    ineffective_parts: list[str] = field(default_factory=list)

    def expand(self, root: Node) -> TermSum:
        """Expand a tree to its terms, without recursion; append parts without effect to `ineffective_parts`.

        Raises FormulaError for an invalid operator, and for more terms or factors than the limits in
        `grammar`.
        """
        values: list[TermSum] = []
        # The flag marks nodes whose operands have been expanded.
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, is_visited = stack.pop()
            if is_visited:
                n_operands = 1 if node.type == "**" else len(node.args)
                operands = values[len(values) - n_operands :]
                del values[len(values) - n_operands :]
                values.append(self._apply_operator(node, operands))
            elif node.args:
                stack.append((node, True))
                n_operands = 1 if node.type == "**" else len(node.args)
                stack.extend((child, False) for child in reversed(node.args[:n_operands]))
            else:
                values.append(self._expand_leaf(node))
        return values[0]

    def _error(self, message: str, node: Node, *, hint: str) -> FormulaError:
        """Return an error that points to a node."""
        return self.source.error(message, node.origin.start, node.origin.end, hint=hint)

    def _expand_leaf(self, node: Node) -> TermSum:
        """Return the terms of a leaf of the tree: a factor, the ``.``, or 0 or 1 for the intercept."""
        match node.type:
            case "ZERO":
                return TermSum(intercept=False)
            case "ONE":
                return TermSum(intercept=True)
            case "NUMBER":
                raise self._error(
                    "A number other than 0 and 1 can only be a power.",
                    node,
                    hint="Write it inside I() to compute with it.",
                )
            case _:
                return TermSum(self.expand_factor(node))

    def _apply_operator(self, node: Node, operands: list[TermSum]) -> TermSum:
        """Return the terms of an operator node from the terms of its operands, in order.

        For ``+`` and ``-`` the first operand is changed in place.
        """
        if len(operands) == 1 and node.type in {"+", "-"}:
            return self._apply_sign(node, operands[0])
        first_operand = operands[0]
        if node.type == "+":
            return _add_terms(first_operand, operands[1])
        if node.type == "-":
            for key, term in operands[1].terms.items():
                if first_operand.terms.pop(key, None) is None:
                    self.ineffective_parts.append(":".join(term))
            if operands[1].intercept is not None:
                first_operand.intercept = not operands[1].intercept
            return first_operand
        for operand in operands:
            if operand.intercept is not None:
                raise self._error(
                    "0 and 1 stand for the intercept and cannot be multiplied or nested.",
                    node,
                    hint="Remove them here.",
                )
        match node.type:
            case ":":
                return TermSum(self._products(node, first_operand.terms, operands[1].terms))
            case "*":
                right = operands[1].terms
                return _merge_by_degree(
                    first_operand.terms, right, self._products(node, first_operand.terms, right)
                )
            case "/":
                all_factors = tuple(
                    dict.fromkeys(factor for term in first_operand.terms.values() for factor in term)
                )
                inside = self._products(node, {frozenset(all_factors): all_factors}, operands[1].terms)
                return _merge_by_degree(first_operand.terms, inside)
            case "**":
                return self._power(node, first_operand)
            case _:
                raise self._error(
                    "A formula has one ~, between the response and the predictors.",
                    node,
                    hint="Remove the others.",
                )

    def _apply_sign(self, node: Node, operand: TermSum) -> TermSum:
        """Apply a unary plus or minus.

        A plus changes nothing. A minus is only allowed before 0 or 1, and negates the intercept: ``-1`` is
        ``0``. Before other terms it is a FormulaError.
        """
        if node.type == "+":
            return operand
        if operand.terms or operand.intercept is None:
            raise self._error(
                "A minus sign needs a term on its left.", node, hint="Write one, or leave the minus out."
            )
        return TermSum(intercept=not operand.intercept)

    def _products(self, node: Node, left_terms: Terms, right_terms: Terms) -> Terms:
        """Return the interactions of all pairs of a left and a right term, the left term varying slowest.

        Raises a FormulaError at `node` for more than `MAX_TERMS` terms.
        """
        if len(left_terms) * len(right_terms) > grammar.MAX_TERMS:
            raise self._error(
                f"This has more than {grammar.MAX_TERMS:,} terms.", node, hint="Remove some terms."
            )
        return self._merge_groups(node, ((a, b) for a in left_terms.values() for b in right_terms.values()))

    def _merge_groups(self, node: Node, groups: Iterable[Sequence[tuple[str, ...]]]) -> Terms:
        """Merge each group of terms into one interaction, without duplicate factors or interactions.

        Parameters
        ----------
        node : Node
            Operator of the interactions, to which an error points.
        groups : iterable of sequences of terms
            Each term is a tuple of its factors: ``a:b`` and ``b:c`` become ``a:b:c``.

        Returns
        -------
        Terms
        """
        terms: Terms = {}
        for group in groups:
            term = tuple(dict.fromkeys(factor for factors in group for factor in factors))
            if len(term) > grammar.MAX_EXPONENT:
                raise self._error(
                    f"An interaction can have at most {grammar.MAX_EXPONENT} factors.",
                    node,
                    hint="Leave out some.",
                )
            terms.setdefault(frozenset(term), term)
        return terms

    def _power(self, node: Node, base: TermSum) -> TermSum:
        """Return the terms of ``base ** power``: all interactions of up to `power` terms of the base.

        The power is the second operand of `node`. Raises FormulaError if it is not an integer from 1 to
        `MAX_EXPONENT`.
        """
        text = str(node.args[1].token.extra) if node.args[1].token is not None else ""
        power = int(text) if text.isdecimal() and len(text) < 9 else 0
        if not 1 <= power <= grammar.MAX_EXPONENT:
            raise self._error(
                f"A power in a formula must be an integer from 1 to {grammar.MAX_EXPONENT}.",
                node.args[1],
                hint="Write I(x**2) for the power of a column.",
            )
        if len(base.terms) == 1 and power > 1:
            name = ":".join(next(iter(base.terms.values())))
            self.ineffective_parts.append(f"** {power} (write I({name} ** {power}) for a power of {name})")
        if sum(comb(len(base.terms), size) for size in range(1, power + 1)) > grammar.MAX_TERMS:
            raise self._error(
                f"Power {power} of {len(base.terms)} terms has more than {grammar.MAX_TERMS:,} terms.",
                node,
                hint="Write a smaller power.",
            )
        groups = (g for size in range(1, power + 1) for g in combinations(base.terms.values(), size))
        return _merge_by_degree(self._merge_groups(node, groups))


def _add_terms(total: TermSum, summand: TermSum) -> TermSum:
    """Add the terms of `summand` to `total` in place; return `total`."""
    # In place, because a copy at every + would make the cost quadratic.
    for key, term in summand.terms.items():
        total.terms.setdefault(key, term)
    total.intercept = total.intercept if summand.intercept is None else summand.intercept
    return total


def _merge_by_degree(*groups: Terms) -> TermSum:
    """Merge groups of terms, without duplicates and with terms of fewer factors first."""
    terms: Terms = {}
    for key, term in (pair for group in groups for pair in group.items()):
        terms.setdefault(key, term)
    return TermSum(dict(sorted(terms.items(), key=lambda item: len(item[0]))))


def read_leaf(source: ScannedFormula, node: Node, table: Table, functions: Functions) -> Expression:
    """Convert a leaf of the tree to the expression of its factor.

    Parameters
    ----------
    source : ScannedFormula
        The formula that contains the factor.
    node : Node
        The leaf of the factor.
    table : Table
        Table that must have the columns of the factor. Its values are not read.
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        The factor is not allowed, or the table lacks one of its columns.
    """
    start = node.origin.start
    end = node.origin.end
    factor = grammar.read_one_factor(source, start, end, str(node.token.extra), frozenset(functions))
    for name in factor.columns:
        try:
            table.position(name)
        except DataError as error:
            name_range = source.find(name, start, end)
            raise source.error(error.message, *name_range, hint=error.hint, columns=(name,)) from None
    return factor


def read_response(source: ScannedFormula, node: Node, table: Table, functions: Functions) -> Expression:
    """Read the left side, which has to be one response.

    Parameters
    ----------
    source : ScannedFormula
    node : Node
        The left side.
    table : Table
        Only its column names are used.
    functions : mapping of str to callable
        Functions of the user.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        The side is a ``.``, has several terms, or is not allowed as a factor.
    """
    start = node.origin.start
    end = node.origin.end
    if node.type != "PYTHON_EXPR":
        raise source.error(
            "The left side must be one response.",
            start,
            end,
            hint="Write a column, or a function of columns such as C(y).",
        )
    if node.token.extra == ".":
        raise source.error(
            "`.` stands for the predictors.", start, end, hint="Name the column of the response."
        )
    return read_leaf(source, node, table, functions)


def expand_right_side(
    source: ScannedFormula,
    node: Node,
    table: Table,
    functions: Functions,
    response: Expression,
    exclude: Sequence[str],
) -> tuple[dict[str, Expression], list[tuple[str, ...]]]:
    """Read the right side of a formula, and expand it to terms.

    Parameters
    ----------
    source : ScannedFormula
    node : Node
        The right side.
    table : Table
        Only its column names are used.
    functions : mapping of str to callable
        Functions of the user.
    response : Expression
        Its columns must not be predictors.
    exclude : sequence of str
        Further columns that the ``.`` excludes.

    Returns
    -------
    factors : dict of str to Expression
        The factors by text.
    terms : list of tuple of str
        Texts of the factors of each term, in order.

    Raises
    ------
    FormulaError
        The side lacks a term, a term is not allowed, or a column of the response is a predictor.

    Warns
    -----
    FormulaWarning
        A part of the side has no effect, or removes the intercept.
    """
    excluded_columns = {*response.columns, *exclude}
    factor_by_code: dict[str, Expression] = {}

    def leaf(leaf_node: Node) -> Terms:
        """Return the terms of a factor or of the ``.``, and record their factors."""
        if leaf_node.token.extra == ".":
            dot_columns = [name for name in table.names if name not in excluded_columns]
            codes = list(map(grammar.quote, dot_columns))
            factors = [
                Expression(code, Column(name), (name,), is_from_dot=True)
                for code, name in zip(codes, dot_columns, strict=True)
            ]
        else:
            factors = [read_leaf(source, leaf_node, table, functions)]
        factor_by_code.update((factor.code, factor) for factor in factors)
        return {frozenset({factor.code}): (factor.code,) for factor in factors}

    expansion = Expansion(source, leaf)
    expanded = expansion.expand(node)
    idle = [
        idle_text
        for idle_text in expansion.ineffective_parts
        if not (
            idle_text in factor_by_code and excluded_columns.issuperset(factor_by_code[idle_text].columns)
        )
    ]
    for idle_text in idle:
        warn_user(
            f"In the formula {_shorten_formula(source.text)}, {idle_text!r} changes nothing.", FormulaWarning
        )
    if expanded.intercept is False:
        warn_user(
            "Removing the intercept has no effect: classifiers always have a constant, and categories are "
            "coded accordingly.",
            FormulaWarning,
        )
    terms = list(expanded.terms.values())
    if not terms:
        raise source.error(
            "The right side has no predictor.", node.origin.start, node.origin.end, hint="Add a predictor."
        )
    used_factors = {code: factor_by_code[code] for term in terms for code in term}
    for code, expr in used_factors.items():
        for name in expr.columns:
            if name in response.columns:
                raise FormulaError(
                    f"The response column {name!r} is also a predictor, in {code!r}.",
                    hint=f"Remove it from the right side of {_shorten_formula(source.text)}.",
                    columns=(name,),
                )
    return used_factors, terms


def _shorten_formula(text: str) -> str:
    """Quote the text of a formula for a message; long text is cut after 77 characters."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


class FullDataSummary(NamedTuple):
    """Row count and training columns of the full data, used while a chunk is read.

    Attributes
    ----------
    rows : int
        Number of rows of the full data.
    learning : Table or None
        Columns from which transforms learn, of all complete rows; None without such transforms.
    """

    rows: int
    learning: Table | None


class ParsedFormula(NamedTuple):
    """A parsed formula for a table with certain column names.

    Attributes
    ----------
    formula : str
        The formula as typed.
    response : Expression
        The left side.
    expressions : dict of str to Expression
        Factors of the right side by text.
    terms : list of tuple of str
        Texts of the factors of each term.
    exclude : tuple of str
        Columns that the ``.`` excludes, such as the weights. A complete row has values in them, too.
    n_covariate_terms : int
        Number of covariate terms, which are the first of the terms.
    """

    formula: str
    response: Expression
    expressions: dict[str, Expression]
    terms: list[tuple[str, ...]]
    exclude: tuple[str, ...]
    n_covariate_terms: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the right side reads, in order."""
        return tuple(dict.fromkeys(name for expr in self.expressions.values() for name in expr.columns))

    @property
    def other_columns(self) -> tuple[str, ...]:
        """Columns of the response and excluded columns, such as the weights: complete rows have values."""
        return (*self.response.columns, *self.exclude)

    def is_plain(self, table: Table) -> bool:
        """Return whether every term is a numeric or boolean column."""
        return all(len(term) == 1 for term in self.terms) and all(
            isinstance(expr.root, Column) and table.column_type(expr.root.name) in {"numeric", "boolean"}
            for expr in self.expressions.values()
        )


FormulaParser = Callable[[str, Table, Functions, Sequence[str]], ParsedFormula]
"""A function with the parameters of `parse_formula`."""


def parse_formula(
    formula: str, table: Table, functions: Functions, exclude: Sequence[str] = ()
) -> ParsedFormula:
    """Parse a formula ``response ~ terms`` for the columns of a table.

    Parameters
    ----------
    formula : str
    table : Table
        Only its column names and their types are used.
    functions : mapping of str to callable
        Functions of the user that the formula may call.
    exclude : sequence of str
        Columns that the ``.`` excludes, such as the weights.

    Returns
    -------
    ParsedFormula

    Raises
    ------
    FormulaError
        The formula cannot be parsed, is not allowed, or names columns that the table does not have.
    """
    source = grammar.scan(formula)
    left_node, right_node = parse_sides(source)
    response = read_response(source, left_node, table, functions)
    expressions, terms = expand_right_side(source, right_node, table, functions, response, exclude)
    return ParsedFormula(formula, response, expressions, terms, tuple(exclude))


def parse_adjusted_formula(
    formula: str, table: Table, functions: Functions, exclude: Sequence[str] = ()
) -> ParsedFormula:
    """Parse a formula that may have covariates, ``response ~ terms | covariates``.

    Parameters
    ----------
    formula : str
    table : Table
        Only its column names and their types are used.
    functions : mapping of str to callable
        Functions of the user.
    exclude : sequence of str
        Columns that the ``.`` excludes, such as the weights.

    Returns
    -------
    ParsedFormula
        The terms of the covariates come first.

    Raises
    ------
    FormulaError
        The formula cannot be parsed, or a column is a predictor and a covariate.
    """
    source = grammar.scan(formula)
    if source.bar < 0:
        return parse_formula(formula, table, functions, exclude)
    left_node, right_node, covariate_node = parse_sides_and_covariates(source)
    response = read_response(source, left_node, table, functions)
    for expr in _iter_tree(covariate_node):
        if expr.type == "PYTHON_EXPR" and expr.token.extra == ".":
            start = expr.origin.start
            end = expr.origin.end
            raise source.error("`.` stands for the predictors.", start, end, hint="Name the covariates.")
    covariate_factors, covariate_terms = expand_right_side(
        source, covariate_node, table, functions, response, exclude
    )
    covariate_columns = dict.fromkeys(name for expr in covariate_factors.values() for name in expr.columns)
    expressions, terms = expand_right_side(
        source, right_node, table, functions, response, (*exclude, *covariate_columns)
    )
    for code, factor in expressions.items():
        for name in set(factor.columns) & set(covariate_columns):
            raise FormulaError(
                f"The covariate {name!r} is also a predictor, in {code!r}.",
                hint=f"Remove it from one side of the `|` in {_shorten_formula(formula)}.",
                columns=(name,),
            )
    return ParsedFormula(
        formula,
        response,
        covariate_factors | expressions,
        [*covariate_terms, *terms],
        tuple(exclude),
        len(covariate_terms),
    )


def learn_design(
    parsed: ParsedFormula,
    table: Table,
    functions: Functions,
    levels: Sequence[Any] | None = None,
    full_data: FullDataSummary | None = None,
    *,
    positive: Mask | None = None,
    uses_incomplete_rows: bool = False,
) -> tuple[Design, Codes]:
    """Learn the levels and transforms of a parsed formula from a table.

    Functions of the user are called with columns as Series and return one value, or one row of a matrix, for
    each row.

    Parameters
    ----------
    parsed : ParsedFormula
    table : Table
        The n rows, or the rows of a chunk.
    functions : mapping of str to callable
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    full_data : FullDataSummary, optional
        Summary of the full data, if the table is a chunk of it.
    positive : (n,) bool, optional
        Rows with a positive weight. The others count as rows without a label.
    uses_incomplete_rows : bool
        Whether the fit uses rows with missing values; levels are then learnt from them, too.

    Returns
    -------
    design : Design
    codes : (n,) int
        Class of each row; -1 if the response is missing or the weight is not positive.

    Raises
    ------
    DataError
        The table contains values that the formula cannot use.

    Examples
    --------
    >>> table = Table({"y": ["b", "a", "b"], "x": [1.0, 2.0, 4.0], "z": [0, 1, 0]})
    >>> design, codes = learn_design(parse_formula("y ~ . - z", table, {}), table, {})
    >>> design.terms, design.levels, codes
    (('x',), ('a', 'b'), array([1, 0, 1]))
    """
    response = parsed.response
    expressions = parsed.expressions
    columns = parsed.columns
    rows = None if full_data is None else full_data.rows
    classes, codes, type_of_labels = classes_and_codes(
        response, table, functions, levels, rows=rows, used=positive
    )
    names = columns
    spec = None
    if not parsed.is_plain(table):
        used = codes >= 0
        names, spec = learn_spec(
            expressions, parsed.terms, columns, parsed.other_columns, table, functions, full_data,
            used=None if used.all() else used, uses_incomplete_rows=uses_incomplete_rows,
        )  # fmt: skip
    function_names = dict.fromkeys(
        name for expr in (response, *expressions.values()) for name in expr.functions
    )
    design_fields = (
        response.label,
        response.columns,
        columns,
        names,
        classes,
        spec is None,
        spec,
        tuple(function_names),
    )
    boolean_columns = tuple(name for name in columns if spec is None and table.column_type(name) == "boolean")
    covariate_names = _covariate_columns(parsed, names, spec)
    return Design(
        parsed.formula,
        *design_fields,
        labels=type_of_labels,
        plain_booleans=boolean_columns,
        covariates=covariate_names,
    ), codes


def _covariate_columns(parsed: ParsedFormula, names: tuple[str, ...], spec: Spec | None) -> tuple[str, ...]:
    """Return the names of the columns of the covariates, which are the first ones of the design.

    Parameters
    ----------
    parsed : ParsedFormula
    names : tuple of str
        Names of all columns of the design.
    spec : Spec or None
        None for a plain design.

    Returns
    -------
    tuple of str
    """
    if spec is None:
        return names[: parsed.n_covariate_terms]
    factors = {code for term in parsed.terms[: parsed.n_covariate_terms] for code in term}
    return tuple(
        name
        for column_slice, factor_codings in spec.products_with_columns()
        if factors.issuperset(spec.factors[factor].code for factor, _ in factor_codings)
        for name in names[column_slice]
    )


def parse_sides(source: ScannedFormula) -> tuple[Node, Node]:
    """Return the left and right side of the tree of patsy.

    Raises FormulaError if there are covariates, or the formula is not of the form ``response ~ terms``.
    """
    if source.bar >= 0:
        raise source.error(
            "Covariates after a `|` are only supported by lda() and moments().",
            source.bar,
            source.bar + 1,
            hint="Fit lda(), or replace | by + to use the covariates as predictors.",
        )
    return _parse_by_patsy(source, source.code)


def parse_sides_and_covariates(source: ScannedFormula) -> tuple[Node, Node, Node]:
    """Return the left side, the predictors and the covariates of a formula with a ``|``.

    Raises FormulaError if one of them is missing or cannot be parsed.
    """
    tilde = source.code.index("~") + 1
    bar = source.bar
    for begin, end in ((tilde, bar), (bar + 1, len(source.code))):
        if not source.code[begin:end].strip():
            raise source.error(
                "The `|` stands between predictors and covariates.",
                bar,
                bar + 1,
                hint="Write predictors and covariates.",
            )
    left_node, right_node = _parse_by_patsy(source, source.code[:bar])
    # Blanks instead of the predictors keep the positions of the covariates, to which errors point.
    _, covariate_node = _parse_by_patsy(
        source, source.code[:tilde] + " " * (bar + 1 - tilde) + source.code[bar + 1 :]
    )
    return left_node, right_node, covariate_node


def _parse_by_patsy(source: ScannedFormula, code: str) -> tuple[Node, Node]:
    """Parse code with patsy; return the left and the right side, or raise FormulaError."""
    from patsy import PatsyError
    from patsy.parse_formula import parse_formula as parse_by_patsy

    end = len(source.code)
    if "~" not in source.code:
        raise source.error(
            "A formula is 'response ~ terms'; this one has no ~.", 0, max(end, 1), hint="Add the ~."
        )
    try:
        tree = parse_by_patsy(code)
    except PatsyError as error:
        origin = error.origin
        start, stop = (origin.start, origin.end) if origin is not None else (0, end)
        raise source.error(
            f"This cannot be parsed: {error.message.replace('a noun', 'a term')}.",
            start,
            stop,
            hint="Correct the formula.",
        ) from None
    except (AssertionError, IndexError, SyntaxError, AttributeError):
        raise source.error("An operator has no operand.", 0, end, hint="Write a term there.") from None
    if len(tree.args) != 2:
        raise source.error("A formula needs a response on the left of the ~.", 0, end, hint="Add a response.")
    return tree.args[0], tree.args[1]


def learn_spec(
    expressions: Mapping[str, Expression],
    terms: list[tuple[str, ...]],
    columns: tuple[str, ...],
    other_columns: tuple[str, ...],
    table: Table,
    functions: Functions,
    full_data: FullDataSummary | None = None,
    *,
    used: Mask | None = None,
    uses_incomplete_rows: bool = False,
) -> tuple[tuple[str, ...], Spec]:
    """Learn every factor from the complete rows, code the categories, and name the columns of the design.

    Parameters
    ----------
    expressions : mapping of str to Expression
        The factors by text.
    terms : list of tuple of str
        Texts of the factors of each term.
    columns : tuple of str
        Columns that the factors read.
    other_columns : tuple of str
        Other columns in which rows have to be complete.
    table : Table
    functions : mapping of str to callable
        Functions of the user.
    full_data : FullDataSummary, optional
        Summary of the full data, if the table is a chunk of it.
    used : (n,) bool array, optional
        Rows with a class and a positive weight.
    uses_incomplete_rows : bool
        Whether the fit uses incomplete rows. The levels of a factor are then learnt from all used rows
        that have values in the columns of the factor.

    Returns
    -------
    names : tuple of str
        Names of the columns of the design.
    spec : Spec

    Raises
    ------
    FormulaError
        Two columns would have the same name, or there are more than `MAX_COLUMNS`.
    DataError
        No row is complete, or a column has values that the formula cannot use.
    """
    all_rows = RowRange(table, 0, table.nrows, used=used)
    for name in columns:
        if all_rows.column_type(name) == "other":
            all_rows.series(name)
    complete_columns = tuple(name for name in other_columns if name in table.names)
    by_factor = uses_incomplete_rows and not any(expr.stateful for expr in expressions.values())
    rows = all_rows
    if not by_factor:
        rows = learning_rows(all_rows, columns, complete_columns, expressions.values(), functions)
    learnt = {}
    for code, expr in expressions.items():
        learning_table = None if full_data is None or not expr.stateful else full_data.learning
        factor_rows = rows if learning_table is None else RowRange(learning_table, 0, learning_table.nrows)
        if uses_incomplete_rows and not expr.stateful and not _is_number(expr, all_rows):
            factor_rows = learning_rows(all_rows, expr.columns, complete_columns, (expr,), functions)
        learnt[code] = _learn_factor(
            expr, factor_rows, functions, None if full_data is None else full_data.rows
        )
    factors = {code: factor for code, (factor, _) in learnt.items()}
    factor_positions = {code: position for position, code in enumerate(factors)}
    coding_index_by_key: dict[tuple[str, bool, bool], int] = {}
    codings: list[Coding] = []
    products: list[Product] = []
    names: list[str] = []
    for term, full in _choose_codings(terms, factors):
        pairs: list[tuple[int, int]] = []
        labels: list[list[str]] = []
        for code in term:
            label = expressions[code].label
            levels = factors[code].levels
            if levels is None:
                width = factors[code].width
                labels.append([label] if width == 1 else [f"{label}[{j}]" for j in range(width)])
                pairs.append((factor_positions[code], -1))
                continue
            is_constant = len(levels) == 1 and term == (code,)
            if is_constant:
                # A column of ones, which is left out like any constant column.
                coding = Coding((0,), None)
                suffixes = [""]
            else:
                coding, suffixes = _code_categories(levels, learnt[code][1], full[code], code)
            coding_index = coding_index_by_key.setdefault((code, full[code], is_constant), len(codings))
            if coding_index == len(codings):
                codings.append(coding)
            labels.append([label + suffix for suffix in suffixes])
            pairs.append((factor_positions[code], coding_index))
        products.append(tuple(pairs))
        names.extend(":".join(reversed(factor_names)) for factor_names in product(*reversed(labels)))
    duplicates = {name for name, count in Counter(names).items() if count > 1}
    if duplicates:
        raise FormulaError(
            f"Two columns of the design would have the name {min(duplicates)!r}.",
            hint="Rename a column of the table.",
        )
    kinds = tuple(all_rows.column_type(name) for name in columns)
    return tuple(names), Spec(kinds, tuple(factors.values()), tuple(codings), tuple(products))


def _is_number(expr: Expression, rows: RowRange) -> bool:
    """Return whether a factor is a numeric or boolean column itself."""
    return isinstance(expr.root, Column) and rows.column_type(expr.root.name) in {"numeric", "boolean"}


def _learn_factor(
    expr: Expression, rows: RowRange, functions: Functions, n_represented_rows: int | None
) -> tuple[Factor, Contrast | None]:
    """Learn one factor: its width, or its levels and contrast, and its states.

    Parameters
    ----------
    expr : Expression
    rows : RowRange
        Complete rows.
    functions : mapping of str to callable
        Functions of the user.
    n_represented_rows : int or None
        Number of rows of the full data that these rows represent.

    Returns
    -------
    factor : Factor
    contrast : Contrast or None
        Contrast that a ``C()`` names; None for numbers and for treatment coding.
    """
    root = expr.root
    if _is_number(expr, rows):
        return Factor(expr.code, 1, None, ()), None
    description = f"The predictor {expr.label!r}"
    n_rows = n_represented_rows or rows.size
    n_rows_for_refusal = 0 if rows.table.is_chunk else n_rows
    if isinstance(root, Column) and rows.stop - rows.start > N_ROWS_READ_FIRST:
        # Looking up all texts of a long column takes seconds; the first rows usually suffice to refuse it.
        first_rows = rows.first_rows(N_ROWS_READ_FIRST)
        n_first_levels = first_rows.series(root.name).nunique()
        raise_if_too_many_levels(expr, n_first_levels, first_rows, n_rows_for_refusal)
    factorized = rows.codes_and_labels(root.name) if isinstance(root, Column) else None
    if isinstance(root, Column) and factorized is not None:
        is_text = rows.column_type(root.name) == "text"
        n_levels = np.count_nonzero(np.bincount(factorized[0][factorized[0] >= 0]))
        raise_if_too_many_levels(expr, int(n_levels), rows, n_rows_for_refusal)
        # Unlike categories, text declares no levels: a text without a complete row is not one.
        levels, codes = coded_levels(
            *factorized, description, is_declared=not is_text, keep_unused=rows.table.is_chunk and not is_text
        )
        if is_text:
            check_not_numbers_as_text(levels, codes, root.name, lambda: rows.index)
            warn_if_labels_name_rows(len(levels), n_rows, description, expr.code)
        return Factor(expr.code, 0, levels, ()), None
    memory = CallStates()
    value = evaluate(expr, rows, memory, functions)
    if not isinstance(value, Categories):
        width = 1 if value.ndim == 1 else value.shape[1]
        return Factor(expr.code, width, None, tuple(memory.states)), None
    # Rows without a category from a user's function are missing.
    present_values = value.values.dropna() if expr.functions else value.values
    levels, _ = find_levels(present_values, description, value.levels, keep_unused=rows.table.is_chunk)
    return Factor(expr.code, 0, levels, tuple(memory.states)), value.contrast


N_ROWS_READ_FIRST = 2 * grammar.MAX_COLUMNS
"""Number of rows of a longer column of text or categories whose levels are counted first."""

MIN_ROWS_FOR_REFUSAL = 1_000
"""Number of rows from which a factor with almost as many levels is an error, and not only a warning."""

MAX_LEVELS_PER_ROW = 0.9
"""Number of levels of a factor relative to the number of rows above which it has almost as many."""


N_TEXTS_TESTED = 1_000
"""Number of values of a refused text column by which it is decided whether it contains numbers."""


def raise_if_too_many_levels(expr: Expression, n_levels: int, rows: RowRange, n_rows: int = 0) -> None:
    """Raise a FormulaError for a factor that is a column of free text, identifiers or similar.

    Parameters
    ----------
    expr : Expression
        The factor.
    n_levels : int
        Number of its levels that have been found.
    rows : RowRange
        Rows that have been read, or the last ones of them.
    n_rows : int, optional
        Number of rows of the table, if it is known.

    Raises
    ------
    FormulaError
        The factor requires more than `grammar.MAX_COLUMNS` columns, or has more levels than
        `MAX_LEVELS_PER_ROW` times the number of rows, which is at least `MIN_ROWS_FOR_REFUSAL`.
    DataError
        The factor has as many levels, but is a text column most of whose values in `rows` are numbers.
    """
    if n_levels > grammar.MAX_COLUMNS + 1:
        problem = f"has more than {grammar.MAX_COLUMNS:,} different values"
    elif n_rows >= MIN_ROWS_FOR_REFUSAL and n_levels > MAX_LEVELS_PER_ROW * n_rows:
        problem = f"has {n_levels:,} different values in {n_rows:,} rows"
    else:
        return
    if isinstance(expr.root, Column) and rows.column_type(expr.root.name) == "text":
        _raise_if_numbers_as_text(expr.root.name, rows)
    exclusion = f"Exclude it by `. - {expr.code}`" if expr.is_from_dot else "Remove it from the formula"
    raise FormulaError(
        f"The predictor {expr.label!r} {problem}, and each needs a column in the design. It probably "
        "contains free text or names the rows.",
        hint=f"{exclusion}, or merge its values.",
        columns=expr.columns,
    )


def _raise_if_numbers_as_text(name: str, rows: RowRange) -> None:
    """Raise a DataError if most values of a text column are numbers, in the first rows and in all rows."""
    texts = rows.series(name)
    present = texts.notna().to_numpy()
    texts = texts[present]
    if 2 * are_numbers(texts.iloc[:N_TEXTS_TESTED].tolist()).sum() > min(len(texts), N_TEXTS_TESTED):
        codes, levels = factorize(texts)
        check_not_numbers_as_text(levels, codes, name, lambda: rows.index[present])


def _choose_codings(
    terms: list[tuple[str, ...]], factors: Mapping[str, Factor]
) -> list[tuple[tuple[str, ...], dict[str, bool]]]:
    """Split each term into products of factors, and choose which categorical factors get all columns.

    patsy determines which columns are redundant, separately among the terms with the same numeric factors,
    and for terms with few factors first.

    Parameters
    ----------
    terms : list of tuple of str
        Texts of the factors of each term, in any order.
    factors : mapping of str to Factor
        The factors by text.

    Returns
    -------
    list of (tuple of str, dict of str to bool)
        For each product, in the order of the terms: the texts of its factors, and for each categorical factor
        whether all of its levels get a column.

    Raises
    ------
    FormulaError
        The design would have more than `grammar.MAX_COLUMNS` columns.
    """
    from patsy import Term
    from patsy.redundancy import pick_contrasts_for_term

    numeric = {code for code, factor in factors.items() if factor.levels is None}
    used: dict[frozenset[str], set[Any]] = {}
    pick_contrasts_for_term(Term([]), numeric, used.setdefault(frozenset(), set()))
    chosen: dict[tuple[str, ...], list[dict[str, bool]]] = {}
    for term in sorted(terms, key=len):
        bucket = used.setdefault(frozenset(numeric.intersection(term)), set())
        chosen[term] = pick_contrasts_for_term(Term(term), numeric, bucket)
    total = 0
    result = []
    for term in terms:
        for full in chosen[term]:
            product_factors = tuple(code for code in term if code in numeric or code in full)
            total += math.prod(
                factors[code].width if code in numeric else len(factors[code].levels or ()) - (not full[code])
                for code in product_factors
            )
            if total > grammar.MAX_COLUMNS:
                raise FormulaError(
                    f"The design would have more than {grammar.MAX_COLUMNS:,} columns, at the term "
                    f"{':'.join(term)!r}.",
                    hint=f"Exclude factors with many levels, for example by `. - {term[0]}`.",
                )
            result.append((product_factors, full))
    return result


def _code_categories(
    levels: tuple[Scalar, ...], contrast: Contrast | None, full: bool, code: str
) -> tuple[Coding, list[str]]:
    """Return the coding of a categorical factor.

    Parameters
    ----------
    levels : tuple
    contrast : Contrast or None
        Treatment coding if None.
    full : bool
        Whether all levels get columns, because the intercept is not in the span of other terms.
    code : str
        Text of the factor, for messages.

    Returns
    -------
    coding : Coding
    suffixes : list of str
        Suffixes of the names of its columns, such as "[T.b]", or "[b]" if all levels get columns.

    Raises
    ------
    FormulaError
        The reference is not a level, or the contrast cannot be applied to the levels.
    """
    options = dict(contrast.options) if contrast is not None else {}
    if contrast is None or contrast.name == "Treatment":
        if full:
            return Coding(tuple(range(len(levels))), None), [f"[{level}]" for level in levels]
        reference = _reference_position(levels, options.get("reference"), code)
        picks = tuple(j for j in range(len(levels)) if j != reference)
        return Coding(picks, None), [f"[T.{levels[j]}]" for j in picks]
    if len(levels) > grammar.MAX_BASIS:
        raise FormulaError(
            f"{code} has {len(levels):,} levels.",
            hint=f"Merge some levels, because {contrast.name} supports at most {grammar.MAX_BASIS:,}.",
        )
    import patsy

    lists = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    try:
        contrast_object = getattr(patsy, contrast.name)(**lists)
        coded = (contrast_object.code_with_intercept if full else contrast_object.code_without_intercept)(
            list(levels)
        )
    except (patsy.PatsyError, TypeError, ValueError) as error:
        raise FormulaError(
            f"{code}: the {contrast.name} contrast cannot be applied: {error}.",
            hint="Correct its arguments, or use another contrast.",
        ) from None
    matrix = np.asarray(coded.matrix, dtype=np.float64)
    return Coding(None, tuple(map(tuple, matrix.tolist()))), list(coded.column_suffixes)


def _reference_position(levels: tuple[Scalar, ...], requested: Any, code: str) -> int:
    """Return the position of the reference level; the first if `requested` is None.

    `requested` is a level or else a position, which is counted from the end if it is negative. Raises
    FormulaError for any other value.
    """
    if requested is None:
        return 0
    if requested in levels:
        return levels.index(requested)
    if (
        isinstance(requested, int)
        and not isinstance(requested, bool)
        and -len(levels) <= requested < len(levels)
    ):
        return requested % len(levels)
    raise FormulaError(f"{code}: {requested!r} is not a level.", hint=f"Use one of {list(levels[:8])}.")


def label_columns_of_formula(formula: str) -> tuple[str, ...]:
    """Return the response of a formula and the columns in C(); nothing if the formula cannot be parsed.

    Examples
    --------
    >>> label_columns_of_formula("y ~ x + C(id):z + log(w)")
    ('y', 'id')
    """
    try:
        source = grammar.scan(formula)
        left_node, *right_nodes = (
            parse_sides(source) if source.bar < 0 else parse_sides_and_covariates(source)
        )
        columns = [factor.category for factor in _iter_factors(source, left_node)]
        columns += [
            factor.category
            for side in right_nodes
            for factor in _iter_factors(source, side)
            if factor.is_coded
        ]
    except FormulaError:
        return ()
    return tuple(dict.fromkeys(name for name in columns if name is not None))


def label_columns_of_design(design: Design) -> dict[str, bool]:
    """Return the columns of labels of a fit, and for each whether its levels are text."""
    names = frozenset(design.functions)
    pairs = [(grammar.expression(design.response_code, names), design.levels)]
    factors = () if design.spec is None else design.spec.factors
    pairs += [
        (grammar.expression(expr.code, names), expr.levels) for expr in factors if expr.levels is not None
    ]
    return {
        name: any(isinstance(level, str) for level in levels)
        for expr, levels in pairs
        if (name := expr.category) is not None
    }


def _iter_factors(source: ScannedFormula, node: Any) -> Iterator[Expression]:
    """Yield the factors of a tree, without checking that their columns exist."""
    for inner_node in _iter_tree(node):
        if inner_node.type == "PYTHON_EXPR":
            text = str(inner_node.token.extra)
            if text != ".":
                yield grammar.read_one_factor(
                    source, inner_node.origin.start, inner_node.origin.end, text, frozenset()
                )


def _iter_tree(node: Node) -> Iterator[Node]:
    """Iterate over the nodes of a tree from left to right."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(current.args))
