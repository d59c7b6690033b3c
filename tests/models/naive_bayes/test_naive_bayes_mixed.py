"""Naive Bayes of mixed columns against e1071, kernel sums of R, scikit-learn, formulas by hand, and refits.

``golden/naive_bayes_mixed.json`` was written by ``golden/write_naive_bayes_mixed.R``, which says how.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multinomial, norm
from sklearn.naive_bayes import CategoricalNB, GaussianNB, MultinomialNB

from discrim import compare, load, naive_bayes
from discrim.datasets import load as load_table
from discrim.datasets import load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    EmptyClassWarning,
    MissingPredictionWarning,
    NotSupportedError,
)
from discrim.models.base.tensor_file import read_file, write_file
from tests import support

GOLDEN = json.loads((support.GOLDEN / "naive_bayes_mixed.json").read_text(encoding="utf-8"))
IRIS, PENGUINS = load_iris(), load_penguins()
MIXED = "species ~ bill_length_mm + bill_depth_mm + island + sex + C(year) + heavy"


def penguins() -> pd.DataFrame:
    return PENGUINS.assign(heavy=PENGUINS["body_mass_g"] > 4000, w=1.0 + np.arange(len(PENGUINS)) % 3)


def words(rows: int = 60, seed: int = 5) -> pd.DataFrame:
    """Counts of six words in three kinds of texts; one text has no words, one word is in one kind only."""
    rng = np.random.default_rng(seed)
    kinds = np.arange(rows) % 3
    rates = np.array([[5, 1, 1, 3, 0.2, 0], [1, 5, 1, 3, 0.2, 0], [1, 1, 4, 3, 0.2, 2]])
    counts = rng.poisson(rates[kinds]).astype(float)
    counts[4] = 0
    frame = pd.DataFrame(counts, columns=[f"word{j}" for j in range(6)])
    return frame.assign(kind=np.array(["news", "sport", "mail"])[kinds], times=1.0 + np.arange(rows) % 2)


WORDS = [f"word{j}" for j in range(6)]


def answers(rows: int = 90, seed: int = 3) -> pd.DataFrame:
    """Two categorical columns, truth values and a measure, in two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    return pd.DataFrame(
        {
            "y": np.where(y == 1, "yes", "no"),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "size": pd.Categorical(
                rng.choice(["s", "m", "l"], rows), categories=["s", "m", "l"], ordered=True
            ),
            "round": rng.random(rows) < 0.3 + 0.3 * y,
            "weight": rng.normal(y, 1.0),
            "times": 1.0 + np.arange(rows) % 3,
        }
    )


# ------------------------------------------------------------------ against R


def golden_table(name: str, case: dict) -> pd.DataFrame:
    if not name.startswith("votes"):
        return PENGUINS
    return support.classic_table("mlbench_HouseVotes84")


@pytest.mark.parametrize("name", GOLDEN["mixed"])
def test_tables_and_posteriors_with_missing_values_agree_with_e1071(name):
    case = GOLDEN["mixed"][name]
    data = golden_table(name, case)
    data = data[data[case["response"]].notna()]
    terms = [*case["numeric"], *(f"C({c})" if c == "year" else c for c in case["categorical"])]
    fit = naive_bayes(f"{case['response']} ~ {' + '.join(terms)}", data, laplace=case["laplace"])
    assert fit.nobs == case["rows"]
    assert fit.classes.tolist() == case["classes"]
    for column, expected in case["tables"].items():
        table = fit.tables["C(year)" if column == "year" else column]
        assert [str(level) for level in table.columns] == expected["levels"]
        np.testing.assert_allclose(table, expected["shares"], rtol=1e-14)
    for column, expected in case["moments"].items():
        np.testing.assert_allclose(fit.means[column], np.array(expected)[:, 0], rtol=1e-13)
        np.testing.assert_allclose(fit.sds[column], np.array(expected)[:, 1], rtol=1e-13)
    rows = data.iloc[:: case["every"]]
    holed = rows[[*case["numeric"], *case["categorical"]]].isna().any(axis=1)
    assert holed.any() or case["response"] == "sex"
    np.testing.assert_allclose(fit.predict_proba(rows), case["posteriors"], rtol=1e-10, atol=1e-14)


