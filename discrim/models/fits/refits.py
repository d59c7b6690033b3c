"""The rule of a fit to other rows of its table, with the columns that the verb would take of these rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import constant_columns, dependencies
from discrim.core.moments.moments import ClassMoments, Spread
from discrim.core.rules.leave_one_out import LeftOut
from discrim.core.rules.rules import PartRule, Rule
from discrim.errors import NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.models.fits.fit import Fit, Refits
from discrim.models.fits.reading import class_moments

__all__ = [
    "left_out_by_refits",
    "moment_refits",
    "rule_of_moments",
    "rule_of_rows",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MOST_REFITS = 2000
"""Rows up to which leave-one-out is computed by a refit for each."""


def moment_refits(spread: Spread | None) -> Refits:
    """Refits of a model whose numbers are a `MomentsFit`; `dataclasses.replace` says what is otherwise.

    Parameters
    ----------
    spread : {"pooled", "class", "diagonal"} or None
        As of `Refits`.
    """
    summed = rule_of_summed_rows
    return Refits(spread, rule_of_moments, of_rows=summed, held=summed, left_out=left_out_of_numbers)


def rule_of_moments(fit: Fit[Any], moments: ClassMoments) -> Rule | None:
    """The rule of a model of moments for other ones, the prior held; None where a covariance is singular."""
    keep = _telling(fit.refits, moments)
    if not len(keep):
        return None
    whole = len(keep) == moments.n_columns
    refit: Any = fit.numbers.refit(moments if whole else moments.columns(keep))
    if refit is None:
        return None
    rule: Rule = refit.rule(fit.log_prior())
    return rule if whole else PartRule(rule, keep)


def rule_of_summed_rows(fit: Fit[Any], blocks: Blocks) -> Rule | None:
    """The rule of the moments of rows, the prior held; None where a covariance is singular."""
    return fit.refits.of_moments(fit, class_moments(blocks, fit.numbers.moments.spread))


def left_out_of_numbers(fit: Fit[Any]) -> LeftOut:
    """Scores of rows under the rule without each of them, in closed form."""
    left_out: LeftOut = fit.numbers.left_out(fit.log_prior())
    return left_out


def left_out_by_refits(fit: Fit[Any], takes: str) -> LeftOut:
    """Scores that are all missing, and so left to refits, row by row.

    Parameters
    ----------
    fit : Fit
    takes : str
        What leave-one-out takes for each row, in words.

    Raises
    ------
    NotSupportedError
        The rows are too many for as many refits.
    """
    if fit.nobs > MOST_REFITS:
        raise NotSupportedError(
            f"Leave-one-out {takes}; {fit.nobs} are more than {MOST_REFITS:,}: cross-validate "
            'instead, with error_rates(["cv"]) or confusion("cv").'
        )
    return lambda x, codes, weights: np.full((len(x), len(fit.classes)), np.nan)


def rule_of_rows(fit: Fit[Any], blocks: Blocks, *, held: bool = False) -> Rule | None:
    """The rule of a fit to other weights of the rows, the prior held; None where there is none.

    Parameters
    ----------
    fit : Fit
    blocks : Blocks
        With the weights that are meant, and the columns of the fit or those of another design.
    held : bool
        What the rows were asked to choose is held, and not chosen anew.
    """
    refits = fit.refits
    rule_of = refits.held if held else refits.of_rows
    # Where rows miss values, the model itself finds what columns tell of those that have them.
    if refits.spread is not None or blocks.incomplete:
        return rule_of(fit, blocks)
    moments = class_moments(blocks, "pooled" if refits.drops else "diagonal")
    if not moments.total:
        return None
    keep = _telling(refits, moments)
    if len(keep) == moments.n_columns:
        return rule_of(fit, blocks)
    rule = rule_of(fit, blocks.columns(keep.tolist())) if len(keep) else None
    return None if rule is None else PartRule(rule, keep)


def _telling(refits: Refits, moments: ClassMoments) -> Codes:
    """Positions of the columns that the verb would not leave out of these rows."""
    gone = set(constant_columns(moments)) - set(refits.stays)
    kept = [j for j in range(moments.n_columns) if j not in gone]
    if refits.drops and kept:
        less = moments.columns(np.array(kept)) if gone else moments
        found = dependencies(less.as_one()) if refits.obstacles is None else refits.obstacles(less)
        gone |= {kept[dependency.column] for dependency in found}
    return np.array([j for j in range(moments.n_columns) if j not in gone], dtype=np.intp)
