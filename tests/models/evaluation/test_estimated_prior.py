"""`estimate_prior`: shares of unlabelled rows against QuaPy, scipy, known mixes, and every kind of batch."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import ConvergenceWarning, DataError, NotSupportedError
from tests.support import GOLDEN, classic_table

IRIS, WINE, CANCER = load_iris(), load_wine(), load_breast_cancer()
LDA = discrim.lda("species ~ .", IRIS)
HELD = json.loads((GOLDEN / "class_shares.json").read_text(encoding="utf-8"))
ASKED = {
    "iris": ("species ~ .", IRIS),
    "wine": ("cultivar ~ .", WINE),
    "breast_cancer": ("diagnosis ~ .", CANCER),
}
FOREIGN = {"wine": [2, 0, 1], "breast_cancer": [1, 0]}
"""Places of our classes among scikit-learn's, where they are numbered otherwise."""


@pytest.mark.parametrize("name", HELD)
def test_shares_equal_quapy_and_a_direct_maximum(name):
    data, verb, rows = name.split(", ")
    start, stop = map(int, rows.split(":"))
    formula, table = ASKED[data]
    estimate = getattr(discrim, verb)(formula, table, method="mle").estimate_prior(table[start:stop])
    positions = FOREIGN.get(data, [0, 1, 2])
    np.testing.assert_allclose(estimate.prior, np.array(HELD[name]["emq"])[positions], atol=1e-10)
    np.testing.assert_allclose(estimate.prior, np.array(HELD[name]["direct"])[positions], atol=1e-7)
    assert estimate.converged
    assert estimate.shortfall < 1e-10


def test_the_result_goes_into_predict_as_its_series_does():
    batch = IRIS[30:110]
    estimate = LDA.estimate_prior(batch)
    expected = LDA.predict_proba(batch, prior=estimate.prior)
    pd.testing.assert_frame_equal(LDA.predict_proba(batch, prior=estimate), expected)
    pd.testing.assert_series_equal(
        LDA.predict(batch, prior=estimate), LDA.predict(batch, prior=estimate.prior)
    )
    # At the maximum of EM the mean posterior is the prior.
    np.testing.assert_allclose(expected.mean(), estimate.prior, atol=1e-14)
    again = discrim.lda("species ~ .", IRIS, prior=estimate)
    pd.testing.assert_series_equal(again.prior, estimate.prior)


def test_the_fit_s_own_prior_does_not_matter():
    batch = IRIS[30:110]
    other = discrim.lda("species ~ .", IRIS, prior=[0.98, 0.01, 0.01])
    np.testing.assert_allclose(other.estimate_prior(batch).prior, LDA.estimate_prior(batch).prior, atol=1e-13)


def test_likelihood_ratio_uses_known_densities():
    x = np.random.default_rng(1).normal(size=300) + 1.0
    distribution = discrim.bayes([0.7, 0.3], {"a": stats.norm(0, 1), "b": stats.norm(2, 1)})
    estimate = distribution.estimate_prior(x)
    f = np.column_stack([stats.norm(m).pdf(x) for m in (0, 2)])
    expected = 2 * (np.log(f @ estimate.prior).sum() - np.log(f @ [0.7, 0.3]).sum())
    assert estimate.test.statistic == pytest.approx(expected, rel=1e-9)
    assert estimate.test.pvalue == pytest.approx(stats.chi2.sf(expected, 1), rel=1e-8)
    assert "few rows" not in str(estimate.summary())


VERBS = {
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "naive_bayes": {},
    "logistic": {"bias_reduction": True},
    "knn": {"k": 15},
    "shrunken_centroids": {"threshold": 1.0},
    "sparse_lda": {"penalty": 0.05},
    "nearest_centroid": {},
    "pls": {"ncomp": 2},
}


@pytest.mark.parametrize("verb", VERBS)
def test_every_model_with_posteriors_has_it(verb):
    fit = getattr(discrim, verb)("species ~ .", IRIS, **VERBS[verb])
    estimate = fit.estimate_prior(IRIS[:100])
    np.testing.assert_allclose(estimate.prior, [0.5, 0.5, 0.0], atol=0.07)
    assert estimate.converged
    if verb != "knn":
        mean = fit.predict_proba(IRIS[:100], prior=estimate).mean()
        np.testing.assert_allclose(mean, estimate.prior, atol=1e-9)


