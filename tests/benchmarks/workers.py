"""Rows on workers: what judges goes to them, what comes back, and the price of many small partitions.

    python -m tests.benchmarks --only dask

Two worker processes of one thread each, and a process of the scheduler and of what watches the workers. The
client is in this one: its processor time, and the bytes that it receives, are measured; the scheduler's time,
which grows with the seconds that it waits, is printed beside. What small partitions cost is printed beside a
pass that makes them and looks at nothing, which is the limit of any pass over them.
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

from tests.benchmarks.timing import Run, row

COLUMNS = 11


def part(number: int, rows: int) -> pd.DataFrame:
    """So many rows of three classes, made where they are worked on: what reading takes is no part of this."""
    rng = np.random.default_rng(number)
    codes = rng.integers(0, 3, rows)
    x = rng.standard_normal((rows, COLUMNS), dtype=np.float32).astype(np.float64) + 0.3 * codes[:, None]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(COLUMNS)])
    frame["y"] = np.array(["a", "b", "c"])[codes]
    return frame


class Taken(NamedTuple):
    """Seconds, seconds of the processor of this process and of the scheduler's, and bytes that came here."""

    seconds: float
    processor: float
    scheduler: float
    received: float


class Cluster:
    """Two workers, and what goes on with them."""

    def __init__(self, client: Any, pipe: Any, received: list[int]) -> None:
        self.client, self._pipe, self._received = client, pipe, received

    def _scheduler(self) -> float:
        self._pipe.send(True)
        seconds: float = self._pipe.recv()
        return seconds

    def taken(self, run: Run) -> Taken:
        before = self._scheduler()
        self._received[0] = 0
        start, own = time.perf_counter(), time.process_time()
        run()
        seconds, processor = time.perf_counter() - start, time.process_time() - own
        return Taken(seconds, processor, self._scheduler() - before, self._received[0])

    def medians(self, run: Run, repeat: int) -> Taken:
        """Of several runs, after one that is not counted."""
        runs = [self.taken(run) for _ in range(repeat + 1)][1:]
        return Taken(*(statistics.median(each) for each in zip(*runs, strict=True)))


def serve(pipe: Any) -> None:
    """Run the workers and their scheduler until the pipe says no more, and tell their seconds when asked."""
    from distributed import LocalCluster

    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, **options) as made:
        pipe.send(made.scheduler_address)
        while pipe.recv():
            pipe.send(time.process_time())


@contextmanager
def cluster() -> Iterator[Cluster]:
    import distributed.comm.tcp as tcp
    from distributed import Client

    pipe, other = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(other,))
    process.start()
    received, read = [0], tcp.read_bytes_rw

    async def counted(stream: Any, n: int) -> Any:
        received[0] += n
        return await read(stream, n)

    tcp.read_bytes_rw = counted
    try:
        with Client(pipe.recv()) as client:
            yield Cluster(client, pipe, received)
    finally:
        tcp.read_bytes_rw = read
        pipe.send(False)
        process.join()


def frame_of(n: int, parts: int) -> Any:
    import dask.dataframe as dd

    return dd.from_map(partial(part, rows=n // parts), range(parts), meta=part(0, 9).iloc[:0])


def judging(n: int, repeat: int) -> None:
    """Bytes and processor of the client for a fit and for what judges it."""
    from discrim import cross_validate, lda, logistic

    with cluster() as workers:
        frame = frame_of(n, 10)
        lda("y ~ .", frame)
        taken = {"lda": workers.taken(lambda: lda("y ~ .", frame))}
        fit = lda("y ~ .", frame)
        taken["apparent"] = workers.taken(lambda: fit.error_rates(["apparent"]))
        taken["leave-one-out"] = workers.taken(lambda: fit.error_rates(["loo"]))
        taken["cross_validate"] = workers.taken(lambda: cross_validate(fit, 3, seed=1).summary())
        taken["assess"] = workers.taken(lambda: fit.assess().summary())
        search = logistic("y ~ .", frame)
        taken["summary of logistic"] = workers.taken(lambda: str(search.summary()))
    task = f"Dask {n:,} x {COLUMNS}"
    scale = n / 1_000_000
    for name, each in taken.items():
        print(
            f"    {name:20} {each.seconds:6.2f} s, {each.received / 1e6:8.3f} MB to the client; the client's "
            f"processor {each.processor:.2f} s, the scheduler's {each.scheduler:.2f} s"
        )
        bar = 0.01 if name == "lda" else (2.2 if name == "apparent" else 10) * scale + 0.05
        row(task, f"{name}, MB to the client", each.received / 1e6, bar)
        if name not in ("lda", "apparent"):
            row(task, f"{name}, seconds of the client's processor", each.processor, 0.5)


def small_partitions(n: int, parts: int, repeat: int) -> None:
    """A fit to many partitions over the same rows in ten, beside a pass that makes them alone."""
    from discrim import lda

    with cluster() as workers:
        taken, bare = {}, {}
        for each in (10, parts):
            frame = frame_of(n, each)
            taken[each] = workers.medians(lambda frame=frame: lda("y ~ .", frame), repeat)
            bare[each] = workers.medians(lambda frame=frame: frame.map_partitions(len).compute(), repeat)
    few, many = taken[10], taken[parts]
    limit = bare[parts].seconds / bare[10].seconds
    print(f"    a pass of Dask's that makes the partitions and nothing else, {parts:,} over 10: {limit:.1f}")
    print(f"    the fit of {parts:,} over that pass of {parts:,}: {many.seconds / bare[parts].seconds:.2f}")
    print(f"    the scheduler's processor, {parts:,} over 10: {many.scheduler / few.scheduler:.2f}")
    task = f"Dask {n:,} rows in {parts:,} over 10"
    row(task, "wall time", many.seconds / few.seconds, 2)
    row(task, "bytes to the client", many.received / few.received, 2)
    row(task, "client's processor", many.processor / few.processor, 5)


def tasks(part: int, repeat: int) -> dict[str, Run]:
    """What is measured, by name."""
    return {
        "dask-judging": lambda: judging(1_000_000 // part, repeat),
        "dask-small-partitions": lambda: small_partitions(
            1_000_000 // part, 1_000 // part, max(repeat // 2, 1)
        ),
    }


if __name__ == "__main__":
    for run in tasks(10, 1).values():
        run()
