"""The two sides of a formula, read and checked: the response, and the factors and terms of the predictors."""

from __future__ import annotations

from collections.abc import Sequence

from discrim.errors import DataError, FormulaError, warn_user
from discrim.frame.grammar import Column, Expression, read
from discrim.frame.own_functions import Functions
from discrim.frame.scan import Source, quote
from discrim.frame.table import Table
from discrim.frame.terms import Expansion, Node, Terms

__all__ = ["read_leaf", "read_response", "right_side"]


def read_leaf(source: Source, node: Node, table: Table, functions: Functions) -> Expression:
    """One factor of the tree, whose columns the table has."""
    start, end = node.origin.start, node.origin.end
    found = read(source, start, end, str(node.token.extra), frozenset(functions))
    for name in found.columns:
        try:
            table.position(name)
        except DataError as error:
            raise source.error(str(error), *source.find(name, start, end)) from None
    return found


def read_response(source: Source, node: Node, table: Table, functions: Functions) -> Expression:
    """The left side as one response."""
    start, end = node.origin.start, node.origin.end
    if node.type != "PYTHON_EXPR":
        raise source.error(
            "The left side is one response: name a column, or a function of columns such as C(y).", start, end
        )
    if node.token.extra == ".":
        raise source.error("`.` stands for the predictors: name a column as the response.", start, end)
    return read_leaf(source, node, table, functions)


def right_side(
    source: Source,
    node: Node,
    table: Table,
    functions: Functions,
    response: Expression,
    exclude: Sequence[str],
) -> tuple[dict[str, Expression], list[tuple[str, ...]]]:
    """The factors that are used, by their code, and the terms in order."""
    apart = {*response.columns, *exclude}
    known: dict[str, Expression] = {}

    def leaf(each: Node) -> Terms:
        if each.token.extra == ".":
            rest = [name for name in table.names if name not in apart]
            found = [Expression(quote(name), Column(name), (name,)) for name in rest]
        else:
            found = [read_leaf(source, each, table, functions)]
        known.update((one.code, one) for one in found)
        return {frozenset({one.code}): (one.code,) for one in found}

    expansion = Expansion(source, leaf)
    total = expansion.expand(node)
    idle = [each for each in expansion.idle if not (each in known and apart.issuperset(known[each].columns))]
    for each in idle:
        warn_user(f"In the formula {_short(source.text)}, {each!r} changes nothing.")
    if total.intercept is False:
        warn_user(
            "Leaving out the intercept changes nothing: the classifier owns the constant, and categories "
            "are always coded as if it were there."
        )
    terms = list(total.terms.values())
    if not terms:
        raise source.error("The right side has no predictor: name one.", node.origin.start, node.origin.end)
    used = {code: known[code] for term in terms for code in term}
    for code, found in used.items():
        for name in found.columns:
            if name in response.columns:
                raise FormulaError(
                    f"The response column {name!r} is also a predictor, in {code!r}: leave it out of the "
                    f"right side of {_short(source.text)}."
                )
    return used, terms


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