@pytest.mark.parametrize("verb", ["indicator", "perceptron"])
def test_models_without_posteriors_do_not_estimate_priors(verb):
    fit = getattr(discrim, verb)("species ~ .", IRIS[:100])
    with pytest.raises(NotSupportedError) as caught:
        fit.estimate_prior(IRIS)
    assert "estimate_prior" in str(caught.value)


def test_sources_and_tables_give_equal_estimates():
    batch = IRIS[30:110].reset_index(drop=True)
    estimate = LDA.estimate_prior(batch)
    given = {
        "function": lambda: (batch[i : i + 13] for i in range(0, 80, 13)),
        "iterator": iter([batch[:50], batch[50:]]),
    }
    for data in given.values():
        found = LDA.estimate_prior(data)
        pd.testing.assert_series_equal(found.prior, estimate.prior, atol=1e-14)
        assert found.nobs == 80


def test_weights_are_repeated_rows_of_tables_and_of_sources():
    batch = IRIS[30:110].assign(times=np.arange(80) % 4)
    long = batch.loc[batch.index.repeat(batch["times"])]
    expected = LDA.estimate_prior(long)
    for found in (
        LDA.estimate_prior(batch, weights="times"),
        LDA.estimate_prior(batch, weights=batch["times"].to_numpy()),
        LDA.estimate_prior(lambda: (batch[i : i + 30] for i in (0, 30, 60)), weights="times"),
    ):
        pd.testing.assert_frame_equal(found.table, expected.table, atol=1e-12)
        assert found.nobs == expected.nobs == len(long)
    with pytest.raises(DataError) as caught:
        LDA.estimate_prior(lambda: iter([batch]), weights=batch["times"])
    assert "column" in str(caught.value)


def test_rows_that_miss_a_value_are_counted_and_unlabelled_ones_need_no_response():
    birds = load_penguins()
    fit = discrim.lda("species ~ bill_length_mm + body_mass_g", birds)
    estimate = fit.estimate_prior(birds.drop(columns="species"))
    assert estimate.nobs == 342
    assert estimate.missing == 2
    assert "Dropped, missing values" in estimate.summary().tables["header"].index
    np.testing.assert_allclose(estimate.prior, fit.prior, atol=0.03)


def test_priors_of_zero_stay_zero_with_a_note():
    fit = discrim.lda("species ~ .", IRIS, prior=[0.5, 0.5, 0.0])
    estimate = fit.estimate_prior(IRIS)
    assert estimate.prior["virginica"] == 0
    assert estimate.test.df == 1.0
    assert any("prior of 'virginica' is zero" in note for note in estimate.notes())
    assert np.isnan(
        estimate.table.loc["virginica", ["se", "low", "high", "slope"]].to_numpy(dtype=float)
    ).all()
    one = discrim.lda("species ~ .", IRIS, prior=[0, 1.0, 0.0]).estimate_prior(IRIS)
    assert one.test is None
    assert one.prior.tolist() == [0, 1, 0]


def test_single_rows_and_boundary_estimates_are_noted():
    estimate = LDA.estimate_prior(IRIS[:1], interval="profile")
    assert estimate.prior.tolist() == [1.0, 0.0, 0.0]
    assert estimate.bse.isna().all()
    assert "p-value is conservative" in estimate.test.assumes
    assert estimate.table["high"].iloc[0] == 1
    assert 0 < estimate.table["high"].iloc[1] < 1
    wald = LDA.estimate_prior(IRIS[:60])
    assert any('interval="profile"' in note for note in wald.notes())
    assert wald.cov_params().shape == (3, 3)


def test_distant_rows_count_fully():
    """Rows whose posteriors underflow in all classes but one by far."""
    far = IRIS[:60].copy()
    far[far.columns[:4]] *= 1e6
    estimate = LDA.estimate_prior(far)
    assert estimate.nobs == 60
    assert estimate.prior.sum() == pytest.approx(1, abs=1e-15)


