"""Robust lda and qda: against MASS and rrcov, against other ways to the same maximum, and against outliers.

``golden/robust.json`` was written by ``golden/write_robust.R``. What agrees to rounding is held to rounding:
cov.trob run to its end, and rrcov's estimates from the same subset of rows. MASS's lda and qda stop when no
weight moves by more than 0.01, which leaves means within 0.02 standard deviations and covariances within 10 %
of the maximum; rrcov's random starts may end at another subset, of a determinant
hardly different, and its default has factors for small samples: class means agree to 0.2 standard deviations.
"""

from __future__ import annotations

import itertools
import json
import warnings
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

import discrim
from discrim.core.covariance.robust import (
    MCDRows,
    _concentrate,
    _reweight,
    find_mcd_rows,
    median_deviation,
    subset_size,
)
from discrim.core.covariance.student import fit_student
from discrim.core.moments.moments import gather
from discrim.covariance import MCD, StudentT
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    ConvergenceWarning,
    DataError,
    DiscrimWarning,
    NotSupportedError,
    OutOfRangeError,
)
from discrim.models.evaluation.validation import LEFT_OUT_CACHE_KEYS
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "robust.json").read_text(encoding="utf-8"))["cases"]

every_case = pytest.mark.parametrize("name", GOLDEN)
every_nu = pytest.mark.parametrize("nu", ["3", "5", "30"])


@cache
def table(name: str) -> tuple[str, pd.DataFrame]:
    """Formula and complete rows of a golden case; iris and the penguins come with the package."""
    case = GOLDEN[name]
    columns = case["columns"]
    if name == "iris":
        data = load_iris()[["sepal_length", "sepal_width", "petal_length", "species"]]
        return "species ~ .", data.set_axis([*columns, "species"], axis=1)
    if name == "penguins":
        return "species ~ .", load_penguins()[[*columns, "species"]].dropna()
    return f"`{case['response']}` ~ .", support.classic_table(case["file"])[
        [*columns, case["response"]]
    ].dropna()


def class_rows(name: str) -> list[np.ndarray]:
    _, data = table(name)
    codes = pd.Categorical(data.iloc[:, -1]).codes
    x = data.iloc[:, :-1].to_numpy(dtype=float)
    return [x[codes == k] for k in range(codes.max() + 1)]


def away(found, reference):
    """Largest deviation of a covariance from another, in units of the latter's standard deviations."""
    sd = np.sqrt(np.diag(reference))
    return np.abs((np.asarray(found) - reference) / np.outer(sd, sd)).max()


# ------------------------------------------------------------------ t: against R


@every_case
@every_nu
def test_qda_t_equals_converged_cov_trob(name, nu):
    formula, data = table(name)
    fit = discrim.qda(formula, data, covariance=StudentT(nu=float(nu), scatter="scale"))
    for label, expected in zip(fit.classes, GOLDEN[name]["t"][nu]["classes"].values(), strict=True):
        scale = np.array(expected["scale"])
        sd = np.sqrt(np.diag(scale))
        np.testing.assert_allclose(fit.means.loc[label] / sd, expected["center"] / sd, rtol=0, atol=1e-11)
        assert away(fit.covs[label], scale) < 1e-11


@one_in(2, {"nu": [1e6, 1e9, 1e12, 1e17, 1e100, 1e308], "verb": [discrim.lda, discrim.qda]})
def test_likelihood_of_many_degrees_of_freedom_equals_the_normal(verb, nu):
    iris = discrim.datasets.load_iris()
    normal = verb("species ~ .", iris, method="mle").llf
    assert verb("species ~ .", iris, covariance=StudentT(nu=nu)).llf == pytest.approx(
        normal, abs=200 / nu + 1e-9
    )


