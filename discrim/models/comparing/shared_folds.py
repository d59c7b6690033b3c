"""The folds of a table, which all models of it share: dealt by number, by group, or given."""

from __future__ import annotations

from reprlib import repr as shorten
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.memory import refuse_beyond_memory
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.categories import shown
from discrim.frame.table import Table
from discrim.frame.used_rows import strata, used_codes
from discrim.inference.folds import check_folds, deal, deal_groups
from discrim.models.fits.arguments import is_whole, listed, told
from discrim.models.fits.fit import Fit

__all__ = ["numbered", "refuse_gone", "shared_folds"]

Codes = NDArray[np.intp]

MOST_REPEATS = 10**15
"""More are no number of repeats that any memory holds."""


def shared_folds(blocks: Blocks, folds: Any, repeats: int, groups: Any, seed: int) -> tuple[Codes, list[Any]]:
    """Fold (R, n) of each row of a table that has a class, -1 of the others, and the labels of the folds.

    Raises
    ------
    DataError
        As for `cross_validate`.
    """
    if not is_whole(repeats) or repeats < 1:
        raise DataError(f"repeats={told(repeats)}: give a whole number, 1 or more.")
    refuse_beyond_memory(
        float(min(repeats, MOST_REPEATS)) * blocks.table.nrows * (1 + len(blocks.design.levels)),
        f"So many repeats of {blocks.table.nrows:,} rows, {told(repeats)},",
        "Ask for fewer repeats",
    )
    # A generator would deal other folds to the next model.
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise DataError(f"seed={seed!r}: give a whole number from 0 on, or None.")
    rng = np.random.default_rng(seed)
    classes = strata(blocks)
    known = classes >= 0
    if not isinstance(folds, (int, float, np.number)):
        if repeats > 1 or groups is not None:
            raise DataError("folds= names the fold of each row: leave out repeats= and groups=.")
        own = numbered(folds, blocks.table, "folds", known)
        labels = _fold_labels(folds, blocks.table, own)
        if len(labels) < 2:
            raise DataError("folds= has one fold only: give two or more.")
        return np.where(known, own, -1)[None], labels
    check_folds(folds, int((used_codes(blocks) >= 0).sum()))
    n_folds = int(folds)
    if groups is None:
        dealt = deal(classes, n_folds, repeats, rng)
    else:
        members = numbered(groups, blocks.table, "groups", known)
        there = len(np.unique(members[known]))
        if there < folds:
            raise DataError(f"groups= has {there} groups, too few for folds={folds}: ask for fewer folds.")
        dealt = deal_groups(classes, members, n_folds, repeats, rng)
    return dealt, list(range(1, n_folds + 1))


def _values(given: Any, table: Table, what: str) -> pd.Series:
    """A column, or a vector of the table's length, as a Series."""
    if isinstance(given, str):
        return table.column(given)
    if isinstance(given, pd.Series) and not given.index.equals(table.index):
        raise DataError(f"The index of {what}= differs from the table's: align them, or pass an array.")
    if not hasattr(given, "__len__"):
        # What can be read but once is gone for the next model.
        raise TypeError(f"{what}= has no length")
    values = given if isinstance(given, pd.Series) else pd.Series(list(given))
    if len(values) != table.nrows:
        raise DataError(
            f"{what}= has {len(values)} values; the table has {table.nrows} rows: give a value for each row."
        )
    return values


def numbered(given: Any, table: Table, what: str, known: NDArray[np.bool_] | None = None) -> Codes:
    """Numbers (n,) of the labels of a column or vector, as they first appear; -1 where one is missing.

    Raises
    ------
    DataError
        A row of known class has none.
    """
    try:
        values = _values(given, table, what)
        codes = np.asarray(pd.factorize(values)[0], dtype=np.intp)
    except TypeError:
        raise DataError(
            f"{what}={shorten(given)}: give a column's name or a vector, a value for each row."
        ) from None
    lost = (codes < 0) & (True if known is None else known)
    if known is not None and lost.any():
        row = table.label(int(np.argmax(lost)))
        raise DataError(f"{what}= is missing at row {row!r}: fill it, or drop the row.")
    return codes


def _fold_labels(given: Any, table: Table, codes: Codes) -> list[Any]:
    """Labels of the codes of given folds."""
    values = _values(given, table, "folds")
    return [values.iloc[int(np.argmax(codes == f))] for f in range(int(codes.max()) + 1)]


def refuse_gone(fit: Fit[Any], dealt: Codes, used: Codes, labels: list[Any], *, grouped: bool) -> None:
    """Raise a DataError where a class has no rows outside a fold."""
    k = len(fit.classes)
    rows = np.bincount(used[used >= 0], minlength=k)
    for own in dealt:
        at = own >= 0
        held = np.zeros((len(labels), k))
        np.add.at(held, (own[at], used[at]), 1)
        fold, code = np.argwhere(held == rows)[0] if (held == rows).any() else (-1, -1)
        if code >= 0:
            what = f"All {rows[code]} rows" if rows[code] > 1 else "The one row"
            be = "are" if rows[code] > 1 else "is"
            hint = "use another seed=, fewer folds or smaller groups=" if grouped else "leave it out"
            raise DataError(
                f"{what} of class {listed([fit.classes[code]])} {be} in fold {shown(labels[fold])}, and no "
                f"rule without it knows the class: merge it with another class, or {hint}."
            )
