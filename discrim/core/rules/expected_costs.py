"""Expected costs of calling a row one class or another, from its probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discrim.core.rules.rules import best_class, log_posteriors

__all__ = ["counts_errors", "joint_scores", "least_cost_codes", "least_losses"]

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def joint_scores(log_densities: Floats, prior: Floats) -> Floats:
    """Scores (m, K): logarithms of prior times density."""
    with np.errstate(divide="ignore"):
        return np.asarray(log_densities + np.log(prior))


def least_cost_codes(scores: Floats, costs: Floats) -> Codes:
    """The class of least expected cost of each row of scores (m, K), the first of equals; -1 without any."""
    if counts_errors(costs):
        return best_class(scores)
    return best_class(-(np.exp(log_posteriors(scores)) @ costs))


def counts_errors(costs: Floats) -> bool:
    """Whether every error costs one, and nothing else does."""
    return bool((costs == 1 - np.eye(len(costs))).all())


def least_losses(joint: Floats, costs: Floats) -> Floats:
    """The least expected cost (m,) of rows of probabilities (m, K)."""
    if not counts_errors(costs):
        return np.asarray((joint @ costs).min(axis=1))
    rest = joint.copy()
    rest[np.arange(len(rest)), rest.argmax(axis=1)] = 0.0
    return np.asarray(rest.sum(axis=1))
