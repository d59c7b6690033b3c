"""Sections as text: columns that line up by what characters take on a screen."""

from __future__ import annotations

from collections.abc import Iterable

from discrim.report.grid import Grid, Pairs, Part, grid_of, heading, pair_texts
from discrim.report.numbers import clean, display_width, fold

__all__ = ["WIDTH", "text_of"]

WIDTH = 100
"""Columns of a text rendering."""


def text_of(title: str, parts: Iterable[Part]) -> str:
    """A titled run of sections as text."""
    body: list[str] = []
    for part in parts:
        body += ["", *_text(part)] if body else _text(part)
    titles = fold(clean(title), WIDTH)
    width = max(display_width(line) for line in [*body, *titles])
    titles = [" " * ((width - display_width(line)) // 2) + line for line in titles]
    return "\n".join(["=" * width, *titles, "-" * width, *body, "=" * width])


def _text(part: Part) -> list[str]:
    if isinstance(part, Pairs):
        return _pairs_text(part)
    grid = grid_of(part)
    lines = fold(heading(part), WIDTH)
    for low, high in _panels(grid) if grid.cells else []:
        cells = [line[low:high] for line in grid.cells]
        # Below the diagonal a panel is blank; its last rows would say nothing.
        last = max(i for i, line in enumerate(cells) if any(line) or not grid.triangle)
        lines += [""] if low else []
        lines += _laid_out(grid.headers[low:high], grid.stubs[: last + 1], cells[: last + 1])
    for note in grid.notes:
        lines += fold(note, min(WIDTH, max(78, *map(display_width, lines))))
    return lines


def _panels(grid: Grid) -> list[tuple[int, int]]:
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
    """Lines of row labels flush left and cells flush right, by what characters take on a screen."""
    lines = [["", *headers], *([stub, *row] for stub, row in zip(stubs, cells, strict=True))]
    widths = [max(map(display_width, column)) for column in zip(*lines, strict=True)]
    laid = []
    for stub, *row in lines:
        gaps = [" " * (width - display_width(text)) for text, width in zip(row, widths[1:], strict=True)]
        rest = "".join(f"  {gap}{text}" for gap, text in zip(gaps, row, strict=True))
        laid.append((stub + " " * (widths[0] - display_width(stub)) + rest).rstrip())
    return laid


def _pairs_text(pairs: Pairs) -> list[str]:
    items = pair_texts(pairs)
    half = (len(items) + 1) // 2
    left, right = _flush(items[:half]), _flush(items[half:])
    wide = max(map(display_width, left), default=0)
    if wide + 4 + max(map(display_width, right), default=0) > WIDTH:
        left, right = _flush(items), []
    lines = fold(heading(pairs), WIDTH)
    for i, line in enumerate(left):
        gap = " " * (wide - display_width(line) + 4)
        lines.append(f"{line}{gap}{right[i]}" if i < len(right) else line)
    return lines + (fold(clean(pairs.note), WIDTH) if pairs.note else [])


def _flush(items: list[tuple[str, str]]) -> list[str]:
    """Labels flush left, texts flush right."""
    width = max((display_width(label) for label, _ in items), default=0) + 2
    width += max((display_width(text) for _, text in items), default=0)
    return [label + " " * (width - display_width(label + text)) + text for label, text in items]
