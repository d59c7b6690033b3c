"""Tests by term, profile intervals, intervals of posteriors: R, statsmodels, brute force, simulation."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

import discrim
from discrim import logistic
from discrim.core.regression.profile_likelihood import solve_increasing
from discrim.datasets import load_breast_cancer, load_iris, load_penguins
from discrim.errors import DataError, NotSupportedError
from discrim.formula.grammar import quote
from tests import support

GOLDEN = json.loads((support.GOLDEN / "logistic_inference.json").read_text(encoding="utf-8"))
TWO, MANY = GOLDEN["two"], GOLDEN["many"]
PENGUINS = load_penguins()
IRIS = load_iris()
TUMOURS = load_breast_cancer()[["diagnosis", "texture_mean", "smoothness_mean", "symmetry_mean"]]


@cache
def table(file: str) -> pd.DataFrame:
    if file == "palmerpenguins_penguins":
        return PENGUINS
    return support.classic_table(file)


def fit_of(case: dict[str, Any], **options: Any) -> Any:
    terms = " + ".join(quote(column) for column in case["columns"])
    fit = logistic(f"{case['response']} ~ {terms}", table(case["file"]), **options)
    assert fit.nobs == case["nobs"]
    return fit


# ------------------------------------------------------------------ R


@pytest.mark.parametrize("name", TWO)
def test_tests_by_term_as_drop1(name):
    case = TWO[name]
    tests = fit_of(case).lr_test(by="term")
    assert tests.index.tolist() == case["terms"]
    np.testing.assert_allclose(tests["statistic"], case["lrt"], rtol=1e-9)
    assert tests["df"].tolist() == case["df"]
    np.testing.assert_allclose(tests["p"], case["p"], rtol=1e-8)


@pytest.mark.parametrize("name", MANY)
def test_tests_by_term_as_differences_of_multinom(name):
    case = MANY[name]
    np.testing.assert_allclose(fit_of(case).lr_test(by="term")["statistic"], case["lrt"], rtol=1e-8)


@pytest.mark.parametrize("name", TWO)
def test_profile_intervals_as_confint(name):
    case = TWO[name]
    fit = fit_of(case)
    # What is left is the error of the spline that R lays through its profile.
    gap = (fit.conf_int(case["level"], "profile") - np.array(case["profile"])).to_numpy() / fit.bse.to_numpy()
    assert np.abs(gap).max() < 1e-5


@pytest.mark.parametrize("name", TWO)
def test_intervals_of_posteriors_as_predict_glm(name):
    case = TWO[name]
    fit = fit_of(case)
    rows = table(case["file"]).dropna(subset=[case["response"], *case["columns"]]).head(20)
    result = fit.posterior_intervals(rows, level=case["level"])[fit.classes[1]]
    z = stats.norm.isf((1 - case["level"]) / 2)
    eta, se = np.array(case["eta"]), np.array(case["se"])
    np.testing.assert_allclose(result["posterior"], special.expit(eta), rtol=1e-10)
    np.testing.assert_allclose(result["low"], special.expit(eta - z * se), rtol=1e-7)
    np.testing.assert_allclose(result["high"], special.expit(eta + z * se), rtol=1e-7)


# ------------------------------------------------------------------ definitions


class Problem:
    """The likelihood of a fit's rows, penalized or not, in columns of unit variance, plainly."""

    def __init__(self, fit: Any, data: pd.DataFrame) -> None:
        used = data.dropna(subset=[*fit.terms, fit.classes.name])
        x = used[list(fit.terms)].to_numpy(dtype=float)
        self.centre, self.unit = x.mean(axis=0), x.std(axis=0)
        self.z = np.column_stack([np.ones(len(x)), (x - self.centre) / self.unit])
        codes = fit.classes.get_indexer(used[fit.classes.name])
        self.y = np.eye(len(fit.classes))[codes]
        self.penalized = fit._fit.estimates.bias_reduction
        p1 = self.z.shape[1]
        # Coefficients of the data from those of the standardized columns.
        self.to_data = np.diag(np.r_[1.0, 1 / self.unit])
        self.to_data[0, 1:] = -self.centre / self.unit
        self.shape = (p1, len(fit.classes) - 1)

    def shares(self, b: np.ndarray) -> np.ndarray:
        eta = np.column_stack([np.zeros(len(self.z)), self.z @ b])
        return special.softmax(eta, axis=1)

    def loss(self, flat: np.ndarray) -> float:
        b = flat.reshape(self.shape)
        eta = np.column_stack([np.zeros(len(self.z)), self.z @ b])
        value = (self.y * special.log_softmax(eta, axis=1)).sum()
        if self.penalized:
            p, q = self.shares(b)[:, 1:], self.shape[1]
            blocks = [
                [self.z.T @ (self.z * (p[:, k] * ((k == m) - p[:, m]))[:, None]) for m in range(q)]
                for k in range(q)
            ]
            value += 0.5 * np.linalg.slogdet(np.block(blocks))[1]
        return -value

    def slope(self, flat: np.ndarray) -> np.ndarray:
        return (-self.z.T @ (self.y - self.shares(flat.reshape(self.shape)))[:, 1:]).ravel()

    def least(self, start: np.ndarray, normals: np.ndarray) -> float:
        """The least loss where normals'b stays what it is at the start."""
        df = np.linalg.svd(normals.T)[2][normals.shape[1] :].T
        result = optimize.minimize(
            lambda u: self.loss(start + df @ u),
            np.zeros(df.shape[1]),
            jac="3-point" if self.penalized else lambda u: df.T @ self.slope(start + df @ u),
            method="BFGS",
            options={"gtol": 1e-6 if self.penalized else 1e-9},
        )
        return float(result.fun)

    def at(self, fit: Any) -> np.ndarray:
        return np.linalg.solve(self.to_data, fit.params.to_numpy()).ravel()

    def drop_on(self, fit: Any, start: np.ndarray, normals: np.ndarray, tries: int = 1) -> float:
        """Twice the drop to the highest maximum that is found from some starts, the first of them given."""
        df, rng = np.linalg.svd(normals.T)[2][normals.shape[1] :].T, np.random.default_rng(0)
        spread = np.sqrt(np.diag(np.linalg.inv(np.cov(self.z[:, 1:].T)))).mean()
        starts = [start + (i > 0) * spread * df @ rng.standard_normal(df.shape[1]) for i in range(tries)]
        return 2 * (min(self.least(each, normals) for each in starts) - self.loss(self.at(fit)))

    def drop_at(self, fit: Any, j: int, k: int, value: float, tries: int = 1) -> float:
        normal = np.zeros(self.shape)
        normal[:, k] = self.to_data[j]
        normal = normal.ravel()
        best = self.at(fit)
        start = best + (value - normal @ best) * normal / (normal @ normal)
        return self.drop_on(fit, start, normal[:, None], tries)


