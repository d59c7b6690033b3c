"""ROC curves and areas of several fits of `compare`, against golden values of R and definitions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from discrim import compare, cross_validate, knn, lda, load, logistic, perceptron, qda, stepwise
from discrim.datasets import load_breast_cancer, load_penguins, load_wine
from discrim.errors import (
    DataError,
    DiscrimWarning,
    NoSeparationWarning,
    NotComparableWarning,
    NotSupportedError,
)
from tests.support import GOLDEN

TUMOURS = load_breast_cancer()
FORMULA = "diagnosis ~ radius_mean + texture_mean + smoothness_mean"
EXPECTED = json.loads((GOLDEN / "roc_tests.json").read_text(encoding="utf-8"))
COLUMNS = ["area_a", "area_b", "se", "z", "p", "low", "high"]


def test_delong_of_two_classes_equals_r():
    fits = {"linear": lda(FORMULA, TUMOURS), "quadratic": qda(FORMULA, TUMOURS)}
    with pytest.warns(NotComparableWarning):
        table = compare(**fits, texture=lda("diagnosis ~ texture_mean", TUMOURS)).roc_test(method="loo")
    assert table.index.names == ["a", "b"]
    assert table["rows"].tolist() == [569] * 3
    for other in ("quadratic", "texture"):
        expected = EXPECTED["tumours"][f"linear_{other}"]
        for column in COLUMNS:
            assert table.loc[("linear", other), column] == pytest.approx(expected[column], rel=1e-8), column


def test_delong_of_each_class_against_the_rest_equals_r():
    wine = load_wine()
    formula = "cultivar ~ alcohol + malic_acid + ash"
    table = compare(lda(formula, wine), qda(formula, wine)).roc_test(method="loo")
    assert table.index.get_level_values("class").tolist() == ["barbera", "barolo", "grignolino"]
    for label, expected in EXPECTED["wine"].items():
        for column in COLUMNS:
            assert table.loc[("LDA", "QDA", label), column] == pytest.approx(expected[column], rel=1e-7)
    one = compare(lda(formula, wine), qda(formula, wine)).roc_test(method="loo", classes="barolo")
    assert one.index.names == ["a", "b"]
    assert one["z"].iloc[0] == pytest.approx(EXPECTED["wine"]["barolo"]["z"], rel=1e-7)


def test_folds_of_the_comparison_predict_by_default():
    fits = {"linear": lda(FORMULA, TUMOURS), "logit": logistic(FORMULA, TUMOURS)}
    table = compare(**fits, folds=5, repeats=2, seed=3).roc_test()
    for name, column in (("linear", "area_a"), ("logit", "area_b")):
        proba = cross_validate(fits[name], folds=5, repeats=2, seed=3).posteriors(1)["malignant"]
        malignant = proba[TUMOURS["diagnosis"] == "malignant"].to_numpy()[:, None]
        others = proba[TUMOURS["diagnosis"] != "malignant"].to_numpy()
        area = ((malignant > others) + 0.5 * (malignant == others)).mean()
        assert table[column].iloc[0] == pytest.approx(area, rel=1e-12)


def test_only_rows_that_all_fits_predict_are_compared():
    penguins = load_penguins()
    longer = lda("sex ~ bill_length_mm + body_mass_g", penguins)
    is_measured = np.arange(len(penguins)) % 4 > 0
    sparse = penguins.assign(bill_length_mm=penguins["bill_length_mm"].where(is_measured))
    shorter = lda("sex ~ bill_length_mm", sparse)
    with pytest.warns(NotComparableWarning):
        table = compare(longer=longer, shorter=shorter, folds=5, seed=1).roc_test()
    expected = penguins[["sex", "bill_length_mm", "body_mass_g"]].notna().all(axis=1)
    assert table["rows"].iloc[0] == (expected & is_measured).sum()


def test_classes_in_another_order_are_matched_by_label():
    reversed_order = qda(FORMULA, TUMOURS, levels=["malignant", "benign"])
    straight = compare(lda(FORMULA, TUMOURS), qda(FORMULA, TUMOURS)).roc_test().iloc[0]
    matched = compare(lda(FORMULA, TUMOURS), reversed_order).roc_test().iloc[0]
    pd.testing.assert_series_equal(straight, matched, check_names=False)


def test_new_rows_and_models_without_posteriors():
    with pytest.warns(NoSeparationWarning):
        margin = perceptron(FORMULA, TUMOURS[::2], maxiter=20)
    fits = compare(lda(FORMULA, TUMOURS[::2]), margin=margin)
    table = fits.roc_test(TUMOURS[1::2])
    assert table["rows"].iloc[0] == 284
    drawn = fits.roc_test(TUMOURS[1::2], test="bootstrap", replicates=20, seed=1)
    assert drawn["difference"].iloc[0] == table["difference"].iloc[0]


@pytest.mark.parametrize(("kind", "classes"), [("roc", 3), ("precision_recall", 2)])
def test_each_fit_has_a_curve_with_its_name(kind, classes):
    if classes == 2:
        table, formula = TUMOURS, FORMULA
    else:
        table, formula = load_wine(), "cultivar ~ alcohol + malic_acid + ash"
    names = ["linear", "quadratic", "neighbours"]
    fits = dict(zip(names, (lda(formula, table), qda(formula, table), knn(formula, table, k=9)), strict=True))
    axes = compare(**fits).plot(kind)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(set(labels)) == len(labels)
    # The bands of single curves would hide that curves of the same observations differ.
    assert not axes.patches
    for name in names:
        assert sum(label.startswith(name) for label in labels) == (1 if classes == 2 else 3)
    plt.close("all")


def test_a_misspelled_option_is_not_taken_for_a_fit():
    with pytest.raises(TypeError, match="folds="):
        compare(lda(FORMULA, TUMOURS), fold=10)
    with pytest.raises(DataError):
        compare(lda(FORMULA, TUMOURS), LDA=qda(FORMULA, TUMOURS))


def test_invalid_comparisons_of_areas():
    fit = lda(FORMULA, TUMOURS)
    with pytest.raises(DataError):
        compare(fit).roc_test()
    compared = compare(fit, qda(FORMULA, TUMOURS))
    for options in ({"test": "delongs"}, {"level": 2}, {"classes": "unknown"}, {"replicates": 1}):
        with pytest.raises(DataError):
            compared.roc_test(**options)
    with pytest.raises(DataError):
        compared.plot("scores")


def test_results_of_stepwise_as_a_named_fit_are_an_error_with_advice():
    chosen = stepwise(FORMULA, TUMOURS)
    with pytest.raises(DataError, match="fit") as caught:
        compare(lda(FORMULA, TUMOURS), chosen=chosen)
    assert "keyword" not in str(caught.value)


def test_loaded_fits_are_compared_on_new_rows_only(tmp_path):
    fit = lda(FORMULA, TUMOURS)
    fit.save(tmp_path / "fit")
    compared = compare(qda(FORMULA, TUMOURS), loaded=load(tmp_path / "fit"))
    for call in (compared.roc_test, compared.plot):
        with pytest.raises(NotSupportedError, match="data="):
            call()
    assert compared.roc_test(TUMOURS)["rows"].iloc[0] == 569


def test_table_of_areas_states_if_fits_are_predicted_in_different_ways():
    chosen = stepwise(FORMULA, TUMOURS).fit
    with pytest.warns(DiscrimWarning, match="selected"):
        compared = compare(lda(FORMULA, TUMOURS), chosen=chosen)
    note = compared.roc_test().attrs["note"]
    assert "LDA by leave-one-out" in note
    assert "chosen by 10-fold cross-validation" in note
    assert compared.roc_test(method="cv").attrs == {}
