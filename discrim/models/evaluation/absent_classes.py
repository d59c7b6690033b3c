"""Rules fitted to observations that lack a class of the fit.

The only observation of a class, left out, leaves its class without any, and so does a fold that has all
observations of a class. No rule can predict such a class: the rule is fitted to the other classes, the score
of the absent class is minus infinity, and its observations count as errors.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.covariance.covariance import EPS
from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.core.rules.rules import Rule, RuleOfClasses
from discrim.design.blocks import Blocks
from discrim.design.rows import used_codes
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import listed


def rule_of_present(fit: FittedModel[Any], blocks: Blocks, *, held: bool = False) -> Rule | None:
    """Return the rule of a refit to rows that may lack classes; None if it cannot be fitted.

    Parameters
    ----------
    fit : FittedModel
        Its prior is the prior of the refit, rescaled to the classes that are present.
    blocks : Blocks
        Rows with other weights; see `Refits.refit`.
    held : bool
        Whether parameters that the rows chose are fixed.
    """
    codes = used_codes(blocks)
    present = np.unique(codes[codes >= 0])
    if len(present) == len(fit.classes):
        return fit.refits.refit(fit, blocks, fixed=held)
    rule: Rule | None = None
    if len(present) > 1:
        levels = tuple(fit.design_rows.design.levels[k] for k in present.tolist())
        position = np.full(len(fit.classes) + 1, -1)
        position[present] = np.arange(len(present))
        some = replace(blocks, design=replace(blocks.design, levels=levels))
        some = some.with_codes(position[blocks.codes])
        rule = fit.refits.refit(_of_classes(fit, some, present), some, fixed=held)
        if rule is None:
            return None
    return RuleOfClasses(rule, present, len(fit.classes))


def _of_classes(fit: FittedModel[Any], blocks: Blocks, present: Codes) -> FittedModel[Any]:
    """Return the fit restricted to the classes at some positions, for refits to these classes."""
    prior = fit.prior[present]
    prior = prior / prior.sum() if prior.sum() > 0 else np.full(len(present), 1 / len(present))
    numbers = fit.estimates
    if hasattr(numbers, "of_classes"):
        numbers = numbers.of_classes(present)
    numbers = replace(numbers, prior=prior, moments=fit.estimates.moments.classes(present))
    return replace(
        fit, estimates=numbers, design_rows=blocks, prior=prior, path=None, cache={}, selection=None
    )


def absent_class_mask(
    codes: Codes, weights: Floats | None, n_classes: int, fold_ids: Codes | None = None
) -> Mask:
    """Return which rows (n,) are judged by rules without their class.

    Parameters
    ----------
    codes : (n,) int
        Classes, -1 for rows that are not used.
    weights : (n,) float or None
    n_classes : int
    fold_ids : (n,) int, optional
        Fold of each row, -1 for rows that are not used; without it each row is left out by itself.
    """
    used = codes >= 0
    mass = np.ones(len(codes)) if weights is None else np.where(used, weights, 0.0)
    counts = np.bincount(codes[used], mass[used], n_classes)
    if fold_ids is None:
        out = np.minimum(mass, 1.0)
    else:
        cells = fold_ids * n_classes + codes
        used = used & (fold_ids >= 0)
        out = np.zeros(len(codes))
        out[used] = np.bincount(cells[used], mass[used])[cells[used]]
    own = counts[np.maximum(codes, 0)]
    return np.asarray(used & (own - out <= EPS * own))


def absent_note(absent: pd.Index) -> str:
    """Describe the classes that rules without some rows cannot predict; empty if all can be predicted."""
    if not len(absent):
        return ""
    label = "Class" if len(absent) == 1 else "Each of the classes"
    return (
        f"{label} {listed(absent)} has no observation but those left out together: the rule without them "
        "cannot predict the class, and they count as errors."
    )
