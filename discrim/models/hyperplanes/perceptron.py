"""Rosenblatt's perceptron: the verb `perceptron`, its results and its summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.hyperplanes.perceptron import MAX_COUNTED_ROWS, PerceptronFit, fit_perceptron
from discrim.core.numerics.arrays import Floats
from discrim.core.numerics.progress import Progress
from discrim.design.design_rows import DesignRows
from discrim.design.levels import unique_level_mask
from discrim.design.rows import gather_used_rows
from discrim.errors import ConvergenceWarning, DataError, NoSeparationWarning, warn_user
from discrim.models.base.display import with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import (
    Data,
    NaAction,
    check_integer,
    format_argument,
    is_number,
    join_labels,
    verb_options,
    with_public_errors,
)
from discrim.models.results import geometry, headers
from discrim.models.results.geometry import SeparatingLines
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

MAX_ABSOLUTE_VALUE = 1e150
"""Largest absolute value of a column for which products of rows and coefficients do not overflow."""

MAX_PASSES = 10**9
"""Largest number of passes over the rows; more would take too long to be useful."""

MAX_CLASSES = 1000
"""Largest number of classes. Each has a plane and passes over all rows: the time grows with the square."""

MIN_REMAINING_SHARE = 1e-6
"""Share of a column's sum of squares below which the column counts as constant without a row."""


