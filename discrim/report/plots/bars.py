"""Tables as pictures: bars, dots and intervals on a line each, colours in cells, panels of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.report.grid import p_text
from discrim.report.plots import style
from discrim.report.plots.points import name_lines, write_beside
from discrim.report.plots.spaces import axis_name
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.text import Text

    from discrim.report.plots.style import Axes, Signs

MOST_AXES = 12
"""Discriminants that a scree plot shows."""


def draw_structure(table: pd.DataFrame, total: int, shares: pd.Series, ax: Axes | None = None) -> Axes:
    """Correlations of columns with one to three discriminants, from -1 to 1, a panel for each.

    The table has columns by discriminants, some of all the columns of the fit, which `total` counts. Where
    lines have room for them, the numbers stand on the free side of zero. The axes are the outer ones;
    `child_axes` are the panels.
    """
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    high = float(np.clip(0.24 * len(table) + 1.3, 0.6 * height, 12))
    outer, inner = style.panels(ax, 1, table.shape[1], size=(width, high))
    lines = np.arange(len(table))
    values = style.numbers(table)
    for j, panel in enumerate(inner[0]):
        panel.barh(lines, values[:, j], height=0.7, color=style.SIGNS.colour(0), zorder=2)
        panel.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=3)
        panel.set(xlim=(-1.05, 1.05), ylim=(len(table) - 0.4, -0.6))
        if j == 0:
            name_lines(panel, list(table.index), 24)
        else:
            panel.set_yticks(lines, [""] * len(lines))
        panel.grid(axis="x", color=style.faint(0.85))
        panel.set_axisbelow(True)
        panel.set_xlabel(axis_name(table.columns[j], shares, of=""))
    some = f" (the {len(table)} largest of {total})" if len(table) < total else ""
    few = f"; {table.shape[1]} of {len(shares)} discriminants" if table.shape[1] < len(shares) else ""
    style.set_title(outer, f"Correlations of the columns with the discriminants{some}{few}")
    fit_texts(outer, ax is None)
    for j, panel in enumerate(inner[0]):
        if 72 * panel.get_window_extent().height / panel.figure.dpi > style.letters() * len(table):
            _write_bars(panel, values[:, j])
    return outer


def _write_bars(axes: Axes, values: Floats) -> None:
    """Numbers of horizontal bars, on the side of zero where the bar is not, if they have room there."""
    drawn = []
    for line, value in enumerate(values.tolist()):
        if np.isfinite(value):
            text = f"{round(value, 2) + 0.0:.2f}".replace("-", "\u2212")
            look: dict[str, Any] = {"ha": "right" if value >= 0 else "left", "va": "center_baseline"}
            look |= {"textcoords": "offset points", "fontsize": "small"}
            drawn.append(axes.annotate(text, (0, line), (-4 if value >= 0 else 4, 0), **look))
    room = axes.get_window_extent().width / 2 - 6 * axes.figure.dpi / 72
    if max((text.get_window_extent().width for text in drawn), default=0.0) > room:
        for annotation in drawn:
            annotation.remove()


def draw_scree_bars(shares: pd.Series, eigenvalues: pd.Series, p: pd.Series, ax: Axes | None = None) -> Axes:
    """Share of each discriminant in the variance between classes, and the p-value of its dimension.

    That is p of the test that this and all later discriminants have no eigenvalue.
    """
    axes, _ = style.new_axes(ax)
    count = min(len(shares), MOST_AXES)
    places = np.arange(count)
    heights = 100 * shares.to_numpy(dtype=np.float64)[:count]
    axes.bar(places, heights, width=0.6, color=style.SIGNS.colour(0), label="share")
    together = 100 * np.cumsum(shares.to_numpy(dtype=np.float64))[:count]
    axes.plot(
        places, together, color=style.SIGNS.colour(1), marker="o", linestyle="--", label="shares so far"
    )
    texts = []
    for value, test in zip(eigenvalues[:count], p, strict=False):
        p_value = p_text(test)
        sign = "" if p_value.startswith("<") else "= "
        texts.append(f"{value:.3g}" if np.isnan(test) else f"{value:.3g}\np {sign}{p_value}")
    axes.set_xticks(places, [style.shown_name(name) for name in shares.index[:count]])
    # As wide as three bars at least: one bar alone would fill the picture.
    axes.set(xlim=(-0.5 - max(3 - count, 0) / 2, count - 0.5 + max(3 - count, 0) / 2), ylim=(0.0, 118.0))
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("% of the variance between classes")
    style.set_title(axes, "Eigenvalues, and p of the test that this and all later ones are zero")
    axes.legend(loc="center right", framealpha=0.8)
    fit_texts(axes, ax is None)
    drawn = [
        axes.text(place, 103.0, text, ha="center", va="bottom", fontsize="small")
        for place, text in zip(places.tolist(), texts, strict=True)
    ]
    step = axes.get_window_extent().width / max(count, 3)
    if max(text.get_window_extent().width for text in drawn) > 0.94 * step:
        _turn_bar_texts(axes, drawn, step, ax is None)
    else:
        _make_room_above(axes, drawn)
    return axes


def _text_share(axes: Axes, texts: Sequence[Text]) -> float:
    """Share of the height of the axes that the highest text takes."""
    return max(text.get_window_extent().height for text in texts) / axes.get_window_extent().height


def _make_room_above(axes: Axes, texts: Sequence[Text]) -> None:
    """Set the upper limit of the bars so that the texts above them fit."""
    axes.set_ylim(0.0, max(103.0 / (1.0 - min(1.06 * _text_share(axes, texts), 0.6)), 118.0))


MAX_TEXT_SHARE = 0.5
"""Share of the height that upright texts above bars may take."""


def _turn_bar_texts(axes: Axes, texts: Sequence[Text], step: float, is_new: bool) -> None:
    """Turn eigenvalues and p-values above bars upright, and make room for them.

    Text of 5 points is the smallest. If the p-values do not fit then, they are left out, and the title says
    where they are.
    """
    smallest = min(5.0, float(texts[0].get_fontsize()))
    for text in texts:
        text.set(rotation=90, text=text.get_text().replace("\n", ", "))

    def is_large() -> bool:
        is_wide = max(text.get_window_extent().width for text in texts) > 0.94 * step
        return is_wide or _text_share(axes, texts) > MAX_TEXT_SHARE

    # The legend may move below when the bars become lower, and the texts have less room then.
    for _ in range(3):
        while is_large() and (size := float(texts[0].get_fontsize())) > smallest:
            for text in texts:
                text.set_fontsize(max(0.9 * size, smallest))
        if _text_share(axes, texts) > MAX_TEXT_SHARE:
            for text in texts:
                text.set_text(text.get_text().partition(",")[0])
            style.set_title(axes, "Eigenvalues; the p-values are in the summary")
        _make_room_above(axes, texts)
        fit_texts(axes, is_new)
    legend = axes.get_legend()
    if legend is not None and legend.get_window_extent().y0 > axes.get_window_extent().y0:
        # It did not move below the axes, and must not lie on the texts: the last bars are the smallest.
        axes.legend(loc="lower right", fontsize="small", framealpha=0.8)


SMALL = 25
"""Lines from which their names are small."""


def bar_strips(
    table: pd.DataFrame,
    classes: Sequence[Any],
    title: str,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Bars of a table of lines by classes, all strips from zero to one scale; its first line is on top.

    A bar of a round length below the lines is the scale.
    """
    axes, _ = style.new_axes(ax, len(table))
    values = style.numbers(table)
    largest = float(np.abs(values).max(initial=0.0))
    width = 2.3 * (largest or 1.0)
    lines = np.arange(len(table))
    for k in range(values.shape[1]):
        axes.axvline(k * width, color=style.faint(0.7), linewidth=0.8, zorder=1)
        axes.barh(lines, values[:, k], left=k * width, height=0.7, color=signs.colour(k), zorder=2)
    axes.set_yticks(
        lines,
        [style.shown_name(name) for name in table.index],
        fontsize="small" if len(table) >= SMALL else None,
    )
    letters = 100 * axes.get_window_extent().width / axes.figure.dpi / style.letters() / len(classes)
    shown = [style.shown_name(label, int(np.clip(letters, 4, 16))) for label in classes]
    axes.set_xticks([k * width for k in range(len(classes))], shown)
    axes.set_xlim(-0.5 * width, (values.shape[1] - 0.5) * width)
    axes.set_ylim(len(table) + 0.6, -0.6)
    if largest > 0:
        # A scale below the rows: 1, 2 or 5 times a power of ten, at most the largest value.
        power = 10.0 ** np.floor(np.log10(largest))
        length = power * max(step for step in (1, 2, 5) if step * power <= largest or step == 1)
        axes.plot(
            [0.0, length],
            [len(table), len(table)],
            color=style.ink(),
            linewidth=1.2,
            marker="|",
            markersize=6,
        )
        place: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline", "fontsize": "small"}
        axes.annotate(f"{length:g}", (length, len(table)), (5, 0), **place)
    style.set_title(axes, title)
    return axes


