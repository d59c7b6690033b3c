"""What is shown of partial least squares: the sections of their summary, and their pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.plots.spaces import chosen_axes, draw_scores_of
from discrim.models.results import headers
from discrim.report.grid import INTERVAL, Pairs, Section
from discrim.report.plots.points import name_lines, name_points
from discrim.report.plots.style import (
    SIGNS,
    add_legend,
    faint,
    lay_out,
    new_axes,
    numbers,
    set_title,
    shown_name,
)  # fmt: skip
from discrim.report.plots.text_fit import fit_texts
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.projections.pls import PLSFit
    from discrim.models.base.fit import Fit
    from discrim.models.plots.pictured import PictureOptions
    from discrim.models.projections.pls import PLSResults
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes

MOST_COLUMNS = 20
"""Columns that the summary shows."""

BRIEF = 10
"""Columns that the short form shows."""

LONG = 2**19
"""Rows by components beyond which a summary does not leave each row out: each takes a fit of its own."""

MOST_COMPONENTS = 6
"""Components whose weights stand beside the importance of the columns."""

RULES = {
    "lda": "LDA of the scores",
    "max": "largest fitted indicator",
    "centroid": "nearest centroid of the scores",
}


ALGORITHMS = {"nipals": "NIPALS", "simpls": "SIMPLS", "engine": "an engine"}


def pls_sections(results: PLSResults, fit: Fit[PLSFit]) -> Sections:
    """Sections of partial least squares, in their order."""
    parts: Sections = {"header": _header, "classes": headers.classes_section, "components": _components}
    parts |= {"path": _path, "centroids": _centroids, "columns": _columns}
    if fit.path is None:
        del parts["path"]
    return parts


def _header(results: PLSResults, fit: Fit[PLSFit]) -> Pairs:
    numbers = fit.numbers
    units = "over their SD, 1/(N-1)" if numbers.scale else "as they are"
    responses = "over their SD" if numbers.indicators == "scaled" else "as they are"
    items: list[headers.Item] = [
        *headers.row_items(fit),
        ("Components", results.ncomp, _counted(results)),
        headers.chosen_item(fit, "cross-validation"),
        ("Rule", numbers.decides, RULES[numbers.decides]),
        ("Algorithm", numbers.algorithm, "O2PLS" if results.orthogonal else ALGORITHMS[numbers.algorithm]),
        ("Columns taken", units, units),
        ("Indicators taken", responses, responses),
        *headers.size_items(fit),
    ]
    if numbers.nonzero:
        counts = ", ".join(map(str, numbers.nonzero))
        items.append(("Columns of components", counts, counts))
    if fit.options["within"] is not None:
        items.append(("Deviations within", fit.options["within"], str(fit.options["within"])))
    if numbers.decides == "lda":
        items.append(headers.prior_item(fit))
    items.append(headers.error_item(fit, "apparent"))
    if fit.has_rows and fit.blocks.table.nrows * results.ncomp > LONG:
        items.append((headers.LEFT_OUT, np.nan, "see error_rates()"))
    else:
        items.append(headers.error_item(fit, "loo"))
    within = fit.options["within"]
    note = headers.kept_note(fit)
    if within is not None and fit.has_rows:
        note = f"{note} Each row is left out together with all others of its {within}.".lstrip()
    return headers.header(fit, items, note)


def _counted(results: PLSResults) -> str:
    if not results.orthogonal:
        return str(results.ncomp)
    return f"{results.ncomp} predictive, {results.orthogonal} orthogonal"


def _components(results: PLSResults, fit: Fit[PLSFit]) -> Section:
    table = results.r2()
    headings = {"x": "columns", "y": "indicators", "x_cumulative": "so far", "y_cumulative": "so far "}
    return Section(
        "Shares of the squares of columns and of indicators that components explain",
        table,
        dict.fromkeys(table.columns, "share"),
        headings=headings,
        source="fit.r2()",
    )


def _path(results: PLSResults, fit: Fit[PLSFit]) -> Section:
    path = results.path
    table = path.set_index(path.columns[0]).rename_axis(index=None)
    table["chosen"] = np.where(path.iloc[:, 0] == (results.orthogonal or results.ncomp), "*", "")
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"chosen": "text"}
    return Section(
        f"Cross-validated error, R2 and Q2 by number of {_kind(results)}components",
        table,
        formats,
        headings=INTERVAL,
        note="R2X and R2 use all rows; Q2 is the R2 of the indicators of left-out rows.",
        source="fit.path",
    )


def _kind(results: PLSResults) -> str:
    """Which components are counted by a choice."""
    return "orthogonal " if results.orthogonal else ""


def _centroids(results: PLSResults, fit: Fit[PLSFit]) -> Section:
    # Those of the scores that are orthogonal to the classes are zero.
    table = results.centroids.iloc[:, : results.ncomp].rename_axis(index=None)
    return Section("Means of the scores by class", table, "general", source="fit.centroids")


def _columns(results: PLSResults, fit: Fit[PLSFit], most: int = MOST_COLUMNS) -> Section:
    importance = results.vip()
    beside = [results.vip(part="orthogonal").rename("orthogonal")] if results.orthogonal else []
    weights = results.weights.loc[importance.index].iloc[:, :MOST_COMPONENTS]
    table = pd.concat([importance, *beside, weights], axis=1).head(most)
    if fit.numbers.nonzero:
        importance = importance[importance > 0]
        table = table.loc[importance.index[:most]]
    left = len(importance) - most
    more = f" And {left} more: fit.vip(), fit.weights." if left > 0 else ""
    beyond = results.ncomp + results.orthogonal - MOST_COMPONENTS
    others = f" Components beyond {MOST_COMPONENTS}: fit.weights." if beyond > 0 else ""
    note = (
        "A column with a VIP above one contributes more than average. In each component the weight that "
        f"is largest in absolute value is positive.{others}{more}"
    )
    return Section(
        "Importance of the columns (VIP), the largest first, and their weights",
        table.rename_axis(index=None),
        "share",
        headings={"vip": "VIP", "orthogonal": "of O1..."},
        note=note,
        source="fit.vip(), fit.weights",
    )


pls_brief: Sections = {"components": _components, "columns": partial(_columns, most=BRIEF)}
"""The short form: components, and the first of the columns."""


MOST_NAMES = 30
"""Columns that are named along an axis."""

MOST_BARS = 40
"""Columns whose bars are drawn."""


def scores(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes | Figure:
    """Scores of the rows on two components, by class, with outlines of the classes."""
    centroids = results.centroids
    names = chosen_axes(list(centroids.columns), options)
    places = [list(centroids.columns).index(name) for name in names]
    return draw_scores_of(
        results,
        fit,
        centroids[names],
        options,
        shares=results.explained,
        within=results.score_covariance.to_numpy()[np.ix_(places, places)],
        of=" of the squares of the columns",
    )


def loadings(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Loadings of the columns in their order, as of a spectrum, a line for each component."""
    names = chosen_axes(list(results.loadings.columns), options, most=3)
    table = results.loadings[names]
    axes, is_new = new_axes(options.ax)
    at = np.arange(len(table))
    values = numbers(table)
    few = len(table) <= MOST_NAMES and axes.get_window_extent().width > len(table) * axes.figure.dpi / 6
    for j, name in enumerate(table.columns):
        style: dict[str, Any] = {"color": SIGNS.colour(j), "linestyle": "none" if few else SIGNS.line(j)}
        style |= {"marker": SIGNS.marker(j) if few else "", "markersize": 5}
        axes.plot(at, values[:, j], label=shown_name(name), **style)
    axes.axhline(0.0, color=faint(0.35), linewidth=0.8, zorder=1)
    if few:
        axes.grid(axis="x", color=faint(0.85))
        axes.set_axisbelow(True)
        axes.set_xticks(at, [shown_name(name, 24) for name in table.index], rotation=45, ha="right")
    else:
        axes.set_xlabel("Columns, in their order")
    axes.set_ylabel("Loading")
    add_legend(axes, is_new)
    set_title(axes, "Loadings of the columns")
    return axes


