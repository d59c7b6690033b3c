"""Tests of more variables than observations: R packages (high_dimensional.json), brute force, simulation."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discrim
from discrim import box_m, lda, manova, sphericity_test
from discrim.datasets import load_breast_cancer, load_iris, load_wine
from discrim.errors import CollinearError, DataError, NotSupportedError
from discrim.inference.high_dimensional import largest_covariance_difference
from tests import support
from tests.benchmarks import many_columns

WRITTEN = json.loads((support.GOLDEN / "high_dimensional.json").read_text(encoding="utf-8"))
COVARIANCES = ("schott", "li-chen", "cai-liu-xia")
MEANS = ("srivastava", "chen-qin", "cai-liu-xia", "dempster")
SPHERES = ("john", "srivastava", "chen-zhang-zhong")


def first_rows(table: pd.DataFrame, response: str, rows: list[int]) -> pd.DataFrame:
    """The first rows of each class, columns over their standard deviations, as R took them."""
    classes = sorted(table[response].unique())
    data = pd.concat([table[table[response] == c].head(n) for c, n in zip(classes, rows, strict=True)])
    x = data.drop(columns=response)
    return (x / x.std()).assign(group=data[response].astype(str)).reset_index(drop=True)


TABLES = {
    "breast_cancer": first_rows(load_breast_cancer(), "diagnosis", [9, 8]),
    "wine": first_rows(load_wine().drop(columns="proline"), "cultivar", [4, 4, 3]),
}
TWO = TABLES["breast_cancer"]


def drawn(seed: int, counts: tuple[int, ...], p: int, distribution: str = "normal") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = getattr(rng, distribution)(size=(sum(counts), p)) @ np.tril(rng.normal(size=(p, p)))
    return pd.DataFrame(x).add_prefix("x").assign(group=np.repeat([*"abcd"][: len(counts)], counts))


def classes_of(data: pd.DataFrame) -> list[np.ndarray]:
    return [own.drop(columns="group").to_numpy() for _, own in data.groupby("group")]


# ---- R's packages


@pytest.mark.parametrize("name", TABLES)
def test_covariance_tests_agree_with_sht_and_hdtest(name: str) -> None:
    for method, key in zip(COVARIANCES, ("schott", "li_chen", "cai_liu_xia_covariances"), strict=True):
        if key in WRITTEN[name]:
            got = box_m("group ~ .", TABLES[name], method=method)
            assert got.statistic == pytest.approx(WRITTEN[name][key]["statistic"], rel=1e-10)
            assert got.pvalue == pytest.approx(WRITTEN[name][key]["p"], rel=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_srivastavas_test_agrees_with_sht_and_hdnra(name: str) -> None:
    got = manova("group ~ .", TABLES[name], method="srivastava").iloc[0]
    assert got["statistic"] == pytest.approx(WRITTEN[name]["srivastava"]["statistic"], rel=1e-10)
    assert got["p"] == pytest.approx(stats.norm.sf(WRITTEN[name]["srivastava"]["statistic"]), rel=1e-8)


def test_mean_tests_agree_with_highmean_sht_and_hdnra() -> None:
    expected = WRITTEN["breast_cancer"]
    largest = manova("group ~ .", TWO, method="cai-liu-xia").iloc[0]
    # highmean's pi has six digits, and its p-value is a difference from one.
    assert largest["p"] == pytest.approx(expected["cai_liu_xia_means"]["p"], rel=1e-6)
    got = manova("group ~ .", TWO, method="dempster").iloc[0]
    for key in ("statistic", "df1", "df2"):
        assert got[key] == pytest.approx(expected["dempster"][key], rel=1e-10)
    assert got["p"] == pytest.approx(stats.f.sf(got["statistic"], got["df1"], got["df2"]), rel=1e-10)


# ---- sums over indices


def square_by_indices(x: np.ndarray) -> float:
    """Li and Chen's estimate of tr Sigma^2, term by term."""
    n, g = len(x), x @ x.T
    two = sum(g[i, j] ** 2 for i, j in permutations(range(n), 2)) / (n * (n - 1))
    three = sum(g[i, j] * g[j, k] for i, j, k in permutations(range(n), 3))
    four = sum(g[i, j] * g[k, m] for i, j, k, m in permutations(range(n), 4))
    three /= n * (n - 1) * (n - 2)
    return float(two - 2 * three + four / (n * (n - 1) * (n - 2) * (n - 3)))


