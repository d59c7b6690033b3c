"""Sparse discriminant analysis of thousands of columns, beside scikit-learn and R."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, medians, row

PENALTIES = 50

R = """
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


def genes(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Rows of k classes that differ in one column of fifty."""
    rng = np.random.default_rng(20261123)
    codes = np.arange(n) % k
    shift = rng.standard_normal((k, p)) * (rng.random((k, p)) < 0.02)
    x = rng.standard_normal((n, p)) + 1.5 * shift[codes]
    return x, codes, pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)


def by_r(x: np.ndarray, codes: np.ndarray, k: int) -> dict[str, float]:
    """Seconds of R's packages on the same array; none where R is not there."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "x").write_bytes(np.asfortranarray(x).tobytes("F"))
        (place / "y").write_bytes(codes.astype(np.int32).tobytes())
        size = {"n": len(x), "p": x.shape[1], "k": k, "penalties": PENALTIES}
        (place / "size.json").write_text(json.dumps(size))
        (place / "peers.R").write_text(R)
        done = subprocess.run(
            ["Rscript", str(place / "peers.R"), folder], capture_output=True, text=True, check=False
        )
        found: dict[str, float] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def paths(n: int, p: int, k: int, repeat: int) -> None:
    """The whole path, and its choice by ten folds."""
    from sklearn.linear_model import LassoCV, lasso_path

    from discrim import sparse_lda

    x, codes, frame = genes(n, p, k)
    fit = sparse_lda("y ~ .", data=frame, penalty=0.3)
    penalties = np.geomspace(0.9, 0.01, PENALTIES)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    target = (codes - codes.mean()) / codes.std()
    runs: dict[str, Run] = {
        "path": lambda: fit.coefficient_path(penalties.tolist()),
        "chosen": lambda: sparse_lda("y ~ .", data=frame, n_penalties=PENALTIES, seed=1),
    }
    if k == 2:
        runs["scikit-learn's lasso_path"] = lambda: lasso_path(z, target, alphas=penalties)
        runs["scikit-learn's LassoCV"] = lambda: LassoCV(cv=10, alphas=PENALTIES).fit(z, target)
    taken = medians(runs, max(repeat // 2, 1)) | by_r(x, codes, k)
    task = f"sparse LDA {n} x {p:,} x {k}"
    print(task, " ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items()), sep=": ")
    row(task, "seconds of the path of 50 penalties", taken["path"], 5)
    row(task, "seconds, chosen by ten folds", taken["chosen"], 30)
    if "sda, one fit" in taken:
        ratio = taken["sda, one fit"] * PENALTIES / taken["path"]
        row(task, "times faster than as many fits of R's sda", ratio, 20, at_least=True)
    if k == 2:
        ratio = taken["scikit-learn's lasso_path"] / taken["path"]
        row(task, "times faster than scikit-learn's lasso_path", ratio, 0.5, at_least=True)
