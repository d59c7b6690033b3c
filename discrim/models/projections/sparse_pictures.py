"""Pictures of a sparse discriminant analysis: coefficients along the penalty, and the choice of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discrim.report.plots.style import SIGNS, add_legend, faint, new_axes, numbers, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    import pandas as pd

    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["choice", "path"]

MOST_COUNTS = 8
"""Numbers of columns that are written along the top."""

MOST_NAMED = 8
"""Columns of the fit, the largest first, whose lines have a colour and a name."""

_MARK: dict[str, Any] = {"color": faint(0.35), "linestyle": "--", "linewidth": 1.0}


def choice(results: Any, asked: Asked) -> Axes:
    """Cross-validated error by penalty, with how many columns are left at the top."""
    table = results.path
    axes, _ = new_axes(asked.ax)
    at, error, se, columns = numbers(table[["penalty", "error", "se", "columns"]]).T
    axes.errorbar(
        at, error, yerr=se, color=SIGNS.colour(0), ecolor=faint(0.6), marker="o", markersize=3, capsize=2
    )
    axes.set_xscale("log")
    chosen = results._fit.numbers.asked[0]
    axes.axvline(chosen, color=SIGNS.colour(1), linestyle="--", linewidth=1.0, label="chosen")
    if results._fit.refits.asked.select == "1se":
        least = int(error.argmin())
        style: dict[str, Any] = {"color": faint(0.35), "linestyle": ":", "linewidth": 1.0}
        axes.axhline(float(error[least] + se[least]), label="least error + one standard error", **style)
    axes.set_ylim(bottom=min(0.0, float((error - se).min())))
    axes.set_xlabel("Penalty")
    axes.set_ylabel("Cross-validated error, ± one standard error")
    _count_above(axes, at, columns)
    axes.legend(loc="best")
    set_title(axes, "Cross-validated error by penalty")
    return axes


def path(results: Any, asked: Asked) -> Axes:
    """Standardized coefficients along the penalty, a style of line for each direction."""
    table = results.coefficient_path()
    axes, own_figure = new_axes(asked.ax)
    if not len(table):
        axes.set_title("No column has a part at any penalty")
        axes.set_axis_off()
        return axes
    penalties = table.index.get_level_values("penalty").unique().to_numpy()
    named = [name for name in results.selected[:MOST_NAMED] if name in table.columns]
    names = sorted(table.index.get_level_values("axis").unique())
    for r, axis in enumerate(names):
        own = table.xs(axis, level="axis").reindex(penalties, fill_value=0.0)
        _lines(axes, own, named, SIGNS.line(r))
    for place, name in enumerate(named):
        axes.plot([], [], color=SIGNS.colour(place), label=shown_name(name))
    if len(names) > 1:
        for r, axis in enumerate(names):
            axes.plot([], [], color=faint(0.35), linestyle=SIGNS.line(r), label=axis)
    axes.set_xscale("log")
    axes.axhline(0.0, color=faint(0.7), linewidth=0.8, zorder=1)
    for r, penalty in enumerate(results.penalty.unique()):
        if penalty > 0:
            axes.axvline(float(penalty), label="the fit" if r == 0 else None, **_MARK)
    axes.set_xlabel("Penalty")
    axes.set_ylabel("Coefficient of a standardized column")
    used = (table != 0).groupby(level="penalty", sort=False).any().sum(axis=1)
    _count_above(axes, penalties, used.reindex(penalties).to_numpy())
    set_title(axes, "Coefficients by penalty")
    return add_legend(axes, own_figure)


def _lines(axes: Axes, own: pd.DataFrame, named: list[Any], style: str) -> None:
    """Lines of one direction: those of columns that the fit has before the others."""
    at, values = own.index.to_numpy(), own.to_numpy()
    columns = own.columns.to_list()
    places = {columns.index(name): place for place, name in enumerate(named)}
    for j in np.flatnonzero(values.any(axis=0)).tolist():
        if j not in places:
            axes.plot(at, values[:, j], color=faint(0.75), linestyle=style, linewidth=0.8, zorder=1.5)
    for j, place in places.items():
        if values[:, j].any():
            axes.plot(at, values[:, j], color=SIGNS.colour(place), linestyle=style, linewidth=1.3)


def _count_above(axes: Axes, at: Any, counts: Any) -> None:
    """Write along the top how many columns are left."""
    top = axes.twiny()
    top.set_xscale("log")
    top.set_xlim(axes.get_xlim())
    shown = np.unique(np.linspace(0, len(at) - 1, min(MOST_COUNTS, len(at))).round().astype(int))
    top.set_xticks(at[shown], [f"{count:.0f}" for count in counts[shown]])
    top.set_xticks([], minor=True)
    top.set_xlabel("Columns left")
