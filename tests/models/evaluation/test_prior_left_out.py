"""The prior of rules without some of the rows: against refits by the public verbs, and against R."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from discrim import (
    cross_validate,
    fda,
    hyperplane,
    indicator,
    knn,
    lda,
    logistic,
    naive_bayes,
    nearest_centroid,
    perceptron,
    pls,
    qda,
    rda,
    shrunken_centroids,
)
from discrim.datasets import load_iris
from discrim.design.matrix import DesignMatrix
from discrim.errors import DataError, NotSupportedError
from tests import support

IRIS = load_iris()


def three(seed: int = 0, n: int = 27) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.standard_normal((n, 2)).round(1), columns=["u", "v"])
    data["y"] = np.where(data["u"] + 1.3 * rng.standard_normal(n) > 0.6, "b", "a")
    data.loc[::5, "y"] = "c"
    data["times"] = rng.integers(1, 4, n)
    data["site"] = np.where(data["y"] == "c", "far", np.where(np.arange(n) % 2, "near", "by"))
    return data


DATA = three()
FORMULA = "y ~ u + v"

MODELS = {
    "lda": lambda data, **more: lda(FORMULA, data, **more),
    "lda mle": lambda data, **more: lda(FORMULA, data, method="mle", **more),
    "lda diagonal": lambda data, **more: lda(FORMULA, data, covariance="diagonal", **more),
    "lda shrunk": lambda data, **more: lda(FORMULA, data, covariance="shrunk", **more),
    "qda": lambda data, **more: qda(FORMULA, data, **more),
    "rda": lambda data, **more: rda(FORMULA, data, alpha=0.4, gamma=0.7, **more),
    "naive Bayes": lambda data, **more: naive_bayes(FORMULA, data, **more),
    "centroids": lambda data, **more: shrunken_centroids(FORMULA, data, threshold=0.3, **more),
    "nearest": lambda data, **more: nearest_centroid(FORMULA, data, **{"prior": None} | more),
    "pls": lambda data, **more: pls(FORMULA, data, ncomp=2, **more),
    "fda": lambda data, **more: fda(FORMULA, data, engine=LinearRegression(), **more),
}
FREE = {
    "logistic": lambda data: logistic(FORMULA, data),
    "logistic, Firth": lambda data: logistic(FORMULA, data, bias_reduction=True),
    "knn 1": lambda data: knn(FORMULA, data, k=1, scale=False),
    "knn 4": lambda data: knn(FORMULA, data, k=4, scale=False),
    "knn Mahalanobis": lambda data: knn(FORMULA, data, k=5, metric="mahalanobis"),
}


# Rows that are refitted without, of every class; the other rows are predicted by the same formulas.
REFITTED = DATA.index[::4]


def without_each(make, data: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Return posteriors and labels of the rows `REFITTED` by fits to the others."""
    posteriors, labels = [], []
    for row in REFITTED:
        fit, one = make(data.drop(index=row)), data.loc[[row]]
        posteriors.append(fit.predict_proba(one).iloc[0].to_numpy())
        labels.append(fit.predict(one).iloc[0])
    return np.array(posteriors), labels


@pytest.mark.parametrize("name", MODELS)
def test_leave_one_out_with_the_prior_refitted_is_a_refit_of_everything(name):
    fit, (expected, labels) = MODELS[name](DATA), without_each(MODELS[name], DATA)
    got = fit.leave_one_out(refit_prior=True)
    np.testing.assert_allclose(got.loc[REFITTED].iloc[:, 1:].astype(float), expected, atol=1e-11)
    assert got["label"][REFITTED].tolist() == labels
    wrong = int((got["label"] != DATA["y"]).sum())
    rates = fit.error_rates(["apparent", "loo", "cv"], folds=len(DATA), refit_prior=True)
    assert rates["wrong"].tolist()[1:] == [wrong, wrong]
    assert rates["prior"].tolist() == ["", "refitted", "refitted"]
    table = fit.confusion(method="loo", refit_prior=True).to_numpy()
    assert table.sum() - np.trace(table) == wrong


