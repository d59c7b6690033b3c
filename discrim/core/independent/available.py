"""Normal columns of which rows miss values, each fitted to the rows that have it.

Theory. Columns are independent within classes, so that the likelihood of what is there is a product over
columns: that of column j is of the rows that have it, n_kj of class k. Its mean and its variance (divisor
n_kj - 1 or n_kj) are those of these rows (Little & Rubin, 2020, Statistical Analysis with Missing Data, sec.
3.4). Without a row x of weight w, which has the column,

    m' = m - w (x - m) / (n_kj - w),   SS' = SS - w n_kj / (n_kj - w) (x - m)^2,

and nothing of the column changes without a row that misses it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS
from discrim.core.moments.coordinates import standard_columns
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import SPOILT, LeftOut

__all__ = ["available_left_out", "available_llf"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def available_llf(moments: ClassMoments, counts: Floats, added: Floats | float = 0.0) -> float:
    """Log-likelihood of the columns given the class, at variances of divisor n_kj to which some is added.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal; its sums of squares are of the rows that have the column.
    counts : (K, p) float
        Their weight, by class.
    added : (p,) float
    """
    variances = moments.scatters / counts + added
    logs = np.log(2 * np.pi * variances) - 2.0 * np.log(moments.scale)
    return float(-0.5 * (counts * logs + moments.scatters / variances).sum())


def available_left_out(moments: ClassMoments, counts: Floats, log_prior: Floats, short: float) -> LeftOut:
    """Scores of rows under normal columns fitted without each of them, of what each row has.

    Parameters
    ----------
    moments, counts
        As for `available_llf`.
    log_prior : (K,) float
    short : float
        By what the divisor is short of the weight of the rows: 1, or 0.

    Returns
    -------
    callable
        From rows x (m, p), codes (m,) and weights (m,) or None to scores (m, K); missing where there is no
        variance without the row, or it has lost its digits.
    """
    means, squares = moments.means, moments.scatters
    variances = squares / (counts - short)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        z = standard_columns(x, moments.origin, moments.scale).T
        there = ~np.isnan(z)
        n, held = counts[codes], squares[codes]
        left = n - (np.ones(len(x)) if weights is None else np.minimum(weights, 1.0))[:, None]
        gap = z - means[codes]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            rest = held - (n - left) * n / left * gap**2
            lost = there & ~((left - short > EPS * n) & (rest > SPOILT * held))
            own = -0.5 * ((gap * n / left) ** 2 * (left - short) / rest + np.log(rest / (left - short)))
        total = np.repeat(log_prior[:, None], len(x), axis=1)
        for k, variance in enumerate(variances):
            with np.errstate(over="ignore"):
                others = -0.5 * ((z - means[k]) ** 2 / variance + np.log(variance))
            terms = np.where((codes == k)[:, None], own, others)
            total[k] += np.where(there & ~lost, terms, 0.0).sum(axis=1)
        total[:, lost.any(axis=1)] = np.nan
        return np.asarray(total.T)

    return scores
