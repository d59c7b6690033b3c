"""Logistic regression with ridge, lasso and elastic net: glmnet, scikit-learn, conditions of a minimum."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import logistic
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import DataError, NotSupportedError
from discrim.formula.grammar import quote
from discrim.models.base.refits import refit_options
from discrim.models.regression.logistic_results import LogisticResults
from discrim.models.regression.penalized import PenalizedLogisticResults
from discrim.models.results.geometry import LinearGeometry
from discrim.models.results.results import ClassifierResults
from discrim.penalty import PENALTIES, ElasticNet, Lasso, Ridge
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "penalty.json").read_text(encoding="utf-8"))
FITS, FOLDS = GOLDEN["fits"], GOLDEN["folds"]
BUNDLED = {
    "breast_cancer": load_breast_cancer, "iris": load_iris, "penguins": load_penguins, "wine": load_wine,
}  # fmt: skip
NAMES = {0: "ridge", 1: "lasso"}
IRIS = load_iris()


@cache
def table(file: str) -> pd.DataFrame:
    if file in BUNDLED:
        return BUNDLED[file]()
    return support.classic_table(file)


def golden_arguments(case: dict[str, Any]) -> tuple[str, pd.DataFrame, Any, dict[str, Any]]:
    """Return formula, table, penalty and other options of a golden case."""
    columns, data = case["columns"], table(case["file"])
    data = data.dropna(subset=[case["response"], *columns]).reset_index(drop=True)
    assert len(data) == case["nobs"]
    penalty = PENALTIES[NAMES[case["alpha"]]]() if case["alpha"] in NAMES else ElasticNet(case["alpha"])
    options: dict[str, Any] = {}
    if case.get("weighted"):
        options["weights"] = 1.0 + np.arange(1, len(data) + 1) % 3
    return f"{case['response']} ~ {' + '.join(map(quote, columns))}", data, penalty, options


def standardized(coef: np.ndarray, fit: Any, data: pd.DataFrame, weights: Any) -> np.ndarray:
    """Coefficients (p + 1, K) of columns about their means, over their standard deviations, divisor N."""
    x = data[list(fit.terms)].to_numpy(float)
    slopes = coef[1:] * np.sqrt(np.atleast_2d(np.cov(x.T, aweights=weights, ddof=0)).diagonal())[:, None]
    return np.vstack([coef[0] + np.average(x, axis=0, weights=weights) @ coef[1:], slopes])


# ------------------------------------------------------------------ glmnet


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_coefficients_agree_with_glmnet(name):
    case = FITS[name]
    formula, data, penalty, options = golden_arguments(case)
    for strength, coef, explained in zip(case["strengths"], case["coef"], case["explained"], strict=True):
        fit = logistic(formula, data, penalty=replace(penalty, strength=strength), **options)
        expected, result = np.array(coef).T, fit.class_params.to_numpy()
        if expected.shape[1] == 1:
            expected = np.column_stack([np.zeros(len(expected)), expected])
        expected, result = (
            standardized(each, fit, data, options.get("weights")) for each in (expected, result)
        )
        if len(fit.classes) > 2:
            # Constants have a free part in common; by the lasso, of an even number of classes, all have.
            expected, result = (each - np.median(each, axis=1, keepdims=True) for each in (expected, result))
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=5e-6)
        assert fit.prsquared == pytest.approx(explained, abs=1e-8)
        assert fit.penalty == (penalty.word, strength, case["alpha"])


@pytest.mark.parametrize("name", FOLDS)
def test_the_choice_agrees_with_cv_glmnet(name):
    case = FOLDS[name]
    formula, data, penalty, options = golden_arguments(case)
    fold_ids = np.arange(len(data)) % 10
    splits = [(np.flatnonzero(fold_ids != k), np.flatnonzero(fold_ids == k)) for k in range(10)]
    penalty = replace(penalty, grid=case["strengths"], folds=splits)
    fit = logistic(formula, data, penalty=penalty, **options)
    path = fit.path
    np.testing.assert_allclose(path["strength"], case["strengths"], rtol=1e-14)
    np.testing.assert_allclose(path["deviance"], case["deviance"], rtol=1e-6)
    np.testing.assert_allclose(path["se"], case["se"], rtol=1e-5)
    np.testing.assert_allclose(path["error"], case["error"], atol=1e-12)
    assert fit.penalty.strength == pytest.approx(case["min"])
    simpler = logistic(formula, data, penalty=replace(penalty, select="1se"), **options)
    assert simpler.penalty.strength == pytest.approx(case["one_se"])


# ------------------------------------------------------------------ conditions of a minimum


def worst_violation(fit: Any, data: pd.DataFrame, y: np.ndarray, weights: np.ndarray) -> float:
    """The largest violation of the KKT conditions in 40 digits, from the coefficients of the columns."""
    mpmath = pytest.importorskip("mpmath")
    mp = mpmath.mp
    with mpmath.workdps(40):
        x = [[mp.mpf(float(v)) for v in row] for row in data[list(fit.terms)].to_numpy(float)]
        w = [mp.mpf(float(v)) / mp.fsum(map(float, weights)) for v in weights]
        n, p = len(x), len(x[0])
        mean = [mp.fsum(w[i] * x[i][j] for i in range(n)) for j in range(p)]
        sd = [mp.sqrt(mp.fsum(w[i] * (x[i][j] - mean[j]) ** 2 for i in range(n))) for j in range(p)]
        z = [[(x[i][j] - mean[j]) / sd[j] for j in range(p)] for i in range(n)]
        # Of the standardized columns, as they are held: those of the data have them to rounding only.
        beta = [[mp.mpf(float(v)) for v in row] for row in fit._estimates.beta]
        worst = mp.mpf(0)
        residual = []
        for i in range(n):
            eta = [b[0] + mp.fsum(b[j + 1] * z[i][j] for j in range(p)) for b in beta]
            odds = [mp.mpf(0), *eta] if len(beta) == 1 else eta
            total = mp.fsum(mp.exp(v) for v in odds)
            proportions = [mp.exp(v) / total - (k == y[i]) for k, v in enumerate(odds)]
            residual.append([w[i] * v for v in (proportions[1:] if len(beta) == 1 else proportions)])
        strength, a = mp.mpf(fit.penalty.strength), mp.mpf(fit.penalty.l1_ratio)
        for c, b in enumerate(beta):
            worst = max(worst, abs(mp.fsum(residual[i][c] for i in range(n))))
            for j in range(p):
                slope = mp.fsum(residual[i][c] * z[i][j] for i in range(n)) + strength * (1 - a) * b[j + 1]
                here = b[j + 1]
                off = abs(slope + strength * a * mp.sign(here)) if here else abs(slope) - strength * a
                worst = max(worst, off)
        return float(worst)


@one_in(2, {"formula": ["species ~ .", "two ~ ."], "penalty": [Ridge(), Lasso(), ElasticNet(0.7)]})
def test_conditions_hold_to_rounding(formula, penalty):
    data = IRIS.iloc[::5].reset_index(drop=True)
    weights = 1.0 + np.arange(len(data)) % 2
    if formula.startswith("two"):
        data = data.assign(two=np.where(data["species"] == "virginica", "b", "a")).drop(columns="species")
    y = pd.factorize(data.iloc[:, -1], sort=True)[0]
    for strength in (0.2, 0.01, 1e-4):
        fit = logistic(formula, data, penalty=replace(penalty, strength=strength), weights=weights)
        assert worst_violation(fit, data, y, weights) < 2e-15
        assert fit._estimates.violation * strength < 1e-14


def test_no_other_coefficients_are_better():
    """Against scipy on the whole objective of a ridge, and the lasso's with parts above and below zero."""
    from scipy.optimize import minimize

    data = load_penguins().dropna()[["sex", "bill_length_mm", "bill_depth_mm", "body_mass_g"]]
    x = data.iloc[:, 1:].to_numpy(float)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    y = (data["sex"] == "male").to_numpy(float)
    for penalty in (Ridge(0.03), Lasso(0.03), ElasticNet(0.4, strength=0.03)):
        fit, a = logistic("sex ~ .", data, penalty=penalty), penalty.l1_ratio

        def objective(v, a=a):
            b = v[1:4] - v[4:]
            eta = v[0] + z @ b
            loss = np.mean(np.logaddexp(0, eta) - y * eta)
            return loss + 0.03 * ((1 - a) / 2 * b @ b + a * (v[1:4] + v[4:]).sum())

        result = minimize(objective, np.zeros(7), bounds=[(None, None)] + [(0, None)] * 6, tol=1e-15)
        fixed = fit._estimates.beta[0]
        own = objective(np.concatenate([fixed[:1], np.maximum(fixed[1:], 0), np.maximum(-fixed[1:], 0)]))
        assert own <= result.fun + 1e-15
        assert own == pytest.approx(result.fun, abs=1e-8)


