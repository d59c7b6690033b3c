"""Moments of the rows that are left when some are taken out again.

Theory. With n, m, W of all rows of a class and n_2, m_2, W_2 of those that go, what merging added up is
solved for the rest (Chan, Golub & LeVeque, 1983, The American Statistician 37, 242-247):

    n_1 = n - n_2,   m_1 = m + n_2/n_1 (m - m_2),   W_1 = W - W_2 - n n_2/n_1 (m - m_2)(m - m_2)'.

*Digits.* All terms of the sum that W was are sums of squares, so that none is larger than W_jj. Each is held
to a few units of rounding of itself, and so is (m - m_2), of the standard deviation: through its square, of
which n n_2/n_1 are taken, comes sqrt(n_2/n_1) times as much. W_1jj is therefore known to within

    e_j = r W_jj (1 + sqrt(n_2/n_1)),   r some units of rounding,

and has the relative error e_j / W_1jj. Where this leaves no decimal digit the difference is refused. It
cannot be told from a column that is constant in the rows that are left, so that this is refused too.
A class of which one row is left has no scatter, exactly; so has one of which none is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.given_moments import BARREN, root_of
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.moments.roots_without import roots_without

__all__ = ["Remainder", "moments_without"]

Floats = NDArray[np.float64]

UNITS = 16 * EPS
"""Relative rounding of a sum of squares that was gathered and merged."""

DIGIT = 0.1
"""Relative error from which on a number has no digit."""


@dataclass(frozen=True, slots=True)
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

    Parameters
    ----------
    whole, gone : ClassMoments
        Of the same classes and columns, with scatters by class, pooled or diagonal.
    known : (K, p) float, optional
        The value of a column in all rows of a class that are left, where it is known to have one; else NaN.

    Examples
    --------
    >>> import numpy as np
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
    rows, counts = whole.rows - gone.rows, whole.counts - gone.counts
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
    moved = _moved_means(whole, gone, gap, rows)
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
        centres, rests = np.where(still, known, centres), np.where(still, 0.0, rests)
    scatters, error = _left(whole, gone, lift, rows, share)
    # A pooled scatter has no part of a column that no class varies in.
    _clear(scatters, error, still if len(error) == len(still) else _all_of(still, rows))
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
        np.stack([root_of(each) for each in held.scatters]) if held.roots is None else held.roots
        for held in (whole, gone)
    )
    lifts = lift[None] if whole.spread == "pooled" else lift[:, None, :]
    return own, np.concatenate([other, lifts], axis=1)


def _moved_means(
    whole: ClassMoments, gone: ClassMoments, gap: Floats, rows: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Where (K, p) a class has another mean though all its rows go."""
    sd = np.sqrt(whole.squares.sum(axis=0) / whole.total)
    size = np.abs(whole.class_means).max(axis=0) * whole.scale
    ends = (rows == 0) & (whole.rows > 0)
    return np.asarray(ends[:, None] & (np.abs(gap) > 1e-6 * sd + UNITS * np.sqrt(whole.total) * size))


def _all_of(still: NDArray[np.bool_], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray(still[rows > 0].all(axis=0, keepdims=True))


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
        single, wider = np.array([(rows > 0).sum() == rows.sum()]), wider.max(axis=0, keepdims=True)
    else:
        single = rows <= 1
        squares = lift**2 if whole.scatters.ndim == 2 else lift[:, :, None] * lift[:, None, :]
        scatters = whole.scatters - gone.scatters - squares
    scatters[single] = 0.0
    same = single if whole.spread == "pooled" else gone.counts == 0
    error = UNITS * whole.squares * wider
    error[single | same] = 0.0
    return scatters, error
