"""Implementation of the method `report` of all results: a page with plots, tables and code.

The chapters are plots, summary, errors, tests, how the model was fitted, its data, and code that repeats the
fit. `report_text` collects their content; the formats (HTML, Word, Markdown) are in
`discrim.report.page`. If some content is not available, a sentence states the reason instead.
"""

from __future__ import annotations

import ast
import builtins
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from discrim.core.numerics.atomic_write import validate_output_path
from discrim.core.numerics.progress import Progress
from discrim.data.values import format_value
from discrim.errors import DataError, DiscrimError, NotSupportedError
from discrim.formula.grammar import quote
from discrim.inference.result import TestResult
from discrim.models.base.display import FORMATS
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import check_flag, format_argument, join_labels
from discrim.models.base.refits import argument_defaults, refit_options
from discrim.models.evaluation.assessment import CountingMethod, evaluation_methods
from discrim.models.evaluation.validation import is_slow_to_evaluate
from discrim.models.plots.plottable import PlotOptions, available_plot_kinds, hover_data, rows_to_draw
from discrim.models.registry import BY_VERB
from discrim.report.grid import SHARED_HEADINGS, Section, clean, column_texts
from discrim.report.page.page import PAGE_EXTENSIONS, Chapter, Drawing, HtmlPage, Page, page_for
from discrim.report.plots.interactive import html_element, plotly_script


def size_items(fit: FittedModel[Any]) -> list[tuple[str, str]]:
    """Return pairs (label, plain text) on the rows, response, classes and columns of a fit.

    "Rows of the table" is left out unless the rows are in memory; pairs on constant and on collinear columns
    are added if such columns were dropped.
    """
    design_rows = fit.design_rows
    design = fit.design_rows.design
    is_in_memory = fit.has_rows and not design_rows.rows.source_description
    items = [
        *([("Rows of the table", f"{design_rows.table.nrows:,}")] if is_in_memory else []),
        ("Observations", f"{fit.nobs:,}" + (" (sum of the weights)" if design_rows.has_weights else "")),
        ("Rows dropped because of missing values", f"{fit.dropped:,}"),
        ("Response", design.response),
        ("Classes", f"{len(fit.classes):,}"),
        ("Columns of the table used", f"{len(design.columns):,}"),
        ("Columns of the design", f"{len(fit.terms):,}"),
    ]
    for reason, dropped_columns in (
        ("constant", design_rows.constant_terms),
        ("collinear", design_rows.collinear_terms),
    ):
        items += [(f"Dropped because {reason}", ", ".join(dropped_columns))] if dropped_columns else []
    return items


def description_sections(fit: FittedModel[Any]) -> tuple[dict[str, Section], str]:
    """Return sections that describe classes and columns, by name, and the reason for missing ones.

    The names are "classes" and, if the rows are in memory, "numbers" and "categories" if there are such
    columns; otherwise "means" (of the classes), if the fit has them. The reason is plain text, "" if no
    section is missing.
    """
    sections = {"classes": _class_section(fit)}
    reason = ""
    if not fit.has_rows:
        reason = "The fit was loaded or computed from moments. The ranges of its columns are unknown."
    elif read_from := fit.design_rows.rows.source_description:
        reason = (
            f"The rows are read in chunks from {read_from}. Ranges would require another pass and are "
            "not shown."
        )
    names = list(fit.design_rows.design.columns)
    try:
        if reason:
            means = Section("Means by class", fit.class_means(), source="fit.group_summary()")
            return sections | {"means": means}, reason
        frame = fit.require_rows("The description of the columns").table.frame(names)
    except DiscrimError as error:
        return sections, str(error)
    types = pd.api.types
    numeric = np.array([types.is_numeric_dtype(t) and not types.is_bool_dtype(t) for t in frame.dtypes])
    if numeric.any():
        sections["numbers"] = _numeric_columns(frame.loc[:, numeric])
    if not numeric.all():
        sections["categories"] = _categorical_columns(frame.loc[:, ~numeric])
    return sections, ""


def _class_section(fit: FittedModel[Any]) -> Section:
    """Return the section of the classes: columns rows, share (of the weight) and, with posteriors, prior."""
    columns = {"rows": fit.rows_by_class, "share": fit.counts / fit.counts.sum()}
    if fit.has_posteriors:
        columns["prior"] = fit.prior
    formats: dict[Any, Any] = {"rows": "count", "share": "share", "prior": "share"}
    return Section("Classes", pd.DataFrame(columns, index=fit.classes), formats, source="fit.counts")


