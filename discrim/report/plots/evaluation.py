"""Plots that evaluate a rule: confusion matrices, ROC and precision-recall curves, calibration, folds.

Also plots of posteriors, of permutations and of selection: steps, candidates, and errors by number of
observations.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.report.plots import style
from discrim.report.plots.points import draw_strips, name_lines, write_next_to_lines
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.lines import Line2D

    from discrim.report.plots.style import Axes, Signs

MAX_RELATIVE_FONT_SIZE = 1.1
MIN_FONT_SIZE = 5.0
"""Largest size of numbers in cells, relative to other text, and smallest size in points."""

CELL_BLACK = "#010101"
"""Colour of numbers on light cells; pure black is the default of SVG, and would become ink in dark mode."""

MIN_SIDE = 4.6
CELL_WIDTH = 0.46
"""Smallest width in inches of all cells of a new figure, and width of one cell if there are many classes."""


def draw_confusion(
    table: pd.DataFrame, title: str, ax: Axes | None = None, colormap: Colormap | None = None
) -> Axes:
    """Draw a confusion matrix whose cells are coloured by their proportion of the actual class.

    Correct cells are blue and wrong ones orange, or all have the colours of a colormap. The colour deepens
    with the square root of the proportion, which makes one observation in a hundred visible.
    Cells contain the count and the proportion below it, if these are legible; cells without observations are
    empty. A new figure grows with the number of classes.

    Parameters
    ----------
    table : DataFrame (K, K)
        Counts, or sums of weights, of actual classes (rows) by predicted classes (columns).
    title : str
        Title of the plot.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    colormap : Colormap, optional
        Colours of all cells by the square root of the proportion.

    Returns
    -------
    Axes
    """
    k = len(table)
    side = float(np.clip(CELL_WIDTH * k, MIN_SIDE, 2 * MIN_SIDE))
    axes, is_new = style.new_axes(ax, size=style.scaled_inches(side + 1.4, side + 1.0))
    counts = style.to_floats(table)
    with np.errstate(invalid="ignore"):
        proportions = counts / counts.sum(axis=1, keepdims=True)
    colours = _cell_colours(proportions, colormap)
    edges = np.arange(k + 1) - 0.5
    line: dict[str, Any] = (
        {"edgecolors": style.faint_ink(0.8), "linewidth": 0.5} if k <= 2 * style.MAX_IN_LEGEND else {}
    )
    axes.pcolormesh(edges, edges, colours, rasterized=k > 100, **line)
    axes.set_aspect("equal" if is_new else "auto")
    name_lines(axes, list(table.index))
    axes.set(xlabel="Predicted class", ylabel="Actual class")
    # Names of columns stand upright; if not all fit, every step-th is named.
    names = list(table.columns)
    inches = axes.get_window_extent().width / axes.figure.dpi
    step = math.ceil(0.013 * style.font_points() * len(names) / inches)
    font_size = "small" if len(names) > style.MAX_IN_LEGEND else None
    drawn_names = names[::step]
    axes.set_xticks(range(0, len(names), step), list(map(style.shown_name, drawn_names)), fontsize=font_size)
    if step > 1:
        axes.set_xlabel(f"{axes.get_xlabel()} ({len(drawn_names)} of {len(names)} named)")
    # name_lines has set limits with a margin, which cells do not have.
    axes.set(xlim=(-0.5, k - 0.5), ylim=(k - 0.5, -0.5))
    style.set_title(axes, title)
    # Names may reduce the room of the cells, hence their size is final only now.
    fit_texts(axes, is_new)
    style.run_layout(axes)
    _write_cells(axes, counts, proportions, colours)
    return axes


def _cell_colours(proportions: Floats, colormap: Colormap | None) -> Floats:
    """Return the RGBA colours (K, K, 4), from 0 to 1, of the cells of a confusion matrix.

    Parameters
    ----------
    proportions : (K, K) float
        Proportions of the actual class; NaN, for classes without rows, has the colour of the paper.
    colormap : Colormap or None
        By default correct and wrong cells have different hues.

    Returns
    -------
    (K, K, 4) float
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    ramps: list[Colormap] = [colormap] * 2 if colormap is not None else []
    if colormap is None:
        hues = [style.SIGNS.colour(k) for k in range(2)]
        ramps = [LinearSegmentedColormap.from_list("", [style.paper(), hue]) for hue in hues]
    correct_colours, wrong_colours = (ramp(np.sqrt(np.nan_to_num(proportions))) for ramp in ramps)
    colours = np.where(np.eye(len(proportions), dtype=bool)[..., None], correct_colours, wrong_colours)
    colours[np.isnan(proportions)] = to_rgba(style.paper())
    return np.asarray(colours)


