"""Nearest neighbours: ties, choice of k from many rows, many classes, and metrics other than Euclidean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import discrim
from tests.benchmarks.corners import slow_case


def normal_rows(n: int, p: int, classes: int, seed: int = 0) -> pd.DataFrame:
    """Simulate normal classes; every class has at least one row."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, classes, n)
    codes[:classes] = np.arange(classes)
    rows = rng.normal(size=(n, p)) + rng.normal(size=(classes, p))[codes]
    return pd.DataFrame(rows).add_prefix("x").assign(y=codes.astype(str))


def integer_rows(n: int, p: int, high: int, classes: int = 4) -> pd.DataFrame:
    """Simulate rows of small integers, which have many ties, with random classes."""
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.integers(0, high, (n, p)).astype(float)).add_prefix("x")
    return rows.assign(y=rng.integers(0, classes, n).astype(str))


def knn_fit(table: pd.DataFrame, **options: object) -> Callable[[], object]:
    """Return a call that fits nearest neighbours to a table."""
    return lambda: discrim.knn("y ~ .", table, **options)


def knn_leave_one_out(table: pd.DataFrame, **options: object) -> Callable[[], object]:
    """Return a call that computes leave-one-out results of a fit with k = 5."""
    fit = discrim.knn("y ~ .", table, k=5, **options)
    return lambda: fit.leave_one_out()


@slow_case("knn loo, 8,000 x 6, whole numbers to 5")
def knn_ties() -> Callable[[], object]:
    return knn_leave_one_out(integer_rows(8000, 6, 5))


@slow_case("knn loo, 20,000 x 3, whole numbers to 10, not scaled")
def knn_many_ties() -> Callable[[], object]:
    return knn_leave_one_out(integer_rows(20_000, 3, 10), scale=False)


@slow_case("knn loo, 10,000 x 30, zeros and ones")
def knn_binary() -> Callable[[], object]:
    return knn_leave_one_out(integer_rows(10_000, 30, 2))


@slow_case("knn chosen, 8,000 x 6, whole numbers to 5")
def knn_choice_with_ties() -> Callable[[], object]:
    return knn_fit(integer_rows(8000, 6, 5))


@slow_case("knn chosen, 100,000 x 10, 3 classes")
def knn_choice() -> Callable[[], object]:
    return knn_fit(normal_rows(100_000, 10, 3))


@slow_case("knn chosen, 20,000 x 50, 3,000 classes")
def knn_choice_many_classes() -> Callable[[], object]:
    return knn_fit(normal_rows(20_000, 50, 3000))


@slow_case("knn predicts 20,000 x 50, 3,000 classes")
def knn_predict_many_classes() -> Callable[[], object]:
    table = normal_rows(20_000, 50, 3000)
    fit = discrim.knn("y ~ .", table, k=5)
    return lambda: fit.predict(table)


@slow_case("knn chosen, cityblock, 30,000 x 20")
def knn_cityblock() -> Callable[[], object]:
    return knn_fit(normal_rows(30_000, 20, 3), metric="cityblock")


@slow_case("knn chosen, canberra, 10,000 x 20")
def knn_canberra() -> Callable[[], object]:
    return knn_fit(normal_rows(10_000, 20, 3), metric="canberra")


@slow_case("knn chosen, mahalanobis, 30,000 x 20")
def knn_mahalanobis() -> Callable[[], object]:
    return knn_fit(normal_rows(30_000, 20, 3), metric="mahalanobis")


@slow_case("knn chosen, 5,000 x 200")
def knn_many_columns() -> Callable[[], object]:
    return knn_fit(normal_rows(5000, 200, 10))


@slow_case("knn chosen, 200 tables like wine")
def knn_small_tables() -> Callable[[], object]:
    tables = [normal_rows(178, 13, 3, seed) for seed in range(200)]
    return lambda: [discrim.knn("y ~ .", table) for table in tables]
