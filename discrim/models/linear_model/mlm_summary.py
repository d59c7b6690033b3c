"""Summaries and plots of linear models of several responses, of profiles and of repeated measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from discrim.errors import DataError
from discrim.inference.manova import roy_critical
from discrim.models.base.reading import check_test_type, listed, told
from discrim.models.discriminant.normal_summary import variate_correlations, variate_tests
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.plots.bars import draw_profiles
from discrim.report.plots.spaces import axis_name, draw_he, he_terms
from discrim.report.plots.style import set_title
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes


ROMAN = {1: "I", 2: "II", 3: "III"}

EACH = {1: "after the terms before it", 2: "after all terms that do not contain it", 3: "after all others"}

NO_NAMES: Any = [None, None]

TESTS: dict[Any, Any] = {
    **{"df": "count", "F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"},
    "eta2": "share",
}

HEADINGS = {"F_is": "F is", "eta2": "partial eta2"}


def mlm_summary(results: Any, sections: Sequence[str] | None = None, type: int | str = 2) -> Summary:
    """Header, one test of each term, all four, each response alone, coefficients."""
    kind = check_test_type(type)
    argument = "" if kind == 2 else f"type={kind}"
    parts: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: model_header(results._model),
        "tests": lambda: Section(
            f"Tests of the terms, type {ROMAN[kind]}: Pillai's trace",
            results.tests(type=kind),
            TESTS,
            headings=HEADINGS,
            note=note_of_type(results._model, kind),
            source=f".tests({argument})",
        ),
        "manova": lambda: Section(
            f"All four statistics, type {ROMAN[kind]}",
            results.manova(type=kind).rename_axis(index=NO_NAMES),
            TESTS,
            headings=HEADINGS,
            source=f".manova({argument})",
        ),
        "anova": lambda: Section(
            f"Each response alone, type {ROMAN[kind]}",
            results.anova(kind).rename_axis(index=NO_NAMES),
            {"F": "z", "df1": "general", "df2": "general", "p": "tail", "partial_R2": "share"},
            source=f".anova({argument})",
        ),
    }
    if not results._model.has_error:
        # Tests of all responses at once need their covariance.
        del parts["tests"], parts["manova"]
    if results._model.lacking() is None:
        parts["params"] = lambda: Section(
            "Coefficients (contrasts that sum to zero)", results.params, source=".params, .tidy()"
        )
    parts["cov_resid"] = lambda: Section(
        "Covariance of the residuals", results.cov_resid, triangle=True, source=".cov_resid"
    )
    return summarize("Multivariate linear model", parts, pick=sections)


def model_header(model: Any) -> Pairs:
    """Formula, rows, responses and degrees of freedom of a model."""
    rows = "Sum of weights" if model.design_rows.weighted else "Rows used"
    items: list[HeaderItem] = [
        HeaderItem(rows, model.total, f"{model.total:.10g}"),
        HeaderItem("Responses", len(model.responses)),
        HeaderItem("Rows dropped, missing", model.design_rows.dropped),
        HeaderItem("Terms", len(model.terms)),
        HeaderItem("Residual df", model.estimates.df, f"{model.estimates.df:.10g}"),
        HeaderItem("Columns of the model", model.estimates.rank),
    ]
    return Pairs(model.design_rows.design.formula, items)


def note_of_type(model: Any, kind: int) -> str:
    """What tests of a type hold, and what some term lacks."""
    note = f"Type {ROMAN[kind]}: each term {EACH[kind]}."
    if kind == 3:
        note += " Factors are coded by contrasts that sum to zero."
    lacking = model.lacking()
    if lacking is not None:
        note += f" {model.lacking_said(lacking)}: it has fewer degrees of freedom than columns."
    return note


SIGNS = "The residuals of the scores have unit variance. The largest standardized coefficient is positive."

STANDARDIZED = {
    "standardized": "standard deviations of the residuals",
    "standardized_total": "total standard deviations",
}

STRUCTURES = {
    "within": "correlations of the residuals with those of the scores",
    "total": "total correlations with the scores (as R's candisc)",
    "between": "correlations of what the term explains",
}


def canonical_summary(results: Any, sections: Sequence[str] | None = None) -> Summary:
    """The tables of the canonical variates of a term."""
    title = f"Canonical discriminant analysis of {results.term}: {results._model.design_rows.design.formula}"
    if not len(results.eigenvalues):
        nothing = Section("Canonical correlations", pd.DataFrame(), note="The term explains nothing.")
        return summarize(title, {"correlations": lambda: nothing}, pick=sections)
    parts: dict[str, Callable[[], Section]] = {
        "correlations": partial(variate_correlations, results, "E^-1 H"),
        "dimensions": lambda: variate_tests(results.dimension_tests),
        "raw": lambda: Section(
            "Raw coefficients",
            pd.concat([results.constant.to_frame("constant").T, results.raw]),
            note=SIGNS,
            source=".raw, .constant",
        ),
    }
    for name, of in STANDARDIZED.items():
        parts[name] = _table(f"Standardized coefficients ({of})", partial(getattr, results, name), f".{name}")
    for kind, of in STRUCTURES.items():
        source = f'.structure("{kind}")'
        parts[f"structure_{kind}"] = _table(f"Structure: {of}", partial(results.structure, kind), source)
    if len(results.centroids):
        title_of = "Mean scores of the levels, as observed"
        parts["centroids"] = _table(title_of, lambda: results.centroids, ".centroids")
    return summarize(title, parts, pick=sections)


def _table(title: str, table: Callable[[], pd.DataFrame], source: str) -> Callable[[], Section]:
    return lambda: Section(title, table(), shared=True, source=source)


SHARE = 0.68
"""Of the quantile that the radius of both ellipses is made of, as in R's heplots."""


