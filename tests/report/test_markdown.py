"""Summaries as Markdown."""

from __future__ import annotations

import pandas as pd

from discrim.report.tables import Section, Summary
from tests.report.support import (
    hostile_summary,
    markdown_cells,
)


def test_a_small_table_as_it_should_stand():
    part = pd.DataFrame({"a": [1.0, -20.5], "n": [3, 12]}, index=["first", "second"])
    summary = Summary("T", {"t": Section("Things", part, {"a": "z", "n": "count"}, note="Of note.")})
    assert summary.as_markdown().splitlines()[4:8] == [
        "|  | a | n |",
        "| :-- | --: | --: |",
        "| first | 1.00 | 3 |",
        "| second | -20.50 | 12 |",
    ]


def test_markdown_keeps_hostile_labels_in_their_cells():
    first, second = markdown_cells(hostile_summary())
    assert [len(row) for row in [*first, *second]] == [4, 2, 2]
    assert "<script>" not in hostile_summary().as_markdown().replace("\\<", "")
