"""The verbs compare, report, predict and export.

`compare` and `report` accept a formula, which is fitted to DATA, or the file of a saved fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath
from typing import Any

import pandas as pd

import discrim
from discrim import datasets
from discrim.cli.analyses import loaded_fit, of_table, with_labels_of
from discrim.cli.models import TypedModel, fitted, model_of, models_of
from discrim.cli.output import (
    Output,
    check_place,
    deliver,
    output_of,
    refuse_options,
    refuse_same,
    write_output,
    write_to_file,
)
from discrim.cli.reading import Labels, TableArgument, dialect_of_output, given_of, labels_of_fit
from discrim.cli.values import with_labels
from discrim.data.sources.files import FORMATS, with_decimal_sign
from discrim.data.sources.sinks import csv_text, write_frames
from discrim.data.sources.sources import rows_given
from discrim.errors import DataError, NotComparableWarning, kept_warnings, warn_user
from discrim.models.base.fit import Gaps
from discrim.models.results.new_rows import answered
from discrim.report.grid import INTERVAL, Section
from discrim.report.tables import summarize


def compare(verb: str, options: dict[str, Any]) -> None:
    """Show fits side by side."""
    compared = options.pop("compared")
    given = given_of(options)
    formulas = [each for each in compared if "~" in each and not os.path.isfile(each)]
    files = [each for each in compared if each not in formulas]
    output = output_of(options, given.data, *files)
    sections = options.pop("sections", None)
    if not files:
        parts = _of_formulas(formulas, given, output, options)
    elif formulas:
        raise DataError(
            f"{files[0]!r} is the file of a fit, and {formulas[0]!r} a formula.",
            hint="Give files, which are judged by DATA, or formulas, which are fitted to it.",
        )
    else:
        parts = _of_files(files, given, options)
    made = {name: (lambda part=part: part) for name, part in parts.items()}
    count = len(parts["fits"].table)
    title = f"Comparison of {count} fit{'s' if count > 1 else ''}: {given.data}"
    deliver(summarize(title, made, sections), output)


# ---- formulas and verbs


def _of_formulas(
    formulas: list[str], given: TableArgument, output: Output, options: dict[str, Any]
) -> dict[str, Any]:
    """Fit each model to each formula, and return the sections of their comparison.

    Parameters
    ----------
    formulas : list of str
    given : TableArgument
    output : Output
        Files of the output, which must not belong to the source.
    options : dict
        Options of the verb.

    Returns
    -------
    dict of str to Section
    """
    from discrim.models.selection.comparison import cross_validated, paired

    models = options.pop("verbs", None) or models_of("lda,qda")
    folds, repeats, seed = (options.pop(name, None) for name in ("folds", "repeats", "seed"))
    if folds is None and (repeats is not None or seed is not None):
        option = "--seed" if seed is not None else "--repeats"
        raise DataError(f"{option} goes with --folds.", hint=f"Add --folds 10, or leave {option} out.")

    def fits_to(data: Any) -> list[Any]:
        return [
            fitted(model, formula, data, with_labels_of(options, formula, data))
            for formula in formulas
            for model in models
        ]

    fits = of_table(given, formulas, output, fits_to)
    names = _names(models, formulas)
    with kept_warnings() as said:
        table = discrim.compare(*fits).set_axis(names, axis=0).drop(columns="formula")
    for message, category in said:
        if category is not NotComparableWarning:
            warn_user(message, category)
    parts = {"fits": _fits(table, fits[0].formula if len(formulas) == 1 else "")}
    if folds is not None:
        found = cross_validated(fits, folds, repeats or 1, None, seed)
        parts["errors"] = _errors(found, names)
        if len(fits) > 1:
            parts["pairs"] = _pairs(paired(found, names), folds, repeats or 1, found[0].seed)
    return parts


def _names(models: list[TypedModel], formulas: list[str]) -> list[str]:
    """Return names of fits: the model, and the formula if there are several."""
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
    """Number names that occur more than once."""
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


# ---- saved fits


def _of_files(files: list[str], given: TableArgument, options: dict[str, Any]) -> dict[str, Any]:
    """Assess saved fits on the rows of a table, and return the sections of their comparison.

    Parameters
    ----------
    files : list of str
    given : TableArgument
    options : dict
        Must be empty, because saved fits have no options.

    Returns
    -------
    dict of str to Section
    """
    from discrim.models.selection.comparison import compared_on

    refuse_options(options, "goes with formulas, which are fitted", "Leave it out for files of fits.")
    fits = [loaded_fit(file) for file in files]
    found = [labels_of_fit(fit, whole=False) for fit in fits]
    typed = frozenset(name for each in found for name in each.typed)
    labels = Labels(typed, frozenset(name for each in found for name in each.text))
    tables = (part.data for part in rows_given(given.rows(labels)).parts())
    by_fit, by_pair = compared_on(fits, _told_apart(files), tables)
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
    """Return the section of the fits and their information criteria."""
    formats: dict[Any, Any] = {"nobs": "count", "likelihood": "text", "df": "count"}
    formats |= dict.fromkeys(["llf", "aic", "bic", "llf_given_row"], "z")
    formats |= dict.fromkeys(["error_apparent", "error_loo"], "share")
    headings = INTERVAL | {
        "error_apparent": "apparent",
        "error_loo": "leave-one-out",
        "llf_given_row": "llf given row",
    }
    note = table.attrs.get("note", "")
    title = f"Fits of {formula}" if formula else "Fits"
    return Section(title, table, formats, headings=headings, note=note, source="compare(*fits)")


def _errors(found: list[Any], names: list[str]) -> Any:
    """Return the section of the cross-validated errors."""
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
    """Return the section of paired differences of the errors.

    Parameters
    ----------
    table : DataFrame
        Comparison by pair of fits.
    folds, repeats : int
    seed : int or None

    Returns
    -------
    Section
    """
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
        source="compare(*fits, folds=).pairs()",
    )


def report(verb: str, options: dict[str, Any]) -> None:
    """Write a report on a fit, in the format of the file's extension."""
    from discrim.report.page.page import PAGES

    subject = options.pop("reported")
    target = options.pop("out")
    title = options.pop("title", None)
    pictures = options.pop("pictures", None)
    check_place(target, "A report", *PAGES)
    refuse_same("--out", target, subject, *([options["data"]] if "data" in options else []))
    if "~" in subject and not os.path.isfile(subject):
        fit, load = _fit_of_formula(subject, target, options)
    else:
        for name, option in (("data", "DATA"), ("verb", "--verb")):
            if name in options:
                raise DataError(
                    f"{subject!r} is a saved fit, which is reported as it is.", hint=f"Leave {option} out."
                )
        refuse_options(options, "goes with a formula that is fitted", "Leave it out for a saved fit.")
        fit = loaded_fit(subject)
        load = None
    words: dict[str, Any] = {"all": "all", "none": []}
    pictures = words.get(pictures[0], pictures) if pictures is not None and len(pictures) == 1 else pictures
    fit.report(target, title=title, load=load, pictures=pictures)


