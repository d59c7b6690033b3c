"""Verbs that show the summary of one fit: all models, stepwise, choose, canonical, assess and others.

The function of a verb receives the name of the verb and the typed options by parameter. It removes the
options of the command line, computes the fit, and writes the summary, if requested with error rates, an
assessment on another table, a plot and the file of the fit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import discrim
from discrim.cli.models import check_options_of_verb, fit_model, read_model
from discrim.cli.output import Output, check_not_in_source, picture_format, pop_output_options, write_results
from discrim.cli.parsing import choices_hint
from discrim.cli.reading import (
    TableArgument,
    distinct_labels,
    label_columns_of_fit,
    label_columns_to_fit,
    pop_table_options,
)
from discrim.cli.values import has_labels, with_labels
from discrim.data.sources.base import Source
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.models.evaluation.assessment import ErrorMethod
from discrim.models.evaluation.calibrated import fitted_calibrator
from discrim.report.grid import SHARED_HEADINGS, Section
from discrim.report.tables import Summary


def assess(verb: str, options: dict[str, Any]) -> None:
    """Show the assessment of a saved fit on the rows of a table."""
    file = options.pop("fit")
    sections = options.pop("sections", None)
    table_argument = pop_table_options(options)
    output = pop_output_options(options, table_argument.data, file)
    fit = load_fit(file)
    options = with_labels(options, fit.classes)
    if output.plot_path is not None and picture_format(output.plot_path) == "html":
        raise DataError(
            "Plots of assess are not interactive.", hint="Name a file that ends in .png, .svg or .pdf."
        )
    assessment = _assess_on_table(fit, table_argument, options)
    write_results(assessment.summary(sections), output, draw=assessment.plot)


def load_fit(file: str, hint: str = "Name a file of a fit.") -> Any:
    """Load a fit from a file; raise a DataError if the file contains moments.

    Parameters
    ----------
    file : str
        Path of the file.
    hint : str
        Hint of the error.

    Returns
    -------
    object
        Results of a verb.
    """
    fit = discrim.load(file)
    if isinstance(fit, discrim.Moments):
        raise DataError(f"{file!r} contains moments and not a fit.", hint=hint)
    return fit


def _assess_on_table(fit: Any, table_argument: TableArgument, options: dict[str, Any]) -> Any:
    """Return the assessment of a fit on the rows of DATA; `options` are arguments of its method `assess`."""
    return fit.assess(table_argument.rows(label_columns_of_fit(fit, keeps_unread=False)), **options)


class ErrorOptions(NamedTuple):
    """Options of the error rates in a summary, which are arguments of `error_rates`.

    Attributes
    ----------
    methods : list of str
        Methods, such as "loo".
    folds : int or None
        Number of folds of the method "cv".
    seed : int or None
        Seed of the methods "cv" and "632+".
    """

    methods: list[str]
    folds: int | None
    seed: int | None


def pop_error_options(options: dict[str, Any]) -> ErrorOptions | None:
    """Remove the options of error rates from a dictionary, and return them; None without --errors.

    Folds and seed of the verb itself, if it has any, remain in the dictionary and are used as defaults.
    Raises a DataError for an unknown method, and for folds or a seed without a method that uses them.
    """
    methods = options.pop("errors", None)
    folds = options.pop("error_folds", None)
    seed = options.pop("error_seed", None)
    option_values = {"--folds": (folds, ("cv",)), "--seed": (seed, ("cv", "632+"))}
    for option, (value, methods_with_option) in option_values.items():
        if value is not None and not set(methods_with_option) & set(methods or ()):
            raise DataError(
                f"{option} requires --errors {' and '.join(methods_with_option)}.",
                hint=f"Add that, or leave {option} out.",
            )
    if methods is None:
        return None
    known_methods = list(get_args(ErrorMethod))
    for method in methods:
        if method not in known_methods:
            raise DataError(f"--errors: unknown method {method!r}.", hint=choices_hint(method, known_methods))
    # A verb that uses folds itself shares these options with the error rates.
    verb_folds = options.get("folds")
    folds = verb_folds if folds is None and isinstance(verb_folds, int) else folds
    return ErrorOptions(methods, folds, options.get("seed") if seed is None else seed)


def add_error_rates(summary: Any, fit: Any, errors: ErrorOptions | None) -> Any:
    """Add the error rates of a fit to a summary as its last section.

    Parameters
    ----------
    summary : Summary
    fit : object
        Results of a verb.
    errors : ErrorOptions or None
        None to return the summary unchanged.

    Returns
    -------
    Summary
    """
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
        headings=SHARED_HEADINGS,
        note=note.strip(),
        source=f"fit.error_rates({errors.methods!r})",
    )
    return summary.with_section("errors", section)


def call_with_table(
    table_argument: TableArgument, formulas: Sequence[str], output: Output, function: Callable[[Any], Any]
) -> Any:
    """Call a function with the table or source of DATA.

    Parameters
    ----------
    table_argument : TableArgument
        DATA.
    formulas : sequence of str
        Formulas, which determine the columns that contain labels.
    output : Output
        Files of the output, which must not belong to the source.
    function : callable
        Function of the table or source. If it does not support a source, and DATA is a single file, it is
        called again with the table in memory.

    Returns
    -------
    object
        Result of the function.

    Raises
    ------
    FormulaError
        The formula and the table were typed in the wrong order.
    """
    if "~" not in formulas[0] and "~" in table_argument.data and not os.path.exists(table_argument.data):
        raise FormulaError(
            f"{formulas[0]!r} is typed in place of the formula, and {table_argument.data!r} in place of the "
            "table.",
            hint="Write the formula first, and then the table.",
        )
    labels = label_columns_to_fit(*formulas)
    rows = table_argument.rows(labels)
    check_not_in_source(output, rows)
    try:
        return function(rows)
    except NotSupportedError:
        # A verb that requires all rows in memory may still be able to read a single large file.
        if not (isinstance(rows, Source) and os.path.isfile(table_argument.data)):
            raise
        return function(table_argument.table(labels))


def with_response_labels(options: dict[str, Any], formula: str, data: Any) -> dict[str, Any]:
    """Return options in which typed class labels are replaced by the labels of the response.

    Parameters
    ----------
    options : dict
        Options by name.
    formula : str
        Formula, whose left side is the response.
    data : table or Source
        Rows with the response. A source is read once.

    Returns
    -------
    dict
        `options` itself if no option contains labels, or if the response is not a column of the data.
    """
    response = formula.partition("~")[0].strip().strip("`")
    columns = getattr(data, "columns", None)
    if not has_labels(options) or response not in (data.names if columns is None else columns):
        return options
    return with_labels(
        options, distinct_labels(data, response) if columns is None else data[response].unique()
    )


class _FitRequest:
    """Arguments of a verb of the command line that fits a formula to DATA.

    The constructor removes them from a dictionary of options. Its other arguments are further input files,
    which must not be overwritten.

    Attributes
    ----------
    formula : str
    table_argument : TableArgument
        The table.
    output : Output
        Files of the summary, the plot and the fit.
    sections : list of str or None
        Sections of the summary.
    options : dict
        The remaining options, which are arguments of the public function.
    """

    def __init__(self, options: dict[str, Any], *files: str) -> None:
        self.formula: str = options.pop("formula")
        self.table_argument = pop_table_options(options)
        self.output = pop_output_options(options, self.table_argument.data, *files)
        self.sections: list[str] | None = options.pop("sections", None)
        self.options = options

    def call(self, name: str) -> Any:
        """Call the public function of this name with the formula, the table and the options.

        Raises a DataError if the function lacks a parameter for one of the options.
        """
        check_options_of_verb(name, self.options)
        function = getattr(discrim, name)
        return call_with_table(
            self.table_argument,
            [self.formula],
            self.output,
            lambda data: function(
                self.formula, data=data, **with_response_labels(self.options, self.formula, data)
            ),
        )

    def deliver(self, summary: Any, draw: Callable[..., Any], fit: Callable[[], Any] | None = None) -> None:
        """Write a summary to the requested output, and the plot and the fit if they were requested.

        Parameters
        ----------
        summary : Summary
        draw : callable
            Function that draws the plot, of the arguments `kind`, `columns` and `axes` that were typed.
        fit : callable, optional
            Function without arguments that returns the fit to save.
        """

        def save(path: str) -> None:
            """Save the fit, with its calibration if requested; do nothing without a fit."""
            if fit is not None:
                if self.output.calibrated:
                    # The calibration is computed now, because the file will not contain the rows.
                    fitted_calibrator(fit()._fit)
                fit().save(path)

        write_results(summary, self.output, draw=draw, save=save)


def summarize(verb: str, options: dict[str, Any]) -> None:
    """Fit a model and show its summary, with error rates and the assessment on a test table if requested."""
    request = _FitRequest(options, *([options["test"]] if "test" in options else []))
    errors = pop_error_options(options)
    test = TableArgument(options.pop("test"), request.table_argument.dialect) if "test" in options else None
    fit = request.call(verb.replace("-", "_"))
    summary = add_error_rates(fit.summary(request.sections), fit, errors)
    if test is not None:
        summary = summary.followed_by(
            _assess_on_table(fit, test, {}).summary(), "test_", f"Test rows: {test.data}"
        )
    request.deliver(summary, lambda **view: fit.plot(**view), lambda: fit)


def threshold(verb: str, options: dict[str, Any]) -> None:
    """Fit a model of two classes, and show the cut-off that is chosen on its posteriors."""
    request = _FitRequest(options)
    model = options.pop("verb", None) or read_model("lda")
    fit = call_with_table(
        request.table_argument,
        [request.formula],
        request.output,
        lambda data: fit_model(model, request.formula, data, {}),
    )
    chosen = fit.threshold(**request.options)
    request.deliver(
        chosen.summary(request.sections), lambda **view: fit.plot("roc", threshold=chosen), lambda: fit
    )


_SHORT_TEST_NAMES = {
    "Hotelling-Lawley trace": "Hotelling-Lawley",
    "Hotelling-Lawley trace, McKeon": "H-L, McKeon's F",
}
"""Shorter labels for a terminal of 60 characters."""

_TEST_FORMATS: dict[Any, Any] = {"F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"}
_TEST_FORMATS["p_permutation"] = "tail"


def stepwise(verb: str, options: dict[str, Any]) -> None:
    """Choose columns step by step, and show the steps and the fit to the chosen columns."""
    request = _FitRequest(options)
    errors = pop_error_options(options)
    if "verb" in options:
        model = options["verb"]
        options["verb"] = partial(getattr(discrim, model.verb), **model.options)
    choice = request.call("stepwise")
    summary = choice.summary(request.sections)
    if errors is not None:
        summary = add_error_rates(summary, choice.fit, errors)
    request.deliver(summary, lambda **view: choice.fit.plot(**view), lambda: choice.fit)


def choose(verb: str, options: dict[str, Any]) -> None:
    """Choose a model by cross-validation, and show the candidates."""
    request = _FitRequest(options)
    if "verbs" in options:
        options["candidates"] = {
            model.typed: (getattr(discrim, model.verb), model.options) for model in options.pop("verbs")
        }
    choice = request.call("choose")
    request.deliver(choice.summary(), choice.plot, lambda: choice.fit)


def plan_rows(verb: str, options: dict[str, Any]) -> None:
    """Show how many observations a discriminant analysis needs."""
    output = pop_output_options(options)
    planned = discrim.plan(options.pop("distance"), options.pop("p"), **options)
    write_results(planned.summary(), output, draw=planned.plot)


def canonical(verb: str, options: dict[str, Any]) -> None:
    """Show the canonical variates of an LDA, or of a term of a model with several factors.

    The model with several factors (`mlm`) is fitted if the left side is not a single factor, or with --term.
    """
    request = _FitRequest(options)
    convention = options.pop("convention", None)
    terms = _pop_term_options(options)
    if not terms and not _has_several_factors(request.formula):
        fit = request.call("lda")
        variates = fit.canonical(convention)
        request.deliver(
            variates.summary(request.sections),
            lambda **view: fit.plot(**view) if view else variates.plot(),
        )
        return
    if convention is not None:
        raise DataError(
            "--convention requires one factor on the left side and no --term.", hint="Leave it out."
        )
    variates = request.call("mlm").canonical(**terms)

    def draw(**view: Any) -> Any:
        """Plot the variates, and raise a DataError for options that this plot does not have."""
        if set(view) - {"axes", "ax"}:
            raise DataError(
                "The plot of a term shows only ellipses.",
                hint="Leave out --kind and --columns, and name a file that ends in .png, .svg or .pdf.",
            )
        return variates.plot(**view)

    request.deliver(variates.summary(request.sections), draw)


def _pop_term_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of a model with several factors (term and type), and return them by name."""
    return {name: options.pop(name) for name in ("term", "type") if name in options}


