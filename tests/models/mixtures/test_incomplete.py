"""Mixtures of rows with missing values: EM over components and missing values at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import discrim
from discrim import mixture
from discrim.cli import main
from discrim.core.mixtures import em, incomplete
from discrim.core.mixtures.em import FORMS, ClassRows, Components
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DataError, NotSupportedError

IRIS = load_iris()
NUMBERS = list(IRIS.columns[:4])


def with_holes(rows, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    names = [c for c in rows if c != "species"]
    return rows.assign(**{name: rows[name].mask(rng.random(len(rows)) < share) for name in names})


HOLES = with_holes(IRIS)
SMALL = HOLES[["species", *NUMBERS[2:]]]
TWO = {"components": 2, "covariance": "pooled", "missing": "em"}


@pytest.fixture(scope="module")
def fit():
    return mixture("species ~ .", HOLES.iloc[::3], **TWO)


def densities(fit, data):
    """Log densities (n, K) of what is observed of each row, by scipy, from what the fit shows."""
    x = data[list(fit.terms)].to_numpy(dtype=float)
    actual = np.zeros((len(x), len(fit.classes)))
    for o in np.unique(~np.isnan(x), axis=0):
        rows = (~np.isnan(x) == o).all(axis=1)
        for k, label in enumerate(fit.classes):
            log_densities = [
                np.log(fit.shares[label, g])
                + multivariate_normal.logpdf(x[rows][:, o], mean[o], fit.covs[label, g].to_numpy()[o][:, o])
                for g, mean in enumerate(fit.component_means.loc[label].to_numpy(), start=1)
                if o.any()
            ]
            actual[rows, k] = logsumexp(log_densities, axis=0) if log_densities else 0.0
    return actual


@pytest.mark.parametrize(("covariance", "verb"), [("VVV", discrim.qda), ("EEE", discrim.lda)])
def test_one_component_for_each_class_equals_lda_or_qda(covariance, verb):
    one = mixture("species ~ .", HOLES, components=1, covariance=covariance, missing="em")
    other = verb("species ~ .", HOLES, missing="em", method="mle")
    assert one.llf == pytest.approx(other.llf, rel=1e-12)
    assert (one.nobs, one.df_model, one.em.incomplete) == (other.nobs, other.df_model, other.em.incomplete)
    np.testing.assert_allclose(one.means, other.means, rtol=1e-7)
    np.testing.assert_allclose(one.predict_proba(), other.predict_proba(), atol=1e-6)
    cov = other.cov if verb is discrim.lda else other.covs["virginica"]
    np.testing.assert_allclose(one.covs["virginica", 1], cov, rtol=1e-5, atol=1e-6)


def test_likelihood_and_posteriors_use_observed_values(fit):
    rows = HOLES.iloc[::3]
    logs, prior = densities(fit, rows), np.log(fit.prior.to_numpy())
    own_scores = logs[np.arange(50), pd.Categorical(rows["species"], list(fit.classes)).codes]
    assert fit.llf_given == pytest.approx(own_scores.sum(), rel=1e-12)
    assert fit.llf_rows == pytest.approx(logsumexp(logs + prior, axis=1).sum(), rel=1e-12)
    assert fit.bic == pytest.approx(np.log(50) * fit.df_model - 2 * fit.llf)
    expected = np.exp(logs + prior - logsumexp(logs + prior, axis=1, keepdims=True))
    np.testing.assert_allclose(fit.predict_proba(rows), expected, rtol=1e-8, atol=1e-12)
    of_components = fit.component_posteriors(rows).T.groupby(level=0, observed=True).sum().T
    np.testing.assert_allclose(of_components[list(fit.classes)], expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        fit.means.to_numpy(),
        [fit.shares[label].to_numpy() @ fit.component_means.loc[label].to_numpy() for label in fit.classes],
        rtol=1e-12,
    )
    nothing = fit.predict_proba(HOLES.head(1).assign(**dict.fromkeys(NUMBERS, np.nan)))
    np.testing.assert_allclose(nothing.iloc[0], fit.prior)


def one_step(rows, proportions, means, covs):
    """A step of EM as textbooks write it, row by row and component by component."""
    g, p = means.shape
    logs = np.empty((len(rows), g))
    filled, conditional_covariances = np.empty((g, len(rows), p)), np.zeros((g, len(rows), p, p))
    for i, row in enumerate(rows):
        m = np.isnan(row)
        o = ~m
        for c in range(g):
            logs[i, c] = np.log(proportions[c]) + multivariate_normal.logpdf(
                row[o], means[c, o], covs[c][o][:, o]
            )
            slopes = covs[c][m][:, o] @ np.linalg.inv(covs[c][o][:, o])
            filled[c, i] = row
            filled[c, i, m] = means[c, m] + slopes @ (row[o] - means[c, o])
            conditional_covariances[c, i][np.ix_(m, m)] = covs[c][m][:, m] - slopes @ covs[c][o][:, m]
    weights = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    new = [np.average(filled[c], axis=0, weights=weights[:, c]) for c in range(g)]
    scatters = []
    for c in range(g):
        differences = filled[c] - new[c]
        total = differences[:, :, None] * differences[:, None, :] + conditional_covariances[c]
        scatters.append(np.average(total, axis=0, weights=weights[:, c]))
    return weights.mean(axis=0), np.array(new), np.array(scatters)


def test_a_textbook_em_step_keeps_the_estimates():
    options = {"components": 2, "covariance": "full", "starts": 2, "tol": 1e-11}
    fit = mixture("species ~ .", SMALL.query("species != 'setosa'"), missing="em", **options)
    for label in fit.classes:
        rows = SMALL.loc[SMALL["species"] == label, list(fit.terms)].dropna(how="all").to_numpy()
        covs = np.stack([fit.covs[label, g] for g in (1, 2)])
        now = fit.shares[label], fit.component_means.loc[label], covs
        for before, after in zip(now, one_step(rows, *map(np.asarray, now)), strict=True):
            np.testing.assert_allclose(after, before, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_direct_search_finds_no_larger_likelihood():
    fit = mixture("species ~ .", SMALL, components=2, covariance="EEE", over="class", missing="em", tol=1e-12)
    for label in fit.classes:
        rows = SMALL.loc[SMALL["species"] == label, list(fit.terms)].dropna(how="all").to_numpy()
        patterns = []
        for o in np.unique(~np.isnan(rows), axis=0):
            patterns.append((o, rows[(~np.isnan(rows) == o).all(axis=1)][:, o]))

        def loss(theta, patterns=patterns):
            proportion = 1 / (1 + np.exp(-theta[0]))
            root = np.array([[np.exp(theta[5]), theta[6]], [0.0, np.exp(theta[7])]])
            means, cov, total = theta[1:5].reshape(2, 2), root.T @ root, 0.0
            for o, observed in patterns:
                of_means = [multivariate_normal.logpdf(observed, mean[o], cov[o][:, o]) for mean in means]
                log_densities = np.reshape(of_means, (2, -1))
                total += logsumexp(log_densities, axis=0, b=[[proportion], [1 - proportion]]).sum()
            return -total

        root = np.linalg.cholesky(fit.covs[label, 1]).T
        proportions = fit.shares[label].to_numpy()
        start = [np.log(proportions[0] / proportions[1]), *fit.component_means.loc[label].to_numpy().ravel()]
        start += [np.log(root[0, 0]), root[0, 1], np.log(root[1, 1])]
        optimum = minimize(loss, start, method="BFGS", options={"gtol": 1e-5})
        assert optimum.fun == pytest.approx(loss(np.array(start)), abs=1e-6)
        np.testing.assert_allclose(optimum.x, start, rtol=1e-2, atol=1e-2)


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS))
def test_no_step_lowers_the_likelihood(seed, form):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(3, 60)) + np.where(rng.random(60) < 0.5, 2.0, -2.0)
    z[rng.random(z.shape) < 0.3] = np.nan
    rows = [ClassRows(z, rng.integers(1, 4, 60).astype(float))]
    total = incomplete.impute_rows(rows, 0)
    assert (total[0].z[~np.isnan(z)] == z[~np.isnan(z)]).all()
    members = rng.random(60) < 0.5
    start = em.m_step(total, [np.stack([members, ~members]) * rows[0].weights], form)
    assert isinstance(start, Components)
    maximum = incomplete.run_em_incomplete(start, rows, form, tol=1e-9, maxiter=40)
    if isinstance(maximum, Components):
        gains = np.diff(maximum.path)
        assert (gains >= -1e-9 * np.abs(maximum.llf)).all()
        assert len(gains) > 1


def test_complete_rows_give_the_same_fit_with_and_without_em():
    fit, reference_fit = (
        mixture("species ~ .", IRIS, components=1, missing=missing) for missing in ("em", None)
    )
    assert (fit.llf, fit.em) == (reference_fit.llf, (0, 1))
    np.testing.assert_array_equal(fit.predict_proba(), reference_fit.predict_proba())
    assert fit.predict(HOLES).notna().all()
    assert reference_fit.predict(HOLES).isna().any()
    with pytest.raises(NotSupportedError) as caught:
        _ = reference_fit.em
    assert 'missing="em"' in str(caught.value)


@pytest.mark.slow
def test_weights_are_repeated_rows_and_neither_order_nor_units_matter(fit):
    rows = HOLES.iloc[::3]
    weights = np.random.default_rng(5).integers(1, 4, 50)
    weighted = mixture("species ~ .", rows, weights=weights, **TWO)
    again = mixture("species ~ .", rows.loc[rows.index.repeat(weights)], **TWO)
    assert weighted.llf == pytest.approx(again.llf, rel=1e-9)
    assert mixture("species ~ .", rows.sample(frac=1, random_state=1), **TWO).llf == fit.llf
    sizes = zip(NUMBERS, (1e-120, 1e100, 2.0**20, 3.0), strict=True)
    units = rows.assign(**{name: rows[name] * size for name, size in sizes})
    other = mixture("species ~ .", units, **TWO)
    np.testing.assert_allclose(other.predict_proba(units), fit.predict_proba(rows), rtol=1e-3, atol=1e-4)


def test_files_and_summaries_contain_the_fit(fit, tmp_path):
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    np.testing.assert_array_equal(again.predict_proba(HOLES), fit.predict_proba(HOLES))
    assert (again.em, again.llf, again.llf_given) == (fit.em, fit.llf, fit.llf_given)
    is_missing = HOLES[NUMBERS].iloc[::3].isna()
    assert fit.em == (is_missing.any(axis=1).sum(), len(is_missing.drop_duplicates()))
    text = " ".join(fit.summary().as_text().split())
    assert f"Incomplete observations {fit.em.incomplete}, {fit.em.patterns} patterns" in text
    assert "Log-likelihood, observed" in text


def test_folds_are_fitted_by_em_too():
    fold = np.arange(len(SMALL)) % 2
    one = {"components": 1, "covariance": "VEV", "missing": "em"}
    fit = mixture("species ~ .", SMALL, **one)
    cross_validated = discrim.cross_validate(fit, folds=fold)
    refit = mixture("species ~ .", SMALL[fold == 1], **one, prior=fit.prior)
    is_used = (fold == 0) & SMALL[NUMBERS[2:]].notna().any(axis=1)
    assert (cross_validated.labels[1][is_used] == refit.predict(SMALL[is_used])).all()
    assert cross_validated.confusion.to_numpy().sum() == fit.nobs


def test_leave_one_out_equals_refits_of_incomplete_rows():
    one = {"components": 1, "missing": "em"}
    rows = SMALL.iloc[::5]
    fit = mixture("species ~ .", rows, **one)
    left_out = fit.leave_one_out()[list(fit.classes)].astype(float)
    assert left_out.notna().all(axis=1).sum() == fit.nobs
    for row in (60, 65, 120):
        refit = mixture("species ~ .", rows.drop(index=row), **one, prior=fit.prior)
        np.testing.assert_allclose(left_out.loc[row], refit.predict_proba(rows.loc[[row]]).iloc[0], atol=1e-5)


def test_errors_name_what_cannot_be_estimated(tmp_path, capsys):
    with pytest.raises(DataError) as caught:
        mixture("species ~ .", HOLES, missing="fill")
    assert "missing='fill'" in str(caught.value)
    assert "'drop'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        mixture("species ~ .", HOLES, missing="em", na_action="raise")
    assert 'na_action="raise"' in str(caught.value)
    half = np.arange(150) % 2 == 0
    hidden = {"sepal_width": IRIS["sepal_width"].mask(half), "petal_width": IRIS["petal_width"].mask(~half)}
    apart = IRIS.assign(**hidden)
    with pytest.raises(DataError) as caught:
        mixture("species ~ .", apart, components=1, missing="em")
    assert "'setosa'" in str(caught.value)
    assert mixture("species ~ .", apart, components=1, covariance="diagonal", missing="em").converged
    setosa = HOLES["species"] == "setosa"
    with pytest.raises(DataError) as caught:
        mixture("species ~ .", HOLES.assign(sepal_width=HOLES["sepal_width"].mask(setosa)), missing="em")
    assert caught.value.classes == ("setosa",)
    double = HOLES.assign(twice=2 * HOLES["sepal_width"])
    with pytest.raises(CollinearError) as caught:
        mixture("species ~ .", double, components=1, missing="em")
    assert caught.value.columns == ("twice",)
    HOLES.to_csv(tmp_path / "holes.csv", index=False)
    line = ["mixture", "species ~ .", str(tmp_path / "holes.csv"), "--missing", "em"]
    assert main([*line, "--components", "1"]) == 0
    assert "Incomplete observations" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_group_summary_requires_complete_rows(verb):
    with pytest.raises(NotSupportedError) as caught:
        verb("species ~ .", SMALL, missing="em").group_summary()
    assert "group_summary()" in str(caught.value)
    full_fit = verb("species ~ .", IRIS, missing="em").group_summary()
    assert full_fit["mean"].to_numpy() == pytest.approx(
        verb("species ~ .", IRIS).group_summary()["mean"].to_numpy()
    )