DEFINED = {
    "two": (TUMOURS, "diagnosis ~ .", False),
    "three": (PENGUINS, "island ~ bill_length_mm + bill_depth_mm", False),
    "two, penalized": (TUMOURS.iloc[::5], "diagnosis ~ .", True),
    "three, penalized": (PENGUINS.iloc[::4], "island ~ bill_length_mm + bill_depth_mm", True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFINED)
def test_a_profile_bound_is_where_the_constrained_maximum_has_dropped(name):
    data, formula, penalized = DEFINED[name]
    fit = logistic(formula, data, bias_reduction=penalized)
    problem, bounds = Problem(fit, data), fit.conf_int(0.9, "profile")
    expected = stats.chi2.isf(0.1, 1)
    for k in range(fit.params.shape[1]):
        for j in range(fit.params.shape[0]):
            for bound in bounds.iloc[k * fit.params.shape[0] + j]:
                assert problem.drop_at(fit, j, k, bound) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", [name for name in DEFINED if "penalized" in name])
def test_a_penalized_test_holds_coefficients_at_zero_in_the_likelihood_of_the_whole(name):
    data, formula, _ = DEFINED[name]
    fit = logistic(formula, data, bias_reduction=True)
    problem, tests = Problem(fit, data), fit.lr_test(by="term")
    p1, q = problem.shape
    for j, term in enumerate(fit.terms, start=1):
        normals = np.zeros((p1, q, q))
        normals[j, range(q), range(q)] = 1.0
        normals = normals.reshape(p1 * q, q)
        best = problem.at(fit)
        start = best - normals @ (normals.T @ best)
        drop = problem.drop_on(fit, start, normals)
        assert tests.loc[term, "statistic"] == pytest.approx(drop, rel=1e-8)
        assert tests.loc[term, "df"] == q


@pytest.mark.slow
def test_separated_classes_have_penalized_tests_and_finite_bounds():
    fit = logistic("species ~ .", IRIS, bias_reduction=True)
    bounds, tests = fit.conf_int(method="profile"), fit.lr_test(by="term")
    assert np.isfinite(bounds.to_numpy()).all()
    assert (bounds["low"] < fit.log_odds()["coef"]).all()
    assert (bounds["high"] > fit.log_odds()["coef"]).all()
    assert (tests["statistic"] > 0).all()
    # Here the penalized likelihood has several maxima on a plane; the highest counts.
    problem = Problem(fit, IRIS)
    low = bounds.loc[("versicolor", "petal_width"), "low"]
    assert problem.drop_at(fit, 4, 0, low, tries=8) == pytest.approx(stats.chi2.isf(0.05, 1), abs=1e-7)
    for j, term in enumerate(fit.terms, start=1):
        normals = np.eye(10)[:, [2 * j, 2 * j + 1]]
        start = problem.at(fit)
        start = start - normals @ (normals.T @ start)
        assert tests.loc[term, "statistic"] == pytest.approx(
            problem.drop_on(fit, start, normals, 3), rel=1e-7
        )


def test_a_term_is_tested_with_all_its_columns_against_a_refit_to_the_same_rows():
    data = PENGUINS.assign(w=1.0 + np.arange(len(PENGUINS)) % 3)
    data.loc[data.index[::9], "bill_depth_mm"] = np.nan
    data.loc[data.index[4::17], "w"] = 0.0
    right = ["bill_length_mm", "bill_depth_mm", "year", "island"]
    fit = logistic("sex ~ " + " + ".join(right), data, weights="w")
    plain = logistic("sex ~ bill_length_mm + bill_depth_mm + year", data, weights="w")
    complete = data.dropna(subset=["sex", *right])
    for full, terms in ((fit, right), (plain, right[:3])):
        tests = full.lr_test(by="term")
        assert tests.index.tolist() == terms
        for term in terms:
            remaining = logistic("sex ~ " + " + ".join(t for t in terms if t != term), complete, weights="w")
            assert remaining.nobs == full.nobs
            assert tests.loc[term, "statistic"] == pytest.approx(2 * (full.llf - remaining.llf), rel=1e-8)
    assert fit.lr_test(by="term")["df"].tolist() == [1.0, 1.0, 1.0, 2.0]


def test_interactions_and_functions_are_terms():
    fit = logistic("sex ~ log(body_mass_g) * island + bill_depth_mm", PENGUINS)
    tests = fit.lr_test(by="term")
    assert tests.index.tolist() == [
        "log(body_mass_g)",
        "island",
        "log(body_mass_g):island",
        "bill_depth_mm",
    ] or (set(tests.index) == {"log(body_mass_g)", "island", "log(body_mass_g):island", "bill_depth_mm"})
    remaining = logistic("sex ~ log(body_mass_g) + island + bill_depth_mm", PENGUINS)
    interaction = tests.loc["log(body_mass_g):island"]
    assert interaction["statistic"] == pytest.approx(2 * (fit.llf - remaining.llf), rel=1e-7)
    assert interaction["p"] == pytest.approx(stats.chi2.sf(interaction["statistic"], 2))


def test_one_term_is_the_whole_model():
    fit = logistic("species ~ bill_length_mm", PENGUINS)
    (row,) = fit.lr_test(by="term").to_numpy()
    full = fit.lr_test()
    np.testing.assert_allclose(row, [full.statistic, full.df, full.pvalue], rtol=1e-9)


@pytest.mark.parametrize("penalized", [False, True])
def test_offsets_and_units_change_no_digit(penalized):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [30, 25, 20])
    # Multiples of 1/1024 are exact about an offset of 1e8.
    z = np.round(1024 * (rng.standard_normal((75, 2)) + 0.5 * y[:, None])) / 1024
    near = pd.DataFrame(z, columns=["a", "b"]).assign(y=y)
    far = near.assign(a=near["a"] + 1e8, b=2.0**30 * near["b"])
    one, other = (logistic("y ~ a + b", data, bias_reduction=penalized) for data in (near, far))
    np.testing.assert_allclose(
        one.lr_test(by="term")["statistic"], other.lr_test(by="term")["statistic"], rtol=1e-9
    )
    ours, theirs = (fit.conf_int(method="profile").drop("constant", level="term") for fit in (one, other))
    unit = np.tile([1.0, 2.0**30], 2)[:, None]
    np.testing.assert_allclose(theirs * unit, ours, rtol=1e-8)
    np.testing.assert_allclose(
        one.posterior_intervals(near), other.posterior_intervals(far), rtol=1e-9, atol=1e-12
    )


