"""The estimators: scikit-learn's own checks, equality with the verbs, and the tools that take estimators."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import subprocess
import sys
import warnings
from functools import cache

import joblib
import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.covariance import ShrunkCovariance
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import DecisionBoundaryDisplay, permutation_importance
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import discrim
from discrim import sklearn as estimators
from discrim.covariance import MCD, Diagonal, Shrunk, StudentT
from discrim.data.table import Table
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimWarning,
    DroppedColumnsWarning,
    DroppedRowsWarning,
    FallbackWarning,
    FormulaError,
    MissingPredictionWarning,
    NotSupportedError,
    SeparationError,
    SeparationWarning,
)
from discrim.models.base.refits import verb_name
from discrim.models.registry import MODELS
from discrim.models.results.results import ClassifierResults
from discrim.penalty import ElasticNet
from discrim.sklearn import FormulaClassifier, as_estimator
from discrim.sklearn.formulas import VERBS
from tests.support import record_calls

mpl.use("Agg")

IRIS = load_iris()
X = IRIS.drop(columns="species")
Y = IRIS["species"].astype(str)
TWO = (Y != "virginica").to_numpy()

CHECKED = [
    estimators.ChooseClassifier(candidates=("lda", "naive_bayes"), cv=2, calibrate=False, seed=1),
    estimators.FDAClassifier(),
    estimators.HyperplaneClassifier(),
    estimators.IndicatorClassifier(),
    estimators.KNNClassifier(),
    estimators.LDAClassifier(),
    estimators.LogisticClassifier(),
    estimators.KernelDensityClassifier(),
    estimators.MixtureClassifier(1),
    estimators.NaiveBayesClassifier(),
    estimators.NaiveBayesClassifier(missing="available"),
    estimators.NearestCentroidClassifier(),
    estimators.PerceptronClassifier(),
    estimators.PLSClassifier(2, rule="max"),
    estimators.QDAClassifier(),
    estimators.RDAClassifier(),
    estimators.ShrunkenCentroidsClassifier(threshold=0.5),
    estimators.SparseLDAClassifier(n_penalties=2),
]
"""Each estimator; and the one that takes missing values, as it is when it does."""

VARIANTS = [
    estimators.FDAClassifier(Ridge(1e-6)),
    estimators.LDAClassifier(covariance="shrunk"),
    estimators.LDAClassifier(covariance="correlation"),
    estimators.LogisticClassifier(penalty=ElasticNet(strength=0.01)),
    estimators.NaiveBayesClassifier(missing="integrate"),
    estimators.PLSClassifier(),
    estimators.QDAClassifier(covariance="shrunk"),
    estimators.QDAClassifier(covariance="factor"),
    estimators.ShrunkenCentroidsClassifier(),
    estimators.MixtureClassifier(2, covariance="pooled", starts=1, tol=1e-3),
    estimators.SparseLDAClassifier(nonzero=1),
]
"""The same estimators with other options."""

FAST = {"Hyperplane", "KNN", "LDA", "Mixture", "NearestCentroid", "PLS", "QDA"}
"""With naive Bayes of missing values, one estimator of each kind whose checks are among the fast tests."""


def is_fast(estimator):
    name = type(estimator).__name__.removesuffix("Classifier")
    return name in FAST or getattr(estimator, "missing", None) == "available"


def checked(estimator, check):
    if "array_api_input" in str(check) and "SCIPY_ARRAY_API" not in os.environ:
        pytest.skip("below, with the variable that it asks for")
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([each for each in CHECKED if is_fast(each)])
def test_scikit_learn_checks(estimator, check):
    checked(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([each for each in CHECKED if not is_fast(each)])
def test_scikit_learn_checks_of_other_estimators(estimator, check):
    checked(estimator, check)


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_checks_of_other_options(estimator, check):
    checked(estimator, check)


ARRAY_API_CHECKS = """
import pickle, sys
from sklearn.utils.estimator_checks import estimator_checks_generator

n_checks = 0
for each in pickle.load(sys.stdin.buffer):
    for estimator, check in estimator_checks_generator(each):
        if "array_api_input" in str(check):
            check(estimator)
            n_checks += 1
