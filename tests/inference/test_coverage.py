"""Every interval that is printed, simulated: `tests/benchmarks/coverage.py`, whose table a page shows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.benchmarks.coverage import STUDIES, simulated

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
