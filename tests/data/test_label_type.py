"""Labels come back in the dtype in which the response came, from every verb and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

import discrim
from discrim.data.values import factorize
from discrim.errors import DataError, DroppedColumnsWarning, FormulaError
from discrim.formula.design import Design

RNG = np.random.default_rng(0)
X = RNG.normal(size=60) + np.repeat([0, 2], 30)
Z = RNG.normal(size=60)
HALVES = [None, *[1] * 29, *[2] * 30]

RESPONSES = {
    "ordered": pd.Categorical(np.repeat(["lo", "hi"], 30), ["lo", "mid", "hi"], ordered=True),
    "categories": pd.Categorical(np.repeat([3, 1], 30), [3, 2, 1]),
    "categories that are Int64": pd.Categorical(pd.array(np.repeat([3, 1], 30), dtype="Int64")),
    "object": pd.Series(np.repeat(["a", "b"], 30), dtype=object),
    "str": pd.Series(np.repeat(["a", "b"], 30), dtype="str"),
    "string": pd.array(np.repeat(["a", "b"], 30), dtype="string"),
    "int8": np.repeat(np.array([1, 2], dtype="int8"), 30),
    "int64": np.repeat([1, 2], 30),
    "uint64": np.repeat(np.array([2**63, 2**63 + 1], dtype="uint64"), 30),
    "bool": np.repeat([False, True], 30),
    "boolean": pd.array([None, *[False] * 29, *[True] * 30], dtype="boolean"),
    "Int64": pd.array(HALVES, dtype="Int64"),
    "float64": np.repeat([0.5, 1.5], 30),
}

VERBS = {
    "lda": (discrim.lda, {}),
    "qda": (discrim.qda, {}),
    "rda": (discrim.rda, {"alpha": 0.5, "gamma": 0.5}),
    "naive_bayes": (discrim.naive_bayes, {}),
    "nearest_centroid": (discrim.nearest_centroid, {}),
    "knn": (discrim.knn, {"k": 3}),
    "kernel_density": (discrim.kernel_density, {"bandwidth": 1.0}),
    "shrunken_centroids": (discrim.shrunken_centroids, {"threshold": 0.1}),
    "pls": (discrim.pls, {"ncomp": 1}),
    "sparse_lda": (discrim.sparse_lda, {"penalty": 0.1}),
    "logistic": (discrim.logistic, {}),
    "indicator": (discrim.indicator, {}),
    "perceptron": (discrim.perceptron, {"maxiter": 50}),
}


pytestmark = pytest.mark.filterwarnings(
    "ignore::discrim.errors.DroppedColumnsWarning", "ignore::discrim.errors.NoSeparationWarning"
)


def fitted(kind: str, verb: str = "lda"):
    data = pd.DataFrame({"x": X, "z": Z, "y": RESPONSES[kind]})
    return VERBS[verb][0]("y ~ x + z", data, **VERBS[verb][1]), data


@pytest.mark.parametrize("kind", RESPONSES)
def test_labels_have_the_dtype_of_the_response(kind, tmp_path):
    fit, data = fitted(kind)
    dtype = data["y"].dtype
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    labels = {
        "predict": fit.predict(),
        "loaded": loaded.predict(data),
        "augment": fit.augment()[".fitted"],
        "actual": fit.assess(method="apparent").classification().misclassified["actual"],
        "predicted": fit.assess(method="apparent").classification().misclassified["predicted"],
        "cross_validate": discrim.cross_validate(fit, 3, seed=0).labels[1],
        "leave_one_out": fit.leave_one_out()["label"],
    }
    missing = data["y"].isna()
    for name, series in labels.items():
        assert series.dtype == dtype, name
    shown = fit.predict()[~missing]
    assert (shown.astype(object) == data["y"][~missing].astype(object)).mean() > 0.7
    assert (
        fit.classes.tolist() == [c for c in shown.drop_duplicates().tolist() if c in fit.classes]
        or len(fit.classes) == 2
    )
    pd.testing.assert_index_equal(fit.confusion().index, fit.classes.rename("actual"))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", ["ordered", "bool", "int8", "string"])
def test_every_verb_keeps_the_dtype(verb, kind):
    fit, data = fitted(kind, verb)
    assert fit.predict().dtype == data["y"].dtype
    assert fit.predict(data[["x", "z"]].head(3)).dtype == data["y"].dtype


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("int8", "Int8"), ("int64", "Int64"), ("uint64", "UInt64"), ("bool", "boolean"), ("Int64", "Int64")],
)
def test_a_missing_row_makes_whole_numbers_and_truth_values_nullable(kind, dtype):
    fit, data = fitted(kind)
    new = data.head(4).assign(x=[0.0, np.nan, 1.0, 2.0])
    labels = fit.predict(new)
    assert labels.dtype == dtype
    assert labels.isna().tolist() == [False, True, False, False]


@pytest.mark.parametrize("kind", ["ordered", "object", "str", "string"])
def test_a_missing_row_changes_no_other_dtype(kind):
    fit, data = fitted(kind)
    labels = fit.predict(data.head(4).assign(x=[0.0, np.nan, 1.0, 2.0]))
    assert labels.dtype == data["y"].dtype
    assert labels.isna().tolist() == [False, True, False, False]


def test_missing_labels_of_categorical_responses_are_categorical():
    fit, _ = fitted("ordered")
    pd.testing.assert_series_equal(fit.predict(reject=1.0), fit.predict())
    labels = fit.predict(reject=0.05)
    assert labels.cat.categories.tolist() == ["lo", "mid", "hi", "rejected"]
    assert not labels.cat.ordered
    strange = fit.predict(pd.DataFrame({"x": [0.0, 1e6], "z": [0.0, 0.0]}), outlier=0.01)
    assert strange.tolist() == ["lo", "unknown"]


def test_missing_labels_of_other_responses():
    assert fitted("int8")[0].predict(reject=0.05).dtype == object
    assert fitted("bool")[0].predict(reject=0.05).dtype == object
    assert fitted("string")[0].predict(reject=0.05).dtype == "string"


@pytest.mark.parametrize("values", [[None, *[False] * 29, *[True] * 30], HALVES])
def test_objects_that_are_numbers_or_truth_values_come_back_as_these(values):
    fit = discrim.lda("y ~ x + z", pd.DataFrame({"x": X, "z": Z, "y": pd.Series(values, dtype=object)}))
    assert fit.predict().dtype in (bool, np.int64)
    holed = pd.DataFrame({"x": [np.nan, 1.0], "z": [0.0, 0.0]})
    assert fit.predict(holed).dtype in ("boolean", "Int64")


def test_whole_numbers_beyond_the_precision_of_a_double_are_different_classes():
    big = pd.array([None, *[2**60] * 29, *[2**60 + 1] * 30], dtype="Int64")
    fit = discrim.lda("y ~ x + z", pd.DataFrame({"x": X, "z": Z, "y": big}))
    pd.testing.assert_index_equal(fit.confusion().index, fit.classes.rename("actual"))


def test_a_polars_enum_is_a_categorical_in_its_order():
    polars = pytest.importorskip("polars")
    y = polars.Series(np.repeat(["b", "a"], 30).tolist(), dtype=polars.Enum(["b", "a", "c"]))
    with pytest.warns(DroppedColumnsWarning, match="'c'"):
        fit = discrim.lda("y ~ x + z", polars.DataFrame({"x": X, "z": Z, "y": y}))
    assert fit.predict().cat.categories.tolist() == ["b", "a", "c"]


def test_moments_that_are_summed_keep_the_dtype_that_they_share():
    data = pd.DataFrame({"x": X, "z": Z, "y": pd.Categorical(np.repeat(["b", "a"], 30), ["b", "a"])})
    data = data.sample(frac=1, random_state=0)
    first = discrim.moments("y ~ x + z", data[:30])
    fit = discrim.lda(moments=first + first.of(data[30:]))
    assert fit.predict(data).dtype == data["y"].dtype


def test_a_saved_design_keeps_the_categories_of_the_labels():
    written = fitted("ordered")[0]._fit.design_rows.design.to_dict()
    assert Design.from_dict(written).labels.categories == ("lo", "mid", "hi")


@pytest.mark.parametrize(
    "labels",
    [
        {"dtype": "datetime64[ns]", "categories": None, "ordered": False},
        {"dtype": "str", "categories": ["lo"], "ordered": False},
        {"dtype": "str", "categories": ["lo", "hi"], "ordered": 1},
        {"dtype": "str"},
        ["str"],
    ],
)
def test_invalid_saved_dtypes_raise(labels):
    written = fitted("ordered")[0]._fit.design_rows.design.to_dict() | {"labels": labels}
    with pytest.raises(FormulaError) as caught:
        Design.from_dict(written)
    assert "damaged" in str(caught.value)


def test_estimators_give_labels_as_scikit_learn_wants_them():
    from discrim.sklearn import LDAClassifier

    y = pd.Categorical(np.repeat(["b", "a"], 30), ["b", "a"])
    model = LDAClassifier().fit(pd.DataFrame({"x": X, "z": Z}), y)
    assert isinstance(model.predict(pd.DataFrame({"x": X, "z": Z})), np.ndarray)
    assert model.classes_.tolist() == ["a", "b"]


def test_the_name_of_a_method_may_come_first():
    fit, _ = fitted("str", "qda")
    pd.testing.assert_frame_equal(fit.confusion("loo"), fit.confusion(method="loo"))
    nearest = discrim.knn("y ~ x + z", fitted("str")[1], k=1)
    assert not nearest.confusion("loo").equals(nearest.confusion("apparent"))
    pd.testing.assert_frame_equal(fit.confusion("cv", seed=1), fit.confusion(method="cv", seed=1))
    pd.testing.assert_frame_equal(
        fit.assess("loo").classification().confusion, fit.assess(method="loo").classification().confusion
    )
    pd.testing.assert_frame_equal(fit.error_rates("loo"), fit.error_rates(["loo"]))
    for wrong in ({"data": "LOO"}, {"data": "loo", "method": "cv"}):
        with pytest.raises(DataError) as caught:
            fit.confusion(**wrong)
        assert "'apparent'" in str(caught.value)
        assert "'loo'" in str(caught.value)


def test_confidence_level_of_log_odds():
    fit, _ = fitted("str")
    pd.testing.assert_frame_equal(fit.log_odds(0.9), fit.log_odds(level=0.9))
    pd.testing.assert_frame_equal(fit.log_odds("b", 0.9), fit.log_odds(reference="b", level=0.9))
    # A class that is such a number stays one.
    halves, _ = fitted("float64")
    pd.testing.assert_frame_equal(halves.log_odds(0.5), halves.log_odds(reference=0.5))
    with pytest.raises(DataError) as caught:
        fit.log_odds(90)
    assert "90" in str(caught.value)
    assert "class" in str(caught.value)
    logit, _ = fitted("str", "logistic")
    pd.testing.assert_frame_equal(logit.log_odds(0.9), logit.log_odds(level=0.9))
    with pytest.raises(DataError) as caught:
        logit.log_odds("b")
    assert "level='b'" in str(caught.value)


WIDTHS = ["int8", "uint16", "int32", "int64", "float32", "float64"]


def as_arrow(data: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(data, preserve_index=False)


def as_parquet(data: pd.DataFrame, folder: Path) -> str:
    pq.write_table(as_arrow(data), folder / "data.parquet")
    return str(folder / "data.parquet")


TABLE_TYPES = {
    "polars": lambda data, folder: pl.from_arrow(as_arrow(data)),
    "lazy": lambda data, folder: pl.from_arrow(as_arrow(data)).lazy(),
    "arrow": lambda data, folder: as_arrow(data),
    "parquet": as_parquet,
    "dataset": lambda data, folder: dataset.dataset(as_parquet(data, folder)),
    "frames": lambda data, folder: lambda: iter([data.iloc[:25], data.iloc[25:]]),
    "dask": lambda data, folder: pytest.importorskip("dask.dataframe").from_pandas(data, npartitions=2),
}


@pytest.mark.parametrize("table_type", TABLE_TYPES)
@pytest.mark.parametrize("width", WIDTHS)
def test_label_dtype_does_not_depend_on_the_source(width, table_type, tmp_path):
    data = pd.DataFrame({"x": X, "z": Z, "y": np.repeat(np.array([1, 2], dtype=width), 30)})
    table = TABLE_TYPES[table_type](data, tmp_path)
    assert str(discrim.lda("y ~ x + z", table).predict(data.head(3)).dtype) == width


@pytest.mark.parametrize("table_type", ["polars", "lazy", "arrow", "parquet", "dataset"])
@pytest.mark.parametrize("width", WIDTHS)
def test_missing_labels_do_not_change_the_label_dtype(width, table_type, tmp_path):
    """Other types of table have no integers with missing values."""
    data = pd.DataFrame({"x": X, "z": Z, "y": np.repeat(np.array([1, 2], dtype=width), 30)})
    data["y"] = data["y"].astype(width.capitalize().replace("Ui", "UI")).mask(data.index == 7)
    table = TABLE_TYPES[table_type](data, tmp_path)
    assert str(discrim.lda("y ~ x + z", table).predict(data.head(3)).dtype) == width


@pytest.mark.filterwarnings("ignore::discrim.errors.EmptyClassWarning")
@pytest.mark.parametrize("table_type", ["arrow", "parquet", "dataset", "frames", "dask"])
def test_the_order_of_an_arrow_dictionary_is_that_of_the_labels(table_type, tmp_path):
    data = pd.DataFrame({"x": X, "z": Z, "y": RESPONSES["ordered"]})
    table = TABLE_TYPES[table_type](data, tmp_path)
    dtype = discrim.lda("y ~ x + z", table).predict(data.head(3)).dtype
    assert dtype.ordered
    assert dtype.categories.tolist() == ["lo", "mid", "hi"]


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "float64", "Int64", "object"])
@pytest.mark.parametrize("labels", [[-128, 127, 3], [5, 7, 8, 9], [0, 1]])
def test_factorized_numbers_are_the_values(dtype: str, labels: list[int]) -> None:
    labels = [abs(label) for label in labels] if dtype == "uint8" else labels
    values = pd.Series(np.random.default_rng(0).choice(labels, 20_000)).astype(dtype)
    codes, uniques = factorize(values)
    assert sorted(uniques) == sorted(set(values))
    assert [uniques[code] for code in codes.tolist()] == values.tolist()
    assert all(type(label) is type(values.tolist()[0]) for label in uniques)
