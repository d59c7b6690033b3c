"""The sections of the summaries of a perceptron and of a separating hyperplane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.planes.perceptron import COUNTED
from discrim.models.results.headers import (
    Sections,
    error_item,
    error_items,
    header,
    row_items,
    size_items,
    title,
)
from discrim.models.results.printed import (
    SCORES,
    coefficient_errors,
    holds_note,
    score_sizes,
    score_spread,
)
from discrim.report.tables import Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.planes.hyperplane import HyperplaneResults
    from discrim.models.planes.perceptron import PerceptronResults

__all__ = ["hyperplane_brief", "hyperplane_sections", "perceptron_brief", "perceptron_sections"]

MOST_STARTED = 6
"""Numbers of a start that a summary prints."""

MOST_SUPPORT = 30
"""Support points that a summary prints."""


def perceptron_sections(fit: PerceptronResults) -> Sections:
    """Sections of a perceptron, in their order."""
    return {
        "header": lambda: _perceptron_header(fit),
        "classes": lambda: _classes(fit),
        "planes": lambda: _planes(fit),
        "coefficients": lambda: _perceptron_coefficients(fit),
    }


def perceptron_brief(fit: PerceptronResults) -> Summary:
    """The short form: how the planes were found, and their coefficients."""
    parts = {"planes": _planes(fit), "coefficients": _perceptron_coefficients(fit)}
    return Summary(title(fit), parts)


def hyperplane_sections(fit: HyperplaneResults) -> Sections:
    """Sections of a separating hyperplane, in their order."""
    parts: Sections = {
        "header": lambda: _hyperplane_header(fit),
        "classes": lambda: _classes(fit),
        "coefficients": lambda: _hyperplane_coefficients(fit),
    }
    if fit._fit.has_rows:
        parts["support"] = lambda: _support(fit)
    return parts


def hyperplane_brief(fit: HyperplaneResults) -> Summary:
    """The short form: the plane."""
    parts = {"classes": _classes(fit), "coefficients": _hyperplane_coefficients(fit)}
    return Summary(title(fit), parts)


def _perceptron_header(fit: PerceptronResults) -> Pairs:
    seed = fit._fit.numbers.seed
    order = "of the table" if seed is None else f"shuffled, seed {seed}"
    items = [
        *row_items(fit),
        *size_items(fit),
        ("Order of rows", order, order),
        ("Step", fit._fit.numbers.step, f"{fit._fit.numbers.step:g}"),
        *_start_items(fit),
        ("Separable", fit.separable, "yes" if fit.separable else "no"),
        ("Converged", fit.converged, "yes" if fit.converged else "no"),
        ("Updates", fit.updates, str(fit.updates)),
        error_item(fit, "apparent", "Error, apparent"),
    ]
    return Pairs(fit.formula, items, _perceptron_note(fit))


def _start_items(fit: PerceptronResults) -> list[tuple[str, Any, str]]:
    """The coefficients at the beginning, where they were given."""
    begin = fit._fit.numbers.start
    if begin is None:
        return []
    planes = ["(" + ", ".join(f"{number:g}" for number in plane) + ")" for plane in begin.T]
    few = begin.size <= MOST_STARTED
    return [("Start", begin.tolist(), "; ".join(planes) if few else "given: see fit.start")]


def _perceptron_note(fit: PerceptronResults) -> str:
    said = []
    if len(fit.classes) > 2:
        said.append(
            "There is a plane for each class against the rest; a row gets the class with the largest value."
        )
    if not fit.converged:
        counted = "" if fit.nobs <= COUNTED else " of those that it counted on the way"
        said.append(
            f"Planes that did not come to rest are the pocket's: those with the fewest errors{counted}."
        )
    return " ".join(said)


def _classes(fit: PerceptronResults | HyperplaneResults) -> Section:
    table = pd.DataFrame({"share": fit.prior, "rows": fit.counts})
    return Section("Classes", table, {"share": "share", "rows": "count"}, source="fit.counts")


def _planes(fit: PerceptronResults) -> Section:
    table = fit.planes.rename_axis(index=None)
    for name in ("separable", "converged"):
        table[name] = table[name].map({True: "yes", False: "no"})
    formats: dict[Any, Any] = dict.fromkeys(["passes", "updates", "errors"], "count")
    formats |= {"separable": "text", "converged": "text", "bound": "text", "margin": "general"}
    table["bound"] = ["none" if np.isnan(bound) else f"{bound:.4g}" for bound in table["bound"]]
    note = (
        "The bound is Novikoff's on the updates, (R/m)^2; there is none where no plane separates. The margin "
        "is the least distance of a row to the plane, negative where it is on the wrong side."
    )
    return Section("Planes", table, formats, note=note, source="fit.planes, fit.history")


def _perceptron_coefficients(fit: PerceptronResults) -> Section:
    table = pd.concat([fit.intercept.to_frame("constant").T, fit.coef]).rename_axis(index=None, columns=None)
    moments = fit._fit.numbers.moments
    within = 1e-4 * score_spread(moments, fit.coef.to_numpy())
    errors = coefficient_errors(score_sizes(moments), within)
    title = "Coefficients, positive on the side of the class"
    return Section(title, table, errors=errors, source="fit.coef, fit.intercept")


def _hyperplane_header(fit: HyperplaneResults) -> Pairs:
    boundary = fit.boundary()
    items = [
        *row_items(fit),
        *size_items(fit),
        ("Margin", fit.margin, f"{fit.margin:.6g}"),
        ("Support points", len(fit._fit.numbers.plane.support), str(len(fit._fit.numbers.plane.support))),
        ("KKT residual", fit.kkt, f"{fit.kkt:.1e}"),
        ("Distance from the origin", boundary.from_origin, f"{boundary.from_origin:.6g}"),
        *error_items(fit),
    ]
    return header(fit, items)


def _hyperplane_coefficients(fit: HyperplaneResults) -> Section:
    estimates = pd.concat([pd.Series({"constant": fit.intercept}), fit.coef])
    table = pd.DataFrame({"coef": estimates, "of length one": estimates * fit.margin})
    title = f"Plane, positive on the side of {fit.classes[1]}"
    sizes = score_sizes(fit._fit.numbers.moments)
    note = "coef has the values 1 and -1 at the support points; of length one, the values are distances. "
    note += holds_note("values", table[["coef"]], sizes, SCORES)
    errors = np.outer(coefficient_errors(sizes, SCORES), [1.0, fit.margin])
    return Section(title, table, errors=errors, note=note, source="fit.coef, fit.intercept")


def _support(fit: HyperplaneResults) -> Section:
    held = fit._fit.numbers.plane.multipliers[:MOST_SUPPORT]
    labels = fit._fit.labels_of(fit._fit.blocks)
    positions = fit._support_positions()[:MOST_SUPPORT]
    table = pd.DataFrame(
        {
            "class": labels.iloc[positions].astype(str).to_numpy(),
            "multiplier": held,
            "distance": fit.distance().iloc[positions].to_numpy(),
        },
        index=fit.support[:MOST_SUPPORT],
    )
    left = len(fit._fit.numbers.plane.support) - len(table)
    note = f"{left} more support points: fit.multipliers." if left else ""
    formats: dict[Any, Any] = {"class": "text", "multiplier": "general", "distance": "general"}
    return Section("Support points", table, formats, note=note, source="fit.support, fit.multipliers")
