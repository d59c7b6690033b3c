"""Sections as HTML, labels escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable

from discrim.report.grid import Pairs, Part, escaped, grid_of, heading
from discrim.report.numbers import clean

__all__ = ["html_of"]

_STYLE = """<style>
.discrim-summary { overflow-x: auto; font-variant-numeric: tabular-nums; }
.discrim-summary th, .discrim-summary td { text-align: right; white-space: nowrap; padding: 0.1em 0.7em; }
.discrim-summary th:first-child, .discrim-pairs td:nth-child(3) { text-align: left; font-weight: normal; }
</style>"""


def html_of(title: str, parts: Iterable[Part]) -> str:
    """A titled run of sections as HTML."""
    body = "\n".join(_html(part) for part in parts)
    return f'<div class="discrim-summary">\n{_STYLE}\n<h3>{html.escape(clean(title))}</h3>\n{body}\n</div>'


def _html(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        from statsmodels.iolib.table import SimpleTable

        cells = escaped(grid, _html_text, "&emsp;")
        table = "\n" + SimpleTable(*cells, html_fmt={"data_aligns": "r", "header_align": "r"}).as_html()
    notes = "".join(f"\n<p><small>{html.escape(note)}</small></p>" for note in grid.notes)
    kind = "pairs" if isinstance(part, Pairs) else "section"
    return f'<div class="discrim-{kind}">\n<h4>{html.escape(heading(part))}</h4>{table}{notes}\n</div>'


def _html_text(text: str) -> str:
    bare = text.rstrip(" ")
    # Blanks that bring points in line have the width of a figure here.
    return html.escape(bare) + "\u2007" * (len(text) - len(bare))
