"""Plots of discriminant scores, biplots, scree plots, and ellipses of covariances and of hypotheses.

An ellipse of a class contains a fixed proportion of its normal distribution. In a hypothesis-error (HE) plot
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

N_OUTLINE_POINTS = 121
"""Number of points of an outline."""


def outline(mean: Floats, covariance: Floats, radius: float) -> Floats:
    """Return points whose Mahalanobis distance from a mean equals a radius.

    Parameters
    ----------
    mean : (2,) float array
        Centre of the ellipse.
    covariance : (2, 2) float array
        If it has rank one the outline is a line, if zero a point.
    radius : float
        Mahalanobis distance, not squared.

    Returns
    -------
    (121, 2) float array
        Points of a closed line.

    Examples
    --------
    >>> points = outline(np.zeros(2), np.diag([4.0, 1.0]), 1.0)
    >>> points.max(axis=0).round(3).tolist()
    [2.0, 1.0]
    """
    scale = np.sqrt(np.maximum(np.diagonal(covariance), np.finfo(float).tiny))
    eigenvalues, vectors = np.linalg.eigh(covariance / scale[:, None] / scale)
    scaled_vectors = scale[:, None] * vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    # Rotated like the symmetric square root, hence a circle begins at its right.
    angles = np.linspace(0.0, 2.0 * np.pi, N_OUTLINE_POINTS)
    circle = vectors.T @ np.vstack([np.cos(angles), np.sin(angles)])
    return np.asarray(mean + radius * (scaled_vectors @ circle).T)


def outline_radius(level: float) -> float:
    """Return the Mahalanobis distance within which a proportion `level` of a bivariate normal class lies."""
    return math.sqrt(-2.0 * math.log1p(-level))


def draw_outline(axes: Axes, mean: Floats, covariance: Floats, radius: float, **line_style: Any) -> None:
    """Draw an ellipse as a line; draw nothing if its mean or covariance is missing.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    mean : (2,) float array
        Centre of the ellipse.
    covariance : (2, 2) float array
    radius : float
        Mahalanobis distance, not squared, of the ellipse.
    **line_style
        Keyword arguments of `plot`.
    """
    if np.isfinite(covariance).all() and np.isfinite(mean).all():
        axes.plot(*outline(mean, covariance, radius).T, **line_style)


def draw_class_outline(
    axes: Axes,
    mean: Floats,
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
        Axes to draw on.
    mean : (2,) float array
        Mean of the class or component.
    covariance : (2, 2) float array or None
        Its covariance; None for no outline.
    radius : float
        Mahalanobis distance of the outline.
    signs : Signs
        Colours, markers and line styles of the classes.
    k : int
        Position of the class, from 0, which determines colour, line and marker.
    size : float or None
        Size of the marker in points; None for no marker.
    """
    if covariance is not None:
        line_style: dict[str, Any] = {"color": signs.outline(k), "linestyle": signs.line(k), "linewidth": 1.6}
        draw_outline(axes, mean, covariance, radius, path_effects=style.halo(), zorder=4, **line_style)
    if size is not None:
        marker_style: dict[str, Any] = {
            "marker": signs.marker(k),
            "color": signs.colour(k),
            "markersize": size,
        }
        edge = style.paper() if signs.colour(k) == style.ink() else style.ink()
        axes.plot(*mean, markeredgecolor=edge, zorder=6, **marker_style)


def component_marker_sizes(proportions: pd.Series) -> Floats:
    """Return sizes of markers for components: 4 to 10 points, by their proportions within their classes."""
    return np.asarray(4 + 6 * np.sqrt(proportions.to_numpy(dtype=np.float64)))


