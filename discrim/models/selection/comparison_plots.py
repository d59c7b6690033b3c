"""Plots of a comparison: ROC and precision-recall curves with one curve for each fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discrim.models.plots.evaluation import draw_curves_of_scores
from discrim.models.plots.plottable import plot
from discrim.report.plots import evaluation as evaluation_plots

if TYPE_CHECKING:
    from discrim.models.plots.plottable import PlotOptions
    from discrim.models.selection.roc_comparison import ComparedFits
    from discrim.report.plots.style import Axes


@plot("roc", "ROC curves of all fits with the areas", used_options=("method", "level", "classes"))
def compared_roc(compared: ComparedFits, options: PlotOptions) -> Axes:
    """Draw the ROC curves of all fits, of `options.classes` against the rest."""
    return _draw_compared_curves(compared, options, evaluation_plots.ROC)


@plot(
    "precision_recall",
    "precision-recall curves of all fits with the average precisions",
    used_options=("method", "level", "classes"),
)
def compared_precision_recall(compared: ComparedFits, options: PlotOptions) -> Axes:
    """Draw the precision-recall curves of all fits, of `options.classes` against the rest."""
    return _draw_compared_curves(compared, options, evaluation_plots.PRECISION_RECALL)


def _draw_compared_curves(
    compared: ComparedFits, options: PlotOptions, kind: evaluation_plots.CurveKind
) -> Axes:
    """Draw the curves of all fits on the same axes, each labelled by the name of its fit.

    Parameters
    ----------
    compared : ComparedFits
    options : PlotOptions
        `data`, `method`, `level`, `classes`, `colors` and `ax`.
    kind : CurveKind
        `ROC` or `PRECISION_RECALL`.
    """
    level = 0.95 if options.level is None else options.level
    scores = compared.shared_scores(options.data, options.method, level)
    # The classes of the scores are in the order of the first fit. Bands apply to single curves, and would
    # suggest that curves of the same observations do not differ.
    fit = compared.fits[0]._fit
    axes = draw_curves_of_scores(fit, scores[0], replace(options, label=compared.names[0]), kind, max_bands=0)
    for name, rows in zip(compared.names[1:], scores[1:], strict=True):
        axes = draw_curves_of_scores(fit, rows, replace(options, ax=axes, label=name), kind, max_bands=0)
    return axes


CURVES = (compared_roc, compared_precision_recall)
