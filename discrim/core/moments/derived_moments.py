"""Moments derived from other moments: less of the scatter, more classes, fewer rows, other units of columns.

`moments_without` subtracts rows from moments that users added up; `comparable` and `in_units` change the
scale of columns for covariance models that pool variances.

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
sphere for any scale of its own: `comparable` sets its scale to at most 2^200 times the scale of the column
that determines the sphere, and its contribution to a distance underflows to zero, as it should. Columns of
similar size keep their scale and therefore their bits. The coordinates z do not change with the units: x' =
x / u has the centres m / u and the scale u s, and the scatters of x. Therefore a covariance shrunk towards a
sphere in the units u is a covariance of x too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS, total_squares
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.moments.row_sums import Spread
from discrim.core.numerics.arrays import Floats, Mask
from discrim.core.rules.leave_one_out import LeftOut

BARREN = 1e-12
"""Proportion of a column's variance left by earlier columns that counts as rounding of a given covariance."""


def given_moments(means: Floats, covariances: Floats, counts: Floats, divisors: Floats) -> ClassMoments:
    """Construct moments from class means and covariances.

    Parameters
    ----------
    means : (K, p) float
    covariances : (K, p, p) or (1, p, p) float
        Covariance of each class, or within all classes.
    counts : (K,) float
        Numbers of rows.
    divisors : (K,) or (1,) float
        Divisors of the covariances.

    Returns
    -------
    ClassMoments

    Examples
    --------
    >>> means, sizes = np.array([[0.0], [3.0]]), np.array([5.0, 6.0])
    >>> m = given_moments(means, np.array([[[4.0]]]), sizes, np.array([9.0]))
    >>> float(m.scatters[0, 0, 0] / m.scale[0] ** 2), m.total
    (36.0, 11.0)
    """
    variances = np.diagonal(covariances, axis1=1, axis2=2).max(axis=0)
    sd = np.sqrt(np.where(variances > 0, variances, 1.0))
    scale = np.ldexp(1.0, -np.round(np.log2(sd)).astype(np.int32))
    scatters = covariances * (scale[:, None] * scale) * divisors[:, None, None]
    roots = np.stack([root_of(scatter) for scatter in scatters])
    rows = np.minimum(counts, 2.0**52).astype(np.int64)
    return ClassMoments(counts, rows, means, np.zeros_like(means), scale, scatters, roots)


def root_of(scatter: Floats, barren: float | Floats = BARREN) -> Floats:
    """Compute the triangular root of a scatter; the rows of linearly dependent columns are zero.

    Parameters
    ----------
    scatter : (p, p) float
    barren : float or (p,) float
        Proportion of a column's sum of squares up to which a residual counts as rounding error.

    Returns
    -------
    (p, p) float
        Upper triangular.
    """
    least = np.broadcast_to(barren, len(scatter))
    sd = np.sqrt(np.diagonal(scatter))
    unit = np.where(sd > 0, sd, 1.0)
    rest = scatter / unit / unit[:, None]
    root, failed = scipy.linalg.lapack.dpotrf(rest)
    if failed or not (np.diagonal(root) ** 2 > least).all():
        root = np.zeros_like(rest)
        for j in range(len(rest)):
            if rest[j, j] > least[j]:
                root[j, j:] = rest[j, j:] / np.sqrt(rest[j, j])
                rest[j:, j:] -= root[j, j:, None] * root[j, j:]
    return np.asarray(np.triu(root) * unit)


def with_scatter(moments: ClassMoments, spread: Spread) -> ClassMoments:
    """Reduce moments by class to the second moments of a model: "class", "pooled" or "diagonal"."""
    if spread == "pooled":
        return moments.pooled()
    if spread == "diagonal" and moments.scatters.ndim == 3:
        squares = np.diagonal(moments.scatters, axis1=1, axis2=2).copy()
        return replace(moments, scatters=squares, roots=None)
    return moments


def among_classes(
    moments: ClassMoments, position: NDArray[np.intp], n_classes: int, *, by_class: bool
) -> ClassMoments:
    """Extend moments to a larger set of classes; the new classes are empty.

    Parameters
    ----------
    moments : ClassMoments
    position : (K,) int
        Position of each class among the new classes.
    n_classes : int
        Number of the new classes.
    by_class : bool
        Whether there is a scatter for each class, which a single class does not show. A pooled one is kept.

    Returns
    -------
    ClassMoments
    """

    def placed(values: NDArray[Any]) -> NDArray[Any]:
        out = np.zeros((n_classes, *values.shape[1:]), dtype=values.dtype)
        out[position] = values
        return out

    return replace(
        moments,
        counts=placed(moments.counts),
        rows=placed(moments.rows),
        centres=placed(moments.centres),
        rests=placed(moments.rests),
        scatters=placed(moments.scatters) if by_class else moments.scatters,
        roots=placed(moments.roots) if by_class and moments.roots is not None else moments.roots,
    )


