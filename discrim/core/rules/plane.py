"""The geometry of a plane n'x + c = 0 in space.

Theory (Hastie, Tibshirani & Friedman, 2009, The Elements of Statistical Learning, sec. 4.5). The signed
distance of x is (n'x + c)/|n|, positive on the side n points to; the foot of the perpendicular from x is x
less this many unit normals; the distance of the plane from the origin is |c|/|n|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Plane"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Plane:
    """The plane on which normal'(x - point) + value is zero.

    Attributes
    ----------
    normal, point : (p,) float
        A point close to the rows keeps the digits that an offset of the data would cost.
    value : float
        At the point.

    Examples
    --------
    >>> import numpy as np
    >>> plane, x = Plane(np.array([3.0, 4.0]), np.zeros(2), -10.0), np.array([[6.0, 8.0]])
    >>> plane.distances(x).tolist(), plane.feet(x).round(12).tolist()
    ([8.0], [[1.2, 1.6]])
    >>> plane.from_origin
    2.0
    """

    normal: Floats
    point: Floats
    value: float

    @property
    def length(self) -> float:
        """Length of the normal."""
        return float(np.hypot.reduce(self.normal))

    @property
    def offset(self) -> float:
        """The c of normal'x + c."""
        return self.value - float(self.normal @ self.point)

    @property
    def from_origin(self) -> float:
        """Distance of the plane from the origin."""
        return abs(self.offset) / self.length

    def distances(self, x: Floats) -> Floats:
        """Signed distances (m,) of rows (m, p), positive where the normal points to."""
        return np.asarray(((x - self.point) @ self.normal + self.value) / self.length)

    def feet(self, x: Floats) -> Floats:
        """The points (m, p) of the plane nearest to rows (m, p)."""
        return np.asarray(x - np.outer(self.distances(x), self.normal / self.length))
