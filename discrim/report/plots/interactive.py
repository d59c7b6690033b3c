"""Interactive plots by plotly, with tooltips that show the name, classes and posteriors of each observation.

The plots use the colours, markers and lines of the classes, and ink and paper of the current style of
matplotlib. A click on a class in the legend hides it, a rectangle zooms, and a button dims all observations
except misclassified ones. Of very many observations an evenly spaced subset of each class is drawn.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.errors import missing_package
from discrim.report.grid import clean, shorten
from discrim.report.plots import style
from discrim.report.plots.planes import COARSE_GRID_POINTS, CORNERS, Classify, PlaneRows, find_regions
from discrim.report.plots.spaces import (
    OF_BETWEEN_VARIANCE,
    format_proportion,
    outline,
    outline_radius,
    scores_title,
)

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes, Signs

Figure: TypeAlias = Any
"""A figure of plotly, which lacks type annotations."""

Trace = dict[str, Any]
"""Properties of a trace of plotly: a set of points, a line or a heat map."""

MAX_ROWS = 5_000
"""Approximate largest number of rows that are drawn; files with more are slow to open."""

MAX_LARGE_POINTS = 500
"""Largest number of drawn rows with large points."""

MAX_TOOLTIP_CLASSES = 8
"""Largest number of classes for which the tooltip of a location in a plane lists the posteriors."""

# Plotly's names of matplotlib's markers, of axes, and of matplotlib's line styles.
SYMBOLS = {"o": "circle", "^": "triangle-up", "s": "square", "D": "diamond", "v": "triangle-down"}
SYMBOLS |= {"P": "cross", "X": "x", "*": "star"}
AXES = ("xaxis", "yaxis")
DASHES = {"-": "solid", "--": "dash", ":": "dot", "-.": "dashdot"}


@dataclass(frozen=True, slots=True, eq=False)
class InteractiveRows:
    """Observations of an interactive plot.

    Attributes
    ----------
    index : Index (n,)
        Their row labels.
    codes : (n,) int array
        Their actual classes, -1 for none.
    predicted : (n,) int array
        Predicted classes, -1 for none.
    classes : sequence
        Labels (K,).
    posteriors : (n, K) float array or None
        Posterior probabilities of the classes; None for models without them.
    signs : Signs
        Colours and markers of the classes.
    """

    index: pd.Index
    codes: Codes
    predicted: Codes
    classes: Sequence[Any]
    posteriors: Floats | None
    signs: Signs

    @property
    def wrong_mask(self) -> NDArray[np.bool_]:
        """Mask (n,) of misclassified rows, which have an actual and a predicted class."""
        return np.asarray((self.codes >= 0) & (self.predicted >= 0) & (self.codes != self.predicted))

    def names(self, rows: Codes) -> list[str]:
        """Return the names of the rows at the positions `rows`, escaped for plotly and HTML.

        A name is the name of the index, if any, and the label; numbers without a name become "row 7".
        """
        numbered = self.index.name is None and pd.api.types.is_numeric_dtype(self.index.dtype)
        prefix = "row " if numbered else f"{self.index.name or ''} ".lstrip()
        return [_escape_label(f"{prefix}{label}") for label in self.index[rows]]

    def descriptions(self) -> list[str]:
        """Return a text in HTML for each row: name, class, predicted class if it differs, and posteriors."""

        def class_text(row: int, k: int) -> str:
            """Return class k, escaped, with its posterior for a row; "no class" for a negative k."""
            posterior_text = (
                "" if self.posteriors is None or k < 0 else f", posterior {self.posteriors[row, k]:.3f}"
            )
            return (_escape_label(self.classes[k]) if k >= 0 else "no class") + posterior_text

        names = self.names(np.arange(len(self.codes)))
        rows = zip(names, self.codes.tolist(), self.predicted.tolist(), strict=True)
        return [
            f"{name}: {class_text(row, own_code)}"
            + (f", predicted {class_text(row, predicted_code)}" if predicted_code != own_code else "")
            for row, (name, own_code, predicted_code) in enumerate(rows)
        ]

    def tooltip_fields(self, rows: Codes) -> list[list[Any]]:
        """Return the tooltip fields of each of the rows at the positions `rows`.

        They are the name of the row, the predicted class ("none" if absent) and, if there are any, the
        posteriors of the predicted and of the actual class. The posterior of a class -1 is meaningless.
        """
        predicted_labels = [
            _escape_label(self.classes[k]) if k >= 0 else "none" for k in self.predicted[rows].tolist()
        ]
        posterior_columns = []
        if self.posteriors is not None:
            row_posteriors = self.posteriors[rows].round(4)
            posterior_columns = [
                row_posteriors[range(len(rows)), codes[rows]].tolist()
                for codes in (self.predicted, self.codes)
            ]
        return [
            list(fields)
            for fields in zip(self.names(rows), predicted_labels, *posterior_columns, strict=True)
        ]

    def select_drawn(self, mask: NDArray[np.bool_]) -> dict[int, Codes]:
        """Select at most about `MAX_ROWS` rows of a mask (n,) to draw; return their positions by class.

        Evenly spaced rows of each class are selected. The key -1 stands for rows without a class.
        """
        rows_by_class = {
            k: np.flatnonzero(mask & (self.codes == k)) for k in np.unique(self.codes[mask]).tolist()
        }
        total = sum(map(len, rows_by_class.values()))
        if total > MAX_ROWS:
            # Half of the points are divided equally among the classes, to represent rare ones too.
            min_per_class = MAX_ROWS // (2 * len(rows_by_class))
            for k, rows in rows_by_class.items():
                size = min(min_per_class + len(rows) * MAX_ROWS // (2 * total), len(rows))
                rows_by_class[k] = rows[np.linspace(0, len(rows) - 1, size).astype(np.intp)]
        return rows_by_class


def _escape_label(label: Any, width: int = style.MAX_LABEL_WIDTH) -> str:
    """Shorten a label to a display width and escape it for plotly: tags, mathematics, template syntax."""
    text = html.escape(shorten(clean(label), width), quote=False)
    return text.replace("$", "&#36;").replace("%{", "&#37;{")


LEGEND_BELOW = {
    "orientation": "h",
    "x": 0,
    "y": 0,
    "yref": "container",
    "yanchor": "bottom",
    "itemsizing": "constant",
}
"""Placement of a legend below the plot, which has room for all names on a phone too."""


def _outline_style(signs: Signs, k: int) -> dict[str, Any]:
    """Return plotly's line properties for the outline of class k."""
    line = signs.line(k)
    dash = DASHES.get(line, "solid") if isinstance(line, str) else ",".join(f"{2 * s}px" for s in line[1])
    return {"color": signs.outline(k), "dash": dash, "width": 1.6}


