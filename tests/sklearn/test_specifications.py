"""Estimators take the specifications of the verbs: as parameters, in searches, in copies and in text."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.covariance import LedoitWolf
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from discrim import covariance, penalty, subspace
from discrim import sklearn as estimators
from discrim.covariance import (
    MCD,
    Diagonal,
    FactorAnalytic,
    Full,
    NonlinearShrinkage,
    PseudoInverse,
    Separable,
    Shrunk,
    ShrunkCorrelation,
    Spherical,
    StudentT,
)
from discrim.datasets import load_iris
from discrim.errors import DataError
from discrim.penalty import ElasticNet, Lasso, Ridge
from discrim.sklearn import LDAClassifier, LogisticClassifier, QDAClassifier, RDAClassifier
from discrim.specification import Specification
from discrim.subspace import MultipleCorrespondence, PrincipalComponents
from tests.sklearn.test_sklearn import CHECKED, VARIANTS

IRIS = load_iris()[::2]
X, Y = IRIS.drop(columns="species"), IRIS["species"].astype(str)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)

SPECIFICATIONS = [
    *[(LDAClassifier, {"covariance": each}) for each in (
        Full(), Diagonal(), Diagonal("strimmer"), Shrunk(), Shrunk(0.1), Shrunk("ledoit-wolf"),
        Shrunk("loo", grid=(0.0, 0.5)), Shrunk(0.2, standardize=True), ShrunkCorrelation(),
        ShrunkCorrelation(0.2, variance_shrinkage=0.1), Spherical(), Spherical(standardize=True),
        NonlinearShrinkage(), NonlinearShrinkage(standardize=True), "nonlinear",
        PseudoInverse(), StudentT(4), StudentT(None, scatter="scale"), MCD(0.75), Separable(2, 2),
        "pooled", "diagonal", "shrunk", "correlation", "spherical", "pinv", "t", "mcd", LedoitWolf(),
    )],
    *[(QDAClassifier, {"covariance": each}) for each in (
        Full(), Diagonal(0.2), Shrunk(0.1), Spherical(), StudentT(7), MCD(0.75), Separable(2, 2),
        FactorAnalytic(1), FactorAnalytic("bic", form="AkjBkQkDk"), "full", "diagonal", "shrunk", "spherical",
        "t", "factor", "nonlinear", NonlinearShrinkage(),
    )],
    *[(make, {"components": each}) for make in (LDAClassifier, QDAClassifier) for each in (
        2, 0.99, "loo", PrincipalComponents(2, standardize=True)
    )],
    *[(LogisticClassifier, {"penalty": each}) for each in (
        Ridge(0.01), Lasso(0.01, seed=2), ElasticNet(0.3, strength=0.01),
        Lasso(grid=(0.01, 0.1), folds=3, select="1se", seed=1),
    )],
    (LDAClassifier, {"components": MultipleCorrespondence(2)}),
    (LDAClassifier, {"covariance": Shrunk(0.1), "components": PrincipalComponents(3)}),
]  # fmt: skip
"""Specifications of every kind, with words, numbers and estimators that stand for one."""

with_specifications = pytest.mark.parametrize(
    ("make", "options"), SPECIFICATIONS, ids=lambda each: getattr(each, "__name__", str(each))
)


def evaluated(text):
    """The object that a text is the code of."""
    names = {name: getattr(module, name) for module in (estimators, covariance, penalty, subspace)
             for name in dir(module) if not name.startswith("_")}  # fmt: skip
    return eval(text, {"LedoitWolf": LedoitWolf, **names})


def same_parameters(left, right):
    """Whether two estimators have equal parameters; estimators within them are compared by their text."""
    pairs = [each.get_params(deep=True) for each in (left, right)]
    values = [{k: str(v) if hasattr(v, "fit") else v for k, v in each.items()} for each in pairs]
    return values[0] == values[1]


@pytest.mark.parametrize(
    ("make", "options"),
    # A covariance that is given as a word is a specification that is in the list as well.
    [each for each in SPECIFICATIONS if not isinstance(each[1].get("covariance"), str)],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_an_estimator_with_a_specification_is_its_verb(make, options):
    model = make(**options).fit(X, Y)
    fit = make.verb("species ~ .", X.assign(species=Y), **options)
    np.testing.assert_array_equal(model.predict_proba(X), fit.predict_proba())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert same_parameters(again, model)


@with_specifications
def test_specifications_are_cloned_and_written_as_code(make, options):
    model = make(**options)
    copies = (clone(model), evaluated(repr(model)), pickle.loads(pickle.dumps(model)))
    assert all(same_parameters(each, model) for each in copies)
    assert make.__name__ in model._repr_html_()
    for name, value in options.items():
        assert getattr(model, name) is value


@with_specifications
def test_parameters_of_specifications_are_nested(make, options):
    model = make(**options)
    deep = model.get_params(deep=True)
    assert model.get_params(deep=False).keys() == {name for name in deep if "__" not in name}
    for name, value in options.items():
        if isinstance(value, Specification):
            nested = {f"{name}__{each.name}": getattr(value, each.name) for each in fields(value)}
            assert nested.items() <= deep.items()
    again = clone(model).set_params(**{name: value for name, value in deep.items() if name not in options})
    assert {k for k, v in again.get_params().items() if k not in options and v != deep[k]} == set()


@pytest.mark.parametrize("model", CHECKED + VARIANTS, ids=str)
def test_every_estimator_is_written_as_code_and_set_again(model):
    copy = clone(model)
    if "FDAClassifier" not in repr(model):
        assert same_parameters(evaluated(repr(model)), model)
    assert same_parameters(type(model)().set_params(**model.get_params(deep=False)), copy)
    assert same_parameters(copy.set_params(**copy.get_params(deep=True)), model)


def test_a_specification_is_replaced_and_not_changed():
    asked = Shrunk("loo", grid=[0.0, 0.5])
    model = LDAClassifier(covariance=asked)
    model.set_params(covariance__grid=[0.1, 0.2], covariance__standardize=True)
    assert model.covariance == replace(asked, grid=(0.1, 0.2), standardize=True)
    assert asked == Shrunk("loo", grid=[0.0, 0.5])
    model.set_params(covariance=Diagonal(), covariance__shrinkage=0.3)
    assert model.covariance == Diagonal(0.3)


def test_a_word_or_number_stands_for_its_specification():
    model = LDAClassifier(covariance="shrunk", components=2)
    assert model.get_params()["covariance__shrinkage"] == "oas"
    assert model.get_params()["components__n"] == 2
    model.set_params(covariance__shrinkage=0.1, components__standardize=True)
    assert model.get_params(deep=False) | {
        "covariance": Shrunk(0.1), "components": PrincipalComponents(2, standardize=True)
    } == model.get_params(deep=False)  # fmt: skip
    assert model.covariance == Shrunk(0.1)
    assert QDAClassifier(covariance="factor").set_params(covariance__dimensions=1).covariance == (
        FactorAnalytic(1)
    )


def test_a_choice_of_the_strength_is_the_same_at_each_fit():
    chosen = Ridge(grid=(0.01, 0.1), folds=3)
    first, again, other = (
        LogisticClassifier(penalty=each).fit(X, Y).results_.path
        for each in (chosen, replace(chosen, seed=0), replace(chosen, seed=1))
    )
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert not first.equals(other)


@pytest.mark.parametrize("nested", ["covariance__nu", "components__n", "prior__x", "other", "other__x"])
def test_an_unknown_parameter_is_a_value_error_that_names_it(nested):
    model = LDAClassifier(covariance=Shrunk(0.1))
    with pytest.raises(ValueError, match=r"Invalid parameter '(nu|n|x|other)'.*Valid parameters are"):
        model.set_params(**{nested: 1})
    assert model.covariance == Shrunk(0.1)


def test_an_invalid_value_is_refused_when_it_is_set():
    with pytest.raises(DataError) as caught:
        LDAClassifier(covariance="shrunk").set_params(covariance__shrinkage=2)
    assert "shrinkage=2" in str(caught.value)
    with pytest.raises(DataError) as caught:
        clone(LDAClassifier(covariance="shrnk")).fit(X, Y)
    assert "covariance='shrnk'" in str(caught.value)
    assert "'shrunk'" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "old", "new"),
    [
        (LDAClassifier, {"shrinkage": 0.1}, "covariance=discrim.covariance.Shrunk(0.1)"),
        (LDAClassifier, {"method": "t", "nu": 5}, "covariance=discrim.covariance.StudentT(nu=5)"),
        (QDAClassifier, {"dimensions": 1}, "covariance=discrim.covariance.FactorAnalytic(dimensions=1)"),
        (LogisticClassifier, {"penalty": "lasso", "strength": 0.1}, "discrim.penalty.Lasso("),
        (LogisticClassifier, {"penalty": "lasso", "cv": 5}, "discrim.penalty.Lasso(folds=5)"),
        (RDAClassifier, {"folds": 3}, "use cv="),
    ],
)
def test_an_old_keyword_is_a_type_error_with_the_new_spelling(make, old, new):
    with pytest.raises(TypeError, match=f"{make.__name__}.. has no keyword") as refused:
        make(**old)
    assert new in str(refused.value)


def mean_accuracy(verb, **options):
    """Mean accuracy over the folds, of fits by the verb."""
    scores = []
    for train, test in FOLDS.split(X, Y):
        fit = verb("species ~ .", X.iloc[train].assign(species=Y.iloc[train]), **options)
        scores.append((fit.predict(X.iloc[test]).to_numpy() == Y.iloc[test].to_numpy()).mean())
    return np.mean(scores)


@pytest.mark.parametrize(
    ("model", "grid", "options"),
    [
        (
            LDAClassifier(),
            {"covariance": [Shrunk(0.1), Shrunk(0.5), "diagonal"]},
            [{"covariance": Shrunk(0.1)}, {"covariance": Shrunk(0.5)}, {"covariance": Diagonal()}],
        ),
        (
            LDAClassifier(covariance="shrunk"),
            {"covariance__shrinkage": [0.1, 0.9]},
            [{"covariance": Shrunk(0.1)}, {"covariance": Shrunk(0.9)}],
        ),
        (
            QDAClassifier(covariance=LedoitWolf(), components=1),
            {"components__n": [1, 3], "covariance": [Full()]},
            [{"components": 1}, {"components": 3}],
        ),
        (
            LogisticClassifier(penalty="ridge"),
            {"penalty__strength": [0.001, 10.0]},
            [{"penalty": Ridge(0.001)}, {"penalty": Ridge(10.0)}],
        ),
    ],
)
def test_a_search_scores_as_fits_of_the_verb_in_the_same_folds(model, grid, options):
    search = GridSearchCV(model, grid, cv=FOLDS, error_score="raise").fit(X, Y)
    expected = [mean_accuracy(model.verb, **each) for each in options]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-14)
    assert search.best_score_ == pytest.approx(max(expected), rel=1e-14)
    best = model.verb("species ~ .", X.assign(species=Y), **options[int(np.argmax(expected))])
    np.testing.assert_array_equal(search.predict(X), best.predict())