def product_by_indices(x: np.ndarray, y: np.ndarray) -> float:
    """Li and Chen's estimate of tr Sigma_1 Sigma_2, term by term."""
    g = x @ y.T
    n, m = g.shape
    two = (g**2).sum() / (n * m)
    rows = sum(g[i, j] * g[k, j] for i, k in permutations(range(n), 2) for j in range(m)) / (n * (n - 1) * m)
    columns = sum(g[i, j] * g[i, k] for j, k in permutations(range(m), 2) for i in range(n))
    both = sum(
        g[i, j] * g[k, m_] for i, k in permutations(range(n), 2) for j, m_ in permutations(range(m), 2)
    )
    return float(two - rows - columns / (n * m * (m - 1)) + both / (n * (n - 1) * m * (m - 1)))


@pytest.mark.parametrize("p", [7, 3])
def test_li_chen_statistic_equals_sums_over_indices(p: int) -> None:
    data = drawn(0, (5, 6), p, "standard_exponential")
    x, y = classes_of(data)
    a, b, c = square_by_indices(x), square_by_indices(y), product_by_indices(x, y)
    expected = (a + b - 2 * c) / (2 * a / len(y) + 2 * b / len(x))
    assert box_m("group ~ .", data, method="li-chen").statistic == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("counts", "p"), [((5, 6), 7), ((5, 4, 6), 7), ((5, 6, 5), 3)])
def test_chen_qin_statistic_equals_sums_over_indices(counts: tuple[int, ...], p: int) -> None:
    data = drawn(1, counts, p, "standard_exponential")
    groups, k = classes_of(data), len(counts)
    statistic = variance = 0.0
    for own in groups:
        n, g = len(own), own @ own.T
        statistic += (k - 1) * sum(g[i, j] for i, j in permutations(range(n), 2)) / (n * (n - 1))
        variance += (k - 1) ** 2 * 2 * square_by_indices(own) / (n * (n - 1))
    for one in range(k):
        for other in range(one):
            x, y = groups[one], groups[other]
            statistic -= 2 * (x @ y.T).mean()
            variance += 4 * product_by_indices(x, y) / (len(x) * len(y))
    got = manova("group ~ .", data, method="chen-qin").iloc[0]
    assert got["statistic"] == pytest.approx(statistic / np.sqrt(variance), rel=1e-10)
    assert got["p"] == pytest.approx(stats.norm.sf(statistic / np.sqrt(variance)), rel=1e-9)


def test_largest_difference_equals_loops_over_pairs_and_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    data = drawn(2, (6, 9), 11)
    groups = [x - x.mean(axis=0) for x in classes_of(data)]
    result = {}
    for i in range(11):
        for j in range(i, 11):
            products = [x[:, i] * x[:, j] for x in groups]
            gap = products[0].mean() - products[1].mean()
            result[i, j] = gap**2 / sum(each.var() / len(each) for each in products)
    for panel in (512, 3):
        monkeypatch.setattr("discrim.inference.high_dimensional.COLUMNS_PER_PANEL", panel)
        got = largest_covariance_difference(groups, [None, None])
        assert got.statistic == pytest.approx(max(result.values()), rel=1e-10)
        assert result[got.columns] == max(result.values())


def test_largest_mean_statistic_of_several_classes_is_the_largest_anova_f() -> None:
    data = drawn(3, (5, 4, 6), 9)
    f = lda("group ~ .", data, covariance="diagonal").anova(levene=None)["F"].max()
    got = manova("group ~ .", data, method="cai-liu-xia").iloc[0]
    assert got["statistic"] == pytest.approx(2 * f, rel=1e-10)
    # Chi-squares of two degrees of freedom are exponential: their maximum needs no more than this.
    assert got["p"] == pytest.approx(-np.expm1(-9 * np.exp(-f)), rel=1e-10)


