"""The contract of a fitted classifier, asked of every verb and variant on several tables."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import ShrunkCovariance

import discrim
from discrim.covariance import MCD, Diagonal, FactorAnalytic, Shrunk
from discrim.datasets import load_iris, load_penguins
from discrim.models.registry import MODELS
from discrim.subspace import PrincipalComponents, RandomFeatures

VERBS = {
    "lda": (discrim.lda, {}),
    "lda-mle": (discrim.lda, {"method": "mle"}),
    "lda-diagonal": (discrim.lda, {"covariance": "diagonal"}),
    "lda-shrunk": (discrim.lda, {"covariance": "shrunk"}),
    "lda-nonlinear": (discrim.lda, {"covariance": "nonlinear"}),
    "lda-ledoit-wolf": (discrim.lda, {"covariance": Shrunk("ledoit-wolf")}),
    "lda-loo": (discrim.lda, {"covariance": Shrunk("loo", grid=[0.0, 0.1, 0.6])}),
    "lda-strimmer": (discrim.lda, {"covariance": Diagonal("strimmer")}),
    "lda-correlation": (discrim.lda, {"covariance": "correlation"}),
    "lda-estimator": (discrim.lda, {"covariance": ShrunkCovariance()}),
    "lda-spherical": (discrim.lda, {"covariance": "spherical"}),
    "lda-ncomp": (discrim.lda, {"ncomp": 1}),
    "lda-equal": (discrim.lda, {"prior": "equal"}),
    "lda-weights": (discrim.lda, {"weights": "w"}),
    "lda-t": (discrim.lda, {"covariance": "t"}),
    "lda-mcd": (discrim.lda, {"covariance": MCD(0.8)}),
    "lda-axes": (discrim.lda, {"components": PrincipalComponents(2, standardize=True), "weights": "w"}),
    "lda-axes-chosen": (discrim.lda, {"components": "cv"}),
    "qda": (discrim.qda, {}),
    "qda-mle": (discrim.qda, {"method": "mle"}),
    "qda-diagonal": (discrim.qda, {"covariance": "diagonal"}),
    "qda-shrunk": (discrim.qda, {"covariance": "shrunk"}),
    "qda-nonlinear": (discrim.qda, {"covariance": "nonlinear"}),
    "qda-ledoit-wolf": (discrim.qda, {"covariance": Shrunk("ledoit-wolf")}),
    "qda-given": (discrim.qda, {"covariance": Shrunk(0.2)}),
    "qda-loo": (discrim.qda, {"covariance": Diagonal("loo", grid=[0.0, 0.3, 1.0])}),
    "qda-estimator": (discrim.qda, {"covariance": ShrunkCovariance()}),
    "qda-spherical": (discrim.qda, {"covariance": "spherical"}),
    "qda-factor": (discrim.qda, {"covariance": "factor"}),
    "qda-factor-weights": (
        discrim.qda,
        {"covariance": FactorAnalytic(2, form="AkBkQkD"), "weights": "w"},
    ),
    "qda-t": (discrim.qda, {"covariance": "t"}),
    "qda-mcd": (discrim.qda, {"covariance": MCD(0.8)}),
    "qda-axes": (discrim.qda, {"components": 0.8, "covariance": "shrunk"}),
    "qda-ncomp": (discrim.qda, {"ncomp": 2}),
    "qda-weights": (discrim.qda, {"weights": "w"}),
    "naive_bayes": (discrim.naive_bayes, {}),
    "naive_bayes-mle": (discrim.naive_bayes, {"method": "mle"}),
    "naive_bayes-smoothed": (discrim.naive_bayes, {"smoothing": 0.01}),
    "naive_bayes-laplace": (discrim.naive_bayes, {"laplace": 1}),
    "naive_bayes-kernel": (discrim.naive_bayes, {"kernel": True}),
    "naive_bayes-weights": (discrim.naive_bayes, {"weights": "w"}),
    "rda": (discrim.rda, {"alpha": 0.6, "gamma": 0.8}),
    "rda-friedman": (discrim.rda, {"alpha": 0.3, "gamma": 0.1, "parametrization": "friedman"}),
    "rda-axes": (discrim.rda, {"alpha": 0.6, "gamma": 0.8, "components": 2}),
    "rda-weights": (discrim.rda, {"alpha": 0.6, "gamma": 0.8, "weights": "w"}),
    "shrunken_centroids": (discrim.shrunken_centroids, {"threshold": 1.5}),
    "shrunken_centroids-equal": (discrim.shrunken_centroids, {"threshold": 0.0, "prior": "equal"}),
    "shrunken_centroids-weights": (discrim.shrunken_centroids, {"threshold": 1.5, "weights": "w"}),
    "kernel_density": (discrim.kernel_density, {"bandwidth": 0.7}),
    "kernel_density-weights": (
        discrim.kernel_density,
        {"bandwidth": "normal", "covariance": "class", "weights": "w"},
    ),
    "kernel_lda": (discrim.kernel_lda, {"kernel": "gaussian", "width": 2.0, "ridge": 0.1}),
    "kernel_lda-features": (
        discrim.kernel_lda,
        {"kernel": "gaussian", "width": 2.0, "ridge": 0.1, "components": 30, "scale": "none"},
    ),
    "kernel_lda-random": (
        discrim.kernel_lda,
        {"kernel": "gaussian", "width": 2.0, "ridge": 0.1, "components": RandomFeatures(40)},
    ),
    "kernel_lda-weights": (
        discrim.kernel_lda,
        {"kernel": "laplace", "width": 9.0, "ridge": 0.3, "calibrate": False, "weights": "w"},
    ),
    "mixture-VEV": (discrim.mixture, {"components": 1, "covariance": "VEV"}),
    "mixture-weights": (discrim.mixture, {"components": 1, "covariance": "EVI", "weights": "w"}),
    "pls": (discrim.pls, {"ncomp": 3}),
    "pls-weights": (discrim.pls, {"ncomp": 2, "weights": "w"}),
    "sparse_lda": (discrim.sparse_lda, {"penalty": 0.05}),
    "nearest_centroid": (discrim.nearest_centroid, {}),
    "nearest_centroid-proportions": (discrim.nearest_centroid, {"prior": None}),
    "nearest_centroid-weights": (discrim.nearest_centroid, {"weights": "w"}),
    "location": (discrim.location, {"smoothing": 0.1}),
    "location-weights": (discrim.location, {"smoothing": 0.3, "weights": "w"}),
    "plda": (discrim.plda, {}),
    "plda-lengths": (discrim.plda, {"components": 1, "normalize": True, "prior": "equal"}),
    "knn": (discrim.knn, {"k": 5}),
    "knn-chosen": (discrim.knn, {"grid": [2, 4, 9], "prior": "equal"}),
    "knn-mahalanobis": (discrim.knn, {"k": 4, "metric": "mahalanobis"}),
    "logistic": (discrim.logistic, {}),
    "logistic-equal": (discrim.logistic, {"prior": "equal"}),
    "logistic-weights": (discrim.logistic, {"weights": "w"}),
    "logistic-reduced": (discrim.logistic, {"bias_reduction": True}),
}

WITHOUT_LOO = ("lda-ncomp", "logistic-reduced", "lda-mcd", "qda-mcd", "lda-estimator", "qda-estimator")

INTEGRATES = tuple(verb for verb in VERBS if verb.startswith("naive_bayes"))
"""Verbs that predict a row with a missing value from its other columns."""

FREE = ("logistic", "logistic-weights")
"""Their rows left out take their shares of the classes with them."""

DRAWN = ("kernel_lda-features", "kernel_lda-random")
"""What is drawn depends on the numbers of a row in the order of the columns."""

HOLDING = (
    *DRAWN,
    "kernel_lda",
    "kernel_lda-weights",
    "lda-axes-chosen",
    "lda-loo",
    "qda-loo",
    "knn",
    "knn-chosen",
    "knn-mahalanobis",
)
"""What a row helps to choose, or to measure distances by, is held while it is left out; refits would not."""

REFITTED = ("lda-t", "qda-t", "qda-ncomp", "sparse_lda", "plda", "plda-lengths")
"""Leaving a row out is a search a row: one test of it is enough, among the slow ones."""

SLOW = ("lda-mcd", "qda-mcd")
"""A fit is several searches of many starts: fewer refits judge them."""


def simulate_table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    y = np.repeat([3, 1, 2, 8], [30, 25, 40, 20])
    x = rng.standard_normal((len(y), 3)) @ rng.standard_normal((3, 3)) + rng.standard_normal((9, 3))[y] * 2
    frame = pd.DataFrame(x, columns=["a b", "Intercept", "ζ"])
    frame["class"] = y
    return frame.sample(frac=1, random_state=1)


def with_swapped_labels(data: pd.DataFrame, response: str) -> pd.DataFrame:
    """Exchange every eighth label for another, so that no hyperplane separates the classes."""
    classes = data[response].dropna().unique()
    turned = data[response].map(dict(zip(classes, np.roll(classes, 1), strict=True)))
    return data.assign(**{response: data[response].where(np.arange(len(data)) % 8 != 7, turned)})


TABLES = {
    "iris": ("species ~ . - w", with_swapped_labels(load_iris()[::2], "species")),
    "penguins": (
        "species ~ bill_length_mm + bill_depth_mm + I(10 * log(body_mass_g)) + sex",
        with_swapped_labels(load_penguins()[::3], "species"),
    ),
    "synthetic": ("`class` ~ . - w", with_swapped_labels(simulate_table(), "class")),
}


def table(name: str) -> tuple[str, pd.DataFrame]:
    formula, data = TABLES[name]
    return formula, data.assign(w=1.0 + np.arange(len(data)) % 3)


def fitted(verb: str, name: str, data: pd.DataFrame | None = None, formula: str | None = None):
    fit, options = VERBS[verb]
    own, made = table(name)
    return fit(formula or own, data=made if data is None else data, **options)


@cache
def cached_fit(verb: str, name: str):
    """Return one fit for all tests that do not change it."""
    return fitted(verb, name)


def test_every_model_is_covered_by_the_contract():
    asked = {model.verb for model in MODELS if model.posteriors and model.can_be_saved}
    assert {name.partition("-")[0] for name in VERBS} == asked


ONE_OF_EACH_VERB = list({name.partition("-")[0]: name for name in reversed(VERBS)}.values())
"""The first variant of each verb."""

TURNS = [(verb, list(TABLES)[k % len(TABLES)]) for k, verb in enumerate(VERBS)]
"""Each variant on one table by turns: numbers only, factors and missing values, or four classes."""

OF_EACH_VERB = [
    (verb, name)
    for k, verb in enumerate(ONE_OF_EACH_VERB)
    for name in ("iris", ("penguins", "synthetic")[k % 2])
]
"""Each verb on two tables, for what its variants have in common."""

PAIRS = list(dict.fromkeys([*TURNS, *OF_EACH_VERB]))

cases = pytest.mark.parametrize(("verb", "name"), PAIRS)
cases_by_turns = pytest.mark.parametrize(("verb", "name"), TURNS)
cases_of_each_verb = pytest.mark.parametrize(("verb", "name"), OF_EACH_VERB)


def marks_of_refits(verb: str, name: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a case that fits a model many times."""
    if name != "iris":
        return [pytest.mark.slow if verb in ONE_OF_EACH_VERB else pytest.mark.exhaustive]
    return [pytest.mark.slow] * (verb in SLOW)


