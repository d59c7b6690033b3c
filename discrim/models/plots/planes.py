"""Plots "regions" and "partition": predicted classes in the plane of two columns of the table.

"regions" draws a section of the fit, with the other columns fixed, regressed on the drawn ones or integrated
out; "partition" fits the model again to each pair of columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.rules.rules import Rule, best_class, posteriors
from discrim.errors import CollinearError, DataError, DiscrimWarning, NotSupportedError, SeparationError
from discrim.models.base.fit import AS_FITTED, MissingPolicy
from discrim.models.base.reading import format_argument, is_number, join_labels
from discrim.models.base.scores import Decision, predict_codes, transform_scores
from discrim.models.plots.plottable import (
    check_columns_option,
    describe_selection,
    has_numeric_ranges,
    has_ridge,
    hover_data,
    numeric_columns,
    numeric_terms,
    plot,
    require_rows_to_draw,
    rows_to_draw,
    select_separating_columns,
)
from discrim.models.plots.spaces import class_outlines, outline_coverage
from discrim.report.plots.bars import create_triangle, finish_triangle
from discrim.report.plots.interactive import plane_figure
from discrim.report.plots.planes import (
    PlaneRows,
    draw_along_variable,
    draw_contours,
    draw_plane,
    range_with_margin,
)
from discrim.report.plots.points import hollow_description

if TYPE_CHECKING:
    from discrim.core.moments.moments import ClassMoments
    from discrim.data.table import Table
    from discrim.design.design_rows import DesignRows
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.plottable import PlotOptions, PlottedRows
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes, Signs

Limits = tuple[float, float]

MAX_LISTED_VALUES = 5
"""Largest number of columns whose fixed values a title lists."""


@dataclass(frozen=True, slots=True)
class PlaneSection:
    """Section of the space of columns that is drawn: the columns of the axes, and the values of the others.

    The user may fix other columns. If the model has densities, the remaining columns are integrated out.
    Otherwise the remaining numeric columns are predicted from the drawn columns, by linear regression over
    all rows, and categories are fixed at their most frequent level; without rows, numeric columns are fixed
    at their mean.

    Attributes
    ----------
    fit : FittedModel
    rows : PlottedRows or None
        Rows to draw.
    columns : tuple of str
        Columns of the axes; for more than two, one plane for each pair.
    fixed : dict of str to object
        Value of each column that is not drawn, None to integrate it out. For more than two drawn columns it
        also has these, because a plane draws two of them only.
    user_values : dict of str to object
        Values that the user passed in `at=`, by column.
    numeric_names : tuple of str
        All columns that the formula reads as numbers.
    regresses : bool
        Whether numeric columns are predicted from the drawn ones.
    selection : str
        Phrase for the title on how the columns were chosen; empty if the user chose them.
    plane_fit : FittedModel, optional
        The fit whose regions are drawn, such as one with fewer rows (`ModelSpec.fit_for_planes`); None for
        `fit`.
    sample : str
        Phrase for the title on how it differs from `fit`; empty if it does not.
    """

    fit: FittedModel[Any]
    rows: PlottedRows | None
    columns: tuple[str, ...]
    fixed: dict[str, Any]
    user_values: dict[str, Any]
    numeric_names: tuple[str, ...]
    regresses: bool = False
    selection: str = ""
    plane_fit: FittedModel[Any] | None = None
    sample: str = ""

    def points_table(self, names: Sequence[str], points: Floats, fixed: Mapping[str, Any]) -> pd.DataFrame:
        """Return a table of points in a plane, with the values of the other columns that `fixed` names.

        Parameters
        ----------
        names : sequence of str
            Columns that vary.
        points : (m, len(names)) float
            Their values.
        fixed : mapping of str to object
            Constant values of other columns; None is missing.

        Returns
        -------
        DataFrame of m rows
            Columns `names` and the columns of `fixed`.
        """
        values: dict[str, Any] = dict(zip(names, points.T, strict=True))
        numeric_names = {*self.numeric_names, *self.fit.design_rows.design.boolean_columns}
        for name, value in fixed.items():
            value = np.nan if value is None and name in numeric_names else value
            # From an array pandas infers the dtype without looking at each value.
            values[name] = np.full(len(points), value) if is_number(value) else [value] * len(points)
        return pd.DataFrame(values, copy=False)

    def is_off_plane(self, names: Sequence[str]) -> bool:
        """Return whether some other column than the drawn ones, `names`, has a fixed value.

        Rows may then lie outside the plane that is drawn. Columns that are predicted from the drawn ones do
        not count.
        """
        regressed_names = self.regressed_columns(names)
        return any(
            value is not None
            for name, value in self.other_values(names).items()
            if name not in regressed_names
        )

    def regressed_columns(self, names: Sequence[str]) -> list[str]:
        """Return the numeric columns that are predicted from the drawn columns `names`, possibly empty.

        Columns that the user fixed are not among them.
        """
        others = self.other_values(names) if self.regresses else {}
        return [name for name in others if name in self.numeric_names and name not in self.user_values]

    def fit_regression(self, names: Sequence[str]) -> Callable[[Floats], Floats]:
        """Regress the other numeric columns on the drawn ones, by least squares with frequency weights.

        Parameters
        ----------
        names : sequence of str
            Columns that are drawn.

        Returns
        -------
        callable
            Function of points (m, len(names)) that returns the q columns of `regressed_columns` (m, q),
            clipped to their ranges. Without rows or such columns q is 0.
        """
        regressed_names = self.regressed_columns(names)
        if self.rows is None or not regressed_names:
            return lambda points: np.empty((len(points), 0))
        xy = _numeric_values(self.rows.design_rows.table, [*names, *regressed_names])
        weights = self.rows.weights
        used = np.isfinite(xy).all(axis=1) & (weights > 0)
        x = xy[used, : len(names)]
        y = xy[used, len(names) :]
        proportions = weights[used] / weights[used].sum()
        mean_x = proportions @ x
        mean_y = proportions @ y
        root_proportions = np.sqrt(proportions)[:, None]
        slopes = np.linalg.lstsq(
            root_proportions * (x - mean_x), root_proportions * (y - mean_y), rcond=None
        )[0]
        low, high = y.min(axis=0), y.max(axis=0)
        return lambda points: np.clip(mean_y + (points - mean_x) @ slopes, low, high)

    def other_values(self, names: Sequence[str]) -> dict[str, Any]:
        """Return `fixed` without the drawn columns `names`."""
        return {name: value for name, value in self.fixed.items() if name not in names}

    def evaluate(
        self, names: Sequence[str], evaluate_table: Callable[[pd.DataFrame], Any]
    ) -> Callable[[Floats], Any]:
        """Return a function of points (m, len(names)) that evaluates a function of the table at these points.

        The other columns have the values of `fixed`, or are predicted from the drawn ones
        (`fit_regression`). Warnings of this package are ignored.

        Parameters
        ----------
        names : sequence of str
            Columns that are drawn.
        evaluate_table : callable
            Function of a DataFrame of m rows with the columns of the formula, fixed and regressed ones
            included.

        Returns
        -------
        callable
            Function of points that returns the value of `evaluate_table` for their table.
        """
        predict_columns = self.fit_regression(names)
        regressed_names = self.regressed_columns(names)
        fixed = {
            name: value for name, value in self.other_values(names).items() if name not in regressed_names
        }

        def values(points: Floats) -> Any:
            """Return `evaluate_table` of the m points (m, len(names)), completed by the other columns."""
            table = self.points_table(
                [*names, *regressed_names], np.column_stack([points, predict_columns(points)]), fixed
            )
            with warnings.catch_warnings():
                # Warnings about rows do not apply to the points of a grid.
                warnings.simplefilter("ignore", DiscrimWarning)
                return evaluate_table(table)

        return values

    def read_points(self, table: pd.DataFrame) -> DesignRows:
        """Convert a table of points to new rows of the fit.

        Missing values are integrated out if some value of `fixed` is None; otherwise they are treated as in
        the fit.
        """
        integrates = any(value is None for value in self.fixed.values())
        return self.fit.new_rows(table, MissingPolicy(missing="integrate") if integrates else AS_FITTED)

    def classify(self, names: Sequence[str]) -> Callable[[Floats], Codes]:
        """Return a function of points (m, len(names)) that predicts their classes (m,), -1 if missing.

        The other columns have the values of `evaluate`.
        """
        fit = self.plane_fit or self.fit
        return self.evaluate(names, lambda table: fit.predict_codes(self.read_points(table)))

    def points(self, names: Sequence[str]) -> tuple[Floats, Codes]:
        """Return the coordinates (n, len(names)) of the rows and their classes (n,), -1 if missing.

        Without rows both are empty (n = 0).
        """
        if self.rows is None:
            return np.empty((0, len(names))), np.empty(0, dtype=np.intp)
        return _numeric_values(self.rows.design_rows.table, names), self.rows.codes

    def limits(self, names: Sequence[str]) -> tuple[Limits, ...]:
        """Return the limits (low, high) of the axes: the range of each column, with a margin if possible.

        The margin is omitted if predicting the corners raises DataError, for example because of a logarithm;
        only a column with a single value then has an upper limit above it.
        """
        ranges = [self._range(name) for name in names]
        limits_with_margin = tuple(range_with_margin(*ends) for ends in ranges)
        corners = np.array(np.meshgrid(*limits_with_margin)).reshape(len(names), -1).T
        try:
            self.classify(names)(corners)
        except DataError:
            # Outside the range of the rows a logarithm or a spline may be undefined.
            return tuple(
                (low, high if high > low else range_with_margin(low, low)[1]) for low, high in ranges
            )
        return limits_with_margin

    def _range(self, name: str) -> Limits:
        """Return the range of a column in the labelled rows, or without rows class means -/+ 3 pooled SDs.

        Raises DataError if no row has a finite value, and NotSupportedError if the range is unknown without
        rows.
        """
        if self.rows is not None:
            values, codes = self.points([name])
            finite = values[np.isfinite(values[:, 0]) & ((codes >= 0) | (codes < 0).all()), 0]
            if not len(finite):
                raise DataError(f"No row has a finite number in {name!r}.", hint="Pass other rows as data=.")
            return float(finite.min()), float(finite.max())
        means, sd = _class_means_and_sd(self.fit, name)
        return float((means - 3 * sd).min()), float((means + 3 * sd).max())


def _numeric_values(table: Table, names: Sequence[str]) -> Floats:
    """Return columns (n, len(names)) of a table as float64, NaN if missing; text raises DataError."""
    out = np.empty((table.nrows, len(names)))
    table.fill(list(names), 0, table.nrows, out)
    return out


def _class_means_and_sd(fit: FittedModel[Any], name: str) -> tuple[Floats, float]:
    """Return the means (k,) of a column in the k classes with rows, and its pooled within-class SD.

    They are in the units of the data. Raises NotSupportedError if the column is not a term of the fit.
    """
    if name not in fit.terms:
        raise NotSupportedError(
            f"The range of column {name!r}, which the formula transforms, is unknown without the rows.",
            hint="Pass rows as data=.",
            columns=(name,),
        )
    estimates: Any = fit.estimates
    column_moments: ClassMoments = estimates.moments.select_columns(np.array([list(fit.terms).index(name)]))
    has_rows = column_moments.counts > 0
    df = max(column_moments.total - np.count_nonzero(has_rows), 1.0)
    return column_moments.class_means[has_rows, 0], float(
        np.sqrt(column_moments.squares.sum() / df) / column_moments.scale[0]
    )


MAX_COLUMNS = 6
"""Largest number of columns in a matrix of planes."""


def read_section(fit: FittedModel[Any], options: PlotOptions) -> PlaneSection:
    """Choose the columns of the axes and the values of the other columns from the options of a plot.

    The columns are `options.columns`, or the two that separate the classes best (one if there is only one).
    `options.at` fixes other columns. If the model can integrate the remaining ones out, they are None in
    `fixed`, otherwise their mean or most frequent level.

    Raises DataError if a column is not numeric or named twice, or a value is not valid, and NotSupportedError
    if the formula lacks a numeric column.
    """
    numeric_names = numeric_columns(fit.design_rows.design)
    if not numeric_names:
        raise NotSupportedError(
            f"kind='regions' requires a numeric column, and the formula {fit.formula!r} has none.",
            hint="Use another kind of plot.",
        )
    if options.columns is None:
        names = tuple(
            select_separating_columns(
                fit, options, candidate_columns(options, numeric_names), by_model_covariances=True
            )
        )
    else:
        names = tuple(check_columns_option(options, numeric_names, "regions", 1, MAX_COLUMNS))
    rows = rows_to_draw(fit, options)
    user_values = read_at_option(options, fit.design_rows.design.columns, names, numeric_names)
    others = [name for name in fit.design_rows.design.columns if name not in names or len(names) > 2]
    integrates = fit.spec.has_marginals(fit) or fit.spec.integrates_missing
    fixed = {
        name: None if integrates and name not in user_values else user_values.get(name) for name in others
    }
    if not integrates:
        fixed |= {
            name: _typical_value(fit, rows, name, name in numeric_names)
            for name in others
            if name not in user_values
        }
    selection = (
        ""
        if len(names) < 2
        else describe_selection(options, len(numeric_names) - len(set(numeric_names) & set(user_values)))
    )
    if selection and has_ridge(fit):
        selection += " under the ridge-regularized covariances"
    return PlaneSection(
        fit,
        rows,
        names,
        fixed,
        user_values,
        tuple(numeric_names),
        rows is not None and not integrates,
        selection,
        *fit.spec.fit_for_planes(fit),
    )


def candidate_columns(options: PlotOptions, candidates: Sequence[str]) -> list[str]:
    """Return the candidate columns that `at=` does not fix, or all candidates if fewer than two remain."""
    fixed = set(options.at.keys()) if isinstance(options.at, Mapping | pd.Series) else set[str]()
    remaining = [name for name in candidates if name not in fixed]
    return remaining if len(remaining) > 1 else list(candidates)


def read_at_option(
    options: PlotOptions, columns: Sequence[str], drawn: Sequence[str], numeric: Sequence[str]
) -> dict[str, Any]:
    """Return the values in `at=`, by column; empty if it was not passed.

    Raises DataError if a column is not in the formula, if one of at most two drawn columns is fixed, or if a
    value is missing or not a finite number in a numeric column.

    Parameters
    ----------
    options : PlotOptions
    columns : sequence of str
        Columns that the formula reads.
    drawn : sequence of str
        Columns that are drawn.
    numeric : sequence of str
        Columns that the formula reads as numbers.
    """
    if options.at is None:
        return {}
    values = options.at.to_dict() if isinstance(options.at, pd.Series) else options.at
    if not isinstance(values, Mapping):
        raise DataError(
            f"at={format_argument(options.at)} is not valid.",
            hint="Pass a dict of columns and their fixed values, such as at={'c': 3.0}.",
        )
    for name, value in values.items():
        if name not in columns:
            raise DataError(
                f"Unknown column {format_argument(name)} in at=.",
                hint=f"The columns of the formula are {join_labels(columns)}.",
                columns=(name,),
            )
        if name in drawn and len(drawn) <= 2:
            raise DataError(
                f"Column {name!r} in at= is drawn and cannot be fixed.",
                hint="Fix other columns.",
                columns=(name,),
            )
        if not np.ndim(value) and pd.isna(value):
            raise DataError(
                f"Column {name!r} has a missing value in at=.",
                hint="Pass another value, or leave the column out.",
                columns=(name,),
            )
        if name in numeric and not (is_number(value) and np.isfinite(value)):
            raise DataError(
                f"Column {name!r} has the value {format_argument(value)} in at=.",
                hint="Pass a finite number.",
                columns=(name,),
            )
    return dict(values)


def _typical_value(fit: FittedModel[Any], rows: PlottedRows | None, name: str, numeric: bool) -> Any:
    """Return the weighted mean of a numeric column, or the most frequent level of another.

    Rows without a class are left out, unless all are.

    Raises DataError if all values are missing, and NotSupportedError if the value is unknown without rows.

    Parameters
    ----------
    fit : FittedModel
    rows : PlottedRows or None
        Rows to average over; None for the moments of the fit.
    name : str
        Name of the column.
    numeric : bool
        Whether the formula reads the column as a number.
    """
    if rows is None:
        if not numeric:
            raise NotSupportedError(
                f"The most frequent level of column {name!r} is unknown without the rows.",
                hint=f"Pass a level, such as at={{{name!r}: ...}}.",
                columns=(name,),
            )
        means, _ = _class_means_and_sd(fit, name)
        counts = np.asarray(fit.counts)[np.asarray(fit.counts) > 0]
        return float(counts @ means / counts.sum())
    column = rows.design_rows.table.column(name)
    weights = rows.weights
    used = column.notna().to_numpy() & (weights > 0)
    if (rows.codes >= 0).any():
        used &= rows.codes >= 0
    if not used.any():
        raise DataError(
            f"Column {name!r} has only missing values.",
            hint=f"Pass a value, such as at={{{name!r}: ...}}.",
            columns=(name,),
        )
    if numeric:
        return float(
            np.average(_numeric_values(rows.design_rows.table, [name])[used, 0], weights=weights[used])
        )
    # As objects, levels keep their types; ties are resolved in favour of the first level.
    sums = pd.Series(weights[used]).groupby(column[used].astype(object).to_numpy()).sum()
    return sums.index[int(np.argmax(sums.to_numpy()))]


def describe_fixed_columns(section: PlaneSection, names: Sequence[str]) -> str:
    """Describe for a title how the drawn columns were chosen, and the values of the others.

    The clauses state which columns are integrated out, regressed on the drawn ones, or fixed. The result is
    empty if the user chose the columns and all are drawn. `names` are the drawn columns; empty for a
    description of all panels of a matrix.
    """
    others = section.other_values(names)
    regressed_names = section.regressed_columns(names)
    integrated = [name for name, value in others.items() if value is None]
    fixed_names = [name for name in others if name not in integrated and name not in regressed_names]
    clauses = [section.selection] if section.selection else []
    others_text = "others" if len(others) > 1 else next(iter(others), "")
    if integrated:
        clauses.append(
            f"{others_text if len(integrated) == len(others) else join_labels(integrated, max_labels=2)} "
            "integrated out"
        )
    if regressed_names:
        regressed_noun = "other numbers" if len(regressed_names) > 1 else regressed_names[0]
        regressed_text = others_text if len(regressed_names) == len(others) else regressed_noun
        clauses.append(f"{regressed_text} regressed on {'it' if len(names) == 1 else 'these'}")
    if fixed_names:
        order = sorted(fixed_names, key=lambda name: name not in section.user_values)
        values = {name: others[name] for name in order[:MAX_LISTED_VALUES]}
        value_texts = [
            f"{name} = {value:{'.4g' if is_number(value) else ''}}" for name, value in values.items()
        ]
        more = (
            f" and {len(fixed_names) - MAX_LISTED_VALUES} more"
            if len(fixed_names) > MAX_LISTED_VALUES
            else ""
        )
        clauses.append(f"fixed: {', '.join(value_texts)}{more}")
    return "; ".join([*clauses, section.sample] if section.sample else clauses)


TITLE = "Regions of the predicted classes"
"""First line of the title of a plane."""


@plot(
    "regions",
    "regions of the classes in the plane of two columns, or of each pair of several, with class outlines",
    used_options=("columns", "at", "interactive"),
    default_if=has_numeric_ranges,
)
def regions(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes | Figure:
    """Regions of the predicted classes in the plane of two columns, or of each pair of several columns.

    Outlines of the class densities or lines of equal posteriors are added, depending on the model. For one
    column the posteriors are drawn along it. A matrix of planes returns its outer axes. Only two columns can
    be `interactive`; DataError is raised for other numbers. An isolated region narrower than about 3 % of the
    axes may be missing, for example around one observation of `knn` with k=1.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `columns` are the axes, `at` are values of other columns, and `data` are new rows to draw.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.qda("species ~ .", discrim.datasets.load_iris())
    >>> at = {"sepal_length": 6.0, "sepal_width": 3.0}
    >>> fit.plot("regions", columns=("petal_length", "petal_width"), at=at).get_xlabel()
    'petal_length'
    """
    section = read_section(fit, options)
    if options.interactive and len(section.columns) != 2:
        raise DataError(
            "interactive=True requires two numeric columns.",
            hint="Name two columns, or leave out interactive=.",
        )
    if len(section.columns) == 1:
        return _draw_along_column(section, options)
    if len(section.columns) > 2:
        return _draw_plane_matrix(results, section, options)
    return draw_section(section, options, results=results)


def draw_section(
    section: PlaneSection, options: PlotOptions, title: str = TITLE, results: Any = None
) -> Axes | Figure:
    """Draw the plane of two columns with outlines of the model.

    Parameters
    ----------
    section : PlaneSection
        Its first two columns are drawn.
    options : PlotOptions
        `ax`, `colors` and `interactive` are used; the section has the rest.
    title : str
        First line of the title.
    results : ClassifierResults, optional
        Results whose outlines are drawn; None for regions only.

    Returns
    -------
    Axes or plotly.graph_objects.Figure
        A figure if `options.interactive` is set.
    """
    names = (section.columns[0], section.columns[1])
    fixed_text = describe_fixed_columns(section, names)
    signs = options.signs(list(section.fit.classes))
    draw, outline_text = _outlines(results, section, names, signs)
    title = title + outline_text + (f"\n{fixed_text}" if fixed_text else "")
    if options.interactive:
        return _interactive_plane(section, names, options, title, draw)
    axes = _draw_plane(section, names, ax=options.ax, signs=signs, title=title)
    draw(axes)
    return axes


def _draw_plane(section: PlaneSection, names: tuple[str, str], **style_options: Any) -> Axes:
    """Draw the regions and rows in the plane of two columns with matplotlib, without outlines.

    Rows are faint if a column that is not drawn has a fixed value (`PlaneSection.is_off_plane`).
    `style_options` are the keyword arguments `ax`, `signs`, `title` and `is_panel` of `draw_plane`. Returns
    the axes.
    """
    points, codes = section.points(names)
    x_limits, y_limits = section.limits(names)
    rows = PlaneRows(points, codes, is_faint=section.is_off_plane(names))
    return draw_plane(
        section.classify(names), (x_limits, y_limits), names, rows, list(section.fit.classes), **style_options
    )


def _interactive_plane(
    section: PlaneSection, names: tuple[str, str], options: PlotOptions, title: str, draw: DrawFunction
) -> Figure:
    """Draw the regions and rows in the plane of two columns with plotly.

    Tooltips show the posteriors at the position of the pointer, if the model has posteriors. Rows are faint
    if a column that is not drawn has a fixed value, from which the rows may differ
    (`PlaneSection.is_off_plane`).

    Parameters
    ----------
    section : PlaneSection
    names : (str, str)
        Columns of the axes.
    options : PlotOptions
    title : str
        Title of the plot.
    draw : callable
        Function that draws the outlines of the model on axes of matplotlib; they become traces of the figure.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    fit = section.fit
    evaluate_posteriors = (
        section.evaluate(names, lambda table: _posteriors_or_scores(section, table))
        if fit.has_posteriors
        else None
    )
    points = section.points(names)[0]
    rows = hover_data(fit, section.rows, options)
    plane_arguments = section.classify(names), section.limits(names), names
    return plane_figure(
        *plane_arguments, points, rows, evaluate_posteriors, title, draw, is_faint=section.is_off_plane(names)
    )


