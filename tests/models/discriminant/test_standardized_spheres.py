"""Spheres and ridges of standardized columns: no unit of a column changes them, refits learn them anew."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import OAS, LedoitWolf

import discrim
from discrim import cross_validate, lda, qda, rda
from discrim.covariance import FactorAnalytic, Regularized, Shrunk, Spherical
from discrim.datasets import load_wine
from discrim.errors import DiscrimWarning, FallbackWarning, ScaleWarning
from discrim.sklearn import LDAClassifier, QDAClassifier, RDAClassifier

WINE = load_wine()
Y = WINE["cultivar"].to_numpy(dtype=str)
X = WINE.drop(columns="cultivar")
UNITS = 10.0 ** np.random.default_rng(1).integers(-6, 7, X.shape[1])
OTHER = (X * UNITS).assign(cultivar=WINE["cultivar"])
F = "cultivar ~ ."
FOLD = np.arange(len(WINE)) % 3

CASES = [
    (lda, {"covariance": Shrunk()}),
    (lda, {"covariance": Shrunk(0.3)}),
    (lda, {"covariance": Shrunk("ledoit-wolf")}),
    (lda, {"covariance": Shrunk("loo", grid=[0.01, 0.1, 0.5])}),
    (lda, {"covariance": Spherical()}),
    (qda, {"covariance": Shrunk()}),
    (qda, {"covariance": Shrunk("ledoit-wolf")}),
    (qda, {"covariance": Shrunk("loo", grid=[0.01, 0.1, 0.5])}),
    (qda, {"covariance": Spherical()}),
    (qda, {"covariance": FactorAnalytic("bic")}),
    (rda, {"alpha": 0.5, "gamma": 0.5}),
    (rda, {"alpha": 0.3, "gamma": 0.5, "parametrization": "friedman"}),
    (rda, {"seed": 1, "grid": [0.0, 0.5, 1.0], "folds": 3}),
    (rda, {"grid": [0.0, 0.5, 1.0], "folds": "loo"}),
]
IDS = [f"{verb.__name__}-{'-'.join(map(str, options.values()))}" for verb, options in CASES]


def within(data):
    less = data.drop(columns="cultivar")
    less = less - less.groupby(data["cultivar"].astype(str)).transform("mean")
    return np.sqrt((less**2).sum() / (len(data) - 3))


def scaled(data, sd):
    return (data.drop(columns="cultivar") / sd).assign(cultivar=data["cultivar"])


def standardized(options):
    """Return options of a verb with columns divided by their standard deviations."""
    if "covariance" not in options:
        parametrization = options.get("parametrization", "esl")
        return options | {"parametrization": Regularized(parametrization, standardize=True)}
    return options | {"covariance": replace(options["covariance"], standardize=True)}


@pytest.mark.parametrize(("verb", "options"), CASES, ids=IDS)
def test_standardize_equals_a_fit_to_standardized_columns(verb, options, tmp_path):
    fit = verb(F, OTHER, **standardized(options))
    sd = within(OTHER)
    by_hand = verb(F, scaled(OTHER, sd), **options)
    np.testing.assert_allclose(fit.predict_proba(), by_hand.predict_proba(), rtol=1e-8, atol=1e-12)
    unit = np.outer(sd, sd)
    for mine, theirs in (
        [(fit.cov, by_hand.cov)] if verb is lda else [(fit.covs[k], by_hand.covs[k]) for k in fit.classes]
    ):
        np.testing.assert_allclose(mine / unit, theirs, rtol=1e-9, atol=1e-12)
    # The deviations are held where a row is left out.
    np.testing.assert_allclose(
        fit.leave_one_out()[list(fit.classes)],
        by_hand.leave_one_out()[list(fit.classes)],
        rtol=1e-7,
        atol=1e-10,
    )
    reference_fit = verb(F, WINE, **standardized(options))
    np.testing.assert_allclose(reference_fit.predict_proba(), fit.predict_proba(), rtol=1e-8, atol=1e-12)
    assert "of standardized columns" in fit.summary().as_text()
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(OTHER), fit.predict_proba(OTHER))
    assert "of standardized columns" in loaded.summary().as_text()


@pytest.mark.parametrize(("verb", "options"), CASES, ids=IDS)
def test_folds_estimate_standard_deviations_again(verb, options):
    fit = verb(F, WINE, **standardized(options))
    cross_validated = cross_validate(fit, folds=FOLD).posteriors()
    for f in (0, 2):
        data, new = WINE[f != FOLD], WINE[f == FOLD]
        refit = verb(F, data, prior=fit.prior, **standardized(options))
        # A prior that is given weights the errors that choose.
        if options.get("seed") is None and "loo" not in str(options.get("covariance")):
            np.testing.assert_allclose(
                cross_validated[f == FOLD], refit.predict_proba(new), rtol=1e-7, atol=1e-12
            )
        sd = within(data)
        by_hand = verb(F, scaled(data, sd), prior=fit.prior, **options)
        np.testing.assert_allclose(
            refit.predict_proba(new), by_hand.predict_proba(scaled(new, sd)), rtol=1e-7, atol=1e-12
        )


def test_shrinkages_agree_with_scikit_learn_on_standardized_rows():
    less = X - X.groupby(Y).transform("mean")
    z = less / within(WINE)
    for word, model in (("oas", OAS), ("ledoit-wolf", LedoitWolf)):
        fit = lda(F, WINE, covariance=Shrunk(word, standardize=True))
        assert fit.shrinkage == pytest.approx(model(assume_centered=True).fit(z).shrinkage_, rel=1e-9)


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.normal(size=(30, 60)) * 10.0 ** rng.integers(-3, 4, 60)).add_prefix("x")
    wide["cultivar"] = np.tile(["a", "b", "c"], 10)
    for verb, options in (
        (lda, {"covariance": Shrunk()}),
        (qda, {"covariance": Shrunk()}),
        (rda, {"alpha": 0.5, "gamma": 0.5}),
        (rda, {"folds": 3, "seed": 1, "grid": [0.0, 0.5]}),
    ):
        fit = verb(F, wide, **standardized(options))
        by_hand = verb(F, scaled(wide, within(wide)), **options)
        np.testing.assert_allclose(fit.predict_proba(), by_hand.predict_proba(), rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(
            fit.leave_one_out().iloc[:, 1:], by_hand.leave_one_out().iloc[:, 1:], rtol=1e-6, atol=1e-9
        )


def test_very_different_units_cause_a_warning():
    for verb, options in CASES[:1] + CASES[5:6] + CASES[9:10]:
        with pytest.warns(ScaleWarning, match="'proline'"):
            verb(F, WINE, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DiscrimWarning)
            verb(F, WINE, **standardized(options))
            verb(F, scaled(WINE, within(WINE)), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DiscrimWarning)
        rda(F, WINE, alpha=0.5, gamma=1.0)


def test_estimators_standardize_their_shrinkage_target():
    subset = WINE.groupby("cultivar", observed=True).head(5)
    x, y = subset.drop(columns="cultivar"), subset["cultivar"].to_numpy(dtype=str)
    for model, verb in ((LDAClassifier, lda), (QDAClassifier, qda)):
        with pytest.warns(FallbackWarning):
            actual = model().fit(x, y)
        expected = verb(F, subset, covariance=Shrunk(standardize=True))
        np.testing.assert_allclose(actual.predict_proba(X), expected.predict_proba(WINE), rtol=1e-9)
    chosen = RDAClassifier(alpha=0.5, gamma=0.5, parametrization=Regularized(standardize=True)).fit(X, Y)
    expected = rda(F, WINE, alpha=0.5, gamma=0.5, parametrization=Regularized(standardize=True))
    np.testing.assert_allclose(chosen.predict_proba(X), expected.predict_proba(), rtol=1e-9)
