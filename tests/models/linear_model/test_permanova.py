"""Permutation tests of distances and of spread: R's vegan, all orders of few rows, identities, refusals."""

from __future__ import annotations

import json
import pickle
from functools import cache
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from scipy.spatial.distance import pdist, squareform
from scipy.stats import f_oneway

from discrim import manova, mlm, permanova
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearWarning, DataError, DiscrimWarning, FormulaError, NotSupportedError
from discrim.inference import distance_tests as core
from tests.support import GOLDEN

FOUND = json.loads((GOLDEN / "permanova.json").read_text(encoding="utf-8"))
SPECIES = pd.DataFrame(FOUND["species"])
NAMES = " + ".join(SPECIES.columns)
DUNE = pd.concat([pd.DataFrame(FOUND["env"]), SPECIES], axis=1)
FEW = DUNE.iloc[np.array(FOUND["few"]) - 1].reset_index(drop=True)
EIGHT = DUNE.iloc[np.array(FOUND["eight"]) - 1].reset_index(drop=True)
EIGHT["half"], EIGHT["pair"] = np.repeat(["a", "b"], 4), np.repeat(list("pqrs"), 2)
IRIS, PENGUINS = load_iris(), load_penguins()
ALL = "species ~ ."


def same_table(result, expected, rtol=1e-10):
    assert [label.replace("management", "Management") for label in result.index[:-2]] == [
        label.replace("management", "Management") for label in expected["term"][:-2]
    ]
    for column in ("df", "SS", "R2", "F"):
        values = np.array(expected[column], dtype=float)
        np.testing.assert_allclose(result[column], values, rtol=rtol, err_msg=column)


# ---- R's vegan


def test_type_i_and_ii_tests_agree_with_adonis2():
    results = permanova(f"management * A1 ~ {NAMES}", DUNE, distance="bray-curtis", type=1, permutations=9)
    same_table(results.table, FOUND["terms"])
    margin = permanova(
        f"management + A1 + moisture ~ {NAMES}", DUNE, distance="bray-curtis", type=2, permutations=9
    )
    same_table(margin.table, FOUND["margin"])


@pytest.mark.parametrize("metric", FOUND["by_metric"])
def test_metrics_agree_with_vegdist(metric):
    expected = FOUND["by_metric"][metric]
    between = core.pairwise_distances(SPECIES.to_numpy(dtype=float), metric)
    np.testing.assert_allclose(
        squareform(between, checks=False), expected["distances"], rtol=1e-12, atol=1e-15
    )
    table = permanova(f"management ~ {NAMES}", DUNE, distance=metric, permutations=9).table
    assert table.loc["management", "F"] == pytest.approx(expected["F"], rel=1e-10)
    assert table.loc["management", "SS"] == pytest.approx(expected["SS"], rel=1e-10)
    arguments = permanova("management ~ 1", DUNE, distance=between, permutations=9).table
    np.testing.assert_allclose(arguments, table.assign(p=arguments["p"]), rtol=1e-10)


