"""`compare(folds=)`: McNemar's test of groups by brute force, priors, and arguments that are none."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import compare, cross_validate, lda, qda
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, NotSupportedError
from discrim.inference.resampling import grouped_mcnemar, mcnemar

IRIS, PENGUINS = load_iris(), load_penguins()


# ------------------------------------------------------------------ McNemar's test of groups


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_test_of_groups_agrees_with_all_their_signs(seed):
    d = np.random.default_rng(seed).integers(-4, 6, size=9).astype(float)
    sums = np.array([np.dot(signs, d) for signs in product([-1, 1], repeat=9)])
    result = grouped_mcnemar(d)
    assert result.exact == pytest.approx((np.abs(sums) >= abs(d.sum())).mean(), rel=1e-12)
    # Signs that are as likely as not: sum d^2 is the variance of the sum.
    assert result.statistic == pytest.approx((abs(d.sum()) - 1) ** 2 / sums.var())
    assert grouped_mcnemar(-d) == result


@pytest.mark.parametrize(("b", "c"), [(0, 0), (5, 5), (1, 0), (2, 11), (60, 40), (0, 900)])
def test_groups_of_one_row_give_mcnemars_test(b, c):
    d = np.repeat([1.0, -1.0, 0.0], [b, c, 30])
    assert grouped_mcnemar(d) == pytest.approx(mcnemar(b, c), rel=1e-9)


def test_an_exact_test_that_takes_too_long_is_missing():
    d = np.r_[np.full(40, 1e9), np.full(30, -1e9)]
    result = grouped_mcnemar(d)
    assert np.isnan(result.exact)
    assert result.pvalue == pytest.approx(mcnemar(40, 30).pvalue, rel=0.3)


def test_common_errors_of_a_group_count_once():
    """Two equally good rules whose errors come in groups of ten: rows mislead, groups do not."""
    rng = np.random.default_rng(4)
    of_rows, of_groups = [], []
    for _ in range(400):
        d = 10 * rng.choice([-1, 0, 1], p=[0.2, 0.6, 0.2], size=40)
        of_rows.append(mcnemar((d > 0).sum() * 10, (d < 0).sum() * 10).exact)
        of_groups.append(grouped_mcnemar(d.astype(float)).exact)
    # Binomial(400, .05) is 34 or more once in 1,000 times.
    assert (np.array(of_groups) < 0.05).sum() <= 33
    assert (np.array(of_rows) < 0.05).sum() > 120


# ------------------------------------------------------------------ priors and weights


def test_a_common_prior_is_recognized_in_any_order_of_levels():
    prior = {"setosa": 0.2, "versicolor": 0.3, "virginica": 0.5}
    one = lda("species ~ .", IRIS, prior=prior)
    other = [
        qda("species ~ .", IRIS, prior=prior, levels=levels)
        for levels in (None, ["virginica", "setosa", "versicolor"])
    ]
    same, rotated = (compare(one, fit, folds=5, seed=1).pairs().iloc[0] for fit in other)
    assert same["error_a"] == pytest.approx(cross_validate(one, 5, seed=1).table().loc["error", "estimate"])
    pd.testing.assert_series_equal(same, rotated, check_names=False)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_fractional_weights_are_refused():
    weights = np.full(150, 0.5)
    fits = [lda(f"species ~ {x}", IRIS, weights=weights) for x in ("sepal_length", "sepal_width")]
    for seed in range(4):
        with pytest.raises(NotSupportedError) as caught:
            compare(*fits, folds=5, seed=seed).pairs()
        assert "whole" in str(caught.value)
        assert "numbers" in str(caught.value)


# ------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"folds": 1000}, "^folds=1000 is not valid. Pass a whole number from 2 to 150"),
        ({"folds": True}, "^folds=True"),
        ({"folds": [1, 2]}, "^folds= has 2 values"),
        ({"folds": np.ones(150)}, "^folds= has one fold only"),
        ({"folds": [None, *[1, 2] * 74, 1]}, "^folds= has a missing value at row 0"),
        ({"folds": np.arange(150) % 3, "repeats": 2}, "^folds= with the fold of each row"),
        ({"folds": 10, "groups": np.arange(150) % 4}, "4 groups, too few for folds=10"),
        (
            {"folds": iter([1, 2] * 75)},
            "^folds=<list_.* is not valid. Pass the name of a column, or a vector",
        ),
        (
            {"folds": 5, "groups": np.zeros((150, 2))},
            "^groups=array.{,40} is not valid. Pass the name of a column, or a vector",
        ),
        ({"folds": 5, "seed": np.random.default_rng(1)}, "^seed=Generator"),
    ],
)
def test_messages_name_the_argument(options, says):
    with pytest.raises(DataError, match=says):
        compare(lda("species ~ .", IRIS), qda("species ~ .", IRIS), **options)


def test_objects_that_are_not_fits_are_refused(tmp_path):
    fit = lda("species ~ .", IRIS)
    distribution = discrim.bayes([0.5, 0.5], pd.DataFrame([[0.2, 0.8], [0.6, 0.4]], index=["a", "b"]))
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    for options in ({}, {"folds": 5}):
        with pytest.raises(DataError) as caught:
            compare(fit, 3, **options)
        assert "compare()" in str(caught.value)
        with pytest.raises(DataError) as caught:
            compare([fit, fit], **options)
        assert "argument" in str(caught.value)
        with pytest.raises(NotSupportedError) as caught:
            compare(distribution, fit, **options)
        assert "error_rate" in str(caught.value)
        with pytest.raises(DataError) as caught:
            compare(**options)
        assert "compare() requires fits" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(distribution)
    assert "known distribution" in str(caught.value)
    assert "risk(fit)" in caught.value.hint
    with pytest.raises(DataError) as caught:
        cross_validate(lda)
    assert "data=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        cross_validate(SimpleNamespace(results_=fit))
    assert "Pass its results_" in str(caught.value)
    with pytest.raises(DataError) as caught:
        compare(discrim.stepwise("species ~ .", IRIS))
    assert "attribute fit" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        compare(fit, loaded, folds=5)
    assert "unpickled" in str(caught.value)
    assert "Argument 2" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        compare(fit, discrim.knn("species ~ .", IRIS, k=130), folds=2, seed=0)
    assert "Without" in str(caught.value)
    assert "fold" in str(caught.value)


# ------------------------------------------------------------------ groups in the classes


def test_errors_by_class_account_for_groups():
    groups = np.arange(len(PENGUINS)) // 6
    formula = "species ~ bill_length_mm"
    cv = cross_validate(lda(formula, PENGUINS), 5, groups=groups, seed=0)
    table = cv.by_class
    used = cv.labels[1].notna()
    for name in table.index:
        at = used & (PENGUINS["species"] == name)
        wrong = (cv.labels[1][at].astype(object) != name).astype(float)
        sums = (wrong - wrong.mean()).groupby(groups[at]).sum()
        g = len(sums)
        error = np.sqrt(g / (g - 1) * (sums**2).sum()) / len(wrong)
        assert table.loc[name, "error"] == pytest.approx(wrong.mean())
        assert table.loc[name, "se"] == pytest.approx(error)
