"""Conformal prediction sets, typicality and intervals of posteriors for single rows.

*Prediction sets* contain the class of a row with a stated frequency. The scores of rows are compared with the
scores of calibration rows: rows of the fit, each left out, or rows that the fit has not seen. *Typicality* is
a p-value of a row in each class, from the distribution of its distance under normality, or by its rank among
the rows of the class (`discrim.inference.conformal`). The ranked quantity is the squared distance to the
class, or minus twice its log density, or a nonconformity score if the model has neither; "relative" subtracts
the distance to one normal distribution of all rows. *Posteriors* have intervals by the delta method, or by a
bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.covariance.projected import LawOnAxes
from discrim.core.discriminant.lda import LDAFit
from discrim.core.discriminant.nearest_centroid import NearestCentroidFit
from discrim.core.discriminant.qda import QDAFit
from discrim.core.discriminant.rda import RDAFit
from discrim.core.naive_bayes.naive_bayes import NaiveBayesFit
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.numerics.special import chi2_sf
from discrim.core.regression.logistic import LogisticFit
from discrim.core.rules.gaussian import WholeLaw, whole_law
from discrim.core.rules.leave_one_out import ByRefits, MomentsFit, squared_gaps
from discrim.core.rules.rules import best_class, posteriors
from discrim.design.blocks import Blocks
from discrim.design.rows import used_codes, used_rows
from discrim.errors import (
    DataError,
    DroppedRowsWarning,
    MissingPredictionWarning,
    NotSupportedError,
    PriorError,
    warn_user,
)
from discrim.inference import parametric_errors
from discrim.inference.conformal import Reference, SetScore, least_rows, miss_share, p_values, strangeness
from discrim.inference.error_rates import check_level
from discrim.inference.parametric_errors import ScoreCovariance
from discrim.inference.resampling import RunningInterval, generator
from discrim.models.base.fit import AS_FITTED, FittedModel, Gaps
from discrim.models.base.labels import distinct
from discrim.models.base.reading import check_flag, check_word, listed, refuse_little_weight
from discrim.models.base.scores import scored
from discrim.models.evaluation.assessment import JudgingPlan, judged_scores, labelled_rows
from discrim.models.evaluation.validation import BootstrapSamples, left_out_scores, refuse_many_scores


class CalibrationRows(NamedTuple):
    """Calibration rows: nonconformity (n,) of each in its own class, its class (n,), and its weight (n,)."""

    values: Floats
    codes: Codes
    weights: Floats | None

    def among(self, classes: NDArray[np.bool_]) -> CalibrationRows:
        """Return the rows whose class is in a mask of classes (K,)."""
        kept = classes[self.codes]
        return CalibrationRows(
            self.values[kept], self.codes[kept], None if self.weights is None else self.weights[kept]
        )

    def counts(self, n_classes: int) -> Floats:
        """Return the number of rows, or sum of weights, (K,) by class."""
        return np.bincount(self.codes, self.weights, n_classes).astype(np.float64)


def scores_by_class(known: CalibrationRows, n_classes: int) -> list[Reference]:
    """Return the reference distribution of the scores of each class."""
    members = [known.codes == k for k in range(n_classes)]
    weights = [None if known.weights is None else known.weights[at] for at in members]
    return [Reference.of(known.values[at], each) for at, each in zip(members, weights, strict=True)]


def calibration_rows(
    fit: FittedModel[Any],
    data: Any,
    values: Callable[[Blocks], Iterator[tuple[slice, Floats]]],
    *,
    weights: Any = None,
    gaps: Gaps = AS_FITTED,
) -> CalibrationRows:
    """Read calibration rows that the fit has not seen; a warning counts rows that are left out.

    Parameters
    ----------
    fit, data
        The fit, and a table or source of tables with the response.
    values : callable
        Function of blocks that yields slices and scores (m, K), NaN if the row has a missing value.
    weights, gaps
        Frequency weights; options for missing values and unseen levels.
    """

    def strange(blocks: Blocks) -> Floats:
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Calibration")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, values_of_piece in values(blocks):
            out[place] = values_of_piece
        return out

    rows = labelled_rows(fit, data, gaps, weights, strange)
    scores = rows.answer[np.arange(len(rows.actual)), np.maximum(rows.actual, 0)]
    known = (rows.actual >= 0) & ~np.isnan(scores)
    if rows.weights is not None:
        known &= rows.weights > 0
    total = len(known)
    uncounted = int((~known).sum())
    if uncounted == total:
        raise DataError(
            f"None of the {total} rows of calibration= has its class and all its values.",
            hint=f"Pass rows with the response, {fit.design_rows.design.response!r}.",
        )
    if uncounted:
        warn_user(
            f"{uncounted} of the {total} rows of calibration= {'misses' if uncounted == 1 else 'miss'} the "
            f"class, a value or a weight, and {'does' if uncounted == 1 else 'do'} not count.",
            DroppedRowsWarning,
        )
    return CalibrationRows(
        scores[known], rows.actual[known], None if rows.weights is None else rows.weights[known]
    )


def warn_of_few(counts: Floats, classes: pd.Index, level: float, possible: NDArray[np.bool_]) -> None:
    """Warn of classes with too few calibration rows (K,) for the level: they are in every set."""
    least = least_rows(level)
    few = np.flatnonzero(possible & (counts < least))
    if len(few):
        said = ", ".join(f"{counts[k]:g}" for k in few[:6].tolist())
        warn_user(
            f"Too few calibration rows for level={level:.15g}, which takes {least} in a class: of "
            f"{listed(classes[few])} there {'is' if said == '1' else 'are'} {said}, so that "
            f"{'it is' if len(few) == 1 else 'they are'} in every set. Pass a lower level, or more rows."
        )


KINDS = pd.CategoricalDtype(["empty", "single", "several", "full"])

PROMISES = {
    "split": (
        "at least {level:.10g} of rows exchangeable with the calibration rows{within} have their class in "
        "the set"
    ),
    "loo": (
        "nearly {level:.10g} of rows exchangeable with those of the fit{within} have their class in the set: "
        "leave-one-out keeps the level in practice, and no distribution-free bound guarantees it"
    ),
    "cv": (
        "nearly {level:.10g} of rows exchangeable with those of the fit{within} have their class in the set: "
        "cross-validation keeps the level in practice, and no distribution-free bound guarantees it"
    ),
}


@dataclass(frozen=True, slots=True)
class SetPlan:
    """Options of `ClassifierResults.predict_set`, with the same names."""

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

    def checked(self, fit: FittedModel[Any], data: Any) -> SetPlan:
        """Return the options with defaults filled in; raise an error for an option that cannot be used."""
        check_level(self.level)
        check_word("by", self.by, ("class",), optional=True)
        check_word("method", self.method, ("loo", "cv", "split"), optional=True)
        check_word("score", self.score, SetScore, optional=True)
        check_word("empty", self.empty, ("keep", "best"))
        check_flag("smoothed", self.smoothed)
        method = self.method or ("loo" if self.calibration is None else "split")
        if method == "split" and self.calibration is None:
            raise DataError(
                'method="split" takes rows that the fit has not seen.',
                hint=(f"Pass calibration=, a table of them with the response, {fit.classes.name!r}."),
            )
        if method != "split" and self.calibration is not None:
            raise DataError(
                f'calibration= does not go with method="{method}", which takes the rows of the fit.',
                hint="Leave out one of the two.",
            )
        if method != "split" and self.weights is not None:
            raise DataError(
                "weights= belong to the rows of calibration=, and the rows of the fit have their own.",
                hint="Leave weights= out.",
            )
        if data is None and method == "split":
            other = ', or use method="loo"' if fit.has_rows else ""
            raise NotSupportedError(
                'method="split" promises nothing about rows that the fit has seen.',
                hint=f"Pass new rows as data={other}.",
            )
        score = self.score or ("lac" if fit.has_posteriors else "margin")
        if score != "margin":
            fit.need_posteriors(f'score="{score}"')
        return replace(self, method=method, score=score)

    def generator(self) -> np.random.Generator | None:
        """Return the random generator that breaks ties of smoothed sets; None for other sets."""
        return generator(self.seed) if self.smoothed else None


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """Calibration of prediction sets: options and sorted scores, without rows of the fit.

    `references` has one distribution of scores, or one for each class. `possible` (K,) marks classes with a
    positive prior. `notes` are stored in the `attrs` of a table of sets.
    """

    plan: SetPlan
    references: list[Reference]
    possible: NDArray[np.bool_]
    notes: dict[str, Any]

    def of(self, k: int) -> Reference:
        """Return the distribution of calibration scores for class k."""
        return self.references[k if len(self.references) > 1 else 0]

    def sets(self, fit: FittedModel[Any], blocks: Blocks) -> pd.DataFrame:
        """Return the table of prediction sets of new rows."""
        k = len(fit.classes)
        refuse_many_scores(blocks.table.nrows, k, "Prediction sets")
        p = np.full((blocks.table.nrows, k), np.nan, order="F")
        best = np.full(len(p), -1)
        rng = self.plan.generator()
        for place, scores in scored(blocks, fit.rule_of(blocks, self.plan.prior), k):
            strange, shares = _strange(scores, self.plan, rng)
            for j in np.flatnonzero(self.possible).tolist():
                p[place, j] = p_values(self.of(j), strange[:, j], shares=shares)
            p[place, ~self.possible] = np.where(np.isnan(strange[:, :1]), np.nan, -1.0)
            best[place] = best_class(scores)
        return self.frame(fit, blocks, p, best)

    def frame(self, fit: FittedModel[Any], blocks: Blocks, p: Floats, best: NDArray[np.intp]) -> pd.DataFrame:
        """Return the table of sets from p-values (n, K) and predicted classes (n,); NaN is missing."""
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
        columns = {
            j: pd.arrays.BooleanArray(inside[:, j].copy(), missing.copy()) for j in range(len(fit.classes))
        }
        frame = pd.DataFrame(columns, index=index).set_axis(fit.classes, axis=1)
        words = pd.Series(pd.Categorical.from_codes(kind, dtype=KINDS), index=index)
        frame.insert(0, distinct("set", fit.classes), words)
        frame = frame.rename_axis(columns=None)
        frame.attrs.update(self.notes)
        return frame


@dataclass(frozen=True, slots=True, eq=False)
class LeftOut:
    """Rows of a fit with scores (n, K) and nonconformity `strange` (n, K) by rules fitted without them.

    Both are NaN in rows that cannot be left out and in rows that the fit does not use, whose `codes` (n,) are
    -1. `shares` (n,) are random shares of ties, for smoothed sets.
    """

    blocks: Blocks
    scores: Floats
    strange: Floats
    codes: NDArray[np.intp]
    weights: Floats | None
    shares: Floats | None

    def own(self) -> CalibrationRows:
        """Return the used rows as calibration rows; NaN if the row cannot be left out."""
        used = np.flatnonzero(self.codes >= 0)
        codes = self.codes[used]
        return CalibrationRows(
            self.strange[used, codes], codes, None if self.weights is None else self.weights[used]
        )

    def sets(self, fit: FittedModel[Any], calibration: Calibrated) -> pd.DataFrame:
        """Return the table of prediction sets of these rows, each calibrated by the others."""
        n, k = self.strange.shape
        at = np.maximum(self.codes, 0)
        own_scores = self.strange[np.arange(n), at]
        own_scores = np.where(np.isnan(own_scores), np.inf, own_scores)
        gone = np.where((self.codes >= 0) & calibration.possible[at], 1.0, 0.0)
        if self.weights is not None:
            gone = np.minimum(gone, self.weights)
        p = np.full((n, k), np.nan, order="F")
        for j in range(k):
            counted = gone if calibration.plan.by is None else np.where(self.codes == j, gone, 0.0)
            p[:, j] = p_values(
                calibration.of(j), self.strange[:, j], left_out=(own_scores, counted), shares=self.shares
            )
        p[:, ~calibration.possible] = np.where(np.isnan(self.strange[:, :1]), np.nan, -1.0)
        return calibration.frame(fit, self.blocks, p, best_class(self.scores))


def calibrated(fit: FittedModel[Any], plan: SetPlan) -> tuple[Calibrated, LeftOut | None]:
    """Return the calibration by a checked plan, and the rows of the fit left out if they are the basis."""
    k = len(fit.classes)
    if plan.prior is not None:
        fit.need_posteriors("prior=")
    prior = fit.prior_values(plan.prior) if fit.has_posteriors else None
    possible = np.ones(k, dtype=bool) if prior is None else prior > 0
    left_out = None
    if plan.method == "split":
        pieces = partial(_pieces, fit, plan, plan.generator())
        known = calibration_rows(fit, plan.calibration, pieces, weights=plan.weights, gaps=plan.gaps)
    else:
        left_out = _left_out(fit, plan, prior)
        known = left_out.own()
    known = known.among(possible)
    counts = known.counts(k)
    if plan.by == "class":
        references = scores_by_class(known, k)
        warn_of_few(counts, fit.classes, plan.level, possible)
    else:
        references = [Reference.of(known.values, known.weights)]
        least = least_rows(plan.level)
        if counts.sum() < least:
            warn_user(
                f"Too few calibration rows for level={plan.level:.15g}, which takes {least}: "
                f"there are {counts.sum():g}, so that every set is full. Pass a lower level, or more rows."
            )
    return Calibrated(plan, references, possible, _notes(fit, plan, counts)), left_out


def _left_out(fit: FittedModel[Any], plan: SetPlan, prior: Floats | None) -> LeftOut:
    """Score the rows of the fit by rules that are fitted without them, under a prior (K,)."""
    way_out = f"a table of rows that it has not seen, with the response, {fit.design_rows.design.response!r}."
    if not fit.has_rows:
        raise NotSupportedError(
            "A fit that was loaded, or made of moments, has no rows to leave out.",
            hint=f"Pass calibration=, {way_out}",
        )
    method: Any = plan.method
    judging = JudgingPlan(folds=plan.folds, seed=plan.seed, refit_prior=None if plan.prior is None else False)
    try:
        blocks = fit.rows(f'method="{method}"')
        _, scores, weights, _ = judged_scores(fit, None, method, judging)
    except NotSupportedError as error:
        other = 'method="cv", or ' if plan.method == "loo" else ""
        raise error.with_message(
            error.message, hint=f"{error.hint} For sets: {other}calibration=, {way_out}"
        ) from None
    if plan.prior is not None and prior is not None:
        scores = scores + _moved(fit, prior)
    strange, shares = _strange(scores, plan, plan.generator())
    return LeftOut(blocks, scores, strange, used_codes(blocks), weights, shares)


def _moved(fit: FittedModel[Any], prior: Floats) -> Floats:
    """Return the change (K,) of the scores of the fit under another prior (K,)."""
    none = np.flatnonzero((fit.prior_values() == 0) & (prior > 0))
    if len(none):
        raise PriorError(
            f"The fit has a prior of 0 for {listed(fit.classes[none])}, so that its rows left out have "
            "no scores there.",
            hint="Fit with the prior that you want, or pass calibration=.",
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(prior > 0, np.log(prior) - fit.log_prior(), -np.inf)


def _pieces(
    fit: FittedModel[Any], plan: SetPlan, rng: np.random.Generator | None, blocks: Blocks
) -> Iterator[tuple[slice, Floats]]:
    for place, scores in scored(blocks, fit.rule_of(blocks, plan.prior), len(fit.classes)):
        yield place, _strange(scores, plan, rng)[0]


def _strange(scores: Floats, plan: SetPlan, rng: np.random.Generator | None) -> tuple[Floats, Floats | None]:
    """Return nonconformity (m, K) of scores (m, K), and random shares (m,) of ties for smoothed sets."""
    score: Any = plan.score
    if rng is None:
        return strangeness(scores, score), None
    draws = rng.random((len(scores), 2))
    return strangeness(scores, score, draws[:, 0]), draws[:, 1]


def _notes(fit: FittedModel[Any], plan: SetPlan, counts: Floats) -> dict[str, Any]:
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


def set_answer(fit: FittedModel[Any], data: Any, plan: SetPlan) -> Callable[[Any, Any], pd.DataFrame]:
    """Return a function of results and a table that returns prediction sets; checks all options first."""
    plan = plan.checked(fit, data)
    calibration, left_out = calibrated(fit, plan)
    # The function may be sent to workers and must not contain the table.
    calibration = replace(calibration, plan=replace(plan, calibration=None, weights=None))
    return partial(_sets, calibration, left_out if data is None else None)


def _sets(calibration: Calibrated, left_out: LeftOut | None, results: Any, rows: Any) -> pd.DataFrame:
    fit = results._fit
    if left_out is not None:
        return left_out.sets(fit, calibration)
    return calibration.sets(fit, fit.new_rows(rows, calibration.plan.gaps))


Kind = Literal["distance", "common", "density", "scores"]


@dataclass(frozen=True, slots=True)
class Measure:
    """Quantity that is ranked for typicality; larger values are less typical of the class.

    `kind` is "distance" (squared distances with a closed form for leaving out), "common" (of a common
    covariance or robust), "density" (minus twice the log density) or "scores" (nonconformity of the scores).
    `whole` is the normal distribution of all rows, whose distance is subtracted from relative distances.
    """

    kind: Kind
    whole: WholeLaw | LawOnAxes | None = None

    def of_new(self, fit: FittedModel[Any], blocks: Blocks) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of rows that the fit has not seen and their values (m, K)."""
        if self.kind in ("distance", "common"):
            estimates = fit.estimates
            distances = (
                estimates.unbiased_distances()[0] if self.kind == "distance" else estimates.distances()
            )
            for place, x, _ in blocks.every_row():
                yield place, self._relative(distances.squared(x).T, x, None)
            return
        rule = fit.rule_of(blocks, None if self.kind == "scores" else "equal")
        for place, scores in scored(blocks, rule, len(fit.classes)):
            if self.kind == "scores":
                yield place, _by_scores(fit, scores)
            else:
                values = -2.0 * (scores + np.log(len(fit.classes)))
                if self.whole is not None:
                    values = self._relative(values, blocks.rows_at(np.arange(place.start, place.stop)), None)
                yield place, values

    def _relative(self, values: Floats, x: Floats, left_out: Floats | None) -> Floats:
        """Subtract distances to all rows from values (m, K); `left_out` (m,) if each row is left out."""
        if self.whole is None:
            return values
        return values - (self.whole.squared(x) if left_out is None else left_out)[:, None]

    def of_own(self, fit: FittedModel[Any]) -> Floats:
        """Return values (n, K) of the rows of the fit, each from estimates without it."""
        blocks = fit.rows("typicality()", "pass calibration=, a table of rows with their response")
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        if self.kind == "scores":
            return _by_scores(fit, left_out_scores(fit))
        # A class with a prior of zero would have no score.
        equal = fit
        k = len(fit.classes)
        if self.kind == "common" or not (fit.prior > 0).all():
            equal = fit.under(np.full(k, 1.0 / k))
        left_out: Any = None
        out = np.full((blocks.table.nrows, k), np.nan)
        if isinstance(fit.estimates, NaiveBayesFit):
            out[:] = -2.0 * (left_out_scores(equal, False) - equal.log_prior())
        elif self.kind != "distance":
            if (
                getattr(fit.estimates, "covariance_model", None) is not None
                and fit.estimates.covariance_model.traits.is_robust
            ):
                raise NotSupportedError(
                    "Distances of rows left out would take a new search for each row with "
                    f'covariance="{fit.estimates.method}".',
                    hint="Fit without covariance=.",
                )
            # Only in closed form: a refit may rescale columns, which changes densities.
            left_out = equal.refits.leave_one_out(equal)
            if isinstance(left_out, ByRefits):
                raise NotSupportedError(
                    "Densities of rows left out would take a refit for each row, whose units are others.",
                    hint='Use method="distance".',
                )
        for rows, x, codes, weights in used_rows(blocks):
            with np.errstate(over="ignore", invalid="ignore"):
                if self.kind == "distance":
                    d2, left, _ = fit.estimates.left_out_distances(x, codes, weights)
                    values = d2.T
                    at = np.arange(len(x))
                    # The row is alone in its class, or the covariance without it is singular.
                    known = (values[at, codes] >= 0) & (left[codes, at] < fit.counts[codes])
                    values[at, codes] = np.where(known, values[at, codes], np.inf)
                elif left_out is not None:
                    values = -2.0 * (left_out(x, codes, weights) - equal.log_prior())
                else:
                    values = out[rows]
                gone = None if self.whole is None else self.whole.left_out(x, weights)
                out[rows] = self._relative(values, x, gone)
        return out


