"""Regression of class indicators against lm, statsmodels, LDA, refits and eighty-digit arithmetic.

``golden/indicator.json`` was written by ``golden/write_indicator.R``, which says how.
"""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim import compare, indicator, lda, load
from discrim.datasets import load as load_table
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    DiscrimWarning,
    DroppedColumnsWarning,
    FormulaError,
    MissingPredictionWarning,
    NotSupportedError,
)
from tests import references as ref
from tests import support
from tests.contract.test_accuracy import CASES, DIGITS_OF_A_DOUBLE, LABELS, ONE_DIGIT
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "indicator.json").read_text(encoding="utf-8"))["cases"]
IRIS = load_iris()
PENGUINS = load_penguins()


def golden(name: str):
    case = GOLDEN[name]
    data = load_table(name).dropna(subset=case["columns"])
    return case, data, indicator(f"{case['response']} ~ {' + '.join(case['columns'])}", data)


def weighted(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(w=1.0 + np.arange(len(data)) % 3)


def three_in_a_row(seed: int = 0, n: int = 60) -> pd.DataFrame:
    """Three round classes whose means lie on a line in the plane, the middle one a little smaller."""
    rng = np.random.default_rng(seed)
    sizes = [n, n - 20, n]
    y = np.repeat(["left", "middle", "right"], sizes)
    centres = np.repeat([[-4.0, -4.0], [0.0, 0.0], [4.0, 4.0]], sizes, axis=0)
    return pd.DataFrame(centres + rng.standard_normal((len(y), 2)), columns=["u", "v"]).assign(y=y)


# ------------------------------------------------------------------ least squares


@pytest.mark.parametrize("name", GOLDEN)
def test_coefficients_errors_and_tests_agree_with_lm(name):
    case, _, fit = golden(name)
    assert fit.classes.tolist() == case["classes"]
    table, full = fit.coefficients(), fit.regressions()
    for label, theirs in zip(fit.classes, case["regressions"], strict=True):
        ours = table.loc[label]
        for column in ("coef", "se", "t"):
            np.testing.assert_allclose(ours[column], theirs[column], rtol=1e-9)
        np.testing.assert_allclose(ours["p"], theirs["p"], rtol=1e-8)
        row = full.loc[label]
        np.testing.assert_allclose(
            row[["R2", "sigma", "F"]], [theirs["r2"], theirs["sigma"], theirs["f"]], rtol=1e-9
        )
        np.testing.assert_allclose(fit.fitted[label].iloc[::5], theirs["fitted"], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fit.leave_one_out()[label].iloc[::5], theirs["loo"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", [None, "w"])
def test_estimates_agree_with_statsmodels(weights):
    data = weighted(PENGUINS).dropna()
    fit = indicator("species ~ bill_length_mm + log(body_mass_g) + sex", data, weights=weights)
    design = np.column_stack(
        [np.ones(len(data)), data["bill_length_mm"], np.log(data["body_mass_g"]), data["sex"] == "male"]
    )
    row_counts = np.ones(len(data), dtype=int) if weights is None else data["w"].astype(int)
    rows = np.repeat(np.arange(len(data)), row_counts)
    for label in fit.classes:
        y = (data["species"] == label).to_numpy(dtype=float)
        theirs = sm.OLS(y[rows], design[rows]).fit()
        ours = fit.coefficients(level=0.9).loc[label]
        order = [
            "constant",
            "bill_length_mm",
            "log(body_mass_g)",
            *fit.terms[fit.terms.str.startswith("sex")],
        ]
        ours = ours.loc[order]
        np.testing.assert_allclose(ours["coef"], theirs.params, rtol=1e-9)
        np.testing.assert_allclose(ours["se"], theirs.bse, rtol=1e-10)
        np.testing.assert_allclose(ours[["low", "high"]], theirs.conf_int(0.1), rtol=1e-8)
        np.testing.assert_allclose(
            fit.regressions().loc[label, ["F", "p"]], [theirs.fvalue, theirs.f_pvalue], rtol=1e-8
        )
        assert fit.df_resid == theirs.df_resid
        np.testing.assert_allclose(fit.fitted[label], design @ theirs.params, rtol=1e-9, atol=1e-12)
    hat = np.einsum("ij,ij->i", design, design @ np.linalg.inv(design[rows].T @ design[rows]))
    np.testing.assert_allclose(fit.hat, hat * row_counts, rtol=1e-9)


def test_coefficients_sum_to_zero_and_constants_and_fitted_values_to_one():
    fit = indicator("species ~ .", IRIS)
    np.testing.assert_allclose(fit.coef.sum(axis=1), 0, atol=1e-14)
    assert fit.intercept.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(fit.fitted.sum(axis=1), 1, atol=1e-13)
    direct = IRIS.iloc[:, :4].to_numpy() @ fit.coef.to_numpy() + fit.intercept.to_numpy()
    np.testing.assert_allclose(fit.fitted, direct, atol=1e-13)
    pd.testing.assert_frame_equal(fit.decision_function(), fit.fitted)
    pd.testing.assert_frame_equal(fit.predict_indicators(IRIS.head()), fit.fitted.head())
    assert (fit.fitted < 0).any(axis=None)


def test_a_column_constant_within_classes_is_no_obstacle():
    data = IRIS.assign(exact=IRIS["species"].eq("setosa") * 2.0)
    fit = indicator("species ~ sepal_width + exact", data)
    np.testing.assert_allclose(fit.fitted["setosa"], data["exact"] / 2, atol=1e-13)
    with pytest.raises(CollinearError) as caught:
        lda("species ~ sepal_width + exact", data)
    assert caught.value.columns == ("exact",)
    with pytest.raises(CollinearError) as caught:
        _ = fit.optimal_scoring().scaling
    assert "exact" in str(caught.value)


@pytest.mark.parametrize("seed", range(4))
def test_discriminants_exist_if_and_only_if_lda_exists(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(2 + seed), 20)
    x = rng.standard_normal((len(y), 3 + seed))
    x[:, -1] = y - x[:, :-1].sum(axis=1)
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(y=y)
    for verb in (lda, lambda *given: indicator(*given).optimal_scoring().scaling):
        with pytest.raises(CollinearError, match=f"'x{2 + seed}'"):
            verb("y ~ .", data)


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
@pytest.mark.parametrize(("n", "seed"), [(10_000, 0), (10_000, 1), (300_000, 2)])
def test_collinear_columns_of_many_rows_are_found(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    data = pd.DataFrame({"b": rng.standard_normal(n) + y, "c": rng.standard_normal(n), "y": y})
    data["sum"] = 2 * data["b"] + 3 * data["c"]
    data["near"] = data["sum"] + 1e-9 * rng.standard_normal(n)
    for verb in (indicator, lda):
        with pytest.raises(CollinearError) as caught:
            verb("y ~ b + c + sum", data)
        assert caught.value.columns == ("sum",)
        assert verb("y ~ b + c + near", data).terms.tolist() == ["b", "c", "near"]


@one_in(3, {"far": [1e2, 1e4, 1e6, 1e8], "seed": range(3)})
def test_classes_far_apart_keep_the_axes_of_lda(seed, far):
    # Two correlations are within far**-2 of one, and the axes are told apart by that.
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3 + seed), 20)
    x = rng.standard_normal((len(y), 3)) + far * np.column_stack([y, -(y**2), 0 * y])
    data = pd.DataFrame(x, columns=list("uvw")).assign(y=y)
    ours, theirs = indicator("y ~ .", data).optimal_scoring(), lda("y ~ .", data)
    np.testing.assert_allclose(ours.scaling, theirs.scaling, rtol=1e-12 * far)
    roots = theirs.canonical().eigenvalues
    np.testing.assert_allclose(ours.residuals, 1 / (1 + roots), rtol=1e-14 * far)


def test_more_columns_than_degrees_of_freedom_within_classes():
    data = IRIS.iloc[[0, 1, 50, 51, 100, 101]]
    fit = indicator("species ~ .", data)
    design = np.column_stack([np.ones(6), data.iloc[:, :4]])
    y = pd.get_dummies(data["species"]).to_numpy(dtype=float)
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(fit.fitted, design @ expected, atol=1e-9)


# ------------------------------------------------------------------ the rule


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_have_the_direction_of_lda(seed):
    rng = np.random.default_rng(seed)
    sizes = (40, 40) if seed == 0 else (25, 60)
    y = np.repeat(["a", "b"], sizes)
    x = rng.standard_normal((len(y), 3)) @ rng.standard_normal((3, 3)) + (y == "b")[:, None]
    data = pd.DataFrame(x, columns=list("uvw")).assign(y=y)
    ours, theirs = indicator("y ~ .", data), lda("y ~ .", data)
    slopes = theirs.coef["b"] - theirs.coef["a"]
    ratio = ours.coef["b"] / slopes
    np.testing.assert_allclose(ratio, ratio.iloc[0], rtol=1e-11)
    assert ratio.iloc[0] > 0
    np.testing.assert_allclose(ours.coef["a"], -ours.coef["b"], rtol=1e-11)
    agree = (ours.predict() == theirs.predict()).all()
    assert agree or seed > 0
    # The t of a column is that of LDA's partial test.
    np.testing.assert_allclose(
        ours.coefficients().loc["b"].loc[["u", "v", "w"], "t"].abs(),
        theirs.partial_tests()["t"].abs(),
        rtol=1e-10,
    )
    values = ours.decision_function()
    assert isinstance(values, pd.Series)
    assert ((values > 0) == (ours.predict() == "b")).all()


@pytest.mark.parametrize("data", [IRIS, PENGUINS.dropna()], ids=["iris", "penguins"])
def test_the_nearest_target_is_the_class_of_the_largest_fitted_value(data):
    fit = indicator("species ~ " + " + ".join(data.select_dtypes("number").columns[:4]), data)
    targets = np.eye(3)
    distance = ((fit.fitted.to_numpy()[:, None, :] - targets) ** 2).sum(axis=2)
    assert (fit.classes[distance.argmin(axis=1)] == fit.predict()).all()


def test_three_classes_in_a_row_mask_the_middle_one_and_parabolas_find_it():
    data = three_in_a_row()
    straight = indicator("y ~ u + v", data)
    assert straight.masked.tolist() == ["middle"]
    assert (straight.predict() != "middle").all()
    assert lda("y ~ u + v", data).error_rates(["apparent"])["estimate"].iloc[0] < 0.01
    text = straight.summary().as_text()
    assert "Masked: 'middle'" in text
    bent = indicator("y ~ poly(u, 2) + poly(v, 2) + u:v", data)
    assert bent.masked.tolist() == []
    assert bent.error_rates(["apparent"])["estimate"].iloc[0] < 0.02
    assert "Masked:" not in bent.summary().as_text()


def test_a_class_that_is_nearly_masked_is_counted_and_named():
    rng = np.random.default_rng(1)
    y = np.repeat(["left", "middle", "right"], 100)
    u = np.repeat([-3.0, 0.0, 3.0], 100) + rng.standard_normal(300)
    fit = indicator("y ~ u + v", pd.DataFrame({"u": u, "v": rng.standard_normal(300), "y": y}))
    won = [int(((fit.predict() == label) & (y == label)).sum()) for label in fit.classes]
    assert 0 < won[1] < 50 < min(won[0], won[2])
    summary = fit.summary()
    table = summary.tables["classes"]
    assert table["correct"].tolist() == won
    assert table["predicted"].tolist() == fit.predict().value_counts()[fit.classes].tolist()
    text = " ".join(summary.as_text().split())
    assert "Fewer than half of the observations of 'middle'" in text
    assert "Masked:" not in text
    assert fit.masked.tolist() == []
    assert "nearly masked" not in indicator("species ~ .", IRIS).summary().as_text()


def test_a_masked_class_is_not_named_twice():
    text = " ".join(indicator("y ~ u + v", three_in_a_row()).summary().as_text().split())
    assert "Masked: 'middle'." in text
    assert "nearly masked" not in text


def test_masking_counts_only_rows_of_the_fit():
    data = three_in_a_row()
    extra = pd.DataFrame({"u": [0.0], "v": [0.0], "y": [None]})
    fit = indicator("y ~ u + v", pd.concat([data, extra], ignore_index=True))
    assert fit.masked.tolist() == ["middle"]


# ------------------------------------------------------------------ leaving out


@pytest.mark.parametrize("weights", [None, "w"])
def test_leaving_a_row_out_equals_a_refit_without_it(weights):
    data = weighted(IRIS)
    fit = indicator("species ~ . - w", data, weights=weights)
    remaining = fit.leave_one_out()
    for row in (3, 41, 70, 118, 134):
        less = np.ones(len(data)) if weights is None else data["w"].to_numpy().copy()
        less[row] -= 1
        refit = indicator("species ~ . - w", data, weights=less)
        np.testing.assert_allclose(
            remaining.iloc[row, 1:].astype(float),
            refit.predict_indicators(data.iloc[[row]]).iloc[0],
            rtol=1e-10,
            atol=1e-13,
        )
        assert remaining["label"].iloc[row] == refit.predict(data.iloc[[row]]).iloc[0]


def test_a_row_of_leverage_one_has_no_fit_without_it():
    data = IRIS.iloc[::10].assign(only=IRIS["petal_length"])
    data.iloc[2, data.columns.get_loc("only")] += 1.0
    fit = indicator("species ~ petal_length + only", data)
    assert fit.hat.iloc[2] == pytest.approx(1)
    with pytest.warns(MissingPredictionWarning):
        remaining = fit.leave_one_out()
    assert remaining["label"].isna().to_numpy().nonzero()[0].tolist() == [2]


def test_a_column_that_only_one_row_varies_in_is_left_out_without_that_row():
    data = IRIS.iloc[::10].assign(only=0.0)
    data.iloc[2, data.columns.get_loc("only")] = 1.0
    remaining = indicator("species ~ petal_length + only", data).leave_one_out()
    with pytest.warns(DroppedColumnsWarning, match="'only'"):
        rest = indicator("species ~ petal_length + only", data.drop(index=data.index[2]))
    np.testing.assert_allclose(
        remaining.iloc[2, 1:].astype(float), rest.predict_indicators(data.iloc[[2]]).iloc[0], rtol=1e-12
    )


def test_a_class_of_one_row_left_out_is_fitted_as_zero():
    data = pd.concat([IRIS.iloc[:60], IRIS.iloc[[120]]])
    fit = indicator("species ~ .", data)
    remaining = fit.leave_one_out().iloc[-1]
    assert remaining["virginica"] == pytest.approx(0, abs=1e-12)
    rest = indicator("species ~ .", data.iloc[:-1]).predict_indicators(data.iloc[[-1]]).iloc[0]
    np.testing.assert_allclose(remaining[["setosa", "versicolor"]].astype(float), rest, rtol=1e-9)


def test_folds_are_fits_without_them_from_one_pass():
    from discrim.models.evaluation.validation import assign_folds

    fit = indicator("species ~ .", IRIS)
    fold_ids = assign_folds(fit._fit, 5, 3)
    wrong = 0
    for fold in range(5):
        other = indicator("species ~ .", IRIS[fold_ids != fold])
        fixed = IRIS[fold_ids == fold]
        wrong += int((other.predict(fixed) != fixed["species"]).sum())
    counted = fit.confusion(method="cv", folds=5, seed=3).to_numpy()
    assert counted.sum() - np.trace(counted) == wrong
    rates = fit.error_rates(["apparent", "loo", "cv", "632+"], seed=0, replicates=5)
    assert rates["estimate"].between(0, 1).all()


# ------------------------------------------------------------------ optimal scoring


@pytest.mark.parametrize("name", GOLDEN)
def test_optimal_scoring_gives_the_variates_of_lda(name):
    case, data, fit = golden(name)
    formula = f"{case['response']} ~ {' + '.join(case['columns'])}"
    scoring, theirs = fit.optimal_scoring(), lda(formula, data)
    np.testing.assert_allclose(scoring.scaling, theirs.scaling, rtol=1e-8)
    roots = theirs.canonical().eigenvalues.to_numpy()
    np.testing.assert_allclose(scoring.correlations**2, roots / (1 + roots), rtol=1e-11)
    np.testing.assert_allclose(scoring.residuals, 1 / (1 + roots), rtol=1e-11)
    proportions = fit.prior.to_numpy()
    scores = scoring.scores.to_numpy()
    np.testing.assert_allclose(proportions @ scores, 0, atol=1e-13)
    np.testing.assert_allclose(
        scores.T @ (proportions[:, None] * scores), np.eye(scores.shape[1]), atol=1e-13
    )
    # The scores are targets of least squares: their residuals are what is left, and no others leave less.
    x = data[case["columns"]].to_numpy()
    target = scores[fit.classes.get_indexer(data[case["response"]])]
    design = np.column_stack([np.ones(len(x)), x])
    beta, remaining, *_ = np.linalg.lstsq(design, target, rcond=None)
    np.testing.assert_allclose(beta[1:], scoring.coef, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(remaining / len(x), scoring.residuals, rtol=1e-9)
    assert "Canonical correlations" in repr(scoring)


@pytest.mark.parametrize("name", GOLDEN)
def test_canonical_correlations_agree_with_mda(name):
    case, _, fit = golden(name)
    np.testing.assert_allclose(
        fit.optimal_scoring().correlations ** 2, case["fda"]["linear"]["values"], rtol=1e-10
    )


# ------------------------------------------------------------------ digits


def _exact_fit(x: ref.Exact, rows: ref.Exact, codes: np.ndarray) -> dict[str, ref.Exact]:
    """Coefficients, standard errors, and values of rows, by the normal equations in eighty digits."""
    import mpmath

    n, p = x.shape
    middle = sum(x) / n
    z = x - middle
    y = ref.exact((codes[:, None] == np.arange(3)).astype(float))
    proportion = sum(y) / n
    total = z.T.dot(z)
    coef = ref.solve(total, z.T.dot(y - proportion))
    fitted = z.dot(coef) + proportion
    squares = ((y - fitted) ** 2).sum(axis=0) / (n - p - 1)
    inverse = ref.solve(total, ref.exact(np.eye(p)))
    root = np.frompyfunc(mpmath.sqrt, 1, 1)
    return {
        "coef": coef,
        "se": root(np.outer(np.diagonal(inverse), squares)),
        "values": (rows - middle).dot(coef) + proportion,
    }


MILDER = {
    "offset_1e+00", "offset_1e+02", "offset_1e+06", "offset_1e+10", "offset_1e+12", "scaled_small",
    "scaled_large", "collinear_to_1e-03", "collinear_to_1e-09", "means_1e+02_apart", "means_1e+04_apart",
    "outlying_cell_1e+04", "outlying_row_1e+04",
}  # fmt: skip
"""Cases between two others that run with the fast tests."""
EASY = [
    pytest.param(name, marks=[pytest.mark.exhaustive] if name in MILDER else [])
    for name, case in CASES.items()
    if case.rows is None and case.prior is None
]


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
@pytest.mark.parametrize("name", EASY)
def test_least_squares_are_precise(name):
    case = CASES[name]
    # Rows to be valued are an input of their own, as new rows are: a row of leverage one would else draw the
    # fit along with its own last bit.
    value, loss = ref.inherent_loss(
        lambda x, rows: _exact_fit(x, rows, case.codes),
        *(case.x, case.x),
        by_column=case.by_column,
        floors={"values": 1.0},
    )
    fit = indicator("y ~ " + " + ".join(case.columns), case.frame())
    table = fit.coefficients()["se"].unstack("class").loc[case.columns, LABELS]
    answers = {
        "coef": fit.coef.loc[case.columns, LABELS],
        "se": table,
        "values": fit.predict_indicators(case.frame())[LABELS],
    }
    for quantity, got in answers.items():
        floor = 1.0 if quantity == "values" else 0.0
        doubles = np.abs(ref.to_float(value[quantity]))
        fixed = (doubles > 1e-290) & (doubles < 1e300)
        error = ref.relative_change(
            ref.exact(np.where(fixed, got.to_numpy(), 0.0)) - value[quantity], value[quantity], floor
        )
        allowed = ONE_DIGIT * np.maximum(loss[quantity], 10.0**-DIGITS_OF_A_DOUBLE)
        assert fixed.any()
        assert (error[fixed] <= allowed[fixed]).all(), (
            quantity,
            float((error[fixed] / allowed[fixed]).max()),
        )


# ------------------------------------------------------------------ tables, files, errors


def test_order_of_rows_blocks_and_weights_do_not_matter(short_blocks):
    data = weighted(IRIS)
    fit = indicator("species ~ . - w", data, weights="w")
    shuffled = indicator("species ~ . - w", data.sample(frac=1, random_state=2), weights="w")
    repeated = indicator("species ~ . - w", data.loc[data.index.repeat(data["w"].astype(int))])
    for other in (shuffled, repeated):
        np.testing.assert_allclose(other.predict_indicators(data), fit.fitted, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(other.coefficients(), fit.coefficients(), rtol=1e-9)
    pd.testing.assert_frame_equal(fit.glance(), repeated.glance())
    np.testing.assert_allclose(fit.confusion(method="loo"), repeated.confusion(method="loo"))
    short_blocks()
    chunks = indicator("species ~ . - w", data, weights="w")
    np.testing.assert_allclose(chunks.fitted, fit.fitted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        chunks.leave_one_out().iloc[:, 1:], fit.leave_one_out().iloc[:, 1:], atol=1e-11
    )


def test_a_file_stores_exact_estimates_and_no_rows(tmp_path):
    data = weighted(PENGUINS)
    fit = indicator("species ~ bill_length_mm + bs(bill_depth_mm, 4) + sex", data, weights="w")
    fit.save(tmp_path / "fit")
    for other in (load(tmp_path / "fit"), pickle.loads(pickle.dumps(fit))):
        pd.testing.assert_frame_equal(other.predict_indicators(data), fit.fitted, check_exact=True)
        pd.testing.assert_frame_equal(other.coefficients(), fit.coefficients(), check_exact=True)
        pd.testing.assert_frame_equal(other.glance(), fit.glance(), check_exact=True)
    loaded = load(tmp_path / "fit")
    assert "not available" in loaded.summary().as_text()
    for ask in (lambda f: f.masked, lambda f: f.fitted, lambda f: f.hat, lambda f: f.plot()):
        with pytest.raises(NotSupportedError):
            ask(loaded)
    assert loaded.predict(data).equals(fit.predict())


def test_a_file_of_columns_constant_within_classes_loads(tmp_path):
    data = IRIS.assign(exact=IRIS["species"].eq("setosa") * 2.0)
    fit = indicator("species ~ sepal_width + exact", data)
    fit.save(tmp_path / "fit")
    pd.testing.assert_frame_equal(
        load(tmp_path / "fit").predict_indicators(data), fit.fitted, check_exact=True
    )


def test_rows_with_missing_values_keep_their_place():
    fit = indicator("species ~ bill_length_mm + bill_depth_mm", PENGUINS)
    gone = PENGUINS[["bill_length_mm", "bill_depth_mm"]].isna().any(axis=1)
    assert gone.any()
    for values in (fit.fitted, fit.hat.to_frame(), fit.leave_one_out()):
        assert values.isna().any(axis=1).equals(gone)
    assert fit.confusion().to_numpy().sum() == fit.nobs == (~gone).sum()
    assert f"{int(gone.sum())}" in fit.summary(["header"]).as_text()


BAD = {
    "collinear": (
        lambda: indicator("species ~ . + twice", IRIS.assign(twice=2 * IRIS["sepal_width"])),
        CollinearError,
        r"twice.*sepal_width.*collinear=.drop",
    ),
    "constant": (
        lambda: indicator("species ~ one", IRIS.assign(one=1.0)),
        CollinearError,
        "'one' is constant over all rows.*Name other columns",
    ),
    "few rows": (
        lambda: indicator("species ~ .", IRIS.iloc[[0, 50, 100]]),
        CollinearError,
        "3.*fewer columns",
    ),
    "one class": (lambda: indicator("species ~ .", IRIS.head(50)), DataError, "one class"),
    "no predictor": (lambda: indicator("species ~ 1", IRIS), FormulaError, "no predictor"),
    "unknown column": (lambda: indicator("species ~ sepal_widht", IRIS), FormulaError, "sepal_width"),
    "collinear word": (lambda: indicator("species ~ .", IRIS, collinear="keep"), DataError, "collinear"),
    "level": (lambda: indicator("species ~ .", IRIS).coefficients(level=2), DataError, "level"),
    "prior": (lambda: indicator("species ~ .", IRIS).predict(prior="equal"), NotSupportedError, "prior="),
    "posteriors": (
        lambda: indicator("species ~ .", IRIS).predict_proba(),
        NotSupportedError,
        "negative.*lda",
    ),
    "likelihood": (lambda: indicator("species ~ .", IRIS).llf, NotSupportedError, "likelihood"),
    "kind": (lambda: indicator("species ~ .", IRIS).plot("masks"), DataError, "kind"),
    "plot column": (lambda: indicator("species ~ .", IRIS).plot(columns="petal"), DataError, "petal_length"),
    "plot of text": (
        lambda: indicator("species ~ sex", PENGUINS).plot(columns="sex"),
        NotSupportedError,
        "sex",
    ),
    "missing": (
        lambda: indicator("species ~ bill_length_mm", PENGUINS, na_action="raise"),
        DataError,
        "bill_length_mm",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_is_named(name):
    ask, error, match = BAD[name]
    with pytest.raises(error, match=match):
        ask()


def test_collinear_columns_are_dropped_on_request_and_said(tmp_path):
    data = IRIS.assign(twice=2 * IRIS["sepal_width"])
    with pytest.warns(DroppedColumnsWarning):
        fit = indicator("species ~ .", data, collinear="drop")
    assert "twice" not in fit.terms
    np.testing.assert_allclose(fit.fitted, indicator("species ~ .", IRIS).fitted, atol=1e-12)
    assert "Dropped, collinear" in fit.summary().as_text()
    fit.save(tmp_path / "fit")
    pd.testing.assert_frame_equal(
        load(tmp_path / "fit").predict_indicators(data), fit.fitted, check_exact=True
    )


def test_a_saturated_fit_has_no_errors():
    data = IRIS.iloc[[0, 1, 50, 51, 100]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = indicator("species ~ .", data)
        assert fit.df_resid == 0
        table = fit.coefficients()
    assert table["coef"].notna().all()
    assert table[["se", "t", "p", "low", "high"]].isna().all(axis=None)
    assert "setosa" in fit.summary(["regressions", "coefficients"]).as_text()


def test_an_exact_fit_causes_a_warning():
    exact = pd.DataFrame({"x": [0.1, 0.1, 0.7, 0.7, 0.7], "z": [1.0, 2, 1, 3, 5], "y": list("aabbb")})
    assert "Fitted exactly: 'a', 'b'." in indicator("y ~ x + z", exact).summary().as_text()
    data = IRIS.assign(first=IRIS["species"].eq("setosa") / 3)
    text = indicator("species ~ . ", data).summary().as_text()
    assert "Fitted exactly: 'setosa'." in text
    near = data.assign(first=data["first"] + 1e-6 * np.random.default_rng(0).standard_normal(150))
    assert "without error" not in indicator("species ~ .", near).summary().as_text()


def test_weights_beyond_any_integer_are_counted():
    fit = indicator("species ~ petal_length", IRIS, weights=np.full(150, 1e100))
    np.testing.assert_allclose(fit.counts, 5e101)
    np.testing.assert_allclose(fit.fitted, indicator("species ~ petal_length", IRIS).fitted, rtol=1e-12)


def test_tables_of_every_kind_and_plots():
    import matplotlib.pyplot as plt

    fit = indicator("species ~ petal_length + petal_width", IRIS)
    summary = fit.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_markdown(), repr(fit)):
        assert "constant" in text
    assert list(fit.tidy())[:4] == ["class", "term", "estimate", "std_error"]
    assert {".fitted", ".score.setosa", ".score.virginica"} <= set(fit.augment(IRIS.head()))
    assert compare(fit, lda("species ~ .", IRIS)).loc["Indicator", "error_apparent"] > 0
    lines = indicator("y ~ u", three_in_a_row()).plot()
    assert "masked: middle" in lines.get_title()
    assert len(lines.lines) == 3
    many = pd.DataFrame({"u": np.arange(300.0), "y": np.arange(300) // 10})
    axes = indicator("y ~ u", many).plot()
    assert axes.get_title().endswith("masked: 1, 2, 3 and 25 more")
    curves = np.array([line.get_ydata() for line in axes.lines])
    ticks = np.array([marks.get_offsets()[0, 1] for marks in axes.collections])
    assert len(curves) == len(ticks) == 30
    assert (np.diff(ticks) < 0).all()
    assert ticks.max() < curves.min()
    assert curves.min() - ticks.min() <= (curves.max() - ticks.min()) / 3
    fit.plot("fitted", columns="petal_width")
    fit.plot("regions")
    plt.close("all")


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 4))
def test_any_table_has_the_least_squares_of_its_indicators(seed, n_classes, p):
    rng = np.random.default_rng(seed)
    codes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, p + 6)]
    x = rng.standard_normal((len(codes), p)) * 10.0 ** rng.integers(-3, 4, p) + rng.integers(-5, 6, p)
    data = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    fit = indicator("y ~ .", data)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    design = np.column_stack([np.ones(len(x)), z])
    y = np.eye(n_classes)[codes]
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(fit.fitted, expected, atol=1e-10)
    squares = ((y - expected) ** 2).sum(axis=0)
    np.testing.assert_allclose(fit._fit.estimates.residual_squares(), squares, rtol=1e-8, atol=1e-12)


def test_more_columns_than_rows_are_dropped_as_lm_does():
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(12, 20))).add_prefix("x").assign(y=list("abc") * 4)
    with pytest.raises(CollinearError) as caught:
        indicator("y ~ .", data)
    assert "12" in str(caught.value)
    assert "collinear" in str(caught.value)
    with pytest.warns(DroppedColumnsWarning, match=r"'x11'.*'x12'"):
        fit = indicator("y ~ .", data, collinear="drop")
    # Eleven columns and a constant fit twelve rows: the coefficients solve a square system.
    square = np.column_stack([np.ones(12), data.iloc[:, :11]])
    expected = np.linalg.solve(square, pd.get_dummies(data["y"]).to_numpy(dtype=float))
    np.testing.assert_allclose(fit.coef, expected[1:], rtol=1e-8)
    assert fit.df_resid == 0
    assert fit.coefficients()["se"].isna().all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        assert "Residual df" in str(fit.summary())


def test_a_plot_is_drawn_along_the_first_discriminant_or_against_a_column():
    fit = indicator("species ~ .", IRIS)
    axes = fit.plot()
    scores = lda("species ~ .", IRIS).transform()["LD1"].to_numpy()
    marks = dict(enumerate(each for each in axes.lines if each.get_markersize() == 8))
    assert len(marks) == 3
    # Up to the divisor the axis is LDA's, and the lines are those of least squares on it.
    drawn = np.asarray(axes.collections[0].get_offsets())[:, 0]
    assert abs(np.corrcoef(drawn, scores)[0, 1]) == pytest.approx(1, abs=1e-9)
    within = pd.Series(drawn).groupby(IRIS["species"].to_numpy()).var(ddof=0).mean()
    assert within == pytest.approx(1, rel=1e-6)
    for k, mark in marks.items():
        slope, constant = np.polyfit(drawn, fit.fitted.iloc[:, k], 1)
        mean = drawn[(IRIS["species"] == fit.classes[k]).to_numpy()].mean()
        np.testing.assert_allclose(mark.get_xydata(), [[mean, constant + slope * mean]])
    fit = indicator("species ~ island + bill_length_mm + body_mass_g", PENGUINS)
    assert fit.plot().get_xlabel() == "First discriminant"
    assert fit.plot(columns="body_mass_g").get_xlabel() == "body_mass_g"
    with pytest.raises(NotSupportedError) as caught:
        fit.plot(columns="island")
    assert "'island'" in str(caught.value)
