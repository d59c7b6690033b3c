"""partial_fit: batches of rows add up to the fit of all of them."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from discrim.covariance import Shrunk, ShrunkCorrelation
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedRowsWarning,
    FallbackWarning,
    NotSupportedError,
)
from discrim.sklearn import (
    LDAClassifier,
    NaiveBayesClassifier,
    NearestCentroidClassifier,
    QDAClassifier,
    RDAClassifier,
    ShrunkenCentroidsClassifier,
)

IRIS = load_iris().sample(frac=1, random_state=2).reset_index(drop=True)
X, Y = IRIS.drop(columns="species"), IRIS["species"].astype(str).to_numpy()
CLASSES = np.unique(Y)
LAST = Y == "virginica"
WEIGHTS = np.random.default_rng(0).integers(0, 4, 150).astype(float)
BATCHES = [slice(0, 20), slice(20, 21), slice(21, 150)]
MODELS = [
    LDAClassifier(),
    LDAClassifier(prior=[0.2, 0.3, 0.5], method="mle", ncomp=1),
    LDAClassifier(covariance="diagonal"),
    LDAClassifier(covariance="shrunk"),
    LDAClassifier(covariance=Shrunk(0.3, standardize=True)),
    LDAClassifier(covariance=ShrunkCorrelation(0.3, variance_shrinkage=0.1)),
    QDAClassifier(),
    QDAClassifier(covariance="diagonal", method="mle"),
    NaiveBayesClassifier(),
    NaiveBayesClassifier(smoothing=1e-9, prior="equal"),
    NaiveBayesClassifier(counts=True, laplace=1),
    NearestCentroidClassifier(),
    ShrunkenCentroidsClassifier(threshold=2.0, prior="equal"),
    RDAClassifier(alpha=0.4, gamma=0.8),
]
# What is fitted of few rows in the place of what was asked for is said of both.
pytestmark = pytest.mark.filterwarnings("ignore::discrim.errors.FallbackWarning")


def same(ours, theirs, x, rtol=1e-12):
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))
    np.testing.assert_allclose(
        ours.predict_log_proba(x), theirs.predict_log_proba(x), rtol=rtol, atol=rtol * 10
    )
    np.testing.assert_allclose(
        ours.decision_function(x), theirs.decision_function(x), rtol=rtol * 10, atol=1e-10
    )


@pytest.mark.parametrize(
    ("model", "kind", "weights"),
    # The first model with all pairs of a table and weights, the others with one pair in turn.
    [
        pytest.param(
            model,
            kind,
            weights,
            id=f"{model}-{kind.__name__}-{'rows' if weights is None else 'weights'}",
            marks=() if k == 0 or k % 4 == position else pytest.mark.exhaustive,
        )
        for k, model in enumerate(MODELS)
        for position, (kind, weights) in enumerate(product((np.asarray, pd.DataFrame), (None, WEIGHTS)))
    ],
)
def test_each_batch_equals_a_fit_to_all_rows_so_far(model, kind, weights):
    grown, x = clone(model), kind(X)
    for batch in BATCHES:
        own = None if weights is None else weights[batch]
        grown.partial_fit(
            x[batch], Y[batch], classes=CLASSES if batch.start == 0 else None, sample_weight=own
        )
        so_far = slice(0, batch.stop)
        at_once = clone(model).fit(
            x[so_far], Y[so_far], sample_weight=None if weights is None else weights[so_far]
        )
        same(grown, at_once, x)
        # QR and Cholesky of the same scatter.
        assert grown.results_.nobs == at_once.results_.nobs
    again = pickle.loads(pickle.dumps(grown))
    same(again, grown, x, rtol=1e-15)
    assert clone(grown).get_params() == model.get_params()
    assert not hasattr(clone(grown), "moments_")


@pytest.mark.parametrize("model", [LDAClassifier(), QDAClassifier(), NaiveBayesClassifier()], ids=repr)
def test_batches_of_some_of_the_classes(model):
    order = np.argsort(Y, kind="stable")
    x, y = X.to_numpy()[order], Y[order]
    grown = clone(model).partial_fit(x[:50], y[:50], CLASSES[::-1])
    assert grown.classes_.tolist() == CLASSES.tolist()
    for ask in (grown.predict, grown.predict_proba, grown.decision_function):
        with pytest.raises(DataError) as caught:
            ask(x)
        assert "'setosa'" in str(caught.value)
    grown.partial_fit(x[50:100], y[50:100])
    two = clone(model).fit(x[:100], y[:100])
    np.testing.assert_array_equal(grown.predict(x), two.predict(x))
    proba = grown.predict_proba(x)
    assert proba.shape == (150, 3)
    assert not proba[:, 2].any()
    np.testing.assert_allclose(proba[:, :2], two.predict_proba(x), atol=1e-13)
    assert np.isneginf(grown.decision_function(x)[:, 2]).all()
    assert np.isneginf(grown.predict_log_proba(x)[:, 2]).all()
    same(grown.partial_fit(x[100:], y[100:]), clone(model).fit(x, y), x)


@pytest.mark.parametrize("model", [MODELS[0], MODELS[6], MODELS[8], *MODELS[-3:]], ids=repr)
@pytest.mark.parametrize("begins_with_fit", [False, True])
def test_unlisted_classes_are_added_as_they_occur(model, begins_with_fit):
    # In the order of the classes the one that is new stands between the others.
    new, x = Y == "versicolor", X.to_numpy()
    grown = clone(model)
    (grown.fit if begins_with_fit else grown.partial_fit)(x[~new], Y[~new])
    same(grown.partial_fit(x[new], Y[new]), clone(model).fit(x, Y), x, rtol=1e-11)
    assert grown.classes_.tolist() == CLASSES.tolist()
    named = clone(model).partial_fit(x[~new], Y[~new], np.unique(Y[~new]))
    same(named.partial_fit(x[new], Y[new], ["versicolor"]), grown, x)


def test_one_class_alone_is_no_fit_yet():
    x, y = X.to_numpy()[np.argsort(Y)], np.repeat([3, 1, 2], 50)
    model = LDAClassifier().partial_fit(x[:50], y[:50])
    with pytest.raises(DataError) as caught:
        model.predict(x)
    assert "only 3 has rows" in str(caught.value)
    for start in (50, 100):
        model.partial_fit(x[start : start + 50], y[start : start + 50])
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.predict(x).dtype == y.dtype
    same(model, LDAClassifier().fit(x, y), x)


def test_a_prior_of_classes_to_come_is_that_of_the_classes_there():
    order = np.argsort(Y, kind="stable")
    model = LDAClassifier(prior={"setosa": 0.1, "versicolor": 0.3, "virginica": 0.6})
    model.partial_fit(X.iloc[order[:100]], Y[order[:100]], CLASSES)
    assert model.results_.prior.round(12).tolist() == [0.25, 0.75]
    model.partial_fit(X.iloc[order[100:]], Y[order[100:]])
    assert model.results_.prior.tolist() == [0.1, 0.3, 0.6]


def test_classes_without_rows_are_no_warning_and_labels_keep_their_kind():
    y = np.unique(Y, return_inverse=True)[1] * 7 - 7
    model = QDAClassifier().partial_fit(X[y < 7], y[y < 7], classes=[7, 0, -7])
    assert model.predict(X).dtype == y.dtype
    assert set(model.predict(X)) == {-7, 0}


def test_fit_restarts_and_partial_fit_continues():
    model = LDAClassifier().partial_fit(X[:60], Y[:60], CLASSES)
    model.fit(X[60:120], Y[60:120])
    assert not hasattr(model, "moments_")
    same(model, LDAClassifier().fit(X[60:120], Y[60:120]), X)
    weighted = LDAClassifier().fit(X[60:120], Y[60:120], WEIGHTS[60:120])
    same(model.partial_fit(X[120:], Y[120:]), LDAClassifier().fit(X[60:], Y[60:]), X)
    weighted.partial_fit(X[120:], Y[120:])
    ones = np.r_[WEIGHTS[60:120], np.ones(30)]
    same(weighted, LDAClassifier().fit(X[60:], Y[60:], ones), X)


@pytest.mark.parametrize("width", [4, 60])
@pytest.mark.parametrize("model", [LDAClassifier(), QDAClassifier(), NaiveBayesClassifier()], ids=repr)
def test_partial_fit_continues_a_fit_to_many_rows(model, width):
    # So many that the moments of the wider table hold no roots of its rows.
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(9_000, width)) + 3, np.tile(CLASSES, 3_000)
    x[:, 0] += np.arange(9_000) % 3
    grown = clone(model).fit(x[:8_000], y[:8_000])
    assert not grown.results_._fit.has_rows
    same(grown.partial_fit(x[8_000:], y[8_000:]), clone(model).fit(x, y), x, rtol=1e-10)
    assert grown.moments_.nobs == 9_000


def test_it_is_the_convention_of_scikit_learn():
    ours, theirs = NaiveBayesClassifier(method="mle"), GaussianNB(var_smoothing=0)
    for batch in BATCHES:
        for model in (ours, theirs):
            model.partial_fit(X[batch].to_numpy(), Y[batch], classes=CLASSES)
    np.testing.assert_allclose(
        ours.predict_log_proba(X.to_numpy()), theirs.predict_log_proba(X.to_numpy()), rtol=1e-9, atol=1e-14
    )


def test_categories_by_dtype_and_counts_of_their_levels():
    penguins = load_penguins().dropna().sample(frac=1, random_state=1).astype({"island": "category"})
    x, y = penguins[["bill_length_mm", "island"]], penguins["species"].astype(str).to_numpy()
    model = NaiveBayesClassifier(laplace=1)
    for start in range(0, len(x), 100):
        model.partial_fit(x[start : start + 100], y[start : start + 100], np.unique(y))
    same(model, NaiveBayesClassifier(laplace=1).fit(x, y), x)


def test_missing_values_are_refused_or_integrated_out():
    holed = X.mask(np.random.default_rng(3).random(X.shape) < 0.05)
    with pytest.raises(DataError) as caught:
        NaiveBayesClassifier().partial_fit(holed, Y, CLASSES)
    assert caught.value.columns == ("sepal_length",)
    assert caught.value.rows == (5,)
    model = NaiveBayesClassifier(missing="integrate").partial_fit(holed[:70], Y[:70], CLASSES)
    model.partial_fit(holed[70:], Y[70:])
    with pytest.warns(DroppedRowsWarning):
        same(model, NaiveBayesClassifier(missing="integrate").fit(holed, Y), holed)


def test_few_rows_are_fitted_as_fit_does_or_not_yet():
    with pytest.warns(FallbackWarning):
        shrunk = LDAClassifier().partial_fit(X[:5], Y[:5], CLASSES)
    assert shrunk.results_._fit.estimates.covariance_model.name == "shrunk"
    strict = LDAClassifier(collinear="raise").partial_fit(X[:5], Y[:5], CLASSES)
    with pytest.raises(DataError) as caught:
        strict.predict(X)
    assert "partial_fit" in str(caught.value)
    strict.partial_fit(X, Y)
    assert strict.predict(X).shape == (150,)
    with pytest.warns(FallbackWarning):
        NaiveBayesClassifier().partial_fit(
            X[:60].assign(petal_width=1.0 + (Y[:60] == "setosa")), Y[:60], CLASSES
        )
    with pytest.raises(CollinearError):
        LDAClassifier(collinear="raise").fit(X[:5], Y[:5])


REFUSED = [
    (lambda m: m.partial_fit(X, Y, ["setosa"]), r"classes=\['setosa'\]: a classifier requires"),
    (lambda m: m.partial_fit(X, Y, ["setosa", "rosa"]), "y has '.*' at row .*, which is not among the cl"),
    (lambda m: m.partial_fit(X, Y[:9], CLASSES), "inconsistent numbers of samples"),
    (lambda m: m.partial_fit(X, None, CLASSES), "requires y to be passed"),
    (lambda m: m.partial_fit(X, Y, CLASSES, sample_weight=-WEIGHTS - 1), "weights are negative"),
    (lambda m: m.partial_fit(X * np.nan, Y, CLASSES), "is missing"),
    (lambda m: m.partial_fit(X, Y, CLASSES).partial_fit(X, Y + "s"), "not among the classes.*or of this one"),
    (lambda m: m.partial_fit(X, Y).partial_fit(X, np.arange(150)), "some are text. Convert them"),
    (lambda m: m.partial_fit(X, Y, CLASSES).partial_fit(X.iloc[:, :2], Y), "feature names should match"),
    (lambda m: m.set_params(prior=[0.5, 0.6, 0.7]).partial_fit(X, Y, CLASSES), "prior"),
    (lambda m: m.set_params(prior=[0.5, 0.5]).partial_fit(X[LAST], Y[LAST]).partial_fit(X, Y), "for 3"),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "said"), REFUSED)
def test_rejected_batches_are_not_added(ask, said):
    with pytest.raises(ValueError, match=said):
        ask(LDAClassifier())
    model = LDAClassifier().partial_fit(X[:100], Y[:100], CLASSES)
    before = model.predict_proba(X)
    with pytest.raises(DataError):
        model.partial_fit(X[:50].assign(petal_width=np.inf), Y[:50])
    assert model.moments_.nobs == 100
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize(
    "model",
    [
        LDAClassifier(covariance="t"),
        LDAClassifier(covariance=Shrunk("loo")),
        LDAClassifier(covariance=ShrunkCorrelation(0.3)),
        QDAClassifier(covariance="mcd"),
        NaiveBayesClassifier(kernel=True),
    ],
    ids=repr,
)
def test_options_that_need_rows_have_no_partial_fit(model):
    assert not hasattr(model, "partial_fit")
    with pytest.raises(NotSupportedError) as caught:
        LDAClassifier().partial_fit(X, Y, CLASSES).set_params(covariance="t")._required_scatter_type()
    assert "options" in str(caught.value)
    assert "these" in str(caught.value)
