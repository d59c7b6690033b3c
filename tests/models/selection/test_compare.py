"""`compare` and the tests that take two fits: what may be set side by side, and what may not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import compare, hausman, indicator, knn, lda, load, logistic, lr_test, naive_bayes, qda
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, DiscrimWarning, NotComparableWarning, NotSupportedError

IRIS = load_iris()
FORMULA = "species ~ ."
TWO = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
SHORT = "species ~ sepal_length + sepal_width"
MM = IRIS.assign(**{c: 10 * IRIS[c] for c in IRIS.columns[:4]})
PENGUINS = load_penguins()


def compare_without_warnings(*fits, **options) -> pd.DataFrame:
    """A comparison that warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compare(*fits, **options)


def own_posteriors(fit, data: pd.DataFrame, response: str) -> float:
    """Sum of the logs of the posteriors of the rows' own classes, by the public verbs."""
    logs = fit.predict_log_proba(data)
    return float(sum(logs.loc[row, label] for row, label in data[response].items()))


def test_models_of_the_same_columns_keep_their_criteria():
    fits = (
        lda(FORMULA, IRIS),
        qda(FORMULA, IRIS),
        naive_bayes(FORMULA, IRIS),
        lda(FORMULA, IRIS, prior="equal"),
    )
    rotated = lda("species ~ petal_width + sepal_length + petal_length + sepal_width", IRIS.copy())
    table = compare_without_warnings(*fits, rotated)
    for name in ("aic", "bic", "llf", "nobs"):
        assert table[name].tolist() == [getattr(fit, name) for fit in (*fits, rotated)]
    for fit, result in zip((*fits, rotated), table["llf_given_row"], strict=True):
        assert result == pytest.approx(own_posteriors(fit, IRIS, "species"), rel=1e-10)
    assert table.loc["LDA (1)", "llf_given_row"] == pytest.approx(table.loc["LDA (5)", "llf_given_row"])


@pytest.mark.parametrize(
    "other",
    [
        lambda: lda(FORMULA, IRIS.assign(noise=np.random.default_rng(0).normal(0, 0.001, 150))),
        lambda: lda(FORMULA, MM),
        lambda: lda("species ~ log(sepal_length) + sepal_width + petal_length + petal_width", IRIS),
        lambda: qda("species ~ . - petal_width", IRIS),
        lambda: lda("species ~ standardize(sepal_length) + sepal_width + petal_length + petal_width", IRIS),
    ],
)
def test_likelihoods_of_other_columns_or_units_have_no_criteria(other):
    fits = lda(FORMULA, IRIS), other()
    with pytest.warns(NotComparableWarning) as caught:
        table = compare(*fits)
    assert len(caught) == 1
    assert table[["aic", "bic"]].isna().all(axis=None)
    assert table.attrs["note"] == str(caught[0].message)
    assert table["llf_given_row"].notna().all()


def compare_quietly(*fits, **options) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare(*fits, **options)


@pytest.mark.slow
def test_the_conditional_likelihood_has_no_units_and_agrees_with_the_logistic_model():
    in_mm = compare_quietly(lda(FORMULA, IRIS), lda(FORMULA, MM))["llf_given_row"]
    assert in_mm.iloc[0] == pytest.approx(in_mm.iloc[1], rel=1e-9)
    fits = (
        logistic("species ~ sepal_length", TWO),
        logistic(SHORT, TWO),
        logistic(SHORT, TWO, bias_reduction=True),
    )
    table = compare_without_warnings(*fits)
    np.testing.assert_allclose(table["llf_given_row"], [fit.llf for fit in fits], rtol=1e-10)
    assert table["aic"].tolist() == [fit.aic for fit in fits]
    weights = 1.0 + np.arange(100) % 3
    heavy = logistic(SHORT, TWO, weights=weights)
    assert compare_without_warnings(heavy)["llf_given_row"].iloc[0] == pytest.approx(heavy.llf, rel=1e-10)


