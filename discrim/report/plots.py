"""Pictures of a fit. This is the only module that imports matplotlib, and it does so when it draws.

Each function draws on the axes it is given, or makes a figure, and returns the axes. Colours are those of
Okabe and Ito, which stay apart for colour-blind readers; markers differ as well, so that 64 classes have 64
signs. A script that matplotlib's default font lacks takes a font that has it, in ``rcParams["font.family"]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.errors import DataError
from discrim.report.numbers import clean, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = [
    "add_legend",
    "draw_points",
    "draw_strips",
    "label_codes",
    "lay_out",
    "log_determinants",
    "new_axes",
    "numbers",
    "posteriors",
    "regions",
    "scores",
    "shown_name",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C00", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")

MOST_IN_LEGEND = 12
"""Classes up to which a legend names them; beyond, the class means bear their labels."""

GRID = 240
"""Points a side of the grid that regions are drawn on."""

LABEL = 30
"""Display width of a label before it is cut in its middle."""

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def scores(scores: pd.DataFrame, labels: pd.Series, centroids: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Discriminant scores by class: the first two axes, or the distribution on the only one.

    One axis is drawn as histograms on common bins, or, beyond 12 classes, as a strip for each class.

    Parameters
    ----------
    scores : DataFrame, rows by LD1, LD2, ...
    labels : Series
        Class of each row; a row without one, or without scores, is left out.
    centroids : DataFrame, classes by LD1, LD2, ...
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    classes = list(centroids.index)
    codes = label_codes(labels, classes)
    x, means = numbers(scores), numbers(centroids)
    strips = x.shape[1] == 1 and len(classes) > MOST_IN_LEGEND
    axes, own = new_axes(ax, len(classes) if strips else 0)
    if not x.shape[1]:
        axes.set_title("The class means do not differ: there is no discriminant.")
        axes.set_axis_off()
        return axes
    axes.set_xlabel(shown_name(scores.columns[0]))
    if strips:
        draw_strips(axes, x[:, 0], codes, classes)
        axes.scatter(means[:, 0], range(len(classes)), marker="|", s=60, color="black", zorder=3)
        axes.set_title("Discriminant scores; | marks the class means")
        return axes
    if x.shape[1] == 1:
        _draw_histograms(axes, x[:, 0], codes, classes, means[:, 0])
        axes.set_title("Discriminant scores; lines mark the class means")
        return add_legend(axes, own)
    draw_points(axes, x[:, 0], x[:, 1], codes, classes)
    axes.set_ylabel(shown_name(scores.columns[1]))
    # Both axes have unit variance within classes: equal units show distances as the rule sees them.
    axes.set_aspect("equal", adjustable="datalim")
    if len(classes) > MOST_IN_LEGEND:
        _draw_labels(axes, means[:, :2], classes)
        axes.set_title("Discriminant scores; labels stand at the class means")
        return axes
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=170, color="white", linewidths=3.5, zorder=4)
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=140, color="black", linewidths=1.5, zorder=5)
    axes.set_title("Discriminant scores; + marks the class means")
    return add_legend(axes, own)


def regions(
    predict: Callable[[pd.DataFrame], pd.Series],
    points: pd.DataFrame,
    labels: pd.Series,
    ax: Axes | None = None,
) -> Axes:
    """Regions of the classes in the plane of two predictors, with the rows on top.

    Parameters
    ----------
    predict : callable
        From a DataFrame with the columns of points to predicted labels.
    points : DataFrame
        Two numeric columns.
    labels : Series
        Class of each row; a row without one, or without both predictors, is left out.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    DataError
        No row has both predictors.
    """
    xy = numbers(points)
    known = np.isfinite(xy).all(axis=1)
    if not known.any():
        names = " and ".join(repr(name) for name in points.columns)
        raise DataError(
            f"No row has finite numbers in both {names}: give rows that have, or name other columns."
        )
    across, up = (_span(column) for column in xy[known].T)
    mesh = np.meshgrid(across, up)
    plane = pd.DataFrame({name: m.ravel() for name, m in zip(points.columns, mesh, strict=True)})
    predicted = predict(plane)
    classes = _classes(labels, predicted)
    cells = label_codes(predicted, classes).reshape(GRID, GRID)
    codes = np.where(known, label_codes(labels, classes), -1)
    axes, own = new_axes(ax)
    _draw_regions(axes, across, up, cells, len(classes))
    draw_points(axes, xy[:, 0], xy[:, 1], codes, classes)
    axes.set_xlim(across[0], across[-1])
    axes.set_ylim(up[0], up[-1])
    axes.set_xlabel(shown_name(points.columns[0]))
    axes.set_ylabel(shown_name(points.columns[1]))
    if len(classes) <= MOST_IN_LEGEND:
        axes.set_title("Regions of the predicted classes")
        return add_legend(axes, own)
    present = [k for k in range(len(classes)) if (codes == k).any()]
    means = np.array([xy[codes == k].mean(axis=0) for k in present]).reshape(-1, 2)
    _draw_labels(axes, means, [classes[k] for k in present])
    axes.set_title("Regions of the predicted classes; labels stand at the class means")
    return axes


def posteriors(proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None) -> Axes:
    """Posterior of each row's own class, by class: how sure the rule is, and where it is wrong.

    Parameters
    ----------
    proba : DataFrame, rows by classes
    labels : Series
        Class of each row; a row without one, or without posteriors, is left out.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    classes = list(proba.columns)
    codes = label_codes(labels, classes)
    p = numbers(proba)
    own = p[np.arange(len(p)), codes]
    axes, _ = new_axes(ax, len(classes))
    draw_strips(axes, own, codes, classes, wrong=own < p.max(axis=1, initial=0.0))
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("Posterior probability of the row's own class")
    axes.set_title("Posteriors; rows of another predicted class are ringed")
    return axes


