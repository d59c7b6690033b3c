"""A model chosen by losses of rows that it did not see: the table, the rule, the correction, refusals."""

import time
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim import choose, cross_validate
from discrim.core.numerics.progress import Progress
from discrim.core.rules.calibration import fit_calibrator
from discrim.core.rules.rules import log_posteriors
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    DataError,
    MissingPredictionWarning,
    UninformativeFitWarning,
    UnseenLevelWarning,
)
from discrim.inference.calibration import EvaluatedRows, mean_loss_interval
from discrim.inference.model_choice import bias_corrected_losses, compare_losses

IRIS = load_iris()
FORMULA = "species ~ ."
THREE = ["lda", "qda", "naive_bayes"]
PLAIN = {"calibrate": False, "seed": 3}


@pytest.fixture(scope="module")
def result():
    return choose(FORMULA, IRIS, candidates=THREE, **PLAIN)


@cache
def brute(verb):
    """Return posteriors of each row by the verb without its fold, under the prior of all rows."""
    folds = cross_validate(discrim.lda(FORMULA, IRIS), seed=3).folds[1]
    proportions = IRIS["species"].value_counts(normalize=True)
    out = [
        getattr(discrim, verb)(FORMULA, IRIS[folds != fold]).predict_proba(
            IRIS[folds == fold], prior=proportions
        )
        for fold in folds.unique()
    ]
    return pd.concat(out).loc[IRIS.index]


def test_losses_agree_with_fits_without_each_fold(result):
    actual = pd.get_dummies(IRIS["species"]).astype(float)
    for verb in THREE:
        posteriors = brute(verb)[actual.columns]
        own = (posteriors * actual).sum(axis=1)
        row = result.table.loc[verb]
        assert row["log_loss"] == pytest.approx(-np.log(own).mean(), rel=1e-9)
        assert row["brier"] == pytest.approx(((posteriors - actual) ** 2).sum(axis=1).mean(), rel=1e-9)
        assert row["error"] == (posteriors.idxmax(axis=1) != IRIS["species"].astype(str)).mean()


def test_differences_are_paired_and_the_simplest_within_one_standard_error_is_chosen(result):
    losses = {verb: -np.log((brute(verb) * pd.get_dummies(IRIS["species"])).sum(axis=1)) for verb in THREE}
    table = result.table
    best = table.index[0]
    assert table["log_loss"].is_monotonic_increasing
    for verb in THREE:
        difference = losses[verb] - losses[best]
        assert table.loc[verb, "difference"] == pytest.approx(difference.mean(), abs=1e-9)
        assert table.loc[verb, "se_difference"] == pytest.approx(difference.std(ddof=0) / 150**0.5, rel=1e-7)
    good = [verb for verb in THREE if table.loc[verb, "difference"] <= table.loc[verb, "se_difference"]]
    assert result.chosen == good[0]
    assert choose(FORMULA, IRIS, candidates=THREE, **PLAIN, select="min").chosen == best
    assert choose(FORMULA, IRIS, candidates=THREE[::-1], **PLAIN).table["simplicity"]["lda"] == 3


def test_the_fit_agrees_with_the_verb_to_all_rows(result):
    fit = getattr(discrim, result.chosen)(FORMULA, IRIS)
    pd.testing.assert_frame_equal(result.fit.predict_proba(), fit.predict_proba())
    assert type(result.fit) is type(fit)


@pytest.mark.parametrize("prior", [None, np.array([0.2, 0.3, 0.5])])
@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(15), 4)])
def test_means_and_standard_errors_agree_with_one_rate(prior, clusters):
    rng = np.random.default_rng(1)
    losses, codes = rng.gamma(1.0, size=(3, 60)), rng.integers(0, 3, 60)
    evaluated = EvaluatedRows(codes, rng.integers(1, 4, 60).astype(float), 3, prior, clusters)
    ours = compare_losses(losses, evaluated, "min")
    for c in range(3):
        mean, error, _, _ = mean_loss_interval(losses[c], evaluated, 0.95, is_zero_one=False)
        assert (ours.means[c], ours.errors[c]) == pytest.approx((mean, error), rel=1e-12)
        _, error, _, _ = mean_loss_interval(losses[c] - losses[ours.best], evaluated, 0.95, is_zero_one=False)
        assert ours.difference_errors[c] == pytest.approx(error, rel=1e-12, abs=1e-15)


