"""Tables, fits and readers of renderings that the tests of tables and pictures share."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from discrim import lda
from discrim.datasets import load_iris
from discrim.report.tables import Pairs, Section, Summary

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
    tables: list[list[list[str]]] = []
    before = ""
    for line in summary.as_markdown().split("\n"):
        if line.startswith("| "):
            if not before.startswith("| "):
                tables.append([])
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            tables[-1].append([unescape(re.sub(r"\\(.)", r"\1", c)).strip() for c in cells])
        before = line
    assert all(row[1] == [":--", *row[1][1:]] for row in tables)
    # The header's table has no names of columns, which Markdown cannot leave out.
    has_header = isinstance(next(iter(summary._parts.values())), Pairs)
    return [rows[2:] if i == 0 and has_header else [rows[0], *rows[2:]] for i, rows in enumerate(tables)]


def latex_rows(summary: Summary) -> list[list[int]]:
    """Cells in each row of each tabular."""
    text = summary.as_latex()
    bare = re.sub(r"\\[&%$#_{}\\`]", "", text)
    assert not re.search(r"[%$#_^~\"`<>|]", bare)
    assert bare.count("{") == bare.count("}")
    bodies = re.findall(r"\\begin{tabular}{[lr]+}\n\\toprule\n(.*?)\\bottomrule\n\\end{tabular}", text, re.S)
    assert len(bodies) == text.count(r"\begin{tabular}") == text.count(r"\end{tabular}")
    rows = [[line for line in body.splitlines() if line != r"\midrule"] for body in bodies]
    assert all(line.endswith(r"\\") for body in rows for line in body)
    assert not any(line.lstrip().startswith(("[", "*")) for body in rows for line in body)
    return [[1 + len(re.findall(r"(?<!\\)&", line)) for line in body] for body in rows]


def hostile_summary() -> Summary:
    part = pd.DataFrame({HOSTILE: [1.5]}, index=[HOSTILE])
    pairs = Pairs(HOSTILE, [(HOSTILE, 1, HOSTILE), ("label", 1, "1")])
    return Summary(HOSTILE, {"h": pairs, "t": Section(HOSTILE, part, note=HOSTILE)})
