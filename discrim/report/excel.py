"""Summaries as Excel workbooks: a sheet for each table.

Numbers are stored at full precision and shown with the digits of the other formats. Text is never a formula,
even if it begins with "=".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple

import pandas as pd

from discrim.core.numerics.atomic_write import atomic_write, validate_output_path
from discrim.errors import missing_package
from discrim.report.grid import (
    LABEL_WIDTHS,
    Pairs,
    SummaryContent,
    SummarySection,
    all_texts,
    clean,
    display_width,
    frame_of,
    heading,
    pair_texts,
    shorten,
)

SHEET_ROWS = 2**20
SHEET_COLUMNS = 2**14
"""Largest numbers of rows and columns of a sheet of Excel."""

MAX_NAME_LENGTH = 31
MAX_TEXT_LENGTH = 2**15 - 1
"""Largest numbers of characters in the name of a sheet, and in a cell."""

N_MEASURED = 100
"""Number of first rows and columns whose labels determine the widths of the columns of a sheet."""

MAX_INTEGER = 1e15
"""Integers of this size or more are written as text, because Excel keeps only 15 digits."""


def sheet_names(keys: Iterable[str]) -> list[str]:
    """Convert keys to names of sheets that Excel accepts, in the same order.

    Names have at most `MAX_NAME_LENGTH` characters and no special ones; they differ regardless of case.

    Examples
    --------
    >>> sheet_names(["means", "Means", "a/b", "covariances of the class versicolor"])
    ['means', 'Means (2)', 'a_b', 'covariances of …lass versicolor']
    """
    # Excel reserves the name History.
    names = []
    used = {"history"}
    for key in keys:
        base = re.sub(r"[][:*?/\\]", "_", clean(key)).strip("' ") or "table"
        tail = ""
        count = 1
        while (name := shorten(base, MAX_NAME_LENGTH - len(tail)) + tail).lower() in used:
            count += 1
            tail = f" ({count})"
        used.add(name.lower())
        names.append(name)
    return names


def sheet_ranges(count: int, max_size: int) -> list[tuple[int, int]]:
    """Split `count` rows or columns into ranges (start, stop) of at most `max_size`; (0, 0) for none.

    Examples
    --------
    >>> sheet_ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(low, min(low + max_size, count)) for low in range(0, max(count, 1), max_size)]


def _number_format(text: str) -> str:
    """Return the Excel number format that shows as many digits as a text, for example "0.00" for "3.14".

    The format is "General" if the text is not a number.
    """
    if not re.fullmatch(r"-?\d+(\.\d*)?(e[-+]\d+)?|<1e-\d+", text.strip()):
        return "General"
    mantissa, power, _ = text.strip().removeprefix("<").partition("e")
    decimals = len(mantissa.partition(".")[2])
    return "0" + "." * bool(decimals) + "0" * decimals + "E+00" * bool(power)


def _fill_cell(cell: Any, value: Any, shown_text: str = "") -> None:
    """Write a value into a cell: a bool or number as it is, anything else as text and never as a formula.

    Integers of `MAX_INTEGER` or more and infinite numbers become text.

    Parameters
    ----------
    cell : openpyxl cell
    value : object
        Missing values leave the cell empty.
    shown_text : str
        Text of the number in other formats, which determines the digits shown; empty for Excel's general
        format.
    """
    value = value.item() if hasattr(value, "item") else value
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return
    if isinstance(value, bool):
        cell.value = value
    elif isinstance(value, int | float) and abs(value) < (
        MAX_INTEGER if isinstance(value, int) else math.inf
    ):
        # openpyxl would write 16 significant digits; repr has all of them.
        cell.value, cell.number_format = repr(value), _number_format(shown_text)
        cell.data_type = "n"
    else:
        text = shorten(clean(value), MAX_TEXT_LENGTH)
        cell.value, cell.quotePrefix = text, text.startswith(tuple("=+-@"))
        cell.data_type = "s"


def _sheet_lines(frame: pd.DataFrame) -> list[list[Any]]:
    """Return the rows of a sheet: the column names, one row per level, then the row labels and values.

    The names of the levels of the row labels are at the beginning of the last row of column names.
    """
    levels = frame.index.nlevels
    heads = [
        [None] * levels + frame.columns.get_level_values(i).tolist() for i in range(frame.columns.nlevels)
    ]
    heads[-1][:levels] = frame.index.names
    labels = frame.index if levels > 1 else [[label] for label in frame.index]
    rows = frame.to_numpy(dtype=object)
    return heads + [[*label, *values] for label, values in zip(labels, rows, strict=True)]


class _Sheet(NamedTuple):
    """One sheet of a table, or of a part of a table that is too large for one sheet.

    Attributes
    ----------
    key : str
        Name of the section.
    section : Section or Pairs
        The whole section, for its title and note.
    frame : DataFrame
        Rows and columns on the sheet.
    texts : list of list of str
        Texts of the cells of `frame` in other formats; empty if absent.
    """

    key: str
    section: SummarySection
    frame: pd.DataFrame
    texts: list[list[str]]

    @property
    def corner(self) -> tuple[int, int]:
        """Number of rows above the values, and of columns before them."""
        return self.frame.columns.nlevels, self.frame.index.nlevels


