"""How often each category of a predictor meets each class, without the columns of the design."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.frame.blocks import Blocks
from discrim.frame.categories import Scalar, encode
from discrim.frame.complete import complete_rows
from discrim.frame.factors import Categories, Memory, Rows, evaluate
from discrim.frame.formula import spline_bases
from discrim.frame.grammar import expression
from discrim.frame.own_functions import recall_functions

__all__ = ["Cells", "class_cells"]


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows of each category and class.

    Attributes
    ----------
    label : str
        The predictor, as the formula writes it.
    levels : tuple of str, int, float or bool, length L
    rows : (L, K) int
        Counted, whatever their weights, where these are positive.
    """

    label: str
    levels: tuple[Scalar, ...]
    rows: NDArray[np.intp]


def class_cells(blocks: Blocks) -> list[Cells]:
    """Count the rows of a fit in the cells of each categorical predictor that is a term of its own."""
    return blocks.reduced(_cells_of, _added)


def _added(a: list[Cells], b: list[Cells]) -> list[Cells]:
    return [replace(here, rows=here.rows + there.rows) for here, there in zip(a, b, strict=True)]


def _cells_of(blocks: Blocks) -> list[Cells]:
    return list(_cells(blocks))


def _cells(blocks: Blocks) -> Iterator[Cells]:
    design, table = blocks.design, blocks.table
    if design.spec is None:
        return
    alone = [parts[0][0] for parts in design.spec.products if len(parts) == 1 and parts[0][1] >= 0]
    if not alone:
        return
    functions = recall_functions(design.functions, blocks.functions)
    kinds = dict(zip(design.columns, design.spec.kinds, strict=True))
    whole = Rows(table, 0, table.nrows, kinds=kinds)
    rows, complete = complete_rows(whole, design.columns, design.spec, functions, spline_bases())
    used = blocks.codes[complete] >= 0
    if blocks.weights is not None:
        used &= blocks.weights[complete] > 0
    classes, k = blocks.codes[complete][used], len(design.levels)
    for number in alone:
        factor = design.spec.factors[number]
        each = expression(factor.code, frozenset(functions))
        value = evaluate(each, rows, Memory(factor.states), functions, spline_bases())
        if isinstance(value, Categories) and factor.levels is not None:
            own = encode(value.values, factor.levels, f"The predictor {each.label!r}")[used]
            counted = np.bincount(own * k + classes, minlength=len(factor.levels) * k)
            yield Cells(each.label, factor.levels, counted.reshape(-1, k))
