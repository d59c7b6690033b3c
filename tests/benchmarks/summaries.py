"""Compare summaries with their fits, and time the report of a fit."""

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
from tests.benchmarks.timing import Run, median_seconds, report_figure, simulate_classes

__all__ = ["tasks", "time_logistic_summary", "time_many_classes_summary", "time_report"]


def time_logistic_summary(n: int, p: int, repeat: int) -> None:
    """Compare a logistic fit and its summary with the fit alone."""
    from discrim import logistic

    _, codes, frame = simulate_classes(n, p, 2)
    # Some wrong labels, so that no hyperplane separates the classes.
    frame["y"] = np.where(np.arange(n) % 10 == 0, 1 - codes, codes)
    runs: dict[str, Run] = {
        "fit": lambda: logistic("y ~ .", frame),
        "summary": lambda: str(logistic("y ~ .", frame).summary()),
    }
    times = median_seconds(runs, repeat)
    task = f"logistic summary {n:,} x {p}"
    report_figure(task, "with its fit, over the fit", times["summary"] / times["fit"], 3)


def time_many_classes_summary(n: int, p: int, k: int, repeat: int) -> None:
    """Compare LDA of very many classes and its summary with the fit alone; measure the summary's memory."""
    from discrim import lda

    _, _, frame = simulate_classes(n, p, k)
    runs: dict[str, Run] = {
        "fit": lambda: lda("y ~ .", frame),
        "summary": lambda: str(lda("y ~ .", frame).summary()),
    }
    times = median_seconds(runs, repeat)
    task = f"LDA summary {n:,} x {p} x {k:,}"
    report_figure(task, "with its fit, over the fit", times["summary"] / times["fit"], 10)
    fit = lda("y ~ .", frame)
    tracemalloc.start()
    str(fit.summary())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    report_figure(task, "peak memory allocated, MB", peak / 2**20, 150)


def time_report(repeat: int) -> None:
    """Time the report of an iris fit, and measure the size of its page."""
    from discrim import lda
    from discrim.datasets import load_iris

    fit = lda("species ~ .", load_iris())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        times = median_seconds({"page": lambda: fit.report(path)}, repeat)
        report_figure("report of iris", "seconds", times["page"], 2)
        report_figure("report of iris", "MB", path.stat().st_size / 1e6, 1)
    fit.plot("scores").figure.savefig(io.BytesIO(), format="svg")
    plot_seconds = seconds_to_draw(fit)
    print(
        f"{'report of iris':34} {'its pictures, made and laid out, written once':44} "
        f"{plot_seconds:8.2f}  the limit"
    )


def seconds_to_draw(fit: Any) -> float:
    """Return the seconds that matplotlib needs to write the pictures of a report once they are laid out.

    A report cannot be faster: it also creates the pictures and their layout.
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


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name."""
    return {
        "summary-logistic": lambda: time_logistic_summary(100_000 // divisor, 10, repeat),
        "summary-many-classes": lambda: time_many_classes_summary(
            20_000 // divisor, 20, 2_000 // divisor, repeat
        ),
        "report": lambda: time_report(max(repeat // 2, 1)),
    }
