"""Dask DataFrames as sources: each partition is processed where it is, and the results are merged.

The work on a partition and the merging of results are Dask tasks. They run on the scheduler that Dask
selects: threads of this machine, or the workers of the cluster of a connected client. A task that is lost
with its worker is run again on another. Results are merged as a tree. The arguments that all partitions need,
such as the formula with its learnt states, are one value of the graph, which is sent once. No rows are
transferred, except to algorithms without an additive form, for which partitions are computed one after
another.
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
"""Number of results that one task merges."""

RUNS = 16
OF_THREAD = 4
"""Number of runs of partitions (one task each): `RUNS`, or `OF_THREAD` per thread if that is more.

A task costs the scheduler about a millisecond, hence not one per partition.
"""


class DaskSource(DistributedSource):
    """Dask DataFrame as a source of rows."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._lengths: list[int] | None = None
        self._tasks: dict[tuple[str, ...], tuple[list[Any], list[Any], list[Any] | None]] = {}
        super().__init__("the Dask DataFrame", [str(label) for label in frame.columns])

    @property
    def nrows(self) -> int | None:
        """Number of rows, or None if no pass has counted them."""
        return None if self._lengths is None else sum(self._lengths)

    @property
    def lengths(self) -> list[int]:
        """Number of rows of each partition; counted by a pass over one column if no pass has counted them."""
        if self._lengths is None:
            self.map_reduce(PartWork(self.names[:1], _nothing, _nothing))
        return list(self._lengths or [])

    @property
    def meta(self) -> pd.DataFrame:
        """Empty frame with the dtypes that Dask assumes of the columns.

        Categorical columns whose categories Dask has not determined have the dtype object.
        """
        meta = self._frame._meta
        unknown = [
            label
            for label in meta.columns
            if isinstance(dtype := meta[label].dtype, pd.CategoricalDtype)
            # Dask assumes no categories for an Arrow dictionary in Parquet.
            and not (self._frame[label].cat.known and len(dtype.categories))
        ]
        known: pd.DataFrame = meta.astype(dict.fromkeys(unknown, object))
        return known

    def map_reduce(self, work: PartWork[T]) -> T | None:
        """Apply a function to each partition, and merge the results as a tree; errors name the partition.

        Parameters
        ----------
        work : PartWork
            The function, the merging of two results, and the columns to read.

        Returns
        -------
        Merged result, or None if there is none
        """
        root, runs = self._tree(work)
        value, lengths = _computed(root, runs)
        self._count(lengths)
        merged: T | None = value
        return merged

    def map_reduce_stored(
        self, work: PartWork[T], returned: Callable[[T | None], V], stored: Callable[[T | None], U]
    ) -> tuple[V, StoredValue[U]]:
        """Map-reduce that stores a component of the result on the worker that merged it, if a client exists.

        Parameters
        ----------
        work : PartWork
            The function, the merging of two results, and the columns to read.
        returned : callable
            Function of the merged result, or of None, whose value is transferred.
        stored : callable
            Function of the merged result, or of None, whose value stays on the worker.

        Returns
        -------
        tuple of the value of `returned` and a StoredValue of the value of `stored`
        """
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
        """Build the task that computes the merged result of all partitions.

        Parameters
        ----------
        work : PartWork

        Returns
        -------
        root : Delayed
            Its value is the merged result, and the numbers of rows of the partitions.
        runs : list of _Run
            The runs of partitions that it merges.
        """
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
        """Store the number of rows of each partition; raise a DataError if an earlier pass found another."""
        if self._lengths is not None and lengths != self._lengths:
            k = next(k for k, (new, old) in enumerate(zip(lengths, self._lengths, strict=True)) if new != old)
            raise DataError(
                f"Partition {k} of {self.what} has {lengths[k]:,} rows now and had {self._lengths[k]:,} "
                "before: what reads rows several times needs the same each time.",
                hint="Write the frame to Parquet first, or keep it on the workers with .persist().",
            )
        self._lengths = lengths

    def lazily(self, columns: Sequence[str], answer: Callable[[Any], Any], *, beyond: bool = False) -> Any:
        """Apply a function to each partition as a lazy Series or DataFrame of Dask.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        answer : callable
            Function of the DataFrame of a partition that returns a Series or a DataFrame with its rows.
        beyond : bool
            Whether labels may be missing, in which case they have the dtype object.

        Returns
        -------
        Dask Series or DataFrame
        """
        from dask.delayed import delayed

        names = self._checked_columns(columns)
        meta = _widest(answer(self.meta[[label for label in self.meta if str(label) in names]]), beyond)
        sent = delayed(answer, pure=False, traverse=False)
        return self._only(names).map_partitions(_answered, sent, meta, meta=meta)

    def _partitions(self, names: tuple[str, ...]) -> tuple[list[Any], list[Any], list[Any] | None]:
        """Return the keys of the partitions and how each is computed.

        Optimizing the graph takes Dask longer than a short pass over the rows, therefore the result is
        cached.

        Parameters
        ----------
        names : tuple of str
            Columns to read.

        Returns
        -------
        keys : list
            Key of each partition in the graph.
        graphs : list of dict
            Graph of each partition, empty if partitions share tasks.
        parts : list of Delayed or None
            The partitions as tasks if they share any.
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
        """Return the Dask frame restricted to some of its columns."""
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
    """Convert an empty answer to dtypes that can represent any other answer, also with missing labels.

    Parameters
    ----------
    answer : Series or DataFrame
    beyond : bool
        Whether labels may be missing, in which case they have the dtype object.

    Returns
    -------
    Series or DataFrame
    """
    if not isinstance(answer, pd.Series) or answer.dtype.kind == "f":
        return answer
    if beyond:
        return answer.astype(object)
    # With a missing value whole numbers and truth values are nullable.
    return answer.convert_dtypes() if answer.dtype.kind in "iub" else answer


def _answered(data: pd.DataFrame, answer: Callable[[Any], Any], meta: Any) -> Any:
    """Apply a function to a partition, and convert the result to the dtypes of `meta`.

    Parameters
    ----------
    data : DataFrame
    answer : callable
    meta : Series or DataFrame
        Empty result with the dtypes of all partitions.

    Returns
    -------
    Series or DataFrame
    """
    return answer(data).astype(meta.dtype if isinstance(meta, pd.Series) else meta.dtypes.to_dict())


def _nothing(*_: Any) -> None:
    """Return None; a task whose result is not needed."""
    return None


Counted = tuple[Any, list[int]]
"""A result, and the number of rows of each partition that it includes."""


class _Run(NamedTuple):
    """Consecutive partitions, and the task that computes their merged result.

    Attributes
    ----------
    task : Delayed
    numbers : range
        Numbers of the partitions.
    parts : sequence of Delayed
        The partitions, if they are separate tasks.
    """

    task: Any
    numbers: range
    parts: Sequence[Any] = ()


class _Partitions:
    """Consecutive partitions that one task computes.

    Not a list or a dataclass, because Dask would search these for tasks.

    Parameters
    ----------
    makers : list of dict
        Graph of each partition.
    keys : list
        Key of each partition in its graph.
    given : sequence
        Row metadata of each partition, or None.
    first : int
        Number of the first partition.
    """

    def __init__(self, makers: list[Any], keys: list[Any], given: Sequence[Any], first: int) -> None:
        self.makers = makers
        self.keys = keys
        self.given = given
        self.first = first


def _makers(graph: dict[Any, Any], keys: list[Any]) -> list[Any] | None:
    """Split a graph into one independent graph for each partition.

    Parameters
    ----------
    graph : dict
        Graph of all partitions.
    keys : list
        Keys of the partitions.

    Returns
    -------
    list of dict, or None
        None if partitions share a task, or if a worker stores one already.
    """
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
    """Compute partitions one after another, apply the work to each, and merge the results.

    Small partitions are concatenated first.

    Parameters
    ----------
    some : _Partitions
    work : callable
        Function of the rows of a partition and their metadata.
    merge : callable
        Function of two results.

    Returns
    -------
    tuple of the merged result and the list of numbers of rows
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
    """A computed partition, its row metadata and its number."""

    data: pd.DataFrame
    given: Any
    number: int


