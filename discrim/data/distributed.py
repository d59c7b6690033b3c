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
from discrim.data.sources.base import Chunk, ChunkWork, DistributedSource, iter_slices, rows_per_chunk
from discrim.errors import DataError, DiscrimError

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")

RESULTS_PER_MERGE = 8
"""Largest number of results that one task merges."""

MIN_RUNS = 16
RUNS_PER_THREAD = 4
"""Number of runs of consecutive partitions, each of which is one task: the larger of `MIN_RUNS` and
`RUNS_PER_THREAD` times the number of threads, but not more than the number of partitions.

A task costs the scheduler about a millisecond, hence not one per partition.
"""


class DaskSource(DistributedSource):
    """Dask DataFrame as a source of rows, whose chunks are the partitions.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._row_counts: list[int] | None = None
        self._cached_partitions: dict[tuple[str, ...], tuple[list[Any], list[Any], list[Any] | None]] = {}
        super().__init__("the Dask DataFrame", [str(label) for label in frame.columns])

    @property
    def nrows(self) -> int | None:
        """Number of rows, or None if no pass has counted them."""
        return None if self._row_counts is None else sum(self._row_counts)

    @property
    def chunk_row_counts(self) -> list[int]:
        """Number of rows of each partition; counted by a pass over one column if no pass has counted them."""
        if self._row_counts is None:
            self.map_reduce(ChunkWork(self.names[:1], _return_none, _return_none))
        return list(self._row_counts or [])

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
        determined: pd.DataFrame = meta.astype(dict.fromkeys(unknown, object))
        return determined

    def map_reduce(self, work: ChunkWork[T]) -> T | None:
        """Apply a function to each partition, and merge the results as a tree; errors name the partition.

        The numbers of rows are counted, and compared with the numbers of earlier passes.

        Parameters
        ----------
        work : ChunkWork
            The function, the merging of two results, and the columns to read.

        Returns
        -------
        Merged result, or None if the function has returned None for all partitions

        Raises
        ------
        DataError
            A partition cannot be computed, or has another number of rows than in an earlier pass.
        """
        root, runs = self._build_task_tree(work)
        value, row_counts = _compute(root, runs)
        self._record_row_counts(row_counts)
        merged: T | None = value
        return merged

    def map_reduce_stored(
        self,
        work: ChunkWork[T],
        return_function: Callable[[T | None], V],
        store_function: Callable[[T | None], U],
    ) -> tuple[V, StoredValue[U]]:
        """Apply a function to each partition, merge the results, and compute two values from the result.

        One value is returned. The other stays on the worker that has computed it, or in this process without
        a client of a cluster.

        Parameters
        ----------
        work : ChunkWork
            The function, the merging of two results, and the columns to read.
        return_function : callable
            Function of the merged result, or of None, whose value is transferred.
        store_function : callable
            Function of the merged result, or of None, whose value stays on the worker.

        Returns
        -------
        object
            Value of `return_function`.
        StoredValue
            Value of `store_function`.
        """
        from dask import delayed

        client = _client_of(self._frame)
        if client is None:
            value = self.map_reduce(work)
            return return_function(value), StoredValue(store_function(value))
        root, runs = self._build_task_tree(work)
        stored_task = delayed(_apply_without_counts, pure=False)(store_function, root)
        with Progress(sum(len(run.partition_numbers) for run in runs), "partitions") as progress:
            answer, future = _compute_on_cluster(
                client,
                [delayed(_apply_keeping_counts, pure=False)(return_function, root), stored_task],
                runs,
                progress,
            )
        value, row_counts = answer.result()
        self._record_row_counts(row_counts)
        return value, _RemoteValue(client, future, partial(_compute, stored_task, runs))

    def _build_task_tree(self, work: ChunkWork[Any]) -> tuple[Any, list[_PartitionRun]]:
        """Build the task that computes the merged result of all partitions.

        Parameters
        ----------
        work : ChunkWork
            The function, the merging of two results, and the columns to read.

        Returns
        -------
        root : Delayed
            Its value is a `CountedResult` of all partitions.
        runs : list of _PartitionRun
            The runs of partitions that it merges.
        """
        from dask import delayed

        keys, graph, partition_tasks = self._partition_graphs(self._checked_columns(work.columns))
        work_task, merge_task = (
            delayed(function, pure=False, traverse=False) for function in (work.function, work.merge)
        )
        merge_task_of = delayed(_merge_results, pure=False)
        row_metadata = work.row_metadata or [None] * len(keys)
        n_runs = len(keys)
        if n_runs > MIN_RUNS:
            n_runs = min(n_runs, max(MIN_RUNS, RUNS_PER_THREAD * _thread_count(_client_of(self._frame))))
        bounds = [len(keys) * k // n_runs for k in range(n_runs + 1)]
        runs = []
        for start, stop in pairwise(bounds):
            partition_numbers = range(start, stop)
            if partition_tasks is None:
                partitions = _PartitionGraphs(
                    [graph[k] for k in partition_numbers], keys[start:stop], row_metadata[start:stop], start
                )
                runs.append(
                    _PartitionRun(
                        delayed(_process_partitions, pure=False)(partitions, work_task, merge_task),
                        partition_numbers,
                    )
                )
                continue
            leaf = delayed(_process_partition, pure=False)
            leaves = [leaf(partition_tasks[k], work_task, row_metadata[k], k) for k in partition_numbers]
            runs.append(
                _PartitionRun(
                    merge_task_of(leaves, merge_task), partition_numbers, partition_tasks[start:stop]
                )
            )
        values = [run.task for run in runs]
        while len(values) > 1:
            values = [
                merge_task_of(values[k : k + RESULTS_PER_MERGE], merge_task)
                for k in range(0, len(values), RESULTS_PER_MERGE)
            ]
        return values[0], runs

    def _record_row_counts(self, row_counts: list[int]) -> None:
        """Store the number of rows of each partition; raise a DataError if an earlier pass had another."""
        if self._row_counts is not None and row_counts != self._row_counts:
            k = next(
                k for k, (new, old) in enumerate(zip(row_counts, self._row_counts, strict=True)) if new != old
            )
            raise DataError(
                f"Partition {k} of {self.description} has {row_counts[k]:,} rows now and had "
                f"{self._row_counts[k]:,} before, but a fit that reads rows several times needs the "
                "same rows "
                "each time.",
                hint="Write the frame to Parquet first, or keep it on the workers with .persist().",
            )
        self._row_counts = row_counts

    def apply_lazily(
        self, columns: Sequence[str], function: Callable[[Any], Any], *, allows_unknown_labels: bool = False
    ) -> Any:
        """Apply a function to each partition as a lazy Series or DataFrame of Dask.

        Parameters
        ----------
        columns : sequence of str
            Columns to read.
        function : callable
            Function of the DataFrame of a partition that returns a Series or a DataFrame with its index. It
            is first called with an empty frame, to determine the dtypes.
        allows_unknown_labels : bool
            Whether the function may return missing labels, in which case its result has the dtype object.

        Returns
        -------
        Dask Series or DataFrame
        """
        from dask.delayed import delayed

        names = self._checked_columns(columns)
        meta = _nullable_meta(
            function(self.meta[[label for label in self.meta if str(label) in names]]), allows_unknown_labels
        )
        function_task = delayed(function, pure=False, traverse=False)
        return self._select_columns(names).map_partitions(_apply_with_dtypes, function_task, meta, meta=meta)

    def _partition_graphs(self, names: tuple[str, ...]) -> tuple[list[Any], list[Any], list[Any] | None]:
        """Return the Dask graphs, or the tasks, that compute the partitions.

        Optimizing the graph takes Dask longer than a short pass over the rows, therefore the result is
        cached.

        Parameters
        ----------
        names : tuple of str
            Existing columns to read.

        Returns
        -------
        keys : list
            Key of each partition in its graph.
        graphs : list of dict
            Graph of each partition; empty if the partitions cannot be separated, see `_split_graph`.
        partition_tasks : list of Delayed or None
            The partitions as tasks if they cannot be separated, else None.
        """
        if names not in self._cached_partitions:
            frame = self._select_columns(names).optimize()
            keys = frame.__dask_keys__()
            graph = dict(frame.__dask_graph__())
            separate_graphs = _split_graph(graph, keys)
            partition_tasks = frame.to_delayed(optimize_graph=False) if separate_graphs is None else None
            self._cached_partitions[names] = keys, separate_graphs or [], partition_tasks
        return self._cached_partitions[names]

    def _select_columns(self, names: Sequence[str]) -> Any:
        """Return the Dask frame restricted to some of its columns, in the order of the frame."""
        requested_names = set(names)
        return self._frame[[label for label in self._frame.columns if str(label) in requested_names]]

    def _read(self, columns: tuple[str, ...]) -> Iterator[Chunk]:
        frame = self._select_columns(columns)
        for number in range(frame.npartitions):
            with _add_partition_to_errors(number):
                rows = frame.get_partition(number).compute()
            for chunk in iter_slices(rows):
                yield Chunk(chunk)


def _nullable_meta(empty: Any, allows_unknown_labels: bool) -> Any:
    """Convert an empty result to dtypes that can represent the result of every partition.

    Parameters
    ----------
    empty : Series or DataFrame
        Result of a function for a partition without rows.
    allows_unknown_labels : bool
        Whether labels may be missing, in which case they have the dtype object.

    Returns
    -------
    Series or DataFrame
    """
    if not isinstance(empty, pd.Series) or empty.dtype.kind == "f":
        return empty
    if allows_unknown_labels:
        return empty.astype(object)
    # Integers and booleans need nullable dtypes if a value is missing.
    return empty.convert_dtypes() if empty.dtype.kind in "iub" else empty


def _apply_with_dtypes(data: pd.DataFrame, function: Callable[[Any], Any], meta: Any) -> Any:
    """Apply a function to a partition, and convert the result to the dtypes of `meta`.

    Parameters
    ----------
    data : DataFrame
        Rows of the partition.
    function : callable
        Function of the rows.
    meta : Series or DataFrame
        Empty result with the dtypes of all partitions.

    Returns
    -------
    Series or DataFrame
    """
    return function(data).astype(meta.dtype if isinstance(meta, pd.Series) else meta.dtypes.to_dict())


def _return_none(*_: Any) -> None:
    """Return None, for tasks that are computed only for the sake of their inputs."""
    return None


CountedResult = tuple[Any, list[int]]
"""A result, and the number of rows of each partition that it includes."""


class _PartitionRun(NamedTuple):
    """Consecutive partitions, and the task that computes their merged result.

    Attributes
    ----------
    task : Delayed
        Task that computes the merged result.
    partition_numbers : range
        Numbers of the partitions.
    partitions : sequence of Delayed
        The partitions if they are separate tasks, else empty.
    """

    task: Any
    partition_numbers: range
    partitions: Sequence[Any] = ()


class _PartitionGraphs:
    """Graphs of consecutive partitions that one task computes.

    Not a list or a dataclass, because Dask would search these for tasks.

    Parameters
    ----------
    graphs : list of dict
        Graph of each partition.
    keys : list
        Key of each partition in its graph.
    row_metadata : sequence
        Row metadata of each partition, or None.
    first : int
        Number of the first partition.
    """

    def __init__(self, graphs: list[Any], keys: list[Any], row_metadata: Sequence[Any], first: int) -> None:
        self.graphs = graphs
        self.keys = keys
        self.row_metadata = row_metadata
        self.first = first


def _split_graph(graph: dict[Any, Any], keys: list[Any]) -> list[Any] | None:
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

    graphs: list[Any] = []
    assigned_keys: set[Any] = set()
    for key in keys:
        partition_graph: dict[Any, Any] = {}
        pending_keys = [key]
        while pending_keys:
            name = pending_keys.pop()
            if name in partition_graph:
                continue
            if name in assigned_keys or name not in graph:
                return None
            if hasattr(getattr(graph[name], "value", graph[name]), "client"):
                # A future: a worker keeps the value.
                return None
            partition_graph[name] = graph[name]
            pending_keys.extend(get_dependencies(graph, name))
        assigned_keys.update(partition_graph)
        graphs.append(partition_graph)
    return graphs


def _process_partitions(
    partitions: _PartitionGraphs, work: Callable[[Any, Any], Any], merge: Callable[[Any, Any], Any]
) -> CountedResult:
    """Compute partitions one after another, apply the work to each, and merge the results.

    Consecutive small partitions with equal dtypes are concatenated first.

    Parameters
    ----------
    partitions : _PartitionGraphs
    work : callable
        Function of the rows of a partition and their metadata.
    merge : callable
        Function of two results.

    Returns
    -------
    tuple of the merged result and the list of numbers of rows
    """
    import dask

    merged_results: list[CountedResult] = []
    pending: list[_Partition] = []
    for number, (graph, key, row_metadata) in enumerate(
        zip(partitions.graphs, partitions.keys, partitions.row_metadata, strict=True), start=partitions.first
    ):
        with _add_partition_to_errors(number):
            data = dask.get(graph, key)
        if pending:
            first = pending[0].data
            is_small = (
                sum(len(partition.data) for partition in pending) < rows_per_chunk(len(first.columns)) // 2
            )
            if not (is_small and len(first) and len(data) and first.dtypes.equals(data.dtypes)):
                merged_results.append(_process_concatenated(pending, work, merge))
                pending = []
        pending.append(_Partition(data, row_metadata, number))
    merged_results.append(_process_concatenated(pending, work, merge))
    return _merge_results(merged_results, merge)


class _Partition(NamedTuple):
    """A computed partition, its row metadata and its number."""

    data: pd.DataFrame
    row_metadata: Any
    number: int


def _process_concatenated(
    partitions: list[_Partition], work: Callable[[Any, Any], Any], merge: Callable[[Any, Any], Any]
) -> CountedResult:
    """Apply the work to the concatenation of similar partitions, or to each of them if that raises an error.

    Parameters
    ----------
    partitions : list of _Partition
        Partitions with equal dtypes.
    work : callable
        Function of the rows of a partition and their metadata.
    merge : callable
        Function of two results.

    Returns
    -------
    tuple of the merged result and the list of numbers of rows
    """
    if len(partitions) > 1:
        try:
            data = pd.concat([partition.data for partition in partitions])
            row_metadata = _concatenate_metadata([partition.row_metadata for partition in partitions])
            return work(data, row_metadata), [len(partition.data) for partition in partitions]
        except Exception:
            # Processed alone, the failing partition is named in the error.
            return _merge_results(
                [
                    _process_partition(partition.data, work, partition.row_metadata, partition.number)
                    for partition in partitions
                ],
                merge,
            )
    (partition,) = partitions
    return _process_partition(partition.data, work, partition.row_metadata, partition.number)


def _concatenate_metadata(row_metadata: list[Any]) -> Any:
    """Concatenate the row metadata of several partitions; None if absent.

    The metadata of a partition is a named tuple, in which arrays may be None for all partitions.
    """
    if row_metadata[0] is None:
        return None
    columns = zip(*row_metadata, strict=True)
    return type(row_metadata[0])(
        *(None if arrays[0] is None else np.concatenate(arrays) for arrays in columns)
    )


def _process_partition(
    data: pd.DataFrame, work: Callable[[Any, Any], Any], row_metadata: Any, number: int
) -> CountedResult:
    """Apply the work to one partition.

    Parameters
    ----------
    data : DataFrame
        Rows of the partition.
    work : callable
        Function of the rows of a partition and their metadata.
    row_metadata : object
        Row metadata, or None.
    number : int
        Number of the partition, for errors.

    Returns
    -------
    tuple of the result and the list of the number of rows
    """
    with _add_partition_to_errors(number):
        return work(data, row_metadata), [len(data)]


def _merge_results(values: Sequence[CountedResult], merge: Callable[[Any, Any], Any]) -> CountedResult:
    """Merge the results of several runs of partitions, and concatenate their numbers of rows.

    Results that are None are ignored; the merged result is None if all are.
    """
    merged_values = [value for value, _ in values if value is not None]
    row_counts = [rows for _, counts in values for rows in counts]
    return reduce(merge, merged_values) if merged_values else None, row_counts


@contextmanager
def _add_partition_to_errors(number: int) -> Iterator[None]:
    """Add the number of the partition to the message of any error that is raised in the block.

    Errors of this package keep their class; any other exception becomes a DataError.
    """
    try:
        yield
    except DiscrimError as error:
        error.message = f"{error.message} This is in partition {number} of the Dask DataFrame."
        raise
    except Exception as error:
        raise _partition_error(number, error) from error


def _partition_error(number: int, error: BaseException) -> DataError:
    """Return the DataError for a partition that could not be computed."""
    return DataError(
        f"Partition {number} of the Dask DataFrame could not be computed, so no model was fitted: "
        f"{type(error).__name__}: {error}.",
        hint=f"Run frame.get_partition({number}).compute() to see the error.",
    )


class _RemoteValue(StoredValue[T]):
    """A value that is stored on a worker.

    It is computed again if it is lost with its worker, or if the client is closed.

    Parameters
    ----------
    client : distributed.Client
    future : distributed.Future
    recompute : callable
        Function without arguments that computes the value again on this machine. It is called once at most.
    """

    def __init__(self, client: Any, future: Any, recompute: Callable[[], T]) -> None:
        self._client, self._future, self._recompute = client, future, cache(recompute)

    def apply(self, function: Callable[..., V], *others: StoredValue[Any]) -> V:
        """Return the result of a function of this value and other stored values.

        It is computed on a worker if all values are on workers of an open client, else in this process.
        """
        if self._are_on_workers(others):
            with suppress(CancelledError):
                result: V = self._submit(function, others).result()
                return result
        return super().apply(function, *others)

    def map(self, function: Callable[..., V], *others: StoredValue[Any]) -> StoredValue[V]:
        """Store the result of a function of this value and other stored values, where `apply` computes it."""
        if not self._are_on_workers(others):
            return super().map(function, *others)
        # The function may contain rows, which should not be sent through the scheduler.
        (function_future,) = self._client.scatter([function], hash=False)
        return _RemoteValue(
            self._client, self._submit(function_future, others), partial(super().apply, function, *others)
        )

    def _are_on_workers(self, others: Sequence[StoredValue[Any]]) -> bool:
        """Return whether this value and the others are all on workers of an open client."""
        return self._client.status == "running" and all(isinstance(value, _RemoteValue) for value in others)

    def _submit(self, function: Any, others: Sequence[Any]) -> Any:
        """Submit a function of this value and the others to a worker; return the future."""
        values = [self._future, *(stored_value._future for stored_value in others)]
        return self._client.submit(_call_function, function, *values, pure=False)

    def value(self) -> T:
        """Return the value, transferred to this process, or computed again if it is lost."""
        with suppress(CancelledError):
            value: T = self._future.result()
            return value
        return self._recompute()

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredValue, (self.value(),)


def _call_function(function: Callable[..., Any], *values: Any) -> Any:
    """Call a function with values; a task on a worker."""
    return function(*values)


def _apply_keeping_counts(function: Callable[[Any], Any], counted: CountedResult) -> CountedResult:
    """Apply a function to a merged result, and keep the numbers of rows."""
    return function(counted[0]), counted[1]


def _apply_without_counts(function: Callable[[Any], Any], counted: CountedResult) -> Any:
    """Apply a function to a merged result, without the numbers of rows."""
    return function(counted[0])


def _client_of(collection: Any) -> Any:
    """Return the client of the cluster on which Dask would compute a collection, or None."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(collections=[collection]), "__self__", None)
    return client if hasattr(client, "compute") else None


