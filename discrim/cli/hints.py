"""The way out of an error as it is typed: where a message names an argument, the option of that name."""

from __future__ import annotations

import argparse
import re
from collections.abc import Container

__all__ = ["with_options"]

_ARGUMENT = re.compile(r"""\b([a-z_]+)=(True|False|'[^']*'|"[^"]*"|[0-9][0-9.]*\b)""")


def with_options(message: object, parser: argparse.ArgumentParser, typed: Container[str]) -> str:
    """A message, and the options of a parser for the arguments that it says to pass.

    Parameters
    ----------
    message : object
        An error.
    parser : ArgumentParser
        Of the verb.
    typed : container of str
        Names of the arguments that were typed, which are what is at fault.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--bias-reduction", action="store_true")
    >>> with_options("There is no maximum. Pass bias_reduction=True.", parser, ())
    'There is no maximum. Pass bias_reduction=True. Typed as --bias-reduction.'
    """
    options = {action.dest: action for action in parser._actions if action.option_strings}
    found: dict[str, None] = {}
    for name, value in _ARGUMENT.findall(str(message)):
        action = options.get(name)
        if action is None or name in typed:
            continue
        if action.nargs == 0:
            if action.const is (value == "True"):
                found[action.option_strings[0]] = None
        else:
            bare = value.strip("'\"")
            if action.choices is None or bare in action.choices:
                found[f"{action.option_strings[0]} {bare}"] = None
    text = str(message)
    return f"{text} Typed as {' or '.join(found)}." if found else text
