"""A covariance for each class, of rows, as it is asked for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.covariance import divisors_by_class
from discrim.core.moments.moments import ClassMoments
from discrim.core.normal.qda import QDAFit, factors_for, fit_qda
from discrim.core.robust.robust import Robust
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.frame.blocks import Blocks
from discrim.models.normal.covariance_options import Shrinking, estimate
from discrim.models.normal.estimators import text_of
from discrim.models.normal.factor_options import refuse_fault

__all__ = ["quadratic_again", "quadratic_fit"]

Floats = NDArray[np.float64]


def quadratic_fit(
    asked: Shrinking,
    blocks: Blocks,
    moments: ClassMoments,
    prior: Floats,
    *,
    method: str,
    estimated_prior: bool,
    robust: Robust | None = None,
) -> tuple[QDAFit, pd.DataFrame | None]:
    """Fit a covariance for each class, and the path of a choice by leave-one-out."""
    divisors = divisors_by_class(moments.counts, method)
    factors = None
    if asked.factor is not None:
        levels = blocks.design.levels
        wanted = asked.factor.of(levels, moments.n_columns)
        factors = factors_for(moments, wanted, standardize=asked.standardize)
        refuse_fault(factors, levels, moments.rows.tolist())
    trial = partial(_rule_at, asked, prior, method)
    found = estimate(asked, blocks, moments, divisors, prior, trial, sampled=estimated_prior)
    fit = fit_qda(
        moments,
        prior,
        method=method,
        structure=asked.structure,
        estimated_prior=estimated_prior,
        shrinkage=found.shrinkage,
        chosen=asked.chosen,
        covariances=found.covariances,
        estimator=None if asked.estimator is None else text_of(asked.estimator),
        robust=robust,
        standardize=asked.standardize,
        factors=factors,
    )
    return fit, found.path


def quadratic_again(numbers: QDAFit, asked: Shrinking, blocks: Blocks, moments: ClassMoments) -> QDAFit:
    """The same model of other rows, the prior held."""
    return quadratic_fit(
        asked,
        blocks,
        moments,
        numbers.prior,
        method=numbers.method,
        estimated_prior=numbers.estimated_prior,
    )[0]


def _rule_at(asked: Shrinking, prior: Floats, method: str, moments: ClassMoments, shrinkage: float) -> Rule:
    each = np.full(moments.n_classes, shrinkage)
    held = fit_qda(moments, prior, method=method, structure=asked.structure, shrinkage=each)
    return held.rule(logs_of_prior(prior))
