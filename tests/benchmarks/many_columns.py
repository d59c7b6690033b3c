"""Simulate size and power of the tests for more columns than rows.

    python -m tests.benchmarks.many_columns [--replicates 2000] [--seed 0] [--genes FOLDER]

Without --genes two tables are printed: the proportions of p-values up to 0.05 if the classes have the same
distribution (size), and if they have not (power). The columns have the correlations 0.5^|i - j|. Different
means
differ a little in all columns ("dense") or much in three ("sparse"). Different covariances have
correlations of
0.7^|i - j| ("dense") or a tripled standard deviation in three columns ("sparse") in the second class.
Sphericity
tests use uncorrelated columns.

With a folder of .npz files containing X and y, the labels of each file are permuted instead, and the
proportions of p-values of the tests of equal means up to 0.05 are printed. Positive intensities are
log-transformed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discrim.core.moments.moments import ClassMoments, column_squares, deviations_from_class_means
from discrim.inference import high_dimensional as tests
from discrim.inference.result import TestResult

SHAPES = ((20, 50), (20, 200), (40, 100), (60, 50), (60, 200))
"""Rows of a class, and columns."""

DISTRIBUTIONS = ("normal", "exponential")

MEAN_TESTS = ("dempster", "srivastava", "chen-qin", "cai-liu-xia, means")
SPHERICITY_TESTS = ("john", "srivastava, spheres", "chen-zhang-zhong")
COVARIANCE_TESTS = ("schott", "li-chen", "cai-liu-xia, covariances")
ALL_TESTS = (*MEAN_TESTS, *SPHERICITY_TESTS, *COVARIANCE_TESTS)


def correlation_root(p: int, correlation: float) -> NDArray[np.float64]:
    """Return the Cholesky factor (p, p) of the correlation matrix with entries correlation^|i - j|."""
    return np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))


def draw_classes(
    rng: np.random.Generator,
    n: int,
    p: int,
    distribution: str = "normal",
    difference: str = "",
    k: int = 2,
    correlation: float = 0.5,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Draw rows of k classes, of which the last may differ from the others.

    Parameters
    ----------
    rng : Generator
    n, p, k : int
        Numbers of rows of each class, columns and classes.
    distribution : {"normal", "exponential"}
    difference : str
        How the last class differs: "", or "means" or "covariances" with ", dense" or ", sparse".
    correlation : float
        Correlation of neighbouring columns.

    Returns
    -------
    x : (k n, p) ndarray
    codes : (k n,) ndarray
    """
    z = rng.standard_normal((k * n, p)) if distribution == "normal" else rng.exponential(size=(k * n, p)) - 1
    x, codes = z @ correlation_root(p, correlation).T, np.repeat(np.arange(k), n)
    last = codes == k - 1
    if difference == "means, dense":
        x[last] += 3 / np.sqrt(n) * (p / 50) ** -0.25 * rng.choice([-0.5, 0.5], p)
    elif difference == "means, sparse":
        x[np.ix_(last, rng.choice(p, 3, replace=False))] += 4 / np.sqrt(n)
    elif difference == "covariances, dense":
        x[last] = z[last] @ correlation_root(p, 0.7).T
    elif difference == "covariances, sparse":
        x[np.ix_(last, rng.choice(p, 3, replace=False))] *= 3
    return x, codes