def _fit_of_formula(formula: str, target: str, options: dict[str, Any]) -> tuple[Any, str | None]:
    """Fit a formula to DATA; return the fit and the Python code that reads DATA.

    Parameters
    ----------
    formula : str
    target : str
        File of the report, which must not belong to the source.
    options : dict

    Returns
    -------
    tuple of results and str or None
    """
    if "data" not in options:
        raise DataError(
            f"{formula!r} is fitted to a table.", hint=f"Name one behind it, as in report {formula!r} iris."
        )
    model = options.pop("verb", None) or model_of("lda")
    given = given_of(options)

    def fit(data: Any) -> Any:
        return fitted(model, formula, data, with_labels_of(options, formula, data))

    return of_table(given, [formula], Output("html", path=target), fit), _code_of(given)


def _code_of(given: TableArgument) -> str | None:
    """Return the Python code that reads a table into memory, or None if it is not a single file."""
    if given.data in datasets.names():
        return f"discrim.datasets.load_{given.data}()"
    if not os.path.isfile(given.data):
        return None
    if FORMATS.get(PurePath(given.data).suffix.lower()) == "Parquet":
        return f"pd.read_parquet({given.data!r})"
    separator = given.dialect.separator_of(given.data)
    decimal = given.dialect.decimal
    more = f", sep={separator!r}" if separator != "," else ""
    more += f", decimal={decimal!r}" if decimal != "." else ""
    return f"pd.read_csv({given.data!r}{more})"


