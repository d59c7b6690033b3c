"""Pictures of a known law: prior times density, and what the best rule decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.report.plots.style import SIGNS, Signs, add_legend, faint, label_codes, new_axes, shown_name

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

LABEL_CHARACTERS = 40
"""What goes side by side under a picture, of the names of values."""


def draw_joint_densities(
    joint: pd.DataFrame, regions: pd.DataFrame, ax: Axes | None = None, signs: Signs = SIGNS
) -> Axes:
    """Prior times density of one variable, a line a class, over the regions of the decisions.

    Parameters
    ----------
    joint : DataFrame, points by classes
        The name of its index is that of the variable.
    regions : DataFrame
        low, high, decision.
    """
    axes, own = new_axes(ax)
    at = joint.index.to_numpy(dtype=np.float64)
    classes = joint.columns.tolist()
    values = joint.to_numpy(dtype=np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    for k, label in enumerate(classes):
        style: dict[str, Any] = {"color": signs.colour(k), "linestyle": signs.line(k), "linewidth": 1.6}
        axes.plot(at, values[:, k], label=shown_name(label), **style)
    codes = label_codes(regions["decision"], classes)
    for low, high, code in zip(regions["low"], regions["high"], codes, strict=True):
        start, stop = max(low, at[0]), min(high, at[-1])
        if code >= 0 and start < stop:
            axes.axvspan(start, stop, color=signs.colour(code), alpha=0.12, linewidth=0)
            if low > at[0]:
                axes.axvline(low, color=faint(0.35), linewidth=0.6)
    called = codes[np.searchsorted(regions["high"].to_numpy(dtype=np.float64)[:-1], at, side="right")]
    wrong = values.sum(axis=1) - np.where(called < 0, 0.0, values[np.arange(len(at)), called])
    axes.fill_between(at, 0.0, wrong, color=faint(0.3), alpha=0.35, linewidth=0, label="error")
    axes.set_xlim(at[0], at[-1])
    # A pole would flatten all the rest; the points are dense there, and so do not tell how wide it is.
    highest = np.nan_to_num(values, nan=0.0).max(axis=1)
    evenly = np.interp(np.linspace(at[0], at[-1], 401), at, highest)
    axes.set_ylim(0.0, 1.05 * min(highest.max(), 6 * float(np.quantile(evenly, 0.9)) or highest.max()))
    axes.set_xlabel(shown_name(joint.index.name))
    axes.set_ylabel("Prior times density")
    axes.set_title("The law, and the regions of the best rule")
    return add_legend(axes, own)


def draw_joint_masses(
    joint: pd.DataFrame, called: NDArray[np.intp], ax: Axes | None = None, signs: Signs = SIGNS
) -> Axes:
    """Joint probabilities of values and classes, a bar a class; those of the class called are filled.

    Parameters
    ----------
    joint : DataFrame, values by classes
    called : (V,) int
        Position of the class that the rule calls.
    """
    axes, own = new_axes(ax)
    places, k_classes = np.arange(len(joint)), joint.shape[1]
    width = 0.8 / k_classes
    for k, label in enumerate(joint.columns):
        colour, heights = signs.colour(k), joint.iloc[:, k].to_numpy(dtype=np.float64)
        faces: list[Any] = [(colour, 1.0 if code == k else 0.2) for code in called]
        at = places + (k - 0.5 * (k_classes - 1)) * width
        axes.bar(at, heights, width=width, color=faces, edgecolor=colour, linewidth=0.8)
        axes.bar([np.nan], [np.nan], color=colour, label=shown_name(label))
    names = [", ".join(map(str, key)) if isinstance(key, tuple) else _number(key) for key in joint.index]
    step = max(int(np.ceil(len(places) * max(map(len, names)) / LABEL_CHARACTERS)), 1)
    axes.set_xticks(places[::step], [shown_name(name) for name in names[::step]])
    axes.set_xlabel(", ".join(shown_name(name) for name in joint.index.names))
    axes.set_ylabel("Prior times probability")
    axes.set_title("The law; filled: the class that the best rule decides for")
    return add_legend(axes, own)


def _number(key: Any) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key)
