"""Fits to rows with missing values by EM: maximum likelihood of what is observed."""

from __future__ import annotations

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import discrim
from discrim.cli import main
from discrim.core.covariance.em import maximize_likelihood, sufficient_statistics
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, DataError, DroppedColumnsWarning, NotSupportedError
from tests.support import classic_table
from tests.turns import one_in

IRIS = load_iris()
NUMBERS = list(IRIS.columns[:4])
VERBS = {"lda": discrim.lda, "qda": discrim.qda}
PENGUINS = load_penguins()[["species", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]


def with_holes(share=0.2, seed=0, rows=IRIS):
    rng = np.random.default_rng(seed)
    names = [c for c in rows if c != "species"]
    return rows.assign(**{name: rows[name].mask(rng.random(len(rows)) < share) for name in names})


HOLES = with_holes()


def matrices(fit):
    """Means (K, p) and covariances, K of them, of largest likelihood."""
    counts = fit.counts.to_numpy()
    if isinstance(fit, discrim.LDAResults):
        total = counts.sum()
        factor = 1.0 if fit._fit.estimates.method == "mle" else (total - len(counts)) / total
        return fit.means.to_numpy(), [fit.cov.to_numpy() * factor] * len(counts)
    factors = np.ones(len(counts)) if fit._fit.estimates.method == "mle" else (counts - 1) / counts
    return fit.means.to_numpy(), [c.to_numpy() * f for c, f in zip(fit.covs.values(), factors, strict=True)]


def one_step(means, covs, x, codes, *, common):
    """A step of EM as textbooks write it, row by row."""
    k, p = means.shape
    filled, conditional_covariances = np.empty_like(x), np.zeros((k, p, p))
    for i, row in enumerate(x):
        c, m = codes[i], np.isnan(row)
        o = ~m
        slopes = covs[c][np.ix_(m, o)] @ np.linalg.inv(covs[c][np.ix_(o, o)])
        filled[i] = row
        filled[i, m] = means[c, m] + slopes @ (row[o] - means[c, o])
        conditional_covariances[c][np.ix_(m, m)] += covs[c][np.ix_(m, m)] - slopes @ covs[c][np.ix_(o, m)]
    new = np.array([filled[codes == c].mean(axis=0) for c in range(k)])
    differences = [filled[codes == c] - new[c] for c in range(k)]
    sums = [g.T @ g + r for g, r in zip(differences, conditional_covariances, strict=True)]
    if common:
        return new, [sum(sums) / len(x)] * k
    return new, [s / len(g) for s, g in zip(sums, differences, strict=True)]


def observed_llf(means, covs, prior, x, codes):
    total = 0.0
    for row, c in zip(x, codes, strict=True):
        o = ~np.isnan(row)
        total += np.log(prior[c]) + multivariate_normal.logpdf(row[o], means[c, o], covs[c][np.ix_(o, o)])
    return total


def arrays(data, fit):
    x = data[list(fit.terms)].to_numpy(dtype=float)
    codes = pd.Categorical(data[fit.classes.name], categories=list(fit.classes)).codes.astype(int)
    keep = (codes >= 0) & ~np.isnan(x).all(axis=1)
    return x[keep], codes[keep]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("method", ["moment", "mle"])
def test_an_em_step_keeps_the_estimates_and_the_likelihood_is_of_observed_values(verb, method):
    fit = VERBS[verb]("species ~ .", HOLES, missing="em", method=method)
    x, codes = arrays(HOLES, fit)
    means, covs = matrices(fit)
    shifted, rotated = one_step(means, covs, x, codes, common=verb == "lda")
    np.testing.assert_allclose(shifted, means, rtol=1e-9)
    for cov, after in zip(covs, rotated, strict=True):
        np.testing.assert_allclose(after, cov, rtol=1e-8, atol=1e-9 * np.abs(cov).max())
    assert fit.llf == pytest.approx(observed_llf(means, covs, fit.prior.to_numpy(), x, codes), rel=1e-12)
    assert fit.em.converged
    assert fit.em.incomplete == np.isnan(x).any(axis=1).sum()
    assert fit.em.patterns == len(np.unique(np.isnan(x), axis=0))
    assert fit.nobs == len(x)
    assert fit._fit.dropped == 150 - len(x)
    assert fit.df_model == (24 if verb == "lda" else 44)
    assert fit.aic == 2 * fit.df_model - 2 * fit.llf


@pytest.mark.slow
def test_em_finds_the_maximum_of_a_direct_search():
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1], 15)
    x = rng.normal(size=(30, 2)) @ [[1.0, 0.8], [0.0, 0.5]] + codes[:, None]
    x[rng.random(30) < 0.4, 1] = np.nan
    x[[3, 20], 0] = np.nan
    data = pd.DataFrame(x, columns=["a", "b"]).assign(y=codes)
    fit = discrim.lda("y ~ .", data, missing="em")
    some, own = arrays(data, fit)

    def unpacked(theta):
        root = np.array([[np.exp(theta[4]), theta[5]], [0.0, np.exp(theta[6])]])
        return theta[:4].reshape(2, 2), [root.T @ root] * 2

    def loss(theta):
        return -observed_llf(*unpacked(theta), fit.prior.to_numpy(), some, own)

    optimum = minimize(loss, [0, 0, 1, 1, 0, 0, 0], method="BFGS", options={"gtol": 1e-7})
    means, covs = unpacked(optimum.x)
    assert fit.llf == pytest.approx(-optimum.fun, rel=1e-10)
    np.testing.assert_allclose(matrices(fit)[0], means, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(matrices(fit)[1][0], covs[0], rtol=1e-4)


@pytest.mark.parametrize("verb", VERBS)
def test_monotone_patterns_equal_regressions_on_preceding_columns(verb):
    # Little & Rubin (2020), sec. 7.4: the likelihood factorizes, and each factor has all rows that have it.
    data = IRIS[["species", *NUMBERS[:3]]].copy()
    data.loc[data.index % 3 == 0, NUMBERS[2]] = np.nan
    data.loc[data.index % 9 == 0, NUMBERS[1]] = np.nan
    fit = VERBS[verb]("species ~ .", data, missing="em", method="mle")
    x, codes = arrays(data, fit)
    with mpmath.workdps(40):
        for k in range(1 if verb == "lda" else 3):
            classes = range(3) if verb == "lda" else [k]
            means, cov = closed_form(x[np.isin(codes, classes)], codes[np.isin(codes, classes)], classes)
            np.testing.assert_allclose(matrices(fit)[0][list(classes)], means, rtol=1e-9)
            np.testing.assert_allclose(matrices(fit)[1][k], cov, rtol=1e-7)


def closed_form(x, codes, classes):
    p, k = x.shape[1], len(classes)
    means, cov = mpmath.zeros(k, p), mpmath.zeros(p)
    for j in range(p):
        observed = np.flatnonzero(~np.isnan(x[:, j]))
        design = mpmath.matrix(len(observed), k + j)
        for i, row in enumerate(observed):
            design[i, list(classes).index(codes[row])] = 1
            for a in range(j):
                design[i, k + a] = float(x[row, a])
        y = mpmath.matrix(x[observed, j].tolist())
        b = mpmath.lu_solve(design.T * design, design.T * y)
        residuals = y - design * b
        slopes = b[k:, 0] if j else mpmath.matrix(0, 1)
        for c in range(k):
            means[c, j] = b[c] + sum(slopes[a] * means[c, a] for a in range(j))
        for a in range(j):
            cov[a, j] = cov[j, a] = sum(cov[a, i] * slopes[i] for i in range(j))
        cov[j, j] = (residuals.T * residuals)[0] / len(observed) + sum(
            slopes[i] * cov[i, j] for i in range(j)
        )
    return (np.array(m.tolist(), dtype=float) for m in (means, cov))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("method", ["moment", "mle"])
def test_complete_rows_give_the_same_fit_with_and_without_em(verb, method):
    fit, reference_fit = (VERBS[verb]("species ~ .", IRIS, method=method, missing=m) for m in ("em", None))
    assert (fit.llf, fit.em.incomplete, fit.em.converged) == (reference_fit.llf, 0, True)
    np.testing.assert_array_equal(fit.means, reference_fit.means)
    np.testing.assert_array_equal(fit.predict_proba(), reference_fit.predict_proba())
    np.testing.assert_array_equal(
        fit.leave_one_out()[fit.classes], reference_fit.leave_one_out()[fit.classes]
    )
    np.testing.assert_array_equal(
        fit.predict_proba(method="predictive"), reference_fit.predict_proba(method="predictive")
    )
    assert fit.em.row_llf + fit.counts @ np.log(fit.prior) == pytest.approx(reference_fit.llf, rel=1e-12)


@pytest.mark.parametrize("verb", VERBS)
def test_rows_with_missing_values_are_predicted_by_their_other_columns(verb, tmp_path):
    fit = VERBS[verb]("species ~ .", HOLES, missing="em")
    proba = fit.predict_proba()
    is_empty = HOLES[NUMBERS].isna().all(axis=1)
    assert proba.notna().all(axis=None)
    np.testing.assert_allclose(proba[is_empty], np.tile(fit.prior, (is_empty.sum(), 1)))
    np.testing.assert_array_equal(proba, fit.predict_proba(HOLES))
    dropped = fit.predict(HOLES, missing="drop")
    assert (dropped.isna() == HOLES.isna().any(axis=1)).all()
    assert fit.confusion().to_numpy().sum() == fit.nobs
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    np.testing.assert_array_equal(again.predict_proba(HOLES), proba)
    assert (again.em, again.llf, again.aic) == (fit.em, fit.llf, fit.aic)
    text = fit.summary().as_text()
    assert f"Incomplete observations {fit.em.incomplete}, {fit.em.patterns} patterns" in " ".join(
        text.split()
    )
    assert "by EM" in text
    assert "Log-likelihood, observed" in text
    HOLES.to_csv(tmp_path / "holes.csv", index=False)
    of_file = VERBS[verb]("species ~ .", tmp_path / "holes.csv", missing="em")
    np.testing.assert_allclose(of_file.means, fit.means, rtol=1e-12)
    assert of_file.confusion().to_numpy().tolist() == fit.confusion().to_numpy().tolist()


def test_folds_are_fitted_by_em_too():
    fold = np.arange(150) % 3
    fit = discrim.lda("species ~ .", HOLES, missing="em")
    actual = discrim.cross_validate(fit, folds=fold).labels[1]
    for f in range(3):
        refit = discrim.lda("species ~ .", HOLES[fold != f], missing="em", prior=fit.prior)
        in_fold = (fold == f) & HOLES[NUMBERS].notna().any(axis=1)
        assert (actual[in_fold] == refit.predict(HOLES[in_fold])).all()
    rates = fit.error_rates(["apparent", "cv"], folds=3, seed=1)
    assert (rates["total"] == fit.nobs).all()


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_weights_are_repeated_rows_and_units_do_not_matter(verb):
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 4, 150)
    fit = VERBS[verb]("species ~ .", HOLES, missing="em", weights=weights)
    again = VERBS[verb]("species ~ .", HOLES.loc[HOLES.index.repeat(weights)], missing="em")
    assert fit.llf == pytest.approx(again.llf, rel=1e-12)
    np.testing.assert_allclose(fit.predict_proba(HOLES), again.predict_proba(HOLES), rtol=1e-7, atol=1e-12)
    reference_fit = VERBS[verb]("species ~ .", HOLES, missing="em")
    units = HOLES.assign(
        **{n: HOLES[n] * u for n, u in zip(NUMBERS, (1e-120, 1e100, 2.0**20, -1.0), strict=True)}
    )
    other = VERBS[verb]("species ~ .", units, missing="em")
    np.testing.assert_allclose(
        other.predict_proba(units), reference_fit.predict_proba(HOLES), rtol=1e-6, atol=1e-12
    )
    shift = HOLES.assign(**{n: HOLES[n] + 2.0**20 for n in NUMBERS})
    shifted = VERBS[verb]("species ~ .", shift, missing="em")
    np.testing.assert_allclose(
        shifted.predict_proba(shift), reference_fit.predict_proba(HOLES), rtol=1e-6, atol=1e-9
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("error::RuntimeWarning")
@one_in(2, {"exponent": [530, 990, -530, -900], "verb": [discrim.lda, discrim.qda, discrim.mixture]})
def test_units_whose_squares_are_out_of_range_do_not_matter(verb, exponent):
    rows = with_holes(rows=IRIS.iloc[::2])
    columns = IRIS.columns.drop("species")
    scaled = rows.assign(**np.ldexp(rows[columns], exponent))
    expected = verb("species ~ .", rows, missing="em").predict_proba()
    actual = verb("species ~ .", scaled, missing="em").predict_proba()
    np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-12)


