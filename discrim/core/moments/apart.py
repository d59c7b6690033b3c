"""Moments of rows that lie in parts elsewhere: a part gives its own, and these are merged.

Where digits ask for roots is seen of the merged moments alone, since a part may be ill-conditioned where the
whole is not. They are then taken of every part by a second pass, as those of a part alone do not merge.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from discrim.core.moments.given_moments import merged
from discrim.core.moments.moments import (
    ROOT_WORK,
    ClassMoments,
    asks_for_roots,
    gather_parts,
    lacks_digits,
    settled,
)
from discrim.core.moments.row_sums import RowBlocks, RowsAgain, Spread, Sums, products
from discrim.core.numerics.progress import reduced


def gather_apart(
    blocks: RowBlocks, *, n_classes: int, n_columns: int, spread: Spread = "pooled", rooted: bool = True
) -> ClassMoments:
    """Moments of rows that lie apart; as of `gather`."""
    task = partial(_gathered, n_classes=n_classes, n_columns=n_columns, spread=spread)
    found = reduced(blocks, partial(task, roots=False), merged)
    if products(spread) != spread or spread == "diagonal" or not found.total:
        return found
    if asks_for_roots(found, rooted=rooted):
        return reduced(blocks, partial(task, roots=True), merged)
    return found


def gather_parts_apart(
    blocks: RowBlocks,
    *,
    n_parts: int,
    n_classes: int,
    n_columns: int,
    spread: Spread = "pooled",
    rooted: bool = True,
) -> list[ClassMoments]:
    """Moments of each part of rows that lie apart; as of `gather_parts`."""
    task = partial(gather_parts, n_parts=n_parts, n_classes=n_classes, n_columns=n_columns, spread=spread)
    found = reduced(blocks, partial(task, rooted=False), _merged_each)
    if spread == "diagonal" or not rooted:
        return found
    few = sum(int(each.rows.sum()) for each in found) * n_columns**2 <= ROOT_WORK
    if few or any(lacks_digits(each) for each in found if each.total):
        rooted_parts = partial(_rooted_parts, *task.args, **task.keywords)
        return reduced(blocks, rooted_parts, _merged_each)
    return found


def _gathered(
    blocks: RowBlocks, *, n_classes: int, n_columns: int, spread: Spread, roots: bool
) -> ClassMoments:
    """Moments of one part, with roots or without, whatever it holds."""
    sums = Sums(n_classes, n_columns, products(spread))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for block in blocks:
            sums.add(*block)
    return settled(blocks, sums, spread, roots, False)


def _rooted_parts(
    blocks: RowBlocks, *, n_parts: int, n_classes: int, n_columns: int, spread: Spread
) -> list[ClassMoments]:
    return [
        _gathered(
            RowsAgain(blocks, part, n_classes),
            n_classes=n_classes,
            n_columns=n_columns,
            spread=spread,
            roots=True,
        )
        for part in range(n_parts)
    ]


def _merged_each(a: list[ClassMoments], b: list[ClassMoments]) -> list[ClassMoments]:
    return [merged(here, there) for here, there in zip(a, b, strict=True)]