EXACT = {
    "labels": ("side", FEW, {}),
    "rows": ("side + A1", FEW, {}),
    "blocks": ("side + A1", EIGHT, {"within": "half"}),
    "plots": ("side + A1", EIGHT, {"groups": "pair"}),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_permutation_p_values_agree_with_vegan(name):
    terms, data, how = EXACT[name]
    results = permanova(
        f"{terms} ~ {NAMES}", data, distance="bray-curtis", type=1, permutations=50_000, seed=1, **how
    )
    assert results.exact
    expected = FOUND["exact"][name]
    np.testing.assert_allclose(results.table["F"].iloc[:-2], expected["F"][:-2], rtol=1e-10)
    np.testing.assert_allclose(results.table["p"].iloc[:-2], expected["p"][:-2], rtol=1e-12)


RANDOM = {
    "terms": ("moisture * A1", 1, {}),
    "margin": ("management + A1 + moisture", 2, {}),
    "blocks": ("management + A1", 1, {"within": "use"}),
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_permutation_p_values_agree_with_vegan(name):
    terms, kind, how = RANDOM[name]
    result = permanova(
        f"{terms} ~ {NAMES}", DUNE, distance="bray-curtis", type=kind, permutations=4999, seed=3, **how
    ).table.iloc[:-2]
    expected = FOUND["random"][name]
    np.testing.assert_allclose(result["F"], expected["F"][:-2], rtol=1e-10)
    theirs = np.array(expected["p"][:-2])
    # Both are random: four standard errors of their difference.
    slack = 4 * np.sqrt(2 * theirs * (1 - theirs) / 5000)
    assert (np.abs(result["p"] - theirs) <= slack + 2e-4).all()


@cache
def by_management(method):
    return permanova(f"management ~ {NAMES}", DUNE, distance=method, permutations=1999, seed=2)


@pytest.mark.parametrize("case", FOUND["spread"], ids=lambda c: f"{c['method']} {c['centre']} {c['adjust']}")
def test_dispersion_agrees_with_betadisper(case):
    result = by_management(case["method"]).dispersion(centre=case["centre"], bias_adjust=case["adjust"])
    # The median of vegan is that of a search whose last step is about 1e-6.
    rtol = 1e-8 if case["centre"] == "centroid" else 1e-4
    np.testing.assert_allclose(result.distances, case["distances"], rtol=rtol)
    assert result.table["df"].tolist() == case["df"]
    np.testing.assert_allclose(result.table["SS"], case["SS"], rtol=rtol)
    assert result.table["F"].iloc[0] == pytest.approx(case["F"], rel=rtol)
    assert result.table["p"].iloc[0] == pytest.approx(case["p"], rel=10 * rtol)
    pairs = result.pairs()
    np.testing.assert_allclose(pairs["t"], case["t"], rtol=10 * rtol)
    np.testing.assert_allclose(pairs["p"], case["pair_p"], rtol=100 * rtol)
    theirs = np.array([case["p_permutation"], *case["pair_p_permutation"]])
    ours = np.array([result.table["p_permutation"].iloc[0], *pairs["p_permutation"]])
    slack = 4.5 * np.sqrt(theirs * (1 - theirs) * (1 / 2000 + 1 / 5000))
    assert (np.abs(ours - theirs) <= slack + 1e-3).all()


# ---- all orders, and identities


def test_all_labellings_of_two_factors_equal_brute_force():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"a": list("xxyyzz"), "b": list("ssttst"), "y": rng.normal(size=6)})
    x = {
        "a": pd.get_dummies(data["a"]).to_numpy(float)[:, 1:],
        "b": pd.get_dummies(data["b"]).to_numpy(float)[:, 1:],
    }

    def left(y, *names):
        design = np.hstack([np.ones((6, 1)), *(x[name] for name in names)])
        return ((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum()

    def ratios(y):
        remaining = left(y, "a", "b")
        return np.array(
            [(left(y, "b") - remaining) / 2 / (remaining / 2), (left(y, "a") - remaining) / (remaining / 2)]
        )

    y = data["y"].to_numpy()
    drawn = np.array([ratios(y[list(order)]) for order in permutations(range(6))])
    results = permanova("a + b ~ y", data, permutations=720)
    assert results.exact
    assert results.labellings == 180  # Of 720 orders: two cells have two rows each.
    np.testing.assert_allclose(results.table["F"].iloc[:2], ratios(y), rtol=1e-10)
    expected = (drawn >= ratios(y) * (1 - 1e-9)).mean(axis=0)
    np.testing.assert_allclose(results.table["p"].iloc[:2], expected, rtol=1e-12)


def test_all_labellings_of_groups_within_blocks_equal_brute_force():
    rng = np.random.default_rng(6)
    data = pd.DataFrame(
        {"a": list("xxyyxxyyxxyy"), "block": np.repeat([1, 1, 2], 4), "y": rng.normal(size=12)}
    )
    data["plot"] = np.repeat(list("abcdef"), 2)
    y = data["y"].to_numpy()

    def ratio(order):
        return f_oneway(*(y[list(order)][data["a"] == level] for level in "xy")).statistic

    # Plots a to d are of the first block, e and f of the second.
    orders = [
        [row for plot in (*first, *second) for row in (2 * plot, 2 * plot + 1)]
        for first, second in product(permutations(range(4)), permutations((4, 5)))
    ]
    drawn = np.array([ratio(order) for order in orders])
    results = permanova("a ~ y", data, groups="plot", within="block", permutations=999)
    assert results.labellings == 12
    assert results.table.loc["a", "p"] == pytest.approx((drawn >= ratio(range(12)) - 1e-9).mean(), rel=1e-12)
    assert results.shuffled == "whole groups of 'plot' within 'block'"


def test_one_response_has_the_f_of_an_anova():
    table = permanova("species * sex ~ bill_depth_mm", PENGUINS, type=3, permutations=9).table
    expected = mlm("species * sex ~ bill_depth_mm", PENGUINS).anova(type=3)
    np.testing.assert_allclose(table["F"].iloc[:-2], expected["F"], rtol=1e-10)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_euclidean_sums_of_squares_are_sums_over_responses(kind):
    formula = "species * sex ~ bill_length_mm + bill_depth_mm"
    table = mlm(formula, PENGUINS).anova(type=kind)
    found = permanova(formula, PENGUINS, type=kind, permutations=9).table
    error = mlm(formula, PENGUINS).cov_resid.to_numpy().diagonal() * found.loc["residual", "df"]
    proportion = table["partial_R2"].unstack().loc[found.index[:-2]]
    squares = (proportion / (1 - proportion) * error).sum(axis=1)
    np.testing.assert_allclose(found["SS"].iloc[:-2], squares, rtol=1e-9)
    assert found.loc["residual", "SS"] == pytest.approx(error.sum(), rel=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "hellinger"])
def test_coordinates_and_products_give_the_same_tests(metric):
    x = SPECIES.to_numpy(dtype=float) + 1.0
    rows, table = core.RowSpace.from_metric(x[:, :9], metric), core.pairwise_distances(x[:, :9], metric)
    products = core.RowSpace.from_distances(table)
    assert (rows.is_gower_matrix, products.is_gower_matrix) == (False, True)
    contrast = np.linalg.qr(np.random.default_rng(1).normal(size=(20, 4)) - 0.1)[0]
    contrast -= contrast.mean(axis=0)
    np.testing.assert_allclose(rows.sums_of_squares(contrast), products.sums_of_squares(contrast), rtol=1e-10)
    assert rows.total == pytest.approx(products.total, rel=1e-12)
    wide = core.RowSpace.from_metric(x, metric)
    assert wide.is_gower_matrix
    np.testing.assert_allclose(
        wide.total, core.RowSpace.from_distances(core.pairwise_distances(x, metric)).total
    )
    for space in (rows, products):
        axes, values = space.principal_coordinates()
        assert (values[:9] > 0).all()
        np.testing.assert_allclose(squareform(pdist(axes)), table, atol=1e-7)
        for centre in ("median", "centroid"):
            codes = np.repeat([0, 1], [8, 12])
            np.testing.assert_allclose(
                core.distances_to_class_centres(space, codes, centre)[0],
                core.distances_to_class_centres(rows, codes, centre)[0],
                rtol=1e-7,
            )


def test_coordinates_have_the_distances_of_the_rows():
    result = permanova(ALL, IRIS, permutations=9).coordinates()
    assert result.columns.tolist() == ["PCo1", "PCo2", "PCo3", "PCo4"]
    np.testing.assert_allclose(pdist(result), pdist(IRIS.drop(columns="species")), rtol=1e-9)
    assert result.index.equals(IRIS.index)


@pytest.mark.parametrize("seed", range(12))
def test_the_spatial_median_minimizes_the_sum_of_distances(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_t(2, size=(7 + seed, 3)) * [1, 10, 0.1]

    def summed(point):
        return np.linalg.norm(x - point, axis=1).sum()

    result = core.spatial_median(x)
    expected = optimize.minimize(summed, x.mean(axis=0), method="Nelder-Mead", options={"xatol": 1e-9})
    assert summed(result) <= expected.fun * (1 + 1e-12)
    length = np.linalg.norm(x - result, axis=1)
    mask = length < 1e-9
    pull = ((x - result)[~mask] / length[~mask, None]).sum(axis=0)
    assert np.linalg.norm(pull) <= mask.sum() + 1e-8


def test_a_spatial_median_can_be_a_row_or_between_two_rows():
    star = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.3, -0.4]])
    np.testing.assert_allclose(core.spatial_median(star), [0, 0], atol=1e-12)
    np.testing.assert_allclose(core.spatial_median(star[1:3]), [0, 0], atol=1e-12)
    np.testing.assert_allclose(core.spatial_median(star[:1]), star[0])


