"""The rule of a fit that was read from a file, tried on rows amid its classes.

Numbers may each be in their range and give no score together, as counts that leave nothing to divide by. That
is seen here, before the fit is handed out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from discrim.models.fits.fit import Fit

__all__ = ["without_score"]

CLASSES_TRIED = 64
"""Classes whose means are tried: the scores of each row are of all classes."""


def without_score(fit: Fit[Any], *, at_means: bool) -> str | None:
    """Say at which class mean, or a standard deviation beside it, a row has no score; None if all have.

    Without `at_means` the rule is made, and no row is tried.
    """
    moments = fit.numbers.moments
    divisors = [getattr(fit.numbers, name, 1.0) for name in ("divisor", "divisors")]
    if not all((np.asarray(each) > 0).all() for each in divisors):
        return "its class counts leave nothing that a covariance is divided by"
    with np.errstate(all="ignore"):
        means = moments.class_means[:CLASSES_TRIED]
        # Class by class: the sum of what is in range may be out of it.
        beside = np.sqrt((moments.squares / moments.total).sum(axis=0)) / moments.scale
        rows = np.concatenate([means, means - beside, means + beside])
        plan = getattr(fit.numbers, "plan", None)
        if plan is not None:
            # Zero is the position of a level, and a count, whatever the rows were.
            rows[:, (plan.families == 1) | (plan.families == 3)] = 0.0
        rule = fit.rule()
        if not at_means:
            return None
        scores = rule.scores(rows)
    strange = np.isnan(scores) | np.isposinf(scores)
    if plan is None:
        own = np.arange(len(means))
        # A class without a prior has no score; others have one at their own mean.
        strange[own, own] |= np.isneginf(scores[own, own]) & (fit.numbers.prior[own] > 0)
    if not strange.any():
        return None
    row, k = np.argwhere(strange)[0].tolist()
    near, label = fit.classes[row % len(means)], fit.classes[k]
    return f"near its mean of class {near!r}, class {label!r} has no score"
