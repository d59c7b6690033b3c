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
from discrim.core.covariance.covariance import (
    Covariance,
    Dependency,
    class_covariances,
    dependencies,
    pooled_covariance,
)
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
    SingleShrinkageModel,
    class_divisor_pairs,
)
from discrim.core.covariance.principal import single_scatter_moments
from discrim.core.covariance.shrinkage import CandidateScorer, PowerSums, Shrinkage, unit_trace_factors
from discrim.core.moments.derived_moments import limit_scales_to_median, median_column
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import (
    MIN_DETERMINANT_RATIO,
    LeaveOneOutScorer,
    Removal,
    compute_removal,
    leave_one_out_diagonal_scores,
    mark_refits,
)


@dataclass(frozen=True, slots=True)
class DiagonalCovariance(CovarianceModel):
    """Diagonal covariance: the columns are independent within classes."""

    name = "diagonal"
    traits = CovarianceTraits(
        needs_products=False, is_maximum_likelihood=True, has_standard_errors=True, allows_subspace=True
    )

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return False for any number of columns, because each column has its own variance."""
        return False

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the columns that are constant within class k, or within classes if k is None.

        The `Dependency` of such a column has no predictors.
        """
        return dependencies(moments, k, diagonal=True)

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the variances: sums of squares, pooled or by class, over the divisors (1,) or (K,)."""
        if len(divisors) > 1:
            return CovarianceEstimates(self, moments, class_covariances(moments, divisors, diagonal=True))
        return CovarianceEstimates(
            self, moments, (pooled_covariance(moments, float(divisors[0]), diagonal=True),)
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, which computes column by column.

        Scores are NaN for rows that require a refit.
        """
        moments = self.rescale_moments(fitted.moments)
        distances = gaussian.distances_to_means(moments, fitted.covariances)
        divisors = fitted.divisors
        log_prior = fitted.log_prior
        return lambda x, codes, w: leave_one_out_diagonal_scores(
            x, codes, w, distances, moments.counts, divisors, log_prior
        )

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of variances, one for each column and covariance."""
        return n_covariances * n_columns


@dataclass(frozen=True, slots=True)
class ShrunkDiagonalCovariance(SingleShrinkageModel):
    """Diagonal covariance with variances shrunk towards their median."""

    name = "diagonal"
    traits = CovarianceTraits(needs_products=False, allows_subspace=True)
    shrinkage_rules = ("given", "strimmer", "loo")

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return False for any number of columns, because each column has its own variance."""
        return False

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the columns that are constant within class k, or within classes if k is None.

        If the variances are shrunk, or the shrinkage is not determined yet, constant columns are allowed as
        long as they are fewer than half of the columns, and the result is empty.
        """
        constant = dependencies(moments, k, diagonal=True)
        g = self.shrinkage.for_class(k)
        if g is not None and Shrinkage("given", (g,)).is_negligible(moments.n_columns):
            return constant
        return constant if 2 * len(constant) >= moments.n_columns else []

    def find_overflow(self, moments: ClassMoments, k: int | None) -> tuple[int, int] | None:
        """Find a column whose squared distances overflow because its variance is replaced by the median.

        This can only happen with a shrinkage of one.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        k : int or None
            Position of the class; None for the pooled variances.

        Returns
        -------
        (int, int) or None
            Positions of the column and of the column with the median variance; None without overflow.
        """
        g = self.shrinkage.for_class(k)
        if g is None:
            return None
        group = single_scatter_moments(moments, k)
        return column_out_of_range(group.squares[0], group.scale, g)

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments with column scales limited relative to the column of median variance.

        They are unchanged if all shrinkages are known to be zero.
        """
        shrinks = not self.shrinkage.values or any(self.shrinkage.values)
        return limit_scales_to_median(moments) if shrinks else moments

    def fit_to_rows(
        self, rows: RowBlocks, moments: ClassMoments, divisors: Floats
    ) -> ShrunkDiagonalCovariance:
        """Return a copy with the shrinkages by "strimmer", or the model itself for other rules.

        Parameters
        ----------
        rows : iterable of blocks
            Blocks (x, codes, weights) of the rows.
        moments : ClassMoments
            Moments of these rows.
        divisors : (1,) or (K,) float
            Only their number is used: one shrinkage, or one for each class.

        Returns
        -------
        ShrunkDiagonalCovariance
            With one value of the shrinkage for each divisor.
        """
        if self.shrinkage.rule != "strimmer":
            return self
        moments = limit_scales_to_median(moments)
        fourths = shrinkage.column_power_sums(rows, moments).fourths
        return self.with_shrinkages(
            *[strimmer_shrinkage(moments, fourths, k) for k, _ in class_divisor_pairs(divisors)]
        )

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the variances with the shrinkages that were determined before, or else with zero.

        The model of the result contains the shrinkages, one for each of the divisors (1,) or (K,).
        """
        moments = self.rescale_moments(moments)
        covariances = []
        shrinkages = []
        for k, divisor in class_divisor_pairs(divisors):
            group = single_scatter_moments(moments, k)
            g = self.shrinkage.for_class(k) or 0.0
            covariances.append(median_shrunk_covariance(group.squares[0], group.scale, divisor, g))
            shrinkages.append(g)
        return CovarianceEstimates(self.with_shrinkages(*shrinkages), moments, tuple(covariances))

    def candidate_scores(self, moments: ClassMoments, divisors: Floats, log_prior: Floats) -> CandidateScorer:
        """Return leave-one-out scores under each candidate of the shrinkage.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        divisors : (1,) or (K,) float
            Divisors of the scatters, one for a pooled covariance or one for each class.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        CandidateScorer
            Yields the scores for each element of `shrinkage.grid`, in this order. Scores are NaN for rows
            that are too inaccurate even for a prediction.
        """
        candidates = np.array(self.shrinkage.grid)
        return diagonal_candidate_scores(limit_scales_to_median(moments), divisors, log_prior, candidates)

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer, which computes column by column.

        Shrinkages by "strimmer" are estimated without each row if `fitted.rows` is present, else kept. Scores
        are NaN for rows that require a refit.
        """
        moments = self.rescale_moments(fitted.moments)
        intensity = fixed_intensity(np.array(self.shrinkage.values))
        if fitted.rows is not None and self.shrinkage.rule == "strimmer":
            powers = shrinkage.column_power_sums(fitted.rows, moments)
            intensity = strimmer_without_row(moments, powers, common=len(fitted.divisors) == 1)
        return diagonal_leave_one_out_scorer(replace(fitted, moments=moments), intensity)


