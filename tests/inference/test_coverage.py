"""Every interval that is printed, simulated: `tests/benchmarks/coverage.py`, whose table a page shows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.coverage import LEVEL, STUDIES, simulated

SHORT = {
    "error, D",
    "error, DS",
    "error, O",
    "error, OS",
    "log loss",
    "Brier",
    "kappa",
    "AUC",
    "AUC of a class",
    "calibration slope",
    "calibration intercept",
    "estimate_prior, wald",
    "estimate_prior, profile",
    "stability",
    "marginal effects",
}
"""Intervals that hold less often than they say in some setting, as the page shows."""

PAGE = Path(__file__).parents[2] / "vignettes" / "errors.md"
SHOWN = pd.read_csv(PAGE.parent / "data" / "coverage.csv", index_col=["study", "interval", "of", "setting"])


def spread(share, samples):
    """Standard error of a simulated share."""
    return np.sqrt(share * (1 - share) / samples)


@pytest.mark.slow
@pytest.mark.parametrize("study", list(STUDIES))
def test_the_page_shows_what_the_simulation_finds(study):
    found, shown = simulated(study), SHOWN.loc[study]
    assert found.index.tolist() == shown.index.tolist()
    # The seed is the same; a figure moves by a sample or two where sums are rounded otherwise.
    assert (np.abs(found["covers"] - shown["covers"]) <= 2.5 / shown["samples"]).all()
    assert found["samples"].tolist() == shown["samples"].tolist()
    short = found["covers"] < LEVEL - 3 * spread(LEVEL, found["samples"])
    assert set(found.index[short].get_level_values("interval")) <= SHORT


def test_every_interval_that_falls_short_is_one_of_which_the_page_says_so():
    short = SHOWN[SHOWN["covers"] < LEVEL - 3 * spread(LEVEL, SHOWN["samples"])]
    assert set(short.index.get_level_values("interval")) <= SHORT
    held = SHOWN.xs("error, 632+", level="interval")
    assert (np.abs(held["covers"] - LEVEL) <= 3 * spread(LEVEL, held["samples"])).all()
