"""Products of many columns, of which a pass forms one triangle, are those of long doubles."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from discrim.core.moments.moments import gather
from discrim.core.moments.row_sums import RowSums, trapezoidal_root
from discrim.design.design_rows import BLOCK_ROW_DIVISOR, _rows_per_block


@cache
def rows_of_classes(
    n: int, p: int, k: int, weighted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Return rows, codes, weights or None, and the scatters of the classes from long double deviations."""
    rng = np.random.default_rng(p)
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    x = rng.normal(size=(n, p)) + 3.0 * rng.normal(size=(k, p))[codes] + 100.0
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    w = np.ones(n) if weights is None else weights
    exact = np.empty((k, p, p), dtype=np.longdouble)
    for block in range(k):
        rows = np.longdouble(x[codes == block])
        proportion = np.longdouble(w[codes == block])[:, None]
        deviations = rows - (proportion * rows).sum(axis=0) / proportion.sum()
        exact[block] = np.float64(deviations * proportion).T @ np.float64(deviations)
    return x, codes, weights, exact


@pytest.mark.parametrize(
    ("spread", "weighted", "p", "k", "m"),
    # Pooled scatters with or without weights in turn, and those of classes the other way round.
    [
        pytest.param(spread, weighted, *size, m, marks=() if (g + h + i + j) % 2 else pytest.mark.exhaustive)
        for g, spread in enumerate(("pooled", "class"))
        for h, weighted in enumerate((False, True))
        for i, size in enumerate([(63, 1), (60, 6), (64, 3), (130, 2), (70, 40)])
        for j, m in enumerate((3, 150, 10_000))
    ],
)
def test_scatters_of_many_columns(spread: str, weighted: bool, p: int, k: int, m: int) -> None:
    n = 1_000 if m > 3 else 300
    x, codes, weights, exact = rows_of_classes(n, p, k, weighted)
    blocks = [
        (
            x[start : start + m],
            codes[start : start + m],
            None if weights is None else weights[start : start + m],
        )
        for start in range(0, n, m)
    ]
    gathered = gather(blocks, n_classes=k, n_columns=p, required_moments=spread, with_roots=False)
    expected = np.float64(exact.sum(axis=0, keepdims=True) if gathered.scatter_type == "pooled" else exact)
    sizes = np.sqrt(np.diagonal(expected, axis1=1, axis2=2))
    error = np.abs(gathered.scatters - expected) / sizes[:, :, None] / sizes[:, None, :]
    assert error.max() < 1e-13
    np.testing.assert_array_equal(gathered.scatters, np.swapaxes(gathered.scatters, 1, 2))


@pytest.mark.parametrize("p", [1, 8, 32, 50, 64, 128, 300, 784, 5_000])
@pytest.mark.parametrize("in_place", [False, True])
def test_column_strides_are_not_powers_of_two(p: int, in_place: bool) -> None:
    rows = _rows_per_block(p, 2**20, 2**15, in_place=in_place, sparse=False)
    assert rows % BLOCK_ROW_DIVISOR == 0
    assert rows // BLOCK_ROW_DIVISOR % 2


@pytest.mark.parametrize(("m", "p"), [(1, 3), (5, 11), (20, 39), (20, 200), (60, 600), (50, 20)])
@pytest.mark.parametrize("kind", ["regular", "zero columns first", "collinear rows", "unequal sizes"])
def test_root_of_rows_equals_the_qr_decomposition(m: int, p: int, kind: str) -> None:
    rows = np.random.default_rng(m).normal(size=(m, p))
    if kind == "zero columns first":
        rows[:, : m // 2 + 1] = 0.0
    elif kind == "collinear rows":
        rows[m // 2 :] = rows[: m - m // 2]
    elif kind == "unequal sizes":
        rows *= 10.0 ** np.linspace(-60, 60, p)
    root = trapezoidal_root(rows)
    assert root.shape == (min(m, p), p)
    assert not np.tril(root, -1).any()
    norms = np.linalg.norm(rows, axis=0)
    norms[norms == 0] = 1.0
    np.testing.assert_allclose(
        (root / norms).T @ (root / norms), (rows / norms).T @ (rows / norms), atol=4e-15 * m
    )
    if kind == "regular":
        np.testing.assert_allclose(np.abs(root), np.abs(np.linalg.qr(rows, mode="r")), atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("spread", ["pooled", "class", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_rows_are_not_modified(order: str, spread: str, weighted: bool, scale: float) -> None:
    rng = np.random.default_rng(1)
    # Standardized columns need no copy.
    x = np.asarray(rng.normal(size=(200, 3)), order=order)
    codes = rng.integers(0, 2, 200)
    weights = rng.uniform(0.5, 2.0, 200) if weighted else None
    before = x.copy()
    sums = RowSums(2, 3, spread)
    sums.add(x, codes, weights)
    np.testing.assert_array_equal(x, before)
    # A pass does not rescale columns between blocks; the rows are not to depend on it.
    sums.scale = np.full(3, scale)
    sums.add(x, codes, weights)
    np.testing.assert_array_equal(x, before)
