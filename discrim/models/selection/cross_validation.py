"""The verb `cross_validate`, which predicts every row by a rule fitted without the fold of the row.

All models use the same folds for the same rows, which makes their errors comparable. The result is a
`CrossValidation` with a summary and plots; `discrim.models.selection.comparison` compares two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats, Mask
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import best_class, log_posteriors, posteriors
from discrim.data.table import select_rows
from discrim.data.values import format_value
from discrim.design.matrix import response_codes
from discrim.design.rows import used_codes
from discrim.errors import DataError, MissingPredictionWarning, NotSupportedError, warn_user
from discrim.inference.calibration import EvaluatedRows, fold_means, mean_loss_interval, second_best_classes
from discrim.inference.error_rates import check_level, confusion_table
from discrim.inference.resampling import fold_mean_standard_errors, seed_or_random
from discrim.models.base.display import SummarizedResults, format_count, with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.labels import codes_to_labels
from discrim.models.base.reading import check_flag, check_integer, is_number, with_public_errors
from discrim.models.evaluation import permuted
from discrim.models.evaluation.absent_classes import absent_class_mask, absent_classes_note
from discrim.models.evaluation.assessment import row_weights
from discrim.models.evaluation.validation import (
    counts_outside_folds,
    distributed_fold_scores,
    find_unbalanced_fold,
    refit_prior_source,
)
from discrim.models.plots.plottable import PlotOptions, draw_plot
from discrim.models.registry import BY_VERB, FOLD_PLOTS, resolve
from discrim.models.selection.comparable import HasFit, require_fits, require_rows, resolve_verb
from discrim.models.selection.term_choice import RefitsByCalls
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.models.evaluation.permuted import Permutations
    from discrim.models.results.results import ClassifierResults
    from discrim.report.plots.style import Axes

COLUMN_BY_MEASURE = {"error": "error", "log loss": "log_loss", "Brier": "brier"}
"""Columns of the measures in the table by fold."""


@dataclass(frozen=True, slots=True, eq=False)
class FoldedRows:
    """Classes, folds and scores of n rows in a cross-validation with R repeats and K classes.

    If worker processes computed the scores, the scores stay there (see `StoredValue`). A `FoldedRows` is
    then sent to the worker process and computes the losses, so that the scores are not copied.

    Attributes
    ----------
    is_evaluated : (n,) bool
        The m rows that have a class and a prediction in each repeat, and count in the losses.
    evaluated : EvaluatedRows
        Classes and weights of these m rows.
    predicted : (R, n) int
        Positions of the predicted classes; -1 for a row without a prediction.
    fold_ids : (R, n) int
        Positions of the folds; -1 for a row that the fit does not use.
    n_folds : int
        Number F of folds.
    has_posteriors : bool
        Whether the posteriors are the softmax of the scores.
    scores : R arrays (n, K) of float
        Scores of each repeat by rules fitted without the fold of the row.
    """

    is_evaluated: Mask
    evaluated: EvaluatedRows
    predicted: Codes
    fold_ids: Codes
    n_folds: int
    has_posteriors: bool
    scores: tuple[Floats, ...] = ()

    def with_scores(self, *scores: Floats) -> FoldedRows:
        """Return a copy with scores, classes of type intp and weights of type float64.

        Classes and weights are sent to worker processes in shorter types.

        Parameters
        ----------
        *scores : (n, K) float
            Scores of each repeat.

        Returns
        -------
        FoldedRows
            The other attributes are unchanged.
        """
        codes = self.evaluated.codes.astype(np.intp)
        weights = self.evaluated.weights.astype(np.float64)
        return replace(self, evaluated=replace(self.evaluated, codes=codes, weights=weights), scores=scores)

    def losses(self) -> dict[str, Floats]:
        """Compute the losses of each row in each repeat.

        Returns
        -------
        dict of str to (R, m) float
            "error" is 1 for a wrong prediction and 0 otherwise. Models with posteriors also have "log loss",
            minus the log posterior of the actual class, and "Brier", the sum over classes of squared
            differences between posterior and indicator of the actual class.
        """
        is_evaluated = self.is_evaluated
        actual = self.evaluated.codes
        losses = {"error": (self.predicted[:, is_evaluated] != actual).astype(np.float64)}
        if not self.has_posteriors:
            return losses
        class_indicators = np.eye(self.evaluated.n_classes)[actual]
        rows = np.arange(len(actual))
        evaluated_scores = [row_scores[is_evaluated] for row_scores in self.scores]
        losses["log loss"] = np.stack(
            [-log_posteriors(row_scores)[rows, actual] for row_scores in evaluated_scores]
        )
        losses["Brier"] = np.stack(
            [
                ((posteriors(row_scores) - class_indicators) ** 2).sum(axis=1)
                for row_scores in evaluated_scores
            ]
        )
        return losses

    def losses_if_wrong(self) -> dict[str, Floats]:
        """Compute the losses of each row in each repeat if it were misclassified.

        Its class is then the one with the second largest posterior.

        Returns
        -------
        dict of str to (R, m) float
            Losses by measure, with the same names as in `losses`; the error is 1 for all rows.
        """
        losses = {"error": np.ones((len(self.predicted), len(self.evaluated.codes)))}
        if not self.has_posteriors:
            return losses
        relabelled = [
            replace(
                self,
                evaluated=replace(self.evaluated, codes=second_best_classes(scores[self.is_evaluated])),
                scores=(scores,),
            )
            for scores in self.scores
        ]
        losses_by_repeat = [rows.losses() for rows in relabelled]
        return losses | {
            name: np.stack([repeat_losses[name][0] for repeat_losses in losses_by_repeat])
            for name in ("log loss", "Brier")
        }

    def means_by_fold(self) -> list[dict[str, NDArray[Any]]]:
        """Compute the number of rows, the number of wrong rows and the mean losses of each fold.

        Returns
        -------
        list of dict of str to (F,) array
            One dict of columns for each repeat: "rows" and "wrong" (sums of weights), and the mean losses
            "error" and, for models with posteriors, "log_loss" and "brier". The means of a fold without
            evaluated rows are NaN.
        """
        weights = self.evaluated.weights
        row_weights = self.evaluated.row_weights()
        tables = []
        losses = self.losses()
        for r, repeat_fold_ids in enumerate(self.fold_ids):
            fold_ids = repeat_fold_ids[self.is_evaluated]
            wrong = losses["error"][r]
            columns: dict[str, NDArray[Any]] = {"rows": np.bincount(fold_ids, weights, self.n_folds)}
            columns["wrong"] = np.bincount(fold_ids, weights * wrong, self.n_folds)
            for name, loss in losses.items():
                columns[COLUMN_BY_MEASURE[name]] = fold_means(loss[r], row_weights, fold_ids, self.n_folds)
            tables.append(columns)
        return tables

    def mean_losses(self, level: float) -> dict[str, tuple[float, float, float, float]]:
        """Compute mean losses over rows and repeats, with standard errors and confidence intervals.

        Parameters
        ----------
        level : float
            Level of the intervals.

        Returns
        -------
        dict of str to tuple of four floats
            Estimate, standard error and limits of each measure, by the names of `losses`.
        """
        if_wrong = self.losses_if_wrong()
        return {
            name: mean_loss_interval(
                losses.mean(axis=0),
                self.evaluated,
                level,
                is_zero_one=name == "error",
                losses_if_wrong=if_wrong[name].mean(axis=0),
            )
            for name, losses in self.losses().items()
        }


class CrossValidation(SummarizedResults):
    """Labels, posteriors and errors of a fit by cross-validation.

    Attributes
    ----------
    folds : DataFrame, rows by repeats
        Label of the fold of each row, counted from 1 unless the user passed folds; missing if the fit does
        not use the row.
    labels : DataFrame, rows by repeats
        Class that the rule fitted without the row's fold predicts for the row.
    by_fold : DataFrame by (repeat, fold)
        rows, wrong, error; for models with posteriors also log_loss and brier.
    by_class : DataFrame by class
        rows, wrong (the mean over repeats), error; and se, low, high as in `table`, at 95 percent.
    confusion : DataFrame, actual by predicted
        Counts or sums of weights, averaged over repeats.
    unlabelled : int
        Number of rows that the fit uses but that lack a predicted label in some repeat. They are excluded
        from all error rates.
    seed : int or None
        The seed that produces the same folds again; None if the user passed folds.
    nested : bool
        Whether tuning parameters and variables were chosen again without each fold.
    prior : str
        Prior of the rules without a fold: "given" by the user, class proportions of all rows ("fixed") or
        estimated without the fold ("refitted"), or the empty string if the model does not use a prior.
    permutations : Permutations or None
        The permutation test of the hit rate, if requested: `rates`, `pvalue`, `table`.
    """

    def __init__(
        self,
        fit: FittedModel[Any],
        scores: Sequence[StoredValue[Floats]],
        fold_ids: Codes,
        fold_labels: list[Any],
        clusters: Codes | None,
        *,
        seed: int | None,
        nested: bool,
        refit_prior: bool | None = None,
    ) -> None:
        """Compute predictions from the scores of each of R repeats.

        Parameters
        ----------
        fit : FittedModel
            The fitted model of K classes, with its n rows.
        scores : sequence of R stored (n, K) float
            Scores of each repeat by rules fitted without the fold of the row.
        fold_ids : (R, n) int
            Positions of the folds; -1 for a row that the fit does not use.
        fold_labels : list
            Labels of the folds, by position.
        clusters : (n,) int or None
            Group of each row, if groups of rows stay in one fold.
        seed : int or None
            Seed of the folds; None if the user passed folds.
        nested : bool
            Whether choices are made again without each fold.
        refit_prior : bool, optional
            Whether class proportions are estimated again without each fold.
        """
        design_rows = fit.require_rows("cross_validate()")
        self.seed = seed
        self.nested = nested
        self._refit_prior = refit_prior
        self.permutations: Permutations | None = None
        self.prior = refit_prior_source(fit, refit_prior)
        self._fit = fit
        self._scores = scores
        self._fold_ids = fold_ids
        self._clusters = clusters
        self._fold_labels = fold_labels
        self._index = design_rows.table.index
        self._actual = used_codes(design_rows)
        self._predicted = np.stack(
            [repeat_scores.apply(_predicted_codes).astype(np.intp) for repeat_scores in scores]
        )
        has_prediction = np.asarray((self._predicted >= 0).all(axis=0))
        self.unlabelled = int(((self._actual >= 0) & ~has_prediction).sum())
        self._is_evaluated = has_prediction & (self._actual >= 0)
        weights = row_weights(design_rows)
        self._weights = np.ones(len(has_prediction)) if weights is None else weights
        self._has_weights = weights is not None

    # ---- rows

    def _repeat_index(self) -> pd.RangeIndex:
        """Return the numbers of the repeats, from 1."""
        return pd.RangeIndex(1, len(self._fold_ids) + 1, name="repeat")

    @property
    @with_display_formats()
    def folds(self) -> pd.DataFrame:
        """Label of the fold of each row by repeat (columns, from 1); missing if the fit does not use it."""
        names = pd.Index(self._fold_labels)
        columns = [codes_to_labels(fold_ids, names, self._index) for fold_ids in self._fold_ids]
        return pd.concat(columns, axis=1).set_axis(self._repeat_index(), axis=1)

    @property
    def labels(self) -> pd.DataFrame:
        """Predicted class of each row by repeat (columns, from 1); missing if unused or not predicted."""
        columns = [self._fit.to_labels(predicted, self._index) for predicted in self._predicted]
        return pd.concat(columns, axis=1).set_axis(self._repeat_index(), axis=1)

    def posteriors(self, repeat: int = 1) -> pd.DataFrame:
        """Posteriors of the rows in a repeat, rows by classes.

        Parameters
        ----------
        repeat : int
            Which of the repeats, counted from 1.

        Returns
        -------
        DataFrame, rows by classes
            NaN for rows that the fit does not use or that lack a prediction.

        Raises
        ------
        DataError
            The number of the repeat is out of range.
        NotSupportedError
            The model does not estimate posteriors.
        """
        check_integer("repeat", repeat, 1, len(self._fold_ids), description="a number")
        self._fit.require_posteriors("posteriors()")
        proba = self._scores[repeat - 1].apply(posteriors)
        return pd.DataFrame(proba, index=self._index, columns=self._fit.classes)

    @cached_property
    def _folded_rows(self) -> StoredValue[FoldedRows]:
        """The `FoldedRows` with scores, in the process that stores the scores."""
        int_type = np.min_scalar_type(-max(len(self._fit.classes), len(self._fold_labels)))
        folds = self._fold_ids.astype(int_type)
        predicted = self._predicted.astype(int_type)
        has_posteriors = self._fit.has_posteriors
        evaluated = self._evaluated_rows()
        weights: Any = evaluated.weights if self._has_weights else evaluated.weights.astype(np.int8)
        evaluated = replace(evaluated, codes=evaluated.codes.astype(int_type), weights=weights)
        rows = FoldedRows(
            self._is_evaluated, evaluated, predicted, folds, len(self._fold_labels), has_posteriors
        )
        first, *others = self._scores
        return first.map(rows.with_scores, *others)

    @cached_property
    def _fold_means(self) -> list[dict[str, NDArray[Any]]]:
        """For each repeat the columns rows, wrong, error and, with posteriors, log_loss and brier by fold."""
        return self._folded_rows.apply(FoldedRows.means_by_fold)

    @with_display_formats(every="share")
    def class_shares(self) -> pd.DataFrame:
        """Share of each class among the rows outside each fold, by (repeat, fold).

        Rows count by their weights. If the prior is estimated again without each fold, it consists of these
        shares.
        """
        counts = np.concatenate(self._counts_outside_folds())
        labels: list[Any] = [self._repeat_index(), self._fold_labels]
        index = pd.MultiIndex.from_product(labels, names=["repeat", "fold"])
        return pd.DataFrame(
            counts / counts.sum(axis=1, keepdims=True), index=index, columns=self._fit.classes
        )

    def _counts_outside_folds(self) -> list[Floats]:
        """Return the class counts, or sums of weights, outside each fold.

        Returns
        -------
        list of R arrays (F, K) of float
            Counts of K classes outside F folds, for each of R repeats.
        """
        design_rows = self._fit.require_rows("class_shares()")
        return [
            counts_outside_folds(design_rows, fold_ids, len(self._fold_labels)) for fold_ids in self._fold_ids
        ]

    # ---- figures

    def _evaluated_rows(self) -> EvaluatedRows:
        """Return the classes, weights, prior and groups of the m rows that count in the error rates.

        The prior is None if it was estimated from the class proportions.
        """
        is_evaluated = self._is_evaluated
        fit = self._fit
        prior = None if fit.estimates.estimated_prior else fit.prior_values()
        clusters = None if self._clusters is None else self._clusters[is_evaluated]
        return EvaluatedRows(
            self._actual[is_evaluated], self._weights[is_evaluated], len(fit.classes), prior, clusters
        )

    @property
    @with_display_formats(every="share")
    def by_fold(self) -> pd.DataFrame:
        """Table by (repeat, fold): rows, wrong (sums of weights), error; with posteriors log_loss, brier."""
        table = pd.concat([pd.DataFrame(fold_means) for fold_means in self._fold_means])
        if not self._has_weights:
            table = table.astype({"rows": np.int64, "wrong": np.int64})
        labels: list[Any] = [self._repeat_index(), self._fold_labels]
        return table.set_axis(pd.MultiIndex.from_product(labels, names=["repeat", "fold"]), axis=0)

    @property
    @with_display_formats(every="count")
    def confusion(self) -> pd.DataFrame:
        """Confusion matrix: counts of actual (rows) by predicted classes, averaged over repeats."""
        weights = self._weights if self._has_weights else None
        actual = np.where(self._is_evaluated, self._actual, -1)
        first, *others = (
            confusion_table(actual, predicted, self._fit.classes, weights) for predicted in self._predicted
        )
        return sum(others, first) / len(self._fold_ids) if others else first

    @property
    @with_display_formats(every="share")
    def by_class(self) -> pd.DataFrame:
        """Errors by class: rows, wrong (the mean over repeats), error, and se, low, high at 95 percent."""
        evaluated = self._evaluated_rows()
        is_evaluated = self._is_evaluated
        wrong = (self._predicted[:, is_evaluated] != evaluated.codes).astype(np.float64).mean(axis=0)
        rows = []
        for k in range(len(self._fit.classes)):
            in_class = evaluated.codes == k
            clusters = None if evaluated.clusters is None else evaluated.clusters[in_class]
            class_rows = EvaluatedRows(
                evaluated.codes[in_class], evaluated.weights[in_class], len(self._fit.classes), None, clusters
            )
            total = class_rows.weights.sum()
            wrong_rows = float(class_rows.weights @ wrong[in_class])
            rows.append(
                (total, wrong_rows, *mean_loss_interval(wrong[in_class], class_rows, 0.95, is_zero_one=True))
            )
        columns = ["rows", "wrong", "error", "se", "low", "high"]
        return pd.DataFrame(rows, index=self._fit.classes, columns=columns)

    @with_display_formats(every="share")
    def table(self, level: float = 0.95) -> pd.DataFrame:
        """Error, log loss and Brier score, with standard errors.

        Parameters
        ----------
        level : float
            Level of the intervals: 0.95 stands for 95 percent.

        Returns
        -------
        DataFrame by measure
            estimate: the log loss is the mean of -ln posterior, and Brier's score the mean of the sum of
            squares over classes. se, low, high assume that one rule predicted independent rows, or
            independent groups if there are groups. The interval is exact for the error, and log-normal for
            the others, with an upper limit that allows for errors that did not occur among the rows: it
            assumes that a prediction is not more likely to be wrong the larger its posterior. se_folds is
            s/sqrt(J), with the standard deviation s of the means of the J = repeats x folds folds, and is too
            small because their fits share rows. se_corrected is sqrt(1/J + n2/n1) s, with the numbers n2 of
            test rows and n1 of training rows of a fold (Nadeau & Bengio, 2003). Rates are weighted by the
            prior of the user, if any.
        """
        check_level(level)
        by_fold = self.by_fold
        rows = {}
        for name, rate in self._folded_rows.apply(partial(FoldedRows.mean_losses, level=level)).items():
            folds = by_fold[COLUMN_BY_MEASURE[name]].dropna().to_numpy()
            rows[name] = (*rate, *fold_mean_standard_errors(folds, len(self._fold_labels)))
        names = ["estimate", "se", "low", "high", "se_folds", "se_corrected"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=names)
        return table.rename_axis("measure")

    def plot(
        self,
        kind: Literal["folds", "differences", "confusion", "permutations"] | None = None,
        ax: Axes | None = None,
        *,
        other: Any = None,
        colors: Any = None,
        title: str | None = None,
    ) -> Axes:
        """Plot errors by fold, differences from another model, the confusion matrix or permuted hit rates.

        Parameters
        ----------
        kind : {"folds", "differences", "confusion", "permutations"}, optional
            "folds", the default, draws the error of each fold with the mean. "differences" draws this error
            minus the error of another model, fold by fold, with the interval of the corrected t test.
            "confusion" draws actual by predicted classes, and "permutations" the hit rates of shuffled labels
            next to the hit rate of the true labels.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default the axes of a new figure.
        other : fit or CrossValidation, optional
            The other model of "differences". A fit is cross-validated on the same folds.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title instead of the default; "" for none.

        Returns
        -------
        Axes

        Raises
        ------
        DataError
            The kind is invalid; or the other model is missing, or has other rows or folds.

        Examples
        --------
        >>> from discrim import cross_validate, lda, qda
        >>> from discrim.datasets import load_iris
        >>> found = cross_validate(lda("species ~ .", load_iris()), seed=1)
        >>> found.plot("differences", other=qda("species ~ .", load_iris())).get_xlabel()
        'Error of lda minus error of qda'
        """
        options = PlotOptions(ax, colors=colors, title=title, other=other)
        return draw_plot((self,), resolve(FOLD_PLOTS), kind, options)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """Summarize the error rates; prints as text, and displays as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order, or "all"; by default all. The keys are "header",
            "measures", "permutations" (if there is a test), "classes", "confusion" and "folds".
        """
        return cross_validation_summary(self, sections)


@with_public_errors
def cross_validate(
    fit: ClassifierResults | HasFit | Callable[..., Any] | str,
    folds: Any = 10,
    repeats: int = 1,
    groups: Any = None,
    seed: int | None = None,
    *,
    nested: bool = True,
    refit_prior: bool | None = None,
    permutations: int = 0,
    within: Any = None,
    formula: str | None = None,
    data: Any = None,
    options: Mapping[str, Any] | None = None,
) -> CrossValidation:
    """Cross-validate a fit: labels, posteriors and errors of rows under rules that did not see them.

    Parameters
    ----------
    fit : ClassifierResults, StepwiseResults, callable or str
        A fit of any verb, with its rows; a choice of columns by `discrim.stepwise`, which is made again in
        each fold; a verb, or its name, with `formula` and `data`; or a function of a table that returns a
        fit, with `data`, which is called with the rows outside each fold.
    folds : int, or column name or vector of length n
        Number of folds, or the fold of each row as a label of any kind.
    repeats : int
        How often the rows are assigned to folds.
    groups : column name or vector of length n, optional
        Groups whose rows remain in one fold, such as the observations of one patient.
    seed : int, optional
        Seed of the random assignment of rows to folds. By default one is drawn and stored as `seed` of the
        result.
    nested : bool
        Whether choices of the fit (such as alpha and gamma of `rda`, a threshold, a shrinkage by
        leave-one-out, or the columns by `stepwise`) are made again without each fold. A choice that is not
        made again has seen the rows on which it is evaluated.
    refit_prior : bool, optional
        Whether class proportions are estimated again in each fold; see the page on shared arguments.
        Proportions that are not estimated again include the rows that are left out, which matters if folds
        are uneven by class: the summary then has a note.
    permutations : int
        How often the labels are shuffled and the whole cross-validation is repeated, for a permutation test
        of the hit rate (see Notes). By default the test is omitted; 999 is usual.
    within : column name or vector of length n, optional
        Blocks within which the labels are shuffled. Unlike `groups`, they do not affect the folds.
    formula : str, optional
        Formula of a verb.
    data : table, optional
        Table of a verb or a function. For a function it has to be in memory, and its rows are the rows that
        are predicted, in their order.
    options : mapping, optional
        Arguments of a verb, by name.

    Returns
    -------
    CrossValidation
        If a fold has all observations of a class, the rule without it distinguishes the other classes only,
        and these observations count as errors: the summary names the class.

    Raises
    ------
    DataError
        Folds, repeats, groups or the seed cannot be used; the labels
        cannot be shuffled in this way; or `formula`, `data` and `options` cannot be combined with `fit`.
    NotSupportedError
        The fit was loaded, or cannot be made without some fold; or the labels are to be shuffled, but each
        fold needs a call of a function.

    Warns
    -----
    DiscrimWarning
        Some rows have density zero in every class and remain without a label.

    Notes
    -----
    The method is due to Stone (1974, Journal of the Royal Statistical Society B 36, 111-147).

    The same rows, classes, folds, repeats, groups and seed produce the same folds for every verb and formula,
    because rows are assigned to folds before a model drops rows with missing values. Without groups the rows
    of each class are assigned to the folds in turn. With groups each fold gets as even a share of each class
    as the groups allow. A row with a frequency weight stands for that many rows, all in one fold.

    Parameters that transforms of the formula learn from the columns (the means of `standardize`, the knots of
    `bs`) are learnt again without each fold, and so are the levels of categories: an observation whose level
    does not occur outside its fold remains without label and posterior under any verb, and is excluded from
    all error rates. The boundary knots of splines are the same in all folds, and so is the prior unless
    `refit_prior` is true.

    A function can do more than a formula: choose columns, fill in values, leave rows out. It learns from the
    rows outside the fold only, and its fit predicts the rows of the fold as they are in `data`; therefore new
    columns belong in the formula. Each fit uses its own prior. If columns were chosen beforehand, by a person
    who has looked at the data or by another program, the errors do not account for it and tend to be too
    small.

    The permutation test counts how often shuffled labels are predicted as well as the true ones. It is exact
    if all the shuffles that it draws from are equally likely when classes and columns are unrelated. Rows
    that depend on one another, such as calls of one animal or samples of one patient, come in two designs
    (Mundry & Sommer, 2007, Animal Behaviour 74, 965-976):

    - nested: each animal has one class, such as a species or a sex. Use ``groups="animal"``. Whole animals
      then exchange labels and stay in one fold; with ``within="site"`` they exchange labels with animals of
      the same site.
    - crossed: each animal has rows of several classes, such as contexts. Use ``within="animal"``. Labels are
      then shuffled among the rows of an animal. With ``groups="animal"`` too, rules are evaluated on animals
      that they did not see.

    With neither of the two, single rows exchange labels, which assumes that they are independent; a row with
    a weight counts as one. The procedure is the same for shuffled labels as for the true ones: rows are
    assigned to folds again, unless the user passed folds, the prior is estimated from the shuffled labels,
    and under `nested` the choices are made again for each shuffle. With as many folds as rows this is
    leave-one-out, for which models based on moments have a closed form.

    Examples
    --------
    >>> from discrim import cross_validate, lda
    >>> from discrim.datasets import load_iris
    >>> found = cross_validate(lda("species ~ .", load_iris()), folds=5, repeats=2, seed=1)
    >>> found.table()[["estimate", "se"]].round(4)
              estimate      se
    measure
    error       0.0200   0.0114
    log loss    0.0519   0.0215
    Brier       0.0327   0.0157

    Of forty columns of noise, the three that differ most between the classes are chosen within each fold:

    >>> import numpy as np
    >>> import pandas as pd
    >>> noise = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 40))).rename(columns="x{}".format)
    >>> noise["y"] = ["a", "b"] * 30
    >>> def best(table):
    ...     means = table.groupby("y").mean()
    ...     apart = (means.loc["a"] - means.loc["b"]).abs().nlargest(3).index
    ...     return lda(f"y ~ {' + '.join(apart)}", table)
    >>> best(noise).error_rates()["estimate"].round(2).to_dict()
    {'apparent': 0.33, 'loo': 0.37}
    >>> float(cross_validate(best, data=noise, seed=1).table()["estimate"]["error"].round(2))
    0.58

    All animals make both of two kinds of calls. Do these differ in pitch?

    >>> calls = pd.DataFrame({"pitch": [1.0, 3.1, 2.2, 4.0, 1.7, 3.9, 2.5, 4.4, 1.2, 3.3, 1.9, 3.6]})
    >>> calls["call"], calls["animal"] = ["alarm", "food"] * 6, [k for k in "abc" for _ in range(4)]
    >>> fit = lda("call ~ pitch", calls)
    >>> print(cross_validate(fit, 3, seed=1, permutations=99, within="animal").permutations)
    Permutation test of the hit rate: 1, by chance 0.5, p 0.01 (99 permutations)
    Labels are permuted among rows within 'animal'. Each permutation has new folds and new fits.
    p = (1 + as good or better) / (1 + permutations).
    """
    check_flag("nested", nested)
    permuted.check_permutations(permutations, within)
    fitted, refit_prior = _fit_to_validate(fit, formula, data, options, nested, refit_prior)
    if permutations and fitted.refits.refits_by_function:
        raise NotSupportedError(
            "permutations= is not supported for fits that are repeated by calls with the table.",
            hint="Shuffle the column of the classes yourself, and call cross_validate() with each table.",
        )
    seed = seed_or_random(seed)
    cv = cross_validate_fit(fitted, folds, repeats, groups, seed, nested=nested, refit_prior=refit_prior)
    warn_unlabelled(cv)
    if permutations:
        given_folds = None if cv.seed is not None else cv._fold_ids[0]
        design = permuted.PermutationDesign(
            given_folds, cv._fold_labels, repeats, groups, within, permutations, seed, nested, refit_prior
        )
        cv.permutations = permuted.permuted_hit_rates(
            fitted, 1.0 - float(cv.table()["estimate"]["error"]), design
        )
    return cv


def _fit_to_validate(
    fit: Any, formula: Any, data: Any, options: Any, nested: bool, refit_prior: bool | None
) -> tuple[FittedModel[Any], bool | None]:
    """Return the fitted model that `cross_validate` evaluates, from any of the forms of its argument `fit`.

    Parameters
    ----------
    fit : results, verb, name of a verb, or function of a table
    formula, data, options : see `cross_validate`
    nested : bool
        Whether choices of the fit are made again without each fold.
    refit_prior : bool or None
        Whether class proportions are estimated again without each fold.

    Returns
    -------
    FittedModel
        Fitted to all rows. If `fit` is a function of a table, its refits call this function.
    bool or None
        `refit_prior`, which is True for a function.

    Raises
    ------
    DataError
        The arguments cannot be combined.
    """
    results = fit
    if not (callable(fit) or isinstance(fit, str)):
        if not (formula is None and data is None and options is None):
            raise DataError(
                "formula=, data= and options= cannot be combined with a fit.", hint="Leave them out."
            )
    elif data is None:
        raise DataError("A verb or function requires a table.", hint="Pass data=, and formula= for a verb.")
    elif formula is not None or isinstance(fit, str):
        results = resolve_verb(fit, "fit")(formula, data, **dict(options or {}))
    elif getattr(fit, "__name__", None) in BY_VERB and fit is resolve_verb(fit.__name__, "fit"):
        raise DataError(
            f"{fit.__name__}() requires a formula in addition to the table.", hint="Pass formula='y ~ .'."
        )
    elif options is not None:
        raise DataError(
            "options= requires a verb and formula=.",
            hint="Leave it out, and set the options in the function.",
        )
    else:
        if refit_prior is not None or not nested:
            raise DataError(
                "nested= and refit_prior= cannot be combined with a function, which repeats the whole fit.",
                hint="Leave out nested= and refit_prior=.",
            )
        results = fit(data)
    if hasattr(results, "cross_validate"):
        results = results.fit
    require_rows([results], "cross_validate()")
    if not callable(fit) or formula is not None:
        fitted: FittedModel[Any] = results._fit
        return fitted.fit_before_selection() if nested else fitted, refit_prior
    return _fit_of_function(fit, data, results._fit), True


def _fit_to_rows(function: Callable[[Any], Any], data: Any, rows: Codes) -> Any:
    """Call a function with some rows of a table; raise an error if it does not return results of a verb.

    Parameters
    ----------
    function : callable
        Function of a table that returns the results of a verb.
    data : table
    rows : (m,) int
        Positions of the m rows.

    Returns
    -------
    ClassifierResults or StepwiseResults
        The result of the function; if it is another object, `require_fits` raises its error.
    """
    results = function(select_rows(data, rows))
    if not hasattr(results, "cross_validate"):
        require_fits([results], "cross_validate()")
    return results


def _fit_of_function(
    function: Callable[[Any], Any], data: Any, full_fit: FittedModel[Any]
) -> FittedModel[Any]:
    """Return the fit that a function made of a table, with refits that call the function again.

    Parameters
    ----------
    function : callable
        Function of a table that returns the results of a verb.
    data : table
        All rows. All of them are predicted, also rows that the function drops before it fits.
    full_fit : FittedModel
        Fit that the function returned for all rows.

    Returns
    -------
    FittedModel
        `full_fit` with all rows of `data` and the refits `RefitsByCalls`.

    Raises
    ------
    DataError
        The function dropped rows before a fit with weights.
    """
    design_rows = full_fit.new_rows(data)
    weights = full_fit.design_rows.weights
    if weights is not None and len(weights) != design_rows.table.nrows:
        raise DataError(
            "The fit that the function returns has weights, but not all rows of data=.",
            hint="Keep all rows in the function, or fit without weights=.",
        )
    codes = response_codes(design_rows.design, design_rows.table, design_rows.functions)
    labelled_blocks = design_rows.with_codes(codes).with_weights(weights)
    refits = RefitsByCalls(
        full_fit.refits, data, partial(_fit_to_rows, function, data), "", uses_full_prior=False
    )
    return replace(
        full_fit, design_rows=labelled_blocks, refits_override=refits, selection=None, path=None, cache={}
    )


def cross_validate_fit(
    fit: FittedModel[Any],
    folds: Any,
    repeats: int,
    groups: Any,
    seed: int,
    *,
    nested: bool = True,
    refit_prior: bool | None = None,
) -> CrossValidation:
    """Cross-validate a fitted model, with folds from a seed or from the user.

    Parameters
    ----------
    fit : FittedModel
    folds, repeats, groups : see `cross_validate`
        With a number of folds and without groups, the groups of the model apply, if it has any.
    seed : int
        Seed of the assignment of rows to folds. The result does not store a seed if the user passed folds.
    nested, refit_prior : see `cross_validate`

    Returns
    -------
    CrossValidation
        Without a permutation test. Rows without a prediction are counted in `unlabelled`, without a warning.
    """
    fit = fit.fit_before_selection() if nested else fit
    design_rows = fit.require_rows("cross_validate()")
    if groups is None and is_number(folds):
        groups = fit.refits.groups(fit)
    fold_ids, labels = permuted.shared_folds(design_rows, folds, repeats, groups, seed)
    used = used_codes(design_rows)
    fold_ids = np.where(used >= 0, fold_ids, -1)
    clusters = None if groups is None else permuted.number_labels(groups, design_rows.table, "groups")
    # Folds that the user passed do not depend on the seed.
    fold_seed = seed if isinstance(folds, (int, np.integer)) else None
    return cross_validate_on_folds(
        fit, fold_ids, labels, clusters, fold_seed, nested=nested, refit_prior=refit_prior
    )


def cross_validate_on_folds(
    fit: FittedModel[Any],
    fold_ids: Codes,
    labels: list[Any],
    clusters: Codes | None,
    seed: int | None,
    *,
    nested: bool = True,
    refit_prior: bool | None = None,
) -> CrossValidation:
    """Cross-validate a fitted model of n rows on specified folds, in R repeats.

    Parameters
    ----------
    fit : FittedModel
        The model. If its refits choose tuning parameters or variables, they do so again without each fold.
    fold_ids : (R, n) int
        Positions of the folds; -1 for rows that are not used.
    labels : list
        Labels of the folds, by position.
    clusters : (n,) int or None
        Group of each row, for standard errors.
    seed : int or None
        Seed of the folds; None if the user passed folds.
    nested : bool
        Whether choices are made again without each fold.
    refit_prior : bool, optional
        Whether class proportions are estimated again without each fold.

    Returns
    -------
    CrossValidation
        Its `seed` and fold labels are the arguments; `permutations` is None.
    """
    options: dict[str, Any] = {"nested": nested, "labels": labels, "refit_prior": refit_prior}
    with Progress(len(fold_ids) * len(labels), "cross-validation") as progress:
        # C order, because the losses are computed row by row.
        scores = [
            distributed_fold_scores(fit, repeat_fold_ids, len(labels), progress=progress, **options).map(
                np.ascontiguousarray
            )
            for repeat_fold_ids in fold_ids
        ]
    return CrossValidation(
        fit, scores, fold_ids, labels, clusters, seed=seed, nested=nested, refit_prior=refit_prior
    )


def _predicted_codes(scores: Floats) -> Codes:
    """Return predicted classes in the shortest integer type, because they are sent between processes.

    Parameters
    ----------
    scores : (n, K) float
        Scores of n rows for K classes.

    Returns
    -------
    (n,) int
        Positions of the classes; -1 if all scores are missing or minus infinity.
    """
    return best_class(scores).astype(np.min_scalar_type(-scores.shape[1]))


def warn_unlabelled(cv: CrossValidation, prefix: str = "") -> None:
    """Warn if used rows lack a prediction in some repeat; `prefix` is the beginning of the message."""
    if cv.unlabelled:
        row = int(np.argmax((cv._actual >= 0) & ~cv._is_evaluated))
        first = cv._fit.design_rows.table.label(row)
        warn_user(
            f"{prefix}{cv.unlabelled} row{'s have' if cv.unlabelled > 1 else ' has'} no prediction in some "
            f"repeat (the first: {first!r}) and are not counted. Either all classes have probability zero "
            "(fit with laplace=1, for example), or a level occurs only in the fold of the row (merge it "
            "with another).",
            MissingPredictionWarning,
        )


def cross_validation_summary(cv: CrossValidation, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a cross-validation.

    `sections` has keys among "header", "measures", "permutations" (if there is a test), "classes",
    "confusion" and "folds", in the order wanted; None or "all" for all.
    """
    title = f"Cross-validation: {cv._fit.title_in_sentence}"
    test = (
        {} if cv.permutations is None else {"permutations": partial(_permutations_section, cv.permutations)}
    )
    section_builders: dict[str, Callable[[], Section | Pairs]] = {
        "header": partial(_header_section, cv),
        "measures": partial(_measures_section, cv),
        **test,
        "classes": partial(_classes_section, cv),
        "confusion": partial(_confusion_section, cv),
        "folds": partial(_folds_section, cv),
    }
    return summarize(title, section_builders, sections)


