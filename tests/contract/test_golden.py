"""Agreement with MASS and base R, to 1e-10 of each quantity's natural scale.

``golden/mass.json`` was written by ``golden/write_mass.R``, which says how. Iris and the penguins come with
the package; the other tables are R's, under R's licences, and are read from beside the project where they are
there. Where MASS's conventions are not ours the test says so.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DiscrimError
from tests import references as ref
from tests import support

GOLDEN = json.loads((support.GOLDEN / "mass.json").read_text(encoding="utf-8"))["cases"]
TOLERANCE = 1e-10
METHODS = ("moment", "mle")

both_methods = pytest.mark.parametrize("method", METHODS)
every_case = pytest.mark.parametrize("name", GOLDEN)
every_model = pytest.mark.parametrize("model", ["lda", "qda"])
REFUSED = [name for name, case in GOLDEN.items() if "error" in case["qda"]["moment"]]
every_quadratic_case = pytest.mark.parametrize("name", [name for name in GOLDEN if name not in REFUSED])


# ------------------------------------------------------------------ data and fits


@cache
def table(name: str) -> pd.DataFrame:
    """Return the table that R read, with the response in `group` as text and with missing values."""
    case = GOLDEN[name]
    if name in ("iris", "penguins"):
        loaded = getattr(discrim.datasets, f"load_{name}")()
        return loaded.assign(group=loaded[case["response"]].astype(str))
    loaded = support.classic_table(case["file"])
    parts = [loaded[column].astype(str) for column in case["response"].split(" + ")]
    return loaded.assign(group=parts[0].str.cat(parts[1:]) if len(parts) > 1 else parts[0])


@cache
def complete_rows(name: str) -> pd.DataFrame:
    """Return the rows that R used, in its order."""
    return table(name).dropna(subset=GOLDEN[name]["columns"]).reset_index(drop=True)


@cache
def fitted(name: str, model: str, method: str, other_prior: bool = False, ncomp: int | None = None) -> Any:
    case = GOLDEN[name]
    columns = " + ".join(f"`{column}`" for column in case["columns"])
    options: dict[str, Any] = {} if ncomp is None else {"ncomp": ncomp}
    return getattr(discrim, model)(
        f"group ~ {columns}",
        data=complete_rows(name),
        method=method,
        levels=case["classes"],
        prior=case["other_prior"] if other_prior else None,
        **options,
    )


def golden(name: str, model: str, method: str) -> dict[str, Any]:
    return GOLDEN[name][model][method]


# ------------------------------------------------------------------ comparisons


def assert_close(got: Any, wanted: Any, scale: Any = 1.0) -> None:
    """Check agreement within 1e-10 of `scale`: 1 for probabilities, an SD, a norm, or the value itself."""
    got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert got.shape == wanted.shape
    assert np.isfinite(got).all()
    worst = np.max(np.abs(got - wanted) / scale)
    assert worst <= TOLERANCE, worst


def assert_relatively_close(got: Any, wanted: Any) -> None:
    assert_close(got, wanted, np.maximum(np.abs(np.asarray(wanted, dtype=float)), np.finfo(float).tiny))


def assert_posteriors_close(frame: pd.DataFrame, name: str, wanted: dict[str, Any]) -> None:
    """Check the rows that R wrote, and the sum over all rows."""
    case = GOLDEN[name]
    assert list(frame.columns) == case["classes"]
    assert_close(frame.to_numpy()[case["rows"]], wanted["rows"])
    assert_close(frame.to_numpy().sum(axis=0), wanted["sum"], case["nobs"])


def within_sd(name: str) -> np.ndarray:
    """Return the pooled within-class standard deviations (p,)."""
    case, data = GOLDEN[name], complete_rows(name)
    deviations = data[case["columns"]] - data.groupby("group")[case["columns"]].transform("mean")
    return np.sqrt((deviations**2).sum().to_numpy() / (case["nobs"] - len(case["classes"])))


def assert_scaling_close(got: Any, wanted: Any, name: str) -> None:
    """Check scalings up to the sign of each column, with variables divided by their SD."""
    got, wanted = (np.asarray(values, dtype=float) * within_sd(name)[:, None] for values in (got, wanted))
    signs = np.sign(np.sum(got * wanted, axis=0))
    assert_close(got * signs, wanted, np.abs(wanted).max(axis=0))


# ------------------------------------------------------------------ the numbers of a fit


@every_case
@both_methods
def test_lda_prior_counts_and_means(name: str, method: str) -> None:
    _check_prior_counts_and_means(name, "lda", method)


@every_quadratic_case
@both_methods
def test_qda_prior_counts_and_means(name: str, method: str) -> None:
    _check_prior_counts_and_means(name, "qda", method)


def _check_prior_counts_and_means(name: str, model: str, method: str) -> None:
    wanted = golden(name, model, method)
    fit = fitted(name, model, method)
    assert list(fit.classes) == GOLDEN[name]["classes"]
    assert fit.nobs == GOLDEN[name]["nobs"]
    assert list(fit.counts) == wanted["counts"]
    assert_close(fit.prior, wanted["prior"])
    assert_close(fit.means, wanted["means"], within_sd(name))


@every_case
@both_methods
def test_scaling_and_svd(name: str, method: str) -> None:
    fit, wanted = fitted(name, "lda", method), golden(name, "lda", method)
    assert_relatively_close(fit.svd, wanted["svd"])
    assert_scaling_close(fit.scaling, wanted["scaling"], name)
    square = np.square(wanted["svd"])
    assert_close(fit.explained, square / square.sum())


@every_case
@both_methods
def test_scaling_and_svd_turn_with_the_prior(name: str, method: str) -> None:
    fit, wanted = fitted(name, "lda", method, other_prior=True), golden(name, "lda", method)["other_prior"]
    assert_relatively_close(fit.svd, wanted["svd"])
    assert_scaling_close(fit.scaling, wanted["scaling"], name)


@every_case
@both_methods
def test_transform(name: str, method: str) -> None:
    """Scores on the discriminants, centred at the prior-weighted mean, up to sign."""
    scores = fitted(name, "lda", method).transform(complete_rows(name)).to_numpy()[GOLDEN[name]["rows"]]
    wanted = np.array(golden(name, "lda", method)["x"])
    assert_close(scores * np.sign(np.sum(scores * wanted, axis=0)), wanted, np.abs(wanted).max(axis=0))


@every_quadratic_case
@both_methods
def test_qda_logdet(name: str, method: str) -> None:
    assert_close(fitted(name, "qda", method).logdet, golden(name, "qda", method)["logdet"])


@both_methods
def test_qda_raises_for_nine_observations_of_nine_variables(method: str) -> None:
    assert REFUSED == ["fgl"]
    with pytest.raises(DiscrimError) as caught:
        fitted("fgl", "qda", method)
    assert "Tabl" in str(caught.value)


@both_methods
def test_qda_raises_and_names_a_class_with_as_many_rows_as_columns(method: str) -> None:
    wine = discrim.datasets.load_wine()
    few = wine[(wine["cultivar"] != "barolo") | (wine.groupby("cultivar").cumcount() < 13)]
    with pytest.raises(DiscrimError) as caught:
        discrim.qda("cultivar ~ .", few, method=method)
    assert "barolo" in str(caught.value)


# ------------------------------------------------------------------ posteriors


@every_case
@both_methods
def test_lda_predictions(name: str, method: str) -> None:
    _check_predictions(name, "lda", method)


@every_quadratic_case
@both_methods
def test_qda_predictions(name: str, method: str) -> None:
    _check_predictions(name, "qda", method)


def _check_predictions(name: str, model: str, method: str) -> None:
    fit, wanted, case = fitted(name, model, method), golden(name, model, method), GOLDEN[name]
    assert_posteriors_close(fit.predict_proba(), name, wanted["plugin"])
    other = fit.predict_proba(complete_rows(name), prior=case["other_prior"])
    assert_posteriors_close(other, name, wanted["plugin_other_prior"])
    assert list(fit.predict()) == [case["classes"][code] for code in wanted["class"]]


@every_case
@both_methods
def test_lda_fitted_with_another_prior(name: str, method: str) -> None:
    fit = fitted(name, "lda", method, other_prior=True)
    assert_posteriors_close(fit.predict_proba(), name, golden(name, "lda", method)["other_prior"]["plugin"])


@every_case
@both_methods
@pytest.mark.parametrize("ncomp", [1, 2])
def test_reduced_rank(name: str, method: str, ncomp: int) -> None:
    wanted = golden(name, "lda", method).get(f"dimen_{ncomp}")
    if wanted is None:
        assert len(GOLDEN[name]["classes"]) <= ncomp
        return
    assert_posteriors_close(fitted(name, "lda", method, ncomp=ncomp).predict_proba(), name, wanted)


@every_case
@both_methods
def test_reduced_rank_with_another_prior(name: str, method: str) -> None:
    fit = fitted(name, "lda", method, other_prior=True, ncomp=1)
    assert_posteriors_close(fit.predict_proba(), name, golden(name, "lda", method)["other_prior"]["dimen_1"])


@every_case
@both_methods
@pytest.mark.parametrize("rule", ["predictive", "debiased"])
def test_lda_rules_agree_with_mass(name: str, method: str, rule: str) -> None:
    posterior = fitted(name, "lda", method).predict_proba(method=rule, convention="MASS")
    assert_posteriors_close(posterior, name, golden(name, "lda", method)[rule])


@every_quadratic_case
@both_methods
@pytest.mark.parametrize("rule", ["predictive", "debiased"])
def test_qda_rules_agree_with_mass(name: str, method: str, rule: str) -> None:
    posterior = fitted(name, "qda", method).predict_proba(method=rule, convention="MASS")
    assert_posteriors_close(posterior, name, golden(name, "qda", method)[rule])


@pytest.mark.parametrize("rule", ["plugin", "predictive", "debiased"])
@pytest.mark.parametrize("name", ["iris", "penguins"])
@every_model
def test_exact_rules_in_eighty_digits(name: str, model: str, rule: str) -> None:
    """The predictive and debiased rules are not MASS's by default, so they are held against the formulas."""
    x, codes, rows = _arrays(name)
    moments = ref.Moments.from_rows(x, codes)
    prior = moments.proportions()
    if model == "lda":
        scores = ref.linear_scores(x[rows], moments, moments.pooled_covariance("moment"), prior, rule)
    else:
        scores = ref.quadratic_scores(x[rows], moments, moments.class_covariances("moment"), prior, rule)
    got = fitted(name, model, "moment").predict_proba(method=rule).to_numpy()[rows]
    assert_close(got, ref.to_float(ref.exp(ref.log_posteriors(scores))))


