"""Moments in other units of the columns, which is what a sphere and a ridge depend on.

The coordinates z of moments do not change: x' = x / u has the centres m / u and the scale u s, and its
scatters are those of x. So a covariance drawn towards a sphere in the units u is one of x as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS, total_squares
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.leave_one_out import LeftOut

__all__ = ["constant_within", "in_units", "standardized", "standardized_left_out", "within_sd"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


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


def standardized(moments: ClassMoments) -> ClassMoments:
    """The moments of columns over their standard deviations within classes."""
    return in_units(moments, within_sd(moments))


def standardized_left_out(moments: ClassMoments, left_out: Callable[[ClassMoments], LeftOut]) -> LeftOut:
    """Scores of rows left out, where those of columns over their standard deviations follow from moments."""
    unit = within_sd(moments)
    scores = left_out(in_units(moments, unit))
    return lambda x, codes, weights: scores((x.T / unit[:, None]).T, codes, weights)
