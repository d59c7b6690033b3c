"""Rows without a label and rows of weight zero do not affect results, whatever levels they have."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy
from sklearn.linear_model import Ridge

import discrim
from discrim import cli
from discrim.errors import DataError, DiscrimWarning
from discrim.models.registry import MODELS
from discrim.penalty import Lasso
from discrim.subspace import MultipleCorrespondence

N = 60
LEFT_OUT = [0, 7]
"""Rows that are left out. They alone have the levels 'ODD' and 'RARE', and the second one a class."""

USED = ~np.isin(np.arange(N), LEFT_OUT)
FOLDS = np.arange(N) % 5


def make_table() -> pd.DataFrame:
    """Return a table of three classes, a factor and two numbers; `w` is zero in the unused rows."""
    rng = np.random.default_rng(0)
    groups = np.arange(N) % 3
    table = pd.DataFrame(
        {
            "y": np.array(list("abc"))[groups],
            "c": rng.choice(list("uvw"), N),
            "x": rng.normal(size=N) + groups,
            "z": rng.normal(size=N),
            "w": np.where(USED, 1.0, 0.0),
        }
    )
    table.loc[10, "w"] = 2.0
    table.loc[LEFT_OUT, "c"] = ["RARE", "ODD"]
    table.loc[7, "y"] = "other"
    table.loc[0, "x"] = 90.0
    return table


TABLE = make_table()
REDUCED = TABLE[USED]
UNLABELLED = TABLE.assign(y=TABLE["y"].astype(object).where(pd.Series(USED)))
FORMULA = "y ~ c + x + z"

VERBS = {
    "lda": (discrim.lda, {}),
    "lda, components": (discrim.lda, {"components": 3}),
    "lda, correspondence": (discrim.lda, {"components": MultipleCorrespondence(2)}),
    "lda, em": (discrim.lda, {"missing": "em"}),
    "qda": (discrim.qda, {"covariance": "shrunk"}),
    "rda": (discrim.rda, {"alpha": 0.5, "gamma": 0.5}),
    "rda, chosen": (discrim.rda, {"seed": 1}),
    "naive_bayes": (discrim.naive_bayes, {"laplace": 1}),
    "naive_bayes, kernel": (discrim.naive_bayes, {"kernel": True, "laplace": 1}),
    "naive_bayes, available": (discrim.naive_bayes, {"missing": "available", "laplace": 1}),
    "logistic": (discrim.logistic, {}),
    "logistic, penalty": (discrim.logistic, {"penalty": Lasso(0.02)}),
    "indicator": (discrim.indicator, {}),
    "perceptron": (discrim.perceptron, {"maxiter": 20}),
    "knn": (discrim.knn, {"k": 3}),
    "mixture": (discrim.mixture, {"components": 1}),
    "sparse_lda": (discrim.sparse_lda, {"penalty": 0.05}),
    "kernel_density": (discrim.kernel_density, {}),
    "pls": (discrim.pls, {"ncomp": 2}),
    "nearest_centroid": (discrim.nearest_centroid, {}),
    "fda": (discrim.fda, {"engine": Ridge()}),
    "shrunken_centroids": (discrim.shrunken_centroids, {"threshold": 0.1}),
    "location": (discrim.location, {}),
    "plda": (discrim.plda, {}),
    "kernel_lda": (discrim.kernel_lda, {"kernel": "gaussian"}),
    "hyperplane": (discrim.hyperplane, {}),
}
WITHOUT_WEIGHTS = ("perceptron", "knn", "hyperplane")


def test_every_verb_of_rows_is_compared():
    compared = {verb.__name__ for verb, _ in VERBS.values()}
    assert compared == {model.verb for model in MODELS} - {"bayes", "mlm"}


def collect_answers(fit, table, used=None):
    """Return what a fit computes, by name; for its own rows, only those that are used."""
    used = slice(None) if used is None else used
    tables = {
        "tidy": fit.tidy(),
        "glance": fit.glance(),
        "counts": fit.counts.to_frame(),
        "decision": pd.DataFrame(fit.decision_function(table)),
        "decision of the fit's rows": pd.DataFrame(fit.decision_function())[used],
        "labels": fit.predict()[used].astype(str).to_frame(),
        "apparent": fit.error_rates(["apparent"]),
    }
    return tables | {"terms": pd.DataFrame(index=list(fit.terms))}


def assert_tables_agree(found, expected):
    for name, table in expected.items():
        got = found[name]
        assert list(got.columns) == list(table.columns), name
        assert [str(label) for label in got.index] == [str(label) for label in table.index], name
        for column in table:
            if table[column].dtype.kind in "if":
                np.testing.assert_allclose(got[column], table[column], rtol=1e-9, atol=1e-11, err_msg=name)
            else:
                assert got[column].tolist() == table[column].tolist(), name


def call_without_warnings(verb, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        return verb(*args, **options)


def refuse_unknown_levels(fit, table, used):
    """Check that an unknown level counts as missing in the fit's own rows and is an error in new rows."""
    rows = table[~used]
    expected = fit.predict(rows.assign(c=pd.Series(None, index=rows.index, dtype=object)))
    pd.testing.assert_series_equal(fit.predict()[~used], expected)
    with pytest.raises(DataError) as caught:
        fit.predict(rows)
    assert caught.value.rows == (0,)


