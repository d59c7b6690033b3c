"""Naive Bayes with normal, categorical, kernel and count columns.

Theory. Columns are independent within classes: the density of a row is the product of the densities of its
columns, and each is estimated separately as normal, by a table of levels, by kernels (see `kernel_density`)
or as a count. Missing values of a row are left out of the product.

*Normal columns* have a diagonal covariance in each class: naive Bayes is the diagonal quadratic rule for
them. With smoothing s every variance grows by

    e = s max_j V_j,   V_j the variance of column j over all rows, divisor N,

in the units of the data, which is scikit-learn's `var_smoothing`: it depends on the units of the columns.
Without a row x of weight w, N V_j falls by w N / (N - w) (x_j - mean_j)^2: e follows in closed form too.

If rows have missing values, each column can be fitted to the rows in which it is observed, n_kj of class k:
sums of squares, tables and values use these rows, and the counts of classes use all rows with a class. The
likelihood of the observed values is a product over columns, and the maximum-likelihood mean and variance of a
column (divisor n_kj - 1 or n_kj) use the rows in which it is observed (Little & Rubin, 2020, Statistical
Analysis with Missing Data, sec. 3.4). Without a row x of weight w, in which the column is observed,

    m' = m - w (x - m) / (n_kj - w),   SS' = SS - w n_kj / (n_kj - w) (x - m)^2,

and removing a row in which the column is missing does not change its estimates.

*Columns of categories* have a table P(level | class) each. Of n_k rows of class k, n_kl have level l of a
column with L levels. With Laplace's correction a,

    P(l | k) = (n_kl + a) / (n_k + a L),

the mean of the posterior under a Dirichlet prior of a pseudo-rows for each level (Agresti, 2013, Categorical
Data Analysis, sec. 1.6). Without a row of weight w of class k and level l, n_kl and n_k fall by w.

*Columns of counts*, such as word counts of texts, share one multinomial per class. Given their sum, the J
counts x_j of a row of class k are multinomial with

    theta_kj = (s_kj + a) / (s_k + a J),   s_kj the sum of column j over the rows of class k, s_k = sum_j
    s_kj,

a being Laplace's correction (McCallum & Nigam, 1998, AAAI workshop on learning for text categorization,
41-48). The multinomial coefficient is equal for all classes and is omitted, from the likelihood too. Given
their sum, the observed counts of a row with missing counts are multinomial with theta_kj divided by the sum
of their thetas; such a row is predicted from this distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, dependencies, divisors_by_class
from discrim.core.covariance.diagonal import DiagonalCovariance
from discrim.core.covariance.principal import weighted_centre
from discrim.core.discriminant.qda import QDAFit, fit_qda
from discrim.core.errors import CoreNotSupportedError, InvalidStateError
from discrim.core.moments.moments import ClassMoments, standardize_columns
from discrim.core.moments.sparse_rows import SparseRows
from discrim.core.naive_bayes.kernel_density import BANDWIDTH_FACTORS, KernelColumns, KernelDensity
from discrim.core.naive_bayes.tally import ColumnBlock, ColumnPlan, Tally
from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask, are_integers, slices
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import (
    MIN_DETERMINANT_RATIO,
    LeaveOneOutScorer,
    compute_removal,
    leave_one_out_diagonal_scores,
    mark_refits,
)
from discrim.core.rules.rules import Distances, IndependentRule, log_of_prior


def incomplete_leave_one_out_scorer(
    moments: ClassMoments, counts: Floats, log_prior: Floats, divisor_offset: float
) -> LeaveOneOutScorer:
    """Return the leave-one-out scorer of normal columns that are fitted to rows with missing values.

    Parameters
    ----------
    moments : ClassMoments
        Means and sums of squares of each of the q normal columns over the rows in which it is observed.
    counts : (K, q) float
        Weight of the rows of each class in which each column is observed.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    divisor_offset : float
        1 for unbiased variances, 0 for maximum likelihood: the divisor is the weight minus this number.

    Returns
    -------
    LeaveOneOutScorer
        Scores are log prior plus log density of the observed columns, up to a constant of each row; without
        smoothing. All scores of a row are NaN if, in an observed column of its class, the divisor without it
        is not positive, or at most `MIN_DETERMINANT_RATIO` of the sum of squares remains without it.
    """
    means = moments.means
    squares = moments.scatters
    variances = squares / (counts - divisor_offset)

    def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Compute the leave-one-out scores of rows of the fit.

        Parameters
        ----------
        x : (m, q) float
            Rows of the normal columns in the units of the data; NaN is missing.
        codes : (m,) int
            Class of each row.
        weights : (m,) float or None
            Frequency weights; at most one unit of a row is left out.

        Returns
        -------
        (m, K) float
            Log prior plus log density up to a constant of each row; all NaN for a row without which the
            divisor or the sum of squares of an observed column is zero or inaccurate.
        """
        z = standardize_columns(x, moments.origin, moments.scale).T
        observed = ~np.isnan(z)
        n = counts[codes]
        class_squares = squares[codes]
        remaining = n - (np.ones(len(x)) if weights is None else np.minimum(weights, 1.0))[:, None]
        deviations = z - means[codes]
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            squares_without = class_squares - (n - remaining) * n / remaining * deviations**2
            is_unreliable = observed & ~(
                (remaining - divisor_offset > EPS * n)
                & (squares_without > MIN_DETERMINANT_RATIO * class_squares)
            )
            distances = (deviations * n / remaining) ** 2 * (remaining - divisor_offset) / squares_without
            refit_terms = -0.5 * (distances + np.log(squares_without / (remaining - divisor_offset)))
        total = np.repeat(log_prior[:, None], len(x), axis=1)
        for k, variance in enumerate(variances):
            fitted_terms = -0.5 * ((z - means[k]) ** 2 / variance + np.log(variance))
            terms = np.where((codes == k)[:, None], refit_terms, fitted_terms)
            total[k] += np.where(observed & ~is_unreliable, terms, 0.0).sum(axis=1)
        total[:, is_unreliable.any(axis=1)] = np.nan
        return np.asarray(total.T)

    return scores


