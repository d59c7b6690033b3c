"""Means of kernels at many radii at once, against sums that know of no order and no reach."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from discrim import kernel_density
from discrim.core.neighbours.kernel_density import KERNELS, Places, log_means
from discrim.core.scatter.covariance import Covariance
from tests.benchmarks.timing import made

ALL = ("normal", *KERNELS)


def direct(kernel, d2, radii, weights, total):
    """Logarithms (L, m) of means, of all rows and without an order."""
    u = d2 / radii[:, :, None] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if kernel == "normal":
            logs = -u / 2
        elif kernel == "uniform":
            logs = np.where(u <= 1, 0.0, -np.inf)
        else:
            logs = KERNELS[kernel] * np.log(np.maximum(1 - u, 0.0))
        return logsumexp(logs + np.log(weights), axis=2) - np.log(total)


@pytest.mark.parametrize("kernel", ALL)
@pytest.mark.parametrize("kind", ["ones", "rows", "pairs"])
def test_means_at_many_radii_are_those_of_each(kernel, kind):
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
    many = log_means(kernel, d2.copy(), edge, radii, weights, total)
    single = [log_means(kernel, d2.copy(), edge, radius[None], weights, total)[0] for radius in radii]
    np.testing.assert_allclose(many, expected, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(single, expected, rtol=1e-13, atol=1e-12)


def test_what_lies_beyond_reach_is_less_than_rounding():
    """Many rows just beyond the reach of the nearest: the sum is that of 40 digits."""
    d2 = np.concatenate([[0.0], np.linspace(60.0, 110.0, 5000)])[None]
    with mpmath.workdps(40):
        exact = [
            float(mpmath.log(mpmath.fsum(mpmath.exp(-mpmath.mpf(u) / (2 * r * r)) for u in d2[0]) / 5001))
            for r in (0.9, 1.0, 1.1)
        ]
    radii = np.array([[0.9], [1.0], [1.1]])
    means = log_means("normal", d2.copy(), np.zeros(1), radii, np.ones(5001), np.array([5001.0]))
    np.testing.assert_allclose(means[:, 0], exact, rtol=4e-16)


def test_rows_that_all_leave_have_no_mean():
    place = Places(np.zeros(1), np.ones(1), Covariance.from_root(np.ones(1)), np.zeros((1, 1)), np.ones(1))
    assert place.resolution == 0
    for kernel in ALL:
        for radii in (np.ones((1, 2)), np.ones((3, 2))):
            with np.errstate(divide="ignore"):
                means = log_means(
                    kernel, np.full((2, 4), np.inf), np.zeros(2), radii, np.ones(4), np.zeros(2)
                )
            assert (means == -np.inf).all()


@pytest.mark.parametrize("kernel", ["normal", "biweight"])
def test_a_path_is_of_fits_without_each_row(kernel):
    _, _, table = made(14, 2, 2)
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
