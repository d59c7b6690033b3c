"""Sums of kernels against mpmath and against sums as they stand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

import discrim
from discrim.core.naive_bayes import kernel_density as kernel_boxes
from discrim.core.naive_bayes.kernel_density import KernelDensity, KernelSums
from tests.support import record_calls


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
def test_kernel_sums_are_accurate_everywhere(kind):
    values = tables(300, 1)[kind]
    density = KernelDensity.from_values(values, None, "nrd0", 0.0)
    h, points = density.bandwidth, density.points
    spread = points[-1] - points[0]
    rng = np.random.default_rng(2)
    near = np.sort(rng.choice(points, 300) + h * rng.uniform(-2, 2, 300))
    far = np.concatenate(
        [points[-1] + spread * 10.0 ** np.arange(-3, 6), points[0] - 7 * h * np.arange(1, 9)]
    )
    at = np.concatenate([near, far])
    found = KernelSums(points, density.weights, h).log_sums(at, np.full(len(at), h))
    for i in [*range(0, 300, 100), *range(300, len(at), 3)]:
        expected = exact_log(points, density.weights, at[i], h)
        assert abs(found[i] - expected) <= 1e-14 * max(1.0, abs(expected))


@pytest.mark.parametrize("kind", tables(10, 0))
@pytest.mark.parametrize("weighted", [False, True])
def test_expansions_match_direct_sums(kind, weighted, monkeypatch):
    values = tables(1200, 3)[kind]
    weights = np.random.default_rng(4).integers(1, 5, len(values)).astype(float) if weighted else None
    found = []
    for fewest in (kernel_boxes.MAX_DIRECT_POINTS, 10**9):
        monkeypatch.setattr(kernel_boxes, "MAX_DIRECT_POINTS", fewest)
        density = KernelDensity.from_values(values, weights, "nrd0", 0.0)
        left = density.log_density_without(values, weights, "nrd0", 0.0)
        found.append((density.log_density(values), left))
    for fast, direct in zip(*found, strict=True):
        np.testing.assert_allclose(fast, direct, rtol=1e-14, atol=1e-14)


def bimodal(n, gap, spread, rng):
    return np.concatenate([rng.uniform(0, spread, n // 2), gap + rng.uniform(0, spread, n - n // 2)])


CROWDS = {
    "normal": lambda n, rng: rng.normal(size=n),
    "two crowds": lambda n, rng: bimodal(n, 1.0, 0.01, rng),
    "two crowds far apart": lambda n, rng: bimodal(n, 50.0, 1.0, rng),
    "a sharp edge": lambda n, rng: rng.exponential(size=n),
    "Cauchy": lambda n, rng: rng.standard_cauchy(n),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CROWDS)
def test_boxes_near_clusters_are_accurate(kind):
    """An expansion serves all places that are near many points, also those in gaps, which see only tails."""
    rng = np.random.default_rng(5)
    points = np.sort(CROWDS[kind](6000, rng))
    h = KernelDensity.from_values(points, None, "nrd0", 0.0).bandwidth
    low, high = np.quantile(points, [0.02, 0.98])
    at = rng.uniform(low - 15 * h, high + 15 * h, 4000)
    near = np.searchsorted(points, at + 8 * h) - np.searchsorted(points, at - 8 * h) > 200
    boxes = kernel_boxes.KernelBoxes(points, np.ones(6000), h)
    for part in np.array_split(at, 3):
        boxes.log_sums(part, np.full(len(part), h))
    found = boxes.log_sums(at, np.full(4000, h))
    assert near.sum() > 800
    assert np.isfinite(found[near]).mean() > 0.97
    for i in np.flatnonzero(np.isfinite(found))[::2000].tolist():
        expected = exact_log(points, np.ones(6000), at[i], h)
        assert abs(found[i] - expected) <= 2e-14 * max(1.0, abs(expected))
    exponents = -0.5 * ((at[::9, None] - points) / h) ** 2
    peak = exponents.max(axis=1)
    direct = np.log(np.exp(exponents - peak[:, None]).sum(axis=1)) + peak
    some = np.isfinite(found[::9])
    np.testing.assert_allclose(found[::9][some], direct[some], rtol=2e-14, atol=2e-14)


@pytest.mark.slow
def test_sums_do_not_depend_on_earlier_calls():
    rng = np.random.default_rng(3)
    points, at = np.sort(rng.normal(size=3000)), rng.normal(size=2000)
    bandwidths = np.full(len(at), 0.1)

    def sums():
        return KernelSums(points, np.ones(len(points)), 0.1)

    whole = sums().log_sums(at, bandwidths)
    one_by_one, shared = sums(), sums()
    alone = [one_by_one.log_sums(at[row : row + 1], bandwidths[:1])[0] for row in range(len(at))]
    np.testing.assert_array_equal(alone, whole)
    with ThreadPoolExecutor(8) as pool:
        orders = [np.random.default_rng(seed).permutation(len(at)) for seed in range(32)]
        found = pool.map(lambda order: shared.log_sums(at[order], bandwidths), orders)
        for order, logs in zip(orders, found, strict=True):
            np.testing.assert_array_equal(logs, whole[order])


def test_very_different_weights_keep_precision():
    rng = np.random.default_rng(8)
    points = np.sort(np.concatenate([rng.normal(size=1000), 6 + rng.normal(size=1000)]))
    weights = np.where(points < 3, 1.0, 1e-9)
    at, h = rng.uniform(-5, 12, 600), np.full(600, 0.2)
    found = KernelSums(points, weights, 0.2).log_sums(at, h)
    for i in range(0, 600, 120):
        expected = exact_log(points, weights, at[i], 0.2)
        assert abs(found[i] - expected) <= 2e-14 * max(1.0, abs(expected))


def test_scoring_in_blocks_evaluates_few_kernels_per_row():
    rng = np.random.default_rng(9)
    for kind in CROWDS:
        points = CROWDS[kind](40_000, rng)
        density = KernelDensity.from_values(points, None, "nrd0", 0.0)
        with record_calls(kernel_boxes.concatenate_ranges) as evaluated:
            for part in np.array_split(points, 20):
                density.log_density(part)
                density.log_density_without(part, None, "nrd0", 0.0)
        assert 0 < sum(int(call["lengths"].sum()) for call in evaluated) < 100 * len(points)


def test_a_bandwidth_for_each_side_of_a_quartile_is_fast_and_right(monkeypatch):
    """Without a row the quartiles of rounded values jump, and so do bandwidths: each has boxes of its own."""
    values = np.round(np.random.default_rng(10).normal(size=3000), 2)
    found = []
    for fewest in (kernel_boxes.MAX_DIRECT_POINTS, 10**9):
        monkeypatch.setattr(kernel_boxes, "MAX_DIRECT_POINTS", fewest)
        density = KernelDensity.from_values(values, None, "nrd0", 0.0)
        found.append(density.log_density_without(values, None, "nrd0", 0.0))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14, atol=1e-14)


def test_leave_one_out_densities_match_direct_sums():
    rng = np.random.default_rng(11)
    x, own = rng.standard_t(2, 800), np.arange(800) % 2
    data = {"x": x, "y": np.where(own, "b", "a")}
    left = discrim.naive_bayes("y ~ x", data, kernel=True, bandwidth=0.3).leave_one_out()
    exponents = -0.5 * ((x[:, None] - x) / 0.3) ** 2
    np.fill_diagonal(exponents, -np.inf)
    logs = np.stack([logsumexp(exponents[:, own == k], axis=1) for k in (0, 1)], axis=1)
    logs -= np.log(400 - (own[:, None] == [0, 1]))
    expected = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    np.testing.assert_allclose(left[["a", "b"]].to_numpy(), expected, rtol=1e-12, atol=1e-15)


def test_separate_bandwidths_are_used():
    rng = np.random.default_rng(6)
    points = np.sort(rng.normal(size=1000))
    for spread in (1e-3, 1e-1, 3.0):
        h = 0.2 * np.exp(spread * rng.normal(size=1000))
        found = KernelSums(points, np.ones(1000), 0.2).log_sums(points, h)
        direct = np.log(np.exp(-0.5 * ((points[:, None] - points) / h[:, None]) ** 2).sum(axis=1))
        np.testing.assert_allclose(found, direct, rtol=1e-14, atol=1e-14)


def test_missing_points_and_bandwidths_yield_nan():
    points, ones = np.arange(500.0), np.ones(500)
    found = KernelSums(points, ones, 1.0).log_sums(np.array([1.0, 2.0, 1e300]), np.array([np.nan, 0.0, 1.0]))
    assert np.isnan(found[:2]).all()
    assert found[2] == -np.inf


def test_scores_and_rows_left_out_show_a_bar_once_they_take_long(clock, bars):
    rng = np.random.default_rng(12)
    fit = discrim.naive_bayes("y ~ x", {"x": rng.normal(size=500), "y": ["a", "b"] * 250}, kernel=True)
    fit.predict()
    fit.leave_one_out()
    assert not bars
    clock.seconds_per_read = 5.0
    fit.predict()
    fit._fit.cache.clear()
    fit.leave_one_out()
    expected = [(description, 500, 500, True) for description in ("scores of rows", "rows left out")]
    assert [(bar.desc, bar.n, bar.total, bar.closed) for bar in bars] == expected