def draw_triangle(
    ax: Axes | None, names: Sequence[Any], classes: Sequence[Any], signs: Signs
) -> tuple[Axes, dict[tuple[int, int], Axes]]:
    """The outer axes, and a panel for each pair (i, j), i < j: i across, j up.

    When all are drawn, `finish` gives them names and title.
    """
    count = len(names) - 1
    side = max(2.2 * count, 4.8)
    outer, inner = style.panels(ax, count, count, size=style.inches(side + 0.8, side))
    place = {(i, j): inner[j - 1, i] for i, j in combinations(range(len(names)), 2)}
    for i, j in zip(*np.triu_indices(count, 1), strict=True):
        inner[i, j].remove()
    for k, label in enumerate(classes if len(classes) <= 2 * style.MOST_IN_LEGEND else ()):
        look: dict[str, Any] = {"linestyle": "", "marker": signs.marker(k), "color": signs.colour(k)}
        outer.plot([], [], label=style.shown_name(label), **look)
    if count > 1 and outer.get_legend_handles_labels()[1]:
        outer.legend(loc="upper right", frameon=False, fontsize="small", ncols=-(-len(classes) // 12))
    return outer, place


def finish(outer: Axes, place: dict[tuple[int, int], Axes], title: str) -> Axes:
    """Names on the left and below only, and the title over all panels."""
    last = max(j for _, j in place)
    for (i, j), axes in place.items():
        axes.tick_params(labelsize="small", labelleft=i == 0, labelbottom=j == last)
        if i:
            axes.set_ylabel("")
        if j < last:
            axes.set_xlabel("")
    # What the panels bear stands above the outer axes, and the title above that.
    style.set_title(outer, title)
    style.lay_out(outer)
    boxes = [axes.get_tightbbox() for axes in place.values()]
    beyond = max(box.y1 for box in boxes if box is not None) - outer.get_window_extent().y1
    if beyond > 0:
        outer.set_title(outer.get_title(), pad=72 * beyond / outer.figure.dpi + 6)
    return outer


def heat_map(
    table: pd.DataFrame,
    marked: tuple[float, float],
    title: str,
    ax: Axes | None = None,
    colormap: Colormap | None = None,
) -> Axes:
    """Cells of a table by colour, dark where a number is small; missing ones stay empty.

    Its rows and columns bear the names and values of the two axes; a cross marks one cell by its labels.
    """
    axes, _ = style.new_axes(ax)
    values = style.numbers(table)
    mesh = axes.pcolormesh(values, cmap=colormap or "viridis", edgecolors=style.paper(), linewidth=0.5)
    up, across = (np.arange(size) + 0.5 for size in values.shape)
    axes.set_xticks(across, [f"{value:g}" for value in table.columns])
    axes.set_yticks(up, [f"{value:g}" for value in table.index])
    row = table.index.get_loc(marked[0])
    column = table.columns.get_loc(marked[1])
    axes.plot(across[column], up[row], marker="X", markersize=12, color="white", markeredgecolor="black")
    axes.set(xlabel=str(table.columns.name), ylabel=str(table.index.name))
    style.set_title(axes, f"{title}; the cross marks the pair chosen")
    axes.figure.colorbar(mesh, ax=axes, label=title)
    return axes


MOST_WRITTEN = 40
"""Lines up to which the numbers stand beside them."""


def draw_forest(
    table: pd.DataFrame,
    classes: Sequence[Any],
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    ratios: bool = False,
) -> Axes:
    """Estimates and intervals, a line for each term and class, and in a figure of our own their numbers.

    The table has class, term, estimate, low, high, from the top down; what is not finite is left to the text.
    Ratios have an axis of logs. The order of all classes gives the signs; the names are those of the axis and
    of the picture.
    """
    axes, is_new = style.new_axes(ax, int(1.6 * len(table)), size=style.inches(6.4, 4.0))
    order = {label: k for k, label in enumerate(classes)}
    several = table["class"].nunique() > 1
    axes.axvline(1.0 if ratios else 0.0, color=style.faint(0.35), linewidth=0.8, linestyle="--", zorder=1)
    if ratios:
        style.log_axis(axes, table[["estimate", "low", "high"]].to_numpy(dtype=np.float64))
    seen: set[Any] = set()
    for i, (label, _, value, low, high) in enumerate(table.itertuples(index=False, name=None)):
        k = order[label]
        look: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k), "markersize": 5}
        name = style.shown_name(label) if label not in seen else None
        seen.add(label)
        if np.isfinite([low, high]).all() and (not ratios or low > 0):
            axes.plot([low, high], [i, i], color=signs.colour(k), linewidth=1.5, solid_capstyle="butt")
        drawn = np.isfinite(value) and (not ratios or value > 0)
        axes.plot([value] if drawn else [], [i] if drawn else [], linestyle="none", label=name, **look)
    terms = table["term"].tolist()
    name_lines(axes, ["" if i and several and term == terms[i - 1] else term for i, term in enumerate(terms)])
    for i in range(1, len(terms)):
        if several and terms[i] != terms[i - 1]:
            axes.axhline(i - 0.5, color=style.faint(0.8), linewidth=0.5, zorder=0)
    axes.set_xlabel(names[0])
    if is_new and len(table) <= MOST_WRITTEN:
        texts = table[["estimate", "low", "high"]].map(_short)
        write_beside(axes, [f"{value}  ({low}, {high})" for value, low, high in texts.to_numpy().tolist()])
    if several:
        # Beside the lines stand their numbers, so that it moves below.
        style.add_legend(axes, False)
    style.set_title(axes, names[1])
    return axes


