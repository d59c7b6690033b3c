"""Ellipses of the hypothesis that class means are equal, and of the error beside them.

Theory. With E the scatter within classes on v = N - K degrees of freedom and H that between them on
q = K - 1, the error's ellipse is that of E/v, and the hypothesis's that of H/(lambda v), where lambda is the
value from which Roy's largest root of E^-1 H is significant. In some direction a'Ha exceeds lambda a'Ea if
and only if the largest root exceeds lambda: the hypothesis's ellipse then reaches beyond that of the error
(Friendly, 2007, Journal of Computational and Graphical Statistics 16, 421-444). Roy's value is that of the
upper bound of F on d = max(p, q) and v - d + q degrees of freedom, lambda = d/(v - d + q) F, which is exact
where min(p, q) is one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

__all__ = ["roy_critical", "scatter_between"]

Floats = NDArray[np.float64]


def roy_critical(n_columns: int, n_classes: int, total: float, alpha: float = 0.05) -> float:
    """Value from which Roy's largest root is significant; missing where no degrees of freedom are left.

    Parameters
    ----------
    n_columns, n_classes : int
    total : float
        N, the number of rows.
    alpha : float

    Examples
    --------
    >>> round(roy_critical(4, 3, 150), 4)
    0.0671
    """
    q, v = n_classes - 1, total - n_classes
    d = max(n_columns, q)
    rest = v - d + q
    return float(d / rest * stats.f.isf(alpha, d, rest)) if rest > 0 else np.nan


def scatter_between(means: Floats, counts: Floats) -> Floats:
    """Scatter (p, p) of class means (K, p) about their weighted mean.

    Examples
    --------
    >>> scatter_between(np.array([[0.0], [2.0]]), np.array([1.0, 3.0])).tolist()
    [[3.0]]
    """
    gaps = means - counts @ means / counts.sum()
    return np.asarray(gaps.T @ (gaps * counts[:, None]))
