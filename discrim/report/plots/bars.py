"""Plots of tables: bars, dots with intervals, heat maps, and triangles of panels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.report.grid import format_pvalue
from discrim.report.plots import style
from discrim.report.plots.points import name_lines, write_next_to_lines
from discrim.report.plots.spaces import axis_name
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.text import Text

    from discrim.report.plots.style import Axes, Signs

MAX_DISCRIMINANTS = 12
"""Largest number of discriminants in a scree plot."""


def draw_structure(table: pd.DataFrame, total: int, proportions: pd.Series, ax: Axes | None = None) -> Axes:
    """Draw correlations of variables with discriminants as bars, in a panel for each discriminant.

    The numbers are written on the free side of zero if there is room.

    Parameters
    ----------
    table : DataFrame (m, r)
        Correlations of m variables with r = 1 to 3 discriminants, in the order of the bars from the top. The
        variables are all of the fit, or those with the largest correlations.
    total : int
        Number of variables of the fit, for the title.
    proportions : Series
        Proportion (0 to 1) of the variance between classes, by discriminant, of all discriminants of the fit.
    ax : Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
        Outer axes; its `child_axes` are the panels.
    """
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    figure_height = float(np.clip(0.24 * len(table) + 1.3, 0.6 * height, 12))
    outer, inner = style.panels(ax, 1, table.shape[1], size=(width, figure_height))
    lines = np.arange(len(table))
    values = style.to_floats(table)
    for j, panel in enumerate(inner[0]):
        panel.barh(lines, values[:, j], height=0.7, color=style.SIGNS.colour(0), zorder=2)
        panel.axvline(0.0, color=style.ink(), linewidth=0.8, zorder=3)
        panel.set(xlim=(-1.05, 1.05), ylim=(len(table) - 0.4, -0.6))
        if j == 0:
            name_lines(panel, list(table.index), 24)
        else:
            panel.set_yticks(lines, [""] * len(lines))
        panel.grid(axis="x", color=style.faint_ink(0.85))
        panel.set_axisbelow(True)
        panel.set_xlabel(axis_name(table.columns[j], proportions, proportion_of=""))
    variables_note = f" (the {len(table)} largest of {total})" if len(table) < total else ""
    discriminants_note = (
        f"; {table.shape[1]} of {len(proportions)} discriminants" if table.shape[1] < len(proportions) else ""
    )
    style.set_title(
        outer, f"Correlations of the variables with the discriminants{variables_note}{discriminants_note}"
    )
    fit_texts(outer, ax is None)
    for j, panel in enumerate(inner[0]):
        if 72 * panel.get_window_extent().height / panel.figure.dpi > style.font_points() * len(table):
            _write_bar_values(panel, values[:, j])
    return outer


def _write_bar_values(axes: Axes, values: Floats) -> None:
    """Write the values (m,) of horizontal bars next to zero on the free side; none if one does not fit.

    Bar i is at the height i, and the horizontal axis must be symmetric. Missing values are not written.
    """
    labels = []
    for line, value in enumerate(values.tolist()):
        if np.isfinite(value):
            text = f"{round(value, 2) + 0.0:.2f}".replace("-", "\u2212")
            text_style: dict[str, Any] = {"ha": "right" if value >= 0 else "left", "va": "center_baseline"}
            text_style |= {"textcoords": "offset points", "fontsize": "small"}
            labels.append(axes.annotate(text, (0, line), (-4 if value >= 0 else 4, 0), **text_style))
    free_width = axes.get_window_extent().width / 2 - 6 * axes.figure.dpi / 72
    if max((text.get_window_extent().width for text in labels), default=0.0) > free_width:
        for annotation in labels:
            annotation.remove()


def draw_scree_bars(
    proportions: pd.Series, eigenvalues: pd.Series, pvalues: pd.Series, ax: Axes | None = None
) -> Axes:
    """Draw each discriminant's proportion of the variance between classes, with eigenvalue and p-value.

    Bars are in percent; a line shows the cumulative percentages. Of more than `MAX_DISCRIMINANTS`
    discriminants the first ones are drawn.

    Parameters
    ----------
    proportions : Series (r,)
        Proportions (0 to 1) of the variance between classes by discriminant, in descending order.
    eigenvalues : Series (r,)
        Eigenvalues of the discriminants.
    pvalues : Series (r,)
        P-value of the test that this eigenvalue and all later ones are zero; NaN is not written.
    ax : Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax)
    count = min(len(proportions), MAX_DISCRIMINANTS)
    positions = np.arange(count)
    heights = 100 * proportions.to_numpy(dtype=np.float64)[:count]
    axes.bar(positions, heights, width=0.6, color=style.SIGNS.colour(0), label="Proportion")
    cumulative = 100 * np.cumsum(proportions.to_numpy(dtype=np.float64))[:count]
    axes.plot(
        positions, cumulative, color=style.SIGNS.colour(1), marker="o", linestyle="--", label="Cumulative"
    )
    texts = []
    for value, pvalue in zip(eigenvalues[:count], pvalues, strict=False):
        p_value = format_pvalue(pvalue)
        sign = "" if p_value.startswith("<") else "= "
        texts.append(f"{value:.3g}" if np.isnan(pvalue) else f"{value:.3g}\np {sign}{p_value}")
    axes.set_xticks(positions, [style.shown_name(name) for name in proportions.index[:count]])
    # At least as wide as three bars; otherwise a single bar would fill the plot.
    axes.set(xlim=(-0.5 - max(3 - count, 0) / 2, count - 0.5 + max(3 - count, 0) / 2), ylim=(0.0, 118.0))
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("% of the variance between classes")
    style.set_title(axes, "Eigenvalues, with p-values of the test that this and all later ones are zero")
    axes.legend(loc="center right", framealpha=0.8)
    fit_texts(axes, ax is None)
    labels = [
        axes.text(position, 103.0, text, ha="center", va="bottom", fontsize="small")
        for position, text in zip(positions.tolist(), texts, strict=True)
    ]
    step = axes.get_window_extent().width / max(count, 3)
    if max(text.get_window_extent().width for text in labels) > 0.94 * step:
        _rotate_bar_texts(axes, labels, step, ax is None)
    else:
        _raise_upper_limit(axes, labels)
    return axes