def _row_traces(
    rows: InteractiveRows,
    coordinates: Floats,
    coordinate_template: str,
    opacity: float = 0.75,
    make_trace: Callable[[Floats], Trace] | None = None,
) -> tuple[list[Trace], str]:
    """Make the traces of rows: for each class one of correctly predicted and one of misclassified rows.

    Parameters
    ----------
    rows : InteractiveRows
        Labels, classes and predictions of the observations.
    coordinates : (n, d) float array
        Coordinates; rows with a missing one are not drawn.
    coordinate_template : str
        Plotly's template of the coordinates in a tooltip, such as "x %{x:.2f}".
    opacity : float
        Opacity of correctly predicted rows.
    make_trace : callable, optional
        Function that makes a trace from coordinates (m, d); points in a plane by default.

    Returns
    -------
    traces : list of dict
        Misclassified rows are last; their traces have the property meta="misclassified", others "rows".
    note : str
        How many rows are misclassified, and how many are drawn if not all are; empty if there is nothing to
        note.
    """
    traces: list[Trace] = []
    # Rows without a class are drawn only if no row has one.
    drawable = np.isfinite(coordinates).all(axis=1) & ((rows.codes >= 0) | (rows.codes < 0).all())
    wrong = rows.wrong_mask & drawable
    rows_by_class = rows.select_drawn(drawable)
    n_rows = int(drawable.sum())
    n_drawn = sum(map(len, rows_by_class.values()))
    size, ring_width = (5, 0.8) if n_drawn > MAX_LARGE_POINTS else (8, 2.0)
    # If many rows are misclassified, their rings would hide the others.
    ringed_marker = (
        {"size": size + ring_width + 1, "opacity": 1.0} if 10 * wrong.sum() < n_rows else {"size": size}
    )
    posterior_text = "" if rows.posteriors is None else ", posterior %{customdata[2]:.3f}"
    predicted_text = f"predicted: %{{customdata[1]}}{posterior_text}"
    # Misclassified rows are drawn last, on top of the others.
    for is_ringed, (k, class_rows) in product((False, True), rows_by_class.items()):
        trace_rows = class_rows[wrong[class_rows] == is_ringed]
        if not len(trace_rows):
            continue
        name = _escape_label(rows.classes[k]) if k >= 0 else "no class"
        tooltip = (
            predicted_text
            if k < 0
            else f"{name}{posterior_text.replace('[2]', '[3]')}<br>{predicted_text}"
            if is_ringed
            else name + posterior_text
        )
        trace = (make_trace or _point_trace)(coordinates[trace_rows]) | {"name": name, "legendgroup": str(k)}
        trace |= {
            "showlegend": all(earlier["name"] != name for earlier in traces),
            "customdata": rows.tooltip_fields(trace_rows),
        }
        trace |= {
            "hovertemplate": f"<b>%{{customdata[0]}}</b><br>{tooltip}<br>{coordinate_template}<extra></extra>"
        }
        line = (
            {"width": ring_width if "opacity" in ringed_marker else 0.7, "color": style.ink()}
            if is_ringed
            else {"width": 0}
        )
        marker = _class_marker(rows.signs, k) | {"size": size, "opacity": opacity, "line": line}
        trace |= {"marker": marker | ringed_marker if is_ringed else marker}
        traces.append(trace | {"meta": "misclassified" if is_ringed else "rows"})
    notes = [f"ringed: {int(wrong.sum()):,} misclassified of {n_rows:,} observations"] if wrong.any() else []
    return traces, "; ".join(
        notes + [f"{n_drawn:,} of {n_rows:,} observations are shown"] * (n_rows > MAX_ROWS)
    )


