"""Rows with mostly equal values per column: only the differences are stored, and passes cost as much.

`gather_sparse` is the counterpart of `discrim.core.moments.moments.gather` for sparse designs.

Theory. Column j of a row is x_j = b_j + s_j, and the steps s_j are zero in most rows. With u the mean of
the steps of class k, the sum of squares of its rows about their mean is

    sum over stored w (s - u)^2  +  (n_k - weight of stored) u^2,

a sum of positive terms without cancellation, so skipping the zeros costs no digits. The mean itself is
corrected by the mean of the deviations from it, which is not zero because of rounding.

A linear score is the score of the base plus the products of the steps. If a step is large relative to the
standard deviation of the column within classes, this loses digits; therefore a column that is stored in most
rows has a base in the middle of its values; see `discrim.design.rows`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, merge_rescaled, split_mean
from discrim.core.moments.row_sums import (
    MAX_UNSCALED_DEVIATION,
    ScatterType,
    column_scale,
    raise_if_sums_exceed_memory,
)
from discrim.core.numerics.arrays import Codes, Floats

MIN_WITHIN_SHARE = 0.125
"""Smallest proportion of a column's sum of squares that has to be within classes for accurate products."""


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Rows x (m, p) = base + steps.

    Attributes
    ----------
    base : (p,) float
        Values that most rows have.
    steps : (m, p) sparse array
        Without duplicates.
    """

    base: Floats
    steps: scipy.sparse.csr_array

    def __len__(self) -> int:
        return int(self.steps.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of columns."""
        return len(self), len(self.base)

    def select_rows(self, which: slice | Codes | NDArray[np.bool_]) -> SparseRows:
        """Return the rows at a slice, at positions, or where a mask (m,) is true."""
        return SparseRows(self.base, self.steps[which])

    def select_columns(self, keep: Codes) -> SparseRows:
        """Return the rows with the columns at positions (q,) only; self if these are all columns in order."""
        if len(keep) == len(self.base) and (keep == np.arange(len(keep))).all():
            return self
        return SparseRows(self.base[keep], self.steps[:, keep])

    def stored_row_index(self) -> Codes:
        """Return the row position (v,) of each of the v stored values."""
        return np.repeat(np.arange(len(self)), np.diff(self.steps.indptr))

    def column(self, j: int) -> Floats:
        """Return column j (m,) as a dense array."""
        return np.asarray(self.base[j] + self.steps[:, [j]].toarray()[:, 0])

    def to_dense(self) -> Floats:
        """Return the rows as a dense array (m, p)."""
        return np.asarray(self.base + self.steps.toarray())

    def products(self, base: Floats, coef: Floats) -> Floats:
        """Return the values (m, K) of K linear functions of the rows.

        They are the given values (K,) at the base plus the steps times coef (p, K).
        """
        return np.asarray(self.steps @ coef + base)


SparseBlock = tuple[SparseRows, Codes, Floats | None]
"""A block of sparse rows: x, codes (m,) of their classes, and weights (m,) or None."""


def class_indicators(codes: Codes, weights: Floats | None, n_classes: int) -> scipy.sparse.csr_array:
    """Return the sparse matrix (K, m) whose product with rows (m, p) is the weighted class sums (K, p).

    Parameters
    ----------
    codes : (m,) int
        Class of each row.
    weights : (m,) float, optional
        Weights of the rows; ones by default.
    n_classes : int
        Number of classes.

    Returns
    -------
    (K, m) sparse array
        In column i the weight of row i at its class, and zero at the other classes.
    """
    values = np.ones(len(codes)) if weights is None else weights
    cells = codes, np.arange(len(codes))
    return scipy.sparse.csr_array((values, cells), shape=(n_classes, len(codes)))


def gather_sparse(
    blocks: Iterable[SparseBlock],
    *,
    n_classes: int,
    n_columns: int,
    required_moments: ScatterType = "diagonal",
) -> ClassMoments | None:
    """Compute the moments of sparse rows in one pass.

    Parameters
    ----------
    blocks : iterable of (rows, codes, weights)
        One or more blocks of sparse rows, codes (m,) of their classes, and weights (m,) or None for ones.
    n_classes, n_columns : int
        Numbers of classes and of columns.
    required_moments : {"diagonal", "pooled"}
        Second moments: sums of squares by class and column, or one scatter without a root.

    Returns
    -------
    ClassMoments or None
        Without roots. None if a sum overflows, or if the pooled scatter of a block would lose digits, because
        the sum of squares within classes of a column is below `MIN_WITHIN_SHARE` of the sum of its squared
        steps. The caller then has to use dense rows.

    Raises
    ------
    DataError
        If the sums would take over half of the memory.
    """
    raise_if_sums_exceed_memory(n_classes, n_columns, required_moments)
    moments_of_blocks: list[ClassMoments] = []
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for block in blocks:
            moments = _moments_of_block(*block, n_classes, pooled=required_moments == "pooled")
            if moments is None:
                return None
            moments_of_blocks.append(moments)
        return reduce(merge_rescaled, moments_of_blocks)


