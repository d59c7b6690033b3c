"""What is shown of nearest neighbours: the sections of their summary, and the choice of k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.plots.style import SIGNS, new_axes, numbers, set_title
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.neighbours.knn import KNNFit
    from discrim.models.fits.fit import Fit
    from discrim.models.neighbours.knn import KNNResults
    from discrim.models.pictures.pictured import PictureOptions
    from discrim.report.plots.style import Axes

MOST_STEPS = 20
"""Numbers of neighbours whose error the summary shows."""


def knn_sections(results: KNNResults, fit: Fit[KNNFit]) -> Sections:
    """Sections of nearest neighbours, in their order."""
    parts: Sections = {
        "header": _header,
        "classes": _classes,
    }
    return parts | ({"path": _path} if fit.path is not None else {})


def _scale(results: KNNResults, fit: Fit[KNNFit]) -> tuple[str, str]:
    """What columns are divided by, under a label."""
    if results.metric == "mahalanobis":
        return "Covariance", "pooled, 1/(N-K)"
    return "Columns divided by", "SD, all rows" if fit.numbers.scale else "nothing"


def _neighbours(results: KNNResults, fit: Fit[KNNFit]) -> Pairs:
    label, scale = _scale(results, fit)
    items: list[tuple[str, Any, str]] = [
        ("Neighbours k", results.k, str(results.k)),
        ("Rows", results.nobs, str(results.nobs)),
        ("Metric", results.metric, results.metric),
        (label, scale, scale),
    ]
    return Pairs("", items)


def _header(results: KNNResults, fit: Fit[KNNFit]) -> Pairs:
    chosen = "leave-one-out" if fit.path is not None else "not in the file" if fit.loaded else "given"
    label, scale = _scale(results, fit)
    items: list[tuple[str, Any, str]] = [
        *headers.row_items(fit),
        ("Neighbours k", results.k, str(results.k)),
        ("Chosen by", chosen, chosen),
        ("Metric", results.metric, results.metric),
        (label, scale, scale),
        *headers.size_items(fit),
        headers.prior_item(fit),
        *headers.error_items(fit),
    ]
    note = (
        "Rows as near as the k-th vote too; equal posteriors go to the class of the nearest neighbour, then "
        "of the larger prior."
    )
    if fit.path is not None:
        note = (
            f"{note} The leave-one-out error is the smallest of those that chose k: see error_rates(['cv'])."
        )
    return headers.header(fit, items, note)


def _classes(results: KNNResults, fit: Fit[KNNFit]) -> Section:
    columns = {
        "prior": results.prior,
        "rows": results.counts,
        "vote": fit.numbers.weights(fit.numbers.prior),
    }
    formats: dict[Any, Any] = {"prior": "share", "rows": "count", "vote": "general"}
    table = pd.DataFrame(columns, index=results.classes)
    headings = {"vote": "weight of a vote"}
    return Section("Classes", table, formats, headings=headings, source="fit.prior, fit.counts, fit.tidy()")


def _path(results: KNNResults, fit: Fit[KNNFit]) -> Section:
    path = results.path
    chosen = path["k"] == results.k
    steps = np.unique(np.linspace(0, len(path) - 1, min(MOST_STEPS, len(path))).round().astype(int))
    shown = path.loc[np.union1d(steps, np.flatnonzero(chosen))]
    table = shown.set_index("k").rename_axis(index=None)
    table["chosen"] = np.where(table.index == results.k, "*", "")
    formats: dict[Any, Any] = {"error": "share", "se": "share", "chosen": "text"}
    note = f"{len(shown)} of {len(path)}; of equal errors the largest k is chosen.{_at_an_end(results)}"
    title = "Leave-one-out error by k"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


def _at_an_end(results: KNNResults) -> str:
    """Whether k is the first or the last of several that were tried, with others to try beyond it."""
    tried = results.path["k"]
    if len(tried) > 1 and results.k == tried.iloc[-1] < results.nobs - 1:
        return " It is the largest that was tried: larger ones may be better, see grid=."
    if len(tried) > 1 and results.k == tried.iloc[0] > 1:
        return " It is the smallest that was tried: smaller ones may be better, see grid=."
    return ""


knn_brief: Sections = {"neighbours": _neighbours, "classes": _classes}
"""The short form: how many neighbours, by which metric, and the classes."""


def path(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Leave-one-out error by k."""
    return leave_one_out_path(results.path, results.k, ax=options.ax)


def leave_one_out_path(path: pd.DataFrame, chosen: int, ax: Axes | None = None) -> Axes:
    """Leave-one-out error by number of neighbours, with its standard error.

    Parameters
    ----------
    path : DataFrame
        k, error, se; k increasing.
    chosen : int
        The k marked.
    """
    axes, _ = new_axes(ax)
    k, error, se = numbers(path[["k", "error", "se"]]).T
    axes.fill_between(k, error - se, error + se, color=SIGNS.colour(0), alpha=0.2, linewidth=0)
    axes.plot(k, error, color=SIGNS.colour(0), marker="o", markersize=3)
    axes.axvline(chosen, color=SIGNS.colour(1), linestyle="--", linewidth=1.0, label=f"k = {chosen}, chosen")
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Neighbours k")
    axes.set_ylabel("Leave-one-out error, ± one standard error")
    if k[-1] > 50 * k[0]:
        axes.set_xscale("log")
    axes.legend()
    set_title(axes, "Leave-one-out error by the number of neighbours")
    return axes
