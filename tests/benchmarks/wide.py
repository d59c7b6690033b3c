"""Sparse tables of texts, and many classes: time and peak memory, each task in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import scipy

from tests.benchmarks.timing import Run, medians, row

__all__ = ["many_classes", "texts", "words"]

MEGABYTE = 1024
"""Kilobytes, in which a system tells the most memory that a process had."""


def words(n: int, p: int, k: int, length: int = 50) -> tuple[Any, np.ndarray]:
    """Counts (n, p) of words, as a csr_array, of texts of k kinds: Zipf's law, tilted by kind."""
    rng = np.random.default_rng(20261122)
    codes = rng.integers(0, k, n)
    drawn = np.empty((n, length), dtype=np.int64)
    for kind in range(k):
        shares = np.exp(rng.normal(size=p)) / np.arange(1, p + 1)
        own = np.flatnonzero(codes == kind)
        ends = np.cumsum(shares) / shares.sum()
        drawn[own] = np.minimum(np.searchsorted(ends, rng.random((len(own), length))), p - 1)
    places = np.repeat(np.arange(n), length), drawn.ravel()
    return scipy.sparse.csr_array((np.ones(n * length), places), shape=(n, p)), codes


def texts(n: int, p: int, k: int, repeat: int) -> None:
    """Naive Bayes of counts beside scikit-learn's, on the same sparse matrix."""
    from sklearn.naive_bayes import MultinomialNB

    from discrim.sklearn import NaiveBayesClassifier

    x, codes = words(n, p, k)
    ours, peer = NaiveBayesClassifier(counts=True, laplace=1.0), MultinomialNB(alpha=1.0)
    runs: dict[str, Run] = {
        "ours": lambda: ours.fit(x, codes),
        "peer": lambda: peer.fit(x, codes),
        "ours predict": lambda: ours.predict(x),
        "peer predict": lambda: peer.predict(x),
    }
    taken = medians(runs, repeat)
    task = f"texts {n:,} x {p:,} x {k}, {x.nnz / n / p:.2%}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    gap = np.abs(ours.predict_log_proba(x[:500]) - peer.predict_log_proba(x[:500])).max()
    row(task, "largest difference of log posteriors, x 1e9", 1e9 * float(gap), 1)
    row(task, "fit over scikit-learn's, which has no names", taken["ours"] / taken["peer"], 40)
    row(task, "predict over scikit-learn's", taken["ours predict"] / taken["peer predict"], 15)
    tracemalloc.start()
    ours.fit(x, codes).predict(x)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row(task, "peak memory allocated, share of a dense table", most / (8 * n * p), 0.05)


def many_classes(n: int, p: int, k: int, rows: int) -> None:
    """LDA of very many classes: what it takes beyond the table (scikit-learn's issue 10898)."""
    task = f"LDA {n:,} x {p} x {k:,}"
    table, taken = 8 * n * p / 2**20, timed("fit_rows", n, p, k, rows)
    print(task, f"fit, summary and labels of {rows:,} rows: {taken.seconds:.1f} s with the table's making")
    row(task, "peak memory over the table's", taken.megabytes / table, 1.7)
    # Where the peer needs no machine of its own.
    n, p, k = n // 10, p // 4, k // 10
    ours, peer = timed("label_rows", n, p, k, rows), timed("peer_rows", n, p, k, rows)
    task = f"LDA {n:,} x {p} x {k:,}"
    for name, each in (("ours", ours), ("scikit-learn", peer)):
        print(task, f"{name} {each.seconds:.1f} s, {each.megabytes:.0f} MB", sep=": ")
    row(task, "peak memory over scikit-learn's", ours.megabytes / peer.megabytes, 0.7)


class Taken(NamedTuple):
    """What a process of its own takes to do something, making its data too."""

    seconds: float
    megabytes: float


def timed(what: str, *sizes: int) -> Taken:
    """What a function of this module takes."""
    start = time.perf_counter()
    call = f"from tests.benchmarks import wide; wide.{what}(*{sizes})"
    code = f"import resource; {call}; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
    )
    return Taken(time.perf_counter() - start, int(done.stdout.split()[-1]) / MEGABYTE)


def make_rows(n: int, p: int, k: int) -> Any:
    """A table of k classes, block by block, so that nothing is there twice."""
    import pandas as pd

    rng = np.random.default_rng(20261122)
    means, codes = rng.standard_normal((k, p)), np.append(np.arange(k), rng.integers(0, k, n - k))
    x = np.empty((p, n)).T
    for start in range(0, n, 10_000):
        own = codes[start : start + 10_000]
        x[start : start + 10_000] = means[own] + 3 * rng.standard_normal((len(own), p))
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)], copy=False).assign(y=codes)


def peer_rows(n: int, p: int, k: int, rows: int) -> None:
    """scikit-learn's fit, and labels of some rows."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    frame = make_rows(n, p, k)
    x, codes = frame.drop(columns="y"), frame["y"]
    LinearDiscriminantAnalysis().fit(x, codes).predict(x[:rows])


def label_rows(n: int, p: int, k: int, rows: int) -> None:
    """Our fit, and labels of some rows."""
    from discrim import lda

    frame = make_rows(n, p, k)
    lda("y ~ .", frame).predict(frame[:rows])


def fit_rows(n: int, p: int, k: int, rows: int) -> None:
    """Fit, summary, and labels of some rows."""
    from discrim import lda

    frame = make_rows(n, p, k)
    fit = lda("y ~ .", frame)
    str(fit.summary())
    fit.predict(frame[:rows])
