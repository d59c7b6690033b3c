"""DataFrames of Dask as sources: partitions are worked on where they are, and what is made of them is merged.

The work on a partition, and the merging of what it gives, are tasks of Dask's: they run on the scheduler that
Dask finds, the threads of this machine or the workers of the cluster that a client is connected to, and a
task that is lost with its worker is run again on another. Values are merged as a tree. What all parts need,
as the formula and what it learnt, is one value of the graph, which is sent once. No rows come back, but to
what has no form that adds up: there partitions are computed one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, TypeVar

import pandas as pd

from discrim.core.numerics.progress import late_bar
from discrim.errors import DataError, DiscrimError
from discrim.frame.sources.parts import DistributedSource, Part, slices

T = TypeVar("T")

TOGETHER = 8
"""Values that are merged by one task."""


class DaskSource(DistributedSource):
    """A DataFrame of Dask."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._lengths: list[int] | None = None
        self._tasks: dict[tuple[str, ...], list[Any]] = {}
        super().__init__("the Dask DataFrame", [str(label) for label in frame.columns])

    @property
    def nrows(self) -> int | None:
        """Rows, where a pass has counted them."""
        return None if self._lengths is None else sum(self._lengths)

    @property
    def lengths(self) -> list[int]:
        """Rows of each partition, counted by a pass over one column where nothing else has."""
        if self._lengths is None:
            self.reduced(self.names[:1], _nothing, _nothing)
        return list(self._lengths or [])

    @property
    def meta(self) -> pd.DataFrame:
        """A frame without rows, of the types that Dask takes the columns to be of.

        Categories that Dask does not know are objects there.
        """
        meta = self._frame._meta
        unknown = [
            label
            for label in meta.columns
            if isinstance(dtype := meta[label].dtype, pd.CategoricalDtype)
            # Of a dictionary of Arrow in Parquet Dask takes it that there is no category.
            and not (self._frame[label].cat.known and len(dtype.categories))
        ]
        known: pd.DataFrame = meta.astype(dict.fromkeys(unknown, object))
        return known

    def reduced(
        self,
        columns: Sequence[str],
        work: Callable[[Any, Any], T | None],
        merge: Callable[[T, T], T],
        given: Sequence[Any] | None = None,
    ) -> T | None:
        """What some work makes of each partition, merged as a tree; an error names one that fails."""
        from dask import delayed

        parts = self._partitions(self._checked_columns(columns))
        sent, merging = (delayed(each, pure=False, traverse=False) for each in (work, merge))
        leaf, joined = delayed(_made_of, pure=False), delayed(_joined, pure=False)
        known = given or [None] * len(parts)
        leaves = [leaf(part, sent, each, k) for k, (part, each) in enumerate(zip(parts, known, strict=True))]
        values = [joined([each], merging) for each in leaves] if len(leaves) == 1 else leaves
        while len(values) > 1:
            values = [joined(values[k : k + TOGETHER], merging) for k in range(0, len(values), TOGETHER)]
        value, lengths = _computed(values[0], leaves, parts)
        if self._lengths is not None and lengths != self._lengths:
            k = next(k for k, (new, old) in enumerate(zip(lengths, self._lengths, strict=True)) if new != old)
            raise DataError(
                f"Partition {k} of {self.what} has {lengths[k]:,} rows now and had {self._lengths[k]:,} "
                "before: what reads rows several times needs the same each time. Write the frame to Parquet "
                "first, or keep it on the workers with .persist()."
            )
        self._lengths = lengths
        merged: T | None = value
        return merged

    def lazily(self, columns: Sequence[str], answer: Callable[[Any], Any], *, beyond: bool = False) -> Any:
        """What is said of the rows of each partition, as a lazy Series or DataFrame of Dask."""
        from dask.delayed import delayed

        names = self._checked_columns(columns)
        meta = _widest(answer(self.meta[[label for label in self.meta if str(label) in names]]), beyond)
        sent = delayed(answer, pure=False, traverse=False)
        return self._only(names).map_partitions(_answered, sent, meta, meta=meta)

    def _partitions(self, names: tuple[str, ...]) -> list[Any]:
        """The partitions as tasks; to find the best way to them takes Dask longer than a short pass does."""
        if names not in self._tasks:
            self._tasks[names] = self._only(names).to_delayed()
        return self._tasks[names]

    def _only(self, names: Sequence[str]) -> Any:
        """The frame with some of its columns."""
        wanted = set(names)
        return self._frame[[label for label in self._frame.columns if str(label) in wanted]]

    def _read(self, columns: tuple[str, ...]) -> Iterator[Part]:
        frame = self._only(columns)
        for number in range(frame.npartitions):
            with _of_partition(number):
                rows = frame.get_partition(number).compute()
            for some in slices(rows):
                yield Part(some)


