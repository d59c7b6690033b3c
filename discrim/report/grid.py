"""Sections of a summary, and the grids of texts that every rendering is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from discrim.report.numbers import (
    LABELS,
    Format,
    clean,
    column_texts,
    point_aligned,
    short_labels,
    shorten,
    table_texts,
)

__all__ = ["INTERVAL", "Grid", "Pairs", "Part", "Section", "escaped", "grid_of", "heading", "pair_texts"]

FORMULA = 500
"""Columns of a title that are shown: a formula of two thousand terms would hide what follows it."""

ROWS = (40, 24, 8)
COLUMNS = (24, 16, 4)
"""Rows, columns of a table that are shown; of a longer one, so many first and last, and a note."""

INTERVAL = {"se": "std err", "low": "[0.025", "high": "0.975]"}
"""How a rendering heads the columns that every table names alike, as statsmodels does."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the summary.

    Attributes
    ----------
    title : str
    table : DataFrame
        Full precision. A row index of two levels prints in groups.
    formats : format, or mapping of column to format
        Columns that a mapping leaves out are "general".
    row_formats : mapping of row label to format
        For rows that hold another kind of number than the rest.
    headings : mapping of column to text
        What a rendering writes above a column in the place of its name.
    shared : bool
        One number of decimals for all "general" columns, not one for each.
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
    headings: Mapping[Any, str] = field(default_factory=dict)
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
class Grid:
    """A table as texts: what every rendering is made of. Stubs are the labels of the rows.

    Stubs within a group start with two blanks; cells may end in blanks that bring points in line.
    """

    headers: list[str]
    stubs: list[str]
    cells: list[list[str]]
    notes: list[str]
    triangle: bool = False
    aligns: str = "r"


def grid_of(part: Part, labels: tuple[int, int] = LABELS) -> Grid:
    """A section's grid, or the header's: labels with values, two of them a row.

    Parameters
    ----------
    labels : (int, int)
        Display width of a section's labels, and the width of those that a shorter form would not tell apart.
    """
    if isinstance(part, Section):
        return _grid(part, labels)
    items = pair_texts(part)
    half = (len(items) + 1) // 2
    right = [*items[half:], ("", "")]
    cells = [[text, *right[min(i, len(right) - 1)]] for i, (_, text) in enumerate(items[:half])]
    notes = [clean(part.note)] if part.note else []
    return Grid([], [label for label, _ in items[:half]], cells, notes, aligns="rlr")


def escaped(
    grid: Grid, escape: Callable[[str], str], indent: str
) -> tuple[list[list[str]], list[str] | None, list[str]]:
    """Cells, headers and stubs of a markup; stubs keep their indentation."""
    cells = [[escape(text) for text in line] for line in grid.cells]
    stubs = [indent + escape(stub[2:]) if stub.startswith("  ") else escape(stub) for stub in grid.stubs]
    return cells, [escape(text) for text in grid.headers] or None, stubs


def heading(part: Part) -> str:
    """The title as one line of text; a formula, or a label in a title, may be long."""
    return shorten(clean(part.title), FORMULA)


def pair_texts(pairs: Pairs) -> list[tuple[str, str]]:
    """Label and text of each item, of bounded width."""
    return [
        (shorten(clean(label), LABELS[1]), shorten(clean(text), LABELS[1])) for label, _, text in pairs.items
    ]


def _grid(section: Section, labels: tuple[int, int]) -> Grid:
    table = section.table
    if not table.size:
        return Grid([], [], [], [clean(section.note or "Nothing to show.")])
    columns = _positions(table.shape[1], COLUMNS)
    rows = columns if section.triangle else _positions(len(table), ROWS)
    part = table.iloc[[i for i in rows if i >= 0], [j for j in columns if j >= 0]]
    lines = _lines(section, part, labels[1])
    headers = short_labels([section.headings.get(column, column) for column in part.columns], labels)
    if section.triangle:
        lines = [[text if j >= i else "" for j, text in enumerate(line)] for i, line in enumerate(lines)]
    if -1 in columns:
        gap = columns.index(-1)
        headers.insert(gap, "…")
        for i, line in enumerate(lines):
            line.insert(gap, "" if section.triangle and i >= gap else "…")
    stubs, lines = _with_stubs(part.index, lines, rows.index(-1) if -1 in rows else -1, labels)
    return Grid(headers, stubs, lines, _notes(section, rows, columns), section.triangle)


def _positions(count: int, sizes: tuple[int, int, int]) -> list[int]:
    """Positions of the rows or columns shown, -1 where some are left out."""
    most, head, tail = sizes
    return list(range(count)) if count <= most else [*range(head), -1, *range(count - tail, count)]


def _notes(section: Section, rows: list[int], columns: list[int]) -> list[str]:
    counts = dict(zip(("rows", "columns"), section.table.shape, strict=True))
    gaps = [
        f"{len(shown) - 1} of {counts[what]} {what}"
        for what, shown in (("rows", rows), ("columns", columns))
        if -1 in shown
    ]
    notes = [clean(section.note)] if section.note else []
    if gaps:
        notes.append(f"{' and '.join(gaps)} shown; all of them: {clean(section.source) or '.tables'}.")
    return notes


def _lines(section: Section, part: pd.DataFrame, longest: int) -> list[list[str]]:
    """Texts of the cells, line by line."""
    special = [section.row_formats.get(label) for label in part.index]
    values = [part.iloc[:, j].tolist() for j in range(part.shape[1])]
    plain = [[v for v, form in zip(column, special, strict=True) if form is None] for column in values]
    formats = section.formats
    forms = [formats if isinstance(formats, str) else formats.get(c, "general") for c in part.columns]
    texts = [column_texts(column, form) for column, form in zip(plain, forms, strict=True)]
    if section.shared:
        general = [j for j, form in enumerate(forms) if form == "general"]
        for j, column in zip(general, table_texts([plain[j] for j in general]), strict=True):
            texts[j] = column
    for j, column in enumerate(texts):
        texts[j] = [shorten(text, longest) for text in column] if forms[j] == "text" else column
        if any(special):
            texts[j] = _mixed(values[j], column, special)
    return [list(line) for line in zip(*texts, strict=True)]


def _mixed(values: list[Any], plain: list[str], special: list[Format | None]) -> list[str]:
    rest = iter(plain)
    texts = [
        next(rest) if form is None else column_texts([value], form)[0]
        for value, form in zip(values, special, strict=True)
    ]
    return point_aligned(texts)


def _with_stubs(
    index: pd.Index, lines: list[list[str]], gap: int, labels: tuple[int, int]
) -> tuple[list[str], list[list[str]]]:
    """Row labels and rows, in groups where the index has two levels; a mark where rows are left out."""
    grouped = index.nlevels == 2
    stubs = short_labels(index.get_level_values(-1).tolist(), labels)
    outer = short_labels(index.get_level_values(0).tolist(), labels)
    blank = [""] * len(lines[0])
    out_stubs: list[str] = []
    out_lines: list[list[str]] = []
    for i, (stub, line) in enumerate(zip(stubs, lines, strict=True)):
        if i == gap:
            out_stubs.append("…")
            out_lines.append(blank)
        if grouped and (i in (0, gap) or outer[i] != outer[i - 1]):
            out_stubs.append(outer[i])
            out_lines.append(blank)
        out_stubs.append(f"  {stub}" if grouped else stub)
        out_lines.append(line)
    return out_stubs, out_lines