def _by_scores(fit: FittedModel[Any], scores: Floats) -> Floats:
    return strangeness(scores, "lac" if fit.has_posteriors else "margin")


def _kind(fit: FittedModel[Any]) -> Kind:
    estimates = fit.estimates
    if getattr(estimates, "has_distances", False):
        return "distance"
    if isinstance(estimates, LDAFit | NearestCentroidFit):
        return "scores" if isinstance(estimates, LDAFit) and estimates.reduced() is not None else "common"
    if isinstance(estimates, QDAFit) and estimates.covariance_model.traits.is_robust:
        return "common"
    if isinstance(estimates, QDAFit | NaiveBayesFit) or (
        isinstance(estimates, RDAFit) and estimates.alpha > 0
    ):
        return "density"
    return "scores"


def distance_measure(fit: FittedModel[Any], *, relative: bool) -> Measure:
    """Return the measure by which rows are compared with the classes.

    Raises NotSupportedError if relative distances are requested and are not defined for the fit.
    """
    kind = _kind(fit)
    if not relative:
        return Measure(kind)
    adjusts = getattr(fit.estimates, "covariates", 0) > 0
    whole: WholeLaw | LawOnAxes | None = None
    if kind != "scores" and not adjusts:
        moments = fit.estimates.moments
        axes = getattr(fit.estimates, "within_axes", None)
        whole = whole_law(moments) if axes is None else LawOnAxes.of(axes.scores(moments))
    if whole is None:
        why = (
            "has no distances to classes"
            if kind == "scores"
            else "adjusts its columns for covariates"
            if adjusts
            else "holds no covariance of all rows that has an inverse"
        )
        raise NotSupportedError(
            f"Relative distances are not defined here: {fit.title_in_sentence}, as it was fitted, {why}.",
            hint='Use method="conformal", or fit lda() or qda() with full covariances.',
        )
    return Measure(kind, whole)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Reference distributions of a measure, one for each class, for p-values of new rows."""

    measure: Measure
    references: list[Reference]

    def of_new(self, fit: FittedModel[Any], blocks: Blocks) -> Floats:
        """Return p-values (n, K) of rows that the fit has not seen."""
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, values in self.measure.of_new(fit, blocks):
            for k, reference in enumerate(self.references):
                out[place, k] = p_values(reference, values[:, k])
        return out

    def of_own(self, values: Floats, known: CalibrationRows, at: NDArray[np.intp]) -> Floats:
        """Return p-values (n, K) of values (n, K) of the rows of the fit, each ranked among the others."""
        out = np.full(values.shape, np.nan)
        own_values = np.full(len(values), np.inf)
        own_values[at] = known.values
        for k, reference in enumerate(self.references):
            gone = np.zeros(len(values))
            mine = at[known.codes == k]
            gone[mine] = 1.0
            if known.weights is not None:
                gone[mine] = np.minimum(1.0, known.weights[known.codes == k])
            out[:, k] = p_values(reference, values[:, k], left_out=(own_values, gone))
        return out


def ranked(fit: FittedModel[Any], method: str) -> Ranks:
    """Return ranks among the rows of the fit left out, to label outliers in new rows."""
    way_out = (
        f'Call typicality(data, method="{method}", calibration=), with a table of rows that the fit has not '
        "seen, and compare its values with the bound."
    )
    return _ranked(fit, method, None, AS_FITTED, way_out)[0]


def _ranked(
    fit: FittedModel[Any], method: str, calibration: Any, gaps: Gaps, way_out: str
) -> tuple[Ranks, Floats | None, CalibrationRows, NDArray[np.intp]]:
    measure = distance_measure(fit, relative=method == "relative")
    k = len(fit.classes)
    if calibration is not None:
        known = calibration_rows(fit, calibration, lambda blocks: measure.of_new(fit, blocks), gaps=gaps)
        return Ranks(measure, scores_by_class(known, k)), None, known, np.zeros(0, dtype=np.intp)
    if not fit.has_rows:
        raise NotSupportedError(
            f'method="{method}" ranks rows among those of the fit, which a fit that was loaded or '
            "made of moments does not have.",
            hint=way_out,
        )
    try:
        values = measure.of_own(fit)
    except NotSupportedError as error:
        raise error.with_message(error.message, hint=f"{error.hint} {way_out}".strip()) from None
    codes = used_codes(fit.design_rows)
    weights = fit.design_rows.weights
    at = np.flatnonzero(codes >= 0)
    known = CalibrationRows(values[at, codes[at]], codes[at], None if weights is None else weights[at])
    return Ranks(measure, scores_by_class(known, k)), values, known, at


def rank_typicality(
    fit: FittedModel[Any], data: Any, method: str, calibration: Any = None, gaps: Gaps = AS_FITTED
) -> pd.DataFrame:
    """Return p-values by ranks, a DataFrame (n, K); see `ClassifierResults.typicality`."""
    if data is None and calibration is not None:
        raise NotSupportedError(
            "Rows that the fit has seen are not ranked among rows that it has not.",
            hint="Pass data=, or leave out calibration=.",
        )
    new = "" if data is not None else "new rows as data=, and "
    way_out = f"Pass {new}calibration=, a table of rows that the fit has not seen, with their response."
    ranks, values, known, at = _ranked(fit, method, calibration, gaps, way_out)
    blocks = fit.design_rows if data is None else fit.new_rows(data, gaps)
    p = ranks.of_new(fit, blocks) if values is None or data is not None else ranks.of_own(values, known, at)
    return pd.DataFrame(p, index=blocks.table.index, columns=fit.classes, copy=False)


def relative_distances(fit: FittedModel[Any], data: Any, gaps: Gaps = AS_FITTED) -> pd.DataFrame:
    """Return relative distances, a DataFrame (n, K); see `ClassifierResults.relative_distances`."""
    measure = distance_measure(fit, relative=True)
    if data is None:
        blocks = fit.rows("relative_distances()", "pass data=")
        try:
            distances = measure.of_own(fit)
        except NotSupportedError as error:
            raise error.with_message(
                error.message,
                hint=f"{error.hint} Pass rows as data=, which are measured by all rows.".strip(),
            ) from None
    else:
        blocks = fit.new_rows(data, gaps)
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Relative distances")
        distances = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, values in measure.of_new(fit, blocks):
            distances[place] = values
    return pd.DataFrame(distances, index=blocks.table.index, columns=fit.classes, copy=False)


HELD = 2**21
"""Largest number of array elements, of rows by classes or by coefficients, in a chunk."""


def typicality(
    fit: FittedModel[Any], data: Any, gaps: Gaps = AS_FITTED, method: str = "exact", calibration: Any = None
) -> pd.DataFrame:
    """Return P(D2 >= d2 | class), a DataFrame (n, K); see `ClassifierResults.typicality`."""
    if method in ("relative", "conformal"):
        return rank_typicality(fit, data, method, calibration, gaps)
    if calibration is not None:
        raise DataError(
            f'calibration= does not go with method="{method}", which takes no rows.', hint="Leave it out."
        )
    blocks = fit.rows("typicality()", "pass data=") if data is None else fit.new_rows(data, gaps)
    typical = _by_law(fit, blocks, method, seen=data is None)
    return pd.DataFrame(typical, index=blocks.table.index, columns=fit.classes, copy=False)


def typicality_of_new(
    fit: FittedModel[Any], method: str, bound: float
) -> Callable[[FittedModel[Any], Blocks], Floats]:
    """Return a function that computes typicality (n, K); warn if ranks cannot be below the bound."""
    if method in ("relative", "conformal"):
        of_new = ranked(fit, method).of_new
        least = 1 / (fit.counts + 1)
        k = int(least.argmax())
        if least[k] >= bound > 0:
            warn_user(
                f"outlier={bound:g} calls no row unknown: a rank among the {fit.counts[k]:g} rows of class "
                f"{fit.classes[k]!r} is at least {least[k]:.2g}. Give a larger bound, or another typicality=."
            )
        return of_new
    _law(fit, method)
    return partial(_by_law, method=method, seen=False)


def unlike_all(typical: Floats, codes: Codes, bound: float) -> NDArray[np.bool_]:
    """Return which rows (n,) with a label have a typicality (n, K) below the bound in every class.

    A warning counts rows with a label but without typicality: missing columns were integrated out.
    """
    labelled = codes >= 0
    count = int((labelled & np.isnan(typical).all(axis=1)).sum())
    if count:
        warn_user(
            f"outlier= says nothing about {count} {'row' if count == 1 else 'rows'} with missing "
            "values, which have no typicality: their labels follow from the columns that they have.",
            MissingPredictionWarning,
        )
    return np.asarray(labelled & (typical < bound).all(axis=1))


def _by_law(fit: FittedModel[Any], blocks: Blocks, method: str, *, seen: bool) -> Floats:
    law = _law(fit, method)
    refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
    out = np.full((len(fit.classes), blocks.table.nrows), np.nan)
    with Progress(blocks.table.nrows, "typicality") as progress:
        for place, values in typical_rows(fit, blocks, law, seen=seen):
            out[:, place] = values
            progress(values.shape[1])
    return out.T


def is_searched(fit: FittedModel[Any]) -> bool:
    """Return whether the covariance is robust, and therefore not a function of moments."""
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    return covariance_model is not None and not covariance_model.traits.is_moment_estimate


def has_law(fit: FittedModel[Any], method: str) -> bool:
    """Return whether the distribution of the squared distances is available for a method of `typicality`."""
    has: bool = getattr(fit.estimates, "has_distances", False)
    return has or (method == "chi2" and is_searched(fit))


def _law(fit: FittedModel[Any], method: str) -> Callable[..., Floats]:
    """Return the function of distances (K, m), counts, degrees of freedom and p that computes typicality."""
    searched = is_searched(fit)
    if not has_law(fit, method):
        others = 'method="chi2" or ' if searched else ""
        raise NotSupportedError(
            "typicality is defined for normal classes with full covariances, which "
            f"{fit.title_in_sentence} as it was fitted does not have.",
            hint=f'Use {others}method="conformal", or fit lda() or qda() with full ones.',
        )
    if not searched:
        _refuse_light(fit, len(fit.terms), "typicality")
    return (
        parametric_errors.typical
        if method == "exact"
        else lambda d2, counts, free, p: np.asarray(chi2_sf(d2, p))
    )


def typical_rows(
    fit: FittedModel[Any], blocks: Blocks, law: Callable[..., Floats], *, seen: bool
) -> Iterator[tuple[Any, Floats]]:
    """Yield positions and typicality (K, m) of rows, block by block; rows of the fit are left out."""
    p = len(fit.terms)
    estimates = fit.estimates
    if seen and estimates.has_distances:
        for rows, x, codes, weights in used_rows(blocks):
            d2, left, free = estimates.left_out_distances(x, codes, weights)
            yield rows, law(d2, left, free, p)
        return
    counts = estimates.moments.counts
    distances, free = (
        estimates.unbiased_distances() if estimates.has_distances else (estimates.distances(), counts)
    )
    for place, x, _ in blocks.every_row():
        yield place, law(distances.squared(x), counts[:, None], free[:, None], p)


def _refuse_light(fit: FittedModel[Any], least: int, what: str) -> None:
    """Raise an error if the weight of a class is too small for the degrees of freedom of its covariance."""
    if isinstance(fit.estimates, QDAFit):
        refuse_little_weight(fit.counts, fit.classes, least, what)


def posterior_intervals(
    fit: FittedModel[Any],
    data: Any,
    method: str,
    level: float,
    replicates: int,
    seed: int | None,
    unseen: Any = None,
) -> pd.DataFrame:
    """Return posteriors with intervals; see `ClassifierResults.posterior_intervals`."""
    check_level(level)
    blocks = fit.new_rows(data, Gaps(unseen))
    refuse_many_scores(3 * blocks.table.nrows, len(fit.classes), "Posteriors and two ends of intervals")
    if method == "delta":
        if not (fit.estimates.has_distances or isinstance(fit.estimates, LogisticFit)):
            raise NotSupportedError(
                'method="delta" needs normal classes with full covariances, which '
                f"{fit.title_in_sentence} as it was fitted does not have.",
                hint='Use method="bootstrap".',
            )
        _refuse_light(fit, 1, 'method="delta"')
        rule = fit.rule()
        covariance = _score_covariance(fit)
        # Number of array elements per row for the covariances of its scores.
        numbers = len(fit.classes) * (len(fit.terms) + 1 if isinstance(fit.estimates, LogisticFit) else 1)
        parts = []
        step = max(HELD // numbers, 1)
        with Progress(blocks.table.nrows, "posterior intervals") as progress:
            for _, block, _ in blocks.every_row():
                for start in range(0, len(block), step):
                    x = block[start : start + step]
                    p = posteriors(rule.scores(x))
                    parts.append(
                        np.stack([p, *parametric_errors.delta_intervals(p, covariance(x), level)], axis=2)
                    )
                    progress(len(x))
        intervals = np.concatenate(parts) if parts else np.empty((0, len(fit.classes), 3))
    else:
        intervals = _bootstrapped(fit, blocks, level, replicates, seed)
    columns = pd.MultiIndex.from_product(
        [fit.classes, ["posterior", "low", "high"]], names=[fit.classes.name, None]
    )
    return pd.DataFrame(
        intervals.reshape(len(intervals), len(columns)), index=blocks.table.index, columns=columns
    )


def _score_covariance(fit: FittedModel[Any]) -> Callable[[Floats], ScoreCovariance]:
    """Return a function of rows (m, p) that computes the covariances of their scores."""
    if isinstance(fit.estimates, LogisticFit):
        of_rows = fit.estimates.score_covariances()
        return lambda x: ScoreCovariance(*of_rows(x))
    estimates: MomentsFit = fit.estimates
    unbiased, free = estimates.unbiased_distances()
    # Only the relative noise of a covariance matters, which does not depend on its divisor.
    distances = estimates.distances()
    counts = estimates.moments.counts
    known = estimates.estimated_prior
    p = len(fit.terms)
    if len(unbiased.covariances) > 1:
        return lambda x: parametric_errors.separate_covariance(
            distances.squared(x).T, counts, free, p, estimated_prior=known
        )
    (covariance,) = distances.covariances
    gaps = squared_gaps(covariance.whiten(estimates.moments.means.T).T)
    nu = float(free[0])
    return lambda x: parametric_errors.common_covariance(
        distances.squared(x).T, gaps, counts, nu, estimated_prior=known
    )


def _bootstrapped(
    fit: FittedModel[Any], blocks: Blocks, level: float, replicates: int, seed: int | None
) -> Floats:
    """Return posteriors and percentiles (n, K, 3) under fits to bootstrap samples of the rows."""
    samples = BootstrapSamples(fit.rows('method="bootstrap"'), replicates, seed)
    k = len(fit.classes)
    counts = fit.counts
    log_prior = fit.log_prior()
    fitted = fit.rule_of(blocks)
    intervals = np.empty((blocks.table.nrows, k, 3))
    for place, x, _ in blocks.every_row():
        intervals[place, :, 0] = posteriors(fitted.scores(x))
    ends = RunningInterval((len(intervals), k), replicates, level)
    values = np.empty((len(intervals), k))
    with Progress(replicates, "posterior intervals") as progress:
        for _ in range(replicates):
            # A rule may contain its rows: only one is kept in memory.
            rule, _ = samples.rule(fit)
            shift = np.zeros(k)
            if fit.estimates.estimated_prior:
                # The samples are stratified: class proportions are drawn separately.
                with np.errstate(divide="ignore"):
                    drawn = np.log(
                        samples.rng.multinomial(round(counts.sum()), counts / counts.sum()) / counts.sum()
                    )
                shift = drawn - log_prior
            for place, x, _ in blocks.every_row():
                values[place] = posteriors(rule.scores(x) + shift)
            ends.add(values)
            progress(1)
    intervals[..., 1], intervals[..., 2] = ends.ends()
    return intervals
