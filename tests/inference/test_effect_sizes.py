"""Effect sizes with intervals, simultaneous intervals, and the law of the greatest root that Roy's need."""

from __future__ import annotations

import json
from math import comb

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discrim import lda, mlm
from discrim.core.numerics.greatest_root import greatest_root_isf, greatest_root_sf
from discrim.covariance import Shrunk
from discrim.datasets import load_iris, load_penguins
from discrim.errors import DataError, NotSupportedError
from discrim.inference.effect_sizes import f_noncentrality_limits, t_noncentrality_limits, tukey_pvalues
from tests.support import GOLDEN

FOUND = json.loads((GOLDEN / "effect_sizes.json").read_text(encoding="utf-8"))
IRIS = load_iris()


# ---- R


@pytest.mark.parametrize("case", FOUND["f"], ids=lambda case: str(case["given"]))
def test_f_noncentrality_limits_agree_with_r(case):
    np.testing.assert_allclose(f_noncentrality_limits(*case["given"], 0.95), case["limits"], rtol=1e-8)


@pytest.mark.parametrize("case", FOUND["t"], ids=lambda case: str(case["given"]))
def test_t_noncentrality_limits_agree_with_r(case):
    np.testing.assert_allclose(t_noncentrality_limits(*case["given"], 0.95), case["limits"], rtol=1e-8)


def test_cohens_d_and_mahalanobis_distance_agree_with_effectsize():
    two = lda("species ~ sepal_length + petal_length", IRIS.query("species != 'setosa'"))
    row = two.differences("sepal_length").iloc[0]
    # effectsize searches for its limits to some six digits.
    np.testing.assert_allclose(row[["d", "d_low", "d_high"]], FOUND["cohens_d"], rtol=1e-6)
    row = two.distances(level=0.95).iloc[0]
    np.testing.assert_allclose(row[["D", "low", "high"]], FOUND["mahalanobis"], rtol=1e-6)


def test_omega_squared_and_its_interval_agree_with_effectsize():
    penguins = load_penguins().dropna(subset=["sex", "bill_length_mm"])
    table = mlm("species * sex ~ bill_length_mm", penguins).anova(level=0.95)
    for term, omega in FOUND["omega"].items():
        row = table.loc[(term, "bill_length_mm")]
        assert row["omega2"] == pytest.approx(omega, rel=1e-9)
        eta, *limits = FOUND["eta"][term]
        assert row["partial_R2"] == pytest.approx(eta, rel=1e-9)
        ours = row[["low", "high"]].to_numpy(dtype=float)
        noncentrality = ours / (1 - ours) * FOUND["total"]
        np.testing.assert_allclose(noncentrality / (noncentrality + FOUND["df2"]), limits, rtol=1e-5)


def test_scheffe_intervals_and_holm_p_values_agree_with_r():
    fit = lda("species ~ .", IRIS)
    table = fit.differences("sepal_width", adjust="scheffe")
    np.testing.assert_allclose(
        table[["difference", "se", "low", "high", "p_adjusted"]], FOUND["scheffe"], rtol=1e-9
    )
    np.testing.assert_allclose(
        fit.differences("sepal_width", adjust="holm")["p_adjusted"], FOUND["holm"], rtol=1e-9
    )


# ---- what the limits invert


@pytest.mark.parametrize(("f", "df1", "df2"), [(3.0e6, 4, 145), (1e12, 7, 20)])
def test_large_limits_invert_the_distribution_of_the_denominator(f, df1, df2):
    for probability, limit in zip((0.975, 0.025), f_noncentrality_limits(f, df1, df2, 0.95), strict=True):
        # Of so large a noncentrality the numerator varies by 4/limit of its square, and the denominator alone
        # matters: P(limit + df1 <= f df1 chi2/df2).
        inside = stats.chi2.sf(df2 * (limit + df1) / (df1 * f), df2)
        assert inside == pytest.approx(probability, abs=2e-6)


def test_a_negative_t_has_reflected_limits():
    low, high = t_noncentrality_limits([5.0, 5e3], 30.0, 0.9)
    other_low, other_high = t_noncentrality_limits([-5.0, -5e3], 30.0, 0.9)
    np.testing.assert_allclose(-other_high, low, rtol=1e-12)
    np.testing.assert_allclose(-other_low, high, rtol=1e-12)