print(n_checks)
"""


@pytest.mark.slow
def test_array_api_checks():
    names = {check.func.__name__ for _, check in estimator_checks_generator(estimators.KNNClassifier())}
    if "check_array_api_input" not in names:
        pytest.skip("scikit-learn 1.6 has no such checks of estimators that do not claim the API")
    # SciPy reads the variable when it is imported, and other tests run without it.
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ARRAY_API_CHECKS],
        input=pickle.dumps(CHECKED + VARIANTS),
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(run.stdout) == len(CHECKED + VARIANTS)


def is_verb(name):
    """Whether a public name is a function of a formula that gives a fitted classifier."""
    made = inspect.signature(getattr(discrim, name)).return_annotation if name.islower() else ""
    kind = getattr(discrim, str(made), None)
    return isinstance(kind, type) and issubclass(kind, ClassifierResults)


def test_every_verb_has_its_estimator():
    found = {name for name in discrim.__all__ if callable(getattr(discrim, name)) and is_verb(name)}
    assert found == set(VERBS) == set(CASES) == set(OPTIONS)
    names = {name.removesuffix("Classifier") for name in estimators.__all__ if name.endswith("Classifier")}
    assert {name.lower() for name in names - {"Choose", "Formula"}} == {
        verb.replace("_", "") for verb in found
    }


GOES_ON = {
    "hyperplane": {"overlap": "raise", "constant": "raise"},
    "indicator": {"collinear": "raise"},
    "knn": {"constant": "raise", "singular": "raise"},
    "lda": {"collinear": "raise", "missing": "raise"},
    "logistic": {"collinear": "raise", "separation": "raise"},
    "kernel_density": {"singular": "raise"},
    "mixture": {"singular": "raise", "missing": "raise"},
    "naive_bayes": {"singular": "raise", "missing": "raise"},
    "perceptron": {"constant": "raise"},
    "location": {"singular": "raise"},
    "plda": {"singular": "raise"},
    "pls": {"few": "raise"},
    "qda": {"singular": "raise", "missing": "raise"},
    "rda": {"singular": "raise"},
    "shrunken_centroids": {"single": "raise"},
    "sparse_lda": {"singular": "raise"},
}
"""Arguments by which a search goes on where the verb refuses, with what makes them as the verb is."""


@pytest.mark.parametrize("verb", VERBS)
def test_parameters_equal_the_verbs(verb):
    own = inspect.signature(CASES[verb][0]).parameters
    verbs = dict(inspect.signature(getattr(discrim, verb)).parameters)
    if "cv" in own:
        # What is folds in a verb has the name that scikit-learn gives it.
        verbs["cv"] = verbs.pop("folds")
    elsewhere = {"formula", "data", "weights", "levels", "na_action", "functions", "moments"}
    # What a formula says after its `|` is an argument where there is no formula.
    in_formula = {"covariates"} if verb == "lda" else set()
    assert set(own) - set(verbs) == (set(GOES_ON.get(verb, {})) - set(verbs)) | in_formula
    assert set(verbs) - set(own) == elsewhere & set(verbs)
    differ = {name for name in own if name in verbs and own[name].default != verbs[name].default}
    found_again = {"seed"} if "seed" in verbs and verb not in ("mixture", "perceptron") else set()
    assert differ == found_again | (set(GOES_ON.get(verb, {})) & set(verbs))
    for name, as_the_verb in GOES_ON.get(verb, {}).items():
        # What the verb leaves out of the fit, and counts, an array is refused for.
        assert name not in verbs or verbs[name].default in (as_the_verb, None)


CASES = {
    "lda": (estimators.LDAClassifier, {"prior": "equal", "method": "mle"}),
    "qda": (estimators.QDAClassifier, {"covariance": Shrunk(0.1)}),
    "rda": (estimators.RDAClassifier, {"alpha": 0.3, "gamma": 0.8}),
    "naive_bayes": (estimators.NaiveBayesClassifier, {"kernel": ["petal_width"]}),
    "shrunken_centroids": (estimators.ShrunkenCentroidsClassifier, {"threshold": 1.0}),
    "sparse_lda": (estimators.SparseLDAClassifier, {"penalty": 0.05}),
    "nearest_centroid": (estimators.NearestCentroidClassifier, {"prior": None}),
    "location": (estimators.LocationClassifier, {"smoothing": 0.2}),
    "plda": (estimators.PLDAClassifier, {"components": 1}),
    "logistic": (estimators.LogisticClassifier, {"reference": "virginica"}),
    "indicator": (estimators.IndicatorClassifier, {}),
    "fda": (estimators.FDAClassifier, {"engine": LinearRegression()}),
    "knn": (estimators.KNNClassifier, {"k": 4}),
    "perceptron": (estimators.PerceptronClassifier, {"seed": 3}),
    "kernel_density": (estimators.KernelDensityClassifier, {"bandwidth": 0.5}),
    "mixture": (
        estimators.MixtureClassifier,
        {"components": 2, "covariance": "pooled", "starts": 1, "tol": 1e-3},
    ),
    "pls": (estimators.PLSClassifier, {"ncomp": 2}),
    "hyperplane": (estimators.HyperplaneClassifier, {}),
    "kernel_lda": (estimators.KernelLDAClassifier, {"kernel": "gaussian", "width": 2.0, "ridge": 0.1}),
}
verbs = pytest.mark.parametrize("verb", CASES)
WITHOUT_POSTERIORS = ("perceptron", "hyperplane", "indicator")
with_weights = pytest.mark.parametrize(
    "verb", [model.verb for model in MODELS if model.estimator and model.weights and not model.name_in_files]
)
ignore_overlap = pytest.mark.filterwarnings(
    "ignore::discrim.errors.NoSeparationWarning", "ignore::discrim.errors.SeparationWarning"
)


def rows_of(verb):
    """Rows that the verb has an answer for."""
    if verb == "hyperplane":
        return X[TWO], Y[TWO]
    return (X[50:], Y[50:]) if verb == "logistic" else (X, Y)


@verbs
@ignore_overlap
def test_an_estimator_is_its_verb(verb):
    make, options = CASES[verb]
    x, y = rows_of(verb)
    model = make(**options).fit(x, y)
    fit = getattr(discrim, verb)("species ~ .", x.assign(species=y), **options)
    assert model.results_.formula == "species ~ ."
    assert model.classes_.tolist() == fit.classes.tolist()
    assert model.feature_names_in_.tolist() == list(x.columns)
    pd.testing.assert_frame_equal(model.results_.glance(), fit.glance(), check_exact=True)
    np.testing.assert_array_equal(model.predict(x), fit.predict())
    assert hasattr(model, "decision_function") == (verb != "knn")
    if verb != "knn":
        np.testing.assert_array_equal(model.decision_function(x), fit.decision_function().to_numpy())
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(x), fit.predict_proba())
        np.testing.assert_array_equal(model.predict_log_proba(x), fit.predict_log_proba())


def scores(model, x):
    return getattr(model, "decision_function" if hasattr(model, "decision_function") else "predict_proba")(x)


@cache
def in_tenths(verb):
    """Options, rows in whole tenths, their labels, and the fit to them as a frame."""
    make, options = CASES[verb]
    options = {} if verb == "naive_bayes" else options
    x, y = rows_of(verb)
    x = (x * 10).round()
    return options, x, y, make(**options).fit(x, y)


FORMS = ["C", "F", "float32", "list", "integers", "polars", "int names"]


@pytest.mark.parametrize(
    ("verb", "form"),
    # Estimators share the code that reads rows: one is fitted to all forms, the others to two forms in turn.
    [
        pytest.param(v, f, marks=() if v == "lda" or (j - 2 * i) % 7 < 2 else pytest.mark.exhaustive)
        for i, v in enumerate(CASES)
        for j, f in enumerate(FORMS)
    ],
)
@ignore_overlap
def test_rows_in_any_form_give_the_same(verb, form):
    options, x, y, expected = in_tenths(verb)
    plain = x.to_numpy()
    forms = {
        "C": np.ascontiguousarray(plain),
        "F": np.asfortranarray(plain),
        "float32": plain.astype(np.float32),
        "list": plain.tolist(),
        "integers": plain.astype(np.uint8),
        "polars": pl.DataFrame(x.to_dict("list")),
        "int names": pd.DataFrame(plain),
    }
    model = CASES[verb][0](**options).fit(forms[form], y.to_list())
    assert hasattr(model, "feature_names_in_") == hasattr(
        StandardScaler().fit(forms[form]), "feature_names_in_"
    )
    np.testing.assert_allclose(scores(model, forms[form]), scores(expected, x), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(forms[form]), expected.predict(x))


def test_an_array_is_not_copied():
    rows, names = X.to_numpy(copy=True), ["x0", "x1", "x2", "x3"]
    with record_calls(discrim.lda) as fits:
        model = estimators.LDAClassifier().fit(rows, Y)
    (fit,) = fits
    assert np.shares_memory(Table(fit["data"]).view(names), rows)
    assert model.results_.terms.tolist() == names


@with_weights
@ignore_overlap
def test_weights_are_repeated_rows(verb):
    make, _ = CASES[verb]
    options = {
        "rda": {"alpha": 0.4, "gamma": 0.7},
        "shrunken_centroids": {"threshold": 1.0},
        "sparse_lda": {"penalty": 0.05},
        "mixture": {"components": 2, "covariance": "pooled", "starts": 1},
        "logistic": {"bias_reduction": True},
        "fda": {"engine": LinearRegression()},
        "kernel_lda": {"kernel": "gaussian", "width": 2.0, "ridge": 0.1},
    }.get(verb, {})
    x, y = rows_of(verb)
    weights = np.arange(len(x)) % 3
    again = np.repeat(x, weights, axis=0) if isinstance(x, np.ndarray) else x.loc[x.index.repeat(weights)]
    times = np.repeat(np.asarray(y), weights)
    models = [make(**options)]
    if verb in ("lda", "logistic", "kernel_lda"):
        models.append(FormulaClassifier("y ~ .", verb=verb, options=options))
    for model in models:
        weighted = clone(model).fit(x, y, sample_weight=weights)
        repeated = clone(model).fit(again, times)
        assert weighted.results_.nobs == weights.sum()
        np.testing.assert_allclose(
            weighted.decision_function(x), repeated.decision_function(x), rtol=1e-7, atol=1e-9
        )
        if verb not in WITHOUT_POSTERIORS:
            np.testing.assert_allclose(
                weighted.predict_proba(x), repeated.predict_proba(x), rtol=1e-7, atol=1e-12
            )


@pytest.mark.parametrize("labels", [[False, True], [7, 3], ["ß", "a b"], [-1, 1], [2.0, 1.0]])
def test_labels_keep_their_kind(labels):
    y = np.array(labels)[TWO[50:].astype(int)]
    model = estimators.QDAClassifier().fit(X[50:], y)
    assert model.classes_.dtype == y.dtype == model.predict(X).dtype
    assert model.classes_.tolist() == sorted(labels)
    assert model.score(X[50:], y) > 0.95


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_rows_are_read_once_per_call(method):
    model = FormulaClassifier("species ~ island + bill_length_mm", unseen="missing")
    penguins = load_penguins().dropna()
    strange = penguins.assign(island=penguins["island"].where(penguins.index > 9, "Mars"))
    model.fit(penguins, penguins["species"])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        getattr(model, method)(strange)
    assert [str(each.message).count("has not seen") for each in said] == [1]


def test_columns_of_a_frame_may_be_categories():
    penguins = load_penguins().dropna()
    x, y = penguins[["bill_length_mm", "island", "sex"]], penguins["species"].astype(str)
    model = estimators.NaiveBayesClassifier(laplace=1).fit(x, y)
    fit = discrim.naive_bayes("species ~ bill_length_mm + island + sex", penguins, laplace=1)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict_proba(x), fit.predict_proba())


def test_lines_have_no_probabilities_and_no_weights():
    for make in (estimators.PerceptronClassifier, estimators.HyperplaneClassifier):
        model = make().fit(X[TWO], Y[TWO])
        assert not hasattr(model, "predict_proba")
        with pytest.raises(TypeError, match="sample_weight"):
            make().fit(X[TWO], Y[TWO], sample_weight=np.ones(100))


def test_missing_values_are_integrated_out_on_request():
    holed = X.mask(np.random.default_rng(3).random(X.shape) < 0.1)
    gone = int(holed.isna().any(axis=1).sum())
    with pytest.raises(DataError) as caught:
        estimators.NaiveBayesClassifier().fit(X, Y).predict(holed)
    assert caught.value.columns == ("sepal_length",)
    assert caught.value.rows == (0,)
    model = estimators.NaiveBayesClassifier(missing="integrate")
    with pytest.warns(DroppedRowsWarning, match=f"{gone} rows have missing values and are left out"):
        model.fit(holed, Y)
    fit = discrim.naive_bayes("species ~ .", holed.assign(species=Y))
    np.testing.assert_array_equal(model.predict_proba(holed), fit.predict_proba(holed))
    nothing = model.predict_proba(holed[:3] * np.nan)
    np.testing.assert_allclose(nothing, np.tile(fit.prior, (3, 1)), rtol=1e-14)
    endless = X.copy()
    endless.iloc[4, 2] = np.inf
    for ask in (lambda: model.predict(endless), lambda: clone(model).fit(endless, Y)):
        with pytest.raises(DataError) as caught:
            ask()
        assert caught.value.columns == ("petal_length",)
        assert caught.value.rows == (4,)
    with pytest.warns(DroppedRowsWarning):
        assert cross_val_score(model, holed, Y, cv=4, error_score="raise").min() > 0.8


def test_transform_is_that_of_the_fit_under_any_output():
    model = estimators.LDAClassifier().fit(X, Y)
    scores = model.results_.transform(X)
    np.testing.assert_array_equal(model.transform(X), scores)
    np.testing.assert_array_equal(estimators.LDAClassifier().fit_transform(X, Y), scores)
    assert model.get_feature_names_out().tolist() == ["LD1", "LD2"]
    pandas = model.set_output(transform="pandas").transform(X)
    pd.testing.assert_frame_equal(pandas, scores, check_names=False)
    assert model.set_output(transform="polars").transform(X).columns == ["LD1", "LD2"]
    with pytest.raises(ValueError, match="not equal to feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c", "d"])


# ---- errors


def test_errors_name_column_row_and_way_out():
    holed = X.copy()
    holed.loc[7, "petal_width"] = np.nan
    model = estimators.NaiveBayesClassifier().fit(X, Y)
    for ask in (lambda: estimators.QDAClassifier().fit(holed, Y), lambda: model.predict(holed)):
        with pytest.raises(DataError) as caught:
            ask()
        assert caught.value.columns == ("petal_width",)
        assert caught.value.rows == (7,)
    with pytest.raises(DataError) as caught:
        estimators.LDAClassifier().fit(holed.to_numpy(), Y)
    assert caught.value.columns == ("x3",)
    assert caught.value.rows == (7,)
    endless = X.to_numpy(copy=True)
    endless[3, 1] = np.inf
    model = estimators.LDAClassifier().fit(X.to_numpy(), Y)
    for ask in (lambda: estimators.LDAClassifier().fit(endless, Y), lambda: model.predict(endless)):
        with pytest.raises(DataError) as caught:
            ask()
        assert caught.value.columns == ("x1",)
        assert caught.value.rows == (3,)


def test_undefined_results_raise():
    with pytest.raises(DataError) as caught:
        estimators.HyperplaneClassifier().fit(X, Y)
    assert "binary" in str(caught.value)
    assert "classification" in str(caught.value)
    with pytest.raises(DataError) as caught:
        estimators.LogisticClassifier().fit(X[:50], Y[:50])
    assert "'setosa'" in str(caught.value)
    with pytest.raises(NotFittedError):
        estimators.LDAClassifier().predict(X)
    made = {"singular": estimators.QDAClassifier, "overlap": estimators.HyperplaneClassifier}
    for name, make in (made | {"constant": estimators.KNNClassifier}).items():
        with pytest.raises(DataError, match=f"{name}='so' is not known"):
            make(**{name: "so"}).fit(X[50:], Y[50:])


TWICE = X.assign(twice=2 * X["petal_width"])
STILL = X.assign(still=np.where(Y == "setosa", 1.0, X["petal_width"]))
WIDE = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 40))).add_prefix("x")
OF_WIDE = np.tile(["a", "b", "c"], 10)
NONE = X.assign(none=1.0)
GONE = "Left out 'none'"
ALIKE = pd.concat([X.iloc[:1].loc[[0] * 50].reset_index(drop=True), X[50:]])
SHRUNK = {"covariance": Shrunk(standardize=True)}


@pytest.mark.parametrize(
    ("verb", "x", "y", "error", "said", "same"),
    [
        ("lda", TWICE, Y, "'twice' is a linear", "Dropped 'twice'", ("lda", X, {})),
        (
            "lda",
            WIDE,
            OF_WIDE,
            "30 observations in 3 classes",
            "with covariance=Shrunk",
            ("lda", WIDE, SHRUNK),
        ),
        (
            "qda",
            STILL,
            Y,
            "'still' is constant in",
            "with covariance=Shrunk",
            ("qda", STILL, SHRUNK),
        ),
        ("qda", ALIKE, Y, "in class 'setosa'", r"lda\(\) with covariance=Shrunk", ("lda", ALIKE, SHRUNK)),
        ("knn", NONE, Y, "'none' is constant", GONE, ("knn", X, {})),
        (
            "perceptron",
            NONE[TWO],
            Y[TWO],
            "'none' is constant",
            "Left out 'none'",
            ("perceptron", X[TWO], {}),
        ),
        (
            "hyperplane",
            NONE[TWO],
            Y[TWO],
            "'none' is constant",
            "Left out 'none'",
            ("hyperplane", X[TWO], {}),
        ),
        ("indicator", TWICE, Y, "'twice' is a linear", "Dropped 'twice'", ("indicator", X, {})),
        ("logistic", TWICE[50:], Y[50:], "'twice' is a linear", "Dropped 'twice'", ("logistic", X[50:], {})),
        (
            "naive_bayes",
            STILL,
            Y,
            "'still' is constant in",
            "with smoothing=1e-9",
            ("naive_bayes", STILL, {"smoothing": 1e-9}),
        ),
        ("hyperplane", X[50:], Y[50:], "No plane has", "the perceptron's plane", ("perceptron", X[50:], {})),
    ],
)
def test_searches_continue_if_the_verb_raises(verb, x, y, error, said, same):
    make = CASES[verb][0]
    with pytest.raises((CollinearError, SeparationError), match=error):
        make(**GOES_ON[verb]).fit(x, y)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = make().fit(x, y)
    assert len(found) == bool(said)
    assert all(issubclass(each.category, DiscrimWarning) for each in found)
    assert all(re.search(said, str(each.message)) for each in found)
    name, columns, options = same
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = getattr(discrim, name)("y ~ .", columns.assign(y=np.asarray(y)), **options)
    assert type(model.results_) is type(fit)
    if verb != "knn":
        np.testing.assert_allclose(model.decision_function(x), fit.decision_function(), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(x), fit.predict())


def test_a_row_that_is_impossible_in_every_class_has_no_label():
    x = pd.DataFrame({"a": list("uuvv"), "b": list("rsrs")})
    x = pd.concat([x, x])
    y = np.where(x["a"] == "u", "first", "second")
    y[x["b"].to_numpy() == "s"] = np.where(x["a"] == "u", "first", "second")[x["b"].to_numpy() == "s"]
    x = x.assign(b=np.where(y == "first", "r", "s"))
    model = estimators.NaiveBayesClassifier().fit(x, y)
    new = pd.DataFrame({"a": ["u"], "b": ["s"]})
    with pytest.warns(MissingPredictionWarning), pytest.raises(DataError, match="laplace=1"):
        model.predict(new)
    assert estimators.NaiveBayesClassifier(laplace=1).fit(x, y).predict(new)[0] in ("first", "second")


# ---- the tools that take estimators


def test_a_grid_search_over_a_pipeline():
    steps = make_pipeline(StandardScaler(), estimators.RDAClassifier(gamma=1.0))
    search = GridSearchCV(steps, {"rdaclassifier__alpha": [0.0, 0.5, 1.0]}, cv=3).fit(X, Y)
    both = [
        cross_val_score(make(), X, Y, cv=3).mean()
        for make in (estimators.LDAClassifier, estimators.QDAClassifier)
    ]
    # Without a ridge the ends of alpha are LDA and QDA, which do not depend on the units of the columns.
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][[0, 2]], both, atol=1e-12)
    assert search.best_score_ >= max(both)


def test_dropping_columns_may_not_suffice():
    with pytest.warns(DiscrimWarning) as said:
        model = estimators.QDAClassifier().fit(STILL.assign(none=1.0), Y)
    assert [each.category for each in said] == [DroppedColumnsWarning, FallbackWarning]
    fit = discrim.qda("y ~ .", STILL.assign(y=Y), **SHRUNK)
    np.testing.assert_array_equal(model.predict_proba(STILL.assign(none=1.0)), fit.predict_proba())


@pytest.mark.filterwarnings(
    "ignore::discrim.errors.FallbackWarning",
    "ignore::discrim.errors.SeparationWarning",
    "ignore::discrim.errors.NoSeparationWarning",
    "ignore::discrim.errors.ConvergenceWarning",
)
@pytest.mark.parametrize(
    "verb",
    # What chooses by default is fitted many times here.
    [pytest.param(v, marks=pytest.mark.slow) if v in ("mixture", "sparse_lda") else v for v in CASES],
)
def test_every_estimator_is_scored_and_calibrated(verb):
    x, y = X[50:], (Y[50:] == "virginica").to_numpy()
    make = CASES[verb][0]
    scores = ["roc_auc", "average_precision", "accuracy"]
    found = cross_validate(make(), x, y, cv=2, scoring=scores, error_score="raise")
    for scoring in scores:
        assert found[f"test_{scoring}"].min() > 0.7
    assert CalibratedClassifierCV(make(), cv=2).fit(x, y).score(x, y) > 0.85


def test_parameters_of_a_covariance_estimator_are_searched():
    model = estimators.LDAClassifier(covariance=ShrunkCovariance())
    search = GridSearchCV(model, {"covariance__shrinkage": [0.0, 0.9]}, cv=3).fit(X, Y)
    assert search.cv_results_["mean_test_score"][0] > search.cv_results_["mean_test_score"][1]


def test_a_projection_in_a_pipeline():
    steps = make_pipeline(estimators.LDAClassifier(), estimators.QDAClassifier()).fit(X, Y)
    scores = discrim.lda("species ~ .", IRIS).transform()
    fit = discrim.qda("species ~ .", scores.assign(species=Y))
    np.testing.assert_allclose(steps.predict_proba(X), fit.predict_proba(), atol=1e-12)


def test_one_against_the_rest_of_two_class_rules():
    apart = X.assign(shifted=pd.factorize(Y)[0] ** 2 * 5.0, other=(Y == "versicolor") * 9.0)
    model = OneVsRestClassifier(estimators.HyperplaneClassifier()).fit(apart, Y)
    assert model.score(apart, Y) == 1


@pytest.mark.parametrize("make", [estimators.QDAClassifier, estimators.PerceptronClassifier])
@ignore_overlap
def test_regions_are_drawn(make):
    plane = X[["petal_length", "petal_width"]]
    model = make().fit(plane, Y)
    shown = DecisionBoundaryDisplay.from_estimator(
        model, plane, grid_resolution=20, response_method="predict"
    )
    at = pd.DataFrame({"petal_length": shown.xx0.ravel(), "petal_width": shown.xx1.ravel()})
    np.testing.assert_array_equal(model.classes_[shown.response.ravel().astype(int)], model.predict(at))


def test_a_fit_survives_pickling_and_cloning(tmp_path):
    model = estimators.LDAClassifier(prior="equal").fit(X, Y)
    joblib.dump(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "results_")


# ---- formulas as estimators

FORMULA = "species ~ log(petal_width) + sepal_length:petal_length + standardize(sepal_width)"
OPTIONS = {
    "lda": [
        {},
        {"covariance": StudentT(None)},
        {"covariance": MCD(0.8)},
        {"covariance": Shrunk("loo", grid=[0.0, 0.6])},
        {"covariance": Diagonal(0.3), "prior": "equal"},
        {"covariance": ShrunkCovariance(shrinkage=0.3), "ncomp": 1},
    ],
    "qda": [{}, {"covariance": StudentT(7, scatter="scale")}, {"covariance": "shrunk"}],
    "rda": [{"alpha": 0.3, "gamma": 0.2, "parametrization": "friedman", "method": "mle"}, {"seed": 4}],
    "naive_bayes": [
        {"kernel": ["log(petal_width)"], "bandwidth": {"log(petal_width)": 0.2}, "laplace": 1},
        {"kernel": True, "bandwidth": "nrd", "method": "mle"},
    ],
    "shrunken_centroids": [{"seed": 1, "offset": 0.1, "prior": [0.2, 0.3, 0.5]}],
    "sparse_lda": [{"nonzero": [2, 1], "prior": [0.2, 0.3, 0.5]}, {"seed": 1, "n_penalties": 2}],
    "nearest_centroid": [{}, {"prior": None}, {"prior": [0.2, 0.3, 0.5]}],
    "location": [{"smoothing": 0.2}, {"grid": [0.1, 0.9], "prior": "equal"}],
    "plda": [{"components": 1}, {"normalize": True, "prior": "equal"}],
    "logistic": [{"reference": "virginica"}, {"bias_reduction": True}],
    "indicator": [{}],
    "fda": [{"engine": LinearRegression(), "ncomp": 1}],
    "knn": [{"k": 5, "metric": "mahalanobis"}, {"prior": [0.2, 0.3, 0.5], "scale": False}],
    "kernel_density": [{"bandwidth": "normal", "kernel": "normal", "metric": "diagonal"}],
    "mixture": [{"components": 2, "covariance": "EEI", "starts": 1}],
    "kernel_lda": [{"kernel": "gaussian", "width": 2.0}],
    "pls": [{"ncomp": 2}, {"seed": 4, "rule": "max", "grid": [1, 2]}],
    "perceptron": [{"seed": 2, "step": 0.5, "maxiter": 7}],
    "hyperplane": [{}],
}


@cache
def fit_formula(verb, position):
    """Return rows, labels, the table of both, the options at a position and the verb's fit to the table."""
    x, y = rows_of(verb)
    data, options = x.assign(species=y), OPTIONS[verb][position]
    return x, y, data, options, getattr(discrim, verb)(FORMULA, data, **options)


