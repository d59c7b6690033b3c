"""Whether the columns of one model lie within those of another.

Theory. One model is nested in another where each of its columns, and the constant, is a combination of the
other's: Z_s = Z_l B, whatever the columns are called. With Gram matrix G of Z_l and C = Z_l'Z_s, B = G^-1 C;
what the rows of Z_s - Z_l B leave then is no more than rounding. In both the columns have variance one.
The hypothesis that takes the large model to the small one is N'b = 0, N the directions across the range of B.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from discrim.core.moments.row_sums import RowBlock, RowBlocks
from discrim.core.regression.newton import Frame

__all__ = ["Columns", "Within", "null_directions", "within"]

Floats = NDArray[np.float64]

ROUNDED = 1e-6
"""What the columns of another may leave of a column, in its standard deviations, and still hold it."""


class Within(NamedTuple):
    """Whether the columns of a small model lie within those of a large one.

    Attributes
    ----------
    combinations : (p + 1, s + 1) float
        Of the columns of the large model's frame that make the standardized ones of the small model.
    left : (s,) float
        The most that a row leaves of each column of the small model, in standard deviations.
    """

    combinations: Floats
    left: Floats

    @property
    def nested(self) -> bool:
        """Whether nothing is left but rounding."""
        return bool((self.left <= ROUNDED).all())


Pairs = Iterable[tuple[Floats, Floats, Floats | None]]
"""Rows x of the large model and of the small one, and their weights, block by block."""


def within(pairs: Pairs, large: Frame, small: Frame) -> Within:
    """Whether the columns of one model are combinations of those of another, in two passes.

    Parameters
    ----------
    pairs : re-iterable of (x (m, p), x (m, s), weights (m,) or None)
    large, small : Frame
    """
    p1, s1 = len(large.scale) + 1, len(small.scale) + 1
    gram, cross = np.zeros((p1, p1)), np.zeros((p1, s1))
    for x, y, _ in pairs:
        z = large.columns(x)
        gram += z @ z.T
        cross += z @ _standardized(small, y).T
    combinations = np.asarray(cho_solve(cho_factor(gram), cross))
    left = np.zeros(s1)
    for x, y, _ in pairs:
        gaps = _standardized(small, y) - combinations.T @ large.columns(x)
        left = np.maximum(left, np.abs(gaps).max(axis=1, initial=0.0))
    return Within(combinations, left[1:])


def _standardized(frame: Frame, x: Floats) -> Floats:
    """A row of ones over the columns (s, m) of rows x (m, s), of mean zero and variance one each."""
    z = frame.deviations(x)
    z[1:] = (z[1:] * frame.scale[:, None] - frame.rest[:, None]) / frame.covariance.sd[:, None]
    return z


def null_directions(combinations: Floats) -> Floats:
    """Normals (r, p + 1), of length one, of the coefficients of which the small model is made."""
    left, values, _ = np.linalg.svd(combinations, full_matrices=True)
    rank = int((values > ROUNDED * values[0]).sum())
    return np.asarray(left[:, rank:].T)


class Columns:
    """Rows of some of the columns, block by block."""

    def __init__(self, rows: RowBlocks, keep: list[int]) -> None:
        self._rows, self._keep = rows, keep

    def __iter__(self) -> Iterator[RowBlock]:
        for x, codes, weights in self._rows:
            # Column by column, as the rows lie.
            yield x.T[self._keep].T, codes, weights
