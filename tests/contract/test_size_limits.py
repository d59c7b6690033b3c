"""Options and tables that exceed any machine raise before work begins, or are fitted."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from discrim import lda, logistic, mixture, perceptron, sparse_lda
from discrim.core.regression.penalized import fit_at_strength
from discrim.core.regression.proximal_newton import Likelihood
from discrim.datasets import load_iris
from discrim.errors import DataError, UninformativeFitWarning
from discrim.penalty import Ridge


def many_classes(count: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=(count, 5)) * 5, 3, axis=0) + rng.normal(size=(3 * count, 5))
    data = pd.DataFrame(x, columns=list("abcde"))
    return data.assign(y=[f"c{i:05d}" for i in np.repeat(np.arange(count), 3)])


@pytest.mark.parametrize(
    ("fit", "size"),
    [
        (lambda data: logistic("y ~ .", data), "17,994 coefficients"),
        (lambda data: logistic("y ~ .", data, bias_reduction=True), "17,994 coefficients"),
        (lambda data: logistic("y ~ .", data, penalty=Ridge(0.1)), "18,000 coefficients"),
        (lambda data: logistic("y ~ .", data, penalty="ridge"), "18,000 coefficients"),
        (lambda data: perceptron("y ~ .", data), "3,000 classes"),
    ],
)
def test_three_thousand_classes_raise_with_their_number(fit, size):
    data = many_classes(3000)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=size) as refused:
            fit(data)
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
    assert "lda()" in str(refused.value)


def test_a_choice_of_components_has_a_limit():
    with pytest.raises(DataError) as caught:
        mixture("species ~ .", load_iris(), most=10**9)
    assert "most=1000000000" in str(caught.value)


# ------------------------------------------------------------------ few rows, many columns


def few_rows(p: int, classes: int) -> Likelihood:
    rng = np.random.default_rng(p)
    z = rng.normal(size=(p, 50))
    z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)
    return Likelihood(np.vstack([np.ones(50), z]), np.arange(50) % classes, np.full(50, 1 / 50), classes)


@pytest.mark.parametrize("classes", [2, 3])
def test_lasso_allocates_no_p_by_p_matrix(classes):
    """Karush, Kuhn and Tucker's conditions hold, in the memory of the rows times the columns."""
    model, strength = few_rows(20_000, classes), 0.05
    tracemalloc.start()
    try:
        ended = fit_at_strength(model, 1.0, strength, tol=1e-8, maxiter=100)
        # A matrix of the columns that violate their conditions at first would have 2,500 squared numbers.
        assert tracemalloc.get_traced_memory()[1] < 3 * model.z.nbytes
    finally:
        tracemalloc.stop()
    assert ended.converged
    eta = ended.beta @ model.z
    if classes == 2:
        eta = np.vstack([0 * eta, eta])
    shares = np.exp(eta - eta.max(axis=0))
    shares /= shares.sum(axis=0)
    slopes = (shares - (model.codes == np.arange(classes)[:, None])) @ model.z.T / 50
    slopes = slopes[1:] if classes == 2 else slopes
    beta = ended.beta[:, 1:]
    assert np.abs(slopes[:, 1:]).max() <= strength * (1 + 1e-6)
    np.testing.assert_allclose(slopes[:, 1:][beta != 0], -strength * np.sign(beta[beta != 0]), rtol=1e-6)
    assert 0 < np.count_nonzero(beta) <= 50 * classes


# ------------------------------------------------------------------ sparse directions without a penalty


@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
def test_sparse_directions_of_near_collinear_columns_agree_with_lda(gap):
    data = load_iris()
    data["again"] = data["sepal_width"] + gap * np.random.default_rng(8).normal(size=len(data))
    fit = sparse_lda("species ~ .", data, penalty=0)
    assert fit._fit.estimates.coef.shape[1] == 2
    # What is lost is the rounding of the columns, in units of what tells them apart.
    away = np.abs(fit.predict_proba() - lda("species ~ .", data).predict_proba()).max(axis=None)
    assert away < 1e-15 / gap * 10


@pytest.mark.parametrize("penalty", [0, 0.1])
def test_directions_do_not_depend_on_the_size_of_a_large_ridge(penalty):
    """By a large ridge the direction is that of the class means, whatever the ridge."""
    found = [sparse_lda("species ~ .", load_iris(), penalty=penalty, ridge=r) for r in (1e10, 1e50, 1e100)]
    for other in found[1:]:
        np.testing.assert_allclose(other.predict_proba(), found[0].predict_proba(), atol=1e-7)
        assert " nan" not in other.summary().as_text()
    with pytest.raises(DataError) as caught:
        sparse_lda("species ~ .", load_iris(), penalty=penalty, ridge=1e308)
    assert "ridge=1e" in str(caught.value)


def test_columns_with_equal_means_are_named_without_a_penalty():
    x = np.tile([-1.0, 1.0], 20)
    data = pd.DataFrame({"y": np.repeat(["a", "b"], 20), "x": x})
    with pytest.warns(UninformativeFitWarning):
        sparse_lda("y ~ x", data, penalty=0)
