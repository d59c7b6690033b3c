"""Data, medians and rows of the benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

Run = Callable[[], object]

MISSED: list[str] = []
"""Figures above their bar in this run."""


def made(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    rng = np.random.default_rng(20261121)
    codes = rng.integers(0, k, n)
    x = rng.standard_normal((n, p)) + rng.standard_normal((k, p))[codes]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    frame["y"] = codes
    return x, codes, frame


def medians(runs: dict[str, Run], repeat: int) -> dict[str, float]:
    """Median seconds of each run, taken in turn so that a drifting machine is the same for all."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            # NumPy and SciPy bring a BLAS each, whose threads spin for a while after their work.
            time.sleep(0.1)
            start = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def row(task: str, figure: str, value: float, bar: float, *, at_least: bool = False) -> None:
    kept = value >= bar if at_least else value <= bar
    if not kept:
        MISSED.append(f"{task}: {figure}")
    sign = ">=" if at_least else "<="
    print(f"{task:34} {figure:44} {value:8.2f}  {sign} {bar:<5g} {'' if kept else 'MISSED'}", flush=True)