def draw_ellipses(
    means: pd.DataFrame,
    covariances: Mapping[Any, pd.DataFrame],
    pooled: pd.DataFrame | None,
    radius: float,
    *,
    points: pd.DataFrame | None = None,
    labels: pd.Series | None = None,
    proportions: pd.Series | None = None,
    is_centred: bool = False,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw the covariances of classes as ellipses in the plane of two variables, with the pooled covariance.

    Parameters
    ----------
    means : DataFrame (m, 2)
        Means by class, or by (class, component) if there are `proportions`.
    covariances : mapping of label to DataFrame (2, 2)
        Covariances by the index of `means`; means without one are drawn without an outline.
    pooled : DataFrame (2, 2) or None
        Pooled covariance, drawn around the unweighted mean of the class means; None for none.
    radius : float
        Mahalanobis distance, not squared, of the outlines.
    points : DataFrame (n, 2), optional
        Observations to draw below the ellipses.
    labels : Series (n,), optional
        Their classes; required to draw them.
    proportions : Series (m,), optional
        Proportions of components in their classes, which set the sizes of the markers.
    is_centred : bool
        Centre all ellipses at zero, without observations, to compare their shapes.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    classes = list(means.index.unique(level=0))
    axes, is_new = style.new_axes(ax)
    if points is not None and labels is not None and not is_centred:
        xy = style.to_floats(points)
        codes = style.label_codes(labels, classes)
        draw_points(axes, xy[:, 0], xy[:, 1], codes, classes, signs)
    centres = np.zeros((len(means), 2)) if is_centred else style.to_floats(means)
    sizes = np.full(len(means), 6.0) if proportions is None else component_marker_sizes(proportions)
    for key, ellipse_centre, size in zip(means.index, centres, sizes.tolist(), strict=True):
        class_cov = style.to_floats(covariances[key]) if key in covariances else None
        k = classes.index(key if proportions is None else key[0])
        draw_class_outline(
            axes, ellipse_centre, class_cov, radius, signs, k, size=None if is_centred else size
        )
    if pooled is not None:
        finite_centres = centres[np.isfinite(centres).all(axis=1)]
        centre = finite_centres.mean(axis=0) if len(finite_centres) else np.zeros(2)
        line_style = {"color": style.ink(), "linewidth": 2.2, "zorder": 5}
        draw_outline(axes, centre, style.to_floats(pooled), radius, **line_style)
    axes.set(xlabel=style.shown_name(means.columns[0]), ylabel=style.shown_name(means.columns[1]))
    axes.margins(0.06)
    add_class_legend(axes, is_new, classes, signs, pooled is not None)
    if len(classes) > style.MAX_UNLABELLED and not is_centred and proportions is None:
        finite_index = np.flatnonzero(np.isfinite(centres).all(axis=1))
        draw_labels(axes, centres[finite_index], [classes[k] for k in finite_index.tolist()])
    return axes


def add_class_legend(
    axes: Axes, is_new: bool, classes: Sequence[Any], signs: Signs, has_pooled: bool
) -> Axes:
    """Add a legend with marker and line of each class, and with the pooled line.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    is_new : bool
        Whether the figure is new, which has the legend next to the axes.
    classes : sequence
        Labels (K,).
    signs : Signs
        Colours, markers and line styles of the classes.
    has_pooled : bool
        Whether the legend includes the line of the pooled covariance.

    Returns
    -------
    Axes
        `axes`.
    """
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], label=style.shown_name(label), **signs.line_options(k))
        for k, label in enumerate(classes)
    ]
    handles += [Line2D([], [], label="pooled", color=style.ink(), linewidth=2.2)] if has_pooled else []
    legend_position: dict[str, Any] = style.LEGEND_BESIDE_AXES if is_new else {"loc": "best"}
    size = "small" if len(handles) > 12 or axes.child_axes else "medium"
    axes.legend(handles=handles, ncols=1 if len(handles) <= 20 else 2, fontsize=size, **legend_position)
    return axes


OF_BETWEEN_VARIANCE = " of the variance between classes"
"""Text after the percentage of a discriminant axis."""

CHI2_95 = 5.991464547107979
"""The 0.95 quantile of chi-square with two degrees of freedom, -2 ln 0.05."""


