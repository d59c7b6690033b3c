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
from discrim.core.numerics.arrays import Codes, Floats, check_memory
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import RefitEachRow
from discrim.core.rules.rules import Rule, posteriors
from discrim.data.sources.base import no_rows_error
from discrim.data.sources.files import is_file_or_dataset
from discrim.data.sources.sources import source_of_rows
from discrim.design.design_rows import Block, DesignRows, read_weights
from discrim.design.matrix import response_codes
from discrim.design.rows import select_used_rows, used_codes, used_rows
from discrim.design.source_tables import table_chunks
from discrim.errors import (
    DataError,
    DroppedRowsWarning,
    MissingPredictionWarning,
    NotSupportedError,
    add_path_to_errors,
    warn_user,
)
from discrim.inference import error_rates as rates_of
from discrim.inference import parametric_errors
from discrim.inference.calibration import log_odds_against_rest
from discrim.inference.error_rates import (
    ErrorRateEstimate,
    check_level,
    confusion_counts,
    confusion_table,
    rates_table,
)
from discrim.inference.resampling import seed_or_random
from discrim.models.base.fit import AS_FITTED, FittedModel, MissingPolicy
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import check_flag, check_word, format_argument, join_labels
from discrim.models.base.scores import Decision, score_block, score_chunks
from discrim.models.evaluation import validation
from discrim.models.evaluation.absent_classes import absent_class_mask, absent_classes_note
from discrim.models.evaluation.validation import BootstrapSamples, LeftOutTable


class LabelledRows(NamedTuple):
    """Rows with their classes and predictions.

    Attributes
    ----------
    actual : (n,) int
        Position of the class among the K classes, -1 if missing.
    predictions : (n,) int or (n, K) float
        Predicted class (-1 if missing), or scores (NaN if missing).
    weights : (n,) float or None
        Frequency weights, zero if missing; None without weights.
    table_index : Index of length n
        Index of the table; consecutive integers for rows that were read in several chunks.
    """

    actual: Codes
    predictions: NDArray[Any]
    weights: Floats | None
    table_index: pd.Index


def read_labelled_rows(
    fit: FittedModel[Any],
    data: Any,
    missing_policy: MissingPolicy,
    weights: Any,
    predict: Callable[[DesignRows], NDArray[Any]],
) -> LabelledRows:
    """Read the classes of rows and predict them, chunk by chunk if they are a source of tables.

    Raises DataError for a source without rows.

    Parameters
    ----------
    fit : FittedModel
    data : table or source of tables
    missing_policy : MissingPolicy
        Options for missing values and unseen levels.
    weights : column name, (n,) array or None
        Frequency weights; for a source the name of a column.
    predict : callable
        Function of the `DesignRows` of a chunk of m rows that returns classes (m,) or scores (m, K).

    Returns
    -------
    LabelledRows
        The rows of all chunks; `predictions` has the concatenated results of `predict`.
    """
    source = source_of_rows(data)
    source.check_weights_are_column(weights)
    design = fit.design_rows.design
    extra_columns = (*design.response_columns, *([weights] if isinstance(weights, str) else ()))
    columns = tuple(dict.fromkeys((*design.columns, *extra_columns)))
    chunks = []
    for chunk, where in table_chunks(source, columns):
        with add_path_to_errors(where):
            design_rows = fit.new_rows(chunk, missing_policy)
            actual = response_codes(design_rows.design, design_rows.table, design_rows.functions)
            chunk_weights = read_weights(weights, design_rows.table) if design_rows.table.nrows else None
            chunk_weights = None if chunk_weights is None else np.nan_to_num(chunk_weights)
            chunks.append(LabelledRows(actual, predict(design_rows), chunk_weights, design_rows.table.index))
    if not chunks:
        raise no_rows_error(source)
    if len(chunks) == 1:
        return chunks[0]._replace(table_index=source.labels_of([chunks[0].table_index]))
    weights_of_chunks = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return LabelledRows(
        np.concatenate([chunk.actual for chunk in chunks]),
        np.concatenate([chunk.predictions for chunk in chunks]),
        np.concatenate(weights_of_chunks) if weights_of_chunks else None,
        source.labels_of([chunk.table_index for chunk in chunks]),
    )


def raise_if_no_evaluated_rows(is_evaluated: NDArray[np.bool_]) -> None:
    """Raise DataError if no element of a mask of evaluated rows (n,) is True."""
    if not is_evaluated.any():
        raise DataError(
            "No row has both a class and a prediction.", hint="Pass rows with the response and predictors."
        )


def raise_if_zero_prior(codes: Codes, prior: Floats | None, classes: pd.Index) -> None:
    """Raise DataError if all classes of the rows have a prior of zero.

    Parameters
    ----------
    codes : (m,) int
        Classes of the evaluated rows, without -1.
    prior : (K,) float or None
        Prior by which error rates are weighted; None for no weighting, which raises no error.
    classes : Index of length K
        Class labels, for the message.
    """
    class_index = np.unique(codes)
    if prior is not None and not (prior[class_index] > 0).any():
        raise DataError(
            f"The rows have only classes with a prior of zero, {join_labels(classes[class_index])}, and the "
            "error rates are weighted by the prior.",
            hint="Pass rows of other classes, or another prior=.",
            classes=classes[class_index],
        )


def warn_of_uncounted_rows(actual: Codes, has_prediction: NDArray[np.bool_], index: pd.Index) -> None:
    """Warn of rows of `data=` that an error rate excludes, because their class or prediction is missing.

    One DroppedRowsWarning counts both kinds; it is not issued without such rows.

    Parameters
    ----------
    actual : (n,) int
        Class, -1 if missing.
    has_prediction : (n,) bool
        Whether the row has a prediction.
    index : Index of length n
        Labels of the rows, of which the message names the first excluded ones.
    """
    counts_text = []
    for is_uncounted, problem in (
        (actual < 0, "no class"),
        ((actual >= 0) & ~has_prediction, "no prediction"),
    ):
        if is_uncounted.any():
            counts_text.append(
                f"{int(is_uncounted.sum())} with {problem} (first "
                f"{format_argument(index[int(np.argmax(is_uncounted))])})"
            )
    if counts_text:
        warn_user(
            f"Rows of data= are excluded from the error rate: {' and '.join(counts_text)}. A row requires "
            "its class and a value in each column of the formula.",
            DroppedRowsWarning,
        )


