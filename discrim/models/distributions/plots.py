"""Plots of the Bayes classifier of a fully specified distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.distributions.bayes_distribution import DensityDistribution, MassDistribution
from discrim.core.moments.moments import ClassMoments
from discrim.core.numerics.arrays import Floats
from discrim.errors import NotSupportedError
from discrim.inference.manova import most_separating_pair
from discrim.models.distributions.known_distributions import KnownDistribution, as_classifier
from discrim.models.plots.planes import candidate_columns, read_at_option
from discrim.models.plots.plottable import check_columns_option, describe_selection, plot, reads_two_columns
from discrim.report.plots.planes import PlaneRows, draw_along_variable, draw_plane, range_with_margin
from discrim.report.plots.style import SIGNS, Signs, add_legend, faint_ink, label_codes, new_axes, shown_name

if TYPE_CHECKING:
    from discrim.models.plots.plottable import PlotOptions
    from discrim.report.plots.style import Axes


N_SAMPLED_ROWS = 400
"""Number of sampled rows that are drawn over the regions."""


@plot("densities", "prior times density of one variable, or of the values of a table", data=False)
def densities(results: Any, distribution: KnownDistribution, options: PlotOptions) -> Axes:
    """Plot prior times density over one variable, or prior times probability over the values of a table.

    A line is drawn where the density of some class is visible. Values with a probability of at most 1e-6 are
    left out. Raises NotSupportedError for densities of several columns.

    Parameters
    ----------
    results : BayesResults
        The classifier.
    distribution : KnownDistribution
        Its distribution.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    class_distributions = distribution.class_distributions
    prior = results._prior_values(None)
    if isinstance(class_distributions, DensityDistribution) and class_distributions.is_on_line:
        # Restrict the line to points at which the density of some class is visible.
        marks = [
            density.landmarks for density in class_distributions.densities if hasattr(density, "landmarks")
        ]
        grid = np.unique(np.concatenate([np.linspace(m[:-1], m[1:], 40).ravel() for m in marks]))
        on_grid = np.exp(class_distributions.log_densities(grid[:, None])) * prior
        on_grid[~np.isfinite(on_grid)] = 0.0
        visible = grid[(on_grid > 2e-3 * on_grid.max(axis=0)).any(axis=1)]
        low, high = visible[0], visible[-1]
        x = np.unique(np.append(grid[(grid >= low) & (grid <= high)], np.linspace(low, high, 600)))
        joint = pd.DataFrame(np.exp(results.decision_function(x).to_numpy()), columns=results.classes)
        joint.index = pd.Index(x, name=results.columns[0])
        return draw_joint_densities(
            joint, results.decision, ax=options.ax, signs=options.signs(results.classes)
        )
    listed = (
        class_distributions
        if isinstance(class_distributions, MassDistribution)
        else class_distributions.enumerate_values()
    )
    if listed is None:
        raise NotSupportedError(
            f"kind='densities' requires one column or a table of densities; x has {len(results.columns)} "
            "columns.",
            hint="Use kind='regions'.",
        )
    joint = pd.DataFrame(
        (listed.mass * prior[:, None]).T, index=results.decision.index, columns=results.classes
    )
    is_seen = joint.sum(axis=1).to_numpy() > 1e-6
    predicted = as_classifier(distribution, results)(listed.points[is_seen])
    return draw_joint_masses(joint[is_seen], predicted, ax=options.ax, signs=options.signs(results.classes))


@plot(
    "regions",
    "decision regions of two columns, with rows of a sample",
    used_options=("columns", "at"),
    data=False,
    default_if=reads_two_columns,
)
def regions(results: Any, distribution: KnownDistribution, options: PlotOptions) -> Axes:
    """Plot the decision regions in the plane of two columns, with rows of a sample.

    By default the columns are the pair with the largest F statistic in the sample. Other columns are fixed at
    their sample means, or at the values of `options.at`. `options.data` replaces the sample; its classes are
    in the column of the response, or else in the first column. Raises NotSupportedError for a table of
    probabilities or a single column.

    Parameters
    ----------
    results : BayesResults
        The classifier.
    distribution : KnownDistribution
        Its distribution.
    options : PlotOptions
        Options of the method `plot`, such as the axes to draw into.

    Returns
    -------
    Axes
        The axes with the plot.
    """
    class_distributions = distribution.class_distributions
    all_columns = results.columns.tolist()
    if isinstance(class_distributions, MassDistribution) or class_distributions.dim < 2:
        raise NotSupportedError(
            f"kind='regions' requires at least two columns with densities; x has {len(all_columns)} "
            f"column{'s' * (len(all_columns) != 1)}.",
            hint="Use kind='densities'.",
        )
    rows = results.sample(N_SAMPLED_ROWS, seed=0) if options.data is None else pd.DataFrame(options.data)
    response = results.classes.name if results.classes.name in rows else rows.columns[0]
    codes = label_codes(rows[response].astype(object), results.classes.tolist())
    free_names = candidate_columns(options, all_columns)
    if options.columns is not None:
        names = check_columns_option(options, all_columns, "regions", 2, 2)
    else:
        x = rows[free_names].to_numpy(dtype=np.float64)
        used = (codes >= 0) & np.isfinite(x).all(axis=1)
        moments = ClassMoments.from_block(x[used], codes[used], n_classes=len(results.classes))
        names = [free_names[j] for j in (most_separating_pair(moments) if used.any() else (0, 1))]
    fixed = {name: float(rows[name].mean()) for name in all_columns if name not in names}
    fixed |= read_at_option(options, all_columns, names, all_columns)
    rule = as_classifier(distribution, results)

    def classify(plane: Floats) -> NDArray[np.intp]:
        """Return the class codes (m,) of points (m, 2) of the plane, whose axes are `names`.

        The other columns have the values of `fixed`.
        """
        x = np.column_stack(
            [
                plane[:, names.index(name)] if name in names else np.full(len(plane), fixed[name])
                for name in all_columns
            ]
        )
        return rule(x)

    points = rows[names].to_numpy(dtype=np.float64)
    across, up = (range_with_margin(float(np.nanmin(v)), float(np.nanmax(v))) for v in points.T)
    fixed_text = ", ".join(f"{name} = {value:.4g}" for name, value in fixed.items())
    subtitle = "; ".join(
        note
        for note in (describe_selection(options, len(free_names)), fixed_text and f"fixed: {fixed_text}")
        if note
    )
    return draw_plane(
        classify,
        (across, up),
        (names[0], names[1]),
        PlaneRows(points, codes, is_faint=bool(fixed_text)),
        results.classes.tolist(),
        ax=options.ax,
        signs=options.signs(results.classes),
        title="Regions of the Bayes classifier" + (f"\n{subtitle}" if subtitle else ""),
    )


