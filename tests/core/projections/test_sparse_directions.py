"""Minima of the elastic net by their conditions, where columns are collinear as well."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.projections.sparse_lda import Correlations, SparseVector, minimize_elastic_net


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
