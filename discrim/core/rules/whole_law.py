"""Distances of rows to one normal law of all rows, whatever their classes.

Less it, a distance to a class says how much farther a row is from the class than from what all rows are like
(Ren, Fort, Liu, Roy, Padhy & Lakshminarayanan, 2021, A simple fix to Mahalanobis distance for improving
near-OOD detection, arXiv:2106.09022). The covariance about the common mean has the divisor N - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import dependencies, pooled
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.gaussian import distances
from discrim.core.rules.leave_one_out import common_distances
from discrim.core.rules.rules import Distances

__all__ = ["WholeLaw", "whole_law"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WholeLaw:
    """One normal law of all rows.

    Attributes
    ----------
    distances : Distances
        To its mean.
    count : float
        Rows, or the sum of their weights.
    """

    distances: Distances
    count: float

    def squared(self, x: Floats) -> Floats:
        """Squared distances (m,) of rows x (m, p)."""
        return np.asarray(self.distances.squared(x)[0])

    def left_out(self, x: Floats, weights: Floats | None) -> Floats:
        """Those of rows of the fit, each under the law of the others."""
        codes, counts = np.zeros(len(x), dtype=np.intp), np.array([self.count])
        found, gone = common_distances(x, codes, weights, self.distances, counts, self.count - 1)
        return np.where(gone.left > 0, found[0], np.inf)


def whole_law(moments: ClassMoments) -> WholeLaw | None:
    """The law of all rows, from moments with full scatters; None where its covariance has no inverse.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [4.0], [6.0]])
    >>> law = whole_law(ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2))
    >>> law.squared(np.array([[8.0]])).round(4).tolist()
    [3.75]
    """
    if moments.scatters.ndim != 3:
        return None
    whole = moments.as_one()
    if whole.total <= moments.n_columns or dependencies(whole):
        return None
    return WholeLaw(distances(whole, (pooled(whole, whole.total - 1),)), whole.total)
