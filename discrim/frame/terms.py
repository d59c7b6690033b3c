"""The algebra of terms: a parsed formula expanded to the list of its terms.

A term is a tuple of factors, each by its text; two terms are the same where their factors are, in
whatever order. The tree is walked with a stack, never by recursion, so that a sum of thousands of terms
is only a long one, and every product is counted before it is formed. Within a product, a power or a
nesting, main effects come before interactions, as in R; a sum keeps the order it is written in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any, Protocol

from discrim.errors import FormulaError
from discrim.frame.grammar import MAX_EXPONENT, MAX_TERMS
from discrim.frame.scan import Source

Terms = dict[frozenset[str], tuple[str, ...]]


class Node(Protocol):
    """A node of the parser's tree."""

    type: Any
    args: Sequence[Any]
    token: Any
    origin: Any


@dataclass(slots=True)
class Sum:
    """Terms in order, and whether an intercept was asked for (None: not mentioned)."""

    terms: Terms = field(default_factory=dict)
    intercept: bool | None = None


@dataclass(slots=True)
class Expansion:
    """Expands the right side of one formula.

    Attributes
    ----------
    source : Source
    leaf : callable
        Terms of one factor of the tree, or of the ``.``.
    idle : list of str
        Parts of the formula that change nothing, to be told to the user.
    """

    source: Source
    leaf: Callable[[Node], Terms]
    idle: list[str] = field(default_factory=list)

    def expand(self, root: Node) -> Sum:
        """Expand a tree to its terms.

        Raises
        ------
        FormulaError
            An operator that has no meaning where it stands, or a limit.
        """
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

    def _error(self, message: str, node: Node) -> FormulaError:
        return self.source.error(message, node.origin.start, node.origin.end)

    def _atom(self, node: Node) -> Sum:
        match node.type:
            case "ZERO":
                return Sum(intercept=False)
            case "ONE":
                return Sum(intercept=True)
            case "NUMBER":
                raise self._error(
                    "A number other than 0 and 1 can only be a power: write "
                    "it inside I() to compute with it.",
                    node,
                )
            case _:
                return Sum(self.leaf(node))

    def _apply(self, node: Node, operands: list[Sum]) -> Sum:
        if len(operands) == 1 and node.type in {"+", "-"}:
            return self._sign(node, operands[0])
        left = operands[0]
        if node.type == "+":
            return _added(left, operands[1])
        if node.type == "-":
            return self._removed(node, left, operands[1])
        for operand in operands:
            if operand.intercept is not None:
                raise self._error(
                    "0 and 1 stand for the intercept and cannot be multiplied "
                    "or nested: leave them out here.",
                    node,
                )
        match node.type:
            case ":":
                return Sum(self._products(node, left.terms, operands[1].terms))
            case "*":
                return _by_degree(
                    {**left.terms, **_new(left, operands[1])},
                    self._products(node, left.terms, operands[1].terms),
                )
            case "/":
                every = tuple(dict.fromkeys(factor for term in left.terms.values() for factor in term))
                inside = self._products(node, {frozenset(every): every}, operands[1].terms)
                return _by_degree(left.terms, inside)
            case "**":
                return self._power(node, left)
            case _:
                raise self._error(
                    "A formula has one ~, between the response and the predictors: leave out the others.",
                    node,
                )

    def _sign(self, node: Node, operand: Sum) -> Sum:
        if node.type == "+":
            return operand
        if operand.terms or operand.intercept is None:
            raise self._error("A minus sign needs something on its left to take away from.", node)
        return Sum(intercept=not operand.intercept)

    def _removed(self, node: Node, left: Sum, right: Sum) -> Sum:
        for key, term in right.terms.items():
            if left.terms.pop(key, None) is None:
                self.idle.append(":".join(term))
        if right.intercept is not None:
            left.intercept = not right.intercept
        return left

    def _products(self, node: Node, left: Terms, right: Terms) -> Terms:
        if len(left) * len(right) > MAX_TERMS:
            raise self._error(f"This has more than {MAX_TERMS:,} terms: leave out some.", node)
        return self._joined(node, ((a, b) for a in left.values() for b in right.values()))

    def _joined(self, node: Node, groups: Any) -> Terms:
        terms: Terms = {}
        for group in groups:
            term = tuple(dict.fromkeys(factor for part in group for factor in part))
            if len(term) > MAX_EXPONENT:
                raise self._error(
                    f"An interaction may have {MAX_EXPONENT} factors at most: leave out some.", node
                )
            terms.setdefault(frozenset(term), term)
        return terms

    def _power(self, node: Node, base: Sum) -> Sum:
        text = str(node.args[1].token.extra) if node.args[1].token is not None else ""
        power = int(text) if text.isdecimal() and len(text) < 9 else 0
        if not 1 <= power <= MAX_EXPONENT:
            raise self._error(
                f"A power in a formula is a whole number from 1 to {MAX_EXPONENT}: write I(x**2) for the "
                "power of a column.",
                node.args[1],
            )
        if len(base.terms) == 1 and power > 1:
            name = ":".join(next(iter(base.terms.values())))
            self.idle.append(f"** {power} (write I({name} ** {power}) for a power of {name})")
        if sum(comb(len(base.terms), size) for size in range(1, power + 1)) > MAX_TERMS:
            raise self._error(
                f"Power {power} of {len(base.terms)} terms has more than {MAX_TERMS:,} terms: write a "
                "smaller power.",
                node,
            )
        groups = (g for size in range(1, power + 1) for g in combinations(base.terms.values(), size))
        return _by_degree({}, self._joined(node, groups))


def _added(left: Sum, right: Sum) -> Sum:
    # In place: `left` is this walk's own, and copying it at every + would be quadratic.
    for key, term in right.terms.items():
        left.terms.setdefault(key, term)
    left.intercept = left.intercept if right.intercept is None else right.intercept
    return left


def _new(left: Sum, right: Sum) -> Terms:
    return {key: term for key, term in right.terms.items() if key not in left.terms}


def _by_degree(main: Terms, interactions: Terms) -> Sum:
    terms = {**main, **{key: term for key, term in interactions.items() if key not in main}}
    return Sum(dict(sorted(terms.items(), key=lambda item: len(item[0]))))
