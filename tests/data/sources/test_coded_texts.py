"""Texts that a Parquet file holds as codes are read as codes, and nobody notices."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from discrim import lda
from discrim.data.sources.sources import source_of
from discrim.data.table import Table

LONG = 2**15
"""Rows of a group that are enough for its texts to be read as codes."""

NROWS = 3 * LONG


def a_frame() -> pd.DataFrame:
    rng = np.random.default_rng(16)
    frame = pd.DataFrame(rng.normal(size=(NROWS, 2)), columns=["a", "b"])
    # The groups of rows below have other texts each, and in another order.
    first, later = rng.choice(["u", "v"], NROWS), rng.choice(["w", "", "u"], NROWS)
    frame["y"] = np.where(np.arange(NROWS) < LONG, first, later)
    frame["t"] = rng.choice(["one", "two"], NROWS)
    frame.loc[::7, "y"] = None
    return frame


def written(frame: pd.DataFrame, path, *, large: bool = False, rows: int = LONG) -> str:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    text = pa.large_string() if large else pa.string()
    types = {"a": pa.float64(), "b": pa.float64(), "y": text, "t": text}
    schema = pa.schema([(name, types[name]) for name in frame.columns])
    pq.write_table(table.cast(schema), path, row_group_size=rows)
    return str(path)


@pytest.mark.parametrize("of", ["path", "dataset"])
def test_few_distinct_texts_are_read_as_codes(of, tmp_path):
    frame = a_frame().assign(t=[f"row {i} and more text" for i in range(NROWS)])
    path = written(frame, tmp_path / "x.parquet")
    parts = [
        part for part in source_of(ds.dataset(path) if of == "dataset" else path).chunks() if len(part.data)
    ]
    assert {part.coded_columns for part in parts} == {("y",)}
    assert all(pa.types.is_dictionary(part.data.schema.field("y").type) for part in parts)


def test_texts_of_short_row_groups_are_not_read_as_codes(tmp_path):
    parts = list(source_of(written(a_frame(), tmp_path / "x.parquet", rows=LONG - 1)).chunks())
    assert {part.coded_columns for part in parts} == {()}


@pytest.mark.parametrize("copied", [False, True])
def test_coded_columns_are_text_columns(copied):
    texts = ["u", None, "", "u"]
    data = pa.table({"y": pa.array(texts).dictionary_encode(), "a": [1.0, 2.0, 3.0, 4.0]})
    table = Table(data, coded_columns=["y"])
    if copied:
        table = pickle.loads(pickle.dumps(table))
    plain = Table(pa.table({"y": pa.array(texts), "a": [1.0, 2.0, 3.0, 4.0]}))
    assert table.column_type("y") == plain.column_type("y") == "text"
    assert table.column_type("a") == "numeric"
    assert table.dtype("y") is plain.dtype("y") is None
    pd.testing.assert_series_equal(table.column("y", 1, 4), plain.column("y", 1, 4))
    codes, words = table.factorized("y")
    assert [None if code < 0 else words[code] for code in codes] == texts


@pytest.mark.parametrize(
    ("formula", "large"), [("y ~ a + b", False), ("y ~ a + t", True), ("y ~ a + C(t, Sum)", False)]
)
def test_fits_to_coded_and_plain_text_are_equal(formula, large, tmp_path):
    frame = a_frame()
    coded = lda(formula, data=written(frame, tmp_path / "x.parquet", large=large), na_action="drop")
    short = written(frame, tmp_path / "short.parquet", large=large, rows=LONG // 2)
    plain = lda(formula, data=short, na_action="drop")
    assert coded.classes.tolist() == plain.classes.tolist() == ["", "u", "v", "w"]
    # Batches end elsewhere.
    np.testing.assert_allclose(coded.coef, plain.coef, rtol=1e-11, atol=1e-13)
