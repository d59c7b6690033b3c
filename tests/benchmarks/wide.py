"""Sparse tables of texts, and many classes: time and peak memory, each task in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import scipy

from tests.benchmarks.timing import Run, median_seconds, report_figure

__all__ = ["compare_many_classes", "compare_texts", "simulate_word_counts"]

KIB_PER_MIB = 1024
"""The operating system reports peak memory in KiB."""


def simulate_word_counts(n: int, p: int, k: int, length: int = 50) -> tuple[Any, np.ndarray]:
    """Simulate word counts of texts of k classes, by Zipf's law with random deviations in each class.

    Returns
    -------
    counts : (n, p) csr_array
    codes : (n,) ndarray
    """
    rng = np.random.default_rng(20261122)
    codes = rng.integers(0, k, n)
    word_ids = np.empty((n, length), dtype=np.int64)
    for code in range(k):
        shares = np.exp(rng.normal(size=p)) / np.arange(1, p + 1)
        rows = np.flatnonzero(codes == code)
        cumulative = np.cumsum(shares) / shares.sum()
        word_ids[rows] = np.minimum(np.searchsorted(cumulative, rng.random((len(rows), length))), p - 1)
    positions = np.repeat(np.arange(n), length), word_ids.ravel()
    return scipy.sparse.csr_array((np.ones(n * length), positions), shape=(n, p)), codes


def compare_texts(n: int, p: int, k: int, repeat: int) -> None:
    """Compare naive Bayes of counts with scikit-learn on the same sparse matrix."""
    from sklearn.naive_bayes import MultinomialNB

    from discrim.sklearn import NaiveBayesClassifier

    x, codes = simulate_word_counts(n, p, k)
    ours, peer = NaiveBayesClassifier(counts=True, laplace=1.0), MultinomialNB(alpha=1.0)
    runs: dict[str, Run] = {
        "ours": lambda: ours.fit(x, codes),
        "peer": lambda: peer.fit(x, codes),
        "ours predict": lambda: ours.predict(x),
        "peer predict": lambda: peer.predict(x),
    }
    times = median_seconds(runs, repeat)
    task = f"texts {n:,} x {p:,} x {k}, {x.nnz / n / p:.2%}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    difference = np.abs(ours.predict_log_proba(x[:500]) - peer.predict_log_proba(x[:500])).max()
    report_figure(task, "largest difference of log posteriors, x 1e9", 1e9 * float(difference), 1)
    report_figure(task, "fit over scikit-learn's, which has no names", times["ours"] / times["peer"], 40)
    report_figure(task, "predict over scikit-learn's", times["ours predict"] / times["peer predict"], 15)
    tracemalloc.start()
    ours.fit(x, codes).predict(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    report_figure(task, "peak memory allocated, share of a dense table", peak / (8 * n * p), 0.05)


def compare_many_classes(n: int, p: int, k: int, rows: int) -> None:
    """Measure memory and time of LDA with very many classes (scikit-learn's issue 10898)."""
    task = f"LDA {n:,} x {p} x {k:,}"
    table, usage = 8 * n * p / 2**20, run_in_process("fit_summarize_and_predict", n, p, k, rows)
    print(task, f"fit, summary and labels of {rows:,} rows: {usage.seconds:.1f} s with the table's making")
    report_figure(task, "peak memory over the table's", usage.megabytes / table, 1.7)
    # A smaller table, for which the memory suffices for the peer.
    n, p, k = n // 10, p // 4, k // 10
    ours, peer = (
        run_in_process("fit_and_predict", n, p, k, rows),
        run_in_process("fit_and_predict_by_peer", n, p, k, rows),
    )
    task = f"LDA {n:,} x {p} x {k:,}"
    for name, each in (("ours", ours), ("scikit-learn", peer)):
        print(task, f"{name} {each.seconds:.1f} s, {each.megabytes:.0f} MB", sep=": ")
    report_figure(task, "peak memory over scikit-learn's", ours.megabytes / peer.megabytes, 0.7)


class ProcessUsage(NamedTuple):
    """Seconds and peak memory of a process, including making its data."""

    seconds: float
    megabytes: float


def run_in_process(function: str, *sizes: int) -> ProcessUsage:
    """Call a function of this module in a process of its own and return the usage of the process."""
    start = time.perf_counter()
    call = f"from tests.benchmarks import wide; wide.{function}(*{sizes})"
    code = f"import resource; {call}; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    completed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
    )
    return ProcessUsage(time.perf_counter() - start, int(completed.stdout.split()[-1]) / KIB_PER_MIB)


def simulate_rows(n: int, p: int, k: int) -> Any:
    """Simulate a table of k classes block by block, so that no second copy is in memory."""
    import pandas as pd

    rng = np.random.default_rng(20261122)
    means, codes = rng.standard_normal((k, p)), np.append(np.arange(k), rng.integers(0, k, n - k))
    x = np.empty((p, n)).T
    for start in range(0, n, 10_000):
        chunk_codes = codes[start : start + 10_000]
        x[start : start + 10_000] = means[chunk_codes] + 3 * rng.standard_normal((len(chunk_codes), p))
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)], copy=False).assign(y=codes)


def fit_and_predict_by_peer(n: int, p: int, k: int, rows: int) -> None:
    """Fit scikit-learn and predict labels of some rows."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    frame = simulate_rows(n, p, k)
    x, codes = frame.drop(columns="y"), frame["y"]
    LinearDiscriminantAnalysis().fit(x, codes).predict(x[:rows])


def fit_and_predict(n: int, p: int, k: int, rows: int) -> None:
    """Fit our LDA and predict labels of some rows."""
    from discrim import lda

    frame = simulate_rows(n, p, k)
    lda("y ~ .", frame).predict(frame[:rows])


def fit_summarize_and_predict(n: int, p: int, k: int, rows: int) -> None:
    """Fit our LDA, format its summary, and predict labels of some rows."""
    from discrim import lda

    frame = simulate_rows(n, p, k)
    fit = lda("y ~ .", frame)
    str(fit.summary())
    fit.predict(frame[:rows])