def _write_cells(axes: Axes, counts: Floats, proportions: Floats, colours: Floats) -> None:
    """Write counts and proportions, or only counts if these are too small to read, into non-empty cells.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    counts : (K, K) float array
        Counts or sums of weights; cells of zero are not written.
    proportions : (K, K) float array
        Proportions (0 to 1) of the actual class.
    colours : (K, K, 4) float array
        RGBA colours of the cells, from 0 to 1, on which texts are black or white.
    """
    cells = np.argwhere(counts).tolist()
    count_texts = [_format_count(counts[i, j]) for i, j in cells]
    texts_by_digits = [
        [
            f"{number}\n{_format_percent(proportions[i, j], digits)}"
            for number, (i, j) in zip(count_texts, cells, strict=True)
        ]
        for digits in (1, 0)
    ]
    for texts, min_size in (
        (texts_by_digits[0], MIN_FONT_SIZE + 2),
        (texts_by_digits[1], MIN_FONT_SIZE + 1),
        (count_texts, MIN_FONT_SIZE),
    ):
        size = _font_size_for_cell(axes, max(texts, key=len, default=""), len(counts))
        if size >= min_size:
            break
    else:
        return
    # Black or white, whichever has more contrast by relative luminance.
    is_dark = style.luminance(colours[..., :3]) < 0.179
    for (i, j), text in zip(cells, texts, strict=True):
        colour = "white" if is_dark[i, j] else CELL_BLACK
        axes.text(j, i, text, ha="center", va="center", fontsize=size, color=colour, linespacing=1.1)


def _font_size_for_cell(axes: Axes, text: str, k: int) -> float:
    """Return the largest font size in points at which a text fits a cell of a grid of k by k cells.

    It is at most `MAX_RELATIVE_FONT_SIZE` times the size of other text.
    """
    artist = axes.text(0, 0, text, fontsize=10, linespacing=1.1)
    box = artist.get_window_extent()
    window = axes.get_window_extent()
    artist.remove()
    across = 0.84 * window.width / k / max(box.width, 1)
    up = 0.84 * window.height / k / max(box.height, 1)
    return float(min(10 * across, 10 * up, MAX_RELATIVE_FONT_SIZE * style.font_points()))


def _format_percent(proportion: float, digits: int) -> str:
    """Format a proportion (0 to 1) in percent with `digits` decimals; "<1 %" replaces "0 %"."""
    text = f"{100 * proportion:.{digits}f} %"
    return text if digits or not text.startswith("0 ") else "<1 %"


