"""Correlations shrunk towards zero beside variances shrunk towards their median.

Theory. A covariance is D^(1/2) R* D^(1/2) with correlations R* = (1 - g) R + g I and variances
D = (1 - h) V + h median(V), 0 <= g, h <= 1 (Schaefer & Strimmer, 2005, Statistical Applications in Genetics
and Molecular Biology 4, 32; Ahdesmaeki & Strimmer, 2010, Annals of Applied Statistics 4, 503-519). The h is
that of `shrinkage.fourth_moments`. With deviations u from the class means, each column of length one, so that
r_jk = sum_i u_ij u_ik, the g that loses least in expected squared error is estimated by

    g = min(1, (n A - B) / ((n - 1) B)),   A = sum_{j /= k} sum_i u_ij^2 u_ik^2,   B = sum_{j /= k} r_jk^2,

n the rows of all classes. B is |R - I|^2, so that of more columns than rows, where R = V'V for a V of r rows,
it is |VV' - I|^2 + p - r and no p x p matrix is formed; and n A - B is a sum of squares, n sum_i
(u_ij u_ik - r_jk / n)^2 over all pairs.

R* is the correlation of columns over their standard deviations within classes, drawn towards a sphere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.principal import ThinCovariance, one_scatter
from discrim.core.moments.coordinates import from_class_means
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.moments.standardized import in_units
from discrim.core.shrinkage.fourth_moments import NOTHING, data_units, strimmer_intensity
from discrim.core.shrinkage.median_shrinkage import median_shrunk
from discrim.core.shrinkage.shrinkage import Chosen, Structure, shrunk
from discrim.errors import DataError

__all__ = [
    "RowNoise",
    "VarianceShrinkage",
    "at_unit_lengths",
    "correlation_intensity",
    "correlation_shrunk",
    "row_noise",
    "variance_buffers",
    "variances_from_file",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VarianceShrinkage:
    """By how much variances are shrunk beside their correlations.

    Attributes
    ----------
    value : float
        From 0 to 1.
    chosen : {"given", "strimmer"}
    """

    value: float
    chosen: Chosen


@dataclass(frozen=True, slots=True)
class RowNoise:
    """What the analytic shrinkages take beyond a scatter, of columns of length one about their class means.

    Attributes
    ----------
    crossed : float
        Sum over rows and pairs of different columns of u_ij^2 u_ik^2.
    fourths : (p,) float
        Sum of u_ij^4 by column.
    """

    crossed: float
    fourths: Floats

    def correlations(self, moments: ClassMoments) -> float:
        """Schaefer & Strimmer's shrinkage of the correlations."""
        pairs = np.array(_squared_pairs(one_scatter(moments, None)))
        return float(correlation_intensity(pairs, np.array(self.crossed), moments.total))

    def variances(self, moments: ClassMoments) -> float:
        """Opgen-Rhein & Strimmer's shrinkage of the variances."""
        held = one_scatter(moments, None)
        unit = data_units(held, by_class=False)[0]
        squares = held.squares[0] * unit * unit
        return float(strimmer_intensity(squares, np.array(squares**2 @ self.fourths), held.total))


def _squared_pairs(held: ClassMoments) -> float:
    """The sum of the squared correlations of different columns, of one scatter."""
    lengths = np.sqrt(held.squares[0])
    if held.roots is not None and held.spread == "thin":
        root = held.roots[0] / lengths
        r, p = root.shape
        return float(((root @ root.T - np.eye(r)) ** 2).sum() + p - r)
    correlation = held.scatters[0] / lengths / lengths[:, None]
    np.fill_diagonal(correlation, 0.0)
    return float((correlation**2).sum())


def at_unit_lengths(moments: ClassMoments) -> ClassMoments:
    """The moments of columns over the length of their deviations from the class means."""
    lengths = np.sqrt(moments.squares.sum(axis=0)) / moments.scale
    return in_units(moments, lengths)


