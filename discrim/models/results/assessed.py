"""Performance of a fit on labelled rows: measures over all classes, by class and by pair of classes.

`Assessment` is the result of `ClassifierResults.assess`. The functions at the end are the sections of its
summary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, SupportsFloat

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.special import normal_isf
from discrim.core.rules.calibration import Calibrator, fit_calibrator
from discrim.data.values import format_value
from discrim.errors import DataError
from discrim.inference import error_rates as measures
from discrim.inference.calibration import (
    EvaluatedRows,
    Recalibration,
    brier_decomposition,
    calibration_bins,
    estimate_recalibration,
    log_odds_against_rest,
    mean_loss_interval,
    probability_residuals,
    second_best_classes,
)
from discrim.inference.error_rates import Estimate, confusion_counts
from discrim.inference.resampling import stratified_fold_ids
from discrim.inference.roc import (
    Area,
    CutOffs,
    PairAreas,
    average_precision,
    cut_offs,
    pair_areas,
    roc_area,
)
from discrim.models.base.available import available_if
from discrim.models.base.display import SummarizedResults, with_display_formats
from discrim.models.base.fit import CALIBRATOR_KEY, FittedModel
from discrim.models.base.labels import make_unique_name
from discrim.models.base.reading import join_labels
from discrim.models.base.scores import cost_matrix, require_two_classes
from discrim.models.evaluation.absent_classes import absent_class_mask, absent_classes_note
from discrim.models.evaluation.assessment import AssessedRows
from discrim.models.evaluation.calibrated import CALIBRATION_SEED, MAX_CALIBRATION_FOLDS, fitted_calibrator
from discrim.models.evaluation.classification import Classification
from discrim.models.plots.plottable import draw_plot
from discrim.models.registry import summary_of
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

ESTIMATE_COLUMNS = ["estimate", "se", "low", "high"]

MAX_PAIRED_CLASSES = 256
"""Largest number of classes for which the mean area over pairs, which is slow for many, is computed."""


class Assessment(SummarizedResults):
    """Performance of a fit on labelled rows.

    Parameters
    ----------
    fit : FittedModel
    rows : StoredValue of AssessedRows
        Classes, predictions, scores and weights of the evaluated rows, in this process or on workers.
    classify : callable or None
        Function of the keyword `method` ("apparent", "loo" or "cv") that predicts the rows again and returns
        the `Classification`; None in an unpickled assessment.
    level : float
        Level of intervals.
    bins : int
        Largest number of bins of the calibration.

    Attributes
    ----------
    classes : (K,) Index
        Class labels.
    nobs : int or float
        Number of evaluated rows, or the sum of their weights.
    unlabelled, unpredicted : int
        Numbers of rows that are left out: without a class, and with a class but without a prediction.
    absent : list
        Classes without evaluated rows.
    """

    def __init__(
        self,
        fit: FittedModel[Any],
        rows: StoredValue[AssessedRows],
        classify: Callable[..., Classification],
        level: float,
        bins: int,
    ) -> None:
        self._fit = fit
        self._level = level
        self._bins = bins
        self._classify: Any = classify
        self._figures = rows.map(partial(_Figures, level, bins))
        self._rows, self._confusion, total = self._figures.apply(_detach_rows)
        self.classes = fit.classes
        self.unlabelled = self._rows.n_unlabelled
        self.unpredicted = self._rows.n_unpredicted
        self.nobs = total if self._rows.has_weights else round(total)
        self._counts = self._confusion.astype(np.float64)
        self.absent = [label for label, n in zip(fit.classes, self._counts.sum(axis=1), strict=True) if not n]
        if self._rows.has_posteriors:
            # Raise an error for an invalid number of bins now, and not when a figure is first computed.
            calibration_bins(np.array([0.5]), np.array([True]), bins)

    # ---- figures

    @property
    def prior(self) -> pd.Series | None:
        """Prior by which the figures are weighted; None for the class proportions of the rows."""
        prior = self._rows.prior
        return None if prior is None else pd.Series(prior.copy(), self.classes, name="prior")

    @property
    @with_display_formats(every="share")
    def overall(self) -> pd.DataFrame:
        """Overall performance measures: estimate, se, low and high, indexed by measure.

        The measures are accuracy, balanced accuracy, kappa and, for at most 256 classes, AUC: the area under
        the ROC curve of the second of two classes, or the mean area over all pairs of classes. Models with
        posteriors also have the log loss, the Brier score and the calibration slope, and for two classes the
        calibration intercept, unless the prior is specified. With `costs`, "expected cost" is the mean cost
        of a row. The intervals of log loss, Brier score and cost are log-normal. Their upper limits allow for
        errors even if no evaluated row is misclassified, and for the losses assume that the error probability
        does not increase with the certainty of the rule. A value that is not available is NaN, such as the
        calibration slope if posteriors separate the classes or some are zero.
        """
        prior = self._rows.prior
        level = self._level
        estimates: dict[str, Any] = {
            "accuracy": measures.accuracy(self._counts, prior, level),
            "balanced accuracy": measures.balanced_accuracy(self._counts, level),
            "kappa": measures.kappa(self._counts, prior, level),
        }
        if self._rows.decision.costs is not None:
            estimates["expected cost"] = expected_cost(self._counts, prior, self._rows.decision.costs, level)
        if len(self.classes) <= MAX_PAIRED_CLASSES:
            estimates["AUC"] = _area_estimate(self._figures.apply(attrgetter("areas")).mean)
        if self._rows.has_posteriors:
            estimates |= self._figures.apply(attrgetter("losses"))
            slope, intercept = self._figures.apply(attrgetter("recalibration"))
            estimates["calibration slope"] = self._normal_estimate(slope)
            if intercept is not None:
                estimates["calibration intercept"] = self._normal_estimate(intercept)
        table = pd.DataFrame.from_dict(estimates, orient="index", columns=ESTIMATE_COLUMNS)
        return table.rename_axis("measure")

    @property
    @with_display_formats(every="share")
    def by_class(self) -> pd.DataFrame:
        """Performance measures of each class against all others, indexed by (class, measure).

        Columns estimate, se, low and high, for sensitivity, specificity, both predictive values, and the area
        under the ROC curve of the class against the rest ("AUC"). A class without evaluated rows has a
        missing sensitivity and area. ``by_class["estimate"].unstack()`` has a row for each class.
        """
        estimates: dict[Any, Any] = {}
        areas = self._figures.apply(attrgetter("against_rest"))
        for k, class_estimates in enumerate(
            measures.class_measures(self._counts, self._rows.prior, self._level)
        ):
            label = self.classes[k]
            estimates |= {
                (label, name): value for name, value in zip(measures.MEASURES, class_estimates, strict=True)
            }
            estimates[label, "AUC"] = _area_estimate(areas[k])
        return self._indexed_table(estimates, ["class", "measure"], ESTIMATE_COLUMNS)

    @property
    @with_display_formats(every="share")
    def pairs(self) -> pd.DataFrame:
        """Areas under the ROC curves of pairs of classes, indexed by (a, b).

        Columns auc, se, low and high: the measure A of Hand and Till with its standard error and interval.
        Classes without evaluated rows have NaN.
        """
        areas = self._figures.apply(attrgetter("areas"))
        areas_by_pair = {
            (self.classes[i], self.classes[j]): _area_estimate(area)
            for (i, j), area in zip(areas.pairs, areas.areas, strict=True)
        }
        return self._indexed_table(areas_by_pair, ["a", "b"], ["auc", "se", "low", "high"])

    @property
    @with_display_formats(every="share")
    def average_precision(self) -> pd.DataFrame:
        """Average precision of each class against the rest, the area under `plot("precision_recall")`.

        Columns estimate, se, low, high and share: the share of the class among the rows, which random scores
        have on average. Rows are weighted equally, or by their weights, and not by a prior. The interval is
        normal on the logit scale with a binomial variance.
        """
        areas = self._figures.apply(attrgetter("average_precisions"))
        table = pd.DataFrame(map(_area_estimate, areas), index=self.classes.rename("class"))
        return table.assign(share=self._counts.sum(axis=1) / self._counts.sum())

    @available_if(lambda self: require_two_classes(self._fit, "thresholds()"))
    @with_display_formats(every="share", log_odds="general")
    def thresholds(self, costs: Any = None) -> pd.DataFrame:
        """What every cut-off on the posterior of the second of two classes achieves on the evaluated rows.

        Parameters
        ----------
        costs : DataFrame or (2, 2) array, optional
            Cost of assigning an observation of one class (row) to the other (column), for the column `cost`;
            by default the costs of the assessment, if any.

        Returns
        -------
        DataFrame
            By decreasing `threshold`, the smallest posterior at which the second class is predicted, from 1
            (for no row) to 0 (for all): `log_odds` of the threshold, `sensitivity`, `specificity`, positive
            and negative predictive value `ppv` and `npv`, `youden`, the index sensitivity + specificity - 1,
            and with costs `cost`, the expected cost. Thresholds are midpoints between adjacent posteriors.
            Predictive values and costs are weighted by the prior of the assessment. The best row of the table
            is optimistic; see `fit.threshold()`.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("diagnosis ~ radius_mean + texture_mean", "breast_cancer")
        >>> table = fit.assess("loo").thresholds().reset_index()
        >>> table.loc[table["youden"].idxmax(), ["threshold", "sensitivity", "specificity"]].round(3).tolist()
        [0.282, 0.863, 0.91]
        """
        decision = self._rows.decision
        cost_values = decision.costs if costs is None else cost_matrix(costs, self.classes)
        table = self._figures.apply(attrgetter("cut_offs"))
        ppv, npv = table.predictive_values(self._rows.prior)
        columns = {
            "log_odds": table.log_odds,
            "sensitivity": table.sensitivity,
            "specificity": table.specificity,
            "ppv": ppv,
            "npv": npv,
            "youden": table.sensitivity + table.specificity - 1,
        }
        if cost_values is not None:
            columns["cost"] = table.expected_cost(cost_values, self._rows.prior)
        return pd.DataFrame(columns, index=pd.Index(posterior_of_log_odds(table.log_odds), name="threshold"))

    @property
    @with_display_formats(every="share")
    def brier(self) -> pd.DataFrame:
        """Brier score of each class, and its components.

        The score `brier` is reliability - resolution + uncertainty + within_variance - within_covariance, in
        bins of the posterior of the class; `bins` is their number. It requires a model with posteriors
        (NotSupportedError). The last row, "total", is the sum over classes.
        """
        self._fit.require_posteriors("brier")
        table = pd.DataFrame(self._figures.apply(attrgetter("brier")), index=self.classes)
        total_row = pd.DataFrame([table.sum()], index=[make_unique_name("total", self.classes)]).astype(
            {"bins": np.int64}
        )
        return pd.DataFrame(pd.concat([table, total_row]).rename_axis("class"))

    @property
    @with_display_formats(every="share", rows="count")
    def calibration(self) -> pd.DataFrame:
        """Predicted probabilities and observed shares, by (class, bin), for `plot("calibration")`.

        The columns are `predicted`, `observed` with its limits `low` and `high`, and `rows`, the number of
        rows or sum of weights. For two classes they are the probabilities of the second. It requires a model
        with posteriors (NotSupportedError).
        """
        self._fit.require_posteriors("calibration")
        tables = {}
        for k, bins in self._figures.apply(_calibration_bins_by_class).items():
            names = ("predicted", "observed", "low", "high", "rows")
            table = pd.DataFrame({name: getattr(bins, name) for name in names})
            tables[self.classes[k]] = table.set_axis(pd.RangeIndex(1, len(table) + 1))
        return pd.DataFrame(pd.concat(tables, names=["class", "bin"]))

    @property
    @with_display_formats(every="share")
    def calibrated(self) -> pd.DataFrame:
        """Losses of the posteriors without and with calibration.

        Indexed by measure, "log loss" and "Brier": the loss of the posteriors without calibration, `plugin`
        (NaN for models without posteriors), and with it, `calibrated`, and their paired `difference`, with
        `se`, `low` and `high`.

        Left-out rows of the fit are calibrated by the other nine of ten folds. Other rows have the posteriors
        of ``predict_proba(method="calibrated")``, and the fit has to have the calibration, or rows
        (NotSupportedError). Rows that cannot be calibrated raise DataError. Negative differences are in
        favour of the calibration. Standard errors assume independent rows and fixed calibrations.
        """
        uses_fit_calibrator = self._rows.method in ("new", "apparent")
        calibrator = fitted_calibrator(self._fit) if uses_fit_calibrator else None
        log_prior = self._fit.log_prior() if self._rows.has_posteriors else None
        losses = self._figures.apply(partial(_calibration_losses, calibrator, log_prior))
        table = pd.DataFrame.from_dict(
            losses, orient="index", columns=["plugin", "calibrated", "difference", "se"]
        )
        half_width = float(normal_isf((1 - self._level) / 2)) * table["se"]
        table = table.assign(low=table["difference"] - half_width, high=table["difference"] + half_width)
        return table.rename_axis("measure")

    @property
    @with_display_formats(every="count")
    def confusion(self) -> pd.DataFrame:
        """Actual (rows) by predicted classes (columns), counts or sums of weights."""
        actual = self.classes.rename("actual")
        predicted = self.classes.rename("predicted")
        return pd.DataFrame(self._confusion.copy(), index=actual, columns=predicted)

    @available_if(lambda self: self._rows.has_posteriors, "assess a model with posterior probabilities")
    @available_if(lambda self: self._classify is not None, "it was unpickled, without the observations")
    def classification(self) -> Classification:
        """Classification table, average posteriors and misclassified observations.

        The observations are predicted again, by the costs or the threshold of the assessment, if any.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> classification = lda("species ~ .", load_iris()).assess("loo").classification()
        >>> classification.misclassified["predicted"].to_dict()
        {70: 'virginica', 83: 'virginica', 133: 'versicolor'}
        """
        method = "apparent" if self._rows.method == "new" else self._rows.method
        classified: Classification = self._classify(method=method)
        return classified

    def __reduce__(self) -> tuple[Any, ...]:
        # The table of the observations is not pickled.
        return _unpickle_assessment, (vars(self) | {"_classify": None},)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The unrounded tables of the summary by the names of its sections, such as "overall"."""
        return self.summary().tables

    # ---- computation

    def _evaluated_rows(self) -> AssessedRows:
        """Return the evaluated rows with their arrays (codes, predicted, scores and weights), for plots."""
        rows: AssessedRows = self._figures.apply(attrgetter("rows"))
        return rows

    def _normal_estimate(self, estimate_and_se: tuple[float, float]) -> Estimate:
        """Return an estimate and its standard error, which are a pair, with the normal interval."""
        half_width = float(normal_isf((1 - self._level) / 2)) * estimate_and_se[1]
        return Estimate(*estimate_and_se, estimate_and_se[0] - half_width, estimate_and_se[0] + half_width)

    def _indexed_table(self, values: dict[Any, Any], names: list[str], columns: list[str]) -> pd.DataFrame:
        """Return a DataFrame from rows of values by tuples of labels.

        Parameters
        ----------
        values : dict of tuple to sequence
            Row of the table by its label in a MultiIndex.
        names : list of str
            Names of the levels of the index.
        columns : list of str
            Names of the columns, as many as each row has values.
        """
        index = pd.MultiIndex.from_tuples(list(values), names=names)
        return pd.DataFrame(list(values.values()), index=index, columns=columns)

    # ---- display

    def plot(
        self,
        kind: Literal["confusion", "roc", "precision_recall", "calibration"] | None = None,
        ax: Axes | None = None,
        *,
        threshold: float | SupportsFloat | None = None,
        classes: Sequence[Any] | None = None,
        colors: Any = None,
        title: str | None = None,
        label: str | None = None,
    ) -> Axes:
        """Draw a picture of the evaluated rows.

        Parameters
        ----------
        kind : {"confusion", "roc", "precision_recall", "calibration"}, optional
            "confusion", the default, draws actual by predicted classes. "roc" draws ROC curves, and
            "calibration" predicted probabilities against observed shares; both have bands at the level of the
            assessment if the classes are at most three, or named. "precision_recall" draws precision by
            recall, with the average precision.
        ax : Axes, optional
            Axes of matplotlib to draw on; by default a new figure.
        threshold : float or result of `fit.threshold()`, optional
            For "roc" and "precision_recall" of two classes: a posterior of the second class whose point on
            the curve is marked; by default the threshold of the assessment, if any.
        classes : label or labels, optional
            Classes whose curves "roc", "precision_recall" and "calibration" draw; by default all.
        colors : mapping, sequence, str or Colormap, optional
            Colours by class, in the order of the classes, or a colormap of matplotlib or its name.
        title : str, optional
            Title that replaces the default title; "" for none.
        label : str, optional
            Name of the curves of "roc" and "precision_recall" in the legend, for axes with curves of several
            fits. By default curves of several fits on the same axes have the names of their models.

        Returns
        -------
        Axes
            The axes on which the picture is drawn.
        """
        from discrim.models.plots.plottable import PlotOptions, check_classes_option

        options = PlotOptions(
            ax, classes=check_classes_option(classes), colors=colors, title=title, label=label,
            threshold=threshold,
        )  # fmt: skip
        from discrim.models.plots.evaluation import ASSESSMENT_PLOTS

        return draw_plot((self,), ASSESSMENT_PLOTS, kind, options)

    def summary(self, sections: Sequence[str] | None = None) -> Summary:
        """The figures as a summary, which prints as text and is shown as tables in a notebook.

        Parameters
        ----------
        sections : sequence of str, optional
            Keys of the sections wanted, in order: "header", "overall", "classes", "pairs", "brier",
            "calibrated" and "confusion", as far as they exist; by default all.

        Returns
        -------
        Summary
            Its `tables` have the unrounded numbers.
        """
        summary: Summary = summary_of(self, sections)
        return summary


