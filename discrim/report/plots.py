"""Pictures of a fit. This is the only module that imports matplotlib, and it does so when it draws.

Each function draws on the axes it is given, or makes a figure, and returns the axes. Colours are those of
Okabe and Ito, which stay apart for colour-blind readers; markers differ as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.numbers import clean, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = ["posteriors", "regions", "scores"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C8C00", "#000000")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")

MOST_IN_LEGEND = 12
"""Classes up to which a legend names them; beyond, only the class means are labelled."""

GRID = 240
"""Points a side of the grid that regions are drawn on."""


def scores(scores: pd.DataFrame, labels: pd.Series, centroids: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Discriminant scores by class: the first two axes, or a histogram of the only one.

    Parameters
    ----------
    scores : DataFrame, rows by LD1, LD2, ...
    labels : Series
        Class of each row; a row without one is left out.
    centroids : DataFrame, classes by LD1, LD2, ...
    ax : Axes, optional
    """
    axes = _axes(ax)
    if not scores.shape[1]:
        axes.set_title("The class means do not differ: there is no discriminant.")
        return axes
    if scores.shape[1] == 1:
        return _histograms(axes, scores.iloc[:, 0], labels, centroids)
    first, second = scores.columns[:2]
    means = centroids.to_numpy(dtype=np.float64)
    for k, label in enumerate(centroids.index):
        rows = (labels == label).to_numpy()
        axes.scatter(scores.loc[rows, first], scores.loc[rows, second], label=_name(label), **_style(k))
    for k, label in enumerate(centroids.index):
        place = (float(means[k, 0]), float(means[k, 1]))
        axes.plot(*place, marker="+", markersize=13, markeredgewidth=2.5, color="white", zorder=4)
        axes.plot(*place, marker="+", markersize=12, markeredgewidth=1.5, color="black", zorder=5)
        if len(centroids) > MOST_IN_LEGEND:
            axes.annotate(
                _name(label), place, fontsize=7, xytext=(3, 3), textcoords="offset points", zorder=6
            )
    axes.set_xlabel(_name(first))
    axes.set_ylabel(_name(second))
    # Both axes have unit variance within classes: equal units show distances as the rule sees them.
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_title("Discriminant scores; + marks the class means")
    return _legend(axes, len(centroids))


def _histograms(axes: Axes, values: pd.Series, labels: pd.Series, centroids: pd.DataFrame) -> Axes:
    known = values.notna() & labels.notna()
    means = centroids.to_numpy(dtype=np.float64)
    edges = np.histogram_bin_edges(values[known], bins="auto" if known.sum() < 10_000 else 100)
    for k, label in enumerate(centroids.index):
        rows = (labels == label).to_numpy() & known.to_numpy()
        colour = COLOURS[k % len(COLOURS)]
        axes.hist(values[rows], bins=edges.tolist(), alpha=0.5, color=colour, label=_name(label))
        axes.axvline(float(means[k, 0]), color=colour, linestyle=("-", "--", ":", "-.")[k % 4])
    axes.set_xlabel(_name(values.name))
    axes.set_ylabel("Rows")
    axes.set_title("Discriminant scores; lines mark the class means")
    return _legend(axes, len(centroids))


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
        Class of each row; a row without one is left out.
    ax : Axes, optional
    """
    from matplotlib.colors import ListedColormap

    axes = _axes(ax)
    x, y = (points.iloc[:, j].to_numpy(dtype=np.float64) for j in (0, 1))
    known = ~(np.isnan(x) | np.isnan(y)) & labels.notna().to_numpy()
    grid = [_span(values[known]) for values in (x, y)]
    across, up = np.meshgrid(*grid)
    plane = pd.DataFrame({points.columns[0]: across.ravel(), points.columns[1]: up.ravel()})
    classes = list(dict.fromkeys(sorted(labels[known].unique(), key=str)))
    codes = pd.Index(classes).get_indexer(pd.Index(predict(plane))).reshape(across.shape)
    colours = ListedColormap([COLOURS[k % len(COLOURS)] for k in range(len(classes))])
    axes.pcolormesh(
        *grid,
        codes,
        cmap=colours,
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        alpha=0.18,
        shading="nearest",
        linewidth=0,
    )
    for k in range(len(classes)):
        axes.contour(*grid, codes == k, levels=[0.5], colors="0.35", linewidths=0.6)
    for k, label in enumerate(classes):
        rows = known & (labels == label).to_numpy()
        axes.scatter(x[rows], y[rows], label=_name(label), **_style(k))
    axes.set_xlabel(_name(points.columns[0]))
    axes.set_ylabel(_name(points.columns[1]))
    axes.set_title("Regions of the predicted classes")
    return _legend(axes, len(classes))


def posteriors(proba: pd.DataFrame, labels: pd.Series, ax: Axes | None = None) -> Axes:
    """Posterior of each row's own class, by class: how sure the rule is, and where it is wrong.

    Parameters
    ----------
    proba : DataFrame, rows by classes
    labels : Series
        Class of each row; a row without one is left out.
    ax : Axes, optional
    """
    axes = _axes(ax)
    for k, label in enumerate(proba.columns):
        rows = (labels == label).to_numpy()
        own = proba.iloc[rows, k].dropna()
        # Spread by rank, not at random: the picture is the same each time.
        offsets = 0.7 * ((np.arange(len(own)) + 0.5) / max(len(own), 1) - 0.5)
        axes.scatter(np.sort(own.to_numpy()), k + offsets, **_style(k))
    axes.set_yticks(range(proba.shape[1]), [_name(label) for label in proba.columns])
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("Posterior probability of the row's own class")
    axes.set_title("Posteriors")
    return axes


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _style(k: int) -> dict[str, Any]:
    colour = COLOURS[k % len(COLOURS)]
    return {"color": colour, "marker": MARKERS[k % len(MARKERS)], "s": 22, "alpha": 0.75, "linewidths": 0}


def _name(label: Any) -> str:
    """A label as matplotlib should show it: no mathematics, no control characters, not too long."""
    text = shorten(clean(label), 40).replace("$", r"\$")
    # matplotlib keeps labels with a leading underscore out of legends.
    return f"\u200a{text}" if text.startswith("_") else text


def _span(values: Any) -> Any:
    low, high = float(values.min()), float(values.max())
    margin = 0.06 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, GRID)


def _legend(axes: Axes, n_classes: int) -> Axes:
    if n_classes <= MOST_IN_LEGEND:
        axes.legend(frameon=False)
    return axes
