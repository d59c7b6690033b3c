"""Write the simulated Parquet tables chunk by chunk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE_ROWS, GROUP_ROWS = 4_000_000, 500_000


TEXT_VALUES, MISSING_SHARE = np.array(["north", "south", "east", "west"]), 0.001
"""Values of a text predictor, and the proportion of rows with a missing value."""


def write_mixed_table(folder: Path, n: int, p: int, k: int) -> Path:
    """Write a table as `write_table` does, but with text in the last predictor and gaps in the first."""
    return write_table(folder, n, p, k, mixed=True)


def write_table(folder: Path, n: int, p: int, k: int, *, mixed: bool = False) -> Path:
    """Write a folder of Parquet files with n rows, p columns and k classes as text, unless it exists."""
    path = folder / f"{n}x{p}x{k}{'mixed' if mixed else ''}"
    if path.is_dir():
        return path
    unfinished = path.with_suffix(".part")
    unfinished.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20261122)
    mixing = np.eye(p) + rng.standard_normal((p, p)) / (2 * np.sqrt(p))
    means = 0.3 * rng.standard_normal((k, p))
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        _write_file(unfinished / f"{number:03}.parquet", min(FILE_ROWS, n - start), mixing, means, rng, mixed)
    return unfinished.rename(path)


def _write_file(
    path: Path, rows: int, mixing: np.ndarray, means: np.ndarray, rng: np.random.Generator, mixed: bool
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = np.array([f"class {i}" for i in range(len(means))])
    names = [f"x{j}" for j in range(len(mixing))]
    types = dict.fromkeys(names, pa.float64()) | ({names[-1]: pa.string()} if mixed else {})
    schema = pa.schema([*types.items(), ("y", pa.string())])
    texts = ["y", *names[-1:]] if mixed else ["y"]
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=texts) as writer:
        for start in range(0, rows, GROUP_ROWS):
            m = min(GROUP_ROWS, rows - start)
            codes = rng.integers(0, len(means), m)
            x = rng.standard_normal((m, len(mixing))) @ mixing + means[codes]
            columns = [*(pa.array(x[:, j]) for j in range(len(names))), pa.array(labels[codes])]
            if mixed:
                columns[0] = pa.array(x[:, 0], mask=rng.random(m) < MISSING_SHARE)
                columns[-2] = pa.array(TEXT_VALUES[rng.integers(0, len(TEXT_VALUES), m)])
            writer.write_table(pa.table(columns, schema=schema))