LABEL_CHARACTERS = 40
"""Number of characters that fit side by side below a plot, for names of values."""


def draw_joint_densities(
    joint: pd.DataFrame, regions: pd.DataFrame, ax: Axes | None = None, signs: Signs = SIGNS
) -> Axes:
    """Draw prior times density of each class as lines over the decision regions, and shade the error.

    Parameters
    ----------
    joint : DataFrame
        Prior times density, points by classes; the index has the points in increasing order, and its name is
        the label of the axis.
    regions : DataFrame
        Intervals of the line from left to right: low, high, decision (a label or missing).
    ax : Axes, optional
        The axes to draw into; by default the axes of a new figure.
    signs : Signs
        Colours and line styles of the classes.

    Returns
    -------
    Axes
        The axes with the plot. High poles of a density are cut off.
    """
    x = joint.index.to_numpy(dtype=np.float64)
    classes = joint.columns.tolist()
    values = joint.to_numpy(dtype=np.float64)
    values = np.where(np.isfinite(values), values, np.nan)
    codes = label_codes(regions["decision"], classes)
    predicted = codes[np.searchsorted(regions["high"].to_numpy(dtype=np.float64)[:-1], x, side="right")]
    names = (joint.index.name, "Prior times density")
    none = np.empty(0)
    line_arguments = x, values, predicted, names, none, none.astype(np.intp), classes, ax, signs
    axes = draw_along_variable(*line_arguments, title="Densities, and regions of the Bayes classifier")
    error_density = values.sum(axis=1) - np.where(predicted < 0, 0.0, values[np.arange(len(x)), predicted])
    axes.fill_between(x, 0.0, error_density, color=faint_ink(0.3), alpha=0.35, linewidth=0, label="error")
    # A pole of a density would flatten the rest of the plot. Its points are dense, so quantiles are taken
    # over evenly spaced points.
    highest = np.nan_to_num(values, nan=0.0).max(axis=1)
    even_values = np.interp(np.linspace(x[0], x[-1], 401), x, highest)
    axes.set_ylim(0.0, 1.05 * min(highest.max(), 6 * float(np.quantile(even_values, 0.9)) or highest.max()))
    return add_legend(axes, ax is None)


def draw_joint_masses(
    joint: pd.DataFrame, predicted: NDArray[np.intp], ax: Axes | None = None, signs: Signs = SIGNS
) -> Axes:
    """Draw joint probabilities as bars; the bar of the predicted class is filled.

    Parameters
    ----------
    joint : DataFrame
        Joint probabilities, values by classes.
    predicted : (V,) int
        Position of the class that the rule predicts for each value (row of `joint`).
    ax : Axes, optional
        The axes to draw into; by default the axes of a new figure.
    signs : Signs
        Colours of the classes.

    Returns
    -------
    Axes
        The axes with the plot. If there are many values, only some are named.
    """
    axes, is_new = new_axes(ax)
    positions = np.arange(len(joint))
    k_classes = joint.shape[1]
    width = 0.8 / k_classes
    for k, label in enumerate(joint.columns):
        colour = signs.colour(k)
        heights = joint.iloc[:, k].to_numpy(dtype=np.float64)
        faces: list[Any] = [(colour, 1.0 if code == k else 0.2) for code in predicted]
        bar_positions = positions + (k - 0.5 * (k_classes - 1)) * width
        axes.bar(bar_positions, heights, width=width, color=faces, edgecolor=colour, linewidth=0.8)
        axes.bar([np.nan], [np.nan], color=colour, label=shown_name(label))
    names = [", ".join(map(str, key)) if isinstance(key, tuple) else _format_key(key) for key in joint.index]
    step = max(int(np.ceil(len(positions) * max(map(len, names)) / LABEL_CHARACTERS)), 1)
    axes.set_xticks(positions[::step], [shown_name(name) for name in names[::step]])
    axes.set_xlabel(", ".join(shown_name(name) for name in joint.index.names))
    axes.set_ylabel("Prior times probability")
    axes.set_title("Joint probabilities; filled: class predicted by the Bayes classifier")
    return add_legend(axes, is_new)


def _format_key(key: Any) -> str:
    """Return a value of x as text; floats have at most six digits."""
    return f"{key:g}" if isinstance(key, float) else str(key)


BAYES_PLOTS = (regions, densities)
"""Plots of `bayes`, in the order in which a default is chosen."""
