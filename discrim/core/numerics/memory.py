"""How much memory a result takes, asked before it is taken.

An operating system gives out more than it has and ends the program that uses it, or waits for a disk for
hours. What is asked for is known beforehand, so that a refusal costs nothing and can say what else to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from discrim.errors import DataError

SHARE = 0.5
"""Of the memory that one result may take with what it is computed by: the table itself needs some."""

UNKNOWN = 2.0**33
"""Bytes that are taken to be there where the system does not tell."""

GIB = 2.0**30

CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


@cache
def at_hand() -> float:
    """Bytes of memory of this machine, or of the container or the process where these have less."""
    return min(_limits(), default=UNKNOWN)


def _limits() -> Iterator[float]:
    try:
        yield float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        # Windows has no sysconf.
        yield UNKNOWN
    for path in CONTAINER:
        try:
            yield float(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft != resource.RLIM_INFINITY:
            yield float(soft)
    except (ImportError, OSError, ValueError):
        return


def refuse_beyond_memory(numbers: float, what: str, way_out: str) -> None:
    """Raise where a result takes more than a share of the memory.

    Parameters
    ----------
    numbers : float
        How many doubles are held at once.
    what : str
        The result, as the subject of a sentence.
    way_out : str
        What to do instead, as an imperative.

    Raises
    ------
    DataError
        Of the size asked for and the size at hand.

    Examples
    --------
    >>> refuse_beyond_memory(1e3, "A table of 1,000 numbers", "Ask for fewer")
    """
    asked = 8.0 * numbers
    if asked > SHARE * at_hand():
        raise DataError(
            f"{what} would take {_size(asked)}, and no more than half of the {_size(at_hand())} of memory at "
            f"hand is used for it. {way_out}."
        )


def _size(bytes_: float) -> str:
    return f"{bytes_ / GIB:,.1f} GiB" if bytes_ < 1e15 else f"{bytes_ / GIB:.1e} GiB"
