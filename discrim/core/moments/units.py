"""The units that a sphere is meant in: those of the data, times one power of two for all columns.

Theory. Moments hold each column in z = x * scale, near one. A ridge, a sphere or a median of variances
compares columns as they are in the data, which in z is a ratio of scales; for columns of 1e-300 beside
columns of 1 that ratio, or its square, is out of range. There a column so small is next to nothing beside
the sphere, whatever number stands for it: `comparable` puts it on a scale that is at most 2^200 times that
of the column which the sphere is made of, where what it adds to a distance sinks to zero, as it should.
Whatever is near in size keeps its scale, and so its bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments

__all__ = ["comparable", "comparable_to_median", "median_column"]

Floats = NDArray[np.float64]

REACH = 200
"""Binary orders of magnitude by which scales may differ where columns are compared."""


def comparable(moments: ClassMoments) -> ClassMoments:
    """Moments whose scales differ by no more than a sphere of the largest columns can tell."""
    return _within_reach(moments, float(moments.scale.min()))


def comparable_to_median(moments: ClassMoments) -> ClassMoments:
    """Moments whose scales differ by no more than the median of the variances can tell."""
    middle = median_column(moments.squares.sum(axis=0), moments.scale)
    return _within_reach(moments, float(moments.scale[middle]))


def median_column(squares: Floats, scale: Floats) -> int:
    """Position of the column whose variance in the units of the data is the (upper) median."""
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    return int(np.argsort(sizes, kind="stable")[len(scale) // 2])


def _within_reach(moments: ClassMoments, reference: float) -> ClassMoments:
    exponent = int(np.log2(reference)) + REACH
    if exponent > 1000:
        return moments
    scale = np.minimum(moments.scale, 2.0**exponent)
    return moments if (scale == moments.scale).all() else moments.rescaled(scale)
