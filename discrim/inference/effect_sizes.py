"""Effect sizes with intervals, and simultaneous intervals for differences of class means.

*Intervals* invert a test: the limits of a noncentrality are the values for which the observed statistic is
the (1 + level)/2 and the (1 - level)/2 quantile of its distribution. They are valid for normal rows with
equal covariances. A limit is zero if the statistic is below this quantile without an effect.

    partial eta squared     lambda/(lambda + N), lambda the noncentrality of F on df1 and df2 (Steiger, 2004,
                            Psychological Methods 9, 164-182); R's effectsize uses df2 instead of N. Omega
                            squared, df1 (F - 1)/(df1 (F - 1) + N), estimates it with less bias.
    Cohen's d               delta/sqrt(h), delta the noncentrality of t = d sqrt(h) on v, h = n_i n_j/(n_i +
                            n_j), d the difference divided by the within-class standard deviation, v = N - K.
    Mahalanobis distance    sqrt(lambda/h), lambda the noncentrality of Hotelling's F on p and v - p + 1
                            (Reiser, 2001, Communications in Statistics, Simulation and Computation 30,
                            37-45).

*Simultaneous intervals* for differences of means are difference +- c se, with joint coverage for a family:
for Tukey the differences between the K classes for one column, c = q/sqrt(2) with q a quantile of the
studentized range (Kramer, 1956, Biometrics 12, 307-310, for unequal sizes, where it is conservative); for
Scheffe the contrasts between classes for one column, c^2 = (K - 1) F; for Roy the contrasts of all linear
combinations of the columns, c^2 = v lambda, with lambda the 1 - level critical value of the greatest root of
E^-1 H (Roy & Bose, 1953, Annals of Mathematical Statistics 24, 513-536); for Bonferroni and Sidak the m
differences of the table, with c a quantile of t.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.greatest_root import gauss_legendre_rule, greatest_root_isf, greatest_root_sf
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import f_sf, t_isf, t_sf
from discrim.inference.error_rates import check_level

Simultaneous = Literal["tukey", "scheffe", "roy", "bonferroni", "sidak"]
"""Methods of simultaneous intervals, see the module docstring."""


MAX_SCIPY_NONCENTRALITY = 1e5
"""Noncentrality above which scipy's noncentral distributions are inaccurate and slow."""


def f_noncentrality_limits(f: Any, df1: Any, df2: Any, level: float) -> tuple[Floats, Floats]:
    """Compute confidence limits of the noncentrality of F statistics.

    Parameters
    ----------
    f, df1, df2 : array_like
        Statistics and degrees of freedom; broadcast.
    level : float
        Confidence level of the two-sided interval; a DataError is raised if it is not between 0 and 1.

    Returns
    -------
    low, high : ndarray of float
        In the broadcast shape; infinite for an infinite F, otherwise NaN if F or its degrees of freedom are
        missing or degrees of freedom are not positive.

    Examples
    --------
    >>> [limit.round(6).tolist() for limit in f_noncentrality_limits(10.0, 2.0, 30.0, 0.95)]
    [4.010038, 43.790765]
    """
    check_level(level)

    def limit(probability: float, f: float, df1: float, df2: float) -> float:
        """Noncentrality for which f is the quantile of `probability`; zero if it does not exist."""
        if not (np.isfinite([f, df1, df2]).all() and df1 > 0 and df2 > 0):
            return f if f == np.inf else np.nan
        if scipy.special.fdtr(df1, df2, f) <= probability:
            return 0.0
        return _decreasing_root(lambda nc: _noncentral_f_cdf(f, df1, df2, nc) - probability, 0.0, df1 * f + 1)

    return _elementwise_limits(limit, level, f, df1, df2)


