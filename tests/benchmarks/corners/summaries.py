"""Summaries and intervals of many classes and columns."""

from __future__ import annotations

from collections.abc import Callable

import discrim
from tests.benchmarks.corners import slow_case
from tests.benchmarks.corners.neighbours import normal_rows


def _register(verb: str, method: str, shape: tuple[int, int, int]) -> None:
    """Register the case of calling a method of a fit."""
    n, p, k = shape

    @slow_case(f"{verb} {method}, {n:,} x {p:,}, {k} classes")
    def case() -> Callable[[], object]:
        fit = getattr(discrim, verb)("y ~ .", normal_rows(n, p, k))
        if method == "summary":
            return lambda: fit.summary().as_text()
        return lambda: getattr(fit, method)()


for _verb in ("lda", "qda", "naive_bayes", "shrunken_centroids", "indicator"):
    _register(_verb, "summary", (20_000, 20, 500))
    _register(_verb, "summary", (5000, 200, 10))
_register("lda", "summary", (20_000, 300, 500))
_register("lda", "posterior_intervals", (20_000, 20, 500))
_register("lda", "posterior_intervals", (100_000, 10, 3))
_register("qda", "posterior_intervals", (20_000, 10, 300))
_register("lda", "distances", (20_000, 20, 500))
_register("lda", "error_rates", (20_000, 20, 500))