def test_an_infinite_loss_is_never_chosen():
    evaluated = EvaluatedRows(np.zeros(20, dtype=int), np.ones(20), 1, None, None)
    losses = np.ones((2, 20))
    losses[0, 3] = np.inf
    ours = compare_losses(losses, evaluated, "1se")
    assert (ours.chosen, ours.best, ours.means[0]) == (1, 1, np.inf)


def test_candidates_worse_than_the_null_model_are_not_chosen():
    evaluated = EvaluatedRows(np.zeros(20, dtype=int), np.ones(20), 1, None, None)
    rough = np.where(np.arange(20) < 1, 30.0, 0.0)
    losses = np.stack([rough, np.full(20, 1.0), np.full(20, 0.9)])
    assert compare_losses(losses, evaluated, "1se").chosen == 0
    assert compare_losses(losses, evaluated, "1se", np.full(20, 1.2)).chosen == 2
    assert compare_losses(losses, evaluated, "1se", np.full(20, 1.5)).chosen == 0
    ours = compare_losses(losses, evaluated, "1se", np.full(20, 0.8))
    assert (ours.chosen, ours.worse_than_prior) == (0, True)


def test_bootstrap_samples_do_not_choose_infinite_losses():
    rng, evaluated = (
        np.random.default_rng(6),
        EvaluatedRows(np.zeros(30, dtype=int), np.ones(30), 1, None, None),
    )
    losses = np.stack([rng.gamma(1.0, size=30) / 9, rng.gamma(1.0, size=30)])[None]
    losses[0, 0, 4] = np.inf
    ours = bias_corrected_losses(losses, 0, evaluated, "min", 50, 1)
    alone = bias_corrected_losses(losses[:, 1:], 0, evaluated, "min", 50, 1)
    np.testing.assert_array_equal(ours.draws, alone.draws)
    assert ours.chosen.tolist() == [0, 50]


@pytest.mark.filterwarnings("error")
def test_intervals_of_infinite_losses_have_limits():
    rng, evaluated = (
        np.random.default_rng(6),
        EvaluatedRows(np.zeros(30, dtype=int), np.ones(30), 1, None, None),
    )
    losses = rng.gamma(1.0, size=(2, 1, 30))
    losses[1, 0, 4] = np.inf
    rates = [(each.mean(), np.nan, np.nan, np.nan) for each in losses]
    low, high = bias_corrected_losses(losses, 0, evaluated, "min", 50, 1).interval(0.95, rates)
    assert np.isfinite(low).all()
    assert (np.isfinite(high[0]), high[1]) == (True, np.inf)


def test_uninformative_columns_cause_a_warning():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
    table["y"] = rng.permutation(["u", "v"] * 30)
    with pytest.warns(UninformativeFitWarning):
        ours = choose("y ~ .", table, candidates=["qda"], **PLAIN)
    assert ours.corrected().loc["log_loss", "chosen"] > np.log(2)


@pytest.mark.filterwarnings("error")
def test_a_class_of_prior_zero_does_not_count_in_losses():
    prior = {"setosa": 0.4, "versicolor": 0.6, "virginica": 0.0}
    ours = choose(FORMULA, IRIS, prior=prior, candidates=["lda"], **PLAIN).corrected()
    assert ours.loc["log_loss", "nothing"] == pytest.approx(-0.4 * np.log(0.4) - 0.6 * np.log(0.6))
    assert ours.loc["log_loss", "corrected"] == pytest.approx(ours.loc["log_loss", "chosen"], abs=1e-3)


def test_the_corrected_loss_of_one_candidate_is_its_mean():
    losses = np.random.default_rng(2).gamma(1.0, size=(1, 1, 400))
    evaluated = EvaluatedRows(np.zeros(400, dtype=int), np.ones(400), 1, None, None)
    ours = bias_corrected_losses(losses, 0, evaluated, "min", 400, 1)
    assert ours.means()[0] == pytest.approx(losses.mean(), abs=4 * losses.std() / 400**0.5 / 20)
    low, high = ours.interval(0.95, [(losses.mean(), np.nan, np.nan, np.nan)])[:, 0]
    # Rows that a draw leaves out are a share 1/e of them.
    width = stats.norm.ppf(0.975) * losses.std() * (np.e / 400) ** 0.5
    assert (low, high) == pytest.approx((losses.mean() - width, losses.mean() + width), rel=0.08)


