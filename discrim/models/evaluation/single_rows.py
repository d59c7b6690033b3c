"""What a fit says of single rows: the classes they may be of, how typical they are, how sure posteriors are.

*Prediction sets* have a promise of how often a row's own class is in them. Calibration rows tell what is
usual: those of the fit, each left out, or others that it has not seen.

*Typicality* says how unlike a class a row is, by the law of normal classes or without a law: the p-value of
a row is its rank among the class's own rows, which `discrim.inference.conformal` has the law of. What is
measured then is the squared distance to the class where the model has one, less that to one law of all rows
where it is the relative one; of models with a density for each class but no distance minus twice its log; of
others how strange the row is by its posteriors, or by its scores. Rows of the fit are measured without
themselves.

*Posteriors* have intervals by the delta method, or by a bootstrap.
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
    """Calibration rows: how strange each (n,) is in its own class, its class, and its weight."""

    values: Floats
    codes: Codes
    weights: Floats | None

    def among(self, classes: NDArray[np.bool_]) -> CalibrationRows:
        """The rows of some classes (K,)."""
        kept = classes[self.codes]
        return CalibrationRows(
            self.values[kept], self.codes[kept], None if self.weights is None else self.weights[kept]
        )

    def counts(self, n_classes: int) -> Floats:
        """Rows, or sums of weights, (K,) by class."""
        return np.bincount(self.codes, self.weights, n_classes).astype(np.float64)


def scores_by_class(known: CalibrationRows, n_classes: int) -> list[Reference]:
    """The scores of each class, in order."""
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
    """Rows of a table, or of a source of tables, that the fit has not seen.

    The values are scores (m, K) of blocks, piece by piece; missing where a row misses a value. A warning
    counts the rows that do not count.
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
    """Warn of classes with too few calibration rows (K,) for the level, which are in every set."""
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
    """How prediction sets are made; as of `predict_set`."""

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
        """The same with what is left open, or an error that names the option at fault."""
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
        """What draws the ties that count, where sets are smoothed."""
        return generator(self.seed) if self.smoothed else None


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """What sets of new rows take: arrays and options, and no row of the fit.

    There are 1 or K references; classes (K,) are possible whose prior is not zero. A table of sets has the
    notes in its `attrs`.
    """

    plan: SetPlan
    references: list[Reference]
    possible: NDArray[np.bool_]
    notes: dict[str, Any]

    def of(self, k: int) -> Reference:
        """The calibration rows that class k is held against."""
        return self.references[k if len(self.references) > 1 else 0]

    def sets(self, fit: FittedModel[Any], blocks: Blocks) -> pd.DataFrame:
        """Sets of new rows."""
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
    """The rows of a fit, each judged by rules that did not see it.

    Scores, and how strange rows are, (n, K), are missing in rows that the fit does not use, whose codes (n,)
    are -1, and in those without a rule. Shares (n,) are those of ties that count.
    """

    blocks: Blocks
    scores: Floats
    strange: Floats
    codes: NDArray[np.intp]
    weights: Floats | None
    shares: Floats | None

    def own(self) -> CalibrationRows:
        """The rows that the fit uses, each in its own class; one without a rule is as strange as can be."""
        used = np.flatnonzero(self.codes >= 0)
        codes = self.codes[used]
        return CalibrationRows(
            self.strange[used, codes], codes, None if self.weights is None else self.weights[used]
        )

    def sets(self, fit: FittedModel[Any], calibration: Calibrated) -> pd.DataFrame:
        """Sets of these rows, each by the calibration of the others."""
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
    """Calibration by a checked plan, and the rows of the fit left out where these are what it is by."""
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
    """The rows of the fit under rules that did not see them, with a prior (K,)."""
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
    """What the scores (m, K) of the fit gain under another prior (K,)."""
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
    """How strange rows are in each class (m, K), and of smoothed sets the share (m,) of their ties."""
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
    """What gives the sets of rows, from results and a table; see `ClassifierResults.predict_set`."""
    plan = plan.checked(fit, data)
    calibration, left_out = calibrated(fit, plan)
    # What is sent to where rows lie takes no table with it.
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
    """What is measured of rows in each class, larger for rows less like it.

    The kinds are squared distances whose leaving out has a closed form; those under one covariance, of which
    the scores left out are linear; minus twice log densities; and how strange scores are. Relative ones are
    less those to the law of all rows, the whole.
    """

    kind: Kind
    whole: WholeLaw | LawOnAxes | None = None

    def of_new(self, fit: FittedModel[Any], blocks: Blocks) -> Iterator[tuple[slice, Floats]]:
        """Values (m, K) of rows that the fit has not seen, piece by piece."""
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
        """Values (m, K) less distances to all rows, those (m,) where each row is left out."""
        if self.whole is None:
            return values
        return values - (self.whole.squared(x) if left_out is None else left_out)[:, None]

    def of_own(self, fit: FittedModel[Any]) -> Floats:
        """Values (n, K) of the rows of the fit, each under what is fitted without it."""
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
            # In closed form alone: scores by a refit may be in other units, which change densities.
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
                    # Without the row its class has no covariance, or the row was alone in it.
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
    """Return how the distances of observations to the classes are measured.

    Raises NotSupportedError if relative distances are asked for and the fit has none.
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
    """What p-values of new rows take, without rows of the fit: the values of the rows of each class."""

    measure: Measure
    references: list[Reference]

    def of_new(self, fit: FittedModel[Any], blocks: Blocks) -> Floats:
        """P-values (n, K) of rows that the fit has not seen."""
        refuse_many_scores(blocks.table.nrows, len(fit.classes), "Typicality")
        out = np.full((blocks.table.nrows, len(fit.classes)), np.nan)
        for place, values in self.measure.of_new(fit, blocks):
            for k, reference in enumerate(self.references):
                out[place, k] = p_values(reference, values[:, k])
        return out

    def of_own(self, values: Floats, known: CalibrationRows, at: NDArray[np.intp]) -> Floats:
        """P-values (n, K) of the rows of the fit by their values (n, K), each ranked among the others."""
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
    """Ranks among the rows of the fit left out, for labels of rows unlike any class."""
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
    """P-values of new rows, or of the fit's own by the others; see `ClassifierResults.typicality`."""
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
    """Relative distances of new rows, or of the fit's own left out; see `ClassifierResults`."""
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
"""Numbers of rows by classes, or by classes by classes, that are held at once."""


