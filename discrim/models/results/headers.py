"""What the headers of all summaries say in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.errors import NotSupportedError
from discrim.frame.relearning import learns
from discrim.models.fits.arguments import listed
from discrim.models.fits.labels import missing_if_refused
from discrim.models.judging.assessment import takes_long
from discrim.models.judging.refitted_prior import prior_of_rest
from discrim.report.numbers import clean, shorten
from discrim.report.tables import Pairs, Section

if TYPE_CHECKING:
    from discrim.models.results.results import ClassifierResults

__all__ = [
    "LEFT_OUT",
    "Item",
    "Sections",
    "classes_section",
    "criterion_item",
    "dropped_note",
    "error_item",
    "error_items",
    "header",
    "instead_of",
    "number",
    "prior_item",
    "row_items",
    "size_items",
    "takes_long",
    "title",
]

Item = tuple[str, Any, str]
"""Label, value and text of a line."""

Sections = dict[str, Callable[[], Section | Pairs]]
"""Sections by name, computed where they are asked for."""

LEFT_OUT = "Error, leave-one-out"

MOST_CLASSES, MOST_NUMBERS = 1000, 2**18
"""Classes, and numbers, beyond which a table of classes by columns has no place in a summary."""

LONGEST = 1e15
"""Whole numbers up to this are written out."""


def title(fit: ClassifierResults) -> str:
    """Title of the short form."""
    return f"{fit.title}: {shorten(clean(fit.formula), 70)}"


def number(x: float) -> str:
    """A count, or a sum of weights."""
    return f"{x:.0f}" if x == round(x) and abs(x) < LONGEST else f"{x:.10g}"


def row_items(fit: ClassifierResults) -> list[Item]:
    """How many rows the fit has, and how many it was not given."""
    rows = "Rows used" if not fit._fit.blocks.weighted else "Sum of weights"
    return [
        (rows, fit.nobs, number(fit.nobs)),
        ("Rows dropped, missing", fit._fit.dropped, str(fit._fit.dropped)),
    ]


def size_items(fit: ClassifierResults) -> list[Item]:
    """How many classes and columns there are."""
    items: list[Item] = [
        ("Classes", len(fit.classes), str(len(fit.classes))),
        ("Columns", len(fit.terms), str(len(fit.terms))),
    ]
    gone = fit._fit.blocks.constant
    if gone:
        items.append(("Left out, constant", list(gone), shorten(clean(listed(gone, most=2)), 40)))
    return items


def prior_item(fit: ClassifierResults) -> Item:
    """Where the prior is from."""
    prior = "class proportions" if fit._fit.numbers.estimated_prior else "given"
    return "Prior", prior, prior


def error_item(fit: ClassifierResults, method: Any, label: str) -> Item:
    """An error rate, where the fit has it, and has it soon."""
    if takes_long(fit._fit) and not (method == "apparent" and method in fit._fit.cache):
        return label, np.nan, "see error_rates()"
    try:
        row = fit.error_rates([method]).iloc[0]
    except NotSupportedError:
        return label, np.nan, "not available"
    if not row["total"] > 0:
        return label, np.nan, "not available"
    wrong, total = number(row["wrong"]), number(row["total"])
    return label, float(row["estimate"]), f"{100 * row['estimate']:.1f} %  ({wrong}/{total})"


def error_items(fit: ClassifierResults) -> list[Item]:
    """The error rates of a fit that can leave each row out without a search."""
    return [error_item(fit, "apparent", "Error, apparent"), error_item(fit, "loo", LEFT_OUT)]


def instead_of(fit: ClassifierResults, heading: str, source: str) -> Section | None:
    """In the place of a table of classes by columns that is too long to be made for a few of its lines."""
    classes, columns = len(fit.classes), len(fit.terms)
    if classes <= MOST_CLASSES or classes * columns <= MOST_NUMBERS:
        return None
    note = f"{classes:,} classes by {columns:,} columns: {source}."
    return Section(heading, pd.DataFrame(), "text", note=note, source=source)


def criterion_item(fit: ClassifierResults, name: str, label: str) -> Item:
    """A likelihood, or a criterion, where the model has it."""
    value = missing_if_refused(fit, name)
    return label, value, "not available" if np.isnan(value) else f"{value:.2f}"


def classes_section(fit: ClassifierResults) -> Section:
    """The classes with their prior and their rows."""
    table = pd.DataFrame({"prior": fit.prior, "rows": fit.counts})
    return Section("Classes", table, {"prior": "share", "rows": "count"}, source="fit.prior, fit.counts")


def header(fit: ClassifierResults, items: list[Item], note: str = "") -> Pairs:
    """The header, and what became of the prior where its leave-one-out error leaves rows out."""
    shown = any(label == LEFT_OUT and value == value for label, value, _ in items)
    did = {"held": "keeps the prior of all rows", "refitted": "estimates the prior anew"}.get(
        prior_of_rest(fit._fit, None)
    )
    held = [f"Leave-one-out {did}."] if did else []
    learnt = []
    if learns(fit._fit.blocks.design):
        learnt.append("what transforms of the formula learnt")
    if getattr(fit._fit.numbers, "standardize", False) is True:
        learnt.append("the standard deviations of the columns")
    if learnt:
        held.append(f"It holds {' and '.join(learnt)}; error_rates(['cv']) learns anew in each fold.")
    return Pairs(fit.formula, items, " ".join([note, *held]).strip() if shown else note)


def dropped_note(fit: ClassifierResults, where: str) -> str:
    """What is said of columns that were dropped for others; empty where none were."""
    gone = fit._fit.blocks.collinear
    return f"Dropped, collinear {where}: {listed(gone)}." if gone else ""