def t_noncentrality_limits(t: Any, df: float, level: float) -> tuple[Floats, Floats]:
    """Compute confidence limits of the noncentrality of t statistics.

    Parameters
    ----------
    t : array_like
        Statistics.
    df : float
        Degrees of freedom.
    level : float
        Confidence level of the two-sided interval; a DataError is raised if it is not between 0 and 1.

    Returns
    -------
    low, high : ndarray of float
        In the shape of `t`; t itself if it is infinite, otherwise NaN if it is missing or `df` is not
        positive.
    """
    check_level(level)

    def limit(probability: float, t: float) -> float:
        """Noncentrality, of any sign, for which t is the quantile of `probability`."""
        if not (np.isfinite(t) and df > 0):
            return t if np.isinf(t) else np.nan
        if t < 0:
            return -limit(1 - probability, -t)
        return _decreasing_root(lambda nc: _noncentral_t_cdf(t, df, nc) - probability, -np.inf, t)

    return _elementwise_limits(limit, level, t)


def _elementwise_limits(limit: Callable[..., float], level: float, *statistics: Any) -> tuple[Floats, Floats]:
    """Compute confidence limits for each element of broadcast statistics, and show the progress.

    Parameters
    ----------
    limit : callable
        Returns one limit, given the probability of a smaller statistic and the statistics of an element.
    level : float
        Confidence level.
    *statistics : array_like
        Statistics and degrees of freedom; broadcast.

    Returns
    -------
    low, high : ndarray of float
    """
    arrays = np.broadcast_arrays(*(np.asarray(values, dtype=np.float64) for values in statistics))
    cases = list(zip(*(values.ravel().tolist() for values in arrays), strict=True))
    tails = (1 + level) / 2, (1 - level) / 2
    limits = np.empty((2, len(cases)))
    with Progress(len(cases), "limits of effects") as progress:
        for position, case in enumerate(cases):
            limits[:, position] = [limit(probability, *case) for probability in tails]
            progress(1)
    low, high = limits.reshape(2, *arrays[0].shape)
    return low, high


def _decreasing_root(decreasing: Callable[[float], float], lower_bound: float, start: float) -> float:
    """Find the root of a decreasing function of one variable, by bracketing.

    Parameters
    ----------
    decreasing : callable
        The function, which becomes negative; it is not negative at a finite `lower_bound`.
    lower_bound : float
        Smallest possible root, or minus infinity.
    start : float
        Starting value, near the root.

    Returns
    -------
    float
    """
    step = 1.0 + abs(start) / 8
    low, high = max(start - step, lower_bound), start + step
    while low > lower_bound and decreasing(low) < 0:
        step *= 2
        low = max(low - step, lower_bound)
    while decreasing(high) > 0:
        step *= 2
        high += step
    return float(scipy.optimize.brentq(decreasing, low, high, xtol=1e-12, rtol=1e-13))


def _noncentral_t_cdf(t: float, df: float, nc: float) -> float:
    """Return P(T <= t) for t >= 0 and the noncentral t distribution with noncentrality `nc`."""
    if abs(nc) < np.sqrt(MAX_SCIPY_NONCENTRALITY):
        return float(scipy.special.nctdtr(df, nc, t))
    # The other tail underflows in float64.
    return _noncentral_f_cdf(t * t, 1.0, df, nc * nc) if nc > 0 else 1.0


