"""Steps of a search whose curvature is known of an earlier place, mended by what the steps since have taught.

See Nocedal (1980, Mathematics of Computation 35, 773-782).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["LimitedMemory"]

Floats = NDArray[np.float64]

REMEMBERED = 12
"""Steps that are learnt from."""


class LimitedMemory:
    """The inverse of a curvature, as a product with a vector, that learns from steps.

    Parameters
    ----------
    metric : callable
        The product (m,) of the inverse of the curvature of an earlier place with a gradient (m,).
    """

    def __init__(self, metric: Callable[[Floats], Floats]) -> None:
        self._metric = metric
        self._pairs = deque[tuple[Floats, Floats]](maxlen=REMEMBERED)

    def learn(self, step: Floats, fall: Floats) -> None:
        """Take in how far the gradient fell over a step; of one along which it did not, nothing is learnt."""
        if fall @ step > 0:
            self._pairs.append((step, fall))

    def __call__(self, gradient: Floats) -> Floats:
        """The step of a gradient: the two loops of Nocedal & Wright (2006, Numerical Optimization, 7.4)."""
        left, shares = gradient.copy(), []
        for step, fall in reversed(self._pairs):
            shares.append(float(step @ left) / float(step @ fall))
            left -= shares[-1] * fall
        moved = self._metric(left)
        for (step, fall), share in zip(self._pairs, reversed(shares), strict=True):
            moved += (share - float(fall @ moved) / float(step @ fall)) * step
        return moved