# ---- manova


def test_permuted_multivariate_statistics_equal_brute_force():
    data = IRIS.groupby("species", observed=True).head(3).iloc[[0, 1, 2, 3, 4, 5]].reset_index(drop=True)
    data = data.assign(species=list("aabbab"))
    formula = "species ~ petal_length + sepal_width"
    seen = manova(formula, data)["statistic"]
    orders = {tuple(order) for order in permutations(data["species"])}
    drawn = pd.DataFrame([manova(formula, data.assign(species=list(order)))["statistic"] for order in orders])
    result = manova(formula, data, permutations=50)
    assert len(orders) == 20
    # Small values of Wilks' lambda are those of means that differ.
    sign = np.where(seen.index == "Wilks' lambda", -1.0, 1.0)
    larger = drawn * sign >= seen * sign - 1e-9 * seen
    np.testing.assert_allclose(result["p_permutation"], larger.mean(), rtol=1e-12)
    assert result.drop(columns="p_permutation").equals(manova(formula, data))


@pytest.mark.slow
def test_permuted_statistics_of_several_factors_equal_brute_force():
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"a": list("xxyxyy"), "b": list("stsstt"), "block": [1] * 3 + [2] * 3})
    data[["u", "v"]] = rng.normal(size=(6, 2))
    formula = "a + b ~ u + v"
    seen = mlm(formula, data).manova(type=2)["statistic"].unstack("test")
    orders = [[*first, *second] for first in permutations(range(3)) for second in permutations(range(3, 6))]
    values = data[["u", "v"]].to_numpy()
    larger = np.zeros((2, 2))
    for order in orders:
        shifted = data.assign(u=values[order, 0], v=values[order, 1])
        result = mlm(formula, shifted).manova(type=2)["statistic"].unstack("test")
        larger[0] += (result["Pillai's trace"] >= seen["Pillai's trace"] - 1e-9).to_numpy()
        larger[1] += (result["Wilks' lambda"] <= seen["Wilks' lambda"] + 1e-9).to_numpy()
    tested = manova(formula, data, permutations=600, within="block")["p_permutation"].unstack("test")
    np.testing.assert_allclose(tested["Pillai's trace"], larger[0] / len(orders), rtol=1e-12)
    np.testing.assert_allclose(tested["Wilks' lambda"], larger[1] / len(orders), rtol=1e-12)
    one = manova(formula, data, term="b", permutations=600, within="block")["p_permutation"]
    assert one["Pillai's trace"] == tested.loc["b", "Pillai's trace"]


