"""Compare shrunken correlations and CAT scores of thousands of columns with R's sda."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.sparse import simulate_genes
from tests.benchmarks.timing import Run, median_seconds, report_figure

R_SCRIPT = """
suppressMessages({library(sda); library(jsonlite)})
folder <- commandArgs(trailingOnly = TRUE)[1]
size <- fromJSON(file.path(folder, "size.json"))
x <- matrix(readBin(file.path(folder, "x"), "double", size$n * size$p), size$n)
y <- factor(readBin(file.path(folder, "y"), "integer", size$n))
seconds <- function(run) median(sapply(1:size$repeats, function(i) unname(system.time(run())["elapsed"])))
out <- list(
  fit = seconds(function() sda(x, y, verbose = FALSE)),
  ranking = seconds(function() sda.ranking(x, y, fdr = FALSE, verbose = FALSE)),
  lambda = sda(x, y, verbose = FALSE)$regularization[["lambda"]]
)
cat(toJSON(out, auto_unbox = TRUE, digits = NA))
"""


def r_results(x: np.ndarray, codes: np.ndarray, repeat: int) -> dict[str, float]:
    """Return the seconds and the shrinkage of R's sda for the same array; empty if R is not installed."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "x").write_bytes(np.asfortranarray(x).tobytes("F"))
        (path / "y").write_bytes(codes.astype(np.int32).tobytes())
        (path / "size.json").write_text(json.dumps({"n": len(x), "p": x.shape[1], "repeats": repeat}))
        (path / "peer.R").write_text(R_SCRIPT)
        completed = subprocess.run(
            ["Rscript", str(path / "peer.R"), folder], capture_output=True, text=True, check=False
        )
        results: dict[str, float] = json.loads(completed.stdout) if completed.returncode == 0 else {}
    return results


def compare_ranking(n: int, p: int, k: int, repeat: int) -> None:
    """Compare a fit, its ranking and leave-one-out with R's sda."""
    from discrim import lda

    x, codes, frame = simulate_genes(n, p, k)
    fit = lda("y ~ .", frame, covariance="correlation")
    runs: dict[str, Run] = {
        "fit": lambda: lda("y ~ .", frame, covariance="correlation"),
        "variances alone": lambda: lda("y ~ .", frame, covariance="diagonal"),
        "ranking": fit.ranking,
        "left out": lambda: lda("y ~ .", frame, covariance="correlation").leave_one_out(),
    }
    times, r_values = median_seconds(runs, repeat), r_results(x, codes, repeat)
    task = f"shrunken correlations {n} x {p:,} x {k}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), r_values, sep=": ")
    report_figure(task, "seconds of fit and ranking", times["fit"] + times["ranking"], 0.5)
    report_figure(task, "seconds of fit and leave-one-out", times["left out"], 3)
    if r_values:
        ratio = (r_values["fit"] + r_values["ranking"]) / (times["fit"] + times["ranking"])
        report_figure(task, "times faster than R's sda and sda.ranking", ratio, 0.5, at_least=True)
        report_figure(task, "difference of the shrinkages", abs(r_values["lambda"] - fit.shrinkage), 1e-10)
