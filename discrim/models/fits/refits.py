"""How models are fitted again: to other rows or moments, outside folds, and along a tuning parameter.

A refit takes the columns that the verb would take of its rows. The moments of the rows outside each fold
come from one pass. A choice among values of a tuning parameter has a path of errors, from which the
simplest of those as good as the best is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, asks_for_roots, gather_parts, merged
from discrim.core.moments.row_sums import Spread, refuse_wide
from discrim.core.moments.sparse_rows import gather_sparse
from discrim.core.numerics.arrays import Codes
from discrim.core.rules.leave_one_out import LeftOut, by_refits
from discrim.core.rules.rules import PartRule, Rule
from discrim.core.scatter.covariance import constant_columns, dependencies
from discrim.errors import NotSupportedError
from discrim.frame.blocks import Blocks
from discrim.inference.error_rates import TIE, as_good, rates_along
from discrim.models.fits.fit import Fit, Refits
from discrim.models.fits.reading import class_moments, used_sparse_rows


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
    keep = _kept_columns(fit.refits, moments)
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
    """Scores that are all missing, and so left to refits; as of `by_refits`."""
    return by_refits(fit.nobs, len(fit.classes), takes)


def rule_of_rows(fit: Fit[Any], blocks: Blocks, *, held: bool = False) -> Rule | None:
    """The rule of a fit to other weights of the rows, the prior held; None where there is none.

    Parameters
    ----------
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
    keep = _kept_columns(refits, moments)
    if len(keep) == moments.n_columns:
        return rule_of(fit, blocks)
    rule = rule_of(fit, blocks.columns(keep.tolist())) if len(keep) else None
    return None if rule is None else PartRule(rule, keep)


def _kept_columns(refits: Refits, moments: ClassMoments) -> Codes:
    """Positions of the columns that the verb would not leave out of these rows."""
    gone = set(constant_columns(moments)) - set(refits.informative)
    kept = [j for j in range(moments.n_columns) if j not in gone]
    if refits.drops and kept:
        less = moments.columns(np.array(kept)) if gone else moments
        found = dependencies(less.as_one()) if refits.obstacles is None else refits.obstacles(less)
        gone |= {kept[dependency.column] for dependency in found}
    return np.array([j for j in range(moments.n_columns) if j not in gone], dtype=np.intp)


def moment_folds(
    blocks: Blocks, dealt: Codes, folds: int, spread: Spread, *, rooted: bool = True
) -> list[ClassMoments]:
    """Moments of the rows outside each fold, all from one pass; as of `gather_parts`."""
    n_classes = len(blocks.design.levels)
    both = np.where(dealt >= 0, dealt * n_classes + blocks.codes, -1)
    own = blocks.with_codes(both)
    parts = _parts_of_stored(own, folds, n_classes, spread, rooted=rooted)
    if parts is None:
        parts = gather_parts(
            own,
            n_parts=folds,
            n_classes=n_classes,
            n_columns=len(blocks.terms),
            spread=spread,
            rooted=rooted,
        )
    # Of the folds before and after each one, so that folds merge in 2 F steps, not F^2.
    before, after = [parts[0]], [parts[-1]]
    for part in parts[1:]:
        before.append(merged(before[-1], part))
    for part in parts[-2::-1]:
        after.append(merged(part, after[-1]))
    inner = [merged(before[f - 1], after[folds - 2 - f]) for f in range(1, folds - 1)]
    return [after[-2], *inner, before[-2]]


def _parts_of_stored(
    blocks: Blocks, folds: int, n_classes: int, spread: Spread, *, rooted: bool
) -> list[ClassMoments] | None:
    """Moments of each fold of sparse rows; None where they are not sparse, or ask for more."""
    stored = used_sparse_rows(blocks) if spread in ("diagonal", "pooled") else None
    if stored is None:
        return None
    refuse_wide(n_classes, len(blocks.terms), spread, folds)
    ((rows, codes, weights),) = stored
    parts = []
    for fold in range(folds):
        own = np.flatnonzero(codes // n_classes == fold)
        part = rows.rows(own), codes[own] % n_classes, None if weights is None else weights[own]
        found = gather_sparse([part], n_classes=n_classes, n_columns=len(blocks.terms), spread=spread)
        if found is None or (spread == "pooled" and asks_for_roots(found, rooted=rooted)):
            return None
        parts.append(found)
    return parts


def error_path(
    name: str, tried: Any, wrong: NDArray[Any], rows: NDArray[Any], prior: NDArray[Any], *, sampled: bool
) -> pd.DataFrame:
    """What was tried, under its name, with error and se; the other parameters are those of `rates_along`."""
    path = pd.DataFrame({name: tried})
    path["error"], path["se"] = rates_along(wrong, rows, prior, sampled=sampled)
    return path


def largest_as_good(path: pd.DataFrame, slack: float = TIE) -> Any:
    """The largest of what was tried, and so the simplest model, of those as good as the best."""
    return path.iloc[:, 0].to_numpy()[as_good(path["error"].to_numpy(), slack)].max().item()


def held_path(fit: Fit[Any], why: str, way_out: str) -> pd.DataFrame:
    """The path of a choice, of what a fit keeps.

    Raises
    ------
    NotSupportedError
        There is none; the message says why, and the way out.
    """
    if fit.path is None:
        raise NotSupportedError(f"There is no path, {why}: {way_out}.")
    return fit.path.copy()