@dataclass(frozen=True, slots=True, eq=False)
class LevelTables:
    """Tables P(level | class) of q categorical columns among the p columns, in K classes.

    Attributes
    ----------
    positions : (q,) int
        Positions of the columns among all p.
    counts : tuple of (K, L_j) float
        Weight of the rows by class and level of each column, without the pseudo-count.
    laplace : float
        Pseudo-count added to each level.
    """

    positions: Codes
    counts: tuple[Floats, ...]
    laplace: float

    def probabilities(self) -> tuple[Floats, ...]:
        """Return P(level | class) of each column, (K, L_j), with the pseudo-count."""
        return tuple(
            _smoothed_proportions(n, n.sum(axis=1, keepdims=True), n.shape[1], self.laplace)
            for n in self.counts
        )

    def log_densities(self, x: Floats) -> Floats:
        """Return log probabilities of rows, summed over the columns that are not missing.

        Parameters
        ----------
        x : (m, p) float
            Rows with all columns; categorical columns contain positions of levels, NaN is missing.

        Returns
        -------
        (K, m) float
            Minus infinity if a level has the probability zero.
        """
        total = np.zeros((len(self.counts[0]), len(x)))
        for position, level_probabilities in zip(self.positions.tolist(), self.probabilities(), strict=True):
            values = x[:, position]
            n_levels = level_probabilities.shape[1]
            with np.errstate(divide="ignore"):
                log_probabilities = np.column_stack(
                    [np.log(level_probabilities), np.zeros(len(level_probabilities))]
                )
            # A missing value selects the column of zeros, which omits its factor.
            total += log_probabilities[:, np.where(np.isnan(values), n_levels, values).astype(np.intp)]
        return total

    def leave_one_out_scores(self, x: Floats, codes: Codes, weights: Floats | None) -> Floats:
        """Return leave-one-out log probabilities of rows of the fit, summed over observed columns.

        Only the table of the row's own class changes without it.

        Parameters
        ----------
        x : (m, p) float
            Rows with all columns; categorical columns contain positions of levels, NaN is missing.
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None
            Frequency weights; at most one unit of a row is left out. None if all are one.

        Returns
        -------
        (K, m) float
            Only the entry of the row's own class differs from `log_densities`. Without a pseudo-count it is
            minus infinity if no other row of the class has the level, and NaN if no row with an observed
            level remains in the class.
        """
        total = self.log_densities(x)
        rows = np.arange(len(x))
        left_out_weights = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        refit_logs = np.zeros(len(x))
        for position, n in zip(self.positions.tolist(), self.counts, strict=True):
            values = x[:, position]
            observed = ~np.isnan(values)
            level_weights = n[codes, np.where(observed, values, 0).astype(np.intp)]
            class_weights = n.sum(axis=1)[codes]
            remaining = np.where(
                level_weights - left_out_weights <= EPS * level_weights, 0.0, level_weights - left_out_weights
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                log_probabilities = np.log(
                    _smoothed_proportions(
                        remaining, class_weights - left_out_weights, n.shape[1], self.laplace
                    )
                )
            refit_logs += np.where(observed, log_probabilities, 0.0)
        total[codes, rows] = refit_logs
        return total

    def llf(self) -> float:
        """Return the log-likelihood of the categorical columns, given the classes."""
        pairs = zip(self.counts, self.probabilities(), strict=True)
        return float(sum(scipy.special.xlogy(n, p).sum() for n, p in pairs))

    def df_model(self) -> int:
        """Return the number of free probabilities, K (L_j - 1) summed over the columns."""
        return sum(n.shape[0] * (n.shape[1] - 1) for n in self.counts)


def _smoothed_proportions(counts: Floats, sizes: Floats, levels: int, laplace: float) -> Floats:
    """Return smoothed proportions (n + a) / (size + a L), elementwise for counts n and totals `sizes`."""
    return np.asarray((counts + laplace) / (sizes + laplace * levels))


MAX_DENSE_VALUES = 2**21
"""Number of values of sparse rows that are converted to a dense block at once."""


@dataclass(frozen=True, slots=True, eq=False)
class CountColumns:
    """Multinomial distribution of J columns of counts among the p columns, in each of K classes.

    Attributes
    ----------
    positions : (J,) int
        Positions of the columns among all p.
    sums : (K, J) float
        Weighted sums of the columns by class, without the pseudo-count.
    laplace : float
        Pseudo-count added to each sum.
    """

    positions: Codes
    sums: Floats
    laplace: float

    reads_sparse_rows: ClassVar[bool] = True
    """Whether scores and leave-one-out use the stored values of sparse rows."""

    def probabilities(self) -> Floats:
        """Return the probabilities theta (K, J) of the columns."""
        sizes = self.sums.sum(axis=1, keepdims=True) + self.laplace * len(self.positions)
        return np.asarray((self.sums + self.laplace) / sizes)

    def log_densities(self, x: Floats | SparseRows) -> Floats:
        """Return log probabilities of rows, given the sum of their observed counts.

        The multinomial coefficient, equal for all classes, is omitted.

        Parameters
        ----------
        x : (m, p) float or SparseRows
            Rows with all columns; NaN is missing.

        Returns
        -------
        (K, m) float
            Minus infinity if a positive count has the probability zero.
        """
        if isinstance(x, SparseRows):
            columns = x.select_columns(self.positions)
            theta = self.probabilities().T
            log_densities = np.log(np.where(theta > 0, theta, 1.0))
            scores = columns.products(columns.base @ log_densities, log_densities)
            if (theta == 0).any():
                is_impossible = (theta == 0).astype(np.float64)
                scores[columns.products(columns.base @ is_impossible, is_impossible) > 0] = -np.inf
            return np.asarray(scores.T)
        counts = x.T[self.positions]
        theta = self.probabilities()
        observed = ~np.isnan(counts)
        all_observed = bool(observed.all())
        counts = counts if all_observed else np.where(observed, counts, 0.0)
        log_densities = np.log(np.where(theta > 0, theta, 1.0)) @ counts
        rows = np.flatnonzero(~observed.all(axis=0)) if not all_observed else self.positions[:0]
        log_densities[:, rows] -= scipy.special.xlogy(counts[:, rows].sum(axis=0), theta @ observed[:, rows])
        # A count of zero has probability one for every theta; theta = 0 is handled separately, because
        # 0 * -inf is NaN.
        if (theta == 0).any():
            log_densities[((theta == 0).astype(np.float64) @ counts) > 0] = -np.inf
        return np.asarray(log_densities)

    def leave_one_out_scores(self, x: Floats | SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        """Return leave-one-out log probabilities of rows of the fit without missing counts.

        Parameters
        ----------
        x : (m, p) float or SparseRows
            Rows with all columns.
        codes : (m,) int
            Classes of the rows.
        weights : (m,) float or None
            Frequency weights; at most one unit of a row is left out. None if all are one.

        Returns
        -------
        (K, m) float
            Only the entry of the row's own class differs from `log_densities`. It is minus infinity if a
            positive count has the probability zero without the row.
        """
        if isinstance(x, SparseRows):
            return self._sparse_leave_one_out_scores(x, codes, weights)
        logs = self.log_densities(x)
        counts = x.T[self.positions]
        sums = self.sums.T[:, codes]
        remaining = sums - (counts if weights is None else np.minimum(weights, 1.0) * counts)
        remaining[remaining <= EPS * sums] = 0.0
        sizes = remaining.sum(axis=0) + self.laplace * len(self.positions)
        theta = np.divide(remaining + self.laplace, sizes, out=np.zeros_like(remaining), where=sizes > 0)
        logs[codes, np.arange(len(x))] = scipy.special.xlogy(counts, theta).sum(axis=0)
        return logs

    def _sparse_leave_one_out_scores(self, x: SparseRows, codes: Codes, weights: Floats | None) -> Floats:
        """Compute `leave_one_out_scores` from the stored values of sparse rows.

        Parameters
        ----------
        x : SparseRows
            Shape (m, p).
        codes : (m,) int
            Class of each row.
        weights : (m,) float or None
            Frequency weights; at most one unit of a row is left out. None if all are one.

        Returns
        -------
        (K, m) float
            Log probabilities, equal to `leave_one_out_scores` of the same rows as a dense array.
        """
        logs = self.log_densities(x)
        counts = x.select_columns(self.positions)
        if counts.base.any():
            # Columns whose most frequent value is not zero are converted to dense blocks of a few rows.
            chunks = slices(len(x), max(MAX_DENSE_VALUES // max(x.shape[1], 1), 1))
            dense_blocks = (
                (x.select_rows(chunk).to_dense(), codes[chunk], None if weights is None else weights[chunk])
                for chunk in chunks
            )
            return np.concatenate([self.leave_one_out_scores(*block) for block in dense_blocks], axis=1)
        row = counts.stored_row_index()
        column = counts.steps.indices
        values = counts.steps.data
        left_out_weights = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
        sums = self.sums[codes[row], column]
        remaining = sums - left_out_weights[row] * values
        remaining[remaining <= EPS * sums] = 0.0
        # Columns that a row does not store are zero, and leaving the row out does not change their sums.
        class_sums = self.sums.sum(axis=1)[codes]
        sizes = class_sums + np.bincount(row, remaining - sums, len(x))
        sizes[sizes <= EPS * class_sums] = 0.0
        sizes += self.laplace * len(self.positions)
        sizes = sizes[row]
        theta = np.divide(remaining + self.laplace, sizes, out=np.zeros_like(remaining), where=sizes > 0)
        logs[codes, np.arange(len(x))] = np.bincount(row, scipy.special.xlogy(values, theta), len(x))
        return logs

    def llf(self) -> float:
        """Return the log-likelihood of the counts, given class and sum of a row, without coefficients."""
        return float(scipy.special.xlogy(self.sums, self.probabilities()).sum())

    def df_model(self) -> int:
        """Return the number of free probabilities, K (J - 1)."""
        return int(self.sums.shape[0] * (self.sums.shape[1] - 1))


NonNormalColumns = LevelTables | KernelColumns | CountColumns
"""Distributions of the columns of one type that are not normal."""


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayesFit:
    """Fitted naive Bayes classifier of K classes with p columns, of which q are normal.

    Attributes
    ----------
    moments : ClassMoments
        Diagonal moments of all p columns, also of those that are not normal. Counts are of all rows; means
        and sums of squares of a column are of the rows in which it is observed.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions.
    plan : ColumnPlan
        Distribution and options of each column.
    normal : QDAFit or None
        Diagonal quadratic fit of the normal columns, with smoothed variances; None without such columns.
    tables : LevelTables or None
        Distributions of the categorical columns; None without such columns.
    kernels : KernelColumns or None
        Densities of the columns with kernel densities; None without such columns.
    counts : CountColumns or None
        Distribution of the columns of counts; None without such columns.
    available : (K, p) float or None
        Weight of the rows of each class in which each column is observed, if columns are fitted to different
        rows; None if all columns are fitted to the same rows.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    plan: ColumnPlan
    normal: QDAFit | None
    tables: LevelTables | None = None
    kernels: KernelColumns | None = None
    counts: CountColumns | None = None
    available: Floats | None = None

    has_distances = False

    @property
    def is_normal(self) -> bool:
        """Whether every column is normal and the fit therefore is a function of moments."""
        return not self.non_normal_columns

    @property
    def reads_sparse_rows(self) -> bool:
        """Whether every column is a count, in which case leave-one-out reads stored values of sparse rows."""
        return self.normal is None and all(
            getattr(distribution, "reads_sparse_rows", False) for distribution in self.non_normal_columns
        )

    @property
    def level_counts(self) -> tuple[Floats, ...]:
        """Weight by class and level (K, L_j) of each categorical column, without the pseudo-count.

        Empty without categorical columns.
        """
        return () if self.tables is None else tuple(self.tables.counts)

    @property
    def sums(self) -> Floats:
        """Sums (K, J) of the J columns of counts, without the pseudo-count."""
        return np.zeros((len(self.prior), 0)) if self.counts is None else self.counts.sums

    @property
    def points(self) -> Floats:
        """Distinct values of the kernel densities (n, 4): column, class code, value and weight.

        The column is its position among the columns with kernel densities, the value in the units of the
        data. Shape (0, 4) without kernel densities.
        """
        densities = () if self.kernels is None else self.kernels.densities
        column_points = [
            np.column_stack([np.full(len(d.points), j), np.full(len(d.points), c), d.points, d.weights])
            for j, column in enumerate(densities)
            for c, d in enumerate(column)
        ]
        return np.concatenate([np.zeros((0, 4)), *column_points])

    @property
    def non_normal_columns(self) -> tuple[NonNormalColumns, ...]:
        """The members `tables`, `kernels` and `counts` that are not None, in this order."""
        return tuple(
            distribution
            for distribution in (self.tables, self.kernels, self.counts)
            if distribution is not None
        )

    @property
    def method(self) -> str:
        """Divisor of the variances of class k of n_k rows: "moment", n_k - 1, or "mle", n_k."""
        return self.plan.method

    @property
    def smoothing(self) -> float:
        """Fraction of the largest variance of a column over all rows that is added to every variance."""
        return self.plan.smoothing

    @property
    def laplace(self) -> float:
        """Pseudo-count added to the count of every level, and to the sum of every column of counts."""
        return self.plan.laplace

    @property
    def bandwidth(self) -> str:
        """Rule of thumb for bandwidths that are not fixed, "nrd0" or "nrd"."""
        return self.plan.rule

    @property
    def unseen(self) -> str:
        """Treatment of levels in new rows that are unknown to the fit: an error ("raise"), or "missing"."""
        return self.plan.unseen

    @property
    def covariances(self) -> tuple[Covariance, ...]:
        """Smoothed diagonal covariances of the normal columns, one per class, in coordinates z of `moments`.

        Empty without normal columns.
        """
        return () if self.normal is None else self.normal.covariances

    def distances(self) -> Distances:
        """Return the squared distances of the normal columns to the class means.

        Raises CoreNotSupportedError without normal columns.
        """
        if self.normal is None:
            raise CoreNotSupportedError("no_normal_columns")
        return self.normal.distances()

    def rule(
        self, log_prior: Floats, method: str = "plugin", convention: str | None = None
    ) -> IndependentRule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method : {"plugin"}
            Method of the posteriors: only "plugin", which uses the estimates as if they were the parameters.
            Other methods raise CoreNotSupportedError.
        convention : str or None
            Not used.

        Returns
        -------
        IndependentRule
            Integrates out missing columns.
        """
        if method != "plugin":
            raise CoreNotSupportedError("plugin_of_naive_bayes", method=method)
        normal_rule = None
        if self.normal is not None:
            normal_rule = gaussian.class_plugin_rule(self.normal.moments, self.normal.covariances, log_prior)
        return IndependentRule(log_prior, normal_rule, self.plan.normal_positions, self.non_normal_columns)

    def refit(self, moments: ClassMoments, tally: Tally | None = None) -> NaiveBayesFit | None:
        """Fit the same model to other rows, with the same prior.

        Parameters
        ----------
        moments : ClassMoments
            Diagonal moments of all columns of the other rows.
        tally : Tally or None
            Plan, counts, sums and values of the columns that are not normal; None if all columns are normal.

        Returns
        -------
        NaiveBayesFit or None
            None if `has_fit` is false (a class is without rows, or a density other than a kernel density does
            not exist), or the rule does not yield the bandwidth of a kernel density.
        """
        # Without a tally all remaining columns are normal.
        tally = tally or Tally(self.plan.columns(np.arange(moments.n_columns)), moments.n_classes)
        if not has_fit(moments, tally):
            return None
        fit = fit_naive_bayes(moments, tally, self.prior, estimated_prior=self.estimated_prior)
        return None if fit.without_bandwidth().any() else fit

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return the function that computes leave-one-out scores of rows of the fit.

        Smoothing and bandwidths are recomputed without the row; the prior is not.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.

        Returns
        -------
        LeaveOneOutScorer
            The score is minus infinity for the class of a row that is alone in it. All scores of a row are
            NaN if it requires a refit: a variance, table or bandwidth without it does not exist or has lost
            its digits.
        """
        normal = None if self.normal is None else self._normal_leave_one_out_scorer(self.normal, log_prior)
        if normal is not None and self.is_normal:
            return normal

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Return leave-one-out scores (m, K) of rows (m, p) of the fit.

            Minus infinity for the class of a row that is alone in it; all NaN if a row requires a refit.
            """
            total = np.repeat(log_prior[:, None], len(x), axis=1)
            if normal is not None:
                total = np.array(normal(x[:, self.plan.normal_positions], codes, weights).T)
            for distribution in self.non_normal_columns:
                total += distribution.leave_one_out_scores(x, codes, weights)
            removed = compute_removal(self.moments.counts[codes], weights, self.moments.total)
            return mark_refits(total, codes, removed, np.asarray(np.isnan(total).any(axis=0))).T

        return scores

    def _normal_leave_one_out_scorer(self, normal: QDAFit, log_prior: Floats) -> LeaveOneOutScorer:
        """Return the leave-one-out scorer of the normal columns.

        It accepts rows (m, q) of these columns only, in the units of the data. `normal` is their fit.
        """
        if self.available is not None:
            divisor_offset = 1.0 if self.method == "moment" else 0.0
            return incomplete_leave_one_out_scorer(
                normal.moments, self._available_normal, log_prior, divisor_offset
            )
        if not self.smoothing:
            return normal.leave_one_out_scorer(log_prior)
        distances = normal.distances()
        moments = normal.moments
        divisors = normal.divisors
        added_variance = added_variances(moments, self.smoothing)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Return leave-one-out scores (m, K) of rows (m, q) of the normal columns.

            The added variance of smoothing is recomputed without each row.
            """
            added_with_and_without = (
                added_variance,
                _added_variances_without(moments, self.smoothing, x, weights),
            )
            return leave_one_out_diagonal_scores(
                x, codes, weights, distances, moments.counts, divisors, log_prior, added_with_and_without
            )

        return scores

    def without_bandwidth(self) -> Mask:
        """Return a mask (K, q) of the kernel densities for which the rule does not yield a bandwidth.

        Shape (K, 0) without kernel densities.
        """
        if self.kernels is None:
            return np.zeros((self.moments.n_classes, 0), dtype=bool)
        return np.asarray(~(self.kernels.bandwidths() > 0))

    def df_model(self) -> int:
        """Return the number of free parameters of the densities and, if it is estimated, of the prior.

        Raises
        ------
        CoreNotSupportedError
            The fit has kernel densities, whose parameters cannot be counted.
        """
        self._raise_if_kernels("A number of free parameters")
        k = self.moments.n_classes
        n_probabilities = sum(
            distribution.df_model() for distribution in (self.tables, self.counts) if distribution is not None
        )
        return (
            2 * k * len(self.plan.normal_positions) + n_probabilities + (k - 1 if self.estimated_prior else 0)
        )

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and rows.

        Variances have the divisor n_k for both methods, and are smoothed as in the fit. Counts are given
        their sum.

        Raises
        ------
        CoreNotSupportedError
            The fit has kernel densities, which do not maximise a likelihood.
        """
        self._raise_if_kernels("A log-likelihood")
        llf_of_others = sum(
            distribution.llf() for distribution in (self.tables, self.counts) if distribution is not None
        )
        if self.normal is None:
            with np.errstate(divide="ignore"):
                return float(self.moments.counts @ np.log(self.prior)) + llf_of_others
        return self._normal_llf(self.normal) + llf_of_others

    @property
    def _available_normal(self) -> Floats:
        """Weight (K, q) of the rows in which each normal column is observed; (0, 0) without `available`."""
        return np.zeros((0, 0)) if self.available is None else self.available[:, self.plan.normal_positions]

    def _normal_llf(self, normal: QDAFit) -> float:
        """Return the joint log-likelihood of the classes and the observed values of the normal columns."""
        moments = normal.moments
        if self.available is not None:
            # Sums of squares are over the rows in which the column is observed.
            variances = moments.scatters / self._available_normal
            variances += added_variances(moments, self.smoothing, self._available_normal)
            logs = np.log(2 * np.pi * variances) - 2.0 * np.log(moments.scale)
            with np.errstate(divide="ignore"):
                classes = float(self.moments.counts @ np.log(self.prior))
            return classes - 0.5 * float((self._available_normal * logs + moments.scatters / variances).sum())
        if not self.smoothing:
            return normal.llf()
        added = added_variances(moments, self.smoothing)
        variances = moments.scatters / moments.counts[:, None] + added
        # `log_likelihood` assumes that a sum of squares is n_k times the variance; smoothing makes it smaller
        # by n_k times the added variance.
        surplus = 0.5 * float(moments.counts @ (added / variances).sum(axis=1))
        log_prior = log_of_prior(self.prior)
        return gaussian.log_likelihood(moments, np.log(variances).sum(axis=1), log_prior) + surplus

    def _raise_if_kernels(self, quantity: str) -> None:
        """Raise CoreNotSupportedError if the fit has kernel densities.

        `quantity` is the name of the unavailable quantity in the message.
        """
        if self.kernels is not None:
            raise CoreNotSupportedError("kernel_densities", what=quantity)


def fit_naive_bayes(
    moments: ClassMoments, tally: Tally, prior: Floats, *, estimated_prior: bool = True
) -> NaiveBayesFit:
    """Fit naive Bayes to the moments and the tally of rows.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of all columns.
    tally : Tally
        Plan of the columns; counts, sums and values of those that are not normal. `has_fit` has to be true
        for both arguments.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool, default True
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    NaiveBayesFit
        The bandwidth of a kernel density is zero if the rule does not yield one;
        `NaiveBayesFit.without_bandwidth` returns a mask of these.
    """
    plan = tally.plan
    available = tally.available
    normal = tables = kernels = counts = None
    if len(plan.normal_positions):
        normal_moments = _normal_moments(moments, plan)
        model = DiagonalCovariance()
        if plan.smoothing or available is not None:
            available_normal = None if available is None else available[:, plan.normal_positions]
            sds = np.sqrt(_smoothed_variances(normal_moments, plan, available_normal))
            covariances = tuple(Covariance.from_root(sd) for sd in sds)
            divisors = divisors_by_class(normal_moments.counts, plan.method)
            normal = QDAFit(normal_moments, prior, estimated_prior, plan.method, covariances, divisors, model)
        else:
            normal = fit_qda(
                normal_moments, prior, model, method=plan.method, estimated_prior=estimated_prior
            )
    if len(plan.categorical_positions):
        tables = LevelTables(plan.categorical_positions, tuple(tally.tables), plan.laplace)
    if len(plan.kernel_positions):
        fixed_bandwidths = plan.bandwidths[plan.kernel_positions]
        densities = tuple(
            tuple(
                KernelDensity.from_values(values, weights, plan.rule, float(width))
                for values, weights in by_class
            )
            for by_class, width in zip(tally.values_by_class(), fixed_bandwidths, strict=True)
        )
        kernels = KernelColumns(plan.kernel_positions, densities, plan.rule, fixed_bandwidths)
    if len(plan.count_positions):
        counts = CountColumns(plan.count_positions, tally.sums, plan.laplace)
    fields = normal, tables, kernels, counts
    return NaiveBayesFit(moments, prior, estimated_prior, plan, *fields, available)


def _normal_moments(moments: ClassMoments, plan: ColumnPlan) -> ClassMoments:
    """Return the moments of the normal columns."""
    return (
        moments
        if len(plan.normal_positions) == moments.n_columns
        else moments.select_columns(plan.normal_positions)
    )


def has_fit(moments: ClassMoments, tally: Tally) -> bool:
    """Return whether all classes have rows and all densities exist, apart from kernel densities.

    With `tally.available`, every column also has to be observed in every class. Smoothed variances of normal
    columns have to be positive and finite (`has_variances`). If columns are counts, each class needs a
    positive sum of them or a positive pseudo-count.
    """
    plan = tally.plan
    available = tally.available
    if (moments.rows < 1).any() or (available is not None and not (available > 0).all()):
        return False
    if len(plan.normal_positions):
        available_normal = None if available is None else available[:, plan.normal_positions]
        if not has_variances(_normal_moments(moments, plan), plan, available_normal):
            return False
    return not len(plan.count_positions) or bool((tally.sums.sum(axis=1) + plan.laplace > 0).all())


def has_variances(moments: ClassMoments, plan: ColumnPlan, available: Floats | None = None) -> bool:
    """Return whether all smoothed variances of the normal columns are positive and finite.

    The divisors also have to be positive: with the method "moment", each class needs a total weight above one
    in every column. Without smoothing, each class needs two rows or more and no column that is constant in it
    up to rounding.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the q normal columns.
    plan : ColumnPlan
        Provides `smoothing` and `method`.
    available : (K, q) float or None
        Weight of the rows in which each column is observed, if columns are fitted to different rows.

    Returns
    -------
    bool
    """
    if not (divisors_by_class(moments.counts if available is None else available, plan.method) > 0).all():
        return False
    if not plan.smoothing:
        return bool((moments.rows > 1).all()) and not any(
            dependencies(moments, k, diagonal=True) for k in range(moments.n_classes)
        )
    variances = _smoothed_variances(moments, plan, available)
    return bool(((variances > 0) & np.isfinite(variances)).all())


def added_variances(moments: ClassMoments, smoothing: float, available: Floats | None = None) -> Floats:
    """Compute the variance that smoothing adds to every variance.

    It is a fraction of the largest variance of a column over all rows (divisor N), in the units of the data,
    and therefore equal for all columns there.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the q normal columns.
    smoothing : float
        Fraction of the largest variance.
    available : (K, q) float or None
        Weight of the rows in which each column is observed, if columns are fitted to different rows.

    Returns
    -------
    (q,) float
        The variance in the coordinates z of the moments. Infinite if the units of the columns differ by more
        than the range of float64.
    """
    totals = moments.total if available is None else available.sum(axis=0)
    max_sd = (np.sqrt(_total_squares(moments, available) / totals) / moments.scale).max()
    with np.errstate(over="ignore"):
        return np.asarray(smoothing * (max_sd * moments.scale) ** 2)


def _added_variances_without(
    moments: ClassMoments, smoothing: float, x: Floats, weights: Floats | None
) -> Floats:
    """Compute the variance that smoothing adds if one row is left out, for each of several rows.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the q normal columns.
    smoothing : float
        Fraction of the largest variance.
    x : (m, q) float
        Rows that are left out in turn, in the units of the data.
    weights : (m,) float or None
        Frequency weights; at most one unit of a row is left out. None if all are one.

    Returns
    -------
    (q, m) float
        The variance in the coordinates z of the moments. NaN in all columns of a row if subtracting it from
        the column that may have the largest variance lost digits.
    """
    total = moments.total
    left_out_weights = np.ones(len(x)) if weights is None else np.minimum(weights, 1.0)
    centre = weighted_centre(moments.means, moments.counts)
    squares = _total_squares(moments)[:, None]
    squared_deviations = (standardize_columns(x, moments.origin, moments.scale) - centre[:, None]) ** 2
    remaining_squares = squares - left_out_weights * total / (total - left_out_weights) * squared_deviations
    sds = (
        np.sqrt(np.where(remaining_squares > MIN_DETERMINANT_RATIO * squares, remaining_squares, 0.0))
        / moments.scale[:, None]
    )
    max_sd = sds.max(axis=0) / np.sqrt(total - left_out_weights)
    # A difference that lost its digits may be as large as this; if it could be the largest, the result is
    # not reliable.
    unreliable_sds = (
        np.where(
            remaining_squares > MIN_DETERMINANT_RATIO * squares, 0.0, np.sqrt(MIN_DETERMINANT_RATIO * squares)
        )
        / moments.scale[:, None]
    )
    max_sd[unreliable_sds.max(axis=0) >= sds.max(axis=0)] = np.nan
    return np.asarray(smoothing * (max_sd * moments.scale[:, None]) ** 2)


def _smoothed_variances(moments: ClassMoments, plan: ColumnPlan, available: Floats | None) -> Floats:
    """Return the variances of normal columns by class, plus the variance that smoothing adds.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the q normal columns, each over the rows in which it is observed.
    plan : ColumnPlan
        Provides `smoothing` and, for the divisors, `method`.
    available : (K, q) float or None
        Weight of the rows in which each column is observed; None if all rows are complete.

    Returns
    -------
    (K, q) float
        In the coordinates z of the moments.
    """
    counts = moments.counts[:, None] if available is None else available
    added = added_variances(moments, plan.smoothing, available) if plan.smoothing else 0.0
    return np.asarray(moments.scatters / divisors_by_class(counts, plan.method) + added)


def _total_squares(moments: ClassMoments, available: Floats | None = None) -> Floats:
    """Return the sum of squares of each column about its mean over the rows of all classes.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of the q normal columns, each over the rows in which it is observed.
    available : (K, q) float or None
        Weight of the rows in which each column is observed; None if all rows are complete.

    Returns
    -------
    (q,) float
        In the coordinates z of the moments.
    """
    means = moments.means
    if available is not None:
        centre = (available * means).sum(axis=0) / available.sum(axis=0)
        return np.asarray(moments.scatters.sum(axis=0) + (available * (means - centre) ** 2).sum(axis=0))
    between = moments.counts @ (means - weighted_centre(means, moments.counts)) ** 2
    return np.asarray(moments.scatters.sum(axis=0) + between)


def restore_naive_bayes(
    moments: ClassMoments,
    prior: Floats,
    *,
    estimated_prior: bool,
    plan: ColumnPlan,
    level_counts: tuple[Floats, ...],
    sums: Floats,
    points: Floats,
    available: Floats | None,
) -> NaiveBayesFit:
    """Rebuild a fit from stored moments, tables, sums and values of kernel densities.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments of all columns.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    plan : ColumnPlan
        Distribution and options of each column.
    level_counts : tuple of (K, L_j) float
        Weight by class and level of each categorical column.
    sums : (K, J) float
        Sums of the columns of counts.
    points : (n, 4) float
        Distinct values of the kernel densities: position among the columns with kernel densities, class code,
        value and weight.
    available : (K, p) float or None
        Weight of the rows in which each column is observed, if columns are fitted to different rows.

    Returns
    -------
    NaiveBayesFit

    Raises
    ------
    InvalidStateError
        The arguments contradict each other, or a density does not exist.
    """
    k, p = moments.centres.shape
    shapes = plan.families.shape, plan.sizes.shape, plan.bandwidths.shape
    _require(shapes == ((p,),) * 3, "its column plan does not match its columns")
    has_valid_families = ((plan.families >= 0) & (plan.families <= 3)).all() and (plan.bandwidths >= 0).all()
    _require(bool(has_valid_families), "a column has an unknown distribution or a negative bandwidth")
    has_valid_options = (
        plan.rule in BANDWIDTH_FACTORS
        and plan.unseen in ("raise", "missing")
        and plan.method in ("moment", "mle")
    )
    _require(has_valid_options, "its options are invalid")
    _require(min(plan.laplace, plan.smoothing) >= 0, "its smoothing or its Laplace correction is negative")
    # Allocated memory is proportional to the number of levels: compare it with the stored tables first.
    sizes = tuple((k, size) for size in plan.sizes[plan.categorical_positions].tolist())
    _require(tuple(n.shape for n in level_counts) == sizes, "its tables do not match its columns")
    _require(sums.shape == (k, len(plan.count_positions)), "its sums do not match its columns")
    _require(points.shape[1:] == (4,), "the values of its kernel densities have the wrong shape")
    tally = Tally(plan, k, available)
    tally.tables = list(level_counts)
    counts = moments.counts[:, None] if available is None else available
    has_valid_counts = (counts > 0).all() and (counts <= moments.counts[:, None] * (1 + 1e-9)).all()
    _require(bool(has_valid_counts), "its class counts are invalid")
    counts = np.broadcast_to(counts, (k, p))
    pairs = zip(tally.tables, counts[:, plan.categorical_positions].T, strict=True)
    tables_match = [np.allclose(n.sum(axis=1), rows, rtol=1e-9) and (n >= 0).all() for n, rows in pairs]
    _require(
        all(tables_match) and bool((sums >= 0).all()), "a table does not contain the counts of its classes"
    )
    tally.sums = sums
    tally.values = _restore_values(points, counts[:, plan.kernel_positions])
    _require(
        has_fit(moments, tally),
        "one of its densities does not exist, because a variance is zero or not finite",
    )
    fit = fit_naive_bayes(moments, tally, prior, estimated_prior=estimated_prior)
    _require(not fit.without_bandwidth().any(), "the bandwidth of a kernel density is missing")
    return fit


def _restore_values(points: Floats, counts: Floats) -> list[list[ColumnBlock]]:
    """Convert stored values of kernel densities to the values of a tally.

    Parameters
    ----------
    points : (n, 4) float
        Position among the q columns with kernel densities, class code, value and weight.
    counts : (K, q) float
        Weight of the rows of each class in which each column with a kernel density is observed.

    Returns
    -------
    list of q lists of (values, codes, weights)
        One block for each column, all rows in one: values (m,), class codes (m,) and weights (m,).

    Raises
    ------
    InvalidStateError
        A column or class is unknown, a weight is not positive, or the weights do not add up to `counts`.
    """
    k, q = counts.shape
    is_valid = are_integers(points[:, 0], 0, q - 1) and are_integers(points[:, 1], 0, k - 1)
    _require(
        bool(is_valid and (points[:, 3] > 0).all()),
        "a value of a kernel density refers to an unknown column or class",
    )
    values: list[list[ColumnBlock]] = []
    for j in range(q):
        _, classes, column, weights = points[points[:, 0] == j].T
        codes = classes.astype(np.intp)
        sums = np.bincount(codes, weights, k)
        _require(
            np.allclose(sums, counts[:, j], rtol=1e-9),
            "the values of a kernel density do not match its class counts",
        )
        values.append([(column, codes, weights)])
    return values


def _require(condition: bool, message: str) -> None:
    """Raise InvalidStateError with a message unless a condition is true."""
    if not condition:
        raise InvalidStateError(message)
