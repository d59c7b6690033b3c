"""Weights: counts of equal rows, however many; and what weights that count nothing are told."""

from __future__ import annotations

import re
import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discrim
from discrim.core.numerics.special import logdet_bias, student_log_constants
from discrim.covariance import StudentT
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimError,
    DiscrimWarning,
    DroppedRowsWarning,
    MissingPredictionWarning,
    NotSupportedError,
    WeightsWarning,
)

IRIS = load_iris()
TERMS = [name for name in IRIS if name != "species"]
SOME = IRIS.iloc[::5].reset_index(drop=True)


# ---- constants of Student densities, to 1e300 rows


@pytest.mark.parametrize("p", [1, 2, 5, 8, 13])
@pytest.mark.parametrize("n", [0.4, 1, 2, 30.5, 66, 100, 1e4, 1e8, 1e12, 1e16, 1e100, 1e300])
def test_gamma_functions_of_large_counts_are_accurate(p, n):
    with mpmath.workdps(40 + int(2.2 * np.log10(n + p))):
        count = mpmath.mpf(float(p + n))
        half, rest = count / 2, (count - p) / 2
        want = mpmath.loggamma(half) - mpmath.loggamma(rest) - mpmath.mpf(p) / 2 * mpmath.log((count - 1) / 2)
        got = student_log_constants(np.array([float(count)]), p)[0]
        assert abs(got - want) <= 1e-13 * min(1, abs(want) + mpmath.mpf(10) / (1 + count) * 100)
        nu = mpmath.mpf(float(p + n))
        terms = np.arange(1, p + 1)
        want = mpmath.fsum(mpmath.log(nu / 2) - mpmath.digamma((nu + 1 - int(j)) / 2) for j in terms)
        got = logdet_bias(np.array([float(nu)]), terms)[0]
        assert abs(got - want) <= 1e-13 * abs(want)


def predictive_odds(frame, weights, row):
    """Predictive log odds of QDA, setosa against virginica, in mpmath."""
    scores = []
    for label in ("setosa", "virginica"):
        part = frame["species"] == label
        x = [[mpmath.mpf(float(v)) for v in r] for r in frame.loc[part, TERMS[:2]].to_numpy()]
        w = [mpmath.mpf(float(v)) for v in weights[part]]
        n, p = mpmath.fsum(w), 2
        m = [mpmath.fsum(wi * r[j] for wi, r in zip(w, x, strict=True)) / n for j in range(p)]
        scatter = mpmath.matrix(
            [
                [
                    mpmath.fsum(wi * (r[i] - m[i]) * (r[j] - m[j]) for wi, r in zip(w, x, strict=True))
                    for j in range(p)
                ]
                for i in range(p)
            ]
        )
        d = mpmath.matrix([mpmath.mpf(float(v)) - mj for v, mj in zip(row, m, strict=True)])
        d2 = (d.T * (scatter / (n - 1)) ** -1 * d)[0]
        scores.append(
            mpmath.log(n)
            + mpmath.loggamma(n / 2)
            - mpmath.loggamma((n - p) / 2)
            - mpmath.log(mpmath.det(scatter)) / 2
            + mpmath.mpf(p) / 2 * mpmath.log(n / (n + 1))
            - n / 2 * mpmath.log1p(n * d2 / (n**2 - 1))
        )
    return scores[0] - scores[1]


@pytest.mark.parametrize("factor", [1.0, 1e10, 1e12, 1e100])
def test_predictive_odds_of_heavy_weights_keep_their_digits(factor):
    frame = SOME[SOME["species"] != "versicolor"]
    weights = factor * np.where(frame["species"] == "setosa", 1.0, 3.0)
    fit = discrim.qda("species ~ sepal_length + sepal_width", frame, weights=weights)
    row = pd.DataFrame([[5.6, 3.1]], columns=TERMS[:2])
    scores = fit._fit.rule(fit.prior.to_numpy(), "predictive").scores(row.to_numpy())[0]
    with mpmath.workdps(60 + 2 * int(np.log10(factor))):
        want = float(predictive_odds(frame, weights, row.iloc[0]))
    assert scores[0] - scores[1] == pytest.approx(want, rel=1e-11)