def _format_count(value: float) -> str:
    """Format a count as an integer, or a sum of weights that is not whole with one decimal."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


MAX_NAMED_CLASSES = 6
"""Number of classes that are coloured and named if not all fit into the legend."""

MAX_BANDS = 3
"""Largest number of classes with bands by default; more bands would cover each other."""

MIN_SQUARE_HEIGHT = 2.5
"""Smallest height in inches of given axes for ROC curves in equal units."""

BAND_OPACITY = 0.14
"""Opacity of a band."""


@dataclass(frozen=True, eq=False)
class CurveSource:
    """The fit and the observations of the curves that one call draws.

    Attributes
    ----------
    title : str
        Title of the curves, without `prediction_method`.
    model : str
        Name of the model, such as "lda".
    prediction_method : str
        How the observations were predicted, for example by cross-validation.
    fixed_choices : str
        Which choices were made with all observations and not repeated in folds; empty if none.
    label : str, optional
        Name that the user chose for the curves.
    """

    title: str
    model: str
    prediction_method: str
    fixed_choices: str = ""
    label: str | None = None


@dataclass(frozen=True, slots=True)
class CurveKind:
    """Axes and legend of one of the kinds of curves that `draw_curves` draws.

    Attributes
    ----------
    curves : str
        Name of the curves in the title of axes with curves of several fits.
    x, y : str
        Columns of the points.
    x_label, y_label : str
        Labels of the axes.
    area : str
        Name of the area under a curve, for the heading of the legend.
    is_stepped : bool
        Whether a point applies to all x from the point before it, so that the curve is a step function.
    legend_location : str
        Corner that useful curves leave free.
    """

    curves: str
    x: str
    y: str
    x_label: str
    y_label: str
    area: str
    is_stepped: bool
    legend_location: Literal["lower left", "lower right"]


ROC = CurveKind(
    "ROC curves", "false_positive", "true_positive", "False positive rate", "True positive rate",
    "Area under the curve", is_stepped=False, legend_location="lower right",
)  # fmt: skip
PRECISION_RECALL = CurveKind(
    "Precision-recall curves", "recall", "precision", "Recall",
    "Precision", "Average precision", is_stepped=True,
    legend_location="lower left",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class CurveMark:
    """A cut-off that is marked on a curve.

    Attributes
    ----------
    x, y : float
        Position of the mark.
    label : str
        Label in the legend.
    """

    x: float
    y: float
    label: str


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnCurve:
    """Source, name of the class and formatted area of a curve, for its label in the legend."""

    source: CurveSource
    class_label: str
    area: str


_DRAWN_CURVES: WeakKeyDictionary[Line2D, _DrawnCurve] = WeakKeyDictionary()
"""Curves in the legends of the axes that exist, so that later calls on the same axes can rename them."""


def draw_curves(
    kind: CurveKind,
    curves: dict[Any, pd.DataFrame],
    areas: pd.DataFrame,
    source: CurveSource,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    level: float = 0.95,
    *,
    class_positions: Sequence[int],
    max_bands: int = MAX_BANDS,
    marks: dict[Any, CurveMark] | None = None,
) -> Axes:
    """Draw ROC or precision-recall curves by class, with areas in the legend and for ROC confidence bands.

    Axes that contain curves of other fits keep them: curves of one class then differ in colour and line
    style, and the labels in the legend are made unique. If there are more than 12 classes, the classes
    with the smallest areas are named, and the others are faint.

    Parameters
    ----------
    kind : CurveKind
        `ROC` or `PRECISION_RECALL`.
    curves : dict of label to DataFrame
        Points of the curve of each class against all others. For `ROC` they are from (0, 0) to (1, 1), with
        the columns false_positive and true_positive and their limits false_low, false_high, true_low and
        true_high; for `PRECISION_RECALL` the columns are recall, which increases, and precision. A class
        without a curve is only in the legend.
    areas : DataFrame (K, 3)
        Columns auc, low and high (limits) by class; missing if a class, or its complement, is without
        observations. For `PRECISION_RECALL` a column share has the share of the class.
    source : CurveSource
        The fit and the observations, for labels and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    level : float
        Confidence level of the limits, for the legend.
    class_positions : sequence of int
        Position of each of the K classes among all classes of the fit, which determines its colour.
    max_bands : int
        Largest number of classes with bands; always only for classes that are named.
    marks : dict of label to CurveMark, optional
        Cut-off that is marked on the curve of a class.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax, size=style.scaled_inches(5.8, 5.4))
    n_earlier = len({curve.source for _, curve in _drawn_curves(axes)})
    reference: dict[str, Any] = {"color": style.faint_ink(0.6), "linewidth": 0.8, "zorder": 1}
    if kind is ROC and not n_earlier:
        axes.plot([0, 1], [0, 1], **reference)
    elif kind is PRECISION_RECALL and len(areas) == 1 and not n_earlier:
        share = float(areas["share"].iloc[0])
        axes.plot([0, 1], [share, share], label=f"random scores  {share:.3f}", **reference)
    # If fits have a single curve each, these differ in colour; otherwise they have the classes' colours.
    colour_shift = n_earlier if len(areas) == 1 else 0
    order = np.argsort(areas["auc"].to_numpy(), kind="stable")
    names_all = len(areas) <= style.MAX_IN_LEGEND
    named_classes = set(range(len(areas)) if names_all else order[:MAX_NAMED_CLASSES].tolist())
    for k in range(len(areas)) if names_all else order[::-1].tolist():
        label = areas.index[k]
        points = curves.get(label)
        line_style: dict[str, Any] = {"color": style.faint_ink(0.6), "linewidth": 0.8, "zorder": 1.5}
        if k in named_classes:
            line_style = {
                "color": signs.colour(class_positions[k] + colour_shift),
                "linestyle": signs.line(k + n_earlier),
            }
            line_style["linewidth"] = 1.6
        rates = np.empty((2, 0)) if points is None else style.to_floats(points[[kind.x, kind.y]]).T
        if kind.is_stepped:
            line_style["drawstyle"] = "steps-pre"
            rates = np.column_stack([[0.0, rates[1, 0]], rates]) if rates.size else rates
        (line,) = axes.plot(*rates, **line_style)
        if k in named_classes:
            _DRAWN_CURVES[line] = _DrawnCurve(
                source, style.shown_name(label, 24), _format_area(areas.iloc[k])
            )
            if kind is ROC and points is not None and len(areas) <= max_bands:
                _add_band(axes, points, line_style["color"])
            if marks and label in marks:
                marker = signs.marker(class_positions[k] + colour_shift)
                _draw_mark(axes, marks[label], marker, line_style["color"])
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    # Equal units would make small given axes even narrower.
    is_large = axes.get_window_extent().height >= MIN_SQUARE_HEIGHT * axes.figure.dpi
    axes.set_aspect("equal" if ax is None or is_large else "auto")
    axes.set(xlabel=kind.x_label, ylabel=kind.y_label)
    heading = f"{kind.area} ({100 * level:g} %)"
    if not names_all:
        heading += f",\nthe {len(named_classes)} smallest of {len(areas)}"
    title = _name_curves(axes, kind)
    font_size = "small" if len(named_classes) > 4 or ax is not None else None
    legend = axes.legend(
        loc=kind.legend_location, title=heading, fontsize=font_size, title_fontsize=font_size, framealpha=0.8
    )
    # The legend is within the axes. If it were in the layout, a high one would leave no room for the axes.
    legend.set_in_layout(False)
    style.set_title(axes, title)
    return axes