@pytest.mark.slow
def test_manova_returns_the_table_of_permanova():
    formula = "species + sex ~ bill_length_mm + bill_depth_mm"
    full = permanova(formula, PENGUINS, distance="gower", seed=4).table
    assert manova(formula, PENGUINS, distance="gower", seed=4).equals(full)
    assert manova(formula, PENGUINS, term="sex", distance="gower", seed=4).equals(full.loc[["sex"]])
    assert manova(ALL, IRIS, permutations=99, seed=2).equals(manova(ALL, IRIS, permutations=99, seed=2))


# ---- rows


def test_weights_repeat_rows_and_option_columns_are_not_responses():
    data = DUNE.assign(times=np.where(DUNE.index < 5, 2, 1), block=np.arange(20) % 2)
    expected = permanova(
        f"management ~ {NAMES}", data.loc[data.index.repeat(data["times"])], permutations=9, seed=1
    ).table
    bare = data.drop(columns=["moisture", "use", "side", "A1"])
    results = permanova("management ~ .", bare, weights="times", within="block", permutations=9, seed=1)
    np.testing.assert_allclose(results.table.iloc[:, :4], expected.iloc[:, :4], rtol=1e-10)
    assert results.nobs == 25
    assert len(results.dispersion().distances) == 25
    numbered = IRIS.assign(block=np.arange(150) % 5)
    tested = manova(ALL, numbered, within="block", permutations=9, seed=1)
    assert tested.drop(columns="p_permutation").equals(manova(ALL, IRIS))
    assert (tested["p_permutation"] == 0.1).all()


