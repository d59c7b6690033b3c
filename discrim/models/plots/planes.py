"""Pictures in the plane of two columns, the others held, or of fits to two columns alone."""

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
"""Columns whose held values a title lists."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What planes of columns are drawn on: the rows, where there are any, and the columns of the axes.

    Other columns have values that a person gave, or are integrated out of the densities of the classes (they
    are missing then, None). Of a model without densities they follow the columns drawn, by their regressions
    on these over all rows, and levels are held at the most frequent one; without rows all are held.
    `every` has all columns that the formula reads as numbers; `choice` says how those drawn were chosen.
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
        """Rows at points (m, len(names)), with what other columns are there."""
        values: dict[str, Any] = dict(zip(names, points.T, strict=True))
        numbers = {*self.every, *self.fit.design_rows.design.boolean_columns}
        for name, value in held.items():
            value = np.nan if value is None and name in numbers else value
            # Of an array pandas takes the type as it is, and looks at no value.
            values[name] = np.full(len(points), value) if is_number(value) else [value] * len(points)
        return pd.DataFrame(values, copy=False)

    def off(self, names: Sequence[str]) -> bool:
        """Whether rows do not lie in the plane of these columns, as others are held at values."""
        followers = self.followers(names)
        return any(value is not None for name, value in self.others(names).items() if name not in followers)

    def followers(self, names: Sequence[str]) -> list[str]:
        """Columns of numbers that follow those drawn."""
        others = self.others(names) if self.follow else {}
        return [name for name in others if name in self.every and name not in self.given]

    def regressed(self, names: Sequence[str]) -> Callable[[Floats], Floats]:
        """From points (m, len(names)) to the values there of the columns that follow, within their ranges."""
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
        """Where the columns are held that are not among these."""
        return {name: value for name, value in self.held.items() if name not in names}

    def values(self, names: Sequence[str], decide: Callable[[pd.DataFrame], Any]) -> Callable[[Floats], Any]:
        """From points of a plane to what is decided there."""
        follow = self.regressed(names)
        followers = self.followers(names)
        held = {name: value for name, value in self.others(names).items() if name not in followers}

        def values(points: Floats) -> Any:
            table = self.table([*names, *followers], np.column_stack([points, follow(points)]), held)
            with warnings.catch_warnings():
                # Points are no rows of a person's: there is nothing to mend in them.
                warnings.simplefilter("ignore", DiscrimWarning)
                return decide(table)

        return values

    def read(self, table: pd.DataFrame) -> Blocks:
        """Points as rows of the fit, whose missing columns are integrated out."""
        gone = any(value is None for value in self.held.values())
        return self.fit.new_rows(table, Gaps(missing="integrate") if gone else AS_FITTED)

    def classify(self, names: Sequence[str]) -> Callable[[Floats], Codes]:
        """From points of a plane to codes of their classes."""
        fit = self.fit
        return self.values(names, lambda table: fit.predicted_codes(self.read(table)))

    def points(self, names: Sequence[str]) -> tuple[Floats, Codes]:
        """The rows in a plane (n, len(names)), and their classes; none where there are no rows."""
        if self.rows is None:
            return np.empty((0, len(names))), np.empty(0, dtype=np.intp)
        return _numbers(self.rows.blocks.table, names), self.rows.codes

    def limits(self, names: Sequence[str]) -> tuple[Limits, ...]:
        """The range of each column, with a margin as far as the formula bears one."""
        bare = [self._range(name) for name in names]
        wide = tuple(span(*ends) for ends in bare)
        corners = np.array(np.meshgrid(*wide)).reshape(len(names), -1).T
        try:
            self.classify(names)(corners)
        except DataError:
            # Beyond the rows a logarithm, or a spline, may have no value.
            return tuple((low, high if high > low else span(low, low)[1]) for low, high in bare)
        return wide

    def _range(self, name: str) -> Limits:
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
    """Columns (n, len(names)) of a table as numbers; a column of text is an error that names it."""
    out = np.empty((table.nrows, len(names)))
    table.fill(list(names), 0, table.nrows, out)
    return out


def _spread_of(fit: FittedModel[Any], name: str) -> tuple[Floats, float]:
    """Means of a column in the classes that have rows, and its standard deviation within them."""
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
"""Of a matrix of planes."""


def ground_of(fit: FittedModel[Any], options: PictureOptions) -> Ground:
    """The columns asked for, or those that tell most, and where the others are held.

    A DataError says that a column is not among those of numbers, or is named twice, or that a value to hold
    it at is none; a NotSupportedError, that the formula reads no column as numbers.
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
    """The columns that are not held at values, or all where fewer than two are left."""
    fixed = set(options.at.keys()) if isinstance(options.at, Mapping | pd.Series) else set[str]()
    free = [name for name in every if name not in fixed]
    return free if len(free) > 1 else list(every)


