"""Summaries as text: columns that line up by the width of their characters on a terminal."""

from __future__ import annotations

import operator
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from discrim.errors import DataError
from discrim.report.grid import (
    LABEL_WIDTHS,
    Grid,
    Pairs,
    Section,
    SummaryContent,
    clean,
    display_width,
    fold,
    grid_of,
    heading,
    pair_texts,
    short_labels,
    shorten,
)
from discrim.report.result_table import is_terminal

WIDTH = 100
"""Number of columns without a terminal."""

MIN_WIDTH = 40
"""Smallest number of columns in which numbers fit next to their labels."""

HEADER_WIDTHS = (14, 20)
"""Display widths to which column names are cut if the columns do not fit the line; see `short_labels`."""

NOTE_WIDTH = 78
"""Width at which a note is folded, unless the table above it is wider."""


def as_text(summary: SummaryContent, width: int | None = None) -> str:
    """Return the summary as text.

    Parameters
    ----------
    width : int, optional
        Number of columns of the text, 40 or more. Wider tables are continued below; some tables of a summary
        with several sections leave out columns instead, with a note. By default it is the width of the
        terminal, and 100 without a terminal: in a notebook, a pipe or a file.

    Returns
    -------
    str

    Raises
    ------
    DataError
        The width is not a whole number, or is below 40.

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
    width = _validate_width(width)
    body: list[str] = []
    for section in summary._sections.values():
        lines = (
            _header_lines(section, width) if isinstance(section, Pairs) else _section_lines(section, width)
        )
        body += ["", *lines] if body else lines
    if summary._last_line:
        body += ["", *fold(summary._last_line, _note_width(body, width))]
    titles = fold(clean(summary.title), width)
    used = max(display_width(line) for line in [*body, *titles])
    titles = [" " * ((used - display_width(line)) // 2) + line for line in titles]
    return "\n".join(["=" * used, *titles, "-" * used, *body, "=" * used])


def _validate_width(width: Any) -> int:
    """Return the number of columns as an int; raise a DataError if it is not an integer or below `MIN_WIDTH`.

    None stands for the width of the terminal, but at least `MIN_WIDTH`, and for `WIDTH` without a terminal.
    """
    if width is None:
        return max(MIN_WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns) if is_terminal() else WIDTH
    try:
        columns = None if isinstance(width, bool) else operator.index(width)
    except TypeError:
        columns = None
    if columns is None or columns < MIN_WIDTH:
        value = repr(width) if isinstance(width, str | int | float) else f"<{type(width).__name__}>"
        raise DataError(
            f"width={value} is not valid.",
            hint=f"Pass a whole number of columns, at least {MIN_WIDTH}, or omit it for the terminal width.",
        )
    return columns


def _note_width(lines: Sequence[str], width: int) -> int:
    """Return the width at which a note below a table or a summary is folded.

    It is the display width of the longest of the `lines` above the note, or `NOTE_WIDTH` if that is larger,
    but at most `width`, the largest width of the whole text.
    """
    return min(width, max([NOTE_WIDTH, *map(display_width, lines)]))


def _section_lines(section: Section, width: int) -> list[str]:
    """Return the lines of a section: its title, the table in panels that fit the width, and its notes."""
    grid = _shorten_to_line(grid_of(section, _label_widths(width)), section, width)
    return _grid_lines(grid, width, title_lines=fold(heading(section), width))


def _label_widths(width: int) -> tuple[int, int]:
    """Return widths of labels with which a row label and a column fit the line; see `short_labels`."""
    return min(LABEL_WIDTHS[0], width // 3), min(LABEL_WIDTHS[1], width // 2 - 4)


def _shorten_to_line(grid: Grid, section: Section, width: int) -> Grid:
    """Shorten a grid that is too wide: shorten the column names, then leave out columns.

    The last `n_last_columns` columns are always shown. "…" stands for the columns left out before them, and a
    note counts the columns shown, unless the table has lost rows too. The grid of a section without
    `max_rows` or `n_last_columns` is returned unchanged.

    Parameters
    ----------
    grid : Grid
    section : Section
        The section, whose `replacement` is used if it has one.
    width : int
        Available width in characters.

    Returns
    -------
    Grid
    """
    section = section.replacement[1] if section.replacement else section
    n_last = section.n_last_columns if section.max_rows else None
    available, widths = _column_widths(grid, width)
    if n_last is None or not grid.cells or sum(widths) <= available:
        return grid
    grid = replace(grid, headers=short_labels(grid.headers, HEADER_WIDTHS))
    available, widths = _column_widths(grid, width)
    if sum(widths) <= available:
        return grid
    end = len(widths) - n_last
    n_kept = max(1, sum(1 for j in range(end) if sum(widths[: j + 1]) + 3 + sum(widths[end:]) <= available))
    headers, *cells = ([*line[:n_kept], "…", *line[end:]] for line in (grid.headers, *grid.cells))
    grid = replace(grid, headers=headers, cells=cells)
    if len(grid.cells) < section.table.shape[0]:
        # The note on the rows that are left out already refers to the full table.
        return grid
    note = (
        f"{n_kept + n_last} of {len(widths)} columns shown. More of them: {section.more or section.source}."
    )
    return replace(grid, notes=[*grid.notes, note])


def _column_widths(grid: Grid, width: int, corner: str = "") -> tuple[int, list[int]]:
    """Return the part of `width` that the row labels leave free, and the display width of each column.

    The width of a column includes its name and the gap of two blanks before it; `corner` is the heading of
    the row labels.
    """
    available = width - max(display_width(stub) for stub in [corner, *grid.stubs])
    columns = zip(grid.headers, *grid.cells, strict=True)
    return available, [2 + max(map(display_width, column)) for column in columns]


def column_ranges(grid: Grid, width: int, corner: str = "") -> list[tuple[int, int]]:
    """Split the columns of a grid into ranges (start, stop), each of which fits a width with the row labels.

    A column that is too wide for a line is a range of its own.

    Parameters
    ----------
    grid : Grid
        A grid with column names.
    width : int
        Display width of a line.
    corner : str
        Heading of the row labels.

    Returns
    -------
    list of (int, int)
    """
    available, widths = _column_widths(grid, width, corner)
    ranges = []
    start = 0
    used = 0
    for j, column_width in enumerate(widths):
        if j > start and used + column_width > available:
            ranges.append((start, j))
            start = j
            used = 0
        used += column_width
    return [*ranges, (start, len(widths))]


def frame_text(section: Section, names: Iterable[Any], width: int) -> str:
    """Return one table as text without a title, for the printed form of a DataFrame.

    Parameters
    ----------
    section : Section
        The table. Its columns are continued below each other if they do not fit the width. Labels and texts
        are shortened if a row label and one column do not fit it.
    names : iterable
        Names of the levels of the row labels, or None for levels without a name; they are written in the
        upper left corner.
    width : int
        Number of columns of the text.

    Returns
    -------
    str
    """
    width = max(width, MIN_WIDTH)
    corner = shorten(" / ".join(clean(name) for name in names if name is not None), _label_widths(width)[1])
    grid = grid_of(section)
    available, widths = _column_widths(grid, width, corner)
    if grid.cells and max(widths) > available:
        grid = grid_of(section, _label_widths(width))
    return "\n".join(_grid_lines(grid, width, corner))


def _grid_lines(grid: Grid, width: int, corner: str = "", title_lines: Sequence[str] = ()) -> list[str]:
    """Return the lines of a title, of a grid in panels that fit the width, and of its notes.

    Parameters
    ----------
    grid : Grid
    width : int
        Available width in characters.
    corner : str
        Heading of the row labels.
    title_lines : sequence of str
        Lines above the grid.
    """
    lines = list(title_lines)
    for low, high in column_ranges(grid, width, corner) if grid.cells else []:
        cells = [line[low:high] for line in grid.cells]
        # A panel of a triangle has blank rows below the diagonal, which are left out.
        last = max(i for i, line in enumerate(cells) if any(line) or not grid.triangle)
        lines += [""] if low else []
        lines += _aligned_lines([corner, *grid.headers[low:high]], grid.stubs[: last + 1], cells[: last + 1])
    for note in grid.notes:
        lines += fold(note, _note_width(lines, width))
    return lines


def _aligned_lines(headers: list[str], stubs: list[str], cells: list[list[str]]) -> list[str]:
    """Return the lines of a table, first the headers, with labels flush left and cells flush right.

    `headers` begin with the heading of the row labels, `stubs` are the row labels, and `cells` the texts row
    by row; columns are two blanks apart.
    """
    rows = [headers, *([stub, *row] for stub, row in zip(stubs, cells, strict=True))]
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for stub, *texts in rows:
        padded = [stub + " " * (widths[0] - display_width(stub))]
        padded += [" " * (w - display_width(text)) + text for text, w in zip(texts, widths[1:], strict=True)]
        lines.append("  ".join(padded).rstrip())
    return lines


def _header_lines(pairs: Pairs, width: int) -> list[str]:
    """Return the lines of the header of a summary: its title, its entries in two columns, and its note.

    The first half of the entries is on the left. The entries are in one column if two are wider than `width`.
    """
    items = pair_texts(pairs)
    half = (len(items) + 1) // 2
    left_items = _justify_pairs(items[:half])
    right = _justify_pairs(items[half:])
    left_width = max(map(display_width, left_items), default=0)
    if left_width + 4 + max(map(display_width, right), default=0) > width:
        left_items = _justify_pairs(_fold_pairs(items, width))
        right = []
    lines = fold(heading(pairs), width)
    for i, line in enumerate(left_items):
        gap = " " * (left_width - display_width(line) + 4)
        lines.append(f"{line}{gap}{right[i]}" if i < len(right) else line.rstrip())
    if pairs.note:
        lines += fold(clean(pairs.note), width if items else _note_width(lines, width))
    return lines


def _fold_pairs(items: list[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Fold pairs of label and value that do not fit a line of `width` characters into several pairs.

    Each pair is one line; its label or value is empty if the other one has more lines.
    """
    labels = [fold(label, width // 2 - 1) for label, _ in items]
    value_width = width - 2 - max((display_width(line) for lines in labels for line in lines), default=0)
    return [
        pair
        for lines, (_, text) in zip(labels, items, strict=True)
        for pair in zip_longest(lines, fold(text, value_width), fillvalue="")
    ]


def _justify_pairs(items: list[tuple[str, str]]) -> list[str]:
    """Return lines of equal width with the label flush left and the value flush right."""
    width = max((display_width(label) for label, _ in items), default=0) + 2
    width += max((display_width(text) for _, text in items), default=0)
    return [label + " " * (width - display_width(label + text)) + text for label, text in items]
