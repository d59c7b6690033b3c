"""Linear models of several responses: tests of terms and their canonical variates."""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import linalg

import discrim
from discrim import lda, manova, mlm
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    CollinearWarning,
    DataError,
    FormulaError,
    NotSupportedError,
    WeightsWarning,
)
from discrim.models.linear_model.mlm_summary import ellipse_radius
from tests.support import GOLDEN, classic_table

FOUND = json.loads((GOLDEN / "terms.json").read_text(encoding="utf-8"))
PENGUINS = load_penguins()
FORMULA = "species * sex ~ bill_length_mm + bill_depth_mm"
SEXED = PENGUINS.dropna().assign(mass=lambda rows: rows["body_mass_g"] / 1000)
CASES = {
    "penguins": "cbind(bill_length_mm, bill_depth_mm, mass) ~ species * sex + flipper_length_mm",
    "slopes": "species * flipper_length_mm ~ bill_length_mm + bill_depth_mm + mass",
    "wolves": "location * sex ~ x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9",
    "grass": "C(Block) + Species ~ N1 + N9 + N27 + N81 + N243",
    "skulls": "epoch ~ .",
    "diabetes": "group + relwt ~ .",
}
FILES = {"wolves": "candisc_Wolves", "grass": "candisc_Grass", "skulls": "heplots_Skulls"} | {
    "diabetes": "heplots_Diabetes"
}
ROWS = {
    "pillai": "Pillai's trace",
    "wilks": "Wilks' lambda",
    "hotelling-lawley": "Hotelling-Lawley trace",
    "roy": "Roy's greatest root",
}


@cache
def fitted(name):
    if name not in FILES:
        return mlm(CASES[name], SEXED)
    return mlm(CASES[name], classic_table(FILES[name]))


def expected_table(label):
    return label.replace("C(Block)", "Block")


# ---- R's car, candisc and heplots


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [2, 3])
def test_tests_of_terms_agree_with_car_and_heplots(name, kind):
    fit = fitted(name)
    tests, full, etas, alone = (
        fit.tests(type=kind),
        fit.manova(type=kind),
        fit.effect_sizes(kind),
        fit.anova(kind),
    )
    for label in fit.terms:
        own, table = FOUND[name]["tests"][str(kind)][expected_table(label)], full.loc[label]
        for key, row in ROWS.items():
            df, statistic, f, df1, df2, eta = own[key]
            assert tests.loc[label, "df"] == df
            assert table.loc[row, "statistic"] == pytest.approx(statistic, rel=1e-8)
            assert etas.loc[label, key] == pytest.approx(eta, rel=1e-8)
            if key != "roy":
                expected = pytest.approx([f, df1, df2], rel=1e-8)
                assert table.loc[row, ["F", "df1", "df2"]].tolist() == expected
        univariate = alone.loc[label, "F"].to_numpy()
        np.testing.assert_allclose(
            univariate, FOUND[name]["univariate"][str(kind)][expected_table(label)], 1e-9
        )


