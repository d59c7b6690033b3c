"""Kernel densities of many rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

import discrim
from tests.benchmarks.corners import corner
from tests.benchmarks.corners.neighbours import normal_rows

KERNEL = {"kernel": True}


def heavy_rows(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(rng.standard_t(2, (n, 3))).add_prefix("x").assign(y=rng.integers(0, 2, n).astype(str))


@corner("naive_bayes kernel predicts 100,000 x 10")
def predicted() -> Callable[[], object]:
    table = normal_rows(100_000, 10, 3)
    return lambda: discrim.naive_bayes("y ~ .", table, **KERNEL).predict(table)


@corner("naive_bayes kernel summary, 100,000 x 10")
def summary() -> Callable[[], object]:
    table = normal_rows(100_000, 10, 3)
    return lambda: discrim.naive_bayes("y ~ .", table, **KERNEL).summary().as_text()


@corner("naive_bayes kernel loo, 30,000 x 3, heavy tails")
def left_out() -> Callable[[], object]:
    fit = discrim.naive_bayes("y ~ .", heavy_rows(30_000), **KERNEL)
    return lambda: fit.leave_one_out()


@corner("naive_bayes kernel predicts 30,000 x 3, heavy tails")
def heavy() -> Callable[[], object]:
    table = heavy_rows(30_000)
    return lambda: discrim.naive_bayes("y ~ .", table, **KERNEL).predict(table)


@corner("naive_bayes kernel loo, 50,000 x 4, one class in the gap of another")
def gap() -> Callable[[], object]:
    rng = np.random.default_rng(3)
    codes, noise = rng.integers(0, 2, 50_000), 0.01 * rng.normal(size=(50_000, 4))
    rows = np.where(codes[:, None] == 0, rng.choice([-1.0, 1.0], (50_000, 4)), 0.0) + noise
    fit = discrim.naive_bayes(
        "y ~ .", pd.DataFrame(rows).add_prefix("x").assign(y=codes.astype(str)), **KERNEL
    )
    return lambda: fit.leave_one_out()


@corner("naive_bayes kernel loo, 20,000 x 10, 100 classes")
def classes() -> Callable[[], object]:
    fit = discrim.naive_bayes("y ~ .", normal_rows(20_000, 10, 100), **KERNEL)
    return lambda: fit.leave_one_out()