def table_and_mask(verb):
    """Return a table that suits a model, and the mask of its used rows (hyperplane: separable classes)."""
    if verb is not discrim.hyperplane:
        return TABLE, USED
    some = (TABLE["y"] != "b").to_numpy() & (TABLE["y"] != "other").to_numpy()
    return TABLE.assign(x=TABLE["x"] + 20 * (TABLE["y"] == "a"))[some], USED[some]


@pytest.mark.parametrize("name", VERBS)
def test_unlabelled_rows_equal_dropped_rows(name):
    verb, options = VERBS[name]
    table, used = table_and_mask(verb)
    expected = call_without_warnings(verb, FORMULA, table[used], **options)
    fit = call_without_warnings(
        verb, FORMULA, table.assign(y=table["y"].astype(object).where(used)), **options
    )
    assert_tables_agree(collect_answers(fit, table[used], used), collect_answers(expected, table[used]))
    assert (fit._fit.dropped, expected._fit.dropped) == (np.count_nonzero(~used), 0)
    refuse_unknown_levels(fit, table, used)


@pytest.mark.parametrize("name", [name for name in VERBS if name not in WITHOUT_WEIGHTS])
def test_zero_weights_equal_dropped_rows(name):
    verb, options = VERBS[name]
    expected = call_without_warnings(verb, FORMULA, REDUCED, weights=REDUCED["w"].to_numpy(), **options)
    # The name of a column and a vector in turn.
    weights = TABLE["w"].to_numpy() if len(name) % 2 else "w"
    fit = call_without_warnings(verb, FORMULA, TABLE, weights=weights, **options)
    assert_tables_agree(collect_answers(fit, REDUCED, USED), collect_answers(expected, REDUCED))
    assert fit._fit.dropped == 0
    refuse_unknown_levels(fit, TABLE, USED)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lda", "lda, components", "naive_bayes", "knn", "location"])
def test_refits_skip_unused_rows(name):
    verb, options = VERBS[name]
    expected = call_without_warnings(verb, FORMULA, REDUCED, **options)
    fits = [call_without_warnings(verb, FORMULA, UNLABELLED, **options)]
    if name not in WITHOUT_WEIGHTS:
        fits.append(call_without_warnings(verb, FORMULA, TABLE, weights=(TABLE["w"] > 0) * 1.0, **options))
    for fit in fits:
        assert_tables_agree({"loo": fit.leave_one_out()[USED]}, {"loo": expected.leave_one_out()})
        found = call_without_warnings(discrim.cross_validate, fit, FOLDS).posteriors()[USED]
        wanted = call_without_warnings(discrim.cross_validate, expected, FOLDS[USED]).posteriors()
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-12)


