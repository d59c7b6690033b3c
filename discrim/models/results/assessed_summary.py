"""The sections of the summary of an assessment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from discrim.frame.categories import shown
from discrim.models.fits.arguments import listed
from discrim.models.results.assessed import MOST_PAIRED, Assessment
from discrim.report.tables import Pairs, Section, Summary, summarize

__all__ = ["summary"]

MOST_IN_FULL = 6
"""Classes up to which each figure of a class is shown with its interval."""


def summary(found: Assessment, sections: Sequence[str] | None = None) -> Summary:
    """Header, figures of all classes, of each, of pairs, Brier's score, confusion."""
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: _header(found),
        "overall": lambda: _overall(found),
        "classes": lambda: _classes(found),
    }
    if 2 < len(found.classes) <= MOST_PAIRED:
        parts["pairs"] = lambda: _pairs(found)
    if found._rows.posteriors:
        parts["brier"] = lambda: _brier(found)
    parts["confusion"] = lambda: Section(
        "Actual classes (rows) by predicted classes",
        found.confusion.rename_axis(index=None, columns=None),
        "count",
        source=".confusion",
    )
    return summarize(f"Assessment: {found._fit.title.lower()}", parts, sections)


def _header(found: Assessment) -> Pairs:
    rows = found._rows
    prior = "classes as the rows have them" if found.prior is None else "another, below"
    items: list[tuple[str, Any, str]] = [
        ("Sum of weights" if rows.weighted else "Rows judged", found.nobs, f"{found.nobs:.10g}"),
        ("Rows without a class", found.unlabelled, str(found.unlabelled)),
        ("Rows without a prediction", found.unpredicted, str(found.unpredicted)),
        ("Weighted by the prior", prior, prior),
    ]
    notes = [f"Judged: {rows.way}."]
    if found.prior is not None and len(found.prior) <= MOST_IN_FULL:
        shares = ", ".join(f"{shown(label)} {share:.4g}" for label, share in found.prior.items())
        notes.append(f"The prior that figures are weighted by: {shares}.")
    elif found.prior is not None:
        notes.append("The prior that figures are weighted by: .prior.")
    if len(found.classes) == 2:
        notes.append(f"Of the two classes {shown(found.classes[1])} is the positive one.")
    if found.absent:
        one = len(found.absent) == 1
        notes.append(
            f"No row is of class {listed(found.absent)}: what needs its rows is missing, and means over "
            "classes leave it out."
            if one
            else f"No row is of the classes {listed(found.absent)}: what needs their rows is missing, and "
            "means over classes leave them out."
        )
    return Pairs(found._fit.formula, items, " ".join(notes))


def _headings(found: Assessment) -> dict[str, str]:
    tail = (1 - found._level) / 2
    return {"se": "std err", "low": f"[{tail:.4g}", "high": f"{1 - tail:.4g}]"}


def _overall(found: Assessment) -> Section:
    table = found.overall
    notes = []
    if "AUC" in table.index:
        of = (
            f"The area is that of {shown(found.classes[1])} against {shown(found.classes[0])} (DeLong)."
            if len(found.classes) == 2
            else "The area is the mean of those of all pairs of classes (Hand & Till, 2001)."
        )
        notes.append(of)
    if found._rows.posteriors:
        notes.append(
            "Brier's score is the sum over classes" + (", twice that of one." if _two(found) else ".")
        )
        if table["estimate"]["log loss"] == float("inf"):
            notes.append("The log loss is infinite: some row has probability zero in its own class.")
        slope = table["estimate"]["calibration slope"]
        said = (
            "The slope is below one where probabilities are too sure, and above one where they are "
            "too cautious"
        )
        if pd.isna(slope):
            said += (
                "; it is missing, because probabilities separate the classes, some are zero, or "
                "classes lack rows"
            )
        notes.append(f"{said}.")
    return Section(
        "All classes",
        table.rename_axis(None),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(found),
        note=" ".join(notes),
        source=".overall",
    )


def _two(found: Assessment) -> bool:
    return len(found.classes) == 2


def _classes(found: Assessment) -> Section:
    table = found.by_class
    given = "" if found.prior is None else " under that prior"
    note = (
        f"Predictive values are shares of the rows that are given the class, or another class{given}; "
        "areas are those of the class against the rest, as the rows have it, with DeLong's standard "
        "errors."
    )
    if len(found.classes) > MOST_IN_FULL:
        measures = table.index.get_level_values("measure")[: len(table) // len(found.classes)]
        wide = table["estimate"].unstack(sort=False).loc[found.classes, list(measures)]
        return Section(
            "Each class against the rest",
            wide.rename_axis(index=None, columns=None),
            dict.fromkeys(wide.columns, "share"),
            headings={"positive predictive value": "PPV", "negative predictive value": "NPV"},
            note=f"{note} Standard errors and intervals: .by_class.",
            source=".by_class",
        )
    return Section(
        "Each class against the rest",
        table.rename_axis([None, None]),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(found),
        note=note,
        source=".by_class",
    )


def _pairs(found: Assessment) -> Section:
    table = found.pairs
    return Section(
        "Areas under the ROC curves of pairs of classes",
        table.rename_axis([None, None]),
        dict.fromkeys(table.columns, "share"),
        headings=_headings(found),
        source=".pairs",
    )


def _brier(found: Assessment) -> Section:
    formats: dict[Any, Any] = dict.fromkeys(found.brier.columns, "share") | {"bins": "count"}
    return Section(
        "Brier's score and its parts",
        found.brier.rename_axis(None),
        formats,
        note=f"In at most {found._bins} bins of even counts: brier = reliability - resolution + uncertainty "
        "+ within variance - within covariance, exactly (Murphy, 1973; Stephenson et al., 2008).",
        source=".brier",
    )
