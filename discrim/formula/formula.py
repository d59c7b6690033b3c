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

`labels_of_formula` and `labels_of_design` determine which columns contain labels before a table is read from
text, because these columns must not be converted to numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np

from discrim.core.numerics.arrays import Codes, Mask
from discrim.data.table import Table
from discrim.data.values import Scalar, coded_levels, find_levels, refuse_numbers_as_text, warn_of_names
from discrim.errors import DataError, FormulaError, FormulaWarning, warn_user
from discrim.formula import grammar
from discrim.formula.design import Coding, Design, Factor, Product, Spec
from discrim.formula.factors import (
    Categories,
    Functions,
    Memory,
    RowRange,
    evaluate,
    learning_rows,
)
from discrim.formula.grammar import Column, Contrast, Expression, ScannedFormula
from discrim.formula.response import classes_and_codes

Terms = dict[frozenset[str], tuple[str, ...]]


class Node(Protocol):
    """A node of the tree of the parser."""

    type: Any
    args: Sequence[Any]
    token: Any
    origin: Any


@dataclass(slots=True)
class Sum:
    """Terms in order, and whether the formula has an intercept (None: not mentioned)."""

    terms: Terms = field(default_factory=dict)
    intercept: bool | None = None


@dataclass(slots=True)
class Expansion:
    """Expands the right side of a formula; `leaf` returns the terms of a factor or of the ``.``.

    `idle` collects the parts of the formula that change nothing, for a warning.
    """

    source: ScannedFormula
    leaf: Callable[[Node], Terms]
    idle: list[str] = field(default_factory=list)

    def expand(self, root: Node) -> Sum:
        """Expand a tree to its terms; raise FormulaError for an invalid operator and above a limit."""
        values: list[Sum] = []
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                inner = 1 if node.type == "**" else len(node.args)
                operands = values[len(values) - inner :]
                del values[len(values) - inner :]
                values.append(self._apply(node, operands))
            elif node.args:
                stack.append((node, True))
                inner = 1 if node.type == "**" else len(node.args)
                stack.extend((child, False) for child in reversed(node.args[:inner]))
            else:
                values.append(self._atom(node))
        return values[0]

    def _error(self, message: str, node: Node, *, hint: str) -> FormulaError:
        """Return an error that points to a node."""
        return self.source.error(message, node.origin.start, node.origin.end, hint=hint)

    def _atom(self, node: Node) -> Sum:
        """Expand a leaf of the tree."""
        match node.type:
            case "ZERO":
                return Sum(intercept=False)
            case "ONE":
                return Sum(intercept=True)
            case "NUMBER":
                raise self._error(
                    "A number other than 0 and 1 can only be a power.",
                    node,
                    hint="Write it inside I() to compute with it.",
                )
            case _:
                return Sum(self.leaf(node))

    def _apply(self, node: Node, operands: list[Sum]) -> Sum:
        """Apply an operator to expanded operands."""
        if len(operands) == 1 and node.type in {"+", "-"}:
            return self._sign(node, operands[0])
        left = operands[0]
        if node.type == "+":
            return _added(left, operands[1])
        if node.type == "-":
            for key, term in operands[1].terms.items():
                if left.terms.pop(key, None) is None:
                    self.idle.append(":".join(term))
            if operands[1].intercept is not None:
                left.intercept = not operands[1].intercept
            return left
        for operand in operands:
            if operand.intercept is not None:
                raise self._error(
                    "0 and 1 stand for the intercept and cannot be multiplied or nested.",
                    node,
                    hint="Leave them out here.",
                )
        match node.type:
            case ":":
                return Sum(self._products(node, left.terms, operands[1].terms))
            case "*":
                right = operands[1].terms
                return _by_degree(left.terms, right, self._products(node, left.terms, right))
            case "/":
                every = tuple(dict.fromkeys(factor for term in left.terms.values() for factor in term))
                inside = self._products(node, {frozenset(every): every}, operands[1].terms)
                return _by_degree(left.terms, inside)
            case "**":
                return self._power(node, left)
            case _:
                raise self._error(
                    "A formula has one ~, between the response and the predictors.",
                    node,
                    hint="Leave out the others.",
                )

    def _sign(self, node: Node, operand: Sum) -> Sum:
        """Apply a unary sign, which can only change the intercept."""
        if node.type == "+":
            return operand
        if operand.terms or operand.intercept is None:
            raise self._error(
                "A minus sign needs a term on its left.", node, hint="Write one, or leave the minus out."
            )
        return Sum(intercept=not operand.intercept)

    def _products(self, node: Node, left: Terms, right: Terms) -> Terms:
        """Return the products of all pairs of terms, and raise an error above a limit."""
        if len(left) * len(right) > grammar.MAX_TERMS:
            raise self._error(
                f"This has more than {grammar.MAX_TERMS:,} terms.", node, hint="Leave out some."
            )
        return self._joined(node, ((a, b) for a in left.values() for b in right.values()))

    def _joined(self, node: Node, groups: Any) -> Terms:
        """Merge the factors of each group of terms into one term, without duplicates."""
        terms: Terms = {}
        for group in groups:
            term = tuple(dict.fromkeys(factor for part in group for factor in part))
            if len(term) > grammar.MAX_EXPONENT:
                raise self._error(
                    f"An interaction may have {grammar.MAX_EXPONENT} factors at most.",
                    node,
                    hint="Leave out some.",
                )
            terms.setdefault(frozenset(term), term)
        return terms

    def _power(self, node: Node, base: Sum) -> Sum:
        """Return all interactions of a sum up to a degree."""
        text = str(node.args[1].token.extra) if node.args[1].token is not None else ""
        power = int(text) if text.isdecimal() and len(text) < 9 else 0
        if not 1 <= power <= grammar.MAX_EXPONENT:
            raise self._error(
                f"A power in a formula is a whole number from 1 to {grammar.MAX_EXPONENT}.",
                node.args[1],
                hint="Write I(x**2) for the power of a column.",
            )
        if len(base.terms) == 1 and power > 1:
            name = ":".join(next(iter(base.terms.values())))
            self.idle.append(f"** {power} (write I({name} ** {power}) for a power of {name})")
        if sum(comb(len(base.terms), size) for size in range(1, power + 1)) > grammar.MAX_TERMS:
            raise self._error(
                f"Power {power} of {len(base.terms)} terms has more than {grammar.MAX_TERMS:,} terms.",
                node,
                hint="Write a smaller power.",
            )
        groups = (g for size in range(1, power + 1) for g in combinations(base.terms.values(), size))
        return _by_degree(self._joined(node, groups))


