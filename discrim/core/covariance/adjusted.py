"""The covariance of columns given covariates, with slopes that are the same in all classes.

`CovariateAdjustedCovariance` is the covariance model of LDA with covariates; its summary shows the results of
`estimate_slopes` and `parallelism_eigenvalues`.

*Model.* With u (q,) the covariates of a row and x (p,) its columns, x is normal in class k with the mean
a_k + B'u and the covariance S: the classes are compared at equal covariates, the model of the analysis of
covariance (Cochran & Bliss, 1948, Annals of Mathematical Statistics 19, 151-176; Rao, 1949, Sankhya 9,
343-366). Differences between the classes in the distribution of u are not used. With normal distributions of
u of one covariance, the model of CATCH (Pan, Mai & Zhang, 2019, Journal of the American Statistical
Association 114, 1305-1319), the rule for x and u is the linear rule of all p + q columns.

*By moments.* The covariates are the first columns of z = (u, x). With R'R = W the scatter within classes, in
blocks R_uu, R_ux and R_xx, the slopes are B = R_uu^-1 R_ux and the scatter of the residuals x - B'u is R_xx'
R_xx. The first q elements of the whitened row R'^-1 z depend on u only, and the other p are the whitened
residual: the squared distance is the sum of their squares, the squared distance of z less the squared
distance of u. Therefore leaving a row out has a closed form for both.

*Tests.* With N = (V_u, V_x) the whitened deviations of the class means from the mean of all rows, each times
the root of its number of rows, the hypothesis that the adjusted means are equal has the scatter V_x' (I + V_u
V_u')^-1 V_x against the identity on N - K - q degrees of freedom; the first is a Schur complement of I + N'N,
and nothing is subtracted. By Wilks' lambda it is Rao's test of additional information in x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from discrim.core.covariance.covariance import Covariance, class_covariances, pooled_covariance
from discrim.core.covariance.model import (
    CovarianceEstimates,
    CovarianceModel,
    CovarianceTraits,
    FullCovariance,
    NormalClasses,
    full_leave_one_out_scorer,
)
from discrim.core.covariance.principal import CanonicalAxes, positive_signs, weighted_centre
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.row_sums import triangular_root
from discrim.core.numerics.arrays import EPS, Codes, Floats, svd
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer


@dataclass(frozen=True, slots=True, eq=False)
class ConditionalCovariance(Covariance):
    """Covariance of columns given the covariates, which are the first columns.

    Methods accept q covariates and p other columns; the whitened form has p coordinates.

    Attributes
    ----------
    root : (q + p, q + p) float
        Upper triangular root of the covariance of all columns within classes.
    factor : (q + p, q + p) float or None
        Inverse of `root`, if there are few columns and it is accurate; else None.
    covariates : int
        Number of covariates, q.
    """

    covariates: int

    @property
    def joint_covariance(self) -> Covariance:
        """The covariance (q + p, q + p) of all columns within classes, with the same divisor."""
        return Covariance(self.root, self.factor)

    @property
    def residual_covariance(self) -> Covariance:
        """The covariance (p, p) of the columns other than the covariates, conditional on these."""
        return Covariance.from_root(self.root[self.covariates :, self.covariates :])

    @property
    def inverse(self) -> Floats:
        """Matrix T (q + p, p): T'z are the p whitened residuals of a vector z of all q + p columns."""
        return self.joint_covariance.inverse[:, self.covariates :]

    @property
    def logdet(self) -> float:
        """Log-determinant of the conditional covariance (p, p), in z."""
        return float(2.0 * np.log(np.abs(np.diagonal(self.root)[self.covariates :])).sum())

    @property
    def sd(self) -> Floats:
        """Standard deviations (q + p,), in z, of covariates within classes and residuals of other columns."""
        q = self.covariates
        residual_sd = np.sqrt((self.root[q:, q:] ** 2).sum(axis=0))
        return np.concatenate([np.sqrt((self.root[:q, :q] ** 2).sum(axis=0)), residual_sd])

    def matrix(self) -> Floats:
        """Return the covariance (q + p, q + p) of the residuals; zero for the covariates."""
        residual_root = self.root[self.covariates :]
        return np.asarray(residual_root.T @ residual_root)

    def multiply(self, columns: Floats) -> Floats:
        """Return the matrix of `matrix()` times columns (q + p, m)."""
        residual_root = self.root[self.covariates :]
        return np.asarray(residual_root.T @ (residual_root @ columns))

    def whiten(self, columns: Floats) -> Floats:
        """Return whitened coordinates (p, m) of columns (q + p, m), adjusted for the covariates."""
        return self.joint_covariance.whiten(columns)[self.covariates :]

    def unwhiten(self, columns: Floats) -> Floats:
        """Return coefficients (q + p, m) of all columns for coefficients (p, m) of whitened coordinates."""
        zeros = np.zeros((self.covariates, *columns.shape[1:]))
        return self.joint_covariance.unwhiten(np.concatenate([zeros, columns]))

    def precision(self) -> Floats:
        """Return the matrix (q + p, q + p), of rank p, of the quadratic form of the squared distances."""
        return self.unwhiten(self.whiten(np.eye(len(self.root))))

    def divided_by(self, divisor: float) -> ConditionalCovariance:
        """Return the covariance divided by a positive number."""
        joint = self.joint_covariance.divided_by(divisor)
        return ConditionalCovariance(joint.root, joint.factor, self.covariates)