def _draw_mark(axes: Axes, mark: CurveMark, marker: Any, colour: Any) -> None:
    """Draw a cut-off on a curve, with its label in the legend.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    mark : CurveMark
    marker, colour
        Marker and colour of the class.
    """
    axes.plot(
        mark.x, mark.y, label=mark.label, zorder=4, marker=marker, linestyle="none", color=colour,
        markeredgecolor=style.paper(), markersize=8,
    )  # fmt: skip


def _drawn_curves(axes: Axes) -> list[tuple[Line2D, _DrawnCurve]]:
    """Return the curves of axes that are named in the legend, in the order of drawing."""
    return [(line, _DRAWN_CURVES[line]) for line in axes.lines if line in _DRAWN_CURVES]


def _name_curves(axes: Axes, kind: CurveKind) -> str:
    """Label all curves of one kind uniquely, and return the title of the axes, which is not set.

    A curve of a single fit without a label is named by its class. Otherwise the name consists of the label of
    the fit or the name of the model, the class unless it is the same for all curves and, with several fits,
    the method of prediction if it differs.
    """
    named_curves = _drawn_curves(axes)
    sources = list(dict.fromkeys(curve.source for _, curve in named_curves))
    prediction_methods = list(dict.fromkeys(source.prediction_method for source in sources))
    one_class = len({curve.class_label for _, curve in named_curves}) == 1
    names: Counter[str] = Counter()
    for line, curve in named_curves:
        source = curve.source
        name_parts = []
        if source.label is not None or len(sources) > 1:
            name_parts.append(source.model if source.label is None else source.label)
        if not one_class or not name_parts:
            name_parts.append(curve.class_label)
        if len(sources) > 1:
            name_parts += [source.prediction_method] if len(prediction_methods) > 1 else []
            name_parts += [source.fixed_choices] if source.fixed_choices else []
        name = ", ".join(style.shown_name(name_part, 40) for name_part in name_parts)
        names[name] += 1
        number = f" ({names[name]})" if names[name] > 1 else ""
        line.set_label(f"{name}{number}  {curve.area}")
    titles = list(dict.fromkeys(source.title for source in sources))
    name_parts = [
        titles[0] if len(titles) == 1 else kind.curves,
        *(prediction_methods if len(prediction_methods) == 1 else []),
    ]
    if len(sources) == 1 and sources[0].fixed_choices:
        name_parts.append(sources[0].fixed_choices)
    return ", ".join(name_parts)


