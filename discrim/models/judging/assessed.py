"""Rows of known class as a fit scores them, new ones or its own, and how they were judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import best_class
from discrim.errors import DataError, NotSupportedError
from discrim.inference.error_rates import check_level, counts_of
from discrim.inference.folds import drawn_seed
from discrim.inference.roc import against_rest
from discrim.models.fits.fit import Fit
from discrim.models.judging.assessment import Counting, Plan, choice_of, judged_scores
from discrim.models.judging.labelled_rows import refuse_no_share, refuse_none
from discrim.models.judging.refitted_prior import prior_of_rest
from discrim.models.judging.validation import left_out_scores

__all__ = ["AssessedRows", "assessed"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class AssessedRows:
    """The rows that are judged.

    Attributes
    ----------
    codes, predicted : (m,) int
        Actual and predicted class.
    values : (m, K) float
        Log odds of each class against the rest; of models without posteriors the values they decide by.
    weights : (m,) float
        Frequencies.
    weighted : bool
        Whether the rows have any.
    shares : (K,) float or None
        Prior that figures are weighted by; None: as the rows have the classes.
    unlabelled, unpredicted : int
        Rows that are left out: without a class, and with a class but without a prediction.
    way : str
        How they were judged, in words.
    method : {"apparent", "loo", "cv", "new"}
    folds : int
    posteriors : bool
        Whether the model has any.
    """

    codes: Codes
    predicted: Codes
    values: Floats
    weights: Floats
    weighted: bool
    shares: Floats | None
    unlabelled: int
    unpredicted: int
    way: str
    method: str
    folds: int
    posteriors: bool

    @property
    def counts(self) -> Floats:
        """Actual by predicted (K, K)."""
        k = self.values.shape[1]
        return counts_of(self.codes, self.predicted, k, self.weights).astype(np.float64)


def assessed(fit: Fit[Any], data: Any, method: Counting | None, plan: Plan) -> AssessedRows:
    """The rows of a table, or of the fit, as it scores them; see `ClassifierResults.assess`.

    Without a method the rows of the fit are left out one by one, or by folds where that would take too many
    fits: the rule itself has seen them.

    Raises
    ------
    DataError
        There is no row with a class and a prediction.
    """
    check_level(plan.level)
    if data is None and plan.weights is not None:
        raise DataError(
            "weights= belong to data=, and the rows of the fit have their own: leave weights= out."
        )
    if method is None:
        method = "apparent" if data is not None else _left_out(fit, plan)
    if method == "cv":
        plan = replace(plan, seed=drawn_seed(plan.seed))
    actual, scores, weights, _ = judged_scores(fit, data, method, plan)
    predicted = best_class(scores)
    held = np.ones(len(actual)) if weights is None else weights
    known = (actual >= 0) & (predicted >= 0) & (held > 0)
    refuse_none(known)
    shares = plan.prior
    if shares is None and not fit.numbers.estimated_prior:
        shares = fit.prior_values()
    refuse_no_share(actual[known], shares, fit.classes)
    has = not fit.model.instead
    # Values of planes are no logs of shares; of two classes their difference is what the rule decides by.
    logs = has or len(fit.classes) == 2
    values = against_rest(scores[known]) if logs else np.asarray(scores[known])
    return AssessedRows(
        actual[known],
        predicted[known],
        values,
        held[known],
        weights is not None,
        shares,
        int(((actual < 0) & (held > 0)).sum()),
        int(((actual >= 0) & (predicted < 0) & (held > 0)).sum()),
        _way(fit, data, method, plan),
        method if data is None else "new",
        plan.folds,
        has,
    )


def _left_out(fit: Fit[Any], plan: Plan) -> Counting:
    """How the rows of a fit are left out: one by one, where that can be done."""
    fit.rows("assess()", "pass data=")
    try:
        left_out_scores(fit, plan.refit_prior)
    except NotSupportedError:
        return "cv"
    return "loo"


def _way(fit: Fit[Any], data: Any, method: Counting, plan: Plan) -> str:
    if data is not None:
        return "new rows"
    if method == "apparent":
        return "rows of the fit by the rule that they made, and so too good"
    prior, choice = prior_of_rest(fit, plan.refit_prior), choice_of(fit, method)
    said = f", prior {prior}" if prior else ""
    if choice:
        said += f"; the choice of {fit.chosen} is " + ("made anew" if choice == "anew" else "held")
    if method == "loo":
        return f"rows of the fit, each by the rule without it{said}"
    return f"rows of the fit, by rules without their fold of {plan.folds}, seed {plan.seed}{said}"
