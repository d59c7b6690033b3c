"""Sections as LaTeX: floats with caption and label, whose tables fit the width and the height of a page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from discrim.errors import DataError
from discrim.report.grid import Grid, Part, grid_of, heading
from discrim.report.latex_text import (
    column_cells,
    escaped,
    number_width,
    pieces,
    prose,
    stub_or_header,
    text_width,
)
from discrim.report.numbers import clean

__all__ = ["TEXTWIDTH", "latex_of"]

TEXTWIDTH = 329.0
"""Points across the text of the class article, in type of 10 points: at 10 points it has 345, at 11 points
360 of larger type, which are 329 of this, and at 12 points 390, which are 332."""

HEIGHT = 432.0
"""Points from the top to the bottom of a float on a page of its own, likewise."""

GAP, RULED = 12.0, 26.0
"""Points between columns, and those that the rules of a table and what is around it take."""

WIDEST_STUB, WIDEST_CELL, WIDEST_HEADER, NARROW_HEADER = 0.46, 0.42, 0.25, 0.16
"""Shares of the text's width that a label of a row, a text, a column's name take before they are broken; the
last where columns do not fit beside each other."""


class Size(NamedTuple):
    """A size of type: its command, its widths and the distance of its lines beside those of 10 points."""

    command: str
    width: float
    line: float


SIZES = (Size("", 1.0, 12.0), Size("\\small\n", 0.93, 11.0), Size("\\footnotesize\n", 0.855, 9.5))

RULE = r"\noalign{\smallskip}\hline\noalign{\smallskip}"
RULES = "\n".join(rf"\providecommand{{\{name}rule}}{{{RULE}}}" for name in ("top", "mid", "bottom"))
"""Rules for documents that do not load booktabs."""

RUN = 16
"""Floats after which a page is ended: LaTeX holds back few, and stops where there are more."""


class Box(NamedTuple):
    """What stands in a cell: its LaTeX, its width in points at 10 points, its lines."""

    tex: str
    width: float
    lines: int


@dataclass(frozen=True, slots=True)
class Table:
    """A grid as boxes, column by column.

    Attributes
    ----------
    stubs, headers : list of Box
        The labels of the rows, the names of the columns; no headers of a table without names.
    columns : list of list of Box
    widths : list of float
        Of the columns, at 10 points.
    aligns : str
        Of the columns, over and over.
    """

    stubs: list[Box]
    headers: list[Box]
    columns: list[list[Box]]
    widths: list[float]
    aligns: str


class Piece(NamedTuple):
    """Rows and columns of a table that stand in one tabular."""

    top: int
    bottom: int
    left: int
    right: int


def latex_of(
    title: str,
    parts: Mapping[str, Part],
    caption: str | None = None,
    label: str | None = None,
    position: str = "htbp",
    textwidth: float = TEXTWIDTH,
) -> str:
    """Sections of a summary as LaTeX; `Summary.as_latex` says what the arguments are."""
    _check(caption, label, position, textwidth)
    alone = len(parts) == 1
    stem = _stem(title) if label is None else label
    names = _slugs(parts)
    floats = [RULES]
    for key, part in parts.items():
        text = prose(f"{clean(title)}: {heading(part)}")
        if caption is not None:
            text = caption if alone else f"{caption}: {prose(heading(part))}"
        name = stem if alone and label is not None else f"{stem}-{names[key]}"
        floats += _floats(grid_of(part), text, name, position, textwidth)
    for i in range(1 + RUN, len(floats), RUN):
        floats[i] = f"\\clearpage\n{floats[i]}"
    return "\n\n".join(floats)


def _check(caption: Any, label: Any, position: Any, textwidth: Any) -> None:
    if not isinstance(caption, str | None):
        raise DataError(f"caption={caption!r}: give a text, in LaTeX.")
    if label is not None and not (isinstance(label, str) and re.fullmatch(r"[^\s\\{}%#~^$&,]+", label)):
        raise DataError(
            f"label={label!r}: give a name such as 'tab:iris', of letters, figures, '-', ':', '.' and '_'."
        )
    if not (isinstance(position, str) and re.fullmatch(r"[!htbpH]+", position)):
        raise DataError(f"position={position!r}: give letters that LaTeX takes, such as 'htbp'.")
    if isinstance(textwidth, bool) or not isinstance(textwidth, int | float) or not 150 <= textwidth < 1e5:
        raise DataError(
            f"textwidth={textwidth!r}: give the points that \\the\\textwidth prints, 150 at least."
        )


def _stem(title: str) -> str:
    return f"tab:{_slug(title.partition(':')[0])}"


def _slug(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9_]+", "-", plain).strip("-") or "summary"


def _slugs(keys: Iterable[str]) -> dict[str, str]:
    """Keys as parts of labels; those of classes in other scripts are told apart by numbers."""
    names: dict[str, str] = {}
    for key in keys:
        slug = name = _slug(key)
        number = 1
        while name in names.values():
            number += 1
            name = f"{slug}-{number}"
        names[key] = name
    return names


def _floats(grid: Grid, caption: str, label: str, position: str, textwidth: float) -> Iterator[str]:
    """The floats of a section: one, or as many as its tables need pages."""
    notes = _notes(grid.notes)
    start, end = f"\\begin{{table}}[{position}]\n\\centering\\sloppy\n", "\\end{table}"
    head = f"\\caption{{{caption}}}\n\\label{{{label}}}\n"
    if not grid.cells:
        yield start + head + notes + end
        return
    table = _table(grid, textwidth, WIDEST_HEADER)
    if _width(table, SIZES[-1], 0, len(table.columns)) > textwidth:
        grid = grid if grid.headers else _narrow(grid)
        table = _table(grid, textwidth, NARROW_HEADER)
    size, panels = _panels(table, textwidth)
    room = HEIGHT - 12 * (2 + text_width(caption) / textwidth)
    room -= sum(9.5 * (2 + text_width(note) / textwidth) for note in grid.notes)
    pages = list(_pages(list(_pieces(table, grid, size, panels, room)), table, size, room))
    for i, pieces_of in enumerate(pages):
        if i:
            head = "\\tablename~\\thetable{} (continued)\\par\n"
        body = "\\par\\medskip\n".join(_tabular(table, piece) for piece in pieces_of)
        below = notes if i + 1 == len(pages) else ""
        yield f"{start}{head}\\smallskip\n{size.command}{body}{below}{end}"


def _notes(notes: list[str]) -> str:
    if not notes:
        return ""
    lines = "".join(f"{prose(note)}\\par\n" for note in notes)
    box = "\\begin{minipage}{\\linewidth}\\footnotesize\\raggedright\n"
    return f"\\par\\smallskip\n{box}{lines}\\end{{minipage}}\n"


def _narrow(grid: Grid) -> Grid:
    """The header's two columns of labels and values as one."""
    right = [(line[1], line[2]) for line in grid.cells if line[1] or line[2]]
    stubs = [*grid.stubs, *(stub for stub, _ in right)]
    cells = [*([line[0]] for line in grid.cells), *([text] for _, text in right)]
    return Grid([], stubs, cells, grid.notes, aligns="r")


