"""ROC curves, areas and calibration against scikit-learn, statsmodels and brute force."""

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_curve
from statsmodels.stats.proportion import proportion_confint

from discrim.inference.calibration import calibration_bins, log_odds_against_rest, wilson_interval
from discrim.inference.roc import roc_area, roc_curve, thin_curve

RNG = np.random.default_rng(4)
SCORES = RNG.integers(0, 20, 300).astype(float)
POSITIVE = RNG.random(300) < 0.2 + SCORES / 40
WEIGHTS = RNG.integers(0, 4, 300).astype(float)


def by_pairs(scores, positive):
    """Area and DeLong's standard error, pair by pair."""
    class_scores, others = scores[positive], scores[~positive]
    wins = (class_scores[:, None] > others) + 0.5 * (class_scores[:, None] == others)
    variances = [wins.mean(axis=1 - axis).var(ddof=1) / wins.shape[axis] for axis in (0, 1)]
    return wins.mean(), np.sqrt(sum(variances))


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=40))
@settings(max_examples=60)
def test_the_area_agrees_with_all_pairs(rows):
    scores, positive = np.array([s for s, _ in rows], dtype=float), np.array([y for _, y in rows])
    area = roc_area(scores, positive)
    if min(positive.sum(), (~positive).sum()) > 1:
        np.testing.assert_allclose([area.auc, area.se], by_pairs(scores, positive), atol=1e-14)
    elif not 0 < positive.sum() < len(positive):
        assert np.isnan(area.auc)


def test_curve_and_area_agree_with_scikit_learn():
    for weights in (None, WEIGHTS):
        false, true, thresholds = sklearn_curve(
            POSITIVE, SCORES, sample_weight=weights, drop_intermediate=False
        )
        curve = roc_curve(SCORES, POSITIVE, weights)
        np.testing.assert_allclose(curve.false_positive, false, atol=1e-15)
        np.testing.assert_allclose(curve.true_positive, true, atol=1e-15)
        assert curve.threshold.tolist() == thresholds.tolist()
        expected = roc_auc_score(POSITIVE, SCORES, sample_weight=weights)
        assert roc_area(SCORES, POSITIVE, weights).auc == pytest.approx(expected, abs=1e-14)


def test_a_weight_equals_that_many_rows():
    times = WEIGHTS.astype(int)
    repeated = roc_area(np.repeat(SCORES, times), np.repeat(POSITIVE, times))
    np.testing.assert_allclose(list(vars_of(roc_area(SCORES, POSITIVE, WEIGHTS))), list(vars_of(repeated)))


def vars_of(area):
    return area.auc, area.se, area.low, area.high


def test_infinite_scores_are_ranked():
    area = roc_area(np.array([-np.inf, -np.inf, 1.0, np.inf]), np.array([False, False, True, True]))
    assert area.auc == 1.0


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_areas_of_zero_and_one_have_newcombes_limits(level):
    """Newcombe's method 5: at the limit, the estimate is just z standard errors of Hanley & McNeil away."""
    m, n, z = 7, 12, scipy.stats.norm.isf((1 - level) / 2)
    scores, positive = np.arange(m + n, dtype=float), np.arange(m + n) >= n
    area, reversed_area = roc_area(scores, positive, None, level), roc_area(-scores, positive, None, level)
    t, other = area.low, (m + n) / 2 - 1
    variance = t * (1 - t) + other * (t / (2 - t) - t**2) + other * (2 * t**2 / (1 + t) - t**2)
    assert 1 - t == pytest.approx(z * np.sqrt(variance / (m * n)), rel=1e-10)
    assert (area.auc, area.high, reversed_area.auc, reversed_area.low) == (1.0, 1.0, 0.0, 0.0)
    assert reversed_area.high == pytest.approx(1 - area.low, abs=1e-12)
    assert np.isnan(roc_area(np.zeros(8), np.arange(8) < 4, None, level).low)


def test_a_thinned_curve_stays_on_the_curve():
    scores = RNG.standard_normal(20_000)
    full_curve = roc_curve(scores, scores + RNG.standard_normal(20_000) > 0.5)
    thinned_curve = thin_curve(full_curve)
    assert len(thinned_curve.threshold) <= 400
    assert (thinned_curve.true_positive[[0, -1]] == [0.0, 1.0]).all()
    ways = [curve.false_positive + curve.true_positive for curve in (full_curve, thinned_curve)]
    assert np.abs(np.interp(*ways, thinned_curve.true_positive) - full_curve.true_positive).max() < 0.01


def test_log_odds_against_the_rest():
    scores = RNG.standard_normal((50, 4)) * 3
    posteriors = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        log_odds_against_rest(scores), np.log(posteriors / (1 - posteriors)), rtol=1e-9
    )
    distant_odds = log_odds_against_rest(np.array([[0.0, -900.0, -2000.0], [0.0, -1000.0, -2000.0]]))
    assert distant_odds[:, 0].tolist() == [900.0, 1000.0]


def test_bins_agree_with_sorting_and_keep_ties_together():
    p = RNG.random(200)
    true = RNG.random(200) < p
    order = np.argsort(p).reshape(10, 20)
    bins = calibration_bins(p, true)
    np.testing.assert_allclose(bins.predicted, p[order].mean(axis=1))
    np.testing.assert_allclose(bins.observed, true[order].mean(axis=1))
    assert bins.rows.tolist() == [20.0] * 10
    tied = calibration_bins(np.repeat([0.2, 0.6], 50), np.arange(100) % 2 == 0)
    assert tied.predicted.round(12).tolist() == [0.2, 0.6]


def test_weights_of_bins_equal_repeated_rows():
    p, multiplicities = RNG.integers(0, 30, 100) / 30, RNG.integers(0, 3, 100)
    true = RNG.random(100) < p
    one = calibration_bins(p, true, weights=multiplicities.astype(float))
    other = calibration_bins(np.repeat(p, multiplicities), np.repeat(true, multiplicities))
    for name in ("predicted", "observed", "low", "high", "rows"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize(
    ("hits", "rows", "level"), [(0, 10, 0.95), (3, 10, 0.9), (7, 7, 0.99), (50, 1000, 0.95)]
)
def test_wilson_intervals_agree_with_statsmodels(hits, rows, level):
    low, high = wilson_interval(np.array([hits / rows]), np.array([float(rows)]), level)
    expected = proportion_confint(hits, rows, 1 - level, method="wilson")
    np.testing.assert_allclose([low[0], high[0]], expected, atol=1e-14)
