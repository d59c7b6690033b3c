"""Sums of kernels against mpmath and against sums as they stand."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from discrim.core import kernel_sums
from discrim.core.kernel_density import KernelDensity
from discrim.core.kernel_sums import log_kernel_sums


def exact_log(points, weights, x, h):
    """To fifty digits."""
    with mpmath.workdps(50):
        x, h = mpmath.mpf(float(x)), mpmath.mpf(float(h))
        kernels = (
            mpmath.mpf(float(w)) * mpmath.exp(-(((x - mpmath.mpf(float(p))) / h) ** 2) / 2)
            for p, w in zip(points, weights, strict=True)
        )
        return float(mpmath.log(mpmath.fsum(kernels)))


def tables(n, seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=n // 2)
    return {
        "normal": rng.normal(size=n),
        "heavy tails": rng.standard_t(1.5, n),
        "two clusters": np.concatenate([half, 50 + 0.01 * half]),
        "all magnitudes": 10 ** rng.uniform(-6, 6, n),
        "one decimal": np.round(rng.normal(size=n), 1),
        "far from zero": 1e6 + rng.normal(size=n),
        "a gap": np.concatenate([rng.normal(size=n - 3), [30.0, 31.0, 1e5]]),
        "skew": rng.exponential(size=n) ** 3,
        "even": np.linspace(0, 1, n),
        "tiny unit": 1e-200 * rng.normal(size=n),
    }


@pytest.mark.parametrize("kind", tables(10, 0))
def test_sums_have_all_digits_in_the_middle_in_gaps_and_far_out(kind):
    values = tables(300, 1)[kind]
    density = KernelDensity.of(values, None, "nrd0", 0.0)
    h, points = density.bandwidth, density.points
    spread = points[-1] - points[0]
    rng = np.random.default_rng(2)
    near = np.sort(rng.choice(points, 300) + h * rng.uniform(-2, 2, 300))
    far = np.concatenate(
        [points[-1] + spread * 10.0 ** np.arange(-3, 6), points[0] - 7 * h * np.arange(1, 9)]
    )
    at = np.concatenate([near, far])
    found = log_kernel_sums(points, density.weights, at, np.full(len(at), h))
    for i in [*range(0, 300, 50), *range(300, len(at), 2)]:
        expected = exact_log(points, density.weights, at[i], h)
        assert abs(found[i] - expected) <= 1e-14 * max(1.0, abs(expected))


@pytest.mark.parametrize("kind", tables(10, 0))
@pytest.mark.parametrize("weighted", [False, True])
def test_expansions_are_the_sums_as_they_stand(kind, weighted, monkeypatch):
    values = tables(2500, 3)[kind]
    weights = np.random.default_rng(4).integers(1, 5, len(values)).astype(float) if weighted else None
    found = []
    for fewest in (kernel_sums.FEWEST_POINTS, 10**9):
        monkeypatch.setattr(kernel_sums, "FEWEST_POINTS", fewest)
        density = KernelDensity.of(values, weights, "nrd0", 0.0)
        left = density.log_density_without(values, weights, "nrd0", 0.0)
        found.append((density.log_density(values), left))
    for fast, direct in zip(*found, strict=True):
        np.testing.assert_allclose(fast, direct, rtol=1e-14, atol=1e-14)


def test_most_places_of_plain_data_are_in_boxes_and_no_sum_is_far_off():
    rng = np.random.default_rng(5)
    points = np.sort(rng.normal(size=4000))
    h = np.full(4000, 0.15)
    boxed, sums = kernel_sums._by_boxes(points, np.ones(4000), points, h)
    assert boxed.mean() > 0.95
    at = np.flatnonzero(boxed)[::7]
    direct = np.exp(-0.5 * ((points[at, None] - points) / 0.15) ** 2).sum(axis=1)
    np.testing.assert_allclose(sums[at], direct, rtol=2e-14)


def test_bandwidths_of_their_own_are_taken_into_account():
    rng = np.random.default_rng(6)
    points = np.sort(rng.normal(size=1000))
    for spread in (1e-3, 1e-1, 3.0):
        h = 0.2 * np.exp(spread * rng.normal(size=1000))
        found = log_kernel_sums(points, np.ones(1000), points, h)
        direct = np.log(np.exp(-0.5 * ((points[:, None] - points) / h[:, None]) ** 2).sum(axis=1))
        np.testing.assert_allclose(found, direct, rtol=1e-14, atol=1e-14)


def test_places_and_bandwidths_that_are_none_have_no_sum():
    points, ones = np.arange(500.0), np.ones(500)
    found = log_kernel_sums(points, ones, np.array([1.0, 2.0, 1e300]), np.array([np.nan, 0.0, 1.0]))
    assert np.isnan(found[:2]).all()
    assert found[2] == -np.inf