CountingMethod = Literal["apparent", "loo", "cv"]
"""Methods that predict each row of the fit: by the rule of the fit, or by a rule without it or its fold."""

ErrorMethod = Literal[
    "apparent", "loo", "cv", "632+", "D", "DS", "O", "OS", "posterior", "posterior-stratified"
]
"""Methods of `ClassifierResults.error_rates`."""

MAX_CONFUSION_CLASSES = 256
"""Number of classes above which errors are counted without a confusion matrix, unless there are costs."""

BYTES_PER_DRAW = 4
"""Bytes of a row count or predicted class (int32), which are stored for each row and bootstrap sample."""

DEFAULT_FOLD_SEED = 0
"""Seed of the folds by which the default error rates replace leave-one-out, unless the user passes one."""

MAX_LEAVE_ONE_OUT_REFITS = 50
"""Number of rows (sum of weights) up to which leave-one-out by a refit for each row counts as fast."""

MAX_SLOWDOWN = 100
"""Largest ratio of the time to score a row by the rule without it to the time to score it by the rule, up to
which leave-one-out counts as fast."""

NEW_ROWS = "new rows"
"""Name of the error rate of the rows of `data=`."""

METHODS_WITH_PRIOR = ("apparent", "loo", "cv", "632+")
"""Methods whose rates within classes may be weighted by a prior other than the prior of the fit."""

COUNTING_METHODS: tuple[CountingMethod, ...] = get_args(CountingMethod)


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationOptions:
    """Options of an evaluation: arguments of `ClassifierResults.error_rates`, and `nested`.

    Attributes
    ----------
    costs : (K, K) float or None
        Misclassification costs, actual (rows) by predicted class: rows are assigned to the class with the
        smallest expected cost, and error rates are mean costs. None for the most probable class and counts.
    level : float
        Level of intervals, such as 0.95.
    folds, replicates : int
        Numbers of folds of "cv" and of bootstrap samples of "632+".
    seed : int or None
        Seed of folds and samples; None for a random one.
    refit_prior : bool or None
        Whether refits to part of the rows estimate class proportions again; None for the model's default
        (see `validation.refits_prior`).
    missing_policy : MissingPolicy
        Options for missing values and unseen levels in new rows.
    prior : (K,) float or None
        Weights of the classes in the error rate; None for the prior of the fit, or for equal weights of all
        rows if the fit estimated its prior.
    weights : column name, (n,) array or None
        Frequency weights of new rows.
    nested : bool
        Whether folds repeat the choice of columns or parameters, such as a shrinkage, that the rows made.
    cut_off : float or None
        Log odds of the second of two classes at or above which rows are assigned to it, in an assessment.
    """

    costs: Floats | None = None
    level: float = 0.95
    folds: int = 10
    replicates: int = 200
    seed: int | None = None
    refit_prior: bool | None = None
    missing_policy: MissingPolicy = AS_FITTED
    prior: Floats | None = None
    weights: Any = None
    nested: bool = True
    cut_off: float | None = None


def split_table_and_method(data: Any, method: Any) -> tuple[Any, Any]:
    """Return the table and the method in the arguments of `confusion` and `assess`.

    Their first argument, `data`, may be the name of a method, such as "loo"; the table is then None, and the
    name replaces a `method` of None or "apparent". Otherwise both are returned unchanged, and a method that
    was not passed is None. Raises DataError if `method` is not one of `CountingMethod`, if a text as `data`
    is neither a method nor the path of a file, and if both arguments are other, different methods.
    """
    check_word("method", method, CountingMethod, optional=True)
    if not isinstance(data, str):
        return data, method
    for counting_method in COUNTING_METHODS:
        if data == counting_method and method in (None, "apparent", counting_method):
            return None, counting_method
    if is_file_or_dataset(data):
        return data, method
    raise DataError(
        f"{data!r} is neither a table nor the name of a method.",
        hint=f"Pass a table as data=, or one of {join_labels(COUNTING_METHODS)} as method=.",
    )


def confusion(
    fit: FittedModel[Any], data: Any, method: CountingMethod, options: EvaluationOptions
) -> pd.DataFrame:
    """Return the confusion matrix, actual by predicted classes; see `ClassifierResults.confusion`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions

    Returns
    -------
    DataFrame of K by K
        Counts or sums of weights, with the class labels as index "actual" and columns "predicted". Rows
        without a class or a prediction are not counted.
    """
    actual, predicted, weights = evaluate_predictions(fit, data, method, options)
    return confusion_table(actual, predicted, fit.classes, weights)


def evaluate_predictions(
    fit: FittedModel[Any], data: Any, method: CountingMethod, options: EvaluationOptions
) -> tuple[Codes, Codes, Floats | None]:
    """Return the actual class, the predicted class and the weight of each row.

    With `options.costs` the predicted class has the smallest expected cost. Predictions of "apparent" without
    costs are stored in the cache of the fit. Raises NotSupportedError for costs if the model lacks
    posteriors, and for "loo" or "cv" with `data`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions

    Returns
    -------
    actual, predicted : (n,) int
        -1 if the class or the prediction is missing.
    weights : (n,) float or None
        Frequency weights, zero if missing.
    """
    check_word("method", method, CountingMethod)
    decision = Decision(options.costs)
    if decision.costs is not None:
        fit.require_posteriors("costs=")
    if data is None and method == "apparent":
        # Predicted classes are computed without a table of posteriors.
        design_rows = fit.require_rows('method="apparent"', "pass data=")
        if decision.costs is not None:
            return design_rows.codes, fit.predict_codes(design_rows, None, decision), row_weights(design_rows)
        if "apparent" not in fit.cache:
            fit.cache["apparent"] = fit.predict_codes(design_rows)
        return design_rows.codes, fit.cache["apparent"], row_weights(design_rows)
    if data is not None and method == "apparent":
        return read_labelled_rows(
            fit,
            data,
            options.missing_policy,
            options.weights,
            lambda blocks: fit.predict_codes(blocks, None, decision),
        )[:3]
    if method == "loo":
        design_rows = fit.require_rows('method="loo"')
        predicted = validation.left_out_codes(fit, decision, options.refit_prior)
        if predicted is not None:
            return design_rows.codes, predicted, row_weights(design_rows)
    actual, scores, weights, _ = evaluate_scores(fit, data, method, options)
    return actual, decision.codes(scores), weights


