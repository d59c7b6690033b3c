"""What is shown of a sparse discriminant analysis: the sections of its summary, and its pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.base.labels import distinct
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.plots.bars import count_above, draw_errors
from discrim.report.plots.style import SIGNS, add_legend, faint, new_axes, numbers, set_title, shown_name
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.projections.sparse_lda import SparseFit
    from discrim.models.base.fit import Fit
    from discrim.models.plots.pictured import PictureOptions
    from discrim.models.projections.sparse_lda import SparseLDAResults
    from discrim.report.plots.style import Axes

BRIEF = 10
"""Columns that the short form shows."""

MOST_COLUMNS = 30
"""Columns that the summary shows."""


def sparse_lda_sections(results: SparseLDAResults, fit: Fit[SparseFit]) -> Sections:
    """Sections of a sparse discriminant analysis, in their order."""
    parts: Sections = {"header": _header, "classes": headers.classes_section, "directions": _directions}
    parts |= {"path": _path, "selected": _selected}
    if fit.path is None:
        del parts["path"]
    return parts


def _header(results: SparseLDAResults, fit: Fit[SparseFit]) -> Pairs:
    numbers = fit.numbers
    by = "penalty" if numbers.by == "penalty" else "number of columns"
    chosen = "not in the file" if fit.loaded else f"{by} given"
    if fit.path is not None:
        search = fit.refits.search
        chosen = f"{search.folds.words}, {'one SE' if search.select == '1se' else 'least error'}"
    left = len(results.selected)
    items: list[tuple[str, Any, str]] = [
        *headers.row_items(fit),
        ("Columns selected", left, f"{left} of {len(results.terms)}"),
        ("Directions", len(numbers.penalties), f"{len(numbers.penalties)} of {numbers.most}"),
        ("Chosen by", chosen, chosen),
        ("Ridge", numbers.ridge, f"{numbers.ridge:.4g}"),
        ("Covariance of scores", "pooled, 1/(N-K)", "pooled, 1/(N-K)"),
        *headers.size_items(fit),
        headers.prior_item(fit),
        headers.error_item(fit, "apparent"),
    ]
    note = "" if left else "No column is left, so that each posterior is the prior. "
    return headers.header(fit, items, f"{note}{headers.kept_note(fit)}".strip())


def _directions(results: SparseLDAResults, fit: Fit[SparseFit]) -> Section:
    penalty, columns = (distinct(word, results.classes) for word in ("penalty", "columns"))
    table = pd.DataFrame({penalty: results.penalty, columns: results.counts_selected})
    means = results._centroids().T.rename_axis(columns=None)
    table = pd.concat([table, means], axis=1).rename_axis(index=None)
    formats: dict[Any, Any] = {penalty: "general", columns: "count"}
    return Section(
        "Directions, with the class means on them",
        table,
        formats,
        note="The variance within classes is one, and zero is the prior-weighted mean.",
        source="fit.penalty, fit.counts_selected",
    )


def _path(results: SparseLDAResults, fit: Fit[SparseFit]) -> Section:
    table = headers.path_table(results.path, fit.numbers.tuning[0])
    formats: dict[Any, Any] = {
        "error": "share", "se": "share", "columns": "count", "directions": "count", "chosen": "text",
    }  # fmt: skip
    return Section("Cross-validated error by penalty", table, formats, headings=INTERVAL, source="fit.path")


def _selected(results: SparseLDAResults, fit: Fit[SparseFit], most: int = MOST_COLUMNS) -> Section:
    shown = results.selected
    left = len(shown) - most
    # By place, as a column may have any name.
    places = results.terms.get_indexer(shown[:most])
    table = results.standardized.iloc[places].rename_axis(index=None, columns=None)
    more = f" And {left} more: fit.standardized." if left > 0 else ""
    note = (
        f"The largest come first. Each is for a column divided by its standard deviation over all rows.{more}"
    )
    return Section(
        "Coefficients of the columns selected",
        table,
        note=note if len(shown) else "No column survives the penalty.",
        shared=True,
        source="fit.standardized, fit.scaling",
    )


sparse_lda_brief: Sections = {"classes": headers.classes_section, "selected": partial(_selected, most=BRIEF)}
"""The short form: classes, and the first of the columns selected."""


MOST_NAMED = 8
"""Columns of the fit, the largest first, whose lines have a colour and a name."""


def choice(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Cross-validated error by penalty, with how many columns are left at the top."""
    table = results.path
    axes, _ = new_axes(options.ax)
    at, error, se, columns = numbers(table[["penalty", "error", "se", "columns"]]).T
    chosen = fit.numbers.tuning[0]
    one_se = fit.options["penalty"] == "1se"
    limit = "least error + one standard error" if one_se else ""
    draw_errors(axes, table[["penalty", "error", "se"]], chosen, log=True, one_se=limit)
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Penalty")
    axes.set_ylabel("Cross-validated error, ± one standard error")
    count_above(axes, at, columns, "Columns left")
    axes.legend(loc="best")
    set_title(axes, "Cross-validated error by penalty")
    return axes


def path(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Standardized coefficients along the penalty, a style of line for each direction."""
    table = results.coefficient_path()
    axes, is_new = new_axes(options.ax)
    if not len(table):
        axes.set_title("No column has a part at any penalty")
        axes.set_axis_off()
        return axes
    penalties = table.index.get_level_values("penalty").unique().to_numpy()
    named = [name for name in results.selected[:MOST_NAMED] if name in table.columns]
    names = sorted(table.index.get_level_values("axis").unique())
    for r, axis in enumerate(names):
        of_axis = table.xs(axis, level="axis").reindex(penalties, fill_value=0.0)
        _lines(axes, of_axis, named, SIGNS.line(r))
    for place, name in enumerate(named):
        axes.plot([], [], color=SIGNS.colour(place), label=shown_name(name))
    if len(names) > 1:
        for r, axis in enumerate(names):
            axes.plot([], [], color=faint(0.35), linestyle=SIGNS.line(r), label=axis)
    axes.set_xscale("log")
    axes.axhline(0.0, color=faint(0.7), linewidth=0.8, zorder=1)
    mark: dict[str, Any] = {"color": faint(0.35), "linestyle": "--", "linewidth": 1.0}
    for r, penalty in enumerate(results.penalty.unique()):
        if penalty > 0:
            axes.axvline(float(penalty), label="the fit" if r == 0 else None, **mark)
    axes.set_xlabel("Penalty")
    axes.set_ylabel("Coefficient of a standardized column")
    used = (table != 0).groupby(level="penalty", sort=False).any().sum(axis=1)
    count_above(axes, penalties, used.reindex(penalties).to_numpy(), "Columns left")
    set_title(axes, "Coefficients by penalty")
    return add_legend(axes, is_new)


def _lines(axes: Axes, table: pd.DataFrame, named: list[Any], style: str) -> None:
    """Lines of one direction: those of columns that the fit has before the others."""
    at = table.index.to_numpy()
    values = table.to_numpy()
    columns = table.columns.to_list()
    places = {columns.index(name): place for place, name in enumerate(named)}
    for j in np.flatnonzero(values.any(axis=0)).tolist():
        if j not in places:
            axes.plot(at, values[:, j], color=faint(0.75), linestyle=style, linewidth=0.8, zorder=1.5)
    for j, place in places.items():
        if values[:, j].any():
            axes.plot(at, values[:, j], color=SIGNS.colour(place), linestyle=style, linewidth=1.3)
