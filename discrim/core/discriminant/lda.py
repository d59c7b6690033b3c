"""Estimates of a linear discriminant analysis, the function that fits them, and scores of its columns.

`NormalFit` is the base class of these estimates and of the estimates in `discrim.core.discriminant.qda`.

*Scores of columns.* With class means m_k, weights f_k that sum to one, the mean m = sum_k f_k m_k and a
covariance S = D^(1/2) R D^(1/2) of variances D and correlations R, the cat scores of class k are (Zuber &
Strimmer, 2009, Bioinformatics 25, 2700-2707; Ahdesmaeki & Strimmer, 2010, Annals of Applied Statistics 4,
503-519)

    cat_k = sqrt(n f_k / (1 - f_k)) R^(-1/2) D^(-1/2) (m_k - m).

If R is the identity they are t-scores: f_k = n_k/n gives the standard error sqrt(1/n_k - 1/n) of m_k - m.
A column is ranked by sum_k (1 - f_k) cat_kj^2, its contribution to the mutual information of class and row,
or by the mean or the maximum of its squares. For two classes the cat scores are cat_1 = -cat_2, and with
f_k = n_k/n the sum of their squares over all columns is Hotelling's T^2, which they decompose.

*Tail.* For f_k = n_k/n, variances that are not shrunk and no correlation, the first of these scores divided
by K - 1 is the F statistic of the analysis of variance of the column, with K - 1 and n - K degrees of freedom
if the means are equal and the rows normal. In all other cases this is an approximation, and a poor one if
correlations of many columns are estimated from few rows: whitening removes more of the variation within
classes than of the variation of the means. If most columns do not differ between classes, their scores are
distributed as F times a constant, which the ratio of the medians estimates (the genomic control of Devlin &
Roeder, 1999, Biometrics 55, 997-1004).

*Square root.* With S = T'T the columns of T divided by their lengths are a root of R, and with its singular
value decomposition P L Q' the inverse square root is Q L^-1 Q': no correlation matrix is formed, and its
condition is not squared. If few rows determine R = U V U' + v (I - U U'), it is U V^(-1/2) U' + v^(-1/2)
(I - U U').

*Subsets of columns.* See `gaussian.MarginalRule`. A rule on canonical axes is the rule of normal classes
whose means lie in a plane, c + S A A'(m_k - c) for axes A with A'S A = I.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import scipy

from discrim.core.covariance.adjusted import ConditionalCovariance, adjusted_axes
from discrim.core.covariance.covariance import Covariance, common_divisor
from discrim.core.covariance.model import CovarianceModel, FullCovariance, NormalClasses
from discrim.core.covariance.principal import (
    CanonicalAxes,
    ThinCovariance,
    canonical_axes,
    marginal_covariance,
    tied_axes,
    weighted_centre,
)
from discrim.core.covariance.projected import SubspaceCovariance
from discrim.core.errors import CoreNotSupportedError, NoEstimateError
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments, split_mean, too_little_weight_error
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats, svd
from discrim.core.rules import gaussian
from discrim.core.rules.gaussian import diagonal_moments_of_columns
from discrim.core.rules.leave_one_out import (
    FullLeaveOneOut,
    LeaveOneOutScorer,
    leave_one_out_distances,
    mark_lone_rows_for_refit,
)
from discrim.core.rules.rules import Distances, Plane, Rule, log_of_prior


@dataclass(frozen=True, slots=True, eq=False)
class NormalFit(ABC):
    """Base class of the estimates of a discriminant analysis of normal classes, `LDAFit` and `QDAFit`.

    Attributes
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    method : {"moment", "mle", "t", "mcd"}
        "moment" for unbiased divisors; "mle" for the numbers of rows; "t" and "mcd" for robust estimates,
        which the moments contain.
    covariances : tuple of Covariance
        One for all classes, or one for each class, in the coordinates of the moments.
    divisors : (1,) or (K,) float
        Numbers by which the scatters were divided to obtain the covariances.
    covariance_model : CovarianceModel
        Options and estimated parameters of the covariances.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    method: str
    covariances: tuple[Covariance, ...]
    divisors: Floats
    covariance_model: CovarianceModel

    @property
    def standardize(self) -> bool:
        """Whether the covariance model pools variances of columns divided by their standard deviations."""
        return self.covariance_model.column_units(self.moments) is not None

    @property
    def subspace_model(self) -> SubspaceCovariance | None:
        """The covariance model if it compares the classes on a few axes; None if all columns are used."""
        axes: SubspaceCovariance | None = self.covariance_model.subspace
        return axes

    @property
    def components(self) -> int | None:
        """Number of principal axes; None without a subspace, or if its axes depend on the classes."""
        axes = self.subspace_model
        return None if axes is None or axes.is_supervised else axes.count

    @property
    def chosen_covariance(self) -> dict[str, Any]:
        """Options of the covariance, by name, with values that leave-one-out or likelihood selected.

        {"shrinkage": value, "grid": None} for a shrinkage by leave-one-out, {"nu": value} for degrees of
        freedom of t distributions by likelihood; empty if no value was selected.
        """
        return self.covariance_model.chosen_parameters()

    @property
    def chosen_components(self) -> dict[str, Any]:
        """{"n": number of axes} if cross-validation or leave-one-out chose it; else an empty dict."""
        axes = self.subspace_model
        return {"n": axes.count} if axes is not None and axes.is_chosen else {}

    @property
    def has_distances(self) -> bool:
        """Whether the covariances are full and computed from moments of complete rows."""
        return self.covariance_model.traits.has_distances

    def distances(self) -> Distances:
        """Return the object that computes squared Mahalanobis distances (K, m) of rows to the class means.

        Distances refer to `covariances`, with the divisors of the fit. Rows are in the units of the data.
        """
        return gaussian.distances_to_means(self.moments, self.covariances)

    def classes(self, log_prior: Floats) -> NormalClasses:
        """Return the estimated normal classes of the fit, with another log prior (K,).

        Its `rows` are None; a caller that computes leave-one-out scores can set them.
        """
        return NormalClasses(self.moments, self.covariances, self.divisors, log_prior)

    def check_leave_one_out(self) -> None:
        """Raise CoreNotSupportedError if the covariance model has no leave-one-out scores.

        This includes models that refit each row, for more than `MAX_REFITS` rows.
        """
        self.covariance_model.check_leave_one_out(self.moments)

    def refit(self, moments: ClassMoments, covariance_model: CovarianceModel | None = None) -> Self | None:
        """Fit the same model to other moments with the same prior.

        Parameters
        ----------
        moments : ClassMoments
            Counts, means and scatters of the classes.
        covariance_model : CovarianceModel, optional
            By default the model of this fit. It keeps a shrinkage that the user specified or rows determined.

        Returns
        -------
        NormalFit or None
            None if there are too few rows or dependent columns, or the covariance cannot be estimated.
        """
        covariance_model = covariance_model or self.covariance_model.for_refit()
        if self.has_obstacles(moments, covariance_model):
            return None
        try:
            return self.of_moments(moments, covariance_model)
        except NoEstimateError:
            return None

    @abstractmethod
    def has_obstacles(self, moments: ClassMoments, covariance_model: CovarianceModel) -> bool:
        """Return whether the model cannot be fitted to moments, for too few rows or dependent columns.

        For method "moment", the weights have to exceed the number of estimated means.
        """

    @abstractmethod
    def of_moments(self, moments: ClassMoments, covariance_model: CovarianceModel) -> Self:
        """Fit to other moments, with another covariance model and the same prior, method and options.

        `has_obstacles` has to be False for them. Raises NoEstimateError if a covariance does not exist.
        """

    @abstractmethod
    def divisors_of(self, moments: ClassMoments) -> Floats:
        """Return the divisors (1,) or (K,) of the scatters of other moments."""


