"""Summaries and their sections: what is computed, and what every rendering shares."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import lda, qda
from discrim.errors import DataError
from discrim.report.grid import SHARED_HEADINGS, HeaderItem, Pairs, Section, display_width
from discrim.report.tables import Summary, summarize
from tests.report.support import (
    IRIS,
    LABELS,
    SUMMARY,
    html_cells,
    latex_rows,
    markdown_cells,
    shown,
    wide_fit,
)


def test_the_sections_of_lda_are_in_order():
    keys = "header classes means discriminants functions log_odds covariance equal_covariances"
    assert list(SUMMARY.tables) == keys.split()
    picked = lda("species ~ .", IRIS).summary(sections=["means", "classes"])
    assert list(picked.tables) == ["means", "classes"]
    with pytest.raises(DataError) as caught:
        lda("species ~ .", IRIS).summary(["nothing"])
    assert "header" in str(caught.value)
    assert "classes" in str(caught.value)


def test_only_requested_sections_are_computed():
    def never():
        raise AssertionError("computed")

    summary = summarize("T", {"a": lambda: Pairs("f", [HeaderItem("x", 1, "1")]), "b": never}, ["a"])
    assert list(summary.tables) == ["a"]


def test_tables_have_full_precision():
    fit = lda("species ~ .", IRIS)
    pd.testing.assert_frame_equal(SUMMARY.tables["covariance"], fit.cov)
    assert SUMMARY.tables["header"].loc["Log-likelihood", "value"] == fit.llf


def test_changing_a_table_changes_neither_the_fit_nor_later_tables():
    fit = lda("species ~ .", IRIS)
    summary = fit.summary()
    expected = {key: table.copy() for key, table in summary.tables.items()}
    text, classes, means = str(summary), fit.classes.copy(), fit.means.copy()
    for table in summary.tables.values():
        table.index.names = [f"row {i}" for i in range(table.index.nlevels)]
        table.columns.name = "column"
        table.iloc[0, 0] = 7
    for tables in (summary.tables, fit.summary().tables):
        for key, table in tables.items():
            pd.testing.assert_frame_equal(table, expected[key])
    assert str(fit.summary()) == str(summary) == text
    assert fit.classes.name == classes.name == "species"
    pd.testing.assert_frame_equal(fit.means, means)


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


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data(), st.lists(LABELS, min_size=1, max_size=5), st.lists(LABELS, min_size=1, max_size=5))
def test_any_labels_and_numbers_in_every_format(data, rows, columns):
    values = data.draw(
        st.lists(
            st.lists(st.floats(), min_size=len(columns), max_size=len(columns)),
            min_size=len(rows),
            max_size=len(rows),
        )
    )
    title = data.draw(st.text(max_size=150))
    frame = Section(title, pd.DataFrame(values, index=rows, columns=columns), note=title)
    summary = Summary(title, {"h": Pairs(title, [HeaderItem(title, title, title)] * 3), "t": frame})
    text = summary.as_text()
    assert max(map(display_width, text.split("\n"))) <= 100
    in_html, in_markdown = html_cells(summary), markdown_cells(summary)
    assert in_html == in_markdown
    # LaTeX breaks a wide header of labels and values into one column of them, and into several tables.
    assert latex_rows(summary)[-1] == [len(row) for row in in_html[1]]


def test_every_format_shows_the_same_cells():
    in_html = html_cells(SUMMARY)
    assert in_html == markdown_cells(SUMMARY)
    # LaTeX breaks a wide header of labels and values into one column of them.
    assert latex_rows(SUMMARY)[1:] == [[len(row) for row in rows] for rows in in_html[1:]]
    text = SUMMARY.as_text()
    for rows in in_html[1:]:
        for row in rows:
            assert re.search(r"\s+".join(map(re.escape, filter(None, row))), text)


# ---- decimals by row


def decimals(text: str) -> int:
    return len(text.strip().partition(".")[2])


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6)).filter(lambda row: row[1] > 1e-7 * abs(row[0])),
        min_size=1,
        max_size=5,
    )
)
def test_estimates_errors_and_limits_have_the_same_decimals(rows):
    table = pd.DataFrame(rows, columns=["coef", "se"])
    table = table.assign(
        z=1.0, low=table["coef"] - 1.96 * table["se"], high=table["coef"] + 1.96 * table["se"]
    )
    table.index = [f"r{i}" for i in range(len(table))]
    (cells,) = html_cells(Summary("T", {"t": Section("Things", table, {"z": "z"}, headings=SHARED_HEADINGS)}))
    for row, (_, coef, se, _, low, high) in zip(table.itertuples(), cells[1:], strict=True):
        texts = [coef, se, low, high]
        assert len({decimals(text.partition("e")[0]) for text in texts}) == 1
        values = [row.coef, row.se, row.low, row.high]
        off = [abs(float(text) - value) for text, value in zip(texts, values, strict=True)]
        # Three digits of the standard error, in each of the four.
        assert max(off) <= 0.0051 * row.se


def test_a_ratio_near_one_differs_from_its_limits():
    table = pd.DataFrame({"ratio": [1.001017, 8.5], "low": [1.000629, 0.01], "high": [1.001405, 7225.0]})
    table.index = ["x", "y"]
    (cells,) = html_cells(Summary("T", {"t": Section("Things", table, "ratio")}))
    assert cells[1:] == [["x", "1.00102", "1.00063", "1.00141"], ["y", "8.5000", "0.0100", "7225.0000"]]


def test_decimal_points_are_aligned_for_different_decimals():
    frame = pd.DataFrame(
        {"a": [-3574519.2489, 1.04646086, 2.5e-8], "b": [1.0, 12.25, -3e-7]}, index=list("xyz")
    )
    lines = shown(frame.set_axis(list("xyz")), errors=[1e-4, 1e-8, 1e-13])
    assert lines == [
        "                   a            b",
        "x  -3574519.2489       1.0000",
        "y         1.04646086  12.25000000",
        "z         2.5e-08     -3.0e-07",
    ]


# ---- covariances in powers of ten


@pytest.mark.filterwarnings("ignore::discrim.errors.PrecisionWarning")
@pytest.mark.parametrize("units", [[1, 1, 1, 1], [1e-9, 1, 1e9, 1e3], [1e-170, 1, 1, 1e150]])
def test_covariances_in_powers_of_ten_are_shown_as_correlations(units):
    data = IRIS.copy()
    data[data.columns[:4]] *= units
    fit = lda("species ~ .", data)
    summary = fit.summary(sections=["covariance"])
    pd.testing.assert_frame_equal(summary.tables["covariance"], fit.cov)
    (cells,) = html_cells(summary)
    if units[0] == 1:
        assert list(summary.tables) == ["covariance"]
        assert cells[1][1] == "0.26501"
        return
    correlations = summary.tables["correlations"]
    deviations = IRIS.iloc[:, :4] - IRIS.groupby("species").transform("mean")
    assert correlations["sd"].to_numpy() == pytest.approx(
        np.sqrt((deviations**2).sum() / 147) * units, rel=1e-12
    )
    assert correlations.iloc[:, 1:].to_numpy() == pytest.approx(np.corrcoef(deviations.T), abs=1e-12)
    assert "Standard deviations and correlations: pooled covariance" in summary.as_text()
    assert cells[1][2:] == ["1.0000", "0.5302", "0.7562", "0.3645"]
    assert cells[2][2] == ""
    assert "e" not in "".join(text for row in cells[1:] for text in row[2:])


def test_correlations_of_each_class_are_labelled():
    data = IRIS.assign(petal_width=1e9 * IRIS["petal_width"])
    tables = qda("species ~ .", data).summary().tables
    assert [key for key in tables if key.startswith("corr")] == [
        "correlations setosa",
        "correlations versicolor",
        "correlations virginica",
    ]
    expected = IRIS[IRIS["species"] == "setosa"].iloc[:, :4].corr().to_numpy()
    assert tables["correlations setosa"].iloc[:, 1:].to_numpy() == pytest.approx(expected, abs=1e-12)


# ---- long tables among others


def test_a_summary_of_26_classes_is_short_and_says_how_to_see_the_rest():
    fit = wide_fit(16, 26)
    text = fit.summary("all").as_text()
    assert len(text.splitlines()) < 180
    assert len(fit.summary().as_text().splitlines()) < 120
    joined = " ".join(text.split())
    assert "6 of 26 columns shown; all of them: fit.coef, fit.intercept." in joined
    hints = re.findall(r"More of them: (summary\(sections=\['(\w+)'\]\))", joined)
    assert {key for _, key in hints} == {"means", "covariance", "discriminants", "functions"}
    for expression, key in hints:
        alone = eval(f"fit.{expression}", {"fit": fit})
        assert "all of them" not in alone.as_text()
        assert len(alone.tables[key]) == len(fit.summary().tables[key])
    assert len(repr(fit).splitlines()) < 80


def test_texts_in_numeric_columns_are_right_aligned():
    fit = lda("species ~ .", IRIS, prior={"setosa": 0, "versicolor": 0.5, "virginica": 0.5})
    lines = fit.summary(["functions"]).as_text().splitlines()
    ends = [re.search(r"\S+(?=\s+-?\d+\.\d+\s+-?\d+\.\d+$)", line).end() for line in lines[5:10]]
    assert len(set(ends)) == 1
    assert lines[5].split()[:2] == ["constant", "-inf"]


def test_a_term_named_like_the_sd_column_keeps_its_correlations():
    data = IRIS.rename(columns={"sepal_length": "sd"}).assign(petal_width=1e9 * IRIS["petal_width"])
    correlations = lda("species ~ .", data).summary(["covariance"]).tables["correlations"]
    assert list(correlations.columns[:2]) == ["standard deviation", "sd"]
    assert correlations.loc["sd", "sd"] == 1