def cases_of_refits(verbs: Iterable[str]) -> pytest.MarkDecorator:
    """Return cases that fit a model many times: on iris, and in slow or exhaustive tests another table."""
    pairs = [
        (verb, name) for k, verb in enumerate(verbs) for name in ("iris", ("penguins", "synthetic")[k % 2])
    ]
    return pytest.mark.parametrize(
        ("verb", "name"), [pytest.param(*pair, marks=marks_of_refits(*pair)) for pair in pairs]
    )


@cases
def test_posteriors_sum_to_one_and_agree_with_log_posteriors_and_labels(verb, name):
    fit = cached_fit(verb, name)
    proba, logs = fit.predict_proba(), fit.predict_log_proba()
    known = proba.notna().all(axis=1)
    assert known.sum() == len(proba) - (0 if verb in INTEGRATES else fit._fit.dropped)
    np.testing.assert_allclose(proba[known].sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.exp(logs[known]), proba[known], rtol=1e-12, atol=1e-300)
    assert (proba[known].idxmax(axis=1) == fit.predict()[known]).all()
    assert fit.predict()[~known].isna().all()


@cases_by_turns
def test_order_of_rows_does_not_matter(verb, name):
    _, data = table(name)
    fit, shuffled = cached_fit(verb, name), fitted(verb, name, data.sample(frac=1, random_state=3))
    ours, theirs = fit.predict_log_proba(), shuffled.predict_log_proba(data)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert shuffled.predict().index.equals(data.sample(frac=1, random_state=3).index)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in DRAWN])
