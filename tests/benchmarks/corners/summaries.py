"""Summaries and intervals of many classes and columns."""

from __future__ import annotations

from collections.abc import Callable

import discrim
from tests.benchmarks.corners import corner
from tests.benchmarks.corners.neighbours import normal_rows


def _enter(verb: str, what: str, shape: tuple[int, int, int]) -> None:
    n, p, k = shape

    @corner(f"{verb} {what}, {n:,} x {p:,}, {k} classes")
    def case() -> Callable[[], object]:
        fit = getattr(discrim, verb)("y ~ .", normal_rows(n, p, k))
        if what == "summary":
            return lambda: fit.summary().as_text()
        return lambda: getattr(fit, what)()


for _verb in ("lda", "qda", "naive_bayes", "shrunken_centroids", "indicator"):
    _enter(_verb, "summary", (20_000, 20, 500))
    _enter(_verb, "summary", (5000, 200, 10))
_enter("lda", "summary", (20_000, 300, 500))
_enter("lda", "posterior_intervals", (20_000, 20, 500))
_enter("lda", "posterior_intervals", (100_000, 10, 3))
_enter("qda", "posterior_intervals", (20_000, 10, 300))
_enter("lda", "distances", (20_000, 20, 500))
_enter("lda", "error_rates", (20_000, 20, 500))