def _short(value: float) -> str:
    """A number of three digits, and of two where it has an exponent."""
    text = f"{value:.3g}" if not 999.5 <= abs(value) < 99_950 else f"{float(f'{value:.3g}'):,.0f}"
    number, _, power = (text if "e" not in text else f"{value:.1e}").partition("e")
    return (f"{number}e{int(power)}" if power else number).replace("-", "\u2212")


def draw_profiles(
    table: pd.DataFrame,
    names: tuple[str, str],
    ax: Axes | None = None,
) -> Axes:
    """Means of responses that lines join to profiles, one of each class, with an interval at each mean.

    The table has mean, low and high by (class, response); the responses stand in their order. The names are
    those of the classes together and of the picture.
    """
    axes, is_new = style.new_axes(ax)
    classes, responses = (list(dict.fromkeys(table.index.get_level_values(i))) for i in (0, 1))
    places = {response: i for i, response in enumerate(responses)}
    for k, label in enumerate(classes):
        own = table.loc[label]
        # Beside each other, intervals of one response are told apart.
        aside = 0.05 * (k - (len(classes) - 1) / 2) / max(1.0, len(classes) / 6)
        at = np.array([places[response] for response in own.index]) + aside
        mean, low, high = style.numbers(own[["mean", "low", "high"]]).T
        axes.vlines(at, low, high, color=style.SIGNS.colour(k), linewidth=1.4)
        axes.plot(at, mean, label=style.shown_name(label), markersize=5, **style.SIGNS.of(k))
    axes.set_xticks(range(len(responses)), [style.shown_name(name) for name in responses])
    axes.set_xlim(-0.35, len(responses) - 0.65)
    axes.set_ylabel("Mean")
    axes.grid(axis="y", color=style.faint(0.85))
    axes.set_axisbelow(True)
    style.add_legend(axes, is_new)
    if legend := axes.get_legend():
        legend.set_title(style.shown_name(names[0]))
    style.set_title(axes, names[1])
    fit_texts(axes, is_new)
    return axes