def test_order_of_columns_does_not_matter(verb):
    _, data = table("iris")
    turned = data[["petal_width", "species", "w", "sepal_length", "petal_length", "sepal_width"]]
    fit, other = cached_fit(verb, "iris"), fitted(verb, "iris", turned)
    np.testing.assert_allclose(fit.predict_log_proba(), other.predict_log_proba(), rtol=1e-9, atol=1e-9)
    assert list(other.terms) == ["petal_width", "sepal_length", "petal_length", "sepal_width"]


@cases_by_turns
def test_pickle_and_file_keep_every_bit(verb, name, tmp_path):
    fit = cached_fit(verb, name)
    _, data = table(name)
    again = pickle.loads(pickle.dumps(fit))
    pd.testing.assert_frame_equal(again.predict_proba(data), fit.predict_proba(data), check_exact=True)
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(data), fit.predict_proba(data), check_exact=True)
    pd.testing.assert_frame_equal(loaded.glance(), fit.glance(), check_exact=True)
    assert "not available" in loaded.summary(["header"]).as_text()
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        loaded.predict()
    assert "data=" in str(caught.value)


@cases_by_turns
def test_twice_is_bitwise_the_same_and_inputs_stay(verb, name):
    _, data = table(name)
    before = data.copy(deep=True)
    one, two = fitted(verb, name, data), cached_fit(verb, name)
    one.leave_one_out() if verb not in WITHOUT_LOO + REFITTED else None
    pd.testing.assert_frame_equal(one.predict_proba(), two.predict_proba(), check_exact=True)
    pd.testing.assert_frame_equal(data, before, check_exact=True)


