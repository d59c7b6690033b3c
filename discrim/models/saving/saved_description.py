"""The description in a file of a fit, checked: its options, columns and counts are those that a fit has."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, get_args

from discrim.core.robust.robust import ROBUST
from discrim.core.shrinkage.shrinkage import Chosen, Structure
from discrim.frame.design import Design
from discrim.models.fits.fit import Selection
from discrim.models.saving.tensor_file import damaged

__all__ = ["MOST_ROWS", "check_description", "check_values", "names_left_out", "selection_of"]

MOST_ROWS = 2**53
"""Rows that a file may say were left out."""

MOST_WORDS = 200
"""Characters of what a file says of the choice of its columns."""

_LONE = re.compile("[\ud800-\udfff]")
"""Halves of a pair that stand alone, which no text of Unicode holds."""

_WITHIN_ONE = ("alpha", "gamma", "l1_ratio")
_FROM_ZERO = ("threshold", "smoothing", "laplace", "strength")


def check_values(path: Any, about: Any) -> None:
    """Raise a DataError for a number or a text that no description holds, wherever it stands.

    JSON has room for infinite numbers, for whole numbers of any length, and for text that cannot be printed.
    """
    rest = [about]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest.extend(value)
            rest.extend(value.values())
        elif isinstance(value, list):
            if not _is_harmless(value):
                rest.extend(value)
        elif isinstance(value, str):
            if _LONE.search(value):
                raise damaged(path, f"{value[:40]!r} is no text of Unicode")
        elif isinstance(value, float) and not math.isfinite(value):
            raise damaged(path, f"its description holds {value}, which is no finite number")
        elif isinstance(value, int) and abs(value) >= 2**1023:
            raise damaged(path, "its description holds a whole number beyond all doubles")


def _is_harmless(values: list[Any]) -> bool:
    """Whether nothing of a list can be refused, as is seen at once of the long ones of names and numbers."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return all(map(str.isascii, values))
    if kinds == {int}:
        return bool(-(2**53) < min(values) <= max(values) < 2**53)
    return kinds == {float} and all(map(math.isfinite, values))


def check_description(
    path: Any,
    options: Any,
    kinds: Mapping[str, tuple[type, ...]],
    design: Design,
    keep: Any,
    dropped: Any,
    weighted: Any,
    *,
    robust: bool,
) -> None:
    """Raise a DataError unless options, columns kept and counts are of the kinds that `save` writes.

    Parameters
    ----------
    path : path-like
        What to call the file in a message.
    options : Any
    kinds : dict of str to tuple of type
        The options of the model, and the types that each may have.
    design : Design
    keep, dropped, weighted : Any
    robust : bool
        Whether the model has robust methods.
    """
    if not isinstance(options, dict):
        raise damaged(path, "its options are not those of the model")
    for key in sorted(set(options) ^ set(kinds)):
        if key in kinds:
            raise damaged(path, f"{key!r} is missing among its options")
        way_out = "Update discrim if a later version wrote it, or fit the table again"
        raise damaged(path, f"it has the option {key!r}, which this version does not know", way_out)
    for key, known in kinds.items():
        if type(options[key]) not in known:
            raise damaged(path, f"its option {key!r} is {_shown(options[key])}")
    for key in sorted(options):
        if not _is_option(key, options[key], design, robust=robust):
            raise damaged(path, f"its {key} is {_shown(options[key])}")
    if keep is not None:
        whole = isinstance(keep, list) and all(type(j) is int for j in keep)
        if (
            not whole
            or sorted(set(keep)) != keep
            or not keep
            or not 0 <= keep[0] <= keep[-1] < len(design.terms)
        ):
            raise damaged(path, "the columns it keeps are not those of its design")
    if type(dropped) is not int or not 0 <= dropped <= MOST_ROWS or type(weighted) is not bool:
        raise damaged(path, "its counts of rows are no counts")
    if len(design.levels) < 2:
        raise damaged(path, f"it has {len(design.levels)} classes, where two or more are read")


def selection_of(path: Any, words: Any) -> Selection | None:
    """How the rows chose the columns, as a file has it in words; None where it has nothing.

    Raises
    ------
    DataError
        The words are no text, or no words that `save` writes.
    """
    if words is None:
        return None
    if not isinstance(words, str) or not 0 < len(words) <= MOST_WORDS or not words.isprintable():
        raise damaged(path, f"its choice of columns is {_shown(words)}")
    return Selection(words)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_option(key: str, value: Any, design: Design, *, robust: bool) -> bool:
    """Whether an option, which is of the right type, has a value that its verb takes."""
    if key in _WITHIN_ONE:
        return bool(0 <= value <= 1)
    if key in _FROM_ZERO:
        return bool(0 <= value < math.inf)
    match key:
        case "parametrization":
            return value in ("esl", "friedman", "klar")
        case "penalty":
            return value in ("ridge", "lasso", "elastic_net")
        case "cv":
            return value in (None, "loo") or (isinstance(value, int) and value >= 2)
        case "select":
            return value in ("min", "1se")
        case "method":
            return value in ("moment", "mle", *(ROBUST if robust else ()))
        case "structure":
            return value in get_args(Structure)
        case "chosen":
            return value is None or value in get_args(Chosen)
        case "offset":
            return value == "median" or (isinstance(value, float) and 0 <= value < math.inf)
        case "reference":
            return bool(0 <= value < len(design.levels))
        case "ncomp":
            return value is None or bool(1 <= value < len(design.levels))
        case "step":
            return bool(1e-300 <= value <= 1e200)
        case "seed":
            return value is None or bool(value >= 0)
    return True


def names_left_out(path: Any, found: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the columns that a fit has left out: constant ones, and collinear ones."""
    right = isinstance(found, dict) and set(found) == {"constant", "collinear"}
    lists = list(found.values()) if right else []
    if not right or not all(isinstance(x, list) and all(isinstance(t, str) for t in x) for x in lists):
        raise damaged(path, "the columns it left out are no lists of names")
    return tuple(found["constant"]), tuple(found["collinear"])