def test_corrected_losses_on_noise_are_unbiased():
    rng, evaluated = (
        np.random.default_rng(3),
        EvaluatedRows(np.zeros(60, dtype=int), np.ones(60), 1, None, None),
    )
    smallest, honest = [], []
    for seed in range(40):
        wrong = (rng.random((1, 12, 60)) < 0.5).astype(float)
        smallest.append(wrong.mean(axis=2).min())
        honest.append(bias_corrected_losses(wrong, 0, evaluated, "min", 60, seed).means()[0])
    assert np.mean(smallest) < 0.42
    assert np.mean(honest) == pytest.approx(0.5, abs=0.03)


@pytest.mark.slow
def test_the_correction_agrees_with_repeated_choices_on_noise():
    rng, corrections, refit, smallest = np.random.default_rng(5), [], [], []
    for seed in range(6):
        table = pd.DataFrame(rng.standard_normal((60, 4)), columns=list("abcd"))
        table["y"] = rng.permutation(["u", "v"] * 30)
        ours = choose(
            "y ~ .", table, by="error", candidates=[*THREE, "knn"], seed=seed, folds=5, select="min"
        )
        corrections.append(ours.corrected()["corrected"]["error"])
        smallest.append(ours.table["error"].iloc[0])
        refit.append(ours.cross_validate(5, seed=seed).table()["estimate"]["error"])
    assert np.mean(smallest) < np.mean(corrections) - 0.01
    assert np.mean(corrections) == pytest.approx(np.mean(refit), abs=0.04)


def test_losses_without_columns_agree_with_the_class_shares(result):
    table = result.corrected()
    assert table.loc["log_loss", "nothing"] == pytest.approx(np.log(3))
    assert table.loc["error", "nothing"] == pytest.approx(2 / 3)
    assert table.loc["brier", "nothing"] == pytest.approx(2 / 3)
    assert table["chosen"].to_dict() == pytest.approx(result.table.loc[result.chosen, table.index].to_dict())
    assert (table["low"] <= table["corrected"]).all()
    assert (table["corrected"] <= table["high"]).all()


def test_costs_agree_with_labels_of_least_expected_cost():
    costs = np.array([[0.0, 1, 1], [1, 0, 10], [1, 1, 0]])
    ours = choose(FORMULA, IRIS, by="costs", costs=costs, candidates=["lda", "qda"], **PLAIN)
    codes = IRIS["species"].cat.codes if hasattr(IRIS["species"], "cat") else pd.factorize(IRIS["species"])[0]
    for verb in ("lda", "qda"):
        labels = (brute(verb).to_numpy() @ costs).argmin(axis=1)
        assert ours.table.loc[verb, "costs"] == pytest.approx(costs[codes, labels].mean())


def test_unsuitable_candidates_have_a_reason():
    few = IRIS.groupby("species", observed=True).head(5)
    ours = choose(FORMULA, few, folds=3, seed=1, calibrate=False)
    assert ours.refused.loc["qda", "reason"] == "not suited"
    assert "more rows than columns" in ours.refused.loc["qda", "why"]
    assert set(ours.table.index).isdisjoint(ours.refused.index)
    printed = " ".join(str(ours.summary()).split())
    assert "qda: It requires more rows than columns in every class." in printed


def test_a_candidate_that_fails_keeps_its_error_message():
    ours = choose(FORMULA, IRIS, candidates=["lda", "logistic"], **PLAIN)
    assert ours.refused["reason"].to_dict() == {"logistic": "failed"}
    assert "separates" in ours.refused.loc["logistic", "why"]
    with pytest.raises(DataError) as caught:
        choose(FORMULA, IRIS, candidates=["logistic"], seed=1)
    assert "'logistic'" in str(caught.value)


def test_messages_of_several_lines_become_one_paragraph():
    def pointing(formula, data, **options):
        raise DataError("No such place:\n    y ~ a\n        ^")

    ours = choose(FORMULA, IRIS, candidates={"lda": "lda", "pointing": pointing}, **PLAIN)
    assert "pointing: No such place: y ~ a ^\n" in str(ours.summary())


def test_time_is_a_limit_and_the_first_candidate_is_tried_in_any_case():
    ours = choose(FORMULA, IRIS, candidates=THREE, seed=1, calibrate=False, seconds=1e-9)
    assert ours.chosen == "lda"
    assert ours.refused["reason"].to_dict() == {"qda": "no time", "naive_bayes": "no time"}


def slow_lda(formula, data, **options):
    """Fit lda after a task of a minute that reports its steps, like the searches of the package."""
    with Progress(6000, "steps") as progress:
        for _ in range(6000):
            time.sleep(0.01)
            progress(1)
    return discrim.lda(formula, data, **options)