def test_a_contingency_table_is_rows_with_weights():
    case = GOLDEN["contingency"]
    fit = naive_bayes("saved ~ deck + sex + age", pd.DataFrame(case["cells"]), weights="times")
    for column, expected in case["tables"].items():
        assert fit.tables[column].columns.tolist() == expected["levels"]
        np.testing.assert_allclose(fit.tables[column], expected["shares"], rtol=1e-14)
    proba = fit.predict_proba(pd.DataFrame(case["new"]))
    np.testing.assert_allclose(proba, case["posteriors"], rtol=1e-13)


@pytest.mark.parametrize("name", GOLDEN["kernels"])
def test_bandwidths_and_kernel_posteriors_agree_with_r(name):
    case = GOLDEN["kernels"][name]
    data = load_table(case["data"]).dropna(subset=case["columns"])
    rule = "nrd" if name.endswith("nrd") else "nrd0"
    fit = naive_bayes(
        f"{case['response']} ~ {' + '.join(case['columns'])}", data, kernel=True, bandwidth=rule
    )
    np.testing.assert_allclose(fit.bandwidths, case["bandwidths"], rtol=1e-13)
    proba = fit.predict_proba(data.iloc[:: case["every"]])
    np.testing.assert_allclose(proba, case["posteriors"], rtol=1e-10, atol=1e-14)


def test_density_of_r_equals_the_kernel_sum_up_to_its_grid():
    # density() bins the rows on a grid of 512 points before it smooths them; iris's column has one decimal.
    grid = GOLDEN["kernels"]["iris"]["grid"]
    fit = naive_bayes("species ~ .", IRIS, kernel=True)
    ours = fit.density("sepal_length", grid["x"])["setosa"].to_numpy()
    np.testing.assert_allclose(ours, grid["y"], atol=2e-3 * max(grid["y"]))


# ------------------------------------------------------------------ against scikit-learn


