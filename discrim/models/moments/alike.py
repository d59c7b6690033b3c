"""Whether moments belong together, and what is wrong where some are no part of others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from discrim.core.moments.level_counts import LevelCounts
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.moments_without import Remainder
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.frame.categories import shown
from discrim.frame.design import Design
from discrim.models.fits.arguments import listed

__all__ = ["common_levels", "refuse_unlike", "remainder", "with_all_labels"]


def refuse_unlike(a: Design, b: Design) -> None:
    """Raise a FormulaError where designs differ by more than their levels."""
    if replace(a, levels=(), formula="", labels=None, truths=()) != replace(
        b, levels=(), formula="", labels=None, truths=()
    ):
        if a.response != b.response or (a.formula != b.formula and {*a.terms} != {*b.terms}):
            why = f"one is of {a.formula!r}, one of {b.formula!r}"
        elif a.terms != b.terms:
            other = sorted({*a.terms} ^ {*b.terms}) or ["the same ones in another order"]
            why = f"their columns differ: {listed(other)}"
        else:
            why = "a category, a centre or a basis was learnt of each table anew"
        raise FormulaError(
            f"These moments do not belong together: {why}. Take the second from the first: first.of(data)."
        )


def common_levels(a: Design, b: Design) -> tuple[Any, ...]:
    """The levels of both designs, which are the same but for these.

    Raises
    ------
    FormulaError
        They are not.
    DataError
        The order of the levels is not clear.
    """
    refuse_unlike(a, b)
    short, long = sorted((a.levels, b.levels), key=len)
    if tuple(label for label in long if label in short) == short:
        return long
    union = {*a.levels, *b.levels}
    try:
        if all(list(levels) == sorted(levels) for levels in (a.levels, b.levels)):
            return tuple(sorted(union))
    except TypeError:
        pass
    raise DataError(
        f"The classes of the first are {listed(a.levels)} and of the second {listed(b.levels)}, and "
        "it is not clear in which order all of them stand: pass levels= to both."
    )


def with_all_labels(design: Design) -> Design:
    """The design with each level a category of its labels, as one of `levels=` need not be."""
    labels = design.labels
    if labels is None or labels.categories is None or set(design.levels) <= set(labels.categories):
        return design
    more = (level for level in design.levels if level not in labels.categories)
    return replace(design, labels=replace(labels, categories=(*labels.categories, *more)))


def remainder(left: Remainder, counts: LevelCounts, design: Design) -> ClassMoments:
    """The moments of what is left.

    Raises
    ------
    DataError
        The rows that were to go are no part of the others.
    NotSupportedError
        Rounding leaves no digit of a variance, or of what the weights sum to.
    """
    k, j = left.at
    who = f"class {shown(design.levels[k])}" if k >= 0 else "all classes"
    column = repr(design.terms[j]) if j >= 0 else ""
    match left.fault:
        case "rows":
            raise DataError(
                f"More rows of {who} are to be taken out than there are. Take out only what was added."
            )
        case "weights":
            raise DataError(
                f"The rows and the weights of {who} do not match: rows would be left without weight, "
                "or weight without rows. Take out only what was added, or gather the moments of the "
                "rows that are left from the rows themselves."
            )
        case "means" | "squares":
            has = "another mean" if left.fault == "means" else "larger squares"
            raise DataError(
                f"The rows to be taken out of {who} are not a part of its rows: column {column} has "
                f"{has} in them than it can have. Take out only what was added."
            )
        case "digits":
            raise NotSupportedError(
                f"What is left of column {column} in {who} varies so little, compared with the rows "
                "that are taken out, that rounding leaves no digit of its variance. Gather the "
                "moments of the rows that are left from the rows themselves."
            )
    if left.moments is None or any((np.asarray(table) < 0).any() for table in counts.tables):
        raise DataError(
            "More rows of a level are to be taken out than there are. Take out only what was added."
        )
    return left.moments