def test_rows_with_missing_values_are_dropped():
    gaps = IRIS.copy()
    gaps.loc[3, "sepal_length"] = np.nan
    between = squareform(pdist(IRIS.drop(columns="species")))
    with_gaps = permanova(ALL, gaps, permutations=99, seed=1)
    without = permanova(ALL, gaps.drop(index=3), permutations=99, seed=1)
    assert with_gaps.table.equals(without.table)
    assert with_gaps.nobs == 149
    labels = gaps.assign(species=gaps["species"].where(gaps.index != 3))
    arguments = permanova("species ~ 1", labels, distance=between, permutations=99, seed=1)
    np.testing.assert_allclose(arguments.table, without.table, rtol=1e-9)
    with pytest.raises(DataError) as caught:
        permanova(ALL, gaps, na_action="raise")
    assert caught.value.columns == ("sepal_length",)
    assert caught.value.rows == (3,)


def test_tests_are_invariant_to_units_and_origins():
    formula = "species * sex ~ bill_length_mm + bill_depth_mm"
    table = permanova(formula, PENGUINS, seed=1).table
    shifted = PENGUINS.assign(
        bill_length_mm=1e7 + PENGUINS["bill_length_mm"], bill_depth_mm=PENGUINS["bill_depth_mm"] - 1e7
    )
    far = permanova(formula, shifted, seed=1).table
    np.testing.assert_allclose(far["F"], table["F"], rtol=1e-6)
    huge = PENGUINS.assign(
        bill_length_mm=1e150 * PENGUINS["bill_length_mm"], bill_depth_mm=1e150 * PENGUINS["bill_depth_mm"]
    )
    large = permanova(formula, huge, seed=1).table
    np.testing.assert_allclose(large[["R2", "F", "p"]], table[["R2", "F", "p"]], rtol=1e-12)
    np.testing.assert_allclose(large["SS"] / 1e300, table["SS"], rtol=1e-10)


def test_a_term_that_no_permutation_changes_has_no_p_value():
    data = PENGUINS.dropna()
    results = permanova(
        "island + sex ~ bill_length_mm", data, type=1, within="island", permutations=99, seed=1
    )
    assert np.isnan(results.table.loc["island", "p"])
    assert results.table.loc["sex", "p"] == 0.01
    assert "'island'" in " ".join(results.notes())
    formula = "island + sex ~ bill_length_mm + bill_depth_mm"
    tested = manova(formula, data, within="island", permutations=9, seed=1)["p_permutation"]
    assert tested["island"].isna().all()
    assert tested["sex"].notna().all()
    alone = data.assign(island=data["island"].astype(str).where(data.index != data.index[0], "Rock"))
    with pytest.warns(DiscrimWarning, match="'Rock'"):
        spread = permanova("island ~ bill_length_mm", alone, permutations=9).dispersion(bias_adjust=True)
    assert spread.groups.loc["Rock", "distance"] == 0


def test_equivalent_labellings_count_as_ties():
    # 20 labellings come in pairs of one F, which sums of other orders differ in by rounding.
    data = pd.DataFrame({"a": list("xxxyyy"), "y": [0.1, 0.2, 0.3, 1.1, 1.2, 1.3]})
    assert permanova("a ~ y", data).table.loc["a", "p"] == pytest.approx(2 / 20)


# ---- what is shown, and refused