def test_strength_is_one_over_n_times_c_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    x = IRIS[["sepal_length", "sepal_width", "petal_length", "petal_width"]].to_numpy()
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    for penalty, options in (
        (Ridge(0.02), {"solver": "lbfgs"}),
        (Lasso(0.05), {"solver": "saga", "l1_ratio": 1.0}),
    ):
        fit = logistic("species ~ .", IRIS, penalty=penalty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = LogisticRegression(C=1 / (len(x) * penalty.strength), tol=1e-8, max_iter=20000, **options)
            if penalty.word != "ridge" and "penalty" in peer.get_params():
                peer.set_params(penalty="elasticnet")
            peer.fit(z, IRIS["species"])
        np.testing.assert_allclose(fit._estimates.beta[:, 1:], peer.coef_, atol=2e-6)


# ------------------------------------------------------------------ what it has, and what it has not


@cache
def fitted(name: str, **options: Any) -> Any:
    return logistic("species ~ .", IRIS, penalty=PENALTIES[name](strength=0.05), **options)


def attribute_or_result(fit: Any, name: str) -> Any:
    """Return an attribute, or what a method returns without arguments."""
    result = getattr(fit, name)
    return result() if callable(result) else result


def test_inference_is_refused_and_other_methods_are_available():
    fit = fitted("lasso")
    own = {"class_params", "params", "path", "penalty", "prsquared", "selected", "llnull", "tidy", "glance"}
    for name in set(dir(LogisticResults)) - set(dir(ClassifierResults)) - set(dir(LinearGeometry)) - own:
        if name.startswith("_") or name in ("params", "llnull"):
            continue
        with pytest.raises(NotSupportedError) as caught:
            attribute_or_result(fit, name)
        assert "penalty='lasso'" in str(caught.value)
    for name in ("llf", "aic", "bic", "df_model"):
        with pytest.raises(NotSupportedError) as caught:
            getattr(fit, name)
        assert "penalty='lasso'" in str(caught.value)
    for name in own:
        value = getattr(fit, name)
        assert (value() if callable(value) else value) is not None


def test_weights_equal_repeated_rows():
    row_counts = 1 + np.arange(len(IRIS)) % 3
    repeated = IRIS.loc[IRIS.index.repeat(row_counts)].reset_index(drop=True)
    for name in ("ridge", "lasso"):
        one = logistic(
            "species ~ .", IRIS, penalty=PENALTIES[name](strength=0.01), weights=row_counts.astype(float)
        )
        other = logistic("species ~ .", repeated, penalty=PENALTIES[name](strength=0.01))
        np.testing.assert_allclose(one.class_params, other.class_params, rtol=1e-10, atol=1e-12)
        assert one.nobs == other.nobs


@pytest.mark.parametrize("name", ["ridge", "lasso", "elastic_net"])
def test_a_saved_fit_is_the_same(name, tmp_path):
    fit = fitted(name, prior="equal", reference="virginica")
    fit.save(tmp_path / "iris.fit")
    fixed = discrim.load(tmp_path / "iris.fit")
    assert type(fixed) is PenalizedLogisticResults
    np.testing.assert_array_equal(fixed.params, fit.params)
    np.testing.assert_array_equal(fixed.predict_proba(IRIS), fit.predict_proba(IRIS))
    assert (fixed.penalty, fixed.prsquared, fixed.reference) == (fit.penalty, fit.prsquared, fit.reference)
    assert "Penalized logistic" in fixed.summary().as_text()
    with pytest.raises(NotSupportedError) as caught:
        _ = fixed.path
    assert "path" in str(caught.value)


def test_a_refit_holds_the_strength_that_was_chosen(tmp_path):
    fit = logistic("species ~ .", IRIS, penalty=Lasso(n_strengths=5, folds=3, select="1se", seed=1))
    fit.save(tmp_path / "iris.fit")
    for each in (fit, discrim.load(tmp_path / "iris.fit")):
        assert each._fit.options["penalty"] == Lasso(n_strengths=5, folds=3, select="1se", seed=1)
        assert refit_options(each)["penalty"] == Lasso(fit.penalty.strength, n_strengths=5)
        assert refit_options(each, rechoose=True)["penalty"] == each._fit.options["penalty"]


def test_reference_and_prior_affect_only_their_results():
    fit, other = fitted("lasso"), fitted("lasso", reference="virginica")
    np.testing.assert_array_equal(fit.class_params, other.class_params)
    np.testing.assert_allclose(fit.params["virginica"], -other.params["setosa"], rtol=1e-14)
    proportions = [0.5, 0.25, 0.25]
    arguments = fitted("lasso", prior=tuple(proportions))
    odds = fit.predict_log_proba() + np.log(np.array(proportions) * 3)
    expected = np.exp(odds).div(np.exp(odds).sum(axis=1), axis=0)
    np.testing.assert_allclose(arguments.predict_proba(), expected, rtol=1e-12)
    np.testing.assert_allclose(fit.predict_proba(IRIS, prior=proportions), expected, rtol=1e-12)


def test_leave_one_out_agrees_with_refits():
    data = IRIS.iloc[::6].reset_index(drop=True)
    fit = logistic("species ~ .", data, penalty=ElasticNet(strength=0.02))
    result = fit.leave_one_out()
    for row in (0, 9, 20):
        less = logistic("species ~ .", data.drop(index=row), penalty=ElasticNet(strength=0.02))
        expected = less.predict_proba(data.iloc[[row]]).to_numpy()[0]
        np.testing.assert_allclose(result.loc[row, list(fit.classes)].to_numpy(float), expected, rtol=1e-6)


def test_folds_repeat_or_keep_the_choice():
    data = load_penguins().dropna()[["sex", "bill_length_mm", "bill_depth_mm", "flipper_length_mm"]]
    penalty = Lasso(seed=3, n_strengths=12, folds=4)
    fit = logistic("sex ~ .", data, penalty=penalty)
    assert fit._fit.refits.choice_description(fit._fit) == "the strength"
    fold_ids = np.arange(len(data)) % 3
    for nested in (True, False):
        result = discrim.cross_validate(fit, folds=fold_ids, nested=nested).posteriors()
        for k in range(3):
            again = penalty if nested else Lasso(fit.penalty.strength)
            refit = logistic("sex ~ .", data[fold_ids != k], penalty=again)
            expected = refit.predict_proba(data[fold_ids == k])
            np.testing.assert_allclose(result[fold_ids == k], expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["ridge", "lasso", "elastic_net"])
def test_more_columns_than_rows_and_columns_that_repeat_others(name):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(24, 60))
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(60)])
    data["twice"] = 2 * data["x0"]
    data["y"] = np.repeat(["a", "b", "c"], 8)
    fit = logistic("y ~ .", data, penalty=PENALTIES[name](strength=0.02))
    assert worst_violation(fit, data, pd.factorize(data["y"])[0], np.ones(24)) < 2e-15
    if name != "lasso":
        np.testing.assert_allclose(fit.params.loc["x0"], 2 * fit.params.loc["twice"], rtol=1e-8, atol=1e-12)
    two = logistic("y ~ .", data[data["y"] != "c"], penalty=PENALTIES[name](strength=0.02))
    y = pd.factorize(data["y"][data["y"] != "c"])[0]
    assert worst_violation(two, data[data["y"] != "c"], y, np.ones(16)) < 2e-15