def _has_several_factors(formula: str) -> bool:
    """Return whether the left side of a formula is not a single factor, which is a classification."""
    from discrim.design.linear_model import class_factor

    return class_factor(formula) is None


def manova(verb: str, options: dict[str, Any]) -> None:
    """Show the tests that all classes have the same mean, or of the terms of several factors."""
    request = _FitRequest(options)
    write_results(_manova_summary(request), request.output)


def marginal_means(verb: str, options: dict[str, Any]) -> None:
    """Show marginal means of a linear model and their differences."""
    request = _FitRequest(options)
    names = ("factors", "by", "at", "level")
    arguments = {name: options.pop(name) for name in names if name in options}
    adjustment = {"adjust": options.pop("adjust")} if "adjust" in options else {}
    means = request.call("mlm").marginal_means(**arguments)
    request.deliver(means.summary(request.sections, **adjustment), means.plot)


def _manova_summary(request: _FitRequest) -> Summary:
    """Return the summary of the tests that the options select.

    With `distance` it summarizes `permanova`; with `permutations` or `method` the tests of equal class means
    of `manova`; otherwise the four tests, of the classes or, for several factors, of all terms or one.
    """
    formula = request.formula
    options = request.options
    if "distance" in options:
        summary: Summary = request.call("permanova").summary()
        return summary
    if "permutations" in options:
        source = "manova(formula, data, permutations=)"
        table = request.call("manova")
        return _tests_summary(formula, "Tests of equal class means, also by permutation", table, source)
    if "method" in options:
        table = request.call("manova")
        section = Section(
            "Test of equal class means",
            table.drop(columns="assumes").dropna(axis=1),
            {"distribution": "text", "df1": "general", "df2": "general", "p": "tail"},
            note=table["assumes"].iloc[0],
            source=f'manova(formula, data, method="{options["method"]}")',
        )
        return Summary(f"Equality of class means: {formula}", {"manova": section})
    if not _has_several_factors(formula):
        table = request.call("manova")
        title = "Tests of equal class means"
        return _tests_summary(formula, title, table, "manova(formula, data)")
    terms = _pop_term_options(options)
    fit = request.call("mlm")
    term = terms.get("term")
    test_type = terms.get("type", 2)
    if term is None:
        summary = fit.summary(["header", "tests", "manova"], type=test_type)
        return summary
    title = f"Tests of {term}, type {test_type}"
    return _tests_summary(fit.formula, title, fit.manova(term, test_type), "mlm(formula, data).manova(term)")


def _tests_summary(formula: str, title: str, table: Any, source: str) -> Summary:
    """Return a summary with one table of the multivariate test statistics.

    Parameters
    ----------
    formula : str
        Formula, for the title of the summary.
    title : str
        Title of the table.
    table : DataFrame
        Tests by statistic (index), with columns F, df1, df2 and p.
    source : str
        Code that computes the table.

    Returns
    -------
    Summary
    """
    table = table.rename(index=_SHORT_TEST_NAMES)
    section = Section(
        title, table, _TEST_FORMATS, headings={"F_is": "F is", "p_permutation": "p by perm."}, source=source
    )
    return Summary(f"Multivariate analysis of variance: {formula}", {"manova": section})
