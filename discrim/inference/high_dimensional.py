"""Tests of class means, of covariances and of spheres, for more columns than rows too.

With p columns, N rows in K classes, W_k the scatter of class k on n_k - 1 degrees of freedom, W = sum W_k
on nu = N - K, S_k and S their covariances, B the scatter between classes on q = K - 1, nothing here inverts
S: the statistics are traces, or largest elements. tr W_k W_l = |Z_k Z_l'|^2 of roots W_k = Z_k'Z_k, which
have as many rows as the class or the table has columns, whichever are fewer, so that with many columns no
(p, p) matrix is formed.

*Traces of squares.* tr S_k^2 is far above tr Sigma^2 where p is large. Unbiased for normal rows is

    a(W, nu) = (tr W^2 - (tr W)^2/nu) / ((nu + 2)(nu - 1)),

and for rows of any law with four moments the U statistic over quadruples of rows

    A_k = ((n - 2) tr W_k^2 + (tr W_k)^2/(n - 1) - n sum_i |x_i - m_k|^4) / (n (n - 2)(n - 3)),    n = n_k

(Li & Chen, 2012, Annals of Statistics 40, 908-940, as sums over indices; Himeno & Yamada, 2014, Journal of
Multivariate Analysis 130, 27-44, in closed form). tr S_k S_l is unbiased for two classes as it is.

*Covariances.* Schott (2007, Computational Statistics & Data Analysis 51, 6535-6542) sums over the pairs of
classes a_k + a_l - 2 tr S_k S_l, which estimates |Sigma_k - Sigma_l|^2, over its standard deviation for
normal rows, 2 a [sum (1/nu_k + 1/nu_l)^2 + (K - 1)(K - 2) sum 1/nu_k^2]^(1/2). Li & Chen have the same of
two classes with A_k, over 2 A_1/n_2 + 2 A_2/n_1. Cai, Liu & Xia (2013, Journal of the American Statistical
Association 108, 265-277) take the largest difference of two elements, in units of its variance: max (s_1ij
- s_2ij)^2 / (t_1ij/n_1 + t_2ij/n_2), where s has the divisor n and t_ij is the variance of the products of
the columns' deviations. Less 4 ln p - ln ln p it has the distribution exp(-exp(-x/2) / sqrt(8 pi)).

*Means.* Dempster (1958, Annals of Mathematical Statistics 29, 995-1010) compares (tr B/q) / (tr W/nu) with
F on q r and nu r degrees of freedom. Here r is the ratio of unbiased estimates, of (tr Sigma)^2 and of tr
Sigma^2 (Zhang, Guo, Zhou & Cheng, 2020, Journal of the American Statistical Association 115, 1884-1902); of
one column it is one, and the F exact. Srivastava & Du (2008, Journal of Multivariate Analysis 99, 386-402),
for K classes Srivastava & Kubokawa (2013, the same 115, 204-216), with D the variances and R the
correlations within classes, take

    (tr B D^-1 - nu p q/(nu - 2)) / (2 q (tr R^2 - p^2/nu) (1 + tr R^2/p^(3/2)))^(1/2).

Chen & Qin (2010, Annals of Statistics 38, 808-835), for K classes Hu, Bai, Wang & Wang (2017, Annals of the
Institute of Statistical Mathematics 69, 365-387), sum over the pairs of classes |m_k - m_l|^2 - tr S_k/n_k
- tr S_l/n_l, which is over the root of q^2 sum 2 A_k/(n_k (n_k - 1)) + sum 4 tr S_k S_l/(n_k n_l). Chen and
Qin's own estimates of these traces change where a number is added to a column; A_k and tr S_k S_l do not.
Cai, Liu & Xia (2014, Journal of the Royal Statistical Society B 76, 349-372), for K classes Cai & Xia
(2014, Journal of Multivariate Analysis 131, 174-196), take the largest B_jj/s_jj, here of the columns as
they are. Less 2 ln p + (q - 2) ln ln p it has the distribution exp(-exp(-x/2) / Gamma(q/2)).

*Spheres.* U = p tr Sigma^2/(tr Sigma)^2 - 1 is zero for a covariance that is a number times the identity.
With S in the place of Sigma, nu p U/2 is a chi-square on p (p + 1)/2 - 1 degrees of freedom (John, 1972,
Biometrika 59, 169-173; Nagao, 1973, Annals of Statistics 1, 700-709), and that holds for many columns too
(Ledoit & Wolf, 2002, Annals of Statistics 30, 1081-1102), where it says the same as a normal (nu U - p -
1)/2. Srivastava (2005, Journal of the Japan Statistical Society 35, 251-272) puts a(W, nu) in the place of
tr S^2, Chen, Zhang & Zhong (2010, Journal of the American Statistical Association 105, 810-819) the U
statistic of rows of any law; nu U/2 is then standard normal. Theirs is of one sample. For K classes all
pairs of rows count alike here, (sum n_k (n_k - 1) A_k + sum n_k n_l tr S_k S_l)/(N (N - 1)), the second sum
over ordered pairs of classes, and N is in the place of nu.
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

PANEL = 512
"""Columns of which products are formed at once."""

NO_SPREAD = 1e-20
"""Share of the mean square of products up to which their variance is rounding."""

FEW_DIGITS = 1e-6
"""The same share up to which the variance is taken of deviations, and not as a difference."""

NORMAL_LIMIT = "The normal limit is for many columns and rows"
NO_FEW_AXES = "no few principal axes may have most of the variance (tr Sigma^4 small beside (tr Sigma^2)^2)"
SPARSE = "few pairs of columns may be strongly correlated, and none perfectly"


class Products(NamedTuple):
    """Traces of the scatters W_k (G,), of one group or of each class, and of their products (G, G)."""

    sums: Floats
    products: Floats

    @property
    def pooled(self) -> tuple[float, float]:
        """Traces of W and of W^2, of the sum of the scatters."""
        return float(self.sums.sum()), float(self.products.sum())


def trace_products(moments: ClassMoments, unit: Floats | None = None) -> Products:
    """Traces of scatters and of their products, in units (p,) that z is multiplied by; one unit by default.

    Examples
    --------
    >>> x, codes = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]]), np.array([0, 0, 1, 1])
    >>> trace_products(ClassMoments.from_block(x, codes, n_classes=2, spread="class"))
    Products(sums=array([2., 8.]), products=array([[ 4.,  0.],
           [ 0., 64.]]))
    """
    unit = moments.common_unit if unit is None else unit
    sums = np.asarray(moments.squares @ unit**2)
    groups = len(sums)
    found = np.empty((groups, groups))
    if moments.scatters.ndim == 3:
        flat = np.stack([unit[:, None] * (scatter * unit) for scatter in moments.scatters])
        flat = flat.reshape(groups, -1)
        return Products(sums, flat @ flat.T)
    if moments.roots is None:
        raise TypeError(
            "Moments of variances alone have no products of columns: take them by class or pooled."
        )
    roots = [root * unit for root in moments.roots]
    for k in range(groups):
        for other in range(k + 1):
            found[k, other] = found[other, k] = np.square(roots[k] @ roots[other].T).sum()
    return Products(sums, found)


def normal_square(trace: float | Floats, product: float | Floats, df: float | Floats) -> Floats:
    """Estimate of tr Sigma^2, unbiased for normal rows, from tr W, tr W^2 and the degrees of freedom."""
    return np.asarray((product - np.square(trace) / df) / ((df + 2) * (df - 1)))


def unbiased_square(traces: Products, fourth: Floats, counts: Floats) -> Floats:
    """Estimates (K,) of tr Sigma_k^2 whatever the law, with sums of fourth powers (K,) of deviations."""
    n = counts
    own = np.diagonal(traces.products)
    return np.asarray(((n - 2) * own + traces.sums**2 / (n - 1) - n * fourth) / (n * (n - 2) * (n - 3)))


def _normal(name: str, z: float, assumes: str) -> TestResult:
    """A test whose statistic is standard normal, and large under the alternative."""
    p = float(normal_sf(z))
    return TestResult(name, z, (), p, assumes, {"normal": (z, np.nan, np.nan, p)}, (("z", z),))


def _pairs(values: Floats) -> float:
    """Sum of the elements above the diagonal."""
    return float(values[np.triu_indices(len(values), 1)].sum())


def schott_test(moments: ClassMoments) -> TestResult:
    """Schott's test that the classes have one covariance, from moments by class of three rows or more."""
    dfs = moments.counts - 1
    traces = trace_products(moments)
    own = normal_square(traces.sums, np.diagonal(traces.products), dfs)
    k = len(dfs)
    gap = (k - 1) * own.sum() - 2 * _pairs(traces.products / np.outer(dfs, dfs))
    common = float(normal_square(*traces.pooled, dfs.sum()))
    spread = _pairs(np.add.outer(1 / dfs, 1 / dfs) ** 2) + (k - 1) * (k - 2) * (1 / dfs**2).sum()
    z = float(gap / (2 * common * np.sqrt(spread)))
    return _normal("Schott's test", z, f"Normal classes. {NORMAL_LIMIT}: {NO_FEW_AXES}.")


