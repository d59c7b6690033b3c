"""Docstrings of numpydoc's form, and signatures, as text that Sphinx reads."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from textwrap import indent
from typing import Any

from numpydoc.docscrape import NumpyDocString, Parameter

TITLED = re.compile(r"\*([^*]+?)\.?\*(?= |$)")
"""How a paragraph of Notes begins that has a title."""


MARKED = re.compile(r"(?<![`:\w])`([^`\n]+)`(?![`_])")
"""A word between single backticks."""


def parsed(thing: object) -> NumpyDocString:
    """The docstring of a function or class by its sections, which are empty where there is nothing.

    Of the words in single backticks those stay so, and become links, that may be names of something else.
    """
    text = "" if thing is None else inspect.getdoc(thing) or ""
    own = set(inspect.signature(thing).parameters) if inspect.isfunction(thing) else set()

    def literal(found: re.Match[str]) -> str:
        is_name = re.fullmatch(r"[A-Za-z][\w.]*(\(\))?", found[1]) and found[1] not in own
        return found[0] if is_name else f"`{found[0]}`"

    said, heading, shown = text.partition("\nExamples\n--------\n")
    return NumpyDocString(MARKED.sub(literal, said) + heading + shown)


def summary(doc: NumpyDocString) -> str:
    """Its first paragraph, in a line."""
    return " ".join(doc["Summary"])


def titled(text: str, under: str = "=") -> str:
    """A heading."""
    return f"{text}\n{under * len(text)}\n\n"


def block(directive: str, content: str = "", *options: str) -> str:
    """A directive with its content."""
    head = "\n".join([f".. {directive}", *(f"   {option}" for option in options)])
    return f"{head}\n\n{indent(content.rstrip(), '   ')}\n\n" if content.strip() else f"{head}\n\n"


def fold(line: str, content: str) -> str:
    """What opens when its line is clicked; the line alone where there is no more."""
    return block(f"fold:: {line}", content) if content.strip() else f"{line}\n\n"


def boxed(line: str, content: str) -> str:
    """The same in a frame, and nothing where there is no more."""
    return block(f"fold:: {line}", content, ":class: boxed") if content.strip() else ""


def python(code: str) -> str:
    """Code, as it is set."""
    return block("code-block:: python", code)


def typed(value: object) -> str:
    """A value as one types it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def defaults(function: Any) -> dict[str, str]:
    """Defaults of the parameters, but None, as one types them."""
    each = inspect.signature(function).parameters.values()
    return {p.name: typed(p.default) for p in each if p.default not in (None, inspect.Parameter.empty)}


def first_parameters(function: Any) -> str:
    """The parameters that need no name, and a sign that there are more."""
    each = inspect.signature(function).parameters.values()
    first = [p for p in each if p.kind is not p.KEYWORD_ONLY]
    names = [f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name for p in first]
    return ", ".join([*names, "..."] if len(first) < len(each) else names)


def call(name: str, function: Any) -> str:
    """A call with all parameters: in a line where there is room, else one a line."""
    words, starred = [], False
    for each in inspect.signature(function).parameters.values():
        if each.name == "self":
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            words.append("*")
        starred = starred or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        default = "" if each.default is each.empty else f"={typed(each.default)}"
        words.append(f"{stars}{each.name}{default}")
    line = f"{name}({', '.join(words)})"
    return line if len(line) <= 80 else "\n".join([f"{name}(", *(f"    {word}," for word in words), ")"])


def described(parts: Iterable[Parameter], values: Mapping[str, str] | None = None) -> str:
    """Parameters, results or errors as a list: name, default and type, and what is said of them."""
    values, text = values or {}, ""
    for each in parts:
        names = [name.strip() for name in each.name.split(",")] if each.name else []
        term = ", ".join(f"``{name}={values[name]}``" if name in values else f"``{name}``" for name in names)
        kind = re.sub(r"([*_|\\])(?=\s|$)", r"\\\1", each.type)
        said = "\n".join(each.desc) or ".."
        text += f"{' : '.join(filter(None, [term, kind]))}\n{indent(said, '   ')}\n\n"
    return block("rst-class:: described") + text if text else ""


def paragraphs(lines: Iterable[str]) -> list[str]:
    """Paragraphs of a section; what is set back belongs to the paragraph above."""
    parts = re.split(r"\n\n(?=\S)", "\n".join(lines).strip())
    return [part for part in parts if part]


def notes(doc: NumpyDocString) -> str:
    """The Notes, with a box for each title that they have."""
    text, titles = "", [(TITLED.match(part), part) for part in paragraphs(doc["Notes"])]
    while titles:
        title, part = titles.pop(0)
        if title is None:
            text += part + "\n\n"
            continue
        content = [part[title.end() :].strip()]
        while titles and titles[0][0] is None:
            content.append(titles.pop(0)[1])
        text += boxed(title[1], "\n\n".join(content))
    return text


def section(title: str, content: str) -> str:
    """A part of a docstring under its name."""
    return block(f"rubric:: {title}") + content if content else ""


def examples(doc: NumpyDocString) -> str:
    """The examples."""
    return "\n".join(doc["Examples"]).strip() + "\n\n" if doc["Examples"] else ""


def rest(name: str, function: Any) -> str:
    """All that a function has to say after its first line."""
    doc = parsed(function)
    text = python(call(name, function)) if set(inspect.signature(function).parameters) - {"self"} else ""
    text += "\n".join(doc["Extended Summary"]).strip() + "\n\n"
    text += section("Parameters", described(doc["Parameters"], defaults(function)))
    text += section("Returns", described(doc["Returns"]))
    for title in ("Raises", "Warns"):
        text += section(title, described(doc[title]))
    return text + section("Notes", notes(doc)) + section("Examples", examples(doc))