def _together(
    some: list[_Computed], work: Callable[[Any, Any], Any], merge: Callable[[Any, Any], Any]
) -> Counted:
    """Apply the work to the concatenation of similar partitions, or to each of them if that raises an error.

    Parameters
    ----------
    some : list of _Computed
        Partitions with equal dtypes.
    work : callable
        Function of the rows of a partition and their metadata.
    merge : callable
        Function of two results.

    Returns
    -------
    tuple of the merged result and the list of numbers of rows
    """
    if len(some) > 1:
        try:
            data = pd.concat([each.data for each in some])
            given = _one_given([each.given for each in some])
            return work(data, given), [len(each.data) for each in some]
        except Exception:
            # Processed alone, the failing partition is named in the error.
            return _joined([_made_of(each.data, work, each.given, each.number) for each in some], merge)
    (each,) = some
    return _made_of(each.data, work, each.given, each.number)


def _one_given(given: list[Any]) -> Any:
    """Concatenate the row metadata of several partitions, a named tuple of arrays; None if there is none."""
    if given[0] is None:
        return None
    columns = zip(*given, strict=True)
    return type(given[0])(*(None if each[0] is None else np.concatenate(each) for each in columns))


def _made_of(data: pd.DataFrame, work: Callable[[Any, Any], Any], given: Any, number: int) -> Counted:
    """Apply the work to one partition.

    Parameters
    ----------
    data : DataFrame
    work : callable
        Function of the rows of a partition and their metadata.
    given : object
        Row metadata, or None.
    number : int
        Number of the partition, for errors.

    Returns
    -------
    tuple of the result and the list of the number of rows
    """
    with _of_partition(number):
        return work(data, given), [len(data)]