class PassPredictions:
    """Predict the rows of a fit, also by leave-one-out, while another computation reads them.

    The other computation iterates over `wrap(design_rows)` instead of the rows themselves. Afterwards,
    `store` puts predicted classes and leave-one-out scores into the cache of the fit, where `counted_rates`
    finds them. Leave-one-out scores are omitted if the model does not support them, or if there are more than
    `validation.MAX_CACHED_SCORES`.

    Parameters
    ----------
    fit : FittedModel
        Fit with its rows; NotSupportedError without them.
    """

    def __init__(self, fit: FittedModel[Any]) -> None:
        self._fit, self._design_rows = fit, fit.require_rows("leave_one_out()").with_classes()
        self._rule, self._numerics = fit.rule_for(self._design_rows), np.geterr()
        self._codes = np.empty(self._design_rows.table.nrows, dtype=np.intp)
        self._left_out: LeftOutTable | None = None
        # The scores of more rows are not stored: `left_out_codes` computes only the labels.
        is_small = self._design_rows.table.nrows * len(fit.classes) <= validation.MAX_CACHED_SCORES
        with suppress(NotSupportedError):
            if is_small:
                self._left_out = LeftOutTable(
                    fit, self._design_rows, reestimate_prior=validation.refits_prior(fit, None)
                )
        self._read = 0

    def wrap(self, design_rows: DesignRows) -> Iterable[Block]:
        """Return an iterable of the blocks of the rows; its first iteration also predicts each block.

        Rows that are stored on workers are returned unchanged, without predictions.
        """
        return _BlocksWithCallback(design_rows, self._predict_block) if design_rows.is_local else design_rows

    def store(self) -> None:
        """Put the predictions into the cache of the fit; do nothing unless all rows were read."""
        if self._read == len(self._codes):
            self._fit.cache["apparent"] = self._codes
            if self._left_out is not None:
                self._left_out.finish()

    def _predict_block(self, row_slice: slice, x: Floats, missing: NDArray[np.bool_] | None) -> None:
        """Predict the rows of a block and store the results.

        Parameters
        ----------
        row_slice : slice
            Positions of the m rows in the table.
        x : (m, p) float
            Values of the p columns of the design.
        missing : (m,) bool or None
            Rows with a missing value; None if all rows are complete.
        """
        # The other computation may have silenced the floating-point warnings of NumPy.
        with np.errstate(**self._numerics):
            k = len(self._fit.classes)
            for rows, scores in score_block(self._design_rows, self._rule, k, row_slice, x, missing):
                self._codes[rows] = Decision().codes(scores)
            used = select_used_rows(self._design_rows, row_slice, x, missing)
            if used is not None and self._left_out is not None:
                self._left_out.add(used)
        self._read = row_slice.stop


class _BlocksWithCallback(Iterable[Block]):
    """Iterable of the blocks of rows; only its first iteration calls a function with each block.

    The arguments of the function are the row slice, the rows (m, p) and the mask of incomplete rows or None.
    """

    def __init__(self, design_rows: DesignRows, callback: Callable[..., None]) -> None:
        self._blocks = design_rows
        self._callbacks = [callback]

    def __iter__(self) -> Iterator[Block]:
        return self._blocks.iter_with_callback(self._callbacks.pop() if self._callbacks else None)


def evaluate_scores(
    fit: FittedModel[Any], data: Any, method: CountingMethod, options: EvaluationOptions
) -> LabelledRows:
    """Score new rows or the rows of the fit, with scores (n, K) as an array in this process.

    Raises the errors of `evaluate_distributed_scores`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions

    Returns
    -------
    LabelledRows
        `predictions` are the scores (n, K), NaN if missing.
    """
    actual, scores, weights, index = evaluate_distributed_scores(fit, data, method, options)
    return LabelledRows(actual, scores.value(), weights, index)


def evaluate_distributed_scores(
    fit: FittedModel[Any], data: Any, method: CountingMethod, options: EvaluationOptions
) -> tuple[Codes, StoredValue[Floats], Floats | None, pd.Index]:
    """Score new rows, or the rows of the fit; scores of rows on workers stay there.

    Raises NotSupportedError if `method` is "loo" or "cv" and `data` is a table, if the fit lacks rows, or if
    the model cannot be fitted without a row or fold.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions

    Returns
    -------
    actual : (n,) int
        Class, -1 if missing.
    scores : StoredValue of (n, K) float
        Scores of the rule: log posteriors up to a constant of the row if the model has posteriors; NaN if
        missing.
    weights : (n,) float or None
        Frequency weights, zero if missing.
    table_index : Index of length n
        Labels of the rows of the table.
    """
    check_word("method", method, CountingMethod)
    if data is not None:
        if method != "apparent":
            raise NotSupportedError(
                f'method="{method}" leaves out rows of the fit and cannot be combined with data=.',
                hint="Leave out method= or data=.",
            )
        actual, answer, weights, index = read_labelled_rows(
            fit, data, options.missing_policy, options.weights, _BlockScorer(fit)
        )
        return actual, StoredValue(answer), weights, index
    design_rows = fit.require_rows(
        f'method="{method}"', "pass data=" if method == "apparent" else "fit formula and data"
    )
    if method == "loo":
        scores = validation.distributed_left_out_scores(fit, options.refit_prior)
    elif method == "cv":
        scores = _cross_validated_scores(fit, options)
    elif design_rows.is_local:
        scores = StoredValue(_BlockScorer(fit)(design_rows))
    else:
        scores = design_rows.rows.map_reduce_stored(
            design_rows,
            partial(_score_rows_of_chunk, fit.integrate_missing(fit.rule(), design_rows)),
            validation.concatenate_scores,
        )
    return design_rows.codes, scores, row_weights(design_rows), design_rows.table.index


