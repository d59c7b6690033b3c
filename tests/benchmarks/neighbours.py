"""Compare nearest neighbours with scikit-learn, and measure the cost of choosing k.

    python -m tests.benchmarks --only knn
    python -m tests.benchmarks.neighbours FOLDER [--rows 2000]

The second command classifies that many test rows of MNIST by all 60,000 training rows; FOLDER is described in
`tests.benchmarks.images`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes

MAX_NEIGHBOURS = 50


def compare_prediction(n: int, p: int, repeat: int) -> None:
    """Compare the prediction of n new rows from n rows with five neighbours."""
    x, _, frame = simulate_classes(2 * n, p, 5)
    names = frame.columns[:p]
    _compare_with_scikit_learn(f"kNN {n:,} x {p} by as many", frame[:n], frame.loc[n:, names], x[n:], repeat)


def _compare_with_scikit_learn(
    task: str, frame: pd.DataFrame, new: pd.DataFrame, new_array: np.ndarray, repeat: int
) -> None:
    """Compare predictions of a table `new` (as an array: `new_array`) with those of scikit-learn."""
    from sklearn.neighbors import KNeighborsClassifier as Peer

    from discrim import knn

    x, codes = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    ours, peer = knn("y ~ .", frame, k=5, scale=False), Peer(5).fit(x, codes)
    runs: dict[str, Run] = {"ours": lambda: ours.predict(new), "peer": lambda: peer.predict(new_array)}
    times = median_seconds(runs, repeat)
    agreement = float((ours.predict(new).to_numpy() == peer.predict(new_array)).mean())
    print(
        f"{task}: ours {times['ours']:.2f} s, scikit-learn {times['peer']:.2f} s, {agreement:.2%} "
        "labels the same"
    )
    report_figure(task, "over scikit-learn", times["ours"] / times["peer"], 1.2)


def time_choice(n: int, p: int, repeat: int) -> None:
    """Compare the choice of k from 1 to 50 by leave-one-out with one search for 50 neighbours."""
    from discrim import knn

    _, _, frame = simulate_classes(n, p, 5)
    fit = knn("y ~ .", frame, k=MAX_NEIGHBOURS)._fit.estimates
    grid = range(1, MAX_NEIGHBOURS + 1)
    runs: dict[str, Run] = {
        "choice": lambda: fit.left_out_errors_by_class(grid, fit.prior),
        "search": lambda: fit.search.nearest_others(np.arange(n), MAX_NEIGHBOURS),
    }
    times = median_seconds(runs, repeat)
    report_figure(
        f"kNN {n:,} x {p}, k of 1 to {MAX_NEIGHBOURS}",
        "over one search",
        times["choice"] / times["search"],
        1.3,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.neighbours")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2000, help="number of test rows")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    file = np.load(options.folder / "mnist.npz")
    x = file["X_train"].reshape(len(file["X_train"]), -1).astype(float)
    new_array = file["X_test"][: options.rows].reshape(options.rows, -1).astype(float)
    names = [f"x{j}" for j in range(x.shape[1])]
    frame = pd.DataFrame(x, columns=names).assign(y=file["y_train"])
    new = pd.DataFrame(new_array, columns=names)
    _compare_with_scikit_learn(f"kNN MNIST, {options.rows:,} rows", frame, new, new_array, options.repeat)


if __name__ == "__main__":
    main()
