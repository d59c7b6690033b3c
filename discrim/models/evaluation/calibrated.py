"""Calibrated posteriors of a fit: the map that its own left-out rows teach, and the rule that has it.

A row that is left out has scores by the rule without it, whose prior is estimated without it too: in closed
form where the model has one, by a refit where rows are few, else by ten folds that a fixed seed deals. The
columns that rows chose are chosen anew in each fold; a tuning parameter is held where single rows are left
out. The only row of a class, or a fold with all rows of one, is judged by rules that lack the class, and
calibrates nothing: the class has no posteriors that could be calibrated.
Classes count by the prior of the fit, where one was given, so that posteriors are those under it.
Another prior, asked for later, adds the logarithms of its ratios to the calibrated log posteriors.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.calibration import Calibrator, fit_calibrator
from discrim.core.rules.leave_one_out import ByRefits
from discrim.core.rules.rules import CalibratedRule, Rule, logs_of_prior
from discrim.design.rows import used_codes
from discrim.errors import NotSupportedError, PriorError
from discrim.inference.calibration import JudgedRows
from discrim.models.base.fit import CALIBRATOR, FittedModel
from discrim.models.base.reading import listed, prior_vector
from discrim.models.evaluation import validation
from discrim.models.evaluation.absent_classes import absent_class_mask
from discrim.models.evaluation.assessment import FEW_REFITS, MAX_SLOWDOWN

FOLDS = 10
SEED = 0
"""How rows are left out where they are more, or chose the columns."""


def calibrator_of(fit: FittedModel[Any]) -> Calibrator:
    """The map from scores of the fit's rule to calibrated log posteriors, which the fit keeps.

    A NotSupportedError says that the fit has neither the map nor the rows to make it from.
    """
    if CALIBRATOR not in fit.cache:
        scores, codes, weights = left_out_sample(fit)
        log_prior = fit.log_prior() if fit.has_posteriors else None
        fit.cache[CALIBRATOR] = fit_calibrator(scores, codes, weights, log_prior=log_prior)
    kept: Calibrator = fit.cache[CALIBRATOR]
    return kept


def left_out_sample(fit: FittedModel[Any]) -> tuple[Floats, Codes, Floats]:
    """Scores (n, K) of the rows of a fit that are left out, their classes (n,), and what each counts (n,)."""
    blocks = fit.rows(
        'method="calibrated"',
        'call predict_proba(method="calibrated") on the fit that has rows before it is saved, or fit '
        "formula and data",
    )
    scores, fold_ids = _left_out(fit)
    codes = used_codes(blocks)
    # A rule without the class of a row says nothing of how sure rules with the class may be.
    lone = absent_class_mask(codes, blocks.weights, len(fit.classes), fold_ids)
    codes = np.where(np.isnan(scores).any(axis=1) | lone, -1, codes)
    weights = np.ones(len(codes)) if blocks.weights is None else np.nan_to_num(blocks.weights)
    if fit.prior_in_refits != "none" and not fit.estimates.estimated_prior:
        known = codes >= 0
        judged = JudgedRows(codes[known], weights[known], len(fit.classes), fit.prior_values(), None)
        weights[known] = judged.shares()
    return scores, codes, weights


def _left_out(fit: FittedModel[Any]) -> tuple[Floats, Codes | None]:
    """Scores (n, K) by rules without each row or its fold (n,); missing where there is none."""
    if fit.selection is not None and fit.selection.kind == "model":
        # Scores of other models are on other scales.
        fit = replace(fit, selection=None)
    if fit.selection is None and _leaves_rows_out(fit):
        with suppress(NotSupportedError):
            return validation.kept_left_out_scores(fit, refit_prior=True).value(), None
    whole = fit.choosing_anew()
    folds = min(FOLDS, int((used_codes(whole.rows("calibration")) >= 0).sum()))
    dealt = validation.deal_folds(whole, folds, SEED)
    try:
        with Progress(folds, "calibration") as progress:
            return validation.fold_scores(whole, dealt, folds, progress=progress, refit_prior=True), dealt
    except NotSupportedError:
        # Without a fold there is no rule; there may be one without each of nearly all rows.
        if fit.selection is None:
            with suppress(NotSupportedError):
                return validation.kept_left_out_scores(fit, refit_prior=True).value(), None
        raise


def _leaves_rows_out(fit: FittedModel[Any]) -> bool:
    """Whether single rows are left out in closed form, or are few."""
    if (
        any(kept in fit.cache for kept in validation.LEFT_OUT_KEPT_AS.values())
        or fit.counts.sum() <= FEW_REFITS
    ):
        return True
    if fit.refits.required_moments(fit) is None:
        return 1 < fit.spec.leave_one_out_cost <= MAX_SLOWDOWN
    try:
        return not isinstance(fit.refits.leave_one_out(fit), ByRefits)
    except NotSupportedError:
        return False


def posterior_rule(fit: FittedModel[Any], what: str, prior: Any, method: str, convention: str | None) -> Rule:
    """The rule whose scores are log posteriors by a method; `what` asks for them."""
    if method != "calibrated":
        fit.need_posteriors(what)
        return fit.rule(prior, method, convention)
    if convention is not None:
        raise NotSupportedError(
            f'convention="{convention}" has no calibrated posteriors.',
            hint="Leave it out, or use another method.",
        )
    return calibrated_rule(fit, prior)


def calibrated_rule(fit: FittedModel[Any], prior: Any = None) -> CalibratedRule:
    """The rule whose scores are calibrated log posteriors under a prior, in any form that a verb takes."""
    shift = np.zeros(len(fit.classes))
    if prior is not None:
        values = prior_vector(prior, fit.classes, np.asarray(fit.counts, dtype=np.float64))
        own = own_prior(fit)
        none: pd.Index = fit.classes[(own == 0) & (values > 0)]
        if len(none):
            raise PriorError(
                f"The fit gave {listed(none)} no prior, so that no row has calibrated its posteriors.",
                hint="Fit with a prior for each class.",
            )
        there = own > 0
        shift[there] = logs_of_prior(values[there]) - np.log(own[there])
    return CalibratedRule(fit.rule(), calibrator_of(fit), shift)


def own_prior(fit: FittedModel[Any]) -> Floats:
    """The prior (K,) that calibrated posteriors are under: that of the fit, or the shares of its rows."""
    return fit.counts / fit.counts.sum() if fit.prior_in_refits == "none" else fit.prior_values()
