"""The verbs stepwise, canonical and manova.

The verb assess, and --test beside a summary: what rows of known class say of a fit.

Error rates beside a summary, as --errors asks for them.

The verbs of models: a formula and a table in, a summary out, with a picture and a file of the fit.

The engine of fda as it is typed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from discrim.cli.output import Output, deliver, output_of, refuse_part
from discrim.cli.parsing import by_label, one_of, parse_prior
from discrim.cli.reading import TableArgument, given_of, labels_in, labels_of_fit, labels_to_fit
from discrim.cli.verbs import model_of
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.models.registry import resolve

if TYPE_CHECKING:
    from discrim.report.tables import Summary


def assess(arguments: argparse.Namespace) -> None:
    """Show what the rows of a table say of a saved fit."""
    import discrim

    options = dict(vars(arguments))
    del options["verb"]
    file, sections = options.pop("fit"), options.pop("sections", None)
    given = given_of(options)
    output = output_of(options, given.data, file)
    fit = discrim.load(file)
    if isinstance(fit, discrim.Moments):
        raise DataError(f"{file!r} holds moments and no fit: name a file of a fit")
    if "prior" in options:
        options["prior"] = by_label(parse_prior(options["prior"]), fit.classes)
    found = _assessed(fit, given, options)
    summary = found.summary(sections)
    deliver(summary, output, draw=found.plot)


def with_test(summary: Any, fit: Any, test: TableArgument | None) -> Any:
    """A summary, and behind it what the rows of a table say of the fit."""
    if test is None:
        return summary
    found = _assessed(fit, test, {}).summary()
    return summary.followed(found, "test_", f"Test rows: {test.data}")


def _assessed(fit: Any, given: TableArgument, options: dict[str, Any]) -> Any:
    return fit.assess(given.rows(labels_of_fit(fit, whole=False)), **options)


class Errors(NamedTuple):
    """Error rates that are asked for."""

    methods: list[str]
    folds: int | None
    seed: int | None


def errors_of(options: dict[str, Any]) -> Errors | None:
    """Take what error rates are asked for from the other options."""
    from discrim.models.judging.assessment import ErrorMethod

    methods = options.pop("errors", None)
    folds, seed = options.pop("error_folds", None), options.pop("error_seed", None)
    random = {"--folds": (folds, ("cv",)), "--seed": (seed, ("cv", "632+"))}
    for option, (value, of) in random.items():
        if value is not None and not set(of) & set(methods or ()):
            raise DataError(
                f"{option} goes with --errors {' and '.join(of)}: add that, or leave {option} out"
            )
    if methods is None:
        return None
    known = list(get_args(ErrorMethod))
    for method in methods:
        if method not in known:
            way_out = one_of(method, known)
            raise DataError(f"--errors: {method!r} is no method{way_out}")
    # A verb that deals rows to folds itself has these options for both.
    own = options.get("folds")
    folds = own if folds is None and isinstance(own, int) else folds
    return Errors(methods, folds, options.get("seed") if seed is None else seed)


def with_errors(summary: Any, fit: Any, asked: Errors | None) -> Any:
    """A summary with the error rates of a fit as its last section."""
    if asked is None:
        return summary
    from discrim.report.grid import INTERVAL, Section

    folds = {} if asked.folds is None else {"folds": asked.folds}
    table = fit.error_rates(asked.methods, seed=asked.seed, **folds)
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"prior": "text", "choice": "text"}
    formats |= dict.fromkeys(["wrong", "total"], "count")
    note = ""
    if "cv" in asked.methods:
        note = f"cv: {asked.folds or 10} folds" + (f", seed {asked.seed}." if asked.seed is not None else ".")
    note += f" {table.attrs.get('note', '')}"
    section = Section(
        "Error rates",
        table.rename_axis(None),
        formats,
        headings=INTERVAL,
        note=note.strip(),
        source=f"fit.error_rates({asked.methods!r})",
    )
    return summary.extended("errors", section)


def of_table(given: TableArgument, formulas: Sequence[str], output: Output, use: Callable[[Any], Any]) -> Any:
    """What a function makes of a table or a source, with the labels that formulas name.

    Parameters
    ----------
    output : Output
        The files that are written, which may be no part of a source.
    """
    _refuse_exchanged(formulas[0], given.data)
    labels = labels_to_fit(*formulas)
    rows = given.rows(labels)
    refuse_part(output, rows)
    try:
        return use(rows)
    except NotSupportedError:
        from discrim.frame.sources.parts import Source

        # A single large file may be what goes into memory for a verb that asks for all rows.
        if not (isinstance(rows, Source) and os.path.isfile(given.data)):
            raise
        return use(given.table(labels))


def _refuse_exchanged(formula: str, data: str) -> None:
    """Raise where formula and table stand in each other's place."""
    if "~" not in formula and "~" in data and not os.path.exists(data):
        raise FormulaError(
            f"{formula!r} stands in place of the formula, and {data!r} in place of the table: change "
            "the order"
        )


