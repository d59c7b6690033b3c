"""Shrunken correlations and CAT scores of thousands of columns, beside R's sda."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.sparse import genes
from tests.benchmarks.timing import Run, medians, row

R = """
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


def by_r(x: np.ndarray, codes: np.ndarray, repeat: int) -> dict[str, float]:
    """Seconds of R's sda on the same array, and its shrinkage; nothing where R is not there."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "x").write_bytes(np.asfortranarray(x).tobytes("F"))
        (place / "y").write_bytes(codes.astype(np.int32).tobytes())
        (place / "size.json").write_text(json.dumps({"n": len(x), "p": x.shape[1], "repeats": repeat}))
        (place / "peer.R").write_text(R)
        done = subprocess.run(
            ["Rscript", str(place / "peer.R"), folder], capture_output=True, text=True, check=False
        )
        found: dict[str, float] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def rankings(n: int, p: int, k: int, repeat: int) -> None:
    """A fit, its ranking, and its rows left out."""
    from discrim import lda

    x, codes, frame = genes(n, p, k)
    fit = lda("y ~ .", frame, covariance="correlation")
    runs: dict[str, Run] = {
        "fit": lambda: lda("y ~ .", frame, covariance="correlation"),
        "variances alone": lambda: lda("y ~ .", frame, covariance="diagonal"),
        "ranking": fit.ranking,
        "left out": lambda: lda("y ~ .", frame, covariance="correlation").leave_one_out(),
    }
    taken, theirs = medians(runs, repeat), by_r(x, codes, repeat)
    task = f"shrunken correlations {n} x {p:,} x {k}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), theirs, sep=": ")
    row(task, "seconds of fit and ranking", taken["fit"] + taken["ranking"], 0.5)
    row(task, "seconds of fit and all rows left out", taken["left out"], 3)
    if theirs:
        ratio = (theirs["fit"] + theirs["ranking"]) / (taken["fit"] + taken["ranking"])
        row(task, "times faster than R's sda and sda.ranking", ratio, 0.5, at_least=True)
        row(task, "difference of the shrinkages", abs(theirs["lambda"] - fit.shrinkage), 1e-10)
