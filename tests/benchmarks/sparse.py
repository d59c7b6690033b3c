"""Compare sparse discriminant analysis of thousands of columns with scikit-learn and R."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, median_seconds, report_figure

N_PENALTIES = 50

R_SCRIPT = """
suppressMessages({library(glmnet); library(sparseLDA); library(jsonlite)})
folder <- commandArgs(trailingOnly = TRUE)[1]
size <- fromJSON(file.path(folder, "size.json"))
x <- matrix(readBin(file.path(folder, "x"), "double", size$n * size$p), size$n)
y <- readBin(file.path(folder, "y"), "integer", size$n)
seconds <- function(call) unname(system.time(call)["elapsed"])
out <- list()
if (size$k == 2) {
  out[["cv.glmnet of the codes, as dsda"]] <- seconds(cv.glmnet(x, y, nlambda = size$penalties, nfolds = 10))
}
z <- normalize(x)$Xc
out[["sda, one fit"]] <- seconds(sda(z, factor(y), lambda = 1e-6, stop = -10, maxIte = 25, tol = 1e-3))
cat(toJSON(out, auto_unbox = TRUE, digits = NA))
"""


def simulate_genes(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Simulate rows of k classes that differ in one column of fifty."""
    rng = np.random.default_rng(20261123)
    codes = np.arange(n) % k
    shift = rng.standard_normal((k, p)) * (rng.random((k, p)) < 0.02)
    x = rng.standard_normal((n, p)) + 1.5 * shift[codes]
    return x, codes, pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)


def r_seconds(x: np.ndarray, codes: np.ndarray, k: int) -> dict[str, float]:
    """Return the seconds of R's packages for the same array; empty if R is not installed."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "x").write_bytes(np.asfortranarray(x).tobytes("F"))
        (path / "y").write_bytes(codes.astype(np.int32).tobytes())
        size = {"n": len(x), "p": x.shape[1], "k": k, "penalties": N_PENALTIES}
        (path / "size.json").write_text(json.dumps(size))
        (path / "peers.R").write_text(R_SCRIPT)
        completed = subprocess.run(
            ["Rscript", str(path / "peers.R"), folder], capture_output=True, text=True, check=False
        )
        seconds: dict[str, float] = json.loads(completed.stdout) if completed.returncode == 0 else {}
    return seconds


def compare_paths(n: int, p: int, k: int, repeat: int) -> None:
    """Compare the whole path, and its choice by ten folds, with scikit-learn and R."""
    from sklearn.linear_model import LassoCV, lasso_path

    from discrim import sparse_lda

    x, codes, frame = simulate_genes(n, p, k)
    fit = sparse_lda("y ~ .", data=frame, penalty=0.3)
    penalties = np.geomspace(0.9, 0.01, N_PENALTIES)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    target = (codes - codes.mean()) / codes.std()
    runs: dict[str, Run] = {
        "path": lambda: fit.coefficient_path(penalties.tolist()),
        "chosen": lambda: sparse_lda("y ~ .", data=frame, n_penalties=N_PENALTIES, seed=1),
    }
    if k == 2:
        runs["scikit-learn's lasso_path"] = lambda: lasso_path(z, target, alphas=penalties)
        runs["scikit-learn's LassoCV"] = lambda: LassoCV(cv=10, alphas=N_PENALTIES).fit(z, target)
    times = median_seconds(runs, max(repeat // 2, 1)) | r_seconds(x, codes, k)
    task = f"sparse LDA {n} x {p:,} x {k}"
    print(task, " ".join(f"{name} {seconds:.2f} s" for name, seconds in times.items()), sep=": ")
    report_figure(task, "seconds of the path of 50 penalties", times["path"], 5)
    report_figure(task, "seconds, chosen by ten folds", times["chosen"], 30)
    if "sda, one fit" in times:
        ratio = times["sda, one fit"] * N_PENALTIES / times["path"]
        report_figure(task, "times faster than as many fits of R's sda", ratio, 20, at_least=True)
    if k == 2:
        ratio = times["scikit-learn's lasso_path"] / times["path"]
        report_figure(task, "times faster than scikit-learn's lasso_path", ratio, 0.5, at_least=True)