def test_impossible_rows_are_counted():
    table = pd.DataFrame({"y": list("aabbcc"), "x": list("ppqqrr")})
    fit = discrim.naive_bayes("y ~ x", table, prior=[0.5, 0.5, 0.0])
    estimate = fit.estimate_prior(pd.DataFrame({"x": list("pprq")}))
    assert estimate.impossible == 1
    assert estimate.prior.tolist() == pytest.approx([2 / 3, 1 / 3, 0])
    with pytest.raises(DataError) as caught:
        fit.estimate_prior(pd.DataFrame({"x": list("rr")}))
    assert "probability" in str(caught.value)
    assert "every" in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tol": 0}, "tol=0 is not valid. Pass"),
        ({"tol": "x"}, "tol='x'"),
        ({"maxiter": 0}, "maxiter=0"),
        ({"maxiter": True}, "maxiter=True"),
        ({"level": 1.0}, "level=1.0"),
        ({"interval": "exact"}, "interval='exact'"),
        ({"unseen": "x"}, "unseen='x'"),
    ],
)
def test_invalid_options_are_refused(asked, said):
    with pytest.raises(DataError, match=said):
        LDA.estimate_prior(IRIS, **asked)


def test_no_rows_are_refused():
    for data in (None, IRIS[:0], IRIS[:2].assign(sepal_width=np.nan)):
        with pytest.raises(DataError, match=r"pass|Pass"):
            LDA.estimate_prior(data)


def test_searches_that_do_not_converge_warn():
    with pytest.warns(ConvergenceWarning):
        estimate = LDA.estimate_prior(IRIS[40:110], maxiter=2)
    assert not estimate.converged
    assert estimate.shortfall > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LDA.estimate_prior(IRIS[40:110], maxiter=20)


def test_a_loaded_fit_and_one_of_moments_have_it(tmp_path):
    LDA.save(tmp_path / "iris.lda")
    fit_lda = discrim.lda(moments=discrim.moments("species ~ .", IRIS))
    for fit in (discrim.load(tmp_path / "iris.lda"), fit_lda):
        np.testing.assert_allclose(
            fit.estimate_prior(IRIS[30:110]).prior, LDA.estimate_prior(IRIS[30:110]).prior
        )


def test_more_densities_than_the_memory_are_refused(memory_of):
    memory_of(2000.0)
    with pytest.raises(DataError) as caught:
        LDA.estimate_prior(IRIS)
    assert "shares" in str(caught.value)
    assert "half" in str(caught.value)