def log_determinants(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Log-determinants of the classes' covariances with their intervals, and the pooled one as a line.

    Parameters
    ----------
    table : DataFrame
        By class, and "pooled" in the last row: debiased, low, high. The raw log-determinant is biased and may
        lie outside its interval.
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    axes, _ = new_axes(ax, len(table))
    values = numbers(table[["debiased", "low", "high"]])
    for i, (value, low, high) in enumerate(values.tolist()):
        whole = i == len(values) - 1
        colour = "black" if whole else COLOURS[i % len(COLOURS)]
        axes.plot([low, high], [i, i], color=colour, linewidth=1.5)
        axes.scatter([value], [i], color=colour, marker="D" if whole else "o", s=30, zorder=3)
    axes.axvline(float(values[-1, 0]), color="black", linestyle="--", linewidth=0.8)
    _name_lines(axes, list(table.index))
    axes.set_xlabel("ln |S|, its bias subtracted")
    axes.set_title("Log-determinants of the covariances, with intervals", wrap=True)
    return axes


# ---- what is drawn


def draw_points(axes: Axes, x: Floats, y: Floats, codes: Codes, classes: Sequence[Any]) -> None:
    """Rows at (x, y), (n,) each, with the sign of their class; a code of -1 is no class."""
    many = len(classes) > MOST_IN_LEGEND
    for k, label in enumerate(classes):
        rows = codes == k
        axes.scatter(x[rows], y[rows], label=shown_name(label), **_style(k, int(rows.sum()), many))


def _draw_labels(axes: Axes, places: Floats, classes: Sequence[Any]) -> None:
    from matplotlib.patheffects import withStroke

    for (x, y), label in zip(places.tolist(), classes, strict=True):
        text = axes.annotate(shown_name(label, 16), (x, y), fontsize=7, ha="center", va="center", zorder=6)
        text.set_path_effects([withStroke(linewidth=2, foreground="white")])
        text.set_clip_on(True)


def _draw_histograms(axes: Axes, x: Floats, codes: Codes, classes: Sequence[Any], means: Floats) -> None:
    known = np.isfinite(x) & (codes >= 0)
    values, codes = x[known], codes[known]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    # Scores have unit variance within classes, so that Freedman and Diaconis' bins are 2.7 n^(-1/3) wide.
    width = 2.7 * (max(len(values), 1) / len(classes)) ** (-1 / 3)
    edges = np.linspace(low, high, int(np.clip((high - low) / width, 1, 200)) + 2).tolist()
    for k, label in enumerate(classes):
        colour, line = COLOURS[k % len(COLOURS)], ("-", "--", ":", "-.")[k % 4]
        style: dict[str, Any] = {"histtype": "stepfilled", "facecolor": (colour, 0.3), "edgecolor": colour}
        axes.hist(values[codes == k], bins=edges, label=shown_name(label), linestyle=line, **style)
        axes.axvline(float(means[k]), color=colour, linestyle=line)
    axes.set_ylabel("Rows")


def draw_strips(
    axes: Axes, values: Floats, codes: Codes, classes: Sequence[Any], wrong: NDArray[np.bool_] | None = None
) -> None:
    """One line for each class, from the top; the rows of a class are spread over its line."""
    for k in range(len(classes)):
        rows = np.flatnonzero((codes == k) & np.isfinite(values))
        rows = rows[np.argsort(values[rows], kind="stable")]
        # Spread by rank, not at random: the picture is the same each time.
        height = k + 0.7 * ((np.arange(len(rows)) + 0.5) / max(len(rows), 1) - 0.5)
        style = _style(k, len(rows), len(classes) > MOST_IN_LEGEND)
        axes.scatter(values[rows], height, **style)
        if wrong is not None:
            ring = wrong[rows]
            style |= {"facecolors": "none", "edgecolors": "black", "linewidths": 1.0, "alpha": 1.0}
            del style["color"]
            axes.scatter(values[rows][ring], height[ring], **style)
    _name_lines(axes, classes)


def _name_lines(axes: Axes, names: Sequence[Any]) -> None:
    """Names of lines from the top down, as many as there is room for, and always the last."""
    inches = axes.get_window_extent().height / axes.figure.dpi
    step = math.ceil(0.13 * len(names) / inches)
    small = "small" if len(names) > MOST_IN_LEGEND else None
    # Counted from the last line, which is that of the pooled covariance where there is one.
    ticks = range(len(names) - 1, -1, -step)[::-1]
    axes.set_yticks(ticks, [shown_name(names[k]) for k in ticks], fontsize=small)
    axes.set_ylim(len(names) - 0.4, -0.6)


def _draw_regions(axes: Axes, across: Floats, up: Floats, cells: Codes, n_classes: int) -> None:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap([COLOURS[k % len(COLOURS)] for k in range(n_classes)])
    layout: dict[str, Any] = {"vmin": -0.5, "vmax": n_classes - 0.5, "shading": "nearest", "linewidth": 0}
    # A cell that has no predicted class stays white.
    axes.pcolormesh(
        across, up, np.ma.masked_less(cells, 0), cmap=colours, alpha=0.18, rasterized=True, **layout
    )
    for k in np.unique(cells).tolist():
        if not (cells == k).all():
            axes.contour(across, up, cells == k, levels=[0.5], colors="0.35", linewidths=0.6)


# ---- names, numbers, axes


def label_codes(labels: pd.Series, classes: Sequence[Any]) -> Codes:
    """Position of each label among the classes, -1 where there is none."""
    known = pd.Index(classes, dtype=object)
    codes = known.get_indexer(pd.Index(labels.astype(object), dtype=object))
    return np.where(labels.isna().to_numpy(), -1, codes).astype(np.intp)


def _classes(labels: pd.Series, predicted: pd.Series) -> list[Any]:
    """Classes in the order of the categories, else sorted."""
    if isinstance(labels.dtype, pd.CategoricalDtype):
        first = labels.cat.categories.tolist()
    else:
        first = pd.Index(labels.dropna().astype(object).unique()).sort_values().tolist()
    return list(dict.fromkeys([*first, *predicted.dropna().astype(object).unique().tolist()]))


def numbers(frame: pd.DataFrame) -> Floats:
    """The columns of a table as numbers (n, p)."""
    columns = [frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan) for j in range(frame.shape[1])]
    return np.column_stack(columns) if columns else np.empty((len(frame), 0))


