"""Whole numbers, where most distances are tied, and many classes: against brute force in whole numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from discrim import knn
from discrim.core.neighbours import neighbours as neighbour_cells
from discrim.errors import DiscrimWarning


def brute_votes(x, codes, ks, n_classes, metric):
    """Votes of the k nearest other rows and of all as near, for each k; distances are integers."""
    whole = x.astype(np.int64)
    gaps = np.abs(whole[:, None] - whole)
    lengths = {
        "euclidean": lambda: (gaps**2).sum(axis=2),
        "cityblock": lambda: gaps.sum(axis=2),
        "chebyshev": lambda: gaps.max(axis=2),
        "hamming": lambda: (gaps > 0).sum(axis=2),
    }[metric]()
    np.fill_diagonal(lengths, np.iinfo(np.int64).max)
    limits = np.partition(lengths, [k - 1 for k in ks], axis=1)
    return [(lengths <= limits[:, [k - 1]]).astype(int) @ np.eye(n_classes, dtype=int)[codes] for k in ks]


@pytest.mark.parametrize(
    ("metric", "n", "p", "most"),
    # Euclidean distances with every table, the others with two tables in turn.
    [
        pytest.param(metric, *size, marks=() if i == 0 or (i + j) % 3 == 0 else pytest.mark.exhaustive)
        for i, metric in enumerate(("euclidean", "cityblock", "chebyshev", "hamming"))
        for j, size in enumerate(
            [(400, 2, 3), (400, 3, 30), (500, 6, 4), (300, 10, 2), (400, 12, 1), (200, 3, 0)]
        )
    ],
)
def test_votes_of_integer_columns_match_brute_force(metric, n, p, most):
    rng = np.random.default_rng(n + p + most)
    x = rng.integers(0, most + 1, (n, p)).astype(float)
    x[: n // 20] *= 100
    # Where the others coincide, the columns are not constant, which would leave them out.
    x[-1] = most + 1
    codes = rng.integers(0, 5, n)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=codes)
    ks = (1, 5, 60)
    for k, expected in zip(ks, brute_votes(x, codes, ks, 5, metric), strict=True):
        fit = knn("y ~ .", frame, k=k, metric=metric, scale=False)._fit.estimates
        found = np.concatenate([next(tally.votes([k])) for _, tally in fit.left_out_vote_counts(k)])
        np.testing.assert_array_equal(found, expected)
        own = fit.rule_with_prior(fit.prior).votes(x)
        assert (own.sum(axis=1) >= k).all()


@pytest.mark.parametrize("prior", [None, "equal"])
@pytest.mark.parametrize("most", [2, 40])
def test_many_classes_are_counted_as_few_are(prior, most):
    rng = np.random.default_rng(most)
    n, classes = 900, 200
    codes = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    x = rng.integers(0, most + 1, (n, 3)) + codes[:, None] % 7
    frame = pd.DataFrame(x.astype(float)).add_prefix("x").assign(y=codes)
    fit = knn("y ~ .", frame, k=3, prior=prior, scale=False)._fit.estimates
    grid = [1, 2, 5, 11]
    wrong = fit.left_out_errors_by_class(grid, fit.prior)
    for k, found in zip(grid, wrong, strict=True):
        labels = fit.with_k(k).leave_one_out_scores(fit.prior).argmax(axis=1)
        np.testing.assert_array_equal(found, np.bincount(codes[labels != codes], minlength=classes))


def test_rows_that_coincide_are_searched_for_as_one_point():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (3000, 3)).astype(float)
    cells = neighbour_cells.PointRows.from_points(x)
    assert cells is not None
    assert len(cells.points) == 27
    for point, start, size in zip(cells.points, cells.starts, cells.sizes, strict=True):
        np.testing.assert_array_equal(
            np.sort(cells.order[start : start + size]), np.flatnonzero((x == point).all(axis=1))
        )
    assert neighbour_cells.PointRows.from_points(rng.standard_normal((100, 3))) is None


def cells_of(counts: np.ndarray) -> pd.DataFrame:
    """One row for each cell of a table of frequencies (a, b, classes), with its frequency."""
    a, b, y = (each.ravel() for each in np.indices(counts.shape))
    return pd.DataFrame({"a": a * 1.0, "b": b * 1.0, "y": y, "freq": counts.ravel()})


# R's HairEyeColor: hair by eye by sex, the classes.
HAIR_EYE_SEX = np.array(
    [
        [[32, 36], [11, 9], [10, 5], [3, 2]],
        [[53, 66], [50, 34], [25, 29], [15, 14]],
        [[10, 16], [10, 7], [7, 7], [7, 7]],
        [[3, 4], [30, 64], [5, 5], [8, 8]],
    ]
)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_rows_of_a_cell_of_a_table_of_frequencies_all_vote(k):
    table = cells_of(HAIR_EYE_SEX)
    rows = table.loc[table.index.repeat(table.freq)]
    fit = knn("y ~ a + b", rows, k=k)
    # No cell has fewer than five rows: the nearest k, and all as near, are those of the cell.
    votes = HAIR_EYE_SEX.reshape(16, 2)
    found = fit.votes(table.iloc[::2])
    np.testing.assert_array_equal(found, votes)
    larger = int(HAIR_EYE_SEX.sum(axis=(0, 1)).argmax())
    label = np.where(votes[:, 0] == votes[:, 1], larger, votes.argmax(axis=1))
    np.testing.assert_array_equal(fit.predict(table.iloc[::2]), label)
    # Left out, a row takes its own vote away, and that of its class in a tie.
    wrong = 0
    for cell in votes:
        for own in (0, 1):
            left = cell - np.eye(2, dtype=int)[own]
            if left.sum() < k:
                continue
            first = larger if left[0] == left[1] else int(left.argmax())
            wrong += cell[own] * (first != own)
    assert fit.error_rates(["loo"])["wrong"].tolist() == [wrong]


@pytest.mark.parametrize("k", [1, 3])
def test_a_row_of_a_cell_is_left_to_the_other_classes_of_its_cell(k):
    rng = np.random.default_rng(k)
    table = cells_of(rng.poisson(20, (3, 4, 4)))
    left = knn("y ~ a + b", table, k=k, scale=False).leave_one_out()
    assert (left["label"] != table.y).all()


def test_choice_of_k_by_copies_warns():
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1], 60)
    once = pd.DataFrame(rng.normal(size=(120, 3)) + 1.0 * codes[:, None], columns=list("abc")).assign(y=codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chosen = knn("y ~ .", once).k
        # Equal rows of columns of few values are observations of their own.
        knn("y ~ .", once.round())
    twice = pd.concat([once, once], ignore_index=True)
    with pytest.warns(
        DiscrimWarning, match=rf"240 of 240 rows .* the 120 distinct rows .* chooses k={chosen}\."
    ):
        assert knn("y ~ .", twice).k < chosen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert knn("y ~ .", twice.drop_duplicates()).k == chosen
        knn("y ~ .", twice, k=5)
