"""Moments derived from other moments: other second moments, more classes, fewer rows, other units of columns.

`subtract_moments` subtracts rows from moments that users merged; `limit_scales` and `divide_columns` change
the scale of columns for covariance models that pool variances.

*Subtracting rows.* With n, m, W of all rows of a class and n_2, m_2, W_2 of the rows to be removed, the
formulas of merging are solved for the remaining rows (Chan, Golub & LeVeque, 1983, The American Statistician
37, 242-247):

    n_1 = n - n_2,   m_1 = m + n_2/n_1 (m - m_2),   W_1 = W - W_2 - n n_2/n_1 (m - m_2)(m - m_2)'.

All terms that sum to W are sums of squares, therefore none is larger than W_jj. Each has a relative error of
a few units of rounding, and so has (m - m_2) relative to the standard deviation; its square, multiplied by
n n_2/n_1, contributes sqrt(n_2/n_1) times as much. Therefore the error of W_1jj is at most

    e_j = r W_jj (1 + sqrt(n_2/n_1)),   r some units of rounding,

and its relative error is e_j / W_1jj. If no decimal digit is left, the difference is refused. This case
cannot be distinguished from a column that is constant in the remaining rows, which is refused too. A class
with one remaining row, or none, has a scatter of exactly zero.

*Roots.* With R'R the scatter of all rows, and B the root of the removed part, S = B R^-1,

    R'R - B'B = R' (I - S'S) R,

and a triangular root of I - S'S, times R, is a root of the remainder (Golub & Van Loan, 2013, Matrix
Computations, 6.5.4). No product squares the condition of R. The squared diagonal of the root of I - S'S is
the proportion of the residual of a column on earlier columns that remains; if it is as small as rounding
errors, the scatters are subtracted instead. In a difference of scatters, a column that earlier columns
determine has a residual of rounding errors, and its row of the root is set to zero. It is then an exact
combination of earlier columns in each class, with slopes that differ between classes by rounding, which
would make it independent over all classes. Therefore a column that is determined over all remaining rows is
set to the combination with the slopes of all rows in each class.

*Units.* Moments contain each column in z = x * scale, near one. A ridge, a sphere or a median of variances
compares columns in the units of the data, which in z is a ratio of scales. For columns of 1e-300 next to
columns of 1, this ratio or its square is out of range. Such a small column is negligible relative to the
sphere for any scale of its own: `limit_scales` sets its scale to at most 2^200 times the scale of the column
that determines the sphere, and its contribution to a distance underflows to zero, as it should. Columns of
similar size keep their scale and therefore their bits. The coordinates z do not change with the units: x' =
x / u has the centres m / u and the scale u s, and the scatters of x. Therefore a covariance shrunk towards a
sphere in the units u is a covariance of x too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import total_squares
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means, split_mean
from discrim.core.moments.row_sums import ScatterType
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, slices
from discrim.core.rules.leave_one_out import LeaveOneOutScorer

MAX_ROUNDING_SHARE = 1e-12
"""Proportion of a column's variance left by earlier columns that counts as rounding of a given covariance."""

MAX_PRODUCTS = 2**20
"""Number of products of columns that are stored at once."""


