"""Partial least squares of deviations within groups against mixOmics' multilevel analysis."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import pls
from discrim.datasets import load_iris
from discrim.errors import DataError, NotSupportedError
from discrim.subspace import SparsePLS

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "splsda.json").read_text(encoding="utf-8"))
IRIS = load_iris()
PLANTS = IRIS.assign(plant=np.tile(np.arange(50), 3))


def near(result, fixed, tol=1e-10):
    np.testing.assert_allclose(np.asarray(result), np.asarray(fixed), rtol=tol, atol=tol)


def deviations(data):
    own = data.drop(columns="plant")
    columns = own.columns.drop("species")
    return own.assign(
        **{name: own[name] - own.groupby(data["plant"])[name].transform("mean") for name in columns}
    )


def test_estimates_agree_with_mixomics():
    fixed = GOLDEN["repeated"]
    fit = pls("species ~ .", PLANTS, algorithm=SparsePLS(fixed["keep"]), within="plant")
    near(fit.weights, fixed["weights"])
    near(fit.transform(), fixed["scores"])
    near(fit.transform(PLANTS), fixed["scores"])
    near(fit.explained, fixed["explained"])
    near(fit.predict_indicators(PLANTS), fixed["fitted"])
    for rule in ("max", "centroid"):
        assert fit.update(rule=rule).predict(PLANTS).tolist() == fixed[rule]


def test_a_fit_agrees_with_a_table_of_deviations():
    rows = PLANTS.sample(frac=1.0, random_state=3)
    fit, plain = (
        pls("species ~ .", rows, ncomp=3, within="plant"),
        pls("species ~ .", deviations(rows), ncomp=3),
    )
    near(fit.coef, plain.coef)
    near(fit.predict_proba(), plain.predict_proba())
    some = PLANTS[PLANTS["plant"].isin([3, 8])]
    near(fit.predict_proba(some), plain.predict_proba(deviations(some)))


def test_a_shift_of_all_rows_of_a_group_changes_nothing():
    shift = np.random.default_rng(2).normal(size=(50, 4)) * 100
    shifted = PLANTS.copy()
    shifted.iloc[:, :4] += shift[shifted["plant"]]
    fit, other = (pls("species ~ .", table, ncomp=2, within="plant") for table in (PLANTS, shifted))
    near(fit.coef, other.coef, 1e-9)
    near(fit.predict_proba(), other.predict_proba(shifted), 1e-9)


def test_groups_are_left_out_whole():
    few = PLANTS[PLANTS["plant"] < 12].reset_index(drop=True)
    fit = pls("species ~ .", few, ncomp=2, within="plant", prior="equal")
    result = fit.leave_one_out()
    for plant in (0, 7):
        rows = few["plant"] == plant
        other = fit.update(data=few[~rows])
        near(result[rows].iloc[:, 1:].astype(float), other.predict_proba(few[rows]))
    # As many folds as plants are those without each of them, whatever deals them.
    left_out = fit.error_rates(["loo"])["wrong"].iloc[0]
    assert fit.error_rates(["cv"], folds=12, seed=1)["wrong"].iloc[0] == left_out
    validated = discrim.cross_validate(fit, folds=12, seed=1).table()
    assert validated["estimate"]["error"] == pytest.approx(left_out / 36)
    splits = [(np.flatnonzero(few["plant"] != k), np.flatnonzero(few["plant"] == k)) for k in range(12)]
    near(fit.q2(splits), fit.q2(12, seed=4))
    chosen = pls("species ~ .", few, within="plant", prior="equal", folds=12, seed=1, grid=[1, 2])
    near(chosen.path, fit.q2(splits))


def test_labels_are_shuffled_within_groups():
    rng = np.random.default_rng(3)
    # Groups of one class and a half: most labellings within groups are the one that was seen.
    data = pd.DataFrame(
        {"a": rng.normal(size=24), "b": rng.normal(size=24), "g": np.repeat(np.arange(12), 2)}
    )
    data["y"] = np.where(np.arange(24) < 20, "one", "two")
    data.loc[[0, 2], "y"] = "two"
    data.loc[data["y"] == "two", "a"] += 1.0
    test = pls("y ~ . - g", data, ncomp=1, within="g").permutation_test(40, 4, seed=1)
    # Only two groups have two labels to shuffle, so that a quarter of the shuffles changes nothing.
    assert test.pvalue > 0.2


def test_a_file_reads_new_rows_as_deviations(tmp_path):
    fit = pls("species ~ .", PLANTS, ncomp=2, within="plant")
    fit.save(tmp_path / "within.fit")
    other = discrim.load(tmp_path / "within.fit")
    near(other.predict_proba(PLANTS), fit.predict_proba())
    near(fit.update().coef, fit.coef)


def test_incomplete_rows_do_not_count_in_group_means():
    holes = PLANTS.copy()
    holes.loc[4, "sepal_width"] = np.nan
    fit = pls("species ~ .", holes, ncomp=2, within="plant")
    near(fit.coef, pls("species ~ .", PLANTS.drop(index=4), ncomp=2, within="plant").coef)
    assert fit.predict(holes).isna().tolist() == [i == 4 for i in range(150)]


def test_observations_without_a_class_count_in_the_mean_of_their_group():
    unlabelled = PLANTS.copy()
    unlabelled.loc[[4, 60, 61], "species"] = None
    fit = pls("species ~ .", unlabelled, ncomp=2, within="plant", prior="equal")
    plain = pls("species ~ .", deviations(PLANTS)[unlabelled["species"].notna()], ncomp=2, prior="equal")
    near(fit.coef, plain.coef)
    near(fit.predict_proba(unlabelled), plain.predict_proba(deviations(PLANTS)))
    near(fit.predict_proba(), fit.predict_proba(unlabelled))
    near(fit.predict_proba(), fit.predict_proba(PLANTS))


def test_a_group_with_one_labelled_observation_has_deviations():
    # A second observation of the group gives the mean; an unlabelled group of one observation has no part.
    unlabelled = PLANTS.copy()
    unlabelled.loc[[4, 54], "species"] = None
    extra = PLANTS.iloc[[0]].assign(plant=99, species=None).set_index(pd.Index([150]))
    fit = pls("species ~ .", pd.concat([unlabelled, extra]), ncomp=2, within="plant")
    plain = pls("species ~ .", deviations(PLANTS)[unlabelled["species"].notna()], ncomp=2)
    near(fit.coef, plain.coef)
    assert fit.leave_one_out()["label"].isna().sum() == 3


def test_an_empty_table_of_any_dtype_has_no_predictions():
    fit = pls("species ~ .", PLANTS, ncomp=2, within="plant")
    for dtype in (object, float):
        empty = pd.DataFrame(columns=PLANTS.columns, dtype=dtype)
        assert fit.predict(empty).empty
        assert fit.predict_proba(empty).shape == (0, 3)
        assert fit.transform(empty).shape == (0, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"within": "plants"}, "No column 'plants'"),
        ({"within": 3}, "name of a column"),
        ({"within": "plant", "weights": "petal_width"}, "weights=.* within='plant'"),
        ({"within": "single"}, "one row has no deviations"),
        ({"within": PLANTS["plant"]}, "within= must be the name of a column"),
        ({"within": "species"}, "column of the formula"),
        ({"within": "nested"}, "rows of one class only"),
        ({"within": "gaps"}, "Row 7 has a missing value .*'gaps'"),
    ],
)
def test_invalid_requests_are_refused(options, message):
    data = PLANTS.assign(
        single=np.arange(150), nested=np.arange(150) // 2, gaps=PLANTS["plant"].where(IRIS.index != 7)
    )
    with pytest.raises(DataError, match=message):
        pls("species ~ sepal_width + petal_length", data, ncomp=1, **options)


def test_nonnumeric_columns_are_named():
    with pytest.raises(NotSupportedError) as caught:
        pls("species ~ .", PLANTS.assign(soil=["wet", "dry"] * 75), ncomp=1, within="plant")
    assert "'soil'" in str(caught.value)


def test_methods_that_need_single_rows_are_refused():
    fit = pls("species ~ .", PLANTS, ncomp=1, within="plant")
    with pytest.raises(DataError) as caught:
        fit.predict(PLANTS.iloc[[0]])
    assert "deviations" in str(caught.value)
    for call in (
        lambda: fit.to_sql("duckdb"),
        lambda: fit.error_rates(["632+"]),
        lambda: fit.update(PLANTS),
        lambda: list(fit.predict(lambda: iter([PLANTS.iloc[::2], PLANTS.iloc[1::2]]))),
        lambda: pls("species ~ log(petal_width)", PLANTS, ncomp=1, within="plant"),
    ):
        with pytest.raises(NotSupportedError):
            call()
    with pytest.raises(DataError) as caught:
        fit.q2(60)
    assert "50" in str(caught.value)
    assert "fewer" in str(caught.value)