def _cross_validated_scores(fit: FittedModel[Any], options: EvaluationOptions) -> StoredValue[Floats]:
    """Return the scores (n, K) of the rows under the rules fitted without their fold.

    Several plots show the same scores. The fit therefore caches them if a seed is set, the rows are local,
    and rows times classes are at most `validation.MAX_CACHED_SCORES`. Scores are NaN for rows that are not
    used.
    """
    key = (
        f"scores of {options.folds} folds, seed {options.seed}, refit_prior {options.refit_prior}, "
        f"{options.nested}"
    )
    cached = fit.cache.get(key)
    if cached is not None:
        return StoredValue(cached)
    unselected_fit = fit.fit_before_selection() if options.nested else fit
    fold_ids = validation.assign_folds(unselected_fit, options.folds, options.seed)
    with Progress(options.folds, "cross-validation") as progress:
        scores = validation.distributed_fold_scores(
            unselected_fit,
            fold_ids,
            options.folds,
            progress=progress,
            nested=options.nested,
            refit_prior=options.refit_prior,
        )
    is_small = (
        unselected_fit.design_rows.is_local
        and len(fold_ids) * len(fit.classes) <= validation.MAX_CACHED_SCORES
    )
    if is_small and options.seed is not None:
        fit.cache[key] = scores.value()
    return scores


def _score_rows_of_chunk(rule: Rule, design_rows: DesignRows) -> Floats:
    """Return the scores (m, K) of a chunk of m rows under a rule.

    They are NaN for a row with a missing value, unless the rule integrates missing columns out
    (`FittedModel.integrate_missing`).
    """
    out = np.empty((design_rows.table.nrows, len(design_rows.design.levels)), order="F")
    for row_slice, scores in score_chunks(design_rows, rule, out.shape[1]):
        out[row_slice] = scores
    return out


class _BlockScorer:
    """Callable that scores chunks of rows by the rule of a fit.

    It raises DataError if the scores of all chunks so far do not fit into memory.
    """

    def __init__(self, fit: FittedModel[Any]) -> None:
        self._fit, self._rule, self._k, self._rows = fit, fit.rule(), len(fit.classes), 0

    def __call__(self, design_rows: DesignRows) -> Floats:
        """Return the scores (m, K) of a chunk of m rows under the rule of the fit.

        They are NaN for a row with a missing value, unless missing columns are integrated out.
        """
        rows = design_rows.table.nrows
        self._rows += rows
        validation.raise_if_many_scores(self._rows, self._k, "An evaluation of posteriors")
        return _score_rows_of_chunk(self._fit.integrate_missing(self._rule, design_rows), design_rows)


def row_weights(design_rows: DesignRows) -> Floats | None:
    """Return the weights (n,) of the rows of the table, zero if missing; None without weights."""
    return None if design_rows.weights is None else np.nan_to_num(design_rows.weights)


def error_rates(
    fit: FittedModel[Any],
    methods: Sequence[ErrorMethod] | None,
    data: Any,
    options: EvaluationOptions,
    *,
    by_class: bool,
) -> pd.DataFrame:
    """Return a table of error rates with one row for each method; see `ClassifierResults.error_rates`.

    Parameters
    ----------
    fit : FittedModel
    methods : sequence of str or None
        Names among `ErrorMethod`, or one name; DataError for other values. Repeated names count once. None
        for the default: none with `data`, otherwise "apparent" and "loo", which "cv" replaces if the model
        does not support "loo".
    data : table or None
        New rows, whose error is an additional row with the index `NEW_ROWS`.
    options : EvaluationOptions
    by_class : bool
        Whether to add a column with the error within each class, named like the class.

    Returns
    -------
    DataFrame by method
        Columns estimate, se, low, high (limits of the interval at `options.level`; NaN, like se, for methods
        without an interval), wrong, total (numbers or weights of wrong and of all rows; NaN for methods that
        do not count) and prior (`refit_prior_source` for "loo" and "cv", else ""); also choice
        (`choice_treatment`) if the rows of the fit chose columns or parameters. `attrs["note"]` explains
        missing intervals and classes that cannot be predicted; otherwise it is absent.

    Raises
    ------
    DataError
        An option is not valid, `options.weights` is passed without `data`, or `data` lacks a row with a class
        and a prediction.
    NotSupportedError
        The model does not support a method, or `options.prior` is passed for a method outside
        `METHODS_WITH_PRIOR`.
    """
    is_default = methods is None and data is None
    if methods is None:
        methods = ("apparent",) if data is None else ()
    compute_rates: dict[str, Callable[[], ErrorRateEstimate]] = {
        "632+": lambda: _bootstrap_error(fit, options),
        "posterior": lambda: _posterior_error(fit, options, stratified=False),
        "posterior-stratified": lambda: _posterior_error(fit, options, stratified=True),
    }
    for method_name in COUNTING_METHODS:
        compute_rates[method_name] = partial(counted_rates, fit, method_name, options)
    for name in ("D", "DS", "O", "OS"):
        compute_rates[name] = partial(_normal_model_error, fit, name, options)
    rates_of.check_level(options.level)
    check_flag("by_class", by_class)
    if not isinstance(methods, Iterable):
        raise DataError(
            f"methods={format_argument(methods)} is not valid.",
            hint=f"Pass a list of names among {join_labels(compute_rates, max_labels=20)}.",
        )
    requested_methods = [methods] if isinstance(methods, str) else list(methods)
    for method in requested_methods:
        check_word("methods", method, tuple(compute_rates))
        if options.prior is not None and method not in METHODS_WITH_PRIOR:
            raise NotSupportedError(
                f'method "{method}" uses the posteriors or the distribution of the fit, with the prior of '
                "the fit.",
                hint=f"Leave out prior=, or use {join_labels(METHODS_WITH_PRIOR)}.",
            )
    _raise_if_weights_without_data(data, options)
    rates = [(method, compute_rates[method]()) for method in dict.fromkeys(requested_methods)]
    fallback_note = ""
    if is_default:
        left_out_method, rate, fallback_note = _rate_of_left_out_rows(fit, options)
        rates.append((left_out_method, rate))
    if data is not None:
        rates.append((NEW_ROWS, _new_rows_error(fit, data, options)))
    validation.refits_prior(fit, options.refit_prior)
    table = rates_table(rates)
    table["prior"] = [
        validation.refit_prior_source(fit, options.refit_prior) if method_name in ("loo", "cv") else ""
        for method_name in table.index
    ]
    if fit.choice_description:
        table["choice"] = [choice_treatment(fit, method_name) for method_name in table.index]
    if by_class:
        by_method = np.array([rate.by_class for _, rate in rates]).reshape(len(rates), len(fit.classes))
        class_rates = pd.DataFrame(by_method, index=table.index, columns=fit.classes)
        table = table.rename(columns=lambda name: make_unique_name(name, fit.classes))
        table = pd.concat([table, class_rates], axis=1)
    reasons = [fallback_note, *_missing_interval_notes(rates)]
    if fit.has_rows and not {"loo", "cv"}.isdisjoint(table.index):
        is_lone = absent_class_mask(used_codes(fit.design_rows), fit.design_rows.weights, len(fit.classes))
        reasons.append(absent_classes_note(fit.classes[np.unique(used_codes(fit.design_rows)[is_lone])]))
    if note := " ".join(filter(None, reasons)):
        table.attrs["note"] = note
    return table


