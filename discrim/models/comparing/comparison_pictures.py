"""Pictures of choices and comparisons: steps, errors by fold, differences of two models by fold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.models.fits.arguments import told

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["confusion", "differences", "folds", "permutations", "steps"]

CRITERIA = {
    "wilks": "Wilks' lambda",
    "mahalanobis": "Smallest D2 between two classes",
    "maxminf": "Smallest F between two classes",
    "rao": "Rao's V",
    "cv": "Cross-validated error, ± one standard error",
    "aic": "AIC",
    "bic": "BIC",
}
SIGN = {"entered": "+ ", "removed": "\u2212 ", "included": "", "start": ""}


def steps(results: Any, asked: Asked) -> Axes:
    """The criterion after each step of a choice of terms."""
    from discrim.report.plots.steps import steps as draw

    table, by_error = results.steps, results.criterion == "cv"
    column = {"cv": "error", "aic": "AIC", "bic": "BIC"}.get(results.criterion, results.criterion)
    value = table[column].to_numpy(dtype=np.float64)
    spread = table["se"].to_numpy(dtype=np.float64) if by_error else np.full(len(table), np.nan)
    texts = [f"{count} in" for count in table["terms_in"]]
    if "F" in table:
        texts = [f"F {f:.3g}, p {_tail(p)}" for f, p in zip(table["F"], table["p"], strict=True)]
    held = pd.DataFrame({"value": value, "low": value - spread, "high": value + spread, "text": texts})
    held["name"] = [SIGN[row.action] + row.term for row in table.itertuples()]
    count = len(results.selected)
    title = f"Steps of the choice of terms: {count} chosen"
    if not len(held):
        title = "No term was chosen"
    signs = asked.signs([results.criterion])
    return draw(held, (CRITERIA[results.criterion], title), ax=asked.ax, signs=signs)


def _tail(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-15 else "< 1e-15"


def folds(found: Any, asked: Asked) -> Axes:
    """Error of each fold, and the mean."""
    from discrim.report.plots.folds import by_fold as draw

    row = found.table().loc["error"]
    mean = float(row["estimate"]), float(row["low"]), float(row["high"])
    names = ("Error; the mean with its 95 % interval", f"Cross-validated error of {_called(found)}, by fold")
    signs = asked.signs([_called(found)])
    return draw(found.by_fold["error"], mean, names, ax=asked.ax, signs=signs)


def confusion(found: Any, asked: Asked) -> Axes:
    """Actual by predicted classes, the mean over repeats."""
    from discrim.models.pictures.judged import drawn_confusion

    return drawn_confusion(found.confusion, "cross-validated", asked)


def permutations(found: Any, asked: Asked) -> Axes:
    """Hit rates of shuffled labels, and that of the labels seen."""
    from discrim.report.plots.permuted import permuted as draw

    test = found.permutations
    if test is None:
        raise DataError(
            "kind='permutations' draws a permutation test, and none was made: pass permutations=999 to "
            "cross_validate()."
        )
    title = f"Hit rates of {_called(found)} by chance, and of the true labels"
    names = (f"Cross-validated hit rate, labels shuffled among {test.shuffled}", title)
    said = f"p {_tail(test.pvalue)}"
    return draw(test.rates, test.estimate, said, names, ax=asked.ax, signs=asked.signs([_called(found)]))


def differences(found: Any, asked: Asked) -> Axes:
    """Error less that of another model, fold by fold."""
    from discrim.models.comparing.cross_comparison import fold_differences, on_same_folds, paired
    from discrim.report.plots.folds import by_fold as draw

    other = asked.other
    if other is None:
        raise DataError("kind='differences' compares with another model: pass other=, a fit.")
    if hasattr(other, "_fit") and not hasattr(other, "by_fold"):
        other = on_same_folds(found, other)
    if not hasattr(other, "by_fold"):
        raise DataError(f"other={told(other)}: pass a fit, or what cross_validate() gives of one.")
    values = fold_differences(found, other)
    test = paired([found, other], ["a", "b"]).iloc[0]
    mean = float(values.mean()), float(test["low"]), float(test["high"])
    a, b = _called(found), _called(other)
    a, b = (f"{a} (1)", f"{b} (2)") if a == b else (a, b)
    names = (
        f"Error of {a} less that of {b}",
        f"Differences by fold of {a} and {b}; the mean with its corrected 95 % interval",
    )
    return draw(values, mean, names, ax=asked.ax, signs=asked.signs([a]), zero=True)


def _called(found: Any) -> str:
    held: str = found._fit.model.name
    return held
