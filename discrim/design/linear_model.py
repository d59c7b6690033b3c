"""Linear models of factors and covariates on the left side of a formula, with responses on the right.

In a discriminant analysis the class is on the left. A model of several factors takes its place: "sex * island
~ bill_length_mm + bill_depth_mm". Responses in `cbind()`, as in R, may be on either side. Hypotheses on
coefficients are written as equations: "a = b, c = 0". `models/linear_model/` uses this module.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from discrim.core.numerics.arrays import Floats
from discrim.data.sources.parts import DistributedSource
from discrim.data.sources.sources import source_of
from discrim.data.table import Table
from discrim.data.values import Scalar
from discrim.design.blocks import Blocks
from discrim.design.rows import read_rows, refuse_parts
from discrim.design.source_tables import first_table
from discrim.errors import FormulaError
from discrim.formula.design import Coding, Design, Spec
from discrim.formula.factors import Functions, check_functions
from discrim.formula.formula import Expansion, Node, ParsedFormula, Terms, parse, read_leaf, right_side
from discrim.formula.grammar import MAX_TEXT, Column, Expression, ScannedFormula, expression, quote, scan

_CBIND = re.compile(r"\s*cbind\s*\(")


@dataclass(frozen=True, slots=True)
class ModelTerm:
    """A term of a linear model.

    Attributes
    ----------
    label : str
        The term as the formula writes it.
    factors : frozenset of str
        Codes of the factors that it multiplies.
    columns : tuple of int
        Its columns of the design.
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
        Levels of each cell.
    columns : tuple of int
        Columns of the design that are functions of these factors only.
    values : (cells, columns) float array
        Values of these columns.
    """

    labels: list[tuple[Scalar, ...]]
    columns: tuple[int, ...]
    values: Floats


def responses_right(formula: str) -> str:
    """Rewrite a formula with the responses on the right and without `cbind()`.

    Examples
    --------
    >>> responses_right("cbind(y1, log(y2)) ~ a * b")
    'a * b ~ y1 + log(y2)'
    >>> responses_right("a * b ~ cbind(y1, y2)")
    'a * b ~ y1 + y2'
    """
    if not isinstance(formula, str) or formula.count("~") != 1:
        return formula
    left, right = formula.split("~")
    if (responses := _bound(left)) is not None:
        return f"{right.strip()} ~ {responses}"
    responses = _bound(right)
    return formula if responses is None else f"{left.strip()} ~ {responses}"


def _bound(side: str) -> str | None:
    """Return the arguments of `cbind()` as a sum, or None if a side of a formula is not such a call."""
    opened = _CBIND.match(side)
    if opened is None or not side.rstrip().endswith(")"):
        return None
    inner = side[opened.end() :].rstrip()[:-1]
    depth = 0
    quoted = False
    parts = [""]
    for sign in inner:
        quoted ^= sign == "`"
        depth += 0 if quoted else (sign in "([") - (sign in ")]")
        if depth < 0:
            return None
        if sign == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return " + ".join(part.strip() for part in parts)


_DOT = re.compile(r"(?<![\w.])\.(?![\w.])")


def dot_without(formula: str, columns: Sequence[Any]) -> str:
    """Rewrite a formula such that ``.`` excludes some columns.

    Examples
    --------
    >>> dot_without("species ~ . + log(`a.b`)", ["block", None])
    'species ~ (. - block) + log(`a.b`)'
    """
    named = [quote(each) for each in columns if isinstance(each, str)]
    if not named or not isinstance(formula, str):
        return formula
    parts = formula.split("`")
    rest = f"(. - {' - '.join(named)})"
    return "`".join(part if j % 2 else _DOT.sub(lambda _: rest, part) for j, part in enumerate(parts))


def one_class(formula: str) -> str | None:
    """Return the left side of a formula if it is a single factor, as for `lda`, or None."""
    source = scan(responses_right(formula))
    left, _ = parse(source)
    return source.restore(str(left.token.extra)) if left.type == "PYTHON_EXPR" else None


def model_rows(
    formula: str,
    data: Any,
    *,
    weights: Any = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    responses: bool = True,
    in_memory: str | None = None,
) -> tuple[Blocks, list[ModelTerm]]:
    """Read the rows of a linear model.

    Parameters
    ----------
    formula : str
    data : table or source
    weights : (n,) array or str, optional
    functions : mapping of str to callable, optional
        Functions of the user.
    responses : bool
        Whether the model has responses; otherwise the right side is 1.
    in_memory : str, optional
        Reason that rows have to be in memory, a sentence. A source is then refused.

    Returns
    -------
    blocks : Blocks
        The columns are those of the terms, followed by the responses.
    terms : list of ModelTerm
    """
    text = responses_right(formula)
    called = check_functions(functions)
    parts = None if in_memory is None or isinstance(data, Table) else source_of(data)
    if parts is not None and in_memory is not None:
        # Before the first part is read, because some sources can be read only once.
        refuse_parts(in_memory, parts)
    first = _some_rows(data)
    source = scan(text)
    left, _ = parse(source)
    terms, expressions, labels = _left_side(source, left, first, called)
    categories = [
        each
        for each in expressions.values()
        if (
            first.kind(each.root.name) not in ("numeric", "boolean")
            if isinstance(each.root, Column)
            else each.is_coded
        )
    ]
    factor = next((name for each in categories for name in each.columns), None)
    if factor is None:
        start = left.origin.start
        end = left.origin.end
        raise source.error(
            "The left side has no factor, and a number there is a covariate. The factors stand on the "
            "left and the responses on the right, or in cbind() on the left as in R.",
            start,
            end,
            hint="Turn the formula round, or write C(column) for a factor whose levels are numbers.",
        )
    beside = dict.fromkeys(name for each in expressions.values() for name in each.columns)

    def parse_design(text: str, table: Table, functions: Functions, exclude: Sequence[str]) -> ParsedFormula:
        source = scan(text)
        _, right = parse(source)
        left = Expression(quote(factor), Column(factor), tuple(beside))
        if not responses and right.type != "ONE":
            raise source.error(
                "The distances are given, so that responses have no use.",
                right.origin.start,
                right.origin.end,
                hint="Write 1 on the right side.",
            )
        known: dict[str, Expression] = {}
        named: list[tuple[str, ...]] = []
        if responses:
            known, named = right_side(source, right, table, functions, left, exclude)
        response = Expression(quote(factor), Column(factor), (factor,))
        return ParsedFormula(text, response, expressions | known, [*terms, *named], tuple(exclude))

    blocks = read_rows(
        text, data, weights=weights, functions=functions, in_memory=in_memory, parser=parse_design
    )
    return _summed(blocks, terms, labels, first)


def _some_rows(data: Any) -> Table:
    """Return a table from which the kinds of columns are read: all rows, or the first chunk of a source."""
    source = None if isinstance(data, Table) else source_of(data)
    if source is None:
        return data if isinstance(data, Table) else Table(data, held=True)
    if isinstance(source, DistributedSource):
        return Table(source.meta, part=True, learnt_from=True)
    return first_table(source)


def _left_side(
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
        The factors by code.
    labels : dict of str to str
        Names of the factors, by code.
    """
    known: dict[str, Expression] = {}
    labels: dict[str, str] = {}
    alone = node.type == "PYTHON_EXPR"

    def leaf(each: Node) -> Terms:
        if each.token.extra == ".":
            raise source.error(
                "`.` stands for columns of the right side.",
                each.origin.start,
                each.origin.end,
                hint="Name the factors of the model.",
            )
        found = read_leaf(source, each, table, functions)
        label = found.label
        root = found.root
        if isinstance(root, Column):
            if alone or table.kind(root.name) != "numeric":
                found = expression(f"C({found.code})", frozenset(functions))
        elif found.category is not None:
            # A contrast of the user would change the hypotheses of type III tests.
            found = expression(f"C({quote(found.columns[0])})", frozenset(functions))
        known[found.code] = found
        labels[found.code] = label
        return {frozenset({found.code}): (found.code,)}

    total = Expansion(source, leaf).expand(node)
    if total.intercept is False:
        raise source.error(
            "The model has its constant.", node.origin.start, node.origin.end, hint="Leave out the 0 or - 1."
        )
    terms = sorted(total.terms.values(), key=len)
    if not terms:
        raise source.error("The left side has no term.", node.origin.start, node.origin.end, hint="Name one.")
    used = {code: known[code] for term in terms for code in term}
    return terms, used, labels