def _add_band(axes: Axes, points: pd.DataFrame, colour: Any) -> None:
    """Draw the confidence band of a ROC curve through the corners of the confidence rectangles of its points.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    points : DataFrame
        Points of the curve with their limits; see `draw_curves`.
    colour : colour
        Colour of the band.
    """
    upper = points["false_low"].to_numpy(), points["true_high"].to_numpy()
    lower = points["false_high"].to_numpy(), points["true_low"].to_numpy()
    # From corner to corner of the unit square, and back below.
    x = np.concatenate([[0.0], upper[0], [1.0], [1.0], lower[0][::-1], [0.0]])
    y = np.concatenate([[upper[1][0]], upper[1], [1.0], [lower[1][-1]], lower[1][::-1], [0.0]])
    axes.fill(x, y, color=colour, alpha=style.adapted_opacity(BAND_OPACITY), linewidth=0, zorder=1.2)


def _format_area(row: pd.Series) -> str:
    """Format an area (columns auc, low and high) with its interval, without it if it is missing.

    An area below 1 is not rounded to 1. A missing area becomes "no observations".
    """
    if np.isnan(row["auc"]):
        return "no observations"
    digits = next((d for d in (3, 4, 5) if row["auc"] == 1 or round(row["auc"], d) < 1), 6)
    text = f"{row['auc']:.{digits}f}"
    return text if np.isnan(row["low"]) else f"{text} ({row['low']:.{digits}f}, {row['high']:.{digits}f})"


HISTOGRAM_HEIGHT = 0.24
"""Proportion of the height for the histogram of the predictions."""


def draw_calibration(
    bins: dict[Any, pd.DataFrame],
    counts_by_probability: dict[Any, pd.Series],
    title: str,
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    class_positions: Sequence[int],
    bands: bool = False,
) -> Axes:
    """Draw observed proportions by predicted probability, with a histogram of the predictions below.

    Parameters
    ----------
    bins : dict of label to DataFrame
        One row per bin of each class: columns predicted (probability), observed (proportion), low and high
        (limits of the proportion).
    counts_by_probability : dict of label to Series
        Number of observations, or sum of their weights, in equal intervals of the probability, by their lower
        ends; the last interval ends at 1.
    title : str
        Title of the plot.
    names : (str, str)
        Labels of the axes of the probability and of the proportion.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    class_positions : sequence of int
        Position of each class of `bins` among all classes, which determines its colour.
    bands : bool
        Draw bands between the limits for more than `MAX_BANDS` classes too; error bars are always drawn.

    Returns
    -------
    Axes
        Outer axes; its `child_axes` are the curve and the histogram.
    """
    outer, is_new = style.new_axes(ax, size=style.scaled_inches(5.8, 6.4))
    outer.set_axis_off()
    upper = outer.inset_axes((0.0, HISTOGRAM_HEIGHT + 0.04, 1.0, 0.96 - HISTOGRAM_HEIGHT))
    lower = outer.inset_axes((0.0, 0.0, 1.0, HISTOGRAM_HEIGHT), sharex=upper)
    upper.plot([0, 1], [0, 1], color=style.faint_ink(0.6), linewidth=0.8, zorder=1)
    for k, (label, class_bins) in enumerate(bins.items()):
        colour = signs.colour(class_positions[k])
        line = signs.line(k)
        limits = np.abs(class_bins[["low", "high"]].to_numpy().T - class_bins["observed"].to_numpy())
        marker_style: dict[str, Any] = {"color": colour, "linestyle": line, "label": style.shown_name(label)}
        marker_style |= {"marker": signs.marker(class_positions[k]), "markersize": 5}
        marker_style |= {"linewidth": 1.2, "elinewidth": 0.8, "capsize": 2}
        upper.errorbar(class_bins["predicted"], class_bins["observed"], yerr=limits, **marker_style)
        if bands or len(bins) <= MAX_BANDS:
            band = class_bins["predicted"], class_bins["low"], class_bins["high"]
            upper.fill_between(
                *band, color=colour, alpha=style.adapted_opacity(BAND_OPACITY), linewidth=0, zorder=1.2
            )
        counts = counts_by_probability[label]
        edges = np.append(counts.index.to_numpy(dtype=np.float64), 1.0)
        lower.stairs(counts.to_numpy(dtype=np.float64), edges, color=colour, linestyle=line, linewidth=1.2)
    upper.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    upper.tick_params(labelbottom=False)
    upper.set_ylabel(names[1])
    lower.set_ylim(bottom=0.0)
    lower.set_ylabel("Observations")
    lower.locator_params(axis="y", nbins=3)
    lower.set_xlabel(names[0])
    if len(bins) > 1:
        style.add_legend(upper, is_new)
    style.set_title(outer, title)
    return outer


