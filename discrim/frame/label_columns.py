"""Columns whose values are labels, as a formula or a design says before any row is read.

For who reads a table from text and has to know which columns are not to become numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discrim.errors import FormulaError
from discrim.frame.design import Design
from discrim.frame.formula import parse
from discrim.frame.grammar import Call, Column, Expression, expression, read
from discrim.frame.scan import Source, scan

__all__ = ["labels_of_design", "labels_of_formula"]


def labels_of_formula(formula: str) -> tuple[str, ...]:
    """The response of a formula, and what stands in C(); of a formula that cannot be read, nothing.

    Examples
    --------
    >>> labels_of_formula("y ~ x + C(id):z + log(w)")
    ('y', 'id')
    """
    try:
        source = scan(formula)
        left, right = parse(source)
        found = [_label(each, everything=True) for each in _leaves(source, left)]
        found += [_label(each, everything=False) for each in _leaves(source, right)]
    except FormulaError:
        return ()
    return tuple(dict.fromkeys(name for name in found if name is not None))


def labels_of_design(design: Design) -> dict[str, bool]:
    """Columns that are labels of a fit; whether their levels are text."""
    names = frozenset(design.functions)
    pairs = [(expression(design.response_code, names), design.levels)]
    factors = () if design.spec is None else design.spec.factors
    pairs += [(expression(each.code, names), each.levels) for each in factors if each.levels is not None]
    return {
        name: any(isinstance(level, str) for level in levels)
        for each, levels in pairs
        if (name := _label(each, everything=True)) is not None
    }


def _label(each: Expression, *, everything: bool) -> str | None:
    """The column that an expression is, as labels: where it is a C(), or in any case."""
    root = each.root
    if isinstance(root, Call) and root.function == "C":
        inner = root.arguments[0]
        return inner.name if isinstance(inner, Column) else None
    return root.name if everything and isinstance(root, Column) else None


def _leaves(source: Source, node: Any) -> Iterator[Expression]:
    if node.type == "PYTHON_EXPR":
        text = str(node.token.extra)
        if text != ".":
            yield read(source, node.origin.start, node.origin.end, text, frozenset())
    for each in node.args:
        yield from _leaves(source, each)
