"""Summaries and their sections: what is computed, and what every rendering shares."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import lda, qda
from discrim.errors import DataError
from discrim.report.numbers import (
    display_width,
)
from discrim.report.tables import Pairs, Section, Summary, summarize
from tests.report.support import (
    IRIS,
    LABELS,
    SUMMARY,
    html_cells,
    latex_rows,
    markdown_cells,
    shown,
)


def test_the_sections_of_lda_stand_in_their_order():
    keys = "header classes means covariance discriminants functions log_odds equal_covariances"
    assert list(SUMMARY.tables) == keys.split()
    picked = lda("species ~ .", IRIS).summary(sections=["means", "classes"])
    assert list(picked.tables) == ["means", "classes"]
    with pytest.raises(DataError, match="header, classes"):
        lda("species ~ .", IRIS).summary(["nothing"])


def test_only_what_is_picked_is_computed():
    def never():
        raise AssertionError("computed")

    summary = summarize("T", {"a": lambda: Pairs("f", [("x", 1, "1")]), "b": never}, ["a"])
    assert list(summary.tables) == ["a"]


def test_tables_hold_full_precision():
    fit = lda("species ~ .", IRIS)
    pd.testing.assert_frame_equal(SUMMARY.tables["covariance"], fit.cov)
    assert SUMMARY.tables["header"].loc["Log-likelihood", "value"] == fit.llf


def test_repr_is_short_and_qda_lists_its_covariances():
    assert len(repr(lda("species ~ .", IRIS)).splitlines()) < 30
    keys = list(qda("species ~ .", IRIS).summary().tables)
    assert [key for key in keys if key.startswith("covariance")] == [
        "covariance setosa",
        "covariance versicolor",
        "covariance virginica",
    ]


@pytest.mark.parametrize(
    "part", [pd.DataFrame(), pd.DataFrame(index=["a", "b"]), pd.DataFrame(columns=["a", "b"])]
)
def test_an_empty_table_has_its_note_only(part):
    assert shown(part, note="Not tested.") == ["Not tested."]
    assert shown(part) == ["Nothing to show."]
    summary = Summary("T", {"t": Section("Things", part)})
    assert "<table" not in summary.as_html()
    assert "tabular" not in summary.as_latex()
    assert "|" not in summary.as_markdown()
    assert Summary("T", {}).as_text().splitlines() == ["=", "T", "-", "="]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(LABELS, min_size=1, max_size=5), st.lists(LABELS, min_size=1, max_size=5))
def test_any_labels_and_numbers_in_every_format(data, rows, columns):
    numbers = data.draw(
        st.lists(
            st.lists(st.floats(), min_size=len(columns), max_size=len(columns)),
            min_size=len(rows),
            max_size=len(rows),
        )
    )
    title = data.draw(st.text(max_size=150))
    part = Section(title, pd.DataFrame(numbers, index=rows, columns=columns), note=title)
    summary = Summary(title, {"h": Pairs(title, [(title, title, title)] * 3), "t": part})
    text = summary.as_text()
    assert max(map(display_width, text.split("\n"))) <= 100
    in_html, in_markdown = html_cells(summary), markdown_cells(summary)
    assert in_html == in_markdown
    # LaTeX breaks a wide header of labels and values into one column of them.
    assert latex_rows(summary)[1] == [len(row) for row in in_html[1]]


def test_every_format_shows_the_same_cells():
    in_html = html_cells(SUMMARY)
    assert in_html == markdown_cells(SUMMARY)
    assert latex_rows(SUMMARY) == [[len(row) for row in rows] for rows in in_html]
    text = SUMMARY.as_text()
    for rows in in_html[1:]:
        for row in rows:
            assert re.search(r"\s+".join(map(re.escape, filter(None, row))), text)