def _draw_plane_matrix(results: Any, section: PlaneSection, options: PlotOptions) -> Axes:
    """Draw the planes of all pairs of columns below the diagonal of a matrix.

    Parameters
    ----------
    results : ClassifierResults
        Results whose outlines are drawn.
    section : PlaneSection
        `columns` are three or more.
    options : PlotOptions

    Returns
    -------
    Axes
        Outer axes, whose `child_axes` are the panels.
    """
    fit = section.fit
    columns = section.columns
    signs = options.signs(list(fit.classes))
    fixed_text = describe_fixed_columns(section, ())
    outer_axes, panels = create_triangle(options.ax, columns, list(fit.classes), signs)
    outline_text = ""
    for i, j in combinations(range(len(columns)), 2):
        names = columns[i], columns[j]
        draw, outline_text = _outlines(results, section, names, signs)
        draw(_draw_plane(section, names, ax=panels[i, j], signs=signs, title="", is_panel=True))
    title = f"{TITLE}{outline_text}" + (f"\nin each panel {fixed_text}" if fixed_text else "")
    return finish_triangle(outer_axes, panels, title)


CONTOUR_PROBABILITY = 0.9
"""Posterior probability of a class at its contour, for models of the posteriors only."""

DrawFunction = Callable[["Axes"], None]
"""Function that draws on axes of matplotlib."""


