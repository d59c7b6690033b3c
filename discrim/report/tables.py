"""The summary: sections of numbers, as text, HTML, LaTeX and Markdown.

A section is a DataFrame at full precision and a few words on how to show it. All
renderings are made of the same grid of texts, laid out by statsmodels' SimpleTable
(Markdown, which it does not know, is written here), so that they agree cell by cell.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from discrim.errors import DataError
from discrim.report.numbers import Format, clean, column_texts, decimals_of, display_width, shorten

__all__ = ["Pairs", "Section", "Summary", "summarize"]

WIDTH = 100
"""Columns of a text rendering."""

LABEL = 28
"""Widest label before it is cut in its middle."""

MOST_COLUMNS = 24
MOST_ROWS = 40
"""Columns and rows of a table that are shown; a note tells of the others."""

_PARTS = {"columns": (16, 4), "rows": (24, 8)}


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the summary.

    Attributes
    ----------
    title : str
    table : DataFrame
        Full precision. A row index of two levels prints in groups.
    formats : format, or mapping of column to format
    row_formats : mapping of row label to format
        For rows that hold another kind of number than the rest.
    shared : bool
        One number of decimals for the whole table, not one for each column.
    triangle : bool
        Show the upper triangle of a symmetric table only.
    note : str
    source : str
        The expression that gives the table in full.
    """

    title: str
    table: pd.DataFrame
    formats: Format | Mapping[Any, Format] = "general"
    row_formats: Mapping[Any, Format] = field(default_factory=dict)
    shared: bool = False
    triangle: bool = False
    note: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The header: labels with values, two of them a line.

    Attributes
    ----------
    title : str
    items : sequence of (label, value, text)
        The text is what is shown of the value.
    note : str
    """

    title: str
    items: Sequence[tuple[str, Any, str]]
    note: str = ""

    @property
    def table(self) -> pd.DataFrame:
        """Label -> value, at full precision."""
        values = pd.Series([value for _, value, _ in self.items], dtype=object)
        return pd.DataFrame({"value": values.to_numpy()}, index=[label for label, _, _ in self.items])


Part = Section | Pairs


@dataclass(frozen=True, slots=True)
class _Grid:
    """A table as texts: what every rendering is made of."""

    headers: list[str]
    stubs: list[str]
    cells: list[list[str]]
    notes: list[str]


class Summary:
    """A titled run of sections.

    Attributes
    ----------
    title : str
    tables : dict of str to DataFrame
        The sections' numbers, unrounded.
    """

    def __init__(self, title: str, parts: Mapping[str, Part]) -> None:
        self.title = title
        self._parts = dict(parts)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The sections' numbers, unrounded."""
        return {key: part.table.copy() for key, part in self._parts.items()}

    def as_text(self) -> str:
        """Text of at most 100 columns."""
        body: list[str] = []
        for part in self._parts.values():
            body += ["", *_text(part)] if body else _text(part)
        width = max([display_width(line) for line in [*body, self.title]], default=0)
        title = " " * ((width - display_width(self.title)) // 2) + self.title
        return "\n".join(["=" * width, title, "-" * width, *body, "=" * width])

    def as_html(self) -> str:
        """HTML, labels escaped."""
        parts = "\n".join(_html(part) for part in self._parts.values())
        return f'<div class="discrim-summary">\n<h3>{html.escape(self.title)}</h3>\n{parts}\n</div>'

    def as_latex(self) -> str:
        """LaTeX tabulars with booktabs rules, labels escaped."""
        return "\n\n".join([rf"\paragraph{{{_tex(self.title)}}}", *map(_latex, self._parts.values())])

    def as_markdown(self) -> str:
        """Markdown pipe tables, labels escaped."""
        return "\n\n".join([f"## {_md(self.title)}", *map(_markdown, self._parts.values())])

    def __str__(self) -> str:
        return self.as_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.as_html()


def summarize(
    title: str, parts: Mapping[str, Callable[[], Part]], pick: Sequence[str] | None = None
) -> Summary:
    """The summary of the sections picked; the others are not computed.

    Raises
    ------
    DataError
        A section is not known.
    """
    keys = list(parts) if pick is None else [pick] if isinstance(pick, str) else list(pick)
    unknown = [key for key in keys if key not in parts]
    if unknown:
        raise DataError(f"No section {unknown[0]!r} in this summary; its sections are {', '.join(parts)}.")
    return Summary(title, {key: parts[key]() for key in keys})


def _grid(section: Section) -> _Grid:
    table = section.table
    rows, row_note = _shown(len(table), "rows")
    columns, column_note = _shown(table.shape[1], "columns")
    gaps = " and ".join(filter(None, [row_note, column_note]))
    notes = [section.note] if section.note else []
    if gaps:
        notes.append(f"{gaps} shown; all of them: {section.source or '.tables'}.")
    part = table.iloc[[i for i in rows if i >= 0], [j for j in columns if j >= 0]]
    body = _texts(section, part)
    if section.triangle:
        body = [[text if j >= i else "" for j, text in enumerate(row)] for i, row in enumerate(body)]
    headers = [shorten(clean(label), LABEL) for label in part.columns]
    stubs = [shorten(clean(label[-1] if isinstance(label, tuple) else label), LABEL) for label in part.index]
    if -1 in columns:
        at = columns.index(-1)
        headers.insert(at, "…")
        for row in body:
            row.insert(at, "…")
    if part.index.nlevels == 2:
        stubs, body = _grouped(part.index, stubs, body)
    elif -1 in rows:
        stubs.insert(rows.index(-1), "…")
        body.insert(rows.index(-1), [""] * len(headers))
    return _Grid(headers, stubs, body, notes)


def _shown(count: int, what: str) -> tuple[list[int], str]:
    """Positions to show, -1 for the gap, and what to say of it."""
    most = MOST_COLUMNS if what == "columns" else MOST_ROWS
    if count <= most:
        return list(range(count)), ""
    head, tail = _PARTS[what]
    return [*range(head), -1, *range(count - tail, count)], f"{head + tail} of {count} {what}"


def _texts(section: Section, part: pd.DataFrame) -> list[list[str]]:
    special = [label in section.row_formats for label in part.index]
    plain = part.loc[[not s for s in special]] if any(special) else part
    shared = _with_decimals(plain) if section.shared and section.formats == "general" else None
    columns = []
    for j in range(part.shape[1]):
        form = section.formats if isinstance(section.formats, str) else section.formats[part.columns[j]]
        values = plain.iloc[:, j].tolist()
        texts = iter(shared[j] if shared is not None else column_texts(values, form))
        columns.append(
            [
                column_texts([part.iloc[i, j]], section.row_formats[label])[0] if special[i] else next(texts)
                for i, label in enumerate(part.index)
            ]
        )
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in part.index]


