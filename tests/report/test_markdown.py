"""Summaries as Markdown."""

from __future__ import annotations

import re
from html import escape

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from discrim.report.grid import Section
from discrim.report.tables import Summary
from tests.report.support import (
    hostile_summary,
    markdown_cells,
)


def test_a_small_table_is_formatted_as_expected():
    frame = pd.DataFrame({"a": [1.0, -20.5], "n": [3, 12]}, index=["first", "second"])
    summary = Summary("T", {"t": Section("Things", frame, {"a": "z", "n": "count"}, note="Of note.")})
    assert summary.as_markdown().splitlines()[4:8] == [
        "|        |      a |   n |",
        "| :----- | -----: | --: |",
        "| first  |   1.00 |   3 |",
        "| second | -20.50 |  12 |",
    ]


def test_markdown_keeps_hostile_labels_in_their_cells():
    first, second = markdown_cells(hostile_summary())
    assert [len(row) for row in [*first, *second]] == [4, 2, 2]
    assert second[1][0].startswith("<script>")
    assert "<script>" not in hostile_summary().as_markdown().replace("\\<", "")


@pytest.mark.parametrize(
    "text",
    [
        "1. first",
        "- item",
        "+ item",
        "* item",
        "# heading",
        "> quote",
        "=====",
        "-----",
        "    code",
        "```",
        "% x",
    ],
)
def test_a_note_stays_a_paragraph_and_a_title_a_heading(text):
    frame = pd.DataFrame({"a": [1.0]}, index=["first"])
    page = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(Summary(text, {"t": Section(text, frame, note=text)}).as_markdown())
    )
    assert set(re.findall(r"<(\w+)", page)) == {"h2", "h3", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert f"<p>{escape(text.strip())}</p>" in page


def test_decimal_points_are_aligned_by_figure_spaces():
    frame = pd.DataFrame({"v": [0.25, 12.0]}, index=["a", "b"])
    summary = Summary("T", {"t": Section("Things", frame, row_formats={"b": "count"})})
    assert summary.as_markdown().splitlines()[-2:] == [
        "| a   |                     0.25 |",
        "| b   | 12&puncsp;&numsp;&numsp; |",
    ]