def test_log_likelihood_uses_the_remaining_rows():
    """-59.13466 is the value that the issue states; the formula is that of normal classes."""
    x = np.random.default_rng(0).normal(size=20)
    table = pd.DataFrame({"y": list("ab") * 10, "c": ["A", *("uvw" * 7)[:19]], "x": x})
    fit = discrim.lda("y ~ c + x", table, weights=np.r_[0, np.ones(19)])
    rest, classes = table[1:], table["y"][1:].to_numpy()
    columns = np.column_stack([rest["c"] == "v", rest["c"] == "w", rest["x"]]).astype(float)
    means = {label: columns[classes == label].mean(axis=0) for label in "ab"}
    residuals = columns - np.array([means[label] for label in classes])
    cov = residuals.T @ residuals / 19
    squared = np.einsum("ij,jk,ik->i", residuals, np.linalg.inv(cov), residuals)
    llf = -0.5 * (squared.sum() + 19 * np.log(np.linalg.det(2 * np.pi * cov)))
    shares = np.array([(classes == label).mean() for label in "ab"])
    llf += 19 * (shares * np.log(shares)).sum()
    assert fit.llf == pytest.approx(llf, rel=1e-12)
    assert fit.llf == pytest.approx(-59.13466, abs=5e-6)


def tables_of(results):
    """Return the tables of a result that is not a fit."""
    if isinstance(results, pd.DataFrame):
        return {"results": results}
    names = ("table", "means", "cov", "params", "counts", "steps")
    found = {name: getattr(results, name) for name in names if hasattr(results, name)}
    return {name: pd.DataFrame(each) for name, each in found.items()}


ANALYSES = {
    "manova": lambda table, **given: discrim.manova(FORMULA, table, **given),
    "box_m": lambda table, **given: discrim.box_m(FORMULA, table, **given),
    "moments": lambda table, **given: discrim.moments(FORMULA, table, **given),
    "stepwise": lambda table, **given: discrim.stepwise(FORMULA, table, **given),
    "mlm": lambda table, **given: discrim.mlm("y * c ~ x + z", table, **given),
    "permanova": lambda table, **given: discrim.permanova(
        "y + c ~ x + z", table, permutations=19, seed=1, **given
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANALYSES)
def test_analyses_leave_unused_rows_out(name):
    analysis = ANALYSES[name]
    cases = [(call_without_warnings(analysis, UNLABELLED), call_without_warnings(analysis, REDUCED))]
    cases.append(
        (
            call_without_warnings(analysis, TABLE, weights="w"),
            call_without_warnings(analysis, REDUCED, weights="w"),
        )
    )
    for found, expected in cases:
        assert_tables_agree(tables_of(found), tables_of(expected))


@pytest.mark.slow
def test_a_choice_of_models_leaves_unused_rows_out():
    options = {"candidates": ["lda", "naive_bayes"], "folds": 5, "seed": 1}
    found = call_without_warnings(discrim.choose, FORMULA, UNLABELLED, **options)
    expected = call_without_warnings(discrim.choose, FORMULA, REDUCED, **options)
    tables = [each.table.drop(columns="seconds") for each in (found, expected)]
    assert_tables_agree({"table": tables[0]}, {"table": tables[1]})


# ---- where rows and levels come from


def in_chunks(table):
    """Return a source of chunks of a few rows."""
    return lambda: iter([table.iloc[start : start + 7] for start in range(0, len(table), 7)])


def as_parquet(table, folder):
    path = folder / "table.parquet"
    table.to_parquet(path, row_group_size=7)
    return str(path)


def as_csv(table, folder):
    path = folder / "table.csv"
    table.to_csv(path, index=False)
    return str(path)


KINDS = {
    "pandas": lambda table, folder: table,
    "polars": lambda table, folder: pl.from_pandas(table),
    "lazy": lambda table, folder: pl.from_pandas(table).lazy(),
    "arrow": lambda table, folder: pa.Table.from_pandas(table),
    "parquet": as_parquet,
    "csv": as_csv,
    "parts": lambda table, folder: in_chunks(table),
    "iterator": lambda table, folder: iter([table.iloc[:30], table.iloc[30:]]),
    "dask": lambda table, folder: pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=4),
    "categories": lambda table, folder: table.astype({"y": "category", "c": "category"}),
    "parts of categories": lambda table, folder: in_chunks(table.astype({"y": "category", "c": "category"})),
}