def _outlines(
    results: Any, section: PlaneSection, names: tuple[str, str], signs: Signs
) -> tuple[DrawFunction, str]:
    """Return the function that draws the outlines of a model in a plane, and its description for a title.

    For models with densities the outlines are ellipses of the classes or their components, or contours that
    contain a share of each density (`outline_coverage`). For models of the posteriors only, they are lines of
    equal probability. Outlines are not drawn for other models. In planes for which other columns are fixed
    or regressed, only lines of equal probability are drawn. Without outlines the function does nothing, and
    the description is empty.

    Parameters
    ----------
    results : ClassifierResults or None
        None for no outlines.
    section : PlaneSection
    names : (str, str)
        Columns of the axes.
    signs : Signs
        Colours and line styles of the classes.
    """
    fit = section.fit
    no_outlines: tuple[DrawFunction, str] = (lambda axes: None), ""
    if results is not None and fit.likelihood_of == "class given row":
        evaluate = section.evaluate(names, lambda table: _transform_scores(section, table, posteriors))
        draw: DrawFunction = partial(draw_contours, values=evaluate, level=CONTOUR_PROBABILITY, signs=signs)
        return draw, f", lines at {100 * CONTOUR_PROBABILITY:g} %"
    if (
        results is None
        or section.is_off_plane(names)
        or section.regressed_columns(names)
        or not set(names) <= set(fit.terms)
    ):
        return no_outlines
    if fit.spec.name not in MODELS_WITH_DENSITY_CONTOURS:
        return class_outlines(results, fit, names, signs) or no_outlines
    if fit.spec.has_marginals(fit) or fit.spec.integrates_missing or len(fit.terms) == 2:
        # The prior shifts all values of a class and does not move the contour of a share of its density.
        evaluate = section.evaluate(names, lambda table: _transform_scores(section, table, np.asarray))
        coverage = outline_coverage(fit)
        draw = partial(draw_contours, values=evaluate, proportion=coverage, signs=signs)
        return draw, f", {100 * coverage:g} % of each density"
    return no_outlines


