"""The law of Roy's greatest root, the largest root of a matrix of multivariate beta.

Let H and E be independent, H of Wishart's law on q degrees of freedom and E on v, both of dimension p and of
one covariance. The roots theta of (H + E)^-1 H have, with s = min(p, q), m = (|p - q| - 1)/2 and n = (v - p -
1)/2, the density

    c prod theta_i^m (1 - theta_i)^n prod_{i<j} |theta_i - theta_j|.

That the largest is at most x has, as an integral of such a product, the probability |A(x)|^(1/2)/|A(1)|^(1/2)
(de Bruijn, 1955, Journal of the Indian Mathematical Society 19, 133-151), where for any polynomials p_0, ...,
p_{s-1} of these degrees and w(t) = t^m (1 - t)^n

    A_ij(x) = int int_{0 < u, v < x} sign(v - u) p_i(u) p_j(v) w(u) w(v) du dv,

with, for odd s, one more row and column of int_0^x p_i w. Chiani (2016, Journal of Multivariate Analysis 143,
467-471) has the entries of powers of t by recurrence, whose digits cancel from s of about 8 on. Here p_i are
orthogonal for t w(t)^2 (1 - t), of which A is well conditioned, and the integrals are those of Gauss in the
angle whose squared sine is t. The tail is 1 - |I - A(1)^-1 D|^(1/2), where D = A(1) - A(x) is an integral
over the tail, so that small probabilities keep their digits.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy
from numpy.polynomial.legendre import leggauss

from discrim.core.numerics.arrays import Floats

NODES = 60
"""Points of the rule of Gauss for two roots or fewer; it has two more for each further root."""

FAR = 60.0
"""Fall of the logarithm of the density beyond which nothing is left of an integral."""


@lru_cache
def gauss_rule(points: int) -> tuple[Floats, Floats]:
    """Points and weights of the rule of Gauss and Legendre on (-1, 1)."""
    return leggauss(points)


def greatest_root_sf(root: float, p: int, q: float, v: float) -> float:
    """Probability that the largest root of E^-1 H exceeds a value; missing where v is below p.

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
        # One root of p and q in any order is that of an F.
        return float(scipy.special.betaincc((low + 1) / 2, (high + 1) / 2, np.sin(angle) ** 2))
    centre = float(np.arctan2(np.sqrt(low), np.sqrt(high)))
    wide = (6 + 3 * np.sqrt(s)) / np.sqrt(low + high + s)
    start = max(0.0, centre - wide)
    end = min(np.pi / 2, centre + wide)
    falls = high * np.tan(angle) - low / np.tan(angle)
    beyond = angle + FAR / falls if falls > 0 else end
    if angle <= start:
        return 1.0
    body = _pieces(start, min(angle, end), s, low, high, centre)
    tail = _pieces(angle, min(np.pi / 2, max(end, beyond)), s, low, high, centre)
    cross = np.outer(body[0], tail[0])
    lost = _bordered(tail[1] + cross - cross.T, tail[0])
    whole = _bordered(body[1], body[0]) + lost
    shares = np.linalg.eigvals(np.linalg.solve(whole, lost))
    # ln |1 - z| of each; complex logarithms lose what is small.
    with np.errstate(divide="ignore"):
        logs = 0.5 * np.log1p(np.abs(shares) ** 2 - 2 * shares.real)
    # Zero has no sign.
    return float(-np.expm1(0.5 * logs.sum())) + 0.0


def _pieces(
    start: float, end: float, s: int, low: float, high: float, centre: float
) -> tuple[Floats, Floats]:
    """Integrals (s,) of the polynomials between two angles, and the part (s, s) of A that is theirs."""
    points, weights = gauss_rule(NODES + 2 * max(s - 2, 0))
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
    """Orthogonal polynomials (s, ...) of t times w in the angle, whose largest value is about one."""
    t = np.sin(angle) ** 2
    both = low + high
    k = np.arange(1.0, s)
    middle = (2 * k * (k + both + 1) + both * (low + 1)) / ((2 * k + both) * (2 * k + both + 2))
    middle = np.concatenate([[(low + 1) / (both + 2)], middle])
    step = k * (k + low) * (k + high) * (k + both)
    step = np.sqrt(step / ((2 * k + both) ** 2 * (2 * k + both + 1) * (2 * k + both - 1)))
    xlogy = scipy.special.xlogy
    weight = xlogy(low, np.sin(angle)) + xlogy(high, np.cos(angle))
    top = xlogy(low, np.sin(centre)) + xlogy(high, np.cos(centre))
    out = np.empty((s, *angle.shape))
    out[0] = np.exp(weight - top)
    for j in range(1, s):
        out[j] = (t - middle[j - 1]) * out[j - 1]
        if j > 1:
            out[j] -= step[j - 2] * out[j - 2]
        out[j] /= step[j - 1]
    return out


def _bordered(square: Floats, border: Floats) -> Floats:
    """A skew-symmetric matrix, with one row and column more where its order is odd."""
    if len(square) % 2 == 0:
        return square
    return np.block([[square, border[:, None]], [-border[None], np.zeros((1, 1))]])


def greatest_root_isf(share: float, p: int, q: float, v: float) -> float:
    """The value that the largest root of E^-1 H exceeds with a probability; missing where v is below p.

    Examples
    --------
    >>> round(greatest_root_isf(0.05, 2, 2, 10), 6)
    1.48172
    """
    if v < p:
        return np.nan
    goal = np.log(share)

    def beyond(log_root: float) -> float:
        return float(np.log(max(greatest_root_sf(np.exp(log_root), p, q, v), 1e-300)) - goal)

    low = high = 0.0
    while beyond(low) < 0:
        low -= 2.0
    while beyond(high) > 0:
        high += 2.0
    return float(np.exp(scipy.optimize.brentq(beyond, low, high, xtol=1e-13, rtol=1e-13)))
