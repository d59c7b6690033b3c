"""Hints of errors are followed on data that provoke the error, and lead to a fit."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import discrim
from discrim import cross_validate
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    ConvergenceWarning,
    DataError,
    DiscrimError,
    DiscrimWarning,
    NotSupportedError,
    SeparationError,
)
from tests import support

IRIS = load_iris()
RNG = np.random.default_rng(0)


def digits():
    # Most columns are constant in some digit, three in all.
    x, y = load_digits(return_X_y=True, as_frame=True)
    return x.assign(y=[f"d{digit}" for digit in y])


def constant_columns():
    # Two columns of eight are constant, in two of three classes.
    data = IRIS.rename(columns={"species": "y"}).assign(**{f"x{j}": RNG.normal(size=150) for j in range(4)})
    data.loc[:49, ["x0", "x1"]] = 3.0
    data.loc[50:99, "x1"] = -1.0
    return data


def sum_in_one_class():
    # A sum that is exact in one class only.
    data = IRIS.rename(columns={"species": "y"}).assign(total=RNG.normal(size=150), u=RNG.normal(size=150))
    return data.assign(total=data["total"].where(data["y"] != "setosa", data["u"] + data["sepal_width"]))


def few_rows():
    return constant_columns().groupby("y", observed=True).head(6)


def degenerate_classes():
    # A class of one row, and one of equal rows.
    data = constant_columns()
    data["y"] = data["y"].astype(str)
    alone = data.tail(1).assign(y="alone")
    alike = pd.concat([data.head(1)] * 3).assign(y="alike")
    return pd.concat([data, alone, alike], ignore_index=True)


def single_row_class():
    data = IRIS.rename(columns={"species": "y"}).astype({"y": str})
    return pd.concat([data, data.tail(1).assign(y="alone")], ignore_index=True)


def letter_subset():
    return (
        support.classic_table("mlbench_LetterRecognition")
        .rename(columns={"lettr": "y"})
        .groupby("y")
        .head(60)
    )


TABLES = [
    digits,
    constant_columns,
    sum_in_one_class,
    few_rows,
    degenerate_classes,
    single_row_class,
    letter_subset,
]
FORMULA = "y ~ ."


def call_without_warnings(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        return call()


def parse_remedies(message):
    """Return every remedy that a message offers, as (function or None, options, columns to leave out)."""
    advice = message[message.index(". ") :]
    remedies = []
    for call in re.findall(r"[Uu]se (\w+)\(([^)]*)\)", advice):
        remedies.append((call[0], eval(f"dict({call[1]})"), []))
    plain = re.sub(r"[Uu]se \w+\([^)]*\)", "", advice)
    options = {
        name: float(value) if value[0].isdigit() else value.strip('"')
        for name, value in re.findall(r"(\w+)=(\"[\w-]+\"|[\d.e+-]+\d)", plain)
    }
    if options:
        remedies.append((None, options, []))
    excluded = re.search(r"leave out ((?:'[^']+'(?:, )?)+)", plain)
    if excluded:
        remedies.append((None, {}, re.findall(r"'([^']+)'", excluded[1])))
    return remedies


def assert_remedies_work(verb, data, message):
    """Follow each remedy of a message, check that it fits, and return the remedies."""
    remedies = parse_remedies(message)
    assert remedies, message
    for other, options, columns in remedies:
        fit_again = getattr(discrim, other or verb)
        fit = call_without_warnings(
            lambda again=fit_again, o=options, c=columns: again(FORMULA, data.drop(columns=c), **o)
        )
        assert fit.predict().notna().all(), message
    return remedies


@pytest.mark.parametrize("table", TABLES, ids=[table.__name__ for table in TABLES])
@pytest.mark.parametrize("verb", ["lda", "qda", "naive_bayes"])
def test_the_way_out_works(verb, table):
    data = table()
    try:
        call_without_warnings(lambda: getattr(discrim, verb)(FORMULA, data))
    except CollinearError as error:
        assert_remedies_work(verb, data, str(error))


@pytest.mark.parametrize(
    ("verb", "first"), [("qda", 'Pass covariance="shrunk"'), ("naive_bayes", "Pass smoothing=1e-09")]
)
def test_all_columns_and_classes_are_named_in_one_error(verb, first):
    with pytest.raises(CollinearError) as caught:
        getattr(discrim, verb)(FORMULA, constant_columns())
    message = str(caught.value)
    assert "'x0', 'x1' are constant in class 'setosa'; 'x1' is constant in class 'versicolor'" in message
    assert first in message
    assert message.endswith("or leave out 'x0', 'x1'.")


def test_hint_never_removes_almost_all_variables():
    data = constant_columns()[["x0", "x1", "x2", "y"]]
    for verb in ("qda", "naive_bayes"):
        with pytest.raises(CollinearError) as caught:
            getattr(discrim, verb)(FORMULA, data)
        assert "leave out" not in str(caught.value)
        assert_remedies_work(verb, data, str(caught.value))


@pytest.mark.parametrize("verb", ["qda", "naive_bayes"])
def test_error_of_a_fold_names_class_and_column_and_its_hint_works(verb):
    # The column varies in the class by one row, which one fold holds.
    data = constant_columns().drop(columns=["x0", "x1"])
    data["odd"] = np.where(data["y"] == "setosa", 0.0, RNG.normal(size=150))
    data.loc[7, "odd"] = 1.0
    folds = np.arange(150) % 5
    fit = getattr(discrim, verb)(FORMULA, data)
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(fit, folds=folds)
    assert "'odd'" in str(caught.value)
    assert caught.value.columns == ("odd",)
    assert caught.value.classes == ("setosa",)
    for other, options, columns in assert_remedies_work(
        verb, data, str(caught.value).partition("cannot be fitted. ")[2]
    ):
        again = getattr(discrim, other or verb)(FORMULA, data.drop(columns=columns), **options)
        assert cross_validate(again, folds=folds).table().loc["error", "estimate"] < 0.2


def test_classes_without_bandwidth_or_counts():
    data = constant_columns()
    with pytest.raises(CollinearError) as caught:
        discrim.naive_bayes(FORMULA, data, kernel=True)
    assert "'x0'" in str(caught.value)
    assert "'x1'" in str(caught.value)
    discrim.naive_bayes(FORMULA, data, kernel=True, bandwidth={"x0": 0.1, "x1": 0.1})


def test_robust_covariances_have_their_own_way_out():
    for covariance in ("t", "mcd"):
        with pytest.raises(DiscrimError) as caught:
            discrim.qda(FORMULA, constant_columns(), covariance=covariance)
        assert 'covariance="shrunk"' in str(caught.value)


def wide():
    x = np.random.default_rng(3).normal(size=(30, 40))
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(40)]).assign(y=np.repeat(["a", "b", "c"], 10))


def test_hint_for_logistic_with_few_rows_leads_to_a_fit():
    data = wide()
    with pytest.raises(CollinearError) as caught:
        discrim.logistic(FORMULA, data)
    assert 'covariance="shrunk"' in str(caught.value)
    assert "bias_reduction=True" in str(caught.value)
    assert discrim.lda(FORMULA, data, covariance="shrunk").predict().notna().all()
    fit = call_without_warnings(
        lambda: discrim.logistic(FORMULA, data, collinear="drop", bias_reduction=True)
    )
    assert (fit.predict() == data["y"]).all()
    with pytest.raises(SeparationError) as caught:
        call_without_warnings(lambda: discrim.logistic(FORMULA, data, collinear="drop"))
    assert 'covariance="shrunk"' in str(caught.value)


def test_hint_keeps_the_only_separating_term():
    with pytest.raises(SeparationError) as caught:
        discrim.logistic("species ~ petal_length", IRIS)
    assert "bias_reduction=True" in str(caught.value)
    assert "lda()" in str(caught.value)
    with pytest.raises(SeparationError) as caught:
        discrim.logistic("species ~ petal_length + petal_width", IRIS)
    assert "terms" in str(caught.value)
    assert "these" in str(caught.value)


@pytest.mark.parametrize(("rows", "more"), [(2, False), (3, True)])
def test_rda_suggests_more_folds_if_they_help(rows, more):
    short = IRIS.groupby("species", observed=True).head(50).drop(index=range(rows, 50))
    with pytest.raises(DataError) as caught:
        call_without_warnings(lambda: discrim.rda("species ~ .", short, folds=2, seed=0))
    assert "'setosa'" in str(caught.value)
    assert ("more folds" in str(caught.value)) is more
    if more:
        assert (
            call_without_warnings(lambda: discrim.rda("species ~ .", short, folds="loo"))
            .predict()
            .notna()
            .all()
        )
    else:
        with pytest.raises(DataError) as caught:
            call_without_warnings(lambda: discrim.rda("species ~ .", short, folds="loo"))
        assert caught.value.classes == ("setosa",)
        fit = call_without_warnings(lambda: discrim.rda("species ~ .", short, alpha=0.5, gamma=0.5))
        assert fit.predict().notna().all()


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
def test_perceptron_of_three_classes_is_not_referred_to_hyperplane():
    with pytest.warns(ConvergenceWarning) as told:
        discrim.perceptron("species ~ .", IRIS, maxiter=1)
    assert not any("hyperplane()" in str(each.message) for each in told)


def test_threshold_can_be_passed_if_a_class_is_too_small_for_folds():
    data = IRIS.drop(index=range(2, 50))
    fit = call_without_warnings(lambda: discrim.shrunken_centroids("species ~ .", data, seed=0))
    with pytest.raises(NotSupportedError) as caught:
        call_without_warnings(lambda: cross_validate(fit, folds=5, seed=1))
    assert caught.value.classes == ("setosa",)
    given = discrim.shrunken_centroids("species ~ .", data, threshold=0.5)
    assert call_without_warnings(lambda: cross_validate(given, folds=5, seed=1)).summary() is not None


def test_hint_for_leave_one_out_of_many_rows_works():
    rng = np.random.default_rng(13)
    many = pd.DataFrame({"x": rng.standard_normal(2100), "y": np.repeat(["a", "b", "b"], 700)})
    for fit in (discrim.logistic("y ~ x", many), discrim.lda("y ~ x", many, covariance="mcd")):
        with pytest.raises(NotSupportedError) as caught:
            fit.error_rates(["loo"])
        assert "error_rates" in str(caught.value)
        assert '"cv"' in str(caught.value)
        assert fit.error_rates(seed=1).index.tolist() == ["apparent", "cv"]
        wrong = fit.error_rates(["cv"], seed=1)["wrong"].iloc[0]
        assert 0 < wrong < len(many)
        assert fit.confusion("cv").to_numpy().sum() == len(many)
