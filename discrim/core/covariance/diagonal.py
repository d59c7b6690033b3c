"""Diagonal covariances: variances alone, or variances shrunk towards their median.

Theory. Variances v_j of p columns are shrunk towards their median, (1 - g) v_j + g median(v), 0 <= g <= 1
(Opgen-Rhein & Strimmer, 2007; for the analytic g see `discrim.core.covariance.shrinkage`). The median refers
to the units of the data. Leaving out a row with deviation d from the mean of its class lowers each sum of
squares by c d_j^2, c = w n_g / (n_g - w): variances, their median and g without the row are computed column
by column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance import shrinkage
from discrim.core.covariance.covariance import Covariance, Dependency, dependencies, pooled, separate
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    SingleShrinkageModel,
    each_covariance,
)
from discrim.core.covariance.principal import one_scatter
from discrim.core.covariance.shrinkage import Powers, Shrinkage, Trial, data_units
from discrim.core.moments.derived_moments import comparable_to_median, median_column
from discrim.core.moments.moments import ClassMoments, from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import SPOILT, LeftOut, Removal, diagonal_scores, removal, settle


@dataclass(frozen=True, slots=True)
class DiagonalCovariance(CovarianceModel):
    """Diagonal covariance: the columns are independent within classes."""

    name = "diagonal"
    traits = CovarianceTraits(
        needs_products=False, is_maximum_likelihood=True, has_standard_errors=True, allows_subspace=True
    )

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return False: each column has its variance."""
        return False

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the constant columns."""
        return dependencies(moments, k, diagonal=True)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the variances."""
        if len(divisors) > 1:
            return CovarianceEstimates(self, moments, separate(moments, divisors, diagonal=True))
        return CovarianceEstimates(self, moments, (pooled(moments, float(divisors[0]), diagonal=True),))

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Return scores in closed form, column by column."""
        moments = self.rescaled(fitted.moments)
        distances = gaussian.distances(moments, fitted.covariances)
        divisors = fitted.divisors
        log_prior = fitted.log_prior
        return lambda x, codes, w: diagonal_scores(
            x, codes, w, distances, moments.counts, divisors, log_prior
        )

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of variances."""
        return n_covariances * n_columns


