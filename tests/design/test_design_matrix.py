"""Blocks of mixed tables, beside each row by itself and by pandas."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discrim import lda
from discrim.data.table import Table
from discrim.design.design_rows import _RowBuffer
from discrim.design.levels import level_design
from discrim.design.matrix import DesignMatrix
from discrim.errors import DataError
from tests.support import resolve_formula

WORDS = np.array(["north", "south", "east"])
FORMULAS = [
    "y ~ .",
    "y ~ a + g + b",
    "y ~ g + h + g:h",
    "y ~ a:g + b:a",
    "y ~ a*g*h",
    "y ~ C(g, Sum) + flag + n",
    "y ~ log(a + 9) + g + b",
    "y ~ bs(b, df=4) + a:h + g",
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(33)
    n = 90
    table = pd.DataFrame(
        {
            "a": rng.standard_normal(n),
            "g": pd.Series(WORDS[rng.integers(0, 3, n)], dtype="str"),
            "b": rng.standard_normal(n).astype(np.float32),
            "h": pd.Categorical.from_codes(rng.integers(0, 2, n), categories=["v", "u"]),
            "n": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "y": WORDS[rng.integers(0, 2, n)].astype(object),
        }
    )
    for name in ("a", "g", "b", "h"):
        table.loc[rng.random(n) < 0.07, name] = np.nan
    return table


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("kind", ["pandas", "objects", "polars", "arrow"])
def test_blocks_equal_single_rows(formula, kind, data):
    design, _ = resolve_formula(formula, Table(data))
    other = {
        "pandas": lambda: data,
        "objects": lambda: data.astype({"g": object}),
        "polars": lambda: pl.from_pandas(data),
        "arrow": lambda: pa.Table.from_pandas(data),
    }[kind]()
    block, rows = (
        np.empty((len(data), len(design.terms)), order="F"),
        np.empty((len(data), len(design.terms))),
    )
    missing = DesignMatrix(design, Table(other)).fill(0, len(data), block)
    alone = DesignMatrix(design, Table(data))
    for i in range(len(data)):
        alone.fill(i, i + 1, rows[i : i + 1])
    np.testing.assert_array_equal(block, rows)
    lacks = data[list(design.columns)].isna().any(axis=1).to_numpy()
    np.testing.assert_array_equal(missing, lacks)
    assert np.isnan(block[lacks]).all()
    assert np.isfinite(block[~lacks]).all()


def test_columns_equal_pandas(data):
    design, _ = resolve_formula("y ~ a + g + a:h", Table(data))
    out = np.empty((len(data), len(design.terms)))
    DesignMatrix(design, Table(data), partial=True).fill(0, len(data), out)
    expected = {"a": data["a"]}
    for level in ("north", "south"):
        expected[f"g[T.{level}]"] = (data["g"] == level).astype(float).where(data["g"].notna())
    for level in ("u", "v"):
        own = data["a"] * (data["h"].astype(object) == level)
        expected[f"a:h[T.{level}]"] = own.where(data["h"].notna() & data["a"].notna())
    for j, term in enumerate(design.terms):
        np.testing.assert_array_equal(out[:, j], expected[term], err_msg=term)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("a", np.inf, r"Column 'a' is inf at row 41: infinite values are not allowed"),
        ("g", "west", r"The predictor 'g' is 'west' at row 41, .* its levels 'east', 'north', 'south'"),
        ("b", -np.inf, r"Column 'b' is -inf at row 41"),
    ],
)
def test_invalid_values_in_complete_rows_raise(column, value, message, data):
    design, _ = resolve_formula("y ~ a + g + b + h", Table(data))
    odd = data.copy()
    odd.loc[41, ["a", "g", "b", "h"]] = [0.5, "north", 0.5, "u"]
    odd.loc[41, column] = value
    out = np.empty((len(data), len(design.terms)))
    with pytest.raises(DataError, match=message):
        DesignMatrix(design, Table(odd)).fill(0, len(data), out)
    # A row that misses another value is left out whatever it holds.
    odd.loc[41, "h"] = np.nan
    missing = DesignMatrix(design, Table(odd)).fill(0, len(data), out)
    assert missing[41]
    with pytest.raises(DataError, match=message):
        DesignMatrix(design, Table(odd), partial=True).fill(0, len(data), out)


def test_a_product_of_columns_that_overflows_is_refused(data):
    design, _ = resolve_formula("y ~ a:n + g", Table(data))
    odd = data.assign(a=data["a"].where(data.index != 5, 1e308), n=data["n"].where(data.index != 5, 10))
    odd.loc[5, "g"] = "east"
    with pytest.raises(DataError) as caught:
        DesignMatrix(design, Table(odd)).fill(0, len(data), np.empty((len(data), len(design.terms))))
    assert caught.value.rows == (5,)


def test_unseen_level_of_a_constant_factor_has_no_code(data):
    design = level_design(resolve_formula("y ~ a + g", Table(data.assign(g="north")))[0])
    table, out = Table(data.assign(a=1.0, g=["west", *["north"] * (len(data) - 1)])), np.empty((len(data), 2))
    missing = DesignMatrix(design, table, partial=True, unseen=True).fill(0, len(data), out)
    assert missing[0]
    assert not missing[1:].any()
    np.testing.assert_array_equal(out[0], [1.0, np.nan])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_row_buffer_selects_like_a_mask(share):
    rng = np.random.default_rng(int(100 * share))
    room = _RowBuffer()
    for m in (1, 200, 64, 300):
        columns, kept = rng.standard_normal((5, m)), rng.random(m) >= share
        np.testing.assert_array_equal(room.select(columns, kept), columns[:, kept])


def test_text_of_any_kind_gives_the_same_fit(data):
    whole = data.dropna()
    expected = lda("y ~ a + g + n", whole)
    for other in (
        whole.astype({"g": object}),
        whole.astype({"g": "category"}),
        whole.astype({"g": pd.StringDtype("python"), "y": "str"}),
        whole.astype({"y": pd.ArrowDtype(pa.string())}),
        pl.from_pandas(whole),
    ):
        fit = lda("y ~ a + g + n", other)
        np.testing.assert_array_equal(fit.coef, expected.coef)
        assert list(fit.classes) == list(expected.classes)
