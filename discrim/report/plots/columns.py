"""Plots of the variables by class: pairs, components of mixtures, log-determinants and normal quantiles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Floats
from discrim.report.grid import clean
from discrim.report.plots import style
from discrim.report.plots.points import draw_points, name_lines
from discrim.report.plots.spaces import add_class_legend, draw_outline
from discrim.report.plots.text_fit import select_separated

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes, Signs

PANEL_INCHES = 1.75
"""Width and height of a panel in inches."""

POINT_AREA_PER_INCH = 6.0
"""Area of a point in square points, per inch of the panel."""

DIGIT_WIDTH = 0.6 * 0.7 / 72
"""Width in inches of a digit of a tick label, per point of the font size of other text."""

N_BINS = 24
"""Number of bins of the histograms on the diagonal."""


def draw_pairs(
    means: pd.DataFrame,
    covariances: Mapping[Any, pd.DataFrame],
    radius: float,
    *,
    points: pd.DataFrame | None = None,
    labels: pd.Series | None = None,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw a panel for each pair of variables: points and outlines below the diagonal, outlines above.

    On the diagonal are histograms by class, or without points the names of the variables.

    Parameters
    ----------
    means : DataFrame (K, p)
        Means of the p variables by class.
    covariances : mapping of label to DataFrame (p, p)
        Class covariances; classes without one are drawn without an outline.
    radius : float
        Mahalanobis distance, not squared, of the outlines in the plane of two variables.
    points : DataFrame (n, p), optional
        Observations, with the columns of `means`.
    labels : Series (n,), optional
        Classes of the points; required to draw them.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
        Outer axes; its `child_axes` are the panels, row by row.
    """
    names = list(means.columns)
    classes = list(means.index)
    p = len(names)
    outer, inner = style.panels(
        ax,
        p,
        p,
        size=style.scaled_inches(PANEL_INCHES * p + 1.4, PANEL_INCHES * p + 0.8),
        relative_gaps=(0.1, 0.1),
    )
    xy = None if points is None else style.to_floats(points)
    codes = None if labels is None else style.label_codes(labels, classes)
    centres = style.to_floats(means)
    class_covariances = {label: style.to_floats(table) for label, table in covariances.items()}
    for i, name in enumerate(names):
        for j in range(p):
            panel = inner[i, j]
            if i == j:
                _draw_diagonal(panel, None if xy is None else xy[:, i], codes, len(classes), name, signs)
            else:
                if i > j and xy is not None and codes is not None:
                    draw_points(panel, xy[:, j], xy[:, i], codes, classes, signs)
                    for collection in panel.collections:
                        # Points of normal size would hide the outlines in a small panel.
                        collection.set_sizes(
                            [POINT_AREA_PER_INCH * panel.get_window_extent().width / panel.figure.dpi]
                        )
                pair_index = np.ix_([j, i], [j, i])
                for k, label in enumerate(classes):
                    line_style = {"color": signs.outline(k), "linestyle": signs.line(k), "linewidth": 1.3}
                    if label in class_covariances:
                        draw_outline(
                            panel,
                            centres[k, [j, i]],
                            class_covariances[label][pair_index],
                            radius,
                            **line_style,
                        )
            panel.tick_params(labelsize="x-small")
    _share_limits(inner)
    for i, name in enumerate(names):
        inner[p - 1, i].set_xlabel(style.shown_name(name, 18), fontsize="small")
        inner[i, 0].set_ylabel(style.shown_name(name, 18), fontsize="small")
    return add_class_legend(outer, True, classes, signs, False)


def _draw_diagonal(
    panel: Axes, x: Floats | None, codes: NDArray[np.intp] | None, k_classes: int, name: Any, signs: Signs
) -> None:
    """Draw the histograms of a variable by class on common bins, or write its name if it lacks values.

    Parameters
    ----------
    panel : Axes
        Axes to draw on.
    x : (n,) float array or None
        Values of the variable.
    codes : (n,) int array or None
        Class of each observation, -1 for none.
    k_classes : int
        Number of classes.
    name : str
        Name of the variable.
    signs : Signs
        Colours, markers and line styles of the classes.
    """
    from matplotlib.colors import to_hex

    panel.set_yticks([])
    if x is None or codes is None or not np.isfinite(x).any():
        panel.text(0.5, 0.5, style.shown_name(name, 18), ha="center", va="center", transform=panel.transAxes)
        return
    drawable = np.isfinite(x) & (codes >= 0)
    edges = (
        np.linspace(float(x[drawable].min()), float(x[drawable].max()), N_BINS + 1)
        if drawable.any()
        else [0.0, 1.0]
    )
    for k in range(k_classes):
        rows = drawable & (codes == k)
        if rows.any():
            colour = signs.colour(k)
            bar_style: dict[str, Any] = {
                "facecolor": to_hex((colour, 0.25), keep_alpha=True),
                "edgecolor": colour,
            }
            panel.hist(x[rows], bins=list(edges), histtype="stepfilled", **bar_style)
            panel.patches[-1].set_linestyle(signs.line(k))


