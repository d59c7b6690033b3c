"""Logistic regression and the separation certificate: R, brute force, identities."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from scipy import stats

import discrim
from discrim import hausman, lda, logistic
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    NotSupportedError,
    SeparationError,
    SeparationWarning,
)
from discrim.formula.grammar import quote
from discrim.models.evaluation.validation import left_out_scores, scores_by_refit
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "logistic.json").read_text(encoding="utf-8"))
TWO, MANY, REDUCED = GOLDEN["two"], GOLDEN["many"], GOLDEN["reduced"]
IRIS = load_iris()
PAIR = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
TUMOURS = load_breast_cancer()[["diagnosis", "texture_mean", "smoothness_mean", "symmetry_mean"]]


@cache
def table(file: str) -> pd.DataFrame:
    if file == "palmerpenguins_penguins":
        return load_penguins()
    if file == "datasets_iris":
        return IRIS.rename(columns=lambda name: ".".join(word.capitalize() for word in name.split("_")))
    return support.classic_table(file)


def rows_of(case: dict[str, Any]) -> pd.DataFrame:
    """The table of a case; of some classes, and every so many of the complete rows, where it says so."""
    data = table(case["file"])
    if "classes" in case:
        data = data[data[case["response"]].isin(case["classes"])]
    if case.get("every", 1) > 1:
        data = data.dropna(subset=[case["response"], *case["columns"]]).iloc[:: case["every"]]
    return data


def fit_of(case: dict[str, Any], data: pd.DataFrame, **options: Any) -> Any:
    terms = " + ".join(quote(column) for column in case["columns"])
    fit = logistic(f"{quote(case['response'])} ~ {terms}", data, levels=case.get("classes"), **options)
    assert fit.nobs == case["nobs"]
    return fit


# ------------------------------------------------------------------ R


@pytest.mark.parametrize("name", TWO)
def test_two_classes_agree_with_glm(name: str) -> None:
    case, fit = TWO[name], fit_of(TWO[name], rows_of(TWO[name]))
    event = fit.classes[1]
    for ours, theirs, rtol in (
        (fit.params, "coef", 1e-9),
        (fit.bse, "se", 1e-7),
        (fit.zvalues, "z", 1e-7),
        (fit.pvalues, "p", 1e-5),
    ):
        np.testing.assert_allclose(ours[event], case[theirs], rtol=rtol)
    np.testing.assert_allclose(fit.cov_params(), case["cov"], rtol=1e-6, atol=1e-12)
    assert fit.llf == pytest.approx(case["llf"], rel=1e-12)
    assert fit.llnull == pytest.approx(case["llnull"], rel=1e-12)


@pytest.mark.parametrize("name", MANY)
def test_several_classes_agree_with_multinom(name: str) -> None:
    """At the maximum itself: the script goes on from multinom's estimates by Newton's method in R."""
    case = MANY[name]
    data = rows_of(case)
    scaled = data.assign(
        **{
            column: (data[column] - centre) / unit
            for column, centre, unit in zip(case["columns"], case["centre"], case["unit"], strict=True)
        }
    )
    fit = fit_of(case, scaled)
    assert list(fit.classes) == case["classes"]
    np.testing.assert_allclose(fit.params.to_numpy().T, case["coef"], rtol=1e-9)
    np.testing.assert_allclose(fit.bse.to_numpy().T, case["se"], rtol=1e-9)
    assert fit.llf == pytest.approx(case["llf"], rel=1e-12)


@pytest.mark.parametrize("name", REDUCED)
def test_bias_reduction_agrees_with_brglm2(name: str) -> None:
    case = REDUCED[name]
    fit = fit_of(case, rows_of(case), bias_reduction=True)
    np.testing.assert_allclose(fit.params.to_numpy().T, case["coef"], rtol=1e-8)
    np.testing.assert_allclose(fit.bse.to_numpy().T, case["se"], rtol=1e-8)
    assert "bias reduced" in fit.summary(["header"]).as_text()


@pytest.mark.slow
def test_bias_reduction_removes_the_first_order_bias():
    rng, plain, smaller = np.random.default_rng(3), [], []
    while len(plain) < 120:
        x = rng.standard_normal(60)
        y = (rng.random(60) < 1 / (1 + np.exp(-x))).astype(int)
        data = pd.DataFrame({"x": x, "y": y})
        plain.append(logistic("y ~ x", data).params.loc["x", 1])
        smaller.append(logistic("y ~ x", data, bias_reduction=True).params.loc["x", 1])
    error = np.std(smaller) / np.sqrt(120)
    assert np.mean(plain) > 1 + 2 * error
    assert abs(np.mean(smaller) - 1) < 2.5 * error


# ------------------------------------------------------------------ definitions


@pytest.mark.parametrize(
    ("data", "formula"), [(TUMOURS, "diagnosis ~ ."), (load_penguins(), "species ~ bill_length_mm")]
)
def test_score_information_and_likelihood_by_their_definitions(data, formula):
    fit = logistic(formula, data)
    used = data.dropna(subset=list(fit.terms))
    x = np.column_stack([np.ones(len(used)), used[list(fit.terms)].to_numpy()])
    eta = np.column_stack([np.zeros(len(x)), x @ fit.params.to_numpy()])
    p = np.exp(eta - eta.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    y = np.stack([(used[fit.classes.name] == label).to_numpy(dtype=float) for label in fit.classes], axis=1)
    score = x.T @ (y - p)[:, 1:]
    spread = np.sqrt(np.diag(fit.cov_params())).reshape(score.T.shape).T
    assert np.abs(score * spread).max() < 1e-9
    blocks = [
        [x.T @ (x * (p[:, k] * ((k == m) - p[:, m]))[:, None]) for m in range(1, p.shape[1])]
        for k in range(1, p.shape[1])
    ]
    np.testing.assert_allclose(np.linalg.inv(np.block(blocks)), fit.cov_params(), rtol=1e-5, atol=1e-10)
    assert fit.llf == pytest.approx(float((y * np.log(p)).sum()), rel=1e-12)
    np.testing.assert_allclose(fit.predict_proba(used), p, rtol=1e-9, atol=1e-15)


def test_tables_agree_with_one_another():
    fit = logistic("species ~ bill_length_mm + sex", load_penguins())
    table = fit.log_odds()
    np.testing.assert_allclose(
        table["coef"].unstack("class").loc[fit.params.index, fit.params.columns], fit.params
    )
    np.testing.assert_allclose(table["z"], table["coef"] / table["se"])
    np.testing.assert_allclose(table["p"], 2 * stats.norm.sf(np.abs(table["z"])))
    pd.testing.assert_frame_equal(fit.conf_int(), table[["low", "high"]])
    ratios = fit.odds_ratios()
    np.testing.assert_allclose(np.log(ratios["ratio"]), table["coef"].drop("constant", level="term"))
    test = fit.lr_test()
    assert test.statistic == pytest.approx(2 * (fit.llf - fit.llnull))
    assert test.df == 4.0
    assert fit.prsquared == pytest.approx(1 - fit.llf / fit.llnull)
    assert fit.df_model == 6
    assert fit.tidy()["estimate"].tolist() == table["coef"].tolist()


def test_the_reference_does_not_change_the_model():
    data = load_penguins()
    fit, other = (logistic("species ~ bill_length_mm", data, reference=r) for r in (None, "Gentoo"))
    np.testing.assert_allclose(fit.predict_log_proba(), other.predict_log_proba(), rtol=1e-9, atol=1e-9)
    assert other.reference == "Gentoo"
    assert other.params.columns.tolist() == ["Adelie", "Chinstrap"]
    np.testing.assert_allclose(other.params["Adelie"], -fit.params["Gentoo"], rtol=1e-9)
    np.testing.assert_allclose(other.bse["Adelie"], fit.bse["Gentoo"], rtol=1e-9)
    assert other.llf == pytest.approx(fit.llf, rel=1e-13)
    with pytest.raises(DataError) as caught:
        logistic("species ~ bill_length_mm", data, reference="Emperor")
    assert "'Emperor'" in str(caught.value)


def test_a_prior_shifts_predictions_and_leaves_the_estimates():
    plain, given_one = (logistic("diagnosis ~ .", TUMOURS, prior=p) for p in (None, [0.9, 0.1]))
    pd.testing.assert_frame_equal(plain.params, given_one.params)
    proportion = plain.counts / plain.nobs
    shift = np.log([0.9, 0.1]) - np.log(proportion.to_numpy())
    shifted = given_one.predict_log_proba() - plain.predict_log_proba() - shift
    np.testing.assert_allclose(shifted.sub(shifted.iloc[:, 0], axis=0), 0, atol=1e-12)
    pd.testing.assert_frame_equal(plain.predict_proba(prior=[0.9, 0.1]), given_one.predict_proba())


def test_classes_of_one_normal_law_give_lda_s_slopes_in_large_samples():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60_000)
    x = rng.standard_normal((len(codes), 2)) + np.array([[0, 0], [1, 0.5], [-0.5, 1]])[codes]
    data = pd.DataFrame(x, columns=["a", "b"]).assign(y=codes)
    linear, fit = lda("y ~ .", data), logistic("y ~ .", data)
    gap = (linear.log_odds()["coef"] - fit.log_odds()["coef"]).abs()
    assert (gap < 4 * fit.log_odds()["se"]).all()
    assert hausman(linear, fit).pvalue > 1e-3


# ------------------------------------------------------------------ separation


def test_three_classes_may_be_separated_in_part():
    with pytest.raises(SeparationError) as caught:
        logistic("species ~ .", IRIS)
    assert "'setosa'" in str(caught.value)
    assert "'versicolor'" in str(caught.value)
    # In the plane of the sepals no pair lies wholly apart, and Newton's estimates run away slowly.
    with pytest.raises(SeparationError) as caught:
        logistic("species ~ sepal_length + sepal_width", IRIS)
    assert "'setosa'" in str(caught.value)
    assert "'versicolor'" in str(caught.value)
    with pytest.raises(SeparationError) as caught:
        logistic("cultivar ~ .", load_wine())
    assert "lies" in str(caught.value)
    assert "terms" in str(caught.value)
    full = IRIS.assign(species=IRIS["species"].eq("setosa"))
    with pytest.raises(SeparationError) as caught:
        logistic("species ~ petal_length", full)
    assert "'petal_length'" in str(caught.value)


def test_one_row_on_the_line_is_quasi_separation_and_named():
    data = pd.DataFrame({"x": [0.0, 1, 2, 3, 3, 4, 5, 6], "y": list("aaaabbbb")}, index=list("rstuvwxy"))
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ x", data)
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)
    with pytest.raises(SeparationError):
        logistic("y ~ x + z", data.assign(z=[0.1, 0.3, 0.2, 0.5, 0.4, 0.2, 0.1, 0.3]))


def test_an_empty_cell_of_a_category_is_quasi_separation():
    data = pd.DataFrame({"g": list("uuuuvvvvww"), "y": [0, 1, 0, 1, 1, 0, 1, 0, 1, 1]})
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ g", data)
    assert "'g'" in str(caught.value)
    assert "'w'" in str(caught.value)
    # As indicators of the user's own: the linear program finds it.
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ v + w", pd.get_dummies(data["g"]).assign(y=data["y"]))
    assert "'w'" in str(caught.value)


@pytest.mark.parametrize("far", [3.0, 30.0, 1e6])
def test_nearly_separated_classes_have_a_fit_and_separated_ones_none(far):
    x = np.r_[np.linspace(-1, 0, 40), np.linspace(0, 1, 40) + far]
    y = np.repeat([0, 1], 40)
    with pytest.raises(SeparationError):
        logistic("y ~ x", pd.DataFrame({"x": x, "y": y}))
    y[[0, -1]] = 1, 0
    fit = logistic("y ~ x", pd.DataFrame({"x": x, "y": y}))
    assert fit._fit.estimates.newton.converged
    assert np.isfinite(fit.bse.to_numpy()).all()


# ------------------------------------------------------------------ rows left out, files, bad input


def test_folds_and_rows_left_out_are_refits():
    data = TUMOURS.iloc[::7]
    fit = logistic("diagnosis ~ .", data)
    remaining = fit.leave_one_out()
    for row in data.index[[0, 11, 40]]:
        refit = logistic("diagnosis ~ .", data.drop(index=row))
        expected = refit.predict_proba(data.loc[[row]]).iloc[0]
        np.testing.assert_allclose(remaining.loc[row, fit.classes].astype(float), expected, rtol=1e-8)
    from discrim.models.evaluation.validation import assign_folds

    fold_ids, wrong = assign_folds(fit._fit, 5, 0), 0
    for fold in range(5):
        refit = logistic("diagnosis ~ .", data[fold_ids != fold])
        wrong += int((refit.predict(data[fold_ids == fold]) != data["diagnosis"][fold_ids == fold]).sum())
    assert fit.error_rates(["cv"], folds=5, seed=0)["wrong"].iloc[0] == wrong
    many = pd.concat([TUMOURS] * 4)
    with pytest.raises(NotSupportedError) as caught:
        logistic("diagnosis ~ .", many).leave_one_out()
    assert "2,000" in str(caught.value)
    assert "2276" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
@one_in(
    2,
    {
        "bias_reduction": [False, True],
        "k": [2, 3, 4],
        "options": [{}, {"weights": "w"}, {"prior": "equal", "reference": 1}],
    },
)
def test_searches_without_a_row_are_refits(k, options, bias_reduction):
    rng = np.random.default_rng(k)
    data = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    data["y"] = rng.permutation(np.arange(120) % k)
    data["a"] += 0.7 * data["y"]
    data["w"] = rng.choice([0.0, 0.4, 1.0, 3.0], 120)
    data.loc[7, "b"] = np.nan
    fit = logistic("y ~ a + b + c", data, bias_reduction=bias_reduction, **options)._fit
    for refit_prior in (True, False) if "prior" not in options else (None,):
        scores = left_out_scores(fit, refit_prior)
        used = np.flatnonzero(np.isfinite(scores[:, 0]))
        assert len(used) == (119 if "weights" not in options else (data["w"].drop(7) > 0).sum())
        for row in used[::24]:
            refit = scores_by_refit(fit, fit.design_rows, int(row), reestimate_prior=bool(refit_prior))
            expected = refit - refit.max()
            np.testing.assert_allclose(scores[row] - scores[row].max(), expected, rtol=1e-8, atol=1e-9)


def test_most_rows_are_left_out_without_a_refit(monkeypatch):
    def raise_error(*args, **options):
        raise AssertionError("a row was refitted")

    monkeypatch.setattr("discrim.models.evaluation.validation.scores_by_refit", raise_error)
    for bias_reduction in (False, True):
        fit = logistic("diagnosis ~ texture_mean + smoothness_mean", TUMOURS, bias_reduction=bias_reduction)
        assert fit.leave_one_out().notna().all(axis=None)


def test_a_saved_fit_has_its_standard_errors(tmp_path):
    fit = logistic("diagnosis ~ .", TUMOURS, reference="malignant")
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.log_odds(), fit.log_odds(), check_exact=True)
    assert (loaded.llf, loaded.reference) == (fit.llf, "malignant")
    assert "not available" in loaded.summary().as_text()


def test_weights_equal_repeated_rows_and_units_change_nothing():
    weights = 1 + np.arange(len(TUMOURS)) % 3
    a = logistic("diagnosis ~ .", TUMOURS, weights=weights)
    b = logistic("diagnosis ~ .", TUMOURS.loc[TUMOURS.index.repeat(weights)])
    np.testing.assert_allclose(a.log_odds(), b.log_odds(), rtol=1e-8)
    assert a.llf == pytest.approx(b.llf, rel=1e-12)
    scaled = logistic("diagnosis ~ .", TUMOURS.assign(texture_mean=1e9 * TUMOURS["texture_mean"]))
    plain = logistic("diagnosis ~ .", TUMOURS)
    np.testing.assert_allclose(scaled.zvalues, plain.zvalues, rtol=1e-9)


@pytest.mark.parametrize(
    ("data", "options", "error", "says"),
    [
        (
            PAIR.assign(twice=2 * PAIR["petal_width"]),
            {},
            CollinearError,
            "'twice' is a linear combination of 'petal_width'",
        ),
        (PAIR.iloc[[0, 1, 60, 61]], {}, CollinearError, "4 rows are too few for a constant and 4 columns"),
        (PAIR.iloc[:50], {}, DataError, "only one class, 'versicolor'"),
        (PAIR, {"weights": np.zeros(100)}, DataError, "all zero"),
        (PAIR, {"tol": 0.0}, DataError, "tol=0.0"),
        (PAIR, {"maxiter": 0}, DataError, "maxiter=0"),
        (PAIR, {"maxiter": 3}, DataError, "has not converged in 3 steps, though the classes overlap"),
    ],
)
def test_bad_input_is_named(data, options, error, says):
    with pytest.raises(error, match=says):
        logistic("species ~ .", data, **options)


def test_questions_of_other_models():
    fit = logistic("species ~ .", PAIR)
    for ask in (fit.typicality, lambda: fit.error_rates(["D"])):
        with pytest.raises(DiscrimError):
            ask()
    drawn = logistic("diagnosis ~ .", TUMOURS).posterior_intervals(
        TUMOURS.head(3), method="bootstrap", replicates=19, seed=0
    )
    assert (drawn["malignant"]["low"] <= drawn["malignant"]["high"]).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_the_header_writes_out_sums_of_weights():
    weights = np.full(100, 12345.67)
    fit = logistic("species ~ sepal_length", load_iris()[50:].astype({"species": str}), weights=weights)
    header = str(fit.summary(sections=["header"]))
    assert "Sum of weights" in header
    assert "1234567" in header


@pytest.mark.parametrize("prior", [None, "equal"])
def test_an_information_that_rounding_has_singular_gives_no_standard_errors(prior):
    """Such a one is found where 30 rows are 30 classes: the fit is one to warn of, and can be printed."""
    noise = np.random.default_rng(10)
    data = pd.DataFrame({"z": noise.normal(size=9), "y": list("abcabcabc")})
    with pytest.warns(SeparationWarning):
        fit = logistic(
            "y ~ z", data.sort_values("z").assign(y=list("aaabbbccc")), prior=prior, separation="warn"
        )
    newton = fit._fit.estimates.newton
    newton.information[:] = 1.0
    for missing in (fit.bse, fit.pvalues, fit.cov_params(), fit.conf_int()):
        assert missing.isna().all(axis=None)
    assert fit.posterior_intervals(data.head(2)).xs("low", axis=1, level=1).isna().all(axis=None)
    assert "Log odds" in fit.summary().as_text()
    assert fit.predict(data).notna().all()


@pytest.mark.parametrize("seed", [26, 40, 50])
def test_groups_that_high_powers_separate_are_reported_from_those_on_the_plane(seed):
    """The program leaves rows on the wrong side by more than its tolerance.

    Each group has its own powers, so that the plane that separates one is zero on all rows of another.
    """
    rng, n = np.random.default_rng(seed), 60
    data = pd.DataFrame(
        {
            "v": rng.normal(size=n),
            "g": rng.choice(list("abc"), n),
            "x": rng.normal(size=n),
            "y": rng.choice(list("uv"), n),
        }
    )
    with pytest.raises((SeparationError, NotSupportedError)) as raised:
        logistic("y ~ poly(v, 9, raw=True) * g + x", data)
    if support.is_older_than(scipy, 1, 17) and raised.type is NotSupportedError:
        # The solver of earlier versions gives up one of these, and the fit says so.
        assert raised.match("bring the columns to like units")
        return
    assert raised.match(r"'u' from 'v' partially.*quasi-complete")
    on_plane = set(raised.value.certificate.on_plane)
    groups = [set(rows) for rows in data.groupby("g").groups.values()]
    assert 0 < len(on_plane) < n
    assert all(rows <= on_plane or not rows & on_plane for rows in groups)
