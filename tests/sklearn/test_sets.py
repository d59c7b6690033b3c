"""Prediction sets of estimators are those of what their verbs give."""

from __future__ import annotations

import numpy as np
import pytest

import discrim
from discrim.datasets import load_iris
from discrim.errors import DataError, NotSupportedError
from discrim.sklearn import (
    FormulaClassifier,
    KNNClassifier,
    LDAClassifier,
    PerceptronClassifier,
    as_estimator,
)

IRIS = load_iris().sample(frac=1, random_state=1)
X, Y = IRIS.iloc[:, 1:3], IRIS["species"].to_numpy(str)
OWN, HELD, NEW = slice(0, 60), slice(60, 110), slice(110, 150)


@pytest.mark.parametrize("options", [{}, {"by": "class"}, {"score": "aps", "smoothed": True, "seed": 3}])
@pytest.mark.parametrize("kind", [LDAClassifier, KNNClassifier])
def test_sets_are_those_of_the_results(kind, options):
    model = kind().fit(X[OWN], Y[OWN])
    found = model.predict_set(X[NEW], 0.8, calibration=(X[HELD], Y[HELD]), **options)
    wanted = model.results_.predict_set(X[NEW], 0.8, calibration=X[HELD].assign(y=Y[HELD]), **options)
    assert found.dtype == bool
    assert found.tolist() == wanted[model.classes_].to_numpy(bool).tolist()
    with pytest.raises(NotSupportedError) as caught:
        model.predict_set(X[NEW], 0.8, **options)
    assert "calibration=" in str(caught.value)
    rows = X.to_numpy()
    numbers = kind().fit(rows[OWN], Y[OWN])
    again = numbers.predict_set(rows[NEW], 0.8, calibration=(rows[HELD], Y[HELD]), **options)
    assert (again == found).all()


def test_classes_are_in_the_order_of_the_estimator():
    codes = 3 - np.unique(Y, return_inverse=True)[1]
    model = LDAClassifier().fit(X[OWN], codes[OWN])
    other = LDAClassifier().fit(X[OWN], Y[OWN])
    found = model.predict_set(X[NEW], 0.8, calibration=(X[HELD], codes[HELD]))
    assert (found == other.predict_set(X[NEW], 0.8, calibration=(X[HELD], Y[HELD]))[:, ::-1]).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
def test_estimators_of_formulas_fits_lines_and_batches():
    formula = FormulaClassifier("species ~ log(petal_length)", "qda").fit(IRIS[OWN], Y[OWN])
    fit = discrim.qda("species ~ log(petal_length)", IRIS[OWN])
    for model, ways in ((formula, 1), (as_estimator(fit), 2)):
        for held in ((IRIS[HELD], Y[HELD]), None)[:ways]:
            table = None if held is None else IRIS[HELD]
            wanted = fit.predict_set(IRIS[NEW], 0.9, calibration=table).iloc[:, 1:].to_numpy(bool)
            assert (model.predict_set(IRIS[NEW], 0.9, calibration=held) == wanted).all()
    two = Y != "setosa"
    line = PerceptronClassifier(maxiter=20).fit(X[two], Y[two])
    assert line.predict_set(X[two], 0.8, calibration=(X[two], Y[two])).shape == (100, 2)
    batches = LDAClassifier()
    batches.partial_fit(X[OWN], Y[OWN], classes=[*np.unique(Y), "zz"])
    with pytest.raises(NotSupportedError) as caught:
        batches.predict_set(X[NEW])
    assert "calibration=" in str(caught.value)
    found = batches.predict_set(X[NEW], calibration=(X[HELD], Y[HELD]))
    assert found.shape == (40, 4)
    assert not found[:, 3].any()


def test_calibration_that_does_not_fit_is_named():
    model = LDAClassifier().fit(X[OWN], Y[OWN])
    with pytest.raises(DataError) as caught:
        model.predict_set(X, calibration=(X[:2], ["other", "setosa"]))
    assert "'other'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        model.predict_set(X, calibration=X)
    assert "tuple" in str(caught.value)
    with pytest.raises(ValueError, match="inconsistent"):
        model.predict_set(X, calibration=(X[:2], Y[:3]))
