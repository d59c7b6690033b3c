"""Plots of a cross-validation: errors by fold, confusion, permutation test, differences between models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discrim.errors import DataError
from discrim.models.base.reading import format_argument
from discrim.models.plots.evaluation import draw_confusion_table
from discrim.models.plots.plottable import plot
from discrim.models.selection.comparison import compare_pairs, cross_validate_on_same_folds, fold_differences
from discrim.models.selection.cross_validation import verb_name
from discrim.report.plots.evaluation import draw_by_fold, draw_permutations

if TYPE_CHECKING:
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


@plot("folds", "error of each fold and the mean", data=False)
def folds(cv: Any, options: PlotOptions) -> Axes:
    """Plot the error of each fold and the mean, with its 95 percent interval."""
    row = cv.table().loc["error"]
    mean = float(row["estimate"]), float(row["low"]), float(row["high"])
    names = ("Error; the mean with its 95 % interval", f"Cross-validated error of {verb_name(cv)}, by fold")
    signs = options.signs([verb_name(cv)])
    return draw_by_fold(cv.by_fold["error"], mean, names, ax=options.ax, signs=signs)


@plot("confusion", "counts of actual by predicted classes", data=False)
def confusion(cv: Any, options: PlotOptions) -> Axes:
    """Plot the confusion matrix: counts of actual by predicted classes, averaged over repeats."""
    return draw_confusion_table(cv.confusion, "cross-validated", options)


@plot("permutations", "hit rates of shuffled labels, and of the observed labels", data=False)
def permutations(cv: Any, options: PlotOptions) -> Axes:
    """Plot the hit rates of permuted labels and the observed hit rate."""
    test = cv.permutations
    if test is None:
        raise DataError(
            "kind='permutations' requires a permutation test.",
            hint="Pass permutations=999 to cross_validate().",
        )
    title = f"Hit rates of {verb_name(cv)} for permuted and for true labels"
    names = (f"Cross-validated hit rate, labels permuted among {test.permuted_units}", title)
    pvalue = f"p {test.pvalue:.2g}"
    return draw_permutations(
        test.rates, test.estimate, pvalue, names, ax=options.ax, signs=options.signs([verb_name(cv)])
    )


@plot("differences", "error minus the error of another model, by fold", used_options=("other",), data=False)
def differences(cv: Any, options: PlotOptions) -> Axes:
    """Plot the error of each fold minus the error of another model, and the mean with its corrected interval.

    `options.other` is a `CrossValidation`, or a fit, which is cross-validated on the same folds.
    """
    other = options.other
    if other is None:
        raise DataError("kind='differences' requires another model.", hint="Pass a fit as other=.")
    if hasattr(other, "_fit") and not hasattr(other, "by_fold"):
        other = cross_validate_on_same_folds(cv, other)
    if not hasattr(other, "by_fold"):
        raise DataError(
            f"other={format_argument(other)} is not valid.",
            hint="Pass a fit, or the result of cross_validate().",
        )
    values = fold_differences(cv, other)
    test = compare_pairs([cv, other], ["a", "b"]).iloc[0]
    mean = float(values.mean()), float(test["low"]), float(test["high"])
    a = verb_name(cv)
    b = verb_name(other)
    a, b = (f"{a} (1)", f"{b} (2)") if a == b else (a, b)
    names = (
        f"Error of {a} minus error of {b}",
        f"Differences by fold of {a} and {b}; the mean with its corrected 95 % interval",
    )
    return draw_by_fold(values, mean, names, ax=options.ax, signs=options.signs([a]), has_zero_line=True)


PLOTS = (folds, differences, confusion, permutations)