def draw_posteriors(
    proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw the posterior of each observation's own class, by class, with misclassified ones hollow.

    An observation is misclassified if another class has a larger posterior.

    Parameters
    ----------
    proba : DataFrame (n, K)
        Posteriors; the columns are the classes. Rows with missing ones are not drawn.
    labels : Series (n,)
        Actual classes; rows without a class are not drawn.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    classes = list(proba.columns)
    codes = style.label_codes(labels, classes)
    p = style.to_floats(proba)
    own_posteriors = p[np.arange(len(p)), codes]
    axes, _ = style.new_axes(ax, len(classes))
    draw_strips(
        axes,
        own_posteriors,
        codes,
        classes,
        wrong_mask=own_posteriors < p.max(axis=1, initial=0.0),
        signs=signs,
    )
    axes.set(xlim=(-0.02, 1.02), xlabel="Posterior probability of the actual class")
    style.set_title(axes, "Posteriors; misclassified observations are hollow")
    return axes


def draw_by_fold(
    values: pd.Series,
    mean: tuple[float, float, float],
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    has_zero_line: bool = False,
) -> Axes:
    """Draw the estimates of all folds, on a line for each repeat, or for each fold if there is one repeat.

    The mean of each of several repeats is marked on its line. The mean of all and its interval are on the
    last line.

    Parameters
    ----------
    values : Series
        Estimates by (repeat, fold), missing for a fold without observations.
    mean : (float, float, float)
        Mean and the lower and upper limit of its interval, which may be NaN.
    names : (str, str)
        Name of the estimate, for the horizontal axis, and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Its first colour is used.
    has_zero_line : bool
        Whether to draw a line at zero, for example for differences.

    Returns
    -------
    Axes
    """
    repeats = values.index.get_level_values(0)
    folds = values.index.get_level_values(1)
    is_single_repeat = repeats.nunique() == 1
    codes, labels = pd.factorize(folds if is_single_repeat else repeats)
    lines = [f"{'fold' if is_single_repeat else 'repeat'} {label}" for label in labels] + ["mean"]
    axes, _ = style.new_axes(ax, len(lines))
    estimates = values.to_numpy(dtype=np.float64)
    colour = signs.colour(0)
    for k in range(len(labels)):
        line_estimates = np.sort(estimates[(codes == k) & np.isfinite(estimates)])
        # Equal values would coincide, hence later ones are drawn a little lower.
        _, first_positions, multiplicities = np.unique(line_estimates, return_index=True, return_counts=True)
        rank_in_ties = np.arange(len(line_estimates)) - np.repeat(first_positions, multiplicities)
        offsets = 0.7 * (rank_in_ties / max(multiplicities.max(initial=1), 6))
        axes.scatter(line_estimates, k + offsets, color=colour, s=22, alpha=0.75, linewidths=0, zorder=3)
        if not is_single_repeat and len(line_estimates):
            axes.plot([line_estimates.mean()] * 2, [k - 0.3, k + 0.3], color=style.ink(), linewidth=1.2)
    last = len(lines) - 1
    axes.plot(list(mean[1:]), [last, last], color=style.ink(), linewidth=1.5)
    axes.scatter([mean[0]], [last], color=style.ink(), marker="D", s=36, zorder=3)
    axes.axvline(mean[0], color=style.ink(), linestyle="--", linewidth=0.8, zorder=1)
    if has_zero_line:
        axes.axvline(0.0, color=style.faint_ink(0.35), linewidth=1.0, zorder=1)
    name_lines(axes, lines)
    axes.set_xlabel(names[0])
    style.set_title(axes, names[1])
    return axes


MAX_BARS = 100
"""Largest number of distinct values with a bar each, and number of bins for more."""


def draw_permutations(
    values: pd.Series,
    observed: float,
    note: str,
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw a permutation distribution as bars, with a line at the observed statistic.

    Each of at most `MAX_BARS` distinct values has a bar; more values are counted in as many bins.

    Parameters
    ----------
    values : Series
        Statistic of each permutation.
    observed : float
        Observed statistic.
    note : str
        Text next to the line, below the observed statistic, such as the p-value.
    names : (str, str)
        Name of the statistic, for the horizontal axis, and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Its first colour is used.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax)
    positions, counts = np.unique(values.to_numpy(dtype=np.float64), return_counts=True)
    if len(positions) <= MAX_BARS:
        # Error rates of few rows have few distinct values, and wider or narrower bins would cause artefacts.
        width = 0.85 * float(np.diff(positions).min()) if len(positions) > 1 else 0.02
    else:
        counts, edges = np.histogram(values, bins=MAX_BARS)
        positions = (edges[1:] + edges[:-1]) / 2
        width = float(edges[1] - edges[0])
    axes.bar(positions, counts, width=width, color=signs.colour(0), alpha=0.75, linewidth=0, zorder=2)
    axes.axvline(observed, color=style.ink(), linewidth=1.6, zorder=3)
    low, high = min(float(positions.min()) - width, observed), max(float(positions.max()) + width, observed)
    space = 0.05 * (high - low)
    axes.set(xlim=(low - space, high + space), ylim=(0, 1.18 * float(counts.max())))
    is_right_half = observed > (low + high) / 2
    text_options: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
    text_options |= {"ha": "right" if is_right_half else "left", "va": "top"}
    axes.annotate(
        f"observed {observed:.3g}\n{note}", (observed, 1.0), (-5 if is_right_half else 5, -4), **text_options
    )
    axes.grid(axis="y", color=style.faint_ink(0.85))
    axes.set_axisbelow(True)
    axes.locator_params(axis="y", integer=True)
    axes.set(xlabel=names[0], ylabel="Permutations")
    style.set_title(axes, names[1])
    return axes


def draw_steps(
    table: pd.DataFrame, names: tuple[str, str], ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw a criterion after each step of a selection; the last step is ringed.

    Parameters
    ----------
    table : DataFrame
        One row per step: columns name (term that entered or left), value (criterion after the step), low and
        high (its interval, NaN for none) and text. Texts are written to the right of a new figure. Without
        rows only the title is drawn.
    names : (str, str)
        Name of the criterion, for the horizontal axis, and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Its first colour is used.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax, int(1.6 * len(table)), size=style.scaled_inches(6.4, 4.0))
    if not len(table):
        axes.set_axis_off()
        style.set_title(axes, names[1])
        return axes
    lines = range(len(table))
    axes.plot(table["value"], lines, color=signs.colour(0), marker="o", markersize=5, zorder=3)
    for i, (low, high) in enumerate(table[["low", "high"]].to_numpy().tolist()):
        axes.plot([low, high], [i, i], color=style.faint_ink(0.5), linewidth=1.0, zorder=2)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "linewidths": 1.2, "zorder": 4}
    axes.scatter(table["value"].iloc[-1:], [len(table) - 1], s=110, label="last step", **ring)
    name_lines(axes, table["name"].tolist())
    axes.grid(axis="y", color=style.faint_ink(0.9))
    axes.set_axisbelow(True)
    write_next_to_lines(axes, table["text"] if is_new else [])
    axes.set_xlabel(names[0])
    axes.legend(loc="best", framealpha=0.8)
    style.set_title(axes, names[1])
    return axes