@every_case
@every_nu
def test_mass_stops_before_convergence(name, nu):
    formula, data = table(name)
    expected = GOLDEN[name]["t"][nu]
    linear = discrim.lda(formula, data, covariance=StudentT(nu=float(nu)))
    quadratic = discrim.qda(formula, data, covariance=StudentT(nu=float(nu), scatter="scale"))
    for means, covs, theirs in (
        (linear.means, [linear.cov] * len(linear.classes), expected["lda_means"]),
        (quadratic.means, quadratic.covs.values(), expected["qda_means"]),
    ):
        differences = [
            np.abs(m - t) / np.sqrt(np.diag(c))
            for m, t, c in zip(means.to_numpy(), theirs, covs, strict=True)
        ]
        assert np.max(differences) < 0.02
    # Its discriminants have unit variance under nu/(nu - 2) times the scale, which is lda's default.
    scaling = np.array(expected["lda_scaling"])
    np.testing.assert_allclose(scaling.T @ linear.cov @ scaling, np.eye(scaling.shape[1]), atol=0.05)
    np.testing.assert_allclose(linear.svd, expected["lda_svd"], rtol=0.025)
    # Its qda has the scale itself: the same argument, another covariance.
    for label, theirs in zip(quadratic.classes, expected["classes"].values(), strict=True):
        assert away(quadratic.covs[label], np.array(theirs["qda_cov"])) < 0.1


# ------------------------------------------------------------------ t: other ways to the maximum


def t_llf(x, codes, means, scales, nu):
    total = 0.0
    for k, mean in enumerate(means):
        scale = scales[k if len(scales) > 1 else 0]
        total += stats.multivariate_t(mean, scale, df=nu).logpdf(x[codes == k]).sum()
    return total


@one_in(2, {"verb": [discrim.lda, discrim.qda], "nu": [1.0, 3.0, 20.0]})
def test_t_estimates_maximize_the_likelihood(verb, nu):
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1, 2], [14, 20, 17])
    x = rng.standard_t(2, (51, 2)) @ np.array([[1.0, 0.4], [0.0, 0.7]]) + codes[:, None]
    data = pd.DataFrame(x, columns=["a", "b"]).assign(g=codes)
    fit = verb("g ~ a + b", data, covariance=StudentT(nu=nu, scatter="scale"))
    scales = [fit.cov.to_numpy()] if verb is discrim.lda else [c.to_numpy() for c in fit.covs.values()]
    classes = np.bincount(codes) @ np.log(np.bincount(codes) / 51)
    np.testing.assert_allclose(
        fit.llf, t_llf(x, codes, fit.means.to_numpy(), scales, nu) + classes, rtol=1e-12
    )

    def unpack(theta):
        halves = [np.array([[np.exp(a), b], [0.0, np.exp(c)]]) for a, b, c in theta[6:].reshape(-1, 3)]
        return theta[:6].reshape(3, 2), [half.T @ half for half in halves]

    def loss(theta):
        return -t_llf(x, codes, *unpack(theta), nu)

    start = np.concatenate([x[[0, 20, 40]].ravel(), np.tile([0.3, 0.0, 0.3], len(scales))])
    best = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert -best.fun <= fit.llf - classes + 1e-8
    means, actual = unpack(best.x)
    np.testing.assert_allclose(fit.means, means, atol=2e-5)
    np.testing.assert_allclose(scales, actual, atol=2e-5, rtol=1e-4)


@pytest.mark.slow
def test_t_estimates_solve_their_equations_and_em_in_fifty_digits():
    x = [
        [mpmath.mpf(v) for v in row]
        for row in ((0, 1), (2, 1), (1, 3), (9, -4), (1, 1), (2, 2), (0, 0), (3, 1))
    ]
    nu, n = 4, len(x)
    mpmath.mp.dps = 50
    u = [mpmath.mpf(1)] * n
    for _ in range(400):
        mean = [sum(a * row[j] for a, row in zip(u, x, strict=True)) / sum(u) for j in range(2)]
        residuals = [[row[j] - mean[j] for j in range(2)] for row in x]
        # Plain EM: the divisor is n, not the sum of weights.
        scale = mpmath.matrix(2, 2)
        for a, r in zip(u, residuals, strict=True):
            for i, j in itertools.product(range(2), repeat=2):
                scale[i, j] += a * r[i] * r[j] / n
        inverse = scale**-1
        d2 = [
            sum(r[i] * inverse[i, j] * r[j] for i, j in itertools.product(range(2), repeat=2))
            for r in residuals
        ]
        u = [(nu + 2) / (nu + d) for d in d2]
    rows = np.array(x, dtype=float)
    blocks = [(rows, np.zeros(n, dtype=np.intp), None)]
    fit = fit_student(blocks, gather(blocks, n_classes=1, n_columns=2), nu=4.0)
    np.testing.assert_allclose(fit.moments.class_means[0], [float(m) for m in mean], rtol=1e-11)
    expected = [[float(scale[i, j]) for j in range(2)] for i in range(2)]
    np.testing.assert_allclose(fit.covariances[0].matrix(), expected, rtol=1e-11)
    assert abs(float(sum(u)) - n) < 1e-12


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_nu_maximizes_the_profile_likelihood(verb):
    data = load_iris()
    fit = verb("species ~ .", data, covariance=StudentT(nu=None))
    nu = fit._fit.estimates.covariance_model.nu

    def loss(log_nu):
        return -verb("species ~ .", data, covariance=StudentT(nu=float(np.exp(log_nu)), scatter="scale")).llf

    best = optimize.minimize_scalar(
        loss, bounds=(np.log(2), np.log(200)), method="bounded", options={"xatol": 1e-4}
    )
    np.testing.assert_allclose(nu, np.exp(best.x), rtol=1e-3)
    assert fit.llf >= -best.fun - 1e-10
    assert fit.df_model == verb("species ~ .", data).df_model + 1