@pytest.mark.parametrize("laplace", [0.5, 1.0, 3.0])
def test_tables_agree_with_scikit_learn(laplace):
    data = answers()
    codes = np.column_stack(
        [pd.factorize(data["colour"], sort=True)[0], data["size"].cat.codes, data["round"]]
    )
    theirs = CategoricalNB(alpha=laplace).fit(codes, data["y"])
    fit = naive_bayes("y ~ colour + size + round", data, laplace=laplace)
    assert fit.tables["size"].columns.tolist() == ["s", "m", "l"]
    assert fit.tables["round"].columns.tolist() == [False, True]
    for table, logs in zip(fit.tables.values(), theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(np.log(table), logs, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fit.predict_log_proba(), theirs.predict_log_proba(codes), rtol=1e-12)
    expected = naive_bayes("y ~ colour + size + round", data, laplace=laplace, weights="times")
    weighted = CategoricalNB(alpha=laplace).fit(codes, data["y"], sample_weight=data["times"])
    np.testing.assert_allclose(expected.predict_proba(), weighted.predict_proba(codes), rtol=1e-12)


@pytest.mark.parametrize("laplace", [0.1, 1.0])
@pytest.mark.parametrize("counts", [True, WORDS])
def test_counts_agree_with_scikit_learn(laplace, counts):
    data = words()
    theirs = MultinomialNB(alpha=laplace).fit(data[WORDS], data["kind"])
    fit = naive_bayes(f"kind ~ {' + '.join(WORDS)}", data, counts=counts, laplace=laplace)
    np.testing.assert_allclose(np.log(fit.multinomial), theirs.feature_log_prob_, rtol=1e-12)
    logs = theirs.predict_log_proba(data[WORDS])
    np.testing.assert_allclose(fit.predict_log_proba(), logs, rtol=1e-10, atol=1e-13)


def test_the_mixed_score_is_the_sum_of_the_models_of_its_columns():
    data = answers().join(words(90)[WORDS])
    formula = "y ~ colour + weight + " + " + ".join(WORDS)
    fit = naive_bayes(formula, data, counts=WORDS, laplace=1, method="mle")
    prior = np.log(fit.prior.to_numpy())
    codes = pd.factorize(data["colour"], sort=True)[0][:, None]
    column_fits = [
        CategoricalNB(alpha=1).fit(codes, data["y"]).predict_log_proba(codes),
        MultinomialNB(alpha=1).fit(data[WORDS], data["y"]).predict_log_proba(data[WORDS]),
        GaussianNB(var_smoothing=0).fit(data[["weight"]], data["y"]).predict_log_proba(data[["weight"]]),
    ]
    total = sum(column_fits) - 2 * prior
    total -= np.logaddexp(*total.T)[:, None]
    np.testing.assert_allclose(fit.predict_log_proba(), total, rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------ missing values, zeros, levels


@pytest.mark.parametrize(
    "gone", [["island"], ["sex", "bill_depth_mm"], ["heavy"], ["bill_length_mm", "year"]]
)
def test_a_missing_column_leaves_the_posterior_of_the_fit_without_it(gone):
    data = penguins().dropna()
    options = {"kernel": ["bill_depth_mm"], "laplace": 1}
    fit = naive_bayes(MIXED, data, **options)
    holed = data.astype({"heavy": object, "year": float, "island": object, "sex": object})
    holed[gone] = np.nan
    others = [term for term in MIXED[10:].split(" + ") if term not in gone and term[2:-1] not in gone]
    options["kernel"] = [term for term in options["kernel"] if term not in gone]
    other = naive_bayes(f"species ~ {' + '.join(others)}", data, **options)
    np.testing.assert_allclose(fit.predict_proba(holed), other.predict_proba(data), rtol=1e-10)


def test_rows_with_only_missing_values_have_the_prior():
    data = answers().join(words(90)[WORDS])
    fit = naive_bayes(
        "y ~ colour + round + weight + word0 + word1", data, counts=["word0", "word1"], laplace=1
    )
    row = pd.DataFrame({name: [None] for name in ("colour", "round")}).assign(
        weight=np.nan, word0=np.nan, word1=np.nan
    )
    np.testing.assert_allclose(fit.predict_proba(row).iloc[0], fit.prior, rtol=1e-14)


def test_missing_counts_leave_the_multinomial_of_the_others():
    fit = naive_bayes(f"kind ~ {' + '.join(WORDS)}", words(), counts=True, laplace=1)
    row = pd.Series([2.0, 0, 1, 3, 0, 1], index=WORDS)
    observed = ["word0", "word2", "word3"]
    proportions = fit.multinomial[observed].div(fit.multinomial[observed].sum(axis=1), axis=0)
    counts = row[observed].to_numpy()
    joint = [
        fit.prior[k] * multinomial.pmf(counts, counts.sum(), proportions.loc[k].to_numpy())
        for k in fit.classes
    ]
    actual = fit.predict_proba(row.where(row.index.isin(observed)).to_frame().T).iloc[0]
    np.testing.assert_allclose(actual, np.array(joint) / sum(joint), rtol=1e-12)


def test_levels_unseen_in_a_class_have_probability_zero():
    data = pd.DataFrame({"y": list("aaabbbccc"), "u": list("xxyyyzzzz"), "v": list("ppqqqqppq")})
    fit = naive_bayes("y ~ u + v", data)
    rows = pd.DataFrame({"u": ["x", "x", "z"], "v": ["p", "q", "p"]}, index=["one", "two", "three"])
    assert np.isneginf(fit.predict_log_proba(rows)[["b", "c"]].to_numpy()[:2]).all()
    assert fit.predict_proba(rows).loc["three"].tolist() == [0.0, 0.0, 1.0]
    nowhere = pd.DataFrame({"u": ["x", "z"], "v": ["p", "p"]}, index=["possible", "not"])
    fit = naive_bayes("y ~ u + v", data[data["y"] != "c"].assign(v=list("ppqqqq")))
    with pytest.raises(DataError) as caught:
        naive_bayes("y ~ u", data.iloc[:5]).predict(nowhere)
    assert caught.value.rows == ("not",)
    impossible = nowhere.assign(u=["x", "z"], v=["p", "p"])
    for ask in (fit.predict, fit.predict_proba, fit.predict_log_proba):
        with pytest.warns(MissingPredictionWarning, match="'not'"):
            actual = pd.DataFrame(ask(impossible))
        assert actual.notna().all(axis=1).tolist() == [True, False]
    assert naive_bayes("y ~ u + v", data, laplace=1).predict_proba(impossible).notna().all(axis=None)


def test_counts_unseen_in_a_class_are_impossible_only_if_positive():
    data = words()
    assert (data.loc[data["kind"] != "mail", "word5"] == 0).all()
    fit = naive_bayes(f"kind ~ {' + '.join(WORDS)}", data, counts=True)
    logs, has = fit.predict_log_proba(), data["word5"] > 0
    assert has.any()
    assert np.isneginf(logs.loc[has, ["news", "sport"]]).all(axis=None)
    assert np.isfinite(logs[~has]).all(axis=None)
    without = fit.leave_one_out()
    assert without.loc[has & (without["label"].notna()), "mail"].eq(1).all()


def test_leaving_out_the_only_row_removes_its_class():
    data = pd.DataFrame({"y": list("aaabbbc"), "u": list("xxyyyxx"), "n": [1.0, 2, 3, 3, 2, 1, 4]})
    for options in ({"laplace": 1}, {"laplace": 1, "counts": ["n"]}):
        fit = naive_bayes("y ~ u + n" if "counts" in options else "y ~ u", data, **options)
        left_out = fit.leave_one_out().iloc[6]
        assert left_out["c"] == 0
        refit = naive_bayes(fit.formula, data.iloc[:6], prior=[0.5, 0.5], **options)
        expected = refit.predict_proba(data.iloc[[6]]).iloc[0]
        np.testing.assert_allclose(left_out[["a", "b"]].astype(float), expected, rtol=1e-12)


def test_rows_impossible_without_themselves_are_missing_from_leave_one_out():
    data = pd.DataFrame({"y": list("aaaabbbb"), "u": list("xxxyyyyy"), "v": list("qqqqpppp")})
    fit = naive_bayes("y ~ u + v", data)
    with pytest.warns(MissingPredictionWarning):
        left_out = fit.leave_one_out()
    assert left_out["label"].isna().tolist() == [row == 3 for row in range(8)]
    assert fit.confusion(method="loo").to_numpy().sum() == 7


@pytest.mark.filterwarnings("ignore::discrim.errors.UnseenLevelWarning")
@pytest.mark.parametrize("column", ["island", "C(year)"])
def test_an_unseen_level_is_an_error_or_missing_by_option(column):
    data = penguins()
    name = column.removeprefix("C(").removesuffix(")")
    new = data.assign(**{name: "Bouvet" if name == "island" else 1999}).head(3)
    fit = naive_bayes(f"species ~ bill_length_mm + {column}", data)
    with pytest.raises(DataError, match=rf"{name}.*(Bouvet|1999).*row 0.*fit with this level"):
        fit.predict(new)
    if name == "island":
        other = naive_bayes(f"species ~ bill_length_mm + {column}", data, unseen="missing")
        expected = fit.predict_proba(new.assign(island=None))
        pd.testing.assert_frame_equal(other.predict_proba(new), expected)


@pytest.mark.filterwarnings("ignore::discrim.errors.UnseenLevelWarning")
def test_an_unseen_level_of_a_categorical_stays_asked_for_in_a_file(tmp_path):
    data = answers()
    fit = naive_bayes("y ~ size + weight", data, unseen="missing", laplace=1)
    fit.save(tmp_path / "fit")
    new = data.head(4).assign(size=pd.Categorical(["xl", "s", "xl", "m"]))
    again = load(tmp_path / "fit").predict_proba(new)
    pd.testing.assert_frame_equal(again, fit.predict_proba(new), check_exact=True)
    pd.testing.assert_frame_equal(again.iloc[[0]], fit.predict_proba(new.assign(size=None)).iloc[[0]])


# ------------------------------------------------------------------ likelihood, leave-one-out, weights


@pytest.mark.filterwarnings("ignore::discrim.errors.NotComparableWarning")
@pytest.mark.parametrize("laplace", [0.0, 1.0])
def test_likelihood_equals_the_sum_of_log_densities(laplace):
    data = answers()
    fit = naive_bayes("y ~ colour + round + weight", data, laplace=laplace)
    total = 0.0
    for _, row in data.iterrows():
        k = row["y"]
        class_rows = data.loc[data["y"] == k, "weight"]
        total += np.log(fit.prior[k]) + norm.logpdf(row["weight"], class_rows.mean(), class_rows.std(ddof=0))
        total += sum(np.log(fit.tables[name].loc[k, row[name]]) for name in ("colour", "round"))
    assert fit.llf == pytest.approx(total, rel=1e-13)
    assert fit.df_model == 2 * (2 + 1 + 2) + 1
    assert compare(fit, naive_bayes("y ~ weight", data)).shape[0] == 2


def test_likelihood_of_counts_omits_multinomial_coefficients():
    data = words()
    fit = naive_bayes(f"kind ~ {' + '.join(WORDS)}", data, counts=True, laplace=1)
    theta = fit.multinomial.loc[data["kind"]].to_numpy()
    expected = (data[WORDS].to_numpy() * np.log(theta)).sum() + np.log(fit.prior[data["kind"]]).sum()
    assert fit.llf == pytest.approx(expected, rel=1e-13)
    assert fit.df_model == 3 * 5 + 2


def test_a_kernel_density_has_no_likelihood_nor_parameters():
    fit = naive_bayes("species ~ .", IRIS, kernel=["petal_width"])
    for name in ("llf", "aic", "bic", "df_model"):
        with pytest.raises(NotSupportedError) as caught:
            getattr(fit, name)
        assert "densities" in str(caught.value)
        assert "kernel" in str(caught.value)
    assert fit.glance()[["llf", "df_model"]].isna().all(axis=None)
    assert fit.summary().as_text().count("not available") == 3


CASES = {
    "tables": (answers, "y ~ colour + size + round", {"laplace": 0.5}),
    "tables without laplace": (answers, "y ~ colour + round", {}),
    "mixed": (answers, "y ~ colour + round + weight", {"laplace": 1}),
    "kernel": (answers, "y ~ weight", {"kernel": True}),
    "kernel nrd": (answers, "y ~ weight + colour", {"kernel": True, "bandwidth": "nrd"}),
    "bandwidth given": (answers, "y ~ weight", {"kernel": True, "bandwidth": 0.4}),
    "words": (words, f"kind ~ {' + '.join(WORDS)}", {"counts": True, "laplace": 1}),
    "words without laplace": (words, "kind ~ word0 + word1 + word3", {"counts": True}),
    "everything": (
        penguins,
        MIXED + " + flipper_length_mm",
        {"kernel": ["bill_depth_mm"], "counts": ["flipper_length_mm"], "laplace": 1, "smoothing": 0.01},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("case", CASES)
def test_leave_one_out_equals_a_refit_without_the_row(case, weighted):
    make, formula, options = CASES[case]
    data = make()
    weights = data["w" if "w" in data else "times"].to_numpy() if weighted else np.ones(len(data))
    fit = naive_bayes(formula, data, weights=weights, **options)
    left_out = fit.leave_one_out()
    rows = np.flatnonzero(left_out["label"].notna())[::20]
    for row in rows:
        without = weights.copy()
        without[row] -= 1
        refit = naive_bayes(formula, data, weights=without, prior=fit.prior, **options)
        expected = refit.predict_proba(data.iloc[[row]]).iloc[0]
        np.testing.assert_allclose(left_out.iloc[row, 1:].astype(float), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_removed_rows_equal_rows_of_weight_zero(case):
    make, formula, options = CASES[case]
    data = make()
    left_out = naive_bayes(formula, data, **options).leave_one_out()
    row = int(np.flatnonzero(left_out["label"].notna())[11])
    refit = naive_bayes(
        formula,
        data.drop(index=data.index[row]),
        prior=naive_bayes(formula, data, **options).prior,
        **options,
    )
    expected = refit.predict_proba(data.iloc[[row]]).iloc[0]
    np.testing.assert_allclose(left_out.iloc[row, 1:].astype(float), expected, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_weights_are_repeated_rows(case):
    make, formula, options = CASES[case]
    data = make()
    weights = data["w" if "w" in data else "times"]
    fit = naive_bayes(formula, data, weights=weights.to_numpy(), **options)
    repeated = data.loc[data.index.repeat(weights.astype(int))].reset_index(drop=True)
    other = naive_bayes(formula, repeated, **options)
    np.testing.assert_allclose(fit.predict_proba(data), other.predict_proba(data), rtol=1e-9)
    np.testing.assert_allclose(fit.bandwidths, other.bandwidths, rtol=1e-13)
    pd.testing.assert_frame_equal(fit.glance(), other.glance(), rtol=1e-12)
    repeated_scores = fit.leave_one_out().iloc[:, 1:].loc[data.index.repeat(weights.astype(int))]
    np.testing.assert_allclose(
        repeated_scores.astype(float), other.leave_one_out().iloc[:, 1:].astype(float), rtol=1e-9, atol=1e-13
    )


@pytest.mark.slow
@settings(max_examples=30)
@given(
    st.lists(st.integers(-4, 4), min_size=5, max_size=14).filter(lambda v: len(set(v)) > 2),
    st.integers(1, 3),
    st.sampled_from(["nrd0", "nrd"]),
)
def test_bandwidths_without_a_row_equal_those_of_the_other_rows(values, times, rule):
    x = np.array(values, dtype=float)
    data = pd.DataFrame({"x": np.r_[x, x + 1.0], "y": np.repeat(["a", "b"], len(x))})
    fit = naive_bayes("y ~ x", data, kernel=True, bandwidth=rule, weights=np.full(len(data), float(times)))
    left_out = fit.leave_one_out()
    for row in range(len(x)):
        repeated = np.repeat(x, times)
        repeated = np.delete(repeated, row * times)
        sd = np.std(repeated, ddof=1)
        if sd == 0:
            assert times == 1
            continue
        between = np.subtract(*np.percentile(repeated, [75, 25])) / 1.34
        h = {"nrd0": 0.9, "nrd": 1.06}[rule] * (min(sd, between) or sd) * len(repeated) ** -0.2
        density = norm.pdf(x[row], repeated, h).mean()
        other = np.exp(np.log(fit.density("x", [x[row]])["b"].iloc[0]))
        np.testing.assert_allclose(
            left_out["a"].iloc[row], density / (density + other), rtol=1e-8, atol=1e-300
        )


def test_kernel_posteriors_are_exact_if_densities_underflow():
    fit = naive_bayes("species ~ petal_length", IRIS, kernel=True, bandwidth=0.2)
    distant = pd.DataFrame({"petal_length": [1e3, -1e3]})
    logs = fit.predict_log_proba(distant)
    assert np.isfinite(logs).all(axis=None)
    assert fit.predict(distant).tolist() == ["virginica", "setosa"]


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**500])
def test_kernel_densities_hold_in_any_units(scale):
    fit = naive_bayes("species ~ petal_length", IRIS, kernel=True)
    other = naive_bayes(
        "species ~ petal_length", IRIS.assign(petal_length=IRIS["petal_length"] * scale), kernel=True
    )
    np.testing.assert_allclose(other.predict_proba(), fit.predict_proba(), rtol=1e-12)
    np.testing.assert_allclose(
        other.leave_one_out().iloc[:, 1:].astype(float),
        fit.leave_one_out().iloc[:, 1:].astype(float),
        rtol=1e-12,
    )


# ------------------------------------------------------------------ the fit as an object


def test_files_keep_every_family(tmp_path):
    make, formula, options = CASES["everything"]
    data = make()
    fit = naive_bayes(formula, data, weights="w", **options)
    fit.save(tmp_path / "fit")
    again = load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.predict_proba(data), fit.predict_proba(data), check_exact=True)
    pd.testing.assert_frame_equal(again.tidy(), fit.tidy(), check_exact=True)
    pd.testing.assert_frame_equal(again.bandwidths, fit.bandwidths, check_exact=True)
    for name, table in fit.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table, check_exact=True)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("level_counts", lambda v: -v),
        ("level_counts", lambda v: v * 2),
        ("level_counts", lambda v: v[1:]),
        ("sums", lambda v: -v),
        ("plan.families", lambda v: v + 1),
        ("plan.sizes", lambda v: v * 0.5),
        ("points", lambda v: v[5:]),
        ("points", lambda v: v * [1, 1, 1, -1]),
        ("points", lambda v: np.add(v, [0, 7, 0, 0])),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, key, change):
    make, formula, options = CASES["everything"]
    fit = naive_bayes(formula, make(), **options)
    fit.save(tmp_path / "fit")
    about, tensors = read_file(tmp_path / "fit")
    name = f"estimates.{key}"
    write_file(tmp_path / "fit", about, dict(tensors) | {name: change(tensors[name])})
    with pytest.raises(DataError) as caught:
        load(tmp_path / "fit")
    assert "damaged" in str(caught.value)
    assert "saved" in str(caught.value)


def test_summary_tidy_and_pictures_show_every_family():
    make, formula, options = CASES["everything"]
    fit = naive_bayes(formula, make(), **options)
    tables = fit.summary().tables
    assert list(tables) == ["header", "classes", "means", "deviations", "tables", "bandwidths", "multinomial"]
    text = tables["tables"].loc["island"].T
    np.testing.assert_array_equal(text, fit.tables["island"])
    assert "excludes the class" not in fit.summary().as_text()
    assert "excludes the class" in naive_bayes("species ~ island", PENGUINS).summary().as_text()
    tidy = fit.tidy()
    assert set(tidy["term"]) == set(fit.terms)
    assert tidy["probability"].notna().sum() == 3 * (3 + 2 + 3 + 2 + 1)
    assert fit.augment().shape[0] == len(PENGUINS)
    title = fit.plot().get_title()
    assert title.startswith("Regions")
    assert "others integrated out" in title
    assert fit.plot("posteriors").get_xlabel().startswith("Posterior")
    assert fit.plot("density", columns="bill_depth_mm").get_xlabel() == "bill_depth_mm"
    assert sum(len(line.get_xdata()) > 2 for line in fit.plot("density").get_lines()) == 3
    dots = [line for line in fit.plot("table", columns="island").lines if line.get_marker() != "None"]
    assert [len(line.get_xdata()) for line in dots] == [3, 3, 3]
    with pytest.raises(DataError) as caught:
        fit.plot("density", columns="sex")
    assert "'sex'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        naive_bayes("species ~ bill_depth_mm", PENGUINS).plot("table")
    assert "'table'" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        naive_bayes("species ~ island", PENGUINS).plot("regions")
    assert "'species ~ island'" in str(caught.value)


def test_densities_integrate_to_one():
    fit = naive_bayes("species ~ .", IRIS, kernel=["petal_width", "petal_length"])
    for term in fit.terms:
        curve = fit.density(term, np.linspace(-20, 30, 20001))
        np.testing.assert_allclose(np.trapezoid(curve, curve.index, axis=0), 1, rtol=1e-9)
        assert fit.density(term).shape == (512, 3)
    with pytest.raises(DataError) as caught:
        fit.density("species")
    assert "'species'" in str(caught.value)


@pytest.mark.parametrize("name", ["covs", "logdet"])
def test_methods_for_normal_columns_explain_themselves(name):
    fit = naive_bayes(MIXED, penguins())
    assert fit.means.columns.tolist() == fit.sds.columns.tolist() == ["bill_length_mm", "bill_depth_mm"]
    with pytest.raises(NotSupportedError, match=rf"{name} requires normal columns, but 'island'"):
        getattr(fit, name)
    with pytest.raises(NotSupportedError) as caught:
        fit.quadratic("Adelie", "Gentoo")
    assert "quadratic" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.group_summary()
    assert "'island'" in str(caught.value)


def test_folds_the_bootstrap_and_bigger_blocks_agree(short_blocks):
    make, formula, options = CASES["everything"]
    fit = naive_bayes(formula, make(), **options)
    total = fit.predict_log_proba()
    rates = fit.error_rates(["apparent", "loo", "cv", "632+"], folds=5, replicates=5, seed=1)
    assert (rates["estimate"] < 0.1).all()
    short_blocks()
    np.testing.assert_allclose(naive_bayes(formula, make(), **options).predict_log_proba(), total, rtol=1e-9)


# ------------------------------------------------------------------ what is refused


def test_a_category_times_another_column_is_refused_by_name():
    for formula in (
        "species ~ island:sex",
        "species ~ bill_length_mm + sex:bill_length_mm",
        "species ~ island*sex",
    ):
        with pytest.raises(NotSupportedError) as caught:
            naive_bayes(formula, PENGUINS)
        assert "term" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kernel": ["island"]}, "kernel= contains 'island', which is categorical"),
        ({"kernel": ["bill"]}, r"kernel=.*'bill'"),
        ({"kernel": 3}, "kernel=3"),
        ({"counts": ["bill_length_mm"], "kernel": ["bill_length_mm"]}, "also in counts="),
        ({"counts": ["I(year - 2000)"]}, "computed by the formula"),
        ({"kernel": True, "bandwidth": "ucv"}, "bandwidth='ucv'"),
        ({"kernel": True, "bandwidth": 0}, "bandwidth=0"),
        ({"kernel": True, "bandwidth": {"bill_length_mm": "wide"}}, "'wide'"),
        ({"bandwidth": {"bill_length_mm": 1.0}}, "no column has one. Name columns in kernel="),
        ({"bandwidth": 1.0}, "bandwidth=1.0 requires kernel densities"),
        ({"bandwidth": "nrd"}, "bandwidth='nrd' requires kernel densities"),
        ({"kernel": True, "bandwidth": {"island": 1.0}}, "columns of kernel= are 'bill_length_mm'"),
        ({"laplace": -1}, "laplace=-1"),
        ({"laplace": True}, "laplace=True"),
        ({"unseen": "ignore"}, "unseen='ignore'"),
    ],
)
def test_options_that_fit_no_column_are_refused(options, says):
    with pytest.raises(DataError, match=says.replace("(", r"\(").replace(")", r"\)")):
        naive_bayes("species ~ bill_length_mm + island + I(year - 2000)", PENGUINS, **options)


