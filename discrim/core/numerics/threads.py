"""Limit on the number of threads of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_is_limited = Lock()


@cache
def _controller() -> Any:
    """Return the threadpoolctl controller of the loaded libraries, cached because finding them is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra in one thread within a block or a decorated function.

    Use it for loops over small matrices, in which synchronization of threads costs more than it saves. The
    limit applies to the whole process and ends with the block that set it: nested blocks, or blocks in other
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
