"""Rules of planes: one between two classes, or one around each of more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import LinearRule

__all__ = ["plane_rule", "sides"]

Floats = NDArray[np.float64]


def sides(codes: NDArray[np.intp], n_classes: int) -> list[NDArray[np.bool_]]:
    """The positive rows (n,) of each plane: of the second class of two, else of each class in turn."""
    return [codes == k for k in ([1] if n_classes == 2 else range(n_classes))]


def plane_rule(origin: Floats, coef: Floats, intercept: Floats) -> LinearRule:
    """Scores by planes: 0 and x'b + c for two classes, else that of each class's plane.

    Parameters
    ----------
    origin : (p,) float
    coef : (p, 1) or (p, K) float
    intercept : (1,) or (K,) float
        Values at the origin.
    """
    if len(intercept) == 1:
        coef, intercept = np.column_stack([0 * coef[:, 0], coef[:, 0]]), np.append(0.0, intercept)
    return LinearRule(origin, np.ones(len(origin)), coef, intercept)
