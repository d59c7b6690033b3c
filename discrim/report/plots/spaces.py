"""Scores on discriminants, biplots and scree plots, and the ellipses of covariances and of hypotheses.

An ellipse of a class holds a share of its normal law. That of a hypothesis, that the means of classes or of a
term's cells are equal, reaches beyond that of the error where the hypothesis is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from discrim.report.grid import display_width
from discrim.report.plots import style
from discrim.report.plots.points import draw_labels, draw_points, draw_strips
from discrim.report.plots.text_fit import fit_texts

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes, Signs

POINTS = 121
"""Points of an outline."""


def outline(mean: Floats, covariance: Floats, radius: float) -> Floats:
    """Points (121, 2) whose Mahalanobis distance from the mean (2,) is the radius.

    A covariance (2, 2) of rank one gives a line, one of zero a point.

    Examples
    --------
    >>> points = outline(np.zeros(2), np.diag([4.0, 1.0]), 1.0)
    >>> points.max(axis=0).round(3).tolist()
    [2.0, 1.0]
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance / scale[:, None] / scale)
    half = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    # The turn of the axes is that of the symmetric root, so that a circle begins at its right.
    angle = np.linspace(0.0, 2.0 * np.pi, POINTS)
    circle = vectors.T @ np.vstack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + radius * (half @ circle).T)


def outline_radius(level: float) -> float:
    """Mahalanobis distance in a plane within which a share of a normal class lies."""
    return math.sqrt(-2.0 * math.log1p(-level))


def draw_outline(axes: Axes, mean: Floats, covariance: Floats, radius: float, **look: Any) -> None:
    """An ellipse as a line; an empty one where its covariance is not known."""
    if np.isfinite(covariance).all() and np.isfinite(mean).all():
        axes.plot(*outline(mean, covariance, radius).T, **look)


def draw_class(
    axes: Axes,
    place: Floats,
    covariance: Floats | None,
    radius: float,
    signs: Signs,
    k: int,
    size: float | None = 6.0,
) -> None:
    """The outline of class k, or of a component of it, and a mark of some points at its mean.

    A halo tells the line from rows and regions of the same colour.
    """
    if covariance is not None:
        look: dict[str, Any] = {"color": signs.outline(k), "linestyle": signs.line(k), "linewidth": 1.6}
        draw_outline(axes, place, covariance, radius, path_effects=style.halo(), zorder=4, **look)
    if size is not None:
        mark: dict[str, Any] = {"marker": signs.marker(k), "color": signs.colour(k), "markersize": size}
        edge = style.paper() if signs.colour(k) == style.ink() else style.ink()
        axes.plot(*place, markeredgecolor=edge, zorder=6, **mark)


def component_sizes(shares: pd.Series) -> Floats:
    """Sizes in points of marks at the means of components, by their shares in their classes."""
    return np.asarray(4 + 6 * np.sqrt(shares.to_numpy(dtype=np.float64)))


