"""Means of kernels at many radii at once, against sums that know of no order and no reach."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from discrim import kernel_density
from discrim.core.covariance.covariance import Covariance
from discrim.core.neighbours.kernel_density import (
    BOUNDED_KERNEL_POWERS,
    ClassPoints,
    KernelSeries,
    log_mean_kernels,
)
from tests.benchmarks.timing import simulate_classes

ALL = ("normal", *BOUNDED_KERNEL_POWERS)


def direct(kernel, d2, radii, weights, total):
    """Logarithms (L, m) of means, of all rows and without an order."""
    u = d2 / radii[:, :, None] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if kernel == "normal":
            logs = -u / 2
        elif kernel == "uniform":
            logs = np.where(u <= 1, 0.0, -np.inf)
        else:
            logs = BOUNDED_KERNEL_POWERS[kernel] * np.log(np.maximum(1 - u, 0.0))
        return logsumexp(logs + np.log(weights), axis=2) - np.log(total)


@pytest.mark.parametrize("kernel", ALL)
@pytest.mark.parametrize("kind", ["ones", "rows", "pairs"])
def test_means_at_many_radii_match_each_radius(kernel, kind):
    rng = np.random.default_rng(7)
    d2 = 10.0 ** rng.uniform(-6, 4, (9, 60))
    weights = {
        "ones": np.ones(60),
        "rows": 10.0 ** rng.uniform(-250, 3, 60),
        "pairs": np.where(rng.random((9, 60)) < 0.2, 0.0, rng.random((9, 60))),
    }[kind]
    radii = np.geomspace(1e-3, 1e3, 25)[:, None] * rng.uniform(0.5, 2, 9)
    total = np.broadcast_to(weights, d2.shape).sum(axis=1)
    edge = np.zeros(9)
    expected = direct(kernel, d2, radii, weights, total)
    many = log_mean_kernels(kernel, d2.copy(), edge, radii, weights, total)
    single = [log_mean_kernels(kernel, d2.copy(), edge, radius[None], weights, total)[0] for radius in radii]
    np.testing.assert_allclose(many, expected, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(single, expected, rtol=1e-13, atol=1e-12)


def test_neglected_kernels_are_smaller_than_rounding():
    """Many rows just beyond the reach of the nearest: the sum is that of 40 digits."""
    d2 = np.concatenate([[0.0], np.linspace(60.0, 110.0, 5000)])[None]
    with mpmath.workdps(40):
        exact = [
            float(mpmath.log(mpmath.fsum(mpmath.exp(-mpmath.mpf(u) / (2 * r * r)) for u in d2[0]) / 5001))
            for r in (0.9, 1.0, 1.1)
        ]
    radii = np.array([[0.9], [1.0], [1.1]])
    means = log_mean_kernels("normal", d2.copy(), np.zeros(1), radii, np.ones(5001), np.array([5001.0]))
    np.testing.assert_allclose(means[:, 0], exact, rtol=4e-16)


GRIDS = {
    "geometric": np.geomspace(0.15, 6.0, 30),
    "wide": np.array([1e-4, 3.0, 1e4, 0.2, 0.9, 30.0, 1e-3, 1.1]),
    "equal": np.full(8, 0.7),
    "tiny": 1e-100 * np.arange(1.0, 9.0),
}


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("weighed", [False, True])
def test_series_are_sums_of_40_digits(grid, weighed):
    radii, rng = GRIDS[grid], np.random.default_rng(11)
    # Distances within the narrowest kernel and beyond the widest, equal ones, and ends of intervals.
    d2 = radii.min() * rng.uniform(0, 1, 60) * radii.max() * 10.0 ** rng.uniform(-9, 2, 60)
    d2 = np.concatenate([[0.0, 0.0], d2, radii.min() ** 2 * 2.0 ** np.arange(-3, 9), [np.inf]])
    weights = 10.0 ** rng.uniform(-3, 3, len(d2)) if weighed else np.ones(len(d2))
    far = 37 + np.log(len(d2) * weights.max() / weights.min())
    series = KernelSeries.from_radii(radii, far)
    assert series is not None
    sums = series.sums(d2[None].copy(), weights)[:, 0]
    with mpmath.workdps(40):
        pairs = list(zip(d2[:-1].tolist(), weights.tolist(), strict=False))
        exact = [
            mpmath.fsum(w * mpmath.exp(-mpmath.mpf(u) / (2 * mpmath.mpf(r) ** 2)) for u, w in pairs)
            for r in radii.tolist()
        ]
        errors = [float(s / e - 1) for s, e in zip(sums.tolist(), exact, strict=True)]
    assert np.abs(errors).max() < 2e-15


def test_series_error_is_negligible_in_the_worst_case():
    """Ten thousand rows at any one distance beside the nearest row."""
    radii = np.geomspace(1.0, 2.0, 8)
    series = KernelSeries.from_radii(radii, 37 + np.log(1e4))
    assert series is not None
    at = np.linspace(1e-3, 200.0, 997)
    sums = series.sums(np.stack([np.zeros_like(at), at], axis=1), np.array([1.0, 1e4]))
    with np.errstate(under="ignore"):
        expected = 1.0 + 1e4 * np.exp(-at / (2 * radii[:, None] ** 2))
    # Exponents are below 10 where the rows count, and are rounded here and there.
    np.testing.assert_allclose(sums, expected, rtol=4e-15)


def test_series_is_not_used_for_very_different_radii():
    assert KernelSeries.from_radii(np.array([1e-200, 1.0, 1e200]), 40.0) is None
    assert KernelSeries.from_radii(np.geomspace(0.1, 1.0, 9), 600.0) is None


def test_rows_that_require_a_refit_do_not_affect_others():
    series = KernelSeries.from_radii(np.geomspace(0.1, 1.0, 9), 40.0)
    assert series is not None
    d2 = np.array([[0.0, 1.0], [np.nan, -np.nan], [0.0, 2.0]])
    sums = series.sums(d2, np.ones(2))
    assert np.isnan(sums[:, 1]).all()
    np.testing.assert_array_equal(sums[:, [0, 2]], series.sums(d2[[0, 2]], np.ones(2)))


@pytest.mark.parametrize("metric", ["mahalanobis", "diagonal", "euclidean"])
@pytest.mark.parametrize("repeated", [False, True])
def test_long_grid_matches_single_bandwidths(metric, repeated):
    _, _, table = simulate_classes(300, 2, 2)
    if repeated:
        table[["x0", "x1"]] = table[["x0", "x1"]].round(1)
    grid = np.geomspace(0.1, 4.0, 12)
    path = kernel_density("y ~ .", table, grid=grid, metric=metric).path
    for part in (grid[:6], grid[6:]):
        few = kernel_density("y ~ .", table, grid=part, metric=metric).path
        rows = path["bandwidth"].isin(part)
        np.testing.assert_allclose(path.loc[rows, "llf"], few["llf"], rtol=1e-14)
        np.testing.assert_array_equal(path.loc[rows, "error"], few["error"])


def test_mean_is_undefined_if_all_rows_are_left_out():
    place = ClassPoints(
        np.zeros(1), np.ones(1), Covariance.from_root(np.ones(1)), np.zeros((1, 1)), np.ones(1)
    )
    assert place.resolution == 0
    for kernel in ALL:
        for radii in (np.ones((1, 2)), np.ones((3, 2))):
            with np.errstate(divide="ignore"):
                means = log_mean_kernels(
                    kernel, np.full((2, 4), np.inf), np.zeros(2), radii, np.ones(4), np.zeros(2)
                )
            assert (means == -np.inf).all()


@pytest.mark.parametrize("kernel", ["normal", "biweight"])
def test_a_path_is_of_fits_without_each_row(kernel):
    _, _, table = simulate_classes(14, 2, 2)
    grid = [0.4, 1.0, 3.0] if kernel == "normal" else [8.0, 9.0, 12.0]
    path = kernel_density("y ~ .", table, grid=grid, kernel=kernel, select="error").path
    for h, llf in zip(grid, path["llf"], strict=True):
        logs = [
            kernel_density("y ~ .", table.drop(index=i), bandwidth=h, kernel=kernel)
            .log_densities(table.loc[[i]])[table["y"][i]]
            .iloc[0]
            for i in table.index
        ]
        assert llf == pytest.approx(sum(logs), rel=1e-9)