FORMULAS = ["y ~ c + x", "y ~ x + z", "y ~ x * c", "y ~ x | c"]


@pytest.mark.parametrize(
    ("kind", "formula"),
    dict.fromkeys(
        [
            *((kind, FORMULAS[k % len(FORMULAS)]) for k, kind in enumerate(KINDS)),
            *((kind, formula) for kind in ("pandas", "parts") for formula in FORMULAS),
        ]
    ),
)
def test_unused_rows_are_skipped_in_every_table_type(kind, formula, tmp_path):
    expected = discrim.lda(formula, REDUCED)
    want = expected.predict_proba(REDUCED)
    weighted = (TABLE["w"] > 0).astype(float)
    for table, options, dropped in (
        (UNLABELLED, {}, 2),
        (TABLE.assign(w=weighted), {"weights": "w"}, 0),
        (TABLE.assign(w=weighted), {"weights": "w", "levels": ["a", "b", "c"]}, 0),
    ):
        fit = call_without_warnings(discrim.lda, formula, KINDS[kind](table, tmp_path), **options)
        np.testing.assert_allclose(fit.predict_proba(REDUCED), want, rtol=1e-10, atol=1e-14)
        assert fit.llf == pytest.approx(expected.llf, rel=1e-12)
        assert list(fit.terms) == list(expected.terms)
        assert fit._fit.dropped == dropped


@pytest.mark.parametrize("kind", ["pandas", "lazy", "parquet", "parts", "dask"])
def test_training_table_is_predicted_in_chunks(kind, tmp_path):
    fit = discrim.lda("y ~ c + x", KINDS[kind](UNLABELLED, tmp_path))
    expected = discrim.lda("y ~ c + x", REDUCED)
    labels = fit.predict()
    labels = np.asarray(labels.compute() if hasattr(labels, "compute") else labels, dtype=object)
    assert labels[USED].tolist() == expected.predict().tolist()
    assert pd.isna(labels[~USED]).all()
    assert fit.error_rates(["apparent"]).iloc[0, 0] == expected.error_rates(["apparent"]).iloc[0, 0]


NUMBERED = TABLE["c"].map({"u": 1, "v": 2, "w": 3, "RARE": 8, "ODD": 9})