def radius_of(free: float) -> float:
    """The distance sqrt(2 F) at which R's heplots draws ellipses, F on 2 and the residuals' degrees.

    Examples
    --------
    >>> round(radius_of(147), 4)
    1.5155
    """
    return float(np.sqrt(2 * stats.f.ppf(SHARE, 2, free)))


def he_of_terms(
    results: Any,
    terms: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    size: Any,
    level: float,
    type: int | str,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Ellipses of the terms beside that of the residuals, in the plane of two responses."""
    names = _two(columns, list(results.responses), "columns", "responses")
    labels = list(results.terms) if terms is None else [terms] if isinstance(terms, str) else list(terms)
    shapes = {}
    means = {}
    for term in labels:
        at = results._model.position(term)
        label = results.terms[at]
        shape = results.hypothesis_ellipse(label, size=size, level=level, type=type)
        shapes[label] = shape.loc[names, names].to_numpy()
        # Means of combinations of levels would hide those of the levels.
        cells = _means(results, at).reindex(columns=names)
        means[label] = cells if len(results._model.terms[at].factors) == 1 else cells.iloc[:0]
    model = results._model
    centre = pd.Series(model.in_units(model.mean()), index=results.responses)[names].to_numpy()
    error = results.cov_resid.loc[names, names].to_numpy()
    drawn = he_terms(
        means, shapes, error, centre, radius_of(results.df_resid), names=(names[0], names[1]), ax=ax
    )
    basis = f"Roy, {100 * (1 - level):.3g} %" if size == "evidence" else "effect size"
    set_title(drawn, title if title is not None else f"Hypothesis and error ({basis})")
    return drawn


def he_of_axes(
    results: Any,
    axes: Sequence[str] | None,
    level: float,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Ellipses of a term and of the residuals, in the plane of two canonical axes."""
    names = list(results.eigenvalues.index)
    if len(names) < 2:
        raise DataError(
            f"The term {results.term!r} has {len(names)} canonical axis, and a plane has two.",
            hint=f"Use plot(term={results.term!r}) of the model, in the plane of two responses.",
        )
    chosen = _two(axes, names, "axes", "canonical axes")
    at = [names.index(name) for name in chosen]
    df_resid = results._model.estimates.df
    critical = roy_critical(len(results._raw), results.df + 1, df_resid + results.df + 1, 1 - level)
    shape = np.diag(results.eigenvalues.to_numpy()[at] / critical)
    drawn = draw_he(
        results.centroids[chosen].dropna(),
        shape,
        np.eye(2),
        np.zeros(2),
        radius_of(df_resid),
        names=(axis_name(chosen[0], results.proportion), axis_name(chosen[1], results.proportion, of="")),
        arrows=results.structure()[chosen],
        equal=True,
        ax=ax,
    )
    set_title(drawn, title if title is not None else f"Canonical variates of {results.term}")
    return drawn


def _two(named: Sequence[str] | None, names: list[str], option: str, what: str) -> list[str]:
    chosen = names[:2] if named is None else [named] if isinstance(named, str) else list(named)
    unknown = [name for name in chosen if name not in names]
    if unknown or len(set(chosen)) != 2 or len(chosen) != 2:
        raise DataError(
            f"{option}={told(named)} is not valid.", hint=f"Name two of the {what}, {listed(names, 20)}."
        )
    return chosen


def _means(results: Any, at: int) -> pd.DataFrame:
    """Means of the responses in the cells of a term, without those that have no row."""
    model = results._model
    cells, _, means = model.cells(at)
    if cells is None:
        return pd.DataFrame(columns=results.responses, dtype=float)
    labels = [":".join(map(str, cell)) for cell in cells.labels]
    return pd.DataFrame(model.in_units(means), index=labels, columns=results.responses).dropna()


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
    kind = check_test_type(type)
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
            results.univariate(kind, huynh_feldt=huynh_feldt)
            .drop(columns=["GG", "HF", "eta2", "eta2_generalized"])
            .rename_axis(index=None),
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


def profiles_of(table: pd.DataFrame, term: str, level: float, ax: Axes | None, title: str | None) -> Axes:
    """Means by (cell, response) as lines."""
    words = f"Mean profiles of {term}, with {100 * level:.3g} % intervals of each mean"
    axes = draw_profiles(table, (term, words), ax)
    if title is not None:
        set_title(axes, title)
    return axes
