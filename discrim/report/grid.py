"""Sections of a summary, and the grids of texts that every rendering is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Floats
from discrim.report import numbers
from discrim.report.numbers import Format

FORMULA = 500
"""Columns of a title that are shown: a formula of two thousand terms would hide what follows it."""

ROWS = (40, 24, 8)
COLUMNS = (30, 16, 4)
"""Rows, columns of a table that are shown; of a longer one, so many first and last, and a note."""

MOST_CELLS = 240
FEW_ROWS = (20, 12, 4)
FEW_COLUMNS = (8, 5, 1)
"""The same of a table of more cells among several tables, so that none hides the others."""

LIMITS, BROOMS_LIMITS = {"low", "high"}, {"conf_low", "conf_high"}
ESTIMATES = {"coef", "estimate", "difference", "debiased", "se", "std_error", *LIMITS, *BROOMS_LIMITS}
"""Limits, and columns that have as many decimals as the limits of their row."""

INTERVAL = {"se": "std err", "low": "[0.025", "high": "0.975]"}
"""How a rendering heads the columns that every table names alike, as statsmodels does."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the summary.

    Attributes
    ----------
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
        Show the upper triangle of a symmetric table only; columns before those of the triangle are whole.
    errors : (n,) or (n, m) float, optional
        The largest rounding error of "general" numbers in each row, or cell, where rows are of unlike
        sizes. Estimates with standard errors or limits have one without being asked.
    column_errors : mapping of column to float
        The same in columns.
    source : str
        The expression that gives the table in full.
    shown : (str, Section), optional
        Name of a table, and the section of it, that renderings show in the place of this one.
    among : bool
        It stands among other sections, so that a long table is shortened.
    more : str
        The expression that shows more of it where it is shortened.
    """

    title: str
    table: pd.DataFrame
    formats: Format | Mapping[Any, Format] = "general"
    row_formats: Mapping[Any, Format] = field(default_factory=dict)
    headings: Mapping[Any, str] = field(default_factory=dict)
    shared: bool = False
    triangle: bool = False
    errors: Sequence[float] | Floats | None = None
    column_errors: Mapping[Any, float] = field(default_factory=dict)
    note: str = ""
    source: str = ""
    shown: tuple[str, Section] | None = None
    among: bool = False
    more: str = ""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The header: labels with values, two of them a line.

    Attributes
    ----------
    items : sequence of (label, value, text)
        The text is what is shown of the value.
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


def among(part: Part, more: str = "") -> Part:
    """A part that stands among others; `more` is the expression that shows more of it."""
    if isinstance(part, Pairs):
        return part
    shown = part.shown and (part.shown[0], replace(part.shown[1], among=True, more=more))
    return replace(part, among=True, more=more, shown=shown)


def grid_of(part: Part, labels: tuple[int, int] = numbers.LABELS) -> Grid:
    """A section's grid, or the header's: labels with values, two of them a row.

    Parameters
    ----------
    labels : (int, int)
        Display width of a section's labels, and the width of those that a shorter form would not tell apart.
    """
    if isinstance(part, Section):
        return _grid(part.shown[1] if part.shown else part, labels)
    items = pair_texts(part)
    half = (len(items) + 1) // 2
    right = [*items[half:], ("", "")]
    cells = [[text, *right[min(i, len(right) - 1)]] for i, (_, text) in enumerate(items[:half])]
    notes = [numbers.clean(part.note)] if part.note else []
    return Grid([], [label for label, _ in items[:half]], cells, notes, aligns="rlr")


def escaped_cells(
    grid: Grid, escape: Callable[[str], str], indent: str
) -> tuple[list[list[str]], list[str] | None, list[str]]:
    """Cells, headers and stubs of a markup; stubs keep their indentation."""
    cells = [[escape(text) for text in line] for line in grid.cells]
    stubs = [indent + escape(stub[2:]) if stub.startswith("  ") else escape(stub) for stub in grid.stubs]
    return cells, [escape(text) for text in grid.headers] or None, stubs


def heading(part: Part) -> str:
    """The title as one line of text; a formula, or a label in a title, may be long."""
    shown = part.shown[1] if isinstance(part, Section) and part.shown else part
    return numbers.shorten(numbers.clean(shown.title), FORMULA)


def pair_texts(pairs: Pairs) -> list[tuple[str, str]]:
    """Label and text of each item, of bounded width."""
    return [
        (
            numbers.shorten(numbers.clean(label), numbers.LABELS[1]),
            numbers.shorten(numbers.clean(text), numbers.LABELS[1]),
        )
        for label, _, text in pairs.items
    ]


def _grid(section: Section, labels: tuple[int, int]) -> Grid:
    table = section.table
    if not table.size:
        return Grid([], [], [], [numbers.clean(section.note or "Nothing to show.")])
    rows, columns = _places(section, ROWS, COLUMNS)
    whole = rows, columns
    if section.among and table.size > MOST_CELLS:
        rows, columns = _places(section, FEW_ROWS if len(table) <= ROWS[0] else ROWS, FEW_COLUMNS)
    shown = [i for i in rows if i >= 0], [j for j in columns if j >= 0]
    part = table.iloc[shown]
    before = _before(section)
    errors = np.full(len(table), math.inf) if section.errors is None else np.asarray(section.errors)
    errors = errors[shown[0]] if errors.ndim == 1 else errors[np.ix_(*shown)]
    lines = _lines(section, part, errors, labels[1])
    headers = numbers.short_labels([section.headings.get(column, column) for column in part.columns], labels)
    if section.triangle:
        lines = [
            [text if j < before or j - before >= i else "" for j, text in enumerate(line)]
            for i, line in enumerate(lines)
        ]
    if -1 in columns:
        gap = columns.index(-1)
        headers.insert(gap, "…")
        for i, line in enumerate(lines):
            line.insert(gap, "" if section.triangle and i >= gap - before else "…")
    stubs, lines = _with_stubs(part.index, lines, rows.index(-1) if -1 in rows else -1, labels)
    return Grid(
        headers, stubs, lines, _notes(section, rows, columns, more=(rows, columns) != whole), section.triangle
    )


def _before(section: Section) -> int:
    """Columns before those of a triangle."""
    return section.table.shape[1] - len(section.table) if section.triangle else 0


def _places(
    section: Section, most_rows: tuple[int, int, int], most_columns: tuple[int, int, int]
) -> tuple[list[int], list[int]]:
    """Positions of the rows and of the columns shown, -1 where some are left out."""
    before = _before(section)
    rows = _positions(len(section.table), most_columns if section.triangle else most_rows)
    columns = _positions(section.table.shape[1] - before, most_columns)
    return rows, [*range(before), *(j + before if j >= 0 else j for j in columns)]


def _positions(count: int, sizes: tuple[int, int, int]) -> list[int]:
    """Positions of the rows or columns shown, -1 where some are left out."""
    most, head, tail = sizes
    return list(range(count)) if count <= most else [*range(head), -1, *range(count - tail, count)]


def _notes(section: Section, rows: list[int], columns: list[int], more: bool) -> list[str]:
    counts = dict(zip(("rows", "columns"), section.table.shape, strict=True))
    gaps = [
        f"{len(shown) - 1} of {counts[what]} {what}"
        for what, shown in (("rows", rows), ("columns", columns))
        if -1 in shown
    ]
    notes = [numbers.clean(section.note)] if section.note else []
    if gaps:
        notes.append(
            f"{' and '.join(gaps)} shown; all of them: {numbers.clean(section.source) or '.tables'}."
        )
        if section.more and more:
            notes[-1] += f" More of them: {section.more}."
    return notes


def _lines(section: Section, part: pd.DataFrame, errors: Floats, longest: int) -> list[list[str]]:
    """Texts of the cells of a part of the table, line by line."""
    special = [section.row_formats.get(label) for label in part.index]
    values = [part.iloc[:, j].tolist() for j in range(part.shape[1])]
    plain = [[v for v, form in zip(column, special, strict=True) if form is None] for column in values]
    formats = section.formats
    forms = [formats if isinstance(formats, str) else formats.get(c, "general") for c in part.columns]
    within = [section.column_errors.get(column, math.inf) for column in part.columns]
    texts = [numbers.column_texts(*column) for column in zip(plain, forms, within, strict=True)]
    kept = np.array([form is None for form in special], dtype=bool)
    for j, column in _together(section, list(part.columns), forms, plain, errors[kept]).items():
        texts[j] = column
    for j, column in enumerate(texts):
        texts[j] = [numbers.shorten(text, longest) for text in column] if forms[j] == "text" else column
        if any(special):
            texts[j] = _mixed(values[j], column, special)
    return [list(line) for line in zip(*texts, strict=True)]


def _together(
    section: Section, names: list[Any], forms: list[Format], plain: list[list[Any]], errors: Floats
) -> dict[int, list[str]]:
    """Texts of the columns, by position, whose decimals do not follow from one column alone."""
    general = [j for j, form in enumerate(forms) if form == "general"]
    ratios = [j for j, form in enumerate(forms) if form == "ratio"]
    if section.shared:
        return dict(zip(general, numbers.table_texts([plain[j] for j in general]), strict=True))
    if ratios and set(names) >= LIMITS:
        return _by_row(ratios, numbers.ratio_texts(_rows(plain, ratios)))
    held = {names[j] for j in general}
    if held >= LIMITS or held >= BROOMS_LIMITS:
        general = [j for j in general if names[j] in ESTIMATES]
        rows = _rows(plain, general)
        errors = np.fmin(errors, _spreads(pd.DataFrame(rows, columns=[names[j] for j in general])) / 200)
        return _by_row(general, numbers.row_texts(rows, errors.tolist()))
    if errors.ndim == 2:
        alone = {
            j: numbers.row_texts([[numbers.as_float(x)] for x in plain[j]], errors[:, j].tolist())
            for j in general
        }
        return {j: numbers.point_aligned([text for (text,) in texts]) for j, texts in alone.items()}
    if section.errors is None:
        return {}
    return _by_row(general, numbers.row_texts(_rows(plain, general), errors.tolist()))


def _spreads(table: pd.DataFrame) -> Floats:
    """Standard errors of estimates, or what stands for them, infinite where there are none."""
    table = table.rename(columns={"std_error": "se", "conf_low": "low", "conf_high": "high"})
    spread = table["se"] if "se" in table else (table["high"] - table["low"]) / 4
    return spread.where(spread > 0, math.inf).to_numpy(dtype=np.float64)


def _rows(columns: list[list[Any]], chosen: list[int]) -> list[list[float]]:
    return [list(map(numbers.as_float, row)) for row in zip(*(columns[j] for j in chosen), strict=True)]


def _by_row(chosen: list[int], texts: list[list[str]]) -> dict[int, list[str]]:
    return {
        j: numbers.point_aligned(column) for j, column in zip(chosen, zip(*texts, strict=True), strict=False)
    }


def _mixed(values: list[Any], plain: list[str], special: list[Format | None]) -> list[str]:
    rest = iter(plain)
    texts = [
        next(rest) if form is None else numbers.column_texts([value], form)[0]
        for value, form in zip(values, special, strict=True)
    ]
    return numbers.point_aligned(texts)


def _with_stubs(
    index: pd.Index, lines: list[list[str]], gap: int, labels: tuple[int, int]
) -> tuple[list[str], list[list[str]]]:
    """Row labels and rows, in groups where the index has two levels; a mark where rows are left out."""
    grouped = index.nlevels == 2
    stubs = numbers.short_labels(index.get_level_values(-1).tolist(), labels)
    outer = numbers.short_labels(index.get_level_values(0).tolist(), labels)
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