# ------------------------------------------------------------------ leave-one-out


@every_case
@both_methods
def test_lda_leave_one_out(name: str, method: str) -> None:
    _check_leave_one_out(name, "lda", method)


@every_quadratic_case
@both_methods
def test_qda_leave_one_out(name: str, method: str) -> None:
    _check_leave_one_out(name, "qda", method)


def _check_leave_one_out(name: str, model: str, method: str) -> None:
    case, wanted = GOLDEN[name], golden(name, model, method)["leave_one_out"]
    assert wanted["not_finite"] == []
    got = fitted(name, model, method).leave_one_out()
    assert_close(got.loc[:, case["classes"]].to_numpy()[case["rows"]], wanted["rows"])
    assert list(got["label"]) == [case["classes"][code] for code in wanted["class"]]


# ------------------------------------------------------------------ tests and likelihoods


@every_case
def test_wilks_agrees_with_manova(name: str) -> None:
    wilks, wanted = fitted(name, "lda", "moment").wilks, GOLDEN[name]["manova"]["wilks"]
    assert_relatively_close(wilks.statistic, wanted["statistic"])
    assert_relatively_close(wilks.table.loc["F", "statistic"], wanted["f"])
    assert_relatively_close(wilks.df, [wanted["df1"], wanted["df2"]])
    # R's upper tail underflows to 0 where ours does; elsewhere the tail multiplies F's error by about df1.
    assert wilks.pvalue == pytest.approx(wanted["pvalue"], rel=1e-8)


