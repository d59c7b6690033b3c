"""What is shown of shrunken centroids: the sections of their summary, and its pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Pairs, Section, column_texts
from discrim.report.plots.bars import bar_strips, count_above, draw_errors
from discrim.report.plots.style import new_axes, numbers, set_title
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.naive_bayes.shrunken_centroids import ShrunkenFit
    from discrim.models.base.fit import Fit
    from discrim.models.naive_bayes.shrunken_centroids import ShrunkenCentroidsResults
    from discrim.models.plots.pictured import PictureOptions
    from discrim.report.plots.style import Axes

BRIEF = 10
"""Survivors that the short form shows."""

MOST_SURVIVORS = 30
"""Survivors that the summary shows."""


def shrunken_centroids_sections(results: ShrunkenCentroidsResults, fit: Fit[ShrunkenFit]) -> Sections:
    """Sections of nearest shrunken centroids, in their order."""
    parts: Sections = {"header": _header, "classes": _classes, "path": _path, "survivors": _survivors}
    if fit.path is None:
        del parts["path"]
    return parts


def _header(results: ShrunkenCentroidsResults, fit: Fit[ShrunkenFit]) -> Pairs:
    kind = "median of s" if fit.numbers.offset == "median" else "given"
    left = len(results.selected)
    items: list[tuple[str, Any, str]] = [
        *headers.row_items(fit),
        ("Threshold", results.threshold, f"{results.threshold:.4g}"),
        headers.chosen_item(fit, "cross-validation"),
        (f"Offset s0, {kind}", results.offset, f"{results.offset:.4g}"),
        ("Spread s", "pooled, 1/(N-K)", "pooled, 1/(N-K)"),
        *headers.size_items(fit),
        ("Columns selected", left, str(left)),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = "" if left else "No column is left, so that each posterior is the prior. "
    return headers.header(fit, items, f"{note}{headers.kept_note(fit)}".strip())


def _classes(results: ShrunkenCentroidsResults, fit: Fit[ShrunkenFit]) -> Section:
    used = (fit.numbers.shrunken() != 0).sum(axis=1)
    table = pd.DataFrame(
        {"prior": results.prior, "rows": results.counts, "columns": used}, index=results.classes
    )
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "columns": "count"}
    return Section(
        "Classes, with the columns in which their centroids differ from the common mean",
        table,
        formats,
        source="fit.prior, fit.counts, fit.survivors()",
    )


def _path(results: ShrunkenCentroidsResults, fit: Fit[ShrunkenFit]) -> Section:
    path = results.path
    table = path.set_index("threshold")
    table.index = pd.Index(column_texts(path["threshold"].tolist(), "general"))
    table["chosen"] = np.where(path["threshold"] == results.threshold, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "genes": "count", "chosen": "text"}
    title = "Cross-validated error by threshold"
    return Section(title, table, formats, headings=INTERVAL | {"genes": "columns"}, source="fit.path")


def _survivors(
    results: ShrunkenCentroidsResults, fit: Fit[ShrunkenFit], most: int = MOST_SURVIVORS
) -> Section:
    table = results.survivors()
    left = len(table) - most
    more = f" And {left} more: fit.survivors()." if left > 0 else ""
    note = f"The largest come first; zero is no difference from the common mean.{more}"
    return Section(
        "Shrunken standardized differences from the common mean",
        table.head(most).rename_axis(columns=None),
        "z",
        note=note if len(table) else "No column survives the threshold.",
        source="fit.survivors()",
    )


shrunken_centroids_brief: Sections = {"classes": _classes, "survivors": partial(_survivors, most=BRIEF)}
"""The short form: classes, and the first of the survivors."""


MOST_BARS = 50
"""Columns whose bars are drawn."""


def path(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Cross-validated error by threshold with its standard error, and how many columns are left above."""
    path = results.path
    chosen = results.threshold
    axes, _ = new_axes(options.ax)
    at, error, se, genes = numbers(path[["threshold", "error", "se", "genes"]]).T
    # Only the rule of one standard error takes a threshold whose error is not the least.
    limit = "least error + one standard error" if (error[at == chosen] > error.min()).any() else ""
    draw_errors(axes, path[["threshold", "error", "se"]], chosen, size=4, one_se=limit)
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Threshold")
    axes.set_ylabel("Cross-validated error, ± one standard error")
    count_above(axes, at, genes, "Columns left")
    axes.legend(loc="best")
    set_title(axes, "Cross-validated error by threshold")
    return axes


def centroids(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Shrunken standardized differences as horizontal bars, the largest first, a strip for each class."""
    survivors = results.survivors()
    signs = options.signs(results.classes)
    shown = survivors.head(MOST_BARS)
    if not len(shown):
        axes, _ = new_axes(options.ax)
        axes.set_title("No column survives the threshold")
        axes.set_axis_off()
        return axes
    of = f" ({len(shown)} of {len(survivors)})" if len(survivors) > len(shown) else ""
    title = f"Shrunken differences from the common mean{of}"
    return bar_strips(shown, list(shown.columns), title, ax=options.ax, signs=signs)
