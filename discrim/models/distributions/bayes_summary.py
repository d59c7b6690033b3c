"""What is shown of a known law: the sections of its summary, and its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.distributions.bayes_law import DensityLaw, MassLaw
from discrim.errors import NotSupportedError
from discrim.models.distributions.bayes import Known
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.models.distributions.bayes import BayesResults

LEAST = 1e-6
"""Probability of a value below which a summary leaves it to `decision`."""


def bayes_sections(results: BayesResults, known: Known) -> Sections:
    """Sections of a known law, in their order."""
    parts: Sections = {"header": _header, "classes": _classes}
    if _has_decision(results):
        parts["decision"] = _decision
    k = len(results.classes)
    if results.costs is None and k * (k - 1) // 2 <= results._MOST_PAIRS:
        parts["bounds"] = _bounds
    if results.costs is not None:
        parts["costs"] = _costs
    return parts


def bayes_brief(results: BayesResults, known: Known) -> Sections:
    """The short form: the error, and what is decided where it can be listed."""
    decision: Sections = {"decision": _decision} if _has_decision(results) else {}
    return {"header": _header, "classes": _classes, **decision}


def _has_decision(results: BayesResults) -> bool:
    try:
        return len(results.decision) > 0
    except NotSupportedError:
        return False


def _kind(law: MassLaw | DensityLaw) -> str:
    if isinstance(law, MassLaw):
        return f"table of {law.mass.shape[1]} values"
    what = "discrete distributions" if law.discrete else "densities"
    return f"{what} of one variable" if law.dim == 1 else f"{what} of rows of {law.dim}"


def _header(results: BayesResults, known: Known) -> Pairs:
    law = known.law
    what = "Error rate" if results.costs is None else "Mean cost"
    bound = f"{results.error_bound:.1e}" if results.error_bound else "0"
    items: list[HeaderItem] = [
        HeaderItem("Classes", len(results.classes), str(len(results.classes))),
        HeaderItem("Columns", len(results.columns), str(len(results.columns))),
        HeaderItem("Law", _kind(law), _kind(law)),
        HeaderItem(what, results.error_rate, f"{results.error_rate:.6g}"),
        HeaderItem("Bound on its error", results.error_bound, bound),
        HeaderItem("Computed by", results.error_method, results.error_method),
    ]
    note = ""
    if results._least().is_sampled:
        seed = "no seed" if results._seed is None else f"seed {results._seed}"
        note = (
            f"{results._draws:,} random points of each class, {seed}; the bound is half of a 99 % interval."
        )
    pairs = len(results.classes) * (len(results.classes) - 1) // 2
    if results.costs is None and pairs > results._MOST_PAIRS:
        note = f"{note} For the bounds of {pairs} pairs of classes see fit.bounds().".strip()
    response = str(results.classes.name)
    names = ", ".join(map(str, results.columns)) if isinstance(law, MassLaw) or law.dim <= 8 else "..."
    return Pairs(f"{response} given {names}", items, note)


def _classes(results: BayesResults, known: Known) -> Section:
    table = pd.DataFrame({"prior": results.prior})
    formats: dict[Any, Any] = {"prior": "share"}
    if isinstance(known.law, DensityLaw):
        table["distribution"] = [distribution_text(given) for given in known.densities.values()]
        formats["distribution"] = "text"
    return Section("Classes", table, formats, source="fit.prior, fit.densities")


def distribution_text(given: Any) -> str:
    """A distribution in a few words."""
    name = getattr(getattr(given, "dist", None), "name", None)
    if name is not None:
        arguments = [f"{value:.6g}" if np.ndim(value) == 0 else "..." for value in given.args]
        arguments += [
            f"{key}={value:.6g}" if np.ndim(value) == 0 else f"{key}=..." for key, value in given.kwds.items()
        ]
        return f"{name}({', '.join(arguments)})"
    kind = type(given).__name__
    if kind == "function":
        return f"function {given.__name__}"
    return kind.removesuffix("_frozen")


def _decision(results: BayesResults, known: Known) -> Section:
    table = results.decision
    if isinstance(known.law, DensityLaw) and known.law.on_line:
        shown = table.assign(decision=table["decision"].astype(object)).set_index("decision")
        shown.index = pd.Index(["none" if pd.isna(label) else str(label) for label in shown.index])
        note = "Between the limits the rule decides for the class named in the line."
        return Section("Regions", shown, note=note, source="fit.decision")
    if table.index.nlevels > 1:
        table = table.set_axis([", ".join(map(str, key)) for key in table.index])
    note = ""
    seen = table["probability"] if table.columns.is_unique else None
    if seen is not None and (seen < LEAST).any():
        note = f"{int((seen < LEAST).sum())} values of probability below {LEAST:g} are left out."
        table = table[seen >= LEAST]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"decision": "text"}
    if table.columns.has_duplicates:
        table = table.set_axis([*map(str, results.classes), "probability of value", "rule calls"], axis=1)
        formats = dict.fromkeys(table.columns, "share") | {"rule calls": "text"}
    return Section(
        "Posteriors by value, the value's probability, and the decision",
        table,
        formats,
        note=note,
        source="fit.decision",
    )


def _bounds(results: BayesResults, known: Known) -> Section:
    table = results.bounds()
    whole = table.iloc[-1]
    pairs = table.iloc[:-1]
    said = (
        f" For all classes together: at most {whole['chernoff']:.4g}, at least {whole['lower']:.4g}."
        if len(pairs) > 1
        else ""
    )
    note = (
        "Upper bounds pi_a^s pi_b^(1-s) rho(s): Chernoff's at the best s (the exponent), Bhattacharyya's at "
        "1/2, where distance = -ln rho."
        f"{said}"
    )
    shown = pairs.set_axis([f"{a} : {b}" for a, b in pairs.index])
    return Section("Bounds on the error of pairs of classes", shown, note=note, source="fit.bounds()")


def _costs(results: BayesResults, known: Known) -> Section:
    if results.costs is None:
        raise NotSupportedError("This law has no costs.", hint="Call bayes() with costs=.")
    return Section("Costs, actual (rows) by called (columns)", results.costs, shared=True, source="fit.costs")
