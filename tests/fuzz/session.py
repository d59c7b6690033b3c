"""Time, seeds, counts and findings of a fuzzer.

A fuzzer requests the fixture ``fuzz`` and loops over it::

    def test_formulas(fuzz):
        for rng in fuzz:
            formula = random_formula(rng)
            outcome = fit(formula)
            fuzz.count(outcome)
            if outcome == "a traceback":
                fuzz.report(f"{formula!r} raises ...")

Each case has its own random generator, whose seed is printed with its findings; ``--fuzz-seed`` with that
text repeats this case.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

_MAX_FINDINGS = 20
_MAX_TOTAL_SECONDS = 25.0
_MAX_FUZZER_SECONDS = 1.0


class Fuzz:
    """A sequence of cases, each with its own random generator.

    Attributes
    ----------
    seed : str
        Seed of the current case. An integer for NumPy or hypothesis is ``rng.getrandbits(64)``.
    deadline : float
        Latest start of the last case, by :func:`time.monotonic`.
    counts : collections.Counter
        Number of cases by outcome; the number of all cases has the key ``"cases"``.
    """

    def __init__(self, name: str, seed: str, seconds: float) -> None:
        self.counts: Counter[str] = Counter()
        self.deadline = time.monotonic() + seconds
        self._seconds = seconds
        self.seed = ""
        self._single_seed = seed if ":" in seed else None
        self._seed_prefix = f"{seed}:{name}"
        self._findings: list[str] = []

    def __iter__(self) -> Iterator[Random]:
        """Yield the generators of the cases until the time is over, then fail if there are findings."""
        # The set-up of a fuzzer does not count.
        self.deadline = time.monotonic() + self._seconds
        while self._has_time():
            self.seed = self._single_seed or f"{self._seed_prefix}:{self.counts['cases']}"
            self.counts["cases"] += 1
            yield Random(self.seed)
        if self._findings:
            pytest.fail("\n\n".join(self._findings), pytrace=False)

    def _has_time(self) -> bool:
        if len(self._findings) >= _MAX_FINDINGS:
            return False
        done = self.counts["cases"]
        return not done or (self._single_seed is None and time.monotonic() < self.deadline)

    def count(self, outcome: str) -> None:
        """Count the outcome of a case."""
        self.counts[outcome] += 1

    def report(self, description: str) -> None:
        """Record a finding with the seed of its case; the fuzzer goes on and fails at its end."""
        self.counts["findings"] += 1
        self._findings.append(f"--fuzz-seed '{self.seed}': {description}")


def seconds_per_fuzzer(minutes: float | None, fuzzers: int) -> float:
    """Return the seconds of each fuzzer; by default all fuzzers together take less than half a minute."""
    return (
        min(_MAX_FUZZER_SECONDS, _MAX_TOTAL_SECONDS / max(fuzzers, 1)) if minutes is None else 60.0 * minutes
    )


def format_counts(reports: list[pytest.TestReport]) -> list[str]:
    """Format the counts of the fuzzers, one line each."""
    lines = []
    for report in reports:
        for key, counts in report.user_properties:
            if key == "fuzz":
                count_text = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
                lines.append(f"{report.nodeid}: {count_text}")
    return sorted(set(lines))
