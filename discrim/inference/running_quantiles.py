"""Quantiles of replicates that come one by one, without holding all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RunningInterval"]

Floats = NDArray[np.float64]

HELD = 2**21
"""Numbers that are sorted at once."""


class RunningInterval:
    """The two equal-tailed quantiles of arrays of one shape, of which the outermost only are held.

    Parameters
    ----------
    shape : tuple of int
        Of a replicate.
    replicates : int
        How many will be added, 2 or more.
    level : float
        Between the quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> held = RunningInterval((1,), 5, 0.5)
    >>> for value in (3.0, 1.0, 5.0, 2.0, 4.0):
    ...     held.add(np.array([value]))
    >>> [float(end[0]) for end in held.ends()]
    [2.0, 4.0]
    """

    def __init__(self, shape: tuple[int, ...], replicates: int, level: float) -> None:
        self._position = (replicates - 1) * (1 - level) / 2
        self._size = int(self._position) + 2
        self._low, self._high = np.full((2, self._size, *shape), np.inf)
        self._high *= -1
        self._new = np.empty((self._size, *shape))
        self._missing = np.zeros(shape, dtype=bool)
        self._waiting = 0

    def add(self, values: Floats) -> None:
        """Enter a replicate."""
        self._new[self._waiting] = values
        self._missing |= np.isnan(values)
        self._waiting += 1
        if self._waiting == self._size:
            self._settle()

    def _settle(self) -> None:
        count = self._missing.size // len(self._missing) if len(self._missing) else 1
        step = max(HELD // (2 * self._size * count), 1)
        for start in range(0, len(self._missing), step):
            part = np.s_[:, start : start + step]
            for held, sign in ((self._low[part], 1.0), (self._high[part], -1.0)):
                both = np.concatenate([held, self._new[: self._waiting][part]])
                both *= sign
                both.partition(self._size - 1, axis=0)
                np.multiply(both[: self._size], sign, out=held)
        self._waiting = 0

    def ends(self) -> tuple[Floats, Floats]:
        """Lower and upper quantiles, linear between the two nearest as NumPy's; missing where a value is."""
        if self._waiting:
            self._settle()
        share = self._position - int(self._position)
        found = []
        for held, sign in ((self._low, 1.0), (self._high, -1.0)):
            nearest = np.partition(sign * held, [self._size - 2, self._size - 1], axis=0)[-2:]
            with np.errstate(invalid="ignore"):
                end = sign * (nearest[0] + share * (nearest[1] - nearest[0]))
            found.append(np.where(self._missing, np.nan, end))
        return found[0], found[1]
