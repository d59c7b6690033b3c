"""Rows of sparse columns as core takes them: what is stored of those that a fit uses, or of all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.sparse_rows import SparseBlock, SparseRows
from discrim.frame.blocks import Blocks
from discrim.frame.stored_rows import stored_rows

__all__ = ["StoredUsedRows", "every_sparse_row", "used_sparse_rows", "used_stored_rows"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
StoredUsedRows = tuple[Codes, SparseRows, Codes, Floats | None]
"""Positions in the table, x (m, p), codes (m,) and weights (m,) or None."""


def every_sparse_row(blocks: Blocks) -> tuple[SparseRows, NDArray[np.bool_]] | None:
    """All rows, and which (n,) miss a value; None where the columns are not sparse."""
    held = stored_rows(blocks)
    return None if held is None else (SparseRows(held.base, held.steps), held.missing)


def used_sparse_rows(blocks: Blocks) -> list[SparseBlock] | None:
    """Complete rows of a class and a weight, as `Blocks` gives them; None where columns are not sparse."""
    found = every_sparse_row(blocks)
    if found is None:
        return None
    rows, missing = found
    kept = (blocks.codes >= 0) & ~missing
    if blocks.weights is not None:
        kept &= ~np.isnan(blocks.weights)
    blocks.dropped = int(len(kept) - kept.sum())
    if kept.all():
        return [(rows, blocks.codes, blocks.weights)]
    weights = None if blocks.weights is None else blocks.weights[kept]
    return [(rows.rows(kept), blocks.codes[kept], weights)]


def used_stored_rows(blocks: Blocks) -> Iterator[StoredUsedRows] | None:
    """As `used_rows` gives them, those that a fit uses: positions, x, codes, weights; None as above."""
    found = every_sparse_row(blocks)
    return None if found is None else _used_pieces(blocks, *found)


def _used_pieces(blocks: Blocks, rows: SparseRows, missing: NDArray[np.bool_]) -> Iterator[StoredUsedRows]:
    used = (blocks.codes >= 0) & ~missing
    if blocks.weights is not None:
        used &= blocks.weights > 0
    positions = np.flatnonzero(used)
    piece = max(2**21 // len(blocks.design.levels), 64)
    for start in range(0, len(positions), piece):
        own = positions[start : start + piece]
        yield own, rows.rows(own), blocks.codes[own], None if blocks.weights is None else blocks.weights[own]