def new_axes(ax: Axes | None, lines: int = 0) -> tuple[Axes, bool]:
    """The axes given, or those of a figure of our own, high enough for so many lines."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise DataError(f"ax= is a {type(ax).__name__}: give axes of matplotlib, as plt.subplots()[1] are.")
    if ax is not None:
        return ax, False

    width, height = plt.rcParams["figure.figsize"]
    size = (width, float(np.clip(0.17 * lines + 1, height, 30)))
    return plt.subplots(figsize=size, layout="constrained")[1], True


def lay_out(axes: Axes) -> None:
    """Let legend and names take their places, so that the axes have the size they will be drawn with."""
    from matplotlib.figure import Figure

    layout = axes.figure.get_layout_engine()
    if layout is not None and isinstance(axes.figure, Figure):
        layout.execute(axes.figure)


def _style(k: int, rows: int, small: bool) -> dict[str, Any]:
    marker = MARKERS[(k + k // len(COLOURS)) % len(MARKERS)]
    size, alpha = (10, 0.5) if small else (22, 0.75)
    style = {"color": COLOURS[k % len(COLOURS)], "marker": marker, "s": size, "alpha": alpha, "linewidths": 0}
    # Vector files of a million points cannot be opened.
    return style | {"rasterized": rows > 5_000}


def shown_name(label: Any, width: int = LABEL) -> str:
    """A label as matplotlib should show it: no mathematics, no control characters, not too long."""
    text = shorten(clean(label), width).replace("$", r"\$")
    # matplotlib keeps labels with a leading underscore out of legends.
    return f"\u200a{text}" if text.startswith("_") else text


def _span(values: Floats) -> Floats:
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 0.06 * abs(low) or 1.0
    return np.linspace(low - margin, high + margin, GRID)


def add_legend(axes: Axes, own: bool) -> Axes:
    """Classes by name: beside the axes where the figure is ours, else where they leave room."""
    if len(axes.get_legend_handles_labels()[1]) <= MOST_IN_LEGEND:
        # Over rows, a frame tells the markers of the legend from those of the rows.
        place: dict[str, Any] = (
            {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
            if own
            else {"loc": "best", "frameon": True, "framealpha": 0.8}
        )
        axes.legend(**place)
    return axes
