"""Classes of one or two rows do not stop a search over models: a simpler model is fitted with a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import DiscrimError, DiscrimWarning, FallbackWarning
from discrim.sklearn import NaiveBayesClassifier, RDAClassifier, ShrunkenCentroidsClassifier

IRIS = load_iris()
NAMES = IRIS.columns[:4]


def few(rows):
    new = pd.DataFrame(np.linspace(7.0, 7.5, 4 * rows).reshape(rows, 4), columns=NAMES)
    x = pd.concat([IRIS[NAMES], new], ignore_index=True)
    return x, np.r_[IRIS["species"].to_numpy(dtype=str), ["rare"] * rows]


CASES = [
    (NaiveBayesClassifier, {}, {"singular": "raise"}, (1,)),
    (RDAClassifier, {}, {"singular": "raise"}, (1, 2)),
    (RDAClassifier, {"alpha": 0.5, "gamma": 0.5}, {"singular": "raise"}, (1,)),
    (ShrunkenCentroidsClassifier, {}, {"single": "raise"}, (1,)),
]


@pytest.mark.parametrize(("make", "options", "strict", "rows"), CASES)
def test_class_of_few_rows_falls_back_with_a_warning(make, options, strict, rows):
    for count in rows:
        x, y = few(count)
        with pytest.warns(FallbackWarning):
            model = make(**options).fit(x, y)
        assert model.classes_.tolist() == ["rare", "setosa", "versicolor", "virginica"]
        proba = model.predict_proba(x)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert (model.predict(x[:150]) == y[:150]).mean() > 0.8
        with pytest.raises(DiscrimError) as caught:
            make(**options, **strict).fit(x, y)
        assert "rare" in str(caught.value)


def test_fallback_model_is_the_one_named_in_the_warning():
    x, y = few(1)
    data = x.assign(y=y)
    with pytest.warns(FallbackWarning):
        found = NaiveBayesClassifier().fit(x, y).predict_proba(x)
    expected = discrim.lda("y ~ .", data, covariance="diagonal")
    np.testing.assert_allclose(found, expected.predict_proba())
    with pytest.warns(FallbackWarning):
        found = RDAClassifier().fit(x, y).predict_proba(x)
    expected = discrim.lda("y ~ .", data, covariance=Shrunk(standardize=True))
    np.testing.assert_allclose(found, expected.predict_proba())
    with pytest.warns(FallbackWarning):
        model = ShrunkenCentroidsClassifier().fit(x, y)
    chosen = discrim.shrunken_centroids("species ~ .", IRIS, seed=0).shrinkage_threshold
    assert model.results_.shrinkage_threshold == pytest.approx(chosen, rel=1e-12)


def test_categories_and_weights():
    x, y = few(1)
    x = x.assign(site=list("uv") * 75 + ["u"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        model = NaiveBayesClassifier(laplace=1).fit(x, y)
        assert model.results_.smoothing == 1e-9
        weights = np.r_[np.ones(150), 1.0]
        RDAClassifier().fit(x[NAMES], y, sample_weight=weights)
        ShrunkenCentroidsClassifier().fit(x[NAMES], y, sample_weight=weights)
