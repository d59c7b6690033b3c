"""Levels that a fit has not seen: rows of theirs are refused, or missing as any row with a missing value."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score

import discrim
from discrim import cross_validate
from discrim.cli import main
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    DataError,
    DiscrimWarning,
    DroppedColumnsWarning,
    MissingPredictionWarning,
    NotSupportedError,
    UnseenLevelWarning,
)
from discrim.sklearn import FormulaClassifier

RNG = np.random.default_rng(0)
IRIS = load_iris()
FOLD = np.arange(150) % 5
SITE = RNG.choice(list("bcd"), 150)
# The reference has rows in one fold only, and so has another level of the second.
SITE[[7, 12]] = "a"
OTHER = RNG.choice(list("uvw"), 150)
OTHER[3] = "z"
DATA = IRIS.assign(
    **{name: IRIS[name] + RNG.normal(size=150) for name in IRIS.columns[:4]}, site=SITE, other=OTHER
)
NEW = DATA.head(5).assign(site=["b", "c", "new", "b", None])

CASES = [
    ("lda", {}),
    ("qda", {"covariance": "shrunk"}),
    ("rda", {"alpha": 0.5, "gamma": 0.5}),
    ("shrunken_centroids", {"threshold": 1.0}),
    ("sparse_lda", {"penalty": 0.05}),
    ("nearest_centroid", {}),
    ("pls", {"ncomp": 1}),
    ("indicator", {}),
    ("logistic", {"bias_reduction": True}),
    ("fda", {"engine": LinearRegression()}),
    ("perceptron", {}),
    ("knn", {"k": 3}),
    ("kernel_density", {"bandwidth": 1.0}),
    ("kernel_lda", {"kernel": "gaussian", "ridge": 0.1}),
]


def fitted(verb, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        return getattr(discrim, verb)("species ~ .", data, **options)


@pytest.mark.parametrize(("verb", "options"), CASES, ids=[verb for verb, _ in CASES])
def test_unseen_level_is_missing_on_request(verb, options):
    fit = fitted(verb, DATA, **options)
    known = NEW.iloc[[0, 1, 3]]
    methods = {
        "predict": {},
        "predict_proba": {},
        "predict_log_proba": {},
        "decision_function": {},
        "augment": {},
        "transform": {},
        "votes": {},
        "predict_indicators": {},
        "distance": {"a": "setosa", "b": "virginica"},
    }
    for name, more in methods.items():
        if not hasattr(fit, name):
            continue
        ask = getattr(fit, name)
        try:
            expected = ask(known, **more)
        except NotSupportedError:
            continue
        with pytest.raises(DataError) as caught:
            ask(NEW, **more)
        assert caught.value.rows == (2,)
        with pytest.warns(UnseenLevelWarning, match="'new'"):
            found = ask(NEW, unseen="missing", **more)
        assert list(found.index) == list(NEW.index)
        pd.testing.assert_series_equal(
            pd.DataFrame(found).iloc[[0, 1, 3]].stack(), pd.DataFrame(expected).stack(), check_dtype=False
        )
        own = pd.DataFrame(found)
        own = own[[c for c in own if str(c).startswith((".fitted", ".post"))]] if name == "augment" else own
        assert own.iloc[[2, 4]].isna().all(axis=None)
    with pytest.warns(UnseenLevelWarning):
        assert fit.confusion(NEW, unseen="missing").to_numpy().sum() == 3
    with pytest.raises(DataError) as caught:
        fit.predict(NEW, unseen="lenient")
    assert "unseen='lenient'" in str(caught.value)


@pytest.mark.parametrize(("verb", "options"), CASES, ids=[verb for verb, _ in CASES])
def test_a_level_of_one_fold_does_not_stop_cross_validation(verb, options):
    fit = fitted(verb, DATA, **options)
    with pytest.warns(MissingPredictionWarning):
        found = cross_validate(fit, folds=FOLD)
    held = {} if verb in ("indicator", "perceptron", "logistic") else {"prior": fit.prior}
    by_hand = []
    for f in range(5):
        refit = fitted(verb, DATA[f != FOLD], **options, **held)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            by_hand.append(refit.predict(DATA[f == FOLD], unseen="missing"))
    labels, expected = found.labels[1], pd.concat(by_hand).sort_index()
    assert labels.index[labels.isna()].tolist() == [3, 7, 12]
    known = labels.notna()
    assert (labels[known].astype(str) == expected[known].astype(str)).all()
    assert expected[~known].isna().all()


def test_declared_levels_without_rows_are_unseen():
    declared = DATA.assign(other=pd.Categorical(DATA["other"], categories=list("uvwxz")))
    with pytest.warns(DroppedColumnsWarning, match=r"'other'.*'x'"):
        fit = discrim.lda("species ~ .", declared)
    new = declared.head(2).assign(other=pd.Categorical(["x", "u"], categories=list("uvwxz")))
    with pytest.raises(DataError) as caught:
        fit.predict(new)
    assert caught.value.rows == (0,)
    with pytest.warns(UnseenLevelWarning, match="'x'"):
        assert fit.predict(new, unseen="missing").isna().tolist() == [True, False]


def test_levels_of_functions_and_of_interactions():
    data = DATA.assign(code=pd.factorize(DATA["site"])[0])
    for formula in ("species ~ C(code) + sepal_width", "species ~ site:sepal_width + petal_width"):
        fit = discrim.lda(formula, data)
        new = data.head(3).assign(code=[0, 99, 1], site=["b", "new", "c"])
        with pytest.warns(UnseenLevelWarning):
            assert fit.predict(new, unseen="missing").isna().tolist() == [False, True, False]


def test_naive_bayes_predicts_from_the_other_columns():
    fit = discrim.naive_bayes("species ~ .", DATA, laplace=1)
    with pytest.raises(DataError) as caught:
        fit.predict(NEW)
    assert caught.value.rows == (2,)
    expected = fit.predict_proba(NEW.assign(site=NEW["site"].where(NEW["site"] != "new")))
    with pytest.warns(UnseenLevelWarning):
        pd.testing.assert_frame_equal(fit.predict_proba(NEW, unseen="missing"), expected)


def test_leave_one_out_has_no_label_for_a_unique_level():
    one = DATA.assign(other=DATA["other"].where(DATA["other"] != "z", "z"))
    fit = discrim.lda("species ~ other + sepal_width", one)
    with pytest.warns(MissingPredictionWarning):
        assert fit.leave_one_out()["label"].isna().to_numpy().nonzero()[0].tolist() == [3]


def test_command_line_and_estimator_support_unseen_levels(tmp_path, capsys):
    penguins = load_penguins().dropna()
    torn = penguins["island"] == "Torgersen"
    fit = discrim.lda("species ~ island + bill_length_mm", penguins[~torn])
    fit.save(tmp_path / "fit")
    penguins.to_csv(tmp_path / "new.csv", index=False)
    where = [str(tmp_path / "fit"), str(tmp_path / "new.csv")]
    assert main(["predict", *where]) != 0
    capsys.readouterr()
    for more in ([], ["--proba"], ["--augment"]):
        assert main(["predict", *where, "--unseen", "missing", *more]) == 0
        shown = capsys.readouterr()
        assert f"{torn.sum()} rows have a level" in shown.err
        assert len(shown.out.splitlines()) == len(penguins) + 1
    model = FormulaClassifier("species ~ island + bill_length_mm", unseen="missing")
    model.fit(penguins[~torn], penguins["species"][~torn])
    with pytest.warns(UnseenLevelWarning):
        proba = model.predict_proba(penguins)
    prior = penguins["species"][~torn].value_counts(normalize=True).sort_index()
    prior = prior[prior > 0].to_numpy()
    np.testing.assert_allclose(proba[torn.to_numpy()], np.tile(prior, (torn.sum(), 1)))
    with pytest.warns(UnseenLevelWarning):
        labels = model.predict(penguins)
    assert set(labels[torn.to_numpy()]) == {model.classes_[prior.argmax()]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        scores = cross_val_score(
            FormulaClassifier("species ~ site + other + sepal_width", unseen="missing"), DATA, IRIS["species"]
        )
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("verb", ["lda", "logistic", "knn", "indicator", "perceptron", "naive_bayes"])
def test_hint_of_unseen_levels_works_and_warns_once(verb):
    rng = np.random.default_rng(5)
    rows = pd.DataFrame({"x": rng.normal(size=80), "g": np.resize(["p", "q", "q"], 80)})
    rows["y"] = np.where(rows["x"] + rng.normal(size=80) > 0, "u", "v")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = getattr(discrim, verb)("y ~ x + g", rows)
    new = rows.head(3).assign(g=["p", "other", "q"])
    with pytest.raises(DataError) as caught:
        fit.predict(new)
    assert caught.value.rows == (1,)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        shown = fit.augment(new, unseen="missing")
    assert len(told) == 1
    assert ("predicted from the other columns" in str(told[0].message)) == (verb == "naive_bayes")
    assert shown[".fitted"].isna().tolist() == [False, verb != "naive_bayes", False]


@pytest.mark.parametrize(("verb", "options"), [("lda", {}), ("knn", {"k": 3}), ("perceptron", {})])
def test_sources_may_have_unseen_levels(verb, options):
    penguins = load_penguins()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        known = penguins[penguins["island"] != "Torgersen"]
        fit = getattr(discrim, verb)("species ~ island + bill_length_mm", known, **options)

        def parts():
            return (penguins[start : start + 100] for start in range(0, 344, 100))

        with pytest.raises(DataError) as caught:
            fit.confusion(parts)
        assert caught.value.rows == (0,)
        of_table = fit.confusion(penguins, unseen="missing")
        pd.testing.assert_frame_equal(fit.confusion(parts, unseen="missing"), of_table)
        assert fit.error_rates(parts, unseen="missing")["total"].iloc[0] == of_table.to_numpy().sum()
