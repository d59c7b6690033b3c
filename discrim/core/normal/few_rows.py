"""Coordinates of the span of few rows of many columns.

Theory. Rows less one of their points span fewer dimensions than there are rows: with an orthonormal basis
Q (r, p) of that span, means, scatters and deviations of the rows are those of their coordinates Q y, and
whatever is made of scatters and the identity is known from them and from p. What it is beyond the span, a
multiple of the identity, adds to determinants alone, since no row of the fit lies there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.moments.coordinates import standard_columns
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import triangle
from discrim.core.moments.units import comparable

__all__ = ["Span"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Span:
    """An orthonormal basis of the rows of a fit, in the units of the data times one power of two.

    Attributes
    ----------
    moments : ClassMoments
        By class, of the coordinates.
    origin, scale : (p,) float
        A row's z is (x - origin) * scale.
    axes : (r, p) float
        Rows that z is projected on.
    """

    moments: ClassMoments
    origin: Floats
    scale: Floats
    axes: Floats

    @staticmethod
    def of(held: ClassMoments) -> Span:
        """From moments with thin roots by class.

        Raises
        ------
        ValueError
            The moments have other roots, or none.
        """
        held = comparable(held)
        if held.roots is None or held.spread != "thin class":
            raise ValueError(f"Moments of spread {held.spread!r} have no thin roots by class.")
        unit = held.common_unit
        rows = np.concatenate([*held.roots, held.means]) * unit
        basis, _ = np.linalg.qr(rows.T)
        axes = basis.T * unit
        roots = np.stack([triangle(root @ axes.T) for root in held.roots])
        moments = ClassMoments(
            held.counts,
            held.rows,
            held.means @ axes.T,
            np.zeros((held.n_classes, len(axes))),
            np.ones(len(axes)),
            np.swapaxes(roots, 1, 2) @ roots,
            roots,
        )
        return Span(moments, held.origin, held.scale, axes)

    @property
    def columns(self) -> int:
        """Number of columns, p."""
        return len(self.scale)

    def coordinates(self, x: Floats) -> Floats:
        """Coordinates (m, r) of rows x (m, p) of the fit."""
        return np.asarray((self.axes @ standard_columns(x, self.origin, self.scale)).T)