def test_joint_and_conditional_likelihoods_are_not_compared():
    linear, logit = lda(SHORT, TWO), logistic(SHORT, TWO)
    with pytest.warns(NotComparableWarning):
        table = compare(linear, logit)
    assert np.isnan(table.loc["LDA", "aic"])
    assert table.loc["Logistic", "aic"] == logit.aic
    # The logistic model has the largest of all linear log odds.
    assert table.loc["LDA", "llf_given_row"] < table.loc["Logistic", "llf_given_row"]
    assert (
        compare_without_warnings(linear, indicator(SHORT, TWO), knn(SHORT, TWO, k=5))["aic"].iloc[0]
        == linear.aic
    )


def test_lda_and_logistic_of_other_terms_are_compared_by_fit():
    linear, logit = lda(SHORT, TWO), logistic("species ~ sepal_width", TWO)
    with pytest.warns(NotComparableWarning):
        comparison = compare(linear, logit)
    assert list(comparison.index) == ["LDA", "Logistic"]
    arguments = [own_posteriors(fit, TWO, "species") for fit in (linear, logit)]
    np.testing.assert_allclose(comparison["llf_given_row"], arguments, rtol=1e-9)
    with pytest.raises(DataError) as caught:
        comparison.log_odds()
    assert "terms" in str(caught.value)
    assert "differ" in str(caught.value)


def test_every_comparison_has_a_row_for_each_fit():
    linear, logit = lda(SHORT, TWO), logistic(SHORT, TWO)
    with pytest.warns(NotComparableWarning):
        plain = compare(linear, logit)
    folds = compare(linear, logit, folds=3, seed=1)
    assert [table.index.tolist() for table in (plain, folds)] == [["LDA", "Logistic"]] * 2
    assert list(folds.columns) == [*plain.columns, "error_cv", "se_cv"]
    with pytest.raises(DataError):
        plain.pairs()
    with pytest.raises(NotSupportedError):
        compare_without_warnings(linear, qda(SHORT, TWO)).log_odds()
    for options in ({"by": "pair"}, {"cv": 3}):
        with pytest.raises(TypeError):
            compare(linear, logit, **options)
    fits = [lda(f"species ~ {terms}", PENGUINS) for terms in ("bill_depth_mm", "bill_depth_mm + sex")]
    with pytest.warns(NotComparableWarning):
        table = compare(*fits, folds=3, seed=0)
    assert table["nobs"].tolist() == [342, 333]
    assert table[["llf", "aic", "bic", "llf_given_row", "error_apparent", "error_loo"]].isna().all(axis=None)
    assert table.pairs()["rows"].tolist() == [333]
    each = discrim.cross_validate(fits[1], 3, seed=0).table().loc["error", ["estimate", "se"]]
    assert table.iloc[1][["error_cv", "se_cv"]].tolist() == each.tolist()


def test_a_count_has_a_probability_and_no_density():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"a": rng.poisson(4, 60), "b": rng.poisson(2, 60), "y": np.repeat(["u", "v"], 30)})
    normal, counted = naive_bayes("y ~ a + b", data), naive_bayes("y ~ a + b", data, counts=["a", "b"])
    with pytest.warns(NotComparableWarning):
        assert compare(normal, counted)["aic"].isna().all()
    assert (
        compare_without_warnings(counted, naive_bayes("y ~ b + a", data, counts=["a", "b"]))["aic"]
        .round(6)
        .nunique()
        == 1
    )


HALVES = [IRIS.iloc[i::2].reset_index(drop=True) for i in (0, 1)]
ONE_OUT = np.where(np.arange(150) == 1, 0.0, np.where(np.arange(150) == 0, 2.0, 1.0))


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (lambda: lda(FORMULA, IRIS), lambda: lda(FORMULA, IRIS.iloc[::2]), "uses 75 rows.*first 150"),
        (
            lambda: lda(FORMULA, IRIS.iloc[::2]),
            lambda: lda(FORMULA, IRIS.iloc[1::2]),
            "row 1 ",
        ),
        (lambda: lda(FORMULA, HALVES[0]), lambda: qda(FORMULA, HALVES[1]), "another table.*'sepal_length'"),
        (lambda: lda(FORMULA, IRIS), lambda: lda(FORMULA, IRIS, weights=np.full(150, 2.0)), "uses 300 rows"),
        (
            lambda: lda(FORMULA, IRIS),
            lambda: lda(FORMULA, IRIS, weights=ONE_OUT),
            "row 1 |weight",
        ),
        (
            lambda: logistic("sex ~ bill_depth_mm", PENGUINS),
            lambda: lda("species ~ bill_depth_mm", PENGUINS),
            "has the classes 'Adelie', 'Chinstrap', 'Gentoo'",
        ),
        (
            lambda: logistic("species ~ sepal_length", TWO),
            lambda: logistic("species ~ sepal_length", TWO.assign(species=TWO["species"].to_numpy()[::-1])),
            "another class at row 50",
        ),
    ],
)
def test_fits_of_other_rows_are_not_compared(one, other, says):
    with pytest.raises(DataError, match=says):
        compare(one(), other())


