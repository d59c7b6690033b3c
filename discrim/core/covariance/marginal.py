"""The part of a covariance that is of some of its columns, in factored form.

Theory. With R'R = S, the covariance of some columns is that of the same columns of R, whose triangle a QR
gives: nothing is squared. Of a covariance U V U' + v (I - U U') it is v I + U_o (V - v) U_o', whose axes are
the singular vectors of U_o times the roots of V - v.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import EPS, Covariance
from discrim.core.covariance.principal import ThinCovariance
from discrim.core.moments.row_sums import triangle
from discrim.core.numerics.singular_values import svd

__all__ = ["of_columns"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def of_columns(covariance: Covariance, keep: Codes) -> Covariance:
    """The covariance of some columns (q,).

    Examples
    --------
    >>> import numpy as np
    >>> whole = Covariance.from_root(np.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> of_columns(whole, np.array([1])).matrix().round(12).tolist()
    [[10.0]]
    """
    if isinstance(covariance, ThinCovariance):
        return _thin(covariance, keep)
    if covariance.is_diagonal:
        return Covariance.from_root(covariance.root[keep])
    return Covariance.from_root(triangle(covariance.root[:, keep]))


def _thin(held: ThinCovariance, keep: Codes) -> ThinCovariance:
    unit, axes = held.unit[keep], held.axes[:, keep]
    sd = np.sqrt(((held.root * held.unit) ** 2).sum(axis=1))
    beyond = np.sqrt(np.maximum((sd - held.sphere) * (sd + held.sphere), 0.0))
    _, lengths, turned = svd(beyond[:, None] * axes, full_matrices=False)
    if not held.sphere:
        # Without a sphere what lies beyond the axes is left out, as it is of all columns.
        there = lengths > EPS * max(axes.shape) * lengths.max(initial=0.0)
        lengths, turned = lengths[there], turned[there]
    spread = np.hypot(lengths, held.sphere)[:, None]
    return ThinCovariance(spread * turned / unit, (turned / spread * unit).T, turned, unit, held.sphere)
