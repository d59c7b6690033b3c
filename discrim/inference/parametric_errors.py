"""Error rates of the linear rule computed from the normal model, not from the rows, and what it says of rows.

Theory. Between two normal classes with one covariance, at squared distance D2, the rule that cuts the log
odds at t errs with probability Phi(t/D - D/2) in the first class and Phi(-t/D - D/2) in the second.
Lachenbruch & Mickey (1968, Technometrics 10, 1-11) name the estimates:

    D   the estimated distance in the place of the true one: the rule at its best, too hopeful;
    DS  the distance shrunk by (nu - p - 1)/nu, which undoes its overshoot;
    O   the expected error of a rule with estimated parameters, to terms of first order in 1/n_1, 1/n_2, 1/nu
        (Okamoto, 1963, Annals of Mathematical Statistics 34, 1286-1301), at the estimated distance;
    OS  the same at the shrunk distance.

Okamoto's cut is t = 0. For any t, expanding the conditional error h = (t - (mu_1 - c)'b)/sqrt(b'S b) of the
estimated b and c about the truth, with a = 1/n_1 + 1/n_2 and g = 1/n_1 - 1/n_2, gives

    E h - h_0 = (t/D)(a/D2 - (p-1)/nu) + (D/2 - t/D)(p-1)(a + D2/nu)/(2 D2) + (p-1) g/(2 D),
    var h     = (t/D)^2 (a/D2 + 2/nu) + a/4 - t g/D2,
    E Phi(h)  = Phi(h_0) + phi(h_0) (E h - h_0 - h_0 var h/2),

which for t = 0 is Okamoto's. With costs c_kj the rule of least expected cost cuts the log odds at

    t = ln pi_2/pi_1 + ln (c_21 - c_22)/(c_12 - c_11),

where both differences are positive; its mean cost in class k is sum_j c_kj P(j | k).

For more classes D and DS are integrals over the canonical axes. A class keeps a polyhedron, of which a ray
from its mean has an interval: along the ray the integral is exact, a difference of chi distributions (Deak,
1980, Numerische Mathematik 35, 369-380). On a line there are two rays; in a plane they are evenly spaced; in
more dimensions their directions are fixed quasi-random points. Under costs the borders are curved, and such
points stand for the rows. Nothing is drawn, so that two calls agree.

Their standard errors are those of the delta method. The rule of the true means is the best one, so that its
own move changes the rate R = sum_k pi_k r_k by nothing of first order: dR/dm_k = pi_k E_k[c_kj (x - m_k)].
With G these slopes (K, r) and M the whitened means, the variance of R is sum_k |G_k|^2/n_k + tr(A^2)/(2 nu),
A the symmetric part of G'M.

*Typicality.* A new row x of class k lies at D2 from the estimated mean, with S on nu degrees of freedom; then
n_k/(n_k + 1) D2 (nu - p + 1)/(nu p) has an F distribution with p and nu - p + 1 degrees of freedom
(Hotelling's T2 for a sample of one; McLachlan, 1992, Discriminant Analysis and Statistical Pattern
Recognition, sec. 6.4). The chi-square that other programs print is its limit. A row of the fit is judged
by the others: its distances under the moments without it have the same distribution with n_k - 1 and nu -
1.

*Posteriors.* Let s_k = ln pi_k - (D2_k + ln|S_k|)/2 be the scores of a row and u_k its whitened deviation
from mean k. Means and covariances of normal samples are independent, and the delta method gives

    cov(s_k, s_l) = [k = l] (D2_k + 1)/n_k + (u_k'u_l)^2 / (2 nu)           (one covariance),
    var(s_k)      = (D2_k + 1)/n_k + (D2_k^2 - 2 D2_k + p) / (2 nu_k)       (a covariance each),

without the 1 where the prior is given. Of ln p_k/(1 - p_k) the derivatives are 1 by s_k and
-p_j/(1 - p_k) by s_j: its variance follows, and intervals are made on this scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from discrim.core.numerics.arrays import Floats, svd
from discrim.core.numerics.special import f_sf, normal_isf
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import Rates, log_interval, logit_interval

PRODUCTS = 2.0**27
"""Multiplications that an integral may take; it has 256 to 65,536 points."""

RAYS = 2**12
"""Rays of a plane."""


def error_by_class(
    d2: float, counts: Floats, nu: float, p: int, cut: float, *, shrunk: bool, expected: bool
) -> Floats:
    """Probabilities (2,) that a row of the first and of the second class is called the other.

    D2 is the squared distance of the means under the unbiased covariance, and nu N - K. The cut is the log
    odds of the first class against the second, above which a row is called the first. DS and OS shrink the
    distance; O and OS are the expected error of the estimated rule.

    Examples
    --------
    >>> error_by_class(4.0, np.array([50.0, 50.0]), 98, 4, 0.0, shrunk=False, expected=False).round(4)
    array([0.1587, 0.1587])
    """
    if shrunk:
        if nu <= p + 1:
            raise NotSupportedError(
                f"DS and OS need N - K > p + 1; here N - K is {nu:g} and p is {p}.",
                hint="Use 'D', 'loo' or 'cv'.",
            )
        d2 = d2 * (nu - p - 1) / nu
    if not d2 > 0:
        raise NotSupportedError(
            "The class means do not differ: the model has no error rate but chance.",
            hint="Use other columns.",
        )
    a = float((1 / counts).sum())
    rates = np.empty(2)
    for k, t in enumerate((cut, -cut)):
        d = np.sqrt(d2)
        start = t / d - d / 2
        rates[k] = scipy.special.ndtr(start)
        # A cut at infinity leaves no doubt: one class is called always.
        if expected and np.isfinite(t):
            g = 1 / counts[k] - 1 / counts[1 - k]
            drift = (t / d) * (a / d2 - (p - 1) / nu) + (p - 1) * g / (2 * d)
            drift += (d / 2 - t / d) * (p - 1) * (a + d2 / nu) / (2 * d2)
            variance = (t / d) ** 2 * (a / d2 + 2 / nu) + a / 4 - t * g / d2
            rates[k] += _height(start) * (drift - start * variance / 2)
    return rates


def two_classes(
    d2: float,
    counts: Floats,
    nu: float,
    p: int,
    log_prior: Floats,
    costs: Floats | None,
    level: float,
    *,
    shrunk: bool,
    expected: bool,
    stretch: float = 1.0,
) -> Rates:
    """D, DS, O or OS of two classes, with the standard error that comes from the distance's own.

    As of `error_by_class`. Costs (2, 2) are of any kind: where one class costs least for every row, the rule
    calls it always. The interval is normal on the logit scale, of mean costs on the log scale.
    """
    unit = 1.0 - np.eye(2) if costs is None else costs
    regret = np.array([unit[0, 1] - unit[0, 0], unit[1, 0] - unit[1, 1]])
    # Costs that reward errors turn the rule round.
    turned = (regret < 0).all()
    cut = _cut(log_prior, -regret if turned else regret) / stretch
    rates = error_by_class(d2, counts, nu, p, cut, shrunk=shrunk, expected=expected)
    called = np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])
    by_class = rates if costs is None else ((called[:, ::-1] if turned else called) * costs).sum(axis=1)
    prior = np.exp(log_prior)
    factor = (nu - p - 1) / nu if shrunk else 1.0
    d = np.sqrt(d2 * factor)
    slopes = np.zeros(2)
    if np.isfinite(cut):
        slopes = np.array([(-0.5 - t / d**2) * _height(t / d - d / 2) for t in (cut, -cut)])
    spread = factor * ((1 / counts).sum() + d2 / (2 * nu))
    error = float(abs(prior * regret @ slopes) * np.sqrt(spread))
    return _rates(by_class, float(prior @ by_class), error, costs, level)


def _cut(log_prior: Floats, regret: Floats) -> float:
    """Log odds of the first class, beyond which it costs less; infinite where one class always costs less."""
    # The first class costs less where pi_1 f_1 regret_1 exceeds pi_2 f_2 regret_2, and is called in a tie.
    gains = np.where(np.isneginf(log_prior), 0.0, np.sign(regret))
    if (gains > 0).all():
        return float(log_prior[1] - log_prior[0] + np.log(regret[1] / regret[0]))
    return -np.inf if gains[0] >= 0 and gains[1] <= 0 else np.inf


def _rates(by_class: Floats, estimate: float, error: float, costs: Floats | None, level: float) -> Rates:
    """An estimate with its interval: a share, or a mean cost, which may be more than one."""
    if costs is None:
        return Rates(by_class, estimate, error, *logit_interval(estimate, error, level))
    return Rates(by_class, estimate, error, *log_interval(estimate, error**2, level))


def _height(x: Floats | float) -> Floats:
    """Density of the standard normal."""
    return np.asarray(np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi))


def many_classes(
    means: Floats,
    counts: Floats,
    nu: float,
    log_prior: Floats,
    costs: Floats | None,
    level: float,
    *,
    shrunk: bool,
    stretch: float,
) -> Rates:
    """D or DS of any number of classes, from means (K, p) whitened by the unbiased covariance.

    As `two_classes`. The stretch is a factor of the rule's log densities: N / (N - K) where its covariance
    has divisor N, else 1.
    """
    p = means.shape[1]
    factor = (nu - p - 1) / nu if shrunk else 1.0
    if factor <= 0:
        raise NotSupportedError(
            f"DS needs N - K > p + 1; here N - K is {nu:g} and p is {p}.", hint="Use 'D' or 'cv'."
        )
    # Coordinates (K, r) of the means in the space that they span about their centre.
    scaled = means * np.sqrt(factor)
    left, singular, _ = svd(scaled - scaled.mean(axis=0), full_matrices=False)
    rank = max(int((singular > 1e-12 * singular[0]).sum()), 1)
    coordinates = np.asarray(left[:, :rank] * singular[:rank])
    integral = (
        _kept(coordinates, log_prior, stretch)
        if costs is None
        else _paid(coordinates, log_prior, costs, stretch)
    )
    rates, slopes = integral
    prior = np.exp(log_prior)
    slopes = slopes * prior[:, None] * np.sqrt(factor)
    turn = slopes.T @ coordinates / np.sqrt(factor)
    variance = float((slopes**2).sum(axis=1) @ (1 / counts)) + float(((turn + turn.T) ** 2).sum()) / (8 * nu)
    return _rates(rates, float(prior @ rates), float(np.sqrt(variance)), costs, level)


def _kept(means: Floats, log_prior: Floats, stretch: float) -> tuple[Floats, Floats]:
    """Errors (K,) of rows of unit covariance about means (K, r), and their slopes (K, r) by these."""
    k, r = means.shape
    rays = _rays(k, r)
    constant = log_prior - 0.5 * stretch * (means**2).sum(axis=1)
    # The mean length of a standard normal vector, as a factor of a chi distribution's.
    length = np.sqrt(2) * np.exp(scipy.special.gammaln((r + 1) / 2) - scipy.special.gammaln(r / 2))
    rates = np.ones(k)
    slopes = np.zeros((k, r))
    for code in np.flatnonzero(~np.isneginf(log_prior)):
        # The lead over each other class at distance t along a ray is start + slope t.
        gaps = stretch * (means[code] - means)
        slope = rays @ gaps.T
        start = gaps @ means[code] + constant[code] - constant
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -start / slope
        low = np.maximum(np.where(slope > 0, ends, 0.0).max(axis=1), 0.0)
        high = np.where(slope < 0, ends, np.inf).min(axis=1)
        # Of classes that are alike the first is called.
        behind = (start < 0) | ((start == 0) & (np.arange(k) < code))
        kept = (low < high) & ~((slope == 0) & behind).any(axis=1)
        low, high = (np.where(kept, end, np.inf) ** 2 / 2 for end in (low, high))
        rates[code] = (scipy.special.gammainc(r / 2, low) + scipy.special.gammaincc(r / 2, high)).mean()
        moment = scipy.special.gammainc((r + 1) / 2, high) - scipy.special.gammainc((r + 1) / 2, low)
        slopes[code] = -length * moment @ rays / len(rays)
    return rates, slopes


def _paid(means: Floats, log_prior: Floats, costs: Floats, stretch: float) -> tuple[Floats, Floats]:
    """Mean costs (K,) of the same under the rule of least expected cost, and their slopes (K, r)."""
    k, r = means.shape
    noise = _points(k, r)
    constant = log_prior - 0.5 * stretch * (means**2).sum(axis=1)
    rates = np.empty(k)
    slopes = np.empty((k, r))
    for code, mean in enumerate(means):
        values = stretch * (noise + mean) @ means.T + constant
        weights = np.exp(values - values.max(axis=1, keepdims=True))
        paid = costs[code, np.argmin(weights @ costs, axis=1)]
        rates[code] = paid.mean()
        slopes[code] = (paid - rates[code]) @ noise / len(noise)
    return rates, slopes


def _rays(k: int, r: int) -> Floats:
    """Directions (m, r) that stand for all of them, for k classes."""
    if r == 1:
        return np.array([[1.0], [-1.0]])
    if r == 2:
        angles = 2 * np.pi * (np.arange(RAYS) + 0.5) / RAYS
        return np.column_stack([np.cos(angles), np.sin(angles)])
    points = _points(k, r)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _points(k: int, r: int) -> Floats:
    """Quasi-random points (m, r) of a standard normal law, always the same ones."""
    from scipy.stats import qmc

    power = np.clip(np.floor(np.log2(PRODUCTS / (k * k * r))), 8, 16)
    return np.asarray(scipy.special.ndtri(qmc.Sobol(r, seed=0).random_base2(int(power))))


def typical(d2: Floats, counts: Floats, free: Floats, p: int) -> Floats:
    """P(D2 > d2 | class) of new rows, (K, m), from squared distances under unbiased covariances.

    Counts n_k and degrees of freedom nu of the covariance, (K, m) or (K, 1), are those without the row. It is
    missing where nu < p.
    """
    denominator = np.where(free >= p, free - p + 1, np.nan)
    f = counts / (counts + 1) * d2 * denominator / (free * p)
    return np.asarray(f_sf(f, p, denominator))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCovariance:
    """Covariances of the K scores of each of m rows, as what they do.

    There are the variances (m, K), and what makes of vectors (m, K), one a row, the products (m, K) with the
    covariance of the row.
    """

    variances: Floats
    times: Callable[[Floats], Floats]


def common_covariance(
    d2: Floats, gaps: Floats, counts: Floats, nu: float, *, estimated_prior: bool
) -> ScoreCovariance:
    """Covariances of scores under one covariance.

    They come from the squared distances d2 (m, K) of rows to means, and `gaps` (K, K) between the means. As
    2 u_k'u_l is D2_k + D2_l less the gap of k and l, the squares of all pairs times a vector are three
    products with the gaps, and no row has a matrix of its own.
    """
    means = (d2 + estimated_prior) / counts
    squares = gaps**2

    def times(v: Floats) -> Floats:
        along = v * d2
        twice = v @ gaps
        inner = d2 * v.sum(axis=1, keepdims=True) + 2 * (along.sum(axis=1, keepdims=True) - twice)
        inner *= d2
        inner += (along * d2).sum(axis=1, keepdims=True) - 2 * (along @ gaps) + v @ squares
        return np.asarray(inner / (8 * nu) + means * v)

    return ScoreCovariance(means + d2**2 / (2 * nu), times)


def separate_covariance(
    d2: Floats, counts: Floats, nu: Floats, p: int, *, estimated_prior: bool
) -> ScoreCovariance:
    """Covariances of scores where each class has its own; as `common_covariance`."""
    variances = (d2 + estimated_prior) / counts + (d2**2 - 2 * d2 + p) / (2 * nu)
    return ScoreCovariance(variances, lambda v: variances * v)


def delta_intervals(posteriors: Floats, covariance: ScoreCovariance, level: float) -> tuple[Floats, Floats]:
    """Lower and upper bounds (m, K) of posteriors (m, K), normal on the logit scale."""
    others = 1 - posteriors
    rows = np.arange(len(posteriors))
    top = posteriors.argmax(axis=1)
    remaining = posteriors.copy()
    remaining[rows, top] = 0.0
    # Where p is one in floating point, the others' sum is what it leaves of them.
    others[rows, top] = np.where(posteriors[rows, top] > 0.5, remaining.sum(axis=1), others[rows, top])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # The derivatives for class k are (e_k - p)/(1 - p_k): one product a row for all k together.
        product = covariance.times(posteriors)
        whole = np.einsum("mk,mk->m", posteriors, product)[:, None]
        variance = (covariance.variances - 2 * product + whole) / others**2
        # Where p_k is near one, e_k - p would lose the digits of what it leaves.
        slopes = -posteriors / others[rows, top][:, None]
        slopes[rows, top] = 1.0
        variance[rows, top] = np.einsum("mj,mj->m", slopes, covariance.times(slopes))
        logit = np.log(posteriors) - np.log(others)
        # A variance that is nothing can come out below it by rounding.
        half = normal_isf((1 - level) / 2) * np.sqrt(np.maximum(variance, 0.0))
    return scipy.special.expit(logit - half), scipy.special.expit(logit + half)
