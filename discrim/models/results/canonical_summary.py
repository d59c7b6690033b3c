"""The sections of a canonical analysis' summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.results.printed import SCORES, coefficient_errors, holds_note, score_sizes
from discrim.report.tables import Section, Summary, summarize

if TYPE_CHECKING:
    from discrim.models.results.canonical import CanonicalResults

__all__ = ["summary"]


def summary(result: CanonicalResults, sections: Sequence[str] | None = None) -> Summary:
    """The tables of a canonical analysis, or some of them."""
    title = f"Canonical discriminant analysis: {result._fit.formula}"
    return summarize(title, _sections(result), pick=sections)


def _sections(result: CanonicalResults) -> dict[str, Callable[[], Section]]:
    """Sections of a canonical analysis, in their order."""
    if not len(result.eigenvalues):
        nothing = Section("Canonical correlations", pd.DataFrame(), note="The class means do not differ.")
        return {"correlations": lambda: nothing}
    parts = {
        "correlations": lambda: _correlations(result),
        "dimensions": lambda: _dimensions(result),
        "raw": lambda: _raw(result),
        "standardized": lambda: _by_term(
            "Standardized coefficients (pooled standard deviations within classes)",
            result.standardized,
            ".standardized",
        ),
        "standardized_total": lambda: _by_term(
            "Standardized coefficients (total standard deviations)",
            result.standardized_total,
            ".standardized_total",
        ),
        "structure_within": lambda: _by_term(
            "Structure: correlations with the scores within classes (as Stata, SPSS)",
            result.structure("within"),
            '.structure("within")',
        ),
        "structure_total": lambda: _by_term(
            "Structure: total correlations with the scores (as R's candisc)",
            result.structure("total"),
            '.structure("total")',
        ),
        "structure_between": lambda: _by_term(
            "Structure: correlations of the class means",
            result.structure("between"),
            '.structure("between")',
        ),
        "centroids": lambda: _by_term(
            "Class means on the canonical variates", result.centroids.rename_axis(index=None), ".centroids"
        ),
    }
    if result._numbers.moments.total <= 1:
        # No variance over all rows is defined by weights that sum to so little.
        del parts["standardized_total"]
    return parts


def _by_term(title: str, table: pd.DataFrame, source: str) -> Section:
    return Section(title, table, shared=True, source=source)


def _correlations(result: CanonicalResults) -> Section:
    parts = [result.eigenvalues, result.proportion, result.cumulative, result.correlations]
    formats: dict[Any, Any] = {"proportion": "share", "cumulative": "share", "correlation": "share"}
    return Section("Eigenvalues of W^-1 B and canonical correlations", pd.concat(parts, axis=1), formats)


def _dimensions(result: CanonicalResults) -> Section:
    tests = result.dimension_tests
    table = tests.astype({"df1": object, "df2": object, "df": object})
    for name in ("df1", "df2", "df"):
        table[name] = [f"{x:.6g}" for x in tests[name]]
    formats: dict[Any, Any] = {"wilks": "share", "F": "z", "df1": "text", "df2": "text", "p": "tail"}
    formats |= {"chi2": "z", "df": "text", "p_chi2": "tail"}
    return Section(
        "Tests that this and all later eigenvalues are zero",
        table,
        formats,
        note="Wilks' lambda with Rao's F; Bartlett's chi-square." + _without_freedom(result),
        source=".dimension_tests",
    )


def _without_freedom(result: CanonicalResults) -> str:
    tests, total = result.dimension_tests, result._numbers.moments.total
    if tests["F"].notna().all() and tests["chi2"].notna().all():
        return ""
    return (
        f" Missing where rows of a total weight of {total:.6g} leave no degrees of freedom for a test of "
        f"{len(result._fit.terms)} columns."
    )


def _raw(result: CanonicalResults) -> Section:
    table = pd.concat([result.constant.to_frame("constant").T, result.raw])
    sizes = score_sizes(result._numbers.moments)
    note = f"{result._system.described}. {holds_note('scores', table, sizes, SCORES)}"
    errors = coefficient_errors(sizes, SCORES)
    return Section("Raw coefficients", table, errors=errors, note=note, source=".raw, .constant")