def test_much_missing_takes_many_steps_and_is_accelerated():
    data = with_holes(0.6, seed=1, rows=IRIS.iloc[::2])
    fit = discrim.lda("species ~ .", data, missing="em")
    assert fit.em.converged
    x, codes = arrays(data, fit)
    means, covs = matrices(fit)
    reference = 0
    start = (
        np.array([np.nanmean(x[codes == k], axis=0) for k in range(3)]),
        [np.diag(np.nanvar(x, axis=0))] * 3,
    )
    while np.abs(start[0] - means).max() > 1e-4:
        start = one_step(*start, x, codes, common=True)
        reference += 1
    shifted, _ = one_step(means, covs, x, codes, common=True)
    np.testing.assert_allclose(shifted, means, rtol=1e-9)
    assert fit.em.steps < reference


def test_pima_with_its_missing_values():
    pima = classic_table("MASS_Pima.tr2")
    for verb in VERBS.values():
        fit = verb("type ~ .", pima, missing="em", method="mle")
        assert (fit.nobs, fit.em.incomplete) == (300, 100)
        x, codes = arrays(pima, fit)
        means, covs = matrices(fit)
        shifted, rotated = one_step(means, covs, x, codes, common=verb is discrim.lda)
        np.testing.assert_allclose(shifted, means, rtol=1e-9)
        np.testing.assert_allclose(rotated[1], covs[1], rtol=1e-7, atol=1e-7)
        assert fit.predict().notna().all()