@pytest.mark.parametrize(
    ("formula", "source"),
    [
        ("y ~ C(k) + x", False),
        ("y ~ C(k) + x", True),
        ("y ~ C(k, levels=[1, 2, 3]) + x", False),
        ("y ~ C(k, Sum) + x", True),
        ("y ~ center(x) * c", False),
        ("y ~ scale(x) + c", True),
        ("y ~ poly(x, 2) + c", False),
        ("y ~ poly(x, 2) + c", True),
        ("y ~ bs(x, df=4) + z", True),
        ("y ~ upper(c) + x", False),
    ],
)
@pytest.mark.filterwarnings("ignore::discrim.errors.EmptyClassWarning")
def test_levels_and_transforms_are_learnt_from_used_rows(formula, source):
    functions = {"upper": lambda values: values.str.upper()} if "upper" in formula else None
    reduced = REDUCED.assign(k=NUMBERED)
    expected = discrim.lda(formula, reduced, functions=functions)
    for table, options in ((UNLABELLED, {}), (TABLE.assign(w=(TABLE["w"] > 0) * 1.0), {"weights": "w"})):
        table = table.assign(k=NUMBERED, x=TABLE["x"].where(USED, 2.0))
        data = in_chunks(table) if source else table
        fit = discrim.lda(formula, data, functions=functions, **options)
        np.testing.assert_allclose(fit.means, expected.means, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(fit.cov, expected.cov, rtol=1e-9, atol=1e-12)
        if not source and "(k" in formula:
            assert fit.predict()[~USED].isna().all()


def test_unused_rows_of_sparse_columns_are_skipped():
    sparse = scipy.sparse.random(N, 40, 0.1, random_state=1, format="csr")
    table = pd.DataFrame.sparse.from_spmatrix(sparse, columns=[f"s{j}" for j in range(40)])
    for verb, options in (
        (discrim.naive_bayes, {"smoothing": 0.1}),
        (discrim.shrunken_centroids, {"threshold": 0.1}),
    ):
        expected = call_without_warnings(verb, "y ~ .", table[USED].assign(y=REDUCED["y"]), **options)
        weighted = call_without_warnings(
            verb, "y ~ .", table.assign(y=TABLE["y"]), weights=USED * 1.0, **options
        )
        unlabelled = call_without_warnings(verb, "y ~ .", table.assign(y=UNLABELLED["y"]), **options)
        for fit, dropped in ((weighted, 0), (unlabelled, 2)):
            np.testing.assert_allclose(
                fit.predict_proba(table[USED]), expected.predict_proba(table[USED]), rtol=1e-9, atol=1e-12
            )
            assert fit._fit.dropped == dropped


def test_moments_of_further_tables_leave_unused_rows_out():
    first, second = REDUCED.iloc[:30], REDUCED.iloc[30:]
    expected = discrim.moments("y ~ c + x", REDUCED)
    found = discrim.moments("y ~ c + x", first)
    found = found + found.of(pd.concat([UNLABELLED[~USED], second]))
    np.testing.assert_allclose(found.means, expected.means, rtol=1e-12)
    np.testing.assert_allclose(found.cov, expected.cov, rtol=1e-10, atol=1e-14)
    assert found.dropped == 2
    weighted = discrim.moments("y ~ c + x", first.assign(w=1.0), weights="w")
    weighted = weighted + weighted.of(pd.concat([TABLE[~USED], second.assign(w=1.0)]))
    np.testing.assert_allclose(weighted.means, expected.means, rtol=1e-12)
    assert list(weighted.classes) == list("abc")


def test_the_command_line_leaves_unused_rows_out(tmp_path, capsys):
    printed = []
    for name, table, options in (
        ("all", TABLE, ["--weights", "w"]),
        ("some", REDUCED, ["--weights", "w"]),
        ("unlabelled", UNLABELLED, []),
        ("labelled", REDUCED, []),
    ):
        path = tmp_path / f"{name}.csv"
        table.to_csv(path, index=False)
        assert cli.main(["lda", "y ~ c + x", str(path), *options]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    dropped = re.compile(r"(Dropped, missing values +)(\d+)")
    assert [dropped.search(text)[2] for text in printed[2:]] == [str(UNLABELLED["y"].isna().sum()), "0"]
    kept = [dropped.sub(r"\1", text) for text in printed[2:]]
    assert kept[0] == kept[1]


# ---- what is still counted, refused and used


@pytest.mark.filterwarnings("ignore::discrim.errors.EmptyClassWarning")
def test_incomplete_row_of_zero_weight_is_not_counted_as_dropped():
    table = TABLE.assign(x=TABLE["x"].where(USED))
    for verb, options in ((discrim.lda, {"na_action": "raise"}), (discrim.lda, {"missing": "em"})):
        fit = verb("y ~ c + x", table, weights="w", **options)
        assert fit._fit.dropped == 0
        np.testing.assert_allclose(fit.means, discrim.lda("y ~ c + x", REDUCED, weights="w").means, rtol=1e-9)
    with pytest.raises(DataError) as caught:
        discrim.lda("y ~ c + x", UNLABELLED, na_action="raise")
    assert caught.value.columns == ("y",)
    assert caught.value.rows == (0,)


def test_used_row_with_an_undeclared_level_raises():
    labelled = TABLE.assign(k=NUMBERED)
    for data in (labelled, in_chunks(labelled)):
        with pytest.raises(DataError) as caught:
            discrim.lda("y ~ C(k, levels=[1, 2, 3]) + x", data)
        assert caught.value.rows == (0,)
    with pytest.raises(DataError) as caught:
        discrim.lda("y ~ c + x", TABLE, levels=["a", "b", "c"])
    assert caught.value.rows == (7,)


INCOMPLETE = REDUCED.assign(x=REDUCED["x"].where(REDUCED.index != 12)).reset_index(drop=True)
INCOMPLETE.loc[INCOMPLETE["x"].isna(), "c"] = "RARE"
INDICATORS = (
    pd.get_dummies(INCOMPLETE["c"], dtype=float).drop(columns="RARE").join(INCOMPLETE[["y", "x", "z"]])
)


@pytest.mark.parametrize("source", [False, True])
def test_level_of_an_incomplete_row_is_used_only_if_the_row_is(source):
    """The indicators of the levels, as columns of numbers, give the same likelihood."""
    data = in_chunks(INCOMPLETE) if source else INCOMPLETE
    fit = discrim.lda("y ~ c + x + z", data, missing="em")
    expected = discrim.lda("y ~ u + v + w + x + z", INDICATORS, missing="em")
    assert fit.nobs == expected.nobs == len(INCOMPLETE)
    assert fit.llf == pytest.approx(expected.llf, rel=1e-10)
    np.testing.assert_allclose(fit.predict_proba(), expected.predict_proba(), rtol=1e-7)
    bayes = discrim.naive_bayes("y ~ c + x", data, missing="available", laplace=1)
    assert sorted(bayes.tables["c"].columns) == ["RARE", "u", "v", "w"]
    counts = INCOMPLETE.groupby("y")["c"].value_counts().unstack(fill_value=0) + 1
    np.testing.assert_allclose(bayes.tables["c"][counts.columns], counts.div(counts.sum(axis=1), axis=0))


@pytest.mark.slow
def test_cross_validation_by_em_learns_levels_without_each_fold():
    folds = np.arange(len(INCOMPLETE)) % 4
    fit = discrim.lda("y ~ c + x + z", INCOMPLETE, missing="em", prior="equal")
    found = call_without_warnings(discrim.cross_validate, fit, folds).posteriors()
    rare = (INCOMPLETE["c"] == "RARE").to_numpy()
    for fold in range(4):
        rest = discrim.lda("y ~ c + x + z", INCOMPLETE[folds != fold], missing="em", prior="equal")
        test = (folds == fold) & ~rare
        np.testing.assert_allclose(found[test], rest.predict_proba(INCOMPLETE[test]), rtol=1e-6)
    assert found[rare].isna().all(axis=None)


@pytest.mark.parametrize("missing", [None, "em"])
@pytest.mark.parametrize(
    ("term", "value"), [("bs(x, df=4)", 99.0), ("log(x)", -1.0), ("I(1 / x)", 0.0), ("sqrt(x):z", -2.0)]
)
def test_unused_rows_may_lie_outside_the_domain_of_a_transform(term, value, missing):
    table = TABLE.assign(x=np.random.default_rng(1).uniform(1, 3, N)).drop(columns="y")
    table["y"] = np.array(list("abc"))[np.arange(N) % 3].astype(object)
    table.loc[LEFT_OUT[0], "x"] = value
    formula = f"y ~ {term} + z"
    expected = discrim.lda(formula, table[USED], missing=missing)
    fits = (
        discrim.lda(formula, table.assign(y=table["y"].where(pd.Series(USED))), missing=missing),
        discrim.lda(formula, table, weights=USED * 1.0, missing=missing),
        discrim.lda(formula, lambda: iter([table.assign(w=USED * 1.0)]), weights="w", missing=missing),
    )
    for fit in fits:
        assert fit.llf == pytest.approx(expected.llf, rel=1e-12)
        found = fit.predict_proba(table[USED])
        np.testing.assert_allclose(found, expected.predict_proba(table[USED]), rtol=1e-9)
        with pytest.raises(DataError) as caught:
            fit.predict(table)
        assert "at row 0" in str(caught.value)
    for fit in fits[:2]:
        own = fit.predict_proba()
        np.testing.assert_allclose(own[USED], expected.predict_proba(), rtol=1e-9)
        assert own.loc[LEFT_OUT[0]].isna().all() == (missing is None)
