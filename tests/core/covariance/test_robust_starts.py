"""Starts of a minimum determinant: spreads and distances by their definitions, and steps that never rise."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.covariance import robust


@pytest.mark.parametrize("n", [5, 6, 41, 100])
def test_median_deviation_is_an_order_statistic(n):
    x = np.round(np.random.default_rng(n).normal(size=(n, 7)), 1)
    smallest = x.copy()
    for h in (n // 2 + 1, n):
        away = np.sort(np.abs(x - np.median(x, axis=0)), axis=0)
        np.testing.assert_array_equal(robust.median_deviation(x, h), away[h - 1])
    np.testing.assert_array_equal(x, smallest)


def test_pairwise_covariances_use_scales_of_sums_and_differences():
    z = np.random.default_rng(2).standard_t(2, size=(60, 5))
    z[0, 0] = 1e60
    pairs = robust._pairwise_covariances(z, 31)
    for j in range(5):
        for i in range(j):
            squares = [
                robust.median_deviation(column[:, None], 31)[0] ** 2
                for column in (z[:, i] + z[:, j], z[:, i] - z[:, j])
            ]
            assert pairs[i, j] == pairs[j, i] == pytest.approx((squares[0] - squares[1]) / 4, abs=1e-5)


@pytest.mark.parametrize("p", [3, 16, 17, 40])
def test_start_distances_match_inverse_covariances(p):
    rng = np.random.default_rng(p)
    z = rng.normal(size=(3 * p, p)) @ (np.eye(p) + 0.1 * rng.normal(size=(p, p)))
    sets = np.array([rng.choice(3 * p, 2 * p, replace=False) for _ in range(4)])
    actual = robust._start_distances(z, *robust._subset_moments(z[sets]))
    for start, d2 in zip(sets, actual, strict=True):
        away = z - z[start].mean(axis=0)
        exact = np.einsum("ij,ji->i", away, np.linalg.solve(np.cov(z[start].T, ddof=0), away.T))
        np.testing.assert_allclose(d2, exact, rtol=1e-4)


@pytest.mark.parametrize("p", [3, 30])
def test_concentration_steps_never_increase_the_determinant(p):
    rng = np.random.default_rng(p)
    z = rng.normal(size=(150, p))
    sets = np.array([rng.choice(150, p + 1, replace=False) for _ in range(6)])
    last = np.full(6, np.inf)
    for steps in (1, 2, 4, 8, 40, 41):
        subsets, logdets = robust._concentrate_starts(z, sets, 90, steps)
        assert (logdets <= last + 1e-9).all()
        for start, logdet in zip(subsets, logdets, strict=True):
            assert len(set(start.tolist())) == 90
            exact = np.linalg.slogdet(np.cov(z[start].T, ddof=0))[1]
            assert 2 * logdet == pytest.approx(exact, abs=1e-4)
        before, last = last, logdets
    np.testing.assert_array_equal(before, last)
