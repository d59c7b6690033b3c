"""The options that verbs share, in the groups that their help has."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from discrim.cli.values import PRIOR_HELP, fold_count, names, separator, text_width

__all__ = [
    "add_counting",
    "add_errors",
    "add_fitted",
    "add_reading",
    "add_saving",
    "add_shown",
    "add_test",
    "add_written",
]

FITTED, READ, SHOWN, WRITTEN = "what is fitted", "how DATA is read", "what is shown", "what is written"


def add_fitted(verb: argparse.ArgumentParser, formula: bool = True) -> Any:
    """Add formula, table and what is done with missing values; give the group."""
    group = verb.add_argument_group(FITTED)
    if formula:
        group.add_argument("formula", metavar="FORMULA", help='classes ~ columns, as "species ~ ."; quote it')
    group.add_argument("data", metavar="DATA", help="name of a table, file, folder or pattern; see below")
    group.add_argument("--na", dest="na_action", choices=["drop", "raise"], help="rows with missing values")
    return group


def add_counting(group: Any, *, posteriors: bool, weights: bool) -> None:
    """Add the prior and the weights of rows, where the model has them."""
    if posteriors:
        group.add_argument("--prior", help=PRIOR_HELP)
    if weights:
        group.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")


def add_reading(verb: argparse.ArgumentParser) -> None:
    """Add how CSV is written."""
    group = verb.add_argument_group(READ)
    group.add_argument(
        "--sep",
        type=separator,
        metavar="SIGN",
        help="between the fields of CSV: a comma if not given; ; or tab",
    )
    group.add_argument(
        "--decimal",
        choices=[".", ","],
        metavar="SIGN",
        help="decimal sign of its numbers: a point if not given",
    )


def add_shown(verb: argparse.ArgumentParser, *, sections: bool = True) -> Any:
    """Add what of a summary is shown, and how; give the group."""
    group = verb.add_argument_group(SHOWN)
    if sections:
        group.add_argument(
            "--sections", type=names, metavar="NAME,...", help="only these parts of the summary"
        )
    group.add_argument(
        "--format",
        choices=["text", "html", "latex", "markdown"],
        help="text if not given; html is a whole page",
    )
    group.add_argument(
        "--width", type=text_width, metavar="N", help="columns of text: those of the terminal, or 100"
    )
    return group


def add_errors(group: Any) -> None:
    """Add error rates beside a summary; a verb that deals rows to folds itself has options for that."""
    group.add_argument(
        "--errors",
        type=names,
        metavar="METHOD,...",
        help="add error rates: apparent, loo, cv, 632+, posterior, ...",
    )
    with suppress(argparse.ArgumentError):
        group.add_argument(
            "--folds", dest="error_folds", type=fold_count, metavar="N", help="folds of --errors cv"
        )
    with suppress(argparse.ArgumentError):
        group.add_argument(
            "--seed", dest="error_seed", type=int, metavar="N", help="deals the rows of --errors cv and 632+"
        )


def add_test(group: Any) -> None:
    """Add rows that a fit has not seen, and that say how good it is."""
    group.add_argument(
        "--test",
        metavar="TABLE",
        help="add what the rows of another table, with their classes, say of the fit: as discrim assess",
    )


def add_written(verb: argparse.ArgumentParser, pictures: Sequence[str] = (), *, planes: bool = True) -> Any:
    """Add the files that are written, with the kinds of pictures that there are; give the group.

    Some pictures are of columns or axes that may be named, unless it is said that none is.
    """
    group = verb.add_argument_group(WRITTEN)
    group.add_argument(
        "--output",
        metavar="FILE",
        help="the summary, and not to standard output; .html, .tex and .md say its format",
    )
    if pictures:
        group.add_argument("--plot", metavar="FILE", help="a picture: .png, .svg or .pdf")
        group.add_argument(
            "--kind", choices=pictures, metavar="NAME", help=f"what --plot draws: {', '.join(pictures)}"
        )
    if pictures and planes:
        group.add_argument(
            "--columns",
            type=names,
            metavar="NAME,...",
            help="columns that --plot draws, of kinds that take some",
        )
        group.add_argument(
            "--axes", type=names, metavar="NAME,NAME", help="axes that --plot draws, such as LD1,LD3"
        )
    return group


def add_saving(group: Any) -> None:
    """Add the file of a fit."""
    group.add_argument("--save", metavar="FILE", help="the fit, for discrim predict")
    group.add_argument("--force", action="store_true", help="let --save replace a file that is no fit")