def _summed(
    blocks: Blocks, terms: Sequence[tuple[str, ...]], labels: Mapping[str, str], first: Table
) -> tuple[Blocks, list[ModelTerm]]:
    """Code the factors by sum-to-zero contrasts, and find the columns of each term.

    Parameters
    ----------
    blocks : Blocks
    terms : sequence of tuple of str
        Codes of the factors of each term.
    labels : mapping of str to str
        Names of the factors, by code.
    first : Table

    Returns
    -------
    blocks : Blocks
    terms : list of ModelTerm
    """
    spec = blocks.design.spec
    if spec is None:
        raise FormulaError(
            "The left side has no factor.", hint="Write C(column) for one whose levels are numbers."
        )
    coded = {pair for each in spec.products for pair in each if pair[1] >= 0}
    codings = list(spec.codings)
    for factor, number in coded:
        levels = spec.factors[factor].levels or ()
        if codings[number].width == len(levels) - 1:
            contrasts = np.vstack([np.eye(len(levels) - 1), -np.ones(len(levels) - 1)])
            codings[number] = Coding(None, tuple(map(tuple, contrasts.tolist())))
    summed = replace(spec, codings=tuple(codings))
    columns_of: list[list[int]] = [[] for _ in terms]
    names = list(blocks.design.terms)
    at = 0
    for places, each in summed.placed():
        codes = {spec.factors[factor].code for factor, _ in each}
        # Without the terms that it contains, a term has several products, all of its own factors.
        while at < len(terms) and not codes <= set(terms[at]):
            at += 1
        if at < len(terms):
            columns_of[at].extend(range(places.start, places.stop))
            names[places] = _names(summed, each, labels)
        elif any(pair in coded for pair in each):
            label = ":".join(spec.factors[factor].code for factor, _ in each)
            raise FormulaError(
                f"The response {label!r} is no number but has levels.",
                hint=(
                    f"Leave it out of the right side, as in `. - {label}`, or make it a factor on the left."
                ),
                columns=(label,),
            )
    levelled = {factor.code for factor in spec.factors if factor.levels is not None}
    model_terms = [
        ModelTerm(
            ":".join(labels[code] for code in term),
            frozenset(term),
            tuple(columns),
            tuple(code for code in term if code in levelled),
        )
        for term, columns in zip(terms, columns_of, strict=True)
    ]
    design = replace(blocks.design, spec=summed, terms=tuple(names))
    return replace(blocks, design=design, rows=blocks.rows.read_as(design)), model_terms