MODELS_WITH_DENSITY_CONTOURS = ("kernel_density", "naive_bayes")
"""Models whose class densities are not elliptical and are drawn by contours."""


def _draw_along_column(section: PlaneSection, options: PlotOptions) -> Axes:
    """Draw the posteriors of the classes along the only drawn column, with the regions and the rows.

    For a model without posteriors the scores of the rule are drawn.
    """
    fit = section.fit
    name = section.columns[0]
    ((low, high),) = section.limits([name])
    grid = np.linspace(low, high, 801)
    has_posteriors = fit.has_posteriors
    points, codes = section.points([name])
    fixed_text = describe_fixed_columns(section, [name])
    title = (
        f"Regions of the predicted classes, and {'posteriors' if has_posteriors else 'scores of the rule'}"
    )
    return draw_along_variable(
        grid,
        section.evaluate([name], lambda table: _posteriors_or_scores(section, table))(grid[:, None]),
        section.classify([name])(grid[:, None]),
        (name, "Posterior probability" if has_posteriors else "Score of the rule"),
        points[:, 0],
        codes,
        list(fit.classes),
        ax=options.ax,
        signs=options.signs(list(fit.classes)),
        title=f"{title}\n{fixed_text}" if fixed_text else title,
    )


def _posteriors_or_scores(section: PlaneSection, table: pd.DataFrame) -> Floats:
    """Return posteriors (m, K) of the m rows of a table, or scores of the rule for a model without them."""
    return _transform_scores(section, table, posteriors if section.fit.has_posteriors else np.asarray)


