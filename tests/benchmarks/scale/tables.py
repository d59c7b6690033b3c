"""Compare fits to tables larger than memory with reading them, and measure how the cost grows."""

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

from tests.benchmarks.scale.made import write_table
from tests.benchmarks.timing import report_figure

Figures = dict[str, dict[str, float]]

P, K, SHORT_ROWS = 25, 3, 2_000

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TQDM_DISABLE": "1"}


@contextmanager
def folder_for(folder: Path | None) -> Iterator[Path]:
    """Yield the given folder, or a temporary one that is deleted afterwards."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def run_task(task: str, folder: Path, repeat: int = 1) -> list[dict[str, float]]:
    """Run a task in a process of its own after a warm-up on a short table; return the figures of each run."""
    short = write_table(folder.parent, SHORT_ROWS, P, K, mixed=folder.name.endswith("mixed"))
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.scale.task",
        task,
        str(folder),
        str(short),
        str(repeat),
    ]
    process = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, **ONE_THREAD})
    return list(json.loads(process.stdout.splitlines()[-1]))


def run_in_turns(tasks: Sequence[str], folder: Path, repeat: int) -> Figures:
    """Return the median figures of each task over interleaved processes; the first round is not counted."""
    results: dict[str, list[dict[str, float]]] = {task: [] for task in tasks}
    for turn in range(repeat + 1):
        for task in tasks:
            figures = run_task(task, folder)[-1]
            if turn or not repeat:
                results[task].append(figures)
    return {task: _medians(runs) for task, runs in results.items()}


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(each[name] for each in runs) for name in runs[0]}


def print_figures(title: str, figures_by_task: Figures) -> None:
    """Print seconds, processor seconds and peak memory of each task."""
    print(title)
    for task, figures in figures_by_task.items():
        print(
            f"    {task:16} {figures['seconds']:8.2f} s, {figures['processor']:8.2f} s processor time, "
            f"peak {figures['peak']:6.0f} MB"
        )


def compare_streamed(n: int, folder_option: Path | None, repeat: int, engine: str = "pyarrow") -> None:
    """Compare LDA and QDA of Parquet files with reading the batches and one product of each."""
    ours = ("lda", "qda") if engine == "pyarrow" else (f"lda-{engine}",)
    if engine == "polars":
        ours = (*ours, "qda-polars")
    with folder_for(folder_option) as folder:
        figures = run_in_turns([f"base-{engine}", *ours], write_table(folder, n, P, K), repeat)
    task = f"{n:,} x {P} by {engine}"
    print_figures(task, figures)
    base = figures[f"base-{engine}"]
    for name in ours:
        fit_figures = figures[name]
        report_figure(
            task, f"{name} divided by reading and a product", fit_figures["seconds"] / base["seconds"], 1.5
        )
        report_figure(
            task, f"{name}, the same in processor time", fit_figures["processor"] / base["processor"], 1.5
        )
        report_figure(task, f"{name}, peak memory in MB", fit_figures["peak"], 1000)


def time_logistic_pass(n: int, folder_option: Path | None, repeat: int) -> None:
    """Compare one pass of logistic regression with reading the batches and one product of each."""
    with folder_for(folder_option) as folder:
        path = write_table(folder, n, P, K)
        figures = run_in_turns(["base-pyarrow"], path, repeat) | run_in_turns(
            ["logistic"], path, max(repeat // 3, 0)
        )
    task = f"{n:,} x {P}, logistic"
    print_figures(task, figures)
    base, fit_figures = figures["base-pyarrow"], figures["logistic"]
    print(f"    {fit_figures['passes']:.0f} passes over the columns")
    report_figure(
        task,
        "a pass divided by reading and a product",
        fit_figures["seconds"] / fit_figures["passes"] / base["seconds"],
        2,
    )
    report_figure(task, "peak memory in MB", fit_figures["peak"], 1000)


def compare_dask_processes(n: int, folder_option: Path | None, repeat: int) -> None:
    """Compare Dask with two worker processes and with one."""
    if importlib.util.find_spec("distributed") is None:
        print("Dask is not installed")
        return
    with folder_for(folder_option) as folder:
        figures = run_in_turns(["dask-1", "dask-2"], write_table(folder, n, P, K), repeat)
    task = f"{n:,} x {P} by Dask"
    print_figures(task, figures)
    ratio = figures["dask-1"]["seconds"] / figures["dask-2"]["seconds"]
    report_figure(task, f"two processes, times faster ({os.cpu_count()} cores)", ratio, 1.6, at_least=True)


def compare_with_peers(n: int, folder_option: Path | None, repeat: int) -> None:
    """Compare LDA with scikit-learn and MASS, which need arrays in memory."""
    tasks = ["lda", "scikit-learn", *(["mass"] if shutil.which("Rscript") else [])]
    with folder_for(folder_option) as folder:
        figures = run_in_turns(tasks, write_table(folder, n, P, K), repeat)
    task = f"{n:,} x {P}, peers"
    print_figures(task, figures)
    for name in tasks[1:]:
        print(f"    {name}: {figures[name]['fit']:.2f} s of these for the fit to arrays in memory")
        report_figure(
            task,
            f"times faster than {name}",
            figures[name]["seconds"] / figures["lda"]["seconds"],
            1,
            at_least=True,
        )
        report_figure(
            task,
            f"peak of {name} divided by ours",
            figures[name]["peak"] / figures["lda"]["peak"],
            1,
            at_least=True,
        )


def print_growth(n: int, folder_option: Path | None, repeat: int) -> None:
    """Print seconds and memory by rows, columns and classes, with the exponents of the last two points."""
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
    with folder_for(folder_option) as folder:
        for (verb, quantity), exponents in theory.items():
            print(f"{verb} by {quantity}")
            points = []
            for size in sizes[quantity]:
                runs = run_task(verb, write_table(folder, *size), max(repeat, 1) + 1)[1:]
                seconds = statistics.median(each["processor"] for each in runs)
                memory = runs[-1]["peak"] - runs[-1]["before"]
                points.append((size[list(sizes).index(quantity)], seconds, memory))
                print(f"    {size[0]:10,} x {size[1]:3} x {size[2]:5,} {seconds:9.3f} s {memory:7.0f} MB")
            log_sizes, *figures = np.log(np.array(points[-2:])).T
            time_exponent, memory_exponent = (
                (each[1] - each[0]) / (log_sizes[1] - log_sizes[0]) for each in figures
            )
            print(
                f"    exponents: time {time_exponent:.2f}, memory {memory_exponent:.2f}; expected: "
                f"time {exponents}"
            )
