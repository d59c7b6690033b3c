"""What is shown of a perceptron and of a separating hyperplane: the sections of summaries, and pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.hyperplanes.perceptron import COUNTED
from discrim.models.results import headers
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.hyperplanes.hyperplane import HyperplaneFit
    from discrim.core.hyperplanes.perceptron import PerceptronFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.hyperplanes.hyperplane import HyperplaneResults
    from discrim.models.hyperplanes.perceptron import PerceptronResults

MOST_STARTED = 6
"""Numbers of a start that a summary prints."""

MOST_SUPPORT = 30
"""Support points that a summary prints."""


def _perceptron_header(results: PerceptronResults, fit: FittedModel[PerceptronFit]) -> Pairs:
    seed = fit.estimates.seed
    start = fit.estimates.start
    order = "of the table" if seed is None else f"shuffled, seed {seed}"
    begun = []
    if start is not None:
        planes = ["(" + ", ".join(f"{number:g}" for number in plane) + ")" for plane in start.T]
        text = "; ".join(planes) if start.size <= MOST_STARTED else "given: see fit.start"
        begun = [HeaderItem("Start", start.tolist(), text)]
    items = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        HeaderItem("Order of rows", order),
        HeaderItem("Step", fit.estimates.step, f"{fit.estimates.step:g}"),
        *begun,
        HeaderItem("Separable", results.separable, "yes" if results.separable else "no"),
        HeaderItem("Converged", results.converged, "yes" if results.converged else "no"),
        HeaderItem("Updates", results.updates),
        headers.error_item(fit, "apparent"),
    ]
    said = []
    if len(results.classes) > 2:
        said.append(
            "There is a plane for each class against the rest; the class of the largest value is predicted."
        )
    if not results.converged:
        counted = "" if results.nobs <= COUNTED else " among those that were counted"
        said.append(f"Where the updates did not end, the plane with the fewest errors is kept{counted}.")
    return Pairs(results.formula, items, " ".join(said))


def _classes(results: PerceptronResults | HyperplaneResults, fit: FittedModel[Any]) -> Section:
    table = pd.DataFrame({"share": results.prior, "rows": results.counts})
    return Section("Classes", table, {"share": "share", "rows": "count"}, source="fit.counts")


def _planes(results: PerceptronResults, fit: FittedModel[PerceptronFit]) -> Section:
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


def _perceptron_coefficients(results: PerceptronResults, fit: FittedModel[PerceptronFit]) -> Section:
    table = pd.concat([results.intercept.to_frame("constant").T, results.coef])
    moments = fit.estimates.moments
    within = 1e-4 * headers.score_spread(moments, results.coef.to_numpy())
    errors = headers.coefficient_errors(headers.score_sizes(moments), within)
    title = "Coefficients, positive on the side of the class"
    shown = table.rename_axis(index=None, columns=None)
    return Section(title, shown, errors=errors, source="fit.coef, fit.intercept")


perceptron_brief: Sections = {"planes": _planes, "coefficients": _perceptron_coefficients}
"""The short form: how the planes were found, and their coefficients."""

perceptron_sections: Sections = {"header": _perceptron_header, "classes": _classes, **perceptron_brief}
"""Sections of a perceptron, in their order."""


def _hyperplane_header(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Pairs:
    boundary = results.boundary()
    items = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        HeaderItem("Margin", results.margin, f"{results.margin:.6g}", key="margin", brief="margin"),
        HeaderItem("Support points", len(fit.estimates.plane.support)),
        HeaderItem("KKT residual", results.kkt, f"{results.kkt:.1e}"),
        HeaderItem("Distance from the origin", boundary.from_origin, f"{boundary.from_origin:.6g}"),
        *headers.error_items(fit),
    ]
    return headers.header(fit, items)


def _hyperplane_coefficients(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Section:
    estimates = pd.concat([pd.Series({"constant": results.intercept}), results.coef])
    table = pd.DataFrame({"coef": estimates, "of length one": estimates * results.margin})
    title = f"Plane, positive on the side of {results.classes[1]}"
    sizes = headers.score_sizes(fit.estimates.moments)
    note = "With coef the support points have the values 1 and -1; with length one, values are distances. "
    note += headers.holds_note("values", table[["coef"]], sizes, headers.SCORES)
    errors = np.outer(headers.coefficient_errors(sizes, headers.SCORES), [1.0, results.margin])
    return Section(title, table, errors=errors, note=note, source="fit.coef, fit.intercept")


def _support(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Section:
    positions = results._support_positions()[:MOST_SUPPORT]
    columns = {
        "class": fit.labels_of(fit.design_rows).iloc[positions].astype(str).to_numpy(),
        "multiplier": fit.estimates.plane.multipliers[:MOST_SUPPORT],
        "distance": results.boundary().distance().iloc[positions].to_numpy(),
    }
    table = pd.DataFrame(columns, index=results.support[:MOST_SUPPORT])
    left = len(fit.estimates.plane.support) - len(table)
    note = f"{left} more support points: fit.multipliers." if left else ""
    return Section(
        "Support points", table, {"class": "text"}, note=note, source="fit.support, fit.multipliers"
    )


hyperplane_brief: Sections = {"classes": _classes, "coefficients": _hyperplane_coefficients}
"""The short form: the plane."""


def hyperplane_sections(results: HyperplaneResults, fit: FittedModel[HyperplaneFit]) -> Sections:
    """Sections of a separating hyperplane, in their order."""
    support: Sections = {"support": _support} if fit.has_rows else {}
    return {"header": _hyperplane_header, **hyperplane_brief, **support}