def _transform_scores(
    section: PlaneSection, table: pd.DataFrame, finish: Callable[[Floats], Floats]
) -> Floats:
    """Compute the scores of the points in a table, and return a transform of them.

    Parameters
    ----------
    section : PlaneSection
    table : DataFrame
        Points of m rows.
    finish : callable
        Function of scores (m, K), such as `posteriors`, that returns values (m, K).

    Returns
    -------
    (m, K) float
        Values of `finish`.
    """
    fit = section.plane_fit or section.fit
    design_rows = section.read_points(table)
    return transform_scores(design_rows, fit.rule_for(design_rows), len(fit.classes), finish)


N_DEFAULT_PARTITION_COLUMNS = 4
MAX_PARTITION_COLUMNS = 6
"""Number of columns that are drawn by default, and the largest number that can be drawn."""


@plot(
    "partition",
    "regions of fits to each pair of columns alone, with their error rates",
    used_options=("columns",),
    refits=True,
)
def partition(results: Any, fit: FittedModel[Any], options: PlotOptions) -> Axes:
    """Regions of fits to two columns only, a panel for each pair, with their error rates.

    The model is fitted again to each pair, with the prior and options of the fit, like partimat of the R
    package klaR; parameters that the rows chose are fixed. The error rate is computed on the drawn rows: it
    is the apparent error rate unless the rows are new. A panel without axes stands for a pair to which the
    model cannot be fitted. Returns the outer axes.

    Parameters
    ----------
    results : ClassifierResults
    fit : FittedModel
    options : PlotOptions
        `columns` are the terms of the panels; `data` are new rows to draw and to predict.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> outer = fit.plot("partition", columns=("sepal_length", "petal_length", "petal_width"))
    >>> [panel.get_title() for panel in outer.child_axes]
    ['error rate 0.033', 'error rate 0.040', 'error rate 0.040']
    """
    design_rows = fit.require_rows('kind="partition"')
    if getattr(fit.estimates, "covariates", 0):
        fit.estimates.raise_if_covariates('kind="partition"')
    fit.require_rows_in_memory()
    names, candidates = _partition_columns(fit, design_rows, options)
    rows = require_rows_to_draw(fit, options, "partition")
    signs = options.signs(list(fit.classes))
    classes = list(fit.classes)
    error_text = "resubstitution error rates" if options.data is None else "error rates of new observations"
    is_selection = options.columns is None and len(candidates) > len(names)
    selection_text = (
        f"{describe_selection(options, len(candidates), N_DEFAULT_PARTITION_COLUMNS)} of {len(candidates)} "
        "columns; "
        if is_selection
        else ""
    )
    title = (
        f"{fit.title} of each pair alone, {error_text}\n{selection_text}hollow: "
        f"{hollow_description(len(rows.codes))}"
    )
    outer_axes, panels = create_triangle(options.ax, names, classes, signs)
    terms = list(design_rows.terms)
    x = rows.terms(names).to_numpy()
    codes = rows.codes
    for i, j in combinations(range(len(names)), 2):
        column_index = [terms.index(names[i]), terms.index(names[j])]
        rule = None
        with suppress(CollinearError, SeparationError):
            # Parameters that the rows chose stay as they are.
            rule = fit.refits.refit(
                fit,
                design_rows.select_columns(sorted(column_index)),
                fixed=bool(fit.refits.choice_description(fit)),
            )
        points = x[:, [i, j]]
        if rule is None:
            panels[i, j].set_title("no fit to these columns", fontsize="small")
            panels[i, j].set_axis_off()
            continue
        predicted = predict_codes(
            rows.design_rows.select_columns(sorted(column_index)), rule, len(classes), Decision()
        )
        wrong, rate = _misclassified(predicted, rows)
        labelled_points = points[(codes >= 0) & np.isfinite(points).all(axis=1)]
        ranges = (
            zip(labelled_points.min(axis=0), labelled_points.max(axis=0), strict=True)
            if len(labelled_points)
            else [(0.0, 1.0)] * 2
        )
        x_limits, y_limits = (range_with_margin(float(low), float(high)) for low, high in ranges)
        draw_plane(
            _panel_classifier(rule, np.argsort(column_index)),
            (x_limits, y_limits),
            (names[i], names[j]),
            PlaneRows(points, codes, wrong),
            classes,
            ax=panels[i, j],
            signs=signs,
            title=f"error rate {rate:.3f}",
            is_panel=True,
        )
    return finish_triangle(outer_axes, panels, title)