def test_an_improper_predictive_law_names_its_class_and_the_way_out_works():
    few = pd.concat([IRIS.iloc[:6], IRIS.iloc[50:80]])
    light = np.where(few["species"] == "setosa", 0.5, 1.0)
    with pytest.warns(WeightsWarning):
        fit = discrim.qda("species ~ .", few, weights=light, method="mle")
    for asked in (lambda: fit.predict_proba(method="predictive"), lambda: fit.log_determinants()):
        with pytest.raises(NotSupportedError) as caught:
            asked()
        assert "'setosa'" in str(caught.value)
    assert np.isfinite(discrim.qda("species ~ .", few).predict_proba(method="predictive")).all(axis=None)
    with pytest.warns(DiscrimWarning):
        fewer = discrim.qda("species ~ sepal_length + sepal_width", few, weights=light, method="mle")
    assert np.isfinite(fewer.predict_proba(method="predictive")).all(axis=None)


# ---- weights that sum to little


@pytest.fixture(scope="module", params=[1e-6, 1 / 150, 0.02])
def light(request):
    weights = 1.0 + np.arange(150) % 3
    with pytest.warns(WeightsWarning):
        found = discrim.lda("species ~ .", IRIS, weights=weights * request.param, method="mle")
    return found, discrim.lda("species ~ .", IRIS, weights=weights, method="mle")


def test_scale_invariant_results_do_not_depend_on_the_scale_of_weights(light):
    found, want = light
    np.testing.assert_allclose(found.predict_proba(), want.predict_proba(), atol=1e-12)
    np.testing.assert_allclose(found.scaling, want.scaling, rtol=1e-9)
    np.testing.assert_allclose(found.cov, want.cov, rtol=1e-12)
    assert found.wilks.statistic == pytest.approx(want.wilks.statistic, rel=1e-12)
    ours, theirs = found.canonical(), want.canonical()
    for name in ("eigenvalues", "proportion", "correlations"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10)
    for kind in ("within", "total", "between"):
        np.testing.assert_allclose(ours.structure(kind), theirs.structure(kind), rtol=1e-9)


def test_summaries_with_small_weights_have_no_nan_text_and_no_raw_warning(light):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = light[0].summary().as_text()
        light[0].canonical().summary().as_text()
        light[0].glance()
        light[0].tidy()
    assert not re.search(r"\bnan\b", text)


def test_methods_that_need_degrees_of_freedom_raise_without_them(light):
    fit = light[0]
    for asked in (
        lambda: fit.predict_proba(method="predictive"),
        lambda: fit.predict_proba(method="predictive", convention="MASS"),
        lambda: fit.distances(),
        lambda: fit.partial_tests(),
        lambda: fit.typicality(IRIS),
        lambda: fit.posterior_intervals(IRIS),
        lambda: fit.error_rates(["D"]),
        lambda: fit.box_m(),
    ):
        with pytest.raises(NotSupportedError) as caught:
            asked()
        assert "frequency weights" in caught.value.hint


def test_weights_divided_by_their_mean_are_the_way_out():
    weights = np.random.default_rng(0).uniform(0.2, 3, 150)
    with pytest.warns(DiscrimWarning), pytest.raises(DataError, match="divided by their mean"):
        discrim.lda("species ~ .", IRIS, weights=weights / weights.sum())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = discrim.lda("species ~ .", IRIS, weights=weights / weights.mean())
        assert np.isfinite(fit.distances()).all(axis=None)
        assert np.isfinite(fit.typicality(IRIS)).all(axis=None)


def test_normalised_weights_of_a_logistic_regression_warn():
    two = IRIS[IRIS["species"] != "setosa"]
    formula = "species ~ sepal_length + petal_length"
    with pytest.warns(WeightsWarning):
        small = discrim.logistic(formula, two, weights=np.full(100, 0.01))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = discrim.logistic(formula, two, weights=np.full(100, 1.0))
    np.testing.assert_allclose(small.params, whole.params, rtol=1e-8)
    np.testing.assert_allclose(small.bse, 10 * whole.bse, rtol=1e-8)


