"""The report of a fit: which chapters it has, and what stands in each."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from errno import EISDIR
from functools import partial
from importlib import metadata
from typing import Any

import pandas as pd

from discrim.core.numerics.progress import late_bar
from discrim.core.numerics.whole_file import names_folder, possible_path, replaced, target_of
from discrim.errors import DataError, DiscrimError, FolderGivenError
from discrim.frame.categories import shown
from discrim.inference.result import TestResult
from discrim.models.fits.arguments import listed, told
from discrim.models.pictures.pictured import kinds_of
from discrim.models.registry import BY_MODEL, BY_VERB
from discrim.models.reports.described import described, sizes
from discrim.models.reports.repeated import check_load, code_of, told_options
from discrim.report.numbers import clean, column_texts
from discrim.report.page.page import (
    Chapter,
    code_block,
    figure,
    figures,
    folded,
    page_of,
    pairs,
    paragraph,
    tables,
)
from discrim.report.plots.images import image_of
from discrim.report.tables import INTERVAL, Section

__all__ = ["write_report"]

PACKAGES = ("discrim", "numpy", "scipy", "pandas", "patsy", "statsmodels", "narwhals", "matplotlib")

TESTS = {
    "manova": "Do the class means differ? Multivariate tests",
    "anova": "Do the class means differ? Column by column",
    "partial_tests": "What each column adds to the others",
    "distances": "Distances between the class means",
    "box_m": "Are the covariances equal? Box's M",
    "covariance_models": "Which covariances? From spherical to free",
    "log_determinants": "Log-determinants of the covariances",
    "lr_test": "Do the columns tell the classes apart? Likelihood ratio",
}
"""Methods that test something without being asked for more, and the questions that they answer."""

WITHOUT_ROWS: dict[str, dict[str, Any]] = {"anova": {"levene": None}}
"""What leaves out the part of a test for which a fit has to have rows."""


def write_report(results: Any, path: Any, title: Any, load: Any, pictures: Any) -> None:
    """Write the report of a fit to a file, whole or not at all; `Reported.report` says the rest."""
    place = _file_of(path)
    if title is not None and not isinstance(title, str):
        raise DataError(f"title= is a {type(title).__name__}: give a text.")
    check_load(load)
    text = report_of(results, title, load, _kinds(results, pictures))
    with replaced(place) as file:
        file.write(text.encode("utf-8"))


def _file_of(path: Any) -> Any:
    try:
        place = possible_path(path)
    except TypeError:
        raise DataError(f"A report is written to a file: give its path, not {type(path).__name__}.") from None
    if names_folder(os.fsdecode(path)):
        raise FolderGivenError(EISDIR, "This is a folder: name a file in it", os.fsdecode(path))
    target_of(place)
    return place


def _kinds(results: Any, pictures: Any) -> Sequence[str]:
    known = kinds_of(results)
    if pictures is None:
        return kinds_of(results, refits=False)
    asked = (
        [pictures]
        if isinstance(pictures, str)
        else list(pictures)
        if isinstance(pictures, Iterable)
        else None
    )
    unknown = [each for each in asked or () if each not in known]
    if asked is None or unknown:
        bad = told(pictures) if asked is None else shown(unknown[0])
        raise DataError(
            f"pictures= has {bad}, which is no picture of this model: name some of {listed(known)}, "
            "or give [] for none."
        )
    return asked


def report_of(results: Any, title: str | None, load: str | None, kinds: Sequence[str]) -> str:
    """The report of a fit, as HTML, with pictures of some kinds."""
    chapters = [
        Chapter("summary", "Summary", _tried("The summary", partial(_summary, results))),
        Chapter("tests", "Tests", _tests(results)),
        Chapter(
            "errors", "Errors on the rows of the fit", _tried("A table of errors", partial(_errors, results))
        ),
        Chapter("pictures", "Pictures", _pictures(results, kinds)),
        Chapter("fitted", "How it was fitted", _fitted(results)),
        Chapter("data", "The data", _data(results)),
        Chapter("code", "The code that repeats it", _code(results, load)),
    ]
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    line = _formula(results)
    return page_of(title or results.title, line, chapters, f"Written {now} by discrim {_version('discrim')}.")


def _formula(results: Any) -> str:
    fit = getattr(results, "_fit", None)
    return f"{results.title}: {fit.formula}" if fit is not None else results.title


def _tried(what: str, make: Callable[[], str]) -> str:
    """What is made, or the sentence on why it is not there."""
    try:
        return make()
    except DiscrimError as error:
        return paragraph(f"{what} is not here. {error}", "note")


# ---- chapters


def _summary(results: Any) -> str:
    parts = results._sections()
    held, missing = {}, []
    for key, make in parts.items():
        try:
            held[key] = make()
        except DiscrimError as error:
            missing.append(paragraph(f"The section {key!r} is not here. {error}", "note"))
    return "\n".join([tables(results.title, held), *missing])


def _tests(results: Any) -> str:
    held: dict[str, Section] = {}
    missing = []
    for name, question in TESTS.items():
        make = getattr(type(results), name, None)
        if make is None:
            continue
        try:
            asked = WITHOUT_ROWS.get(name, {}) if not results._fit.has_rows else {}
            held[name] = _test(question, name, make(results, **asked))
        except DiscrimError as error:
            missing.append(paragraph(f"{question}: not here. {error}", "note"))
    if not held and not missing:
        return paragraph(f"A {results.title.lower()} has no tests of its own.", "note")
    shown = [tables("Tests of means, covariances and columns", held)] if held else []
    return "\n".join([*shown, *missing])


def _test(title: str, name: str, found: Any) -> Section:
    note = ""
    if isinstance(found, TestResult):
        found, note = found.table, found.assumes
    table: pd.DataFrame = found.to_frame() if isinstance(found, pd.Series) else found
    formats = _formats(table)
    blanked = table.astype(object)
    for j, column in enumerate(table.columns):
        if table[column].isna().any():
            # What is not defined, such as a p-value of a statistic without a law, is left blank.
            there = table[column].notna().to_numpy()
            texts = iter(column_texts(table[column][there].tolist(), formats.get(column, "general")))
            blanked.isetitem(j, [next(texts) if one else "" for one in there])
            formats[column] = "text"
    return Section(title, blanked, formats, headings=INTERVAL, note=note, source=f"fit.{name}()")


def _formats(table: pd.DataFrame) -> dict[Any, Any]:
    """How the columns of a test are shown, by their names."""
    formats: dict[Any, Any] = {}
    for column in table.columns:
        name = str(column)
        if not pd.api.types.is_numeric_dtype(table[column]):
            formats[column] = "text"
        elif name == "p" or name.startswith("p_") or name.endswith("_p"):
            formats[column] = "tail"
        elif name in ("F", "z", "t", "chi2"):
            formats[column] = "z"
    return formats


def _errors(results: Any) -> str:
    if not hasattr(results, "confusion"):
        raise DataError("The law is known and has no rows: see its own error in the summary.")
    counts = results.confusion()
    formats: dict[Any, Any] = dict.fromkeys(counts.columns, "count")
    rates = results.error_rates(methods=("apparent",))
    shown = rates[
        [column for column in ("estimate", "se", "low", "high", "wrong", "total") if column in rates]
    ]
    of_rates: dict[Any, Any] = {"estimate": "share", "se": "share", "low": "share", "high": "share"}
    return tables(
        "Predicted classes against actual ones",
        {
            "confusion": Section(
                "Rows of each class (down) by predicted class (across)",
                counts,
                formats,
                source="fit.confusion()",
            ),
            "rates": Section(
                "Error rate",
                shown,
                of_rates | {"wrong": "count", "total": "count"},
                headings=INTERVAL,
                note="On the rows of the fit itself, which makes it look too good: see error_rates().",
            ),
        },
    )


def _pictures(results: Any, kinds: Sequence[str]) -> str:
    drawn, missing = [], []
    lines = {kind.name: kind.line for kind in BY_MODEL[results._model()].pictures}
    with late_bar(len(kinds), "pictures") as tell:
        for kind in kinds:
            line = f"{lines[kind][:1].upper()}{lines[kind][1:]}"
            try:
                image = image_of(partial(results.plot, kind))
            except DiscrimError as error:
                missing.append(paragraph(f"{line}: not drawn. {error}", "note"))
            else:
                alt = f"{line}. {_classes_named(results)}"
                drawn.append(figure(image, alt, f'{line}: fit.plot("{kind}")'))
            tell(1)
    body = figures(drawn) if drawn else paragraph("No picture is drawn here.")
    return "\n".join([body, folded("Pictures that this fit does not have", missing)])


def _classes_named(results: Any) -> str:
    names = [clean(label) for label in results.classes[:6]]
    more = f" and {len(results.classes) - 6} more" if len(results.classes) > 6 else ""
    return f"Classes: {', '.join(names)}{more}."


def _fitted(results: Any) -> str:
    verb = results._verb()
    row, fit = BY_VERB[verb], getattr(results, "_fit", None)
    items = [
        ("Model", results.title),
        ("Verb", f"discrim.{verb}()" + (f", {row.command}" if row.command else "")),
    ]
    if fit is not None:
        items += [("Formula", fit.formula), *told_options(results)]
        if fit.chosen:
            items.append(("Chosen by the rows", fit.chosen))
        if not fit.has_rows:
            items.append(("Rows", "none are held: the fit was loaded from a file or made of moments"))
    else:
        items.append(("Estimated", "nothing: prior and densities are known"))
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    items += [("Packages", versions), ("Python", f"{platform.python_version()}, {platform.system()}")]
    return pairs(items)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _data(results: Any) -> str:
    fit = getattr(results, "_fit", None)
    if fit is None:
        return paragraph("There are no data: the law of the classes is known, and nothing was estimated.")
    parts, why = described(fit)
    return "\n".join(
        [pairs(sizes(fit)), tables("Classes and columns", parts), *([paragraph(why)] if why else [])]
    )


def _code(results: Any, load: str | None) -> str:
    if getattr(results, "_fit", None) is None:
        return paragraph("The call holds the law itself: keep the program that made it.", "note")
    return _tried("The code", lambda: code_block(code_of(results, load)))