class _Figures:
    """Measures of the evaluated rows, computed on demand and on the workers that have the rows.

    Parameters
    ----------
    level : float
        Level of intervals.
    bins : int
        Number of bins of the calibration.
    rows : AssessedRows
    """

    def __init__(self, level: float, bins: int, rows: AssessedRows) -> None:
        self.rows = rows
        self.level = level
        self.bins = bins

    @property
    def evaluated(self) -> EvaluatedRows:
        """Classes and weights of the rows, in the form that `mean_loss_interval` accepts."""
        rows = self.rows
        return EvaluatedRows(rows.codes, rows.weights, rows.scores.shape[1], rows.prior, None)

    @cached_property
    def proba(self) -> Floats:
        """Posteriors (m, K) of the rows if the model has posteriors: 1/(1 + exp(-score)) of each score."""
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-self.rows.scores)))

    @cached_property
    def areas(self) -> PairAreas:
        """Areas under the ROC curves of pairs of classes, and their mean; NaN for a class without rows."""
        rows = self.rows
        return pair_areas(rows.scores, rows.codes, rows.weights, self.level)

    @cached_property
    def against_rest(self) -> list[Area]:
        """Area under the ROC curve of each class against the rest, a list of K `Area`."""
        return self._areas_against_rest(roc_area)

    @cached_property
    def average_precisions(self) -> list[Area]:
        """Average precision of each class against the rest, a list of K `Area`."""
        return self._areas_against_rest(average_precision)

    def _areas_against_rest(self, area: Callable[..., Area]) -> list[Area]:
        """Return `area` of each class against the rest: `roc_area` or `average_precision`."""
        rows = self.rows
        return [
            area(rows.scores[:, k], rows.codes == k, rows.weights, self.level)
            for k in range(rows.scores.shape[1])
        ]

    @cached_property
    def cut_offs(self) -> CutOffs:
        """Counts of the rows of two classes at or above each cut-off."""
        rows = self.rows
        return cut_offs(rows.scores[:, 1], rows.codes == 1, rows.weights)

    @cached_property
    def losses(self) -> dict[str, Estimate]:
        """Estimates of "log loss" and "Brier", the mean losses, with standard errors and intervals.

        An estimate whose standard error is not positive, as for a single row or equal losses, has neither
        standard error nor limits (NaN).
        """
        rows = self.rows
        second_best = second_best_classes(self.rows.scores)
        losses = {
            name: Estimate(
                *mean_loss_interval(
                    loss(rows.scores, rows.codes),
                    self.evaluated,
                    self.level,
                    is_zero_one=False,
                    losses_if_wrong=loss(rows.scores, second_best),
                )
            )
            for name, loss in LOSSES.items()
        }
        # A single row, or rows with equal losses, do not determine the variance of the losses.
        return {
            name: estimate if estimate.se > 0 else Estimate(estimate.estimate)
            for name, estimate in losses.items()
        }

    @cached_property
    def recalibration(self) -> Recalibration:
        """Slope and intercept of a recalibration of the log odds, each a pair (estimate, standard error).

        The intercept is None for more than two classes, or if the prior is specified.
        """
        rows = self.rows
        return estimate_recalibration(rows.scores, rows.codes, rows.weights, sampled=rows.prior is None)

    @cached_property
    def brier(self) -> list[Any]:
        """Decomposition of the Brier score of each class, a list of K `BrierDecomposition`.

        For two classes both are of the second.
        """
        rows = self.rows
        row_shares = self.evaluated.row_weights()
        k = self.rows.scores.shape[1]
        # For two classes the components of both are equal.
        classes = [1, 1] if k == 2 else range(k)
        return [
            brier_decomposition(self.proba[:, k], rows.codes == k, self.bins, row_shares) for k in classes
        ]


