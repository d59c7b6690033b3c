"""Tables and pictures: what is shown, in every format, of ordinary and of unruly input."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import lda, qda
from discrim.datasets import load_iris
from discrim.errors import DataError
from discrim.report.numbers import clean, column_texts, display_width, p_text, shorten
from discrim.report.tables import Pairs, Section, Summary, summarize

mpl.use("Agg")

IRIS = load_iris()
SUMMARY = lda("species ~ .", IRIS).summary()


def table(n: int, p: int, name=str) -> pd.DataFrame:
    rng = np.random.default_rng(n + p)
    return pd.DataFrame(
        rng.standard_normal((n, p)), index=[name(i) for i in range(n)], columns=[name(j) for j in range(p)]
    )


def wide_fit(p: int, k: int, name=str):
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(k), 4 + 2 * p // k)
    x = rng.standard_normal((len(y), p)) + rng.standard_normal((k, p))[y]
    labels = np.array([name(j) for j in range(k)], dtype=object)[y]
    return lda("y ~ .", pd.DataFrame(x, columns=[name(j) for j in range(p)]).assign(y=labels))


def test_a_small_table_as_it_should_stand():
    part = pd.DataFrame({"a": [1.0, -20.5], "n": [3, 12]}, index=["first", "second"])
    summary = Summary("T", {"t": Section("Things", part, {"a": "z", "n": "count"}, note="Of note.")})
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
    assert summary.as_markdown().splitlines()[4:8] == [
        "|  | a | n |",
        "| :-- | --: | --: |",
        "| first | 1.00 | 3 |",
        "| second | -20.50 | 12 |",
    ]


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


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_shown_numbers_are_the_numbers_within_their_digits(values):
    texts = column_texts(values, "general")
    biggest = max(map(abs, values))
    for value, text in zip(values, texts, strict=True):
        digits = len(text.split("e")[0].partition(".")[2])
        exponent = int(text.split("e")[1]) if "e" in text else 0
        assert abs(float(text) - value) <= 0.5001 * 10.0 ** (exponent - digits) or biggest < 1e-300
        assert not text.startswith("-0.0") or float(text) != 0
    if not any("e" in text for text in texts):
        assert len({len(text.partition(".")[2]) for text in texts}) == 1


@given(st.floats(0, 1))
def test_a_p_value_is_never_zero(p):
    assert float(p_text(p).lstrip("<")) > 0
    (short,) = column_texts([p], "p")
    assert short == "<0.001" or float(short) > 0


@given(st.text(max_size=80))
def test_labels_become_one_printable_line_of_bounded_width(label):
    text = clean(label)
    assert "\n" not in text
    assert "\x1b" not in text
    assert display_width(shorten(text, 28)) <= 28


@pytest.mark.parametrize(
    "name",
    [
        str,
        lambda j: f"a rather long label of sixty characters, give or take, number {j}",
        lambda j: f"длина {j}",
        lambda j: f"花弁の長さ{j}",
        lambda j: f"e\u0301tamine {j}",
        lambda j: f"bell\x07 tab\t {j}",
    ],
    ids=["plain", "long", "cyrillic", "chinese", "combining", "control"],
)
@pytest.mark.parametrize(("p", "k"), [(1, 2), (5, 3), (30, 12)])
def test_text_lines_up_within_a_hundred_columns(name, p, k):
    summary = wide_fit(p, k, name).summary()
    text = summary.as_text()
    assert max(map(display_width, text.splitlines())) <= 100
    section = Summary("T", {"m": Section("Means", table(4, 2, name), "share")}).as_text().splitlines()
    dots = [
        [display_width(line[: m.start()]) for m in re.finditer(r"\.\d{4}(?=\s|$)", line)]
        for line in section[5:9]
    ]
    assert len({tuple(row) for row in dots}) == 1
    assert len(dots[0]) == 2


def test_wide_and_tall_tables_say_what_they_leave_out():
    text = Summary("T", {"m": Section("Means", table(100, 200), source="fit.means")}).as_text()
    assert "32 of 100 rows and 20 of 200 columns shown; all of them: fit.means." in text
    assert max(map(display_width, text.splitlines())) <= 100
    assert len(text.splitlines()) < 120


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


HOSTILE = "<script>alert(1)</script> & | $x_1$ \\end{tabular} `a` *b* {c} #1 100% ~ ^"


def hostile_summary():
    part = pd.DataFrame({HOSTILE: [1.5]}, index=[HOSTILE])
    return Summary(
        HOSTILE, {"h": Pairs(HOSTILE, [("label", 1, "1")]), "t": Section(HOSTILE, part, note=HOSTILE)}
    )


def test_html_is_balanced_and_escaped():
    for summary in (SUMMARY, hostile_summary()):
        parser = Balanced()
        parser.feed(summary.as_html())
        assert parser.open == []
        assert "script" not in parser.tags


def test_latex_is_balanced_and_escaped():
    for summary in (SUMMARY, hostile_summary()):
        text = summary.as_latex()
        assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == len(summary.tables)
        bare = re.sub(r"\\[&%$#_{}\\]", "", text)
        assert not re.search(r"[%$#_^~]", bare)
        assert bare.count("{") == bare.count("}")


def test_markdown_keeps_hostile_labels_in_their_cells():
    rows = [line for line in hostile_summary().as_markdown().splitlines() if line.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert bars == [5, 5, 5, 3, 3, 3]
    assert "<script>" not in hostile_summary().as_markdown().replace("\\<", "")


def test_every_format_shows_the_same_numbers():
    number = re.compile(r"\d+\.\d+(?:e[+-]\d+)?")
    summary = lda("species ~ .", IRIS).summary(["means", "log_odds"])
    shown = [
        sorted(number.findall(text))
        for text in (
            summary.as_text(),
            re.sub("(?s)<style>.*?</style>", "", summary.as_html()),
            summary.as_latex(),
            summary.as_markdown().replace("\\", ""),
        )
    ]
    assert shown[0] == shown[1] == shown[2] == shown[3]


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_other_units_stay_readable(unit):
    data = IRIS.copy()
    data[data.columns[:4]] *= unit
    text = lda("species ~ .", data).summary().as_text()
    assert max(map(len, text.splitlines())) <= 100
    assert "0.00000" not in text
    assert not re.search(r"\d{10}", text)


def test_missing_and_infinite_numbers_are_shown():
    assert column_texts([1.5, np.nan, np.inf], "general") == ["1.5", "nan", "inf"]


def test_repr_is_short_and_qda_lists_its_covariances():
    assert len(repr(lda("species ~ .", IRIS)).splitlines()) < 30
    keys = list(qda("species ~ .", IRIS).summary().tables)
    assert [key for key in keys if key.startswith("covariance")] == [
        "covariance setosa",
        "covariance versicolor",
        "covariance virginica",
    ]


@pytest.mark.parametrize("k", [2, 3, 40])
def test_plots_of_scores(k):
    fit = wide_fit(3, k, lambda j: f"$x_{j}$ _{j}")
    axes = fit.plot()
    assert axes.get_xlabel() == "LD1"
    assert (axes.get_legend() is None) == (k > 12)
    axes.figure.canvas.draw()


def test_plots_of_regions_and_posteriors():
    fit = qda("species ~ petal_length + sepal_width", IRIS)
    axes = fit.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("petal_length", "sepal_width")
    axes.figure.canvas.draw()
    other = qda("species ~ .", IRIS).plot()
    assert [label.get_text() for label in other.get_yticklabels()] == list(fit.classes)