@dataclass(frozen=True, slots=True)
class CovariateAdjustedCovariance(CovarianceModel):
    """Full covariance of the columns given the first of them, the covariates.

    Attributes
    ----------
    covariates : int
        Number of covariates, at least one.
    """

    covariates: int = 1

    name = "adjusted"
    traits = CovarianceTraits(is_maximum_likelihood=True)

    def for_columns(self, keep: Codes) -> CovarianceModel:
        """Return the model for the columns at some positions (m,), possibly with fewer covariates.

        It is the full covariance if no covariate is kept.
        """
        return adjusted_model(int((keep < self.covariates).sum()))

    def estimate(self, moments: ClassMoments, divisors: Floats) -> CovarianceEstimates:
        """Estimate the pooled covariance of all columns, with divisors (1,), as a `ConditionalCovariance`.

        The model and the moments of the result are unchanged.
        """
        joint = pooled_covariance(moments, float(divisors[0]))
        return CovarianceEstimates(
            self, moments, (ConditionalCovariance(joint.root, joint.factor, self.covariates),)
        )

    def leave_one_out_scorer(self, fitted: NormalClasses) -> LeaveOneOutScorer:
        """Return the closed-form leave-one-out scorer: scores of all columns less scores of covariates.

        The prior enters the scores once. Scores are NaN for rows that require a refit.
        """
        (covariance,) = fitted.covariances
        covariate_positions = np.arange(self.covariates)
        root = covariance.root[: self.covariates, : self.covariates]
        joint_scores = full_leave_one_out_scorer(
            replace(fitted, covariances=(Covariance.from_root(covariance.root),))
        )
        covariate_scores = full_leave_one_out_scorer(
            replace(
                fitted,
                moments=fitted.moments.select_columns(covariate_positions),
                covariances=(Covariance.from_root(root),),
                log_prior=np.zeros(len(fitted.log_prior)),
            )
        )

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Compute leave-one-out scores (m, K) of rows x (m, q + p).

            Parameters
            ----------
            x : (m, q + p) float
                Rows, in the units of the data.
            codes : (m,) int
                Positions of the classes of the rows.
            weights : (m,) float, optional
                Weights of the rows; by default one.

            Returns
            -------
            (m, K) float
                Log prior plus log density given the covariates, up to a constant for each row. NaN for rows
                that require a refit, and minus infinity for the class of a row that is alone in it.
            """
            scores = joint_scores(x, codes, weights)
            removed = covariate_scores(np.asfortranarray(x[:, : self.covariates]), codes, weights)
            # If the row is the only one of its class, its score stays minus infinity.
            return scores - np.where(np.isneginf(scores), 0.0, removed)

        return scores

    def n_parameters(self, n_columns: int, n_covariances: int) -> int:
        """Return the number of variances and covariances of the residuals, and of slopes.

        `n_columns` includes the covariates; `n_covariances` is not used.
        """
        p = n_columns - self.covariates
        return p * (p + 1) // 2 + self.covariates * p

    def log_likelihood(self, fitted: NormalClasses) -> float:
        """Return the joint log-likelihood of classes and columns conditional on the covariates.

        The prior does not depend on the covariates. The divisor of the covariance is N, the sum of weights.
        """
        (covariance,), moments = fitted.covariances, fitted.moments
        logdet = covariance.divided_by(moments.total / float(fitted.divisors[0])).logdet
        columns = moments.select_columns(np.arange(self.covariates, moments.n_columns))
        return gaussian.log_likelihood(columns, np.full(moments.n_classes, logdet), fitted.log_prior)


def adjusted_model(covariates: int) -> CovarianceModel:
    """Return the covariance model for a number of covariates: adjusted, or full if it is zero."""
    return CovariateAdjustedCovariance(covariates) if covariates else FullCovariance()


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Slopes of p columns on q covariates within K classes, and means at equal covariates.

    Attributes
    ----------
    coef, se : (q, p) float
        Slopes in the units of the data, and their standard errors for normal residuals of one covariance.
    df : float
        Residual degrees of freedom, N - K - q. The standard errors are NaN if it is not positive.
    means, means_se : (K, p) float
        Class means at the mean of the covariates over all rows, in the units of the data, and their standard
        errors.
    explained : (p,) float
        Proportion of the variance within classes of each column that the covariates explain.
    roots : (min(p, q),) float
        Eigenvalues of the scatter that the covariates explain, relative to the scatter of the residuals, in
        decreasing order.
    partial_eigenvalues : (q,) float
        The single eigenvalue of the scatter that each covariate explains in addition to the others, relative
        to the scatter of the residuals.
    """

    coef: Floats
    se: Floats
    df: float
    means: Floats
    means_se: Floats
    explained: Floats
    roots: Floats
    partial_eigenvalues: Floats


