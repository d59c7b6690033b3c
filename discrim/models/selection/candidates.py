"""Candidates of `choose`: which models suit a table, and their losses on rows outside their folds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress, TimeLimitReached, refresh_progress, time_limit
from discrim.core.rules.calibration import fit_calibrator
from discrim.core.rules.rules import best_class, least_cost_codes
from discrim.data.values import format_value
from discrim.design.design_rows import DesignRows
from discrim.errors import DataError, DiscrimError, DiscrimWarning
from discrim.models.base.reading import format_argument, join_labels
from discrim.models.registry import BY_VERB
from discrim.models.selection.comparable import no_label_reason, resolve_verb
from discrim.models.selection.cross_validation import CrossValidation, FoldedRows, cross_validate_fit
from discrim.penalty import Ridge, read_penalty

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

By = Literal["log_loss", "error", "costs", "brier"]
"""Losses by which a model is chosen; see `choose`."""

MEASURES = {"log loss": "log_loss", "error": "error", "Brier": "brier", "costs": "costs"}
"""Names of the losses in tables of `choose`, by their names in `cross_validate`."""

# ---- candidates


class TableShape(NamedTuple):
    """Dimensions of a table, which decide what models are candidates.

    Attributes
    ----------
    rows, columns, classes : int
        Numbers of rows (not weights), of columns of the design (a category has one for each level except one)
        and of classes.
    min_class_rows : int
        Rows of the smallest class.
    is_numeric : bool
        Whether each predictor is a column of numbers (not booleans); False if the rows are not in memory.
    is_in_memory : bool
        Whether the rows are in memory.
    """

    rows: int
    columns: int
    classes: int
    min_class_rows: int
    is_numeric: bool
    is_in_memory: bool


def table_shape(design_rows: DesignRows, rows: NDArray[Any]) -> TableShape:
    """Return the dimensions of a table.

    Parameters
    ----------
    design_rows : DesignRows
    rows : (K,) array
        Number of rows of each of the K classes.

    Returns
    -------
    TableShape
        Counts of rows, columns and classes. `is_numeric` refers to the predictors, not to the response.
    """
    predictors = [name for name in design_rows.design.columns if name != design_rows.design.response_code]
    numeric = design_rows.is_local and all(
        pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
        for column in map(design_rows.table.column, predictors)
    )
    return TableShape(
        int(rows.sum()), len(design_rows.terms), len(rows), int(rows.min()), numeric, design_rows.is_local
    )


class Candidate(NamedTuple):
    """A model to try: its name in tables, the verb that fits it, and the keyword arguments of the verb."""

    name: str
    verb: Callable[..., Any]
    options: Mapping[str, Any] = {}


class DefaultCandidate(NamedTuple):
    """A default candidate, and the condition under which it does not suit a table.

    Attributes
    ----------
    name : str
        Name of the candidate.
    verb : str
        Name of the verb.
    options : mapping
        Options of the verb.
    is_unsuitable : callable
        Function of a `TableShape` that returns whether the candidate is left out.
    reason : str
        Reason for leaving it out, as a clause; empty if it suits every table.
    """

    name: str
    verb: str
    options: Mapping[str, Any]
    is_unsuitable: Callable[[TableShape], bool]
    reason: str


class Refusal(NamedTuple):
    """Reason why a candidate lacks losses.

    Attributes
    ----------
    reason : {"not suited", "failed", "no time"}
        It is unsuitable for the table, raised an error, or was not begun or completed in time.
    why : str
        Explanation in a sentence.
    """

    reason: Literal["not suited", "failed", "no time"]
    why: str


def _is_never_unsuitable(shape: TableShape) -> bool:
    """Return False: the condition `is_unsuitable` of a candidate that suits every table."""
    return False


MIN_COLUMNS_TO_REDUCE = 10
"""Smallest number of columns for models that choose a few directions or columns."""

RIDGE_STRENGTHS = tuple(10.0 ** (-half_exponent / 2) for half_exponent in range(-2, 11))
"""Strengths of the ridge penalty, from 10 (almost complete shrinkage) to 1e-5 (negligible shrinkage)."""

DEFAULT_CANDIDATES = (
    DefaultCandidate(
        "lda", "lda", {}, lambda s: s.rows - s.classes <= s.columns,
        "its covariance matrix is singular unless there are more rows than columns and classes",
    ),
    DefaultCandidate(
        "logistic", "logistic", {}, lambda s: s.rows < 5 * (s.columns + 1) * (s.classes - 1),
        "it requires about five rows for each coefficient; the penalized fit is a candidate instead",
    ),
    DefaultCandidate(
        "pls", "pls", {}, lambda s: s.columns < MIN_COLUMNS_TO_REDUCE,
        f"with fewer than {MIN_COLUMNS_TO_REDUCE} columns it needs almost all components and equals lda",
    ),
    DefaultCandidate(
        "sparse_lda", "sparse_lda", {"n_penalties": 20, "folds": 5},
        lambda s: s.columns < MIN_COLUMNS_TO_REDUCE,
        f"with fewer than {MIN_COLUMNS_TO_REDUCE} columns few can be left out, and it is close to lda",
    ),
    DefaultCandidate(
        "shrunken_centroids", "shrunken_centroids", {}, lambda s: s.columns < s.rows,
        "it is for more columns than rows",
    ),
    DefaultCandidate(
        "logistic, ridge", "logistic", {"penalty": Ridge(grid=RIDGE_STRENGTHS, folds=5)},
        _is_never_unsuitable, "",
    ),
    DefaultCandidate("naive_bayes", "naive_bayes", {}, _is_never_unsuitable, ""),
    DefaultCandidate(
        "qda", "qda", {}, lambda s: s.min_class_rows <= s.columns + 1,
        "it requires more rows than columns in every class",
    ),
    DefaultCandidate(
        "rda", "rda", {}, lambda s: s.columns > 200,
        "with more than 200 columns its grid of covariance matrices takes too long",
    ),
    DefaultCandidate(
        "mixture", "mixture", {"most": 3, "starts": 3},
        lambda s: s.min_class_rows < 4 * (s.columns + 1) or s.columns > 50,
        "it requires about four rows for each column in every class, and at most 50 columns",
    ),
    DefaultCandidate(
        "knn", "knn", {}, lambda s: not s.is_in_memory or s.rows > 20_000,
        "it keeps all rows in memory, and is a candidate only for up to 20,000 rows",
    ),
    DefaultCandidate(
        "kernel_lda", "kernel_lda", {}, lambda s: not s.is_in_memory or s.rows > 5_000,
        "it computes a kernel of all pairs of rows in memory, and is a candidate only for up to 5,000 rows",
    ),
    DefaultCandidate(
        "kernel_density", "kernel_density", {},
        lambda s: not s.is_in_memory or s.rows > 10_000 or s.columns > 8 or not s.is_numeric,
        "densities of more than 8 columns, or of categories, require too many rows",
    ),
)  # fmt: skip
"""Default candidates: linear rules, linear rules with tuning, quadratic rules, and nonparametric rules."""


def default_candidates(shape: TableShape) -> tuple[list[Candidate], dict[str, Refusal]]:
    """Return the default candidates that suit a table, the simplest first, and reasons against the others.

    The reasons are a dict from the name of a candidate to its `Refusal`, "not suited" with an explanation.
    """
    suited = []
    refused = {}
    for rule in DEFAULT_CANDIDATES:
        if rule.is_unsuitable(shape):
            refused[rule.name] = Refusal("not suited", f"{rule.reason[0].upper()}{rule.reason[1:]}.")
        else:
            suited.append(Candidate(rule.name, resolve_verb(rule.verb), rule.options))
    return suited, refused


def read_candidates(candidates: Any) -> list[Candidate]:
    """Return the candidates of `candidates=`, in the order of the user; raise DataError if one is invalid.

    The names of a dict are its keys; in a sequence a verb has its own name. An entry is invalid if it is not
    a verb or a pair (verb, dict of options), or if the verb lacks one of the options. Names must be distinct.
    """
    expected_format = (
        "names of verbs, or a dict of names, each with a verb or a pair of a verb and its options"
    )
    if isinstance(candidates, Mapping):
        pairs = list(candidates.items())
    elif isinstance(candidates, Sequence) and not isinstance(candidates, str):
        pairs = [(getattr(entry, "__name__", entry), entry) for entry in candidates]
    else:
        raise DataError(
            f"candidates={format_argument(candidates)} is not valid.", hint=f"Pass {expected_format}."
        )
    read = []
    for name, entry in pairs:
        verb, options = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
        verb = resolve_verb(verb, "candidates")
        verb_name = getattr(verb, "__name__", None)
        if not isinstance(name, str) or not callable(verb) or not isinstance(options, Mapping):
            raise DataError(
                f"candidates= has an invalid entry {format_argument(name)}: {format_argument(entry)}.",
                hint=f"Pass {expected_format}.",
            )
        if verb_name in BY_VERB:
            parameters = inspect.signature(verb).parameters
            unknown = [option for option in options if option not in parameters]
            if unknown:
                raise DataError(
                    f"Unknown option of {verb_name}() for {format_value(name)} in candidates=: "
                    f"{join_labels(unknown)}.",
                    hint=f"The options are {join_labels(parameters, max_labels=20)}.",
                )
        read.append(Candidate(name, verb, options))
    if len({entry.name for entry in read}) < len(read):
        raise DataError("candidates= has duplicate names.", hint="Pass a dict with distinct names.")
    if not read:
        raise DataError("candidates= is empty.", hint=f"Pass {expected_format}.")
    return read


# ---- evaluation


Posteriors = Literal["plugin", "calibrated"]
"""Posteriors of the model itself, or calibrated on held-out scores."""

MIN_FOLD_TIME = 0.5
"""Time of a fit without a fold over the time of the fit to all rows, below which it is not expected."""

CALIBRATED_SUFFIX = ", calibrated"
"""Suffix of the name of a candidate with calibrated posteriors."""


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedCandidate:
    """A candidate with its fit to all rows, and its losses on the m rows predicted without their folds.

    Attributes
    ----------
    name : str
        Name of the candidate, with a suffix if its posteriors are calibrated.
    fit : ClassifierResults
        Fit to all rows.
    validation : CrossValidation
        Cross-validation of the fit.
    losses, losses_if_wrong : dict of str to (m,) float
        Losses of the rows by measure, and the losses that they would have if they were misclassified; see
        `_first_repeat_losses`.
    seconds : float
        Time of fit and cross-validation.
    warnings : list
        Warnings of the fit.
    method : {"plugin", "calibrated"}
        Posteriors that the losses refer to.
    """

    name: str
    fit: ClassifierResults
    validation: CrossValidation
    losses: dict[str, Floats]
    losses_if_wrong: dict[str, Floats]
    seconds: float
    warnings: list[Any]
    method: Posteriors = "plugin"


@dataclass(frozen=True, slots=True, eq=False)
class CandidateEvaluator:
    """Fits and cross-validates candidates on one table, with the same arguments and folds.

    Attributes
    ----------
    formula, data, by, folds, groups, seed, calibrate : see `choose`
    arguments : mapping
        Arguments that are passed to every verb, by name. A verb without one of these parameters fails.
    costs : (K, K) float or None
        Cost of assigning a row of one of the K classes (row) to another (column).
    """

    formula: str
    data: Any
    arguments: Mapping[str, Any]
    by: By
    costs: Floats | None
    folds: int
    groups: Any
    seed: int
    calibrate: bool

    def evaluate(self, candidate: Candidate, limit: float = np.inf) -> EvaluatedCandidate:
        """Return the fit and cross-validation of a candidate, with the losses of its own posteriors.

        Raises a DiscrimError if the fit or the cross-validation fails, and TimeLimitReached if the fits
        without each fold would not be finished at the time `limit` of `monotonic`, judged by the first fit.

        A verb that lacks one of `arguments`, or whose result is not a fit, is a DataError. The verb gets the
        seed if it has this parameter, unless the options of the candidate contain one. Its warnings are
        recorded, not issued.
        """
        start = monotonic()
        options = dict(candidate.options)
        parameters = inspect.signature(candidate.verb).parameters
        if "seed" in parameters:
            options = {"seed": self.seed} | options
        if candidate.verb is resolve_verb("logistic"):
            penalty = read_penalty(options.get("penalty"))
            options["penalty"] = None if penalty is None else penalty.with_seed(self.seed)
        unsupported = [name for name in self.arguments if name not in parameters]
        if unsupported and not any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
        ):
            raise DataError(
                f"It does not support {join_labels([f'{name}=' for name in unsupported])}.",
                hint="Leave the candidate out.",
            )
        with catch_warnings(record=True) as caught:
            simplefilter("always", DiscrimWarning)
            fit = candidate.verb(self.formula, self.data, **options, **self.arguments)
            if not hasattr(fit, "error_rates"):
                raise DataError("It does not return a fit.", hint="Pass a verb, such as discrim.qda.")
            if fit._fit.refits.required_moments(fit._fit) is None:
                # With ten folds, the other fits take about eight times as long as the first.
                min_seconds = MIN_FOLD_TIME * (self.folds - 1) * (monotonic() - start)
                if monotonic() + min_seconds > limit:
                    raise TimeLimitReached
            validation = cross_validate_fit(fit._fit, self.folds, 1, self.groups, self.seed)
        losses, losses_if_wrong = validation._folded_rows.apply(partial(_first_repeat_losses, self.costs))
        return EvaluatedCandidate(
            candidate.name, fit, validation, losses, losses_if_wrong, monotonic() - start, list(caught)
        )

    def evaluate_calibrated(self, candidate: EvaluatedCandidate) -> EvaluatedCandidate:
        """Return the candidate with losses by calibrated posteriors; raise a DiscrimError if that fails.

        The name gets `CALIBRATED_SUFFIX`; the fit and the cross-validation of the candidate are kept.
        """
        start = monotonic()
        losses, losses_if_wrong = candidate.validation._folded_rows.apply(
            partial(_calibrated_losses, self.costs)
        )
        name = candidate.name + CALIBRATED_SUFFIX
        seconds = candidate.seconds + monotonic() - start
        return replace(
            candidate,
            name=name,
            losses=losses,
            losses_if_wrong=losses_if_wrong,
            seconds=seconds,
            method="calibrated",
        )


def _first_repeat_losses(
    costs: Floats | None, rows: FoldedRows
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Compute the losses of a cross-validation in its first repeat.

    Parameters
    ----------
    costs : (K, K) float or None
        Cost of assigning a row of one of K classes (row) to another (column).
    rows : FoldedRows

    Returns
    -------
    losses : dict of str to (m,) float
        Losses of the m evaluated rows by measure: "error"; with posteriors also "log_loss", "brier" and, if
        `costs` are passed, "costs", of the class with the smallest expected cost.
    losses_if_wrong : dict of str to (m,) float
        Losses by measure if the class of each row were the one with the second largest posterior; for "costs"
        the largest cost of the predicted class.
    """
    losses, losses_if_wrong = (
        {MEASURES[name]: values[0] for name, values in losses_by_name.items()}
        for losses_by_name in (rows.losses(), rows.losses_if_wrong())
    )
    if costs is not None and rows.has_posteriors:
        codes = least_cost_codes(rows.scores[0][rows.is_evaluated], costs)
        losses["costs"] = costs[rows.evaluated.codes, codes]
        losses_if_wrong["costs"] = costs.max(axis=0)[codes]
    return losses, losses_if_wrong


