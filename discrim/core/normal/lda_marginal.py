"""The linear rule of some of the columns; the theory is that of `marginal`.

A rule within canonical axes is that of normal classes whose means lie in a plane, c + S A A'(m_k - c) for
axes A with A'S A = I.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.canonical import Canonical
from discrim.core.covariance.covariance import Covariance
from discrim.core.covariance.marginal import of_columns
from discrim.core.moments.moments import ClassMoments, split_mean
from discrim.core.normal.lda import LDAFit
from discrim.core.rules import gaussian
from discrim.core.rules.marginal import means_of_columns
from discrim.core.rules.rules import Rule

__all__ = ["linear_marginal"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def linear_marginal(fit: LDAFit, log_prior: Floats, method: str, keep: Codes) -> Rule:
    """The rule of some columns (q,) by a method that the rule of all of them has."""
    moments, reduced = fit.moments, fit.reduced()
    held = means_of_columns(moments if reduced is None else _in_plane(moments, fit.covariance, reduced), keep)
    if method == "plugin":
        return gaussian.linear_rule(held, of_columns(fit.covariance, keep), log_prior)
    covariance, nu = of_columns(fit.unbiased(), keep), fit.residual_df
    if method == "predictive":
        gone = moments.n_columns - len(keep)
        return gaussian.common_predictive(held, covariance, log_prior, nu, gone=gone)
    return gaussian.common_debiased(held, covariance, log_prior, nu)


def _in_plane(moments: ClassMoments, covariance: Covariance, reduced: Canonical) -> ClassMoments:
    """The moments with the means of the rule within canonical axes, which lie in a plane."""
    gaps = (moments.means - reduced.centre) @ reduced.axes
    means = reduced.centre + covariance.times(reduced.axes @ gaps.T).T
    centres, rests = split_mean(moments.origin, means, moments.scale)
    return replace(moments, centres=centres, rests=rests)
