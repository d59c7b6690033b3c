"""The verb compare: models of one table side by side, or saved fits on new rows."""

from __future__ import annotations

import argparse
import os
from typing import Any

from discrim.cli.fitting import of_table, with_prior
from discrim.cli.given import Given, given_of
from discrim.cli.labels import Labels, labels_of_fit
from discrim.cli.output import Output, deliver, output_of
from discrim.cli.typed_models import TypedModel, fitted, models_of
from discrim.errors import DataError, kept_warnings, warn_user

__all__ = ["compare"]


def compare(arguments: argparse.Namespace) -> None:
    """Show fits side by side."""
    options = dict(vars(arguments))
    del options["verb"]
    compared, given = options.pop("compared"), given_of(options)
    formulas = [each for each in compared if "~" in each and not os.path.isfile(each)]
    files = [each for each in compared if each not in formulas]
    output = output_of(options, given.data, *files)
    sections = options.pop("sections", None)
    if not files:
        parts = _of_formulas(formulas, given, output, options)
    elif formulas:
        raise DataError(
            f"{files[0]!r} is the file of a fit, and {formulas[0]!r} a formula: give files, which are judged "
            "by DATA, or formulas, which are fitted to it"
        )
    else:
        parts = _of_files(files, given, options)
    _show(parts, given.data, sections, output)


def _show(parts: dict[str, Any], data: str, sections: list[str] | None, output: Output) -> None:
    from discrim.report.tables import summarize

    made = {name: (lambda part=part: part) for name, part in parts.items()}
    count = len(parts["fits"].table)
    title = f"Comparison of {count} fit{'s' if count > 1 else ''}: {data}"
    deliver(summarize(title, made, sections), output)


# ---- formulas and verbs


def _of_formulas(
    formulas: list[str], given: Given, output: Output, options: dict[str, Any]
) -> dict[str, Any]:
    """Fits of each verb to each formula, side by side."""
    import discrim
    from discrim.models.comparing.cross_comparison import cross_validated, paired

    models = models_of(options.pop("verbs", "lda,qda"))
    folds, repeats, seed = (options.pop(name, None) for name in ("folds", "repeats", "seed"))
    if folds is None and (repeats is not None or seed is not None):
        option = "--seed" if seed is not None else "--repeats"
        raise DataError(f"{option} goes with --folds: add --folds 10, or leave {option} out")

    def fits_to(data: Any) -> list[Any]:
        return [
            fitted(model, formula, data, with_prior(options, formula, data))
            for formula in formulas
            for model in models
        ]

    fits = of_table(given, formulas, output, fits_to)
    names = _names(models, formulas)
    with kept_warnings() as said:
        table = discrim.compare(*fits, by="fit").set_axis(names, axis=0).drop(columns="formula")
    for message in said:
        if message != table.attrs.get("note"):
            warn_user(message)
    parts = {"fits": _fits(table, fits[0].formula if len(formulas) == 1 else "")}
    if folds is not None:
        found = cross_validated(fits, folds, repeats or 1, None, seed)
        parts["errors"] = _errors(found, names)
        if len(fits) > 1:
            parts["pairs"] = _pairs(paired(found, names), folds, repeats or 1, found[0].seed)
    return parts


def _names(models: list[TypedModel], formulas: list[str]) -> list[str]:
    """What the fits are called: their verbs, and the formula's place where there are several."""
    if len(formulas) == 1:
        return _told_apart([model.typed for model in models])
    return _told_apart(
        [
            f"{model.typed}, {formula}" if len(models) > 1 else formula
            for formula in formulas
            for model in models
        ]
    )


def _told_apart(names: list[str]) -> list[str]:
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


# ---- saved fits


