"""What LDA and QDA share where a covariance is shrunk or an estimator's: refits, leave-one-out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd

from discrim.core.covariance.factor import found_by_class
from discrim.core.incomplete.em import Em
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.weights import LIGHT
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import Rule
from discrim.errors import CollinearError
from discrim.frame.blocks import Blocks
from discrim.models.fits.displayed import displayed
from discrim.models.fits.fit import Fit, Refits
from discrim.models.fits.reading import class_moments, in_own_units
from discrim.models.fits.refits import left_out_by_refits, moment_refits
from discrim.models.fits.tuning import held_path
from discrim.models.normal.covariance_options import Shrinking, powers_of
from discrim.models.normal.em import em_rule
from discrim.models.normal.robust import robust_rule

__all__ = ["FitAgain", "ShrunkCovariances", "normal_refits", "shrinkage_label"]

FitAgain = Callable[[Any, Shrinking, Blocks, ClassMoments], Any]
"""From numbers, what was asked for, rows and their moments to the numbers of these rows, the prior held."""

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


class ShrunkCovariances:
    """The path of a choice among shrinkages; for children of `ClassifierResults`."""

    @property
    @displayed(se="share")
    def path(self: Any) -> pd.DataFrame:
        """Leave-one-out errors of `shrinkage="loo"`: shrinkage, error, se.

        An error is missing where a covariance is singular without some row, or where distances exceed the
        doubles. The choice has the least error and, of equal errors, the most shrinkage. Each shrinkage is
        held while a row is left out.

        Raises
        ------
        NotSupportedError
            The shrinkage was not chosen by leave-one-out, or the fit was loaded.
        """
        why = 'which is that of shrinkage="loo" and not of a loaded fit'
        return held_path(self._fit, why, 'fit with shrinkage="loo"')


def normal_refits(
    numbers: Any,
    asked: Shrinking | None,
    again: FitAgain,
    *,
    common: bool,
    drops: bool = False,
    why_not: Any = None,
) -> Refits:
    """How a linear or quadratic discriminant analysis is fitted again.

    Parameters
    ----------
    numbers : LDAFit or QDAFit
    asked : Shrinking, optional
        What the fit was asked for; not known of a loaded one, which has no rows either.
    again : callable
        Fits other rows as they were asked for; raises CollinearError where a covariance is singular.
    common : bool
        Whether the classes share one covariance.
    drops, why_not
        As of `Refits`.
    """
    refits = replace(
        moment_refits(numbers.moments.spread),
        left_out=partial(_left_out, common),
        chosen="the shrinkage" if numbers.chosen == "loo" else "",
        drops=drops,
        obstacles=None if asked is None else asked.obstacles,
        why_not=why_not,
        asked=asked,
    )
    if asked is not None and asked.needs_rows:
        return replace(refits, spread=None, of_rows=partial(_rule_as_asked, asked, again, common))
    if isinstance(numbers.found, Em):
        anew = partial(em_rule, common)
        return replace(refits, spread=None, of_rows=anew, held=anew)
    return refits if numbers.robust is None else replace(refits, spread=None, of_rows=robust_rule)


def _rule_as_asked(
    asked: Shrinking, again: FitAgain, common: bool, fit: Fit[Any], blocks: Blocks
) -> Rule | None:
    """The same model of other rows, the prior held; None where a covariance is singular."""
    numbers = fit.numbers
    moments = class_moments(blocks, numbers.moments.spread)
    free = moments.rows - 1
    light = moments.total - moments.n_classes if common else (moments.counts - 1).min()
    if numbers.method == "moment" and light <= LIGHT * moments.total:
        return None
    if free.min() < (0 if common else 1) or free.sum() < 1:
        return None
    if any(asked.obstacles(moments, k) for k in ([None] if common else range(moments.n_classes))):
        return None
    try:
        rule: Rule = again(numbers, asked, blocks, moments).rule(fit.log_prior())
    except CollinearError:
        return None
    return rule


def _left_out(common: bool, fit: Fit[Any]) -> LeftOut:
    numbers, moments = fit.numbers, fit.numbers.moments
    blocks = fit.rows("leave_one_out()")
    factors = getattr(numbers, "factors", None)
    if factors is not None and not found_by_class(factors):
        return left_out_by_refits(
            fit, f"with form={factors.form!r}, of what classes have in common, takes a refit for each row"
        )
    if numbers.standardize:
        blocks, moments = in_own_units(blocks, moments)
    powers = powers_of(numbers, blocks, moments, common=common)
    left_out: LeftOut = numbers.left_out(fit.log_prior(), powers)
    return left_out
