"""Which of many names there is room for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["with_room"]


def with_room(points: NDArray[np.float64], order: Sequence[int], room: NDArray[np.float64]) -> list[int]:
    """Those of the points (n, 2), taken in order, that are not within room (2,) of one before them.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [5.0, 5.0], [5.0, 20.0]])
    >>> with_room(points, [0, 1, 2], room=np.array([20.0, 10.0]))
    [0, 2]
    """
    kept: list[int] = []
    for i in order:
        near = np.abs(points[kept] - points[i]) < room
        if not near.all(axis=1).any():
            kept.append(i)
    return kept
