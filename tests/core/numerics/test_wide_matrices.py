"""Decompositions of matrices with many more columns than rows."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.numerics.arrays import lq, svd


def make_rows(kind: str) -> np.ndarray:
    """Return 12 rows of 300 columns of a kind that makes the products of the rows ill-conditioned."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((12, 300))
    if kind == "centred":
        rows -= rows.mean(axis=0)
    elif kind == "graded":
        rows = np.linalg.qr(rng.standard_normal((12, 12)))[0] @ (
            10.0 ** np.linspace(3, -20, 12)[:, None] * rows
        )
    elif kind == "rank one":
        rows = np.outer(rng.standard_normal(12), rows[0])
    elif kind == "nearly equal":
        rows[6:] = rows[:6] * (1 + 1e-9 * rng.standard_normal((6, 1)))
    elif kind == "zero rows":
        rows[4:] = 0.0
    elif kind == "zero":
        rows[:] = 0.0
    return rows


@pytest.mark.parametrize(
    "kind", ["regular", "centred", "graded", "rank one", "nearly equal", "zero rows", "zero"]
)
def test_wide_matrices_are_decomposed_to_rounding(kind: str) -> None:
    rows = make_rows(kind)
    norm = np.linalg.norm(rows, 2)
    lower, basis = lq(rows)
    left, singular_values, right = svd(rows, full_matrices=False)
    expected = np.linalg.svd(rows, full_matrices=False)[1]
    for orthonormal in (basis, right, left.T):
        np.testing.assert_allclose(orthonormal @ orthonormal.T, np.eye(12), atol=1e-14)
    np.testing.assert_allclose(lower @ basis, rows, atol=1e-14 * norm + 1e-150)
    np.testing.assert_allclose(left * singular_values @ right, rows, atol=1e-14 * norm + 1e-150)
    np.testing.assert_allclose(singular_values, expected, atol=1e-14 * norm)


@pytest.mark.parametrize("kind", ["regular", "centred", "rank one", "zero rows"])
@pytest.mark.parametrize("scale", [1e154, 1e300, 1e-155, 1e-200, 1e-300])
def test_wide_matrices_of_extreme_magnitude_are_decomposed_to_rounding(kind: str, scale: float) -> None:
    rows = make_rows(kind) * scale
    left, singular_values, right = svd(rows, full_matrices=False)
    expected = np.linalg.svd(rows, full_matrices=False)[1]
    np.testing.assert_allclose(singular_values / expected[0], expected / expected[0], atol=1e-14)
    np.testing.assert_allclose(left * (singular_values / expected[0]) @ right, rows / expected[0], atol=1e-14)
    for orthonormal in (right, left.T):
        np.testing.assert_allclose(orthonormal @ orthonormal.T, np.eye(12), atol=1e-14)
