"""Rows to learn from and rows to be judged by, given pair by pair as scikit-learn's `cv=` takes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments import ClassMoments, Spread
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.models.judging.validation import used_codes
from discrim.models.sample import class_moments

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


def read_splits(cv: Any, rows: int, also: str) -> tuple[Split, ...]:
    """Splits of the rows of a table, checked.

    Parameters
    ----------
    cv : iterable of (train, test)
        Positions of rows, or for each row whether it is one.
    rows : int
        Of the table.
    also : str
        What else cv may be, for the message.

    Raises
    ------
    DataError
        No such thing, no split at all, no row to learn from or to judge, or a row that is not in the table.
    """
    if isinstance(cv, str) or not isinstance(cv, Iterable):
        raise DataError(f"cv={cv!r}: give {also}, or splits: pairs of row positions, (train, test).")
    pairs = list(cv)
    if not pairs:
        raise DataError(f"cv is empty: give {also}, or splits: pairs of row positions, (train, test).")
    return tuple(_read(pair, number, rows) for number, pair in enumerate(pairs, start=1))


def _read(pair: Any, number: int, rows: int) -> Split:
    try:
        train, test = pair
    except (TypeError, ValueError):
        raise DataError(f"Split {number} of cv is no pair of row positions, (train, test).") from None
    return Split(
        _times(train, f"train of split {number}", rows), _times(test, f"test of split {number}", rows)
    )


def _times(given: Any, what: str, rows: int) -> Floats:
    """How often each row of the table is among those given."""
    positions = np.asarray(given)
    if positions.dtype == bool and positions.shape == (rows,):
        positions = np.flatnonzero(positions)
    if positions.ndim != 1 or positions.dtype.kind not in "iu" or not len(positions):
        raise DataError(
            f"{what.capitalize()} of cv is no list of row positions: give whole numbers from 0 on."
        )
    wrong = positions[(positions < 0) | (positions >= rows)]
    if len(wrong):
        raise DataError(
            f"{what.capitalize()} of cv has position {wrong[0]}: the table has {rows} rows, counted from 0 "
            f"to {rows - 1}."
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
        yield class_moments(replace(blocks, weights=base * split.train), spread, rooted=rooted)
