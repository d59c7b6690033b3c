"""Progress of what takes long: which tasks are shown, and what is shared with threads and other processes."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest

from discrim.core.numerics import progress
from discrim.core.numerics.progress import late_bar, tick, watched

needs_forks = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system starts no forks"
)


@pytest.fixture
def lines(shown_by):
    """What bars show: (what, done, total, within), and None where one ends."""
    drawn = []

    class Bar:
        def show(self, what, done, total, seconds, within):
            drawn.append((what, done, total, within))
            return True

        def close(self):
            drawn.append(None)

    shown_by(Bar)
    return drawn


def test_a_quick_task_shows_nothing(clock, lines):
    with late_bar(3, "rows") as tell:
        for clock.now in (0.3, 0.6, 0.9):
            tell(1)
    assert lines == []


def test_a_task_is_shown_after_a_second_and_then_a_few_times_a_second(clock, lines):
    with late_bar(1000, "rows") as tell:
        for step in range(1000):
            clock.now = 0.004 * (step + 1)
            tell(1)
    assert lines[0] == ("rows", 250, 1000, None)
    assert 10 <= len(lines) <= 3 / progress.EVERY + 2
    assert lines[-1] is None


def test_passes_of_less_than_a_second_one_after_another_are_one_work(clock, lines):
    def passes(pause):
        for _ in range(3):
            begun = clock.now
            with late_bar(4, "rows") as tell:
                for quarter in range(1, 5):
                    clock.now = begun + 0.2 * quarter
                    tell(1)
            clock.now += pause

    passes(0.5)
    assert lines == []
    clock.now = 100.0
    passes(0.01)
    assert lines[0] == ("rows", 2, 4, None) or lines[0] == ("rows", 1, 4, None)
    assert lines.count(None) == 2


def test_what_is_begun_within_a_task_is_shown_beside_it(clock, lines):
    with late_bar(2, "folds") as above:
        for clock.now in (5.0, 10.0):
            with late_bar(100, "rows") as below:
                clock.now += 1
                below(40)
            clock.now += 1
            above(1)
    assert lines == [
        ("folds", 0, 2, ("rows", 0, 100)),
        ("folds", 0, 2, ("rows", 40, 100)),
        ("folds", 1, 2, None),
        ("folds", 1, 2, ("rows", 0, 100)),
        ("folds", 1, 2, ("rows", 40, 100)),
        ("folds", 2, 2, None),
        None,
    ]


def test_ticks_belong_to_the_task_under_way_if_there_is_one(clock, lines):
    tick()
    with late_bar(2, "folds"):
        clock.now = 7.0
        tick()
    tick()
    assert lines == [("folds", 0, 2, None), None]


def test_shares_of_a_unit_sum_up_to_it(clock, lines):
    with late_bar(1, "folds") as tell:
        clock.now = 2.0
        for _ in range(7):
            tell(1 / 7)
    assert tell.done == 1


def test_rows_that_are_watched_count_their_passes(clock, lines):
    with watched([1, 2, 3], "passes") as rows:
        for clock.now in (2.0, 3.0):
            assert list(rows) == [1, 2, 3]
    assert lines[:-1] == [("passes", 1, 0, None), ("passes", 2, 0, None)]


def test_an_iterator_that_is_left_alone_is_no_task(clock, lines):
    def parts():
        with late_bar(10, "parts") as tell:
            for part in range(10):
                with late_bar(0, "within"):
                    tell(1)
                    with tell.resting():
                        yield part

    left = parts()
    next(left)
    with late_bar(5, "rows") as tell:
        clock.now = 3.0
        tell(1)
    assert lines == [("rows", 1, 5, None), None]
    clock.now = 4.0
    next(left)
    clock.now = 4.1
    next(left)
    left.close()
    assert lines[2:] == [("parts", 1, 10, ("within", 0, 0)), None]
    assert progress._line().tasks == []


@pytest.mark.parametrize("raised", [ValueError, KeyboardInterrupt])
def test_what_ends_a_task_ends_those_within_it(clock, lines, raised):
    def work():
        with late_bar(2, "folds"):
            held = late_bar(10, "rows")
            held.__enter__()(1)
            clock.now = 3.0
            tick()
            raise raised

    with pytest.raises(raised):
        work()
    assert lines == [("folds", 0, 2, ("rows", 1, 10)), None]
    assert progress._line().tasks == []


def test_the_line_goes_over_to_another_thread(clock, lines):
    begun, end = threading.Event(), threading.Event()

    def other():
        with late_bar(4, "theirs") as tell:
            begun.set()
            end.wait(10)
            tell(4)

    thread = threading.Thread(target=other)
    with late_bar(2, "ours") as tell:
        thread.start()
        begun.wait(10)
        clock.now = 2.0
        tell(1)
    clock.now = 3.0
    end.set()
    thread.join(10)
    assert lines == [("ours", 1, 2, ("theirs", 0, 4)), ("theirs", 4, 4, None), None]


def test_nobody_is_asked_twice_whether_he_looks_on(clock, shown_by):
    asked = []

    class Unseen:
        def show(self, *_):
            asked.append(1)
            return False

        def close(self):
            pass

    shown_by(Unseen)
    for _ in range(2):
        with late_bar(100, "rows") as tell:
            for _ in range(100):
                clock.now += 1
                tell(1)
    assert len(asked) == 2


# ---- processes


def _forked(task):
    """The status of a task in a process that is forked, which has ten seconds."""
    child = multiprocessing.get_context("fork").Process(target=task)
    child.start()
    child.join(10)
    if child.exitcode is None:
        child.kill()
    return child.exitcode


def _work():
    with late_bar(2, "rows") as tell:
        tell(2)


@needs_forks
def test_a_process_that_ends_with_the_lock_stops_no_other():
    def hold():
        progress._line().lock.acquire()
        os._exit(0)

    assert _forked(hold) == 0
    assert progress._line().lock.acquire(timeout=5)
    progress._line().lock.release()
    _work()


@needs_forks
def test_a_process_that_is_forked_while_a_thread_holds_the_lock_goes_on(clock):
    # Each look at it is a second later, so that the task would be shown.
    clock.each = 1.0
    held, end = threading.Event(), threading.Event()

    def hold():
        with progress._line().lock:
            held.set()
            end.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        assert _forked(_work) == 0
    finally:
        end.set()
        thread.join(10)


@needs_forks
def test_a_process_that_is_forked_has_no_task_of_the_other(clock, shown_by):
    def check():
        clock.now = 9.0
        tick()
        assert progress._line().tasks == []

    class Forgotten:
        def show(self, *_):
            return True

        def close(self):
            os._exit(7)

        def forget(self):
            pass

    shown_by(Forgotten)
    with late_bar(2, "rows") as tell:
        clock.now = 5.0
        tell(1)
        assert _forked(check) == 0
        progress._line().bar = None
