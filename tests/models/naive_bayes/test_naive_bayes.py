"""Gaussian naive Bayes against e1071, scikit-learn, diagonal QDA, quadrature, and refits.

``golden/naive_bayes.json`` was written by ``golden/write_naive_bayes.R``, which says how.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.naive_bayes import GaussianNB

from discrim import load, naive_bayes, qda
from discrim.datasets import load as load_table
from discrim.datasets import load_breast_cancer, load_iris, load_penguins
from discrim.errors import CollinearError, DataError, MissingPredictionWarning, NotSupportedError
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "naive_bayes.json").read_text(encoding="utf-8"))["cases"]
IRIS = load_iris()


def lopsided() -> pd.DataFrame:
    """A column constant within class a, a row that holds most of the largest variance, and weights."""
    rng = np.random.default_rng(11)
    y = np.repeat(["a", "b", "c"], [12, 9, 7])
    frame = pd.DataFrame(rng.standard_normal((28, 3)) * [1, 5, 4], columns=["u", "v", "w"])
    frame.loc[y == "a", "u"] = 2.0
    frame.loc[15, "v"] = 400.0
    return frame.assign(y=y, times=1.0 + np.arange(28) % 3)


@pytest.mark.parametrize("name", GOLDEN)
def test_means_deviations_and_posteriors_agree_with_e1071(name):
    case = GOLDEN[name]
    data = load_table(name).dropna(subset=case["columns"])
    fit = naive_bayes(f"{case['response']} ~ {' + '.join(case['columns'])}", data)
    assert fit.classes.tolist() == case["classes"]
    np.testing.assert_allclose(fit.means, case["means"], rtol=1e-13)
    sds = fit.tidy()["sd"].to_numpy().reshape(fit.means.shape)
    np.testing.assert_allclose(sds, case["sds"], rtol=1e-13)
    # 15 digits of a posterior that is the exponential of sums of some hundreds.
    np.testing.assert_allclose(fit.predict_proba(data.iloc[::5]), case["posteriors"], rtol=1e-11)


@pytest.mark.parametrize("load_data", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("smoothing", [1e-9, 0.05])
def test_smoothing_agrees_with_scikit_learn(load_data, smoothing):
    data = load_data()
    response = data.columns[-1] if load_data is load_iris else "diagnosis"
    x = data.drop(columns=response)
    fit = naive_bayes(f"{response} ~ .", data, method="mle", smoothing=smoothing)
    theirs = GaussianNB(var_smoothing=smoothing).fit(x, data[response])
    variances = np.stack([np.diag(cov) for cov in fit.covs.values()])
    np.testing.assert_allclose(variances, theirs.var_, rtol=1e-11)
    np.testing.assert_allclose(fit.predict_log_proba(), theirs.predict_log_proba(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["moment", "mle"])
def test_fit_without_smoothing_equals_diagonal_qda(method):
    fit = naive_bayes("species ~ .", IRIS, method=method, prior="equal")
    other = qda("species ~ .", IRIS, method=method, covariance="diagonal", prior="equal")
    assert (fit.llf, fit.df_model, fit.aic, fit.bic) == (other.llf, other.df_model, other.aic, other.bic)
    pd.testing.assert_frame_equal(fit.leave_one_out(), other.leave_one_out(), check_exact=True)
    pd.testing.assert_frame_equal(fit.decision_function(), other.decision_function(), check_exact=True)
    pd.testing.assert_series_equal(fit.logdet, other.logdet, check_exact=True)
    assert fit.summary(["deviations"]).tables["deviations"].loc["setosa"].to_numpy() == pytest.approx(
        np.sqrt(np.diag(other.covs["setosa"])), rel=1e-14
    )


def test_log_odds_are_quadratic_in_the_columns():
    fit = naive_bayes("species ~ .", IRIS, smoothing=0.1)
    matrix, slopes, constant = fit.quadratic("virginica", "setosa")
    x = IRIS[fit.terms].to_numpy()
    odds = ((x @ matrix.to_numpy()) * x).sum(axis=1) + x @ slopes.to_numpy() + constant
    logs = fit.predict_log_proba()
    np.testing.assert_allclose(odds, logs["virginica"] - logs["setosa"], rtol=1e-10, atol=1e-10)


def test_a_share_of_the_largest_variance_is_added_in_every_class():
    data = lopsided()
    fit = naive_bayes("y ~ u + v + w", data, smoothing=0.02)
    x = data[["u", "v", "w"]]
    expected = x.groupby(data["y"]).var() + 0.02 * x.var(ddof=0).max()
    np.testing.assert_allclose([np.diag(cov) for cov in fit.covs.values()], expected, rtol=1e-13)
    np.testing.assert_allclose(fit.logdet, np.log(expected).sum(axis=1), rtol=1e-12)
    assert "0.02 of the largest variance" in fit.summary(["header"]).as_text()
    assert fit.glance()["smoothing"].tolist() == [0.02]


@pytest.mark.parametrize("smoothing", [0.0, 1e-9, 0.3])
def test_likelihood_equals_the_sum_of_log_densities(smoothing):
    fit = naive_bayes("species ~ .", IRIS, smoothing=smoothing)
    x, total = IRIS[fit.terms], 0.0
    for label, class_rows in x.groupby(IRIS["species"]):
        sd = np.sqrt(class_rows.var(ddof=0) + smoothing * x.var(ddof=0).max())
        total += norm.logpdf(class_rows, class_rows.mean(), sd).sum() + len(class_rows) * np.log(
            fit.prior[label]
        )
    assert fit.llf == pytest.approx(total, rel=1e-13)


@one_in(2, {"method": ["moment", "mle"], "weighted": [False, True], "smoothing": [1e-6, 0.05, 2.0]})
def test_leaving_a_row_out_recomputes_the_smoothing(method, weighted, smoothing):
    data = lopsided()
    weights = data["times"].to_numpy() if weighted else np.ones(len(data))
    fit = naive_bayes("y ~ u + v + w", data, method=method, weights=weights, smoothing=smoothing)
    left_out = fit.leave_one_out()[fit.classes]
    for row in (0, 11, 13, 15, 20, 27):
        without = weights.copy()
        without[row] -= 1
        refit = naive_bayes(
            "y ~ u + v + w", data, method=method, weights=without, smoothing=smoothing, prior=fit.prior
        )
        expected = refit.predict_proba(data.iloc[[row]])[fit.classes].iloc[0]
        np.testing.assert_allclose(left_out.iloc[row].astype(float), expected, rtol=1e-9, atol=1e-13)


def test_leaving_out_one_of_two_rows_leaves_only_the_smoothing_variance():
    data = pd.DataFrame({"x": [0.0, 1.0, 4.0, 6.0, 7.5], "y": list("aabbb")})
    with pytest.warns(MissingPredictionWarning):
        missing = naive_bayes("y ~ x", data, smoothing=0.1).leave_one_out()["label"].isna()
    assert missing.tolist() == [True, True, False, False, False]
    fit = naive_bayes("y ~ x", data, method="mle", smoothing=0.1)
    remaining_fit = naive_bayes("y ~ x", data.iloc[1:], method="mle", smoothing=0.1, prior=fit.prior)
    expected = remaining_fit.predict_proba(data.iloc[[0]]).to_numpy().ravel()
    np.testing.assert_allclose(fit.leave_one_out().iloc[0, 1:].astype(float), expected, rtol=1e-12)


def test_errors_name_a_column_constant_in_a_class_and_suggest_smoothing():
    data = lopsided()
    with pytest.raises(CollinearError) as caught:
        naive_bayes("y ~ u + v + w", data)
    assert "'u'" in str(caught.value)
    assert "'a'" in str(caught.value)
    assert naive_bayes("y ~ u + v + w", data, smoothing=1e-9).predict().notna().all()


@pytest.mark.parametrize(
    ("options", "says"),
    [({}, "Class 'c' has 1 row,"), ({"smoothing": 0.1}, "Class 'c' has 1 row,"), ({"method": "mle"}, "'x'")],
)
def test_a_class_of_one_row_is_named(options, says):
    data = pd.DataFrame({"x": [0.0, 1.0, 4.0, 6.0, 7.0], "y": list("aabbc")})
    with pytest.raises(CollinearError, match=says):
        naive_bayes("y ~ x", data, **options)
    assert naive_bayes("y ~ x", data, method="mle", smoothing=0.1).predict()[4] == "c"


def test_smoothing_of_columns_that_do_not_vary_is_refused():
    data = pd.DataFrame({"x": np.ones(6), "y": list("aaabbb")})
    with pytest.raises(CollinearError) as caught:
        naive_bayes("y ~ x", data, smoothing=0.1)
    assert "'x'" in str(caught.value)


@pytest.mark.parametrize("smoothing", [-1e-9, np.nan, np.inf, "much", None, True, [0.1]])
def test_smoothing_is_not_negative(smoothing):
    with pytest.raises(DataError) as caught:
        naive_bayes("species ~ .", IRIS, smoothing=smoothing)
    assert "smoothing=" in str(caught.value)


def test_unsupported_methods_explain_themselves():
    fit = naive_bayes("species ~ . - island - sex - year", load_penguins())
    for method in ("predictive", "debiased"):
        with pytest.raises(NotSupportedError, match=method):
            fit.predict_proba(method=method)


def test_files_keep_a_smoothed_fit(tmp_path):
    data = lopsided()
    fit = naive_bayes("y ~ u + v + w", data, smoothing=0.01)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    assert (again.smoothing, again.llf) == (fit.smoothing, fit.llf)
    pd.testing.assert_frame_equal(again.predict_proba(data), fit.predict_proba(data), check_exact=True)


def test_plots():
    fit = naive_bayes("species ~ petal_length + petal_width", IRIS)
    assert fit.plot().get_xlabel() == "petal_length"
    assert fit.plot("posteriors") is not None
    with pytest.raises(DataError) as caught:
        fit.plot("densities")
    assert "kind=" in str(caught.value)


# ------------------------------------------------------------------ missing predictors


PENGUINS = load_penguins()
MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_a_missing_column_leaves_the_posterior_of_the_fit_without_it(smoothing):
    complete = PENGUINS.dropna(subset=MEASURES)
    options = {"smoothing": smoothing, "prior": [0.2, 0.3, 0.5]}
    fit = naive_bayes(f"species ~ {' + '.join(MEASURES)}", complete, **options)
    for missing_columns in (["body_mass_g"], ["bill_length_mm", "flipper_length_mm"], MEASURES[:3]):
        others = [name for name in MEASURES if name not in missing_columns]
        holed = complete.assign(**dict.fromkeys(missing_columns, np.nan))
        # Smoothing is a share of the largest variance, which may be that of the column taken away.
        proportion = smoothing * complete[MEASURES].var().max() / complete[others].var().max()
        other = naive_bayes(
            f"species ~ {' + '.join(others)}", complete, **options | {"smoothing": proportion}
        )
        np.testing.assert_allclose(fit.predict_proba(holed), other.predict_proba(complete), rtol=1e-10)
        odds, expected = (
            f.diff(axis=1).iloc[:, 1:]
            for f in (fit.decision_function(holed), other.decision_function(complete))
        )
        np.testing.assert_allclose(odds, expected, rtol=1e-9, atol=1e-9)


def test_integrating_the_joint_density_over_the_missing_column_gives_the_posterior():
    fit = naive_bayes("species ~ petal_length + petal_width", IRIS)
    row = IRIS.iloc[[70]].assign(petal_length=np.nan)
    grid = np.linspace(-5, 15, 4001)
    joint = []
    for label in fit.classes:
        mean, sd = fit.means.loc[label], np.sqrt(np.diag(fit.covs[label]))
        along = norm.pdf(grid, mean.iloc[0], sd[0]) * norm.pdf(
            row["petal_width"].iloc[0], mean.iloc[1], sd[1]
        )
        joint.append(fit.prior[label] * np.trapezoid(along, grid))
    np.testing.assert_allclose(fit.predict_proba(row).iloc[0], np.array(joint) / sum(joint), rtol=1e-12)


def test_a_row_of_missing_values_only_has_the_prior():
    fit = naive_bayes("species ~ .", IRIS, prior={"setosa": 0.5, "versicolor": 0.0, "virginica": 0.5})
    row = pd.DataFrame(np.nan, index=["none"], columns=fit.terms)
    assert fit.predict_proba(row).iloc[0].tolist() == [0.5, 0.0, 0.5]
    assert fit.predict(row).tolist() == ["setosa"]


def test_a_missing_value_removes_the_terms_that_use_it():
    formula = (
        "species ~ log(body_mass_g) + bill_depth_mm + I(bill_length_mm * bill_depth_mm) + body_mass_g:year"
    )
    complete = PENGUINS.dropna(subset=MEASURES)
    fit = naive_bayes(formula, complete)
    holed = complete.copy()
    holed.loc[holed.index[::3], "body_mass_g"] = np.nan
    remaining_fit = naive_bayes("species ~ bill_depth_mm + I(bill_length_mm * bill_depth_mm)", complete)
    actual, total = fit.predict_proba(holed), fit.predict_proba(complete)
    np.testing.assert_allclose(actual.iloc[::3], remaining_fit.predict_proba(complete).iloc[::3], rtol=1e-9)
    is_kept = np.arange(len(complete)) % 3 > 0
    pd.testing.assert_frame_equal(actual[is_kept], total[is_kept], check_exact=True)


@pytest.mark.parametrize(
    "formula", ["species ~ bill_length_mm + sex_code", "species ~ log(bill_length_mm) + sex_code"]
)
def test_error_rates_use_complete_rows(formula):
    data = PENGUINS.assign(sex_code=PENGUINS["sex"].map({"male": 1.0, "female": 0.0}))
    fit = naive_bayes(formula, data)
    assert fit._fit.dropped == data["sex_code"].isna().sum() > 0
    complete = data.dropna(subset=["sex_code"])
    for method in ("apparent", "loo"):
        assert fit.confusion(method=method).to_numpy().sum() == fit.nobs
    pd.testing.assert_frame_equal(fit.error_rates(), naive_bayes(formula, complete).error_rates())
    assert fit.predict().notna().all()
    assert fit.confusion(data).to_numpy().sum() == len(data)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_units_may_be_far_from_one_and_are_refused_where_smoothing_cannot_span_them():
    fit = naive_bayes("species ~ .", IRIS, smoothing=0.01)
    measures = IRIS[fit.terms]
    tiny = IRIS.assign(**(measures * 2.0**-600))
    np.testing.assert_allclose(
        naive_bayes("species ~ .", tiny, smoothing=0.01).leave_one_out()[fit.classes],
        fit.leave_one_out()[fit.classes],
        rtol=1e-12,
    )
    with pytest.raises(CollinearError) as caught:
        naive_bayes("species ~ .", IRIS.assign(petal_width=IRIS["petal_width"] * 1e-170), smoothing=0.01)
    assert "smoothing=" in str(caught.value)
    assert "scales" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_weights_too_small_for_a_variance_are_named():
    weights = np.where(IRIS["species"] == "setosa", 1 / 200, 1.0)
    with pytest.raises(CollinearError) as caught:
        naive_bayes("species ~ .", IRIS, weights=weights)
    assert "'setosa'" in str(caught.value)


def test_a_file_with_a_variance_of_zero_is_refused(tmp_path):
    fit = naive_bayes("y ~ u + v + w", lopsided(), smoothing=0.01)
    fit.save(tmp_path / "fit")
    data = (tmp_path / "fit").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    for proportion, says in (
        ("0.0", "variance"),
        ("-1.0", "smoothing"),
        ("NaN", "the value nan, which is not finite"),
    ):
        about = header["__metadata__"]["fit"].replace('"smoothing": 0.01', f'"smoothing": {proportion}')
        checksum = hashlib.sha256(about.encode() + b"\0" + body).hexdigest()
        changed = header | {"__metadata__": header["__metadata__"] | {"fit": about, "sha256": checksum}}
        text = json.dumps(changed).encode()
        (tmp_path / "bad").write_bytes(len(text).to_bytes(8, "little") + text + body)
        with pytest.raises(DataError, match=says):
            load(tmp_path / "bad")


def test_bayes_is_capitalized_within_a_sentence():
    fit = naive_bayes("species ~ .", load_table("iris"))
    assert fit.assess(method="apparent").summary().title == "Assessment: naive Bayes"