def test_a_function_that_never_reaches_the_target_crosses_it_at_infinity():
    assert solve_increasing(lambda d: (d / (1 + d), 1 / (1 + d) ** 2), 2.0) == np.inf
    assert solve_increasing(lambda d: (np.expm1(d), np.exp(d)), 5.0) == pytest.approx(np.log(6), rel=1e-12)
    assert solve_increasing(lambda d: (d**3, 3 * d**2), 0.01) == pytest.approx(0.01 ** (1 / 3), rel=1e-9)
    # A point where there is no value lies beyond.
    assert solve_increasing(lambda d: (d / 2, 0.5) if d < 9 else (np.inf, np.nan), 4.0) == pytest.approx(8.0)
    assert np.isnan(solve_increasing(lambda d: (d, 1.0) if d < 1 else (np.inf, np.nan), 1.5))


# ------------------------------------------------------------------ posteriors


def by_derivatives(fit: Any, x: np.ndarray, level: float) -> np.ndarray:
    """Intervals (n, K, 2) from numerical derivatives of the logits by the coefficients."""
    z = np.column_stack([np.ones(len(x)), x])
    params = fit.params.to_numpy()
    reference = fit.classes.get_loc(fit.reference)

    def logits(flat: np.ndarray) -> np.ndarray:
        eta = np.insert(z @ flat.reshape(params.T.shape).T, reference, 0.0, axis=1)
        return special.logit(special.softmax(eta, axis=1))

    flat, cov = params.T.ravel(), fit.cov_params().to_numpy()
    derivatives = []
    for i, step in enumerate(1e-4 * np.sqrt(np.diag(cov))):
        up, down = flat.copy(), flat.copy()
        up[i], down[i] = up[i] + step, down[i] - step
        derivatives.append((logits(up) - logits(down)) / (2 * step))
    slopes = np.stack(derivatives)
    half = stats.norm.isf((1 - level) / 2) * np.sqrt(np.einsum("ink,ij,jnk->nk", slopes, cov, slopes))
    middle = logits(flat)
    return special.expit(np.stack([middle - half, middle + half], axis=2))


