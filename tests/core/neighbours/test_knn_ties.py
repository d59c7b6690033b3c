"""Whole numbers, where most distances are tied, and many classes: against brute force in whole numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discrim import knn
from discrim.core.neighbours import neighbour_cells


def brute_votes(x, codes, k, n_classes, metric):
    """Votes of the k nearest other rows and of all as near, for every row; distances are whole numbers."""
    whole = x.astype(np.int64)
    out = np.zeros((len(x), n_classes), dtype=int)
    for i, row in enumerate(whole):
        gaps = np.abs(whole - row)
        lengths = {
            "euclidean": (gaps**2).sum(axis=1),
            "cityblock": gaps.sum(axis=1),
            "chebyshev": gaps.max(axis=1),
            "hamming": (gaps > 0).sum(axis=1),
        }[metric]
        others = np.delete(np.arange(len(x)), i)
        limit = np.sort(lengths[others])[k - 1]
        np.add.at(out[i], codes[others[lengths[others] <= limit]], 1)
    return out


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "chebyshev", "hamming"])
@pytest.mark.parametrize(
    ("n", "p", "most"), [(400, 2, 3), (400, 3, 30), (500, 6, 4), (300, 10, 2), (400, 12, 1), (200, 3, 0)]
)
def test_votes_of_whole_numbers_are_those_of_brute_force(metric, n, p, most):
    rng = np.random.default_rng(n + p + most)
    x = rng.integers(0, most + 1, (n, p)).astype(float)
    x[: n // 20] *= 100
    # Where the others coincide, the columns are not constant, which would leave them out.
    x[-1] = most + 1
    codes = rng.integers(0, 5, n)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=codes)
    for k in (1, 5, 60):
        fit = knn("y ~ .", frame, k=k, metric=metric, scale=False)._fit.numbers
        found = np.concatenate([next(tally.votes([k])) for _, tally in fit.left_out(k)])
        np.testing.assert_array_equal(found, brute_votes(x, codes, k, 5, metric))
        own = fit.rule_under(fit.prior).votes(x)
        assert (own.sum(axis=1) >= k).all()


@pytest.mark.parametrize("prior", [None, "equal"])
@pytest.mark.parametrize("most", [2, 40])
def test_many_classes_are_counted_as_few_are(prior, most):
    rng = np.random.default_rng(most)
    n, classes = 900, 200
    codes = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    x = rng.integers(0, most + 1, (n, 3)) + codes[:, None] % 7
    frame = pd.DataFrame(x.astype(float)).add_prefix("x").assign(y=codes)
    fit = knn("y ~ .", frame, k=3, prior=prior, scale=False)._fit.numbers
    grid = [1, 2, 5, 11]
    wrong = fit.wrong_by_class(grid, fit.prior)
    for k, found in zip(grid, wrong, strict=True):
        labels = fit.with_k(k).left_out_scores(fit.prior).argmax(axis=1)
        np.testing.assert_array_equal(found, np.bincount(codes[labels != codes], minlength=classes))


def test_rows_that_coincide_are_searched_for_as_one_point():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (3000, 3)).astype(float)
    cells = neighbour_cells.Cells.of(x)
    assert cells is not None
    assert len(cells.points) == 27
    for point, start, size in zip(cells.points, cells.starts, cells.sizes, strict=True):
        np.testing.assert_array_equal(
            np.sort(cells.order[start : start + size]), np.flatnonzero((x == point).all(axis=1))
        )
    assert neighbour_cells.Cells.of(rng.standard_normal((100, 3))) is None