def _added(left: Sum, right: Sum) -> Sum:
    """Add the terms of a sum to another one in place."""
    # In place, because a copy at every + would make the cost quadratic.
    for key, term in right.terms.items():
        left.terms.setdefault(key, term)
    left.intercept = left.intercept if right.intercept is None else right.intercept
    return left


def _by_degree(*groups: Terms) -> Sum:
    """Merge groups of terms, without duplicates and with terms of fewer factors first."""
    terms: Terms = {}
    for key, term in (pair for group in groups for pair in group.items()):
        terms.setdefault(key, term)
    return Sum(dict(sorted(terms.items(), key=lambda item: len(item[0]))))


def read_leaf(source: ScannedFormula, node: Node, table: Table, functions: Functions) -> Expression:
    """Read one factor of the tree.

    Parameters
    ----------
    source : ScannedFormula
    node : Node
        The leaf of the factor.
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
        The factor is not allowed, or the table lacks one of its columns.
    """
    start = node.origin.start
    end = node.origin.end
    found = grammar.read_one_factor(source, start, end, str(node.token.extra), frozenset(functions))
    for name in found.columns:
        try:
            table.position(name)
        except DataError as error:
            place = source.find(name, start, end)
            raise source.error(error.message, *place, hint=error.hint, columns=(name,)) from None
    return found


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
    """
    start = node.origin.start
    end = node.origin.end
    if node.type != "PYTHON_EXPR":
        raise source.error(
            "The left side is one response.",
            start,
            end,
            hint="Name a column, or a function of columns such as C(y).",
        )
    if node.token.extra == ".":
        raise source.error(
            "`.` stands for the predictors.", start, end, hint="Name a column as the response."
        )
    return read_leaf(source, node, table, functions)


def right_side(
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
    """
    apart = {*response.columns, *exclude}
    known: dict[str, Expression] = {}

    def leaf(each: Node) -> Terms:
        if each.token.extra == ".":
            rest = [name for name in table.names if name not in apart]
            codes = list(map(grammar.quote, rest))
            found = [Expression(code, Column(name), (name,)) for code, name in zip(codes, rest, strict=True)]
        else:
            found = [read_leaf(source, each, table, functions)]
        known.update((one.code, one) for one in found)
        return {frozenset({one.code}): (one.code,) for one in found}

    expansion = Expansion(source, leaf)
    total = expansion.expand(node)
    idle = [each for each in expansion.idle if not (each in known and apart.issuperset(known[each].columns))]
    for each in idle:
        warn_user(f"In the formula {_short(source.text)}, {each!r} changes nothing.", FormulaWarning)
    if total.intercept is False:
        warn_user(
            "Leaving out the intercept changes nothing: the classifier owns the constant, and categories "
            "are always coded as if it were there.",
            FormulaWarning,
        )
    terms = list(total.terms.values())
    if not terms:
        raise source.error(
            "The right side has no predictor.", node.origin.start, node.origin.end, hint="Name one."
        )
    used = {code: known[code] for term in terms for code in term}
    for code, found in used.items():
        for name in found.columns:
            if name in response.columns:
                raise FormulaError(
                    f"The response column {name!r} is also a predictor, in {code!r}.",
                    hint=f"Leave it out of the right side of {_short(source.text)}.",
                    columns=(name,),
                )
    return used, terms


