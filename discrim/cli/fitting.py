"""The verbs of models: a formula and a table in, a summary out, with a picture and a file of the fit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from typing import Any

from discrim.cli.assessing import with_test
from discrim.cli.error_rates import errors_of, with_errors
from discrim.cli.given import Given, given_of
from discrim.cli.labels import labels_to_fit
from discrim.cli.output import Output, deliver, output_of, refuse_part
from discrim.cli.sources import labels_in
from discrim.cli.values import by_label, parse_prior
from discrim.errors import FormulaError, NotSupportedError

__all__ = ["of_table", "summarize", "with_prior"]


def of_table(given: Given, formulas: Sequence[str], output: Output, use: Callable[[Any], Any]) -> Any:
    """What a function makes of a table or a source, with the labels that formulas name.

    Parameters
    ----------
    given : Given
    formulas : sequence of str
    output : Output
        The files that are written, which may be no part of a source.
    use : callable
    """
    _refuse_exchanged(formulas[0], given.data)
    labels = labels_to_fit(*formulas)
    source = given.source(labels)
    if source is None:
        return use(given.table(labels))
    refuse_part(output, source)
    try:
        return use(source)
    except NotSupportedError:
        # A single file may be what goes into memory for a verb that asks for all rows.
        if not os.path.isfile(given.data):
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
    from discrim.cli.engines import engine_of

    options = dict(vars(arguments))
    name, formula = options.pop("verb"), options.pop("formula")
    given = given_of(options)
    output = output_of(options, given.data, *([options["test"]] if "test" in options else []))
    sections, errors = options.pop("sections", None), errors_of(options)
    test = Given(options.pop("test"), given.dialect) if "test" in options else None
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