def _names(spec: Spec, each: Sequence[tuple[int, int]], labels: Mapping[str, str]) -> list[str]:
    """Return the names of the columns of a product of factors.

    Parameters
    ----------
    spec : Spec
    each : sequence of (int, int)
        Factors and codings of the product.
    labels : mapping of str to str
        Names of the factors, by code.

    Returns
    -------
    list of str
    """
    parts = []
    for factor, coding in each:
        label = labels[spec.factors[factor].code]
        factor_width = spec.factors[factor].width
        if coding < 0:
            parts.append([label] if factor_width == 1 else [f"{label}[{j}]" for j in range(factor_width)])
            continue
        levels = spec.factors[factor].levels or ()
        width = spec.codings[coding].width
        mark = "S." if width < len(levels) else ""
        parts.append([f"{label}[{mark}{level}]" for level in levels[:width]])
    return [":".join(reversed(some)) for some in product(*reversed(parts))]


def cells_of(design: Design, codes: Sequence[str]) -> Cells:
    """Return all combinations of levels of some factors, with the values of the design in them.

    Parameters
    ----------
    design : Design
    codes : sequence of str
        Codes of the factors.

    Returns
    -------
    Cells
    """
    spec = design.spec or Spec((), (), (), ())
    position = {factor.code: j for j, factor in enumerate(spec.factors)}
    levels = [spec.factors[position[code]].levels or () for code in codes]
    grid = list(product(*(range(len(each)) for each in levels)))
    within = frozenset(codes)
    columns: list[int] = []
    values: list[Floats] = []
    for places, each in spec.placed():
        factors = [spec.factors[factor].code for factor, _ in each]
        if factors and within.issuperset(factors):
            block = np.ones((len(grid), 1))
            for code, (_, coding) in zip(factors, each, strict=True):
                at = list(codes).index(code)
                rows = _matrix(spec.codings[coding], len(levels[at]))[[cell[at] for cell in grid]]
                # The first factor runs fastest.
                block = (rows[:, :, None] * block[:, None, :]).reshape(len(grid), -1)
            columns.extend(range(places.start, places.stop))
            values.append(block)
    labels = [tuple(levels[i][at] for i, at in enumerate(cell)) for cell in grid]
    together = np.hstack(values) if values else np.zeros((len(grid), 0))
    return Cells(labels, tuple(columns), together)


