"""The location model: normal numbers within each combination of categories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.discriminant.location import (
    GRID,
    CellLayout,
    CellRows,
    LocationFit,
    fit_location,
    location_obstacles,
    location_of_cells,
)
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule, logs_of_prior
from discrim.design.blocks import Blocks
from discrim.design.levels import boolean_terms, level_design, level_terms, term_levels
from discrim.design.rows import read_rows, used_rows
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.displayed import displayed
from discrim.models.base.fit import FittedModel, ModelSpec
from discrim.models.base.labels import covariance_frame
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import error_path, held_path, largest_as_good
from discrim.models.results import headers
from discrim.models.results.results import ClassifierResults
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

MOST_CELLS = 2**20
"""Means of cells and classes, times columns, that are held."""


@reading.with_keyword_hints
def location(
    formula: str,
    data: Data,
    *,
    smoothing: float | None = None,
    grid: Sequence[float] | None = None,
    prior: Prior = None,
    weights: Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> LocationResults:
    """The location model: numbers are normal within each combination of categories, smoothed over them.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that can be read more than once; see the page on shared arguments.
    smoothing : float, optional
        The weight L of a row in a cell that differs from its own in one column, above 0 and at most 1. In a
        cell that differs in d columns it is L^d. Near 0 each cell is estimated alone; at 1 the categories do
        not count. By default the L of least leave-one-out error is chosen from `grid`, and the largest of
        equal ones.
    grid : sequence of float, optional
        Smoothings to choose from; by default 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, ..., 1.
    prior : None, "equal", "proportional", dict or Series by class, or sequence in the order of the classes
        Prior probabilities of the classes; by default the class proportions.
    weights : column name or (n,) array, optional
        Frequency weights: a weight of 3 stands for three identical rows.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    LocationResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also if no column holds
        numbers, or a smoothing is not above 0 and at most 1.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance of the numbers within cells is singular.
    NotSupportedError
        A category is multiplied with another column, or the categories make too many cells.

    Notes
    -----
    The model is Krzanowski's (1975, Journal of the American Statistical Association 70, 782-790), the
    smoothing that of Asparoukhov & Krzanowski (2000, Statistics and Computing 10, 289-297). Within a class a
    row lies in cell s with probability p_ks, and its numbers are normal with mean m_ks; their covariance S is
    common to classes and cells. With n_kt rows of class k in cell t, whose mean is y_kt, and weights a_st =
    L^d of cells that differ in d columns, N_ks = sum_t a_st n_kt, p_ks = N_ks / sum_t N_kt, and m_ks = sum_t
    a_st n_kt y_kt / N_ks. S has the divisor N less the sum of n_ks / N_ks over cells and classes, which is N
    - K at L = 1, where the rule is that of `lda` for the numbers alone. It is so at any L if no column is a
    category. Truth values are categories.

    The choice of L holds S while rows are left out; `leave_one_out()` computes all but L and the prior anew
    without each row. Folds choose L anew.

    Examples
    --------
    >>> from discrim import location
    >>> from discrim.datasets import load_penguins
    >>> penguins = load_penguins()
    >>> fit = location("species ~ sex + island + bill_length_mm + body_mass_g", penguins, smoothing=0.1)
    >>> fit.probabilities.loc[("male", "Dream")].round(3).tolist()
    [0.185, 0.417, 0.043]
    >>> fit.error_rates(["loo"])["wrong"].tolist()
    [4.0]
    """
    options = verb_options(locals())
    tried = _checked_smoothings(smoothing, grid)
    blocks = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    blocks = replace(blocks, design=level_design(blocks.design))
    blocks, stats = reading.usable_rows(blocks, "diagonal", na_action)
    layout = layout_of(blocks)
    if not len(layout.numbers):
        raise DataError(
            "location() needs a column of numbers beside the categories, and there is none.",
            hint="Add one, or use naive_bayes(), or lda().",
        )
    cells = cell_moments(blocks, layout)
    shares, estimated = reading.read_prior(prior, blocks.design.levels, stats.counts)
    fits = partial(fit_location, stats, cells, layout, shares, estimated_prior=estimated)
    if smoothing is None and layout.sizes:
        fit, path = _chosen(fits, blocks, tried)
    else:
        fit = fits(tried[0] if layout.sizes else 1.0)
        path = None
    if fit is None:
        raise _singular(blocks, cells, layout, tried[0])
    spec = LocationSpec(() if path is None else tuple(path["smoothing"].tolist()))
    return LocationResults(spec.fit(fit, blocks, options, path=path))


def _singular(blocks: Blocks, cells: ClassMoments, layout: CellLayout, smoothing: float) -> CollinearError:
    """Return the error for a singular covariance, which names the columns that are constant or determined."""
    names = tuple(blocks.terms[j] for j in layout.numbers.tolist())
    if found := location_obstacles(cells, layout, 1.0):
        return reading.collinear_error(found, names, instead="fit rda() or logistic() to all columns")
    if found := location_obstacles(cells, layout, smoothing):
        return reading.collinear_error(found, names, "within cells", instead="pass a larger smoothing=")
    return CollinearError(
        f"There are too few rows for the covariance of {reading.listed(names)} within cells.",
        hint="Leave columns out, or pass a larger smoothing=.",
    )


def _checked_smoothings(smoothing: Any, grid: Any) -> list[float]:
    """The smoothing that is given, or those to choose from."""
    also = ", or None to have it chosen"
    if smoothing is not None:
        if grid is not None:
            raise DataError(
                "smoothing= is given, so that there is nothing to choose.", hint="Leave out grid=."
            )
        return [reading.check_number("smoothing", smoothing, 0, 1, ends="(]", also=also)]
    return list(GRID) if grid is None else reading.check_grid(grid, "smoothing", 0, 1, ends="(]")


def layout_of(blocks: Blocks) -> CellLayout:
    """Which columns of the blocks, of a `level_design`, are categories, and how many levels they have."""
    sizes = dict(zip(*level_terms(blocks.design), strict=True))
    layout = CellLayout(np.array([sizes.get(term, 0) for term in blocks.terms], dtype=np.intp))
    cells = 1
    for size in layout.sizes:
        cells *= size
    held = cells * len(blocks.design.levels) * (len(layout.numbers) + 1)
    if held > MOST_CELLS:
        raise NotSupportedError(
            f"The categories make {cells:,} cells, whose means in each class are {held:,} numbers, more "
            f"than the {MOST_CELLS:,} that are held.",
            hint="Name fewer categorical columns, or join rare levels.",
        )
    return layout


def cell_moments(blocks: Blocks, layout: CellLayout) -> ClassMoments:
    """Pooled moments of the numbers by class and cell."""
    count = len(blocks.design.levels) * layout.n_cells
    with Progress(0, "moments of the cells"):
        return gather(CellRows(blocks, layout), n_classes=count, n_columns=len(layout.numbers))


def _chosen(
    fits: Callable[[float], LocationFit | None], blocks: Blocks, tried: Sequence[float]
) -> tuple[LocationFit | None, pd.DataFrame | None]:
    """The fit of least leave-one-out error, of equal ones that of the largest smoothing, and the path."""
    made = {each: fit for each in tried if (fit := fits(each)) is not None}
    if not made:
        return None, None
    first = next(iter(made.values()))
    wrong = np.zeros((len(made), len(first.prior)))
    log_prior = logs_of_prior(first.prior)
    with Progress(blocks.table.nrows, "choice of smoothing") as progress:
        for _, x, codes, weights in used_rows(blocks):
            for i, fit in enumerate(made.values()):
                wrong[i] += fit.wrong_left_out(x, codes, weights, log_prior)
            progress(len(codes))
    path = error_path(
        "smoothing", list(made), wrong, first.moments.counts, first.prior, sampled=first.estimated_prior
    )
    return made[largest_as_good(path)], path


class LocationResults(ClassifierResults):
    """A fit of the location model."""

    _fit: FittedModel[LocationFit]

    @property
    def smoothing(self) -> float:
        """Weight of a row in a cell that differs from its own in one column."""
        return self._fit.estimates.smoothing

    def _cells(self) -> pd.Index:
        fit = self._fit
        layout = self._fit.estimates.layout
        terms = [self.terms[j] for j in layout.categories.tolist()]
        if not terms:
            return pd.Index(["all rows"], name="cell")
        truths = set(boolean_terms(fit.design_rows.design))
        known = dict(zip(fit.design_rows.design.terms, term_levels(fit.design_rows.design), strict=True))
        levels = [[False, True] if term in truths else list(known[term] or ()) for term in terms]
        if len(terms) == 1:
            return pd.Index(levels[0], name=terms[0])
        return pd.MultiIndex.from_product(levels, names=terms)

    def _number_terms(self) -> pd.Index:
        return self.terms[self._fit.estimates.layout.numbers]

    @property
    def probabilities(self) -> pd.DataFrame:
        """Probability of each cell within each class, cells by classes."""
        return pd.DataFrame(self._fit.estimates.probabilities.T, index=self._cells(), columns=self.classes)

    @property
    @displayed(every="count")
    def cell_counts(self) -> pd.DataFrame:
        """Rows of each class in each cell, cells by classes.

        Rows, or sums of weights.
        """
        counts = self._fit.estimates.cells.counts.reshape(len(self.classes), -1).T
        return pd.DataFrame(counts, index=self._cells(), columns=self.classes)

    @property
    def means(self) -> pd.DataFrame:
        """Smoothed means of each class in each cell, classes and cells by columns of numbers."""
        cells = self._cells()
        names = list(cells.names)
        keys = [
            (label, *(cell if isinstance(cell, tuple) else (cell,)))
            for label in self.classes
            for cell in cells
        ]
        index = pd.MultiIndex.from_tuples(keys, names=["class", *names])
        values = self._fit.estimates.means.reshape(len(keys), -1)
        return pd.DataFrame(values, index=index, columns=self._number_terms())

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance of the numbers within cells.

        Covariance of the numbers, common to classes and cells.
        """
        estimates = self._fit.estimates
        return covariance_frame(estimates.covariance, estimates.cells.scale, self._number_terms())

    @property
    @available_if()
    @displayed(se="share")
    def path(self) -> pd.DataFrame:
        """Leave-one-out error by smoothing, with the covariance held.

        The errors of a choice by leave-one-out: smoothing, error, se.

        Raises
        ------
        NotSupportedError
            The smoothing was given, or the fit was loaded.
        """
        why = "as the smoothing was given, no column is a category, or the fit was loaded"
        return held_path(self._fit, why, "fit without smoothing= to have it chosen")

    @displayed(probability="share")
    def tidy(self) -> pd.DataFrame:
        """One row for each class, cell and column of numbers: rows, probability of the cell, mean."""
        estimates = self._fit.estimates
        terms = self._number_terms()
        table = self.means.index.repeat(len(terms)).to_frame(index=False)
        table["term"] = np.tile(terms.to_numpy(), len(self.means))
        table["rows"] = np.repeat(estimates.cells.counts, len(terms))
        table["probability"] = np.repeat(estimates.probabilities.ravel(), len(terms))
        return table.assign(mean=self.means.to_numpy().ravel())

    @displayed()
    def glance(self) -> pd.DataFrame:
        """One row for the fit."""
        estimates = self._fit.estimates
        row = {
            "smoothing": estimates.smoothing,
            "cells": estimates.layout.n_cells,
            "df_residual": estimates.divisor,
        }
        return pd.DataFrame([self._sizes() | row])