REFUSED = {
    "leave_one_out": r'error_rates.*"cv"',
    "log_odds": 'missing="em"',
    "anova": r"anova\(\) assumes the sampling distribution",
    "canonical": r"canonical\(\) assumes the sampling distribution",
    "typicality": 'method="chi2"',
}


@pytest.mark.parametrize("name", REFUSED)
def test_methods_that_require_complete_rows_are_refused(name):
    fit = discrim.lda("species ~ .", HOLES, missing="em")
    with pytest.raises(NotSupportedError, match=REFUSED[name]):
        getattr(fit, name)()
    with pytest.raises(NotSupportedError) as caught:
        fit.predict_proba(method="predictive")
    assert 'method="predictive"' in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = discrim.lda("species ~ .", IRIS).em
    assert 'missing="em"' in str(caught.value)


@pytest.mark.parametrize(
    ("verb", "options", "error", "match"),
    [
        ("lda", {"missing": "fill"}, DataError, "missing='fill' is not known. Use one of 'drop', 'em'"),
        ("lda", {"covariance": "t"}, NotSupportedError, 'cannot be combined with covariance="t"'),
        ("qda", {"covariance": "shrunk"}, NotSupportedError, 'cannot be combined with covariance="shrunk"'),
        ("lda", {"na_action": "raise"}, DataError, 'na_action="raise"'),
        ("lda", {"collinear": "drop"}, NotSupportedError, "collinear="),
    ],
)
def test_incompatible_options_are_refused(verb, options, error, match):
    with pytest.raises(error, match=match):
        VERBS[verb]("species ~ .", HOLES, **({"missing": "em"} | options))