def _calibration_losses(
    calibrator: Calibrator | None, log_prior: Floats | None, figures: _Figures
) -> dict[str, tuple[float, ...]]:
    """Compute mean losses without and with calibration, by measure.

    Parameters
    ----------
    calibrator : Calibrator or None
        None to calibrate each of `MAX_CALIBRATION_FOLDS` folds by the others. The only row of a class then
        has the calibrated probability zero in it.
    log_prior : (K,) float or None
        Log prior of the fit; None for models without posteriors.
    figures : _Figures
        Its scores are from the fit, or for left-out rows from refits.

    Returns
    -------
    dict of str to tuple of float
        Keys of `LOSSES`: loss without calibration (NaN without posteriors), loss with it, the mean of their
        paired difference, and its standard error.
    """
    rows = figures.rows
    evaluated = figures.evaluated
    row_index = np.arange(len(figures.rows.codes))
    log_odds = rows.scores if rows.has_posteriors or rows.scores.shape[1] == 2 else None
    scores = rows.scores if log_odds is None else -np.logaddexp(0.0, -log_odds)
    weights = evaluated.row_weights()
    if calibrator is not None:
        calibrated_scores = calibrator.scores(scores)
    else:
        # The rule without the only row of a class lacks the class and cannot be calibrated.
        is_lone = absent_class_mask(rows.codes, rows.weights, rows.scores.shape[1])
        codes = np.where(is_lone, -1, rows.codes)
        calibration_type = fit_calibrator(scores, codes, weights, log_prior=log_prior).kind
        calibrated_scores = np.empty_like(scores)
        fold_ids = stratified_fold_ids(
            rows.codes, min(MAX_CALIBRATION_FOLDS, len(row_index)), CALIBRATION_SEED
        )
        for fold in range(int(fold_ids.max()) + 1):
            is_left_out = fold_ids == fold
            training = scores[~is_left_out], codes[~is_left_out], weights[~is_left_out]
            calibrated_scores[is_left_out] = fit_calibrator(
                *training, calibration_type, log_prior=log_prior
            ).scores(scores[is_left_out])
        calibrated_scores[is_lone, rows.codes[is_lone]] = -np.inf
    calibrated_log_odds = log_odds_against_rest(calibrated_scores)
    table = {}
    for name, loss in LOSSES.items():
        calibrated_losses = loss(calibrated_log_odds, rows.codes)
        uncalibrated_losses = (
            loss(rows.scores, rows.codes) if rows.has_posteriors else np.full(len(row_index), np.nan)
        )
        with np.errstate(invalid="ignore"):
            change = mean_loss_interval(
                calibrated_losses - uncalibrated_losses, evaluated, figures.level, is_zero_one=False
            )
        means = (
            mean_loss_interval(losses, evaluated, figures.level, is_zero_one=False)[0]
            for losses in (uncalibrated_losses, calibrated_losses)
        )
        table[name] = (*means, *change[:2])
    return table


