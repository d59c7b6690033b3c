"""The verb assess, and --test beside a summary: what rows of known class say of a fit."""

from __future__ import annotations

import argparse
from typing import Any

from discrim.cli.given import Given, given_of
from discrim.cli.labels import labels_of_fit
from discrim.cli.output import deliver, output_of
from discrim.cli.values import by_label, parse_prior
from discrim.errors import DataError

__all__ = ["assess", "with_test"]


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


def with_test(summary: Any, fit: Any, test: Given | None) -> Any:
    """A summary, and behind it what the rows of a table say of the fit."""
    if test is None:
        return summary
    found = _assessed(fit, test, {}).summary()
    return summary.followed(found, "test_", f"Test rows: {test.data}")


def _assessed(fit: Any, given: Given, options: dict[str, Any]) -> Any:
    labels = labels_of_fit(fit, whole=False)
    source = given.source(labels)
    return fit.assess(given.table(labels) if source is None else source, **options)
