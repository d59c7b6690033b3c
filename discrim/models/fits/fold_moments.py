"""Moments of the rows outside each fold of a table, all from one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.apart import gather_parts_apart
from discrim.core.moments.given_moments import merged
from discrim.core.moments.moments import ClassMoments, Spread, asks_for_roots, gather_parts
from discrim.core.moments.row_sums import refuse_wide
from discrim.core.moments.sparse_rows import gather_sparse
from discrim.frame.blocks import Blocks
from discrim.models.fits.sparse_blocks import used_sparse_rows

__all__ = ["moment_folds"]

Codes = NDArray[np.intp]


def moment_folds(
    blocks: Blocks, dealt: Codes, folds: int, spread: Spread, *, rooted: bool = True
) -> list[ClassMoments]:
    """Moments of the rows outside each fold, all from one pass; as of `gather_parts`."""
    n_classes = len(blocks.design.levels)
    both = np.where(dealt >= 0, dealt * n_classes + blocks.codes, -1)
    own = replace(blocks, held_codes=both)
    parts = _parts_of_stored(own, folds, n_classes, spread, rooted=rooted)
    if parts is None:
        parts = (gather_parts_apart if blocks.apart else gather_parts)(
            own,
            n_parts=folds,
            n_classes=n_classes,
            n_columns=len(blocks.terms),
            spread=spread,
            rooted=rooted,
        )
    # Of the folds before and after each one, so that folds merge in 2 F steps, not F^2.
    before, after = [parts[0]], [parts[-1]]
    for part in parts[1:]:
        before.append(merged(before[-1], part))
    for part in parts[-2::-1]:
        after.append(merged(part, after[-1]))
    inner = [merged(before[f - 1], after[folds - 2 - f]) for f in range(1, folds - 1)]
    return [after[-2], *inner, before[-2]]


def _parts_of_stored(
    blocks: Blocks, folds: int, n_classes: int, spread: Spread, *, rooted: bool
) -> list[ClassMoments] | None:
    """Moments of each fold of sparse rows; None where they are not sparse, or ask for more."""
    stored = used_sparse_rows(blocks) if spread in ("diagonal", "pooled") else None
    if stored is None:
        return None
    refuse_wide(n_classes, len(blocks.terms), spread, folds)
    ((rows, codes, weights),) = stored
    parts = []
    for fold in range(folds):
        own = np.flatnonzero(codes // n_classes == fold)
        part = rows.rows(own), codes[own] % n_classes, None if weights is None else weights[own]
        found = gather_sparse([part], n_classes=n_classes, n_columns=len(blocks.terms), spread=spread)
        if found is None or (spread == "pooled" and asks_for_roots(found, rooted=rooted)):
            return None
        parts.append(found)
    return parts
