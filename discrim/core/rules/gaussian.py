"""Decision rules and likelihoods of normal classes, computed from moments and covariances.

Used by LDA, QDA and their relatives, and by mixtures. There are K classes and p columns; n_k, m_k and S_k are
the sum of weights, the mean and the covariance of class k, N is the sum of all weights, S a common
covariance, and D2_k the squared distance of a row from m_k under S or S_k. Covariances are in the coordinates
z of the moments (see `ClassMoments`), rows in the units of the data.

*Three methods for posteriors.* Plug-in substitutes the estimates for the parameters. Predictive integrates
the parameters out under the usual vague prior, which turns each normal density into a Student density
(Aitchison & Dunsmore, 1975, Statistical Prediction Analysis, ch. 11; Ripley, 1996, Pattern Recognition and
Neural Networks, sec. 2.4). Debiased replaces each log density by its unbiased estimate (Moran & Murphy, 1979,
Applied Statistics 28, 223-232). R's MASS computes the last two differently; `mass=True` returns its values.

*Linear nearest-mean rules* preserve the digits of differences however far apart the classes lie. About an
origin o the score ln prior_k - D2_k/2 is, up to the row's D2_o/2,

    (m_k - o)'S^-1 (x - o) - |m_k - o|^2 / 2 + ln prior_k,    |d|^2 = d'S^-1 d,

with a rounding error of the size eps |m_k - o| |x - o|. A perturbation of the last bit of the row, in
comparison, changes the difference of two scores by only eps |m_k - m_l| |x|. An origin amid all classes, at
distance R from the farthest, is therefore accurate for classes whose distance is comparable to R, and
inaccurate for classes that lie close together: the scores of two classes at distance one have an error of
eps R^2. Classes that are *close*, nearer than R/4 to another, are scored again about the mean of one of
them. This applies to rows whose best class is close to others; their scores of other classes, at least R/6
away, keep their differences about the common origin. The radius decreases to a quarter at each level, and a
few levels suffice for any distances.

*Distribution of all rows*, regardless of class: the distance to a class minus the distance to this
distribution measures how much farther a row is from the class than from the bulk of all rows (Ren, Fort, Liu,
Roy, Padhy & Lakshminarayanan, 2021, A simple fix to Mahalanobis distance for improving near-OOD detection,
arXiv:2106.09022). The covariance about the common mean has the divisor N - 1.

*Missing values.* For a row x = (o, m), of which m is missing, the density within class k is the marginal
density of o, which is valid if missingness does not depend on the missing values (Little & Rubin, 2020,
Statistical Analysis with Missing Data, 3rd ed., sec. 1.3 and ch. 11). The posterior is proportional to
prior_k times this density; if all values are missing, it equals the prior. With plug-in estimates the
marginal density is normal with the corresponding parts of the mean and covariance. The predictive
distribution of class k, a t distribution with nu_k - p + 1 degrees of freedom in p dimensions, has marginals
in q dimensions with the same degrees of freedom; this differs from a fit to the q columns, whose vague prior
has fewer dimensions. The debiased log density of q columns is the unbiased estimate of their log density,
because a submatrix of a Wishart matrix is Wishart. The rule for the columns o therefore is a rule of the same
kind, with the same accuracy. Rows with the same missing columns share it: one factorization for each pattern
and class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, dependencies, pooled_covariance
from discrim.core.covariance.principal import CanonicalAxes, weighted_centre
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import logdet_bias, student_log_constants
from discrim.core.rules.leave_one_out import leave_one_out_distances
from discrim.core.rules.rules import (
    CloseClasses,
    Distances,
    GaussianRule,
    LinearRule,
    NearestMeanDistances,
    Rule,
    StudentRule,
)

MIN_RADIUS = 8.0
"""Distance of the farthest mean from the origin up to which close classes are not grouped; eps 8^2/2 is
rounding.
"""

MAX_GROUP_DISTANCE = 0.25
MAX_COVERED_DISTANCE = 0.0625
"""Distances as fractions of the farthest mean's distance: classes within `MAX_GROUP_DISTANCE` of a class are
members of its group, and classes within `MAX_COVERED_DISTANCE` use this group instead of one of their own.
"""

MAX_ORIGIN_RATIO = 2.0
"""Ratio of the distance of the origin from zero to the typical deviation of rows, up to which zero can
replace the origin at the cost of one bit.
"""

MAX_BLOCK_DISTANCES = 2**18
"""Number of distances between means that are computed at once."""

MAX_STORED_COEFS = 2**24
"""Number of coefficients that all groups store together; rules of further groups are built for each block."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Class means and the metric of the distances to them.

    Attributes
    ----------
    centres, rests : (K, p) float
        As in `ClassMoments`: the mean of class k is centres[k] + rests[k] / scale.
    scale : (p,) float
        Powers of two by which the columns are multiplied to obtain z.
    whiten : callable
        Transforms columns (p, k) in z to columns (r, k) whose squared lengths are the squared distances.
    unwhiten : callable
        Transposed map: whitened columns y (r, k) become coefficients c (p, k) of z with c'z = y'whiten(z).
    """

    centres: Floats
    rests: Floats
    scale: Floats
    whiten: Callable[[Floats], Floats]
    unwhiten: Callable[[Floats], Floats]

    def relative_to(self, origin: Floats, classes: Codes) -> Floats:
        """Return the means (k, p) of the k classes at positions `classes` in z = (x - origin) * scale.

        The origin (p,) is in the units of the data.
        """
        return np.asarray((self.centres[classes] - origin) * self.scale + self.rests[classes])

    def distances(self, origin: Floats) -> NearestMeanDistances:
        """Return the squared distances to the means as a function of rows, computed about an origin (p,).

        The origin is in the units of the data and should be amid the means, which preserves digits.
        """
        rule = nearest_mean_rule(self, origin, np.zeros(len(self.centres)))
        return NearestMeanDistances(rule, self.centres, self.rests, self.whiten)


@dataclass(frozen=True, slots=True)
class DeferredRule:
    """Linear rule of a group of close classes that is built again for each block of rows, to save memory.

    Attributes
    ----------
    build : callable
        Returns the rule. Its argument is a list of one number, the coefficients that groups of the rule may
        store, from which it subtracts those that they do.
    """

    build: Callable[[list[int]], LinearRule]

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, k) of rows x (m, p) for the k members of the group, by a newly built rule."""
        return self.build([MAX_STORED_COEFS]).scores(x)


