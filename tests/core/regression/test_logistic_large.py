"""Logistic fits of many rows, whose search begins with a part of them: identities, orders, weights."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

from discrim import logistic
from discrim.core.regression.logistic import MIN_ROWS_PER_COEFFICIENT, SUBSAMPLE_STRIDE
from discrim.core.regression.newton import Information, QuadraticForms
from discrim.errors import DataError, SeparationError


def table(n: int, p: int, n_classes: int, seed: int = 0) -> pd.DataFrame:
    """Classes in turn, so that each sixteenth row may be of one class; every other column is skewed."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    x = rng.standard_normal((n, p)) + 0.4 * rng.standard_normal((n_classes, p))[codes]
    x[:, ::2] = np.exp(0.5 * x[:, ::2])
    return pd.DataFrame(x).add_prefix("x").assign(y=codes)


def information_of(frame: pd.DataFrame, params: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, float]:
    """Score, information and log-likelihood by the formulas, class by class, of integer classes from zero."""
    x = np.column_stack([np.ones(len(frame)), frame[params.index[1:]].to_numpy()])
    codes, q = frame["y"].to_numpy(), params.shape[1]
    logs = log_softmax(np.column_stack([np.zeros(len(x)), x @ params.to_numpy()]), axis=1)
    shares = np.exp(logs[:, 1:])
    score = ((codes[:, None] == np.arange(1, q + 1)) - shares).T @ x
    weights = -shares[:, :, None] * shares[:, None, :]
    weights[:, np.arange(q), np.arange(q)] += shares
    information = np.einsum("nab,ni,nj->aibj", weights, x, x, optimize=True)
    return score.ravel(), information.reshape(score.size, -1), logs[np.arange(len(x)), codes].sum()


@pytest.mark.parametrize(("n", "p", "n_classes"), [(12_000, 6, 4), (20_000, 5, 2), (9_000, 3, 8)])
def test_large_fit_reaches_the_unique_maximum(n, p, n_classes):
    frame = table(n, p, n_classes)
    assert n >= SUBSAMPLE_STRIDE * MIN_ROWS_PER_COEFFICIENT * (p + 1) * (n_classes - 1)
    fit = logistic("y ~ .", frame)
    score, information, llf = information_of(frame, fit.params)
    covariance = np.linalg.inv(information)
    assert np.sqrt(score @ covariance @ score) <= 1e-9
    assert fit.llf == pytest.approx(llf, rel=1e-13)
    errors = np.sqrt(np.diag(covariance)).reshape(n_classes - 1, -1).T
    np.testing.assert_allclose(fit.bse.to_numpy(), errors, rtol=1e-9)


@pytest.mark.parametrize("order", ["by class", "drawn"])
def test_the_order_of_many_rows_does_not_matter(order):
    frame = table(12_000, 6, 4)
    at = np.argsort(frame["y"]) if order == "by class" else np.random.default_rng(1).permutation(len(frame))
    here, there = logistic("y ~ .", frame), logistic("y ~ .", frame.iloc[at])
    np.testing.assert_array_less(np.abs(here.params - there.params) / here.bse, 1e-9)
    np.testing.assert_allclose(here.bse, there.bse, rtol=1e-9)
    again = logistic("y ~ .", frame)
    np.testing.assert_array_equal(again.params, here.params)
    np.testing.assert_array_equal(again.bse, here.bse)


def test_frequency_weights_match_repeated_rows():
    frame = table(12_000, 4, 3)
    weights = np.random.default_rng(2).integers(0, 4, len(frame))
    weighted = logistic("y ~ x0 + x1 + x2 + x3", frame.assign(w=weights), weights="w")
    repeated = logistic("y ~ x0 + x1 + x2 + x3", frame.loc[frame.index.repeat(weights)])
    np.testing.assert_array_less(np.abs(weighted.params - repeated.params) / repeated.bse, 1e-9)
    np.testing.assert_allclose(weighted.bse, repeated.bse, rtol=1e-9)


def test_correlated_columns_with_offsets():
    """These are whitened, and not taken as deviations."""
    frame = table(12_000, 4, 3)
    frame["x1"] = frame["x0"] + 1e-3 * frame["x1"]
    fit = logistic("y ~ .", frame)
    score, information, _ = information_of(frame, fit.params)
    assert np.sqrt(score @ np.linalg.solve(information, score)) <= 1e-7
    # What an offset of a million rounds is a millionth of the difference of the two.
    shifted = logistic("y ~ .", frame.assign(x0=frame["x0"] + 1e6, x1=frame["x1"] + 1e6))
    np.testing.assert_allclose(shifted.params.iloc[1:], fit.params.iloc[1:], rtol=1e-4)
    np.testing.assert_allclose(shifted.bse.iloc[1:], fit.bse.iloc[1:], rtol=1e-5)


