"""Rules in SQL, run by two engines beside Python: the numbers are those of the fit, and names stay names."""

from __future__ import annotations

import sqlite3
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import FactorAnalytic, Regularized
from discrim.datasets import load_breast_cancer, load_iris, load_penguins
from discrim.errors import DataError, NotSupportedError
from discrim.models.results.exported import DIALECTS
from discrim.penalty import Lasso, Ridge

IRIS, PENGUINS = load_iris(), load_penguins()
HOSTILE = ["a b", 'q"uo`te', "it's", "back\\slash", "x; DROP TABLE t --"]


def letters(classes: int = 26, rows: int = 12, seed: int = 0) -> pd.DataFrame:
    """Rows about random means, in columns of hostile names."""
    rng = np.random.default_rng(seed)
    means = np.repeat(3 * rng.normal(size=(classes, len(HOSTILE))), rows, axis=0)
    table = pd.DataFrame(means + rng.normal(size=means.shape), columns=HOSTILE)
    return table.assign(**{"class": np.repeat(list(string.ascii_lowercase[:classes]), rows)})


def by_sqlite(query: str, table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the result of a query by SQLite."""
    plain = table.copy()
    for column in plain.columns[plain.dtypes == "category"]:
        plain[column] = plain[column].astype(object).where(plain[column].notna(), None)
    with sqlite3.connect(":memory:") as engine:
        plain.to_sql(name, engine, index=False)
        found = engine.execute(query)
        return pd.DataFrame(found.fetchall(), columns=[each[0] for each in found.description])


def by_duckdb(query: str, table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the result of a query by DuckDB."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as engine:
        engine.register("given", table)
        quoted = name.replace('"', '""')
        engine.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM given')
        found: pd.DataFrame = engine.execute(query).df()
        return found


ENGINES: dict[str, Callable[..., pd.DataFrame]] = {"sqlite": by_sqlite, "duckdb": by_duckdb}


def query_rows(fit: Any, table: pd.DataFrame, dialect: str, **options: Any) -> pd.DataFrame:
    """Return what a database computes for the rows of a table with a hostile name, in their order."""
    name, numbered = "rows \"of` one's", table.assign(**{"row id": range(len(table))})
    query = fit.to_sql(dialect, table=name, keep="row id", **options)
    return ENGINES[dialect](query, numbered, name).sort_values("row id").drop(columns="row id")


def compare(fit: Any, table: pd.DataFrame, dialect: str) -> None:
    """Labels and posteriors, or values, are those of the fit; what is missing there is NULL."""
    found = query_rows(fit, table, dialect)
    values = fit.predict_proba(table) if fit._fit.has_posteriors else fit.decision_function(table)
    expected = values.to_numpy().reshape(len(table), -1)
    scale = np.maximum(np.nanmax(np.abs(expected)), 1)
    np.testing.assert_allclose(
        found.drop(columns="label").to_numpy(dtype=float), expected, rtol=0, atol=1e-12 * scale
    )
    labels = fit.predict(table)
    pd.testing.assert_series_equal(
        found["label"].astype(object).where(found["label"].notna(), None),
        labels.astype(object).where(labels.notna(), None),
        check_index=False,
        check_names=False,
        check_dtype=False,
    )


VERBS = {
    "lda": {},
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "naive_bayes": {},
    "nearest_centroid": {},
    "shrunken_centroids": {"threshold": 2.0},
    "sparse_lda": {"nonzero": 2},
    "pls": {"ncomp": 2},
    "logistic": {"bias_reduction": True},
    "indicator": {},
    "perceptron": {"seed": 2},
}


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
@pytest.mark.parametrize(
    ("verb", "dialect"),
    [
        # One verb in both dialects, the others in one in turn.
        pytest.param(verb, dialect, marks=[pytest.mark.exhaustive] * (verb != "qda" and (i + j) % 2))
        for i, verb in enumerate(VERBS)
        for j, dialect in enumerate(ENGINES)
    ],
)
def test_every_rule(verb: str, dialect: str) -> None:
    fit = getattr(discrim, verb)("species ~ .", data=IRIS, **VERBS[verb])
    compare(fit, IRIS[::3], dialect)


@pytest.mark.parametrize(
    ("verb", "unit", "dialect"),
    [
        (verb, unit, list(ENGINES)[(i + j) % 2])
        for i, verb in enumerate(["lda", "qda", "logistic"])
        for j, unit in enumerate([1e-200, 1e-8, 1e8])
    ],
)
def test_units(verb: str, unit: float, dialect: str) -> None:
    table = IRIS[::3].copy()
    table.iloc[:, :4] *= unit
    compare(getattr(discrim, verb)("species ~ .", data=table, **VERBS[verb]), table, dialect)


TERMS = [
    "log(bill_length_mm) * sex + island",
    "sex:island:bill_depth_mm + body_mass_g",
    "I(body_mass_g ** 2 / 1e6) + I((bill_length_mm - 40) ** 3 - bill_depth_mm / -2)",
    "scale(body_mass_g) + center(bill_length_mm) + standardize(bill_depth_mm) + C(year)",
    "poly(bill_length_mm, 3) + poly(bill_depth_mm, 2, raw=True) + C(year, Sum) + C(sex, Helmert)",
    "sqrt(bill_length_mm) + exp(-bill_depth_mm) + abs(bill_depth_mm - 17) + I(bill_length_mm ** -0.5)",
    "log2(bill_length_mm) + log10(body_mass_g) + log1p(I(bill_depth_mm * 1e-9))",
]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("terms", TERMS)
def test_transforms_with_missing_values(terms: str, dialect: str) -> None:
    compare(discrim.lda(f"species ~ {terms}", data=PENGUINS), PENGUINS, dialect)


@pytest.mark.parametrize(
    ("verb", "dialect"), [("lda", "sqlite"), ("lda", "duckdb"), ("qda", "duckdb"), ("naive_bayes", "sqlite")]
)
def test_hostile_names_and_many_classes(verb: str, dialect: str) -> None:
    table = letters(rows=9)
    compare(getattr(discrim, verb)("`class` ~ .", data=table), table, dialect)


@pytest.mark.parametrize("far", [10.0, 1e3, 1e5])
def test_exported_rules_are_precise_for_close_classes_far_from_others(far: float) -> None:
    rng = np.random.default_rng(1)
    means = np.vstack([rng.normal(size=(6, 3)), far + rng.normal(size=(6, 3)), [[-far, 0, 0]]])
    table = pd.DataFrame(np.repeat(means, 20, axis=0) + rng.normal(size=(260, 3)), columns=list("abc"))
    table["y"] = np.repeat([f"class {k}" for k in range(13)], 20)
    compare(discrim.lda("y ~ .", data=table), table, "sqlite")


@pytest.mark.parametrize(
    ("labels", "dialect"),
    [
        (['it\'s \\ "x" `y`', "é\nß"], "sqlite"),
        (['it\'s \\ "x" `y`', "é\nß"], "duckdb"),
        ([True, False], "sqlite"),
        ([3, -1], "duckdb"),
        ([0.1, -2.5], "sqlite"),
    ],
    ids=str,
)
def test_labels(labels: list[Any], dialect: str) -> None:
    table = letters(2)
    table["class"] = np.array(labels, dtype=object)[(table["class"] == "b").astype(int)]
    compare(discrim.lda("`class` ~ .", data=table.infer_objects()), table, dialect)


@pytest.mark.parametrize("dialect", ENGINES)
def test_columns_of_truth_values(dialect: str) -> None:
    table = IRIS.assign(long=IRIS["petal_length"] > IRIS["sepal_width"] + 1, wide=IRIS["petal_width"] > 1.5)
    compare(discrim.lda("species ~ sepal_length * long + C(wide)", data=table), table, dialect)


@pytest.mark.parametrize("dialect", ENGINES)
def test_other_values(dialect: str) -> None:
    fit = discrim.lda("species ~ .", data=IRIS)
    logs, values = fit.predict_log_proba(IRIS), fit.decision_function(IRIS)
    found = query_rows(fit, IRIS, dialect, output=["log_proba", "decision"])
    assert list(found) == [f"{what}_{k}" for what in ("log_proba", "decision") for k in fit.classes]
    np.testing.assert_allclose(found.to_numpy()[:, :3], logs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.to_numpy()[:, 3:], values, rtol=1e-12, atol=1e-12)
    two = discrim.logistic("sex ~ body_mass_g + species", data=PENGUINS)
    found = query_rows(two, PENGUINS, dialect, output="decision")
    assert list(found) == ["decision"]
    np.testing.assert_allclose(found["decision"], two.decision_function(PENGUINS), rtol=1e-12)
    several = discrim.logistic("species ~ body_mass_g", data=PENGUINS)
    found = query_rows(several, PENGUINS, dialect, output="decision")
    np.testing.assert_allclose(found, several.decision_function(PENGUINS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dialect", ENGINES)
def test_prior(dialect: str) -> None:
    fit = discrim.qda("species ~ .", data=IRIS)
    prior = {"setosa": 0.0, "versicolor": 0.1, "virginica": 0.9}
    found = query_rows(fit, IRIS, dialect, output="proba", prior=prior)
    np.testing.assert_allclose(found, fit.predict_proba(IRIS, prior=prior), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dialect", ENGINES)
def test_rows_with_unseen_levels_are_null(dialect: str) -> None:
    fit = discrim.lda("species ~ log(bill_length_mm) + island + body_mass_g", data=PENGUINS)
    rows = PENGUINS.dropna()[:6].astype({"island": object}).reset_index(drop=True)
    rows.loc[0, "bill_length_mm"], rows.loc[1, "bill_length_mm"] = 0.0, -1.0
    rows.loc[2, "island"], rows.loc[3, "body_mass_g"] = "torgersen", np.inf
    rows.loc[4, "island"] = None
    found = query_rows(fit, rows, dialect)
    assert found.isna().all(axis=1).tolist() == [True] * 5 + [False]
    assert found.isna().any(axis=1).tolist() == [True] * 5 + [False]


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("verb", ["lda", "qda", "logistic"])
def test_distant_rows_are_null_only_out_of_range(verb: str, dialect: str) -> None:
    fit = getattr(discrim, verb)("species ~ .", data=IRIS, **VERBS[verb])
    rows = pd.concat([IRIS[:6]] * 2, ignore_index=True)
    rows.loc[:5, "petal_width"] = [1e90, -1e90, 1e150, -1e300, 1.7e308, np.nan]
    found = query_rows(fit, rows, dialect)
    assert found["label"].isna().tolist() == [False] * 2 + [True] * 4 + [False] * 6
    there = found["label"].notna().to_numpy()
    expected = fit.predict_proba(rows[there])
    np.testing.assert_allclose(found[there].drop(columns="label"), expected, rtol=0, atol=1e-12)


def test_columns_that_are_not_there_are_errors() -> None:
    query = discrim.lda("species ~ .", data=IRIS).to_sql("sqlite")
    with pytest.raises(sqlite3.OperationalError, match="petal_width"):
        by_sqlite(query, IRIS.drop(columns="petal_width"), "data")


def test_text_in_the_place_of_numbers_is_null_in_sqlite() -> None:
    rows = IRIS[:2].astype({"petal_width": object})
    rows.loc[0, "petal_width"] = "none"
    assert query_rows(discrim.lda("species ~ .", data=IRIS), rows, "sqlite")["label"].isna().all()


@pytest.mark.filterwarnings("ignore::discrim.errors.LabelWarning")
def test_query_names_differ_from_table_names() -> None:
    fit = discrim.lda("species ~ petal_length + petal_width", data=IRIS)
    table = IRIS.assign(r_x0="key")
    found = by_sqlite(fit.to_sql("sqlite", table="rr_1", keep="r_x0", output="label"), table, "rr_1")
    assert set(found["r_x0"]) == {"key"}
    assert found["label"].tolist() == fit.predict(IRIS).tolist()


@pytest.mark.filterwarnings("ignore::discrim.errors.LabelWarning")
def test_outputs_have_unique_names() -> None:
    table = letters(2)
    table["class"] = np.where(table["class"] == "a", "x", "X")
    fit = discrim.lda("`class` ~ `a b`", data=table)
    found = by_duckdb(fit.to_sql("duckdb", keep="a b"), table, "data")
    assert list(found) == ["a b", "label", "proba_X", "proba_x_"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written(dialect: str) -> None:
    query = discrim.lda("species ~ log(bill_length_mm) + island", data=PENGUINS).to_sql(
        dialect, table=("base", "penguins")
    )
    assert query.count("(") == query.count(")")
    sign = DIALECTS[dialect].name_quote
    assert f"FROM {sign}base{sign}.{sign}penguins{sign} AS t" in query


@pytest.mark.slow
def test_unsupported_rules_are_refused() -> None:
    for fit, why in [
        (discrim.knn("species ~ .", data=IRIS, k=5), r"knn\(\) has scores"),
        (discrim.mixture("species ~ .", data=IRIS, components=2), r"mixture\(\) has scores"),
        (discrim.kernel_density("species ~ petal_length", data=IRIS, bandwidth=0.5), "kernel_density"),
        (discrim.naive_bayes("species ~ island", data=PENGUINS), r"naive_bayes\(\)"),
        (discrim.lda("species ~ bs(petal_length, df=4)", data=IRIS), r"bs\(\) in the term"),
        (
            discrim.lda("species ~ cr(petal_length, df=3, constraints='center')", data=IRIS),
            r"cr\(\) in the term",
        ),
        (discrim.lda("species ~ I(petal_length % 2)", data=IRIS), "operator %"),
        (discrim.lda("species ~ C(half // 75)", data=IRIS.assign(half=range(150))), "C.half // 75. makes"),
        (discrim.lda("y ~ x", data={"y": ["a", "b\0"] * 3, "x": [1, 2, 3, 4, 6, 9]}), "NUL"),
        (discrim.lda("species ~ f(petal_length)", data=IRIS, functions={"f": np.cos}), r"calls f\(\)"),
    ]:
        with pytest.raises(NotSupportedError, match=why):
            fit.to_sql()


def test_very_long_queries_are_refused_quickly() -> None:
    deep = "log1p(" * 25 + "petal_length" + ")" * 25
    fit = discrim.lda(f"species ~ {deep}", data=IRIS)
    with pytest.raises(NotSupportedError) as caught:
        fit.to_sql()
    assert "nested functions" in str(caught.value)
    fit = discrim.lda("species ~ poly(petal_length, 9)", data=IRIS)
    with pytest.raises(NotSupportedError) as caught:
        fit.to_sql()
    assert "degree" in str(caught.value)
    compare(discrim.lda("species ~ poly(petal_length, 8)", data=IRIS), IRIS, "sqlite")


def test_invalid_arguments_are_refused() -> None:
    fit = discrim.lda("species ~ .", data=IRIS)
    with pytest.raises(DataError) as caught:
        fit.to_sql("sqllite")
    assert "'sqlite'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.to_sql(output="prob")
    assert "'proba'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.to_sql(table="")
    assert "table=" in str(caught.value)
    for keep in ([3], 3):
        with pytest.raises(DataError) as caught:
            fit.to_sql(keep=keep)
        assert "keep=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.to_sql(output=[])
    assert "output=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.to_sql(table=[])
    assert "table=" in str(caught.value)
    assert fit.to_sql(output=["label", "label"]) == fit.to_sql(output="label")
    with pytest.raises(NotSupportedError) as caught:
        fit.to_sql(output="decision", prior=[0.0, 0.5, 0.5])
    assert "infinite" in str(caught.value)
    assert "prior of zero" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.indicator("species ~ .", data=IRIS).to_sql(output="proba")
    assert "posterior" in str(caught.value)


@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("lda", {"ncomp": 1}),
        ("lda", {"covariance": "shrunk"}),
        ("lda", {"covariance": "diagonal"}),
        ("lda", {"covariance": "t"}),
        ("qda", {"covariance": FactorAnalytic(1)}),
        ("qda", {"covariance": "shrunk"}),
        ("rda", {"alpha": 0.0, "gamma": 0.5}),
        ("rda", {"alpha": 0.5, "gamma": 0.5, "parametrization": Regularized(standardize=True)}),
        ("pls", {"ncomp": 2, "rule": "max"}),
        ("logistic", {"penalty": Lasso(0.05)}),
        ("logistic", {"penalty": Ridge(0.05)}),
    ],
    ids=str,
)
def test_kinds_of_rules(verb: str, options: dict[str, Any]) -> None:
    compare(getattr(discrim, verb)("species ~ .", data=IRIS, **options), IRIS, "sqlite")


def test_fits_without_rows(tmp_path: Path) -> None:
    discrim.lda("species ~ .", data=IRIS).save(tmp_path / "fit")
    compare(discrim.load(tmp_path / "fit"), IRIS, "sqlite")
    compare(discrim.lda(moments=discrim.moments("species ~ .", IRIS)), IRIS, "sqlite")


@pytest.mark.slow
def test_a_wide_rule() -> None:
    table = load_breast_cancer()
    compare(discrim.lda("diagnosis ~ .", data=table), table, "sqlite")
    compare(discrim.hyperplane("diagnosis ~ .", data=table), table, "duckdb")
    columns = np.random.default_rng(0).normal(size=(300, 70))
    many = pd.DataFrame(columns).add_prefix("x").assign(y=np.repeat(["a", "b"], 150))
    compare(discrim.lda("y ~ .", data=many), many, "duckdb")
