"""Evaluation on Dask workers: bytes sent to the client, and the cost of many small partitions.

    python -m tests.benchmarks --only dask

There are two worker processes with one thread each, and a process for the scheduler and the monitoring of the
workers. The client is in this process: its processor time and the bytes that it receives are measured. The
scheduler's processor time, which grows with the time that it waits, is only printed. The cost of small
partitions
is compared with a pass that only makes them, which is a lower bound for any pass.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tests.benchmarks.timing import Run, report_figure

N_COLUMNS = 11


def make_partition(number: int, rows: int) -> pd.DataFrame:
    """Simulate rows of three classes on the worker, so that reading is not part of the measurement."""
    rng = np.random.default_rng(number)
    codes = rng.integers(0, 3, rows)
    x = rng.standard_normal((rows, N_COLUMNS), dtype=np.float32).astype(np.float64) + 0.3 * codes[:, None]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(N_COLUMNS)])
    frame["y"] = np.array(["a", "b", "c"])[codes]
    return frame


class RunUsage(NamedTuple):
    """Seconds, processor seconds of this process and of the scheduler, and bytes received by this process."""

    seconds: float
    processor: float
    scheduler: float
    received: float


class Cluster:
    """A client with two workers whose usage can be measured."""

    def __init__(self, client: Any, pipe: Any, received: list[int]) -> None:
        self.client, self._pipe, self._received = client, pipe, received

    def _scheduler_seconds(self) -> float:
        self._pipe.send(True)
        seconds: float = self._pipe.recv()
        return seconds

    def measure(self, run: Run) -> RunUsage:
        """Run a call and return its usage."""
        before = self._scheduler_seconds()
        self._received[0] = 0
        start, processor_start = time.perf_counter(), time.process_time()
        run()
        seconds, processor = time.perf_counter() - start, time.process_time() - processor_start
        return RunUsage(seconds, processor, self._scheduler_seconds() - before, self._received[0])

    def measure_median(self, run: Run, repeat: int) -> RunUsage:
        """Return the median usage over several runs after one that is not counted."""
        runs = [self.measure(run) for _ in range(repeat + 1)][1:]
        return RunUsage(*(statistics.median(each) for each in zip(*runs, strict=True)))


def run_cluster(pipe: Any) -> None:
    """Run the cluster until the pipe receives False; send this process's processor seconds on request."""
    from distributed import LocalCluster

    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, **options) as cluster:
        pipe.send(cluster.scheduler_address)
        while pipe.recv():
            pipe.send(time.process_time())


@contextmanager
def start_cluster() -> Iterator[Cluster]:
    """Start the cluster in a process of its own and count the bytes that the client receives."""
    import distributed.comm.tcp as tcp
    from distributed import Client

    pipe, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run_cluster, args=(other,))
    process.start()
    received, read = [0], tcp.read_bytes_rw

    async def counting_read(stream: Any, n: int) -> Any:
        received[0] += n
        return await read(stream, n)

    tcp.read_bytes_rw = counting_read
    try:
        with Client(pipe.recv()) as client:
            yield Cluster(client, pipe, received)
    finally:
        tcp.read_bytes_rw = read
        pipe.send(False)
        process.join()


def partitioned_frame(n: int, n_partitions: int) -> Any:
    """Return a Dask frame of n rows in partitions that are made on the workers."""
    import dask.dataframe as dd

    return dd.from_map(
        partial(make_partition, rows=n // n_partitions),
        range(n_partitions),
        meta=make_partition(0, 9).iloc[:0],
    )


def compare_evaluation(n: int, repeat: int) -> None:
    """Measure bytes to the client and its processor time for a fit and for methods that evaluate it."""
    from discrim import cross_validate, lda, logistic

    with start_cluster() as workers:
        frame = partitioned_frame(n, 10)
        lda("y ~ .", frame)
        usage = {"lda": workers.measure(lambda: lda("y ~ .", frame))}
        fit = lda("y ~ .", frame)
        usage["apparent"] = workers.measure(lambda: fit.error_rates(["apparent"]))
        usage["leave-one-out"] = workers.measure(lambda: fit.error_rates(["loo"]))
        usage["cross_validate"] = workers.measure(lambda: cross_validate(fit, 3, seed=1).summary())
        usage["assess"] = workers.measure(lambda: fit.assess().summary())
        search = logistic("y ~ .", frame)
        usage["summary of logistic"] = workers.measure(lambda: str(search.summary()))
    task = f"Dask {n:,} x {N_COLUMNS}"
    scale = n / 1_000_000
    for name, each in usage.items():
        print(
            f"    {name:20} {each.seconds:6.2f} s, {each.received / 1e6:8.3f} MB to the client; the client's "
            f"processor {each.processor:.2f} s, the scheduler's {each.scheduler:.2f} s"
        )
        bar = 0.01 if name == "lda" else (2.2 if name == "apparent" else 10) * scale + 0.05
        report_figure(task, f"{name}, MB to the client", each.received / 1e6, bar)
        if name not in ("lda", "apparent"):
            report_figure(task, f"{name}, seconds of the client's processor", each.processor, 0.5)


def compare_partition_counts(n: int, n_partitions: int, repeat: int) -> None:
    """Compare fits to many partitions and to ten with the same rows, next to a pass that only makes them."""
    from discrim import lda

    with start_cluster() as workers:
        usage, bare = {}, {}
        for each in (10, n_partitions):
            frame = partitioned_frame(n, each)
            usage[each] = workers.measure_median(lambda frame=frame: lda("y ~ .", frame), repeat)
            bare[each] = workers.measure_median(
                lambda frame=frame: frame.map_partitions(len).compute(), repeat
            )
    coarse, fine = usage[10], usage[n_partitions]
    limit = bare[n_partitions].seconds / bare[10].seconds
    print(
        f"    a pass of Dask's that makes the partitions and nothing else, {n_partitions:,} over "
        f"10: {limit:.1f}"
    )
    print(
        f"    the fit of {n_partitions:,} over that pass of {n_partitions:,}: "
        f"{fine.seconds / bare[n_partitions].seconds:.2f}"
    )
    print(f"    the scheduler's processor, {n_partitions:,} over 10: {fine.scheduler / coarse.scheduler:.2f}")
    task = f"Dask {n:,} rows in {n_partitions:,} over 10"
    report_figure(task, "wall time", fine.seconds / coarse.seconds, 2)
    report_figure(task, "bytes to the client", fine.received / coarse.received, 2)
    report_figure(task, "client's processor", fine.processor / coarse.processor, 5)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name."""
    return {
        "dask-judging": lambda: compare_evaluation(1_000_000 // divisor, repeat),
        "dask-small-partitions": lambda: compare_partition_counts(
            1_000_000 // divisor, 1_000 // divisor, max(repeat // 2, 1)
        ),
    }


if __name__ == "__main__":
    for run in tasks(10, 1).values():
        run()
