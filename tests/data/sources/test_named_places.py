"""Errors name the row and the file at fault, whatever the rows are read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discrim
from discrim.errors import DataError

ROWS = 90


def part(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "u": rng.normal(size=ROWS),
            "v": rng.normal(size=ROWS),
            "kind": rng.choice(["even", "odd"], ROWS),
            "y": rng.choice(["ill", "well"], ROWS),
        }
    )


PARTS = [part(seed) for seed in (1, 2, 3)]
PARTS[1].loc[37, "y"] = "dead"
AT = ROWS + 37
WHOLE = pd.concat(PARTS, ignore_index=True)


def frames() -> Iterator[pd.DataFrame]:
    return iter(PARTS)


def folder_of(path: Path, kind: str) -> str:
    for i, each in enumerate(PARTS):
        each.to_csv(path / f"{i}.csv", index=False) if kind == "csv" else each.to_parquet(
            path / f"{i}.parquet"
        )
    return f"{path}/*.{kind}"


@pytest.mark.parametrize("formula", ["y ~ u + v", "y ~ u + kind", "y ~ u + center(v)", "y ~ C(kind)"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "frames", "memory", "polars"])
def test_unknown_labels_are_named_with_row_and_file(formula, kind, tmp_path):
    data: Any = {"frames": frames, "memory": WHOLE, "polars": pl.from_pandas(WHOLE)}.get(kind)
    data = folder_of(tmp_path, kind) if data is None else data
    verbs: list[Callable[..., Any]] = [discrim.lda, discrim.naive_bayes, discrim.moments]
    for verb in verbs[: 1 if "C(" in formula else 3]:
        with pytest.raises(DataError) as caught:
            verb(formula, data, levels=["ill", "well"])
        assert caught.value.rows == (127,)
        if kind in ("csv", "parquet"):
            assert caught.value.message.endswith(f"1.{kind}'.")


def test_messages_list_the_levels_of_the_fit(tmp_path):
    path = folder_of(tmp_path, "csv")
    fit = discrim.lda("y ~ u + kind", path, levels=["well", "dead", "ill"])
    whole = discrim.lda("y ~ u + kind", WHOLE, levels=["well", "dead", "ill"])
    assert fit.classes.tolist() == ["well", "dead", "ill"]
    np.testing.assert_allclose(fit.predict_proba(WHOLE), whole.predict_proba(WHOLE), rtol=1e-12)


def spoilt(*rows: int, as_text: str = "n/k") -> pd.DataFrame:
    table = PARTS[0].astype({"u": object})
    table.loc[list(rows), "u"] = as_text
    return table


@pytest.mark.parametrize("kind", ["csv", "parquet", "memory", "polars", "frames"])
def test_single_invalid_cells_of_new_rows_are_named(kind, tmp_path):
    fit, table = discrim.lda("y ~ u + v", WHOLE), spoilt(61)
    if kind == "csv":
        data: Any = tmp_path / "new.csv"
        table.to_csv(data, index=False)
    elif kind == "parquet":
        data = tmp_path / "new.parquet"
        table.astype({"u": str}).to_parquet(data)
    elif kind == "polars":
        data = pl.from_pandas(table.astype({"u": str}))
    else:
        data = table if kind == "memory" else lambda: iter([table])
    for ask in (fit.predict, fit.predict_proba, fit.confusion):
        with pytest.raises(DataError) as caught:
            list(ask(data))
        assert "'u'" in str(caught.value)
        assert "'n/k'" in str(caught.value)
        assert ("new." in str(caught.value)) == (kind in ("csv", "parquet"))


def test_other_invalid_cells_are_counted_and_the_hint_applies():
    fit = discrim.lda("y ~ u + v", WHOLE)
    with pytest.raises(DataError) as caught:
        fit.predict(spoilt(4, 9, 80))
    assert "'n/k'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.predict(PARTS[0].assign(u="x"))
    assert "'x'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.predict(PARTS[0].assign(u="1.5"))
    assert "'1.5'" in str(caught.value)
    indexed = spoilt(61).set_index(pd.Index([f"patient {i}" for i in range(ROWS)]))
    with pytest.raises(DataError) as caught:
        fit.predict(indexed)
    assert "'patient 61'" in str(caught.value)
    assert "'n/k'" in str(caught.value)
