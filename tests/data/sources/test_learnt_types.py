"""Labels that are whole numbers, truth values or decimals are the same of a source as of a table."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from discrim import lda
from discrim.errors import DataError, FormulaError
from tests.support import is_older_than

LABELS = {
    "whole": [1, 2, 2**60 + 1],
    "years": [2007, 2008, 10],
    "decimals": [Decimal("1.5"), Decimal("2.25")],
    "truth": [True, False],
    "text": ["007", "7", "10"],
}


@pytest.fixture(params=[False, True], ids=["whole", "with holes"])
def table(request) -> pa.Table:
    rng = np.random.default_rng(0)
    columns = {"x": pa.array(rng.normal(size=90))}
    for name, labels in LABELS.items():
        values = [labels[code] for code in rng.integers(0, len(labels), 90)]
        for row in (3, 4, 50) if request.param else ():
            values[row] = None
        columns[name] = pa.array(values)
    return pa.table(columns)


SOURCES = {
    "dataset": ds.dataset,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "function": lambda table: lambda: iter([table[:30], table[30:31], table[31:]]),
}


@pytest.mark.parametrize("made", SOURCES)
@pytest.mark.parametrize("name", LABELS)
def test_sources_have_the_classes_and_categories_of_the_table(table, name, made):
    for formula in (f"{name} ~ x", f"C(years) ~ x + C({name})"):
        if formula.count("years") > 1:
            continue
        memory, source = lda(formula, table), lda(formula, SOURCES[made](table))
        assert source.terms.tolist() == memory.terms.tolist()
        assert source.classes.tolist() == memory.classes.tolist()
        assert source.classes.dtype == memory.classes.dtype
        assert list(map(type, source.classes)) == list(map(type, memory.classes))
        found, expected = source.predict(table), memory.predict(table)
        assert found.dtype == expected.dtype
        assert found.equals(expected)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zip"])
def test_nul_characters_raise(tmp_path, suffix):
    path = tmp_path / f"table.csv{suffix}"
    pd.DataFrame({"x": ["1", "5\x001", "7"], "g": ["a", "b", "a"]}).to_csv(path, index=False)
    # From 3.1 on pandas reads it as the text that it is.
    says = r"Line 3 of .* holds a NUL" if is_older_than(pd, 3, 1) else r"row 1, '5.*x001', is text and not"
    with pytest.raises(DataError, match=says):
        lda("g ~ x", str(path))


def test_a_column_of_free_text_is_an_error_before_the_source_is_read():
    n, chunks = 30_000, []

    def read():
        for start in range(0, 50 * n, n):
            chunks.append(start)
            text = [f"r{row}" for row in range(start, start + n)]
            yield pd.DataFrame({"y": np.tile(["a", "b"], n // 2), "x": np.arange(n), "text": text})

    with pytest.raises(FormulaError) as caught:
        lda("y ~ .", read)
    assert caught.value.columns == ("text",)
    assert len(chunks) <= 4


@pytest.mark.parametrize("made", SOURCES)
def test_almost_as_many_texts_as_rows_are_an_error_in_a_source(made):
    table = pa.table({"y": ["a", "b"] * 600, "x": range(1200), "text": [f"r{i % 1100}" for i in range(1200)]})
    table = table.select(["y", "x", "text"])
    with pytest.raises(FormulaError) as caught:
        lda("y ~ .", SOURCES[made](table))
    assert caught.value.columns == ("text",)
    assert lda("y ~ . - text", SOURCES[made](table)).terms.tolist() == ["x"]