def with_prior(options: dict[str, Any], formula: str, data: Any) -> dict[str, Any]:
    """Options in which a prior by class has the labels of the response column, which need not be text."""
    if "prior" not in options:
        return options
    return options | {"prior": _classes_as_typed(parse_prior(options["prior"]), formula, data)}


def _classes_as_typed(prior: Any, formula: str, data: Any) -> Any:
    response = formula.partition("~")[0].strip().strip("`")
    columns = getattr(data, "columns", None)
    if not isinstance(prior, dict) or response not in (data.names if columns is None else columns):
        return prior
    return by_label(prior, labels_in(data, response) if columns is None else data[response].unique())


def summarize(arguments: argparse.Namespace) -> None:
    """Fit what the arguments ask for, and show it."""
    import discrim

    options = dict(vars(arguments))
    name, formula = options.pop("verb"), options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data, *([options["test"]] if "test" in options else []))
    sections, errors = options.pop("sections", None), errors_of(options)
    test = TableArgument(options.pop("test"), given.dialect) if "test" in options else None
    if "prior" in options:
        parse_prior(options["prior"])
    if "engine" in options:
        options["engine"] = engine_of(options["engine"])
    verb = getattr(discrim, name.replace("-", "_"))
    fit = of_table(
        given, [formula], output, lambda data: verb(formula, data=data, **with_prior(options, formula, data))
    )
    summary = fit.summary() if sections is None else fit.summary(sections=sections)
    summary = with_test(with_errors(summary, fit, errors), fit, test)
    deliver(summary, output, draw=lambda **view: fit.plot(**view), save=lambda path: fit.save(path))


_SHORTER = {"Hotelling-Lawley trace": "Hotelling-Lawley", "Hotelling-Lawley trace, McKeon": "H-L, McKeon's F"}
"""Labels that a terminal of sixty columns has room for."""

_FORMATS: dict[Any, Any] = {"F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"}


def stepwise(arguments: argparse.Namespace) -> None:
    """Choose columns step by step, and show the steps and the fit to those chosen."""
    import discrim

    options = dict(vars(arguments))
    del options["verb"]
    formula, given = options.pop("formula"), given_of(options)
    output = output_of(options, given.data)
    errors = errors_of(options)
    if "model" in options:
        model = model_of(options.pop("model"))
        options |= {"verb": getattr(discrim, model.verb), "options": model.options}
    found = of_table(given, [formula], output, lambda data: discrim.stepwise(formula, data, **options))
    summary = found.summary()
    if errors is not None:
        summary = with_errors(summary, found.fit, errors)
    deliver(
        summary, output, draw=lambda **view: found.fit.plot(**view), save=lambda path: found.fit.save(path)
    )


