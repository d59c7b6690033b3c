"""Repeated measures and profiles of classes: car's and afex's numbers, identities, refusals."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from discrim import mlm
from discrim.datasets import load_iris, load_penguins
from discrim.errors import CollinearError, CollinearWarning, DataError, FormulaError, NotSupportedError
from discrim.inference.manova import STATISTICS
from tests.support import GOLDEN

FOUND = json.loads((GOLDEN / "repeated.json").read_text(encoding="utf-8"))
TABLE = pd.DataFrame(FOUND["table"])
RESPONSES = [name for name in TABLE if name.startswith(("pre_", "post_", "fup_"))]
WITHIN = pd.DataFrame({"phase": np.repeat(["pre", "post", "fup"], 5), "hour": [1, 2, 3, 4, 5] * 3})
CASES = {
    "both": ("treatment * gender", RESPONSES, WITHIN, None),
    "additive": ("treatment * gender", RESPONSES, WITHIN, "phase + hour"),
    "covariate": ("treatment + age", RESPONSES, WITHIN, "~ phase * hour"),
    "few": ("treatment", RESPONSES[:5], WITHIN[["hour"]][:5], None),
}
TWO = load_penguins().query("species != 'Gentoo'").dropna(subset="bill_length_mm")
LENGTHS = "bill_length_mm + bill_depth_mm + flipper_length_mm"


@cache
def fitted(name):
    remaining, responses, within, design = CASES[name]
    return mlm(f"{remaining} ~ {' + '.join(responses)}", TABLE).repeated(within, design)


def golden_case(label):
    return "constant" if label == "(Intercept)" else label


def mauchly_of_r(w, d, p, v):
    """R's p-value, which has p responses in the place of d contrasts in one of its numbers."""
    rho = 1 - (2 * d**2 + d + 2) / (6 * d * v)
    w2 = (d + 2) * (d - 1) * (d - 2) * (2 * d**3 + 6 * d**2 + 3 * p + 2) / (288 * (v * d * rho) ** 2)
    z, f = -v * rho * np.log(w), d * (d + 1) / 2 - 1
    return stats.chi2.sf(z, f) + w2 * (stats.chi2.sf(z, f + 4) - stats.chi2.sf(z, f))


