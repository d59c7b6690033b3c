"""Implementation of the method `report` of all results: a page with plots, tables and code.

The chapters are plots, summary, errors, tests, how the model was fitted, its data, and code that repeats the
fit. `report_of` collects their content; the formats (HTML, Word, Markdown) are in `discrim.report.page`. If a
fit lacks something, a sentence in its place gives the reason.
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
from discrim.data.values import shown
from discrim.errors import DataError, DiscrimError, NotSupportedError
from discrim.formula.grammar import quote
from discrim.inference.result import TestResult
from discrim.models.base.displayed import FORMATS
from discrim.models.base.fit import FittedModel
from discrim.models.base.reading import check_flag, listed, told
from discrim.models.base.refits import argument_defaults, options_of
from discrim.models.evaluation.assessment import Counting, methods_to_judge, takes_long
from discrim.models.plots.pictured import PictureOptions, drawn_rows, kinds_of, pointed_rows
from discrim.models.registry import BY_VERB
from discrim.report.grid import INTERVAL, Section, clean, column_texts
from discrim.report.page.page import PAGES, Chapter, Drawing, HtmlPage, Page, page_for
from discrim.report.plots.interactive import element_of, script_of


def sizes(fit: FittedModel[Any]) -> list[tuple[str, str]]:
    """Return pairs of label and text on the numbers of rows, classes and columns."""
    blocks = fit.design_rows
    design = fit.design_rows.design
    given = fit.has_rows and not blocks.rows.read_from
    items = [
        *([("Rows of the table", f"{blocks.table.nrows:,}")] if given else []),
        ("Rows used", f"{fit.nobs:,}" + (" (sum of the weights)" if blocks.weighted else "")),
        ("Rows dropped because a value is missing", f"{fit.dropped:,}"),
        ("Response", design.response),
        ("Classes", f"{len(fit.classes):,}"),
        ("Columns of the table used", f"{len(design.columns):,}"),
        ("Columns of the design", f"{len(fit.terms):,}"),
    ]
    for why, gone in (("they have one value", blocks.constant), ("others determine them", blocks.collinear)):
        items += [(f"Left out because {why}", ", ".join(gone))] if gone else []
    return items


def described(fit: FittedModel[Any]) -> tuple[dict[str, Section], str]:
    """Return sections on classes and columns, and a sentence on unavailable descriptions or ""."""
    parts = {"classes": _classes(fit)}
    why = ""
    if not fit.has_rows:
        why = "The fit was loaded or made of moments, so that the ranges of its columns are not known."
    elif read_from := fit.design_rows.rows.read_from:
        why = (
            f"The rows are read part by part from {read_from}. Ranges would need another pass over them "
            "and are not shown."
        )
    names = list(fit.design_rows.design.columns)
    try:
        if why:
            means = Section("Means by class", fit.class_means(), source="fit.group_summary()")
            return parts | {"means": means}, why
        frame = fit.rows("The description of the columns").table.frame(names)
    except DiscrimError as error:
        return parts, str(error)
    types = pd.api.types
    numeric = np.array([types.is_numeric_dtype(t) and not types.is_bool_dtype(t) for t in frame.dtypes])
    if numeric.any():
        parts["numbers"] = _numbers(frame.loc[:, numeric])
    if not numeric.all():
        parts["categories"] = _categories(frame.loc[:, ~numeric])
    return parts, ""


def _classes(fit: FittedModel[Any]) -> Section:
    columns = {"rows": fit.rows_by_class, "share": fit.counts / fit.counts.sum()}
    if fit.has_posteriors:
        columns["prior"] = fit.prior
    formats: dict[Any, Any] = {"rows": "count", "share": "share", "prior": "share"}
    return Section("Classes", pd.DataFrame(columns, index=fit.classes), formats, source="fit.counts")


def _numbers(frame: pd.DataFrame) -> Section:
    rows = []
    for j in range(frame.shape[1]):
        column = pd.to_numeric(frame.iloc[:, j]).to_numpy(dtype=np.float64, na_value=np.nan)
        seen = column[~np.isnan(column)]
        quartiles = np.quantile(seen, [0, 0.25, 0.5, 0.75, 1]) if len(seen) else np.full(5, np.nan)
        sd = seen.std(ddof=1) if len(seen) > 1 else np.nan
        rows.append([len(column) - len(seen), *quartiles, seen.mean() if len(seen) else np.nan, sd])
    headings = ["missing", "min", "25 %", "median", "75 %", "max", "mean", "sd"]
    table = pd.DataFrame(rows, index=frame.columns, columns=headings)
    note = "Over all rows of the table, each counted once."
    errors = table["sd"].to_numpy() / 200
    formats: dict[Any, Any] = {"missing": "count"}
    return Section("Columns of numbers", table, formats, errors=errors, note=note, source="data.describe()")


def _categories(frame: pd.DataFrame) -> Section:
    rows = []
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j].astype(object)
        counts = column.dropna().value_counts()
        most = (str(counts.index[0]), counts.iloc[0] / counts.sum()) if len(counts) else ("", np.nan)
        rows.append([int(column.isna().sum()), len(counts), *most])
    headings = ["missing", "levels", "most frequent", "its share"]
    table = pd.DataFrame(rows, index=frame.columns, columns=headings)
    formats: dict[Any, Any] = {"missing": "count", "levels": "count", "most frequent": "text"}
    return Section("Columns of categories", table, formats | {"its share": "share"}, source="data.describe()")


NAMES = {"pd": "import pandas as pd", "pl": "import polars as pl", "np": "import numpy as np"}
"""Names in an expression that loads a table, and their import statements."""


def check_load(load: Any) -> None:
    """Raise DataError if an expression that loads a table is not a valid expression."""
    if load is None:
        return
    if not isinstance(load, str):
        raise DataError(
            f"load= is a {type(load).__name__}.", hint="Give a text, as \"pd.read_csv('iris.csv')\"."
        )
    try:
        ast.parse(load.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DataError(
            f"load={load!r} is no expression of Python.",
            hint="Give one that loads the table, as \"pd.read_csv('iris.csv')\".",
        ) from None


def given_options(results: Any) -> dict[str, Any]:
    """Return the options of the verb that differ from the defaults; raise DiscrimError if unavailable."""
    defaults = argument_defaults(BY_VERB[results._verb()])
    options = options_of(results)
    options = {name: value for name, value in options.items() if not _same(value, defaults.get(name))}
    levels = list(results._fit.design_rows.design.levels)
    if not _sorted(levels):
        options["levels"] = levels
    return options


def _same(value: Any, default: Any) -> bool:
    """Return whether an option equals its default."""
    try:
        return bool(
            value == default or (default is None and value in ([], {})) or (default == () and value == [])
        )
    except (ValueError, TypeError):
        return False


def _sorted(levels: list[Any]) -> bool:
    """Return whether class labels or levels are sorted; True if they cannot be compared."""
    try:
        return levels == sorted(levels)
    except TypeError:
        return True


def code_of(results: Any, load: str | None) -> str:
    """Return a program that loads the table by an expression, repeats the fit and prints its summary."""
    options = given_options(results)
    fit = results._fit
    verb = results._verb()
    imports = {"import discrim"}
    before = []
    lines = [f"    {fit.formula!r},", "    data=data,"]
    for name, value in options.items():
        text, brings, note = _literal(value, name)
        imports |= brings
        before += note
        lines.append(f"    {name}={text},")
    if fit.design_rows.weighted:
        design = fit.design_rows.design
        column = fit.design_rows.rows.weight_column({*design.columns, *design.response_columns})
        if column is None:
            before.append("weights = 'weights'  # the column of the weights, or a vector of them")
        lines.append(f"    weights={'weights' if column is None else repr(column)},")
    expression = "pd.read_csv('data.csv')" if load is None else load.strip()
    used = {node.id for node in ast.walk(ast.parse(expression, mode="eval")) if isinstance(node, ast.Name)}
    imports |= {NAMES[name] for name in used if name in NAMES}
    unknown = sorted(used - {*NAMES, "discrim", *dir(builtins)})
    before = [f"# {name} is a name of your own: import or define it here" for name in unknown] + before
    table = [f"# {line}" for line in _about_table(fit, load)] + [f"data = {expression}"]
    table += _repeated_categories(fit) if load is None else []
    call = [f"fit = discrim.{verb}(", *lines, ")"]
    brought = sorted(imports, key=lambda line: (not line.startswith("import"), line))
    return "\n".join([*brought, "", *before, *table, "", *call, "print(fit.summary())"])


def _about_table(fit: Any, load: str | None) -> list[str]:
    """Return comment lines on the table that the code has to load."""
    if load is not None:
        return []
    columns = [*fit.design_rows.design.response_columns, *fit.design_rows.design.columns]
    shown = ", ".join(map(repr, columns[:8])) + (f" and {len(columns) - 8} more" if len(columns) > 8 else "")
    told = ["Load the table of the fit here: data.csv stands for it."]
    if read_from := fit.design_rows.rows.read_from:
        told = [f"Load the table of the fit here, or name it: it was {read_from}."]
    elif not fit.has_rows:
        why = "because it was loaded or made of moments"
        told = [f"The fit has no rows, {why}: load the table that they come from."]
    return [*told, f"Columns: {shown}"]


def _repeated_categories(fit: Any) -> list[str]:
    """Return lines of code that restore the order of categories, which a CSV file does not store."""
    design = fit.design_rows.design
    if design.spec is None:
        return []
    names = {quote(name): name for name in design.columns}
    lines = []
    for factor in design.spec.factors:
        if factor.levels is not None and factor.code in names and not _sorted(list(factor.levels)):
            column = f"data[{names[factor.code]!r}]"
            lines.append(f"{column} = pd.Categorical({column}, {list(factor.levels)!r})")
    return lines


def _literal(value: Any, name: str) -> tuple[str, set[str], list[str]]:
    """Return the code of a value, the imports that it needs, and lines that precede it."""
    if isinstance(value, np.generic):
        value = value.item()
    if name == "functions":
        lines = [f"# {each} is a function of your own: import or define it here" for each in value]
        return "{" + ", ".join(f"{each!r}: {each}" for each in value) + "}", set(), lines
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_plain(k)}: {_plain(v)}" for k, v in value.items()) + "}", set(), []
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]", set(), []
    if value is None or isinstance(value, str | int | float | bool):
        return _plain(value), set(), []
    kind = type(value)
    text = " ".join(repr(value).split())
    module = kind.__module__.split("._")[0]
    if text.startswith(f"{kind.__name__}(") and _is_expression(text):
        return text, {f"from {module} import {kind.__name__}"}, []
    return name, set(), [f"{name} = ...  # a {kind.__name__} of your own: make it here"]


def _plain(value: Any) -> str:
    """Return the code of a scalar."""
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


def told_options(results: Any) -> list[tuple[str, str]]:
    """Return pairs of label and text for the options that differ from the defaults, or the reason."""
    try:
        options = given_options(results)
    except DiscrimError as error:
        return [("Options", str(error))]
    shown = [(f"Option {name}", _literal(value, name)[0]) for name, value in options.items()]
    return shown or [("Options", "the defaults")]


PACKAGES = ("discrim", "numpy", "scipy", "pandas", "patsy", "statsmodels", "narwhals", "matplotlib")

TESTS = {
    "manova": "Do the class means differ? Multivariate tests",
    "anova": "Do the class means differ? Column by column",
    "partial_tests": "What each column adds to the others",
    "distances": "Distances between the class means",
    "box_m": "Are the covariances equal? Box's M",
    "covariance_models": "Which covariances? From spherical to free",
    "log_determinants": "Log-determinants of the covariances",
    "lr_test": "Do the columns have any effect? Likelihood ratio",
}
"""Methods for tests that can be called without arguments, and the titles of their tables."""

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
"""Headings of the columns of the tests."""

TOO_MUCH = ["LR", "LR_df", "p"]
"""Columns of `covariance_models` that are omitted, because the table would be too wide."""

NOTES = {
    "anova": "Levene's F tests whether all classes have the same spread; it assumes independent rows.",
    "partial_tests": "Partial lambda is Wilks' lambda with the column divided by that without it.",
    "covariance_models": "The likelihood ratio tests each model against free covariances, for normal "
    "classes; discrim.covariance_models(formula, data) also has the test against the next model.",
}
"""Notes below tables that explain their columns."""

WITHOUT_ROWS: dict[str, dict[str, Any]] = {"anova": {"levene": None}}
"""Arguments for fits without rows, which omit the parts of a test that need rows."""


def write_report(
    results: Any, path: Any, title: Any, load: Any, pictures: Any, interactive: bool = False
) -> None:
    """Write the report of a fit to a file atomically; see `Reported.report`.

    Parameters
    ----------
    results : ClassifierResults
    path, title, load, pictures, interactive
        Arguments of `report`.
    """
    place = validate_output_path(path, "A report", *PAGES)
    if title is not None and not isinstance(title, str):
        raise DataError(f"title= is a {type(title).__name__}.", hint="Give a text.")
    check_load(load)
    check_flag("interactive", interactive)
    page = page_for(place)
    if interactive and not isinstance(page, HtmlPage):
        raise NotSupportedError(
            f"interactive=True is for a page of HTML, and {place.name!r} is none.",
            hint="Leave it out, or name a file that ends in .html.",
        )
    gallery = _gallery(results, pictures)._replace(interactive=interactive)
    page.save(place, report_of(page, results, title, load, gallery))


WORTH = (
    "confusion forest vip centroids density components log_determinants fitted posteriors territory "
    "calibration structure ellipses regions distances odds_ratios roc choice path loadings scree table"
)
"""Kinds of plots in decreasing order of importance, after the one that shows the model."""

OPEN = 4
FOLDED = 2
"""Default number of visible plots of a page, and of additional plots in a folded section."""


class Gallery(NamedTuple):
    """Plots of a page.

    Attributes
    ----------
    kinds : sequence of str
        Kinds of plots in order.
    drawn, seen : int
        Number of plots that are drawn, and number outside folded sections.
    interactive : bool
        Whether plots are drawn by plotly if possible.
    """

    kinds: Sequence[str]
    drawn: int
    seen: int
    interactive: bool = False


def _gallery(results: Any, pictures: Any) -> Gallery:
    """Return the plots in `pictures=`, by default the most important kinds that do not refit the model."""
    known = kinds_of(results)
    if pictures is None or pictures == "all":
        kinds = kinds_of(results, refits=False)
        lead = next((kind for kind in ("scores", "regions") if kind in kinds), kinds[0])
        first = [lead, *WORTH.split()]
        kinds = tuple(sorted(kinds, key=lambda kind: first.index(kind) if kind in first else len(first)))
        return Gallery(kinds, len(kinds) if pictures == "all" else OPEN + FOLDED, OPEN)
    chosen = [pictures] if isinstance(pictures, str) else pictures
    chosen = list(chosen) if isinstance(chosen, Iterable) else None
    unknown = [each for each in chosen or () if each not in known]
    if chosen is None or unknown:
        bad = told(pictures) if chosen is None else shown(unknown[0])
        raise DataError(
            f"pictures= has {bad}, which is no picture of this model.",
            hint=f'Name some of {listed(known)}, or give [] for none, or "all".',
        )
    return Gallery(chosen, len(chosen), len(chosen))


def report_of(page: Page, results: Any, title: str | None, load: str | None, gallery: Gallery) -> str:
    """Return the text of the report of a fit.

    Parameters
    ----------
    page : Page
        Writer of a format.
    results : ClassifierResults
    title : str or None
    load : str or None
        Expression that loads the table.
    gallery : Gallery
        Plots of the page.
    """
    judging = judging_of(results)
    errors = _tried(page, "A table of errors", partial(_errors, page, results, judging))
    chapters = [
        Chapter("pictures", "Pictures", _pictures(page, results, gallery, judging)),
        Chapter("summary", "Summary", _tried(page, "The summary", partial(_summary, page, results))),
        Chapter("errors", "Errors", errors),
        Chapter("tests", "Tests", _tests(page, results)),
        Chapter("fitted", "How it was fitted", _fitted(page, results)),
        Chapter("data", "The data", _data(page, results)),
        Chapter("code", "The code that repeats it", _code(page, results, load)),
    ]
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    fit = getattr(results, "_fit", None)
    lines = [": ".join([*([results._title()] if title else []), *([] if fit is None else [fit.formula])])]
    with suppress(DiscrimError):
        lines += [each for facts in results._facts().values() for each in (facts.title, facts.note)]
    foot = f"Written {now} by discrim {_version('discrim')}."
    if isinstance(page, HtmlPage):
        page.script = script_of(gallery.interactive)
    return page.whole(title or results._title(), lines, chapters, foot)


def _tried(page: Page, what: str, make: Callable[[], str]) -> str:
    """Return the content that a function makes, or a paragraph with the reason if it raises DiscrimError."""
    try:
        return make()
    except DiscrimError as error:
        return page.paragraph(f"{what} is not here. {error}", "note")


def _each(
    page: Page, parts: Mapping[str, Callable[[], Any]], lacking: str
) -> tuple[dict[str, Any], list[str]]:
    """Compute sections, and paragraphs on the sections that raise DiscrimError.

    Parameters
    ----------
    page : Page
    parts : mapping of str to callable
        Functions that return the sections.
    lacking : str
        Format of a sentence with the name of a section.
    """
    made = {}
    missing = []
    for name, make in parts.items():
        try:
            made[name] = make()
        except DiscrimError as error:
            missing.append(page.paragraph(f"{lacking.format(name)} {error}", "note"))
    return made, missing


# ---- chapters


def _summary(page: Page, results: Any) -> str:
    """Return the chapter of the summary."""
    parts = results._sections()
    made, missing = _each(page, parts, "The section {!r} is not here.")
    if "header" in made:
        # The formula is at the top of the page.
        made["header"] = replace(made["header"], title="At a glance")
    shown = {key: part for key, part in made.items() if key not in parts.by_name}
    rest = {key: part for key, part in made.items() if key in parts.by_name}
    more = [page.sections("What is long", rest)] if rest else []
    named = f"What is long: {', '.join(rest)}"
    return "\n".join([page.sections(results._title(), shown), page.folded(named, more), *missing])


def _tests(page: Page, results: Any) -> str:
    """Return the chapter of tests."""
    there = {title: name for name, title in TESTS.items() if _test_method(results, name) is not None}
    tests = {title: partial(_test, results, title, name) for title, name in there.items()}
    made, missing = _each(page, tests, "{}: not here.")
    if not tests:
        return page.paragraph("This model has no tests of its own.", "note")
    shown = [page.sections("Tests of means, covariances and columns", made)] if made else []
    return "\n".join([*shown, *missing])


def _test_method(results: Any, name: str) -> str | None:
    """Return the name of the public or private method of a test; None if the model lacks it."""
    return next((each for each in (name, f"_{name}") if hasattr(type(results), each)), None)


def _test(results: Any, title: str, name: str) -> Section:
    """Return the table of a test."""
    options = {} if results._fit.has_rows else WITHOUT_ROWS.get(name, {})
    found: Any = getattr(results, _test_method(results, name) or name)(**options)
    note = NOTES.get(name, "")
    if isinstance(found, TestResult):
        found, note = found.table, found.assumes
    table: pd.DataFrame = found.to_frame() if isinstance(found, pd.Series) else found
    table = table.drop(columns=TOO_MUCH, errors="ignore") if name == "covariance_models" else table
    formats = _formats(table)
    blanked = table.astype(object)
    for j, column in enumerate(table.columns):
        if table[column].isna().any():
            # Undefined values, such as a p-value of a statistic without a distribution, are left blank.
            there = table[column].notna().to_numpy()
            texts = iter(column_texts(table[column][there].tolist(), formats.get(column, "general")))
            blanked.isetitem(j, [next(texts) if one else "" for one in there])
            formats[column] = "text"
    headings = INTERVAL | HEADINGS.get(name, {})
    return Section(title, blanked, formats, headings=headings, note=note, source=f"fit.{name}()")


def _formats(table: pd.DataFrame) -> dict[Any, Any]:
    """Return the number formats of the columns of a test by their names."""
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


JUDGED = {
    "loo": "Leave-one-out: each row is judged by a rule that was fitted without it.",
    "cv": "10-fold cross-validation: each row is judged by a rule that was fitted without its fold.",
    "apparent": "The rule is judged on the rows that it was fitted to, which makes it look too good: see "
    "error_rates().",
}
"""Notes on the methods to predict the rows of the fit."""


def judging_of(results: Any) -> Counting:
    """Return the method by which a report predicts the rows of the fit: left out if it is fast."""
    fit = getattr(results, "_fit", None)
    if fit is None or not fit.has_rows or takes_long(fit):
        return "apparent"
    methods = methods_to_judge(fit)
    if methods[0] == "cv" and fit.choice:
        # Each fold would repeat the choice, at the cost of ten fits.
        return "apparent"
    for method in methods:
        with suppress(DiscrimError):
            results.confusion(method=method, seed=0)
            return method
    return "apparent"


def _errors(page: Page, results: Any, judging: Counting) -> str:
    """Return the chapter of the confusion matrix and error rates."""
    if not hasattr(results, "confusion"):
        raise DataError("The law is known and has no rows.", hint="See its own error in the summary.")
    formats: dict[Any, Any] = dict.fromkeys(("estimate", "se", "low", "high"), "share")
    formats |= {"wrong": "count", "total": "count"}
    folds = {"seed": 0} if judging == "cv" else {}
    methods = dict.fromkeys([judging, "apparent"])
    rates = results.error_rates(methods=list(methods), **folds)[list(formats)]
    names = {"loo": "leave-one-out", "cv": "10-fold cross-validation", "apparent": "apparent"}
    title = f"Rows of each class (down) by predicted class (across), {names[judging]}"
    counts = results.confusion(method=judging, **folds)
    call = f'fit.confusion("{judging}")' if judging != "apparent" else "fit.confusion()"
    note = "Apparent: on the rows that the rule was fitted to." if judging != "apparent" else ""
    parts = {
        "confusion": Section(title, counts, "count", note=JUDGED[judging], source=call),
        "rates": Section("Error rate", rates.rename(index=names), formats, headings=INTERVAL, note=note),
    }
    return page.sections("Predicted classes against actual ones", parts)


MOST_TOLD = 1_000
"""Largest number of rows for which points of plots have labels; more would make a page slow to open."""


def _told_rows(results: Any) -> list[str]:
    """Return the labels of the points in plots; empty for many rows, or if the table was changed."""
    fit = getattr(results, "_fit", None)
    options = PictureOptions()
    if fit is None or not fit.has_rows or fit.design_rows.table.nrows > MOST_TOLD:
        return []
    try:
        return pointed_rows(fit, drawn_rows(fit, options), options).sentences()
    except DiscrimError:
        return []


def _pictures(page: Page, results: Any, gallery: Gallery, judging: Counting) -> str:
    """Return the chapter of plots, with lines of code for the kinds that are not drawn."""
    drawn: list[str] = []
    missing = []
    others = []
    told = _told_rows(results)
    classes = ", ".join(clean(label) for label in results.classes[:6])
    if len(results.classes) > 6:
        classes += f" and {len(results.classes) - 6} more"
    plots = {plot.kind: plot for plot in results._spec.plots()}
    with Progress(min(len(gallery.kinds), gallery.drawn), "pictures") as progress:
        for number, name in enumerate(gallery.kinds):
            plot = plots[name]
            line = f"{plot.description[:1].upper()}{plot.description[1:]}"
            judged = "method" in plot.options
            options = {"method": judging} if judged else {}
            call = f'fit.plot("{name}", method="{judging}")' if judged else f'fit.plot("{name}")'
            if len(drawn) == gallery.drawn:
                others.append((call, line))
                continue
            try:
                if isinstance(page, HtmlPage) and gallery.interactive and "interactive" in plot.options:
                    body = element_of(results.plot(name, interactive=True), f"g{number}")
                    drawn.append(page.captioned(body, line, f'fit.plot("{name}", interactive=True)', "live"))
                    continue
                draw = partial(results.plot, name, **options)
                alt = f"{line}. Classes: {classes}."
                drawn.append(page.picture(Drawing(name, number, draw, told, alt, line, call)))
            except DiscrimError as error:
                missing.append(page.paragraph(f"{line}: not drawn. {error}", "note"))
            progress(1)
    first = drawn[: gallery.seen]
    more = drawn[gallery.seen :]
    lines = [page.figures(first) if first else page.paragraph("No picture is drawn here.")]
    if more:
        lines.append(page.folded(f"{len(more)} more pictures", [page.figures(more)]))
    if others:
        said = page.paragraph(
            'A line of code draws each of these; report(pictures="all") puts them on the page.'
        )
        lines.append(page.folded("Other pictures of this model", [said, page.pair_lines(others)]))
    return "\n".join([*lines, page.folded("Pictures that this fit does not have", missing)])


def _fitted(page: Page, results: Any) -> str:
    """Return the chapter on the model, its options and the versions of packages."""
    verb = results._verb()
    row = BY_VERB[verb]
    fit = getattr(results, "_fit", None)
    items = [
        ("Model", results._title()),
        ("Verb", f"discrim.{verb}()" + (f", {row.command}" if row.command else "")),
    ]
    if fit is not None:
        items += [("Formula", fit.formula), *told_options(results)]
        if fit.choice:
            items.append(("Chosen by the rows", fit.choice))
        if not fit.has_rows:
            items.append(("Rows", "none are held: the fit was loaded from a file or made of moments"))
    else:
        items.append(("Estimated", "nothing: prior and densities are known"))
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    items += [("Packages", versions), ("Python", f"{platform.python_version()}, {platform.system()}")]
    return page.pair_lines(items)


def _version(name: str) -> str:
    """Return the version of an installed package."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _data(page: Page, results: Any) -> str:
    """Return the chapter on the rows, classes and columns."""
    fit = getattr(results, "_fit", None)
    if fit is None:
        return page.paragraph(
            "There are no data: the law of the classes is known, and nothing was estimated."
        )
    parts, why = described(fit)
    lines = [page.pair_lines(sizes(fit)), page.sections("Classes and columns", parts)]
    return "\n".join([*lines, page.paragraph(why)] if why else lines)


def _code(page: Page, results: Any, load: str | None) -> str:
    """Return the chapter with the code that repeats the fit."""
    if getattr(results, "_fit", None) is None:
        return page.paragraph("The call holds the law itself: keep the program that made it.", "note")
    return _tried(page, "The code", lambda: page.code_block(code_of(results, load)))