def _share_limits(inner: NDArray[Any]) -> None:
    """Set common limits and ticks for each variable of a matrix of panels (p, p).

    Only the panels at the left and at the bottom have tick labels. The vertical axis of a diagonal panel,
    which shows counts, is not changed.
    """
    from matplotlib.ticker import MaxNLocator

    p = len(inner)
    for i in range(p):
        spans = [inner[r, i].get_xlim() for r in range(p) if r != i and inner[r, i].has_data()]
        spans += [inner[i, c].get_ylim() for c in range(p) if c != i and inner[i, c].has_data()]
        spans += [inner[i, i].get_xlim()] if inner[i, i].has_data() else []
        if not spans:
            continue
        low, high = min(s[0] for s in spans), max(s[1] for s in spans)
        for r in range(p):
            inner[r, i].set_xlim(low, high)
            if r != i:
                inner[i, r].set_ylim(low, high)
    for i in range(p):
        for j in range(p):
            if i < p - 1:
                inner[i, j].tick_params(labelbottom=False)
            if j > 0 or i == 0:
                inner[i, j].tick_params(labelleft=False)
    # Names and the legend, which have not been laid out yet, will take a quarter of the width.
    label_width = 0.75 * inner[0, 0].get_window_extent().width / inner[0, 0].figure.dpi
    locator = MaxNLocator(nbins=4, steps=[1, 2, 5, 10])
    for i in range(p):
        # A number at the end of a panel would touch the one at the beginning of the next.
        low, high = inner[i, i].get_xlim()
        margin = 0.1 * (high - low)
        ticks = locator.tick_values(low + margin, high - margin)
        ticks = ticks[(ticks >= low + margin) & (ticks <= high - margin)]
        if len(ticks) > 1:
            longest = max(len(f"{tick:g}") for tick in ticks)
            tick_distance = label_width * (ticks[1] - ticks[0]) / (high - low)
            ticks = ticks[:: math.ceil((longest + 1) * DIGIT_WIDTH * style.font_points() / tick_distance)]
        for r in range(p):
            inner[r, i].set_xticks(ticks)
            if r != i:
                inner[i, r].set_yticks(ticks)


MAX_HORIZONTAL_NAMES = 10
"""Largest number of covariance models with horizontal names; more are set upright."""


def draw_criterion(
    table: pd.DataFrame, x_column: str, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw the BIC of candidate mixtures minus the smallest BIC of the class, with a line for each class.

    Parameters
    ----------
    table : DataFrame
        One row per candidate: columns class and bic (smaller is better), and the column named by `x_column`.
    x_column : {"components", "covariance"}
        Column on the horizontal axis, in the order of its values in the table: the number of components or
        the name of the covariance model.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax)
    categories = list(dict.fromkeys(table[x_column]))
    classes = list(dict.fromkeys(table["class"]))
    for k, label in enumerate(classes):
        rows = table[table["class"] == label]
        positions = [categories.index(value) for value in rows[x_column]]
        bic_differences = rows["bic"].to_numpy(np.float64) - rows["bic"].min()
        axes.plot(
            positions,
            bic_differences,
            color=signs.colour(k),
            linestyle=signs.line(k),
            marker=signs.marker(k),
            markersize=5,
        )
    axes.set_xticks(range(len(categories)), [f"{category}" for category in categories])
    if x_column == "covariance" and len(categories) > MAX_HORIZONTAL_NAMES:
        axes.tick_params(axis="x", labelrotation=90)
    axes.axhline(0.0, color=style.faint_ink(0.35), linestyle=":", linewidth=1.0)
    axes.set(
        xlabel="Components" if x_column == "components" else "Covariance", ylabel="BIC minus smallest BIC"
    )
    return add_class_legend(axes, is_new, classes, signs, False) if len(classes) > 1 else axes


