"""Validation of the values of options: words, numbers, flags and grids.

Verbs and specifications use these functions, because the same mistake should cause the same message
everywhere. Every function raises a `DataError` that names the option, the value and the allowed values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, get_args

import numpy as np

from discrim.data.values import format_value
from discrim.errors import MAX_FLOAT, DataError, format_argument


def join_labels(labels: Any, max_labels: int = 6) -> str:
    """Join labels for a message, text in quotes: the first `max_labels`, and the number of the others."""
    listed = list(labels)
    text = ", ".join(format_value(label) for label in listed[:max_labels])
    return text if len(listed) <= max_labels else f"{text} and {len(listed) - max_labels} more"


def check_word(name: str, value: Any, allowed_words: Any, *, optional: bool = False) -> None:
    """Raise a DataError if an option is not one of some words.

    Parameters
    ----------
    name : str
        Name of the option.
    value : object
        Its value.
    allowed_words : tuple of str, or Literal
        The allowed words.
    optional : bool
        Whether None is allowed.
    """
    if optional and value is None:
        return
    allowed: tuple[str, ...] = allowed_words if isinstance(allowed_words, tuple) else get_args(allowed_words)
    if not (isinstance(value, str) and value in allowed):
        close_matches = get_close_matches(value, allowed, n=1, cutoff=0.6) if isinstance(value, str) else []
        hint = f" Did you mean {close_matches[0]!r}?" if close_matches else ""
        if hasattr(value, "_fit"):
            hint = " To compare fits, use compare()."
        raise DataError(
            f"{name}={format_argument(value)} is not known.",
            hint=f"Use one of {join_labels(allowed, len(allowed))}.{hint}",
        )


def is_number(value: Any) -> bool:
    """Return whether a value is a number, including NaN and infinity.

    Booleans, and integers whose absolute value exceeds `MAX_FLOAT`, are not numbers.
    """
    number = (int, float, np.integer, np.floating)
    large = isinstance(value, int) and abs(value) > MAX_FLOAT
    return isinstance(value, number) and not (isinstance(value, bool) or large)


def check_flag(name: str, value: Any) -> None:
    """Raise a DataError if an option is neither True nor False, also of NumPy."""
    if not isinstance(value, bool | np.bool_):
        raise DataError(f"{name}={format_argument(value)} is not valid.", hint="Pass True or False.")


def is_proportion(value: Any) -> bool:
    """Return whether a value is a number strictly between 0 and 1, such as a confidence level."""
    return is_number(value) and 0 < value < 1


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer; booleans are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = np.inf,
    *,
    ends: str = "[]",
    description: str = "a number",
    also: str = "",
) -> float:
    """Return an option as a float, or raise a DataError if it is not a finite number in a range.

    Parameters
    ----------
    name : str
        Name of the option.
    value : object
    low, high : float
        Ends of the range.
    ends : {"[]", "()", "(]", "[)"}
        Whether low and high themselves are in the range.
    description : str
        Description of the number in the hint, which is "Pass {description} {range}{also}."
    also : str
        Other values that the option accepts, for the hint; it begins with a punctuation mark.

    Returns
    -------
    float
    """
    if not (is_number(value) and in_range(value, low, high, ends)):
        raise DataError(
            f"{name}={format_argument(value)} is not valid.",
            hint=f"Pass {description} {describe_range(low, high, ends)}{also}.",
        )
    return float(value)


def check_integer(
    name: str,
    value: Any,
    low: int,
    high: int | None = None,
    *,
    description: str = "a whole number",
    also: str = "",
) -> int:
    """Return an option as an integer, or raise a DataError if it is not one from low to high.

    Parameters
    ----------
    name : str
        Name of the option.
    value : object
    low : int
        Smallest allowed value.
    high : int or None
        Largest allowed value; None for no upper limit.
    description, also : str
        See `check_number`.

    Returns
    -------
    int
    """
    if not (is_integer(value) and low <= value and (high is None or value <= high)):
        range_text = describe_range(low, np.inf if high is None else high)
        raise DataError(
            f"{name}={format_argument(value)} is not valid.", hint=f"Pass {description} {range_text}{also}."
        )
    return int(value)


def check_grid(
    grid: Any,
    one: str,
    low: float,
    high: float = np.inf,
    *,
    ends: str = "[]",
    integers_only: bool = False,
    description: str = "numbers",
    also: str = "",
) -> list[Any]:
    """Validate the option `grid`, and return its candidates in increasing order, each once.

    Parameters
    ----------
    grid : iterable of numbers
        Value of the option.
    one : str
        Description of one candidate in messages, without an article, such as "strength".
    low, high : float
        Ends of the range of candidates.
    ends : {"[]", "()", "(]", "[)"}
        Whether low and high themselves are in the range.
    integers_only : bool
        Whether candidates have to be integers.
    description : str
        Description of all candidates in messages.
    also : str
        Other values that the option accepts, for messages; it begins with a punctuation mark.

    Returns
    -------
    list of int or float

    Raises
    ------
    DataError
        The grid is not iterable, is empty, or has a candidate outside the range.
    """
    valid_values = f"{description} {describe_range(low, high, ends)}{also}"
    if isinstance(grid, str) or not isinstance(grid, Iterable):
        raise DataError(f"grid={format_argument(grid)} is not valid.", hint=f"Pass a list of {valid_values}.")
    values = list(grid)
    is_valid_type = is_integer if integers_only else is_number
    invalid = [value for value in values if not (is_valid_type(value) and in_range(value, low, high, ends))]
    if invalid or not values:
        problem = "the grid is empty"
        if invalid:
            problem = f"{format_argument(invalid[0])} is not a valid {one}"
        first_values = ", ".join(map(format_argument, values[:6])) + ", ..." * (len(values) > 6)
        raise DataError(f"grid=[{first_values}]: {problem}.", hint=f"Pass {valid_values}.")
    return sorted({int(value) if integers_only else float(value) for value in values})


def in_range(value: float, low: float, high: float, ends: str = "[]") -> bool:
    """Return whether a number is finite and in a range; see `check_number` for `ends`."""
    above = low <= value if ends[0] == "[" else low < value
    return above and value <= sys.float_info.max and (value <= high if ends[1] == "]" else value < high)


def describe_range(low: float, high: float, ends: str = "[]") -> str:
    """Describe a range, such as "from 0 to 1", "above 0" or "of at least 1".

    Parameters
    ----------
    low, high : float
        Ends of the range; `high` may be infinite.
    ends : {"[]", "()", "(]", "[)"}
        See `check_number`.

    Returns
    -------
    str
    """
    first, last = (f"{end:,}" if isinstance(end, int) else f"{end:g}" for end in (low, high))
    if high == np.inf:
        return f"of at least {first}" if ends[0] == "[" else f"above {first}"
    return {
        "[]": f"from {first} to {last}",
        "()": f"between {first} and {last}",
        "[)": f"of at least {first} and below {last}",
        "(]": f"above {first} and at most {last}",
    }[ends]
