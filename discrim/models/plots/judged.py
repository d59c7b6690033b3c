"""Plots of predictions and their quality: confusion matrix, ROC curves, calibration, posteriors, log odds.

Each plot is a function with the decorator `plot`; the functions named `assessed_...` draw an `Assessment`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import posteriors as posteriors_of
from discrim.design.rows import used_codes
from discrim.errors import DataError, NotSupportedError
from discrim.inference.calibration import calibration_bins
from discrim.inference.error_rates import confusion_table
from discrim.inference.roc import Curve, rectangle_limits, roc_area, roc_curve, thinned
from discrim.models.base.labels import class_code
from discrim.models.base.reading import check_word, listed, told
from discrim.models.base.scores import posterior_frame
from discrim.models.evaluation.assessment import (
    COUNTING,
    Counting,
    JudgingPlan,
    assessed,
    choice_of,
    has_chosen_columns,
    judged_codes,
    methods_to_judge,
    refuse_none,
)
from discrim.models.plots.pictured import has_no_rows, moments_of, needed_rows, plot, pointed_rows
from discrim.report.plots import interactive
from discrim.report.plots import judged as drawn
from discrim.report.plots.bars import draw_forest
from discrim.report.plots.columns import draw_log_determinants
from discrim.report.plots.planes import draw_simplex
from discrim.report.plots.style import MOST_IN_LEGEND, shown_name

if TYPE_CHECKING:
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.pictured import PictureOptions
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes

MAX_FOLDS = 10
"""Largest number of folds for a plot."""

T = TypeVar("T")

STEPS = 20
"""Number of bins of the histogram below a calibration plot."""


class JudgedBy(NamedTuple):
    """Description of how rows were predicted, for a title.

    Attributes
    ----------
    way : str
        Method, such as "leave-one-out".
    held : str
        Choices by all rows that were not repeated without the rows left out; may be empty.
    """

    way: str
    held: str = ""

    def __str__(self) -> str:
        return f"{self.way}, {self.held}" if self.held else self.way


class LabelledScores(NamedTuple):
    """Labelled rows with the values that are compared with their classes.

    Attributes
    ----------
    codes : (m,) int
        Actual class.
    values : (m, K) float
        Log odds of each class against the rest; for models without posteriors the values of the rule.
    weights : (m,) float
    judged_by : JudgedBy
    level : float
        Level of intervals.
    """

    codes: Codes
    values: Floats
    weights: Floats
    judged_by: JudgedBy
    level: float


@plot("confusion", "counts of actual by predicted classes", takes=("method",))
def confusion(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw the confusion matrix."""

    def judge(method: Counting, plan: JudgingPlan) -> tuple[Codes, Codes, Floats | None]:
        return judged_codes(fit, options.data, method, plan)

    (actual, predicted, weights), judged_by = _judge(fit, options, judge)
    refuse_none((actual >= 0) & (predicted >= 0))
    return draw_confusion_of(
        confusion_table(actual, predicted, fit.classes, weights), str(judged_by), options
    )


def draw_confusion_of(table: pd.DataFrame, way: str, options: PictureOptions) -> Axes:
    """Draw a confusion matrix, with the method in its title."""
    title = f"Actual and predicted classes, {way}\n{said_of(table)}"
    return drawn.draw_confusion(table, title, ax=options.ax, colormap=options.colormap("confusion"))


def said_of(table: pd.DataFrame) -> str:
    """Describe the number of misclassified rows in a confusion matrix."""
    counts = table.to_numpy(dtype=np.float64)
    whole = float(counts.sum())
    wrong = float(counts.sum() - np.trace(counts))
    share = f" ({100 * wrong / whole:.1f} %)" if whole else ""
    return f"{wrong:,.7g} of {whole:,.7g} rows wrong{share}"


@plot("confusion", "counts of actual by predicted classes", data=False)
def assessed_confusion(assessment: Any, options: PictureOptions) -> Axes:
    """Draw the confusion matrix of an assessment."""
    return draw_confusion_of(assessment.confusion, str(_assessed_by(assessment)), options)


