"""Intervals if no row that is judged is wrong, or few are: exact limits, and simulated coverage."""

import numpy as np
import pytest
from scipy.stats import beta

import discrim
from discrim.datasets import load_iris
from discrim.inference.calibration import EvaluatedRows, mean_loss_interval
from discrim.inference.error_rates import (
    OutOfBagPredictions,
    bootstrap_632_plus,
    error_rate_from_counts,
    exact_interval_of_dependent_rows,
)
from discrim.inference.verification import Costs, PairScores
from tests.benchmarks.rare_errors import coverage

IRIS = load_iris()
TWO = IRIS.query("species != 'virginica'")


def no_error_limit(n):
    """Upper limit at 95 percent of a proportion of which n observations show none."""
    return 1 - 0.025 ** (1 / n)


def rows(n, clusters=None):
    return EvaluatedRows(np.zeros(n, dtype=np.intp), np.ones(n), 1, None, clusters)


def test_a_choice_without_an_error_has_the_exact_interval_of_the_count():
    table = discrim.choose("species ~ .", TWO, candidates=["lda"], seed=1).corrected()
    assert table.loc["error", ["chosen", "corrected", "low"]].tolist() == [0.0, 0.0, 0.0]
    assert table.loc["error", "high"] == pytest.approx(no_error_limit(100), rel=1e-12)


def test_the_log_loss_of_a_choice_allows_for_unobserved_errors():
    choice = discrim.choose("species ~ .", TWO, candidates=["lda"], calibrate=False, seed=1)
    posteriors = choice.validations["lda"].posteriors().dropna()
    if_wrong = -np.log(np.sort(posteriors.to_numpy(), axis=1)[:, 0])
    table = choice.corrected()
    bound = table.loc["log_loss", "chosen"] + no_error_limit(100) * if_wrong.mean()
    assert table.loc["log_loss", "high"] >= bound * (1 - 1e-9)
    assert table.loc["log_loss", "high"] == pytest.approx(bound, rel=0.01)


def test_the_limit_of_unobserved_errors_uses_groups_and_priors():
    losses, if_wrong = np.full(40, 0.01), np.linspace(1.0, 3.0, 40)
    groups = np.arange(40) // 4
    high = mean_loss_interval(losses, rows(40, groups), 0.95, is_zero_one=False, losses_if_wrong=if_wrong)[3]
    assert high == pytest.approx(0.01 + 2.0 * no_error_limit(10))
    codes = (np.arange(40) >= 30).astype(np.intp)
    test_rows = EvaluatedRows(codes, np.ones(40), 2, np.array([0.2, 0.8]), None)
    high = mean_loss_interval(losses, test_rows, 0.95, is_zero_one=False, losses_if_wrong=if_wrong)[3]
    each = [if_wrong[:30].mean() * no_error_limit(30), if_wrong[30:].mean() * no_error_limit(10)]
    assert high == pytest.approx(0.01 + np.hypot(0.2 * each[0], 0.8 * each[1]))


def test_rows_predicted_several_times_count_once():
    """One row wrong in one of ten repeats has no smaller upper limit than no row."""
    losses = np.zeros(60)
    losses[7] = 0.1
    none = mean_loss_interval(np.zeros(60), rows(60), 0.95, is_zero_one=True)
    single_rate = mean_loss_interval(losses, rows(60), 0.95, is_zero_one=True)
    assert none[3] == pytest.approx(no_error_limit(60))
    assert single_rate[3] > none[3]
    assert exact_interval_of_dependent_rows(0.1, 1e-9, 60.0, 60.0, 0.95)[1] == pytest.approx(
        beta.ppf(0.975, 7, 54)
    )


def test_few_errors_do_not_shorten_the_bootstrap_interval_of_none():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 20)
    samples = np.hstack([rng.multinomial(20, np.full(20, 1 / 20), size=100) for _ in range(2)])
    sample_predicted = np.where(samples > 0, -1, codes)
    wrong = sample_predicted.copy()
    out = tuple(np.argwhere(sample_predicted >= 0)[:2].T)
    wrong[out] = 1 - wrong[out]
    none, few_errors = (
        bootstrap_632_plus(
            OutOfBagPredictions(codes, codes, samples, each), np.full(2, 0.5), None, 0.95, sampled=True
        )
        for each in (sample_predicted, wrong)
    )
    assert 0 < few_errors.estimate < 0.001
    assert none.high == few_errors.high == pytest.approx(no_error_limit(40))


def test_cheap_errors_do_not_hide_expensive_errors():
    costs = np.array([[0.0, 1.0], [50.0, 0.0]])
    seen = error_rate_from_counts(
        np.array([[28.0, 2.0], [0.0, 30.0]]), np.full(2, 0.5), costs, 0.95, sampled=True
    )
    assert seen.high == pytest.approx(2 / 60 + 50 * no_error_limit(60))


def test_rules_that_never_differ_have_an_exact_interval_of_their_difference():
    fits = [discrim.lda(f"species ~ {x}", TWO) for x in ("petal_length", "petal_width")]
    pair = discrim.compare(*fits, folds=5, seed=1).pairs().iloc[0]
    assert pair["error_a"] == pair["error_b"] == pair["se"] == 0
    assert pair["high"] == -pair["low"] == pytest.approx(no_error_limit(100))


def test_an_equal_error_rate_of_zero_has_the_exact_limit_of_classes():
    codes = np.repeat(np.arange(12), 3)
    scores = np.where(codes[:, None] == codes, 5.0, -5.0)
    limits = PairScores.from_scores(scores, codes).bootstrap_limits(Costs(), 0.95, 50, 1)
    assert limits[0, 0] == 0
    assert limits[1, 0] == pytest.approx(no_error_limit(12))


def test_the_bootstrap_of_a_batch_without_a_class_has_the_profile_limit():
    fit = discrim.lda("species ~ .", TWO)
    batch = TWO[TWO["species"] == "setosa"]
    bootstrap_limits, profile = (
        fit.estimate_prior(batch, interval=interval, **options).table
        for interval, options in (("bootstrap", {"replicates": 20, "seed": 1}), ("profile", {}))
    )
    assert bootstrap_limits.loc["versicolor", "high"] >= profile.loc["versicolor", "high"] > 0.03


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "distance", "sureness"),
    # Two settings for each number of rows.
    [
        pytest.param(n, *setting, marks=() if (i + j) % 2 else pytest.mark.exhaustive)
        for i, n in enumerate((20, 60, 200))
        for j, setting in enumerate(((5.2, 3.0), (4.0, 1.0), (4.0, 3.0), (3.0, 1.0)))
    ],
)
def test_intervals_of_rare_errors_contain_the_truth_as_often_as_stated(rows, distance, sureness):
    samples = 400
    coverage_rates = coverage(rows, distance, sureness, samples, seed=3)
    lowest = 0.95 - 4 * np.sqrt(0.95 * 0.05 / samples)
    assert coverage_rates["error", "rate"] > lowest
    assert coverage_rates["log loss", "rate"] > lowest
    # Choices are simulated in a fifth of the samples.
    lowest = 0.95 - 4 * np.sqrt(0.95 * 0.05 / (samples / 5))
    choices = [
        coverage_rates[name, label] for name in ("error", "log loss") for label in ("corrected", "chosen")
    ]
    assert min(choices) > lowest
    assert coverage_rates["log loss", "percentile"] < coverage_rates["log loss", "rate"]