@cases_by_turns
def test_one_block_equals_many_blocks(verb, name, short_blocks):
    whole = cached_fit(verb, name).predict_log_proba()
    short_blocks()
    parts = fitted(verb, name).predict_log_proba()
    np.testing.assert_allclose(whole, parts, rtol=1e-9, atol=1e-9)


@cases_of_each_verb
def test_a_row_with_a_missing_value_keeps_its_place(verb, name):
    fit = cached_fit(verb, name)
    _, data = table(name)
    new = data.dropna().iloc[:6].copy()
    column = fit._fit.design_rows.design.columns[0]
    new[column] = new[column].astype(object).where(np.arange(6) != 2)
    new[column] = new[column].infer_objects()
    labels, proba = fit.predict(new), fit.predict_proba(new)
    if verb in INTEGRATES:
        assert proba.notna().all(axis=None)
        assert proba.index.equals(new.index)
        return
    assert labels.isna().tolist() == [False, False, True, False, False, False]
    assert proba.isna().all(axis=1).tolist() == labels.isna().tolist()
    complete = data.dropna().iloc[[0, 1, 3, 4, 5]]
    pd.testing.assert_frame_equal(proba.drop(index=new.index[2]), fit.predict_proba(complete))


@pytest.mark.parametrize("verb", ONE_OF_EACH_VERB)
def test_unseen_level_of_a_predictor_is_named(verb):
    fit = cached_fit(verb, "penguins")
    new = table("penguins")[1].head(4).assign(sex="unknown")
    with pytest.raises(discrim.errors.DataError) as caught:
        fit.predict(new)
    assert caught.value.rows == (0,)