def nearest_mean_rule(means: Means, origin: Floats, constant: Floats, factor: float = 1.0) -> LinearRule:
    """Return the rule with the scores constant_k - factor D2_k / 2, up to a constant of each row.

    Parameters
    ----------
    means : Means
        Class means and their metric.
    origin : (p,) float
        A point amid the means, in the units of the data.
    constant : (K,) float
        For example log priors. A class with minus infinity is never predicted.
    factor : float
        Factor of the squared distances.

    Returns
    -------
    LinearRule
        With a score for each of the K classes, and with `close_groups` if classes are close together.
    """
    every = np.arange(len(constant))
    return _rule_about_origin(means, origin, every, every, constant, factor, np.inf, [MAX_STORED_COEFS])


def rule_about_zero(rule: LinearRule, typical_deviations: Floats) -> LinearRule:
    """Return the same rule with origin zero if that preserves accuracy, because it saves a subtraction.

    Otherwise, and if a column is scaled, the rule is returned unchanged.

    The rounding error of a score is proportional to sum_j abs(x_j - o_j) abs(c_j) with origin o, and to
    sum_j abs(x_j) abs(c_j) with origin zero.

    Parameters
    ----------
    rule : LinearRule
        Rule about an origin o.
    typical_deviations : (p,) float
        Typical deviations of rows from o.

    Returns
    -------
    LinearRule
        With the same scores up to rounding, or `rule` itself.
    """
    sizes = np.abs(rule.coef)
    if (
        not (rule.scale == 1).all()
        or not (np.abs(rule.origin) @ sizes <= MAX_ORIGIN_RATIO * (typical_deviations @ sizes)).all()
    ):
        return rule
    return replace(
        rule, origin=np.zeros(len(rule.origin)), intercept=rule.intercept - rule.origin @ rule.coef
    )


