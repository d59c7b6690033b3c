"""Tests of means, covariances and model: identities, brute force and simulation."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.linalg import expm
from statsmodels.stats.multivariate import test_cov_oneway as cov_oneway

import discrim
from discrim import covariance_models, hausman, lda, lr_test, manova, qda
from discrim.core.moments.moments import ClassMoments
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import CollinearError, DataError, DiscrimError, NotSupportedError, WeightsWarning
from discrim.inference.covariance_models import (
    box_m_test,
    covariance_hierarchy,
    fit_common_components,
    fit_proportional,
    log_determinant_quantile,
)
from discrim.inference.log_odds import hausman_test
from discrim.inference.manova import dimension_table
from discrim.inference.resampling import bootstrap_likelihood_ratios

IRIS, WINE = load_iris(), load_wine()


def normal_groups(seed: int, sizes: tuple[int, ...], p: int, means: np.ndarray | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.standard_normal((len(codes), p)) @ np.linalg.qr(np.full((p, p), 0.3) + np.eye(p))[1]
    if means is not None:
        x += means[codes]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)


def test_df_is_a_number_for_a_chi_square_and_a_pair_for_an_f():
    linear = lda("species ~ .", IRIS)
    df = lr_test(linear, qda("species ~ .", IRIS)).df
    assert (type(df), df) == (float, 20.0)
    assert linear.wilks.df == (8.0, 288.0)


# ------------------------------------------------------------------ means


def test_two_groups_agree_with_hotelling():
    data = load_breast_cancer()[["diagnosis", "radius_mean", "texture_mean", "smoothness_mean"]]
    fit = lda("diagnosis ~ .", data)
    a, b = (g.iloc[:, 1:].to_numpy() for _, g in data.groupby("diagnosis"))
    pooled = ((len(a) - 1) * np.cov(a.T) + (len(b) - 1) * np.cov(b.T)) / (len(data) - 2)
    gap = a.mean(axis=0) - b.mean(axis=0)
    t2 = len(a) * len(b) / len(data) * gap @ np.linalg.solve(pooled, gap)
    f = t2 * (len(data) - 4) / (3 * (len(data) - 2))
    tests = fit.manova()
    np.testing.assert_allclose(tests["F"], f, rtol=1e-9)
    np.testing.assert_allclose(fit.distances()["F"], f, rtol=1e-9)
    assert (tests["F_is"] == "exact").all()
    assert fit.canonical().eigenvalues.iloc[0] == pytest.approx(t2 / (len(data) - 2), rel=1e-9)


def test_for_two_classes_the_partial_t_is_that_of_the_regression_of_the_indicator():
    import statsmodels.api as sm

    data = load_breast_cancer()[["diagnosis", "radius_mean", "texture_mean", "smoothness_mean", "area_mean"]]
    fit = lda("diagnosis ~ .", data)
    second = (data["diagnosis"] == fit.classes[1]).astype(float)
    expected = sm.OLS(second, sm.add_constant(data.iloc[:, 1:])).fit()
    got = fit.partial_tests()
    np.testing.assert_allclose(got["t"], expected.tvalues.iloc[1:], rtol=1e-8)
    np.testing.assert_allclose(got["p"], expected.pvalues.iloc[1:], rtol=1e-6)
    assert got["df2"].iloc[0] == expected.df_resid


def test_one_column_agrees_with_analysis_of_variance():
    fit = lda("cultivar ~ hue", WINE)
    row = fit.anova().iloc[0]
    groups = [g["hue"].to_numpy() for _, g in WINE.groupby("cultivar")]
    expected = stats.f_oneway(*groups)
    np.testing.assert_allclose(fit.manova()["F"], expected.statistic, rtol=1e-10)
    np.testing.assert_allclose([row["F"], fit.partial_tests()["F"].iloc[0]], expected.statistic, rtol=1e-10)
    np.testing.assert_allclose(fit.manova()["p"], expected.pvalue, rtol=1e-8)
    levene = stats.levene(*groups, center="mean")
    np.testing.assert_allclose(
        [row["levene_F"], row["levene_p"]], [levene.statistic, levene.pvalue], rtol=1e-10
    )


def test_wilks_and_partial_wilks_agree_with_ratios_of_determinants():
    fit = lda("cultivar ~ .", WINE)
    x, codes = WINE[fit.terms].to_numpy(), WINE["cultivar"].factorize(sort=True)[0]
    deviations = x - np.stack([x[codes == k].mean(axis=0) for k in range(3)])[codes]
    within, total_deviations = deviations.T @ deviations, x - x.mean(axis=0)
    total = total_deviations.T @ total_deviations

    def log_lambda(keep):
        index = np.ix_(keep, keep)
        return np.linalg.slogdet(within[index])[1] - np.linalg.slogdet(total[index])[1]

    everything = np.arange(13)
    assert np.log(fit.manova().loc["Wilks' lambda", "statistic"]) == pytest.approx(
        log_lambda(everything), rel=1e-8
    )
    tests = fit.partial_tests()
    for j, term in enumerate(fit.terms):
        step = log_lambda(everything) - log_lambda(np.delete(everything, j))
        assert tests.loc[term, "partial_wilks"] == pytest.approx(np.exp(step), rel=1e-7)
        others = np.delete(everything, j)
        beta = np.linalg.solve(within[np.ix_(others, others)], within[others, j])
        expected = 1 - within[others, j] @ beta / within[j, j]
        assert tests.loc[term, "tolerance"] == pytest.approx(expected, rel=1e-6)


def test_partial_tests_keep_their_precision_for_distant_classes():
    import mpmath as mp

    # Two columns in sixteenths, so that every sum is exact; the means are 1e6 standard deviations apart.
    rng = np.random.default_rng(0)
    x = np.round(16 * rng.standard_normal((24, 3))) / 16
    x[12:, :2] += [2.0**20, 2.0**21]
    data = pd.DataFrame(x, columns=list("abc")).assign(y=np.repeat([0, 1], 12))
    got = lda("y ~ .", data).partial_tests()
    mp.mp.dps = 60
    rows = mp.matrix(x.tolist())

    def scatter(parts):
        total = mp.zeros(3)
        for block in parts:
            mean = [sum(rows[i, j] for i in block) / len(block) for j in range(3)]
            for i in block:
                gap = mp.matrix([[rows[i, j] - mean[j] for j in range(3)]])
                total += gap.T * gap
        return total

    within, total = scatter([range(12), range(12, 24)]) ** -1, scatter([range(24)]) ** -1
    for j, term in enumerate("abc"):
        ratio = total[j, j] / within[j, j]
        expected = float((1 / ratio - 1) * 20)
        assert got.loc[term, "F"] == pytest.approx(expected, rel=1e-11)
        assert got.loc[term, "partial_wilks"] == pytest.approx(float(ratio), rel=1e-11)


def test_tables_of_means_keep_their_precision_far_from_zero():
    shifted = WINE.assign(**{c: WINE[c] + 2.0**30 for c in WINE.columns if c != "cultivar"})
    restored = shifted.assign(**{c: shifted[c] - 2.0**30 for c in WINE.columns if c != "cultivar"})
    for ask in (
        lambda f: f.canonical().raw,
        lambda f: f.canonical().structure("total"),
        lambda f: f.partial_tests(),
        lambda f: f.distances(),
        lambda f: f.anova(),
        lambda f: f.manova().drop(columns="F_is"),
    ):
        a, b = (ask(lda("cultivar ~ .", data)) for data in (shifted, restored))
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * np.abs(b.to_numpy()).max())


@pytest.mark.slow
def test_adjusted_p_values_agree_with_multipletests():
    from statsmodels.stats.multitest import multipletests

    fit = lda("species ~ .", IRIS)
    table = fit.anova(adjust="holm")
    np.testing.assert_allclose(table["p_adjusted"], multipletests(table["p"], method="holm")[1])
    np.testing.assert_allclose(table["levene_p_adjusted"], multipletests(table["levene_p"], method="holm")[1])
    assert "p_adjusted" not in fit.anova(levene=None)
    with pytest.raises(DataError) as caught:
        fit.anova(adjust="nosuch")
    assert "adjust='nosuch'" in str(caught.value)


def test_generalized_distances_are_the_scores_of_the_means():
    for fit in (lda("species ~ .", IRIS, prior=[0.2, 0.3, 0.5]), qda("species ~ .", IRIS)):
        got = fit.generalized_distances()
        scores = fit._fit.rule(fit.prior.to_numpy()).scores(fit.means.to_numpy())
        # Scores are -1/2 of the generalized distances, up to a constant of the row.
        gap = got.to_numpy() + 2 * scores
        np.testing.assert_allclose(gap, gap[:, [0]] * np.ones(3), rtol=1e-10, atol=1e-9)
    equal = qda("species ~ .", IRIS)
    np.testing.assert_allclose(np.diag(equal.generalized_distances()), equal.logdet, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(20, 20, 20), (9, 6, 12, 7)])
def test_p_values_of_the_means_are_uniform_under_the_hypothesis(sizes):
    p_values: dict[str, list[float]] = {}
    for seed in range(120):
        fit = lda("y ~ .", normal_groups(seed, sizes, 3))
        for label, p in fit.manova()["p"].items():
            p_values.setdefault(label, []).append(p)
        p_values.setdefault("pair", []).append(fit.distances()["p"].iloc[0])
        p_values.setdefault("partial", []).append(fit.partial_tests()["p"].iloc[1])
    bound = p_values.pop("Roy's greatest root")
    assert np.mean(np.array(bound) < 0.05) > 0.1
    for label, values in p_values.items():
        assert stats.kstest(values, "uniform").pvalue > 0.001, label


def test_stability_of_axes():
    table = lda("species ~ .", IRIS).canonical().stability(99, seed=0)
    assert (table["low"] < table["eigenvalue"] * 1.1).all()
    assert table.loc["LD1", "cosine"] > 0.98
    assert ((table["cosine_low"] <= table["cosine"]) & (table["cosine"] <= 1 + 1e-12)).all()
    assert table.loc["LD1", "same_rank"] == 1
    scaled = IRIS.assign(sepal_width=1e-9 * IRIS["sepal_width"])
    other = lda("species ~ .", scaled).canonical().stability(99, seed=0)
    np.testing.assert_allclose(other, table, rtol=1e-8)
    nothing = normal_groups(5, (15, 15, 15, 15), 4)
    loose = lda("y ~ .", nothing).canonical().stability(99, seed=0)
    assert loose["same_rank"].iloc[0] < 0.95


def test_canonical_variates_do_not_depend_on_the_prior():
    default_fit, prior_fit = (lda("cultivar ~ .", WINE, prior=p).canonical() for p in (None, [0.1, 0.1, 0.8]))
    pd.testing.assert_frame_equal(default_fit.raw, prior_fit.raw)
    fit = lda("cultivar ~ .", WINE)
    np.testing.assert_allclose(fit.transform(), fit.canonical().scores(), rtol=1e-9, atol=1e-9)
    mle = lda("cultivar ~ .", WINE, method="mle").canonical()
    np.testing.assert_allclose(mle.raw, default_fit.raw, rtol=1e-12)


# ------------------------------------------------------------------ log odds


@pytest.mark.parametrize(("n0", "n1"), [(60, 90)])
def test_standard_errors_of_log_odds_by_simulation(n0, n1):
    # The reference notes: true variances lie 7 to 10 percent above the asymptotic ones at these sizes.
    rng, p, size = np.random.default_rng(1), 3, 20_000
    gap = np.array([1.0, 0.5, 0.0])
    noise = rng.standard_normal((2, size, p)) / np.sqrt([n0, n1])[:, None, None]
    means = noise + np.stack([np.zeros(p), gap])[:, None]
    roots = np.tril(rng.standard_normal((size, p, p)), -1)
    nu = n0 + n1 - 2
    roots[:, range(p), range(p)] = np.sqrt(rng.chisquare(nu - np.arange(p), (size, p)))
    within = roots @ np.swapaxes(roots, 1, 2) / nu
    slopes = np.linalg.solve(within, (means[1] - means[0])[..., None])[..., 0]
    sampled_counts = rng.binomial(n0 + n1, n1 / (n0 + n1), size)
    constants = np.log(sampled_counts / (n0 + n1 - sampled_counts)) - (slopes * means.mean(axis=0)).sum(
        axis=1
    )
    x = np.concatenate([exact_rows(n0, np.zeros(p)), exact_rows(n1, gap)])
    data = pd.DataFrame(x, columns=list("abc")).assign(y=np.repeat([0, 1], [n0, n1]))
    # Rows with these means and unit pooled covariance exactly: the formula at the truth.
    got = lda("y ~ .", data).log_odds()["se"].to_numpy()
    ratio = np.array([constants.std(), *slopes.std(axis=0)]) / got
    assert ((ratio > 1.02) & (ratio < 1.07)).all()


def exact_rows(n: int, mean: np.ndarray) -> np.ndarray:
    """Rows with this mean and unit covariance (divisor n - 1), to rounding."""
    x = np.random.default_rng(n).standard_normal((n, len(mean)))
    x -= x.mean(axis=0)
    return x @ np.linalg.inv(np.linalg.cholesky(np.cov(x.T)).T) + mean


# ------------------------------------------------------------------ equal covariances


def test_lr_test_has_every_reference_distribution():
    fits, fits_and_tests = (
        (lda("species ~ .", IRIS), qda("species ~ .", IRIS)),
        {"bootstrap": 199, "permutations": 199},
    )
    result = lr_test(*fits, **fits_and_tests, seed=3)
    assert result.table.index.tolist() == [
        "Likelihood ratio",
        "Box's M, chi-square",
        "Box's M, F",
        "Likelihood ratio, parametric bootstrap",
        "Likelihood ratio, permutation",
    ]
    assert result.table["p"].iloc[3:].tolist() == [1 / 200, 1 / 200]
    again = lr_test(*fits, **fits_and_tests, seed=3)
    pd.testing.assert_frame_equal(result.table, again.table)


def likelihood_ratios(groups: list[np.ndarray]) -> np.ndarray:
    """Return N ln|S| - sum n_k ln|S_k| of samples (m, n_k, p), with S and S_k of divisors N and n_k."""
    deviations = [x - x.mean(axis=1, keepdims=True) for x in groups]
    scatters = [x.swapaxes(1, 2) @ x for x in deviations]
    n = sum(x.shape[1] for x in groups)
    own = [x.shape[1] * np.linalg.slogdet(s / x.shape[1])[1] for x, s in zip(groups, scatters, strict=True)]
    return n * np.linalg.slogdet(sum(scatters) / n)[1] - sum(own)


@pytest.mark.parametrize("sizes", [(7, 9, 30), (60, 60)])
def test_the_bootstrap_draws_the_distribution_of_the_ratio(sizes):
    data = normal_groups(0, sizes, 3)
    own = [group.drop(columns="y").to_numpy()[None] for _, group in data.groupby("y")]
    ratio = lr_test(*(verb("y ~ .", data, method="mle") for verb in (lda, qda))).statistic
    assert ratio == pytest.approx(likelihood_ratios(own)[0], rel=1e-9)
    rng = np.random.default_rng(1)
    actual = likelihood_ratios([rng.standard_normal((1500, n, 3)) for n in sizes])
    ratios = bootstrap_likelihood_ratios(np.array(sizes, dtype=float), 3, 1500, 2)
    assert stats.ks_2samp(ratios, actual).pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("way", ["bootstrap", "permutations"])
def test_resampled_p_values_are_uniform_unlike_chi_square_p_values(way):
    p_values, raw = [], []
    for seed in range(100):
        data = normal_groups(seed, (10, 12, 14), 3)
        result = lr_test(lda("y ~ .", data), qda("y ~ .", data), seed=seed, **{way: 99})
        p_values.append(result.table["p"].iloc[-1])
        raw.append(result.pvalue)
    assert np.mean(np.array(raw) < 0.05) > 0.15
    assert stats.kstest(np.array(p_values) - 0.005, "uniform").pvalue > 0.005


def test_invalid_replicates_are_refused():
    linear, quadratic = lda("species ~ .", IRIS), qda("species ~ .", IRIS)
    with pytest.raises(DataError) as caught:
        lr_test(linear, quadratic, bootstrap=-1)
    assert "parametric" in str(caught.value)
    assert "replicates" in str(caught.value)
    with pytest.raises(DataError) as caught:
        lr_test(linear, quadratic, bootstrap=True)
    assert "parametric" in str(caught.value)
    assert "replicates" in str(caught.value)
    resampled = lr_test(linear, quadratic, bootstrap=np.int64(9), seed=1).table
    pd.testing.assert_frame_equal(resampled, lr_test(linear, quadratic, bootstrap=9, seed=1).table)
    diagonal = {"covariance": "diagonal"}
    with pytest.raises(NotSupportedError) as caught:
        lr_test(lda("species ~ .", IRIS, **diagonal), qda("species ~ .", IRIS, **diagonal), bootstrap=9)
    assert "full covariance matrices" in str(caught.value)
    half = IRIS.assign(w=0.5)
    with pytest.warns(WeightsWarning):
        pair = [verb("species ~ .", half, weights="w") for verb in (lda, qda)]
    with pytest.raises(NotSupportedError) as caught:
        lr_test(*pair, permutations=9)
    assert "whole" in str(caught.value)
    assert "numbers" in str(caught.value)


def test_permuted_weights_equal_repeated_rows():
    weights = 1 + np.arange(150) % 2
    repeated = IRIS.loc[IRIS.index.repeat(weights)]
    weighted = [verb("species ~ .", IRIS, weights=weights) for verb in (lda, qda)]
    written = [verb("species ~ .", repeated) for verb in (lda, qda)]
    a, b = (lr_test(*fits, permutations=49, seed=0).table for fits in (weighted, written))
    np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("nu", "p"), [(9.0, 1), (9.0, 2), (9.0, 8), (49.0, 4), (300.0, 40)])
def test_quantiles_of_log_determinants_by_simulation(nu, p):
    rng = np.random.default_rng(0)
    log_ratios = np.log(rng.chisquare(nu - np.arange(p), (200_000, p))).sum(axis=1) - p * np.log(nu)
    for probability in (0.025, 0.1, 0.9, 0.975):
        assert (log_ratios < log_determinant_quantile(probability, nu, p)).mean() == pytest.approx(
            probability, abs=0.003
        )


def test_log_determinants_subtract_their_bias():
    table = qda("species ~ .", IRIS).log_determinants()
    assert ((table["low"] < table["debiased"]) & (table["debiased"] < table["high"])).all()
    assert (table["debiased"] > table["logdet"]).all()
    assert table.index[-1] == "pooled"


# ------------------------------------------------------------------ the ladder


def arrays(data: pd.DataFrame, response: str) -> tuple[np.ndarray, np.ndarray]:
    groups = [g.drop(columns=response).to_numpy() for _, g in data.groupby(response)]
    return np.stack([np.cov(g.T, ddof=0) for g in groups]), np.array([float(len(g)) for g in groups])


def fit_loss(covariances: np.ndarray, counts: np.ndarray, models: list[np.ndarray]) -> float:
    """Sum n_k (ln|Sigma_k| + tr Sigma_k^-1 S_k)."""
    return sum(
        n * (np.linalg.slogdet(m)[1] + np.trace(np.linalg.solve(m, s)))
        for n, m, s in zip(counts, models, covariances, strict=True)
    )


def test_the_hierarchy_begins_with_lda_and_ends_with_qda():
    table = covariance_models("species ~ .", IRIS)
    linear, quadratic = lda("species ~ .", IRIS), qda("species ~ .", IRIS)
    for name, fit in (("common", linear), ("free", quadratic)):
        row = table.loc[name, ["df", "llf", "aic", "bic"]]
        np.testing.assert_allclose(row, [fit.df_model, fit.llf, fit.aic, fit.bic], rtol=1e-12)
    ratio = lr_test(linear, quadratic)
    np.testing.assert_allclose(
        table.loc["common", ["LR_free", "LR_free_df", "p_free"]], [ratio.statistic, 20, ratio.pvalue]
    )
    np.testing.assert_allclose(
        table["LR"].iloc[:-1][::-1].cumsum()[::-1], table["LR_free"].iloc[:-1], rtol=1e-12
    )
    assert (np.diff(table["llf"]) > 0).all()
    diagonal = lda("species ~ .", IRIS, covariance="diagonal")
    assert table.loc["diagonal", "llf"] == pytest.approx(diagonal.llf, rel=1e-12)
    pd.testing.assert_frame_equal(quadratic.covariance_models(), table)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_covariances_without_common_axes_get_the_best_components(seed):
    """Many local maxima: none of a search from other axes at random may be higher."""
    rng = np.random.default_rng(1000 + seed)
    p, k = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    counts = rng.integers(p + 2, 60, k).astype(float)
    mixes = [rng.standard_normal((p, p)) * 10 ** rng.uniform(-1, 1, p)[:, None] for _ in range(k)]
    covariances = np.stack(
        [np.cov((rng.standard_normal((int(n), p)) @ m).T) for n, m in zip(counts, mixes, strict=True)]
    )
    variances = fit_common_components(np.linalg.cholesky(covariances).swapaxes(1, 2), counts)[1]
    ours = counts @ np.log(variances).sum(axis=1)
    upper = np.triu_indices(p, 1)

    def depth(theta, base):
        skew = np.zeros((p, p))
        skew[upper] = theta
        rotated = base @ expm(skew - skew.T)
        return counts @ np.log(np.einsum("ij,kil,lj->kj", rotated, covariances, rotated)).sum(axis=1)

    for _ in range(5):
        base = np.linalg.qr(rng.standard_normal((p, p)))[0]
        found = optimize.minimize(depth, np.zeros(len(upper[0])), args=(base,), method="BFGS").fun
        assert ours <= found + 1e-6
    factors, shape = fit_proportional(covariances, counts)
    nested = counts @ (p * np.log(factors)) + counts.sum() * np.linalg.slogdet(shape)[1]
    free = counts @ np.linalg.slogdet(covariances)[1]
    assert free - 1e-8 <= ours <= nested + 1e-8


@pytest.mark.parametrize(
    ("data", "response"), [(IRIS, "species"), (WINE[["cultivar", "hue", "ash", "alcohol"]], "cultivar")]
)
def test_proportional_and_common_components_by_brute_force(data, response):
    covariances, counts = arrays(data, response)
    p, k = covariances.shape[1], len(counts)
    factors, shape = fit_proportional(covariances, counts)
    ours = fit_loss(covariances, counts, [c * shape for c in factors])

    def spread(theta):
        root = np.zeros((p, p))
        root[np.tril_indices(p)] = theta[k - 1 :]
        scale = np.exp(np.append(0.0, theta[: k - 1]))
        return fit_loss(covariances, counts, [c * (root @ root.T) for c in scale])

    start = np.append(np.zeros(k - 1), np.linalg.cholesky(covariances.mean(axis=0))[np.tril_indices(p)])
    brute = optimize.minimize(spread, start, method="BFGS", options={"gtol": 1e-7}).fun
    assert ours == pytest.approx(brute, rel=1e-8)

    turn, variances = fit_common_components(np.linalg.cholesky(covariances).swapaxes(1, 2), counts)
    ours = counts @ np.log(variances).sum(axis=1)
    np.testing.assert_allclose(turn.T @ turn, np.eye(p), atol=1e-13)
    upper = np.triu_indices(p, 1)

    def mixed(theta, base):
        skew = np.zeros((p, p))
        skew[upper] = theta
        rotated = base @ expm(skew - skew.T)
        return counts @ np.log(np.einsum("ij,kil,lj->kj", rotated, covariances, rotated)).sum(axis=1)

    rng, best = np.random.default_rng(0), np.inf
    for _ in range(4):
        base = np.linalg.qr(rng.standard_normal((p, p)))[0]
        best = min(
            best, optimize.minimize(mixed, np.zeros(len(upper[0])), (base,), options={"gtol": 1e-8}).fun
        )
    assert ours <= best + 1e-6


def test_data_of_the_form_of_a_model_have_a_ratio_of_zero():
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    counts = np.array([30.0, 40.0, 25.0])

    def table(covariances):
        roots = np.stack([np.linalg.cholesky(s * n).T for s, n in zip(covariances, counts, strict=True)])
        zero = np.zeros((3, 4))
        scatters = np.swapaxes(roots, 1, 2) @ roots
        moments = ClassMoments(counts, counts.astype(int), zero, zero, np.ones(4), scatters, roots)
        return covariance_hierarchy(moments, counts / counts.sum(), estimated_prior=True)["LR_free"]

    shape = turn @ np.diag([4.0, 2.0, 1.0, 0.3]) @ turn.T
    variances = rng.gamma(2.0, 1.0, (3, 4))
    cases = {
        "spherical": [2.0 * np.eye(4)] * 3,
        "diagonal": [np.diag([4.0, 2.0, 1.0, 0.3])] * 3,
        "common": [shape] * 3,
        "proportional": [c * shape for c in (1.0, 3.0, 0.2)],
        "common principal components": [turn @ np.diag(line) @ turn.T for line in variances],
    }
    for name, covariances in cases.items():
        ratios = table(covariances)
        assert (np.abs(ratios.loc[name:].iloc[:-1]) < 1e-7).all()
        before = ratios.loc[:name].iloc[:-1]
        assert (before > 1).all()


def test_units_change_only_the_spherical_model():
    table = covariance_models("species ~ .", IRIS)
    rescaled = IRIS.assign(sepal_length=1e3 * IRIS["sepal_length"], petal_width=1e-2 * IRIS["petal_width"])
    ratio_changes = covariance_models("species ~ .", rescaled)["LR_free"] - table["LR_free"]
    np.testing.assert_allclose(ratio_changes[["diagonal", "common", "proportional"]], 0, atol=1e-7)
    assert (ratio_changes[["spherical", "common principal components"]].abs() > 1).all()
    same = covariance_models("species ~ .", IRIS.assign(**{c: 1e-9 * IRIS[c] for c in IRIS.columns[:4]}))
    np.testing.assert_allclose(same["LR_free"].iloc[:-1], table["LR_free"].iloc[:-1], rtol=1e-8)


# ------------------------------------------------------------------ Hausman


@pytest.mark.slow
def test_hausman_accepts_a_statsmodels_fit_and_keeps_its_size():
    import statsmodels.api as sm

    p_values = []
    for seed in range(60):
        data = normal_groups(seed, (150, 150), 2, np.array([[0.0, 0.0], [1.0, 0.5]]))
        logit = sm.Logit(data["y"], sm.add_constant(data[["x0", "x1"]])).fit(disp=0)
        try:
            p_values.append(hausman(lda("y ~ .", data), logit).pvalue)
        except NotSupportedError:
            p_values.append(1.0)
    assert 0.0 <= np.mean(np.array(p_values) < 0.05) < 0.13


def test_hausman_rejects_for_nonnormal_classes():
    import statsmodels.api as sm

    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.exponential(1.0, 2400), "b": rng.exponential(1.0, 2400)})
    data["y"] = np.repeat([0, 1, 2], 800)
    data.loc[data["y"] == 1, "a"] *= 2.5
    data.loc[data["y"] == 2, "b"] *= 3
    logit = sm.MNLogit(data["y"], sm.add_constant(data[["a", "b"]])).fit(disp=0)
    result = hausman(lda("y ~ .", data), logit)
    assert result.pvalue < 1e-3
    assert result.df <= 4
    with pytest.raises(DataError) as caught:
        hausman(lda("y ~ a + b + c", data.assign(c=rng.standard_normal(2400))), logit)
    assert "shape" in str(caught.value)


def test_the_covariance_of_all_slopes_contains_each_class():
    from discrim.inference.log_odds import slope_covariance

    fit = lda("species ~ .", IRIS)
    slopes, cov = slope_covariance(fit._fit.estimates.moments, fit._fit.estimates.covariance, 147, 0)
    table = fit.log_odds().drop("constant", level="term")
    np.testing.assert_allclose(slopes.ravel(), table["coef"], rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), table["se"], rtol=1e-9)
    # Slopes of class 2 against class 1 are differences: their covariance follows from all of them.
    contrast = np.block([[-np.eye(4), np.eye(4)]])
    other = fit.log_odds(reference="versicolor").loc["virginica"].drop("constant")
    np.testing.assert_allclose(np.sqrt(np.diag(contrast @ cov @ contrast.T)), other["se"], rtol=1e-9)


# ------------------------------------------------------------------ verbs and bad input


def test_verbs_accept_formulas_missing_rows_and_weights():
    penguins = load_penguins()
    formula = "species ~ bill_length_mm + bill_depth_mm"
    pd.testing.assert_frame_equal(manova(formula, penguins), lda(formula, penguins).manova())
    weights = 1 + np.arange(len(penguins)) % 3
    repeated = penguins.loc[penguins.index.repeat(weights)]
    for verb in (manova, covariance_models):
        a, b = verb(formula, penguins, weights=weights), verb(formula, repeated)
        np.testing.assert_allclose(*(t.select_dtypes("number") for t in (a, b)), rtol=1e-8)


@pytest.mark.parametrize("verb", [manova, covariance_models])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (IRIS[IRIS["species"] == "setosa"].astype({"species": str}), r"only one class, 'setosa' \(50"),
        (IRIS.assign(twice=2 * IRIS["petal_width"]), "'twice' is a linear combination"),
        (IRIS.assign(code=pd.factorize(IRIS["species"])[0]), "'code' is constant"),
        (IRIS.iloc[[0, 1, 50, 51, 100]], "degrees of freedom|too few for a covariance"),
    ],
)
def test_invalid_tables_are_refused(verb, data, says):
    with pytest.raises(DiscrimError, match=says):
        verb("species ~ .", data)


def test_tests_of_full_covariances_refuse_diagonal_ones():
    fit = lda("species ~ .", IRIS, covariance="diagonal")
    for name in ("canonical", "manova", "partial_tests", "distances"):
        with pytest.raises(NotSupportedError) as caught:
            getattr(fit, name)
        assert 'covariance="pooled"' in str(caught.value)
    assert fit.anova()["F"].iloc[0] == pytest.approx(lda("species ~ .", IRIS).anova()["F"].iloc[0])


def test_a_loaded_fit_supports_tests_without_rows(tmp_path):
    linear, quadratic = lda("species ~ .", IRIS), qda("species ~ .", IRIS)
    linear.save(tmp_path / "l")
    quadratic.save(tmp_path / "q")
    x, q = discrim.load(tmp_path / "l"), discrim.load(tmp_path / "q")
    pd.testing.assert_frame_equal(x.canonical().raw, linear.canonical().raw)
    pd.testing.assert_frame_equal(x.manova(), linear.manova())
    pd.testing.assert_frame_equal(q.log_determinants(), quadratic.log_determinants())
    assert q.box_m().statistic == pytest.approx(140.943050, abs=1e-6)
    assert lr_test(x, q, bootstrap=19, seed=0).statistic == pytest.approx(149.656377, abs=1e-6)
    for ask in (
        x.anova,
        lambda: x.box_m(),
        lambda: lr_test(x, q, permutations=9),
        lambda: x.canonical().stability(),
    ):
        with pytest.raises(NotSupportedError) as caught:
            ask()
        assert "requires the rows of the fit" in str(caught.value)


def test_identical_classes_are_reported_without_division():
    same = pd.concat([IRIS.iloc[:50].assign(species=k) for k in "ab"])
    fit = lda("species ~ .", same)
    canonical = fit.canonical()
    assert len(canonical.eigenvalues) == 0
    assert "The class means are equal" in canonical.summary().as_text()
    assert fit.manova().loc["Wilks' lambda", "p"] == pytest.approx(1)
    assert fit.distances()["D2"].iloc[0] == pytest.approx(0, abs=1e-20)
    assert (fit.partial_tests()["F"] == 0).all()
    with pytest.raises(CollinearError):
        manova("species ~ .", same.assign(copy=same["petal_width"]))


@pytest.mark.filterwarnings("ignore::discrim.errors.PrecisionWarning")
def test_columns_of_extremely_different_units_have_no_common_components():
    apart = IRIS.assign(sepal_length=1e150 * IRIS["sepal_length"], petal_width=1e-150 * IRIS["petal_width"])
    table = covariance_models("species ~ .", apart)
    plain = covariance_models("species ~ .", IRIS)
    assert (
        table.loc["common principal components", ["llf", "aic", "LR", "p", "LR_free", "p_free"]].isna().all()
    )
    invariant_models = ["diagonal", "common", "proportional"]
    np.testing.assert_allclose(
        table.loc[invariant_models, "LR_free"], plain.loc[invariant_models, "LR_free"], rtol=1e-9
    )


def test_rows_are_named_by_their_index():
    small_table = IRIS.groupby("species", observed=True).head(6)
    with pytest.warns(discrim.errors.MissingPredictionWarning):
        qda("species ~ .", small_table).leave_one_out()


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
@pytest.mark.slow
def test_compare_distinguishes_fits_of_one_model():
    fits = lda("species ~ .", IRIS), qda("species ~ .", IRIS), lda("species ~ .", IRIS, covariance="diagonal")
    assert discrim.compare(*fits).index.tolist() == ["LDA (1)", "QDA", "LDA (3)"]
    assert discrim.compare(*fits[:2]).index.tolist() == ["LDA", "QDA"]
    with_logit = discrim.compare(fits[0], discrim.logistic("species ~ .", IRIS, bias_reduction=True))
    assert with_logit["likelihood"].tolist() == ["class and row", "class given row"]


@pytest.mark.parametrize("seed", range(8))
def test_box_m_agrees_with_statsmodels(seed):
    rng = np.random.default_rng(seed)
    k, p = 2 + seed % 3, 1 + seed % 4
    counts = rng.integers(p + 2, 60, k)
    covariances = [np.atleast_2d(np.cov(rng.standard_normal((n, p)).T)) for n in counts]
    ours = box_m_test(np.array(covariances), counts.astype(float)).table
    theirs = cov_oneway(covariances, counts)
    assert ours.loc["Box's M", "statistic"] == pytest.approx(theirs.statistic_base, rel=1e-10)
    chi2 = ours.loc["Box's M, chi-square"]
    assert (chi2["statistic"], chi2["p"]) == pytest.approx(
        (theirs.statistic_chi2, theirs.pvalue_chi2), rel=1e-9
    )
    assert ours.loc["Box's M, F", ["df", "df2"]].tolist() == pytest.approx(theirs.df_f)


@pytest.mark.parametrize("zero", ["setosa", "versicolor", "virginica"])
def test_odds_with_a_prior_of_zero_have_no_standard_error(zero):
    prior = {name: 0.0 if name == zero else 0.5 for name in ("setosa", "versicolor", "virginica")}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = lda("species ~ petal_length", load_iris(), prior=prior)
        want = lda("species ~ petal_length", load_iris(), prior="equal").log_odds()
        table = fit.log_odds()
        text = fit.summary().as_text()
    slopes = pd.IndexSlice[:, "petal_length"]
    pd.testing.assert_frame_equal(table.loc[slopes, :], want.loc[slopes, :])
    for name in table.index.get_level_values("class").unique():
        row, expected_row = table.loc[(name, "constant")], want.loc[(name, "constant")]
        if zero in (name, "setosa"):
            limit = np.inf if zero == "setosa" else -np.inf
            assert row[["coef", "low", "high"]].tolist() == [limit] * 3
            assert row[["se", "z", "p"]].isna().all()
        else:
            pd.testing.assert_series_equal(row, expected_row)
    assert f"constant is not finite for '{zero}', whose prior is zero" in text
    alone = lda("species ~ petal_length", load_iris(), prior={"virginica": 1.0, "setosa": 0, "versicolor": 0})
    assert alone.log_odds().loc[("versicolor", "constant")].isna().all()


def test_one_dimension_of_two_groups_agrees_with_student_t():
    for n in (3, 4, 9):
        x = np.random.default_rng(n).standard_normal(n)
        first = np.arange(n) % 2 == 0
        t = stats.ttest_ind(x[first], x[~first])
        row = dimension_table(np.array([t.statistic**2 / (n - 2)]), 1, 2, float(n)).loc[0]
        assert row[["F", "df1", "df2", "p"]].tolist() == pytest.approx([t.statistic**2, 1, n - 2, t.pvalue])


def test_hausman_compares_directions_in_which_the_robust_estimate_is_less_precise():
    robust, gap = np.diag([4.0, 9.0, 1.0]), np.array([1.0, -2.0, 5.0])
    result = hausman_test(gap, np.diag([3.0, 7.0, 2.0]), np.zeros(3), robust)
    assert result.statistic == pytest.approx(1 / 1 + 4 / 2)
    assert result.df == 2.0
    assert result.pvalue == pytest.approx(stats.chi2.sf(3, 2))
    for covariance in (robust, 2 * robust):
        with pytest.raises(NotSupportedError) as caught:
            hausman_test(gap, covariance, np.zeros(3), robust)
        assert "box_m()" in str(caught.value.hint)
