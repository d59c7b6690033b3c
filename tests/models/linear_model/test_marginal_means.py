"""Marginal means of linear models and their contrasts, against R's emmeans and direct computation."""

from __future__ import annotations

import json
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

from discrim import lda, mlm
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, CollinearWarning, DataError, NotSupportedError
from tests.support import GOLDEN

FOUND = json.loads((GOLDEN / "marginal_means.json").read_text(encoding="utf-8"))
SEXED = load_penguins().dropna().assign(mass=lambda rows: rows["body_mass_g"] / 1000)
ADELIE = SEXED[SEXED["species"] == "Adelie"]
RESPONSES = "bill_length_mm + bill_depth_mm + mass"
FULL = f"species * sex + flipper_length_mm ~ {RESPONSES}"
SLOPES = f"species * flipper_length_mm + sex ~ {RESPONSES}"
ADDITIVE = f"species + sex + island + log(flipper_length_mm) ~ {RESPONSES}"
MODELS = {
    **dict.fromkeys(["penguins", "by", "proportional", "cells", "sexes"], FULL),
    **dict.fromkeys(["slopes", "at"], SLOPES),
    **dict.fromkeys(["additive", "logarithm"], ADDITIVE),
    "curved": f"species * sex + poly(flipper_length_mm, 2) ~ {RESPONSES}",
    "single": "species ~ bill_length_mm + mass",
    "adelie": "island * sex ~ bill_length_mm + mass",
    "nested": "species * island ~ bill_length_mm + bill_depth_mm",
}
PAIRED = [name for name in FOUND if name not in ("cells", "nested")]
FAST_TABLES = {"tukey": ["penguins", "by", "single", "adelie"], "holm": ["single"]}
"""Tables with which a slow adjustment is part of the fast tests."""

COLUMNS = ["estimate", "se", "t", "p_adjusted", "low", "high"]


@cache
def means_of(name):
    call = FOUND[name]["call"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollinearWarning)
        fit = mlm(MODELS[name], ADELIE if name == "adelie" else SEXED)
    options = {"weights": call["weights"], "at": call["at"] or None, "level": call["level"]}
    return fit.marginal_means(call["factors"], call.get("by") or None, **options)


def expected(columns):
    return np.array([[np.nan if x is None else x for x in column] for column in columns.values()]).T


# ---- R's emmeans


@pytest.mark.parametrize("name", FOUND)
def test_means_agree_with_emmeans(name):
    table = means_of(name).table[["estimate", "se", "low", "high"]]
    np.testing.assert_allclose(table, expected(FOUND[name]["means"]), rtol=1e-9)


def cases(adjustments):
    """Return each table with each adjustment."""
    return [
        pytest.param(
            name,
            adjust,
            marks=[pytest.mark.slow] * (name not in FAST_TABLES.get(adjust, PAIRED)),
        )
        for name in PAIRED
        for adjust in adjustments
    ]


@pytest.mark.parametrize(
    ("name", "adjust"),
    cases(["tukey", "scheffe", "sidak", "bonferroni", "holm", "none"]),
)
def test_pairs_agree_with_emmeans(name, adjust):
    table = means_of(name).pairs(adjust=adjust)
    if adjust == "none":
        table = table.assign(p_adjusted=table["p"])
    # Small p-values are differences from one in R.
    atol = {"tukey": 1e-10, "sidak": 1e-15}.get(adjust, 0)
    np.testing.assert_allclose(table[COLUMNS], expected(FOUND[name]["pairs"][adjust]), rtol=1e-7, atol=atol)


