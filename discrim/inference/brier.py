"""Brier's score, and what it is made of.

Theory. The score of a row is the sum over classes of (p_k - o_k)^2, o_k one for its class and else zero
(Brier, 1950, Monthly Weather Review 78, 1-3); of two classes it is twice the square of one. Each class's
part falls, over bins b of rows by p_k, exactly into

    reliability       sum n_b (pbar_b - obar_b)^2 / n
  - resolution        sum n_b (obar_b - obar)^2 / n
  + uncertainty       obar (1 - obar)
  + within variance   sum_b sum_i (p_i - pbar_b)^2 / n
  - within covariance sum_b sum_i 2 (p_i - pbar_b) (o_i - obar_b) / n.

The first three are Murphy's (1973, Journal of Applied Meteorology 12, 595-600), and all there is where the
rows of a bin have one probability; the other two are what Stephenson, Coelho & Jolliffe (2008, Weather and
Forecasting 23, 752-757) add where they have not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discrim.inference.calibration import binned

__all__ = ["BrierParts", "brier_parts", "residuals"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class BrierParts(NamedTuple):
    """The score of one class against the rest, and its parts.

    Attributes
    ----------
    brier, reliability, resolution, uncertainty, within_variance, within_covariance : float
        brier = reliability - resolution + uncertainty + within_variance - within_covariance.
    bins : int
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within_variance: float
    within_covariance: float
    bins: int


def residuals(log_odds: Floats, codes: Codes) -> Floats:
    """Differences (m, K) of probability and outcome, from log odds (m, K) of each class against the rest.

    That of the row's own class keeps its digits where the probability is one up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> [f"{found:.4g}" for found in residuals(np.array([[50.0, -50.0]]), np.array([0]))[0]]
    ['-1.929e-22', '1.929e-22']
    """
    own = (np.arange(len(codes)), codes)
    signed = np.array(log_odds)
    signed[own] *= -1
    with np.errstate(over="ignore"):
        found = np.asarray(1 / (1 + np.exp(-signed)))
    found[own] *= -1
    return found


def brier_parts(
    proba: Floats, true: NDArray[np.bool_], bins: int = 10, weights: Floats | None = None
) -> BrierParts:
    """The mean of (p - o)^2 of one class, and its parts.

    Parameters
    ----------
    proba : (n,) float
    true : (n,) bool
    bins : int
        Of about equal counts, as of `calibration_bins`.
    weights : (n,) float, optional
        Frequencies, or shares of rows in the mean.

    Examples
    --------
    >>> import numpy as np
    >>> found = brier_parts(np.array([0.2, 0.2, 0.8, 0.8]), np.array([False, True, True, True]), bins=2)
    >>> [round(part, 4) for part in found[:4]]
    [0.19, 0.065, 0.0625, 0.1875]
    """
    held = binned(proba, true, bins, weights)
    rows, total = held.rows, float(held.rows.sum())
    p, o = held.predicted, held.observed
    overall = float(rows @ o) / total
    off, out = held.values - p[held.at], held.hits - held.counts * o[held.at]
    misses = held.counts - held.hits
    return BrierParts(
        float(misses @ held.values**2 + held.hits @ (1 - held.values) ** 2) / total,
        float(rows @ (p - o) ** 2) / total,
        float(rows @ (o - overall) ** 2) / total,
        overall * (1 - overall),
        float(held.counts @ off**2) / total,
        2 * float(off @ out) / total,
        len(rows),
    )
