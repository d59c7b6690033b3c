"""Fuzzers have reproducible cases, end in time, and fail if there are findings."""

from __future__ import annotations

import pytest

from tests.fuzz.session import Fuzz, seconds_per_fuzzer


def draws(fuzz: Fuzz, count: int = 5) -> list[tuple[str, float]]:
    drawn = []
    for rng in fuzz:
        drawn.append((fuzz.seed, rng.random()))
        if len(drawn) == count:
            break
    return drawn


def test_cases_are_drawn_again_from_the_same_seed():
    first, again = draws(Fuzz("a", "0", 60)), draws(Fuzz("a", "0", 60))
    assert first == again
    assert len({number for _, number in first}) == 5
    assert not set(first) & set(draws(Fuzz("a", "1", 60))) | set(first) & set(draws(Fuzz("b", "0", 60)))


def test_case_is_reproduced_by_its_seed():
    seed, number = draws(Fuzz("a", "0", 60))[3]
    assert draws(Fuzz("another", seed, 60)) == [(seed, number)]


def test_a_fuzzer_runs_once_and_ends_at_its_deadline():
    fuzz = Fuzz("a", "0", 0.0)
    assert len(draws(fuzz)) == 1
    assert fuzz.counts == {"cases": 1}


def test_findings_fail_at_the_end_and_name_their_seeds():
    fuzz = Fuzz("a", "0", 60)
    cases = iter(fuzz)
    for _ in range(20):
        next(cases)
        fuzz.report("bad")
    with pytest.raises(pytest.fail.Exception, match=r"'0:a:0': bad\n\n--fuzz-seed '0:a:1': bad"):
        next(cases)
    assert fuzz.counts["findings"] == fuzz.counts["cases"] == 20


@pytest.mark.parametrize(("minutes", "fuzzers", "seconds"), [(None, 3, 1), (None, 50, 0.5), (2.5, 9, 150)])
def test_default_run_of_all_fuzzers_takes_less_than_a_minute(minutes, fuzzers, seconds):
    assert seconds_per_fuzzer(minutes, fuzzers) == seconds
    assert minutes or fuzzers * seconds < 60
