"""Progress of long tasks: when a bar is drawn, which tasks it names, and what ends it."""

from __future__ import annotations

import io
import multiprocessing
import os
import threading
from contextlib import redirect_stderr

import pytest

import discrim
from discrim.core.numerics import progress as progress_module
from discrim.core.numerics.map_reduce import CountedPasses
from discrim.core.numerics.progress import Progress, refresh_progress
from discrim.datasets import load_iris

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork"
)


def running():
    return progress_module._display.tasks


def test_a_quick_task_shows_nothing(clock, bars):
    with Progress(3, "rows") as progress:
        for clock.now in (0.3, 0.6, 0.9):
            progress(1)
    assert bars == []


def test_a_task_is_shown_after_a_second_and_then_a_few_times_a_second(clock, bars):
    with Progress(1000, "rows") as progress:
        for step in range(1000):
            clock.now = 0.004 * (step + 1)
            progress(1)
    (bar,) = bars
    assert bar.lines[0] == ("rows", 250, 1000, "")
    assert 10 <= len(bar.lines) <= 3 / progress_module.INTERVAL + 2
    assert bar.closed


def test_the_last_task_started_is_named_in_the_bar_of_the_first(clock, bars):
    with Progress(2, "folds") as folds:
        for clock.now in (5.0, 10.0):
            with Progress(100, "rows") as rows:
                clock.now += 1
                rows(40)
            clock.now += 1
            folds(1)
    (bar,) = bars
    assert bar.lines == [
        ("folds", 0, 2, "rows 40%"),
        ("folds", 1, 2, ""),
        ("folds", 1, 2, "rows 40%"),
        ("folds", 2, 2, ""),
    ]


def test_work_within_a_task_can_redraw_its_bar(clock, bars):
    refresh_progress()
    with Progress(2, "folds"):
        clock.now = 7.0
        refresh_progress()
    refresh_progress()
    assert [bar.lines for bar in bars] == [[("folds", 0, 2, "")]]


def test_fractions_of_a_step_add_up_to_it(clock, bars):
    with Progress(1, "folds") as progress:
        clock.now = 2.0
        for _ in range(7):
            progress(1 / 7)
    assert progress.done == 1


def test_a_total_that_is_exceeded_is_not_shown(clock, bars):
    with Progress(2, "rows") as progress:
        for clock.now in (2.0, 3.0):
            progress(2)
    assert bars[0].lines == [("rows", 2, 2, ""), ("rows", 4, None, "")]


def test_passes_over_the_rows_are_counted(clock, bars):
    with Progress(0, "passes") as progress:
        rows = CountedPasses([1, 2, 3], progress)
        for clock.now in (2.0, 3.0):
            assert list(rows) == [1, 2, 3]
    assert bars[0].lines == [("passes", 1, None, ""), ("passes", 2, None, "")]


def test_a_suspended_generator_is_not_a_running_task(clock, bars):
    def parts():
        with Progress(10, "parts") as progress:
            for part in range(10):
                with Progress(0, "within"):
                    progress(1)
                    with progress.paused():
                        yield part

    generator = parts()
    next(generator)
    with Progress(5, "rows") as progress:
        clock.now = 3.0
        progress(1)
    clock.now = 4.0
    next(generator)
    generator.close()
    assert [bar.lines for bar in bars] == [[("rows", 1, 5, "")], [("parts", 2, 10, "within")]]
    assert running() == []


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_an_error_ends_a_task_and_those_within_it(clock, bars, raised):
    def work():
        with Progress(2, "folds"):
            # A generator that is referenced by the traceback stays suspended.
            Progress(10, "rows").__enter__()(1)
            clock.now = 3.0
            refresh_progress()
            raise raised

    with pytest.raises(raised):
        work()
    assert bars[0].lines == [("folds", 0, 2, "rows 10%")]
    assert bars[0].closed
    assert running() == []


def test_the_bar_passes_to_a_task_of_another_thread(clock, bars):
    begun, end = threading.Event(), threading.Event()

    def other():
        with Progress(4, "theirs") as theirs:
            begun.set()
            end.wait(10)
            theirs(4)

    thread = threading.Thread(target=other)
    with Progress(2, "ours") as ours:
        thread.start()
        begun.wait(10)
        clock.now = 2.0
        ours(1)
    clock.now = 3.0
    end.set()
    thread.join(10)
    assert bars[0].lines == [("ours", 1, 2, "theirs 0%"), ("theirs", 4, 4, "")]
    assert bars[0].closed


class CountedStream(io.StringIO):
    """A stream that counts how often it is asked whether it is a terminal."""

    questions = 0

    def isatty(self):
        self.questions += 1
        return False


def test_without_a_terminal_it_is_looked_for_once_per_task(clock):
    stream = CountedStream()
    with redirect_stderr(stream):
        for _ in range(2):
            with Progress(100, "rows") as progress:
                for _ in range(100):
                    clock.now += 1
                    progress(1)
    assert stream.questions == 2
    assert stream.getvalue() == ""


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@pytest.mark.parametrize("verb", ["lda", "logistic", "knn", "perceptron"])
def test_cross_validation_counts_each_fold_of_each_repeat(clock, bars, verb):
    options = {"k": 3} if verb == "knn" else {"bias_reduction": True} if verb == "logistic" else {}
    fit = getattr(discrim, verb)("species ~ .", load_iris(), **options)
    clock.seconds_per_read = 1.0
    bars.clear()
    discrim.cross_validate(fit, folds=5, repeats=3, seed=1)
    (bar,) = bars
    assert {(description, total) for description, _, total, _ in bar.lines} == {("cross-validation", 15)}
    assert {steps for _, steps, _, _ in bar.lines} == set(range(16))
    assert bar.n == 15


# ---- processes


def in_fork(task):
    """Return the exit code of a task in a forked process, which has ten seconds."""
    child = multiprocessing.get_context("fork").Process(target=task)
    child.start()
    child.join(10)
    if child.exitcode is None:
        child.kill()
    return child.exitcode


@needs_fork
def test_a_forked_process_waits_for_no_lock_and_draws_nothing(clock, bars):
    locked, end = threading.Event(), threading.Event()

    def hold():
        with progress_module._display.lock:
            locked.set()
            end.wait(20)

    def work():
        assert running() == []
        with Progress(2, "rows") as progress:
            clock.now = 20.0
            progress(1)
        os._exit(7 if len(bars) == 1 and not bars[0].closed else 1)

    with Progress(2, "rows") as progress:
        clock.now = 5.0
        progress(1)
        thread = threading.Thread(target=hold)
        thread.start()
        locked.wait(10)
        try:
            assert in_fork(work) == 7
        finally:
            end.set()
            thread.join(10)