def test_columns_that_do_not_vary_within_classes_have_infinite_limits():
    flags = IRIS.assign(flag=(IRIS["species"] == "setosa") * 1.0)
    fit = lda("species ~ flag + sepal_width", flags, covariance=Shrunk(0.1))
    row = fit.anova(level=0.95, levene=None).loc["flag"]
    assert row[["omega2", "low", "high"]].tolist() == [1.0, 1.0, 1.0]
    assert f_noncentrality_limits(np.inf, 2.0, 10.0, 0.95)[0] == np.inf
    assert np.isnan(f_noncentrality_limits(np.nan, 2.0, 10.0, 0.95)[1])
    assert t_noncentrality_limits(-np.inf, 10.0, 0.95)[0] == -np.inf


# ---- the greatest root


def by_powers(x, s, m, n):
    """P(root <= x) by the recurrence of Chiani (2016), in 60 digits."""
    with mpmath.workdps(60):
        m, n, x = mpmath.mpf(m), mpmath.mpf(n), mpmath.mpf(x)
        alone = [mpmath.betainc(m + i, n + 1, 0, x) for i in range(1, s + 1)]
        matrix = mpmath.zeros(s + s % 2)
        for i in range(1, s + 1):
            inner = alone[i - 1] ** 2 / 2
            for j in range(i, s):
                inner = ((m + j) * inner - mpmath.betainc(2 * m + i + j, 2 * n + 2, 0, x)) / (m + j + n + 1)
                matrix[i - 1, j] = alone[i - 1] * alone[j] - 2 * inner
            if s % 2:
                matrix[i - 1, s] = alone[i - 1]
        scale = mpmath.pi ** (mpmath.mpf(s) / 2)
        for i in range(1, s + 1):
            scale *= mpmath.gamma((i + 2 * m + 2 * n + s + 2) / 2) / mpmath.gamma(mpmath.mpf(i) / 2)
            scale /= mpmath.gamma((i + 2 * m + 1) / 2) * mpmath.gamma((i + 2 * n + 1) / 2)
        return scale * mpmath.sqrt(mpmath.det(matrix - matrix.T))


@pytest.mark.parametrize(
    ("p", "q", "v", "x"),
    [
        (2, 2, 10, 0.4),
        (4, 2, 147, 0.1),
        (3, 4, 104, 0.9),
        (5, 8, 46, 0.5),
        (8, 9, 209, 0.2),
        (3, 3, 3, 0.99),
        (7, 2, 30, 1e-3),
        (6, 4, 400, 0.3),
    ],
)
def test_greatest_root_tails_agree_with_a_recurrence(p, q, v, x):
    s, m, n = min(p, q), (abs(p - q) - 1) / 2, (v - p - 1) / 2
    with mpmath.workdps(60):
        expected = 1 - by_powers(x, s, m, n)
    assert greatest_root_sf(x / (1 - x), p, q, v) == pytest.approx(float(expected), rel=1e-10)


def test_a_single_root_agrees_with_an_f_test():
    for p, q, v, root in ((1, 3, 20, 0.7), (4, 1, 20, 0.7)):
        f = root * (v - p + 1) / max(p, q)
        expected = stats.f.sf(f, max(p, q), v - p + 1 if q == 1 else v)
        f_of_q = root * v / q
        expected = stats.f.sf(f_of_q, q, v) if p == 1 else expected
        assert greatest_root_sf(root, p, q, v) == pytest.approx(expected, rel=1e-12)


def test_critical_values_hold_in_a_simulation():
    # A binomial of 4,000 draws has a standard error of .0034.
    generator, p, q, v = np.random.default_rng(5), 4, 3, 20
    h, e = generator.normal(size=(4000, q, p)), generator.normal(size=(4000, v, p))
    products = (np.swapaxes(x, 1, 2) @ x for x in (h, e))
    roots = np.linalg.eigvals(np.linalg.solve(*list(products)[::-1])).real.max(axis=1)
    critical = greatest_root_isf(0.05, p, q, v)
    assert greatest_root_sf(critical, p, q, v) == pytest.approx(0.05, rel=1e-9)
    assert abs((roots > critical).mean() - 0.05) < 4 * 0.0034


def test_too_few_degrees_of_freedom_give_nan():
    assert np.isnan(greatest_root_sf(1.0, 4, 2, 3))
    assert np.isnan(greatest_root_isf(0.05, 4, 2, 3))
    assert greatest_root_sf(0.0, 4, 2, 9) == 1.0
    assert greatest_root_sf(np.inf, 4, 2, 9) == 0.0
    assert greatest_root_sf(1e-9, 6, 5, 4000) == 1.0