@pytest.mark.parametrize(("verb", "position"), [(v, i) for v in OPTIONS for i in range(len(OPTIONS[v]))])
@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@ignore_overlap
def test_a_clone_refits_the_formula_as_it_was_fitted(verb, position):
    x, y, data, options, fit = fit_formula(verb, position)
    model = as_estimator(fit)
    assert verb_name(fit) == verb == model.verb
    np.testing.assert_array_equal(model.predict(data), fit.predict())
    # Other columns and another order do not matter, nor that the response is there or not.
    again = clone(model).fit(x.iloc[:, ::-1].assign(noise=1.0), y)
    assert again.results_ is not fit
    assert model.results_ is fit
    np.testing.assert_allclose(scores(again, x), scores(model, data), rtol=1e-9, atol=1e-9)
    # Components by another rule than that of LDA give labels alone.
    by_rule = options.get("rule", "lda") == "lda"
    assert hasattr(model, "predict_proba") == (verb not in WITHOUT_POSTERIORS and by_rule)


def test_classes_are_sorted_whatever_their_order_in_the_fit():
    order = ["virginica", "setosa", "versicolor"]
    fit = discrim.lda(FORMULA, IRIS, levels=order)
    model = as_estimator(fit)
    assert model.classes_.tolist() == sorted(order)
    np.testing.assert_array_equal(model.predict_proba(IRIS), fit.predict_proba()[sorted(order)])
    np.testing.assert_array_equal(model.predict(IRIS), fit.predict())
    two = discrim.lda(FORMULA, IRIS[50:].astype({"species": str}), levels=["virginica", "versicolor"])
    values = as_estimator(two).decision_function(IRIS)
    np.testing.assert_array_equal(values, -two.decision_function(IRIS))
    np.testing.assert_array_equal(np.where(values > 0, "virginica", "versicolor"), two.predict(IRIS))