def _max_relative_height(axes: Axes, texts: Sequence[Text]) -> float:
    """Return the height of the highest text as a share of the height of the axes."""
    return max(text.get_window_extent().height for text in texts) / axes.get_window_extent().height


def _raise_upper_limit(axes: Axes, texts: Sequence[Text]) -> None:
    """Set the limits of the axes, in percent, such that the texts above the bars, from 103 on, fit."""
    axes.set_ylim(0.0, max(103.0 / (1.0 - min(1.06 * _max_relative_height(axes, texts), 0.6)), 118.0))


MAX_TEXT_SHARE = 0.5
"""Largest share of the height of the axes for upright texts above bars."""


def _rotate_bar_texts(axes: Axes, texts: Sequence[Text], step: float, is_new: bool) -> None:
    """Set eigenvalues and p-values above bars upright, and make room for them.

    If they do not fit at 5 points, the p-values are left out, and the title refers to the summary.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    texts : sequence of Text
        Texts of an eigenvalue and, on a second line, its p-value, which are changed in place.
    step : float
        Width of a bar with its gap in pixels.
    is_new : bool
        Whether the figure is new.
    """
    smallest = min(5.0, float(texts[0].get_fontsize()))
    for text in texts:
        text.set(rotation=90, text=text.get_text().replace("\n", ", "))

    def is_large() -> bool:
        """Return whether the upright texts are wider than a bar, or higher than `MAX_TEXT_SHARE`."""
        is_wide = max(text.get_window_extent().width for text in texts) > 0.94 * step
        return is_wide or _max_relative_height(axes, texts) > MAX_TEXT_SHARE

    # When the bars become lower the legend may move below the axes, which leaves less room for the texts.
    for _ in range(3):
        while is_large() and (size := float(texts[0].get_fontsize())) > smallest:
            for text in texts:
                text.set_fontsize(max(0.9 * size, smallest))
        if _max_relative_height(axes, texts) > MAX_TEXT_SHARE:
            for text in texts:
                text.set_text(text.get_text().partition(",")[0])
            style.set_title(axes, "Eigenvalues; the p-values are in the summary")
        _raise_upper_limit(axes, texts)
        fit_texts(axes, is_new)
    legend = axes.get_legend()
    if legend is not None and legend.get_window_extent().y0 > axes.get_window_extent().y0:
        # A legend within the axes must not cover the texts; there is room above the last, smallest bars.
        axes.legend(loc="lower right", fontsize="small", framealpha=0.8)


MIN_SMALL_LINES = 25
"""Number of lines from which on their names are small."""


