"""Arrays: names of their types for annotations, questions about their values, and the memory that they take.

Singular values are those of finite numbers only, as LAPACK may search for ever where one is infinite.

The memory that a result takes is known before it is computed, and too much of it is refused beforehand: an
operating system gives out more than it has, and ends the program that uses it, or waits for a disk for
hours. A refusal costs nothing and says what else to do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discrim.errors import DataError, sentence

Array = NDArray[Any]
"""Values of any type."""

Floats = NDArray[np.float64]
"""Real numbers in double precision."""

Codes = NDArray[np.intp]
"""Places: of rows, of columns, of a row's class among the classes; or counts."""

Mask = NDArray[np.bool_]
"""What is true of each entry."""

NOT_STORED = {"stored": False}
"""Metadata of a dataclass field that files of fits leave out, so that it has its default when it is read."""

LARGEST_WHOLE = 2.0**52
"""Every whole number up to twice of it is a double."""

SHARE = 0.5
"""Part of the memory that one result may take with what it is computed by: the table itself needs some."""

UNKNOWN = 2.0**33
"""Bytes that are taken to be there where the system does not tell."""

GIB = 2.0**30

CONTAINER = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def slices(n: int, step: int) -> Iterator[slice]:
    """The places 0 to n - 1, `step` of them at a time."""
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def are_whole(values: Floats | float, least: float = 0.0, most: float = LARGEST_WHOLE) -> bool:
    """Whether all numbers are whole, and from `least` to `most`; none are."""
    numbers = np.asarray(values)
    return bool(((numbers == np.round(numbers)) & (numbers >= least) & (numbers <= most)).all())


def are_flags(values: Floats | float) -> bool:
    """Whether all numbers are 0 or 1; none are."""
    return are_whole(values, 0.0, 1.0)


def svd(matrix: Floats, **options: Any) -> Any:
    """As `numpy.linalg.svd`; a DataError of a number that is not finite.

    Examples
    --------
    >>> svd(np.diag([3.0, 4.0]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    if not np.isfinite(matrix).all():
        raise DataError(
            "How much the columns vary within classes, compared with the differences of their means, is "
            "outside the range of double precision.",
            hint="Divide a column by its size, or leave it out.",
        )
    return np.linalg.svd(matrix, **options)


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


def refuse_beyond_memory(numbers: float, what: str, hint: str) -> None:
    """Raise a DataError where a result of so many doubles takes more than a part of the memory.

    It says of what, the subject of a sentence, how large it is beside what is at hand, and the hint, an
    imperative.

    Examples
    --------
    >>> refuse_beyond_memory(1e3, "A table of 1,000 numbers", "Ask for fewer")
    """
    size = 8.0 * numbers
    if size > SHARE * at_hand():
        raise DataError(
            f"{what} would take {_size(size)}, and no more than half of the {_size(at_hand())} of memory at "
            "hand is used for it.",
            hint=sentence(hint),
        )


def _size(bytes_: float) -> str:
    return f"{bytes_ / GIB:,.1f} GiB" if bytes_ < 1e15 else f"{bytes_ / GIB:.1e} GiB"
