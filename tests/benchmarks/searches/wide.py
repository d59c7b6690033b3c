"""Processor time of tables with many more columns than observations."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from tests.benchmarks.searches.tables import labelled_frame, report_processor_seconds
from tests.benchmarks.timing import Run

__all__ = ["simulate_genes", "tasks"]


def simulate_genes(n: int, p: int, k: int = 2, informative: int = 50) -> pd.DataFrame:
    """Simulate p columns like gene expression: ten common factors, and few columns that depend on the class.

    Returns
    -------
    DataFrame
        Columns x0, x1, ... and the response y with the labels "a", "b", ...
    """
    rng = np.random.default_rng(20261129)
    codes = rng.permutation(np.arange(n) % k)
    x = rng.standard_normal((n, p)) + rng.standard_normal((n, 10)) @ rng.standard_normal((10, p)) / 2
    x[:, :informative] += 1.5 * rng.standard_normal((k, informative))[codes]
    return labelled_frame(x, codes)


def measure_sparse_lda(p: int, repeat: int) -> None:
    """Measure the choice of a penalty, its ten folds, and leave-one-out."""
    from discrim import sparse_lda

    frame = simulate_genes(60, p)
    fit = sparse_lda("y ~ .", frame)
    fits = [sparse_lda("y ~ .", frame) for _ in range(repeat + 1)]
    runs: dict[str, tuple[Run, float]] = {
        "fit": (lambda: sparse_lda("y ~ .", frame), 2.0),
        "ten folds": (lambda: fit.error_rates(["cv"]), 15.0),
        "leave-one-out": (lambda: fits.pop().leave_one_out(), 5.0),
    }
    report_processor_seconds("sparse-lda-wide", runs, repeat)


def measure_pls(p: int, repeat: int) -> None:
    """Measure the choice of a number of components, its ten folds, and a summary of three components."""
    from discrim import pls

    frame = simulate_genes(60, p)
    fit = pls("y ~ .", frame)
    fits = [pls("y ~ .", frame, ncomp=3) for _ in range(repeat + 1)]
    runs: dict[str, tuple[Run, float]] = {
        "fit": (lambda: pls("y ~ .", frame), 0.6),
        "ten folds": (lambda: fit.error_rates(["cv"]), 4.0),
        "summary of three components": (lambda: str(fits.pop().summary()), 0.5),
    }
    report_processor_seconds("pls-wide", runs, repeat)


def measure_shrunken_centroids(p: int, repeat: int) -> None:
    """Measure the choice of a threshold and ten folds."""
    from discrim import shrunken_centroids

    fit = shrunken_centroids("y ~ .", simulate_genes(60, p))
    runs: dict[str, tuple[Run, float]] = {"ten folds": (lambda: fit.error_rates(["cv"]), 1.0)}
    report_processor_seconds("shrunken-centroids-wide", runs, repeat)


def measure_correlation(p: int, repeat: int) -> None:
    """Measure linear discriminant analysis with shrunk correlations, its summary and ten folds."""
    from discrim import lda

    frame = simulate_genes(60, p)
    fit = lda("y ~ .", frame, covariance="correlation")
    fits = [lda("y ~ .", frame, covariance="correlation") for _ in range(repeat + 1)]
    runs: dict[str, tuple[Run, float]] = {
        "fit": (lambda: lda("y ~ .", frame, covariance="correlation"), 2.0),
        "summary": (lambda: str(fits.pop().summary()), 2.0),
        "ten folds": (lambda: fit.error_rates(["cv"]), 2.0),
    }
    report_processor_seconds("lda-correlation-wide", runs, repeat)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the number of columns is divided by `divisor`."""
    p = max(20_000 // divisor, 200)
    measures = {
        "sparse-lda-wide": measure_sparse_lda,
        "pls-wide": measure_pls,
        "shrunken-centroids-wide": measure_shrunken_centroids,
        "lda-correlation-wide": measure_correlation,
    }
    return {name: partial(measure, p, repeat) for name, measure in measures.items()}
