"""Expected errors by the number of rows, the rows of a plan, and learning curves."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, norm

import discrim
from discrim import plan
from discrim.cli import main
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, DiscrimWarning, NotSupportedError
from discrim.inference.parametric_errors import two_class_errors
from discrim.inference.sample_size import (
    RULES,
    Setting,
    bayes_error,
    expected_error,
    fit_power_law,
    min_rows_per_class,
    required_test_rows,
    required_training_rows,
    simplex_means,
)

DRAWS = 2**14


def brute(rule, n, setting, repeats, rng):
    """Errors of rules that are fitted to samples, of rows that are drawn too; each is of one sample."""
    k, p = setting.classes, setting.p
    means, error_rates = np.zeros((k, p)), []
    means[:, : k - 1] = setting.distance * simplex_means(k)
    if rule == "diagonal" and k == 2:
        means[:] = means[:, :1] / np.sqrt(p)
    for _ in range(repeats):
        x, new = (rng.normal(size=(k, m, p)) + means[:, None] for m in (n, 20))
        centres = x.mean(axis=1)
        deviations = x - centres[:, None]
        scatters = np.einsum("kni,knj->kij", deviations, deviations)
        away = new.reshape(-1, 1, p) - centres
        if rule == "qda":
            covs = scatters / (n - 1)
            squares = np.einsum("aki,kij,akj->ak", away, np.linalg.inv(covs), away)
            squares += np.linalg.slogdet(covs)[1]
        else:
            cov = scatters.sum(axis=0) / (k * (n - 1))
            inverse = np.diag(1 / np.diag(cov)) if rule == "diagonal" else np.linalg.inv(cov)
            squares = np.einsum("aki,ij,akj->ak", away, inverse, away)
        error_rates.append((squares.argmin(axis=1) != np.repeat(np.arange(k), 20)).mean())
    return np.mean(error_rates), np.std(error_rates) / np.sqrt(repeats)


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("k", "p", "n", "d"), [(2, 5, 15, 2.0), (2, 1, 8, 2.0), (3, 4, 12, 2.5), (4, 3, 20, 3.0)]
)
def test_expected_errors_agree_with_fitted_rules(rule, k, p, n, d):
    if rule == "diagonal" and k > 2:
        pytest.skip("where the means lie matters to the diagonal rule, and is checked for two classes")
    setting = Setting(d, p, k, 2**16, 0)
    mean, se = expected_error(rule, n, setting)
    fitted, other = brute(rule, n, setting, 3000, np.random.default_rng(1))
    assert abs(mean - fitted) < 4 * np.hypot(se, other)


def test_the_bayes_error_agrees_with_the_known_distribution():
    assert bayes_error(Setting(2.0, 3, 2, 0, 0)) == pytest.approx(norm.cdf(-1), rel=1e-12)
    rng = np.random.default_rng(0)
    for k in (3, 5):
        means = 2.5 * simplex_means(k)
        deviations = np.linalg.norm(means[:, None] - means, axis=2)
        np.testing.assert_allclose(deviations[~np.eye(k, dtype=bool)], 2.5)
        x = rng.normal(size=(200_000, k - 1)) + means[0]
        wrong = (((x[:, None] - means) ** 2).sum(axis=2).argmin(axis=1) != 0).mean()
        assert bayes_error(Setting(2.5, 9, k, 0, 0)) == pytest.approx(wrong, abs=0.004)


@pytest.mark.parametrize(("p", "n", "d"), [(2, 100, 1.5), (5, 200, 2.0), (10, 400, 3.0)])
def test_for_many_rows_lda_has_okamotos_expected_error(p, n, d):
    mean, se = expected_error("lda", n, Setting(d, p, 2, DRAWS, 0))
    okamoto = two_class_errors(d * d, np.array([n, n]), 2 * n - 2, p, 0.0, shrunk=False, expected=True)[0]
    assert abs(mean - okamoto) < 4 * se


@pytest.mark.parametrize(("p", "n", "d"), [(40, 40, 3.0), (100, 150, 2.5), (60, 40, 4.0)])
def test_for_many_columns_lda_has_raudys_expected_error(p, n, d):
    mean, se = expected_error("lda", n, Setting(d, p, 2, DRAWS, 0))
    variance_factor = (1 + 2 * p / (d * d * n)) * 2 * n / (2 * n - p)
    assert mean == pytest.approx(norm.cdf(-d / 2 / np.sqrt(variance_factor)), abs=4 * se + 0.004)


def test_a_plan_prints_the_required_rows():
    sample_plan = plan(distance=2, p=4, error=0.2, width=0.1, rows=[5, 10, 40, 160], draws=2**12)
    assert sample_plan.least_error == pytest.approx(norm.cdf(-1))
    assert np.isnan(sample_plan.table.loc[5, "qda"]) == (
        min_rows_per_class("qda", Setting(2, 4, 2, 0, 0)) > 5
    )
    assert (sample_plan.table.loc[[10, 40, 160], list(RULES)].diff().dropna() < 0).all(axis=None)
    assert (sample_plan.wanted["error"] <= 0.2).all()
    assert (sample_plan.wanted["error"] - 0.2).abs().max() < 0.006
    assert (sample_plan.wanted["total"] == 2 * sample_plan.wanted["rows"]).all()
    assert (
        sample_plan.wanted["rows"]["diagonal"]
        < sample_plan.wanted["rows"]["lda"]
        < sample_plan.wanted["rows"]["qda"]
    )
    by_excess = plan(2, 4, excess=0.2 - sample_plan.least_error, rows=[10], draws=2**12)
    assert by_excess.wanted["rows"].to_dict() == sample_plan.wanted["rows"].to_dict()
    tidy = sample_plan.tidy()
    assert list(tidy.columns) == ["rule", "rows", "estimate", "std_error", "excess"]
    assert (tidy["excess"] + sample_plan.least_error - tidy["estimate"]).abs().max() < 1e-15
    text = " ".join(sample_plan.summary().as_text().split())
    assert "wanted" in sample_plan.summary().tables
    assert "common covariance matrix" in text
    assert sample_plan.plot().get_xscale() == "log"


def test_required_rows_are_minimal_and_need_enough_draws():
    setting = Setting(2.0, 1, 2, 4000, 0)
    for rule in RULES:
        n = required_training_rows(rule, 0.2, setting)
        assert n is not None
        assert expected_error(rule, n, setting)[0] <= 0.2
        before = n - 1
        assert before < min_rows_per_class(rule, setting) or expected_error(rule, before, setting)[0] > 0.2
        # Below the standard error of the draws nothing is told apart.
        assert required_training_rows(rule, bayes_error(setting) + 1e-7, setting) is None


def test_test_rows_are_the_fewest_with_a_narrow_interval():
    for error, width, level in [(0.1, 0.1, 0.95), (0.3, 0.05, 0.9), (0.02, 0.04, 0.99)]:

        def wide(n, error=error, level=level):
            low = beta.ppf((1 - level) / 2, error * n, n - error * n + 1)
            return beta.ppf((1 + level) / 2, error * n + 1, n - error * n) - low

        n = required_test_rows(error, width, level)
        assert wide(n) <= width < wide(n - 1)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"distance": 0, "p": 3}, r"distance=0 is not valid\. Pass a number"),
        ({"distance": 2, "p": 1.5}, r"p=1.5 is not valid\. Pass a whole number"),
        ({"distance": 2, "p": 2, "classes": 4}, r"classes=4 is too large.* 3 class means .* more variables"),
        (
            {"distance": 2, "p": 3, "error": 0.1},
            r"0.1587.* 0.5",
        ),
        ({"distance": 2, "p": 3, "error": 0.2, "excess": 0.1}, "error= and excess="),
        ({"distance": 2, "p": 3, "width": 2}, "width=2 is not valid. Pass a number"),
        (
            {"distance": 2, "p": 3, "rows": 20},
            r"rows=20 is not valid\. Pass numbers of rows per class, such as \[10, 20, 50\]",
        ),
    ],
)
def test_invalid_plans_are_refused(options, match):
    with pytest.raises(DataError, match=match):
        plan(**options)


def test_the_command_line_plans_samples(capsys, tmp_path):
    typed = ["plan", "--distance", "2", "--p", "3", "--rows", "10,50", "--draws", "1000", "--width", "0.2"]
    assert main([*typed, "--plot", str(tmp_path / "plan.png")]) == 0
    assert "Test observations" in capsys.readouterr().out
    assert (tmp_path / "plan.png").stat().st_size > 1000
    assert main(["plan", "--distance", "2", "--p", "0"]) == 2
    assert "p=0" in capsys.readouterr().err


def test_an_exact_power_law_is_recovered():
    n = np.array([12.0, 25.0, 50.0, 100.0, 300.0])
    errors = np.stack([0.05 + 2.0 * n**-0.8, 0.8 * n**-0.5, np.full(5, 0.2)])
    curve = fit_power_law(n, errors, np.array([1.0, 2.0, 1.0, 3.0, 1.0]))
    np.testing.assert_allclose(curve.evaluate(n), errors, atol=2e-4)
    np.testing.assert_allclose(curve.evaluate(np.array([1000.0]))[0], 0.05 + 2.0 * 1000.0**-0.8, atol=1e-3)
    assert (curve.a >= 0).all()
    assert (curve.b >= 0).all()


PENGUINS = load_penguins()[["species", "bill_depth_mm", "body_mass_g"]].dropna()


def test_a_learning_curve_agrees_with_rules_fitted_to_subsets():
    fit = discrim.lda("species ~ .", PENGUINS)
    curve = fit.learning_curve([0.2, 0.5, 0.8], repeats=2, seed=3)
    assert curve.table["rules"].tolist() == [2, 4, 10]
    five = discrim.cross_validate(fit, folds=5, repeats=2, seed=3)
    assert curve.table["error"].iloc[2] == pytest.approx(five.table()["estimate"]["error"], rel=1e-12)
    wrong = n_predicted = 0
    for repeat in (1, 2):
        test_mask = (five.folds[repeat] == 1).to_numpy()
        refit = discrim.lda("species ~ .", PENGUINS[test_mask], prior=fit.prior)
        wrong += (refit.predict(PENGUINS[~test_mask]) != PENGUINS["species"][~test_mask]).sum()
        n_predicted += (~test_mask).sum()
    assert curve.table["error"].iloc[0] == pytest.approx(wrong / n_predicted, rel=1e-12)
    assert curve.table.index[0] == round(np.mean([(five.folds[r] == 1).sum() for r in (1, 2)]))
    again = fit.learning_curve([0.2, 0.5, 0.8], repeats=2, seed=3)
    pd.testing.assert_frame_equal(again.table, curve.table)
    ahead = curve.predict([100, 10_000])
    assert ((ahead["low"] <= ahead["error"]) & (ahead["error"] <= ahead["high"])).all()
    assert ahead["error"].iloc[1] >= curve.params["a"] - 1e-12
    assert curve.rows_for(0.9999) is not None
    assert curve.params["a"] == 0 or curve.rows_for(curve.params["a"] / 2) is None
    assert list(curve.tidy().columns) == ["rows", "estimate", "std_error", "conf_low", "conf_high", "fitted"]
    assert "ahead" in curve.summary().tables
    assert curve.plot().get_ylabel() == "Held-out error"


OPTIONS = {"qda": {}, "knn": {"k": 3}, "naive_bayes": {}, "pls": {"ncomp": 1}, "perceptron": {"maxiter": 20}}


@pytest.mark.parametrize("verb", [*OPTIONS, "logistic"])
def test_every_refittable_verb_has_a_learning_curve(verb):
    options = OPTIONS.get(verb, {"bias_reduction": True})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = getattr(discrim, verb)("species ~ bill_depth_mm + body_mass_g", PENGUINS, **options)
    curve = fit.learning_curve([1 / 3, 0.5, 2 / 3], repeats=1, seed=1)
    assert curve.table["error"].between(0, 0.6).all()


def test_learning_curves_handle_priors_groups_and_failed_sizes():
    fit = discrim.lda("species ~ .", PENGUINS, prior="equal")
    curve = fit.learning_curve([0.2, 0.5, 0.8], repeats=1, seed=0)
    cv = discrim.cross_validate(fit, folds=2, seed=0)
    assert curve.table["error"].iloc[1] == pytest.approx(cv.by_class["error"].mean(), rel=1e-12)
    small_table = discrim.qda("species ~ .", load_iris().groupby("species", observed=True).head(12))
    with pytest.warns(
        DiscrimWarning, match=r"No rule can be fitted to 0.2 of the rows, so the curve begins at 18 rows"
    ):
        assert list(small_table.learning_curve([0.2, 0.5, 2 / 3, 0.8], repeats=1, seed=0).failed) == [0.2]
    with pytest.raises(NotSupportedError) as caught:
        fit.learning_curve([0.5, 0.8])
    assert "sizes=" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.learning_curve([0.2, 0.5, 1.5])
    assert "sizes=1.5" in str(caught.value)
    groups = np.arange(len(PENGUINS)) // 4
    grouped = fit.learning_curve([0.2, 0.5, 0.8], repeats=1, groups=groups, seed=0)
    assert grouped.table["se"].gt(0).all()


def test_learning_curves_use_weights_and_have_limits_without_errors():
    two = load_iris().query("species != 'virginica'")
    error_rates = [0.2, 0.5, 0.8]
    alone = discrim.lda("species ~ .", two).learning_curve(error_rates, repeats=1, seed=0)
    heavy = discrim.lda("species ~ .", two, weights=np.full(100, 3)).learning_curve(
        error_rates, repeats=1, seed=0
    )
    assert heavy.table.index.tolist() == (3 * alone.table.index).tolist()
    assert (alone.table["error"] == 0).all()
    # No error in n rows: (1 - high)^n = 0.025. All rows are judged at the second and the third size.
    for curve, rows in ((alone, 100), (heavy, 300)):
        expected = 1 - 0.025 ** (1 / rows)
        assert curve.table["high"].iloc[1:].to_numpy() == pytest.approx([expected] * 2, rel=1e-9)
        assert curve.predict(10**6)["high"].iloc[0] == pytest.approx(expected, rel=1e-9)
    text = " ".join(alone.summary().as_text().split())
    assert "none: no decrease of errors" in text


def test_a_size_without_a_fit_names_the_column_at_fault():
    fit = discrim.qda("species ~ .", load_iris())
    with pytest.warns(DiscrimWarning, match="No rule can be fitted"):
        failed = fit.learning_curve([0.1, 0.3, 0.5, 0.7], repeats=20, seed=0).failed
    assert list(failed) == [0.1]
    assert any(repr(term) in failed[0.1] for term in fit.terms)