def _calibrated_losses(costs: Floats | None, rows: FoldedRows) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Compute the losses by calibrated posteriors; the calibration of a fold uses scores of the other folds.

    Parameters
    ----------
    costs : (K, K) float or None
        Cost of assigning a row of one of K classes (row) to another (column).
    rows : FoldedRows
        Rows with the scores of the uncalibrated rules.

    Returns
    -------
    losses, losses_if_wrong : dict of str to (m,) float
        Losses of the m evaluated rows, and their losses if they were misclassified; see
        `_first_repeat_losses`.
    """
    is_evaluated = rows.is_evaluated
    codes = rows.evaluated.codes
    row_weights = rows.evaluated.row_weights()
    scores = rows.scores[0][is_evaluated]
    fold_ids = rows.fold_ids[0][is_evaluated]
    calibrated_scores = np.full(rows.scores[0].shape, np.nan)
    row_positions = np.flatnonzero(is_evaluated)
    for fold in np.unique(fold_ids):
        in_fold = fold_ids == fold
        calibrator = fit_calibrator(scores[~in_fold], codes[~in_fold], row_weights[~in_fold])
        refresh_progress()
        calibrated_scores[row_positions[in_fold]] = calibrator.scores(scores[in_fold])
    predicted = best_class(calibrated_scores)[None]
    return _first_repeat_losses(
        costs, replace(rows, predicted=predicted, scores=(calibrated_scores,), has_posteriors=True)
    )


def null_model_losses(costs: Floats | None, log_prior: Floats, rows: FoldedRows) -> dict[str, Floats]:
    """Compute the losses of the null model, whose posteriors are the prior.

    Parameters
    ----------
    costs : (K, K) float or None
        Cost of assigning a row of one of K classes (row) to another (column).
    log_prior : (K,) float
        Logarithms of the prior.
    rows : FoldedRows
        The rows, whose predictions and scores are replaced in a copy.

    Returns
    -------
    dict of str to (m,) float
        Losses of the m evaluated rows: "error", "log_loss", "brier" and, if `costs` are passed, "costs".
    """
    codes = np.full(rows.predicted.shape, int(np.argmax(log_prior)))
    scores = np.tile(log_prior, (len(rows.is_evaluated), 1))
    null_rows = replace(rows, predicted=codes, scores=(scores,), has_posteriors=True)
    return _first_repeat_losses(costs, null_rows)[0]


def evaluate_within_time(
    evaluator: CandidateEvaluator, candidates: Sequence[Candidate], seconds: float | None
) -> tuple[list[EvaluatedCandidate], dict[str, Refusal]]:
    """Evaluate candidates in order until the time limit is reached.

    Parameters
    ----------
    evaluator : CandidateEvaluator
    candidates : sequence of Candidate
        In the order of simplicity.
    seconds : float or None
        Time after which a candidate is interrupted and no further one is begun, once one has losses; None for
        no limit.

    Returns
    -------
    list of EvaluatedCandidate
        Candidates with losses, each followed by its calibrated form if the evaluator calibrates. A candidate
        without the loss `by` has a calibrated form only.
    dict of str to Refusal
        Reasons why others lack losses, by name.

    Raises
    ------
    DataError
        No candidate predicts any row.
    """
    evaluated: list[EvaluatedCandidate] = []
    refused: dict[str, Refusal] = {}
    start = monotonic()
    with Progress(len(candidates), "candidates") as progress:
        for candidate in candidates:
            name = candidate.name
            limit = np.inf if seconds is None or not evaluated else start + seconds
            is_late = monotonic() > limit
            try:
                with time_limit(limit):
                    refresh_progress()
                    candidate_losses = evaluator.evaluate(candidate, limit)
                    if evaluator.by in candidate_losses.losses:
                        evaluated.append(candidate_losses)
                    else:
                        refused[name] = Refusal(
                            "failed", 'It has no posteriors. Pass by="error" or calibrate=True.'
                        )
                    # Verbs that calibrate their posteriors themselves are not calibrated again.
                    if (
                        evaluator.calibrate
                        and "calibrate" not in inspect.signature(candidate.verb).parameters
                    ):
                        name += CALIBRATED_SUFFIX
                        evaluated.append(evaluator.evaluate_calibrated(candidate_losses))
            except DiscrimError as error:
                refused[name] = Refusal("failed", str(error))
            except TimeLimitReached:
                limit_text = f"the limit of {seconds:g} seconds"
                message = f"It was interrupted at {limit_text}. Increase seconds=."
                if is_late:
                    message = f"{limit_text.capitalize()} was reached before it began. Increase seconds=."
                refused[name] = Refusal("no time", message)
            progress(1)
    return _keep_complete(evaluated, refused), refused


def _keep_complete(
    evaluated: list[EvaluatedCandidate], refused: dict[str, Refusal]
) -> list[EvaluatedCandidate]:
    """Return the candidates that predict all rows that some candidate predicts; add the others to `refused`.

    A row with a level that occurs only in its own fold is not predicted by any candidate. If no row is
    predicted, raise a DataError.

    Parameters
    ----------
    evaluated : list of EvaluatedCandidate
    refused : dict of str to Refusal
        Changed in place.

    Returns
    -------
    list of EvaluatedCandidate
        In the order of `evaluated`.
    """
    label_masks = [candidate.validation._is_evaluated for candidate in evaluated]
    largest_mask = max(label_masks, key=np.count_nonzero, default=np.array([], dtype=bool))
    if evaluated and not largest_mask.any():
        message, hint = no_label_reason(evaluated[0].fit._fit, "candidates fitted without its fold")
        raise DataError(message, hint=hint)
    complete = []
    for candidate, is_labelled in zip(evaluated, label_masks, strict=True):
        n_unlabelled = int((largest_mask & ~is_labelled).sum())
        if n_unlabelled:
            refused[candidate.name] = Refusal(
                "failed",
                f"{n_unlabelled} rows have probability zero in every class by the fit without their fold, "
                "so they are not predicted. Leave the candidate out.",
            )
        else:
            complete.append(candidate)
    return complete
