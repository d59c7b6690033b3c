"""The verbs that answer with a summary of one fit: of the models, stepwise, canonical, manova and assess.

Each takes its own options out of those that were typed, makes the fit, and delivers the summary, beside which
may stand error rates, what the rows of another table say of the fit, a picture and a file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import discrim
from discrim.cli.models import check_taken
from discrim.cli.output import Output, deliver, output_of, refuse_part, suffix
from discrim.cli.parsing import one_of
from discrim.cli.reading import TableArgument, given_of, labels_in, labels_of_fit, labels_to_fit
from discrim.cli.values import has_labels, with_labels
from discrim.data.sources.parts import Source
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.models.evaluation.assessment import ErrorMethod
from discrim.models.evaluation.calibrated import calibrator_of
from discrim.report.grid import INTERVAL, Section
from discrim.report.tables import Summary


def assess(verb: str, options: dict[str, Any]) -> None:
    """Show what the rows of a table say of a saved fit."""
    file = options.pop("fit")
    sections = options.pop("sections", None)
    given = given_of(options)
    output = output_of(options, given.data, file)
    fit = loaded_fit(file)
    options = with_labels(options, fit.classes)
    if output.picture is not None and suffix(output.picture) == "html":
        raise DataError(
            "Pictures of assess answer no pointer.", hint="Name a file that ends in .png, .svg or .pdf."
        )
    found = _assessed(fit, given, options)
    deliver(found.summary(sections), output, draw=found.plot)


def loaded_fit(file: str, hint: str = "Name a file of a fit.") -> Any:
    """The fit of a file, which may not be one of moments."""
    fit = discrim.load(file)
    if isinstance(fit, discrim.Moments):
        raise DataError(f"{file!r} contains moments and not a fit.", hint=hint)
    return fit


def _assessed(fit: Any, given: TableArgument, options: dict[str, Any]) -> Any:
    return fit.assess(given.rows(labels_of_fit(fit, whole=False)), **options)


class Errors(NamedTuple):
    """The options of error rates that stand beside a summary."""

    methods: list[str]
    folds: int | None
    seed: int | None


def errors_of(options: dict[str, Any]) -> Errors | None:
    """Take the options of error rates from the others."""
    methods = options.pop("errors", None)
    folds = options.pop("error_folds", None)
    seed = options.pop("error_seed", None)
    random = {"--folds": (folds, ("cv",)), "--seed": (seed, ("cv", "632+"))}
    for option, (value, of) in random.items():
        if value is not None and not set(of) & set(methods or ()):
            raise DataError(
                f"{option} goes with --errors {' and '.join(of)}.", hint=f"Add that, or leave {option} out."
            )
    if methods is None:
        return None
    known = list(get_args(ErrorMethod))
    for method in methods:
        if method not in known:
            raise DataError(f"--errors: unknown method {method!r}.", hint=one_of(method, known))
    # A verb that deals rows to folds itself has these options for both.
    own = options.get("folds")
    folds = own if folds is None and isinstance(own, int) else folds
    return Errors(methods, folds, options.get("seed") if seed is None else seed)


def with_errors(summary: Any, fit: Any, errors: Errors | None) -> Any:
    """A summary with the error rates of a fit as its last section."""
    if errors is None:
        return summary
    folds = {} if errors.folds is None else {"folds": errors.folds}
    table = fit.error_rates(errors.methods, seed=errors.seed, **folds)
    formats: dict[Any, Any] = dict.fromkeys(table.columns, "share") | {"prior": "text", "choice": "text"}
    formats |= dict.fromkeys(["wrong", "total"], "count")
    note = ""
    if "cv" in errors.methods:
        seed = "" if errors.seed is None else f", seed {errors.seed}"
        note = f"cv: {errors.folds or 10} folds{seed}."
    note += f" {table.attrs.get('note', '')}"
    section = Section(
        "Error rates",
        table.rename_axis(None),
        formats,
        headings=INTERVAL,
        note=note.strip(),
        source=f"fit.error_rates({errors.methods!r})",
    )
    return summary.extended("errors", section)


def of_table(given: TableArgument, formulas: Sequence[str], output: Output, use: Callable[[Any], Any]) -> Any:
    """What a function makes of a table or a source, with the labels that formulas name.

    The files of the output may be no part of the source.
    """
    if "~" not in formulas[0] and "~" in given.data and not os.path.exists(given.data):
        raise FormulaError(
            f"{formulas[0]!r} stands in place of the formula, and {given.data!r} in place of the table.",
            hint="Change the order.",
        )
    labels = labels_to_fit(*formulas)
    rows = given.rows(labels)
    refuse_part(output, rows)
    try:
        return use(rows)
    except NotSupportedError:
        # A single large file may be what goes into memory for a verb that asks for all rows.
        if not (isinstance(rows, Source) and os.path.isfile(given.data)):
            raise
        return use(given.table(labels))


def save_fit(fit: Any, path: str, *, calibrated: bool) -> None:
    """Save a fit, with a map to calibrated posteriors if the file is to hold one."""
    if calibrated:
        calibrator_of(fit._fit)
    fit.save(path)


def with_labels_of(options: dict[str, Any], formula: str, data: Any) -> dict[str, Any]:
    """Return options in which classes have the labels of the response of a table or source."""
    response = formula.partition("~")[0].strip().strip("`")
    columns = getattr(data, "columns", None)
    if not has_labels(options) or response not in (data.names if columns is None else columns):
        return options
    return with_labels(options, labels_in(data, response) if columns is None else data[response].unique())


def summarize(verb: str, options: dict[str, Any]) -> None:
    """Fit a model, and show it."""
    formula = options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data, *([options["test"]] if "test" in options else []))
    sections = options.pop("sections", None)
    errors = errors_of(options)
    test = TableArgument(options.pop("test"), given.dialect) if "test" in options else None
    fit = _made(verb.replace("-", "_"), formula, given, output, options)
    summary = fit.summary() if sections is None else fit.summary(sections=sections)
    summary = with_errors(summary, fit, errors)
    if test is not None:
        summary = summary.followed(_assessed(fit, test, {}).summary(), "test_", f"Test rows: {test.data}")
    deliver(
        summary,
        output,
        draw=lambda **view: fit.plot(**view),
        save=lambda path: save_fit(fit, path, calibrated=output.calibrated),
    )


def _made(verb: str, formula: str, given: TableArgument, output: Output, options: dict[str, Any]) -> Any:
    """Return what a public function makes of a formula, a table and options."""
    check_taken(verb, options)
    function = getattr(discrim, verb)
    return of_table(
        given,
        [formula],
        output,
        lambda data: function(formula, data=data, **with_labels_of(options, formula, data)),
    )


_SHORTER = {"Hotelling-Lawley trace": "Hotelling-Lawley", "Hotelling-Lawley trace, McKeon": "H-L, McKeon's F"}
"""Labels that a terminal of sixty columns has room for."""

_FORMATS: dict[Any, Any] = {"F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"}
_FORMATS["p_permutation"] = "tail"


def stepwise(verb: str, options: dict[str, Any]) -> None:
    """Choose columns step by step, and show the steps and the fit to those chosen."""
    formula = options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data)
    sections = options.pop("sections", None)
    errors = errors_of(options)
    if "verb" in options:
        model = options["verb"]
        options["verb"] = partial(getattr(discrim, model.verb), **model.options)
    found = _made("stepwise", formula, given, output, options)
    summary = found.summary(sections)
    summary = summary if errors is None else with_errors(summary, found.fit, errors)
    deliver(
        summary,
        output,
        draw=lambda **view: found.fit.plot(**view),
        save=lambda path: save_fit(found.fit, path, calibrated=output.calibrated),
    )


def choose(verb: str, options: dict[str, Any]) -> None:
    """Choose a model by rows left out, and show what was tried."""
    formula = options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data)
    if "verbs" in options:
        options["candidates"] = {
            model.typed: (getattr(discrim, model.verb), model.options) for model in options.pop("verbs")
        }
    found = _made("choose", formula, given, output, options)
    deliver(
        found.summary(),
        output,
        draw=lambda **view: found.plot(**view),
        save=lambda path: save_fit(found.fit, path, calibrated=output.calibrated),
    )


def plan_rows(verb: str, options: dict[str, Any]) -> None:
    """Say how many rows a discriminant analysis needs."""
    output = output_of(options)
    found = discrim.plan(options.pop("distance"), options.pop("p"), **options)
    deliver(found.summary(), output, draw=found.plot)


def canonical(verb: str, options: dict[str, Any]) -> None:
    """Show the canonical variates of a linear discriminant analysis, or of a term of several factors."""
    formula = options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data)
    sections = options.pop("sections", None)
    convention = options.pop("convention", None)
    tested = _of_terms(options)
    if not tested and not _several(formula):
        fit = _made("lda", formula, given, output, options)
        found = fit.canonical(convention)
        draw = partial(_variates, fit, found)
    else:
        if convention is not None:
            raise DataError(
                "--convention is for one factor on the left, without --term.", hint="Leave it out."
            )
        found = _made("mlm", formula, given, output, options).canonical(**tested)
        draw = partial(_ellipses, found)
    deliver(found.summary(sections), output, draw=draw)


def _variates(fit: Any, found: Any, **view: Any) -> Any:
    return fit.plot(**view) if view else found.plot()


def _ellipses(found: Any, **view: Any) -> Any:
    if set(view) - {"axes", "ax"}:
        raise DataError(
            "The picture of a term is that of its ellipses.",
            hint="Leave --kind and --columns out, and name a file that ends in .png, .svg or .pdf.",
        )
    return found.plot(**view)


def _of_terms(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a model of several factors from the others."""
    return {name: options.pop(name) for name in ("term", "type") if name in options}


