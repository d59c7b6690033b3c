"""The triangular root of the rows of a linear model, in one pass.

Theory. With A the (n, m) matrix of a constant and the columns, each row times the root of its weight, A = QR
leaves the (m, m) triangle R, and R'R = A'A. All sums of squares of least squares are those of parts of R,
which has the digits of the rows themselves, where the products of A'A have lost half of them. The triangle of
more rows is that of the triangle with these below it, so that blocks and parts add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.parts import reduced

__all__ = ["RowRoot", "gather_root"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowRoot:
    """What least squares of rows needs of them.

    Attributes
    ----------
    triangle : (m, 1 + p) float
        R of the constant and the columns less `origin`; m is 1 + p, or 0 where there was no row.
    origin : (p,) float
        What is taken from the columns before they are multiplied, so that an offset costs no digits.
    total : float
        Sum of the weights, that of the rows where they have none.
    rows : int
        Rows of positive weight.
    """

    triangle: Floats
    origin: Floats
    total: float
    rows: int


def gather_root(blocks: RowBlocks, *, shifted: NDArray[np.bool_]) -> RowRoot:
    """The root of all rows.

    Parameters
    ----------
    blocks : iterable of (x, codes, weights)
        x is (m, p).
    shifted : (p,) bool
        Columns that may be taken from some constant, since the constant is in the model.

    Examples
    --------
    >>> root = gather_root([(np.array([[1.0], [3.0]]), np.zeros(2, int), None)], shifted=np.array([True]))
    >>> root.origin.tolist(), root.total, np.round(np.abs(root.triangle), 3).tolist()
    ([2.0], 2.0, [[1.414, 0.0], [0.0, 1.414]])
    """
    return reduced(blocks, partial(_root_of, shifted=shifted), _merged)


def _root_of(blocks: RowBlocks, *, shifted: NDArray[np.bool_]) -> RowRoot:
    p = len(shifted)
    triangle, origin = np.zeros((0, 1 + p)), np.zeros(p)
    total, rows, first = 0.0, 0, True
    for x, _, weights in blocks:
        if not len(x):
            continue
        if first:
            origin, first = np.where(shifted, x.mean(axis=0), 0.0), False
        stacked = np.empty((len(triangle) + len(x), 1 + p), order="F")
        stacked[: len(triangle)] = triangle
        own = stacked[len(triangle) :]
        own[:, 0] = 1.0
        np.subtract(x, origin, out=own[:, 1:])
        if weights is not None:
            own *= np.sqrt(weights)[:, None]
        triangle = _triangle(stacked)
        total += float(len(x) if weights is None else weights.sum())
        rows += len(x) if weights is None else int((weights > 0).sum())
    return RowRoot(triangle, origin, total, rows)


def _merged(one: RowRoot, other: RowRoot) -> RowRoot:
    if not other.rows or not one.rows:
        return one if one.rows else other
    # A column less another constant is the column and a multiple of the constant's own column.
    moved = other.triangle.copy()
    moved[:, 1:] += moved[:, :1] * (other.origin - one.origin)
    triangle = _triangle(np.vstack([one.triangle, moved]))
    return RowRoot(triangle, one.origin, one.total + other.total, one.rows + other.rows)


def _triangle(stacked: Floats) -> Floats:
    found = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0]
    return np.ascontiguousarray(found[: stacked.shape[1]])
