"""The rows of a table that a fit uses: block by block, all at once, and the classes they are of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.frame.blocks import Blocks
from discrim.frame.own_functions import recall_functions
from discrim.frame.response import classes_as_seen

__all__ = [
    "GatheredRows",
    "UsedRows",
    "gathered_rows",
    "repeated",
    "strata",
    "used_codes",
    "used_of_block",
    "used_rows",
    "weighted_rows",
    "with_classes",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
UsedRows = tuple[slice | Codes, Floats, Codes, Floats | None]
"""Positions in the table, x (m, p), codes (m,) and weights (m,) or None."""


def used_rows(blocks: Blocks) -> Iterator[UsedRows]:
    """Rows that a fit uses, block by block: their positions in the table, x, codes and weights."""
    blocks = with_classes(blocks)
    for place, x, missing in blocks.every_row():
        used = used_of_block(blocks, place, x, missing)
        if used is not None:
            yield used


def with_classes(blocks: Blocks) -> Blocks:
    """Blocks that know the class and the weight of each row.

    Of a source they are read before the pass that asks for them, and not in the midst of it: another pass
    may not be possible then.
    """
    if blocks.source is None:
        return blocks
    return replace(blocks, held_codes=blocks.codes, held_weights=blocks.weights)


def used_of_block(
    blocks: Blocks, place: slice, x: Floats, missing: NDArray[np.bool_] | None
) -> UsedRows | None:
    """The rows of one block, as `every_row` gives it, that a fit uses; None where it uses none."""
    codes = blocks.codes[place]
    weights = None if blocks.weights is None else blocks.weights[place]
    used = codes >= 0
    if weights is not None:
        used = used & (weights > 0)
    if missing is not None and not blocks.incomplete:
        used &= ~missing
    if used.all():
        return place, x, codes, weights
    if not used.any():
        return None
    rows = place.start + np.flatnonzero(used)
    return rows, x[used], codes[used], None if weights is None else weights[used]


class GatheredRows(NamedTuple):
    """The rows that a fit uses, all at once.

    Attributes
    ----------
    x : (n, p) float
    codes : (n,) int
    positions : (n,) int
        In the table.
    """

    x: Floats
    codes: Codes
    positions: Codes


def gathered_rows(blocks: Blocks) -> GatheredRows:
    """The rows that a fit uses, in memory: for models that go back to single rows."""
    parts = [
        (x.copy(), codes.copy(), np.arange(place.start, place.stop) if isinstance(place, slice) else place)
        for place, x, codes, _ in used_rows(blocks)
    ]
    x, codes, positions = zip(*parts, strict=True)
    return GatheredRows(np.concatenate(x), np.concatenate(codes), np.concatenate(positions))


def weighted_rows(blocks: Blocks) -> tuple[Floats, Codes, Floats | None]:
    """The rows that a fit uses (n, p), their classes (n,) and their weights (n,), if any, in memory."""
    parts = [(x.copy(), codes.copy(), weights) for _, x, codes, weights in used_rows(blocks)]
    if not parts:
        return np.empty((0, len(blocks.terms))), np.empty(0, dtype=np.intp), None
    x, codes = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    weighted = parts[0][2] is not None
    return x, codes, np.concatenate([np.asarray(part[2]) for part in parts]) if weighted else None


def repeated(x: Floats, codes: Codes, weights: Floats | None) -> tuple[Floats, Codes]:
    """Copies of rows (m, p) and their codes, each as often as its weight says, a whole number."""
    times = 1 if weights is None else weights.astype(np.intp)
    return np.repeat(x, times, axis=0), np.repeat(codes, times)


def used_codes(blocks: Blocks) -> Codes:
    """Class (n,) of each row of the table that a fit uses, -1 for the others."""
    if not blocks.dropped:
        # No row misses a value: there is nothing to look for.
        weights = blocks.weights
        return blocks.codes if weights is None else np.where(weights > 0, blocks.codes, -1)
    codes = np.full(blocks.table.nrows, -1, dtype=np.intp)
    for rows, _, own, _ in used_rows(blocks):
        codes[rows] = own
    return codes


def strata(blocks: Blocks) -> Codes:
    """Class (n,) of each row of the table, also of those whose class a model leaves out."""
    if (blocks.codes >= 0).all():
        return blocks.codes
    functions = recall_functions(blocks.design.functions, blocks.functions)
    return classes_as_seen(blocks.design.response_code, blocks.table, functions)
