"""Scores of labelled rows that were not used to predict them, for curves, calibration and their tests.

Without a method of the user, the rows of a fit are predicted by the first method that the model supports; the
description states which, and which choices it fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.design.rows import used_codes
from discrim.errors import NotSupportedError
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import class_code
from discrim.models.base.reading import check_word
from discrim.models.evaluation.assessment import (
    COUNTING_METHODS,
    CountingMethod,
    EvaluationOptions,
    assess_rows,
    choice_treatment,
    evaluation_methods,
    has_chosen_columns,
)

T = TypeVar("T")

MAX_FOLDS = 10
"""Number of folds; fewer if the fit has fewer rows."""


class EvaluationDescription(NamedTuple):
    """Description of how rows were predicted, for a title.

    Attributes
    ----------
    method : str
        Method, such as "leave-one-out".
    fixed_choices : str
        Choices by all rows that were not repeated without the rows left out; may be empty.
    """

    method: str
    fixed_choices: str = ""

    def __str__(self) -> str:
        return f"{self.method}, {self.fixed_choices}" if self.fixed_choices else self.method


class LabelledScores(NamedTuple):
    """Labelled rows with scores, which are compared with their classes.

    Attributes
    ----------
    codes : (m,) int
        Actual class, none missing.
    scores : (m, K) float
        `scores` of `AssessedRows`: log odds of each class against the rest, or for models without posteriors
        the scores of the rule.
    weights : (m,) float
        Frequency weights, or ones.
    evaluation : EvaluationDescription
        How the rows were predicted.
    level : float
        Level of intervals.
    positions : (m,) int
        Positions of the rows in the table.
    """

    codes: Codes
    scores: Floats
    weights: Floats
    evaluation: EvaluationDescription
    level: float
    positions: Codes


def evaluate_by_method(
    fit: FittedModel[Any],
    data: Any,
    method: Any,
    evaluate: Callable[[CountingMethod, EvaluationOptions], T],
) -> tuple[T, EvaluationDescription]:
    """Predict rows by a method, or by the first method that the fit supports.

    Without `method` folds fix choices such as a penalty, because repeating them in each fold is as
    slow as many fits. Choices are repeated if the user requested folds, and choices of columns always.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    method : {"apparent", "loo", "cv"} or None
        How the rows of the fit are predicted; None for the first of `evaluation_methods`.
    evaluate : callable
        Function of a method ("apparent", "loo" or "cv") and `EvaluationOptions` that predicts rows. It raises
        NotSupportedError if the fit does not support the method.

    Returns
    -------
    predictions : object
        The value that `evaluate` returned.
    evaluation : EvaluationDescription
        The method that was used and the choices that it fixed; "new rows" with `data` or without rows of the
        fit.

    Raises
    ------
    DataError
        `method` is not "apparent", "loo" or "cv".
    NotSupportedError
        The fit does not support the method, or none of the default methods.
    """
    check_word("method", method, COUNTING_METHODS, optional=True)
    if data is not None or not fit.has_rows:
        return evaluate(method or "apparent", EvaluationOptions(seed=0)), EvaluationDescription("new rows")
    nested = method is not None or has_chosen_columns(fit)
    *preferred, last = (method,) if method else evaluation_methods(fit)
    for candidate in preferred:
        with suppress(NotSupportedError):
            plan = _options_of_method(fit, candidate, nested=nested)
            return evaluate(candidate, plan), describe_evaluation(fit, candidate, plan)
    plan = _options_of_method(fit, last, nested=nested)
    return evaluate(last, plan), describe_evaluation(fit, last, plan)


def _options_of_method(fit: FittedModel[Any], method: CountingMethod, *, nested: bool) -> EvaluationOptions:
    """Return the evaluation options of a method: seed 0 and 10 folds, for "cv" at most one for each used row.

    `nested` is whether folds repeat the choices of the fit.
    """
    folds = min(MAX_FOLDS, int((used_codes(fit.design_rows) >= 0).sum())) if method == "cv" else MAX_FOLDS
    return EvaluationOptions(folds=folds, seed=0, nested=nested)


def describe_evaluation(
    fit: FittedModel[Any], method: CountingMethod, plan: EvaluationOptions
) -> EvaluationDescription:
    """Describe how the rows of the fit were predicted.

    Parameters
    ----------
    fit : FittedModel
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    plan : EvaluationOptions
        `folds` is stated for "cv", and choices that are not `nested` as fixed.
    """
    if method == "apparent":
        return EvaluationDescription("resubstitution")
    method_text = "leave-one-out" if method == "loo" else f"{plan.folds}-fold cross-validation"
    return EvaluationDescription(
        method_text,
        f"{fit.choice_description} fixed"
        if choice_treatment(fit, method, nested=plan.nested) == "fixed"
        else "",
    )


def labelled_scores(
    fit: FittedModel[Any], data: Any = None, method: str | None = None, level: float = 0.95
) -> LabelledScores:
    """Return the rows with a class and a prediction, with their scores.

    Parameters
    ----------
    fit : FittedModel
    data, method
        Rows and how they are predicted; see `evaluate_by_method`.
    level : float
        Level of intervals.

    Returns
    -------
    LabelledScores
    """

    def evaluate(method: CountingMethod, plan: EvaluationOptions) -> Any:
        """Return the `AssessedRows` of new rows, or of the rows of the fit by `method`, in this process."""
        return assess_rows(fit, data, method, replace(plan, level=level)).value()

    rows, evaluation = evaluate_by_method(fit, data, method, evaluate)
    return LabelledScores(rows.codes, rows.scores, rows.weights, evaluation, level, rows.positions)


def codes_against_rest(classes: pd.Index, labels: Sequence[Any] | None = None) -> dict[Any, int]:
    """Return the codes, by label, of the classes that are compared with the rest.

    Raises the error of `class_code` for an unknown label.

    Parameters
    ----------
    classes : Index
        Classes of the fit.
    labels : sequence of label, optional
        Classes to compare; by default the second of two, or all of three or more.
    """
    default = classes[1:] if len(classes) == 2 else classes
    codes = (class_code(label, classes) for label in (default if labels is None else labels))
    return {classes[code]: code for code in codes}