def test_a_fit_is_calibrated_displayed_and_its_columns_weighed():
    fit = discrim.qda("species ~ log(petal_width) + petal_length", IRIS)
    model = as_estimator(fit)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X, Y)
    assert calibrated.score(X, Y) > 0.9
    # A column that the formula does not read has no importance.
    found = permutation_importance(model, X, Y, n_repeats=5, random_state=0).importances_mean
    assert found[:2].tolist() == [0, 0]
    assert (found[2:] > 0.05).all()
    plane = X[["petal_length", "petal_width"]]
    shown = DecisionBoundaryDisplay.from_estimator(
        model, plane, grid_resolution=15, eps=0.05, response_method="predict"
    )
    at = pd.DataFrame({"petal_length": shown.xx0.ravel(), "petal_width": shown.xx1.ravel()})
    np.testing.assert_array_equal(model.classes_[shown.response.ravel().astype(int)], fit.predict(at))
    assert cross_val_score(model, IRIS, Y, cv=5).min() > 0.8


def test_a_response_that_is_computed_keeps_its_columns_out_of_the_dot():
    data = X.assign(a=(Y != "setosa").astype(int), b=(Y == "virginica").astype(int))
    fit = discrim.lda("I(a + b) ~ .", data)
    truth = data["a"] + data["b"]
    model = as_estimator(fit)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.score(X, truth) > 0.95
    for again in (clone(model), FormulaClassifier("I(a + b) ~ .")):
        np.testing.assert_allclose(again.fit(data, truth).predict_proba(X), fit.predict_proba(), atol=1e-12)


