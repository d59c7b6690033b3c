"""Tables, fits and readers of renderings that the tests of tables and pictures share."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import zip_longest

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from discrim import lda
from discrim.datasets import load_iris
from discrim.report.grid import HeaderItem, Pairs, Section
from discrim.report.tables import Summary

IRIS = load_iris()
SUMMARY = lda("species ~ .", IRIS).summary()
HOSTILE = "<script>alert(1)</script> & | $x_1$ \\end{tabular} `a` *b* {c} #1 100% ~ ^ \"q\" 'r'"
NAMES = {
    "plain": str,
    "sixty": lambda j: f"a rather long label of sixty characters, give or take, number {j}",
    "cyrillic": lambda j: f"длина {j}",
    "greek": lambda j: f"μήκος σεπάλου {j}",
    "chinese": lambda j: f"花弁の長さ{j}",
    "combining": lambda j: f"e\u0301tamine {j}",
    "control": lambda j: f"bell\x07 tab\t\u202e {j}",
}
LABELS = st.text(max_size=70)


def table(n: int, p: int, name=str) -> pd.DataFrame:
    rng = np.random.default_rng(n + p)
    return pd.DataFrame(
        rng.standard_normal((n, p)), index=[name(i) for i in range(n)], columns=[name(j) for j in range(p)]
    )


def shown(part: pd.DataFrame, **options) -> list[str]:
    """Lines of a section without the summary's frame and the section's title."""
    return Summary("T", {"t": Section("Things", part, **options)}).as_text().splitlines()[4:-1]


def wide_fit(p: int, k: int, name=str, verb=lda):
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(k), 4 + (2 * p // k if verb is lda else p))
    x = rng.standard_normal((len(y), p)) + rng.standard_normal((k, p))[y]
    labels = np.array([name(j) for j in range(k)], dtype=object)[y]
    return verb("y ~ .", pd.DataFrame(x, columns=[name(j) for j in range(p)]).assign(y=labels))


class Page(HTMLParser):
    """Cells of the tables of a page whose tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.tables: list[list[list[str]]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag != "img":
            self.open.append(tag)
        self.tags.add(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data


def html_cells(summary: Summary) -> list[list[list[str]]]:
    return [[[c.strip() for c in row] for row in rows] for rows in Page(summary.as_html()).tables]


def markdown_cells(summary: Summary) -> list[list[list[str]]]:
    """Cells as a reader of Markdown makes them."""
    page = MarkdownIt("commonmark").enable("table").render(summary.as_markdown())
    tables = [[[c.strip() for c in row] for row in rows] for rows in Page(page).tables]
    # The header's table has no names of columns, which Markdown cannot leave out.
    has_header = isinstance(next(iter(summary._sections.values())), Pairs)
    return [rows[1:] if i == 0 and has_header else rows for i, rows in enumerate(tables)]


STACKED = re.compile(r"\\begin{tabular}\[[tb]\]{@{}[lr]@{}}(.*?)\\end{tabular}")
TABULAR = re.compile(r"\\begin{tabular}{@{}(l[lr]*)@{}}\n\\toprule\n(.*?)\\bottomrule\n\\end{tabular}", re.S)


def latex_rows(summary: Summary) -> list[list[int]]:
    """Cells in each row of each section that has a table, its panels put beside each other again."""
    text = summary.as_latex()
    plain_text = re.sub(
        r"\\[&%$#_{}\\`\"^~=]|\$-\$|\$<\$|\$\\times\$10\$\^{-?\d+}\$|10\$\^{-?\d+}\$|\$\\infty\$", "", text
    )
    plain_text = re.sub(
        r"\\phantom{\$\^{0+}\$}|\\tablename~|\\ensuremath{(?:[^{}]|{[^{}]*})*}", "", plain_text
    )
    assert not re.search(r"[%$#^~\"`<>|]", plain_text)
    assert plain_text.count("{") == plain_text.count("}")
    sections: list[list[list[int]]] = []
    for start, end in zip(
        *([m.start() for m in re.finditer(rf"\\{which}{{table}}", text)] for which in ("begin", "end")),
        strict=True,
    ):
        body = STACKED.sub("X", text[start:end])
        tabulars = TABULAR.findall(body)
        assert len(tabulars) == body.count(r"\begin{tabular}") == body.count(r"\end{tabular}")
        if r"\caption{" in body:
            sections.append([])
        sections[-1] += [_widths(aligns, rows) for aligns, rows in tabulars]
    return [[1 + sum(row) for row in zip_longest(*panels, fillvalue=0)] for panels in sections if panels]


def _widths(aligns: str, body: str) -> list[int]:
    lines = [line for line in body.splitlines() if line != r"\midrule"]
    assert all(line.endswith(r" \\") and not line.lstrip().startswith(("[", "*")) for line in lines)
    cells = [len(re.findall(r"(?<!\\)&", line)) for line in lines]
    assert {*cells} == {len(aligns) - 1}
    return cells


def hostile_summary() -> Summary:
    frame = pd.DataFrame({HOSTILE: [1.5]}, index=[HOSTILE])
    pairs = Pairs(HOSTILE, [HeaderItem(HOSTILE, 1, HOSTILE), HeaderItem("label", 1, "1")])
    return Summary(HOSTILE, {"h": pairs, "t": Section(HOSTILE, frame, note=HOSTILE)})
