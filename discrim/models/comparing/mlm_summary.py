"""The sections of the summaries of a multivariate linear model, and of the canonical variates of a term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from discrim.models.fits.reading import asked_type
from discrim.report.grid import Pairs, Section
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.models.comparing.mlm import MLMResults
    from discrim.models.comparing.term_model import TermCanonicalResults


ROMAN = {1: "I", 2: "II", 3: "III"}

EACH = {1: "after the terms before it", 2: "after all terms that do not contain it", 3: "after all others"}

NO_NAMES: Any = [None, None]

TESTS: dict[Any, Any] = {
    **{"df": "count", "F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"},
    "eta2": "share",
}


def summary(found: MLMResults, sections: Sequence[str] | None = None, type: int | str = 2) -> Summary:
    """Header, one test of each term, all four, each response alone, coefficients."""
    kind = asked_type(type)
    given = "" if kind == 2 else f", type={kind}"
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: _header(found),
        "tests": lambda: Section(
            f"Tests of the terms, type {ROMAN[kind]}: Pillai's trace",
            found.tests(type=kind),
            TESTS,
            headings={"F_is": "F is", "eta2": "partial eta2"},
            note=_note(found, kind),
            source=f".tests({given[2:]})",
        ),
        "manova": lambda: Section(
            f"All four statistics, type {ROMAN[kind]}",
            found.manova(type=kind).rename_axis(index=NO_NAMES),
            TESTS,
            headings={"F_is": "F is"},
            source=f".manova({given[2:]})",
        ),
        "anova": lambda: Section(
            f"Each response alone, type {ROMAN[kind]}",
            found.anova(kind).rename_axis(index=NO_NAMES),
            {"F": "z", "df1": "general", "df2": "general", "p": "tail", "partial_R2": "share"},
            source=f".anova({given[2:]})",
        ),
    }
    if found._model.lacking() is None:
        parts["params"] = lambda: Section(
            "Coefficients (contrasts that sum to zero)", found.params, source=".params, .tidy()"
        )
    parts["cov_resid"] = lambda: Section(
        "Covariance of the residuals", found.cov_resid, triangle=True, source=".cov_resid"
    )
    return summarize("Multivariate linear model", parts, pick=sections)


def _header(found: MLMResults) -> Pairs:
    model = found._model
    rows = "Sum of weights" if model.blocks.weighted else "Rows used"
    items: list[tuple[str, Any, str]] = [
        (rows, found.nobs, f"{found.nobs:.10g}"),
        ("Responses", len(found.responses), str(len(found.responses))),
        ("Rows dropped, missing", model.blocks.dropped, str(model.blocks.dropped)),
        ("Terms", len(found.terms), str(len(found.terms))),
        ("Residual df", found.df_resid, f"{found.df_resid:.10g}"),
        ("Columns of the model", model.numbers.rank, str(model.numbers.rank)),
    ]
    return Pairs(found.formula, items)


def _note(found: MLMResults, kind: int) -> str:
    note = f"Type {ROMAN[kind]}: each term {EACH[kind]}."
    if kind == 3:
        note += " Factors are coded by contrasts that sum to zero."
    lacking = found._model.lacking()
    if lacking is not None:
        note += f" {found._model.lacking_said(lacking)}: it has fewer degrees of freedom than columns."
    return note


def canonical_summary(found: TermCanonicalResults, sections: Sequence[str] | None = None) -> Summary:
    """The tables of the canonical variates of a term."""
    title = f"Canonical discriminant analysis of {found.term}: {found._model.blocks.design.formula}"
    if not len(found.eigenvalues):
        nothing = Section("Canonical correlations", pd.DataFrame(), note="The term explains nothing.")
        return summarize(title, {"correlations": lambda: nothing}, pick=sections)
    parts: dict[str, Callable[[], Section]] = {
        "correlations": lambda: _correlations(found),
        "dimensions": lambda: _dimensions(found),
        "raw": lambda: _table(
            "Raw coefficients",
            pd.concat([found.constant.to_frame("constant").T, found.raw]),
            ".raw, .constant",
            "Residuals of the scores have unit variance; signs: largest standardized coefficient positive.",
        ),
        "standardized": lambda: _table(
            "Standardized coefficients (standard deviations of the residuals)",
            found.standardized,
            ".standardized",
        ),
        "standardized_total": lambda: _table(
            "Standardized coefficients (total standard deviations)",
            found.standardized_total,
            ".standardized_total",
        ),
        "structure_within": lambda: _table(
            "Structure: correlations of the residuals with those of the scores",
            found.structure("within"),
            '.structure("within")',
        ),
        "structure_total": lambda: _table(
            "Structure: total correlations with the scores (as R's candisc)",
            found.structure("total"),
            '.structure("total")',
        ),
        "structure_between": lambda: _table(
            "Structure: correlations of what the term explains",
            found.structure("between"),
            '.structure("between")',
        ),
    }
    if len(found.centroids):
        parts["centroids"] = lambda: _table(
            "Mean scores of the levels, as observed", found.centroids, ".centroids"
        )
    return summarize(title, parts, pick=sections)


def _table(title: str, table: pd.DataFrame, source: str, note: str = "") -> Section:
    return Section(title, table, shared=not note, source=source, note=note)


def _correlations(found: TermCanonicalResults) -> Section:
    parts = [found.eigenvalues, found.proportion, found.cumulative, found.correlations]
    formats: dict[Any, Any] = {"proportion": "share", "cumulative": "share", "correlation": "share"}
    return Section("Eigenvalues of E^-1 H and canonical correlations", pd.concat(parts, axis=1), formats)


def _dimensions(found: TermCanonicalResults) -> Section:
    tests = found.dimension_tests
    table = tests.astype({"df1": object, "df2": object, "df": object})
    for name in ("df1", "df2", "df"):
        table[name] = [f"{x:.6g}" for x in np.asarray(tests[name])]
    formats: dict[Any, Any] = {"wilks": "share", "F": "z", "df1": "text", "df2": "text", "p": "tail"}
    formats |= {"chi2": "z", "df": "text", "p_chi2": "tail"}
    note = "Wilks' lambda with Rao's F; Bartlett's chi-square."
    title = "Tests that this and all later eigenvalues are zero"
    return Section(title, table, formats, note=note, source=".dimension_tests")