LEAST_LEFT = 1e-12
"""Smallest remaining proportion of the residual of a column for which the downdated root is accurate."""


def roots_without(whole: Floats, gone: Floats, left: Floats, barren: Floats) -> Floats:
    """Compute triangular roots of the scatters that remain after rows are removed.

    Parameters
    ----------
    whole : (K, p, p) float
        Roots of all rows.
    gone : (K, m, p) float
        Roots of the removed part.
    left : (K, p, p) float
        Differences of the scatters.
    barren : (K, p) float
        Proportion of each remaining sum of squares that may be rounding error.

    Returns
    -------
    (K, p, p) float
    """
    roots = []
    all_downdated = True
    for k, scatter in enumerate(left):
        root = _downdated(whole[k], gone[k], scatter)
        if root is None:
            all_downdated = False
            root = root_of(scatter, barren[k])
            # Rescale columns to the diagonal of the scatter, because rows set to zero shorten them.
            lengths = np.sqrt((root**2).sum(axis=0))
            root = root * (np.sqrt(np.diagonal(scatter)) / np.where(lengths > 0, lengths, 1.0))
        roots.append(root)
    stacked = np.stack(roots)
    return stacked if all_downdated or len(roots) == 1 else _alike(stacked)


def _downdated(whole: Floats, gone: Floats, left: Floats) -> Floats | None:
    """Downdate a root.

    Parameters
    ----------
    whole : (p, p) float
        Root R of all rows.
    gone : (m, p) float
        Root B of the removed part.
    left : (p, p) float
        Difference R'R - B'B.

    Returns
    -------
    (p, p) float or None
        Root of R'R - B'B; None if a column of it would be inaccurate.
    """
    sizes = np.sqrt((whole**2).sum(axis=0))
    if (np.abs(np.diagonal(whole)) <= EPS * len(whole) * sizes).any() or not np.diagonal(left).all():
        return None
    lost = scipy.linalg.solve_triangular(whole, gone.T, trans="T", check_finite=False)
    factor, failed = scipy.linalg.lapack.dpotrf(np.eye(len(whole)) - lost @ lost.T)
    if failed or not (np.diagonal(factor) ** 2 > LEAST_LEFT).all():
        return None
    return np.asarray(np.triu(factor) @ whole)


def _alike(roots: Floats) -> Floats:
    """Set columns that are determined over all classes to the same combination in each class.

    Parameters
    ----------
    roots : (K, p, p) float
        Changed in place.

    Returns
    -------
    (K, p, p) float
    """
    pooled = (np.swapaxes(roots, 1, 2) @ roots).sum(axis=0)
    common = root_of(pooled, BARREN)
    kept = np.diagonal(common) != 0
    for j in np.flatnonzero(~kept & (np.diagonal(pooled) > 0)).tolist():
        before = np.flatnonzero(kept[:j])
        slopes = scipy.linalg.solve_triangular(common[np.ix_(before, before)], common[before, j])
        roots[:, :, j] = roots[:, :, before] @ slopes
    return roots


UNITS = 16 * EPS
"""Relative rounding error of a sum of squares after gathering and merging."""

DIGIT = 0.1
"""Relative error at which a number has no correct digit."""


@dataclass(frozen=True, slots=True, eq=False)
class Remainder:
    """Moments of the remaining rows, or the reason why they cannot be computed.

    Attributes
    ----------
    moments : ClassMoments or None
        None if there is a fault.
    error : (K, p) or (1, p) float
        Bound of the relative error of each sum of squares; zero if it is exact.
    fault : {"", "rows", "weights", "means", "squares", "digits"}
        "rows" if more rows are removed than there are; "weights" if weights remain without rows, or remaining
        weights are as small as rounding errors; "means" if a class whose rows are all removed has another
        mean; "squares" if a sum of squares becomes negative, which shows that the rows are not a subset;
        "digits" if no correct digit remains.
    at : (int, int)
        Positions of the class, -1 for all classes, and of the column at fault.
    """

    moments: ClassMoments | None
    error: Floats
    fault: str = ""
    at: tuple[int, int] = (-1, -1)


