"""What a summary says of robust estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.report.numbers import clean, shorten
from discrim.report.tables import Section

if TYPE_CHECKING:
    from discrim.models.normal.lda_results import LDAResults
    from discrim.models.normal.qda import QDAResults

__all__ = ["estimate_text", "flagged_section", "robust_pairs"]

MOST_NAMED = 8
"""Flagged rows that a summary names."""


def estimate_text(fit: LDAResults | QDAResults) -> str:
    """How the covariance was estimated, in a few words."""
    robust = fit._fit.numbers.robust
    if robust is None:
        return ""
    if robust.method == "mcd":
        return "minimum determinant"
    return f"t, nu = {robust.nu:.4g}{'' if robust.inflated else ', scale'}"


def robust_pairs(fit: LDAResults | QDAResults) -> list[tuple[str, Any, str]]:
    """Lines of a header: how the robust estimates were made."""
    robust, moments = fit._fit.numbers.robust, fit._fit.numbers.moments
    em = fit._fit.numbers.em
    if em is not None:
        steps = f"{em.steps}{'' if em.converged else ', not converged'}"
        return [
            ("Rows completed", em.incomplete, f"{em.incomplete}, {em.patterns} patterns"),
            ("Sweeps of EM", em.steps, steps),
        ]
    if robust is None:
        return []
    if robust.method == "t":
        chosen = "estimated" if robust.estimated_nu else "given"
        lines: list[tuple[str, Any, str]] = [
            ("Degrees of freedom", robust.nu, f"{robust.nu:.4g}, {chosen}"),
            ("Steps of the search", robust.steps, str(robust.steps)),
        ]
    else:
        sizes = robust.subset_sizes(moments)
        rows = (
            moments.counts if len(sizes) == len(moments.counts) else np.append(moments.counts, moments.total)
        )
        shares = sizes / rows
        text = f"{100 * shares.min():.0f} to {100 * shares.max():.0f} % of rows"
        lines = [("Subsets h", sizes.astype(int).tolist(), text)]
    bears = robust.breakdown(moments)
    return [*lines, ("Breakdown, a class", bears, f"{100 * bears:.0f} % of its rows")]


def flagged_section(fit: LDAResults | QDAResults) -> Section:
    """Rows beyond the cutoff by class, the farthest of them by name."""
    table = fit.robust_distances()
    flagged = table[table["flagged"]].sort_values("distance", ascending=False, kind="stable")
    counted = pd.DataFrame(index=fit.classes.rename(None))
    by_class = table.dropna(subset="distance").groupby("class", observed=False)
    counted["rows"] = by_class.size().reindex(counted.index, fill_value=0)
    counted["flagged"] = by_class["flagged"].sum().reindex(counted.index, fill_value=0)
    counted["share"] = counted["flagged"] / counted["rows"]
    counted["farthest"] = by_class["distance"].max().reindex(counted.index)
    cutoff = float(table["cutoff"].iloc[0])
    note = f"Farther from their class's mean than {cutoff:.4g}, beyond which 2.5 % of normal rows lie."
    if len(flagged):
        shown = [
            f"{shorten(clean(str(label)), 20)} ({distance:.3g})"
            for label, distance in zip(flagged.index[:MOST_NAMED], flagged["distance"], strict=False)
        ]
        more = f" and {len(flagged) - MOST_NAMED} more" if len(flagged) > MOST_NAMED else ""
        note += f" The farthest: {', '.join(shown)}{more}."
    formats: dict[Any, Any] = {"rows": "count", "flagged": "count", "share": "share", "farthest": "general"}
    return Section("Rows flagged", counted, formats, note=note, source="fit.robust_distances()")
