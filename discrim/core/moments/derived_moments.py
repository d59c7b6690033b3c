"""Moments that follow from others: less of the scatter, more classes, fewer rows, and other units of columns.

*Rows that are taken out again.* With n, m, W of all rows of a class and n_2, m_2, W_2 of those that go, what
merging added up is solved for the rest (Chan, Golub & LeVeque, 1983, The American Statistician 37, 242-247):

    n_1 = n - n_2,   m_1 = m + n_2/n_1 (m - m_2),   W_1 = W - W_2 - n n_2/n_1 (m - m_2)(m - m_2)'.

All terms of the sum that W was are sums of squares, so that none is larger than W_jj. Each is held to a few
units of rounding of itself, and so is (m - m_2), of the standard deviation: through its square, of which
n n_2/n_1 are taken, comes sqrt(n_2/n_1) times as much. W_1jj is therefore known to within

    e_j = r W_jj (1 + sqrt(n_2/n_1)),   r some units of rounding,

and has the relative error e_j / W_1jj. Where this leaves no decimal digit the difference is refused. It
cannot be told from a column that is constant in the rows that are left, so that this is refused too.
A class of which one row is left has no scatter, exactly; so has one of which none is left.

*Their roots.* With R'R the scatter of all rows and the rows of B the root of what goes, S = B R^-1, there
is left

    R'R - B'B = R' (I - S'S) R,

and a triangular root of I - S'S, times R, is one of it (Golub & Van Loan, 2013, Matrix Computations, 6.5.4).
No product squares the condition of R. The diagonal of the root of I - S'S, squared, says what share of a
column, beyond the columns before it, is left of what was there; where that is rounding, the scatters are
subtracted. In a difference of scatters a column that others determine has a rounding left over for a
residual: its row of the root is made zero. What it holds is then determined in each class by slopes of its
own, which differ by rounding, and in all classes together by none. So a column that is determined over all
rows that are left is given the slopes of all of them in each class.

*Units.* Moments hold each column in z = x * scale, near one. A ridge, a sphere or a median of variances
compares columns as they are in the data, which in z is a ratio of scales; for columns of 1e-300 beside
columns of 1 that ratio, or its square, is out of range. There a column so small is next to nothing beside the
sphere, whatever number stands for it: `comparable` puts it on a scale that is at most 2^200 times that of the
column which the sphere is made of, where what it adds to a distance sinks to zero, as it should. Whatever is
near in size keeps its scale, and so its bits. The coordinates z do not change with the units: x' = x / u has
the centres m / u and the scale u s, and its scatters are those of x. So a covariance drawn towards a sphere
in the units u is one of x as well.
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
"""Share of a column's variance, beyond the columns before it, that is the rounding of a given covariance."""


def given_moments(means: Floats, covariances: Floats, counts: Floats, divisors: Floats) -> ClassMoments:
    """Moments of rows of which only means (K, p) and covariances (K, p, p) or (1, p, p) are known.

    Covariances are by class, or one within all of them; divisors (K,) or (1,) are what the sums of squares
    and products were divided by.

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
    """Upper triangular root (p, p); the row of a column that those before it determine is zero.

    Barren is the share of a column's sum of squares, one for all or (p,), that is rounding.
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
    """Moments by class with what a model needs of the scatter and no more: "class", "pooled", "diagonal"."""
    if spread == "pooled":
        return moments.pooled()
    if spread == "diagonal" and moments.scatters.ndim == 3:
        squares = np.diagonal(moments.scatters, axis1=1, axis2=2).copy()
        return replace(moments, scatters=squares, roots=None)
    return moments


