"""Attributes that a model has not are missing as Python knows it, and the methods say why."""

from __future__ import annotations

import copy
import inspect
import pickle
import rlcompleter
import sys

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris
from discrim.errors import NotSupportedError
from tests.contract.fits import FITS, MODELLED, fitted

IRIS = load_iris()
SAVED = [name for name in MODELLED if name not in ("bayes", "fda")]
TABLES = "classes", "nobs", "prior", "llf", "aic", "bic", "df_model"


def fits_without_rows():
    """Return fits without rows: loaded ones, and those to moments."""
    held = discrim.moments("species ~ .", IRIS)
    yield "lda of moments", discrim.lda(moments=held)
    yield "qda of moments", discrim.qda(moments=held)
    means = pd.DataFrame({"x": [0.0, 1.0]}, index=["a", "b"])
    yield "from_stats", discrim.lda(moments=discrim.from_stats(means, np.eye(1), [20, 30]))
    yield "moments", held


def loaded(name, tmp_path):
    fitted(name).save(tmp_path / "fit")
    return discrim.load(tmp_path / "fit")


def check_attributes(fit) -> None:
    """Check that every name that dir() lists can be read or raises an AttributeError."""
    # Before Python 3.11.3 the weak reference of a class with slots is that of another class.
    names = [name for name in dir(fit) if name != "__weakref__" or sys.version_info >= (3, 11, 3)]
    readable = {name for name in names if hasattr(fit, name)}
    assert [name for name in set(names) - readable if getattr(fit, name, "missing") != "missing"] == []
    if len(names) == len(dir(fit)):
        assert {name for name, _ in inspect.getmembers(fit)} >= readable
    space = {"fit": fit}
    found = rlcompleter.Completer(space).attr_matches("fit.")
    assert any(word.startswith("fit.") for word in found)
    copy.copy(fit)
    assert repr(copy.deepcopy(fit)) == repr(fit)


@pytest.mark.parametrize("name", FITS)
def test_every_listed_attribute_can_be_read(name):
    check_attributes(fitted(name))


@pytest.mark.parametrize("name", SAVED)
def test_so_can_loaded_ones(name, tmp_path):
    check_attributes(loaded(name, tmp_path))


@pytest.mark.parametrize(
    ("name", "fit"), list(fits_without_rows()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_listed_attribute_can_be_read_without_rows(name, fit):
    check_attributes(fit)


@pytest.mark.parametrize("name", MODELLED)
def test_pickles_are_the_same(name):
    if name == "bayes":
        return
    again = pickle.loads(pickle.dumps(fitted(name)))
    assert [n for n in TABLES if hasattr(again, n)] == [n for n in TABLES if hasattr(fitted(name), n)]


@pytest.mark.parametrize(
    ("name", "attribute"),
    [("knn", "aic"), ("hyperplane", "llf"), ("perceptron", "bic"), ("indicator", "aic"), ("rda", "aic")],
)
def test_a_criterion_that_a_model_has_not(name, attribute):
    fit = fitted(name)
    assert not hasattr(fit, attribute)
    assert getattr(fit, attribute, None) is None
    with pytest.raises(NotSupportedError) as caught:
        getattr(fit, attribute)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, AttributeError)
    assert len(str(caught.value)) > 30


@pytest.mark.parametrize("name", ["perceptron", "hyperplane", "indicator"])
def test_methods_that_a_model_has_not_raise_a_value_error_with_its_message(name):
    for method in ("predict_proba", "predict_log_proba"):
        with pytest.raises(ValueError, match=rf"^{method}\(\) requires posterior probabilities"):
            getattr(fitted(name), method)()


def test_a_fit_of_another_name_has_python_s_own_message():
    with pytest.raises(AttributeError) as caught:
        _ = fitted("lda").aci
    assert "'aci'" in str(caught.value)