# ---- R's car and afex


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in CASES for kind in FOUND[name]])
def test_between_and_within_tests_agree_with_car(name, kind):
    fit, theirs = fitted(name), FOUND[name][kind]
    table = fit.univariate(int(kind))
    assert set(table.index) == set(map(golden_case, theirs["univariate"]))
    for label, row in theirs["univariate"].items():
        ours = table.loc[golden_case(label), ["SS", "df1", "SS_error", "df2", "F", "p"]]
        np.testing.assert_allclose(ours, row, rtol=1e-8)
    for label, row in theirs["adjusted"].items():
        np.testing.assert_allclose(
            table.loc[golden_case(label), ["GG", "p_GG", "HF", "p_HF"]], row, rtol=1e-8
        )
    tests = fit.manova(int(kind))
    for test, terms in theirs["multivariate"].items():
        for label, row in terms.items():
            ours = tests.loc[(golden_case(label), STATISTICS[test])]
            # F of an upper bound has other degrees of freedom in R.
            kept = 1 if ours["F_is"] == "upper bound" else 4
            values = ours[["statistic", "F", "df1", "df2"]].to_numpy(dtype=float)
            np.testing.assert_allclose(values[:kept], row[:kept], rtol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_mauchlys_w_agrees_with_r_and_its_p_value_counts_contrasts(name):
    fit, theirs = fitted(name), FOUND[name]["2"]["mauchly"]
    for label, row in fit.sphericity().iterrows():
        w, p = theirs[label]
        assert row["mauchly"] == pytest.approx(w, rel=1e-8)
        d = round(1 / row["lowest"])
        assert mauchly_of_r(w, d, len(fit.responses), fit.df_resid) == pytest.approx(p, rel=1e-8)
        assert row["p"] == pytest.approx(mauchly_of_r(w, d, d, fit.df_resid), rel=1e-8)


def test_effect_sizes_agree_with_afex():
    table = fitted("both").univariate()
    for column, key in (("eta2_generalized", "ges"), ("eta2", "pes")):
        for label, row in FOUND["afex"][key].items():
            assert table.loc[label, column] == pytest.approx(row[4], rel=1e-8)
            assert table.loc[label, "p_GG"] == pytest.approx(row[5], rel=1e-8)


@pytest.mark.parametrize("kind", [2, 3])
def test_profiles_of_two_classes_agree_with_hotellings_t2(kind):
    result = mlm(f"species ~ {LENGTHS}", TWO).profile(type=kind)
    theirs = FOUND["profile"]
    theirs = theirs | ({"flatness": theirs["flatness_unweighted"]} if kind == 3 else {})
    for test in ("wilks", "pillai", "hotelling-lawley", "roy"):
        table = result.tests(test)
        for hypothesis in ("parallelism", "level", "flatness"):
            ours = table.loc[hypothesis, ["F", "df1", "df2"]].astype(float)
            np.testing.assert_allclose(ours, theirs[hypothesis], rtol=1e-9)
        assert set(table["F_is"]) == {"exact"}


# ---- identities


def test_mauchlys_p_value_is_nearly_exact_for_two_contrasts():
    # For two contrasts P(W < w) = w^((v - 1)/2) of normal rows.
    row = fitted("both").sphericity().loc["phase"]
    assert row["p"] == pytest.approx(row["mauchly"] ** ((10 - 1) / 2), rel=0.001)


def test_a_profile_equals_repeated_measures_of_one_factor():
    fit = mlm("species ~ .", load_iris())
    profile, repeated = fit.profile(), fit.repeated(pd.DataFrame({"part": list("abcd")}))
    both = zip(["species:part", "species", "part"], ["parallelism", "level", "flatness"], strict=True)
    for term, hypothesis in both:
        ours, theirs = profile.manova().loc[hypothesis], repeated.manova().loc[term]
        np.testing.assert_allclose(ours.drop(columns="F_is"), theirs.drop(columns="F_is"), rtol=1e-10)


def test_univariate_tests_equal_an_anova_with_subjects_as_blocks():
    iris = load_iris()
    names = list(iris.columns[:4])
    x, codes = iris[names].to_numpy(), np.repeat(range(3), 50)
    cells = np.stack([x[codes == k].mean(axis=0) for k in range(3)])
    grand, chunks = x.mean(), x.mean(axis=0)
    remaining = x - x.mean(axis=1, keepdims=True) - cells[codes] + cells.mean(axis=1)[codes][:, None]
    together = cells - cells.mean(axis=1, keepdims=True) - chunks + grand
    table = mlm("species ~ .", iris).repeated({"part": names}).univariate()
    assert table.loc["part", "SS"] == pytest.approx(150 * ((chunks - grand) ** 2).sum(), rel=1e-10)
    assert table.loc["species:part", "SS"] == pytest.approx(50 * (together**2).sum(), rel=1e-10)
    assert table.loc["part", "SS_error"] == pytest.approx((remaining**2).sum(), rel=1e-10)


def test_means_and_intervals_equal_those_of_the_cells():
    fit = fitted("both")
    cells = TABLE["treatment"].astype(str) + ":" + TABLE["gender"].astype(str)
    means, counts = TABLE[RESPONSES].groupby(cells).mean(), cells.value_counts()
    table = fit.means()
    assert len(table) == 6 * 15
    squares = ((TABLE[RESPONSES] - means.loc[cells].to_numpy()) ** 2).sum()
    se = pd.DataFrame(np.sqrt(np.outer(1 / counts, squares / 10)), counts.index, RESPONSES).stack()
    mean, far = means.stack(), stats.t.ppf(0.975, 10)
    for name, expected in {"mean": mean, "low": mean - far * se, "high": mean + far * se}.items():
        ours = pd.Series(table[name].to_numpy(), list(table.index))
        np.testing.assert_allclose(ours.loc[list(expected.index)], expected, rtol=1e-10)
    alone = fit.means("gender", level=0.5)
    assert set(alone.index.get_level_values(0)) == set(TABLE["gender"])


def test_rows_of_the_design_are_matched_by_label():
    remaining, responses, within, _ = CASES["both"]
    fit = mlm(f"{remaining} ~ {' + '.join(responses)}", TABLE)
    mixed = within.set_axis(responses, axis=0).sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(fit.repeated(mixed).univariate(), fit.repeated(within).univariate())


def test_tests_are_invariant_to_units_and_offsets():
    remaining, responses, within, _ = CASES["both"]
    formula = f"{remaining} ~ {' + '.join(responses)}"
    first = mlm(formula, TABLE).repeated(within).univariate()
    scaled = TABLE.assign(**{name: 1e-200 * (TABLE[name] + 1000.0) for name in responses})
    second = mlm(formula, scaled).repeated(within).univariate()
    kept = [label for label in first.index if label != "constant"]
    np.testing.assert_allclose(second.loc[kept, "F"], first.loc[kept, "F"], rtol=1e-7)


def test_weights_equal_repeated_rows_in_profiles():
    row_counts = np.random.default_rng(3).integers(1, 4, len(TABLE))
    formula = "treatment ~ " + " + ".join(RESPONSES[:5])
    weighted = mlm(formula, TABLE.assign(w=row_counts), weights="w")
    repeated = mlm(formula, TABLE.loc[TABLE.index.repeat(row_counts)])
    for kind in (2, 3):
        a, b = (fit.profile(None, kind).manova().drop(columns="F_is") for fit in (weighted, repeated))
        np.testing.assert_allclose(a, b, rtol=1e-9)
    a, b = (fit.repeated(WITHIN[["hour"]][:5]).univariate(huynh_feldt="1976") for fit in (weighted, repeated))
    np.testing.assert_allclose(a, b, rtol=1e-9)


def test_huynh_feldt_estimate_of_1976_counts_the_rows():
    fit = fitted("both")
    gg, v, n, d = fit.sphericity().loc["hour", "GG"], 10, 16, 4
    assert fit.sphericity(huynh_feldt="1976").loc["hour", "HF"] == pytest.approx(
        (n * d * gg - 2) / (d * (v - d * gg))
    )


# ---- what few rows leave


def test_univariate_tests_need_fewer_degrees_of_freedom():
    few = TABLE.iloc[::2]
    fit = mlm("treatment ~ " + " + ".join(RESPONSES), few)
    with pytest.raises(CollinearError) as caught:
        fit.tests()
    assert "repeated()" in str(caught.value)
    result = fit.repeated(WITHIN)
    tests, alone, spheres = result.tests(), result.univariate(), result.sphericity()
    assert tests.loc["phase:hour", "F_is"] == "not defined"
    assert np.isnan(tests.loc["phase:hour", "F"])
    assert np.isfinite(tests.loc["phase", "F"])
    assert np.isfinite(alone.to_numpy()).all()
    assert np.isnan(spheres.loc["phase:hour", "p"])
    assert np.isfinite(spheres.loc["phase", "p"])
    # eps by its definition, of a covariance of rank 5.
    x = few[RESPONSES] - few.groupby("treatment")[RESPONSES].transform("mean")
    phase = np.linalg.qr(np.array([[1, 1.0], [-1, 0], [0, -1]]))[0]
    hour = np.linalg.qr(np.vstack([np.ones((1, 4)), -np.eye(4)]))[0]
    c = np.kron(phase, hour)
    s = c.T @ x.T.to_numpy() @ x.to_numpy() @ c
    assert alone.loc["phase:hour", "GG"] == pytest.approx(np.trace(s) ** 2 / (8 * np.trace(s @ s)), rel=1e-9)
    assert "anova" in fit.summary().tables
    assert np.isnan(fit.glance().loc[0, "llf"])


def test_linearly_dependent_responses_are_refused():
    same = TABLE.iloc[::2].assign(pre_2=TABLE["pre_1"] + 2)
    fit = mlm("treatment ~ " + " + ".join(RESPONSES[:6]), same)
    with pytest.raises(CollinearError) as caught:
        fit.repeated({"time": range(6)})
    assert "'time'" in str(caught.value)


# ---- shown


def test_summaries_state_their_assumptions():
    fit = mlm("species ~ .", load_iris())
    text = fit.profile().summary().as_text()
    text = " ".join(text.split())
    assert "Assumes normal observations with a common covariance matrix" in text
    assert "Level and flatness are meaningful only if" in text
    text = fit.repeated({"part": list("abcd")}).summary(type=3, huynh_feldt="1976").as_text()
    assert "p also assumes sphericity" in " ".join(text.split())
    assert "type III" in text
    assert list(fit.profile().tidy()["term"]) == ["parallelism", "level", "flatness"]
    assert "p_value_gg" in fit.repeated({"part": list("abcd")}).tidy()


def test_profile_plots_have_a_line_for_each_class():
    pytest.importorskip("matplotlib")
    fit = mlm("species ~ .", load_iris())
    axes = fit.profile().plot()
    assert [line.get_label() for line in axes.get_lines()] == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata(), load_iris().iloc[:50, :4].mean())
    axes = fitted("both").plot("gender", title="")
    assert len(axes.get_lines()) == 2
    assert axes.get_title() == ""