def test_a_formula_with_a_tilde_in_a_name_and_no_response():
    data = X.rename(columns={"petal_width": "a ~ b"})
    model = FormulaClassifier("~ `a ~ b` + petal_length").fit(data, Y)
    plain = discrim.lda("species ~ petal_width + petal_length", IRIS)
    np.testing.assert_array_equal(model.predict_proba(data), plain.predict_proba())
    with pytest.raises(FormulaError) as caught:
        FormulaClassifier("petal_length").fit(X, Y)
    assert "has no ~" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FormulaClassifier("y ~ x").fit(X.to_numpy(), Y)
    assert "named" in str(caught.value)
    assert "columns" in str(caught.value)
    with pytest.raises(DataError) as caught:
        FormulaClassifier("y ~ petal_length", verb="svm").fit(X, Y)
    assert "verb='svm'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        as_estimator(plain).predict(X.drop(columns="petal_width"))
    assert "'petal_width'" in str(caught.value)


def test_functions_of_the_users_go_into_the_refit():
    fit = discrim.lda("species ~ twice(petal_width) + petal_length", IRIS, functions={"twice": np.square})
    model = as_estimator(fit)
    again = clone(model).fit(X, Y, sample_weight=np.full(150, 2))
    assert again.results_.nobs == 300
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    lines = as_estimator(discrim.hyperplane("species ~ petal_length", X[TWO].assign(species=Y[TWO])))
    with pytest.raises(NotSupportedError) as caught:
        clone(lines).fit(X[TWO], Y[TWO], sample_weight=np.ones(100))
    assert "hyperplane" in str(caught.value)