def _rule_about_origin(
    means: Means,
    origin: Floats,
    classes: Codes,
    best: Codes,
    constant: Floats,
    factor: float,
    enclosing_distance: float,
    n_remaining_coefs: list[int],
) -> LinearRule:
    """Return the rule of some classes about an origin; close classes are grouped about their own origins.

    Parameters
    ----------
    means : Means
        Class means and their metric.
    origin : (p,) float
        Origin of the coordinates z, in the units of the data.
    classes : (k,) int
        Positions of the classes.
    best : (b,) int
        Positions among `classes` of those that may be the best class of a row.
    constant : (K,) float
        Constants of the scores of all classes.
    factor : float
        Factor of the squared distances.
    enclosing_distance : float
        Largest distance of the enclosing set of classes. Groups are built only if the largest distance here
        is above `MIN_RADIUS` and below half of it; otherwise only rounding errors separate the means.
    n_remaining_coefs : list of int
        One number: the coefficients that groups may still store; reduced in place.

    Returns
    -------
    LinearRule
        With one score for each of `classes`.
    """
    whitened = means.whiten(means.relative_to(origin, classes).T)
    coef = means.unwhiten(whitened)
    intercept = constant[classes] - 0.5 * factor * (whitened**2).sum(axis=0)
    # Classes that can be predicted, and the distance of the farthest from the origin.
    norms = np.sqrt((whitened**2).sum(axis=0))
    predictable = np.flatnonzero(np.isfinite(constant[classes]) & np.isfinite(norms))
    radius = float(norms[predictable].max(initial=0.0))
    has_groups = MIN_RADIUS < radius < enclosing_distance / 2
    groups = []
    for covered, members in (
        _group_close_classes(whitened, constant[classes], best, predictable, radius) if has_groups else ()
    ):
        member_classes = classes[members]
        covered_members = np.flatnonzero(np.isin(members, covered))
        build_rule = partial(
            _rule_about_origin,
            means,
            means.centres[member_classes[0]],
            member_classes,
            covered_members,
            constant,
            factor,
            radius,
        )
        n_coefs = members.size * len(origin)
        if n_coefs <= n_remaining_coefs[0]:
            n_remaining_coefs[0] -= n_coefs
            groups.append(CloseClasses(covered, members, build_rule(n_remaining_coefs)))
        else:
            groups.append(CloseClasses(covered, members, DeferredRule(build_rule)))
    # A fixed memory layout makes products bitwise equal for every layout of the metric.
    coef = np.ascontiguousarray(factor * coef)
    return LinearRule(origin, means.scale, coef, intercept, tuple(groups))


