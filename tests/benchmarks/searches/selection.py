"""Processor time of searches over models, columns and sizes."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from discrim import choose, lda, stepwise
from discrim.datasets import load_breast_cancer
from tests.benchmarks.searches.tables import overlapping_classes, report_processor_seconds
from tests.benchmarks.timing import Run

__all__ = ["tasks"]

CHOOSE_BARS = {(303, 13): 5.0, (569, 30): 10.0, (1000, 20): 12.0}
"""Processor seconds of a choice among all candidates, by the numbers of rows and columns."""


def run_choose(rows: int, columns: int, divisor: int, repeat: int) -> None:
    """Report the choice among all candidates; 569 x 30 is breast_cancer."""
    table: pd.DataFrame = (
        load_breast_cancer().rename(columns={"diagnosis": "y"}).iloc[::divisor]
        if rows == 569
        else overlapping_classes(max(rows // divisor, 60), columns)
    )
    runs: dict[str, tuple[Run, float]] = {
        "choose": (partial(choose, "y ~ .", table, seed=1), CHOOSE_BARS[rows, columns])
    }
    report_processor_seconds(f"choose-{rows}", runs, repeat)


def run_stepwise(divisor: int, repeat: int) -> None:
    """Report error rates of a stepwise choice, by folds and by leave-one-out, on breast_cancer."""
    table = load_breast_cancer().iloc[::divisor]

    def error_rates(methods: Any) -> object:
        """Return the error rates of a new choice, because a fit stores its scores."""
        return stepwise("diagnosis ~ .", table).error_rates(methods, seed=1)

    runs: dict[str, tuple[Run, float]] = {
        "default": (partial(error_rates, None), 1.5),
        "leave-one-out": (partial(error_rates, ["loo"]), 15.0),
    }
    report_processor_seconds("stepwise-569", runs, repeat)


def run_resampling(divisor: int, repeat: int) -> None:
    """Report the .632+ bootstrap and the learning curve of lda, 20,000 x 50."""
    fit = lda("y ~ .", overlapping_classes(20_000 // divisor, 50))
    runs: dict[str, tuple[Run, float]] = {
        ".632+": (lambda: fit.error_rates(["632+"], seed=1), 2.0),
        "learning curve": (lambda: fit.learning_curve(seed=1), 1.0),
    }
    report_processor_seconds("lda-resampling", runs, repeat)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    chosen: dict[str, Run] = {
        f"choose-{rows}": partial(run_choose, rows, columns, divisor, repeat) for rows, columns in CHOOSE_BARS
    }
    return chosen | {
        "stepwise-569": partial(run_stepwise, divisor, repeat),
        "lda-resampling": partial(run_resampling, divisor, repeat),
    }
