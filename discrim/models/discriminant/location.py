"""Location model: numeric columns are normal within each combination of categories, called a cell.

The verb `location`, its results, its summary and its `LocationSpec`. The estimates are in
`core.discriminant.location`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.discriminant.location import (
    SMOOTHING_CANDIDATES,
    CellLayout,
    CellRows,
    LocationFit,
    dependent_location_columns,
    fit_location,
    restore_location,
)
from discrim.core.moments.moments import ClassMoments, gather
from discrim.core.numerics.progress import Progress
from discrim.core.rules.rules import Rule, log_of_prior
from discrim.design.design_rows import DesignRows
from discrim.design.levels import boolean_terms, level_design, level_terms, term_levels
from discrim.design.rows import read_rows, used_rows
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.models.base import reading
from discrim.models.base.available import available_if
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel, ModelSpec
from discrim.models.base.labels import covariance_frame
from discrim.models.base.reading import Data, NaAction, Prior, verb_options
from discrim.models.base.refits import error_path, largest_acceptable, stored_path
from discrim.models.results import headers
from discrim.models.results.results import ClassifierResults
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

MAX_CELL_MEANS = 2**20
"""Largest number of stored means: cells times classes times columns."""


@reading.with_public_errors
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
    """Location model: numeric columns are normal within each combination of categories, with smoothed means.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table or source of tables
        Table, or source of tables that can be read more than once; see the page on shared arguments.
    smoothing : float, optional
        The weight L of a row in a cell that differs from the row's cell in one column, above 0 and at most 1.
        In a cell that differs in d columns the weight is L^d. Near 0 each cell is estimated separately; at 1
        the categories are ignored. By default the largest L of smallest leave-one-out error is chosen from
        `grid`.
    grid : sequence of float, optional
        Smoothings to choose from; by default 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, ..., 1. Cannot be combined
        with `smoothing`.
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
        A column is unknown, a value is infinite, or no row or only one class is left. Also if no column is
        numeric, a smoothing is not above 0 and at most 1, or both `smoothing` and `grid` are passed.
    PriorError
        The prior is not a distribution over the classes.
    CollinearError
        The covariance of the numeric columns within cells is singular.
    NotSupportedError
        A category is multiplied with another column, or the categories have too many combinations.

    Notes
    -----
    The model is Krzanowski's (1975, Journal of the American Statistical Association 70, 782-790), the
    smoothing is from Asparoukhov & Krzanowski (2000, Statistics and Computing 10, 289-297). Within a class a
    row lies in cell s with probability p_ks, and its numeric columns are normal with mean m_ks; their
    covariance S is common to classes and cells. With n_kt rows of class k in cell t, whose mean is y_kt, and
    weights a_st = L^d of cells that differ in d columns, N_ks = sum_t a_st n_kt, p_ks = N_ks / sum_t N_kt,
    and m_ks = sum_t a_st n_kt y_kt / N_ks. The divisor of S is N minus the sum of n_ks / N_ks over cells and
    classes. At L = 1, or at any L if no column is a category, it is N - K and the rule equals the `lda` rule
    for the numeric columns. Boolean columns are categories.

    The choice of L keeps S fixed while rows are left out. `leave_one_out()` computes everything except L and
    the prior again without each row, and folds also choose L again.

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
    candidates = _read_smoothings(smoothing, grid)
    design_rows = read_rows(formula, data, weights=weights, levels=levels, functions=functions)
    design_rows = replace(design_rows, design=level_design(design_rows.design))
    design_rows, stats = reading.usable_rows(design_rows, "diagonal", na_action)
    layout = cell_layout(design_rows)
    if not len(layout.numeric_positions):
        raise DataError(
            "location() requires a numeric column in addition to the categories.",
            hint="Add a numeric column, or use naive_bayes() or lda().",
        )
    cells = cell_moments(design_rows, layout)
    priors, estimated = reading.read_prior(prior, design_rows.design.levels, stats.counts)
    fit_with_smoothing = partial(fit_location, stats, cells, layout, priors, estimated_prior=estimated)
    if smoothing is None and layout.sizes:
        fit, path = _choose_smoothing(fit_with_smoothing, design_rows, candidates)
    else:
        fit = fit_with_smoothing(candidates[0] if layout.sizes else 1.0)
        path = None
    if fit is None:
        raise _singular_error(design_rows, cells, layout, candidates[0])
    spec = LocationSpec(() if path is None else tuple(path["smoothing"].tolist()))
    return LocationResults(spec.fit(fit, design_rows, options, path=path))