@dataclass(frozen=True, eq=False)
class LocationSpec(ModelSpec[LocationFit]):
    """The location model; `search` has the candidates for the smoothing."""

    name = "location"
    title = "Location model"
    results_class = LocationResults
    why_no_refit = ("a class has no row, or the covariance within cells is singular", "fewer columns")
    leave_one_out_cost = 10
    chosen_options = MappingProxyType({"smoothing": "smoothing"})
    search_options = ("grid",)
    constructor = staticmethod(location_of_cells)
    file_moments = "diagonal"
    allows_constant = True
    # A mean of level positions is not a level.
    scores_class_means = False

    search: tuple[float, ...] = ()

    def summary_sections(self) -> tuple[Any, Any]:
        """Return the functions of the sections of the full and of the short summary."""
        return location_sections, location_brief

    def plots(self) -> tuple[Any, ...]:
        """Return the plots; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import LOCATION_PLOTS

        return LOCATION_PLOTS

    def likelihood_of(self, fit: FittedModel[LocationFit]) -> str:
        """Return whose likelihood `llf` is."""
        return "none"

    def required_moments(self, fit: FittedModel[LocationFit]) -> None:
        """Return None: a refit needs the rows."""

    def choice(self, fit: FittedModel[LocationFit]) -> str:
        """Describe the choice made from the rows; empty if there was none."""
        return "the smoothing" if self.search else ""

    def refit_to_rows(self, fit: FittedModel[LocationFit], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows, with what they choose chosen again."""
        return _refitted_rule(fit, rows, self.search)

    def refit_with_fixed(self, fit: FittedModel[LocationFit], rows: Blocks) -> Rule | None:
        """Return the rule of a refit to rows that keeps the smoothing."""
        return _refitted_rule(fit, rows, ())

    def recode(
        self, fit: FittedModel[LocationFit], rows: Blocks, *, fixed: bool
    ) -> tuple[FittedModel[LocationFit], Blocks]:
        """Adapt a fit to rows that lack levels: categories are positions among those that remain."""
        return fit, replace(rows, design=level_design(rows.design))


