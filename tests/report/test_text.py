"""Summaries as text: what lines up, what is folded, what is left out."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import lda, qda
from discrim.errors import DataError
from discrim.report.grid import HeaderItem, Pairs, Section, display_width
from discrim.report.tables import Summary
from tests.report.support import (
    IRIS,
    LABELS,
    NAMES,
    SUMMARY,
    html_cells,
    shown,
    table,
    wide_fit,
)


def test_a_small_table_is_formatted_as_expected():
    frame = pd.DataFrame({"a": [1.0, -20.5], "n": [3, 12]}, index=["first", "second"])
    summary = Summary("T", {"t": Section("Things", frame, {"a": "z", "n": "count"}, note="Of note.")})
    assert summary.as_text().splitlines() == [
        "==================",
        "        T",
        "------------------",
        "Things",
        "             a   n",
        "first     1.00   3",
        "second  -20.50  12",
        "Of note.",
        "==================",
    ]


def test_a_header_is_formatted_as_expected():
    pairs = Pairs(
        "y ~ .",
        [
            HeaderItem("Rows", 150, "150"),
            HeaderItem("Prior", "given", "given"),
            HeaderItem("AIC", 5.25, "5.25"),
        ],
    )
    assert Summary("T", {"h": pairs}).as_text().splitlines()[3:-1] == [
        "y ~ .",
        "Rows     150    AIC  5.25",
        "Prior  given",
    ]
    assert pairs.table.loc["AIC", "value"] == 5.25


def test_special_rows_groups_and_triangles_are_formatted_as_expected():
    frame = pd.DataFrame({"LD1": [-0.020072, 0.122361, 0.5692]}, index=["x", "y", "share"])
    assert shown(frame, row_formats={"share": "share"}) == [
        "            LD1",
        "x      -0.02007",
        "y       0.12236",
        "share   0.5692",
    ]
    index = pd.MultiIndex.from_tuples([("one", "x"), ("one", "y"), ("two", "x")])
    assert shown(pd.DataFrame({"b": [1, 2, 3]}, index=index)) == [
        "     b",
        "one",
        "  x  1",
        "  y  2",
        "two",
        "  x  3",
    ]
    square = pd.DataFrame([[2.5, 0.25], [0.25, 1.0]], index=["x", "y"], columns=["x", "y"])
    assert shown(square, triangle=True, shared=True) == ["      x     y", "x  2.50  0.25", "y        1.00"]
    assert shown(square) == ["      x     y", "x  2.50  0.25", "y  0.25  1.00"]


def test_the_iris_summary_contains_the_expected_lines():
    """Lines of the layout that was proposed, whose figures were made elsewhere."""
    expected = """
        setosa        0.3333     50
        setosa               5.006        3.428         1.462        0.246
        versicolor           5.936        2.770         4.260        1.326
        virginica            6.588        2.974         5.552        2.026
        sepal_length       0.26501      0.09272       0.16751      0.03840
        sepal_width                     0.11539       0.05524      0.03271
        petal_length                                  0.18519      0.04267
        petal_width                                                0.04188
        Proportion of trace  0.9912   0.0088
        sepal_length    -7.846     2.735   -2.87    0.004   -13.207    -2.485
        sepal_width    -16.515     3.336   -4.95   <0.001   -23.053    -9.978
        Likelihood ratio             149.66          20    7.3e-22
        Box's M, chi-square          140.94          20    3.4e-20
        Box's M, F                     7.05   20  77567    3.6e-20
    """
    lines = [line.split() for line in SUMMARY.as_text().splitlines()]
    for line in expected.strip().splitlines():
        assert line.split() in lines
    assert ["Log-likelihood", "-263.20", "AIC", "574.41"] in lines
    assert ["F(8,", "288)", "199.15", "Error,", "resubstitution", "2.0", "%", "(3/150)"] in lines


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize(("p", "k"), [(1, 2), (5, 3), (30, 12)])
def test_text_lines_up_within_a_hundred_columns(name, p, k):
    text = wide_fit(p, k, name).summary().as_text()
    assert max(map(display_width, text.splitlines())) <= 100
    lines = shown(table(4, 2, name), formats="share")
    dots = [
        tuple(display_width(line[: m.start()]) for m in re.finditer(r"\.\d{4}(?=\s|$)", line))
        for line in lines[1:]
    ]
    assert len(set(dots)) == 1
    assert len(dots[0]) == 2


def test_a_long_title_and_a_long_formula_are_folded():
    formula = "y ~ " + " + ".join(f"column_{j}" for j in range(2_000))
    summary = Summary(
        "LDA: " + formula, {"h": Pairs(formula, [HeaderItem("x" * 90, 1, "y" * 90), HeaderItem("b", 2, "2")])}
    )
    lines = summary.as_text().splitlines()
    assert max(map(len, lines)) == 100
    assert sum("column_1999" in line for line in lines) == 2
    assert "…" in summary.as_text()


def test_wide_and_tall_tables_note_omitted_cells():
    text = Summary("T", {"m": Section("Means", table(100, 200), source="fit.means")}).as_text()
    assert "32 of 100 rows and 20 of 200 columns shown; all of them: fit.means." in text
    assert max(map(display_width, text.splitlines())) <= 100
    assert len(text.splitlines()) < 120
    full = Summary("T", {"m": Section("Means", table(40, 24))}).as_text()
    assert "shown" not in full
    assert "…" not in full


def test_a_cut_triangle_shows_every_entry_above_its_diagonal():
    """Entry (i, j) is written as 100 i + j, so that each can be found."""
    i, j = np.minimum(*np.mgrid[:60, :60]), np.maximum(*np.mgrid[:60, :60])
    square = pd.DataFrame(100.0 * i + j).rename(index=str, columns=str)
    summary = Summary("T", {"c": Section("Covariance", square, triangle=True)})
    shown_numbers = [*range(16), *range(56, 60)]
    expected = {str(100 * a + b) for a in shown_numbers for b in shown_numbers if a <= b}
    (cells,) = html_cells(summary)
    assert {c for row in cells[1:] for c in row[1:]} == expected | {"", "…"}
    # The gap is above the diagonal in the header and in the first sixteen rows only.
    assert [row[17] for row in cells] == ["…"] * 17 + [""] * 5
    counted = re.findall(r"(?<=\s)\d+(?=\s|$)", "\n".join(line[2:] for line in summary.as_text().split("\n")))
    assert expected <= set(counted)


def test_shortened_groups_have_a_note():
    index = pd.MultiIndex.from_product([["a", "b"], [f"x{j}" for j in range(50)]])
    lines = shown(pd.DataFrame({"v": range(100)}, index=index), source="fit.log_odds()")
    ellipsis_row = lines.index("…")
    assert lines[ellipsis_row - 1].split() == ["x23", "23"]
    assert lines[ellipsis_row + 1] == "b"
    assert lines[ellipsis_row + 2].split() == ["x42", "92"]
    assert lines[-1] == "32 of 100 rows shown; all of them: fit.log_odds()."


def test_duplicate_labels_keep_their_numbers():
    frame = pd.DataFrame([[1, 2], [3, 4]], index=["a", "a"], columns=["b", "b"])
    assert shown(frame) == ["   b  b", "a  1  2", "a  3  4"]


@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("verb", [lda, qda])
def test_tables_stay_readable_in_other_units(unit, verb):
    data = IRIS.copy()
    data[data.columns[:4]] *= unit
    text = verb("species ~ .", data).summary().as_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "0.00000" not in text
    assert not re.search(r"\d{9}", text)
    means = next(line for line in text.splitlines() if line.startswith("setosa") and "5.006" in line)
    expected = [5.006 * unit, 3.428 * unit, 1.462 * unit, 0.246 * unit]
    assert [float(x) for x in means.split()[1:]] == pytest.approx(expected, rel=1e-14)


# ---- widths


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("width", [40, 60, 77, 160])
def test_text_keeps_to_its_width(name, width):
    lines = wide_fit(5, 3, name).summary().as_text(width).splitlines()
    assert max(map(display_width, lines)) <= width
    assert len({line for line in lines if set(line) == {"="}}) == 1


@settings(max_examples=30)
@given(st.integers(40, 120), st.lists(LABELS, min_size=1, max_size=4), st.text(max_size=150))
def test_any_labels_keep_to_any_width(width, labels, title):
    values = np.resize([-1.23456789e-7, 123456.789, 0.5], (len(labels), len(labels)))
    index = pd.MultiIndex.from_tuples([(label, label) for label in labels])
    frame = Section(title, pd.DataFrame(values, index=index, columns=labels), note=title)
    pairs = Pairs(title, [HeaderItem(label, label, title) for label in labels], note=title)
    text = Summary(title, {"h": pairs, "t": frame}).as_text(width)
    assert max(map(display_width, text.split("\n"))) <= width


@pytest.mark.parametrize("width", [40, 50, 60, 80, 100, 200])
def test_every_width_shows_the_same_numbers(width):
    """Panels cut a table between its columns: nothing is lost, and nothing is rounded otherwise."""

    def numbers(text):
        return sorted(re.findall(r"(?<=\s)-?[\d.]+(?:e[+-]\d+)?(?=\s|$)", text))

    summary = lda("species ~ .", IRIS).summary(["means", "covariance", "functions", "log_odds"])
    assert numbers(summary.as_text(width)) == numbers(summary.as_text(100))


def test_a_wide_header_continues_below():
    items = [
        HeaderItem("Rows used", 150, "150"),
        HeaderItem("A label of more words than fit", 1, "1"),
        HeaderItem("Z", 2, "z " * 15 + "z"),
    ]
    assert Summary("T", {"h": Pairs("y ~ .", items)}).as_text(40).splitlines()[3:-1] == [
        "y ~ .",
        "Rows used                            150",
        "A label of more                        1",
        "words than fit",
        "Z                z z z z z z z z z z z z",
        "                                 z z z z",
    ]


@pytest.mark.parametrize("width", [39, 0, -5, 60.0, "60", True, np.nan, [80]])
def test_invalid_widths_are_refused_with_a_hint(width):
    with pytest.raises(DataError) as caught:
        SUMMARY.as_text(width)
    assert "width=" in str(caught.value)


def test_a_width_may_have_any_integer_type():
    assert SUMMARY.as_text(np.int64(60)) == SUMMARY.as_text(60)


@contextmanager
def terminal(columns: int) -> Iterator[None]:
    """Standard output, of the process too, is a terminal of so many columns; 0 where it does not say."""
    termios = pytest.importorskip("termios", reason="this system has no pseudo-terminals")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    before = os.dup(1)
    os.dup2(theirs, 1)
    try:
        with open(theirs, "w") as screen, redirect_stdout(screen):
            yield
    finally:
        os.dup2(before, 1)
        os.close(before)
        os.close(ours)


@pytest.mark.parametrize(
    ("columns", "wanted"), [("60", 60), ("150", 150), ("10", 40), ("0", 100), ("none", 100)]
)
def test_the_width_follows_the_terminal_settings(monkeypatch, columns, wanted):
    monkeypatch.setenv("COLUMNS", columns)
    with terminal(0):
        assert str(SUMMARY) == repr(SUMMARY) == SUMMARY.as_text() == SUMMARY.as_text(wanted)


@pytest.mark.parametrize("kind", ["pipe", "none", "closed"])
def test_the_width_without_a_terminal_is_100(monkeypatch, kind):
    monkeypatch.setenv("COLUMNS", "60")
    stream = io.StringIO()
    if kind == "closed":
        stream.close()
    with redirect_stdout(None if kind == "none" else stream):
        assert str(SUMMARY) == SUMMARY.as_text(100)


def test_a_real_terminal_has_lines_of_60_columns(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    with terminal(60):
        assert str(SUMMARY) == SUMMARY.as_text(60)