@dataclass(frozen=True, slots=True)
class ShrunkDiagonalCovariance(SingleShrinkageModel):
    """Diagonal covariance with variances shrunk towards their median."""

    name = "diagonal"
    traits = CovarianceTraits(needs_products=False, allows_subspace=True)
    shrinkage_rules = ("given", "strimmer", "loo")

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return False: each column has its variance."""
        return False

    def check(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the constant columns if nothing is shrunk, or if the median of the variances is zero."""
        constant = dependencies(moments, k, diagonal=True)
        g = self.shrinkage.of(k)
        if g is not None and Shrinkage("given", (g,)).is_none(moments.n_columns):
            return constant
        return constant if 2 * len(constant) >= moments.n_columns else []

    def find_out_of_range(self, moments: ClassMoments, k: int | None) -> tuple[int, int] | None:
        """Return a column that varies too much for the median variance, and the column of the median."""
        g = self.shrinkage.of(k)
        if g is None:
            return None
        one = one_scatter(moments, k)
        return out_of_reach(one.squares[0], one.scale, g)

    def rescaled(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments with columns on scales comparable to the median, if something is shrunk."""
        shrinks = not self.shrinkage.values or any(self.shrinkage.values)
        return comparable_to_median(moments) if shrinks else moments

    def fit_to_rows(
        self, rows: RowBlocks, moments: ClassMoments, divisors: Floats
    ) -> ShrunkDiagonalCovariance:
        """Return a copy with the shrinkages of Opgen-Rhein & Strimmer.

        Parameters
        ----------
        rows : iterable of blocks
        moments : ClassMoments
        divisors : (1,) or (K,) float
        """
        if self.shrinkage.rule != "strimmer":
            return self
        moments = comparable_to_median(moments)
        fourths = shrinkage.column_powers(rows, moments).fourths
        return self.with_shrinkages(*[strimmer(moments, fourths, k) for k, _ in each_covariance(divisors)])

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the variances with the shrinkages that were determined before."""
        moments = self.rescaled(moments)
        covariances = []
        shrinkages = []
        for k, divisor in each_covariance(divisors):
            one = one_scatter(moments, k)
            g = self.shrinkage.of(k) or 0.0
            covariances.append(median_shrunk(one.squares[0], one.scale, divisor, g))
            shrinkages.append(g)
        return CovarianceEstimates(self.with_shrinkages(*shrinkages), moments, tuple(covariances))

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> Trial:
        """Return leave-one-out scores under each candidate of the shrinkage.

        Parameters
        ----------
        moments : ClassMoments
        divisors : (1,) or (K,) float
        log_prior : (K,) float

        Returns
        -------
        Trial
        """
        candidates = np.array(self.shrinkage.grid)
        return diagonal_trial(comparable_to_median(moments), divisors, log_prior, candidates)

    def leave_one_out(self, fitted: NormalClasses) -> LeftOut:
        """Return scores in closed form, column by column."""
        moments = self.rescaled(fitted.moments)
        intensity = column_held_at(np.array(self.shrinkage.values))
        if fitted.rows is not None and self.shrinkage.rule == "strimmer":
            powers = shrinkage.column_powers(fitted.rows, moments)
            intensity = strimmer_without(moments, powers, common=len(fitted.divisors) == 1)
        return diagonal_left_out(replace(fitted, moments=moments), intensity)


REACH_OF_MEDIAN = 450
"""Maximum ratio of a column's standard deviation to the median, in powers of two, if it is fully shrunk."""


def median_shrunk(squares: Floats, scale: Floats, divisor: float, g: float) -> Covariance:
    """Compute the diagonal covariance, in z, of variances shrunk towards their median.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares in z.
    scale : (p,) float
        Scale of z.
    divisor : float
    g : float
        Shrinkage.

    Returns
    -------
    Covariance
    """
    if g == 0:
        return Covariance.from_root(np.sqrt(squares / divisor))
    # In the unit of the column of median variance: much larger ones may overflow, but not the median.
    unit = scale[median_column(squares, scale)] / scale
    with np.errstate(over="ignore"):
        median = np.median(squares * unit * unit) / divisor
        return Covariance.from_root(
            np.hypot(np.sqrt((1.0 - g) * squares / divisor), np.sqrt(g * median) / unit)
        )


def out_of_reach(squares: Floats, scale: Floats, g: float) -> tuple[int, int] | None:
    """Find a column whose squared distances would overflow if all variances are replaced by the median.

    Any g below one keeps a share of the column's own variance, which prevents the overflow.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares in z.
    scale : (p,) float
        Scale of z.
    g : float
        Shrinkage.

    Returns
    -------
    (int, int) or None
        Positions of the column and of the column with the median variance.
    """
    if g < 1 or not squares.any():
        return None
    middle = median_column(squares, scale)
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    wild = int(np.argmax(sizes))
    return (wild, middle) if sizes[wild] - sizes[middle] > REACH_OF_MEDIAN else None


@dataclass(frozen=True, slots=True, eq=False)
class WithoutRow:
    """Sums of squares without each of m rows.

    Attributes
    ----------
    squares : (p, m) float
        Of the row's own class, or of all classes, without the row.
    whole : (p, m) or (p, 1) float
        With the row.
    middle : (m,) float
        Medians of `squares` over the columns.
    codes : (m,) int
        Class of each row.
    gone : Removal
        Weights that are left out.
    deviations : (p, m) float
        Deviations of the rows from the means of their classes.
    """

    squares: Floats
    whole: Floats
    middle: Floats
    codes: Codes
    gone: Removal
    deviations: Floats

    def shrunk(self, g: Floats) -> Floats:
        """Return sums of squares (p, m) shrunk by g (m,)."""
        return np.asarray((1.0 - g) * self.squares + g * self.middle)

    def spoilt(self, shrunken: Floats, g: Floats, spoilt_at: float) -> NDArray[np.bool_]:
        """Find rows for which too few digits of some column remain.

        Parameters
        ----------
        shrunken : (p, m) float
            Shrunk sums of squares.
        g : (m,) float
            Shrinkages.
        spoilt_at : float
            Remaining proportion of a sum of squares up to which a row is spoilt.

        Returns
        -------
        (m,) bool
        """
        # Only the share of the column's own sum of squares has rounding errors of the subtraction.
        has_digits = (shrunken > spoilt_at * (1.0 - g) * self.whole) & (shrunken > 0)
        return np.asarray(~has_digits.all(axis=0))


DiagonalIntensity = Callable[[WithoutRow], Floats]
"""Function that returns the shrinkages (m,) without each of m rows."""


def column_held_at(g: float | Floats) -> DiagonalIntensity:
    """Return a function of fixed shrinkages, one or one (K,) for each class, which ignores the rows."""
    by_class = np.atleast_1d(g)
    return lambda rows: by_class[rows.codes if len(by_class) > 1 else np.zeros_like(rows.codes)]


def strimmer_without(moments: ClassMoments, powers: Powers, *, common: bool) -> DiagonalIntensity:
    """Return the function that computes the analytic shrinkage without each row.

    Parameters
    ----------
    moments : ClassMoments
    powers : Powers
        Sums of powers by class and column.
    common : bool
        Whether the variances are pooled over the classes.

    Returns
    -------
    DiagonalIntensity
    """

    def found(rows: WithoutRow) -> Floats:
        """Return the shrinkages (m,) without each row."""
        gone = rows.gone
        if common:
            fourths = powers.without(rows.deviations, rows.codes, gone.out, gone.count)
            return shrinkage.strimmer_intensity(rows.squares, fourths, moments.total - gone.out)
        fourths = np.empty(len(rows.codes))
        for k in np.unique(rows.codes).tolist():
            mine = np.flatnonzero(rows.codes == k)
            own = Powers(powers.seconds[[k]], powers.thirds[[k]], powers.fourths[[k]])
            nought = np.zeros(len(mine), dtype=np.intp)
            fourths[mine] = own.without(rows.deviations[:, mine], nought, gone.out[mine], gone.count[mine])
        return shrinkage.strimmer_intensity(rows.squares, fourths, gone.count - gone.out)

    return found


def without_row(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    divisors: Floats,
) -> WithoutRow:
    """Compute the sums of squares without each row.

    Parameters
    ----------
    moments : ClassMoments
    x : (m, p) float
    codes : (m,) int
        Class of each row.
    weights : (m,) float, optional
    divisors : (1,) or (K,) float

    Returns
    -------
    WithoutRow
    """
    common = len(divisors) == 1
    unit = data_units(moments, by_class=False)[0][:, None]
    u = from_class_means(moments, x, codes) * unit
    totals = moments.squares.T * unit * unit
    whole = totals.sum(axis=1, keepdims=True) if common else totals[:, codes]
    divisor = divisors[0] if common else divisors[codes]
    gone = removal(moments.counts[codes], weights, divisor)
    squares = whole - gone.lift * u**2
    return WithoutRow(squares, whole, np.median(squares, axis=0), codes, gone, u)


def scores_without(fitted: NormalClasses, rows: WithoutRow, g: Floats, spoilt_at: float = SPOILT) -> Floats:
    """Compute scores of rows under the rule without each of them.

    If each class has its covariance, only the covariance of the row's own class changes.

    Parameters
    ----------
    fitted : NormalClasses
    rows : WithoutRow
    g : (m,) float
        Shrinkages.
    spoilt_at : float
        Remaining proportion of a sum of squares up to which a row is spoilt.

    Returns
    -------
    (K, m) float
        NaN for spoilt rows.
    """
    moments = fitted.moments
    full = fitted.covariances
    divisors = fitted.divisors
    unit = data_units(moments, by_class=False)[0]
    common = len(full) == 1
    codes = rows.codes
    gone = rows.gone
    shrunken = rows.shrunk(g)
    moved = shrunken / ((divisors[0] if common else divisors[codes]) - gone.out)
    # Differences of means in z are small, and do not cancel.
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
            out[k] = fitted.log_prior[k] - 0.5 * (gaps**2 / variance).sum(axis=0)
            if not common:
                out[k] -= 0.5 * np.log(variance).sum(axis=0)
    return settle(out, codes, gone, rows.spoilt(shrunken, g, spoilt_at))


def diagonal_left_out(fitted: NormalClasses, own: DiagonalIntensity) -> LeftOut:
    """Return leave-one-out scores under shrunk variances, with the shrinkages that `own` computes."""
    moments = fitted.moments
    divisors = fitted.divisors

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = without_row(moments, x, codes, weights, divisors)
            return scores_without(fitted, rows, own(rows)).T

    return scores


def strimmer(moments: ClassMoments, fourths: Floats, k: int | None = None) -> float:
    """Return Opgen-Rhein & Strimmer's shrinkage of the variances of a class, or of the pooled ones.

    Parameters
    ----------
    moments : ClassMoments
    fourths : (K, p) float
        Sums of fourth powers about the class means; see `shrinkage.column_powers`.
    k : int, optional
        Position of the class; by default the pooled variances.

    Returns
    -------
    float
    """
    one = one_scatter(moments, k)
    unit = data_units(moments, by_class=False)[0]
    own = fourths if k is None else fourths[[k]]
    return float(shrinkage.strimmer_intensity(one.squares[0] * unit * unit, own.sum(), one.total))


def diagonal_trial(moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats) -> Trial:
    """Return leave-one-out scores under variances shrunk by each candidate.

    Parameters
    ----------
    moments : ClassMoments
    divisors : (1,) or (K,) float
    log_prior : (K,) float
    grid : (G,) float
        Candidates of the shrinkage.

    Returns
    -------
    Trial
    """
    squares = moments.squares.sum(axis=0, keepdims=True) if len(divisors) == 1 else moments.squares

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        """Yield the scores (K, m) of rows x (m, p) for each candidate.

        Parameters
        ----------
        x : (m, p) float
        codes : (m,) int
        weights : (m,) float, optional
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rows = without_row(moments, x, codes, weights, divisors)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                full = tuple(
                    median_shrunk(own, moments.scale, divisor, g)
                    for own, divisor in zip(squares, divisors.tolist(), strict=True)
                )
                fitted = NormalClasses(moments, full, divisors, log_prior)
                yield scores_without(fitted, rows, np.full(len(codes), g), shrinkage.BARELY)

    return scores
