"""Partial least squares beside scikit-learn's PLSRegression and R's pls, on the same arrays in one run."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.timing import Run, made, medians, row

__all__ = ["partial_least_squares"]

IN_R = """
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
"""Columns are standardized as ours are, and the fit is the bare one, without a formula."""


def partial_least_squares(n: int, p: int, k: int, components: int, bar: float, repeat: int) -> None:
    """A fit, the choice of components by ten folds, and leave-one-out of so many rows."""
    from sklearn.cross_decomposition import PLSRegression

    from discrim import pls

    x, codes, frame = made(n, p, k)
    y = np.eye(k)[codes]
    fit = pls("y ~ .", frame, ncomp=components)

    def left_out() -> None:
        fit._fit.cache.clear()
        fit.error_rates(["loo"])

    runs: dict[str, Run] = {
        "ours": lambda: pls("y ~ .", frame, ncomp=components),
        "choice": lambda: pls("y ~ .", frame, grid=range(1, components + 1), seed=0),
        "scikit-learn": lambda: PLSRegression(components).fit(x, y),
        "leave-one-out": left_out,
    }
    taken = medians(runs, repeat) | in_r(x, y, components, repeat)
    task = f"PLS {n:,} x {p:,} x {k}, {components} components"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    peer = PLSRegression(components, tol=1e-28, max_iter=100_000).fit(x, y)
    gap = np.abs(fit.rotations.to_numpy() - peer.x_rotations_).max() / np.abs(peer.x_rotations_).max()
    row(task, "largest relative difference, x 1e10", 1e10 * float(gap), 1)
    row(task, "times faster than scikit-learn", taken["scikit-learn"] / taken["ours"], bar, at_least=True)
    theirs = [seconds for name, seconds in taken.items() if name.startswith("R's")]
    if theirs:
        # Ours reads a formula and a table of named columns, which the bare fit in R has not.
        ratio = min(theirs) / taken["ours"]
        row(task, "times faster than R's fastest", ratio, 1 if n > p else 0.2, at_least=True)
    row(task, "choice by 10 folds over scikit-learn's one fit", taken["choice"] / taken["scikit-learn"], 15)


def in_r(x: np.ndarray, y: np.ndarray, components: int, repeat: int) -> dict[str, float]:
    """Median seconds of the fits of R's pls; empty where R or it is not there."""
    methods = "kernelpls,simpls" if len(x) > x.shape[1] else "widekernelpls,simpls,oscorespls"
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("x", x), ("y", y)):
            np.asfortranarray(values).T.tofile(Path(folder) / name)
        numbers = map(str, (*x.shape, y.shape[1], components, methods, repeat))
        command = ["Rscript", "-e", IN_R, folder, *numbers]
        try:
            said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            print("R or its package pls is not there")
            return {}
    lines = [line.split() for line in said.splitlines() if line.strip()]
    return {f"R's {method}": float(seconds) for method, seconds in lines}