def _refitted_rule(fit: FittedModel[LocationFit], blocks: Blocks, candidates: Sequence[float]) -> Rule | None:
    """Return the rule of other rows, with the best of the candidates, or the smoothing of the fit."""
    estimates = fit.estimates
    layout = layout_of(blocks)
    stats = reading.class_moments(blocks, "diagonal")
    if (stats.rows < 1).any() or not len(layout.numbers):
        return None
    cells = cell_moments(blocks, layout)
    is_estimated = estimates.estimated_prior
    fits = partial(fit_location, stats, cells, layout, estimates.prior, estimated_prior=is_estimated)
    refit = _chosen(fits, blocks, candidates)[0] if candidates else fits(estimates.smoothing)
    return None if refit is None else refit.rule(fit.log_prior())


# ---- summary


MAX_SHOWN_CELLS = 24
"""Cells up to which a summary shows their tables."""


def location_sections(results: LocationResults, fit: FittedModel[LocationFit]) -> Sections:
    """Sections of a location model, in their order."""
    parts: Sections = {"header": _header, "classes": headers.classes_section}
    if 1 < fit.estimates.layout.n_cells <= MAX_SHOWN_CELLS:
        parts = parts | {"cells": _cells}
    if fit.estimates.layout.n_cells <= MAX_SHOWN_CELLS:
        parts = parts | {"means": _means}
    return parts if fit.path is None else parts | {"path": _path}


