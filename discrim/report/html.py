"""Summaries as HTML: a fragment for a page that has a style of its own.

Numbers are flush right by the style, and by an attribute for pages that remove styles. Colours are inherited
from the page, hence the tables are legible on a dark background. Names of tables are captions and not
headings, because headings would appear in the outline of the page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from discrim.report.grid import Grid, Pairs, Section, SummaryContent, SummarySection, clean, grid_of, heading

MAX_OPEN_ROWS = 24
"""Number of rows above which the section of a table is collapsed at first."""

STYLE = """<style>
.discrim-summary {
  color: inherit; font-variant-numeric: tabular-nums; line-height: 1.35; max-width: 100%; overflow-x: auto;
}
.discrim-summary .discrim-title { font-size: 1.1em; font-weight: 600; margin: 0.5em 0; }
.discrim-summary details { margin: 0.4em 0; padding: 0; }
.discrim-summary .discrim-wide { overflow-x: auto; }
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
@media (max-width: 36em) {
  .discrim-summary caption + tbody {
    display: grid !important; grid-template-columns: auto auto; justify-content: start;
  }
  .discrim-summary caption + tbody > tr { display: contents !important; }
  .discrim-summary caption + tbody > tr > :nth-child(n + 3) { order: 1; }
  .discrim-summary table caption + tbody tr > td + th { padding-left: 0.7em !important; }
}
@supports (animation-timeline: scroll(self inline)) {
  .discrim-summary, .discrim-wide {
    animation: discrim-more linear both; animation-timeline: scroll(self inline);
  }
  @keyframes discrim-more {
    from, 95% { mask-image: linear-gradient(to left, transparent, black 3em); }
    to { mask-image: none; }
  }
}
</style>"""
"""Style of every summary. It does not contain ids, because a page may contain several summaries.

On a narrow page the header, which is the only table without column names, has its second block below the
first. A table that is wider than its container fades at the edge where it is cut.
"""


def as_html(summary: SummaryContent) -> str:
    """Return the summary as an HTML fragment with its own style sheet; all texts are escaped.

    Returns
    -------
    str
    """
    title = html.escape(clean(summary.title))
    body = "\n".join(_section_html(section) for section in summary._sections.values())
    if summary._last_line:
        body += f"\n{_note_html(summary._last_line)}"
    return (
        f'<div class="discrim-summary" role="group" aria-label="{title}">\n{STYLE}\n'
        f'<div class="discrim-title">{title}</div>\n{body}\n</div>'
    )


def _note_html(text: str) -> str:
    """Format a note below a table, in plain text, as HTML."""
    return f'<div class="discrim-note">{html.escape(text)}</div>'


def _section_html(section: SummarySection) -> str:
    """Format a section, with its title and notes, as a collapsible HTML element.

    The element is initially open, unless it is a table of more than `MAX_OPEN_ROWS` rows. The header of a
    summary (`Pairs`) without entries is not collapsible: its title is formatted as a note.
    """
    grid = grid_of(section)
    name = heading(section)
    is_header = isinstance(section, Pairs)
    if is_header and not grid.cells:
        return "\n".join(map(_note_html, (name, *grid.notes)))
    lines = [_header_html(grid, name) if is_header else _grid_html(grid, name)] if grid.cells else []
    lines += map(_note_html, grid.notes)
    state = " open" if is_header or len(grid.cells) <= MAX_OPEN_ROWS else ""
    return "\n".join([f"<details{state}>", f"<summary>{html.escape(name)}</summary>", *lines, "</details>"])


def _grid_html(grid: Grid, caption: str, corner: str = "") -> str:
    """Format a grid as an HTML table with column names.

    Row labels that begin with two blanks are indented; labels of groups, which lack cells, are bold.

    Parameters
    ----------
    grid : Grid
    caption : str
        Name of the table for screen readers, in plain text; it is not visible.
    corner : str
        Plain text of the upper left cell.

    Returns
    -------
    str
    """
    header_cells = [f'<td align="left">{html.escape(corner)}</td>'] + [
        _cell_html("th", text, 'scope="col"') for text in grid.headers
    ]
    grouped = any(stub.startswith("  ") for stub in grid.stubs)
    rows = []
    for stub, line in zip(grid.stubs, grid.cells, strict=True):
        outer = grouped and not stub.startswith("  ") and not any(line)
        label = "&emsp;" + html.escape(stub[2:]) if stub.startswith("  ") else html.escape(stub)
        scope = "rowgroup" if outer else "row"
        cells = "".join(_cell_html("td", text) for text in line)
        rows.append(f'<tr><th scope="{scope}" align="left">{label}</th>{cells}</tr>')
    return _table_html(caption, [f"<thead>\n<tr>{''.join(header_cells)}</tr>\n</thead>"], rows)


def _header_html(grid: Grid, caption: str) -> str:
    """Format the grid of a header as an HTML table, in which each value has its label as a row header.

    The texts of a row are a label, its value, another label and its value. `caption` is plain text.
    """
    rows = []
    for stub, line in zip(grid.stubs, grid.cells, strict=True):
        texts = [stub, *line]
        cells = [
            f'<th scope="row" align="left">{html.escape(text)}</th>' if j % 2 == 0 else _cell_html("td", text)
            for j, text in enumerate(texts)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return _table_html(caption, [], rows)


def _table_html(caption: str, head: list[str], rows: list[str]) -> str:
    """Assemble an HTML table from its caption in plain text, the elements before the body, and its rows.

    `head` and `rows` are HTML, which is inserted as it is.
    """
    lines = ['<div class="discrim-wide">', "<table>", f"<caption>{html.escape(caption)}</caption>", *head]
    return "\n".join([*lines, "<tbody>", *rows, "</tbody>", "</table>", "</div>"])


def _cell_html(tag: str, text: str, attributes: str = "") -> str:
    """Format the plain text of a cell, flush right, as an element `tag`: "td" or "th".

    `attributes` are further attributes in HTML, such as 'scope="col"'.
    """
    stripped = text.rstrip(" ")
    # Blanks that align decimal points get the width of a digit.
    escaped = html.escape(stripped) + "\u2007" * (len(text) - len(stripped))
    return f'<{" ".join(filter(None, [tag, attributes]))} align="right">{escaped}</{tag}>'


def frame_html(section: Section, names: Iterable[Any] = ()) -> str:
    """Return one table as HTML without a visible title, for the notebook form of a DataFrame.

    Parameters
    ----------
    section : Section
        The table; its title is the caption for screen readers.
    names : iterable, optional
        Names of the levels of the row labels, or None for levels without a name; they are written in the
        upper left cell.

    Returns
    -------
    str
    """
    grid = grid_of(section)
    corner = " / ".join(clean(name) for name in names if name is not None)
    table = _grid_html(grid, heading(section), corner)
    return "\n".join(['<div class="discrim-summary">', STYLE, table, *map(_note_html, grid.notes), "</div>"])
