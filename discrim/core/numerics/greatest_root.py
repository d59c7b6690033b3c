"""Distribution of Roy's greatest root, the largest root of a multivariate beta matrix.

Let H and E be independent, H with Wishart distribution on q degrees of freedom and E on v, both of dimension
p and with equal covariances. The roots theta of (H + E)^-1 H have, with s = min(p, q), m = (|p - q| - 1)/2
and n = (v - p - 1)/2, the density

    c prod theta_i^m (1 - theta_i)^n prod_{i<j} |theta_i - theta_j|.

The probability that the largest is at most x is, as an integral of such a product, |A(x)|^(1/2)/|A(1)|^(1/2)
(de Bruijn, 1955, Journal of the Indian Mathematical Society 19, 133-151), with, for any polynomials p_0, ...,
p_{s-1} of these degrees and w(t) = t^m (1 - t)^n,

    A_ij(x) = int int_{0 < u, v < x} sign(v - u) p_i(u) p_j(v) w(u) w(v) du dv,

and, for odd s, one more row and column of int_0^x p_i w. Chiani (2016, Journal of Multivariate Analysis 143,
467-471) computes the entries of powers of t by a recurrence, in which digits cancel for s of about 8 or more.
Here the p_i are orthogonal for t w(t)^2 (1 - t), which makes A well conditioned, and integrals are computed
by Gauss quadrature in the angle whose squared sine is t. The tail probability is 1 - |I - A(1)^-1 D|^(1/2)
with D = A(1) - A(x), an integral over the tail, and small probabilities therefore keep their digits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy
from numpy.polynomial.legendre import leggauss

from discrim.core.numerics.arrays import Floats

N_NODES = 60
"""Number of quadrature points for up to two roots; each further root adds two."""

MAX_LOG_DECREASE = 60.0
"""Decrease of the log density from its maximum at which an integral is negligible."""


@lru_cache
def gauss_legendre_rule(points: int) -> tuple[Floats, Floats]:
    """Return points and weights of Gauss-Legendre quadrature on (-1, 1), cached and not to be modified."""
    return leggauss(points)


def greatest_root_sf(root: float, p: int, q: float, v: float) -> float:
    """Return the probability that the largest root of E^-1 H exceeds a value, at equal covariances.

    A root theta of (H + E)^-1 H in the module docstring is root / (1 + root).

    Parameters
    ----------
    root : float
        Value of the largest root.
    p : int
        Dimension of H and E.
    q, v : float
        Degrees of freedom of H and E.

    Returns
    -------
    float
        NaN if v is below p or the root is NaN; 1 for a root of zero or less, 0 for an infinite one.

    Examples
    --------
    >>> round(greatest_root_sf(1.0, 2, 2, 10), 6), round(greatest_root_sf(1.0, 1, 2, 10), 6)
    (0.120947, 0.03125)
    """
    s = int(min(p, q))
    low = 2.0 * ((abs(p - q) - 1) / 2) + 1
    high = 2.0 * ((v - p - 1) / 2) + 1
    if v < p or np.isnan(root):
        return np.nan
    if np.isinf(root):
        return 0.0
    angle = np.arctan(np.sqrt(max(root, 0.0)))
    if s == 1 or angle == 0:
        # A single root has an F distribution.
        return float(scipy.special.betaincc((low + 1) / 2, (high + 1) / 2, np.sin(angle) ** 2))
    centre = float(np.arctan2(np.sqrt(low), np.sqrt(high)))
    half_width = (6 + 3 * np.sqrt(s)) / np.sqrt(low + high + s)
    start = max(0.0, centre - half_width)
    end = min(np.pi / 2, centre + half_width)
    descent = high * np.tan(angle) - low / np.tan(angle)
    negligible_from = angle + MAX_LOG_DECREASE / descent if descent > 0 else end
    if angle <= start:
        return 1.0
    body = _integrate_interval(start, min(angle, end), s, low, high, centre)
    tail = _integrate_interval(angle, min(np.pi / 2, max(end, negligible_from)), s, low, high, centre)
    cross = np.outer(body[0], tail[0])
    tail_matrix = _add_border(tail[1] + cross - cross.T, tail[0])
    full_matrix = _add_border(body[1], body[0]) + tail_matrix
    eigenvalues = np.linalg.eigvals(np.linalg.solve(full_matrix, tail_matrix))
    # ln |1 - z| of each eigenvalue z; complex logarithms lose digits of small values.
    with np.errstate(divide="ignore"):
        logs = 0.5 * np.log1p(np.abs(eigenvalues) ** 2 - 2 * eigenvalues.real)
    # Avoid a negative zero.
    return float(-np.expm1(0.5 * logs.sum())) + 0.0


def _integrate_interval(
    start: float, end: float, s: int, low: float, high: float, centre: float
) -> tuple[Floats, Floats]:
    """Integrate the functions p_i w, and the antisymmetric products of two of them, over angles.

    Parameters
    ----------
    start, end : float
        Interval of angles, whose squared sines are t, within 0 and pi/2.
    s : int
        Number of roots.
    low, high : float
        2m + 1 and 2n + 1.
    centre : float
        Angle of the maximum of the weight.

    Returns
    -------
    border : (s,) float
        Integrals of the functions p_i w.
    square : (s, s) float
        Contribution to A of pairs within the interval.
    """
    points, weights = gauss_legendre_rule(N_NODES + 2 * max(s - 2, 0))
    points = (points + 1) / 2
    weights = weights / 2
    length = max(end - start, 0.0)
    outer = start + length * points
    inner = start + length * points[:, None] * points
    values = _polynomials(outer, s, low, high, centre) * (weights * length)
    before = (_polynomials(inner, s, low, high, centre) * weights).sum(axis=-1) * (length * points)
    total = values.sum(axis=1)
    product = (2 * before - total[:, None]) @ values.T
    return total, (product - product.T) / 2


def _polynomials(angle: Floats, s: int, low: float, high: float, centre: float) -> Floats:
    """Return orthogonal polynomials of t times the weight w in the angle, scaled to a maximum of about one.

    Parameters
    ----------
    angle : array of float
        Angles whose squared sines are the points t.
    s : int
        Number of polynomials.
    low, high : float
        2m + 1 and 2n + 1.
    centre : float
        Angle of the maximum of the weight.

    Returns
    -------
    (s, *angle.shape) float
    """
    t = np.sin(angle) ** 2
    exponent_sum = low + high
    k = np.arange(1.0, s)
    centres = (2 * k * (k + exponent_sum + 1) + exponent_sum * (low + 1)) / (
        (2 * k + exponent_sum) * (2 * k + exponent_sum + 2)
    )
    centres = np.concatenate([[(low + 1) / (exponent_sum + 2)], centres])
    recurrence_steps = k * (k + low) * (k + high) * (k + exponent_sum)
    recurrence_steps = np.sqrt(
        recurrence_steps
        / ((2 * k + exponent_sum) ** 2 * (2 * k + exponent_sum + 1) * (2 * k + exponent_sum - 1))
    )
    xlogy = scipy.special.xlogy
    weight = xlogy(low, np.sin(angle)) + xlogy(high, np.cos(angle))
    max_log_weight = xlogy(low, np.sin(centre)) + xlogy(high, np.cos(centre))
    polynomials = np.empty((s, *angle.shape))
    polynomials[0] = np.exp(weight - max_log_weight)
    for j in range(1, s):
        polynomials[j] = (t - centres[j - 1]) * polynomials[j - 1]
        if j > 1:
            polynomials[j] -= recurrence_steps[j - 2] * polynomials[j - 2]
        polynomials[j] /= recurrence_steps[j - 1]
    return polynomials


def _add_border(square: Floats, border: Floats) -> Floats:
    """Extend a skew-symmetric matrix of odd order to even order by a row and column; even order is unchanged.

    Parameters
    ----------
    square : (s, s) float
        Skew-symmetric matrix.
    border : (s,) float
        The last column; its negative is the last row.

    Returns
    -------
    (s, s) or (s + 1, s + 1) float
        `square` itself if s is even.
    """
    if len(square) % 2 == 0:
        return square
    return np.block([[square, border[:, None]], [-border[None], np.zeros((1, 1))]])


def greatest_root_isf(probability: float, p: int, q: float, v: float) -> float:
    """Return the value that the largest root of E^-1 H exceeds with a given probability.

    Parameters
    ----------
    probability : float
        Tail probability, above 0 and below 1.
    p : int
        Dimension of H and E.
    q, v : float
        Degrees of freedom of H and E.

    Returns
    -------
    float
        NaN if v is below p.

    Examples
    --------
    >>> round(greatest_root_isf(0.05, 2, 2, 10), 6)
    1.48172
    """
    if v < p:
        return np.nan
    log_probability = np.log(probability)

    def log_excess(log_root: float) -> float:
        """Return the log tail probability at a log root minus the log of the requested probability."""
        return float(np.log(max(greatest_root_sf(np.exp(log_root), p, q, v), 1e-300)) - log_probability)

    low = high = 0.0
    while log_excess(low) < 0:
        low -= 2.0
    while log_excess(high) > 0:
        high += 2.0
    return float(np.exp(scipy.optimize.brentq(log_excess, low, high, xtol=1e-13, rtol=1e-13)))
