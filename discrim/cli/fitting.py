"""The verbs of models: a formula and a table in, a summary out, and a file of the fit."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from errno import EINVAL, EISDIR, ENOENT
from functools import partial
from pathlib import Path
from typing import Any

from discrim.cli.labels import labels_to_fit
from discrim.cli.reading import read_table
from discrim.cli.sources import labels_in, source_given
from discrim.cli.values import by_label, parse_prior
from discrim.errors import DataError, DiscrimError, NotAFitError, NotSupportedError

__all__ = ["summarize"]


def summarize(arguments: argparse.Namespace) -> tuple[str, Callable[[], None]]:
    """Fit what the arguments ask for, render its summary, and give what saves it."""
    options = dict(vars(arguments))
    verb, formula = options.pop("verb"), options.pop("formula")
    target, force = options.pop("save", None), options.pop("force", False)
    if target is not None:
        _check_target(target, force)
    given, style, sections = options.pop("data"), options.pop("format"), options.pop("sections", None)
    if "prior" in options:
        options["prior"] = parse_prior(options["prior"])
    labels = labels_to_fit(formula)
    source = source_given(given, labels)
    try:
        fit = _fitted(verb, formula, read_table(given, labels) if source is None else source, options)
    except NotSupportedError:
        # A single file may be what goes into memory for a verb that asks for all rows.
        if source is None or not os.path.isfile(given):
            raise
        fit = _fitted(verb, formula, read_table(given, labels), options)
    summary = fit.summary() if sections is None else fit.summary(sections=sections)
    text = str(getattr(summary, f"as_{style}")())
    return text, _nothing if target is None else partial(fit.save, target)


def _fitted(verb: str, formula: str, data: Any, options: dict[str, Any]) -> Any:
    """Fit a verb to a table or a source."""
    import discrim

    own = dict(options)
    if "prior" in own:
        own["prior"] = _classes_as_typed(own["prior"], formula, data)
    return getattr(discrim, verb.replace("-", "_"))(formula, data=data, **own)


def _nothing() -> None:
    """Save no fit."""


def _classes_as_typed(prior: Any, formula: str, data: Any) -> Any:
    """Give a prior by class the labels of the response column, which need not be text."""
    response = formula.partition("~")[0].strip().strip("`")
    columns = getattr(data, "columns", None)
    if not isinstance(prior, dict) or response not in (data.names if columns is None else columns):
        return prior
    return by_label(prior, labels_in(data, response) if columns is None else data[response].unique())


def _check_target(target: str, force: bool) -> None:
    """Raise where a fit may not be written, before time is spent on it."""
    import discrim

    place = Path(target)
    if not place.parent.is_dir():
        raise FileNotFoundError(
            ENOENT, "There is no such folder: make it, or name another", str(place.parent)
        )
    # What ends in a separator is a folder, though pathlib drops it.
    if place.is_dir() or target.endswith(("/", os.sep)):
        raise IsADirectoryError(EISDIR, "This is a folder: name a file in it", target)
    if place.exists() and not place.is_file():
        raise OSError(EINVAL, "This is a device, a pipe or a socket: name a file", target)
    try:
        held = discrim.load(target)
        if isinstance(held, discrim.Moments) and not force:
            raise NotAFitError(f"{target!r} holds moments and no fit")
    except NotAFitError:
        if not force:
            raise DataError(
                f"{target!r} is there and is no saved fit: name another file to --save to, or give --force "
                "to replace it"
            ) from None
    except DiscrimError:
        # There is none yet, or a fit that is damaged or of a later version, which may be replaced.
        pass
