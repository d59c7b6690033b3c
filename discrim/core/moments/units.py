"""Moments in other units of the columns, and the units that a sphere is meant in.

Theory. Moments hold each column in z = x * scale, near one. A ridge, a sphere or a median of variances
compares columns as they are in the data, which in z is a ratio of scales; for columns of 1e-300 beside
columns of 1 that ratio, or its square, is out of range. There a column so small is next to nothing beside the
sphere, whatever number stands for it: `comparable` puts it on a scale that is at most 2^200 times that of the
column which the sphere is made of, where what it adds to a distance sinks to zero, as it should. Whatever is
near in size keeps its scale, and so its bits.

The coordinates z do not change with the units: x' = x / u has the centres m / u and the scale u s, and its
scatters are those of x. So a covariance drawn towards a sphere in the units u is one of x as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats, Mask
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.scatter.covariance import EPS, total_squares

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


def within_sd(moments: ClassMoments) -> Floats:
    """Standard deviations (p,) within classes, divisor N - K; over all rows where there are none within."""
    free = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / free)
    over_all = np.sqrt(total_squares(moments) / moments.total)
    return np.asarray(np.where(constant_within(moments), over_all, within) / moments.scale)


def constant_within(moments: ClassMoments) -> Mask:
    """Whether columns (p,) have one value in each class, up to rounding."""
    free = max(moments.total - moments.n_classes, 1.0)
    within = np.sqrt(moments.squares.sum(axis=0) / free)
    return np.asarray(within <= EPS * np.sqrt(moments.total) * moments.magnitude)


def in_units(moments: ClassMoments, unit: Floats) -> ClassMoments:
    """The moments of x / unit (p,)."""
    return replace(moments, centres=moments.centres / unit, scale=moments.scale * unit)


def in_deviations(moments: ClassMoments) -> ClassMoments:
    """The moments of columns over their standard deviations within classes."""
    return in_units(moments, within_sd(moments))


def standardized_left_out(moments: ClassMoments, left_out: Callable[[ClassMoments], LeftOut]) -> LeftOut:
    """Scores of rows left out, where those of columns over their standard deviations follow from moments."""
    unit = within_sd(moments)
    scores = left_out(in_units(moments, unit))
    return lambda x, codes, weights: scores((x.T / unit[:, None]).T, codes, weights)
