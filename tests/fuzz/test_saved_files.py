"""Mutants of saved fits: each is refused, or loads and can be used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.saved_files import Child, file_of, mutant, parts_of, saved


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    process = Child()
    yield process
    process.end()


@pytest.mark.slow
def test_files_that_are_put_together_again_are_used(child):
    for name, data in saved().items():
        assert child.answer(name, file_of(parts_of(data))) == "loaded", name


def test_mutants_of_saved_files(fuzz, child):
    for rng in fuzz:
        name, data = mutant(rng)
        outcome = child.answer(name, data)
        fuzz.count(outcome.split()[0])
        if outcome.startswith("FINDING"):
            fuzz.found(f"a mutant of {name!r}: {outcome}")
