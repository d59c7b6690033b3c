"""The verbs compare, report, predict and export.

`compare` and `report` accept a formula, which is fitted to DATA, or the file of a saved fit. The function of
a verb receives the name of the verb and the typed options by parameter.
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
from discrim.cli.analyses import call_with_table, load_fit, with_response_labels
from discrim.cli.models import TypedModel, fit_model, read_model, read_models
from discrim.cli.output import (
    Output,
    check_no_options,
    check_not_an_input,
    check_writable,
    pop_output_options,
    write_output,
    write_results,
    write_to_file,
)
from discrim.cli.reading import (
    LabelColumns,
    TableArgument,
    label_columns_of_fit,
    pop_output_dialect,
    pop_table_options,
)
from discrim.cli.values import with_labels
from discrim.data.sources.files import FORMATS, replace_decimal_sign
from discrim.data.sources.sinks import csv_text, write_frames
from discrim.data.sources.sources import source_of_rows
from discrim.errors import DataError, NotComparableWarning, collect_warnings, warn_user
from discrim.models.base.fit import MissingPolicy
from discrim.models.results.new_rows import predict_by_chunks
from discrim.report.grid import SHARED_HEADINGS, Section
from discrim.report.tables import summarize


def compare(verb: str, options: dict[str, Any]) -> None:
    """Show a comparison of models fitted to DATA, or of saved fits; raise a DataError for both together.

    An argument with a ``~`` that is not a file is a formula.
    """
    compared = options.pop("compared")
    table_argument = pop_table_options(options)
    formulas = [item for item in compared if "~" in item and not os.path.isfile(item)]
    files = [item for item in compared if item not in formulas]
    output = pop_output_options(options, table_argument.data, *files)
    requested_sections = options.pop("sections", None)
    if not files:
        sections_by_name = _compare_formulas(formulas, table_argument, output, options)
    elif formulas:
        raise DataError(
            f"{files[0]!r} is the file of a fit, and {formulas[0]!r} is a formula.",
            hint="Pass files, which are assessed on DATA, or formulas, which are fitted to it.",
        )
    else:
        sections_by_name = _compare_saved_fits(files, table_argument, options)
    section_functions = {name: (lambda part=part: part) for name, part in sections_by_name.items()}
    count = len(sections_by_name["fits"].table)
    title = f"Comparison of {count} fit{'s' if count > 1 else ''}: {table_argument.data}"
    write_results(summarize(title, section_functions, requested_sections), output)


# ---- formulas and verbs


def _compare_formulas(
    formulas: list[str], table_argument: TableArgument, output: Output, options: dict[str, Any]
) -> dict[str, Any]:
    """Fit each model to each formula, and return the sections of their comparison.

    Parameters
    ----------
    formulas : list of str
    table_argument : TableArgument
        DATA.
    output : Output
        Files of the output, which must not belong to the source.
    options : dict
        Options of the verb, from which the models and the options of folds are removed; the others are
        arguments of the fits.

    Returns
    -------
    dict of str to Section
        "fits"; with folds also "errors", and for several fits "pairs" and "roc".
    """
    from discrim.models.evaluation.labelled_scores import codes_against_rest
    from discrim.models.selection.comparison import compare_pairs, cross_validate_fits
    from discrim.models.selection.roc_comparison import ComparedFits, compare_areas

    models = options.pop("verbs", None) or read_models("lda,qda")
    folds, repeats, seed = (options.pop(name, None) for name in ("folds", "repeats", "seed"))
    if folds is None and (repeats is not None or seed is not None):
        option = "--seed" if seed is not None else "--repeats"
        raise DataError(f"{option} requires --folds.", hint=f"Add --folds 10, or leave {option} out.")

    def fit_all(data: Any) -> list[Any]:
        """Fit each model with each formula; models of the same formula are adjacent."""
        return [
            fit_model(model, formula, data, with_response_labels(options, formula, data))
            for formula in formulas
            for model in models
        ]

    fits = call_with_table(table_argument, formulas, output, fit_all)
    names = _fit_names(models, formulas)
    with collect_warnings() as messages:
        table = discrim.compare(*fits).set_axis(names, axis=0).drop(columns="formula")
    for message, category in messages:
        if category is not NotComparableWarning:
            warn_user(message, category)
    sections_by_name = {"fits": _fits_section(table, fits[0].formula if len(formulas) == 1 else "")}
    if folds is not None:
        validations = cross_validate_fits(fits, folds, repeats or 1, None, seed)
        sections_by_name["errors"] = _errors_section(validations, names)
        if len(fits) > 1:
            sections_by_name["pairs"] = _pairs_section(
                compare_pairs(validations, names), folds, repeats or 1, validations[0].seed
            )
            scores = ComparedFits(fits, names, validations).shared_scores()
            codes = codes_against_rest(fits[0].classes)
            sections_by_name["roc"] = _roc_section(compare_areas(names, scores, codes))
    return sections_by_name


def _fit_names(models: list[TypedModel], formulas: list[str]) -> list[str]:
    """Return names of fits: the model, and the formula if there are several."""
    if len(formulas) == 1:
        return _number_duplicates([model.typed for model in models])
    return _number_duplicates(
        [
            f"{model.typed}, {formula}" if len(models) > 1 else formula
            for formula in formulas
            for model in models
        ]
    )


def _number_duplicates(names: list[str]) -> list[str]:
    """Append to each name that occurs more than once its position from 1: "a (1)", "b", "a (3)"."""
    return [f"{name} ({i})" if names.count(name) > 1 else name for i, name in enumerate(names, start=1)]


# ---- saved fits


def _compare_saved_fits(
    files: list[str], table_argument: TableArgument, options: dict[str, Any]
) -> dict[str, Any]:
    """Assess saved fits on the rows of a table, and return the sections of their comparison.

    Parameters
    ----------
    files : list of str
        Files of the fits.
    table_argument : TableArgument
        DATA.
    options : dict
        Must be empty, because saved fits do not accept options.

    Returns
    -------
    dict of str to Section
        "fits", and for several fits "pairs".
    """
    from discrim.models.selection.comparison import compare_on_table

    check_no_options(options, "requires formulas, which are fitted", "Leave it out for files of fits.")
    fits = [load_fit(file) for file in files]
    labels_by_fit = [label_columns_of_fit(fit, keeps_unread=False) for fit in fits]
    typed = frozenset(name for fit_labels in labels_by_fit for name in fit_labels.typed)
    labels = LabelColumns(typed, frozenset(name for fit_labels in labels_by_fit for name in fit_labels.text))
    tables = (chunk.data for chunk in source_of_rows(table_argument.rows(labels)).chunks())
    by_fit, by_pair = compare_on_table(fits, _number_duplicates(files), tables)
    formats: dict[Any, Any] = {"formula": "text", "rows": "count", "wrong": "count"}
    formats |= dict.fromkeys(["error", "se", "low", "high"], "share")
    note = "The fits are used as they were saved. Intervals are exact."
    sections_by_name = {
        "fits": Section(
            "Errors on the observations of the table", by_fit, formats, headings=SHARED_HEADINGS, note=note
        )
    }
    if len(by_pair):
        counts: dict[Any, Any] = dict.fromkeys(["rows", "only_a_wrong", "only_b_wrong"], "count")
        headings = {"only_a_wrong": "first only", "only_b_wrong": "second only", "p_exact": "P"}
        sections_by_name["pairs"] = Section(
            "Observations that only one of two fits misclassifies",
            by_pair.rename_axis(["", ""]),
            counts | {"p_exact": "p"},
            headings=headings,
            note="Exact McNemar test (binomial distribution).",
        )
    return sections_by_name


# ---- sections


def _fits_section(table: Any, formula: str) -> Any:
    """Return the section of the table of `discrim.compare`; `formula` is in the title unless it is ""."""
    formats: dict[Any, Any] = {"nobs": "count", "likelihood": "text", "df": "count"}
    formats |= dict.fromkeys(["llf", "aic", "bic", "llf_given_row"], "z")
    formats |= dict.fromkeys(["error_apparent", "error_loo"], "share")
    headings = SHARED_HEADINGS | {
        "error_apparent": "apparent",
        "error_loo": "leave-one-out",
        "llf_given_row": "llf given row",
    }
    note = table.attrs.get("note", "")
    title = f"Fits of {formula}" if formula else "Fits"
    return Section(title, table, formats, headings=headings, note=note, source="compare(*fits)")


def _errors_section(validations: list[Any], names: list[str]) -> Any:
    """Return the section of the cross-validated errors: the row "error" of each validation, by fit name."""
    rows = [validation.table().loc["error"] for validation in validations]
    table = pd.DataFrame(rows).set_axis(names, axis=0)
    return Section(
        "Cross-validated error",
        table,
        "share",
        headings=SHARED_HEADINGS | {"se_folds": "by folds", "se_corrected": "corrected"},
        source="cross_validate(fit, folds=).table()",
    )


def _pairs_section(table: Any, folds: int, repeats: int, seed: int | None) -> Any:
    """Return the section of paired differences of the errors.

    Parameters
    ----------
    table : DataFrame
        Result of `compare_pairs`: a row for each pair of names of fits.
    folds, repeats : int
        Numbers of folds and of repeats, for the note.
    seed : int or None
        Seed of the folds, for the note.

    Returns
    -------
    Section
    """
    shown_columns = ["difference", "se", "low", "high", "p_t", "only_a_wrong", "only_b_wrong", "p_exact"]
    formats: dict[Any, Any] = dict.fromkeys(shown_columns[:4], "share") | dict.fromkeys(
        shown_columns[5:7], "count"
    )
    headings = SHARED_HEADINGS | {"only_a_wrong": "first only", "only_b_wrong": "second only"}
    headings |= {"p_t": "P (t)", "p_exact": "P (McNemar)"}
    repeats_text = f", {repeats} times" if repeats > 1 else ""
    return Section(
        "Pairwise differences of the errors",
        table[shown_columns].rename_axis(["", ""]),
        formats | {"p_t": "p", "p_exact": "p"},
        headings=headings,
        note=f"{folds} folds{repeats_text}, seed {seed}, the same for all fits. "
        "P (t): corrected resampled t test. "
        "First only, second only: observations that only this fit misclassifies.",
        source="compare(*fits, folds=).pairs()",
    )


def _roc_section(table: Any) -> Any:
    """Return the section of the tests of the areas under ROC curves, from their table."""
    shown_columns = ["area_a", "area_b", "difference", "se", "low", "high", "p"]
    headings = SHARED_HEADINGS | {"area_a": "first", "area_b": "second", "p": "P"}
    shown = table[shown_columns]
    formats: dict[Any, Any] = dict.fromkeys(shown_columns, "share") | {"p": "p"}
    return Section(
        "Areas under ROC curves of pairs of fits",
        shown.rename_axis([""] * shown.index.nlevels),
        formats,
        headings=headings,
        note="DeLong's test on the predictions of the first repeat; it assumes independent observations. "
        "The second of two classes, or each of several against the rest.",
        source="compare(*fits, folds=).roc_test()",
    )


def report(verb: str, options: dict[str, Any]) -> None:
    """Write a report on a formula that is fitted to DATA, or on a saved fit.

    The extension of the file determines the format.
    """
    from discrim.report.page.page import PAGE_EXTENSIONS

    subject = options.pop("reported")
    target = options.pop("out")
    title = options.pop("title", None)
    pictures = options.pop("pictures", None)
    check_writable(target, "A report", *PAGE_EXTENSIONS)
    check_not_an_input("--out", target, subject, *([options["data"]] if "data" in options else []))
    if "~" in subject and not os.path.isfile(subject):
        fit, load = _fit_of_formula(subject, target, options)
    else:
        for name, option in (("data", "DATA"), ("verb", "--verb")):
            if name in options:
                raise DataError(
                    f"{subject!r} is a saved fit, which is not fitted again.", hint=f"Leave {option} out."
                )
        check_no_options(options, "requires a formula, which is fitted", "Leave it out for a saved fit.")
        fit = load_fit(subject)
        load = None
    picture_words: dict[str, Any] = {"all": "all", "none": []}
    pictures = (
        picture_words.get(pictures[0], pictures) if pictures is not None and len(pictures) == 1 else pictures
    )
    fit.report(target, title=title, load=load, pictures=pictures)


def _fit_of_formula(formula: str, target: str, options: dict[str, Any]) -> tuple[Any, str | None]:
    """Fit a formula to DATA; return the fit and the Python code that reads DATA.

    Parameters
    ----------
    formula : str
    target : str
        File of the report, which must not belong to the source.
    options : dict
        Options of the command line with DATA. The model (by default lda) and the options of DATA are removed;
        the others are arguments of the fit.

    Returns
    -------
    fit : object
        Results of the verb.
    code : str or None
        See `_reading_code`.
    """
    if "data" not in options:
        raise DataError(
            f"The formula {formula!r} requires a table.",
            hint=f"Add one, for example report {formula!r} iris.",
        )
    model = options.pop("verb", None) or read_model("lda")
    table_argument = pop_table_options(options)

    def fit(data: Any) -> Any:
        """Fit the model to a table or source."""
        return fit_model(model, formula, data, with_response_labels(options, formula, data))

    return call_with_table(
        table_argument, [formula], Output("html", summary_path=target), fit
    ), _reading_code(table_argument)


def _reading_code(table_argument: TableArgument) -> str | None:
    """Return the Python code that reads a data set or single file into memory; None for any other DATA."""
    if table_argument.data in datasets.names():
        return f"discrim.datasets.load_{table_argument.data}()"
    if not os.path.isfile(table_argument.data):
        return None
    if FORMATS.get(PurePath(table_argument.data).suffix.lower()) == "Parquet":
        return f"pd.read_parquet({table_argument.data!r})"
    separator = table_argument.dialect.separator_of(table_argument.data)
    decimal = table_argument.dialect.decimal
    arguments = f", sep={separator!r}" if separator != "," else ""
    arguments += f", decimal={decimal!r}" if decimal != "." else ""
    return f"pd.read_csv({table_argument.data!r}{arguments})"


def predict(verb: str, options: dict[str, Any]) -> None:
    """Predict the rows of a table by a saved fit, and write them to standard output as CSV or to a file.

    The output is the labels, with --proba also the posteriors, or with --augment the table with both.
    """
    file = options["fit"]
    out = options.get("out")
    augment = "augment" in options
    fit = load_fit(file, "Fit them, as discrim.lda(moments=discrim.load(...)), and name a file of that fit.")
    missing_options: dict[str, Any] = {
        name: options[name] for name in ("unseen", "missing") if name in options
    }
    for name in ("prior", "threshold"):
        if augment and name in options:
            raise DataError(
                f"--augment cannot be combined with --{name}.", hint=f"Leave out --{name}, or use --proba."
            )
    if "method" in options and "proba" not in options:
        raise DataError("--method requires --proba.", hint="Add --proba, or leave it out.")
    prior = with_labels(options, fit.classes).get("prior")
    table_argument = pop_table_options(options)
    dialect = pop_output_dialect(options, table_argument, out)
    data = table_argument.rows(label_columns_of_fit(fit, keeps_unread=augment))
    if type(data).__module__.startswith("polars") and hasattr(data, "to_pandas"):
        # Parquet was read by polars. As a source the predictions become pandas frames.
        data = partial(iter, [data])
    if out is not None:
        check_not_an_input("--out", out, table_argument.data, file)
    input_decimal = table_argument.dialect.decimal
    # Columns that the fit does not read are unchanged text, in which the decimal sign has to be replaced.
    unread_columns: list[str] = []
    if augment and table_argument.is_csv and input_decimal != dialect.decimal:
        design = fit._fit.design_rows.design
        columns_read = (*design.columns, *design.response_columns)
        names = data.columns if isinstance(data, pd.DataFrame) else source_of_rows(data).names
        unread_columns = [str(name) for name in names if name not in columns_read]
    method = options.get("method", "plugin") if "proba" in options else None

    def frames() -> Iterator[pd.DataFrame]:
        """Yield the predictions chunk by chunk, with the decimal sign of the output."""
        predictions = (
            fit.augment(data, **missing_options)
            if augment
            else _predict_labels(
                fit,
                data,
                {"prior": prior, "threshold": options.get("threshold")},
                missing_options,
                method=method,
            )
        )
        # For a source the predictions are an iterator of frames.
        for frame in [predictions] if hasattr(predictions, "columns") else predictions:
            # Keys of folders are categorical columns, not text from the file.
            text_columns = [
                name for name in unread_columns if not isinstance(frame[name].dtype, pd.CategoricalDtype)
            ]
            yield frame.assign(
                **{
                    name: replace_decimal_sign(frame[name], input_decimal, dialect.decimal)
                    for name in text_columns
                }
            )

    if out is not None:
        write_frames(frames(), out, source=source_of_rows(data), dialect=dialect)
        return
    for number, frame in enumerate(frames()):
        separator = dialect.separator_of("")
        write_output(csv_text(frame, separator, dialect.decimal, header=number == 0))


def export(verb: str, options: dict[str, Any]) -> None:
    """Write the rule of a saved fit as an SQL query or as an ONNX model."""
    file = options.pop("fit")
    path = options.pop("onnx", None)
    if (path is None) == ("sql" not in options):
        raise DataError(
            "export requires exactly one of --sql and --onnx.", hint="Write --sql ENGINE, or --onnx FILE."
        )
    option, target = ("--onnx", path) if path is not None else ("--out", options.pop("out", None))
    if target is not None:
        check_writable(target)
        check_not_an_input(option, target, file)
    fit = load_fit(file)
    options = with_labels(options, fit.classes)
    prior = options.pop("prior", None)
    if path is None:
        text = f"{fit.to_sql(options.pop('sql'), prior=prior, **options)};\n"
        if target is None:
            write_output(text)
        else:
            write_to_file(target, text.encode())
        return
    check_no_options(options, "requires --sql", "Leave it out with --onnx.")
    write_to_file(path, fit.to_onnx(prior=prior).SerializeToString())


def _predict_labels(
    fit: Any, data: Any, label_options: dict[str, Any], missing_options: dict[str, Any], *, method: str | None
) -> Any:
    """Predict the labels of a table, or of each chunk of a source, optionally with posteriors.

    Parameters
    ----------
    fit : object
        Results of a verb.
    data : table or Source
    label_options : dict
        Arguments `prior` and `threshold` of `predict`; the posteriors have the same prior.
    missing_options : dict
        Arguments `unseen` and `missing` of the prediction.
    method : str or None
        Method of the posteriors; None to predict labels only.

    Returns
    -------
    DataFrame, or iterator of DataFrame for a source
        The predicted labels in the first column, and the posteriors in a column for each class.
    """
    if method is None:
        labels: Any = fit.predict(data, **label_options, **missing_options)
        return labels.to_frame() if isinstance(labels, pd.Series) else labels

    def predict_chunk(results: Any, chunk: Any) -> pd.DataFrame:
        """Return the labels of a chunk in the first column, and the posteriors in the others."""
        rows = results._fit.new_rows(chunk, MissingPolicy(**missing_options))
        posteriors = results.predict_proba(rows, prior=label_options["prior"], method=method)
        return pd.DataFrame(pd.concat([results.predict(rows, **label_options), posteriors], axis=1))

    return predict_by_chunks(fit, data, None, predict_chunk)
