"""The rule of a fit to other rows of its table, with the columns that the verb would take of these rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discrim.core.covariance.covariance import constant_columns, dependencies
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.rules import PartRule, Rule
from discrim.frame.blocks import Blocks
from discrim.models.fits.reading import class_moments

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = ["rule_of_moments", "rule_of_rows"]

Codes = NDArray[np.intp]


def rule_of_moments(fit: ClassifierResults, moments: ClassMoments) -> Rule | None:
    """The rule of a model of moments for other ones, the prior held; None where a covariance is singular."""
    keep = _telling(fit, moments)
    if not len(keep):
        return None
    whole = len(keep) == moments.n_columns
    refit: Any = fit._fit.refit(moments if whole else moments.columns(keep))
    if refit is None:
        return None
    rule: Rule = refit.rule(fit._log_prior())
    return rule if whole else PartRule(rule, keep)


def rule_of_rows(fit: ClassifierResults, blocks: Blocks, *, held: bool = False) -> Rule | None:
    """The rule of a fit to other weights of the rows, the prior held; None where there is none.

    Parameters
    ----------
    fit : ClassifierResults
    blocks : Blocks
        With the weights that are meant, and the columns of the fit or those of another design.
    held : bool
        What the rows were asked to choose is held, and not chosen anew.
    """
    rule_of = fit._held_rule if held else fit._refitted_rule
    if fit._spread is not None:
        return rule_of(blocks)
    moments = class_moments(blocks, "pooled" if fit._drops else "diagonal")
    if not moments.total:
        return None
    keep = _telling(fit, moments)
    if len(keep) == moments.n_columns:
        return rule_of(blocks)
    rule = rule_of(blocks.columns(keep.tolist())) if len(keep) else None
    return None if rule is None else PartRule(rule, keep)


def _telling(fit: ClassifierResults, moments: ClassMoments) -> Codes:
    """Positions of the columns that the verb would not leave out of these rows."""
    gone = set(constant_columns(moments)) - set(fit._stays)
    kept = [j for j in range(moments.n_columns) if j not in gone]
    if fit._drops and kept:
        less = moments.columns(np.array(kept)) if gone else moments
        asked: Any = getattr(fit, "_asked", None)
        found = dependencies(less.as_one()) if asked is None else asked.obstacles(less)
        gone |= {kept[dependency.column] for dependency in found}
    return np.array([j for j in range(moments.n_columns) if j not in gone], dtype=np.intp)
