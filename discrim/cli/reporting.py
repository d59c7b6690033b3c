"""The verb report: a page of HTML on a fit, made here or saved before."""

from __future__ import annotations

import argparse
import os
from pathlib import PurePath
from typing import Any

from discrim import datasets
from discrim.cli.fitting import of_table, with_prior
from discrim.cli.given import Given, given_of
from discrim.cli.output import Output, check_place, refuse_same
from discrim.cli.typed_models import fitted, model_of
from discrim.errors import DataError

__all__ = ["report"]


def report(arguments: argparse.Namespace) -> None:
    """Write the page."""
    options = dict(vars(arguments))
    del options["verb"]
    subject, target = options.pop("reported"), options.pop("out")
    title = options.pop("title", None)
    if PurePath(target).suffix.lower() not in (".html", ".htm"):
        raise DataError(f"--out {target!r} is to be a page of HTML: name a file that ends in .html")
    check_place(target)
    refuse_same("--out", target, subject, *([options["data"]] if "data" in options else []))
    if "~" in subject and not os.path.isfile(subject):
        fit, load = _fit_of_formula(subject, target, options)
    else:
        fit, load = _saved(subject, options), None
    fit.report(target, title=title, load=load)


def _fit_of_formula(formula: str, target: str, options: dict[str, Any]) -> tuple[Any, str | None]:
    """The fit of a formula to DATA, and the code that reads DATA."""
    if "data" not in options:
        raise DataError(
            f"{formula!r} is fitted to a table: name one behind it, as in report {formula!r} iris"
        )
    model = model_of(options.pop("model", "lda"))
    given = given_of(options)

    def fit(data: Any) -> Any:
        return fitted(model, formula, data, with_prior(options, formula, data))

    return of_table(given, [formula], Output("html", path=target), fit), _code_of(given)


def _saved(path: str, options: dict[str, Any]) -> Any:
    """A fit that was saved."""
    import discrim

    for name, option in (("data", "DATA"), ("model", "--verb")):
        if name in options:
            raise DataError(f"{path!r} is a saved fit, which is reported as it is: leave {option} out")
    for name in options:
        raise DataError(f"--{name} goes with a formula that is fitted: leave it out beside a saved fit")
    fit = discrim.load(path)
    if isinstance(fit, discrim.Moments):
        raise DataError(f"{path!r} holds moments and no fit: name a file of a fit")
    return fit


def _code_of(given: Given) -> str | None:
    """How Python reads a table into memory; None of what is no single file."""
    if given.data in datasets.names():
        return f"discrim.datasets.load_{given.data}()"
    if not os.path.isfile(given.data):
        return None
    if PurePath(given.data).suffix.lower() in (".parquet", ".pq"):
        return f"pd.read_parquet({given.data!r})"
    separator, decimal = given.dialect.separator_of(given.data), given.dialect.decimal
    more = f", sep={separator!r}" if separator != "," else ""
    more += f", decimal={decimal!r}" if decimal != "." else ""
    return f"pd.read_csv({given.data!r}{more})"