@with_public_errors
def perceptron(
    formula: str,
    data: Data,
    *,
    step: float = 1.0,
    maxiter: int | None = None,
    seed: int | None = None,
    start: Sequence[float] | Sequence[Sequence[float]] | Mapping[str, float] | Any = None,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> PerceptronResults:
    """Rosenblatt's perceptron: rows are visited in turn, and each row on the wrong side moves the plane.

    The coefficients start from zero or from `start`. If a row x is on the wrong side, step * (1, x) is added
    to them for the second class, and subtracted for the first. With more than two classes there is a plane
    for each class against the rest, and a row is assigned to the class whose plane has the largest value.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table
        Table in memory; sources that are read in chunks are refused. The origin and the units of the columns
        matter: with columns far from zero the search takes very long, and `standardize()` in the formula
        helps.
    step : float
        Factor of the rows that are added to the coefficients. If they start from zero, it only scales them;
        with `start`, a small step makes many moves.
    maxiter : int, optional
        The largest number of passes over the rows; by default 1,000 for separable and 100 for other classes.
    seed : int, optional
        Seed that shuffles the rows before each pass. Without it the rows keep the order of the table.
    start : sequence, Series or dict, optional
        Coefficients to begin with, by default zeros. For two classes: a sequence with the constant first and
        then a number for each column, in the order of `terms`, or a Series or dict of them by name, with
        "constant" for the first. For more classes: a sequence of such ones in the order of the classes, a
        dict of them by class, or a DataFrame with a column for each class.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    PerceptronResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, or no row or only one class is left. Also a step that is not
        from 1e-300 to 1e200, a number of passes that is not positive, a negative seed, and a start that does
        not have one finite number for the constant and each column.

    Warns
    -----
    DiscrimWarning
        The classes cannot be separated, which a linear program finds beforehand, or there were too few
        passes. The answer is then found by the pocket algorithm (Gallant, 1990): the plane with the fewest
        errors on the way. With more than 500 rows the errors are counted only for the planes at the ends of
        passes and for planes that are right for more consecutive rows than the plane kept so far.

    Notes
    -----
    The algorithm is due to Rosenblatt (1958), Psychological Review 65, 386-408. Novikoff (1962) bounds the
    number of moves by (R/m)^2, with the length R of the longest row (1, x) and the largest margin m of a
    plane through the origin for these. A start of length b adds 2 b / (step m) to the bound.

    Examples
    --------
    >>> from discrim import perceptron
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> setosa = iris.assign(setosa=iris["species"] == "setosa").drop(columns="species")
    >>> fit = perceptron("setosa ~ petal_length + petal_width", setosa)
    >>> fit.converged, fit.updates, fit.planes["bound"].round().tolist()
    (True, 4, [748.0])
    """
    options = verb_options(locals())
    if not (is_number(step) and 1e-300 <= step <= 1e200):
        raise DataError(
            f"step={format_argument(step)} is not valid.",
            hint=(
                "Pass a positive number from 1e-300 to 1e200. If the coefficients start from zero, it only "
                "scales them."
            ),
        )
    if maxiter is not None:
        check_integer("maxiter", maxiter, 1, MAX_PASSES, description="a number of passes", also=", or None")
    if seed is not None:
        seed = check_integer("seed", seed, 0, also=", or None for the order of the table")
    design_rows, moments, rows = geometry.read_plane_rows(formula, data, levels, na_action, functions)
    if moments.n_classes > MAX_CLASSES:
        raise DataError(
            f"There are {moments.n_classes:,} classes, but perceptron(), which solves a linear program for "
            f"each class, supports at most {MAX_CLASSES:,}.",
            hint="Merge rare classes, or use lda(), nearest_centroid() or knn().",
        )
    sizes = np.abs(rows.x).max(axis=0)
    if sizes.max() > MAX_ABSOLUTE_VALUE / max(np.sqrt(step), 1.0):
        name = design_rows.terms[int(np.argmax(sizes))]
        raise DataError(
            f"Column {name!r} has values up to {sizes.max():.3g}, whose products would exceed the range of "
            "double precision.",
            hint=f"Write standardize({name}) in the formula, or convert the column to another unit.",
            columns=(name,),
        )
    fit = fit_perceptron(
        rows.x, rows.codes, moments, moments.counts / moments.total, step=float(step), passes=maxiter,
        seed=seed, start=_read_start(start, design_rows, float(step)),
    )  # fmt: skip
    results = PerceptronResults(PerceptronSpec().fit(fit, design_rows, options))
    _warn_if_not_separated(results, fit)
    return results


def _warn_if_not_separated(results: PerceptronResults, fit: PerceptronFit) -> None:
    """Warn if classes cannot be separated, or if the passes did not suffice to separate them.

    NoSeparationWarning names the classes of planes that are not separable, and ConvergenceWarning the classes
    of planes that are separable but did not converge. Both may be shown.
    """
    planes = results.planes
    overlapping = planes[~planes["separable"]]
    if len(overlapping):
        in_order = fit.seed is None
        hint = " Another order of the rows may find a better one: pass seed=." if in_order else ""
        counted = (
            "of all that were visited"
            if results.nobs <= MAX_COUNTED_ROWS
            else "of those whose errors were counted"
        )
        warn_user(
            f"No plane separates {_describe_classes(overlapping, results)}, so the perceptron does not "
            f"converge. The result after {overlapping['passes'].max()} passes is the plane with the fewest "
            f"errors {counted}: {join_labels(overlapping['errors'].tolist())} in {results.nobs} rows.{hint} "
            "Consider logistic() or lda().",
            NoSeparationWarning,
        )
    late = planes[planes["separable"] & ~planes["converged"]]
    if len(late):
        bounds = late["bound"].map(lambda bound: f"{bound:,.0f}" if bound < 1e9 else f"{bound:.1e}")
        bound = ", ".join(bounds.mask(late["bound"] == np.inf, "more than can be counted"))
        pair = ", or use hyperplane()" if len(results.classes) == 2 else ", or see logistic() and lda()"
        warn_user(
            f"A plane separates {_describe_classes(late, results)}, but {late['passes'].max()} passes did "
            f"not find it; at most {bound} updates are required. Pass a larger maxiter=, write "
            f"standardize() around the columns{pair}.",
            ConvergenceWarning,
        )


def _read_start(start: Any, design_rows: DesignRows, step: float) -> Floats | None:
    """Validate `start=` and return the coefficients of all planes as an array.

    Parameters
    ----------
    start : object
        None for zeros. For two classes the p + 1 coefficients of the plane: a sequence, the constant first,
        or a Series or mapping by name ("constant" and the terms). For more classes one such plane for each: a
        sequence in the order of the classes, a mapping by class, or a DataFrame with a column for each class.
    design_rows : DesignRows
        The rows, for the names of classes and terms.
    step : float
        Step of the updates; no coefficient may be larger than `MAX_ABSOLUTE_VALUE` steps in absolute value.

    Returns
    -------
    (p + 1, P) float64 or None
        Coefficients of the planes, the constant first; None for zeros. P is one for two classes, else the
        number of classes, and p the number of columns.

    Raises
    ------
    DataError
        Planes or coefficients are missing, unknown, not finite or too large.
    """
    if start is None:
        return None
    classes = list(design_rows.design.levels)
    names = ["constant", *design_rows.terms]
    if len(classes) == 2:
        planes = [start]
    elif isinstance(start, Mapping | pd.DataFrame):
        start_items = dict(start.items())
        if sorted(map(str, start_items)) != sorted(map(str, classes)) or not all(
            k in start_items for k in classes
        ):
            raise DataError(
                f"start= has planes for {join_labels(list(start_items))}.",
                hint=f"Pass a plane for each of the classes {join_labels(classes)}.",
            )
        planes = [start_items[name] for name in classes]
    else:
        if not isinstance(start, Sequence | np.ndarray) or len(start) != len(classes):
            raise DataError(
                f"start={format_argument(start)} is not valid.",
                hint=f"Pass coefficients for each of {join_labels(classes)}.",
            )
        planes = list(start)
    begin: Floats = np.column_stack([_read_plane(plane, names) for plane in planes])
    if np.abs(begin).max() / step > MAX_ABSOLUTE_VALUE:
        raise DataError(
            f"start= has values up to {np.abs(begin).max():.3g}, which is too large for step={step:g}.",
            hint="Pass a smaller start or a larger step.",
        )
    return begin


def _read_plane(plane: Any, names: list[str]) -> Floats:
    """Return the validated coefficients (p + 1,) of one plane, by name or in the order of `names`.

    `names` are "constant" and the p terms. Raises DataError if the coefficients do not match them.
    """
    if isinstance(plane, Mapping | pd.Series):
        by_name = dict(plane.items())
        if len(by_name) != len(plane) or sorted(map(str, by_name)) != sorted(names):
            raise DataError(
                f"start= has coefficients for {join_labels(list(plane.keys()))}.",
                hint=f"Pass coefficients for {join_labels(names)}.",
            )
        plane = [by_name[name] for name in names]
    try:
        coefficients = np.asarray(plane, dtype=np.float64)
    except (TypeError, ValueError):
        coefficients = np.empty(0)
    if coefficients.shape != (len(names),) or not np.isfinite(coefficients).all():
        raise DataError(
            f"start={format_argument(plane)} is not valid.",
            hint=f"Pass {len(names)} finite numbers for each plane, for {join_labels(names)}.",
        )
    return coefficients


def _describe_classes(planes: pd.DataFrame, fit: PerceptronResults) -> str:
    """Describe the classes that planes separate: "'a' from 'b'", or "'a' and 'c' from the rest".

    `planes` contains rows of `PerceptronResults.planes`, and `fit` is for the names of two classes.
    """
    if len(fit.classes) == 2:
        first, second = fit.classes.tolist()
        return f"{first!r} from {second!r}"
    return f"{join_labels(planes.index.tolist())} from the rest"


class PerceptronResults(SeparatingLines):
    """A fitted perceptron."""

    _fit: FittedModel[PerceptronFit]

    def __init__(self, fit: FittedModel[PerceptronFit]) -> None:
        super().__init__(fit)
        two = len(self.classes) == 2
        self._plane_names = pd.Index([self.classes[1]] if two else self.classes, name="plane")

    @property
    def coef(self) -> pd.DataFrame:
        """Coefficients, terms by planes.

        With two classes there is one plane, for the second; else one for each class against the rest. Values
        of the plane, x'coef + intercept, are positive on the side of the class.
        """
        return pd.DataFrame(
            self._fit.estimates.coef[1:], index=self.terms, columns=self._plane_names, copy=True
        )

    @property
    def intercept(self) -> pd.Series:
        """Values x'coef + intercept of the planes at x = 0, indexed by plane."""
        return pd.Series(self._fit.estimates.coef[0], index=self._plane_names, name="intercept", copy=True)

    @property
    @with_display_formats()
    def planes(self) -> pd.DataFrame:
        """Separability, convergence, errors and margin of each plane.

        Indexed by plane. Columns: separable, converged, passes, updates, bound (Novikoff's bound on the
        updates, missing if the classes are not separable), errors (the number of rows on the wrong side), and
        margin (the smallest distance of a row in the units of the columns, negative for a row on the wrong
        side).
        """
        names = ["separable", "converged", "passes", "updates", "errors", "margin"]
        table = pd.DataFrame(self._fit.estimates.planes[:, :6], index=self._plane_names, columns=names)
        table = table.astype({"separable": bool, "converged": bool} | dict.fromkeys(names[2:5], "int64"))
        with np.errstate(divide="ignore", over="ignore"):
            bound = np.where(table["separable"], self._fit.estimates.planes[:, 6] ** -2.0, np.nan)
        table.insert(4, "bound", bound)
        return table

    @property
    def converged(self) -> bool:
        """Whether every plane had a pass over the rows that did not move it."""
        return bool(self.planes["converged"].all())

    @property
    def separable(self) -> bool:
        """Whether the two sides of each plane can be separated, determined by a linear program."""
        return bool(self.planes["separable"].all())

    @property
    def updates(self) -> int:
        """Number of updates of the coefficients, summed over the planes."""
        return int(self.planes["updates"].sum())

    @property
    def history(self) -> pd.DataFrame:
        """Updates, errors and loss by pass.

        Indexed by (plane, pass). The columns are updates, their number in the pass, and at its end errors,
        the number of rows on the wrong side, and loss: Rosenblatt's criterion, the sum of the absolute values
        of the plane at the rows on the wrong side. The loss is missing in a file of a release that did not
        compute it.
        """
        history_values = self._fit.estimates.history.astype(np.int64)
        arrays = [self._plane_names[history_values[:, 0]], history_values[:, 1]]
        index = pd.MultiIndex.from_arrays(arrays, names=["plane", "pass"])
        table = pd.DataFrame(history_values[:, 2:], index=index, columns=["updates", "errors"])
        return table.assign(loss=self._fit.estimates.losses)

    @property
    def start(self) -> pd.DataFrame | None:
        """Coefficients of the start, "constant" and terms by planes; None for zeros."""
        begin = self._fit.estimates.start
        if begin is None:
            return None
        return pd.DataFrame(begin, index=["constant", *self.terms], columns=self._plane_names)

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for each plane and term, the constant first: plane, term, estimate."""
        table = pd.concat([self.intercept.to_frame("constant").T, self.coef])
        labels = pd.MultiIndex.from_product([self._plane_names, table.index], names=["plane", "term"])
        return pd.Series(table.to_numpy().T.ravel(), index=labels, name="estimate").reset_index()

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: sizes, separable, converged, updates, passes, step.

        The sizes are nobs, classes and terms. Updates are summed over the planes, and passes the largest.
        """
        row = self._sizes() | {"separable": self.separable, "converged": self.converged}
        row |= {"updates": self.updates, "passes": self.planes["passes"].max()}
        return pd.DataFrame([row | {"step": self._fit.estimates.step}])


class PerceptronSpec(geometry.PlaneSpec[PerceptronFit]):
    """Specification of the perceptron: its summary, plots, leave-one-out and file format."""

    name = "perceptron"
    title = "Perceptron"
    results_class = PerceptronResults
    leave_one_out_cost = 1000
    constructor = PerceptronFit

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `perceptron_sections` and `perceptron_brief`, for the full and the short summary.

        Both are dicts of section functions by name.
        """
        return perceptron_sections, perceptron_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `PERCEPTRON_PLOTS`, the `Plot` objects; the first that suits a fit is its default."""
        from discrim.models.hyperplanes.plots import PERCEPTRON_PLOTS

        return PERCEPTRON_PLOTS

    def leave_one_out(self, fit: FittedModel[PerceptronFit]) -> Floats:
        """Return the scores (n, K) of each used row by a run of the perceptron without the row.

        The predicted class has the largest score of a row. The scores are missing, which makes the
        caller refit, if without the row a column may be constant or a level or a class is missing. Raises
        NotSupportedError for a fit without rows, or if the runs take too long.
        """
        super().leave_one_out(fit)
        design_rows = fit.require_rows("leave_one_out()")
        rows = gather_used_rows(design_rows)
        with Progress(sum(fit.estimates.passes), "passes without each row, at most") as progress:
            scores = fit.estimates.leave_one_out_scores(rows.x, rows.codes, lambda: progress(1))
        is_used = np.zeros(design_rows.table.nrows, dtype=bool)
        is_used[rows.positions] = True
        has_unique_level = unique_level_mask(
            design_rows.design, design_rows.table, is_used, design_rows.functions
        )
        # Without such a row a column is, or may be, constant.
        squares = (rows.x - rows.x.mean(axis=0)) ** 2
        n = len(rows.x)
        is_sole = (squares * n / (n - 1) > (1 - MIN_REMAINING_SHARE) * squares.sum(axis=0)).any(axis=1)
        is_only_row = np.bincount(rows.codes)[rows.codes] == 1
        scores[has_unique_level[rows.positions] | is_sole | is_only_row] = np.nan
        return scores

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of k classes and p columns, by name; -1 is any length.

        With P planes, one for two classes and else k, "coef" and "start" are (p + 1, P), "planes" is (P, 7),
        "history" (-1, 4) and "losses" (-1,).
        """
        planes = k - (k == 2)
        coefficients = dict.fromkeys(("coef", "start"), (p + 1, planes))
        return {**coefficients, "planes": (planes, 7), "history": (-1, 4), "losses": (-1,)}


MAX_START_COLUMNS = 6
"""Largest number of coefficients of a start that a summary shows."""


def _header_section(results: PerceptronResults, fit: FittedModel[PerceptronFit]) -> Pairs:
    """Return the header of the summary: rows, order, step, start, convergence and the apparent error."""
    seed = fit.estimates.seed
    start = fit.estimates.start
    order = "of the table" if seed is None else f"shuffled, seed {seed}"
    start_items = []
    if start is not None:
        planes = ["(" + ", ".join(f"{number:g}" for number in plane) + ")" for plane in start.T]
        text = "; ".join(planes) if start.size <= MAX_START_COLUMNS else "given: see fit.start"
        start_items = [HeaderItem("Start", start.tolist(), text)]
    items = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        HeaderItem("Order of rows", order),
        HeaderItem("Step", fit.estimates.step, f"{fit.estimates.step:g}"),
        *start_items,
        HeaderItem("Separable", results.separable, "yes" if results.separable else "no"),
        HeaderItem("Converged", results.converged, "yes" if results.converged else "no"),
        HeaderItem("Updates", results.updates),
        headers.error_item(fit, "apparent"),
    ]
    notes = []
    if len(results.classes) > 2:
        notes.append(
            "There is a plane for each class against the rest; the class of the largest value is predicted."
        )
    if not results.converged:
        counted = "" if results.nobs <= MAX_COUNTED_ROWS else " among those that were counted"
        notes.append(f"If the updates did not end, the plane with the fewest errors is kept{counted}.")
    return Pairs(results.formula, items, " ".join(notes))


def _classes_section(results: PerceptronResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the classes: their shares of the rows, and numbers of rows."""
    table = pd.DataFrame({"share": results.prior, "n": results.counts})
    return Section("Classes", table, {"share": "share", "n": "count"}, source="fit.counts")


def _planes_section(results: PerceptronResults, fit: FittedModel[PerceptronFit]) -> Section:
    """Return the section of the planes: separability, convergence, errors and margins."""
    table = results.planes.rename_axis(index=None)
    for name in ("separable", "converged"):
        table[name] = table[name].map({True: "yes", False: "no"})
    formats: dict[Any, Any] = dict.fromkeys(["passes", "updates", "errors"], "count")
    formats |= {"separable": "text", "converged": "text", "bound": "text", "margin": "general"}
    table["bound"] = ["none" if np.isnan(bound) else f"{bound:.4g}" for bound in table["bound"]]
    note = (
        "bound is Novikoff's bound on the updates, (R/m)^2, which exists if a plane separates the classes. "
        "margin is the smallest distance from the plane, negative if an observation is on the wrong side."
    )
    return Section("Planes", table, formats, note=note, source="fit.planes, fit.history")


def _coefficients_section(results: PerceptronResults, fit: FittedModel[PerceptronFit]) -> Section:
    """Return the section of the coefficients of the planes, with the constants in the first row."""
    table = pd.concat([results.intercept.to_frame("constant").T, results.coef])
    moments = fit.estimates.moments
    within = 1e-4 * headers.min_score_sd(moments, results.coef.to_numpy())
    errors = headers.coefficient_errors(headers.score_sizes(moments), within)
    title = "Coefficients, positive on the side of the class"
    printed_table = table.rename_axis(index=None, columns=None)
    return Section(title, printed_table, errors=errors, source="fit.coef, fit.intercept")


perceptron_brief: Sections = {"planes": _planes_section, "coefficients": _coefficients_section}
"""Sections of the short summary: the search for the planes, and their coefficients."""


perceptron_sections: Sections = {"header": _header_section, "classes": _classes_section, **perceptron_brief}
"""Sections of a perceptron, in their order."""