def among_classes(
    moments: ClassMoments, position: NDArray[np.intp], n_classes: int, *, by_class: bool
) -> ClassMoments:
    """The same moments where there are more classes: class k is class position[k] of them.

    `by_class` is whether the scatters are, which one class alone does not show; a pooled one stays.
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
"""Share of what was there of a column, beyond the columns before it, from which on its root has digits."""


def roots_without(whole: Floats, gone: Floats, left: Floats, barren: Floats) -> Floats:
    """Triangular roots (K, p, p) of what is left of scatters.

    They are made of roots (K, p, p) of all rows, roots (K, m, p) of what goes, and of what is left of the
    scatters to the rounding of those of all rows, of which the barren share (K, p) of a column's sum of
    squares is rounding.
    """
    roots = []
    all_downdated = True
    for k, scatter in enumerate(left):
        root = _downdated(whole[k], gone[k], scatter)
        if root is None:
            all_downdated = False
            root = root_of(scatter, barren[k])
            # Columns are as long as those of the scatter: what a zero row had goes to the others.
            lengths = np.sqrt((root**2).sum(axis=0))
            root = root * (np.sqrt(np.diagonal(scatter)) / np.where(lengths > 0, lengths, 1.0))
        roots.append(root)
    stacked = np.stack(roots)
    return stacked if all_downdated or len(roots) == 1 else _alike(stacked)


def _downdated(whole: Floats, gone: Floats, left: Floats) -> Floats | None:
    """The root of R'R - B'B; None where a column of it is not known by that."""
    sizes = np.sqrt((whole**2).sum(axis=0))
    if (np.abs(np.diagonal(whole)) <= EPS * len(whole) * sizes).any() or not np.diagonal(left).all():
        return None
    lost = scipy.linalg.solve_triangular(whole, gone.T, trans="T", check_finite=False)
    factor, failed = scipy.linalg.lapack.dpotrf(np.eye(len(whole)) - lost @ lost.T)
    if failed or not (np.diagonal(factor) ** 2 > LEAST_LEFT).all():
        return None
    return np.asarray(np.triu(factor) @ whole)


def _alike(roots: Floats) -> Floats:
    """Roots by class; a column that is determined in all of them together is so by the same slopes."""
    pooled = (np.swapaxes(roots, 1, 2) @ roots).sum(axis=0)
    common = root_of(pooled, BARREN)
    kept = np.diagonal(common) != 0
    for j in np.flatnonzero(~kept & (np.diagonal(pooled) > 0)).tolist():
        before = np.flatnonzero(kept[:j])
        slopes = scipy.linalg.solve_triangular(common[np.ix_(before, before)], common[before, j])
        roots[:, :, j] = roots[:, :, before] @ slopes
    return roots


UNITS = 16 * EPS
"""Relative rounding of a sum of squares that was gathered and merged."""

DIGIT = 0.1
"""Relative error from which on a number has no digit."""


@dataclass(frozen=True, slots=True, eq=False)
class Remainder:
    """What is left, or why it is not known.

    Attributes
    ----------
    moments : ClassMoments or None
        None where there is a fault.
    error : (K, p) or (1, p) float
        Bound of the relative error of each sum of squares; zero where it is exact.
    fault : {"", "rows", "weights", "means", "squares", "digits"}
        What does not fit: more rows go than there are; weights are left without rows, or too little of them
        to be told from rounding; classes whose rows all go have other means; more squares go than there are,
        so that the rows are no part of the others; no digit is left.
    at : (int, int)
        Class, -1 where it is all of them, and column at fault.
    """

    moments: ClassMoments | None
    error: Floats
    fault: str = ""
    at: tuple[int, int] = (-1, -1)


def moments_without(whole: ClassMoments, gone: ClassMoments, known: Floats | None = None) -> Remainder:
    """Moments of the rows of `whole` without those of `gone`, which are among them.

    Scatters are by class, pooled or diagonal. Where a column is known to have one value in all rows of a
    class that are left, `known` (K, p) has it, and else NaN.

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
    # A pooled scatter has no part of a column that no class varies in.
    one = np.asarray(still[rows > 0].all(axis=0, keepdims=True))
    _clear(scatters, error, still if len(error) == len(still) else one)
    squares = scatters if scatters.ndim == 2 else np.diagonal(scatters, axis1=1, axis2=2)
    lost = squares * DIGIT <= error
    # What was constant over all rows is so over those that are left.
    lost &= error > 0
    if lost.any():
        k, j = np.argwhere(lost)[0].tolist()
        fault = "squares" if squares[k, j] < -error[k, j] else "digits"
        return Remainder(None, error, fault, (k if len(squares) > 1 else -1, j))
    relative = np.divide(error, squares, out=np.zeros_like(squares), where=squares > 0)
    roots = None
    if scatters.ndim == 3:
        roots = roots_without(*_roots(whole, gone, lift), scatters, np.maximum(relative / DIGIT, BARREN))
        # Classes from which nothing goes keep what they have.
        kept = np.flatnonzero(gone.counts == 0) if whole.spread == "class" else np.zeros(0, dtype=np.intp)
        if whole.roots is not None:
            roots[kept] = whole.roots[kept]
        scatters = np.swapaxes(roots, 1, 2) @ roots
        scatters[kept] = whole.scatters[kept]
    return Remainder(ClassMoments(counts, rows, centres, rests, whole.scale, scatters, roots), relative)