def test_normal_tails_cause_a_warning():
    data = pd.DataFrame({"x": np.tile(np.linspace(-1, 1, 30), 2), "g": np.repeat(["a", "b"], 30)})
    with pytest.warns(
        DiscrimWarning, match=r"nu=256, a limit of the range: the observations have normal tails"
    ):
        discrim.lda("g ~ x", data, covariance=StudentT(nu=None))


def test_warning_of_no_convergence_names_the_slowest_class(monkeypatch):
    monkeypatch.setattr("discrim.core.covariance.student.MAX_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="'setosa'"):
        discrim.qda("species ~ .", load_iris(), covariance="t")
    with pytest.warns(ConvergenceWarning):
        discrim.lda("species ~ .", load_iris(), covariance="t")


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_t_is_precise_far_from_zero_and_in_small_units(verb):
    data = load_iris()
    reference_fit = verb("species ~ .", data, covariance="t")
    # Powers of two shift and scale the tenths of iris without rounding once these are whole numbers.
    tenths = data.assign(**{c: (data[c] * 10).round() for c in data.columns[:4]})
    shifted = tenths.assign(**{c: tenths[c] * 2.0**-70 + 2.0**-40 for c in data.columns[:4]})
    one, two = verb("species ~ .", tenths, covariance="t"), verb("species ~ .", shifted, covariance="t")
    np.testing.assert_allclose(one.predict_log_proba(), two.predict_log_proba(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        reference_fit.predict_log_proba(), one.predict_log_proba(), rtol=1e-9, atol=1e-9
    )


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_fractions_of_weights_do_not_matter_to_t():
    data = load_iris().assign(w=np.tile([1.0, 2.0, 4.0], 50), v=np.tile([0.25, 0.5, 1.0], 50))
    one = discrim.lda("species ~ . - v", data, weights="w", covariance="t")
    two = discrim.lda("species ~ . - w", data, weights="v", covariance="t")
    np.testing.assert_allclose(one.means, two.means, rtol=1e-12)
    np.testing.assert_allclose(one.cov, two.cov, rtol=1e-11)


# ------------------------------------------------------------------ mcd


@every_case
def test_mcd_from_the_rrcov_subset_equals_the_rrcov_estimate(name):
    for rows, expected in zip(class_rows(name), GOLDEN[name]["mcd"]["classes"].values(), strict=True):
        h = subset_size(*rows.shape, 0.5)
        assert h == expected["quan"]
        best = np.zeros(len(rows), dtype=bool)
        best[np.array(expected["best"]) - 1] = True
        z = (rows - np.median(rows, axis=0)) / median_deviation(rows, h)
        core = _concentrate(z, best, h, set())
        assert (core.subset == best).all()
        subset = _reweight(z, core, h)
        sd = np.sqrt(np.diag(expected["cov"]))
        np.testing.assert_allclose(
            (rows[subset.is_kept].mean(axis=0) - expected["center"]) / sd, 0, atol=1e-12
        )
        assert away(np.cov(rows[subset.is_kept].T) * subset.factor, np.array(expected["cov"])) < 1e-12
        actual = find_mcd_rows(rows)
        assert isinstance(actual, MCDRows)
        determinant = np.linalg.slogdet(np.cov(rows[actual.subset].T))[1]
        assert determinant < expected["crit"] + 0.01


def test_mcd_of_hemophilia_agrees_with_rrcov():
    formula, data = table("hemophilia")
    fit, expected = discrim.lda(formula, data, covariance="mcd"), GOLDEN["hemophilia"]["mcd"]
    np.testing.assert_allclose(fit.means, expected["linda_center"], rtol=1e-12)
    np.testing.assert_allclose(fit.cov, expected["linda_cov"], rtol=1e-12)


@every_case
def test_mcd_is_close_to_the_rrcov_default(name):
    formula, data = table(name)
    expected = GOLDEN[name]["mcd"]
    linear, quadratic = (verb(formula, data, covariance="mcd") for verb in (discrim.lda, discrim.qda))
    sd = np.sqrt(np.diag(linear.cov))
    assert (np.abs(linear.means - np.array(expected["default_center"])) / sd).max(axis=None) < 0.2
    assert (np.abs(quadratic.means - np.array(expected["qda_center"])) / sd).max(axis=None) < 0.2


@one_in(2, {"n, p": [(9, 1), (10, 2), (11, 3)], "seed": range(4)})
def test_small_mcd_minimizes_the_determinant_over_all_subsets(n, p, seed):
    x = np.random.default_rng(seed).standard_t(2, (n, p))
    h = subset_size(n, p, 0.5)
    minimum = min(
        np.linalg.det(np.atleast_2d(np.cov(x[list(rows)].T))) for rows in itertools.combinations(range(n), h)
    )
    actual = find_mcd_rows(x)
    assert isinstance(actual, MCDRows)
    np.testing.assert_allclose(np.linalg.det(np.atleast_2d(np.cov(x[actual.subset].T))), minimum, rtol=1e-10)


def test_mcd_does_not_depend_on_units():
    data = load_penguins().dropna()
    formula = "species ~ bill_length_mm + bill_depth_mm + body_mass_g"
    small = data.assign(bill_length_mm=data["bill_length_mm"] * 2.0**-60)
    one, two = (discrim.qda(formula, d, covariance="mcd") for d in (data, small))
    assert one.covariance_model.robust_distances()["flagged"].equals(
        two.covariance_model.robust_distances()["flagged"]
    )
    np.testing.assert_allclose(one.predict_log_proba(), two.predict_log_proba(), rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------ outliers


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_twenty_percent_of_gross_outliers_hardly_move_mcd_means(verb):
    rng = np.random.default_rng(11)
    codes = np.repeat([0, 1, 2], 60)
    x = rng.standard_normal((180, 3)) + 2.0 * np.eye(3)[codes]
    clean = pd.DataFrame(x, columns=list("abc")).assign(g=codes)
    wild = np.tile(np.arange(60) < 12, 3)
    spoilt = clean.copy()
    spoilt.loc[wild, ["a", "b", "c"]] += [40.0, -30.0, 25.0]
    before = verb("g ~ .", clean).means
    shifted = {
        m: np.abs(verb("g ~ .", spoilt, **options).means - before).max(axis=None)
        for m, options in (("moment", {}), ("mcd", {"covariance": "mcd"}))
    }
    assert shifted["moment"] > 5
    assert shifted["mcd"] < 0.35
    fit = verb("g ~ .", spoilt, covariance="mcd")
    flagged = fit.covariance_model.robust_distances()["flagged"]
    assert flagged[wild].all()
    assert flagged[~wild].mean() < 0.12


def test_a_few_outliers_move_t_means_little():
    rng = np.random.default_rng(12)
    clean = pd.DataFrame(rng.standard_normal((80, 2)), columns=["a", "b"]).assign(g=np.repeat([0, 1], 40))
    spoilt = clean.copy()
    spoilt.loc[[0, 1, 40, 41], "a"] = 1e6
    shifted = np.abs(
        discrim.qda("g ~ .", spoilt, covariance=StudentT(nu=3)).means - discrim.qda("g ~ .", clean).means
    )
    assert shifted.max(axis=None) < 0.3


# ------------------------------------------------------------------ results


@one_in(2, {"verb": [discrim.lda, discrim.qda], "method": ["t", "mcd"]})
def test_robust_distances_equal_mahalanobis_distances_and_are_saved(verb, method, tmp_path):
    data = load_penguins()
    fit = verb("species ~ bill_length_mm + bill_depth_mm", data, covariance=method)
    table = fit.covariance_model.robust_distances()
    assert table.index.equals(data.index)
    used = data["bill_length_mm"].notna()
    assert table["distance"].notna().equals(used)
    assert not table["flagged"][~used].any()
    for label in fit.classes:
        cov = fit.cov if verb is discrim.lda else fit.covs[label]
        residuals = data.loc[used & (data["species"] == label), list(fit.terms)] - fit.means.loc[label]
        d2 = np.einsum("ij,jk,ik->i", residuals, np.linalg.inv(cov), residuals)
        np.testing.assert_allclose(table["distance"][residuals.index] ** 2, d2, rtol=1e-10)
    np.testing.assert_allclose(table["cutoff"] ** 2, stats.chi2.ppf(0.975, 2))
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.covariance_model.robust_distances(data), table, check_exact=True)
    assert again._fit.estimates.covariance_model == fit._fit.estimates.covariance_model
    with pytest.raises(NotSupportedError) as caught:
        again.covariance_model.robust_distances()
    assert "rows of the fit" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
@pytest.mark.parametrize(("method", "header_text"), [("t", "5, given"), ("mcd", "% of rows")])
def test_summary_names_the_method_and_the_flagged_rows(verb, method, header_text):
    fit = verb("species ~ bill_length_mm + bill_depth_mm", load_penguins(), covariance=method)
    text = fit.summary().as_text()
    for chunk in (header_text, "Breakdown", "Robust means", "Flagged observations", "Largest distances"):
        assert chunk in text
    flagged_table = fit.summary().tables["flagged"]
    distances = fit.covariance_model.robust_distances()
    assert flagged_table["flagged"].tolist() == [
        distances["flagged"][distances["class"] == c].sum() for c in fit.classes
    ]
    farthest = distances["distance"].idxmax()
    assert f"{farthest} (" in text


@pytest.mark.parametrize("method", ["t", "mcd"])
def test_methods_that_require_moments_are_refused(method):
    data = load_penguins()
    formula = "species ~ bill_length_mm + bill_depth_mm"
    linear, quadratic = (verb(formula, data, covariance=method) for verb in (discrim.lda, discrim.qda))
    for call in (
        lambda: linear.wilks,
        lambda: linear.manova(),
        lambda: linear.canonical(),
        lambda: linear.log_odds(),
        lambda: linear.distances(),
        lambda: linear.partial_tests(),
        lambda: linear.anova(),
        lambda: linear.box_m(),
        lambda: quadratic.box_m(),
        lambda: quadratic.covariance_models(),
        lambda: quadratic.log_determinants(),
        lambda: linear.predict_proba(method="predictive"),
        lambda: quadratic.predict_proba(method="debiased"),
        lambda: discrim.lr_test(linear, quadratic),
    ):
        with pytest.raises(NotSupportedError) as caught:
            call()
        assert "sampling" in str(caught.value)
    for fit in (linear, quadratic):
        with pytest.raises(NotSupportedError) as caught:
            fit.typicality()
        assert "typicality" in str(caught.value)


def test_mcd_has_no_likelihood_and_is_cross_validated():
    fit = discrim.lda("species ~ bill_length_mm + bill_depth_mm", load_penguins(), covariance="mcd")
    with pytest.raises(NotSupportedError) as caught:
        _ = fit.llf
    assert 'covariance="mcd"' in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.leave_one_out()
    assert '"cv"' in str(caught.value)
    rates = fit.error_rates(["cv"], folds=3, seed=0)
    assert 0 <= rates.loc["cv", "estimate"] < 0.15
    reference_fit = discrim.lda("species ~ bill_length_mm + bill_depth_mm", load_penguins())
    with pytest.raises(NotSupportedError) as caught:
        reference_fit.covariance_model.robust_distances()
    assert '"t"' in str(caught.value)
    assert '"mcd"' in str(caught.value)


def test_plot_labels_flagged_rows():
    pytest.importorskip("matplotlib").use("Agg")
    data = load_penguins().rename(index=lambda row: f"penguin {row}")
    fit = discrim.lda("species ~ bill_length_mm + bill_depth_mm", data, covariance="mcd")
    axes = fit.plot(kind="distances")
    flagged = (
        fit.covariance_model.robust_distances().query("flagged")["distance"].sort_values(ascending=False)
    )
    labels = [text.get_text() for text in axes.texts]
    assert labels[0] == flagged.index[0]
    assert labels == [row for row in flagged.index if row in labels]
    axes.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) > 3
    assert not any(one.overlaps(two) for i, one in enumerate(boxes) for two in boxes[:i])
    assert "Robust distance" in axes.get_ylabel()


@one_in(
    2,
    {
        "verb": [discrim.lda, discrim.qda],
        "options": [{"covariance": "t"}, {"covariance": "mcd"}, {"covariance": StudentT(nu=None)}],
    },
)
def test_weights_equal_repeated_rows(verb, options):
    data = load_penguins().dropna().assign(w=lambda d: 1 + np.arange(len(d)) % 3)
    formula = "species ~ bill_length_mm + bill_depth_mm"
    weighted = verb(formula, data, weights="w", **options)
    repeated = verb(formula, data.loc[data.index.repeat(data["w"])].reset_index(drop=True), **options)
    np.testing.assert_allclose(
        weighted.predict_log_proba(data), repeated.predict_log_proba(data), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(weighted.means, repeated.means, rtol=1e-10)


# ------------------------------------------------------------------ bad input


@one_in(2, {"covariance": ["t", "mcd", StudentT(nu=3), MCD(0.7)], "verb": [discrim.lda, discrim.qda]})
def test_robust_covariances_have_their_own_divisor(verb, covariance):
    with pytest.raises(DataError) as caught:
        verb("species ~ .", load_iris(), covariance=covariance, method="mle")
    assert "divisor" in str(caught.value)


@pytest.mark.parametrize("method", ["t", "mcd", "S"])
def test_a_robust_covariance_is_not_a_method(method):
    with pytest.raises(DataError, match=f"method='{method}'"):
        discrim.lda("species ~ .", load_iris(), method=method)


def test_a_class_with_too_few_rows_or_in_a_plane_is_named():
    iris = load_iris()
    subset = iris.drop(index=range(4, 50))
    with pytest.raises(CollinearError) as caught:
        discrim.lda("species ~ .", subset, covariance="mcd")
    assert caught.value.classes == ("setosa",)
    with pytest.raises(CollinearError) as caught:
        discrim.qda("species ~ .", iris, covariance="mcd")
    assert "'setosa'" in str(caught.value)
    assert "'petal_width'" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_mcd_requires_integer_weights():
    data = load_iris().assign(w=1.5)
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda("species ~ .", data, weights="w", covariance="mcd")
    assert caught.value.rows == (0,)


def test_most_rows_in_a_plane_have_no_t_scale():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 2))
    x[:36, 1] = 0.0
    data = pd.DataFrame(x, columns=["a", "b"]).assign(g=np.tile([0, 1], 20))
    with pytest.raises(CollinearError) as caught:
        discrim.lda("g ~ .", data, covariance=StudentT(nu=1, scatter="scale"))
    assert "nu=1" in str(caught.value)
    assert "'a'" in str(caught.value)


