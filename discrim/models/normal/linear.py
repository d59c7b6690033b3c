"""One covariance for all classes, of rows, as it is asked for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.normal.lda import LDAFit, fit_lda
from discrim.core.robust.robust import Robust
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.frame.blocks import Blocks
from discrim.models.normal.covariance_options import Shrinking, estimate
from discrim.models.normal.estimators import text_of

__all__ = ["linear_again", "linear_fit"]

Floats = NDArray[np.float64]


def linear_fit(
    asked: Shrinking,
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str,
    ncomp: int | None,
    estimated_prior: bool,
    robust: Robust | None = None,
) -> tuple[LDAFit, pd.DataFrame | None]:
    """Fit one covariance, and the path of a choice by leave-one-out."""
    divisor = moments.total - (moments.n_classes if method == "moment" else 0)
    trial = partial(_rule_at, asked, prior, method)
    found = estimate(asked, blocks, moments, np.array([divisor]), prior, trial, sampled=estimated_prior)
    fit = fit_lda(
        moments,
        prior,
        method=method,
        structure=asked.structure,
        ncomp=ncomp,
        estimated_prior=estimated_prior,
        shrinkage=None if found.shrinkage is None else float(found.shrinkage[0]),
        chosen=asked.chosen,
        covariance=None if found.covariances is None else found.covariances[0],
        estimator=None if asked.estimator is None else text_of(asked.estimator),
        robust=robust,
        standardize=asked.standardize,
        variances=found.variances,
    )
    return fit, found.path


def linear_again(numbers: LDAFit, asked: Shrinking, blocks: Blocks, moments: ClassMoments) -> LDAFit:
    """The same model of other rows, the prior held."""
    return linear_fit(
        asked,
        blocks,
        moments,
        numbers.prior,
        method=numbers.method,
        ncomp=numbers.ncomp,
        estimated_prior=numbers.estimated_prior,
    )[0]


def _rule_at(asked: Shrinking, prior: Floats, method: str, moments: ClassMoments, shrinkage: float) -> Rule:
    held = fit_lda(moments, prior, method=method, structure=asked.structure, shrinkage=shrinkage)
    return held.rule(logs_of_prior(prior))