def given_values(
    options: PictureOptions, columns: Sequence[str], shown: Sequence[str], numeric: Sequence[str]
) -> dict[str, Any]:
    """The values at which a person holds columns.

    A DataError says that a column is not read by the formula, or is drawn, or that its value is missing, or
    no number where the formula reads one.
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
    """The mean of a column, or its most frequent level; of the rows drawn, or by the moments of the fit."""
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
    # As objects, levels keep their own types, and ties go to the first in their order.
    sums = pd.Series(weights[used]).groupby(column[used].astype(object).to_numpy()).sum()
    return sums.index[int(np.argmax(sums.to_numpy()))]


def told_held(ground: Ground, names: Sequence[str]) -> str:
    """How the columns were chosen, and what the others are, for a title; empty where there are none."""
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
    """Regions of the classes in the plane of two columns, or of each pair of more, with what the model is.

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
    """The plane of two columns, and what the model of the results is in it."""
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
    """The regions and rows in the plane of two columns."""
    points, codes = ground.points(names)
    across, up = ground.limits(names)
    rows = PlaneRows(points, codes, weak=ground.off(names))
    return draw_plane(ground.classify(names), (across, up), names, rows, list(ground.fit.classes), **look)


def _interactive_plane(
    ground: Ground, names: tuple[str, str], options: PictureOptions, title: str, draw: Draw
) -> Figure:
    """The same in a figure of plotly, whose places tell their posteriors."""
    fit = ground.fit
    shares = ground.values(names, lambda table: _decided(ground, table)) if fit.has_posteriors else None
    points = ground.points(names)[0]
    rows = pointed_rows(fit, ground.rows, options)
    place = ground.classify(names), ground.limits(names), names
    return plane_figure(*place, points, rows, shares, title, draw, weak=ground.off(names))


def _matrix(results: Any, ground: Ground, options: PictureOptions) -> Axes:
    """The planes of all pairs, below the diagonal of a matrix."""
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
"""Of the lines beside a border, of models of the posteriors alone."""

Draw = Callable[["Axes"], None]


def _shape(results: Any, ground: Ground, names: tuple[str, str], signs: Signs) -> tuple[Draw, str]:
    """What draws a model into the plane of two columns, and what a title says of it.

    Of densities it is outlines of the classes, of their components, or of what holds most of each; of a model
    of the posteriors alone it is lines of equal probability, and else nothing.
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
        # What a prior adds to all values of a class does not move the line that holds a share of it.
        values = ground.values(names, lambda table: _scored(ground, table, np.asarray))
        share = outline_share(fit)
        draw = partial(draw_contours, values=values, share=share, signs=signs)
        return draw, f", {100 * share:g} % of each density"
    return nothing


DENSITIES = ("kernel_density", "naive_bayes")
"""Models whose classes have densities of any form."""


def _line(ground: Ground, options: PictureOptions) -> Axes:
    """The posteriors, or values, of the classes along the only column of numbers."""
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
    """Posteriors (m, K) of the rows of a table, or of a model without them the values of its rule."""
    return _scored(ground, table, posteriors if ground.fit.has_posteriors else np.asarray)


def _scored(ground: Ground, table: pd.DataFrame, finish: Callable[[Floats], Floats]) -> Floats:
    """What is made of the scores (m, K) of the rows of a table."""
    fit = ground.fit
    blocks = ground.read(table)
    return finished_scores(blocks, fit.rule_of(blocks), len(fit.classes), finish)


SHOWN = 4
MOST = 6
"""Columns that are drawn where none are named, and the most that can be."""


@plot(
    "partition",
    "regions of fits to each pair of columns alone, with their error rates",
    takes=("columns",),
    refits=True,
)
def partition(results: Any, fit: FittedModel[Any], options: PictureOptions) -> Axes:
    """Regions of fits to two columns alone, a panel for each pair, with their error rates.

    The model is fitted again to each pair, with the fit's prior and options, as klaR's partimat does. The
    error rate is that on the rows drawn: the apparent one, unless they are new.

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
    """From points of a panel to the classes that a rule of the two columns, in their own order, gives."""
    return lambda plane: best_class(rule.scores(plane[:, order]))


def _columns(fit: FittedModel[Any], blocks: Blocks, options: PictureOptions) -> tuple[list[str], list[str]]:
    """Terms to draw, and all that can be: those of numbers."""
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
    """Which rows (n,) are called another class, and their share by weight."""
    known = (called >= 0) & (rows.codes >= 0)
    wrong = known & (called != rows.codes)
    total = float(rows.weights[known].sum())
    return wrong, float(rows.weights[wrong].sum()) / total if total else np.nan
