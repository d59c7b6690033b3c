"""Estimators of rows with missing values, and formulas whose verb is passed as a function."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score

import discrim
from discrim.datasets import load_penguins
from discrim.errors import DataError, NotSupportedError
from discrim.sklearn import FormulaClassifier, LDAClassifier, MixtureClassifier, QDAClassifier

PENGUINS = load_penguins()
CLASSES = PENGUINS["species"]
COMPLETE = PENGUINS[["bill_length_mm", "bill_depth_mm", "body_mass_g"]]
MEASURES = COMPLETE.mask(np.random.default_rng(0).random(COMPLETE.shape) < 0.1)
ESTIMATORS = [
    (LDAClassifier, discrim.lda, {}),
    (QDAClassifier, discrim.qda, {}),
    (MixtureClassifier, discrim.mixture, {"components": 2, "starts": 1, "tol": 1e-4, "seed": 1}),
]


@pytest.mark.parametrize(("estimator", "verb", "options"), ESTIMATORS)
def test_em_predicts_incomplete_rows_as_the_verb(estimator, verb, options):
    model = estimator(missing="em", **options).fit(MEASURES, CLASSES)
    results = verb("species ~ .", MEASURES.assign(species=CLASSES), missing="em", **options)
    np.testing.assert_allclose(model.predict_proba(MEASURES), results.predict_proba(), rtol=1e-12, atol=0)
    from_array = clone(model).fit(MEASURES.to_numpy(), CLASSES.to_numpy())
    np.testing.assert_array_equal(from_array.predict(MEASURES.to_numpy()), model.predict(MEASURES))
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(MEASURES), model.predict(MEASURES))
    empty = MEASURES[:1] * np.nan
    np.testing.assert_allclose(model.predict_proba(empty)[0], results.prior)
    assert model.__sklearn_tags__().input_tags.allow_nan
    assert not hasattr(model, "partial_fit")


@pytest.mark.parametrize(("estimator", "verb", "options"), ESTIMATORS)
def test_without_em_a_missing_value_is_an_error_with_its_column(estimator, verb, options):
    with pytest.raises(DataError) as caught:
        estimator(**options).fit(MEASURES, CLASSES)
    assert "bill_length_mm" in caught.value.columns
    with pytest.raises(DataError):
        estimator(missing="integrate", **options).fit(COMPLETE[CLASSES.notna()], CLASSES)
    assert not estimator(**options).__sklearn_tags__().input_tags.allow_nan


def test_em_and_options_that_it_does_not_support():
    with pytest.raises(NotSupportedError):
        LDAClassifier(missing="em", covariance="shrunk").fit(MEASURES, CLASSES)


def test_em_in_a_search_over_models():
    search = GridSearchCV(LDAClassifier(missing="em"), {"prior": [None, "equal"]}, cv=3)
    assert search.fit(MEASURES, CLASSES).best_score_ > 0.9


def test_formula_takes_the_verb_itself():
    formula = "species ~ bill_length_mm + body_mass_g"
    by_function = FormulaClassifier(formula, discrim.qda)
    rows = COMPLETE.dropna()
    labels = CLASSES[rows.index]
    by_name = FormulaClassifier(formula, "qda").fit(rows, labels)
    proba = by_function.fit(rows, labels).predict_proba(rows)
    np.testing.assert_array_equal(proba, by_name.predict_proba(rows))
    assert clone(by_function).verb is discrim.qda
    assert not hasattr(FormulaClassifier(formula, discrim.perceptron), "predict_proba")
    for other, name in ((len, "builtins.len"), (LinearDiscriminantAnalysis, "DiscriminantA"), (np, "module")):
        with pytest.raises(DataError, match=name):
            FormulaClassifier(formula, other).fit(rows, labels)


def test_function_of_another_package_with_the_name_of_a_verb_is_an_error():
    def lda(*args, **options):
        raise AssertionError("It must not be called.")

    rows = COMPLETE.dropna()
    with pytest.raises(DataError, match=__name__):
        FormulaClassifier("species ~ bill_length_mm", lda).fit(rows, CLASSES[rows.index])


def test_options_that_are_not_a_mapping_are_an_error():
    rows = COMPLETE.dropna()
    with pytest.raises(DataError, match="options"):
        FormulaClassifier("species ~ bill_length_mm", "lda", "missing").fit(rows, CLASSES[rows.index])


def test_formula_with_em_uses_incomplete_rows():
    model = FormulaClassifier("species ~ log(bill_length_mm) + body_mass_g", discrim.lda, {"missing": "em"})
    results = discrim.lda(model.formula, MEASURES.assign(species=CLASSES), missing="em")
    model.fit(MEASURES, CLASSES)
    np.testing.assert_allclose(model.predict_proba(MEASURES), results.predict_proba(), rtol=1e-12, atol=0)
    assert cross_val_score(model, MEASURES, CLASSES, cv=3).min() > 0.8
