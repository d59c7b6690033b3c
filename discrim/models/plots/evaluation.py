"""Plots of predictions and their quality: confusion, ROC, precision and recall, calibration, posteriors.

Each plot is a function with the decorator `plot`; the functions named `assessed_...` draw an `Assessment`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import posteriors as posteriors_of
from discrim.errors import DataError, NotSupportedError
from discrim.inference.calibration import calibration_bins
from discrim.inference.error_rates import confusion_table
from discrim.inference.roc import (
    Curve,
    average_precision,
    precision_recall_curve,
    rectangle_limits,
    roc_area,
    roc_curve,
    thin_curve,
    thin_precision_recall,
)
from discrim.models.base.labels import class_code
from discrim.models.base.reading import format_argument, join_labels
from discrim.models.base.scores import posterior_frame, read_cut_off
from discrim.models.evaluation.assessment import (
    CountingMethod,
    EvaluationOptions,
    evaluate_predictions,
    raise_if_no_evaluated_rows,
)
from discrim.models.evaluation.labelled_scores import (
    EvaluationDescription,
    LabelledScores,
    codes_against_rest,
    describe_evaluation,
    evaluate_by_method,
    labelled_scores,
)
from discrim.models.plots.plottable import (
    has_no_rows,
    hover_data,
    moments_of_columns,
    plot,
    require_rows_to_draw,
)
from discrim.report.plots import evaluation as evaluation_plots
from discrim.report.plots import interactive
from discrim.report.plots.bars import draw_forest
from discrim.report.plots.columns import draw_log_determinants
from discrim.report.plots.planes import draw_simplex
from discrim.report.plots.style import MAX_IN_LEGEND, shown_name

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes

N_HISTOGRAM_BINS = 20
"""Number of bins of the histogram below a calibration plot."""


@plot("confusion", "counts of actual by predicted classes", used_options=("method",))
def confusion(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw the confusion matrix of new rows, or of the rows of the fit by a method of `evaluate_by_method`.

    Raises DataError if no row has a class and a prediction.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `data` are new rows; `method` is how the rows of the fit are predicted.
    """

    def evaluate(method: CountingMethod, plan: EvaluationOptions) -> tuple[Codes, Codes, Floats | None]:
        """Return actual and predicted classes (-1 if missing) and weights of the rows by `method`."""
        return evaluate_predictions(fit, options.data, method, plan)

    (actual, predicted, weights), evaluation = evaluate_by_method(fit, options.data, options.method, evaluate)
    raise_if_no_evaluated_rows((actual >= 0) & (predicted >= 0))
    return draw_confusion_table(
        confusion_table(actual, predicted, fit.classes, weights), str(evaluation), options
    )


def draw_confusion_table(table: pd.DataFrame, description: str, options: PlotOptions) -> Axes:
    """Draw a table of actual (rows) by predicted classes; `description` states the method in the title.

    Raises DataError if `options.colors` is not a colormap.
    """
    title = f"Actual and predicted classes, {description}\n{describe_errors(table)}"
    return evaluation_plots.draw_confusion(
        table, title, ax=options.ax, colormap=options.colormap("confusion")
    )


def describe_errors(table: pd.DataFrame) -> str:
    """Describe the errors in a confusion matrix, for example "3 of 150 misclassified (2.0 %)"."""
    counts = table.to_numpy(dtype=np.float64)
    total = float(counts.sum())
    wrong = float(counts.sum() - np.trace(counts))
    percentage = f" ({100 * wrong / total:.1f} %)" if total else ""
    return f"{wrong:,.7g} of {total:,.7g} misclassified{percentage}"


@plot("confusion", "counts of actual by predicted classes", data=False)
def assessed_confusion(assessment: Any, options: PlotOptions) -> Axes:
    """Draw the confusion matrix of an assessment; its method of prediction is in the title."""
    return draw_confusion_table(assessment.confusion, str(_describe_assessment(assessment)), options)


