"""Rows in the coordinates of moments, columns side by side."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments

__all__ = ["column_squares", "from_class_means", "standard_columns"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def standard_columns(x: Floats, origin: Floats, scale: Floats, order: Literal["C", "K"] = "C") -> Floats:
    """The coordinates z (p, m) of rows x (m, p), about one origin (p,) or one for each row (p, m).

    In one memory layout whatever the table's; by "K" in that of the table, x itself where that is z.
    """
    unscaled = bool((scale == 1).all())
    if order == "K" and unscaled and not origin.any():
        return x.T
    z = np.subtract(x.T, origin.reshape(len(scale), -1), order=order)
    return np.asarray(z if unscaled else np.multiply(z, scale[:, None], out=z))


def from_class_means(moments: ClassMoments, x: Floats, classes: Codes | int) -> Floats:
    """Deviations (p, m) of rows x (m, p) from the mean of a class, or of one for each row (m,), in z."""
    z = standard_columns(x, moments.centres[classes].T, moments.scale)
    z -= moments.rests[classes].T.reshape(len(z), -1)
    return z


def column_squares(columns: Floats) -> Floats:
    """Sum of squares (m,) of each column of (p, m)."""
    return np.asarray(np.einsum("ij,ij->j", columns, columns))
