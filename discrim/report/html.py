"""Sections as HTML, labels escaped.

A fragment for a page that others have styled: notebooks, documentation, GitHub. Numbers are flush right by
the style, and by an attribute where a page takes styles away; colours are the page's own, so that it reads in
the dark; names of tables are captions and not headings, which would come into the page's outline.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from discrim.report.grid import Grid, Pairs, Part, Section, grid_of, heading
from discrim.report.numbers import clean

__all__ = ["frame_html", "html_of", "table_html"]

LONG = 24
"""Lines of a table from which its section is closed at first."""

STYLE = """<style>
.discrim-summary {
  color: inherit; font-variant-numeric: tabular-nums; line-height: 1.35; max-width: 100%; overflow-x: auto;
}
.discrim-summary .discrim-title { font-size: 1.1em; font-weight: 600; margin: 0.5em 0; }
.discrim-summary details { margin: 0.4em 0; overflow-x: auto; padding: 0; }
.discrim-summary summary { cursor: pointer; font-weight: 600; }
.discrim-summary table {
  background: transparent !important; border: 0 !important; border-collapse: collapse !important;
  display: table !important; font-size: 0.92em; margin: 0.2em 0 0.4em 0.9em !important;
  table-layout: auto !important; width: auto !important;
}
.discrim-summary table caption {
  clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; white-space: nowrap; width: 1px;
}
.discrim-summary table tr { background: transparent !important; }
.discrim-summary table tr > th, .discrim-summary table tr > td {
  background: transparent !important; border: 0 !important; color: inherit !important;
  font-weight: normal !important; max-width: none !important; padding: 0.1em 0.7em !important;
  text-align: right !important; vertical-align: baseline !important; white-space: nowrap !important;
}
.discrim-summary table thead tr > th, .discrim-summary table thead tr > td {
  border-bottom: 1px solid rgba(128, 128, 128, 0.6) !important; font-weight: 600 !important;
}
.discrim-summary table tbody tr > th, .discrim-summary table thead tr > td { text-align: left !important; }
.discrim-summary table tbody tr > th[scope="rowgroup"] { font-weight: 600 !important; }
.discrim-summary table tbody tr > td + th { padding-left: 2.5em !important; }
.discrim-summary .discrim-note { font-size: 0.85em; margin: 0.2em 0 0.4em 1.5em; max-width: 46em; }
</style>"""
"""The same for every summary, without an id, so that a page may hold many."""


def html_of(title: str, parts: Iterable[Part]) -> str:
    """A titled run of sections as HTML."""
    said = html.escape(clean(title))
    body = "\n".join(_section(part) for part in parts)
    return (
        f'<div class="discrim-summary" role="group" aria-label="{said}">\n{STYLE}\n'
        f'<div class="discrim-title">{said}</div>\n{body}\n</div>'
    )


def _section(part: Part) -> str:
    grid, name = grid_of(part), heading(part)
    pairs = isinstance(part, Pairs)
    lines = [_pairs_html(grid, name) if pairs else table_html(grid, name)] if grid.cells else []
    lines += [f'<div class="discrim-note">{html.escape(note)}</div>' for note in grid.notes]
    state = " open" if pairs or len(grid.cells) <= LONG else ""
    return "\n".join([f"<details{state}>", f"<summary>{html.escape(name)}</summary>", *lines, "</details>"])


def table_html(grid: Grid, caption: str, corner: str = "") -> str:
    """A grid as a table, with the scope of its labels; the corner says what the rows are."""
    head = [f'<td align="left">{html.escape(corner)}</td>'] + [
        _cell("th", text, 'scope="col"') for text in grid.headers
    ]
    grouped = any(stub.startswith("  ") for stub in grid.stubs)
    rows = []
    for stub, line in zip(grid.stubs, grid.cells, strict=True):
        outer = grouped and not stub.startswith("  ") and not any(line)
        label = "&emsp;" + html.escape(stub[2:]) if stub.startswith("  ") else html.escape(stub)
        scope = "rowgroup" if outer else "row"
        cells = "".join(_cell("td", text) for text in line)
        rows.append(f'<tr><th scope="{scope}" align="left">{label}</th>{cells}</tr>')
    return _table(caption, [f"<thead>\n<tr>{''.join(head)}</tr>\n</thead>"], rows)


def _pairs_html(grid: Grid, caption: str) -> str:
    """Labels with values: each value has its label as the header of its row."""
    rows = []
    for stub, line in zip(grid.stubs, grid.cells, strict=True):
        texts = [stub, *line]
        cells = [
            f'<th scope="row" align="left">{html.escape(text)}</th>' if j % 2 == 0 else _cell("td", text)
            for j, text in enumerate(texts)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return _table(caption, [], rows)


def _table(caption: str, head: list[str], rows: list[str]) -> str:
    lines = ["<table>", f"<caption>{html.escape(caption)}</caption>", *head]
    return "\n".join([*lines, "<tbody>", *rows, "</tbody>", "</table>"])


def _cell(tag: str, text: str, attributes: str = "") -> str:
    bare = text.rstrip(" ")
    # Blanks that bring points in line have the width of a figure here.
    shown = html.escape(bare) + "\u2007" * (len(text) - len(bare))
    return f'<{" ".join(filter(None, [tag, attributes]))} align="right">{shown}</{tag}>'


def frame_html(section: Section, names: Iterable[Any] = ()) -> str:
    """A table without a title, for a page where its name stands already.

    Parameters
    ----------
    section : Section
    names : iterable
        Of the levels of its row labels; what has none is left out.
    """
    grid = grid_of(section)
    corner = " / ".join(clean(name) for name in names if name is not None)
    notes = [f'<div class="discrim-note">{html.escape(note)}</div>' for note in grid.notes]
    lines = ['<div class="discrim-summary">', STYLE, table_html(grid, heading(section), corner), *notes]
    return "\n".join([*lines, "</div>"])