def _numeric_columns(frame: pd.DataFrame) -> Section:
    """Return the section of a frame of numeric columns, with one row for each.

    It has the columns missing (number), min, 25 %, median, 75 %, max, mean and sd (divisor n - 1). Rows are
    not weighted. Statistics are NaN for a column without values, and the sd for a single value.
    """
    rows = []
    for j in range(frame.shape[1]):
        column = pd.to_numeric(frame.iloc[:, j]).to_numpy(dtype=np.float64, na_value=np.nan)
        observed = column[~np.isnan(column)]
        quartiles = np.quantile(observed, [0, 0.25, 0.5, 0.75, 1]) if len(observed) else np.full(5, np.nan)
        sd = observed.std(ddof=1) if len(observed) > 1 else np.nan
        rows.append(
            [len(column) - len(observed), *quartiles, observed.mean() if len(observed) else np.nan, sd]
        )
    headings = ["missing", "min", "25 %", "median", "75 %", "max", "mean", "sd"]
    table = pd.DataFrame(rows, index=frame.columns, columns=headings)
    note = "Over all rows of the table, each counted once."
    errors = table["sd"].to_numpy() / 200
    formats: dict[Any, Any] = {"missing": "count"}
    return Section("Numeric columns", table, formats, errors=errors, note=note, source="data.describe()")


def _categorical_columns(frame: pd.DataFrame) -> Section:
    """Return the section of a frame of categorical columns, with one row for each.

    It has the columns missing (number), levels (number that occur), most frequent (level as text) and
    proportion of this level among the values. Rows are not weighted.
    """
    rows = []
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].astype(object)
        counts = column.dropna().value_counts()
        most_frequent = (str(counts.index[0]), counts.iloc[0] / counts.sum()) if len(counts) else ("", np.nan)
        rows.append([int(column.isna().sum()), len(counts), *most_frequent])
    headings = ["missing", "levels", "most frequent", "proportion"]
    table = pd.DataFrame(rows, index=frame.columns, columns=headings)
    formats: dict[Any, Any] = {"missing": "count", "levels": "count", "most frequent": "text"}
    return Section("Categorical columns", table, formats | {"proportion": "share"}, source="data.describe()")


IMPORTS_BY_NAME = {"pd": "import pandas as pd", "pl": "import polars as pl", "np": "import numpy as np"}
"""Import statements of names that an expression in `load=` may use."""


