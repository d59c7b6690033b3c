"""Plots of discriminant scores, biplots, scree plots, and ellipses of covariances and of hypotheses.

An ellipse of a class contains a given proportion of its normal distribution. In a hypothesis-error (HE) plot
the ellipse of the hypothesis, that the means of classes or cells are equal, extends outside the ellipse of
the error if the hypothesis is rejected.
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
"""Number of points of an outline."""


def outline(mean: Floats, covariance: Floats, radius: float) -> Floats:
    """Return points whose Mahalanobis distance from a mean equals a radius.

    Parameters
    ----------
    mean : (2,) float array
    covariance : (2, 2) float array
        If it has rank one the outline is a line, if zero a point.
    radius : float

    Returns
    -------
    (121, 2) float array

    Examples
    --------
    >>> points = outline(np.zeros(2), np.diag([4.0, 1.0]), 1.0)
    >>> points.max(axis=0).round(3).tolist()
    [2.0, 1.0]
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(covariance / scale[:, None] / scale)
    half = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    # Rotated like the symmetric square root, hence a circle begins at its right.
    angle = np.linspace(0.0, 2.0 * np.pi, POINTS)
    circle = vectors.T @ np.vstack([np.cos(angle), np.sin(angle)])
    return np.asarray(mean + radius * (half @ circle).T)


def outline_radius(level: float) -> float:
    """Return the Mahalanobis radius that contains a proportion `level` of a bivariate normal class."""
    return math.sqrt(-2.0 * math.log1p(-level))


def draw_outline(axes: Axes, mean: Floats, covariance: Floats, radius: float, **look: Any) -> None:
    """Draw an ellipse as a line; draw nothing if its mean or covariance is missing.

    Parameters
    ----------
    axes : Axes
    mean : (2,) float array
    covariance : (2, 2) float array
    radius : float
        Mahalanobis distance.
    **look
        Keyword arguments of `plot`.
    """
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
    """Draw the outline of a class or of a component, and a marker at its mean.

    Parameters
    ----------
    axes : Axes
    place : (2,) float array
        The mean.
    covariance : (2, 2) float array or None
    radius : float
        Mahalanobis distance of the outline.
    signs : Signs
    k : int
        Position of the class.
    size : float or None
        Size of the marker in points; None for no marker.
    """
    if covariance is not None:
        look: dict[str, Any] = {"color": signs.outline(k), "linestyle": signs.line(k), "linewidth": 1.6}
        draw_outline(axes, place, covariance, radius, path_effects=style.halo(), zorder=4, **look)
    if size is not None:
        mark: dict[str, Any] = {"marker": signs.marker(k), "color": signs.colour(k), "markersize": size}
        edge = style.paper() if signs.colour(k) == style.ink() else style.ink()
        axes.plot(*place, markeredgecolor=edge, zorder=6, **mark)


