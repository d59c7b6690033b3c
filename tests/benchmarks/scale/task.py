"""Run one task in a process of its own and print its seconds and the peak memory of the process.

    python -m tests.benchmarks.scale.task NAME FOLDER SHORT TIMES

SHORT is a folder of few rows, whose run is not counted: it imports all modules.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from discrim.data.sources.base import rows_per_chunk
from discrim.data.sources.parquet import BUFFER_BYTES

Job = Callable[[Path], dict[str, Any] | None]


def read_and_multiply(batches: Iterator[Any], names: list[str]) -> None:
    """Read the response and compute one symmetric product of the numeric columns of every batch."""
    total = np.zeros((len(names), len(names)), order="F")
    for batch in batches:
        columns = np.empty((len(names), len(batch)))
        for j, name in enumerate(names):
            column = batch[name]
            columns[j] = column.to_numpy(zero_copy_only=False) if column.null_count else column.to_numpy()
        total = dsyrk(1.0, columns.T, beta=1.0, c=total, trans=1, overwrite_c=1)
        del batch


def column_names(folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_schema(next(iter(sorted(folder.glob("*.parquet"))))).names


def read_by_pyarrow(folder: Path) -> None:
    import pyarrow.parquet as pq

    names = column_names(folder)
    step = rows_per_chunk(len(names))

    def batches() -> Iterator[Any]:
        for path in sorted(folder.glob("*.parquet")):
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                yield from file.iter_batches(batch_size=step, columns=names)

    schema = pq.read_schema(next(iter(sorted(folder.glob("*.parquet")))))
    read_and_multiply(batches(), [name for name in names if str(schema.field(name).type) == "double"])


def read_by_polars(folder: Path) -> None:
    import polars as pl

    names = column_names(folder)
    frame = pl.scan_parquet(folder / "*.parquet").select(names)
    options = {"chunk_size": rows_per_chunk(len(names)), "maintain_order": True, "engine": "streaming"}
    read_and_multiply(frame.collect_batches(lazy=True, **options), names[:-1])


def read_by_duckdb(folder: Path) -> None:
    names = column_names(folder)
    read_and_multiply(iter(duckdb_relation(folder).to_arrow_reader(rows_per_chunk(len(names)))), names[:-1])


def duckdb_relation(folder: Path) -> Any:
    import duckdb

    return duckdb.read_parquet(str(folder / "*.parquet"))


def polars_lazy_frame(folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(folder / "*.parquet")


def fit_job(verb: str, data: Callable[[Path], Any] = str) -> Job:
    """Return a job that fits a verb to a folder; `data` makes the source from the folder."""

    def job(folder: Path) -> None:
        import discrim

        getattr(discrim, verb)("y ~ .", data=data(folder))

    return job


def logistic_job(folder: Path) -> dict[str, Any]:
    """Fit a logistic regression and count the passes over the columns."""
    import discrim
    from discrim.data.sources.base import Source

    passes = []
    original_chunks = Source.chunks

    def counting_chunks(source: Source, columns: Any = None) -> Any:
        chunks = original_chunks(source, columns)

        def count_passes() -> Iterator[Any]:
            # Reading only the first chunk is not a pass.
            for number, part in enumerate(chunks):
                if number == 2 and len(columns or source.names) > 1:
                    passes.append(1)
                yield part

        return count_passes()

    Source.chunks = counting_chunks
    discrim.logistic("y ~ .", data=str(folder))
    return {"passes": len(passes)}


def dask_job(workers: int) -> Job:
    """Return a job that fits LDA on a local cluster; only the seconds of the fit are counted."""

    def job(folder: Path) -> dict[str, Any]:
        import dask.dataframe as dd
        from distributed import Client, LocalCluster

        import discrim

        options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(n_workers=workers, **options) as cluster, Client(cluster):
            frame = dd.read_parquet(folder, split_row_groups=True)
            discrim.lda("y ~ .", data=frame.partitions[:workers])
            start = time.perf_counter()
            discrim.lda("y ~ .", data=frame)
            return {"seconds": time.perf_counter() - start}

    return job


def scikit_learn_job(folder: Path) -> dict[str, Any]:
    """Fit scikit-learn's LDA to arrays in memory, and time the fit alone."""
    import pyarrow.parquet as pq
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    frame = pq.read_table(folder).to_pandas()
    x, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    start = time.perf_counter()
    Peer().fit(x, y)
    return {"fit": time.perf_counter() - start}


def mass_job(folder: Path) -> dict[str, Any]:
    """Fit MASS in R, which receives the numbers as a binary file."""
    import pyarrow.parquet as pq

    frame = pq.read_table(folder).to_pandas()
    n, p = len(frame), frame.shape[1] - 1
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary)
        np.asfortranarray(frame.drop(columns="y").to_numpy()).T.tofile(path / "x")
        frame["y"].astype("category").cat.codes.to_numpy(np.int32).tofile(path / "y")
        code = (
            f"x <- matrix(readBin('{path}/x', 'double', {n * p}), {n}); y <- readBin('{path}/y', 'int', {n});"
            "cat(system.time(MASS::lda(x, y))[['elapsed']])"
        )
        process = subprocess.run(["Rscript", "-e", code], check=True, capture_output=True, text=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"fit": float(process.stdout), "peak": peak}


JOBS: dict[str, Job] = {
    "base-pyarrow": read_by_pyarrow,
    "base-polars": read_by_polars,
    "base-duckdb": read_by_duckdb,
    "lda": fit_job("lda"),
    "qda": fit_job("qda"),
    "lda-polars": fit_job("lda", polars_lazy_frame),
    "qda-polars": fit_job("qda", polars_lazy_frame),
    "lda-duckdb": fit_job("lda", duckdb_relation),
    "logistic": logistic_job,
    "dask-1": dask_job(1),
    "dask-2": dask_job(2),
    "scikit-learn": scikit_learn_job,
    "mass": mass_job,
}


def peak_memory() -> float:
    """Return the peak memory of this process in MB.

    `getrusage` would include that of the parent process.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    name, folder, short, n_runs = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    job, runs = JOBS[name], []
    job(short)
    before = peak_memory()
    for _ in range(n_runs):
        start, processor_start = time.perf_counter(), time.process_time()
        figures = job(folder) or {}
        times = {"seconds": time.perf_counter() - start, "processor": time.process_time() - processor_start}
        runs.append({"peak": peak_memory(), "before": before, **times, **figures})
    print(json.dumps(runs))


if __name__ == "__main__":
    main()