def check_load(load: Any) -> None:
    """Raise DataError if `load=` is neither None nor the text of a Python expression."""
    if load is None:
        return
    if not isinstance(load, str):
        raise DataError(
            f"load= is a {type(load).__name__}.", hint="Pass a str, such as \"pd.read_csv('iris.csv')\"."
        )
    try:
        ast.parse(load.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DataError(
            f"load={load!r} is not a Python expression.",
            hint="Pass an expression that loads the table, such as \"pd.read_csv('iris.csv')\".",
        ) from None


def changed_options(results: Any) -> dict[str, Any]:
    """Return the options of a fit that differ from the defaults of its verb, by name.

    Parameters that the rows chose have their chosen values (`refit_options`). "levels" is included if the
    classes are not in ascending order. Raises DiscrimError if the options cannot be determined.
    """
    defaults = argument_defaults(BY_VERB[results._verb()])
    options = refit_options(results)
    options = {
        name: value for name, value in options.items() if not _equals_default(value, defaults.get(name))
    }
    levels = list(results._fit.design_rows.design.levels)
    if not _is_sorted(levels):
        options["levels"] = levels
    return options


def _equals_default(value: Any, default: Any) -> bool:
    """Return whether an option equals its default; False if they cannot be compared.

    An empty list or dict equals None, and an empty list equals ().
    """
    try:
        return bool(
            value == default or (default is None and value in ([], {})) or (default == () and value == [])
        )
    except (ValueError, TypeError):
        return False


def _is_sorted(levels: list[Any]) -> bool:
    """Return whether class labels or levels are in ascending order, or cannot be compared."""
    try:
        return levels == sorted(levels)
    except TypeError:
        return True


def refit_code(results: Any, load: str | None) -> str:
    """Return a Python program that loads the table, repeats the fit and prints its summary.

    `load` is a valid expression that loads the table; for None the program reads "data.csv" and has comments
    on the table. Comments name variables that the user has to define. Raises DiscrimError if the options of
    the fit cannot be determined.
    """
    options = changed_options(results)
    fit = results._fit
    verb = results._verb()
    imports = {"import discrim"}
    before = []
    lines = [f"    {fit.formula!r},", "    data=data,"]
    for name, value in options.items():
        text, needed_imports, note = _code_of_value(value, name)
        imports |= needed_imports
        before += note
        lines.append(f"    {name}={text},")
    if fit.design_rows.has_weights:
        design = fit.design_rows.design
        column = fit.design_rows.rows.weight_column({*design.columns, *design.response_columns})
        if column is None:
            before.append("weights = 'weights'  # the column of the weights, or a vector")
        lines.append(f"    weights={'weights' if column is None else repr(column)},")
    expression = "pd.read_csv('data.csv')" if load is None else load.strip()
    used = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    imports |= {IMPORTS_BY_NAME[name] for name in used if name in IMPORTS_BY_NAME}
    unknown = sorted(used - {*IMPORTS_BY_NAME, "discrim", *dir(builtins)})
    before = [f"# {name} is your own name: import or define it here" for name in unknown] + before
    table = [f"# {line}" for line in _table_comments(fit, load)] + [f"data = {expression}"]
    table += _category_code_lines(fit) if load is None else []
    call = [f"fit = discrim.{verb}(", *lines, ")"]
    import_lines = sorted(imports, key=lambda line: (not line.startswith("import"), line))
    return "\n".join([*import_lines, "", *before, *table, "", *call, "print(fit.summary())"])


def _table_comments(fit: Any, load: str | None) -> list[str]:
    """Return comments, without "#", on the table that the code has to load; empty if `load` is not None."""
    if load is not None:
        return []
    columns = [*fit.design_rows.design.response_columns, *fit.design_rows.design.columns]
    columns_text = ", ".join(map(repr, columns[:8])) + (
        f" and {len(columns) - 8} more" if len(columns) > 8 else ""
    )
    comments = ["Load the table of the fit here: data.csv stands for it."]
    if read_from := fit.design_rows.rows.source_description:
        comments = [f"Load the table of the fit here, or name it: it was {read_from}."]
    elif not fit.has_rows:
        reason = "because it was loaded or computed from moments"
        comments = [f"The fit has no rows, {reason}: load the original table."]
    return [*comments, f"Columns: {columns_text}"]


def _category_code_lines(fit: Any) -> list[str]:
    """Return lines of code that restore the order of categories, which a CSV file does not store.

    Only columns whose levels are not in ascending order need a line.
    """
    design = fit.design_rows.design
    if design.spec is None:
        return []
    names = {quote(name): name for name in design.columns}
    lines = []
    for factor in design.spec.factors:
        if factor.levels is not None and factor.code in names and not _is_sorted(list(factor.levels)):
            column = f"data[{names[factor.code]!r}]"
            lines.append(f"{column} = pd.Categorical({column}, {list(factor.levels)!r})")
    return lines


def _code_of_value(value: Any, name: str) -> tuple[str, set[str], list[str]]:
    """Return Python code for the value of an option.

    Parameters
    ----------
    value : object
    name : str
        Name of the option.

    Returns
    -------
    code : str
        Expression of the value, or the name of a variable that the user has to define.
    imports : set of str
        Import statements that the expression needs.
    lines : list of str
        Lines before the call, such as the definition of the variable.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if name == "functions":
        lines = [
            f"# {function_name} is your own function: import or define it here" for function_name in value
        ]
        return (
            "{" + ", ".join(f"{function_name!r}: {function_name}" for function_name in value) + "}",
            set(),
            lines,
        )
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_scalar_literal(k)}: {_scalar_literal(v)}" for k, v in value.items()) + "}",
            set(),
            [],
        )
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_scalar_literal, value))}]", set(), []
    if value is None or isinstance(value, str | int | float | bool):
        return _scalar_literal(value), set(), []
    value_class = type(value)
    text = " ".join(repr(value).split())
    module = value_class.__module__.split("._")[0]
    if text.startswith(f"{value_class.__name__}(") and _is_expression(text):
        return text, {f"from {module} import {value_class.__name__}"}, []
    return name, set(), [f"{name} = ...  # a {value_class.__name__} of yours: create it here"]


def _scalar_literal(value: Any) -> str:
    """Return the code of a scalar: its repr, or for example "float('nan')"."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _is_expression(text: str) -> bool:
    """Return whether a text is a Python expression."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def option_items(results: Any) -> list[tuple[str, str]]:
    """Return pairs such as ("Option ncomp", "2") of the options that differ from the defaults, as code.

    Without such options the only pair is ("Options", "the defaults"); if they cannot be determined, its text
    is the reason.
    """
    try:
        options = changed_options(results)
    except DiscrimError as error:
        return [("Options", str(error))]
    pairs = [(f"Option {name}", _code_of_value(value, name)[0]) for name, value in options.items()]
    return pairs or [("Options", "the defaults")]


PACKAGES = ("discrim", "numpy", "scipy", "pandas", "patsy", "statsmodels", "narwhals", "matplotlib")
"""Packages whose versions a page states."""

TESTS = {
    "manova": "Do the class means differ? Multivariate tests",
    "anova": "Do the class means differ? Univariate tests",
    "partial_tests": "Partial tests of each column given the others",
    "distances": "Distances between the class means",
    "box_m": "Are the covariances equal? Box's M",
    "covariance_models": "Which covariance model? From spherical to unrestricted",
    "log_determinants": "Log-determinants of the covariances",
    "lr_test": "Do the columns have any effect? Likelihood ratio",
}
"""Titles of the tables of tests, by the name of the method of results that computes them."""

HEADINGS: dict[str, dict[str, str]] = {
    "manova": {"F_is": "the F is"},
    "anova": {
        "sd_total": "std dev",
        "sd_within": "within classes",
        "sd_between": "between classes",
        "R2": "R²",
        "levene_F": "Levene's F",
        "levene_p": "its p",
    },
    "partial_tests": {"partial_wilks": "partial lambda", "partial_R2": "partial R²"},
    "distances": {"D2": "squared distance"},
    "covariance_models": {
        "df": "parameters",
        "llf": "log-likelihood",
        "LR_free": "likelihood ratio",
        "LR_free_df": "df",
        "p_free": "p",
    },
    "log_determinants": {"logdet": "log-determinant", "debiased": "without bias"},
}
"""Headings of columns of the tests, by method of `TESTS` and column; other columns have their names."""

OMITTED_COLUMNS = ["LR", "LR_df", "p"]
"""Columns of `covariance_models` that are omitted, because the table would be too wide."""

NOTES = {
    "anova": "Levene's F tests for equal variances of the classes; it assumes independent observations.",
    "partial_tests": "Partial lambda is Wilks' lambda with the column divided by Wilks' lambda without it.",
    "covariance_models": "The likelihood ratio tests each model against unrestricted covariances, for normal "
    "classes; discrim.covariance_models(formula, data) also has the test against the next model.",
}
"""Notes below tables of tests, by method of `TESTS`, that explain their columns."""

OPTIONS_WITHOUT_ROWS: dict[str, dict[str, Any]] = {"anova": {"levene": None}}
"""Arguments of methods of `TESTS` for fits without rows, which omit the parts of a test that need rows."""


def write_report(
    results: Any, path: Any, title: Any, load: Any, pictures: Any, interactive: bool = False
) -> None:
    """Write the report of a fit to a file, which is replaced whole or not at all.

    Arguments are validated before any content is computed.

    Parameters
    ----------
    results : ClassifierResults
    path, title, load, pictures, interactive
        Arguments of `ReportMethods.report`. A value that is not valid is a DataError, and `interactive` for a
        page other than HTML a NotSupportedError.
    """
    output_path = validate_output_path(path, "A report", *PAGE_EXTENSIONS)
    if title is not None and not isinstance(title, str):
        raise DataError(f"title= is a {type(title).__name__}.", hint="Pass a str.")
    check_load(load)
    check_flag("interactive", interactive)
    page = page_for(output_path)
    if interactive and not isinstance(page, HtmlPage):
        raise NotSupportedError(
            f"interactive=True requires an HTML page, and {output_path.name!r} is not one.",
            hint="Leave out interactive=, or name a file that ends in .html.",
        )
    gallery = _read_pictures_option(results, pictures)._replace(interactive=interactive)
    page.save(output_path, report_text(page, results, title, load, gallery))


PLOTS_BY_IMPORTANCE = (
    "confusion forest vip centroids density components log_determinants fitted posteriors territory "
    "calibration structure ellipses regions distances odds_ratios roc choice path loadings scree table"
)
"""Kinds of plots in decreasing order of importance, after the first one ("scores" or "regions")."""

N_VISIBLE_PLOTS = 4
N_FOLDED_PLOTS = 2
"""Default number of visible plots of a page, and of additional plots in a folded section."""


class Gallery(NamedTuple):
    """Plots of a page.

    Attributes
    ----------
    kinds : sequence of str
        Kinds of plots in order.
    n_drawn, n_visible : int
        Largest number of plots that are drawn, and number of them outside a folded section. Kinds that are
        not available do not count.
    interactive : bool
        Whether plots are drawn by plotly if possible.
    """

    kinds: Sequence[str]
    n_drawn: int
    n_visible: int
    interactive: bool = False


def _read_pictures_option(results: Any, pictures: Any) -> Gallery:
    """Return the plots in `pictures=`: a kind, kinds, "all", or None for the most important kinds.

    "all" and None do not include kinds that refit the model. For None at most `N_VISIBLE_PLOTS` are visible
    and `N_FOLDED_PLOTS` folded; for "all" all are drawn, with the others folded; kinds of the user are all
    visible. Raises DataError for a kind that the model does not have.
    """
    known_kinds = available_plot_kinds(results)
    if pictures is None or pictures == "all":
        kinds = available_plot_kinds(results, refits=False)
        first_kind = next((plot_kind for plot_kind in ("scores", "regions") if plot_kind in kinds), kinds[0])
        first = [first_kind, *PLOTS_BY_IMPORTANCE.split()]
        kinds = tuple(
            sorted(kinds, key=lambda plot_kind: first.index(plot_kind) if plot_kind in first else len(first))
        )
        return Gallery(
            kinds, len(kinds) if pictures == "all" else N_VISIBLE_PLOTS + N_FOLDED_PLOTS, N_VISIBLE_PLOTS
        )
    chosen = [pictures] if isinstance(pictures, str) else pictures
    chosen = list(chosen) if isinstance(chosen, Iterable) else None
    unknown = [requested_kind for requested_kind in chosen or () if requested_kind not in known_kinds]
    if chosen is None or unknown:
        invalid_text = format_argument(pictures) if chosen is None else format_value(unknown[0])
        raise DataError(
            f"pictures= has {invalid_text}, which is not a picture of this model.",
            hint=f'Name some of {join_labels(known_kinds)}, or pass [] for none, or "all".',
        )
    return Gallery(chosen, len(chosen), len(chosen))


def report_text(page: Page, results: Any, title: str | None, load: str | None, gallery: Gallery) -> str:
    """Return the text of the report of a fit in the format of a page, for `page.save`.

    Parameters
    ----------
    page : Page
        Writer of a format. It collects the pictures of formats that store them apart from the text.
    results : ClassifierResults
    title : str or None
        Title of the page, plain text; None for the title of the model.
    load : str or None
        Expression that loads the table, for the code of the page; None for a file "data.csv".
    gallery : Gallery
        Plots of the page.
    """
    method = evaluation_method(results)
    errors = _chapter_or_reason(page, "A table of errors", partial(_error_chapter, page, results, method))
    chapters = [
        Chapter("pictures", "Pictures", _plot_chapter(page, results, gallery, method)),
        Chapter(
            "summary",
            "Summary",
            _chapter_or_reason(page, "The summary", partial(_summary_chapter, page, results)),
        ),
        Chapter("errors", "Errors", errors),
        Chapter("tests", "Tests", _test_chapter(page, results)),
        Chapter("fitted", "How it was fitted", _model_chapter(page, results)),
        Chapter("data", "The data", _data_chapter(page, results)),
        Chapter("code", "The code that repeats the fit", _code_chapter(page, results, load)),
    ]
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    fit = getattr(results, "_fit", None)
    lines = [": ".join([*([results._title()] if title else []), *([] if fit is None else [fit.formula])])]
    with suppress(DiscrimError):
        lines += [text for facts in results._facts().values() for text in (facts.title, facts.note)]
    foot = f"Written {now} by discrim {_version('discrim')}."
    if isinstance(page, HtmlPage):
        page.script = plotly_script(gallery.interactive)
    return page.assemble(title or results._title(), lines, chapters, foot)


def _chapter_or_reason(page: Page, noun: str, make: Callable[[], str]) -> str:
    """Return the text of a chapter, or a paragraph on why it is not available.

    Parameters
    ----------
    page : Page
        Writer of the format, which formats the paragraph.
    noun : str
        Subject of the sentence "... is not available", such as "The summary"; plain text.
    make : callable
        Function without arguments that returns the chapter in this format. If it raises DiscrimError, its
        message follows the sentence; other errors are not caught.
    """
    try:
        return make()
    except DiscrimError as error:
        return page.paragraph(f"{noun} is not available. {error}", "note")


def _compute_sections(
    page: Page, functions: Mapping[str, Callable[[], Any]], message_format: str
) -> tuple[dict[str, Any], list[str]]:
    """Compute sections, and paragraphs on the sections that raise DiscrimError.

    Parameters
    ----------
    page : Page
    functions : mapping of str to callable
        Functions that return the sections, by name.
    message_format : str
        `str.format` template of a sentence with one field, the name of a section.

    Returns
    -------
    computed : dict of str to Section or Pairs
        Sections by name, without the ones that raised an error.
    paragraphs : list of str
        Formatted paragraphs with the reasons for missing sections.
    """
    computed = {}
    missing = []
    for name, make in functions.items():
        try:
            computed[name] = make()
        except DiscrimError as error:
            missing.append(page.paragraph(f"{message_format.format(name)} {error}", "note"))
    return computed, missing


# ---- chapters: functions that return text in the format of the page


def _summary_chapter(page: Page, results: Any) -> str:
    """Return the chapter of the summary; sections that a summary shows only if named are folded.

    A section that raises DiscrimError is replaced by a paragraph with the reason.
    """
    functions = results._sections()
    computed, missing = _compute_sections(page, functions, "The section {!r} is not available.")
    if "header" in computed:
        # The formula is at the top of the page.
        computed["header"] = replace(computed["header"], title="At a glance")
    short_sections = {
        key: section for key, section in computed.items() if key not in functions.shown_only_by_name
    }
    long_sections = {key: section for key, section in computed.items() if key in functions.shown_only_by_name}
    long_html = [page.sections("Long sections", long_sections)] if long_sections else []
    fold_title = f"Long sections: {', '.join(long_sections)}"
    return "\n".join(
        [page.sections(results._title(), short_sections), page.collapsible(fold_title, long_html), *missing]
    )


def _test_chapter(page: Page, results: Any) -> str:
    """Return the chapter of the tests in `TESTS` that the results have; a sentence for results without tests.

    A test that raises DiscrimError is replaced by a paragraph with the reason.
    """
    methods = {title: name for name, title in TESTS.items() if _test_method(results, name) is not None}
    tests = {title: partial(_test_section, results, title, name) for title, name in methods.items()}
    computed, missing = _compute_sections(page, tests, "{}: not available.")
    if not tests:
        return page.paragraph("This model has no tests.", "note")
    html = [page.sections("Tests of means, covariances and columns", computed)] if computed else []
    return "\n".join([*html, *missing])


def _test_method(results: Any, name: str) -> str | None:
    """Return the name of the method of a test, `name` or "_" + `name`; None if the model lacks both."""
    return next((candidate for candidate in (name, f"_{name}") if hasattr(type(results), candidate)), None)


def _test_section(results: Any, title: str, name: str) -> Section:
    """Return the section of a test, with undefined values left blank.

    Raises the error of the test if it is not available.

    Parameters
    ----------
    results : ClassifierResults
    title : str
        Title of the table.
    name : str
        Key of `TESTS`: name of the method that computes the test, or of a private one after an underscore.
    """
    options = {} if results._fit.has_rows else OPTIONS_WITHOUT_ROWS.get(name, {})
    outcome: Any = getattr(results, _test_method(results, name) or name)(**options)
    note = NOTES.get(name, "")
    if isinstance(outcome, TestResult):
        outcome, note = outcome.table, outcome.assumes
    table: pd.DataFrame = outcome.to_frame() if isinstance(outcome, pd.Series) else outcome
    table = table.drop(columns=OMITTED_COLUMNS, errors="ignore") if name == "covariance_models" else table
    formats = _column_formats(table)
    blanked = table.astype(object)
    for j, column in enumerate(table.columns):
        if table[column].isna().any():
            # Undefined values, such as a p-value of a statistic without a distribution, are left blank.
            is_defined = table[column].notna().to_numpy()
            texts = iter(column_texts(table[column][is_defined].tolist(), formats.get(column, "general")))
            blanked.isetitem(j, [next(texts) if defined else "" for defined in is_defined])
            formats[column] = "text"
    headings = SHARED_HEADINGS | HEADINGS.get(name, {})
    return Section(title, blanked, formats, headings=headings, note=note, source=f"fit.{name}()")


def _column_formats(table: pd.DataFrame) -> dict[Any, Any]:
    """Return the number formats of the columns of a table of tests, by column name.

    Columns without an entry have the format "general".
    """
    formats: dict[Any, Any] = {}
    for column in table.columns:
        name = str(column)
        if not pd.api.types.is_numeric_dtype(table[column]):
            formats[column] = "text"
        elif name == "p" or name.startswith("p_") or name.endswith("_p"):
            formats[column] = "tail"
        elif name in FORMATS:
            formats[column] = FORMATS[name]
    return formats


METHOD_NOTES = {
    "loo": "Leave-one-out: each observation is predicted by a rule fitted without it.",
    "cv": "10-fold cross-validation: each observation is predicted by a rule fitted without its fold.",
    "apparent": "Resubstitution: the rule is evaluated on the observations that it was fitted to, which is "
    "optimistic: see error_rates().",
}
"""Notes on the methods to predict the rows of the fit, for the table of errors."""


def evaluation_method(results: Any) -> CountingMethod:
    """Return the method by which a report predicts the rows of the fit.

    The methods of `evaluation_methods` are tried in order, by computing the confusion matrix (seed 0); the
    first that raises no DiscrimError is returned. The result is "apparent" without any attempt if the fit
    lacks rows or is slow to evaluate (`is_slow_to_evaluate`), or if the first method is "cv" and each fold
    would repeat a choice, such as a penalty.
    """
    fit = getattr(results, "_fit", None)
    if fit is None or not fit.has_rows or is_slow_to_evaluate(fit):
        return "apparent"
    methods = evaluation_methods(fit)
    if methods[0] == "cv" and fit.choice_description:
        # Each fold would repeat the choice, at the cost of ten fits.
        return "apparent"
    for method in methods:
        with suppress(DiscrimError):
            results.confusion(method=method, seed=0)
            return method
    return "apparent"


def _error_chapter(page: Page, results: Any, method: CountingMethod) -> str:
    """Return the chapter of the confusion matrix, and of the error rates by `method` and by resubstitution.

    Raises DataError for results of known distributions, which lack a confusion matrix, and the errors of
    `error_rates` and `confusion`.

    Parameters
    ----------
    page : Page
    results : ClassifierResults
    method : {"apparent", "loo", "cv"}
        How the rows of the fit are predicted.
    """
    if not hasattr(results, "confusion"):
        raise DataError(
            "The distribution is known and was not fitted to rows.", hint="See the error rate in the summary."
        )
    formats: dict[Any, Any] = dict.fromkeys(("estimate", "se", "low", "high"), "share")
    formats |= {"wrong": "count", "total": "count"}
    folds = {"seed": 0} if method == "cv" else {}
    methods = dict.fromkeys([method, "apparent"])
    rates = results.error_rates(methods=list(methods), **folds)[list(formats)]
    names = {"loo": "leave-one-out", "cv": "10-fold cross-validation", "apparent": "resubstitution"}
    title = f"Actual class (rows) by predicted class (columns), {names[method]}"
    counts = results.confusion(method=method, **folds)
    call = f'fit.confusion("{method}")' if method != "apparent" else "fit.confusion()"
    note = "Resubstitution: on the observations that the rule was fitted to." if method != "apparent" else ""
    sections = {
        "confusion": Section(title, counts, "count", note=METHOD_NOTES[method], source=call),
        "rates": Section(
            "Error rate", rates.rename(index=names), formats, headings=SHARED_HEADINGS, note=note
        ),
    }
    return page.sections("Predicted classes against actual ones", sections)


MAX_LABELLED_ROWS = 1_000
"""Largest number of rows for which points of plots have labels; more would make a page slow to open."""


def _row_texts(results: Any) -> list[str]:
    """Return the texts that points show on hover, one for each row of the table.

    The list is empty without rows, for more than `MAX_LABELLED_ROWS` rows, or if reading or predicting them
    raises DiscrimError.
    """
    fit = getattr(results, "_fit", None)
    options = PlotOptions()
    if fit is None or not fit.has_rows or fit.design_rows.table.nrows > MAX_LABELLED_ROWS:
        return []
    try:
        return hover_data(fit, rows_to_draw(fit, options), options).descriptions()
    except DiscrimError:
        return []


def _plot_chapter(page: Page, results: Any, gallery: Gallery, method: CountingMethod) -> str:
    """Return the chapter of plots, with lines of code for the kinds that are not drawn.

    Plots that raise DiscrimError are replaced by a paragraph with the reason.

    Parameters
    ----------
    page : Page
    results : ClassifierResults
    gallery : Gallery
    method : {"apparent", "loo", "cv"}
        How plots of an evaluation predict the rows of the fit.
    """
    drawn_plots: list[str] = []
    missing = []
    others = []
    row_texts = _row_texts(results)
    classes = ", ".join(clean(label) for label in results.classes[:6])
    if len(results.classes) > 6:
        classes += f" and {len(results.classes) - 6} more"
    plots = {plot.kind: plot for plot in results._spec.plots()}
    with Progress(min(len(gallery.kinds), gallery.n_drawn), "pictures") as progress:
        for number, name in enumerate(gallery.kinds):
            plot = plots[name]
            line = f"{plot.description[:1].upper()}{plot.description[1:]}"
            takes_method = "method" in plot.options
            options = {"method": method} if takes_method else {}
            call = f'fit.plot("{name}", method="{method}")' if takes_method else f'fit.plot("{name}")'
            if len(drawn_plots) == gallery.n_drawn:
                others.append((call, line))
                continue
            try:
                if isinstance(page, HtmlPage) and gallery.interactive and "interactive" in plot.options:
                    body = html_element(results.plot(name, interactive=True), f"g{number}")
                    drawn_plots.append(
                        page.captioned(body, line, f'fit.plot("{name}", interactive=True)', "live")
                    )
                    continue
                draw = partial(results.plot, name, **options)
                alt = f"{line}. Classes: {classes}."
                drawn_plots.append(page.picture(Drawing(name, number, draw, row_texts, alt, line, call)))
            except DiscrimError as error:
                missing.append(page.paragraph(f"{line}: not drawn. {error}", "note"))
            progress(1)
    visible_plots = drawn_plots[: gallery.n_visible]
    folded_plots = drawn_plots[gallery.n_visible :]
    lines = [page.figures(visible_plots) if visible_plots else page.paragraph("No pictures are drawn.")]
    if folded_plots:
        lines.append(page.collapsible(f"{len(folded_plots)} more pictures", [page.figures(folded_plots)]))
    if others:
        hint_text = page.paragraph(
            'A line of code draws each of these; report(pictures="all") adds them to the page.'
        )
        lines.append(page.collapsible("Other pictures of this model", [hint_text, page.pair_lines(others)]))
    return "\n".join([*lines, page.collapsible("Pictures that are not available for this fit", missing)])


def _model_chapter(page: Page, results: Any) -> str:
    """Return the chapter on the model: title, verb, formula, changed options and versions of packages.

    For results of known distributions, without a fit, formula and options are left out.
    """
    verb = results._verb()
    row = BY_VERB[verb]
    fit = getattr(results, "_fit", None)
    items = [
        ("Model", results._title()),
        ("Verb", f"discrim.{verb}()" + (f", {row.command}" if row.command else "")),
    ]
    if fit is not None:
        items += [("Formula", fit.formula), *option_items(results)]
        if fit.choice_description:
            items.append(("Chosen from the data", fit.choice_description))
        if not fit.has_rows:
            items.append(("Rows", "not available: the fit was loaded from a file or computed from moments"))
    else:
        items.append(("Estimated", "nothing: prior and densities are known"))
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    items += [("Packages", versions), ("Python", f"{platform.python_version()}, {platform.system()}")]
    return page.pair_lines(items)


def _version(name: str) -> str:
    """Return the version of an installed package, or "of unknown version"."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _data_chapter(page: Page, results: Any) -> str:
    """Return the chapter on the rows, classes and columns of the fit; a paragraph for results without one."""
    fit = getattr(results, "_fit", None)
    if fit is None:
        return page.paragraph(
            "There are no data: the distributions of the classes are known, and nothing was estimated."
        )
    sections, reason = description_sections(fit)
    lines = [page.pair_lines(size_items(fit)), page.sections("Classes and columns", sections)]
    return "\n".join([*lines, page.paragraph(reason)] if reason else lines)


def _code_chapter(page: Page, results: Any, load: str | None) -> str:
    """Return the chapter with the code that repeats the fit, from `refit_code`; a sentence without a fit."""
    if getattr(results, "_fit", None) is None:
        return page.paragraph(
            "The distributions are arguments of the call: store the program that created them.", "note"
        )
    return _chapter_or_reason(page, "The code", lambda: page.code_block(refit_code(results, load)))
