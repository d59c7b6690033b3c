"""The summary: sections of numbers, as text, HTML, Markdown, Excel and, by the file beside this one, LaTeX.

A section is a DataFrame at full precision and a few words on how to show it. All renderings are made of one
grid of texts, so that they agree cell by cell.

- Text has columns that line up by what characters take on a screen.
- HTML is a fragment for a page that others have styled. Numbers are flush right by the style, and by an
  attribute where a page takes styles away; colours are the page's own, so that it reads in the dark; names of
  tables are captions and not headings, which would come into the page's outline.
- Markdown renders alike by GitHub, notebooks, pandoc and MyST. Cells are filled with blanks, so that the
  source reads as a table too, and pandoc gives columns the widths they need.
- Excel has a sheet for each table, whose numbers are whole and have the digits of the other renderings as
  their formats. No text of it is a formula, whatever a label begins with.
"""

from __future__ import annotations

import html
import math
import operator
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from itertools import zip_longest
from os import PathLike
from typing import TYPE_CHECKING, Any

import pandas as pd

from discrim.core.numerics.atomic_write import atomic_write, validate_output_path
from discrim.core.numerics.progress import Progress
from discrim.errors import DataError, missing_package
from discrim.report.grid import (
    LABELS,
    Grid,
    Pairs,
    Part,
    Section,
    among,
    clean,
    display_width,
    escaped_cells,
    every_text,
    fold,
    frame_of,
    grid_of,
    heading,
    pair_texts,
    short_labels,
    shorten,
)
from discrim.report.latex import latex_of
from discrim.report.result_table import as_result_table, is_terminal

WIDTH = 100
"""Columns of a text rendering where there is no terminal."""

ABREAST = (14, 20)
"""Display widths of the names of columns that have no room beside one another."""

NARROWEST = 40
"""Columns of a text below which numbers no longer stand beside their labels."""

MOST_BRIEF = 20
"""Rows up to which a table of a short form is whole."""

LINE = 78
"""Columns at which a note turns, where the table above it is not wider."""


def text_width(width: Any) -> int:
    """Columns of a text: those asked for, else the terminal's; a DataError if too few, or no number."""
    if width is None:
        return max(NARROWEST, shutil.get_terminal_size((WIDTH, 0)).columns) if is_terminal() else WIDTH
    try:
        columns = None if isinstance(width, bool) else operator.index(width)
    except TypeError:
        columns = None
    if columns is None or columns < NARROWEST:
        given = repr(width) if isinstance(width, str | int | float) else f"<{type(width).__name__}>"
        raise DataError(
            f"width={given} is not valid.",
            hint=(
                f"Give a whole number of columns, {NARROWEST} or more, or leave it out for those of the "
                "terminal."
            ),
        )
    return columns