def _noncentral_f_cdf(f: float, df1: float, df2: float, nc: float) -> float:
    """Return P(F <= f) for the noncentral F distribution.

    For a large noncentrality it is the mean of P(chi2 >= df2 ((z + sqrt(nc))^2 + w)/(df1 f)), with chi2 on
    df2, z normal and w chi-square on df1 - 1, by Gauss quadrature.

    Parameters
    ----------
    f, df1, df2, nc : float
        Value of F, its degrees of freedom and the noncentrality.

    Returns
    -------
    float
    """
    if nc < MAX_SCIPY_NONCENTRALITY:
        return float(scipy.special.ncfdtr(df1, df2, nc, f))
    z, weights = gauss_legendre_rule(200)
    weights = weights * np.exp(-((9 * z) ** 2) / 2)
    chi_squares = np.zeros(1)
    node_weights = np.ones(1)
    if df1 > 1:
        k = np.arange(8)
        diagonal = 2 * k + (df1 - 1) / 2
        off_diagonal = np.sqrt(k[1:] * (k[1:] + (df1 - 3) / 2))
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off_diagonal)
        chi_squares = 2 * values
        node_weights = vectors[0] ** 2
    squares = (9 * z[:, None] + np.sqrt(nc)) ** 2 + chi_squares
    tails = scipy.special.chdtrc(df2, df2 * squares / (df1 * f))
    return float(weights @ tails @ node_weights / weights.sum())


def explained_variance_columns(f: Any, df1: Any, df2: Any, total: float, level: float) -> dict[str, Floats]:
    """Compute omega squared of F tests, and limits of partial eta squared (see the module docstring).

    Parameters
    ----------
    f, df1, df2 : array_like
        Statistics and degrees of freedom; broadcast.
    total : float
        Number of rows N.
    level : float
        Confidence level.

    Returns
    -------
    dict of ndarray
        Keys omega2 (negative for F < 1), low and high (limits of lambda/(lambda + N)). All are one for an
        infinite F.
    """
    low, high = f_noncentrality_limits(f, df1, df2, level)
    excess = np.asarray(df1) * (np.asarray(f) - 1)
    with np.errstate(invalid="ignore"):
        omega, low, high = (np.where(np.isinf(x), 1.0, x / (x + total)) for x in (excess, low, high))
    return {"omega2": omega, "low": low, "high": high}


def difference_table(
    means: pd.DataFrame,
    sd: Floats,
    counts: Floats,
    adjust: Simultaneous | None,
    level: float,
    n_combined: int,
) -> pd.DataFrame:
    """Return a table of differences of class means with tests, intervals and Cohen's d.

    Parameters
    ----------
    means : pandas.DataFrame
        (K, c) means of K classes (index) in c columns.
    sd : (c,) float
        Within-class standard deviations, divisor N - K.
    counts : (K,) float
        Number of rows of each class.
    adjust : {"tukey", "scheffe", "roy", "bonferroni", "sidak"} or None
        Adjustment of p-values and intervals for several differences. The family of "bonferroni" and "sidak"
        are all differences of the table; the other families are defined in the module docstring.
    level : float
        Confidence level; a DataError is raised if it is not between 0 and 1.
    n_combined : int
        Number p of columns whose linear combinations form Roy's family; used by "roy" only.

    Returns
    -------
    pandas.DataFrame
        Indexed by (class, other, term), each pair of classes once and the column: difference (class minus
        other; the class that comes first in `means` is "class"), se, t, df
        (N - K), p (two-sided), p_adjusted (if adjusted), low, high, Cohen's d and its limits d_low and
        d_high, which are not adjusted.
    """
    check_level(level)
    (k, c), v, classes = means.shape, float(counts.sum()) - len(means), means.index
    i, j = np.array(list(combinations(range(k), 2))).T
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = counts[i] * counts[j] / (counts[i] + counts[j])
        mean_differences = means.to_numpy()[i] - means.to_numpy()[j]
        se = sd / np.sqrt(sizes)[:, None]
        t = (mean_differences / se).ravel()
    columns = {"difference": mean_differences.ravel(), "se": se.ravel(), "t": t, "df": v}
    columns["p"] = 2 * t_sf(np.abs(t), v)
    if adjust is not None:
        columns["p_adjusted"] = simultaneous_pvalues(t, columns["p"], adjust, k, n_combined, v)
    half = simultaneous_quantile(adjust, level, len(t), k, n_combined, v) * columns["se"]
    low, high = (limit / np.sqrt(sizes).repeat(c) for limit in t_noncentrality_limits(t, v, level))
    columns |= {"low": columns["difference"] - half, "high": columns["difference"] + half}
    columns |= {"d": t / np.sqrt(sizes).repeat(c), "d_low": low, "d_high": high}
    pairs = pd.MultiIndex.from_arrays(
        [classes[i].repeat(c), classes[j].repeat(c), np.tile(means.columns, len(i))]
    )
    return pd.DataFrame(columns, index=pairs.set_names(["class", "other", "term"]))