def test_columns_of_any_units_have_the_same_fit():
    far = IRIS.assign(
        sepal_length=IRIS["sepal_length"] * 1e-200,
        petal_length=IRIS["petal_length"] * 1e200,
        petal_width=IRIS["petal_width"] + 1e6,
    )
    for name in ("ridge", "lasso"):
        np.testing.assert_allclose(
            logistic("species ~ .", far, penalty=PENALTIES[name](strength=0.02)).predict_proba(),
            logistic("species ~ .", IRIS, penalty=PENALTIES[name](strength=0.02)).predict_proba(),
            rtol=1e-8,
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l1"}, "penalty='l1' is not known. Use one of 'ridge', 'lasso', 'elastic_net'"),
        ({"penalty": Lasso}, "Write penalty=Lasso()"),
        ({"penalty": discrim.covariance.Full()}, "is not supported here"),
        ({"penalty": "lasso", "bias_reduction": True}, "bias_reduction=True.* penalty="),
        ({"penalty": "lasso", "collinear": "drop"}, "collinear="),
        ({"penalty": Lasso(1e-9), "maxiter": 1}, "has not converged.*increase maxiter=1"),
    ],
)
def test_invalid_arguments_are_refused(options, message):
    with pytest.raises(DataError, match=message):
        logistic("species ~ .", IRIS, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 0}, "strength=0 is not valid. Pass a number above 0"),
        ({"strength": "much"}, "strength='much' is not valid. Pass a number above 0"),
        ({"strength": float("inf")}, "strength=inf is not valid. Pass a number above 0"),
        ({"grid": []}, r"grid.*empty"),
        ({"grid": [0.1, -1]}, "-1 is not a valid strength"),
        ({"n_strengths": 1}, "n_strengths=1 is not valid. Pass a number of strengths"),
        ({"folds": 1}, "folds=1 is not valid. Pass a number of folds"),
        ({"seed": -1}, "seed=-1 is not valid. Pass a whole number"),
    ],
)
def test_a_penalty_is_validated_when_it_is_built(options, message):
    with pytest.raises(DataError, match=message):
        Lasso(**options)
    with pytest.raises(DataError) as caught:
        ElasticNet(1)
    assert "l1_ratio=1" in str(caught.value)