@cases_of_each_verb
def test_the_response_may_be_missing_from_new_data(verb, name):
    fit = cached_fit(verb, name)
    _, data = table(name)
    bare = data.drop(columns=fit._fit.design_rows.design.response_columns[0])
    pd.testing.assert_series_equal(fit.predict(bare), fit.predict(data))


@pytest.mark.parametrize("verb", ONE_OF_EACH_VERB)
def test_labels_come_back_on_the_data_s_index(verb):
    fit = cached_fit(verb, "iris")
    for index in (list("aabbcc"), pd.MultiIndex.from_product([[1, 2], ["x", "y", "z"]])):
        new = table("iris")[1].iloc[::13].set_axis(index)
        assert fit.predict(new).index.equals(new.index)
        assert fit.predict_proba(new).index.equals(new.index)


LEFT_OUT = [verb for verb in VERBS if verb not in WITHOUT_LOO + HOLDING]


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        *((verb, ("iris", "synthetic")[k % 2]) for k, verb in enumerate(LEFT_OUT) if verb not in REFITTED),
        *(pytest.param(verb, "iris", marks=pytest.mark.slow) for verb in REFITTED),
    ],
)
def test_leaving_a_row_out_equals_a_refit_without_it(verb, name):
    fit = cached_fit(verb, name)
    formula, data = table(name)
    left = fit.leave_one_out()
    verb_, options = VERBS[verb]
    rng = np.random.default_rng(5)
    for row in rng.choice(len(data), 2, replace=False):
        weights = data["w"].to_numpy().copy() if "weights" in options else np.ones(len(data))
        weights[row] -= 1
        prior = {} if verb in FREE else {"prior": fit.prior}
        refit = verb_(formula, data, **(options | {"weights": weights} | prior))
        expected = refit.predict_proba(data.iloc[[row]]).iloc[0]
        np.testing.assert_allclose(left.iloc[row, 1:].astype(float), expected, rtol=1e-10, atol=1e-13)
        assert left["label"].iloc[row] == refit.predict(data.iloc[[row]]).iloc[0]


@cases_by_turns
def test_confusions_count_every_row_used(verb, name):
    fit = cached_fit(verb, name)
    methods = ["apparent"] if verb in WITHOUT_LOO + REFITTED else ["apparent", "loo"]
    for method in methods:
        counted = fit.confusion(method=method)
        np.testing.assert_allclose(counted.sum(axis=1), fit.counts)
    rates = fit.error_rates(methods)
    assert ((rates["low"] <= rates["estimate"]) & (rates["estimate"] <= rates["high"])).all()


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        (verb, name)
        for verb, (_, options) in VERBS.items()
        if "weights" in options
        for name in ("iris", "synthetic")
    ],
)
def test_weights_equal_repeated_rows(verb, name):
    fit = cached_fit(verb, name)
    formula, data = table(name)
    repeated = data.loc[data.index.repeat(data["w"].astype(int))].reset_index(drop=True)
    options = {key: value for key, value in VERBS[verb][1].items() if key != "weights"}
    other = VERBS[verb][0](formula, repeated, **options)
    np.testing.assert_allclose(
        fit.predict_log_proba(data), other.predict_log_proba(data), rtol=1e-9, atol=1e-9
    )
    pd.testing.assert_frame_equal(fit.glance(), other.glance(), rtol=1e-12)
    np.testing.assert_allclose(fit.confusion(method="loo"), other.confusion(method="loo"))


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize("kind", ["polars", "pyarrow", "Float64", "double[pyarrow]", "float32", "dict"])
def test_every_table_type_gives_the_same_fit(verb, kind):
    formula, data = table("iris")
    numbers = data.columns[:4]
    reference = data
    if kind == "polars":
        other = pytest.importorskip("polars").DataFrame({c: data[c].to_list() for c in data})
    elif kind == "pyarrow":
        other = pytest.importorskip("pyarrow").table({c: data[c].to_list() for c in data})
    elif kind == "dict":
        other = {c: data[c].to_list() for c in data}
    else:
        other = data.astype(dict.fromkeys(numbers, kind))
    if kind == "float32":
        reference = other.astype(dict.fromkeys(numbers, "float64"))
    fit, _ = VERBS[verb]
    ours, theirs = fit(formula, other), fit(formula, reference)
    np.testing.assert_array_equal(ours.predict_log_proba(), theirs.predict_log_proba())
    assert (ours.predict(other).to_numpy() == theirs.predict().to_numpy()).all()