def _class_marker(signs: Signs, k: int) -> dict[str, Any]:
    """Return plotly's marker properties for colour and symbol of class k; -1 is a circle in ink."""
    if k < 0:
        return {"color": style.ink(), "symbol": "circle"}
    return {"color": signs.colour(k), "symbol": SYMBOLS.get(signs.marker(k), "circle")}


def _mean_marker() -> dict[str, Any]:
    """Return plotly's marker properties for a class mean."""
    return {"symbol": "cross-thin", "size": 12, "line": {"width": 2, "color": style.ink()}}


def _line_trace(xy: Floats, line: Mapping[str, Any], **properties: Any) -> Trace:
    """Make a trace of points (n, 2) joined by a line, without tooltip.

    Parameters
    ----------
    xy : (n, 2) float array
        Vertices; NaN interrupts the line.
    line : mapping
        Plotly's line properties.
    **properties
        Other properties of the trace.

    Returns
    -------
    dict
    """
    trace = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "showlegend": False, "line": dict(line)}
    return trace | {"x": xy[:, 0], "y": xy[:, 1]} | properties


def _point_trace(xy: Floats) -> Trace:
    """Make a trace of points (n, 2) in a plane."""
    return {"type": "scatter", "mode": "markers", "x": xy[:, 0], "y": xy[:, 1]}


