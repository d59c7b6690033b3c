"""Estimates of a quadratic discriminant analysis, and the function that fits them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discrim.core.covariance.covariance import Covariance, divisors_by_class
from discrim.core.covariance.model import CovarianceModel, FullCovariance
from discrim.core.covariance.principal import marginal_covariance
from discrim.core.discriminant.lda import NormalFit
from discrim.core.errors import CoreNotSupportedError
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments
from discrim.core.moments.row_sums import RowBlocks
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer, leave_one_out_class_distances
from discrim.core.rules.rules import Distances, Rule, log_of_prior


@dataclass(frozen=True, slots=True, eq=False)
class QDAFit(NormalFit):
    """Estimates of a quadratic discriminant analysis, from moments by class or diagonal moments.

    The divisors (K,) of the covariances are n_k - 1 for method "moment", else n_k.
    """

    @property
    def is_diagonal(self) -> bool:
        """Whether the covariances consist of variances only."""
        return self.covariances[0].is_diagonal

    def covariances_with_divisors(self, divisors: Floats) -> tuple[Covariance, ...]:
        """Return the K covariances by class with other divisors (K,) of the scatters."""
        ratios = divisors / self.divisors
        return tuple(c.divided_by(r) for c, r in zip(self.covariances, ratios.tolist(), strict=True))

    def unbiased_distances(self) -> tuple[Distances, Floats]:
        """Return the distances to the class means under the unbiased covariances, with divisors n_k - 1.

        The second element contains these degrees of freedom (K,).
        """
        df = self.moments.counts - 1
        return gaussian.distances_to_means(self.moments, self.covariances_with_divisors(df)), df

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        method : {"plugin", "predictive", "debiased"}
            "plugin" uses the estimates like true parameters, "predictive" integrates over their posterior
            distribution, and "debiased" uses unbiased estimates of the log densities, which requires more
            than p + 2 rows in each class.
        convention : {"MASS"}, optional
            "MASS" computes the last two methods like R's MASS.

        Returns
        -------
        Rule
            Scores of the "debiased" rule are without meaning for a class with fewer rows; callers check this.

        Raises
        ------
        CoreNotSupportedError
            The method is not "plugin", and the covariances are not full covariances by moments.
        """
        if method == "plugin":
            return gaussian.class_plugin_rule(self.moments, self.covariances, log_prior)
        if not self.has_distances:
            raise CoreNotSupportedError(
                "not_full_covariances", method=method, covariance=self.covariance_model.name
            )
        mass = convention == "MASS"
        covariances = self.covariances if mass else self.covariances_with_divisors(self.moments.counts - 1)
        if method == "predictive":
            return gaussian.class_predictive_rule(self.moments, covariances, log_prior, mass=mass)
        return gaussian.class_debiased_rule(self.moments, covariances, log_prior, mass=mass)

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
            Every row requires a refit, and there are more than `MAX_REFITS` rows, or the covariance model has
            no leave-one-out scores.
        """
        return self.covariance_model.leave_one_out_scorer(replace(self.classes(log_prior), rows=rows))

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
            From the mean of each class without the row, under its covariance with `df` as divisor.
        counts : (K, m) float
            Sums of the weights of the classes without the row.
        df : (K, m) float
            Degrees of freedom without the row, `counts` minus one.
        """
        distances, df = self.unbiased_distances()
        d2, removal = leave_one_out_class_distances(x, codes, weights, distances, self.moments.counts, df)
        remaining_counts = np.repeat(self.moments.counts[:, None], len(codes), axis=1)
        remaining_counts[codes, np.arange(len(codes))] -= removal.weight
        return d2, remaining_counts, remaining_counts - 1

    def has_obstacles(self, moments: ClassMoments, covariance_model: CovarianceModel) -> bool:
        """Return whether the model cannot be fitted to moments, for too few rows or dependent columns.

        For method "moment" the weights of each class have to exceed one. A class needs more rows than columns
        if the model requires full rank, else two. No class may have dependent columns.
        """
        min_df = moments.n_columns if covariance_model.requires_full_rank(moments.n_columns) else 1
        return bool(
            (self.method == "moment" and (moments.counts <= 1 + MIN_EXCESS_WEIGHT).any())
            or (moments.rows <= min_df).any()
            or any(covariance_model.dependent_columns(moments, k) for k in range(moments.n_classes))
        )

    def divisors_of(self, moments: ClassMoments) -> Floats:
        """Return the divisors (K,) of the scatters of other moments: n_k - 1 for "moment", else n_k."""
        return divisors_by_class(moments.counts, self.method)

    def of_moments(self, moments: ClassMoments, covariance_model: CovarianceModel) -> QDAFit:
        """Fit to other moments, with another covariance model and the prior and method of this fit.

        `has_obstacles` has to be False for them. Raises NoEstimateError if a covariance does not exist.
        """
        return fit_qda(
            moments, self.prior, covariance_model, method=self.method, estimated_prior=self.estimated_prior
        )

    def df_model(self) -> int:
        """Return the number of free parameters of means, covariances and, if estimated, the prior.

        Raises CoreNotSupportedError if the covariance model does not maximize a likelihood.
        """
        k = self.moments.n_classes
        p = self.moments.n_columns
        return k * p + self.covariance_model.n_parameters(p, k) + (k - 1 if self.estimated_prior else 0)

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and rows at the maximum-likelihood covariances.

        Raises CoreNotSupportedError if the covariance model does not maximize a likelihood.
        """
        return self.covariance_model.log_likelihood(self.classes(log_of_prior(self.prior)))


def fit_qda(
    moments: ClassMoments,
    prior: Floats,
    covariance_model: CovarianceModel | None = None,
    *,
    method: str = "moment",
    estimated_prior: bool = True,
) -> QDAFit:
    """Estimate a quadratic discriminant analysis from moments.

    The moments have to determine the covariances: `dependent_columns` of the model is empty for each class.

    Parameters
    ----------
    moments : ClassMoments
        By class.
    prior : (K,) float
        Prior probabilities of the classes.
    covariance_model : CovarianceModel, optional
        By default the full covariance.
    method : {"moment", "mle", "t", "mcd"}
        "moment" for the divisors n_k - 1, else n_k.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    QDAFit
        With the covariance model and the moments that the estimator returns, which may be rescaled.

    Raises
    ------
    NoEstimateError
        The estimate of a covariance does not exist.
    """
    divisors = divisors_by_class(moments.counts, method)
    estimates = (covariance_model or FullCovariance()).estimate(moments, divisors)
    return QDAFit(
        estimates.moments,
        prior,
        estimated_prior,
        method,
        estimates.covariances,
        divisors,
        estimates.covariance_model,
    )


def qda_marginal_rule(fit: QDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """Return the rule that uses only a subset of the columns of a fit, which is not refitted.

    Parameters
    ----------
    fit : QDAFit
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
        For rows of the q columns, in the units of the data.
    """
    column_moments = gaussian.diagonal_moments_of_columns(fit.moments, keep)
    covariances_of_all = (
        fit.covariances if method == "plugin" else fit.covariances_with_divisors(fit.moments.counts - 1)
    )
    covariances = tuple(marginal_covariance(covariance, keep) for covariance in covariances_of_all)
    if method == "plugin":
        return gaussian.class_plugin_rule(column_moments, covariances, log_prior)
    if method == "predictive":
        n_dropped = fit.moments.n_columns - len(keep)
        return gaussian.class_predictive_rule(column_moments, covariances, log_prior, n_dropped=n_dropped)
    return gaussian.class_debiased_rule(column_moments, covariances, log_prior)
