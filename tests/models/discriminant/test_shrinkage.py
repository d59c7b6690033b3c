"""Shrunk and spherical covariances against scikit-learn, the formula in exact arithmetic, and identities."""

from __future__ import annotations

from dataclasses import replace

import mpmath
import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import OAS
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import discrim
from discrim import lda, qda
from discrim.core.covariance.covariance import class_covariances, pooled_covariance
from discrim.core.covariance.shrunk import (
    ShrunkCovariance,
    oas_shrinkage,
    shrunk_covariance,
    spherical_covariance,
)
from discrim.core.discriminant.lda import fit_lda
from discrim.core.discriminant.qda import fit_qda
from discrim.core.moments.moments import ClassMoments
from discrim.covariance import Diagonal
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DataError, NotSupportedError
from tests.turns import one_in

IRIS = load_iris()
X, Y = IRIS.iloc[:, :4].to_numpy(), IRIS["species"].to_numpy()


def simulate_rows(n: int, p: int, k: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    x = rng.standard_normal((n, p)) * np.geomspace(1, 9, p) + rng.standard_normal((k, p))[y]
    return x + rng.standard_normal((n, 1)), y


def less_means(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x - np.stack([x[y == label].mean(axis=0) for label in y])


def as_frame(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(y=y)


SHAPES = [(60, 4), (30, 30), (24, 57), (40, 1), (9, 2)]


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_pooled_oas_agrees_with_scikit_learn_on_centred_rows(n, p):
    x, y = simulate_rows(n, p)
    theirs = OAS(assume_centered=True).fit(less_means(x, y))
    fit = lda("y ~ .", as_frame(x, y), covariance="shrunk", method="mle")
    assert fit.shrinkage == pytest.approx(theirs.shrinkage_, rel=1e-12)
    np.testing.assert_allclose(fit.cov, theirs.covariance_, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_oas_by_class_agrees_with_scikit_learn(n, p):
    x, y = simulate_rows(n, p)
    fit = qda("y ~ .", as_frame(x, y), covariance="shrunk", method="mle")
    for label in fit.classes:
        theirs = OAS().fit(x[y == label])
        assert fit.shrinkage[label] == pytest.approx(theirs.shrinkage_, rel=1e-12)
        np.testing.assert_allclose(fit.covs[label], theirs.covariance_, rtol=1e-11, atol=1e-12)
        assert fit.logdet[label] == pytest.approx(
            np.linalg.slogdet(theirs.covariance_)[1], rel=1e-10, abs=1e-10
        )


def test_posteriors_agree_with_scikit_learn_with_oas():
    """Their LDA takes shares of covariances of each class: a common one is given as each class's."""
    x, y = simulate_rows(36, 50)
    covariance = OAS(assume_centered=True).fit(less_means(x, y)).covariance_

    class Given:
        def fit(self, rows):
            self.covariance_ = covariance
            return self

    theirs = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=Given()).fit(x, y)
    ours = lda("y ~ .", as_frame(x, y), covariance="shrunk", method="mle")
    np.testing.assert_allclose(ours.predict_log_proba(), theirs.predict_log_proba(x), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("rooted", [True, False])
def test_the_divisor_changes_the_covariance_and_not_the_shrinkage(rooted):
    moments = ClassMoments.from_block(X, pd.factorize(Y)[0], n_classes=3)
    moments = moments if rooted else replace(moments, roots=None)
    (mle, g), (moment, h) = (shrunk_covariance(moments, d) for d in (150.0, 147.0))
    assert g == h
    np.testing.assert_allclose(moment.matrix() * 147, mle.matrix() * 150, rtol=1e-13)
    s = less_means(X, Y).T @ less_means(X, Y)
    expected = (1 - g) * s + g * np.trace(s) / 4 * np.eye(4)
    np.testing.assert_allclose(mle.matrix() * 150, expected, rtol=1e-12)
    np.testing.assert_allclose(mle.root @ mle.inverse, np.eye(4), atol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-7])
def test_oas_is_precise_near_the_sphere(apart):
    rows = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1 + apart], [0, 0, -1 - apart]])
    copies, weights = (4_000_000, np.full(6, 4e6)) if apart < 1e-5 else (1, None)
    moments = ClassMoments.from_block(rows, np.zeros(6, dtype=np.intp), weights, n_classes=1)
    with mpmath.workdps(50):
        s = [mpmath.mpf(2), mpmath.mpf(2), 2 * (1 + mpmath.mpf(apart)) ** 2]
        squares, total = sum(v**2 for v in s), sum(s)
        exact = min(mpmath.mpf(1), (squares + total**2) / ((6 * copies + 1) * (squares - total**2 / 3)))
    assert oas_shrinkage(moments) == pytest.approx(float(exact), rel=1e-8)


