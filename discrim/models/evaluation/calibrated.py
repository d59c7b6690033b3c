"""Calibrated posteriors of a fit, estimated from the scores of its rows under rules without them.

Scores of left-out rows, whose prior is estimated without them too, are computed in closed form if the model
has one, by refits for few rows, and otherwise by ten folds with a fixed seed. Folds repeat a choice of
columns; leaving out single rows fixes tuning parameters. The only row of a class, or a fold with all rows of
a class, is scored by rules without the class and is not used for calibration. Classes are weighted by the
prior of the fit if the user specified one: the posteriors are then under this prior. Another prior in a later
call adds the logarithms of its ratios to the calibrated log posteriors.
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
from discrim.core.rules.leave_one_out import RefitEachRow
from discrim.core.rules.rules import CalibratedRule, Rule, log_of_prior
from discrim.design.rows import used_codes
from discrim.errors import NotSupportedError, PriorError
from discrim.inference.calibration import EvaluatedRows
from discrim.models.base.fit import CALIBRATOR_KEY, FittedModel
from discrim.models.base.reading import join_labels, prior_vector
from discrim.models.evaluation import validation
from discrim.models.evaluation.absent_classes import absent_class_mask
from discrim.models.evaluation.assessment import MAX_LEAVE_ONE_OUT_REFITS, MAX_SLOWDOWN

MAX_CALIBRATION_FOLDS = 10
CALIBRATION_SEED = 0
"""Largest number of folds, and their seed, if calibration is by cross-validation."""


def fitted_calibrator(fit: FittedModel[Any]) -> Calibrator:
    """Return the calibrator, which maps scores of the rule to log posteriors; the fit caches it.

    Raises NotSupportedError if the calibrator is not in the cache and cannot be estimated: the fit lacks
    rows, or the model can be fitted neither without single rows nor without folds.
    """
    if CALIBRATOR_KEY not in fit.cache:
        scores, codes, weights = calibration_sample(fit)
        log_prior = fit.log_prior() if fit.has_posteriors else None
        fit.cache[CALIBRATOR_KEY] = fit_calibrator(scores, codes, weights, log_prior=log_prior)
    calibrator: Calibrator = fit.cache[CALIBRATOR_KEY]
    return calibrator


def calibration_sample(fit: FittedModel[Any]) -> tuple[Floats, Codes, Floats]:
    """Return the sample from which posteriors are calibrated.

    Returns
    -------
    scores : (n, K) float
        Scores of the rows of the fit under rules without them, NaN for rows that cannot be left out.
    codes : (n,) int
        Classes, -1 for rows that are not used for calibration.
    weights : (n,) float
        Frequency weights, or ones; if the user specified a prior, classes are reweighted to it.
    """
    design_rows = fit.require_rows(
        'method="calibrated"',
        'call predict_proba(method="calibrated") on the fit that has rows before it is saved, or fit '
        "formula and data",
    )
    scores, fold_ids = _left_out_scores(fit)
    codes = used_codes(design_rows)
    # Scores of rules without the class of a row are not informative about rules with the class.
    is_lone = absent_class_mask(codes, design_rows.weights, len(fit.classes), fold_ids)
    codes = np.where(np.isnan(scores).any(axis=1) | is_lone, -1, codes)
    weights = np.ones(len(codes)) if design_rows.weights is None else np.nan_to_num(design_rows.weights)
    if fit.prior_in_refits != "none" and not fit.estimates.estimated_prior:
        is_used = codes >= 0
        used_rows = EvaluatedRows(
            codes[is_used], weights[is_used], len(fit.classes), fit.prior_values(), None
        )
        weights[is_used] = used_rows.row_weights()
    return scores, codes, weights


def _left_out_scores(fit: FittedModel[Any]) -> tuple[Floats, Codes | None]:
    """Return the scores of rows under rules fitted without them; see the module docstring.

    Raises NotSupportedError if the model can be fitted neither without single rows nor without folds.

    Returns
    -------
    scores : (n, K) float
        NaN for rows that are not used or cannot be left out.
    fold_ids : (n,) int or None
        Folds that were left out together, -1 for rows that are not used; None if single rows were left out.
    """
    if fit.selection is not None and fit.selection.target == "model":
        # Scores of different models have different scales.
        fit = replace(fit, selection=None)
    if fit.selection is None and _has_fast_leave_one_out(fit):
        with suppress(NotSupportedError):
            return validation.distributed_left_out_scores(fit, refit_prior=True).value(), None
    unselected_fit = fit.fit_before_selection()
    folds = min(
        MAX_CALIBRATION_FOLDS, int((used_codes(unselected_fit.require_rows("calibration")) >= 0).sum())
    )
    fold_ids = validation.assign_folds(unselected_fit, folds, CALIBRATION_SEED)
    try:
        with Progress(folds, "calibration") as progress:
            return validation.fold_scores(
                unselected_fit, fold_ids, folds, progress=progress, refit_prior=True
            ), fold_ids
    except NotSupportedError:
        # The model cannot be fitted without some fold, but possibly without single rows.
        if fit.selection is None:
            with suppress(NotSupportedError):
                return validation.distributed_left_out_scores(fit, refit_prior=True).value(), None
        raise


def _has_fast_leave_one_out(fit: FittedModel[Any]) -> bool:
    """Return whether leave-one-out scores are cached, have a closed form, or require few refits.

    Refits are few if the total weight of the rows is at most `MAX_LEAVE_ONE_OUT_REFITS`. For more rows, a
    model that is not a function of moments requires a `leave_one_out_cost` above 1 (which marks a closed
    form) and at most `MAX_SLOWDOWN`.
    """
    if (
        any(cache_key in fit.cache for cache_key in validation.LEFT_OUT_CACHE_KEYS.values())
        or fit.counts.sum() <= MAX_LEAVE_ONE_OUT_REFITS
    ):
        return True
    if fit.refits.required_moments(fit) is None:
        return 1 < fit.spec.leave_one_out_cost <= MAX_SLOWDOWN
    try:
        return not isinstance(fit.refits.leave_one_out(fit), RefitEachRow)
    except NotSupportedError:
        return False


def posterior_rule(
    fit: FittedModel[Any], method_name: str, prior: Any, method: str, convention: str | None
) -> Rule:
    """Return the rule whose scores are log posteriors by a method of `predict_proba`, up to a constant.

    Raises NotSupportedError if the model lacks posteriors by the method, or if "calibrated" is combined with
    a convention.

    Parameters
    ----------
    fit : FittedModel
    method_name : str
        Name of the public method in error messages.
    prior : object
        Prior in any form that a verb accepts; None for the prior of the fit.
    method : {"plugin", "predictive", "debiased", "calibrated"}
        See `ClassifierResults.predict_proba`.
    convention : {"MASS"} or None
        "MASS" for the formulas of R's MASS for "predictive" and "debiased"; None for the formulas of this
        package.
    """
    if method != "calibrated":
        fit.require_posteriors(method_name)
        return fit.rule(prior, method, convention)
    if convention is not None:
        raise NotSupportedError(
            f'convention="{convention}" cannot be combined with method="calibrated".',
            hint="Leave out convention=, or use another method=.",
        )
    return calibrated_rule(fit, prior)


def calibrated_rule(fit: FittedModel[Any], prior: Any = None) -> CalibratedRule:
    """Return the rule whose scores are calibrated log posteriors; a first call estimates the calibrator.

    Parameters
    ----------
    fit : FittedModel
    prior : object
        Prior in any form that a verb accepts; by default the prior of the calibrated posteriors.

    Raises
    ------
    PriorError
        The prior of a class is positive but was zero in the calibration.
    """
    shift = np.zeros(len(fit.classes))
    if prior is not None:
        values = prior_vector(prior, fit.classes, np.asarray(fit.counts, dtype=np.float64))
        fit_prior = calibrated_prior(fit)
        uncalibrated_classes: pd.Index = fit.classes[(fit_prior == 0) & (values > 0)]
        if len(uncalibrated_classes):
            raise PriorError(
                f"The posteriors of {join_labels(uncalibrated_classes)} are not calibrated, because the fit "
                "has a prior of zero.",
                hint="Fit with a positive prior for each class.",
                classes=uncalibrated_classes,
            )
        is_positive = fit_prior > 0
        shift[is_positive] = log_of_prior(values[is_positive]) - np.log(fit_prior[is_positive])
    return CalibratedRule(fit.rule(), fitted_calibrator(fit), shift)


def calibrated_prior(fit: FittedModel[Any]) -> Floats:
    """Return the prior (K,) of calibrated posteriors.

    It is the prior of the fit, or the class proportions for a model without a prior.
    """
    return fit.counts / fit.counts.sum() if fit.prior_in_refits == "none" else fit.prior_values()
