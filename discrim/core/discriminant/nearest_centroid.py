"""Estimates of the nearest centroid rule, and the function that fits it.

Theory. A row is assigned to the class with the nearest mean, in Euclidean distance. This is the rule of
normal classes with one covariance s2 I (Hastie, Tibshirani & Friedman, 2009, The Elements of Statistical
Learning, 4.3),

    ln prior_k - |x - m_k|^2 / (2 s2),    s2 = sum_k tr(W_k) / (p (N - K)).

With equal priors s2 does not affect the predicted class, only the posterior probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.model import dependencies_if_all_constant
from discrim.core.covariance.principal import marginal_covariance
from discrim.core.covariance.shrunk import common_leave_one_out_scorer, spherical_covariance
from discrim.core.moments.derived_moments import limit_scales
from discrim.core.moments.moments import MIN_EXCESS_WEIGHT, ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.leave_one_out import LeaveOneOutScorer, squared_distances_between_means
from discrim.core.rules.rules import Distances, Rule, log_of_prior, require_plugin_method


@dataclass(frozen=True, slots=True)
class EuclideanDistances:
    """Rule whose scores are the Euclidean distances of rows to the class means, in the units of the data.

    Attributes
    ----------
    distances : Distances
        Squared distances divided by the variance.
    sd : float
        Square root of the variance.
    """

    distances: Distances
    sd: float

    def scores(self, x: Floats) -> Floats:
        """Return the Euclidean distances (m, K) of rows x (m, p) to the class means; smaller is closer."""
        return np.asarray((self.sd * np.sqrt(self.distances.squared(x))).T)


@dataclass(frozen=True, slots=True, eq=False)
class NearestCentroidFit:
    """Estimates of the nearest centroid rule, from diagonal moments.

    Attributes
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.
    covariance : Covariance
        s2 I, in the coordinates of `limited_moments`.
    """

    moments: ClassMoments
    prior: Floats
    estimated_prior: bool
    covariance: Covariance

    has_distances = False

    @property
    def limited_moments(self) -> ClassMoments:
        """The moments with column scales limited to a range in which squared distances do not overflow."""
        return limit_scales(self.moments)

    @property
    def sd(self) -> float:
        """The standard deviation s, in the units of the data."""
        return float(self.covariance.sd[0] / self.limited_moments.scale[0])

    @property
    def residual_df(self) -> float:
        """Degrees of freedom within classes, N - K."""
        return self.moments.total - self.moments.n_classes

    def distances(self) -> Distances:
        """Return the object that computes squared distances of rows to the class means, over the variance."""
        return gaussian.distances_to_means(self.limited_moments, (self.covariance,))

    def squared_mean_distances(self) -> Floats:
        """Return the squared distances (K, K) between the class means, divided by the variance."""
        return squared_distances_between_means(self.covariance.whiten(self.limited_moments.means.T).T)

    def rule(self, log_prior: Floats, method: str = "plugin", convention: str | None = None) -> Rule:
        """Return the decision rule under a prior.

        Parameters
        ----------
        log_prior : (K,) float
            Logarithms of the prior probabilities of the classes.
        method : {"plugin"}
            Only "plugin" is supported.
        convention : str, optional
            Not used.

        Returns
        -------
        Rule
            Linear rule; scores are equal to the formula of the module up to a constant for each row.

        Raises
        ------
        CoreNotSupportedError
            The method is not "plugin".
        """
        require_plugin_method(method, "is not defined for nearest centroids")
        return gaussian.linear_rule(self.limited_moments, self.covariance, log_prior)

    def refit(self, moments: ClassMoments) -> NearestCentroidFit | None:
        """Fit to other moments with the same prior.

        The result is None if a class has no rows, no column varies within classes, or the weights do not
        exceed the number of classes.
        """
        if (moments.rows < 1).any() or not has_within_variation(moments):
            return None
        return fit_nearest_centroid(moments, self.prior, estimated_prior=self.estimated_prior)

    def leave_one_out_scorer(self, log_prior: Floats) -> LeaveOneOutScorer:
        """Return a function of rows that scores each row by the rule, under `log_prior` (K,), without it.

        Scores are NaN for rows that require a refit.
        """
        return common_leave_one_out_scorer(self.limited_moments, self.residual_df, log_prior)

    def llf(self) -> float:
        """Return the joint log-likelihood of classes and rows at the maximum-likelihood variance."""
        moments = self.limited_moments
        logdet = self.covariance.divided_by(moments.total / self.residual_df).logdet
        return gaussian.log_likelihood(moments, np.full(moments.n_classes, logdet), log_of_prior(self.prior))

    def df_model(self) -> int:
        """Return the number of free parameters of the means, the variance and, if estimated, the prior."""
        k = self.moments.n_classes
        p = self.moments.n_columns
        return k * p + 1 + (k - 1 if self.estimated_prior else 0)


def centroid_marginal_rule(fit: NearestCentroidFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """Return the rule that uses only a subset of the columns of a fit, which is not refitted.

    Parameters
    ----------
    fit : NearestCentroidFit
        Fit with all columns.
    log_prior : (K,) float
        Logarithms of the prior probabilities of the classes.
    method : str
        Not used; it makes the signature the same as for other models.
    keep : (q,) int
        Positions of the columns.

    Returns
    -------
    Rule
        Linear rule for rows of the q columns, in the units of the data.
    """
    column_moments = gaussian.diagonal_moments_of_columns(fit.limited_moments, keep)
    return gaussian.linear_rule(column_moments, marginal_covariance(fit.covariance, keep), log_prior)


def has_within_variation(moments: ClassMoments) -> bool:
    """Return whether some column varies within classes, and the weights sum to more than the classes."""
    has_enough_weight = moments.total > moments.n_classes * (1 + MIN_EXCESS_WEIGHT)
    return has_enough_weight and not dependencies_if_all_constant(moments, None)


def fit_nearest_centroid(
    moments: ClassMoments, prior: Floats, *, estimated_prior: bool = False
) -> NearestCentroidFit:
    """Estimate the nearest centroid rule.

    Parameters
    ----------
    moments : ClassMoments
        Diagonal moments with variation within classes.
    prior : (K,) float
        Prior probabilities of the classes.
    estimated_prior : bool
        Whether the prior is the class proportions of the rows.

    Returns
    -------
    NearestCentroidFit
        With one variance of all columns about the class means, over N - K degrees of freedom.

    Raises
    ------
    CoreCollinearError
        All columns are constant within classes.

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [2.0, 1.0], [6.0, 3.0], [8.0, 3.0]])
    >>> codes = np.array([0, 0, 1, 1])
    >>> moments = ClassMoments.from_block(x, codes, n_classes=2, required_moments="diagonal")
    >>> fit = fit_nearest_centroid(moments, np.array([0.5, 0.5]))
    >>> round(fit.sd**2, 12), (fit.squared_mean_distances() * fit.sd**2).round(12).tolist()
    (1.0, [[0.0, 40.0], [40.0, 0.0]])
    """
    covariance = spherical_covariance(limit_scales(moments), moments.total - moments.n_classes)
    return NearestCentroidFit(moments, prior, estimated_prior, covariance)