def _short(text: str) -> str:
    """Return the text of a formula for a message."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


class FullDataSummary(NamedTuple):
    """Row count and training columns of the full data, used while a part is read.

    The training columns are those from which transforms learn, of all complete rows.
    """

    rows: int
    learning: Table | None


class ParsedFormula(NamedTuple):
    """A parsed formula for a table with certain column names.

    The factors are stored by their text, and each term is a tuple of such texts. The first terms belong to
    the covariates. A complete row also has values in the columns that the ``.`` excludes, such as the
    weights.
    """

    formula: str
    response: Expression
    expressions: dict[str, Expression]
    terms: list[tuple[str, ...]]
    exclude: tuple[str, ...]
    covariates: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the right side, in order."""
        return tuple(dict.fromkeys(name for each in self.expressions.values() for name in each.columns))

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns of the response and of the weights."""
        return (*self.response.columns, *self.exclude)

    def is_plain(self, table: Table) -> bool:
        """Return whether every term is a numeric column."""
        return all(len(term) == 1 for term in self.terms) and all(
            isinstance(each.root, Column) and table.kind(each.root.name) in {"numeric", "boolean"}
            for each in self.expressions.values()
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

    Raises
    ------
    FormulaError
        The formula cannot be parsed, is not allowed, or names columns that the table does not have.
    """
    source = grammar.scan(formula)
    left, right = parse(source)
    response = read_response(source, left, table, functions)
    expressions, terms = right_side(source, right, table, functions, response, exclude)
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
        Columns that the ``.`` excludes.

    Returns
    -------
    ParsedFormula
    """
    source = grammar.scan(formula)
    if source.bar < 0:
        return parse_formula(formula, table, functions, exclude)
    left, right, beyond = sides(source)
    response = read_response(source, left, table, functions)
    for each in _nodes(beyond):
        if each.type == "PYTHON_EXPR" and each.token.extra == ".":
            start = each.origin.start
            end = each.origin.end
            raise source.error("`.` stands for the predictors.", start, end, hint="Name the covariates.")
    others, adjusted = right_side(source, beyond, table, functions, response, exclude)
    used = dict.fromkeys(name for each in others.values() for name in each.columns)
    expressions, terms = right_side(source, right, table, functions, response, (*exclude, *used))
    for code, found in expressions.items():
        for name in set(found.columns) & set(used):
            raise FormulaError(
                f"The covariate {name!r} is also a predictor, in {code!r}.",
                hint=f"Leave it out of one side of the `|` in {_short(formula)}.",
            )
    return ParsedFormula(
        formula, response, others | expressions, [*adjusted, *terms], tuple(exclude), len(adjusted)
    )


def learn_design(
    found: ParsedFormula,
    table: Table,
    functions: Functions,
    levels: Sequence[Any] | None = None,
    whole: FullDataSummary | None = None,
    *,
    positive: Mask | None = None,
    incomplete: bool = False,
) -> tuple[Design, Codes]:
    """Learn the levels and transforms of a parsed formula from a table.

    Functions of the user are called with columns as Series and return one value, or one row of a matrix, for
    each row.

    Parameters
    ----------
    found : ParsedFormula
    table : Table
    functions : mapping of str to callable
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    whole : FullDataSummary, optional
        Summary of the full data, if the table is a part of it.
    positive : (n,) bool, optional
        Rows with a positive weight. The others count as rows without a label.
    incomplete : bool
        Whether the fit uses rows with missing values.

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
    response = found.response
    expressions = found.expressions
    columns = found.columns
    rows = None if whole is None else whole.rows
    classes, codes, kind = classes_and_codes(response, table, functions, levels, rows=rows, used=positive)
    names = columns
    spec = None
    if not found.is_plain(table):
        used = codes >= 0
        names, spec = specify(
            expressions, found.terms, columns, found.beside, table, functions, whole,
            used=None if used.all() else used, incomplete=incomplete,
        )  # fmt: skip
    called = dict.fromkeys(name for each in (response, *expressions.values()) for name in each.functions)
    own = response.label, response.columns, columns, names, classes, spec is None, spec, tuple(called)
    truths = tuple(name for name in columns if spec is None and table.kind(name) == "boolean")
    adjusted = _covariate_columns(found, names, spec)
    return Design(found.formula, *own, labels=kind, truths=truths, covariates=adjusted), codes


