"""Sections as LaTeX tabulars with booktabs rules, labels escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from discrim.report.grid import Part, escaped, grid_of, heading
from discrim.report.numbers import clean

__all__ = ["latex_of"]

_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\`{}"}
# \textquotedbl is not in LaTeX's default encoding, and a bare quotation mark is active in German documents.
_TEX |= {'"': r"\char34{}"}
_TEX |= {"…": r"\dots{}"} | {c: f"\\{c}" for c in "&%$#_{}"}


def latex_of(title: str, parts: Iterable[Part]) -> str:
    """A titled run of sections as LaTeX."""
    return "\n\n".join([rf"\paragraph{{{_tex(clean(title))}}}", *map(_latex, parts)])


def _latex(part: Part) -> str:
    grid = grid_of(part)
    table = ""
    if grid.cells:
        from statsmodels.iolib.table import SimpleTable

        layout: dict[str, Any] = {"replacements": {}, "strip_backslash": False}
        layout |= {"data_aligns": grid.aligns, "header_align": "r", "stub_align": "l", "empty_align": "l"}
        layout |= {"header_fmt": "%s", "stub_fmt": "%s", "header": "%s", "stub": "%s"}
        cells = escaped(grid, _tex, r"\quad ")
        table = "\n\n" + SimpleTable(*cells, ltx_fmt=layout).as_latex_tabular(center=False)
    notes = "".join(f"\n\n{{\\footnotesize {_tex(note)}}}" for note in grid.notes)
    return f"\\paragraph{{{_tex(heading(part))}}}{table}{notes}"


def _tex(text: str) -> str:
    marked = "".join(_TEX.get(c, c) for c in text.rstrip(" "))
    # A leading bracket after a row's end would be read as its optional argument.
    return f"{{}}{marked}" if marked.startswith(("[", "*")) else marked
