"""The contract of perceptron and hyperplane: like classifiers, with values in place of posteriors."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.datasets import load_iris, load_penguins

VERBS = {
    "perceptron": (discrim.perceptron, {}),
    "perceptron-shuffled": (discrim.perceptron, {"seed": 5, "step": 0.5}),
    "hyperplane": (discrim.hyperplane, {}),
    "indicator": (discrim.indicator, {}),
}


def two_species(data: pd.DataFrame, *species: str) -> pd.DataFrame:
    return data[data["species"].isin(species)].astype({"species": str})


TABLES = {
    "iris": ("species ~ .", two_species(load_iris(), "setosa", "versicolor")),
    "penguins": (
        "species ~ center(bill_length_mm) + center(bill_depth_mm) + log(body_mass_g) + sex",
        two_species(load_penguins(), "Adelie", "Gentoo"),
    ),
}


def fitted(verb: str, name: str, data: pd.DataFrame | None = None):
    fit, options = VERBS[verb]
    formula, own = TABLES[name]
    return fit(formula, data=own if data is None else data, **options)


@cache
def cached_fit(verb: str, name: str):
    """Return one fit for all tests that do not change it."""
    return fitted(verb, name)


cases = pytest.mark.parametrize(("verb", "name"), [(v, n) for v in VERBS for n in TABLES])


@cases
def test_labels_follow_from_values_and_all_rows_are_on_their_side(verb, name):
    fit = cached_fit(verb, name)
    data = TABLES[name][1]
    values, labels = fit.decision_function(), fit.predict()
    known = values.notna()
    assert known.sum() == len(data) - fit._fit.dropped
    assert (labels[known] == np.where(values[known] > 0, fit.classes[1], fit.classes[0])).all()
    assert labels[~known].isna().all()
    assert (labels[known] == data["species"][known]).all()
    np.testing.assert_array_equal(np.sign(fit.boundary().distance()[known]), np.sign(values[known]))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("verb", ["hyperplane", "indicator"])
def test_order_of_rows_does_not_matter(verb, name):
    data = TABLES[name][1]
    fit, shuffled = cached_fit(verb, name), fitted(verb, name, data.sample(frac=1, random_state=3))
    np.testing.assert_allclose(
        fit.boundary().distance(), shuffled.boundary().distance(data), rtol=1e-9, atol=1e-9
    )
    if verb == "hyperplane":
        assert set(fit.support) == set(shuffled.support)


@pytest.mark.parametrize("verb", VERBS)
def test_order_of_columns_does_not_matter(verb):
    data = TABLES["iris"][1]
    turned = data[["petal_width", "species", "sepal_length", "petal_length", "sepal_width"]]
    fit, other = cached_fit(verb, "iris"), fitted(verb, "iris", turned)
    np.testing.assert_allclose(fit.decision_function(), other.decision_function(), rtol=1e-9, atol=1e-9)


@cases
def test_pickle_and_file_keep_every_bit(verb, name, tmp_path):
    fit, data = cached_fit(verb, name), TABLES[name][1]
    again = pickle.loads(pickle.dumps(fit))
    pd.testing.assert_series_equal(again.decision_function(data), fit.decision_function(), check_exact=True)
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_series_equal(loaded.decision_function(data), fit.decision_function(), check_exact=True)
    pd.testing.assert_frame_equal(loaded.glance(), fit.glance(), check_exact=True)
    assert "not available" in loaded.summary(["header"]).as_text()
    with pytest.raises(discrim.errors.NotSupportedError) as caught:
        loaded.predict()
    assert "data=" in str(caught.value)


@cases
def test_twice_is_bitwise_the_same_and_inputs_stay(verb, name):
    data = TABLES[name][1]
    before = data.copy(deep=True)
    one, two = fitted(verb, name, data), cached_fit(verb, name)
    one.leave_one_out()
    pd.testing.assert_series_equal(one.decision_function(), two.decision_function(), check_exact=True)
    pd.testing.assert_frame_equal(data, before, check_exact=True)


@cases
def test_one_block_equals_many_blocks(verb, name, short_blocks):
    whole = cached_fit(verb, name).decision_function()
    short_blocks()
    np.testing.assert_allclose(whole, fitted(verb, name).decision_function(), rtol=1e-9, atol=1e-9)


@cases
def test_a_row_with_a_missing_value_keeps_its_place(verb, name):
    fit = cached_fit(verb, name)
    new = TABLES[name][1].dropna().iloc[:6].copy()
    column = fit._fit.design_rows.design.columns[0]
    new.iloc[2, new.columns.get_loc(column)] = np.nan
    for missing in (fit.predict(new), fit.decision_function(new), fit.boundary().distance(new)):
        assert missing.isna().tolist() == [False, False, True, False, False, False]
    assert fit.boundary().foot(new).isna().any(axis=1).tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize("verb", VERBS)
def test_unseen_level_of_a_predictor_is_named(verb):
    new = TABLES["penguins"][1].head(4).assign(sex="unknown")
    with pytest.raises(discrim.errors.DataError) as caught:
        cached_fit(verb, "penguins").predict(new)
    assert caught.value.rows == (0,)


@cases
def test_the_response_may_be_missing_from_new_data(verb, name):
    fit, data = cached_fit(verb, name), TABLES[name][1]
    pd.testing.assert_series_equal(fit.predict(data.drop(columns="species")), fit.predict(data))


@pytest.mark.parametrize("verb", VERBS)
def test_leaving_a_row_out_equals_a_refit_without_it(verb):
    fit, (formula, data) = cached_fit(verb, "iris"), TABLES["iris"]
    left = fit.leave_one_out()
    verb_, options = VERBS[verb]
    for row in (3, 41, 77):
        refit = verb_(formula, data.drop(index=data.index[row]), **options)
        expected = refit.decision_function(data.iloc[[row]]).iloc[0]
        assert left.iloc[row, 2] - left.iloc[row, 1] == pytest.approx(expected, rel=1e-9)
        assert left["label"].iloc[row] == refit.predict(data.iloc[[row]]).iloc[0]


@cases
def test_confusions_count_every_row_used(verb, name):
    fit = cached_fit(verb, name)
    for method in ("apparent", "loo", "cv"):
        counted = fit.confusion(method=method, folds=4, seed=0)
        np.testing.assert_allclose(counted.sum(axis=1), fit.counts)
    rates = fit.error_rates(["apparent", "loo", "cv"], folds=4, seed=0, by_class=True)
    found = discrim.cross_validate(fit, 4, seed=0)
    linear = discrim.cross_validate(discrim.lda(*TABLES[name]), 4, seed=0)
    pd.testing.assert_frame_equal(found.folds, linear.folds)
    assert found.table().index.tolist() == ["error"]
    assert found.table().loc["error", "estimate"] == rates.loc["cv", "estimate"]
    assert ((rates["low"] <= rates["estimate"]) & (rates["estimate"] <= rates["high"])).all()
    pd.testing.assert_frame_equal(fit.confusion(TABLES[name][1].dropna()), fit.confusion())


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("perceptron", "polars"),
        ("hyperplane", "pyarrow"),
        ("indicator", "Float64"),
        ("perceptron", "float32"),
        ("hyperplane", "dict"),
    ],
)
def test_every_table_type_gives_the_same_fit(verb, kind):
    formula, data = TABLES["iris"]
    fit, options = VERBS[verb]
    reference, numbers = data, data.columns[:4]
    columns = {c: data[c].to_list() for c in data}
    if kind == "polars":
        other = pytest.importorskip("polars").DataFrame(columns)
    elif kind == "pyarrow":
        other = pytest.importorskip("pyarrow").table(columns)
    elif kind == "dict":
        other = columns
    else:
        other = data.astype(dict.fromkeys(numbers, kind))
        reference = other.astype(dict.fromkeys(numbers, "float64"))
    ours, theirs = fit(formula, other, **options), fit(formula, reference, **options)
    np.testing.assert_array_equal(ours.decision_function(), theirs.decision_function())


@pytest.mark.parametrize(("verb", "name"), list(zip(VERBS, [*TABLES, *TABLES], strict=True)))
def test_tables_and_pictures_of_every_kind(verb, name):
    import matplotlib.pyplot as plt

    fit = cached_fit(verb, name)
    summary = fit.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_markdown(), repr(fit)):
        assert "constant" in text
    assert {"term", "estimate"} <= set(fit.tidy())
    assert len(fit.glance()) == 1
    assert f".score.{fit.classes[1]}" in fit.augment()
    fit.plot("distances")
    plt.close("all")


REQUIRE_PROBABILITIES = {
    "predict_proba": lambda fit: fit.predict_proba(),
    "predict_log_proba": lambda fit: fit.predict_log_proba(),
    "predict(prior=)": lambda fit: fit.predict(prior="equal"),
    "predict(costs=)": lambda fit: fit.predict(costs=[[0, 1], [2, 0]]),
    "predict(reject=)": lambda fit: fit.predict(reject=0.1),
    "predict(outlier=)": lambda fit: fit.predict(outlier=0.1),
    "error_rates(costs=)": lambda fit: fit.error_rates(["apparent"], costs=[[0, 1], [2, 0]]),
    "error_rates, posterior": lambda fit: fit.error_rates(["posterior"]),
    "error_rates, D": lambda fit: fit.error_rates(["D"]),
    "classification": lambda fit: fit.assess(method="apparent").classification(),
    "typicality": lambda fit: fit.typicality(),
    "posterior_intervals": lambda fit: fit.posterior_intervals(),
    "llf": lambda fit: fit.llf,
    "aic": lambda fit: fit.aic,
    "bic": lambda fit: fit.bic,
}


@cases
def test_methods_that_require_probabilities_raise_not_supported(verb, name):
    fit = cached_fit(verb, name)
    for method, call in REQUIRE_PROBABILITIES.items():
        with pytest.raises(discrim.errors.NotSupportedError) as caught:
            call(fit)
        assert caught.value.hint, method
