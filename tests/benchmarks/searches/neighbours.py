"""Processor time of nearest neighbours, kernel densities, perceptrons and pictures of many observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from tests.benchmarks.searches.tables import overlapping_classes, report_processor_seconds
from tests.benchmarks.timing import Run

__all__ = ["tasks"]

PICTURE_SECONDS = 0.5
"""Upper limit of the seconds of a picture and of a summary, at any number of observations."""


def close_figures() -> None:
    """Close the figures of matplotlib, which would stay in memory."""
    from matplotlib import pyplot

    pyplot.close("all")


def drawn(fit: Any) -> Run:
    """Return a run that draws the default picture of a fit, after a picture of iris warmed up matplotlib."""

    def run() -> object:
        fit.plot()
        close_figures()
        return None

    return run


def searches(verb: Callable[..., Any], n: int, p: int, bars: dict[str, float], repeat: int) -> None:
    """Measure the fit, the folds, the leave-one-out and the picture of a model, those that `bars` names."""
    frame = overlapping_classes(n, p)
    fit = verb("y ~ .", frame)
    runs: dict[str, Run] = {
        "fit": lambda: verb("y ~ .", frame),
        "ten folds": lambda: fit.error_rates(["cv"]),
        "leave-one-out": lambda: verb("y ~ .", frame).error_rates(["loo"]),
        "default picture": drawn(fit),
    }
    task = f"{verb.__name__} {n:,} x {p}"
    report_processor_seconds(task, {name: (runs[name], bar) for name, bar in bars.items()}, repeat)


def naive_bayes_folds(n: int, p: int, repeat: int) -> None:
    """Measure the ten folds of naive Bayes with kernel densities."""
    from discrim import naive_bayes

    fit = naive_bayes("y ~ .", overlapping_classes(n, p), kernel=True)
    runs: dict[str, tuple[Run, float]] = {"ten folds": (lambda: fit.error_rates(["cv"]), 1.0)}
    report_processor_seconds(f"naive_bayes(kernel=True) {n:,} x {p}", runs, repeat)


def plda_pictures(sizes: tuple[int, ...], p: int, repeat: int) -> None:
    """Measure the default picture of PLDA, whose pairs grow with the square of the observations."""
    from discrim import plda

    runs: dict[str, tuple[Run, float]] = {}
    for n in sizes:
        fit = plda("y ~ .", overlapping_classes(n, p))
        runs[f"default picture of {n:,}"] = (drawn(fit), PICTURE_SECONDS)
    report_processor_seconds(f"plda, {p} columns", runs, repeat)


def growth(verb: Callable[..., Any], sizes: tuple[int, ...], p: int, repeat: int, parts: list[str]) -> None:
    """Measure the fit, the summary and the default picture of a model as the observations increase.

    The summary is of a new fit, without the seconds of the fit, because a fit stores its error rates.
    """
    frames: dict[int, pd.DataFrame] = {n: overlapping_classes(n, p) for n in sizes}
    runs: dict[str, tuple[Run, float]] = {}
    for n, frame in frames.items():
        fits = [verb("y ~ .", frame) for _ in range(repeat + 1)]
        runs_of_size: dict[str, Run] = {
            "fit": lambda frame=frame: verb("y ~ .", frame),
            "summary": lambda fits=fits: str(fits.pop().summary()),
            "default picture": drawn(fits[0]),
        }
        for part in parts:
            runs[f"{part} of {n:,}"] = (runs_of_size[part], PICTURE_SECONDS)
    report_processor_seconds(f"growth of {verb.__name__}, {p} columns", runs, repeat)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    import matplotlib as mpl

    from discrim import kernel_density, knn, perceptron

    mpl.use("agg")
    n = 5_000 // divisor
    sizes = (4_000 // divisor, 8_000 // divisor, 16_000 // divisor)
    return {
        "kernel-density-5000": lambda: searches(
            kernel_density, n, 30, {"fit": 0.8, "ten folds": 4.0}, repeat
        ),
        "naive-bayes-kernel-5000": lambda: naive_bayes_folds(n, 30, repeat),
        "knn-5000": lambda: searches(knn, n, 30, {"ten folds": 1.0, "default picture": 0.4}, repeat),
        "perceptron-303": lambda: searches(perceptron, 303 // divisor, 13, {"leave-one-out": 0.8}, repeat),
        "perceptron-5000": lambda: searches(perceptron, n, 30, {"fit": 0.3}, repeat),
        "plda-picture": lambda: plda_pictures(sizes, 20, repeat),
        "growth-kernel-density": lambda: growth(
            kernel_density, sizes, 20, repeat, ["fit", "summary", "default picture"]
        ),
        "growth-knn": lambda: growth(knn, sizes, 20, repeat, ["summary", "default picture"]),
        "growth-perceptron": lambda: growth(perceptron, sizes, 20, repeat, ["fit"]),
    }
