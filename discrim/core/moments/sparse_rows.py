"""Rows of which most values are the same: what differs is stored, and passes cost as much as is stored.

Theory. Column j of a row is x_j = b_j + s_j, and the steps s_j are zero but for few rows. With u the mean of
the steps of class k, the sum of squares of its rows about their mean is

    sum over stored w (s - u)^2  +  (n_k - what is stored weighs) u^2,

both terms positive, so that nothing cancels: that the zeros are not looked at costs no digit. The mean itself
is corrected by the mean of the deviations from it, which for rounded numbers is not zero.

A linear score is that of the base, plus the products of the steps alone. Where a step is large beside what
the column varies by within classes this loses digits, and so a column that is stored in most rows has a base
amid its values; see `discrim.design.rows`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, merged, split_mean
from discrim.core.moments.row_sums import SAFE, Spread, column_scale, refuse_wide
from discrim.core.numerics.arrays import Codes, Floats

KEPT_WITHIN = 0.125
"""Share of a column's sum of squares that has to be left within classes, so that products keep digits."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Rows x (m, p) = base (p,) + steps (m, p), these without duplicates."""

    base: Floats
    steps: scipy.sparse.csr_array

    def __len__(self) -> int:
        return int(self.steps.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.base)

    def rows(self, which: slice | Codes | NDArray[np.bool_]) -> SparseRows:
        """Some of the rows."""
        return SparseRows(self.base, self.steps[which])

    def columns(self, keep: Codes) -> SparseRows:
        """Some of the columns."""
        if len(keep) == len(self.base) and (keep == np.arange(len(keep))).all():
            return self
        return SparseRows(self.base[keep], self.steps[:, keep])

    def row_of_stored(self) -> Codes:
        """Row of each number that is stored."""
        return np.repeat(np.arange(len(self)), np.diff(self.steps.indptr))

    def column(self, j: int) -> Floats:
        """One column (m,)."""
        return np.asarray(self.base[j] + self.steps[:, [j]].toarray()[:, 0])

    def dense(self) -> Floats:
        """The rows (m, p), every number written out: for few of them."""
        return np.asarray(self.base + self.steps.toarray())

    def products(self, base: Floats, coef: Floats) -> Floats:
        """Base (K,) plus steps times coef (p, K): (m, K)."""
        return np.asarray(self.steps @ coef + base)


SparseBlock = tuple[SparseRows, Codes, Floats | None]
"""A block of sparse rows: x, codes (m,) of their classes, and weights (m,) or None."""


def indicators(codes: Codes, weights: Floats | None, n_classes: int) -> scipy.sparse.csr_array:
    """Weights (K, m) of the rows in their classes: its products with rows are class sums."""
    values = np.ones(len(codes)) if weights is None else weights
    places = codes, np.arange(len(codes))
    return scipy.sparse.csr_array((values, places), shape=(n_classes, len(codes)))


def gather_sparse(
    blocks: Iterable[SparseBlock], *, n_classes: int, n_columns: int, spread: Spread = "diagonal"
) -> ClassMoments | None:
    """Moments of a run of blocks of sparse rows, as `gather` has them; None where these take another way.

    That is where a sum is out of the range of doubles, or the products of a pooled scatter lose digits.
    Blocks are read once; the spread is "diagonal" or "pooled", one scatter without a root.
    """
    refuse_wide(n_classes, n_columns, spread)
    found: list[ClassMoments] = []
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for block in blocks:
            moments = _moments(*block, n_classes, pooled=spread == "pooled")
            if moments is None:
                return None
            found.append(moments)
        return reduce(merged, found)


def _moments(
    rows: SparseRows, codes: Codes, weights: Floats | None, n_classes: int, *, pooled: bool
) -> ClassMoments | None:
    if weights is not None and not (weights > 0).all():
        present = weights > 0
        rows = rows.rows(present)
        codes = codes[present]
        weights = weights[present]
    p = len(rows.base)
    steps = rows.steps
    member = indicators(codes, weights, n_classes)
    counts = np.bincount(codes, weights, minlength=n_classes).astype(np.float64)
    divisors = np.where(counts > 0, counts, 1.0)[:, None]
    means = (member @ steps).toarray() / divisors
    if not np.isfinite(means).all():
        return None
    row = rows.row_of_stored()
    column = steps.indices
    deviations = steps.data - means[codes[row], column]
    scale = _scale(steps, deviations, means)
    deviations *= scale[column]
    weight = None if weights is None else weights[row]
    # What is stored of a class and column, in one place.
    cell = codes[row] * np.intp(p) + column
    means *= scale
    rest = (counts[:, None] - _summed(cell, weight, means.shape)) * means
    # What rounding has left of the mean, and the squares about it.
    left = (
        _summed(cell, deviations if weight is None else weight * deviations, means.shape) - rest
    ) / divisors
    squares = deviations**2
    squares = _summed(cell, squares if weight is None else weight * squares, means.shape)
    squares += rest * means - counts[:, None] * left**2
    np.maximum(squares, 0.0, out=squares)
    if not np.isfinite(squares).all():
        return None
    present = counts[:, None] > 0
    base = np.where(present, rows.base, 0.0)
    step = np.where(present, means + left, 0.0)
    centres, rests = split_mean(base, step, scale)
    rows_held = np.bincount(codes, minlength=n_classes)
    made = ClassMoments(counts, rows_held, centres, rests, scale, squares)
    if not pooled:
        return made
    scatter = _pooled_scatter(rows, weights, np.sqrt(counts)[:, None] * (means + left), scale, squares)
    return None if scatter is None else replace(made, scatters=scatter[None])


def _summed(cell: Codes, values: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Sums (K, p) by cell; of ones where there are no values."""
    return np.bincount(cell, values, shape[0] * shape[1]).reshape(shape).astype(np.float64, copy=False)


def _scale(steps: scipy.sparse.csr_array, deviations: Floats, means: Floats) -> Floats:
    """Powers of two (p,) that bring extreme columns near one; ones where none is extreme."""
    sizes = np.abs(means).max(axis=0, initial=0.0)
    own = np.abs(deviations)
    extreme = own[own > 0]
    if len(extreme) and (extreme.max() > SAFE or extreme.min() < 1 / SAFE):
        np.maximum.at(sizes, steps.indices, own)
    return column_scale(sizes)


def _pooled_scatter(
    rows: SparseRows, weights: Floats | None, lift: Floats, scale: Floats, squares: Floats
) -> Floats | None:
    """The scatter (p, p) within classes; None where its products lose digits to class means (K, p)."""
    steps = rows.steps
    if weights is not None:
        steps = scipy.sparse.diags_array(np.sqrt(weights)) @ steps
    if (scale != 1).any():
        steps = steps @ scipy.sparse.diags_array(scale)
    scatter = (steps.T @ steps).toarray()
    within = squares.sum(axis=0)
    if (within < KEPT_WITHIN * np.diagonal(scatter)).any():
        return None
    scatter -= lift.T @ lift
    np.fill_diagonal(scatter, within)
    return np.asarray(scatter)
