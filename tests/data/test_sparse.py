"""Sparse columns give what dense ones give: numbers, messages, whatever stands where nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim import sklearn as estimators
from discrim.covariance import Shrunk
from discrim.data.sparse import SparseFrame
from discrim.data.table import Table
from discrim.errors import DataError, DiscrimError

N, P = 150, 12


def frames(
    *, fill: float = 0.0, density: float = 0.06, dtype: str = "float64", kind: str = "integer"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same numbers dense and sparse, of three classes."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, N)
    values = rng.poisson(2, (N, P)) + 1.0 + 2 * (y[:, None] == np.arange(P) % 3)
    if dtype == "float64":
        values += 0.3 * rng.random((N, P))
    x = np.where(rng.random((N, P)) < density, values, fill).astype(dtype)
    names = [f"x{j}" for j in range(P)]
    dense = pd.DataFrame(x, columns=names)
    held = [pd.arrays.SparseArray(x[:, j], fill_value=x.dtype.type(fill), kind=kind) for j in range(P)]
    sparse = pd.DataFrame(dict(zip(names, held, strict=True)))
    for frame in (dense, sparse):
        frame["y"] = pd.Categorical.from_codes(y, categories=["a", "b", "c"])
    return dense, sparse


VERBS: dict[str, Callable[..., Any]] = {
    "counts": lambda data, **more: discrim.naive_bayes("y ~ .", data, counts=True, laplace=0.5, **more),
    "never": lambda data, **more: discrim.naive_bayes("y ~ .", data, counts=True, **more),
    "normal": lambda data, **more: discrim.naive_bayes("y ~ .", data, smoothing=1e-3, **more),
    "kernel": lambda data, **more: discrim.naive_bayes(
        "y ~ x0 + x1", data, kernel=True, bandwidth=0.5, **more
    ),
    "centroids": lambda data, **more: discrim.shrunken_centroids("y ~ .", data, threshold=0.3, **more),
    "chosen": lambda data, **more: discrim.shrunken_centroids(
        "y ~ .", data, seed=1, folds=4, grid=[0.1, 0.3], **more
    ),
    "diagonal": lambda data, **more: discrim.lda("y ~ .", data, covariance="diagonal", **more),
    "shrunk": lambda data, **more: discrim.lda("y ~ .", data, covariance="shrunk", **more),
    "standardized": lambda data, **more: discrim.lda(
        "y ~ .", data, covariance=Shrunk(standardize=True), **more
    ),
    "indicator": lambda data, **more: discrim.indicator("y ~ .", data, **more),
    "qda": lambda data, **more: discrim.qda("y ~ .", data, covariance="shrunk", **more),
    "transforms": lambda data, **more: discrim.lda("y ~ x0 + log1p(x2) + center(x3)", data, **more),
    "centroid": lambda data, **more: discrim.nearest_centroid("y ~ .", data, **more),
}


def numbers(fit: Any, data: pd.DataFrame) -> list[np.ndarray]:
    """What a fit says of its rows, of rows left out and of new ones."""
    found = [
        fit.decision_function(),
        fit.decision_function(data[:50]),
        fit.error_rates(["apparent", "loo", "cv"], seed=1)["estimate"],
        fit.leave_one_out().drop(columns="label"),
        *([fit.means] if hasattr(fit, "means") else []),
    ]
    return [np.asarray(each, dtype=np.float64) for each in found]


FEW = ("counts", "centroids", "diagonal", "shrunk", "indicator")
"""Verbs that work on what is stored."""

OPTIONS: dict[str, dict[str, Any]] = {
    "ones": {"fill": 1.0},
    "integers": {"dtype": "int64"},
    "blocks": {"kind": "block"},
    "full": {"density": 0.5},
}


def compare(verb: str, dense: pd.DataFrame, sparse: pd.DataFrame, **more: Any) -> None:
    ours, theirs = (VERBS[verb](data, **more) for data in (sparse, dense))
    for one, other in zip(numbers(ours, sparse), numbers(theirs, dense), strict=True):
        size = np.abs(other[np.isfinite(other)]).max(initial=0.0)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * size)


@pytest.mark.parametrize("verb", VERBS)
def test_sparse_and_dense_columns_give_equal_fits(verb: str) -> None:
    compare(verb, *frames())


@pytest.mark.parametrize("verb", FEW)
def test_weights_weigh_sparse_rows(verb: str) -> None:
    compare(verb, *frames(), weights=np.random.default_rng(0).integers(0, 4, N))


@pytest.mark.parametrize("verb", FEW)
@pytest.mark.parametrize("options", OPTIONS)
def test_fits_do_not_depend_on_the_fill_value(verb: str, options: str) -> None:
    compare(verb, *frames(**OPTIONS[options]))


@pytest.mark.parametrize("verb", FEW)
def test_fill_value_may_be_missing(verb: str) -> None:
    dense, _ = frames()
    dense = dense.mask(np.random.default_rng(1).random(dense.shape) < 0.01).assign(y=dense["y"])
    sparse = dense.astype({name: pd.SparseDtype(float, np.nan) for name in dense.columns[:-1]})
    compare(verb, dense, sparse)
    some = dense.astype({name: pd.SparseDtype(float, 0.0) for name in dense.columns[:-1]})
    compare(verb, dense, some)


def test_large_pooled_scatter_is_a_sparse_product() -> None:
    rng = np.random.default_rng(5)
    x = np.where(rng.random((3000, 90)) < 0.05, rng.poisson(3, (3000, 90)) + 1.0, 0.0)
    dense = pd.DataFrame(x, columns=[f"x{j}" for j in range(90)])
    # Beside the others an offset that no sum of squares would survive.
    dense["year"] = 1e7 + rng.normal(size=3000)
    dense["y"] = rng.integers(0, 4, 3000)
    sparse = dense.astype({f"x{j}": pd.SparseDtype(float, 0.0) for j in range(90)})
    for verb in ("shrunk", "indicator", "diagonal"):
        ours, theirs = (VERBS[verb](data) for data in (sparse, dense))
        np.testing.assert_allclose(
            ours.coef, theirs.coef, rtol=1e-9, atol=1e-12 * np.abs(theirs.coef).to_numpy().max()
        )


def edited(data: pd.DataFrame, row: int, value: float) -> pd.DataFrame:
    """One value of column x3 changed."""
    data, column = data.copy(), data["x3"]
    values = np.array(column, dtype=np.float64)
    values[row] = value
    data["x3"] = pd.Series(values).astype(column.dtype)
    return data


@pytest.mark.parametrize("verb", ["counts", "diagonal", "indicator", "transforms"])
@pytest.mark.parametrize("value", [np.inf, -1.0, np.nan])
def test_sparse_and_dense_columns_have_equal_messages(verb: str, value: float) -> None:
    dense, sparse = (edited(data, 7, value) for data in frames())

    def said(data: pd.DataFrame, na_action: str) -> str:
        try:
            return str(VERBS[verb](data, na_action=na_action).nobs)
        except DiscrimError as error:
            return str(error)

    assert said(sparse, "drop") == said(dense, "drop")
    assert said(sparse, "raise") == said(dense, "raise")


def test_integers_rounded_by_float64_warn() -> None:
    data = pd.DataFrame({"y": list("ab") * 50, "x": [0] * 95 + [2**60 + i for i in range(5)]})
    data["z"] = np.arange(100)
    sparse = data.astype({"x": pd.SparseDtype(np.int64, 0)})
    with pytest.warns(discrim.errors.PrecisionWarning, match="'x'"):
        discrim.lda("y ~ .", sparse)


def test_truth_values_have_tables() -> None:
    rng = np.random.default_rng(0)
    dense = pd.DataFrame(rng.random((300, 12)) < 0.05, columns=list("abcdefghijkl"))
    sparse = dense.astype(pd.SparseDtype(bool, False))
    for frame in (dense, sparse):
        frame["y"] = np.arange(300) % 3
    ours, theirs = (discrim.naive_bayes("y ~ .", data, laplace=1) for data in (sparse, dense))
    assert (ours.predict_proba() == theirs.predict_proba()).to_numpy().all()
    pd.testing.assert_frame_equal(ours.tables["l"], theirs.tables["l"])


ESTIMATORS = [
    estimators.NaiveBayesClassifier(counts=True, laplace=1),
    estimators.ShrunkenCentroidsClassifier(threshold=0.3),
    estimators.IndicatorClassifier(),
    estimators.LDAClassifier(covariance="diagonal"),
    estimators.LDAClassifier(covariance="shrunk"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_take_scipy_matrices(estimator: Any) -> None:
    dense, _ = frames()
    x, y = dense.drop(columns="y").to_numpy(), dense["y"].to_numpy()
    expected = estimator.fit(x, y).decision_function(x)
    half = scipy.sparse.coo_array(x / 2)
    row, column = (np.tile(part, 2) for part in half.coords)
    twice = scipy.sparse.coo_array((np.tile(half.data, 2), (row, column)), shape=x.shape)
    zeros = scipy.sparse.csr_array(x)
    zeros.data[:5] = 0.0
    for given in (scipy.sparse.csr_matrix(x), scipy.sparse.csc_array(x), twice):
        ours = estimator.fit(given, y).decision_function(given)
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    other = estimator.fit(zeros.toarray(), y).decision_function(x)
    np.testing.assert_allclose(estimator.fit(zeros, y).decision_function(x), other, rtol=1e-12, atol=1e-11)
    gone = zeros.copy()
    gone.data[3] = np.nan
    with pytest.raises(DataError) as caught:
        estimator.predict(gone)
    assert caught.value.columns == ("x9",)
    assert caught.value.rows == (4,)


def test_tables_copy_sparse_matrices() -> None:
    dense, _ = frames()
    x, y = scipy.sparse.csr_matrix(dense.drop(columns="y").to_numpy()), dense["y"].to_numpy()
    model = estimators.NaiveBayesClassifier(counts=True, laplace=1).fit(x, y)
    kept = x.copy()
    before = model.predict_proba(kept)
    x.data *= 3
    assert (model.predict_proba(kept) == before).all()


def test_a_frame_of_a_matrix_is_a_table() -> None:
    matrix = scipy.sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]))
    table = Table(SparseFrame(matrix, ["a", "b"]).with_column("y", pd.Categorical(["u", "v", "u"])))
    assert table.names == ("a", "b", "y")
    assert table.column("b").tolist() == [2.0, 0.0, 0.0]
    assert table.column_type("a") == "numeric"
    assert table.column("y").tolist() == ["u", "v", "u"]
    assert table.native("b").tolist() == [2.0, 0.0, 0.0]


def test_multinomial_naive_bayes_equals_scikit_learn() -> None:
    from sklearn.naive_bayes import MultinomialNB

    rng = np.random.default_rng(2)
    x = scipy.sparse.random_array((400, 3000), density=0.01, rng=rng, format="csr")
    x.data = rng.integers(1, 4, x.nnz).astype(np.float64)
    y = rng.integers(0, 4, 400)
    theirs = MultinomialNB(alpha=0.5).fit(x, y)
    ours = estimators.NaiveBayesClassifier(counts=True, laplace=0.5).fit(x, y)
    np.testing.assert_allclose(ours.predict_log_proba(x), theirs.predict_log_proba(x), rtol=1e-10, atol=1e-10)
    table = SparseFrame(x, [f"x{j}" for j in range(3000)]).with_column("y", pd.Categorical(y))
    fit = discrim.naive_bayes("y ~ .", table, counts=True, laplace=0.5)
    left_out = fit.leave_one_out().iloc[:3, 1:].to_numpy()
    for row in range(3):
        others = np.arange(400) != row
        prior = np.bincount(y) / 400
        refit = MultinomialNB(alpha=0.5, class_prior=prior).fit(x[others], y[others])
        np.testing.assert_allclose(left_out[row], refit.predict_proba(x[[row]])[0], rtol=1e-9, atol=1e-12)
