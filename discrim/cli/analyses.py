"""The verbs stepwise, canonical and manova."""

from __future__ import annotations

import argparse
from typing import Any

from discrim.cli.error_rates import errors_of, with_errors
from discrim.cli.fitting import of_table, with_prior
from discrim.cli.given import given_of
from discrim.cli.output import deliver, output_of
from discrim.cli.typed_models import model_of

__all__ = ["canonical", "manova", "stepwise"]

_SHORTER = {"Hotelling-Lawley trace": "Hotelling-Lawley", "Hotelling-Lawley trace, McKeon": "H-L, McKeon's F"}
"""Labels that a terminal of sixty columns has room for."""


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


def manova(arguments: argparse.Namespace) -> None:
    """Show the tests that the classes have one mean."""
    import discrim
    from discrim.report.tables import Section, Summary

    options = dict(vars(arguments))
    del options["verb"]
    formula, given = options.pop("formula"), given_of(options)
    output = output_of(options, given.data)
    table = of_table(given, [formula], output, lambda data: discrim.manova(formula, data, **options))
    formats: dict[Any, Any] = {"F": "z", "df1": "general", "df2": "general", "p": "tail", "F_is": "text"}
    table = table.rename(index=_SHORTER)
    section = Section(
        "Tests that the classes have one mean",
        table,
        formats,
        headings={"F_is": "F is"},
        source="manova(formula, data)",
    )
    deliver(Summary(f"Multivariate analysis of variance: {formula}", {"manova": section}), output)
