"""Pictures of how a fit judges rows, and of what it is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.rules.rules import posteriors as posteriors_of
from discrim.errors import DataError
from discrim.inference.calibration import calibration_bins
from discrim.inference.roc import Curve, rectangle_limits, roc_area, roc_curve, thinned
from discrim.models.fits.arguments import check_word
from discrim.models.fits.prediction import posterior_frame
from discrim.models.judging.assessed import assessed
from discrim.models.judging.assessment import COUNTING, Plan, judged_codes
from discrim.models.judging.labelled_rows import refuse_none
from discrim.models.pictures.rows import needed_rows
from discrim.report.plots.style import MOST_IN_LEGEND, shown_name

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = [
    "assessed_calibration",
    "assessed_confusion",
    "assessed_roc",
    "calibration",
    "confusion",
    "drawn_confusion",
    "log_determinants",
    "posteriors",
    "roc",
]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

WAYS = {"apparent": "rows of the fit", "loo": "leave-one-out", "cv": "10-fold cross-validation"}

STEPS = 20
"""Intervals of probability of the histogram below a calibration."""


class Judged(NamedTuple):
    """Rows with a class.

    Attributes
    ----------
    codes : (m,) int
    values : (m, K) float
        Log odds of each class against the rest; of models without posteriors what they decide by.
    weights : (m,) float
    way : str
        How they were judged, for the title.
    level : float
    """

    codes: Codes
    values: Floats
    weights: Floats
    way: str
    level: float


def confusion(results: Any, asked: Asked) -> Axes:
    """Counts of actual by predicted classes."""
    from discrim.inference.error_rates import confusion_table

    method, way = _way(asked)
    fit = results._fit
    # The folds are the same each time, and so is the picture.
    actual, predicted, weights = judged_codes(fit, asked.data, method, Plan(seed=0))
    refuse_none((actual >= 0) & (predicted >= 0))
    return drawn_confusion(confusion_table(actual, predicted, fit.classes, weights), way, asked)


def drawn_confusion(table: pd.DataFrame, way: str, asked: Asked) -> Axes:
    """A table of actual by predicted classes, found in a way that the title names."""
    from discrim.report.plots.confusion import confusion as draw

    if asked.colors is not None and not isinstance(asked.colors, str):
        raise DataError("colors= of kind='confusion' is the name of a colormap of matplotlib, as 'viridis'.")
    asked.signs(list(table.index))
    title = f"Actual and predicted classes, {way}\n{said_of(table)}"
    return draw(table, title, ax=asked.ax, colormap=asked.colors)


def said_of(table: pd.DataFrame) -> str:
    """How many rows of a confusion are wrong."""
    counts = table.to_numpy(dtype=np.float64)
    whole, wrong = float(counts.sum()), float(counts.sum() - np.trace(counts))
    share = f" ({100 * wrong / whole:.1f} %)" if whole else ""
    return f"{wrong:,.7g} of {whole:,.7g} rows wrong{share}"


def assessed_confusion(found: Any, asked: Asked) -> Axes:
    """The confusion of an assessment."""
    return drawn_confusion(found.confusion, _said_way(found), asked)


def roc(results: Any, asked: Asked) -> Axes:
    """ROC curves: of the second of two classes, else of each class against the rest."""
    return _roc(results.classes, _judged(results, asked), asked)


def assessed_roc(found: Any, asked: Asked) -> Axes:
    """ROC curves of the rows of an assessment."""
    return _roc(found.classes, _of_assessment(found), asked)


def _roc(classes: pd.Index, rows: Judged, asked: Asked) -> Axes:
    from discrim.report.plots.roc import roc as draw

    curves, areas = {}, {}
    for k in [1] if len(classes) == 2 else range(len(classes)):
        own = rows.codes == k
        areas[classes[k]] = roc_area(rows.values[:, k], own, rows.weights, rows.level)
        if not np.isnan(areas[classes[k]].auc):
            whole = thinned(roc_curve(rows.values[:, k], own, rows.weights))
            sides = float(rows.weights[~own].sum()), float(rows.weights[own].sum())
            curves[classes[k]] = _points(whole, sides, rows.level)
    table = pd.DataFrame.from_dict(areas, orient="index", columns=["auc", "se", "low", "high"])
    two = f"ROC curve of {shown_name(classes[1])} against {shown_name(classes[0])}"
    title = two if len(classes) == 2 else "ROC curves of each class against the rest"
    own = {"signs": asked.signs(list(classes)), "first": int(len(classes) == 2), "level": rows.level}
    return draw(curves, table, f"{title}, {rows.way}", ax=asked.ax, **own)


def _points(curve: Curve, sides: tuple[float, float], level: float) -> pd.DataFrame:
    """Points of a curve of so many other rows and rows of the class, with the limits of both shares."""
    limits = [
        rectangle_limits(share, rows, level)
        for share, rows in zip((curve.false_positive, curve.true_positive), sides, strict=True)
    ]
    return pd.DataFrame(
        {
            "false_positive": curve.false_positive,
            "true_positive": curve.true_positive,
            "false_low": limits[0][0],
            "false_high": limits[0][1],
            "true_low": limits[1][0],
            "true_high": limits[1][1],
        }
    )


def calibration(results: Any, asked: Asked) -> Axes:
    """Predicted probabilities against the shares that were seen."""
    results._fit.need_posteriors("kind='calibration'")
    return _calibration(results.classes, _judged(results, asked), 10, asked)


def assessed_calibration(found: Any, asked: Asked) -> Axes:
    """The calibration of an assessment."""
    found._fit.need_posteriors("kind='calibration'")
    return _calibration(found.classes, _of_assessment(found), found._bins, asked)


def _calibration(classes: pd.Index, rows: Judged, most: int, asked: Asked) -> Axes:
    from discrim.report.plots.calibration import calibration as draw

    with np.errstate(over="ignore"):
        proba = 1 / (1 + np.exp(-rows.values))
    what = "Predicted probability of the class"
    if len(classes) > MOST_IN_LEGEND:
        best = np.argmax(rows.values, axis=1)
        parts = {"the class predicted": (proba.max(axis=1, initial=0.0), best == rows.codes)}
        what = "Probability of the class that is predicted"
    else:
        shown = [1] if len(classes) == 2 else range(len(classes))
        parts = {classes[k]: (proba[:, k], rows.codes == k) for k in shown}
        if len(classes) == 2:
            what = f"Predicted probability of {shown_name(classes[1])}"
    edges = np.linspace(0.0, 1.0, STEPS + 1)
    bins, counts = {}, {}
    for label, (p, true) in parts.items():
        found = calibration_bins(p, true, most, rows.weights, rows.level)
        names = ("predicted", "observed", "low", "high")
        bins[label] = pd.DataFrame({name: getattr(found, name) for name in names})
        counts[label] = pd.Series(np.histogram(p, edges, weights=rows.weights)[0], index=edges[:-1])
    said = what, f"Observed share, {100 * rows.level:g} % intervals"
    title, first = f"Calibration, {rows.way}", int(len(classes) == 2)
    return draw(bins, counts, title, said, ax=asked.ax, signs=asked.signs(list(classes)), first=first)


def _way(asked: Asked) -> tuple[Any, str]:
    """The method asked for, and what it is called."""
    check_word("method", asked.method, COUNTING, optional=True)
    method: Any = asked.method or "apparent"
    return method, WAYS[method] if asked.data is None else "new rows"


def _judged(results: Any, asked: Asked) -> Judged:
    """Rows with a class and scores, by the method asked for."""
    method, way = _way(asked)
    level = 0.95 if asked.level is None else asked.level
    # The folds are the same each time, and so is the picture.
    rows = assessed(results._fit, asked.data, method, Plan(level=level, seed=0))
    return Judged(rows.codes, rows.values, rows.weights, way, level)


def _of_assessment(found: Any) -> Judged:
    rows = found._rows
    return Judged(rows.codes, rows.values, rows.weights, _said_way(found), found._level)


def _said_way(found: Any) -> str:
    """How the rows of an assessment were judged, for a title."""
    rows = found._rows
    return {"cv": f"{rows.folds}-fold cross-validation", "new": "new rows"}.get(rows.method) or WAYS[
        rows.method
    ]


def posteriors(results: Any, asked: Asked) -> Axes:
    """Posterior of each row's own class."""
    from discrim.report.plots import posteriors as pictures

    fit = results._fit
    rows = needed_rows(fit, asked, "posteriors")
    labels = rows.labels
    found = posterior_frame(rows.blocks, fit.rule(), fit.classes, posteriors_of)
    return pictures.posteriors(found, labels, ax=asked.ax, signs=asked.signs(fit.classes))


def log_determinants(results: Any, asked: Asked) -> Axes:
    """Log-determinants of the covariances with their intervals."""
    from discrim.report.plots.log_determinants import log_determinants as draw

    return draw(results.log_determinants(), ax=asked.ax, signs=asked.signs(results.classes))