def draw_scores(
    scores: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    proportions: pd.Series | None = None,
    counts: pd.Series | None = None,
    level: float | None = 0.5,
    within_covariance: Floats | None = None,
    proportion_of: str = OF_BETWEEN_VARIANCE,
    draws_mean_labels: bool = True,
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
        Scores on r = 0, 1 or 2 discriminants. Rows with missing scores are not drawn.
    labels : Series (n,)
        Classes of the rows. Rows without a class are drawn only in a plane, and only if no row has one.
    centroids : DataFrame (K, r)
        Scores of the class means; the columns name the axes. Without columns a note is written instead.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    proportions : Series, optional
        Proportions of the variance between classes by discriminant, for the names of the axes.
    counts : Series (K,), optional
        Class sizes n_k; without them no confidence regions are drawn.
    level : float or None
        Proportion of a class within its outline; None for no outlines.
    within_covariance : (r, r) float array, optional
        Covariance of the scores within classes; the identity by default.
    proportion_of : str
        Text after the percentage in the name of the first axis, which names the total. With another than the
        default one, the title calls the axes components and not discriminants.
    draws_mean_labels : bool
        Whether the class means of many classes are labelled here; otherwise the caller does it.

    Returns
    -------
    Axes
    """
    classes = list(centroids.index)
    codes = style.label_codes(labels, classes)
    x = style.to_floats(scores)
    means = style.to_floats(centroids)
    if not means.shape[1]:
        axes, _ = style.new_axes(ax)
        style.set_title(axes, "The class means do not differ, so there is no discriminant.")
        axes.set_axis_off()
        return axes
    if means.shape[1] == 1:
        sd = 1.0 if within_covariance is None else math.sqrt(float(within_covariance[0, 0]))
        name = axis_name(centroids.columns[0], proportions, proportion_of)
        return _draw_single_discriminant(x[:, 0], codes, classes, means[:, 0], name, ax, signs, sd)
    within_cov = np.eye(2) if within_covariance is None else within_covariance
    radius = 0.0 if level is None else outline_radius(level)
    axes, is_new = style.new_axes(ax, size=_figure_size(x, means, radius * np.sqrt(np.diagonal(within_cov))))
    draw_points(axes, x[:, 0], x[:, 1], codes, classes, signs)
    for k, mean in enumerate(means):
        colour = signs.outline(k)
        if radius:
            line_style = {"color": colour, "linestyle": signs.line(k), "linewidth": 1.3, "zorder": 3}
            draw_outline(axes, mean, within_cov, radius, path_effects=style.halo(), **line_style)
        if counts is not None and counts.iloc[k] > 0:
            circle = outline(mean, within_cov, math.sqrt(CHI2_95 / float(counts.iloc[k])))
            axes.fill(*circle.T, facecolor=(colour, 0.3), edgecolor=colour, zorder=3)
    axes.set(
        xlabel=axis_name(centroids.columns[0], proportions, proportion_of),
        ylabel=axis_name(centroids.columns[1], proportions, proportion_of=""),
    )
    # Scores have unit variance within classes, hence distances in equal units are the distances of the rule.
    axes.set_aspect("equal", adjustable="datalim")
    # Steps of 2.5 have wider numbers than the layout has made room for before the units were equal.
    axes.locator_params(steps=[1, 2, 5, 10])
    filled = counts is not None and bool((counts > 0).any())
    style.set_title(
        axes, scores_title(len(x) > 0, level, proportion_of == OF_BETWEEN_VARIANCE, has_regions=filled)
    )
    if not len(x):
        axes.scatter(means[:, 0], means[:, 1], marker="+", s=90, color=style.ink(), linewidths=1.2, zorder=5)
    if _is_labelled(scores, classes):
        if draws_mean_labels:
            if len(x) and len(classes) <= style.MAX_IN_LEGEND:
                style.add_legend(axes, is_new)
            fit_texts(axes, is_new)
            draw_labels(axes, means, classes)
        return axes
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=170, color=style.paper(), linewidths=3.5, zorder=4)
    axes.scatter(means[:, 0], means[:, 1], marker="+", s=140, color=style.ink(), linewidths=1.5, zorder=5)
    return style.add_legend(axes, is_new)


def _is_labelled(scores: pd.DataFrame, classes: Sequence[Any]) -> bool:
    """Return whether class means are labelled: if there are many classes, or no rows."""
    return not len(scores) or len(classes) > style.MAX_UNLABELLED


def axis_name(name: Any, proportions: pd.Series | None, proportion_of: str = OF_BETWEEN_VARIANCE) -> str:
    """Return the name of an axis with its proportion: "LD1 (99.1 % of the variance between classes)".

    Parameters
    ----------
    name : str
        Name of the axis.
    proportions : Series or None
        Proportions (0 to 1) by name of the axis; None for none.
    proportion_of : str
        Text after the percentage, which names the total.

    Returns
    -------
    str
        Text for matplotlib, see `style.shown_name`.
    """
    return f"{style.shown_name(name)}{format_proportion(name, proportions, proportion_of)}"


def format_proportion(
    name: Any, proportions: pd.Series | None, proportion_of: str = OF_BETWEEN_VARIANCE
) -> str:
    """Format the proportion of an axis as a percentage in parentheses, after a space; empty if it is unknown.

    Parameters
    ----------
    name : str
        Name of the axis.
    proportions : Series or None
        Proportions (0 to 1) by name of the axis; None for none.
    proportion_of : str
        Text after the percentage, which names the total.

    Returns
    -------
    str
    """
    if proportions is None or not np.isfinite(proportions.loc[name]):
        return ""
    return f" ({100 * float(proportions.loc[name]):.1f} %{proportion_of})"


def scores_title(
    has_rows: bool, level: float | None, are_discriminants: bool, has_regions: bool = False
) -> str:
    """Return the title of a plot of scores.

    Parameters
    ----------
    has_rows : bool
        Whether observations are drawn, or only class means.
    level : float or None
        Proportion of a class within its outline; None for no outlines.
    are_discriminants : bool
        Whether the axes are discriminants; otherwise they are called components.
    has_regions : bool
        Whether confidence regions of class means are drawn.

    Returns
    -------
    str
    """
    title = "Discriminant scores" if are_discriminants else "Scores"
    if not has_rows:
        title = f"Class means on the {'discriminants' if are_discriminants else 'components'}"
    outlines = f"; outlines contain {100 * level:.6g} % of a normal class" if level else ""
    return title + outlines + ("\nfilled: 95 % confidence regions for class means" if has_regions else "")


def _figure_size(x: Floats, means: Floats, radius: Floats) -> tuple[float, float]:
    """Return a figure size in inches for points and outlines in equal units; see `equal_units_size`.

    Parameters
    ----------
    x : (n, 2) float array
        Coordinates of the points; rows with missing ones are ignored.
    means : (K, 2) float array
        Centres of the outlines.
    radius : (2,) float array
        Half widths of the outlines in the two directions.

    Returns
    -------
    width, height : float
    """
    finite_points = x[np.isfinite(x).all(axis=1)]
    return equal_units_size(
        *np.ptp(np.vstack([finite_points, means - radius, means + radius]), axis=0).tolist()
    )


def equal_units_size(x_range: float, y_range: float) -> tuple[float, float]:
    """Return a figure size in inches for axes with equal units.

    Parameters
    ----------
    x_range, y_range : float
        Differences of the largest and the smallest coordinate of the data.

    Returns
    -------
    width, height : float
        The width is the default one; the height is limited relative to the default height.
    """
    import matplotlib.pyplot as plt

    width, height = plt.rcParams["figure.figsize"]
    x_range = max(x_range, 1e-9)
    y_range = max(y_range, 1e-9)
    # Some 1.8 inches of the width are for the legend and the axis, 1.1 inches of the height for the title.
    return width, float(
        np.clip((width - 1.8) * y_range / x_range + 1.1, max(0.62 * height, 2.2), 1.35 * height)
    )


def _draw_single_discriminant(
    x: Floats,
    codes: Codes,
    classes: Sequence[Any],
    means: Floats,
    name: str,
    ax: Axes | None,
    signs: Signs,
    sd: float,
) -> Axes:
    """Draw scores on a single discriminant as histograms, or as a line for each class.

    Lines are drawn if there are more than `style.MAX_IN_LEGEND` classes, or no scores.

    Parameters
    ----------
    x : (n,) float array
        Scores.
    codes : (n,) int array
        Class of each observation, -1 for none.
    classes : sequence
        Labels (K,).
    means : (K,) float array
        Class means.
    name : str
        Name of the axis.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    signs : Signs
        Colours, markers and line styles of the classes.
    sd : float
        Standard deviation within classes.

    Returns
    -------
    Axes
    """
    uses_strips = len(classes) > style.MAX_IN_LEGEND or not len(x)
    axes, is_new = style.new_axes(ax, len(classes) if uses_strips else 0)
    axes.set_xlabel(name)
    if uses_strips:
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
    """Draw a histogram of counts of each class on common bins, with a line at each class mean.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    x : (n,) float array
        Scores; missing ones are not counted.
    codes : (n,) int array
        Class of each observation, -1 for none.
    classes : sequence
        Labels (K,).
    means : (K,) float array
        Class means.
    signs : Signs
        Colours, markers and line styles of the classes.
    sd : float
        Standard deviation within classes, which sets the width of the bins.
    """
    from matplotlib.colors import to_hex

    drawable = np.isfinite(x) & (codes >= 0)
    values = x[drawable]
    codes = codes[drawable]
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    # Freedman and Diaconis' bins are 2.7 n^(-1/3) standard deviations within classes wide.
    width = 2.7 * sd * (max(len(values), 1) / len(classes)) ** (-1 / 3)
    edges = np.linspace(low, high, int(np.clip((high - low) / width, 1, 200)) + 2).tolist()
    highest = 1.0
    for k, label in enumerate(classes):
        colour = signs.colour(k)
        line = signs.line(k)
        bar_style: dict[str, Any] = {"facecolor": to_hex((colour, 0.3), keep_alpha=True), "edgecolor": colour}
        bar_style |= {"label": style.shown_name(label), "hatch": signs.hatch(k)}
        heights, *_ = axes.hist(values[codes == k], bins=edges, histtype="stepfilled", **bar_style)
        # matplotlib 3.10 interprets a dash pattern in hist() as one line style per data set.
        axes.patches[-1].set_linestyle(line)
        highest = max(highest, float(np.max(heights)))
    for k, mean in enumerate(means.tolist()):
        # Not over the whole height, because arrows may be drawn below the histograms.
        axes.plot([mean, mean], [0.0, 1.05 * highest], color=signs.colour(k), linestyle=signs.line(k))
    axes.set_ylabel("Observations")


MAX_ARROWS = 20
"""Largest number of arrows in a biplot."""

MAX_LABEL_WIDTH = 20
"""Largest display width of the name of a variable; longer ones are cut in the middle."""

RELATIVE_FONT_SIZE = 0.8
"""Font size of names of variables, relative to other text."""

LINE_HEIGHT = 1.4
LETTER_WIDTH = 0.6
"""Height of a line and width of a letter, relative to their font size."""


def _label_font_inches() -> float:
    """Return the font size of names of variables (arrows) in inches."""
    return RELATIVE_FONT_SIZE * style.font_points() / 72


def draw_biplot(
    points: pd.DataFrame,
    labels: pd.Series,
    centroids: pd.DataFrame,
    arrows: pd.DataFrame,
    counts: pd.Series,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
    *,
    proportions: pd.Series | None = None,
) -> Axes:
    """Draw canonical scores with the variables as arrows of their structure correlations.

    Of r canonical axes the first two are drawn. Filled circles are 95 % confidence regions of the class
    means, see `draw_scores`. The longest arrows, at most `MAX_ARROWS`, are drawn with one common scale that
    fills the plot; if there is only one axis, they are drawn below the histograms.

    Parameters
    ----------
    points : DataFrame (n, r)
        Scores of the observations; n may be 0.
    labels : Series (n,)
        Classes of the observations.
    centroids : DataFrame (K, r)
        Scores of the class means; the columns name the axes.
    arrows : DataFrame (p, r)
        Structure correlations of the p variables.
    counts : Series (K,)
        Class sizes.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.
    proportions : Series (r,), optional
        Proportions of the variance between classes.

    Returns
    -------
    Axes
    """
    plane_scores = points.iloc[:, :2]
    means = centroids.iloc[:, :2]
    score_options: dict[str, Any] = {
        "proportions": proportions,
        "counts": counts,
        "level": None,
        "draws_mean_labels": False,
    }
    axes = draw_scores(plane_scores, labels, means, ax=ax, signs=signs, **score_options)
    if not centroids.shape[1]:
        return axes
    arrow_tips = style.to_floats(arrows.iloc[:, :2])
    by_length = np.argsort(-np.hypot(*arrow_tips.T) if arrow_tips.shape[1] > 1 else -np.abs(arrow_tips[:, 0]))
    fit_texts(axes, is_new=ax is None)
    # Number of lines of text that fit: below the histograms of one axis, or on both sides of two axes.
    n_lines = axes.get_window_extent().height / axes.figure.dpi / (LINE_HEIGHT * _label_font_inches())
    drawn_index = by_length[
        : min(MAX_ARROWS, max(int(n_lines * (0.55 if arrow_tips.shape[1] == 1 else 1.0)), 3))
    ]
    names = [arrows.index[i] for i in drawn_index]
    title = "Canonical scores; arrows: structure correlations"
    if len(drawn_index) < len(arrow_tips):
        title += f" (the {len(drawn_index)} longest of {len(arrow_tips)})"
    if centroids.shape[1] == 1:
        style.set_title(axes, title)
        _draw_arrow_lines(axes, arrow_tips[drawn_index, 0], names)
        return axes
    rows = style.to_floats(plane_scores if len(plane_scores) else centroids)
    scale = arrow_scale(rows, arrow_tips[drawn_index])
    is_seen = scale < 1.4 * float(np.nanmax(np.abs(rows), initial=0.0))
    circle_note = "; dotted: a correlation of 1" if is_seen else ""
    style.set_title(axes, f"{title}\nfilled: 95 % confidence regions for class means{circle_note}")
    fit_texts(axes, is_new=ax is None)
    texts = draw_arrows(axes, scale * arrow_tips[drawn_index], names, circle_radius=scale if is_seen else 0.0)
    if _is_labelled(plane_scores, list(centroids.index)):
        draw_labels(axes, style.to_floats(means), list(centroids.index), obstacles=texts)
    return axes


def draw_arrows(axes: Axes, tips: Floats, names: Sequence[Any], circle_radius: float = 0.0) -> list[Any]:
    """Draw arrows from the origin with names at their ends, and extend the limits of the axes to the names.

    Parameters
    ----------
    axes : Axes
        Axes to draw on, with the data already drawn.
    tips : (m, 2) float array
        Ends of the arrows in data coordinates.
    names : sequence
        Names (m,) of the arrows; long ones are shortened to at most a third of the width of the axes.
    circle_radius : float
        Radius, in data coordinates, of a dotted circle around the origin, which marks a correlation of 1;
        0 for no circle.

    Returns
    -------
    list of Text
        Artists (m,) of the names.
    """
    from matplotlib.patches import Circle

    if circle_radius:
        circle_style: dict[str, Any] = {
            "fill": False,
            "edgecolor": style.faint_ink(0.5),
            "linestyle": ":",
            "zorder": 1.2,
        }
        axes.add_artist(Circle((0.0, 0.0), circle_radius, **circle_style)).set_in_layout(False)
    # Both sides may have labels, and the rows keep a third of the width.
    max_width = axes.get_window_extent().width / axes.figure.dpi / 3
    texts = [style.shown_name(name, _max_letters(max_width)) for name in names]
    box = {"boxstyle": "round,pad=0.1", "facecolor": (style.paper(), 0.7), "edgecolor": "none"}
    text_style: dict[str, Any] = {
        "va": "center",
        "fontsize": 72 * _label_font_inches(),
        "zorder": 6,
        "bbox": box,
    }
    label_starts, label_ends = _place_arrow_labels(axes, tips, texts)
    labels = []
    for (x, y), (label_x, label_y), text in zip(tips.tolist(), label_starts.tolist(), texts, strict=True):
        arrow = axes.annotate("", (x, y), (0, 0), arrowprops=_arrow_properties(), zorder=5)
        name = axes.text(label_x, label_y, text, ha="left" if label_x >= 0 else "right", **text_style)
        labels.append(name)
        # The limits set below include them; until then they may be far outside, and would upset the layout.
        arrow.set_in_layout(False)
        name.set_in_layout(False)
    axes.update_datalim(label_ends)
    axes.autoscale_view()
    return labels


def _max_letters(width: float) -> int:
    """Return how many letters of a variable's name fit into a width in inches.

    The number is between `style.MIN_CHARACTERS` and `MAX_LABEL_WIDTH`.
    """
    return max(min(int(width / (LETTER_WIDTH * _label_font_inches())), MAX_LABEL_WIDTH), style.MIN_CHARACTERS)


def arrow_scale(points: Floats, tips: Floats) -> float:
    """Compute the factor that scales arrows from the origin to the extent of a set of points.

    For each axis, the ratio of the largest absolute coordinate of the points to the largest one of the tips
    is computed. The factor is 0.85 times the geometric mean of the two ratios, because points may vary
    mostly along one axis.

    Parameters
    ----------
    points : (n, 2) float array
        Coordinates of the observations; rows with missing or infinite ones are ignored.
    tips : (m, 2) float array
        Unscaled ends of the arrows.

    Returns
    -------
    float
        Factor of `tips`. Axes on which all points or all tips are zero are ignored; 1 if both are.
    """
    finite_points = points[np.isfinite(points).all(axis=1)]
    edges = np.abs(finite_points).max(axis=0, initial=0.0)
    longest = np.abs(tips).max(axis=0, initial=0.0)
    ratios = [edge / long for edge, long in zip(edges, longest, strict=True) if edge > 0 and long > 0]
    return 0.85 * float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0


def _arrow_properties() -> dict[str, Any]:
    """Return the arrow properties of `annotate`."""
    arrow_style: dict[str, Any] = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0}
    return arrow_style | {"color": style.faint_ink(0.25), "linewidth": 1.1}


def _place_arrow_labels(axes: Axes, tips: Floats, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Compute the starts and outer ends of the labels of arrows, in data units.

    Labels start near the tips, to the left of those with a negative x and to the right of the others.

    Parameters
    ----------
    axes : Axes
        Axes to draw on, with the data already drawn.
    tips : (m, 2) float array
        Ends of the arrows.
    texts : sequence of str
        Labels (m,).

    Returns
    -------
    label_starts : (m, 2) float array
        Starts of the labels.
    label_ends : (m, 2) float array
        Their outer ends.
    """
    size = axes.get_window_extent()
    width = size.width / axes.figure.dpi
    height = size.height / axes.figure.dpi
    label_widths = LETTER_WIDTH * _label_font_inches() * np.array([display_width(text) for text in texts])
    (low, bottom), (high, top) = axes.dataLim.get_points()
    is_left = tips[:, 0] < 0
    label_anchors = 1.06 * tips
    left_ends = np.append(label_anchors[is_left, 0], low)
    right_ends = np.append(label_anchors[~is_left, 0], high)
    free_width = (
        0.9 * width - np.append(label_widths[is_left], 0)[:, None] - np.append(label_widths[~is_left], 0)
    )
    # Data units per inch, equal in both directions, such that the farthest labels fit.
    across = ((right_ends - left_ends[:, None]) / free_width).max()
    up = np.ptp([bottom, top, *label_anchors[:, 1]]) / (0.9 * height)
    units_per_inch = max(float(across), float(up))
    label_starts = _separate_lines(label_anchors, LINE_HEIGHT * _label_font_inches() * units_per_inch)
    label_ends = np.column_stack(
        [
            label_starts[:, 0] + np.where(is_left, -1, 1) * label_widths * units_per_inch,
            1.05 * label_starts[:, 1],
        ]
    )
    return label_starts, label_ends


def _separate_lines(anchors: Floats, line_height: float) -> Floats:
    """Move labels vertically, left and right of the origin separately, until lines of text do not overlap.

    Parameters
    ----------
    anchors : (m, 2) float array
        Wanted positions of the labels.
    line_height : float
        Height of a line, in the same units.

    Returns
    -------
    (m, 2) float array
        Positions of the labels; after 50 iterations some of many labels may still overlap.
    """
    shifted = anchors.copy()
    for right in (True, False):
        side = np.flatnonzero((anchors[:, 0] >= 0) == right)
        side = side[np.argsort(anchors[side, 1])]
        heights = shifted[side, 1]
        for _ in range(50):
            overlaps = np.diff(heights) < line_height * (1 - 1e-9)
            if not overlaps.any():
                break
            shifts = np.where(overlaps, (line_height - np.diff(heights)) / 2, 0.0)
            heights[:-1] -= shifts
            heights[1:] += shifts
        shifted[side, 1] = heights
    return shifted


def _draw_arrow_lines(axes: Axes, correlations: Floats, names: Sequence[Any]) -> None:
    """Draw structure correlations with a single discriminant as arrows below its histograms, one per line.

    Parameters
    ----------
    axes : Axes
        Axes of the histograms, whose lower limit is changed.
    correlations : (m,) float array
        Structure correlations in the order of the lines; the longest arrow has 0.4 times the width.
    names : sequence
        Names (m,) of the variables.
    """
    low, high = axes.get_xlim()
    bottom, top = axes.get_ylim()
    window = axes.get_window_extent()
    # The histograms keep what the lines leave of the height.
    line_fraction = LINE_HEIGHT * _label_font_inches() * axes.figure.dpi / window.height
    step = line_fraction * (top - bottom) / max(1 - line_fraction * (len(correlations) + 1), 0.2)
    max_letters = _max_letters(0.48 * window.width / axes.figure.dpi)
    scale = 0.4 * (high - low) / max(float(np.abs(correlations).max(initial=0.0)), 1e-300)
    centre = 0.5 * (low + high)
    for i, (correlation, name) in enumerate(zip(correlations.tolist(), names, strict=True)):
        height = bottom - step * (i + 1)
        axes.annotate(
            "", (centre + scale * correlation, height), (centre, height), arrowprops=_arrow_properties()
        )
        side = "right" if correlation >= 0 else "left"
        edge = centre - math.copysign(0.01 * (high - low), correlation)
        axes.text(
            edge,
            height,
            style.shown_name(name, max_letters),
            ha=side,
            va="center",
            fontsize=72 * _label_font_inches(),
        )
    axes.axhline(bottom, color=style.faint_ink(0.6), linewidth=0.8)
    axes.set_ylim(bottom - step * (len(correlations) + 1), top)
    axes.set_yticks([tick for tick in axes.get_yticks() if min(bottom, top) <= tick <= max(bottom, top)])


MAX_NOISE_EIGENVALUES = 30
"""Largest number of eigenvalues that are drawn after the largest signal dimension of all classes."""


def draw_scree(
    table: pd.DataFrame, noise: pd.Series, ax: Axes | None = None, signs: Signs = style.SIGNS
) -> Axes:
    """Draw the eigenvalues of the covariance of each class on a logarithmic scale.

    Eigenvalues of the signal are filled. At the chosen dimension a line drops to the noise level, which is
    the variance outside the signal.

    Parameters
    ----------
    table : DataFrame
        Columns eigenvalue and signal (bool) by (class, number). Numbers start at 1, and the eigenvalues of a
        class are in descending order, hence its first ones, at least one, are signal.
    noise : Series (K,)
        Noise variance of each class.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax)
    classes = list(noise.index)
    max_eigenvalues = int(table["signal"].groupby(level=0, sort=False).sum().max()) + MAX_NOISE_EIGENVALUES
    max_number = 1
    for k, label in enumerate(classes):
        class_table = table.loc[label].iloc[:max_eigenvalues]
        eigenvalue_numbers = class_table.index.to_numpy()
        values = class_table["eigenvalue"].to_numpy(dtype=np.float64)
        colour = signs.colour(k)
        d = int(class_table["signal"].sum())
        axes.plot(eigenvalue_numbers, values, color=colour, linestyle=signs.line(k), linewidth=1.3, zorder=3)
        for part_slice, face in ((slice(0, d), colour), (slice(d, None), style.paper())):
            axes.scatter(
                eigenvalue_numbers[part_slice], values[part_slice], marker=signs.marker(k), s=26,
                facecolor=face, edgecolor=colour, zorder=4,
            )  # fmt: skip
        noise_level = float(noise.iloc[k])
        axes.plot(
            [eigenvalue_numbers[d - 1], eigenvalue_numbers[d - 1]],
            [values[d - 1], noise_level],
            color=colour,
            linewidth=0.9,
            zorder=2,
        )
        axes.plot(
            [eigenvalue_numbers[d - 1], eigenvalue_numbers[-1]], [noise_level, noise_level], color=colour,
            linestyle=signs.line(k), linewidth=0.9, zorder=2,
            marker=signs.marker(k), markersize=4, markevery=[-1],
        )  # fmt: skip
        max_number = max(max_number, int(eigenvalue_numbers[-1]))
    axes.set(yscale="log", xlim=(0.5, max_number + 0.5))
    axes.locator_params(axis="x", integer=True)
    axes.grid(axis="y", color=style.faint_ink(0.85))
    axes.set_axisbelow(True)
    axes.set(xlabel="Number of the eigenvalue", ylabel="Eigenvalue")
    return add_class_legend(axes, is_new, classes, signs, False)


def draw_he(
    means: pd.DataFrame,
    hypothesis: Floats,
    error: Floats,
    centre: Floats,
    radius: float,
    *,
    names: tuple[str, str],
    arrows: pd.DataFrame | None = None,
    equal_units: bool = False,
    ax: Axes | None = None,
    signs: Signs = style.SIGNS,
) -> Axes:
    """Draw a hypothesis-error plot: the ellipse between classes on top of the ellipse within classes.

    The hypothesis ellipse extends outside the error ellipse if the means differ; see
    `discrim.inference.manova`.

    Parameters
    ----------
    means : DataFrame (K, 2)
        Class means on the two axes.
    hypothesis : (2, 2) float array
        H/(lambda v): cross-products H of the hypothesis, critical value lambda of Roy's test and degrees of
        freedom v of the error.
    error : (2, 2) float array
        E/v: covariance within classes.
    centre : (2,) float array
        Mean of all observations, centre of both ellipses.
    radius : float
        Mahalanobis distance, not squared, of both outlines from the centre, by `hypothesis` or `error`.
    names : (str, str)
        Names of the axes, as matplotlib shows them; see `style.shown_name`.
    arrows : DataFrame (p, 2), optional
        Structure correlations of the p variables with the axes, drawn in a common scale.
    equal_units : bool
        Whether both axes have equal units.
    ax : Axes, optional
        Axes to draw on; a new figure by default.
    signs : Signs
        Colours, markers and line styles of the classes.

    Returns
    -------
    Axes
    """
    half_widths = radius * np.sqrt(np.maximum(np.diagonal(hypothesis), np.diagonal(error)))
    axes, is_new = style.new_axes(
        ax, size=equal_units_size(*(2 * half_widths).tolist()) if equal_units else None
    )
    mean_points = style.to_floats(means)
    draw_outline(axes, centre, error, radius, color=style.ink(), linestyle="--", linewidth=1.8, label="error")
    hypothesis_style: dict[str, Any] = {"color": signs.colour(0), "linewidth": 2.0, "label": "hypothesis"}
    draw_outline(axes, centre, hypothesis, radius, **hypothesis_style)
    for k, mean_point in enumerate(mean_points):
        marker_style: dict[str, Any] = {"marker": signs.marker(k), "color": signs.colour(k)}
        marker_style |= {"markersize": 7, "zorder": 4}
        name = style.shown_name(means.index[k], 18)
        if arrows is not None:
            # Arrows have names too, hence the names of the classes are in the legend.
            axes.plot(*mean_point, linestyle="none", label=name, **marker_style)
            continue
        axes.plot(*mean_point, **marker_style)
        if len(mean_points) <= style.MAX_UNLABELLED:
            _name_above(axes, name, mean_point, 6)
    axes.margins(0.08)
    if equal_units:
        axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=names[0], ylabel=names[1])
    style.add_legend(axes, is_new)
    if arrows is not None:
        if is_new:
            fit_texts(axes, is_new=True)
        tips = style.to_floats(arrows)
        scale = arrow_scale(outline(centre, hypothesis, radius), tips)
        draw_arrows(axes, scale * tips, list(arrows.index))
    elif len(mean_points) > style.MAX_UNLABELLED:
        draw_labels(axes, mean_points, list(means.index), "small")
    return axes


def _name_above(axes: Axes, name: str, point: Floats, up: float, **text_style: Any) -> None:
    """Write a name with a halo, centred above a point.

    Parameters
    ----------
    axes : Axes
        Axes to draw on.
    name : str
        Text to write; matplotlib interprets "$".
    point : (2,) float array
        Point in data coordinates.
    up : float
        Distance of the text from the point, in points of 1/72 inch.
    **text_style
        Further properties of the text, such as `color`.
    """
    from matplotlib.patheffects import withStroke

    text_style |= {"ha": "center", "va": "bottom", "fontsize": "small", "zorder": 6}
    text = axes.annotate(name, tuple(point.tolist()), (0, up), textcoords="offset points", **text_style)
    text.set_path_effects([withStroke(linewidth=2, foreground=style.paper())])


MAX_NAMED_CELLS = 12
"""Largest number of cell means of a term that are named."""


def draw_he_of_terms(
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
        Means of each term in its cells, the levels of its factor, by the name of the term. The frame is empty
        if no means are drawn for the term.
    hypotheses : mapping of str to (2, 2) float array
        Matrix of the ellipse of each term, for example H/(lambda v); see `draw_he`.
    error : (2, 2) float array
        E/v: covariance of the residuals.
    centre : (2,) float array
        Mean of all observations.
    radius : float
        Mahalanobis distance, not squared, of the outlines from the centre.
    names : (str, str)
        Names of the axes in plain text.
    ax : Axes, optional
        Axes to draw on; a new figure by default.

    Returns
    -------
    Axes
    """
    axes, is_new = style.new_axes(ax)
    draw_outline(axes, centre, error, radius, color=style.ink(), linestyle="--", linewidth=1.8, label="error")
    for k, (term, shape) in enumerate(hypotheses.items()):
        colour = style.SIGNS.colour(k)
        ellipse_style: dict[str, Any] = {
            "color": colour,
            "linewidth": 2.0,
            "label": style.shown_name(term, 30),
        }
        draw_outline(axes, centre, shape, radius, **ellipse_style)
        cells = means[term]
        for label, mean_point in zip(cells.index, style.to_floats(cells), strict=True):
            axes.plot(*mean_point, marker=style.SIGNS.marker(k), color=colour, markersize=6, zorder=4)
            if len(cells) <= MAX_NAMED_CELLS:
                _name_above(axes, style.shown_name(label, 18), mean_point, 5, color=colour)
    axes.margins(0.08)
    axes.set(xlabel=style.shown_name(names[0]), ylabel=style.shown_name(names[1]))
    style.add_legend(axes, is_new)
    return axes
