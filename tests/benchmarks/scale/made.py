"""The tables, written part by part."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE_ROWS, GROUP_ROWS = 4_000_000, 500_000


GROUPS, GAPS = np.array(["north", "south", "east", "west"]), 0.001
"""Texts of a predictor, and the share of the rows that miss a value."""


def made_mixed(folder: Path, n: int, p: int, k: int) -> Path:
    """As `made_folder`, with a predictor of text in the place of the last one, and gaps in the first."""
    return made_folder(folder, n, p, k, mixed=True)


def made_folder(folder: Path, n: int, p: int, k: int, *, mixed: bool = False) -> Path:
    """A folder of Parquet of n rows, p columns and a class of k as text; as it is where it is there."""
    path = folder / f"{n}x{p}x{k}{'mixed' if mixed else ''}"
    if path.is_dir():
        return path
    being_made = path.with_suffix(".part")
    being_made.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20261122)
    mixing = np.eye(p) + rng.standard_normal((p, p)) / (2 * np.sqrt(p))
    means = 0.3 * rng.standard_normal((k, p))
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        _write(being_made / f"{number:03}.parquet", min(FILE_ROWS, n - start), mixing, means, rng, mixed)
    return being_made.rename(path)


def _write(
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
                columns[0] = pa.array(x[:, 0], mask=rng.random(m) < GAPS)
                columns[-2] = pa.array(GROUPS[rng.integers(0, len(GROUPS), m)])
            writer.write_table(pa.table(columns, schema=schema))