def _log_losses(values: Floats, codes: Codes) -> Floats:
    """Return the log loss (m,) of rows with actual classes `codes` (m,).

    `values` (m, K) are the log odds of each class against the rest.
    """
    return np.asarray(np.logaddexp(0.0, -values[np.arange(len(codes)), codes]))


def _brier_scores(values: Floats, codes: Codes) -> Floats:
    """Return the Brier score (m,), summed over classes, of rows with actual classes `codes` (m,).

    `values` (m, K) are the log odds of each class against the rest.
    """
    return np.asarray((probability_residuals(values, codes) ** 2).sum(axis=1))


LOSSES: dict[str, Callable[[Floats, Codes], Floats]] = {"log loss": _log_losses, "Brier": _brier_scores}
"""Loss functions of log odds (m, K) against the rest and codes (m,), by the name of the measure."""


def _unpickle_assessment(state: dict[str, Any]) -> Assessment:
    """Return an assessment from its pickled attributes."""
    assessment = object.__new__(Assessment)
    vars(assessment).update(state)
    return assessment


def _detach_rows(figures: _Figures) -> tuple[AssessedRows, NDArray[Any], float]:
    """Return the evaluated rows with empty arrays, the confusion matrix (K, K), and the sum of weights.

    These are small enough to be sent from the workers and stored in the assessment.
    """
    rows = figures.rows
    counts = confusion_counts(
        rows.codes, rows.predicted, rows.scores.shape[1], rows.weights if rows.has_weights else None
    )
    return rows.without_arrays(), counts, float(rows.weights.sum())


