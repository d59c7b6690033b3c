"""Tests of the difference of two areas under ROC curves against definitions over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discrim.errors import NotSupportedError
from discrim.inference.roc import roc_area
from discrim.inference.roc_tests import bootstrap_area_test, delong_test


def delong_by_pairs(scores, positive):
    """Return the difference and DeLong's standard error from the matrix of all pairs."""
    kernels = []
    for score in scores:
        x, y = score[positive][:, None], score[~positive][None, :]
        kernels.append((x > y) + 0.5 * (x == y))
    within_class = np.cov([kernel.mean(axis=1) for kernel in kernels])
    within_others = np.cov([kernel.mean(axis=0) for kernel in kernels])
    covariance = within_class / positive.sum() + within_others / (~positive).sum()
    variance = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    return kernels[0].mean() - kernels[1].mean(), np.sqrt(max(variance, 0.0))


small_scores = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.booleans()), min_size=4, max_size=30
)


@given(small_scores)
def test_delong_with_ties_equals_the_matrix_of_pairs(rows):
    first, second, positive = (np.array(column) for column in zip(*rows, strict=True))
    if positive.sum() < 2 or (~positive).sum() < 2:
        return
    test = delong_test((first.astype(float), second.astype(float)), positive, np.ones(len(rows)))
    difference, se = delong_by_pairs((first, second), positive)
    assert test.difference == pytest.approx(difference, abs=1e-12)
    assert test.se == pytest.approx(se, abs=1e-7)
    assert test.area_a == pytest.approx(roc_area(first.astype(float), positive).auc, abs=1e-12)


def test_a_frequency_weight_counts_as_that_many_rows():
    rng = np.random.default_rng(3)
    positive = rng.random(40) < 0.4
    scores = rng.standard_normal((2, 40)).round(1) + positive
    weights = rng.integers(1, 5, 40)
    repeated = np.repeat(np.arange(40), weights)
    weighted = delong_test((scores[0], scores[1]), positive, weights.astype(float))
    plain = delong_test(
        (scores[0][repeated], scores[1][repeated]), positive[repeated], np.ones(len(repeated))
    )
    assert weighted.se == pytest.approx(plain.se, rel=1e-12)
    assert weighted.pvalue == pytest.approx(plain.pvalue, rel=1e-9)


def test_equal_rankings_do_not_differ():
    positive = np.array([True, False, True, False])
    scores = np.array([0.1, 0.2, 0.7, 0.3])
    test = delong_test((scores, 10 * scores), positive, np.ones(4))
    assert (test.difference, test.statistic, test.pvalue) == (0.0, 0.0, 1.0)


def test_without_variance_a_difference_is_not_tested():
    positive = np.arange(8) < 4
    test = delong_test((positive.astype(float), np.zeros(8)), positive, np.ones(8))
    assert test.difference == 0.5
    assert np.isnan([test.statistic, test.pvalue, test.low, test.high]).all()


def test_one_side_only_has_no_area():
    test = delong_test((np.arange(3.0), np.arange(3.0)), np.ones(3, dtype=bool), np.ones(3))
    assert np.isnan(test.area_a)


def test_bootstrap_agrees_with_delong_in_a_large_sample():
    rng = np.random.default_rng(5)
    positive = rng.random(800) < 0.3
    first = rng.standard_normal(800) + positive
    second = 0.5 * first + rng.standard_normal(800) + 0.4 * positive
    arguments = (first, second), positive, np.ones(800)
    exact = delong_test(*arguments)
    drawn = bootstrap_area_test(*arguments, replicates=1500, seed=1)
    assert drawn.difference == exact.difference
    # The standard error of a standard deviation of 1,500 draws is 1.8 percent.
    assert drawn.se == pytest.approx(exact.se, rel=0.08)
    assert (drawn.low, drawn.high) == pytest.approx((exact.low, exact.high), abs=0.15 * exact.se * 3.92)


def test_bootstrap_repeats_by_seed_and_rejects_fractional_weights():
    positive = np.arange(20) % 3 == 0
    scores = np.random.default_rng(2).standard_normal((2, 20))
    arguments = (scores[0], scores[1]), positive
    first, second = (bootstrap_area_test(*arguments, np.ones(20), replicates=50, seed=4) for _ in range(2))
    assert first == second
    with pytest.raises(NotSupportedError):
        bootstrap_area_test(*arguments, np.full(20, 0.5))