def test_a_class_of_one_row_has_no_choice_and_a_fit():
    data = pd.concat([IRIS.iloc[:60], IRIS.iloc[[120]]])
    with pytest.raises(DataError) as caught:
        logistic("species ~ .", data, penalty=Lasso(seed=1))
    assert caught.value.classes == ("virginica",)
    assert logistic("species ~ .", data, penalty=Lasso(0.01)).nobs == 61


def test_extreme_strengths_have_their_limits():
    """Of separated classes conditions hold to rounding; at a huge strength the class shares are left."""
    for name, strength in (("lasso", 1e-10), ("ridge", 1e-12), ("elastic_net", 1e-9)):
        fit = logistic("species ~ .", IRIS, penalty=PENALTIES[name](strength=strength))
        assert fit._estimates.violation * strength < 1e-14
    fit = logistic("species ~ .", IRIS, penalty=Lasso(1e3), prior=[0.2, 0.3, 0.5])
    assert not len(fit.selected)
    assert not fit.params.iloc[1:].to_numpy().any()
    np.testing.assert_allclose(fit.predict_proba(IRIS[:1]), [[0.2, 0.3, 0.5]], rtol=1e-12)
    assert "4 of 4 terms are not selected" in fit.summary().as_text()


def test_paths_agree_with_fits_of_single_strengths():
    fit = logistic("species ~ .", IRIS, penalty=ElasticNet(0.8, strength=0.01))
    path = fit.path
    assert (np.diff(path["strength"]) < 0).all()
    assert path["df"].iloc[0] == 0
    assert path["strength"].iloc[0] / path["strength"].iloc[1] == pytest.approx(1e4 ** (1 / 99))
    for at in (5, 30, 60):
        one = logistic("species ~ .", IRIS, penalty=ElasticNet(0.8, strength=path["strength"].iloc[at]))
        # A path ends where conditions are violated by a hundred-thousandth of the strength.
        assert one.prsquared == pytest.approx(path["explained"].iloc[at], abs=1e-5)
        assert one._estimates.n_nonzero() == path["df"].iloc[at]