def test_counts_are_not_negative_at_the_fit_nor_later():
    data = words()
    fit = naive_bayes("kind ~ word0 + word1", data, counts=True, laplace=1)
    bad = data.assign(word1=data["word1"].where(data.index != 7, -2.0))
    for ask in (lambda: fit.predict(bad), lambda: naive_bayes("kind ~ word0 + word1", bad, counts=True)):
        with pytest.raises(DataError) as caught:
            ask()
        assert caught.value.columns == ("word1",)
        assert caught.value.rows == (7,)


def test_boolean_columns_stay_boolean():
    data = answers()
    fit = naive_bayes("y ~ round + weight", data)
    pd.testing.assert_frame_equal(fit.predict_proba(data.astype({"round": int})), fit.predict_proba(data))
    with pytest.raises(DataError) as caught:
        fit.predict(data.astype({"round": float}).assign(round=np.where(data.index == 2, 0.5, 1.0)))
    assert caught.value.columns == ("round",)
    assert caught.value.rows == (2,)


def test_errors_name_a_class_without_a_density_and_a_hint():
    data = pd.DataFrame({"y": list("aaabbb"), "x": [1.0, 2, 4, 3, 3, 3], "n": [1.0, 0, 2, 0, 0, 0]})
    with pytest.raises(CollinearError) as caught:
        naive_bayes("y ~ x", data, kernel=True)
    assert "'x'" in str(caught.value)
    assert "'b'" in str(caught.value)
    assert naive_bayes("y ~ x", data, kernel=True, bandwidth={"x": 0.5}).predict().notna().all()
    with pytest.raises(CollinearError) as caught:
        naive_bayes("y ~ n", data, counts=True)
    assert caught.value.classes == ("b",)