def p_values(
    x: NDArray[np.float64],
    codes: NDArray[np.intp],
    selected: Sequence[str] = ALL_TESTS,
) -> dict[str, float]:
    """Return the p-values of the selected tests by name, without tests of two classes if there are more."""
    k, p = int(codes.max()) + 1, x.shape[1]
    moments = ClassMoments.from_block(x, codes, n_classes=k, required_moments="thin class")
    z = deviations_from_class_means(moments, x, codes) * moments.common_unit[:, None]
    fourth = np.bincount(codes, column_squares(z) ** 2)

    def covariance_difference_test() -> TestResult:
        largest = tests.largest_covariance_difference([z[:, codes == c].T for c in range(2)], [None, None])
        return tests.cai_liu_xia_covariance_test(largest.statistic, p, "")

    test_functions: dict[str, Callable[[], TestResult]] = {
        "dempster": lambda: tests.dempster_test(moments),
        "srivastava": lambda: tests.srivastava_mean_test(moments),
        "chen-qin": lambda: tests.chen_qin_test(moments, fourth),
        "cai-liu-xia, means": lambda: tests.cai_liu_xia_mean_test(moments),
        "john": lambda: tests.john_test(moments),
        "srivastava, spheres": lambda: tests.srivastava_sphere_test(moments),
        "chen-zhang-zhong": lambda: tests.chen_zhang_zhong_test(moments, fourth),
        "schott": lambda: tests.schott_test(moments),
    }
    if k == 2:
        test_functions |= {
            "li-chen": lambda: tests.li_chen_test(moments, fourth),
            "cai-liu-xia, covariances": covariance_difference_test,
        }
    return {name: test_functions[name]().pvalue for name in selected if name in test_functions}


def rejection_rates(
    replicates: int, seed: int, n: int, p: int, selected: Sequence[str] = ALL_TESTS, **options: Any
) -> pd.Series:
    """Return the proportions of simulated p-values up to 0.05 of the selected tests."""
    rng = np.random.default_rng([seed, n, p])
    results = [p_values(*draw_classes(rng, n, p, **options), selected) for _ in range(replicates)]
    return (pd.DataFrame(results) <= 0.05).mean()


def simulate_tables(replicates: int, seed: int) -> Iterator[pd.DataFrame]:
    """Yield the table of sizes by shape and distribution, and the table of powers for normal classes."""
    sizes = {
        f"{n} x {p}, {distribution}": rejection_rates(replicates, seed, n, p, distribution=distribution)
        for distribution in DISTRIBUTIONS
        for n, p in SHAPES
    }
    for distribution in DISTRIBUTIONS:
        for n, p in SHAPES:
            spheres = rejection_rates(replicates, seed, n, p, distribution=distribution, correlation=0.0)
            sizes[f"{n} x {p}, {distribution}"][[*SPHERICITY_TESTS]] = spheres[[*SPHERICITY_TESTS]]
    yield pd.DataFrame(sizes).T[[*MEAN_TESTS, *COVARIANCE_TESTS, *SPHERICITY_TESTS]]
    powers = {}
    for quantity, names in (("means", MEAN_TESTS), ("covariances", COVARIANCE_TESTS)):
        for pattern in ("dense", "sparse"):
            for n, p in ((20, 200), (60, 200)):
                rates = rejection_rates(replicates, seed + 1, n, p, difference=f"{quantity}, {pattern}")
                powers[f"{quantity}, {pattern}, {n} x {p}"] = rates[[*names]]
    yield pd.DataFrame(powers).T[[*MEAN_TESTS, *COVARIANCE_TESTS]]


def permuted_rejection_rates(file: Path, replicates: int, seed: int) -> pd.Series:
    """Return the proportions of p-values of equal means up to 0.05 with randomly permuted labels."""
    arrays = np.load(file)
    x, codes = arrays["X"], np.unique(arrays["y"], return_inverse=True)[1]
    # Intensities are positive and skewed.
    x = np.log2(x) if x.min() > 0 else x
    rng = np.random.default_rng(seed)
    results = [p_values(x, rng.permutation(codes), MEAN_TESTS) for _ in range(replicates)]
    return (pd.DataFrame(results) <= 0.05).mean()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--genes", type=Path)
    options = parser.parse_args()
    if options.genes is not None:
        for file in sorted(options.genes.glob("*.npz")):
            print(
                file.stem,
                permuted_rejection_rates(file, options.replicates, options.seed).round(3).to_dict(),
                flush=True,
            )
        return
    for table in simulate_tables(options.replicates, options.seed):
        print(table.round(3).to_string(na_rep=""), flush=True)


if __name__ == "__main__":
    main()
