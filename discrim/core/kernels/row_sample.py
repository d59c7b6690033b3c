"""Uniform sample of the distinct rows of a table, in one pass, independent of chunks and order.

Used by kernel methods that learn features from a sample. Each row has a key, a hash of its values and its
class, and the rows with the smallest keys are the sample (bottom-k sketches; Cohen & Kaplan, 2007, PODC 26,
225-234). Equal rows have equal keys and are one row of the sample, with the sum of their weights. The sample
of all rows therefore follows from the samples of chunks. It depends neither on the chunks nor on their order,
nor on whether a row occurs twice or has a weight of two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.map_reduce import map_reduce

Keys = NDArray[np.uint64]
"""Hashes of rows."""

SPLITMIX_MULTIPLIERS = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
"""Multipliers of splitmix64 (Steele, Lea & Flood, 2014, OOPSLA, 453-472)."""

SHIFT = np.uint64(29)
"""Number of bits by which hashes are shifted before they are combined with themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """Distinct rows with the smallest keys, in the order of the keys.

    Attributes
    ----------
    max_rows : int
        Maximum size.
    keys : (s,) uint64
        Hashes of the rows, ascending and distinct; s is at most `max_rows`.
    x : (s, p) float
        Values of the rows.
    codes : (s,) int
        Classes of the rows.
    weights : (s,) float
        Sums of the weights of equal rows.
    has_weights : bool
        Whether any row had a weight.
    """

    max_rows: int
    keys: Keys
    x: Floats
    codes: Codes
    weights: Floats
    has_weights: bool = False

    def merge(self, other: RowSample) -> RowSample:
        """Return the sample, of at most `self.max_rows`, of all rows from the samples of two parts.

        The weights of rows with equal keys are added.
        """
        keys = np.concatenate([self.keys, other.keys])
        distinct_keys, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        weights = np.bincount(inverse, np.concatenate([self.weights, other.weights])).astype(np.float64)
        first = first[: self.max_rows]
        x = np.concatenate([self.x, other.x])[first]
        codes = np.concatenate([self.codes, other.codes])[first]
        weighted = self.has_weights or other.has_weights
        return RowSample(
            self.max_rows, distinct_keys[: self.max_rows], x, codes, weights[: self.max_rows], weighted
        )

    def truncate(self, count: int) -> RowSample:
        """Return the sample with a maximum size of `count`, or of `max_rows` if that is smaller."""
        head = slice(min(count, self.max_rows))
        return replace(
            self, max_rows=min(count, self.max_rows), keys=self.keys[head], x=self.x[head],
            codes=self.codes[head], weights=self.weights[head],
        )  # fmt: skip


def row_keys(x: Floats, codes: Codes) -> Keys:
    """Return 64-bit hashes of rows with their classes; equal rows of a class have equal hashes.

    Parameters
    ----------
    x : (m, p) float
        Rows of the design matrix.
    codes : (m,) int
        Classes of the rows.

    Returns
    -------
    (m,) uint64
    """
    keys = codes.astype(np.uint64) + SPLITMIX_MULTIPLIERS[0]
    for column in x.T:
        # Adding zero converts -0.0 to 0.0, which compare equal but have different bits.
        keys ^= np.ascontiguousarray(column + 0.0).view(np.uint64)
        keys *= SPLITMIX_MULTIPLIERS[1]
        keys ^= keys >> SHIFT
    for factor in SPLITMIX_MULTIPLIERS[1:]:
        keys *= factor
        keys ^= keys >> SHIFT
    return keys


def sample_rows(blocks: RowBlocks, max_rows: int, n_columns: int) -> RowSample:
    """Sample the distinct rows of positive weight of a table in one pass; see the module docstring.

    Parameters
    ----------
    blocks : RowBlocks
        Blocks (x, codes, weights) of rows.
    max_rows : int
        Maximum size of the sample.
    n_columns : int
        Number of columns of x, which blocks without rows do not show.

    Returns
    -------
    RowSample
        All distinct rows of positive weight if there are at most `max_rows`.
    """
    return map_reduce(
        blocks, partial(_sample_blocks, max_rows=max_rows, n_columns=n_columns), RowSample.merge
    )


def _sample_blocks(blocks: RowBlocks, *, max_rows: int, n_columns: int) -> RowSample:
    """Return the sample of the rows of some blocks, the part of `sample_rows` that runs on one worker.

    Parameters
    ----------
    blocks : RowBlocks
        Blocks (x, codes, weights) of rows.
    max_rows : int
        Maximum size of the sample.
    n_columns : int
        Number of columns.

    Returns
    -------
    RowSample
        Without rows if no row has a positive weight.
    """
    empty = np.zeros(0)
    sample = RowSample(
        max_rows, empty.astype(np.uint64), np.zeros((0, n_columns)), empty.astype(np.intp), empty
    )  # fmt: skip
    for x, codes, weights in blocks:
        keys = row_keys(x, codes)
        is_used = np.ones(len(x), dtype=np.bool_) if weights is None else weights > 0
        if len(sample.keys) == max_rows:
            is_used &= keys <= sample.keys[-1]
        row_index = np.flatnonzero(is_used)
        if not len(row_index):
            continue
        row_weights = np.ones(len(row_index)) if weights is None else weights[row_index]
        new = RowSample(
            max_rows, keys[row_index], x[row_index], codes[row_index], row_weights, weights is not None
        )
        sample = sample.merge(new)
    return sample
