"""The fit of a choice of columns whose refits choose anew: what judges the choice, and not its outcome alone.

The choice by partial F is a function of moments. Where the final fit is one too, folds are taken away from
moments, and no row is read twice. Everything else calls `stepwise` again with the rows that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd

from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import late_bar
from discrim.core.rules.rules import PartRule, Rule
from discrim.errors import CollinearError, DiscrimWarning
from discrim.frame.blocks import Blocks
from discrim.frame.rows import used_codes
from discrim.frame.table import rows_of
from discrim.models.fits.fit import Fit, Gaps, Refits, scored
from discrim.models.fits.reading import class_moments
from discrim.models.fits.refits import left_out_by_refits, rule_of_moments

if TYPE_CHECKING:
    pass

Walk = Callable[[ClassMoments], list[str]]


@dataclass(frozen=True, slots=True)
class PriorRule:
    """The rule without a column: each row has the prior.

    Attributes
    ----------
    log_prior : (K,) float
    """

    log_prior: Floats

    def scores(self, x: Floats) -> Floats:
        """Scores (m, K) of rows x (m, p)."""
        return np.tile(self.log_prior, (len(x), 1))


# ---- by moments


def anew_by_moments(
    fit: Fit[Any], blocks: Blocks, parts: Mapping[str, Codes], walk: Walk, words: str
) -> Fit[Any] | None:
    """The fit on the candidates, whose refits to moments choose by a walk; None where it needs rows.

    Parameters
    ----------
    fit : Fit
        On the chosen columns.
    blocks : Blocks
        The rows that are complete in all candidates, with their columns.
    parts : mapping of str to (q,) int
        Positions of the columns of each term.
    walk : callable
        From moments of the candidates to the terms chosen.
    words : str
        What is chosen.
    """
    refits = fit.refits
    of_moments = refits.of_moments is rule_of_moments and refits.spread in ("pooled", "class")
    # Half of the rows, of two folds, have a scatter that is a root still.
    few = blocks.known - len(fit.classes) <= 2 * len(blocks.terms)
    if not of_moments or few or refits.informative or refits.choice:
        return None
    numbers: Any = fit.numbers
    if blocks.dropped != fit.dropped:
        keep = np.flatnonzero(np.isin(blocks.terms, fit.terms))
        numbers = fit.numbers.refit(class_moments(blocks, refits.spread or "pooled").columns(keep)) or numbers
    anew = partial(_chosen_rule, refits, walk, dict(parts))
    of_rows = partial(_rule_of_summed, anew)
    left_out = partial(left_out_by_refits, takes="chooses the columns anew without each row")
    refits_anew = Refits(refits.spread, anew, of_rows, of_rows, left_out, choice=words)
    return Fit(fit.model, numbers, blocks, fit.prior, refits_anew, fit.options)


def _chosen_rule(
    refits: Refits, walk: Walk, parts: Mapping[str, Codes], fit: Fit[Any], moments: ClassMoments
) -> Rule | None:
    """The rule of the columns that moments choose, the prior held; None where a covariance is singular."""
    if (moments.rows < 1).any() or moments.rows.sum() - moments.n_classes < moments.n_columns:
        return None
    try:
        chosen = walk(moments)
    except CollinearError:
        return None
    if not chosen:
        return PriorRule(fit.log_prior())
    keep = np.sort(np.concatenate([parts[term] for term in chosen]))
    rule = rule_of_moments(replace(fit, refits=refits), moments.columns(keep))
    return None if rule is None else PartRule(rule, keep)


def _rule_of_summed(
    of_moments: Callable[[Fit[Any], ClassMoments], Rule | None], fit: Fit[Any], blocks: Blocks
) -> Rule | None:
    return of_moments(fit, class_moments(blocks, fit.refits.spread or "pooled"))


# ---- by calls


class FitOnRows(Protocol):
    """A table, and what fits some of its rows."""

    @property
    def data(self) -> Any:
        """The table, as the user gave it."""

    def __call__(self, rows: Codes) -> Any:
        """A fit to rows at some positions, or a choice of columns that has one."""


def anew_by_calls(fit: Fit[Any], blocks: Blocks, on_rows: FitOnRows, words: str) -> Fit[Any]:
    """The fit on the candidates, whose refits choose on some of the rows; as `anew_by_moments`."""
    refits = refits_by_calls(fit.refits, on_rows, words, held_prior=True)
    return replace(fit, blocks=blocks, path=None, cache={}, selection=None, refits=refits)


def refits_by_calls(refits: Refits, on_rows: FitOnRows, words: str, *, held_prior: bool) -> Refits:
    """Refits by a call with the rows that are left, whose fit judges the others; `words` say what is chosen.

    The prior of the fit that is judged is held, or each call has its own.
    """
    called = partial(_scores_called, on_rows, held_prior)
    return replace(
        refits,
        spread=None,
        of_rows=_no_rule,
        held=_no_rule,
        left_out=_left_out_called,
        choice=words,
        called=called,
    )


def _scores_called(on_rows: FitOnRows, held_prior: bool, fit: Fit[Any], train: Codes, test: Codes) -> Floats:
    with catch_warnings():
        # That a column is constant, or rare, in some fold is no news of the fit.
        simplefilter("ignore", DiscrimWarning)
        results = on_rows(train)
        fitted: Fit[Any] | None = results._fit
        if not isinstance(fitted, Fit):
            # No term was chosen, and so there is no fit.
            fitted = getattr(fitted, "_fit", None)
        if fitted is None:
            return PriorRule(fit.log_prior()).scores(np.empty((len(test), 0)))
        return _scores_by(fitted, rows_of(on_rows.data, test), fit.classes, fit.prior if held_prior else None)


def _scores_by(fit: Fit[Any], data: Any, classes: pd.Index, prior: Floats | None) -> Floats:
    """Scores (m, K) of the rows of a table, by a fit that may lack some of the classes."""
    blocks = fit.new_rows(data, Gaps(unseen="missing"))
    there = classes.get_indexer(fit.classes)
    if prior is not None and not fit.model.instead and len(there) == len(classes):
        fit = fit.under(prior[there])
    out = np.full((blocks.table.nrows, len(classes)), -np.inf)
    for place, scores in scored(blocks, fit.rule_of(blocks), len(fit.classes)):
        out[place, there] = scores
    out[np.isnan(out).any(axis=1)] = np.nan
    return out


def _no_rule(fit: Fit[Any], blocks: Blocks) -> Rule | None:
    """None: calls give scores, and no rule of the candidates."""
    return None


def _left_out_called(fit: Fit[Any]) -> Floats:
    """Scores (m, K) of the rows that the fit uses, by a call without each."""
    left_out_by_refits(fit, "takes a call without each row")
    used = np.flatnonzero(used_codes(fit.rows("leave_one_out()")) >= 0)
    called = fit.refits.called
    if called is None:
        return np.full((len(used), len(fit.classes)), np.nan)
    with late_bar(len(used), "calls without a row") as tell:
        scores = []
        for i in range(len(used)):
            scores.append(called(fit, np.delete(used, i), used[i : i + 1]))
            tell(1)
    return np.concatenate(scores)