def _panel_classifier(rule: Rule, order: Codes) -> Callable[[Floats], Codes]:
    """Return a function of points (m, 2) of a panel that predicts their classes (m,).

    Parameters
    ----------
    rule : Rule
        Rule of the two columns.
    order : (2,) int
        Position of each column of the rule in the panel: 0 for horizontal, 1 for vertical.
    """
    return lambda plane: best_class(rule.scores(plane[:, order]))


def _partition_columns(
    fit: FittedModel[Any], design_rows: DesignRows, options: PlotOptions
) -> tuple[list[str], list[str]]:
    """Return the terms to draw, and all numeric terms.

    Raises NotSupportedError if fewer than two terms are numeric, and DataError if `columns` are not valid.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
        Rows of the fit.
    options : PlotOptions
        `columns` are the terms to draw; by default those that separate the classes best.

    Returns
    -------
    drawn_terms : list of str
        Terms with panels.
    numeric_terms : list of str
        Terms computed from numeric columns only, in the order of the design.
    """
    candidates = numeric_terms(design_rows.design, design_rows.terms)
    if len(candidates) < 2:
        raise NotSupportedError(
            f"kind='partition' requires two numeric columns, and this fit has {len(candidates)}.",
            hint="Use another kind of plot.",
        )
    if options.columns is None:
        return select_separating_columns(fit, options, candidates, N_DEFAULT_PARTITION_COLUMNS), candidates
    return check_columns_option(options, candidates, "partition", 2, MAX_PARTITION_COLUMNS), candidates


def _misclassified(predicted: Codes, rows: PlottedRows) -> tuple[NDArray[np.bool_], float]:
    """Return a mask (n,) of the misclassified rows and the weighted error rate.

    Rows without a class or a prediction (-1 in `predicted` (n,)) count in neither; the rate is NaN if none
    remains.
    """
    is_labelled = (predicted >= 0) & (rows.codes >= 0)
    wrong = is_labelled & (predicted != rows.codes)
    total = float(rows.weights[is_labelled].sum())
    return wrong, float(rows.weights[wrong].sum()) / total if total else np.nan
