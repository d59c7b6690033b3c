"""Sections as Markdown pipe tables, labels escaped.

What is written renders alike by the Markdown of GitHub, of notebooks, and of pandoc and MyST. Cells are
filled with blanks, so that the source reads as a table too, and pandoc gives columns the widths they need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from discrim.report.grid import Part, escaped, grid_of, heading
from discrim.report.numbers import clean, display_width

__all__ = ["markdown_of"]

INDENT = "&emsp;"


def markdown_of(title: str, parts: Iterable[Part]) -> str:
    """A titled run of sections as Markdown."""
    return "\n\n".join([f"## {_md(clean(title))}", *map(_markdown, parts)])


def _markdown(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        cells, headers, stubs = escaped(grid, _cell, INDENT)
        width = len(grid.cells[0])
        aligns = "l" + "".join(grid.aligns[j % len(grid.aligns)] for j in range(width))
        lines = [["", *(headers or [""] * width)]]
        lines += [[stub, *line] for stub, line in zip(stubs, cells, strict=True)]
        table = "\n\n" + _piped(lines, aligns)
    notes = "".join(f"\n\n{_paragraph(note)}" for note in grid.notes)
    return f"### {_md(heading(part))}{table}{notes}"


def _piped(lines: list[list[str]], aligns: str) -> str:
    """A pipe table, the first line its header."""
    widths = [max(3, *map(display_width, column)) for column in zip(*lines, strict=True)]
    rules = [
        f":{'-' * (w - 1)}" if a == "l" else f"{'-' * (w - 1)}:" for a, w in zip(aligns, widths, strict=True)
    ]
    rows = [[_filled(text, w, a) for text, w, a in zip(line, widths, aligns, strict=True)] for line in lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]])


def _filled(text: str, width: int, align: str) -> str:
    gap = " " * (width - display_width(text))
    return text + gap if align == "l" else gap + text


def _cell(text: str) -> str:
    """A cell; blanks that bring points in line have the widths of figures and of a point."""
    bare = text.rstrip(" ")
    blanks = len(text) - len(bare)
    point = "&puncsp;" if blanks and "." not in bare else ""
    return _md(bare) + point + "&numsp;" * (blanks - bool(point))


def _md(text: str) -> str:
    r"""A text with what Markdown, its tables, its mathematics and its citations give a meaning escaped.

    Examples
    --------
    >>> print(_md("a|b *c* _d_ $x_1$ R&D @e -- [f]"))
    a\|b \*c\* \_d\_ \$x_1\$ R&amp;D \@e \-\- \[f\]
    """
    marked = re.sub(
        r"((?<![^\W_])_|_(?![^\W_])|[\\`*{}\[\]<>#|~$^@!]|(?<=-)-|-(?=-)|(?<=:)/)", r"\\\1", text.rstrip(" ")
    )
    # A web address becomes a link of itself, but for its dots.
    marked = re.sub(r"(?i)\bwww\.", "www&#46;", re.sub(r"&", "&amp;", marked))
    return marked.replace("...", "..&#46;")


def _paragraph(text: str) -> str:
    """A text as a paragraph, which no sign at its start makes an item of a list, a rule or a comment."""
    marked = _md(text.lstrip(" "))
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^([-+=%:])", r"\\\1", marked))