def test_summaries_and_tables_have_their_columns():
    results = permanova("species * sex ~ bill_length_mm + bill_depth_mm", PENGUINS, permutations=99, seed=1)
    assert list(results.summary().tables) == ["header", "tests"]
    assert results.tidy().columns.tolist() == ["term", "df", "sumsq", "R2", "statistic", "p_value"]
    assert results.glance().loc[0, "R2"] == pytest.approx(1 - results.table.loc["residual", "R2"])
    assert results.permuted.shape == (99, 3)
    spread = results.dispersion("sex:species")
    assert spread.groups["rows"].sum() == 333
    assert spread.groups.index[0] == "Adelie:female"
    assert len(spread.pairs()) == 15
    assert spread.tidy()["term"].tolist() == ["species:sex", "residual"]
    f = f_oneway(
        *(
            rows
            for _, rows in spread.distances.groupby(
                results._classes_of_term("species:sex", "dispersion()")[0]
            )
        )
    )
    assert spread.table.iloc[0]["F"] == pytest.approx(f.statistic)
    assert spread.table.iloc[0]["p"] == pytest.approx(f.pvalue)


@pytest.mark.slow
def test_plots_have_titles_and_data():
    results = permanova("species * sex ~ bill_length_mm + bill_depth_mm", PENGUINS, permutations=99, seed=1)
    for axes in (results.plot(), results.plot("coordinates", term="sex"), results.dispersion("sex").plot()):
        assert axes.get_title()
        assert axes.has_data()
    assert results.plot(term="sex", title="Sex").get_title() == "Sex"
    assert "F of sex" in results.plot(term="sex").get_title()


@pytest.mark.filterwarnings("ignore::discrim.errors.CollinearWarning")
def test_invalid_requests_name_the_problem(monkeypatch):
    two = DUNE.assign(plot=np.r_[np.zeros(3), np.ones(17)], same=DUNE["management"])
    between = squareform(pdist(SPECIES))
    lopsided, far = between.copy(), between.copy()
    lopsided[2, 5] += 1
    far[4, 4] = 1
    formula = f"management ~ {NAMES}"
    cases = [
        (lambda: permanova(formula, DUNE, distance="bray"), "'bray-curtis'"),
        (lambda: permanova(formula, DUNE, distance=3.0), "square"),
        (lambda: permanova(formula, DUNE, distance=[["a"]]), "metric"),
        (lambda: permanova(formula, DUNE, distance=between), "Write 1"),
        (lambda: permanova("management ~ 1", DUNE), "no predictor"),
        (lambda: permanova("management ~ 1", DUNE, distance=lopsided), "rows 2 and 5"),
        (lambda: permanova("management ~ 1", DUNE, distance=far), "rows 4 and 4"),
        (lambda: permanova("management ~ 1", DUNE, distance=between[1:, 1:]), "20 rows"),
        (lambda: permanova("management ~ 1", DUNE, distance=pd.DataFrame(between).iloc[::-1]), "Align"),
        (lambda: permanova("management ~ 1", DUNE, distance=0 * between), "zero"),
        (lambda: permanova(formula, DUNE.assign(Achimill=-1.0), distance="jaccard"), "'Achimill'"),
        (lambda: permanova(formula, DUNE, permutations=0), "permutations=0"),
        (lambda: permanova(formula, DUNE, seed=-1), "seed=-1"),
        (lambda: permanova(formula, two, groups="plot"), "'plot'.* different numbers"),
        (lambda: permanova(formula, two, within="same"), "within 'same'"),
        (lambda: permanova(formula, DUNE, within="nobody"), "nobody"),
        (
            lambda: permanova(formula, DUNE.assign(side=None), within="side"),
            "within= has a missing value at row 0",
        ),
        (lambda: permanova(formula, DUNE, weights=np.full(20, 0.5)), "whole numbers"),
        (lambda: permanova("management + C(row) ~ Achimill", DUNE.assign(row=range(20))), "no degrees"),
        (lambda: manova(formula, DUNE, within="side"), "permutations=999"),
        (lambda: manova(formula, DUNE, distance="gower", levels=["a"]), "levels="),
        (lambda: permanova(formula, iter([DUNE])), "part by part"),
        (lambda: permanova("management + A1 ~ Achimill", DUNE).dispersion("A1"), "no factor"),
        (lambda: permanova("management + A1 ~ Achimill", DUNE).dispersion(), "several terms"),
    ]
    for ask, message in cases:
        with pytest.raises((DataError, FormulaError, NotSupportedError), match=message):
            ask()
    monkeypatch.setattr("discrim.core.numerics.arrays.available_memory", lambda: 1e4)
    with pytest.raises(DataError) as caught:
        permanova(formula, DUNE, distance="manhattan")
    assert "sample" in str(caught.value)


