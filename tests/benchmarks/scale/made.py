"""The tables, written part by part."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE_ROWS, GROUP_ROWS = 4_000_000, 500_000


def made_folder(folder: Path, n: int, p: int, k: int) -> Path:
    """A folder of Parquet of n rows, p columns and a class of k as text; as it is where it is there."""
    path = folder / f"{n}x{p}x{k}"
    if path.is_dir():
        return path
    being_made = path.with_suffix(".part")
    being_made.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20261122)
    mixing = np.eye(p) + rng.standard_normal((p, p)) / (2 * np.sqrt(p))
    means = 0.3 * rng.standard_normal((k, p))
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        _write(being_made / f"{number:03}.parquet", min(FILE_ROWS, n - start), mixing, means, rng)
    return being_made.rename(path)


def _write(path: Path, rows: int, mixing: np.ndarray, means: np.ndarray, rng: np.random.Generator) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = np.array([f"class {i}" for i in range(len(means))])
    names = [f"x{j}" for j in range(len(mixing))]
    schema = pa.schema([*((name, pa.float64()) for name in names), ("y", pa.string())])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=["y"]) as writer:
        for start in range(0, rows, GROUP_ROWS):
            m = min(GROUP_ROWS, rows - start)
            codes = rng.integers(0, len(means), m)
            x = rng.standard_normal((m, len(mixing))) @ mixing + means[codes]
            columns = [*(pa.array(x[:, j]) for j in range(len(names))), pa.array(labels[codes])]
            writer.write_table(pa.table(columns, schema=schema))
