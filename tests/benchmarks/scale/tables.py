"""The rows of the benchmark: ratios to what reading takes, and growth beside what theory gives."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.benchmarks.scale.made import made_folder
from tests.benchmarks.timing import row

Taken = dict[str, dict[str, float]]

P, K, SHORT = 25, 3, 2_000

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TQDM_DISABLE": "1"}


@contextmanager
def folder_for(given: Path | None) -> Iterator[Path]:
    """The folder that was given, which keeps what is made, or one that is removed."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def run(task: str, folder: Path, times: int = 1) -> list[dict[str, float]]:
    """What runs of a task in one process took, after one on a short table."""
    short = made_folder(folder.parent, SHORT, P, K, mixed=folder.name.endswith("mixed"))
    command = [sys.executable, "-m", "tests.benchmarks.scale.task", task, str(folder), str(short), str(times)]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD})
    return list(json.loads(said.stdout.splitlines()[-1]))


def in_turns(tasks: Sequence[str], folder: Path, repeat: int) -> Taken:
    """Medians of each task over processes in turn, of which the first is not counted."""
    found: dict[str, list[dict[str, float]]] = {task: [] for task in tasks}
    for turn in range(repeat + 1):
        for task in tasks:
            taken = run(task, folder)[-1]
            if turn or not repeat:
                found[task].append(taken)
    return {task: _medians(runs) for task, runs in found.items()}


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(each[name] for each in runs) for name in runs[0]}


def told(title: str, taken: Taken) -> None:
    """Print seconds, seconds of the processor and peaks."""
    print(title)
    for task, figures in taken.items():
        print(
            f"    {task:16} {figures['seconds']:8.2f} s, {figures['processor']:8.2f} s of the processor, "
            f"peak {figures['peak']:6.0f} MB"
        )


def streamed(n: int, given: Path | None, repeat: int, engine: str = "pyarrow") -> None:
    """LDA and QDA from a folder of Parquet, beside reading its batches and a product of each."""
    ours = ("lda", "qda") if engine == "pyarrow" else (f"lda-{engine}",)
    if engine == "polars":
        ours = (*ours, "qda-polars")
    with folder_for(given) as folder:
        taken = in_turns([f"base-{engine}", *ours], made_folder(folder, n, P, K), repeat)
    task = f"{n:,} x {P} by {engine}"
    told(task, taken)
    base = taken[f"base-{engine}"]
    for name in ours:
        own = taken[name]
        row(task, f"{name} over reading and a product", own["seconds"] / base["seconds"], 1.5)
        row(task, f"{name}, the same in processor time", own["processor"] / base["processor"], 1.5)
        row(task, f"{name}, peak memory in MB", own["peak"], 1000)


def logistic_passes(n: int, given: Path | None, repeat: int) -> None:
    """A pass of logistic regression, beside the same reading and a product."""
    with folder_for(given) as folder:
        path = made_folder(folder, n, P, K)
        taken = in_turns(["base-pyarrow"], path, repeat) | in_turns(["logistic"], path, max(repeat // 3, 0))
    task = f"{n:,} x {P}, logistic"
    told(task, taken)
    base, own = taken["base-pyarrow"], taken["logistic"]
    print(f"    {own['passes']:.0f} passes over the columns")
    row(task, "a pass over reading and a product", own["seconds"] / own["passes"] / base["seconds"], 2)
    row(task, "peak memory in MB", own["peak"], 1000)


def processes(n: int, given: Path | None, repeat: int) -> None:
    """Dask with two worker processes against one."""
    if importlib.util.find_spec("distributed") is None:
        print("Dask: not there")
        return
    with folder_for(given) as folder:
        taken = in_turns(["dask-1", "dask-2"], made_folder(folder, n, P, K), repeat)
    task = f"{n:,} x {P} by Dask"
    told(task, taken)
    ratio = taken["dask-1"]["seconds"] / taken["dask-2"]["seconds"]
    row(task, f"two processes, times faster ({os.cpu_count()} cores)", ratio, 1.6, at_least=True)


def peers(n: int, given: Path | None, repeat: int) -> None:
    """LDA of others, which take arrays in memory."""
    tasks = ["lda", "scikit-learn", *(["mass"] if shutil.which("Rscript") else [])]
    with folder_for(given) as folder:
        taken = in_turns(tasks, made_folder(folder, n, P, K), repeat)
    task = f"{n:,} x {P}, peers"
    told(task, taken)
    for name in tasks[1:]:
        print(f"    {name}: {taken[name]['fit']:.2f} s of these for the fit to arrays that are read already")
        row(
            task,
            f"times faster than {name}",
            taken[name]["seconds"] / taken["lda"]["seconds"],
            1,
            at_least=True,
        )
        row(task, f"peak of {name} over ours", taken[name]["peak"] / taken["lda"]["peak"], 1, at_least=True)


def growth(n: int, given: Path | None, repeat: int) -> None:
    """Seconds and memory in rows, columns and classes, with the exponents of the last two points."""
    m = max(n // 100, 2_000)
    sizes = {
        "rows": [(m // 2, P, K), (3 * m // 2, P, K), (5 * m, P, K), (15 * m, P, K)],
        "columns": [(m, 10, K), (m, 20, K), (m, 50, K), (m, 100, K), (m, 200, K)],
        "classes": [(m, P, 2), (m, P, 10), (m, P, 100), (m, P, 1000)],
    }
    theory = {
        ("lda", "rows"): "1, memory 0",
        ("lda", "columns"): "1 to 2, memory 0 to 2",
        ("lda", "classes"): "0 to 1, memory 0 to 1",
        ("qda", "rows"): "1, memory 0",
        ("qda", "columns"): "1 to 2, memory 0 to 2",
        ("qda", "classes"): "0 to 1, memory 0 to 1",
    }
    with folder_for(given) as folder:
        for (verb, what), said in theory.items():
            print(f"{verb} by {what}")
            found = []
            for size in sizes[what]:
                runs = run(verb, made_folder(folder, *size), max(repeat, 1) + 1)[1:]
                seconds = statistics.median(each["processor"] for each in runs)
                held = runs[-1]["peak"] - runs[-1]["before"]
                found.append((size[list(sizes).index(what)], seconds, held))
                print(f"    {size[0]:10,} x {size[1]:3} x {size[2]:5,} {seconds:9.3f} s {held:7.0f} MB")
            at, *figures = np.log(np.array(found[-2:])).T
            time_of, memory_of = ((each[1] - each[0]) / (at[1] - at[0]) for each in figures)
            print(f"    exponents: time {time_of:.2f}, memory {memory_of:.2f}; by theory: time {said}")