def draw_ellipses(
    means: pd.DataFrame,
    covariances: Mapping[Any, pd.DataFrame],
    pooled: pd.DataFrame | None,
    radius: float,
    *,
    points: pd.DataFrame | None = None,
    labels: pd.Series | None = None,
    shares: pd.Series | None = None,
    centred: bool = False,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Ellipses of the classes' covariances (2, 2) in the plane of two columns, beside the pooled one.

    The outlines lie at a Mahalanobis distance. Rows may be drawn below, with their classes as labels, but not
    where all ellipses are centred at zero, so that their shapes can be compared. Means and covariances may be
    those of components, by (class, component), whose shares are the sizes of the marks at the means.
    """
    classes = list(means.index.unique(level=0))
    axes, is_new = style.new_axes(ax)
    if points is not None and labels is not None and not centred:
        xy = style.numbers(points)
        codes = style.label_codes(labels, classes)
        draw_points(axes, xy[:, 0], xy[:, 1], codes, classes, signs)
    places = np.zeros((len(means), 2)) if centred else style.numbers(means)
    sizes = np.full(len(means), 6.0) if shares is None else component_sizes(shares)
    for key, place, size in zip(means.index, places, sizes.tolist(), strict=True):
        own = style.numbers(covariances[key]) if key in covariances else None
        k = classes.index(key if shares is None else key[0])
        draw_class(axes, place, own, radius, signs, k, size=None if centred else size)
    if pooled is not None:
        known = places[np.isfinite(places).all(axis=1)]
        centre = known.mean(axis=0) if len(known) else np.zeros(2)
        look = {"color": style.ink(), "linewidth": 2.2, "zorder": 5}
        draw_outline(axes, centre, style.numbers(pooled), radius, **look)
    axes.set(xlabel=style.shown_name(means.columns[0]), ylabel=style.shown_name(means.columns[1]))
    axes.margins(0.06)
    class_legend(axes, is_new, classes, signs, pooled is not None)
    if len(classes) > style.MOST_PLAIN and not centred and shares is None:
        there = np.flatnonzero(np.isfinite(places).all(axis=1))
        draw_labels(axes, places[there], [classes[k] for k in there.tolist()])
    return axes


def class_legend(axes: Axes, is_new: bool, classes: Sequence[Any], signs: Signs, pooled: bool) -> Axes:
    """Marker and line of each class together, and the pooled line."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], label=style.shown_name(label), **signs.of(k)) for k, label in enumerate(classes)
    ]
    handles += [Line2D([], [], label="pooled", color=style.ink(), linewidth=2.2)] if pooled else []
    place: dict[str, Any] = style.BESIDE if is_new else {"loc": "best"}
    size = "small" if len(handles) > 12 or axes.child_axes else "medium"
    axes.legend(handles=handles, ncols=1 if len(handles) <= 20 else 2, fontsize=size, **place)
    return axes


BETWEEN = " of the variance between classes"

CHI2_95 = 5.991464547107979
"""Quantile of chi-square with two degrees of freedom, -2 ln 0.05."""


def draw_scores(
    scores: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    shares: pd.Series | None = None,
    counts: pd.Series | None = None,
    level: float | None = 0.5,
    within: Floats | None = None,
    of: str = BETWEEN,
    labelled: bool = True,
) -> Axes:
    """Discriminant scores by class on two axes, or their distribution on the only one.

    Scores have unit variance within classes unless a covariance `within` (r, r) is given: an outline of a
    class holds a share `level` of a normal class, at the distance sqrt(-2 ln(1 - level)), and a filled circle
    its mean at 95 % confidence, with the radius sqrt(chi2(0.95, 2)/n_k) (Seal, 1964, Multivariate Statistical
    Analysis for Biologists), where the counts n_k are given. One axis is drawn as histograms on common bins,
    or, beyond 12 classes, as a strip for each class. A row without a label, or without scores, is left out.
    Shares of the variance between classes, or of what is said, are named on the axes. The means of many
    classes bear their labels, unless these are drawn later.
    """
    classes = list(centroids.index)
    codes = style.label_codes(labels, classes)
    x = style.numbers(scores)
    means = style.numbers(centroids)
    if not means.shape[1]:
        axes, _ = style.new_axes(ax)
        style.set_title(axes, "The class means do not differ: there is no discriminant.")
        axes.set_axis_off()
        return axes
    if means.shape[1] == 1:
        sd = 1.0 if within is None else math.sqrt(float(within[0, 0]))
        name = axis_name(centroids.columns[0], shares, of)
        return _one_axis(x[:, 0], codes, classes, means[:, 0], name, ax, signs, sd)
    spread = np.eye(2) if within is None else within
    radius = 0.0 if level is None else outline_radius(level)
    axes, is_new = style.new_axes(ax, size=_size(x, means, radius * np.sqrt(np.diagonal(spread))))
    draw_points(axes, x[:, 0], x[:, 1], codes, classes, signs)
    for k, mean in enumerate(means):
        colour = signs.outline(k)
        if radius:
            look = {"color": colour, "linestyle": signs.line(k), "linewidth": 1.3, "zorder": 3}
            draw_outline(axes, mean, spread, radius, path_effects=style.halo(), **look)
        if counts is not None and counts.iloc[k] > 0:
            circle = outline(mean, spread, math.sqrt(CHI2_95 / float(counts.iloc[k])))
            axes.fill(*circle.T, facecolor=(colour, 0.3), edgecolor=colour, zorder=3)
    axes.set(
        xlabel=axis_name(centroids.columns[0], shares, of),
        ylabel=axis_name(centroids.columns[1], shares, of=""),
    )
    # Where axes have unit variance within classes, equal units show distances as the rule sees them.
    axes.set_aspect("equal", adjustable="datalim")
    # Steps of 2.5 would have wider numbers than the layout has made room for, before units were equal.
    axes.locator_params(steps=[1, 2, 5, 10])
    filled = counts is not None and bool((counts > 0).any())
    style.set_title(axes, scores_title(len(x) > 0, level, of == BETWEEN, filled=filled))
    if not len(x):
        axes.scatter(means[:, 0], means[:, 1], marker="+", s=90, color=style.ink(), linewidths=1.2, zorder=5)
    if _is_labelled(scores, classes):
        if labelled:
            if len(x) and len(classes) <= style.MOST_IN_LEGEND:
                style.add_legend(axes, is_new)
            fit_texts(axes, is_new)
            draw_labels(axes, means, classes)
        return axes
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=170, color=style.paper(), linewidths=3.5, zorder=4)
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=140, color=style.ink(), linewidths=1.5, zorder=5)
    return style.add_legend(axes, is_new)