MAX_LOG2_MEDIAN_RATIO = 450
"""Maximum ratio, in powers of two, of the largest to the median standard deviation at a shrinkage of one."""


def median_shrunk_covariance(squares: Floats, scale: Floats, divisor: float, g: float) -> Covariance:
    """Compute the diagonal covariance, in z, of variances shrunk towards their median in data units.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares about the class means, in z.
    scale : (p,) float
        Factors by which the data are multiplied to obtain z.
    divisor : float
        Divisor of the sums of squares.
    g : float
        Shrinkage of the variances, in [0, 1].

    Returns
    -------
    Covariance
        With standard deviations of z as its root.
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


def column_out_of_range(squares: Floats, scale: Floats, g: float) -> tuple[int, int] | None:
    """Find a column whose squared distances would overflow if all variances are replaced by the median.

    Any g below one keeps a share of the column's own variance, which prevents the overflow.

    Parameters
    ----------
    squares : (p,) float
        Sums of squares about the class means, in z.
    scale : (p,) float
        Factors by which the data are multiplied to obtain z.
    g : float
        Shrinkage of the variances.

    Returns
    -------
    (int, int) or None
        Positions of the column and of the column with the median variance; None if nothing overflows,
        as for any g below one.
    """
    if g < 1 or not squares.any():
        return None
    median_position = median_column(squares, scale)
    with np.errstate(divide="ignore"):
        sizes = 0.5 * np.log2(squares) - np.log2(scale)
    widest = int(np.argmax(sizes))
    return (
        (widest, median_position) if sizes[widest] - sizes[median_position] > MAX_LOG2_MEDIAN_RATIO else None
    )


@dataclass(frozen=True, slots=True, eq=False)
class SquaresWithoutRow:
    """Sums of squares about class means without each of m rows.

    Columns are in the units of the data times one factor, with which the pooled scatter has trace one.

    Attributes
    ----------
    squares : (p, m) float
        Sums of squares of the row's own class, or of all classes, without the row.
    full_squares : (p, m) or (p, 1) float
        The same sums of squares with the row; (p, 1) if the variances are pooled.
    medians : (m,) float
        Medians of `squares` over the columns.
    codes : (m,) int
        Class of each row.
    removal : Removal
        Weights that are left out.
    deviations : (p, m) float
        Deviations of the rows from the means of their classes, computed with the row.
    """

    squares: Floats
    full_squares: Floats
    medians: Floats
    codes: Codes
    removal: Removal
    deviations: Floats

    def shrink(self, g: Floats) -> Floats:
        """Return sums of squares (p, m) shrunk towards their medians with shrinkages g (m,)."""
        return np.asarray((1.0 - g) * self.squares + g * self.medians)

    def find_inaccurate(self, shrunk_squares: Floats, g: Floats, min_ratio: float) -> NDArray[np.bool_]:
        """Find rows for which too few digits of some column remain.

        Parameters
        ----------
        shrunk_squares : (p, m) float
            Shrunk sums of squares.
        g : (m,) float
            Shrinkages.
        min_ratio : float
            Remaining proportion of a sum of squares up to which a row is inaccurate.

        Returns
        -------
        (m,) bool
            True if in some column the shrunk sum of squares is zero or less, or at most `min_ratio` times the
            share (1 - g) of the full sum of squares.
        """
        # Only the share of the column's own sum of squares has rounding errors of the subtraction.
        has_digits = (shrunk_squares > min_ratio * (1.0 - g) * self.full_squares) & (shrunk_squares > 0)
        return np.asarray(~has_digits.all(axis=0))


DiagonalIntensityFunction = Callable[[SquaresWithoutRow], Floats]
"""Function that returns the shrinkages (m,) without each of m rows."""


def fixed_intensity(g: float | Floats) -> DiagonalIntensityFunction:
    """Return the function for fixed shrinkages `g`, one for all classes or one for each class (K,).

    For each left-out row it returns the shrinkage of the class of the row.
    """
    by_class = np.atleast_1d(g)
    return lambda rows: by_class[rows.codes if len(by_class) > 1 else np.zeros_like(rows.codes)]


def strimmer_without_row(
    moments: ClassMoments, powers: PowerSums, *, common: bool
) -> DiagonalIntensityFunction:
    """Return the function that computes the shrinkage by "strimmer" without each row.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    powers : PowerSums
        Sums of powers by class and column, with columns scaled as by `shrinkage.column_power_sums`.
    common : bool
        Whether the variances are pooled over the classes.

    Returns
    -------
    DiagonalIntensityFunction
        Of the pooled variances, or of the variances of the class of each row.
    """

    def intensities(rows: SquaresWithoutRow) -> Floats:
        """Return the shrinkages (m,) without each row; NaN if too little of the fourth powers remains."""
        removal = rows.removal
        if common:
            fourths = powers.fourths_without_rows(
                rows.deviations, rows.codes, removal.weight, removal.class_weight
            )
            return shrinkage.strimmer_intensity(rows.squares, fourths, moments.total - removal.weight)
        fourths = np.empty(len(rows.codes))
        for k in np.unique(rows.codes).tolist():
            members = np.flatnonzero(rows.codes == k)
            class_powers = PowerSums(powers.seconds[[k]], powers.thirds[[k]], powers.fourths[[k]])
            zero_codes = np.zeros(len(members), dtype=np.intp)
            fourths[members] = class_powers.fourths_without_rows(
                rows.deviations[:, members],
                zero_codes,
                removal.weight[members],
                removal.class_weight[members],
            )
        return shrinkage.strimmer_intensity(rows.squares, fourths, removal.class_weight - removal.weight)

    return intensities


def squares_without_row(
    moments: ClassMoments,
    x: Floats,
    codes: Codes,
    weights: Floats | None,
    divisors: Floats,
) -> SquaresWithoutRow:
    """Compute the sums of squares without each of m rows.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    x : (m, p) float
        Rows, in the units of the data.
    codes : (m,) int
        Class of each row.
    weights : (m,) float, optional
        Weights of the rows; by default one.
    divisors : (1,) or (K,) float
        Divisors of the scatters, one if the variances are pooled.

    Returns
    -------
    SquaresWithoutRow
        Of all classes together if there is one divisor, else of the class of each row.
    """
    common = len(divisors) == 1
    unit = unit_trace_factors(moments, by_class=False)[0][:, None]
    u = deviations_from_class_means(moments, x, codes) * unit
    totals = moments.squares.T * unit * unit
    full_squares = totals.sum(axis=1, keepdims=True) if common else totals[:, codes]
    divisor = divisors[0] if common else divisors[codes]
    removals = compute_removal(moments.counts[codes], weights, divisor)
    squares = full_squares - removals.downdate_factor * u**2
    return SquaresWithoutRow(squares, full_squares, np.median(squares, axis=0), codes, removals, u)


def leave_one_out_scores(
    fitted: NormalClasses, rows: SquaresWithoutRow, g: Floats, min_ratio: float = MIN_DETERMINANT_RATIO
) -> Floats:
    """Compute the scores of rows under the rule with shrunk variances that is fitted without each of them.

    If each class has its own variances, only the variances of the row's own class change. A score is the log
    prior minus half the squared distance, and minus half the log-determinant if each class has its own
    variances.

    Parameters
    ----------
    fitted : NormalClasses
        Estimated distributions of the classes.
    rows : SquaresWithoutRow
        Rows that are left out, with sums of squares without each of them.
    g : (m,) float
        Shrinkages without each row.
    min_ratio : float
        Remaining proportion of a sum of squares up to which a row is inaccurate.

    Returns
    -------
    (K, m) float
        NaN for inaccurate rows; minus infinity for the class of a row that is alone in it.
    """
    moments = fitted.moments
    covariances = fitted.covariances
    divisors = fitted.divisors
    unit = unit_trace_factors(moments, by_class=False)[0]
    common = len(covariances) == 1
    codes = rows.codes
    removal = rows.removal
    shrunk_squares = rows.shrink(g)
    variances_without_row = shrunk_squares / ((divisors[0] if common else divisors[codes]) - removal.weight)
    # Differences of means in z are small, and do not cancel.
    means = moments.means * unit
    scores = np.empty((moments.n_classes, len(codes)))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(moments.n_classes):
            is_member = codes == k
            mean_deviations = rows.deviations + (means[codes] - means[k]).T
            mean_deviations *= np.where(is_member, np.sqrt(removal.distance_factor), 1.0)
            variance = variances_without_row
            if not common:
                variance = np.where(
                    is_member, variances_without_row, ((covariances[k].root * unit) ** 2)[:, None]
                )
            scores[k] = fitted.log_prior[k] - 0.5 * (mean_deviations**2 / variance).sum(axis=0)
            if not common:
                scores[k] -= 0.5 * np.log(variance).sum(axis=0)
    return mark_refits(scores, codes, removal, rows.find_inaccurate(shrunk_squares, g, min_ratio))


def diagonal_leave_one_out_scorer(
    fitted: NormalClasses, intensity: DiagonalIntensityFunction
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for shrunk variances.

    Parameters
    ----------
    fitted : NormalClasses
        Estimated distributions of the classes.
    intensity : DiagonalIntensityFunction
        Computes the shrinkages without each row.

    Returns
    -------
    LeaveOneOutScorer
        Scores of `leave_one_out_scores`, transposed.
    """
    moments = fitted.moments
    divisors = fitted.divisors

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p) of classes `codes` (m,), with weights or None.

        They are NaN for rows that require a refit, and minus infinity for the class of a lone row.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = squares_without_row(moments, x, codes, weights, divisors)
            return leave_one_out_scores(fitted, rows, intensity(rows)).T

    return scores