def _covariate_columns(found: ParsedFormula, names: tuple[str, ...], spec: Spec | None) -> tuple[str, ...]:
    """Return the names of the columns of the covariates, which are the first ones of the design.

    Parameters
    ----------
    found : ParsedFormula
    names : tuple of str
        Names of all columns of the design.
    spec : Spec or None
        None for a plain design.

    Returns
    -------
    tuple of str
    """
    if spec is None:
        return names[: found.covariates]
    factors = {code for term in found.terms[: found.covariates] for code in term}
    return tuple(
        name
        for places, parts in spec.placed()
        if factors.issuperset(spec.factors[factor].code for factor, _ in parts)
        for name in names[places]
    )


def parse(source: ScannedFormula) -> tuple[Node, Node]:
    """Return the left and right side of the tree of patsy; raise FormulaError if there are covariates."""
    if source.bar >= 0:
        raise source.error(
            "Covariates, after a `|`, are taken by lda() and moments() alone.",
            source.bar,
            source.bar + 1,
            hint="Fit lda(), or write + in its place, so that what follows is a predictor.",
        )
    return _tree(source, source.code)


def sides(source: ScannedFormula) -> tuple[Node, Node, Node]:
    """Return the left side, the predictors and the covariates of a formula with covariates."""
    tilde = source.code.index("~") + 1
    bar = source.bar
    for begin, end in ((tilde, bar), (bar + 1, len(source.code))):
        if not source.code[begin:end].strip():
            raise source.error(
                "The `|` stands between predictors and covariates.", bar, bar + 1, hint="Name both."
            )
    left, right = _tree(source, source.code[:bar])
    # Blanks instead of the predictors keep the positions of the covariates, to which errors point.
    _, beyond = _tree(source, source.code[:tilde] + " " * (bar + 1 - tilde) + source.code[bar + 1 :])
    return left, right, beyond


def _tree(source: ScannedFormula, code: str) -> tuple[Node, Node]:
    """Parse code with patsy; return the left and the right side."""
    from patsy import PatsyError
    from patsy.parse_formula import parse_formula as parse_by_patsy

    end = len(source.code)
    if "~" not in source.code:
        raise source.error(
            "A formula is 'response ~ terms'; this one has no ~.", 0, max(end, 1), hint="Write one."
        )
    try:
        tree = parse_by_patsy(code)
    except PatsyError as error:
        origin = error.origin
        start, stop = (origin.start, origin.end) if origin is not None else (0, end)
        raise source.error(
            f"This cannot be read: {error.message.replace('a noun', 'a term')}.",
            start,
            stop,
            hint="Correct it.",
        ) from None
    except (AssertionError, IndexError, SyntaxError, AttributeError):
        raise source.error(
            "An operator has nothing to work on.", 0, end, hint="Write a term there."
        ) from None
    if len(tree.args) != 2:
        raise source.error("A formula needs a response on the left of the ~.", 0, end, hint="Name it.")
    return tree.args[0], tree.args[1]


