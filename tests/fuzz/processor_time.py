"""What a case may take: processor time, which other work on the machine leaves as it is.

A process that waits and computes nothing takes none, so that those who wait for an answer have a limit of
their own, of the time on the wall: so long that no load makes it.
"""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

WAITING = 600.0
"""Seconds on the wall after which a case waits for what never comes."""


@contextmanager
def ends_after(seconds: float) -> Iterator[None]:
    """Let the block end its process, with a traceback, where it takes more; native code hears it too."""
    faulthandler.register(signal.SIGPROF, chain=True)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def raises_after(seconds: float, waiting: float = WAITING) -> Iterator[None]:
    """Raise a TimeoutError where the block takes more, or waits."""

    def stop(number: int, _: FrameType | None) -> None:
        waits = number == signal.SIGALRM
        raise TimeoutError(
            f"waits for {waiting:g} s" if waits else f"more than {seconds:g} s of processor time"
        )

    before = [(each, signal.signal(each, stop)) for each in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, waiting)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for each, handler in before:
            signal.signal(each, handler)


def was_ended(status: int) -> bool:
    """Whether a process ended since it took too long."""
    return status == -signal.SIGPROF
