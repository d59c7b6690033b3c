"""Regression of class indicators on the columns, and flexible discriminant analysis, from class moments.

The verbs for linear regression of indicators and for flexible discriminant analysis call `fit_indicator` and
`fit_flexible`.

Theory (Hastie, Tibshirani & Friedman, 2009, The Elements of Statistical Learning, sec. 4.2). Let y_k
be 1 in class k and 0 elsewhere, m the mean of all rows, n_k and m_k the count and mean of class k, W the
scatter within classes and T = W + sum n_k (m_k - m)(m_k - m)'. The normal equations are
T b_k = n_k (m_k - m), and the fitted value is n_k/N + (x - m)'b_k: fitted values sum to one over the
classes, coefficients to zero.

*A table of K + p rows.* Let A have the rows sqrt(n_j) (m_j - m) and the rows of a root R of W, R'R = W, and
let C have the rows sqrt(n_j) (delta_jk - n_k/N) and p rows of zeros. Then A'A = T, A'C has the right-hand
sides n_k (m_k - m), and C'C the total sums of squares of the indicators. The least squares of C on A
therefore has the coefficients and residual sums of squares of all N rows, and no product squares a condition
number. The rows of the table differ in size if classes are far apart; the QR decomposition sorts them by
length and pivots the columns, which preserves the accuracy of each row (Cox & Higham, 1998, BIT 38, 34-50).

*Leaving out* weight w of a row with leverage h changes its fitted values f to y - (y - f) / (1 - w h).

*Optimal scoring* (Hastie, Tibshirani & Buja, 1994, JASA 89, 1255-1270). Scores of the classes that the
columns predict best, of mean square one over the rows, are sqrt(N/n_k) u_k with u a right singular vector
of Q'C diag(n)^-1/2, whose singular value r is a canonical correlation. The regression on such a score,
divided by sqrt(r^2 (1 - r^2)), is a discriminant variable with unit variance (divisor N) within classes.

*Any other regression* instead of least squares results in a flexible discriminant analysis (Hastie,
Tibshirani & Buja, 1994). Start from any K - 1 uncorrelated scores in the columns of T0 (K, K-1). With Y the
scores of the rows' classes and F the fitted values of the regression of Y, the optimal scores are T0 v with v
the eigenvectors of Y'F/N, which is symmetric for least squares (for other regressions its symmetric part is
used). An eigenvalue l is the squared canonical correlation, and 1 - l the average squared residual. The
variates

    F v / sqrt(l (1 - l))

equal the discriminants of LDA for least squares, with unit covariance within classes, divisor N. Rows are
assigned to the class with the smallest squared distance from the class mean of the variates minus twice the
log of the prior (Hastie, Tibshirani & Friedman, 2009, The Elements of Statistical Learning, sec. 12.5). For
least squares and other regressions that preserve the mean the class means are T0 v sqrt(l / (1 - l)); an
engine without an intercept shifts all variates and their means alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, qr

from discrim.core.covariance.covariance import dependencies, scaled_cholesky
from discrim.core.covariance.principal import positive_signs, tied_axes, weighted_centre
from discrim.core.errors import InvalidStateError
from discrim.core.moments.moments import ClassMoments, column_squares, standardize_columns
from discrim.core.numerics.arrays import EPS, Codes, Floats, svd
from discrim.core.rules.gaussian import Means, move_origin, nearest_mean_rule
from discrim.core.rules.leave_one_out import MIN_DETERMINANT_RATIO, LeaveOneOutScorer
from discrim.core.rules.rules import LinearRule


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Coefficients of the K regressions on p columns and their standard errors, in units of the data.

    Attributes
    ----------
    coef, se : (K, p + 1) float
        Coefficients and standard errors by class, intercepts first. Standard errors are NaN unless `df` is
        positive.
    df : float
        Residual degrees of freedom, N - p - 1.
    """

    coef: Floats
    se: Floats
    df: float


@dataclass(frozen=True, slots=True, eq=False)
class OptimalScoring:
    """Optimal scores of the classes and their regression on the columns.

    Attributes
    ----------
    scores : (K, r) float
        Scores of the classes, uncorrelated, with mean zero and mean square one over the rows; r is the number
        of canonical correlations that are not zero.
    coef : (p, r) float
        Slopes of the regressions of the scores on the columns, in units of the data; not divided by
        sqrt(r^2 (1 - r^2)), see the module docstring.
    correlations : (r,) float
        Canonical correlations, decreasing.
    residuals : (r,) float
        Average squared residuals (divisor N), 1 - correlation^2, accurate for correlations near one.
    """

    scores: Floats
    coef: Floats
    correlations: Floats
    residuals: Floats