def estimate_slopes(moments: ClassMoments, q: int) -> Slopes:
    """Compute the slopes of the columns on the covariates, and means adjusted for them.

    Parameters
    ----------
    moments : ClassMoments
        Moments of all columns; the first q columns are the covariates.
    q : int
        Number of covariates.

    Returns
    -------
    Slopes
        `se` and `means_se` are NaN without residual degrees of freedom, N - K - q <= 0.

    Examples
    --------
    >>> u = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    >>> x = np.stack([u, 3 * u + np.array([0, 0, 0, 5, 5, 5]) + np.array([1, -2, 1, 1, -2, 1])], axis=1)
    >>> found = estimate_slopes(ClassMoments.from_block(x, np.repeat([0, 1], 3), n_classes=2), 1)
    >>> found.coef.round(9).tolist(), found.means.round(9).ravel().tolist()
    ([[3.0]], [3.0, 8.0])
    """
    root = pooled_covariance(moments, 1.0).root
    covariate_root = root[:q, :q]
    cross_root = root[:q, q:]
    residual_root = root[q:, q:]
    df = float(moments.total - moments.n_classes - q)
    coef, inverse = (
        scipy.linalg.solve_triangular(covariate_root, right) for right in (cross_root, np.eye(q))
    )
    residual_squares = (residual_root**2).sum(axis=0)
    sd = np.sqrt(residual_squares / df) if df > 0 else np.full(len(residual_squares), np.nan)
    # Subtract the mean of all rows, and add it again in the units of the data.
    centre = weighted_centre(moments.means, moments.counts)
    mean_deviations = moments.means - centre
    whitened = scipy.linalg.solve_triangular(covariate_root, mean_deviations[:, :q].T, trans=1)
    means = mean_deviations[:, q:] - mean_deviations[:, :q] @ coef
    mean_se_factors = np.sqrt(1 / moments.counts + (whitened**2).sum(axis=0))
    unit = moments.scale[:q]
    scale = moments.scale[q:]
    origin, _ = gaussian.move_origin(moments, centre)
    explained = (cross_root**2).sum(axis=0)
    singular_values = svd(
        scipy.linalg.solve_triangular(residual_root, cross_root.T, trans=1), compute_uv=False
    )
    inverse_diagonal = (inverse**2).sum(axis=1)
    partial_eigenvalues = (scipy.linalg.solve_triangular(residual_root, coef.T, trans=1) ** 2).sum(
        axis=0
    ) / inverse_diagonal
    return Slopes(
        coef * unit[:, None] / scale,
        np.sqrt(inverse_diagonal)[:, None] * unit[:, None] * (sd / scale),
        df,
        origin[q:] + means / scale,
        mean_se_factors[:, None] * (sd / scale),
        explained / (explained + residual_squares),
        singular_values**2,
        partial_eigenvalues,
    )


