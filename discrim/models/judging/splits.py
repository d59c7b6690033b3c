"""Rows to learn from and rows to be judged by, given pair by pair as scikit-learn's `cv=` takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, Spread
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes
from discrim.models.fits.reading import class_moments

__all__ = ["Split", "Splits", "read_splits", "split_moments", "used_splits"]

Floats = NDArray[np.float64]

Splits = Iterable[tuple[Sequence[int], Sequence[int]]]
"""What a user gives: for each split the positions of the rows to learn from, and of those to be judged."""


class Split(NamedTuple):
    """Times that each row of a table is learnt from, and is judged.

    Attributes
    ----------
    train, test : (n,) float
    """

    train: Floats
    test: Floats


def read_splits(cv: Any, blocks: Blocks, also: str) -> tuple[Split, ...]:
    """Splits of the rows of a table, checked.

    Parameters
    ----------
    cv : iterable of (train, test)
        Positions of rows, or for each row whether it is one.
    blocks : Blocks
        Of the table, after the rows that a fit does not use were dropped.
    also : str
        What else cv may be, for the message.

    Raises
    ------
    DataError
        No such thing, no split at all, a row that is not in the table, or no row to learn from or to judge
        that the fit uses.
    """
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise DataError(f"folds={cv!r}: give {also}, or splits: pairs of row positions, (train, test).")
    pairs = list(cv)
    if not pairs:
        raise DataError(f"folds is empty: give {also}, or splits: pairs of row positions, (train, test).")
    used = used_codes(blocks) >= 0
    return tuple(_read(pair, number, used) for number, pair in enumerate(pairs, start=1))


def _read(pair: Any, number: int, used: NDArray[np.bool_]) -> Split:
    try:
        train, test = pair
    except (TypeError, ValueError):
        raise DataError(f"Split {number} of folds is no pair of row positions: give (train, test).") from None
    return Split(
        _times(train, f"Train of split {number} of folds", used),
        _times(test, f"Test of split {number} of folds", used),
    )


def _times(given: Any, what: str, used: NDArray[np.bool_]) -> Floats:
    """How often each row of the table is among those given."""
    positions, rows = np.asarray(given), len(used)
    if positions.ndim == 1 and positions.dtype == bool:
        if len(positions) != rows:
            raise DataError(
                f"{what} has {len(positions)} truth values: the table has {rows} rows. Give one for each."
            )
        positions = np.flatnonzero(positions)
    if not positions.size:
        raise DataError(f"{what} is empty: give positions of rows, from 0 on.")
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise DataError(f"{what} is no list of row positions: give whole numbers from 0 on.")
    wrong = positions[(positions < 0) | (positions >= rows)]
    if len(wrong):
        raise DataError(
            f"{what} has position {wrong[0]}: the table has {rows} rows, counted from 0 to {rows - 1}: "
            "give positions of these."
        )
    if not used[positions].any():
        raise DataError(
            f"{what} has no row that the fit uses: its rows miss values or have a weight of zero. "
            "Give other rows."
        )
    return np.bincount(positions, minlength=rows).astype(np.float64)


def used_splits(splits: Sequence[Split], blocks: Blocks) -> tuple[Split, ...]:
    """The splits of the rows that a fit uses, in their order and without the others."""
    used = used_codes(blocks) >= 0
    return tuple(Split(train[used], test[used]) for train, test in splits)


def split_moments(
    blocks: Blocks, splits: Sequence[Split], spread: Spread, *, rooted: bool = True
) -> Iterator[ClassMoments]:
    """Moments of the rows that each split learns from; as of `class_moments`."""
    base = np.ones(blocks.table.nrows) if blocks.weights is None else blocks.weights
    for split in splits:
        yield class_moments(replace(blocks, held_weights=base * split.train), spread, rooted=rooted)