def _singular_error(
    design_rows: DesignRows, cells: ClassMoments, layout: CellLayout, smoothing: float
) -> CollinearError:
    """Return the error for a singular covariance within cells, which names constant or collinear columns.

    Parameters
    ----------
    design_rows : DesignRows
        The rows, for names.
    cells : ClassMoments
        Moments of the numeric columns by class and cell.
    layout : CellLayout
        Which columns are numeric, and the levels of the others.
    smoothing : float
        Smoothing of the fit that failed.

    Returns
    -------
    CollinearError
        It names columns that are collinear over all cells, else within cells; without such columns there are
        too few observations.
    """
    names = tuple(design_rows.terms[j] for j in layout.numeric_positions.tolist())
    if dependent_columns := dependent_location_columns(cells, layout, 1.0):
        return reading.collinear_error(
            dependent_columns, names, alternative="fit rda() or logistic() to all columns"
        )
    if dependent_columns := dependent_location_columns(cells, layout, smoothing):
        return reading.collinear_error(
            dependent_columns, names, "within cells", alternative="pass a larger smoothing="
        )
    return CollinearError(
        f"There are too few observations for the covariance matrix of {reading.join_labels(names)} within "
        "cells.",
        hint="Leave out columns, or pass a larger smoothing=.",
    )


def _read_smoothings(smoothing: Any, grid: Any) -> list[float]:
    """Validate the options; return a list of the given smoothing, or else of the candidates.

    Raises DataError if both are given, or a value is not above 0 and at most 1.
    """
    alternative = ", or None to have it chosen"
    if smoothing is not None:
        if grid is not None:
            raise DataError("grid= cannot be combined with smoothing=.", hint="Leave out one of the two.")
        return [reading.check_number("smoothing", smoothing, 0, 1, ends="(]", also=alternative)]
    return (
        list(SMOOTHING_CANDIDATES) if grid is None else reading.check_grid(grid, "smoothing", 0, 1, ends="(]")
    )


def cell_layout(design_rows: DesignRows) -> CellLayout:
    """Return the layout of the cells: which columns of a `level_design` are categories, and their levels.

    `design_rows` contains one column of level positions for each category. Raises NotSupportedError if there
    are more than `MAX_CELL_MEANS` means.
    """
    sizes = dict(zip(*level_terms(design_rows.design), strict=True))
    layout = CellLayout(np.array([sizes.get(term, 0) for term in design_rows.terms], dtype=np.intp))
    n_cells = 1
    for size in layout.sizes:
        n_cells *= size
    n_means = n_cells * len(design_rows.design.levels) * (len(layout.numeric_positions) + 1)
    if n_means > MAX_CELL_MEANS:
        raise NotSupportedError(
            f"The categories have {n_cells:,} combinations. Their means in all classes are {n_means:,} "
            f"values, more than the limit of {MAX_CELL_MEANS:,}.",
            hint="Use fewer categorical columns, or merge rare levels.",
        )
    return layout


def cell_moments(design_rows: DesignRows, layout: CellLayout) -> ClassMoments:
    """Compute the moments of the numeric columns by class and cell, with a pooled scatter matrix.

    With S cells, the group of class k and cell s has position k * S + s. The rows are read once.
    """
    count = len(design_rows.design.levels) * layout.n_cells
    with Progress(0, "moments of the cells"):
        return gather(CellRows(design_rows, layout), n_classes=count, n_columns=len(layout.numeric_positions))


