"""Bad and hard input of the logistic regression: named, refused fast, or fitted as stated."""

from __future__ import annotations

import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

from discrim import logistic
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedColumnsWarning,
    EmptyClassWarning,
    LabelWarning,
    SeparationError,
)
from tests.turns import one_in

IRIS = load_iris()
PAIR = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
FIRST = np.r_[np.zeros(50), np.ones(100)]


def crossed(rows: int, n_levels: int) -> pd.DataFrame:
    """Rows of both classes in every level of g."""
    level, rng = np.arange(rows) % n_levels, np.random.default_rng(0)
    data = pd.DataFrame({"g": np.char.add("g", level.astype(str)), "x": rng.standard_normal(rows)})
    return data.assign(y=(np.arange(rows) // n_levels + level) % 2)


# ------------------------------------------------------------------ classes and weights


@pytest.mark.parametrize("smaller", [False, True])
def test_one_class(smaller):
    with pytest.raises(DataError) as caught:
        logistic("species ~ .", PAIR.iloc[:50], bias_reduction=smaller)
    assert caught.value.classes == ("versicolor",)
    with (
        pytest.warns(EmptyClassWarning, match="'versicolor'"),
        pytest.raises(DataError, match=r"only one class, 'virginica'"),
    ):
        logistic("species ~ .", PAIR, weights=np.r_[np.zeros(50), np.ones(50)], bias_reduction=smaller)


@pytest.mark.parametrize("weights", [np.zeros(100), np.full(100, np.nan)], ids=["zero", "missing"])
def test_no_weight_at_all(weights):
    with pytest.raises(DataError) as caught:
        logistic("species ~ .", PAIR, weights=weights)
    assert "weights" in str(caught.value)
    assert "no observations remain" in str(caught.value)


def test_a_class_of_zero_weight_is_left_out_with_a_warning():
    with pytest.warns(EmptyClassWarning, match="'setosa'"):
        fit = logistic("species ~ sepal_width", IRIS, weights=FIRST)
    alone = logistic("species ~ sepal_width", IRIS[FIRST > 0])
    assert fit.classes.tolist() == ["versicolor", "virginica"]
    np.testing.assert_allclose(fit.log_odds(), alone.log_odds(), rtol=1e-12)
    with (
        pytest.warns(EmptyClassWarning, match="'setosa'"),
        pytest.raises(DataError, match="'setosa'"),
    ):
        logistic("species ~ sepal_width", IRIS, weights=FIRST, reference="setosa")


# ------------------------------------------------------------------ columns


@one_in(
    2,
    {
        "smaller": [False, True],
        "columns, says": [
            (
                {"total": PAIR["petal_width"] + PAIR["sepal_width"]},
                r"'total' is .* 'sepal_width', 'petal_width'",
            ),
            ({"twice": 2 * PAIR["petal_width"]}, r"'twice' is a linear combination of 'petal_width'"),
            (
                {"g": list("ab") * 50, "h": list("uv") * 50},
                r"'h\[T.v\]' is a linear combination of 'g\[T.b\]'",
            ),
        ],
    },
)
def test_singular_designs_name_their_columns(columns, says, smaller):
    with pytest.raises(CollinearError, match=says):
        logistic("species ~ .", PAIR.assign(**columns), bias_reduction=smaller)


def test_a_column_that_only_rows_of_weight_zero_vary_is_constant():
    weights = np.r_[0.0, np.ones(99)]
    with pytest.warns(DroppedColumnsWarning, match="'odd'"):
        fit = logistic("species ~ sepal_width + odd", PAIR.assign(odd=1 - weights), weights=weights)
    without = logistic("species ~ sepal_width", PAIR, weights=weights)
    pd.testing.assert_frame_equal(fit.params, without.params)


def test_fewer_rows_than_columns_are_refused_before_any_product():
    few = PAIR.iloc[[0, 1, 60, 61]]
    for options in ({}, {"bias_reduction": True}):
        with pytest.raises(CollinearError) as caught:
            logistic("species ~ .", few, **options)
        assert "constant" in str(caught.value)
        assert "columns" in str(caught.value)
    weights = np.isin(np.arange(100), [0, 1, 60, 61]).astype(float)
    with pytest.raises(CollinearError) as caught:
        logistic("species ~ .", PAIR, weights=weights)
    assert "4 rows are too few" in str(caught.value)
    rng = np.random.default_rng(0)
    genes = pd.DataFrame(rng.standard_normal((70, 2000))).add_prefix("g").assign(y=np.arange(70) % 2)
    tracemalloc.start()
    with pytest.raises(CollinearError) as caught:
        logistic("y ~ .", genes)
    assert "'g0'" in str(caught.value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The scatter of 2,000 columns alone would be 32 MB.
    assert peak < 8e6


# ------------------------------------------------------------------ categories


def test_three_thousand_levels_are_refused_at_once():
    data = crossed(20_000, 3000)
    for options in ({}, {"bias_reduction": True}):
        tracemalloc.start()
        began = time.perf_counter()
        with pytest.raises(DataError) as caught:
            logistic("y ~ .", data, **options)
        assert "'g'" in str(caught.value)
        assert "`. - g`" in str(caught.value)
        took, peak = time.perf_counter() - began, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert took < 10
        assert peak < 50e6
    fit = logistic("y ~ . - g", data)
    assert list(fit.terms) == ["x"]


def test_classes_and_crossed_categories_count_too():
    three = crossed(12_000, 1500).assign(y=lambda d: np.arange(12_000) % 3)
    with pytest.raises(DataError) as caught:
        logistic("y ~ g", three)
    assert "2,998" in str(caught.value)
    assert "coefficients" in str(caught.value)
    two = crossed(6000, 60).assign(h=lambda d: np.char.add("h", (np.arange(6000) // 120).astype(str)))
    with pytest.raises(DataError) as caught:
        logistic("y ~ g * h", two)
    assert "'g:h'" in str(caught.value)


def test_empty_cells_are_named_before_a_product_is_formed():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"g": np.char.add("g", rng.integers(0, 1900, 20_000).astype(str))})
    data["y"] = rng.permutation(20_000) % 2
    table = pd.crosstab(data["g"], data["y"])
    bare = int((table == 0).any(axis=1).sum())
    assert bare > 1
    tracemalloc.start()
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ g", data)
    assert "bias_reduction=True" in str(caught.value)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("y ~ g + x", r"none of the 2 rows where 'g' is 'w' is of class 'a'\."),
        ("y ~ x + C(g, Sum)", r"none of the 2 rows where 'C\(g, Sum\)' is 'w' is of class 'a'\."),
        ("y ~ g + h + x", r"'g' is 'w' .*; none of the 2 rows where 'h' is 2 is of class 'a'\."),
    ],
)
def test_an_empty_cell_is_named_with_its_class(formula, says):
    data = pd.DataFrame({"g": list("uuuuvvvvwwww"), "y": list("abababab" + "bbaa")})
    data["h"] = pd.Categorical(np.where(np.isin(data.index, [1, 3]), 2, 1))
    data["x"] = np.random.default_rng(0).standard_normal(12)
    # Two rows would fill the cell of 'w' and 'a': one misses x, one has no weight.
    data.loc[10, "x"] = np.nan
    weights = np.where(data.index == 11, 0.0, 1.0)
    with pytest.raises(SeparationError, match=says):
        logistic(formula, data, weights=weights)
    assert np.isfinite(logistic(formula, data, weights=weights, bias_reduction=True).bse).all(axis=None)


def test_missing_rows_are_refused_before_empty_cells():
    data = load_penguins()
    with pytest.raises(DataError) as caught:
        logistic("species ~ island + bill_length_mm", data, na_action="raise")
    assert caught.value.columns == ("bill_length_mm",)
    assert caught.value.rows == (3,)
    with pytest.raises(SeparationError) as caught:
        logistic("species ~ island + bill_length_mm", data)
    assert "'island'" in str(caught.value)
    assert "'Biscoe'" in str(caught.value)


def test_a_hundred_levels_fit_as_their_indicators():
    data = crossed(1000, 100)
    fit = logistic("y ~ .", data)
    wide = pd.get_dummies(data["g"], drop_first=True).assign(x=data["x"], y=data["y"])
    other = logistic("y ~ .", wide)
    assert fit.llf == pytest.approx(other.llf, rel=1e-12)
    assert fit.df_model == 101
    np.testing.assert_allclose(fit.params.loc["x"], other.params.loc["x"], rtol=1e-10)


# ------------------------------------------------------------------ labels


def test_labels_that_differ_by_case_warn_once_and_fit():
    data = PAIR.assign(species=np.where(np.arange(100) % 2, "Yes", " YES"))
    with pytest.warns(LabelWarning, match=r"' YES'.*'Yes'"):
        fit = logistic("species ~ sepal_width", data)
    assert fit.classes.tolist() == [" YES", "Yes"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same = logistic("species ~ sepal_width", data, levels=[" YES", "Yes"])
        fit.confusion(data)
        fit.confusion(method="cv", seed=0)
    assert same.llf == fit.llf
