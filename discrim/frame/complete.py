"""Rows that a formula can use: complete in its columns, and in what functions of the user's make of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.frame.design import Spec
from discrim.frame.factors import Categories, Memory, Rows, evaluate
from discrim.frame.grammar import Expression, expression
from discrim.frame.own_functions import Functions
from discrim.frame.transforms import Bases

__all__ = ["complete_rows", "learning_rows"]

Mask = NDArray[np.bool_]


def complete_rows(
    rows: Rows, columns: Sequence[str], spec: Spec, functions: Functions, bases: Bases
) -> tuple[Rows, Mask]:
    """The rows that miss nothing, and where they are, (m,).

    A row is missing in which a column has no value, or to which a function of the user's gives no category.

    Parameters
    ----------
    rows : Rows
    columns : sequence of str
        Those that the factors read.
    spec : Spec
    functions : dict
        The user's own functions.
    bases : dict
        ``bs`` and ``cr``.
    """
    complete, keep = rows.complete(columns)
    names = frozenset(functions)
    made = [
        (expression(factor.code, names), Memory(factor.states))
        for factor in spec.factors
        if factor.levels is not None
    ]
    return _without_lost(complete, keep, made, functions, bases)


def learning_rows(
    rows: Rows,
    columns: Sequence[str],
    beside: Sequence[str],
    expressions: Iterable[Expression],
    functions: Functions,
    bases: Bases,
) -> Rows:
    """The complete rows, from which the factors of a new design learn.

    Raises
    ------
    DataError
        There is none.
    """
    complete, keep = rows.complete((*columns, *beside))
    if not keep.any():
        missing = max(columns, key=lambda name: int((~rows.complete((name,))[1]).sum()))
        raise DataError(
            f"No row has a value in every column the formula reads; {missing!r} is missing most often: "
            "leave it out, or fill its values."
        )
    made = [(each, Memory()) for each in expressions]
    known, keep = _without_lost(complete, keep, made, functions, bases)
    if not keep.any():
        called = dict.fromkeys(each.code for each, _ in made if each.functions)
        raise DataError(
            f"No row is left: {', '.join(called)} gives no category to any of {len(complete.index)} rows. "
            "Correct the function, or give it other columns."
        )
    return known


def _without_lost(
    complete: Rows, keep: Mask, made: Iterable[tuple[Expression, Memory]], functions: Functions, bases: Bases
) -> tuple[Rows, Mask]:
    """Complete rows without those to which a function of the user's gives no category."""
    lost = np.zeros(len(complete.index), dtype=bool)
    for each, memory in made:
        if each.functions and len(lost):
            value = evaluate(each, complete, memory, functions, bases)
            if isinstance(value, Categories):
                lost |= value.values.isna().to_numpy()
    if lost.any():
        keep = keep.copy()
        keep[keep] = ~lost
        complete = complete.only(~lost)
    return complete, keep