def _choose_smoothing(
    fit_with_smoothing: Callable[[float], LocationFit | None],
    design_rows: DesignRows,
    candidates: Sequence[float],
) -> tuple[LocationFit | None, pd.DataFrame | None]:
    """Choose the largest smoothing with the smallest leave-one-out error.

    Parameters
    ----------
    fit_with_smoothing : callable
        Function of a smoothing that returns the fit, or None if the covariance is singular.
    design_rows : DesignRows
        The rows, which are read once.
    candidates : sequence of float
        Smoothings.

    Returns
    -------
    fit : LocationFit or None
        None if the covariance is singular with each candidate.
    path : DataFrame or None
        smoothing, error, se (the standard error of the error) of the candidates whose covariance is regular;
        None without such a candidate.
    """
    fits = {smoothing: fit for smoothing in candidates if (fit := fit_with_smoothing(smoothing)) is not None}
    if not fits:
        return None, None
    first_fit = next(iter(fits.values()))
    misclassified = np.zeros((len(fits), len(first_fit.prior)))
    log_prior = log_of_prior(first_fit.prior)
    with Progress(design_rows.table.nrows, "choice of smoothing") as progress:
        for _, x, codes, weights in used_rows(design_rows):
            for i, fit in enumerate(fits.values()):
                misclassified[i] += fit.count_leave_one_out_errors(x, codes, weights, log_prior)
            progress(len(codes))
    path = error_path(
        "smoothing",
        list(fits),
        misclassified,
        first_fit.moments.counts,
        first_fit.prior,
        sampled=first_fit.estimated_prior,
    )
    return fits[largest_acceptable(path)], path