# ---- differences


def test_roy_intervals_agree_with_the_most_extreme_contrast():
    """A pair's distance is significant by Roy exactly where some combination's interval leaves out zero."""
    fit = lda("species ~ .", IRIS)
    table = fit.differences(adjust="roy", level=0.99)
    half = ((table["high"] - table["low"]) / 2 / table["se"]).to_numpy()
    assert np.ptp(half) < 1e-9 * half[0]
    assert greatest_root_sf(half[0] ** 2 / 147, 4, 2, 147) == pytest.approx(0.01, rel=1e-8)
    pairs = fit.distances(adjust="roy")
    for (one, other), row in pairs.iterrows():
        assert row["p_adjusted"] == pytest.approx(greatest_root_sf(25 * row["D2"] / 147, 4, 2, 147), rel=1e-9)
        # No single column is further apart than the best combination.
        assert (table.loc[(one, other), "p_adjusted"] >= row["p_adjusted"]).all()


def test_simultaneous_intervals_and_p_values_agree():
    fit = lda("species ~ .", IRIS)
    for adjust in (None, "scheffe", "roy", "bonferroni", "sidak"):
        table = fit.differences(adjust=adjust, level=0.999)
        p = table["p" if adjust is None else "p_adjusted"]
        assert ((p < 0.001) == (table["low"] * table["high"] > 0)).all()
    m, sidak = len(table), fit.differences(adjust="sidak")
    assert m == comb(3, 2) * 4
    np.testing.assert_allclose(sidak["p_adjusted"], 1 - (1 - sidak["p"]) ** m, atol=1e-13)


@pytest.mark.parametrize("formula", ["species ~ . ", "species ~ sepal_length + sepal_width | petal_width"])
def test_roy_p_values_of_two_classes_agree_with_hotelling(formula):
    two = lda(formula, IRIS.query("species != 'setosa'"))
    row = two.distances(adjust="roy", level=0.9).iloc[0]
    assert row["p_adjusted"] == pytest.approx(row["p"], rel=1e-9)
    # The noncentrality of the limits is in proportion to the squared distance.
    one = f_noncentrality_limits(row["F"], row["df1"], row["df2"], 0.9)
    np.testing.assert_allclose(row["high"] / row["low"], np.sqrt(one[1] / one[0]), rtol=1e-10)
    if "|" in formula:
        with pytest.raises(NotSupportedError) as caught:
            two.differences()
        assert "differences" in str(caught.value)


def test_differences_agree_with_the_means():
    fit = lda("species ~ .", IRIS)
    table = fit.differences(["petal_width", "sepal_length"])
    means = IRIS.groupby("species").mean(numeric_only=True)
    for (one, other, term), row in table.iterrows():
        assert row["difference"] == pytest.approx(means.loc[one, term] - means.loc[other, term], abs=1e-12)
        assert row["d"] == pytest.approx(row["difference"] / fit.anova().loc[term, "sd_within"], rel=1e-10)
    assert list(table.index.unique("term")) == ["petal_width", "sepal_length"]


def test_weights_of_differences_equal_repeated_rows():
    multiplicities = np.random.default_rng(3).integers(1, 4, len(IRIS))
    formula = "species ~ petal_length + sepal_width"
    weighted = lda(formula, IRIS.assign(w=multiplicities), weights="w")
    repeated = lda(formula, IRIS.loc[IRIS.index.repeat(multiplicities)])
    for adjust in (None, "roy", "holm"):
        a, b = (fit.differences(adjust=adjust) for fit in (weighted, repeated))
        np.testing.assert_allclose(a, b, rtol=1e-7)
    a, b = (fit.distances(adjust="roy", level=0.9) for fit in (weighted, repeated))
    np.testing.assert_allclose(a, b, rtol=1e-7)


def test_the_largest_difference_of_all_combinations_is_mahalanobis_distance():
    two = lda("species ~ .", IRIS.query("species != 'setosa'"))
    axis = two.canonical().raw
    row, distance = two.differences(combinations=axis, adjust="roy").iloc[0], two.distances().iloc[0]
    assert abs(row["d"]) == pytest.approx(np.sqrt(distance["D2"]), rel=1e-10)
    assert row["p_adjusted"] == pytest.approx(distance["p"], rel=1e-8)
    fit = lda("species ~ .", IRIS)
    both = fit.differences(combinations=fit.canonical().raw, adjust="roy", level=0.9)
    scores = fit.canonical().centroids
    for (one, other, axis), row in both.iterrows():
        assert row["difference"] == pytest.approx(scores.loc[one, axis] - scores.loc[other, axis], rel=1e-9)
        assert row["se"] == pytest.approx(np.sqrt(2 / 50), rel=1e-9)


