"""Error rates, folds and single rows: against explicit refits, definitions and simulation."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim import lda, qda
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import DataError, NotSupportedError
from discrim.inference.parametric_errors import two_class_errors
from discrim.models.discriminant.lda import LDASpec
from discrim.models.evaluation.validation import BootstrapSamples, assign_folds, fold_scores

IRIS = load_iris()
BOTH = pytest.mark.parametrize("verb", [lda, qda])
COSTS = pd.DataFrame(
    [[0.0, 1.0, 5.0], [2.0, 0.0, 1.0], [1.0, 8.0, 0.0]],
    index=["setosa", "versicolor", "virginica"],
    columns=["setosa", "versicolor", "virginica"],
)


def two_groups(seed: int, n: tuple[int, int], gap: float, p: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((sum(n), p))
    x[: n[0], 0] += gap
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=np.repeat(["a", "b"], n))


# ------------------------------------------------------------------ folds


@BOTH
@pytest.mark.parametrize(
    "options", [{}, {"method": "mle"}, {"covariance": "diagonal"}, {"prior": [0.2, 0.5, 0.3]}]
)
def test_folds_equal_explicit_refits_without_them(verb, options):
    fit = verb("species ~ .", IRIS, **options)
    fold_ids = assign_folds(fit._fit, 3, 3)
    held = options | {"prior": fit.prior}
    labels = pd.Series(index=IRIS.index, dtype=object)
    for fold in range(3):
        refit = verb("species ~ .", IRIS[fold_ids != fold], **held)
        labels[fold_ids == fold] = refit.predict(IRIS[fold_ids == fold]).astype(object)
    expected = pd.crosstab(IRIS["species"].astype(object), labels)
    assert (fit.confusion(method="cv", folds=3, seed=3).to_numpy() == expected.to_numpy()).all()


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_merged_folds_keep_the_digits_of_a_refit(many, offset, short_blocks):
    if many:
        short_blocks()
    data = IRIS.assign(**{c: IRIS[c] + offset for c in IRIS.columns[:4]})
    fit = lda("species ~ .", data)
    classification = fit.assess(method="cv", folds=5, seed=1).classification()
    fold_ids = assign_folds(fit._fit, 5, 1)
    for fold in range(5):
        refit = lda("species ~ .", data[fold_ids != fold], prior=fit.prior)
        ours = np.log(classification._proba[fold_ids == fold])
        np.testing.assert_allclose(
            ours, refit.predict_log_proba(data[fold_ids == fold]), rtol=1e-8, atol=1e-8
        )


def test_as_many_folds_as_rows_is_leave_one_out():
    fit = lda("species ~ .", IRIS)
    cv = fit.confusion(method="cv", folds=len(IRIS), seed=0)
    pd.testing.assert_frame_equal(cv, fit.confusion(method="loo"))


def test_folds_are_stratified_and_reproducible_by_seed():
    fit_lda = lda("species ~ . - year", load_penguins())
    missing = load_penguins().isna().any(axis=1)
    assert (np.flatnonzero(assign_folds(fit_lda._fit, 10, 4) < 0) == np.flatnonzero(missing)).all()
    fit = lda("species ~ . - year", load_penguins()[~missing])
    fold_ids = assign_folds(fit._fit, 10, 4)
    for codes in range(3):
        rows = np.bincount(fold_ids[(fit._fit.design_rows.codes == codes) & (fold_ids >= 0)])
        assert rows.max() - rows.min() <= 1
    assert (assign_folds(fit._fit, 10, 4) == fold_ids).all()
    assert (assign_folds(fit._fit, 10, 5) != fold_ids).any()


class _LDAOfRows(LDASpec):
    def required_moments(self, fit):
        return None


def test_folds_refit_models_that_are_not_functions_of_moments():
    fit = lda("species ~ .", IRIS)
    from_moments = fit.confusion(method="cv", seed=2)
    by_rows = replace(fit._fit, spec=_LDAOfRows())
    confusion_matrix = discrim.LDAResults(by_rows).confusion(method="cv", seed=2)
    pd.testing.assert_frame_equal(confusion_matrix, from_moments)


def test_folds_support_ncomp_without_closed_form_leave_one_out():
    fit = lda("cultivar ~ .", load_wine(), ncomp=1)
    fold_ids = assign_folds(fit._fit, 5, 0)
    wrong = 0
    for fold in range(5):
        refit = lda("cultivar ~ .", load_wine()[fold_ids != fold], ncomp=1, prior=fit.prior)
        wrong += (
            refit.predict(load_wine()[fold_ids == fold]) != load_wine()["cultivar"][fold_ids == fold]
        ).sum()
    assert fit.error_rates(["cv"], folds=5, seed=0)["wrong"].iloc[0] == wrong


# ------------------------------------------------------------------ one table


@BOTH
def test_specified_priors_weight_the_class_errors(verb):
    prior = [0.5, 0.3, 0.2]
    fit = verb("species ~ .", IRIS, prior=prior)
    rates = fit.error_rates(["apparent", "loo", "cv"], seed=0, by_class=True)
    for method in rates.index:
        counts = fit.confusion(method=method, seed=0).to_numpy()
        by_class = 1 - np.diag(counts) / counts.sum(axis=1)
        np.testing.assert_allclose(rates.loc[method, list(fit.classes)].astype(float), by_class)
        assert rates.loc[method, "estimate"] == pytest.approx(float(by_class @ prior))
        spread = np.array(prior) ** 2 @ (by_class * (1 - by_class) / counts.sum(axis=1))
        assert rates.loc[method, "se"] == pytest.approx(np.sqrt(spread))
        assert rates.loc[method, "low"] < rates.loc[method, "estimate"] < rates.loc[method, "high"]


def test_unweighted_counts_have_clopper_and_pearson_s_interval():
    row = lda("species ~ .", IRIS).error_rates(["loo"]).loc["loo"]
    interval = stats.binomtest(3, 150).proportion_ci(method="exact")
    assert (row["low"], row["high"]) == pytest.approx((interval.low, interval.high))
    assert row["se"] == pytest.approx(np.sqrt(0.02 * 0.98 / 150))


@BOTH
def test_costs_choose_the_label_of_least_expected_cost_and_rates_are_mean_costs(verb):
    fit = verb("species ~ .", IRIS)
    expected = fit.predict_proba() @ COSTS.to_numpy()
    wanted = fit.classes[np.argmin(expected.to_numpy(), axis=1)]
    labels = fit.predict(costs=COSTS)
    assert (labels.to_numpy() == wanted.to_numpy()).all()
    mean = np.mean([COSTS.loc[a, b] for a, b in zip(IRIS["species"], labels, strict=True)])
    assert fit.error_rates(["apparent"], costs=COSTS)["estimate"].iloc[0] == pytest.approx(mean)
    shuffled = COSTS.loc[::-1, ["virginica", "setosa", "versicolor"]]
    pd.testing.assert_series_equal(fit.predict(costs=shuffled), labels)
    pd.testing.assert_series_equal(fit.predict(costs=COSTS.to_numpy()), labels)


def test_rejecting_is_cheaper_than_a_doubtful_label_and_outliers_are_unknown():
    fit = lda("species ~ .", IRIS)
    best = fit.predict_proba().max(axis=1)
    labels = fit.predict(reject=0.1)
    assert ((labels == "rejected") == (1 - best > 0.1)).all()
    far = IRIS.iloc[[0, 60]].assign(petal_width=[50.0, 1.5])
    assert fit.predict(far, outlier=1e-6).tolist() == ["unknown", "versicolor"]
    assert fit.predict(far).tolist()[1] == "versicolor"
    renamed = IRIS.assign(species=IRIS["species"].replace("setosa", "unknown"))
    with pytest.raises(DataError) as caught:
        lda("species ~ .", renamed).predict(outlier=0.05)
    assert "Rename" in str(caught.value)


@BOTH
@pytest.mark.parametrize("prior", [None, [0.2, 0.5, 0.3]])
def test_posterior_based_rates_are_sas_s_formulas(verb, prior):
    fit = verb("species ~ .", IRIS, prior=prior)
    proba, actual = fit.predict_proba().to_numpy(), fit._fit.design_rows.codes
    called, q, n = proba.argmax(axis=1), fit.prior.to_numpy(), np.bincount(actual)
    plain, stratified = np.empty(3), np.empty(3)
    for t in range(3):
        plain[t] = 1 - proba[called == t, t].sum() / (len(proba) * q[t])
        total = sum(q[u] / n[u] * proba[(called == t) & (actual == u), t].sum() for u in range(3))
        stratified[t] = 1 - total / q[t]
    got = fit.error_rates(["posterior", "posterior-stratified"], by_class=True)
    np.testing.assert_allclose(got.loc["posterior", list(fit.classes)].astype(float), plain, atol=1e-13)
    np.testing.assert_allclose(
        got.loc["posterior-stratified", list(fit.classes)].astype(float), stratified, atol=1e-13
    )
    np.testing.assert_allclose(got["estimate"], [plain @ q, stratified @ q], atol=1e-14)


def test_posterior_based_rates_omit_the_interval_with_a_reason():
    table = lda("species ~ .", IRIS).error_rates(["loo", "posterior", "posterior-stratified"])
    assert table.loc[["posterior", "posterior-stratified"], ["se", "low", "high"]].isna().all(axis=None)
    assert table.loc["loo", ["se", "low", "high"]].notna().all()
    assert table.attrs["note"].startswith("posterior: no interval")
    assert "note" not in lda("species ~ .", IRIS).error_rates().attrs


def test_too_few_632_plus_samples_omit_the_interval_with_a_note():
    """The noise of two samples is of the size of what they show of the variance, and for some seed larger."""
    fit = lda("species ~ .", IRIS)
    few = [fit.error_rates(["632+"], replicates=2, seed=seed) for seed in range(12)]
    none = [table for table in few if np.isnan(table.loc["632+", "se"])]
    assert none
    assert all(table["estimate"].notna().all() for table in few)
    assert all("replicates=" in table.attrs["note"] for table in none)
    many = fit.error_rates(["632+"], replicates=60, seed=1)
    assert many.loc["632+", "se"] > 0
    assert "note" not in many.attrs


def test_upper_limit_of_zero_mean_cost_is_the_highest_cost_of_the_largest_class():
    rows = IRIS[IRIS["species"] != "virginica"].astype({"species": str})
    line = lda("species ~ .", rows).error_rates(data=rows[::4], costs=[[0, 7], [2, 0]]).iloc[0]
    assert line[["estimate", "se", "low"]].tolist() == [0.0, 0.0, 0.0]
    assert line["high"] == pytest.approx(7 * (1 - 0.025 ** (1 / 25)), rel=1e-10)


def test_632_plus_of_classes_far_apart_ends_at_the_exact_limit():
    rows = IRIS[IRIS["species"] != "virginica"].astype({"species": str})
    line = lda("species ~ .", rows).error_rates(["632+"], replicates=40, seed=1).loc["632+"]
    assert line[["estimate", "se", "low"]].tolist() == [0.0, 0.0, 0.0]
    assert line["high"] == pytest.approx(1 - 0.025 ** (1 / 100), rel=1e-10)


def test_632_plus_by_its_definition():
    data = load_wine().iloc[::3].reset_index(drop=True)
    fit = lda("cultivar ~ alcohol + ash + hue", data)
    got = fit.error_rates(["632+"], replicates=20, seed=11).loc["632+", "estimate"]
    rng, codes = np.random.default_rng(11), fit._fit.design_rows.codes
    losses, times = np.zeros(len(data)), np.zeros(len(data))
    for _ in range(20):
        drawn = np.zeros(len(data))
        for k in range(3):
            rows = np.flatnonzero(codes == k)
            drawn[rows] = np.bincount(rng.integers(len(rows), size=len(rows)), minlength=len(rows))
        sample = data.loc[data.index.repeat(drawn.astype(int))]
        refit = lda("cultivar ~ alcohol + ash + hue", sample, prior=fit.prior)
        out = drawn == 0
        losses[out] += (refit.predict(data[out]) != data["cultivar"][out]).to_numpy()
        times[out] += 1
    outside = np.mean(losses[times > 0] / times[times > 0])
    counts = fit.confusion().to_numpy()
    apparent = 1 - np.trace(counts) / counts.sum()
    gamma = 1 - float(counts.sum(axis=1) @ counts.sum(axis=0)) / counts.sum() ** 2
    relative = (min(outside, gamma) - apparent) / (gamma - apparent)
    weight = 0.632 / (1 - 0.368 * relative)
    # Rows weigh by the class shares; here all classes have rows outside some sample.
    assert got == pytest.approx((1 - weight) * apparent + weight * min(outside, gamma), rel=1e-3)


def test_figures_of_a_loaded_fit_take_rows_by_the_argument_that_the_message_names(tmp_path):
    fit = lda("species ~ .", IRIS)
    fit.save(tmp_path / "fit.discrim")
    loaded = discrim.load(tmp_path / "fit.discrim")
    for figures in (loaded.error_rates, loaded.confusion, loaded.assess):
        with pytest.raises(NotSupportedError) as caught:
            figures()
        assert "data=" in str(caught.value)
    assert loaded.error_rates(data=IRIS).loc["new rows", "estimate"] == 3 / 150
    assert loaded.confusion(data=IRIS).to_numpy().sum() == 150


# ------------------------------------------------------------------ the normal model's own


@pytest.mark.parametrize(("shrunk", "expected"), list(product([False, True], repeat=2)))
def test_parametric_rates_of_two_classes(shrunk, expected):
    data = two_groups(3, (40, 25), 2.0, 4)
    fit = lda("y ~ .", data, prior="equal")
    name = ("O" if expected else "D") + ("S" if shrunk else "")
    got = fit.error_rates([name]).loc[name]
    d2 = float(fit.distances()["D2"].iloc[0]) * ((63 - 5) / 63 if shrunk else 1)
    d = np.sqrt(d2)
    wanted = stats.norm.cdf(-d / 2)
    if expected:
        n1, n2, p = 40, 25, 4
        height = stats.norm.pdf(d / 2)
        terms = [
            height / 16 * ((d + 12 * (p - 1) / d) / a + (d - 4 * (p - 1) / d) / b)
            for a, b in ((n1, n2), (n2, n1))
        ]
        wanted += np.mean(terms) + height * (p - 1) * d / 4 / 63
    assert got["estimate"] == pytest.approx(wanted, rel=1e-12)
    assert got["low"] < got["estimate"] < got["high"]


@pytest.mark.parametrize("cut", [0.0, 0.8, -1.2])
def test_the_expected_error_of_an_estimated_rule_by_simulation(cut):
    # The rule is drawn from its sampling distribution; its error under the true law is known exactly.
    gap, n, p, nu = 2.0, np.array([60.0, 40.0]), 4, 98
    rng, size = np.random.default_rng(5), 40_000
    mu = np.zeros((2, p))
    mu[0, 0] = gap
    means = mu + rng.standard_normal((size, 2, p)) / np.sqrt(n)[:, None]
    roots = np.tril(rng.standard_normal((size, p, p)), -1)
    roots[:, range(p), range(p)] = np.sqrt(rng.chisquare(nu - np.arange(p), (size, p)))
    within = roots @ np.swapaxes(roots, 1, 2) / nu
    slopes = np.linalg.solve(within, (means[:, 0] - means[:, 1])[..., None])[..., 0]
    length = np.linalg.norm(slopes, axis=1)
    middle = means.mean(axis=1)
    first = stats.norm.cdf((cut - ((mu[0] - middle) * slopes).sum(axis=1)) / length)
    second = stats.norm.sf((cut - ((mu[1] - middle) * slopes).sum(axis=1)) / length)
    got = two_class_errors(gap**2, n, nu, p, cut, shrunk=False, expected=True)
    plain = two_class_errors(gap**2, n, nu, p, cut, shrunk=False, expected=False)
    simulated = np.array([first.mean(), second.mean()])
    # The expansion leaves terms of second order: it closes most of the gap between plain and true.
    assert (np.abs(got - simulated) < 0.12 * np.abs(simulated - plain) + 2e-4).all()


def test_parametric_rates_of_many_classes_by_brute_force():
    fit = lda("species ~ .", IRIS, prior=[0.3, 0.3, 0.4])
    rng = np.random.default_rng(0)
    wrong = []
    root = np.linalg.cholesky(fit.cov)
    for k, proportion in enumerate(fit.prior):
        x = fit.means.to_numpy()[k] + rng.standard_normal((40_000, 4)) @ root.T
        labels = fit.predict(pd.DataFrame(x, columns=IRIS.columns[:4]))
        wrong.append(proportion * (labels != fit.classes[k]).mean())
    got = fit.error_rates(["D"], seed=1).loc["D"]
    assert got["estimate"] == pytest.approx(sum(wrong), abs=8e-4)
    shrunk = fit.error_rates(["DS"], seed=1).loc["DS", "estimate"]
    assert shrunk > got["estimate"]


def test_two_classes_by_both_roads_agree():
    data = two_groups(8, (50, 30), 1.5, 3)
    fit = lda("y ~ .", data, method="mle")
    from discrim.inference.parametric_errors import multiclass_error_rate

    values = fit._fit.estimates
    whitened = values.unbiased_covariance().whiten(values.moments.means.T).T
    integral = multiclass_error_rate(
        whitened,
        values.moments.counts,
        78,
        fit._fit.log_prior(),
        None,
        0.95,
        shrunk=False,
        density_factor=80 / 78,
    )
    closed = fit.error_rates(["D"]).loc["D"]
    assert integral.estimate == pytest.approx(closed["estimate"], rel=1e-10)
    assert integral.se == pytest.approx(closed["se"], rel=0.02)


# ------------------------------------------------------------------ classification tables


def test_classification_tables_match_their_rows():
    fit = lda("species ~ .", IRIS)
    proba, labels = fit.predict_proba(), fit.predict()
    result = fit.assess(method="apparent").classification()
    pd.testing.assert_frame_equal(result.confusion, fit.confusion())
    wrong = IRIS.index[labels.astype(object) != IRIS["species"].astype(object)]
    assert result.misclassified.index.equals(wrong)
    np.testing.assert_array_equal(result.misclassified[fit.classes], proba.loc[wrong])
    for (a, b), mean in result.average_posteriors.stack().dropna().items():
        rows = (IRIS["species"] == a) & (labels == b)
        assert mean == pytest.approx(proba.loc[rows, b].mean())
    table = result.table
    assert table.loc[("versicolor", "rows"), "virginica"] == 2
    assert table.loc[("versicolor", "percent"), "virginica"] == pytest.approx(4)
    assert table.loc[("total", "rows"), "total"] == 150
    np.testing.assert_allclose(table.loc[("prior", "share"), list(fit.classes)], fit.prior)
    assert "134" not in result.summary().as_text().split("Misclassified")[0]
    awkward = IRIS.assign(
        species=IRIS["species"].astype(object).replace({"setosa": "total", "virginica": "prior"})
    )
    same = (
        lda("species ~ .", awkward, levels=["total", "versicolor", "prior"])
        .assess(method="apparent")
        .classification()
        .table
    )
    np.testing.assert_array_equal(same, table)
    new = fit.assess(IRIS.iloc[::2]).classification()
    assert new.confusion.to_numpy().sum() == 75


@BOTH
def test_group_summaries_equal_pandas(verb):
    data = load_penguins()
    fit = verb("species ~ bill_length_mm + body_mass_g", data)
    used = data.dropna(subset=["bill_length_mm", "body_mass_g"])
    got = fit.group_summary()
    groups = [*used.groupby("species", observed=True), ("total", used)]
    for label, group in groups:
        for term in fit.terms:
            expected = [len(group), group[term].mean(), group[term].std()]
            np.testing.assert_allclose(got.loc[(label, term)].astype(float), expected, rtol=1e-12)


# ------------------------------------------------------------------ single rows


@BOTH
def test_typicality_of_rows_of_the_fit_is_that_by_the_others(verb):
    fit = verb("species ~ .", IRIS)
    got = fit.typicality()
    for row in (0, 41, 70, 106, 131):
        others = verb("species ~ .", IRIS.drop(index=row))
        expected = others.typicality(IRIS.loc[[row]]).iloc[0]
        np.testing.assert_allclose(got.loc[row], expected, rtol=1e-8)


def test_typicality_of_new_rows_is_hotelling_s_test():
    fit = qda("species ~ .", IRIS)
    row = IRIS.iloc[[77]].drop(columns="species")
    got = fit.typicality(row).iloc[0]
    for k, label in enumerate(fit.classes):
        x = IRIS.loc[IRIS["species"] == label, row.columns].to_numpy()
        gap = row.to_numpy()[0] - x.mean(axis=0)
        t2 = gap @ np.linalg.solve(np.cov(x.T), gap) / (1 + 1 / 50)
        assert got.iloc[k] == pytest.approx(stats.f.sf(t2 * 46 / (4 * 49), 4, 46), rel=1e-9)


@pytest.mark.slow
@BOTH
def test_typicality_is_uniform_under_the_model(verb):
    rng = np.random.default_rng(2)
    p_values = []
    for _ in range(80):
        data = two_groups(int(rng.integers(2**31)), (12, 9), 1.0, 3)
        fit = verb("y ~ .", data)
        new = pd.DataFrame(
            np.add(rng.standard_normal((2, 3)), [[1, 0, 0], [0, 0, 0]]), columns=["x0", "x1", "x2"]
        )
        p_values += np.diag(fit.typicality(new)).tolist()
        p_values.append(float(fit.typicality().loc[0, "a"]))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "prior"), [(lda, None), (qda, "equal")])
def test_intervals_of_posteriors_cover_the_true_ones(verb, prior):
    rng = np.random.default_rng(4)
    row = pd.DataFrame({"x0": [0.9], "x1": [0.4]})
    true = 1 / (1 + np.exp(-(1.5 * 0.9 - 1.5**2 / 2)))
    inside = []
    for _ in range(250):
        n = rng.multinomial(140, [0.5, 0.5]) if prior is None else (70, 70)
        data = two_groups(int(rng.integers(2**31)), tuple(int(v) for v in n), 1.5, 2)
        bounds = verb("y ~ .", data, prior=prior).posterior_intervals(row)["a"].iloc[0]
        inside.append(bounds["low"] < true < bounds["high"])
    assert 0.92 < np.mean(inside) < 0.98


@BOTH
def test_the_delta_variance_is_the_numerical_one(verb):
    # Derivatives of the log odds by every mean and covariance, each with its sampling covariance.
    data = load_wine()[["cultivar", "alcohol", "hue"]]
    fit, row = verb("cultivar ~ .", data), data.iloc[[40]]
    counts, groups = fit.counts.to_numpy(), [g.iloc[:, 1:].to_numpy() for _, g in data.groupby("cultivar")]
    means = [g.mean(axis=0) for g in groups]
    own = [np.cov(g.T) for g in groups]
    nu = counts - 1 if verb is qda else np.array([counts.sum() - 3])
    covs = own if verb is qda else [sum(s * (n - 1) for s, n in zip(own, counts, strict=True)) / nu[0]]
    x = row.iloc[0, 1:].to_numpy(dtype=float)
    theta = np.concatenate([*means, *(s[np.triu_indices(2)] for s in covs), np.log(counts / counts.sum())])

    def logit(theta, k):
        m = theta[:6].reshape(3, 2)
        spreads = []
        for v in theta[6:-3].reshape(-1, 3):
            spreads.append(np.array([[v[0], v[1]], [v[1], v[2]]]))
        spreads = spreads if len(spreads) > 1 else 3 * spreads
        scores = [
            theta[-3 + j] - (np.log(np.linalg.det(s)) + (x - m[j]) @ np.linalg.solve(s, x - m[j])) / 2
            for j, s in enumerate(spreads)
        ]
        return scores[k] - np.log(sum(np.exp(s) for j, s in enumerate(scores) if j != k))

    blocks = [(covs[j] if verb is qda else covs[0]) / counts[j] for j in range(3)]
    pairs = [(0, 0), (0, 1), (1, 1)]
    for s, v in zip(covs, nu, strict=True):
        blocks.append(
            np.array([[(s[a, c] * s[b, d] + s[a, d] * s[b, c]) / v for c, d in pairs] for a, b in pairs])
        )
    proportion = counts / counts.sum()
    blocks.append((np.diag(1 / proportion) - 1) / counts.sum())
    size = sum(len(b) for b in blocks)
    spread, at = np.zeros((size, size)), 0
    for b in blocks:
        spread[at : at + len(b), at : at + len(b)] = b
        at += len(b)
    got = fit.posterior_intervals(row, level=0.9).iloc[0]
    for k, label in enumerate(fit.classes):
        steps = 1e-5 * np.maximum(np.abs(theta), 1)
        slopes = np.array(
            [
                (logit(theta + h * e, k) - logit(theta - h * e, k)) / (2 * h)
                for h, e in zip(steps, np.eye(size), strict=True)
            ]
        )
        half = stats.norm.isf(0.05) * np.sqrt(slopes @ spread @ slopes)
        expected = 1 / (1 + np.exp(-(logit(theta, k) + np.array([-half, half]))))
        np.testing.assert_allclose(got[label][["low", "high"]], expected, rtol=1e-5)


@pytest.mark.slow
def test_bootstrap_and_delta_intervals_of_posteriors_agree_in_large_samples():
    data = two_groups(1, (600, 500), 1.5, 2)
    fit = lda("y ~ .", data)
    row = pd.DataFrame({"x0": [0.5, 1.2], "x1": [0.0, 0.5]})
    delta = fit.posterior_intervals(row)
    intervals = fit.posterior_intervals(row, method="bootstrap", replicates=400, seed=0)
    np.testing.assert_allclose(intervals["a"]["posterior"], delta["a"]["posterior"])
    for bound in ("low", "high"):
        np.testing.assert_allclose(intervals["a"][bound], delta["a"][bound], atol=0.015)


# ------------------------------------------------------------------ what cannot be answered


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda f: f.error_rates(["cv"], folds=1), "folds=1 .*2 to 150"),
        (lambda f: f.error_rates(["cv"], folds=151), "folds=151"),
        (lambda f: f.error_rates(["bootstrap"]), "'bootstrap' is not known.*632"),
        (lambda f: f.error_rates(["632+"], replicates=1), "replicates=1"),
        (lambda f: f.error_rates(["O"]), "two classes.*has 3"),
        (lambda f: f.error_rates(["loo"], level=1.5), "level=1.5"),
        (lambda f: f.error_rates(["apparent"], costs=[[0, 1], [1, 0]]), r"shape \(2, 2\).*3 classes"),
        (lambda f: f.predict(costs=-COSTS), "'versicolor' for class 'setosa' is -1"),
        (lambda f: f.predict(costs=0 * COSTS), "costs are zero"),
        (lambda f: f.predict(costs=COSTS.rename(index={"setosa": "x"})), "rows of costs are 'x'"),
        (lambda f: f.predict(reject=-0.1), "reject=-0.1"),
        (lambda f: f.confusion(IRIS, method="cv"), 'method="cv".*data='),
        (lambda f: f.posterior_intervals(method="jackknife"), "'jackknife' is not known"),
        (lambda f: f.posterior_intervals(level=0), "level=0"),
    ],
)
def test_unavailable_methods_state_the_reason(ask, says):
    with pytest.raises((DataError, NotSupportedError), match=says):
        ask(lda("species ~ .", IRIS))


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
def test_errors_name_missing_features_of_a_model():
    with pytest.raises(NotSupportedError) as caught:
        qda("species ~ .", IRIS).error_rates(["D"])
    assert "lda()" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", IRIS, covariance="diagonal").typicality()
    assert "typicality" in str(caught.value)
    few = load_breast_cancer().groupby("diagnosis").head(18)
    with pytest.raises(NotSupportedError) as caught:
        lda("diagnosis ~ .", few).error_rates(["cv"], folds=3, seed=0)
    assert caught.value.classes == ("benign",)
    tied = IRIS.assign(w=1.5)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", tied, weights="w").posterior_intervals(method="bootstrap", replicates=3)
    assert "integer" in str(caught.value)


def test_a_method_that_is_named_twice_is_counted_once():
    fit = discrim.lda("species ~ .", load_iris())
    rates = fit.error_rates(["cv", "loo", "cv"], seed=1, by_class=True)
    pd.testing.assert_frame_equal(rates, fit.error_rates(["cv", "loo"], seed=1, by_class=True))


def test_methods_may_be_the_only_argument_of_error_rates():
    fit, half = lda("species ~ .", IRIS), IRIS[::2]
    table = fit.error_rates(half, ["apparent"])
    assert table.index.tolist() == ["apparent", "new rows"]
    pd.testing.assert_frame_equal(fit.error_rates(data=half, methods="apparent"), table)
    assert fit.error_rates(["loo"]).index.tolist() == fit.error_rates("loo").index.tolist() == ["loo"]
    assert fit.error_rates(half).index.tolist() == ["new rows"]
    for wrong in (lambda: fit.error_rates("lo"), lambda: fit.error_rates(["apparent"], half)):
        with pytest.raises(DataError):
            wrong()


def test_default_folds_are_reproducible_and_noted():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(2_001, 2)), columns=["x", "w"])
    table["y"] = np.where(table["x"] + rng.logistic(size=2_001) > 0, "a", "b")
    fit = discrim.logistic("y ~ x + w", table, penalty=discrim.penalty.Ridge(0.1))
    with pytest.raises(NotSupportedError) as caught:
        fit.error_rates(["loo"])
    rates = fit.error_rates()
    pd.testing.assert_frame_equal(fit.error_rates(), rates)
    pd.testing.assert_frame_equal(fit.error_rates(["apparent", "cv"], seed=0), rates)
    assert caught.value.message in rates.attrs["note"]
    assert "seed 0" in rates.attrs["note"]
    seeded = fit.error_rates(seed=3, folds=5)
    pd.testing.assert_frame_equal(fit.error_rates(["apparent", "cv"], seed=3, folds=5), seeded)
    assert "5 folds with seed 3" in seeded.attrs["note"]
    assert "note" not in fit.error_rates(["apparent", "cv"], seed=0).attrs


def test_default_methods_do_not_replace_other_unsupported_options():
    stored = pickle.loads(pickle.dumps(lda("species ~ .", IRIS)))
    with pytest.raises(NotSupportedError) as caught:
        stored.error_rates()
    assert "apparent" in str(caught.value)


@pytest.mark.parametrize("prior", [None, {"a": 0.2, "b": 0.5, "c": 0.3}])
def test_bootstrap_samples_of_one_pass_equal_single_refits(prior):
    """Moments of all samples in one pass, with rows that are not used, against a pass for each sample."""
    rng = np.random.default_rng(5)
    n = 3000
    table = pd.DataFrame(rng.standard_normal((n, 110)), columns=[f"x{j}" for j in range(110)])
    table["x1"] = 1e6 + table["x1"] + table["x0"]
    table["group"] = rng.choice(["u", "v", "w"], n)
    table["y"] = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    table.loc[table["y"] == "b", "x0"] += 2
    table.loc[10:20, "x3"] = np.nan
    fit = discrim.lda("y ~ .", table, prior=prior)
    design_rows = fit._fit.design_rows
    samples = BootstrapSamples(design_rows, 6, 4)
    single = BootstrapSamples(design_rows, 6, 4)
    sampled = samples.sample_linear_rules(fit._fit, 6, lambda n: None)
    assert sampled is not None
    x = table.drop(columns=["y", "group"]).iloc[30:60].to_numpy()
    x = np.column_stack([x, table["group"].iloc[30:60] == "v", table["group"].iloc[30:60] == "w"])
    for rule, counts in zip(*sampled, strict=True):
        expected, expected_counts = single.sample_rule(fit._fit)
        np.testing.assert_array_equal(counts, expected_counts)
        np.testing.assert_allclose(rule.scores(x), expected.scores(x), rtol=1e-7)


@pytest.mark.parametrize("verb", [lda, discrim.knn])
@pytest.mark.parametrize("formula", ["species ~ .", "species ~ standardize(petal_length) + sepal_width"])
def test_rows_of_folds_that_are_not_left_out_are_in_all_fits(verb, formula):
    fit = verb(formula, load_iris())._fit
    fold_ids = assign_folds(fit, 3, 1)
    expected = fold_scores(fit, fold_ids, 3)
    scores = fold_scores(fit, fold_ids, 1)
    np.testing.assert_allclose(scores[fold_ids == 0], expected[fold_ids == 0], rtol=1e-12)
    assert np.isnan(scores[fold_ids > 0]).all()