def component_sizes(shares: pd.Series) -> Floats:
    """Return sizes in points of markers for components, by their proportions within their classes."""
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
    """Draw the covariances of classes as ellipses in the plane of two variables, with the pooled covariance.

    Parameters
    ----------
    means : DataFrame (K, 2)
        Means by class, or by (class, component).
    covariances : mapping of label to DataFrame (2, 2)
    pooled : DataFrame (2, 2) or None
    radius : float
        Mahalanobis distance of the outlines.
    points : DataFrame (n, 2), optional
        Observations to draw below the ellipses.
    labels : Series (n,), optional
        Their classes.
    shares : Series, optional
        Proportions of components in their classes, which set the sizes of the markers.
    centred : bool
        Centre all ellipses at zero, without observations, to compare their shapes.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
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
    """Add a legend with marker and line of each class, and with the pooled line.

    Parameters
    ----------
    axes : Axes
    is_new : bool
        Whether the figure is new, which has the legend next to the axes.
    classes : sequence
        Labels (K,).
    signs : Signs
    pooled : bool

    Returns
    -------
    Axes
    """
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
    """Draw discriminant scores by class in a plane, or their distributions if there is only one discriminant.

    Each class gets an outline that contains a proportion `level` of a normal class, at the Mahalanobis
    distance sqrt(-2 ln(1 - level)), and a filled circle as 95 % confidence region of its mean, with the
    radius sqrt(chi2(0.95, 2)/n_k) (Seal, 1964, Multivariate Statistical Analysis for Biologists). One
    discriminant is drawn as histograms with common bins, or as a line for each class if there are more than
    12.

    Parameters
    ----------
    scores : DataFrame (n, r)
        Rows with missing scores are not drawn.
    labels : Series (n,)
        Classes of the rows; rows without a class are not drawn.
    centroids : DataFrame (K, r)
        Scores of the class means.
    ax : Axes, optional
    signs : Signs
    shares : Series (r,), optional
        Proportions of the variance between classes, for the names of the axes.
    counts : Series (K,), optional
        Class sizes n_k.
    level : float or None
        Proportion of a class within its outline; None for no outlines.
    within : (r, r) float array, optional
        Covariance of the scores within classes; the identity by default.
    of : str
        What the shares are proportions of, for the names of the axes.
    labelled : bool
        Whether the class means of many classes are labelled here; otherwise the caller does it.

    Returns
    -------
    Axes
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
    # Scores have unit variance within classes, hence distances in equal units are those of the rule.
    axes.set_aspect("equal", adjustable="datalim")
    # Steps of 2.5 have wider numbers than the layout has made room for before the units were equal.
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
    """Return whether class means are labelled: if there are many classes, or no rows."""
    return not len(scores) or len(classes) > style.MOST_PLAIN


def axis_name(name: Any, shares: pd.Series | None, of: str = BETWEEN) -> str:
    """Return the name of an axis with its share: "LD1 (99.1 % of the variance between classes)"."""
    return f"{style.shown_name(name)}{axis_share(name, shares, of)}"


def axis_share(name: Any, shares: pd.Series | None, of: str = BETWEEN) -> str:
    """Return the share of an axis in brackets, with a space before; empty if it is unknown."""
    if shares is None or not np.isfinite(shares.loc[name]):
        return ""
    return f" ({100 * float(shares.loc[name]):.1f} %{of})"


def scores_title(rows: bool, level: float | None, discriminants: bool, filled: bool = False) -> str:
    """Return the title of a plot of scores.

    Parameters
    ----------
    rows : bool
        Whether observations are drawn, or only class means.
    level : float or None
        Proportion of a class within its outline.
    discriminants : bool
        Whether the axes are discriminants.
    filled : bool
        Whether confidence regions of class means are drawn.

    Returns
    -------
    str
    """
    title = "Discriminant scores" if discriminants else "Scores"
    if not rows:
        title = f"Class means on the {'discriminants' if discriminants else 'components'}"
    outlines = f"; outlines hold {100 * level:.6g} % of a normal class" if level else ""
    return title + outlines + ("\nfilled: the class means, 95 %" if filled else "")


def _size(x: Floats, means: Floats, radius: Floats) -> tuple[float, float]:
    """Return a figure size in inches for points and outlines in equal units.

    Parameters
    ----------
    x : (n, 2) float array
    means : (K, 2) float array
    radius : (2,) float array
        Half widths of the outlines.

    Returns
    -------
    tuple of float
    """
    known = x[np.isfinite(x).all(axis=1)]
    return equal_size(*np.ptp(np.vstack([known, means - radius, means + radius]), axis=0).tolist())


