"""Canonical variates and tests against R (golden/tests.json), print (published.json) and statsmodels."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.formula.grammar import quote
from tests import support

WRITTEN = json.loads((support.GOLDEN / "tests.json").read_text(encoding="utf-8"))
CASES, MASS = WRITTEN["cases"], WRITTEN["lda"]
PUBLISHED = json.loads((support.GOLDEN / "published.json").read_text(encoding="utf-8"))

every_case = pytest.mark.parametrize("name", CASES)


@cache
def table(file: str, response: str) -> pd.DataFrame:
    """The table R read, its class in `group`, names of columns as R has them."""
    if file == "datasets_iris":
        loaded = discrim.datasets.load_iris()
        names = {name: ".".join(word.capitalize() for word in name.split("_")) for name in loaded.columns}
        loaded = loaded.rename(columns=names)
    elif file == "palmerpenguins_penguins":
        loaded = discrim.datasets.load_penguins()
    else:
        loaded = support.classic_table(file)
    label_columns = [loaded[column].astype(str) for column in response.split(" + ")]
    return loaded.assign(
        group=label_columns[0].str.cat(label_columns[1:], sep=" ")
        if len(label_columns) > 1
        else label_columns[0]
    )


@cache
def fitted(name: str, verb: str = "lda") -> Any:
    return fit_of(CASES[name], verb)


def fit_of(case: dict[str, Any], verb: str = "lda", **options: Any) -> Any:
    data = table(case["file"], case["response"])
    if "classes" in case:
        data = data[data["group"].isin(case["classes"])]
    terms = " + ".join(quote(column) for column in case["columns"])
    fit = getattr(discrim, verb)(f"group ~ {terms}", data, levels=case.get("classes"), **options)
    if "nobs" in case:
        assert fit.nobs == case["nobs"]
    return fit


def close(got: Any, wanted: Any, rtol: float = 1e-9) -> None:
    got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=1e-11 * np.abs(wanted).max())


def tail(got: float, wanted: float) -> None:
    # A tail probability has the relative error of its exponent.
    if wanted > 1e-290:
        np.testing.assert_allclose(got, wanted, rtol=1e-7)


# ------------------------------------------------------------------ R


@every_case
def test_eigenvalues_and_correlations(name: str) -> None:
    canonical, expected = fitted(name).canonical(), CASES[name]["canonical"]
    close(canonical.eigenvalues, expected["eigenvalues"])
    close(canonical.correlations, expected["correlations"])
    close(canonical.proportion, np.array(expected["eigenvalues"]) / np.sum(expected["eigenvalues"]))
    assert canonical.cumulative.iloc[-1] == pytest.approx(1, rel=1e-15)


@every_case
def test_coefficients_structure_and_centroids(name: str) -> None:
    canonical, expected = fitted(name).canonical(), CASES[name]["canonical"]
    close(canonical.raw, expected["raw"], 1e-8)
    close(canonical.constant, expected["constant"], 1e-8)
    close(canonical.standardized, expected["standardized_within"], 1e-8)
    close(canonical.standardized_total, expected["standardized_total"], 1e-8)
    for scatter_type in ("within", "total", "between"):
        close(canonical.structure(scatter_type), expected[f"structure_{scatter_type}"], 1e-8)
    close(canonical.centroids, expected["centroids"], 1e-8)


@every_case
def test_dimension_tests(name: str) -> None:
    got = fitted(name).canonical().dimension_tests
    for (_, row), expected in zip(got.iterrows(), CASES[name]["canonical"]["tests"], strict=True):
        names = {name: name for name in ("wilks", "df1", "df2", "chi2")} | {"F": "f", "df": "chi2_df"}
        for ours, theirs in names.items():
            close(row[ours], expected[theirs], 1e-8)
        tail(row["p"], expected["p"])
        tail(row["p_chi2"], expected["chi2_p"])


NAMES = {
    "wilks": "Wilks' lambda",
    "pillai": "Pillai's trace",
    "hotelling_lawley": "Hotelling-Lawley trace",
    "hotelling_lawley_mckeon": "Hotelling-Lawley trace, McKeon",
    "roy": "Roy's greatest root",
}


@every_case
def test_manova(name: str) -> None:
    got = fitted(name).manova()
    for key, label in NAMES.items():
        expected = CASES[name]["manova"][key]
        close(
            got.loc[label, ["statistic", "F", "df1", "df2"]],
            [expected[k] for k in ("statistic", "f", "df1", "df2")],
        )
        tail(got.loc[label, "p"], expected["p"])
    one_root = min(len(CASES[name]["columns"]), len(CASES[name]["classes"]) - 1) == 1
    assert (got.loc["Roy's greatest root", "F_is"] == "exact") == one_root


@every_case
def test_anova_and_levene(name: str) -> None:
    got = fitted(name).anova()
    for column, expected in CASES[name]["univariate"].items():
        row = got.loc[column]
        close(
            row[["F", "df1", "df2", "R2"]].astype(float),
            [expected[k] for k in ("f", "df1", "df2", "r_squared")],
        )
        close(row[["sd_total", "sd_within"]].astype(float), [expected["total_sd"], expected["within_sd"]])
        tail(row["p"], expected["p"])
        for centre in ("mean", "median"):
            test = fitted(name).anova(levene=centre).loc[column]
            close(test["levene_F"], expected[f"levene_{centre}"]["f"])
            tail(test["levene_p"], expected[f"levene_{centre}"]["p"])


@every_case
def test_partial_tests(name: str) -> None:
    got = fitted(name).partial_tests()
    for column, expected in CASES[name]["partial"].items():
        keys = {"F": "f", "df1": "df1", "df2": "df2", "partial_wilks": "partial_wilks"}
        for ours, theirs in (keys | {"partial_R2": "partial_r_squared"}).items():
            close(got.loc[column, ours], expected[theirs], 1e-7)
        tail(got.loc[column, "p"], expected["p"])


@every_case
def test_distances(name: str) -> None:
    got = fitted(name).distances()
    for expected in CASES[name]["distances"]:
        row = got.loc[tuple(expected["classes"])]
        close(row[["D2", "F", "df1", "df2"]], [expected[k] for k in ("d2", "f", "df1", "df2")])
        tail(row["p"], expected["p"])


@pytest.mark.parametrize("name", [name for name in CASES if name != "fgl"])
def test_log_determinants(name: str) -> None:
    got, expected = fitted(name, "qda").log_determinants(), CASES[name]["logdet"]
    close(got["logdet"], [*(expected["classes"][c] for c in CASES[name]["classes"]), expected["pooled"]])


@pytest.mark.parametrize("name", MASS)
def test_signs_of_mass(name: str) -> None:
    expected = np.array(MASS[name]["scaling"])
    got = fit_of(MASS[name]).canonical("mass")
    assert list(got.raw.columns) == [f"LD{i + 1}" for i in range(expected.shape[1])]
    within = got.standardized.to_numpy() / got.raw.to_numpy()
    np.testing.assert_allclose(got.raw * within, expected * within, rtol=1e-7, atol=1e-8)
    # Without a convention the largest standardized coefficient of each axis is positive.
    ours = fit_of(MASS[name]).canonical().standardized.to_numpy()
    assert (ours[np.abs(ours).argmax(axis=0), np.arange(ours.shape[1])] > 0).all()


# ------------------------------------------------------------------ scikit-learn, statsmodels


def scikit_learn_s_scalings(x: np.ndarray, codes: np.ndarray, divisor: int) -> np.ndarray:
    """The solver "svd" written out: version 1.9 divides the rows within classes by N, 1.8 by N - K."""
    priors = np.bincount(codes) / len(codes)
    means = np.stack([x[codes == k].mean(axis=0) for k in range(len(priors))])
    centred = np.concatenate([x[codes == k] - means[k] for k in range(len(priors))])
    sd = centred.std(axis=0)
    _, sizes, axes = np.linalg.svd(centred / sd / np.sqrt(divisor), full_matrices=False)
    whitening = (axes / sd).T / sizes
    between = np.sqrt(len(codes) * priors)[:, None] * (means - priors @ means) @ whitening
    _, sizes, axes = np.linalg.svd(between, full_matrices=False)
    return whitening @ axes.T[:, : int((sizes > 1e-4 * sizes[0]).sum())]


@pytest.mark.parametrize("name", ["iris", "crabs", "fgl", "vowel", "skulls"])
def test_scalings_of_scikit_learn(name: str) -> None:
    import sklearn
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    fit = fit_of(MASS[name])
    data = table(MASS[name]["file"], MASS[name]["response"])
    x = data[MASS[name]["columns"]].to_numpy(dtype=float)
    codes = np.searchsorted(np.unique(data["group"]), data["group"])
    peer = LinearDiscriminantAnalysis(solver="svd").fit(x, data["group"])
    installed = "1.9" if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9) else "1.8"
    n = len(codes)
    for version, divisor in (("1.9", n), ("1.8", n - len(fit.classes))):
        got = fit.canonical("sklearn" if version == "1.9" else "mass")
        rank = got.raw.shape[1]
        within = got.standardized.to_numpy() / got.raw.to_numpy()
        written = scikit_learn_s_scalings(x, codes, divisor)[:, :rank]
        signs = np.sign((written * within**2 * got.raw.to_numpy()).sum(axis=0))
        np.testing.assert_allclose(got.raw * within, written * signs * within, rtol=1e-6, atol=1e-7)
        if version == installed:
            theirs = peer.scalings_[:, :rank] * within
            np.testing.assert_allclose(got.raw * within, theirs, rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(got.scores(), peer.transform(x)[:, :rank], rtol=1e-6, atol=1e-7)


def test_the_version_of_scikit_learn_is_recorded() -> None:
    assert "As scikit-learn 1.9: unit variance within classes, divisor N;" in str(
        fit_of(MASS["iris"]).canonical("sklearn").summary()
    )


@pytest.mark.parametrize("name", ["iris", "iris_petal", "crabs", "pima"])
def test_manova_agrees_with_statsmodels(name: str) -> None:
    from statsmodels.multivariate.manova import MANOVA

    fit, data = fitted(name), table(CASES[name]["file"], CASES[name]["response"])
    x = data[CASES[name]["columns"]].to_numpy(dtype=float)
    dummies = pd.get_dummies(data["group"], drop_first=True).to_numpy(dtype=float)
    exog = np.column_stack([np.ones(len(x)), dummies])
    contrast = np.eye(exog.shape[1])[1:]
    theirs = MANOVA(x, exog).mv_test([("group", contrast)]).results["group"]["stat"].astype(float)
    ours = fit.manova()
    for label, other in (
        ("Wilks' lambda", "Wilks' lambda"),
        ("Pillai's trace", "Pillai's trace"),
        ("Hotelling-Lawley trace, McKeon", "Hotelling-Lawley trace"),
        ("Roy's greatest root", "Roy's greatest root"),
    ):
        expected = theirs.loc[other, ["Value", "F Value", "Num DF", "Den DF"]]
        np.testing.assert_allclose(
            ours.loc[label, ["statistic", "F", "df1", "df2"]].astype(float), expected, rtol=1e-8
        )


# ------------------------------------------------------------------ print


def printed(file: str, start: str) -> list[dict[str, Any]]:
    entries = [e for e in PUBLISHED if e["data"]["file"] == file and e["statement"].startswith(start)]
    assert entries
    return entries


def as_printed(got: float, wanted: float, digits: int = 4) -> None:
    """Equal as far as the source prints."""
    assert got == pytest.approx(wanted, rel=0.6 * 10.0**-digits, abs=0.6 * 10.0**-digits)


@pytest.mark.parametrize("file", ["datasets_iris", "candisc_Wine", "heplots_Diabetes"])
def test_dimensions_agree_with_candisc(file: str) -> None:
    (entry,) = printed(file, "candisc")[:1]
    digits = 2 if file == "heplots_Diabetes" else 4
    data = dict(entry["data"])
    if data["columns"] == ["all 13 others"]:
        data["columns"] = [c for c in table(file, "Cultivar").columns if c not in ("Cultivar", "group")]
    canonical = fit_of(data).canonical()
    for got, expected in zip(canonical.eigenvalues, entry["values"]["eigenvalue"], strict=True):
        as_printed(got, expected, digits)
    for got, expected in zip(canonical.correlations**2, entry["values"]["can_rsq"], strict=True):
        as_printed(got, expected, digits)
    for (_, row), expected in zip(
        canonical.dimension_tests.iterrows(), entry["values"]["tests"], strict=True
    ):
        as_printed(row["wilks"], expected["wilks"], digits)
        as_printed(row["F"], expected["f"], digits)
        assert (row["df1"], row["df2"]) == (expected["df1"], expected["df2"])


def test_coefficients_and_structure_of_iris_agree_with_candisc() -> None:
    for start, key, ours in (
        ("coef(candisc)", "standardized_within", lambda c: c.standardized),
        ("candisc $structure", "structure_total", lambda c: c.structure("total")),
        ("cor_lda", "structure_total", lambda c: c.structure("total")),
    ):
        (entry,) = printed("datasets_iris", start)
        data = dict(entry["data"])
        mass = "mass" if start == "cor_lda" else None
        got = ours(fit_of(data).canonical(mass)).loc[entry["values"]["rows"]].to_numpy()
        expected = np.array(entry["values"][key])
        if not mass:
            expected = expected * np.sign((expected * got).sum(axis=0))
        np.testing.assert_allclose(got, expected, atol=1e-6)


def test_scores_agree_with_candisc_up_to_signs() -> None:
    for file, start in (("datasets_iris", "scores(MASS"), ("palmerpenguins_penguins", "scores of MASS")):
        (entry,) = printed(file, start)
        data = table(file, entry["data"]["response"])
        complete = data.dropna() if file != "datasets_iris" else data
        terms = " + ".join(quote(c) for c in entry["data"]["columns"])
        scores = discrim.lda(f"group ~ {terms}", complete).canonical("mass").scores()
        for axis in ("LD1", "LD2"):
            np.testing.assert_allclose(scores[axis].iloc[:5], entry["values"][axis], atol=6e-3)


def test_four_tests_of_the_skulls_agree_with_heplots() -> None:
    (entry,) = printed("heplots_Skulls", "summary(car::Anova)")
    got = fit_of(entry["data"]).manova()
    for key in ("wilks", "pillai", "hotelling_lawley", "roy"):
        expected = entry["values"][key]
        for ours, theirs in (("statistic", "statistic"), ("F", "f"), ("df1", "df1"), ("df2", "df2")):
            as_printed(got.loc[NAMES[key], ours], expected[theirs], 6)
        assert got.loc[NAMES[key], "p"] == pytest.approx(expected["p"], rel=1e-4)


@pytest.mark.parametrize("file", ["datasets_iris", "heplots_Skulls", "heplots_Diabetes"])
def test_box_m_agrees_with_heplots(file: str) -> None:
    for entry in printed(file, "Box's M"):
        fit = fit_of(entry["data"], "qda")
        assert fit.box_m().statistic == pytest.approx(
            entry["values"]["chi2"], rel=2e-3 if entry["values"]["chi2"] == 383 else 1e-6
        )
        if "logdet" in entry["values"]:
            logdets = fit.log_determinants()["logdet"]
            for label, expected in entry["values"]["logdet"].items():
                assert logdets[label] == pytest.approx(expected, abs=6e-4)


def test_distances_deviations_and_errors_of_iris_agree_with_sas() -> None:
    data = {"file": "datasets_iris", "response": "Species", "columns": CASES["iris"]["columns"]}
    fit = fit_of(data)
    (distances,) = printed("datasets_iris", "PROC CANDISC DISTANCE")
    np.testing.assert_allclose(fit.distances()["D2"], distances["values"]["d2"], atol=6e-6)
    (anova,) = printed("datasets_iris", "PROC CANDISC ANOVA")
    row = 10 * fit.anova().loc["Sepal.Length"]
    for name, expected in anova["values"].items():
        assert row[name] == pytest.approx(expected, abs=6e-5)
    (errors,) = printed("datasets_iris", "PROC DISCRIM")
    rates = fit_of(data, "qda").error_rates()["estimate"]
    for method, expected in errors["values"].items():
        assert rates[method] == pytest.approx(expected, abs=6e-5)


def test_the_p_value_of_the_fourth_step_agrees_with_jmp() -> None:
    (entry,) = printed("datasets_iris", "Discriminant, Stepwise")
    terms = " + ".join(quote(c) for c in entry["data"]["columns"])
    steps = discrim.stepwise(f"group ~ {terms}", table("datasets_iris", "Species")).steps
    assert steps["p"].iloc[3] == pytest.approx(entry["values"]["p_to_enter"], abs=6e-8)


@pytest.mark.parametrize(("file", "start"), [("candisc_Wolves", "car"), ("heplots_Pottery2", "car")])
def test_pillai_with_many_columns(file: str, start: str) -> None:
    (entry,) = printed(file, start)
    got = fit_of(entry["data"]).manova().loc["Pillai's trace"]
    for ours, theirs in (("statistic", "pillai"), ("F", "f"), ("df1", "df1"), ("df2", "df2")):
        as_printed(got[ours], entry["values"][theirs], 4)
    assert got["p"] == pytest.approx(entry["values"]["p"], rel=1e-3)
