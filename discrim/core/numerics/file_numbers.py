"""What numbers of a file are: all of them whole, or flags."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_flags", "are_whole"]

Floats = NDArray[np.float64]

MOST = 2.0**52
"""Whole numbers beyond twice of it are not all doubles."""


def are_whole(values: Floats | float, least: float = 0.0, most: float = MOST) -> bool:
    """Whether all numbers are whole, and from `least` to `most`; none are."""
    held = np.asarray(values)
    return bool(((held == np.round(held)) & (held >= least) & (held <= most)).all())


def are_flags(values: Floats | float) -> bool:
    """Whether all numbers are 0 or 1; none are."""
    return are_whole(values, 0.0, 1.0)
