"""Do the class means differ? Wilks' lambda from the roots of W^-1 B."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from discrim.inference.result import TestResult, approximations

__all__ = ["wilks"]


def wilks(roots: NDArray[np.float64], n_columns: int, n_classes: int, total: float) -> TestResult:
    """Wilks' lambda with Rao's F.

    Parameters
    ----------
    roots : (r,) float
        Eigenvalues of W^-1 B; those left out are zero.
    n_columns, n_classes : int
        p and K.
    total : float
        N, the number of rows.

    Returns
    -------
    TestResult
        `statistic` is lambda = prod 1/(1 + root); `table` has Rao's F, exact for p or K - 1 up to 2
        (Rao, 1951, Bulletin of the International Statistical Institute 33, 177-180).

    Examples
    --------
    >>> import numpy as np
    >>> result = wilks(np.array([32.1919292, 0.2853910]), 4, 3, 150)
    >>> round(result.statistic, 7), result.df
    (0.0234386, (8.0, 288.0))
    """
    p, q, v = n_columns, n_classes - 1, total - n_classes
    free = p * p + q * q - 5
    t = np.sqrt((p * p * q * q - 4) / free) if free > 0 and p * q > 2 else 1.0
    df1 = float(p * q)
    df2 = float(t * (v - (p - q + 1) / 2) - (p * q - 2) / 2)
    log_lambda = -float(np.log1p(roots).sum())
    # From the roots, not from lambda, which has lost its digits where it is near one.
    f = float(np.expm1(-log_lambda / t)) * df2 / df1
    pvalue = float(stats.f.sf(f, df1, df2))
    return TestResult(
        "Wilks' lambda",
        float(np.exp(log_lambda)),
        (df1, df2),
        pvalue,
        "Normal classes with one covariance; equal means under the hypothesis (Rao's F).",
        approximations({"F": (f, df1, df2, pvalue)}),
    )
