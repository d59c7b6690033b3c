"""Processor time of kernel discriminant analysis."""

from __future__ import annotations

from tests.benchmarks.searches.tables import overlapping_classes, report_processor_seconds
from tests.benchmarks.timing import Run

__all__ = ["tasks"]


def _measure_fit(task: str, n: int, p: int, bar: float, repeat: int) -> None:
    """Measure a fit that chooses kernel, scale, width and ridge, for n rows and p columns."""
    from discrim import kernel_lda

    table = overlapping_classes(n, p)
    report_processor_seconds(task, {"fit": (lambda: kernel_lda("y ~ .", table), bar)}, repeat)


def _measure_folds(task: str, n: int, p: int, bar: float, repeat: int) -> None:
    """Measure ten folds, each of which chooses again, of a new fit each time."""
    from discrim import kernel_lda

    table = overlapping_classes(n, p)
    # A fit caches its error rates.
    fits = [kernel_lda("y ~ .", table) for _ in range(repeat + 1)]
    report_processor_seconds(task, {"ten folds": (lambda: fits.pop().error_rates(["cv"]), bar)}, repeat)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    return {
        "kernel-lda-303": lambda: _measure_fit("kernel_lda 303 x 13", 303 // divisor, 13, 0.25, repeat),
        "kernel-lda-1000": lambda: _measure_fit("kernel_lda 1,000 x 20", 1_000 // divisor, 20, 0.5, repeat),
        "kernel-lda-5000": lambda: _measure_fit("kernel_lda 5,000 x 30", 5_000 // divisor, 30, 5.0, 1),
        "kernel-lda-folds": lambda: _measure_folds("kernel_lda 303 x 13", 303 // divisor, 13, 1.5, repeat),
    }