def resampled_moments(
    moments: ClassMoments, blocks: Iterable[tuple[Codes, Floats, Codes]], sample_counts: NDArray[np.int32]
) -> list[ClassMoments]:
    """Compute the pooled moments of samples that are drawn from the same rows, in one pass over the rows.

    The products of columns are formed once for all samples, and added by one matrix product. They refer to
    the class means of all rows, from which the means of a sample differ by little.

    Parameters
    ----------
    moments : ClassMoments
        Pooled moments of all rows.
    blocks : iterable of ((m,) int, (m, p) float, (m,) int)
        Positions, rows and classes.
    sample_counts : (B, n) int
        How often each of the n rows is in each of B samples; each sample has rows of every class.

    Returns
    -------
    list of ClassMoments
        Moments of the samples, without roots.
    """
    n_samples = len(sample_counts)
    i, j = np.triu_indices(moments.n_columns)
    products = np.zeros((n_samples, len(i)))
    sums = np.zeros((n_samples, *moments.centres.shape))
    counts = np.zeros((n_samples, moments.n_classes))
    rows = np.zeros(counts.shape, dtype=np.int64)
    for positions, x, codes in blocks:
        for row_slice in slices(len(codes), max(MAX_PRODUCTS // len(i), 1)):
            chunk_codes = codes[row_slice]
            z = deviations_from_class_means(moments, x[row_slice], chunk_codes)
            weights = sample_counts[:, positions[row_slice]].astype(np.float64)
            products += weights @ (z[i] * z[j]).T
            for k in np.unique(chunk_codes).tolist():
                in_class = chunk_codes == k
                sums[:, k] += weights[:, in_class] @ z[:, in_class].T
                counts[:, k] += weights[:, in_class].sum(axis=1)
                rows[:, k] += np.count_nonzero(weights[:, in_class], axis=1)
    shifts = sums / counts[:, :, None]
    sampled = []
    for sample, shift in enumerate(shifts):
        scatter = np.empty((moments.n_columns, moments.n_columns))
        scatter[i, j] = scatter[j, i] = products[sample]
        scatter -= (counts[sample][:, None] * shift).T @ shift
        centres, rests = split_mean(moments.centres, moments.rests + shift, moments.scale)
        sampled.append(
            ClassMoments(counts[sample], rows[sample], centres, rests, moments.scale, scatter[None])
        )
    return sampled


def moments_of_covariances(
    means: Floats, covariances: Floats, counts: Floats, divisors: Floats
) -> ClassMoments:
    """Construct moments from class means and covariances.

    Parameters
    ----------
    means : (K, p) float
        Class means in the units of the data.
    covariances : (K, p, p) or (1, p, p) float
        Covariance of each class, or within all classes, in the units of the data.
    counts : (K,) float
        Numbers of rows (sums of weights) by class; `rows` of the result are their integer parts.
    divisors : (K,) or (1,) float
        Divisors of the covariances, such as N - K.

    Returns
    -------
    ClassMoments
        With scatters covariance * divisor, multiplied by `scale` in rows and columns, and their roots.

    Examples
    --------
    >>> means, sizes = np.array([[0.0], [3.0]]), np.array([5.0, 6.0])
    >>> m = moments_of_covariances(means, np.array([[[4.0]]]), sizes, np.array([9.0]))
    >>> float(m.scatters[0, 0, 0] / m.scale[0] ** 2), m.total
    (36.0, 11.0)
    """
    variances = np.diagonal(covariances, axis1=1, axis2=2).max(axis=0)
    sd = np.sqrt(np.where(variances > 0, variances, 1.0))
    scale = np.ldexp(1.0, -np.round(np.log2(sd)).astype(np.int32))
    scatters = covariances * (scale[:, None] * scale) * divisors[:, None, None]
    roots = np.stack([root_of_scatter(scatter) for scatter in scatters])
    rows = np.minimum(counts, 2.0**52).astype(np.int64)
    return ClassMoments(counts, rows, means, np.zeros_like(means), scale, scatters, roots)


def root_of_scatter(scatter: Floats, rounding_share: float | Floats = MAX_ROUNDING_SHARE) -> Floats:
    """Compute the upper triangular R with R'R = scatter.

    Parameters
    ----------
    scatter : (p, p) float
        Sums of squares and products.
    rounding_share : float or (p,) float
        Proportion of a column's sum of squares up to which its residual on earlier columns counts as
        rounding error.

    Returns
    -------
    (p, p) float
        Upper triangular. Row j is zero if column j is constant or linearly dependent on earlier columns.
    """
    min_residual = np.broadcast_to(rounding_share, len(scatter))
    sd = np.sqrt(np.diagonal(scatter))
    unit = np.where(sd > 0, sd, 1.0)
    remaining = scatter / unit / unit[:, None]
    root, failed = scipy.linalg.lapack.dpotrf(remaining)
    if failed or not (np.diagonal(root) ** 2 > min_residual).all():
        root = np.zeros_like(remaining)
        for j in range(len(remaining)):
            if remaining[j, j] > min_residual[j]:
                root[j, j:] = remaining[j, j:] / np.sqrt(remaining[j, j])
                remaining[j:, j:] -= root[j, j:, None] * root[j, j:]
    return np.asarray(np.triu(root) * unit)


def reduce_moments(moments: ClassMoments, required_moments: ScatterType) -> ClassMoments:
    """Reduce moments with class scatters to the second moments that a model requires.

    For "pooled", the scatters and the roots, if any, are pooled over the classes. For "diagonal", the
    result has sums of squares and no roots. For "class", and if `moments` are diagonal already, they are
    returned unchanged.
    """
    if required_moments == "pooled":
        return moments.pool_classes()
    if required_moments == "diagonal" and moments.scatters.ndim == 3:
        squares = np.diagonal(moments.scatters, axis1=1, axis2=2).copy()
        return replace(moments, scatters=squares, roots=None)
    return moments


def extend_to_classes(
    moments: ClassMoments, class_positions: NDArray[np.intp], n_classes: int, *, by_class: bool
) -> ClassMoments:
    """Extend moments to a larger set of classes; the new classes are empty.

    Parameters
    ----------
    moments : ClassMoments
        Moments of K classes.
    class_positions : (K,) int
        Position of each class among the new classes.
    n_classes : int
        Number of the new classes.
    by_class : bool
        Whether `moments` have a scatter for each class, which their shape does not show if K is 1. Otherwise
        the pooled scatter and its root are kept unchanged.

    Returns
    -------
    ClassMoments
        Moments of `n_classes` classes. Counts, numbers of rows, means, and with `by_class` scatters and
        roots, are zero for the new classes.
    """

    def extend(values: NDArray[Any]) -> NDArray[Any]:
        """Return an array (n_classes, ...) with values (K, ...) at the new positions and zeros elsewhere."""
        extended = np.zeros((n_classes, *values.shape[1:]), dtype=values.dtype)
        extended[class_positions] = values
        return extended

    return replace(
        moments,
        counts=extend(moments.counts),
        rows=extend(moments.rows),
        centres=extend(moments.centres),
        rests=extend(moments.rests),
        scatters=extend(moments.scatters) if by_class else moments.scatters,
        roots=extend(moments.roots) if by_class and moments.roots is not None else moments.roots,
    )


MIN_REMAINING_SHARE = 1e-12
"""Smallest remaining proportion of the residual of a column for which the downdated root is accurate."""


def downdate_roots(
    full_roots: Floats, removed_roots: Floats, remaining_scatters: Floats, rounding_shares: Floats
) -> Floats:
    """Compute triangular roots of the scatters that remain after rows are removed.

    Parameters
    ----------
    full_roots : (K, p, p) float
        Roots of all rows, by class; K is 1 for pooled scatters.
    removed_roots : (K, m, p) float
        Roots B of the removed part, by class: B'B is the difference of the scatters.
    remaining_scatters : (K, p, p) float
        Differences of the scatters of all rows and of the removed part.
    rounding_shares : (K, p) float
        Proportion of each remaining sum of squares that may be rounding error.

    Returns
    -------
    (K, p, p) float
        Upper triangular R with R'R = remaining scatter; row j is zero if column j is constant or linearly
        dependent on earlier columns.
    """
    roots = []
    all_downdated = True
    for k, scatter in enumerate(remaining_scatters):
        root = _downdate_root(full_roots[k], removed_roots[k], scatter)
        if root is None:
            all_downdated = False
            root = root_of_scatter(scatter, rounding_shares[k])
            # Rescale columns to the diagonal of the scatter, because rows set to zero shorten them.
            norms = np.sqrt((root**2).sum(axis=0))
            root = root * (np.sqrt(np.diagonal(scatter)) / np.where(norms > 0, norms, 1.0))
        roots.append(root)
    stacked = np.stack(roots)
    return stacked if all_downdated or len(roots) == 1 else _equate_dependent_columns(stacked)


def _downdate_root(full_root: Floats, removed_root: Floats, remaining_scatter: Floats) -> Floats | None:
    """Return the upper triangular root of a scatter after the scatter of the removed rows is subtracted.

    Parameters
    ----------
    full_root : (p, p) float
        Root R of all rows.
    removed_root : (m, p) float
        Root B of the removed part.
    remaining_scatter : (p, p) float
        Difference R'R - B'B.

    Returns
    -------
    (p, p) float or None
        Root of R'R - B'B. None if R is singular up to rounding, the remaining sum of squares of a column is
        zero, or at most `MIN_REMAINING_SHARE` of its squared residual on earlier columns remains.
    """
    sizes = np.sqrt((full_root**2).sum(axis=0))
    if (np.abs(np.diagonal(full_root)) <= EPS * len(full_root) * sizes).any() or not np.diagonal(
        remaining_scatter
    ).all():
        return None
    solved = scipy.linalg.solve_triangular(full_root, removed_root.T, trans="T", check_finite=False)
    factor, failed = scipy.linalg.lapack.dpotrf(np.eye(len(full_root)) - solved @ solved.T)
    if failed or not (np.diagonal(factor) ** 2 > MIN_REMAINING_SHARE).all():
        return None
    return np.asarray(np.triu(factor) @ full_root)


def _equate_dependent_columns(roots: Floats) -> Floats:
    """Set columns that earlier columns determine over all classes to the same combination in each class.

    Parameters
    ----------
    roots : (K, p, p) float
        Root of each class; modified in place.

    Returns
    -------
    (K, p, p) float
        The array `roots`. A column that is constant, or independent of earlier columns, is unchanged.
    """
    pooled = (np.swapaxes(roots, 1, 2) @ roots).sum(axis=0)
    common = root_of_scatter(pooled, MAX_ROUNDING_SHARE)
    is_independent = np.diagonal(common) != 0
    for j in np.flatnonzero(~is_independent & (np.diagonal(pooled) > 0)).tolist():
        predictors = np.flatnonzero(is_independent[:j])
        slopes = scipy.linalg.solve_triangular(common[np.ix_(predictors, predictors)], common[predictors, j])
        roots[:, :, j] = roots[:, :, predictors] @ slopes
    return roots


RELATIVE_ROUNDING = 16 * EPS
"""Relative rounding error of a sum of squares after gathering and merging."""

MAX_RELATIVE_ERROR = 0.1
"""Relative error at which a number has no correct digit."""


@dataclass(frozen=True, slots=True, eq=False)
class Remainder:
    """Moments of the remaining rows, or the reason why they cannot be computed.

    Attributes
    ----------
    moments : ClassMoments or None
        Moments in the coordinates z of the moments of all rows; None with any fault except "".
    error : (K, p) or (1, p) float
        Bound of the relative error of each sum of squares; zero if it is exact. With the faults "squares" and
        "digits" a bound of the absolute error; zeros with the other faults.
    fault : {"", "rows", "weights", "means", "squares", "digits"}
        "rows" if more rows are removed than there are; "weights" if weights remain without rows, or remaining
        weights are as small as rounding errors; "means" if a class whose rows are all removed has another
        mean; "squares" if a sum of squares becomes negative, which shows that the rows are not a subset;
        "digits" if no correct digit remains.
    position : (int, int)
        Positions of the class at fault (-1 for all classes) and of the column (-1 for all columns); both are
        -1 without a fault.
    """

    moments: ClassMoments | None
    error: Floats
    fault: str = ""
    position: tuple[int, int] = (-1, -1)


def subtract_moments(full: ClassMoments, removed: ClassMoments, constants: Floats | None = None) -> Remainder:
    """Compute the moments of the rows of `full` without the rows of `removed`, which are a subset.

    Parameters
    ----------
    full, removed : ClassMoments
        Of the same classes and columns, both with scatters by class, both pooled or both diagonal, but not
        thin. Their scales may differ.
    constants : (K, p) float, optional
        Value, in the units of the data, of each column that is constant in the remaining rows of a class;
        NaN for other columns.

    Returns
    -------
    Remainder
        With `full` itself if the sum of the removed weights is zero. Its `moments` are None, and `fault` and
        `position` say why and where, if the remaining moments cannot be computed.

    Examples
    --------
    >>> x, codes = np.array([[1.0], [3.0], [8.0], [9.0]]), np.array([0, 0, 0, 1])
    >>> both = ClassMoments.from_block(x, codes, n_classes=2)
    >>> left = subtract_moments(both, ClassMoments.from_block(x[2:3], codes[2:3], n_classes=2)).moments
    >>> left.rows.tolist(), left.class_means.ravel().tolist(), left.scatters.ravel().round(12).tolist()
    ([2, 1], [2.0, 9.0], [2.0])
    """
    none = np.zeros((1, full.n_columns))
    if not removed.total:
        return Remainder(full, none)
    removed = removed.rescale(full.scale)
    rows = full.rows - removed.rows
    counts = full.counts - removed.counts
    for is_at_fault, fault in (
        (rows < 0, "rows"),
        ((rows == 0) & (np.abs(counts) > RELATIVE_ROUNDING * len(rows) * full.counts.sum()), "weights"),
        ((rows > 0) & (counts * MAX_RELATIVE_ERROR <= RELATIVE_ROUNDING * full.counts), "weights"),
    ):
        if is_at_fault.any():
            return Remainder(None, none, fault, (int(np.argmax(is_at_fault)), -1))
    counts = np.where(rows > 0, counts, 0.0)
    mean_differences = (full.centres - removed.centres) * full.scale + (full.rests - removed.rests)
    mean_differences = np.where((removed.counts > 0)[:, None], mean_differences, 0.0)
    has_moved_mean = _find_moved_means(full, mean_differences, rows)
    if has_moved_mean.any():
        k, j = np.argwhere(has_moved_mean)[0].tolist()
        return Remainder(None, none, "means", (k, j))
    ratio = np.divide(removed.counts, counts, out=np.zeros_like(counts), where=rows > 0)[:, None]
    base_means = np.where((rows > 0)[:, None], full.centres, 0.0)
    centres, centre_errors = split_mean(
        base_means, np.where((rows > 0)[:, None], full.rests + ratio * mean_differences, 0.0), full.scale
    )
    weighted_differences = np.sqrt(full.counts[:, None] * ratio) * mean_differences
    is_constant = np.zeros(mean_differences.shape, dtype=bool)
    if constants is not None:
        is_constant |= ~np.isnan(constants) & (rows > 0)[:, None]
        centres = np.where(is_constant, constants, centres)
        centre_errors = np.where(is_constant, 0.0, centre_errors)
    scatters, error = _subtract_scatters(full, removed, weighted_differences, rows, ratio)
    # In a pooled scatter, a column is cleared only if it is constant within every class.
    is_constant_in_all = np.asarray(is_constant[rows > 0].all(axis=0, keepdims=True))
    _clear_constant_columns(
        scatters, error, is_constant if len(error) == len(is_constant) else is_constant_in_all
    )
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    is_lost = squares * MAX_RELATIVE_ERROR <= error
    # Columns that were constant over all rows are constant over the remaining rows, without error.
    is_lost &= error > 0
    if is_lost.any():
        k, j = np.argwhere(is_lost)[0].tolist()
        fault = "squares" if squares[k, j] < -error[k, j] else "digits"
        return Remainder(None, error, fault, (k if len(squares) > 1 else -1, j))
    relative = np.divide(error, squares, out=np.zeros_like(squares), where=squares > 0)
    roots = None
    if scatters.ndim == 3:
        roots = downdate_roots(
            *_roots_to_subtract(full, removed, weighted_differences),
            scatters,
            np.maximum(relative / MAX_RELATIVE_ERROR, MAX_ROUNDING_SHARE),
        )
        # Classes without removed rows keep their roots and scatters.
        unchanged = (
            np.flatnonzero(removed.counts == 0)
            if full.scatter_type == "class"
            else np.zeros(0, dtype=np.intp)
        )
        if full.roots is not None:
            roots[unchanged] = full.roots[unchanged]
        scatters = np.swapaxes(roots, 1, 2) @ roots
        scatters[unchanged] = full.scatters[unchanged]
    return Remainder(
        ClassMoments(counts, rows, centres, centre_errors, full.scale, scatters, roots), relative
    )


def _roots_to_subtract(
    full: ClassMoments, removed: ClassMoments, weighted_differences: Floats
) -> tuple[Floats, Floats]:
    """Return the roots of all rows and of the removed part, whose difference is the remaining scatter.

    Parameters
    ----------
    full, removed : ClassMoments
        Moments of all rows and of the removed rows, with the same scale.
    weighted_differences : (K, p) float
        Mean differences in z times the square root of n n_2/n_1, with n the weight of all rows of the class,
        n_2 the removed and n_1 the remaining weight.

    Returns
    -------
    full_roots : (K, p, p) or (1, p, p) float
        Stored roots, or roots of the scatters if `full.roots` is None.
    removed_roots : (K, m, p) or (1, m, p) float
        Roots of the removed rows with the mean differences as additional rows.
    """
    full_roots, removed_roots = (
        np.stack([root_of_scatter(scatter) for scatter in moments.scatters])
        if moments.roots is None
        else moments.roots
        for moments in (full, removed)
    )
    difference_rows = (
        weighted_differences[None] if full.scatter_type == "pooled" else weighted_differences[:, None, :]
    )
    return full_roots, np.concatenate([removed_roots, difference_rows], axis=1)


def _find_moved_means(
    full: ClassMoments, mean_differences: Floats, rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Find means that differ between all rows and the removed rows, in classes without remaining rows.

    Other classes are never found. The means have to be equal up to rounding if the same rows are removed.

    Parameters
    ----------
    full : ClassMoments
        Moments of all rows.
    mean_differences : (K, p) float
        Means of all rows less means of the removed rows, in z; zero for a class without removed rows.
    rows : (K,) int
        Numbers of remaining rows.

    Returns
    -------
    (K, p) bool
        Class and column of each mean that differs by more than rounding.
    """
    sd = np.sqrt(full.squares.sum(axis=0) / full.total)
    size = np.abs(full.class_means).max(axis=0) * full.scale
    is_removed = (rows == 0) & (full.rows > 0)
    return np.asarray(
        is_removed[:, None]
        & (np.abs(mean_differences) > 1e-6 * sd + RELATIVE_ROUNDING * np.sqrt(full.total) * size)
    )


def _clear_constant_columns(scatters: Floats, error: Floats, is_constant: NDArray[np.bool_]) -> None:
    """Set rows and columns of scatters, and errors, of columns without variance to zero, in place.

    Parameters
    ----------
    scatters : (K, p, p), (1, p, p) or (K, p) float
        Scatters of the remaining rows; modified.
    error : (K, p) or (1, p) float
        Error bounds of the sums of squares; modified.
    is_constant : (K, p) or (1, p) bool
        Columns without variance.
    """
    error[is_constant] = 0.0
    scatters[is_constant] = 0.0
    if scatters.ndim == 3:
        np.swapaxes(scatters, 1, 2)[is_constant] = 0.0


def _subtract_scatters(
    full: ClassMoments,
    removed: ClassMoments,
    weighted_differences: Floats,
    rows: NDArray[np.int64],
    ratio: Floats,
) -> tuple[Floats, Floats]:
    """Subtract the scatters of the removed rows and of the mean differences; bound the rounding errors.

    Parameters
    ----------
    full, removed : ClassMoments
        Moments of all rows and of the removed rows.
    weighted_differences : (K, p) float
        Mean differences in z times the square root of n n_2/n_1, with n the weight of all rows of the class.
    rows : (K,) int
        Numbers of remaining rows.
    ratio : (K, 1) float
        Removed over remaining weight, n_2 / n_1, of each class.

    Returns
    -------
    scatters : (K, p, p), (1, p, p) or (K, p) float
        Zero if at most one row remains (in each class, for pooled scatters).
    error : (K, p) or (1, p) float
        Bounds of the absolute errors of the sums of squares.
    """
    error_factor = 1 + np.sqrt(ratio)
    if full.scatter_type == "pooled":
        scatters = full.scatters - removed.scatters - weighted_differences.T @ weighted_differences
        is_single = np.array([(rows > 0).sum() == rows.sum()])
        error_factor = error_factor.max(axis=0, keepdims=True)
    else:
        is_single = rows <= 1
        squares = (
            weighted_differences**2
            if full.scatters.ndim == 2
            else weighted_differences[:, :, None] * weighted_differences[:, None, :]
        )
        scatters = full.scatters - removed.scatters - squares
    scatters[is_single] = 0.0
    is_unchanged = is_single if full.scatter_type == "pooled" else removed.counts == 0
    error = RELATIVE_ROUNDING * full.squares * error_factor
    error[is_single | is_unchanged] = 0.0
    return scatters, error


MAX_LOG2_SCALE_RATIO = 200
"""Maximum difference of the scales of columns that are compared, in powers of two."""


def limit_scales(moments: ClassMoments) -> ClassMoments:
    """Limit the scales to 2^200 times the smallest one, which is the scale of the largest column.

    A multiple of the identity in the units of the data, of the size of the largest column, can then be added
    to the covariance without overflow in z; see the module docstring.
    Moments within the limit are returned unchanged.
    """
    return _limit_scales(moments, float(moments.scale.min()))


def limit_scales_to_median(moments: ClassMoments) -> ClassMoments:
    """Limit the scales to 2^200 times the scale of the column with the median variance within classes.

    The column is `median_column` of the pooled sums of squares. Moments within the limit are returned
    unchanged.
    """
    median_position = median_column(moments.squares.sum(axis=0), moments.scale)
    return _limit_scales(moments, float(moments.scale[median_position]))


def median_column(squares: Floats, scale: Floats) -> int:
    """Return the position of the column with the (upper) median of the variances in the units of the data.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares of the columns of z about their (class) means.
    scale : (p,) float
        Factors by which the columns of the data were multiplied to obtain z.

    Returns
    -------
    int
        From 0; constant columns count as the smallest.
    """
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    return int(np.argsort(sizes, kind="stable")[len(scale) // 2])


def _limit_scales(moments: ClassMoments, reference: float) -> ClassMoments:
    """Limit the scales to 2^`MAX_LOG2_SCALE_RATIO` times a reference scale, a power of two.

    The moments are returned unchanged if no scale is larger, or if the limit is above 2^1000.
    """
    exponent = int(np.log2(reference)) + MAX_LOG2_SCALE_RATIO
    if exponent > 1000:
        return moments
    scale = np.minimum(moments.scale, 2.0**exponent)
    return moments if (scale == moments.scale).all() else moments.rescale(scale)


def within_sd(moments: ClassMoments) -> Floats:
    """Return the standard deviations (p,) of the columns within classes, in the units of the data.

    The divisor is N - K, of the sum of weights N and the number of classes K, and at least one. A column that
    is constant within classes gets its standard deviation over all rows, with the divisor N.
    """
    df = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / df)
    over_all = np.sqrt(total_squares(moments) / moments.total)
    return np.asarray(np.where(constant_within_classes(moments), over_all, within) / moments.scale)


def constant_within_classes(moments: ClassMoments) -> Mask:
    """Return which columns (p,) are constant within each class, up to rounding.

    Their standard deviation within classes is at most EPS sqrt(N) times `ClassMoments.magnitude`, with N the
    sum of weights.
    """
    df = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / df)
    return np.asarray(within <= EPS * np.sqrt(moments.total) * moments.magnitude)


def divide_columns(moments: ClassMoments, unit: Floats) -> ClassMoments:
    """Return the moments of the columns x / unit from the moments of x, for positive units (p,).

    The coordinates z do not change, so scatters and roots are kept; `centres` are divided by the unit and
    `scale` is multiplied by it. The new `scale` need not be a power of two.
    """
    return replace(moments, centres=moments.centres / unit, scale=moments.scale * unit)


def standardize_moments(moments: ClassMoments) -> ClassMoments:
    """Return the moments of columns divided by their standard deviations within classes, `within_sd`.

    Only the units of the data change: scatters and roots, which refer to z, stay the same.
    """
    return divide_columns(moments, within_sd(moments))


def standardized_leave_one_out(
    moments: ClassMoments, make_scorer: Callable[[ClassMoments], LeaveOneOutScorer]
) -> LeaveOneOutScorer:
    """Return a leave-one-out function for columns divided by their standard deviations within classes.

    The standard deviations are computed once from all rows, not again without each row.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the columns in the units of the data.
    make_scorer : callable
        Maps moments of the divided columns to a function of divided rows, their codes and their weights that
        returns the leave-one-out scores.

    Returns
    -------
    LeaveOneOutScorer
        Function of rows x (m, p) in the units of the data, codes (m,), and weights (m,) or None. It divides x
        by the standard deviations and returns the result of the function from `make_scorer`.
    """
    unit = within_sd(moments)
    scores = make_scorer(divide_columns(moments, unit))
    return lambda x, codes, weights: scores((x.T / unit[:, None]).T, codes, weights)
