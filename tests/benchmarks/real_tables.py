"""Tables with categories, text and missing values, compared with numeric tables of the same size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.scale.tables import folder_for, print_figures, run_in_turns
from tests.benchmarks.timing import Run, median_seconds, report_figure

REGIONS = np.array(["north", "south", "east", "west"])

MISSING_SHARE = 0.001
"""Proportion of rows with a missing value in one column."""


def make_frames(n: int, p: int, k: int) -> dict[str, pd.DataFrame]:
    """Simulate a table of p numeric columns, and variants with categories, text or missing values."""
    rng = np.random.default_rng(20261125)
    codes = rng.integers(0, k, n)
    x = np.asfortranarray(rng.standard_normal((n, p)) + rng.standard_normal((k, p))[codes])
    plain = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    labels = np.array([f"class {i}" for i in range(k)])
    plain["y"] = pd.Categorical.from_codes(codes, categories=list(labels))
    region, with_missing = rng.integers(0, len(REGIONS), n), plain.copy()
    with_missing.loc[rng.random(n) < MISSING_SHARE, "x3"] = np.nan
    last = f"x{p - 1}"
    categories = pd.Categorical.from_codes(region, categories=list(REGIONS))
    return {
        "plain": plain,
        "gaps": with_missing,
        "categories": with_missing.assign(**{last: categories}),
        "text": with_missing.assign(**{last: pd.Series(REGIONS[region], dtype="str")}),
        "labels as text": plain.assign(y=pd.Series(labels[codes], dtype="str")),
    }


def compare_in_memory(n: int, p: int, k: int, repeat: int) -> None:
    """Compare LDA of each variant with LDA of the numeric table."""
    from discrim import lda

    tables = make_frames(n, p, k)
    runs: dict[str, Run] = {
        name: lambda table=table: lda("y ~ .", data=table) for name, table in tables.items()
    }
    times = median_seconds(runs, 2 * repeat)
    task = f"LDA fit {n:,} x {p} x {k}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in times.items()), sep=": ")
    bars = {"gaps": 2, "categories": 2, "text": 2, "labels as text": 1.2}
    for name, bar in bars.items():
        report_figure(task, f"{name}, divided by the numeric table", times[name] / times["plain"], bar)


def compare_parquet(n: int, folder_option: Path | None, repeat: int) -> None:
    """Compare LDA of Parquet files, with and without text and missing values, with reading the columns."""
    from tests.benchmarks.scale.made import write_mixed_table, write_table
    from tests.benchmarks.scale.tables import K, P

    with folder_for(folder_option) as folder:
        for title, path, bar in (
            ("numbers", write_table(folder, n, P, K), 1.6),
            ("numbers, text and gaps", write_mixed_table(folder, n, P, K), 1.6),
        ):
            times = run_in_turns(["base-pyarrow", "lda"], path, repeat)
            print_figures(f"{n:,} x {P}, {title}", times)
            ratio = times["lda"]["seconds"] / times["base-pyarrow"]["seconds"]
            report_figure(f"Parquet {n:,} x {P}", f"{title}: lda divided by a bare pass", ratio, bar)


def tasks(divisor: int, repeat: int, rows: int = 8_000_000, folder: Path | None = None) -> dict[str, Run]:
    """Return the tasks by name; Parquet files of `rows` rows are kept in `folder` if it is given."""
    return {
        "real-memory": lambda: compare_in_memory(400_000 // divisor, 24, 5, repeat),
        "real-parquet": lambda: compare_parquet(rows // divisor, folder, max(repeat // 2, 1)),
    }
