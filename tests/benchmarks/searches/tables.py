"""Tables and measurements of the benchmarks of searches."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pandas as pd

from discrim.core.numerics.arrays import Codes, Floats
from tests.benchmarks.timing import Run, report_figure

__all__ = ["labelled_frame", "overlapping_classes", "processor_seconds", "report_processor_seconds"]


def overlapping_classes(n: int, p: int, k: int = 2, distance: float = 1.5) -> pd.DataFrame:
    """Simulate k normal classes whose means are about `distance` standard deviations apart.

    Returns
    -------
    DataFrame
        Columns x0, x1, ... and the response y with the labels "a", "b", ...
    """
    rng = np.random.default_rng(20261129)
    codes = rng.permutation(np.arange(n) % k)
    means = rng.standard_normal((k, p)) * distance / np.sqrt(2 * p)
    return labelled_frame(rng.standard_normal((n, p)) + means[codes], codes)


def labelled_frame(x: Floats, codes: Codes) -> pd.DataFrame:
    """Return rows x (n, p) as columns x0, x1, ... and their classes as y with the labels "a", "b", ..."""
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    labels = [chr(ord("a") + code) for code in range(codes.max() + 1)]
    frame["y"] = pd.Categorical.from_codes(codes, labels)
    return frame


def processor_seconds(runs: dict[str, Run], repeat: int) -> dict[str, float]:
    """Return the median processor seconds of each run by name, with one BLAS thread.

    The runs are interleaved. The first round is not counted, unless it takes more than ten seconds.
    """
    from threadpoolctl import threadpool_limits

    times: dict[str, list[float]] = {name: [] for name in runs}
    with threadpool_limits(1):
        for turn in range(repeat + 1):
            for name, run in runs.items():
                if turn and times[name][0] > 10:
                    continue
                start = time.process_time()
                run()
                times[name].append(time.process_time() - start)
    return {name: statistics.median(seconds[1:] or seconds) for name, seconds in times.items()}


def report_processor_seconds(task: str, runs: dict[str, tuple[Run, float]], repeat: int) -> None:
    """Print the processor seconds of the runs of a task, each with its upper limit in seconds."""
    times = processor_seconds({name: run for name, (run, _) in runs.items()}, repeat)
    for name, (_, bar) in runs.items():
        report_figure(task, f"{name}: processor seconds", times[name], bar)