def slow_knn(formula, data, **options):
    """Fit knn after a pause in which nothing is reported, so that its folds would take ten pauses."""
    time.sleep(0.5)
    return discrim.knn(formula, data, **options)


def test_candidates_are_interrupted_at_the_limit_and_later_ones_are_tried():
    start = time.monotonic()
    candidates = {"first": "lda", "pause": slow_knn, "quick": "qda", "minute": slow_lda, "last": "lda"}
    ours = choose(FORMULA, IRIS, candidates=candidates, seconds=2.0, **PLAIN)
    assert time.monotonic() - start < 20
    assert set(ours.table.index) == {"first", "quick"}
    assert ours.refused["reason"].to_dict() == dict.fromkeys(["pause", "minute", "last"], "no time")
    assert "interrupted" in ours.refused.loc["minute", "why"]
    assert "before it began" in ours.refused.loc["last", "why"]
    unlimited = choose(FORMULA, IRIS, candidates=["lda", "qda"], **PLAIN)
    assert ours.table["log_loss"].tolist() == unlimited.table["log_loss"].tolist()


def test_options_of_candidates_and_verbs_without_posteriors():
    named = {"shrunk": ("lda", {"covariance": "shrunk"}), "plain": discrim.lda, "planes": "indicator"}
    ours = choose(FORMULA, IRIS, candidates=named, by="error", **PLAIN)
    assert set(ours.table.index) == set(named)
    assert "log_loss" not in ours.table
    expected = cross_validate(discrim.lda(FORMULA, IRIS, covariance="shrunk"), seed=3).table()["estimate"]
    assert ours.table.loc["shrunk", "error"] == pytest.approx(expected["error"])
    with pytest.raises(DataError) as caught:
        choose(FORMULA, IRIS, candidates=["indicator"], calibrate=False)
    assert "candidate" in str(caught.value)
    assert "posteriors" in str(caught.value)


def test_groups_stay_in_one_fold_and_are_drawn_as_wholes():
    table = IRIS.assign(plant=np.arange(150) // 2)
    ours = choose("species ~ . - plant", table, candidates=["lda", "qda"], groups="plant", **PLAIN)
    assert (ours.validations["lda"].folds[1].groupby(table["plant"]).nunique() == 1).all()
    alone = choose(FORMULA, IRIS, candidates=["lda", "qda"], **PLAIN)
    assert "groups" in str(ours.summary())
    assert "groups" not in str(alone.summary())


def test_missing_rows_are_dropped_for_all_and_weights_repeat_rows():
    birds = load_penguins()
    ours = choose("species ~ bill_length_mm + body_mass_g", birds, candidates=["lda"], **PLAIN)
    assert ours.fit.nobs == 342
    assert ours.summary().tables["header"].loc["Dropped, missing values", "value"] == 2
    weighted = choose(FORMULA, IRIS.assign(w=2.0), candidates=["lda", "knn"], weights="w", **PLAIN)
    assert "does not support 'weights='" in weighted.refused.loc["knn", "why"]


def test_errors_of_the_choice_repeat_the_choice(result):
    assert result.error_rates(["cv"], folds=3, seed=1)["choice"].tolist() == ["repeated"]
    assert 'error_rates(["cv"]) repeats the choice in each fold' in " ".join(
        str(result.fit.summary()).split()
    )
    fixed = cross_validate(result.fit, 3, seed=1, nested=False).table()["estimate"]["log loss"]
    plain = cross_validate(getattr(discrim, result.chosen)(FORMULA, IRIS), 3, seed=1)
    assert fixed == pytest.approx(plain.table()["estimate"]["log loss"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "accuracy"}, "by='accuracy'"),
        ({"by": "costs"}, "costs= and by="),
        ({"candidates": []}, "candidates= is empty"),
        ({"candidates": "lda"}, r"names.*verbs"),
        ({"candidates": ["lda", "lda"]}, "duplicate names"),
        ({"candidates": {"a": ("lda", {"k": 3})}}, "lda.* 'k'"),
        ({"candidates": [3]}, "invalid entry"),
        ({"seconds": 0}, "seconds=0"),
        ({"folds": 1}, "folds=1"),
        ({"select": "best"}, "select='best'"),
    ],
)
def test_invalid_arguments_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        choose(FORMULA, IRIS, **options)


