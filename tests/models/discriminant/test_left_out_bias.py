"""The bias of leave-one-out with balanced classes in many columns, and the note on it."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

import discrim
from tests.benchmarks.left_out_bias import simulate_errors


@pytest.mark.slow
def test_leave_one_out_of_noise_errs_by_the_derived_shift_and_balanced_folds_do_not():
    """Log odds of the own class are p/(2 n (n - 1)) too small and have the standard deviation sqrt(2 p/n)."""
    n, p, samples = 10, 2000, 30
    table = simulate_errors("diagonal", (n, n), p, 0.0, samples, seed=1)
    sd = np.sqrt(0.25 / (2 * n * samples))
    assert abs(table["loo"].mean() - ndtr(p / (2 * n * (n - 1)) / np.sqrt(2 * p / n))) < 4 * sd
    assert abs(table["balanced"].mean() - 0.5) < 4 * sd
    assert table["truth"].to_numpy() == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("verb", "counts", "columns", "noted"),
    [
        ("lda", (15, 15), 300, True),
        ("nearest_centroid", (15, 15), 300, True),
        ("lda", (15, 15), 20, False),
        ("lda", (60, 60), 300, False),
        ("lda", (10, 30), 300, False),
    ],
)
def test_the_header_names_folds_with_a_row_of_each_class_if_leave_one_out_is_biased(
    verb, counts, columns, noted
):
    x = np.random.default_rng(3).standard_normal((sum(counts), columns))
    data = pd.DataFrame(x).add_prefix("x").assign(y=np.repeat(["a", "b"], counts))
    options = {"covariance": "diagonal"} if verb == "lda" else {}
    fit = getattr(discrim, verb)("y ~ .", data, **options)
    assert (f"folds={min(counts)}" in fit.summary("header").as_text()) == noted