def simultaneous_method(adjust: str | None) -> Simultaneous | None:
    """Return an adjustment that has simultaneous intervals; None for any other adjustment."""
    methods: tuple[Simultaneous, ...] = get_args(Simultaneous)
    return next((method for method in methods if method == adjust), None)


def simultaneous_quantile(
    adjust: Simultaneous | None, level: float, m: int, k: int, p: int, v: float
) -> float:
    """Return the half-width of an interval of a difference of means, in standard errors.

    Parameters
    ----------
    adjust : {"tukey", "scheffe", "roy", "bonferroni", "sidak"} or None
        Method for joint coverage of all differences; None for separate intervals.
    level : float
        Confidence level.
    m, k, p : int
        Numbers of differences or contrasts of the family, of classes, and of combined columns (see
        `difference_table`). For "scheffe" and "roy", k - 1 is the dimension of the space of the contrasts.
    v : float
        Degrees of freedom of the within-class variance.

    Returns
    -------
    float
    """
    match adjust:
        case "tukey":
            return float(scipy.stats.studentized_range.ppf(level, k, v) / np.sqrt(2))
        case "scheffe":
            return float(np.sqrt((k - 1) * scipy.special.fdtri(k - 1, v, level)))
        case "roy":
            return float(np.sqrt(v * greatest_root_isf(1 - level, p, k - 1, v)))
        case "bonferroni":
            return float(t_isf((1 - level) / (2 * m), v))
        case "sidak":
            return float(t_isf(-np.expm1(np.log(level) / m) / 2, v))
        case None:
            return float(t_isf((1 - level) / 2, v))


def simultaneous_pvalues(
    t: Floats, unadjusted: Floats, adjust: Simultaneous, k: int, p: int, v: float
) -> Floats:
    """Return adjusted two-sided p-values of t statistics of differences of means.

    Parameters
    ----------
    t, unadjusted : (m,) float
        Statistics and unadjusted two-sided p-values.
    adjust : {"tukey", "scheffe", "roy", "bonferroni", "sidak"}
        Adjustment for several differences.
    k, p : int
        Numbers of classes and of combined columns; used by "tukey" and "scheffe" (k), and "roy" (both).
    v : float
        Degrees of freedom of the within-class variance.

    Returns
    -------
    (m,) float
    """
    m = len(t)
    match adjust:
        case "tukey":
            return tukey_pvalues(t, unadjusted, k, v)
        case "scheffe":
            return np.asarray(f_sf(t**2 / (k - 1), k - 1, v))
        case "roy":
            return greatest_root_pvalues(t**2 / v, p, k, v)
        case "bonferroni":
            return np.minimum(m * unadjusted, 1.0)
        case "sidak":
            return np.asarray(-np.expm1(m * np.log1p(-unadjusted)))


MAX_RANGE = 18.0
"""Range of standard normal values that is exceeded with a probability below 1e-30."""

MIN_STUDENTIZED_RANGE_SF = 1e-10
"""Probability below which `studentized_range_sf`, whose errors are about 1e-12, is not used."""