def equal_size(across: float, up: float) -> tuple[float, float]:
    """Return a figure size in inches for data of some width and height in equal units."""
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    across = max(across, 1e-9)
    up = max(up, 1e-9)
    # Some 1.8 inches of the width are for the legend and the axis, 1.1 inches of the height for the title.
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
    """Draw scores on a single discriminant as histograms, or as a line for each class if there are many.

    Parameters
    ----------
    x : (n,) float array
        Scores.
    codes : (n,) int array
    classes : sequence
        Labels (K,).
    means : (K,) float array
    name : str
        Name of the axis.
    ax : Axes or None
    signs : Signs
    sd : float
        Standard deviation within classes.

    Returns
    -------
    Axes
    """
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
    """Draw a histogram of each class on common bins, with a line at each class mean.

    Parameters
    ----------
    axes : Axes
    x : (n,) float array
    codes : (n,) int array
    classes : sequence
        Labels (K,).
    means : (K,) float array
    signs : Signs
    sd : float
        Standard deviation within classes, which sets the width of the bins.
    """
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
        # matplotlib 3.10 interprets a dash pattern in hist() as one line style per data set.
        axes.patches[-1].set_linestyle(line)
        highest = max(highest, float(np.max(heights)))
    for k, mean in enumerate(means.tolist()):
        # Not over the whole height, because arrows may be drawn below the histograms.
        axes.plot([mean, mean], [0.0, 1.05 * highest], color=signs.colour(k), linestyle=signs.line(k))
    axes.set_ylabel("Rows")


MOST_ARROWS = 20
"""Largest number of arrows in a biplot."""

LABEL = 20
"""Largest display width of the name of a variable; longer ones are cut in the middle."""

SMALLER = 0.8
"""Font size of names of variables, relative to other text."""

LINE = 1.4
LETTER = 0.6
"""Height of a line and width of a letter, relative to their font size."""


def _letters() -> float:
    """Return the font size of names of variables in inches."""
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
    """Draw canonical scores with the variables as arrows of their structure correlations.

    Filled circles are 95 % confidence regions of the class means, see `draw_scores`. Arrows have one common
    scale that fills the plot; if there is only one axis, they are drawn below the histograms.

    Parameters
    ----------
    points : DataFrame (n, r)
        Scores.
    labels : Series (n,)
    centroids : DataFrame (K, r)
    arrows : DataFrame (p, r)
        Structure correlations of the variables.
    counts : Series (K,)
        Class sizes.
    ax : Axes, optional
    signs : Signs
    shares : Series (r,), optional
        Proportions of the variance between classes.

    Returns
    -------
    Axes
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
    # Number of lines of text that fit: below the histograms of one axis, or on both sides of two axes.
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
    """Draw arrows from the origin with names.

    Parameters
    ----------
    axes : Axes
    tips : (m, 2) float array
    names : sequence
        Names (m,).
    circle : float
        Radius of a dotted circle that marks a correlation of 1; 0 for none.

    Returns
    -------
    list of Text
        The names.
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
        # The limits set below include them; until then they may be far outside, and would upset the layout.
        stick.set_in_layout(False)
        name.set_in_layout(False)
    axes.update_datalim(ends)
    axes.autoscale_view()
    return drawn


def _most_letters(width: float) -> int:
    """Return how many letters of a variable's name fit into a width in inches."""
    return max(min(int(width / (LETTER * _letters())), LABEL), style.LEAST_CHARACTERS)


def arrow_scale(points: Floats, tips: Floats) -> float:
    """Return the length of a unit arrow that brings the tips of arrows near the edge of a set of points.

    It is the geometric mean of the scales that fill the plot horizontally and vertically, because points may
    vary mostly along one axis.

    Parameters
    ----------
    points : (n, 2) float array
    tips : (m, 2) float array

    Returns
    -------
    float
    """
    known = points[np.isfinite(points).all(axis=1)]
    edges = np.abs(known).max(axis=0, initial=0.0)
    longest = np.abs(tips).max(axis=0, initial=0.0)
    ratios = [edge / long for edge, long in zip(edges, longest, strict=True) if edge > 0 and long > 0]
    return 0.85 * float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0