@dataclass(frozen=True, slots=True, eq=False)
class IndicatorFit:
    """Estimates of a regression of class indicators, in coordinates z = (x - origin) * scale.

    The module docstring defines the table, A, C and Q.

    Attributes
    ----------
    moments : ClassMoments
        Pooled moments of the rows; `moments.scale` is the scale of z.
    prior : (K,) float
        Class proportions of the rows.
    origin : (p,) float
        Overall mean of the rows in the units of the data, rounded.
    centre : (p,) float
        Overall mean minus the origin, in z.
    coef : (p, K) float
        Slopes of the K regressions on z.
    inverse : (p, p) float
        Matrix V with V V' the inverse of the total scatter of z; its rows are the columns of z.
    explained : (p, K) float
        Q'C; the sums of squares of its columns are explained by the regressions.
    basis : (K + p, p) float
        Q, an orthonormal basis of the columns of the table.
    """

    moments: ClassMoments
    prior: Floats
    origin: Floats
    centre: Floats
    coef: Floats
    inverse: Floats
    explained: Floats
    basis: Floats

    estimated_prior = True
    has_distances = False

    @property
    def residual_df(self) -> float:
        """Residual degrees of freedom, N - p - 1."""
        return self.moments.total - self.moments.n_columns - 1

    def residuals(self) -> Floats:
        """Return the residuals (K + p, K) of the regression of the table C on A, one column per class.

        The module docstring defines C and A. Residuals of the rows of the data have the same sums of squares.
        """
        counts = self.moments.counts
        residuals = -self.basis @ self.explained
        residuals[: len(counts)] += np.sqrt(counts)[:, None] * (np.eye(len(counts)) - self.prior)
        # Project again: the rounding error in the span of the columns may be as large as small residuals.
        residuals -= self.basis @ (self.basis.T @ residuals)
        return np.asarray(residuals)

    def residual_squares(self) -> Floats:
        """Return the residual sum of squares (K,) of each indicator."""
        return column_squares(self.residuals())

    def explained_squares(self) -> Floats:
        """Return the explained sum of squares (K,) of each indicator."""
        return column_squares(self.explained)

    def is_fitted_exactly(self) -> NDArray[np.bool_]:
        """Return a mask (K,) of indicators whose residuals are rounding errors, so that tests are invalid."""
        residual_squares = self.residual_squares()
        explained_squares = self.explained_squares()
        return np.asarray(residual_squares <= (10 * max(self.basis.shape) * EPS) ** 2 * explained_squares)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> LinearRule:
        """Return the rule whose scores are the fitted values of the indicators; they sum to one.

        Parameters
        ----------
        log_prior, method, convention
            Not used; present because the rules of other fits have them.

        Returns
        -------
        LinearRule
        """
        return LinearRule(self.origin, self.moments.scale, self.coef, self.prior - self.centre @ self.coef)

    def data_params(self) -> tuple[Floats, Floats]:
        """Return slopes (p, K) and intercepts (K,) of the 0/1 indicators on columns in units of the data."""
        scale = self.moments.scale
        mean = self.origin * scale + self.centre
        return self.coef * scale[:, None], self.prior - mean @ self.coef

    def estimates(self) -> Estimates:
        """Return the coefficients with the standard errors of ordinary least squares.

        Standard errors are NaN unless the residual degrees of freedom are positive.
        """
        coef, constants = self.data_params()
        scale = self.moments.scale
        df = self.residual_df
        sigma = np.sqrt(self.residual_squares() / df) if df > 0 else np.full(len(self.prior), np.nan)
        slope_factors = np.sqrt(column_squares(self.inverse.T)) * scale
        centre_norm = np.linalg.norm(self.inverse.T @ (self.origin * scale + self.centre))
        se_factors = np.r_[np.hypot(1 / np.sqrt(self.moments.total), centre_norm), slope_factors]
        return Estimates(np.column_stack([constants, coef.T]), sigma[:, None] * se_factors, df)

    def leverages(self, x: Floats) -> Floats:
        """Return the leverages (m,) of rows x (m, p) in the units of the data, each with a weight of one.

        The leverage of a row of weight w is w times this number.
        """
        z = standardize_columns(x, self.origin, self.moments.scale) - self.centre[:, None]
        return np.asarray(1 / self.moments.total + column_squares(self.inverse.T @ z))

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return a function that computes leave-one-out fitted values (m, K).

        They are NaN for a row that requires a refit: one minus its weight (at most one) times its leverage is
        at most `MIN_DETERMINANT_RATIO`. The log prior is not used.
        """
        rule = self.rule(log_prior)

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Return leave-one-out fitted values (m, K) of rows (m, p); NaN for rows that require a refit.

            At most one unit of a weight is left out; `weights` is None if all are one.
            """
            removed_weights = 1.0 if weights is None else np.minimum(weights, 1.0)
            indicators = np.zeros((len(x), len(self.prior)))
            indicators[np.arange(len(x)), codes] = 1.0
            one_minus_leverages = 1.0 - removed_weights * self.leverages(x)
            one_minus_leverages = np.where(
                one_minus_leverages > MIN_DETERMINANT_RATIO, one_minus_leverages, np.nan
            )
            return np.asarray(indicators - (indicators - rule.scores(x)) / one_minus_leverages[:, None])

        return scores

    def refit(self, moments: ClassMoments) -> IndicatorFit | None:
        """Refit to other moments.

        Returns None if the number of rows, not their weight, is at most p, or the columns are collinear over
        all rows.
        """
        if moments.rows.sum() <= moments.n_columns or dependencies(moments.as_one_class()):
            return None
        return fit_indicator(moments)

    def optimal_scoring(self) -> OptimalScoring:
        """Compute optimal scores and their regressions, with the signs of the discriminants of LDA.

        In each regression the slope of largest absolute value, after multiplication by the within-class
        standard deviation, is positive. A class without rows has zero scores.
        """
        total = self.moments.total
        counts = self.moments.counts
        roots = np.sqrt(np.where(counts > 0, counts, np.inf))
        max_rank = min(self.moments.n_columns, int((counts > 0).sum()) - 1)
        _, singular_values, right_vectors = svd(self.explained / roots, full_matrices=False)
        rank = int((singular_values[:max_rank] > 10 * max(self.coef.shape) * EPS).sum())
        class_scores = right_vectors[:rank].T / roots[:, None]
        residuals = self.residuals()
        # Correlations near one differ by less than rounding; their residuals separate the scores.
        n_near_one = int((singular_values[:rank] ** 2 > 0.5).sum())
        if n_near_one > 1:
            class_scores[:, :n_near_one] = (
                class_scores[:, :n_near_one] @ svd(residuals @ class_scores[:, :n_near_one])[2][::-1].T
            )
        coef = self.coef @ class_scores * np.sqrt(total)
        within = np.sqrt(self.moments.squares.sum(axis=0))
        signs = positive_signs(coef * within[:, None])
        scores = class_scores * np.sqrt(total) * signs
        slopes = coef * self.moments.scale[:, None] * signs
        return OptimalScoring(
            scores, slopes, singular_values[:rank], column_squares(residuals @ class_scores)
        )