def _table(grid: Grid, textwidth: float, header_share: float) -> Table:
    headers, columns, widths = [], [], []
    for j, texts in enumerate(zip(*grid.cells, strict=True)):
        align = grid.aligns[j % len(grid.aligns)]
        room = WIDEST_CELL * textwidth
        columns.append(
            [
                _box(text, cell, number_width(text), room, f"[t]{{@{{}}{align}@{{}}}}")
                for text, cell in zip(texts, column_cells(texts), strict=True)
            ]
        )
        widths.append(max(box.width for box in columns[-1]))
        if grid.headers:
            headers.append(_label(grid.headers[j], max(widths[-1], header_share * textwidth), "[b]{@{}r@{}}"))
            widths[-1] = max(widths[-1], headers[-1].width)
    stubs = [_stub(stub, WIDEST_STUB * textwidth) for stub in grid.stubs]
    return Table(stubs, headers, columns, widths, grid.aligns)


def _stub(text: str, room: float) -> Box:
    box = _label(text.removeprefix("  "), room, "[t]{@{}l@{}}")
    return Box(f"\\quad {box.tex}", box.width + 10, box.lines) if text.startswith("  ") else box


def _label(text: str, room: float, layout: str) -> Box:
    return _box(text, stub_or_header(text), text_width(text), room, layout)


def _box(text: str, tex: str, width: float, room: float, layout: str) -> Box:
    """A text as it is, or in lines where it is wider than its room."""
    if text_width(text) <= room:
        return Box(tex, width, 1)
    lines = pieces(text, room)
    body = r" \\ ".join(escaped(line) for line in lines)
    return Box(rf"\begin{{tabular}}{layout}{body}\end{{tabular}}", max(map(text_width, lines)), len(lines))


