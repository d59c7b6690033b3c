"""The optimal separating hyperplane of two classes, exactly.

Theory (Vapnik, 1996, The Nature of Statistical Learning Theory; Hastie, Tibshirani & Friedman, 2009, The
Elements of Statistical Learning, sec. 4.5.2). Among the planes between two classes the optimal one is
farthest from the nearest row: minimize |b|^2/2 under y_i (x_i'b + b_0) >= 1 with y = 1, -1; the margin is
1/|b|. Its dual is the problem of the nearest points of the two convex hulls (Bennett & Bredensteiner, 2000,
ICML 17, 57-64): with w the shortest vector from the one hull to the other, b = 2 w/|w|^2, the margin is
|w|/2, and the weights of w by the rows, times 2/|w|^2, are the multipliers of the conditions of Karush,
Kuhn and Tucker. w is the point nearest to the origin in the hull of all differences of a row of the one
class and a row of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.nearest_point import nearest_point

__all__ = ["OptimalPlane", "largest_margin", "optimal_plane"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

TOUCHING = 1e-13
"""Distance of the hulls, relative to the spread of the rows, below which they touch."""


@dataclass(frozen=True, slots=True)
class OptimalPlane:
    """The optimal plane x'coef + intercept = 0, scaled so that support points have values 1 and -1.

    Attributes
    ----------
    coef : (p,) float
    intercept : float
    support : (s,) int
        Positions of the rows with a positive multiplier, ascending.
    multipliers : (s,) float
        coef = sum y_i a_i x_i over the support, sum y_i a_i = 0.
    residual : float
        The largest violation of the conditions of Karush, Kuhn and Tucker: of stationarity relative to
        |coef|, of complementarity relative to the multipliers' sum, of feasibility relative to one.
    """

    coef: Floats
    intercept: float
    support: Codes
    multipliers: Floats
    residual: float

    @property
    def margin(self) -> float:
        """Distance from the plane to the nearest row."""
        return 1 / float(np.linalg.norm(self.coef))


def optimal_plane(x: Floats, positive: NDArray[np.bool_]) -> OptimalPlane | None:
    """The optimal plane between rows, or None where the hulls of the two classes touch.

    Parameters
    ----------
    x : (n, p) float
        About an origin close to the rows.
    positive : (n,) bool
        Rows on the side of positive values; both sides have some.
    """
    rows = (np.flatnonzero(positive), np.flatnonzero(~positive))
    upper, lower = (np.ascontiguousarray(x[at]) for at in rows)

    def lowest(w: Floats) -> tuple[tuple[int, int], Floats]:
        i, j = int(np.argmin(upper @ w)), int(np.argmax(lower @ w))
        return (i, j), upper[i] - lower[j]

    found = nearest_point(lowest, upper.mean(axis=0) - lower.mean(axis=0))
    square = float(found.point @ found.point)
    coef = 2 * found.point / square if square > 0 else np.zeros_like(found.point)
    low, high = float((upper @ coef).min()), float((lower @ coef).max())
    spread = float(np.sqrt((x**2).sum(axis=1).max()))
    if np.sqrt(square) <= TOUCHING * spread or low <= high:
        return None
    weights = np.zeros(len(x))
    pairs: list[Any] = found.keys
    for (i, j), weight in zip(pairs, found.weights, strict=True):
        weights[rows[0][i]] += weight
        weights[rows[1][j]] += weight
    intercept = -(low + high) / 2
    support = np.flatnonzero(weights)
    multipliers = weights[support] * 2 / square
    side = np.where(positive, 1.0, -1.0)
    values = side * (x @ coef + intercept)
    slack = values[support] - 1
    violations = [
        np.linalg.norm(coef - (side[support] * multipliers) @ x[support]) / np.linalg.norm(coef),
        abs(float(side[support] @ multipliers)) / multipliers.sum(),
        np.abs(multipliers * slack).max() / multipliers.sum(),
        max(0.0, 1 - float(values.min())),
    ]
    return OptimalPlane(coef, intercept, support, multipliers, float(max(violations)))


def largest_margin(signed: Floats) -> float:
    """Largest m with signed'b >= m for all rows (n, p) and some b of length one; zero where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> round(largest_margin(np.array([[1.0, 0.0], [0.0, 1.0]])), 6)
    0.707107
    """

    def lowest(w: Floats) -> tuple[int, Floats]:
        i = int(np.argmin(signed @ w))
        return i, signed[i]

    w = nearest_point(lowest, signed.mean(axis=0)).point
    length = float(np.linalg.norm(w))
    return max(float((signed @ w).min()) / length, 0.0) if length > 0 else 0.0
