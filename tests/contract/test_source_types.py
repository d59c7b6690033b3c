"""Fits do not depend on the type of the source, and classes keep their labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discrim
from tests.data.sources.test_sources import KINDS, ONCE


def frame(nrows: int = 90) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"x": rng.normal(size=nrows), "z": rng.normal(size=nrows)})
    data["whole"] = rng.integers(1, 4, nrows)
    data["text"] = np.array(["b", "é", "a"])[rng.integers(0, 3, nrows)]
    data["kind"] = pd.Categorical(rng.choice(["u", "v"], nrows), categories=["v", "w", "u"])
    data["yes"] = rng.random(nrows) < 0.4
    data.loc[3, "x"], data.loc[5, "text"] = np.nan, None
    data["x"] += data["whole"] + data["yes"]
    return data


FORMULAS = ("whole ~ x + z + text", "text ~ x + kind", "kind ~ x + yes + C(whole)", "yes ~ .")
AGAIN = {kind: make for kind, make in KINDS.items() if kind not in ("dataset in memory", *ONCE)}


def in_memory(kind: str, data: pd.DataFrame, source: Any) -> Any:
    """The table that the rows are as their library has it, which may know no order of categories."""
    if "polars" in kind or "LazyFrame" in kind:
        return pl.from_pandas(data)
    if kind == "relation":
        return source.to_arrow_table()
    return data.astype({"kind": str}) if "CSV" in kind or "TSV" in kind else data


def assert_agrees_with_table(formula: str, table: Any, source: Any) -> None:
    memory, fit = discrim.lda(formula, table), discrim.lda(formula, source)
    assert fit.classes.tolist() == memory.classes.tolist()
    assert [type(label) for label in fit.classes] == [type(label) for label in memory.classes]
    assert fit.terms.tolist() == memory.terms.tolist()
    assert fit.nobs == memory.nobs
    np.testing.assert_allclose(fit.coef, memory.coef, rtol=1e-11, atol=1e-11)
    # In the library of the table, of which list() makes the same.
    assert [*map(str, fit.predict(table))] == [*map(str, memory.predict(table))]


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@pytest.mark.parametrize("kind", AGAIN)
def test_fit_of_any_source_equals_fit_of_the_table(kind, tmp_path):
    data = frame()
    source, turn = AGAIN[kind](data, tmp_path), list(AGAIN).index(kind)
    table = in_memory(kind, data, source)
    assert_agrees_with_table(FORMULAS[turn % 4], table, source)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@pytest.mark.parametrize("kind", AGAIN)
def test_fit_of_any_source_equals_fit_of_the_table_for_any_formula(kind, tmp_path):
    data = frame()
    source = AGAIN[kind](data, tmp_path)
    for formula in FORMULAS:
        assert_agrees_with_table(formula, in_memory(kind, data, source), source)


@pytest.mark.parametrize("kind", sorted(ONCE))
def test_formula_without_learnt_transforms_needs_a_single_pass(kind, tmp_path):
    data = frame()
    source = KINDS[kind](data, tmp_path)
    memory = discrim.lda("text ~ x + z", data)
    fit = discrim.lda("text ~ x + z", source, levels=["a", "b", "é"])
    np.testing.assert_allclose(fit.coef, memory.coef, rtol=1e-11, atol=1e-11)