def test_a_fit_without_residuals_has_no_finite_f():
    data = pd.DataFrame({"a": list("xxyyzz"), "y": [1.0, 1, 2, 2, 5, 5]})
    results = permanova("a ~ y", data)
    assert np.isinf(results.table.loc["a", "F"])
    assert results.table.loc["a", "p"] == pytest.approx(6 / 90)
    with pytest.warns(CollinearWarning):
        permanova("management * side ~ Achimill", DUNE.query("management != 'BF' or side == 'a'"))


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_negative_squared_distances_cause_a_warning():
    between = np.ones((4, 4)) - np.eye(4)
    between[0, 1] = between[1, 0] = 5.0
    data = pd.DataFrame({"a": list("xyxx")})
    results = permanova("a ~ 1", data, distance=between)
    assert results.table.loc["residual", "SS"] > 0
    far = np.ones((4, 4)) - np.eye(4)
    far[2, :2] = far[:2, 2] = 0.1
    spread = permanova("a ~ 1", data.assign(a=list("xxxy")), distance=far)
    with pytest.warns(DiscrimWarning, match="negative"):
        spread.dispersion(centre="centroid")


def test_dispersion_requires_a_class_of_three_rows():
    twos = pd.DataFrame({"g": [*"aabbcc"], "x": [0.0, 1, 5, 9, 4, 4.5], "y": [1.0, 3, 2, 2, 7, 5]})
    with pytest.raises(DataError) as caught:
        permanova("g ~ x + y", twos, seed=1).dispersion()
    assert "classes" in str(caught.value)
    assert len(permanova("g ~ x + y", twos.assign(g=[*"aaabbc"]), seed=1).table) == 3


@pytest.mark.parametrize("metric", ["bray-curtis", "jaccard", "canberra"])
def test_a_row_of_zeros_has_distance_one_from_all_others(metric):
    rng = np.random.default_rng(5)
    counts = pd.DataFrame(rng.poisson(3, size=(12, 4)) + 1.0, columns=list("abcd"))
    counts.loc[3] = 0.0
    data = counts.assign(site=list("xy") * 6)
    # Formulas of vegan's vegdist, pair by pair.
    x = counts.to_numpy()
    table = np.zeros((12, 12))
    for i, j in np.ndindex(12, 12):
        if i != j:
            d, s = np.abs(x[i] - x[j]), x[i] + x[j]
            bray = d.sum() / s.sum()
            jaccard = 2 * bray / (1 + bray)
            table[i, j] = {"bray-curtis": bray, "jaccard": jaccard, "canberra": (d[s > 0] / s[s > 0]).mean()}[
                metric
            ]
    np.testing.assert_allclose(np.delete(table[3], 3), 1.0)
    results = permanova("site ~ a + b + c + d", data, distance=metric, permutations=19, seed=1)
    expected = permanova("site ~ 1", data, distance=table, permutations=19, seed=1)
    np.testing.assert_allclose(results.table, expected.table, rtol=1e-10)
    data.loc[7, list("abcd")] = 0.0
    with pytest.raises(DataError) as caught:
        permanova("site ~ a + b + c + d", data, distance=metric, permutations=19)
    assert "rows 3, 7" in str(caught.value)


@pytest.mark.parametrize("metric", ["hellinger", "cosine"])
def test_a_row_of_zeros_is_refused_by_hellinger_and_cosine(metric):
    data = pd.DataFrame({"a": [1.0, 2, 0, 4], "b": [2.0, 1, 0, 1], "site": list("xyxy")})
    with pytest.raises(DataError) as caught:
        permanova("site ~ a + b", data, distance=metric, permutations=19)
    assert "row 2" in str(caught.value)