def test_posteriors_are_calibrated_by_the_rows_of_other_folds():
    rng = np.random.default_rng(7)
    table = pd.DataFrame(rng.standard_normal((120, 8)), columns=list("abcdefgh"))
    table["y"] = np.where(table["a"] + rng.standard_normal(120) > 0, "u", "v")
    ours = choose("y ~ .", table, candidates=["lda", "qda"], seed=3, folds=4)
    assert set(ours.table.index) == {"lda", "lda, calibrated", "qda", "qda, calibrated"}
    assert ours.table["simplicity"]["lda, calibrated"] == 2
    evaluated = ours.validations["qda"]
    leads = np.log(evaluated.posteriors())
    losses = []
    for fold in range(1, 5):
        own = (evaluated.folds[1] == fold).to_numpy()
        codes = (table["y"] == "v").to_numpy().astype(int)
        result = fit_calibrator(leads[~own].to_numpy(), codes[~own])
        posteriors = np.exp(log_posteriors(result.scores(leads[own].to_numpy())))
        losses += (-np.log(posteriors[np.arange(own.sum()), codes[own]])).tolist()
    assert ours.table["log_loss"]["qda, calibrated"] == pytest.approx(np.mean(losses), rel=1e-9)
    assert ours.table["log_loss"]["qda, calibrated"] < ours.table["log_loss"]["qda"]
    chosen = choose("y ~ .", table, candidates=["qda"], seed=3, folds=4)
    assert (chosen.chosen, chosen.method) == ("qda, calibrated", "calibrated")
    fit = discrim.qda("y ~ .", table)
    expected = fit.predict_proba(table[:9], method="calibrated")
    pd.testing.assert_frame_equal(chosen.predict_proba(table[:9]), expected)
    assert chosen.predict(table[:9]).tolist() == expected.idxmax(axis=1).tolist()
    refit = cross_validate(chosen, 3, seed=1).table()["estimate"]["log loss"]
    assert refit < cross_validate(fit, 3, seed=1).table()["estimate"]["log loss"]


def test_labels_agree_with_the_fit_and_of_least_cost():
    costs = np.array([[0.0, 1, 1], [1, 0, 10], [1, 1, 0]])
    ours = choose(FORMULA, IRIS, by="costs", costs=costs, candidates=["lda"], **PLAIN)
    assert ours.predict().tolist() == discrim.lda(FORMULA, IRIS).predict(costs=costs).tolist()
    near = choose(FORMULA, IRIS, by="costs", costs=costs, candidates=["lda"], seed=3, select="min")
    labels = (near.predict_proba().to_numpy() @ costs).argmin(axis=1)
    assert near.predict().tolist() == [near.fit.classes[k] for k in labels]


def test_the_estimator_is_the_verb():
    sklearn = pytest.importorskip("discrim.sklearn")
    rng = np.random.default_rng(7)
    x = rng.standard_normal((120, 8))
    y = np.where(x[:, 0] + rng.standard_normal(120) > 0, "u", "v")
    model = sklearn.ChooseClassifier(candidates=["qda"], cv=4, seed=3).fit(x, y)
    ours = choose("y ~ .", pd.DataFrame(x).add_prefix("x").assign(y=y), candidates=["qda"], folds=4, seed=3)
    assert (model.chosen_, model.refused_.empty) == ("qda, calibrated", True)
    pd.testing.assert_frame_equal(model.table_.drop(columns="seconds"), ours.table.drop(columns="seconds"))
    np.testing.assert_allclose(model.predict_proba(x), ours.predict_proba().to_numpy(), rtol=1e-12)
    assert model.predict(x).tolist() == ours.predict().tolist()
    assert not hasattr(model, "decision_function")
    plain = sklearn.ChooseClassifier(candidates=["lda"], calibrate=False).fit(x, y)
    np.testing.assert_allclose(plain.predict_proba(x), sklearn.LDAClassifier().fit(x, y).predict_proba(x))


def test_rows_with_a_level_in_one_fold_count_for_no_candidate():
    table = IRIS.assign(kind=["rare"] + ["a", "b"] * 74 + ["a"])
    with pytest.warns(MissingPredictionWarning):
        ours = choose(FORMULA, table, candidates=["lda", "naive_bayes"], **PLAIN)
    assert ours.refused.empty
    assert ours.summary().tables["header"].loc["Rows without a label", "value"] == 1
    actual = pd.get_dummies(IRIS["species"]).astype(float)[1:]
    own = (ours.validations["lda"].posteriors()[1:][actual.columns] * actual).sum(axis=1)
    assert ours.table["log_loss"]["lda"] == pytest.approx(-np.log(own).mean())
    new = table[:2].assign(kind=["new", "a"])
    with pytest.warns(UnseenLevelWarning):
        assert ours.predict(new, unseen="missing").isna().tolist() == [True, False]