@pytest.mark.parametrize("verb", ["lda", "qda"])
def test_integer_and_boolean_columns_and_classes(verb):
    _, data = table("iris")
    fit, _ = VERBS[verb]
    tenths = data[data.columns[:4]].mul(10).round().astype("int64")
    whole = fit("y ~ .", tenths.assign(y=data["species"].eq("virginica")))
    assert whole.classes.tolist() == [False, True]
    as_float = fit("y ~ .", tenths.astype(float).assign(y=data["species"].eq("virginica")))
    np.testing.assert_array_equal(whole.predict_log_proba(), as_float.predict_log_proba())
    assert whole.predict().dtype == bool
    scores = whole.decision_function()
    assert isinstance(scores, pd.Series)
    assert ((scores > 0) == whole.predict()).all()


@pytest.mark.parametrize("verb", ["lda", "qda"])
@pytest.mark.parametrize(
    "prior",
    [
        [0.2, 0.3, 0.5],
        {"virginica": 0.5, "setosa": 0.2, "versicolor": 0.3},
        pd.Series([0.5, 0.2, 0.3], index=["virginica", "setosa", "versicolor"]),
        np.array([0.2, 0.3, 0.5]),
    ],
    ids=["list", "dict", "series", "array"],
)
def test_every_form_of_prior_shifts_the_log_odds(verb, prior):
    formula, data = table("iris")
    fit, _ = VERBS[verb]
    plain = fit(formula, data)
    given = fit(formula, data, prior=prior)
    pd.testing.assert_frame_equal(given.predict_proba(), plain.predict_proba(prior=prior))
    shift = np.log([0.2, 0.3, 0.5]) - np.log(plain.prior.to_numpy())
    moved = given.predict_log_proba() - plain.predict_log_proba() - shift
    np.testing.assert_allclose(moved.sub(moved.iloc[:, 0], axis=0), 0, atol=1e-9)


def evaluation_options(verb: str) -> dict[str, int]:
    """Return folds and seed of a model for all tests, so that they share refits."""
    return {"folds": 2 if verb in SLOW else 3, "seed": 1}


@cache
def cached_error_rates(verb: str, name: str) -> pd.DataFrame:
    methods = ["apparent", "cv", "posterior", "posterior-stratified"]
    methods += [] if "weights" in VERBS[verb][1] else ["632+"]
    fit, options = cached_fit(verb, name), evaluation_options(verb) | {"replicates": 2, "by_class": True}
    rates = fit.error_rates(methods, **options)
    assert rates.index.tolist() == methods
    if verb in ONE_OF_EACH_VERB:
        pd.testing.assert_frame_equal(rates, fit.error_rates(methods, **options))
    return rates


@cache
def cached_fold_confusion(verb: str, name: str) -> pd.DataFrame:
    return cached_fit(verb, name).confusion(method="cv", **evaluation_options(verb))


@cases_of_refits(VERBS)
def test_folds_bootstrap_and_posteriors_judge_every_verb(verb, name):
    assert cached_error_rates(verb, name)["estimate"].between(0, 1).all()
    counted = cached_fold_confusion(verb, name).sum(axis=1)
    np.testing.assert_allclose(counted, cached_fit(verb, name).counts)


