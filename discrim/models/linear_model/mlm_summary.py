"""Summaries and plots of multivariate linear models, profile analyses and repeated measures.

The methods `summary` and `plot` of the results in `mlm`, `term_model` and `repeated` call these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from discrim.errors import DataError
from discrim.inference.manova import roy_critical_value
from discrim.models.base.reading import check_test_type, format_argument, join_labels
from discrim.models.discriminant.normal_summary import dimension_tests_section, variate_correlations_section
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.plots.bars import draw_profiles
from discrim.report.plots.spaces import axis_name, draw_he, draw_he_of_terms
from discrim.report.plots.style import set_title
from discrim.report.tables import Summary, summarize

if TYPE_CHECKING:
    from discrim.report.plots.style import Axes


ROMAN_NUMERALS = {1: "I", 2: "II", 3: "III"}
"""Names of the types of the sums of squares."""

TYPE_DESCRIPTIONS = {
    1: "after the terms before it",
    2: "after all terms that do not contain it",
    3: "after all others",
}
"""Ends of the sentence "each term is tested ..." by type of the sums of squares."""

NO_INDEX_NAMES: Any = [None, None]
"""Names of the two levels of an index that is printed without them."""

TEST_FORMATS: dict[Any, Any] = {
    **{"df": "count", "F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"},
    "eta2": "share",
}
"""Formats of the columns of tables of multivariate tests; see `Section`."""

HEADINGS = {"F_is": "F is", "eta2": "partial eta2"}
"""Headings of columns that are not headed by their names."""


def mlm_summary(results: Any, sections: Sequence[str] | None = None, type: int | str = 2) -> Summary:
    """Return the summary of a multivariate linear model.

    Parameters
    ----------
    results : MLMResults
    sections : sequence of str, optional
        Keys of the tables to include, in order; by default all.
    type : {1, 2, 3}
        Type of the sums of squares.

    Returns
    -------
    Summary
        Header ("header"), Pillai's trace of each term ("tests"), all four multivariate tests ("manova"),
        univariate tests of each response ("anova"), coefficients ("params"), and covariance matrix of the
        residuals ("cov_resid"). Multivariate tests are omitted if there are fewer residual degrees of
        freedom than responses, all tests if there are no terms, and coefficients if a term has fewer degrees
        of freedom than columns.
    """
    test_type = check_test_type(type)
    argument = "" if test_type == 2 else f"type={test_type}"
    section_builders: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: model_header(results._model),
        "tests": lambda: Section(
            f"Tests of the terms, type {ROMAN_NUMERALS[test_type]}: Pillai's trace",
            results.tests(type=test_type),
            TEST_FORMATS,
            headings=HEADINGS,
            note=test_type_note(results._model, test_type),
            source=f".tests({argument})",
        ),
        "manova": lambda: Section(
            f"All four statistics, type {ROMAN_NUMERALS[test_type]}",
            results.manova(type=test_type).rename_axis(index=NO_INDEX_NAMES),
            TEST_FORMATS,
            headings=HEADINGS,
            source=f".manova({argument})",
        ),
        "anova": lambda: Section(
            f"Univariate tests of each response, type {ROMAN_NUMERALS[test_type]}",
            results.anova(test_type).rename_axis(index=NO_INDEX_NAMES),
            {"F": "z", "df1": "general", "df2": "general", "p": "tail", "partial_R2": "share"},
            source=f".anova({argument})",
        ),
    }
    if not results._model.has_error_df or not results._model.terms:
        # Multivariate tests require a nonsingular residual covariance matrix.
        del section_builders["tests"], section_builders["manova"]
    if not results._model.terms:
        del section_builders["anova"]
    if results._model.deficient_term() is None:
        section_builders["params"] = lambda: Section(
            "Coefficients (sum-to-zero contrasts)", results.params, source=".params, .tidy()"
        )
    section_builders["cov_resid"] = lambda: Section(
        "Covariance matrix of the residuals", results.cov_resid, triangle=True, source=".cov_resid"
    )
    return summarize("Multivariate linear model", section_builders, pick=sections)


def model_header(model: Any) -> Pairs:
    """Return the header of a TermModel, headed by its formula.

    The items are the number of observations or sum of weights, responses, dropped rows, terms, residual
    degrees of freedom and parameters per response.
    """
    total_label = "Sum of weights" if model.design_rows.has_weights else "Observations"
    items: list[HeaderItem] = [
        HeaderItem(total_label, model.total, f"{model.total:.10g}"),
        HeaderItem("Responses", len(model.responses)),
        HeaderItem("Dropped, missing values", model.design_rows.dropped),
        HeaderItem("Terms", len(model.terms)),
        HeaderItem("Residual df", model.estimates.df, f"{model.estimates.df:.10g}"),
        HeaderItem("Parameters per response", model.estimates.rank),
    ]
    return Pairs(model.design_rows.design.formula, items)


def test_type_note(model: Any, test_type: int) -> str:
    """Return sentences on the type of tests of a TermModel, and on the first term with too few df, if any.

    A term has too few if it has fewer degrees of freedom than columns. For type III they name the coding.
    """
    note = f"Type {ROMAN_NUMERALS[test_type]}: each term {TYPE_DESCRIPTIONS[test_type]}."
    if test_type == 3:
        note += " Factors are coded by sum-to-zero contrasts."
    deficient_term = model.deficient_term()
    if deficient_term is not None:
        note += f" {model.describe_deficiency(deficient_term)}: it has fewer degrees of freedom than columns."
    return note


RAW_COEFFICIENTS_NOTE = (
    "The residuals of the scores have unit variance. The largest standardized coefficient is positive."
)

STANDARDIZED_DESCRIPTIONS = {
    "standardized": "standard deviations of the residuals",
    "standardized_total": "total standard deviations",
}
"""Standard deviations that multiply the raw coefficients, by attribute of `TermCanonicalResults`."""

STRUCTURE_DESCRIPTIONS = {
    "within": "pooled within-class correlations with the scores",
    "total": "total correlations with the scores (like R's candisc)",
    "between": "between-class correlations with the scores",
}
"""Correlations of `TermCanonicalResults.structure`, by its argument."""


def canonical_summary(results: Any, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of the canonical variates of a term.

    Parameters
    ----------
    results : TermCanonicalResults
    sections : sequence of str, optional
        Keys of the tables to include, in order; by default all.

    Returns
    -------
    Summary
        "correlations", "dimensions" (tests), "raw", "standardized", "standardized_total", "structure_within",
        "structure_total", "structure_between", and "centroids" if the term has cells. For a term without
        effect only "correlations", an empty table with a note.
    """
    title = f"Canonical discriminant analysis of {results.term}: {results._model.design_rows.design.formula}"
    if not len(results.eigenvalues):
        nothing = Section("Canonical correlations", pd.DataFrame(), note="The term has no effect.")
        return summarize(title, {"correlations": lambda: nothing}, pick=sections)
    section_builders: dict[str, Callable[[], Section]] = {
        "correlations": partial(variate_correlations_section, results, "E^-1 H"),
        "dimensions": lambda: dimension_tests_section(results.dimension_tests),
        "raw": lambda: Section(
            "Raw coefficients",
            pd.concat([results.constant.to_frame("constant").T, results.raw]),
            note=RAW_COEFFICIENTS_NOTE,
            source=".raw, .constant",
        ),
    }
    for name, description in STANDARDIZED_DESCRIPTIONS.items():
        section_builders[name] = _table_section(
            f"Standardized coefficients ({description})", partial(getattr, results, name), f".{name}"
        )
    for basis, description in STRUCTURE_DESCRIPTIONS.items():
        source = f'.structure("{basis}")'
        section_builders[f"structure_{basis}"] = _table_section(
            f"Structure: {description}", partial(results.structure, basis), source
        )
    if len(results.centroids):
        centroids_title = "Mean scores of the levels, as observed"
        section_builders["centroids"] = _table_section(
            centroids_title, lambda: results.centroids, ".centroids"
        )
    return summarize(title, section_builders, pick=sections)