@every_case
def test_likelihoods(name: str) -> None:
    wanted = GOLDEN[name]["equal_covariances"]
    assert_relatively_close(fitted(name, "lda", "moment").llf, wanted["llf_lda"])
    assert_relatively_close(fitted(name, "lda", "mle").llf, wanted["llf_lda"])
    if "llf_qda" in wanted:
        assert_relatively_close(fitted(name, "qda", "moment").llf, wanted["llf_qda"])


@every_quadratic_case
def test_equal_covariances(name: str) -> None:
    wanted, lda = GOLDEN[name]["equal_covariances"], fitted(name, "lda", "moment")
    ratio = discrim.lr_test(lda, fitted(name, "qda", "moment"))
    assert_relatively_close(ratio.statistic, wanted["likelihood_ratio"])
    assert ratio.df == wanted["df"]
    assert ratio.pvalue == pytest.approx(wanted["likelihood_ratio_pvalue"], rel=1e-8)
    box = lda.box_m().table
    assert_relatively_close(box.loc["Box's M", "statistic"], wanted["box_m"])
    chi2, f = box.loc["Box's M, chi-square"], box.loc["Box's M, F"]
    assert_relatively_close([chi2["statistic"], chi2["df"]], [wanted["chi2"], wanted["df"]])
    assert_relatively_close([f["statistic"], f["df"], f["df2"]], [wanted["f"], wanted["df"], wanted["df2"]])
    assert chi2["p"] == pytest.approx(wanted["chi2_pvalue"], rel=1e-8)
    assert f["p"] == pytest.approx(wanted["f_pvalue"], rel=1e-8)


