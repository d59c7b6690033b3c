"""Sections as text: columns that line up by what characters take on a screen."""

from __future__ import annotations

import operator
import shutil
import sys
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from discrim.errors import DataError
from discrim.report.grid import Grid, Pairs, Part, grid_of, heading, pair_texts
from discrim.report.numbers import LABELS, clean, display_width, fold

__all__ = ["WIDTH", "text_of", "text_width"]

WIDTH = 100
"""Columns of a text rendering where there is no terminal."""

NARROWEST = 40
"""Columns of a text below which numbers no longer stand beside their labels."""

LINE = 78
"""Columns at which a note turns, where the table above it is not wider."""


def text_width(width: Any) -> int:
    """Columns of a text: those asked for, else the terminal's.

    Raises
    ------
    DataError
        The width is no whole number, or too small.
    """
    if width is None:
        return max(NARROWEST, shutil.get_terminal_size((WIDTH, 0)).columns) if _is_terminal() else WIDTH
    try:
        columns = None if isinstance(width, bool) else operator.index(width)
    except TypeError:
        columns = None
    if columns is None or columns < NARROWEST:
        given = repr(width) if isinstance(width, str | int | float) else f"<{type(width).__name__}>"
        raise DataError(
            f"width={given}: give a whole number of columns, {NARROWEST} or more, or leave it out for those "
            f"of the terminal."
        )
    return columns


def _is_terminal() -> bool:
    try:
        return sys.stdout.isatty()
    # Without a console there is no stream; a closed stream does not answer.
    except (AttributeError, ValueError):
        return False


def text_of(title: str, parts: Iterable[Part], width: int = WIDTH) -> str:
    """A titled run of sections as text of at most so many columns."""
    body: list[str] = []
    for part in parts:
        body += ["", *_text(part, width)] if body else _text(part, width)
    titles = fold(clean(title), width)
    used = max(display_width(line) for line in [*body, *titles])
    titles = [" " * ((used - display_width(line)) // 2) + line for line in titles]
    return "\n".join(["=" * used, *titles, "-" * used, *body, "=" * used])


def _label_widths(width: int) -> tuple[int, int]:
    """Display widths of labels in lines of so many columns: a row's and a column's fit one line."""
    return min(LABELS[0], width // 3), min(LABELS[1], width // 2 - 4)


def _text(part: Part, width: int) -> list[str]:
    if isinstance(part, Pairs):
        return _pairs_text(part, width)
    grid = grid_of(part, _label_widths(width))
    lines = fold(heading(part), width)
    for low, high in _panels(grid, width) if grid.cells else []:
        cells = [line[low:high] for line in grid.cells]
        # Below the diagonal a panel is blank; its last rows would say nothing.
        last = max(i for i, line in enumerate(cells) if any(line) or not grid.triangle)
        lines += [""] if low else []
        lines += _laid_out(grid.headers[low:high], grid.stubs[: last + 1], cells[: last + 1])
    for note in grid.notes:
        lines += fold(note, min(width, max(LINE, *map(display_width, lines))))
    return lines


def _panels(grid: Grid, width: int) -> list[tuple[int, int]]:
    """Runs of columns that fit the width beside the row labels."""
    room = width - max([display_width(stub) for stub in grid.stubs], default=0)
    panels, low, used = [], 0, 0
    for j, header in enumerate(grid.headers):
        wide = 2 + max([display_width(header), *(display_width(row[j]) for row in grid.cells)])
        if j > low and used + wide > room:
            panels.append((low, j))
            low, used = j, 0
        used += wide
    return [*panels, (low, len(grid.headers))]


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
    return lines + (fold(clean(pairs.note), width) if pairs.note else [])


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