def _make_figure(
    traces: Sequence[Trace],
    title: str,
    subtitle_lines: Sequence[str],
    names: Sequence[str] = (),
    **properties: Any,
) -> Figure:
    """Make a plotly figure with the layout that all interactive plots share.

    Parameters
    ----------
    traces : sequence of dict
        Traces to draw, the first at the bottom.
    title : str
        Title of the plot.
    subtitle_lines : sequence of str
        Texts below the title, which are wrapped; empty ones are left out.
    names : sequence of str
        Names of the two axes, if any. All texts must be escaped, see `_escape_label`.
    **properties
        Properties of the layout, which replace the shared ones; a dict is merged into the shared one.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    NotSupportedError
        plotly is not installed.
    """
    try:
        from plotly.graph_objects import Figure
    except ImportError:
        alternative = "leave interactive out for a plot by matplotlib"
        raise missing_package("interactive=True", "plotly", "interactive", alternative) from None
    grey = style.faint_ink(0.5)
    axis = {"gridcolor": style.faint_ink(0.88), "zeroline": False, "showline": True, "automargin": True}
    axis |= {"linecolor": grey, "ticks": "outside", "tickcolor": grey, "title": {"font": {"size": 14}}}
    lines = [line for text in subtitle_lines for line in textwrap.wrap(text, 88)]
    subtitle = {"text": "<br>".join(lines), "font": {"size": 12}}
    template = {"paper_bgcolor": style.paper(), "plot_bgcolor": style.paper(), "xaxis": axis, "yaxis": axis}
    template |= {"font": {"color": style.ink(), "size": 13}, "hoverlabel": {"align": "left"}}
    # Remove the button that would send the data to a server.
    template |= {"modebar": {"remove": ["sendChartToCloud"]}, "legend": LEGEND_BELOW}
    layout: dict[str, Any] = {
        "template": {"layout": template},
        "title": {"text": title, "subtitle": subtitle, "x": 0, "xref": "paper"},
        "height": max(540, 24 * sum(trace.get("showlegend", False) for trace in traces) + 160),
        "margin": {"l": 70, "r": 20, "t": 70 + 16 * len(lines), "b": 60},
        "updatemenus": _dimming_buttons(traces),
    }
    layout |= {axis: {"title": {"text": name}} for axis, name in zip(AXES, names, strict=False)}
    for name, value in properties.items():
        layout[name] = layout.get(name, {}) | value if isinstance(value, dict) else value
    return Figure({"data": list(traces), "layout": layout})