def _header_section(cv: CrossValidation) -> Pairs:
    """Return the header of the summary: numbers of rows, the prior, folds, repeats and seed, with notes."""
    fit = cv._fit
    evaluated = cv._evaluated_rows()
    total = float(evaluated.weights.sum())
    folds = len(cv._fold_labels)
    repeats = len(cv._fold_ids)
    prior = {"fixed": "class proportions, fixed", "refitted": "class proportions, refitted", "": "none"}.get(
        cv.prior, "user, fixed"
    )
    rows = "Sum of weights" if cv._has_weights else "Predicted observations"
    items: list[HeaderItem] = [
        HeaderItem(rows, total, format_count(total)),
        HeaderItem("Dropped, missing values", fit.dropped),
        HeaderItem("Without prediction", cv.unlabelled),
        HeaderItem("Prior", prior),
        HeaderItem("Folds", folds),
        HeaderItem("Repeats", repeats),
        HeaderItem("Seed", cv.seed, "none, folds by user" if cv.seed is None else str(cv.seed)),
    ]
    if evaluated.clusters is not None:
        groups = len(set(evaluated.clusters.tolist()))
        items.insert(6, HeaderItem("Groups, each in one fold", groups))
    is_absent = [
        absent_class_mask(cv._actual, cv._weights, len(cv._fit.classes), fold_ids)
        for fold_ids in cv._fold_ids
    ]
    absent = cv._fit.classes[np.unique(cv._actual[np.any(is_absent, axis=0)])]
    notes = (_choice_note(cv), unbalanced_folds_note(cv), absent_classes_note(absent))
    return Pairs(fit.formula, items, " ".join(filter(None, notes)))