@pytest.mark.parametrize("reference", ["Biscoe", "Dream"])
def test_intervals_for_three_classes_by_numerical_derivatives(reference):
    columns = ["bill_length_mm", "bill_depth_mm", "body_mass_g"]
    fit = logistic("island ~ " + " + ".join(columns), PENGUINS, reference=reference)
    rows = PENGUINS.iloc[[0, 1, 3, 200, 300]]
    result = fit.posterior_intervals(rows, level=0.8)
    assert result.index.equals(rows.index)
    assert result.iloc[2].isna().all()
    known = rows.dropna()
    expected = by_derivatives(fit, known[columns].to_numpy(), 0.8)
    ours = result.drop(index=rows.index[2]).to_numpy().reshape(4, 3, 3)[:, :, 1:]
    np.testing.assert_allclose(ours, expected, rtol=1e-6)
    pd.testing.assert_frame_equal(
        fit.posterior_intervals(level=0.8).loc[known.index], result.loc[known.index], rtol=1e-12
    )


def test_intervals_for_two_classes_as_statsmodels():
    for reference in ("benign", "malignant"):
        fit = logistic("diagnosis ~ .", TUMOURS, reference=reference)
        ours = fit.posterior_intervals(level=0.95)
        theirs = fit.to_statsmodels().get_prediction().summary_frame(alpha=0.05)
        (event,) = fit.params.columns
        np.testing.assert_allclose(
            ours[event][["posterior", "low", "high"]],
            theirs[["predicted", "ci_lower", "ci_upper"]],
            rtol=1e-7,
        )


