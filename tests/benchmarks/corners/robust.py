"""Minimum covariance determinants of many rows and of many columns."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks.corners import slow_case
from tests.benchmarks.timing import simulate_classes


def _mcd_fit(n: int, p: int, k: int) -> Callable[[], object]:
    from discrim import lda

    _, _, frame = simulate_classes(n, p, k)
    return lambda: lda("y ~ .", data=frame, covariance="mcd")


@slow_case("mcd 100,000 x 4 x 3")
def mcd_many_rows() -> Callable[[], object]:
    return _mcd_fit(100_000, 4, 3)


@slow_case("mcd 2,000 x 200 x 2")
def mcd_many_columns() -> Callable[[], object]:
    return _mcd_fit(2_000, 200, 2)
