"""Rows dealt to folds: classes in proportion, groups together, the same for every model.

Theory. Folds are a function of what is known of the rows before any model is: how many there are, their
classes, their groups, and a seed. Two models of one table are then judged on the same folds, whatever
columns they use, and their errors can be compared pair by pair.

Without groups, the rows of each class are shuffled and dealt in turn, so that a class has in any two folds
the same number of rows up to one, as have the folds. With groups, these are shuffled and then placed from
the largest to the smallest, each where sum_k c_fk g_k / n_k is least, c_fk being the rows of class k that
fold f holds already, g_k those of the group and n_k all: the place that adds least to sum_fk c_fk^2 / n_k,
which is smallest where each fold has the same share of each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError

__all__ = ["check_folds", "deal", "deal_groups", "dealt_codes", "drawn_seed", "generator"]

Codes = NDArray[np.intp]


def deal(codes: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Fold (R, n) of each row in each repeat, -1 for a row without a class.

    Parameters
    ----------
    codes : (n,) int
        Class of each row, -1 where it has none.
    folds, repeats : int
    rng : Generator
        The first repeat does not depend on how many there are.

    Notes
    -----
    How the classes are numbered does not matter.
    """
    positions = np.flatnonzero(codes >= 0)
    dealt = np.full((repeats, len(codes)), -1, dtype=np.intp)
    seen = _as_seen(codes[positions])
    # Short codes sort by radix, in linear time.
    seen = seen.astype(np.int16) if len(seen) and seen.max() < 2**15 else seen
    for own in dealt:
        order = rng.permutation(len(positions))
        order = order[np.argsort(seen[order], kind="stable")]
        own[positions[order]] = np.arange(len(order)) % folds
    return dealt


def _as_seen(codes: Codes) -> Codes:
    """Codes numbered as they first appear: what the levels' order is does not matter then."""
    return np.asarray(pd.factorize(codes)[0], dtype=np.intp)


def deal_groups(codes: Codes, groups: Codes, folds: int, repeats: int, rng: np.random.Generator) -> Codes:
    """Fold (R, n) of each row in each repeat, all rows of a group in one; as `deal`.

    Parameters
    ----------
    groups : (n,) int
        Group of each row; a row without a class may have none.
    """
    used = codes >= 0
    groups = groups[used]
    kinds = _as_seen(codes[used])
    n_groups, n_classes = int(groups.max()) + 1, int(kinds.max()) + 1
    counts = np.zeros((n_groups, n_classes))
    np.add.at(counts, (groups, kinds), 1.0)
    shares = counts / counts.sum(axis=0)
    sizes = counts.sum(axis=1)
    dealt = np.full((repeats, len(codes)), -1, dtype=np.intp)
    for own in dealt:
        order = rng.permutation(n_groups)
        order = order[np.argsort(-sizes[order], kind="stable")]
        place = np.empty(n_groups, dtype=np.intp)
        held = np.zeros((folds, n_classes))
        rows = np.zeros(folds)
        for group in order.tolist():
            cost = held @ shares[group]
            # Rounding shall not decide between folds that are alike.
            near = cost <= cost.min() + 1e-9
            fold = int(np.argmin(np.where(near, rows, np.inf)))
            place[group] = fold
            held[fold] += counts[group]
            rows[fold] += sizes[group]
        own[used] = place[groups]
    return dealt


def check_folds(folds: Any, rows: int) -> None:
    """Raise a DataError for a number of folds that is none."""
    whole = isinstance(folds, (int, np.integer)) and not isinstance(folds, bool)
    if not (whole and 2 <= folds <= rows):
        raise DataError(f"folds={folds!r}: give a number from 2 to the {rows} rows of the fit.")


def drawn_seed(seed: int | None) -> int:
    """The seed, or one that is drawn, so that what is random can be done again."""
    return int(np.random.default_rng().integers(2**32)) if seed is None else seed


def dealt_codes(codes: Codes, folds: int, seed: int | None) -> Codes:
    """Fold (n,) of each row of a class, from codes (n,) that are -1 for rows not used."""
    check_folds(folds, int((codes >= 0).sum()))
    return np.asarray(deal(codes, folds, 1, generator(seed))[0])


def generator(seed: int | None) -> np.random.Generator:
    """A generator of random numbers, or a DataError that says what a seed is."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise DataError(f"seed={seed!r}: give a whole number, 0 or more, or None.") from None
