"""Minimum covariance determinants of many rows and of many columns."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.corners import corner
from tests.benchmarks.timing import made


def _robust(n: int, p: int, k: int) -> Callable[[], object]:
    from discrim import lda

    _, _, frame = made(n, p, k)
    return lambda: lda("y ~ .", data=frame, covariance="mcd")


@corner("mcd 100,000 x 4 x 3")
def many_rows() -> Callable[[], object]:
    return _robust(100_000, 4, 3)


@corner("mcd 2,000 x 200 x 2")
def many_columns() -> Callable[[], object]:
    return _robust(2_000, 200, 2)
