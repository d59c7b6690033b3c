"""Limit on the number of threads of linear algebra.

Verbs and methods of results run with one thread of BLAS, because threads of small products wait for each
other longer than they compute, above all on a machine with other work. Passes over a large table and large
decompositions use all threads within `all_blas_threads`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, get_ident
from typing import Any

MIN_WORK_FOR_THREADS = 1e8
"""Smallest number of multiplications for which several threads are used.

With fewer, two threads are not faster than one on an idle machine, and take many times the processor time on
a busy one; see `tests/benchmarks/threads.py`."""


@cache
def _controller(with_scipy: bool) -> Any:
    """Return the threadpoolctl controller of the loaded libraries, cached because finding them is slow.

    SciPy has a BLAS of its own, which is loaded when a model first needs it. `with_scipy` is whether it has
    been loaded.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _OneThreadLimit:
    """Limit of BLAS to one thread, which can be lifted for a while.

    OpenBLAS obeys one thread of Python at a time: the first that sets a limit, until it leaves the context of
    `limiter`. Only this thread may lift the limit.

    Attributes
    ----------
    controller : threadpoolctl controller
        Libraries that are limited.
    limiter : threadpoolctl limiter
        Entered context, which stores the numbers of threads from before the limit.
    thread_id : int
        Thread of Python that entered the context.
    is_lifted : bool
    """

    def __init__(self, controller: Any, limiter: Any) -> None:
        self.controller = controller
        self.limiter = limiter
        self.thread_id = get_ident()
        self.is_lifted = False

    def lift(self) -> None:
        """Restore the number of threads from before the limit."""
        self.limiter.restore_original_limits()
        self.is_lifted = True

    def set_again(self) -> None:
        """Limit BLAS to one thread again."""
        self.controller.limit(limits=1, user_api="blas")
        self.is_lifted = False


_is_limited = Lock()
_limit: _OneThreadLimit | None = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra in one thread within a block or a decorated function.

    The limit applies to the whole process and ends with the block that set it: nested blocks, or blocks in
    other threads, do not change it.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    global _limit
    if not _is_limited.acquire(blocking=False):
        yield
        return
    try:
        controller = _controller("scipy.linalg" in sys.modules)
        with controller.limit(limits=1, user_api="blas") as limiter:
            _limit = _OneThreadLimit(controller, limiter)
            try:
                yield
            finally:
                _limit = None
    finally:
        _is_limited.release()


@contextmanager
def all_blas_threads(work: float) -> Iterator[None]:
    """Run linear algebra in all threads within a block, if its work is large, inside of `one_blas_thread`.

    The block may be abandoned after the limit has ended, as in an iterator that is not exhausted.

    Parameters
    ----------
    work : float
        Number of multiplications in the block. Below `MIN_WORK_FOR_THREADS` the block runs in one thread.
    """
    limit = _limit
    if work < MIN_WORK_FOR_THREADS or limit is None or limit.is_lifted or limit.thread_id != get_ident():
        yield
        return
    limit.lift()
    try:
        yield
    finally:
        if _limit is limit:
            limit.set_again()
