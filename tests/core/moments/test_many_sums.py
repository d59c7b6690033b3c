"""Sums of classes, most of which have no row in a block, are those of blocks with rows of all."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.moments.moments import gather, gather_parts


@pytest.mark.parametrize("spread", ["pooled", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_more_classes_than_rows_in_a_block(spread: str, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, p, k = 400, 3, 90
    codes = np.concatenate([np.repeat(np.arange(k), 2), rng.integers(0, k, n - 2 * k)])
    x = rng.normal(size=(n, p)) + 1e6 * rng.normal(size=(k, p))[codes]
    weights = rng.random(n) if weighted else None
    blocks = [
        (x[at : at + 40], codes[at : at + 40], None if weights is None else weights[at : at + 40])
        for at in range(0, n, 40)
    ]
    found = gather(blocks, n_classes=k, n_columns=p, spread=spread, rooted=False)
    w = np.ones(n) if weights is None else weights
    for each in range(k):
        own = codes == each
        mean = np.average(x[own], axis=0, weights=w[own])
        np.testing.assert_allclose(found.class_means[each], mean, rtol=1e-14)
        if spread == "diagonal":
            squares = w[own] @ (x[own] - mean) ** 2
            np.testing.assert_allclose(found.scatters[each], squares, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("spread", ["class", "pooled", "diagonal", "thin class"])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_parts_are_those_of_their_rows_alone(spread: str, weighted: bool) -> None:
    """Parts of unlike units and rows, one of them without a class, gathered at once and one by one."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60, 3)) * [1e-170, 1.0, 1e5] + [0.0, 1e6, 3.0]
    parts, classes = rng.integers(0, 4, 60), rng.integers(0, 2, 60)
    classes[parts == 2] = 1
    weights = rng.integers(1, 4, 60).astype(float) if weighted else None
    found = gather_parts(
        [(x, parts * 2 + classes, weights)], n_parts=4, n_classes=2, n_columns=3, spread=spread
    )
    for part, moments in enumerate(found):
        own = parts == part
        rows = (x[own], classes[own], None if weights is None else weights[own])
        alone = gather([rows], n_classes=2, n_columns=3, spread=spread)
        np.testing.assert_array_equal(moments.counts, alone.counts)
        np.testing.assert_allclose(moments.class_means, alone.class_means, rtol=1e-14)
        alike, wanted = (np.sqrt(each.squares) / each.scale for each in (moments, alone))
        np.testing.assert_allclose(alike, wanted, rtol=1e-12)
