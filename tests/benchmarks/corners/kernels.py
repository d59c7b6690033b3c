"""Kernel densities of many rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import discrim
from tests.benchmarks.corners import slow_case
from tests.benchmarks.corners.neighbours import normal_rows

KERNEL = {"kernel": True}


def heavy_tailed_rows(n: int) -> pd.DataFrame:
    """Simulate rows of three t distributed columns in two classes."""
    rng = np.random.default_rng(2)
    return pd.DataFrame(rng.standard_t(2, (n, 3))).add_prefix("x").assign(y=rng.integers(0, 2, n).astype(str))


@slow_case("naive_bayes kernel predicts 100,000 x 10")
def kernel_predict() -> Callable[[], object]:
    table = normal_rows(100_000, 10, 3)
    return lambda: discrim.naive_bayes("y ~ .", table, **KERNEL).predict(table)


@slow_case("naive_bayes kernel summary, 100,000 x 10")
def kernel_summary() -> Callable[[], object]:
    table = normal_rows(100_000, 10, 3)
    return lambda: discrim.naive_bayes("y ~ .", table, **KERNEL).summary().as_text()


@slow_case("naive_bayes kernel loo, 30,000 x 3, heavy tails")
def kernel_leave_one_out() -> Callable[[], object]:
    fit = discrim.naive_bayes("y ~ .", heavy_tailed_rows(30_000), **KERNEL)
    return lambda: fit.leave_one_out()


@slow_case("naive_bayes kernel predicts 30,000 x 3, heavy tails")
def kernel_predict_heavy_tails() -> Callable[[], object]:
    table = heavy_tailed_rows(30_000)
    return lambda: discrim.naive_bayes("y ~ .", table, **KERNEL).predict(table)


@slow_case("naive_bayes kernel loo, 50,000 x 4, one class between the modes of another")
def kernel_leave_one_out_in_gap() -> Callable[[], object]:
    rng = np.random.default_rng(3)
    codes, noise = rng.integers(0, 2, 50_000), 0.01 * rng.normal(size=(50_000, 4))
    rows = np.where(codes[:, None] == 0, rng.choice([-1.0, 1.0], (50_000, 4)), 0.0) + noise
    fit = discrim.naive_bayes(
        "y ~ .", pd.DataFrame(rows).add_prefix("x").assign(y=codes.astype(str)), **KERNEL
    )
    return lambda: fit.leave_one_out()


@slow_case("naive_bayes kernel loo, 20,000 x 10, 100 classes")
def kernel_leave_one_out_many_classes() -> Callable[[], object]:
    fit = discrim.naive_bayes("y ~ .", normal_rows(20_000, 10, 100), **KERNEL)
    return lambda: fit.leave_one_out()
