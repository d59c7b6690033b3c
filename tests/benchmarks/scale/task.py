"""One task in a process of its own: its seconds, and the most memory that the process has held.

    python -m tests.benchmarks.scale.task NAME FOLDER SHORT TIMES

SHORT is a folder of a few rows, whose run is not counted: it imports what there is to import.
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


def products(batches: Iterator[Any], names: list[str]) -> None:
    """The response, and one product of the columns, of every batch."""
    total = np.zeros((len(names), len(names)), order="F")
    for batch in batches:
        columns = np.empty((len(names), len(batch)))
        for j, name in enumerate(names):
            column = batch[name]
            columns[j] = column.to_numpy(zero_copy_only=False) if column.null_count else column.to_numpy()
        total = dsyrk(1.0, columns.T, beta=1.0, c=total, trans=1, overwrite_c=1)
        del batch


def columns_of(folder: Path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_schema(next(iter(sorted(folder.glob("*.parquet"))))).names


def base_of_pyarrow(folder: Path) -> None:
    import pyarrow.parquet as pq

    names = columns_of(folder)
    step = rows_per_chunk(len(names))

    def batches() -> Iterator[Any]:
        for path in sorted(folder.glob("*.parquet")):
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
                yield from file.iter_batches(batch_size=step, columns=names)

    schema = pq.read_schema(next(iter(sorted(folder.glob("*.parquet")))))
    products(batches(), [name for name in names if str(schema.field(name).type) == "double"])


def base_of_polars(folder: Path) -> None:
    import polars as pl

    names = columns_of(folder)
    frame = pl.scan_parquet(folder / "*.parquet").select(names)
    options = {"chunk_size": rows_per_chunk(len(names)), "maintain_order": True, "engine": "streaming"}
    products(frame.collect_batches(lazy=True, **options), names[:-1])


def base_of_duckdb(folder: Path) -> None:
    names = columns_of(folder)
    products(iter(relation(folder).to_arrow_reader(rows_per_chunk(len(names)))), names[:-1])


def relation(folder: Path) -> Any:
    import duckdb

    return duckdb.read_parquet(str(folder / "*.parquet"))


def lazy(folder: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(folder / "*.parquet")


def fitted(verb: str, data: Callable[[Path], Any] = str) -> Job:
    """A fit of a verb to the rows of a folder, given as what data makes of it."""

    def job(folder: Path) -> None:
        import discrim

        getattr(discrim, verb)("y ~ .", data=data(folder))

    return job


def logistic(folder: Path) -> dict[str, Any]:
    """A logistic fit, and how many passes over the columns it has made."""
    import discrim
    from discrim.data.sources.base import Source

    passes = []
    parts = Source.chunks

    def counted(source: Source, columns: Any = None) -> Any:
        found = parts(source, columns)

        def begun() -> Iterator[Any]:
            # A look at the first part is no pass.
            for number, part in enumerate(found):
                if number == 2 and len(columns or source.names) > 1:
                    passes.append(1)
                yield part

        return begun()

    Source.chunks = counted
    discrim.logistic("y ~ .", data=str(folder))
    return {"passes": len(passes)}


def dask(workers: int) -> Job:
    """LDA on a local cluster of so many processes; the seconds are those of the fit alone."""

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


def scikit_learn(folder: Path) -> dict[str, Any]:
    """The peer's fit to arrays in memory, and what it takes to read these."""
    import pyarrow.parquet as pq
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Peer

    frame = pq.read_table(folder).to_pandas()
    x, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    start = time.perf_counter()
    Peer().fit(x, y)
    return {"fit": time.perf_counter() - start}


def mass(folder: Path) -> dict[str, Any]:
    """MASS in R, which gets the numbers as a binary file."""
    import pyarrow.parquet as pq

    frame = pq.read_table(folder).to_pandas()
    n, p = len(frame), frame.shape[1] - 1
    with tempfile.TemporaryDirectory() as temporary:
        held = Path(temporary)
        np.asfortranarray(frame.drop(columns="y").to_numpy()).T.tofile(held / "x")
        frame["y"].astype("category").cat.codes.to_numpy(np.int32).tofile(held / "y")
        code = (
            f"x <- matrix(readBin('{held}/x', 'double', {n * p}), {n}); y <- readBin('{held}/y', 'int', {n});"
            "cat(system.time(MASS::lda(x, y))[['elapsed']])"
        )
        said = subprocess.run(["Rscript", "-e", code], check=True, capture_output=True, text=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"fit": float(said.stdout), "peak": peak}


JOBS: dict[str, Job] = {
    "base-pyarrow": base_of_pyarrow,
    "base-polars": base_of_polars,
    "base-duckdb": base_of_duckdb,
    "lda": fitted("lda"),
    "qda": fitted("qda"),
    "lda-polars": fitted("lda", lazy),
    "qda-polars": fitted("qda", lazy),
    "lda-duckdb": fitted("lda", relation),
    "logistic": logistic,
    "dask-1": dask(1),
    "dask-2": dask(2),
    "scikit-learn": scikit_learn,
    "mass": mass,
}


def peak() -> float:
    """The most memory of this process, in MB; a child's usage begins with that of its parent."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    name, folder, short, times = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    job, runs = JOBS[name], []
    job(short)
    before = peak()
    for _ in range(times):
        start, own = time.perf_counter(), time.process_time()
        said = job(folder) or {}
        taken = {"seconds": time.perf_counter() - start, "processor": time.process_time() - own}
        runs.append({"peak": peak(), "before": before, **taken, **said})
    print(json.dumps(runs))


if __name__ == "__main__":
    main()
