"""Linear models without factors: repeated measures of one group, and covariates alone, against R's car."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discrim import manova, mlm, permanova
from discrim.errors import DataError, FormulaError
from tests.support import GOLDEN

FOUND = json.loads((GOLDEN / "one_group.json").read_text(encoding="utf-8"))
TABLE = pd.DataFrame(FOUND["table"])
RESPONSES = [name for name in TABLE if name not in ("age", "weight")]
WITHIN = pd.DataFrame({"phase": np.repeat(["pre", "post", "fup"], 3), "hour": np.tile([1, 2, 3], 3)})
ONE_GROUP = f"1 ~ {' + '.join(RESPONSES)}"
FIRST = "pre_1 + post_1 + fup_1"


@pytest.mark.parametrize("kind", [2, 3])
def test_repeated_measures_of_one_group_agree_with_car(kind):
    measures, own = mlm(ONE_GROUP, TABLE).repeated(WITHIN), FOUND["repeated"]
    tests, univariate, spherical = measures.tests(type=kind), measures.univariate(kind), measures.sphericity()
    assert list(tests.index) == ["constant", "phase", "hour", "phase:hour"]
    for label in tests.index:
        name = "(Intercept)" if label == "constant" else label
        found = tests.loc[label, ["statistic", "F", "df1", "df2"]].astype(float)
        np.testing.assert_allclose(found, own["pillai"][name], rtol=1e-9)
        columns = ["SS", "df1", "SS_error", "df2", "F", "p"]
        np.testing.assert_allclose(univariate.loc[label, columns], own["univariate"][name], rtol=1e-9)
    for label in tests.index[1:]:
        found = univariate.loc[label, ["GG", "p_GG", "HF", "p_HF"]]
        np.testing.assert_allclose(found, own["adjusted"][label], rtol=1e-8)
        assert spherical.loc[label, "mauchly"] == pytest.approx(own["mauchly"][label][0], rel=1e-9)


def test_means_of_one_group_have_the_intervals_of_single_means():
    measures = mlm(ONE_GROUP, TABLE).repeated(WITHIN)
    table = measures.means()
    assert table.index.names == ["observations", "response"]
    np.testing.assert_allclose(table["mean"], TABLE[RESPONSES].mean())
    low, high = stats.t.interval(0.95, len(TABLE) - 1, TABLE[RESPONSES].mean(), TABLE[RESPONSES].sem())
    np.testing.assert_allclose(table[["low", "high"]], np.array([low, high]).T, rtol=1e-10)
    axes = measures.plot()
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), table["mean"])
    assert axes.get_legend() is None


def test_the_mean_of_one_group_is_tested_by_hotellings_t2():
    rows = TABLE[["pre_1", "post_1"]].to_numpy(float) - 4
    n, p = rows.shape
    t2 = n * rows.mean(axis=0) @ np.linalg.solve(np.cov(rows.T), rows.mean(axis=0))
    table = mlm("1 ~ I(pre_1 - 4) + I(post_1 - 4)", TABLE).linear_hypothesis("constant = 0")
    f = t2 * (n - p) / (p * (n - 1))
    np.testing.assert_allclose(table["F"], f, rtol=1e-10)


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize(("name", "formula"), [("covariates", "age + weight"), ("product", "age * weight")])
def test_covariates_alone_agree_with_car(name, formula, kind):
    table = manova(f"{formula} ~ {FIRST}", TABLE, type=kind)
    for term, own in FOUND[name][str(kind)].items():
        if term != "(Intercept)":
            found = table.loc[(term, "Pillai's trace"), ["statistic", "F", "df1", "df2"]].astype(float)
            np.testing.assert_allclose(found, own, rtol=1e-8)


def test_a_single_covariate_is_written_as_an_expression():
    found = mlm(f"I(age) ~ {FIRST}", TABLE).tests().iloc[0][["statistic", "F", "df1", "df2"]].astype(float)
    np.testing.assert_allclose(found, FOUND["single"]["age"], rtol=1e-9)
    table = manova(f"I(age) ~ {FIRST}", TABLE, permutations=19, seed=1)
    assert table.index.unique("term").tolist() == ["I(age)"]
    found = table.loc[("I(age)", "Pillai's trace"), ["statistic", "F", "df1", "df2"]].astype(float)
    np.testing.assert_allclose(found, FOUND["single"]["age"], rtol=1e-9)
    functions = {"old": lambda age: np.where(age > 40, "yes", "no")}
    categories = manova(f"old(age) ~ {FIRST}", TABLE, functions=functions)
    old = manova(f"old ~ {FIRST}", TABLE.assign(old=functions["old"](TABLE["age"])))
    pd.testing.assert_frame_equal(categories, old)


def test_covariates_alone_in_a_test_of_distances():
    # With Euclidean distances the sums of squares are those of the responses, added up.
    x = np.column_stack([np.ones(len(TABLE)), TABLE[["age", "weight"]]])
    y = TABLE[["pre_1", "post_1", "fup_1"]].to_numpy(float)

    def error(columns):
        return ((y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]) ** 2).sum()

    for distance in ("euclidean", np.linalg.norm(y[:, None] - y, axis=2)):
        right = FIRST if isinstance(distance, str) else "1"
        table = permanova(f"age + weight ~ {right}", TABLE, distance=distance, permutations=19, seed=1).table
        explained = [error(x[:, [0, 2]]) - error(x), error(x[:, :2]) - error(x)]
        np.testing.assert_allclose(table["SS"].iloc[:3], [*explained, error(x)], rtol=1e-9)
        np.testing.assert_allclose(table["F"].iloc[:2], explained / (error(x) / 13), rtol=1e-9)


@pytest.mark.parametrize("formula", ["1 ~ .", "cbind(pre_1, post_1) ~ 1"])
def test_the_constant_is_the_mean(formula):
    fit = mlm(formula, TABLE)
    np.testing.assert_allclose(fit.params.loc["constant"], TABLE[fit.responses].mean())
    assert list(fit.terms) == []
    assert "Coefficients" in fit.summary().as_text()
    assert pickle.loads(pickle.dumps(fit)).nobs == len(TABLE)


def test_missing_values_weights_and_sources_of_one_group():
    rows = TABLE.astype(float).assign(w=np.arange(len(TABLE)) % 3)
    rows.loc[3, "pre_1"] = np.nan
    fit = mlm(ONE_GROUP, rows, weights="w")
    repeated = rows.loc[rows.index.repeat(rows["w"])].dropna()
    np.testing.assert_allclose(fit.params.loc["constant"], repeated[RESPONSES].mean())
    assert fit.nobs == len(repeated)
    by_chunks = mlm(ONE_GROUP, lambda: iter([rows.iloc[:7], rows.iloc[7:]]), weights="w")
    np.testing.assert_allclose(by_chunks.cov_resid, fit.cov_resid, rtol=1e-10)


@pytest.mark.parametrize("left", ["1", "x + z"])
def test_measurements_of_a_source_are_not_read_as_classes(left):
    names = ["x", "z", "y1", "y2"]
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(300, 4)), columns=names)
    by_chunks = mlm(f"{left} ~ y1 + y2", lambda: iter([rows.iloc[:100], rows.iloc[100:]]))
    np.testing.assert_allclose(by_chunks.cov_resid, mlm(f"{left} ~ y1 + y2", rows).cov_resid, rtol=1e-10)


def test_a_mean_far_from_zero_has_the_f_of_the_other_statistics():
    rows = TABLE[["pre_1", "post_1"]] + 1e9
    tests = mlm("1 ~ pre_1 + post_1", rows).linear_hypothesis("constant = 0")
    np.testing.assert_allclose(tests["F"], tests.loc["Wilks' lambda", "F"], rtol=1e-10)


def test_a_model_without_terms_has_no_test_of_terms():
    fit = mlm(ONE_GROUP, TABLE)
    calls = [fit.tests, fit.manova, fit.anova, fit.effect_sizes, fit.canonical, fit.profile]
    calls += [lambda: manova(ONE_GROUP, TABLE), lambda: permanova(ONE_GROUP, TABLE)]
    for call in calls:
        with pytest.raises(DataError) as error:
            call()
        assert "no term" in error.value.message
    with pytest.raises(DataError) as error:
        fit.marginal_means("age")
    assert error.value.columns == ("age",)


def test_responses_that_are_no_numbers_are_refused():
    rows = TABLE.assign(group=list("ab") * 8)
    for formula in ("1 ~ group", "1 ~ pre_1 + group", "age + weight ~ group"):
        with pytest.raises(FormulaError) as error:
            mlm(formula, rows)
        assert error.value.columns == ("group",)
    with pytest.raises(DataError) as error:
        mlm("1 ~ pre_1 + post_1", TABLE.assign(pre_1=np.inf))
    assert error.value.columns == ("pre_1",)
