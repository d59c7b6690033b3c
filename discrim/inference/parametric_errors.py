"""Error rates, typicality and posterior intervals of normal rules, computed from the normal model.

LDA and QDA results use these functions.

Theory. For two normal classes with equal covariances at squared distance D2, the rule with threshold t of the
log odds errs with probability Phi(t/D - D/2) in the first class and Phi(-t/D - D/2) in the second.
Lachenbruch & Mickey (1968, Technometrics 10, 1-11) name the estimates:

    D   the estimated distance instead of the true one, which is too optimistic;
    DS  the distance shrunk by (nu - p - 1)/nu, which removes its bias;
    O   the expected error of a rule with estimated parameters, to terms of first order in 1/n_1, 1/n_2, 1/nu
        (Okamoto, 1963, Annals of Mathematical Statistics 34, 1286-1301), at the estimated distance;
    OS  O at the shrunk distance.

Okamoto's threshold is t = 0. For any t, expanding the conditional error h = (t - (mu_1 - c)'b)/sqrt(b'S b) of
the estimated b and c about the truth, with a = 1/n_1 + 1/n_2 and g = 1/n_1 - 1/n_2, results in

    E h - h_0 = (t/D)(a/D2 - (p-1)/nu) + (D/2 - t/D)(p-1)(a + D2/nu)/(2 D2) + (p-1) g/(2 D),
    var h     = (t/D)^2 (a/D2 + 2/nu) + a/4 - t g/D2,
    E Phi(h)  = Phi(h_0) + phi(h_0) (E h - h_0 - h_0 var h/2),

which for t = 0 is Okamoto's formula. With costs c_kj the rule of minimum expected cost has the threshold

    t = ln pi_2/pi_1 + ln (c_21 - c_22)/(c_12 - c_11)

if both differences are positive; its mean cost in class k is sum_j c_kj P(j | k).

For more classes D and DS are integrals over the canonical axes. The region of a class is a polyhedron, which
intersects a ray from the class mean in an interval: along the ray the integral is exact, a difference of chi
distributions (Deak, 1980, Numerische Mathematik 35, 369-380). On a line there are two rays; in a plane they
are evenly spaced; in more dimensions their directions are fixed quasi-random points. With costs the regions
have curved boundaries, and quasi-random points replace the rows. The results are deterministic.

Standard errors use the delta method. Because the rule of the true means is optimal, a change of the rule does
not change the rate R = sum_k pi_k r_k to first order: dR/dm_k = pi_k E_k[c_kj (x - m_k)]. With G these
derivatives (K, r) and M the whitened means, the variance of R is sum_k |G_k|^2/n_k + tr(A^2)/(2 nu), A the
symmetric part of G'M.

*Typicality.* A new row x of class k lies at D2 from the estimated mean, with S on nu degrees of freedom; then
n_k/(n_k + 1) D2 (nu - p + 1)/(nu p) has an F distribution with p and nu - p + 1 degrees of freedom
(Hotelling's T2 for a sample of one; McLachlan, 1992, Discriminant Analysis and Statistical Pattern
Recognition, sec. 6.4). The chi-square that other programs print is its limit. A row of the fit is compared
with the other rows: its distances under the moments without it have the same distribution with n_k - 1 and
nu - 1.

*Posteriors.* Let s_k = ln pi_k - (D2_k + ln|S_k|)/2 be the scores of a row and u_k its whitened deviation
from mean k. Means and covariances of normal samples are independent, and the delta method gives

    cov(s_k, s_l) = [k = l] (D2_k + 1)/n_k + (u_k'u_l)^2 / (2 nu)           (common covariance),
    var(s_k)      = (D2_k + 1)/n_k + (D2_k^2 - 2 D2_k + p) / (2 nu_k)       (a covariance each),

without the 1 for a fixed prior. The derivatives of ln p_k/(1 - p_k) are 1 with respect to s_k and
-p_j/(1 - p_k) with respect to s_j: its variance follows, and intervals are computed on this scale.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from discrim.core.numerics.arrays import Floats, svd
from discrim.core.numerics.special import f_sf, normal_isf
from discrim.errors import NotSupportedError
from discrim.inference.error_rates import ErrorRateEstimate, log_interval, logit_interval

MAX_PRODUCTS = 2.0**27
"""Maximum number of multiplications of an integral, which has 256 to 65,536 points."""

N_RAYS = 2**12
"""Number of rays in a plane."""


def two_class_errors(
    d2: float, counts: Floats, nu: float, p: int, cut: float, *, shrunk: bool, expected: bool
) -> Floats:
    """Compute the error rates of the two classes of LDA under the normal model.

    Parameters
    ----------
    d2 : float
        Squared Mahalanobis distance of the means under the unbiased covariance.
    counts : (2,) float
        Number of rows of each class.
    nu : float
        Degrees of freedom of the covariance, N - K.
    p : int
        Number of columns.
    cut : float
        Threshold t of the log density ratio ln f_1/f_2, above which a row is assigned to the first class. If
        it is infinite, one rate is 0 and the other 1.
    shrunk : bool
        Whether to shrink the distance (DS and OS).
    expected : bool
        Whether to compute the expected error of the estimated rule (O and OS).

    Returns
    -------
    (2,) float
        Probabilities of misclassifying rows of the first and of the second class. Expected errors are
        expansions and may lie outside [0, 1].

    Raises
    ------
    NotSupportedError
        If the distance is zero, or if it is to be shrunk and nu <= p + 1.

    Examples
    --------
    >>> two_class_errors(4.0, np.array([50.0, 50.0]), 98, 4, 0.0, shrunk=False, expected=False).round(4)
    array([0.1587, 0.1587])
    """
    if shrunk:
        if nu <= p + 1:
            raise NotSupportedError(
                f"DS and OS require N - K > p + 1, but N - K is {nu:g} and p is {p}.",
                hint="Use methods='D', 'loo' or 'cv'.",
            )
        d2 = d2 * (nu - p - 1) / nu
    if not d2 > 0:
        raise NotSupportedError(
            "The class means do not differ. The error rate of the model is the rate of guessing.",
            hint="Use other predictors.",
        )
    inverse_counts = float((1 / counts).sum())
    rates = np.empty(2)
    for k, t in enumerate((cut, -cut)):
        d = np.sqrt(d2)
        threshold = t / d - d / 2
        rates[k] = scipy.special.ndtr(threshold)
        # With an infinite threshold all rows are assigned to one class.
        if expected and np.isfinite(t):
            g = 1 / counts[k] - 1 / counts[1 - k]
            drift = (t / d) * (inverse_counts / d2 - (p - 1) / nu) + (p - 1) * g / (2 * d)
            drift += (d / 2 - t / d) * (p - 1) * (inverse_counts + d2 / nu) / (2 * d2)
            variance = (t / d) ** 2 * (inverse_counts / d2 + 2 / nu) + inverse_counts / 4 - t * g / d2
            rates[k] += _normal_density(threshold) * (drift - threshold * variance / 2)
    return rates


def two_class_error_rate(
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
    density_factor: float = 1.0,
) -> ErrorRateEstimate:
    """Estimate the error rate or mean cost of LDA from the normal model, for two classes.

    The estimates D, DS, O and OS are defined in the module docstring. The standard error is by the delta
    method. The interval is normal on the logit scale, or on the log scale for mean costs.

    Parameters
    ----------
    d2, counts, nu, p
        Squared distance, class counts, degrees of freedom and number of columns, see `two_class_errors`.
    log_prior : (2,) float
        Logarithms of the prior probabilities, which sum to one.
    costs : (2, 2) float or None
        Costs of assigning a row of class k (rows) to class j (columns), any numbers; if one class is always
        cheaper, the rule assigns all rows to it. None to count errors.
    level : float
        Confidence level.
    shrunk, expected : bool
        Choice of the estimate: D (neither), DS (shrunk), O (expected) or OS (both); see `two_class_errors`.
    density_factor : float
        Factor of the log density ratio in the rule: N / (N - K) if its covariance has divisor N, otherwise 1.

    Returns
    -------
    ErrorRateEstimate
        `wrong` and `total` are NaN. The standard error reflects the sampling variation of the distance only.
        Errors are raised as in `two_class_errors`.
    """
    cost_matrix = 1.0 - np.eye(2) if costs is None else costs
    regret = np.array([cost_matrix[0, 1] - cost_matrix[0, 0], cost_matrix[1, 0] - cost_matrix[1, 1]])
    # If errors are cheaper than correct decisions in both classes, the rule is reversed.
    is_reversed = (regret < 0).all()
    cut = _log_odds_threshold(log_prior, -regret if is_reversed else regret) / density_factor
    rates = two_class_errors(d2, counts, nu, p, cut, shrunk=shrunk, expected=expected)
    label_probabilities = np.array([[1 - rates[0], rates[0]], [rates[1], 1 - rates[1]]])
    by_class = (
        rates
        if costs is None
        else ((label_probabilities[:, ::-1] if is_reversed else label_probabilities) * costs).sum(axis=1)
    )
    prior = np.exp(log_prior)
    factor = (nu - p - 1) / nu if shrunk else 1.0
    d = np.sqrt(d2 * factor)
    slopes = np.zeros(2)
    if np.isfinite(cut):
        slopes = np.array([(-0.5 - t / d**2) * _normal_density(t / d - d / 2) for t in (cut, -cut)])
    distance_variance = factor * ((1 / counts).sum() + d2 / (2 * nu))
    se = float(abs(prior * regret @ slopes) * np.sqrt(distance_variance))
    return _rates_with_interval(by_class, float(prior @ by_class), se, costs, level)


def _log_odds_threshold(log_prior: Floats, regret: Floats) -> float:
    """Return the threshold of ln f_1/f_2 above which the rule of minimum cost predicts the first class.

    Parameters
    ----------
    log_prior : (2,) float
        Logarithms of the prior probabilities.
    regret : (2,) float
        Cost of a wrong minus cost of a correct prediction for rows of each class.

    Returns
    -------
    float
        -inf if predicting the first class is always at least as cheap, otherwise +inf if predicting the
        second class is.
    """
    # The first class is cheaper if pi_1 f_1 regret_1 exceeds pi_2 f_2 regret_2, and is preferred in a tie.
    gains = np.where(np.isneginf(log_prior), 0.0, np.sign(regret))
    if (gains > 0).all():
        return float(log_prior[1] - log_prior[0] + np.log(regret[1] / regret[0]))
    return -np.inf if gains[0] >= 0 and gains[1] <= 0 else np.inf


def _rates_with_interval(
    by_class: Floats, estimate: float, se: float, costs: Floats | None, level: float
) -> ErrorRateEstimate:
    """Add the interval to an estimated error rate (logit scale) or mean cost (log scale).

    Parameters
    ----------
    by_class : (K,) float
        Error rate or mean cost of each class.
    estimate, se : float
        Overall rate and its standard error.
    costs : (K, K) float or None
        Costs, if the rate is a mean cost; None for an error rate.
    level : float
        Confidence level.

    Returns
    -------
    ErrorRateEstimate
    """
    if costs is None:
        return ErrorRateEstimate(by_class, estimate, se, *logit_interval(estimate, se, level))
    return ErrorRateEstimate(by_class, estimate, se, *log_interval(estimate, se**2, level))


def _normal_density(x: Floats | float) -> Floats:
    """Return the density of the standard normal distribution at each element of x."""
    return np.asarray(np.exp(-0.5 * np.square(x)) / np.sqrt(2 * np.pi))


def multiclass_error_rate(
    means: Floats,
    counts: Floats,
    nu: float,
    log_prior: Floats,
    costs: Floats | None,
    level: float,
    *,
    shrunk: bool,
    density_factor: float,
) -> ErrorRateEstimate:
    """Estimate the error rate or mean cost of LDA from the normal model, for any number of classes.

    The estimates are D, at the estimated distances, and DS, at shrunk distances (see the module docstring).

    Parameters
    ----------
    means : (K, p) float
        Class means whitened by the unbiased covariance, about any origin.
    counts : (K,) float
        Number of rows of each class.
    nu : float
        Degrees of freedom of the covariance, N - K.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    costs : (K, K) float or None
        Costs of assigning a row of class k (rows) to class j (columns), any numbers; None to count errors.
    level : float
        Confidence level.
    shrunk : bool
        Whether to shrink the distances (DS).
    density_factor : float
        Factor of the log densities in the rule: N / (N - K) if its covariance has divisor N, otherwise 1.

    Returns
    -------
    ErrorRateEstimate
        `wrong` and `total` are NaN.

    Raises
    ------
    NotSupportedError
        If the distances are to be shrunk and nu <= p + 1.
    """
    p = means.shape[1]
    factor = (nu - p - 1) / nu if shrunk else 1.0
    if factor <= 0:
        raise NotSupportedError(
            f"DS requires N - K > p + 1, but N - K is {nu:g} and p is {p}.", hint="Use methods='D' or 'cv'."
        )
    # Coordinates (K, r) of the centred means in the space that they span.
    scaled = means * np.sqrt(factor)
    left_vectors, singular_values, _ = svd(scaled - scaled.mean(axis=0), full_matrices=False)
    rank = max(int((singular_values > 1e-12 * singular_values[0]).sum()), 1)
    coordinates = np.asarray(left_vectors[:, :rank] * singular_values[:rank])
    integral = (
        _error_rates_along_rays(coordinates, log_prior, density_factor)
        if costs is None
        else _mean_costs(coordinates, log_prior, costs, density_factor)
    )
    rates, slopes = integral
    prior = np.exp(log_prior)
    slopes = slopes * prior[:, None] * np.sqrt(factor)
    slope_products = slopes.T @ coordinates / np.sqrt(factor)
    variance = float((slopes**2).sum(axis=1) @ (1 / counts)) + float(
        ((slope_products + slope_products.T) ** 2).sum()
    ) / (8 * nu)
    return _rates_with_interval(rates, float(prior @ rates), float(np.sqrt(variance)), costs, level)


def _error_rates_along_rays(means: Floats, log_prior: Floats, density_factor: float) -> tuple[Floats, Floats]:
    """Integrate the error rates of the classes along rays from each class mean, with their derivatives.

    The rule assigns a row to the class with the largest posterior. The integral is exact along each ray of
    `_rays`, and averaged over the rays.

    Parameters
    ----------
    means : (K, r) float
        Means of the classes, whose covariance is the identity, in r coordinates.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    density_factor : float
        Factor of the log densities in the rule, see `multiclass_error_rate`.

    Returns
    -------
    rates : (K,) float
        Error rate of each class; one for a class with prior zero, whose slopes are zero.
    slopes : (K, r) float
        Derivative of the rate of each class with respect to the mean of the class, with the rule fixed.
        Multiplied by the class prior it is the derivative of the overall rate (see the module docstring).
    """
    k, r = means.shape
    rays = _rays(k, r)
    constant = log_prior - 0.5 * density_factor * (means**2).sum(axis=1)
    # Mean length of a standard normal vector.
    mean_norm = np.sqrt(2) * np.exp(scipy.special.gammaln((r + 1) / 2) - scipy.special.gammaln(r / 2))
    rates = np.ones(k)
    slopes = np.zeros((k, r))
    for code in np.flatnonzero(~np.isneginf(log_prior)):
        # The score minus the score of another class at distance t along a ray is start + slope t.
        mean_differences = density_factor * (means[code] - means)
        ray_slopes = rays @ mean_differences.T
        margins = mean_differences @ means[code] + constant[code] - constant
        with np.errstate(divide="ignore", invalid="ignore"):
            crossings = -margins / ray_slopes
        low = np.maximum(np.where(ray_slopes > 0, crossings, 0.0).max(axis=1), 0.0)
        high = np.where(ray_slopes < 0, crossings, np.inf).min(axis=1)
        # Ties are assigned to the first class.
        loses_at_origin = (margins < 0) | ((margins == 0) & (np.arange(k) < code))
        is_nonempty = (low < high) & ~((ray_slopes == 0) & loses_at_origin).any(axis=1)
        low, high = (np.where(is_nonempty, limit, np.inf) ** 2 / 2 for limit in (low, high))
        rates[code] = (scipy.special.gammainc(r / 2, low) + scipy.special.gammaincc(r / 2, high)).mean()
        moment = scipy.special.gammainc((r + 1) / 2, high) - scipy.special.gammainc((r + 1) / 2, low)
        slopes[code] = -mean_norm * moment @ rays / len(rays)
    return rates, slopes


def _mean_costs(
    means: Floats, log_prior: Floats, costs: Floats, density_factor: float
) -> tuple[Floats, Floats]:
    """Compute the mean costs of the classes under the rule of minimum expected cost, with derivatives.

    They are approximate: means over the deterministic points of `_quasi_random_points`.

    Parameters
    ----------
    means : (K, r) float
        Means of the classes, whose covariance is the identity, in r coordinates.
    log_prior : (K,) float
        Logarithms of the prior probabilities.
    costs : (K, K) float
        Costs of assigning a row of class k (rows) to class j (columns), any numbers.
    density_factor : float
        Factor of the log densities in the rule, see `multiclass_error_rate`.

    Returns
    -------
    rates : (K,) float
        Mean cost of each class.
    slopes : (K, r) float
        Derivative of the rate of each class with respect to the mean of the class, with the rule fixed.
        Multiplied by the class prior it is the derivative of the overall rate (see the module docstring).
    """
    k, r = means.shape
    points = _quasi_random_points(k, r)
    constant = log_prior - 0.5 * density_factor * (means**2).sum(axis=1)
    rates = np.empty(k)
    slopes = np.empty((k, r))
    for code, mean in enumerate(means):
        scores = density_factor * (points + mean) @ means.T + constant
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        row_costs = costs[code, np.argmin(weights @ costs, axis=1)]
        rates[code] = row_costs.mean()
        slopes[code] = (row_costs - rates[code]) @ points / len(points)
    return rates, slopes


def _rays(k: int, r: int) -> Floats:
    """Return unit vectors (m, r) that cover all directions of r dimensions evenly.

    Their number is 2 on a line and `N_RAYS` in a plane; otherwise it depends on r and the number k of classes
    (see `_quasi_random_points`).
    """
    if r == 1:
        return np.array([[1.0], [-1.0]])
    if r == 2:
        angles = 2 * np.pi * (np.arange(N_RAYS) + 0.5) / N_RAYS
        return np.column_stack([np.cos(angles), np.sin(angles)])
    points = _quasi_random_points(k, r)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _quasi_random_points(k: int, r: int) -> Floats:
    """Return deterministic quasi-random points of a standard normal distribution (scrambled Sobol points).

    Parameters
    ----------
    k : int
        Number of classes; affects only the number of points.
    r : int
        Dimension of the distribution.

    Returns
    -------
    (m, r) float
        m is the largest power of two up to `MAX_PRODUCTS` / (k^2 r), but not below 2^8 or above 2^16.
    """
    from scipy.stats import qmc

    power = np.clip(np.floor(np.log2(MAX_PRODUCTS / (k * k * r))), 8, 16)
    return np.asarray(scipy.special.ndtri(qmc.Sobol(r, seed=0).random_base2(int(power))))


def typicality_pvalues(d2: Floats, counts: Floats, dfs: Floats, p: int) -> Floats:
    """Compute the typicality P(D2 > d2 | class) of rows that are not in the fit.

    Parameters
    ----------
    d2 : (K, m) float
        Squared Mahalanobis distances of m rows from the means of K classes under unbiased covariances.
    counts, dfs : (K, m) or (K, 1) float
        Class counts n_k and degrees of freedom nu of the covariance, without the row.
    p : int
        Number of columns.

    Returns
    -------
    (K, m) float
        Probability that a new row of the class is farther from its mean than the row; NaN for nu < p.
    """
    denominator = np.where(dfs >= p, dfs - p + 1, np.nan)
    f = counts / (counts + 1) * d2 * denominator / (dfs * p)
    return np.asarray(f_sf(f, p, denominator))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCovariance:
    """Sampling covariance matrices of the K class scores of each of m rows, as linear operators.

    Attributes
    ----------
    variances : (m, K) float
        Variance of each score.
    multiply : callable
        Multiplies the (K, K) covariance of each row by the vector in the same row of its argument: (m, K) to
        (m, K).
    """

    variances: Floats
    multiply: Callable[[Floats], Floats]


def common_score_covariance(
    d2: Floats, mean_distances: Floats, counts: Floats, nu: float, *, estimated_prior: bool
) -> ScoreCovariance:
    """Compute the covariances of the scores of LDA, which has a common covariance matrix.

    The scores s_k and their covariances are defined in the module docstring (*Posteriors*).

    Products of the covariance with a vector are computed from the squared distances, because with whitened
    deviations u_k from mean k, 2 u_k'u_l is D2_k + D2_l minus the squared distance of means k and l.

    Parameters
    ----------
    d2 : (m, K) float
        Squared Mahalanobis distance of each row from each class mean, under the unbiased covariance.
    mean_distances : (K, K) float
        Squared Mahalanobis distances between the class means, under the same covariance.
    counts : (K,) float
        Number of rows of each class.
    nu : float
        Degrees of freedom of the covariance.
    estimated_prior : bool
        Whether the prior is the class proportions, which adds 1/n_k to the variances.

    Returns
    -------
    ScoreCovariance
    """
    means = (d2 + estimated_prior) / counts
    squares = mean_distances**2

    def multiply(v: Floats) -> Floats:
        """Product (m, K) of the covariance of each row with its vector in v (m, K)."""
        weighted_d2 = v * d2
        mean_products = v @ mean_distances
        products = d2 * v.sum(axis=1, keepdims=True) + 2 * (
            weighted_d2.sum(axis=1, keepdims=True) - mean_products
        )
        products *= d2
        products += (
            (weighted_d2 * d2).sum(axis=1, keepdims=True) - 2 * (weighted_d2 @ mean_distances) + v @ squares
        )
        return np.asarray(products / (8 * nu) + means * v)

    return ScoreCovariance(means + d2**2 / (2 * nu), multiply)


def separate_score_covariance(
    d2: Floats, counts: Floats, nu: Floats, p: int, *, estimated_prior: bool
) -> ScoreCovariance:
    """Compute the covariances of the scores of QDA, in which each class has its own covariance matrix.

    The scores s_k and their variances are defined in the module docstring (*Posteriors*). The estimates of
    different classes are independent, and the covariance matrices are therefore diagonal.

    Parameters
    ----------
    d2 : (m, K) float
        Squared Mahalanobis distance of each row from each class mean, under the covariance of that class.
    counts, nu : (K,) float
        Number of rows of each class, and degrees of freedom of its covariance.
    p : int
        Number of columns.
    estimated_prior : bool
        Whether the prior is the class proportions, which adds 1/n_k to the variances.

    Returns
    -------
    ScoreCovariance
    """
    variances = (d2 + estimated_prior) / counts + (d2**2 - 2 * d2 + p) / (2 * nu)
    return ScoreCovariance(variances, lambda v: variances * v)


def posterior_intervals(
    posteriors: Floats, covariance: ScoreCovariance, level: float
) -> tuple[Floats, Floats]:
    """Compute confidence intervals of posteriors by the delta method, normal on the logit scale.

    Parameters
    ----------
    posteriors : (m, K) float
        Posterior probabilities of the rows; each row sums to one.
    covariance : ScoreCovariance
        Covariances of the scores of the rows.
    level : float
        Confidence level, which is not checked.

    Returns
    -------
    low, high : (m, K) float
        Limits between 0 and 1 for each class separately.
    """
    others = 1 - posteriors
    rows = np.arange(len(posteriors))
    best_class = posteriors.argmax(axis=1)
    remaining = posteriors.copy()
    remaining[rows, best_class] = 0.0
    # If p rounds to one, 1 - p is the sum of the other posteriors.
    others[rows, best_class] = np.where(
        posteriors[rows, best_class] > 0.5, remaining.sum(axis=1), others[rows, best_class]
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # The derivatives for class k are (e_k - p)/(1 - p_k); one product per row serves all k.
        product = covariance.multiply(posteriors)
        quadratic_forms = np.einsum("mk,mk->m", posteriors, product)[:, None]
        variance = (covariance.variances - 2 * product + quadratic_forms) / others**2
        # For p_k near one, e_k - p would lose accuracy by cancellation.
        slopes = -posteriors / others[rows, best_class][:, None]
        slopes[rows, best_class] = 1.0
        variance[rows, best_class] = np.einsum("mj,mj->m", slopes, covariance.multiply(slopes))
        logit = np.log(posteriors) - np.log(others)
        # A variance of zero may be slightly negative by rounding.
        half = normal_isf((1 - level) / 2) * np.sqrt(np.maximum(variance, 0.0))
    return scipy.special.expit(logit - half), scipy.special.expit(logit + half)