@plot(
    "roc",
    "ROC curves with the areas under them, of each class against the rest",
    used_options=("method", "level", "threshold", "classes", "label"),
)
def roc(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw ROC curves of `options.classes` against the rest; by default the second of two classes, or all.

    Rows are predicted by `options.method`, or are the new rows in `options.data`; `options.level` is the
    level of bands and areas (default 0.95). The point of `options.threshold` is marked.
    """
    return draw_curves_of_scores(fit, _scores_to_draw(fit, options), options, evaluation_plots.ROC)


@plot(
    "precision_recall",
    "precision by recall with the average precision, of each class against the rest",
    used_options=("method", "level", "threshold", "classes", "label"),
)
def precision_recall(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw precision-recall curves of the classes and rows of `roc`, in the proportions of the rows."""
    return draw_curves_of_scores(
        fit, _scores_to_draw(fit, options), options, evaluation_plots.PRECISION_RECALL
    )


@plot(
    "roc",
    "ROC curves with bands, and the areas under them",
    used_options=("threshold", "classes", "label"),
    data=False,
)
def assessed_roc(assessment: Any, options: PlotOptions) -> Axes:
    """Draw ROC curves of the rows of an assessment, of the classes in `options.classes` as in `roc`."""
    return _draw_assessed_curves(assessment, options, evaluation_plots.ROC)


@plot(
    "precision_recall",
    "precision by recall, and the average precision",
    used_options=("threshold", "classes", "label"),
    data=False,
)
def assessed_precision_recall(assessment: Any, options: PlotOptions) -> Axes:
    """Draw precision-recall curves of the rows of an assessment, of the classes as in `roc`."""
    return _draw_assessed_curves(assessment, options, evaluation_plots.PRECISION_RECALL)


def _draw_assessed_curves(assessment: Any, options: PlotOptions, kind: evaluation_plots.CurveKind) -> Axes:
    """Draw curves of an assessment; its cut-off is marked if its classes were predicted by one."""
    rows = _assessment_scores(assessment)
    return draw_curves_of_scores(assessment._fit, rows, options, kind, assessment._rows.decision.cut_off)


def draw_curves_of_scores(
    fit: FittedModel[Any],
    rows: LabelledScores,
    options: PlotOptions,
    kind: evaluation_plots.CurveKind,
    cut_off: float | None = None,
    max_bands: int | None = None,
) -> Axes:
    """Draw ROC or precision-recall curves, ROC with bands if the classes are named or few.

    Curves of classes without rows, or with all rows, are omitted.

    Parameters
    ----------
    fit : FittedModel
    rows : LabelledScores
        Rows with their classes and scores.
    options : PlotOptions
        `classes` are the classes with a curve, each against the rest; by default the second of two, or all.
        `threshold` is a cut-off to mark.
    kind : CurveKind
        `ROC` or `PRECISION_RECALL`.
    cut_off : float, optional
        Log odds to mark without `options.threshold`.
    max_bands : int, optional
        Largest number of classes with bands; by default all that are named, or `MAX_BANDS`.
    """
    classes = fit.classes
    is_roc = kind is evaluation_plots.ROC
    curves = {}
    areas = {}
    class_index = list(codes_against_rest(classes, options.classes).values())
    for k in class_index:
        is_member = rows.codes == k
        labelled = rows.scores[:, k], is_member, rows.weights
        areas[classes[k]] = (roc_area if is_roc else average_precision)(*labelled, rows.level)
        if not np.isnan(areas[classes[k]].auc) and not is_roc:
            precision, recall = thin_precision_recall(*precision_recall_curve(*labelled))
            curves[classes[k]] = pd.DataFrame({"precision": precision, "recall": recall})
        elif not np.isnan(areas[classes[k]].auc):
            curve = thin_curve(roc_curve(*labelled))
            side_weights = float(rows.weights[~is_member].sum()), float(rows.weights[is_member].sum())
            curves[classes[k]] = _curve_points(curve, side_weights, rows.level)
    table = pd.DataFrame.from_dict(areas, orient="index", columns=["auc", "se", "low", "high"])
    classes_text = (
        "each class" if len(class_index) == len(classes) else f"{len(class_index)} of {len(classes)} classes"
    )
    table["share"] = [float(rows.weights[rows.codes == k].sum() / rows.weights.sum()) for k in class_index]
    title = f"{kind.curves} of {classes_text} against the rest"
    if len(class_index) == 1:
        other = shown_name(classes[1 - class_index[0]]) if len(classes) == 2 else "the rest"
        title = f"{kind.curves[:-1]} of {shown_name(classes[class_index[0]])} against {other}"
    style_options: dict[str, Any] = {"signs": options.signs(list(classes)), "class_positions": class_index}
    if max_bands is None:
        max_bands = evaluation_plots.MAX_BANDS if options.classes is None else len(class_index)
    style_options["max_bands"] = max_bands
    source = evaluation_plots.CurveSource(title, fit.spec.name, *rows.evaluation, options.label)
    if options.threshold is not None:
        cut_off = read_cut_off(fit, options.threshold)
    if cut_off is not None:
        style_options["marks"] = {classes[k]: _mark_of_cut_off(rows, cut_off, k, kind) for k in class_index}
    return evaluation_plots.draw_curves(
        kind, curves, table, source, ax=options.ax, level=rows.level, **style_options
    )


def _mark_of_cut_off(
    rows: LabelledScores, cut_off: float, k: int, kind: evaluation_plots.CurveKind
) -> evaluation_plots.CurveMark:
    """Return the mark of a cut-off on the curve of one of two classes.

    Parameters
    ----------
    rows : LabelledScores
        Rows with log odds as scores.
    cut_off : float
        Log odds of the second class at or above which rows are assigned to it.
    k : int
        Position of the class of the curve.
    kind : CurveKind
    """
    is_assigned = (rows.scores[:, 1] >= cut_off) == (k == 1)
    is_member = rows.codes == k
    hits, misses, false_alarms, rejections = (
        float(rows.weights[mask].sum())
        for mask in (
            is_assigned & is_member,
            ~is_assigned & is_member,
            is_assigned & ~is_member,
            ~is_assigned & ~is_member,
        )
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        recall, false_rate, precision = np.divide(
            [hits, false_alarms, hits], [hits + misses, false_alarms + rejections, hits + false_alarms]
        )
    threshold = 1 / (1 + np.exp(-np.float64(cut_off)))
    name = f"cut-off {threshold:.3g}:"
    if kind is evaluation_plots.ROC:
        label = f"{name} sensitivity {recall:.3f},\nspecificity {1 - false_rate:.3f}"
        return evaluation_plots.CurveMark(float(false_rate), float(recall), label)
    # Without an observation that is assigned to the class, there is no precision.
    suffix = "" if np.isnan(precision) else f",\nprecision {precision:.3f}"
    return evaluation_plots.CurveMark(float(recall), float(precision), f"{name} recall {recall:.3f}{suffix}")


def _curve_points(curve: Curve, side_weights: tuple[float, float], level: float) -> pd.DataFrame:
    """Return the points of a ROC curve with confidence limits of both rates, as a DataFrame.

    Parameters
    ----------
    curve : Curve
    side_weights : (float, float)
        Sums of the weights of the rows of other classes, and of the rows of the class.
    level : float
        Joint confidence level of the two limits of a point.

    Returns
    -------
    DataFrame by threshold
        Columns false_positive, true_positive, false_low, false_high, true_low and true_high.
    """
    limits = [
        rectangle_limits(rates, rows, level)
        for rates, rows in zip((curve.false_positive, curve.true_positive), side_weights, strict=True)
    ]
    rates_by_name = {"false_positive": curve.false_positive, "true_positive": curve.true_positive}
    limit_names = ("false_low", "false_high", "true_low", "true_high")
    return pd.DataFrame(rates_by_name | dict(zip(limit_names, [*limits[0], *limits[1]], strict=True)))


@plot(
    "calibration",
    "predicted probabilities against observed proportions",
    used_options=("method", "level", "classes"),
)
def calibration(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw predicted probabilities against observed proportions, in at most 10 bins.

    Raises NotSupportedError for a model without posteriors. Returns the outer axes, whose `child_axes` are
    the curves and a histogram of the probabilities.
    """
    fit.require_posteriors("kind='calibration'")
    return _draw_calibration(results.classes, _scores_to_draw(fit, options), 10, options)


@plot(
    "calibration",
    "predicted probabilities against observed proportions, with bands",
    used_options=("classes",),
    data=False,
)
def assessed_calibration(assessment: Any, options: PlotOptions) -> Axes:
    """Draw the calibration of an assessment, in at most its number of bins; return the outer axes."""
    assessment._fit.require_posteriors("kind='calibration'")
    return _draw_calibration(assessment.classes, _assessment_scores(assessment), assessment._bins, options)


def _draw_calibration(classes: pd.Index, rows: LabelledScores, max_bins: int, options: PlotOptions) -> Axes:
    """Draw a calibration plot, with a histogram of the probabilities below.

    If there are more than `MAX_IN_LEGEND` classes and none is named, one curve compares the largest posterior
    of each row with the proportion of correct predictions.

    Parameters
    ----------
    classes : Index of length K
        Class labels.
    rows : LabelledScores
        Rows with log odds as scores.
    max_bins : int
        Largest number of bins.
    options : PlotOptions
        `classes` are the classes with a curve; by default the second of two, or all of three or more.

    Returns
    -------
    Axes
        Outer axes; their `child_axes` are the curves and the histogram.
    """
    with np.errstate(over="ignore"):
        proba = 1 / (1 + np.exp(-rows.scores))
    x_label = "Predicted probability of the class"
    class_index = list(codes_against_rest(classes, options.classes).values())
    if len(classes) > MAX_IN_LEGEND and options.classes is None:
        best = np.argmax(rows.scores, axis=1)
        series = {"the class predicted": (proba.max(axis=1, initial=0.0), best == rows.codes)}
        x_label = "Probability of the class that is predicted"
        class_index = [0]
    else:
        series = {classes[k]: (proba[:, k], rows.codes == k) for k in class_index}
        if len(class_index) == 1:
            x_label = f"Predicted probability of {shown_name(classes[class_index[0]])}"
    edges = np.linspace(0.0, 1.0, N_HISTOGRAM_BINS + 1)
    bins = {}
    counts = {}
    for label, (p, is_member) in series.items():
        bin_table = calibration_bins(p, is_member, max_bins, rows.weights, rows.level)
        names = ("predicted", "observed", "low", "high")
        bins[label] = pd.DataFrame({name: getattr(bin_table, name) for name in names})
        counts[label] = pd.Series(np.histogram(p, edges, weights=rows.weights)[0], index=edges[:-1])
    axis_labels = x_label, f"Observed share, {100 * rows.level:g} % intervals"
    style_options: dict[str, Any] = {"signs": options.signs(list(classes)), "class_positions": class_index}
    style_options["bands"] = options.classes is not None
    return evaluation_plots.draw_calibration(
        bins, counts, f"Calibration, {rows.evaluation}", axis_labels, ax=options.ax, **style_options
    )


def _scores_to_draw(fit: FittedModel[Any], options: PlotOptions) -> LabelledScores:
    """Return the scores of the rows in `options.data`, or of the rows of the fit by `options.method`."""
    level = 0.95 if options.level is None else options.level
    return labelled_scores(fit, options.data, options.method, level)


def _assessment_scores(assessment: Any) -> LabelledScores:
    """Return the rows of an assessment that have a class and a prediction, with scores and its level."""
    rows = assessment._evaluated_rows()
    evaluation = _describe_assessment(assessment)
    return LabelledScores(
        rows.codes, rows.scores, rows.weights, evaluation, assessment._level, rows.positions
    )


def _describe_assessment(assessment: Any) -> EvaluationDescription:
    """Return "new rows", or the method by which an assessment predicted the rows of its fit."""
    rows = assessment._rows
    if rows.method == "new":
        return EvaluationDescription("new rows")
    return describe_evaluation(assessment._fit, rows.method, EvaluationOptions(folds=rows.folds))


@plot(
    "posteriors", "posterior of the actual class of each observation, by class", used_options=("interactive",)
)
def posteriors(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes | Figure:
    """Draw the posterior of the actual class of each row, by class.

    `options.data` are new rows, and `options.interactive` draws a figure of plotly. Raises NotSupportedError
    without rows and DataError if all classes are missing.
    """
    rows = require_rows_to_draw(fit, options, "posteriors")
    proba = posterior_frame(rows.design_rows, fit.rule(), fit.classes, posteriors_of)
    if options.interactive:
        return interactive.posteriors_figure(proba, hover_data(fit, rows, options))
    return evaluation_plots.draw_posteriors(
        proba, rows.labels, ax=options.ax, signs=options.signs(fit.classes)
    )


@plot("log_determinants", "log-determinants of the covariances, with intervals", data=False)
def log_determinants(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw `results.log_determinants()`, the log-determinants of the class covariances with intervals."""
    signs = options.signs(results.classes)
    return draw_log_determinants(results.log_determinants(), ax=options.ax, signs=signs)


MAX_COEFFICIENTS = 40
"""Largest number of coefficients that are drawn; of more, the ones with the largest |z|."""


@plot(
    "forest",
    "log odds with their intervals",
    used_options=("level", "standardized"),
    data=False,
    default_if=has_no_rows,
)
def forest(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw log odds of the classes against the reference, with intervals and without constants.

    Of more than `MAX_COEFFICIENTS` the ones with the largest |z| are drawn. Raises DataError if the model has
    only constants.
    """
    return _draw_coefficients(results, fit, options, ratios=False)


@plot("odds_ratios", "odds ratios with their intervals", used_options=("level", "standardized"), data=False)
def odds_ratios(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Draw odds ratios for one unit or, with `standardized`, one standard deviation of a column.

    They have intervals; of more than `MAX_COEFFICIENTS` the ones with the largest |z| are drawn. Raises
    DataError if the model has only constants.
    """
    return _draw_coefficients(results, fit, options, ratios=True)


def _draw_coefficients(results: Any, fit: FittedModel[Any], options: PlotOptions, *, ratios: bool) -> Axes:
    """Draw the log odds or odds ratios of the terms with intervals, for the classes against the reference.

    Raises DataError if the model has only constants.

    Parameters
    ----------
    results : ClassifierResults
        Results of a logistic regression, with a method `log_odds`.
    fit : FittedModel
    options : PlotOptions
        `level` is the level of the intervals (default 0.95). With `standardized` coefficients are multiplied
        by the standard deviations of the columns over all rows.
    ratios : bool
        Whether to draw odds ratios, exponentials of the log odds.
    """
    level = 0.95 if options.level is None else options.level
    table = results.log_odds(level=level).drop("constant", level="term")
    if not len(table):
        raise DataError(
            "The model has only constants, and no log odds of terms.", hint="Add terms to the formula."
        )
    labels = table.index.get_level_values(0)
    (reference,) = [label for label in results.classes if label not in set(labels)]
    n_coefficients = len(table)
    drawn_table = select_largest(table, MAX_COEFFICIENTS)
    values = drawn_table[["coef", "low", "high"]].to_numpy(dtype=np.float64)
    if options.standardized:
        sds = _term_sds(fit, options, list(results.terms))
        values = values * sds[drawn_table.index.get_level_values("term")].to_numpy()[:, None]
    with np.errstate(over="ignore"):
        values = np.exp(values) if ratios else values
    estimates = pd.DataFrame(values, columns=["estimate", "low", "high"])
    estimates.insert(0, "class", drawn_table.index.get_level_values(0))
    estimates.insert(1, "term", drawn_table.index.get_level_values(1))
    if len(results.classes) > MAX_IN_LEGEND:
        estimates["term"] = [
            f"{term}, {label}" for label, term in zip(estimates["class"], estimates["term"], strict=True)
        ]
    quantity = "Odds ratio" if ratios else "Log odds"
    class_text = f" of {shown_name(labels[0])}" if labels.nunique() == 1 else ""
    title = f"{quantity}s" if ratios else quantity
    title += f"{class_text} against {shown_name(reference)}, {100 * level:g} % intervals"
    if n_coefficients > len(estimates):
        title += f"\nthe {len(estimates)} of {n_coefficients} with the largest |z|"
    unit = "standard deviation" if options.standardized else "unit"
    names = (f"{quantity} for one {unit} of the column", title)
    signs = options.signs(results.classes)
    return draw_forest(estimates, list(results.classes), names, ax=options.ax, signs=signs, are_ratios=ratios)


def _term_sds(fit: FittedModel[Any], options: PlotOptions, terms: list[str]) -> pd.Series:
    """Return the standard deviations (divisor n - 1) of terms over all rows, in the units of the data.

    Raises NotSupportedError if neither the fit nor rows have the moments.

    Parameters
    ----------
    fit : FittedModel
    options : PlotOptions
    terms : list of str
        Columns of the design.

    Returns
    -------
    Series of float by term
        In the order of `terms`.
    """
    moments = moments_of_columns(fit, options, terms)
    if moments is None:
        raise NotSupportedError(
            "standardized=True requires standard deviations of the columns, which a loaded fit of this "
            "model does not have.",
            hint="Leave out standardized=, or fit the model again.",
        )
    proportions = moments.counts / moments.total
    deviations = moments.means - proportions @ moments.means
    squares = moments.squares.sum(axis=0) + moments.counts @ deviations**2
    return pd.Series(np.sqrt(squares / (moments.total - 1)) / moments.scale, index=terms)


def select_largest(table: pd.DataFrame, max_rows: int) -> pd.DataFrame:
    """Return at most some rows of a table of log odds, the ones with the largest |z|.

    Parameters
    ----------
    table : DataFrame by (class, term)
        Has a column "z".
    max_rows : int
        Largest number of rows.

    Returns
    -------
    DataFrame
        All rows, sorted by term and class in the order of the table; or, if there are more than `max_rows`,
        the ones with the largest |z|, sorted by it.
    """
    labels, terms = (table.index.get_level_values(i) for i in (0, 1))
    if len(table) > max_rows:
        z = np.nan_to_num(np.abs(table["z"].to_numpy(dtype=np.float64)), posinf=0.0)
        return table.iloc[np.argsort(-z, kind="stable")[:max_rows]]
    first = {term: i for i, term in reversed(list(enumerate(terms)))}
    term_order = [first[term] for term in terms]
    return table.iloc[np.lexsort((pd.factorize(labels)[0], np.array(term_order)))]


@plot("simplex", "three posteriors as points in a triangle", used_options=("classes", "interactive"))
def simplex(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes | Figure:
    """Draw the posteriors of three classes in a triangle, conditional on these three if there are more.

    The classes are `options.classes`, or the three with the most rows. If the fit has more classes, only rows
    of the three are drawn. Raises NotSupportedError for two classes and DataError if `classes` does not have
    three labels.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `data` are new rows; `interactive` draws a figure of plotly.
    """
    classes = list(fit.classes)
    if len(classes) < 3:
        raise NotSupportedError(
            "kind='simplex' requires three classes, and this fit has two.", hint="Use kind='posteriors'."
        )
    chosen = list(fit.rows_by_class.sort_values(ascending=False, kind="stable").index[:3])
    chosen = [label for label in classes if label in chosen]
    if options.classes is not None:
        chosen = list(options.classes)
        if len(chosen) != 3 or len(set(chosen)) != 3:
            raise DataError(
                f"classes={format_argument(options.classes)} is not valid.",
                hint=f"Name three different classes of {join_labels(classes)}.",
            )
    codes = [class_code(label, fit.classes) for label in chosen]
    rows = require_rows_to_draw(fit, options, "simplex")
    proba = posterior_frame(rows.design_rows, fit.rule(), fit.classes, posteriors_of)
    is_drawn = np.isin(rows.codes, codes) if len(classes) > 3 else np.full(len(proba), True)
    three_posteriors = np.where(is_drawn[:, None], proba.iloc[:, codes].to_numpy(), np.nan)
    total = three_posteriors.sum(axis=1, keepdims=True)
    proportions = np.divide(
        three_posteriors, total, out=np.full_like(three_posteriors, np.nan), where=total > 0
    )
    condition = f"conditional on these 3 of {len(classes)} classes" if len(classes) > 3 else ""
    three_shares = pd.DataFrame(proportions, columns=chosen)
    if options.interactive:
        return interactive.simplex_figure(three_shares, hover_data(fit, rows, options), condition)
    signs = options.signs(classes)
    if len(classes) != 3:
        # The three classes have the same colours as in plots of all classes.
        signs = type(signs)(tuple(signs.colour(k) for k in codes))
    axes = draw_simplex(three_shares, rows.labels, ax=options.ax, signs=signs)
    if condition:
        axes.set_title(f"{axes.get_title()}\n{condition}")
    return axes


ASSESSMENT_PLOTS = (assessed_confusion, assessed_roc, assessed_precision_recall, assessed_calibration)
"""Plots of an assessment."""
