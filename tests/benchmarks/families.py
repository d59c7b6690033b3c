"""Choices and robust fits of other families: bandwidths, minimum determinants, ridges, sparse naive Bayes.

python -m tests.benchmarks.families [--quick]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
import scipy

from discrim.penalty import Ridge
from tests.benchmarks.timing import Run, made, medians, row

BANDWIDTHS = 30


def bandwidth(n: int, p: int, repeat: int) -> None:
    """A bandwidth that is chosen, beside the exponentials that all pairs of rows have at each bandwidth."""
    from discrim import kernel_density

    _, _, frame = made(n, p, 5)
    half = frame[: n // 2]
    exponents, out = -40 * np.random.default_rng(0).random(2**15), np.empty(2**15)
    runs: dict[str, Run] = {
        "all": lambda: kernel_density("y ~ .", frame),
        "half": lambda: kernel_density("y ~ .", half),
        "exponentials": lambda: [np.exp(exponents, out=out) for _ in range(100)],
    }
    taken = medians(runs, repeat)
    limit = taken["exponentials"] / (100 * len(out)) * BANDWIDTHS * n**2
    task = f"kernel_density {n:,} x {p}, chosen"
    print(f"{task}: {taken['all']:.2f} s; {BANDWIDTHS} n^2 exponentials {limit:.2f} s")
    row(task, "seconds", taken["all"], 2)
    # An expansion takes one exponential for many rows and bandwidths; what is left are distances and powers.
    row(task, f"over {BANDWIDTHS} n^2 exponentials", taken["all"] / limit, 1.5)
    row(task, "over that of half the rows", taken["all"] / taken["half"], 4.5)


def least_determinant(n: int, p: int, repeat: int) -> None:
    """A pooled covariance of minimum determinant of two classes."""
    from discrim import lda

    _, _, frame = made(n, p, 2)
    taken = medians({"ours": lambda: lda("y ~ .", frame, covariance="mcd")}, repeat)
    row(f'lda(covariance="mcd") {n:,} x {p}', "seconds", taken["ours"], 5)


def curves(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Points along curves of k kinds in a square, as those of movement_libras."""
    rng = np.random.default_rng(20261125)
    codes, along = np.arange(n) % k, np.arange(5)
    waves = np.cos(np.pi * along[:, None] * np.linspace(0, 1, p // 2))
    own = rng.standard_normal((k, 2, 5))[codes] + 0.25 * rng.standard_normal((n, 2, 5))
    points = (own / (1 + along)) @ waves + 0.01 * rng.standard_normal((n, 2, p // 2))
    x = 0.5 + 0.2 * np.swapaxes(points, 1, 2).reshape(n, p)
    return x, codes, pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)


def ridge(x: np.ndarray, codes: np.ndarray, frame: pd.DataFrame, strengths: int, folds: int) -> None:
    """A ridge whose strength folds choose, beside scikit-learn's of the same strengths."""
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
    row(task, "over LogisticRegressionCV", ours / peer, 1)


def words(n: int, p: int, repeat: int) -> None:
    """Naive Bayes of counts, most of which are zero, beside a copy by pandas that shares all values."""
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
    taken = medians(runs, repeat)
    task = f"naive_bayes {n:,} x {p:,} sparse"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    row(task, "seconds", taken["ours"], 0.3)
    row(task, "over a shallow copy by pandas", taken["ours"] / taken["copy"], 3)


def tasks(part: int, repeat: int) -> dict[str, Run]:
    """The runs, at a tenth of the work where `part` is 10."""
    few = part > 1
    libras, classic = curves(288, 90, 15), made(327, 6, 5)
    strengths, folds = (10, 3) if few else (50, 5)
    return {
        "kernel_density, chosen": lambda: bandwidth(2000 if few else 4000, 3, repeat),
        "mcd": lambda: least_determinant(2000 // part, 60 if few else 200, repeat),
        "ridge of libras": lambda: ridge(*libras, strengths, folds),
        "ridge of a classic table": lambda: ridge(*classic, strengths, folds),
        "naive_bayes, sparse": lambda: words(20_000 // part, 50_000 // part, repeat),
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