def typicality(
    fit: FittedModel[Any], data: Any, gaps: Gaps = AS_FITTED, method: str = "exact", calibration: Any = None
) -> pd.DataFrame:
    """P(D2 >= d2 | class) of new rows, or of the fit's own by the others; see `ClassifierResults`."""
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
    """What gives the typicality (n, K) of rows; a warning says that no rank is ever below the bound."""
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
    """Whether rows (n,) with a label have a typicality (n, K) below a bound in every class.

    A warning counts rows that have a label, as missing columns were integrated out, and no typicality.
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
    """Whether the covariance is robust, and not one of moments."""
    covariance_model = getattr(fit.estimates, "covariance_model", None)
    return covariance_model is not None and not covariance_model.traits.is_moment_estimate


def has_law(fit: FittedModel[Any], method: str) -> bool:
    """Whether the squared distances to the classes have a law by a method of `typicality`."""
    has: bool = getattr(fit.estimates, "has_distances", False)
    return has or (method == "chi2" and is_searched(fit))


def _law(fit: FittedModel[Any], method: str) -> Callable[..., Floats]:
    """From distances (K, m), counts, degrees of freedom and p to what is at least as far; or a refusal."""
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
    """Typicality (K, m) of some rows and where they are, block by block; those seen by the fit left out."""
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
    """Raise where the weights of a class leave its covariance too few degrees of freedom."""
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
    """Posteriors with intervals; see `ClassifierResults.posterior_intervals`."""
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
        # Numbers that a row takes for its covariances.
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
    """From rows x (m, p) to the covariances of their scores."""
    if isinstance(fit.estimates, LogisticFit):
        of_rows = fit.estimates.score_covariances()
        return lambda x: ScoreCovariance(*of_rows(x))
    estimates: MomentsFit = fit.estimates
    unbiased, free = estimates.unbiased_distances()
    # What counts is the relative noise of a covariance, and that of the divisor N is the same.
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
    """Posteriors (n, K) with the percentiles of those under fits to rows drawn again."""
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
            # A rule may hold its rows: it is used and forgotten.
            rule, _ = samples.rule(fit)
            shift = np.zeros(k)
            if fit.estimates.estimated_prior:
                # The shares of the classes are as uncertain as their rows.
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