def test_a_combination_of_one_column_equals_the_column():
    fit = lda("species ~ .", IRIS)
    weights = pd.DataFrame({"wide": {"sepal_width": 1.0}, "long": {"petal_length": 10.0}}).fillna(0.0)
    table = fit.differences(combinations=weights, adjust="scheffe")
    columns = fit.differences(["sepal_width", "petal_length"], adjust="scheffe")
    scale = np.tile([1.0, 10.0], 3)[:, None]
    assert list(table.index.unique("term")) == ["wide", "long"]
    same = ["t", "p", "p_adjusted", "d", "d_low", "d_high"]
    np.testing.assert_allclose(table[same], columns[same], rtol=1e-9)
    unlike = ["difference", "se", "low", "high"]
    np.testing.assert_allclose(table[unlike], columns[unlike] * scale, rtol=1e-9)


# ---- refusals


@pytest.mark.parametrize(
    ("combinations", "words"),
    [
        ({"a": 1}, "not a DataFrame of weights"),
        (pd.DataFrame({"a": {"colour": 1.0}}), "Unknown column 'colour'"),
        (pd.DataFrame({"a": {"sepal_width": np.nan}}), "not finite"),
        (pd.DataFrame({"a": {"sepal_width": 0.0}}), "column of zeros"),
    ],
)
def test_invalid_combinations_are_refused(combinations, words):
    fit = lda("species ~ .", IRIS)
    with pytest.raises(DataError, match=words):
        fit.differences(combinations=combinations)
    with pytest.raises(DataError) as caught:
        fit.differences("sepal_width", combinations=combinations)
    assert "terms=" in str(caught.value)


def test_unsupported_adjustments_are_refused():
    fit = lda("species ~ .", IRIS)
    for call in (fit.differences, fit.distances):
        with pytest.raises(DataError) as caught:
            call(adjust="dunnett")
        assert "'roy'" in str(caught.value)
        with pytest.raises(DataError) as caught:
            call(level=2)
        assert "level=2" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.differences("colour")
    assert "'colour' in terms" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.differences(5)
    assert "5 in terms" in str(caught.value)
    diagonal = lda("species ~ .", IRIS, covariance="diagonal")
    alone = diagonal.differences(adjust="scheffe")
    np.testing.assert_allclose(alone, fit.differences(adjust="scheffe"), rtol=1e-10)
    with pytest.raises(NotSupportedError) as caught:
        diagonal.differences(adjust="roy")
    assert "full" in str(caught.value)
    assert "covariance" in str(caught.value)


def test_tukeys_p_values_equal_a_double_integral():
    # P(range > q s) for k normal values and s^2 an independent mean square on v degrees of freedom.
    x, weights = np.polynomial.legendre.leggauss(300)
    for q, k, v in (
        (6.0, 2, 2.0),
        (9.33, 40, 5.0),
        (3.5, 3, 2.0),
        (6.0, 10, 5.5),
        (3.35, 3, 147.0),
        (30.0, 3, 1.0),
    ):
        low, high = -40 / min(v, 40) - 3, 3.0
        log_s = low + (high - low) * (x + 1) / 2
        s = np.exp(log_s)
        density = stats.chi2.pdf(v * s**2, v) * 2 * v * s**2
        z = 9 * x[:, None]
        lower = stats.norm.cdf(z) - stats.norm.cdf(z - q * s)
        within = 9 * weights @ (k * stats.norm.pdf(z) * lower ** (k - 1))
        expected = 1 - (high - low) / 2 * weights @ (density * within)
        t = np.array([q / np.sqrt(2)])
        found = tukey_pvalues(t, 2 * stats.t.sf(t, v), k, v)
        np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_tukeys_p_values_of_large_families_equal_scipys():
    t = np.array([0.0, 0.5, 2.0, 4.0, 6.0, np.inf, np.nan])
    for k, v in ((25, 1000.0), (100, 60.0), (400, 10000.0)):
        expected = stats.studentized_range.sf(np.sqrt(2) * t, k, v)
        found = tukey_pvalues(t, 2 * stats.t.sf(t, v), k, v)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
