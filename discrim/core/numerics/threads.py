"""Number of threads of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_is_limited = Lock()


@cache
def _controller() -> Any:
    """Return the controller of the libraries that are loaded; finding them takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra in one thread within a block, or within a function that is decorated.

    It is for loops over small matrices, in which threads wait for each other longer than they work. The limit
    holds for the whole process and ends with the block that has set it: blocks within that block, or in other
    threads, do not change it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    if not _is_limited.acquire(blocking=False):
        yield
        return
    try:
        # OpenBLAS ignores a number from another thread, so the limit ends in the thread that set it.
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _is_limited.release()