def draw_candidates(
    table: pd.DataFrame,
    chosen: str,
    names: tuple[str, str],
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw each candidate's loss minus the smallest, with one standard error; the chosen candidate is ringed.

    Parameters
    ----------
    table : DataFrame
        Columns difference (loss minus the smallest), se_difference (standard error of the difference) and
        text by candidate. Infinite differences are not drawn; texts are written to the right of a new figure.
    chosen : str
        Label of the chosen candidate in the index of `table`.
    names : (str, str)
        Name of the loss difference, for the horizontal axis, and title.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Its first colour is used.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax, int(1.6 * len(table)), size=style.scaled_inches(6.4, 4.0))
    differences, standard_errors = (
        table[name].to_numpy(dtype=np.float64) for name in ("difference", "se_difference")
    )
    for i, (value, error) in enumerate(zip(differences.tolist(), standard_errors.tolist(), strict=True)):
        axes.plot([value - error, value + error], [i, i], color=style.faint_ink(0.5), linewidth=1.5, zorder=2)
    lines = np.arange(len(table))
    axes.scatter(differences, lines, color=signs.colour(0), s=30, zorder=3)
    axes.axvline(0.0, color=style.faint_ink(0.35), linewidth=1.0, zorder=1)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": style.ink(), "linewidths": 1.2, "zorder": 4}
    chosen_index = np.flatnonzero(table.index == chosen)
    axes.scatter(differences[chosen_index], chosen_index, s=110, label="chosen", **ring)
    name_lines(axes, [str(name) for name in table.index])
    axes.grid(axis="y", color=style.faint_ink(0.9))
    axes.set_axisbelow(True)
    write_next_to_lines(axes, table["text"] if is_new else [])
    axes.set_xlabel(names[0])
    axes.legend(loc="best", framealpha=0.8)
    style.set_title(axes, names[1])
    return axes


