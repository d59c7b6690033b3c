"""Processor time of large tables, many classes, and the start of a process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from tests.benchmarks.searches.tables import processor_seconds, report_processor_seconds
from tests.benchmarks.timing import Run, report_figure, simulate_classes

__all__ = ["tasks"]


def time_many_classes(n: int, p: int, k: int, repeat: int) -> None:
    """Measure predictions and error rates with thousands of classes, some with a single observation."""
    from discrim import lda

    _, _, frame = simulate_classes(n, p, k)
    fit = lda("y ~ .", frame)
    row = frame.iloc[:1]
    task = f"LDA {n:,} x {p} x {k:,}"
    report_processor_seconds(task, {"predict of one row": (lambda: fit.predict(row), 0.02)}, repeat)
    tracemalloc.start()
    fit.predict(row)
    report_figure(task, "predict of one row: MB", tracemalloc.get_traced_memory()[1] / 1e6, 206)
    tracemalloc.stop()

    def without_cache(method: str) -> Run:
        def run() -> None:
            fit._fit.cache.clear()
            fit.error_rates([method])

        return run

    def all_error_rates() -> None:
        fit._fit.cache.clear()
        fit.error_rates()

    runs = {"error_rates": (all_error_rates, 6.0), "error_rates(['cv'])": (without_cache("cv"), 20.0)}
    report_processor_seconds(task, runs, max(repeat // 2, 1))


def refusal(formula: str, data: object) -> Run:
    """Return a run that fits an LDA to a table with a column of free text, which is refused."""
    from discrim import lda
    from discrim.errors import FormulaError

    def run() -> None:
        try:
            lda(formula, data)
        except FormulaError as error:
            if error.columns != ("note",):
                raise
        else:
            raise RuntimeError("The column 'note' was not refused.")

    return run


def time_refusals(n: int, repeat: int) -> None:
    """Measure the refusal of a text column with about half as many levels as rows, and with one per row."""
    rng = np.random.default_rng(20261129)
    frame = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    frame["mode"] = np.array(["bus", "car", "train"])[rng.integers(0, 3, n)]
    half = frame.assign(
        note=pd.Series(np.char.add("text ", rng.integers(0, n // 2, n).astype(str)), dtype="str")
    )
    all_rows = frame.assign(note=pd.Series(np.char.add("text ", np.arange(n).astype(str)), dtype="str"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.parquet")
        half.to_parquet(path)
        runs = {
            f"{n:,} rows of Parquet": (refusal("mode ~ .", path), 2.0),
            f"{n:,} rows in memory": (refusal("mode ~ .", all_rows), 1.0),
            "20,000 rows in memory": (refusal("mode ~ .", all_rows[:20_000]), 1.0),
        }
        report_processor_seconds("refusal of free text", runs, repeat)


def child_seconds(arguments: list[str], bytecode_folder: str) -> Callable[[], float]:
    """Return a function that runs Python with some arguments and returns the processor seconds.

    The first run compiles the modules and stores them in a folder, as an installation does.
    """
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": bytecode_folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return run


def time_start(repeat: int) -> None:
    """Compare the command line, and the first fit of a process, with the import of pandas."""
    first_fit = (
        "import pandas, discrim; "
        "discrim.lda('y ~ x', pandas.DataFrame({'x': [1., 2., 3., 5.], 'y': list('aabb')}))"
    )
    times: dict[str, list[float]] = {"pandas": [], "command line": [], "first fit": []}
    with tempfile.TemporaryDirectory() as folder:
        runs = {
            "pandas": child_seconds(["-c", "import pandas"], folder),
            "command line": child_seconds(["-m", "discrim", "lda", "species ~ .", "iris"], folder),
            "first fit": child_seconds(["-c", first_fit], folder),
        }
        for _ in range(2 * repeat + 1):
            for name, run in runs.items():
                times[name].append(run())
    seconds = {name: median(values[1:]) for name, values in times.items()}
    print(
        "start of a process", " ".join(f"{name} {value:.3f} s" for name, value in seconds.items()), sep=": "
    )
    for name, bar in (("command line", 1.6), ("first fit", 1.3)):
        report_figure(
            "start of a process", f"{name} over import pandas", seconds[name] / seconds["pandas"], bar
        )


def time_class_labels(n: int, p: int, k: int, repeat: int) -> None:
    """Compare fits with text and integer labels with a fit with categorical labels."""
    from discrim import lda

    _, codes, frame = simulate_classes(n, p, k)
    labels = np.array([f"class {code}" for code in range(k)])
    tables = {
        "categorical": frame.assign(y=pd.Categorical.from_codes(codes, list(labels))),
        "text": frame.assign(y=pd.Series(labels[codes], dtype="str")),
        "integers": frame,
    }
    times = processor_seconds(
        {name: lambda table=table: lda("y ~ .", table) for name, table in tables.items()}, 2 * repeat
    )
    for name in ("text", "integers"):
        figure = f"labels of {name} over categorical"
        report_figure(f"LDA {n:,} x {p} x {k}", figure, times[name] / times["categorical"], 1.3)


def tasks(divisor: int, repeat: int) -> dict[str, Run]:
    """Return the tasks by name; the numbers of rows are divided by `divisor`."""
    return {
        "sizes-5000-classes": lambda: time_many_classes(50_000 // divisor, 100, 5_000 // divisor, repeat),
        "sizes-free-text": lambda: time_refusals(2_000_000 // divisor, repeat),
        "sizes-labels": lambda: time_class_labels(200_000 // divisor, 24, 5, repeat),
        "sizes-start": lambda: time_start(repeat),
    }