def _arrow() -> dict[str, Any]:
    """Return the arrow properties of `annotate`."""
    tips: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    return tips | {"color": style.faint(0.25), "linewidth": 1.1}


def _place_labels(axes: Axes, tips: Floats, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Compute where the labels of arrows begin and end, in data units.

    Parameters
    ----------
    axes : Axes
    tips : (m, 2) float array
    texts : sequence of str
        Labels (m,).

    Returns
    -------
    places : (m, 2) float array
        Starts of the labels.
    ends : (m, 2) float array
        Their outer ends.
    """
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
    # Data units per inch, equal in both directions, such that the farthest labels fit.
    across = ((east - west[:, None]) / room).max()
    up = np.ptp([bottom, top, *outer[:, 1]]) / (0.9 * height)
    unit = max(float(across), float(up))
    places = _spread_labels(outer, LINE * _letters() * unit)
    ends = np.column_stack([places[:, 0] + np.where(left, -1, 1) * lengths * unit, 1.05 * places[:, 1]])
    return places, ends


def _spread_labels(places: Floats, gap: float) -> Floats:
    """Move labels vertically, on each side of the origin, until lines of text do not overlap.

    Parameters
    ----------
    places : (m, 2) float array
    gap : float
        Height of a line.

    Returns
    -------
    (m, 2) float array
    """
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
    """Draw the arrows of a single discriminant below its histograms, one per line.

    Parameters
    ----------
    axes : Axes
    lengths : (m,) float array
    names : sequence
        Names (m,).
    """
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
"""Number of eigenvalues to draw after the largest signal dimension."""


def draw_scree(
    table: pd.DataFrame, noise: pd.Series, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw the eigenvalues of each class on a logarithmic scale.

    Eigenvalues of the signal are filled. At the chosen dimension a line drops to the noise level, which is
    the variance outside the signal.

    Parameters
    ----------
    table : DataFrame
        Columns eigenvalue and signal (bool) by (class, number).
    noise : Series (K,)
        Noise variance of each class.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
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
    """Draw a hypothesis-error plot: the ellipse between classes on top of the ellipse within classes.

    The hypothesis ellipse extends outside the error ellipse if the means differ; see
    `discrim.inference.manova`.

    Parameters
    ----------
    means : DataFrame (K, 2)
    hypothesis : (2, 2) float array
        H/(lambda v).
    error : (2, 2) float array
        E/v.
    centre : (2,) float array
        Mean of all observations, centre of both ellipses.
    radius : float
        Mahalanobis distance of the outlines.
    names : tuple of str
        Names of the axes.
    arrows : DataFrame (p, 2), optional
        Structure correlations of the variables.
    equal : bool
        Whether both axes have equal units.
    ax : Axes, optional
    signs : Signs

    Returns
    -------
    Axes
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
            # Arrows have names too, hence the names of the classes are in the legend.
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
    """Write a name `up` points above a place (2,), with a halo."""
    from matplotlib.patheffects import withStroke

    look |= {"ha": "center", "va": "bottom", "fontsize": "small", "zorder": 6}
    text = axes.annotate(name, tuple(place.tolist()), (0, up), textcoords="offset points", **look)
    text.set_path_effects([withStroke(linewidth=2, foreground=style.paper())])


MOST_NAMED = 12
"""Largest number of cell means of a term that are named."""


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
    """Draw a hypothesis-error plot of several terms: an ellipse for each term and one for the residuals.

    All ellipses are centred at the mean of all observations. The ellipse of a term with one degree of freedom
    is a line.

    Parameters
    ----------
    means : mapping of str to DataFrame (cells, 2)
        Cell means of each term.
    hypotheses : mapping of str to (2, 2) float array
    error : (2, 2) float array
    centre : (2,) float array
    radius : float
        Mahalanobis distance of the outlines.
    names : tuple of str
        Names of the axes.
    ax : Axes, optional

    Returns
    -------
    Axes
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