def _rate_of_left_out_rows(
    fit: FittedModel[Any], options: EvaluationOptions
) -> tuple[str, ErrorRateEstimate, str]:
    """Return the method "loo", its error rate and an empty note, or those of "cv" if it is not supported.

    The note on "cv" states the reason and the seed, which is `DEFAULT_FOLD_SEED` if `options.seed` is None.
    """
    try:
        return "loo", counted_rates(fit, "loo", options), ""
    except NotSupportedError as error:
        seed = DEFAULT_FOLD_SEED if options.seed is None else options.seed
        try:
            rate = counted_rates(fit, "cv", replace(options, seed=seed))
        except NotSupportedError as fold_error:
            raise fold_error from error
        note = (
            f"Leave-one-out is not supported, and {options.folds} folds with seed {seed} replace it: "
            f"{error.message}"
        )
        return "cv", rate, note


def has_fast_leave_one_out(fit: FittedModel[Any]) -> bool:
    """Return whether leave-one-out scores are cached, have a closed form, or require few refits.

    Refits are few if the total weight of the rows is at most `MAX_LEAVE_ONE_OUT_REFITS`. Above it, the result
    is False if the relative cost of the closed form exceeds `MAX_SLOWDOWN`, if the model is fitted by calls
    of a user's function, or if it does not support leave-one-out.
    """
    if (
        any(key in fit.cache for key in validation.LEFT_OUT_CACHE_KEYS.values())
        or fit.counts.sum() <= MAX_LEAVE_ONE_OUT_REFITS
    ):
        return True
    if fit.refits.refits_by_function or fit.spec.leave_one_out_cost > MAX_SLOWDOWN:
        return False
    try:
        return not isinstance(fit.refits.leave_one_out(fit), RefitEachRow)
    except NotSupportedError:
        return False


def has_chosen_columns(fit: FittedModel[Any]) -> bool:
    """Return whether the columns were chosen from the rows, for example by `stepwise`."""
    return fit.selection is not None and fit.selection.target == "columns"


def evaluation_methods(fit: FittedModel[Any]) -> tuple[CountingMethod, ...]:
    """Return the methods to evaluate a fit on its own rows, in the order in which they are tried.

    Leave-one-out comes first if it is fast, except if the columns were chosen from the rows, because only
    folds repeat this choice. A later method is used if the fit does not support the earlier ones, for example
    because a fold has all rows of a class.
    """
    if has_fast_leave_one_out(fit) and not has_chosen_columns(fit):
        return "loo", "cv", "apparent"
    return "cv", "loo", "apparent"


def choice_treatment(fit: FittedModel[Any], method: str, *, nested: bool = True) -> str:
    """Return how a method of error rates treats the columns and parameters that the rows of the fit chose.

    Parameters
    ----------
    fit : FittedModel
    method : str
        A method of `error_rates`, or `NEW_ROWS`.
    nested : bool
        Whether the folds of "cv" repeat the choice; other methods ignore it.

    Returns
    -------
    {"repeated", "fixed", ""}
        Whether each refit chooses again or keeps the choice; "" if nothing was chosen or for new rows.
    """
    if not fit.choice_description or method == NEW_ROWS:
        return ""
    if method == "cv" and not nested:
        return "fixed"
    # Leave-one-out fixes the choice, unless every refit chooses columns.
    always_chooses = fit.selection is None and fit.refits.chooses_columns
    return "repeated" if method in ("cv", "632+") or (method == "loo" and always_chooses) else "fixed"


def _raise_if_weights_without_data(data: Any, options: EvaluationOptions) -> None:
    """Raise DataError if `weights=` is passed without `data=`; rows of the fit have their own weights."""
    if data is None and options.weights is not None:
        raise DataError(
            "weights= are the weights of the rows of data=, which were not passed.",
            hint="Leave out weights=.",
        )


def _missing_interval_notes(rates: Sequence[tuple[str, ErrorRateEstimate]]) -> list[str]:
    """Return sentences on the methods without an interval and the reason; empty without such methods.

    `rates` contains pairs (method name, its estimate). Only posterior-based methods, which lack an interval,
    and "632+" with an estimate but a standard error of NaN (too few samples) are explained.
    """
    reasons = []
    if any(method.startswith("posterior") for method, _ in rates):
        reasons.append(
            "posterior: no interval, because the averaged posteriors were estimated from the same "
            "observations, which do not show their error."
        )
    if any(method == "632+" and np.isnan(rate.se) and not np.isnan(rate.estimate) for method, rate in rates):
        reasons.append(
            "632+: no interval, because with so few bootstrap samples the variance cannot be separated from "
            "their noise: increase replicates=."
        )
    return reasons


