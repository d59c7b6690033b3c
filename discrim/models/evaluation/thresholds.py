"""Choice of a cut-off on the posterior of the second of two classes, evaluated by nested folds.

`ClassifierResults.threshold` uses these functions; the numerics are in `discrim.inference.roc`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes
from discrim.core.numerics.map_reduce import StoredValue
from discrim.data.values import format_value
from discrim.errors import DataError
from discrim.inference.error_rates import TIE_TOLERANCE
from discrim.inference.resampling import stratified_fold_ids
from discrim.inference.roc import ChosenCutOff, CutOffCriterion, choose_cut_off
from discrim.models.base import reading
from discrim.models.base.scores import cost_matrix
from discrim.models.evaluation.assessment import AssessedRows, EvaluationOptions


def read_criterion(
    classes: pd.Index, sensitivity: Any, specificity: Any, costs: Any, youden: Any
) -> CutOffCriterion:
    """Return the criterion for the arguments of `ClassifierResults.threshold`, of which one is required.

    Parameters
    ----------
    classes : Index of length 2
        Class labels, for messages.
    sensitivity, specificity, costs, youden
        Arguments of `ClassifierResults.threshold`; DataError is raised unless exactly one is passed, and if
        it is not valid.
    """
    reading.check_flag("youden", youden)
    targets = {"sensitivity": sensitivity, "specificity": specificity}
    passed = [name for name, target in targets.items() if target is not None]
    passed += [*(["costs"] if costs is not None else []), *(["youden"] if youden else [])]
    first, second = (format_value(label) for label in classes)
    if len(passed) != 1:
        raise DataError(
            f"threshold() requires one criterion for {second} against {first}, and "
            f"{' and '.join(f'{name}=' for name in passed) or 'none'} "
            f"{'were' if passed else 'was'} passed.",
            hint=f"Pass one of sensitivity= (proportion of {second} that is found), specificity= (proportion "
            f"of {first} that is not assigned to {second}), costs= and youden=True.",
        )
    (name,) = passed
    if name == "costs":
        return CutOffCriterion("costs", costs=cost_matrix(costs, classes))
    if name == "youden":
        return CutOffCriterion("youden")
    target = reading.check_number(name, targets[name], 0.0, 1.0, ends="(]")
    return CutOffCriterion("sensitivity" if name == "sensitivity" else "specificity", float(target))


def choose_threshold(
    rows: StoredValue[AssessedRows],
    criterion: CutOffCriterion,
    fold_ids: Codes | None,
    options: EvaluationOptions,
    classes: pd.Index,
) -> tuple[ChosenCutOff, AssessedRows]:
    """Choose a cut-off on the posterior of the second of two classes; see `ClassifierResults.threshold`.

    Raises DataError if a class has no rows outside a fold, or if a required sensitivity or specificity is
    reached only by assigning all rows to one class.

    Parameters
    ----------
    rows : StoredValue of AssessedRows
        Rows of two classes, with posteriors.
    criterion : CutOffCriterion
    fold_ids : (n,) int or None
        Fold of each row of the table; None to assign the evaluated rows to folds.
    options : EvaluationOptions
        `folds` and `seed` are used.
    classes : Index of length 2
        Class labels, for messages.

    Returns
    -------
    chosen : ChosenCutOff
    described_rows : AssessedRows
        The rows without their arrays.
    """
    chosen, described_rows = rows.apply(partial(_choose_among_rows, criterion, fold_ids, options, classes))
    if criterion.has_target and chosen.attainable < criterion.target - TIE_TOLERANCE:
        hint = f"Pass a {criterion.measure}= of at most {np.floor(1e4 * chosen.attainable) / 1e4:g}."
        if chosen.attainable == 0:
            hint = "No cut-off separates the classes, for example if all posteriors are equal. Add columns."
        measured, other = classes[::-1] if criterion.measure == "sensitivity" else classes
        raise DataError(
            f"A {criterion.measure} of {criterion.target:g} is reached only if every observation is assigned "
            f"to {format_value(measured)}, and none to {format_value(other)}.",
            hint=hint,
            classes=(measured,),
        )
    return chosen, described_rows


def _choose_among_rows(
    criterion: CutOffCriterion,
    fold_ids: Codes | None,
    options: EvaluationOptions,
    classes: pd.Index,
    rows: AssessedRows,
) -> tuple[ChosenCutOff, AssessedRows]:
    """Return the chosen cut-off and the evaluated rows without their arrays.

    Parameters
    ----------
    criterion, fold_ids, options
        Arguments of `choose_threshold`.
    classes : Index of length 2
        Class labels, for the DataError about a class without rows outside a fold.
    rows : AssessedRows
    """
    ids = (
        stratified_fold_ids(rows.codes, min(options.folds, len(rows.codes)), options.seed)
        if fold_ids is None
        else fold_ids[rows.positions]
    )
    counts = np.bincount(ids * 2 + rows.codes, minlength=2 * (ids.max() + 1)).reshape(-1, 2)
    for label, by_fold in zip(classes, counts.T, strict=True):
        if by_fold.max() == by_fold.sum():
            place = ", all in one fold" if by_fold.sum() > 1 else ""
            raise DataError(
                f"Class {format_value(label)} has {by_fold.sum()} evaluated observation"
                f"{'' if by_fold.sum() == 1 else 's'}{place}. A threshold is also chosen without each fold, "
                "which requires observations of both classes outside every fold.",
                hint=f"Add observations of {format_value(label)}, or pass another seed= or number of folds=.",
                classes=(label,),
            )
    arguments = rows.scores[:, 1], rows.codes == 1, rows.weights, ids, criterion, rows.prior
    return choose_cut_off(*arguments), rows.without_arrays()