# ---- pairs of classes


@pytest.mark.slow
def test_pairs_are_the_tests_of_the_rows_of_two_classes():
    rows = load_penguins().dropna().iloc[::3]
    formula = "species + sex ~ bill_length_mm + bill_depth_mm"
    for distance in ("euclidean", "bray-curtis"):
        tested = permanova(formula, rows, distance=distance, permutations=99, seed=1)
        table = tested.pairs("species")
        assert list(table.index.names) == ["a", "b"]
        for pair in table.index:
            of_two = rows[rows["species"].isin(pair)]
            own = permanova(formula, of_two, distance=distance, permutations=99, seed=1).table.loc["species"]
            np.testing.assert_allclose(table.loc[pair, ["df", "SS", "R2", "F", "p"]], own, rtol=1e-9)


def test_a_pair_has_the_pseudo_f_of_anderson():
    rows = load_iris()
    y = rows.drop(columns="species").to_numpy()
    table = permanova("species ~ .", rows, distance="manhattan", permutations=99, seed=1).pairs(adjust="none")
    assert "p_adjusted" not in table
    for a, b in table.index:
        squared = np.abs(y[:, None] - y).sum(axis=2) ** 2
        in_a, in_b = (rows["species"] == label for label in (a, b))

        def mean_square(mask, squared=squared):
            return squared[np.ix_(mask, mask)].sum() / (2 * mask.sum())

        total, within = mean_square(in_a | in_b), mean_square(in_a) + mean_square(in_b)
        f = (total - within) / (within / (in_a.sum() + in_b.sum() - 2))
        assert table.loc[(a, b), "F"] == pytest.approx(f, rel=1e-10)
        assert table.loc[(a, b), "R2"] == pytest.approx(1 - within / total, rel=1e-10)


def test_pairs_adjust_p_values_and_permute_within_blocks():
    few = pd.DataFrame({"g": list("aabbaabbcc"), "block": list("1111222233"), "y": range(10)})
    with pytest.raises(DataError) as error:
        permanova("g ~ y", few, within="block", permutations=9, seed=1).pairs()
    # The rows of "c" are a block of their own.
    assert error.value.classes == ("b", "c") or error.value.classes == ("a", "c")
    rows = load_penguins().dropna().iloc[::3]
    tested = permanova("island ~ bill_length_mm + bill_depth_mm", rows, permutations=99, seed=1)
    table = tested.pairs(adjust="bonferroni")
    np.testing.assert_allclose(table["p_adjusted"], np.minimum(3 * table["p"], 1))
    assert (tested.pairs()["p_adjusted"] <= table["p_adjusted"]).all()


def test_a_pair_that_no_permutation_changes_does_not_count():
    # Chinstraps and Gentoos share no island.
    tested = permanova("species + sex ~ body_mass_g", PENGUINS, within="island", permutations=99, seed=1)
    table = tested.pairs("species", adjust="bonferroni")
    assert table["p"].isna().tolist() == [False, False, True]
    np.testing.assert_allclose(table["p_adjusted"], np.minimum(2 * table["p"], 1))


def test_pairs_that_cannot_be_tested_are_refused():
    rows = load_penguins().dropna()
    tested = permanova("species * sex + body_mass_g ~ bill_length_mm", rows, permutations=9, seed=1, type=3)
    with pytest.raises(NotSupportedError) as refused:
        tested.pairs("species")
    assert refused.value.options == {"type": 2}
    for term, adjust in (("species:sex", "holm"), ("body_mass_g", "holm"), (None, "holm")):
        with pytest.raises(DataError):
            tested.pairs(term, adjust=adjust)
    plain = permanova("species ~ bill_length_mm", rows, permutations=9, seed=1)
    with pytest.raises(DataError):
        plain.pairs(adjust="tukey")
    with pytest.raises(NotSupportedError):
        pickle.loads(pickle.dumps(plain)).pairs()