def test_a_formula_is_searched_over():
    search = GridSearchCV(
        FormulaClassifier("y ~ ."),
        {"formula": ["y ~ sepal_width", "y ~ poly(petal_width, 2) + petal_length"], "verb": ["lda", "qda"]},
        cv=3,
    ).fit(X, Y)
    assert "poly" in search.best_params_["formula"]
    rows = pl.DataFrame(X.to_dict("list"))
    np.testing.assert_array_equal(search.best_estimator_.predict(rows), search.predict(X))


def test_what_cannot_be_wrapped_is_refused(tmp_path):
    with pytest.raises(NotSupportedError) as caught:
        as_estimator({})
    assert "classifier" in str(caught.value)
    assert "dict" in str(caught.value)
    fit = discrim.lda("species ~ .", IRIS, covariance=ShrunkCovariance(shrinkage=0.3))
    fit.save(tmp_path / "fit")
    model = as_estimator(discrim.load(tmp_path / "fit"))
    np.testing.assert_array_equal(model.predict(IRIS), fit.predict())
    with pytest.raises((DataError, NotSupportedError)) as caught:
        clone(model).fit(X, Y)
    assert "shrinkage=0.3" in str(caught.value)


@pytest.mark.parametrize(
    ("verb", "position"),
    [
        pytest.param(v, i, marks=pytest.mark.exhaustive if i else ())
        for v, each in OPTIONS.items()
        for i, o in enumerate(each)
        if v != "fda" and not hasattr(o.get("covariance"), "fit")
    ],
)
@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
@ignore_overlap
def test_a_loaded_fit_is_an_estimator_too(verb, position, tmp_path):
    x, y, data, _, fit = fit_formula(verb, position)
    fit.save(tmp_path / "fit")
    model = as_estimator(discrim.load(tmp_path / "fit"))
    np.testing.assert_array_equal(model.predict(data), fit.predict())
    np.testing.assert_allclose(scores(clone(model).fit(x, y), x), scores(model, x), rtol=1e-9, atol=1e-9)


