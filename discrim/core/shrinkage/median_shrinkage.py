"""Variances shrunk towards their median, and the scores of rows under those without each of them.

Theory. Variances v_j of p columns are drawn towards their median, (1 - g) v_j + g median(v), 0 <= g <= 1
(Opgen-Rhein & Strimmer, 2007; the analytic g is that of `shrinkage.fourth_moments`). The median is one in
the units of the data. Taking a row with deviation d out of its class lowers each sum of squares by c d_j^2,
c = w n_g / (n_g - w): variances, their median and g without the row follow column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.coordinates import from_class_means
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.units import median_column
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, Removal, removal, settle
from discrim.core.shrinkage.fourth_moments import Powers, data_units, strimmer_intensity

__all__ = [
    "DiagonalIntensity",
    "column_held_at",
    "diagonal_left_out",
    "median_shrunk",
    "out_of_reach",
    "strimmer_without",
    "without_row",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

REACH = 450
"""Binary orders of magnitude by which a column may vary more than that of the median, if it stands for it."""


def median_shrunk(squares: Floats, scale: Floats, divisor: float, g: float) -> Covariance:
    """Covariance, in z, of variances shrunk by g towards their median.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares in z = x * scale.
    scale : (p,) float
    divisor : float
    g : float
        From 0 to 1.
    """
    if g == 0:
        return Covariance.from_root(np.sqrt(squares / divisor))
    # In the unit of the column of median variance: those far above it may overflow, which no median sees.
    unit = scale[median_column(squares, scale)] / scale
    with np.errstate(over="ignore"):
        median = np.median(squares * unit * unit) / divisor
        return Covariance.from_root(
            np.hypot(np.sqrt((1.0 - g) * squares / divisor), np.sqrt(g * median) / unit)
        )


def out_of_reach(squares: Floats, scale: Floats, g: float) -> tuple[int, int] | None:
    """A column whose squared distances would be no doubles by the median alone, and that of the median.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares in z = x * scale.
    scale : (p,) float
    g : float
        A share of a column's own variance, as any below one leaves, is enough for it.
    """
    if g < 1 or not squares.any():
        return None
    middle = median_column(squares, scale)
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    wild = int(np.argmax(sizes))
    return (wild, middle) if sizes[wild] - sizes[middle] > REACH else None


@dataclass(frozen=True, slots=True)
class WithoutRow:
    """What is left of sums of squares without each of m rows.

    Attributes
    ----------
    squares : (p, m) float
        Of the row's own class, or of all classes, without the row.
    held : (p, m) or (p, 1) float
        With the row.
    middle : (m,) float
        Median over the columns.
    codes : (m,) int
    gone : Removal
    deviations : (p, m) float
    """

    squares: Floats
    held: Floats
    middle: Floats
    codes: Codes
    gone: Removal
    deviations: Floats

    def shrunk(self, g: Floats) -> Floats:
        """Shrunken sums of squares (p, m), by g (m,)."""
        return np.asarray((1.0 - g) * self.squares + g * self.middle)

    def spoilt(self, shrunken: Floats, g: Floats, spoilt_at: float) -> NDArray[np.bool_]:
        """Rows (m,) for which too few digits are left of some column, shrunk by g (m,)."""
        # What the subtraction rounds is the share of the column's own sum of squares.
        return np.asarray(((shrunken <= spoilt_at * (1.0 - g) * self.held) | (shrunken <= 0)).any(axis=0))


DiagonalIntensity = Callable[[WithoutRow], Floats]
"""Shrinkages (m,) without each of m rows."""


def column_held_at(g: float | Floats) -> DiagonalIntensity:
    """One shrinkage, or one (K,) for each class, whatever row is left out."""
    by_class = np.atleast_1d(g)
    return lambda rows: by_class[rows.codes if len(by_class) > 1 else np.zeros_like(rows.codes)]


def strimmer_without(moments: ClassMoments, powers: Powers, *, common: bool) -> DiagonalIntensity:
    """Each row's own analytic shrinkage, of all classes' variances or its own class's."""

    def found(rows: WithoutRow) -> Floats:
        gone = rows.gone
        if common:
            fourths = powers.without(rows.deviations, rows.codes, gone.out, gone.count)
            return strimmer_intensity(rows.squares, fourths, moments.total - gone.out)
        fourths = np.empty(len(rows.codes))
        for k in np.unique(rows.codes).tolist():
            mine = np.flatnonzero(rows.codes == k)
            own = Powers(powers.seconds[[k]], powers.thirds[[k]], powers.fourths[[k]])
            nought = np.zeros(len(mine), dtype=np.intp)
            fourths[mine] = own.without(rows.deviations[:, mine], nought, gone.out[mine], gone.count[mine])
        return strimmer_intensity(rows.squares, fourths, gone.count - gone.out)

    return found


def without_row(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    divisors: Floats,
) -> WithoutRow:
    """What is left of sums of squares without rows x (m, p), for divisors (1,) or (K,) of the covariances."""
    common = len(divisors) == 1
    unit = data_units(moments, by_class=False)[0][:, None]
    u = from_class_means(moments, x, codes) * unit
    totals = moments.squares.T * unit * unit
    held = totals.sum(axis=1, keepdims=True) if common else totals[:, codes]
    divisor = divisors[0] if common else divisors[codes]
    gone = removal(moments.counts[codes], weights, divisor)
    squares = held - gone.lift * u**2
    return WithoutRow(squares, held, np.median(squares, axis=0), codes, gone, u)


def scores_without(
    moments: ClassMoments,
    rows: WithoutRow,
    g: Floats,
    full: tuple[Covariance, ...],
    divisors: Floats,
    log_prior: Floats,
    spoilt_at: float = SPOILT,
) -> Floats:
    """Scores (K, m) of rows without each of them, shrunk by g (m,); missing where spoilt.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    rows : WithoutRow
    g : (m,) float
    full : tuple of Covariance
        Those of all rows: one, or one for each class, which the other classes of a row keep.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    spoilt_at : float
    """
    unit = data_units(moments, by_class=False)[0]
    common, codes, gone = len(full) == 1, rows.codes, rows.gone
    shrunken = rows.shrunk(g)
    moved = shrunken / ((divisors[0] if common else divisors[codes]) - gone.out)
    # Differences of means in z, before units: nothing large cancels.
    means = moments.means * unit
    out = np.empty((moments.n_classes, len(codes)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(moments.n_classes):
            mine = codes == k
            gaps = rows.deviations + (means[codes] - means[k]).T
            gaps *= np.where(mine, np.sqrt(gone.stretch), 1.0)
            variance = moved
            if not common:
                variance = np.where(mine, moved, ((full[k].root * unit) ** 2)[:, None])
            out[k] = log_prior[k] - 0.5 * (gaps**2 / variance).sum(axis=0)
            if not common:
                out[k] -= 0.5 * np.log(variance).sum(axis=0)
    return settle(out, codes, gone, rows.spoilt(shrunken, g, spoilt_at))


def diagonal_left_out(
    moments: ClassMoments,
    full: tuple[Covariance, ...],
    divisors: Floats,
    log_prior: Floats,
    own: DiagonalIntensity,
) -> LeftOut:
    """Leave-one-out scores under shrunken variances, one set for all classes or one for each.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal.
    full : tuple of Covariance
        Of the full fit: one, or one for each class.
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    own : DiagonalIntensity
        Shrinkage without a row.
    """

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = without_row(moments, x, codes, weights, divisors)
            return scores_without(moments, rows, own(rows), full, divisors, log_prior).T

    return scores