def _is_labelled(scores: pd.DataFrame, classes: Sequence[Any]) -> bool:
    """Whether class means bear their labels: of many classes, and where there are no rows."""
    return not len(scores) or len(classes) > style.MOST_PLAIN


def axis_name(name: Any, shares: pd.Series | None, of: str = BETWEEN) -> str:
    """Name of an axis, with its share of the variance between classes, or of what is said."""
    return f"{style.shown_name(name)}{axis_share(name, shares, of)}"


def axis_share(name: Any, shares: pd.Series | None, of: str = BETWEEN) -> str:
    """The share alone, in brackets after a space; empty where it is not known."""
    if shares is None or not np.isfinite(shares.loc[name]):
        return ""
    return f" ({100 * float(shares.loc[name]):.1f} %{of})"


def scores_title(rows: bool, level: float | None, discriminants: bool, filled: bool = False) -> str:
    """Title of scores, of rows or of the class means alone, with the share in outlines, if there are any."""
    title = "Discriminant scores" if discriminants else "Scores"
    if not rows:
        title = f"Class means on the {'discriminants' if discriminants else 'components'}"
    outlines = f"; outlines hold {100 * level:.6g} % of a normal class" if level else ""
    return title + outlines + ("\nfilled: the class means, 95 %" if filled else "")


def _size(x: Floats, means: Floats, radius: Floats) -> tuple[float, float]:
    """Inches that suit what is drawn in equal units, so that no half of the picture is empty."""
    known = x[np.isfinite(x).all(axis=1)]
    return equal_size(*np.ptp(np.vstack([known, means - radius, means + radius]), axis=0).tolist())


def equal_size(across: float, up: float) -> tuple[float, float]:
    """Inches of a figure that draws so much across and up in equal units."""
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    across = max(across, 1e-9)
    up = max(up, 1e-9)
    # An inch and a half of the width is the legend's and the axis's, one inch of the height the title's.
    return width, float(np.clip((width - 1.8) * up / across + 1.1, max(0.62 * height, 2.2), 1.35 * height))


def _one_axis(
    x: Floats,
    codes: Codes,
    classes: Sequence[Any],
    means: Floats,
    name: str,
    ax: Axes | None,
    signs: Signs,
    sd: float,
) -> Axes:
    strips = len(classes) > style.MOST_IN_LEGEND or not len(x)
    axes, is_new = style.new_axes(ax, len(classes) if strips else 0)
    axes.set_xlabel(name)
    if strips:
        draw_strips(axes, x, codes, classes, signs=signs)
        axes.scatter(means, range(len(classes)), marker="|", s=60, color=style.ink(), zorder=3)
        style.set_title(axes, "Discriminant scores; | marks the class means" if len(x) else "Class means")
        return axes
    _draw_histograms(axes, x, codes, classes, means, signs, sd)
    style.set_title(axes, "Discriminant scores; lines mark the class means")
    return style.add_legend(axes, is_new)