def test_aic_and_bic_of_iris_count_means_covariance_and_priors() -> None:
    fit, llf = fitted("iris", "lda", "moment"), GOLDEN["iris"]["equal_covariances"]["llf_lda"]
    assert_relatively_close(fit.aic, -2 * llf + 2 * 24)
    assert_relatively_close(fit.bic, -2 * llf + 24 * np.log(150))


@every_case
def test_two_class_slopes_are_the_regression_of_the_indicator(name: str) -> None:
    """Two classes: the exact test of a slope is its t in the least-squares regression of the indicator."""
    case = GOLDEN[name]
    wanted, classes = case["indicator_regression"], case["indicator_regression"]["classes"]
    data = complete_rows(name)
    pair = data[data["group"].isin(classes)]
    formula = "group ~ " + " + ".join(f"`{column}`" for column in case["columns"])
    fit = discrim.lda(formula, data=pair.assign(group=pair["group"].astype(str)), levels=classes)
    n = fit.counts.to_numpy()
    slopes = fit.coef[classes[1]].to_numpy() - fit.coef[classes[0]].to_numpy()
    differences = np.diff(fit.means.to_numpy(), axis=0)[0]
    nu, d2 = n.sum() - 2, slopes @ differences
    # The regression's slopes are b / (nu / c + D2), c = n_0 n_1 / N; its t then follows from b, S^-1 and D2.
    c = n.prod() / n.sum()
    inverse = np.diag(np.linalg.inv(fit.cov.to_numpy()))
    variance = (nu + c * d2) * inverse / c - slopes**2
    assert_close(slopes * np.sqrt(wanted["df"] / variance), wanted["t"], np.abs(wanted["t"]).max())


# ------------------------------------------------------------------ the references themselves


def _arrays(name: str) -> tuple[ref.Exact, np.ndarray, list[int]]:
    case, data = GOLDEN[name], complete_rows(name)
    codes = pd.Categorical(data["group"], categories=case["classes"]).codes
    return ref.exact(data[case["columns"]].to_numpy(dtype=float)), np.asarray(codes), case["rows"]


@pytest.mark.parametrize("name", ["iris", "penguins"])
@both_methods
def test_references_agree_with_r(name: str, method: str) -> None:
    """Two sources outside the package, against each other."""
    x, codes, rows = _arrays(name)
    moments = ref.Moments.from_rows(x, codes)
    linear, quadratic = ref.lda(x, codes, method=method), ref.qda(x, codes, method=method)
    less = len(moments.counts) if method == "moment" else 0
    more = len(moments.counts) - 1 if method == "moment" else len(moments.counts)
    case = GOLDEN[name]
    svd = [float((root * (moments.nobs - less) / more) ** 0.5) for root in ref.canonical_eigenvalues(moments)]
    assert_relatively_close(svd, case["lda"][method]["svd"])
    assert_close(ref.to_float(quadratic["logdet"]), case["qda"][method]["logdet"])
    for model, fit in (("lda", linear), ("qda", quadratic)):
        assert_close(ref.to_float(ref.exp(fit["log_proba"]))[rows], case[model][method]["plugin"]["rows"])
        left_out = ref.leave_one_out(x, codes, model == "qda", method, positions=rows[::5])
        assert_close(ref.to_float(ref.exp(left_out)), case[model][method]["leave_one_out"]["rows"][::5])
    wilks = case["manova"]["wilks"]
    p, q, v = len(case["columns"]), len(moments.counts) - 1, moments.nobs - len(moments.counts)
    f = np.array(ref.rao_f(linear["wilks"][0], p, q, v), dtype=object)
    assert_relatively_close(ref.to_float(f), [wilks["f"], wilks["df1"], wilks["df2"]])
    assert_relatively_close(float(linear["llf"][0]), case["equal_covariances"]["llf_lda"])
    assert_relatively_close(float(quadratic["llf"][0]), case["equal_covariances"]["llf_qda"])
