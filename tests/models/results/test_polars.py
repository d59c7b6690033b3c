"""Answers for the rows of a table of polars are in polars, with the same numbers as in pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_penguins

pl = pytest.importorskip("polars")

PENGUINS = load_penguins()
TABLE = pl.from_dict(
    {name: PENGUINS[name].astype(object).where(PENGUINS[name].notna(), None).tolist() for name in PENGUINS}
)
FIT = discrim.lda("species ~ bill_length_mm + island", TABLE)


def test_polars_predictions_equal_pandas():
    labels, proportions = FIT.predict(TABLE), FIT.predict_proba(TABLE)
    theirs = FIT.predict(PENGUINS)
    assert isinstance(labels, pl.Series)
    assert labels.name == "species"
    assert labels.dtype == pl.String
    assert labels.to_list() == [
        None if missing else label for label, missing in zip(theirs, theirs.isna(), strict=True)
    ]
    assert proportions.columns == ["Adelie", "Chinstrap", "Gentoo"]
    np.testing.assert_array_equal(proportions.to_numpy(), FIT.predict_proba(PENGUINS))
    assert proportions.null_count().row(0) == (2, 2, 2)
    for method in ("predict_log_proba", "decision_function"):
        assert isinstance(getattr(FIT, method)(TABLE), pl.DataFrame)


def test_the_table_itself_comes_back_as_it_was():
    dated = TABLE.with_columns(day=pl.date(2024, 1, 1), of=pl.lit(None, pl.Int16), many=pl.lit([1, 2]))
    table = FIT.augment(dated)
    assert table.select(dated.columns).equals(dated)
    assert table.select(dated.columns).schema == dated.schema
    assert table.columns[dated.width :] == [".fitted", *(f".posterior.{label}" for label in FIT.classes)]
    assert table[".fitted"].equals(FIT.predict(TABLE).alias(".fitted"))


@pytest.mark.parametrize(
    ("levels", "dtype"),
    [([1, 2], pl.Int64), ([True, False], pl.Boolean), (["b", "a"], pl.Enum(["b", "a"]))],
)
def test_labels_keep_their_dtype(levels, dtype):
    data = pl.DataFrame({"y": pl.Series(levels * 10, dtype=dtype), "x": np.arange(20.0) % 7})
    fit = discrim.lda("y ~ x", data)
    labels = fit.predict(pl.DataFrame({"x": [0.0, None]}))
    assert labels.dtype == dtype
    assert labels[0] in levels
    assert labels[1] is None


def test_other_tables_are_pandas():
    for made in (
        FIT.predict(),
        FIT.predict(PENGUINS),
        FIT.confusion(TABLE),
        FIT.typicality(TABLE),
        FIT.tidy(),
    ):
        assert isinstance(made, pd.Series | pd.DataFrame)
    chunks = FIT.predict(lambda: iter([TABLE]))
    assert all(isinstance(chunk, pd.DataFrame) for chunk in chunks)