MOST_COUNTS = 8
"""Numbers of columns that are written along the top."""


def draw_errors(
    axes: Axes,
    tried: pd.DataFrame,
    chosen: float,
    *,
    size: float = 3,
    log: bool = False,
    one_se: str = "",
) -> None:
    """Errors of what was tried with their standard errors, in this order, and a line at what was chosen.

    Where it has a label, `one_se`, there is a line at the least error and one standard error.
    """
    at, error, se = style.numbers(tried).T
    look: dict[str, Any] = {"color": style.SIGNS.colour(0), "ecolor": style.faint(0.6), "marker": "o"}
    axes.errorbar(at, error, yerr=se, markersize=size, capsize=2, **look)
    if log:
        style.log_axis(axes, at)
    axes.axvline(chosen, color=style.SIGNS.colour(1), linestyle="--", linewidth=1.0, label="chosen")
    if one_se:
        least = int(error.argmin())
        look = {"color": style.faint(0.35), "linestyle": ":", "linewidth": 1.0}
        axes.axhline(float(error[least] + se[least]), label=one_se, **look)


def count_above(axes: Axes, at: Floats, counts: Floats, label: str) -> None:
    """Write along the top how many columns, or coefficients, are left."""
    top = axes.twiny()
    top.set(xscale=axes.get_xscale(), xlim=axes.get_xlim())
    shown = np.unique(np.linspace(0, len(at) - 1, min(MOST_COUNTS, len(at))).round().astype(int))
    top.set_xticks(at[shown], [f"{count:.0f}" for count in counts[shown]])
    top.set_xticks([], minor=True)
    top.set_xlabel(label)
