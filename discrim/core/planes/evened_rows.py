"""Rows on one scale for a linear program: a linear function has the same sign on every multiple of a row.

A row that lies 1e12 standard deviations of the others away leaves all of them within the tolerance of a
program whose columns have unit variance, as if they lay on its plane. The columns are put in units of the
middle of the rows instead, each row (1, x) is divided by its largest number, and columns are made orthogonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

__all__ = ["COLLINEAR", "EvenedRows", "evened_rows"]

Floats = NDArray[np.float64]

COLLINEAR = 1e-10
"""Relative size at which what a column adds to others is rounding."""


class EvenedRows(NamedTuple):
    """Rows over their sizes.

    Attributes
    ----------
    columns : (r, n) float
        Orthonormal columns times sqrt(n) that span those of a constant and the rows.
    size : (n,) float
        What each row (1, z) was divided by, z in units of the middle of the rows; one at least.
    """

    columns: Floats
    size: Floats


def evened_rows(x: Floats) -> EvenedRows:
    """Rows x (n, p) on one scale.

    Examples
    --------
    >>> import numpy as np
    >>> evened_rows(np.array([[1.0], [2.0], [3.0], [1e12]])).size.round(3).tolist()
    [1.5, 1.0, 1.0, 999999999997.5]
    """
    n = len(x)
    # By a sort: NumPy's partition, which np.median calls, ended Python in a thread.
    middle = np.sort(x, axis=0)[[(n - 1) // 2, n // 2]].mean(axis=0)
    gaps = np.abs(x - middle)
    spread = np.sort(gaps, axis=0)[[(n - 1) // 2, n // 2]].mean(axis=0)
    farthest = gaps.max(axis=0)
    varies = farthest > 0
    unit = np.where(spread > 0, spread, farthest)[varies]
    whole = np.column_stack([np.ones(n), (x[:, varies] - middle[varies]) / unit])
    size = np.abs(whole).max(axis=1)
    q, r, _ = qr(whole / size[:, None], mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(r))
    rank = int((diagonal > COLLINEAR * diagonal[0]).sum())
    return EvenedRows(np.sqrt(n) * q[:, :rank].T, size)
