"""Sums of classes, most of which have no row in a block, are those of blocks with rows of all."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.moments.moments import gather


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
