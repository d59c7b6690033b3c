"""Convert numpydoc docstrings and signatures to reStructuredText."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import Any

from numpydoc.docscrape import NumpyDocString, Parameter

TITLE_PATTERN = re.compile(r"\*([^*]+?)\.?\*(?= |$)")
"""Title at the beginning of a paragraph of Notes."""


BACKTICK_PATTERN = re.compile(r"(?<![`:\w])`([^`\n]+)`(?![`_])")
"""A word in single backticks."""


def parse_docstring(thing: object) -> NumpyDocString:
    """Parse the docstring of a function or class into its sections; missing sections are empty.

    Words in single backticks become literals, except for names other than the function's parameters, which
    become links.
    """
    text = "" if thing is None else inspect.getdoc(thing) or ""
    own_parameters = set(inspect.signature(thing).parameters) if inspect.isfunction(thing) else set()

    def mark_literal(match: re.Match[str]) -> str:
        is_name = re.fullmatch(r"[A-Za-z][\w.]*(\(\))?", match[1]) and match[1] not in own_parameters
        return match[0] if is_name else f"`{match[0]}`"

    body, heading, examples = text.partition("\nExamples\n--------\n")
    return NumpyDocString(BACKTICK_PATTERN.sub(mark_literal, body) + heading + examples)


def summary_line(doc: NumpyDocString) -> str:
    """Return the first paragraph in one line."""
    return " ".join(doc["Summary"])


def heading(text: str, character: str = "=") -> str:
    """Format a heading, underlined by a character."""
    return f"{text}\n{character * len(text)}\n\n"


def block(directive: str, content: str = "", *options: str) -> str:
    """Format a directive with its options and content."""
    head = "\n".join([f".. {directive}", *(f"   {option}" for option in options)])
    return f"{head}\n\n{indent(content.rstrip(), '   ')}\n\n" if content.strip() else f"{head}\n\n"


def fold_block(line: str, content: str) -> str:
    """Format a box that opens on a click on its line, or only the line if there is no content."""
    return block(f"fold:: {line}", content) if content.strip() else f"{line}\n\n"


def boxed_block(line: str, content: str) -> str:
    """Format a framed box that opens on a click on its line; empty if there is no content."""
    return block(f"fold:: {line}", content, ":class: boxed") if content.strip() else ""


def code_block(code: str) -> str:
    """Format a block of Python code."""
    return block("code-block:: python", code)


def literal_text(value: object) -> str:
    """Format a value as Python code with double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def default_values(function: Any) -> dict[str, str]:
    """Return the defaults of the parameters as Python code, except for None."""
    each = inspect.signature(function).parameters.values()
    return {p.name: literal_text(p.default) for p in each if p.default not in (None, inspect.Parameter.empty)}


def positional_parameters(function: Any) -> str:
    """List the parameters that can be positional, and an ellipsis if there are others."""
    each = inspect.signature(function).parameters.values()
    first = [p for p in each if p.kind is not p.KEYWORD_ONLY]
    names = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in first]
    return ", ".join([*names, "..."] if len(first) < len(each) else names)


def format_signature(name: str, function: Any) -> str:
    """Format a call with all parameters, in one line if it fits and otherwise one line per parameter."""
    arguments, starred = [], False
    for each in inspect.signature(function).parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            arguments.append("*")
        starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f"={literal_text(each.default)}"
        arguments.append(f"{stars}{each.name}{default}")
    line = f"{name}({', '.join(arguments)})"
    return line if len(line) <= 80 else "\n".join([f"{name}(", *(f"    {word}," for word in arguments), ")"])


def description_list(parts: Iterable[Parameter], values: Mapping[str, str] | None = None) -> str:
    """Format parameters, results or errors as a list of names, defaults, types and descriptions."""
    values, text = values or {}, ""
    for each in parts:
        names = [name.strip() for name in each.name.split(",")] if each.name else []
        term = ", ".join(f"``{name}={values[name]}``" if name in values else f"``{name}``" for name in names)
        kind = re.sub(r"([*_|\\])(?=\s|$)", r"\\\1", each.type)
        description = "\n".join(each.desc) or ".."
        text += f"{' : '.join(filter(None, [term, kind]))}\n{indent(description, '   ')}\n\n"
    return block("rst-class:: described") + text if text else ""


def paragraphs(lines: Iterable[str]) -> list[str]:
    """Split the lines of a section into paragraphs; indented lines belong to the paragraph above."""
    parts = re.split(r"\n\n(?=\S)", "\n".join(lines).strip())
    return [part for part in parts if part]


def format_notes(doc: NumpyDocString) -> str:
    """Format the Notes with a box for each titled part."""
    text, titles = "", [(TITLE_PATTERN.match(part), part) for part in paragraphs(doc["Notes"])]
    while titles:
        title, part = titles.pop(0)
        if title is None:
            text += part + "\n\n"
            continue
        content = [part[title.end() :].strip()]
        while titles and titles[0][0] is None:
            content.append(titles.pop(0)[1])
        text += boxed_block(title[1], "\n\n".join(content))
    return text


def rubric_section(title: str, content: str) -> str:
    """Format a part of a docstring under its title; empty if it has no content."""
    return block(f"rubric:: {title}") + content if content else ""


def format_examples(doc: NumpyDocString) -> str:
    """Format the Examples."""
    return "\n".join(doc["Examples"]).strip() + "\n\n" if doc["Examples"] else ""


def format_details(name: str, function: Any) -> str:
    """Format everything after the first line of the docstring of a function."""
    doc = parse_docstring(function)
    text = (
        code_block(format_signature(name, function))
        if set(inspect.signature(function).parameters) - {"self"}
        else ""
    )
    text += "\n".join(doc["Extended Summary"]).strip() + "\n\n"
    text += rubric_section("Parameters", description_list(doc["Parameters"], default_values(function)))
    text += rubric_section("Returns", description_list(doc["Returns"]))
    for title in ("Raises", "Warns"):
        text += rubric_section(title, description_list(doc[title]))
    return (
        text + rubric_section("Notes", format_notes(doc)) + rubric_section("Examples", format_examples(doc))
    )
