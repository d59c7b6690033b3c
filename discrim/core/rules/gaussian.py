"""Rules and likelihoods of normal classes, from moments and covariances.

*Three ways to a posterior.* Plug-in puts the estimates in the place of the parameters. Predictive integrates
the parameters out under the usual vague prior, which turns each normal density into a Student density
(Aitchison & Dunsmore, 1975, Statistical Prediction Analysis, ch. 11; Ripley, 1996, Pattern Recognition and
Neural Networks, sec. 2.4). Debiased replaces each log density by its unbiased estimate (Moran & Murphy, 1979,
Applied Statistics 28, 223-232). R's MASS computes the last two differently; its numbers are given under
`mass=True`.

*Linear rules of nearest means* keep the digits of differences however far apart the classes lie. About an
origin o the score ln prior_k - D2_k/2 is, up to the row's own D2_o/2,

    (m_k - o)'S^-1 (x - o) - |m_k - o|^2 / 2 + ln prior_k,    |d|^2 = d'S^-1 d,

and its rounding is of the size of eps |m_k - o| |x - o|. What a perturbation of the row in its last bit does
to the difference of two scores is eps |m_k - m_l| |x| only. So an origin amid all classes, at R from the
farthest, is good for classes that differ by a fair share of R and bad for those that lie close together: the
scores of two classes at a distance of one are off by eps R^2. Classes that are *crowded*, closer than R/4 to
another, are scored again about one of them. A row takes part in that if its best class does, and its other
scores, of classes at least R/6 away from that one, keep their differences from about the common origin. The
radius falls to a quarter from one scoring to the next, so that a few of them are enough for any distances.

*One law of all rows*, whatever their classes: less the distance to it, a distance to a class says how much
farther a row is from the class than from what all rows are like (Ren, Fort, Liu, Roy, Padhy &
Lakshminarayanan, 2021, A simple fix to Mahalanobis distance for improving near-OOD detection,
arXiv:2106.09022). The covariance about the common mean has the divisor N - 1.

*Missing values.* A row x = (o, m), of which m is missing, has within class k the density of o, the integral
of that of x over m, which is right where that a value is missing does not depend on the missing values
themselves (Little & Rubin, 2020, Statistical Analysis with Missing Data, 3rd ed., sec. 1.3 and ch. 11). A
class is then as probable as prior_k times that density, and as its prior where nothing is observed. Under the
estimates it is normal with the mean and the part of the covariance of the columns o alone. Under the
predictive law of class k, a t distribution of nu_k - p + 1 degrees of freedom in p dimensions, it is one of
as many degrees of freedom in q of them; it is not what a fit to the q columns alone would give, whose vague
prior is that of fewer dimensions. The debiased log density of q columns is the unbiased estimate of theirs,
as their part of a Wishart matrix is one. So the rule of the columns o is one more rule of the same kind, with
the digits of that of complete rows, which rows that miss the same columns share: one factorization a pattern
and class, none a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, dependencies, pooled
from discrim.core.covariance.principal import Canonical, weighted_centre
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.special import determinant_bias, student_gain
from discrim.core.rules.leave_one_out import common_distances
from discrim.core.rules.rules import Crowd, Distances, GaussianRule, LinearRule, Nearest, Rule, StudentRule

ROOMY = 8.0
"""Distance of the farthest mean from the origin up to which no class is crowded: eps 8^2/2 is rounding."""

CLOSE = 0.25
COVERED = 0.0625
"""Shares of the farthest mean's distance: what is close to a class, and how far it speaks for others."""

NEAR_ZERO = 2.0
"""Typical deviations of the rows from the origin up to which zero is as good an origin, but for a bit."""

GAPS = 2**24
"""Distances between means that are held at once."""

