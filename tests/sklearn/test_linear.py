"""Coefficients by feature: they are those of the decision function, and selections of features take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression

from discrim import sklearn as estimators
from discrim.datasets import load_iris
from discrim.penalty import Lasso
from tests.support import is_older_than

IRIS = load_iris()
X = IRIS.drop(columns="species")
Y = IRIS["species"].astype(str)
TWO = (Y != "virginica").to_numpy()


LINEAR = [
    estimators.LDAClassifier(),
    estimators.LDAClassifier(ncomp=1, prior={"virginica": 0.5, "z": 0.2, "versicolor": 0.3}),
    estimators.LogisticClassifier(bias_reduction=True),
    estimators.LogisticClassifier(penalty=Lasso(0.01)),
    estimators.IndicatorClassifier(),
    estimators.PerceptronClassifier(),
    estimators.NearestCentroidClassifier(),
    estimators.ShrunkenCentroidsClassifier(threshold=0.5),
    estimators.RDAClassifier(alpha=0.0, gamma=0.5),
]


@pytest.mark.parametrize("model", LINEAR, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_coefficients_give_the_decision_function(model, two):
    rows = TWO if two else np.ones(len(Y), dtype=bool)
    x = X[rows].assign(still=1.0)
    estimator = clone(model)
    if two and getattr(model, "prior", None):
        estimator.set_params(prior={"versicolor": 0.7, "z": 0.3})
    assert not hasattr(estimator, "coef_")
    estimator.fit(x, Y[rows].replace("setosa", "z"))
    found = x.to_numpy() @ estimator.coef_.T + estimator.intercept_
    scores = estimator.decision_function(x)
    assert estimator.coef_.shape == (1 if two else 3, 5)
    assert not estimator.coef_[:, -1].any()
    if two:
        found = found[:, 0]
    elif estimator.results_._fit.has_posteriors:
        np.testing.assert_allclose(estimator.coef_.sum(axis=0), 0, atol=1e-12 * np.abs(estimator.coef_).max())
        found, scores = (values - values[:, [0]] for values in (found, scores))
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9 * np.abs(scores).max())


def test_coefficients_are_those_of_scikit_learn():
    # Its default solver divides by N from 1.9 on, and by N - K before.
    method = "moment" if is_older_than(sklearn, 1, 9) else "mle"
    ours, theirs = estimators.LDAClassifier(method=method).fit(X, Y), LinearDiscriminantAnalysis().fit(X, Y)
    for name in ("coef_", "intercept_"):
        held, other = (getattr(model, name) - getattr(model, name)[0] for model in (ours, theirs))
        np.testing.assert_allclose(held, other, rtol=1e-9)
    rows = (Y != "setosa").to_numpy()
    theirs = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(X[rows], Y[rows])
    found = estimators.LogisticClassifier().fit(X[rows], Y[rows])
    np.testing.assert_allclose(found.coef_, theirs.coef_, rtol=1e-6)
    np.testing.assert_allclose(found.intercept_, theirs.intercept_, rtol=1e-6)


def test_features_are_selected_by_coefficients():
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(len(X), 3)), index=X.index).add_prefix("noise")
    x = (X - X.mean()).join(noise)
    kept = RFE(estimators.LDAClassifier(), n_features_to_select=4).fit(x, Y).get_support()
    assert kept.tolist() == [True] * 4 + [False] * 3
    chosen = SelectFromModel(estimators.LDAClassifier(), max_features=4, threshold=-np.inf).fit(x, Y)
    assert chosen.get_support()[4:].sum() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: estimators.QDAClassifier().fit(X, Y),
        lambda: estimators.RDAClassifier(alpha=0.5, gamma=0.5).fit(X, Y),
        lambda: estimators.LDAClassifier().fit(X.assign(kind=pd.Categorical(["a", "b", "c"] * 50)), Y),
    ],
)
def test_no_coefficient_a_feature_is_no_attribute(make):
    model = make()
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")
