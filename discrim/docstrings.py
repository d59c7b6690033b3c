"""Extraction of parameter descriptions from numpydoc docstrings, for the command line and the estimators."""

from __future__ import annotations

import inspect
import re

NEXT_SECTION = re.compile(r"\n\n[A-Z][^\n]*\n-+\n")
"""Start of the section after another one."""

PARAMETERS = re.compile(
    rf"^Parameters\n-+\n(?P<entries>.*?)(?={NEXT_SECTION.pattern}|\Z)", re.DOTALL | re.MULTILINE
)
"""The section of the parameters, in a docstring without indentation."""


def parameter_entries(docstring: str | None) -> dict[str, str]:
    r"""Return the entries of the Parameters section of a docstring.

    The keys are the names before the colon, such as "a, b" for an entry of two parameters.

    Examples
    --------
    >>> parameter_entries("Add.\n\nParameters\n----------\na, b : int\n    Numbers.")
    {'a, b': 'a, b : int\n    Numbers.'}
    """
    section = PARAMETERS.search(inspect.cleandoc(docstring or ""))
    entries = re.split(r"\n(?=\S)", section["entries"].strip()) if section else []
    return {entry.partition("\n")[0].partition(" : ")[0].strip(): entry for entry in entries}