def _dimming_buttons(traces: Sequence[Trace]) -> list[dict[str, Any]]:
    """Make a menu of two buttons that dim correctly predicted rows and restore them.

    Parameters
    ----------
    traces : sequence of dict
        All traces of a figure, in order. The property meta of a trace is "rows" for correctly predicted
        rows and "misclassified" for the others; traces without it are not dimmed.

    Returns
    -------
    list of dict
        Value of the property updatemenus of plotly's layout: one menu, or none if no row is misclassified,
        or all are.
    """
    opacities = {
        i: trace["marker"]["opacity"] for i, trace in enumerate(traces) if trace.get("meta") == "rows"
    }
    if not opacities or all(trace.get("meta") != "misclassified" for trace in traces):
        return []
    opacity_by_label = {"All observations": max(opacities.values()), "Misclassified": 0.08}
    args_by_label = {
        label: [{"marker.opacity": opacity}, list(opacities)] for label, opacity in opacity_by_label.items()
    }
    buttons = [{"label": label, "method": "restyle", "args": args} for label, args in args_by_label.items()]
    # Below the name of the axis, because a phone lacks room at the side.
    placement = {"x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "pad": {"t": 60}, "type": "buttons"}
    placement |= {"direction": "right"}
    button_style = {"bgcolor": style.paper(), "bordercolor": style.faint_ink(0.5), "font": {"size": 11}}
    return [{"buttons": buttons, "showactive": False} | placement | button_style]


def replace_title(figure: Figure, title: str) -> None:
    """Replace the title of a figure by the plain text that the user chose, and remove the subtitle."""
    figure.update_layout(title={"text": _escape_label(title, 200), "subtitle": {"text": ""}})


def html_element(figure: Figure, name: str) -> str:
    """Return a figure as an HTML element with the id `name`, for a page that includes `plotly_script`."""
    return str(figure.to_html(full_html=False, include_plotlyjs=False, div_id=name))


DARK_MODE_SCRIPT = """
const night = matchMedia("(prefers-color-scheme: dark)"), inks = ["#000000", "#e8ebf0"];
function ink() {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) plot.data.forEach((trace, i) => {
    const marker = trace.marker || {}, to = inks[Number(night.matches)], changed = {};
    if (inks.includes(marker.color)) changed["marker.color"] = to;
    if (marker.line && inks.includes(marker.line.color)) changed["marker.line.color"] = to;
    if (Object.keys(changed).length) Plotly.restyle(plot, changed, [i]);
  });
}
addEventListener("load", ink);
night.addEventListener("change", ink);
"""
"""Script that adapts points in ink to dark mode; they may be on a canvas, which CSS does not affect."""


def plotly_script(has_figures: bool) -> str:
    """Return the JavaScript that a page needs for its figures: plotly and adjustments; "" without figures."""
    if not has_figures:
        return ""
    from plotly.offline import get_plotlyjs

    # A figure that was drawn within a closed <details> had no width.
    resize_script = (
        'for (const each of event.target.querySelectorAll(".js-plotly-plot")) Plotly.Plots.resize(each)'
    )
    on_toggle = f'addEventListener("toggle", event => {{ {resize_script} }}, true);'
    return f"{get_plotlyjs()}\n{on_toggle}\n{DARK_MODE_SCRIPT}"


# ---- the kinds


def scores_figure(
    scores: pd.DataFrame,
    rows: InteractiveRows,
    centroids: pd.DataFrame,
    *,
    proportions: pd.Series | None,
    counts: pd.Series,
    level: float,
    within_covariance: Floats | None,
    proportion_of: str = OF_BETWEEN_VARIANCE,
) -> Figure:
    """Make an interactive plot of scores on one or two discriminants.

    Two discriminants are drawn as a plane with the class means and an outline of each class. A single one is
    drawn as a line of observations for each class, without outlines. The matplotlib version is
    `discrim.report.plots.spaces.draw_scores`.

    Parameters
    ----------
    scores : DataFrame (n, r)
        Scores of the observations on the r = 1 or 2 discriminants that are drawn; n may be 0.
    rows : InteractiveRows
        Labels, classes and predictions of the observations.
    centroids : DataFrame (K, r)
        Scores of the class means; its columns name the axes.
    proportions : Series or None
        Proportion (0 to 1) of each discriminant by its name, written as a percentage after the names of the
        axes; None to omit it.
    counts : Series (K,)
        Class sizes, for the tooltips of the class means.
    level : float
        Proportion of a normally distributed class within its outline.
    within_covariance : (r, r) float array or None
        Covariance of the scores within classes, for the outlines; None for the identity.
    proportion_of : str
        Text after the first percentage, which names the total; see `draw_scores`.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    x = style.to_floats(scores)
    means = style.to_floats(centroids)
    axis_names = [
        _escape_label(name) + format_proportion(name, proportions, "" if j else proportion_of)
        for j, name in enumerate(centroids)
    ]
    if len(axis_names) < 2:
        return _strips_figure(x[:, 0], rows, axis_names[0], "Discriminant scores", centroids.iloc[:, 0])
    location_template = "{} %{{x:.2f}}, {} %{{y:.2f}}".format(*map(_escape_label, centroids))
    traces, note = _row_traces(rows, x, location_template)
    within_cov = np.eye(2) if within_covariance is None else within_covariance
    radius = outline_radius(level)
    for k, label in enumerate(centroids.index):
        group = {"legendgroup": str(k), "name": _escape_label(label)}
        traces.append(
            _line_trace(outline(means[k], within_cov, radius), _outline_style(rows.signs, k), **group)
        )
        tooltip = f"mean of {_escape_label(label)}, {counts.iloc[k]:,.6g} observations<br>"
        tooltip += f"{location_template}<extra></extra>"
        mean = {"marker": _mean_marker(), "hovertemplate": tooltip, "showlegend": not len(x)}
        traces.append(_point_trace(means[[k]]) | group | mean)
    title, _, outlines = scores_title(len(x) > 0, level, proportion_of == OF_BETWEEN_VARIANCE).partition("; ")
    # Scores have unit variance within classes, hence distances in equal units are the distances of the rule.
    return _make_figure(traces, title, [outlines, note], axis_names, yaxis={"scaleanchor": "x"})


def _strips_figure(values: Floats, rows: InteractiveRows, name: str, title: str, means: pd.Series) -> Figure:
    """Make an interactive plot of values with a line for each class, and a mark at the class mean.

    The line of the first class is at the top. The points of a class are spread over the height of its line by
    rank.

    Parameters
    ----------
    values : (n,) float array
        Value of each observation; missing ones are not drawn.
    rows : InteractiveRows
        Labels, classes and predictions of the observations.
    name : str
        Name of the values, escaped.
    title : str
        Title of the plot, escaped.
    means : Series (K,)
        Class means; missing ones are not drawn.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    classes = rows.classes
    xy = np.column_stack([values, np.full(len(values), np.nan)])
    for k in range(len(classes)):
        class_rows = np.flatnonzero(np.isfinite(values) & (rows.codes == k))
        class_rows = class_rows[np.argsort(values[class_rows], kind="stable")]
        xy[class_rows, 1] = k + 0.7 * ((np.arange(len(class_rows)) + 0.5) / max(len(class_rows), 1) - 0.5)
    traces, note = _row_traces(rows, xy, f"{name}: %{{x:.3f}}")
    marks = {"symbol": "line-ns", "size": 26, "line": {"width": 2, "color": style.ink()}}
    mean_positions = np.column_stack([means, np.arange(len(means))])
    traces.append(
        _point_trace(mean_positions) | {"marker": marks, "hovertemplate": "mean: %{x:.3f}<extra></extra>"}
    )
    ticks = {
        "tickvals": list(range(len(classes))),
        "ticktext": [_escape_label(label, 18) for label in classes],
    }
    lines = ticks | {"range": [len(classes) - 0.4, -0.6], "showgrid": False}
    return _make_figure(traces, title, [note], (name, ""), yaxis=lines, showlegend=False)


def posteriors_figure(proba: pd.DataFrame, rows: InteractiveRows) -> Figure:
    """Make an interactive plot of the posterior of each row's actual class, by class.

    Parameters
    ----------
    proba : DataFrame (n, K)
        Posteriors; the columns are the classes.
    rows : InteractiveRows
        Labels, classes and predictions of the observations.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    own_posteriors = np.where(
        rows.codes < 0, np.nan, style.to_floats(proba)[np.arange(len(proba)), rows.codes]
    )
    name = "Posterior probability of the actual class"
    return _strips_figure(own_posteriors, rows, name, "Posteriors", pd.Series(np.nan, proba.columns))


def plane_figure(
    classify: Classify,
    limits: tuple[tuple[float, float], ...],
    names: tuple[Any, Any],
    points: Floats,
    rows: InteractiveRows,
    posteriors: Callable[[Floats], Floats] | None,
    title: str,
    draw: Callable[[Axes], None],
    *,
    is_faint: bool,
) -> Figure:
    """Make an interactive plot of the regions of the classes in the plane of two variables.

    Parameters
    ----------
    classify : callable
        Function from points (m, 2) to codes (m,), -1 for none.
    limits : tuple of (float, float)
        Horizontal and vertical limits of the axes.
    names : tuple of str
        Names of the variables in plain text.
    points : (n, 2) float array
        Coordinates of the rows; rows with missing ones are not drawn.
    rows : InteractiveRows
        Labels, classes and predictions of the observations.
    posteriors : callable or None
        Function from points (m, 2) to posteriors (m, K), for tooltips of locations if there are at most
        `MAX_TOOLTIP_CLASSES` classes; None for no such tooltips.
    title : str
        Title of the plot in plain text; lines after the first become the subtitle.
    draw : callable
        Function that draws lines and contours of the model on axes of matplotlib; they become traces.
    is_faint : bool
        Whether rows are drawn faintly, because they do not lie in the plane.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    classes, (x_grid, y_grid) = rows.classes, (np.linspace(*ends, COARSE_GRID_POINTS) for ends in limits)
    regions = find_regions(classify, x_grid, y_grid, PlaneRows(points, rows.codes))
    axis_names = (_escape_label(names[0]), _escape_label(names[1]))
    location_template = f"{axis_names[0]} %{{x:.4~g}}, {axis_names[1]} %{{y:.4~g}}"
    lines = np.concatenate([regions.segments, np.full((len(regions.segments), 1, 2), np.nan)], axis=1)
    traces = [
        _class_heatmap(regions.cell_codes, x_grid, y_grid, rows, are_cells=True) | {"hoverinfo": "skip"}
    ]
    if posteriors is not None and len(classes) <= MAX_TOOLTIP_CLASSES:
        grid = np.stack(np.meshgrid(x_grid, y_grid), axis=-1)
        grid_posteriors = np.asarray(posteriors(grid.reshape(-1, 2)), dtype=np.float32).reshape(
            COARSE_GRID_POINTS, COARSE_GRID_POINTS, -1
        )
        tooltip = "<br>".join(
            f"{_escape_label(label)} %{{customdata[{k}]:.3f}}" for k, label in enumerate(classes)
        )
        hover_options = {
            "opacity": 0.0,
            "customdata": grid_posteriors,
            "hovertemplate": f"{location_template}<br>{tooltip}<extra></extra>",
        }
        traces.append(_class_heatmap(regions.codes, x_grid, y_grid, rows, are_cells=False) | hover_options)
    traces.append(_line_trace(lines.reshape(-1, 2), {"color": style.faint_ink(0.35), "width": 1}))
    point_traces, note = _row_traces(rows, points, location_template, opacity=0.4 if is_faint else 0.75)
    first, *subtitle_lines = [_escape_label(line, 200) for line in title.split("\n")]
    xaxis, yaxis = ({"range": list(ends), "showgrid": False} for ends in limits)
    traces += [*point_traces, *_traces_from_axes(draw, limits)]
    return _make_figure(traces, first, [*subtitle_lines, note], axis_names, xaxis=xaxis, yaxis=yaxis)


def _traces_from_axes(draw: Callable[[Axes], None], limits: Sequence[tuple[float, float]]) -> list[Trace]:
    """Convert the lines, markers and contours that `draw` adds to matplotlib axes with `limits` to traces.

    A line of one point becomes a marker of a class mean.
    """
    from matplotlib.colors import to_hex
    from matplotlib.figure import Figure as MatplotlibFigure

    axes = MatplotlibFigure().add_subplot(xlim=limits[0], ylim=limits[1])
    traces = []
    draw(axes)
    for line in axes.lines:
        xy = np.column_stack(line.get_data())
        dash = DASHES.get(str(line.get_linestyle()), "solid")
        line_style = {"color": str(line.get_color()), "dash": dash, "width": 1.6}
        # A line of one point is the marker of a mean.
        traces.append(
            _line_trace(xy, line_style)
            | ({"mode": "markers", "marker": _mean_marker()} if len(xy) == 1 else {})
        )
    for contour in axes.collections:
        line_style = {"color": to_hex(np.atleast_2d(contour.get_edgecolor())[0].tolist()), "width": 1.6}
        polygons = [
            polygon for path in contour.get_paths() for polygon in path.to_polygons(closed_only=False)
        ]
        traces += [_line_trace(np.asarray(polygon), line_style) for polygon in polygons]
    return traces


def _class_heatmap(
    codes: Codes, x_grid: Floats, y_grid: Floats, rows: InteractiveRows, *, are_cells: bool
) -> Trace:
    """Make a heat map of classes.

    Parameters
    ----------
    codes : (h, g) int array
        Classes of cells that fill the plane, or of the points of a grid that ends at its sides, -1 for none,
        which is transparent; the first row is the lowest.
    x_grid, y_grid : float arrays
        Coordinates of the grid, of which only the first and last are used.
    rows : InteractiveRows
        Rows with the classes and their colours.
    are_cells : bool
        Whether `codes` are classes of cells.

    Returns
    -------
    dict
    """
    (h, g), k_classes = codes.shape, len(rows.classes)
    dx = np.ptp(x_grid) / (g - 1 + are_cells)
    dy = np.ptp(y_grid) / (h - 1 + are_cells)
    grid_position = {
        "x0": x_grid[0] + dx / 2 * are_cells,
        "dx": dx,
        "y0": y_grid[0] + dy / 2 * are_cells,
        "dy": dy,
    }
    scale = [[0.0, "rgba(0,0,0,0)"], [1 / (k_classes + 1), "rgba(0,0,0,0)"]]
    for k in range(k_classes):
        scale += [[(k + 1 + end) / (k_classes + 1), rows.signs.colour(k)] for end in (0, 1)]
    colour_options = {
        "zmin": -1.5,
        "zmax": k_classes - 0.5,
        "colorscale": scale,
        "showscale": False,
        "opacity": 0.18,
    }
    return {"type": "heatmap", "z": codes.astype(np.int8)} | grid_position | colour_options


def pairs_figure(
    means: pd.DataFrame,
    covariances: Mapping[Any, pd.DataFrame],
    radius: float,
    points: pd.DataFrame | None,
    rows: InteractiveRows,
    title: str,
) -> Figure:
    """Make a matrix of interactive scatter plots; rows selected in one panel are selected in all.

    There are panels below the diagonal only.

    Parameters
    ----------
    means : DataFrame (K, p)
        Means of the p variables by class.
    covariances : mapping of label to DataFrame (p, p)
        Class covariances; classes without one are drawn without an outline.
    radius : float
        Mahalanobis distance, not squared, of the outlines in the plane of two variables.
    points : DataFrame (n, p) or None
        Values of the variables; None for outlines only, with n = 0 in `rows`.
    rows : InteractiveRows
        Labels, classes and predictions of the observations.
    title : str
        Title of the plot, which is inserted as it is; the text after the first "; " becomes the subtitle.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    names = [_escape_label(name, 18) for name in means]
    p = means.shape[1]
    xy = np.empty((0, p)) if points is None else style.to_floats(points)
    centres = style.to_floats(means)

    def panels(coordinates: Floats) -> Trace:
        """Make a trace of observations (m, p) in all panels."""
        dimensions = [
            {"label": name, "values": values} for name, values in zip(names, coordinates.T, strict=True)
        ]
        return {
            "type": "splom",
            "dimensions": dimensions,
            "diagonal": {"visible": False},
            "showupperhalf": False,
        }

    location_template = "%{xaxis.title.text} %{x:.4~g}<br>%{yaxis.title.text} %{y:.4~g}"
    traces, note = _row_traces(rows, xy, location_template, make_trace=panels)
    for (j, i), (k, label) in product(combinations(range(p), 2), enumerate(means.index)):
        if label in covariances:
            pair_cov = style.to_floats(covariances[label])[np.ix_([j, i], [j, i])]
            trace_options = {"legendgroup": str(k), "xaxis": f"x{j + 1}", "yaxis": f"y{i + 1}"}
            traces.append(
                _line_trace(
                    outline(centres[k, [j, i]], pair_cov, radius),
                    _outline_style(rows.signs, k),
                    **trace_options,
                )
            )
    first, _, below = title.partition("; ")
    return _make_figure(traces, first, [below, note], dragmode="select", height=max(540, 150 * p))


def simplex_figure(posteriors: pd.DataFrame, rows: InteractiveRows, note: str) -> Figure:
    """Make an interactive plot of the posteriors of three classes in a triangle.

    Parameters
    ----------
    posteriors : DataFrame (n, 3)
        Posteriors; the columns are the classes.
    rows : InteractiveRows
        Labels, classes and predictions of the observations.
    note : str
        Line below the title, which is inserted as it is; empty for none.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    coordinates = style.to_floats(posteriors) @ CORNERS
    centre = CORNERS.mean(axis=0)
    traces = [_line_trace(np.vstack([CORNERS, CORNERS[:1]]), {"color": style.ink(), "width": 1.4})]
    for corner in CORNERS:
        half = np.vstack([centre, (CORNERS.sum(axis=0) - corner) / 2])
        traces.append(_line_trace(half, {"color": style.faint_ink(0.45), "width": 1, "dash": "dash"}))
    point_traces, point_note = _row_traces(rows, coordinates, "")
    corners = [
        {"x": x, "y": y, "text": f"<b>{_escape_label(label, 18)}</b>", "showarrow": False, "yshift": shift}
        for (x, y), label, shift in zip(CORNERS.tolist(), posteriors, (-16, -16, 16), strict=True)
    ]
    sides: Any = {"xaxis": {"visible": False}, "yaxis": {"visible": False, "scaleanchor": "x"}}
    title = "Posteriors of three classes"
    return _make_figure([*traces, *point_traces], title, [note, point_note], annotations=corners, **sides)
