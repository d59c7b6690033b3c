"""What small calls leave out says the same: rules that are held, indexes that are not factorized, imports."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from discrim import lda
from discrim.data.table import MAX_COLUMNS_READ_TOGETHER, Table
from discrim.datasets import load_iris
from discrim.models.base.labels import class_term_index
from discrim.sklearn import LDAClassifier

IRIS = load_iris()


@pytest.mark.parametrize(
    ("classes", "terms"),
    [
        (["b", "a"], ["constant", "x", "a"]),
        (pd.Index([3, 1, 2]), pd.Index(["z", "y"])),
        ([True, False], ["x"]),
        ([0.5, 0.25], ["constant", "constant"]),
        ([], ["x"]),
    ],
)
def test_the_index_of_classes_and_terms_is_pandas_product(classes, terms):
    expected = pd.MultiIndex.from_product([classes, terms], names=["class", "term"])
    index = class_term_index(classes, terms)
    assert index.equals(expected)
    assert index.names == expected.names
    if len(classes):
        assert [list(level) for level in index.levels] == [list(level) for level in expected.levels]
        assert [level.dtype for level in index.levels] == [level.dtype for level in expected.levels]


def test_rules_are_cached_for_the_prior_of_the_fit_only():
    fit = lda("species ~ .", IRIS)
    before = fit.predict_proba(IRIS)
    assert fit._fit.rule() is fit._fit.rule()
    equal, uneven = fit.predict_proba(IRIS, "equal"), fit.predict_proba(IRIS, [0.1, 0.1, 0.8])
    pd.testing.assert_frame_equal(equal, before)
    assert not np.allclose(uneven, before)
    other = fit._fit.with_prior(np.array([0.1, 0.1, 0.8]))
    assert not np.allclose(other.rule().intercept, fit._fit.rule().intercept)
    prior, counts = fit.prior, fit.counts
    prior.iloc[0], counts.iloc[0] = 9.0, 9
    pd.testing.assert_frame_equal(fit.predict_proba(IRIS), before)
    assert fit.prior.tolist() == [1 / 3] * 3
    assert fit.counts.tolist() == [50] * 3


def test_rules_are_not_pickled_with_the_fit():
    fit = lda("species ~ .", IRIS)
    before = len(pickle.dumps(fit))
    expected = fit.predict_proba(IRIS)
    assert len(pickle.dumps(fit)) == before
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(fit)).predict_proba(IRIS), expected)


@pytest.mark.parametrize("size", [11, 12])
def test_large_rules_are_not_cached(monkeypatch, size):
    monkeypatch.setattr("discrim.models.base.fit.MAX_CACHED_RULE_SIZE", size)
    fit = lda("species ~ .", IRIS)._fit
    assert (fit.rule() is fit.rule()) == (size == 12)


def test_estimators_predict_like_their_fits():
    x, y = IRIS.iloc[:, :4], IRIS["species"].astype(str).to_numpy()
    expected = lda("species ~ .", IRIS).predict_proba(IRIS).to_numpy()
    for rows in (x, x.to_numpy(), np.asfortranarray(x.to_numpy())):
        model = LDAClassifier().fit(rows, y)
        proba = model.predict_proba(rows)
        np.testing.assert_allclose(proba, expected, rtol=1e-12, atol=0)
        np.testing.assert_allclose(proba[3:4], model.predict_proba(rows[3:4]), rtol=1e-12, atol=0)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(rows)), expected, rtol=1e-9)


@pytest.mark.parametrize("more", [0, MAX_COLUMNS_READ_TOGETHER])
def test_columns_are_read_equally_whether_few_or_many(more):
    frame = IRIS.assign(**{f"z{j}": j for j in range(more)}, big=np.arange(150) + 2**60)
    table = Table(frame, is_stored=True)
    for name in table.names:
        pd.testing.assert_series_equal(table.native(name), frame[name])
    names = table.names[:4]
    out = np.empty((150, 4))
    table.fill(names, 0, 150, out)
    np.testing.assert_array_equal(out, frame[list(names)].to_numpy())
    held = table.view(names)
    assert held is None or np.array_equal(held.T, out)


@pytest.mark.slow
def test_first_fit_does_not_import_scipy():
    code = (
        "import sys, discrim; discrim.lda('species ~ .', discrim.datasets.load_iris()); "
        "print(*[part for part in ('linalg', 'special', 'stats') if f'scipy.{part}' in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