def li_chen_test(moments: ClassMoments, fourth: Floats) -> TestResult:
    """Li and Chen's test that two classes have one covariance, from moments by class of four rows or more.

    The fourth powers (2,) are the sums of those of the lengths of deviations, in the moments' common unit.
    """
    counts = moments.counts
    traces = trace_products(moments)
    own = unbiased_square(traces, fourth, counts)
    gap = own.sum() - 2 * traces.products[0, 1] / np.prod(counts - 1)
    spread = float((2 * own / counts[::-1]).sum())
    z = float(gap / spread) if spread > 0 else np.nan
    return _normal("Li & Chen's test", z, f"Distributions with eight moments. {NORMAL_LIMIT}: {NO_FEW_AXES}.")


class LargestGap(NamedTuple):
    """The largest difference of two elements of covariances, in units of its variance, and its columns."""

    statistic: float
    columns: tuple[int, int]


def largest_gap(deviations: list[Floats], weights: list[Floats | None]) -> LargestGap:
    """The largest difference of two covariances, of deviations (n_k, p) from the means of two classes.

    It is infinite where products of two columns differ between the classes and vary in none.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [-2.0, 1.0], [1.0, -1.0]])
    >>> found = largest_gap([x, 2 * x], [None, None])
    >>> round(found.statistic, 3), found.columns
    (3.176, (0, 0))
    """
    p = deviations[0].shape[1]
    best = LargestGap(-1.0, (0, 0))
    panels = [slice(start, min(start + PANEL, p)) for start in range(0, p, PANEL)]
    for rows, columns in combinations_with_replacement(panels, 2):
        gap = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
        size = gap.copy()
        variance = gap.copy()
        for sign, x, w in zip((1.0, -1.0), deviations, weights, strict=True):
            mean, spread, total = _products(x[:, rows], x[:, columns], w)
            gap += sign * mean
            size += np.abs(mean)
            variance += spread / total
        same = np.abs(gap) <= 1e-12 * size
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(same, 0.0, gap**2 / variance)
        place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[place] > best.statistic:
            best = LargestGap(
                float(ratio[place]), (rows.start + int(place[0]), columns.start + int(place[1]))
            )
    return best


