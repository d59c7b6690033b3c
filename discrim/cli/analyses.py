"""Verbs that show the summary of one fit: all models, stepwise, choose, plan, canonical, manova and assess.

Each verb removes its own options from those that were typed, computes the fit, and writes the summary, if
requested with error rates, an assessment on another table, a plot and the file of the fit.
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
    """Show the assessment of a saved fit on the rows of a table."""
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
    """Load a fit from a file; raise a DataError if the file contains moments."""
    fit = discrim.load(file)
    if isinstance(fit, discrim.Moments):
        raise DataError(f"{file!r} contains moments and not a fit.", hint=hint)
    return fit


def _assessed(fit: Any, given: TableArgument, options: dict[str, Any]) -> Any:
    """Assess a fit on the rows of DATA."""
    return fit.assess(given.rows(labels_of_fit(fit, whole=False)), **options)


class Errors(NamedTuple):
    """Options of the error rates in a summary: methods, number of folds and seed."""

    methods: list[str]
    folds: int | None
    seed: int | None


def errors_of(options: dict[str, Any]) -> Errors | None:
    """Remove the options of error rates from a dictionary, and return them, or None."""
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
    # A verb that uses folds itself shares these options with the error rates.
    own = options.get("folds")
    folds = own if folds is None and isinstance(own, int) else folds
    return Errors(methods, folds, options.get("seed") if seed is None else seed)


def with_errors(summary: Any, fit: Any, errors: Errors | None) -> Any:
    """Add the error rates of a fit to a summary as its last section.

    Parameters
    ----------
    summary : Summary
    fit : object
        Results of a verb.
    errors : Errors or None
        None for no such section.

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
        headings=INTERVAL,
        note=note.strip(),
        source=f"fit.error_rates({errors.methods!r})",
    )
    return summary.extended("errors", section)


def of_table(given: TableArgument, formulas: Sequence[str], output: Output, use: Callable[[Any], Any]) -> Any:
    """Call a function with the table or source of DATA.

    Parameters
    ----------
    given : TableArgument
        DATA.
    formulas : sequence of str
        Formulas, which determine the columns that contain labels.
    output : Output
        Files of the output, which must not belong to the source.
    use : callable
        The function.

    Returns
    -------
    object
        Result of the function.
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
        # A verb that requires all rows in memory may still be able to read a single large file.
        if not (isinstance(rows, Source) and os.path.isfile(given.data)):
            raise
        return use(given.table(labels))


def with_labels_of(options: dict[str, Any], formula: str, data: Any) -> dict[str, Any]:
    """Return options in which the text of classes is replaced by the labels of the response.

    Parameters
    ----------
    options : dict
    formula : str
        Formula, whose left side is the response.
    data : table or Source

    Returns
    -------
    dict
    """
    response = formula.partition("~")[0].strip().strip("`")
    columns = getattr(data, "columns", None)
    if not has_labels(options) or response not in (data.names if columns is None else columns):
        return options
    return with_labels(options, labels_in(data, response) if columns is None else data[response].unique())


class _Request:
    """Arguments of a verb that fits a formula to DATA.

    Attributes
    ----------
    formula : str
    given : TableArgument
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
        self.given = given_of(options)
        self.output = output_of(options, self.given.data, *files)
        self.sections: list[str] | None = options.pop("sections", None)
        self.options = options

    def call(self, name: str) -> Any:
        """Call a public function with the formula, the table and the options."""
        check_taken(name, self.options)
        function = getattr(discrim, name)
        return of_table(
            self.given,
            [self.formula],
            self.output,
            lambda data: function(
                self.formula, data=data, **with_labels_of(self.options, self.formula, data)
            ),
        )

    def deliver(self, summary: Any, draw: Callable[..., Any], fit: Callable[[], Any] | None = None) -> None:
        """Write a summary, a plot and a fit, as requested.

        Parameters
        ----------
        summary : Summary
        draw : callable
            Function that draws the plot.
        fit : callable, optional
            Function that returns the fit to save.
        """

        def save(path: str) -> None:
            if fit is not None:
                if self.output.calibrated:
                    # The calibration is computed now, because the file will not contain the rows.
                    calibrator_of(fit()._fit)
                fit().save(path)

        deliver(summary, self.output, draw=draw, save=save)


def summarize(verb: str, options: dict[str, Any]) -> None:
    """Fit a model and show its summary."""
    request = _Request(options, *([options["test"]] if "test" in options else []))
    errors = errors_of(options)
    test = TableArgument(options.pop("test"), request.given.dialect) if "test" in options else None
    fit = request.call(verb.replace("-", "_"))
    summary = with_errors(fit.summary(request.sections), fit, errors)
    if test is not None:
        summary = summary.followed(_assessed(fit, test, {}).summary(), "test_", f"Test rows: {test.data}")
    request.deliver(summary, lambda **view: fit.plot(**view), lambda: fit)


_SHORTER = {"Hotelling-Lawley trace": "Hotelling-Lawley", "Hotelling-Lawley trace, McKeon": "H-L, McKeon's F"}
"""Shorter labels for a terminal of 60 characters."""

