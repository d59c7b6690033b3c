"""Tests of the model of LDA: one covariance against one for each class, and normal classes against any.

*One covariance.* With W_k the scatter of class k on n_k - 1 degrees of freedom, W = sum W_k on N - K, and
maximum-likelihood covariances W_k / n_k and W / N, twice the gain in log-likelihood of QDA over LDA is

    -2 ln Lambda = N ln|W/N| - sum n_k ln|W_k/n_k|,    df = p (p + 1)(K - 1)/2.

Box's M is the same with degrees of freedom in the place of counts; its chi-square and F approximations match
the first two moments of its null distribution (Box, 1949, Biometrika 36, 317-346). Both are far from robust
against long tails.

*Normal classes.* LDA and the logistic model both estimate the slopes of the log odds. Under normal classes
with one covariance LDA's are efficient; the logistic model's are consistent without it. By Hausman (1978,
Econometrica 46, 1251-1271) the variance of their difference is then the difference of their variances, and

    H = (b - B)' [V_B - V_b]^+ (b - B)  ~  chi-square on the rank of V_B - V_b

tests the model (Lo, 1986, Journal of Econometrics 31, 151-178, for LDA). LDA's covariance, stacked over the
classes against the reference 0, follows from the delta method with b_k = S^-1 d_k:

    cov(b_k, b_l) = ([k = l]/n_k + 1/n_0) S^-1 + [(d_k'S^-1 d_l) S^-1 + b_l b_k']/nu.

In finite samples V_B - V_b need not be positive definite: directions in which it is not say nothing and are
left out, which the degrees of freedom show.
"""

from __future__ import annotations

import numpy as np

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.special import chi2_sf, f_sf
from discrim.core.scatter.covariance import Covariance
from discrim.errors import NotSupportedError
from discrim.inference.result import TestResult, approximations, chi_square_test

ASSUMES = "Normal classes; equal covariances under the hypothesis. Sensitive to long tails."


def likelihood_ratio(llf_common: float, llf_separate: float, df: float) -> TestResult:
    """Likelihood ratio of one covariance (LDA) against one for each class (QDA), from log-likelihoods."""
    assumes = ASSUMES + " The chi-square is asymptotic: too many rejections in small samples."
    return chi_square_test("Likelihood ratio", 2 * (llf_separate - llf_common), float(df), assumes)


def box_m_test(covariances: Floats, counts: Floats) -> TestResult:
    """Box's M test that the classes have one covariance.

    Parameters
    ----------
    covariances : (K, p, p) float
        Of the classes, divisor n_k - 1, in any common coordinates: M is affinely invariant, and whitened ones
        keep the most digits.
    counts : (K,) float

    Returns
    -------
    TestResult
        `statistic` is the chi-square; `table` has M and both approximations.

    Notes
    -----
    M = nu ln|S| - sum nu_k ln|S_k| (Box, 1949), with nu_k = n_k - 1, nu their sum, S the pooled covariance.
    """
    if len(counts) < 2:
        raise NotSupportedError(
            "Box's M compares the covariances of two classes at least; there is one: give more classes."
        )
    dfs = counts - 1
    p, k, nu = covariances.shape[1], len(counts), dfs.sum()
    pooled = np.tensordot(dfs / nu, covariances, axes=1)
    m = float(nu * np.linalg.slogdet(pooled)[1] - dfs @ np.linalg.slogdet(covariances)[1])
    c1 = ((1 / dfs).sum() - 1 / nu) * (2 * p * p + 3 * p - 1) / (6 * (p + 1) * (k - 1))
    c2 = ((1 / dfs**2).sum() - 1 / nu**2) * (p - 1) * (p + 2) / (6 * (k - 1))
    df1 = p * (p + 1) * (k - 1) / 2
    df2 = (df1 + 2) / abs(c2 - c1**2)
    if c2 > c1**2:
        f = m * (1 - c1 - df1 / df2) / df1
    else:
        # Box's denominator is 1 - b2 M, and simulation sides with it; statsmodels (0.15) has 1 + b2 M.
        b2 = (1 - c1 + 2 / df2) / df2
        f = df2 * b2 * m / (df1 * (1 - b2 * m)) if b2 * m < 1 else np.inf
    chi2 = (1 - c1) * m
    p_chi2, p_f = float(chi2_sf(chi2, df1)), float(f_sf(f, df1, df2))
    return TestResult(
        "Box's M",
        float(chi2),
        (float(df1),),
        p_chi2,
        ASSUMES,
        approximations(
            {
                "Box's M": (m, np.nan, np.nan, np.nan),
                "Box's M, chi-square": (float(chi2), float(df1), np.nan, p_chi2),
                "Box's M, F": (float(f), float(df1), float(df2), p_f),
            }
        ),
        (("", m), ("chi-square", float(chi2))),
    )


def slope_covariance(
    moments: ClassMoments, covariance: Covariance, nu: float, reference: int
) -> tuple[Floats, Floats]:
    """Slopes (K - 1, p) of LDA's log odds in the units of z, and the covariance of them all, stacked.

    The covariance within classes has nu degrees of freedom.
    """
    others = [k for k in range(moments.n_classes) if k != reference]
    means = moments.means
    gaps = covariance.whiten((means[others] - means[reference]).T)
    slopes, precision = covariance.unwhiten(gaps).T, covariance.precision()
    inner = gaps.T @ gaps
    shared = 1 / moments.counts[reference] + np.diag(1 / moments.counts[others]) + inner / nu
    q, p = slopes.shape
    stacked = np.einsum("kl,ij->kilj", shared, precision) + np.einsum("li,kj->kilj", slopes, slopes) / nu
    return slopes, stacked.reshape(q * p, q * p)


def hausman_test(efficient: Floats, efficient_cov: Floats, robust: Floats, robust_cov: Floats) -> TestResult:
    """Hausman's test on two estimates (m,) of the same numbers and their covariances (m, m).

    A NotSupportedError says that the robust estimate is in no direction less precise than the efficient one.
    """
    # In standard errors of the robust one, so that units do not decide what is zero.
    unit = np.sqrt(np.diagonal(robust_cov))
    gap = (efficient - robust) / unit
    values, vectors = np.linalg.eigh((robust_cov - efficient_cov) / unit / unit[:, None])
    kept = values > 1e-10 * max(values[-1], 0.0)
    if not kept.any() or values[-1] <= 0:
        raise NotSupportedError(
            "LDA's stated standard errors are not below the logistic model's in any direction, as they are "
            "in large samples of normal classes: Hausman's test has nothing to compare. See box_m()."
        )
    statistic = float(((vectors[:, kept].T @ gap) ** 2 / values[kept]).sum())
    left = len(gap) - int(kept.sum())
    assumes = "Normal classes with one covariance under the hypothesis; asymptotic."
    if left:
        assumes += f" {left} of {len(gap)} directions left out, where LDA is not the more precise."
    return chi_square_test("Hausman", statistic, float(kept.sum()), assumes)
