"""How typical a row is of a class, and how sure its posterior.

Theory. *Typicality.* A new row x of class k lies at D2 from the estimated mean, with S on nu degrees of
freedom; then n_k/(n_k + 1) D2 (nu - p + 1)/(nu p) has an F distribution with p and nu - p + 1 degrees of
freedom (Hotelling's T2 for a sample of one; McLachlan, 1992, Discriminant Analysis and Statistical Pattern
Recognition, sec. 6.4). The chi-square that other programs print is its limit. A row of the fit is judged
by the others: its distances under the moments without it have the same distribution with n_k - 1 and nu -
1.

*Posteriors.* Let s_k = ln pi_k - (D2_k + ln|S_k|)/2 be the scores of a row and u_k its whitened deviation
from mean k. Means and covariances of normal samples are independent, and the delta method gives

    cov(s_k, s_l) = [k = l] (D2_k + 1)/n_k + (u_k'u_l)^2 / (2 nu)           (one covariance),
    var(s_k)      = (D2_k + 1)/n_k + (D2_k^2 - 2 D2_k + p) / (2 nu_k)       (a covariance each),

without the 1 where the prior is given. Of ln p_k/(1 - p_k) the derivatives are 1 by s_k and
-p_j/(1 - p_k) by s_j: its variance follows, and intervals are made on this scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from discrim.core.numerics.tails import f_sf, normal_isf

__all__ = [
    "ScoreCovariance",
    "common_covariance",
    "delta_intervals",
    "separate_covariance",
    "typical",
]

Floats = NDArray[np.float64]


def typical(d2: Floats, counts: Floats, free: Floats, p: int) -> Floats:
    """P(D2 > d2 | class) of new rows.

    Parameters
    ----------
    d2 : (K, m) float
        Squared distances under unbiased covariances.
    counts, free : (K, m) or (K, 1) float
        n_k and the degrees of freedom nu of the covariance, without the row.
    p : int

    Returns
    -------
    (K, m) float
        Missing where nu < p.
    """
    denominator = np.where(free >= p, free - p + 1, np.nan)
    f = counts / (counts + 1) * d2 * denominator / (free * p)
    return np.asarray(f_sf(f, p, denominator))


@dataclass(frozen=True, slots=True)
class ScoreCovariance:
    """Covariances of the K scores of each of m rows, as what they do.

    Attributes
    ----------
    own : (m, K) float
        Variances.
    times : callable
        From vectors (m, K), one a row, to the products (m, K) with the covariance of the row.
    """

    own: Floats
    times: Callable[[Floats], Floats]


def common_covariance(
    d2: Floats, gaps: Floats, counts: Floats, nu: float, *, estimated_prior: bool
) -> ScoreCovariance:
    """Covariances of scores under one covariance.

    Parameters
    ----------
    d2 : (m, K) float
        Squared distances of rows to means.
    gaps : (K, K) float
        Squared distances between the means.
    counts : (K,) float
    nu : float
    estimated_prior : bool

    Notes
    -----
    As 2 u_k'u_l is D2_k + D2_l less the gap of k and l, the squares of all pairs times a vector are three
    products with the gaps, and no row has a matrix of its own.
    """
    means = (d2 + estimated_prior) / counts
    squares = gaps**2

    def times(v: Floats) -> Floats:
        along, twice = v * d2, v @ gaps
        inner = d2 * v.sum(axis=1, keepdims=True) + 2 * (along.sum(axis=1, keepdims=True) - twice)
        inner *= d2
        inner += (along * d2).sum(axis=1, keepdims=True) - 2 * (along @ gaps) + v @ squares
        return np.asarray(inner / (8 * nu) + means * v)

    return ScoreCovariance(means + d2**2 / (2 * nu), times)


def separate_covariance(
    d2: Floats, counts: Floats, nu: Floats, p: int, *, estimated_prior: bool
) -> ScoreCovariance:
    """Covariances of scores where each class has its own; as `common_covariance`."""
    own = (d2 + estimated_prior) / counts + (d2**2 - 2 * d2 + p) / (2 * nu)
    return ScoreCovariance(own, lambda v: own * v)


def delta_intervals(posteriors: Floats, covariance: ScoreCovariance, level: float) -> tuple[Floats, Floats]:
    """Lower and upper bounds (m, K) of posteriors, normal on the logit scale.

    Parameters
    ----------
    posteriors : (m, K) float
    covariance : ScoreCovariance
    level : float
    """
    others = 1 - posteriors
    rows, top = np.arange(len(posteriors)), posteriors.argmax(axis=1)
    rest = posteriors.copy()
    rest[rows, top] = 0.0
    # Where p is one in floating point, the others' sum is what it leaves of them.
    others[rows, top] = np.where(posteriors[rows, top] > 0.5, rest.sum(axis=1), others[rows, top])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # The derivatives for class k are (e_k - p)/(1 - p_k): one product a row for all k together.
        product = covariance.times(posteriors)
        whole = np.einsum("mk,mk->m", posteriors, product)[:, None]
        variance = (covariance.own - 2 * product + whole) / others**2
        # Where p_k is near one, e_k - p would lose the digits of what it leaves.
        slopes = -posteriors / others[rows, top][:, None]
        slopes[rows, top] = 1.0
        variance[rows, top] = np.einsum("mj,mj->m", slopes, covariance.times(slopes))
        logit = np.log(posteriors) - np.log(others)
        # A variance that is nothing can come out below it by rounding.
        half = normal_isf((1 - level) / 2) * np.sqrt(np.maximum(variance, 0.0))
    return expit(logit - half), expit(logit + half)