class LocationResults(ClassifierResults):
    """A fit of the location model."""

    _fit: FittedModel[LocationFit]

    @property
    def smoothing(self) -> float:
        """Weight of a row in a cell that differs from its own cell in one column: above 0, at most 1."""
        return self._fit.estimates.smoothing

    def _cell_index(self) -> pd.Index:
        """Return the index of the cells: all combinations of the levels of the categorical columns.

        It is a MultiIndex for several columns, and ["all rows"] if no column is a category.
        """
        fit = self._fit
        layout = self._fit.estimates.layout
        terms = [self.terms[j] for j in layout.categorical_positions.tolist()]
        if not terms:
            return pd.Index(["all rows"], name="cell")
        boolean = set(boolean_terms(fit.design_rows.design))
        levels_by_term = dict(
            zip(fit.design_rows.design.terms, term_levels(fit.design_rows.design), strict=True)
        )
        levels = [[False, True] if term in boolean else list(levels_by_term[term] or ()) for term in terms]
        if len(terms) == 1:
            return pd.Index(levels[0], name=terms[0])
        return pd.MultiIndex.from_product(levels, names=terms)

    def _numeric_terms(self) -> pd.Index:
        """Return the names of the numeric columns."""
        return self.terms[self._fit.estimates.layout.numeric_positions]

    @property
    def probabilities(self) -> pd.DataFrame:
        """Smoothed probability of each cell within each class, cells by classes; each column sums to one."""
        return pd.DataFrame(
            self._fit.estimates.probabilities.T, index=self._cell_index(), columns=self.classes
        )

    @property
    @with_display_formats(every="count")
    def cell_counts(self) -> pd.DataFrame:
        """Number of rows of each class in each cell, or sums of weights, cells by classes."""
        counts = self._fit.estimates.cells.counts.reshape(len(self.classes), -1).T
        return pd.DataFrame(counts, index=self._cell_index(), columns=self.classes)

    @property
    def means(self) -> pd.DataFrame:
        """Smoothed means, (class, cell) by numeric columns; the cell has an index level for each category."""
        cells = self._cell_index()
        names = list(cells.names)
        keys = [
            (label, *(cell if isinstance(cell, tuple) else (cell,)))
            for label in self.classes
            for cell in cells
        ]
        index = pd.MultiIndex.from_tuples(keys, names=["class", *names])
        values = self._fit.estimates.means.reshape(len(keys), -1)
        return pd.DataFrame(values, index=index, columns=self._numeric_terms())

    @property
    def cov(self) -> pd.DataFrame:
        """Covariance of the numeric columns about the smoothed means, common to classes and cells.

        The Notes of `location` define the divisor.
        """
        estimates = self._fit.estimates
        return covariance_frame(estimates.covariance, estimates.cells.scale, self._numeric_terms())

    @property
    @available_if()
    @with_display_formats(se="share")
    def path(self) -> pd.DataFrame:
        """Leave-one-out errors of the candidate smoothings, with fixed covariance: smoothing, error, se.

        "se" is the standard error of the error. Candidates with a singular covariance are left out.

        Raises
        ------
        NotSupportedError
            The smoothing was given, no column is a category, or the fit was loaded.
        """
        reason = "because the smoothing was set, no column is a category, or the fit was loaded"
        return stored_path(self._fit, reason, "fit without smoothing= to have it chosen")

    @with_display_formats(probability="share")
    def tidy(self) -> pd.DataFrame:
        """One row for each class, cell and numeric column.

        Columns: class, one for each category, term, rows (number or total weight in class and cell),
        probability of the cell in the class, mean.
        """
        estimates = self._fit.estimates
        terms = self._numeric_terms()
        table = self.means.index.repeat(len(terms)).to_frame(index=False)
        table["term"] = np.tile(terms.to_numpy(), len(self.means))
        table["rows"] = np.repeat(estimates.cells.counts, len(terms))
        table["probability"] = np.repeat(estimates.probabilities.ravel(), len(terms))
        return table.assign(mean=self.means.to_numpy().ravel())

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, smoothing, cells (their number), df_residual."""
        estimates = self._fit.estimates
        row = {
            "smoothing": estimates.smoothing,
            "cells": estimates.layout.n_cells,
            "df_residual": estimates.divisor,
        }
        return pd.DataFrame([self._sizes() | row])


@dataclass(frozen=True, eq=False)
class LocationSpec(ModelSpec[LocationFit]):
    """Specification of the location model.

    Attributes
    ----------
    search : tuple of float
        Candidate smoothings, from which refits choose again; empty if the smoothing was set.
    """

    name = "location"
    title = "Location model"
    results_class = LocationResults
    refit_failure = ("a class has no row, or the covariance within cells is singular", "fewer columns")
    leave_one_out_cost = 10
    chosen_options = MappingProxyType({"smoothing": "smoothing"})
    search_options = ("grid",)
    constructor = staticmethod(restore_location)
    file_moments = "diagonal"
    allows_constant = True
    # A mean of level positions is not a level.
    scores_class_means = False

    search: tuple[float, ...] = ()

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `location_sections` and `location_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return location_sections, location_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `LOCATION_PLOTS`, the `Plot` objects; the first that suits a fit is its default."""
        from discrim.models.discriminant.plots import LOCATION_PLOTS

        return LOCATION_PLOTS

    def likelihood_of(self, fit: FittedModel[LocationFit]) -> str:
        """Return "none": the model does not compute a log-likelihood `llf`."""
        return "none"

    def required_moments(self, fit: FittedModel[LocationFit]) -> None:
        """Return None: a refit needs the rows."""

    def choice_description(self, fit: FittedModel[LocationFit]) -> str:
        """Return "the smoothing" if it was chosen from the rows; else ""."""
        return "the smoothing" if self.search else ""

    def refit_to_rows(self, fit: FittedModel[LocationFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit with the same prior that repeats any choice of the smoothing, or None.

        None if a class is empty, no column is numeric, or the covariance is singular.
        """
        return _refit_rule(fit, rows, self.search)

    def refit_with_fixed(self, fit: FittedModel[LocationFit], rows: DesignRows) -> Rule | None:
        """Return the rule of a refit that keeps prior and smoothing, and estimates everything else again.

        None if a class is empty, no column is numeric, or the covariance is singular.
        """
        return _refit_rule(fit, rows, ())

    def recode(
        self, fit: FittedModel[LocationFit], rows: DesignRows, *, fixed: bool
    ) -> tuple[FittedModel[LocationFit], DesignRows]:
        """Return the fit unchanged, and the rows with each category coded by the levels that the rows have.

        It is called for rows that lack levels of the fit. `fixed` is ignored.
        """
        return fit, replace(rows, design=level_design(rows.design))


def _refit_rule(
    fit: FittedModel[LocationFit], design_rows: DesignRows, candidates: Sequence[float]
) -> Rule | None:
    """Refit to other rows and return the rule under the prior of the fit.

    Parameters
    ----------
    fit : FittedModel
    design_rows : DesignRows
        The rows.
    candidates : sequence of float
        Smoothings to choose from; if empty, the smoothing of the fit is used.

    Returns
    -------
    Rule or None
        None if a class is empty, no column is numeric, or the covariance is singular.
    """
    estimates = fit.estimates
    layout = cell_layout(design_rows)
    stats = reading.class_moments(design_rows, "diagonal")
    if (stats.rows < 1).any() or not len(layout.numeric_positions):
        return None
    cells = cell_moments(design_rows, layout)
    is_estimated = estimates.estimated_prior
    fit_with_smoothing = partial(
        fit_location, stats, cells, layout, estimates.prior, estimated_prior=is_estimated
    )
    refit = (
        _choose_smoothing(fit_with_smoothing, design_rows, candidates)[0]
        if candidates
        else fit_with_smoothing(estimates.smoothing)
    )
    return None if refit is None else refit.rule(fit.log_prior())


# ---- summary


MAX_SHOWN_CELLS = 24
"""Largest number of cells whose tables a summary shows."""


def location_sections(results: LocationResults, fit: FittedModel[LocationFit]) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header", "classes",
    "cells" (with 2 to `MAX_SHOWN_CELLS` cells), "means" (with at most `MAX_SHOWN_CELLS` cells) and "path" (if
    the smoothing was chosen).
    """
    section_functions: Sections = {"header": _header_section, "classes": headers.classes_section}
    if 1 < fit.estimates.layout.n_cells <= MAX_SHOWN_CELLS:
        section_functions = section_functions | {"cells": _cells_section}
    if fit.estimates.layout.n_cells <= MAX_SHOWN_CELLS:
        section_functions = section_functions | {"means": _means_section}
    return section_functions if fit.path is None else section_functions | {"path": _path_section}


def _header_section(results: LocationResults, fit: FittedModel[LocationFit]) -> Pairs:
    """Return the header of the summary: rows, prior, cells, smoothing and errors."""
    estimates = fit.estimates
    cells = estimates.layout.n_cells
    n_filled = int((estimates.cells.counts > 0).sum())
    choice_text = "given" if fit.path is None else "chosen by leave-one-out"
    items: list[HeaderItem] = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Cells", cells, f"{cells}, in {len(fit.classes)} classes; {n_filled} have rows"),
        HeaderItem("Smoothing", results.smoothing, f"{results.smoothing:g}, {choice_text}"),
        HeaderItem("Degrees of freedom", estimates.divisor, f"{estimates.divisor:.1f}"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _cells_section(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    """Return the section of the smoothed cell probabilities, cells by classes."""
    table = results.probabilities
    note = "Smoothed over cells that differ in few columns."
    return Section(
        "Probabilities of the cells, by class", table, "share", note=note, source="fit.probabilities"
    )


def _means_section(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    """Return the section of the smoothed means, (class, cell) by numeric columns."""
    table = results.means
    keys = [(key[0], ", ".join(map(str, key[1:]))) for key in table.index]
    table = table.set_axis(pd.MultiIndex.from_tuples(keys, names=["class", "cell"]))
    errors = np.sqrt(np.diagonal(results.cov)) / 2000
    rounding = dict(zip(table.columns, errors, strict=True))
    title = "Smoothed means by class and cell"
    return Section(title, table, column_errors=rounding, source="fit.means")


def _path_section(results: LocationResults, fit: FittedModel[LocationFit]) -> Section:
    """Return the section of the leave-one-out error and its standard error by candidate smoothing."""
    table = results.path.set_index("smoothing").rename_axis(index=None)
    formats: dict[Any, Any] = {"error": "share", "se": "share"}
    note = "The largest smoothing of smallest error is chosen; the covariance is fixed."
    title = "Leave-one-out error by smoothing"
    return Section(title, table, formats, headings=SHARED_HEADINGS, note=note, source="fit.path")


location_brief: Sections = {"classes": headers.classes_section}
"""Sections of the short summary."""
