"""Map-reduce over chunks of rows, in this process or on a cluster.

Rows are an iterable of chunks. Rows of a cluster have a method `map_reduce` that receives the work, which
avoids transferring rows. A `StoredValue` is a result that may stay on a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from discrim.core.numerics.progress import Progress

T = TypeVar("T")
V = TypeVar("V")


def is_local(rows: Any) -> bool:
    """Return whether iterating over the rows reads them in this process, chunk by chunk; the default is true.

    Rows of a cluster have an attribute `is_local` that is false.
    """
    return bool(getattr(rows, "is_local", True))


def map_reduce(rows: Any, task: Callable[[Any], T], merge: Callable[[T, T], T]) -> T:
    """Apply a task to rows, or to each chunk of rows of a cluster, and merge the results.

    Parameters
    ----------
    rows : iterable of chunks
        If the rows have a method `map_reduce`, it receives the other two arguments and returns the result;
        otherwise the task is applied to all rows in this process and nothing is merged.
    task : callable
        Function of an iterable of chunks.
    merge : callable
        Function of the results of two sets of rows, in their order. It does not modify its arguments.

    Returns
    -------
    result of the task

    Examples
    --------
    >>> map_reduce([[1, 2], [3]], lambda rows: sum(map(sum, rows)), lambda a, b: a + b)
    6
    """
    distributed: Callable[..., T] | None = getattr(rows, "map_reduce", None)
    return task(rows) if distributed is None else distributed(task, merge)


class CountedPasses(Iterable[T]):
    """Rows whose complete passes are counted by a progress bar.

    Parameters
    ----------
    rows : iterable of chunks
        Rows that a computation passes over.
    progress : Progress
        Receives one step after each pass.
    """

    def __init__(self, rows: Iterable[T], progress: Progress) -> None:
        self._rows = rows
        self._progress = progress

    def __iter__(self) -> Iterator[T]:
        yield from self._rows
        self._progress(1)

    @property
    def is_local(self) -> bool:
        """Whether the rows are read in this process."""
        return is_local(self._rows)

    def map_reduce(self, task: Callable[[Any], V], merge: Callable[[V, V], V]) -> V:
        """Apply a task to the rows, like the function `map_reduce`, and report one step."""
        result = map_reduce(self._rows, task, merge)
        self._progress(1)
        return result


class StoredValue(Generic[T]):
    """A value that is stored in this process; a subclass stores it on a worker.

    Parameters
    ----------
    value : object
        The value.
    """

    def __init__(self, value: T) -> None:
        self._value = value

    def value(self) -> T:
        """Return the value, transferred to this process."""
        return self._value

    def apply(self, function: Callable[..., V], *others: StoredValue[Any]) -> V:
        """Call a function with this value and others where they are stored, and return the result."""
        return function(self.value(), *(other.value() for other in others))

    def map(self, function: Callable[..., V], *others: StoredValue[Any]) -> StoredValue[V]:
        """Call a function with this value and others where they are stored, and leave the result there."""
        return StoredValue(self.apply(function, *others))
