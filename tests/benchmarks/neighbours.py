"""Nearest neighbours beside scikit-learn, and the price of choosing how many.

    python -m tests.benchmarks --only knn
    python -m tests.benchmarks.neighbours FOLDER [--rows 2000]

The second is on MNIST, so many of the test rows by all 60,000; FOLDER as of `tests.benchmarks.images`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, made, medians, row

MOST = 50


def prediction(n: int, p: int, repeat: int) -> None:
    """Labels of n new rows by n rows, five neighbours each."""
    x, _, frame = made(2 * n, p, 5)
    names = frame.columns[:p]
    _beside_scikit_learn(f"kNN {n:,} x {p} by as many", frame[:n], frame.loc[n:, names], x[n:], repeat)


def _beside_scikit_learn(
    task: str, frame: pd.DataFrame, new: pd.DataFrame, q: np.ndarray, repeat: int
) -> None:
    from sklearn.neighbors import KNeighborsClassifier as Peer

    from discrim import knn

    x, codes = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    ours, peer = knn("y ~ .", frame, k=5, scale=False), Peer(5).fit(x, codes)
    runs: dict[str, Run] = {"ours": lambda: ours.predict(new), "peer": lambda: peer.predict(q)}
    taken = medians(runs, repeat)
    same = float((ours.predict(new).to_numpy() == peer.predict(q)).mean())
    print(
        f"{task}: ours {taken['ours']:.2f} s, scikit-learn {taken['peer']:.2f} s, {same:.2%} labels the same"
    )
    row(task, "over scikit-learn", taken["ours"] / taken["peer"], 1.2)


def choice(n: int, p: int, repeat: int) -> None:
    """k from 1 to 50 by leave-one-out, against one search for 50 neighbours."""
    from discrim import knn

    _, _, frame = made(n, p, 5)
    fit = knn("y ~ .", frame, k=MOST)._fit.estimates
    grid = range(1, MOST + 1)
    runs: dict[str, Run] = {
        "choice": lambda: fit.left_out_errors_by_class(grid, fit.prior),
        "search": lambda: fit.search.nearest_others(0, n, MOST),
    }
    taken = medians(runs, repeat)
    row(f"kNN {n:,} x {p}, k of 1 to {MOST}", "over one search", taken["choice"] / taken["search"], 1.3)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.neighbours")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2000, help="test rows")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    held = np.load(asked.folder / "mnist.npz")
    x = held["X_train"].reshape(len(held["X_train"]), -1).astype(float)
    q = held["X_test"][: asked.rows].reshape(asked.rows, -1).astype(float)
    names = [f"x{j}" for j in range(x.shape[1])]
    frame = pd.DataFrame(x, columns=names).assign(y=held["y_train"])
    new = pd.DataFrame(q, columns=names)
    _beside_scikit_learn(f"kNN MNIST, {asked.rows:,} rows", frame, new, q, asked.repeat)


if __name__ == "__main__":
    main()