def _moments_of_block(
    rows: SparseRows, codes: Codes, weights: Floats | None, n_classes: int, *, pooled: bool
) -> ClassMoments | None:
    """Compute the moments of the rows of one block.

    Parameters
    ----------
    rows : SparseRows
        Shape (m, p).
    codes : (m,) int
        Class of each row.
    weights : (m,) float, optional
        Rows of weight zero are dropped.
    n_classes : int
        Number of classes.
    pooled : bool
        Whether a pooled scatter is computed, in addition to sums of squares by class.

    Returns
    -------
    ClassMoments or None
        Without roots. None if a sum overflows, or if the pooled scatter would lose digits.
    """
    if weights is not None and not (weights > 0).all():
        present = weights > 0
        rows = rows.select_rows(present)
        codes = codes[present]
        weights = weights[present]
    p = len(rows.base)
    steps = rows.steps
    indicator = class_indicators(codes, weights, n_classes)
    counts = np.bincount(codes, weights, minlength=n_classes).astype(np.float64)
    divisors = np.where(counts > 0, counts, 1.0)[:, None]
    means = (indicator @ steps).toarray() / divisors
    if not np.isfinite(means).all():
        return None
    row_index = rows.stored_row_index()
    column_index = steps.indices
    deviations = steps.data - means[codes[row_index], column_index]
    scale = _choose_scale(steps, deviations, means)
    deviations *= scale[column_index]
    stored_weights = None if weights is None else weights[row_index]
    # Flat position of each stored value in a table of classes and columns.
    cell = codes[row_index] * np.intp(p) + column_index
    means *= scale
    omitted_means = (counts[:, None] - _sum_by_cell(cell, stored_weights, means.shape)) * means
    # Rounding error of the mean, and sums of squares about the corrected mean.
    mean_errors = (
        _sum_by_cell(cell, deviations if stored_weights is None else stored_weights * deviations, means.shape)
        - omitted_means
    ) / divisors
    squares = deviations**2
    squares = _sum_by_cell(cell, squares if stored_weights is None else stored_weights * squares, means.shape)
    squares += omitted_means * means - counts[:, None] * mean_errors**2
    np.maximum(squares, 0.0, out=squares)
    if not np.isfinite(squares).all():
        return None
    present = counts[:, None] > 0
    bases = np.where(present, rows.base, 0.0)
    mean_steps = np.where(present, means + mean_errors, 0.0)
    centres, centre_errors = split_mean(bases, mean_steps, scale)
    row_counts = np.bincount(codes, minlength=n_classes)
    class_moments = ClassMoments(counts, row_counts, centres, centre_errors, scale, squares)
    if not pooled:
        return class_moments
    scatter = _pooled_scatter(rows, weights, np.sqrt(counts)[:, None] * (means + mean_errors), scale, squares)
    return None if scatter is None else replace(class_moments, scatters=scatter[None])


def _sum_by_cell(cell: Codes, values: Floats | None, shape: tuple[int, ...]) -> Floats:
    """Sum values by the cell of a table to which each belongs.

    Parameters
    ----------
    cell : (n,) int
        Flat positions in the table.
    values : (n,) float, optional
        Ones by default.
    shape : (int, int)
        Numbers K and p of rows and columns of the table.

    Returns
    -------
    (K, p) float
        Zero in cells without values.
    """
    return np.bincount(cell, values, shape[0] * shape[1]).reshape(shape).astype(np.float64, copy=False)


def _choose_scale(steps: scipy.sparse.csr_array, deviations: Floats, means: Floats) -> Floats:
    """Return powers of two that bring columns with extreme deviations or means near one.

    The size of a column is its largest absolute class mean or, if larger and if any deviation is extreme, its
    largest absolute deviation. Extreme are sizes above 1e75, and positive sizes below 1e-75.

    Parameters
    ----------
    steps : (m, p) sparse array
        Steps of the rows.
    deviations : (n,) float
        Deviations of the n stored values from the class means.
    means : (K, p) float
        Class means of the steps.

    Returns
    -------
    (p,) float
        One for columns without extreme values.
    """
    sizes = np.abs(means).max(axis=0, initial=0.0)
    sizes_of_deviations = np.abs(deviations)
    extreme = sizes_of_deviations[sizes_of_deviations > 0]
    if len(extreme) and (
        extreme.max() > MAX_UNSCALED_DEVIATION or extreme.min() < 1 / MAX_UNSCALED_DEVIATION
    ):
        np.maximum.at(sizes, steps.indices, sizes_of_deviations)
    return column_scale(sizes)


def _pooled_scatter(
    rows: SparseRows, weights: Floats | None, weighted_means: Floats, scale: Floats, squares: Floats
) -> Floats | None:
    """Compute the pooled scatter within classes.

    Parameters
    ----------
    rows : SparseRows
        Rows of the design matrix.
    weights : (m,) float, optional
        Weights of the rows; ones by default.
    weighted_means : (K, p) float
        Class means of the steps, times `scale` and the square roots of the counts.
    scale : (p,) float
        Powers of two by which the columns are multiplied.
    squares : (K, p) float
        Sums of squares within classes of the scaled columns, for the diagonal.

    Returns
    -------
    (p, p) float or None
        Sums of squares and products of the scaled columns about the class means, both triangles set. None if
        subtracting the class means would lose digits: the sum of squares within classes of a column
        is below `MIN_WITHIN_SHARE` of the sum of its squared steps.
    """
    steps = rows.steps
    if weights is not None:
        steps = scipy.sparse.diags_array(np.sqrt(weights)) @ steps
    if (scale != 1).any():
        steps = steps @ scipy.sparse.diags_array(scale)
    scatter = (steps.T @ steps).toarray()
    within = squares.sum(axis=0)
    if (within < MIN_WITHIN_SHARE * np.diagonal(scatter)).any():
        return None
    scatter -= weighted_means.T @ weighted_means
    np.fill_diagonal(scatter, within)
    return np.asarray(scatter)
