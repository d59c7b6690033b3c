"""A column in which every value is missing is read as missing values of the kind that the fit expects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discrim
from discrim.cli import main
from discrim.errors import DataError
from discrim.sklearn import FormulaClassifier

RNG = np.random.default_rng(16)
N = 120
DATA = pd.DataFrame(
    {
        "y": np.tile(list("abc"), N // 3),
        "x": RNG.normal(size=N) + np.tile([0.0, 1.0, 2.0], N // 3),
        "u": RNG.normal(size=N) + np.tile([0.0, 1.5, 0.0], N // 3),
        "c": RNG.choice(list("pqr"), N),
        "b": RNG.random(N) < 0.5,
        "w": np.ones(N),
    }
)


def columns_of(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: table[name].tolist() for name in table}


def in_pandas(dtype: Any, value: Any = None) -> Callable[[pd.DataFrame, str], pd.DataFrame]:
    return lambda table, name: table.assign(**{name: pd.Series([value] * len(table), table.index, dtype)})


def in_polars(dtype: Any) -> Callable[[pd.DataFrame, str], pl.DataFrame]:
    return lambda table, name: pl.DataFrame(
        columns_of(table) | {name: pl.Series([None] * len(table), dtype=dtype)}
    )


def in_arrow(dtype: Any) -> Callable[[pd.DataFrame, str], pa.Table]:
    return lambda table, name: pa.table(columns_of(table) | {name: pa.nulls(len(table), dtype)})


NULLS: dict[str, Callable[[pd.DataFrame, str], Any]] = {
    "None": in_pandas(object),
    "pd.NA": in_pandas(object, pd.NA),
    "pandas text": in_pandas("string"),
    "pandas category": in_pandas("category"),
    "pandas boolean": in_pandas("boolean"),
    "pandas Float64": in_pandas("Float64"),
    "pandas times": in_pandas("datetime64[ns]"),
    "pandas Arrow null": in_pandas(pd.ArrowDtype(pa.null())),
    "dict": lambda table, name: columns_of(table) | {name: [None] * len(table)},
    "polars Null": in_polars(pl.Null),
    "polars text": in_polars(pl.String),
    "polars category": in_polars(pl.Categorical),
    "Arrow null": in_arrow(pa.null()),
    "Arrow text": in_arrow(pa.string()),
    "Arrow batch": lambda table, name: in_arrow(pa.null())(table, name).to_batches()[0],
}

PREDICTORS = [
    ("y ~ x + u", "x"),
    ("y ~ log(x + 9) + x:u", "x"),
    ("y ~ x + c", "c"),
    ("y ~ x + c", "x"),
    ("y ~ x + b", "b"),
]

ANSWERS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": lambda fit, data: fit.predict(data),
    "predict_proba": lambda fit, data: fit.predict_proba(data),
    "integrated": lambda fit, data: fit.predict_proba(data, missing="integrate"),
    "decision_function": lambda fit, data: fit.decision_function(data),
    "transform": lambda fit, data: fit.transform(data),
    "typicality": lambda fit, data: fit.typicality(data),
    "predict_set": lambda fit, data: fit.predict_set(data, missing="integrate"),
    "error_rates": lambda fit, data: fit.error_rates(data=data, missing="integrate"),
}


@cache
def fitted(formula: str) -> discrim.LDAResults:
    """Return one fit for all tests of a formula."""
    return discrim.lda(formula, DATA)


def values_of(answer: Any) -> list[list[Any]]:
    frame = answer.to_pandas() if hasattr(answer, "to_pandas") else answer
    frame = pd.DataFrame(frame).astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()


@pytest.mark.parametrize(("formula", "name"), PREDICTORS)
@pytest.mark.parametrize("null", NULLS)
def test_null_predictors_are_predicted_like_nan(null, formula, name):
    """Every kind of null with every predictor, and with every method by turns."""
    fit = fitted(formula)
    batch = DATA.iloc[:1]
    expected = batch.assign(**{name: np.nan})
    turn = list(NULLS).index(null) + PREDICTORS.index((formula, name))
    for ask in list(ANSWERS.values())[turn % 2 :: 2]:
        assert values_of(ask(fit, NULLS[null](batch, name))) == values_of(ask(fit, expected))


@pytest.mark.parametrize("verb", ["naive_bayes", "qda", "logistic", "knn", "kernel_density", "plda"])
@pytest.mark.parametrize("null", ["None", "pd.NA", "polars Null", "Arrow null"])
def test_every_model_predicts_rows_with_a_null_column(verb, null):
    fit = getattr(discrim, verb)("y ~ x + u", DATA)
    batch = DATA.iloc[:2]
    found = fit.predict_proba(NULLS[null](batch, "x"))
    assert values_of(found) == values_of(fit.predict_proba(batch.assign(x=np.nan)))


@pytest.mark.parametrize("null", NULLS)
def test_labels_that_are_all_missing_are_not_needed_to_predict(null):
    fit = fitted("y ~ x + u")
    batch = DATA.iloc[:3]
    data = NULLS[null](batch, "y")
    assert values_of(fit.predict_proba(data)) == values_of(fit.predict_proba(batch.drop(columns="y")))
    with pytest.raises(DataError) as caught:
        fit.error_rates(data=data)
    assert "class" in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "name"), [*PREDICTORS, ("y ~ x + u", "y"), ("y ~ x + u", "w"), ("y ~ . - w", "x")]
)
@pytest.mark.parametrize("null", NULLS)
def test_a_fit_to_a_column_without_values_names_the_column(null, formula, name):
    with pytest.raises(DataError) as caught:
        discrim.lda(formula, NULLS[null](DATA, name), weights="w")
    assert f"'{name}'" in str(caught.value)
    assert "numeric" not in str(caught.value)
    assert "neither numbers nor" not in str(caught.value)


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan])
@pytest.mark.parametrize("name", ["x", "b", "w"])
@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_numeric_object_columns_with_missing_values_are_numeric(name, missing):
    lost = np.arange(N) < 7
    values = DATA[name].astype(object).where(~lost, missing)
    fit = discrim.lda("y ~ x + u + b", DATA.assign(**{name: values}), weights="w")
    expected = discrim.lda("y ~ x + u + b", DATA[~lost], weights="w")
    assert fit.nobs == N - 7
    np.testing.assert_allclose(fit.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(fit.cov, expected.cov, rtol=1e-12)


def frames_of(kind: str, name: str, lost: int) -> Callable[[], Any]:
    """Make the table in three parts, of which one lacks all values of a column."""
    parts = [DATA.iloc[start : start + 40].reset_index(drop=True) for start in (0, 40, 80)]
    frames = [NULLS[kind](part, name) if place == lost else part for place, part in enumerate(parts)]
    if kind.startswith(("polars", "Arrow")):
        own = pl.DataFrame if kind.startswith("polars") else pa.table
        frames = [own(columns_of(each)) if isinstance(each, pd.DataFrame) else each for each in frames]
    return lambda: iter(frames)


CHUNK_NULLS = cycle(["None", "pd.NA", "pandas Float64", "polars Null", "Arrow null"])
CHUNK_CASES = [
    (formula, name, lost, next(CHUNK_NULLS))
    for formula, name in [*PREDICTORS, ("y ~ x + u", "y"), ("y ~ x + c", "w")]
    for lost in (0, 1)
]
"""Each column without values in the first and in the second chunk; the kinds of null take turns."""


@pytest.mark.parametrize(("formula", "name", "lost", "null"), CHUNK_CASES)
@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_chunks_without_values_of_a_column_are_dropped(formula, name, lost, null):
    frames = frames_of(null, name, lost)
    kept = DATA.drop(index=range(40 * lost, 40 * lost + 40))
    expected = discrim.lda(formula, kept)
    fit = discrim.lda(formula, frames, weights="w" if name == "w" else None)
    assert fit.nobs == 80
    np.testing.assert_allclose(fit.means, expected.means, rtol=1e-10)
    np.testing.assert_allclose(fit.cov, expected.cov, rtol=1e-10)
    once = discrim.moments(formula, frames(), weights="w" if name == "w" else None)
    assert once.nobs == 80
    assert once.dropped == 40
    np.testing.assert_allclose(once.cov, expected.cov, rtol=1e-10)
    found = pd.concat([pd.DataFrame(values_of(part)) for part in expected.predict_proba(frames)])
    answer = expected.predict_proba(DATA).to_numpy(copy=True)
    if name in formula.partition("~")[2]:
        answer[40 * lost : 40 * lost + 40] = np.nan
    np.testing.assert_allclose(found.astype(float), answer, rtol=1e-10)


def parquet_of_parts(folder, name, lost):
    folder.mkdir()
    for place, part in enumerate(frames_of("Arrow null", name, lost)()):
        pq.write_table(part, folder / f"{place}.parquet")
    return str(folder)


def parquet_groups(folder, name, lost):
    folder.mkdir()
    parts = list(frames_of("Arrow null", name, lost)())
    schema = parts[1 - lost].schema
    with pq.ParquetWriter(folder / "one.parquet", schema) as writer:
        for part in parts:
            writer.write_table(part.cast(schema))
    return str(folder / "one.parquet")


def csv_of_parts(folder, name, lost):
    folder.mkdir()
    for place, part in enumerate(frames_of("None", name, lost)()):
        part.to_csv(folder / f"{place}.csv", index=False)
    return str(folder)


def csv_in_chunks(folder, name, lost):
    folder.mkdir()
    path = folder / "one.csv"
    pd.concat(frames_of("None", name, lost)()).to_csv(path, index=False)
    return lambda: pd.read_csv(path, chunksize=40)


@pytest.mark.parametrize(
    ("formula", "name", "lost"),
    [(formula, name, k % 2) for k, (formula, name) in enumerate([*PREDICTORS, ("y ~ x + u", "y")])],
)
@pytest.mark.parametrize("write", [parquet_of_parts, parquet_groups, csv_of_parts, csv_in_chunks])
def test_files_without_values_of_a_column_are_read_as_one_table(tmp_path, write, formula, name, lost):
    data = write(tmp_path / "parts", name, lost)
    expected = discrim.lda(formula, DATA.drop(index=range(40 * lost, 40 * lost + 40)))
    fit = discrim.lda(formula, data)
    assert fit.nobs == 80
    np.testing.assert_allclose(fit.means, expected.means, rtol=1e-10)
    np.testing.assert_allclose(fit.cov, expected.cov, rtol=1e-10)
    labels = pd.concat([pd.Series(part.iloc[:, 0]) for part in expected.predict_proba(data)])
    assert labels.isna().sum() == (0 if name == "y" else 40)


# scikit-learn does not accept a dict as a table.
@pytest.mark.parametrize("null", sorted(NULLS.keys() - {"dict"}))
def test_estimators_raise_for_null_columns_like_for_nan(null):
    estimator = FormulaClassifier("y ~ x + c", verb="naive_bayes").fit(DATA[["x", "c"]], DATA["y"])
    batch = DATA[["x", "c"]].iloc[:2]
    for name in ("x", "c"):
        with pytest.raises(discrim.errors.DataError) as refusal_of_nan:
            estimator.predict_proba(batch.assign(**{name: np.nan}))
        with pytest.raises(discrim.errors.DataError) as refusal:
            estimator.predict_proba(NULLS[null](batch, name))
        assert str(refusal.value) == str(refusal_of_nan.value)
        assert repr(name) in str(refusal.value)


def test_the_command_line_predicts_a_file_with_an_empty_column(tmp_path, capsys):
    fit = discrim.lda("y ~ x + c", DATA)
    fit.save(tmp_path / "fit")
    DATA.iloc[:3].assign(c=None).to_csv(tmp_path / "new.csv", index=False)
    main(["predict", str(tmp_path / "fit"), str(tmp_path / "new.csv"), "--missing", "integrate"])
    expected = fit.predict(DATA.iloc[:3].assign(c=np.nan), missing="integrate")
    assert capsys.readouterr().out.split()[1:] == expected.tolist()