@pytest.mark.parametrize(("counts", "p"), [((5, 6), 7), ((7, 8), 3)])
def test_sphericity_statistics_equal_eigenvalues_and_sums_over_indices(
    counts: tuple[int, ...], p: int
) -> None:
    data = drawn(1, counts, p, "standard_exponential")
    x, y = classes_of(data)
    n, m = counts
    total, nu = n + m, n + m - 2
    s = ((n - 1) * np.cov(x.T) + (m - 1) * np.cov(y.T)) / nu
    spectrum = np.linalg.eigvalsh(s)
    john = sphericity_test("group ~ .", data)
    expected = nu * p / 2 * np.mean((spectrum / spectrum.mean() - 1) ** 2)
    assert john.statistic == pytest.approx(expected, rel=1e-10)
    assert john.df == p * (p + 1) / 2 - 1
    assert john.pvalue == pytest.approx(stats.chi2.sf(expected, john.df), rel=1e-8)
    unbiased = nu**2 / ((nu - 1) * (nu + 2)) * (np.trace(s @ s) - np.trace(s) ** 2 / nu)
    got = sphericity_test("group ~ .", data, method="srivastava").statistic
    assert got == pytest.approx(nu / 2 * (p * unbiased / np.trace(s) ** 2 - 1), rel=1e-9)
    pairs = n * (n - 1) * square_by_indices(x) + m * (m - 1) * square_by_indices(y)
    pairs += 2 * n * m * product_by_indices(x, y)
    u = p * pairs / (total * (total - 1)) / np.trace(s) ** 2 - 1
    got = sphericity_test("group ~ .", data, method="chen-zhang-zhong").statistic
    assert got == pytest.approx(total * u / 2, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_johns_test_of_two_columns_is_close_to_the_exact_test(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["x", "y"]).assign(group=np.tile([0, 1], 500))
    result = sphericity_test("group ~ .", data)
    # One less John's U is Mauchly's W, and P(W < w) = w^((nu - 1)/2) of two columns.
    u = result.statistic / 998
    assert result.pvalue == pytest.approx((1 - u) ** (997 / 2), abs=0.005)


# ---- identities


def test_dempsters_test_of_one_column_equals_the_anova() -> None:
    got = manova("species ~ petal_width", load_iris(), method="dempster").iloc[0]
    expected = manova("species ~ petal_width", load_iris()).iloc[0]
    for ours, theirs in (("statistic", "F"), ("df1", "df1"), ("df2", "df2"), ("p", "p")):
        assert got[ours] == pytest.approx(expected[theirs], rel=1e-10)


@pytest.mark.parametrize("name", TABLES)
def test_dempsters_statistic_equals_the_pseudo_f_of_euclidean_distances(name: str) -> None:
    expected = manova("group ~ .", TABLES[name], distance="euclidean", permutations=9, seed=0)["F"].iloc[0]
    got = manova("group ~ .", TABLES[name], method="dempster")["statistic"].iloc[0]
    assert got == pytest.approx(expected, rel=1e-10)


def every_p(data: pd.DataFrame, **options: Any) -> np.ndarray:
    result = [box_m("group ~ .", data, method=method, **options).pvalue for method in COVARIANCES]
    result += [manova("group ~ .", data, method=m, **options)["p"].iloc[0] for m in MEANS]
    spheres = [sphericity_test("group ~ .", data, method=m, **options).pvalue for m in SPHERES]
    return np.array(result + spheres)


@pytest.mark.parametrize("p", [4, 20])
def test_weights_equal_repeated_rows(p: int) -> None:
    data = drawn(4, (7, 6), p)
    row_counts = np.random.default_rng(0).integers(1, 4, len(data))
    repeated = data.loc[data.index.repeat(row_counts)]
    np.testing.assert_allclose(every_p(data.assign(w=row_counts), weights="w"), every_p(repeated), rtol=1e-8)


@pytest.mark.parametrize("p", [4, 20])
def test_tests_are_invariant_to_shifts_and_a_common_scale(p: int) -> None:
    data = drawn(5, (7, 6), p)
    x = data.drop(columns="group")
    base = every_p(data)
    for other in (x + np.linspace(1e3, 2e3, p), x * 1e-150, x * 1e150):
        np.testing.assert_allclose(every_p(other.assign(group=data["group"])), base, rtol=1e-7)


def test_chunks_and_row_order_do_not_change_the_tests() -> None:
    data = drawn(6, (9, 8), 12)
    chunks = every_p(data)
    np.testing.assert_allclose(every_p(data.sample(frac=1, random_state=0)), chunks, rtol=1e-10)
    for method in COVARIANCES:
        got = box_m("group ~ .", lambda: iter([data[:5], data[5:]]), method=method)
        assert got.pvalue == pytest.approx(chunks[COVARIANCES.index(method)], rel=1e-10)
    got = manova("group ~ .", lambda: iter([data[:5], data[5:]]), method="chen-qin")
    assert got["p"].iloc[0] == pytest.approx(chunks[4], rel=1e-10)


# ---- simulation

SIZES = {
    ("normal", 2): ("dempster", "srivastava", "chen-qin", "cai-liu-xia, means", "schott", "li-chen"),
    ("normal", 4): ("dempster", "srivastava", "chen-qin", "cai-liu-xia, means", "schott"),
    ("exponential", 3): ("chen-qin", "dempster", "srivastava"),
    ("exponential", 2): ("li-chen",),
}
"""What is held to 0.05 among p-values of alike classes, by law and number of classes."""


@pytest.mark.slow
@pytest.mark.parametrize(("distribution", "k"), SIZES)
def test_mean_and_covariance_tests_keep_their_level(distribution: str, k: int) -> None:
    replicates = 600
    selected = SIZES[distribution, k]
    result = many_columns.rejection_rates(
        replicates, 10 * k, 40, 150, selected, distribution=distribution, k=k
    )
    # Three Monte Carlo errors, and two hundredths of asymptotics: the limits are those of n and p.
    off = 3 * np.sqrt(0.05 * 0.95 / replicates) + 0.02
    for name in selected:
        assert abs(result[name] - 0.05) <= off, name


@pytest.mark.slow
@pytest.mark.parametrize(("distribution", "k"), [("normal", 2), ("normal", 3), ("exponential", 3)])
def test_sphericity_tests_keep_their_level(distribution: str, k: int) -> None:
    replicates = 600
    selected = many_columns.SPHERICITY_TESTS if distribution == "normal" else ("chen-zhang-zhong",)
    options = {"distribution": distribution, "k": k}
    result = many_columns.rejection_rates(replicates, k, 40, 150, selected, correlation=0.0, **options)
    off = 3 * np.sqrt(0.05 * 0.95 / replicates) + 0.02
    for name in selected:
        assert abs(result[name] - 0.05) <= off, name
    unlike = many_columns.rejection_rates(
        20, 1, 40, 50, many_columns.SPHERICITY_TESTS, correlation=0.3, **options
    )
    assert (unlike == 1).all()


@pytest.mark.slow
def test_only_chen_qin_keeps_its_level_under_unequal_covariances() -> None:
    replicates, result = 600, []
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [20, 60])
    for _ in range(replicates):
        x = rng.normal(size=(80, 150)) * np.where(codes == 0, 3.0, 1.0)[:, None]
        result.append(many_columns.p_values(x, codes, ("dempster", "chen-qin")))
    sizes = (pd.DataFrame(result) <= 0.05).mean()
    assert abs(sizes["chen-qin"] - 0.05) <= 3 * np.sqrt(0.05 * 0.95 / replicates) + 0.02
    assert sizes["dempster"] > 0.5