def test_rows_that_one_fit_drops_are_named_with_a_valid_hint():
    formulas = "species ~ bill_depth_mm", "species ~ bill_depth_mm + sex"
    with pytest.raises(DataError) as caught:
        compare(*(lda(formula, PENGUINS) for formula in formulas))
    assert "'bill_depth_mm'" in str(caught.value)
    assert "'sex'" in str(caught.value)
    complete = PENGUINS.dropna(subset=["bill_depth_mm", "sex"])
    assert compare_quietly(*(lda(formula, complete) for formula in formulas))["nobs"].tolist() == [333, 333]
    # The same rows of another table of the same index are the same rows.
    assert (
        compare_without_warnings(lda(formulas[1], PENGUINS), qda(formulas[1], complete))["aic"].notna().all()
    )


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
def test_by_pair_rows_of_one_table_may_be_dropped_but_not_be_of_another():
    fits = [lda(f"species ~ {terms}", PENGUINS) for terms in ("bill_depth_mm", "bill_depth_mm + sex")]
    assert compare(*fits, folds=4, seed=0).pairs()["rows"].iloc[0] == 333
    with pytest.raises(DataError) as caught:
        compare(lda(SHORT, HALVES[0]), lda(SHORT, HALVES[1]), folds=3, seed=0)
    assert caught.value.columns == ("sepal_length",)


def test_fits_without_rows_are_distinguished_by_counts_and_means(tmp_path):
    lda(FORMULA, IRIS).save(tmp_path / "fit")
    fixed = load(tmp_path / "fit")
    table = compare_without_warnings(fixed, qda(FORMULA, IRIS))
    assert table["aic"].notna().all()
    assert table["llf_given_row"].isna().tolist() == [True, False]
    with pytest.warns(NotComparableWarning):
        assert compare(fixed, lda(FORMULA, MM))["aic"].isna().all()
    with pytest.raises(DataError) as caught:
        compare(fixed, lda(FORMULA, IRIS.iloc[::2]))
    assert "75" in str(caught.value)
    made = discrim.moments(FORMULA, IRIS)
    assert compare_without_warnings(lda(moments=made), lda(FORMULA, IRIS))["aic"].round(6).nunique() == 1


@pytest.mark.slow
def test_tests_of_two_fits_refuse_other_rows_and_units():
    with pytest.raises(DataError) as caught:
        lr_test(lda(FORMULA, IRIS), qda(FORMULA, MM))
    assert "values of their columns" in str(caught.value)
    with pytest.raises(DataError) as caught:
        lr_test(lda(FORMULA, HALVES[0]), qda(FORMULA, HALVES[1]))
    assert "another table" in str(caught.value)
    halves = [TWO.iloc[i::2].reset_index(drop=True) for i in (0, 1)]
    with pytest.raises(DataError) as caught:
        hausman(lda(SHORT, halves[0]), logistic(SHORT, halves[1]))
    assert "another table" in str(caught.value)
    with pytest.raises(DataError) as caught:
        hausman(lda(SHORT, TWO), logistic(SHORT, TWO.assign(sepal_width=10 * TWO["sepal_width"])))
    assert "values of their columns" in str(caught.value)
    sm = pytest.importorskip("statsmodels.api")
    y, x = (
        (TWO["species"] == "virginica").astype(float),
        sm.add_constant(TWO[["sepal_length", "sepal_width"]]),
    )
    theirs = sm.Logit(y[:-3], x[:-3]).fit(disp=0)
    with pytest.raises(DataError) as caught:
        hausman(lda(SHORT, TWO), theirs)
    assert "LDA has 100, the logistic regression 97" in str(caught.value)