def _panels(table: Table, textwidth: float) -> tuple[Size, list[tuple[int, int]]]:
    """The largest type at which the columns fit beside each other; or the smallest, in panels."""
    count = len(table.columns)
    for size in SIZES:
        if _width(table, size, 0, count) <= textwidth:
            return size, [(0, count)]
    size = SIZES[-1]
    fewest = len(_cut(table, size, textwidth, count))
    for most in range(-(-count // fewest), count + 1):
        panels = _cut(table, size, textwidth, most)
        if len(panels) == fewest:
            break
    return size, panels


def _cut(table: Table, size: Size, textwidth: float, most: int) -> list[tuple[int, int]]:
    """Panels of at most so many columns, each as wide as the text allows."""
    panels, left = [], 0
    for right in range(1, len(table.columns) + 1):
        if right - left > 1 and (_width(table, size, left, right) > textwidth or right - left > most):
            panels.append((left, right - 1))
            left = right - 1
    return [*panels, (left, len(table.columns))]


def _width(table: Table, size: Size, left: int, right: int) -> float:
    stub = max(box.width for box in table.stubs)
    return (stub + sum(table.widths[left:right])) * size.width + GAP * (right - left)


def _pieces(
    table: Table, grid: Grid, size: Size, panels: list[tuple[int, int]], room: float
) -> Iterator[Piece]:
    """Panels, cut between rows where they are taller than a page."""
    for left, right in panels:
        # Below the diagonal a panel is blank; its last rows would say nothing.
        filled = [i for i, line in enumerate(grid.cells) if any(line[left:right]) or not grid.triangle]
        rows = filled[-1] + 1
        fewest = len(_runs(table, grid, size, (left, right), rows, rows, room))
        # Runs of like lengths: a page of one row says little.
        runs = _runs(table, grid, size, (left, right), rows, -(-rows // fewest), room)
        for top, bottom in runs:
            yield Piece(top, bottom, left, right)


def _runs(
    table: Table, grid: Grid, size: Size, panel: tuple[int, int], rows: int, most: int, room: float
) -> list[tuple[int, int]]:
    """Runs of at most so many rows, each as high as a page allows; they begin with groups where they can."""
    runs, top = [], 0
    while top < rows:
        bottom = top + 1
        while bottom < min(rows, top + most) and _height(table, size, Piece(top, bottom + 1, *panel)) <= room:
            bottom += 1
        starts = [i for i in range((top + bottom) // 2 + 1, bottom) if not any(grid.cells[i])]
        if bottom < rows and starts:
            bottom = starts[-1]
        runs.append((top, bottom))
        top = bottom
    return runs


def _pages(pieces_of: list[Piece], table: Table, size: Size, room: float) -> Iterator[list[Piece]]:
    """Pieces that go onto one page."""
    page: list[Piece] = []
    used = 0.0
    for piece in pieces_of:
        height = _height(table, size, piece)
        if page and used + height > room:
            yield page
            page, used = [], 0.0
        page.append(piece)
        used += height
    yield page


def _height(table: Table, size: Size, piece: Piece) -> float:
    boxes = [table.stubs, *table.columns[piece.left : piece.right]]
    tall: list[int] = [max(box.lines for box in row) for row in zip(*boxes, strict=True)]
    header = max((box.lines for box in table.headers[piece.left : piece.right]), default=0)
    return (sum(tall[piece.top : piece.bottom]) + header) * size.line + RULED


def _tabular(table: Table, piece: Piece) -> str:
    boxes = [table.stubs, *table.columns[piece.left : piece.right]]
    rows = [[box.tex for box in row] for row in zip(*boxes, strict=True)][piece.top : piece.bottom]
    if table.headers:
        rows.insert(0, ["", *(box.tex for box in table.headers[piece.left : piece.right])])
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" & ".join([row[0].ljust(wide[0]), *map(str.rjust, row[1:], wide[1:])]) + r" \\" for row in rows]
    if table.headers:
        lines.insert(1, r"\midrule")
    aligns = "".join(table.aligns[j % len(table.aligns)] for j in range(piece.left, piece.right))
    body = "\n".join(["\\toprule", *lines, "\\bottomrule"])
    return f"\\begin{{tabular}}{{@{{}}l{aligns}@{{}}}}\n{body}\n\\end{{tabular}}\n"