def _draw_histograms(
    axes: Axes, x: Floats, codes: Codes, classes: Sequence[Any], means: Floats, signs: Signs, sd: float
) -> None:
    from matplotlib.colors import to_hex

    known = np.isfinite(x) & (codes >= 0)
    values = x[known]
    codes = codes[known]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    # Freedman and Diaconis' bins are 2.7 n^(-1/3) standard deviations within classes wide.
    width = 2.7 * sd * (max(len(values), 1) / len(classes)) ** (-1 / 3)
    edges = np.linspace(low, high, int(np.clip((high - low) / width, 1, 200)) + 2).tolist()
    highest = 1.0
    for k, label in enumerate(classes):
        colour = signs.colour(k)
        line = signs.line(k)
        look: dict[str, Any] = {"facecolor": to_hex((colour, 0.3), keep_alpha=True), "edgecolor": colour}
        look |= {"label": style.shown_name(label), "hatch": signs.hatch(k)}
        heights, *_ = axes.hist(values[codes == k], bins=edges, histtype="stepfilled", **look)
        # matplotlib 3.10 takes a pattern of dashes for a line of each table.
        axes.patches[-1].set_linestyle(line)
        highest = max(highest, float(np.max(heights)))
    for k, mean in enumerate(means.tolist()):
        # Not over the whole height: arrows may lie below the histograms.
        axes.plot([mean, mean], [0.0, 1.05 * highest], color=signs.colour(k), linestyle=signs.line(k))
    axes.set_ylabel("Rows")


MOST_ARROWS = 20
"""Columns that a biplot shows as arrows, those of the longest."""

LABEL = 20
"""Display width of a column's name before it is cut in its middle."""

SMALLER = 0.8
"""Size of columns' names, of that of other text."""

LINE = 1.4
LETTER = 0.6
"""Height of a line of them, and width of a letter, of their size."""


def _letters() -> float:
    """Size of columns' names in inches."""
    return SMALLER * style.letters() / 72


def draw_biplot(
    points: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    arrows: pd.DataFrame,
    counts: pd.Series,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    shares: pd.Series | None = None,
) -> Axes:
    """Canonical scores with the columns as arrows of their structure correlations.

    Circles hold the mean of their class of n_k rows at 95 % confidence: its scores have unit variance within
    classes, so that the radius is sqrt(chi2(0.95, 2)/n_k) (Seal, 1964, Multivariate Statistical Analysis for
    Biologists). Arrows are drawn to one common scale that fills the picture; with one axis only, they lie
    below the histograms.
    """
    shown = points.iloc[:, :2]
    means = centroids.iloc[:, :2]
    look: dict[str, Any] = {"shares": shares, "counts": counts, "level": None, "labelled": False}
    axes = draw_scores(shown, labels, means, ax=ax, signs=signs, **look)
    if not centroids.shape[1]:
        return axes
    lengths = style.numbers(arrows.iloc[:, :2])
    longest = np.argsort(-np.hypot(*lengths.T) if lengths.shape[1] > 1 else -np.abs(lengths[:, 0]))
    fit_texts(axes, is_new=ax is None)
    # Names have room below the histograms of one axis, and on both sides of two axes.
    lines = axes.get_window_extent().height / axes.figure.dpi / (LINE * _letters())
    named = longest[: min(MOST_ARROWS, max(int(lines * (0.55 if lengths.shape[1] == 1 else 1.0)), 3))]
    names = [arrows.index[i] for i in named]
    title = "Canonical scores; arrows: structure correlations"
    if len(named) < len(lengths):
        title += f" (the {len(named)} longest of {len(lengths)})"
    if centroids.shape[1] == 1:
        style.set_title(axes, title)
        _draw_bars(axes, lengths[named, 0], names)
        return axes
    rows = style.numbers(shown if len(shown) else centroids)
    scale = arrow_scale(rows, lengths[named])
    is_seen = scale < 1.4 * float(np.nanmax(np.abs(rows), initial=0.0))
    dotted = "; dotted: a correlation of 1" if is_seen else ""
    style.set_title(axes, f"{title}\nfilled: the class means, 95 %{dotted}")
    fit_texts(axes, is_new=ax is None)
    texts = draw_arrows(axes, scale * lengths[named], names, circle=scale if is_seen else 0.0)
    if _is_labelled(shown, list(centroids.index)):
        draw_labels(axes, style.numbers(means), list(centroids.index), apart=texts)
    return axes


