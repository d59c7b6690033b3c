"""Known laws of many classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

import discrim
from tests.benchmarks.corners import corner


def law(classes: int, of: Callable[[float], object]) -> Callable[[], object]:
    means = np.random.default_rng(0).normal(scale=20, size=classes)
    densities = {f"c{i}": of(float(m)) for i, m in enumerate(means)}
    prior = dict.fromkeys(densities, 1 / classes)
    return lambda: discrim.bayes(prior, densities).error_rate


def _enter(classes: int, name: str, of: Callable[[float], object], what: str) -> None:
    @corner(f"bayes of {classes} {name}, {what}")
    def case() -> Callable[[], object]:
        given = law(classes, of)
        if what == "error":
            return given
        means = np.random.default_rng(0).normal(scale=20, size=classes)
        densities = {f"c{i}": of(float(m)) for i, m in enumerate(means)}
        prior = dict.fromkeys(densities, 1 / classes)
        return lambda: discrim.bayes(prior, densities).summary().as_text()


for _n, _name, _of in (
    (300, "normals", lambda m: stats.norm(m, 1.0)),
    (100, "t distributions", lambda m: stats.t(5, m, 1.0)),
    (100, "normals of rows", lambda m: stats.multivariate_normal([m, -m, 0.0], np.eye(3))),
):
    for _what in ("error", "summary"):
        _enter(_n, _name, _of, _what)
