"""Size and power of the tests for more columns than rows, by simulation.

python -m tests.benchmarks.many_columns [--replicates 2000] [--seed 0] [--genes FOLDER]

draws two classes whose columns are correlated by 0.5^|i - j| and prints two tables in Markdown: shares
of p-values up to 0.05 where the classes are alike, and where they are not. Unlike means differ a little
in all columns ("dense") or much in three ("sparse"). Unlike covariances have correlations of 0.7^|i - j|
("dense") or three columns of three times the standard deviation ("sparse") in the second class. Spheres
are of columns that are not correlated.

With a folder of tables, each a file of numpy with X and y, it deals their labels anew in the place of
that, and prints the shares of p-values of equal means up to 0.05: columns of intensities as log2, others
as they are.
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

LAWS = ("normal", "exponential")

MEANS = ("dempster", "srivastava", "chen-qin", "cai-liu-xia, means")
SPHERES = ("john", "srivastava, spheres", "chen-zhang-zhong")
COVARIANCES = ("schott", "li-chen", "cai-liu-xia, covariances")


def root(p: int, correlation: float) -> NDArray[np.float64]:
    """Triangular root of a covariance whose correlations fall with the distance of the columns."""
    return np.linalg.cholesky(correlation ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))


def drawn(
    rng: np.random.Generator,
    n: int,
    p: int,
    law: str = "normal",
    unlike: str = "",
    k: int = 2,
    correlation: float = 0.5,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Rows (k n, p) of k classes and their codes; the last class is unlike the others as the words say."""
    z = rng.standard_normal((k * n, p)) if law == "normal" else rng.exponential(size=(k * n, p)) - 1
    x, codes = z @ root(p, correlation).T, np.repeat(np.arange(k), n)
    last = codes == k - 1
    if unlike == "means, dense":
        x[last] += 3 / np.sqrt(n) * (p / 50) ** -0.25 * rng.choice([-0.5, 0.5], p)
    elif unlike == "means, sparse":
        x[np.ix_(last, rng.choice(p, 3, replace=False))] += 4 / np.sqrt(n)
    elif unlike == "covariances, dense":
        x[last] = z[last] @ root(p, 0.7).T
    elif unlike == "covariances, sparse":
        x[np.ix_(last, rng.choice(p, 3, replace=False))] *= 3
    return x, codes


def p_values(
    x: NDArray[np.float64], codes: NDArray[np.intp], asked: Sequence[str] = (*MEANS, *SPHERES, *COVARIANCES)
) -> dict[str, float]:
    """Of each test that is asked for; those of two classes alone where there are no more."""
    k, p = int(codes.max()) + 1, x.shape[1]
    moments = ClassMoments.from_block(x, codes, n_classes=k, required_moments="thin class")
    z = deviations_from_class_means(moments, x, codes) * moments.common_unit[:, None]
    fourth = np.bincount(codes, column_squares(z) ** 2)

    def largest() -> TestResult:
        gap = tests.largest_covariance_difference([z[:, codes == c].T for c in range(2)], [None, None])
        return tests.cai_liu_xia_covariance_test(gap.statistic, p, "")

    made: dict[str, Callable[[], TestResult]] = {
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
        made |= {
            "li-chen": lambda: tests.li_chen_test(moments, fourth),
            "cai-liu-xia, covariances": largest,
        }
    return {name: made[name]().pvalue for name in asked if name in made}


def rejected(replicates: int, seed: int, n: int, p: int, **options: Any) -> pd.Series:
    """Shares of p-values up to 0.05."""
    rng = np.random.default_rng([seed, n, p])
    found = [p_values(*drawn(rng, n, p, **options)) for _ in range(replicates)]
    return (pd.DataFrame(found) <= 0.05).mean()


def tables(replicates: int, seed: int) -> Iterator[pd.DataFrame]:
    """Sizes by law and shape, then powers of normal classes."""
    sizes = {
        f"{n} x {p}, {law}": rejected(replicates, seed, n, p, law=law) for law in LAWS for n, p in SHAPES
    }
    for law in LAWS:
        for n, p in SHAPES:
            spheres = rejected(replicates, seed, n, p, law=law, correlation=0.0)
            sizes[f"{n} x {p}, {law}"][[*SPHERES]] = spheres[[*SPHERES]]
    yield pd.DataFrame(sizes).T[[*MEANS, *COVARIANCES, *SPHERES]]
    powers = {}
    for what, names in (("means", MEANS), ("covariances", COVARIANCES)):
        for how in ("dense", "sparse"):
            for n, p in ((20, 200), (60, 200)):
                found = rejected(replicates, seed + 1, n, p, unlike=f"{what}, {how}")
                powers[f"{what}, {how}, {n} x {p}"] = found[[*names]]
    yield pd.DataFrame(powers).T[[*MEANS, *COVARIANCES]]


def relabelled(file: Path, replicates: int, seed: int) -> pd.Series:
    """Shares of p-values up to 0.05 of equal means, the labels of a table being dealt anew."""
    held = np.load(file)
    x, codes = held["X"], np.unique(held["y"], return_inverse=True)[1]
    # Intensities of chips are positive, and many times as large in some cells as in others.
    x = np.log2(x) if x.min() > 0 else x
    rng = np.random.default_rng(seed)
    found = [p_values(x, rng.permutation(codes), MEANS) for _ in range(replicates)]
    return (pd.DataFrame(found) <= 0.05).mean()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--replicates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--genes", type=Path)
    given = parser.parse_args()
    if given.genes is not None:
        for file in sorted(given.genes.glob("*.npz")):
            print(file.stem, relabelled(file, given.replicates, given.seed).round(3).to_dict(), flush=True)
        return
    for table in tables(given.replicates, given.seed):
        print(table.round(3).to_string(na_rep=""), flush=True)


if __name__ == "__main__":
    main()