def moments_without(whole: ClassMoments, gone: ClassMoments, known: Floats | None = None) -> Remainder:
    """Compute the moments of the rows of `whole` without the rows of `gone`, which are a subset.

    Parameters
    ----------
    whole, gone : ClassMoments
        With scatters by class, pooled or diagonal.
    known : (K, p) float, optional
        Value of each column that is constant in the remaining rows of a class; NaN otherwise.

    Returns
    -------
    Remainder

    Examples
    --------
    >>> x, codes = np.array([[1.0], [3.0], [8.0], [9.0]]), np.array([0, 0, 0, 1])
    >>> both = ClassMoments.from_block(x, codes, n_classes=2)
    >>> left = moments_without(both, ClassMoments.from_block(x[2:3], codes[2:3], n_classes=2)).moments
    >>> left.rows.tolist(), left.class_means.ravel().tolist(), left.scatters.ravel().round(12).tolist()
    ([2, 1], [2.0, 9.0], [2.0])
    """
    none = np.zeros((1, whole.n_columns))
    if not gone.total:
        return Remainder(whole, none)
    gone = gone.rescaled(whole.scale)
    rows = whole.rows - gone.rows
    counts = whole.counts - gone.counts
    for wrong, fault in (
        (rows < 0, "rows"),
        ((rows == 0) & (np.abs(counts) > UNITS * len(rows) * whole.counts.sum()), "weights"),
        ((rows > 0) & (counts * DIGIT <= UNITS * whole.counts), "weights"),
    ):
        if wrong.any():
            return Remainder(None, none, fault, (int(np.argmax(wrong)), -1))
    counts = np.where(rows > 0, counts, 0.0)
    gap = (whole.centres - gone.centres) * whole.scale + (whole.rests - gone.rests)
    gap = np.where((gone.counts > 0)[:, None], gap, 0.0)
    moved = _moved_means(whole, gap, rows)
    if moved.any():
        k, j = np.argwhere(moved)[0].tolist()
        return Remainder(None, none, "means", (k, j))
    share = np.divide(gone.counts, counts, out=np.zeros_like(counts), where=rows > 0)[:, None]
    base = np.where((rows > 0)[:, None], whole.centres, 0.0)
    centres, rests = split_mean(
        base, np.where((rows > 0)[:, None], whole.rests + share * gap, 0.0), whole.scale
    )
    lift = np.sqrt(whole.counts[:, None] * share) * gap
    still = np.zeros(gap.shape, dtype=bool)
    if known is not None:
        still |= ~np.isnan(known) & (rows > 0)[:, None]
        centres = np.where(still, known, centres)
        rests = np.where(still, 0.0, rests)
    scatters, error = _left(whole, gone, lift, rows, share)
    # In a pooled scatter, a column is cleared only if it is constant within every class.
    one = np.asarray(still[rows > 0].all(axis=0, keepdims=True))
    _clear(scatters, error, still if len(error) == len(still) else one)
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    lost = squares * DIGIT <= error
    # Columns that were constant over all rows are constant over the remaining rows, without error.
    lost &= error > 0
    if lost.any():
        k, j = np.argwhere(lost)[0].tolist()
        fault = "squares" if squares[k, j] < -error[k, j] else "digits"
        return Remainder(None, error, fault, (k if len(squares) > 1 else -1, j))
    relative = np.divide(error, squares, out=np.zeros_like(squares), where=squares > 0)
    roots = None
    if scatters.ndim == 3:
        roots = roots_without(*_roots(whole, gone, lift), scatters, np.maximum(relative / DIGIT, BARREN))
        # Classes without removed rows keep their roots and scatters.
        kept = np.flatnonzero(gone.counts == 0) if whole.spread == "class" else np.zeros(0, dtype=np.intp)
        if whole.roots is not None:
            roots[kept] = whole.roots[kept]
        scatters = np.swapaxes(roots, 1, 2) @ roots
        scatters[kept] = whole.scatters[kept]
    return Remainder(ClassMoments(counts, rows, centres, rests, whole.scale, scatters, roots), relative)


def _roots(whole: ClassMoments, gone: ClassMoments, lift: Floats) -> tuple[Floats, Floats]:
    """Collect the roots of all rows and of the removed part.

    Parameters
    ----------
    whole, gone : ClassMoments
    lift : (K, p) float
        Mean differences, scaled by the square root of n n_2/n_1.

    Returns
    -------
    whole_roots : (K, p, p) or (1, p, p) float
    gone_roots : (K, m, p) or (1, m, p) float
        Roots of the removed rows with the mean differences as additional rows.
    """
    own, other = (
        np.stack([root_of(each) for each in moments.scatters]) if moments.roots is None else moments.roots
        for moments in (whole, gone)
    )
    lifts = lift[None] if whole.spread == "pooled" else lift[:, None, :]
    return own, np.concatenate([other, lifts], axis=1)


