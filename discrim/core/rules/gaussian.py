"""Rules and likelihoods of normal classes, from moments and covariances.

Three ways to a posterior. *Plug-in* puts the estimates in the place of the
parameters. *Predictive* integrates the parameters out under the usual vague prior,
which turns each normal density into a Student density (Aitchison & Dunsmore, 1975,
Statistical Prediction Analysis, ch. 11; Ripley, 1996, Pattern Recognition and Neural
Networks, sec. 2.4). *Debiased* replaces each log density by its unbiased estimate
(Moran & Murphy, 1979, Applied Statistics 28, 223-232). R's MASS computes the last two
differently; its numbers are given under `mass=True`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.canonical import Canonical, weighted_centre
from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.gamma_ratios import determinant_bias, student_gain
from discrim.core.rules.nearest_means import Means, nearest_mean_rule, uncentred
from discrim.core.rules.rules import Distances, GaussianRule, LinearRule, StudentRule

__all__ = [
    "classification_functions",
    "common_debiased",
    "common_predictive",
    "distances",
    "linear_rule",
    "log_likelihood",
    "quadratic_form",
    "separate_debiased",
    "separate_plugin",
    "separate_predictive",
]

Floats = NDArray[np.float64]


def centred(moments: ClassMoments, centre: Floats) -> tuple[Floats, Floats]:
    """Origin (p,) moved to a centre in z, rounded, and the means (K, p) relative to it."""
    origin = moments.origin + centre / moments.scale
    return origin, moments.means_from(origin)


def linear_rule(
    moments: ClassMoments, covariance: Covariance, log_prior: Floats, reduced: Canonical | None = None
) -> LinearRule:
    """Rule of one common covariance; with reduced axes, in their space alone."""
    centre = weighted_centre(moments.means, moments.counts) if reduced is None else reduced.centre
    origin, _ = centred(moments, centre)
    means = class_means(moments, covariance if reduced is None else reduced)
    typical = np.sqrt(moments.squares.sum(axis=0) / moments.total)
    return uncentred(nearest_mean_rule(means, origin, log_prior), typical)


def class_means(moments: ClassMoments, metric: Covariance | Canonical) -> Means:
    """The means of the classes, in the metric of a covariance or within canonical axes."""
    if isinstance(metric, Covariance):
        return Means(moments.centres, moments.rests, moments.scale, metric.whiten, metric.unwhiten)
    axes = metric.axes
    return Means(moments.centres, moments.rests, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y)


def classification_functions(
    moments: ClassMoments, covariance: Covariance, log_prior: Floats, reduced: Canonical | None = None
) -> tuple[Floats, Floats]:
    """Coefficients S^-1 m_k (p, K) and constants ln prior_k - m_k' S^-1 m_k / 2 (K,) in the data's units."""
    centres, rests = (moments.centres * moments.scale).T, moments.rests.T
    if reduced is not None:
        scores = reduced.axes.T @ centres + reduced.axes.T @ rests
        coef = reduced.axes @ scores
    else:
        scores = covariance.whiten(centres) + covariance.whiten(rests)
        coef = covariance.unwhiten(scores)
    return coef * moments.scale[:, None], log_prior - 0.5 * (scores**2).sum(axis=0)


def distances(moments: ClassMoments, covariances: tuple[Covariance, ...]) -> Distances:
    """Distances to the class means under one covariance, or one for each class."""
    if len(covariances) > 1:
        return Distances(moments.centres, moments.scale, moments.rests, covariances)
    (covariance,) = covariances
    origin, means = centred(moments, weighted_centre(moments.means, moments.counts))
    nearest = class_means(moments, covariance).distances(origin)
    return Distances(origin, moments.scale, means, covariances, nearest)


def separate_plugin(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats
) -> GaussianRule:
    """Rule of a covariance for each class: ln prior_k - ln|S_k|/2 - D2_k/2."""
    constant = log_prior - 0.5 * _logdets(covariances)
    return GaussianRule(distances(moments, covariances), constant, np.ones(len(constant)))


def common_predictive(
    moments: ClassMoments,
    covariance: Covariance,
    log_prior: Floats,
    nu: float,
    *,
    mass: Canonical | None = None,
    gone: int = 0,
) -> StudentRule:
    """Predictive rule of a common covariance, unbiased with nu = N - K degrees of freedom.

    ln prior_k + p/2 ln(n_k/(n_k+1)) - (nu+1)/2 ln(1 + n_k D2_k/((n_k+1) nu)). With MASS's axes its
    own version: rows but not means rescaled to the divisor N, distances within the axes only. With as many
    columns integrated out as are gone, nu + 1 - gone in the place of nu + 1.
    """
    n = moments.counts
    constant = log_prior - 0.5 * moments.n_columns * np.log1p(1 / n)
    power = np.full(len(n), (nu + 1 - gone) / 2)
    if mass is None:
        return StudentRule(distances(moments, (covariance,)), constant, power, nu * ((n + 1) / n))
    within, origin = _means_within(moments, mass, np.sqrt(moments.total / nu))
    return StudentRule(within.distances(origin), constant, power, moments.total * (n + 1) / n)


def separate_predictive(
    moments: ClassMoments,
    covariances: tuple[Covariance, ...],
    log_prior: Floats,
    *,
    mass: bool = False,
    gone: int = 0,
) -> StudentRule:
    """Predictive rule of a covariance for each class, unbiased with n_k - 1 degrees of freedom.

    ln prior_k + ln G(n_k/2) - ln G((n_k-p)/2) - ln|(n_k-1) S_k|/2 + p/2 ln(n_k/(n_k+1))
    - n_k/2 ln(1 + n_k D2_k/(n_k^2-1)). MASS omits the gamma functions and scales D2 by 1/(n_k+1). With as
    many columns integrated out as are gone, n_k - gone is in the place of n_k in the gamma functions and as
    the power.
    """
    n, p = moments.counts, moments.n_columns
    held = distances(moments, covariances)
    if mass:
        constant = log_prior - 0.5 * _logdets(covariances) - 0.5 * p * np.log(n + 1)
        return StudentRule(held, constant, n / 2, n + 1)
    # But for p/2 ln 2, which the classes share.
    constant = log_prior + student_gain(n - gone, p) - 0.5 * (_logdets(covariances) + p * np.log1p(1 / n))
    if gone:
        constant += 0.5 * p * np.log1p(-gone / (n - 1))
    return StudentRule(held, constant, (n - gone) / 2, (n - 1) * ((n + 1) / n))


def common_debiased(
    moments: ClassMoments,
    covariance: Covariance,
    log_prior: Floats,
    nu: float,
    *,
    mass: Canonical | None = None,
) -> LinearRule:
    """Debiased rule of a common covariance: ln prior_k - [(nu-p-1)/nu D2_k - p/n_k]/2.

    MASS's has the dimension of its axes in the place of p, and -p/n_k in the place of p/(2 n_k).
    """
    p, n = moments.n_columns, moments.counts
    if mass is None:
        origin, _ = centred(moments, weighted_centre(moments.means, n))
        means, factor = class_means(moments, covariance), (nu - p - 1) / nu
        return nearest_mean_rule(means, origin, log_prior + 0.5 * p / n, factor)
    r = mass.axes.shape[1]
    within, origin = _means_within(moments, mass, 1.0)
    return nearest_mean_rule(within, origin, log_prior - r / n, (nu - r - 1) / nu)


def separate_debiased(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, *, mass: bool = False
) -> GaussianRule:
    """Debiased rule of a covariance for each class, unbiased with nu_k = n_k - 1 degrees of freedom.

    ln prior_k - [(nu_k-p-1)/nu_k D2_k - p/n_k + ln|S_k| + p ln(nu_k/2) - sum_j digamma((n_k-j)/2)]/2,
    j = 1..p. MASS sums j to the number of classes and has nu_k-p+1 in the place of nu_k-p-1.
    """
    n, p = moments.counts, moments.n_columns
    nu = n - 1
    terms = np.arange(1, (len(n) if mass else p) + 1)
    bias = determinant_bias(nu, terms)
    if mass:
        bias = bias + (p - len(n)) * np.log(nu / 2)
    constant = log_prior - 0.5 * (_logdets(covariances) + bias - p / n)
    factor = (nu - p + 1) / nu if mass else (nu - p - 1) / nu
    return GaussianRule(distances(moments, covariances), constant, factor)


def log_likelihood(moments: ClassMoments, logdets: Floats, prior: Floats) -> float:
    """Log-likelihood of class and row jointly at maximum-likelihood covariances.

    Parameters
    ----------
    moments : ClassMoments
    logdets : (K,) float
        Log-determinants, in the coordinates of the moments, of the maximum-likelihood covariance of
        each class (the same number for all where they share one).
    prior : (K,) float
    """
    n, p = moments.counts, moments.n_columns
    with np.errstate(divide="ignore"):
        classes = float(n @ np.log(prior))
    units = 2.0 * np.log(moments.scale).sum()
    normal = float(n @ (logdets - units)) + moments.total * p * (1 + np.log(2 * np.pi))
    return float(classes - 0.5 * normal)


def quadratic_form(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, a: int, b: int
) -> tuple[Floats, Floats, float]:
    """Log odds of class a against b as x'Ax + x'b + c, in the units of the data."""
    scale = moments.scale
    matrices, slopes, constants = [], [], []
    for k in (a, b):
        covariance = covariances[k if len(covariances) > 1 else 0]
        mean = moments.class_means[k] * scale
        whitened = covariance.whiten(mean[:, None])
        matrices.append(covariance.precision() * scale[:, None] * scale)
        slopes.append(covariance.unwhiten(whitened)[:, 0] * scale)
        constants.append(log_prior[k] - 0.5 * covariance.logdet - 0.5 * float((whitened**2).sum()))
    return 0.5 * (matrices[1] - matrices[0]), slopes[0] - slopes[1], float(constants[0] - constants[1])


def _means_within(moments: ClassMoments, reduced: Canonical, inflate: float) -> tuple[Means, Floats]:
    """Means within the canonical axes, and their centre (p,), about which rows (not means) are inflated."""
    origin, means = centred(moments, reduced.centre)
    # Rows that are inflated are as far from means as rows that are not from means that shrink.
    centres = origin + means / inflate / moments.scale
    rests = means / inflate - (centres - origin) * moments.scale
    axes = reduced.axes * inflate
    return Means(centres, rests, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y), origin


def _logdets(covariances: tuple[Covariance, ...]) -> Floats:
    return np.array([covariance.logdet for covariance in covariances])
