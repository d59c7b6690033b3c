"""What is shown of profiles and of repeated measures: summaries, and means that are joined by lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.models.base.reading import asked_type
from discrim.models.linear_model.mlm_summary import (
    HEADINGS,
    NO_NAMES,
    ROMAN,
    TESTS,
    model_header,
    note_of_type,
)
from discrim.report.grid import Pairs, Section
from discrim.report.plots.bars import draw_profiles
from discrim.report.plots.style import set_title
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes

NORMAL = "Assumes normal observations with one covariance of any form."

PROFILE = f"{NORMAL} Level and flatness have a meaning only if the profiles are parallel."

SPHERICAL = (
    "Assumes normal observations with one covariance. p assumes sphericity as well; p_GG and p_HF multiply "
    "the degrees of freedom by GG and HF, at most one."
)

UNIVARIATE: Any = {
    **{"SS": "general", "SS_error": "general", "df1": "general", "df2": "general", "F": "z"},
    **dict.fromkeys(("p", "p_GG", "p_HF"), "tail"),
}

SHARES = ("mauchly", "GG", "HF", "lowest", "eta2", "eta2_generalized")

SPHERICITY: Any = {**dict.fromkeys(SHARES, "share"), "p": "tail"}

MEANS: Any = {"mean": "general", "se": "general", "low": "general", "high": "general"}


def profile_summary(results: Any, sections: Sequence[str] | None = None) -> Summary:
    """Header, the three tests, all four statistics of each, and the profiles."""
    kind = results.type
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: model_header(results._model),
        "tests": lambda: Section(
            f"Profiles of {results.term}, type {ROMAN[kind]}: Wilks' lambda",
            results.tests().rename_axis(index=None),
            TESTS,
            headings=HEADINGS,
            note=f"{PROFILE} {note_of_type(results._model, kind)}{_few(results.tests())}",
            source=".tests()",
        ),
        "manova": lambda: Section(
            "All four statistics",
            results.manova().rename_axis(index=NO_NAMES),
            TESTS,
            headings=HEADINGS,
            source=".manova()",
        ),
        "means": lambda: Section(
            "Means as observed, with 95 % intervals",
            results.means().rename_axis(index=NO_NAMES),
            MEANS,
            note="Each interval is for one mean and uses the variance of the residuals.",
            source=".means()",
        ),
    }
    return summarize("Profile analysis", parts, pick=sections)


def repeated_summary(
    results: Any,
    sections: Sequence[str] | None = None,
    type: int | str = 2,
    huynh_feldt: str = "lecoutre",
) -> Summary:
    """Header, multivariate and univariate tests of each term, and sphericity."""
    kind = asked_type(type)
    given = [f"type={kind}"] * (kind != 2)
    hf = [f"huynh_feldt={huynh_feldt!r}"] * (huynh_feldt != "lecoutre")
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: model_header(results._model),
        "tests": lambda: Section(
            f"Multivariate tests, type {ROMAN[kind]}: Pillai's trace",
            results.tests(type=kind).rename_axis(index=None),
            TESTS,
            headings=HEADINGS,
            note=f"{NORMAL} {note_of_type(results._model, kind)}{_few(results.tests(type=kind))}",
            source=f".tests({', '.join(given)})",
        ),
        "univariate": lambda: Section(
            f"Univariate tests, type {ROMAN[kind]}",
            _tests_alone(results.univariate(kind, huynh_feldt=huynh_feldt)),
            UNIVARIATE,
            note=SPHERICAL,
            source=f".univariate({', '.join(given + hf)})",
        ),
        "sphericity": lambda: Section(
            "Mauchly's test of sphericity, and estimates of epsilon",
            results.sphericity(huynh_feldt=huynh_feldt).rename_axis(index=None),
            SPHERICITY,
            note="Mauchly's test assumes normal observations and is sensitive to long tails. lowest is the "
            "smallest possible epsilon.",
            source=f".sphericity({', '.join(hf)})",
        ),
        "effects": lambda: Section(
            "Effect sizes",
            results.univariate(kind, huynh_feldt=huynh_feldt)[["eta2", "eta2_generalized"]].rename_axis(
                index=None
            ),
            SPHERICITY,
            headings={"eta2": "partial eta2", "eta2_generalized": "generalized eta2"},
            source=f".univariate({', '.join(given)})",
        ),
        "within": lambda: Section("Design within rows", results.within.astype(str), "text"),
    }
    return summarize("Repeated measures", parts, pick=sections)


def _few(tests: pd.DataFrame) -> str:
    """Why some multivariate tests are not defined, where it is so."""
    if not ((tests["F_is"] == "not defined") & (tests["df"] > 0)).any():
        return ""
    return " Not defined: tests on more contrasts than the residuals have degrees of freedom."


def _tests_alone(table: pd.DataFrame) -> pd.DataFrame:
    return table.drop(columns=["GG", "HF", "eta2", "eta2_generalized"]).rename_axis(index=None)


def profiles_of(table: pd.DataFrame, term: str, level: float, ax: Axes | None, title: str | None) -> Axes:
    """Means by (cell, response) as lines."""
    words = f"Mean profiles of {term}, with {100 * level:.3g} % intervals of each mean"
    axes = draw_profiles(table, (term, words), ax)
    if title is not None:
        set_title(axes, title)
    return axes