def _products(left: Floats, right: Floats, weights: Floats | None) -> tuple[Floats, Floats, float]:
    """Means and variances (a, b) of the products of columns (n, a) and (n, b), and the number of rows."""
    total = float(len(left) if weights is None else weights.sum())
    heavy = left if weights is None else left * weights[:, None]
    mean = heavy.T @ right / total
    square = (heavy * left).T @ np.square(right) / total
    variance = square - mean**2
    for i, j in zip(*np.nonzero((variance <= FEW_DIGITS * square) & (square > 0)), strict=True):
        steps = (left[:, i] * right[:, j] - mean[i, j]) ** 2
        exact = float(np.average(steps, weights=weights))
        variance[i, j] = exact if exact > NO_SPREAD * square[i, j] else 0.0
    return mean, variance, total


def cai_liu_xia_test(statistic: float, n_columns: int, pair: str) -> TestResult:
    """Cai, Liu and Xia's test that two classes have one covariance, from the largest difference of p columns.

    The pair says which columns it is of.
    """
    p = n_columns
    x = statistic - 4 * np.log(p) + np.log(np.log(p))
    pvalue = -float(np.expm1(-np.exp(-x / 2) / np.sqrt(8 * np.pi)))
    return TestResult(
        f"Cai, Liu & Xia's test, largest for {pair}",
        statistic,
        (),
        pvalue,
        f"Rows with short tails. The Gumbel limit is for many columns and rows: {SPARSE}.",
        {"Gumbel": (statistic, np.nan, np.nan, pvalue)},
        (("", statistic),),
    )


def dempster_test(moments: ClassMoments) -> TestResult:
    """Dempster's test that the classes have one mean, from pooled moments."""
    unit = moments.common_unit
    nu = moments.total - moments.n_classes
    q = float(moments.n_classes - 1)
    trace, product = trace_products(moments).pooled
    f = float(between_squares(moments) @ unit**2) / q / (trace / nu)
    square = float(normal_square(trace, product, nu))
    r = ((trace / nu) ** 2 - 2 * square / nu) / square
    df1 = q * r
    df2 = nu * r
    p = float(f_sf(f, df1, df2))
    return TestResult(
        "Dempster's test",
        f,
        (df1, df2),
        p,
        "Normal classes with one covariance. The F matches two moments of tr B and of tr W.",
        {"F": (f, df1, df2, p)},
        (("F", f),),
    )


