"""Summaries as LaTeX."""

from __future__ import annotations

from discrim.report.tables import Section, Summary
from tests.report.support import (
    hostile_summary,
    latex_rows,
    table,
)


def test_latex_is_one_tabular_a_section_with_its_specials_escaped():
    assert latex_rows(hostile_summary()) == [[4], [2, 2]]
    text = Summary("T", {"m": Section("Means", table(100, 200))}).as_latex()
    assert text.count(r"\begin{tabular}") == 1