@pytest.mark.parametrize("verb", [discrim.lda, discrim.rda, discrim.naive_bayes, discrim.shrunken_centroids])
def test_every_verb_warns_about_weights_that_are_not_frequencies(verb):
    options = {"alpha": 0.5, "gamma": 0.5} if verb is discrim.rda else {}
    options |= {"threshold": 1.0} if verb is discrim.shrunken_centroids else {}
    weights = np.random.default_rng(0).uniform(20, 40, 150)
    with pytest.warns(WeightsWarning):
        verb("species ~ .", IRIS, weights=weights, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verb("species ~ .", IRIS, weights=np.round(weights), **options)


def test_missing_weights_are_counted_with_a_warning_or_raise():
    weights = pd.Series(np.ones(150))
    weights[[3, 70]] = np.nan
    with pytest.warns(DroppedRowsWarning):
        fit = discrim.lda("species ~ .", IRIS, weights=weights)
    assert fit.nobs == 148
    np.testing.assert_allclose(fit.means, discrim.lda("species ~ .", IRIS.drop(index=[3, 70])).means)
    with pytest.warns(DiscrimWarning), pytest.raises(DataError, match="weight is missing at row 3"):
        discrim.lda("species ~ .", IRIS, weights=weights, na_action="raise")


# ---- weights of whole numbers are so many rows

VERBS = {
    "lda": (discrim.lda, {}),
    "mle": (discrim.lda, {"method": "mle"}),
    "diagonal": (discrim.lda, {"covariance": "diagonal"}),
    "shrunk": (discrim.lda, {"covariance": "shrunk"}),
    "nonlinear": (discrim.lda, {"covariance": "nonlinear"}),
    "t": (discrim.lda, {"covariance": StudentT(nu=5)}),
    "qda": (discrim.qda, {"method": "mle"}),
    "factor": (discrim.qda, {"covariance": "factor"}),
    "rda": (discrim.rda, {"alpha": 0.4, "gamma": 0.7}),
    "naive_bayes": (discrim.naive_bayes, {}),
    "kernel": (discrim.naive_bayes, {"kernel": True}),
    "centroids": (discrim.shrunken_centroids, {"threshold": 0.5}),
    "sparse": (discrim.sparse_lda, {"penalty": 0.05}),
    "nearest_centroid": (discrim.nearest_centroid, {"prior": None}),
    "plda": (discrim.plda, {}),
    "location": (discrim.location, {}),
    "pls": (discrim.pls, {"ncomp": 2}),
    "logistic": (discrim.logistic, {"bias_reduction": True}),
    "indicator": (discrim.indicator, {}),
}


def numbers_by_row(table):
    """The numbers of a table by row, those that count rows among them."""
    return table.select_dtypes("number").to_numpy(dtype=np.float64)


@pytest.mark.parametrize("name", VERBS)
@settings(max_examples=2, derandomize=True)
@given(counts=st.lists(st.integers(0, 3), min_size=30, max_size=30))
def test_integer_weights_equal_repeated_rows(name, counts):
    verb, options = VERBS[name]
    # Two rows of each class and more, so that no class is gone.
    weights = np.array(counts) + (np.arange(30) % 10 < 7)
    repeated = SOME.loc[SOME.index.repeat(weights)].reset_index(drop=True)
    formula = "species ~ sepal_length + sepal_width"
    weighted, rows = verb(formula, SOME, weights=weights, **options), verb(formula, repeated, **options)
    compared = [
        lambda fit: fit.tidy(),
        lambda fit: fit.glance().drop(columns="nobs", errors="ignore"),
        lambda fit: fit.counts.to_frame(),
        lambda fit: pd.DataFrame(fit.decision_function(SOME)),
    ]
    if name != "indicator":
        compared.append(lambda fit: fit.predict_log_proba(SOME))
    if name in ("lda", "mle"):
        compared += [
            lambda fit: fit.predict_log_proba(SOME, method="predictive"),
            lambda fit: fit.predict_log_proba(SOME, method="debiased"),
            lambda fit: fit.typicality(SOME),
            lambda fit: fit.distances(),
            lambda fit: fit.manova(),
            lambda fit: fit.anova(),
            lambda fit: fit.partial_tests(),
            lambda fit: fit.canonical().dimension_tests,
            lambda fit: fit.canonical().standardized_total,
            lambda fit: fit.posterior_intervals(SOME),
            lambda fit: fit.box_m().table,
        ]
    for ask in compared:
        try:
            want = ask(rows)
        except DiscrimError as refusal:
            with pytest.raises(type(refusal)):
                ask(weighted)
            continue
        np.testing.assert_allclose(numbers_by_row(ask(weighted)), numbers_by_row(want), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("weight", [1e-40, 1e-250])
def test_columns_are_not_constant_because_weights_are_light(weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = discrim.lda("species ~ .", IRIS, weights=np.full(150, weight), method="mle")
    want = discrim.lda("species ~ .", IRIS, method="mle").predict_proba()
    np.testing.assert_allclose(fit.predict_proba(), want, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("total", [1.0, 3.0])
def test_tests_without_degrees_of_freedom_are_nan_with_a_note(total):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = discrim.lda("species ~ .", IRIS, weights=np.full(150, total / 150), method="mle")
    tests = fit.canonical().dimension_tests
    assert tests[["F", "df2", "p", "chi2"]].isna().all(axis=None)
    text = " ".join(str(fit.canonical().summary()).split())
    assert f"a total weight of {total:g} leaves no degrees of freedom" in text


def test_posterior_based_rates_accept_weights_that_sum_to_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = discrim.lda("species ~ .", IRIS, weights=np.full(150, 1 / 150), method="mle")
        rates = fit.error_rates(["posterior"]).iloc[0]
    best = fit.predict_proba().max(axis=1)
    assert rates["estimate"] == pytest.approx(1 - best.mean(), abs=1e-14)


def test_log_odds_between_classes_with_zero_prior_are_missing():
    fit = discrim.qda("species ~ .", IRIS, prior={"setosa": 0, "versicolor": 0, "virginica": 1})
    with pytest.raises(DataError) as caught:
        fit.quadratic("setosa", "versicolor")
    assert "'setosa'" in str(caught.value)
    assert "'versicolor'" in str(caught.value)
    assert fit.quadratic("virginica", "setosa").c == np.inf


def test_row_that_alone_gives_its_class_variance_has_no_leave_one_out_score():
    """In setosa's first six rows petal_width is .2 but for the last one."""
    few = pd.concat([IRIS.iloc[:6], IRIS.iloc[50:56], IRIS.iloc[100:106]]).reset_index(drop=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.warns(MissingPredictionWarning):
            left_out = discrim.qda("species ~ .", few).leave_one_out()
    assert left_out.iloc[5].isna().all()
    assert left_out.iloc[6:].notna().all(axis=None)


def test_standard_errors_without_residual_df_are_missing_with_a_note():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = discrim.indicator("species ~ .", IRIS, weights=np.full(150, 1 / 150))
    assert fit.coefficients()["se"].isna().all()
    assert "no residual degrees of freedom are left" in " ".join(str(fit.summary()).split())


def test_weights_of_any_size_leave_a_summary_and_intervals():
    base = np.random.default_rng(0).integers(1, 5, 150).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", DiscrimWarning)
        tiny = load_iris().assign(w=base * 1e-12)
        text = discrim.logistic("species ~ .", tiny, weights="w", bias_reduction=True).summary().as_text()
        assert "Likelihood ratio by term" in text
        spread = base * 10.0 ** np.random.default_rng(1).integers(-6, 7, 150)
        fit = discrim.qda("species ~ .", load_iris().assign(w=spread), weights="w")
        found = fit.posterior_intervals(method="delta").to_numpy().reshape(150, 3, 3)
    assert ((found[..., 1] <= found[..., 0] + 1e-12) & (found[..., 0] <= found[..., 2] + 1e-12)).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_kernel_density_with_small_weights_equals_the_unweighted_fit():
    frame = load_iris().assign(w=1 / 300)
    with pytest.raises(CollinearError) as caught:
        discrim.naive_bayes("species ~ .", frame, weights="w", kernel=True)
    assert caught.value.classes == ("setosa",)
    columns = dict.fromkeys(frame.columns[:4], 0.3)
    light = discrim.naive_bayes("species ~ .", frame, weights="w", kernel=True, bandwidth=columns)
    plain = discrim.naive_bayes("species ~ . - w", frame, kernel=True, bandwidth=columns)
    np.testing.assert_allclose(light.predict_proba(), plain.predict_proba(), rtol=1e-12)
    mended = discrim.naive_bayes("species ~ .", frame.assign(w=1.0), weights="w", kernel=True)
    assert mended.predict().notna().all()
