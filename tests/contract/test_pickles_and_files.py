"""Pickles, joblib files and messages to other processes contain no row of the table."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import pickle
import struct
import tracemalloc
import weakref
from contextlib import suppress
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import discrim
import discrim.sklearn as estimators
from discrim.datasets import load_iris
from discrim.errors import NotSupportedError
from tests.contract.fits import MADE, mark_slow_cases
from tests.contract.test_ownership import SEARCHED

pytestmark = pytest.mark.filterwarnings("ignore")
COLUMNS = list(load_iris().columns[:4])


def iris_with_marked_digits() -> pd.DataFrame:
    """Return iris with values of fifteen digits that no number of a fit has by chance."""
    iris = load_iris()
    noise = np.random.default_rng(3).normal(scale=0.01, size=(150, 4))
    return iris.assign(**{name: iris[name] + noise[:, j] for j, name in enumerate(COLUMNS)})


IRIS = iris_with_marked_digits()
FEW = IRIS[::2].reset_index(drop=True)
SEPARATE = IRIS[:100].astype({"species": str})
VALUES = [struct.pack("<d", value) for value in IRIS[COLUMNS].to_numpy().ravel().tolist()]
ESTIMATORS = {
    name: kind
    for name, kind in inspect.getmembers(estimators, inspect.isclass)
    if name.endswith("Classifier") and name != "FormulaClassifier"
}
ESTIMATORS["ChooseClassifier"] = partial(estimators.ChooseClassifier, candidates=("lda", "qda"), seed=1)


SEARCHING = ("MixtureClassifier", "SparseLDAClassifier")


def floats_in(data: bytes) -> int:
    return sum(value in data for value in VALUES)


def file_and_pickle(result: Any) -> dict[str, bytes]:
    buffer = io.BytesIO()
    joblib.dump(result, buffer)
    return {
        "pickle": pickle.dumps(result),
        "old pickle": pickle.dumps(result, 2),
        "joblib": buffer.getvalue(),
    }


def test_the_search_finds_values_that_are_there():
    assert floats_in(pickle.dumps(IRIS)) == len(VALUES)
    assert floats_in(pickle.dumps(IRIS[COLUMNS].to_numpy())) == len(VALUES)


@pytest.fixture(params=mark_slow_cases(MADE, SEARCHED))
def fit(request):
    return MADE[request.param](FEW, FEW[25:].astype({"species": str}))


def test_files_of_results_contain_no_value_of_a_row(fit):
    # What is remembered of rows that were looked at does not travel either.
    for name in ("summary", "leave_one_out", "predict", "confusion"):
        with suppress(AttributeError, ValueError, TypeError):
            getattr(fit, name)()
    for kind, data in file_and_pickle(fit).items():
        assert floats_in(data) == 0, kind


def test_files_of_derived_results_contain_no_value_of_a_row():
    one = discrim.lda("species ~ .", IRIS)
    model = discrim.mlm("species ~ .", IRIS)
    for made in (
        one.canonical(),
        one.assess(),
        model.canonical(),
        discrim.permanova("species ~ .", IRIS, permutations=9),
        discrim.moments("species ~ .", IRIS),
        discrim.stepwise("species ~ .", IRIS).fit,
    ):
        for kind, data in file_and_pickle(made).items():
            assert floats_in(data) == 0, (type(made).__name__, kind)


@pytest.mark.parametrize("name", mark_slow_cases(ESTIMATORS, SEARCHING))
def test_files_of_estimators_contain_no_value_of_a_row(name):
    rows = SEPARATE if name in ("HyperplaneClassifier", "PerceptronClassifier") else IRIS
    x, y = rows[COLUMNS], rows["species"].to_numpy(str)
    for given in (x, x.to_numpy()):
        model = ESTIMATORS[name]().fit(given, y)
        for kind, data in file_and_pickle(model).items():
            assert floats_in(data) == 0, kind
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(given), model.predict(given))


def test_estimators_of_formulas_and_fits_contain_no_rows():
    fit = discrim.qda("species ~ .", IRIS)
    formula = estimators.FormulaClassifier("species ~ .", verb="qda").fit(IRIS, IRIS["species"].to_numpy(str))
    for model in (formula, estimators.as_estimator(fit)):
        for kind, data in file_and_pickle(model).items():
            assert floats_in(data) == 0, kind


@pytest.mark.parametrize(
    "names",
    [
        [name for name in ESTIMATORS if name not in SEARCHING],
        pytest.param(SEARCHING, marks=pytest.mark.slow),
    ],
    ids=["given parameters", "chosen parameters"],
)
def test_estimators_let_go_of_the_table(names):
    tables, models = {}, {}
    for name in names:
        rows = SEPARATE if name in ("HyperplaneClassifier", "PerceptronClassifier") else IRIS
        x = rows[COLUMNS].to_numpy()
        models[name] = ESTIMATORS[name]().fit(x, rows["species"].to_numpy(str))
        tables[name] = weakref.ref(x)
        del x
    gc.collect()
    assert [name for name, table in tables.items() if table() is not None] == []
    assert [name for name, model in models.items() if model.results_._fit.has_rows] == []


@pytest.mark.parametrize("name", ["LDAClassifier", "QDAClassifier", "NaiveBayesClassifier"])
def test_pickle_size_does_not_grow_with_rows(name):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5_000, 10)), rng.integers(0, 3, 5_000)
    ESTIMATORS[name]().fit(x[:500], y[:500])
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    model = ESTIMATORS[name]().fit(x, y)
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # The table takes 400 kB.
    assert kept < 100_000
    assert len(pickle.dumps(model)) < 20_000


def test_methods_without_rows_raise_with_a_hint():
    fit = discrim.lda("species ~ .", IRIS)
    again = pickle.loads(pickle.dumps(fit))
    with pytest.raises(NotSupportedError) as caught:
        again.predict()
    assert "data=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        again.leave_one_out()
    assert "requires the rows" in str(caught.value)
    pd.testing.assert_series_equal(again.predict(IRIS), fit.predict(), check_exact=True)
    assert "not available" in again.summary(["header"]).as_text()
    scores = pickle.loads(pickle.dumps(discrim.mlm("species ~ .", IRIS).canonical()))
    with pytest.raises(NotSupportedError) as caught:
        scores.scores()
    assert "data=" in str(caught.value)
    tested = discrim.permanova("species ~ .", IRIS, permutations=9)
    twin = pickle.loads(pickle.dumps(tested))
    assert str(twin) == str(tested)
    for ask in (twin.coordinates, twin.dispersion):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "requires the rows" in str(caught.value)


def test_pickled_fit_still_reports_chosen_parameters():
    fit = discrim.knn("species ~ .", IRIS, k=3)
    assert "given" in pickle.loads(pickle.dumps(fit)).summary(["header"]).as_text()
    chosen = discrim.shrunken_centroids("species ~ .", IRIS, seed=1)
    again = pickle.loads(pickle.dumps(chosen))
    pd.testing.assert_frame_equal(again.path, chosen.path, check_exact=True)


def test_copies_in_the_process_keep_the_rows():
    for fit in (discrim.lda("species ~ .", IRIS), discrim.knn("species ~ .", IRIS, k=3)):
        twin = copy.deepcopy(fit)
        pd.testing.assert_frame_equal(twin.leave_one_out(), fit.leave_one_out(), check_exact=True)
        assert twin._fit.design_rows.table.data is not fit._fit.design_rows.table.data
    model = discrim.mlm("species ~ .", IRIS)
    pd.testing.assert_frame_equal(
        copy.deepcopy(model).canonical().scores(), model.canonical().scores(), check_exact=True
    )
    tested = discrim.permanova("species ~ .", IRIS, permutations=9)
    pd.testing.assert_frame_equal(copy.deepcopy(tested).coordinates(), tested.coordinates(), check_exact=True)


@pytest.mark.slow
def test_the_tools_of_scikit_learn_work():
    x, y = IRIS[COLUMNS], IRIS["species"].to_numpy(str)
    model = estimators.LDAClassifier()
    assert not hasattr(clone(model.fit(x, y)), "results_")
    assert cross_val_score(model, x, y, n_jobs=2).min() > 0.9
    search = GridSearchCV(
        estimators.RDAClassifier(), {"alpha": [0.1, 0.9], "gamma": [0.5]}, n_jobs=2, cv=3
    ).fit(x, y)
    assert search.best_score_ > 0.9
    assert floats_in(pickle.dumps(search)) == 0