def unbalanced_folds_note(cv: CrossValidation) -> str:
    """Return a note on the fold without which a class proportion changes most; "" if none is needed.

    It is needed if the prior is fixed to the class proportions and `find_unbalanced_fold` returns a fold.
    """
    counts = np.asarray(cv._fit.counts, dtype=np.float64)
    position = (
        find_unbalanced_fold(np.concatenate(cv._counts_outside_folds()), counts)
        if cv.prior == "fixed"
        else None
    )
    if position is None:
        return ""
    class_shares = cv.class_shares()
    code = position[1]
    repeat, fold = class_shares.index[position[0]]
    class_share = float(class_shares.to_numpy()[position])
    prior = float(cv._fit.prior[code])
    where = f"fold {format_value(fold)}" + (f" of repeat {repeat}" if len(cv._fold_ids) > 1 else "")
    return (
        "The class proportions differ between folds: the proportion of class "
        f"{format_value(cv._fit.classes[code])} is {class_share:.3g} outside {where}, and {prior:.3g} in "
        "all rows. The fixed prior includes the held-out rows; refit_prior=True estimates it without each "
        "fold."
    )


def _choice_note(cv: CrossValidation) -> str:
    """Return a note on whether choices by the data are repeated in each fold; empty without a choice."""
    chosen = cv._fit.choice_description
    refits = cv._fit.refits
    if refits.refits_by_function and not chosen:
        return "The function is called with the rows outside each fold, and its fit predicts the fold."
    if not chosen:
        return ""
    if cv.nested:
        return f"The choice of {chosen} is repeated in each fold."
    return f"The choice of {chosen} was made with the same rows and is kept, so the estimates are optimistic."