def _calibration_bins_by_class(figures: _Figures) -> dict[int, Any]:
    """Return the calibration bins by the position of the class; for two classes only of the second.

    The bins of a class have the arrays `predicted`, `observed`, `low`, `high` and `rows`, one value for each
    bin.
    """
    rows = figures.rows
    k = figures.rows.scores.shape[1]
    return {
        k: calibration_bins(figures.proba[:, k], rows.codes == k, figures.bins, rows.weights, figures.level)
        for k in ([1] if k == 2 else range(k))
    }


def posterior_of_log_odds(log_odds: Floats) -> Floats:
    """Return the posteriors 1/(1 + exp(-log odds)), an array of the same shape."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-log_odds)))


def expected_cost(counts: Floats, prior: Floats | None, costs: Floats, level: float) -> Estimate:
    """Return the mean cost of a row with its interval.

    Parameters
    ----------
    counts : (K, K) float
        Actual by predicted classes.
    prior : (K,) float or None
        Prior that weights the classes; None for the proportions of the rows.
    costs : (K, K) float
        Costs, actual by predicted class.
    level : float
        Confidence level.
    """
    rate_prior = np.ones(len(counts)) if prior is None else prior
    rates = measures.error_rate_from_counts(counts, rate_prior, costs, level, sampled=prior is None)
    return Estimate(rates.estimate, rates.se, rates.low, rates.high)


def _area_estimate(area: Area) -> Estimate:
    """Convert an area under a ROC curve to an `Estimate`."""
    return Estimate(area.auc, area.se, area.low, area.high)


MAX_CLASSES_WITH_INTERVALS = 6
"""Largest number of classes for which each measure is shown with its interval."""


def summary(assessment: Assessment, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of an assessment; `sections` are names of sections in order, by default all.

    The sections are "header", "overall", "classes", "pairs" (for 3 to `MAX_PAIRED_CLASSES` classes), "brier"
    (for models with posteriors), "calibrated" (if `_calibration_table_if_fast` returns a table) and
    "confusion".
    """
    section_functions: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: _header_section(assessment),
        "overall": lambda: _overall_section(assessment),
        "classes": lambda: _class_section(assessment),
    }
    if 2 < len(assessment.classes) <= MAX_PAIRED_CLASSES:
        section_functions["pairs"] = lambda: _pair_section(assessment)
    if assessment._rows.has_posteriors:
        section_functions["brier"] = lambda: _brier_section(assessment)
    table = _calibration_table_if_fast(assessment)
    if table is not None:
        section_functions["calibrated"] = partial(_calibrated_section, assessment, table)
    section_functions["confusion"] = lambda: Section(
        "Actual classes (rows) by predicted classes",
        assessment.confusion.rename_axis(index=None, columns=None),
        "count",
        source=".confusion",
    )
    return summarize(f"Assessment: {assessment._fit.title_in_sentence}", section_functions, sections)