def _matrix(coding: Coding, levels: int) -> Floats:
    """Return the contrast matrix (levels, width) of a coding."""
    if coding.picks is not None:
        return np.eye(levels)[:, list(coding.picks)]
    return np.asarray(coding.matrix, dtype=np.float64)


def within_terms(design: str, table: Table) -> list[tuple[str, ...]]:
    """Parse the terms of a within-subject design, as tuples of column names.

    Examples
    --------
    >>> within_terms("~ time * drug", Table({"time": [1, 1, 2, 2], "drug": ["a", "b"] * 2}))
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

    def leaf(each: Node) -> Terms:
        if each.token.extra == ".":
            return {frozenset({name}): (name,) for name in table.names}
        found = read_leaf(source, each, table, {})
        if not isinstance(found.root, Column):
            start = each.origin.start
            end = each.origin.end
            raise source.error("Factors within rows are columns as they are.", start, end, hint="Name one.")
        return {frozenset({found.root.name}): (found.root.name,)}

    left, right = parse(source)
    if left.type != "PYTHON_EXPR":
        raise source.error(
            "A design has no left side.", left.origin.start, left.origin.end, hint="Leave it out."
        )
    terms = Expansion(source, leaf).expand(right).terms
    if not terms:
        raise FormulaError(f"design={design[:80]!r} has no term.", hint="Name a column of within=.")
    return sorted(terms.values(), key=len)


UNREADABLE = (AssertionError, AttributeError, IndexError, RecursionError, ValueError, ZeroDivisionError)
"""Errors of patsy for equations that it cannot parse, in addition to PatsyError."""


def equations(text: str, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Parse equations in coefficients.

    The language is patsy's, like in statsmodels: names, numbers, `+ - * / ( )`, `=` and commas. An expression
    without `=` is zero under the hypothesis. Names may contain any characters.

    Parameters
    ----------
    text : str
    names : sequence of str
        Names of the k coefficients.

    Returns
    -------
    matrix : (r, k) float array
    right_side : (r,) float array

    Raises
    ------
    FormulaError
        The text cannot be parsed; the message points to the position.

    Examples
    --------
    >>> equations("a = b, 2 * c = 1", ["a", "b", "c"])
    (array([[ 1., -1.,  0.],
           [ 0.,  0.,  2.]]), array([0., 1.]))
    """
    from patsy import DesignInfo, PatsyError

    if len(text) > MAX_TEXT:
        raise FormulaError(
            f"The hypothesis has {len(text):,} characters.", hint=f"Write {MAX_TEXT:,} at most."
        )
    try:
        with np.errstate(all="ignore"):
            constraint = DesignInfo(list(names)).linear_constraint(text)
    except (PatsyError, *UNREADABLE) as error:
        origin = getattr(error, "origin", None)
        where = "" if origin is None else f" at {text[origin.start :][:40]!r}"
        why = error.message if isinstance(error, PatsyError) else type(error).__name__
        raise FormulaError(
            f"The hypothesis {text[:80]!r} cannot be read{where} ({why}).",
            hint=(
                f"Write equations in the coefficients, such as '{names[-1]} = 0', with commas between them."
            ),
        ) from None
    coefs, values = (np.asarray(each, dtype=np.float64) for each in (constraint.coefs, constraint.constants))
    if not (np.isfinite(coefs).all() and np.isfinite(values).all()):
        raise FormulaError(
            f"The hypothesis {text[:80]!r} divides by zero, or has a number out of range.",
            hint="Write finite ones.",
        )
    return coefs, values[:, 0]
