"""Conformal p-values and scores: brute force, exchangeability by enumeration, and ties."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from discrim.inference.conformal import (
    CalibrationScores,
    conformal_pvalues,
    min_calibration_rows,
    miss_probability,
    nonconformity_scores,
)

few = st.integers(0, 5).map(float)


def counted(held, weights, score):
    return sum((w for s, w in zip(held, weights, strict=True) if s >= score), Fraction(0))


@settings(max_examples=80)
@given(st.lists(st.tuples(few, st.integers(1, 4)), min_size=1, max_size=12), few)
def test_p_values_are_counts_and_weights_equal_repeated_rows(rows, score):
    held, weights = zip(*rows, strict=True)
    pvalues = conformal_pvalues(
        CalibrationScores.from_values(np.array(held), np.array(weights, dtype=float)), np.array([score])
    )
    expected = (counted(held, weights, score) + 1) / Fraction(sum(weights) + 1)
    assert pvalues[0] == float(expected)
    repeated = CalibrationScores.from_values(np.repeat(held, weights))
    assert conformal_pvalues(repeated, np.array([score]))[0] == pvalues[0]


@settings(max_examples=40)
@given(st.lists(few, min_size=2, max_size=10))
def test_a_row_left_out_is_compared_with_the_others(held):
    scores = np.array(held)
    pvalues = conformal_pvalues(
        CalibrationScores.from_values(scores), scores, left_out=(scores, np.ones(len(scores)))
    )
    alone = [
        conformal_pvalues(CalibrationScores.from_values(np.delete(scores, i)), scores[[i]])[0]
        for i in range(len(scores))
    ]
    assert pvalues.tolist() == alone


@pytest.mark.parametrize("values", [(1.0, 2.0, 3.0, 4.0, 5.0), (1.0, 1.0, 2.0, 2.0, 2.0)])
def test_p_values_are_valid_over_all_orders(values):
    n = len(values)
    pvalues = [
        conformal_pvalues(CalibrationScores.from_values(np.array(o[:-1])), np.array(o[-1:]))[0]
        for o in permutations(values)
    ]
    for bound in (Fraction(i, n) for i in range(1, n)):
        below = Fraction(sum(p <= float(bound) for p in pvalues), len(pvalues))
        assert below <= bound
        if len(set(values)) == n:
            assert below == bound


def test_smoothed_p_values_are_uniform_despite_ties():
    values = (1.0, 1.0, 1.0, 2.0)
    # Each order's p-value is uniform on an interval; these tile (0, 1) evenly.
    ends = []
    for order in permutations(values):
        reference = CalibrationScores.from_values(np.array(order[:-1]))
        ends.append(
            [
                conformal_pvalues(reference, np.array(order[-1:]), tie_weights=np.array([u]))[0]
                for u in (0.0, 1.0)
            ]
        )
    for probability in np.linspace(0.05, 0.95, 19):
        mean_proportion = np.mean([np.clip((probability - low) / (high - low), 0, 1) for low, high in ends])
        assert mean_proportion == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 2 / 3])
def test_the_required_rows_follow_from_the_decimal_level(level):
    n = min_calibration_rows(level)
    probability = miss_probability(level)
    assert not 1 / (n + 1) > probability
    assert 1 / n > probability
    assert miss_probability(0.95) == 0.05


@pytest.mark.parametrize("spread", [1.0, 30.0, 2000.0])
def test_lac_orders_rows_like_posteriors_of_high_precision(spread):
    scores = np.random.default_rng(3).normal(size=(12, 4)) * spread
    with mpmath.workdps(4000 if spread > 1000 else 60):
        mp = [[mpmath.exp(mpmath.mpf(v)) for v in row] for row in scores]
        exact = [1 - v / mpmath.fsum(row) for row in mp for v in row]
        order = sorted(range(len(exact)), key=exact.__getitem__)
    nonconformity = nonconformity_scores(scores, "lac").ravel()
    assert np.argsort(nonconformity).tolist() == order
    assert len(set(nonconformity.tolist())) == len(nonconformity)


def test_aps_is_the_sum_of_posteriors_up_to_the_class():
    scores = np.random.default_rng(5).normal(size=(20, 5))
    p = np.exp(log_softmax(scores, axis=1))
    class_fractions = np.random.default_rng(6).random(20)
    for u in (None, class_fractions):
        fractions = np.ones(20) if u is None else u
        expected = [
            [p[i][p[i] > p[i, k]].sum() + fractions[i] * p[i, k] for k in range(5)] for i in range(20)
        ]
        assert np.allclose(-np.expm1(-nonconformity_scores(scores, "aps", u)), expected, atol=1e-14)


def test_margins_with_missing_and_impossible_rows():
    scores = np.array([[3.0, 1.0, 2.0], [np.nan] * 3, [-np.inf] * 3, [0.0, -np.inf, -1.0]])
    for score in ("lac", "aps", "margin"):
        nonconformity = nonconformity_scores(scores, score)
        assert np.isnan(nonconformity[1]).all()
        assert np.isposinf(nonconformity[2]).all()
        assert np.isposinf(nonconformity[3, 1])
        assert (np.argsort(nonconformity[0]) == [0, 2, 1]).all()
    assert nonconformity_scores(scores, "margin")[0].tolist() == [-1.0, 2.0, 1.0]
