"""Minima of the elastic net by their conditions, where columns are collinear as well."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.moments.moments import ClassMoments
from discrim.core.projections import sparse_lda
from discrim.core.projections.sparse_lda import (
    Correlations,
    SparseVector,
    fit_sparse,
    fit_sparse_path,
    minimize_elastic_net,
    select_used_columns,
)


@pytest.mark.parametrize("held_as", ["products", "rows"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_collinear_columns_meet_the_conditions_of_a_minimum(held_as: str, ridge: float, seed: int) -> None:
    """|c - (G + ridge) v| is the penalty where v is not zero, with its sign, and no more elsewhere."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((30, 4))
    x = np.column_stack([x, x[:, 0], -x[:, 1], x[:, 0] + x[:, 2]])
    x /= np.linalg.norm(x, axis=0)
    c = x.T @ (x[:, 0] - 2 * x[:, 1] + 0.5 * rng.standard_normal(30))
    held = Correlations(x.T @ x if held_as == "products" else None, x)
    # A search from coefficients of collinear columns that are not the minimum's.
    start = SparseVector(np.array([0, 4, 1, 5, 6]), rng.standard_normal(5))
    for first in (SparseVector(np.zeros(0, dtype=np.intp), np.zeros(0)), start):
        v = minimize_elastic_net(held, c, 0.05, ridge, first).dense(x.shape[1])
        slope = c - x.T @ (x @ v) - ridge * v
        assert np.abs(slope).max() <= 0.05 * (1 + 1e-8)
        np.testing.assert_allclose(slope[v != 0], 0.05 * np.sign(v[v != 0]), rtol=1e-7)


def simulate_genes(k: int, seed: int, n: int = 24, p: int = 700) -> tuple[np.ndarray, np.ndarray]:
    """Simulate correlated columns of which few have different class means."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    x = rng.standard_normal((n, p)) + rng.standard_normal((n, 4)) @ rng.standard_normal((4, p))
    x[:, :8] += 2.0 * rng.standard_normal((k, 8))[codes]
    return x, codes


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_working_sets_find_the_directions_of_all_columns(
    k: int, ridge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, codes = simulate_genes(k, seed=0)
    moments = ClassMoments.from_block(x, codes, n_classes=k, required_moments="thin")
    prior = np.full(k, 1 / k)
    penalties = sparse_lda.max_path_penalty(moments) * np.geomspace(1.0, 0.05, 4)
    fits = fit_sparse_path(moments, prior, penalties, ridge=ridge, ncomp=None)
    by_columns = fit_sparse(moments, prior, by="nonzero", tuning=(6,) * (k - 1), ridge=ridge)
    monkeypatch.setattr(sparse_lda, "WORKING_SET_RATIO", 10**6)
    all_fits = fit_sparse_path(moments, prior, penalties, ridge=ridge, ncomp=None)
    for fit, expected in zip(fits, all_fits, strict=True):
        np.testing.assert_allclose(fit.class_scores, expected.class_scores, atol=1e-7)
        np.testing.assert_allclose(fit.coef, expected.coef, atol=1e-7)
    expected = fit_sparse(moments, prior, by="nonzero", tuning=(6,) * (k - 1), ridge=ridge)
    np.testing.assert_allclose(by_columns.coef, expected.coef, atol=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_a_working_set_that_lacks_columns_grows(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With small working sets, too, the conditions of a minimum hold for all columns."""
    x, codes = simulate_genes(k, 5)
    moments = ClassMoments.from_block(x, codes, n_classes=k, required_moments="thin")
    prior = np.full(k, 1 / k)
    penalty = 0.1
    expected = fit_sparse(moments, prior, by="penalty", tuning=(penalty,) * (k - 1))
    monkeypatch.setattr(sparse_lda, "WORKING_SET_RATIO", 1)
    fit = fit_sparse(moments, prior, by="penalty", tuning=(penalty,) * (k - 1))
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    for j in range(k - 1):
        slope = z.T @ (fit.class_scores[codes, j] - z @ fit.coef[:, j]) / len(x)
        used = fit.coef[:, j] != 0
        assert np.abs(slope[~used]).max() <= penalty * (1 + 1e-8)
        np.testing.assert_allclose(slope[used], penalty * np.sign(fit.coef[used, j]), rtol=1e-7)
    np.testing.assert_allclose(fit.coef[:, 0], expected.coef[:, 0], atol=1e-6)


def test_rules_of_the_used_columns_are_the_rules_of_all() -> None:
    x, codes = simulate_genes(3, 9)
    moments = ClassMoments.from_block(x, codes, n_classes=3, required_moments="thin")
    prior = np.array([0.2, 0.3, 0.5])
    penalties = sparse_lda.max_path_penalty(moments) * np.array([1.1, 0.5, 0.1])
    fits = fit_sparse_path(moments, prior, penalties, ridge=0.0, ncomp=None)
    columns, small = select_used_columns(fits)
    assert 0 < len(columns) < 100
    for fit, restricted in zip(fits, small, strict=True):
        assert fit.is_singular() == restricted.is_singular()
        expected = fit.rule(np.log(prior)).scores(x)
        np.testing.assert_allclose(restricted.rule(np.log(prior)).scores(x[:, columns]), expected, rtol=1e-9)