def _fill_sheet(
    sheet: Any, lines: Sequence[Sequence[Any]], corner: tuple[int, int], texts: list[list[str]]
) -> None:
    """Write lines into a sheet, keep its headers and labels in view, and set the widths of its columns.

    Parameters
    ----------
    sheet : openpyxl.worksheet.worksheet.Worksheet
    lines : sequence of sequence
        Values of the cells by row.
    corner : (int, int)
        Number of header rows and of label columns.
    texts : list of list of str
        Texts of the values behind the corner in the other formats, which determine the digits shown; empty
        if the values are shown in Excel's general format.
    """
    first_row, first_column = corner
    for i, line in enumerate(lines):
        for j, value in enumerate(line):
            shown_text = (
                texts[i - first_row][j - first_column]
                if texts and i >= first_row and j >= first_column
                else ""
            )
            _fill_cell(sheet.cell(i + 1, j + 1), value, shown_text)
    sheet.freeze_panes = sheet.cell(first_row + 1, first_column + 1) if first_row else None
    for j in range(min(len(lines[-1]), N_MEASURED)):
        labels = [line[j] for line in lines[: N_MEASURED if j < first_column else first_row] if len(line) > 1]
        width = max(display_width(str(label or "")) for label in [*labels, ""])
        letter = sheet.cell(1, j + 1).column_letter
        sheet.column_dimensions[letter].width = min(max(width, 10), LABEL_WIDTHS[1]) + 2


def _split_into_sheets(sections: Mapping[str, SummarySection]) -> list[_Sheet]:
    """Return the sheets of sections by name; a table that exceeds the limits of a sheet is split."""
    sheets = []
    for key, section in sections.items():
        frame = frame_of(section.table)
        texts = all_texts(section)
        n_rows, n_columns = SHEET_ROWS - frame.columns.nlevels, SHEET_COLUMNS - frame.index.nlevels
        for top, bottom in sheet_ranges(frame.shape[0], n_rows):
            for column_start, column_stop in sheet_ranges(frame.shape[1], n_columns):
                cells = [line[column_start:column_stop] for line in texts[top:bottom]]
                sheets.append(_Sheet(key, section, frame.iloc[top:bottom, column_start:column_stop], cells))
    return sheets


def to_excel(summary: SummaryContent, path: str | PathLike[str]) -> None:
    """Write an Excel workbook: a first sheet with the header and a list, and a sheet for each of `.tables`.

    Numbers are written at full precision, and shown with the digits of the summary. A table that has more
    rows or columns than a sheet of Excel is continued in another, whose name has a number. Text is never a
    formula, even if it begins with "=", and whole numbers of more than 15 digits, which Excel would round,
    are text. A text that is longer than the 32,767 characters of a cell is shortened in its middle.

    Parameters
    ----------
    path : str or path
        The file to write, which ends in ".xlsx". A file that already exists is replaced whole, or not at all.

    Raises
    ------
    NotSupportedError
        openpyxl is not installed: ``pip install discrim[excel]``.
    DataError
        `path` is not a path, or has another ending.
    UnwritableFileError
        The folder does not exist, or the disk is full, for example.
    """
    target = validate_output_path(path, "A workbook", ".xlsx")
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Font
        from openpyxl.worksheet.hyperlink import Hyperlink
    except ImportError:
        raise missing_package(
            "to_excel()", "openpyxl", "excel", "use .tables, which are DataFrames"
        ) from None
    sections = summary._all_sections()
    sheets = _split_into_sheets(sections)
    names = sheet_names(["about", *(sheet.key for sheet in sheets)])
    header = next((section for section in sections.values() if isinstance(section, Pairs)), None)
    lines: list[Sequence[Any]] = [[summary.title]]
    lines += [] if header is None else [[header.title], *pair_texts(header), [header.note or None]]
    lines += [[], ["sheet", "table", "note"]]
    first = len(lines) + 1
    lines += [
        [name, heading(sheet.section), sheet.section.note or None]
        for name, sheet in zip(names[1:], sheets, strict=True)
    ]
    book = Workbook()
    about = book.active
    about.title = names[0]
    _fill_sheet(about, lines, (0, 2), [])
    for cell in (about["A1"], *about[first - 1]):
        cell.font = Font(bold=True)
    for i, (name, sheet) in enumerate(zip(names[1:], sheets, strict=True), first):
        location = "'" + name.replace("'", "''") + "'!A1"
        about.cell(i, 1).hyperlink = Hyperlink(ref=about.cell(i, 1).coordinate, location=location)
        _fill_sheet(book.create_sheet(name), _sheet_lines(sheet.frame), sheet.corner, sheet.texts)
    with atomic_write(target) as file:
        book.save(file)
