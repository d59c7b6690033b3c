"""Fits and posteriors beside one product of the rows, by one thread of BLAS and by two."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from tests.benchmarks.timing import Run, made, medians, row

__all__ = ["tasks"]

SOLVERS = ("svd", "eigen", "lsqr")


def limited(threads: int, measured: Callable[[], None]) -> None:
    """Measure under so many threads of every BLAS."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        measured()


def fits(n: int, p: int, k: int, threads: int, repeat: int, bars: tuple[float, float]) -> None:
    """A fit over the product X'X, the faster of NumPy's and BLAS's; scikit-learn's fastest over the fit."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = made(n, p, k)
    fortran = np.asfortranarray(x)
    runs: dict[str, Run] = {
        "ours": lambda: lda("y ~ .", data=frame),
        "X'X": lambda: x.T @ x,
        "dsyrk": lambda: dsyrk(1.0, fortran, trans=1),
    }
    runs |= {s: partial(Peer(solver=s).fit, x, codes) for s in SOLVERS if k < 100 or s == "lsqr"}
    taken = medians(runs, repeat)
    task = f"LDA {n:,} x {p} x {k:,}, {said(threads)}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    row(task, "fit over X'X", taken["ours"] / min(taken["X'X"], taken["dsyrk"]), bars[0])
    fastest = min(taken[s] for s in SOLVERS if s in taken)
    row(task, "scikit-learn's fastest fit over ours", fastest / taken["ours"], bars[1], at_least=True)


def posteriors(n: int, p: int, k: int, threads: int, repeat: int, bar: float) -> None:
    """scikit-learn's posteriors over ours, in the median and in the worst turn."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    from discrim import lda

    x, codes, frame = made(n, p, k)
    ours, peer = lda("y ~ .", data=frame), Peer(solver="lsqr").fit(x, codes)
    runs: dict[str, Run] = {
        "ours": lambda: ours.predict_proba(frame),
        "peer": lambda: peer.predict_proba(x),
    }
    turns = [medians(runs, 1) for _ in range(repeat)]
    ratios = sorted(taken["peer"] / taken["ours"] for taken in turns)
    task = f"posteriors {n:,} x {p} x {k:,}, {said(threads)}"
    seconds = {name: float(np.median([taken[name] for taken in turns])) for name in runs}
    print(task, " ".join(f"{name} {value:.3f} s" for name, value in seconds.items()), sep=": ")
    row(task, "scikit-learn's over ours, the median", ratios[len(ratios) // 2], bar, at_least=True)
    row(task, "scikit-learn's over ours, the least", ratios[0], bar, at_least=True)


def single_precision(n: int, p: int, k: int, threads: int, repeat: int) -> None:
    """Posteriors of a table of float32 over those of the same rows as float64."""
    from discrim import lda

    x, _, frame = made(n, p, k)
    single = frame.astype(dict.fromkeys(frame.columns[:p], np.float32))
    block = type(frame)(x.astype(np.float32), columns=frame.columns[:p])
    fit = lda("y ~ .", data=frame)
    runs: dict[str, Run] = {
        "float64": lambda: fit.predict_proba(frame),
        "columns": lambda: fit.predict_proba(single),
        "array": lambda: fit.predict_proba(block),
    }
    taken = medians(runs, repeat)
    task = f"posteriors {n:,} x {p} x {k:,}, {said(threads)}"
    row(task, "of float32 over float64, by columns", taken["columns"] / taken["float64"], 0.8)
    row(task, "of float32 over float64, one array", taken["array"] / taken["float64"], 0.8)


def said(threads: int) -> str:
    """The number of threads in words."""
    return "one thread" if threads == 1 else f"{threads} threads"


def tasks(part: int, repeat: int) -> dict[str, Run]:
    """What is measured, with a part of the rows."""

    def under(threads: int, task: Callable[..., None], *sizes: Any) -> Run:
        return lambda: limited(threads, partial(task, *sizes))

    wide, many = (20_000 // part, 784, 10), (100_000 // part, 50, 1000)
    few = max(repeat // 2, 1)
    return {
        "threads-fit-784-1": under(1, fits, *wide, 1, few, (1.4, 2)),
        "threads-fit-784-2": under(2, fits, *wide, 2, few, (1.5, 2)),
        "threads-posteriors-784-1": under(1, posteriors, *wide, 1, repeat, 1.3),
        "threads-posteriors-784-2": under(2, posteriors, *wide, 2, repeat, 1.3),
        "threads-float32": under(1, single_precision, *wide, 1, repeat),
        "threads-fit-1000": under(2, fits, *many, 2, repeat, (2, 2)),
        "threads-posteriors-1000": under(2, posteriors, *many, 2, few, 1.3),
    }