def fit_indicator(moments: ClassMoments) -> IndicatorFit:
    """Fit the regressions of the class indicators to pooled moments.

    The columns must not be collinear over all rows, nor within classes unless the moments have roots; a
    singular scatter raises LinAlgError.

    Examples
    --------
    >>> m = ClassMoments.from_block(np.array([[0.0], [1.0], [5.0]]), np.array([0, 0, 1]), n_classes=2)
    >>> fit_indicator(m).estimates().coef.round(4).tolist()
    [[1.0952, -0.2143], [-0.0952, 0.2143]]
    """
    counts = moments.counts
    total = moments.total
    origin, _ = move_origin(moments, weighted_centre(moments.means, counts))
    means = moments.means_from(origin)
    centre = weighted_centre(means, counts)
    proportions = counts / total
    root_counts = np.sqrt(counts)[:, None]
    pooled_moments = moments.pool_classes()
    scatter_root = (
        scaled_cholesky(pooled_moments.scatters[0])
        if pooled_moments.roots is None
        else pooled_moments.roots[0]
    )
    table = np.concatenate([root_counts * (means - centre), scatter_root])
    norms = np.sqrt(column_squares(table))
    table = table / norms
    order = np.argsort(-np.abs(table).max(axis=1), kind="stable")
    q_ordered, triangle, pivots = qr(table[order], mode="economic", pivoting=True, check_finite=False)
    basis = np.empty_like(q_ordered)
    basis[order] = q_ordered
    # C is diag(sqrt(n)) minus a product with sqrt(n), to which Q is orthogonal up to rounding.
    explained = basis[: len(counts)].T * root_counts[:, 0]
    explained -= np.outer(explained.sum(axis=1), proportions)
    inverse = np.empty_like(triangle)
    inverse[pivots] = np.triu(lapack.dtrtri(triangle)[0])
    inverse /= norms[:, None]
    return IndicatorFit(moments, proportions, origin, centre, inverse @ explained, inverse, explained, basis)


def indicator_from_moments(moments: ClassMoments, prior: Floats) -> IndicatorFit:
    """Rebuild a stored fit from moments.

    Raises InvalidStateError if the columns are collinear or the prior (K,) is not the class proportions.
    """
    if dependencies(moments.as_one_class()):
        raise InvalidStateError("its columns are collinear")
    fit = fit_indicator(moments)
    if (fit.prior != prior).any():
        raise InvalidStateError("its prior is not the class proportions")
    return fit


