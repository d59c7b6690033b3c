"""Render numpydoc docstrings and signatures as reStructuredText."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from textwrap import indent
from typing import Any

from jinja2 import Template
from numpydoc.docscrape_sphinx import SphinxDocString

SECTIONS = (
    "summary", "extended_summary", "parameters", "returns", "raises", "warns",
    "see_also", "examples", "notes",
)  # fmt: skip
"""Sections of a docstring in the order of a page. Attributes and methods have tables of their own."""

CONFIG = {"template": Template("\n".join(f"{{{{ {section} }}}}" for section in SECTIONS))}

BACKTICK_PATTERN = re.compile(r"(?<![`:\w])`([^`\n]+)`(?![`_])")
"""A word in single backticks."""


def parse_docstring(thing: Any) -> SphinxDocString:
    """Parse the docstring of an object into its sections; `str()` of the result is reStructuredText.

    Words in single backticks become literals, except for names other than the function's parameters, which
    become links.
    """
    parameters = set(inspect.signature(thing).parameters) if inspect.isfunction(thing) else set()

    def mark_literal(match: re.Match[str]) -> str:
        is_name = re.fullmatch(r"[A-Za-z][\w.]*(\(\))?", match[1]) and match[1] not in parameters
        return match[0] if is_name else f"`{match[0]}`"

    body, heading_lines, examples = (inspect.getdoc(thing) or "").partition("\nExamples\n--------\n")
    return SphinxDocString(BACKTICK_PATTERN.sub(mark_literal, body) + heading_lines + examples, CONFIG)


def summary_line(doc: SphinxDocString) -> str:
    """Return the first paragraph in one line."""
    return " ".join(doc["Summary"])


def link_types(doc: SphinxDocString, targets: Mapping[str, str]) -> None:
    """Turn the types of parameters, return values and errors into links, in place.

    Parameters
    ----------
    doc : SphinxDocString
    targets : dict of str to str
        Full names of classes by the names that docstrings use.
    """
    pattern = re.compile(rf"\b({'|'.join(targets)})\b")
    for section in ("Parameters", "Returns", "Raises", "Warns"):
        doc[section] = [
            part._replace(
                type=pattern.sub(lambda name: f":py:obj:`{name[1]} <{targets[name[1]]}>`", part.type)
            )
            for part in doc[section]
        ]


def signature_text(function: Any) -> str:
    """Return the parameters of a function, method or class with their defaults and without annotations."""
    parameters = inspect.signature(function).parameters.values()
    shown = [each.replace(annotation=each.empty) for each in parameters if each.name != "self"]
    return str(inspect.Signature(shown))


def heading(text: str, character: str = "=") -> str:
    """Format a heading, underlined by a character."""
    return f"{text}\n{character * len(text)}\n\n"


def block(directive: str, content: str = "", *options: str) -> str:
    """Format a directive with its options and content."""
    head = "\n".join([f".. {directive}", *(f"   {option}" for option in options)])
    content = indent(content.strip("\n").rstrip(), "   ")
    return f"{head}\n\n{content}\n\n" if content else f"{head}\n\n"