@pytest.mark.slow
def test_refit_prior_applies_to_leave_one_out_of_all_fits():
    fits = lda(SHORT, TWO), logistic(SHORT, TWO), indicator(SHORT, TWO)
    for asked in (True, False):
        table = compare_quietly(*fits, refit_prior=asked)
        for fit, result in zip(fits[:2], table["error_loo"], strict=False):
            assert result == fit.error_rates(["loo"], refit_prior=asked)["estimate"].iloc[0]
        assert table["error_loo"].notna().all()


SEPALS, PETALS = "species ~ sepal_length + sepal_width", "species ~ petal_length + petal_width"


@pytest.mark.parametrize("options", [{}, {"folds": 3, "seed": 0}])
def test_different_rows_are_detected_without_common_columns(options):
    with pytest.raises(DataError) as caught:
        compare(lda(SEPALS, HALVES[0]), lda(PETALS, HALVES[1]), **options)
    assert caught.value.columns == ("sepal_length",)
    # The same rows are the same with columns added, transformed or left out.
    added = IRIS.assign(petal_length=(IRIS["petal_length"] - 4) ** 2, more=1.0)
    for other in (IRIS.copy(), added, IRIS.drop(columns=["sepal_length"])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DiscrimWarning)
            assert len(compare(lda(SEPALS, IRIS), lda(PETALS, other), **options))


@pytest.mark.parametrize("seed", range(3))
def test_no_test_compares_fits_to_other_rows_of_equal_counts(seed, tmp_path):
    # Halves of each class, dealt at random, under one index.
    order = IRIS.sample(frac=1, random_state=seed).sort_values("species", kind="stable")
    one, other = (order.iloc[i::2].reset_index(drop=True) for i in (0, 1))
    pair = [half[half["species"] != "setosa"].astype({"species": str}) for half in (one, other)]
    lda(FORMULA, one).save(tmp_path / "fit")
    with pytest.raises(DataError) as caught:
        lr_test(lda(FORMULA, one), qda(FORMULA, other))
    assert caught.value.columns == ("sepal_length",)
    with pytest.raises(DataError) as caught:
        lr_test(load(tmp_path / "fit"), qda(FORMULA, other))
    assert "values" in str(caught.value)
    assert "columns" in str(caught.value)
    with pytest.raises(DataError) as caught:
        hausman(lda(SHORT, pair[0]), logistic(SHORT, pair[1]))
    assert caught.value.columns == ("sepal_length",)
    with pytest.raises(DataError) as caught:
        compare(lda(FORMULA, one), qda(FORMULA, other), folds=3, seed=0)
    assert caught.value.columns == ("sepal_length",)


def test_hausman_checks_the_rows_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    halves = [TWO.iloc[i::2].reset_index(drop=True) for i in (0, 1)]
    models = [
        sm.Logit(
            (half["species"] == "virginica").astype(float),
            sm.add_constant(half[["sepal_length", "sepal_width"]]),
        ).fit(disp=0)
        for half in halves
    ]
    fit = lda(SHORT, halves[0])
    ours = hausman(fit, logistic(SHORT, halves[0]))
    assert hausman(fit, models[0]).pvalue == pytest.approx(ours.pvalue, rel=1e-6)
    with pytest.raises(DataError) as caught:
        hausman(fit, models[1])
    assert caught.value.classes == ("versicolor",)
    rotated = halves[0].sample(frac=1, random_state=1)
    assert hausman(lda(SHORT, rotated), models[0]).pvalue == pytest.approx(ours.pvalue, rel=1e-6)


def test_a_table_changed_between_two_fits_counts_as_different():
    data = IRIS.copy()
    linear = lda(FORMULA, data)
    for name in IRIS.columns[:4]:
        data[name] = data.groupby("species", observed=True)[name].transform(
            lambda each: each.to_numpy()[::-1]
        )
    with pytest.raises(DataError) as caught:
        lr_test(linear, qda(FORMULA, data))
    assert caught.value.columns == ("sepal_length",)