def test_a_source_of_tables_and_rows_that_miss_values():
    penguins = load_penguins()
    formula = "species ~ bill_length_mm + body_mass_g + sex"
    full = logistic(formula, penguins, penalty=Lasso(0.01))
    chunks = logistic(
        formula, lambda: (penguins[i : i + 100] for i in range(0, 400, 100)), penalty=Lasso(0.01)
    )
    np.testing.assert_allclose(chunks.params, full.params, rtol=1e-9, atol=1e-12)
    assert full._fit.dropped == penguins[["bill_length_mm", "body_mass_g", "sex"]].isna().any(axis=1).sum()
    labels = pd.concat(list(full.predict(lambda: iter([penguins[:50], penguins[50:80]]))))
    assert len(labels) == 80


@pytest.mark.parametrize("other", ["hausman", "lr_test"])
def test_tests_of_other_fits_refuse_one_with_a_penalty(other):
    rows = IRIS[::5]
    fit = logistic("species ~ .", rows, penalty=Lasso(0.05))
    linear, df = discrim.lda("species ~ .", rows), logistic("species ~ sepal_width", rows)
    first = linear if other == "hausman" else df
    with pytest.raises(NotSupportedError) as caught:
        getattr(discrim, other)(first, fit)
    assert "penalty=" in str(caught.value)
    assert len(discrim.compare(linear, fit)) == 2


