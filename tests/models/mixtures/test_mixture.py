"""Mixtures of normals: mclust's and mda's numbers, direct sums, and what EM promises."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy

from discrim import lda, load, mixture, qda
from discrim.core.mixtures.forms import FORMS
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import CollinearError, DataError, DiscrimWarning, NotSupportedError
from tests.support import ROOT

GOLDEN = json.loads((ROOT / "tests/golden/mixture.json").read_text())
IRIS = load_iris()
X = IRIS.iloc[:, :4].to_numpy()


def density(fit, x):
    """Of rows in each class, by scipy and the numbers that the results show."""
    found = np.zeros((len(x), len(fit.classes)))
    for (label, number), cov in fit.covs.items():
        law = scipy.stats.multivariate_normal(fit.component_means.loc[(label, number)], cov)
        found[:, fit.classes.get_loc(label)] += fit.shares[(label, number)] * law.pdf(x)
    return found


# ---- against R


@pytest.mark.parametrize("form", FORMS)
def test_one_component_a_class_is_edda_of_mclust(form):
    fit, golden = mixture("species ~ .", IRIS, components=1, covariance=form), GOLDEN["edda"][form]
    assert fit._fit.numbers.df_given() == golden["df"]
    assert fit.df_model == golden["df"] + 2
    # mclust's search for common axes ends earlier, and may end elsewhere.
    if form == "VVE":
        assert fit.llf_rows > golden["llf"]
        return
    assert fit.llf_rows == pytest.approx(golden["llf"], abs=1e-5 if form == "EVE" else 2e-6)
    np.testing.assert_allclose(
        fit.predict_proba().iloc[[70, 83, 133]], golden["prob"], atol=2e-6 if form == "EVE" else 2e-7
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", GOLDEN["chosen"], ids=lambda case: case["table"])
def test_bic_chooses_in_each_class_as_mclust_does(case):
    columns = "bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g"
    asked = {"iris": ("species ~ .", IRIS), "penguins": (f"species ~ {columns}", load_penguins())}
    options = {"components": "bic", "covariance": "bic", "over": "class", "most": 2, "starts": 5}
    fit = mixture(*asked[case["table"]], tol=1e-10, **options)
    for label, golden in case["classes"].items():
        assert (fit.components[label], fit.covariance[label]) == (golden["components"], golden["covariance"])
    path = fit.path
    for label, own in path.groupby("class"):
        best = own.loc[own["BIC"].idxmin()]
        assert best["chosen"]
        assert (best["components"], best["covariance"]) == (fit.components[label], fit.covariance[label])
        assert best["llf"] == pytest.approx(case["classes"][label]["llf"], abs=1e-5)
    rows = path[path["chosen"]]
    assert fit.llf_rows == pytest.approx(case["llf_rows"], abs=1e-5)
    assert rows["llf"].sum() == pytest.approx(fit.llf_given, abs=1e-4)
    assert rows["df"].sum() == fit._fit.numbers.df_given() == case["df"]
    assert "Choice by BIC" in str(fit.summary())


# ---- identities


def test_forms_over_all_classes_are_lda_and_qda():
    for form, verb in (("EEE", lda), ("VVV", qda)):
        fit, other = (
            mixture("species ~ .", IRIS, components=1, covariance=form),
            verb("species ~ .", IRIS, method="mle"),
        )
        assert fit.llf == pytest.approx(other.llf, abs=1e-9)
        assert fit.df_model == other.df_model
        np.testing.assert_allclose(fit.predict_log_proba(), other.predict_log_proba(), rtol=1e-9)


def test_posteriors_and_likelihoods_are_those_of_the_densities_that_are_shown():
    fit = mixture("species ~ .", IRIS, components={"setosa": 1, "versicolor": 2, "virginica": 3})
    joint = density(fit, X) * fit.prior.to_numpy()
    codes = fit.classes.get_indexer(IRIS.species)
    np.testing.assert_allclose(
        fit.predict_proba(), joint / joint.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-300
    )
    assert fit.llf == pytest.approx(np.log(joint[np.arange(150), codes]).sum(), abs=1e-9)
    assert fit.llf_rows == pytest.approx(np.log(joint.sum(axis=1)).sum(), abs=1e-9)
    assert fit.llf_given == pytest.approx(fit.llf - 150 * np.log(1 / 3), abs=1e-9)
    parts = fit.component_posteriors()
    np.testing.assert_allclose(parts.T.groupby(level=0).sum().T, fit.predict_proba(), atol=1e-14)


def test_missing_columns_are_integrated_out():
    fit = mixture("species ~ .", IRIS, components=2)
    new = IRIS.iloc[[0, 70, 120]].copy()
    new.loc[new.index[1], "petal_length"] = np.nan
    keep = [0, 1, 3]
    joint = np.zeros(3)
    for (label, number), cov in fit.covs.items():
        mean = fit.component_means.loc[(label, number)].iloc[keep]
        law = scipy.stats.multivariate_normal(mean, cov.iloc[keep, keep])
        joint[fit.classes.get_loc(label)] += fit.shares[(label, number)] * law.pdf(X[70, keep])
    found = fit.predict_proba(new, missing="integrate").iloc[1]
    np.testing.assert_allclose(found, joint / joint.sum(), rtol=1e-9)


def test_a_file_a_source_and_repeated_rows_give_the_same(tmp_path):
    weights = pd.Series(np.tile([1, 2, 3], 50), index=IRIS.index, name="w")
    options = {"components": 2, "covariance": "pooled", "starts": 3}
    fit = mixture("species ~ .", IRIS, weights=weights, **options)
    twice = mixture("species ~ .", IRIS.loc[IRIS.index.repeat(weights)].reset_index(drop=True), **options)
    np.testing.assert_allclose(fit.predict_proba(IRIS), twice.predict_proba(IRIS), atol=1e-6)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    np.testing.assert_array_equal(again.predict_log_proba(IRIS), fit.predict_log_proba(IRIS))
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy())
    assert (again.llf, again.llf_rows, again.df_model) == (fit.llf, fit.llf_rows, fit.df_model)


@pytest.mark.parametrize("form", ["VVV", "EVE", "EEI", "VEV"])
def test_an_offset_costs_no_digit_and_units_none_that_the_form_bears(form):
    options = {"components": 1, "covariance": form}
    fit = mixture("species ~ .", IRIS, **options)
    shifted = IRIS.copy()
    shifted.iloc[:, :4] = IRIS.iloc[:, :4] + 2.0**26
    rounded = shifted.copy()
    rounded.iloc[:, :4] = shifted.iloc[:, :4] - 2.0**26
    exact = mixture("species ~ .", rounded, **options)
    far = mixture("species ~ .", shifted, **options)
    assert far.llf == pytest.approx(exact.llf, abs=1e-9)
    small = IRIS.copy()
    small.iloc[:, :4] = IRIS.iloc[:, :4] * 2.0**-900
    tiny = mixture("species ~ .", small, **options)
    assert tiny.llf == pytest.approx(fit.llf + 600 * 900 * np.log(2), rel=1e-13)


# ---- choice, refusals, tables


def test_what_cannot_be_fitted_is_refused_by_name():
    short = load_wine().groupby("cultivar").head(8)
    with pytest.raises(CollinearError, match=r"'nonflavanoid_phenols' is a linear .* within class 'barbera'"):
        mixture("cultivar ~ .", short, components=1, over="class")
    with pytest.raises(
        CollinearError, match=r"Component \d of 4 of class 'barbera' .* from each start: give"
    ):
        mixture("cultivar ~ alcohol + ash", short, components=4, covariance="full")
    with pytest.raises(DataError, match="fewer rows than components"):
        mixture("cultivar ~ alcohol + ash", short, components=9)
    twins = IRIS.assign(twin=IRIS.petal_length + IRIS.petal_width)
    with pytest.raises(CollinearError, match=r"'twin' is a linear combination of .* within class 'setosa'"):
        mixture("species ~ .", twins, components=1)
    for wrong in (0, 2.5, "two", {"setosa": 1}, {"rose": 2}):
        with pytest.raises(DataError, match="components"):
            mixture("species ~ .", IRIS, components=wrong)
    for wrong in ("VXV", 3, {"setosa": "VVV"}):
        with pytest.raises(DataError, match="covariance"):
            mixture("species ~ .", IRIS, covariance=wrong)
    with pytest.raises(DataError, match='over="classes" is for one'):
        mixture(
            "species ~ .", IRIS, components={"setosa": 1, "versicolor": "bic", "virginica": 1}, over="classes"
        )
    with pytest.raises(NotSupportedError, match="no path"):
        _ = mixture("species ~ .", IRIS, components=1).path
    with pytest.warns(DiscrimWarning, match="EM did not converge in 2 steps"):
        mixture("species ~ .", IRIS, components=3, covariance="pooled", maxiter=2)


def test_pictures():
    fit = mixture("species ~ .", IRIS, most=2, starts=2)
    assert fit.plot("components").get_xlabel() == "sepal_length"
    assert fit.plot("components", columns=["petal_length", "petal_width"]).get_ylabel() == "petal_width"
    assert fit.plot("path").get_xlabel() == "Components"
    assert (
        mixture("species ~ .", IRIS, components=1, covariance="bic").plot("path").get_xlabel() == "Covariance"
    )


@pytest.mark.slow
def test_the_waveforms_of_breiman_have_the_errors_of_the_book():
    # Hastie, Tibshirani & Friedman (2009), table 12.4: mean test errors of 10 samples.
    rng = np.random.default_rng(3)
    places = np.arange(1, 22)
    h = [np.maximum(6 - np.abs(places - centre), 0) for centre in (11, 15, 7)]
    pairs = [(h[0], h[1]), (h[0], h[2]), (h[1], h[2])]

    def sample(n):
        codes = rng.integers(0, 3, n)
        u = rng.random((n, 1))
        first, second = (np.array([pairs[c][i] for c in codes]) for i in (0, 1))
        x = u * first + (1 - u) * second + rng.normal(size=(n, 21))
        return pd.DataFrame(x).add_prefix("x").assign(y=codes)

    # What is known of a row is where it stands on the segment: the law's density is an integral over u.
    u = (np.arange(200) + 0.5) / 200
    segments = [u[:, None] * first + (1 - u)[:, None] * second for first, second in pairs]

    def by_the_law(test):
        rows = test.iloc[:, :21].to_numpy()
        logs = [
            scipy.special.logsumexp(rows @ each.T - 0.5 * (each**2).sum(axis=1), axis=1) for each in segments
        ]
        return np.argmax(logs, axis=0)

    wrong = {"mixture": [], "lda": [], "qda": [], "law": []}
    for _ in range(10):
        train, test = sample(300), sample(500)
        for name, fit in (
            ("mixture", mixture("y ~ .", train, components=3, covariance="pooled")),
            ("lda", lda("y ~ .", train)),
            ("qda", qda("y ~ .", train)),
        ):
            wrong[name].append((fit.predict(test) != test.y).mean())
        wrong["law"].append((by_the_law(test) != test.y).mean())
    means = {name: np.mean(each) for name, each in wrong.items()}
    # The book's are of ten samples too, so that the difference of two means has this standard error.
    errors = {name: np.std(each, ddof=1) / np.sqrt(5) for name, each in wrong.items()}
    for name, printed in (("mixture", 0.169), ("lda", 0.191), ("qda", 0.205), ("law", 0.140)):
        assert abs(means[name] - printed) < 3 * errors[name]
    assert means["law"] < means["mixture"] < means["lda"] < means["qda"]


def test_no_component_is_narrow_beside_another():
    fit = mixture("species ~ .", IRIS, components=3, covariance="VVE")
    covs = [cov for (label, _), cov in fit.covs.items() if label == "virginica"]
    few = fit.shares["virginica"].to_numpy() * 50 <= 10
    ratios = [
        scipy.linalg.eigvalsh(a, b)[0] for a, small in zip(covs, few, strict=True) if small for b in covs
    ]
    assert min(ratios, default=1.0) > 1e-4


@pytest.mark.parametrize("covariance", ["full", "pooled"])
def test_columns_that_others_determine_are_named_with_several_components(covariance):
    table = IRIS[["petal_width", "sepal_width", "species"]].assign(twin=2 * IRIS.petal_width)
    asked = {"components": 2, "starts": 2}
    with pytest.raises(CollinearError, match=r"'twin' is a linear .* within class 'setosa'.*\"EII\"") as told:
        mixture("species ~ petal_width + twin + sepal_width", table, covariance=covariance, **asked)
    assert "pooled" not in str(told.value)
    assert mixture("species ~ petal_width + twin + sepal_width", table, covariance="EII", **asked).df_model
