"""Weights that scikit-learn routes, frames that it asks for, and an import without it."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.penalty import Ridge
from discrim.sklearn import LDAClassifier, LogisticClassifier, NaiveBayesClassifier, QDAClassifier

IRIS = load_iris()
X, Y = IRIS.drop(columns="species"), IRIS["species"].astype(str)
WEIGHTS = np.random.default_rng(3).integers(1, 5, len(X))
FOLDS = StratifiedKFold(3, shuffle=True, random_state=1)


def asking(model):
    """A model that has weights both to fit and to score."""
    return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def by_hand(make):
    """Accuracy in each fold, with weights in the fit and in the score."""
    found = []
    for train, test in FOLDS.split(X, Y):
        model = make().fit(X.iloc[train], Y.iloc[train], sample_weight=WEIGHTS[train])
        labels = model.predict(X.iloc[test])
        found.append(accuracy_score(Y.iloc[test], labels, sample_weight=WEIGHTS[test]))
    return found


@pytest.mark.parametrize(
    "make",
    [
        LDAClassifier,
        QDAClassifier,
        NaiveBayesClassifier,
        lambda: LogisticClassifier(penalty=Ridge(0.1)),
        lambda: LogisticRegression(C=1.0),
    ],
    ids=["lda", "qda", "naive_bayes", "logistic", "scikit-learn"],
)
def test_weights_go_to_the_fit_and_to_the_score(make):
    with config_context(enable_metadata_routing=True):
        found = cross_validate(asking(make()), X, Y, cv=FOLDS, params={"sample_weight": WEIGHTS})
    np.testing.assert_allclose(found["test_score"], by_hand(make), rtol=1e-12)


@pytest.mark.parametrize("make", [LDAClassifier, LogisticRegression])
def test_weights_that_no_one_asked_for_are_refused_by_scikit_learn(make):
    with config_context(enable_metadata_routing=True), pytest.raises(UnsetMetadataPassedError):
        cross_validate(make(), X, Y, cv=FOLDS, params={"sample_weight": WEIGHTS})


def test_a_search_in_a_pipeline_scores_with_weights():
    grid = {"ldaclassifier__covariance__shrinkage": [0.01, 0.9]}
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        model = asking(LDAClassifier(covariance="shrunk"))
        search = GridSearchCV(make_pipeline(scaler, model), grid, cv=FOLDS)
        search.fit(X, Y, sample_weight=WEIGHTS)
    scores = []
    for train, test in FOLDS.split(X, Y):
        scaled = StandardScaler().fit(X.iloc[train])
        best = search.best_params_["ldaclassifier__covariance__shrinkage"]
        inner = LDAClassifier(covariance=Shrunk(best))
        inner.fit(scaled.transform(X.iloc[train]), Y.iloc[train], sample_weight=WEIGHTS[train])
        parts = scaled.transform(X.iloc[test]), Y.iloc[test]
        scores.append(inner.score(*parts, sample_weight=WEIGHTS[test]))
    assert search.best_score_ == pytest.approx(np.mean(scores))


@pytest.mark.parametrize("table", [X, pl.from_pandas(X), X.to_numpy()], ids=["pandas", "polars", "array"])
def test_scores_come_out_in_polars_under_their_names(table):
    model = LDAClassifier().fit(table, Y.tolist())
    scores = model.transform(table)
    out = model.set_output(transform="polars").transform(table)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == model.get_feature_names_out().tolist() == ["LD1", "LD2"]
    np.testing.assert_array_equal(out.to_numpy(), scores)
    line = make_pipeline(StandardScaler(), LDAClassifier(ncomp=1)).set_output(transform="polars")
    assert line.fit_transform(table, Y.tolist()).columns == ["LD1"]
    assert line.get_feature_names_out().tolist() == ["LD1"]


@pytest.mark.slow
def test_without_scikit_learn_the_import_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import discrim; discrim.lda; import discrim.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: discrim.sklearn needs scikit-learn: pip install 'discrim[sklearn]'."
    )
