"""Rules fitted to observations that lack a class of the fit.

If the only observation of a class is left out, or a fold with all observations of a class, the remaining
observations lack this class, and a rule fitted to them cannot predict it. The rule is therefore fitted to the
other classes, the score of the absent class is minus infinity, and its observations count as errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import EPS, Codes, Floats, Mask
from discrim.core.rules.rules import Rule, RuleOfClasses
from discrim.design.design_rows import DesignRows
from discrim.design.rows import used_codes
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import join_labels


def refit_present_classes(
    fit: FittedModel[Any], design_rows: DesignRows, *, fixed: bool = False
) -> Rule | None:
    """Return the rule of a refit to rows that may lack classes; None if it cannot be fitted.

    Its scores have a column for each of the K classes of the fit, with minus infinity for absent classes. If
    only one class is present, the rule predicts it for every row.

    Parameters
    ----------
    fit : FittedModel
        Its prior is the prior of the refit, rescaled to the classes that are present.
    design_rows : DesignRows
        Rows of the fit with other weights: a weight of zero leaves a row out.
    fixed : bool
        Whether parameters that the rows chose, such as a shrinkage, are fixed to their values in the fit.
    """
    codes = used_codes(design_rows)
    present = np.unique(codes[codes >= 0])
    if len(present) == len(fit.classes):
        return fit.refits.refit(fit, design_rows, fixed=fixed)
    rule: Rule | None = None
    if len(present) > 1:
        levels = tuple(fit.design_rows.design.levels[k] for k in present.tolist())
        new_codes = np.full(len(fit.classes) + 1, -1)
        new_codes[present] = np.arange(len(present))
        present_blocks = replace(design_rows, design=replace(design_rows.design, levels=levels))
        present_blocks = present_blocks.with_codes(new_codes[design_rows.codes])
        rule = fit.refits.refit(
            _restrict_to_classes(fit, present_blocks, present), present_blocks, fixed=fixed
        )
        if rule is None:
            return None
    return RuleOfClasses(rule, present, len(fit.classes))


def _restrict_to_classes(fit: FittedModel[Any], design_rows: DesignRows, present: Codes) -> FittedModel[Any]:
    """Return the fit restricted to some of its classes, for refits to these classes.

    Estimates, moments and prior have these classes only; the path, the cache and the selection are empty.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
        Rows of these classes.
    present : (J,) int
        Positions of the classes in `fit.classes`. Their priors are rescaled to a sum of one, or equal if all
        are zero.
    """
    prior = fit.prior[present]
    prior = prior / prior.sum() if prior.sum() > 0 else np.full(len(present), 1 / len(present))
    estimates = fit.estimates
    if hasattr(estimates, "of_classes"):
        estimates = estimates.of_classes(present)
    estimates = replace(estimates, prior=prior, moments=fit.estimates.moments.select_classes(present))
    return replace(
        fit, estimates=estimates, design_rows=design_rows, prior=prior, path=None, cache={}, selection=None
    )


def absent_class_mask(
    codes: Codes, weights: Floats | None, n_classes: int, fold_ids: Codes | None = None
) -> Mask:
    """Return a mask (n,) of the rows whose class is absent from the rule by which they are predicted.

    A row that is left out by itself loses a weight of at most one, and its class is absent if no weight
    remains.

    Parameters
    ----------
    codes : (n,) int
        Classes, -1 for rows that are not used.
    weights : (n,) float or None
        Frequency weights.
    n_classes : int
        Number of classes K.
    fold_ids : (n,) int, optional
        Fold of each row, -1 for rows that are not used; without it each row is left out by itself.
    """
    used = codes >= 0
    row_weights = np.ones(len(codes)) if weights is None else np.where(used, weights, 0.0)
    counts = np.bincount(codes[used], row_weights[used], n_classes)
    if fold_ids is None:
        removed_weights = np.minimum(row_weights, 1.0)
    else:
        cells = fold_ids * n_classes + codes
        used = used & (fold_ids >= 0)
        removed_weights = np.zeros(len(codes))
        removed_weights[used] = np.bincount(cells[used], row_weights[used])[cells[used]]
    class_weights = counts[np.maximum(codes, 0)]
    return np.asarray(used & (class_weights - removed_weights <= EPS * class_weights))


def absent_classes_note(absent: pd.Index) -> str:
    """Return a note on the classes in `absent`, whose rows are all left out together; "" if it is empty."""
    if not len(absent):
        return ""
    label = "Class" if len(absent) == 1 else "Each of the classes"
    return (
        f"{label} {join_labels(absent)} has only observations that are left out together: the rule without "
        "them cannot predict the class, and they count as errors."
    )
