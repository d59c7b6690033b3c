"""The verbs stepwise, canonical and manova."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from discrim.cli.error_rates import errors_of, with_errors
from discrim.cli.fitting import of_table, with_prior
from discrim.cli.given import Given, given_of
from discrim.cli.output import Output, deliver, output_of
from discrim.cli.typed_models import model_of
from discrim.errors import DataError

if TYPE_CHECKING:
    from discrim.report.tables import Summary

__all__ = ["canonical", "manova", "stepwise"]

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
    given: Given,
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
    from discrim.report.tables import Section, Summary

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
    from discrim.report.tables import Section, Summary

    if term is None:
        summary: Summary = fit.summary(["header", "tests", "manova"], type=type)
        return summary
    table = fit.manova(term, type).rename(index=_SHORTER)
    title = f"Tests that {term} is not needed, type {type}"
    section = Section(
        title, table, _FORMATS, headings={"F_is": "F is"}, source="mlm(formula, data).manova(term)"
    )
    return Summary(f"Multivariate analysis of variance: {fit.formula}", {"manova": section})