def _roots(whole: ClassMoments, gone: ClassMoments, lift: Floats) -> tuple[Floats, Floats]:
    """Roots of all rows and, with what the means moved by, of those that go."""
    own, other = (
        np.stack([root_of(each) for each in moments.scatters]) if moments.roots is None else moments.roots
        for moments in (whole, gone)
    )
    lifts = lift[None] if whole.spread == "pooled" else lift[:, None, :]
    return own, np.concatenate([other, lifts], axis=1)


def _moved_means(whole: ClassMoments, gap: Floats, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where (K, p) a class has another mean though all its rows go."""
    sd = np.sqrt(whole.squares.sum(axis=0) / whole.total)
    size = np.abs(whole.class_means).max(axis=0) * whole.scale
    ends = (rows == 0) & (whole.rows > 0)
    return np.asarray(ends[:, None] & (np.abs(gap) > 1e-6 * sd + UNITS * np.sqrt(whole.total) * size))


def _clear(scatters: Floats, error: Floats, still: NDArray[np.bool_]) -> None:
    """Make zero, in place, what is zero of columns without a variance."""
    error[still] = 0.0
    scatters[still] = 0.0
    if scatters.ndim == 3:
        np.swapaxes(scatters, 1, 2)[still] = 0.0


def _left(
    whole: ClassMoments, gone: ClassMoments, lift: Floats, rows: NDArray[np.int64], share: Floats
) -> tuple[Floats, Floats]:
    """Scatters that are left, and bounds of the errors of their diagonals."""
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
"""Binary orders of magnitude by which scales may differ where columns are compared."""


def comparable(moments: ClassMoments) -> ClassMoments:
    """Moments whose scales differ by no more than a sphere of the largest columns can tell."""
    return _within_reach(moments, float(moments.scale.min()))


def comparable_to_median(moments: ClassMoments) -> ClassMoments:
    """Moments whose scales differ by no more than the median of the variances can tell."""
    middle = median_column(moments.squares.sum(axis=0), moments.scale)
    return _within_reach(moments, float(moments.scale[middle]))


def median_column(squares: Floats, scale: Floats) -> int:
    """Position of the column whose variance in the units of the data is the (upper) median."""
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
    """Standard deviations (p,) within classes, divisor N - K; over all rows where there are none within."""
    free = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / free)
    over_all = np.sqrt(total_squares(moments) / moments.total)
    return np.asarray(np.where(constant_within(moments), over_all, within) / moments.scale)


def constant_within(moments: ClassMoments) -> Mask:
    """Whether columns (p,) have one value in each class, up to rounding."""
    free = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / free)
    return np.asarray(within <= EPS * np.sqrt(moments.total) * moments.magnitude)


def in_units(moments: ClassMoments, unit: Floats) -> ClassMoments:
    """The moments of x / unit (p,)."""
    return replace(moments, centres=moments.centres / unit, scale=moments.scale * unit)


def in_deviations(moments: ClassMoments) -> ClassMoments:
    """The moments of columns over their standard deviations within classes."""
    return in_units(moments, within_sd(moments))


def standardized_left_out(moments: ClassMoments, left_out: Callable[[ClassMoments], LeftOut]) -> LeftOut:
    """Scores of rows left out, where those of columns over their standard deviations follow from moments."""
    unit = within_sd(moments)
    scores = left_out(in_units(moments, unit))
    return lambda x, codes, weights: scores((x.T / unit[:, None]).T, codes, weights)
