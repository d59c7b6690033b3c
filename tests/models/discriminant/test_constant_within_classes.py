"""Columns that do not vary within classes: what is said of them is so, and what is advised works."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Shrunk
from discrim.errors import CollinearError, DroppedColumnsWarning, ScaleWarning

CODES = np.repeat(np.arange(4), 12)


def table(column):
    noise = np.random.default_rng(3).normal(size=len(CODES))
    return pd.DataFrame({"y": np.array(list("abcd"))[CODES], "x": noise, "c": column(CODES, noise)})


SEPARATING = {
    "constant": lambda codes, x: np.array([0.7, -1.3, 20.1, 5.0])[codes],
    "tiny": lambda codes, x: 1e-9 * np.array([1.0, 2.0, 4.0, 3.0])[codes],
    "combination": lambda codes, x: 0.3 * x - np.array([0.0, 2.0, 1.0, 7.0])[codes],
}
NOT = {
    "combination": lambda codes, x: 3 * x - 0.1,
    "large combination": lambda codes, x: 1e6 * x + 1e7,
}


@pytest.mark.parametrize("name", SEPARATING)
def test_hint_for_a_column_that_identifies_the_class_separates_the_classes(name):
    data = table(SEPARATING[name])
    with pytest.raises(CollinearError) as caught:
        discrim.lda("y ~ .", data=data)
    assert caught.value.columns == ("c",)
    with pytest.warns(DroppedColumnsWarning, match="'c'"):
        less = discrim.lda("y ~ .", data=data, collinear="drop")
    assert (less.predict() != data["y"]).mean() > 0.3
    fit = discrim.lda("y ~ .", data=data, covariance=Shrunk(1e-6, standardize=True))
    assert (fit.leave_one_out()["label"] == data["y"]).all()


def test_a_column_that_separates_one_class_is_not_reported_to_separate_all():
    data = table(lambda codes, x: np.where(codes == 2, 1.5, 0.5))
    with pytest.raises(CollinearError) as raised:
        discrim.lda("y ~ .", data=data)
    assert raised.value.columns == ("c",)
    assert "these" not in str(raised.value)


def test_stepwise_reports_an_excluded_column_that_separates_classes():
    data = table(SEPARATING["constant"])
    note = discrim.stepwise("y ~ .", data).summary().as_text().replace("\n", " ")
    assert "Left out, constant within classes or there a combination of those chosen: 'c'." in note
    assert "'c' differs between classes: classes that differ in it are separated without error" in " ".join(
        note.split()
    )
    twice = data.assign(c=data["x"] * 2)
    assert "separated" not in discrim.stepwise("y ~ .", twice, enter=1, stay=1).summary().as_text()


@pytest.mark.parametrize("name", NOT)
def test_a_redundant_column_is_not_reported_as_separating(name):
    data = table(NOT[name])
    with pytest.raises(CollinearError) as raised:
        discrim.lda("y ~ .", data=data)
    assert raised.value.columns == ("c",)
    assert "separated" not in str(raised.value)
    with pytest.warns(DroppedColumnsWarning) as message:
        discrim.lda("y ~ .", data=data, collinear="drop")
    assert not any("apart" in str(warning.message) for warning in message)


@pytest.mark.parametrize("verb", ["lda", "nearest_centroid"])
def test_warnings_state_which_standard_deviation_is_meant(verb):
    data = table(lambda codes, x: np.array([0.0, 300.0, 100.0, -200.0])[codes])
    options = {"covariance": "shrunk"} if verb == "lda" else {}
    with pytest.warns(ScaleWarning) as message:
        getattr(discrim, verb)("y ~ .", data=data, **options)
    (text,) = [str(warning.message) for warning in message]
    assert f"deviation of {data['c'].std(ddof=0):.3g} over all rows" in text
    within = np.sqrt(data.groupby("y")["x"].var().mean())
    assert f"deviation of {within:.3g} within classes" in text
    assert 'covariance="diagonal"' not in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discrim.lda("y ~ .", data=data, covariance=Shrunk(standardize=True))