def draw_log_determinants(table: pd.DataFrame, ax: Axes | None = None, signs: Signs = style.SIGNS) -> Axes:
    """Draw bias-corrected log-determinants of class covariances with intervals, and a line at the pooled one.

    The uncorrected log-determinant is biased and may be outside its interval.

    Parameters
    ----------
    table : DataFrame
        Columns debiased, low and high (limits of the interval) by class, in natural logarithms. The last row
        is the pooled covariance.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax, len(table))
    values = style.to_floats(table[["debiased", "low", "high"]])
    for i, (value, low, high) in enumerate(values.tolist()):
        is_pooled = i == len(values) - 1
        colour = style.ink() if is_pooled else signs.colour(i)
        axes.plot([low, high], [i, i], color=colour, linewidth=1.5)
        axes.scatter([value], [i], color=colour, marker="D" if is_pooled else "o", s=30, zorder=3)
    axes.axvline(float(values[-1, 0]), color=style.ink(), linestyle="--", linewidth=0.8)
    name_lines(axes, list(table.index))
    axes.set_xlabel("ln |S|, bias-corrected")
    style.set_title(axes, "Log-determinants of the covariance matrices, with intervals")
    return axes


MAX_NAMED_ROWS = 3
"""Largest number of rows above the limits of a class that are named."""

NAME_SIZE = np.array([24.0, 8.0])
"""Approximate width and height of the name of a row, in points."""


MIN_FULL_LABEL = 1.5
"""Width in inches from which the label of a panel repeats that distances are squared, like the other axis."""


def draw_quantiles(
    tables: Mapping[Any, pd.DataFrame],
    class_positions: Mapping[Any, int],
    distribution: str,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw quantile-quantile plots of squared Mahalanobis distances by class, with pointwise limits.

    At most `MAX_NAMED_ROWS` rows of a class are named, if there is room: the rows with the largest distances
    above the upper limit.

    Parameters
    ----------
    tables : mapping of label to DataFrame
        One row per observation in ascending order, with the names of the rows as index: columns quantile
        (expected squared distance), squared (observed one), low and high (limits of the observed one). A
        class with an empty table gets a panel that says that it has too few observations.
    class_positions : mapping of label to int
        Position of each class among all classes, which determines its colour.
    distribution : str
        Name of the reference distribution, for the labels of the axes.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
        Outer axes; its `child_axes` are the panels.
    """
    columns = min(len(tables), 4 if len(tables) > 6 else 3)
    rows = math.ceil(len(tables) / columns)
    outer, inner = style.panels(
        ax,
        rows,
        columns,
        size=style.scaled_inches(max(2.5 * columns, 4.4), 2.5 * rows + 0.9),
        has_titles=True,
    )
    for panel in inner.ravel()[len(tables) :]:
        panel.set_axis_off()
    for panel, (label, table) in zip(inner.ravel(), tables.items(), strict=False):
        panel.set_title(style.shown_name(label, 22), fontsize="medium")
        panel.tick_params(labelsize="small")
        if not len(table):
            panel.text(0.5, 0.5, "too few observations", ha="center", va="center", transform=panel.transAxes)
            panel.set(xticks=[], yticks=[])
            continue
        k = class_positions[label]
        x, y = (table[name].to_numpy(dtype=np.float64) for name in ("quantile", "squared"))
        panel.fill_between(x, table["low"], table["high"], color=style.faint_ink(0.8), linewidth=0, zorder=1)
        ends = [0.0, float(x[-1])]
        panel.plot(ends, ends, color=style.ink(), linewidth=0.9, zorder=2)
        marker_style = {
            "color": signs.colour(k),
            "marker": signs.marker(k),
            "s": 12,
            "rasterized": len(x) > 5_000,
        }
        panel.scatter(x, y, linewidths=0, zorder=3, **marker_style)
    for panel in inner[:, 0]:
        panel.set_ylabel("Squared distance", fontsize="small")
    for panel_index in range(max(len(tables) - columns, 0), len(tables)):
        panel = inner.ravel()[panel_index]
        is_wide = panel.get_window_extent().width >= MIN_FULL_LABEL * panel.figure.dpi
        axis_name = "Expected squared distance" if is_wide else "Expected"
        panel.set_xlabel(f"{axis_name} ({distribution})", fontsize="small")
    style.run_layout(outer)
    for panel, table in zip(inner.ravel(), tables.values(), strict=False):
        # Name the rows above the upper limit, the farthest first, while there is room.
        x, y, high = (table[name].to_numpy(dtype=np.float64) for name in ("quantile", "squared", "high"))
        outside = np.flatnonzero((y > high) & (np.arange(len(y)) >= len(y) / 2))[::-1][:MAX_NAMED_ROWS]
        pixels = panel.transData.transform(np.column_stack([x, y])) * 72 / panel.figure.dpi
        for i in select_separated(pixels, outside.tolist(), NAME_SIZE):
            text = style.shown_name(clean(str(table.index[i])), 14)
            panel.annotate(text, (x[i], y[i]), (-3, 0), textcoords="offset points", ha="right", fontsize=7)
    return outer
