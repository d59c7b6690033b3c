"""The choice of how much to regularize, by folds whose moments are merged and not gathered again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments import ClassMoments
from discrim.core.rda import RDAFit
from discrim.core.rules import Rule, best_class
from discrim.errors import DataError
from discrim.frame.blocks import Blocks
from discrim.models.validation import dealt_codes, moment_folds, used_codes, used_rows

__all__ = ["Choice", "choose"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """How a pair is chosen.

    Attributes
    ----------
    pairs : list of (alpha, gamma)
    folds : int
    seed : int or None
    select : {"min", "1se"}
    simpler_gamma : float
        Sign of the direction of gamma in which there is more ridge.
    """

    pairs: list[tuple[float, float]]
    folds: int
    seed: int | None
    select: str
    simpler_gamma: float


def choose(
    blocks: Blocks, fitted: Callable[[ClassMoments, float, float], RDAFit], plan: Choice, prior: Floats
) -> tuple[float, float, pd.DataFrame]:
    """The pair chosen, and the path: alpha, gamma, error, se (missing where a fold has a singular fit).

    The error of a pair is the mean over folds of the rate of wrong rows, each class weighted by its prior;
    its standard error is that of the mean.

    Raises
    ------
    DataError
        Folds that are too many or too few, or no pair that has a fit in every fold.
    """
    codes = used_codes(blocks)
    dealt = dealt_codes(codes, len(prior), plan.folds, plan.seed)
    held = moment_folds(blocks, dealt, plan.folds, "class")
    small = min(int(part.rows.min()) for part in held)
    if small < 2:
        raise DataError(
            f"cv={plan.folds} leaves {small} row of a class in some fold: use fewer folds, or give alpha= "
            "and gamma=."
        )
    wrong = np.zeros((len(plan.pairs), plan.folds, len(prior)))
    total = np.zeros((plan.folds, len(prior)))
    log_prior = np.log(np.maximum(prior, np.finfo(np.float64).tiny))
    rules = [[_rule(fitted(part, *pair), log_prior) for part in held] for pair in plan.pairs]
    for rows, x, own, weights in used_rows(blocks):
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        times = np.ones(len(own)) if weights is None else weights
        for fold in range(plan.folds):
            at = dealt[positions] == fold
            if not at.any():
                continue
            total[fold] += np.bincount(own[at], times[at], minlength=len(prior))
            part = x[at]
            for i, by_fold in enumerate(rules):
                rule = by_fold[fold]
                if rule is None:
                    wrong[i, fold] = np.nan
                    continue
                missed = best_class(rule.scores(part)) != own[at]
                wrong[i, fold] += np.bincount(own[at], times[at] * missed, minlength=len(prior))
    share = prior / np.where(total > 0, total, np.nan)
    rates = np.nansum(wrong * share, axis=2) / np.nansum(np.where(total > 0, prior, 0.0), axis=1)
    rates[np.isnan(wrong).any(axis=2)] = np.nan
    path = pd.DataFrame(plan.pairs, columns=["alpha", "gamma"])
    path["error"] = rates.mean(axis=1)
    path["se"] = rates.std(axis=1, ddof=1) / np.sqrt(plan.folds)
    if path["error"].isna().all():
        raise DataError("No pair of the grid has a fit in every fold: use a grid with more ridge.")
    errors, spread = path["error"].to_numpy(), path["se"].to_numpy()
    best = int(np.nanargmin(errors))
    reach = errors[best] + (spread[best] if plan.select == "1se" else 1e-12)
    good = [pair for pair, error in zip(plan.pairs, errors.tolist(), strict=True) if error <= reach]
    alpha, gamma = min(good, key=lambda pair: (pair[0], -plan.simpler_gamma * pair[1]))
    return alpha, gamma, path


def _rule(fit: RDAFit, log_prior: Floats) -> Rule | None:
    return None if fit.singular() else fit.rule(log_prior)
