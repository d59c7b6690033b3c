"""The verb `choose`, which selects a model for a table by cross-validated loss.

It tries the candidates of `discrim.models.selection.candidates` on the same folds. The results contain the
fit of the chosen model, the losses of all candidates, and the loss of the whole procedure on new rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal
from warnings import warn_explicit

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.data.table import select_rows
from discrim.data.values import format_value
from discrim.design.levels import Unseen
from discrim.design.rows import read_rows
from discrim.errors import DataError, UninformativeFitWarning, warn_user
from discrim.inference.calibration import mean_loss_interval
from discrim.inference.error_rates import check_level
from discrim.inference.model_choice import (
    ComparedLosses,
    CorrectedLosses,
    Select,
    bias_corrected_losses,
    compare_losses,
)
from discrim.inference.resampling import seed_or_random
from discrim.models.base import reading
from discrim.models.base.display import format_count, with_display_formats
from discrim.models.base.fit import FittedModel, MissingPolicy, Selection
from discrim.models.base.reading import (
    Data,
    NaAction,
    Prior,
    check_flag,
    check_integer,
    check_number,
    check_word,
    is_wide,
    join_labels,
    usable_rows,
)
from discrim.models.base.scores import Decision, cost_matrix, predict_codes
from discrim.models.evaluation.calibrated import posterior_rule
from discrim.models.plots.plottable import PlotOptions, draw_plot, plot
from discrim.models.results.new_rows import predict_by_chunks
from discrim.models.selection import term_choice
from discrim.models.selection.candidates import (
    MEASURES,
    By,
    CandidateEvaluator,
    EvaluatedCandidate,
    Refusal,
    default_candidates,
    evaluate_within_time,
    null_model_losses,
    read_candidates,
    table_shape,
)
from discrim.models.selection.cross_validation import warn_unlabelled
from discrim.models.selection.repeated_choice import RepeatedChoice
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.plots.evaluation import draw_candidates
from discrim.report.tables import summarize

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults
    from discrim.report.plots.style import Axes
    from discrim.report.tables import Summary

LOSS_NAMES = {"log_loss": "log loss", "error": "error rate", "brier": "Brier score", "costs": "mean cost"}
"""Names of the mean losses in text, by the values of `by`."""

N_REPLICATES = 500
"""Number of bootstrap samples that correct the loss of the chosen model for the choice."""


@reading.with_public_errors
def choose(
    formula: str,
    data: Data,
    *,
    by: By = "log_loss",
    candidates: Any = None,
    select: Select = "1se",
    folds: int = 10,
    groups: Any = None,
    seconds: float | None = None,
    costs: Any = None,
    calibrate: bool = True,
    seed: int | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> ChooseResults:
    """Choose a model by its loss on observations that it was not fitted to.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that can be read more than once; see the page on shared arguments.
    by : {"log_loss", "error", "costs", "brier"}
        Loss of a row: minus the log posterior of its class; 1 for a wrong prediction; the cost of the
        prediction with the smallest expected cost; or the Brier score.
    candidates : sequence or dict, optional
        The models to try, the simplest first: names of verbs or verbs, or a dict of names, each with a verb
        or with a pair of a verb and a dict of its options. By default the verbs of the package that suit the
        table, each with the usual choice of its options (see Notes).
    select : {"1se", "min"}
        "1se" chooses the simplest candidate whose loss is within one standard error of the smallest, "min"
        the one of smallest loss.
    folds : int
        Number of folds. All candidates use the same folds, and repeat their own choices without each fold.
    groups : column name or vector of length n, optional
        Groups whose rows remain in one fold, such as the observations of one patient.
    seconds : float, optional
        Limit of the time. A candidate that reaches it is interrupted and left out, like one whose first fit
        shows that the fits without each fold would take longer; the first that can be tried always is
        finished. The choice then depends on the machine.
    costs : DataFrame or (K, K) array, optional
        Cost of assigning an observation of one class (row) to another (column). It is required with
        by="costs", and only allowed with it.
    calibrate : bool
        Whether each candidate is tried with calibrated posteriors too, as "lda, calibrated", right after it.
        Posteriors of `kernel_lda` are calibrated in any case.
    seed : int, optional
        Seed of the assignment of rows to folds, and of verbs with a seed. By default one is drawn and stored.
    prior : optional
        Prior of every candidate. None, or "proportional", stands for the class proportions, "equal" for
        equal ones; else a number for each class, by name (dict, Series) or in the order of the levels.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    ChooseResults
        Its `fit` is the chosen model on all rows.

    Raises
    ------
    DataError
        A criterion, candidate or number cannot be used; costs are missing for by="costs"; or no candidate
        can be tried.

    Warns
    -----
    DiscrimWarning
        Warnings of the chosen verb; warnings of other candidates are not shown. Also if every candidate has a
        larger loss than the class proportions alone.

    Notes
    -----
    The candidates stand in an order of simplicity: linear rules (`lda`, `logistic`), linear rules that choose
    an option by folds (`pls`, `sparse_lda`, `shrunken_centroids`, a ridge), quadratic rules (`naive_bayes`,
    `qda`, `rda`), and flexible rules (`mixture`, `knn`, `kernel_lda`, `kernel_density`). Which
    are tried depends on the numbers of rows, columns and classes alone; `refused` lists the reasons for
    leaving out the others.

    The posteriors of a fold are calibrated on the held-out scores of the rows of all other folds, and the
    posteriors of the fit on the held-out scores of all rows. `predict_proba` of the result returns the kind
    of posteriors that was chosen; calibrated ones equal ``fit.predict_proba(method="calibrated")``.

    Losses are compared row by row. The standard error of a mean difference assumes independent rows, or
    groups, and is conditional on the fits: it ignores that another sample would have other fits. The rule of
    one standard error is due to Breiman, Friedman, Olshen & Stone (1984); a candidate with a larger loss than
    the class proportions alone is not chosen if another has a smaller one.

    The smallest of several losses is optimistic, because it was chosen. `corrected` estimates the loss of the
    choice by the bootstrap of Tsamardinos, Greasidou & Borboudakis (2018, Machine Learning 107, 1895-1922):
    rows are drawn with replacement, the model is chosen by the losses of the rows drawn, and evaluated by the
    losses of the others. This does not require any fit. `error_rates`, `assess` and `cross_validate` of the
    result repeat the choice and its fit without each fold, which needs the time of so many choices.

    Examples
    --------
    >>> from discrim import choose
    >>> from discrim.datasets import load_iris
    >>> three = ["lda", "qda", "naive_bayes"]
    >>> found = choose("species ~ .", load_iris(), candidates=three, calibrate=False, seed=1)
    >>> found.chosen
    'lda'
    >>> found.table[["log_loss", "difference", "se_difference"]].round(3)
                 log_loss  difference  se_difference
    candidate
    lda             0.049       0.000          0.000
    qda             0.054       0.005          0.009
    naive_bayes     0.130       0.080          0.043
    """
    check_word("by", by, By)
    check_word("select", select, Select)
    check_flag("calibrate", calibrate)
    check_integer("folds", folds, 2, description="a number of folds")
    if seconds is not None:
        check_number("seconds", seconds, 0, ends="()", description="a number of seconds", also=", or None")
    if (by == "costs") != (costs is not None):
        raise DataError('costs= and by="costs" require each other.', hint="Pass both, or neither.")
    seed = seed_or_random(seed)
    user_candidates = None if candidates is None else read_candidates(candidates)
    design_rows = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    design_rows, moments = usable_rows(design_rows, "thin" if is_wide(design_rows) else "pooled", na_action)
    design = design_rows.design
    cost_table = cost_matrix(costs, pd.Index(design.levels))
    arguments: dict[str, Any] = {"levels": levels, "na_action": na_action, "functions": functions}
    # Not every verb has weights, or a prior.
    arguments |= {} if weights is None else {"weights": weights}
    arguments |= {} if prior is None else {"prior": prior}
    suited, refused = (
        default_candidates(table_shape(design_rows, moments.rows))
        if user_candidates is None
        else (user_candidates, {})
    )
    evaluator = CandidateEvaluator(
        formula, data, arguments, by, cost_table, int(folds), groups, seed, calibrate
    )
    evaluated, failed = evaluate_within_time(evaluator, suited, seconds)
    refused |= failed
    if not evaluated:
        # The error of a candidate that failed is more informative than "not suited".
        shown_name = min(refused, key=lambda name: refused[name].reason != "failed")
        raise DataError(
            f"No candidate can be evaluated. Reason for {format_value(shown_name)}: "
            f"{refused[shown_name].why}",
            hint="Pass other candidates=.",
        )
    options = {"by": by, "candidates": candidates, "select": select, "folds": folds, "seconds": seconds}
    options |= {"costs": costs, "calibrate": calibrate, "seed": seed, "prior": prior, "functions": functions}
    choose_on_rows = partial(
        _choose_on_rows,
        formula,
        design_rows.table.data,
        weights,
        groups,
        options | {"levels": list(design.levels)},
    )
    return ChooseResults(evaluator, evaluated, refused, select, choose_on_rows)


def _choose_on_rows(
    formula: str, data: Any, weights: Any, groups: Any, options: dict[str, Any], rows: Codes
) -> ChooseResults:
    """Run `choose` with the same arguments on some rows of a table.

    Parameters
    ----------
    formula : str
    data : table
    weights, groups : column name, (n,) array or None
    options : dict
        Other arguments of `choose`.
    rows : (m,) int
        Positions of these m rows among the n of the table.

    Returns
    -------
    ChooseResults
        The choice among the same candidates with the same seed, for these rows only.
    """
    vectors = {"weights": weights, "groups": groups}
    for name, vector in vectors.items():
        if vector is not None and not isinstance(vector, str):
            vectors[name] = np.asarray(vector)[rows]
    return choose(formula, select_rows(data, rows), **vectors, **options)


class ChooseResults(RepeatedChoice):
    """A model chosen from several candidates, and its fit.

    Attributes
    ----------
    formula : str
    by : str
        Loss that was minimized.
    chosen : str
        Name of the chosen candidate.
    method : {"plugin", "calibrated"}
        Method of the chosen posteriors: the `method` of ``fit.predict_proba``.
    fit : fitted object
        Fit of the chosen model to all rows.
    table : DataFrame by candidate
        Candidates with losses, the smallest loss first. The columns are the mean loss `by` on rows outside
        their folds, under its name, and its standard error `se`; `difference` from the smallest loss, and
        `se_difference`; the other mean losses that all candidates have; `simplicity`, the rank from 1 for
        the simplest; and `seconds`.
    refused : DataFrame by candidate
        Candidates without losses: `reason` ("not suited", "failed" or "no time") and `why`, an explanation.
    validations : dict of str to CrossValidation
        The cross-validation of each candidate on the same folds.
    seed : int
        The seed that makes the same choice again.
    select : {"1se", "min"}
        Rule of the choice.
    """

    def __init__(
        self,
        evaluator: CandidateEvaluator,
        evaluated: Sequence[EvaluatedCandidate],
        refused: Mapping[str, Refusal],
        select: Select,
        choose_on_rows: Callable[[Codes], ChooseResults],
    ) -> None:
        """Choose a candidate by its losses, and issue the warnings of its fit.

        Parameters
        ----------
        evaluator : CandidateEvaluator
            Options that all candidates share.
        evaluated : sequence of EvaluatedCandidate
            Candidates with losses, the simplest first.
        refused : mapping of str to Refusal
            Other candidates.
        select : {"1se", "min"}
        choose_on_rows : callable
            Function from positions of rows to the result of the same choice on these rows.
        """
        self.formula = evaluator.formula
        self.by = evaluator.by
        self.seed = evaluator.seed
        self.select = select
        # Do not store `evaluator`: it contains the table, which fits leave out when they are pickled.
        self._folds = evaluator.folds
        self._costs = evaluator.costs
        self._has_groups = evaluator.groups is not None
        self._evaluated = evaluated
        self._evaluated_rows = evaluated[0].validation._evaluated_rows()
        self._refused = dict(refused)
        self._comparison: ComparedLosses = compare_losses(
            self._losses(evaluator.by), self._evaluated_rows, select, self._null_losses[evaluator.by]
        )
        chosen = evaluated[self._comparison.chosen]
        self.chosen = chosen.name
        self.method = chosen.method
        self.validations = {candidate.name: candidate.validation for candidate in evaluated}
        warn_unlabelled(chosen.validation)
        if self._comparison.worse_than_prior:
            warn_user(
                f"Every candidate has a larger {LOSS_NAMES[self.by]} than the null model of class "
                f"proportions. The chosen model, {self.chosen}, does not predict better than without "
                "predictors. See "
                "corrected(), and use other predictors, more observations or other candidates=.",
                UninformativeFitWarning,
            )
        for candidate in chosen.warnings:
            warn_explicit(candidate.message, candidate.category, candidate.filename, candidate.lineno)
        description = f"choose by {evaluator.by}, of {len(evaluated)} models"
        selection = Selection("model", description)
        fitted: FittedModel[Any] = chosen.fit._fit
        repeated_choice = term_choice.repeat_choice_by_calls(
            fitted, fitted.require_rows("choose()"), choose_on_rows, selection.choice_description
        )
        chosen.fit._fit = replace(fitted, selection=replace(selection, unselected_fit=repeated_choice))
        self._fit = chosen.fit

    def _losses(self, measure: str) -> Floats:
        """Return the losses (C, m) of the C candidates on the m cross-validated rows.

        The candidates are in the order of simplicity. Rows of weight zero have loss 0, because an infinite
        loss times zero would be missing.

        Parameters
        ----------
        measure : {"log_loss", "error", "brier", "costs"}
        """
        losses = np.stack([candidate.losses[measure] for candidate in self._evaluated])
        return np.where(self._evaluated_rows.row_weights() > 0, losses, 0.0)

    @cached_property
    def _null_losses(self) -> dict[str, Floats]:
        """Losses (m,) of the null model, whose posteriors are the prior.

        The keys are "error", "log_loss", "brier" and, with costs, "costs".

        The m rows are the cross-validated rows of the candidates; rows of weight zero have loss 0.
        """
        first = self._evaluated[0]
        with np.errstate(divide="ignore"):
            log_prior = np.log(first.fit._fit.prior_values())
        losses = first.validation._folded_rows.apply(partial(null_model_losses, self._costs, log_prior))
        return {
            name: np.where(self._evaluated_rows.row_weights() > 0, values, 0.0)
            for name, values in losses.items()
        }

    def _shared_measures(self) -> list[str]:
        """Return the names of the losses that every candidate has, first the loss that was minimized."""
        shared = set.intersection(*(set(candidate.losses) for candidate in self._evaluated))
        return [self.by, *(name for name in MEASURES.values() if name in shared and name != self.by)]

    @property
    def fit(self) -> ClassifierResults:
        """The fit of the chosen model to all rows."""
        return self._fit

    def predict_proba(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.DataFrame:
        """Posteriors of the chosen kind by the chosen fit.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        DataFrame
            Rows by classes; NaN for rows with a missing value.
        """
        return self._fit.predict_proba(data, method=self.method, unseen=unseen)

    def predict(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.Series:
        """The class of largest posterior, or of smallest expected cost for by="costs".

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        Series
            Labels in the index of the rows; missing for rows with a missing value.

        Examples
        --------
        >>> from discrim import choose
        >>> from discrim.datasets import load_iris
        >>> found = choose("species ~ .", load_iris(), candidates=["lda", "qda"], seed=1)
        >>> found.predict(load_iris().iloc[[0, 70, 133]]).tolist()
        ['setosa', 'virginica', 'versicolor']
        """
        rule = posterior_rule(self._fit._fit, "predict()", None, self.method, None)
        decision = Decision(self._costs)

        def labels(results: ClassifierResults, rows: Any) -> pd.Series:
            """Return the predicted labels of `rows`, a table or chunk, in the dtype of the response.

            The rule and the costs of the outer function are used; `results` has the design and the classes.
            """
            fit = results._fit
            design_rows = fit.new_rows(rows, MissingPolicy(unseen))
            return fit.to_labels(
                predict_codes(design_rows, rule, len(fit.classes), decision), design_rows.table.index
            )

        return predict_by_chunks(self._fit, data, None, labels)

    @property
    @with_display_formats(every="share", simplicity="count", seconds="general")
    def table(self) -> pd.DataFrame:
        """The candidates by increasing loss.

        Columns are the mean loss, named by `by`, se, difference, se_difference, other mean losses that all
        candidates have, simplicity (1 for the simplest) and seconds.
        """
        comparison = self._comparison
        columns: dict[str, Any] = {
            self.by: comparison.means,
            "se": comparison.errors,
            "difference": comparison.differences,
            "se_difference": comparison.difference_errors,
        }
        row_weights = self._evaluated_rows.row_weights()
        for measure in self._shared_measures()[1:]:
            columns[measure] = self._losses(measure) @ row_weights / row_weights.sum()
        columns["simplicity"] = np.arange(1, len(self._evaluated) + 1)
        columns["seconds"] = [candidate.seconds for candidate in self._evaluated]
        names = pd.Index([candidate.name for candidate in self._evaluated], name="candidate")
        return pd.DataFrame(columns, index=names).sort_values(self.by, kind="stable")

    @property
    @with_display_formats()
    def refused(self) -> pd.DataFrame:
        """Candidates without losses: `reason` ("not suited", "failed" or "no time") and `why`, by name."""
        columns = list(Refusal._fields)
        table = pd.DataFrame.from_dict(self._refused, orient="index", columns=columns, dtype=object)
        return table.rename_axis("candidate")

    @cached_property
    def _corrected(self) -> CorrectedLosses:
        """Losses of the choice in `N_REPLICATES` bootstrap samples, in the order of `_shared_measures`."""
        losses = np.stack([self._losses(measure) for measure in self._shared_measures()])
        null_losses = self._null_losses[self.by]
        return bias_corrected_losses(
            losses, 0, self._evaluated_rows, self.select, N_REPLICATES, self.seed, null_losses
        )

    @with_display_formats(every="share")
    def corrected(self, level: float = 0.95) -> pd.DataFrame:
        """Loss of the choice on new rows, corrected for the choice by bootstrap samples of the rows.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by measure
            chosen: the mean loss of the chosen model on rows outside their folds, which is too small, because
            it was chosen by it; corrected: the loss of the choice; low, high: an interval for independent
            rows, or groups, conditional on the fits; nothing: the loss of the null model, which predicts the
            prior for each row.

        Notes
        -----
        The interval contains the quantiles of the draws and an interval of the chosen model's losses: for the
        error the exact one (Clopper and Pearson), for other losses a log-normal one whose upper limit allows
        for errors that did not occur, the mean loss of rows if they were wrong times the exact upper limit
        of zero errors. In simulations with true error rates from 0.5 to 16 percent and 20 to 200 rows,
        intervals at 95 percent contained the error and the log loss in 97 to 100 percent of samples, with one
        candidate and with five. No interval of an unbounded loss has its level for every distribution: the
        interval of the log loss assumes that a prediction is not more likely to be wrong the larger its
        posterior.

        Examples
        --------
        >>> from discrim import choose
        >>> from discrim.datasets import load_iris
        >>> found = choose("species ~ .", load_iris(), candidates=["lda", "qda"], seed=1)
        >>> found.corrected()[["chosen", "corrected", "nothing"]].round(3).loc["log_loss"].to_dict()
        {'chosen': 0.049, 'corrected': 0.051, 'nothing': 1.099}
        """
        check_level(level)
        measures = self._shared_measures()
        row_weights = self._evaluated_rows.row_weights()
        position = self._comparison.chosen
        chosen = self._evaluated[position]
        rates = [
            mean_loss_interval(
                self._losses(name)[position],
                self._evaluated_rows,
                level,
                is_zero_one=name == "error",
                losses_if_wrong=chosen.losses_if_wrong[name],
            )
            for name in measures
        ]
        low, high = self._corrected.interval(level, rates)
        largest = [1.0 if name == "error" else np.inf for name in measures]
        columns = {
            "chosen": [rate[0] for rate in rates],
            "corrected": self._corrected.means(),
            "low": low,
            "high": np.minimum(high, largest),
            "nothing": [self._null_losses[name] @ row_weights / row_weights.sum() for name in measures],
        }
        return pd.DataFrame(columns, index=pd.Index(measures, name="measure"))

    # ---- shown

    def plot(
        self,
        kind: Literal["candidates"] | None = None,
        ax: Axes | None = None,
        *,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Draw the loss of each candidate minus the smallest loss, with one standard error of the difference.

        Parameters
        ----------
        kind : {"candidates"}, optional
            The candidates are the only kind.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Examples
        --------
        >>> from discrim import choose
        >>> from discrim.datasets import load_iris
        >>> choose("species ~ .", load_iris(), candidates=["lda", "qda"], seed=1).plot().get_xlabel()
        'Log loss minus the smallest, ± one standard error'
        """
        return draw_plot((self,), CHOICE_PLOTS, kind, PlotOptions(ax, colors=colors, title=title))

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The choice as a summary, which prints as text and is shown as tables in notebooks.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order, or "all"; by default all. The keys are "header",
            "candidates", "corrected" and, if there are candidates without losses, "refused".
        """
        section_builders: dict[str, Callable[[], Section | Pairs]] = {
            "header": self._header_section,
            "candidates": self._candidates_section,
            "corrected": self._corrected_section,
        }
        if self._refused:
            section_builders["refused"] = self._refused_section
        return summarize(
            f"Choice of a model by {LOSS_NAMES[self.by]}: {self.formula}", section_builders, sections
        )

    def _header_section(self) -> Pairs:
        """Return the header of the summary: the choice and its rule, numbers of rows, and the folds."""
        fit = self._fit._fit
        validation = self.validations[self.chosen]
        rule = "the simplest within one standard error" if self.select == "1se" else "the smallest loss"
        items: list[HeaderItem] = [
            HeaderItem("Chosen", self.chosen),
            HeaderItem("Rule", self.select, rule),
            HeaderItem(
                "Rows",
                float(self._evaluated_rows.weights.sum()),
                format_count(self._evaluated_rows.weights.sum()),
            ),
            HeaderItem("Dropped, missing values", fit.dropped),
            HeaderItem("Rows without a label", validation.unlabelled),
            HeaderItem("Variables", len(fit.terms)),
            HeaderItem("Classes", len(fit.classes)),
            HeaderItem("Folds", self._folds),
            HeaderItem("Seed", self.seed),
        ]
        return Pairs(self.formula, items)

    def _candidates_section(self) -> Section:
        """Return the section of the held-out losses of the candidates."""
        table = self.table.drop(columns=["se", "seconds"]).rename_axis(None)
        formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"simplicity": "count"}
        return Section(
            "Losses of held-out observations",
            table,
            formats,
            headings={"se_difference": "its se", "log_loss": "log loss"},
            note=(
                "The standard error of a difference assumes independent observations"
                f"{' of different groups' if self._has_groups else ''} and ignores that the fits "
                f"vary. Chosen: {self.chosen}, whose fit to all rows is .fit."
            ),
            source=".table",
        )

    def _corrected_section(self) -> Section:
        """Return the section of the losses corrected for the choice."""
        return Section(
            "Losses of the choice",
            self.corrected().rename_axis(None),
            "share",
            headings=SHARED_HEADINGS,
            note=(
                f"corrected: in each of {N_REPLICATES} bootstrap samples a model is chosen by the sampled "
                "rows and evaluated on the other rows. The loss of the chosen model itself is too small, "
                "because the model was chosen by it. The intervals allow for errors that did not occur in "
                "these rows. nothing: the loss of the prior alone, without "
                f"predictors.{self._infinite_loss_note()}"
            ),
            source=".corrected()",
        )

    def _infinite_loss_note(self) -> str:
        """Return " " and the sentence on candidates of infinite loss; empty if none or all have one."""
        names = [
            candidate.name
            for candidate, mean in zip(self._evaluated, self._comparison.means, strict=True)
            if mean == np.inf
        ]
        if not names or len(names) == len(self._evaluated):
            return ""
        return (
            f" No sample chooses {join_labels(names)}, whose loss is infinite, because it gives the class "
            "of some observation probability zero."
        )

    def _refused_section(self) -> Section:
        """Return the section of the candidates that could not be compared, with reasons."""
        table = self.refused[["reason"]].rename_axis(None)
        # Messages may have several lines, for example if they point into a formula.
        explanations = " ".join(
            f"{name}: {' '.join(refusal.why.split())}" for name, refusal in self._refused.items()
        )
        return Section("Not compared", table, {"reason": "text"}, note=explanations, source=".refused")


@plot("candidates", "loss of each candidate minus the smallest loss, with one standard error", data=False)
def candidates_plot(results: Any, options: PlotOptions) -> Axes:
    """Draw the loss of each candidate minus the smallest loss, with a standard error of the difference."""
    table = results.table
    name = LOSS_NAMES[results.by]
    table["text"] = [f"{value:.3g}" for value in table[results.by]]
    names = (
        f"{name[0].upper()}{name[1:]} minus the smallest, ± one standard error",
        f"Candidates by {name}",
    )
    return draw_candidates(table, results.chosen, names, ax=options.ax, signs=options.signs([results.chosen]))


CHOICE_PLOTS = (candidates_plot,)
