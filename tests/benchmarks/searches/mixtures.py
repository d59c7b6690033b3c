"""Processor time of mixture discriminant analysis."""

from __future__ import annotations

from tests.benchmarks.searches.tables import overlapping_classes, report_processor_seconds
from tests.benchmarks.timing import Run

__all__ = ["tasks"]


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    return {
        "mixture-303": lambda: time_choice(303 // divisor, 13, 0.4, repeat),
        "mixture-20000": lambda: time_choice(20_000 // divisor, 2, 2, repeat),
        "mixture-2000000": lambda: time_choice(2_000_000 // divisor, 2, 60, max(repeat // 2, 1)),
    }


def time_choice(n: int, p: int, bar: float, repeat: int) -> None:
    """Report the processor seconds of the choice of the number of components by BIC."""
    from discrim import mixture

    frame = overlapping_classes(n, p)
    run = {"chosen by BIC": (lambda: mixture("y ~ .", frame), bar)}
    report_processor_seconds(f"mixture {n:,} x {p}", run, repeat)
