"""Nearly dependent and constant columns, and leave-one-out of classes with few rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from tests.benchmarks.corners import slow_case
from tests.benchmarks.timing import simulate_classes


def _fit_near_dependent(p: int) -> Callable[[], object]:
    from discrim import lda

    rng = np.random.default_rng(1)
    n = 2 * p + 50
    x = rng.standard_normal((n, 1)) + 1e-6 * rng.standard_normal((n, p))
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.arange(n) % 2)
    return lambda: lda("y ~ .", data=frame)


@slow_case("lda of 400 near-dependent columns")
def lda_near_dependent_400() -> Callable[[], object]:
    return _fit_near_dependent(400)


@slow_case("lda of 600 near-dependent columns")
def lda_near_dependent_600() -> Callable[[], object]:
    return _fit_near_dependent(600)


@slow_case("lda 200,000 x 50 x 10, one column constant")
def lda_constant_column() -> Callable[[], object]:
    from discrim import lda

    _, _, frame = simulate_classes(200_000, 50, 10)
    frame["x7"] = 0.1
    return lambda: lda("y ~ .", data=frame, collinear="drop")


def _leave_one_out(verb: str, n: int, p: int, k: int) -> Callable[[], object]:
    import discrim

    _, _, frame = simulate_classes(n, p, k)
    fit = getattr(discrim, verb)("y ~ .", data=frame.assign(y=np.arange(n) % k))
    return lambda: fit.leave_one_out()


@slow_case("leave-one-out, qda 10 classes of 110 x 100")
def qda_small_classes() -> Callable[[], object]:
    return _leave_one_out("qda", 1_100, 100, 10)


@slow_case("leave-one-out, lda 320 x 300 x 2")
def lda_small_classes() -> Callable[[], object]:
    return _leave_one_out("lda", 320, 300, 2)
