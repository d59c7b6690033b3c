"""What squared distances of rows to the mean of their class would be, were the classes normal.

Theory. Of n rows of a class whose covariance is estimated on v degrees of freedom that hold these rows, the
squared distance d2 to the class mean has n/(n - 1) d2/v ~ Beta(p/2, (v - p)/2) (Gnanadesikan & Kettenring,
1972, Biometrics 28, 81-124, for v = n - 1). The i-th smallest of n distances lies between the quantiles of
Beta(i, n + 1 - i) of that law: pointwise limits, which need no simulation. Of a row that had no part in mean
and covariance, m/(m + 1) (v - p + 1)/(p v) d2 ~ F(p, v - p + 1), with m rows of the class in the fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

__all__ = ["distance_quantiles"]

Floats = NDArray[np.float64]

MOST = 4000
"""Ranks of a class that have quantiles and limits."""


def distance_quantiles(
    squared: Floats,
    n_columns: int,
    freedom: float | None,
    *,
    fitted: float | None = None,
    level: float = 0.95,
) -> pd.DataFrame:
    """Ordered squared distances of a class beside the quantiles of their law.

    Parameters
    ----------
    squared : (n,) float
        Of the rows of one class, none missing.
    n_columns : int
    freedom : float or None
        Degrees of freedom v of the covariance, whose divisor is v; None for chi-square.
    fitted : float, optional
        Rows m of the class in the fit, where those of the distances are others.
    level : float
        Of the pointwise limits.

    Returns
    -------
    DataFrame
        position (of the row among those given), quantile, squared, low, high; in order of the distances. It
        is empty where no degrees of freedom are left. Of more than 4,000 rows it has the 2,000 largest and
        2,000 of the others at even steps of their rank, with the quantiles and limits of their ranks.

    Examples
    --------
    >>> distance_quantiles(np.array([3.0, 1.0]), 1, None)[["position", "squared"]].to_numpy().tolist()
    [[1.0, 1.0], [0.0, 3.0]]
    """
    n = len(squared)
    law = _law(n, n_columns, freedom, fitted)
    columns = ["position", "quantile", "squared", "low", "high"]
    if law is None or not n:
        return pd.DataFrame(columns=columns, dtype=float)
    order = np.argsort(squared, kind="stable")
    rank = np.arange(1, n + 1)
    if n > MOST:
        far = MOST // 2
        steps = np.linspace(0, n - far - 1, far).round().astype(np.intp)
        kept = np.concatenate([steps, np.arange(n - far, n)])
        order, rank = order[kept], rank[kept]
    tail = (1 - level) / 2
    rest = n + 1 - rank
    limits = [law(stats.beta.ppf(share, rank, rest)) for share in (tail, 1 - tail)]
    return pd.DataFrame(
        dict(zip(columns, [order, law((rank - 0.5) / n), squared[order], *limits], strict=True))
    )


def _law(n: int, p: int, freedom: float | None, fitted: float | None) -> Any:
    """Quantile function of a squared distance."""
    if freedom is None:
        return lambda share: stats.chi2.ppf(share, p)
    if fitted is not None:
        rest = freedom - p + 1
        if rest <= 0 or fitted <= 0:
            return None
        return lambda share: (fitted + 1) / fitted * p * freedom / rest * stats.f.ppf(share, p, rest)
    if n < 2 or freedom <= p:
        return None
    return lambda share: freedom * (n - 1) / n * stats.beta.ppf(share, p / 2, (freedom - p) / 2)
