"""Pictures of penalized logistic regressions: coefficients along the strength, and the choice of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.fits.tuning import held_path
from discrim.models.regression.penalized_fits import along
from discrim.report.plots.style import SIGNS, faint, new_axes, numbers, shown_name
from discrim.report.plots.titles import set_title

if TYPE_CHECKING:
    from discrim.models.pictures.asked import Asked
    from discrim.report.plots.style import Axes

__all__ = ["choice", "path"]

MOST_COUNTS = 8
"""Numbers of coefficients that are written along the top."""

MOST_NAMED = 8
"""Terms of the fit, the largest first, whose lines have a colour and a name."""


def choice(results: Any, asked: Asked) -> Axes:
    """Deviance of rows left out by strength."""
    why = "as the strength was given, or the fit was loaded"
    table = held_path(results._fit, why, "fit with strength=None to have it chosen by folds")
    one_se = results._fit.refits.asked.select == "1se"
    axes, _ = new_axes(asked.ax)
    at, deviance, se = numbers(table[["strength", "deviance", "se"]]).T
    axes.errorbar(
        at, deviance, yerr=se, color=SIGNS.colour(0), ecolor=faint(0.6), marker="o", markersize=3, capsize=2
    )
    axes.set_xscale("log")
    chosen = results.penalty.strength
    axes.axvline(chosen, color=SIGNS.colour(1), linestyle="--", linewidth=1.0, label="chosen")
    if one_se:
        least = int(deviance.argmin())
        style: dict[str, Any] = {"color": faint(0.35), "linestyle": ":", "linewidth": 1.0}
        axes.axhline(float(deviance[least] + se[least]), label="least + one standard error", **style)
    axes.set_xlabel("Strength, lambda")
    axes.set_ylabel("Deviance of a row left out, ± one standard error")
    _count_above(axes, table)
    axes.legend(loc="best")
    set_title(axes, "Deviance of rows left out by strength")
    return axes


def path(results: Any, asked: Asked) -> Axes:
    """Coefficients of standardized columns along the strength."""
    held = along(results._fit)
    betas = np.stack([ended.beta for ended in held.ends])[:, :, 1:]
    axes, _ = new_axes(asked.ax)
    at, functions = held.table["strength"].to_numpy(), betas.shape[1]
    lines = ["-"] if functions == 1 else [SIGNS.line(c) for c in range(functions)]
    named = results.terms.get_indexer(results.selected[:MOST_NAMED]).tolist()
    for c, j in np.argwhere(betas.any(axis=0)).tolist():
        if j not in named:
            axes.plot(at, betas[:, c, j], color=faint(0.75), linestyle=lines[c], linewidth=0.8)
    # Those that the fit has stand before the others, and are named once.
    for place, j in enumerate(named):
        axes.plot([], [], color=SIGNS.colour(place), label=shown_name(results.terms[j]))
        for c in np.flatnonzero(betas[:, :, j].any(axis=0)).tolist():
            axes.plot(at, betas[:, c, j], color=SIGNS.colour(place), linestyle=lines[c], linewidth=1.2)
    if functions > 1:
        for c, label in enumerate(results.classes[:MOST_NAMED]):
            axes.plot([], [], color=faint(0.35), linestyle=lines[c], label=shown_name(label))
    axes.set_xscale("log")
    axes.axhline(0.0, color=faint(0.7), linewidth=0.8, zorder=1)
    style: dict[str, Any] = {"color": faint(0.35), "linestyle": "--", "linewidth": 1.0}
    axes.axvline(results.penalty.strength, label="the fit", **style)
    axes.set_xlabel("Strength, lambda")
    axes.set_ylabel("Coefficient of a standardized column")
    _count_above(axes, held.table)
    axes.legend(loc="best", fontsize="small")
    set_title(axes, "Coefficients by strength")
    return axes


def _count_above(axes: Axes, table: pd.DataFrame) -> None:
    """Write along the top how many coefficients are not zero."""
    at, df = numbers(table[["strength", "df"]]).T
    top = axes.twiny()
    top.set_xscale("log")
    top.set_xlim(axes.get_xlim())
    shown = np.unique(np.linspace(0, len(at) - 1, min(MOST_COUNTS, len(at))).round().astype(int))
    top.set_xticks(at[shown], [f"{count:.0f}" for count in df[shown]])
    top.set_xticks([], minor=True)
    top.set_xlabel("Coefficients not zero")
