"""Covariances by an estimator of the user's own: scikit-learn's, and objects that go wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import (
    OAS,
    EmpiricalCovariance,
    GraphicalLasso,
    LedoitWolf,
    MinCovDet,
    ShrunkCovariance,
)

import discrim
from discrim import lda, qda
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DataError, NotSupportedError
from tests.models.discriminant.test_shrinkage import as_frame, less_means, simulate_rows
from tests.turns import one_in

IRIS = load_iris()
X, Y = IRIS.iloc[:, :4].to_numpy(), IRIS["species"].to_numpy()

ESTIMATORS = [
    EmpiricalCovariance(assume_centered=True),
    LedoitWolf(),
    OAS(assume_centered=True),
    ShrunkCovariance(shrinkage=0.3),
    GraphicalLasso(alpha=0.05),
    MinCovDet(random_state=0),
]


class Constant:
    """An estimator without parameters, that counts its fits where it was made."""

    fits = 0

    def __init__(self, covariance):
        self.given = covariance

    def fit(self, rows):
        type(self).fits += 1
        self.rows_ = rows
        self.covariance_ = self.given


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_covariance_equals_that_of_the_estimator(estimator):
    fit, reference_fit = (verb("species ~ .", IRIS, covariance=estimator) for verb in (lda, qda))
    assert not hasattr(estimator, "covariance_")
    expected = type(estimator)(**estimator.get_params()).fit(less_means(X, Y)).covariance_
    np.testing.assert_allclose(fit.cov, expected, rtol=1e-11, atol=1e-13)
    for label in reference_fit.classes:
        chunk = X[label == Y]
        expected = type(estimator)(**estimator.get_params()).fit(chunk - chunk.mean(axis=0)).covariance_
        np.testing.assert_allclose(reference_fit.covs[label], expected, rtol=1e-9, atol=1e-12)
    name = type(estimator).__name__
    assert name in fit.summary().as_text()
    assert name in reference_fit.summary().as_text()


@pytest.mark.parametrize("verb", [lda, qda])
def test_estimators_agree_with_the_models_of_the_package(verb):
    x, y = simulate_rows(60, 4)
    data = as_frame(x, y)
    pairs = [
        (EmpiricalCovariance(), {}),
        (OAS(), {"covariance": "shrunk"}),
        (LedoitWolf(), {"covariance": Shrunk("ledoit-wolf")}),
        (ShrunkCovariance(shrinkage=0.2), {"covariance": Shrunk(0.2)}),
    ]
    for estimator, options in pairs:
        ours, theirs = verb("y ~ .", data, **options, method="mle"), verb("y ~ .", data, covariance=estimator)
        np.testing.assert_allclose(theirs.predict_log_proba(), ours.predict_log_proba(), rtol=1e-9, atol=1e-9)
        rates = [fit.error_rates(["cv"], folds=5, seed=1) for fit in (ours, theirs)]
        pd.testing.assert_frame_equal(*rates)


@pytest.mark.parametrize("verb", [lda, qda])
def test_each_fold_fits_a_copy(verb):
    seen = []

    class Recorded(OAS):
        def fit(self, rows, y=None):
            seen.append(len(rows))
            return super().fit(rows)

    fit = verb("species ~ .", IRIS, covariance=Recorded())
    seen.clear()
    fit.error_rates(["cv"], folds=5, seed=0)
    assert seen == ([120] * 5 if verb is lda else [40] * 15)
    bounds = fit.posterior_intervals(IRIS.iloc[:3], method="bootstrap", replicates=3, seed=0)
    assert bounds.notna().all(axis=None)


def test_an_object_without_parameters_is_not_changed():
    estimator = Constant(np.eye(4))
    fit = lda("species ~ .", IRIS, covariance=estimator)
    assert not hasattr(estimator, "covariance_")
    np.testing.assert_array_equal(fit.cov, np.eye(4))
    # A covariance of one is the nearest centroid.
    nearest = ((X[:, None] - fit.means.to_numpy()) ** 2).sum(axis=2).argmin(axis=1)
    assert (fit.predict() == fit.classes[nearest]).all()
    assert "Constant" in fit.summary().as_text()


@pytest.mark.parametrize("verb", [lda, qda])
def test_whole_weights_repeat_rows_and_others_are_refused(verb):
    w = 1 + np.arange(150) % 3
    repeated = IRIS.loc[IRIS.index.repeat(w)].reset_index(drop=True)
    ours = verb("species ~ . - w", IRIS.assign(w=w), weights="w", covariance=LedoitWolf())
    theirs = verb("species ~ .", repeated, covariance=LedoitWolf())
    np.testing.assert_allclose(ours.predict_log_proba(IRIS), theirs.predict_log_proba(IRIS), rtol=1e-9)
    with pytest.raises(NotSupportedError) as caught:
        verb("species ~ . - w", IRIS.assign(w=w / 2), weights="w", covariance=LedoitWolf())
    assert "not integers" in str(caught.value)
    assert caught.value.hint == "Pass integer weights."


def test_estimator_is_fitted_to_deviations_from_class_means():
    x, y = simulate_rows(60, 4)
    x = np.round(x * 2**16) / 2**16
    reference_fit, distant = (
        lda("y ~ .", as_frame(x + shift, y), covariance=OAS()) for shift in (0.0, 2.0**30)
    )
    np.testing.assert_allclose(distant.cov, reference_fit.cov, rtol=1e-11)
    tiny = lda("y ~ .", as_frame(np.ldexp(x, -100), y), covariance=ShrunkCovariance())
    nearby = lda("y ~ .", as_frame(x, y), covariance=ShrunkCovariance())
    np.testing.assert_allclose(tiny.predict_log_proba(), nearby.predict_log_proba(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("verb", [lda, qda])
def test_a_file_keeps_the_covariance(verb, tmp_path):
    fit = verb("species ~ .", IRIS, covariance=GraphicalLasso(alpha=0.05))
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(IRIS), fit.predict_proba(), check_exact=True)
    assert "GraphicalLasso(alpha=0.05)" in loaded.summary().as_text()


@pytest.mark.parametrize("verb", [lda, qda])
def test_unavailable_methods_are_refused_with_a_message(verb):
    fit = verb("species ~ .", IRIS, covariance=LedoitWolf())
    with pytest.raises(NotSupportedError) as caught:
        fit.leave_one_out()
    assert "error_rates" in str(caught.value)
    assert "not available" in fit.summary(["header"]).as_text()
    for ask in (lambda: fit.llf, lambda: fit.df_model):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "estimator" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = fit.shrinkage
    assert "shrinkage" in str(caught.value)
    assert "shrunk" in str(caught.value)
    with pytest.raises(DataError) as caught:
        verb("species ~ .", IRIS, covariance=LedoitWolf(), method="mle")
    assert "divisor" in str(caught.value)


class Nothing:
    def fit(self, rows):
        return self


class Failing:
    def fit(self, rows):
        raise ValueError("no luck today")


@one_in(
    2,
    {
        "verb": [lda, qda],
        "estimator, error, message": [
            (LedoitWolf, DataError, r"is a class.*covariance=LedoitWolf\(\)"),
            (object(), DataError, "with fit"),
            (3, DataError, "with fit"),
            (None, DataError, "with fit"),
            (Nothing(), DataError, "Nothing has no covariance_"),
            (Failing(), DataError, "no luck today"),
            (Constant(np.eye(3)), DataError, r"shape \(3, 3\) instead of \(4, 4\)"),
            (Constant(np.full((4, 4), np.nan)), DataError, "not finite"),
            (Constant("text"), DataError, "not a numeric matrix"),
            (Constant(np.eye(4) + np.triu(np.full((4, 4), 0.1), 1)), DataError, "not symmetric"),
            (Constant(np.ones((4, 4))), CollinearError, "not positive definite"),
            (Constant(-np.eye(4)), CollinearError, "not positive definite"),
            (Constant(np.zeros((4, 4))), CollinearError, "not positive definite"),
        ],
    },
)
def test_errors_name_an_estimator_that_fails(verb, estimator, error, message):
    with pytest.raises(error, match=message):
        verb("species ~ .", IRIS, covariance=estimator)


def test_errors_name_the_class_in_which_an_estimator_fails():
    with pytest.raises(CollinearError) as caught:
        qda("species ~ .", IRIS, covariance=Constant(np.ones((4, 4))))
    assert caught.value.classes == ("setosa",)
    with pytest.raises(CollinearError) as caught:
        lda("species ~ .", IRIS.assign(copy=X[:, 0]), covariance=EmpiricalCovariance())
    assert caught.value.classes == ()
