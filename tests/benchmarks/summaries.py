"""Summaries over the fits that they are of, and the time and size of a page on a fit."""

from __future__ import annotations

import io
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from discrim.errors import DiscrimError
from discrim.models.plots.plottable import available_plot_kinds
from discrim.models.report.report import N_FOLDED_PLOTS, N_VISIBLE_PLOTS
from tests.benchmarks.timing import Run, made, medians, row

__all__ = ["logistic_summary", "many_classes_summary", "page", "tasks"]


def logistic_summary(n: int, p: int, repeat: int) -> None:
    """Fit and summary of two classes over the fit."""
    from discrim import logistic

    _, codes, frame = made(n, p, 2)
    # Without these a hyperplane may separate the classes.
    frame["y"] = np.where(np.arange(n) % 10 == 0, 1 - codes, codes)
    runs: dict[str, Run] = {
        "fit": lambda: logistic("y ~ .", frame),
        "summary": lambda: str(logistic("y ~ .", frame).summary()),
    }
    taken = medians(runs, repeat)
    task = f"logistic summary {n:,} x {p}"
    row(task, "with its fit, over the fit", taken["summary"] / taken["fit"], 3)


def many_classes_summary(n: int, p: int, k: int, repeat: int) -> None:
    """Fit and summary of very many classes over the fit, and what the summary holds beside it."""
    from discrim import lda

    _, _, frame = made(n, p, k)
    runs: dict[str, Run] = {
        "fit": lambda: lda("y ~ .", frame),
        "summary": lambda: str(lda("y ~ .", frame).summary()),
    }
    taken = medians(runs, repeat)
    task = f"LDA summary {n:,} x {p} x {k:,}"
    row(task, "with its fit, over the fit", taken["summary"] / taken["fit"], 10)
    fit = lda("y ~ .", frame)
    tracemalloc.start()
    str(fit.summary())
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    row(task, "peak memory allocated, MB", most / 2**20, 150)


def page(repeat: int) -> None:
    """The page on a fit of the irises, with the pictures that come first."""
    from discrim import lda
    from discrim.datasets import load_iris

    fit = lda("species ~ .", load_iris())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "page.html")
        taken = medians({"page": lambda: fit.report(place)}, repeat)
        row("report of iris", "seconds", taken["page"], 2)
        row("report of iris", "MB", place.stat().st_size / 1e6, 1)
    fit.plot("scores").figure.savefig(io.BytesIO(), format="svg")
    least = drawn_once(fit)
    print(
        f"{'report of iris':34} {'its pictures, made and laid out, written once':44} {least:8.2f}  the limit"
    )


def drawn_once(fit: Any) -> float:
    """Seconds in which matplotlib writes pictures of a fit, as many as a report has, when they are laid out.

    A report cannot take less: it makes them too, and finds their places.
    """
    import matplotlib.pyplot as plt

    total = 0.0
    for kind in available_plot_kinds(fit, refits=False)[: N_VISIBLE_PLOTS + N_FOLDED_PLOTS]:
        try:
            figure: Any = fit.plot(kind).figure
        except DiscrimError:
            continue
        figure.set_layout_engine("none")
        start = time.perf_counter()
        figure.savefig(io.BytesIO(), format="svg")
        total += time.perf_counter() - start
        plt.close(figure)
    return total


def tasks(part: int, repeat: int) -> dict[str, Run]:
    """The tasks of this module."""
    return {
        "summary-logistic": lambda: logistic_summary(100_000 // part, 10, repeat),
        "summary-many-classes": lambda: many_classes_summary(20_000 // part, 20, 2_000 // part, repeat),
        "report": lambda: page(max(repeat // 2, 1)),
    }
