"""Levels in new rows that a fit has not seen: where they are, and what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import warn_user
from discrim.frame.categories import Scalar, shown
from discrim.frame.design import Design
from discrim.frame.factors import Categories, Memory, Rows, evaluate
from discrim.frame.formula import spline_bases
from discrim.frame.grammar import expression
from discrim.frame.own_functions import Functions, recall_functions
from discrim.frame.table import Table

__all__ = ["Unseen", "absent_levels", "lone_rows", "unseen_rows"]

Unseen = Literal["raise", "missing"]
"""What a level of new rows is that the fit has not seen: an error, or missing."""

Mask = NDArray[np.bool_]


class _Category(NamedTuple):
    """A category of a design: its name, its levels, its values, and the rows that have them."""

    label: str
    levels: tuple[Scalar, ...]
    values: pd.Series
    rows: NDArray[np.intp]


def unseen_rows(
    design: Design, table: Table, functions: Functions | None = None, *, partial: bool = False
) -> Mask | None:
    """Rows (n,) of a table with a level that the fit has not seen, which a warning counts; None for none.

    Parameters
    ----------
    design : Design
    table : Table
    functions : dict, optional
        The user's own functions that the formula calls.
    partial : bool
        Whether such a row is used by its other columns.
    """
    lost = np.zeros(table.nrows, dtype=bool)
    said: list[str] = []
    for label, levels, values, at in _categories(design, table, functions):
        strange = values.notna().to_numpy() & ~values.isin(list(levels)).to_numpy()
        if strange.any():
            first = int(np.argmax(strange))
            said.append(f"{label} is {shown(values.iloc[first])} at row {shown(table.label(int(at[first])))}")
            lost[at[strange]] = True
    if not said:
        return None
    count = int(lost.sum())
    others = len(said) - 2
    more = f" and in {others} more {'column' if others == 1 else 'columns'}" if others > 0 else ""
    what = "what is said of {} is missing" if not partial else "what is said of {} rests on other columns"
    warn_user(
        f"{count} {'row has' if count == 1 else 'rows have'} a level that the fit has not seen "
        f"({', '.join(said[:2])}{more}): {what.format('it' if count == 1 else 'them')}."
    )
    return lost


def absent_levels(design: Design, table: Table, keep: Mask, functions: Functions | None = None) -> bool:
    """Whether some level of a category has no row among those to keep (n,)."""
    for _, levels, values, at in _categories(design, table, functions):
        if values[keep[at]].nunique() < len(levels):
            return True
    return False


def lone_rows(design: Design, table: Table, keep: Mask, functions: Functions | None = None) -> Mask:
    """Which rows (n,) leave some level of a category without any other row among those to keep (n,)."""
    lone = np.zeros(table.nrows, dtype=bool)
    for _, levels, values, at in _categories(design, table, functions):
        kept = values[keep[at]]
        if kept.nunique() < len(levels):
            lone[:] = True
        lone[at[keep[at]]] |= ~kept.duplicated(keep=False).to_numpy()
    return lone


def _categories(design: Design, table: Table, functions: Functions | None) -> Iterator[_Category]:
    if design.spec is None:
        return
    functions = recall_functions(design.functions, functions)
    kinds = dict(zip(design.columns, design.spec.kinds, strict=True))
    known = {name: kind for name, kind in kinds.items() if kind in {"categorical", "text"}}
    for factor in design.spec.factors:
        if factor.levels is None:
            continue
        each = expression(factor.code, frozenset(functions))
        rows, keep = Rows(table, 0, table.nrows, kinds=known).complete(each.columns)
        value = evaluate(each, rows, Memory(factor.states), functions, spline_bases())
        if isinstance(value, Categories):
            yield _Category(each.label, factor.levels, value.values, np.flatnonzero(keep))