def strimmer_shrinkage(moments: ClassMoments, fourths: Floats, k: int | None = None) -> float:
    """Return Opgen-Rhein & Strimmer's shrinkage of the variances of a class, or of the pooled variances.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    fourths : (K, p) float
        Sums of fourth powers about the class means, of columns scaled to a pooled scatter of trace one.
    k : int, optional
        Position of the class; by default the pooled variances.

    Returns
    -------
    float
        In [0, 1].
    """
    group = single_scatter_moments(moments, k)
    unit = unit_trace_factors(moments, by_class=False)[0]
    class_fourths = fourths if k is None else fourths[[k]]
    return float(
        shrinkage.strimmer_intensity(group.squares[0] * unit * unit, class_fourths.sum(), group.total)
    )


def diagonal_candidate_scores(
    moments: ClassMoments, divisors: Floats, log_prior: Floats, grid: Floats
) -> CandidateScorer:
    """Return the function that yields leave-one-out scores under variances shrunk by each candidate.

    Parameters
    ----------
    moments : ClassMoments
        Moments on scales comparable to the median, the result of `limit_scales_to_median`.
    divisors : (1,) or (K,) float
        Divisors of the scatters, one for a pooled covariance or one for each class.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    grid : (G,) float
        Candidates of the shrinkage.

    Returns
    -------
    CandidateScorer
        Yields the scores for each element of `grid`, in this order, which is the shrinkage of all classes.
        Scores are NaN for rows that are too inaccurate even for a prediction.
    """
    squares = moments.squares.sum(axis=0, keepdims=True) if len(divisors) == 1 else moments.squares

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Iterator[Floats]:
        """Yield the scores (K, m) of rows x (m, p) for each candidate.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Positions of the classes of the rows.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Yields
        ------
        (K, m) float
            Scores under one candidate, in the order of the grid; NaN for rows that are too inaccurate.
        """
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            rows = squares_without_row(moments, x, codes, weights, divisors)
        for g in grid.tolist():
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                covariances = tuple(
                    median_shrunk_covariance(class_squares, moments.scale, divisor, g)
                    for class_squares, divisor in zip(squares, divisors.tolist(), strict=True)
                )
                fitted = NormalClasses(moments, covariances, divisors, log_prior)
                yield leave_one_out_scores(
                    fitted, rows, np.full(len(codes), g), shrinkage.MIN_RATIO_FOR_LABELS
                )

    return scores