def _header_section(assessment: Assessment) -> Pairs:
    """Return the first section: numbers of rows, and notes on the method, the prior and absent classes."""
    rows = assessment._rows
    prior = "class proportions of the rows" if assessment.prior is None else "another prior, see below"
    items: list[HeaderItem] = [
        HeaderItem(
            "Sum of weights" if rows.has_weights else "Observations",
            assessment.nobs,
            f"{assessment.nobs:.10g}",
        ),
        HeaderItem("Without a class", assessment.unlabelled),
        HeaderItem("Without a prediction", assessment.unpredicted),
        HeaderItem("Weighted by", prior),
    ]
    notes = [f"Evaluated: {rows.method_description}."]
    if rows.method in ("loo", "cv"):
        counts = assessment._counts.sum(axis=1)
        notes.append(absent_classes_note(assessment.classes[(counts > 0) & (counts <= 1)]))
    if assessment.prior is not None and len(assessment.prior) <= MAX_CLASSES_WITH_INTERVALS:
        prior_text = ", ".join(
            f"{format_value(label)} {probability:.4g}" for label, probability in assessment.prior.items()
        )
        notes.append(f"Figures are weighted by this prior: {prior_text}.")
    elif assessment.prior is not None:
        notes.append("Figures are weighted by the prior: see .prior.")
    if len(assessment.classes) == 2:
        notes.append(f"The positive class is {format_value(assessment.classes[1])}.")
    if rows.decision.cut_off is not None:
        threshold = float(posterior_of_log_odds(np.array(rows.decision.cut_off)))
        notes.append(f"It is predicted if its posterior is at least {threshold:.4g}.")
    elif rows.decision.costs is not None:
        notes.append("Predicted classes minimize the expected cost.")
    if assessment.absent:
        is_single = len(assessment.absent) == 1
        notes.append(
            f"No observation is of class {join_labels(assessment.absent)}: its figures are missing, and "
            "means over classes omit it."
            if is_single
            else f"No observation is of the classes {join_labels(assessment.absent)}: their figures are "
            "missing, "
            "and means over classes omit them."
        )
    return Pairs(assessment._fit.formula, items, " ".join(filter(None, notes)))