def draw_bar_strips(
    table: pd.DataFrame,
    classes: Sequence[Any],
    title: str,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw a table as strips of horizontal bars, one strip for each class, all on the same scale.

    Bars of negative values extend to the left. A line of a round length below the strips shows the scale.

    Parameters
    ----------
    table : DataFrame (m, K)
        Lengths of the bars by line (from the top) and class. The index names the lines.
    classes : sequence
        Labels (K,), which name the strips.
    title : str
        Title of the plot.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax, len(table))
    values = style.to_floats(table)
    largest = float(np.abs(values).max(initial=0.0))
    width = 2.3 * (largest or 1.0)
    lines = np.arange(len(table))
    for k in range(values.shape[1]):
        axes.axvline(k * width, color=style.faint_ink(0.7), linewidth=0.8, zorder=1)
        axes.barh(lines, values[:, k], left=k * width, height=0.7, color=signs.colour(k), zorder=2)
    axes.set_yticks(
        lines,
        [style.shown_name(name) for name in table.index],
        fontsize="small" if len(table) >= MIN_SMALL_LINES else None,
    )
    letters = 100 * axes.get_window_extent().width / axes.figure.dpi / style.font_points() / len(classes)
    class_names = [style.shown_name(label, int(np.clip(letters, 4, 16))) for label in classes]
    axes.set_xticks([k * width for k in range(len(classes))], class_names)
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
        text_style: dict[str, Any] = {
            "textcoords": "offset points",
            "va": "center_baseline",
            "fontsize": "small",
        }
        axes.annotate(f"{length:g}", (length, len(table)), (5, 0), **text_style)
    style.set_title(axes, title)
    return axes