def _measures_section(cv: CrossValidation) -> Section:
    """Return the section of the mean losses of held-out observations, with their intervals."""
    units = "groups" if cv._clusters is not None else "observations"
    return Section(
        "Losses of held-out observations",
        cv.table().rename_axis(None),
        "share",
        headings=SHARED_HEADINGS | {"se_folds": "by folds", "se_corrected": "corrected"},
        note=(
            f"Standard error and interval assume independent {units} and fixed rules. The standard "
            "error by folds is too small, because folds share training rows; the corrected one uses "
            "1/J + n2/n1 instead of 1/J (Nadeau & Bengio, 2003). No unbiased estimate exists."
        ),
        source=".table()",
    )


def _permutations_section(test: Permutations) -> Section:
    """Return the section of the permutation test of the hit rate."""
    formats: dict[Any, Any] = dict.fromkeys(test.table.columns, "share")
    formats |= {"p": "tail", "least_p": "tail", "permutations": "count"}
    return Section(
        "Permutation test of the hit rate",
        test.table,
        formats,
        headings={"by_chance": "by chance", "quantile_95": "95 % of chance", "least_p": "least p"},
        note=" ".join(test.notes()),
        source=".permutations.table",
    )


def _classes_section(cv: CrossValidation) -> Section:
    """Return the section of the errors by class."""
    table = cv.by_class
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"rows": "count", "wrong": "count"}
    return Section("Errors by class", table, formats, headings=SHARED_HEADINGS, source=".by_class")


def _confusion_section(cv: CrossValidation) -> Section:
    """Return the section of the confusion matrix."""
    mean = ", mean over repeats" if len(cv._fold_ids) > 1 else ""
    table = cv.confusion.rename_axis(index=None, columns=None)
    return Section(f"Actual classes (rows) by predicted classes{mean}", table, "count", source=".confusion")


def _folds_section(cv: CrossValidation) -> Section:
    """Return the section of the errors by fold."""
    table = cv.by_fold
    if len(cv._fold_ids) == 1:
        table = table.droplevel("repeat")
    else:
        table = table.rename(index=lambda repeat: f"repeat {repeat}", level="repeat")
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"rows": "count", "wrong": "count"}
    return Section(
        "Errors by fold",
        table.rename_axis(None) if table.index.nlevels == 1 else table,
        formats,
        source=".by_fold",
    )


def verb_name(cv: Any) -> str:
    """Return the name of the verb of a cross-validated model, such as "lda"."""
    name: str = cv._fit.spec.name
    return name