def run_of_sections(title: str, parts: Iterable[Part], width: int = WIDTH, last: str = "") -> str:
    """A titled run of sections as text of at most so many columns, and what is said below them."""
    body: list[str] = []
    for part in parts:
        body += ["", *_text(part, width)] if body else _text(part, width)
    if last:
        body += ["", *fold(clean(last), min(width, max(LINE, *map(display_width, body))))]
    titles = fold(clean(title), width)
    used = max(display_width(line) for line in [*body, *titles])
    titles = [" " * ((used - display_width(line)) // 2) + line for line in titles]
    return "\n".join(["=" * used, *titles, "-" * used, *body, "=" * used])


def _text(part: Part, width: int) -> list[str]:
    if isinstance(part, Pairs):
        return _pairs_text(part, width)
    # A row's label and a column's fit one line.
    grid = _in_line(grid_of(part, (min(LABELS[0], width // 3), min(LABELS[1], width // 2 - 4))), part, width)
    lines = fold(heading(part), width)
    for low, high in runs_of_columns(grid, width) if grid.cells else []:
        cells = [line[low:high] for line in grid.cells]
        # Below the diagonal a panel is blank; its last rows would say nothing.
        last = max(i for i, line in enumerate(cells) if any(line) or not grid.triangle)
        lines += [""] if low else []
        lines += _laid_out(grid.headers[low:high], grid.stubs[: last + 1], cells[: last + 1])
    for note in grid.notes:
        lines += fold(note, min(width, max(LINE, *map(display_width, lines))))
    return lines


def _in_line(grid: Grid, section: Section, width: int) -> Grid:
    """The grid of a section among others, with short names of columns, and fewer, where a line is full."""
    section = section.shown[1] if section.shown else section
    last = section.last if section.among else None
    room, wide = _room(grid, width)
    if last is None or not grid.cells or sum(wide) <= room:
        return grid
    grid = replace(grid, headers=short_labels(grid.headers, ABREAST))
    room, wide = _room(grid, width)
    if sum(wide) <= room:
        return grid
    ends = len(wide) - last
    kept = max(1, sum(1 for j in range(ends) if sum(wide[: j + 1]) + 3 + sum(wide[ends:]) <= room))
    headers, *cells = ([*line[:kept], "…", *line[ends:]] for line in (grid.headers, *grid.cells))
    note = f"{kept + last} of {len(wide)} columns shown. More of them: {section.more or section.source}."
    # Where rows are left out, there is a note already.
    told = len(grid.cells) < section.table.shape[0]
    return replace(grid, headers=headers, cells=cells, notes=grid.notes if told else [*grid.notes, note])


def _room(grid: Grid, width: int) -> tuple[int, list[int]]:
    """Columns of text beside the row labels, and those that each column of the grid takes."""
    room = width - max([display_width(stub) for stub in grid.stubs], default=0)
    cells = zip(grid.headers, *grid.cells, strict=True)
    return room, [2 + max(map(display_width, column)) for column in cells]


def runs_of_columns(grid: Grid, width: int) -> list[tuple[int, int]]:
    """Runs of columns that fit the width beside the row labels."""
    room, wide = _room(grid, width)
    panels = []
    low = 0
    used = 0
    for j, taken in enumerate(wide):
        if j > low and used + taken > room:
            panels.append((low, j))
            low = j
            used = 0
        used += taken
    return [*panels, (low, len(wide))]


def _laid_out(headers: list[str], stubs: list[str], cells: list[list[str]]) -> list[str]:
    """Lines of row labels flush left and cells flush right, by what characters take on a screen."""
    lines = [["", *headers], *([stub, *row] for stub, row in zip(stubs, cells, strict=True))]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    laid = []
    for stub, *row in lines:
        gaps = [" " * (wide - display_width(text)) for text, wide in zip(row, widths[1:], strict=True)]
        rest = "".join(f"  {gap}{text}" for gap, text in zip(gaps, row, strict=True))
        laid.append((stub + " " * (widths[0] - display_width(stub)) + rest).rstrip())
    return laid


def _pairs_text(pairs: Pairs, width: int) -> list[str]:
    items = pair_texts(pairs)
    half = (len(items) + 1) // 2
    left, right = _flush(items[:half]), _flush(items[half:])
    wide = max(map(display_width, left), default=0)
    if wide + 4 + max(map(display_width, right), default=0) > width:
        left, right = _flush(_folded(items, width)), []
    lines = fold(heading(pairs), width)
    for i, line in enumerate(left):
        gap = " " * (wide - display_width(line) + 4)
        lines.append(f"{line}{gap}{right[i]}" if i < len(right) else line.rstrip())
    room = width if items else min(width, max(LINE, *map(display_width, lines)))
    return lines + (fold(clean(pairs.note), room) if pairs.note else [])


def _folded(items: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Labels and texts whose pieces stand side by side in so many columns."""
    labels = [fold(label, width // 2 - 1) for label, _ in items]
    room = width - 2 - max((display_width(piece) for pieces in labels for piece in pieces), default=0)
    return [
        pair
        for pieces, (_, text) in zip(labels, items, strict=True)
        for pair in zip_longest(pieces, fold(text, room), fillvalue="")
    ]


def _flush(items: list[tuple[str, str]]) -> list[str]:
    """Labels flush left, texts flush right."""
    width = max((display_width(label) for label, _ in items), default=0) + 2
    width += max((display_width(text) for _, text in items), default=0)
    return [label + " " * (width - display_width(label + text)) + text for label, text in items]


LONG = 24
"""Lines of a table from which its section is closed at first."""

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
"""The same for every summary, without an id, so that a page may hold many.

The header, the one table without names of columns, has its second block below the first where the page is
narrow. A table that is wider than its place fades at the edge beyond which it goes on.
"""


def html_of(title: str, parts: Iterable[Part], last: str = "") -> str:
    """A titled run of sections as HTML, and what is said below them."""
    said = html.escape(clean(title))
    body = "\n".join(_section(part) for part in parts)
    if last:
        body += f'\n<div class="discrim-note">{html.escape(clean(last))}</div>'
    return (
        f'<div class="discrim-summary" role="group" aria-label="{said}">\n{STYLE}\n'
        f'<div class="discrim-title">{said}</div>\n{body}\n</div>'
    )


def _section(part: Part) -> str:
    grid = grid_of(part)
    name = heading(part)
    pairs = isinstance(part, Pairs)
    if pairs and not grid.cells:
        return "\n".join(
            f'<div class="discrim-note">{html.escape(text)}</div>' for text in (name, *grid.notes)
        )
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
    lines = ['<div class="discrim-wide">', "<table>", f"<caption>{html.escape(caption)}</caption>", *head]
    return "\n".join([*lines, "<tbody>", *rows, "</tbody>", "</table>", "</div>"])


def _cell(tag: str, text: str, attributes: str = "") -> str:
    bare = text.rstrip(" ")
    # Blanks that bring points in line have the width of a figure here.
    shown = html.escape(bare) + "\u2007" * (len(text) - len(bare))
    return f'<{" ".join(filter(None, [tag, attributes]))} align="right">{shown}</{tag}>'


def frame_html(section: Section, names: Iterable[Any] = ()) -> str:
    """A table without a title, for a page that has its name; the levels of its row labels may have names."""
    grid = grid_of(section)
    corner = " / ".join(clean(name) for name in names if name is not None)
    notes = [f'<div class="discrim-note">{html.escape(note)}</div>' for note in grid.notes]
    lines = ['<div class="discrim-summary">', STYLE, table_html(grid, heading(section), corner), *notes]
    return "\n".join([*lines, "</div>"])


INDENT = "&emsp;"


def markdown_of(part: Part) -> str:
    """A section as Markdown, its title as a heading of the third level."""
    grid = grid_of(part)
    table = ""
    if grid.cells:
        cells, headers, stubs = escaped_cells(grid, _markdown_cell, INDENT)
        width = len(grid.cells[0])
        aligns = "l" + "".join(grid.aligns[j % len(grid.aligns)] for j in range(width))
        lines = [["", *(headers or [""] * width)]]
        lines += [[stub, *line] for stub, line in zip(stubs, cells, strict=True)]
        table = "\n\n" + piped(lines, aligns)
    notes = "".join(f"\n\n{marked_paragraph(note)}" for note in grid.notes)
    return f"### {marked(heading(part))}{table}{notes}"


def piped(lines: list[list[str]], aligns: str) -> str:
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


def _markdown_cell(text: str) -> str:
    """A cell; blanks that bring points in line have the widths of figures and of a point."""
    bare = text.rstrip(" ")
    blanks = len(text) - len(bare)
    point = "&puncsp;" if blanks and "." not in bare else ""
    return marked(bare) + point + "&numsp;" * (blanks - bool(point))


def marked(text: str) -> str:
    r"""A text with what Markdown, its tables, its mathematics and its citations give a meaning escaped.

    Examples
    --------
    >>> print(marked("a|b *c* _d_ $x_1$ R&D @e -- [f]"))
    a\|b \*c\* \_d\_ \$x_1\$ R&amp;D \@e \-\- \[f\]
    """
    text = re.sub(
        r"((?<![^\W_])_|_(?![^\W_])|[\\`*{}\[\]<>#|~$^@!]|(?<=-)-|-(?=-)|(?<=:)/)", r"\\\1", text.rstrip(" ")
    )
    # A web address becomes a link of itself, but for its dots.
    text = re.sub(r"(?i)\bwww\.", "www&#46;", re.sub(r"&", "&amp;", text))
    return text.replace("...", "..&#46;")


def marked_paragraph(text: str) -> str:
    """A text as a paragraph, which no sign at its start makes an item of a list, a rule or a comment."""
    text = marked(text.lstrip(" "))
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", re.sub(r"^([-+=%:])", r"\\\1", text))


SHEET_ROWS = 2**20
SHEET_COLUMNS = 2**14
"""Rows and columns that a sheet of Excel has."""

SHEET_NAME = 31
SHEET_TEXT = 2**15 - 1
"""Characters that the name of a sheet may have, and a cell."""

MEASURED = 100
"""Rows and columns of a sheet for whose labels there is room in its columns."""

WHOLE = 1e15
"""Whole numbers from here on have more digits than Excel keeps: they are written as text."""


def sheet_names(keys: Iterable[str]) -> list[str]:
    """Names of sheets: of at most 31 characters, none of which Excel refuses, and no two alike in lower case.

    Examples
    --------
    >>> sheet_names(["means", "Means", "a/b", "covariances of the class versicolor"])
    ['means', 'Means (2)', 'a_b', 'covariances of …lass versicolor']
    """
    # Excel keeps the name of History for itself.
    names = []
    taken = {"history"}
    for key in keys:
        base = re.sub(r"[][:*?/\\]", "_", clean(key)).strip("' ") or "table"
        tail = ""
        count = 1
        while (name := shorten(base, SHEET_NAME - len(tail)) + tail).lower() in taken:
            count += 1
            tail = f" ({count})"
        taken.add(name.lower())
        names.append(name)
    return names


def sheet_ranges(count: int, most: int) -> list[tuple[int, int]]:
    """Runs of rows, or of columns, of which a sheet has room for so many; one of a table without any.

    Examples
    --------
    >>> sheet_ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(low, min(low + most, count)) for low in range(0, max(count, 1), most)]


def _number_format(text: str) -> str:
    """Excel's format of a number that is shown as the text."""
    if not re.fullmatch(r"-?\d+(\.\d*)?(e[-+]\d+)?|<1e-\d+", text.strip()):
        return "General"
    mantissa, power, _ = text.strip().removeprefix("<").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return "0" + "." * bool(decimals) + "0" * decimals + "E+00" * bool(power)


def _fill(cell: Any, value: Any, shown: str = "") -> None:
    """Write a value into a cell of a sheet: a number as it is, all else as text and never as a formula."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return
    if isinstance(value, bool):
        cell.value = value
    elif isinstance(value, int | float) and abs(value) < (WHOLE if isinstance(value, int) else math.inf):
        # All digits of a double, where the library writes 16 of them.
        cell.value, cell.number_format = repr(value), _number_format(shown)
        cell.data_type = "n"
    else:
        text = shorten(clean(value), SHEET_TEXT)
        cell.value, cell.quotePrefix = text, text.startswith(tuple("=+-@"))
        cell.data_type = "s"


def _sheet_lines(frame: pd.DataFrame) -> list[list[Any]]:
    """Lines of a table: names of its columns, and of the levels of its labels, then labels and values."""
    levels = frame.index.nlevels
    heads = [
        [None] * levels + frame.columns.get_level_values(i).tolist() for i in range(frame.columns.nlevels)
    ]
    heads[-1][:levels] = frame.index.names
    labels = frame.index if levels > 1 else [[label] for label in frame.index]
    rows = frame.to_numpy(dtype=object)
    return heads + [[*label, *values] for label, values in zip(labels, rows, strict=True)]


def _fill_sheet(
    sheet: Any, lines: Sequence[Sequence[Any]], corner: tuple[int, int], texts: list[list[str]]
) -> None:
    """Write lines; the texts of the cells beyond the corner, if any, say how many digits are shown."""
    for i, line in enumerate(lines):
        for j, value in enumerate(line):
            shown = texts[i - corner[0]][j - corner[1]] if texts and i >= corner[0] and j >= corner[1] else ""
            _fill(sheet.cell(i + 1, j + 1), value, shown)
    sheet.freeze_panes = sheet.cell(corner[0] + 1, corner[1] + 1) if corner[0] else None
    for j in range(min(len(lines[-1]), MEASURED)):
        labels = [line[j] for line in lines[: MEASURED if j < corner[1] else corner[0]] if len(line) > 1]
        wide = max(display_width(str(label or "")) for label in [*labels, ""])
        first = sheet.cell(1, j + 1)
        sheet.column_dimensions[first.column_letter].width = min(max(wide, 10), LABELS[1]) + 2


def workbook_of(title: str, parts: Mapping[str, Part]) -> Any:
    """A workbook of openpyxl: a sheet on what there is, then one for each table, or for each part of it."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
        from openpyxl.worksheet.hyperlink import Hyperlink
    except ImportError:
        raise missing_package(
            "to_excel()", "openpyxl", "excel", "use .tables, which are DataFrames"
        ) from None
    pieces = []
    for key, part in parts.items():
        frame = frame_of(part.table)
        texts = every_text(part)
        corner = frame.columns.nlevels, frame.index.nlevels
        for top, below in sheet_ranges(frame.shape[0], SHEET_ROWS - corner[0]):
            for left, right in sheet_ranges(frame.shape[1], SHEET_COLUMNS - corner[1]):
                some = [line[left:right] for line in texts[top:below]]
                pieces.append((key, part, frame.iloc[top:below, left:right], corner, some))
    names = sheet_names(["about", *(key for key, *_ in pieces)])
    facts = next((part for part in parts.values() if isinstance(part, Pairs)), None)
    lines: list[Sequence[Any]] = [[title]]
    lines += [] if facts is None else [[facts.title], *pair_texts(facts), [facts.note or None]]
    lines += [[], ["sheet", "table", "note"]]
    first = len(lines) + 1
    lines += [
        [name, heading(part), part.note or None]
        for name, (_, part, *_) in zip(names[1:], pieces, strict=True)
    ]
    book = Workbook()
    about = book.active
    about.title = names[0]
    _fill_sheet(about, lines, (0, 2), [])
    for cell in (about["A1"], *about[first - 1]):
        cell.font = Font(bold=True)
    for i, (name, (_, _, frame, corner, some)) in enumerate(zip(names[1:], pieces, strict=True), first):
        place = "'" + name.replace("'", "''") + "'!A1"
        about.cell(i, 1).hyperlink = Hyperlink(ref=about.cell(i, 1).coordinate, location=place)
        _fill_sheet(book.create_sheet(name), _sheet_lines(frame), corner, some)
    return book


Sections = dict[str, Callable[..., Part]]
"""Sections of a summary by name, each made of the results and of the fit that they name the numbers of."""


class Parts(Sections):
    """The sections of a summary by name, computed where they are asked for.

    Where all sections of some names are asked for, what makes them cheaper is called first. Those `by_name`
    stand in a summary that names them only.
    """

    def __init__(self, parts: Mapping[str, Callable[..., Part]], by_name: Iterable[str] = ()) -> None:
        super().__init__(parts)
        self.shared: list[tuple[set[str], Callable[..., object]]] = []
        self.by_name = frozenset(by_name)

    def of(self, *shown: Any) -> Parts:
        """The same sections, made of what is shown."""
        bound = Parts({name: partial(make, *shown) for name, make in self.items()}, self.by_name)
        bound.shared = [(names, partial(prepare, *shown)) for names, prepare in self.shared]
        return bound


class Summary:
    """A title and its sections, each of which is a table.

    Attributes
    ----------
    title : str
        The title.
    tables : dict of str to DataFrame
        The numbers of the sections, unrounded.
    """

    def __init__(
        self, title: str, parts: Mapping[str, Part], others: Mapping[str, Callable[[], Part]] | None = None
    ) -> None:
        self.title = title
        self._parts = dict(parts)
        self._others = dict(others or {})

    if not TYPE_CHECKING:
        # Type checkers would take every name for one that is there.
        def __getattr__(self, name):
            from discrim.slips import ATTRIBUTES, refuse_attribute

            if name.startswith("_"):
                return object.__getattribute__(self, name)
            refuse_attribute("Summary", name, dir(self), ATTRIBUTES)

    def _of(self, parts: Mapping[str, Part]) -> Summary:
        return Summary(self.title, parts, self._others)

    def only(self, keys: Sequence[str]) -> Summary:
        """Some of its sections."""
        return Summary(self.title, {key: part for key, part in self._parts.items() if key in keys})

    def shortened(self) -> Summary:
        """The same, without most of the lines of long tables."""
        return self._of({key: among(part, most=MOST_BRIEF) for key, part in self._parts.items()})

    def noted(self, note: str) -> Summary:
        """The same, with a note below the first of its sections."""
        key, part = next(iter(self._parts.items()))
        return self._of(self._parts | {key: replace(part, note=f"{part.note} {note}".strip())})

    def _every_part(self) -> dict[str, Part]:
        """Its parts, those that it leaves to their names, and those that are shown in the place of others."""
        every: dict[str, Part] = {}
        for key, part in (self._parts | {key: make() for key, make in self._others.items()}).items():
            every[key] = part
            if isinstance(part, Section) and part.shown:
                every |= [part.shown]
        return every

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The sections' numbers, unrounded; also of those that it leaves to their names."""
        return as_result_table({key: frame_of(part.table).copy() for key, part in self._every_part().items()})

    def to_excel(self, path: str | PathLike[str]) -> None:
        """Write an Excel workbook: a first sheet on what it is of, and a sheet for each of `.tables`.

        Numbers are written whole, and shown with the digits of the summary. A table that has more rows or
        columns than a sheet of Excel goes on in another, whose name has a number. Text is never a formula,
        whatever it begins with, and whole numbers of more than 15 digits, which Excel would round, are text.
        A text that is longer than the 32,767 characters of a cell has dots in its middle.

        Parameters
        ----------
        path : str or path
            The file to write, which ends in ".xlsx". A file that is already there is replaced whole, or not
            at all.

        Raises
        ------
        NotSupportedError
            openpyxl is not there: ``pip install discrim[excel]``.
        DataError
            `path` is no path, or ends otherwise.
        UnwritableFileError
            The folder does not exist, the disk is full, or the like.
        """
        place = validate_output_path(path, "A workbook", ".xlsx")
        book = workbook_of(self.title, self._every_part())
        with atomic_write(place) as file:
            book.save(file)

    @property
    def _last(self) -> str:
        """What is said of the sections that are left to their names."""
        names = list(self._others)
        return (
            f'Not shown: {", ".join(names)}. See summary("{names[0]}"), or summary("all").' if names else ""
        )

    def extended(self, name: str, part: Part) -> Summary:
        """The summary with one section more, at its end."""
        return self._of(self._parts | {name: part})

    def followed(self, other: Summary, prefix: str, heading: str) -> Summary:
        """The summary, and behind it the sections of another, their names with a prefix."""
        parts = {f"{prefix}{key}": part for key, part in other._parts.items()}
        first = next(iter(parts))
        return self._of(self._parts | parts | {first: replace(parts[first], title=heading)})

    def as_text(self, width: int | None = None) -> str:
        """Text of at most so many columns.

        Parameters
        ----------
        width : int, optional
            Number of columns of the text, 40 or more; wider tables go on below. By default it is the width of
            the terminal, and 100 where there is no terminal: in a notebook, a pipe or a file.

        Raises
        ------
        DataError
            The width is no whole number, or is below 40.

        Examples
        --------
        >>> from discrim import lda
        >>> from discrim.datasets import load_iris
        >>> summary = lda("species ~ .", load_iris()).summary(sections=["means"])
        >>> print(summary.as_text(width=60))
        ===================================================
                   Linear discriminant analysis
        ---------------------------------------------------
        Means
                    sepal_length  sepal_width  petal_length
        setosa             5.006        3.428         1.462
        versicolor         5.936        2.770         4.260
        virginica          6.588        2.974         5.552
        <BLANKLINE>
                    petal_width
        setosa            0.246
        versicolor        1.326
        virginica         2.026
        ===================================================
        """
        return run_of_sections(self.title, self._parts.values(), text_width(width), self._last)

    def as_html(self) -> str:
        """HTML, labels escaped."""
        return html_of(self.title, self._parts.values(), self._last)

    def as_latex(
        self,
        caption: str | None = None,
        label: str | None = None,
        *,
        position: str = "htbp",
        textwidth: float | None = None,
    ) -> str:
        r"""LaTeX: a float with caption and label for each section, labels of the data escaped.

        Tables that are wider than the text of the class article are set in \footnotesize.

        Parameters
        ----------
        caption : str, optional
            Caption in LaTeX, which is written as it is. With several sections each caption begins with it. By
            default they begin with the title.
        label : str, optional
            Name for \ref. With several sections each has "-" and the key of the section behind it, as in
            "tab:iris-means". By default it begins with the title, as in "tab:linear-discriminant-analysis".
        position : str
            Where the floats may go.
        textwidth : float, optional
            Split tables that are wider than this into panels below one another. The width is in points of
            10-point type: what \the\textwidth prints, divided by 1.1 or 1.2 if the document has type of 11 or
            12 points. By default each section is one table.

        Raises
        ------
        DataError
            An argument is of another kind.

        Notes
        -----
        A document needs no package: pdflatex of texlive-latex-base sets it. With \usepackage{booktabs} the
        rules are those of booktabs; without it they are plain lines. Greek letters are set as mathematics.
        \usepackage[T1]{fontenc} is needed for a few letters, as in "Łódź, Ąžuolas, Đorđe, «x»"; Chinese,
        Japanese and Korean need lualatex or xelatex with a font that has them (\usepackage{fontspec} and
        \setmainfont{Noto Serif CJK SC}), or the package CJKutf8; Cyrillic needs \usepackage[T2A]{fontenc}.

        Examples
        --------
        >>> import discrim
        >>> fit = discrim.lda("species ~ .", discrim.datasets.load_iris())
        >>> print(fit.summary(["classes"]).as_latex("Irises", "tab:irises").partition("\n\n")[2])
        \begin{table}[htbp]
        \centering\sloppy
        \caption{Irises}
        \label{tab:irises}
        \smallskip
        \begin{tabular}{@{}lrr@{}}
        \toprule
                   &  prior & rows \\
        \midrule
        setosa     & 0.3333 &   50 \\
        versicolor & 0.3333 &   50 \\
        virginica  & 0.3333 &   50 \\
        \bottomrule
        \end{tabular}
        \end{table}
        """
        return latex_of(self.title, self._parts, caption, label, position, textwidth)

    def as_markdown(self) -> str:
        """Markdown pipe tables, labels escaped."""
        last = [marked_paragraph(clean(self._last))] if self._others else []
        return "\n\n".join(
            [f"## {marked(clean(self.title))}", *map(markdown_of, self._parts.values()), *last]
        )

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.as_html()


def summarize(
    title: str, parts: Mapping[str, Callable[[], Part]], pick: Sequence[str] | None = None
) -> Summary:
    """The summary of the sections picked, a DataError of unknown ones; the others are not computed."""
    if isinstance(pick, set | frozenset) or not isinstance(pick, Iterable | None):
        raise DataError(
            f"sections={pick!r} is not valid.",
            hint=f"Give a list of names in the order wanted, of {', '.join(parts)}.",
        )
    keys = list(parts) if pick is None else [pick] if isinstance(pick, str) else list(pick)
    by_name = parts.by_name if pick is None and isinstance(parts, Parts) else frozenset()
    whole = pick is None or (keys == ["all"] and "all" not in parts)
    if pick is None:
        keys = [key for key in parts if key not in by_name]
    elif "all" in keys and "all" not in parts:
        at = keys.index("all")
        keys = list(dict.fromkeys([*keys[:at], *(key for key in parts if key not in keys), *keys[at + 1 :]]))
    unknown = [key for key in keys if not (isinstance(key, str) and key in parts)]
    if unknown:
        near = get_close_matches(str(unknown[0]), parts, n=1)
        hint = f"Did you mean {near[0]!r}? There are" if near else "Name some of"
        raise DataError(
            f"No section {unknown[0]!r} in this summary.", hint=f'{hint} {", ".join(parts)}; or "all".'
        )
    made: dict[str, Part] = {}
    with Progress(len(keys), "summary") as progress:
        for names, prepare in parts.shared if isinstance(parts, Parts) else ():
            if names <= set(keys):
                prepare()
        for key in keys:
            made[key] = parts[key]()
            progress(1)
    if whole and len(made) > 1:
        made = {key: among(part, f"summary(sections=[{key!r}])") for key, part in made.items()}
    return Summary(title, made, {key: parts[key] for key in parts if key in by_name})
