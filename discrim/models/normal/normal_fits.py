"""What LDA and QDA share where a covariance is shrunk or an estimator's: fits, refits, leave-one-out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.standardized import in_units, within_sd
from discrim.core.moments.weights import LIGHT
from discrim.core.normal.lda import LDAFit, fit_lda
from discrim.core.normal.qda import QDAFit, fit_qda
from discrim.core.robust.robust import Robust
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError
from discrim.frame.blocks import Blocks
from discrim.models.fits.fit import Fit, Refits
from discrim.models.fits.reading import class_moments
from discrim.models.fits.refits import moment_refits
from discrim.models.normal.covariance_options import Shrinking, estimate, held_path, powers_of
from discrim.models.normal.estimators import text_of
from discrim.models.normal.robust import robust_rule

__all__ = ["ShrunkCovariances", "linear_fit", "normal_refits", "quadratic_fit", "shrinkage_label"]

Floats = NDArray[np.float64]

_LABELS = {
    "given": "given",
    "oas": "OAS",
    "ledoit-wolf": "Ledoit-Wolf",
    "loo": "leave-one-out",
    "strimmer": "Opgen-Rhein & Strimmer",
}


def shrinkage_label(chosen: str | None) -> str:
    """How a shrinkage was chosen, in words."""
    return f"Shrinkage, {_LABELS[chosen or 'oas']}"


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
    found = estimate(asked, blocks, moments, np.array([divisor]), prior, sampled=estimated_prior)
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
    )
    return fit, found.path


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
    """Fit a covariance for each class; as `linear_fit`."""
    divisors = moments.counts - (1.0 if method == "moment" else 0.0)
    found = estimate(asked, blocks, moments, divisors, prior, sampled=estimated_prior)
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
    )
    return fit, found.path


class ShrunkCovariances:
    """The path of a choice among shrinkages; for children of `ClassifierResults`."""

    @property
    def path(self: Any) -> pd.DataFrame:
        """Leave-one-out errors of `shrinkage="loo"`: shrinkage, error, se.

        Missing where a covariance is singular without some row, or distances are no doubles. The choice has
        the least error, and of equal ones the most shrinkage. Each shrinkage is held while a row is left out.

        Raises
        ------
        NotSupportedError
            The shrinkage was not chosen so, or the fit was loaded.
        """
        return held_path(self._fit.cache)


def _refitted(
    numbers: LDAFit | QDAFit, asked: Shrinking, blocks: Blocks, moments: ClassMoments
) -> LDAFit | QDAFit | None:
    """The same model of other rows, the prior held; None where a covariance is singular."""
    common = isinstance(numbers, LDAFit)
    free = moments.rows - 1
    light = moments.total - moments.n_classes if common else (moments.counts - 1).min()
    if numbers.method == "moment" and light <= LIGHT * moments.total:
        return None
    if free.min() < (0 if common else 1) or free.sum() < 1:
        return None
    if any(asked.obstacles(moments, k) for k in ([None] if common else range(moments.n_classes))):
        return None
    options: dict[str, Any] = {"method": numbers.method, "estimated_prior": numbers.estimated_prior}
    try:
        if isinstance(numbers, LDAFit):
            return linear_fit(asked, blocks, moments, numbers.prior, ncomp=numbers.ncomp, **options)[0]
        return quadratic_fit(asked, blocks, moments, numbers.prior, **options)[0]
    except CollinearError:
        return None


def normal_refits(
    numbers: LDAFit | QDAFit, asked: Shrinking | None, *, drops: bool = False, why_not: Any = None
) -> Refits:
    """How a linear or quadratic discriminant analysis is fitted again.

    Parameters
    ----------
    numbers : LDAFit or QDAFit
    asked : Shrinking, optional
        What the fit was asked for; not known of a loaded one, which has no rows either.
    drops, why_not
        As of `Refits`.
    """
    others: dict[str, Any] = {"left_out": _left_out, "drops": drops, "why_not": why_not, "asked": asked}
    if numbers.chosen == "loo":
        others["chosen"] = "the shrinkage"
    if asked is not None:
        others["obstacles"] = asked.obstacles
    if asked is not None and asked.needs_rows:
        return moment_refits(None, of_rows=partial(_rule_as_asked, asked), **others)
    if numbers.robust is not None:
        return moment_refits(None, of_rows=robust_rule, **others)
    return moment_refits(numbers.moments.spread, **others)


def _rule_as_asked(asked: Shrinking, fit: Fit[LDAFit | QDAFit], blocks: Blocks) -> Rule | None:
    moments = class_moments(blocks, fit.numbers.moments.spread)
    refit = _refitted(fit.numbers, asked, blocks, moments)
    return None if refit is None else refit.rule(fit.log_prior())


def _left_out(fit: Fit[Any]) -> LeftOut:
    numbers, moments = fit.numbers, fit.numbers.moments
    blocks = fit.rows("leave_one_out()")
    if numbers.standardize:
        unit = within_sd(moments)
        blocks, moments = replace(blocks, unit=unit), in_units(moments, unit)
    powers = powers_of(numbers.chosen, blocks, moments, common=isinstance(numbers, LDAFit))
    left_out: LeftOut = numbers.left_out(fit.log_prior(), powers)
    return left_out