def split_table_and_methods(data: Any, methods: Any) -> tuple[Any, Any]:
    """Return the table and the methods in the arguments of `error_rates`.

    Its first argument, `data`, may be the methods, if `methods` is None; the table is then None. The default
    methods remain None. Other methods are returned unchanged and not validated.
    """
    if methods is None and _is_methods_argument(data):
        return None, data
    return data, methods


def _is_methods_argument(argument: Any) -> bool:
    """Return whether an argument is a name or a collection of names of methods, and not a file name.

    Unknown names count as methods, unless they contain a dot.
    """
    if not isinstance(argument, str | list | tuple | set | frozenset):
        return False
    names = [argument] if isinstance(argument, str) else list(argument)
    return all(isinstance(name, str) and "." not in name and not is_file_or_dataset(name) for name in names)


def _new_rows_error(fit: FittedModel[Any], data: Any, options: EvaluationOptions) -> ErrorRateEstimate:
    """Return the error rate of new rows, or with costs the mean cost; a warning counts excluded rows.

    Rows without a class or a prediction are excluded, and rows of weight zero do not count.

    Raises DataError if no row remains, or if all of them have classes with a prior of zero.

    Parameters
    ----------
    fit : FittedModel
    data : table
        New rows with their response.
    options : EvaluationOptions
    """
    decision = Decision(options.costs)
    rows = read_labelled_rows(
        fit,
        data,
        options.missing_policy,
        options.weights,
        lambda blocks: fit.predict_codes(blocks, None, decision),
    )
    is_evaluated = (
        (rows.actual >= 0) & (rows.predictions >= 0) & (True if rows.weights is None else rows.weights > 0)
    )
    raise_if_no_evaluated_rows(is_evaluated)
    prior = (
        fit.prior_values() if options.prior is None and not fit.estimates.estimated_prior else options.prior
    )
    raise_if_zero_prior(rows.actual[is_evaluated], prior, fit.classes)
    warn_of_uncounted_rows(rows.actual, rows.predictions >= 0, rows.table_index)
    return _rates_of_predictions(fit, *rows[:3], options)


def counted_rates(
    fit: FittedModel[Any], method: CountingMethod, options: EvaluationOptions
) -> ErrorRateEstimate:
    """Return the error rate of the rows of a fit by a method that counts errors; with costs the mean cost.

    Parameters
    ----------
    fit : FittedModel
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions
    """
    return _rates_of_predictions(fit, *evaluate_predictions(fit, None, method, options), options)


def _rates_of_predictions(
    fit: FittedModel[Any], actual: Codes, predicted: Codes, weights: Floats | None, options: EvaluationOptions
) -> ErrorRateEstimate:
    """Return the error rate of predicted classes, or their mean cost if the options have costs.

    Error rates of the classes are weighted by the prior: `options.prior`, or by default the prior of the fit.
    If the fit estimated it from its class proportions, the overall rate is the proportion of wrong rows.

    Parameters
    ----------
    fit : FittedModel
    actual, predicted : (n,) int
        Classes, -1 if missing.
    weights : (n,) float or None
        Frequency weights.
    options : EvaluationOptions
        `costs`, `prior` and `level` are used; `costs` weights errors and does not change `predicted`.
    """
    estimated_prior = options.prior is None and fit.estimates.estimated_prior
    prior = fit.prior_values() if options.prior is None else options.prior
    if options.costs is None and len(fit.classes) > MAX_CONFUSION_CLASSES:
        return rates_of.error_rate_from_labels(
            actual, predicted, prior, weights, options.level, sampled=estimated_prior
        )
    counts = confusion_counts(actual, predicted, len(fit.classes), weights).astype(np.float64)
    return rates_of.error_rate_from_counts(
        counts, prior, options.costs, options.level, sampled=estimated_prior
    )


def _posterior_error(
    fit: FittedModel[Any], options: EvaluationOptions, *, stratified: bool
) -> ErrorRateEstimate:
    """Return the error rate that is estimated from the posteriors of the rows, without counting errors.

    It does not include an interval. Raises NotSupportedError with costs, or if the fit lacks posteriors or
    rows.

    Parameters
    ----------
    fit : FittedModel
    options : EvaluationOptions
    stratified : bool
        Whether posteriors are averaged within each actual class and weighted by the prior.
    """
    if options.costs is not None:
        raise NotSupportedError(
            "The posterior-based error rates cannot be combined with costs=.", hint="Leave out costs=."
        )
    fit.require_posteriors('method="posterior"')
    fit.require_rows('method="posterior"')
    actual, scores, weights, _ = evaluate_scores(fit, None, "apparent", options)
    return rates_of.posterior_error_rate(
        posteriors(scores), actual, fit.prior_values(), weights, stratified=stratified
    )


def _normal_model_error(fit: FittedModel[Any], method: str, options: EvaluationOptions) -> ErrorRateEstimate:
    """Return an error rate of a linear discriminant analysis that follows from the normal model.

    No rows are read: the rate is a function of the means, the covariance and the prior of the fit. Raises
    NotSupportedError for other models, for reduced axes, and for "O" and "OS" with three or more classes.

    Parameters
    ----------
    fit : FittedModel
    method : {"D", "DS", "O", "OS"}
        Plug-in (D) or expected (O) error rate; S with a shrunk distance between the classes.
    options : EvaluationOptions
    """
    estimates = fit.estimates
    if not (isinstance(estimates, LDAFit) and estimates.has_distances and estimates.reduced_axes() is None):
        raise NotSupportedError(
            f'method="{method}" requires normal classes with a common full covariance matrix.',
            hint='Fit lda() with all its axes, or use method "cv".',
        )
    shrinks = method in ("DS", "OS")
    expected = method in ("O", "OS")
    moments = estimates.moments
    nu = estimates.residual_df
    whitened = estimates.unbiased_covariance().whiten(moments.means.T).T
    # With divisor N, log odds are N/(N - K) times the log odds of the unbiased covariance.
    log_odds_factor = estimates.divisor / nu
    rule_arguments = fit.log_prior(), options.costs, options.level
    if moments.n_classes == 2:
        mean_difference = whitened[0] - whitened[1]
        distance_arguments = float(mean_difference @ mean_difference), moments.counts, nu, moments.n_columns
        return parametric_errors.two_class_error_rate(
            *distance_arguments,
            *rule_arguments,
            shrunk=shrinks,
            expected=expected,
            density_factor=log_odds_factor,
        )
    if expected:
        raise NotSupportedError(
            f'method="{method}" requires two classes, and this fit has {moments.n_classes}.',
            hint='Use method "DS" or "cv".',
        )
    return parametric_errors.multiclass_error_rate(
        whitened, moments.counts, nu, *rule_arguments, shrunk=shrinks, density_factor=log_odds_factor
    )