def predict(verb: str, options: dict[str, Any]) -> None:
    """Predict the rows of a table by a saved fit, and write them as CSV or to a file."""
    file = options["fit"]
    out = options.get("out")
    augment = "augment" in options
    fit = loaded_fit(
        file, "Fit them, as discrim.lda(moments=discrim.load(...)), and name a file of that fit."
    )
    gaps: dict[str, Any] = {name: options[name] for name in ("unseen", "missing") if name in options}
    if augment and "prior" in options:
        raise DataError("--augment uses the prior of the fit.", hint="Leave out --prior, or use --proba.")
    if "method" in options and "proba" not in options:
        raise DataError("--method says how posteriors are computed.", hint="Add --proba, or leave it out.")
    prior = with_labels(options, fit.classes).get("prior")
    given = given_of(options)
    dialect = dialect_of_output(options, given, out)
    data = given.rows(labels_of_fit(fit, whole=augment))
    if type(data).__module__.startswith("polars") and hasattr(data, "to_pandas"):
        # Parquet was read by polars. As a source the predictions become pandas frames.
        data = partial(iter, [data])
    if out is not None:
        refuse_same("--out", out, given.data, file)
    before = given.dialect.decimal
    # Columns that the fit does not read are unchanged text, in which the decimal sign has to be replaced.
    texts: list[str] = []
    if augment and given.is_csv and before != dialect.decimal:
        design = fit._fit.design_rows.design
        read = (*design.columns, *design.response_columns)
        names = data.columns if isinstance(data, pd.DataFrame) else rows_given(data).names
        texts = [str(name) for name in names if name not in read]
    method = options.get("method", "plugin") if "proba" in options else None

    def frames() -> Iterator[pd.DataFrame]:
        answer = fit.augment(data, **gaps) if augment else _labelled(fit, data, prior, gaps, method=method)
        # For a source the answer is an iterator of frames.
        for frame in [answer] if hasattr(answer, "columns") else answer:
            # Keys of folders are categorical columns, not text from the file.
            own = [name for name in texts if not isinstance(frame[name].dtype, pd.CategoricalDtype)]
            yield frame.assign(
                **{name: with_decimal_sign(frame[name], before, dialect.decimal) for name in own}
            )

    if out is not None:
        write_frames(frames(), out, source=rows_given(data), dialect=dialect)
        return
    for number, frame in enumerate(frames()):
        separator = dialect.separator_of("")
        write_output(csv_text(frame, separator, dialect.decimal, header=number == 0))


def export(verb: str, options: dict[str, Any]) -> None:
    """Write the rule of a saved fit as an SQL query or as an ONNX model."""
    file = options.pop("fit")
    path = options.pop("onnx", None)
    if (path is None) == ("sql" not in options):
        raise DataError("Export writes a query or a model.", hint="Give --sql and an engine, or --onnx FILE.")
    option, target = ("--onnx", path) if path is not None else ("--out", options.pop("out", None))
    if target is not None:
        check_place(target)
        refuse_same(option, target, file)
    fit = loaded_fit(file)
    options = with_labels(options, fit.classes)
    prior = options.pop("prior", None)
    if path is None:
        text = f"{fit.to_sql(options.pop('sql'), prior=prior, **options)};\n"
        if target is None:
            write_output(text)
        else:
            write_to_file(target, text.encode())
        return
    refuse_options(options, "is an option of a query", "Leave it out with --onnx.")
    write_to_file(path, fit.to_onnx(prior=prior).SerializeToString())


def _labelled(fit: Any, data: Any, prior: Any, gaps: dict[str, Any], *, method: str | None) -> Any:
    """Predict the labels of a table, or of each chunk of a source, optionally with posteriors.

    Parameters
    ----------
    fit : object
        Results of a verb.
    data : table or Source
    prior : object
        Prior, or None for the prior of the fit.
    gaps : dict
        Treatment of unseen levels and missing values.
    method : str or None
        Method of the posteriors, None for labels only.

    Returns
    -------
    DataFrame, or iterator of DataFrame for a source
    """
    if method is None:
        labels: Any = fit.predict(data, prior=prior, **gaps)
        return labels.to_frame() if isinstance(labels, pd.Series) else labels

    def answer(results: Any, part: Any) -> pd.DataFrame:
        rows = results._fit.new_rows(part, Gaps(**gaps))
        posteriors = results.predict_proba(rows, prior=prior, method=method)
        return pd.DataFrame(pd.concat([results.predict(rows, prior=prior), posteriors], axis=1))

    return answered(fit, data, None, answer)
