"""What takes long says how far it has come, where a person looks on.

A task may be made of others, and a terminal has one line for all of them: it shows the first task that is
under way, and beside it what the last one does. Whoever works tells of what is done; after a second the line
is there, and then it is drawn a few times a second. No thread and no signal of our own wakes it: a call of
LAPACK is silent until it returns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from time import monotonic
from typing import Any, TypeVar

from discrim.core.numerics.bars import Bar, new_bar
from discrim.core.numerics.parts import is_apart, reduced

__all__ = ["Task", "late_bar", "tick", "watched"]

T = TypeVar("T")
V = TypeVar("V")

DELAY = 1.0
"""Seconds after which the first task is shown."""

EVERY = 0.2
"""Seconds from one drawing to the next."""


class Task:
    """Something that takes long; it is called with how many more are done.

    Parameters
    ----------
    total : int
        Zero where it is not known.
    what : str
    """

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what, self.parts = total, what, 0.0
        self.begun, self.thread = monotonic(), get_ident()

    def __call__(self, more: float = 1) -> None:
        """Tell of more that are done, or with zero that the work goes on."""
        self.parts += more
        _line().told()

    @property
    def done(self) -> int:
        """How many are done; one is whose shares have summed up to it but for rounding."""
        return int(self.parts + 1e-6)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While something else is done that this task is not made of; what was begun within it rests, too."""
        line = _line()
        rest = line.leave(self)
        try:
            yield
        finally:
            line.enter(rest)


class _Line:
    """The tasks under way in this process, in the order in which they began, and the bar that shows them.

    The lock is one of our own: that of tqdm is one for all processes, and where one that was forked ends
    while it holds it, the others wait for ever. A process that is forked has a line of its own.
    """

    def __init__(self) -> None:
        self.pid, self.lock = os.getpid(), RLock()
        self.tasks: list[Task] = []
        self.bar: Bar | None = None
        self.drawn = self.next = -EVERY

    def enter(self, tasks: list[Task]) -> None:
        """Add tasks to those under way."""
        with self.lock:
            first = not self.tasks
            if first and tasks:
                self.next = max(tasks[0].begun + DELAY, self.drawn + EVERY)
            self.tasks += tasks
        if not first:
            self.told()

    def leave(self, task: Task) -> list[Task]:
        """Take a task away, and those of its thread that were begun after it; the bar ends with the last."""
        with self.lock:
            if task not in self.tasks:
                return []
            later = self.tasks[self.tasks.index(task) :]
            gone = [each for each in later if each.thread == task.thread]
            self.tasks = [each for each in self.tasks if each not in gone]
            if not self.tasks:
                self.close()
        return gone

    def close(self) -> None:
        """Leave nothing of the bar behind."""
        bar, self.bar = self.bar, None
        if bar is not None:
            bar.close()

    def told(self) -> None:
        """Draw, where it is time to."""
        now = monotonic()
        if now < self.next:
            return
        with self.lock:
            if not self.tasks:
                return
            first, last = self.tasks[0], self.tasks[-1]
            if self.bar is None:
                self.bar = new_bar()
            within = None if last is first else (last.what, last.done, last.total)
            shown = self.bar.show(first.what, first.done, first.total, now - first.begun, within)
            # Where nobody looks on, nobody is asked again until all is done.
            self.drawn = now
            self.next = now + EVERY if shown else float("inf")


_lines = [_Line()]


def _line() -> _Line:
    """That of this process."""
    if _lines[0].pid != os.getpid():
        held, _lines[0] = _lines[0], _Line()
        if held.bar is not None:
            held.bar.forget()
    return _lines[0]


@contextmanager
def late_bar(total: int, what: str) -> Iterator[Task]:
    """A task, which is told of so many more that are done; after a second it is shown.

    A quick task does not wait for the bar's package to be imported. What is begun within it, here or in other
    functions, is shown beside it.

    Parameters
    ----------
    total : int
        Zero where it is not known.
    what : str

    Examples
    --------
    >>> with late_bar(3, "rows") as tell:
    ...     for row in range(3):
    ...         tell(1)
    >>> tell.done
    3
    """
    task = Task(total, what)
    try:
        _line().enter([task])
        yield task
    finally:
        _line().leave(task)


def tick() -> None:
    """Tell that the work goes on, whatever it is a part of; where no task is under way, nothing happens."""
    _line().told()


@contextmanager
def watched(rows: Iterable[T], what: str) -> Iterator[Iterable[T]]:
    """Rows that are passed over again and again, with a bar that counts the passes."""
    with late_bar(0, what) as tell:
        yield _Watched(rows, tell)


class _Watched(Iterable[T]):
    def __init__(self, rows: Iterable[T], tell: Task) -> None:
        self._rows, self._tell = rows, tell

    def __iter__(self) -> Iterator[T]:
        yield from self._rows
        self._tell(1)

    @property
    def apart(self) -> bool:
        return is_apart(self._rows)

    def reduced(self, task: Callable[[Any], V], merge: Callable[[V, V], V]) -> V:
        found = reduced(self._rows, task, merge)
        self._tell(1)
        return found