def _several(formula: str) -> bool:
    """Whether the left side is a model of several factors."""
    from discrim.design.linear_model import one_class

    return one_class(formula) is None


def manova(verb: str, options: dict[str, Any]) -> None:
    """Show the tests that the classes have one mean, or of the terms of several factors."""
    formula = options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data)
    if "distance" in options:
        deliver(_made("permanova", formula, given, output, options).summary(), output)
        return
    if "permutations" in options:
        table = _made("manova", formula, given, output, options)
        title = "Tests of the means, also by permutation"
        source = "manova(formula, data, permutations=)"
        deliver(_four_statistics(formula, title, table, source), output)
        return
    if _several(formula) and "method" not in options:
        tested = _of_terms(options)
        deliver(_terms(_made("mlm", formula, given, output, options), **tested), output)
        return
    table = _made("manova", formula, given, output, options)
    made = _of_many_columns(formula, table, options["method"]) if "method" in options else None
    deliver(
        made
        or _four_statistics(formula, "Tests that the classes have one mean", table, "manova(formula, data)"),
        output,
    )


def _of_many_columns(formula: str, table: Any, method: str) -> Summary:
    """The one test that a method names, and what it assumes."""
    section = Section(
        "Test that the classes have one mean",
        table.drop(columns="assumes").dropna(axis=1),
        {"law": "text", "df1": "general", "df2": "general", "p": "tail"},
        note=table["assumes"].iloc[0],
        source=f'manova(formula, data, method="{method}")',
    )
    return Summary(f"Equality of means: {formula}", {"manova": section})


def _terms(fit: Any, term: str | None = None, type: int | str = 2) -> Summary:
    """The tests of the terms of a model, or all four statistics of one."""
    if term is None:
        summary: Summary = fit.summary(["header", "tests", "manova"], type=type)
        return summary
    title = f"Tests that {term} is not needed, type {type}"
    return _four_statistics(fit.formula, title, fit.manova(term, type), "mlm(formula, data).manova(term)")


def _four_statistics(formula: str, title: str, table: Any, source: str) -> Summary:
    table = table.rename(index=_SHORTER)
    section = Section(
        title, table, _FORMATS, headings={"F_is": "F is", "p_permutation": "p by perm."}, source=source
    )
    return Summary(f"Multivariate analysis of variance: {formula}", {"manova": section})
