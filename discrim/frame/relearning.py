"""A design whose transforms learn from some of the rows: what cross-validation refits in each fold."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DiscrimWarning
from discrim.frame.design import Design, Factor, Spec
from discrim.frame.factors import Memory, Rows, evaluate
from discrim.frame.formula import specify, spline_bases
from discrim.frame.grammar import expression
from discrim.frame.own_functions import Functions, recall_functions
from discrim.frame.table import Table
from discrim.frame.unseen import absent_levels, unseen_rows

__all__ = ["learns", "loses_levels", "relearn", "strange_rows"]


def learns(design: Design) -> bool:
    """Whether a transform of the formula learns from the columns."""
    return design.spec is not None and any(map(_learns, design.spec.factors))


def loses_levels(
    design: Design, table: Table, dealt: NDArray[np.intp], folds: int, functions: Functions | None = None
) -> bool:
    """Whether some level of a category has all its rows in one fold (n,), of those dealt (-1: not used)."""
    if design.spec is None or all(factor.levels is None for factor in design.spec.factors):
        return False
    parts = ((dealt >= 0) & (dealt != fold) for fold in range(folds))
    return any(absent_levels(design, table, keep, functions) for keep in parts)


def strange_rows(
    design: Design, table: Table, functions: Functions | None = None
) -> NDArray[np.bool_] | None:
    """Rows (n,) with a level that a relearnt design has not; None where none has."""
    with warnings.catch_warnings():
        # They have no label, which is said of all folds at once.
        warnings.simplefilter("ignore", DiscrimWarning)
        return unseen_rows(design, table, functions)


def _learns(factor: Factor) -> bool:
    # Categories made of learnt numbers, C(center(x)), are no categories of other rows.
    return bool(factor.states) and factor.levels is None


def relearn(
    design: Design, table: Table, keep: NDArray[np.bool_], functions: Functions | None = None
) -> Design:
    """The same design, but for what its transforms learn from the columns: that is of some rows only.

    Held are the ends of splines, which other rows are not to fall outside of, and the levels of categories
    that have a row.

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
    if design.spec is None:
        return design
    found = _relearnt(design, design.spec, table, keep, functions) if learns(design) else design
    return (
        _of_levels(found, table, keep, functions) if absent_levels(found, table, keep, functions) else found
    )


def _of_levels(design: Design, table: Table, keep: NDArray[np.bool_], functions: Functions | None) -> Design:
    """The design of the levels that some rows have: categories are coded anew, all else is held."""
    called = recall_functions(design.functions, functions)
    spec = design.spec
    if spec is None:
        return design
    codes = [factor.code for factor in spec.factors]
    expressions = {code: expression(code, frozenset(called)) for code in codes}
    terms = list(dict.fromkeys(tuple(codes[factor] for factor, _ in product) for product in spec.products))
    some = Table(table.frame(design.columns)[keep])
    with warnings.catch_warnings():
        # That levels have no row here is why they are left out.
        warnings.simplefilter("ignore", DiscrimWarning)
        names, own = specify(expressions, terms, design.columns, (), some, called)
    held = {factor.code: factor for factor in spec.factors if factor.levels is None}
    factors = tuple(held.get(factor.code, factor) for factor in own.factors)
    return replace(design, terms=names, spec=replace(own, kinds=spec.kinds, factors=factors))


def _relearnt(
    design: Design, spec: Spec, table: Table, keep: NDArray[np.bool_], functions: Functions | None
) -> Design:
    """The design with what its transforms learn from some rows."""
    functions = recall_functions(design.functions, functions)
    kinds = dict(zip(design.columns, spec.kinds, strict=True))
    rows = Rows(table, 0, table.nrows, keep, kinds)
    factors = []
    for factor in spec.factors:
        if _learns(factor):
            memory = Memory(factor.states, learning=True)
            evaluate(expression(factor.code, frozenset(functions)), rows, memory, functions, spline_bases())
            factor = replace(factor, states=tuple(memory.states))
        factors.append(factor)
    return replace(design, spec=replace(spec, factors=tuple(factors)))