def canonical(arguments: argparse.Namespace) -> None:
    """Show the canonical variates of a linear discriminant analysis."""
    import discrim

    options = dict(vars(arguments))
    del options["verb"]
    formula, given = options.pop("formula"), given_of(options)
    output = output_of(options, given.data)
    sections, convention = options.pop("sections", None), options.pop("convention", None)
    asked: dict[str, Any] = {name: options.pop(name) for name in ("term", "type") if name in options}
    if asked or _several(formula):
        _canonical_term(formula, given, output, asked, sections, options | _given(convention=convention))
        return
    fit = of_table(
        given,
        [formula],
        output,
        lambda data: discrim.lda(formula, data=data, **with_prior(options, formula, data)),
    )
    found = fit.canonical(convention)

    def draw(**view: Any) -> Any:
        return fit.plot(**view) if view else found.plot()

    deliver(found.summary(sections), output, draw=draw)


def _canonical_term(
    formula: str,
    given: TableArgument,
    output: Output,
    asked: dict[str, Any],
    sections: Any,
    options: dict[str, Any],
) -> None:
    """Show the canonical variates of a term of a model of several factors."""
    import discrim

    for name in ("convention", "collinear", "prior", "levels"):
        if name in options:
            raise DataError(
                f"--{name} goes with one factor on the left, without --term and --type: leave it out."
            )
    fit = of_table(given, [formula], output, lambda data: discrim.mlm(formula, data, **options))
    found = fit.canonical(**asked)

    def draw(**view: Any) -> Any:
        if set(view) - {"axes", "ax"}:
            raise DataError("The picture of a term is that of its ellipses: leave --kind and --columns out.")
        return found.plot(**view)

    deliver(found.summary(sections), output, draw=draw)


def _several(formula: str) -> bool:
    """Whether the left side is a model of several factors."""
    from discrim.frame.linear_model import one_class

    return one_class(formula) is None


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def manova(arguments: argparse.Namespace) -> None:
    """Show the tests that the classes have one mean."""
    import discrim
    from discrim.report.grid import Section
    from discrim.report.tables import Summary

    options = dict(vars(arguments))
    del options["verb"]
    formula, given = options.pop("formula"), given_of(options)
    output = output_of(options, given.data)
    if _several(formula):
        asked = {name: options.pop(name) for name in ("term", "type") if name in options}
        fit = of_table(given, [formula], output, lambda data: discrim.mlm(formula, data, **options))
        deliver(_terms(fit, **asked), output)
        return
    table = of_table(given, [formula], output, lambda data: discrim.manova(formula, data, **options))
    table = table.rename(index=_SHORTER)
    section = Section(
        "Tests that the classes have one mean",
        table,
        _FORMATS,
        headings={"F_is": "F is"},
        source="manova(formula, data)",
    )
    deliver(Summary(f"Multivariate analysis of variance: {formula}", {"manova": section}), output)


def _terms(fit: Any, term: str | None = None, type: str = "2") -> Summary:
    """The tests of the terms of a model, or all four statistics of one."""
    from discrim.report.grid import Section
    from discrim.report.tables import Summary

    if term is None:
        summary: Summary = fit.summary(["header", "tests", "manova"], type=type)
        return summary
    table = fit.manova(term, type).rename(index=_SHORTER)
    title = f"Tests that {term} is not needed, type {type}"
    section = Section(
        title, table, _FORMATS, headings={"F_is": "F is"}, source="mlm(formula, data).manova(term)"
    )
    return Summary(f"Multivariate analysis of variance: {fit.formula}", {"manova": section})


def engine_of(text: str) -> Any:
    """A regression of scikit-learn by its name and options.

    Raises
    ------
    DataError
        There is none of that name, or scikit-learn is not installed.
    """
    try:
        made = resolve("discrim.sklearn.regressions:engine_of")
    except ImportError:
        raise DataError("fda takes its engine from scikit-learn: pip install scikit-learn") from None
    return made(text)
