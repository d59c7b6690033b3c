"""Tables of many classes: what a class costs, and what is printed of it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import discrim
from discrim.core.distributions.densities import to_density
from discrim.errors import NotSupportedError
from discrim.inference.resampling import RunningInterval


def simulate_table(n: int, p: int, k: int) -> pd.DataFrame:
    rng = np.random.default_rng(k)
    codes = np.arange(n) % k
    x = rng.normal(size=(n, p)) + 0.2 * rng.normal(size=(k, p))[codes]
    return pd.DataFrame(x).add_prefix("x").assign(y=[f"c{code:03d}" for code in codes])


@pytest.mark.parametrize("covariance", ["pooled", "diagonal"])
def test_log_odds_of_a_class_do_not_depend_on_other_requested_classes(covariance):
    """The formulas in the module's head, written out class by class."""
    table = simulate_table(300, 4, 7)
    fit = discrim.lda("y ~ .", table, covariance=covariance)
    found = fit.log_odds("c003")
    nu = len(table) - 7
    inverse = np.linalg.inv(fit.cov.to_numpy())
    base, n0 = fit.means.loc["c003"].to_numpy(), fit.counts["c003"]
    for label in fit.classes.drop("c003"):
        mean, n1 = fit.means.loc[label].to_numpy(), fit.counts[label]
        a, middle = 1 / n0 + 1 / n1, (mean + base) / 2
        slopes = inverse @ (mean - base)
        d2 = slopes @ (mean - base)
        within = d2 * inverse if covariance == "pooled" else np.diag(slopes**2)
        var = a * inverse + (within + np.outer(slopes, slopes)) / nu
        if covariance == "diagonal":
            var = np.diag(a * np.diag(inverse) + 2 * slopes**2 / nu)
        constant = middle @ var @ middle + a * d2 / 4 + (1 / n1 - 1 / n0) * (middle @ slopes) + a
        own = found.loc[label]
        np.testing.assert_allclose(own["coef"].iloc[1:], slopes, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(own["se"].iloc[1:], np.sqrt(np.diag(var)), rtol=1e-11)
        np.testing.assert_allclose(own["se"].iloc[0], np.sqrt(constant), rtol=1e-11)


def test_summary_of_many_classes_and_columns_is_short_with_complete_tables():
    table = simulate_table(1500, 100, 150)
    fit = discrim.lda("y ~ .", table)
    tracemalloc.start()
    summary = fit.summary()
    text = summary.as_text()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A covariance a class would be 150 x 100 x 100 numbers, 12 MB, several times over.
    assert peak < 30e6
    assert text.count("\n") < 140
    assert max(map(len, text.split("\n"))) <= 100
    assert "10 of 15049 rows shown, the largest by |z| first; all of them: fit.log_odds()." in text
    assert len(summary.tables["log_odds"]) == 149 * 101
    pd.testing.assert_frame_equal(summary.tables["log_odds"], fit.log_odds())
    # The columns are told once, not once a class.
    assert text.count("too few for a covariance of 100 columns") == 1
    assert "147 more classes" in " ".join(text.split())


def half_widths(fit, x: np.ndarray, level: float) -> np.ndarray:
    """Half widths (m, K) on the logit scale, with the covariance of each row's scores written out."""
    means, prior = fit.means.to_numpy(), fit.prior.to_numpy()
    counts, nu = fit.counts.to_numpy(), fit.nobs - len(means)
    precision = np.linalg.inv(fit.cov.to_numpy())
    out = []
    for row in x:
        u = row - means
        inner = u @ precision @ u.T
        covariance = inner**2 / (2 * nu) + np.diag((np.diag(inner) + 1) / counts)
        scores = np.log(prior) - np.diag(inner) / 2
        p = np.exp(scores - scores.max())
        p /= p.sum()
        for k in range(len(p)):
            others = np.delete(p, k).sum()
            slopes = -p / others
            slopes[k] = 1.0
            out.append(np.sqrt(slopes @ covariance @ slopes))
    return stats.norm.isf((1 - level) / 2) * np.reshape(out, (len(x), -1))


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_delta_intervals_allocate_no_matrix_per_row(spread):
    table = simulate_table(400, 3, 9)
    table.iloc[:, :3] += spread * np.arange(9)[np.arange(400) % 9][:, None] / 9
    fit = discrim.lda("y ~ .", table)
    x = np.concatenate([table.iloc[:40, :3].to_numpy(float), np.random.default_rng(0).normal(0, 8, (20, 3))])
    found = fit.posterior_intervals(pd.DataFrame(x, columns=fit.terms), level=0.9).to_numpy()
    p, low, high = found[:, ::3], found[:, 1::3], found[:, 2::3]
    seen = (low > 1e-12) & (high < 1 - 1e-6) & (p < 1 - 1e-6)
    assert seen.sum() > 60
    width = special.logit(high[seen]) - special.logit(low[seen])
    np.testing.assert_allclose(width / 2, half_widths(fit, x, 0.9)[seen], rtol=1e-7)


@pytest.mark.parametrize(("replicates", "level"), [(2, 0.95), (7, 0.5), (99, 0.9), (200, 0.01), (41, 0.999)])
def test_running_intervals_equal_quantiles_of_all_replicates(replicates, level):
    rng = np.random.default_rng(replicates)
    values = rng.normal(size=(replicates, 5, 3)).round(1)
    values[replicates // 2, 1, 2] = np.nan
    values[:, 2] = np.nan
    held = RunningInterval((5, 3), replicates, level)
    for value in values:
        held.add(value)
    found = np.stack(held.limits())
    asked = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    np.testing.assert_allclose(found, asked, rtol=0, atol=1e-12)


def test_bootstrap_intervals_keep_no_rule_of_an_earlier_sample():
    """Each rule of nearest neighbours holds its rows, .6 MB of them."""
    table = simulate_table(4000, 20, 2)
    fit = discrim.knn("y ~ .", table, k=5)
    peaks = []
    for replicates in (5, 40):
        tracemalloc.start()
        fit.posterior_intervals(table.head(20), method="bootstrap", replicates=replicates, seed=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 35 * 0.1e6


@pytest.mark.parametrize(
    "given",
    [
        stats.norm(3.0, 2.0),
        stats.norm(scale=1e-150, loc=1e-149),
        stats.norm,
        stats.norm(loc=-1e9),
        stats.t(2.5),
        stats.t(1, -4.0, 1e3),
        stats.t(df=1e7, loc=2.0),
        stats.t(3, scale=0.01),
        stats.t(np.inf, 1.0, 2.0),
    ],
)
def test_normal_densities_agree_with_scipy(given):
    frozen = given() if given is stats.norm else given
    middle, reach = frozen.median(), frozen.ppf(0.75) - frozen.median()
    at = middle + reach * np.concatenate([np.linspace(-40, 40, 401), [-1e20, 1e100, np.inf, -np.inf, np.nan]])
    with np.errstate(all="ignore"):
        asked = frozen.logpdf(at)
    np.testing.assert_allclose(to_density(frozen).log_density(at[:, None]), asked, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("of", [lambda m: stats.norm(m, 1.0), lambda m: stats.t(5, m, 1.0)])
def test_bayes_error_is_one_minus_the_integral_of_the_largest_density(of):
    means = np.random.default_rng(3).normal(scale=20, size=30)
    law = {f"c{i}": of(mean) for i, mean in enumerate(means)}
    tracemalloc.start()
    found = discrim.bayes(dict.fromkeys(law, 1 / 30), law).error_rate
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Of classes that differ in their means only, the nearest is called: between midpoints it is right.
    middle = np.sort(means)
    cuts = np.concatenate([[-np.inf], (middle[1:] + middle[:-1]) / 2, [np.inf]])
    right = of(0.0).cdf(cuts[1:] - middle) - of(0.0).cdf(cuts[:-1] - middle)
    assert found == pytest.approx(1 - right.mean(), abs=1e-13)
    assert peak < 60e6


@pytest.mark.parametrize("verb", [discrim.lda, discrim.qda])
def test_mcd_with_huge_frequency_weights_raises_and_its_hint_works(verb):
    table = simulate_table(150, 4, 3)
    table["w"] = 1e10 * (1 + np.arange(150) % 2)
    with pytest.raises(NotSupportedError) as caught:
        verb("y ~ . - w", table, weights="w", covariance="mcd")
    assert "8,388,608" in str(caught.value)
    assert "Divide" in str(caught.value)
    table["w"] /= 1e10
    assert np.isfinite(verb("y ~ . - w", table, weights="w", covariance="mcd").means.to_numpy()).all()
