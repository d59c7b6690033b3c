"""Predictions and error rates of a fit on labelled rows: new rows, or the rows of the fit.

Rows are read chunk by chunk and scored by the rule of the fit, or by rules that are fitted without them
(`validation.py`). Error rates, confusion matrices and assessments are computed from the scores;
`classification.py` has tables that show the rows next to their predictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.discriminant.lda import LDAFit
from discrim.core.numerics.arrays import Codes, Floats, refuse_beyond_memory
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import ByRefits
from discrim.core.rules.rules import Rule, best_class, posteriors
from discrim.data.sources.files import names_files
from discrim.data.sources.parts import no_rows
from discrim.data.sources.sources import rows_given
from discrim.design.blocks import Block, Blocks, weight_vector
from discrim.design.matrix import response_codes
from discrim.design.rows import used_codes, used_of_block, used_rows
from discrim.design.source_tables import given_parts
from discrim.errors import (
    DataError,
    DroppedRowsWarning,
    MissingPredictionWarning,
    NotSupportedError,
    naming_file,
    warn_user,
)
from discrim.inference import error_rates as rates_of
from discrim.inference import parametric_errors
from discrim.inference.calibration import log_odds_against_rest
from discrim.inference.error_rates import Rates, check_level, confusion_table, counts_of, rates_table
from discrim.inference.resampling import drawn_seed
from discrim.models.base.fit import AS_FITTED, FittedModel, Gaps
from discrim.models.base.labels import distinct
from discrim.models.base.reading import check_flag, check_word, listed, told
from discrim.models.base.scores import Decision, block_scores, scored
from discrim.models.evaluation import validation
from discrim.models.evaluation.absent_classes import absent_class_mask, absent_note
from discrim.models.evaluation.validation import BootstrapSamples, LeftOutTable

NONE_JUDGED = "There is no row with a class and a prediction."


class LabelledRows(NamedTuple):
    """Rows with their classes and predictions.

    Attributes
    ----------
    actual : (n,) int
        Class, -1 if missing.
    answer : (n,) int or (n, K) float
        Predicted class or scores.
    weights : (n,) float or None
    table_index : Index of length n
    """

    actual: Codes
    answer: NDArray[Any]
    weights: Floats | None
    table_index: pd.Index


def labelled_rows(
    fit: FittedModel[Any], data: Any, gaps: Gaps, weights: Any, answer: Callable[[Blocks], NDArray[Any]]
) -> LabelledRows:
    """Read the classes of rows and predict them, chunk by chunk if they are a source of tables.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
    gaps : Gaps
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
        Frequency weights; for a source the name of a column.
    answer : callable
        Function of blocks of m rows that returns classes (m,) or scores (m, K).
    """
    source = rows_given(data)
    source.refuse_vector(weights)
    design = fit.design_rows.design
    beside = (*design.response_columns, *([weights] if isinstance(weights, str) else ()))
    columns = tuple(dict.fromkeys((*design.columns, *beside)))
    parts = []
    for part, where in given_parts(source, columns):
        with naming_file(where):
            blocks = fit.new_rows(part, gaps)
            actual = response_codes(blocks.design, blocks.table, blocks.functions)
            vector = weight_vector(weights, blocks.table) if blocks.table.nrows else None
            vector = None if vector is None else np.nan_to_num(vector)
            parts.append(LabelledRows(actual, answer(blocks), vector, blocks.table.index))
    if not parts:
        raise no_rows(source)
    if len(parts) == 1:
        return parts[0]._replace(table_index=source.labels_of([parts[0].table_index]))
    vectors = [part.weights for part in parts if part.weights is not None]
    return LabelledRows(
        np.concatenate([part.actual for part in parts]),
        np.concatenate([part.answer for part in parts]),
        np.concatenate(vectors) if vectors else None,
        source.labels_of([part.table_index for part in parts]),
    )


def refuse_none(judged: NDArray[np.bool_]) -> None:
    """Raise DataError if a mask of evaluated rows (n,) is empty."""
    if not judged.any():
        raise DataError(NONE_JUDGED, hint="Give rows with the response and with all columns of the formula.")


def refuse_no_share(codes: Codes, shares: Floats | None, classes: pd.Index) -> None:
    """Raise DataError if all classes of the rows, with codes (m,), have a prior (K,) of zero."""
    there = np.unique(codes)
    if shares is not None and not (shares[there] > 0).any():
        raise DataError(
            f"The rows are of {listed(classes[there])} alone, which have no share of the prior that "
            "figures are weighted by.",
            hint="Give rows of other classes, or prior=, the shares that are meant.",
        )


def warn_left_out(actual: Codes, answered: NDArray[np.bool_], index: pd.Index) -> None:
    """Warn of rows that are not counted, because their class or prediction is missing.

    Parameters
    ----------
    actual : (n,) int
        Class, -1 if missing.
    answered : (n,) bool
        Whether the row has a prediction.
    index : Index of length n
    """
    said = []
    for uncounted, what in ((actual < 0, "no class"), ((actual >= 0) & ~answered, "no prediction")):
        if uncounted.any():
            said.append(
                f"{int(uncounted.sum())} with {what} (first {told(index[int(np.argmax(uncounted))])})"
            )
    if said:
        warn_user(
            f"Rows of data= are left out of the error rate: {' and '.join(said)}. A row needs its class, and "
            "a value in each column of the formula.",
            DroppedRowsWarning,
        )


Counting = Literal["apparent", "loo", "cv"]
ErrorMethod = Literal[
    "apparent", "loo", "cv", "632+", "D", "DS", "O", "OS", "posterior", "posterior-stratified"
]

MANY_CLASSES = 256
"""Number of classes above which errors are counted without a confusion matrix."""

BYTES = 4
"""Bytes of each number that is stored by row and bootstrap sample."""

FEW_REFITS = 50
"""Rows up to which each is left out by a refit if there is no closed form."""

MAX_SLOWDOWN = 100
"""Largest ratio of the time to leave out a row to the time to score it at which leaving out is fast."""

NEW_ROWS = "new rows"
"""Name of the error rate of the rows of `data=`."""

WEIGHTED = ("apparent", "loo", "cv", "632+")
"""Methods whose rates within classes may be weighted by a prior other than the prior of the fit."""

LONG = 2.0**34
"""Rows times classes times columns above which a summary omits error rates."""

FEW_COLUMNS = 48
"""Number of columns below which the time to score a row does not depend on the number of columns."""

COUNTING: tuple[Counting, ...] = get_args(Counting)


@dataclass(frozen=True, slots=True, eq=False)
class JudgingPlan:
    """Options of estimates of error rates; most are arguments of `ClassifierResults.error_rates`.

    Attributes
    ----------
    prior : (K,) float or None
        Weights of the classes in the error rate; by default the prior of the fit.
    nested : bool
        Whether folds repeat choices of parameters by the rows, such as a shrinkage.
    """

    costs: Floats | None = None
    level: float = 0.95
    folds: int = 10
    replicates: int = 200
    seed: int | None = None
    refit_prior: bool | None = None
    gaps: Gaps = AS_FITTED
    prior: Floats | None = None
    weights: Any = None
    nested: bool = True


def table_and_method(data: Any, method: Any) -> tuple[Any, Any]:
    """Return table and method of `confusion` and `assess`, whose first argument may be a method."""
    check_word("method", method, Counting, optional=True)
    if not isinstance(data, str):
        return data, method
    for known in COUNTING:
        if data == known and method in (None, "apparent", known):
            return None, known
    if names_files(data):
        return data, method
    raise DataError(
        f"{data!r} is no table, and no method among {listed(COUNTING)}.", hint="Pass data= or method=."
    )


def confusion(fit: FittedModel[Any], data: Any, method: Counting, plan: JudgingPlan) -> pd.DataFrame:
    """Return the confusion matrix, actual by predicted classes; see `ClassifierResults.confusion`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
    method : {"apparent", "loo", "cv"}
    plan : JudgingPlan
    """
    actual, predicted, weights = judged_codes(fit, data, method, plan)
    return confusion_table(actual, predicted, fit.classes, weights)


def judged_codes(
    fit: FittedModel[Any], data: Any, method: Counting, plan: JudgingPlan
) -> tuple[Codes, Codes, Floats | None]:
    """Return the actual class, the predicted class and the weight of each row.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
    plan : JudgingPlan

    Returns
    -------
    actual, predicted : (n,) int
        -1 if the class or the prediction is missing.
    weights : (n,) float or None
    """
    check_word("method", method, Counting)
    decision = Decision(plan.costs)
    if decision.costs is not None:
        fit.need_posteriors("costs=")
    if data is None and method == "apparent":
        # Predicted classes are computed without a table of posteriors.
        blocks = fit.rows('method="apparent"', "pass data=")
        if decision.costs is not None:
            return blocks.codes, fit.predicted_codes(blocks, None, decision), row_weights(blocks)
        if "apparent" not in fit.cache:
            fit.cache["apparent"] = fit.predicted_codes(blocks)
        return blocks.codes, fit.cache["apparent"], row_weights(blocks)
    if data is not None and method == "apparent":
        return labelled_rows(
            fit, data, plan.gaps, plan.weights, lambda blocks: fit.predicted_codes(blocks, None, decision)
        )[:3]
    if method == "loo":
        blocks = fit.rows('method="loo"')
        predicted = validation.left_out_codes(fit, decision, plan.refit_prior)
        if predicted is not None:
            return blocks.codes, predicted, row_weights(blocks)
    actual, scores, weights, _ = judged_scores(fit, data, method, plan)
    return actual, decision.codes(scores), weights


class PassPredictions:
    """Predicted classes and leave-one-out scores of the rows of a fit, from a pass of another computation.

    `wrap` the blocks that the other computation reads; then `store` the results in the cache of the fit,
    from which `counted_rates` reads them. Leave-one-out scores are omitted for fits without a closed form or
    with many rows.

    Parameters
    ----------
    fit : FittedModel
    """

    def __init__(self, fit: FittedModel[Any]) -> None:
        self._fit, self._blocks = fit, fit.rows("leave_one_out()").with_classes()
        self._rule, self._numerics = fit.rule_of(self._blocks), np.geterr()
        self._codes = np.empty(self._blocks.table.nrows, dtype=np.intp)
        self._left_out: LeftOutTable | None = None
        # The scores of more rows are not stored: `left_out_codes` computes only the labels.
        few = self._blocks.table.nrows * len(fit.classes) <= validation.HELD
        with suppress(NotSupportedError):
            if few:
                self._left_out = LeftOutTable(fit, self._blocks, anew=validation.refits_prior(fit, None))
        self._read = 0

    def wrap(self, blocks: Blocks) -> Iterable[Block]:
        """Return an iterable of blocks whose first pass computes the predictions, too.

        Blocks of rows on workers are returned unchanged.
        """
        return _BlocksWithCallback(blocks, self._predict) if blocks.is_local else blocks

    def store(self) -> None:
        """Store the results in the cache of the fit if all rows were read."""
        if self._read == len(self._codes):
            self._fit.cache["apparent"] = self._codes
            if self._left_out is not None:
                self._left_out.finish()

    def _predict(self, place: slice, x: Floats, missing: NDArray[np.bool_] | None) -> None:
        # The other computation may have silenced the floating-point warnings of NumPy.
        with np.errstate(**self._numerics):
            k = len(self._fit.classes)
            for rows, scores in block_scores(self._blocks, self._rule, k, place, x, missing):
                self._codes[rows] = Decision().codes(scores)
            used = used_of_block(self._blocks, place, x, missing)
            if used is not None and self._left_out is not None:
                self._left_out.add(used)
        self._read = place.stop


class _BlocksWithCallback(Iterable[Block]):
    """Blocks whose first pass calls a function with all rows of each block."""

    def __init__(self, blocks: Blocks, callback: Callable[..., None]) -> None:
        self._blocks = blocks
        self._callbacks = [callback]

    def __iter__(self) -> Iterator[Block]:
        return self._blocks.with_callback(self._callbacks.pop() if self._callbacks else None)


def judged_scores(fit: FittedModel[Any], data: Any, method: Counting, plan: JudgingPlan) -> LabelledRows:
    """Score rows by a method and return them with scores (n, K) as an array; see `kept_scores`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
    method : {"apparent", "loo", "cv"}
    plan : JudgingPlan
    """
    actual, scores, weights, index = kept_scores(fit, data, method, plan)
    return LabelledRows(actual, scores.value(), weights, index)


def kept_scores(
    fit: FittedModel[Any], data: Any, method: Counting, plan: JudgingPlan
) -> tuple[Codes, StoredValue[Floats], Floats | None, pd.Index]:
    """Score new rows, or the rows of the fit, which stay on the workers that have the rows.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
    plan : JudgingPlan

    Returns
    -------
    actual : (n,) int
        Class, -1 if missing.
    scores : StoredValue of (n, K) float
    weights : (n,) float or None
    table_index : Index of length n
    """
    check_word("method", method, Counting)
    if data is not None:
        if method != "apparent":
            raise NotSupportedError(
                f'method="{method}" leaves out rows of the fit: it does not go with data=.',
                hint="Leave one out.",
            )
        actual, answer, weights, index = labelled_rows(fit, data, plan.gaps, plan.weights, _Scoring(fit))
        return actual, StoredValue(answer), weights, index
    blocks = fit.rows(f'method="{method}"', "pass data=" if method == "apparent" else "fit formula and data")
    if method == "loo":
        scores = validation.kept_left_out_scores(fit, plan.refit_prior)
    elif method == "cv":
        scores = _cross_validated_scores(fit, plan)
    elif blocks.is_local:
        scores = StoredValue(_Scoring(fit)(blocks))
    else:
        scores = blocks.rows.map_reduce_stored(
            blocks, partial(_scores, fit.in_part(fit.rule(), blocks)), validation.below
        )
    return blocks.codes, scores, row_weights(blocks), blocks.table.index


def _cross_validated_scores(fit: FittedModel[Any], plan: JudgingPlan) -> StoredValue[Floats]:
    """Return the scores (n, K) of the rows under the rules fitted without their fold.

    The fit caches them if a seed is set, because several plots show the same scores.
    """
    key = f"scores of {plan.folds} folds, seed {plan.seed}, refit_prior {plan.refit_prior}, {plan.nested}"
    cached = fit.cache.get(key)
    if cached is not None:
        return StoredValue(cached)
    whole = fit.choosing_anew() if plan.nested else fit
    dealt = validation.deal_folds(whole, plan.folds, plan.seed)
    with Progress(plan.folds, "cross-validation") as progress:
        scores = validation.kept_fold_scores(
            whole, dealt, plan.folds, progress=progress, nested=plan.nested, refit_prior=plan.refit_prior
        )
    small = whole.design_rows.is_local and len(dealt) * len(fit.classes) <= validation.HELD
    if small and plan.seed is not None:
        fit.cache[key] = scores.value()
    return scores


def _scores(rule: Rule, blocks: Blocks) -> Floats:
    """Return the scores (m, K) of a chunk of rows under a rule."""
    out = np.empty((blocks.table.nrows, len(blocks.design.levels)), order="F")
    for place, scores in scored(blocks, rule, out.shape[1]):
        out[place] = scores
    return out


class _Scoring:
    """Function that returns the scores (m, K) of successive blocks of rows, limited by the memory."""

    def __init__(self, fit: FittedModel[Any]) -> None:
        self._fit, self._rule, self._k, self._rows = fit, fit.rule(), len(fit.classes), 0

    def __call__(self, blocks: Blocks) -> Floats:
        rows = blocks.table.nrows
        self._rows += rows
        validation.refuse_many_scores(self._rows, self._k, "A judgement by posteriors")
        return _scores(self._fit.in_part(self._rule, blocks), blocks)


def row_weights(blocks: Blocks) -> Floats | None:
    """Return the weights (n,) of the rows of the table, zero if missing; None without weights."""
    return None if blocks.weights is None else np.nan_to_num(blocks.weights)


def error_rates(
    fit: FittedModel[Any], methods: Sequence[ErrorMethod], data: Any, plan: JudgingPlan, *, by_class: bool
) -> pd.DataFrame:
    """Return a table of error rates with one row for each method; see `ClassifierResults.error_rates`.

    Parameters
    ----------
    fit : FittedModel
    methods : sequence of str
    data : table or None
        New rows, whose error is an additional row.
    plan : JudgingPlan
    by_class : bool
        Whether to add the error within each class.
    """
    known: dict[str, Callable[[], Rates]] = {
        "632+": lambda: _bootstrapped(fit, plan),
        "posterior": lambda: _posterior_based(fit, plan, stratified=False),
        "posterior-stratified": lambda: _posterior_based(fit, plan, stratified=True),
    }
    for way in COUNTING:
        known[way] = partial(counted_rates, fit, way, plan)
    for name in ("D", "DS", "O", "OS"):
        known[name] = partial(_of_normal_model, fit, name, plan)
    rates_of.check_level(plan.level)
    check_flag("by_class", by_class)
    if not isinstance(methods, Iterable):
        raise DataError(
            f"methods={told(methods)} is not valid.",
            hint=f"Give names in a list, of {listed(known, most=20)}.",
        )
    wanted = [methods] if isinstance(methods, str) else list(methods)
    for method in wanted:
        check_word("methods", method, tuple(known))
        if plan.prior is not None and method not in WEIGHTED:
            raise NotSupportedError(
                f'method "{method}" follows from the posteriors or the law of the fit, with the prior of '
                "the fit.",
                hint=f"Leave out prior=, or use {listed(WEIGHTED)}.",
            )
    _refuse_own_weights(data, plan)
    rates = [(method, known[method]()) for method in dict.fromkeys(wanted)]
    if data is not None:
        rates.append((NEW_ROWS, _of_new_rows(fit, data, plan)))
    validation.refits_prior(fit, plan.refit_prior)
    table = rates_table(rates)
    table["prior"] = [
        validation.prior_of_rest(fit, plan.refit_prior) if way in ("loo", "cv") else "" for way in table.index
    ]
    if fit.choice:
        table["choice"] = [choice_of(fit, way) for way in table.index]
    if by_class:
        by_method = np.array([rate.by_class for _, rate in rates]).reshape(len(rates), len(fit.classes))
        within = pd.DataFrame(by_method, index=table.index, columns=fit.classes)
        table = table.rename(columns=lambda name: distinct(name, fit.classes))
        table = pd.concat([table, within], axis=1)
    reasons = _without_interval(rates)
    if fit.has_rows and not {"loo", "cv"}.isdisjoint(table.index):
        lone = absent_class_mask(used_codes(fit.design_rows), fit.design_rows.weights, len(fit.classes))
        reasons.append(absent_note(fit.classes[np.unique(used_codes(fit.design_rows)[lone])]))
    reasons = list(filter(None, reasons))
    if reasons:
        table.attrs["note"] = " ".join(reasons)
    return table


def takes_long(fit: FittedModel[Any]) -> bool:
    """Return whether the evaluation of all rows of a fit is too slow for a summary."""
    classes = len(fit.classes)
    columns = max(len(fit.terms), FEW_COLUMNS)
    return fit.has_rows and float(fit.design_rows.table.nrows) * classes * columns > LONG


def leave_one_out_is_fast(fit: FittedModel[Any]) -> bool:
    """Return whether leave-one-out has a closed form or the rows are few enough for refits."""
    if (
        any(key in fit.cache for key in validation.LEFT_OUT_KEPT_AS.values())
        or fit.counts.sum() <= FEW_REFITS
    ):
        return True
    if fit.refits.by_calls or fit.spec.leave_one_out_cost > MAX_SLOWDOWN:
        return False
    try:
        return not isinstance(fit.refits.leave_one_out(fit), ByRefits)
    except NotSupportedError:
        return False


def has_chosen_columns(fit: FittedModel[Any]) -> bool:
    """Return whether the rows chose the columns; errors with this choice fixed are far too small."""
    return fit.selection is not None and fit.selection.kind == "columns"


def methods_to_judge(fit: FittedModel[Any]) -> tuple[Counting, ...]:
    """Return the methods to evaluate a fit on its own rows, the preferred one first.

    Leave-one-out is preferred if it is fast, else folds. If the rows chose the columns, only folds repeat
    this choice. The later methods are for fits that the earlier ones do not support, for example because a
    class has all of its rows in one fold.
    """
    if leave_one_out_is_fast(fit) and not has_chosen_columns(fit):
        return "loo", "cv", "apparent"
    return "cv", "loo", "apparent"


def choice_of(fit: FittedModel[Any], method: str, *, nested: bool = True) -> str:
    """Return "anew" if a method repeats the choices of a fit, "held" if it fixes them, else ""."""
    if not fit.choice or method == NEW_ROWS:
        return ""
    if method == "cv" and not nested:
        return "held"
    # Leave-one-out fixes the choice, unless every refit chooses columns.
    every = fit.selection is None and fit.refits.chooses_columns
    return "anew" if method in ("cv", "632+") or (method == "loo" and every) else "held"


def _refuse_own_weights(data: Any, plan: JudgingPlan) -> None:
    """Raise DataError if weights are passed without new rows."""
    if data is None and plan.weights is not None:
        raise DataError(
            "weights= belong to data=, and the rows of the fit have their own.", hint="Leave weights= out."
        )


def _without_interval(rates: Sequence[tuple[str, Rates]]) -> list[str]:
    """Return sentences on why estimates lack an interval."""
    reasons = []
    if any(method.startswith("posterior") for method, _ in rates):
        reasons.append(
            "posterior: no interval, because the rows have made the posteriors that are averaged, and do not "
            "show how far these are off."
        )
    if any(method == "632+" and np.isnan(rate.se) and not np.isnan(rate.estimate) for method, rate in rates):
        reasons.append(
            "632+: no interval, because samples are too few to tell its variance from their noise: raise "
            "replicates=."
        )
    return reasons


def table_and_methods(data: Any, methods: Any) -> tuple[Any, Any]:
    """Return table and methods of `error_rates`, whose first argument may be the methods.

    The default methods are "apparent" and "loo", or an empty list with a table.
    """
    if methods is None and _are_methods(data):
        data, methods = None, data
    if methods is None:
        return data, ("apparent", "loo") if data is None else ()
    return data, methods


def _are_methods(given: Any) -> bool:
    """Return whether an argument is the name of a method or a list of names, and not a file name."""
    if not isinstance(given, str | list | tuple | set | frozenset):
        return False
    names = [given] if isinstance(given, str) else list(given)
    return all(isinstance(name, str) and "." not in name and not names_files(name) for name in names)


def _of_new_rows(fit: FittedModel[Any], data: Any, plan: JudgingPlan) -> Rates:
    """Return the error rate of new rows; a warning counts rows that cannot be evaluated."""
    decision = Decision(plan.costs)
    rows = labelled_rows(
        fit, data, plan.gaps, plan.weights, lambda blocks: fit.predicted_codes(blocks, None, decision)
    )
    judged = (rows.actual >= 0) & (rows.answer >= 0) & (True if rows.weights is None else rows.weights > 0)
    refuse_none(judged)
    shares = fit.prior_values() if plan.prior is None and not fit.estimates.estimated_prior else plan.prior
    refuse_no_share(rows.actual[judged], shares, fit.classes)
    warn_left_out(rows.actual, rows.answer >= 0, rows.table_index)
    return _rates(fit, *rows[:3], plan)


def counted_rates(fit: FittedModel[Any], method: Counting, plan: JudgingPlan) -> Rates:
    """Return the error rate of the rows of a fit by a method that counts errors."""
    return _rates(fit, *judged_codes(fit, None, method, plan), plan)


def _rates(
    fit: FittedModel[Any], actual: Codes, predicted: Codes, weights: Floats | None, plan: JudgingPlan
) -> Rates:
    """Return the error rate of predicted classes, weighted by the prior.

    Parameters
    ----------
    fit : FittedModel
    actual, predicted : (n,) int
        Classes, -1 if missing.
    weights : (n,) float or None
    plan : JudgingPlan
    """
    sampled = plan.prior is None and fit.estimates.estimated_prior
    shares = fit.prior_values() if plan.prior is None else plan.prior
    if plan.costs is None and len(fit.classes) > MANY_CLASSES:
        return rates_of.counted_labels(actual, predicted, shares, weights, plan.level, sampled=sampled)
    counts = counts_of(actual, predicted, len(fit.classes), weights).astype(np.float64)
    return rates_of.counted(counts, shares, plan.costs, plan.level, sampled=sampled)


def _posterior_based(fit: FittedModel[Any], plan: JudgingPlan, *, stratified: bool) -> Rates:
    """Return the error rate that is estimated from the posteriors of the rows."""
    if plan.costs is not None:
        raise NotSupportedError("The posterior-based error rates count errors.", hint="Leave out costs=.")
    fit.need_posteriors('method="posterior"')
    fit.rows('method="posterior"')
    actual, scores, weights, _ = judged_scores(fit, None, "apparent", plan)
    return rates_of.posterior_based(
        posteriors(scores), actual, fit.prior_values(), weights, stratified=stratified
    )


def _of_normal_model(fit: FittedModel[Any], method: str, plan: JudgingPlan) -> Rates:
    """Return the error rate D, DS, O or OS of a linear discriminant analysis."""
    estimates = fit.estimates
    if not (isinstance(estimates, LDAFit) and estimates.has_distances and estimates.reduced() is None):
        raise NotSupportedError(
            f'method="{method}" is computed from normal classes with one full covariance.',
            hint='Fit lda() with all its axes, or use "cv".',
        )
    shrunk = method in ("DS", "OS")
    expected = method in ("O", "OS")
    moments = estimates.moments
    nu = estimates.residual_df
    whitened = estimates.unbiased().whiten(moments.means.T).T
    # With divisor N, log odds are N/(N - K) times the log odds of the unbiased covariance.
    stretch = estimates.divisor / nu
    rule = fit.log_prior(), plan.costs, plan.level
    if moments.n_classes == 2:
        gap = whitened[0] - whitened[1]
        squared = float(gap @ gap), moments.counts, nu, moments.n_columns
        return parametric_errors.two_classes(
            *squared, *rule, shrunk=shrunk, expected=expected, stretch=stretch
        )
    if expected:
        raise NotSupportedError(
            f'method="{method}" is for two classes; this fit has {moments.n_classes}.',
            hint='Use "DS" or "cv".',
        )
    return parametric_errors.many_classes(whitened, moments.counts, nu, *rule, shrunk=shrunk, stretch=stretch)


def _bootstrapped(fit: FittedModel[Any], plan: JudgingPlan) -> Rates:
    """Return the .632+ bootstrap estimate; samples are stratified by class."""
    whole = fit
    fit = fit.choosing_anew()
    blocks = fit.rows('method="632+"')
    if blocks.weights is not None:
        raise NotSupportedError(
            'method="632+" draws single rows.', hint='Repeat each row by its weight, or use "cv".'
        )
    if fit.refits.groups(fit) is not None:
        raise NotSupportedError(
            'method="632+" draws single rows, and this fit has groups of them.', hint='Use "cv".'
        )
    decision = Decision(plan.costs)
    samples = BootstrapSamples(blocks, plan.replicates, plan.seed)
    used = samples.codes >= 0
    kept = plan.replicates, int(used.sum())
    refuse_beyond_memory(
        2.0 * BYTES * kept[0] * kept[1],
        f"{kept[0]:,} bootstrap samples of {kept[1]:,} rows",
        'Lower replicates=, or use "cv" instead',
    )
    times = np.zeros(kept, dtype=np.int32)
    called = np.full(kept, -1, dtype=np.int32)
    unlabelled = np.zeros(len(used))
    with Progress(plan.replicates, ".632+ bootstrap") as progress:
        for b in range(plan.replicates):
            drawn, left = _sampled(fit, samples)
            labels = np.full(len(used), -1)
            for positions, scores in left:
                labels[positions] = decision.codes(scores)
                unlabelled[positions] += labels[positions] < 0
            times[b], called[b] = drawn[used], labels[used]
            progress(1)
    rows = np.flatnonzero(unlabelled)
    if len(rows):
        warn_user(
            f"{len(rows)} rows have no label under some bootstrap rule (first of them "
            f"{blocks.table.label(int(rows[0]))!r}): each class is impossible there, and 632+ does not count "
            "them then. Fit with laplace=1, for example.",
            MissingPredictionWarning,
        )
    prior = fit.prior_values() if plan.prior is None else plan.prior
    seen = judged_codes(whole, None, "apparent", plan)[1]
    return rates_of.point_six_three_two(
        rates_of.Resampled(samples.codes[used], seen[used], times, called),
        prior,
        plan.costs,
        plan.level,
        sampled=plan.prior is None and fit.estimates.estimated_prior,
    )


def _sampled(
    fit: FittedModel[Any], samples: BootstrapSamples
) -> tuple[Floats, Iterator[tuple[Codes, Floats]]]:
    """Return the next sample (n,), and positions and scores (m, K) of the rows that are not in it."""
    blocks = fit.design_rows
    codes = samples.codes
    if fit.refits.by_calls:
        drawn = samples.draw()
        left = np.flatnonzero((drawn == 0) & (codes >= 0))
        at = np.repeat(np.arange(len(drawn)), drawn.astype(np.intp))
        return drawn, iter([(left, fit.refits.scores_by_call(fit, at, left))])
    rule, drawn = samples.rule(fit)
    parts = used_rows(blocks.with_codes(np.where(drawn == 0, codes, -1)))
    places = np.arange(len(codes))
    return drawn, ((places[rows], rule.scores(x)) for rows, x, _, _ in parts)


@dataclass(frozen=True, slots=True, eq=False)
class AssessedRows:
    """Evaluated rows (m,) with their predictions, for an `Assessment`.

    Attributes
    ----------
    codes, predicted : (m,) int
        Actual and predicted classes.
    values : (m, K) float
        Log odds of each class against the rest; for models without posteriors the values of the rule.
    weights : (m,) float
    weighted : bool
        Whether the user passed weights.
    shares : (K,) float or None
        Prior by which figures are weighted; None for the class proportions of the rows.
    unlabelled, unpredicted : int
        Rows that were left out without a class, or with a class and without a prediction.
    way : str
        Description of how rows were predicted.
    method : {"apparent", "loo", "cv", "new"}
    folds : int
    posteriors : bool
        Whether the model has posteriors.
    """

    codes: Codes
    predicted: Codes
    values: Floats
    weights: Floats
    weighted: bool
    shares: Floats | None
    unlabelled: int
    unpredicted: int
    way: str
    method: str
    folds: int
    posteriors: bool

    @property
    def counts(self) -> Floats:
        """Confusion matrix, actual by predicted classes (K, K)."""
        k = self.values.shape[1]
        return counts_of(self.codes, self.predicted, k, self.weights).astype(np.float64)


def assessed(
    fit: FittedModel[Any], data: Any, method: Counting | None, plan: JudgingPlan
) -> StoredValue[AssessedRows]:
    """Predict the rows of a table, or of the fit, for an assessment; see `ClassifierResults.assess`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
    method : {"apparent", "loo", "cv"} or None
        By default leave-one-out, or folds if it would require too many fits.
    plan : JudgingPlan
    """
    check_level(plan.level)
    _refuse_own_weights(data, plan)
    left_out = None
    if method is None and data is not None:
        method = "apparent"
    elif method is None:
        fit.rows("assess()", "pass data=")
        try:
            method = "loo"
            left_out = kept_scores(fit, None, "loo", plan)
        except NotSupportedError:
            method = "cv"
    if method == "cv":
        plan = replace(plan, seed=drawn_seed(plan.seed))
    actual, scores, weights, _ = left_out or kept_scores(fit, data, method, plan)
    shares = plan.prior
    if shares is None and not fit.estimates.estimated_prior:
        shares = fit.prior_values()
    way = _way(fit, data, method, plan), method if data is None else "new", plan.folds
    codes = actual.astype(np.min_scalar_type(-len(fit.classes)))
    return scores.map(
        partial(_with_scores, codes, weights, fit.classes, shares, way, posteriors=fit.has_posteriors)
    )


def _with_scores(
    codes: Codes,
    weights: Floats | None,
    classes: pd.Index,
    shares: Floats | None,
    way: tuple[str, str, int],
    scores: Floats,
    *,
    posteriors: bool,
) -> AssessedRows:
    """Select and predict the evaluated rows; see `AssessedRows`."""
    actual = codes.astype(np.intp)
    predicted = best_class(scores)
    counts = np.ones(len(actual)) if weights is None else weights
    known = (actual >= 0) & (predicted >= 0) & (counts > 0)
    refuse_none(known)
    refuse_no_share(actual[known], shares, classes)
    # Only log posteriors, or the difference of two values, can be converted to log odds.
    logs = posteriors or len(classes) == 2
    return AssessedRows(
        actual[known],
        predicted[known],
        log_odds_against_rest(scores[known]) if logs else np.asarray(scores[known]),
        counts[known],
        weights is not None,
        shares,
        int(((actual < 0) & (counts > 0)).sum()),
        int(((actual >= 0) & (predicted < 0) & (counts > 0)).sum()),
        *way,
        posteriors,
    )


def _way(fit: FittedModel[Any], data: Any, method: Counting, plan: JudgingPlan) -> str:
    """Describe how rows are predicted."""
    if data is not None:
        return "new rows"
    if method == "apparent":
        return "rows of the fit by the rule fitted to them, which is optimistic"
    prior = validation.prior_of_rest(fit, plan.refit_prior)
    choice = choice_of(fit, method)
    said = f", prior {prior}" if prior else ""
    if choice:
        said += f"; the choice of {fit.choice} is " + ("made anew" if choice == "anew" else "held")
    if method == "loo":
        return f"rows of the fit, each by the rule without it{said}"
    return f"rows of the fit, by rules without their fold of {plan.folds}, seed {plan.seed}{said}"
