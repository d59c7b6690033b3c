"""Bars of what takes long, where a person looks on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from time import monotonic
from typing import Any, TypeVar

from discrim.core.numerics.parts import is_apart, reduced

__all__ = ["late_bar", "progress_bar", "watched"]

T = TypeVar("T")
V = TypeVar("V")


class NoBar:
    """Takes the place of a bar where nobody looks on."""

    def update(self, more: float = 1) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *raised: object) -> None:
        """Do nothing."""


def progress_bar(total: int | None, what: str, delay: float = 1.0) -> Any:
    """A bar on standard error, where a task takes more than a second and a person looks on.

    That is on a terminal or in a notebook; TQDM_DISABLE=1 hides it there too.
    """
    if "ipykernel" not in sys.modules and not _is_terminal():
        return NoBar()
    return _bar()(total=total, desc=what, delay=delay, leave=False)


def _is_terminal() -> bool:
    """Whether standard error is one; it may be closed, or a program may have none."""
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:
        return False


@cache
def _bar() -> Any:
    """A kind of bar with a lock of its own, and without a thread that watches it.

    The lock of tqdm is one for all processes: where one that was forked ends while it holds it, the others
    wait for ever.
    """
    from tqdm import tqdm

    bar: Any = type("Bar", (tqdm,), {"monitor_interval": 0})
    bar.set_lock(RLock())
    return bar


_heard = [-1.0]
"""When a bar that is not below others was last told of something."""


@contextmanager
def late_bar(total: int, what: str, *, below: bool = False) -> Iterator[Callable[[int], None]]:
    """What is told of so many more that are done; after a second it shows them on a bar.

    A quick task does not wait for the bar's package to be imported.

    Parameters
    ----------
    total : int
        Zero where it is not known.
    what : str
    below : bool
        It is a part of what other bars may show, and so is quiet while one of these moves.
    """
    start, done, bar = monotonic(), 0, None

    def tell(more: int) -> None:
        nonlocal done, bar
        done += more
        now = monotonic()
        if not below:
            _heard[0] = now
        if bar is not None:
            bar.update(more)
        elif now - start > 1 and not (below and now - _heard[0] < 1):
            bar = progress_bar(total or None, what, delay=0)
            bar.update(done)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()


@contextmanager
def watched(rows: Iterable[T], what: str) -> Iterator[Iterable[T]]:
    """Rows that are passed over again and again, with a bar that counts the passes."""
    with progress_bar(None, what) as bar:
        yield _Watched(rows, bar)


class _Watched(Iterable[T]):
    def __init__(self, rows: Iterable[T], bar: Any) -> None:
        self._rows, self._bar = rows, bar

    def __iter__(self) -> Iterator[T]:
        yield from self._rows
        self._bar.update()

    @property
    def apart(self) -> bool:
        return is_apart(self._rows)

    def reduced(self, task: Callable[[Any], V], merge: Callable[[V, V], V]) -> V:
        found = reduced(self._rows, task, merge)
        self._bar.update()
        return found