def srivastava_test(moments: ClassMoments) -> TestResult:
    """Srivastava's test that the classes have one mean, from pooled moments of columns that vary in them."""
    nu = moments.total - moments.n_classes
    q = moments.n_classes - 1
    p = moments.n_columns
    variances = moments.squares.sum(axis=0) / nu
    # Columns over their standard deviations have the covariance R.
    traces = trace_products(moments, unit=1 / np.sqrt(variances))
    square = traces.pooled[1] / nu**2
    distance = float((between_squares(moments) / variances).sum()) - nu * p * q / (nu - 2)
    spread = 2 * q * (square - p**2 / nu) * (1 + square / p**1.5)
    assumes = (
        f"One covariance. {NORMAL_LIMIT}: no few principal axes may have most of the variance of the columns "
        "over their standard deviations."
    )
    return _normal("Srivastava's test", float(distance / np.sqrt(spread)), assumes)


def chen_qin_test(moments: ClassMoments, fourth: Floats) -> TestResult:
    """Chen and Qin's test that the classes have one mean, from moments by class.

    The fourth powers (K,) are as in `li_chen_test`.
    """
    counts = moments.counts
    unit = moments.common_unit
    k = len(counts)
    traces = trace_products(moments)
    means = moments.means * unit
    gaps = sum(float(np.square(means[i] - means[i + 1 :]).sum()) for i in range(k))
    distance = gaps - (k - 1) * float((traces.sums / (counts * (counts - 1))).sum())
    own = unbiased_square(traces, fourth, counts)
    weights = np.outer(counts, counts) * np.outer(counts - 1, counts - 1)
    variance = (k - 1) ** 2 * (2 * own / (counts * (counts - 1))).sum() + 4 * _pairs(
        traces.products / weights
    )
    z = float(distance / np.sqrt(variance)) if variance > 0 else np.nan
    return _normal("Chen & Qin's test", z, f"Distributions with four moments. {NORMAL_LIMIT}: {NO_FEW_AXES}.")


def john_test(moments: ClassMoments) -> TestResult:
    """John's test that the covariance within classes is a sphere, from pooled moments of two columns."""
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
        "Normal classes with one covariance. The chi-square is for many rows, or for many rows and columns.",
        {
            "chi-square": (chi2, df, np.nan, pvalue),
            "normal": (z, np.nan, np.nan, float(normal_sf(z))),
        },
    )


def unbiased_sphere_test(moments: ClassMoments) -> TestResult:
    """Srivastava's test that the covariance within classes is a sphere, from pooled moments."""
    nu = moments.total - moments.n_classes
    p = moments.n_columns
    trace, product = trace_products(moments).pooled
    u = p * float(normal_square(trace, product, nu)) / (trace / nu) ** 2 - 1
    return _normal("Srivastava's test", nu * u / 2, f"Normal classes with one covariance. {NORMAL_LIMIT}.")


def any_law_sphere_test(moments: ClassMoments, fourth: Floats) -> TestResult:
    """Chen, Zhang and Zhong's test that the covariance within classes is a sphere, from moments by class.

    The fourth powers (K,) are as in `li_chen_test`.
    """
    counts = moments.counts
    total = moments.total
    p = moments.n_columns
    traces = trace_products(moments)
    own = (counts * (counts - 1)) @ unbiased_square(traces, fourth, counts)
    others = 2 * _pairs(traces.products * np.outer(counts / (counts - 1), counts / (counts - 1)))
    square = float(own + others) / (total * (total - 1))
    u = p * square / (traces.pooled[0] / (total - moments.n_classes)) ** 2 - 1
    assumes = f"One covariance, and any distribution with eight moments. {NORMAL_LIMIT}."
    return _normal("Chen, Zhang & Zhong's test", total * u / 2, assumes)


def largest_mean_test(moments: ClassMoments) -> TestResult:
    """Cai, Liu and Xia's test that the classes have one mean, from moments of columns that vary in them."""
    nu = moments.total - moments.n_classes
    q = moments.n_classes - 1
    p = moments.n_columns
    m = float((between_squares(moments) / (moments.squares.sum(axis=0) / nu)).max())
    x = m - 2 * np.log(p) - (q - 2) * np.log(np.log(p))
    pvalue = -float(np.expm1(-np.exp(-x / 2) / scipy.special.gamma(q / 2)))
    return TestResult(
        "Cai, Liu & Xia's test",
        m,
        (),
        pvalue,
        f"One covariance. The Gumbel limit is for many columns and rows: {SPARSE}.",
        {"Gumbel": (m, np.nan, np.nan, pvalue)},
        (("", m),),
    )