def _table_section(title: str, table: Callable[[], pd.DataFrame], source: str) -> Callable[[], Section]:
    """Return a function that computes a table and returns it as a section with a title.

    Parameters
    ----------
    title : str
    table : callable
        Function that computes the table.
    source : str
        Attribute or call of the results that has the table.

    Returns
    -------
    callable
        Function without arguments that returns the section, with the same number of decimals in all columns.
    """
    return lambda: Section(title, table(), shared=True, source=source)


RADIUS_PROBABILITY = 0.68
"""Probability of the F quantile that determines the radius of the ellipses, like in R's heplots."""


def ellipse_radius(df_resid: float) -> float:
    """Return the radius sqrt(2 F) of the ellipses of R's heplots, a Mahalanobis distance.

    F is the quantile at `RADIUS_PROBABILITY` of the F distribution on 2 and `df_resid` degrees of freedom.

    Examples
    --------
    >>> round(ellipse_radius(147), 4)
    1.5155
    """
    return float(np.sqrt(2 * stats.f.ppf(RADIUS_PROBABILITY, 2, df_resid)))


def plot_term_ellipses(
    results: Any,
    terms: str | Sequence[str] | None,
    columns: Sequence[str] | None,
    size: Any,
    level: float,
    type: int | str,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Plot the ellipses of terms and of the residuals in the plane of two responses.

    Cell means are marked for terms of a single factor only.

    Parameters
    ----------
    results : MLMResults
    terms : str, sequence of str or None
        Terms to draw; None for all.
    columns : sequence of str or None
        The two responses; None for the first two.
    size : {"evidence", "effect"}
        Size of the ellipses of the terms; see `MLMResults.hypothesis_ellipse`.
    level : float
        1 minus the significance level of Roy's test.
    type : {1, 2, 3}
        Type of the sums of squares.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    title : str or None
        Title; None for the default, "" for no title.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    DataError
        A term is unknown, or `columns` does not name two different responses.
    """
    names = _select_two_names(columns, list(results.responses), "columns", "responses")
    labels = list(results.terms) if terms is None else [terms] if isinstance(terms, str) else list(terms)
    shapes = {}
    means = {}
    for term in labels:
        position = results._model.position(term)
        label = results.terms[position]
        shape = results.hypothesis_ellipse(label, size=size, level=level, type=type)
        shapes[label] = shape.loc[names, names].to_numpy()
        # Means of combinations of levels would cover the means of the levels.
        cells = _cell_means(results, position).reindex(columns=names)
        means[label] = cells if len(results._model.terms[position].factors) == 1 else cells.iloc[:0]
    model = results._model
    centre = pd.Series(model.to_response_units(model.mean()), index=results.responses)[names].to_numpy()
    error = results.cov_resid.loc[names, names].to_numpy()
    figure_axes = draw_he_of_terms(
        means, shapes, error, centre, ellipse_radius(results.df_resid), names=(names[0], names[1]), ax=ax
    )
    size_label = f"Roy, {100 * (1 - level):.3g} %" if size == "evidence" else "effect size"
    set_title(figure_axes, title if title is not None else f"Hypothesis and error ({size_label})")
    return figure_axes


def plot_canonical_ellipses(
    results: Any,
    axes: Sequence[str] | None,
    level: float,
    ax: Axes | None,
    title: str | None,
) -> Axes:
    """Plot the ellipses of a term and of the residuals in the plane of two canonical axes.

    Centroids of the cells are marked, and arrows are the within-class structure correlations.

    Parameters
    ----------
    results : TermCanonicalResults
    axes : sequence of str or None
        The two canonical axes; None for the first two.
    level : float
        1 minus the significance level of Roy's test.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    title : str or None
        Title; None for the default, "" for no title.

    Returns
    -------
    Axes
        The axes drawn on.

    Raises
    ------
    DataError
        The term has fewer than two canonical axes, or `axes` does not name two different ones.
    """
    names = list(results.eigenvalues.index)
    if len(names) < 2:
        raise DataError(
            f"A plot requires two canonical axes, but the term {results.term!r} has {len(names)}.",
            hint=f"Use plot(term={results.term!r}) of the model, which draws the plane of two responses.",
        )
    chosen = _select_two_names(axes, names, "axes", "canonical axes")
    positions = [names.index(name) for name in chosen]
    df_resid = results._model.estimates.df
    critical = roy_critical_value(len(results._raw), results.df + 1, df_resid + results.df + 1, 1 - level)
    shape = np.diag(results.eigenvalues.to_numpy()[positions] / critical)
    figure_axes = draw_he(
        results.centroids[chosen].dropna(),
        shape,
        np.eye(2),
        np.zeros(2),
        ellipse_radius(df_resid),
        names=(
            axis_name(chosen[0], results.proportion),
            axis_name(chosen[1], results.proportion, proportion_of=""),
        ),
        arrows=results.structure()[chosen],
        equal_units=True,
        ax=ax,
    )
    set_title(figure_axes, title if title is not None else f"Canonical variates of {results.term}")
    return figure_axes


def _select_two_names(requested: Sequence[str] | None, names: list[str], option: str, noun: str) -> list[str]:
    """Return the two names that an option selects; raise DataError if it does not name two different ones.

    Parameters
    ----------
    requested : sequence of str or None
        Value of the option; None selects the first two names.
    names : list of str
        The available names.
    option, noun : str
        Name of the option, and what it names (in the plural), for the error.

    Returns
    -------
    list of str
        Two different names, in the order of the option.
    """
    chosen = (
        names[:2] if requested is None else [requested] if isinstance(requested, str) else list(requested)
    )
    unknown = [name for name in chosen if name not in names]
    if unknown or len(set(chosen)) != 2 or len(chosen) != 2:
        raise DataError(
            f"{option}={format_argument(requested)} is not valid.",
            hint=f"Name two of the {noun}, {join_labels(names, 20)}.",
        )
    return chosen


def _cell_means(results: Any, position: int) -> pd.DataFrame:
    """Return the observed means of the responses in the cells of a term, in their original units.

    Parameters
    ----------
    results : MLMResults
    position : int
        Position of the term.

    Returns
    -------
    DataFrame, cells by responses
        Labels of the cells are the levels as text, joined by ":". Empty cells are left out; the table is
        empty for a term without cells, for example a covariate (see `TermModel.cells`).
    """
    model = results._model
    cells, _, means = model.cells(position)
    if cells is None:
        return pd.DataFrame(columns=results.responses, dtype=float)
    labels = [":".join(map(str, cell)) for cell in cells.labels]
    return pd.DataFrame(model.to_response_units(means), index=labels, columns=results.responses).dropna()


NORMALITY_NOTE = "Assumes normal observations with a common covariance matrix of any form."

PROFILE_NOTE = f"{NORMALITY_NOTE} Level and flatness are meaningful only if the profiles are parallel."

SPHERICITY_NOTE = (
    "Assumes normal observations with a common covariance matrix. p also assumes sphericity; p_GG and p_HF "
    "multiply the degrees of freedom by min(GG, 1) and min(HF, 1)."
)

UNIVARIATE_FORMATS: Any = {
    **{"SS": "general", "SS_error": "general", "df1": "general", "df2": "general", "F": "z"},
    **dict.fromkeys(("p", "p_GG", "p_HF"), "tail"),
}

SPHERICITY_SHARES = ("mauchly", "GG", "HF", "lowest", "eta2", "eta2_generalized")

SPHERICITY_FORMATS: Any = {**dict.fromkeys(SPHERICITY_SHARES, "share"), "p": "tail"}

MEAN_FORMATS: Any = {"mean": "general", "se": "general", "low": "general", "high": "general"}


def profile_summary(results: Any, sections: Sequence[str] | None = None) -> Summary:
    """Return the summary of a profile analysis.

    Parameters
    ----------
    results : ProfileResults
    sections : sequence of str, optional
        Keys of the tables to include, in order; by default all.

    Returns
    -------
    Summary
        Header ("header"), Wilks' lambda of the three hypotheses ("tests"), all four statistics ("manova"),
        and means with 95 % intervals ("means").
    """
    test_type = results.type
    section_builders: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: model_header(results._model),
        "tests": lambda: Section(
            f"Profiles of {results.term}, type {ROMAN_NUMERALS[test_type]}: Wilks' lambda",
            results.tests().rename_axis(index=None),
            TEST_FORMATS,
            headings=HEADINGS,
            note=(
                f"{PROFILE_NOTE} "
                f"{test_type_note(results._model, test_type)}{_undefined_tests_note(results.tests())}"
            ),
            source=".tests()",
        ),
        "manova": lambda: Section(
            "All four statistics",
            results.manova().rename_axis(index=NO_INDEX_NAMES),
            TEST_FORMATS,
            headings=HEADINGS,
            source=".manova()",
        ),
        "means": lambda: Section(
            "Means as observed, with 95 % intervals",
            results.means().rename_axis(index=NO_INDEX_NAMES),
            MEAN_FORMATS,
            note="Each interval is for one mean and uses the variance of the residuals.",
            source=".means()",
        ),
    }
    return summarize("Profile analysis", section_builders, pick=sections)


def repeated_summary(
    results: Any,
    sections: Sequence[str] | None = None,
    type: int | str = 2,
    huynh_feldt: str = "lecoutre",
) -> Summary:
    """Return the summary of a repeated measures analysis.

    Parameters
    ----------
    results : RepeatedResults
    sections : sequence of str, optional
        Keys of the tables to include, in order; by default all.
    type : {1, 2, 3}
        Type of the sums of squares.
    huynh_feldt : {"lecoutre", "1976"}
        Estimate of the epsilon of Huynh and Feldt.

    Returns
    -------
    Summary
        Header ("header"), Pillai's trace of each term ("tests"), univariate tests ("univariate"), Mauchly's
        tests and estimates of epsilon ("sphericity"), partial and generalized eta squared ("effects"), and
        the within-subject design ("within").
    """
    test_type = check_test_type(type)
    type_argument = [f"type={test_type}"] * (test_type != 2)
    huynh_feldt_argument = [f"huynh_feldt={huynh_feldt!r}"] * (huynh_feldt != "lecoutre")
    section_builders: dict[str, Callable[[], Section | Pairs]] = {
        "header": lambda: model_header(results._model),
        "tests": lambda: Section(
            f"Multivariate tests, type {ROMAN_NUMERALS[test_type]}: Pillai's trace",
            results.tests(type=test_type).rename_axis(index=None),
            TEST_FORMATS,
            headings=HEADINGS,
            note=(
                f"{NORMALITY_NOTE} {test_type_note(results._model, test_type)}"
                f"{_undefined_tests_note(results.tests(type=test_type))}"
            ),
            source=f".tests({', '.join(type_argument)})",
        ),
        "univariate": lambda: Section(
            f"Univariate tests, type {ROMAN_NUMERALS[test_type]}",
            results.univariate(test_type, huynh_feldt=huynh_feldt)
            .drop(columns=["GG", "HF", "eta2", "eta2_generalized"])
            .rename_axis(index=None),
            UNIVARIATE_FORMATS,
            note=SPHERICITY_NOTE,
            source=f".univariate({', '.join(type_argument + huynh_feldt_argument)})",
        ),
        "sphericity": lambda: Section(
            "Mauchly's test of sphericity, and estimates of epsilon",
            results.sphericity(huynh_feldt=huynh_feldt).rename_axis(index=None),
            SPHERICITY_FORMATS,
            note="Mauchly's test assumes normal observations and is sensitive to long tails. lowest is the "
            "smallest possible epsilon.",
            source=f".sphericity({', '.join(huynh_feldt_argument)})",
        ),
        "effects": lambda: Section(
            "Effect sizes",
            results.univariate(test_type, huynh_feldt=huynh_feldt)[["eta2", "eta2_generalized"]].rename_axis(
                index=None
            ),
            SPHERICITY_FORMATS,
            headings={"eta2": "partial eta2", "eta2_generalized": "generalized eta2"},
            source=f".univariate({', '.join(type_argument)})",
        ),
        "within": lambda: Section("Within-subject design", results.within.astype(str), "text"),
    }
    return summarize("Repeated measures", section_builders, pick=sections)


def _undefined_tests_note(tests: pd.DataFrame) -> str:
    """Return a sentence, after a space, on the undefined tests in a table; empty if all are defined.

    Tests of hypotheses without degrees of freedom do not count. `tests` has the columns F_is and df.
    """
    if not ((tests["F_is"] == "not defined") & (tests["df"] > 0)).any():
        return ""
    return " Tests on more contrasts than residual degrees of freedom are not defined."


def plot_profiles(table: pd.DataFrame, term: str, level: float, ax: Axes | None, title: str | None) -> Axes:
    """Plot means of the responses as one line for each cell, with confidence intervals.

    Parameters
    ----------
    table : DataFrame by (cell, response)
        mean, se, low, high.
    term : str
        Name of the term of the cells, for legend and title.
    level : float
        Level of the intervals that `table` contains, for the title.
    ax : Axes or None
        Axes to draw on; None for a new figure.
    title : str or None
        Title; None for the default, "" for no title.

    Returns
    -------
    Axes
        The axes drawn on.
    """
    default_title = f"Mean profiles of {term}, with {100 * level:.3g} % intervals of each mean"
    axes = draw_profiles(table, (term, default_title), ax)
    if title is not None:
        set_title(axes, title)
    return axes