def _bootstrap_error(fit: FittedModel[Any], options: EvaluationOptions) -> ErrorRateEstimate:
    """Return the .632+ bootstrap estimate of the error rate from samples that are stratified by class.

    Each sample repeats the choice of columns or parameters. Predictions of rows with probability zero in
    every class are left out, with a warning. Raises NotSupportedError for rows with weights or groups.
    """
    original_fit = fit
    fit = fit.fit_before_selection()
    design_rows = fit.require_rows('method="632+"')
    if design_rows.weights is not None:
        raise NotSupportedError(
            'method="632+" samples single rows and cannot be combined with weights.',
            hint='Repeat each row as often as its weight, or use method "cv".',
        )
    if fit.refits.groups(fit) is not None:
        raise NotSupportedError(
            'method="632+" samples single rows and cannot be combined with groups of rows.',
            hint='Use method "cv".',
        )
    decision = Decision(options.costs)
    samples = BootstrapSamples(design_rows, options.replicates, options.seed)
    used = samples.codes >= 0
    sample_shape = options.replicates, int(used.sum())
    check_memory(
        2.0 * BYTES_PER_DRAW * sample_shape[0] * sample_shape[1],
        f"{sample_shape[0]:,} bootstrap samples of {sample_shape[1]:,} rows",
        'Lower replicates=, or use "cv" instead',
    )
    draw_counts = np.zeros(sample_shape, dtype=np.int32)
    predicted = np.full(sample_shape, -1, dtype=np.int32)
    unlabelled = np.zeros(len(used))
    with Progress(options.replicates, ".632+ bootstrap") as progress:
        sampled = samples.sample_linear_rules(fit, options.replicates, progress)
        if sampled is not None:
            rules, sample_counts = sampled
            draw_counts = sample_counts if used.all() else sample_counts[:, used]
            columns = np.cumsum(used) - 1
            for rows, x, _, _ in used_rows(design_rows.with_codes(samples.codes)):
                for b, rule in enumerate(rules):
                    predicted[b, columns[rows]] = decision.codes(rule.scores(x))
            is_outside = draw_counts == 0
            unlabelled[used] += (is_outside & (predicted < 0)).sum(axis=0)
            predicted[~is_outside] = -1
        for b in range(options.replicates if sampled is None else 0):
            row_counts, out_of_sample = _score_out_of_sample(fit, samples)
            sample_labels = np.full(len(used), -1)
            for positions, scores in out_of_sample:
                sample_labels[positions] = decision.codes(scores)
                unlabelled[positions] += sample_labels[positions] < 0
            draw_counts[b], predicted[b] = row_counts[used], sample_labels[used]
            progress(1)
    rows = np.flatnonzero(unlabelled)
    if len(rows):
        warn_user(
            f"{len(rows)} rows have no label under some bootstrap rule (first row "
            f"{design_rows.table.label(int(rows[0]))!r}): their probability is zero in every class. 632+ "
            "omits these predictions. Fit with laplace=1, for example.",
            MissingPredictionWarning,
        )
    prior = fit.prior_values() if options.prior is None else options.prior
    apparent = evaluate_predictions(original_fit, None, "apparent", options)[1]
    return rates_of.bootstrap_632_plus(
        rates_of.OutOfBagPredictions(samples.codes[used], apparent[used], draw_counts, predicted),
        prior,
        options.costs,
        options.level,
        sampled=options.prior is None and fit.estimates.estimated_prior,
    )


def _score_out_of_sample(
    fit: FittedModel[Any], samples: BootstrapSamples
) -> tuple[Floats, Iterator[tuple[Codes, Floats]]]:
    """Draw a bootstrap sample, fit the model to it, and score the rows that are not in the sample.

    A sample to which a model cannot be fitted is drawn again, as in `BootstrapSamples.fit_sample`, unless it
    is fitted by calls of a user's function.

    Parameters
    ----------
    fit : FittedModel
    samples : BootstrapSamples
        Generator of the samples.

    Returns
    -------
    sample_counts : (n,) float
        How often each row is in the sample.
    scored_blocks : iterator of ((m,) int, (m, K) float)
        Positions in the table and scores of the used rows that are not in the sample.
    """
    design_rows = fit.design_rows
    codes = samples.codes
    if fit.refits.refits_by_function:
        sample_counts = samples.draw()
        test_index = np.flatnonzero((sample_counts == 0) & (codes >= 0))
        train_index = np.repeat(np.arange(len(sample_counts)), sample_counts.astype(np.intp))
        return sample_counts, iter([(test_index, fit.refits.scores_by_call(fit, train_index, test_index))])
    rule, sample_counts = samples.sample_rule(fit)
    test_blocks = used_rows(design_rows.with_codes(np.where(sample_counts == 0, codes, -1)))
    positions = np.arange(len(codes))
    return sample_counts, ((positions[rows], rule.scores(x)) for rows, x, _, _ in test_blocks)


