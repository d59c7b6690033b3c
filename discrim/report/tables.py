"""The summary: sections of numbers, as text, HTML, LaTeX and Markdown.

A section is a DataFrame at full precision and a few words on how to show it. All
renderings are made of the same grid of texts, so that they agree cell by cell. HTML and
LaTeX are laid out by statsmodels' SimpleTable; text, which has to count wide characters,
and Markdown, which it does not know, are written here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from discrim.errors import DataError
from discrim.report.grid import INTERVAL, Grid, Pairs, Part, Section, grid_of, heading, pair_texts
from discrim.report.numbers import clean, display_width, fold

__all__ = ["INTERVAL", "Pairs", "Parts", "Section", "Summary", "summarize"]

WIDTH = 100
"""Columns of a text rendering."""


class Parts(dict[str, Callable[[], Part]]):
    """The sections of a summary by name, computed where they are asked for.

    Attributes
    ----------
    shared : list of (set of str, callable)
        Names of sections, and what makes all of them cheaper; it is called first where all are asked for.
    """

    def __init__(self, parts: Mapping[str, Callable[[], Part]]) -> None:
        super().__init__(parts)
        self.shared: list[tuple[set[str], Callable[[], object]]] = []


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
        titles = fold(clean(self.title), WIDTH)
        width = max(display_width(line) for line in [*body, *titles])
        titles = [" " * ((width - display_width(line)) // 2) + line for line in titles]
        return "\n".join(["=" * width, *titles, "-" * width, *body, "=" * width])

    def as_html(self) -> str:
        """HTML, labels escaped."""
        parts = "\n".join(_html(part) for part in self._parts.values())
        title = html.escape(clean(self.title))
        return f'<div class="discrim-summary">\n{_STYLE}\n<h3>{title}</h3>\n{parts}\n</div>'

    def as_latex(self) -> str:
        """LaTeX tabulars with booktabs rules, labels escaped."""
        return "\n\n".join([rf"\paragraph{{{_tex(clean(self.title))}}}", *map(_latex, self._parts.values())])

    def as_markdown(self) -> str:
        """Markdown pipe tables, labels escaped."""
        return "\n\n".join([f"## {_md(clean(self.title))}", *map(_markdown, self._parts.values())])

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
    if isinstance(pick, set | frozenset) or not isinstance(pick, Iterable | None):
        raise DataError(
            f"sections={pick!r}: give a list of names in the order wanted, of {', '.join(parts)}."
        )
    keys = list(parts) if pick is None else [pick] if isinstance(pick, str) else list(pick)
    unknown = [key for key in keys if not (isinstance(key, str) and key in parts)]
    if unknown:
        raise DataError(f"No section {unknown[0]!r} in this summary: name some of {', '.join(parts)}.")
    for names, prepare in parts.shared if isinstance(parts, Parts) else ():
        if names <= set(keys):
            prepare()
    return Summary(title, {key: parts[key]() for key in keys})


# ---- text


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


def _simple_table(cells: list[list[str]], headers: list[str] | None, stubs: list[str], **formats: Any) -> Any:
    from statsmodels.iolib.table import SimpleTable

    return SimpleTable(cells, headers, stubs, **formats)


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


# ---- HTML, LaTeX, Markdown


_STYLE = """<style>
.discrim-summary { overflow-x: auto; font-variant-numeric: tabular-nums; }
.discrim-summary th, .discrim-summary td { text-align: right; white-space: nowrap; padding: 0.1em 0.7em; }
.discrim-summary th:first-child, .discrim-pairs td:nth-child(3) { text-align: left; font-weight: normal; }
</style>"""


def _escaped(
    grid: Grid, escape: Callable[[str], str], indent: str
) -> tuple[list[list[str]], list[str] | None, list[str]]:
    """Cells, headers and stubs of a markup; stubs keep their indentation."""
    cells = [[escape(text) for text in line] for line in grid.cells]
    stubs = [indent + escape(stub[2:]) if stub.startswith("  ") else escape(stub) for stub in grid.stubs]
    return cells, [escape(text) for text in grid.headers] or None, stubs


def _html(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        cells = _escaped(grid, _html_text, "&emsp;")
        table = "\n" + _simple_table(*cells, html_fmt={"data_aligns": "r", "header_align": "r"}).as_html()
    notes = "".join(f"\n<p><small>{html.escape(note)}</small></p>" for note in grid.notes)
    kind = "pairs" if isinstance(part, Pairs) else "section"
    return f'<div class="discrim-{kind}">\n<h4>{html.escape(heading(part))}</h4>{table}{notes}\n</div>'


def _html_text(text: str) -> str:
    bare = text.rstrip(" ")
    # Blanks that bring points in line have the width of a figure here.
    return html.escape(bare) + "\u2007" * (len(text) - len(bare))


def _latex(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        layout: dict[str, Any] = {"replacements": {}, "strip_backslash": False}
        layout |= {"data_aligns": grid.aligns, "header_align": "r", "stub_align": "l", "empty_align": "l"}
        layout |= {"header_fmt": "%s", "stub_fmt": "%s", "header": "%s", "stub": "%s"}
        cells = _escaped(grid, _tex, r"\quad ")
        table = "\n\n" + _simple_table(*cells, ltx_fmt=layout).as_latex_tabular(center=False)
    notes = "".join(f"\n\n{{\\footnotesize {_tex(note)}}}" for note in grid.notes)
    return f"\\paragraph{{{_tex(heading(part))}}}{table}{notes}"


def _markdown(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        cells, headers, stubs = _escaped(grid, _md, "&emsp;")
        aligns = {"l": ":--", "r": "--:"}
        width = len(grid.cells[0])
        lines = [["", *(headers or [""] * width)]]
        lines += [[":--", *(aligns[grid.aligns[j % len(grid.aligns)]] for j in range(width))]]
        lines += [[stub, *line] for stub, line in zip(stubs, cells, strict=True)]
        table = "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines)
    notes = "".join(f"\n\n{_md(note)}" for note in grid.notes)
    return f"### {_md(heading(part))}{table}{notes}"


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\`{}"}
# \textquotedbl is not in LaTeX's default encoding, and a bare quotation mark is active in German documents.
_TEX |= {'"': r"\char34{}"}
_TEX |= {"…": r"\dots{}"} | {c: f"\\{c}" for c in "&%$#_{}"}


def _tex(text: str) -> str:
    escaped = "".join(_TEX.get(c, c) for c in text.rstrip(" "))
    # A leading bracket after a row's end would be read as its optional argument.
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", text.rstrip(" ")).replace("&", "&amp;")
