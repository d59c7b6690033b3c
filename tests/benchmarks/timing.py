"""Simulated data, median run times, and the printed figures of the benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

Run = Callable[[], object]

MISSED: list[str] = []
"""Figures of this run that missed their bars."""


def simulate_classes(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Simulate n rows of k normal classes with the identity covariance.

    Returns
    -------
    x : (n, p) ndarray
        The predictors.
    codes : (n,) ndarray
        The classes, 0 to k - 1.
    frame : DataFrame
        Columns x0, x1, ... and the response y.
    """
    rng = np.random.default_rng(20261121)
    codes = rng.integers(0, k, n)
    x = rng.standard_normal((n, p)) + rng.standard_normal((k, p))[codes]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    frame["y"] = codes
    return x, codes, frame


def median_seconds(runs: dict[str, Run], repeat: int) -> dict[str, float]:
    """Return the median seconds of each run by name.

    The runs are interleaved, so that a change of the machine's speed affects all of them, and the first
    round is
    not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            # NumPy and SciPy each have a BLAS whose threads keep spinning for a while after a product.
            time.sleep(0.1)
            start = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def report_figure(task: str, figure: str, value: float, bar: float, *, at_least: bool = False) -> None:
    """Print a figure of a task with its bar, and record it in `MISSED` if it misses the bar.

    Parameters
    ----------
    task, figure : str
        Names of the task and of the figure.
    value, bar : float
    at_least : bool, default False
        Whether the bar is a lower bound.
    """
    is_met = value >= bar if at_least else value <= bar
    if not is_met:
        MISSED.append(f"{task}: {figure}")
    sign = ">=" if at_least else "<="
    print(f"{task:34} {figure:44} {value:8.2f}  {sign} {bar:<5g} {'' if is_met else 'MISSED'}", flush=True)
