"""The rows of a design as what is stored of them, for what works on stored numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.frame.blocks import Blocks
from discrim.frame.level_codes import refuse_values
from discrim.frame.sparse import SparseColumns

__all__ = ["StoredRows", "stored_rows"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

SPARSE = 0.1
"""Share of the numbers that are stored up to which working on these is faster than on blocks of all."""

FAR = 8.0
"""Standard deviations beyond which a column that is stored in most rows is held about its mean."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """All rows of a table.

    Attributes
    ----------
    base : (p,) float
        What the columns hold where nothing is stored.
    steps : (n, p) csr_array of float
        Rows less the base.
    missing : (n,) bool
        Rows with a missing value, whose steps mean nothing.
    """

    base: Floats
    steps: scipy.sparse.csr_array
    missing: NDArray[np.bool_]


def stored_rows(blocks: Blocks) -> StoredRows | None:
    """What is stored of rows of numbers, most of which are the same; None where there are no such columns.

    None also where a value is infinite, which blocks refuse.
    """
    if blocks.source is not None or not blocks.design.plain or not blocks.table.nrows:
        return None
    design, sparse = blocks.design, blocks.table.sparse
    if sparse is None:
        return None
    if design.columns not in sparse.rows:
        sparse.rows.clear()
        sparse.rows[design.columns] = _stored(blocks, sparse)
    found: StoredRows | None = sparse.rows[design.columns]
    if found is None or (blocks.keep is None and blocks.unit is None and blocks.lost is None):
        return found
    base, steps, missing = found.base, found.steps, found.missing
    if blocks.keep is not None:
        base, steps = base[list(blocks.keep)], steps[:, list(blocks.keep)]
    if blocks.unit is not None:
        values = steps.data / blocks.unit[steps.indices]
        base, steps = base / blocks.unit, _with_values(steps, values)
    return StoredRows(base, steps, missing if blocks.lost is None else missing | blocks.lost)


def _with_values(steps: scipy.sparse.csr_array, values: Floats) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((values, steps.indices, steps.indptr), shape=steps.shape)


def _stored(blocks: Blocks, sparse: SparseColumns) -> StoredRows | None:
    design, table = blocks.design, blocks.table
    refuse_values(table, design.boolean_columns, counts=False)
    table.compare_to_doubles(design.columns)
    places, at, others = table.sparse_places(design.columns)
    n, p = table.nrows, len(design.columns)
    if len(others) + len(at) * sparse.matrix.nnz / max(n * len(sparse.fill), 1) > SPARSE * p:
        return None
    whole = len(places) == len(sparse.fill) and (np.diff(places) == 1).all()
    part = sparse.matrix if whole else sparse.matrix[:, places]
    fill = sparse.fill[places]
    if np.isinf(part.data).any() or np.isinf(fill).any():
        return None
    missing = _missing_rows(part, fill)
    if missing.any():
        part = _without(part, missing)
    base = np.zeros(p)
    base[at] = np.where(np.isnan(fill), 0.0, fill)
    values = part.data - base[at[part.indices]] if base.any() else part.data
    steps = scipy.sparse.csr_array((values, at[part.indices], part.indptr), shape=(n, p))
    about_mean = at[_far_from_base(steps[:, at], missing)]
    full = np.concatenate([np.array(others, dtype=np.intp), about_mean])
    if not len(full):
        return StoredRows(base, steps, missing)
    columns = np.stack([table.column(design.columns[j]).to_numpy(np.float64) for j in full], axis=1)
    if np.isinf(columns).any():
        return None
    missing |= np.isnan(columns).any(axis=1)
    base[full] = np.nan_to_num(columns[~missing].mean(axis=0)) if not missing.all() else 0.0
    # Counts and other numbers near zero stay as they are.
    spread = columns[~missing].std(axis=0) if not missing.all() else base[full]
    base[full] = np.where(np.abs(base[full]) > FAR * spread, base[full], 0.0)
    columns -= base[full]
    columns[missing] = 0.0
    if len(about_mean):
        kept = ~np.isin(steps.indices, about_mean)
        starts = np.concatenate([[0], np.cumsum(kept)])[steps.indptr]
        steps = scipy.sparse.csr_array((steps.data[kept], steps.indices[kept], starts), shape=(n, p))
    starts = np.arange(n + 1) * len(full)
    steps = steps + scipy.sparse.csr_array((columns.ravel(), np.tile(full, n), starts), shape=(n, p))
    return StoredRows(base, scipy.sparse.csr_array(steps), missing)


def _missing_rows(part: scipy.sparse.csr_array, fill: Floats) -> NDArray[np.bool_]:
    """Rows (n,) that store a missing value, or do not store one where what stands instead is missing."""
    missing = np.zeros(part.shape[0], dtype=bool)
    lost = np.isnan(part.data)
    if lost.any():
        missing[np.repeat(np.arange(len(missing)), np.diff(part.indptr))[lost]] = True
    gone = np.isnan(fill)
    if gone.any():
        row = np.repeat(np.arange(len(missing)), np.diff(part.indptr))
        stored = np.bincount(row[gone[part.indices]], minlength=len(missing))
        missing |= stored < gone.sum()
    return missing


def _without(part: scipy.sparse.csr_array, missing: NDArray[np.bool_]) -> scipy.sparse.csr_array:
    """The same with nothing stored of some rows."""
    lengths = np.diff(part.indptr)
    kept = np.repeat(~missing, lengths)
    starts = np.concatenate([[0], np.cumsum(np.where(missing, 0, lengths))])
    return scipy.sparse.csr_array((part.data[kept], part.indices[kept], starts), shape=part.shape)


def _far_from_base(steps: scipy.sparse.csr_array, missing: NDArray[np.bool_]) -> Codes:
    """Columns stored in most rows whose values lie far from what is not stored, beside how they vary."""
    steps = steps[~missing] if missing.any() else steps
    n, q = steps.shape
    stored = np.bincount(steps.indices, minlength=q)
    if not (2 * stored > n).any():
        return np.flatnonzero(2 * stored > n)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.bincount(steps.indices, steps.data, q) / n
        squares = np.bincount(steps.indices, (steps.data - means[steps.indices]) ** 2, q)
        squares += (n - stored) * means**2
        return np.flatnonzero((2 * stored > n) & (means**2 * n > FAR**2 * squares))
