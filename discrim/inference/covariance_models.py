"""The ladder of covariance models, between one variance for everything and a covariance for each class.

Theory (Flury, 1988, Common Principal Components and Related Multivariate Models; Manly & Rayner, 1987,
Biometrika 74, 841-847). With S_k the maximum-likelihood covariances, each model maximizes -sum n_k
(ln|Sigma_k| + tr Sigma_k^-1 S_k)/2 over

    spherical                    Sigma_k = s2 I,
    diagonal                     Sigma_k = diag(s_1, ..., s_p),
    common                       Sigma_k = Sigma, that is LDA,
    proportional                 Sigma_k = c_k Sigma,
    common principal components  Sigma_k = B diag(l_k) B', B orthogonal,
    free                         Sigma_k, that is QDA.

Each contains the one before, so that the likelihood ratios of neighbours add up to that of any two. At
every maximum the traces sum to N p and the log-determinants say it all. Spherical covariances and common
principal components are meant in the units of the data, and change with them; the others do not.

Covariances of a few large variances and one beyond them (`discrim.core.covariance.factor`) lie between the
spherical and the free ones, beside the ladder: they contain none of its other models, and none them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from discrim.core.covariance.covariance import Covariance, pooled, separate
from discrim.core.covariance.factor import Factors
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.tails import chi2_sf
from discrim.core.rules.gaussian import log_likelihood
from discrim.inference.common_components import components_of_roots, proportional

__all__ = ["covariance_models"]

Floats = NDArray[np.float64]

SPAN = 1e14
"""Ratio of variances beyond which the axes of the smaller ones drown in the rounding of the larger."""


def covariance_models(
    moments: ClassMoments, prior: Floats, *, estimated_prior: bool, factors: Sequence[Factors] = ()
) -> pd.DataFrame:
    """Fit every model of the ladder.

    Parameters
    ----------
    moments : ClassMoments
        By class, each of full rank.
    prior : (K,) float
    estimated_prior : bool
        Whether the prior counts among the parameters.
    factors : sequence of Factors
        Of the same moments: covariances of a few large variances that are shown below the ladder.

    Returns
    -------
    DataFrame
        By model: df (of means, covariances and prior), llf (of class and row jointly), AIC, BIC; LR,
        LR_df, p against the next model; LR_free, LR_free_df, p_free against the free one. Common
        principal components are missing where the columns' variances differ by more than 1e14. A model of
        a few large variances has no next one, a column `dimensions` of text, and a test against the free
        one where the dimensions were given: rows that chose them leave no chi-square. Where a signal varies
        less than its noise its likelihood is missing.

    Warns
    -----
    DiscrimWarning
        A fit did not converge.

    Examples
    --------
    >>> import numpy as np
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> codes, x = np.repeat([0, 1, 2], 50), iris.iloc[:, :4].to_numpy()
    >>> moments = ClassMoments.from_block(x, codes, n_classes=3, spread="class")
    >>> table = covariance_models(moments, np.full(3, 1 / 3), estimated_prior=True)
    >>> table[["df", "llf", "LR", "LR_df"]].round(2)
                                 df     llf      LR  LR_df
    model
    spherical                    15 -444.67  121.16    3.0
    diagonal                     18 -384.09  241.77    6.0
    common                       24 -263.20   35.04    2.0
    proportional                 26 -245.68   49.40    6.0
    common principal components  32 -220.98   65.21   12.0
    free                         44 -188.38     NaN    NaN
    """
    k, p, counts = moments.n_classes, moments.n_columns, moments.counts
    logdets = _log_determinants(moments)
    spread = {
        "spherical": 1,
        "diagonal": p,
        "common": p * (p + 1) // 2,
        "proportional": p * (p + 1) // 2 + k - 1,
        "common principal components": p * (p - 1) // 2 + k * p,
        "free": k * p * (p + 1) // 2,
    }
    table = pd.DataFrame(index=pd.Index(list(spread), name="model"))
    beside = k * p + (k - 1 if estimated_prior else 0)
    table["df"] = [beside + own for own in spread.values()]
    table["llf"] = [log_likelihood(moments, logdets[name], prior) for name in spread]
    table["AIC"] = 2 * table["df"] - 2 * table["llf"]
    table["BIC"] = np.log(moments.total) * table["df"] - 2 * table["llf"]
    # From the determinants, not from likelihoods, whose large parts would cancel.
    depth = np.array([float(counts @ logdets[name]) for name in spread])
    df = table["df"].to_numpy(dtype=np.float64)
    for prefix, ratio, free in (
        ("", np.append(depth[:-1] - depth[1:], np.nan), np.append(np.diff(df), np.nan)),
        ("_free", np.append(depth[:-1] - depth[-1], np.nan), np.append(df[-1] - df[:-1], np.nan)),
    ):
        table[f"LR{prefix}"], table[f"LR{prefix}_df"] = ratio, free
        # Of one column or one class in all but name, two models are the same and there is nothing to test.
        table[f"p{prefix}"] = np.where(free > 0, chi2_sf(ratio, np.where(free > 0, free, 1)), np.nan)
    if not factors:
        return table
    rows = [_factor_line(moments, prior, held, beside, int(df[-1]), depth[-1]) for held in factors]
    lines = pd.DataFrame(rows, index=[f"factor {held.form}" for held in factors])
    table["dimensions"] = ""
    return pd.concat([table, lines]).rename_axis("model").astype({"df": int})


def _factor_line(
    moments: ClassMoments, prior: Floats, held: Factors, beside: int, free: int, depth: float
) -> dict[str, Any]:
    """One model of a few large variances, with `beside` parameters of means and prior.

    Free and depth are the number of parameters, and sum of log-determinants, of the free model.
    """
    counts, df = moments.counts, beside + held.free_parameters()
    line: dict[str, Any] = {"df": df, "dimensions": ", ".join(str(d) for d in held.dimensions.tolist())}
    if held.fault() is not None:
        return line
    logdets = np.array([c.logdet for c in held.covariances(counts)])
    llf = log_likelihood(moments, logdets, prior)
    line |= {"llf": llf, "AIC": 2 * df - 2 * llf, "BIC": np.log(moments.total) * df - 2 * llf}
    gap = free - df
    if held.wanted.found != "given" or not gap:
        return line
    ratio = float(counts @ logdets - depth)
    tail = float(chi2_sf(np.array([ratio]), np.array([gap]))[0])
    return line | {"LR_free": ratio, "LR_free_df": gap, "p_free": tail}


def _log_determinants(moments: ClassMoments) -> dict[str, Floats]:
    """Log-determinants (K,) of each model's covariances, in the coordinates of the moments."""
    p, counts = moments.n_columns, moments.counts
    common, own = pooled(moments, moments.total), separate(moments, counts)
    log_scale = np.log(moments.scale)
    units = 2.0 * float(log_scale.sum())
    log_variances = 2.0 * (np.log(common.sd) - log_scale)
    whitened = np.stack([common.whiten(c.root.T).T for c in own])
    factors, shape = proportional(np.swapaxes(whitened, 1, 2) @ whitened, counts)
    shared = np.linalg.slogdet(shape)[1] + common.logdet
    return {
        "spherical": np.full(len(counts), p * (scipy.special.logsumexp(log_variances) - np.log(p)) + units),
        "diagonal": np.full(len(counts), 2.0 * np.log(common.sd).sum()),
        "common": np.full(len(counts), common.logdet),
        "proportional": p * np.log(factors) + shared,
        "common principal components": _component_logdets(own, counts, log_scale) + units,
        "free": np.array([c.logdet for c in own]),
    }


def _component_logdets(own: tuple[Covariance, ...], counts: Floats, log_scale: Floats) -> Floats:
    """Log-determinants (K,) under common principal components in the units of the data, or NaN."""
    log_sd = np.log([c.sd for c in own]) - log_scale
    if 2 * (log_sd.max() - log_sd.min()) > np.log(SPAN):
        return np.full(len(counts), np.nan)
    # One factor for all columns keeps sums of squares within range and leaves the model what it is.
    size = log_sd.mean()
    roots = np.stack([c.root for c in own]) * np.exp(-log_scale - size)
    lengths = components_of_roots(roots, counts)[1]
    return np.asarray(np.log(lengths).sum(axis=1) + 2 * len(log_scale) * size)