@pytest.mark.slow
def test_tests_have_power_against_alternatives() -> None:
    result = {
        unlike: many_columns.rejection_rates(100, 3, 40, 150, difference=unlike)
        for unlike in ("means, dense", "means, sparse", "covariances, dense", "covariances, sparse")
    }
    for name in ("dempster", "srivastava", "chen-qin"):
        assert result["means, dense"][name] > 0.3
        assert result["means, dense"][name] > result["means, dense"]["cai-liu-xia, means"]
        assert result["means, sparse"][name] < result["means, sparse"]["cai-liu-xia, means"] > 0.3
    for name in ("schott", "li-chen"):
        assert result["covariances, dense"][name] > max(
            0.3, result["covariances, dense"]["cai-liu-xia, covariances"]
        )
    assert result["covariances, sparse"]["cai-liu-xia, covariances"] > 0.3


# ---- refusals


@pytest.mark.filterwarnings("ignore::discrim.errors.WeightsWarning")
@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda d: manova("group ~ .", d), CollinearError, 'method="srivastava".*more variables'),
        (lambda d: box_m("group ~ .", d), CollinearError, r'method="schott" to box_m\(formula, data\)'),
        (
            lambda d: lda("group ~ .", d, covariance="shrunk").manova(),
            NotSupportedError,
            r'manova\(formula, data, method="srivastava"\)',
        ),
        (lambda d: box_m("group ~ .", d, method="scott"), DataError, "Did you mean 'schott'"),
        (lambda d: manova("group ~ .", d, method="schott"), DataError, "'dempster'"),
        (
            lambda d: box_m("group ~ .", TABLES["wine"], method="li-chen"),
            NotSupportedError,
            "'li-chen'.*4 rows",
        ),
        (
            lambda d: box_m("group ~ .", drawn(0, (5, 5, 5), 3), method="cai-liu-xia"),
            NotSupportedError,
            'method="schott"',
        ),
        (
            lambda d: manova("group ~ radius_mean", d, method="cai-liu-xia"),
            NotSupportedError,
            "another",
        ),
        (
            lambda d: manova("group ~ .", d.assign(k=d["group"].cat.codes), method="srivastava"),
            CollinearError,
            "'k'.*chen-qin",
        ),
        (
            lambda d: manova("group ~ .", d.assign(w=1.5), method="chen-qin", weights="w"),
            NotSupportedError,
            "'chen-qin'.*whole numbers",
        ),
        (
            lambda d: manova("group ~ .", d.assign(w=0.5), method="dempster", weights="w"),
            NotSupportedError,
            "of 17 rows sum to 8.5",
        ),
        (lambda d: manova("group * sex ~ x + y", d, method="dempster"), NotSupportedError, "one factor"),
        (
            lambda d: manova("group ~ .", d.iloc[[0, 1, 10, 11]], method="dempster"),
            NotSupportedError,
            "3 degrees",
        ),
    ],
)
def test_invalid_requests_name_the_problem(
    ask: Callable[[pd.DataFrame], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"(?s){message}"):
        ask(TWO.astype({"group": "category"}))


def test_constant_products_are_refused_only_if_they_differ_between_classes() -> None:
    signs = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    data = drawn(7, (6, 6), 3).assign(same=np.tile(signs, 2))
    without = box_m("group ~ . - same", data, method="cai-liu-xia").statistic
    assert box_m("group ~ .", data, method="cai-liu-xia").statistic >= without
    data["other"] = np.r_[signs, 2 * signs]
    with pytest.raises(NotSupportedError) as caught:
        box_m("group ~ . - same", data, method="cai-liu-xia")
    assert "'other'" in str(caught.value)


def test_many_columns_need_no_matrix_of_all_pairs() -> None:
    import tracemalloc

    p = 2000
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(24, p))).add_prefix("x")
    data["group"] = np.repeat(["a", "b"], 12)
    for ask in (
        lambda: box_m("group ~ .", data, method="schott"),
        lambda: manova("group ~ .", data, method="chen-qin"),
        lambda: manova("group ~ .", data, method="srivastava"),
    ):
        tracemalloc.start()
        ask()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.25 * 8 * p * p


def test_rows_that_exceed_the_memory_are_refused(memory_of: Callable[[float], None]) -> None:
    data = drawn(9, (300, 300), 40)
    memory_of(2 * 8.0 * 600 * 40)
    with pytest.raises(NotSupportedError) as caught:
        box_m("group ~ .", data, method="cai-liu-xia")
    assert '"cai-liu-xia"' in str(caught.value)
    box_m("group ~ .", data, method="li-chen")


def test_the_result_names_the_largest_difference() -> None:
    rng = np.random.default_rng(8)
    data = drawn(8, (30, 30), 6)
    data.loc[:29, "x5"] += 30 * rng.normal(size=30)
    result = box_m("group ~ .", data, method="cai-liu-xia")
    assert "largest for the variance of x5" in str(result)
    assert result.pvalue < 0.01
    assert discrim.box_m("group ~ .", data, method="schott").table.index.tolist() == ["normal"]
