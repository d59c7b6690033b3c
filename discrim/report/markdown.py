"""Sections as Markdown pipe tables, labels escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from discrim.report.grid import Part, escaped, grid_of, heading
from discrim.report.numbers import clean

__all__ = ["markdown_of"]


def markdown_of(title: str, parts: Iterable[Part]) -> str:
    """A titled run of sections as Markdown."""
    return "\n\n".join([f"## {_md(clean(title))}", *map(_markdown, parts)])


def _markdown(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        cells, headers, stubs = escaped(grid, _md, "&emsp;")
        aligns = {"l": ":--", "r": "--:"}
        width = len(grid.cells[0])
        lines = [["", *(headers or [""] * width)]]
        lines += [[":--", *(aligns[grid.aligns[j % len(grid.aligns)]] for j in range(width))]]
        lines += [[stub, *line] for stub, line in zip(stubs, cells, strict=True)]
        table = "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)
    notes = "".join(f"\n\n{_md(note)}" for note in grid.notes)
    return f"### {_md(heading(part))}{table}{notes}"


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text.rstrip(" ")).replace("&", "&amp;")