def test_plots():
    chosen = logistic("species ~ .", IRIS[::3], penalty=Lasso(n_strengths=4, seed=1, folds=3))
    assert "Held-out" in chosen.plot().get_title()
    assert "Coefficients" in fitted("lasso").plot().get_title()
    with pytest.raises(NotSupportedError) as caught:
        fitted("lasso").plot("choice")
    assert 'penalty="lasso"' in str(caught.value)


@pytest.mark.slow
def test_gene_expressions_are_classified():
    """Of 1,500 columns and 72 rows: the fit is at a minimum, and of few columns."""
    data = support.leukemia_table()[0].drop(columns=[f"g{j}" for j in range(1500, 7129)])
    fit = logistic("y ~ .", data, penalty=Lasso(0.05))
    z = (data[list(fit.terms)] - data[list(fit.terms)].mean()) / data[list(fit.terms)].std(ddof=0)
    beta = fit._estimates.beta[0]
    proportion = 1 / (1 + np.exp(-beta[0] - z.to_numpy() @ beta[1:]))
    slope = z.to_numpy().T @ (proportion - (data["y"] == fit.classes[1])) / len(data)
    assert np.abs(slope).max() == pytest.approx(0.05, abs=1e-14)
    np.testing.assert_allclose(slope[beta[1:] != 0], -0.05 * np.sign(beta[1:][beta[1:] != 0]), atol=1e-14)
    assert 5 < len(fit.selected) < 40


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("strength", [10**400, np.ones(2), "a", True, np.nan]),
        ("grid", [3, "ab", [np.nan], [True], [10**400], ["a"]]),
        ("n_strengths", [10**400, np.ones(2), 2.5, True]),
        ("folds", ["a", 2.5, [], [(1, 2, 3)], 10**400]),
        ("seed", ["a", 2.5, -1]),
        ("select", [None, 3, "one"]),
        ("l1_ratio", ["a", np.nan, 2.0]),
    ],
)
def test_options_of_invalid_types_are_refused(option, values):
    for value in values:
        with pytest.raises(DataError, match=option):
            logistic(
                "species ~ .",
                IRIS[::5],
                penalty=(ElasticNet if option == "l1_ratio" else Lasso)(**{option: value}),
            )


def test_too_few_rows_have_the_hint_of_a_penalty():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(12, 30))).add_prefix("x").assign(y=list("ab") * 6)
    with pytest.raises(discrim.errors.CollinearError) as caught:
        logistic("y ~ .", data)
    assert "penalty='ridge'" in str(caught.value)
    assert (logistic("y ~ .", data, penalty=Ridge(0.01)).predict() == data["y"]).all()


def test_a_choice_at_the_end_of_the_path_is_reported_to_be_there():
    """On iris the left-out deviance of the ridge falls along the whole path, and beyond it."""
    message = "The chosen strength is the smallest candidate"
    ended = logistic("species ~ .", IRIS, penalty=Ridge(n_strengths=5, folds=3))
    assert message in " ".join(str(ended.summary()).split())
    wider = logistic("species ~ .", IRIS, penalty=Ridge(grid=np.geomspace(1, 1e-6, 5), folds=3))
    assert wider.path["deviance"].min() < 0.5 * ended.path["deviance"].min()
    assert message not in " ".join(str(wider.summary()).split())