@pytest.mark.parametrize("name", CASES)
def test_type_i_tests_agree_with_r_manova(name):
    fit = fitted(name)
    tests = fit.tests("wilks", "I")
    for label in fit.terms:
        row = tests.loc[label, ["df", "statistic", "F", "df1", "df2"]]
        expected = FOUND[name]["sequential"][expected_table(label)]
        np.testing.assert_allclose(row.astype(float), expected, rtol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", [2, 3])
def test_canonical_variates_agree_with_candisc(name, kind):
    fit = fitted(name)
    for label in fit.terms:
        own = FOUND[name]["canonical"][str(kind)].get(expected_table(label))
        if own is None:
            continue
        result = fit.canonical(label, kind)
        np.testing.assert_allclose(result.eigenvalues, own["eigenvalues"], rtol=1e-7)
        np.testing.assert_allclose(result.correlations**2, own["canrsq"], rtol=1e-7)
        for key, table in {"raw": result.raw, "std": result.standardized}.items():
            np.testing.assert_allclose(table, own[key], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(result.structure("total"), own["structure"], atol=1e-7)
        means = np.reshape(own["means"], (-1, len(result.eigenvalues)))
        levels = sorted(map(str, result.centroids.index), key=lambda text: text.split(":")[::-1])
        ours = result.centroids.set_axis(result.centroids.index.map(str)).loc[levels]
        np.testing.assert_allclose(ours, means, atol=1e-6)


@pytest.mark.parametrize("size", ["evidence", "effect"])
def test_ellipses_agree_with_heplots(size):
    fit, own = fitted("penguins"), FOUND["penguins"]["ellipses"][size]
    radius = ellipse_radius(fit.df_resid)
    assert radius == pytest.approx(own["radius"], rel=1e-10)
    names = list(fit.responses[:2])
    # R's outlines are of 60 points, which miss the ends by up to 1 - cos(pi/60).
    for label in fit.terms:
        shape = fit.hypothesis_ellipse(label, size=size).loc[names, names].to_numpy()
        np.testing.assert_allclose(radius * np.sqrt(np.diagonal(shape)), own["spans"][label], rtol=1.5e-3)
    error = fit.cov_resid.loc[names, names].to_numpy()
    np.testing.assert_allclose(radius * np.sqrt(np.diagonal(error)), own["error"], rtol=1.5e-3)


def test_coefficients_and_linear_hypotheses_agree_with_r():
    fit, own = fitted("penguins"), FOUND["penguins"]
    np.testing.assert_allclose(fit.params, own["params"], rtol=1e-8)
    h, e = np.array(own["contrast"]["SSPH"]), np.array(own["contrast"]["SSPE"])
    root = linalg.eigvals(h, e).real.max()
    table = fit.linear_hypothesis("species[S.Adelie] = species[S.Chinstrap]")
    assert table.loc["Roy's greatest root", "statistic"] == pytest.approx(root, rel=1e-8)


# ---- identities


def test_a_model_of_one_factor_agrees_with_lda():
    fit, line = mlm("species ~ .", load_iris()), lda("species ~ .", load_iris())
    np.testing.assert_allclose(
        fit.manova("species").drop(columns="F_is"), line.manova().drop(columns="F_is"), rtol=1e-12
    )
    ours, theirs = fit.canonical(), line.canonical()
    for name in ("eigenvalues", "raw", "constant", "standardized", "standardized_total", "centroids"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12)
    for kind in ("within", "total", "between"):
        np.testing.assert_allclose(ours.structure(kind), theirs.structure(kind), atol=1e-12)
    np.testing.assert_allclose(ours.dimension_tests, theirs.dimension_tests, rtol=1e-12)
    np.testing.assert_allclose(ours.scores(), theirs.scores(), atol=1e-10)


def test_manova_of_one_factor_agrees_with_lda():
    iris = load_iris()
    pd.testing.assert_frame_equal(
        manova("species ~ .", iris), lda("species ~ .", iris).manova(), check_exact=True
    )
    assert manova("species ~ .", iris, term="species", type=3).equals(manova("species ~ .", iris))
    assert manova("cbind(sepal_length, petal_length) ~ species", iris).equals(
        manova("species ~ sepal_length + petal_length", iris)
    )
    with pytest.raises(DataError) as caught:
        manova("species ~ .", iris, term="sex")
    assert "term" in str(caught.value)


def test_manova_of_several_factors_agrees_with_mlm():
    full = manova(FORMULA, PENGUINS)
    assert full.index.names == ["term", "test"]
    for label in ("species", "sex", "species:sex"):
        assert manova(FORMULA, PENGUINS, term=label).equals(full.loc[label].rename_axis(index=None))
    assert manova(FORMULA, PENGUINS, term="sex:species").equals(manova(FORMULA, PENGUINS, term="species:sex"))
    right = "cbind(bill_length_mm, bill_depth_mm) ~ species * sex"
    assert manova(right, PENGUINS, type="III").equals(mlm(FORMULA, PENGUINS).manova(type=3))


def test_tests_do_not_depend_on_the_contrasts_of_the_user():
    other = FORMULA.replace("species", "C(species, Treatment('Gentoo'))").replace("sex", "C(sex, Helmert)")
    ours, theirs = mlm(FORMULA, PENGUINS).manova(type=3), mlm(other, PENGUINS).manova(type=3)
    np.testing.assert_allclose(ours.drop(columns="F_is"), theirs.drop(columns="F_is"), rtol=1e-9)


def test_scores_have_mean_zero_and_residuals_of_unit_variance():
    rows = SEXED
    result = mlm(FORMULA, rows).canonical("species:sex")
    scores = result.scores()
    cells = rows["species"].astype(str) + ":" + rows["sex"].astype(str)
    np.testing.assert_allclose(
        scores.groupby(cells).mean().loc[result.centroids.index], result.centroids, atol=1e-9
    )
    residuals = scores - scores.groupby(cells).transform("mean")
    np.testing.assert_allclose(residuals.T @ residuals / (len(rows) - 6), np.eye(2), atol=1e-9)
    np.testing.assert_allclose(scores.mean(), 0, atol=1e-10)
    new = result.scores(rows[["bill_depth_mm", "bill_length_mm"]].head(3))
    np.testing.assert_allclose(new, scores.head(3), atol=1e-12)


def test_weights_equal_repeated_rows():
    rows = SEXED.reset_index(drop=True)
    row_counts = np.random.default_rng(1).integers(0, 4, len(rows))
    weighted = mlm(FORMULA + " + mass", rows.assign(w=row_counts), weights="w")
    repeated = mlm(FORMULA + " + mass", rows.loc[rows.index.repeat(row_counts)])
    assert weighted.nobs == repeated.nobs
    for kind in (1, 2, 3):
        a, b = weighted.manova(type=kind), repeated.manova(type=kind)
        np.testing.assert_allclose(a.drop(columns="F_is"), b.drop(columns="F_is"), rtol=1e-9)
    np.testing.assert_allclose(
        weighted.canonical("sex").centroids, repeated.canonical("sex").centroids, atol=1e-9
    )
    np.testing.assert_allclose(weighted.params, repeated.params, rtol=1e-9)


def test_a_source_in_chunks_equals_the_table():
    full = mlm(FORMULA + " + mass", SEXED)
    chunks = mlm(FORMULA + " + mass", lambda: iter([SEXED.iloc[:100], SEXED.iloc[100:101], SEXED.iloc[101:]]))
    np.testing.assert_allclose(
        full.manova(type=3).drop(columns="F_is"), chunks.manova(type=3).drop(columns="F_is"), rtol=1e-10
    )
    np.testing.assert_allclose(full.canonical("sex").scores(), chunks.canonical("sex").scores(), atol=1e-10)


@pytest.mark.parametrize(("offset", "scale"), [(1e8, 1.0), (0.0, 1e-300), (0.0, 1e150), (-3e9, 1e3)])
def test_tests_are_invariant_to_offsets_and_units(offset, scale):
    # Halves, so that an offset rounds nothing away.
    rows = SEXED.assign(
        a=(SEXED["bill_length_mm"] * 2).round() / 2, b=(SEXED["bill_depth_mm"] * 2).round() / 2
    )
    far = rows.assign(a=rows["a"] * scale + offset, b=rows["b"] + offset)
    formula = "species * sex + flipper_length_mm ~ a + b"
    far = far.assign(flipper_length_mm=far["flipper_length_mm"] + offset)
    near, result = mlm(formula, rows), mlm(formula, far)
    for kind in (1, 2, 3):
        a, b = near.manova(type=kind), result.manova(type=kind)
        np.testing.assert_allclose(a.drop(columns="F_is"), b.drop(columns="F_is"), rtol=1e-9)
    assert result.canonical("sex").structure("total").to_numpy() == pytest.approx(
        near.canonical("sex").structure("total").to_numpy(), abs=1e-9
    )


def test_standard_errors_equal_those_of_univariate_regressions():
    import statsmodels.formula.api as smf

    fit = mlm("species * sex + mass ~ bill_length_mm + bill_depth_mm", SEXED)
    alone = smf.ols("bill_depth_mm ~ C(species, Sum) * C(sex, Sum) + mass", SEXED).fit()
    ours = fit.tidy().query("response == 'bill_depth_mm'").set_index("term")
    theirs = alone.params.rename(
        lambda name: name.replace("C(species, Sum)", "species").replace("C(sex, Sum)", "sex")
    )
    theirs = theirs.rename({"Intercept": "constant"})
    errors = alone.bse.set_axis(theirs.index)
    np.testing.assert_allclose(ours["estimate"], theirs.loc[ours.index], rtol=1e-8)
    np.testing.assert_allclose(ours["std_error"], errors.loc[ours.index], rtol=1e-8)
    assert fit.glance().loc[0, "df_resid"] == alone.df_resid


# ---- cells, labels, refusals


def test_empty_cells_are_named():
    with pytest.warns(CollinearWarning, match=r"'Chinstrap'.*'Biscoe'"):
        fit = mlm("species * island ~ bill_length_mm + bill_depth_mm", PENGUINS)
    table = fit.tests()
    assert table["df"].tolist() == [2, 2, 0]
    assert table.loc["species:island", "F_is"] == "not defined"
    with pytest.raises(NotSupportedError) as caught:
        fit.tests(type=3)
    assert "type=2" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.tidy()
    assert "'species:island'" in str(caught.value)
    # Terms in order need no coding: the full model explains what the five cells that are there do.
    cells = PENGUINS.assign(cell=PENGUINS["species"].astype(str) + PENGUINS["island"].astype(str))
    one = lda("cell ~ bill_length_mm + bill_depth_mm", cells)
    assert fit.df_resid == one.nobs - 5
    np.testing.assert_allclose(fit.cov_resid, one.cov, rtol=1e-10)
    assert "not defined" in fit.summary().as_text()


def test_empty_cells_reduce_the_degrees_of_freedom():
    rows = SEXED[~((SEXED["species"] == "Gentoo") & (SEXED["sex"] == "male"))]
    with pytest.warns(CollinearWarning, match=r"'Gentoo'.*'male'"):
        fit = mlm(FORMULA, rows)
    assert fit.tests()["df"].tolist() == [2, 1, 1]


def test_booleans_and_numbers_in_c_are_factors():
    rows = SEXED.assign(male=SEXED["sex"] == "male", code=SEXED["species"].astype("category").cat.codes)
    ours = mlm("C(code) * male ~ bill_length_mm + bill_depth_mm", rows)
    assert list(ours.terms) == ["C(code)", "male", "C(code):male"]
    np.testing.assert_allclose(ours.tests(type=3)["F"], mlm(FORMULA, rows).tests(type=3)["F"], rtol=1e-10)
    assert mlm("code + male ~ bill_length_mm + bill_depth_mm", rows).tests()["df"].tolist() == [1, 1]
    assert mlm("code ~ bill_length_mm + bill_depth_mm", rows).tests()["df"].tolist() == [2]


def test_weights_that_are_not_counts_cause_a_warning():
    with pytest.warns(WeightsWarning):
        mlm(FORMULA, SEXED, weights=np.full(len(SEXED), 0.5))


def test_an_interaction_without_main_effects_tests_the_cells():
    cells = SEXED["species"].astype(str) + ":" + SEXED["sex"].astype(str)
    one = manova("cell ~ bill_length_mm + bill_depth_mm", SEXED.assign(cell=cells))
    result = manova("species:sex ~ bill_length_mm + bill_depth_mm", SEXED)
    np.testing.assert_allclose(
        result.loc["species:sex"].drop(columns="F_is"), one.drop(columns="F_is"), rtol=1e-10
    )


def test_a_nested_model_and_awkward_names():
    rows = SEXED.rename(columns={"species": "the species"})
    nested = mlm("`the species` / sex ~ bill_length_mm + bill_depth_mm", rows)
    crossed = mlm(FORMULA, SEXED)
    np.testing.assert_allclose(nested.cov_resid, crossed.cov_resid, rtol=1e-10)
    assert nested.tests()["df"].tolist() == [2, 3]
    assert len(nested.canonical("sex:the species").centroids) == 6
    digits = SEXED.assign(sex=SEXED["sex"].map({"male": "1", "female": "2"}))
    assert mlm(FORMULA, digits).tests()["df"].tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("formula", "error", "message"),
    [
        ("bill_length_mm + bill_depth_mm ~ species * sex", FormulaError, "swap the sides"),
        ("species * sex ~ bill_length_mm + island", FormulaError, "'island' is categorical, not numeric"),
        ("species * sex ~ bill_length_mm + sex", FormulaError, "also a predictor"),
        ("species + . ~ bill_length_mm", FormulaError, "factors"),
        ("species * sex - 1 ~ bill_length_mm", FormulaError, "Leave out the 0"),
        ("species * sx ~ bill_length_mm", FormulaError, "sx"),
        ("species * sex ~ bill_length_mm + I(2 * bill_length_mm)", CollinearError, "linear combination"),
        ("species * sex ~ bill_length_mm + one", CollinearError, "fitted exactly"),
    ],
)
def test_invalid_formulas_name_the_problem(formula, error, message):
    with pytest.raises(error, match=message):
        mlm(formula, PENGUINS.assign(one=1.0))


def test_invalid_arguments_are_refused():
    fit = mlm(FORMULA, PENGUINS)
    for call in (
        lambda: fit.manova("island"),
        lambda: fit.manova(type=4),
        lambda: fit.manova(type=True),
        lambda: fit.canonical(),
        lambda: fit.tests("pilai"),
        lambda: fit.linear_hypothesis("constant = 1"),
        lambda: fit.linear_hypothesis("constant = 0, 2 * constant = 0"),
        lambda: fit.hypothesis_ellipse("sex", size="large"),
        lambda: manova(FORMULA, PENGUINS, levels=["a"]),
        lambda: mlm(FORMULA, PENGUINS, na_action="raise"),
        lambda: fit.canonical("sex").plot(),
        lambda: fit.plot(columns=["bill_length_mm"]),
    ):
        with pytest.raises(DataError):
            call()
    with pytest.raises(CollinearError) as caught:
        mlm(FORMULA, SEXED.groupby(["species", "sex"], observed=True).head(1))
    assert "too few" in str(caught.value)


def test_summaries_and_plots_have_content(tmp_path):
    fit = mlm(FORMULA, PENGUINS)
    for printed in (fit.summary(type=3), fit.canonical("species").summary()):
        for text in (printed.as_text(), printed.as_html(), printed.as_latex(), printed.as_markdown()):
            assert "species" in text
    assert "partial eta2" in repr(fit)
    assert set(fit.canonicals()) == {"species", "sex", "species:sex"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for drawn in (fit.plot(), fit.plot("sex", size="effect"), fit.canonical("species").plot()):
            assert drawn.get_legend() is not None
            drawn.figure.clear()
    assert discrim.MLMResults is type(fit)
