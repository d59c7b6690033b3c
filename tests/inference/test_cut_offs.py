"""Cut-offs, precision and recall against scikit-learn, brute force and R (thresholds.json)."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from discrim.datasets import load_breast_cancer, load_penguins
from discrim.inference.roc import (
    CutOffCriterion,
    average_precision,
    choose_cut_off,
    cut_offs,
    precision_recall_curve,
    thin_precision_recall,
)
from discrim.models.discriminant.lda import lda
from tests.support import GOLDEN

CASES = json.loads((GOLDEN / "thresholds.json").read_text(encoding="utf-8"))["cases"]
TABLES = {"breast_cancer": load_breast_cancer, "penguins": load_penguins}
COSTS = np.array([[0.0, 1.0], [5.0, 0.0]])
RNG = np.random.default_rng(8)
LOG_ODDS = RNG.integers(-10, 10, 300) / 4
POSITIVE = RNG.random(300) < 1 / (1 + np.exp(-LOG_ODDS))
WEIGHTS = RNG.integers(1, 4, 300).astype(float)

observations = st.lists(
    st.tuples(st.integers(-4, 4), st.booleans(), st.integers(1, 3)), min_size=4, max_size=30
).filter(lambda rows: len({y for _, y, _ in rows}) == 2)
criteria = st.sampled_from(
    [
        CutOffCriterion("sensitivity", 0.8),
        CutOffCriterion("specificity", 0.75),
        CutOffCriterion("youden"),
        CutOffCriterion("costs", costs=COSTS),
    ]
)


def expit(x):
    return 1 / (1 + np.exp(-np.asarray(x)))


def arrays_of(rows):
    return tuple(
        np.array(column) for column in zip(*((float(s), y, float(w)) for s, y, w in rows), strict=True)
    )


def rates(log_odds, positive, weights, cut_off):
    """Sensitivity and specificity, observation by observation."""
    called = log_odds >= cut_off
    return (
        sum(weights[called & positive]) / sum(weights[positive]),
        sum(weights[~called & ~positive]) / sum(weights[~positive]),
    )


def objective(criterion, log_odds, positive, weights, cut_off, prior):
    sensitivity, specificity = rates(log_odds, positive, weights, cut_off)
    pi = np.array([weights[~positive].sum(), weights[positive].sum()]) if prior is None else prior
    pi = pi / pi.sum()
    return {
        "sensitivity": specificity if sensitivity >= criterion.target - 1e-12 else -np.inf,
        "specificity": sensitivity if specificity >= criterion.target - 1e-12 else -np.inf,
        "youden": sensitivity + specificity,
        "costs": -(pi[0] * (1 - specificity) * COSTS[0, 1] + pi[1] * (1 - sensitivity) * COSTS[1, 0]),
    }[criterion.measure]


@given(observations)
@settings(max_examples=40)
def test_counts_agree_with_counting_at_each_cut_off(rows):
    log_odds, positive, weights = arrays_of(rows)
    table = cut_offs(log_odds, positive, weights)
    assert len(table.log_odds) == len(set(log_odds)) + 1
    for t, cut_off in enumerate(table.log_odds):
        assert [table.sensitivity[t], table.specificity[t]] == pytest.approx(
            rates(log_odds, positive, weights, cut_off), abs=1e-15
        )
        called = log_odds >= cut_off
        expected = [[weights[(positive == y) & (called == c)].sum() for c in (0, 1)] for y in (0, 1)]
        assert table.counts(t).tolist() == expected
    # All cut-offs between two log odds assign the rows alike, and these are in the middle of the posteriors.
    values = expit(np.unique(log_odds))
    np.testing.assert_allclose(expit(table.log_odds[1:-1][::-1]), (values[1:] + values[:-1]) / 2, rtol=1e-12)


@given(observations, criteria, st.sampled_from([None, np.array([0.9, 0.1])]))
@settings(max_examples=60)
def test_the_chosen_cut_off_is_the_best_by_brute_force(rows, criterion, prior):
    log_odds, positive, weights = arrays_of(rows)
    table = cut_offs(log_odds, positive, weights)
    position = criterion.best(table, prior)
    values = np.array(
        [objective(criterion, log_odds, positive, weights, cut, prior) for cut in table.log_odds]
    )
    ties = np.flatnonzero(values >= values.max() - 1e-9)
    assert position == (ties[0] if criterion.measure == "specificity" else ties[-1])


@pytest.mark.parametrize("unit", [1e-15, 1e-9, 1e15])
def test_the_chosen_cut_off_does_not_depend_on_the_unit_of_costs(unit):
    table = cut_offs(LOG_ODDS, POSITIVE, WEIGHTS)
    position = CutOffCriterion("costs", costs=COSTS).best(table, None)
    assert CutOffCriterion("costs", costs=unit * COSTS).best(table, None) == position


@given(observations, criteria)
@settings(max_examples=30)
def test_each_fold_is_evaluated_by_a_cut_off_chosen_without_it(rows, criterion):
    log_odds, positive, weights = arrays_of(
        [*rows, (3, True, 1), (2, True, 1), (-3, False, 1), (-2, False, 1)]
    )
    fold_ids = np.arange(len(log_odds)) % 2
    chosen = choose_cut_off(log_odds, positive, weights, fold_ids, criterion)
    counts = np.zeros((2, 2))
    for fold in range(2):
        inside = fold_ids == fold
        training = log_odds[~inside], positive[~inside], weights[~inside]
        table = cut_offs(*training)
        cut_off = table.log_odds[criterion.best(table, None)]
        assert chosen.fold_log_odds[fold] == cut_off
        called = log_odds[inside] >= cut_off
        for y in (False, True):
            for label in (False, True):
                counts[int(y), int(label)] += weights[inside][
                    (positive[inside] == y) & (called == label)
                ].sum()
        # The labels of the fold do not influence its cut-off.
        flipped = np.where(inside, ~positive, positive)
        again = choose_cut_off(log_odds, flipped, weights, fold_ids, criterion)
        assert again.fold_log_odds[fold] == cut_off
    assert chosen.nested_counts.tolist() == counts.tolist()


def test_weights_count_as_repeated_rows():
    times = WEIGHTS.astype(int)
    weighted = cut_offs(LOG_ODDS, POSITIVE, WEIGHTS)
    repeated = cut_offs(np.repeat(LOG_ODDS, times), np.repeat(POSITIVE, times))
    for name in ("log_odds", "true_positives", "false_positives"):
        assert getattr(weighted, name).tolist() == getattr(repeated, name).tolist()


def test_cut_offs_separate_posteriors_that_round_to_one():
    log_odds = np.array([-800.0, -700.0, 700.0, np.nextafter(700.0, 800), 800.0, np.inf])
    positive = np.array([False, True, False, True, False, True])
    table = cut_offs(log_odds, positive)
    assert len(table.log_odds) == 6
    assert np.isneginf(table.log_odds[-1])
    for t, cut_off in enumerate(table.log_odds):
        assert (log_odds >= cut_off).sum() == table.true_positives[t] + table.false_positives[t]
    # Separated classes: the posterior in the middle is one half.
    assert cut_offs(np.array([-60.0, 60.0]), np.array([False, True])).log_odds[1] == 0


def test_the_largest_attainable_target_leaves_a_class_to_both_sides():
    log_odds = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    positive = np.array([True, False, False, True, True])
    criterion = CutOffCriterion("sensitivity", 0.9)
    chosen = choose_cut_off(log_odds, positive, np.ones(5), np.array([0, 0, 1, 1, 1]), criterion)
    assert chosen.attainable == pytest.approx(2 / 3)
    assert chosen.log_odds == -np.inf


# ------------------------------------------------------------------ precision and recall


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
def test_curves_and_average_precision_agree_with_scikit_learn(weights):
    precision, recall, _ = metrics.precision_recall_curve(POSITIVE, LOG_ODDS, sample_weight=weights)
    ours = precision_recall_curve(LOG_ODDS, POSITIVE, weights)
    # The last point of scikit-learn has no threshold.
    np.testing.assert_allclose(ours[0][::-1], precision[:-1], rtol=1e-14)
    np.testing.assert_allclose(ours[1][::-1], recall[:-1], rtol=1e-14)
    expected = metrics.average_precision_score(POSITIVE, LOG_ODDS, sample_weight=weights)
    assert average_precision(LOG_ODDS, POSITIVE, weights).auc == pytest.approx(expected, abs=1e-14)
    false, true, _ = metrics.roc_curve(POSITIVE, LOG_ODDS, sample_weight=weights, drop_intermediate=False)
    table = cut_offs(LOG_ODDS, POSITIVE, weights)
    np.testing.assert_allclose(table.sensitivity, true, atol=1e-15)
    np.testing.assert_allclose(1 - table.specificity, false, atol=1e-15)
    np.testing.assert_allclose(table.predictive_values(None)[0][1:], ours[0], rtol=1e-12)


@given(observations)
@settings(max_examples=25)
def test_average_precision_agrees_with_scikit_learn_for_ties(rows):
    scores, positive, weights = arrays_of(rows)
    expected = metrics.average_precision_score(positive, scores, sample_weight=weights)
    assert average_precision(scores, positive, weights).auc == pytest.approx(expected, abs=1e-14)


def test_the_interval_of_average_precision():
    area = average_precision(LOG_ODDS, POSITIVE)
    logit = np.log(area.auc / (1 - area.auc))
    half = 1.959963984540054 / np.sqrt(POSITIVE.sum() * area.auc * (1 - area.auc))
    assert [area.low, area.high] == pytest.approx(expit([logit - half, logit + half]), rel=1e-12)
    perfect = average_precision(np.arange(30.0), np.arange(30) >= 10)
    assert [perfect.auc, perfect.high, perfect.low] == pytest.approx([1, 1, 0.025 ** (1 / 20)])
    assert np.isnan(average_precision(LOG_ODDS, np.ones(300, dtype=bool)).auc)


@pytest.mark.parametrize("share", [0.002, 0.3, 0.998])
def test_the_area_of_a_thinned_curve_is_the_average_precision(share):
    rng = np.random.default_rng(2)
    positive = rng.random(200_000) < share
    scores = rng.normal(size=200_000) + 2 * positive
    curve = precision_recall_curve(scores, positive)
    precision, recall = thin_precision_recall(*curve)
    assert len(recall) <= 2000
    assert recall[-1] == 1
    assert (np.diff(recall) >= 0).all()
    expected = average_precision(scores, positive).auc
    assert np.diff(recall, prepend=0.0) @ precision == pytest.approx(expected, abs=1e-3)
    # The curve of a rare class keeps all its recalls.
    if share == 0.002:
        assert set(recall) == set(curve[1])
        assert np.diff(recall, prepend=0.0) @ precision == pytest.approx(expected, abs=1e-12)


def test_average_precision_of_separated_classes_is_one():
    for scores in (np.r_[0:10, 100:110], np.r_[0:7, 50:50.7:0.1]):
        positive = scores >= 50
        for weights in (None, np.full(len(scores), 0.1)):
            area = average_precision(scores.astype(float), positive, weights)
            m = positive.sum() if weights is None else weights[positive].sum()
            assert [area.auc, area.se, area.high] == [1.0, 0.0, 1.0]
            assert area.low == pytest.approx(0.025 ** (1 / m))


def test_average_precision_of_a_class_without_weight_is_missing():
    scores, positive = np.arange(4.0), np.array([False, True, False, True])
    for weights in (np.array([1.0, 0, 1, 0]), np.array([0.0, 1, 0, 1])):
        assert np.isnan(average_precision(scores, positive, weights).auc)
    # The rows at the largest score have no weight.
    assert average_precision(scores, positive, np.array([1.0, 1, 1, 0])).auc == 0.5


# ------------------------------------------------------------------ R


def left_out_of(case):
    rows = TABLES[case["table"]]()[[case["response"], *case["columns"]]].dropna()
    fit = lda(f"{case['response']} ~ {' + '.join(case['columns'])}", rows)
    scores = fit.leave_one_out()[fit.classes[1]].to_numpy()
    np.testing.assert_allclose(scores[:: case["every"]], case["posteriors"], rtol=1e-9)
    return np.log(scores) - np.log1p(-scores), (rows[case["response"]] == fit.classes[1]).to_numpy()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["table"])
def test_tables_of_cut_offs_agree_with_r(case):
    log_odds, positive = left_out_of(case)
    table = cut_offs(log_odds, positive)
    for name, prior in (("thresholds", None), ("weighted", np.array([0.9, 0.1]))):
        ppv, npv = table.predictive_values(prior)
        cost = table.expected_cost(COSTS, prior)
        for t, row in zip(range(0, len(ppv), case["every"]), case[name], strict=True):
            expected = {"inf": 1.0, "-inf": 0.0}.get(row["cut"], row["cut"])
            assert expit(table.log_odds[t]) == pytest.approx(expected, abs=1e-10)
            assert table.counts(t).ravel().tolist() == row["counts"]
            values = [table.sensitivity[t], table.specificity[t], ppv[t], npv[t], cost[t]]
            names = ("sensitivity", "specificity", "ppv", "npv", "cost")
            wanted = [np.nan if row[each] is None else row[each] for each in names]
            np.testing.assert_allclose(values, wanted, rtol=1e-12, atol=1e-14)
    assert average_precision(log_odds, positive).auc == pytest.approx(case["average_precision"], rel=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["table"])
def test_chosen_cut_offs_agree_with_r(case):
    log_odds, positive = left_out_of(case)
    for wanted in case["chosen"]:
        target = np.nan if wanted["target"] is None else wanted["target"]
        costs = COSTS if wanted["criterion"] == "costs" else None
        criterion = CutOffCriterion(wanted["criterion"], target, costs)
        prior = None if wanted["prior"] is None else np.array(wanted["prior"])
        fold_ids = np.arange(len(positive)) % 10
        chosen = choose_cut_off(log_odds, positive, np.ones(len(positive)), fold_ids, criterion, prior)
        assert expit(chosen.log_odds) == pytest.approx(wanted["cut"], abs=1e-10)
        assert chosen.counts.ravel().tolist() == wanted["counts"]
        np.testing.assert_allclose(expit(chosen.fold_log_odds), wanted["nested_cuts"], atol=1e-10)
        assert chosen.nested_counts.ravel().tolist() == wanted["nested_counts"]