def test_errors_name_columns_that_are_never_observed():
    setosa = HOLES["species"] == "setosa"
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", HOLES.assign(sepal_width=HOLES["sepal_width"].mask(setosa)), missing="em")
    assert caught.value.classes == ("setosa",)
    half = np.arange(150) % 2 == 0
    apart = IRIS.assign(
        sepal_width=IRIS["sepal_width"].mask(half), petal_width=IRIS["petal_width"].mask(~half)
    )
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", apart, missing="em")
    assert "'sepal_width'" in str(caught.value)
    assert "'petal_width'" in str(caught.value)
    partly = apart.where(IRIS["species"] != "setosa", IRIS)
    assert discrim.lda("species ~ .", partly, missing="em").em.converged
    with pytest.raises(DataError) as caught:
        discrim.qda("species ~ .", partly, missing="em")
    assert "'versicolor'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", IRIS.assign(sepal_width=np.nan), missing="em")
    assert "'sepal_width'" in str(caught.value)
    double = HOLES.assign(twice=2 * HOLES["sepal_width"])
    with pytest.raises(CollinearError) as caught:
        discrim.lda("species ~ .", double, missing="em")
    assert "'twice'" in str(caught.value)
    subset = pd.concat([HOLES[setosa].head(4), HOLES[~setosa]])
    with pytest.raises(CollinearError) as caught:
        discrim.qda("species ~ .", subset, missing="em")
    assert caught.value.classes == ("setosa",)
    moments = discrim.moments("species ~ .", IRIS)
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda(moments=moments, missing="em")
    assert "times" in str(caught.value)