def draw_arrows(axes: Axes, tips: Floats, names: Sequence[Any], circle: float = 0.0) -> list[Any]:
    """Arrows from the origin to tips (m, 2), and their names, which are given back.

    A dotted circle of a radius is where a correlation would be one.
    """
    from matplotlib.patches import Circle

    if circle:
        edge: dict[str, Any] = {"fill": False, "edgecolor": style.faint(0.5), "linestyle": ":", "zorder": 1.2}
        axes.add_artist(Circle((0.0, 0.0), circle, **edge)).set_in_layout(False)
    # Both sides may have labels, and the rows keep a third of the width.
    third = axes.get_window_extent().width / axes.figure.dpi / 3
    texts = [style.shown_name(name, _most_letters(third)) for name in names]
    box = {"boxstyle": "round,pad=0.1", "facecolor": (style.paper(), 0.7), "edgecolor": "none"}
    look: dict[str, Any] = {"va": "center", "fontsize": 72 * _letters(), "zorder": 6, "bbox": box}
    places, ends = _place_labels(axes, tips, texts)
    drawn = []
    for (x, y), (left, up), text in zip(tips.tolist(), places.tolist(), texts, strict=True):
        stick = axes.annotate("", (x, y), (0, 0), arrowprops=_arrow(), zorder=5)
        name = axes.text(left, up, text, ha="left" if left >= 0 else "right", **look)
        drawn.append(name)
        # The limits below have room for them; before, they may lie far outside, where no layout suits them.
        stick.set_in_layout(False)
        name.set_in_layout(False)
    axes.update_datalim(ends)
    axes.autoscale_view()
    return drawn


def _most_letters(width: float) -> int:
    """Letters of a column's name that have room in so many inches."""
    return max(min(int(width / (LETTER * _letters())), LABEL), style.LEAST_CHARACTERS)


def arrow_scale(points: Floats, tips: Floats) -> float:
    """The length of an arrow of one unit that brings tips (m, 2) of arrows towards the edge of points (n, 2).

    It lies midway between those that fill the picture across and up: points may spread along one axis alone.
    """
    known = points[np.isfinite(points).all(axis=1)]
    edges = np.abs(known).max(axis=0, initial=0.0)
    longest = np.abs(tips).max(axis=0, initial=0.0)
    ratios = [edge / long for edge, long in zip(edges, longest, strict=True) if edge > 0 and long > 0]
    return 0.85 * float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0


def _arrow() -> dict[str, Any]:
    tips: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    return tips | {"color": style.faint(0.25), "linewidth": 1.1}


