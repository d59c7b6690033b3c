"""DataFrames of Dask as sources: partitions are worked on where they are, and what is made of them is merged.

The work on a partition, and the merging of what it gives, are tasks of Dask's: they run on the scheduler that
Dask finds, the threads of this machine or the workers of the cluster that a client is connected to, and a
task that is lost with its worker is run again on another. Values are merged as a tree. What all parts need,
as the formula and what it learnt, is one value of the graph, which is sent once. No rows come back, but to
what has no form that adds up: there partitions are computed one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache, partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from discrim.core.numerics.map_reduce import StoredValue
from discrim.core.numerics.progress import Progress
from discrim.data.sources.parts import DistributedSource, Part, PartWork, batch_rows, slices
from discrim.errors import DataError, DiscrimError

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

TOGETHER = 8
"""Values that are merged by one task."""

RUNS = 16
OF_THREAD = 4
"""Runs of partitions, each worked on by one task, and how many for each thread if that is more.

A task costs the scheduler a millisecond."""


class DaskSource(DistributedSource):
    """A DataFrame of Dask."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._lengths: list[int] | None = None
        self._tasks: dict[tuple[str, ...], tuple[list[Any], list[Any], list[Any] | None]] = {}
        super().__init__("the Dask DataFrame", [str(label) for label in frame.columns])

    @property
    def nrows(self) -> int | None:
        """Rows, where a pass has counted them."""
        return None if self._lengths is None else sum(self._lengths)

    @property
    def lengths(self) -> list[int]:
        """Rows of each partition, counted by a pass over one column where nothing else has."""
        if self._lengths is None:
            self.map_reduce(PartWork(self.names[:1], _nothing, _nothing))
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

    def map_reduce(self, work: PartWork[T]) -> T | None:
        """Apply some work to each partition, and merge the results as a tree; errors name the partition."""
        root, runs = self._tree(work)
        value, lengths = _computed(root, runs)
        self._count(lengths)
        merged: T | None = value
        return merged

    def map_reduce_stored(
        self, work: PartWork[T], returned: Callable[[T | None], V], stored: Callable[[T | None], U]
    ) -> tuple[V, StoredValue[U]]:
        """Map-reduce, with a part of the result stored on the worker that merged it if there is a client."""
        from dask import delayed

        client = _client_of(self._frame)
        if client is None:
            value = self.map_reduce(work)
            return returned(value), StoredValue(stored(value))
        root, runs = self._tree(work)
        kept = delayed(_part_of, pure=False)(stored, root)
        with Progress(sum(len(run.numbers) for run in runs), "partitions") as progress:
            answer, future = _on_cluster(
                client, [delayed(_told_of, pure=False)(returned, root), kept], runs, progress
            )
        value, lengths = answer.result()
        self._count(lengths)
        return value, _RemoteValue(client, future, partial(_computed, kept, runs))

    def _tree(self, work: PartWork[Any]) -> tuple[Any, list[_Run]]:
        """The task whose value is that of all partitions, and the runs of partitions that it is made of."""
        from dask import delayed

        keys, graph, parts = self._partitions(self._checked_columns(work.columns))
        sent, merging = (delayed(each, pure=False, traverse=False) for each in (work.work, work.merge))
        joined = delayed(_joined, pure=False)
        known = work.given or [None] * len(keys)
        count = len(keys)
        if count > RUNS:
            count = min(count, max(RUNS, OF_THREAD * _threads(_client_of(self._frame))))
        ends = [len(keys) * k // count for k in range(count + 1)]
        runs = []
        for start, stop in pairwise(ends):
            numbers = range(start, stop)
            if parts is None:
                some = _Partitions([graph[k] for k in numbers], keys[start:stop], known[start:stop], start)
                runs.append(_Run(delayed(_made_of_all, pure=False)(some, sent, merging), numbers))
                continue
            leaf = delayed(_made_of, pure=False)
            leaves = [leaf(parts[k], sent, known[k], k) for k in numbers]
            runs.append(_Run(joined(leaves, merging), numbers, parts[start:stop]))
        values = [run.task for run in runs]
        while len(values) > 1:
            values = [joined(values[k : k + TOGETHER], merging) for k in range(0, len(values), TOGETHER)]
        return values[0], runs

    def _count(self, lengths: list[int]) -> None:
        """Take note of the rows of each partition, which each pass has to find again."""
        if self._lengths is not None and lengths != self._lengths:
            k = next(k for k, (new, old) in enumerate(zip(lengths, self._lengths, strict=True)) if new != old)
            raise DataError(
                f"Partition {k} of {self.what} has {lengths[k]:,} rows now and had {self._lengths[k]:,} "
                "before: what reads rows several times needs the same each time.",
                hint="Write the frame to Parquet first, or keep it on the workers with .persist().",
            )
        self._lengths = lengths

    def lazily(self, columns: Sequence[str], answer: Callable[[Any], Any], *, beyond: bool = False) -> Any:
        """What is said of the rows of each partition, as a lazy Series or DataFrame of Dask."""
        from dask.delayed import delayed

        names = self._checked_columns(columns)
        meta = _widest(answer(self.meta[[label for label in self.meta if str(label) in names]]), beyond)
        sent = delayed(answer, pure=False, traverse=False)
        return self._only(names).map_partitions(_answered, sent, meta, meta=meta)

    def _partitions(self, names: tuple[str, ...]) -> tuple[list[Any], list[Any], list[Any] | None]:
        """Names of the partitions, and what makes each of them, if no other needs it; else tasks of Dask's.

        To find the best way to them takes Dask longer than a short pass does.
        """
        if names not in self._tasks:
            frame = self._only(names).optimize()
            keys = frame.__dask_keys__()
            graph = dict(frame.__dask_graph__())
            alone = _makers(graph, keys)
            parts = frame.to_delayed(optimize_graph=False) if alone is None else None
            self._tasks[names] = keys, alone or [], parts
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


class _Run(NamedTuple):
    """Partitions in a row, a task whose value is theirs, and those that are tasks of their own."""

    task: Any
    numbers: range
    parts: Sequence[Any] = ()


class _Partitions:
    """Partitions in a row: the graph that makes each, its name there, and what is known of its rows.

    Dask looks for tasks in lists and dataclasses, and lets this be.
    """

    def __init__(self, makers: list[Any], keys: list[Any], given: Sequence[Any], first: int) -> None:
        self.makers = makers
        self.keys = keys
        self.given = given
        self.first = first


def _makers(graph: dict[Any, Any], keys: list[Any]) -> list[Any] | None:
    """Of each partition the part of a graph that makes it; None where partitions share any, or are kept."""
    from dask.core import get_dependencies

    makers: list[Any] = []
    taken: set[Any] = set()
    for key in keys:
        own: dict[Any, Any] = {}
        wanted = [key]
        while wanted:
            name = wanted.pop()
            if name in own:
                continue
            if name in taken or name not in graph:
                return None
            if hasattr(getattr(graph[name], "value", graph[name]), "client"):
                # A future: a worker keeps the value.
                return None
            own[name] = graph[name]
            wanted.extend(get_dependencies(graph, name))
        taken.update(own)
        makers.append(own)
    return makers


def _made_of_all(
    some: _Partitions, work: Callable[[Any, Any], Any], merge: Callable[[Any, Any], Any]
) -> Counted:
    """What the work makes of partitions that are computed here, one after another, merged.

    Small ones are worked on together.
    """
    import dask

    made: list[Counted] = []
    waiting: list[_Computed] = []
    for number, (maker, key, given) in enumerate(
        zip(some.makers, some.keys, some.given, strict=True), start=some.first
    ):
        with _of_partition(number):
            data = dask.get(maker, key)
        if waiting:
            first = waiting[0].data
            is_small = sum(len(each.data) for each in waiting) < batch_rows(len(first.columns)) // 2
            if not (is_small and len(first) and len(data) and first.dtypes.equals(data.dtypes)):
                made.append(_together(waiting, work, merge))
                waiting = []
        waiting.append(_Computed(data, given, number))
    made.append(_together(waiting, work, merge))
    return _joined(made, merge)


class _Computed(NamedTuple):
    """A partition with what is known of its rows, and its number."""

    data: pd.DataFrame
    given: Any
    number: int


def _together(
    some: list[_Computed], work: Callable[[Any, Any], Any], merge: Callable[[Any, Any], Any]
) -> Counted:
    """What the work makes of partitions that are alike, as one; each is gone through where one may fail."""
    if len(some) > 1:
        try:
            data = pd.concat([each.data for each in some])
            given = _one_given([each.given for each in some])
            return work(data, given), [len(each.data) for each in some]
        except Exception:
            # Alone, the partition at fault is named.
            return _joined([_made_of(each.data, work, each.given, each.number) for each in some], merge)
    (each,) = some
    return _made_of(each.data, work, each.given, each.number)


def _one_given(given: list[Any]) -> Any:
    """What is known of the rows of several partitions: arrays by row, or nothing."""
    if given[0] is None:
        return None
    columns = zip(*given, strict=True)
    return type(given[0])(*(None if each[0] is None else np.concatenate(each) for each in columns))


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
        error.message = f"{error.message} This is in partition {number} of the Dask DataFrame."
        raise
    except Exception as error:
        raise _failed(number, error) from error


def _failed(number: int, error: BaseException) -> DataError:
    return DataError(
        f"Partition {number} of the Dask DataFrame could not be computed, so that there is no fit: "
        f"{type(error).__name__}: {error}.",
        hint=f"See frame.get_partition({number}).compute().",
    )


class _RemoteValue(StoredValue[T]):
    """A value that is stored on a worker.

    It is computed again if it is lost with its worker, or if the client is closed.
    """

    def __init__(self, client: Any, future: Any, remake: Callable[[], T]) -> None:
        self._client, self._future, self._remake = client, future, cache(remake)

    def apply(self, function: Callable[..., V], *others: StoredValue[Any]) -> V:
        """Return a function of this value and of others, computed on a worker."""
        if self._is_reached(others):
            with suppress(CancelledError):
                result: V = self._submit(function, others).result()
                return result
        return super().apply(function, *others)

    def map(self, function: Callable[..., V], *others: StoredValue[Any]) -> StoredValue[V]:
        """Store the result of a function of this value and of others on a worker."""
        if not self._is_reached(others):
            return super().map(function, *others)
        # The function may contain rows, which should not be sent through the scheduler.
        (sent,) = self._client.scatter([function], hash=False)
        return _RemoteValue(
            self._client, self._submit(sent, others), partial(super().apply, function, *others)
        )

    def _is_reached(self, others: Sequence[StoredValue[Any]]) -> bool:
        """Return whether this value and others are all on workers of an open client."""
        return self._client.status == "running" and all(isinstance(each, _RemoteValue) for each in others)

    def _submit(self, function: Any, others: Sequence[Any]) -> Any:
        values = [self._future, *(each._future for each in others)]
        return self._client.submit(_answer, function, *values, pure=False)

    def value(self) -> T:
        """Return the value, transferred to this process."""
        with suppress(CancelledError):
            value: T = self._future.result()
            return value
        return self._remake()

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredValue, (self.value(),)


def _answer(question: Callable[..., Any], *values: Any) -> Any:
    return question(*values)


def _told_of(told: Callable[[Any], Any], counted: Counted) -> Counted:
    return told(counted[0]), counted[1]


def _part_of(part: Callable[[Any], Any], counted: Counted) -> Any:
    return part(counted[0])


def _client_of(collection: Any) -> Any:
    """The client of a cluster that Dask would have compute a collection, if there is one."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return client if hasattr(client, "compute") else None


def _threads(client: Any) -> int:
    """Threads of the workers of a client, or of this machine where there is none."""
    from dask.system import CPU_COUNT

    return CPU_COUNT if client is None else sum(client.nthreads().values())


def _computed(root: Any, runs: list[_Run]) -> Any:
    """The value of a tree of tasks, by the scheduler that Dask finds."""
    client = _client_of(root)
    with Progress(sum(len(run.numbers) for run in runs), "partitions") as progress:
        if client is None:
            return _on_this_machine(root, runs, progress)
        (future,) = _on_cluster(client, [root], runs, progress)
        return future.result()


def _on_cluster(
    client: Any, roots: list[Any], runs: list[_Run], progress: Callable[[int], None]
) -> list[Any]:
    """The futures of trees of tasks, when they are there."""
    from dask import delayed
    from distributed import as_completed, wait

    # Of each run there is a mark that holds nothing, so that what was made of it may be let go of.
    mark = delayed(_nothing, pure=False)
    futures = client.compute([*roots, *(mark(run.task) for run in runs)])
    roots, marks = futures[: len(roots)], futures[len(roots) :]
    run_of = {each.key: run for each, run in zip(marks, runs, strict=True)}
    for done in as_completed(marks):
        if done.status in ("error", "cancelled"):
            error = done.exception()
            if isinstance(error, DiscrimError):
                raise error
            number = _failing([run_of[done.key]], type(error))
            if number is None:
                raise error
            raise _failed(number, error) from error
        progress(len(run_of[done.key].numbers))
    wait(roots)
    return roots


def _on_this_machine(root: Any, runs: list[_Run], progress: Callable[[int], None]) -> Any:
    import dask
    from dask.callbacks import Callback

    run_of = {run.task.key: run for run in runs}
    done = set()

    def after(key: Any, *_: Any) -> None:
        if key in run_of:
            done.add(key)
            progress(len(run_of[key].numbers))

    try:
        with Callback(posttask=after):
            (found,) = dask.compute(root)
    except DiscrimError:
        raise
    except Exception as error:
        number = _failing([run for key, run in run_of.items() if key not in done], type(error))
        if number is None:
            raise
        raise _failed(number, error) from error
    return found


def _failing(runs: list[_Run], kind: type[Exception]) -> int | None:
    """Number of the partition of some runs that raises an error; None if none does again."""
    import dask

    check = dask.delayed(_nothing, pure=False)
    for run in runs:
        for number, part in zip(run.numbers, run.parts, strict=False):
            try:
                dask.compute(check(part))
            except kind:
                return number
    return None
