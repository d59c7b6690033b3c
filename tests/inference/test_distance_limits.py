"""Pointwise limits of ordered squared distances, against simulated normal samples."""

import numpy as np
import pytest

from tests.benchmarks.distance_limits import DESIGNS, coverage

SAMPLES = 2000


@pytest.mark.parametrize(("kind", "design"), [("by class", (68, 4, 1)), ("new rows", (20, 4, 1))])
def test_limits_of_dependent_distances_contain_95_percent(kind, design):
    """The limits of independent distances contain 98.8 % of the distances of the fit and 63 % of new ones."""
    line, _ = coverage(kind, *design, samples=300, seed=1)
    # Distances of one sample are dependent: the share of a sample has a standard deviation of up to 0.2.
    assert abs(line["mean"] - 0.95) < 0.02
    assert abs(line["independent"] - 0.95) > 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "design"), [(kind, design) for kind, designs in DESIGNS.items() for design in designs]
)
def test_each_ordered_distance_lies_within_its_limits_as_often_as_stated(kind, design):
    _, by_rank = coverage(kind, *design, samples=SAMPLES, seed=2)
    # Four binomial standard errors, and what the derivation neglects (rows of the fit) or simulation adds.
    assert np.abs(by_rank - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / SAMPLES) + 0.02