def test_rare_class_missing_from_the_subsample():
    frame = table(12_000, 3, 3)
    frame["y"] = np.where(np.arange(len(frame)) < 6, 3, frame["y"])
    fit = logistic("y ~ .", frame)
    score, information, _ = information_of(frame, fit.params)
    assert np.sqrt(score @ np.linalg.solve(information, score)) <= 1e-9


def test_many_separated_rows_are_refused():
    frame = table(12_000, 3, 3)
    apart = frame.assign(x0=frame["x0"] + 100.0 * (frame["y"] == 1))
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ .", apart)
    assert "separates" in str(caught.value)
    # One row on the wrong side, and there is a maximum.
    apart.loc[0, "x0"] += 100.0
    fit = logistic("y ~ x0", apart)
    score, information, _ = information_of(apart, fit.params)
    assert np.sqrt(score @ np.linalg.solve(information, score)) <= 1e-6


@pytest.mark.parametrize("weight", [1.0, 1e4, 1e7])
def test_heavy_separated_rows_have_the_penalized_maximum_of_their_table(weight):
    """A table of two by two is saturated: the penalty adds half a row to each of its cells."""
    frame = pd.DataFrame({"x": [0.0, 1.0, 1.0], "y": ["a", "b", "b"], "w": [weight, weight, 3 * weight]})
    fit = logistic("y ~ x", frame, weights="w", bias_reduction=True)
    constant = np.log(0.5 / (weight + 0.5))
    expected = [constant, np.log((4 * weight + 0.5) / 0.5) - constant]
    np.testing.assert_allclose(fit.params["b"], expected, rtol=1e-6)


def test_error_for_heavy_rows_has_a_hint():
    frame = pd.DataFrame({"x": np.arange(12.0), "y": np.repeat(["a", "b", "c"], 4), "w": 1e14})
    with pytest.raises(DataError) as caught:
        logistic("y ~ x", frame, weights="w", bias_reduction=True)
    assert "help" in str(caught.value)
    assert "Divide" in str(caught.value)
    frame["w"] /= frame["w"].mean()
    assert logistic("y ~ x", frame, weights="w", bias_reduction=True).nobs == 12


@pytest.mark.parametrize(("p1", "q"), [(3, 1), (4, 2), (21, 4), (2, 9), (3, 30), (40, 3), (1, 5)])
def test_information_from_pairs_matches_full_products(p1, q):
    rng = np.random.default_rng(p1 * q)
    z, shares, own = rng.normal(size=(p1, 37)), rng.random((q, 37)), rng.random((q, 37))
    held = shares * rng.random(37)
    found = Information(p1, q, 20)
    for rows in (slice(0, 20), slice(20, 37)):
        found.add(z[:, rows], own[:, rows], held[:, rows], shares[:, rows])
    weights = -np.einsum("am,bm->abm", held, shares)
    upper = np.triu_indices(q)
    weights[upper[1], upper[0]] = weights[upper]
    weights[np.arange(q), np.arange(q)] = own
    whole = np.einsum("abm,im,jm->aibj", weights, z, z).reshape(q * p1, q * p1)
    np.testing.assert_allclose(found.as_matrix(), whole, rtol=1e-12, atol=1e-12 * np.abs(whole).max())
    forms = np.einsum("im,aibj,jm->abm", z, whole.reshape(q, p1, q, p1), z)
    for k, part in enumerate(QuadraticForms(whole, p1).iterate(z)):
        np.testing.assert_allclose(part, forms[k, k:], rtol=1e-11, atol=1e-11 * np.abs(forms).max())


@pytest.mark.parametrize("weight", [1e13, 1e18])
@pytest.mark.parametrize("tol", [1e-8, 1e-14])
def test_search_with_large_weights_stops_at_rounding(weight, tol):
    """The estimates do not depend on a weight of all rows, beside which Firth's penalty is nothing."""
    frame = table(60, 2, 2)
    plain = logistic("y ~ .", frame)
    for bias_reduction in (False, True):
        heavy = logistic("y ~ .", frame.assign(w=weight), weights="w", tol=tol, bias_reduction=bias_reduction)
        np.testing.assert_allclose(heavy.params, plain.params, rtol=1e-11)
