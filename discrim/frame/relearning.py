"""A design whose transforms learn from some of the rows: what cross-validation refits in each fold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.frame.design import Design, Factor
from discrim.frame.factors import Functions, Memory, Rows, evaluate, recall_functions
from discrim.frame.formula import spline_bases
from discrim.frame.grammar import expression
from discrim.frame.table import Table

__all__ = ["learns", "relearn"]


def learns(design: Design) -> bool:
    """Whether a transform of the formula learns from the columns."""
    return design.spec is not None and any(map(_learns, design.spec.factors))


def _learns(factor: Factor) -> bool:
    # Categories made of learnt numbers, C(center(x)), are no categories of other rows.
    return bool(factor.states) and factor.levels is None


def relearn(
    design: Design, table: Table, keep: NDArray[np.bool_], functions: Functions | None = None
) -> Design:
    """The same design, but for what its transforms learn from the columns: that is of some rows only.

    Held are the levels of categories and the ends of splines, which other rows are not to fall outside of.

    Parameters
    ----------
    keep : (n,) bool
        Rows to learn from, complete in the design's columns.
    functions : dict, optional
        The user's own functions that the formula calls.

    Raises
    ------
    FormulaError
        These rows do not support a transform.
    """
    if design.spec is None or not learns(design):
        return design
    functions = recall_functions(design.functions, functions)
    kinds = dict(zip(design.columns, design.spec.kinds, strict=True))
    rows = Rows(table, 0, table.nrows, keep, kinds)
    factors = []
    for factor in design.spec.factors:
        if _learns(factor):
            memory = Memory(factor.states, learning=True)
            evaluate(expression(factor.code, frozenset(functions)), rows, memory, functions, spline_bases())
            factor = replace(factor, states=tuple(memory.states))
        factors.append(factor)
    return replace(design, spec=replace(design.spec, factors=tuple(factors)))
