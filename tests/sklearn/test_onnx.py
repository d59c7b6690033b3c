"""Pipelines with estimators of ours, converted by skl2onnx and run by onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from discrim.datasets import load_iris, load_penguins
from discrim.errors import NotSupportedError
from discrim.penalty import Ridge
from discrim.sklearn import (
    IndicatorClassifier,
    KNNClassifier,
    LDAClassifier,
    LogisticClassifier,
    NaiveBayesClassifier,
    QDAClassifier,
    RDAClassifier,
)

skl2onnx = pytest.importorskip("skl2onnx")
runtime = pytest.importorskip("onnxruntime")

X = load_iris().iloc[:, :4].to_numpy()
LABELS = load_iris()["species"].astype(str).to_numpy()


@pytest.mark.parametrize("labels", [LABELS, np.unique(LABELS, return_inverse=True)[1]], ids=["text", "whole"])
@pytest.mark.parametrize(
    "estimator",
    [
        LDAClassifier(),
        QDAClassifier(),
        RDAClassifier(alpha=0.5, gamma=0.5),
        NaiveBayesClassifier(),
        LogisticClassifier(penalty=Ridge(0.1)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_pipelines(estimator: Any, labels: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, labels)
    session = runtime.InferenceSession(skl2onnx.to_onnx(pipeline, X[:1]).SerializeToString())
    found, posteriors = session.run(None, {"X": X})
    assert (found == pipeline.predict(X)).all()
    np.testing.assert_allclose(posteriors, pipeline.predict_proba(X), rtol=0, atol=1e-12)


def test_a_frame_has_an_input_for_each_column() -> None:
    table = load_penguins().dropna()
    frame, labels = table[["bill_length_mm", "year", "sex"]].astype({"sex": object}), table["species"]
    for columns in (["bill_length_mm", "year"], ["bill_length_mm", "sex"]):
        fitted = LDAClassifier().fit(frame[columns], 2.0 * np.unique(labels, return_inverse=True)[1])
        session = runtime.InferenceSession(skl2onnx.to_onnx(fitted, frame[columns][:1]).SerializeToString())
        found, posteriors = session.run(None, {name: frame[[name]].to_numpy() for name in columns})
        assert (found == fitted.predict(frame[columns])).all()
        np.testing.assert_allclose(posteriors, fitted.predict_proba(frame[columns]), rtol=0, atol=1e-12)


def test_a_rule_without_posteriors_gives_its_values() -> None:
    pipeline = make_pipeline(StandardScaler(), IndicatorClassifier()).fit(X, LABELS)
    session = runtime.InferenceSession(skl2onnx.to_onnx(pipeline, X[:1]).SerializeToString())
    _, values = session.run(None, {"X": X})
    np.testing.assert_allclose(values, pipeline.decision_function(X), rtol=0, atol=1e-12)


def test_what_stays() -> None:
    with pytest.raises(NotSupportedError) as caught:
        skl2onnx.to_onnx(KNNClassifier(k=3).fit(X, LABELS), X[:1])
    assert "knn()" in str(caught.value)