MOST_NUMBERS = 2**24
"""Numbers of the coefficients that crowds hold together; those of crowds beyond are made when rows come."""


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Class means and the metric of the distances to them.

    Attributes
    ----------
    centres, rests : (K, p) float
        As of `ClassMoments`: the mean of class k is centres[k] + rests[k] / scale.
    scale : (p,) float
        Factors of the coordinates z.
    whiten : callable
        Transforms columns (p, k) in z to columns (r, k) whose squared lengths are the squared distances.
    unwhiten : callable
        Transforms whitened columns (r, k) to coefficients (p, k) of z.
    """

    centres: Floats
    rests: Floats
    scale: Floats
    whiten: Callable[[Floats], Floats]
    unwhiten: Callable[[Floats], Floats]

    def about(self, origin: Floats, classes: Codes) -> Floats:
        """Points (k, p) of some classes in z = (x - origin) * scale."""
        return np.asarray((self.centres[classes] - origin) * self.scale + self.rests[classes])

    def distances(self, origin: Floats) -> Nearest:
        """Squared distances of rows to the points, about an origin (p,) amid them."""
        rule = nearest_mean_rule(self, origin, np.zeros(len(self.centres)))
        return Nearest(rule, self.centres, self.rests, self.whiten)


@dataclass(frozen=True, slots=True)
class DeferredRule:
    """A rule that is built for each block of rows that it scores, to save memory.

    Attributes
    ----------
    made : callable
        Returns the rule; its argument limits the number of coefficients of its crowds.
    """

    made: Callable[[list[int]], LinearRule]

    def scores(self, x: Floats) -> Floats:
        """Scores (m, k) of rows x (m, p)."""
        return self.made([MOST_NUMBERS]).scores(x)


def nearest_mean_rule(means: Means, origin: Floats, constant: Floats, factor: float = 1.0) -> LinearRule:
    """Return the rule with the scores constant_k - factor D2_k / 2, up to a constant of each row.

    Parameters
    ----------
    means : Means
    origin : (p,) float
        A point between the means, in the units of the data.
    constant : (K,) float
        Such as log priors. A class with minus infinity is never predicted.
    factor : float
    """
    every = np.arange(len(constant))
    return _about(means, origin, every, every, constant, factor, np.inf, [MOST_NUMBERS])


def uncentred(rule: LinearRule, typical: Floats) -> LinearRule:
    """Return the rule with origin zero, which saves the subtraction, if that loses no digits.

    The rounding error of a score is relative to sum_j abs(x_j - o_j) abs(c_j) with origin o, and to
    sum_j abs(x_j) abs(c_j) with origin zero. `typical` (p,) are typical deviations of rows from o.
    """
    sizes = np.abs(rule.coef)
    if (
        not (rule.scale == 1).all()
        or not (np.abs(rule.origin) @ sizes <= NEAR_ZERO * (typical @ sizes)).all()
    ):
        return rule
    return replace(
        rule, origin=np.zeros(len(rule.origin)), intercept=rule.intercept - rule.origin @ rule.coef
    )


def _about(
    means: Means,
    origin: Floats,
    classes: Codes,
    best: Codes,
    constant: Floats,
    factor: float,
    reach: float,
    room: list[int],
) -> LinearRule:
    """Return the rule of some classes about an origin, with rules of crowds about their own origins.

    Parameters
    ----------
    means : Means
    origin : (p,) float
    classes : (k,) int
        Positions of the classes.
    best : (b,) int
        Positions among `classes` of those that may be the best class of a row.
    constant, factor
        As of `nearest_mean_rule`.
    reach : float
        Largest distance of the enclosing set of classes. Crowds are built only if the distances here are
        below half of it; otherwise only rounding errors separate the means.
    room : list of int
        Number of coefficients that crowds may still store; reduced here.
    """
    whitened = means.whiten(means.about(origin, classes).T)
    coef = means.unwhiten(whitened)
    intercept = constant[classes] - 0.5 * factor * (whitened**2).sum(axis=0)
    # Classes that a row may be given to, and the distance of the farthest from the origin.
    lengths = np.sqrt((whitened**2).sum(axis=0))
    possible = np.flatnonzero(np.isfinite(constant[classes]) & np.isfinite(lengths))
    radius = float(lengths[possible].max(initial=0.0))
    crowding = ROOMY < radius < reach / 2
    crowds = []
    for covered, members in _crowded(whitened, constant[classes], best, possible, radius) if crowding else ():
        own = classes[members]
        within = np.flatnonzero(np.isin(members, covered))
        nearby = partial(_about, means, means.centres[own[0]], own, within, constant, factor, radius)
        numbers = members.size * len(origin)
        if numbers <= room[0]:
            room[0] -= numbers
            crowds.append(Crowd(covered, members, nearby(room)))
        else:
            crowds.append(Crowd(covered, members, DeferredRule(nearby)))
    # Whatever the metric's layout: products with one of rows and with one of columns have the same bits then.
    coef = np.ascontiguousarray(factor * coef)
    return LinearRule(origin, means.scale, coef, intercept, tuple(crowds))


def _crowded(
    whitened: Floats, constant: Floats, best: Codes, possible: Codes, radius: float
) -> Iterator[tuple[Codes, Codes]]:
    """The classes among the best that each crowd speaks for, and its members, its origin the first."""
    if len(possible) < 3:
        return
    points = whitened[:, possible] / radius
    squares = (points**2).sum(axis=0)
    step = max(GAPS // len(possible), 1)

    def gaps_of(some: slice) -> Floats:
        gaps = points[:, some].T @ points
        gaps *= -2
        gaps += squares
        gaps += squares[some, None]
        return np.asarray(gaps)

    waiting = np.isin(possible, best)
    for start in range(0, len(possible), step):
        gaps = gaps_of(slice(start, start + step))
        waiting[start : start + step] &= np.count_nonzero(gaps <= CLOSE**2, axis=1) > 1
    if not waiting.any():
        return
    # Of so many classes that their gaps are not held, each that speaks for others has its own made again.
    all_gaps = gaps if step >= len(possible) else None
    for first in np.argsort(-constant[possible], kind="stable").tolist():
        if waiting[first]:
            own = gaps_of(slice(first, first + 1))[0] if all_gaps is None else all_gaps[first]
            covered = np.flatnonzero(waiting & (own <= COVERED**2))
            # Rounding may leave a class a little way from itself.
            waiting[covered] = waiting[first] = False
            others = np.flatnonzero(own <= CLOSE**2)
            members = np.append(first, others[others != first])
            yield possible[covered], possible[members]


def centred(moments: ClassMoments, centre: Floats) -> tuple[Floats, Floats]:
    """Return the origin (p,) moved to a centre (p,) in z, and the class means (K, p) relative to it."""
    origin = moments.origin + centre / moments.scale
    return origin, moments.means_from(origin)


def linear_rule(
    moments: ClassMoments, covariance: Covariance, log_prior: Floats, reduced: Canonical | None = None
) -> LinearRule:
    """Return the rule of a common covariance; with `reduced`, of the distances within these axes."""
    centre = weighted_centre(moments.means, moments.counts) if reduced is None else reduced.centre
    origin, _ = centred(moments, centre)
    means = class_means(moments, covariance if reduced is None else reduced)
    typical = np.sqrt(moments.squares.sum(axis=0) / moments.total)
    return uncentred(nearest_mean_rule(means, origin, log_prior), typical)


def class_means(moments: ClassMoments, metric: Covariance | Canonical) -> Means:
    """Return the class means with the metric of a covariance, or of the distance within canonical axes."""
    if isinstance(metric, Covariance):
        return Means(moments.centres, moments.rests, moments.scale, metric.whiten, metric.unwhiten)
    axes = metric.axes
    return Means(moments.centres, moments.rests, moments.scale, lambda z: axes.T @ z, lambda y: axes @ y)


def classification_functions(
    moments: ClassMoments, covariance: Covariance, log_prior: Floats, reduced: Canonical | None = None
) -> tuple[Floats, Floats]:
    """Return coefficients S^-1 m_k (p, K) and constants ln prior_k - m_k' S^-1 m_k / 2 (K,).

    Both are in the units of the data. With `reduced`, the distances are those within these axes.
    """
    centres = (moments.centres * moments.scale).T
    rests = moments.rests.T
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
    n = moments.counts
    p = moments.n_columns
    squared = distances(moments, covariances)
    if mass:
        constant = log_prior - 0.5 * _logdets(covariances) - 0.5 * p * np.log(n + 1)
        return StudentRule(squared, constant, n / 2, n + 1)
    # But for p/2 ln 2, which the classes share.
    constant = log_prior + student_gain(n - gone, p) - 0.5 * (_logdets(covariances) + p * np.log1p(1 / n))
    if gone:
        constant += 0.5 * p * np.log1p(-gone / (n - 1))
    return StudentRule(squared, constant, (n - gone) / 2, (n - 1) * ((n + 1) / n))


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
    p = moments.n_columns
    n = moments.counts
    if mass is None:
        origin, _ = centred(moments, weighted_centre(moments.means, n))
        means = class_means(moments, covariance)
        factor = (nu - p - 1) / nu
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
    n = moments.counts
    p = moments.n_columns
    nu = n - 1
    terms = np.arange(1, (len(n) if mass else p) + 1)
    bias = determinant_bias(nu, terms)
    if mass:
        bias = bias + (p - len(n)) * np.log(nu / 2)
    constant = log_prior - 0.5 * (_logdets(covariances) + bias - p / n)
    factor = (nu - p + 1) / nu if mass else (nu - p - 1) / nu
    return GaussianRule(distances(moments, covariances), constant, factor)


def log_likelihood(moments: ClassMoments, logdets: Floats, log_prior: Floats) -> float:
    """Log-likelihood of class and row jointly, at maximum-likelihood covariances.

    Their log-determinants (K,), in the coordinates of the moments, are all the same where classes share one.
    """
    n = moments.counts
    p = moments.n_columns
    units = 2.0 * np.log(moments.scale).sum()
    normal = float(n @ (logdets - units)) + moments.total * p * (1 + np.log(2 * np.pi))
    return float(n @ log_prior - 0.5 * normal)


def quadratic_form(
    moments: ClassMoments, covariances: tuple[Covariance, ...], log_prior: Floats, a: int, b: int
) -> tuple[Floats, Floats, float]:
    """Log odds of class a against b as x'Ax + x'b + c, in the units of the data."""
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


@dataclass(frozen=True, slots=True)
class WholeLaw:
    """One normal law of all rows: distances to its mean, and the count, or sum of weights, of the rows."""

    distances: Distances
    count: float

    def squared(self, x: Floats) -> Floats:
        """Squared distances (m,) of rows x (m, p)."""
        return np.asarray(self.distances.squared(x)[0])

    def left_out(self, x: Floats, weights: Floats | None) -> Floats:
        """Those of rows of the fit, each under the law of the others."""
        codes = np.zeros(len(x), dtype=np.intp)
        counts = np.array([self.count])
        found, gone = common_distances(x, codes, weights, self.distances, counts, self.count - 1)
        return np.where(gone.left > 0, found[0], np.inf)


def whole_law(moments: ClassMoments) -> WholeLaw | None:
    """The law of all rows, from moments with full scatters; None where its covariance has no inverse.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [4.0], [6.0]])
    >>> law = whole_law(ClassMoments.from_block(x, np.array([0, 0, 1, 1]), n_classes=2))
    >>> law.squared(np.array([[8.0]])).round(4).tolist()
    [3.75]
    """
    if moments.scatters.ndim != 3:
        return None
    whole = moments.as_one()
    if whole.total <= moments.n_columns or dependencies(whole):
        return None
    return WholeLaw(distances(whole, (pooled(whole, whole.total - 1),)), whole.total)


HELD_BY_PATTERNS = 2**23
"""Numbers that rules of patterns may hold, at p^2 for each class, before they are made anew."""


def patterns(holes: NDArray[np.bool_]) -> list[tuple[Codes, Codes]]:
    """The columns that are there, and the rows that have these and no others, by pattern of holes (m, p).

    Examples
    --------
    >>> holes = np.array([[True, False], [False, False], [True, False]])
    >>> [(columns.tolist(), rows.tolist()) for columns, rows in patterns(holes)]
    [([0, 1], [1]), ([1], [0, 2])]
    """
    if not len(holes):
        return []
    packed = np.packbits(holes, axis=1)
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    rows = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [(np.flatnonzero(~holes[i]), own) for i, own in zip(first.tolist(), rows, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class MarginalRule:
    """A rule of complete rows, and of rows without some columns those of the others, made by positions (q,).

    The log prior (K,) is the score of a row of which nothing is known.
    """

    rule: Rule
    log_prior: Floats
    of_columns: Callable[[Codes], Rule]
    _made: dict[bytes, Rule] = field(default_factory=dict, repr=False, compare=False)

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p), of which missing values (NaN) are integrated out."""
        scores = np.asarray(self.rule.scores(x))
        holes = np.isnan(x)
        rows = np.flatnonzero(holes.any(axis=1))
        for columns, at in patterns(holes[rows]):
            own = rows[at]
            if len(columns):
                scores[own] = self._rule_of(columns).scores(np.take(x[own].T, columns, axis=0).T)
            else:
                scores[own] = self.log_prior
        return scores

    def _rule_of(self, columns: Codes) -> Rule:
        key = columns.tobytes()
        if key not in self._made:
            if len(self._made) * len(self.log_prior) * len(columns) ** 2 > HELD_BY_PATTERNS:
                self._made.clear()
            self._made[key] = self.of_columns(columns)
        return self._made[key]


def means_of_columns(moments: ClassMoments, keep: Codes) -> ClassMoments:
    """Counts, means and sums of squares of some columns, without products of columns."""
    return replace(
        moments,
        centres=moments.centres[:, keep],
        rests=moments.rests[:, keep],
        scale=moments.scale[keep],
        scatters=moments.squares[:, keep],
        roots=None,
    )