BENDS = np.array([[0.0, 0.0], [0.4, -0.3], [-0.6, 0.8]]).T


def draws(rng: np.random.Generator, n: int, shift: np.ndarray) -> pd.DataFrame:
    """Rows whose log odds are linear: normal classes of one covariance, with given shares."""
    y = rng.choice(3, n, p=shift)
    x = rng.standard_normal((n, 2)) + BENDS.T[y]
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=y)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, (0.2, 0.5, 0.3)])
def test_intervals_cover_the_truth(prior):
    rng, proportions, hits, lengths = np.random.default_rng(5), np.array([0.5, 0.2, 0.3]), [], []
    points = pd.DataFrame({"a": [0.0, 1.0, -1.5], "b": [0.0, 1.0, 0.5]})
    meant = proportions if prior is None else np.array(prior)
    scores = np.log(meant) + points.to_numpy() @ BENDS - (BENDS**2).sum(axis=0) / 2
    truth = special.softmax(scores, axis=1)
    for _ in range(100):
        fit = logistic("y ~ a + b", draws(rng, 250, proportions), prior=prior)
        result = fit.posterior_intervals(points, level=0.9).to_numpy().reshape(3, 3, 3)
        hits.append((result[:, :, 1] <= truth) & (truth <= result[:, :, 2]))
        logits = special.logit(result)
        lengths.append(np.stack([logits[:, :, 0], logits[:, :, 2] - logits[:, :, 1]]))
    cover = np.mean(hits, axis=0)
    # Four standard errors of a share of .9 among 100.
    assert np.abs(cover - 0.9).max() < 4 * np.sqrt(0.09 / 100)
    drawn = np.std([each[0] for each in lengths], axis=0)
    message = np.mean([each[1] for each in lengths], axis=0) / (2 * stats.norm.isf(0.05))
    np.testing.assert_allclose(message, drawn, rtol=0.25)


def test_a_given_prior_takes_the_chance_of_the_shares_out_of_the_constants():
    df, given_one = (logistic("diagnosis ~ .", TUMOURS, prior=p) for p in (None, [0.5, 0.5]))
    z = stats.norm.isf(0.025)
    variances = []
    for fit in (df, given_one):
        logits = special.logit(fit.posterior_intervals()["malignant"])
        variances.append(((logits["high"] - logits["low"]) / (2 * z)) ** 2)
    gap = variances[0] - variances[1]
    np.testing.assert_allclose(gap, (1 / df.counts).sum(), rtol=1e-6)
    # Columns that say nothing leave nothing uncertain at their mean but what their slopes add.
    none = pd.DataFrame({"x": [-1.0, 1, -1, 1, -1, 1], "y": [0, 0, 1, 1, 1, 1]})
    for penalized in (False, True):
        flat = logistic("y ~ x", none, prior=[0.5, 0.5], bias_reduction=penalized)
        row = flat.posterior_intervals(pd.DataFrame({"x": [0.0, 1.0]}))[1]
        assert row["high"][0] - row["low"][0] == pytest.approx(0, abs=1e-7)
        assert row["high"][1] - row["low"][1] > 0.5


# ------------------------------------------------------------------ statsmodels