def studentized_range_sf(q: Floats, k: int, v: float) -> Floats:
    """Return the probability that the range of k standard normal values exceeds q s.

    s^2 is an independent mean square on v degrees of freedom, with the density f of s. With W the survival
    function of the range, the probability is the integral of W(q s) f(s), here by the rule of Gauss and
    Legendre. W is an integral too, and is replaced by a polynomial. scipy's `studentized_range` computes both
    integrals for each q, which is slow.

    Parameters
    ----------
    q : (m,) float
        Nonnegative; NaN yields NaN.
    k : int
        Number of values, 2 or more.
    v : float
        Degrees of freedom, 1 or more.

    Returns
    -------
    (m,) float
    """
    z, z_weights = gauss_legendre_rule(256)
    z = z * MAX_RANGE / 2
    z_weights = k * z_weights * MAX_RANGE / 2 * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)

    def range_sf(w: Floats) -> Floats:
        """Return W(w), from the largest value z and the others between z - w and z."""
        others = scipy.special.ndtr(z) - scipy.special.ndtr(z - w[:, None])
        return np.asarray(1 - others ** (k - 1) @ z_weights)

    polynomial = np.polynomial.Chebyshev.interpolate(range_sf, 200, [0, MAX_RANGE])
    node, weights = gauss_legendre_rule(128)
    low, high = np.sqrt(scipy.special.chdtri(v, [1 - 1e-16, 1e-17]) / v)
    with np.errstate(divide="ignore"):
        width = np.clip(MAX_RANGE / q, low, high) - low
    s = low + width[:, None] * (node + 1) / 2
    log_density = (v - 1) * np.log(s) - v * s**2 / 2 + v / 2 * np.log(v / 2) - scipy.special.gammaln(v / 2)
    integrand = 2 * np.exp(log_density) * polynomial(np.minimum(q[:, None] * s, MAX_RANGE))
    return np.asarray(width / 2 * (integrand @ weights))


def tukey_pvalues(t: Floats, unadjusted: Floats, k: int, v: float) -> Floats:
    """Return Tukey's adjusted p-values of the differences between k means.

    Below `MIN_STUDENTIZED_RANGE_SF` they are the bound of Bonferroni for k (k - 1)/2 differences, which is at
    least as large as Tukey's p-value. R's ptukey differs by up to 1e-4 for few degrees of freedom; for two
    means, the p-values here are exactly those of the t test.

    Parameters
    ----------
    t, unadjusted : (m,) float
        Statistics and unadjusted two-sided p-values; NaN yields NaN.
    k : int
        Number of means.
    v : float
        Degrees of freedom of the variance.

    Returns
    -------
    (m,) float

    Examples
    --------
    >>> t = np.array([2.0, 40.0])
    >>> [f"{p:.3g}" for p in tukey_pvalues(t, 2 * t_sf(t, 147.0), 3, 147.0)]
    ['0.116', '2.01e-80']
    """
    if k == 2:
        return unadjusted
    bounds = np.minimum(unadjusted * (k * (k - 1) / 2), MIN_STUDENTIZED_RANGE_SF)
    pvalues = studentized_range_sf(np.sqrt(2) * np.abs(t), k, v)
    return np.where(pvalues < MIN_STUDENTIZED_RANGE_SF, bounds, pvalues)


def greatest_root_pvalues(roots: Floats, p: int, k: int, v: float) -> Floats:
    """Return p-values of Roy's greatest root: the probability of a larger root under equal class means.

    Parameters
    ----------
    roots : (m,) float
        Observed roots of E^-1 H, with E the within-class and H the between-class scatter on k - 1 degrees of
        freedom; NaN yields NaN.
    p, k : int
        Numbers of columns and of classes.
    v : float
        Degrees of freedom of E.

    Returns
    -------
    (m,) float
    """
    pvalues = np.where(np.isnan(roots), np.nan, 1.0)
    with Progress(len(roots), "p-values") as progress:
        # Each value costs milliseconds; once a probability is one, it is one for all smaller values.
        for position in np.argsort(-np.nan_to_num(roots, nan=-1.0)).tolist():
            pvalues[position] = greatest_root_sf(float(roots[position]), p, k - 1, v)
            if pvalues[position] == 1.0:
                break
            progress(1)
    return pvalues
