"""How much to regularize and to shrink, chosen."""

from __future__ import annotations

from collections.abc import Callable

import discrim
from tests.benchmarks.corners import corner
from tests.benchmarks.corners.neighbours import normal_rows

SHAPES = {"iris": (150, 4, 3), "wine": (178, 13, 3), "vehicle": (846, 18, 4), "digits": (1797, 64, 10)}


def small(verb: Callable[..., object], shape: tuple[int, int, int], times: int) -> Callable[[], object]:
    tables = [normal_rows(*shape, seed) for seed in range(times)]
    return lambda: [verb("y ~ .", table) for table in tables]


def _enter(verb: str, name: str, shape: tuple[int, int, int], times: int) -> None:
    @corner(f"{verb}, {times} tables like {name}" if times > 1 else f"{verb}, one table like {name}")
    def case() -> Callable[[], object]:
        return small(getattr(discrim, verb), shape, times)


for _verb in ("lda", "rda", "shrunken_centroids"):
    for _name, _shape in SHAPES.items():
        _enter(_verb, _name, _shape, {"iris": 50, "wine": 50, "vehicle": 10, "digits": 1}[_name])
    _enter(_verb, "1,600 x 1,000", (1600, 1000, 4), 1)
    _enter(_verb, "100,000 x 10", (100_000, 10, 3), 1)
    _enter(_verb, "5,000 x 200", (5000, 200, 10), 1)


@corner("rda by leave-one-out, 2,000 x 100")
def left_out() -> Callable[[], object]:
    table = normal_rows(2000, 100, 4)
    return lambda: discrim.rda("y ~ .", table, folds="loo")


@corner("rda by Friedman's mixture, 1,600 x 1,000")
def friedman() -> Callable[[], object]:
    table = normal_rows(1600, 1000, 4)
    return lambda: discrim.rda("y ~ .", table, parametrization="friedman")


@corner("perceptron left out, 700 x 10 x 3")
def perceptron() -> Callable[[], object]:
    fit = discrim.perceptron("y ~ .", normal_rows(700, 10, 3))
    return fit.leave_one_out
