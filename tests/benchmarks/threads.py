"""Compare fits and posteriors with one matrix product, with one and with two BLAS threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes

__all__ = ["tasks"]

SOLVERS = ("svd", "eigen", "lsqr")


def run_with_threads(threads: int, measurement: Callable[[], None]) -> None:
    """Run a measurement with the given number of threads of every BLAS."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        measurement()


def compare_fits(n: int, p: int, k: int, threads: int, repeat: int, bars: tuple[float, float]) -> None:
    """Compare a fit with the product X'X, by NumPy or BLAS, and with the fastest solver of scikit-learn."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = simulate_classes(n, p, k)
    fortran = np.asfortranarray(x)
    runs: dict[str, Run] = {
        "ours": lambda: lda("y ~ .", data=frame),
        "X'X": lambda: x.T @ x,
        "dsyrk": lambda: dsyrk(1.0, fortran, trans=1),
    }
    runs |= {s: partial(Peer(solver=s).fit, x, codes) for s in SOLVERS if k < 100 or s == "lsqr"}
    times = median_seconds(runs, repeat)
    task = f"LDA {n:,} x {p} x {k:,}, {thread_text(threads)}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    report_figure(task, "fit over X'X", times["ours"] / min(times["X'X"], times["dsyrk"]), bars[0])
    fastest = min(times[s] for s in SOLVERS if s in times)
    report_figure(
        task, "scikit-learn's fastest fit over ours", fastest / times["ours"], bars[1], at_least=True
    )


def compare_posteriors(n: int, p: int, k: int, threads: int, repeat: int, bar: float) -> None:
    """Compare posteriors with those of scikit-learn: median and smallest ratio over interleaved runs."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = simulate_classes(n, p, k)
    ours, peer = lda("y ~ .", data=frame), Peer(solver="lsqr").fit(x, codes)
    runs: dict[str, Run] = {
        "ours": lambda: ours.predict_proba(frame),
        "peer": lambda: peer.predict_proba(x),
    }
    turns = [median_seconds(runs, 1) for _ in range(repeat)]
    ratios = sorted(seconds_of_run["peer"] / seconds_of_run["ours"] for seconds_of_run in turns)
    task = f"posteriors {n:,} x {p} x {k:,}, {thread_text(threads)}"
    seconds = {name: float(np.median([taken[name] for taken in turns])) for name in runs}
    print(task, " ".join(f"{name} {value:.3f} s" for name, value in seconds.items()), sep=": ")
    report_figure(task, "scikit-learn's over ours, the median", ratios[len(ratios) // 2], bar, at_least=True)
    report_figure(task, "scikit-learn's over ours, the least", ratios[0], bar, at_least=True)


def compare_single_precision(n: int, p: int, k: int, threads: int, repeat: int) -> None:
    """Compare posteriors of float32 tables with those of the same rows as float64."""
    from discrim import lda

    x, _, frame = simulate_classes(n, p, k)
    single = frame.astype(dict.fromkeys(frame.columns[:p], np.float32))
    block = type(frame)(x.astype(np.float32), columns=frame.columns[:p])
    fit = lda("y ~ .", data=frame)
    runs: dict[str, Run] = {
        "float64": lambda: fit.predict_proba(frame),
        "columns": lambda: fit.predict_proba(single),
        "array": lambda: fit.predict_proba(block),
    }
    times = median_seconds(runs, repeat)
    task = f"posteriors {n:,} x {p} x {k:,}, {thread_text(threads)}"
    report_figure(task, "of float32 over float64, by columns", times["columns"] / times["float64"], 0.8)
    report_figure(task, "of float32 over float64, one array", times["array"] / times["float64"], 0.8)


def thread_text(threads: int) -> str:
    """Return the number of threads in words."""
    return "one thread" if threads == 1 else f"{threads} threads"


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""

    def with_threads(threads: int, task: Callable[..., None], *sizes: Any) -> Run:
        return lambda: run_with_threads(threads, partial(task, *sizes))

    wide, many = (20_000 // divisor, 784, 10), (100_000 // divisor, 50, 1000)
    fewer_repeats = max(repeat // 2, 1)
    return {
        "threads-fit-784-1": with_threads(1, compare_fits, *wide, 1, fewer_repeats, (1.4, 2)),
        "threads-fit-784-2": with_threads(2, compare_fits, *wide, 2, fewer_repeats, (1.5, 2)),
        "threads-posteriors-784-1": with_threads(1, compare_posteriors, *wide, 1, repeat, 1.3),
        "threads-posteriors-784-2": with_threads(2, compare_posteriors, *wide, 2, repeat, 1.3),
        "threads-float32": with_threads(1, compare_single_precision, *wide, 1, repeat),
        "threads-fit-1000": with_threads(2, compare_fits, *many, 2, repeat, (2, 2)),
        "threads-posteriors-1000": with_threads(2, compare_posteriors, *many, 2, fewer_repeats, 1.3),
    }