def parallelism_eigenvalues(moments: ClassMoments, q: int) -> Floats:
    """Compute the eigenvalues for the test that the slopes on the covariates are equal in all classes.

    With W_k,uu the scatter of the covariates in class k, B_k the slopes of the class, and B their mean
    weighted by W_k,uu, the common slopes, the scatter of the hypothesis is the sum of
    (B_k - B)' W_k,uu (B_k - B), against the residuals from slopes by class.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class of all columns, with a scatter of full rank in each class; the first q columns are
        the covariates.
    q : int
        Number of covariates.

    Returns
    -------
    (min(p, q (K - 1)),) float
        Eigenvalues of the scatter of the hypothesis relative to the scatter of the residuals, in decreasing
        order, for p columns other than the covariates.
    """
    class_roots = [covariance.root for covariance in class_covariances(moments, np.ones(moments.n_classes))]
    slopes_by_class = [scipy.linalg.solve_triangular(root[:q, :q], root[:q, q:]) for root in class_roots]
    common_slopes = scipy.linalg.lstsq(
        np.vstack([r[:q, :q] for r in class_roots]), np.vstack([r[:q, q:] for r in class_roots])
    )[0]
    residual_root = triangular_root(np.vstack([root[q:, q:] for root in class_roots]))
    hypothesis_roots = [
        root[:q, :q] @ (b - common_slopes) for root, b in zip(class_roots, slopes_by_class, strict=True)
    ]
    singular_values = svd(
        scipy.linalg.solve_triangular(residual_root, np.vstack(hypothesis_roots).T, trans=1), compute_uv=False
    )
    return np.asarray(singular_values[: min(len(residual_root), q * (len(class_roots) - 1))] ** 2)


def whitened_covariate_deviations(moments: ClassMoments, q: int) -> Floats:
    """Return the differences (K, q) of class means of the covariates from the mean of all rows, whitened.

    They are whitened by the pooled scatter of the covariates within classes, which is not divided. The
    first q columns of the moments are the covariates.
    """
    root = pooled_covariance(moments.select_columns(np.arange(q)), 1.0).root
    mean_deviations = moments.means[:, :q] - weighted_centre(moments.means, moments.counts)[:q]
    return np.asarray(scipy.linalg.solve_triangular(root, mean_deviations.T, trans=1).T)


def adjusted_axes(moments: ClassMoments, covariance: ConditionalCovariance, divisor: float) -> CanonicalAxes:
    """Compute canonical axes of class means adjusted for covariates, with classes weighted by their counts.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariance : ConditionalCovariance
        Covariance of the columns given the covariates.
    divisor : float
        Divisor of the covariance.

    Returns
    -------
    CanonicalAxes
        With coefficients (q + p, r) of all columns of z, and only axes whose singular values exceed rounding
        errors. Scores have variance one under `covariance`.
        Squared singular values are the eigenvalues of the scatter of the adjusted means against the scatter
        of the residuals (not divided).
    """
    root_counts = np.sqrt(moments.counts)[:, None]
    centre = weighted_centre(moments.means, moments.counts)
    deviations = covariance.whiten((moments.means - centre).T).T
    v = root_counts * whitened_covariate_deviations(moments, covariance.covariates)
    lower = np.linalg.cholesky(np.eye(len(v)) + v @ v.T)
    whitened_means = scipy.linalg.solve_triangular(
        lower, root_counts * deviations / np.sqrt(divisor), lower=True
    )
    _, singular_values, right = svd(whitened_means, full_matrices=False)
    max_rank = min(deviations.shape[1], len(v) - 1)
    is_nonzero = (
        singular_values[:max_rank] > 10 * max(moments.means.shape) * EPS * singular_values[0]
        if singular_values.size
        else []
    )
    rank = int(np.sum(is_nonzero))
    axes = covariance.unwhiten(right[:rank].T)
    signs = positive_signs(axes * covariance.sd[:, None])
    return CanonicalAxes(centre, axes * signs, singular_values[:rank], deviations @ (right[:rank].T * signs))