# ---- refusals


@pytest.mark.parametrize(
    ("within", "design", "message"),
    [
        (WITHIN[:14], None, "14 rows.* 15 responses"),
        (["pre", "post"], None, "type list"),
        (WITHIN.assign(site="one"), None, "'site'.* level"),
        (WITHIN.assign(phase=[None, *WITHIN["phase"][1:]]), None, "'phase'.* 'pre_1'"),
        (WITHIN.set_axis([*RESPONSES[:14], "post6"]), None, f"{RESPONSES[14]!r}"),
        (WITHIN.rename(columns={"phase": "gender"}), None, "'gender'"),
        (pd.DataFrame(index=range(15)), None, "no column"),
        (WITHIN.assign(visit=range(15)), None, "225.* 15 responses"),
        (WITHIN.assign(visit=range(15)), "phase + visit", "not orthogonal"),
        (WITHIN.assign(visit=range(15)), "phase:visit", "'phase:visit'"),
    ],
)
def test_designs_that_cannot_be_tested_are_refused(within, design, message):
    fit = mlm("treatment * gender ~ " + " + ".join(RESPONSES), TABLE)
    with pytest.raises(DataError, match=message):
        fit.repeated(within, design)


@pytest.mark.parametrize("design", ["day", "phase ~ hour", "log(hour)", "", 3, "1"])
def test_designs_that_cannot_be_read_are_refused(design):
    fit = mlm("treatment * gender ~ " + " + ".join(RESPONSES), TABLE)
    with pytest.raises(FormulaError):
        fit.repeated(WITHIN, design)


