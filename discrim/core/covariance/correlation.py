"""Covariances with correlations shrunk towards zero and variances shrunk towards their median.

`ShrunkCorrelationCovariance` is the covariance model; the rest of the module computes its analytic shrinkage
and its leave-one-out scores.

A covariance is D^(1/2) R* D^(1/2) with correlations R* = (1 - g) R + g I and variances
D = (1 - h) V + h median(V), 0 <= g, h <= 1 (Schaefer & Strimmer, 2005, Statistical Applications in Genetics
and Molecular Biology 4, 32; Ahdesmaeki & Strimmer, 2010, Annals of Applied Statistics 4, 503-519). R* is the
correlation matrix of columns within classes, shrunk towards the identity.

*Intensity.* The intensity h is due to Opgen-Rhein & Strimmer. With deviations u from the class means, each
column of length one, r_jk = sum_i u_ij u_ik, and the g with the smallest expected squared error is estimated
by

    g = min(1, (n A - B) / ((n - 1) B)),   A = sum_{j /= k} sum_i u_ij^2 u_ik^2,   B = sum_{j /= k} r_jk^2,

with n the rows of all classes. B is |R - I|^2. With more columns than rows, R = V'V with a V of r rows, it is
|VV' - I|^2 + p - r and no p x p matrix is formed. n A - B is a sum of squares, n sum_i
(u_ij u_ik - r_jk / n)^2 over all pairs.

*Leaving a row out.* Let h now be the u of a row of weight o (not the intensity), n_g the rows of its class,
and c = o n_g / (n_g - o). Without it a column has the squared length q_j = 1 - c h_j^2, and with e_j = 1/q_j
the correlations are

    sqrt(e_j e_k) (r_jk - c h_j h_k),

which are shrunk and whitened again for each row, by a factorization of size p or, with more columns than
rows, of size r. Then R = V'V and h = V'a, therefore R - c h h' is V' H^2 V with H^2 = I - c a a'; with T = H
V diag(sqrt(e)) and k = g/(1 - g) the squared distance of a difference y in standard deviations is

    y'((1 - g) T'T + g I)^-1 y = (|y - T'b|^2 + k |b|^2) / g,   b = (T T' + k I)^-1 T y,

without cancellation. With at most as many columns as rows, the matrix without a row, times sqrt(q_j q_k), is
the matrix of all rows, which one decomposition inverts for any g, minus (1 - g) c h h' and minus g c
diag(h^2). The first term is a rank-one update, which leads to P. The second is small, at most c h_j^2 of the
whole, and each iteration x -> P^-1 (y + g c diag(h^2) x) reduces the error by this factor. A row that
contributes more than `MAX_ITERATIVE_SHARE` of a column has its own factorization.

*Intensity without a row.* The other rows of the class move by s h, s = o / (n_g - o), and the sum A becomes

    sum_i (u_ij + s h_j)^2 (u_ik + s h_k)^2 = sum_i u_ij^2 u_ik^2 + 2 s (h_k t_jk + h_j t_kj)
        + s^2 (h_k^2 w_jj + h_j^2 w_kk + 4 h_j h_k w_jk) + n_g s^4 h_j^2 h_k^2,

with w_jk = sum_i u_ij u_ik and t_jk = sum_i u_ij^2 u_ik over the class, less o (1 + s)^4 h_j^2 h_k^2. The
rows themselves are stored if they have fewer elements than these sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from discrim.core.covariance import shrinkage
from discrim.core.covariance.covariance import Covariance, Dependency, dependencies
from discrim.core.covariance.diagonal import (
    fixed_intensity,
    median_shrunk_covariance,
    squares_without_row,
    strimmer_without_row,
)
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    NormalClasses,
)
from discrim.core.covariance.principal import ThinCovariance, single_scatter_moments
from discrim.core.covariance.shrinkage import FOURTHS_ROUNDING, PowerSums, Shrinkage, unit_trace_factors
from discrim.core.covariance.shrunk import shrunk_covariance
from discrim.core.moments.derived_moments import divide_columns, limit_scales_to_median
from discrim.core.moments.moments import ClassMoments, deviations_from_class_means
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import EPS, Codes, Floats, slices, svd
from discrim.core.rules.leave_one_out import MIN_DETERMINANT_RATIO, LeaveOneOutScorer, Removal, mark_refits


@dataclass(frozen=True, slots=True)
class ShrunkCorrelationCovariance(CovarianceModel):
    """One covariance for all classes with shrunk correlations and shrunk variances.

    Attributes
    ----------
    shrinkage : Shrinkage
        Shrinkage of the correlations towards zero.
    variances : Shrinkage
        Shrinkage of the variances towards their median.
    """

    shrinkage: Shrinkage = field(default_factory=lambda: Shrinkage("strimmer"))
    variances: Shrinkage = field(default_factory=lambda: Shrinkage("strimmer"))

    name = "correlation"
    traits = CovarianceTraits(is_regular=True, allows_subspace=True)
    shrinkage_rules = ("given", "strimmer")

    @property
    def shrinkages(self) -> tuple[Shrinkage, ...]:
        """Shrinkages of the correlations and of the variances."""
        return self.shrinkage, self.variances

    def unfitted(self) -> ShrunkCorrelationCovariance:
        """Return a copy without the shrinkages that the rule "strimmer" determined."""
        return ShrunkCorrelationCovariance(self.shrinkage.unfitted(), self.variances.unfitted())

    def requires_full_rank(self, n_columns: int) -> bool:
        """Return whether columns must have full rank: the shrinkage of the correlations is zero.

        Values up to `n_columns` machine epsilons count as zero. False before the shrinkage is determined.
        """
        return self.shrinkage.is_negligible(n_columns)

    def dependent_columns(self, moments: ClassMoments, k: int | None = None) -> list[Dependency]:
        """Return the columns that are constant within classes (class k, or all if k is None).

        If correlations are not shrunk, linearly dependent columns are included.
        """
        # With more columns than rows, `requires_full_rank` refuses their number.
        is_unshrunk = moments.scatter_type != "thin" and self.requires_full_rank(moments.n_columns)
        return dependencies(moments, k, diagonal=not is_unshrunk)

    def rescale_moments(self, moments: ClassMoments) -> ClassMoments:
        """Return the moments with column scales limited relative to the column of median variance.

        They are unchanged if the shrinkage of the variances is zero.
        """
        return limit_scales_to_median(moments) if self.variances.for_class(None) != 0 else moments

    def fit_to_rows(
        self, rows: RowBlocks, moments: ClassMoments, divisors: Floats
    ) -> ShrunkCorrelationCovariance:
        """Return a copy with the shrinkages by rule "strimmer", computed in one pass over the rows.

        Shrinkages that the user specified are kept.

        Parameters
        ----------
        rows : iterable of blocks
            Blocks (x, codes, weights) of the rows.
        moments : ClassMoments
            Moments of these rows.
        divisors : (1,) float
            Not used: the shrinkages do not depend on the divisor.

        Returns
        -------
        ShrunkCorrelationCovariance
            The model itself if the user specified both shrinkages.
        """
        if not self.needs_rows:
            return self
        sums = compute_shrinkage_sums(rows, moments)
        fitted_model = self
        if self.variances.requires_rows:
            fitted_model = replace(
                fitted_model, variances=self.variances.with_values([sums.variance_intensity(moments)])
            )
        if self.shrinkage.requires_rows:
            fitted_model = replace(
                fitted_model, shrinkage=self.shrinkage.with_values([sums.correlation_intensity(moments)])
            )
        return fitted_model

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the pooled covariance, with divisors (1,) and shrinkages that were determined before.

        The result contains this model unchanged, and the rescaled moments.
        """
        g = self.shrinkage.values[0]
        h = self.variances.values[0]
        rescaled = self.rescale_moments(moments)
        return CovarianceEstimates(
            self, rescaled, (shrunk_correlation_covariance(moments, rescaled, float(divisors[0]), g, h),)
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer.

        Shrinkages by "strimmer" are estimated without each row if `fitted.rows` is present, else kept.
        """
        rows = fitted.rows
        moments = fitted.moments
        powers = None if rows is None or not self.needs_rows else correlation_power_sums(rows, moments)
        return correlation_leave_one_out_scorer(fitted, (self.shrinkage, self.variances), powers)


@dataclass(frozen=True, slots=True, eq=False)
class ShrinkageSums:
    """Sums over rows of products of squares, from which the analytic shrinkage intensities are computed.

    The deviations u_ij from the class means are scaled such that each column has length one. Rows count with
    their weights.

    Attributes
    ----------
    cross_sum : float
        Sum A of u_ij^2 u_ik^2 over rows and ordered pairs j /= k of columns.
    fourths : (p,) float
        Sums over rows of u_ij^4.
    """

    cross_sum: float
    fourths: Floats

    def correlation_intensity(self, moments: ClassMoments) -> float:
        """Return the shrinkage intensity of the correlations of Schaefer & Strimmer (2005), in [0, 1]."""
        group = single_scatter_moments(moments, None)
        column_norms = np.sqrt(group.squares[0])
        if group.roots is not None and group.scatter_type == "thin":
            root = group.roots[0] / column_norms
            r, p = root.shape
            pairs = ((root @ root.T - np.eye(r)) ** 2).sum() + p - r
        else:
            correlation = group.scatters[0] / column_norms / column_norms[:, None]
            np.fill_diagonal(correlation, 0.0)
            pairs = (correlation**2).sum()
        return float(correlation_intensity(pairs, np.array(self.cross_sum), moments.total))

    def variance_intensity(self, moments: ClassMoments) -> float:
        """Return the shrinkage intensity of the variances of Opgen-Rhein & Strimmer (2007), in [0, 1]."""
        group = single_scatter_moments(moments, None)
        unit = unit_trace_factors(group, by_class=False)[0]
        squares = group.squares[0] * unit * unit
        return float(shrinkage.strimmer_intensity(squares, np.array(squares**2 @ self.fourths), group.total))


def compute_shrinkage_sums(blocks: RowBlocks, moments: ClassMoments) -> ShrinkageSums:
    """Compute the sums for the shrinkage intensities in one pass over rows.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    moments : ClassMoments
        Moments of these rows; no column may be constant within classes.

    Returns
    -------
    ShrinkageSums
        Of all rows, with their weights.
    """
    column_norms = np.sqrt(moments.squares.sum(axis=0))[:, None]
    crossed = 0.0
    fourths = np.zeros(moments.n_columns)
    for x, codes, weights in blocks:
        squares = (deviations_from_class_means(moments, x, codes) / column_norms) ** 2
        frequencies = np.ones(len(codes)) if weights is None else weights
        # Sum the products of pairs: the square of a sum minus the squares would cancel.
        crossed += 2.0 * float((squares[1:] * squares.cumsum(axis=0)[:-1]).sum(axis=0) @ frequencies)
        fourths += squares**2 @ frequencies
    return ShrinkageSums(crossed, fourths)


def correlation_intensity(pairs: Floats, crossed: Floats, count: float | Floats) -> Floats:
    """Compute the shrinkage of correlations by Schaefer & Strimmer's rule.

    Parameters
    ----------
    pairs : (...) float
        Sum B of squared correlations over ordered pairs j /= k of columns.
    crossed : (...) float
        Sum A of u_ij^2 u_ik^2 over rows and ordered pairs j /= k of columns of length one.
    count : float or (...) float
        Number of rows n, or sum of weights.

    Returns
    -------
    (...) float
        Values in [0, 1].

    Examples
    --------
    >>> u = np.array([[3.0, -1.0, -2.0], [2.0, 0.0, -2.0]])
    >>> u /= np.sqrt((u**2).sum(axis=1, keepdims=True))
    >>> pairs, crossed = 2 * (u[0] @ u[1]) ** 2, 2 * (u[0] ** 2 @ u[1] ** 2)
    >>> correlation_intensity(pairs, crossed, 3).round(6).tolist()
    0.28
    """
    scaled_crossed = count * crossed
    numerator = scaled_crossed - pairs
    numerator = np.where(numerator <= FOURTHS_ROUNDING * scaled_crossed, 0.0, numerator)
    denominator = (count - 1.0) * pairs
    return np.where(
        numerator >= denominator, 1.0, numerator / np.where(numerator >= denominator, 1.0, denominator)
    )


def shrunk_correlation_covariance(
    moments: ClassMoments, rescaled: ClassMoments, divisor: float, g: float, h: float
) -> Covariance:
    """Compute the pooled covariance with shrunk correlations and variances, in the coordinates of `rescaled`.

    Parameters
    ----------
    moments : ClassMoments
        Pooled or thin, without columns that are constant within classes; of full rank if g is zero.
    rescaled : ClassMoments
        The same moments on scales comparable to the median of the variances.
    divisor : float
        Divisor of the scatter.
    g, h : float
        Shrinkages of the correlations and of the variances.

    Returns
    -------
    Covariance
        A `ThinCovariance` for thin moments.
    """
    sd = median_shrunk_covariance(
        single_scatter_moments(rescaled, None).squares[0], rescaled.scale, divisor, h
    ).root
    # Column by column, because a column with a negligible variance still has correlations.
    unit = sd / np.sqrt(single_scatter_moments(moments, None).squares[0] / divisor)
    column_norms = np.sqrt(moments.squares.sum(axis=0)) / moments.scale
    correlation, _ = shrunk_covariance(divide_columns(moments, column_norms), divisor, g)
    if isinstance(correlation, ThinCovariance):
        root = correlation.root * unit
        factor = correlation.inverse / unit[:, None]
        return replace(correlation, root=root, factor=factor, unit=correlation.unit / unit)
    return Covariance.from_root(correlation.root * unit)


MIN_SHRINKAGE = 1e-6
"""Shrinkage up to which correlations without a row may be nearly singular, so that it requires a refit."""

MIN_SINGULAR_RATIO = 1e-12
"""Singular value, relative to the largest, up to which a direction is ignored."""

MAX_ITERATIVE_SHARE = 0.1
"""Maximum share of a row in the squared length of a column for the iterative solution."""

MAX_ITERATIONS = 20
"""Maximum number of iterations; each reduces the error at least by the factor `MAX_ITERATIVE_SHARE`."""

MAX_CHUNK_ELEMENTS = 2**22
"""Maximum number of elements of matrices, or of differences to all class means, in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationPowerSums:
    """Sums of powers of deviations u, with columns of length one, for the shrinkages without each row.

    Rows count with their weights in the sums.

    Attributes
    ----------
    by_column : PowerSums
        Sums of squares, third and fourth powers by class and column, (K, p).
    fourths : (p, p) float
        Sums of u_ij^2 u_ik^2 over all rows; (0, p) if the rows are stored instead.
    thirds, seconds : (K, p, p) float
        Sums of u_ij^2 u_ik and of u_ij u_ik by class; (K, 0, p) if the rows are stored instead.
    rows : (p, n) float
        The rows u, if they have fewer elements than the sums; else (p, 0).
    codes, weights : (n,)
        Classes and weights of the stored rows; empty if none are stored.
    """

    by_column: PowerSums
    fourths: Floats
    thirds: Floats
    seconds: Floats
    rows: Floats
    codes: Codes
    weights: Floats


def _column_norms(moments: ClassMoments) -> Floats:
    """Return the roots (p,) of the sums of squares of the columns about the class means, in z."""
    return np.asarray(np.sqrt(single_scatter_moments(moments, None).squares[0]))


@dataclass(frozen=True, slots=True, eq=False)
class RowsLeftOut:
    """m rows that are left out one at a time.

    Attributes
    ----------
    h : (p, m) float
        Deviations of the rows from their class means, with columns of length one over all rows.
    e : (p, m) float
        Reciprocals of the squared lengths of the columns without the row; negative or infinite if nothing
        remains.
    codes : (m,) int
        Class of each row.
    weight : (m,) float
        Weights that are left out.
    class_weight : (m,) float
        Total weights of their classes, with the row.
    downdate_factor : (m,) float
        Factors c of the matrices c h h' that are subtracted from the correlations.
    """

    h: Floats
    e: Floats
    codes: Codes
    weight: Floats
    class_weight: Floats
    downdate_factor: Floats

    @staticmethod
    def from_removal(h: Floats, codes: Codes, removal: Removal) -> RowsLeftOut:
        """Construct the left-out rows.

        Parameters
        ----------
        h : (p, m) float
            Deviations from the class means, with columns of length one.
        codes : (m,) int
            Class of each row.
        removal : Removal
            Weights that are left out.

        Returns
        -------
        RowsLeftOut
            With the reciprocals `e` computed from `h` and the removal.
        """
        return RowsLeftOut(
            h,
            1.0 / (1.0 - removal.downdate_factor * h**2),
            codes,
            removal.weight,
            removal.class_weight,
            removal.downdate_factor,
        )


def correlation_power_sums(blocks: RowBlocks, moments: ClassMoments) -> CorrelationPowerSums:
    """Compute sums of powers of the deviations in one pass over rows, or store the rows if they are smaller.

    Parameters
    ----------
    blocks : iterable of blocks
        Blocks (x, codes, weights) of the rows.
    moments : ClassMoments
        Moments of these rows, pooled or thin.

    Returns
    -------
    CorrelationPowerSums
        With the rows instead of sums over pairs of columns if the moments are thin, or if there are at most
        (2 K + 1) p rows.
    """
    column_norms = _column_norms(moments)[:, None]
    k = moments.n_classes
    p = moments.n_columns
    by_rows = moments.scatter_type == "thin" or moments.rows.sum() <= (2 * k + 1) * p
    q = 0 if by_rows else p
    fourths = np.zeros((q, p))
    thirds = np.zeros((k, q, p))
    seconds = np.zeros((k, q, p))
    column_powers = PowerSums(np.zeros((k, p)), np.zeros((k, p)), np.zeros((k, p)))
    stored: list[tuple[Floats, Codes, Floats]] = []
    for x, codes, weights in blocks:
        u = deviations_from_class_means(moments, x, codes) / column_norms
        frequencies = np.ones(len(codes)) if weights is None else weights
        if by_rows:
            stored.append((u, codes, frequencies))
        else:
            fourths += (u**2 * frequencies) @ (u**2).T
        for c in np.unique(codes).tolist():
            member_deviations = u[:, codes == c]
            member_weights = frequencies[codes == c]
            squares = member_deviations**2
            column_powers.seconds[c] += squares @ member_weights
            column_powers.thirds[c] += (squares * member_deviations) @ member_weights
            column_powers.fourths[c] += squares**2 @ member_weights
            if not by_rows:
                thirds[c] += (squares * member_weights) @ member_deviations.T
                seconds[c] += (member_deviations * member_weights) @ member_deviations.T
    rows = np.concatenate([u for u, _, _ in stored], axis=1) if stored else np.zeros((p, 0))
    stored_codes = np.concatenate([codes for _, codes, _ in stored]) if stored else np.zeros(0, dtype=np.intp)
    stored_weights = np.concatenate([frequencies for _, _, frequencies in stored]) if stored else np.zeros(0)
    return CorrelationPowerSums(column_powers, fourths, thirds, seconds, rows, stored_codes, stored_weights)


def crossed_sums_without_row(powers: CorrelationPowerSums, left_out: RowsLeftOut) -> Floats:
    """Compute the sum A of u_ij^2 u_ik^2 over rows and ordered pairs j /= k without each of m rows.

    The columns have length one without the row.

    Parameters
    ----------
    powers : CorrelationPowerSums
        Sums over all rows.
    left_out : RowsLeftOut
        The m rows.

    Returns
    -------
    (m,) float
        Not finite for a row without which a column does not vary.
    """
    e = left_out.e
    h = left_out.h
    codes = left_out.codes
    mean_shift = left_out.weight / (left_out.class_weight - left_out.weight)
    b = e * h**2
    fourth_factor = left_out.class_weight * mean_shift**4 - left_out.weight * (1.0 + mean_shift) ** 4
    if len(powers.codes):
        squares = (powers.rows**2).T @ e
        shift_terms = 2.0 * mean_shift * (powers.rows.T @ (e * h)) + mean_shift**2 * b.sum(axis=0)
        squares += np.where(powers.codes[:, None] == codes, shift_terms, 0.0)
        total = powers.weights @ squares**2 - left_out.weight * ((1.0 + mean_shift) ** 2 * b.sum(axis=0)) ** 2
        sums = (
            powers.by_column.fourths.sum(axis=0)[:, None]
            + 4.0 * mean_shift * h * powers.by_column.thirds[codes].T
        )
        sums += 6.0 * (mean_shift * h) ** 2 * powers.by_column.seconds[codes].T + fourth_factor * h**4
        return np.asarray(total - (e**2 * sums).sum(axis=0))
    crossed_sums = _sum_over_pairs(powers.fourths, e) + fourth_factor * (
        b.sum(axis=0) ** 2 - (b**2).sum(axis=0)
    )
    for c in np.unique(codes).tolist():
        members = np.flatnonzero(codes == c)
        member_e = e[:, members]
        member_b = b[:, members]
        a = (e * h)[:, members]
        s = mean_shift[members]
        third = powers.thirds[c]
        second = powers.seconds[c]
        member_squares = np.diagonal(second)[:, None]
        mixed_terms = (third @ a) * member_e - np.diagonal(third)[:, None] * member_e * a
        crossed_sums[members] += 4.0 * s * mixed_terms.sum(axis=0) + 4.0 * s**2 * _sum_over_pairs(second, a)
        different_terms = (member_e * member_squares).sum(axis=0) * member_b.sum(axis=0) - (
            member_e * member_b * member_squares
        ).sum(axis=0)
        crossed_sums[members] += 2.0 * s**2 * different_terms
    return np.asarray(crossed_sums)


def _sum_over_pairs(matrix: Floats, columns: Floats) -> Floats:
    """Return the sums (m,) of matrix_jk a_j a_k over ordered pairs j /= k, for columns a of (p, m)."""
    all_pairs = ((matrix @ columns) * columns).sum(axis=0)
    return np.asarray(all_pairs - np.diagonal(matrix) @ columns**2)


def correlation_leave_one_out_scorer(
    fitted: NormalClasses, shrinkages: tuple[Shrinkage, Shrinkage], powers: CorrelationPowerSums | None = None
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer for shrunk correlations and variances.

    Parameters
    ----------
    fitted : NormalClasses
        With pooled or thin moments.
    shrinkages : (Shrinkage, Shrinkage)
        Shrinkages of the correlations and of the variances.
    powers : CorrelationPowerSums, optional
        If present, analytic shrinkages are estimated without each row; else they are kept.

    Returns
    -------
    LeaveOneOutScorer
        Scores are the log prior minus half the squared distance; NaN for rows that require a refit.
    """
    moments = fitted.moments
    divisor = float(fitted.divisors[0])
    log_prior = fitted.log_prior
    correlations, variances = shrinkages
    g = correlations.values[0]
    by_column = fixed_intensity(variances.values[0])
    cross_powers = None
    column_norms = _column_norms(moments)
    if powers is not None:
        cross_powers = powers if correlations.requires_rows else None
        if variances.requires_rows:
            # Columns of a pooled scatter of trace one in the units of the data.
            size = column_norms * unit_trace_factors(moments, by_class=False)[0]
            by_class = powers.by_column
            by_size = PowerSums(
                by_class.seconds * size**2, by_class.thirds * size**3, by_class.fourths * size**4
            )
            by_column = strimmer_without_row(moments, by_size, common=True)
    decomposed: LowRankCorrelations | DenseCorrelations
    if moments.scatter_type == "thin":
        decomposed = LowRankCorrelations.from_moments(single_scatter_moments(moments, None), column_norms)
    else:
        decomposed = DenseCorrelations.from_matrix(moments.scatters[0] / column_norms / column_norms[:, None])
    means = moments.means.T
    unit = unit_trace_factors(moments, by_class=False)[0]

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute leave-one-out scores (m, K) of rows x (m, p) of classes `codes` (m,), with weights or None.

        They are the log prior minus half the squared distance; NaN for rows that require a refit.
        """
        max_rows = max(1, MAX_CHUNK_ELEMENTS // moments.means.size)
        if len(x) > max_rows:
            chunk_scores = [
                scores(x[chunk], codes[chunk], None if weights is None else weights[chunk])
                for chunk in slices(len(x), max_rows)
            ]
            return np.concatenate(chunk_scores)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rows = squares_without_row(moments, x, codes, weights, np.array([divisor]))
            # In z, in which squares of small columns do not underflow.
            z = deviations_from_class_means(moments, x, codes)
            left_out = RowsLeftOut.from_removal(z / column_norms[:, None], codes, rows.removal)
            is_inaccurate = (left_out.e >= 1.0 / MIN_DETERMINANT_RATIO) | (left_out.e <= 0)
            needs_refit = is_inaccurate.any(axis=0)
            variance_shrinkages = by_column(rows)
            target = np.where(
                variance_shrinkages > 0, np.sqrt(variance_shrinkages * rows.medians) / unit[:, None], 0.0
            )
            sd = np.hypot(np.sqrt((1.0 - variance_shrinkages) / left_out.e) * column_norms[:, None], target)
            sd /= np.sqrt(divisor - rows.removal.weight)
            mean_deviations = z + (means[:, codes][None] - means.T[:, :, None])
            mean_deviations[codes, :, np.arange(len(codes))] *= np.sqrt(rows.removal.distance_factor)[:, None]
            crossed = None if cross_powers is None else crossed_sums_without_row(cross_powers, left_out)
            d2, correlation_shrinkages = decomposed.distances(
                mean_deviations / sd, left_out, g, crossed, moments.total - left_out.weight
            )
        log_scores = log_prior[:, None] - 0.5 * d2
        needs_refit |= (correlation_shrinkages <= MIN_SHRINKAGE) | ~np.isfinite(d2).all(axis=0)
        return mark_refits(log_scores, codes, rows.removal, needs_refit).T

    return scores


@dataclass(frozen=True, slots=True, eq=False)
class DenseCorrelations:
    """Correlations R of at most as many columns as rows, and their eigendecomposition.

    Attributes
    ----------
    matrix : (p, p) float
        R.
    eigenvalues : (p,) float
        Eigenvalues of R in increasing order, at least zero.
    axes : (p, p) float
        Eigenvectors, in columns.
    """

    matrix: Floats
    eigenvalues: Floats
    axes: Floats

    @staticmethod
    def from_matrix(matrix: Floats) -> DenseCorrelations:
        """Construct the decomposition of a correlation matrix (p, p)."""
        eigenvalues, axes = np.linalg.eigh(matrix)
        return DenseCorrelations(matrix, np.maximum(eigenvalues, 0.0), axes)

    def distances(
        self, mean_deviations: Floats, left_out: RowsLeftOut, g: float, crossed: Floats | None, count: Floats
    ) -> tuple[Floats, Floats]:
        """Compute squared distances to all class means, under shrunk correlations without each row.

        Parameters
        ----------
        mean_deviations : (K, p, m) float
            Differences of the rows from the class means, in (shrunk) standard deviations without the row.
        left_out : RowsLeftOut
            Rows that are left out, one at a time.
        g : float
            Shrinkage of the correlations, used if `crossed` is None.
        crossed : (m,) float, optional
            Sums A without each row, from which the shrinkage without each row is estimated.
        count : (m,) float
            Sums of the weights without each row.

        Returns
        -------
        squared_distances : (K, m) float
            NaN for rows without which the correlations are not finite or nearly singular.
        shrinkages : (m,) float
            Shrinkages of the correlations that were used.
        """
        h = left_out.h
        e = left_out.e
        downdate_factors = left_out.downdate_factor
        b = (e * h**2).sum(axis=0) ** 2 - ((e * h**2) ** 2).sum(axis=0)
        shrinkages = np.full(len(downdate_factors), g)
        if crossed is not None:
            pairs = (
                _sum_over_pairs(self.matrix**2, e)
                - 2.0 * downdate_factors * _sum_over_pairs(self.matrix, e * h)
                + downdate_factors**2 * b
            )
            shrinkages = correlation_intensity(pairs, crossed, count)
        d2 = np.full((len(mean_deviations), len(downdate_factors)), np.nan)
        is_regular = (e > 0).all(axis=0) & (shrinkages > MIN_SHRINKAGE)
        iterated = np.flatnonzero(is_regular & (downdate_factors * (h**2).max(axis=0) <= MAX_ITERATIVE_SHARE))
        d2[:, iterated] = self._iterative_distances(
            mean_deviations[:, :, iterated],
            h[:, iterated],
            e[:, iterated],
            downdate_factors[iterated],
            shrinkages[iterated],
        )
        unsolved = np.flatnonzero(is_regular & np.isnan(d2).any(axis=0))
        step = max(1, MAX_CHUNK_ELEMENTS // self.matrix.size)
        for first in range(0, len(unsolved), step):
            chunk = unsolved[first : first + step]
            f = np.sqrt(e[:, chunk]).T
            row_deviations = h[:, chunk].T
            matrices = (
                self.matrix
                - downdate_factors[chunk, None, None]
                * row_deviations[:, :, None]
                * row_deviations[:, None, :]
            )
            matrices *= (1.0 - shrinkages[chunk])[:, None, None] * f[:, :, None] * f[:, None, :]
            matrices[:, range(len(h)), range(len(h))] = 1.0
            y = mean_deviations[:, :, chunk].transpose(2, 1, 0)
            d2[:, chunk] = (y * np.linalg.solve(matrices, y)).sum(axis=1).T
        return d2, shrinkages

    def _iterative_distances(
        self, mean_deviations: Floats, h: Floats, e: Floats, downdate_factors: Floats, shrinkages: Floats
    ) -> Floats:
        """Compute squared distances without each row by iterations that start from the decomposition of R.

        Parameters
        ----------
        mean_deviations : (K, p, m) float
            Differences of the rows from the class means, in standard deviations without the row.
        h : (p, m) float
            Deviations of the rows from their class means, with columns of length one over all rows.
        e : (p, m) float
            Reciprocals of the squared lengths of the columns without the row, all positive.
        downdate_factors : (m,) float
            Factors c of the matrices c h h' that are subtracted.
        shrinkages : (m,) float
            Shrinkages of the correlations without each row.

        Returns
        -------
        (K, m) float
            NaN for rows without convergence in `MAX_ITERATIONS` iterations, or with a determinant ratio of at
            most `MIN_DETERMINANT_RATIO`.
        """
        axes = self.axes
        variances = (1.0 - shrinkages) * self.eigenvalues[:, None] + shrinkages
        along = (axes.T @ h) / variances
        b = (1.0 - shrinkages) * downdate_factors
        determinant_ratios = 1.0 - b * (variances * along**2).sum(axis=0)
        y = (mean_deviations / np.sqrt(e)).transpose(1, 0, 2)
        shape = y.shape
        delta = (shrinkages * downdate_factors * h**2)[:, None, :]
        rotated = (axes.T @ y.reshape(len(h), -1)).reshape(shape)

        def solve(columns: Floats) -> Floats:
            """Return P^-1 times columns (p, K, m), both in the coordinates of the eigenvectors.

            P is (1 - g) (R - c h h') + g I for each row, with its shrinkage g and downdate factor c.
            """
            correction = (along[:, None, :] * columns).sum(axis=0) * (b / determinant_ratios)
            return np.asarray(columns / variances[:, None, :] + along[:, None, :] * correction)

        solution = solve(rotated)
        for _ in range(MAX_ITERATIONS):
            correction = delta * (axes @ solution.reshape(len(h), -1)).reshape(shape)
            previous_solution = solution
            solution = solve(rotated + (axes.T @ correction.reshape(len(h), -1)).reshape(shape))
            has_converged = np.abs(solution - previous_solution).max(axis=(0, 1)) <= 4 * EPS * np.abs(
                solution
            ).max(axis=(0, 1))
            if has_converged.all():
                break
        d2 = (rotated * solution).sum(axis=0)
        d2[:, ~has_converged | (determinant_ratios <= MIN_DETERMINANT_RATIO)] = np.nan
        return np.asarray(d2)


@dataclass(frozen=True, slots=True, eq=False)
class LowRankCorrelations:
    """Correlations R = V'V of rank r of more columns than rows, with the factor V.

    Attributes
    ----------
    root : (r, p) float
        V, with orthogonal rows in decreasing order of length.
    eigenvalues : (r,) float
        Squared lengths of the rows of V.
    """

    root: Floats
    eigenvalues: Floats

    @staticmethod
    def from_moments(moments: ClassMoments, column_norms: Floats) -> LowRankCorrelations:
        """Construct V from moments with a thin root, with `column_norms` (p,) the lengths of its columns.

        Raises TypeError if the moments have no roots.
        """
        if moments.roots is None:
            raise TypeError("The moments have no thin roots.")
        _, singular_values, axes = svd(moments.roots[0] / column_norms, full_matrices=False)
        is_nonzero = singular_values > MIN_SINGULAR_RATIO * singular_values.max(initial=0.0)
        return LowRankCorrelations(
            singular_values[is_nonzero, None] * axes[is_nonzero], singular_values[is_nonzero] ** 2
        )

    def distances(
        self, mean_deviations: Floats, left_out: RowsLeftOut, g: float, crossed: Floats | None, count: Floats
    ) -> tuple[Floats, Floats]:
        """Compute squared distances to all class means, under shrunk correlations without each row.

        Parameters
        ----------
        mean_deviations : (K, p, m) float
            Differences of the rows from the class means, in (shrunk) standard deviations without the row.
        left_out : RowsLeftOut
            Rows that are left out, one at a time.
        g : float
            Shrinkage of the correlations, used if `crossed` is None.
        crossed : (m,) float, optional
            Sums A without each row, from which the shrinkage without each row is estimated.
        count : (m,) float
            Sums of the weights without each row.

        Returns
        -------
        squared_distances : (K, m) float
            NaN for rows without which the correlations are not finite or nearly singular.
        shrinkages : (m,) float
            Shrinkages of the correlations that were used.
        """
        (r, p), m = self.root.shape, len(count)
        shrinkages = np.full(m, g)
        d2 = np.full((len(mean_deviations), m), np.nan)
        a = (self.root @ left_out.h) / self.eigenvalues[:, None]
        for i in range(m):
            t = self.root * np.sqrt(left_out.e[:, i])
            if squared_norm := float(a[:, i] @ a[:, i]):
                # If the row is the only one in its direction, the direction vanishes.
                reduction = 1.0 - np.sqrt(max(1.0 - left_out.downdate_factor[i] * squared_norm, 0.0))
                t -= np.outer(reduction / squared_norm * a[:, i], a[:, i] @ t)
            if not np.isfinite(t).all():
                continue
            gram = t @ t.T
            if crossed is not None:
                # Eigenvalues sum to p. Deviations from their mean p / r avoid cancellation.
                deviation = gram.copy()
                deviation[np.diag_indices(r)] -= p / r
                pairs = (deviation**2).sum() + p * (p - r) / r
                shrinkages[i] = float(correlation_intensity(np.array(pairs), crossed[i], count[i]))
            y = mean_deviations[:, :, i].T
            if shrinkages[i] == 1.0:
                d2[:, i] = (y**2).sum(axis=0)
                continue
            ridge = shrinkages[i] / (1.0 - shrinkages[i])
            gram[np.diag_indices(r)] += ridge
            b = np.linalg.solve(gram, t @ y)
            residual = y - t.T @ b
            d2[:, i] = ((residual**2).sum(axis=0) + ridge * (b**2).sum(axis=0)) / shrinkages[i]
        return d2, shrinkages