def _moved_means(whole: ClassMoments, gap: Floats, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Find classes whose rows are all removed although the means differ.

    Parameters
    ----------
    whole : ClassMoments
    gap : (K, p) float
        Mean differences in units of z.
    rows : (K,) int
        Numbers of remaining rows.

    Returns
    -------
    (K, p) bool
    """
    sd = np.sqrt(whole.squares.sum(axis=0) / whole.total)
    size = np.abs(whole.class_means).max(axis=0) * whole.scale
    ends = (rows == 0) & (whole.rows > 0)
    return np.asarray(ends[:, None] & (np.abs(gap) > 1e-6 * sd + UNITS * np.sqrt(whole.total) * size))


def _clear(scatters: Floats, error: Floats, still: NDArray[np.bool_]) -> None:
    """Set scatters and errors of columns without variance to zero, in place.

    Parameters
    ----------
    scatters : (K, p, p), (1, p, p) or (K, p) float
    error : (K, p) or (1, p) float
    still : (K, p) or (1, p) bool
        Columns without variance.
    """
    error[still] = 0.0
    scatters[still] = 0.0
    if scatters.ndim == 3:
        np.swapaxes(scatters, 1, 2)[still] = 0.0


def _left(
    whole: ClassMoments, gone: ClassMoments, lift: Floats, rows: NDArray[np.int64], share: Floats
) -> tuple[Floats, Floats]:
    """Subtract the scatters of the removed rows.

    Parameters
    ----------
    whole, gone : ClassMoments
    lift : (K, p) float
        Mean differences, scaled by the square root of n n_2/n_1.
    rows : (K,) int
        Numbers of remaining rows.
    share : (K, 1) float
        n_2 / n_1 of each class.

    Returns
    -------
    scatters : (K, p, p), (1, p, p) or (K, p) float
    error : (K, p) or (1, p) float
        Bounds of the errors of the sums of squares.
    """
    wider = 1 + np.sqrt(share)
    if whole.spread == "pooled":
        scatters = whole.scatters - gone.scatters - lift.T @ lift
        single = np.array([(rows > 0).sum() == rows.sum()])
        wider = wider.max(axis=0, keepdims=True)
    else:
        single = rows <= 1
        squares = lift**2 if whole.scatters.ndim == 2 else lift[:, :, None] * lift[:, None, :]
        scatters = whole.scatters - gone.scatters - squares
    scatters[single] = 0.0
    same = single if whole.spread == "pooled" else gone.counts == 0
    error = UNITS * whole.squares * wider
    error[single | same] = 0.0
    return scatters, error


REACH_OF_SCALES = 200
"""Maximum difference of the scales of columns that are compared, in powers of two."""


def comparable(moments: ClassMoments) -> ClassMoments:
    """Limit the scales of the moments to the range in which a sphere of the largest columns matters."""
    return _within_reach(moments, float(moments.scale.min()))


def comparable_to_median(moments: ClassMoments) -> ClassMoments:
    """Limit the scales of the moments to the range in which the median of the variances matters."""
    middle = median_column(moments.squares.sum(axis=0), moments.scale)
    return _within_reach(moments, float(moments.scale[middle]))


def median_column(squares: Floats, scale: Floats) -> int:
    """Return the position of the column with the (upper) median of the variances in the units of the data."""
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    return int(np.argsort(sizes, kind="stable")[len(scale) // 2])


def _within_reach(moments: ClassMoments, reference: float) -> ClassMoments:
    exponent = int(np.log2(reference)) + REACH_OF_SCALES
    if exponent > 1000:
        return moments
    scale = np.minimum(moments.scale, 2.0**exponent)
    return moments if (scale == moments.scale).all() else moments.rescaled(scale)


def within_sd(moments: ClassMoments) -> Floats:
    """Return standard deviations (p,) within classes with divisor N - K, over all rows if zero."""
    free = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / free)
    over_all = np.sqrt(total_squares(moments) / moments.total)
    return np.asarray(np.where(constant_within(moments), over_all, within) / moments.scale)


def constant_within(moments: ClassMoments) -> Mask:
    """Return which columns (p,) are constant within each class, up to rounding."""
    free = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / free)
    return np.asarray(within <= EPS * np.sqrt(moments.total) * moments.magnitude)


def in_units(moments: ClassMoments, unit: Floats) -> ClassMoments:
    """Return the moments of x / unit, for units (p,)."""
    return replace(moments, centres=moments.centres / unit, scale=moments.scale * unit)


def in_deviations(moments: ClassMoments) -> ClassMoments:
    """Return the moments of columns divided by their standard deviations within classes."""
    return in_units(moments, within_sd(moments))


def standardized_left_out(moments: ClassMoments, left_out: Callable[[ClassMoments], LeftOut]) -> LeftOut:
    """Return leave-one-out scores computed from columns divided by their standard deviations within classes.

    The standard deviations of all rows are used for each row.
    """
    unit = within_sd(moments)
    scores = left_out(in_units(moments, unit))
    return lambda x, codes, weights: scores((x.T / unit[:, None]).T, codes, weights)