def _place_labels(axes: Axes, tips: Floats, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Where labels of arrows (m, 2) begin, and where, written outwards, they end, in data units."""
    size = axes.get_window_extent()
    width = size.width / axes.figure.dpi
    height = size.height / axes.figure.dpi
    lengths = LETTER * _letters() * np.array([display_width(text) for text in texts])
    (low, bottom), (high, top) = axes.dataLim.get_points()
    left = tips[:, 0] < 0
    outer = 1.06 * tips
    west = np.append(outer[left, 0], low)
    east = np.append(outer[~left, 0], high)
    room = 0.9 * width - np.append(lengths[left], 0)[:, None] - np.append(lengths[~left], 0)
    # One unit is as long across as up: how much of it is an inch, for what is farthest apart with its labels.
    across = ((east - west[:, None]) / room).max()
    up = np.ptp([bottom, top, *outer[:, 1]]) / (0.9 * height)
    unit = max(float(across), float(up))
    places = _spread_labels(outer, LINE * _letters() * unit)
    ends = np.column_stack([places[:, 0] + np.where(left, -1, 1) * lengths * unit, 1.05 * places[:, 1]])
    return places, ends


def _spread_labels(places: Floats, gap: float) -> Floats:
    """Places (m, 2) moved up or down, on each side of the origin, until lines of text do not overlap."""
    moved = places.copy()
    for right in (True, False):
        side = np.flatnonzero((places[:, 0] >= 0) == right)
        side = side[np.argsort(places[side, 1])]
        heights = moved[side, 1]
        for _ in range(50):
            close = np.diff(heights) < gap * (1 - 1e-9)
            if not close.any():
                break
            push = np.where(close, (gap - np.diff(heights)) / 2, 0.0)
            heights[:-1] -= push
            heights[1:] += push
        moved[side, 1] = heights
    return moved


def _draw_bars(axes: Axes, lengths: Floats, names: Sequence[Any]) -> None:
    """Arrows of one axis below the picture, one line each; lines of classes count from the top down."""
    low, high = axes.get_xlim()
    bottom, top = axes.get_ylim()
    window = axes.get_window_extent()
    # The histograms keep what the lines leave of the height.
    share = LINE * _letters() * axes.figure.dpi / window.height
    step = share * (top - bottom) / max(1 - share * (len(lengths) + 1), 0.2)
    most = _most_letters(0.48 * window.width / axes.figure.dpi)
    scale = 0.4 * (high - low) / max(float(np.abs(lengths).max(initial=0.0)), 1e-300)
    middle = 0.5 * (low + high)
    for i, (length, name) in enumerate(zip(lengths.tolist(), names, strict=True)):
        height = bottom - step * (i + 1)
        axes.annotate("", (middle + scale * length, height), (middle, height), arrowprops=_arrow())
        side = "right" if length >= 0 else "left"
        edge = middle - math.copysign(0.01 * (high - low), length)
        axes.text(edge, height, style.shown_name(name, most), ha=side, va="center", fontsize=72 * _letters())
    axes.axhline(bottom, color=style.faint(0.6), linewidth=0.8)
    axes.set_ylim(bottom - step * (len(lengths) + 1), top)
    axes.set_yticks([tick for tick in axes.get_yticks() if min(bottom, top) <= tick <= max(bottom, top)])


MOST_NUMBERS = 30
"""Eigenvalues that are drawn of each class beyond the signal of the widest."""


def draw_scree(
    table: pd.DataFrame, noise: pd.Series, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Eigenvalues by (class, number) on a scale of powers, a line for each class.

    Those of the signal are filled; at the chosen dimension a line drops to the level of the noise, which is
    the variance beyond the signal.
    """
    axes, is_new = style.new_axes(ax)
    classes = list(noise.index)
    most = int(table["signal"].groupby(level=0, sort=False).sum().max()) + MOST_NUMBERS
    last = 1
    for k, label in enumerate(classes):
        lines = table.loc[label].iloc[:most]
        at = lines.index.to_numpy()
        values = lines["eigenvalue"].to_numpy(dtype=np.float64)
        colour = signs.colour(k)
        d = int(lines["signal"].sum())
        axes.plot(at, values, color=colour, linestyle=signs.line(k), linewidth=1.3, zorder=3)
        for part, face in ((slice(0, d), colour), (slice(d, None), style.paper())):
            axes.scatter(
                at[part], values[part], marker=signs.marker(k), s=26, facecolor=face, edgecolor=colour,
                zorder=4,
            )  # fmt: skip
        level = float(noise.iloc[k])
        axes.plot([at[d - 1], at[d - 1]], [values[d - 1], level], color=colour, linewidth=0.9, zorder=2)
        axes.plot(
            [at[d - 1], at[-1]], [level, level], color=colour, linestyle=signs.line(k), linewidth=0.9,
            marker=signs.marker(k), markersize=4, markevery=[-1], zorder=2,
        )  # fmt: skip
        last = max(last, int(at[-1]))
    axes.set(yscale="log", xlim=(0.5, last + 0.5))
    axes.locator_params(axis="x", integer=True)
    axes.grid(axis="y", color=style.faint(0.85))
    axes.set_axisbelow(True)
    axes.set(xlabel="Number of the eigenvalue", ylabel="Eigenvalue")
    return class_legend(axes, is_new, classes, signs, False)


def draw_he(
    means: pd.DataFrame,
    hypothesis: Floats,
    error: Floats,
    centre: Floats,
    radius: float,
    *,
    names: tuple[str, str],
    arrows: pd.DataFrame | None = None,
    equal: bool = False,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """The ellipse between classes over that within, in a plane; the first reaches beyond where means differ.

    The hypothesis is H/(lambda v) and the error E/v, (2, 2) each; see `discrim.inference.manova`. Both
    outlines lie at the radius from the mean of all rows. Arrows are structure correlations, columns by axes;
    `equal` are the units on both axes.
    """
    spans = radius * np.sqrt(np.maximum(np.diagonal(hypothesis), np.diagonal(error)))
    axes, is_new = style.new_axes(ax, size=equal_size(*(2 * spans).tolist()) if equal else None)
    places = style.numbers(means)
    draw_outline(axes, centre, error, radius, color=style.ink(), linestyle="--", linewidth=1.8, label="error")
    outer: dict[str, Any] = {"color": signs.colour(0), "linewidth": 2.0, "label": "hypothesis"}
    draw_outline(axes, centre, hypothesis, radius, **outer)
    for k, place in enumerate(places):
        sign: dict[str, Any] = {"marker": signs.marker(k), "color": signs.colour(k)}
        sign |= {"markersize": 7, "zorder": 4}
        name = style.shown_name(means.index[k], 18)
        if arrows is not None:
            # Arrows bear names as well: those of the classes have room in the legend.
            axes.plot(*place, linestyle="none", label=name, **sign)
            continue
        axes.plot(*place, **sign)
        if len(places) <= style.MOST_PLAIN:
            _name_above(axes, name, place, 6)
    axes.margins(0.08)
    if equal:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=names[0], ylabel=names[1])
    style.add_legend(axes, is_new)
    if arrows is not None:
        if is_new:
            fit_texts(axes, is_new=True)
        tips = style.numbers(arrows)
        scale = arrow_scale(outline(centre, hypothesis, radius), tips)
        draw_arrows(axes, scale * tips, list(arrows.index))
    elif len(places) > style.MOST_PLAIN:
        draw_labels(axes, places, list(means.index), "small")
    return axes


def _name_above(axes: Axes, name: str, place: Floats, up: float, **look: Any) -> None:
    """A name some points above a place (2,), with a halo."""
    from matplotlib.patheffects import withStroke

    look |= {"ha": "center", "va": "bottom", "fontsize": "small", "zorder": 6}
    text = axes.annotate(name, tuple(place.tolist()), (0, up), textcoords="offset points", **look)
    text.set_path_effects([withStroke(linewidth=2, foreground=style.paper())])


MOST_NAMED = 12
"""Means of a term up to which each bears its name."""


def he_terms(
    means: Mapping[str, pd.DataFrame],
    hypotheses: Mapping[str, Floats],
    error: Floats,
    centre: Floats,
    radius: float,
    *,
    names: tuple[str, str],
    ax: Axes | None = None,
) -> Axes:
    """The ellipse of each term and that of the residuals, about the mean of all rows and at one radius.

    A term of one degree of freedom is a line. The means of its cells are in the plane of two columns, as
    hypotheses and error (2, 2) are.
    """
    axes, is_new = style.new_axes(ax)
    draw_outline(axes, centre, error, radius, color=style.ink(), linestyle="--", linewidth=1.8, label="error")
    for k, (term, shape) in enumerate(hypotheses.items()):
        colour = style.SIGNS.colour(k)
        outer: dict[str, Any] = {"color": colour, "linewidth": 2.0, "label": style.shown_name(term, 30)}
        draw_outline(axes, centre, shape, radius, **outer)
        cells = means[term]
        for label, place in zip(cells.index, style.numbers(cells), strict=True):
            axes.plot(*place, marker=style.SIGNS.marker(k), color=colour, markersize=6, zorder=4)
            if len(cells) <= MOST_NAMED:
                _name_above(axes, style.shown_name(label, 18), place, 5, color=colour)
    axes.margins(0.08)
    axes.set(xlabel=style.shown_name(names[0]), ylabel=style.shown_name(names[1]))
    style.add_legend(axes, is_new)
    return axes
