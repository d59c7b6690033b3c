"""Compare partial least squares with PLSRegression of scikit-learn and with the package pls of R."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes

__all__ = ["compare_pls"]

R_SCRIPT = """
suppressMessages(library(pls))
asked <- commandArgs(trailingOnly = TRUE)
n <- as.integer(asked[2]); p <- as.integer(asked[3]); k <- as.integer(asked[4]); a <- as.integer(asked[5])
x <- matrix(readBin(file.path(asked[1], "x"), "double", n * p), n)
y <- matrix(readBin(file.path(asked[1], "y"), "double", n * k), n)
for (method in strsplit(asked[6], ",")[[1]]) {
  run <- get(paste0(method, ".fit"))
  took <- vapply(seq_len(as.integer(asked[7])), function(i) {
    system.time({ z <- scale(x); run(z, scale(y), a, stripped = TRUE) })[["elapsed"]]
  }, 0)
  cat(method, median(took), "\\n")
}
"""
"""Columns are standardized as in `pls`, and the bare fit is timed, without a formula."""


def compare_pls(n: int, p: int, k: int, components: int, bar: float, repeat: int) -> None:
    """Compare a fit, the choice of the number of components by ten folds, and leave-one-out."""
    from sklearn.cross_decomposition import PLSRegression

    from discrim import pls

    x, codes, frame = simulate_classes(n, p, k)
    y = np.eye(k)[codes]
    fit = pls("y ~ .", frame, ncomp=components)

    def leave_one_out() -> None:
        fit._fit.cache.clear()
        fit.error_rates(["loo"])

    runs: dict[str, Run] = {
        "ours": lambda: pls("y ~ .", frame, ncomp=components),
        "choice": lambda: pls("y ~ .", frame, grid=range(1, components + 1), seed=0),
        "scikit-learn": lambda: PLSRegression(components).fit(x, y),
        "leave-one-out": leave_one_out,
    }
    times = median_seconds(runs, repeat) | r_seconds(x, y, components, repeat)
    task = f"PLS {n:,} x {p:,} x {k}, {components} components"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    peer = PLSRegression(components, tol=1e-28, max_iter=100_000).fit(x, y)
    difference = np.abs(fit.rotations.to_numpy() - peer.x_rotations_).max() / np.abs(peer.x_rotations_).max()
    report_figure(task, "largest relative difference, x 1e10", 1e10 * float(difference), 1)
    report_figure(
        task, "times faster than scikit-learn", times["scikit-learn"] / times["ours"], bar, at_least=True
    )
    theirs = [seconds for name, seconds in times.items() if name.startswith("R's")]
    if theirs:
        # Our time includes the formula and the table, which the bare fit in R does not read.
        ratio = min(theirs) / times["ours"]
        report_figure(task, "times faster than R's fastest", ratio, 1 if n > p else 0.2, at_least=True)
    report_figure(
        task, "choice by 10 folds over scikit-learn's one fit", times["choice"] / times["scikit-learn"], 15
    )


def r_seconds(x: np.ndarray, y: np.ndarray, components: int, repeat: int) -> dict[str, float]:
    """Return the median seconds of the fits of R's pls by method; empty if R or pls is not installed."""
    methods = "kernelpls,simpls" if len(x) > x.shape[1] else "widekernelpls,simpls,oscorespls"
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("x", x), ("y", y)):
            np.asfortranarray(values).T.tofile(Path(folder) / name)
        numbers = map(str, (*x.shape, y.shape[1], components, methods, repeat))
        command = ["Rscript", "-e", R_SCRIPT, folder, *numbers]
        try:
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            print("R or its package pls is not installed")
            return {}
    lines = [line.split() for line in output.splitlines() if line.strip()]
    return {f"R's {method}": float(seconds) for method, seconds in lines}
