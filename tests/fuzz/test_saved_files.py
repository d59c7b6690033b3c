"""Mutants of saved fits are refused, or load and can be used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.saved_files import ChildProcess, join_file, random_mutant, saved_fits, split_file


@pytest.fixture(scope="module")
def child() -> Iterator[ChildProcess]:
    process = ChildProcess()
    yield process
    process.stop()


@pytest.mark.slow
def test_files_that_are_put_together_again_are_used(child):
    for name, data in saved_fits().items():
        assert child.load_mutant(name, join_file(split_file(data))) == "loaded", name


@pytest.mark.slow
def test_mutants_of_saved_files(fuzz, child):
    for rng in fuzz:
        name, data = random_mutant(rng)
        outcome = child.load_mutant(name, data)
        fuzz.count(outcome.split()[0])
        if outcome.startswith("FINDING"):
            fuzz.report(f"a mutant of {name!r}: {outcome}")
