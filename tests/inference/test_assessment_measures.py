"""Figures of judged rows against scikit-learn, statsmodels, pROC (judged.json), brute force and mpmath."""

import json

import mpmath
import numpy as np
import pytest
import sklearn
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn import metrics
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from discrim.inference.calibration import (
    brier_decomposition,
    estimate_recalibration,
    log_odds_against_rest,
    probability_residuals,
)
from discrim.inference.error_rates import (
    OutOfBagPredictions,
    accuracy,
    balanced_accuracy,
    bootstrap_632_plus,
    class_measures,
    kappa,
)
from discrim.inference.roc import pair_areas, rectangle_limits, roc_area
from tests.support import GOLDEN, is_older_than

WRITTEN = json.loads((GOLDEN / "judged.json").read_text(encoding="utf-8"))
RNG = np.random.default_rng(18)
CODES = RNG.integers(0, 4, 160)
LOGS = RNG.normal(size=(160, 4)) + 1.5 * np.eye(4)[CODES]
PROBA = np.exp(LOGS) / np.exp(LOGS).sum(axis=1, keepdims=True)
PREDICTED = PROBA.argmax(axis=1)
COUNTS = metrics.confusion_matrix(CODES, PREDICTED).astype(float)
PRIOR = np.array([0.1, 0.2, 0.3, 0.4])


def weighted(codes=CODES, prior=PRIOR):
    """Weights of rows under which their classes have the shares of a prior."""
    return (prior / np.bincount(codes) * len(codes))[codes]


# ------------------------------------------------------------------ tables of counts


def test_overall_measures_agree_with_scikit_learn():
    assert accuracy(COUNTS, None, 0.95).estimate == metrics.accuracy_score(CODES, PREDICTED)
    assert balanced_accuracy(COUNTS, 0.95).estimate == pytest.approx(
        metrics.balanced_accuracy_score(CODES, PREDICTED), abs=1e-15
    )
    assert kappa(COUNTS, None, 0.95).estimate == pytest.approx(
        metrics.cohen_kappa_score(CODES, PREDICTED), abs=1e-15
    )
    weight_option = {"sample_weight": weighted()}
    assert accuracy(COUNTS, PRIOR, 0.95).estimate == pytest.approx(
        metrics.accuracy_score(CODES, PREDICTED, **weight_option), abs=1e-14
    )
    assert kappa(COUNTS, PRIOR, 0.95).estimate == pytest.approx(
        metrics.cohen_kappa_score(CODES, PREDICTED, **weight_option), abs=1e-14
    )