def _widest(answer: Any, beyond: bool) -> Any:
    """An answer without rows, in the types that hold any other, also where a row has no label."""
    if not isinstance(answer, pd.Series) or answer.dtype.kind == "f":
        return answer
    if beyond:
        return answer.astype(object)
    # With a missing value whole numbers and truth values are nullable.
    return answer.convert_dtypes() if answer.dtype.kind in "iub" else answer


def _answered(data: pd.DataFrame, answer: Callable[[Any], Any], meta: Any) -> Any:
    """The answer of one partition, in the types of all."""
    return answer(data).astype(meta.dtype if isinstance(meta, pd.Series) else meta.dtypes.to_dict())


def _nothing(*_: Any) -> None:
    return None


Counted = tuple[Any, list[int]]
"""A value, and the rows of the partitions that it is of."""


def _made_of(data: pd.DataFrame, work: Callable[[Any, Any], Any], given: Any, number: int) -> Counted:
    """What the work makes of a partition."""
    with _of_partition(number):
        return work(data, given), [len(data)]


def _joined(values: Sequence[Counted], merge: Callable[[Any, Any], Any]) -> Counted:
    """The values of several runs of partitions, merged."""
    made = [value for value, _ in values if value is not None]
    lengths = [rows for _, each in values for rows in each]
    return reduce(merge, made) if made else None, lengths


@contextmanager
def _of_partition(number: int) -> Iterator[None]:
    """Say of which partition an error is."""
    try:
        yield
    except DiscrimError as error:
        error.args = (f"{error} This is in partition {number} of the Dask DataFrame.",)
        raise
    except Exception as error:
        raise _failed(number, error) from error


def _failed(number: int, error: BaseException) -> DataError:
    return DataError(
        f"Partition {number} of the Dask DataFrame could not be computed, so that there is no fit: "
        f"{type(error).__name__}: {error}. See frame.get_partition({number}).compute()."
    )


def _computed(root: Any, leaves: list[Any], parts: list[Any]) -> Counted:
    """The value of a tree of tasks, by the scheduler that Dask finds."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[root]), "__self__", None)
    with late_bar(len(leaves), "partitions") as tell:
        if hasattr(client, "compute"):
            return _on_cluster(client, root, leaves, tell)
        return _on_this_machine(root, leaves, parts, tell)


def _on_cluster(client: Any, root: Any, leaves: list[Any], tell: Callable[[int], None]) -> Counted:
    from dask import delayed
    from distributed import as_completed

    # Of each partition there is a mark that holds nothing, so that what was made of it may be let go of.
    mark = delayed(_nothing, pure=False)
    future, *marks = client.compute([root, *(mark(leaf) for leaf in leaves)])
    numbers = {each.key: number for number, each in enumerate(marks)}
    for done in as_completed(marks):
        if done.status in ("error", "cancelled"):
            error = done.exception()
            if isinstance(error, DiscrimError):
                raise error
            raise _failed(numbers[done.key], error) from error
        tell(1)
    found: Counted = future.result()
    return found


def _on_this_machine(root: Any, leaves: list[Any], parts: list[Any], tell: Callable[[int], None]) -> Counted:
    import dask
    from dask.callbacks import Callback

    keys = {leaf.key for leaf in leaves}
    done = set()

    def after(key: Any, *_: Any) -> None:
        if key in keys:
            done.add(key)
            tell(1)

    try:
        with Callback(posttask=after):
            (found,) = dask.compute(root)
    except DiscrimError:
        raise
    except Exception as error:
        number = _failing(leaves, parts, done, type(error))
        if number is None:
            raise
        raise _failed(number, error) from error
    counted: Counted = found
    return counted


def _failing(leaves: list[Any], parts: list[Any], done: set[Any], kind: type[Exception]) -> int | None:
    """Number of the partition that raises an error, of those that were not done; None if none does again."""
    import dask

    check = dask.delayed(_nothing, pure=False)
    for number, (leaf, part) in enumerate(zip(leaves, parts, strict=True)):
        if leaf.key not in done:
            try:
                dask.compute(check(part))
            except kind:
                return number
    return None
