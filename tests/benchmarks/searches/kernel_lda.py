"""Processor time of kernel discriminant analysis."""

from __future__ import annotations

from tests.benchmarks.timing import Run

__all__ = ["tasks"]


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    return {}
