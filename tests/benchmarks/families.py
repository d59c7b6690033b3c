"""Time bandwidth choices, minimum covariance determinants, ridge choices and sparse naive Bayes.

python -m tests.benchmarks.families [--quick]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import scipy

from discrim.penalty import Ridge
from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes

BANDWIDTHS = 30


def time_bandwidth_choice(n: int, p: int, repeat: int) -> None:
    """Compare the choice of a bandwidth with one exponential for each pair of rows and bandwidth."""
    from discrim import kernel_density

    _, _, frame = simulate_classes(n, p, 5)
    half = frame[: n // 2]
    exponents, out = -40 * np.random.default_rng(0).random(2**15), np.empty(2**15)
    runs: dict[str, Run] = {
        "all": lambda: kernel_density("y ~ .", frame),
        "half": lambda: kernel_density("y ~ .", half),
        "exponentials": lambda: [np.exp(exponents, out=out) for _ in range(100)],
    }
    times = median_seconds(runs, repeat)
    limit = times["exponentials"] / (100 * len(out)) * BANDWIDTHS * n**2
    task = f"kernel_density {n:,} x {p}, chosen"
    print(f"{task}: {times['all']:.2f} s; {BANDWIDTHS} n^2 exponentials {limit:.2f} s")
    report_figure(task, "seconds", times["all"], 2)
    # An expansion needs one exponential for many rows and bandwidths, in addition to distances and powers.
    report_figure(task, f"over {BANDWIDTHS} n^2 exponentials", times["all"] / limit, 1.5)
    report_figure(task, "over that of half the rows", times["all"] / times["half"], 4.5)


def time_mcd(n: int, p: int, repeat: int) -> None:
    """Time LDA with the pooled minimum covariance determinant of two classes."""
    from discrim import lda

    _, _, frame = simulate_classes(n, p, 2)
    times = median_seconds({"ours": lambda: lda("y ~ .", frame, covariance="mcd")}, repeat)
    report_figure(f'lda(covariance="mcd") {n:,} x {p}', "seconds", times["ours"], 5)


def simulate_curves(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Simulate coordinates of points along plane curves of k classes, as in the data set movement_libras."""
    rng = np.random.default_rng(20261125)
    codes, along = np.arange(n) % k, np.arange(5)
    waves = np.cos(np.pi * along[:, None] * np.linspace(0, 1, p // 2))
    coefficients = rng.standard_normal((k, 2, 5))[codes] + 0.25 * rng.standard_normal((n, 2, 5))
    points = (coefficients / (1 + along)) @ waves + 0.01 * rng.standard_normal((n, 2, p // 2))
    x = 0.5 + 0.2 * np.swapaxes(points, 1, 2).reshape(n, p)
    return x, codes, pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)


def compare_ridge_choice(
    x: np.ndarray, codes: np.ndarray, frame: pd.DataFrame, strengths: int, folds: int
) -> None:
    """Compare the choice of a ridge strength by cross-validation with scikit-learn for the same strengths."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.preprocessing import StandardScaler

    from discrim import logistic

    z = StandardScaler().fit_transform(x)
    start = time.perf_counter()
    fit = logistic("y ~ .", frame, penalty=Ridge(n_strengths=strengths, folds=folds, seed=0))
    ours = time.perf_counter() - start
    inverse = 1 / (len(x) * fit.path["strength"].to_numpy())
    options = {"cv": folds, "scoring": "neg_log_loss", "l1_ratios": (0.0,), "use_legacy_attributes": False}
    start = time.perf_counter()
    LogisticRegressionCV(Cs=inverse, **options).fit(z, codes)
    peer = time.perf_counter() - start
    task = f"ridge {len(x)} x {x.shape[1]} x {len(fit.classes)}, chosen"
    print(f"{task} of {strengths} by {folds} folds: ours {ours:.2f} s, LogisticRegressionCV {peer:.2f} s")
    report_figure(task, "over LogisticRegressionCV", ours / peer, 1)


def compare_sparse_naive_bayes(n: int, p: int, repeat: int) -> None:
    """Compare naive Bayes of sparse counts with a shallow copy by pandas and with scikit-learn."""
    from sklearn.naive_bayes import MultinomialNB

    from discrim import naive_bayes

    rng = np.random.default_rng(20261125)
    matrix = scipy.sparse.random_array((n, p), density=0.002, rng=rng, format="csr")
    matrix.data = np.ceil(4 * matrix.data)
    codes = rng.integers(0, 4, n)
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, columns=[f"w{j}" for j in range(p)])
    frame.insert(0, "y", codes)
    runs: dict[str, Run] = {
        "ours": lambda: naive_bayes("y ~ .", frame, counts=True, laplace=1.0),
        "copy": lambda: frame.copy(deep=False),
        "peer": lambda: MultinomialNB().fit(matrix, codes),
    }
    times = median_seconds(runs, repeat)
    task = f"naive_bayes {n:,} x {p:,} sparse"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    report_figure(task, "seconds", times["ours"], 0.3)
    report_figure(task, "over a shallow copy by pandas", times["ours"] / times["copy"], 3)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; a divisor above 1 reduces the work."""
    is_quick = divisor > 1
    libras, small_table = simulate_curves(288, 90, 15), simulate_classes(327, 6, 5)
    strengths, folds = (10, 3) if is_quick else (50, 5)
    return {
        "kernel_density, chosen": lambda: time_bandwidth_choice(2000 if is_quick else 4000, 3, repeat),
        "mcd": lambda: time_mcd(2000 // divisor, 60 if is_quick else 200, repeat),
        "ridge of libras": lambda: compare_ridge_choice(*libras, strengths, folds),
        "ridge of a classic table": lambda: compare_ridge_choice(*small_table, strengths, folds),
        "naive_bayes, sparse": lambda: compare_sparse_naive_bayes(
            20_000 // divisor, 50_000 // divisor, repeat
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.families")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    for run in tasks(10 if options.quick else 1, options.repeat).values():
        run()


if __name__ == "__main__":
    main()
