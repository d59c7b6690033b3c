"""What each fuzzer is given: its time, its seeds, a place for what it counts and finds.

A fuzzer asks for the fixture ``fuzz`` and loops over it::

    def test_formulas(fuzz):
        for rng in fuzz:
            formula = any_formula(rng)
            outcome = fit(formula)
            fuzz.count(outcome)
            if outcome == "a traceback":
                fuzz.found(f"{formula!r} raises ...")

Each turn has a generator of its own, whose seed is printed with what is found there; ``--fuzz-seed`` with
that text runs this one case again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

_MOST_FOUND = 20
_SECONDS_OF_ALL = 25.0
_SECONDS_OF_ONE = 3.0


class Fuzz:
    """A stretch of cases, each with a generator of random numbers.

    Attributes
    ----------
    seed : str
        Of the present case. An integer for NumPy or hypothesis is ``rng.getrandbits(64)``.
    deadline : float
        When the last case begins at the latest, by :func:`time.monotonic`.
    counts : collections.Counter
        What came of the cases; the number of them is under ``"cases"``.
    """

    def __init__(self, name: str, seed: str, seconds: float) -> None:
        self.counts: Counter[str] = Counter()
        self.deadline = time.monotonic() + seconds
        self._seconds = seconds
        self.seed = ""
        self._one = seed if ":" in seed else None
        self._stem = f"{seed}:{name}"
        self._findings: list[str] = []

    def __iter__(self) -> Iterator[Random]:
        """Give cases until the time is over, then fail if there are findings."""
        # What a fuzzer needed to begin with is no part of its time.
        self.deadline = time.monotonic() + self._seconds
        while self._more():
            self.seed = self._one or f"{self._stem}:{self.counts['cases']}"
            self.counts["cases"] += 1
            yield Random(self.seed)
        if self._findings:
            pytest.fail("\n\n".join(self._findings), pytrace=False)

    def _more(self) -> bool:
        if len(self._findings) >= _MOST_FOUND:
            return False
        done = self.counts["cases"]
        return not done or (self._one is None and time.monotonic() < self.deadline)

    def count(self, outcome: str) -> None:
        """Count what came of a case."""
        self.counts[outcome] += 1

    def found(self, what: str) -> None:
        """Keep what must not be, with the seed of its case; the fuzzer goes on, and fails at its end."""
        self.counts["found"] += 1
        self._findings.append(f"--fuzz-seed '{self.seed}': {what}")


def seconds_each(minutes: float | None, fuzzers: int) -> float:
    """Time of each fuzzer: what is asked for, else a share of less than a minute."""
    return min(_SECONDS_OF_ONE, _SECONDS_OF_ALL / max(fuzzers, 1)) if minutes is None else 60.0 * minutes


def lines_of_counts(reports: list[pytest.TestReport]) -> list[str]:
    """Render what the fuzzers counted, a line each."""
    lines = []
    for report in reports:
        for key, counts in report.user_properties:
            if key == "fuzz":
                told = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
                lines.append(f"{report.nodeid}: {told}")
    return sorted(set(lines))
