"""Choice of regularization and shrinkage by cross-validation."""

from __future__ import annotations

from collections.abc import Callable

import discrim
from tests.benchmarks.corners import slow_case
from tests.benchmarks.corners.neighbours import normal_rows

SHAPES = {"iris": (150, 4, 3), "wine": (178, 13, 3), "vehicle": (846, 18, 4), "digits": (1797, 64, 10)}


def fit_each_table(
    verb: Callable[..., object], shape: tuple[int, int, int], times: int
) -> Callable[[], object]:
    """Return a call that fits a verb to simulated tables of one shape."""
    tables = [normal_rows(*shape, seed) for seed in range(times)]
    return lambda: [verb("y ~ .", table) for table in tables]


def _register(verb: str, name: str, shape: tuple[int, int, int], times: int) -> None:
    """Register the case of fitting a verb to some tables of one shape."""

    @slow_case(f"{verb}, {times} tables like {name}" if times > 1 else f"{verb}, one table like {name}")
    def case() -> Callable[[], object]:
        return fit_each_table(getattr(discrim, verb), shape, times)


for _verb in ("lda", "rda", "shrunken_centroids"):
    for _name, _shape in SHAPES.items():
        _register(_verb, _name, _shape, {"iris": 50, "wine": 50, "vehicle": 10, "digits": 1}[_name])
    _register(_verb, "1,600 x 1,000", (1600, 1000, 4), 1)
    _register(_verb, "100,000 x 10", (100_000, 10, 3), 1)
    _register(_verb, "5,000 x 200", (5000, 200, 10), 1)


@slow_case("rda by leave-one-out, 2,000 x 100")
def rda_leave_one_out() -> Callable[[], object]:
    table = normal_rows(2000, 100, 4)
    return lambda: discrim.rda("y ~ .", table, folds="loo")


@slow_case("rda by Friedman's mixture, 1,600 x 1,000")
def rda_friedman() -> Callable[[], object]:
    table = normal_rows(1600, 1000, 4)
    return lambda: discrim.rda("y ~ .", table, parametrization="friedman")


@slow_case("perceptron left out, 700 x 10 x 3")
def perceptron_leave_one_out() -> Callable[[], object]:
    fit = discrim.perceptron("y ~ .", normal_rows(700, 10, 3))
    return fit.leave_one_out