@pytest.mark.parametrize("method", ["trt.vs.ctrl", "consec", "eff", "poly"])
@pytest.mark.parametrize("name", ["penguins", "by", "slopes", "adelie"])
def test_contrasts_agree_with_emmeans(name, method):
    table = means_of(name).contrasts(method)[COLUMNS]
    np.testing.assert_allclose(table, expected(FOUND[name]["contrasts"][method]), rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize(("name", "adjust"), cases(["sidak", "holm"]))
def test_hotelling_tests_agree_with_emmeans(name, adjust):
    table = means_of(name).tests(adjust=adjust)[["T2", "df1", "df2", "F", "p_adjusted"]]
    np.testing.assert_allclose(table, expected(FOUND[name]["multivariate"][adjust]), rtol=1e-8, atol=1e-15)


def test_pairs_of_cells_agree_with_emmeans_up_to_their_order():
    table = means_of("cells").pairs(adjust="none")["t"].to_numpy().reshape(15, 3)
    own = np.reshape(expected(FOUND["cells"]["pairs"]["holm"])[:, 2], (15, 3))
    np.testing.assert_allclose(np.sort(np.abs(table), axis=0), np.sort(np.abs(own), axis=0), rtol=1e-8)


def test_comparisons_that_are_not_estimable_are_missing_and_do_not_count():
    # emmeans counts them; of each island's three pairs at most one is estimable.
    means = means_of("nested")
    for adjust in ("none", "bonferroni", "scheffe"):
        own = means.pairs(adjust=adjust)[["estimate", "se", "t", "low", "high"]]
        values = np.delete(expected(FOUND["nested"]["pairs"]["none"]), 3, axis=1)
        np.testing.assert_allclose(own, values, rtol=1e-8)
    assert "not estimable" in means.summary().as_text()
    assert means.tests().notna().all(axis=1).sum() == 2


# ---- identities and direct computation


def direct_means(rows, response, cells, columns):
    """Coefficients by least squares on indicator columns, and the mean of the fitted values over a grid."""
    x = np.column_stack([np.asarray(columns(rows), dtype=float)])
    coef, *_ = np.linalg.lstsq(x, rows[response].to_numpy(float), rcond=None)
    return [float(np.mean(np.asarray(columns(grid), dtype=float) @ coef)) for grid in cells]


def test_means_are_means_of_predictions_over_the_grid():
    def columns(rows):
        species = pd.Categorical(rows["species"], ["Adelie", "Chinstrap", "Gentoo"])
        male = (rows["sex"] == "male").to_numpy(float)
        x = rows["flipper_length_mm"].to_numpy(float)
        dummies = pd.get_dummies(species).to_numpy(float)
        return np.column_stack([dummies, male, x, dummies[:, 1:] * x[:, None], male * x])

    fit = mlm("species * flipper_length_mm + sex * flipper_length_mm ~ mass + bill_depth_mm", SEXED)
    x = SEXED["flipper_length_mm"].mean()
    grids = [
        pd.DataFrame({"species": name, "sex": ["female", "male"], "flipper_length_mm": x})
        for name in ("Adelie", "Chinstrap", "Gentoo")
    ]
    table = fit.marginal_means("species").table.xs("mass", level="response")
    np.testing.assert_allclose(table["estimate"], direct_means(SEXED, "mass", grids, columns), rtol=1e-9)


def test_one_factor_agrees_with_the_differences_of_lda():
    fit, line = mlm("species ~ .", load_iris()), lda("species ~ .", load_iris())
    for adjust in ("tukey", "scheffe", "roy"):
        own = fit.pairs("species", adjust=adjust)
        columns = ["se", "t", "df", "p", "p_adjusted", "low", "high"]
        np.testing.assert_allclose(own[columns], line.differences(adjust=adjust)[columns], rtol=1e-8)
    tests, distances = fit.marginal_means("species").tests(adjust="roy"), line.distances(adjust="roy")
    np.testing.assert_allclose(tests[["F", "df1", "df2"]], distances[["F", "df1", "df2"]], rtol=1e-9)
    np.testing.assert_allclose(tests["p_adjusted"], distances["p_adjusted"], rtol=1e-6)


def test_tukey_of_two_means_is_the_t_test():
    table = mlm(FULL, SEXED).pairs("sex")
    large = table["p"] > 1e-10
    np.testing.assert_allclose(table["p_adjusted"][large], table["p"][large], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(table["p_adjusted"][~large], table["p"][~large], rtol=1e-12)


def test_frequency_weights_agree_with_repeated_rows():
    rows = SEXED.assign(w=np.arange(len(SEXED)) % 3)
    formula = "species * sex + log(flipper_length_mm) ~ mass + bill_depth_mm"
    weighted = mlm(formula, rows, weights="w").marginal_means("species", weights="proportional")
    repeated = mlm(formula, rows.loc[rows.index.repeat(rows["w"])])
    repeated = repeated.marginal_means("species", weights="proportional")
    np.testing.assert_allclose(weighted.table, repeated.table, rtol=1e-9)
    np.testing.assert_allclose(weighted.covariates, repeated.covariates, rtol=1e-12)
    pairs = [means.pairs(adjust="scheffe") for means in (weighted, repeated)]
    np.testing.assert_allclose(*pairs, rtol=1e-6)


def test_large_offsets_cost_no_digits():
    shifted = SEXED.assign(mass=SEXED["mass"] + 1e9, flipper_length_mm=SEXED["flipper_length_mm"] + 1e8)
    formula = "species * sex + flipper_length_mm ~ mass + bill_depth_mm"
    own, plain = (mlm(formula, rows).pairs("species", adjust="none") for rows in (shifted, SEXED))
    np.testing.assert_allclose(own[["estimate", "se"]], plain[["estimate", "se"]], rtol=1e-6)


def test_numeric_and_boolean_factors_and_user_functions():
    rows = SEXED.assign(
        year=np.arange(len(SEXED)) % 3 + 2007, heavy=SEXED["mass"] > 4, size=SEXED["flipper_length_mm"]
    )
    fit = mlm(
        "C(year) + heavy + half(size) ~ mass + bill_depth_mm", rows, functions={"half": lambda x: x / 2}
    )
    for name in ("C(year)", "year"):
        means = fit.marginal_means(name, by="heavy")
        assert means.table.index.names == ["heavy", "C(year)", "response"]
        assert list(means.contrasts("trt.vs.ctrl", reference=2008).loc[True].index.unique("contrast")) == [
            "2007 - 2008",
            "2009 - 2008",
        ]
    plain = mlm("C(year) + heavy + size ~ mass + bill_depth_mm", rows).marginal_means("year", by="heavy")
    np.testing.assert_allclose(means.table, plain.table, rtol=1e-9)


def test_chunks_of_a_source_agree_with_the_table():
    parts = [SEXED.iloc[:100], SEXED.iloc[100:]]
    categories = {
        name: pd.CategoricalDtype(sorted(SEXED[name].unique())) for name in ("species", "sex", "island")
    }
    parts = [part.astype(categories) for part in parts]
    own = mlm(ADDITIVE, lambda: iter(parts)).marginal_means("island").table
    np.testing.assert_allclose(own, means_of("logarithm").table, rtol=1e-9)


# ---- contrasts of the user


def test_contrasts_by_a_dict_a_table_and_names_agree():
    means = means_of("by")
    coefs = {"Adelie - Gentoo": [1, 0, -1], "mean": [1 / 3, 1 / 3, 1 / 3]}
    table = pd.DataFrame(coefs, index=["Adelie", "Chinstrap", "Gentoo"])
    by_dict = means.contrasts(coefs, adjust="none")
    pd.testing.assert_frame_equal(by_dict, means.contrasts(table.iloc[::-1], adjust="none"))
    reversed_coefs = {name: column.to_dict() for name, column in table.iloc[::-1].items()}
    pd.testing.assert_frame_equal(by_dict, means.contrasts(reversed_coefs, adjust="none"))
    with pytest.raises(DataError):
        means.contrasts({"incomplete": {"Adelie": 1, "Gentoo": -1}})
    pairs = means.pairs(adjust="none").xs("Adelie - Gentoo", level="contrast")
    np.testing.assert_allclose(by_dict.xs("Adelie - Gentoo", level="contrast"), pairs, rtol=1e-12)
    average = by_dict.xs("mean", level="contrast")["estimate"]
    expected_average = means.table["estimate"].unstack("species").mean(axis=1)
    np.testing.assert_allclose(average, expected_average[average.index], rtol=1e-12)


@pytest.mark.parametrize("k", range(2, 9))
def test_polynomial_contrasts_are_orthogonal_integers(k):
    rows = pd.DataFrame({"g": np.repeat(np.arange(k), 4)})
    rows["y"] = np.random.default_rng(k).normal(size=len(rows))
    fit = mlm("C(g) ~ y + I(y**2)", rows)
    means = fit.marginal_means("g")
    table = means.contrasts("poly", adjust="none").xs("y", level="response")
    # The sums of squares of all contrasts of a balanced design add up to that of the term.
    if k <= 7:
        f = (table["t"] ** 2).sum() / (k - 1)
        assert f == pytest.approx(fit.anova().loc[("C(g)", "y"), "F"], rel=1e-9)
    assert len(table) == min(k - 1, 6)


# ---- errors


@pytest.mark.parametrize(
    ("call", "columns"),
    [
        (lambda fit: fit.marginal_means("island"), ("island",)),
        (lambda fit: fit.marginal_means("flipper_length_mm"), ("flipper_length_mm",)),
        (lambda fit: fit.marginal_means("species", by="species"), ()),
        (lambda fit: fit.marginal_means([]), ()),
        (lambda fit: fit.marginal_means("species", at={"sex": 1}), ("sex",)),
        (lambda fit: fit.marginal_means("species", at={"flipper_length_mm": np.inf}), ("flipper_length_mm",)),
        (lambda fit: fit.marginal_means("species", weights="balanced"), ()),
        (lambda fit: fit.marginal_means("species", level=95), ()),
        (lambda fit: fit.pairs("species", adjust="dunnett"), ()),
        (lambda fit: fit.marginal_means("species").contrasts("poly", adjust="tukey"), ()),
        (lambda fit: fit.marginal_means("species").contrasts("helmert"), ()),
        (lambda fit: fit.marginal_means("species").contrasts({"a": [1, -1]}), ()),
        (lambda fit: fit.marginal_means("species").contrasts({"a": [0, 0, 0]}), ()),
        (lambda fit: fit.marginal_means("species").contrasts("trt.vs.ctrl", reference="x"), ()),
        (lambda fit: fit.marginal_means("species").tests(adjust="tukey"), ()),
        (lambda fit: fit.marginal_means("species").plot("x"), ("x",)),
    ],
)
def test_errors_name_the_factor_or_option(call, columns):
    with pytest.raises(DataError) as error:
        call(mlm(FULL, SEXED))
    assert error.value.columns == columns


def test_arguments_of_another_type_are_errors_of_the_package():
    fit = mlm(SLOPES, SEXED)
    for call in (
        lambda: fit.marginal_means(3),
        lambda: fit.marginal_means(None),
        lambda: fit.marginal_means("species", at="flipper_length_mm"),
        lambda: mlm("1 ~ mass", SEXED).marginal_means(None),
    ):
        with pytest.raises(DataError) as error:
            call()
        assert error.value.hint
    with pytest.raises(DataError) as error:
        fit.marginal_means("species").contrasts("trt.vs.ctrl", reference="Macaroni")
    assert error.value.classes == ("Macaroni",)


def test_a_factor_of_one_level_has_no_pairs():
    with pytest.warns(CollinearWarning):
        fit = mlm("C(species) + sex ~ mass + bill_depth_mm", ADELIE)
    with pytest.raises(DataError) as error:
        fit.pairs("species")
    assert error.value.columns == ("C(species)",)


def test_proportional_weights_require_the_term_of_the_averaged_factors():
    with pytest.warns(CollinearWarning):
        fit = mlm("species + species:sex:island ~ mass + bill_depth_mm", SEXED)
    with pytest.raises(NotSupportedError) as error:
        fit.marginal_means("species", weights="proportional")
    assert error.value.columns == ("island",)
    assert error.value.options == {"weights": "equal"}


def test_too_few_degrees_of_freedom_for_hotelling():
    fit = mlm("species ~ bill_length_mm + bill_depth_mm + mass", SEXED.groupby("species").head(2).iloc[:5])
    means = fit.marginal_means("species")
    assert means.pairs().notna().all(axis=None)
    for call in (means.tests, lambda: means.pairs(adjust="roy")):
        with pytest.raises(CollinearError):
            call()


def test_pickled_means_lack_rows_and_keep_their_numbers():
    fit = mlm(ADDITIVE, SEXED)
    means = fit.marginal_means("island")
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(means)).table, means.table)
    again = pickle.loads(pickle.dumps(fit))
    with pytest.raises(NotSupportedError) as error:
        again.marginal_means("island")
    assert error.value.columns == ("flipper_length_mm",)
    at = {"flipper_length_mm": float(SEXED["flipper_length_mm"].mean())}
    np.testing.assert_allclose(again.marginal_means("island", at=at).table, means.table, rtol=1e-9)