def test_profiles_require_a_term_and_two_responses():
    iris = load_iris()
    with pytest.raises(DataError) as caught:
        mlm("species ~ petal_width", iris).profile()
    assert "responses" in str(caught.value)
    with pytest.raises(DataError) as caught:
        mlm(f"species * sex ~ {LENGTHS}", load_penguins()).profile()
    assert "several" in str(caught.value)
    assert "terms" in str(caught.value)
    empty = load_penguins().query("not (species == 'Adelie' and sex == 'male')")
    with pytest.warns(CollinearWarning):
        fit = mlm(f"species * sex ~ {LENGTHS}", empty)
    assert np.isfinite(fit.profile("species").tests().loc["flatness", "F"])
    with pytest.raises(NotSupportedError) as caught:
        fit.profile("species", type=3)
    assert "type=2" in str(caught.value)


def test_all_statistics_share_an_exact_f():
    few = load_iris().iloc[[0, 10, 50, 60, 70]].assign(species=list("aabbb"))
    table = (
        mlm("species ~ sepal_length + petal_length + sepal_width + petal_width", few)
        .profile()
        .manova()
        .loc["parallelism"]
    )
    for column in ("F", "df1", "df2", "p"):
        np.testing.assert_allclose(table[column], table[column].iloc[0], rtol=1e-10)


def test_tests_are_invariant_to_units_with_overflowing_squares():
    iris = load_iris()
    names = list(iris.columns[:4])
    within = {"part": ["sepal", "petal"] * 2, "size": ["length"] * 2 + ["width"] * 2}
    fixed = mlm("species ~ .", iris).repeated(within).univariate()
    result = mlm("species ~ .", iris.assign(**{name: iris[name] * 1e200 for name in names})).repeated(within)
    for column in ("F", "p_GG", "eta2"):
        np.testing.assert_allclose(result.univariate()[column], fixed[column], rtol=1e-9)
    assert np.isinf(result.univariate()["SS"]).all()


def test_a_term_without_degrees_of_freedom_has_no_note_on_contrasts():
    with pytest.warns(CollinearWarning):
        fit = mlm("species ~ sepal_length + petal_length", load_iris().assign(species="one"))
    assert "Not defined" not in fit.repeated({"part": [1, 2]}).summary().as_text()