def path(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Cross-validated error by number of components with its standard error, and beside it R2 and Q2."""
    table = results.path
    at, error, se, explained, predicted = numbers(table[[table.columns[0], "error", "se", "R2", "Q2"]]).T
    axes, _ = new_axes(options.ax)
    style: dict[str, Any] = {"color": SIGNS.colour(0), "ecolor": faint(0.6), "marker": "o", "markersize": 4}
    axes.errorbar(at, error, yerr=se, capsize=2, label="error, ± one standard error", **style)
    for k, (values, name) in enumerate([(explained, "R2"), (predicted, "Q2")], start=1):
        axes.plot(at, values, color=SIGNS.colour(k), marker="s", markersize=3, linestyle="--", label=name)
    axes.axvline(
        results.orthogonal or results.ncomp, color=faint(0.35), linestyle=":", linewidth=1.0, label="chosen"
    )
    low = min(0.0, float((error - se).min()), float(predicted.min()))
    axes.set_ylim(low - 0.02, 1.02)
    axes.set_xticks(at, [f"{count:.0f}" for count in at])
    axes.set_xlabel(f"{_kind(results)}components".capitalize())
    axes.set_ylabel("Cross-validated error; R2, Q2")
    axes.legend(loc="best", framealpha=0.8)
    set_title(axes, f"Error, R2 and Q2 by number of {_kind(results)}components")
    return axes


def vip(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Importance of columns in the projection as horizontal bars, the largest first, with a line at one."""
    values = results.vip()
    shown = values.head(MOST_BARS)
    axes, _ = new_axes(options.ax, len(shown))
    lines = np.arange(len(shown))
    axes.barh(lines, shown.to_numpy(np.float64), height=0.7, color=SIGNS.colour(0), zorder=2)
    axes.axvline(1.0, color=faint(0.35), linestyle=":", linewidth=1.0, zorder=3)
    name_lines(axes, list(shown.index), 24)
    axes.set_xlabel("VIP")
    some = f" ({len(shown)} of {len(values)})" if len(values) > len(shown) else ""
    set_title(axes, f"Importance of the columns in the projection{some}")
    return axes


NAMED = 8
"""Columns that are named in an S-plot at most, by the size of their covariance."""


def s_plot(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """Correlation of the columns with the scores of a component against their covariance, an S-plot."""
    (name,) = chosen_axes(list(results.loadings.columns), options, most=1)[:1]
    table = results.s_plot(list(results.loadings.columns).index(name) + 1)
    axes, _ = new_axes(options.ax)
    covariance, correlation = numbers(table).T
    axes.scatter(covariance, correlation, s=16, color=SIGNS.colour(0), marker=SIGNS.marker(0), zorder=2)
    for line in (axes.axhline, axes.axvline):
        line(0.0, color=faint(0.35), linewidth=0.8, zorder=1)
    axes.set_ylim(-1.05, 1.05)
    axes.set_xlabel(f"Covariance with {name}, of columns over the root of their SD")
    axes.set_ylabel(f"Correlation with {name}")
    set_title(axes, f"S-plot of {name}")
    fit_texts(axes, options.ax is None)
    lay_out(axes)
    points = axes.transData.transform(np.column_stack([covariance, correlation]))
    far = np.argsort(-np.abs(covariance), kind="stable")[:NAMED]
    count = name_points(axes, points, far.tolist(), [shown_name(name, 16) for name in table.index])
    if count < len(table):
        set_title(axes, f"S-plot of {name} ({count} of {len(table)} columns named)")
    return axes


def stability(results: Any, fit: Fit[Any], options: PictureOptions) -> Axes:
    """How often columns are selected as horizontal bars, the most often first, with the components."""
    table = results.stability()
    shown = table.head(MOST_BARS)
    axes, is_new = new_axes(options.ax, len(shown))
    lines = np.arange(len(shown))
    axes.barh(lines, shown["any"].to_numpy(np.float64), height=0.7, color=faint(0.85), zorder=2, label="any")
    for j, name in enumerate(shown.columns[1:]):
        at = shown[name].to_numpy() > 0
        style: dict[str, Any] = {"color": SIGNS.colour(j), "marker": SIGNS.marker(j), "linestyle": "none"}
        axes.plot(shown[name].to_numpy(np.float64)[at], lines[at], label=name, zorder=3, **style)
    name_lines(axes, list(shown.index), 24)
    axes.set_xlim(0.0, 1.05)
    axes.set_xlabel("Share of fits without a fold that use the column")
    add_legend(axes, is_new)
    some = f" ({len(shown)} of {len(table)})" if len(table) > len(shown) else ""
    set_title(axes, f"How often columns are selected{some}")
    return axes
