"""Nearest neighbours: ties, many rows to choose k by, many classes, metrics other than Euclid's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import discrim
from tests.benchmarks.corners import corner


def normal_rows(n: int, p: int, classes: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    codes[:classes] = np.arange(classes)
    rows = rng.normal(size=(n, p)) + rng.normal(size=(classes, p))[codes]
    return pd.DataFrame(rows).add_prefix("x").assign(y=codes.astype(str))


def whole_rows(n: int, p: int, high: int, classes: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(0, high, (n, p)).astype(float)).add_prefix("x")
    return rows.assign(y=rng.integers(0, classes, n).astype(str))


def fitted(table: pd.DataFrame, **options: object) -> Callable[[], object]:
    return lambda: discrim.knn("y ~ .", table, **options)


def left_out(table: pd.DataFrame, **options: object) -> Callable[[], object]:
    fit = discrim.knn("y ~ .", table, k=5, **options)
    return lambda: fit.leave_one_out()


@corner("knn loo, 8,000 x 6, whole numbers to 5")
def ties() -> Callable[[], object]:
    return left_out(whole_rows(8000, 6, 5))


@corner("knn loo, 20,000 x 3, whole numbers to 10, not scaled")
def many_ties() -> Callable[[], object]:
    return left_out(whole_rows(20_000, 3, 10), scale=False)


@corner("knn loo, 10,000 x 30, zeros and ones")
def zero_one() -> Callable[[], object]:
    return left_out(whole_rows(10_000, 30, 2))


@corner("knn chosen, 8,000 x 6, whole numbers to 5")
def ties_chosen() -> Callable[[], object]:
    return fitted(whole_rows(8000, 6, 5))


@corner("knn chosen, 100,000 x 10, 3 classes")
def chosen() -> Callable[[], object]:
    return fitted(normal_rows(100_000, 10, 3))


@corner("knn chosen, 20,000 x 50, 3,000 classes")
def classes() -> Callable[[], object]:
    return fitted(normal_rows(20_000, 50, 3000))


@corner("knn predicts 20,000 x 50, 3,000 classes")
def classes_predicted() -> Callable[[], object]:
    table = normal_rows(20_000, 50, 3000)
    fit = discrim.knn("y ~ .", table, k=5)
    return lambda: fit.predict(table)


@corner("knn chosen, cityblock, 30,000 x 20")
def cityblock() -> Callable[[], object]:
    return fitted(normal_rows(30_000, 20, 3), metric="cityblock")


@corner("knn chosen, canberra, 10,000 x 20")
def canberra() -> Callable[[], object]:
    return fitted(normal_rows(10_000, 20, 3), metric="canberra")


@corner("knn chosen, mahalanobis, 30,000 x 20")
def mahalanobis() -> Callable[[], object]:
    return fitted(normal_rows(30_000, 20, 3), metric="mahalanobis")


@corner("knn chosen, 5,000 x 200")
def wide() -> Callable[[], object]:
    return fitted(normal_rows(5000, 200, 10))


@corner("knn chosen, 200 tables like wine")
def small() -> Callable[[], object]:
    tables = [normal_rows(178, 13, 3, seed) for seed in range(200)]
    return lambda: [discrim.knn("y ~ .", table) for table in tables]
