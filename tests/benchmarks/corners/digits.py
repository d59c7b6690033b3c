"""Near-dependent and constant columns, and leave-one-out of classes of few rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from tests.benchmarks.corners import corner
from tests.benchmarks.timing import made


def _near_dependent(p: int) -> Callable[[], object]:
    from discrim import lda

    rng = np.random.default_rng(1)
    n = 2 * p + 50
    x = rng.standard_normal((n, 1)) + 1e-6 * rng.standard_normal((n, p))
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.arange(n) % 2)
    return lambda: lda("y ~ .", data=frame)


@corner("lda of 400 near-dependent columns")
def near_dependent() -> Callable[[], object]:
    return _near_dependent(400)


@corner("lda of 600 near-dependent columns")
def more_near_dependent() -> Callable[[], object]:
    return _near_dependent(600)


@corner("lda 200,000 x 50 x 10, one column constant")
def one_constant() -> Callable[[], object]:
    from discrim import lda

    _, _, frame = made(200_000, 50, 10)
    frame["x7"] = 0.1
    return lambda: lda("y ~ .", data=frame, collinear="drop")


def _left_out(verb: str, n: int, p: int, k: int) -> Callable[[], object]:
    import discrim

    _, _, frame = made(n, p, k)
    fit = getattr(discrim, verb)("y ~ .", data=frame.assign(y=np.arange(n) % k))
    return lambda: fit.leave_one_out()


@corner("leave-one-out, qda 10 classes of 110 x 100")
def quadratic_of_few() -> Callable[[], object]:
    return _left_out("qda", 1_100, 100, 10)


@corner("leave-one-out, lda 320 x 300 x 2")
def linear_of_few() -> Callable[[], object]:
    return _left_out("lda", 320, 300, 2)
