"""Mixtures of normals: mclust's and mda's numbers, direct sums, and what EM promises."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import lda, load, mixture, qda
from discrim.core.mixtures.em import Degenerate, Rows, maximized, of_weights
from discrim.core.mixtures.forms import FORMS, covariances, free_parameters, is_axial
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


@pytest.mark.parametrize("case", GOLDEN["within"], ids=lambda case: case["name"])
def test_em_from_a_partition_ends_where_that_of_mclust_does(case):
    x, form = X[IRIS.species == "virginica"], case["name"]
    z = np.ascontiguousarray((x - x.mean(axis=0)).T)
    upper = x[:, 0] > np.median(x[:, 0])
    rows = [Rows(z, np.ones(len(x)))]
    begun = of_weights(rows, [np.array([~upper, upper], dtype=float)], form)
    found = maximized(begun, rows, form, tol=1e-14, maxiter=20_000)
    # Shares, means, and the covariances of the form.
    assert 1 + 2 * 4 + free_parameters(form, 2, 4) == case["df"]
    # mclust's search for common axes ends before.
    if form == "VVE":
        assert case["llf"] < found.llf < case["llf"] + 0.01
        return
    assert found.llf == pytest.approx(case["llf"], abs=1e-9)
    np.testing.assert_allclose(np.sort(found.shares), case["share"], atol=5e-6)


def deviance(held, means, x, codes):
    """-2 times the log posteriors of the classes of rows, by scipy."""
    joint = np.zeros((len(x), len(means)))
    for k, at in enumerate(held.places()):
        for g in range(at.start, at.stop):
            law = scipy.stats.multivariate_normal(means[k] + held.means[g], held.covariances[g].matrix())
            joint[:, k] += held.shares[g] * law.pdf(x)
    return -2 * np.log((joint / joint.sum(axis=1, keepdims=True))[np.arange(len(x)), codes]).sum()


def test_a_pooled_covariance_takes_the_steps_of_mda_and_ends_where_it_does():
    golden, codes = GOLDEN["started"], np.repeat([0, 1, 2], 50)
    own = [X[codes == k] for k in range(3)]
    means = [x.mean(axis=0) for x in own]
    rows = [Rows(np.ascontiguousarray((x - m).T), np.ones(50)) for x, m in zip(own, means, strict=True)]
    parts = [(np.arange(1, 4)[:, None] == np.array(part)).astype(float) for part in golden["parts"]]
    begun = of_weights(rows, parts, "EEE")
    after_five = maximized(begun, rows, "EEE", tol=0.0, maxiter=4)
    assert deviance(after_five, means, X, codes) == pytest.approx(golden["deviance"], abs=1e-9)
    ended = maximized(begun, rows, "EEE", tol=1e-15, maxiter=20_000)
    assert deviance(ended, means, X, codes) == pytest.approx(golden["converged"], abs=1e-6)


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


# ---- EM


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS), st.integers(2, 3))
def test_the_likelihood_never_falls(seed, form, size):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, 40)) + 3 * rng.integers(0, 2, 40)
    weights = rng.integers(1, 4, 40).astype(float)
    rows = [Rows(z, weights)]
    begun = of_weights(rows, [rng.dirichlet(np.ones(size), 40).T * weights], form)
    assert not isinstance(begun, Degenerate)
    found = maximized(begun, rows, form, tol=0.0, maxiter=30)
    if not isinstance(found, Degenerate):
        steps = np.diff(found.path)
        assert (steps >= -1e-9 * (1 + np.abs(found.path[-1]))).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS))
def test_no_covariances_of_the_form_are_more_likely(seed, form):
    rng = np.random.default_rng(seed)
    counts = rng.uniform(5, 50, 2)
    roots = rng.normal(size=(2, 3, 6))
    scatters = roots @ roots.transpose(0, 2, 1) * counts[:, None, None]
    own = np.diagonal(scatters, axis1=1, axis2=2) if is_axial(form) else scatters
    found, _ = covariances(form, own, counts)
    full = np.array([np.diag(each) for each in found]) if is_axial(form) else found

    def criterion(matrices):
        return sum(
            n * np.linalg.slogdet(s)[1] + np.trace(np.linalg.solve(s, w))
            for n, s, w in zip(counts, matrices, scatters, strict=True)
        )

    least = criterion(full)
    # Volumes of all, in common or apart, are those of a form that has any.
    factors = rng.uniform(0.9, 1.1, 2) if form[0] == "V" else np.repeat(rng.uniform(0.9, 1.1), 2)
    assert criterion(full * factors[:, None, None]) >= least - 1e-9 * abs(least)
    if form[2] != "I":
        turn = scipy.linalg.expm(0.05 * (lambda a: a - a.T)(rng.normal(size=(3, 3))))
        assert criterion(turn @ full @ turn.T) >= least - 1e-9 * abs(least)
    fewest = free_parameters(form, 2, 3)
    assert free_parameters("EII", 2, 3) <= fewest <= free_parameters("VVV", 2, 3)


def test_a_component_of_a_few_rows_near_a_plane_is_none():
    rng = np.random.default_rng(8)
    wide, flat = rng.normal(size=(60, 3)), rng.normal(size=(6, 3))
    flat[:, 0] += 4
    for thin, what in ((1e-4, "narrow"), (0.3, None)):
        flat[:, 2] = flat[:, 0] - flat[:, 1] + thin * rng.normal(size=6)
        x = np.concatenate([wide, flat])
        rows = [Rows(np.ascontiguousarray((x - x.mean(axis=0)).T), np.ones(66))]
        last = np.arange(66) >= 60
        begun = of_weights(rows, [np.array([~last, last], dtype=float)], "VVV")
        found = maximized(begun, rows, "VVV", tol=1e-9, maxiter=1000)
        assert (found.what if isinstance(found, Degenerate) else None) == what
    fit = mixture("species ~ .", IRIS, components=3, covariance="VVE")
    covs = [cov for (label, _), cov in fit.covs.items() if label == "virginica"]
    ratios = [scipy.linalg.eigvalsh(a, b)[0] for a in covs for b in covs]
    assert min(ratios) > 1e-4


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
