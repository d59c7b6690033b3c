"""Choices on splits of the rows that are given, against refits of the parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import RepeatedKFold, ShuffleSplit

from discrim import cross_validate, rda, shrunken_centroids
from discrim.datasets import load_iris, load_wine
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.sklearn import RDAClassifier

IRIS = load_iris()
WINE = load_wine()
SPLITS = {
    "partial": list(ShuffleSplit(4, test_size=0.2, random_state=1).split(IRIS)),
    "repeated": list(RepeatedKFold(n_splits=3, n_repeats=2, random_state=2).split(IRIS)),
    "drawn": [(np.r_[0:150, 3, 3, 60], np.r_[5:150:7, 12, 12]), (np.r_[1:150:2], np.r_[0:150:2])],
}


def repeated(data: pd.DataFrame, rows: np.ndarray, weights: np.ndarray) -> pd.DataFrame:
    return data.iloc[np.repeat(rows, weights[rows])]


def wrong_share(fit, data: pd.DataFrame, response: str, prior: pd.Series) -> float:
    """Rate of wrong rows, each class weighted by its prior; classes that are not there left out."""
    missed = (fit.predict(data) != data[response]).groupby(data[response].astype(str)).mean()
    proportion = prior.rename(str)[missed.index]
    return float((missed * proportion).sum() / proportion.sum())


@pytest.mark.parametrize(("name", "weighted"), [("partial", True), ("repeated", False), ("drawn", True)])
def test_pair_errors_equal_errors_of_refits(name, weighted):
    weights = (1 + np.arange(150) % 3) if weighted else np.ones(150, dtype=int)
    grid = {"alpha": [0.0, 0.5, 1.0], "gamma": [0.3]}
    given = {"weights": weights} if weighted else {}
    fit = rda("species ~ .", IRIS, folds=SPLITS[name], grid=grid, **given)
    for _, row in fit.path.iterrows():
        rates = [
            wrong_share(
                rda(
                    "species ~ .",
                    repeated(IRIS, train, weights),
                    alpha=row["alpha"],
                    gamma=row["gamma"],
                    prior=fit.prior,
                ),
                repeated(IRIS, test, weights),
                "species",
                fit.prior,
            )
            for train, test in SPLITS[name]
        ]
        assert row["error"] == pytest.approx(np.mean(rates), abs=1e-12)
        assert row["se"] == pytest.approx(np.std(rates, ddof=1) / np.sqrt(len(rates)), abs=1e-12)


def test_more_columns_than_rows_and_rows_that_are_dropped():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(24, 40))).add_prefix("x").assign(y=list("ab") * 12)
    data.loc[data["y"] == "a", ["x0", "x1"]] += 2
    data.loc[5, "x3"] = np.nan
    splits = list(ShuffleSplit(3, test_size=0.4, random_state=3).split(data))
    fit = rda("y ~ .", data, folds=splits, grid={"alpha": [0.0, 0.6], "gamma": [0.2, 0.7]})
    for _, row in fit.path.iterrows():
        pair = {"alpha": row["alpha"], "gamma": row["gamma"]}
        rates = [
            wrong_share(
                rda("y ~ .", data.iloc[train], prior=fit.prior, **pair),
                data.iloc[test].dropna(),
                "y",
                fit.prior,
            )
            for train, test in splits
        ]
        assert row["error"] == pytest.approx(np.mean(rates), abs=1e-12)


def test_threshold_errors_equal_errors_of_refits():
    splits = list(ShuffleSplit(5, test_size=0.3, random_state=6).split(WINE))
    grid = [0.0, 2.0, 5.0]
    fit = shrunken_centroids("cultivar ~ .", WINE, folds=splits, grid=grid)
    for threshold, error in zip(fit.path["threshold"], fit.path["error"], strict=True):
        wrong = pd.Series(0.0, index=fit.classes)
        judged = wrong.copy()
        for train, test in splits:
            chunk = shrunken_centroids("cultivar ~ .", WINE.iloc[train], threshold=threshold, prior=fit.prior)
            rows = WINE.iloc[test]
            wrong = wrong.add(
                (chunk.predict(rows) != rows["cultivar"]).groupby(rows["cultivar"]).sum(), fill_value=0
            )
            judged = judged.add(rows["cultivar"].value_counts(), fill_value=0)
        assert error == pytest.approx(wrong.sum() / judged.sum(), abs=1e-12)


def test_truth_values_and_iterators_are_splits():
    (train, test), *more = SPLITS["partial"]
    masks = [(np.isin(np.arange(150), a), np.isin(np.arange(150), b)) for a, b in ((train, test), *more)]
    plain = rda("species ~ .", IRIS, folds=SPLITS["partial"], gamma=0.5)
    for cv in (masks, iter(SPLITS["partial"]), [(a.tolist(), b.tolist()) for a, b in SPLITS["partial"]]):
        pd.testing.assert_frame_equal(rda("species ~ .", IRIS, folds=cv, gamma=0.5).path, plain.path)
    model = RDAClassifier(cv=SPLITS["partial"], gamma=0.5).fit(IRIS.iloc[:, :4], IRIS["species"])
    pd.testing.assert_frame_equal(model.results_.path, plain.path)
    assert "4 splits" in str(plain.summary())


@pytest.mark.parametrize(
    ("cv", "match"),
    [
        ("five", "folds='five' is not valid. Pass a number of folds"),
        (1, "folds=1 is not valid. Pass a number of folds"),
        (True, "folds=True is not valid. Pass"),
        ([], "folds is empty"),
        ([3], "Split 1 of folds"),
        ([(range(9), range(9, 150)), (range(9),)], "Split 2 of folds"),
        ([(range(9), [])], "Test of split 1 of folds is empty"),
        (
            [(range(9), np.ones(9, dtype=bool))],
            "split 1 of folds has 9 booleans",
        ),
        ([(range(9), [[1]])], "Test of split 1 of folds"),
        ([(["a"], [1])], "Train of split 1 of folds"),
        ([([0.5], [1])], "Train of split 1"),
        ([(range(9), [150])], "position 150"),
        ([([-1], [1])], "position -1"),
        (
            [(range(51), range(51, 150))],
            "Split 1 of folds has at most one training row of class 'versicolor'",
        ),
    ],
)
def test_invalid_splits_are_named(cv, match):
    with pytest.raises(DataError, match=match):
        rda("species ~ .", IRIS, folds=cv)
    if cv not in (1, True):
        with pytest.raises((DataError, ValueError)):
            shrunken_centroids("species ~ .", IRIS, folds=cv, offset=0.0)


@pytest.mark.parametrize("verb", [rda, shrunken_centroids])
def test_splits_require_rows_of_the_fit(verb):
    missing = IRIS.copy()
    missing.loc[[3, 60], "sepal_width"] = np.nan
    with pytest.raises(DataError) as caught:
        verb("species ~ .", missing, folds=[(range(150), [3, 60])])
    assert "Test" in str(caught.value)
    assert "split" in str(caught.value)
    with pytest.raises(DataError) as caught:
        verb("species ~ .", IRIS, folds=[([0, 1], range(150))], weights=np.r_[0, 0, np.ones(148)])
    assert "Train" in str(caught.value)
    assert "split" in str(caught.value)
    with pytest.raises((DataError, CollinearError)) as caught:
        verb("species ~ .", IRIS, folds=[(range(100), range(100, 150))])
    assert "folds" in str(caught.value)


@pytest.mark.parametrize("verb", [rda, shrunken_centroids])
def test_folds_repeat_choices_on_splits_without_their_rows(verb):
    grid = {"grid": [0.0, 0.5, 1.0], "gamma": 1.0} if verb is rda else {"grid": [0.0, 3.0, 9.0, 20.0]}
    splits = SPLITS["partial"]
    fit = verb("species ~ .", IRIS, folds=splits, **grid)
    deal = np.arange(150) % 5
    values = cross_validate(fit, folds=list(deal)).labels.iloc[:, 0].to_numpy()
    for fold in range(5):
        position = np.cumsum(deal != fold) - 1
        left = [tuple(position[rows[deal[rows] != fold]] for rows in split) for split in splits]
        chunk = verb("species ~ .", IRIS[deal != fold], folds=left, prior=fit.prior, **grid)
        np.testing.assert_array_equal(values[deal == fold], chunk.predict(IRIS[deal == fold]))
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(verb("species ~ .", IRIS, folds=[(range(150), [5])], **grid), folds=5, seed=0)
    assert caught.value.classes == ("setosa",)


def test_one_split_has_no_standard_error():
    one = SPLITS["partial"][:1]
    assert rda("species ~ .", IRIS, folds=one, gamma=0.5).path["se"].isna().all()
    with pytest.raises(DataError) as caught:
        rda("species ~ .", IRIS, folds=one, gamma=0.5, alpha="1se")
    assert "Pass two" in str(caught.value)