def interval_headings(level: float) -> dict[str, str]:
    """Return the headings of the columns se, low and high: "std err" and, for example, "[0.025", "0.975]"."""
    tail = (1 - level) / 2
    return {"se": "std err", "low": f"[{tail:.4g}", "high": f"{1 - tail:.4g}]"}


def _overall_section(assessment: Assessment) -> Section:
    """Return the section of `Assessment.overall`, with notes on the definitions of the measures."""
    table = assessment.overall
    notes = []
    if "AUC" in table.index:
        first, second = (format_value(label) for label in assessment.classes[:2])
        area_note = (
            f"The area is for {second} against {first} (DeLong)."
            if len(assessment.classes) == 2
            else "The area is the mean over all pairs of classes (Hand & Till, 2001)."
        )
        notes.append(area_note)
    if assessment._rows.has_posteriors:
        notes.append(
            "The Brier score is the sum over classes"
            + (", twice the score of one class." if _is_binary(assessment) else ".")
        )
        if table["estimate"]["log loss"] == float("inf"):
            notes.append(
                "The log loss is infinite, because an observation has probability zero in its own class."
            )
        slope = table["estimate"]["calibration slope"]
        slope_note = (
            "A slope below one means that probabilities are too extreme, above one that they are too cautious"
        )
        if pd.isna(slope):
            slope_note += (
                "; it is missing, because probabilities separate the classes, some are zero, or "
                "classes lack rows"
            )
        notes.append(f"{slope_note}.")
    return Section(
        "All classes",
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=interval_headings(assessment._level),
        note=" ".join(notes),
        source=".overall",
    )