def _header(results: LocationResults, fit: FittedModel[LocationFit]) -> Pairs:
    numbers = fit.estimates
    cells = numbers.layout.n_cells
    filled = int((numbers.cells.counts > 0).sum())
    chosen = "given" if fit.path is None else "chosen by leave-one-out"
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Cells", cells, f"{cells}, in {len(fit.classes)} classes; {filled} have rows"),
        HeaderItem("Smoothing", results.smoothing, f"{results.smoothing:g}, {chosen}"),
        HeaderItem("Degrees of freedom", numbers.divisor, f"{numbers.divisor:.1f}"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _cells(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    table = results.probabilities
    note = "Smoothed over cells that differ in few variables."
    return Section(
        "Probabilities of the cells, by class", table, "share", note=note, source="fit.probabilities"
    )


def _means(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    table = results.means
    keys = [(each[0], ", ".join(map(str, each[1:]))) for each in table.index]
    table = table.set_axis(pd.MultiIndex.from_tuples(keys, names=["class", "cell"]))
    errors = np.sqrt(np.diagonal(results.cov)) / 2000
    rounding = dict(zip(table.columns, errors, strict=True))
    title = "Smoothed means by class and cell"
    return Section(title, table, column_errors=rounding, source="fit.means")


def _path(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    table = results.path.set_index("smoothing").rename_axis(index=None)
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    note = "The largest smoothing of least error is chosen; the covariance is kept fixed."
    title = "Leave-one-out error by smoothing"
    return Section(title, table, formats, headings=INTERVAL, note=note, source="fit.path")


location_brief: Sections = {"classes": headers.classes_section}
"""The short form: the classes."""
