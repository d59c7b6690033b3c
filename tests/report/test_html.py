"""Summaries as HTML."""

from __future__ import annotations

from tests.report.support import (
    Page,
    hostile_summary,
)


def test_html_is_balanced_and_escaped():
    page = Page(hostile_summary().as_html())
    assert page.tags == {"div", "style", "h3", "h4", "table", "tr", "td", "th", "p", "small"}
    assert page.tables[1][1][0].startswith("<script>")
    assert page.tables[1][1][1] == "1.5"
