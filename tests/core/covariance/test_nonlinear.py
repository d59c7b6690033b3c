"""Analytical nonlinear shrinkage of eigenvalues: golden values, invariances, the oracle of simulations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from discrim.core.covariance import nonlinear
from discrim.core.covariance.nonlinear import shrink_eigenvalues, spectral_density
from discrim.core.numerics.arrays import Floats

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "nonlinear.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["spectra"].values(), ids=GOLDEN["spectra"])
def test_shrunk_eigenvalues_match_60_digit_arithmetic(case: dict[str, Any]) -> None:
    actual = shrink_eigenvalues(np.array(case["eigenvalues"]), case["columns"], case["df"])
    np.testing.assert_allclose(actual, case["shrunk"], rtol=1e-14)


@pytest.mark.parametrize("df", [12, 100, 10_000])
def test_density_and_hilbert_transform_match_kernel_integrals(df: int) -> None:
    bandwidth, eigenvalues = df ** (-1 / 3), np.array([0.5, 1.0, 1.1, 4.0])

    def kernel(t: float, one: float) -> float:
        half = np.sqrt(5.0) * bandwidth * one
        return float(0.75 / half * (1.0 - ((t - one) / half) ** 2))

    def cauchy(t: float, one: float, point: float) -> float:
        return kernel(t, one) / (t - point)

    density, hilbert = spectral_density(eigenvalues, bandwidth)
    for i, point in enumerate(eigenvalues.tolist()):
        f, h = 0.0, 0.0
        for one in eigenvalues.tolist():
            low, high = one * (1 - np.sqrt(5.0) * bandwidth), one * (1 + np.sqrt(5.0) * bandwidth)
            if low < point < high:
                f += kernel(point, one)
                h += quad(kernel, low, high, (one,), weight="cauchy", wvar=point)[0]
            else:
                h += quad(cauchy, low, high, (one, point))[0]
        # Both are pi times the eigenvalue times the mean over the eigenvalues; Hilbert's integral is over pi.
        np.testing.assert_allclose(density[i], np.pi * point * f / 4, rtol=1e-12)
        np.testing.assert_allclose(hilbert[i], point * h / 4, rtol=1e-9)


SIZES = [(30, 30, 45.0), (30, 30, 30.0), (30, 31, 30.0), (30, 500, 30.0)]


def spectrum(r: int) -> Floats:
    return np.sort(np.random.default_rng(r).chisquare(3, r))[::-1]


@pytest.mark.parametrize(("r", "p", "df"), SIZES)
@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
def test_scaling_by_a_power_of_two_is_exact(r: int, p: int, df: float, factor: float) -> None:
    actual = shrink_eigenvalues(spectrum(r), p, df)
    np.testing.assert_array_equal(shrink_eigenvalues(factor * spectrum(r), p, df), factor * actual)
    assert (actual > 0).all()


@pytest.mark.parametrize(("r", "p", "df"), SIZES)
def test_shrunk_eigenvalues_follow_the_order_of_the_eigenvalues(r: int, p: int, df: float) -> None:
    actual = shrink_eigenvalues(spectrum(r), p, df)
    permuted = shrink_eigenvalues(spectrum(r)[::-1], p, df)
    np.testing.assert_allclose(permuted[:r], actual[:r][::-1], rtol=1e-13)
    np.testing.assert_allclose(permuted[r:], actual[r:], rtol=1e-13)


def test_degrees_of_freedom_do_not_matter_for_fewer_eigenvalues_than_columns() -> None:
    np.testing.assert_array_equal(
        shrink_eigenvalues(spectrum(30), 40, 30.0), shrink_eigenvalues(spectrum(30), 40, 80.0)
    )


def test_small_chunks_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = shrink_eigenvalues(spectrum(50), 50, 60.0)
    monkeypatch.setattr(nonlinear, "MAX_CHUNK_PAIRS", 130)
    np.testing.assert_allclose(shrink_eigenvalues(spectrum(50), 50, 60.0), actual, rtol=1e-14)


def three_values(p: int) -> Floats:
    return np.repeat([1.0, 3.0, 10.0], [p // 5, 2 * p // 5, 2 * p // 5])


def geometric(p: int) -> Floats:
    return np.geomspace(1.0, 20.0, p)


def spiked(p: int) -> Floats:
    return np.concatenate([np.ones(p - 3), [10.0, 20.0, 50.0]])


def improvement(true: Floats, n: int, seed: int) -> tuple[float, float]:
    """Share of the squared error about the oracle u'Sigma u that shrinkage removes, and ratio of traces."""
    x = np.random.default_rng(seed).standard_normal((n, len(true))) * np.sqrt(true)
    _, singular, axes = np.linalg.svd(x / np.sqrt(n))
    r = min(n, len(true))
    shrunk = shrink_eigenvalues(singular[:r] ** 2, len(true), n)
    sample = np.concatenate([singular**2, np.zeros(len(true) - r)])
    oracle = axes**2 @ true
    ratio = ((shrunk - oracle) ** 2).sum() / ((sample - oracle) ** 2).sum()
    return 1.0 - float(ratio), float(shrunk.sum() / sample.sum())


@pytest.mark.slow
@pytest.mark.parametrize(("population", "smallest"), [(three_values, 0.95), (geometric, 0.95), (spiked, 0.8)])
@pytest.mark.parametrize("concentration", [1 / 3, 0.9, 1.0, 1.1, 2.0])
def test_shrunk_eigenvalues_tend_to_the_oracle(
    population: Callable[[int], Floats], smallest: float, concentration: float
) -> None:
    small_sample, large_sample = (
        np.mean([improvement(population(p), round(p / concentration), i) for i in range(3)], axis=0)
        for p in (50, 240)
    )
    assert large_sample[0] > max(small_sample[0], smallest)
    assert abs(large_sample[1] - 1.0) < 0.02
