"""A search over models goes on: every estimator, with every kind of rule, fits folds that a verb refuses."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import discrim
import discrim.sklearn as estimators
from discrim.covariance import MCD, Shrunk, StudentT
from discrim.errors import CollinearError, DataError, DiscrimError, DiscrimWarning, FallbackWarning
from discrim.penalty import Ridge
from discrim.subspace import OrthogonalPLS, SparsePLS

pytestmark = pytest.mark.filterwarnings("ignore")

RULES: dict[str, list[dict[str, Any]]] = {
    "FDAClassifier": [{}],
    "IndicatorClassifier": [{}],
    "KernelLDAClassifier": [{"kernel": "gaussian", "scale": "sd", "width": 2.0, "ridge": 0.1}],
    "KNNClassifier": [{"k": 3}, {"k": 3, "metric": "mahalanobis"}],
    "KernelDensityClassifier": [
        {"bandwidth": "normal"}, {"covariance": "class"}, {"metric": "diagonal", "covariance": "class"},
    ],
    "LDAClassifier": [
        {}, {"covariance": "diagonal"}, {"covariance": "shrunk"}, {"covariance": "correlation"}, {"ncomp": 1},
        {"covariance": "spherical"}, {"covariance": "pinv"}, {"method": "mle"}, {"covariance": StudentT(4)},
        {"covariance": MCD(0.75)},
    ],
    "LocationClassifier": [{"smoothing": 0.2}, {"smoothing": 1.0}],
    "LogisticClassifier": [{}, {"penalty": Ridge(0.1)}],
    "MixtureClassifier": [
        {"components": 2, "starts": 2}, {"components": 2, "covariance": "VVI", "starts": 2},
    ],
    "NaiveBayesClassifier": [{}, {"kernel": True}, {"kernel": True, "smoothing": 0.1}],
    "NearestCentroidClassifier": [{}],
    "PLDAClassifier": [{}],
    "PLSClassifier": [
        {"ncomp": 2}, {"ncomp": 8}, {"ncomp": 2, "rule": "max"},
        {"algorithm": OrthogonalPLS(2)}, {"algorithm": SparsePLS([2, 1, 2])},
    ],
    "PerceptronClassifier": [{"maxiter": 5}],
    "QDAClassifier": [
        {}, {"covariance": "diagonal"}, {"covariance": "shrunk"}, {"covariance": "spherical"},
        {"covariance": "factor"}, {"method": "mle"}, {"covariance": "t"}, {"covariance": "mcd"},
    ],
    "RDAClassifier": [
        {"alpha": 0, "gamma": 1.0}, {"alpha": 0.5, "gamma": 1.0}, {"alpha": 1, "gamma": 1.0}, {"alpha": 1},
        {"alpha": 1, "gamma": 1.0, "method": "mle"}, {"alpha": 1, "gamma": 0.0, "parametrization": "klar"},
        {"alpha": 1, "gamma": 0.0, "parametrization": "friedman"},
    ],
    "ShrunkenCentroidsClassifier": [{"threshold": 1.0}, {"n_thresholds": 4}],
    "SparseLDAClassifier": [{"nonzero": 2}, {"penalty": 0.0}, {"n_penalties": 3}],
}  # fmt: skip


def dummies() -> tuple[pd.DataFrame, np.ndarray]:
    """Every level of a category as a column, which are collinear, and a column of few ones."""
    rng = np.random.default_rng(12)
    y = np.repeat(["p", "q", "r"], [26, 18, 10])
    x = pd.DataFrame(rng.normal(size=(54, 2)) + 0.7 * np.repeat([0, 1, 2], [26, 18, 10])[:, None])
    level = rng.integers(0, 4, 54)
    columns = {f"is {k}": (level == k).astype(float) for k in range(4)}
    return x.add_prefix("x").assign(**columns, seldom=(np.arange(54) % 17 == 3).astype(float)), y


def wide() -> tuple[pd.DataFrame, np.ndarray]:
    x = np.random.default_rng(4).normal(size=(21, 24))
    return pd.DataFrame(x).add_prefix("x"), np.tile(["p", "q", "r"], 7)


def one_row() -> tuple[pd.DataFrame, np.ndarray]:
    x, y = dummies()
    y = np.where(y == "r", "q", y)
    y[53] = "single"
    return x, y


TABLES = {"dummies": dummies(), "wide": wide(), "a class of one row": one_row()}


def test_every_estimator_is_here():
    names = {name for name in estimators.__all__ if name.endswith("Classifier")}
    # A choice passes over models that do not fit.
    assert names - set(RULES) == {"ChooseClassifier", "FormulaClassifier", "HyperplaneClassifier"}


@pytest.mark.parametrize(
    ("name", "options", "table"),
    # The first options of an estimator with every table, the others with one table in turn.
    [
        pytest.param(name, each, table, marks=() if i == 0 or (i + j) % 3 == 0 else pytest.mark.exhaustive)
        for name, some in RULES.items()
        for i, each in enumerate(some)
        for j, table in enumerate(TABLES)
    ],
    ids=str,
)
def test_every_table_can_be_fitted(name, options, table):
    x, y = TABLES[table]
    model = getattr(estimators, name)(**options).fit(x, y)
    labels = model.predict(x)
    assert set(labels) <= set(y)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_a_grid_over_regularized_rules_has_no_missing_score(alpha):
    x, y = dummies()
    grid = {"alpha": [alpha], "gamma": [0.2, 1.0]}
    search = GridSearchCV(
        estimators.RDAClassifier(), grid, cv=StratifiedKFold(3, shuffle=True, random_state=1),
        error_score=np.nan,
    ).fit(x, y)  # fmt: skip
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(("alpha", "verb"), [(1, discrim.qda), (0, discrim.lda)])
def test_what_is_fitted_instead_is_said_and_is_that(alpha, verb):
    x, y = dummies()
    with pytest.warns(FallbackWarning, match=rf"Fitted {verb.__name__}\(\) with covariance=Shrunk"):
        model = estimators.RDAClassifier(alpha=alpha, gamma=1.0).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = verb("y ~ .", x.assign(y=y), covariance=Shrunk(standardize=True))
    np.testing.assert_allclose(model.predict_proba(x), fit.predict_proba(), rtol=1e-9)
    with pytest.raises(CollinearError) as caught:
        estimators.RDAClassifier(alpha=alpha, gamma=1.0, singular="raise").fit(x, y)
    assert "alpha" in str(caught.value)
    assert "singular" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (estimators.KNNClassifier(k=3, metric="mahalanobis"), 'metric="euclidean"'),
        (estimators.LDAClassifier(covariance="mcd"), "covariance=Shrunk"),
        (estimators.QDAClassifier(covariance="t"), "covariance=Shrunk"),
        (estimators.NaiveBayesClassifier(kernel=True), "kernel=False, smoothing=1e-9"),
    ],
    ids=str,
)
def test_the_warning_names_what_was_fitted(model, said):
    with pytest.warns(DiscrimWarning, match=said):
        model.fit(*dummies())
    name = "collinear" if isinstance(model, estimators.LDAClassifier) else "singular"
    with pytest.raises(CollinearError):
        model.set_params(**{name: "raise"}).fit(*dummies())


def test_an_option_that_is_wrong_is_no_reason_to_go_on():
    for model in (
        estimators.RDAClassifier(alpha=2), estimators.KNNClassifier(k=99),
        estimators.KernelDensityClassifier(grid=[-1.0]),
    ):  # fmt: skip
        with pytest.raises((DataError, DiscrimError)):
            model.fit(*dummies())