def specify(
    expressions: Mapping[str, Expression],
    terms: list[tuple[str, ...]],
    columns: tuple[str, ...],
    beside: tuple[str, ...],
    table: Table,
    functions: Functions,
    of: FullDataSummary | None = None,
    *,
    used: Mask | None = None,
    incomplete: bool = False,
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
    beside : tuple of str
        Other columns in which rows have to be complete.
    table : Table
    functions : mapping of str to callable
        Functions of the user.
    of : FullDataSummary, optional
        Summary of the full data, if the table is a part of it.
    used : (n,) bool array, optional
        Rows with a class and a positive weight.
    incomplete : bool
        Whether the fit uses incomplete rows. The levels of a factor are then learnt from all used rows
        that have values in the columns of the factor.

    Returns
    -------
    names : tuple of str
        Names of the columns of the design.
    spec : Spec
    """
    whole = RowRange(table, 0, table.nrows, used=used)
    for name in columns:
        if whole.kind(name) == "other":
            whole.series(name)
    read = tuple(name for name in beside if name in table.names)
    by_factor = incomplete and not any(each.stateful for each in expressions.values())
    rows = whole if by_factor else learning_rows(whole, columns, read, expressions.values(), functions)
    learnt = {}
    for code, each in expressions.items():
        table_of = None if of is None or not each.stateful else of.learning
        own = rows if table_of is None else RowRange(table_of, 0, table_of.nrows)
        if incomplete and not each.stateful and not _is_number(each, whole):
            own = learning_rows(whole, each.columns, read, (each,), functions)
        learnt[code] = _learn(each, own, functions, None if of is None else of.rows)
    factors = {code: factor for code, (factor, _) in learnt.items()}
    position = {code: number for number, code in enumerate(factors)}
    numbered: dict[tuple[str, bool, bool], int] = {}
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
                pairs.append((position[code], -1))
                continue
            alone = len(levels) == 1 and term == (code,)
            if alone:
                # A column of ones, which is left out like any constant column.
                coding = Coding((0,), None)
                suffixes = [""]
            else:
                coding, suffixes = _code(levels, learnt[code][1], full[code], code)
            number = numbered.setdefault((code, full[code], alone), len(codings))
            if number == len(codings):
                codings.append(coding)
            labels.append([label + suffix for suffix in suffixes])
            pairs.append((position[code], number))
        products.append(tuple(pairs))
        names.extend(":".join(reversed(parts)) for parts in product(*reversed(labels)))
    twice = {name for name, times in Counter(names).items() if times > 1}
    if twice:
        raise FormulaError(
            f"Two columns of the design would both be called {min(twice)!r}.",
            hint="Rename a column of the table.",
        )
    kinds = tuple(whole.kind(name) for name in columns)
    return tuple(names), Spec(kinds, tuple(factors.values()), tuple(codings), tuple(products))


def _is_number(each: Expression, rows: RowRange) -> bool:
    """Return whether a factor is a numeric column."""
    return isinstance(each.root, Column) and rows.kind(each.root.name) in {"numeric", "boolean"}


def _learn(
    each: Expression, rows: RowRange, functions: Functions, stand_for: int | None
) -> tuple[Factor, Contrast | None]:
    """Learn one factor: its width, or its levels and contrast, and its states.

    Parameters
    ----------
    each : Expression
    rows : RowRange
        Complete rows.
    functions : mapping of str to callable
        Functions of the user.
    stand_for : int or None
        Number of rows of the full data that these rows represent.

    Returns
    -------
    tuple of Factor and Contrast or None
    """
    root = each.root
    if _is_number(each, rows):
        return Factor(each.code, 1, None, ()), None
    what = f"The predictor {each.label!r}"
    coded = rows.coded(root.name) if isinstance(root, Column) else None
    if isinstance(root, Column) and coded is not None:
        text = rows.kind(root.name) == "text"
        # Unlike categories, text declares no levels: a text without a complete row is not one.
        levels, codes = coded_levels(*coded, what, declared=not text, unused=rows.table.part and not text)
        if text:
            refuse_numbers_as_text(levels, codes, root.name, lambda: rows.index)
            warn_of_names(len(levels), stand_for or rows.size, what, each.code)
        return Factor(each.code, 0, levels, ()), None
    memory = Memory()
    value = evaluate(each, rows, memory, functions)
    if not isinstance(value, Categories):
        width = 1 if value.ndim == 1 else value.shape[1]
        return Factor(each.code, width, None, tuple(memory.states)), None
    # Rows without a category from a user's function are missing.
    known = value.values.dropna() if each.functions else value.values
    levels, _ = find_levels(known, what, value.levels, unused=rows.table.part)
    return Factor(each.code, 0, levels, tuple(memory.states)), value.contrast


def _choose_codings(
    terms: list[tuple[str, ...]], factors: Mapping[str, Factor]
) -> list[tuple[tuple[str, ...], dict[str, bool]]]:
    """Return for each term its products: the factors, and which categories get a full set of columns.

    patsy determines the redundant columns. It requires terms with the same numeric factors in a row, simple
    ones first.
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
            parts = tuple(code for code in term if code in numeric or code in full)
            total += math.prod(
                factors[code].width if code in numeric else len(factors[code].levels or ()) - (not full[code])
                for code in parts
            )
            if total > grammar.MAX_COLUMNS:
                raise FormulaError(
                    f"The design would have more than {grammar.MAX_COLUMNS:,} columns, at the term "
                    f"{':'.join(term)!r}.",
                    hint=f"Leave out what has many levels, as in `. - {term[0]}`.",
                )
            result.append((parts, full))
    return result


def _code(
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
        Suffixes of the names of its columns.
    """
    options = dict(contrast.options) if contrast is not None else {}
    if contrast is None or contrast.name == "Treatment":
        if full:
            return Coding(tuple(range(len(levels))), None), [f"[{level}]" for level in levels]
        reference = _reference(levels, options.get("reference"), code)
        picks = tuple(j for j in range(len(levels)) if j != reference)
        return Coding(picks, None), [f"[T.{levels[j]}]" for j in picks]
    if len(levels) > grammar.MAX_BASIS:
        raise FormulaError(
            f"{code} has {len(levels):,} levels.",
            hint=f"Merge some, because {contrast.name} takes at most {grammar.MAX_BASIS:,}.",
        )
    import patsy

    lists = {name: list(each) if isinstance(each, tuple) else each for name, each in options.items()}
    try:
        maker = getattr(patsy, contrast.name)(**lists)
        coded = (maker.code_with_intercept if full else maker.code_without_intercept)(list(levels))
    except (patsy.PatsyError, TypeError, ValueError) as error:
        raise FormulaError(
            f"{code}: the {contrast.name} contrast does not fit: {error}.",
            hint="Correct its arguments, or use another contrast.",
        ) from None
    matrix = np.asarray(coded.matrix, dtype=np.float64)
    return Coding(None, tuple(map(tuple, matrix.tolist()))), list(coded.column_suffixes)


def _reference(levels: tuple[Scalar, ...], wanted: Any, code: str) -> int:
    """Return the position of the reference level, passed as level or as position; the first by default."""
    if wanted is None:
        return 0
    if wanted in levels:
        return levels.index(wanted)
    if isinstance(wanted, int) and not isinstance(wanted, bool) and -len(levels) <= wanted < len(levels):
        return wanted % len(levels)
    raise FormulaError(f"{code}: {wanted!r} is no level to refer to.", hint=f"Use one of {list(levels[:8])}.")


def labels_of_formula(formula: str) -> tuple[str, ...]:
    """Return the response of a formula and the columns in C(); nothing if the formula cannot be parsed.

    Examples
    --------
    >>> labels_of_formula("y ~ x + C(id):z + log(w)")
    ('y', 'id')
    """
    try:
        source = grammar.scan(formula)
        left, *right = parse(source) if source.bar < 0 else sides(source)
        found = [each.category for each in _leaves(source, left)]
        found += [each.category for side in right for each in _leaves(source, side) if each.is_coded]
    except FormulaError:
        return ()
    return tuple(dict.fromkeys(name for name in found if name is not None))


def labels_of_design(design: Design) -> dict[str, bool]:
    """Return the columns of labels of a fit, and for each whether its levels are text."""
    names = frozenset(design.functions)
    pairs = [(grammar.expression(design.response_code, names), design.levels)]
    factors = () if design.spec is None else design.spec.factors
    pairs += [
        (grammar.expression(each.code, names), each.levels) for each in factors if each.levels is not None
    ]
    return {
        name: any(isinstance(level, str) for level in levels)
        for each, levels in pairs
        if (name := each.category) is not None
    }


def _leaves(source: ScannedFormula, node: Any) -> Iterator[Expression]:
    """Yield the factors of a tree, without checking that their columns exist."""
    for each in _nodes(node):
        if each.type == "PYTHON_EXPR":
            text = str(each.token.extra)
            if text != ".":
                yield grammar.read_one_factor(source, each.origin.start, each.origin.end, text, frozenset())


def _nodes(node: Node) -> Iterator[Node]:
    """Iterate over the nodes of a tree from left to right."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(each.args))