@plot(
    "roc",
    "ROC curves with the areas under them, of each class against the rest",
    takes=("method", "level", "classes", "label"),
)
def roc(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw ROC curves of the named classes, by default of the second of two or each against the rest."""
    return _roc(fit, _judged(fit, options), options)


@plot("roc", "ROC curves with bands, and the areas under them", takes=("classes", "label"), data=False)
def assessed_roc(assessment: Any, options: PictureOptions) -> Axes:
    """Draw ROC curves of the rows of an assessment."""
    return _roc(assessment._fit, _of_assessment(assessment), options)


def _roc(fit: FittedModel[Any], rows: LabelledScores, options: PictureOptions) -> Axes:
    """Draw ROC curves, with bands if the classes are named."""
    classes = fit.classes
    curves = {}
    areas = {}
    shown = _shown_classes(classes, options)
    for k in shown:
        own = rows.codes == k
        areas[classes[k]] = roc_area(rows.values[:, k], own, rows.weights, rows.level)
        if not np.isnan(areas[classes[k]].auc):
            whole = thinned(roc_curve(rows.values[:, k], own, rows.weights))
            sides = float(rows.weights[~own].sum()), float(rows.weights[own].sum())
            curves[classes[k]] = _points(whole, sides, rows.level)
    table = pd.DataFrame.from_dict(areas, orient="index", columns=["auc", "se", "low", "high"])
    which = "each class" if len(shown) == len(classes) else f"{len(shown)} of {len(classes)} classes"
    title = f"ROC curves of {which} against the rest"
    if len(shown) == 1:
        other = shown_name(classes[1 - shown[0]]) if len(classes) == 2 else "the rest"
        title = f"ROC curve of {shown_name(classes[shown[0]])} against {other}"
    look: dict[str, Any] = {"signs": options.signs(list(classes)), "places": shown}
    look["bands"] = options.classes is not None
    source = drawn.CurveSource(title, fit.spec.name, *rows.judged_by, options.label)
    return drawn.draw_roc(curves, table, source, ax=options.ax, level=rows.level, **look)


def _shown_classes(classes: pd.Index, options: PictureOptions) -> list[int]:
    """Return the positions of the classes with a curve: named ones, the second of two, or all."""
    if options.classes is not None:
        return [class_code(label, classes) for label in options.classes]
    return [1] if len(classes) == 2 else list(range(len(classes)))


def _points(curve: Curve, sides: tuple[float, float], level: float) -> pd.DataFrame:
    """Return the points of a ROC curve with the confidence limits of both rates.

    Parameters
    ----------
    curve : Curve
    sides : (float, float)
        Numbers of rows of other classes and of the class.
    level : float
    """
    limits = [
        rectangle_limits(share, rows, level)
        for share, rows in zip((curve.false_positive, curve.true_positive), sides, strict=True)
    ]
    shares = {"false_positive": curve.false_positive, "true_positive": curve.true_positive}
    ends = ("false_low", "false_high", "true_low", "true_high")
    return pd.DataFrame(shares | dict(zip(ends, [*limits[0], *limits[1]], strict=True)))


@plot("calibration", "predicted probabilities against observed shares", takes=("method", "level", "classes"))
def calibration(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw predicted probabilities against observed proportions."""
    fit.need_posteriors("kind='calibration'")
    return _calibration(results.classes, _judged(fit, options), 10, options)


@plot(
    "calibration",
    "predicted probabilities against observed shares, with bands",
    takes=("classes",),
    data=False,
)
def assessed_calibration(assessment: Any, options: PictureOptions) -> Axes:
    """Draw the calibration of an assessment."""
    assessment._fit.need_posteriors("kind='calibration'")
    return _calibration(assessment.classes, _of_assessment(assessment), assessment._bins, options)


def _calibration(classes: pd.Index, rows: LabelledScores, most: int, options: PictureOptions) -> Axes:
    """Draw a calibration plot.

    Parameters
    ----------
    classes : Index of length K
    rows : LabelledScores
    most : int
        Largest number of bins.
    options : PictureOptions
    """
    with np.errstate(over="ignore"):
        proba = 1 / (1 + np.exp(-rows.values))
    what = "Predicted probability of the class"
    shown = _shown_classes(classes, options)
    if len(classes) > MOST_IN_LEGEND and options.classes is None:
        best = np.argmax(rows.values, axis=1)
        parts = {"the class predicted": (proba.max(axis=1, initial=0.0), best == rows.codes)}
        what = "Probability of the class that is predicted"
        shown = [0]
    else:
        parts = {classes[k]: (proba[:, k], rows.codes == k) for k in shown}
        if len(shown) == 1:
            what = f"Predicted probability of {shown_name(classes[shown[0]])}"
    edges = np.linspace(0.0, 1.0, STEPS + 1)
    bins = {}
    counts = {}
    for label, (p, true) in parts.items():
        calibrated = calibration_bins(p, true, most, rows.weights, rows.level)
        names = ("predicted", "observed", "low", "high")
        bins[label] = pd.DataFrame({name: getattr(calibrated, name) for name in names})
        counts[label] = pd.Series(np.histogram(p, edges, weights=rows.weights)[0], index=edges[:-1])
    said = what, f"Observed share, {100 * rows.level:g} % intervals"
    look: dict[str, Any] = {"signs": options.signs(list(classes)), "places": shown}
    look["bands"] = options.classes is not None
    return drawn.draw_calibration(bins, counts, f"Calibration, {rows.judged_by}", said, ax=options.ax, **look)


def _judge(
    fit: FittedModel[Any], options: PictureOptions, judge: Callable[[Counting, JudgingPlan], T]
) -> tuple[T, JudgedBy]:
    """Predict rows by the method of the options, or by the first method that the fit supports.

    By default folds fix choices such as a penalty, because repeating them in each fold is as slow as many
    fits. Choices are repeated if the user requested folds, and choices of columns always.

    Parameters
    ----------
    fit : FittedModel
    options : PictureOptions
        `data` are new rows; by default the rows of the fit are left out, if possible.
    judge : callable
        Function of a method and a plan that predicts rows. It raises NotSupportedError if the fit does not
        support the method.

    Returns
    -------
    judged : object
        The value that `judge` returned.
    judged_by : JudgedBy
    """
    check_word("method", options.method, COUNTING, optional=True)
    given: Any = options.method
    if options.data is not None or not fit.has_rows:
        return judge(given or "apparent", JudgingPlan(seed=0)), JudgedBy("new rows")
    nested = given is not None or has_chosen_columns(fit)
    *preferred, last = (given,) if given else methods_to_judge(fit)
    for method in preferred:
        with suppress(NotSupportedError):
            plan = _plan(fit, method, nested=nested)
            return judge(method, plan), _judged_by(fit, method, plan)
    plan = _plan(fit, last, nested=nested)
    return judge(last, plan), _judged_by(fit, last, plan)


def _plan(fit: FittedModel[Any], method: Counting, *, nested: bool) -> JudgingPlan:
    """Return a plan with at most as many folds as rows, which are counted only for "cv"."""
    folds = min(MAX_FOLDS, int((used_codes(fit.design_rows) >= 0).sum())) if method == "cv" else MAX_FOLDS
    return JudgingPlan(folds=folds, seed=0, nested=nested)


def _judged_by(fit: FittedModel[Any], method: Counting, plan: JudgingPlan) -> JudgedBy:
    """Describe how the rows of the fit were predicted."""
    if method == "apparent":
        return JudgedBy("apparent (rows of the fit)")
    way = "leave-one-out" if method == "loo" else f"{plan.folds}-fold cross-validation"
    return JudgedBy(way, f"{fit.choice} held" if choice_of(fit, method, nested=plan.nested) == "held" else "")


def _judged(fit: FittedModel[Any], options: PictureOptions) -> LabelledScores:
    """Return labelled rows with scores, by the method of the options."""
    level = 0.95 if options.level is None else options.level

    def judge(method: Counting, plan: JudgingPlan) -> Any:
        return assessed(fit, options.data, method, replace(plan, level=level)).value()

    rows, judged_by = _judge(fit, options, judge)
    return LabelledScores(rows.codes, rows.values, rows.weights, judged_by, level)


def _of_assessment(assessment: Any) -> LabelledScores:
    """Return the labelled rows of an assessment with scores."""
    rows = assessment._assessed()
    return LabelledScores(rows.codes, rows.values, rows.weights, _assessed_by(assessment), assessment._level)


def _assessed_by(assessment: Any) -> JudgedBy:
    """Describe how the rows of an assessment were predicted."""
    rows = assessment._rows
    if rows.method == "new":
        return JudgedBy("new rows")
    return _judged_by(assessment._fit, rows.method, JudgingPlan(folds=rows.folds))


@plot("posteriors", "posterior of each row's own class, by class", takes=("interactive",))
def posteriors(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes | Figure:
    """Draw the posterior of the actual class of each row."""
    rows = needed_rows(fit, options, "posteriors")
    proba = posterior_frame(rows.blocks, fit.rule(), fit.classes, posteriors_of)
    if options.interactive:
        return interactive.posteriors_figure(proba, pointed_rows(fit, rows, options))
    return drawn.draw_posteriors(proba, rows.labels, ax=options.ax, signs=options.signs(fit.classes))


@plot("log_determinants", "log-determinants of the covariances, with intervals", data=False)
def log_determinants(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw the log-determinants of the covariances with their intervals."""
    signs = options.signs(results.classes)
    return draw_log_determinants(results.log_determinants(), ax=options.ax, signs=signs)


MOST_LINES = 40
"""Largest number of coefficients that are drawn; of more, the ones with the largest |z|."""


@plot(
    "forest",
    "log odds with their intervals",
    takes=("level", "standardized"),
    data=False,
    default_if=has_no_rows,
)
def forest(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw log odds of the classes against the reference, with intervals and without constants."""
    return _drawn(results, fit, options, ratios=False)


@plot("odds_ratios", "odds ratios with their intervals", takes=("level", "standardized"), data=False)
def odds_ratios(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Draw odds ratios for one unit or one standard deviation of a column, with intervals."""
    return _drawn(results, fit, options, ratios=True)


def _drawn(results: Any, fit: FittedModel[Any], options: PictureOptions, *, ratios: bool) -> Axes:
    """Draw log odds or odds ratios with intervals.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PictureOptions
    ratios : bool
        Whether to draw odds ratios.
    """
    level = 0.95 if options.level is None else options.level
    table = results.log_odds(level=level).drop("constant", level="term")
    if not len(table):
        raise DataError(
            "The model has constants alone, and no log odds of terms.", hint="Add terms to the formula."
        )
    labels = table.index.get_level_values(0)
    (reference,) = [label for label in results.classes if label not in set(labels)]
    every = len(table)
    shown = largest(table, MOST_LINES)
    values = shown[["coef", "low", "high"]].to_numpy(dtype=np.float64)
    if options.standardized:
        deviations = _deviations(fit, options, list(results.terms))
        values = values * deviations[shown.index.get_level_values("term")].to_numpy()[:, None]
    with np.errstate(over="ignore"):
        values = np.exp(values) if ratios else values
    held = pd.DataFrame(values, columns=["estimate", "low", "high"])
    held.insert(0, "class", shown.index.get_level_values(0))
    held.insert(1, "term", shown.index.get_level_values(1))
    if len(results.classes) > MOST_IN_LEGEND:
        held["term"] = [f"{term}, {label}" for label, term in zip(held["class"], held["term"], strict=True)]
    what = "Odds ratio" if ratios else "Log odds"
    of = f" of {shown_name(labels[0])}" if labels.nunique() == 1 else ""
    title = f"{what}s" if ratios else what
    title += f"{of} against {shown_name(reference)}, {100 * level:g} % intervals"
    if every > len(held):
        title += f"\nthe {len(held)} of {every} with the largest |z|"
    unit = "standard deviation" if options.standardized else "unit"
    names = (f"{what} for one {unit} of the column", title)
    signs = options.signs(results.classes)
    return draw_forest(held, list(results.classes), names, ax=options.ax, signs=signs, ratios=ratios)


def _deviations(fit: FittedModel[Any], options: PictureOptions, terms: list[str]) -> pd.Series:
    """Return the standard deviations of terms over all rows."""
    moments = moments_of(fit, options, terms)
    if moments is None:
        raise NotSupportedError(
            "standardized=True needs standard deviations of the columns, which a loaded fit of this "
            "model does not have.",
            hint="Leave it out, or fit anew.",
        )
    shares = moments.counts / moments.total
    gaps = moments.means - shares @ moments.means
    squares = moments.squares.sum(axis=0) + moments.counts @ gaps**2
    return pd.Series(np.sqrt(squares / (moments.total - 1)) / moments.scale, index=terms)


def largest(table: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the rows of a table of log odds, sorted by term, or the `most` rows with the largest |z|."""
    labels, terms = (table.index.get_level_values(i) for i in (0, 1))
    if len(table) > most:
        z = np.nan_to_num(np.abs(table["z"].to_numpy(dtype=np.float64)), posinf=0.0)
        return table.iloc[np.argsort(-z, kind="stable")[:most]]
    first = {term: i for i, term in reversed(list(enumerate(terms)))}
    places = [first[term] for term in terms]
    return table.iloc[np.lexsort((pd.factorize(labels)[0], np.array(places)))]


@plot("simplex", "three posteriors as points in a triangle", takes=("classes", "interactive"))
def simplex(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes | Figure:
    """Draw the posteriors of three classes in a triangle, conditional on these three if there are more."""
    classes = list(fit.classes)
    if len(classes) < 3:
        raise NotSupportedError(
            "kind='simplex' draws three posteriors, and this fit has two.", hint="Use kind='posteriors'."
        )
    chosen = list(fit.rows_by_class.sort_values(ascending=False, kind="stable").index[:3])
    chosen = [label for label in classes if label in chosen]
    if options.classes is not None:
        chosen = list(options.classes)
        if len(chosen) != 3 or len(set(chosen)) != 3:
            raise DataError(
                f"classes={told(options.classes)} is not valid.",
                hint=f"Name three different classes of {listed(classes)}.",
            )
    codes = [class_code(label, fit.classes) for label in chosen]
    rows = needed_rows(fit, options, "simplex")
    proba = posterior_frame(rows.blocks, fit.rule(), fit.classes, posteriors_of)
    shown = np.isin(rows.codes, codes) if len(classes) > 3 else np.full(len(proba), True)
    three = np.where(shown[:, None], proba.iloc[:, codes].to_numpy(), np.nan)
    total = three.sum(axis=1, keepdims=True)
    shares = np.divide(three, total, out=np.full_like(three, np.nan), where=total > 0)
    given = f"given that a row is of one of these 3 of {len(classes)} classes" if len(classes) > 3 else ""
    three_shares = pd.DataFrame(shares, columns=chosen)
    if options.interactive:
        return interactive.simplex_figure(three_shares, pointed_rows(fit, rows, options), given)
    signs = options.signs(classes)
    if len(classes) != 3:
        # The three classes have the same colours as in plots of all classes.
        signs = type(signs)(tuple(signs.colour(k) for k in codes))
    axes = draw_simplex(three_shares, rows.labels, ax=options.ax, signs=signs)
    if given:
        axes.set_title(f"{axes.get_title()}\n{given}")
    return axes


ASSESSMENT_PLOTS = (assessed_confusion, assessed_roc, assessed_calibration)
"""Plots of an assessment."""