@pytest.mark.slow
def test_a_column_that_becomes_constant_has_no_t_scale_however_slowly():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.standard_normal((100, 3)), columns=["a", "b", "c"]).assign(g=np.tile([0, 1], 50))
    # 96 % of each class have one value: more than (nu + 2)/(nu + 3), at which the likelihood has no bound.
    data.loc[data.index[:96], "c"] = 1.0
    with pytest.raises(CollinearError, match=r"class 0 .*nu=5.*'a', 'b', 'c'"):
        discrim.qda("g ~ .", data, covariance="t")
    with pytest.raises(CollinearError, match=r"within classes.*nu=5.*'a', 'b', 'c'"):
        discrim.lda("g ~ .", data, covariance="t")
    # The likelihood rises as nu falls to where it has no bound: no nu is that of the largest.
    with pytest.raises(CollinearError) as caught:
        discrim.qda("g ~ .", data, covariance=StudentT(nu=None))
    assert "became singular" in str(caught.value)
    # Fewer than that, and it has one.
    data.loc[data.index[:96], "c"] = np.repeat([1.0, 2.0], 48)
    assert discrim.lda("g ~ .", data, covariance="t").cov.loc["c", "c"] > 0


@pytest.mark.parametrize("far", [1e6, 1e12, 1e99])
def test_mcd_of_rounded_rows_resists_outliers_of_any_size(far):
    rng = np.random.default_rng(1)
    x = np.round(3 * rng.standard_normal((40, 3)))
    x[:3] = far * rng.standard_normal((3, 3))
    actual = find_mcd_rows(x)
    assert isinstance(actual, MCDRows)
    assert not actual.is_kept[:3].any()
    assert not actual.subset[:3].any()


