"""The choice of alpha and gamma, and leave-one-out of regularized rules, beside refits one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discrim import load, rda
from discrim.core.discriminant.leave_one_out_rda import Regularization
from discrim.core.discriminant.rda import count_misclassified, fit_rda, path_rules
from discrim.core.moments.moments import ClassMoments
from discrim.core.rules.rules import best_class
from discrim.datasets import load_iris, load_wine
from discrim.errors import CollinearError, DataError, MissingPredictionWarning
from discrim.models.evaluation.validation import assign_folds
from tests.turns import one_in

pytestmark = pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")

IRIS = load_iris()
UNEQUAL = IRIS.drop(index=[*range(10), *range(60, 85)])
FEW_WINES = load_wine().groupby("cultivar").head(9)
ALL = ("esl", "friedman", "klar")
PAIRS = [(0.3, 0.2), (0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0), (0.5, 0.0), (0.5, 1.0), (0.0, 0.6)]


def in_turn(values, name="pair"):
    """Each value by one of the parametrizations; by the others it is slow."""
    every = [(value, other, i) for i, value in enumerate(values) for other in ALL]
    marks = {True: (), False: (pytest.mark.slow,)}
    cases = [pytest.param(*case[:2], marks=marks[ALL[case[2] % 3] == case[1]]) for case in every]
    return pytest.mark.parametrize((name, "parametrization"), cases)


def without_each_row(formula, data, prior, weights=None, step=1, **options):
    """Return log posteriors of every step-th row by a fit to the table with one unit of its weight less."""
    row_weights = np.ones(len(data)) if weights is None else weights
    out = []
    for i in range(0, len(data), step):
        left_out = np.where(
            np.arange(len(data)) == i, row_weights - np.minimum(row_weights, 1.0), row_weights
        )
        chunk = rda(formula, data[left_out > 0], prior=prior, weights=left_out[left_out > 0], **options)
        out.append(chunk.predict_log_proba(data.iloc[[i]]).to_numpy()[0])
    return np.array(out)


def held_scores(fit, data, weights=None):
    """Leave-one-out log posteriors by the closed form alone."""
    response = fit.formula.split(" ~ ")[0]
    codes = fit.classes.get_indexer(data[response])
    scores = fit._fit.refits.leave_one_out(fit._fit)(data[list(fit.terms)].to_numpy(float), codes, weights)
    is_finite = ~np.isnan(scores[:, 0])
    scores[is_finite] -= np.logaddexp.reduce(scores[is_finite], axis=1)[:, None]
    return scores


@pytest.mark.slow
@in_turn(PAIRS)
@pytest.mark.parametrize("method", ["moment", pytest.param("mle", marks=pytest.mark.slow)])
def test_leave_one_out_scores_equal_refits(parametrization, method, pair):
    options = {"alpha": pair[0], "gamma": pair[1], "parametrization": parametrization, "method": method}
    fit = rda("species ~ .", UNEQUAL, **options)
    expected = without_each_row("species ~ .", UNEQUAL, fit.prior, step=7, **options)
    np.testing.assert_allclose(held_scores(fit, UNEQUAL)[::7], expected, rtol=1e-10, atol=1e-10)


@in_turn([(0.3, 0.2), (0.6, 0.7), (0.1, 0.0), (0.8, 0.5)])
def test_leave_one_out_with_more_columns_than_rows_of_a_class(parametrization, pair):
    options = {"alpha": pair[0], "gamma": pair[1], "parametrization": parametrization}
    try:
        fit = rda("cultivar ~ .", FEW_WINES, **options)
    except CollinearError:
        pytest.skip("singular")
    expected = without_each_row("cultivar ~ .", FEW_WINES, fit.prior, step=4, **options)
    np.testing.assert_allclose(held_scores(fit, FEW_WINES)[::4], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
@pytest.mark.slow
@in_turn([1.0, 0.5], "units")
def test_leave_one_out_removes_one_unit_of_a_weight(parametrization, units):
    weights = units * (1.0 + np.arange(len(UNEQUAL)) % 3)
    options = {"alpha": 0.4, "gamma": 0.3, "parametrization": parametrization}
    fit = rda("species ~ .", UNEQUAL, weights=weights, **options)
    expected = without_each_row("species ~ .", UNEQUAL, fit.prior, weights, step=7, **options)
    np.testing.assert_allclose(held_scores(fit, UNEQUAL, weights)[::7], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.slow
@in_turn([(0.4, 1.0), (0.4, 0.0), (1.0, 1.0)])
def test_leave_one_out_is_precise_with_different_units(parametrization, pair):
    data = UNEQUAL.copy()
    data.iloc[:, :4] = data.iloc[:, :4].to_numpy() * [1.0, 1e6, 1e-6, 1e3] + [0.0, 1e9, 0.0, 1e5]
    options = {"alpha": pair[0], "gamma": pair[1], "parametrization": parametrization}
    fit = rda("species ~ .", data, **options)
    expected = without_each_row("species ~ .", data, fit.prior, step=7, **options)
    np.testing.assert_allclose(held_scores(fit, data)[::7], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.slow
def test_rows_without_a_closed_form_are_refitted_or_missing():
    """A class of p + 3 rows has little left without one; one of p + 1 rows, or of two, has no covariance."""
    subset = pd.concat([IRIS.iloc[:7], IRIS.iloc[50:]], ignore_index=True)
    fit = rda("species ~ .", subset, alpha=1.0, gamma=1.0)
    expected = without_each_row("species ~ .", subset, fit.prior, alpha=1.0, gamma=1.0)
    left_out = fit.leave_one_out()[["setosa", "versicolor", "virginica"]].to_numpy(float)
    np.testing.assert_allclose(left_out, np.exp(expected), rtol=1e-7, atol=1e-9)
    for rows, alpha in ((5, 1.0), (2, 0.5)):
        held = pd.concat([IRIS.iloc[50:].sample(frac=1, random_state=2), IRIS.iloc[20 : 20 + rows]])
        fit = rda("species ~ .", held, alpha=alpha, gamma=alpha)
        assert np.isnan(held_scores(fit, held)[-rows:]).all()
        with pytest.warns(MissingPredictionWarning, match=f"{rows} rows"):
            assert fit.leave_one_out().isna().any(axis=1).sum() == rows
    with pytest.raises(DataError) as caught:
        rda("species ~ .", held, folds="loo")
    assert "'setosa'" in str(caught.value)


@one_in(2, {"parametrization": ALL, "prior": [None, [0.0, 0.4, 0.6]]})
def test_choice_by_leave_one_out_equals_separate_fits(parametrization, prior):
    options = {"parametrization": parametrization, "prior": prior}
    fit = rda("cultivar ~ .", FEW_WINES, folds="loo", grid=[0.0, 0.3, 0.9, 1.0], **options)
    for _, row in fit.path.iterrows():
        try:
            chunk = rda("cultivar ~ .", FEW_WINES, alpha=row["alpha"], gamma=row["gamma"], **options)
        except CollinearError:
            assert np.isnan(row["error"])
            continue
        rates = chunk.error_rates(["loo"]).loc["loo"]
        assert row["error"] == pytest.approx(rates["estimate"], abs=1e-12)
        assert row["se"] == pytest.approx(rates["se"], abs=1e-12)
    assert fit.path["error"].isna().any()
    assert fit.path["error"].notna().any()
    assert "leave-one-out" in fit.summary().as_text()


def test_choice_by_leave_one_out_refits_where_the_closed_form_fails():
    subset = pd.concat([IRIS.iloc[:7], IRIS.iloc[50:]], ignore_index=True)
    fit = rda("species ~ .", subset, folds="loo", grid=[0.0, 0.5, 1.0], weights=np.ones(len(subset)))
    for _, row in fit.path.iterrows():
        chunk = rda("species ~ .", subset, alpha=row["alpha"], gamma=row["gamma"])
        assert row["error"] == pytest.approx(chunk.error_rates(["loo"]).loc["loo", "estimate"], abs=1e-12)


@one_in(
    2,
    {
        "parametrization": ALL,
        "method": ["moment", "mle"],
        "units": [np.ones(4), np.array([1.0, 1e7, 1e-7, 10.0])],
    },
)
def test_rules_of_a_path_equal_separate_fits(parametrization, method, units):
    x, codes = UNEQUAL.iloc[:, :4].to_numpy() * units, pd.factorize(UNEQUAL["species"])[0]
    prior = np.array([0.2, 0.5, 0.3])
    pairs = [Regularization(a, g) for a in (0.0, 0.3, 0.9, 1.0) for g in (0.0, 1e-9, 0.4, 1.0)]
    moments = ClassMoments.from_block(x, codes, n_classes=3, required_moments="class")
    options = {"parametrization": parametrization, "method": method}
    rules = list(path_rules([moments], pairs, log_prior=np.log(prior), **options))
    seen = np.sort(np.concatenate([rule.pairs for rule in rules]))
    assert seen.tolist() == list(range(len(pairs)))
    for rule in rules:
        actual = np.stack([scores[0] for scores in rule.scores(x[None])], axis=2)
        for i, scores in zip(rule.pairs.tolist(), actual, strict=True):
            pair = pairs[i]
            fit = fit_rda(moments, prior, alpha=pair.alpha, gamma=pair.gamma, **options)
            expected = fit.rule(np.log(prior)).scores(x)
            # Under one covariance for all, scores of a row leave out what its classes have in common.
            differences = [of_row - of_row[:, :1] for of_row in (scores, expected)]
            np.testing.assert_allclose(*differences, rtol=1e-6, atol=1e-6)
            if pair.alpha > 0:
                np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)
            missed = np.bincount(codes[best_class(expected) != codes], minlength=3)
            counted = count_misclassified(rule, x[None], codes[None])[0, rule.pairs == i][0]
            np.testing.assert_array_equal(counted, missed)


def test_grids_by_parameter_and_the_one_standard_error_rule():
    options = {"folds": 5, "seed": 3, "grid": {"alpha": [0.0, 0.5], "gamma": [0.2, 0.8]}}
    fit = rda("species ~ .", IRIS, **options)
    assert fit.path[["alpha", "gamma"]].to_numpy().tolist() == [[0, 0.2], [0, 0.8], [0.5, 0.2], [0.5, 0.8]]
    for parametrization, more in (("esl", True), ("friedman", False), ("klar", False)):
        for rule in (None, "1se"):
            fit = rda("species ~ .", IRIS, parametrization=parametrization, alpha=rule, **options)
            same = rda("species ~ .", IRIS, parametrization=parametrization, gamma=rule, **options)
            assert (fit.alpha, fit.gamma) == (same.alpha, same.gamma)
            path = fit.path
            minimum = path.loc[path["error"].idxmin()]
            max_error = minimum["error"] + (minimum["se"] if rule == "1se" else 0) + 1e-12
            good = path[path["error"] <= max_error].sort_values(["alpha", "gamma"], ascending=[True, more])
            assert (fit.alpha, fit.gamma) == tuple(good.iloc[0][["alpha", "gamma"]])


def test_weights_are_repeated_rows_in_the_choice():
    weights = 1 + np.arange(len(IRIS)) % 2
    repeated = IRIS.loc[IRIS.index.repeat(weights)].reset_index(drop=True)
    pairs = {"grid": [0.0, 0.5, 1.0], "folds": "loo"}
    one = rda("species ~ .", IRIS, weights=weights, **pairs)
    two = rda("species ~ .", repeated, **pairs)
    pd.testing.assert_frame_equal(one.path, two.path, atol=1e-12)
    assert (one.alpha, one.gamma) == (two.alpha, two.gamma)


def test_folds_that_leave_a_class_without_rows_are_refused():
    data = pd.concat([IRIS.iloc[:2], IRIS.iloc[50:]], ignore_index=True)
    with pytest.raises(DataError) as caught:
        rda("species ~ .", data, folds=5, seed=0)
    assert "folds=5" in str(caught.value)
    assert "'setosa'" in str(caught.value)


@pytest.mark.parametrize("cv", [4, "loo"])
def test_cross_validation_chooses_again_and_leave_one_out_keeps_the_choice(cv):
    data = FEW_WINES.reset_index(drop=True)
    options = {"folds": cv, "grid": [0.0, 0.4, 1.0], "seed": 3, "prior": "equal"}
    fit = rda("cultivar ~ .", data, **options)
    actual, pairs = np.zeros((3, 3), dtype=int), set()
    codes = fit.classes.get_indexer(data["cultivar"])
    fold_ids = assign_folds(fit._fit, 3, 5)
    for fold in range(3):
        chunk = rda("cultivar ~ .", data[fold_ids != fold], **options)
        pairs.add((chunk.alpha, chunk.gamma))
        labels = fit.classes.get_indexer(chunk.predict(data[fold_ids == fold]))
        np.add.at(actual, (codes[fold_ids == fold], labels), 1)
    assert fit.confusion(method="cv", folds=3, seed=5).to_numpy().tolist() == actual.tolist()
    assert pairs != {(fit.alpha, fit.gamma)}
    fixed_fit = rda("cultivar ~ .", data, alpha=fit.alpha, gamma=fit.gamma, prior="equal")
    pd.testing.assert_frame_equal(fit.leave_one_out(), fixed_fit.leave_one_out())


def test_folds_without_a_seed_are_reproduced_in_refits():
    fit = rda("species ~ .", IRIS, folds=3, grid=[0.0, 0.5, 1.0])
    first, again = (fit.confusion(method="cv", folds=4, seed=1) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ({"alpha": 0.5, "gamma": 0.5}, "given"),
        ({"grid": [0.5, 1.0], "folds": 4}, "4-fold cross-validation"),
        ({"grid": [0.5, 1.0], "folds": "loo", "gamma": "1se"}, "leave-one-out, 1 SE rule"),
        ({"grid": [0.5], "folds": "loo"}, "leave-one-out"),
    ],
)
def test_files_record_how_the_pair_was_chosen(options, choice, tmp_path):
    fit = rda("species ~ .", IRIS, method="mle", **options)
    fit.save(tmp_path / "fit")
    for results in (fit, load(tmp_path / "fit")):
        header = results.summary().tables["header"]["value"]
        assert header["Chosen by"] == choice
        assert header["Divisors, by class and pooled"] == "n, N"
        assert ("chooses them again" in results.summary().as_text().replace("\n", " ")) == (choice != "given")


def test_missing_errors_of_a_path_are_explained():
    fit = rda("cultivar ~ .", FEW_WINES, folds=3, grid=[0.0, 0.5, 1.0], seed=0)
    assert fit.path["error"].isna().any()
    assert "singular without some fold" in fit.summary().as_text()
