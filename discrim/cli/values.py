"""How the values of options are written: numbers, words, lists and priors."""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from typing import Any

from discrim.errors import PriorError

PRIOR_HELP = "equal; or CLASS=P,CLASS=P,...; or P,P,... in the order of the classes; P may be 1/3"

NARROWEST = 40
"""Columns of a text below which its numbers no longer stand beside their labels."""


def folds(text: str) -> int | str:
    """A number of folds, or the word for leaving out one row at a time."""
    try:
        return int(text)
    except ValueError:
        return text


def fold_count(text: str) -> int:
    """A number of folds or repeats."""
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of folds: give a whole one, such as 10")
    return found


def separator(text: str) -> str:
    """The sign between two fields of a line, for which tab may be written."""
    found = "\t" if text.lower() in ("tab", "\\t") else text
    if len(found) != 1 or found in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is no sign between fields: give one, such as ';', or tab")
    return found


def text_width(text: str) -> int:
    """Columns of a text."""
    try:
        found = int(text)
    except ValueError:
        found = 0
    if found < NARROWEST:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no number of columns: give a whole one, {NARROWEST} or more"
        )
    return found


def degrees(text: str) -> float | None:
    """Degrees of freedom; None where they are to be estimated."""
    try:
        return None if text == "estimate" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor estimate: give one of them"
        ) from None


def names(text: str) -> list[str]:
    """Names set apart by commas."""
    return [name.strip() for name in text.split(",")]


def columns(text: str) -> list[str] | bool:
    """Names of columns, or all of them."""
    return True if text.strip() == "all" else names(text)


def bandwidth(text: str) -> str | float:
    """A bandwidth, or the name of the rule that gives one."""
    try:
        return float(text)
    except ValueError:
        return text


def components(text: str) -> int | str:
    """A number of components, or bic."""
    try:
        return text if text == "bic" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a whole number nor bic: give one of them"
        ) from None


def dimensions(text: str) -> int | str:
    """A number of dimensions, cattell or bic."""
    try:
        return text if text in ("cattell", "bic") else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a whole number nor cattell or bic: give one of them"
        ) from None


def offset(text: str) -> float | str:
    """A number, or median."""
    try:
        return text if text == "median" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a number nor median: give one of them"
        ) from None


def numbers(text: str) -> list[float]:
    """Numbers set apart by commas."""
    try:
        return [float(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers, such as 0,0.1,0.5") from None


def planes(text: str) -> list[float] | list[list[float]]:
    """Coefficients of a plane, set apart by commas, or of several, set apart by semicolons."""
    found = [numbers(plane) for plane in text.split(";")]
    return found[0] if len(found) == 1 else found


def whole_numbers(text: str) -> list[int]:
    """Whole numbers set apart by commas."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of whole numbers, such as 1,3,5") from None


def number_or_word(text: str) -> float | str:
    """A number where it is one."""
    try:
        return float(text)
    except ValueError:
        return text


def parse_prior(text: str) -> str | dict[str, float] | list[float]:
    """Read a prior as it is typed on the command line.

    Parameters
    ----------
    text : str
        ``equal``, ``class=number,...`` or ``number,...``; a number may be a fraction.

    Raises
    ------
    PriorError
        A part is not a number, a class is named twice, or some parts name a class and some do not.

    Examples
    --------
    >>> parse_prior("setosa=1/2,versicolor=.25,virginica=.25")
    {'setosa': 0.5, 'versicolor': 0.25, 'virginica': 0.25}
    >>> parse_prior("1/3,1/3,1/3")
    [0.3333333333333333, 0.3333333333333333, 0.3333333333333333]
    """
    if text.strip() == "equal":
        return "equal"
    parts = text.split(",")
    named = ["=" in part for part in parts]
    if not any(named):
        return [_probability(part, text) for part in parts]
    if not all(named):
        part = parts[named.index(False)]
        raise PriorError(f"prior {text!r}: {part!r} names no class; write it as CLASS=P")
    prior: dict[str, float] = {}
    for part in parts:
        label, _, number = part.rpartition("=")
        label = label.strip()
        if label in prior:
            raise PriorError(f"prior {text!r}: class {label!r} is named twice; name each class once")
        prior[label] = _probability(number, text)
    return prior


def _probability(number: str, text: str) -> float:
    try:
        # A fraction of two integers is exact; of one number with an exponent it would have all of its digits.
        value = float(Fraction(number.strip()) if "/" in number else number)
    except (ValueError, ArithmeticError):
        value = math.nan
    if not math.isfinite(value):
        raise PriorError(f"prior {text!r}: {number.strip()!r} is not a number; write {PRIOR_HELP}")
    return value


def by_label(prior: Any, labels: Any) -> Any:
    """Name the classes of a prior by their labels, of which the command line has the text."""
    if not isinstance(prior, dict):
        return prior
    label_of = {str(label): label for label in labels}
    return {label_of.get(name, name): value for name, value in prior.items()}
