"""Rules in ONNX, run by onnxruntime beside Python."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import MissingPackageError, NotSupportedError
from tests.models.results.test_exported import TERMS, VERBS, letters

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

IRIS, PENGUINS = load_iris(), load_penguins()
TYPES = {
    onnx.TensorProto.DOUBLE: np.float64,
    onnx.TensorProto.INT64: np.int64,
    onnx.TensorProto.STRING: object,
}


def run_model(model: Any, table: pd.DataFrame) -> list[Any]:
    """Return labels and values of the rows of a table."""
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {}
    for each in model.graph.input:
        values, kind = table[each.name], TYPES[each.type.tensor_type.elem_type]
        values = values.astype(object).where(values.notna(), "") if kind is object else values
        given[each.name] = values.to_numpy(dtype=kind)[:, None]
    found: list[Any] = session.run(["label", model.graph.output[1].name], given)
    return found


def compare(fit: Any, table: pd.DataFrame, tolerance: float = 1e-12) -> None:
    """Labels and posteriors, or values, are those of the fit."""
    labels, values = run_model(fit.to_onnx(), table)
    expected = fit.predict_proba(table) if fit._fit.has_posteriors else fit.decision_function(table)
    expected = expected.to_numpy().reshape(len(table), -1)
    scale = np.maximum(np.nanmax(np.abs(expected)), 1)
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance * scale)
    known = ~np.isnan(expected).any(axis=1)
    assert (labels[known] == fit.predict(table).to_numpy()[known]).all()
    if isinstance(labels[0], str):
        assert (labels[~known] == "").all()


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_every_rule(verb: str) -> None:
    compare(getattr(discrim, verb)("species ~ .", data=IRIS, **VERBS[verb]), IRIS)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
@pytest.mark.parametrize("verb", ["lda", "qda"])
def test_units(verb: str, unit: float) -> None:
    table = IRIS.copy()
    table.iloc[:, :4] *= unit
    compare(getattr(discrim, verb)("species ~ .", data=table), table)


@pytest.mark.parametrize("terms", TERMS)
def test_transforms_with_missing_values(terms: str) -> None:
    compare(discrim.lda(f"species ~ {terms}", data=PENGUINS), PENGUINS)


@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes"])
def test_hostile_names_and_many_classes(verb: str) -> None:
    compare(getattr(discrim, verb)("`class` ~ .", data=letters()), letters())


@pytest.mark.parametrize("labels", [["it's", "é\nß"], [True, False], [3, -1], [0.1, -2.5]], ids=str)
def test_labels(labels: list[Any]) -> None:
    table = letters(2)
    table["class"] = np.array(labels, dtype=object)[(table["class"] == "b").astype(int)]
    fit = discrim.lda("`class` ~ .", data=table.infer_objects())
    compare(fit, table)
    (classes,) = [each.value for each in fit.to_onnx().metadata_props if each.key == "classes"]
    assert json.loads(classes) == fit.classes.tolist()


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
def test_truth_values_and_numbers_that_are_categories_too() -> None:
    table = IRIS.assign(long=IRIS["petal_length"] > 3, place=np.arange(150) % 3)
    compare(discrim.lda("species ~ sepal_length * long + C(place)", data=table), table)
    compare(discrim.lda("species ~ sepal_length + place + C(place)", data=table, collinear="drop"), table)
    compare(discrim.lda("species ~ sepal_length:C(place) + C(place, Sum)", data=table), table)


def test_prior_of_zero() -> None:
    fit = discrim.qda("species ~ .", data=IRIS)
    prior = {"setosa": 0.0, "versicolor": 0.1, "virginica": 0.9}
    _, found = run_model(fit.to_onnx(prior=prior), IRIS)
    np.testing.assert_allclose(found, fit.predict_proba(IRIS, prior=prior), rtol=0, atol=1e-12)


def test_rows_with_unseen_levels_are_missing() -> None:
    fit = discrim.lda("species ~ log(bill_length_mm) + island + body_mass_g", data=PENGUINS)
    rows = PENGUINS.dropna()[:6].astype({"island": object}).reset_index(drop=True)
    rows.loc[0, "bill_length_mm"], rows.loc[1, "bill_length_mm"] = 0.0, -1.0
    rows.loc[2, "island"] = "torgersen"
    rows.loc[[3, 4], "body_mass_g"] = np.inf, 1e300
    labels, values = run_model(fit.to_onnx(), rows)
    assert np.isnan(values).all(axis=1).tolist() == [True] * 5 + [False]
    assert (labels == "").tolist() == [True] * 5 + [False]


def test_unsupported_rules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda("species ~ bs(petal_length, df=4)", data=IRIS).to_onnx()
    assert "bs()" in str(caught.value)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingPackageError) as caught:
        discrim.lda("species ~ .", data=IRIS).to_onnx()
    assert (caught.value.name, caught.value.extra) == ("onnx", "onnx")