# ---- presentation


def test_summary_and_plot_show_the_means():
    means = means_of("by")
    text = means.summary().as_text()
    assert "flipper_length_mm = 200.967" in text
    assert "equal covariance" in text
    axes = means.plot("mass", title="")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("species", "mass")
    heights = np.concatenate([line.get_ydata() for line in axes.get_lines()])
    np.testing.assert_allclose(heights, means.table.xs("mass", level="response")["estimate"])
    assert means_of("penguins").plot().get_legend() is None


def test_levels_with_the_signs_of_labels_keep_all_contrasts():
    rows = pd.DataFrame({"g": ["x", "y - z", "x - y", "z"] * 5, "h": ["p:q", "p:q", "r", "r"] * 5})
    rows["y"] = np.random.default_rng(1).normal(size=20)
    pairs = mlm("g ~ y", rows).pairs("g")
    assert pairs.index.get_level_values("contrast").tolist() == [
        "x - (x - y)", "x - (y - z)", "x - z", "(x - y) - (y - z)", "(x - y) - z", "(y - z) - z",
    ]  # fmt: skip
    cells = mlm("C(h)*C(w) ~ y", rows.assign(w=["a", "b"] * 10)).marginal_means("h:w").contrasts("consec")
    assert cells.index[0] == ("(p:q):b - (p:q):a", "y")


def test_a_factor_of_an_interaction_alone_has_its_name():
    means = mlm("sex + sex:species ~ mass", SEXED).marginal_means("species", by="sex")
    assert (means.factors, means.by) == (("species",), ("sex",))
    crossed = mlm("species * sex ~ mass", SEXED).marginal_means("species", by="sex")
    pd.testing.assert_frame_equal(means.table, crossed.table, rtol=1e-9)


def test_plot_keeps_the_order_of_levels_if_means_are_missing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CollinearWarning)
        axes = mlm("island * species ~ mass", SEXED).marginal_means("species", by="island").plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["Adelie", "Chinstrap", "Gentoo"]
    points = [np.isfinite(line.get_ydata()).tolist() for line in axes.get_lines()]
    assert points == [[True, False, True], [True, True, False], [True, False, False]]


def test_hotelling_tests_have_a_plain_index_without_by():
    tests = mlm("species ~ mass", SEXED).marginal_means("species").tests()
    assert tests.index.tolist() == ["Adelie - Chinstrap", "Adelie - Gentoo", "Chinstrap - Gentoo"]