CONSTANT = X.assign(constant=1.0, sum=X["sepal_width"] + X["petal_width"])
FEW = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 30))).add_prefix("v")


@pytest.mark.parametrize(
    ("name", "table"),
    [
        *[(name, CONSTANT) for name in ("Hyperplane", "Indicator", "KNN", "LDA", "Logistic", "NaiveBayes")],
        *[(name, CONSTANT) for name in ("Perceptron", "QDA")],
        *[(name, FEW) for name in ("Indicator", "LDA", "Logistic", "QDA")],
    ],
)
def test_warnings_are_given_where_fit_was_called(name, table):
    labels = Y if table is CONSTANT else pd.Series(np.repeat(["a", "b"], 6))
    rows = TWO if name == "Hyperplane" else slice(None)
    with pytest.warns(DiscrimWarning) as said:
        getattr(estimators, f"{name}Classifier")().fit(table[rows], labels[rows])
    assert {one.filename for one in said} == {__file__}


def test_separated_classes_are_fitted_with_bias_reduction():
    """Where the search stops rows to come are all but certain of a class; a certificate proves separation."""
    wine = load_wine()
    x, y = wine.drop(columns="cultivar").to_numpy(dtype=float), wine["cultivar"].to_numpy()
    fitted, held = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    with pytest.warns(FallbackWarning):
        reduced = estimators.LogisticClassifier().fit(x[fitted], y[fitted])
    with pytest.warns(SeparationWarning):
        stopped = estimators.LogisticClassifier(separation="warn").fit(x[fitted], y[fitted])
    with pytest.raises(SeparationError) as caught:
        estimators.LogisticClassifier(separation="raise").fit(x[fitted], y[fitted])
    assert "bias_reduction=True" in str(caught.value)
    verb = discrim.logistic("cultivar ~ .", wine[fitted], bias_reduction=True)
    np.testing.assert_allclose(reduced.results_.params, verb.params, rtol=1e-6)

    def loss(estimator):
        logs = estimator.predict_log_proba(x[held])
        return -logs[np.arange(held.sum()), np.searchsorted(estimator.classes_, y[held])].mean()

    assert loss(reduced) < 0.5 * loss(stopped)
