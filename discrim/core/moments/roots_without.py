"""Roots of the scatters of rows that are left when others are taken out.

Theory. With R'R the scatter of all rows and the rows of B the root of what goes, S = B R^-1, what is left is

    R'R - B'B = R' (I - S'S) R,

and a triangular root of I - S'S, times R, is one of it (Golub & Van Loan, 2013, Matrix Computations, 6.5.4).
No product squares the condition of R. The diagonal of the root of I - S'S, squared, says what share of a
column, beyond the columns before it, is left of what was there; where that is rounding, the scatters are
subtracted.

In a difference of scatters a column that others determine has a rounding left over for a residual: its row of
the root is made zero. What it holds is then determined in each class by slopes of its own, which differ by
rounding, and in all classes together by none. So a column that is determined over all rows that are left is
given the slopes of all of them in each class.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.given_moments import BARREN, root_of

__all__ = ["roots_without"]

Floats = NDArray[np.float64]

LEAST = 1e-12
"""Share of what was there of a column, beyond the columns before it, from which on its root has digits."""


def roots_without(whole: Floats, gone: Floats, left: Floats, barren: Floats) -> Floats:
    """Triangular roots (K, p, p) of what is left of scatters.

    Parameters
    ----------
    whole : (K, p, p) float
        Roots of the scatters of all rows.
    gone : (K, m, p) float
        Roots of what goes.
    left : (K, p, p) float
        What is left of the scatters, to the rounding of those of all rows.
    barren : (K, p) float
        Share of a column's sum of squares in these that is rounding.
    """
    found = [_downdated(*each) for each in zip(whole, gone, left, strict=True)]
    if all(root is not None for root in found):
        return np.stack([root for root in found if root is not None])
    roots = np.stack(
        [
            _with_lengths(root_of(scatter, least), scatter) if root is None else root
            for root, scatter, least in zip(found, left, barren, strict=True)
        ]
    )
    return roots if len(roots) == 1 else _alike(roots)


def _downdated(whole: Floats, gone: Floats, left: Floats) -> Floats | None:
    """The root of R'R - B'B; None where a column of it is not known by that."""
    sizes = np.sqrt((whole**2).sum(axis=0))
    if (np.abs(np.diagonal(whole)) <= EPS * len(whole) * sizes).any() or not np.diagonal(left).all():
        return None
    lost = scipy.linalg.solve_triangular(whole, gone.T, trans="T", check_finite=False)
    factor, failed = scipy.linalg.lapack.dpotrf(np.eye(len(whole)) - lost @ lost.T)
    if failed or not (np.diagonal(factor) ** 2 > LEAST).all():
        return None
    return np.asarray(np.triu(factor) @ whole)


def _with_lengths(root: Floats, scatter: Floats) -> Floats:
    """A root whose columns are as long as those of a scatter: what a zero row had goes to the others."""
    lengths = np.sqrt((root**2).sum(axis=0))
    return np.asarray(root * (np.sqrt(np.diagonal(scatter)) / np.where(lengths > 0, lengths, 1.0)))


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