_FORMATS: dict[Any, Any] = {"F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"}
_FORMATS["p_permutation"] = "tail"


def stepwise(verb: str, options: dict[str, Any]) -> None:
    """Choose columns step by step, and show the steps and the fit to the chosen columns."""
    request = _Request(options)
    errors = errors_of(options)
    if "verb" in options:
        model = options["verb"]
        options["verb"] = partial(getattr(discrim, model.verb), **model.options)
    choice = request.call("stepwise")
    summary = choice.summary(request.sections)
    if errors is not None:
        summary = with_errors(summary, choice.fit, errors)
    request.deliver(summary, lambda **view: choice.fit.plot(**view), lambda: choice.fit)


def choose(verb: str, options: dict[str, Any]) -> None:
    """Choose a model by cross-validation, and show the candidates."""
    request = _Request(options)
    if "verbs" in options:
        options["candidates"] = {
            model.typed: (getattr(discrim, model.verb), model.options) for model in options.pop("verbs")
        }
    choice = request.call("choose")
    request.deliver(choice.summary(), choice.plot, lambda: choice.fit)


def plan_rows(verb: str, options: dict[str, Any]) -> None:
    """Show how many observations a discriminant analysis needs."""
    output = output_of(options)
    found = discrim.plan(options.pop("distance"), options.pop("p"), **options)
    deliver(found.summary(), output, draw=found.plot)


def canonical(verb: str, options: dict[str, Any]) -> None:
    """Show the canonical variates of an LDA, or of a term of a model with several factors."""
    request = _Request(options)
    convention = options.pop("convention", None)
    terms = _term_options(options)
    if not terms and not _has_several_factors(request.formula):
        fit = request.call("lda")
        variates = fit.canonical(convention)
        request.deliver(
            variates.summary(request.sections),
            lambda **view: fit.plot(**view) if view else variates.plot(),
        )
        return
    if convention is not None:
        raise DataError("--convention is for one factor on the left, without --term.", hint="Leave it out.")
    variates = request.call("mlm").canonical(**terms)

    def draw(**view: Any) -> Any:
        if set(view) - {"axes", "ax"}:
            raise DataError(
                "The picture of a term has its ellipses only.",
                hint="Leave --kind and --columns out, and name a file that ends in .png, .svg or .pdf.",
            )
        return variates.plot(**view)

    request.deliver(variates.summary(request.sections), draw)


def _term_options(options: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of a model with several factors from a dictionary, and return them."""
    return {name: options.pop(name) for name in ("term", "type") if name in options}


def _has_several_factors(formula: str) -> bool:
    """Return whether the left side of a formula is a model with several factors."""
    from discrim.design.linear_model import one_class

    return one_class(formula) is None


def manova(verb: str, options: dict[str, Any]) -> None:
    """Show the tests that all classes have the same mean, or of the terms of several factors."""
    request = _Request(options)
    deliver(_manova_summary(request), request.output)


def _manova_summary(request: _Request) -> Summary:
    """Return the summary of the tests that the options select."""
    formula = request.formula
    options = request.options
    if "distance" in options:
        summary: Summary = request.call("permanova").summary()
        return summary
    if "permutations" in options:
        source = "manova(formula, data, permutations=)"
        table = request.call("manova")
        return _four_statistics(formula, "Tests of the means, also by permutation", table, source)
    if "method" in options:
        table = request.call("manova")
        section = Section(
            "Test that the classes have one mean",
            table.drop(columns="assumes").dropna(axis=1),
            {"law": "text", "df1": "general", "df2": "general", "p": "tail"},
            note=table["assumes"].iloc[0],
            source=f'manova(formula, data, method="{options["method"]}")',
        )
        return Summary(f"Equality of means: {formula}", {"manova": section})
    if not _has_several_factors(formula):
        table = request.call("manova")
        title = "Tests that the classes have one mean"
        return _four_statistics(formula, title, table, "manova(formula, data)")
    terms = _term_options(options)
    fit = request.call("mlm")
    term = terms.get("term")
    test_type = terms.get("type", 2)
    if term is None:
        summary = fit.summary(["header", "tests", "manova"], type=test_type)
        return summary
    title = f"Tests that {term} is not needed, type {test_type}"
    return _four_statistics(
        fit.formula, title, fit.manova(term, test_type), "mlm(formula, data).manova(term)"
    )


def _four_statistics(formula: str, title: str, table: Any, source: str) -> Summary:
    """Return a summary with one table of the multivariate test statistics.

    Parameters
    ----------
    formula, title : str
    table : DataFrame
        Tests by statistic.
    source : str
        Code that computes the table.

    Returns
    -------
    Summary
    """
    table = table.rename(index=_SHORTER)
    section = Section(
        title, table, _FORMATS, headings={"F_is": "F is", "p_permutation": "p by perm."}, source=source
    )
    return Summary(f"Multivariate analysis of variance: {formula}", {"manova": section})