def _of_files(files: list[str], given: Given, options: dict[str, Any]) -> dict[str, Any]:
    """Saved fits judged by the rows of a table."""
    import discrim
    from discrim.models.comparing.on_new_rows import compared_on
    from discrim.report.tables import INTERVAL, Section

    for name, option in (
        ("verbs", "verbs"), ("na_action", "na"), ("prior", "prior"), ("weights", "weights"),
        ("folds", "folds"), ("repeats", "repeats"), ("seed", "seed"),
    ):  # fmt: skip
        if name in options:
            raise DataError(
                f"--{option} goes with formulas, which are fitted: leave it out beside files of fits"
            )
    fits = []
    for file in files:
        fit = discrim.load(file)
        if isinstance(fit, discrim.Moments):
            raise DataError(f"{file!r} holds moments and no fit: name a file of a fit")
        fits.append(fit)
    found = [labels_of_fit(fit, whole=False) for fit in fits]
    typed = frozenset(name for each in found for name in each.typed)
    labels = Labels(typed, frozenset(name for each in found for name in each.text))
    source = given.source(labels)
    parts_of = [given.table(labels)] if source is None else (part.data for part in source.parts())
    by_fit, by_pair = compared_on(fits, _told_apart(files), parts_of)
    formats: dict[Any, Any] = {"formula": "text", "rows": "count", "wrong": "count"}
    formats |= dict.fromkeys(["error", "se", "low", "high"], "share")
    note = "The fits as they were saved; intervals are exact."
    parts = {
        "fits": Section("Errors on the rows of the table", by_fit, formats, headings=INTERVAL, note=note)
    }
    if len(by_pair):
        counts: dict[Any, Any] = dict.fromkeys(["rows", "only_a_wrong", "only_b_wrong"], "count")
        headings = {"only_a_wrong": "first only", "only_b_wrong": "second only", "p_exact": "P"}
        parts["pairs"] = Section(
            "Rows on which one of two fits alone is wrong",
            by_pair.rename_axis(["", ""]),
            counts | {"p_exact": "p"},
            headings=headings,
            note="McNemar's test by the binomial distribution.",
        )
    return parts


# ---- sections


def _fits(table: Any, formula: str) -> Any:
    from discrim.report.tables import Section

    formats: dict[Any, Any] = {"nobs": "count", "likelihood": "text", "df": "count"}
    formats |= dict.fromkeys(["llf", "AIC", "BIC", "llf_given_row"], "z")
    formats |= dict.fromkeys(["error_apparent", "error_loo"], "share")
    headings = {"error_apparent": "apparent", "error_loo": "leave-one-out", "llf_given_row": "llf given row"}
    note = table.attrs.get("note", "")
    title = f"Fits of {formula}" if formula else "Fits"
    return Section(title, table, formats, headings=headings, note=note, source='compare(*fits, by="fit")')


def _errors(found: list[Any], names: list[str]) -> Any:
    import pandas as pd

    from discrim.report.tables import INTERVAL, Section

    rows = [each.table().loc["error"] for each in found]
    table = pd.DataFrame(rows).set_axis(names, axis=0)
    return Section(
        "Cross-validated error",
        table,
        "share",
        headings=INTERVAL | {"se_folds": "of folds", "se_corrected": "corrected"},
        source="cross_validate(fit, folds=).table()",
    )


def _pairs(table: Any, folds: int, repeats: int, seed: int | None) -> Any:
    from discrim.report.tables import INTERVAL, Section

    shown = ["difference", "se", "low", "high", "p_t", "only_a_wrong", "only_b_wrong", "p_exact"]
    formats: dict[Any, Any] = dict.fromkeys(shown[:4], "share") | dict.fromkeys(shown[5:7], "count")
    headings = INTERVAL | {"only_a_wrong": "first only", "only_b_wrong": "second only"}
    headings |= {"p_t": "P (t)", "p_exact": "P (McNemar)"}
    times = f", {repeats} times" if repeats > 1 else ""
    return Section(
        "Differences of the errors, pair by pair",
        table[shown].rename_axis(["", ""]),
        formats | {"p_t": "p", "p_exact": "p"},
        headings=headings,
        note=f"{folds} folds{times}, seed {seed}, the same for all. P (t): the corrected resampled t test. "
        "First only, second only: rows on which that fit alone is wrong.",
        source="compare(*fits, folds=)",
    )
