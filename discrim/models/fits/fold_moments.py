"""Moments of the rows outside each fold of a table, all from one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.apart import gather_parts_apart
from discrim.core.moments.given_moments import merged
from discrim.core.moments.moments import ClassMoments, Spread, gather_parts
from discrim.frame.blocks import Blocks

__all__ = ["moment_folds"]

Codes = NDArray[np.intp]


def moment_folds(
    blocks: Blocks, dealt: Codes, folds: int, spread: Spread, *, rooted: bool = True
) -> list[ClassMoments]:
    """Moments of the rows outside each fold, all from one pass; as of `gather_parts`."""
    n_classes = len(blocks.design.levels)
    both = np.where(dealt >= 0, dealt * n_classes + blocks.codes, -1)
    parts = (gather_parts_apart if blocks.apart else gather_parts)(
        replace(blocks, held_codes=both),
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
