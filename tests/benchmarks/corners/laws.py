"""Bayes classifiers of many classes with known distributions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

import discrim
from tests.benchmarks.corners import slow_case


def bayes_error_rate(classes: int, make_distribution: Callable[[float], object]) -> Callable[[], object]:
    """Return a call that computes the Bayes error of classes whose means are drawn at random."""
    means = np.random.default_rng(0).normal(scale=20, size=classes)
    densities = {f"c{i}": make_distribution(float(m)) for i, m in enumerate(means)}
    prior = dict.fromkeys(densities, 1 / classes)
    return lambda: discrim.bayes(prior, densities).error_rate


def _register(classes: int, name: str, make_distribution: Callable[[float], object], quantity: str) -> None:
    """Register the case of computing the error or the summary of a Bayes classifier."""

    @slow_case(f"bayes of {classes} {name}, {quantity}")
    def case() -> Callable[[], object]:
        error_rate = bayes_error_rate(classes, make_distribution)
        if quantity == "error":
            return error_rate
        means = np.random.default_rng(0).normal(scale=20, size=classes)
        densities = {f"c{i}": make_distribution(float(m)) for i, m in enumerate(means)}
        prior = dict.fromkeys(densities, 1 / classes)
        return lambda: discrim.bayes(prior, densities).summary().as_text()


for _n, _distribution_name, _make_distribution in (
    (300, "normals", lambda m: stats.norm(m, 1.0)),
    (100, "t distributions", lambda m: stats.t(5, m, 1.0)),
    (100, "normals of rows", lambda m: stats.multivariate_normal([m, -m, 0.0], np.eye(3))),
):
    for _quantity in ("error", "summary"):
        _register(_n, _distribution_name, _make_distribution, _quantity)
