"""Processor time of large tables, many classes, and the start of a process."""

from __future__ import annotations

from tests.benchmarks.timing import Run

__all__ = ["tasks"]


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    return {}