def test_kappa_error_and_limits_agree_with_statsmodels():
    expected = cohens_kappa(COUNTS)
    estimate = kappa(COUNTS, None, 0.9)
    np.testing.assert_allclose(
        [estimate.estimate, estimate.se], [expected.kappa, expected.std_kappa], rtol=1e-12
    )
    z = [np.arctanh(each) for each in (estimate.low, expected.kappa, estimate.high)]
    half = 1.6448536269514722 * expected.std_kappa / (1 - expected.kappa**2)
    np.testing.assert_allclose(np.diff(z), half, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_standard_errors_agree_with_repeated_samples(prior):
    """Of tables drawn again from the shares of a large one, the law under which the errors are derived."""
    large, rows = COUNTS * 25, COUNTS.sum(axis=1).astype(int) * 25
    rng = np.random.default_rng(3)
    if prior is None:
        samples = rng.multinomial(int(large.sum()), (large / large.sum()).ravel(), 3000).reshape(-1, 4, 4)
    else:
        class_samples = [
            rng.multinomial(n, class_counts / class_counts.sum(), 3000)
            for n, class_counts in zip(rows, large, strict=True)
        ]
        samples = np.stack(class_samples, axis=1)
    figures = {
        "kappa": lambda table: kappa(table, prior, 0.95),
        "predictive": lambda table: class_measures(table, prior, 0.95)[1][2],
        "specificity": lambda table: class_measures(table, prior, 0.95)[1][1],
        "accuracy": lambda table: accuracy(table, prior, 0.95),
    }
    for name, of in figures.items():
        sd = np.std([of(table.astype(float)).estimate for table in samples[:800]])
        # Eight hundred samples leave a standard deviation uncertain by a fortieth.
        assert of(large).se == pytest.approx(sd, rel=0.1), name


@pytest.mark.parametrize("k", range(4))
def test_class_measures_agree_with_scikit_learn(k):
    is_class, is_predicted = k == CODES, k == PREDICTED
    for prior, weights in ((None, None), (PRIOR, weighted())):
        class_estimates = [each.estimate for each in class_measures(COUNTS, prior, 0.95)[k]]
        expected = [
            metrics.recall_score(is_class, is_predicted, sample_weight=weights),
            metrics.recall_score(~is_class, ~is_predicted, sample_weight=weights),
            metrics.precision_score(is_class, is_predicted, sample_weight=weights),
            metrics.precision_score(~is_class, ~is_predicted, sample_weight=weights),
        ]
        np.testing.assert_allclose(class_estimates, expected, rtol=1e-13)


def test_proportions_have_the_exact_interval():
    measures = class_measures(COUNTS, None, 0.9)[2]
    hits, rows, n_predicted = COUNTS[2, 2], COUNTS[2].sum(), COUNTS[:, 2].sum()
    for each, of in ((measures[0], rows), (measures[2], n_predicted)):
        np.testing.assert_allclose(each[2:], proportion_confint(hits, of, 0.1, method="beta"), rtol=1e-12)


def test_undefined_measures_are_missing():
    empty_class_counts = np.array([[5.0, 1.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    for prior in (None, PRIOR[:3] / PRIOR[:3].sum()):
        measures = class_measures(empty_class_counts, prior, 0.95)[2]
        assert np.isnan(measures[0].estimate)
        assert np.isnan(measures[2].estimate)
        assert measures[1].estimate == 1.0
        assert balanced_accuracy(empty_class_counts, 0.95).estimate == pytest.approx((5 / 6 + 4 / 6) / 2)
    assert np.isnan(kappa(np.diag([3.0, 0.0]), None, 0.95).estimate)
    same = kappa(np.array([[5.0, 0.0], [3.0, 0.0]]), None, 0.95)
    assert (same.estimate, same.se) == (0.0, 0.0)
    assert np.isnan(same.low)
    assert np.isnan(accuracy(np.diag([3.0, 0.0]), np.array([0.0, 1.0]), 0.95).estimate)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_fractional_weights_keep_proportions_between_zero_and_one(seed):
    """Sums of them over rows that are all wrong, or all right, differ by rounding."""
    counts = np.random.default_rng(seed).random((5, 5)) * 3
    for table, proportion in ((counts - np.diag(np.diag(counts)), 0.0), (np.diag(np.diag(counts)), 1.0)):
        estimate = accuracy(table, None, 0.95)
        assert (estimate.estimate, estimate.se) == (proportion, 0.0)
        assert estimate.low <= proportion <= estimate.high
        for figures in class_measures(table, None, 0.95):
            assert all(0 <= each.low <= each.estimate <= each.high <= 1 for each in figures)


# ------------------------------------------------------------------ areas


def test_areas_variances_and_limits_agree_with_proc():
    two = WRITTEN["two"]
    area = roc_area(np.array(two["score"], dtype=float), np.array(two["y"]) == 1)
    np.testing.assert_allclose([area.auc, area.se**2], [two["auc"], two["variance"]], rtol=1e-12)
    # Theirs is normal on the scale of the area.
    ends = area.auc + np.array([-1, 1]) * 1.959963984540054 * area.se
    np.testing.assert_allclose(ends, two["interval"], rtol=1e-12)
    many_classes_case = WRITTEN["many"]
    p, codes = np.array(many_classes_case["p"]), np.unique(many_classes_case["y"], return_inverse=True)[1]
    assert pair_areas(p, codes).mean.auc == pytest.approx(many_classes_case["hand_till"], abs=1e-14)
    for k, expected in enumerate(many_classes_case["rest"]):
        area = roc_area(p[:, k], codes == k)
        np.testing.assert_allclose([area.auc, area.se**2], expected, rtol=1e-11)


def test_areas_agree_with_scikit_learn():
    ovo = metrics.roc_auc_score(CODES, PROBA, multi_class="ovo")
    assert pair_areas(LOGS - LOGS, CODES).mean.auc == 0.5
    pair_result = pair_areas(PROBA, CODES)
    assert pair_result.mean.auc == pytest.approx(ovo, abs=1e-14)
    ovr = np.mean([roc_area(PROBA[:, k], k == CODES).auc for k in range(4)])
    assert ovr == pytest.approx(metrics.roc_auc_score(CODES, PROBA, multi_class="ovr"), abs=1e-14)
    # The order of log odds is that of the probabilities.
    assert pair_areas(log_odds_against_rest(LOGS), CODES).mean == pair_result.mean


def brute(scores, codes):
    """Hand and Till's measure, pair of rows by pair of rows."""
    k, areas = scores.shape[1], []
    for i in range(k):
        for j in range(k):
            if i != j:
                class_scores, other = scores[codes == i, i][:, None], scores[codes == j, i]
                areas.append(((class_scores > other) + 0.5 * (class_scores == other)).mean())
    return float(np.mean(areas))


def jackknifed(of, codes):
    """Standard error by leaving out rows, class by class: of means over rows of each class it is exact."""
    variance = 0.0
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        leave_one_out_areas = np.array([of(np.delete(np.arange(len(codes)), row)) for row in rows])
        variance += (
            (len(rows) - 1) / len(rows) * ((leave_one_out_areas - leave_one_out_areas.mean()) ** 2).sum()
        )
    return np.sqrt(variance)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_mean_pair_area_has_the_jackknife_error(classes):
    row_index = np.flatnonzero(classes > CODES)[:60]
    scores, codes = PROBA[row_index][:, :classes].round(1), CODES[row_index]
    pair_result = pair_areas(scores, codes)
    assert pair_result.mean.auc == pytest.approx(brute(scores, codes), abs=1e-14)
    se = jackknifed(lambda rows: brute(scores[rows], codes[rows]), codes)
    assert pair_result.mean.se == pytest.approx(se, rel=1e-10)
    pair = np.flatnonzero(codes < 2)
    one = scores[pair][:, :2], codes[pair]
    se = jackknifed(lambda rows: brute(one[0][rows], one[1][rows]), one[1])
    assert pair_result.areas[0].se == pytest.approx(se, rel=1e-10)


def test_the_pair_area_of_two_classes_agrees_with_delong():
    two = np.flatnonzero(CODES < 2)
    odds = LOGS[two, 1] - LOGS[two, 0]
    pair_result = pair_areas(np.column_stack([-odds, odds]), CODES[two]).mean
    expected = roc_area(odds, CODES[two] == 1)
    np.testing.assert_allclose([pair_result.auc, pair_result.se], [expected.auc, expected.se], rtol=1e-12)


def test_weights_of_areas_equal_repeated_rows():
    multiplicities = RNG.integers(0, 3, len(CODES))
    pair_result = pair_areas(PROBA.round(1), CODES, multiplicities.astype(float))
    repeated = pair_areas(np.repeat(PROBA.round(1), multiplicities, axis=0), np.repeat(CODES, multiplicities))
    for one, other in zip(
        [pair_result.mean, *pair_result.areas], [repeated.mean, *repeated.areas], strict=True
    ):
        np.testing.assert_allclose([one.auc, one.se, one.low], [other.auc, other.se, other.low], rtol=1e-12)


def test_areas_allow_infinite_scores_and_empty_classes():
    scores = np.array([[np.inf, -np.inf, 0], [1.0, -1.0, 0], [-np.inf, np.inf, 0], [-1.0, 1.0, 0.0]])
    pair_result = pair_areas(scores, np.array([0, 0, 1, 1]))
    assert pair_result.mean.auc == 1.0
    assert np.isnan(pair_result.areas[1].auc)
    assert np.isnan(pair_areas(scores, np.zeros(4, dtype=int)).mean.auc)


def test_rectangles_cover_both_proportions_at_their_level():
    rng = np.random.default_rng(5)
    for rows, proportion in ((20, 0.9), (50, 0.3)):
        hits = rng.binomial(rows, proportion, (2, 4000)) / rows
        low, high = rectangle_limits(hits, rows, 0.9)
        assert ((low <= proportion) & (proportion <= high)).all(axis=0).mean() >= 0.9


# ------------------------------------------------------------------ probabilities


def test_losses_keep_their_precision():
    scores = np.array([[0.0, -50.0, -800.0], [0.0, -3.0, -800.0], [-800.0, 0.0, -900.0]])
    codes = np.array([0, 2, 0])
    odds = log_odds_against_rest(scores)
    with mpmath.workdps(60):
        exact = [[mpmath.e ** mpmath.mpf(s) for s in row] for row in scores.tolist()]
        posteriors = [[each / mpmath.fsum(row) for each in row] for row in exact]
        logs = [float(-mpmath.log(posteriors[i][c])) for i, c in enumerate(codes.tolist())]
        squares = [
            float(mpmath.fsum((p - (k == codes[i])) ** 2 for k, p in enumerate(row)))
            for i, row in enumerate(posteriors)
        ]
    np.testing.assert_allclose(np.logaddexp(0, -odds[np.arange(3), codes]), logs, rtol=1e-14)
    np.testing.assert_allclose((probability_residuals(odds, codes) ** 2).sum(axis=1), squares, rtol=1e-13)


@pytest.mark.skipif(
    is_older_than(sklearn, 1, 7), reason="before 1.7 scikit-learn has it for two classes alone"
)
def test_the_brier_score_agrees_with_scikit_learn():
    odds = log_odds_against_rest(LOGS)
    brier_score = (probability_residuals(odds, CODES) ** 2).sum(axis=1).mean()
    expected = metrics.brier_score_loss(CODES, PROBA, labels=[0, 1, 2, 3], scale_by_half=False)
    assert brier_score == pytest.approx(expected, rel=1e-13)
    total = sum(brier_decomposition(PROBA[:, k], k == CODES).brier for k in range(4))
    assert total == pytest.approx(expected, rel=1e-13)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.booleans(), st.integers(1, 3)), min_size=1, max_size=40),
    st.integers(1, 12),
)
@settings(max_examples=80)
def test_the_brier_decomposition_adds_up(rows, bins):
    p, true, weights = (np.array(column) for column in zip(*rows, strict=True))
    decomposition = brier_decomposition(p, true, bins, weights.astype(float))
    score_sum = (
        decomposition.reliability
        - decomposition.resolution
        + decomposition.uncertainty
        + decomposition.within_variance
        - decomposition.within_covariance
    )
    assert score_sum == pytest.approx(decomposition.brier, abs=1e-14)
    assert decomposition.brier == pytest.approx(np.average((p - true) ** 2, weights=weights), abs=1e-14)
    assert min(decomposition[1:5]) >= 0


def test_bins_of_one_probability_have_murphys_decomposition():
    p, true = np.repeat([0.1, 0.4, 0.8], 30), RNG.random(90) < np.repeat([0.2, 0.4, 0.7], 30)
    decomposition = brier_decomposition(p, true, 3)
    proportions = true.reshape(3, 30).mean(axis=1)
    np.testing.assert_allclose(
        [decomposition.reliability, decomposition.resolution, decomposition.uncertainty],
        [
            ((proportions - [0.1, 0.4, 0.8]) ** 2).mean(),
            ((proportions - true.mean()) ** 2).mean(),
            true.mean() * (1 - true.mean()),
        ],
    )
    assert (abs(decomposition.within_variance), abs(decomposition.within_covariance)) < (1e-30, 1e-15)


def test_the_two_class_slope_agrees_with_logistic_regression():
    odds = RNG.normal(size=300) * 2
    true = (RNG.random(300) < 1 / (1 + np.exp(-0.3 - 0.6 * odds))).astype(int)
    fit = sm.Logit(true, sm.add_constant(odds)).fit(disp=0, tol=1e-14)
    recalibration = estimate_recalibration(np.column_stack([-odds, odds]), true)
    np.testing.assert_allclose([recalibration.intercept[0], recalibration.slope[0]], fit.params, rtol=1e-8)
    np.testing.assert_allclose([recalibration.intercept[1], recalibration.slope[1]], fit.bse, rtol=1e-8)


def test_the_multiclass_slope_agrees_with_a_direct_search():
    logs = np.log(PROBA)

    def loss(at):
        odds = at[-1] * logs + np.append(0, at[:-1])
        return -(odds - np.log(np.exp(odds).sum(axis=1, keepdims=True)))[np.arange(len(CODES)), CODES].sum()

    best = optimize.minimize(loss, [0, 0, 0, 1], method="BFGS", options={"gtol": 1e-6})
    recalibration = estimate_recalibration(log_odds_against_rest(LOGS), CODES)
    assert recalibration.slope[0] == pytest.approx(best.x[-1], rel=1e-5)
    assert recalibration.slope[1] == pytest.approx(np.sqrt(best.hess_inv[-1, -1]), rel=0.02)
    assert recalibration.intercept is None


def test_separated_classes_have_no_slope():
    odds = np.array([-3.0, -1.0, 0.5, 2.0])
    pairs = np.column_stack([-odds, odds])
    for true in ([0, 0, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]):
        assert np.isnan(estimate_recalibration(pairs, np.array(true)).slope[0])
    touching = np.array([-1.0, 0.0, 0.0, 1.0])
    assert np.isnan(
        estimate_recalibration(np.column_stack([-touching, touching]), np.array([0, 0, 1, 1])).slope[0]
    )
    assert np.isfinite(estimate_recalibration(pairs, np.array([0, 1, 0, 1])).slope[0])
    pairs[0] = np.inf, -np.inf
    assert np.isnan(estimate_recalibration(pairs, np.array([0, 1, 0, 1])).slope[0])


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_is_estimated_for_very_many_rows(seed):
    """Sums of their log-likelihoods are rounded, and a step that seems to go down by as much is good."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(size=300) * 2
    true = (rng.random(300) < 1 / (1 + np.exp(-odds))).astype(int)
    pairs = np.column_stack([-odds, odds])
    single, repeated = (
        estimate_recalibration(pairs, true),
        estimate_recalibration(pairs, true, np.full(300, 1e8)),
    )
    assert repeated.slope[0] == pytest.approx(single.slope[0], rel=1e-12)
    assert repeated.slope[1] * 1e4 == pytest.approx(single.slope[1], rel=1e-12)


@given(
    st.lists(st.integers(0, 30), min_size=9, max_size=9).map(lambda cells: np.reshape(cells, (3, 3)) * 1.0),
    st.sampled_from([None, PRIOR[:3] / PRIOR[:3].sum()]),
)
@settings(max_examples=80)
def test_limits_of_kappa_do_not_exceed_one(counts, prior):
    estimate = kappa(counts, prior, 0.95)
    if not np.isnan(estimate.low):
        assert -1 <= estimate.low <= estimate.estimate <= estimate.high <= 1


@pytest.mark.parametrize("prior", [None, [0.5, 0.5]])
def test_kappa_of_one_has_the_exact_lower_limit_of_the_agreement(prior):
    """Forty rows without an error: 1 - (alpha/2)^(1/40) of them may err, and half are right by chance."""
    estimate = kappa(np.diag([20.0, 20.0]), None if prior is None else np.array(prior), 0.95)
    assert estimate[:2] == (1.0, 0.0)
    assert estimate.high == 1.0
    assert estimate.low == pytest.approx((0.025 ** (1 / 40) - 0.5) / 0.5, rel=1e-10)


def test_a_predictive_value_of_one_under_a_prior_has_a_covering_limit():
    """The false positive rate is small enough for most samples to have none."""
    rng, prior = np.random.default_rng(8), np.array([0.3, 0.7])
    rates, rows, hits = np.array([[0.8, 0.2], [0.01, 0.99]]), (40, 60), []
    a, b = prior[0] * rates[0, 0], prior[1] * rates[1, 0]
    samples = [rng.multinomial(n, class_counts, 1500) for n, class_counts in zip(rows, rates, strict=True)]
    for table in np.stack(samples, axis=1).astype(float):
        measures = class_measures(table, prior, 0.95)[0][2]
        if measures.estimate == 1:
            assert measures.high == 1.0
        hits.append(measures.low <= a / (a + b) <= measures.high)
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / 1500) <= np.mean(hits)


def test_the_mean_of_areas_of_one_has_the_mean_limits():
    codes = np.repeat(np.arange(4), [5, 9, 14, 20])
    pair_result = pair_areas(np.eye(4)[codes], codes)
    assert (pair_result.mean.auc, pair_result.mean.se, pair_result.mean.high) == (
        pytest.approx(1.0),
        0.0,
        pytest.approx(1.0),
    )
    assert pair_result.mean.low == pytest.approx(np.mean([area.low for area in pair_result.areas]))
    alone = pair_areas(np.eye(2)[codes[:14]], codes[:14])
    assert pair_result.areas[0].low == alone.areas[0].low == alone.mean.low


def weighed(apparent, outside, gamma):
    """The .632+ estimate of its parts."""
    bounded = min(outside, gamma)
    overfit = max(bounded - apparent, 0) / (gamma - apparent) if gamma > apparent else 0.0
    w = 0.632 / (1 - 0.368 * overfit)
    return (1 - w) * apparent + w * bounded


RATE_COSTS = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [0.5, 4.0, 0.0]])


@pytest.mark.parametrize("costs", [None, RATE_COSTS])
@pytest.mark.parametrize(("skill", "fits"), [(0.6, 0.9), (0.6, 0.5), (0.1, 0.7)])
@pytest.mark.parametrize("sampled", [False, True])
def test_the_632_plus_standard_error_sums_the_influences_of_rows(costs, skill, fits, sampled):
    """Each row is weighted up by a little, in the shares, in the labels and in the chance of each sample."""
    rng, rows = np.random.default_rng(5), (8, 11, 6)
    codes, n_samples, k = np.repeat(np.arange(3), rows), 400, 3
    samples = np.hstack([rng.multinomial(n, np.full(n, 1 / n), n_samples) for n in rows])
    right = rng.random(samples.shape) < skill
    sample_predicted = np.where(samples > 0, -1, np.where(right, codes, rng.integers(0, k, samples.shape)))
    seen = np.where(rng.random(len(codes)) < fits, codes, rng.integers(0, k, len(codes)))
    unit, prior = (1 - np.eye(k) if costs is None else costs), np.array([0.5, 0.2, 0.3])

    def whole(p, prior):
        """The estimate where row i of class k is drawn with probability p_i within it."""
        n_outside = (samples * np.log(p * np.bincount(codes)[codes])).sum(axis=1)
        chance, weight = np.exp(n_outside)[:, None] * (samples == 0), prior[codes] * p
        losses = unit[codes, np.maximum(sample_predicted, 0)]
        outside = weight @ ((chance * losses).sum(axis=0) / chance.sum(axis=0))
        apparent = weight @ unit[codes, seen]
        gamma = prior @ unit @ np.bincount(seen, weight, k)
        return weighed(apparent, outside, gamma), outside, apparent, gamma

    even, step = 1 / np.bincount(codes)[codes], 1e-6
    variance = 0.0
    for i in range(len(codes)):
        within = np.where(codes == codes[i], even, 0.0)
        perturbed_rates = [whole(even + s * step * (np.eye(len(codes))[i] - within), prior) for s in (1, -1)]
        n = rows[codes[i]]
        influences = (perturbed_rates[0][0] - perturbed_rates[1][0]) / (2 * step) / n
        variance += influences**2 * n / (n - 1)
    estimate, outside, apparent, gamma = whole(even, prior)
    if sampled:
        each = [
            np.subtract(*(whole(even, prior + s * step * (np.eye(k)[c] - prior))[0] for s in (1, -1)))
            for c in range(k)
        ]
        variance += prior @ np.square(np.array(each) / (2 * step)) / len(codes)
    bootstrap_rate = bootstrap_632_plus(
        OutOfBagPredictions(codes, seen, samples, sample_predicted), prior, costs, 0.95, sampled=sampled
    )
    assert bootstrap_rate.estimate == pytest.approx(estimate, rel=1e-12)
    # The noise of finitely many samples: the estimate moves with e by the slope, and e with each sample.
    losses = np.where(sample_predicted >= 0, unit[codes, np.maximum(sample_predicted, 0)], 0.0)
    n_outside = (sample_predicted >= 0).sum(axis=0)
    deviations = np.where(sample_predicted >= 0, losses - losses.sum(axis=0) / n_outside, 0.0)
    excess = deviations @ (prior[codes] * even * n_samples / n_outside)
    noise = ((samples - 1) * excess[:, None]).var(axis=0, ddof=1).sum() / n_samples
    bumped = [weighed(apparent, outside + s * step, gamma) for s in (1, -1)]
    variance -= ((bumped[0] - bumped[1]) / (2 * step)) ** 2 * noise
    assert bootstrap_rate.se == pytest.approx(np.sqrt(variance), rel=1e-5)


def test_the_balanced_accuracy_interval_allows_for_a_small_class_without_errors():
    """Ten rows of a rate of .95 show no error in three samples of five, and then no variance."""
    rng, hits, rates = np.random.default_rng(2), [], np.array([0.95, 0.8])
    for right in np.column_stack([rng.binomial(n, p, 2000) for n, p in zip((10, 100), rates, strict=True)]):
        wrong = np.array([10, 100]) - right
        table = np.array([[right[0], wrong[0]], [wrong[1], right[1]]], dtype=float)
        estimate = balanced_accuracy(table, 0.95)
        hits.append(estimate.low <= rates.mean() <= estimate.high)
    assert np.mean(hits) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 2000)


def test_a_single_class_under_a_prior_has_the_exact_interval():
    estimate = accuracy(np.array([[17.0, 3.0], [0.0, 0.0]]), np.array([1.0, 0.0]), 0.9)
    np.testing.assert_allclose(estimate[2:], proportion_confint(17, 20, 0.1, method="beta"), rtol=1e-12)


def test_the_lower_limit_of_a_kappa_of_one_is_attainable():
    estimate = kappa(np.diag([20.0, 20.0]), np.array([0.99, 0.01]), 0.95)
    assert estimate.estimate == estimate.high == 1
    assert -1 <= estimate.low < 0
