"""Bars of progress: where they are shown, and what they share with other processes."""

from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from discrim.core.numerics.progress import NoBar, progress_bar


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
