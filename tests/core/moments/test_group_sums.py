"""Sums of classes, most of which have no row in a block, are those of blocks with rows of all."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discrim.core.moments import row_sums
from discrim.core.moments.moments import gather, gather_parts


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_columns", "n_classes"), [(1, 2), (4, 3), (7, 50)])
def test_class_sums_by_counts_are_identical_with_a_sparse_matrix(
    monkeypatch: pytest.MonkeyPatch, n_columns: int, n_classes: int, weighted: bool
) -> None:
    rng = np.random.default_rng(n_columns)
    codes = rng.integers(0, n_classes, 300)
    x = rng.normal(1e3, 1.0, (300, n_columns))
    weights = rng.random(300) if weighted else None
    sums = []
    for size in (x.size, 0):
        monkeypatch.setattr(row_sums, "MAX_BINCOUNT_SIZE", size)
        sums.append(np.ones((n_columns, n_classes)))
        row_sums._add_class_sums(sums[-1], x.T, codes, weights)
    np.testing.assert_array_equal(sums[0], sums[1])
    rows_of_class = codes == np.arange(n_classes)[:, None]
    brute_force = 1.0 + (rows_of_class * (1.0 if weights is None else weights)) @ x
    np.testing.assert_allclose(sums[0], brute_force.T, rtol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n_columns", "n_classes"), [(3, 2), (50, 10), (300, 32)])
def test_class_sums_of_contiguous_columns_equal_exact_sums(
    n_columns: int, n_classes: int, weighted: bool
) -> None:
    """The rows are multiplied in slices, the last of which is shorter."""
    rng = np.random.default_rng(n_columns)
    codes = rng.integers(0, n_classes, 1500)
    columns = rng.normal(1.0, 1.0, (n_columns, 1500))
    weights = rng.random(1500) if weighted else None
    sums = np.ones((n_columns, n_classes))
    row_sums._add_class_sums(sums, columns, codes, weights)
    weighted_columns = columns if weights is None else columns * weights
    for j in (0, n_columns - 1):
        exact = [1.0 + math.fsum(weighted_columns[j, codes == k]) for k in range(n_classes)]
        np.testing.assert_allclose(sums[j], exact, rtol=1e-13)


@pytest.mark.parametrize("spread", ["pooled", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_more_classes_than_rows_in_a_block(spread: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, p, k = 400, 3, 90
    codes = np.concatenate([np.repeat(np.arange(k), 2), rng.integers(0, k, n - 2 * k)])
    x = rng.normal(size=(n, p)) + 1e6 * rng.normal(size=(k, p))[codes]
    weights = rng.random(n) if weighted else None
    blocks = [
        (
            x[start : start + 40],
            codes[start : start + 40],
            None if weights is None else weights[start : start + 40],
        )
        for start in range(0, n, 40)
    ]
    gathered = gather(blocks, n_classes=k, n_columns=p, required_moments=spread, with_roots=False)
    w = np.ones(n) if weights is None else weights
    for block in range(k):
        members = codes == block
        mean = np.average(x[members], axis=0, weights=w[members])
        np.testing.assert_allclose(gathered.class_means[block], mean, rtol=1e-14)
        if spread == "diagonal":
            squares = w[members] @ (x[members] - mean) ** 2
            np.testing.assert_allclose(gathered.scatters[block], squares, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("spread", ["class", "pooled", "diagonal", "thin class"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_parts_equal_moments_of_their_rows(spread: str, weighted: bool) -> None:
    """Parts of unlike units and rows, one of them without a class, gathered at once and one by one."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60, 3)) * [1e-170, 1.0, 1e5] + [0.0, 1e6, 3.0]
    parts, classes = rng.integers(0, 4, 60), rng.integers(0, 2, 60)
    classes[parts == 2] = 1
    weights = rng.integers(1, 4, 60).astype(float) if weighted else None
    gathered = gather_parts(
        [(x, parts * 2 + classes, weights)], n_parts=4, n_classes=2, n_columns=3, required_moments=spread
    )
    for part, moments in enumerate(gathered):
        members = parts == part
        rows = (x[members], classes[members], None if weights is None else weights[members])
        alone = gather([rows], n_classes=2, n_columns=3, required_moments=spread)
        np.testing.assert_array_equal(moments.counts, alone.counts)
        np.testing.assert_allclose(moments.class_means, alone.class_means, rtol=1e-14)
        alike, expected = (np.sqrt(block.squares) / block.scale for block in (moments, alone))
        np.testing.assert_allclose(alike, expected, rtol=1e-12)
