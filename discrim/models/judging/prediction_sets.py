"""Conformal prediction sets: classes that a row may be of, with a promise of how often its own is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.rules.rules import best_class
from discrim.errors import DataError, NotSupportedError, PriorError, warn_user
from discrim.frame.blocks import Blocks
from discrim.frame.used_rows import used_codes
from discrim.inference.conformal import Reference, least_rows, miss_share, p_values, strangeness
from discrim.inference.error_rates import check_level
from discrim.inference.folds import generator
from discrim.models.fits.arguments import check_flag, check_word, listed
from discrim.models.fits.fit import Fit
from discrim.models.fits.gaps import AS_FITTED, Gaps
from discrim.models.fits.labels import distinct
from discrim.models.fits.prediction import scored
from discrim.models.judging.assessment import Plan, judged_scores
from discrim.models.judging.calibration_rows import OwnScores, by_class, calibration_rows, warn_of_few
from discrim.models.judging.validation import refuse_many_scores

__all__ = ["SetPlan", "set_answer"]

Floats = NDArray[np.float64]

KINDS = pd.CategoricalDtype(["empty", "single", "several", "full"])

PROMISES = {
    "split": "at least {level:.10g} of rows like the calibration rows{within} have their class in the set",
    "loo": (
        "nearly {level:.10g} of rows like those of the fit{within} have their class in the set: "
        "leave-one-out keeps the level in practice, and no law-free bound says so"
    ),
    "cv": (
        "nearly {level:.10g} of rows like those of the fit{within} have their class in the set: "
        "cross-validation keeps the level in practice, and no law-free bound says so"
    ),
}


@dataclass(frozen=True, slots=True)
class SetPlan:
    """What was asked of prediction sets; as of `predict_set`."""

    level: float = 0.95
    by: str | None = None
    method: str | None = None
    calibration: Any = None
    score: str | None = None
    smoothed: bool = False
    empty: str = "keep"
    prior: Any = None
    weights: Any = None
    folds: int = 10
    seed: int | None = None
    gaps: Gaps = AS_FITTED

    def checked(self, fit: Fit[Any], data: Any) -> SetPlan:
        """The same with what is left open, or an error that names the option at fault."""
        check_level(self.level)
        check_word("by", self.by, ("class",), optional=True)
        check_word("method", self.method, ("loo", "cv", "split"), optional=True)
        check_word("score", self.score, ("lac", "aps", "margin"), optional=True)
        check_word("empty", self.empty, ("keep", "best"))
        check_flag("smoothed", self.smoothed)
        method = self.method or ("loo" if self.calibration is None else "split")
        if method == "split" and self.calibration is None:
            raise DataError(
                'method="split" takes rows that the fit has not seen: pass calibration=, a table of them '
                f"with the response, {fit.blocks.design.response!r}."
            )
        if method != "split" and self.calibration is not None:
            raise DataError(
                f'calibration= does not go with method="{method}", which takes the rows of the fit: leave '
                "out one of the two."
            )
        if method != "split" and self.weights is not None:
            raise DataError(
                "weights= belong to the rows of calibration=, and the rows of the fit have their "
                "own: leave weights= out."
            )
        if data is None and method == "split":
            other = ', or use method="loo"' if fit.has_rows else ""
            raise NotSupportedError(
                'method="split" promises nothing about rows that the fit has seen: pass new rows as '
                f"data={other}."
            )
        score = self.score or ("margin" if fit.model.instead else "lac")
        if score != "margin":
            fit.need_posteriors(f'score="{score}"')
        return replace(self, method=method, score=score)


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What sets of new rows take: arrays and options, and no row of the fit.

    Attributes
    ----------
    plan : SetPlan
    references : list of 1 or K Reference
    possible : (K,) bool
        Classes whose prior is not zero.
    notes : dict
        What a table of sets says of itself in its `attrs`.
    """

    plan: SetPlan
    references: list[Reference]
    possible: NDArray[np.bool_]
    notes: dict[str, Any]

    def of(self, k: int) -> Reference:
        """The calibration rows that class k is held against."""
        return self.references[k if len(self.references) > 1 else 0]

    def sets(self, fit: Fit[Any], blocks: Blocks) -> pd.DataFrame:
        """Sets of new rows."""
        k = len(fit.classes)
        refuse_many_scores(blocks.table.nrows, k, "Prediction sets")
        p = np.full((blocks.table.nrows, k), np.nan, order="F")
        best = np.full(len(p), -1)
        rng = _draws(self.plan)
        for place, scores in scored(blocks, fit.rule_of(blocks, self.plan.prior), k):
            strange, shares = _strange(scores, self.plan, rng)
            for j in np.flatnonzero(self.possible).tolist():
                p[place, j] = p_values(self.of(j), strange[:, j], shares=shares)
            p[place, ~self.possible] = np.where(np.isnan(strange[:, :1]), np.nan, -1.0)
            best[place] = best_class(scores)
        return self.frame(fit, blocks, p, best)

    def frame(self, fit: Fit[Any], blocks: Blocks, p: Floats, best: NDArray[np.intp]) -> pd.DataFrame:
        """P-values (n, K) as a table of sets; of a row that misses a value, missing."""
        missing = np.asarray(np.isnan(p).any(axis=1))
        inside = p > miss_share(self.plan.level)
        if self.plan.empty == "best":
            bare = np.flatnonzero(~inside.any(axis=1) & ~missing & (best >= 0))
            inside[bare, best[bare]] = True
        inside[missing] = False
        size = inside.sum(axis=1)
        kind = np.where(size > 1, 2, size)
        kind[size == self.possible.sum()] = 3
        kind[missing] = -1
        index = blocks.table.index
        held = {
            j: pd.arrays.BooleanArray(inside[:, j].copy(), missing.copy()) for j in range(len(fit.classes))
        }
        frame = pd.DataFrame(held, index=index).set_axis(fit.classes, axis=1)
        words = pd.Series(pd.Categorical.from_codes(kind, dtype=KINDS), index=index)
        frame.insert(0, distinct("set", fit.classes), words)
        frame = frame.rename_axis(columns=None)
        frame.attrs.update(self.notes)
        return frame


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The rows of a fit, each judged by rules that did not see it.

    Attributes
    ----------
    blocks : Blocks
    scores, strange : (n, K) float
        Missing in rows that the fit does not use, and in those without a rule.
    codes : (n,) int
        Classes, -1 for rows that the fit does not use.
    weights : (n,) float or None
    shares : (n,) float or None
        Of ties that count.
    """

    blocks: Blocks
    scores: Floats
    strange: Floats
    codes: NDArray[np.intp]
    weights: Floats | None
    shares: Floats | None

    def own(self) -> OwnScores:
        """The rows that the fit uses, each in its own class; one without a rule is as strange as can be."""
        used = np.flatnonzero(self.codes >= 0)
        codes = self.codes[used]
        return OwnScores(
            self.strange[used, codes], codes, None if self.weights is None else self.weights[used]
        )

    def sets(self, fit: Fit[Any], held: Calibrated) -> pd.DataFrame:
        """Sets of these rows, each by the calibration of the others."""
        n, k = self.strange.shape
        at = np.maximum(self.codes, 0)
        own = self.strange[np.arange(n), at]
        own = np.where(np.isnan(own), np.inf, own)
        gone = np.where((self.codes >= 0) & held.possible[at], 1.0, 0.0)
        if self.weights is not None:
            gone = np.minimum(gone, self.weights)
        p = np.full((n, k), np.nan, order="F")
        for j in range(k):
            counted = gone if held.plan.by is None else np.where(self.codes == j, gone, 0.0)
            p[:, j] = p_values(held.of(j), self.strange[:, j], left_out=(own, counted), shares=self.shares)
        p[:, ~held.possible] = np.where(np.isnan(self.strange[:, :1]), np.nan, -1.0)
        return held.frame(fit, self.blocks, p, best_class(self.scores))


def calibrated(fit: Fit[Any], plan: SetPlan) -> tuple[Calibrated, LeftOut | None]:
    """Calibration by a checked plan, and the rows of the fit left out where these are what it is by."""
    k = len(fit.classes)
    if plan.prior is not None:
        fit.need_posteriors("prior=")
    prior = None if fit.model.instead else fit.prior_values(plan.prior)
    possible = np.ones(k, dtype=bool) if prior is None else prior > 0
    left_out = None
    if plan.method == "split":
        pieces = partial(_pieces, fit, plan, _draws(plan))
        own = calibration_rows(fit, plan.calibration, pieces, weights=plan.weights, gaps=plan.gaps)
    else:
        left_out = _left_out(fit, plan, prior)
        own = left_out.own()
    own = own.among(possible)
    counts = own.counts(k)
    if plan.by == "class":
        references = by_class(own, k)
        warn_of_few(counts, fit.classes, plan.level, possible)
    else:
        references = [Reference.of(own.values, own.weights)]
        least = least_rows(plan.level)
        if counts.sum() < least:
            warn_user(
                f"Too few calibration rows for level={plan.level:.15g}, which takes {least}: "
                f"there are {counts.sum():g}, so that every set is full. Pass a lower level, or more rows."
            )
    return Calibrated(plan, references, possible, _notes(fit, plan, counts)), left_out


def _left_out(fit: Fit[Any], plan: SetPlan, prior: Floats | None) -> LeftOut:
    """The rows of the fit under rules that did not see them, with a prior (K,)."""
    way_out = f"a table of rows that it has not seen, with the response, {fit.blocks.design.response!r}."
    if not fit.has_rows:
        raise NotSupportedError(
            "A fit that was loaded, or made of moments, has no rows to leave out: pass calibration=, "
            + way_out
        )
    method: Any = plan.method
    asked = Plan(folds=plan.folds, seed=plan.seed, refit_prior=None if plan.prior is None else False)
    try:
        blocks = fit.rows(f'method="{method}"')
        _, scores, weights, _ = judged_scores(fit, None, method, asked)
    except NotSupportedError as error:
        other = 'method="cv", or ' if plan.method == "loo" else ""
        raise NotSupportedError(f"{error} For sets: {other}calibration=, {way_out}") from None
    if plan.prior is not None and prior is not None:
        scores = scores + _moved(fit, prior)
    strange, shares = _strange(scores, plan, _draws(plan))
    return LeftOut(blocks, scores, strange, used_codes(blocks), weights, shares)


def _moved(fit: Fit[Any], prior: Floats) -> Floats:
    """What the scores (m, K) of the fit gain under another prior (K,)."""
    none = np.flatnonzero((fit.prior_values() == 0) & (prior > 0))
    if len(none):
        raise PriorError(
            f"The fit has a prior of 0 for {listed(fit.classes[none])}, so that its rows left out have no "
            "scores there: fit with the prior that you want, or pass calibration=."
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(prior > 0, np.log(prior) - fit.log_prior(), -np.inf)


def _pieces(
    fit: Fit[Any], plan: SetPlan, rng: np.random.Generator | None, blocks: Blocks
) -> Iterator[tuple[slice, Floats]]:
    for place, scores in scored(blocks, fit.rule_of(blocks, plan.prior), len(fit.classes)):
        yield place, _strange(scores, plan, rng)[0]


def _draws(plan: SetPlan) -> np.random.Generator | None:
    return generator(plan.seed) if plan.smoothed else None


def _strange(scores: Floats, plan: SetPlan, rng: np.random.Generator | None) -> tuple[Floats, Floats | None]:
    """How strange rows are in each class (m, K), and of smoothed sets the share (m,) of their ties."""
    score: Any = plan.score
    if rng is None:
        return strangeness(scores, score), None
    draws = rng.random((len(scores), 2))
    return strangeness(scores, score, draws[:, 0]), draws[:, 1]


def _notes(fit: Fit[Any], plan: SetPlan, counts: Floats) -> dict[str, Any]:
    within = " within each class" if plan.by == "class" else ""
    said = PROMISES[str(plan.method)].format(level=plan.level, within=within)
    if plan.by is None and plan.prior is not None:
        said += '; they come in the mix of the calibration rows, whatever prior= says: see by="class"'
    return {
        "promise": f"{said[0].upper()}{said[1:]}.",
        "level": float(plan.level),
        "method": plan.method,
        "by": plan.by,
        "score": plan.score,
        "calibration_rows": dict(zip(fit.classes.tolist(), counts.tolist(), strict=True)),
    }


def set_answer(fit: Fit[Any], data: Any, plan: SetPlan) -> Callable[[Any, Any], pd.DataFrame]:
    """What gives the sets of rows, from results and a table; see `ClassifierResults.predict_set`."""
    plan = plan.checked(fit, data)
    held, left_out = calibrated(fit, plan)
    # What is sent to where rows lie takes no table with it.
    held = replace(held, plan=replace(plan, calibration=None, weights=None))
    return partial(_sets, held, left_out if data is None else None)


def _sets(held: Calibrated, left_out: LeftOut | None, results: Any, rows: Any) -> pd.DataFrame:
    fit = results._fit
    if left_out is not None:
        return left_out.sets(fit, held)
    return held.sets(fit, fit.new_rows(rows, held.plan.gaps))