@dataclass(frozen=True, slots=True, eq=False)
class VariateRule:
    """Rule with scores that are linear in variates, which are any function of the rows.

    Attributes
    ----------
    variates : callable
        Maps rows (m, p) in the units of the data to variates (m, r).
    linear : LinearRule
        Rule for rows (m, r) of variates.
    """

    variates: Callable[[Floats], Floats]
    linear: LinearRule

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p) in the units of the data: `linear` of their variates."""
        return self.linear.scores(self.variates(x))


@dataclass(frozen=True, slots=True, eq=False)
class FlexibleFit:
    """Estimates of a flexible discriminant analysis with r axes, see the module docstring.

    Attributes
    ----------
    moments : ClassMoments
        Moments of the rows, for the class counts.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    regress : callable
        Maps rows (m, p) without missing values to fitted values (m, K - 1) of the `starting_scores`.
    rotation : (K - 1, r) float
        Maps the fitted values F to variates F v / sqrt(l (1 - l)); not finite for an axis with l >= 1.
    values : (r,) float
        Squared canonical correlations l of the retained axes, decreasing.
    all_values : (K - 1,) float
        Squared canonical correlations of all axes, decreasing; they can be negative unless the regression is
        least squares.
    scores : (K, r) float
        Optimal scores, of mean zero and mean square one over the rows.
    centroids : (K, r) float
        Class means of the variates.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    regress: Callable[[Floats], Floats]
    rotation: Floats
    values: Floats
    all_values: Floats
    scores: Floats
    centroids: Floats

    has_distances = False

    def tied_axes(self) -> tuple[int, int] | None:
        """Return the first and the last of tied axes of which only some are retained, or None.

        Axes are numbered from one; they are tied if their canonical correlations are equal.
        """
        return tied_axes(self.all_values, len(self.values))

    def variates(self, x: Floats) -> Floats:
        """Return the variates (m, r) of rows (m, p); NaN for a row with a missing value."""
        is_complete = ~np.isnan(x).any(axis=1)
        variates = np.full((len(x), len(self.values)), np.nan)
        if is_complete.any():
            variates[is_complete] = self.regress(np.ascontiguousarray(x[is_complete])) @ self.rotation
        return variates

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> VariateRule:
        """Return the nearest-centroid rule in the space of the variates, under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities.
        method : str
            Not used.
        convention : str or None
            Not used.

        Returns
        -------
        VariateRule
            Scores are the log prior minus half the squared distance of the variates to the class mean, up to
            a constant of each row; NaN for a row with a missing value.
        """
        r = len(self.values)
        means = Means(self.centroids, np.zeros_like(self.centroids), np.ones(r), np.array, np.array)
        return VariateRule(self.variates, nearest_mean_rule(means, np.zeros(r), log_prior))


def starting_scores(counts: Floats) -> Floats:
    """Return uncorrelated scores (K, K - 1) with mean zero and mean square one over the rows.

    The class counts (K,) have to be positive.
    """
    roots = np.sqrt(counts / counts.sum())
    basis = np.linalg.qr(np.column_stack([roots, np.eye(len(counts))[:, 1:]]))[0]
    return np.asarray(basis[:, 1:] / roots[:, None])


def fit_flexible(
    moments: ClassMoments,
    prior: Floats,
    regress: Callable[[Floats], Floats],
    sums: Floats,
    *,
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> FlexibleFit:
    """Fit a flexible discriminant analysis from a regression of the starting scores.

    Parameters
    ----------
    moments : ClassMoments
        Moments of the rows, for the class counts.
    prior : (K,) float
        Prior probabilities of the classes.
    regress : callable
        Maps rows (m, p) to fitted values (m, K - 1) of the starting scores.
    sums : (K, K - 1) float
        Weighted sums of the fitted values by class.
    ncomp : int, optional
        Maximum number of axes; by default all whose squared correlation is positive.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    FlexibleFit
        With the axes of positive squared correlation, at most `ncomp` and possibly none. The rotation and the
        centroids of an axis are not finite if its squared correlation is one or more.
    """
    start_scores = starting_scores(moments.counts)
    product = start_scores.T @ sums / moments.counts.sum()
    values, vectors = np.linalg.eigh((product + product.T) / 2)
    all_values = values[::-1]
    vectors = vectors[:, ::-1]
    rank = int((all_values > 10 * len(all_values) * EPS).sum())
    rank = rank if ncomp is None else min(rank, ncomp)
    values = all_values[:rank]
    rotation = vectors[:, :rank]
    scores = start_scores @ rotation
    signs = positive_signs(scores)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit_variance_factors = signs / np.sqrt(values * (1 - values))
        centroids = (sums / moments.counts[:, None]) @ (rotation * unit_variance_factors)
    return FlexibleFit(
        moments,
        prior,
        estimated_prior,
        regress,
        rotation * unit_variance_factors,
        values,
        all_values,
        scores * signs,
        centroids,
    )