def _group_close_classes(
    whitened: Floats, constant: Floats, best: Codes, predictable: Codes, radius: float
) -> Iterator[tuple[Codes, Codes]]:
    """Yield groups of classes that are close together, each with the classes that it covers.

    Nothing is yielded if fewer than three classes can be predicted.

    Parameters
    ----------
    whitened : (r, k) float
        Whitened means of k classes relative to the origin, in r coordinates.
    constant : (k,) float
        Constants of the scores; classes with large ones become centres of groups first.
    best : (b,) int
        Positions (0 to k - 1) of the classes that may be the best class of a row.
    predictable : (q,) int
        Positions of the classes that can be predicted.
    radius : float
        Distance of the farthest of them from the origin.

    Yields
    ------
    covered : (c,) int
        Positions of the classes that use this group.
    members : (m,) int
        Positions of the members of the group; its origin is the mean of the first one.
    """
    if len(predictable) < 3:
        return
    points = whitened[:, predictable] / radius
    half_squares = 0.5 * (points**2).sum(axis=0)
    ones = np.ones_like(half_squares)
    # The product of these rows and columns is minus half the squared distance over the squared radius.
    rows = np.vstack([points, ones, -half_squares]).T.copy()
    columns = np.vstack([points, -half_squares, ones])
    n_classes = len(predictable)
    step = max(MAX_BLOCK_DISTANCES // n_classes, 1)
    has_close = np.zeros(n_classes, dtype=bool)
    for start in range(0, n_classes, step):
        # The matrix is symmetric, hence each block has the columns from the diagonal on.
        is_close = rows[start : start + step] @ columns[:, start:] >= -0.5 * MAX_GROUP_DISTANCE**2
        if np.count_nonzero(is_close) > len(is_close):
            np.fill_diagonal(is_close, False)
            has_close[start : start + step] |= is_close.any(axis=1)
            has_close[start:] |= is_close.any(axis=0)
    is_ungrouped = np.isin(predictable, best) & has_close
    for seed in np.argsort(-constant[predictable], kind="stable").tolist() if is_ungrouped.any() else ():
        if is_ungrouped[seed]:
            negative_distances = rows[seed] @ columns
            covered = np.flatnonzero(is_ungrouped & (negative_distances >= -0.5 * MAX_COVERED_DISTANCE**2))
            # Rounding can make the distance of a class from itself positive.
            is_ungrouped[covered] = is_ungrouped[seed] = False
            others = np.flatnonzero(negative_distances >= -0.5 * MAX_GROUP_DISTANCE**2)
            members = np.append(seed, others[others != seed])
            yield predictable[covered], predictable[members]


def move_origin(moments: ClassMoments, centre: Floats) -> tuple[Floats, Floats]:
    """Return another origin in the units of the data, and the class means relative to it.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    centre : (p,) float
        New origin in the coordinates z of the moments.

    Returns
    -------
    origin : (p,) float
        In the units of the data.
    means : (K, p) float
        Class means in z = (x - origin) * scale.
    """
    origin = moments.origin + centre / moments.scale
    return origin, moments.means_from(origin)


def linear_rule(
    moments: ClassMoments, covariance: Covariance, log_prior: Floats, canonical: CanonicalAxes | None = None
) -> LinearRule:
    """Return the linear plug-in rule with a common covariance.

    Parameters
    ----------
    moments : ClassMoments
        Counts, means and scatters of the classes.
    covariance : Covariance
        Common covariance of the classes, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    canonical : CanonicalAxes or None
        If set, distances are Euclidean distances of the scores on these axes of z, whose variance within
        classes is one, and `covariance` is not used.

    Returns
    -------
    LinearRule
        Its scores are log posteriors up to a constant of each row.
    """
    centre = weighted_centre(moments.means, moments.counts) if canonical is None else canonical.centre
    origin, _ = move_origin(moments, centre)
    means = class_means(moments, covariance if canonical is None else canonical)
    typical = np.sqrt(moments.squares.sum(axis=0) / moments.total)
    return rule_about_zero(nearest_mean_rule(means, origin, log_prior), typical)


def class_means(moments: ClassMoments, metric: Covariance | CanonicalAxes) -> Means:
    """Return the class means with the metric of a covariance, or with distances within canonical axes.

    Both are in the coordinates z of the moments. On canonical axes, `whiten` returns the scores on the axes.
    """
    if isinstance(metric, Covariance):
        return Means(moments.centres, moments.rests, moments.scale, metric.whiten, metric.unwhiten)
    axes = metric.axes
    return Means(moments.centres, moments.rests, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y)


def classification_functions(
    moments: ClassMoments, covariance: Covariance, log_prior: Floats, canonical: CanonicalAxes | None = None
) -> tuple[Floats, Floats]:
    """Return the coefficients S^-1 m_k and constants ln prior_k - m_k' S^-1 m_k / 2 of the linear scores.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariance : Covariance
        Common covariance of the classes, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    canonical : CanonicalAxes or None
        If set, distances are Euclidean distances of the scores on these axes of z, whose variance within
        classes is one, and `covariance` is not used.

    Returns
    -------
    coefficients : (p, K) float
        One column for each class; coefficients of rows x in the units of the data.
    constants : (K,) float
        Linear score of each class at x = 0.
    """
    centres = (moments.centres * moments.scale).T
    centre_errors = moments.rests.T
    if canonical is not None:
        scores = canonical.axes.T @ centres + canonical.axes.T @ centre_errors
        coef = canonical.axes @ scores
    else:
        scores = covariance.whiten(centres) + covariance.whiten(centre_errors)
        coef = covariance.unwhiten(scores)
    return coef * moments.scale[:, None], log_prior - 0.5 * (scores**2).sum(axis=0)


def distances_to_means(moments: ClassMoments, covariances: tuple[Covariance, ...]) -> Distances:
    """Return the squared Mahalanobis distances to the class means as a function of rows.

    The tuple has one covariance for all classes or one for each class, in the coordinates z of the moments.
    The method `squared` of the result maps rows x (m, p) in the units of the data to distances (K, m).
    """
    if len(covariances) > 1:
        return Distances(moments.centres, moments.scale, moments.rests, covariances)
    (covariance,) = covariances
    origin, means = move_origin(moments, weighted_centre(moments.means, moments.counts))
    nearest = class_means(moments, covariance).distances(origin)
    return Distances(origin, moments.scale, means, covariances, nearest)


def class_plugin_rule(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats
) -> GaussianRule:
    """Return the plug-in rule with a covariance for each class: ln prior_k - ln|S_k|/2 - D2_k/2.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariances : tuple of Covariance
        One for each class, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.

    Returns
    -------
    GaussianRule
        Its scores (m, K) are these log posteriors, up to a constant of each row.
    """
    constant = log_prior - 0.5 * _logdets(covariances)
    return GaussianRule(distances_to_means(moments, covariances), constant, np.ones(len(constant)))


def pooled_predictive_rule(
    moments: ClassMoments,
    covariance: Covariance,
    log_prior: Floats,
    nu: float,
    *,
    mass: CanonicalAxes | None = None,
    n_dropped: int = 0,
) -> StudentRule:
    """Return the predictive rule with a common covariance, unbiased with nu = N - K degrees of freedom.

    The scores are ln prior_k + p/2 ln(n_k/(n_k+1)) - (nu+1)/2 ln(1 + n_k D2_k/((n_k+1) nu)).

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariance : Covariance
        Common covariance of the classes, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    nu : float
        Degrees of freedom of the covariance.
    mass : CanonicalAxes or None
        Axes for the version of MASS: rows but not means are rescaled to the divisor N, and distances are
        computed within the axes.
    n_dropped : int
        Number of columns that were integrated out of the moments; nu + 1 becomes nu + 1 - n_dropped.

    Returns
    -------
    StudentRule
        Its scores (m, K) are these log posteriors, up to a constant of each row.
    """
    n = moments.counts
    constant = log_prior - 0.5 * moments.n_columns * np.log1p(1 / n)
    power = np.full(len(n), (nu + 1 - n_dropped) / 2)
    if mass is None:
        return StudentRule(distances_to_means(moments, (covariance,)), constant, power, nu * ((n + 1) / n))
    within, origin = _means_on_axes(moments, mass, np.sqrt(moments.total / nu))
    return StudentRule(within.distances(origin), constant, power, moments.total * (n + 1) / n)


def class_predictive_rule(
    moments: ClassMoments,
    covariances: tuple[Covariance, ...],
    log_prior: Floats,
    *,
    mass: bool = False,
    n_dropped: int = 0,
) -> StudentRule:
    """Return the predictive rule with a covariance for each class, unbiased with n_k - 1 degrees of freedom.

    The scores are, with G the gamma function and up to a constant,

        ln prior_k + ln G(n_k/2) - ln G((n_k-p)/2) - ln|(n_k-1) S_k|/2 + p/2 ln(n_k/(n_k+1))
        - n_k/2 ln(1 + n_k D2_k/(n_k^2-1)).

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariances : tuple of Covariance
        One for each class, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    mass : bool
        Version of MASS, which omits the gamma functions and scales D2 by 1/(n_k+1).
    n_dropped : int
        Number of columns that were integrated out of the moments; n_k becomes n_k - n_dropped in the gamma
        functions and the power.

    Returns
    -------
    StudentRule
        Its scores (m, K) are these log posteriors, up to a constant of each row.
    """
    n = moments.counts
    p = moments.n_columns
    squared = distances_to_means(moments, covariances)
    if mass:
        constant = log_prior - 0.5 * _logdets(covariances) - 0.5 * p * np.log(n + 1)
        return StudentRule(squared, constant, n / 2, n + 1)
    # Omits p/2 ln 2, which is equal for all classes.
    constant = (
        log_prior
        + student_log_constants(n - n_dropped, p)
        - 0.5 * (_logdets(covariances) + p * np.log1p(1 / n))
    )
    if n_dropped:
        constant += 0.5 * p * np.log1p(-n_dropped / (n - 1))
    return StudentRule(squared, constant, (n - n_dropped) / 2, (n - 1) * ((n + 1) / n))


def pooled_debiased_rule(
    moments: ClassMoments,
    covariance: Covariance,
    log_prior: Floats,
    nu: float,
    *,
    mass: CanonicalAxes | None = None,
) -> LinearRule:
    """Return the debiased rule with a common covariance: ln prior_k - [(nu-p-1)/nu D2_k - p/n_k]/2.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariance : Covariance
        Common covariance of the classes, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    nu : float
        Degrees of freedom of the covariance.
    mass : CanonicalAxes or None
        Axes for the version of MASS, in which p is the number of axes and -p/n_k replaces p/(2 n_k).

    Returns
    -------
    LinearRule
        Its scores (m, K) are these log posteriors, up to a constant of each row.
    """
    p = moments.n_columns
    n = moments.counts
    if mass is None:
        origin, _ = move_origin(moments, weighted_centre(moments.means, n))
        means = class_means(moments, covariance)
        factor = (nu - p - 1) / nu
        return nearest_mean_rule(means, origin, log_prior + 0.5 * p / n, factor)
    r = mass.axes.shape[1]
    within, origin = _means_on_axes(moments, mass, 1.0)
    return nearest_mean_rule(within, origin, log_prior - r / n, (nu - r - 1) / nu)


def class_debiased_rule(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, *, mass: bool = False
) -> GaussianRule:
    """Return the debiased rule with a covariance for each class, unbiased with nu_k = n_k - 1 df.

    The scores are

        ln prior_k - [(nu_k-p-1)/nu_k D2_k - p/n_k + ln|S_k| + p ln(nu_k/2) - sum_j digamma((n_k-j)/2)]/2,

    j = 1..p. MASS sums j up to the number of classes and uses nu_k-p+1 instead of nu_k-p-1.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariances : tuple of Covariance
        One for each class, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    mass : bool
        Whether to compute the version of MASS.

    Returns
    -------
    GaussianRule
        Its scores (m, K) are these log posteriors, up to a constant of each row.
    """
    n = moments.counts
    p = moments.n_columns
    nu = n - 1
    terms = np.arange(1, (len(n) if mass else p) + 1)
    bias = logdet_bias(nu, terms)
    if mass:
        bias = bias + (p - len(n)) * np.log(nu / 2)
    constant = log_prior - 0.5 * (_logdets(covariances) + bias - p / n)
    factor = (nu - p + 1) / nu if mass else (nu - p - 1) / nu
    return GaussianRule(distances_to_means(moments, covariances), constant, factor)


def log_likelihood(moments: ClassMoments, logdets: Floats, log_prior: Floats) -> float:
    """Return the joint log-likelihood of classes and rows at maximum-likelihood covariances.

    The density is in the units of the data.

    Parameters
    ----------
    moments : ClassMoments
        Counts of the classes, and the scale of z.
    logdets : (K,) float
        Log-determinants of the covariances in the coordinates of the moments; all equal for a common
        covariance.
    log_prior : (K,) float
        Log prior probabilities of the classes.

    Returns
    -------
    float
        Sum over the rows of the weight times the log of prior times density.
    """
    n = moments.counts
    p = moments.n_columns
    units = 2.0 * np.log(moments.scale).sum()
    normal = float(n @ (logdets - units)) + moments.total * p * (1 + np.log(2 * np.pi))
    return float(n @ log_prior - 0.5 * normal)


def quadratic_form(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, a: int, b: int
) -> tuple[Floats, Floats, float]:
    """Return the log odds of class a against class b as x'Ax + x'b + c, in the units of the data.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    covariances : tuple of Covariance
        One for each class, or one for all, in the coordinates z of the moments.
    log_prior : (K,) float
        Log prior probabilities of the classes.
    a, b : int
        Positions of the classes.

    Returns
    -------
    A : (p, p) float
        Half the inverse covariance of b minus half the inverse covariance of a.
    b : (p,) float
        Coefficients of the columns.
    c : float
        Constant, which includes the log ratio of the priors.
    """
    scale = moments.scale
    matrices = []
    slopes = []
    constants = []
    for k in (a, b):
        covariance = covariances[k if len(covariances) > 1 else 0]
        mean = moments.class_means[k] * scale
        whitened = covariance.whiten(mean[:, None])
        matrices.append(covariance.precision() * scale[:, None] * scale)
        slopes.append(covariance.unwhiten(whitened)[:, 0] * scale)
        constants.append(log_prior[k] - 0.5 * covariance.logdet - 0.5 * float((whitened**2).sum()))
    return 0.5 * (matrices[1] - matrices[0]), slopes[0] - slopes[1], float(constants[0] - constants[1])


def _means_on_axes(moments: ClassMoments, canonical: CanonicalAxes, inflate: float) -> tuple[Means, Floats]:
    """Return class means with the metric of canonical axes, and rows (not means) inflated about the centre.

    Parameters
    ----------
    moments : ClassMoments
        Counts and means of the classes.
    canonical : CanonicalAxes
        Canonical axes with their centre.
    inflate : float
        Factor of the deviations of rows.

    Returns
    -------
    means : Means
        Means shrunk by `inflate` towards the centre, with distances multiplied by it.
    origin : (p,) float
        The centre in the units of the data.
    """
    origin, means = move_origin(moments, canonical.centre)
    # Inflating rows is equivalent to shrinking the means and inflating the distances.
    centres = origin + means / inflate / moments.scale
    centre_errors = means / inflate - (centres - origin) * moments.scale
    axes = canonical.axes * inflate
    return Means(centres, centre_errors, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y), origin


def _logdets(covariances: tuple[Covariance, ...]) -> Floats:
    """Return the log-determinants of covariances, (1,) for one of all classes or (K,) for one of each."""
    return np.array([covariance.logdet for covariance in covariances])


@dataclass(frozen=True, slots=True)
class PooledNormal:
    """Normal distribution of all rows, regardless of class.

    Attributes
    ----------
    distances : Distances
        Distances to its mean, with one class and the covariance of divisor N - 1.
    count : float
        Sum of the weights of the rows.
    """

    distances: Distances
    count: float

    def squared(self, x: Floats) -> Floats:
        """Return the squared Mahalanobis distances (m,) of rows x (m, p) in the units of the data."""
        return np.asarray(self.distances.squared(x)[0])

    def leave_one_out_squared(self, x: Floats, weights: Floats | None) -> Floats:
        """Return the leave-one-out squared distances of rows of the fit from the mean of the other rows.

        Parameters
        ----------
        x : (m, p) float
            Rows of the design matrix.
        weights : (m,) float or None
            Frequency weights, of which at most one unit is left out; None for ones.

        Returns
        -------
        (m,) float
            Infinite if the covariance without the row is singular.
        """
        codes = np.zeros(len(x), dtype=np.intp)
        counts = np.array([self.count])
        squared_distances, removal = leave_one_out_distances(
            x, codes, weights, self.distances, counts, self.count - 1
        )
        return np.where(removal.determinant_ratio > 0, squared_distances[0], np.inf)


def pooled_normal(moments: ClassMoments) -> PooledNormal | None:
    """Return the normal distribution of all rows, from moments with full scatters.

    Parameters
    ----------
    moments : ClassMoments
        Moments with scatters "pooled" or "class".

    Returns
    -------
    PooledNormal or None
        None if the sum of weights is at most the number of columns, if a column is constant or a linear
        combination of others, or if the moments are diagonal or thin.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [4.0], [6.0]])
    >>> normal = pooled_normal(ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2))
    >>> normal.squared(np.array([[8.0]])).round(4).tolist()
    [3.75]
    """
    if moments.scatters.ndim != 3:
        return None
    moments_of_all = moments.as_one_class()
    if moments_of_all.total <= moments.n_columns or dependencies(moments_of_all):
        return None
    return PooledNormal(
        distances_to_means(moments_of_all, (pooled_covariance(moments_of_all, moments_of_all.total - 1),)),
        moments_of_all.total,
    )


MAX_PATTERN_ELEMENTS = 2**23
"""Number of values in cached rules of patterns, at p^2 for each class, above which the cache is cleared."""


def missingness_patterns(is_missing: NDArray[np.bool_]) -> list[tuple[Codes, Codes]]:
    """Group rows with missing values in the same columns.

    Parameters
    ----------
    is_missing : (m, p) bool
        Whether a value is missing.

    Returns
    -------
    list of (columns, rows)
        For each pattern the positions of the observed (not missing) columns, which may be empty, and of the
        rows with this pattern. Without rows, the list is empty.

    Examples
    --------
    >>> is_missing = np.array([[True, False], [False, False], [True, False]])
    >>> [(columns.tolist(), rows.tolist()) for columns, rows in missingness_patterns(is_missing)]
    [([0, 1], [1]), ([1], [0, 2])]
    """
    if not len(is_missing):
        return []
    packed = np.packbits(is_missing, axis=1)
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [
        (np.flatnonzero(~is_missing[i]), row_index) for i, row_index in zip(first.tolist(), rows, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class MarginalRule:
    """Decision rule that integrates out missing values.

    Attributes
    ----------
    rule : Rule
        Rule for complete rows.
    log_prior : (K,) float
        Scores of a row without observed values.
    rule_of_columns : callable
        Maps positions (q,), with q at least 1, to the rule for rows (m, q) of these columns only.
    """

    rule: Rule
    log_prior: Floats
    rule_of_columns: Callable[[Codes], Rule]
    _rules: dict[bytes, Rule] = field(default_factory=dict, repr=False, compare=False)

    def scores(self, x: Floats) -> Floats:
        """Return the scores (m, K) of rows x (m, p), whose missing values are NaN.

        They are the scores of the observed columns, and `log_prior` if no column is observed.
        """
        scores = np.asarray(self.rule.scores(x))
        is_missing = np.isnan(x)
        rows = np.flatnonzero(is_missing.any(axis=1))
        for columns, row_index in missingness_patterns(is_missing[rows]):
            pattern_rows = rows[row_index]
            if len(columns):
                scores[pattern_rows] = self._rule_for_columns(columns).scores(
                    np.take(x[pattern_rows].T, columns, axis=0).T
                )
            else:
                scores[pattern_rows] = self.log_prior
        return scores

    def _rule_for_columns(self, columns: Codes) -> Rule:
        """Return the rule for rows (m, q) of the columns at positions (q,), from the cache or newly built.

        The cache is cleared first if its rules would have more than `MAX_PATTERN_ELEMENTS` values.
        """
        key = columns.tobytes()
        if key not in self._rules:
            if len(self._rules) * len(self.log_prior) * len(columns) ** 2 > MAX_PATTERN_ELEMENTS:
                self._rules.clear()
            self._rules[key] = self.rule_of_columns(columns)
        return self._rules[key]


def diagonal_moments_of_columns(moments: ClassMoments, keep: Codes) -> ClassMoments:
    """Return the moments of the columns at positions `keep`, with sums of squares and no cross-products."""
    return replace(
        moments,
        centres=moments.centres[:, keep],
        rests=moments.rests[:, keep],
        scale=moments.scale[keep],
        scatters=moments.squares[:, keep],
        roots=None,
    )