@dataclass(frozen=True, slots=True, eq=False)
class AssessedRows:
    """Evaluated rows (m,) with their predictions, for an `Assessment`.

    Attributes
    ----------
    codes, predicted : (m,) int
        Actual and predicted classes, none missing; predicted is the class with the largest score, or the
        smallest expected cost, or it follows from a cut-off.
    scores : (m, K) float
        Log odds of each class against the rest. For models without posteriors the scores of the rule; with
        two classes their difference, in both columns with opposite signs.
    weights : (m,) float
        Frequency weights, all positive; ones without weights.
    has_weights : bool
        Whether the user passed weights.
    prior : (K,) float or None
        Prior by which measures are weighted; None for the class proportions of the rows.
    n_unlabelled, n_unpredicted : int
        Numbers of excluded rows of positive weight: without a class, and with a class but without a
        prediction.
    method_description : str
        Phrase from `_describe_method`.
    method : {"apparent", "loo", "cv", "new"}
        How rows were predicted; "new" for new rows.
    folds : int
        Number of folds of "cv"; without meaning for other methods.
    has_posteriors : bool
        Whether the model has posteriors.
    decision : Decision
        How scores were converted to predicted classes; its costs are averaged.
    positions : (m,) int
        Positions of the rows in the table.
    """

    codes: Codes
    predicted: Codes
    scores: Floats
    weights: Floats
    has_weights: bool
    prior: Floats | None
    n_unlabelled: int
    n_unpredicted: int
    method_description: str
    method: str
    folds: int
    has_posteriors: bool
    decision: Decision
    positions: Codes

    @property
    def counts(self) -> Floats:
        """Confusion matrix (K, K), actual (rows) by predicted classes, as sums of weights."""
        k = self.scores.shape[1]
        return confusion_counts(self.codes, self.predicted, k, self.weights).astype(np.float64)

    def without_arrays(self) -> AssessedRows:
        """Return the rows with empty arrays, which are small enough to be sent and stored."""
        names = ("codes", "predicted", "scores", "weights", "positions")
        return replace(self, **{name: getattr(self, name)[:0] for name in names})


def assess_rows(
    fit: FittedModel[Any], data: Any, method: CountingMethod | None, options: EvaluationOptions
) -> StoredValue[AssessedRows]:
    """Predict the rows of a table, or of the fit, for an assessment; see `ClassifierResults.assess`.

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows with their response; None for the rows of the fit.
    method : {"apparent", "loo", "cv"} or None
        How the rows of the fit are predicted; None for "loo", or "cv" if the model does not support "loo".
    options : EvaluationOptions
        `replicates` is not used. If `seed` is None, "cv" draws one, which the description names.

    Returns
    -------
    StoredValue of AssessedRows
        Rows with a class, a prediction and a positive weight; they stay on the workers that have them.
    """
    check_level(options.level)
    _raise_if_weights_without_data(data, options)
    if options.costs is not None:
        fit.require_posteriors("costs=")
    left_out = None
    if method is None and data is not None:
        method = "apparent"
    elif method is None:
        fit.require_rows("assess()", "pass data=")
        try:
            method = "loo"
            left_out = evaluate_distributed_scores(fit, None, "loo", options)
        except NotSupportedError:
            method = "cv"
    if method == "cv":
        options = replace(options, seed=seed_or_random(options.seed))
    actual, scores, weights, _ = left_out or evaluate_distributed_scores(fit, data, method, options)
    prior = options.prior
    if prior is None and not fit.estimates.estimated_prior:
        prior = fit.prior_values()
    description = (
        _describe_method(fit, data, method, options),
        method if data is None else "new",
        options.folds,
    )
    codes = actual.astype(np.min_scalar_type(-len(fit.classes)))
    return scores.map(
        partial(
            _select_assessed_rows,
            codes,
            weights,
            fit.classes,
            prior,
            description,
            has_posteriors=fit.has_posteriors,
            decision=Decision(options.costs, cut_off=options.cut_off),
        )
    )


def _select_assessed_rows(
    codes: Codes,
    weights: Floats | None,
    classes: pd.Index,
    prior: Floats | None,
    description: tuple[str, str, int],
    scores: Floats,
    *,
    has_posteriors: bool,
    decision: Decision,
) -> AssessedRows:
    """Return the rows that have a class, a prediction and a positive weight; the others are counted.

    Raises DataError without such rows, or if the classes of all such rows have a prior of zero.

    Parameters
    ----------
    codes : (n,) int
        Actual classes, -1 if missing.
    weights : (n,) float or None
        Frequency weights.
    classes : Index of length K
        Class labels.
    prior : (K,) float or None
        Prior by which measures are weighted; None for the class proportions of the rows.
    description : (str, str, int)
        `method_description`, `method` and `folds` of `AssessedRows`.
    scores : (n, K) float
        Scores of the rule, NaN if missing.
    has_posteriors : bool
        Whether the scores are log posteriors up to a constant.
    decision : Decision
        How scores are converted to predicted classes.
    """
    actual = codes.astype(np.intp)
    predicted = decision.codes(scores)
    counts = np.ones(len(actual)) if weights is None else weights
    is_assessed = (actual >= 0) & (predicted >= 0) & (counts > 0)
    raise_if_no_evaluated_rows(is_assessed)
    raise_if_zero_prior(actual[is_assessed], prior, classes)
    # Only log posteriors, or the difference of two values, can be converted to log odds.
    has_log_odds = has_posteriors or len(classes) == 2
    return AssessedRows(
        actual[is_assessed],
        predicted[is_assessed],
        log_odds_against_rest(scores[is_assessed]) if has_log_odds else np.asarray(scores[is_assessed]),
        counts[is_assessed],
        weights is not None,
        prior,
        int(((actual < 0) & (counts > 0)).sum()),
        int(((actual >= 0) & (predicted < 0) & (counts > 0)).sum()),
        *description,
        has_posteriors,
        decision,
        np.flatnonzero(is_assessed),
    )


def _describe_method(
    fit: FittedModel[Any], data: Any, method: CountingMethod, options: EvaluationOptions
) -> str:
    """Describe how rows are predicted, by a phrase such as "new rows" or "observations of the fit, ...".

    Parameters
    ----------
    fit : FittedModel
    data : table or None
        New rows; None for the rows of the fit.
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    options : EvaluationOptions
    """
    if data is not None:
        return "new rows"
    if method == "apparent":
        return "observations of the fit by the rule fitted to them (resubstitution), which is optimistic"
    prior = validation.refit_prior_source(fit, options.refit_prior)
    choice = choice_treatment(fit, method)
    details = f", prior {prior}" if prior else ""
    if choice:
        details += f"; the choice of {fit.choice_description} is {choice}"
    if method == "loo":
        return f"observations of the fit, each by the rule without it{details}"
    return (
        f"observations of the fit, by rules without their fold of {options.folds}, seed "
        f"{options.seed}{details}"
    )