def _joined(values: Sequence[Counted], merge: Callable[[Any, Any], Any]) -> Counted:
    """Merge the results of several runs of partitions, and concatenate their numbers of rows."""
    made = [value for value, _ in values if value is not None]
    lengths = [rows for _, each in values for rows in each]
    return reduce(merge, made) if made else None, lengths


@contextmanager
def _of_partition(number: int) -> Iterator[None]:
    """Add the number of the partition to an error."""
    try:
        yield
    except DiscrimError as error:
        error.message = f"{error.message} This is in partition {number} of the Dask DataFrame."
        raise
    except Exception as error:
        raise _failed(number, error) from error


def _failed(number: int, error: BaseException) -> DataError:
    """Return the DataError for a partition that could not be computed."""
    return DataError(
        f"Partition {number} of the Dask DataFrame could not be computed, so that there is no fit: "
        f"{type(error).__name__}: {error}.",
        hint=f"See frame.get_partition({number}).compute().",
    )


class _RemoteValue(StoredValue[T]):
    """A value that is stored on a worker.

    It is computed again if it is lost with its worker, or if the client is closed.

    Parameters
    ----------
    client : distributed.Client
    future : distributed.Future
    remake : callable
        Function without arguments that computes the value again.
    """

    def __init__(self, client: Any, future: Any, remake: Callable[[], T]) -> None:
        self._client, self._future, self._remake = client, future, cache(remake)

    def apply(self, function: Callable[..., V], *others: StoredValue[Any]) -> V:
        """Return a function of this value and other stored values, computed on a worker."""
        if self._is_reached(others):
            with suppress(CancelledError):
                result: V = self._submit(function, others).result()
                return result
        return super().apply(function, *others)

    def map(self, function: Callable[..., V], *others: StoredValue[Any]) -> StoredValue[V]:
        """Store the result of a function of this value and other stored values on a worker."""
        if not self._is_reached(others):
            return super().map(function, *others)
        # The function may contain rows, which should not be sent through the scheduler.
        (sent,) = self._client.scatter([function], hash=False)
        return _RemoteValue(
            self._client, self._submit(sent, others), partial(super().apply, function, *others)
        )

    def _is_reached(self, others: Sequence[StoredValue[Any]]) -> bool:
        """Return whether this value and the others are all on workers of an open client."""
        return self._client.status == "running" and all(isinstance(each, _RemoteValue) for each in others)

    def _submit(self, function: Any, others: Sequence[Any]) -> Any:
        """Submit a function of this value and the others to a worker; return the future."""
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
    """Call a function with values; a task on a worker."""
    return question(*values)


def _told_of(told: Callable[[Any], Any], counted: Counted) -> Counted:
    """Apply a function to a merged result, and keep the numbers of rows."""
    return told(counted[0]), counted[1]


def _part_of(part: Callable[[Any], Any], counted: Counted) -> Any:
    """Apply a function to a merged result, without the numbers of rows."""
    return part(counted[0])


def _client_of(collection: Any) -> Any:
    """Return the client of the cluster on which Dask would compute a collection, or None."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return client if hasattr(client, "compute") else None


def _threads(client: Any) -> int:
    """Return the number of threads of a client's workers, or of this machine if there is no client."""
    from dask.system import CPU_COUNT

    return CPU_COUNT if client is None else sum(client.nthreads().values())


def _computed(root: Any, runs: list[_Run]) -> Any:
    """Compute a tree of tasks on the scheduler that Dask selects, with a progress bar."""
    client = _client_of(root)
    with Progress(sum(len(run.numbers) for run in runs), "partitions") as progress:
        if client is None:
            return _on_this_machine(root, runs, progress)
        (future,) = _on_cluster(client, [root], runs, progress)
        return future.result()


def _on_cluster(
    client: Any, roots: list[Any], runs: list[_Run], progress: Callable[[int], None]
) -> list[Any]:
    """Compute trees of tasks on a cluster, and wait for them.

    Parameters
    ----------
    client : distributed.Client
    roots : list of Delayed
    runs : list of _Run
        The runs of partitions below the roots, for progress and errors.
    progress : callable
        Called with the number of partitions when a run is finished.

    Returns
    -------
    list of distributed.Future
    """
    from dask import delayed
    from distributed import as_completed, wait

    # The future of an empty task per run reports its end, without keeping the result of the run in memory.
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
    """Compute a tree of tasks with threads of this machine, and return its value.

    Parameters
    ----------
    root : Delayed
    runs : list of _Run
        The runs of partitions below the root, for progress and errors.
    progress : callable
        Called with the number of partitions when a run is finished.

    Returns
    -------
    object
    """
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
    """Return the number of the first partition that raises an error of a class again, or None.

    Parameters
    ----------
    runs : list of _Run
        Runs among which the error occurred.
    kind : type
        Class of the error.

    Returns
    -------
    int or None
    """
    import dask

    check = dask.delayed(_nothing, pure=False)
    for run in runs:
        for number, part in zip(run.numbers, run.parts, strict=False):
            try:
                dask.compute(check(part))
            except kind:
                return number
    return None