def create_triangle(
    ax: Axes | None, names: Sequence[Any], classes: Sequence[Any], signs: Signs
) -> tuple[Axes, dict[tuple[int, int], Axes]]:
    """Create a panel for each pair of variables, in the lower triangle of outer axes.

    Parameters
    ----------
    ax : Axes or None
        Axes to draw on; None for a new figure.
    names : sequence
        Names (p,) of the variables; only their number, 2 or more, is used.
    classes : sequence
        Labels (K,) for the legend, which is left out if there are two variables or more than twice
        `style.MAX_IN_LEGEND` classes.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    outer : Axes
        Axes around the panels, with the legend.
    panels_by_pair : dict of (i, j) to Axes
        Empty panels for i < j: variable i is horizontal, j vertical. `finish_triangle` completes the plot.
    """
    count = len(names) - 1
    side = max(2.2 * count, 4.8)
    outer, inner = style.panels(ax, count, count, size=style.scaled_inches(side + 0.8, side))
    panels_by_pair = {(i, j): inner[j - 1, i] for i, j in combinations(range(len(names)), 2)}
    for i, j in zip(*np.triu_indices(count, 1), strict=True):
        inner[i, j].remove()
    for k, label in enumerate(classes if len(classes) <= 2 * style.MAX_IN_LEGEND else ()):
        marker_style: dict[str, Any] = {"linestyle": "", "marker": signs.marker(k), "color": signs.colour(k)}
        outer.plot([], [], label=style.shown_name(label), **marker_style)
    if count > 1 and outer.get_legend_handles_labels()[1]:
        outer.legend(loc="upper right", frameon=False, fontsize="small", ncols=-(-len(classes) // 12))
    return outer, panels_by_pair


def finish_triangle(outer: Axes, panels_by_pair: dict[tuple[int, int], Axes], title: str) -> Axes:
    """Remove axis labels and tick labels of inner panels, and set the title above all panels.

    Axes keep their labels in the left column and in the bottom row only.

    Parameters
    ----------
    outer : Axes
        Axes around the panels, from `create_triangle`.
    panels_by_pair : dict of (i, j) to Axes
        Panels of `create_triangle`, drawn, with labels of both axes.
    title : str
        Title of the plot.

    Returns
    -------
    Axes
        `outer`.
    """
    last = max(j for _, j in panels_by_pair)
    for (i, j), axes in panels_by_pair.items():
        axes.tick_params(labelsize="small", labelleft=i == 0, labelbottom=j == last)
        if i:
            axes.set_ylabel("")
        if j < last:
            axes.set_xlabel("")
    # Titles of panels extend above the outer axes, and the title has to be above them.
    style.set_title(outer, title)
    style.run_layout(outer)
    boxes = [axes.get_tightbbox() for axes in panels_by_pair.values()]
    excess_height = max(box.y1 for box in boxes if box is not None) - outer.get_window_extent().y1
    if excess_height > 0:
        outer.set_title(outer.get_title(), pad=72 * excess_height / outer.figure.dpi + 6)
    return outer


def draw_heat_map(
    table: pd.DataFrame,
    marked_cell: tuple[float, float],
    title: str,
    ax: Axes | None = None,
    colormap: Colormap | None = None,
) -> Axes:
    """Draw the cells of a table by colour, dark for small values; missing cells are empty.

    Parameters
    ----------
    table : DataFrame
        Values with numbers as index (from the bottom) and columns (from the left). The names of the index and
        of the columns are the labels of the axes.
    marked_cell : (float, float)
        Row label and column label of the chosen cell, which is marked by a cross.
    title : str
        Name of the values, for the title and the colour bar.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    colormap : Colormap, optional
        Colours from the smallest to the largest value; "viridis" by default.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax)
    values = style.to_floats(table)
    mesh = axes.pcolormesh(values, cmap=colormap or "viridis", edgecolors=style.paper(), linewidth=0.5)
    up, across = (np.arange(size) + 0.5 for size in values.shape)
    axes.set_xticks(across, [f"{value:g}" for value in table.columns])
    axes.set_yticks(up, [f"{value:g}" for value in table.index])
    row = table.index.get_loc(marked_cell[0])
    column = table.columns.get_loc(marked_cell[1])
    axes.plot(across[column], up[row], marker="X", markersize=12, color="white", markeredgecolor="black")
    axes.set(xlabel=str(table.columns.name), ylabel=str(table.index.name))
    style.set_title(axes, f"{title}; the cross marks the chosen pair")
    axes.figure.colorbar(mesh, ax=axes, label=title)
    return axes


MAX_NUMBERED_LINES = 40
"""Largest number of lines of a forest plot with numbers next to them."""


def draw_forest(
    table: pd.DataFrame,
    classes: Sequence[Any],
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    are_ratios: bool = False,
) -> Axes:
    """Draw estimates with intervals, a line for each term and class; in a new figure the numbers are written.

    A dashed line marks 0, or 1 for ratios. If there are several classes, the name of a term is written at the
    first of its adjacent lines.

    Parameters
    ----------
    table : DataFrame
        Columns class, term, estimate, low and high (limits), in this order, one row per line from the top.
        Values that are not finite, and ratios that are not positive, are written but not drawn.
    classes : sequence
        All classes, in the order of the signs.
    names : (str, str)
        Name of the horizontal axis and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    are_ratios : bool
        Whether estimates are ratios, not their logarithms; the axis is then logarithmic.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax, int(1.6 * len(table)), size=style.scaled_inches(6.4, 4.0))
    order = {label: k for k, label in enumerate(classes)}
    has_several_classes = table["class"].nunique() > 1
    axes.axvline(
        1.0 if are_ratios else 0.0, color=style.faint_ink(0.35), linewidth=0.8, linestyle="--", zorder=1
    )
    if are_ratios:
        style.set_log_axis(axes, table[["estimate", "low", "high"]].to_numpy(dtype=np.float64))
    labelled_classes: set[Any] = set()
    for i, (label, _, value, low, high) in enumerate(table.itertuples(index=False, name=None)):
        k = order[label]
        marker_style: dict[str, Any] = {"color": signs.colour(k), "marker": signs.marker(k), "markersize": 5}
        name = style.shown_name(label) if label not in labelled_classes else None
        labelled_classes.add(label)
        if np.isfinite([low, high]).all() and (not are_ratios or low > 0):
            axes.plot([low, high], [i, i], color=signs.colour(k), linewidth=1.5, solid_capstyle="butt")
        is_drawable = np.isfinite(value) and (not are_ratios or value > 0)
        axes.plot(
            [value] if is_drawable else [],
            [i] if is_drawable else [],
            linestyle="none",
            label=name,
            **marker_style,
        )
    terms = table["term"].tolist()
    name_lines(
        axes,
        ["" if i and has_several_classes and term == terms[i - 1] else term for i, term in enumerate(terms)],
    )
    for i in range(1, len(terms)):
        if has_several_classes and terms[i] != terms[i - 1]:
            axes.axhline(i - 0.5, color=style.faint_ink(0.8), linewidth=0.5, zorder=0)
    axes.set_xlabel(names[0])
    if is_new and len(table) <= MAX_NUMBERED_LINES:
        texts = table[["estimate", "low", "high"]].map(_format_three_digits)
        write_next_to_lines(
            axes, [f"{value}  ({low}, {high})" for value, low, high in texts.to_numpy().tolist()]
        )
    if has_several_classes:
        # The legend goes below, because the numbers are next to the lines.
        style.add_legend(axes, False)
    style.set_title(axes, names[1])
    return axes


def _format_three_digits(value: float) -> str:
    """Format a number with three significant digits, or two if it has an exponent.

    Numbers from 1,000 up to 99,900 have commas and no exponent; the minus sign is U+2212.
    """
    text = f"{value:.3g}" if not 999.5 <= abs(value) < 99_950 else f"{float(f'{value:.3g}'):,.0f}"
    number, _, power = (text if "e" not in text else f"{value:.1e}").partition("e")
    return (f"{number}e{int(power)}" if power else number).replace("-", "\u2212")


def draw_profiles(
    table: pd.DataFrame,
    names: tuple[str, str],
    ax: Axes | None = None,
    axis_names: tuple[str, str] = ("", "Mean"),
) -> Axes:
    """Draw class means of several responses, joined to a profile for each class, with intervals.

    Parameters
    ----------
    table : DataFrame
        Columns mean, low and high (limits of its interval) by (class, response), in the order of the
        responses.
    names : (str, str)
        Name of the grouping, for the legend of several classes, and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    axis_names : (str, str)
        Names of the horizontal and the vertical axis.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax)
    classes, responses = (list(dict.fromkeys(table.index.get_level_values(i))) for i in (0, 1))
    positions = {response: i for i, response in enumerate(responses)}
    for k, label in enumerate(classes):
        class_table = table.loc[label]
        # A horizontal shift by class keeps the intervals of a response apart.
        shift = 0.05 * (k - (len(classes) - 1) / 2) / max(1.0, len(classes) / 6)
        shifted_positions = np.array([positions[response] for response in class_table.index]) + shift
        mean, low, high = style.to_floats(class_table[["mean", "low", "high"]]).T
        axes.vlines(shifted_positions, low, high, color=style.SIGNS.colour(k), linewidth=1.4)
        axes.plot(
            shifted_positions,
            mean,
            label=style.shown_name(label),
            markersize=5,
            **style.SIGNS.line_options(k),
        )
    axes.set_xticks(range(len(responses)), [style.shown_name(name) for name in responses])
    axes.set_xlim(-0.35, len(responses) - 0.65)
    axes.set_xlabel(style.shown_name(axis_names[0]))
    axes.set_ylabel(style.shown_name(axis_names[1]))
    axes.grid(axis="y", color=style.faint_ink(0.85))
    axes.set_axisbelow(True)
    if len(classes) > 1:
        style.add_legend(axes, is_new)
    if legend := axes.get_legend():
        legend.set_title(style.shown_name(names[0]))
    style.set_title(axes, names[1])
    fit_texts(axes, is_new)
    return axes


MAX_COUNTS = 8
"""Largest number of counts along the top of axes."""


def draw_errors(
    axes: Axes,
    candidates: pd.DataFrame,
    chosen: float,
    *,
    size: float = 3,
    is_log: bool = False,
    one_se_label: str = "",
) -> None:
    """Draw the errors of candidate values with their standard errors, and a line at the chosen value.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    candidates : DataFrame
        Three columns in this order: value, error, standard error; their names are not used.
    chosen : float
        The chosen value.
    size : float
        Size of the markers in points.
    is_log : bool
        Whether the horizontal axis is logarithmic.
    one_se_label : str
        Label of a line at the smallest error plus one standard error; no line if empty.
    """
    candidate_values, error, se = style.to_floats(candidates).T
    line_style: dict[str, Any] = {
        "color": style.SIGNS.colour(0),
        "ecolor": style.faint_ink(0.6),
        "marker": "o",
    }
    axes.errorbar(candidate_values, error, yerr=se, markersize=size, capsize=2, **line_style)
    if is_log:
        style.set_log_axis(axes, candidate_values)
    axes.axvline(chosen, color=style.SIGNS.colour(1), linestyle="--", linewidth=1.0, label="chosen")
    if one_se_label:
        best_index = int(error.argmin())
        line_style = {"color": style.faint_ink(0.35), "linestyle": ":", "linewidth": 1.0}
        axes.axhline(float(error[best_index] + se[best_index]), label=one_se_label, **line_style)


def write_counts_above(axes: Axes, positions: Floats, counts: Floats, label: str) -> None:
    """Write counts, for example of remaining variables, along the top of axes.

    At most `MAX_COUNTS` counts are written, which are evenly spaced in the arrays.

    Parameters
    ----------
    axes : Axes
        Axes to draw on, with final limits and scale of the horizontal axis.
    positions : (m,) float array
        Values on the horizontal axis.
    counts : (m,) float array
        Count at each position.
    label : str
        Label of the upper axis.
    """
    top_axes = axes.twiny()
    top_axes.set(xscale=axes.get_xscale(), xlim=axes.get_xlim())
    drawn_index = np.unique(
        np.linspace(0, len(positions) - 1, min(MAX_COUNTS, len(positions))).round().astype(int)
    )
    top_axes.set_xticks(positions[drawn_index], [f"{count:.0f}" for count in counts[drawn_index]])
    top_axes.set_xticks([], minor=True)
    top_axes.set_xlabel(label)