def test_rows_without_a_class_and_without_any_value_are_dropped_and_counted():
    data = PENGUINS.assign(species=PENGUINS["species"].astype(object))
    data.loc[[10, 11], "species"] = None
    fit = discrim.lda("species ~ .", data, missing="em")
    assert (fit.nobs, fit._fit.dropped) == (340, 4)
    flat = with_holes(rows=data.assign(flat=1.0))
    with pytest.warns(DroppedColumnsWarning, match="'flat'"):
        fit = discrim.qda("species ~ .", flat, missing="em")
    assert list(fit.terms) == list(PENGUINS.columns[1:])
    assert fit.nobs == flat[[*PENGUINS.columns[1:]]].notna().any(axis=1)[data["species"].notna()].sum()


def test_command_line_supports_the_option(tmp_path, capsys):
    HOLES.to_csv(tmp_path / "holes.csv", index=False)
    assert main(["lda", "species ~ .", str(tmp_path / "holes.csv"), "--missing", "em"]) == 0
    assert "EM iterations" in capsys.readouterr().out


def test_errors_name_a_column_that_is_constant_in_a_class_and_lda_accepts_it():
    penguins = load_penguins()
    formula = "species ~ island + bill_length_mm"
    with pytest.raises(CollinearError) as caught:
        discrim.qda(formula, penguins, missing="em")
    assert "'island[T.Dream]'" in str(caught.value)
    assert "'Chinstrap'" in str(caught.value)
    assert discrim.lda(formula, penguins, missing="em").nobs == len(penguins)
    table = penguins.assign(own=penguins["species"].map({"Adelie": 1.0, "Chinstrap": 2.0, "Gentoo": 0.1}))
    with pytest.raises(CollinearError) as caught:
        discrim.lda("species ~ own + bill_length_mm", table, missing="em")
    assert "'own'" in str(caught.value)


@pytest.mark.slow
def test_errors_name_the_rarely_observed_column_at_any_position():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("abcde"))
    frame["few"] = np.where(np.arange(60) % 20 == 0, rng.normal(size=60), np.nan)
    frame["g"] = np.repeat(["u", "v"], 30)
    for formula in ("g ~ few + a + b + c + d + e", "g ~ a + few + b + c + d + e"):
        with pytest.raises(CollinearError) as caught:
            discrim.lda(formula, frame, missing="em")
        assert caught.value.columns == ("few",)
        assert "'few'" in str(caught.value)
    assert discrim.lda("g ~ a + b + c + d + e", frame, missing="em").nobs == 60


@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
def test_unbounded_likelihoods_are_refused_without_an_endless_search():
    x = np.array([[1.0, 2.0], [np.nan, 1.0], [3.0, 5.0], [2.0, 2.5]])
    for weights in (np.array([1.0, np.nan, 1.0, 1.0]), np.array([1.0, 1.0, np.inf, 1.0])):
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(DataError, match="likelihood is not finite at the means"),
        ):
            maximize_likelihood(sufficient_statistics(x, np.zeros(4, dtype=np.intp), weights, 1))
