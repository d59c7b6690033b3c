"""Optimal separating hyperplane: the verb `hyperplane`, its results and certificates of separation.

Of all planes between two classes it is the one farthest from both. If the classes overlap, the error contains
a certificate with labels of rows, columns and classes. Logistic regression uses certificates too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from discrim.core.hyperplanes.hyperplane import (
    CommonPoint,
    HyperplaneFit,
    fit_hyperplane,
)
from discrim.core.hyperplanes.separation import (
    DIFFERENCE_TOLERANCE,
    Separation,
    decide_separation,
    standardize_rows,
)
from discrim.core.numerics.arrays import Codes, Floats
from discrim.core.numerics.progress import Progress
from discrim.core.rules.leave_one_out import LeaveOneOutScorer
from discrim.design.design_rows import DesignRows
from discrim.design.levels import Unseen
from discrim.design.rows import GatheredRows, used_codes
from discrim.errors import DataError, NotSupportedError, PrecisionWarning, SeparationError, warn_user
from discrim.models.base.available import available_if
from discrim.models.base.display import display_brief_summary, with_display_formats
from discrim.models.base.fit import FittedModel
from discrim.models.base.fitted_results import needs_rows
from discrim.models.base.reading import Data, NaAction, join_labels, with_public_errors
from discrim.models.results import geometry, headers
from discrim.models.results.geometry import SeparatingLines
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.result_table import as_result_table
from discrim.report.tables import Sections, Summary

TITLE_BY_KIND = {
    "complete": "A hyperplane lies between classes, with every row on its own side.",
    "quasi": "A hyperplane lies between classes, with some rows on it.",
    "overlap": "No hyperplane lies between classes.",
}
"""Titles of a certificate, by its kind."""


@display_brief_summary
class Certificate(NamedTuple):
    """Whether a hyperplane separates classes, with a proof.

    Attributes
    ----------
    kind : {"overlap", "quasi", "complete"}
        "complete" if every row lies on the side of its class, "quasi" if some rows lie on the plane, and
        "overlap" if such a plane does not exist.
    direction : DataFrame, "constant" and terms by classes
        Linear functions of the columns. At every row the function of the row's class is at least as large as
        the functions of the other classes. They are zero under overlap.
    margin : float
        The smallest difference at a row between the function of its own class and the largest other one, in
        the scale of `direction`; zero unless the separation is complete.
    on_plane : Index
        Labels of rows that lie on the planes between all classes; empty unless `kind` is "quasi".
    weights : DataFrame, rows by classes, or None
        The proof of overlap: positive weights of the difference of each row from each other class, with which
        the differences cancel. A function that separates weakly is therefore the same for all classes.
    mixture : Series by row, or None
        The same proof for two classes, by few rows: weights that sum to one in each class, with which the
        rows of both classes have the same mean. Only `hyperplane` sets it.
    message : str
        A description of the result.
    """

    kind: str
    direction: pd.DataFrame
    margin: float
    on_plane: pd.Index
    weights: pd.DataFrame | None = None
    mixture: pd.Series | None = None
    message: str = ""

    def _brief(self) -> Summary:
        """Return the short summary: kind of separation, margin, and the separating direction."""
        overlap = self.kind == "overlap"
        proof = "weights of rows" if self.weights is not None else "mixtures of rows"
        items = [
            HeaderItem("Kind", self.kind),
            HeaderItem("Proof", "", proof if overlap else "linear functions"),
            HeaderItem("Margin", self.margin, f"{self.margin:.6g}"),
            HeaderItem("Rows on the plane", len(self.on_plane)),
        ]
        section_by_key: dict[str, Any] = {"header": Pairs(TITLE_BY_KIND[self.kind], items, self.message)}
        if not overlap:
            title = "Linear functions, of which a row's own class has the largest"
            direction = self.direction.rename_axis(index=None, columns=None)
            errors = np.full(len(direction), np.inf)
            section_by_key["direction"] = Section(title, direction, errors=errors, source=".direction")
        return Summary("Separation", section_by_key)


def labelled_certificate(
    proof: Separation, to_data: Floats, design_rows: DesignRows, rows: GatheredRows
) -> Certificate:
    """Label a proof of separation or overlap with rows, columns and classes.

    Parameters
    ----------
    proof : Separation
        The proof for rows in r standardized coordinates, as `standardize_rows` returns them.
    to_data : (p + 1, r + 1) float64
        Matrix that maps coefficients of these, constant first, to coefficients of the p columns.
    design_rows : DesignRows
        The rows, for labels.
    rows : GatheredRows
        The rows that were used, with their positions.

    Returns
    -------
    Certificate
        Without `mixture` and `message`.
    """
    index = design_rows.table.index[rows.positions]
    classes = pd.Index(list(design_rows.design.levels), name=design_rows.design.response)
    names = pd.Index(["constant", *design_rows.terms], name="term")
    direction = pd.DataFrame(to_data @ proof.coef, index=names, columns=classes)
    weights = None if proof.weights is None else pd.DataFrame(proof.weights, index=index, columns=classes)
    on_plane = index[proof.on_plane] if proof.separation_type == "quasi" else index[:0]
    table = as_result_table(direction)
    return Certificate(proof.separation_type, table, proof.margin, on_plane, as_result_table(weights))


class ClassPair(NamedTuple):
    """Two classes that a hyperplane separates.

    Attributes
    ----------
    first, second : int
        Class codes, the smaller one first.
    plane_rows : (m,) int
        Positions, among the rows of the proof, of rows of the two classes that lie on the hyperplane; empty
        for complete separation.
    """

    first: int
    second: int
    plane_rows: Codes


def separated_pairs(proof: Separation, columns: Floats, codes: Codes) -> list[ClassPair]:
    """Return the pairs of classes that a separating direction separates, completely or quasi-completely.

    A pair is separated if no row is on the wrong side of its plane and at least one row is off the plane.

    A linear program satisfies its constraints only up to its tolerance. Rows within the largest violation of
    the certificate therefore count as on the plane.

    Parameters
    ----------
    proof : Separation
        Result of the linear program, with the separating direction.
    columns : (r + 1, n) float64
        The constant and the r standardized coordinates, one column for each of n rows of the table.
    codes : (n,) int
        Positions of the classes.

    Returns
    -------
    list of ClassPair
        Sorted by the larger code; empty under overlap.
    """
    eta = proof.coef.T @ columns
    differences = eta[codes, np.arange(len(codes))] - eta
    max_on_plane = (
        differences[:, proof.on_plane].max(initial=0.0) if proof.separation_type == "quasi" else 0.0
    )
    slack = max(DIFFERENCE_TOLERANCE, float(-differences.min()), float(max_on_plane))
    pairs = []
    for b in range(len(eta)):
        for a in range(b):
            rows = np.flatnonzero((codes == a) | (codes == b))
            pair_difference = np.where(codes[rows] == a, 1.0, -1.0) * (eta[a, rows] - eta[b, rows])
            if pair_difference.max() > slack:
                pairs.append(ClassPair(a, b, rows[pair_difference <= slack]))
    return pairs


MAX_PRODUCTS = 2e10
"""Largest number of products of a leave-one-out, which needs a refit for each support point."""

SUPPORT_TOLERANCE = 1e-6
"""Relative distance outside the margin within which a row counts as a support point in leave-one-out."""


@with_public_errors
def hyperplane(
    formula: str,
    data: Data,
    *,
    levels: Sequence[Any] | None = None,
    na_action: NaAction = "drop",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> HyperplaneResults:
    """Optimal separating hyperplane of two classes.

    Among the planes between the classes it is the one whose distance to the nearest row is largest. It
    minimizes ``|b|^2/2`` under ``y (x'b + b_0) >= 1`` for every row, where y is 1 for the second class and -1
    for the first.

    Parameters
    ----------
    formula : str
        Response and predictors, such as `species ~ .`; see the page on formulas.
    data : table
        Table in memory; sources that are read in chunks are refused. Distances are in the units of the
        columns: other units lead to another plane.
    levels : sequence, optional
        The classes in order; by default the order of the categories, or sorted.
    na_action : {"drop", "raise"}
        Whether rows with a missing value are dropped and counted, or are an error.
    functions : dict of str to callable, optional
        Functions that the formula may call, by name; see the page on shared arguments.

    Returns
    -------
    HyperplaneResults

    Raises
    ------
    FormulaError
        The formula cannot be read or is not allowed.
    DataError
        A column is unknown, a value is infinite, no row is left, or the classes are not two.
    SeparationError
        No plane separates the classes. The message names rows of both classes with a weighted mean in common,
        and the error's attribute `certificate` contains the weights.

    Notes
    -----
    Hastie, Tibshirani & Friedman (2009), The Elements of Statistical Learning, sec. 4.5.2, describe the
    method. The dual problem, which is to find the shortest vector between the two convex hulls, is solved
    exactly (Wolfe, 1976, Mathematical Programming 11, 128-149), and not as the limit of a soft margin.

    Examples
    --------
    >>> from discrim import hyperplane
    >>> from discrim.datasets import load_iris
    >>> iris = load_iris()
    >>> setosa = iris.assign(setosa=iris["species"] == "setosa").drop(columns="species")
    >>> fit = hyperplane("setosa ~ petal_length + petal_width", setosa)
    >>> round(fit.margin, 4), fit.support.tolist()
    (0.6519, [44, 98])
    """
    design_rows, moments, rows = geometry.read_plane_rows(formula, data, levels, na_action, functions)
    if moments.n_classes > 2:
        raise DataError(
            f"hyperplane() requires two classes, but {design_rows.design.response!r} has {moments.n_classes} "
            f"({join_labels(design_rows.design.levels)}).",
            hint="Keep the rows of two classes, or use perceptron() or logistic().",
        )
    with Progress(0, "search for the widest margin"):
        fit = fit_hyperplane(rows.x, rows.codes, moments, moments.counts / moments.total)
    if isinstance(fit, CommonPoint):
        _raise_separation_error(fit, rows, design_rows)
    return HyperplaneResults(HyperplaneSpec().fit(fit, design_rows, {}))


def _raise_separation_error(common: CommonPoint, rows: GatheredRows, design_rows: DesignRows) -> NoReturn:
    """Raise SeparationError with a certificate: the classes overlap or touch, or the margin is too small.

    The margin is too small if it is less than the rounding errors of the rows.

    Parameters
    ----------
    common : CommonPoint
        Rows of both classes whose weighted means coincide up to rounding.
    rows : GatheredRows
        The rows of the fit.
    design_rows : DesignRows
        The rows, for labels.

    Raises
    ------
    SeparationError
        Always. Its `certificate` has `mixture` unless the kind is "complete" (the margin is too small).
    """
    levels = design_rows.design.levels
    codes = rows.codes[common.rows]
    space = standardize_rows(rows.x)
    proof = decide_separation(space.columns, rows.codes, 2)
    certificate = labelled_certificate(proof, space.to_data(rows.x), design_rows, rows)
    if certificate.kind == "complete":
        ranges = np.ptp(rows.x, axis=0)
        wide, narrow = (
            design_rows.terms[int(position)] for position in (np.argmax(ranges), np.argmin(ranges))
        )
        message = (
            f"A plane separates {levels[0]!r} from {levels[1]!r}, but in the columns' units its margin is "
            f"less than the rounding of the rows: {wide!r} spreads over {ranges.max():.1e}, {narrow!r} over "
            f"{ranges.min():.1e}."
        )
        certificate = certificate._replace(message=message)
        raise SeparationError(
            message,
            hint="Rescale the columns, for example by standardize().",
            certificate=certificate,
            columns=(wide, narrow),
            classes=levels,
        )
    mixtures = []
    for k in (0, 1):
        mixed = [design_rows.table.label(int(rows.positions[i])) for i in common.rows[codes == k]]
        row_label = f"row {mixed[0]!r}" if len(mixed) == 1 else f"a mixture of rows {join_labels(mixed)}"
        mixtures.append(f"{row_label} of {levels[k]!r}")
    quasi_text = ": a plane has no row on the wrong side, but rows of both classes on it (quasi-separation)"
    message = (
        f"No plane has {levels[0]!r} on one side and {levels[1]!r} on the other"
        f"{quasi_text if certificate.kind != 'overlap' else ''}. "
        f"{mixtures[0][0].upper()}{mixtures[0][1:]} is also {mixtures[1]}."
    )
    labels = design_rows.table.index[rows.positions[common.rows]]
    mixture = pd.Series(common.weights, index=labels, name="weight")
    certificate = certificate._replace(mixture=mixture, message=message)
    raise SeparationError(
        message,
        hint="See logistic(), lda(), or perceptron() for the plane with few errors.",
        certificate=certificate,
        classes=levels,
        rows=labels,
    )


class HyperplaneResults(SeparatingLines):
    """A fitted separating hyperplane, x'coef + intercept = 0."""

    _fit: FittedModel[HyperplaneFit]

    @property
    def coef(self) -> pd.Series:
        """Coefficients of the plane, scaled to values of 1 and -1 at the nearest rows.

        Indexed by term.
        """
        return pd.Series(self._fit.estimates.plane.coef, index=self.terms, name="coef", copy=True)

    @property
    def intercept(self) -> float:
        """Value x'coef + intercept of the plane at x = 0."""
        plane = self._fit.estimates.plane
        origin = self._fit.estimates.origin
        return plane.intercept - float(origin @ plane.coef)

    @property
    def margin(self) -> float:
        """Distance from the plane to the nearest rows in the units of the columns, ``1 / |coef|``."""
        return self._fit.estimates.plane.margin

    @property
    @available_if(needs_rows("support"))
    def support(self) -> pd.Index:
        """Labels, in the index of the table, of the support points: the rows that determine the plane.

        They are at the distance of the margin and have positive multipliers.
        """
        return self._fit.require_rows("support").table.index[self._support_positions()]

    def _support_positions(self) -> Codes:
        """Return the positions of the support points in the table."""
        used = np.flatnonzero(used_codes(self._fit.require_rows("support")) >= 0)
        return used[self._fit.estimates.plane.support]

    @property
    @available_if(needs_rows("multipliers"))
    def multipliers(self) -> pd.Series:
        """Lagrange multipliers of the support points, indexed by their labels.

        They are positive; coef is the sum of y times multiplier times x over the support points, with y = 1
        for the second class and -1 for the first. Warns if they exceed the range of double precision.
        """
        values = self._fit.estimates.plane.multipliers
        if not (np.isfinite(values) & (values > 0)).all():
            warn_user(
                "The multipliers scale with the inverse square of the units of the columns, and are out of "
                "the range of double precision. Convert all columns to another unit. The plane itself is "
                "correct in any unit.",
                PrecisionWarning,
            )
        return pd.Series(values, index=self.support, name="multiplier", copy=True)

    def distance(self, data: Data | None = None, *, unseen: Unseen | None = None) -> pd.Series:
        """Signed distance of observations to the plane in the units of the columns.

        It is positive on the side of the second class.

        Parameters
        ----------
        data : table, optional
            New observations. By default the data of the fit.
        unseen : {"raise", "missing"}, optional
            Whether an unseen level is an error or a missing value; see the page on shared arguments.

        Returns
        -------
        Series
            One value for each row of the table; missing for a row with a missing value.
        """
        return self.boundary().distance(data, unseen=unseen)

    @property
    def kkt(self) -> float:
        """Largest relative violation of the Karush-Kuhn-Tucker conditions of optimality; zero is exact."""
        return self._fit.estimates.plane.residual

    @with_display_formats()
    def tidy(self) -> pd.DataFrame:
        """One row for the constant (term "constant") and each coefficient: term, estimate."""
        estimates = np.append(self.intercept, self.coef)
        return pd.DataFrame({"term": ["constant", *self.terms], "estimate": estimates})

    @with_display_formats()
    def glance(self) -> pd.DataFrame:
        """One-row table of the fit: nobs, classes, terms, margin, support (number of support points), kkt."""
        support = len(self._fit.estimates.plane.support)
        return pd.DataFrame([self._sizes() | {"margin": self.margin, "support": support, "kkt": self.kkt}])


class HyperplaneSpec(geometry.PlaneSpec[HyperplaneFit]):
    """Specification of the optimal separating hyperplane."""

    name = "hyperplane"
    title = "Optimal separating hyperplane"
    results_class = HyperplaneResults
    constructor = HyperplaneFit

    def summary_sections(self) -> tuple[Any, Any]:
        """Return `hyperplane_sections` and `hyperplane_brief`, for the full and short summary.

        The first is a function of the results and the fit that returns section functions by name. The second
        is a dict of section functions.
        """
        return hyperplane_sections, hyperplane_brief

    def plots(self) -> tuple[Any, ...]:
        """Return `HYPERPLANE_PLOTS`, the `Plot` objects; the first that suits a fit is its default."""
        from discrim.models.hyperplanes.plots import HYPERPLANE_PLOTS

        return HYPERPLANE_PLOTS

    def leave_one_out(self, fit: FittedModel[HyperplaneFit]) -> LeaveOneOutScorer:
        """Return the leave-one-out scorer: the rule of the fit for all rows except the support points.

        The plane does not depend on rows outside the margin. The scores of support points are missing, which
        makes the caller refit without each of them. Raises NotSupportedError if these refits take too long.
        """
        points = len(fit.estimates.plane.support)
        columns = min(len(fit.terms), int(fit.nobs))
        if points**2 * columns * (points**2 + fit.nobs) > MAX_PRODUCTS:
            raise NotSupportedError(
                f"Leave-one-out requires a refit to {fit.nobs} rows for each of the {points} support points, "
                "which would take too long.",
                hint='Cross-validate instead, with error_rates(["cv"]) or confusion("cv").',
            )
        rule = fit.rule()

        def scores(x: Floats, codes: Any, weights: Any) -> Floats:
            """Return the scores (m, 2) of rows by the rule of the fit; missing (both) for support points.

            `codes` and `weights` are ignored.
            """
            values = rule.scores(x)
            values[np.abs(values[:, 1]) < 1 + SUPPORT_TOLERANCE] = np.nan
            return values

        return scores

    def array_shapes(self, k: int, p: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the arrays in a file of p columns, by name; `k` is ignored.

        "origin" and "plane.coef" are (p,); "plane.support" and "plane.multipliers" are (-1,), of any length.
        """
        rows = dict.fromkeys(("plane.support", "plane.multipliers"), (-1,))
        return {"origin": (p,), "plane.coef": (p,), **rows}


MAX_SUPPORT_ROWS = 30
"""Largest number of support points that a summary shows."""


def _classes_section(results: HyperplaneResults, fit: FittedModel[Any]) -> Section:
    """Return the section of the classes: their shares of the rows, and numbers of rows."""
    table = pd.DataFrame({"share": results.prior, "n": results.counts})
    return Section("Classes", table, {"share": "share", "n": "count"}, source="fit.counts")


def _header_section(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Pairs:
    """Return the header of the summary: rows, margin, number of support points and errors."""
    boundary = results.boundary()
    items = [
        *headers.observation_items(fit),
        *headers.size_items(fit),
        HeaderItem("Margin", results.margin, f"{results.margin:.6g}", key="margin", brief="margin"),
        HeaderItem("Support points", len(fit.estimates.plane.support)),
        HeaderItem("KKT residual", results.kkt, f"{results.kkt:.1e}"),
        HeaderItem("Distance from the origin", boundary.from_origin, f"{boundary.from_origin:.6g}"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _coefficients_section(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Section:
    """Return the section of the coefficients of the plane, as fitted and scaled to length one."""
    estimates = pd.concat([pd.Series({"constant": results.intercept}), results.coef])
    table = pd.DataFrame({"coef": estimates, "of length one": estimates * results.margin})
    title = f"Plane, positive on the side of {results.classes[1]}"
    sizes = headers.score_sizes(fit.estimates.moments)
    note = "With coef the support points have the values 1 and -1; with length one, values are distances. "
    note += headers.precision_note("values", table[["coef"]], sizes, headers.MAX_SCORE_ERROR)
    errors = np.outer(headers.coefficient_errors(sizes, headers.MAX_SCORE_ERROR), [1.0, results.margin])
    return Section(title, table, errors=errors, note=note, source="fit.coef, fit.intercept")


def _support_section(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Section:
    """Return the section of the first `MAX_SUPPORT_ROWS` support points: class, multiplier, distance."""
    positions = results._support_positions()[:MAX_SUPPORT_ROWS]
    columns = {
        "class": fit.actual_labels(fit.design_rows).iloc[positions].astype(str).to_numpy(),
        "multiplier": fit.estimates.plane.multipliers[:MAX_SUPPORT_ROWS],
        "distance": results.boundary().distance().iloc[positions].to_numpy(),
    }
    table = pd.DataFrame(columns, index=results.support[:MAX_SUPPORT_ROWS])
    n_more = len(fit.estimates.plane.support) - len(table)
    note = f"{n_more} more support points: fit.multipliers." if n_more else ""
    return Section(
        "Support points", table, {"class": "text"}, note=note, source="fit.support, fit.multipliers"
    )


hyperplane_brief: Sections = {"classes": _classes_section, "coefficients": _coefficients_section}
"""Sections of the short summary: classes and coefficients of the plane."""


def hyperplane_sections(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Sections:
    """Return the section functions of the summary, by name, in their order.

    Each is a function of `results` and `fit` that returns a section. The names are "header", "classes",
    "coefficients" and, if the fit has rows, "support".
    """
    support: Sections = {"support": _support_section} if fit.has_rows else {}
    return {"header": _header_section, **hyperplane_brief, **support}