def test_no_shrinkage_equals_the_full_covariance_exactly():
    codes = pd.factorize(Y)[0]
    total = ClassMoments.from_block(X, codes, n_classes=3)
    moments = ClassMoments.from_block(X, codes, n_classes=3, required_moments="class")
    np.testing.assert_array_equal(
        shrunk_covariance(total, 147.0, 0.0)[0].root, pooled_covariance(total, 147.0).root
    )
    for k, reference in enumerate(class_covariances(moments, np.full(3, 49.0))):
        np.testing.assert_array_equal(shrunk_covariance(moments, 49.0, 0.0, k)[0].root, reference.root)


def test_full_shrinkage_equals_the_nearest_centroid():
    codes = pd.factorize(Y)[0]
    moments = ClassMoments.from_block(X, codes, n_classes=3)
    sphere = spherical_covariance(moments, 147.0)
    np.testing.assert_allclose(
        shrunk_covariance(moments, 147.0, 1.0)[0].matrix(), sphere.matrix(), rtol=1e-14
    )
    fit = lda("species ~ .", IRIS, covariance="spherical", prior="equal")
    differences = X[:, None] - fit.means.to_numpy()
    nearest = fit.classes[(differences**2).sum(axis=2).argmin(axis=1)]
    assert (fit.predict() == nearest).all()
    variance = (less_means(X, Y) ** 2).sum() / (147 * 4)
    np.testing.assert_allclose(fit.cov, variance * np.eye(4), rtol=1e-13)
    scores = -0.5 * (differences**2).sum(axis=2) / variance
    expected = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
    np.testing.assert_allclose(fit.predict_log_proba(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("verb", [lda, qda])
def test_spherical_likelihood_equals_the_densities(verb):
    fit = verb("species ~ .", IRIS, covariance="spherical", method="mle")
    covs = dict.fromkeys(fit.classes, fit.cov) if verb is lda else fit.covs
    total = 0.0
    for label, cov in covs.items():
        differences, variance = X[label == Y] - fit.means.loc[label].to_numpy(), cov.iloc[0, 0]
        total += (
            50 * np.log(1 / 3)
            - 0.5 * (differences**2).sum() / variance
            - 50 * 2 * np.log(2 * np.pi * variance)
        )
    assert fit.llf == pytest.approx(total, rel=1e-12)
    assert fit.df_model == 12 + (1 if verb is lda else 3) + 2


@pytest.mark.filterwarnings("ignore::discrim.errors.ScaleWarning")
def test_shrinkage_is_in_the_units_of_the_data():
    """Columns so small that the moments hold them on another scale are shrunk as if they were not."""
    x, y = simulate_rows(40, 5)
    reference_fit = lda("y ~ .", as_frame(x, y), covariance="shrunk")
    tiny = lda("y ~ .", as_frame(np.ldexp(x, -400), y), covariance="shrunk")
    assert not (tiny._fit.estimates.moments.scale == 1).any()
    assert tiny.shrinkage == pytest.approx(reference_fit.shrinkage, rel=1e-13)
    np.testing.assert_allclose(
        tiny.predict_log_proba(), reference_fit.predict_log_proba(), rtol=1e-9, atol=1e-9
    )
    unequal = x * [1, 10, 100, 1000, 10000]
    other = lda("y ~ .", as_frame(unequal, y), covariance="shrunk", method="mle")
    assert other.shrinkage == pytest.approx(OAS(assume_centered=True).fit(less_means(unequal, y)).shrinkage_)


def test_moments_on_another_scale_give_the_same_covariance():
    x, y = simulate_rows(40, 3)
    moments = ClassMoments.from_block(x, y, n_classes=3)
    other = moments.rescale(np.array([2.0**300, 1.0, 2.0**-300]))
    (reference, g), (rescaled, h) = shrunk_covariance(moments, 37.0), shrunk_covariance(other, 37.0)
    assert h == pytest.approx(g, rel=1e-14)
    np.testing.assert_allclose(rescaled.root / other.scale, reference.root, rtol=1e-12, atol=1e-14)
    sphere = spherical_covariance(other, 37.0).root / other.scale
    np.testing.assert_allclose(sphere, spherical_covariance(moments, 37.0).root, rtol=1e-14)


@pytest.mark.parametrize("covariance", ["diagonal", "spherical"])
def test_likelihood_with_ncomp_requires_full_covariance(covariance):
    fit = lda("species ~ .", IRIS, covariance=covariance, ncomp=1)
    with pytest.raises(NotSupportedError) as caught:
        assert fit.llf
    assert "ncomp=" in str(caught.value)
    assert np.isnan(fit.glance().loc[0, "aic"])


@pytest.mark.parametrize("verb", [lda, qda])
@pytest.mark.parametrize("covariance", ["shrunk", "spherical"])
def test_more_columns_than_rows(verb, covariance, tmp_path):
    x, y = simulate_rows(24, 40)
    data = as_frame(x, y)
    fit = verb("y ~ .", data, covariance=covariance)
    with pytest.raises(CollinearError) as caught:
        verb("y ~ .", data)
    assert "shrunk" in str(caught.value)
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(data), fit.predict_proba(), check_exact=True)
    if covariance == "shrunk":
        assert np.array_equal(loaded.shrinkage, fit.shrinkage)
    left_out = fit.leave_one_out()
    assert left_out.notna().all(axis=None)
    without = verb("y ~ .", data.drop(index=5), covariance=covariance, prior=fit.prior)
    np.testing.assert_allclose(
        left_out.iloc[5, 1:].astype(float), without.predict_proba(data.iloc[[5]]).iloc[0], rtol=1e-9
    )
    assert "not available" not in fit.summary().as_text().split("Error, resubstitution")[1].split("\n")[0]


def test_a_copied_column_is_shrunk_like_any_other():
    data = IRIS.assign(copy=IRIS["sepal_length"])
    x = data.drop(columns="species").to_numpy()
    fit = lda("species ~ .", data, covariance="shrunk", method="mle")
    np.testing.assert_allclose(
        fit.cov, OAS(assume_centered=True).fit(less_means(x, Y)).covariance_, rtol=1e-11, atol=1e-14
    )


def test_the_shrinkage_is_shown():
    linear, quadratic = (verb("species ~ .", IRIS, covariance="shrunk") for verb in (lda, qda))
    text = linear.summary().as_text()
    assert f"{linear.shrinkage:.4g}" in text.split("Classes")[0] + text.split("Prior")[0]
    assert "Shrinkage, OAS" in text
    assert "Shrinkage, OAS" in quadratic.summary(["header"]).as_text()
    shrinkages = quadratic.summary(["classes"]).tables["classes"]["shrinkage"]
    np.testing.assert_array_equal(shrinkages, quadratic.shrinkage)


@pytest.mark.parametrize("verb", [lda, qda])
def test_unavailable_methods_are_refused_with_a_message(verb):
    fit = verb("species ~ .", IRIS, covariance="shrunk")
    for ask in (lambda: fit.llf, lambda: fit.df_model, lambda: fit.aic, lambda: fit.bic):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "shrunk" in str(caught.value)
    glance = fit.glance()
    assert glance[["llf", "aic", "bic", "df_model"]].isna().all(axis=None)
    for method in ("predictive", "debiased"):
        with pytest.raises(NotSupportedError) as caught:
            fit.predict_proba(method=method)
        assert "shrunk" in str(caught.value)
    reference_fit = verb("species ~ .", IRIS)
    with pytest.raises(NotSupportedError) as caught:
        _ = reference_fit.shrinkage
    assert "shrunk" in str(caught.value)
    assert np.isnan(discrim.compare(reference_fit, fit)["llf"].iloc[1])


@pytest.mark.parametrize(
    "options",
    [
        {"covariance": "shrunk"},
        {"covariance": "pinv"},
        {"covariance": "correlation"},
        {"covariance": Diagonal(0.5)},
        {"covariance": "t"},
        {"ncomp": 1},
    ],
    ids=str,
)
def test_tidy_has_estimates_without_standard_errors(options):
    fit = lda("species ~ .", IRIS, **options)
    tidy = fit.tidy().set_index(["class", "term"])
    assert list(tidy.columns) == list(lda("species ~ .", IRIS).tidy().columns[2:])
    for label in fit.classes[1:]:
        slopes = fit.coef[label] - fit.coef["setosa"]
        np.testing.assert_allclose(tidy.loc[label].loc[fit.terms, "estimate"], slopes, rtol=1e-9)
        constant = fit.intercept[label] - fit.intercept["setosa"]
        assert tidy.loc[(label, "constant"), "estimate"] == pytest.approx(constant, rel=1e-9)
    assert tidy.drop(columns="estimate").isna().all(axis=None)


def test_inference_with_a_shrunk_covariance_is_refused_with_a_message():
    fit = lda("species ~ .", IRIS, covariance="shrunk")
    with pytest.raises(NotSupportedError) as caught:
        fit.log_odds()
    assert "coef" in str(caught.value)
    for name in ("canonical", "manova", "partial_tests", "distances", "wilks"):
        with pytest.raises(NotSupportedError) as caught:
            getattr(fit, name)
        assert 'covariance="pooled"' in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.typicality()
    assert "full" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        discrim.lr_test(fit, qda("species ~ .", IRIS))
    assert "shrunk" in str(caught.value)


def test_a_covariance_without_any_variance_is_refused():
    constant = IRIS.assign(sepal_width=Y == "setosa").astype({"sepal_width": float})
    for covariance in ("shrunk", "spherical"):
        with pytest.raises(CollinearError) as caught:
            lda("species ~ sepal_width", constant, covariance=covariance)
        assert caught.value.columns == ("sepal_width",)
        with pytest.raises(CollinearError) as caught:
            qda("species ~ .", IRIS.iloc[:101], covariance=covariance)
        assert "'virginica'" in str(caught.value)
    moments = ClassMoments.from_block(np.ones((4, 2)), np.arange(4) % 2, n_classes=2)
    with pytest.raises(CollinearError) as caught:
        fit_lda(moments, np.array([0.5, 0.5]), ShrunkCovariance())
    assert "varies" in str(caught.value)
    assert "column" in str(caught.value)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(DataError) as caught:
            shrunk_covariance(moments, 2.0, wrong)
        assert "from 0 to 1" in str(caught.value)
    with pytest.raises(DataError) as caught:
        lda("species ~ .", IRIS, covariance="oas")
    assert "spherical" in str(caught.value)


@one_in(
    2,
    {
        "verb": [lda, qda],
        "covariance": ["shrunk", "spherical"],
        "method": ["moment", "mle"],
        "n, p": [(18, 30), (60, 3), (31, 1), (200, 6)],
    },
)
def test_leave_one_out_equals_the_fit_without_the_row(verb, covariance, method, n, p):
    x, y = simulate_rows(n, p, seed=n)
    data = as_frame(x, y)
    options = {"covariance": covariance, "method": method}
    fit = verb("y ~ .", data, **options)
    left_out = fit._fit.estimates.leave_one_out_scorer(np.log(fit.prior.to_numpy()))(
        x, y.astype(np.intp), None
    )
    assert np.isfinite(left_out).all()
    for row in range(0, n, n // 4):
        without = verb("y ~ .", data.drop(index=row), prior=fit.prior, **options)
        theirs = without._fit.rule(fit.prior.to_numpy()).scores(x[[row]])[0]
        differences, expected = (scores - scores[0] for scores in (left_out[row], theirs))
        np.testing.assert_allclose(differences, expected, rtol=1e-9, atol=1e-9)


def test_leave_one_out_without_roots_and_on_another_scale_is_the_same():
    x, y = simulate_rows(40, 5)
    log_prior = np.log(np.full(3, 1 / 3))
    for scatters, fitted in (("pooled", fit_lda), ("class", fit_qda)):
        moments = ClassMoments.from_block(x, y, n_classes=3, required_moments=scatters)
        variants = (moments, replace(moments, roots=None), moments.rescale(np.array([4.0, 1, 2, 0.5, 8])))
        scores = [
            fitted(m, np.exp(log_prior), ShrunkCovariance()).leave_one_out_scorer(log_prior)(x, y, None)
            for m in variants
        ]
        for other in scores[1:]:
            differences, expected = other - other[:, :1], scores[0] - scores[0][:, :1]
            np.testing.assert_allclose(differences, expected, rtol=1e-9, atol=1e-9)


def test_the_only_row_of_a_class_is_never_assigned_to_it():
    data = IRIS.iloc[:101]
    left_out = lda("species ~ .", data, covariance="shrunk").leave_one_out()
    assert left_out["virginica"].iloc[100] == 0
    assert left_out["label"].iloc[100] != "virginica"


@pytest.mark.filterwarnings(
    "ignore::discrim.errors.ScaleWarning", "ignore::discrim.errors.DroppedColumnsWarning"
)
def test_a_row_with_all_of_the_variance_is_refitted():
    x = np.zeros((9, 2))
    x[0] = 1e3, 0.0
    x[1:, 1] = np.tile([0.01, 0.01, -0.01, -0.01], 2)
    data = as_frame(x, np.arange(9) % 2)
    fit = lda("y ~ .", data, covariance="shrunk")
    without = lda("y ~ .", data.drop(index=0), covariance="shrunk", prior=fit.prior)
    expected = without.predict_log_proba(data.iloc[[0]]).iloc[0]
    ours = fit.leave_one_out().iloc[0, 1:].astype(float)
    np.testing.assert_allclose(ours, np.exp(expected), rtol=1e-8, atol=1e-300)


def test_shrinkage_is_precise_far_from_zero():
    x, y = simulate_rows(50, 6)
    x = np.round(x * 2**16) / 2**16
    nearby, distant = (as_frame(x + shift, y) for shift in (0.0, 2.0**32))
    for verb in (lda, qda):
        ours, theirs = (verb("y ~ .", data, covariance="shrunk") for data in (distant, nearby))
        np.testing.assert_allclose(ours.shrinkage, theirs.shrinkage, rtol=1e-12)
        scores, expected = (fit.predict_log_proba() for fit in (ours, theirs))
        np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-8)
        left_out, reference = (fit.leave_one_out().iloc[:, 1:].astype(float) for fit in (ours, theirs))
        np.testing.assert_allclose(left_out, reference, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("p", "constant"), [(5, 2), (7, 3), (3, 1)])
def test_variances_shrunk_to_their_median_need_that_fewer_than_half_are_zero(p, constant):
    codes = np.arange(40) % 2
    x = np.random.default_rng(0).standard_normal((40, p)) + codes[:, None]
    x[:, :constant] = 3.0 + codes[:, None]
    frame = pd.DataFrame(x).add_prefix("x").assign(y=codes)
    fit = lda("y ~ .", frame, covariance=Diagonal("strimmer"))
    assert np.isfinite(fit.predict_log_proba(frame).to_numpy()).all()
    with pytest.raises(CollinearError) as caught:
        lda("y ~ .", frame.assign(**{f"x{constant}": codes}), covariance=Diagonal("strimmer"))
    assert "constant" in str(caught.value)
    assert "within" in str(caught.value)


@one_in(2, {"verb": [lda, qda], "row": [0, 1], "distance, unit": [(1e6, 1.0), (1e12, 1e-6), (1e12, 1.0)]})
def test_analytic_variance_shrinkage_without_an_outlier_equals_a_refit(verb, distance, unit, row):
    rng = np.random.default_rng(8)
    y = np.arange(24) % 2
    x = rng.standard_normal((24, 4)) * [unit, 1.0, 2.0, 3.0] + [0.0, 1.0, 1.0, 0.0] * y[:, None]
    # A row that is far away in one column; the others decide about it if that has little weight.
    x[row, 0] = distance * unit
    table = pd.DataFrame(x).add_prefix("x").assign(y=np.array(["a", "b"])[y])
    fit = verb("y ~ .", table, covariance=Diagonal("strimmer"))
    other = fit.update(data=table.drop(index=row))
    expected = other.predict_proba(table.iloc[[row]], prior=fit.prior).iloc[0]
    np.testing.assert_allclose(fit.leave_one_out().iloc[row, 1:].astype(float), expected, atol=1e-9)