def test_absent_classes_are_omitted_from_all_tables():
    data = answers()
    data["y"] = pd.Categorical(data["y"], categories=["maybe", "no", "yes"])
    data.loc[0, "y"] = "maybe"
    data.loc[0, "weight"] = np.nan
    options = {"kernel": True, "laplace": 1}
    with pytest.warns(EmptyClassWarning, match="'maybe'"):
        fit = naive_bayes("y ~ colour + weight", data, **options)
    other = naive_bayes("y ~ colour + weight", answers().drop(index=0), **options)
    np.testing.assert_allclose(fit.predict_proba(data), other.predict_proba(data), rtol=1e-12)
    np.testing.assert_allclose(fit.tables["colour"], other.tables["colour"])


def test_a_picture_of_levels_has_a_line_for_each_and_a_dot_for_each_class():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"y": np.tile(["a", "b"], 100), "x": rng.choice(list("abcdefghijklm"), 200)})
    axes = naive_bayes("y ~ x", data, laplace=1).plot("table")
    assert [text.get_text() for text in axes.get_yticklabels()] == list("abcdefghijklm")
    table = naive_bayes("y ~ x", data, laplace=1).tables["x"]
    dots = [line for line in axes.lines if line.get_marker() != "None"]
    for line, label in zip(dots, table.index, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), table.loc[label])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["a", "b"]


