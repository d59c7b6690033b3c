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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.file_numbers import are_whole
from discrim.core.planes.nearest_point import NearestPoint, nearest_point
from discrim.core.planes.one_against_rest import plane_rule
from discrim.core.rules.rules import LinearRule
from discrim.errors import DataError

__all__ = [
    "CommonPoint",
    "HyperplaneFit",
    "OptimalPlane",
    "fit_hyperplane",
    "hyperplane_from_file",
    "largest_margin",
    "optimal_plane",
]

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
        return 1 / float(np.hypot.reduce(self.coef))


@dataclass(frozen=True, slots=True)
class HyperplaneFit:
    """The optimal plane between two classes.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal.
    prior : (2,) float
        Class proportions, of which the rule makes no use.
    origin : (p,) float
        The point that the plane's intercept is the value at.
    plane : OptimalPlane
        Of the rows less the origin.
    """

    moments: ClassMoments
    prior: Floats
    origin: Floats
    plane: OptimalPlane

    has_distances = False
    estimated_prior = True

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Scores 0 and x'b + b_0: the side of the plane."""
        return plane_rule(self.origin, self.plane.coef[:, None], np.array([self.plane.intercept]))

    def refit(self, x: Floats, codes: Codes) -> HyperplaneFit | None:
        """The same model of other rows; None where the hulls touch."""
        # Any origin close to the rows serves, and that of other columns is none.
        origin = self.origin if x.shape[1] == len(self.origin) else x.mean(axis=0)
        found = optimal_plane(x - origin, codes == 1)
        return replace(self, origin=origin, plane=found) if isinstance(found, OptimalPlane) else None

    def ended(self) -> dict[str, Floats]:
        """What a file keeps: origin, coef, support with its multipliers, and (intercept, residual)."""
        plane = self.plane
        support = np.column_stack([plane.support, plane.multipliers])
        found = np.array([plane.intercept, plane.residual])
        return {"origin": self.origin, "coef": plane.coef, "support": support, "found": found}


@dataclass(frozen=True, slots=True)
class CommonPoint:
    """A point of both hulls: why no plane separates.

    Attributes
    ----------
    rows : (s,) int
    weights : (s,) float
        Those of either class sum to one, and the two weighted means of rows agree.
    """

    rows: Codes
    weights: Floats


def fit_hyperplane(
    x: Floats, codes: Codes, moments: ClassMoments, prior: Floats
) -> HyperplaneFit | CommonPoint:
    """The optimal plane between two classes of rows (n, p), or a point that is in the hulls of both."""
    origin = x.mean(axis=0)
    found = optimal_plane(x - origin, codes == 1)
    return found if isinstance(found, CommonPoint) else HyperplaneFit(moments, prior, origin, found)


def hyperplane_from_file(
    moments: ClassMoments, prior: Floats, *, origin: Floats, coef: Floats, support: Floats, found: Floats
) -> HyperplaneFit:
    """A fit from what `HyperplaneFit.ended` gives.

    Raises
    ------
    DataError
        It does not fit together.
    """
    if not are_whole(support[:, 0]) or not (np.diff(support[:, 0]) > 0).all() or not len(support):
        raise DataError("its support points are no rows")
    if not (support[:, 1] >= 0).all() or not found[1] >= 0:
        raise DataError("its multipliers, or what they leave, are negative")
    if not 0 < np.hypot.reduce(coef) < np.inf:
        raise DataError("its plane has no direction")
    rows, multipliers = support[:, 0].astype(np.intp), support[:, 1]
    plane = OptimalPlane(coef, float(found[0]), rows, multipliers, float(found[1]))
    return HyperplaneFit(moments, prior, origin, plane)


def optimal_plane(x: Floats, positive: NDArray[np.bool_]) -> OptimalPlane | CommonPoint:
    """The optimal plane between rows, or a point in common where the hulls of the two classes touch.

    Parameters
    ----------
    x : (n, p) float
        About an origin close to the rows.
    positive : (n,) bool
        Rows on the side of positive values; both sides have some.
    """
    # A power of two takes no digit, and keeps squares of rows in any units from under- and overflow.
    largest = float(np.abs(x).max())
    unit = 2.0 ** np.floor(np.log2(largest)) if largest > 0 else 1.0
    axes = _span(x)
    found = _optimal(x / unit if axes is None else (x / unit) @ axes, positive)
    if isinstance(found, CommonPoint):
        return found
    coef = found.coef if axes is None else axes @ found.coef
    with np.errstate(over="ignore", under="ignore"):
        # In such units the plane itself is a double, and may be where these are none.
        multipliers = found.multipliers / unit / unit
    return replace(found, coef=coef / unit, multipliers=multipliers)


def _span(x: Floats) -> Floats | None:
    """Orthonormal axes (p, n) that hold all rows (n, p), where columns are more; distances are the same."""
    if x.shape[1] <= len(x):
        return None
    return np.asarray(qr(x.T, mode="economic", check_finite=False)[0])


def _optimal(x: Floats, positive: NDArray[np.bool_]) -> OptimalPlane | CommonPoint:
    """The same for rows about as large as one, and columns no more than rows."""
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
    support, weights = _by_row(found, rows)
    if np.sqrt(square) <= TOUCHING * spread or low <= high:
        return CommonPoint(support, weights)
    side = np.where(positive, 1.0, -1.0)
    first = _checked(x, side, coef, -(low + high) / 2, support, weights * 2 / square)
    again = _polished(x, side, support)
    return first if again is None or again.residual > first.residual else again


def _polished(x: Floats, side: Floats, support: Codes) -> OptimalPlane | None:
    """The shortest b with y (x'b + b_0) = 1 on the support, from differences of its rows; or None."""
    base = support[0]
    edges = x[support[1:]] - x[base]
    coef = np.linalg.lstsq(edges, side[support[1:]] - side[base], rcond=None)[0]
    signed = np.linalg.lstsq(edges.T, coef, rcond=None)[0]
    multipliers = side[support] * np.append(-signed.sum(), signed)
    if not (multipliers > 0).all():
        return None
    return _checked(x, side, coef, float(side[base] - x[base] @ coef), support, multipliers)


def _checked(
    x: Floats, side: Floats, coef: Floats, intercept: float, support: Codes, multipliers: Floats
) -> OptimalPlane:
    """The plane with the largest violation of the optimality conditions."""
    values = side * (x @ coef + intercept)
    slack = values[support] - 1
    violations = [
        np.linalg.norm(coef - (side[support] * multipliers) @ x[support]) / np.linalg.norm(coef),
        abs(float(side[support] @ multipliers)) / multipliers.sum(),
        np.abs(multipliers * slack).max() / multipliers.sum(),
        max(0.0, 1 - float(values.min())),
    ]
    return OptimalPlane(coef, intercept, support, multipliers, float(max(violations)))


def _by_row(found: NearestPoint, rows: tuple[Codes, Codes]) -> tuple[Codes, Floats]:
    """Rows of the corral's pairs, ascending, and their weights."""
    pairs: Any = found.keys
    total: dict[int, float] = {}
    for (i, j), weight in zip(pairs, found.weights.tolist(), strict=True):
        for row in (int(rows[0][i]), int(rows[1][j])):
            total[row] = total.get(row, 0.0) + weight
    support = np.array(sorted(total), dtype=np.intp)
    return support, np.array([total[row] for row in support.tolist()])


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