@cache
def folds_from_lda(name: str, count: int) -> pd.Series:
    """Return the folds that cross-validation of another model of the table uses."""
    formula, data = table(name)
    other = discrim.lda(formula.partition("~")[0] + "~ w", data)
    return discrim.cross_validate(other, count, seed=1).folds[1]


@cases_of_refits(ONE_OF_EACH_VERB)
def test_cross_validate_and_error_rates_agree_on_given_folds(verb, name):
    fit, count = cached_fit(verb, name), evaluation_options(verb)["folds"]
    dealt, found = folds_from_lda(name, count), discrim.cross_validate(fit, count, seed=1)
    used = found.folds[1].notna()
    assert used.sum() == len(dealt) - fit._fit.dropped
    assert (found.folds[1][used] == dealt[used]).all()
    pd.testing.assert_frame_equal(found.confusion, cached_fold_confusion(verb, name))
    rates = cached_error_rates(verb, name).loc["cv"]
    names = ["estimate", "se", "low", "high"]
    np.testing.assert_allclose(found.table().loc["error", names].astype(float), rates[names].astype(float))
    assert found.posteriors().notna().all(axis=1).sum() == used.sum()
    assert "Errors by fold" in repr(found)


@cases_of_refits(ONE_OF_EACH_VERB)
def test_a_classification_is_its_confusion(verb, name):
    fit = cached_fit(verb, name)
    by_folds = {"method": "cv"} | evaluation_options(verb)
    for options, counted in (
        ({"method": "apparent"}, fit.confusion()),
        (by_folds, cached_fold_confusion(verb, name)),
    ):
        result = fit.assess(**options).classification()
        pd.testing.assert_frame_equal(result.confusion, counted)
        wrong = result.confusion.to_numpy().sum() - np.trace(result.confusion)
        assert (len(result.misclassified) == wrong) or "weights" in VERBS[verb][1]
        assert result.misclassified["actual"].isin(fit.classes).all()


@cases_of_each_verb
def test_equal_costs_and_expensive_rejection_leave_labels_unchanged(verb, name):
    fit = cached_fit(verb, name)
    k = len(fit.classes)
    pd.testing.assert_series_equal(fit.predict(costs=1 - np.eye(k)), fit.predict())
    pd.testing.assert_series_equal(fit.predict(reject=1.0), fit.predict())
    assert fit.predict(reject=0.0).dropna().isin([*fit.classes, "rejected"]).all()


@cases_of_refits(ONE_OF_EACH_VERB)
def test_intervals_contain_the_posterior(verb, name):
    fit = cached_fit(verb, name)
    _, data = table(name)
    new = data.dropna().iloc[::9]
    methods = ["delta", "bootstrap"] if fit._fit.estimates.has_distances else ["bootstrap"]
    for method in methods:
        bounds = fit.posterior_intervals(new, method=method, replicates=4, seed=0)
        proba = bounds.xs("posterior", axis=1, level=1)
        pd.testing.assert_frame_equal(proba, fit.predict_proba(new), check_names=False)
        low, high = (bounds.xs(side, axis=1, level=1) for side in ("low", "high"))
        assert ((low >= 0) & (low <= high) & (high <= 1)).all(axis=None)
        if method == "delta":
            assert ((low <= proba) & (proba <= high)).all(axis=None)


@cases_by_turns
def test_typicality_is_a_probability_and_selects_the_class(verb, name):
    fit = cached_fit(verb, name)
    if not fit._fit.estimates.has_distances:
        with pytest.raises(discrim.errors.NotSupportedError) as caught:
            fit.typicality()
        assert "typicality" in str(caught.value)
        return
    own = fit.typicality()
    known = own.notna().all(axis=1)
    assert known.sum() == len(own) - fit._fit.dropped
    assert own[known].stack().between(0, 1).all()
    codes = fit._fit.design_rows.codes
    mine = own.to_numpy()[np.arange(len(own)), codes][known]
    assert 0.3 < mine.mean() < 0.7
