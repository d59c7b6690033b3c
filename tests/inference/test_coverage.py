"""Every interval that is printed, simulated: `tests/benchmarks/coverage.py`, whose table a page shows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.coverage import LEVEL, STUDIES, simulate_study

SHORT = {
    "error, D",
    "error, DS",
    "error, O",
    "error, OS",
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

PAGE = Path(__file__).parents[2] / "vignettes" / "sample-size.md"
CASE = ["study", "interval", "of", "setting"]
SHOWN = pd.read_csv(PAGE.parent / "data" / "coverage.csv", index_col=CASE)
SAMPLES = 20
KEPT = pd.read_csv(Path(__file__).with_name("coverage.csv"), index_col=CASE)
"""Written by ``python -m tests.benchmarks.coverage --samples 20 --write tests/inference/coverage.csv``."""


def spread(share, samples):
    """Standard error of a simulated share."""
    return np.sqrt(share * (1 - share) / samples)


@pytest.mark.slow
@pytest.mark.parametrize("study", list(STUDIES))
def test_a_short_run_reproduces_the_recorded_coverage(study):
    """Twenty samples instead of three hundred: if an interval has changed, write both tables again."""
    simulated_coverage, recorded, page_rows = (
        simulate_study(study, SAMPLES),
        KEPT.loc[study],
        SHOWN.loc[study],
    )
    assert simulated_coverage.index.tolist() == recorded.index.tolist() == page_rows.index.tolist()
    assert simulated_coverage["samples"].tolist() == recorded["samples"].tolist()
    # The seed is the same; a figure moves by one sample if sums are rounded differently.
    assert (np.abs(simulated_coverage["covers"] - recorded["covers"]) <= 1.5 / recorded["samples"]).all()


def test_the_short_run_agrees_with_the_page_within_sampling_error():
    pooled_coverage = (KEPT["covers"] * KEPT["samples"] + SHOWN["covers"] * SHOWN["samples"]) / (
        KEPT["samples"] + SHOWN["samples"]
    )
    apart = np.abs(KEPT["covers"] - SHOWN["covers"])
    assert (
        apart
        <= 4 * np.hypot(spread(pooled_coverage, KEPT["samples"]), spread(pooled_coverage, SHOWN["samples"]))
    ).all()


def test_the_page_reports_every_interval_with_low_coverage():
    short = SHOWN[SHOWN["covers"] < LEVEL - 3 * spread(LEVEL, SHOWN["samples"])]
    assert set(short.index.get_level_values("interval")) <= SHORT
    bootstrap_rows = SHOWN.xs("error, 632+", level="interval")
    assert (np.abs(bootstrap_rows["covers"] - LEVEL) <= 3 * spread(LEVEL, bootstrap_rows["samples"])).all()