def _thread_count(client: Any) -> int:
    """Return the number of threads of a client's workers, or of this machine without a client."""
    from dask.system import CPU_COUNT

    return CPU_COUNT if client is None else sum(client.nthreads().values())


def _compute(root: Any, runs: list[_PartitionRun]) -> Any:
    """Compute a Dask task on the scheduler that Dask selects, with a progress bar.

    Parameters
    ----------
    root : Delayed
        The task on which the result depends.
    runs : list of _PartitionRun
        Runs of partitions of which the progress bar reports the completion.

    Returns
    -------
    object
        Result of the root task.
    """
    client = _client_of(root)
    with Progress(sum(len(run.partition_numbers) for run in runs), "partitions") as progress:
        if client is None:
            return _compute_locally(root, runs, progress)
        (future,) = _compute_on_cluster(client, [root], runs, progress)
        return future.result()


def _compute_on_cluster(
    client: Any, roots: list[Any], runs: list[_PartitionRun], progress: Callable[[int], None]
) -> list[Any]:
    """Compute trees of tasks on a cluster, and wait for them.

    The error of a run is raised as a DataError that names the partition if this can be determined.

    Parameters
    ----------
    client : distributed.Client
    roots : list of Delayed
        Tasks whose values are computed.
    runs : list of _PartitionRun
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
    marker_task = delayed(_return_none, pure=False)
    futures = client.compute([*roots, *(marker_task(run.task) for run in runs)])
    roots, markers = futures[: len(roots)], futures[len(roots) :]
    run_by_key = {marker.key: run for marker, run in zip(markers, runs, strict=True)}
    for finished in as_completed(markers):
        if finished.status in ("error", "cancelled"):
            error = finished.exception()
            if isinstance(error, DiscrimError):
                raise error
            number = _find_failing_partition([run_by_key[finished.key]], type(error))
            if number is None:
                raise error
            raise _partition_error(number, error) from error
        progress(len(run_by_key[finished.key].partition_numbers))
    wait(roots)
    return roots


def _compute_locally(root: Any, runs: list[_PartitionRun], progress: Callable[[int], None]) -> Any:
    """Compute a tree of tasks with threads of this machine, and return its value.

    An error is raised as a DataError that names the partition if this can be determined.

    Parameters
    ----------
    root : Delayed
        Task whose value is computed.
    runs : list of _PartitionRun
        The runs of partitions below the root, for progress and errors.
    progress : callable
        Called with the number of partitions when a run is finished.

    Returns
    -------
    object
    """
    import dask
    from dask.callbacks import Callback

    run_by_key = {run.task.key: run for run in runs}
    done = set()

    def after(key: Any, *_: Any) -> None:
        """Report the progress after the task of a run."""
        if key in run_by_key:
            done.add(key)
            progress(len(run_by_key[key].partition_numbers))

    try:
        with Callback(posttask=after):
            (root_value,) = dask.compute(root)
    except DiscrimError:
        raise
    except Exception as error:
        number = _find_failing_partition(
            [run for key, run in run_by_key.items() if key not in done], type(error)
        )
        if number is None:
            raise
        raise _partition_error(number, error) from error
    return root_value


def _find_failing_partition(runs: list[_PartitionRun], error_class: type[Exception]) -> int | None:
    """Compute partitions again, and return the number of the first that raises an error of a class, or None.

    Parameters
    ----------
    runs : list of _PartitionRun
        Runs among which the error occurred. Only partitions that are separate tasks are computed.
    error_class : type
        Class of the error.

    Returns
    -------
    int or None
    """
    import dask

    check = dask.delayed(_return_none, pure=False)
    for run in runs:
        for number, partition in zip(run.partition_numbers, run.partitions, strict=False):
            try:
                dask.compute(check(partition))
            except error_class:
                return number
    return None
