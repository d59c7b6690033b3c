"""Compare fits and posteriors with one matrix product, and with one and two BLAS threads.

The smallest work for which two threads are used (`discrim.core.numerics.threads.MIN_WORK_FOR_THREADS`) was
found by `threads-size`: the time of two threads over one, on an idle machine and next to four busy processes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg.blas import dsyrk

from tests.benchmarks.searches.tables import overlapping_classes
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


N_BUSY_PROCESSES = 4


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep the machine busy with other processes within a block."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ratio_of_threads(run: Run, clock: Callable[[], float], repeat: int) -> tuple[float, float]:
    """Return the median seconds of a run with one thread, and the ratio of two threads to one.

    Parameters
    ----------
    run : callable
    clock : callable
        `time.process_time`, or `time.perf_counter` on an idle machine.
    repeat : int
        Number of counted runs with each number of threads, which alternate after a warm-up run.
    """
    from threadpoolctl import threadpool_limits

    seconds: dict[int, list[float]] = {1: [], 2: []}
    run()
    for _ in range(repeat):
        for threads, times in seconds.items():
            with threadpool_limits(threads):
                # Threads of the last product keep spinning for a while.
                time.sleep(0.05)
                start = clock()
                run()
                times.append(clock() - start)
    one, two = (statistics.median(times) for times in seconds.values())
    return one, two / one


def loaded_runs() -> dict[str, Run]:
    """Return analyses by name, whose products are too small for two threads except in a fit of many rows."""
    import discrim.sklearn

    large, small = overlapping_classes(20_000, 50, 5), overlapping_classes(303, 13)
    medium, wide = overlapping_classes(2_000, 20, 3), overlapping_classes(60, 2_000)
    lda = discrim.lda("y ~ .", large)

    estimator = discrim.sklearn.QDAClassifier().fit(large.drop(columns="y"), large["y"])

    def leave_one_out() -> None:
        lda._fit.cache.clear()
        lda.leave_one_out()

    def fit(name: str, table: pd.DataFrame, **options: Any) -> Run:
        return lambda: getattr(discrim, name)("y ~ .", table, **options)

    return {
        "lda": fit("lda", large),
        "lda, 200,000 x 50": fit("lda", overlapping_classes(200_000, 50, 10)),
        "lda, summary": lambda: str(discrim.lda("y ~ .", large).summary()),
        "lda, leave-one-out": leave_one_out,
        "lda, .632+": lambda: discrim.lda("y ~ .", medium).error_rates(["632+"], seed=1),
        "lda, learning curve": lambda: discrim.lda("y ~ .", medium).learning_curve(seed=1),
        "qda": fit("qda", large),
        "QDAClassifier, predict": lambda: estimator.predict(large.drop(columns="y")),
        "plda": fit("plda", large),
        "kernel_lda": fit("kernel_lda", small),
        "logistic": fit("logistic", large),
        "logistic, Firth": fit("logistic", small, bias_reduction=True),
        "logistic, ridge": fit("logistic", small, penalty="ridge"),
        "indicator": fit("indicator", large),
        "stepwise": fit("stepwise", medium),
        "mcd": fit("lda", medium, covariance="mcd"),
        "rda": fit("rda", medium, folds=10, seed=1),
        "sparse_lda": fit("sparse_lda", wide, nonzero=10),
        "pls": fit("pls", wide, ncomp=3),
        "mixture": fit("mixture", medium, components=2),
        "knn": fit("knn", medium),
        "kernel_density": fit("kernel_density", medium),
        "permanova": lambda: discrim.permanova("y ~ .", small, seed=1),
    }


def compare_threads_under_load(repeat: int) -> None:
    """Report the processor time of two threads over one next to busy processes."""
    for name, run in loaded_runs().items():
        with busy_processes(N_BUSY_PROCESSES):
            seconds, ratio = ratio_of_threads(run, time.process_time, repeat)
        report_figure("under load", f"{name} ({seconds:.3f} s): two threads over one", ratio, 1.3)


def compare_threads_of_large_tables(repeat: int) -> None:
    """Report the wall-clock time of two threads over one on an idle machine."""
    from discrim import lda

    for n, p, bar in ((20_000, 784, 0.7), (200_000, 50, 1.0)):
        table = overlapping_classes(n, p, 10)
        seconds, ratio = ratio_of_threads(lambda table=table: lda("y ~ .", table), time.perf_counter, repeat)
        report_figure(f"lda {n:,} x {p}", f"idle ({seconds:.3f} s), two threads over one", ratio, bar)


def print_size_for_threads(repeat: int) -> None:
    """Print the time of a product X'X with two threads over one, for several sizes, idle and under load.

    On an idle machine with two cores the ratio was .93 to 1.05 for 20 and 50 columns at any size up to 3e8,
    and for 200 columns .88, .68, .63 and .56 at 1e7, 3e7, 1e8 and 3e8 multiplications.

    Next to four busy processes, and to some five others, two threads took the processor time of one for 50
    columns, for which BLAS uses one thread at any size. For 200 columns they took about 45, 17 and 18 times
    as much at 1e7, 1e8 and 1e9. On a busy machine there is thus no size from which two threads pay.
    """
    for p in (50, 200):
        for work in (1e7, 1e8, 1e9):
            x = np.asfortranarray(np.random.default_rng(0).standard_normal((int(work / p**2) + 1, p)))
            run = partial(dsyrk, 1.0, x, trans=1)
            _, idle = ratio_of_threads(run, time.perf_counter, 3 * repeat)
            with busy_processes(N_BUSY_PROCESSES):
                _, loaded = ratio_of_threads(run, time.process_time, 3 * repeat)
            print(f"X'X of {len(x):,} x {p}, {work:.0e}: wall {idle:.2f} idle, processor {loaded:.2f} loaded")


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
        "threads-fit-784-1": with_threads(1, compare_fits, *wide, 1, fewer_repeats, (1.5, 2)),
        "threads-fit-784-2": with_threads(2, compare_fits, *wide, 2, fewer_repeats, (1.5, 2)),
        "threads-posteriors-784-1": with_threads(1, compare_posteriors, *wide, 1, repeat, 1.3),
        "threads-posteriors-784-2": with_threads(2, compare_posteriors, *wide, 2, repeat, 1.3),
        "threads-load": lambda: compare_threads_under_load(fewer_repeats),
        "threads-idle": lambda: compare_threads_of_large_tables(repeat),
        "threads-size": lambda: print_size_for_threads(fewer_repeats),
        "threads-float32": with_threads(1, compare_single_precision, *wide, 1, repeat),
        "threads-fit-1000": with_threads(2, compare_fits, *many, 2, repeat, (2.5, 2)),
        "threads-posteriors-1000": with_threads(2, compare_posteriors, *many, 2, fewer_repeats, 1.3),
    }
