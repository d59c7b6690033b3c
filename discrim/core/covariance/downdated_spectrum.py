"""The largest eigenvalues of a diagonal matrix less a matrix of rank one, for many such matrices at once.

Theory (Golub, 1973, SIAM Review 15, 318-334; Bunch, Nielsen & Sorensen, 1978, Numerische Mathematik 31,
31-48). The eigenvalues u_1 > ... > u_r of L - z z', L of l_1 > ... > l_r, are the zeros of

    f(u) = 1 - sum_i z_i^2 / (l_i - u),   l_(j+1) < u_j < l_j,

and the eigenvector of u_j is that of z_i / (l_i - u_j). Between its poles f falls from plus to minus
infinity. With the poles before u as one pole at l_j, and those behind it as one at l_(j+1), each with the
value and the slope of what it stands for, the next u is a zero of a quadratic; where that leaves the interval
it is halved.
What is found is l_j - u_j, which keeps its digits where an eigenvalue hardly moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS

__all__ = ["Downdated", "downdated"]

Floats = NDArray[np.float64]

MOST_STEPS = 100
"""Steps up to which zeros are looked for; a few are enough where halving is not needed."""


@dataclass(frozen=True, slots=True)
class Downdated:
    """The q largest eigenvalues of each of m matrices.

    Attributes
    ----------
    shifts : (m, q) float
        By how much they are smaller than those of L.
    slopes : (m, q) float
        Sum of z_i^2 / (l_i - u_j)^2.
    gaps : (m, r, q) float
        l_i - u_j.
    found : (m,) bool
        Whether they are known to the rounding of f.
    """

    shifts: Floats
    slopes: Floats
    gaps: Floats
    found: NDArray[np.bool_]


def downdated(lengths: Floats, squares: Floats, q: int) -> Downdated:
    """The q largest eigenvalues of matrices L - z z'.

    Parameters
    ----------
    lengths : (r,) float
        The diagonal L, falling, each by more than a rounding of the first.
    squares : (m, r) float
        z_i^2, none of them zero.
    q : int

    Examples
    --------
    >>> import numpy as np
    >>> held = downdated(np.array([3.0, 1.0]), np.array([[1.0, 0.5]]), 2)
    >>> largest, last = (np.array([3.0, 1.0]) - held.shifts)[0].tolist()
    >>> round(largest + last, 12), round(largest * last, 12)
    (2.5, 0.5)
    """
    m, r = squares.shape
    apart = lengths[:, None] - lengths[:q]
    # Behind the last of all there is no pole, and an eigenvalue may lie as far as the trace goes.
    width = np.empty((m, q))
    width[:] = np.append(-np.diff(lengths), 0.0)[:q]
    if q == r:
        width[:, -1] = squares.sum(axis=1) * (1 + EPS * r)
    low, high = np.zeros((m, q)), width.copy()
    shifts, slopes = width / 2, np.ones((m, q))
    found = np.zeros(m, dtype=bool)
    before = np.arange(r)[:, None] <= np.arange(q)
    ends = np.arange(q) == r - 1
    active = np.arange(m)
    for _ in range(MOST_STEPS):
        delta = shifts[active]
        gaps = apart + delta[:, None, :]
        part = squares[active][:, :, None] / gaps
        steep = part / gaps
        psi, psi_slope = (np.where(before, each, 0.0).sum(axis=1) for each in (part, steep))
        phi, phi_slope = (np.where(before, 0.0, each).sum(axis=1) for each in (part, steep))
        value = 1.0 - psi - phi
        slopes[active] = psi_slope + phi_slope
        close = np.abs(value) <= 4 * EPS * r * (1.0 + np.abs(psi) + np.abs(phi))
        close |= high[active] - low[active] <= 2 * EPS * delta
        done = close.all(axis=1)
        found[active[done]] = True
        if done.all():
            break
        # A positive value says that the eigenvalue is larger, and the shift smaller.
        high[active] = np.where(value > 0, delta, high[active])
        low[active] = np.where(value > 0, low[active], delta)
        step = _step(delta, delta - width[active], (psi, psi_slope), (phi, phi_slope), ends)
        inside = (step > low[active]) & (step < high[active])
        middle = 0.5 * (low[active] + high[active])
        shifts[active] = np.where(close, delta, np.where(inside, step, middle))
        active = active[~done]
    return Downdated(shifts, slopes, apart + shifts[:, None, :], found)


def _step(
    first: Floats, second: Floats, before: tuple[Floats, Floats], behind: tuple[Floats, Floats], ends: Floats
) -> Floats:
    """The next shifts, from the distances to the poles before and behind and what these stand for."""
    (psi, psi_slope), (phi, phi_slope) = before, behind
    s, big = first**2 * psi_slope, second**2 * phi_slope
    level = 1.0 - (psi - first * psi_slope) - (phi - second * phi_slope)
    linear = s + big - level * (first + second)
    constant = level * first * second - s * second - big * first
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(linear**2 - 4 * level * constant, 0.0))
        half = -0.5 * (linear + np.copysign(root, linear))
        one, other = first - half / level, first - constant / half
        width = first - second
        step = np.where((one > 0) & (one < width), one, other)
        return np.asarray(np.where(ends, s / level, step))