def draw_learning_curve(
    lines: Mapping[str, pd.Series],
    levels: Mapping[str, float | None],
    names: tuple[str, str],
    title: str,
    *,
    points: pd.DataFrame | None = None,
    band: pd.DataFrame | None = None,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw error rates by number of observations, on a logarithmic scale.

    Parameters
    ----------
    lines : mapping of str to Series
        Error rates of curves by name; the index is the number of observations. Several curves have a legend.
    levels : mapping of str to float or None
        Error rates of horizontal lines by name, which is written at the line; None for no line.
    names : (str, str)
        Labels of the horizontal and vertical axis.
    title : str
        Title of the plot.
    points : DataFrame, optional
        Columns error, low and high (limits) by number of observations, drawn as error bars. Without them the
        curves have markers.
    band : DataFrame, optional
        Columns low and high by number of observations, shaded in the colour of the first curve.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the curves, by position.

    Returns
    -------
    Axes
    """
    axes, _ = style.new_axes(ax)
    if band is not None:
        ends = style.to_floats(band[["low", "high"]])
        axes.fill_between(
            list(band.index), ends[:, 0], ends[:, 1], color=signs.colour(0), alpha=0.15, linewidth=0
        )
    for k, (name, values) in enumerate(lines.items()):
        (line,) = axes.plot(
            list(values.index), values.to_numpy(np.float64), color=signs.colour(k), label=name
        )
        line.set_linestyle(signs.line(k))
        if points is None:
            line.set_marker(signs.marker(k))
    if points is not None:
        errors, low, high = style.to_floats(points[["error", "low", "high"]]).T
        bars = np.stack([errors - low, high - errors])
        axes.errorbar(
            list(points.index), errors, bars, fmt="o", color=style.ink(), markersize=5, linewidth=1.0
        )
    for name, level in levels.items():
        if level is not None:
            axes.axhline(level, color=style.faint_ink(0.5), linestyle=":", linewidth=1.0)
            axes.annotate(
                name,
                (0.01, level),
                xycoords=("axes fraction", "data"),
                va="bottom",
                fontsize="small",
            )
    axes.set_xscale("log")
    axes.set(xlabel=names[0], ylabel=names[1])
    if len(lines) > 1:
        axes.legend(frameon=False)
    style.set_title(axes, title)
    return axes