MAX_CALIBRATED_SCORES = 2**13
"""Largest number of rows by classes for which a summary shows calibrated posteriors."""


def _calibration_table_if_fast(assessment: Assessment) -> pd.DataFrame | None:
    """Return the table `Assessment.calibrated` if it is fast to compute, else None.

    It is fast for at most `MAX_CALIBRATED_SCORES` rows by classes, if the rows were left out or the fit has
    computed its calibration already. None also if the rows cannot be calibrated (DataError).
    """
    left_out = assessment._rows.method in ("loo", "cv")
    size = len(assessment.classes) * assessment._counts.sum()
    if size > MAX_CALIBRATED_SCORES or not (left_out or CALIBRATOR_KEY in assessment._fit.cache):
        return None
    try:
        table: pd.DataFrame = assessment.calibrated
    except DataError:
        return None
    return table


def _calibrated_section(assessment: Assessment, table: pd.DataFrame) -> Section:
    """Return the section of the losses without and with calibration, the table `Assessment.calibrated`."""
    how = (
        "by the calibration of the fit"
        if assessment._rows.method in ("new", "apparent")
        else "each observation by a calibration that was fitted to others"
    )
    return Section(
        "Posteriors without and with calibration",
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=interval_headings(assessment._level),
        note=f'Calibrated as in predict_proba(method="calibrated"), {how}. A negative difference is in '
        "favour of calibration. Standard errors assume independent observations.",
        source=".calibrated",
    )


def _is_binary(assessment: Assessment) -> bool:
    """Return whether the fit has two classes."""
    return len(assessment.classes) == 2


def _class_section(assessment: Assessment) -> Section:
    """Return the section of the measures of each class against the rest, the table `Assessment.by_class`.

    For more than `MAX_CLASSES_WITH_INTERVALS` classes it has the estimates only, classes by measures.
    """
    table = assessment.by_class
    prior_text = "" if assessment.prior is None else " under this prior"
    note = (
        f"Predictive values are proportions of the observations predicted to be in the class, or in another "
        f"one{prior_text}; areas are for the class against the rest, in the proportions of the observations, "
        "with DeLong's standard errors."
    )
    if len(assessment.classes) > MAX_CLASSES_WITH_INTERVALS:
        measures = table.index.get_level_values("measure")[: len(table) // len(assessment.classes)]
        estimates = table["estimate"].unstack(sort=False).loc[assessment.classes, list(measures)]
        return Section(
            "Each class against the rest",
            estimates.rename_axis(index=None, columns=None),
            dict.fromkeys(estimates.columns, "share"),
            headings={"positive predictive value": "PPV", "negative predictive value": "NPV"},
            note=f"{note} Standard errors and intervals: .by_class.",
            source=".by_class",
        )
    return Section(
        "Each class against the rest",
        table.rename_axis([None, None]),
        dict.fromkeys(table.columns, "share"),
        headings=interval_headings(assessment._level),
        note=note,
        source=".by_class",
    )


def _pair_section(assessment: Assessment) -> Section:
    """Return the section of the areas under the ROC curves, the table `Assessment.pairs`."""
    table = assessment.pairs
    return Section(
        "Areas under the ROC curves of pairs of classes",
        table.rename_axis([None, None]),
        dict.fromkeys(table.columns, "share"),
        headings=interval_headings(assessment._level),
        source=".pairs",
    )


def _brier_section(assessment: Assessment) -> Section:
    """Return the section of the Brier score and its components, the table `Assessment.brier`."""
    formats: dict[Any, Any] = dict.fromkeys(assessment.brier.columns, "share") | {"bins": "count"}
    return Section(
        "Brier score and its components",
        assessment.brier.rename_axis(None),
        formats,
        note=f"In at most {assessment._bins} bins with equal counts: brier = reliability - resolution + "
        "uncertainty + within variance - within covariance, exactly (Murphy, 1973; Stephenson et al., 2008).",
        source=".brier",
    )
