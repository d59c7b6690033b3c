"""Principal axes of all rows about their common mean, in the units of the columns or of standardized columns.

`discrim.core.covariance.projected`, which estimates covariances on these axes, has the theory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import EPS, total_squares
from discrim.core.covariance.principal import Principal, positive_signs, principal, tied_axes, weighted_centre
from discrim.core.moments.derived_moments import comparable, in_units
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.numerics.arrays import Floats, Mask


@dataclass(frozen=True, slots=True, eq=False)
class TotalAxes(Principal):
    """Principal axes of all rows about their common mean.

    The eigenvalues are shares of the total variance of the columns.

    Attributes
    ----------
    axes : (r, p) float
    factor : float
        Ratio of y = z * unit to the columns in their own units, or divided by their standard deviations.
    """

    axes: Floats
    factor: float

    def reach(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments on the scales to which the axes refer."""
        return comparable(moments)

    def loadings(self, scale: Floats) -> Floats:
        """Return the axes (r, p) as reported to users; `scale` (p,) is the scale of z."""
        return self.axes

    def tied_axes(self, count: int) -> tuple[int, int] | None:
        """Return the axes of equal eigenvalues that are separated if the first `count` axes are kept."""
        return tied_axes(self.lengths, count)

    def log_factor(self, count: int) -> float:
        """Return the log-determinant of the change of scale by `factor` on `count` axes."""
        return float(count * np.log(self.factor))


@dataclass(frozen=True, slots=True, eq=False)
class Indicators:
    """Columns that are indicators of levels.

    Attributes
    ----------
    which : (p,) bool
        Indicator columns.
    origin, factor : (p,) float
        The data x = origin + y / factor of columns y.
    """

    which: Mask
    origin: Floats
    factor: Floats

    @staticmethod
    def of(which: tuple[bool, ...]) -> Indicators:
        """Return the indicators of columns that are not shifted or scaled."""
        p = len(which)
        return Indicators(np.array(which), np.zeros(p), np.ones(p))

    def units(self, whole: ClassMoments, others: Floats) -> Floats:
        """Compute the units of standardized columns.

        Parameters
        ----------
        whole : ClassMoments
            Moments of all rows as one class.
        others : (p,) float
            Units of the columns that are not indicators.

        Returns
        -------
        (p,) float
            For indicators, square roots of the proportions of rows with each level.
        """
        share = self.origin + (whole.origin + whole.means[0] / whole.scale) / self.factor
        there = self.which & (share > 0)
        return np.where(there, np.sqrt(np.where(there, share, 1.0)) * self.factor, others)


def standard_units(whole: ClassMoments, indicators: Indicators | None) -> Floats:
    """Compute the divisors of the columns for standardized axes.

    Parameters
    ----------
    whole : ClassMoments
        Moments of all rows as one class.
    indicators : Indicators, optional
        Columns that are divided by the root of their mean instead.

    Returns
    -------
    (p,) float
        Standard deviations over all rows with divisor N, and one for constant columns.
    """
    sd = np.sqrt(whole.squares[0] / whole.total)
    unit = np.where(sd > EPS * whole.magnitude, sd, 1.0) / whole.scale
    return unit if indicators is None else indicators.units(whole, unit)


def principal_axes(
    moments: ClassMoments, *, standardize: bool, indicators: Indicators | None = None
) -> TotalAxes:
    """Compute the principal axes of all rows about their common mean.

    In each axis the largest coefficient is positive.

    Parameters
    ----------
    moments : ClassMoments
    standardize : bool
        Whether columns are divided by their standard deviations over all rows.
    indicators : Indicators, optional
        Columns that are divided by the square roots of their means instead.

    Returns
    -------
    TotalAxes
    """
    whole = comparable(moments).as_one()
    if standardize:
        whole = in_units(whole, standard_units(whole, indicators))
    found = principal(whole)
    singular = np.sqrt(np.maximum(found.lengths, 0.0))
    # Singular values of the size of rounding errors carry no information.
    rounding = EPS * np.sqrt(whole.total) * np.linalg.norm(whole.magnitude * found.unit)
    relative = EPS * max(len(singular), found.n_columns)
    relative = relative if whole.roots is not None else np.sqrt(relative)
    kept = int((singular > max(rounding, relative * singular.max(initial=0.0))).sum())
    axes = np.asarray(found.axes)[:kept]
    return TotalAxes(
        found.lengths[:kept],
        axes * positive_signs(axes.T)[:, None],
        found.unit,
        found.count,
        found.free,
        float(found.unit[0] * whole.scale[0]),
    )


MIN_SHARE_LEFT = 1e-8
"""Smallest proportion of the sum of squares of a column that has to remain without a row."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTotals:
    """Means and sums of squares of the columns over all rows, from which one row can be removed.

    Attributes
    ----------
    whole : ClassMoments
        All rows as one class, with sums of squares (1, p).
    """

    whole: ClassMoments

    @staticmethod
    def from_moments(moments: ClassMoments) -> ColumnTotals:
        """Compute the totals over all classes."""
        mean = weighted_centre(moments.means, moments.counts)
        centres, rests = split_mean(moments.origin, mean, moments.scale)
        counts = np.array([moments.total])
        rows = moments.rows.sum(keepdims=True)
        squares = total_squares(moments)[None]
        return ColumnTotals(ClassMoments(counts, rows, centres[None], rests[None], moments.scale, squares))

    def without(self, deviation: Floats, out: float) -> ClassMoments | None:
        """Compute the totals without a row.

        Parameters
        ----------
        deviation : (p,) float
            The row less the mean of all rows, in z.
        out : float
            The weight that is left out.

        Returns
        -------
        ClassMoments or None
            None if a column hardly varies without the row, and the difference consists of rounding errors.
        """
        whole = self.whole
        n = self.whole.total
        squares = whole.scatters - out * n / (n - out) * deviation**2
        if ((squares <= MIN_SHARE_LEFT * whole.scatters) & (whole.scatters > 0)).any():
            return None
        rests = whole.rests - out / (n - out) * deviation
        return replace(whole, counts=whole.counts - out, rests=rests, scatters=squares)
