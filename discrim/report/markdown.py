"""Summaries as Markdown: pipe tables that GitHub, notebooks, pandoc and MyST render alike.

Cells are padded with blanks: the source is legible as a table too, and pandoc derives the widths of the
columns from it.
"""

from __future__ import annotations

import re

from discrim.report.grid import SummaryContent, SummarySection, clean, display_width, grid_of, heading

INDENT = "&emsp;"
"""Indentation of the labels of rows in a group."""


def as_markdown(summary: SummaryContent) -> str:
    """Return the summary as Markdown headings, pipe tables and notes; all texts are escaped.

    Returns
    -------
    str
    """
    lines = [f"## {escape(clean(summary.title))}", *map(section_markdown, summary._sections.values())]
    if summary._last_line:
        lines.append(escape_paragraph(summary._last_line))
    return "\n\n".join(lines)


def section_markdown(section: SummarySection) -> str:
    """Return a section as Markdown: its title as a heading of the third level, its table and its notes.

    The text does not end in a newline.
    """
    grid = grid_of(section)
    table = ""
    if grid.cells:
        width = len(grid.cells[0])
        lines = [["", *map(_escape_cell, grid.headers)] if grid.headers else [""] * (1 + width)]
        for stub, line in zip(grid.stubs, grid.cells, strict=True):
            indent = INDENT if stub.startswith("  ") else ""
            lines.append([indent + _escape_cell(stub.removeprefix("  ")), *map(_escape_cell, line)])
        aligns = "l" + "".join(grid.aligns[j % len(grid.aligns)] for j in range(width))
        table = "\n\n" + pipe_table(lines, aligns)
    notes = "".join(f"\n\n{escape_paragraph(note)}" for note in grid.notes)
    return f"### {escape(heading(section))}{table}{notes}"


def pipe_table(lines: list[list[str]], aligns: str) -> str:
    """Return a pipe table, without a newline at its end.

    Parameters
    ----------
    lines : list of list of str
        Texts of the cells by row, which must be escaped; the first row is the header.
    aligns : str
        A letter for each column: "l" for flush left, "r" for flush right.

    Returns
    -------
    str
    """
    widths = [max(3, *map(display_width, column)) for column in zip(*lines, strict=True)]
    rules = [
        f":{'-' * (w - 1)}" if a == "l" else f"{'-' * (w - 1)}:" for a, w in zip(aligns, widths, strict=True)
    ]
    rows = [
        [_align_cell(text, w, a) for text, w, a in zip(line, widths, aligns, strict=True)] for line in lines
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rules, *rows[1:]])


def _align_cell(text: str, width: int, align: str) -> str:
    """Pad a cell with blanks to a display width, on the right if `align` is "l" and else on the left."""
    gap = " " * (width - display_width(text))
    return text + gap if align == "l" else gap + text


def _escape_cell(text: str) -> str:
    """Escape a cell; blanks at its end, which align decimal points, become spaces as wide as digits."""
    stripped = text.rstrip(" ")
    blanks = len(text) - len(stripped)
    point = "&puncsp;" if blanks and "." not in stripped else ""
    return escape(stripped) + point + "&numsp;" * (blanks - bool(point))


def escape(text: str) -> str:
    r"""Return a text with the characters escaped that Markdown or one of its dialects interprets.

    Blanks at the end are removed.

    Examples
    --------
    >>> print(escape("a|b *c* _d_ $x_1$ R&D @e -- [f]"))
    a\|b \*c\* \_d\_ \$x_1\$ R&amp;D \@e \-\- \[f\]
    """
    text = re.sub(
        r"((?<![^\W_])_|_(?![^\W_])|[\\`*{}\[\]<>#|~$^@!]|(?<=-)-|-(?=-)|(?<=:)/)", r"\\\1", text.rstrip(" ")
    )
    # GitHub makes web addresses links, unless their dots are escaped.
    text = re.sub(r"(?i)\bwww\.", "www&#46;", re.sub(r"&", "&amp;", text))
    return text.replace("...", "..&#46;")


def escape_paragraph(text: str) -> str:
    """Escape the text of a paragraph, also at its start, where signs would begin a list, rule or comment.

    Blanks at both ends are removed.
    """
    text = escape(text.lstrip(" "))
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^([-+=%:])", r"\\\1", text))
