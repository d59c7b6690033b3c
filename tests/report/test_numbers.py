"""Numbers and labels as texts, of ordinary and of unruly ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim.report.grid import (
    align_points,
    clean,
    column_texts,
    display_width,
    fold,
    format_pvalue,
    short_labels,
    shorten,
)
from tests.report.support import (
    LABELS,
)


@pytest.mark.parametrize(
    ("values", "form", "texts"),
    [
        ([13.4558634, -7.84595831, 0.0], "general", ["13.456", "-7.846", "0.000"]),
        ([5.006, 5.936, 6.5], "general", ["5.006", "5.936", "6.500"]),
        ([1.0, np.nan, np.inf, -np.inf], "general", ["1", "nan", "inf", "-inf"]),
        ([-1e-9, 1.0], "share", ["-1.0e-09", "1.0000"]),
        ([-0.0, 0.25], "general", ["0.00", "0.25"]),
        ([2.65008e-19, 9.2721e-20, 0.0], "general", ["2.6501e-19", "9.2721e-20", "0.0000e+00"]),
        ([1.5e120, 2.25e-7], "general", ["1.50e+120", "2.25e-007"]),
        ([3.0, 12.0], "count", ["3", "12"]),
        ([3.5, 12.0], "count", ["3.5", "12.0"]),
        ([-12.346, 0.004], "z", ["-12.35", "0.00"]),
        ([1e12], "z", ["1e+12"]),
        ([0.33333, 0.0, 1e-300], "share", ["0.3333", "0.0000", "1.0e-300"]),
        ([0.0121, 0.0009, 0.0], "p", ["0.012", "<0.001", "<0.001"]),
        ([0.0121, 7.31e-22, 0.0, np.nan], "tail", ["0.0121", "7.3e-22", "<1e-300", "nan"]),
        (["a\nb", None, pd.NA, np.nan, 3], "text", ["a\\nb", "", "", "", "3"]),
        ([], "general", []),
    ],
)
def test_column_texts_agree_with_examples(values, form, texts):
    assert column_texts(values, form) == texts


@settings(max_examples=200)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=6))
def test_shown_numbers_are_rounded_correctly(values):
    texts = column_texts(values, "general")
    for value, text in zip(values, texts, strict=True):
        digits = len(text.split("e")[0].partition(".")[2])
        exponent = int(text.split("e")[1]) if "e" in text else 0
        assert abs(float(text) - value) <= 0.5001 * 10.0 ** (exponent - digits)
        assert not text.startswith("-") or float(text) != 0
        assert value == 0 or float(text) != 0
    assert len({len(text.partition(".")[2]) for text in texts}) == 1


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=6), st.integers(0, 3))
def test_no_number_shows_more_digits_than_it_has(integers, decimals):
    texts = column_texts([i / 10**decimals for i in integers], "general")
    assert all("e" in text or len(text.partition(".")[2]) <= decimals for text in texts)


@given(st.floats(0, 1))
def test_a_p_value_is_never_zero(p):
    assert float(format_pvalue(p).lstrip("<")) > 0
    (short,) = column_texts([p], "p")
    assert short == "<0.001" or float(short) > 0


@pytest.mark.slow
@given(st.lists(st.decimals(-999, 999, places=None, allow_nan=False), min_size=1, max_size=5))
def test_decimal_points_are_aligned(numbers):
    texts = [f"{number:f}" for number in numbers]
    aligned = align_points(texts)
    assert [text.rstrip() for text in aligned] == texts
    assert len({len(text) - (text.find(".") if "." in text else len(text.rstrip())) for text in aligned}) == 1


@pytest.mark.slow
@given(st.text(max_size=80))
def test_labels_become_one_printable_line_of_bounded_width(label):
    text = clean(label)
    assert text.replace("\N{NO-BREAK SPACE}", "").isprintable() or any(c.isspace() for c in text)
    assert text.splitlines() in ([text], [])
    assert display_width(shorten(text, 28)) <= 28


@pytest.mark.slow
@given(st.lists(LABELS, max_size=8))
def test_shortened_labels_stay_distinct(labels):
    texts = short_labels(labels)
    assert len(set(texts)) == len({clean(label) for label in labels})
    assert all(display_width(text) <= 46 for text in texts)


def test_labels_that_differ_only_in_the_cut_part_stay_distinct():
    before, after = "x" * 30 + " before " + "y" * 30, "x" * 30 + " after " + "y" * 30
    first, second, again = short_labels([before, after, before])
    assert first != second
    assert first.endswith("yy~1")
    assert again.endswith("yy~3")


@settings(max_examples=40)
@given(st.text(st.sampled_from("ab 花e\u0301"), max_size=120), st.integers(2, 20))
def test_folding_keeps_the_text_and_the_width(text, width):
    lines = fold(text, width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
