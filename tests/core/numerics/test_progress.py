"""Bars of progress: where they are shown, and what they share with other processes."""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from discrim.core.numerics import progress
from discrim.core.numerics.progress import NoBar, late_bar, progress_bar


def test_nobody_looks_on_without_a_terminal():
    with progress_bar(10, "rows") as bar:
        bar.update(10)
    assert isinstance(bar, NoBar)


def _held() -> None:
    """Take the lock of the bars, and end without giving it back."""
    bar = progress_bar(1, "rows", delay=0.0)
    bar.get_lock().acquire()
    os._exit(0)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system starts no forks"
)
def test_a_process_that_ends_with_the_lock_stops_no_other(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    progress_bar(1, "rows", delay=0.0).close()
    child = multiprocessing.get_context("fork").Process(target=_held)
    child.start()
    child.join()
    bar = progress_bar(2, "rows", delay=0.0)
    taken = bar.get_lock().acquire(timeout=5)
    assert taken
    bar.get_lock().release()
    bar.close()


class Clock:
    """Stands in for the time, and for the bars that are made."""

    def __init__(self, monkeypatch) -> None:
        self.now, self.made = 0.0, []
        monkeypatch.setattr(progress, "monotonic", lambda: self.now)
        monkeypatch.setattr(
            progress, "progress_bar", lambda total, what, delay: (self.made.append(what), NoBar())[1]
        )
        monkeypatch.setattr(progress, "_heard", [-1.0])


@pytest.mark.parametrize(("every", "made"), [(0.5, ["scores"]), (4.0, ["rows read", "scores"])])
def test_a_bar_below_others_is_quiet_while_they_move(monkeypatch, every, made):
    clock = Clock(monkeypatch)
    with late_bar(100, "scores") as above, late_bar(100, "rows read", below=True) as below:
        for step in range(1, 101):
            clock.now = 0.25 * step
            if clock.now % every == 0:
                above(1)
            below(1)
    assert sorted(clock.made) == made


def test_a_bar_below_none_is_shown(monkeypatch):
    clock = Clock(monkeypatch)
    with late_bar(0, "rows read", below=True) as tell:
        for clock.now in (0.5, 1.0, 1.5):
            tell(1)
    assert clock.made == ["rows read"]