@one_in(2, {"far": [-1e3, -1e8, -1e13, 1e15, -1e90], "seed": range(3)})
def test_mcd_of_one_column_is_the_window_of_smallest_variance(far, seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([far * (1 + rng.random(4)), rng.standard_exponential(17), rng.standard_normal(8) + 3])
    h = subset_size(len(x), 1, 0.5)
    line = np.sort(x)
    # Fractions add up without rounding.
    windows = [[Fraction(value) for value in line[i : i + h]] for i in range(len(line) - h + 1)]
    variances = [sum(v * v for v in own) - sum(own) ** 2 / h for own in windows]
    shuffled = rng.permutation(x)
    actual = find_mcd_rows(shuffled[:, None])
    assert isinstance(actual, MCDRows)
    own = [Fraction(value) for value in shuffled[actual.subset]]
    assert float(sum(v * v for v in own) - sum(own) ** 2 / h) == pytest.approx(
        float(min(variances)), rel=1e-12
    )


@pytest.mark.parametrize(("n", "p", "share"), [(360, 26, 0.4), (300, 12, 0.3), (200, 4, 0.45)])
def test_mcd_starts_find_clean_rows_among_many_shifted_rows(n, p, share):
    rng = np.random.default_rng(9)
    x = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    spoilt = int(n * share)
    x[:spoilt] += 10 * rng.standard_normal(p)
    actual = find_mcd_rows(x)
    assert isinstance(actual, MCDRows)
    assert not actual.subset[:spoilt].any()


@pytest.mark.parametrize(("n", "p"), [(4, 2), (6, 2), (7, 2), (6, 3), (9, 3)])
def test_mcd_of_few_rows_equals_the_best_of_all_subsets(n, p):
    x = np.random.default_rng(n).standard_normal((n, p))
    actual, h = find_mcd_rows(x), subset_size(n, p, 0.5)
    minimum = min(np.linalg.det(np.cov(x[list(rows)].T)) for rows in itertools.combinations(range(n), h))
    np.testing.assert_allclose(np.linalg.det(np.cov(x[actual.subset].T)), minimum, rtol=1e-9)


@one_in(2, {"verb": [discrim.lda, discrim.qda], "nu": [None, 3.0]})
def test_t_of_rows_in_memory_equals_t_of_streamed_rows(verb, nu, monkeypatch):
    def fit():
        return verb("species ~ . - island - sex - year", load_penguins(), covariance=StudentT(nu=nu))

    fixed_fit = fit()
    monkeypatch.setattr("discrim.models.discriminant.robust.MAX_VALUES_IN_MEMORY", 0)
    passed = fit()
    np.testing.assert_allclose(fixed_fit.means, passed.means, rtol=1e-11)
    np.testing.assert_allclose(
        fixed_fit.predict_log_proba(), passed.predict_log_proba(), rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(fixed_fit.llf, passed.llf, rtol=1e-12)


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_mcd_is_precise_far_from_zero(verb):
    data = load_penguins().dropna()
    nearby = data.assign(**{name: np.round(data[name] * 1024) / 1024 for name in data.columns[2:4]})
    distant = nearby.assign(**{name: nearby[name] + 2.0**30 for name in data.columns[2:4]})
    formula = f"species ~ {data.columns[2]} + {data.columns[3]}"
    ours, theirs = (verb(formula, each, covariance="mcd").predict_log_proba() for each in (nearby, distant))
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("options", [{"covariance": "t"}, {"covariance": StudentT(nu=None)}])
def test_summary_does_not_search_without_each_row(options):
    fit = discrim.lda("species ~ .", load_iris(), **options)
    fit.summary()
    assert LEFT_OUT_CACHE_KEYS[False] not in fit._fit.cache
    assert "Error, leave-one-out" not in fit.summary().tables["header"].index


@pytest.mark.parametrize("decades", [(130, 260), (100, 300), (160, 170)])
def test_errors_name_a_column_that_hardly_varies_in_two_classes(decades):
    rng = np.random.default_rng(1)
    values = [0.5 + rng.normal(size=40) / 10, *(10.0 ** -rng.uniform(*decades, (2, 40)))]
    data = pd.DataFrame({"x": np.concatenate(values), "y": np.repeat(["a", "b", "c"], 40)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(OutOfRangeError) as caught:
            discrim.lda("y ~ x", data, covariance="mcd")
    assert caught.value.columns == ("x",)
