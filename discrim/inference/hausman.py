"""Are classes normal with one covariance? The slopes of LDA against those of the logistic model.

Theory. Both estimate the slopes of the log odds. Under normal classes with one covariance LDA's are
efficient; the logistic model's are consistent without it. By Hausman (1978, Econometrica 46, 1251-1271)
the variance of their difference is then the difference of their variances, and

    H = (b - B)' [V_B - V_b]^+ (b - B)  ~  chi-square on the rank of V_B - V_b

tests the model (Lo, 1986, Journal of Econometrics 31, 151-178, for LDA). LDA's covariance, stacked over the
classes against the reference 0, follows from the delta method with b_k = S^-1 d_k:

    cov(b_k, b_l) = ([k = l]/n_k + 1/n_0) S^-1 + [(d_k'S^-1 d_l) S^-1 + b_l b_k']/nu.

In finite samples V_B - V_b need not be positive definite: directions in which it is not say nothing and are
left out, which the degrees of freedom show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.tails import chi2_sf
from discrim.errors import NotSupportedError
from discrim.inference.result import TestResult, approximations

__all__ = ["hausman", "slope_covariance"]

Floats = NDArray[np.float64]


def slope_covariance(
    moments: ClassMoments, covariance: Covariance, nu: float, reference: int
) -> tuple[Floats, Floats]:
    """Slopes (K - 1, p) of LDA's log odds in the units of z, and the covariance of them all, stacked.

    Parameters
    ----------
    moments : ClassMoments
    covariance : Covariance
        Within classes.
    nu : float
        Its degrees of freedom.
    reference : int
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


def hausman(efficient: Floats, efficient_cov: Floats, robust: Floats, robust_cov: Floats) -> TestResult:
    """Hausman's test on two estimates (m,) of the same numbers and their covariances (m, m).

    Raises
    ------
    NotSupportedError
        In no direction the robust estimate is less precise than the efficient one.
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
    df = float(kept.sum())
    pvalue = float(chi2_sf(statistic, df))
    left = len(gap) - int(df)
    return TestResult(
        "Hausman",
        statistic,
        (df,),
        pvalue,
        "Normal classes with one covariance under the hypothesis; asymptotic."
        + (f" {left} of {len(gap)} directions left out, where LDA is not the more precise." if left else ""),
        approximations({"Hausman": (statistic, df, np.nan, pvalue)}),
    )