@pytest.mark.filterwarnings("ignore::discrim.errors.UnseenLevelWarning")
def test_an_unseen_value_of_c_of_a_column_may_be_missing_too():
    data = pd.DataFrame({"y": list("aab") * 8, "x": np.arange(24) % 4, "z": np.arange(24.0) % 7})
    fit = naive_bayes("y ~ C(x) + z", data, laplace=1, unseen="missing")
    new = pd.DataFrame({"x": [9.0, np.nan, 2.0], "z": [1.0, 1.0, 1.0]})
    proba = fit.predict_proba(new)
    np.testing.assert_array_equal(proba.iloc[0], proba.iloc[1])
    assert (proba.iloc[0] != proba.iloc[2]).all()
    # A column that another term is made of stays what it is there.
    both = naive_bayes("y ~ C(x) + I(x * 2)", data, laplace=1, unseen="missing")
    alone = naive_bayes("y ~ I(x * 2)", data)
    np.testing.assert_allclose(both.predict_proba(new).iloc[0], alone.predict_proba(new).iloc[0], rtol=1e-12)


def test_a_density_is_asked_for_at_numbers():
    fit = naive_bayes("species ~ petal_length", IRIS)
    with pytest.raises(DataError) as caught:
        fit.density("petal_length", "wide")
    assert "at='wide'" in str(caught.value)
    assert "'petal_length'" in str(caught.value)
