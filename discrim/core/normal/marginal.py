"""Rules of some of the columns of normal classes: what the models are once the others are integrated out.

Theory. Under the estimates, the law of some columns has their means and their part of the covariances,
whatever these were estimated as. Under the *predictive* law of class k, a t distribution of nu_k - p + 1
degrees of freedom in p dimensions, it is one of as many degrees of freedom in q of them; it is not what a fit
to the q columns alone would give, whose vague prior is that of fewer dimensions. The *debiased* log density
of q columns is the unbiased estimate of theirs, as their part of a Wishart matrix is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules import gaussian
from discrim.core.rules.gaussian import means_of_columns
from discrim.core.rules.rules import Rule
from discrim.core.scatter.covariance import Covariance
from discrim.core.scatter.principal import of_columns

if TYPE_CHECKING:
    from discrim.core.normal.nearest_centroid import NearestCentroidFit
    from discrim.core.normal.qda import QDAFit
    from discrim.core.normal.rda import RDAFit


def quadratic_marginal(fit: QDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,) by a method that the rule of all of them has."""
    held = means_of_columns(fit.moments, keep)
    if method == "plugin":
        return gaussian.separate_plugin(held, _each(fit.covariances, keep), log_prior)
    covariances = _each(fit.scaled(fit.moments.counts - 1), keep)
    if method == "predictive":
        gone = fit.moments.n_columns - len(keep)
        return gaussian.separate_predictive(held, covariances, log_prior, gone=gone)
    return gaussian.separate_debiased(held, covariances, log_prior)


def regularized_marginal(fit: RDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """As `quadratic_marginal`, of regularized covariances, for which there is one method."""
    held = means_of_columns(fit.moments, keep)
    if fit.alpha == 0:
        return gaussian.linear_rule(held, of_columns(fit.covariances[0], keep), log_prior)
    return gaussian.separate_plugin(held, _each(fit.covariances, keep), log_prior)


def centroid_marginal(fit: NearestCentroidFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """As `quadratic_marginal`, of one variance: the mean that is nearest in the columns there are."""
    held = means_of_columns(fit.within_reach, keep)
    return gaussian.linear_rule(held, of_columns(fit.covariance, keep), log_prior)


def _each(covariances: tuple[Covariance, ...], keep: Codes) -> tuple[Covariance, ...]:
    return tuple(of_columns(covariance, keep) for covariance in covariances)
