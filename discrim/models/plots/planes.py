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
from discrim.models.base.fit import AS_FITTED, Gaps
from discrim.models.base.reading import is_number, listed, told
from discrim.models.base.scores import Decision, finished_scores, predicted_codes
from discrim.models.plots.pictured import (
    drawn_rows,
    has_numeric_ranges,
    has_ridge,
    named_columns,
    needed_rows,
    numeric_columns,
    numeric_terms,
    plot,
    pointed_rows,
    said_choice,
    telling,
)
from discrim.models.plots.spaces import outline_share, outlines_of
from discrim.report.plots.bars import draw_triangle, finish
from discrim.report.plots.interactive import plane_figure
from discrim.report.plots.planes import PlaneRows, draw_contours, draw_line, draw_plane, span
from discrim.report.plots.points import told_hollow

if TYPE_CHECKING:
    from discrim.core.moments.moments import ClassMoments
    from discrim.data.table import Table
    from discrim.design.blocks import Blocks
    from discrim.models.base.fit import FittedModel
    from discrim.models.plots.pictured import DrawnRows, PictureOptions
    from discrim.report.plots.interactive import Figure
    from discrim.report.plots.style import Axes, Signs

Limits = tuple[float, float]

MOST_TOLD = 5
"""Largest number of columns whose fixed values a title lists."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Section of a fit: the columns of the axes, and the values of the other columns.

    Other columns have values of the user. If the model has densities, the remaining columns are None and are
    integrated out. Otherwise numeric columns are predicted from the drawn columns, by linear regression over
    all rows, and categories are at their most frequent level; without rows all are at their mean or most
    frequent level.

    Attributes
    ----------
    fit : FittedModel
    rows : DrawnRows or None
        Rows to draw.
    columns : tuple of str
        Columns of the axes; for more than two, one plane for each pair.
    held : dict of str to object
        Value of each other column, None to integrate it out.
    given : dict of str to object
        Values that the user passed.
    every : tuple of str
        All columns that the formula reads as numbers.
    follow : bool
        Whether numeric columns are predicted from the drawn ones.
    choice : str
        Description of how the columns were chosen.
    """

    fit: FittedModel[Any]
    rows: DrawnRows | None
    columns: tuple[str, ...]
    held: dict[str, Any]
    given: dict[str, Any]
    every: tuple[str, ...]
    follow: bool = False
    choice: str = ""

    def table(self, names: Sequence[str], points: Floats, held: Mapping[str, Any]) -> pd.DataFrame:
        """Create a table of points in a plane.

        Parameters
        ----------
        names : sequence of str
            Columns that vary.
        points : (m, len(names)) float
            Their values.
        held : mapping of str to object
            Constant values of other columns; None is missing.

        Returns
        -------
        DataFrame of m rows
        """
        values: dict[str, Any] = dict(zip(names, points.T, strict=True))
        numbers = {*self.every, *self.fit.design_rows.design.boolean_columns}
        for name, value in held.items():
            value = np.nan if value is None and name in numbers else value
            # From an array pandas infers the dtype without looking at each value.
            values[name] = np.full(len(points), value) if is_number(value) else [value] * len(points)
        return pd.DataFrame(values, copy=False)

    def off(self, names: Sequence[str]) -> bool:
        """Return whether rows lie outside the plane, because some other column has a fixed value."""
        followers = self.followers(names)
        return any(value is not None for name, value in self.others(names).items() if name not in followers)

    def followers(self, names: Sequence[str]) -> list[str]:
        """Return the numeric columns that are predicted from the drawn columns `names`."""
        others = self.others(names) if self.follow else {}
        return [name for name in others if name in self.every and name not in self.given]

    def regressed(self, names: Sequence[str]) -> Callable[[Floats], Floats]:
        """Regress the other numeric columns on the drawn ones, by weighted least squares.

        Parameters
        ----------
        names : sequence of str
            Columns that are drawn.

        Returns
        -------
        callable
            Function of points (m, len(names)) that returns the predicted columns (m, q), clipped to their
            ranges.
        """
        followers = self.followers(names)
        if self.rows is None or not followers:
            return lambda points: np.empty((len(points), 0))
        both = _numbers(self.rows.blocks.table, [*names, *followers])
        weights = self.rows.weights
        used = np.isfinite(both).all(axis=1) & (weights > 0)
        x = both[used, : len(names)]
        y = both[used, len(names) :]
        share = weights[used] / weights[used].sum()
        mean = share @ x
        middle = share @ y
        root = np.sqrt(share)[:, None]
        slopes = np.linalg.lstsq(root * (x - mean), root * (y - middle), rcond=None)[0]
        low, high = y.min(axis=0), y.max(axis=0)
        return lambda points: np.clip(middle + (points - mean) @ slopes, low, high)

    def others(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the values of the other columns, by name."""
        return {name: value for name, value in self.held.items() if name not in names}

    def values(self, names: Sequence[str], decide: Callable[[pd.DataFrame], Any]) -> Callable[[Floats], Any]:
        """Return a function of points (m, len(names)) that evaluates a function of the table at these points.

        Parameters
        ----------
        names : sequence of str
            Columns that are drawn.
        decide : callable
            Function of a DataFrame of m rows.
        """
        follow = self.regressed(names)
        followers = self.followers(names)
        held = {name: value for name, value in self.others(names).items() if name not in followers}

        def values(points: Floats) -> Any:
            table = self.table([*names, *followers], np.column_stack([points, follow(points)]), held)
            with warnings.catch_warnings():
                # Warnings about rows do not apply to the points of a grid.
                warnings.simplefilter("ignore", DiscrimWarning)
                return decide(table)

        return values

    def read(self, table: pd.DataFrame) -> Blocks:
        """Return points as new rows of the fit, whose missing columns are integrated out."""
        gone = any(value is None for value in self.held.values())
        return self.fit.new_rows(table, Gaps(missing="integrate") if gone else AS_FITTED)

    def classify(self, names: Sequence[str]) -> Callable[[Floats], Codes]:
        """Return a function of points (m, len(names)) that predicts their classes (m,)."""
        fit = self.fit
        return self.values(names, lambda table: fit.predicted_codes(self.read(table)))

    def points(self, names: Sequence[str]) -> tuple[Floats, Codes]:
        """Return the coordinates (n, len(names)) of the rows and their classes (n,); empty without rows."""
        if self.rows is None:
            return np.empty((0, len(names))), np.empty(0, dtype=np.intp)
        return _numbers(self.rows.blocks.table, names), self.rows.codes

    def limits(self, names: Sequence[str]) -> tuple[Limits, ...]:
        """Return the range of each column, with a margin if the formula can be evaluated there."""
        bare = [self._range(name) for name in names]
        wide = tuple(span(*ends) for ends in bare)
        corners = np.array(np.meshgrid(*wide)).reshape(len(names), -1).T
        try:
            self.classify(names)(corners)
        except DataError:
            # Outside the range of the rows a logarithm or a spline may be undefined.
            return tuple((low, high if high > low else span(low, low)[1]) for low, high in bare)
        return wide

    def _range(self, name: str) -> Limits:
        """Return the range of a column in the rows, or 3 standard deviations around the class means."""
        if self.rows is not None:
            values, codes = self.points([name])
            known = values[np.isfinite(values[:, 0]) & ((codes >= 0) | (codes < 0).all()), 0]
            if not len(known):
                raise DataError(
                    f"No row has a finite number in {name!r}.", hint="Give rows that have as data=."
                )
            return float(known.min()), float(known.max())
        means, sd = _spread_of(self.fit, name)
        return float((means - 3 * sd).min()), float((means + 3 * sd).max())


def _numbers(table: Table, names: Sequence[str]) -> Floats:
    """Return columns (n, len(names)) of a table as float64; raise an error for a column of text."""
    out = np.empty((table.nrows, len(names)))
    table.fill(list(names), 0, table.nrows, out)
    return out


def _spread_of(fit: FittedModel[Any], name: str) -> tuple[Floats, float]:
    """Return the means (k,) of a column in the classes with rows, and its pooled standard deviation."""
    if name not in fit.terms:
        raise NotSupportedError(
            f"The range of column {name!r}, which the formula transforms, is not known to a fit without "
            "rows.",
            hint="Give rows as data=.",
            columns=(name,),
        )
    held: Any = fit.estimates
    own: ClassMoments = held.moments.columns(np.array([list(fit.terms).index(name)]))
    there = own.counts > 0
    freedom = max(own.total - np.count_nonzero(there), 1.0)
    return own.class_means[there, 0], float(np.sqrt(own.squares.sum() / freedom) / own.scale[0])


MOST_COLUMNS = 6
"""Largest number of columns in a matrix of planes."""


def ground_of(fit: FittedModel[Any], options: PictureOptions) -> Ground:
    """Choose the columns of the axes and the values of the other columns from the options of a plot.

    Raises DataError if a column is not numeric or named twice, or a value is not valid, and NotSupportedError
    if the formula reads columns of categories only.
    """
    every = numeric_columns(fit.design_rows.design)
    if not every:
        raise NotSupportedError(
            f"kind='regions' draws columns of numbers, and the formula {fit.formula!r} reads none.",
            hint="Choose another kind.",
        )
    if options.columns is None:
        names = tuple(telling(fit, options, free_columns(options, every), modelled=True))
    else:
        names = tuple(named_columns(options, every, "regions", 1, MOST_COLUMNS))
    rows = drawn_rows(fit, options)
    given = given_values(options, fit.design_rows.design.columns, names, every)
    others = [name for name in fit.design_rows.design.columns if name not in names or len(names) > 2]
    gone = fit.spec.has_marginals(fit) or fit.spec.integrates_missing
    held = {name: None if gone and name not in given else given.get(name) for name in others}
    if not gone:
        held |= {name: _usual(fit, rows, name, name in every) for name in others if name not in given}
    chosen = "" if len(names) < 2 else said_choice(options, len(every) - len(set(every) & set(given)))
    if chosen and has_ridge(fit):
        chosen += " by the ridged covariances"
    return Ground(fit, rows, names, held, given, tuple(every), rows is not None and not gone, chosen)


def free_columns(options: PictureOptions, every: Sequence[str]) -> list[str]:
    """Return the columns without a fixed value, or all columns if fewer than two remain."""
    fixed = set(options.at.keys()) if isinstance(options.at, Mapping | pd.Series) else set[str]()
    free = [name for name in every if name not in fixed]
    return free if len(free) > 1 else list(every)


def given_values(
    options: PictureOptions, columns: Sequence[str], shown: Sequence[str], numeric: Sequence[str]
) -> dict[str, Any]:
    """Return the values in `at=`, by column.

    Raises DataError if a column is not in the formula or is drawn, or if a value is missing or not a finite
    number in a numeric column.

    Parameters
    ----------
    options : PictureOptions
    columns : sequence of str
        Columns that the formula reads.
    shown : sequence of str
        Columns that are drawn.
    numeric : sequence of str
        Columns that the formula reads as numbers.
    """
    if options.at is None:
        return {}
    at = options.at.to_dict() if isinstance(options.at, pd.Series) else options.at
    if not isinstance(at, Mapping):
        raise DataError(
            f"at={told(options.at)} is not valid.",
            hint="Give a value for each column to hold, as at={'c': 3.0}.",
        )
    for name, value in at.items():
        if name not in columns:
            raise DataError(
                f"at= holds {told(name)}, which the formula does not read.",
                hint=f"Name some of {listed(columns)}.",
                columns=(name,),
            )
        if name in shown and len(shown) <= 2:
            raise DataError(
                f"at= holds column {name!r}, which is drawn.", hint="Name others.", columns=(name,)
            )
        if not np.ndim(value) and pd.isna(value):
            raise DataError(
                f"at= holds column {name!r} at a missing value.",
                hint="Give another, or leave it out.",
                columns=(name,),
            )
        if name in numeric and not (is_number(value) and np.isfinite(value)):
            raise DataError(
                f"at= holds column {name!r} at {told(value)}.", hint="Give a finite number.", columns=(name,)
            )
    return dict(at)


def _usual(fit: FittedModel[Any], rows: DrawnRows | None, name: str, numeric: bool) -> Any:
    """Return the mean of a numeric column, or the most frequent level of another column.

    Parameters
    ----------
    fit : FittedModel
    rows : DrawnRows or None
        Rows to average over; None for the moments of the fit.
    name : str
    numeric : bool
        Whether the formula reads the column as a number.
    """
    if rows is None:
        if not numeric:
            raise NotSupportedError(
                f"The most frequent level of column {name!r} is not known to a fit without rows.",
                hint=f"Give one, as at={{{name!r}: ...}}.",
                columns=(name,),
            )
        means, _ = _spread_of(fit, name)
        counts = np.asarray(fit.counts)[np.asarray(fit.counts) > 0]
        return float(counts @ means / counts.sum())
    column = rows.blocks.table.column(name)
    weights = rows.weights
    used = column.notna().to_numpy() & (weights > 0)
    if (rows.codes >= 0).any():
        used &= rows.codes >= 0
    if not used.any():
        raise DataError(f"No row has a value in {name!r}.", hint=f"Give one, as at={{{name!r}: ...}}.")
    if numeric:
        return float(np.average(_numbers(rows.blocks.table, [name])[used, 0], weights=weights[used]))
    # As objects, levels keep their types; ties are resolved in favour of the first level.
    sums = pd.Series(weights[used]).groupby(column[used].astype(object).to_numpy()).sum()
    return sums.index[int(np.argmax(sums.to_numpy()))]


def told_held(ground: Ground, names: Sequence[str]) -> str:
    """Describe for a title how the columns were chosen and the values of the others; may be empty."""
    others = ground.others(names)
    followers = ground.followers(names)
    gone = [name for name, value in others.items() if value is None]
    held = [name for name in others if name not in gone and name not in followers]
    parts = [ground.choice] if ground.choice else []
    rest = "others" if len(others) > 1 else next(iter(others), "")
    if gone:
        parts.append(f"{rest if len(gone) == len(others) else listed(gone, most=2)} integrated out")
    if followers:
        several = "other numbers" if len(followers) > 1 else followers[0]
        what = rest if len(followers) == len(others) else several
        parts.append(f"{what} regressed on {'it' if len(names) == 1 else 'these'}")
    if held:
        order = sorted(held, key=lambda name: name not in ground.given)
        values = {name: others[name] for name in order[:MOST_TOLD]}
        said = [f"{name} = {value:{'.4g' if is_number(value) else ''}}" for name, value in values.items()]
        more = f" and {len(held) - MOST_TOLD} more" if len(held) > MOST_TOLD else ""
        parts.append(f"held: {', '.join(said)}{more}")
    return "; ".join(parts)


TITLE = "Regions of the predicted classes"


@plot(
    "regions",
    "regions of the classes in the plane of two columns, or of each pair of more, with what the model is",
    takes=("columns", "at", "interactive"),
    default_if=has_numeric_ranges,
)
def regions(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes | Figure:
    """Regions of the predicted classes in the plane of two columns, or of each pair of several columns.

    Outlines of the class densities or lines of equal posteriors are added, depending on the model.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.qda("species ~ .", discrim.datasets.load_iris())
    >>> at = {"sepal_length": 6.0, "sepal_width": 3.0}
    >>> fit.plot("regions", columns=("petal_length", "petal_width"), at=at).get_xlabel()
    'petal_length'
    """
    ground = ground_of(fit, options)
    if options.interactive and len(ground.columns) != 2:
        raise DataError(
            "interactive=True draws the regions of two columns of numbers.", hint="Name two, or leave it out."
        )
    if len(ground.columns) == 1:
        return _line(ground, options)
    if len(ground.columns) > 2:
        return _matrix(results, ground, options)
    return draw_ground(ground, options, results=results)


def draw_ground(
    ground: Ground, options: PictureOptions, title: str = TITLE, results: Any = None
) -> Axes | Figure:
    """Draw the plane of two columns with outlines of the model.

    Parameters
    ----------
    ground : Ground
    options : PictureOptions
    title : str
        First line of the title.
    results : ClassifierResults, optional
        Results whose outlines are drawn; None for regions only.
    """
    names = (ground.columns[0], ground.columns[1])
    told = told_held(ground, names)
    signs = options.signs(list(ground.fit.classes))
    draw, said = _shape(results, ground, names, signs)
    title = title + said + (f"\n{told}" if told else "")
    if options.interactive:
        return _interactive_plane(ground, names, options, title, draw)
    axes = _plane(ground, names, ax=options.ax, signs=signs, title=title)
    draw(axes)
    return axes


def _plane(ground: Ground, names: tuple[str, str], **look: Any) -> Axes:
    """Draw the regions and rows in the plane of two columns."""
    points, codes = ground.points(names)
    across, up = ground.limits(names)
    rows = PlaneRows(points, codes, weak=ground.off(names))
    return draw_plane(ground.classify(names), (across, up), names, rows, list(ground.fit.classes), **look)


def _interactive_plane(
    ground: Ground, names: tuple[str, str], options: PictureOptions, title: str, draw: Draw
) -> Figure:
    """Draw the plane of two columns with plotly, with the posteriors at each point.

    Parameters
    ----------
    ground : Ground
    names : (str, str)
        Columns of the axes.
    options : PictureOptions
    title : str
    draw : callable
        Function that draws the outlines of the model on axes.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    fit = ground.fit
    shares = ground.values(names, lambda table: _decided(ground, table)) if fit.has_posteriors else None
    points = ground.points(names)[0]
    rows = pointed_rows(fit, ground.rows, options)
    place = ground.classify(names), ground.limits(names), names
    return plane_figure(*place, points, rows, shares, title, draw, weak=ground.off(names))


def _matrix(results: Any, ground: Ground, options: PictureOptions) -> Axes:
    """Draw the planes of all pairs of columns below the diagonal of a matrix."""
    fit = ground.fit
    columns = ground.columns
    signs = options.signs(list(fit.classes))
    rest = told_held(ground, ())
    outer, place = draw_triangle(options.ax, columns, list(fit.classes), signs)
    said = ""
    for i, j in combinations(range(len(columns)), 2):
        names = columns[i], columns[j]
        draw, said = _shape(results, ground, names, signs)
        draw(_plane(ground, names, ax=place[i, j], signs=signs, title="", panel=True))
    title = f"{TITLE}{said}" + (f"\nin each panel {rest}" if rest else "")
    return finish(outer, place, title)


PROBABILITY = 0.9
"""Posterior probability at the lines next to a border, for models without class densities."""

Draw = Callable[["Axes"], None]


def _shape(results: Any, ground: Ground, names: tuple[str, str], signs: Signs) -> tuple[Draw, str]:
    """Return the function that draws the outlines of a model in a plane, and its description for a title.

    For models with densities the outlines are of the classes, their components, or the region that contains
    most of each density. For models of the posteriors only, they are lines of equal probability. Other models
    have none.

    Parameters
    ----------
    results : ClassifierResults or None
    ground : Ground
    names : (str, str)
        Columns of the axes.
    signs : Signs
        Colours and line styles of the classes.
    """
    fit = ground.fit
    nothing: tuple[Draw, str] = (lambda axes: None), ""
    if results is not None and fit.likelihood_of == "class given row":
        values = ground.values(names, lambda table: _scored(ground, table, posteriors))
        draw: Draw = partial(draw_contours, values=values, level=PROBABILITY, signs=signs)
        return draw, f", lines at {100 * PROBABILITY:g} %"
    if results is None or ground.off(names) or ground.followers(names) or not set(names) <= set(fit.terms):
        return nothing
    if fit.spec.name not in DENSITIES:
        return outlines_of(results, fit, names, signs) or nothing
    if fit.spec.has_marginals(fit) or fit.spec.integrates_missing or len(fit.terms) == 2:
        # The prior shifts all values of a class and does not move the contour of a share of its density.
        values = ground.values(names, lambda table: _scored(ground, table, np.asarray))
        share = outline_share(fit)
        draw = partial(draw_contours, values=values, share=share, signs=signs)
        return draw, f", {100 * share:g} % of each density"
    return nothing


DENSITIES = ("kernel_density", "naive_bayes")
"""Models whose class densities are not elliptical and are drawn by contours."""


def _line(ground: Ground, options: PictureOptions) -> Axes:
    """Draw the posteriors, or decision values, of the classes along the only numeric column."""
    fit = ground.fit
    name = ground.columns[0]
    ((low, high),) = ground.limits([name])
    at = np.linspace(low, high, 801)
    sure = fit.has_posteriors
    points, codes = ground.points([name])
    held = told_held(ground, [name])
    title = f"Regions of the predicted classes, and {'posteriors' if sure else 'values of the rule'}"
    return draw_line(
        at,
        ground.values([name], lambda table: _decided(ground, table))(at[:, None]),
        ground.classify([name])(at[:, None]),
        (name, "Posterior probability" if sure else "Value by which the rule decides"),
        points[:, 0],
        codes,
        list(fit.classes),
        ax=options.ax,
        signs=options.signs(list(fit.classes)),
        title=f"{title}\n{held}" if held else title,
    )


def _decided(ground: Ground, table: pd.DataFrame) -> Floats:
    """Return posteriors (m, K) of the rows of a table, or scores for a model without posteriors."""
    return _scored(ground, table, posteriors if ground.fit.has_posteriors else np.asarray)


def _scored(ground: Ground, table: pd.DataFrame, finish: Callable[[Floats], Floats]) -> Floats:
    """Return a function of the scores (m, K) of the rows of a table.

    Parameters
    ----------
    ground : Ground
    table : DataFrame
        Points of m rows.
    finish : callable
        Function of scores (m, K), such as `posteriors`.

    Returns
    -------
    (m, K) float
    """
    fit = ground.fit
    blocks = ground.read(table)
    return finished_scores(blocks, fit.rule_of(blocks), len(fit.classes), finish)


SHOWN = 4
MOST = 6
"""Number of columns that are drawn by default, and the largest number that can be drawn."""


@plot(
    "partition",
    "regions of fits to each pair of columns alone, with their error rates",
    takes=("columns",),
    refits=True,
)
def partition(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Regions of fits to two columns only, a panel for each pair, with their error rates.

    The model is fitted again to each pair, with the prior and options of the fit, like partimat of the R
    package klaR. The error rate is computed on the drawn rows: it is the apparent error rate unless the rows
    are new.

    Examples
    --------
    >>> import discrim
    >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
    >>> outer = fit.plot("partition", columns=("sepal_length", "petal_length", "petal_width"))
    >>> [panel.get_title() for panel in outer.child_axes]
    ['error rate 0.033', 'error rate 0.040', 'error rate 0.040']
    """
    blocks = fit.rows('kind="partition"')
    if getattr(fit.estimates, "covariates", 0):
        fit.estimates.refuse_covariates('kind="partition"')
    fit.drawn_rows()
    names, every = _columns(fit, blocks, options)
    rows = needed_rows(fit, options, "partition")
    signs = options.signs(list(fit.classes))
    classes = list(fit.classes)
    which = "apparent error rates" if options.data is None else "error rates on the new rows"
    few = options.columns is None and len(every) > len(names)
    some = f"{said_choice(options, len(every), SHOWN)} of {len(every)} columns; " if few else ""
    title = f"{fit.title} of each pair alone, {which}\n{some}hollow: {told_hollow(len(rows.codes))}"
    outer, place = draw_triangle(options.ax, names, classes, signs)
    terms = list(blocks.terms)
    x = rows.terms(names).to_numpy()
    codes = rows.codes
    for i, j in combinations(range(len(names)), 2):
        keep = [terms.index(names[i]), terms.index(names[j])]
        rule = None
        with suppress(CollinearError, SeparationError):
            # Parameters that the rows chose stay as they are.
            rule = fit.refits.refit(fit, blocks.columns(sorted(keep)), fixed=bool(fit.refits.choice(fit)))
        points = x[:, [i, j]]
        if rule is None:
            place[i, j].set_title("no fit to these two", fontsize="small")
            place[i, j].set_axis_off()
            continue
        called = predicted_codes(rows.blocks.columns(sorted(keep)), rule, len(classes), Decision())
        wrong, rate = _errors(called, rows)
        known = points[(codes >= 0) & np.isfinite(points).all(axis=1)]
        ends = zip(known.min(axis=0), known.max(axis=0), strict=True) if len(known) else [(0.0, 1.0)] * 2
        across, up = (span(float(low), float(high)) for low, high in ends)
        draw_plane(
            _classified(rule, np.argsort(keep)),
            (across, up),
            (names[i], names[j]),
            PlaneRows(points, codes, wrong),
            classes,
            ax=place[i, j],
            signs=signs,
            title=f"error rate {rate:.3f}",
            panel=True,
        )
    return finish(outer, place, title)


def _classified(rule: Rule, order: Codes) -> Callable[[Floats], Codes]:
    """Return a function of points (m, 2) of a panel that predicts their classes (m,).

    Parameters
    ----------
    rule : Rule
        Rule of the two columns.
    order : (2,) int
        Position in the panel of each column of the rule.
    """
    return lambda plane: best_class(rule.scores(plane[:, order]))


def _columns(fit: FittedModel[Any], blocks: Blocks, options: PictureOptions) -> tuple[list[str], list[str]]:
    """Return the terms to draw, and all numeric terms."""
    every = numeric_terms(blocks.design, blocks.terms)
    if len(every) < 2:
        raise NotSupportedError(
            "kind='partition' draws pairs of columns of numbers, and the number of these in this fit is "
            f"{len(every)}.",
            hint="Draw another kind.",
        )
    if options.columns is None:
        return telling(fit, options, every, SHOWN), every
    return named_columns(options, every, "partition", 2, MOST), every


def _errors(called: Codes, rows: DrawnRows) -> tuple[NDArray[np.bool_], float]:
    """Return which rows (n,) are misclassified, and their share by weight."""
    known = (called >= 0) & (rows.codes >= 0)
    wrong = known & (called != rows.codes)
    total = float(rows.weights[known].sum())
    return wrong, float(rows.weights[wrong].sum()) / total if total else np.nan