STATSMODELS = {
    "two": ("sex ~ bill_depth_mm + island", None),
    "two, other": ("sex ~ bill_depth_mm + island", "male"),
    "three": ("island ~ bill_length_mm + sex", None),
    "three, middle": ("island ~ bill_length_mm + sex", "Dream"),
}


@pytest.mark.parametrize("name", STATSMODELS)
def test_statsmodels_has_our_estimates(name):
    formula, reference = STATSMODELS[name]
    fit = logistic(formula, PENGUINS, reference=reference)
    theirs = fit.to_statsmodels()
    for ours, other in ((fit.params, theirs.params), (fit.bse, theirs.bse)):
        np.testing.assert_allclose(other.to_numpy().reshape(ours.shape), ours, rtol=1e-10)
    assert theirs.llf == pytest.approx(fit.llf, rel=1e-10)
    # Found by a search of its own.
    assert theirs.llnull == pytest.approx(fit.llnull, rel=1e-8)
    assert (theirs.aic, theirs.bic) == pytest.approx((fit.aic, fit.bic), rel=1e-10)
    assert theirs.nobs == fit.nobs
    assert theirs.params.index.tolist() == ["constant", *fit.terms]
    np.testing.assert_allclose(theirs.cov_params(), fit.cov_params(), rtol=1e-10)
    order = [fit.reference, *fit.params.columns]
    proba = fit.predict_proba().loc[theirs.model.data.row_labels, order].to_numpy()
    predicted = np.asarray(theirs.predict())
    np.testing.assert_allclose(predicted, proba[:, 1] if predicted.ndim == 1 else proba, rtol=1e-9)
    text = str(theirs.summary())
    for label in order[1:]:
        assert f"{fit.classes.name}={label}" in text
    # Its own search, from the estimates on, finds nothing to do.
    again = theirs.model.fit(start_params=theirs.params.to_numpy().ravel(order="F"), disp=0)
    np.testing.assert_allclose(again.params, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(again.bse, theirs.bse, rtol=1e-5)


def test_marginal_effects_are_means_of_slopes():
    fit = logistic("island ~ bill_length_mm + bill_depth_mm", PENGUINS)
    effects = fit.to_statsmodels().get_margeff()
    step, shifted = 1e-4, []
    for sign in (1, -1):
        moved = PENGUINS.assign(bill_length_mm=PENGUINS["bill_length_mm"] + sign * step)
        shifted.append(fit.predict_proba(moved).mean())
    np.testing.assert_allclose(effects.margeff[0], (shifted[0] - shifted[1]) / (2 * step), rtol=1e-6)
    assert "dy/dx" in str(effects.summary())


def test_what_statsmodels_does_not_have_is_reported():
    data = PENGUINS.assign(w=2)
    with pytest.raises(NotSupportedError) as caught:
        logistic("sex ~ bill_depth_mm", data, weights="w").to_statsmodels()
    assert "frequency" in str(caught.value)
    assert "Repeat" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        logistic("sex ~ bill_depth_mm", data, bias_reduction=True).to_statsmodels()
    assert "Firth" in str(caught.value)
    assert "Firth" in str(caught.value)


@pytest.mark.slow
def test_statsmodels_is_imported_when_it_is_asked_for():
    code = (
        "import sys; from discrim import logistic; from discrim.datasets import load_iris; d = load_iris();"
        "f = logistic('x ~ sepal_width', d.assign(x=d.species == 'setosa')); f.conf_int(method='profile');"
        "print('statsmodels' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


# ------------------------------------------------------------------ summary, errors, files


def test_the_summary_tests_terms_where_there_are_a_few():
    fit = logistic("sex ~ bill_depth_mm + island", PENGUINS)
    summary = fit.summary()
    pd.testing.assert_frame_equal(summary.tables["lr_terms"], fit.lr_test(by="term"))
    assert "Likelihood ratio by term" in summary.as_text()
    assert "lr_terms" not in logistic("sex ~ island", PENGUINS).summary().tables
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.standard_normal((200, 13))).add_prefix("x").assign(y=rng.integers(0, 2, 200))
    assert "lr_terms" not in logistic("y ~ .", wide).summary().tables
    assert "lr_terms" in logistic("y ~ . - x0", wide).summary().tables
    smaller = logistic("sex ~ bill_depth_mm + island", PENGUINS, bias_reduction=True)
    assert "Ratios of Firth's bias-reduced likelihood." in smaller.summary(["lr_terms"]).as_text()


@pytest.mark.parametrize(("n", "p", "n_classes", "apart"), [(500, 6, 12, 0.8), (300, 40, 3, 0.2)])
def test_ratios_of_many_coefficients_agree_with_refits(n, p, n_classes, apart):
    rng = np.random.default_rng(5)
    codes = rng.permutation(np.arange(n) % n_classes)
    x = rng.normal(size=(n, p)) + apart * rng.normal(size=(n_classes, p))[codes]
    x[:, 1] = rng.normal(size=n)
    x[:, 2] = 1e5 + 1e-3 * (x[:, 2] + x[:, 0])
    data = pd.DataFrame(x).add_prefix("x").assign(y=codes, w=rng.integers(1, 4, n))
    for weights in (None, "w"):
        remaining = " + ".join(f"x{j}" for j in range(p))
        fit = logistic(f"y ~ {remaining}", data, weights=weights)
        tests = fit.lr_test(by="term")
        for j in range(3):
            less = " + ".join(f"x{i}" for i in range(p) if i != j)
            refit = logistic(f"y ~ {less}", data, weights=weights)
            np.testing.assert_allclose(tests.loc[f"x{j}", "statistic"], 2 * (fit.llf - refit.llf), rtol=1e-8)


def test_a_loaded_fit_says_what_it_has_not(tmp_path):
    fit = logistic("sex ~ bill_depth_mm + island", PENGUINS)
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    for ask in (
        lambda: loaded.conf_int(method="profile"),
        lambda: loaded.lr_test(by="term"),
        lambda: loaded.to_statsmodels(),
    ):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "rows of the fit" in str(caught.value)
    rows = PENGUINS.head(5)
    pd.testing.assert_frame_equal(loaded.posterior_intervals(rows), fit.posterior_intervals(rows))
    assert "lr_terms" not in loaded.summary().tables
    assert loaded.lr_test().statistic == fit.lr_test().statistic


def test_words_that_are_not_known():
    fit = logistic("sex ~ bill_depth_mm", PENGUINS)
    with pytest.raises(DataError) as caught:
        fit.lr_test(by="column")
    assert "by='column'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.conf_int(method="likelihood")
    assert "method='likelihood'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.conf_int(1.5, "profile")
    assert "level" in str(caught.value)


@pytest.mark.parametrize("prior", [None, "equal"])
def test_covariances_of_scores_agree_with_the_coefficients(prior):
    rng = np.random.default_rng(3)
    codes = np.arange(200) % 4
    x = rng.normal(size=(200, 3)) + 0.6 * rng.normal(size=(4, 3))[codes] + 5.0
    frame = pd.DataFrame(x, columns=list("uvw")).assign(g=np.array(list("abcd"))[codes])
    fit = discrim.logistic("g ~ .", frame, reference="b", prior=prior)
    own, row_counts = fit._fit.estimates.score_covariances()(x[:7])
    full = fit.cov_params().to_numpy().reshape(3, 4, 3, 4).copy()
    others = [0, 2, 3]
    if prior is not None:
        # Constants against given odds lose the variance of the log shares.
        full[:, 0, :, 0] -= np.diag(np.full(3, 1 / 50)) + 1 / 50
    v = rng.normal(size=(7, 4))
    for i, row in enumerate(np.insert(x[:7], 0, 1.0, axis=1)):
        covariance = np.zeros((4, 4))
        covariance[np.ix_(others, others)] = np.einsum("aibj,i,j->ab", full, row, row)
        np.testing.assert_allclose(own[i], np.diagonal(covariance), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(row_counts(v[:7])[i], covariance @ v[i], rtol=1e-8, atol=1e-10)
