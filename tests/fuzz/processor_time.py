"""Limits of the processor time of a case, which do not depend on the load of the machine.

A process that waits uses no processor time. The process that waits for a result therefore has another
limit, of wall-clock time, which is too long to be reached because of load.
"""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MAX_WAIT_SECONDS = 600.0
"""Wall-clock seconds after which a case is considered to wait for ever."""


@contextmanager
def kill_after(seconds: float) -> Iterator[None]:
    """Kill this process, with a traceback, if the block uses more processor seconds, even in native code."""
    faulthandler.register(signal.SIGPROF, chain=True)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def raise_after(seconds: float, waiting: float = MAX_WAIT_SECONDS) -> Iterator[None]:
    """Raise a TimeoutError if the block uses more processor seconds, or waits too long."""

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


def was_killed(status: int) -> bool:
    """Return whether the exit status of a process means that it exceeded its processor time."""
    return status == -signal.SIGPROF