def overlapping():
    """Twelve normal classes in three columns, so near that labels are often wrong."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), 400)
    x = 1.5 * rng.normal(size=(12, 3))[codes] + rng.normal(size=(len(codes), 3))
    return pd.DataFrame(x, columns=list("uvw")).assign(lettr=np.array(list("abcdefghijkl"))[codes])


MIXED = {"letters": lambda: classic_table("mlbench_LetterRecognition"), "normal": overlapping}


@pytest.mark.parametrize("name", MIXED)
def test_estimated_shares_are_more_precise_than_counts_of_labels(name):
    signs = MIXED[name]()
    rng = np.random.default_rng(4)
    seen = rng.random(len(signs)) < 0.5
    fit = discrim.qda("lettr ~ .", signs[seen])
    proportions = rng.dirichlet(np.full(len(fit.classes), 0.6))
    rest = signs[~seen].groupby("lettr").sample(frac=1, random_state=1)
    counts = np.floor(300 * proportions / proportions.max()).astype(int)
    batch = pd.concat([rest[rest["lettr"] == k].head(c) for k, c in zip(fit.classes, counts, strict=True)])
    estimate = fit.estimate_prior(batch)
    true = batch["lettr"].value_counts(normalize=True).reindex(fit.classes).fillna(0)
    naive = fit.predict(batch).value_counts(normalize=True).reindex(fit.classes)
    assert estimate.converged
    assert np.abs(estimate.prior - true).sum() < 0.6 * np.abs(naive.fillna(0) - true).sum()
    assert estimate.test.pvalue < 1e-12


def test_the_bootstrap_knows_that_the_fit_is_estimated():
    rng = np.random.default_rng(2)

    def rows(n, share):
        y = rng.random(n) < share
        return pd.DataFrame({"x": rng.normal(size=n) + 1.5 * y, "y": np.where(y, "b", "a")})

    batch = rows(400, 0.3)
    few, many = (discrim.lda("y ~ x", rows(n, 0.5)) for n in (24, 4000))
    asked = {"interval": "bootstrap", "replicates": 40, "seed": 1}
    found = [fit.estimate_prior(batch, **asked) for fit in (few, many)]
    wald = [fit.estimate_prior(batch) for fit in (few, many)]
    assert found[0].bse["a"] > 1.5 * wald[0].bse["a"]
    assert found[1].bse["a"] == pytest.approx(wald[1].bse["a"], rel=0.4)
    pd.testing.assert_series_equal(found[0].prior, wald[0].prior)
    assert found[0].table["low"]["a"] < found[0].prior["a"] < found[0].table["high"]["a"]
    pd.testing.assert_frame_equal(found[1].table, many.estimate_prior(batch, **asked).table)
    assert "bootstrap samples" in found[0].summary().as_text().replace("\n", " ")
    weighted = many.estimate_prior(batch.assign(w=1.0), weights="w", **asked)
    pd.testing.assert_frame_equal(weighted.table, found[1].table)


def test_errors_distinguish_empty_batches_from_missing_values():
    with pytest.raises(DataError) as caught:
        LDA.estimate_prior(IRIS[:0])
    assert "batch" in str(caught.value)
    with pytest.raises(DataError) as caught:
        LDA.estimate_prior(IRIS[:2].assign(sepal_width=np.nan))
    assert "missing value" in str(caught.value)


def test_a_bootstrap_that_cannot_be_drawn_is_refused(tmp_path):
    LDA.save(tmp_path / "iris.lda")
    with pytest.raises(NotSupportedError) as caught:
        discrim.load(tmp_path / "iris.lda").estimate_prior(IRIS, interval="bootstrap")
    assert 'interval="profile"' in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        LDA.estimate_prior(lambda: iter([IRIS]), interval="bootstrap")
    assert "DataFrame" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        LDA.estimate_prior(IRIS, interval="bootstrap", missing="integrate")
    assert 'missing="integrate"' in str(caught.value)
    with pytest.raises(DataError) as caught:
        LDA.estimate_prior(IRIS, interval="bootstrap", replicates=1)
    assert "replicates=1" in str(caught.value)
    distribution = discrim.bayes([0.5, 0.5], {"a": stats.norm(0, 1), "b": stats.norm(2, 1)})
    with pytest.raises(DataError) as caught:
        distribution.estimate_prior([0.1, 0.3], interval="bootstrap")
    assert "interval='bootstrap'" in str(caught.value)


@pytest.mark.slow
def test_intervals_cover_the_shares():
    """Rows drawn from the law that is known: 95 % intervals, and the test's level at the fit's prior."""
    distribution = discrim.bayes([0.5, 0.3, 0.2], {k: stats.norm(1.5 * i, 1) for i, k in enumerate("abc")})
    rng = np.random.default_rng(7)
    true, runs = np.array([0.5, 0.3, 0.2]), 70
    covered, rejected = np.zeros((2, 3)), 0
    for _ in range(runs):
        x = 1.5 * rng.choice(3, size=400, p=true) + rng.normal(size=400)
        for i, interval in enumerate(("wald", "profile")):
            estimate = distribution.estimate_prior(x, interval=interval)
            covered[i] += (estimate.table["low"] <= true) & (true <= estimate.table["high"])
        rejected += estimate.test.pvalue < 0.05
    assert stats.binomtest(rejected, runs, 0.05).pvalue > 1e-3
    for times in covered.ravel():
        assert stats.binomtest(int(times), runs, 0.95, alternative="less").pvalue > 1e-3