@dataclass(frozen=True, slots=True, eq=False)
class LDAFit(NormalFit):
    """Estimates of a linear discriminant analysis, from pooled or diagonal moments.

    The covariance within classes has the divisor N - K or N.

    Attributes
    ----------
    ncomp : int or None
        Number of canonical axes to which the rule is restricted; None for all.
    unscaled : ClassMoments or None
        The moments before their columns were rescaled to comparable sizes, for tests of single columns:
        rescaling loses digits of very small columns. None if `moments` were not rescaled.
    """

    ncomp: int | None = None
    unscaled: ClassMoments | None = None

    @property
    def covariance(self) -> Covariance:
        """Covariance within classes, with divisor `divisor`, in the coordinates of the moments."""
        return self.covariances[0]

    @property
    def divisor(self) -> float:
        """Divisor of the covariance."""
        return float(self.divisors[0])

    @property
    def unscaled_moments(self) -> ClassMoments:
        """Moments before rescaling, with full accuracy in each column."""
        return self.moments if self.unscaled is None else self.unscaled

    @property
    def residual_df(self) -> float:
        """Degrees of freedom within classes: N - K - q, with q covariates."""
        return self.moments.total - self.moments.n_classes - self.covariates

    @property
    def covariates(self) -> int:
        """Number of leading columns that are covariates, q."""
        return self.covariance_model.covariates

    def raise_if_covariates(self, feature: str) -> None:
        """Raise CoreNotSupportedError if the columns are adjusted for covariates.

        `feature` is the name of the feature in the message, which is not available with covariates.
        """
        if self.covariates:
            raise CoreNotSupportedError("adjusted_for_covariates", what=feature)

    @property
    def test_sizes(self) -> tuple[int, int, float]:
        """Numbers of columns, of classes and of rows for tests of equal means: p - q, K and N - q.

        q is the number of covariates, and N the sum of the weights.
        """
        moments = self.moments
        q = self.covariates
        return moments.n_columns - q, moments.n_classes, moments.total - q

    @property
    def has_tests(self) -> bool:
        """Whether tests of equal means are available: for a full covariance by moments, or with covariates.

        With covariates, they compare adjusted means.
        """
        return self.has_distances or self.covariates > 0

    @property
    def has_enough_df(self) -> bool:
        """Whether `residual_df` is at least the number of columns other than covariates, up to rounding."""
        return self.residual_df * (1 + MIN_EXCESS_WEIGHT) >= self.test_sizes[0]

    @property
    def within_divisor(self) -> float:
        """Divisor of `within_covariance`: `residual_df`, or N if the weights sum to K + q or less."""
        total = self.moments.total
        return self.residual_df if self.residual_df > MIN_EXCESS_WEIGHT * total else total

    @property
    def has_standard_errors(self) -> bool:
        """Whether the coefficients of the rule have standard errors.

        The covariance model has to support them, and `ncomp` must not restrict the axes.
        """
        return self.covariance_model.traits.has_standard_errors and self.reduced_axes() is None

    def axes(self) -> CanonicalAxes:
        """Return the canonical axes of the rule, with weights of the classes and scale as in R's MASS.

        With N times the prior as counts of the classes, the squared singular values are ratios of the mean
        square between classes, with divisor K - 1 (K for method "mle"), to the variance within classes.
        Coefficients refer to z, and scores have variance one under `covariance`. `canonical` returns the axes
        of the tests. If the prior is the class proportions, and without covariates, the two differ in scale
        only.
        """
        k = self.moments.n_classes
        factor = self.moments.total / (k if self.method == "mle" else k - 1)
        return canonical_axes(self.moments.means, self.covariance, self.prior, factor)

    def canonical(self) -> CanonicalAxes:
        """Return the canonical axes of the tests: classes weighted by their numbers of rows.

        The squared singular values are the eigenvalues of W^-1 B, with W and B the scatters within and
        between classes. Coefficients refer to z; scores have variance one under `within_covariance`.
        """
        moments = self.moments
        within = self.within_covariance()
        if isinstance(within, ConditionalCovariance):
            return adjusted_axes(moments, within, self.within_divisor)
        factor = moments.total / self.within_divisor
        return canonical_axes(moments.means, within, moments.counts / moments.total, factor)

    def canonical_eigenvalues(self) -> Floats:
        """Return the nonzero eigenvalues (r,) of W^-1 B, in decreasing order."""
        return self.canonical().singular_values ** 2

    def reduced_axes(self) -> CanonicalAxes | None:
        """Return the leading axes of `axes` if the rule is restricted to them by `ncomp`, else None.

        It is also None if `ncomp` is not less than the number of axes.
        """
        if self.ncomp is None:
            return None
        axes = self.axes()
        if self.ncomp >= len(axes.singular_values):
            return None
        m = self.ncomp
        return CanonicalAxes(axes.centre, axes.axes[:, :m], axes.singular_values[:m], axes.scores[:, :m])

    def tied_axes(self) -> tuple[int, int] | None:
        """Return the first and last canonical axis (from one) of equal eigenvalues that `ncomp` separates.

        Otherwise None.
        """
        return None if self.ncomp is None else tied_axes(self.axes().singular_values ** 2, self.ncomp)

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Return the distances to the class means under `unbiased_covariance`, and its degrees of freedom.

        The degrees of freedom (K,) are the same for all classes. Raises CoreNotSupportedError if the weights
        leave fewer degrees of freedom than there are columns.
        """
        distances = gaussian.distances_to_means(self.moments, (self.unbiased_covariance(),))
        return distances, np.full(self.moments.n_classes, self.residual_df)

    def plane(self, i: int, j: int, log_prior: Floats) -> Plane:
        """Return the plane on which two classes have the same posterior probability.

        Parameters
        ----------
        i, j : int
            Positions of the classes; the plane's function is positive on the side of i.
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.

        Returns
        -------
        Plane
            Of the plug-in rule, on the canonical axes that `ncomp` retains, in the units of the data.
        """
        moments = self.moments
        canonical = self.reduced_axes()
        means = moments.means_from(moments.centres[j])
        mean_difference = means[i] - means[j]
        slopes = (
            self.covariance.unwhiten(self.covariance.whiten(mean_difference))
            if canonical is None
            else canonical.axes @ (canonical.axes.T @ mean_difference)
        )
        midpoint = (moments.class_means[i] + moments.class_means[j]) / 2
        return Plane(slopes * moments.scale, midpoint, float(log_prior[i] - log_prior[j]))

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        method : {"plugin", "predictive", "debiased"}
            "plugin" uses the estimates like true parameters, "predictive" integrates over their posterior
            distribution, and "debiased" uses unbiased estimates of the log densities.
        convention : {"MASS"}, optional
            "MASS" computes the last two methods like R's MASS.

        Returns
        -------
        Rule
            For "plugin", linear, and on the leading axes if `ncomp` restricts them.

        Raises
        ------
        CoreNotSupportedError
            The method is not "plugin", and the covariance is not a full covariance by moments, the weights
            leave fewer degrees of freedom than there are columns, the rule is restricted to fewer axes
            (except for "MASS"), or "debiased" has at most p + 1 degrees of freedom (except for "MASS").
        """
        if method == "plugin":
            return gaussian.linear_rule(self.moments, self.covariance, log_prior, self.reduced_axes())
        if not self.has_distances:
            raise CoreNotSupportedError(
                "not_full_covariance", method=method, covariance=self.covariance_model.name
            )
        nu = self.residual_df
        p = self.moments.n_columns
        if not self.has_enough_df:
            raise too_little_weight_error(self.moments.total, self.moments.n_classes, p)
        if convention == "MASS":
            mass = self.reduced_axes() or self.axes()
            if method == "predictive":
                inflate = self.unbiased_covariance() if self.method == "moment" else self.covariance
                return gaussian.pooled_predictive_rule(self.moments, inflate, log_prior, nu, mass=mass)
            return gaussian.pooled_debiased_rule(self.moments, self.covariance, log_prior, nu, mass=mass)
        if self.reduced_axes() is not None:
            raise CoreNotSupportedError("reduced_dimensions", method=method)
        if method == "predictive":
            return gaussian.pooled_predictive_rule(self.moments, self.unbiased_covariance(), log_prior, nu)
        if nu <= p + 1:
            raise CoreNotSupportedError("too_few_for_debiased", df=nu, n_columns=p)
        return gaussian.pooled_debiased_rule(self.moments, self.unbiased_covariance(), log_prior, nu)

    def leave_one_out_scorer(self, log_prior: Floats, rows: RowBlocks | None = None) -> LeaveOneOutScorer:
        """Return a function of rows that scores each row by the rule that is fitted without it.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        rows : iterable of blocks, optional
            All rows of the fit, divided by the `column_units` of the covariance model, to estimate a
            shrinkage again without each row; by default the shrinkage is kept.

        Returns
        -------
        LeaveOneOutScorer
            Scores are NaN for rows that require a refit.

        Raises
        ------
        CoreNotSupportedError
            The rule is restricted to fewer axes, or its covariance model has no leave-one-out scores or
            refits each of more than `MAX_REFITS` rows.
        """
        self.check_leave_one_out()
        model_scorer = self.covariance_model.leave_one_out_scorer(
            replace(self.classes(log_prior), moments=self.unscaled_moments, rows=rows)
        )
        if isinstance(model_scorer, FullLeaveOneOut):
            return model_scorer
        # Without the only row of a class, the scatter and N - K are the same, but N is not. The divisor of
        # maximum likelihood and estimates of a shrinkage depend on N.
        counts = self.moments.counts

        def scores(x: Floats, codes: Codes, weights: Floats | None) -> Floats:
            """Compute leave-one-out scores (m, K).

            They are NaN for rows that require a refit, which includes the only row of a class.

            Parameters
            ----------
            x : (m, p) float
                Rows, in the units of the data.
            codes : (m,) int
                Positions of the classes of the rows.
            weights : (m,) float, optional
                Weights of the rows; by default one.

            Returns
            -------
            (m, K) float
                Scores of the covariance model, with NaN for the only row of a class.
            """
            return mark_lone_rows_for_refit(model_scorer(x, codes, weights), counts[codes], weights)

        return scores

    def check_leave_one_out(self) -> None:
        """Raise CoreNotSupportedError if leave-one-out scores are not available.

        This is the case if `ncomp` restricts the axes, or for the reasons of the covariance model.
        """
        if self.reduced_axes() is not None:
            raise CoreNotSupportedError("reduced_leave_one_out")
        self.covariance_model.check_leave_one_out(self.moments)

    def left_out_distances(
        self, x: Floats, codes: Codes, weights: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Compute squared distances of rows of the fit under the unbiased moments without each of them.

        Parameters
        ----------
        x : (m, p) float
            Rows, in the units of the data.
        codes : (m,) int
            Class of each row.
        weights : (m,) float, optional
            Weights of the rows; by default one.

        Returns
        -------
        squared_distances : (K, m) float
            From the mean of each class without the row, under the common covariance without it.
        counts : (K, m) float
            Sums of the weights of the classes without the row.
        df : (K, m) float
            Degrees of freedom without the row, equal for all classes.

        Raises
        ------
        CoreNotSupportedError
            The weights leave fewer degrees of freedom than there are columns.
        """
        distances = self.unbiased_distances()[0]
        counts = self.moments.counts
        nu = self.residual_df
        d2, removal = leave_one_out_distances(x, codes, weights, distances, counts, nu)
        remaining_counts = np.repeat(counts[:, None], len(codes), axis=1)
        remaining_counts[codes, np.arange(len(codes))] -= removal.weight
        return d2, remaining_counts, np.repeat(nu * removal.divisor_ratio[None], len(counts), axis=0)

    def has_obstacles(self, moments: ClassMoments, covariance_model: CovarianceModel) -> bool:
        """Return whether the model cannot be fitted to moments, for too few rows or dependent columns.

        With q covariates there have to be more than q columns and, for method "moment", weights of more than
        K + q. The number of rows less the number of classes has to be at least the number of columns if the
        model requires full rank, else one. No columns may be dependent.
        """
        min_df = moments.n_columns if covariance_model.requires_full_rank(moments.n_columns) else 1
        n_parameters = moments.n_classes + covariance_model.covariates
        return bool(
            covariance_model.covariates >= moments.n_columns
            or (self.method == "moment" and moments.total <= n_parameters * (1 + MIN_EXCESS_WEIGHT))
            or moments.rows.sum() - moments.n_classes < min_df
            or covariance_model.dependent_columns(moments)
        )

    def divisors_of(self, moments: ClassMoments) -> Floats:
        """Return the divisor (1,) of the pooled scatter of other moments: N - K - q for "moment", else N."""
        return np.array([common_divisor(moments, self.method, self.covariates)])

    def of_moments(self, moments: ClassMoments, covariance_model: CovarianceModel) -> LDAFit:
        """Fit to other moments, with another covariance model and the prior, method and `ncomp` of this fit.

        `has_obstacles` has to be False for them. Raises NoEstimateError if the covariance does not exist.
        """
        return fit_lda(
            moments,
            self.prior,
            covariance_model,
            method=self.method,
            ncomp=self.ncomp,
            estimated_prior=self.estimated_prior,
        )

    def within_covariance(self) -> Covariance:
        """Return the covariance with divisor `within_divisor`; the axes of `canonical` have variance one."""
        return self.covariance.divided_by(self.within_divisor / self.divisor)

    def unbiased_covariance(self) -> Covariance:
        """Return the covariance with divisor `residual_df`.

        Raises CoreNotSupportedError unless `has_enough_df`.
        """
        if not self.has_enough_df:
            raise too_little_weight_error(self.moments.total, self.moments.n_classes, self.moments.n_columns)
        return self.covariance.divided_by(self.residual_df / self.divisor)

    def df_model(self) -> int:
        """Return the number of free parameters of the means, the covariance and, if estimated, the prior.

        Raises CoreNotSupportedError if the covariance model does not maximize a likelihood.
        """
        p, k, _ = self.test_sizes
        means = k * p
        if self.reduced_axes() is not None and self.ncomp is not None:
            means = p + self.ncomp * (p + k - 1 - self.ncomp)
        return (
            means
            + self.covariance_model.n_parameters(self.moments.n_columns, 1)
            + (k - 1 if self.estimated_prior else 0)
        )

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and rows at the maximum-likelihood covariance.

        If `ncomp` restricts the axes, the means maximize the likelihood subject to this rank (Hastie &
        Tibshirani, 1996, JRSS B 58, 155-176): each omitted eigenvalue subtracts N/2 ln(1 + eigenvalue).
        Raises CoreNotSupportedError if the covariance model does not maximize a likelihood, or if `ncomp`
        restricts the axes and this maximum has no closed form.
        """
        is_reduced = self.reduced_axes() is not None
        traits = self.covariance_model.traits
        if is_reduced and traits.is_maximum_likelihood and not traits.has_reduced_likelihood:
            raise CoreNotSupportedError("reduced_likelihood")
        full = self.covariance_model.log_likelihood(self.classes(log_of_prior(self.prior)))
        if not is_reduced:
            return full
        return full - 0.5 * self.moments.total * float(
            np.log1p(self.canonical_eigenvalues()[self.ncomp :]).sum()
        )


def fit_lda(
    moments: ClassMoments,
    prior: Floats,
    covariance_model: CovarianceModel | None = None,
    *,
    method: str = "moment",
    ncomp: int | None = None,
    estimated_prior: bool = True,
) -> LDAFit:
    """Estimate a linear discriminant analysis from moments.

    The moments have to determine the covariance: `CovarianceModel.dependent_columns` is empty.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    covariance_model : CovarianceModel, optional
        By default the full covariance.
    method : {"moment", "mle", "t", "mcd"}
        "moment" for the divisor N - K - q, with q covariates, else N.
    ncomp : int, optional
        Number of canonical axes that the rule uses; by default all.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    LDAFit
        With the covariance model and the moments that the estimator returns. If these are rescaled,
        `unscaled` contains the original moments.

    Raises
    ------
    NoEstimateError
        The estimate of the covariance does not exist.
    """
    covariance_model = covariance_model or FullCovariance()
    divisors = np.array([common_divisor(moments, method, covariance_model.covariates)])
    estimates = covariance_model.estimate(moments, divisors)
    return LDAFit(
        estimates.moments,
        prior,
        estimated_prior,
        method,
        estimates.covariances,
        divisors,
        estimates.covariance_model,
        ncomp,
        None if estimates.moments is moments else moments,
    )


ScoreSummary = Literal["entropy", "average", "maximum"]
"""Summary of the squared cat scores of a column over the classes, by which columns are ranked.

`column_scores` computes it.
"""

MAX_EQUAL_SD_DIFFERENCE = 1e-8
"""Relative difference up to which standard deviations count as equal."""


def decorrelate(covariance: Covariance, columns: Floats) -> Floats:
    """Return R^(-1/2) times columns, with R the correlation matrix of a covariance.

    Parameters
    ----------
    covariance : Covariance
        Covariance of which R is the correlation matrix.
    columns : (p, m) float
        Columns to be decorrelated, in units of standard deviations.

    Returns
    -------
    (p, m) float
        The columns themselves, not a copy, for a diagonal covariance.

    Raises
    ------
    CoreNotSupportedError
        The covariance is a `ThinCovariance`, and R is singular or is not a multiple of the identity in the
        complement of the axes.

    Examples
    --------
    >>> r = np.array([[1.0, 0.6], [0.6, 1.0]])
    >>> root = Covariance.from_root(np.linalg.cholesky(r).T)
    >>> half = decorrelate(root, np.eye(2))
    >>> half.round(4).tolist(), np.allclose(half @ r @ half, np.eye(2))
    ([[1.1859, -0.3953], [-0.3953, 1.1859]], True)
    """
    if covariance.is_diagonal:
        return columns
    if not isinstance(covariance, ThinCovariance):
        _, singular_values, right_vectors = svd(covariance.root / covariance.sd, full_matrices=False)
        return np.asarray(right_vectors.T @ ((right_vectors @ columns) / singular_values[:, None]))
    check_cat_scores(covariance)
    sd = covariance.sd * covariance.unit
    common = float(np.median(sd))
    singular_values = np.sqrt(((covariance.root * covariance.unit) ** 2).sum(axis=1)) / common
    coordinates = covariance.axes @ columns
    complement = columns - covariance.axes.T @ coordinates
    return np.asarray(
        covariance.axes.T @ (coordinates / singular_values[:, None])
        + complement * (common / covariance.complement_sd)
    )


def check_cat_scores(covariance: Covariance) -> None:
    """Raise CoreNotSupportedError if `decorrelate` cannot compute the inverse root of the correlations.

    This is the case for a `ThinCovariance` without variance in the complement of the axes, or with different
    standard deviations of y = z * unit.
    """
    if covariance.is_diagonal or not isinstance(covariance, ThinCovariance):
        return
    sd = covariance.sd * covariance.unit
    if not covariance.complement_sd or np.ptp(sd) > MAX_EQUAL_SD_DIFFERENCE * sd.max():
        raise CoreNotSupportedError("unshrunken_correlations")


def cat_scores(moments: ClassMoments, covariance: Covariance, proportions: Floats) -> Floats:
    """Compute the cat scores (correlation-adjusted t-scores) of columns by class.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariance : Covariance
        Covariance within classes, in the coordinates of the moments.
    proportions : (K,) float
        Weights of the classes, below one, with sum one.

    Returns
    -------
    (p, K) float
        Column k is sqrt(N f_k / (1 - f_k)) R^(-1/2) D^(-1/2) (m_k - m), with f_k the proportions, m the
        mean of the class means m_k with these weights, and D and R the variances and correlations.

    Raises
    ------
    CoreNotSupportedError
        The covariance is a `ThinCovariance`, and the correlations are singular, or are not a multiple of the
        identity in the complement of the axes.
    """
    standardized_deviations = (moments.means - weighted_centre(moments.means, proportions)).T / covariance.sd[
        :, None
    ]
    unit = np.sqrt(moments.total * proportions / (1.0 - proportions))
    return decorrelate(covariance, standardized_deviations) * unit


def column_scores(scores: Floats, proportions: Floats, by: ScoreSummary) -> Floats:
    """Summarize the cat scores of each column over the classes, for a ranking of the columns.

    Parameters
    ----------
    scores : (p, K) float
        Cat scores.
    proportions : (K,) float
        Weights of the classes.
    by : {"entropy", "average", "maximum"}
        Sum of the squared scores weighted by one minus the proportions, their mean, or their maximum.

    Returns
    -------
    (p,) float
        At least zero; a larger score means a larger difference between classes.

    Examples
    --------
    >>> cat, shares = np.array([[3.0, -1.0, -2.0]]), np.array([0.5, 0.25, 0.25])
    >>> [column_scores(cat, shares, by).item() for by in ("entropy", "average", "maximum")]
    [8.25, 4.666666666666667, 9.0]
    """
    squares = scores**2
    if by == "entropy":
        return np.asarray(squares @ (1.0 - proportions))
    return np.asarray(squares.mean(axis=1) if by == "average" else squares.max(axis=1))


def score_p_values(entropy: Floats, n_classes: int, residual_df: float, *, empirical: bool) -> Floats:
    """Compute approximate p-values of the scores of columns, for the hypothesis of equal class means.

    Parameters
    ----------
    entropy : (p,) float
        Scores of the columns with the summary "entropy".
    n_classes : int
        Number of classes.
    residual_df : float
        Degrees of freedom within classes.
    empirical : bool
        Whether the scores are rescaled so that their median is the median of the F distribution; else they
        are divided by the number of classes minus one.

    Returns
    -------
    (p,) float
        Upper tail probabilities of the F distribution; NaN if scores are rescaled and their median is zero.
    """
    df = (n_classes - 1, residual_df)
    divisor = float(n_classes - 1)
    if empirical:
        divisor = float(np.median(entropy) / scipy.special.fdtri(*df, 0.5))
    return np.asarray(
        scipy.special.fdtrc(*df, entropy / divisor) if divisor > 0 else np.full(len(entropy), np.nan)
    )


def benjamini_hochberg(p: Floats) -> Floats:
    """Return p-values (m,) adjusted by Benjamini-Hochberg: the smallest false discovery rates that reject.

    Benjamini & Hochberg (1995, Journal of the Royal Statistical Society B 57, 289-300).

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.5, 0.02, 0.9])).round(4).tolist()
    [0.04, 0.6667, 0.04, 0.9]
    """
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(len(p), 0, -1)
    rates = np.empty(len(p))
    rates[order] = np.minimum.accumulate(p[order] * len(p) / ranks)
    return rates


def higher_criticism(p: Floats) -> Floats:
    """Return the higher criticism (m,) of p-values (m,), which measures the distance from uniformity.

    With F the proportion of p-values up to p, it is |F - p| over its standard error sqrt(F (1 - F) / m)
    (Donoho & Jin, 2008, Proceedings of the National Academy of Sciences 105, 14790-14795; R's fdrtool). For
    the largest p-value, with F = 1, the smallest standard error of the others is used. All are NaN if all
    p-values are equal.

    Examples
    --------
    >>> higher_criticism(np.array([0.01, 0.5, 0.02, 0.9])).round(4).tolist()
    [1.1085, 1.1547, 1.92, 0.4619]
    """
    m = len(p)
    proportions = np.searchsorted(np.sort(p), p, side="right") / m
    variance = proportions * (1.0 - proportions) / m
    is_positive = variance > 0
    if not is_positive.any():
        return np.full(m, np.nan)
    variance[~is_positive] = variance[is_positive].min()
    return np.asarray(np.abs(proportions - p) / np.sqrt(variance))


def lda_marginal_rule(fit: LDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """Return the rule that uses only a subset of the columns of a fit, which is not refitted.

    Parameters
    ----------
    fit : LDAFit
        Fit with all columns.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    method : {"plugin", "predictive", "debiased"}
        Method of the rule, which the rule of all columns has to support.
    keep : (q,) int
        Positions of the columns.

    Returns
    -------
    Rule
        For rows of the q columns, in the units of the data. If the rule of all columns is restricted to
        `ncomp` axes, so are the means of this one.
    """
    moments = fit.moments
    canonical = fit.reduced_axes()
    if canonical is not None:
        # The means of the rule lie in a plane.
        deviations = (moments.means - canonical.centre) @ canonical.axes
        means = canonical.centre + fit.covariance.multiply(canonical.axes @ deviations.T).T
        centres, centre_errors = split_mean(moments.origin, means, moments.scale)
        moments = replace(moments, centres=centres, rests=centre_errors)
    column_moments = diagonal_moments_of_columns(moments, keep)
    if method == "plugin":
        return gaussian.linear_rule(column_moments, marginal_covariance(fit.covariance, keep), log_prior)
    covariance = marginal_covariance(fit.unbiased_covariance(), keep)
    nu = fit.residual_df
    if method == "predictive":
        n_dropped = moments.n_columns - len(keep)
        return gaussian.pooled_predictive_rule(column_moments, covariance, log_prior, nu, n_dropped=n_dropped)
    return gaussian.pooled_debiased_rule(column_moments, covariance, log_prior, nu)