def row_noise(blocks: RowBlocks, moments: ClassMoments) -> RowNoise:
    """Sums over the rows, in one pass.

    Parameters
    ----------
    blocks : iterable of (x (m, p), codes (m,), weights (m,) or None)
        The rows of the moments.
    moments : ClassMoments
        No column is constant within classes.
    """
    lengths = np.sqrt(moments.squares.sum(axis=0))[:, None]
    crossed, fourths = 0.0, np.zeros(moments.n_columns)
    for x, codes, weights in blocks:
        squares = (from_class_means(moments, x, codes) / lengths) ** 2
        times = np.ones(len(codes)) if weights is None else weights
        # As sums of products: the square of a sum less its squares would cancel.
        crossed += 2.0 * float((squares[1:] * squares.cumsum(axis=0)[:-1]).sum(axis=0) @ times)
        fourths += squares**2 @ times
    return RowNoise(crossed, fourths)


def correlation_intensity(pairs: Floats, crossed: Floats, count: float | Floats) -> Floats:
    """Schaefer & Strimmer's intensity from B, A and the count of the rows, as in the theory.

    Examples
    --------
    >>> import numpy as np
    >>> u = np.array([[3.0, -1.0, -2.0], [2.0, 0.0, -2.0]])
    >>> u /= np.sqrt((u**2).sum(axis=1, keepdims=True))
    >>> pairs, crossed = 2 * (u[0] @ u[1]) ** 2, 2 * (u[0] ** 2 @ u[1] ** 2)
    >>> correlation_intensity(pairs, crossed, 3).round(6).tolist()
    0.28
    """
    whole = count * crossed
    above = whole - pairs
    above = np.where(above <= NOTHING * whole, 0.0, above)
    below = (count - 1.0) * pairs
    return np.where(above >= below, 1.0, above / np.where(above >= below, 1.0, below))


def correlation_shrunk(
    moments: ClassMoments, near: ClassMoments, divisor: float, g: float, h: float
) -> Covariance:
    """Covariance, in z, of correlations shrunk by g and of variances shrunk by h towards their median.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or thin, no column constant within classes; of full rank for a g of zero.
    near : ClassMoments
        The same within reach of the median of the variances, whose z is that of the covariance.
    divisor : float
        Of the scatter.
    g, h : float
        From 0 to 1; g is above 0 for more columns than rows.
    """
    sd = median_shrunk(one_scatter(near, None).squares[0], near.scale, divisor, h).root
    # Column by column: what is next to nothing beside the median has a correlation all the same.
    unit = sd / np.sqrt(one_scatter(moments, None).squares[0] / divisor)
    held, _ = shrunk(at_unit_lengths(moments), divisor, g)
    if isinstance(held, ThinCovariance):
        root, factor = held.root * unit, held.inverse / unit[:, None]
        return replace(held, root=root, factor=factor, unit=held.unit / unit)
    return Covariance.from_root(held.root * unit)


def variance_buffers(variances: VarianceShrinkage | None) -> dict[str, Floats]:
    """What a file keeps of the shrinkage of the variances beside how it was chosen."""
    return {} if variances is None else {"variance_shrinkage": np.array([variances.value])}


def variances_from_file(
    structure: Structure, chosen: Chosen | None, value: Floats | None
) -> VarianceShrinkage | None:
    """The shrinkage of the variances that a file is of.

    Raises
    ------
    DataError
        Its parts do not go together, or it is not from 0 to 1.
    """
    if len({structure == "correlation", chosen is not None, value is not None}) > 1:
        raise DataError("its shrinkage of variances does not go with its structure")
    if chosen is None or value is None:
        return None
    if chosen not in ("given", "strimmer") or not 0 <= value[0] <= 1:
        raise DataError("its shrinkage of variances is not from 0 to 1, or chosen in no way that there is")
    return VarianceShrinkage(float(value[0]), chosen)
