"""Tables as people have them, beside plain ones of the same numbers: categories, text and gaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tests.benchmarks.scale.tables import folder_for, in_turns, told
from tests.benchmarks.timing import Run, medians, row

REGIONS = np.array(["north", "south", "east", "west"])

MISSING = 0.001
"""Share of the rows that miss a value in one column."""


def frames(n: int, p: int, k: int) -> dict[str, pd.DataFrame]:
    """A table of p columns of numbers, and others in which one is of categories or text, or has gaps."""
    rng = np.random.default_rng(20261125)
    codes = rng.integers(0, k, n)
    x = np.asfortranarray(rng.standard_normal((n, p)) + rng.standard_normal((k, p))[codes])
    plain = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)])
    labels = np.array([f"class {i}" for i in range(k)])
    plain["y"] = pd.Categorical.from_codes(codes, categories=list(labels))
    region, holed = rng.integers(0, len(REGIONS), n), plain.copy()
    holed.loc[rng.random(n) < MISSING, "x3"] = np.nan
    last = f"x{p - 1}"
    categories = pd.Categorical.from_codes(region, categories=list(REGIONS))
    return {
        "plain": plain,
        "gaps": holed,
        "categories": holed.assign(**{last: categories}),
        "text": holed.assign(**{last: pd.Series(REGIONS[region], dtype="str")}),
        "labels as text": plain.assign(y=pd.Series(labels[codes], dtype="str")),
    }


def in_memory(n: int, p: int, k: int, repeat: int) -> None:
    """LDA of each table over that of numbers alone, whose classes are categories."""
    from discrim import lda

    tables = frames(n, p, k)
    runs: dict[str, Run] = {
        name: lambda table=table: lda("y ~ .", data=table) for name, table in tables.items()
    }
    taken = medians(runs, 2 * repeat)
    task = f"LDA fit {n:,} x {p} x {k}"
    print(task, " ".join(f"{name} {seconds:.3f} s" for name, seconds in taken.items()), sep=": ")
    bars = {"gaps": 2, "categories": 2, "text": 2, "labels as text": 1.2}
    for name, bar in bars.items():
        row(task, f"{name}, over the same table plain", taken[name] / taken["plain"], bar)


def out_of_core(n: int, given: Path | None, repeat: int) -> None:
    """LDA from Parquet of numbers, and of numbers, a text and gaps, over a bare pass of the same columns."""
    from tests.benchmarks.scale.made import made_folder, made_mixed
    from tests.benchmarks.scale.tables import K, P

    with folder_for(given) as folder:
        for title, path, bar in (
            ("numbers", made_folder(folder, n, P, K), 1.6),
            ("numbers, text and gaps", made_mixed(folder, n, P, K), 1.6),
        ):
            taken = in_turns(["base-pyarrow", "lda"], path, repeat)
            told(f"{n:,} x {P}, {title}", taken)
            ratio = taken["lda"]["seconds"] / taken["base-pyarrow"]["seconds"]
            row(f"Parquet {n:,} x {P}", f"{title}: lda over a bare pass", ratio, bar)


def tasks(part: int, repeat: int, rows: int = 8_000_000, folder: Path | None = None) -> dict[str, Run]:
    """The runs of this module by name; the Parquet of so many rows may be kept in a folder."""
    return {
        "real-memory": lambda: in_memory(400_000 // part, 24, 5, repeat),
        "real-parquet": lambda: out_of_core(rows // part, folder, max(repeat // 2, 1)),
    }
