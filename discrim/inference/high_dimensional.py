"""Tests of equal means, equal covariances and sphericity that allow more columns than rows.

The high-dimensional tests of `discrim.models` call these functions with moments of the classes. None of them
inverts a covariance matrix: the statistics are traces or largest elements.

Notation: p columns; N rows in K classes; W_k the scatter of class k with n_k - 1 degrees of freedom; W = sum
W_k with nu = N - K; S_k and S the covariances; B the between-class scatter with q = K - 1. If W_k = Z_k'Z_k,
then tr W_k W_l = |Z_k Z_l'|^2. A root Z_k has at most as many rows as the class, and no (p, p) matrix is
formed if p is large.

*Traces of squares.* If p is large, tr S_k^2 greatly overestimates tr Sigma^2. For normal rows

    a(W, nu) = (tr W^2 - (tr W)^2/nu) / ((nu + 2)(nu - 1))

is unbiased, and for rows of any distribution with four moments the U statistic over quadruples of rows

    A_k = ((n - 2) tr W_k^2 + (tr W_k)^2/(n - 1) - n sum_i |x_i - m_k|^4) / (n (n - 2)(n - 3)),    n = n_k

(Li & Chen, 2012, Annals of Statistics 40, 908-940, as sums over indices; Himeno & Yamada, 2014, Journal of
Multivariate Analysis 130, 27-44, in closed form). tr S_k S_l is unbiased for two classes as it is.

*Covariances.* Schott (2007, Computational Statistics & Data Analysis 51, 6535-6542) sums a_k + a_l - 2 tr
S_k S_l, an estimate of |Sigma_k - Sigma_l|^2, over the pairs of classes and divides by its standard deviation
for normal rows, 2 a [sum (1/nu_k + 1/nu_l)^2 + (K - 1)(K - 2) sum 1/nu_k^2]^(1/2). Li & Chen use A_k for two
classes and divide by 2 A_1/n_2 + 2 A_2/n_1. The statistic of Cai, Liu & Xia (2013, Journal of the American
Statistical Association 108, 265-277) is the largest standardized difference of two elements, max (s_1ij -
s_2ij)^2 / (t_1ij/n_1 + t_2ij/n_2), with s the covariances with divisor n and t_ij the variance of the
products of the columns' deviations. Minus 4 ln p - ln ln p it has the distribution function exp(-exp(-x/2) /
sqrt(8 pi)).

*Means.* Dempster (1958, Annals of Mathematical Statistics 29, 995-1010) compares (tr B/q) / (tr W/nu) with
the F distribution with q r and nu r degrees of freedom. Here r is the ratio of unbiased estimates of (tr
Sigma)^2 and of tr Sigma^2 (Zhang, Guo, Zhou & Cheng, 2020, Journal of the American Statistical Association
115, 1884-1902); for one column r is one and the test exact. The statistic of Srivastava & Du (2008, Journal
of Multivariate Analysis 99, 386-402), for K classes of Srivastava & Kubokawa (2013, the same journal 115,
204-216), with D the variances and R the correlations within classes, is

    (tr B D^-1 - nu p q/(nu - 2)) / (2 q (tr R^2 - p^2/nu) (1 + tr R^2/p^(3/2)))^(1/2).

Chen & Qin (2010, Annals of Statistics 38, 808-835), for K classes Hu, Bai, Wang & Wang (2017, Annals of the
Institute of Statistical Mathematics 69, 365-387), sum |m_k - m_l|^2 - tr S_k/n_k - tr S_l/n_l over the pairs
of classes and divide by the root of q^2 sum 2 A_k/(n_k (n_k - 1)) + sum 4 tr S_k S_l/(n_k n_l). Chen and
Qin's own estimates of these traces depend on the origin of the columns; A_k and tr S_k S_l do not. The
statistic of Cai, Liu & Xia (2014, Journal of the Royal Statistical Society B 76, 349-372), for K classes of
Cai & Xia (2014, Journal of Multivariate Analysis 131, 174-196), is the largest B_jj/s_jj, here of the
untransformed columns. Minus 2 ln p + (q - 2) ln ln p it has the distribution function exp(-exp(-x/2) /
Gamma(q/2)).

*Sphericity.* U = p tr Sigma^2/(tr Sigma)^2 - 1 is zero if the covariance is a multiple of the identity. With
S instead of Sigma, nu p U/2 has a chi-square distribution with p (p + 1)/2 - 1 degrees of freedom (John,
1972, Biometrika 59, 169-173; Nagao, 1973, Annals of Statistics 1, 700-709), also for many columns (Ledoit &
Wolf, 2002, Annals of Statistics 30, 1081-1102); the normal statistic (nu U - p - 1)/2 is then equivalent.
Srivastava (2005, Journal of the Japan Statistical Society 35, 251-272) uses a(W, nu) instead of tr S^2, and
Chen, Zhang & Zhong (2010, Journal of the American Statistical Association 105, 810-819) the U statistic for
any distribution; nu U/2 is then standard normal. Their test is for one sample. For K classes all pairs of
rows have the same weight here, (sum n_k (n_k - 1) A_k + sum n_k n_l tr S_k S_l)/(N (N - 1)) with the second
sum over ordered pairs of classes, and N replaces nu.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
import scipy

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.special import chi2_sf, f_sf, normal_sf
from discrim.inference.mean_differences import between_squares
from discrim.inference.result import TestResult

COLUMNS_PER_PANEL = 512
"""Number of columns whose products are formed at once."""

MAX_ROUNDING_SHARE = 1e-20
"""Ratio of the variance of products to their mean square below which the variance is a rounding error."""

CANCELLATION_SHARE = 1e-6
"""Ratio below which the variance is computed from deviations, because a difference would cancel."""

# Parts of the assumptions that the tests state.
NORMAL_LIMIT = "The normal limit requires many columns and rows"
DIFFUSE_VARIANCE = (
    "a few principal axes must not have most of the variance (tr Sigma^4 is small relative to (tr Sigma^2)^2)"
)
SPARSE_CORRELATIONS = "only a few pairs of columns may be strongly correlated, and none perfectly"


class ScatterTraces(NamedTuple):
    """Traces of scatters and of their products.

    Attributes
    ----------
    traces : (G,) float
        tr W_k of each of G = K classes, or tr W of the pooled scatter (G = 1).
    product_traces : (G, G) float
        tr W_k W_l of two classes, or tr W^2.
    """

    traces: Floats
    product_traces: Floats

    @property
    def pooled(self) -> tuple[float, float]:
        """Traces of W and of W^2, with W the sum of the scatters W_k."""
        return float(self.traces.sum()), float(self.product_traces.sum())


def trace_products(moments: ClassMoments, unit: Floats | None = None) -> ScatterTraces:
    """Compute the traces of scatters and of their products.

    Parameters
    ----------
    moments : ClassMoments
        Moments with scatters or their roots, by class or pooled.
    unit : (p,) float, optional
        Factors by which the columns of the moments are multiplied; by default `moments.common_unit`, which
        restores the relative sizes of the columns of the data.

    Returns
    -------
    ScatterTraces

    Raises
    ------
    TypeError
        If the moments contain only variances.

    Examples
    --------
    >>> x, codes = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]]), np.array([0, 0, 1, 1])
    >>> trace_products(ClassMoments.from_block(x, codes, n_classes=2, required_moments="class"))
    ScatterTraces(traces=array([2., 8.]), product_traces=array([[ 4.,  0.],
           [ 0., 64.]]))
    """
    unit = moments.common_unit if unit is None else unit
    sums = np.asarray(moments.squares @ unit**2)
    n_groups = len(sums)
    products = np.empty((n_groups, n_groups))
    if moments.scatters.ndim == 3:
        flat = np.stack([unit[:, None] * (scatter * unit) for scatter in moments.scatters])
        flat = flat.reshape(n_groups, -1)
        return ScatterTraces(sums, flat @ flat.T)
    if moments.roots is None:
        raise TypeError(
            "The moments contain only variances. Traces of products require scatters, by class or pooled."
        )
    roots = [root * unit for root in moments.roots]
    for k in range(n_groups):
        for other in range(k + 1):
            products[k, other] = products[other, k] = np.square(roots[k] @ roots[other].T).sum()
    return ScatterTraces(sums, products)


def trace_square_of_normal_rows(trace: float | Floats, product: float | Floats, df: float | Floats) -> Floats:
    """Estimate tr Sigma^2 without bias for normal rows, a(W, nu) of the module docstring.

    Parameters
    ----------
    trace, product : float or (K,) float
        tr W and tr W^2 of scatters W.
    df : float or (K,) float
        Degrees of freedom of the scatters.

    Returns
    -------
    () or (K,) float
        May be negative.
    """
    return np.asarray((product - np.square(trace) / df) / ((df + 2) * (df - 1)))


def trace_square_of_any_rows(traces: ScatterTraces, fourth_powers: Floats, counts: Floats) -> Floats:
    """Estimate tr Sigma_k^2 of each class without bias for any distribution with four moments.

    Parameters
    ----------
    traces : ScatterTraces
        Traces of the class scatters.
    fourth_powers : (K,) float
        Sum over the rows of a class of the fourth power of their distance from the class mean, with columns
        in the units of the traces.
    counts : (K,) float
        Number of rows of each class, at least four.

    Returns
    -------
    (K,) float
        A_k of the module docstring; may be negative.
    """
    n = counts
    squared_scatters = np.diagonal(traces.product_traces)
    return np.asarray(
        ((n - 2) * squared_scatters + traces.traces**2 / (n - 1) - n * fourth_powers)
        / (n * (n - 2) * (n - 3))
    )


def _normal_test(name: str, z: float, assumes: str) -> TestResult:
    """Return a one-sided test with a standard normal statistic `z` that is large under the alternative."""
    p = float(normal_sf(z))
    return TestResult(name, z, (), p, assumes, {"normal": (z, np.nan, np.nan, p)}, (("z", z),))


def _sum_over_pairs(values: Floats) -> float:
    """Return the sum of the elements above the diagonal of an array (K, K)."""
    return float(values[np.triu_indices(len(values), 1)].sum())


def schott_test(moments: ClassMoments) -> TestResult:
    """Compute Schott's test of equal covariances, from moments by class with three or more rows each.

    The statistic is standard normal in the limit; the p-value is its upper tail.
    """
    dfs = moments.counts - 1
    traces = trace_products(moments)
    class_squares = trace_square_of_normal_rows(traces.traces, np.diagonal(traces.product_traces), dfs)
    k = len(dfs)
    difference = (k - 1) * class_squares.sum() - 2 * _sum_over_pairs(
        traces.product_traces / np.outer(dfs, dfs)
    )
    common_square = float(trace_square_of_normal_rows(*traces.pooled, dfs.sum()))
    variance_factor = (
        _sum_over_pairs(np.add.outer(1 / dfs, 1 / dfs) ** 2) + (k - 1) * (k - 2) * (1 / dfs**2).sum()
    )
    z = float(difference / (2 * common_square * np.sqrt(variance_factor)))
    return _normal_test("Schott's test", z, f"Normal classes. {NORMAL_LIMIT}: {DIFFUSE_VARIANCE}.")


def li_chen_test(moments: ClassMoments, fourth_powers: Floats) -> TestResult:
    """Compute Li and Chen's test of equal covariances of two classes with at least four rows each.

    The statistic is standard normal in the limit; the p-value is its upper tail.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class, with scatters or their roots.
    fourth_powers : (2,) float
        Sum over the rows of a class of the fourth power of their distance from the class mean, with
        columns multiplied by `moments.common_unit`.

    Returns
    -------
    TestResult
        NaN if the standard deviation is not positive.
    """
    counts = moments.counts
    traces = trace_products(moments)
    class_squares = trace_square_of_any_rows(traces, fourth_powers, counts)
    difference = class_squares.sum() - 2 * traces.product_traces[0, 1] / np.prod(counts - 1)
    sd = float((2 * class_squares / counts[::-1]).sum())
    z = float(difference / sd) if sd > 0 else np.nan
    return _normal_test(
        "Li & Chen's test", z, f"Distributions with eight moments. {NORMAL_LIMIT}: {DIFFUSE_VARIANCE}."
    )


class LargestDifference(NamedTuple):
    """Largest squared difference of two covariance elements relative to its variance.

    Attributes
    ----------
    statistic : float
        Squared difference divided by its estimated variance, Cai, Liu and Xia's statistic.
    columns : (int, int)
        Positions of the two columns of the element, equal for a variance.
    """

    statistic: float
    columns: tuple[int, int]


def largest_covariance_difference(
    deviations: list[Floats], weights: list[Floats | None]
) -> LargestDifference:
    """Find the covariance element that differs most between two classes, relative to its variance.

    Covariances have the divisor n_k (the sum of the weights), see the module docstring.

    Parameters
    ----------
    deviations : list of two (n_k, p) float
        Deviations of the rows from their class mean.
    weights : list of two (n_k,) float or None
        Frequency weights of the rows.

    Returns
    -------
    LargestDifference
        The first one if tied. The statistic is infinite if the products of two columns differ between the
        classes but are constant within them.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [-2.0, 1.0], [1.0, -1.0]])
    >>> found = largest_covariance_difference([x, 2 * x], [None, None])
    >>> round(found.statistic, 3), found.columns
    (3.176, (0, 0))
    """
    p = deviations[0].shape[1]
    largest = LargestDifference(-1.0, (0, 0))
    panels = [slice(start, min(start + COLUMNS_PER_PANEL, p)) for start in range(0, p, COLUMNS_PER_PANEL)]
    for rows, columns in combinations_with_replacement(panels, 2):
        difference = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        magnitude = difference.copy()
        variance = difference.copy()
        for sign, x, w in zip((1.0, -1.0), deviations, weights, strict=True):
            product_mean, product_variance, total = _product_moments(x[:, rows], x[:, columns], w)
            difference += sign * product_mean
            magnitude += np.abs(product_mean)
            variance += product_variance / total
        is_equal = np.abs(difference) <= 1e-12 * magnitude
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(is_equal, 0.0, difference**2 / variance)
        position = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[position] > largest.statistic:
            largest = LargestDifference(
                float(ratio[position]), (rows.start + int(position[0]), columns.start + int(position[1]))
            )
    return largest


def _product_moments(x: Floats, y: Floats, weights: Floats | None) -> tuple[Floats, Floats, float]:
    """Compute mean and variance over the rows of the product of each column of x with each column of y.

    Parameters
    ----------
    x : (n, a) float
        Deviations of the rows in a first set of columns.
    y : (n, b) float
        Deviations of the rows in a second set of columns.
    weights : (n,) float or None
        Frequency weights of the rows.

    Returns
    -------
    mean, variance : (a, b) float
        Mean and variance (with divisor `total`) of the product of columns i of x and j of y.
    total : float
        Number of rows, or sum of their weights.
    """
    total = float(len(x) if weights is None else weights.sum())
    weighted_x = x if weights is None else x * weights[:, None]
    mean = weighted_x.T @ y / total
    mean_square = (weighted_x * x).T @ np.square(y) / total
    variance = mean_square - mean**2
    for i, j in zip(
        *np.nonzero((variance <= CANCELLATION_SHARE * mean_square) & (mean_square > 0)), strict=True
    ):
        squared_deviations = (x[:, i] * y[:, j] - mean[i, j]) ** 2
        exact_variance = float(np.average(squared_deviations, weights=weights))
        variance[i, j] = exact_variance if exact_variance > MAX_ROUNDING_SHARE * mean_square[i, j] else 0.0
    return mean, variance, total


def cai_liu_xia_covariance_test(statistic: float, n_columns: int, pair_label: str) -> TestResult:
    """Compute Cai, Liu and Xia's test of equal covariances of two classes.

    Parameters
    ----------
    statistic : float
        Largest relative squared difference, see `LargestDifference`. It is the statistic of the result.
    n_columns : int
        Number of columns p, two or more.
    pair_label : str
        Names of the two columns with the largest difference, which are part of the name of the test.

    Returns
    -------
    TestResult
        The p-value is the upper tail of the Gumbel limit in the module docstring.
    """
    p = n_columns
    x = statistic - 4 * np.log(p) + np.log(np.log(p))
    pvalue = -float(np.expm1(-np.exp(-x / 2) / np.sqrt(8 * np.pi)))
    return TestResult(
        f"Cai, Liu & Xia's test, largest for {pair_label}",
        statistic,
        (),
        pvalue,
        f"Short-tailed distributions. The Gumbel limit needs many columns and rows: {SPARSE_CORRELATIONS}.",
        {"Gumbel": (statistic, np.nan, np.nan, pvalue)},
        (("", statistic),),
    )


def dempster_test(moments: ClassMoments) -> TestResult:
    """Compute Dempster's test of equal class means.

    The moments, by class or pooled, must contain scatters or roots. The statistic is the F of the module
    docstring, with estimated degrees of freedom q r and nu r.
    """
    unit = moments.common_unit
    nu = moments.total - moments.n_classes
    q = float(moments.n_classes - 1)
    trace, product = trace_products(moments).pooled
    f = float(between_squares(moments) @ unit**2) / q / (trace / nu)
    square = float(trace_square_of_normal_rows(trace, product, nu))
    r = ((trace / nu) ** 2 - 2 * square / nu) / square
    df1 = q * r
    df2 = nu * r
    p = float(f_sf(f, df1, df2))
    return TestResult(
        "Dempster's test",
        f,
        (df1, df2),
        p,
        "Normal classes with a common covariance matrix. The F matches two moments of tr B and of tr W.",
        {"F": (f, df1, df2, p)},
        (("F", f),),
    )


def srivastava_mean_test(moments: ClassMoments) -> TestResult:
    """Compute Srivastava's test of equal class means.

    The statistic is standard normal in the limit; the p-value is its upper tail. The moments, by class or
    pooled, must contain scatters or roots. N - K must exceed 2, and all columns must vary within classes.
    """
    nu = moments.total - moments.n_classes
    q = moments.n_classes - 1
    p = moments.n_columns
    variances = moments.squares.sum(axis=0) / nu
    # Columns divided by their standard deviations have the covariance R.
    traces = trace_products(moments, unit=1 / np.sqrt(variances))
    correlation_square = traces.pooled[1] / nu**2
    difference = float((between_squares(moments) / variances).sum()) - nu * p * q / (nu - 2)
    variance = 2 * q * (correlation_square - p**2 / nu) * (1 + correlation_square / p**1.5)
    assumes = (
        f"Common covariance matrix. {NORMAL_LIMIT}: a few principal axes must not have most of the variance "
        "of the standardized columns."
    )
    return _normal_test("Srivastava's test", float(difference / np.sqrt(variance)), assumes)


def chen_qin_test(moments: ClassMoments, fourth_powers: Floats) -> TestResult:
    """Compute Chen and Qin's test of equal means of classes with at least four rows each.

    The statistic is standard normal in the limit; the p-value is its upper tail.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class, with scatters or their roots.
    fourth_powers : (K,) float
        Sum over the rows of a class of the fourth power of their distance from the class mean, with
        columns multiplied by `moments.common_unit`.

    Returns
    -------
    TestResult
        NaN if the variance is not positive.
    """
    counts = moments.counts
    unit = moments.common_unit
    k = len(counts)
    traces = trace_products(moments)
    means = moments.means * unit
    squared_distances = sum(float(np.square(means[i] - means[i + 1 :]).sum()) for i in range(k))
    difference = squared_distances - (k - 1) * float((traces.traces / (counts * (counts - 1))).sum())
    class_squares = trace_square_of_any_rows(traces, fourth_powers, counts)
    pair_weights = np.outer(counts, counts) * np.outer(counts - 1, counts - 1)
    variance = (k - 1) ** 2 * (2 * class_squares / (counts * (counts - 1))).sum() + 4 * _sum_over_pairs(
        traces.product_traces / pair_weights
    )
    z = float(difference / np.sqrt(variance)) if variance > 0 else np.nan
    return _normal_test(
        "Chen & Qin's test", z, f"Distributions with four moments. {NORMAL_LIMIT}: {DIFFUSE_VARIANCE}."
    )


def john_test(moments: ClassMoments) -> TestResult:
    """Compute John's test of sphericity within classes, from moments of two or more columns.

    The moments, by class or pooled, must contain scatters or roots. The result is the chi-square
    approximation; its table also has the one-sided normal one.
    """
    nu = moments.total - moments.n_classes
    p = moments.n_columns
    trace, product = trace_products(moments).pooled
    u = p * product / trace**2 - 1
    chi2 = nu * p * u / 2
    df = p * (p + 1) / 2 - 1
    z = (nu * u - p - 1) / 2
    pvalue = float(chi2_sf(chi2, df))
    return TestResult(
        "John's test",
        chi2,
        (df,),
        pvalue,
        "Normal classes with a common covariance matrix. The chi-square requires many rows and allows many "
        "columns.",
        {
            "chi-square": (chi2, df, np.nan, pvalue),
            "normal": (z, np.nan, np.nan, float(normal_sf(z))),
        },
    )


def srivastava_sphere_test(moments: ClassMoments) -> TestResult:
    """Compute Srivastava's test of sphericity within classes.

    The statistic is standard normal in the limit; the p-value is its upper tail. The moments, by class or
    pooled, must contain scatters or roots.
    """
    nu = moments.total - moments.n_classes
    p = moments.n_columns
    trace, product = trace_products(moments).pooled
    u = p * float(trace_square_of_normal_rows(trace, product, nu)) / (trace / nu) ** 2 - 1
    return _normal_test(
        "Srivastava's test", nu * u / 2, f"Normal classes with a common covariance matrix. {NORMAL_LIMIT}."
    )


def chen_zhang_zhong_test(moments: ClassMoments, fourth_powers: Floats) -> TestResult:
    """Compute Chen, Zhang and Zhong's test of sphericity within classes of at least four rows each.

    The statistic is standard normal in the limit; the p-value is its upper tail.

    Parameters
    ----------
    moments : ClassMoments
        Moments by class, with scatters or their roots.
    fourth_powers : (K,) float
        Sum over the rows of a class of the fourth power of their distance from the class mean, with
        columns multiplied by `moments.common_unit`.

    Returns
    -------
    TestResult
    """
    counts = moments.counts
    total = moments.total
    p = moments.n_columns
    traces = trace_products(moments)
    within_classes = (counts * (counts - 1)) @ trace_square_of_any_rows(traces, fourth_powers, counts)
    between_classes = 2 * _sum_over_pairs(
        traces.product_traces * np.outer(counts / (counts - 1), counts / (counts - 1))
    )
    square = float(within_classes + between_classes) / (total * (total - 1))
    u = p * square / (traces.pooled[0] / (total - moments.n_classes)) ** 2 - 1
    assumes = f"Common covariance matrix; any distribution with eight moments. {NORMAL_LIMIT}."
    return _normal_test("Chen, Zhang & Zhong's test", total * u / 2, assumes)


def cai_liu_xia_mean_test(moments: ClassMoments) -> TestResult:
    """Compute Cai, Liu and Xia's test of equal class means, for two or more columns that vary within classes.

    The statistic is the largest B_jj/s_jj: (K - 1) times the largest univariate F. The p-value is the upper
    tail of the Gumbel limit in the module docstring. Moments of any type suffice.
    """
    nu = moments.total - moments.n_classes
    q = moments.n_classes - 1
    p = moments.n_columns
    largest_f = float((between_squares(moments) / (moments.squares.sum(axis=0) / nu)).max())
    x = largest_f - 2 * np.log(p) - (q - 2) * np.log(np.log(p))
    pvalue = -float(np.expm1(-np.exp(-x / 2) / scipy.special.gamma(q / 2)))
    return TestResult(
        "Cai, Liu & Xia's test",
        largest_f,
        (),
        pvalue,
        f"Common covariance matrix. The Gumbel limit needs many columns and rows: {SPARSE_CORRELATIONS}.",
        {"Gumbel": (largest_f, np.nan, np.nan, pvalue)},
        (("", largest_f),),
    )
