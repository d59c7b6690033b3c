"""The sections of the summary of a known law."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.core.law.bayes_law import DensityLaw, MassLaw
from discrim.errors import NotSupportedError
from discrim.report.tables import Pairs, Section, Summary

if TYPE_CHECKING:
    from discrim.models.law.bayes_results import BayesResults

__all__ = ["bayes_brief", "bayes_sections"]

Parts = dict[str, Callable[[], Section | Pairs]]

LEAST = 1e-6
"""Probability of a value below which a summary leaves it to `decision`."""


def bayes_sections(fit: BayesResults) -> Parts:
    """Sections of a known law, in their order."""
    parts: Parts = {"header": partial(_header, fit), "classes": partial(_classes, fit)}
    if _has_decision(fit):
        parts["decision"] = partial(_decision, fit)
    k = len(fit.classes)
    if fit.costs is None and k * (k - 1) // 2 <= fit.MOST_PAIRS:
        parts["bounds"] = partial(_bounds, fit)
    if fit.costs is not None:
        parts["costs"] = partial(_costs, fit)
    return parts


def bayes_brief(fit: BayesResults) -> Summary:
    """The short form: the error, and what is decided where it can be listed."""
    parts: dict[str, Section | Pairs] = {"header": _header(fit), "classes": _classes(fit)}
    if _has_decision(fit):
        parts["decision"] = _decision(fit)
    return Summary(fit.title, parts)


def _has_decision(fit: BayesResults) -> bool:
    try:
        return len(fit.decision) > 0
    except NotSupportedError:
        return False


def _kind(fit: BayesResults) -> str:
    law = fit._known.law
    if isinstance(law, MassLaw):
        return f"table of {law.mass.shape[1]} values"
    what = "discrete distributions" if law.discrete else "densities"
    return f"{what} of one variable" if law.dim == 1 else f"{what} of rows of {law.dim}"


def _header(fit: BayesResults) -> Pairs:
    law = fit._known.law
    what = "Error rate" if fit.costs is None else "Mean cost"
    bound = f"{fit.error_bound:.1e}" if fit.error_bound else "0"
    items: list[tuple[str, Any, str]] = [
        ("Classes", len(fit.classes), str(len(fit.classes))),
        ("Columns", len(fit.columns), str(len(fit.columns))),
        ("Law", _kind(fit), _kind(fit)),
        (what, fit.error_rate, f"{fit.error_rate:.6g}"),
        ("Bound on its error", fit.error_bound, bound),
        ("Computed by", fit.error_method, fit.error_method),
    ]
    note = ""
    if fit.error_method.endswith("Monte Carlo"):
        seed = "no seed" if fit._seed is None else f"seed {fit._seed}"
        note = f"{fit._draws:,} random points a class, {seed}; the bound is half of a 99 % interval."
    pairs = len(fit.classes) * (len(fit.classes) - 1) // 2
    if fit.costs is None and pairs > fit.MOST_PAIRS:
        note = f"{note} For the bounds of {pairs} pairs of classes see fit.bounds().".strip()
    response = str(fit.classes.name)
    names = ", ".join(map(str, fit.columns)) if isinstance(law, MassLaw) or law.dim <= 8 else "..."
    return Pairs(f"{response} given {names}", items, note)


def _classes(fit: BayesResults) -> Section:
    table = pd.DataFrame({"prior": fit.prior})
    formats: dict[Any, Any] = {"prior": "share"}
    if isinstance(fit._known.law, DensityLaw):
        table["distribution"] = [distribution_text(given) for given in fit._known.densities.values()]
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


def _decision(fit: BayesResults) -> Section:
    table = fit.decision
    if isinstance(fit._known.law, DensityLaw) and fit._known.law.on_line:
        shown = table.assign(decision=table["decision"].astype(object)).set_index("decision")
        shown.index = pd.Index(["none" if pd.isna(label) else str(label) for label in shown.index])
        note = "Between the limits the rule decides for the class named."
        return Section("Regions", shown, note=note, source="fit.decision")
    if table.index.nlevels > 1:
        table = table.set_axis([", ".join(map(str, key)) for key in table.index])
    note, seen = "", table["probability"] if table.columns.is_unique else None
    if seen is not None and (seen < LEAST).any():
        note = f"{int((seen < LEAST).sum())} values of probability below {LEAST:g} are left out."
        table = table[seen >= LEAST]
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"decision": "text"}
    if table.columns.has_duplicates:
        table = table.set_axis([*map(str, fit.classes), "probability of value", "rule calls"], axis=1)
        formats = dict.fromkeys(table.columns, "share") | {"rule calls": "text"}
    return Section(
        "Posteriors by value, the value's probability, and the decision",
        table,
        formats,
        note=note,
        source="fit.decision",
    )


def _bounds(fit: BayesResults) -> Section:
    table = fit.bounds()
    whole, pairs = table.iloc[-1], table.iloc[:-1]
    said = (
        f" Of all classes together: at most {whole['chernoff']:.4g}, at least {whole['lower']:.4g}."
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


def _costs(fit: BayesResults) -> Section:
    if fit.costs is None:
        raise NotSupportedError("This law has no costs: call bayes() with costs=.")
    return Section("Costs, actual (rows) by called (columns)", fit.costs, shared=True, source="fit.costs")
