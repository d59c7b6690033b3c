"""Principal axes of all rows about their common mean, in the units of the columns or of standardized columns.

`discrim.core.covariance.projected`, which estimates covariances on these axes, has the theory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import total_squares
from discrim.core.covariance.principal import (
    PrincipalAxes,
    positive_signs,
    principal_axes,
    tied_axes,
    weighted_centre,
)
from discrim.core.moments.derived_moments import divide_columns, limit_scales
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.numerics.arrays import EPS, Floats, Mask


@dataclass(frozen=True, slots=True, eq=False)
class TotalAxes(PrincipalAxes):
    """Principal axes of all rows about their common mean.

    The eigenvalues are shares of the total variance of the columns.

    Attributes
    ----------
    axes : (r, p) float
        Axes in rows.
    factor : float
        Ratio of y = z * unit to the columns in their own units or, if they are standardized, divided by their
        standard deviations.
    """

    axes: Floats
    factor: float

    def comparable_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments with column scales limited to a comparable range, to which `unit` refers."""
        return limit_scales(moments)

    def loadings(self, scale: Floats) -> Floats:
        """Return the axes (r, p) as reported to users; `scale` (p,), the scale of z, is not used.

        They refer to columns in their own units or divided by their standard deviations.
        """
        return self.axes

    def tied_axes(self, count: int) -> tuple[int, int] | None:
        """Return first and last axis (from one) of a tie that keeping the first `count` axes separates.

        Otherwise None.
        """
        return tied_axes(self.eigenvalues, count)

    def log_factor(self, count: int) -> float:
        """Return the logarithm of the determinant of scaling `count` axes by `factor`: count log(factor)."""
        return float(count * np.log(self.factor))


@dataclass(frozen=True, slots=True, eq=False)
class Indicators:
    """Which columns are indicators (0 or 1) of levels, and how the columns were shifted and scaled.

    Attributes
    ----------
    is_indicator : (p,) bool
        Whether a column is an indicator.
    origin, factor : (p,) float
        Origin and factor of the columns y = (x - origin) * factor of the data x.
    """

    is_indicator: Mask
    origin: Floats
    factor: Floats

    @staticmethod
    def from_mask(is_indicator: tuple[bool, ...]) -> Indicators:
        """Return the indicators of columns that are not shifted or scaled: origin zero and factor one."""
        p = len(is_indicator)
        return Indicators(np.array(is_indicator), np.zeros(p), np.ones(p))

    def units(self, total: ClassMoments, default_units: Floats) -> Floats:
        """Compute the units of standardized columns.

        Parameters
        ----------
        total : ClassMoments
            Moments of all rows as one class.
        default_units : (p,) float
            Units of the columns that are not indicators, as divisors of y.

        Returns
        -------
        (p,) float
            Divisors of the columns y. For indicators, square roots of the proportions of rows with the level,
            times `factor`; `default_units` for other columns and for levels without rows.
        """
        proportions = self.origin + (total.origin + total.means[0] / total.scale) / self.factor
        is_used = self.is_indicator & (proportions > 0)
        return np.where(is_used, np.sqrt(np.where(is_used, proportions, 1.0)) * self.factor, default_units)


def standard_units(total: ClassMoments, indicators: Indicators | None) -> Floats:
    """Compute the numbers that divide the columns for axes of standardized columns.

    Parameters
    ----------
    total : ClassMoments
        Moments of all rows as one class.
    indicators : Indicators, optional
        Columns that are divided by the square root of their mean instead.

    Returns
    -------
    (p,) float
        Divisors of the columns in the units of the data: standard deviations over all rows with divisor N,
        1 / scale of z for constant columns, and square roots of means for indicators.
    """
    sd = np.sqrt(total.squares[0] / total.total)
    unit = np.where(sd > EPS * total.magnitude, sd, 1.0) / total.scale
    return unit if indicators is None else indicators.units(total, unit)


def total_principal_axes(
    moments: ClassMoments, *, standardize: bool, indicators: Indicators | None = None
) -> TotalAxes:
    """Compute the principal axes of all rows about their common mean.

    In each axis the largest coefficient is positive.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    standardize : bool
        Whether columns are divided by their standard deviations over all rows.
    indicators : Indicators, optional
        With `standardize`, columns that are divided by the square roots of their means instead.

    Returns
    -------
    TotalAxes
        All axes whose variance exceeds rounding errors.
    """
    total = limit_scales(moments).as_one_class()
    if standardize:
        total = divide_columns(total, standard_units(total, indicators))
    axes_of_total = principal_axes(total)
    singular_values = np.sqrt(np.maximum(axes_of_total.eigenvalues, 0.0))
    # Singular values of the size of rounding errors carry no information.
    rounding = EPS * np.sqrt(total.total) * np.linalg.norm(total.magnitude * axes_of_total.unit)
    relative = EPS * max(len(singular_values), axes_of_total.n_columns)
    relative = relative if total.roots is not None else np.sqrt(relative)
    n_kept = int((singular_values > max(rounding, relative * singular_values.max(initial=0.0))).sum())
    axes = np.asarray(axes_of_total.axes)[:n_kept]
    return TotalAxes(
        axes_of_total.eigenvalues[:n_kept],
        axes * positive_signs(axes.T)[:, None],
        axes_of_total.unit,
        axes_of_total.total_weight,
        axes_of_total.df,
        float(axes_of_total.unit[0] * total.scale[0]),
    )


MIN_REMAINING_SHARE = 1e-8
"""Smallest proportion of the sum of squares of a column that has to remain without a row."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTotals:
    """Means and sums of squares of the columns over all rows, from which one row can be removed.

    Attributes
    ----------
    total : ClassMoments
        All rows as one class, with sums of squares (1, p).
    """

    total: ClassMoments

    @staticmethod
    def from_moments(moments: ClassMoments) -> ColumnTotals:
        """Compute the totals over all classes from moments by class."""
        mean = weighted_centre(moments.means, moments.counts)
        centres, centre_errors = split_mean(moments.origin, mean, moments.scale)
        counts = np.array([moments.total])
        rows = moments.rows.sum(keepdims=True)
        squares = total_squares(moments)[None]
        return ColumnTotals(
            ClassMoments(counts, rows, centres[None], centre_errors[None], moments.scale, squares)
        )

    def leave_out(self, deviation: Floats, weight: float) -> ClassMoments | None:
        """Compute the totals without a row of the data, or without a part of its weight.

        Parameters
        ----------
        deviation : (p,) float
            The row less the mean of all rows, in z.
        weight : float
            The weight that is left out, less than the total weight.

        Returns
        -------
        ClassMoments or None
            Totals of the other rows as one class, with sums of squares (1, p). None if a column that varies
            keeps at most `MIN_REMAINING_SHARE` of its sum of squares, because the difference then consists of
            rounding errors.
        """
        total = self.total
        total_weight = self.total.total
        squares = total.scatters - weight * total_weight / (total_weight - weight) * deviation**2
        if ((squares <= MIN_REMAINING_SHARE * total.scatters) & (total.scatters > 0)).any():
            return None
        centre_errors = total.rests - weight / (total_weight - weight) * deviation
        return replace(total, counts=total.counts - weight, rests=centre_errors, scatters=squares)
