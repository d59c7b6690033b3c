"""lda() with covariates against R (golden/covariates.json), densities, refits and the linear model."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim import lda, load
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, DataError, DroppedColumnsWarning, FormulaError, NotSupportedError
from discrim.sklearn import LDAClassifier
from tests import support

WRITTEN = json.loads((support.GOLDEN / "covariates.json").read_text(encoding="utf-8"))
CASES = ["one", "two"]


def in_words(name: str) -> str:
    return name.lower().replace(".", "_")


def fitted(case: str, **options):
    message = WRITTEN[case]
    columns, covariates = (list(map(in_words, message[key])) for key in ("columns", "covariates"))
    return lda(f"species ~ {' + '.join(columns)} | {' + '.join(covariates)}", load_iris(), **options)


@pytest.fixture(scope="module")
def fits():
    return {case: fitted(case) for case in CASES}


@pytest.mark.parametrize("case", CASES)
def test_tests_equal_those_of_covariance_analysis(fits, case):
    fit, message = fits[case], WRITTEN[case]
    ours = fit.manova().loc[["Wilks' lambda", "Pillai's trace", "Hotelling-Lawley trace"]]
    columns = ["statistic", "F", "df1", "df2", "p"]
    np.testing.assert_allclose(ours[columns], message["classes"][:3], rtol=1e-9)
    assert fit.wilks.statistic == pytest.approx(message["classes"][0][0], rel=1e-12)
    assert fit.canonical().eigenvalues.iloc[0] == pytest.approx(message["classes"][3][0], rel=1e-11)
    tests = fit.covariate_model.tests()
    first = "all" if case == "two" else fit.covariate_model.covariates[0]
    for name, key in {first: "all", "parallel slopes": "parallel"}.items():
        np.testing.assert_allclose(tests.loc[name], message[key][0], rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_slopes_and_adjusted_means_equal_those_of_linear_models(fits, case):
    fit, message = fits[case], WRITTEN[case]
    slopes, means = fit.covariate_model.slopes(), fit.covariate_model.adjusted_means()
    for name in message["columns"]:
        column, key = in_words(name), f"Response {name}"
        ours = slopes.xs(column, level="column")[["coef", "se", "t", "p"]]
        np.testing.assert_allclose(ours, message["slopes"][key], rtol=1e-10)
        ours = means.xs(column, level="column")[["adjusted", "se"]]
        np.testing.assert_allclose(ours, message["adjusted_means"][key], rtol=1e-12)
    np.testing.assert_allclose(fit.cov, message["residual"], rtol=1e-11)


@pytest.mark.parametrize("case", CASES)
def test_pairs_of_classes(fits, case):
    ours = fits[case].distances()[["F", "df1", "df2"]]
    np.testing.assert_allclose(ours, WRITTEN[case]["pairs"], rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_rule_agrees_with_adjusted_columns_of_tulip(case):
    message, rows = WRITTEN[case], [0, 70, 106, 149]
    fit = fitted(case, method="mle")
    np.testing.assert_allclose(fit.predict_proba().iloc[rows], message["posterior"], rtol=1e-8, atol=1e-300)
    x, u = (load_iris()[list(map(in_words, message[key]))].to_numpy() for key in ("columns", "covariates"))
    slopes = fit.covariate_model.slopes()["coef"].unstack("column")[list(map(in_words, message["columns"]))]
    slopes = slopes.loc[list(fit.covariate_model.covariates)].to_numpy()
    np.testing.assert_allclose((x - u @ slopes)[rows], message["residuals"], rtol=1e-11)


def test_posteriors_equal_those_of_densities_given_the_covariate(fits):
    fit, iris = fits["one"], load_iris()
    means, slopes = (
        fit.covariate_model.adjusted_means()["adjusted"].unstack("column"),
        fit.covariate_model.slopes()["coef"],
    )
    names = list(fit.cov.columns)
    slopes = slopes.xs("sepal_length", level="covariate")[names].to_numpy()
    u = iris["sepal_length"].to_numpy()
    x = iris[names].to_numpy() - (u - u.mean())[:, None] * slopes
    logs = np.stack(
        [scipy.stats.multivariate_normal(means.loc[k, names], fit.cov).logpdf(x) for k in fit.classes], axis=1
    )
    ours = fit.predict_log_proba()
    np.testing.assert_allclose(ours, logs - scipy.special.logsumexp(logs, axis=1)[:, None], atol=1e-9)
    full_fit = fitted("one", method="mle")
    by_hand = 150 * np.log(1 / 3)
    for k in fit.classes:
        class_rows = (iris["species"] == k).to_numpy()
        distribution = scipy.stats.multivariate_normal(means.loc[k, names], full_fit.cov)
        by_hand += distribution.logpdf(x[class_rows]).sum()
    assert full_fit.llf == pytest.approx(by_hand, rel=1e-12)
    assert fit.llf == full_fit.llf
    # Prior, means, covariance and slopes.
    assert fit.df_model == 2 + 3 * 3 + 6 + 3


def test_differences_in_covariates_are_ignored():
    iris = load_iris()
    logs = [
        lda(formula, iris, method="mle", prior="equal").predict_log_proba()
        for formula in ("species ~ .", "species ~ . | sepal_length", "species ~ sepal_length")
    ]
    residuals = logs[0] - logs[1] - logs[2]
    np.testing.assert_allclose(residuals.sub(residuals.iloc[:, 0], axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_a_fit_without_the_row(weighted):
    rows = load_penguins().dropna().groupby("species", observed=True).head(12).reset_index(drop=True)
    rows["times"] = np.where(np.arange(len(rows)) % 3, 1, 2) if weighted else 1
    formula = "species ~ bill_depth_mm + flipper_length_mm | body_mass_g + sex"
    options = {"weights": "times"} if weighted else {}
    fit = lda(formula, rows, **options)
    ours = fit.leave_one_out()[list(fit.classes)]
    for i in range(0, len(rows), 7):
        less = rows.copy()
        less.loc[i, "times"] -= 1
        less = less[less["times"] > 0]
        without = lda(formula, less, prior=fit.prior, **options).predict_proba(rows.iloc[[i]])
        np.testing.assert_allclose(ours.iloc[i], without.iloc[0], rtol=1e-9, atol=1e-14)


def test_leaving_out_the_only_row_of_a_class():
    iris = load_iris().iloc[49:]
    fit = lda("species ~ . | sepal_length", iris)
    assert fit.leave_one_out()["setosa"].iloc[0] == 0
    assert fit.leave_one_out().notna().all(axis=None)


def test_moments_that_are_merged_files_and_sources_give_the_same_fit(fits, tmp_path):
    iris, fit = load_iris(), fits["one"]
    formula = "species ~ sepal_width + petal_length + petal_width | sepal_length"
    chunks = [iris[start : start + 40] for start in range(0, 150, 40)]
    full_fit = sum(discrim.moments(formula, chunk) for chunk in chunks)
    of_moments = lda(moments=full_fit)
    pd.testing.assert_frame_equal(of_moments.coef, fit.coef, rtol=1e-10)
    assert list(of_moments.covariate_model.tests().index) == ["sepal_length"]
    streamed = lda(formula, lambda: iter(chunks))
    pd.testing.assert_frame_equal(streamed.coef, fit.coef, rtol=1e-10)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.predict_proba(iris), fit.predict_proba(), rtol=1e-13)
    pd.testing.assert_frame_equal(again.covariate_model.slopes(), fit.covariate_model.slopes())
    assert list(again.covariate_model.covariates) == ["sepal_length"]
    assert str(again.summary(["slopes", "adjusted_means"])) == str(fit.summary(["slopes", "adjusted_means"]))


def test_categories_transforms_and_a_dot_that_leaves_covariates_out():
    penguins = load_penguins().dropna()
    fit = lda("species ~ . - island - year | sex + log(body_mass_g)", penguins)
    assert list(fit.covariate_model.covariates) == ["sex[T.male]", "log(body_mass_g)"]
    assert [term for term in fit.terms if "mm" in term] == list(fit.cov.columns)
    by_hand = penguins.assign(mass=np.log(penguins["body_mass_g"]), male=(penguins["sex"] == "male") * 1.0)
    other = lda("species ~ bill_length_mm + bill_depth_mm + flipper_length_mm | male + mass", by_hand)
    np.testing.assert_allclose(fit.predict_proba(), other.predict_proba(), rtol=1e-9, atol=1e-14)
    with pytest.raises(DataError) as caught:
        fit.predict(penguins.drop(columns="body_mass_g"))
    assert "body_mass_g" in str(caught.value)
    model = discrim.mlm("species + mass + male ~ bill_length_mm + bill_depth_mm + flipper_length_mm", by_hand)
    theirs = model.manova("species")
    np.testing.assert_allclose(fit.manova()["p"], theirs["p"], rtol=1e-8)


def test_updating_keeps_the_covariates(fits):
    fit = fits["one"]
    assert list(fit.update(". ~ . - petal_width").covariate_model.covariates) == ["sepal_length"]
    shifted = fit.update(". ~ . - petal_width | petal_width")
    assert list(shifted.covariate_model.covariates) == ["petal_width"]


def test_folds_in_which_a_covariate_is_constant():
    rows = load_iris().assign(rare=lambda table: (table.index == 60) * 1.0)
    fit = lda("species ~ petal_length + petal_width | sepal_length + rare", rows)
    reference_fit = lda("species ~ petal_length + petal_width | sepal_length", rows.drop(index=60))
    left_out = fit.leave_one_out()
    expected = reference_fit.update(prior=fit.prior).predict_proba(rows.iloc[[60]])
    np.testing.assert_allclose(left_out.loc[60, list(fit.classes)].astype(float), expected.iloc[0], rtol=1e-8)


REFUSED = {
    "species ~ . | .": "covariates",
    "species ~ . | sepal_width | sepal_length": "covariates",
    "species ~ (1 | sepal_width)": "outside of brackets",
    "species | sepal_width ~ .": "right of the ~",
    "species ~ . |": "Write predictors and covariates",
    "species ~ | sepal_width": "Write predictors and covariates",
    "species ~ log(sepal_width) | sepal_width": "also a predictor",
    "species ~ . | species": "response column",
}


@pytest.mark.parametrize("formula", REFUSED)
def test_formulas_that_are_refused(formula):
    with pytest.raises(FormulaError, match=REFUSED[formula]):
        lda(formula, load_iris())


@pytest.mark.parametrize(
    "options",
    [
        {"covariance": "shrunk"},
        {"components": 2},
        {"covariance": "t"},
        {"missing": "em"},
        {"covariance": "pinv"},
    ],
)
def test_options_that_do_not_go_with_covariates(options):
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ . | sepal_length", load_iris(), **options)
    assert "covariates" in str(caught.value)


def test_methods_without_adjustment_are_refused(fits):
    fit, iris = fits["one"], load_iris()
    calls = [lambda: fit.anova(), lambda: fit.box_m(), lambda: fit.ranking(), lambda: fit.plot("he")]
    calls += [lambda: fit.plot("partition"), lambda: discrim.lr_test(fit, discrim.qda("species ~ .", iris))]
    for ask in calls:
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "adjusts" in str(caught.value)
        assert "covariates" in str(caught.value)
    for ask in (lambda: fit.canonical().structure("total"), lambda: fit.canonical().standardized_total):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "total covariance" in str(caught.value)
        assert 'structure("within")' in caught.value.hint
    with pytest.raises(NotSupportedError) as caught:
        fit.relative_distances()
    assert "covariates" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", iris).covariate_model.slopes()
    assert "`|`" in str(caught.value)


def test_errors_of_other_functions_name_lda():
    iris = load_iris()
    with pytest.raises(FormulaError) as caught:
        discrim.qda("species ~ . | sepal_length", iris)
    assert "lda()" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.qda(moments=discrim.moments("species ~ . | sepal_length", iris))
    assert "lda()" in str(caught.value)


def test_columns_that_covariates_determine_are_named():
    rows = load_iris().assign(twice=lambda table: 2 * table["sepal_length"] + 1)
    with pytest.raises(CollinearError) as caught:
        lda("species ~ twice + petal_width | sepal_length", rows)
    assert caught.value.columns == ("twice",)
    with (
        pytest.raises(CollinearError, match="combinations of the covariates"),
        pytest.warns(DroppedColumnsWarning),
    ):
        lda("species ~ twice | sepal_length", rows, collinear="drop")
    with pytest.warns(DroppedColumnsWarning, match="twice"):
        fit = lda("species ~ petal_width | sepal_length + twice", rows, collinear="drop")
    assert list(fit.covariate_model.covariates) == ["sepal_length"]


def test_an_estimator_names_covariates_by_column_or_position(fits):
    iris, fit = load_iris(), fitted("one")
    x, y = iris.drop(columns="species"), iris["species"].astype(str)
    by_name = LDAClassifier(covariates=["sepal_length"]).fit(x, y)
    np.testing.assert_allclose(by_name.predict_proba(x), fit.predict_proba(), rtol=1e-9, atol=1e-14)
    by_place = LDAClassifier(covariates=[0]).fit(x.to_numpy(), y)
    np.testing.assert_allclose(by_place.coef_, by_name.coef_, rtol=1e-9)
    grown = LDAClassifier(covariates="sepal_length")
    for start in range(0, 150, 50):
        grown.partial_fit(x[start : start + 50], y[start : start + 50], classes=sorted(set(y)))
    np.testing.assert_allclose(grown.coef_, by_name.coef_, rtol=1e-9)
    assert grown.transform(x).shape == (150, 2)
    with pytest.raises(DataError) as caught:
        LDAClassifier(covariates=["age"]).fit(x, y)
    assert "'sepal_length'" in str(caught.value)


@pytest.mark.slow
def test_plots_show_adjusted_columns():
    fit = lda("species ~ petal_length + petal_width | sepal_length", load_iris())
    for plot_kind in ("scores", "regions", "pairs", "ellipses", "biplot"):
        assert fit.plot(plot_kind) is not None
        plt.close("all")