def _with_decimals(plain: pd.DataFrame) -> list[list[str]]:
    numbers = plain.to_numpy(dtype=np.float64)
    decimals = decimals_of(numbers.ravel().tolist())
    form = f".{decimals}f" if decimals >= 0 else ".4e"
    return [["" if np.isnan(x) else f"{x:{form}}" for x in column] for column in numbers.T.tolist()]


def _grouped(index: pd.Index, stubs: list[str], body: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Rows under a heading for each outer label."""
    out_stubs: list[str] = []
    out_body: list[list[str]] = []
    last: Any = None
    for i, (outer, _) in enumerate(index):
        if i == 0 or outer != last:
            out_stubs.append(shorten(clean(outer), LABEL))
            out_body.append([""] * len(body[i]))
            last = outer
        out_stubs.append(f"  {stubs[i]}")
        out_body.append(body[i])
    return out_stubs, out_body


# ---- text


def _text(part: Part) -> list[str]:
    if isinstance(part, Pairs):
        return _pairs_text(part)
    grid = _grid(part)
    lines = _fold(clean(part.title), WIDTH)
    for low, high in _panels(grid) if grid.stubs else []:
        panel = [row[low:high] for row in grid.cells]
        lines += ([""] if low else []) + _laid_out(grid.headers[low:high], grid.stubs, panel)
    for note in grid.notes:
        lines += _fold(note, min(WIDTH, max(78, *map(display_width, lines))))
    return lines


def _panels(grid: _Grid) -> list[tuple[int, int]]:
    """Runs of columns that fit the width beside the row labels."""
    room = WIDTH - max([display_width(stub) for stub in grid.stubs], default=0)
    panels, low, used = [], 0, 0
    for j, header in enumerate(grid.headers):
        width = 2 + max([display_width(header), *(display_width(row[j]) for row in grid.cells)])
        if j > low and used + width > room:
            panels.append((low, j))
            low, used = j, 0
        used += width
    return [*panels, (low, len(grid.headers))]


def _laid_out(headers: list[str], stubs: list[str], cells: list[list[str]]) -> list[str]:
    # SimpleTable counts characters: each text stands in as one private character and fillers up to
    # its display width, so that wide and combining characters line up as well.
    stand_ins: list[str] = []

    def stand_in(text: str) -> str:
        width = display_width(text)
        if width == len(text):
            return text
        stand_ins.append(text)
        return chr(0xF0000 + len(stand_ins) - 1) + "\U00100000" * (width - 1)

    layout = {"table_dec_above": None, "table_dec_below": None, "header_dec_below": None, "colsep": "  "}
    layout |= {"data_aligns": "r", "header_align": "r", "stub_align": "l", "row_pre": "", "row_post": ""}
    table = _simple_table(
        [[stand_in(text) for text in row] for row in cells],
        [stand_in(text) for text in headers],
        [stand_in(text) for text in stubs],
        txt_fmt=layout,
    )
    text = re.sub(
        "([\U000f0000-\U000ffffd])\U00100000*", lambda m: stand_ins[ord(m[1]) - 0xF0000], table.as_text()
    )
    return [line.rstrip() for line in text.split("\n")]


def _simple_table(cells: list[list[str]], headers: list[str], stubs: list[str], **formats: Any) -> Any:
    from statsmodels.iolib.table import SimpleTable

    return SimpleTable(cells, headers, stubs, **formats)


def _pairs_text(pairs: Pairs) -> list[str]:
    half = (len(pairs.items) + 1) // 2
    left, right = list(pairs.items[:half]), list(pairs.items[half:])
    columns = []
    for items in (left, right):
        labels = max((display_width(label) for label, _, _ in items), default=0)
        texts = max((display_width(text) for _, _, text in items), default=0)
        columns.append([_line(label, text, labels + texts + 2) for label, _, text in items])
    lines = _fold(clean(pairs.title), WIDTH)
    wide = max(map(display_width, columns[0])) if columns[0] else 0
    for i, line in enumerate(columns[0]):
        other = columns[1][i] if i < len(columns[1]) else ""
        lines.append((line + " " * (wide - display_width(line)) + "    " + other).rstrip())
    return lines + (_fold(pairs.note, WIDTH) if pairs.note else [])


def _line(label: str, text: str, width: int) -> str:
    return label + " " * (width - display_width(label) - display_width(text)) + text


def _fold(text: str, width: int) -> list[str]:
    """A text in lines of a display width, broken at blanks where there are any."""
    lines, line = [], ""
    for word in text.split(" "):
        while display_width(word) > width:
            cut = next(i for i in range(len(word), 0, -1) if display_width(word[:i]) <= width)
            lines += [line] if line else []
            lines, line, word = [*lines, word[:cut]], "", word[cut:]
        joined = f"{line} {word}" if line else word
        if display_width(joined) > width:
            lines, line = [*lines, line], word
        else:
            line = joined
    return [*lines, line]


# ---- HTML, LaTeX, Markdown


def _as_grid(part: Part) -> _Grid:
    if isinstance(part, Section):
        return _grid(part)
    texts = [[text] for _, _, text in part.items]
    return _Grid([""], [label for label, _, _ in part.items], texts, [part.note] if part.note else [])


def _escaped(grid: _Grid, escape: Callable[[str], str]) -> tuple[list[list[str]], list[str], list[str]]:
    cells = [[escape(text) for text in row] for row in grid.cells]
    return cells, [escape(text) for text in grid.headers], [escape(text) for text in grid.stubs]


def _html(part: Part) -> str:
    grid = _as_grid(part)
    table = _simple_table(*_escaped(grid, html.escape), html_fmt={"data_aligns": "r", "header_align": "r"})
    notes = "".join(f"\n<p><small>{html.escape(note)}</small></p>" for note in grid.notes)
    return f"<h4>{html.escape(clean(part.title))}</h4>\n{table.as_html()}{notes}"


def _latex(part: Part) -> str:
    grid = _as_grid(part)
    layout: dict[str, Any] = {"replacements": {}, "strip_backslash": False}
    layout |= {"data_aligns": "r", "header_align": "r", "stub_align": "l", "empty_align": "l"}
    layout |= {"header_fmt": "%s", "stub_fmt": "%s", "header": "%s", "stub": "%s"}
    table = _simple_table(*_escaped(grid, _tex), ltx_fmt=layout).as_latex_tabular(center=False)
    notes = "".join(f"\n\n{{\\footnotesize {_tex(note)}}}" for note in grid.notes)
    return f"\\paragraph{{{_tex(clean(part.title))}}}\n\n{table}{notes}"


def _markdown(part: Part) -> str:
    grid = _as_grid(part)
    cells, headers, stubs = _escaped(grid, _md)
    lines = [["", *headers], [":--", *["--:"] * len(headers)]]
    lines += [[stub, *row] for stub, row in zip(stubs, cells, strict=True)]
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    notes = "".join(f"\n\n{_md(note)}" for note in grid.notes)
    return f"### {_md(clean(part.title))}\n\n{rows}{notes}"


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"}
_TEX |= {"…": r"\dots{}"} | {c: f"\\{c}" for c in "&%$#_{}"}


def _tex(text: str) -> str:
    escaped = "".join(_TEX.get(c, c) for c in text)
    # A leading bracket after a row's end would be read as its optional argument.
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text).replace("&", "&amp;")