def test_an_assessment_fixes_or_refits_the_prior():
    fit = qda(FORMULA, DATA)
    confusion = fit.assess(method="loo", refit_prior=True).classification().confusion
    pd.testing.assert_frame_equal(confusion, fit.confusion(method="loo", refit_prior=True))
    assert not confusion.equals(fit.confusion(method="loo"))
    assert "prior fixed" in fit.assess(method="loo").classification().summary().as_text()


@pytest.mark.parametrize("name", MODELS)
def test_these_models_fix_the_prior_of_all_rows_by_default(name):
    fit = MODELS[name](DATA)
    expected, _ = without_each(lambda data: MODELS[name](data, prior=fit.prior), DATA)
    got = fit.leave_one_out().loc[REFITTED]
    np.testing.assert_allclose(got.iloc[:, 1:].astype(float), expected, atol=1e-11)
    rates = fit.error_rates(["loo", "cv"], folds=3, seed=0)
    assert rates["prior"].tolist() == ["fixed", "fixed"]


@pytest.mark.parametrize("name", FREE)
def test_models_without_a_separate_prior_are_refitted(name):
    fit, (expected, labels) = FREE[name](DATA), without_each(FREE[name], DATA)
    got = fit.leave_one_out()
    np.testing.assert_allclose(got.loc[REFITTED].iloc[:, 1:].astype(float), expected, atol=1e-9)
    assert got["label"][REFITTED].tolist() == labels
    assert fit.error_rates(["loo"])["prior"].tolist() == ["refitted"]
    folds = np.arange(len(DATA)) % 4
    validation = cross_validate(fit, folds=folds)
    for fold in range(4):
        there = folds == fold
        one = FREE[name](DATA[~there]).predict_proba(DATA[there])
        np.testing.assert_allclose(validation.posteriors()[there], one, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@pytest.mark.parametrize("verb", [indicator, perceptron])
def test_rules_without_a_prior_are_refits_too(verb):
    fit = verb(FORMULA, DATA)
    expected = [verb(FORMULA, DATA.drop(index=i)).predict(DATA.loc[[i]]).iloc[0] for i in REFITTED]
    assert fit.leave_one_out()["label"][REFITTED].tolist() == expected
    assert fit.error_rates(["loo"])["prior"].tolist() == [""]
    with pytest.raises(NotSupportedError) as caught:
        fit.error_rates(["loo"], refit_prior=False)
    assert "refit_prior=False" in str(caught.value)


def test_a_hyperplane_is_refitted_without_its_support():
    pair = IRIS[IRIS["species"] != "virginica"].iloc[::3].astype({"species": str})
    fit = hyperplane("species ~ sepal_length + sepal_width", pair)
    for row in fit.support:
        refit = hyperplane("species ~ sepal_length + sepal_width", pair.drop(index=row))
        assert fit.leave_one_out().loc[row, "label"] == refit.predict(pair.loc[[row]]).iloc[0]


@pytest.mark.parametrize("name", ["lda", "lda diagonal", "qda", "naive Bayes"])
def test_weighted_rows_leave_one_unit_of_weight_and_of_the_prior(name):
    fit, expected = MODELS[name](DATA, weights="times"), []
    for row in REFITTED:
        less = DATA.copy()
        less.loc[row, "times"] -= 1
        refit = MODELS[name](less[less["times"] > 0], weights="times")
        expected.append(refit.predict_proba(DATA.loc[[row]]).iloc[0].to_numpy())
    got = fit.leave_one_out(refit_prior=True).loc[REFITTED].iloc[:, 1:].astype(float)
    np.testing.assert_allclose(got, expected, atol=1e-11)


@pytest.mark.slow
def test_class_of_the_left_out_row_does_not_leak_into_a_logistic_regression():
    # The case: held shares made 6 of 20 errors of what refits make 8.
    rng, worse = np.random.default_rng(3), 0
    for _ in range(4):
        x = rng.standard_normal(20)
        data = pd.DataFrame({"x": x, "y": np.where(x + 2 * rng.standard_normal(20) > 0, "b", "a")})
        fit = logistic("y ~ x", data)
        refits = [logistic("y ~ x", data.drop(index=i)).predict(data.loc[[i]]).iloc[0] for i in data.index]
        wrong = (np.array(refits) != data["y"]).sum()
        rates = fit.error_rates(["loo"], refit_prior=False)
        assert fit.error_rates(["loo"])["wrong"].iloc[0] == wrong
        assert rates["prior"].tolist() == ["fixed"]
        worse += int(rates["wrong"].iloc[0] < wrong)
    assert worse > 0


def test_choices_in_folds_use_the_prior_of_the_training_rows():
    data = three(5, 60)
    folds = np.arange(60) % 3
    grid = {"alpha": [0.0, 0.5, 1.0], "gamma": [0.2, 1.0]}
    fit = rda(FORMULA, data, grid=grid, folds="loo")
    validation = cross_validate(fit, folds=folds, refit_prior=True)
    for fold in range(3):
        there = folds == fold
        refit = rda(FORMULA, data[~there], grid=grid, folds="loo")
        np.testing.assert_allclose(
            validation.posteriors()[there], refit.predict_proba(data[there]), atol=1e-10
        )


@pytest.mark.parametrize("name", ["lda", "qda", "centroids", "fda"])
def test_fewer_axes_and_other_folds_are_refits_with_their_own_shares(name):
    folds = np.where(DATA["y"] == "c", np.arange(27) % 2, np.arange(27) % 5)
    options = {"ncomp": 1} if name == "lda" else {}
    validation = cross_validate(MODELS[name](DATA, **options), folds=folds, refit_prior=True)
    for fold in range(5):
        there = folds == fold
        expected = MODELS[name](DATA[~there], **options).predict_proba(DATA[there])
        np.testing.assert_allclose(validation.posteriors()[there], expected, atol=1e-11)
    assert validation.prior == "refitted"
    for fold in range(5):
        rest = DATA["y"][folds != fold].value_counts(normalize=True).sort_index()
        np.testing.assert_allclose(validation.class_shares().loc[(1, fold)], rest)


def test_transforms_and_prior_are_both_refitted():
    folds = np.arange(27) % 3
    validation = cross_validate(lda("y ~ standardize(u) + v", DATA), folds=folds, refit_prior=True)
    for fold in range(3):
        there = folds == fold
        expected = lda(FORMULA, DATA[~there]).predict_proba(DATA[there])
        np.testing.assert_allclose(validation.posteriors()[there], expected, atol=1e-11)


def test_unbalanced_folds_are_noted():
    uneven = np.where(DATA["y"] == "b", np.arange(27) % 2, 2 + np.arange(27) % 2)
    uneven[0] = 0
    fit = lda(FORMULA, DATA)
    text = cross_validate(fit, folds=uneven).summary().as_text()
    message = " ".join(text.split())
    assert "proportion of class 'b' is 0.5 outside fold 2, and 0.333 in all rows" in message
    assert "refit_prior=True estimates it without each fold" in message
    assert "class proportions, fixed" in message
    rows = np.flatnonzero(DATA["y"] == "b")
    groups = np.where(np.isin(np.arange(27), rows[1:]), -1, np.arange(27))
    by_group = " ".join(cross_validate(fit, folds=3, groups=groups, seed=0).summary().as_text().split())
    assert "class proportions differ between folds" in by_group
    for even in (cross_validate(fit, folds=5, seed=1), cross_validate(fit, folds=uneven, refit_prior=True)):
        assert "differ between folds" not in even.summary().as_text()
    validation = cross_validate(lda(FORMULA, DATA, prior="equal"), folds=uneven, refit_prior=True)
    assert validation.prior == "given"
    assert "uneven" not in validation.summary().as_text()


@pytest.mark.slow
def test_priors_of_the_user_are_never_refitted():
    for make in (lda, logistic):
        fit = make(FORMULA, DATA, prior=[0.2, 0.5, 0.3])
        same = fit.leave_one_out(refit_prior=True), fit.leave_one_out(refit_prior=False)
        pd.testing.assert_frame_equal(*same)
        expected, _ = without_each(lambda data, make=make: make(FORMULA, data, prior=[0.2, 0.5, 0.3]), DATA)
        np.testing.assert_allclose(same[0].loc[REFITTED].iloc[:, 1:].astype(float), expected, atol=1e-9)


def test_invalid_values_of_refit_prior_are_refused():
    with pytest.raises(DataError) as caught:
        lda(FORMULA, DATA).leave_one_out(refit_prior="refit")
    assert "refit_prior='refit'" in str(caught.value)


# ------------------------------------------------------------------ against R

GOLDEN = json.loads((support.GOLDEN / "leave_one_out.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["formula"])
def test_leave_one_out_posteriors_equal_r(case):
    data = pd.DataFrame(GOLDEN["data"])
    formula = f"low ~ {case['formula']}"
    logit = logistic(formula, data)
    np.testing.assert_allclose(logit.leave_one_out()[1], case["logistic"], rtol=1e-7)
    assert logit.error_rates(["loo"])["wrong"].tolist() == [case["wrong"]]
    for verb in (lda, qda):
        fit, expected = verb(formula, data), case[verb.__name__]
        np.testing.assert_allclose(fit.leave_one_out()[1], expected["held"], rtol=1e-8)
        np.testing.assert_allclose(fit.leave_one_out(refit_prior=True)[1], expected["refitted"], rtol=1e-8)


@pytest.mark.slow
def test_refits_of_multimodal_penalized_likelihoods_equal_new_fits():
    """Without row 12 there are two maxima, -9.1868 and -9.3079; R's brmultinom finds the first as well."""
    few = pd.concat([IRIS.iloc[:7], IRIS.iloc[50:58], IRIS.iloc[100:109]]).reset_index(drop=True)
    without = logistic("species ~ .", few.drop(index=12), bias_reduction=True).predict_proba(few.iloc[[12]])
    left_out = logistic("species ~ .", few, bias_reduction=True).leave_one_out().drop(columns="label")
    np.testing.assert_allclose(left_out.iloc[12], without.iloc[0], rtol=1e-6)


@pytest.mark.parametrize(("verb", "n", "p"), [(lda, 24, 19), (qda, 30, 8)])
def test_left_out_rows_and_priors_equal_refits(verb, n, p):
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.standard_normal((n, p)), columns=[f"x{j}" for j in range(p)])
    data["y"] = np.repeat(["a", "b", "c"], n // 3)
    data.loc[n - 1, "y"] = "b" if verb is lda else "c"
    found = verb("y ~ .", data).leave_one_out(refit_prior=True).drop(columns="label")
    for row in range(0, n, 5):
        refit = verb("y ~ .", data.drop(index=row)).predict_proba(data.iloc[[row]])
        np.testing.assert_allclose(found.iloc[row], refit.iloc[0], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        (lambda: lda("species ~ .", IRIS), "uses the prior of all observations"),
        (lambda: qda("species ~ .", IRIS), "uses the prior of all observations"),
        (lambda: rda("species ~ .", IRIS, alpha=0.5, gamma=0.5), "uses the prior of all observations"),
        (lambda: naive_bayes("species ~ .", IRIS), "uses the prior of all observations"),
        (lambda: shrunken_centroids("species ~ .", IRIS, threshold=1), "uses the prior of all observations"),
        (lambda: knn("species ~ .", IRIS, k=3), "estimates the prior again"),
        (lambda: lda("species ~ .", IRIS, prior="equal"), ""),
        (lambda: indicator("species ~ .", IRIS), ""),
        (lambda: lda("species ~ .", IRIS, ncomp=1), ""),
        (lambda: logistic("species ~ sepal_length", IRIS), ""),
    ],
)
def test_summaries_state_the_prior_of_the_leave_one_out_error(fit, said):
    text = " ".join(fit().summary().as_text().split())
    assert (f"Leave-one-out {said}." in text) if said else ("Leave-one-out" not in text)


@pytest.mark.parametrize("options", [{}, {"bias_reduction": True}])
def test_a_refit_of_a_formula_writes_its_columns_a_few_times_and_not_once_a_pass(options):
    data = IRIS.iloc[50::4].astype({"species": str})
    data = data.assign(wide=np.where(np.arange(len(data)) % 3, "no", "yes"))
    fit = logistic("species ~ sepal_width + wide", data, **options)
    with support.record_calls(DesignMatrix.write) as written:
        got = fit.leave_one_out()
    assert 0 < len(written) <= 6 * len(data)
    for row in data.index[:3]:
        refit = logistic("species ~ sepal_width + wide", data.drop(row), **options)
        expected = refit.predict_proba(data.loc[[row]]).iloc[0]
        np.testing.assert_allclose(got.loc[row].iloc[1:].astype(float), expected, rtol=1e-6)
