"""What is shown of a mixture discriminant analysis: the sections of its summary, and its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.results import headers
from discrim.report.grid import INTERVAL, HeaderItem, Pairs, Section
from discrim.report.tables import Sections

if TYPE_CHECKING:
    from discrim.core.mixtures.mixture import MixtureFit
    from discrim.models.base.fit import FittedModel
    from discrim.models.mixtures.mixture import MixtureResults

BEST = 10
"""Of what BIC chose from, so many are shown of each class."""

MOST_COMPONENTS = 60
"""Components whose means are shown."""


def mixture_sections(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Sections:
    """Sections of a mixture discriminant analysis, in their order."""
    path: Sections = {} if fit.path is None else {"path": _path}
    return {"header": _header, **mixture_brief, **path}


def _header(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Pairs:
    numbers = fit.estimates
    over = "the components of all classes" if numbers.together else "those of each class"
    least = min(numbers.sizes)
    most = max(numbers.sizes)
    few = len(numbers.sizes) <= 6
    size = " + ".join(map(str, numbers.sizes)) if few else f"{least} to {most} in each class"
    size = f"{least} in each class" if least == most else size
    if fit.path is not None:
        given = fit.options["components"]
        by_class = given.values() if isinstance(given, Mapping) else [given]
        size += ", chosen by BIC" if "bic" in by_class else ", form chosen by BIC"
    completed = numbers.completed
    observed = "" if completed is None else ", observed"
    steps = "yes" if results.converged else f"no, in {numbers.maxiter} steps"
    items: list[HeaderItem] = [
        *headers.row_items(fit),
        *headers.size_items(fit),
        headers.prior_item(fit),
        HeaderItem("Components", sum(numbers.sizes), size, brief="components", options=("components",)),
        HeaderItem("Converged", results.converged, steps),
        headers.criterion_item(results, "llf", f"Log-likelihood{observed}"),
        HeaderItem("Log-lik. given the classes", results.llf_given, f"{results.llf_given:.2f}"),
        HeaderItem("Log-lik. of rows alone", results.llf_rows, f"{results.llf_rows:.2f}"),
        HeaderItem("Free parameters", results.df_model, str(results.df_model)),
        headers.criterion_item(results, "aic", "AIC"),
        headers.criterion_item(results, "bic", "BIC"),
        headers.error_item(fit, "apparent"),
        # Where leave-one-out takes steps of EM for each row, a summary does without.
        headers.error_item(fit, "loo")
        if most == 1 and not (completed and completed.incomplete)
        else headers.skipped_error_item(),
    ]
    if completed is not None:
        words = f"{completed.incomplete}, {completed.patterns} patterns"
        items.insert(2, HeaderItem("Rows completed", completed.incomplete, words))
    note = (
        f"The form of the covariances holds over {over}. The log-likelihood is of class and variables "
        "together; mclust prints that of the variables alone. Smaller AIC and BIC are better."
    )
    return headers.header(fit, items, f"{note} {headers.kept_note(fit)}".strip())


def _classes(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Section:
    table = pd.DataFrame(
        {
            "prior": results.prior,
            "rows": results.counts,
            "components": results.components,
            "covariance": results.covariance,
        }
    )
    formats: dict[Any, Any] = {
        "prior": "share",
        "rows": "count",
        "components": "count",
        "covariance": "text",
    }
    source = "fit.prior, fit.components, fit.covariance"
    note = ""
    if (results.components > 1).any():
        runs = results.runs
        table = table.join(runs)
        source = f"{source}, fit.runs"
        formats |= {"runs": "count", "reached": "count"}
        if (runs["reached"] < runs["runs"]).any():
            note = (
                "Runs of EM from different starts ended at different maxima: `reached` counts those that "
                "ended at the one shown. If they are few, try a larger starts=, or fewer components."
            )
    return Section("Classes", table, formats, note=note, source=source)


def _components(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Section:
    table = results.component_means
    table.insert(0, "share", results.shares)
    left_out = len(table) - MOST_COMPONENTS
    note = f"{left_out} more: fit.component_means." if left_out > 0 else ""
    section = Section(
        "Components: shares and means",
        table.head(MOST_COMPONENTS),
        {"share": "share"},
        note=note,
        source="fit.shares, fit.component_means, fit.covs",
    )
    worth, f = headers.worth(fit.estimates.moments)
    return headers.row_a_column(section, "components_by_column", (worth, np.append(np.nan, f)))


def _path(results: MixtureResults, fit: FittedModel[MixtureFit]) -> Section:
    path = results.path.dropna(subset=["bic"])
    best = path.sort_values("bic", kind="stable")
    if "class" in path:
        # In the order of the classes, as they are there.
        best["class"] = pd.Categorical(best["class"], list(results.classes))
        best = best.sort_values("class", kind="stable")
        best = best[best.groupby("class", observed=True).cumcount() < BEST]
    else:
        best = best.head(BEST)
    names = best["components"].astype(str) + " " + best["covariance"]
    index = pd.Index(names, name="components")
    if "class" in path:
        index = pd.MultiIndex.from_arrays([best["class"].astype(object), names], names=["class", index.name])
    table = best[["df", "llf", "bic"]].set_axis(index)
    more = f"The best of {len(path)} that were tried: fit.path. " if len(path) > len(best) else ""
    note = f"{more}BIC = df ln n - 2 llf, for the log-likelihood given the classes. The smallest is chosen."
    return Section("Choice by BIC", table, {"df": "count"}, headings=INTERVAL, note=note, source="fit.path")


mixture_brief: Sections = {"classes": _classes, "components": _components}
"""The short form: classes and components."""
