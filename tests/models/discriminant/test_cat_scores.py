"""Shrunken correlations, CAT scores and rankings: R's sda, definitions, identities and refits."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
from numpy.testing import assert_allclose
from sklearn.covariance import ShrunkCovariance

import discrim
from discrim import lda
from discrim.cli import main
from discrim.core.discriminant.lda import benjamini_hochberg, higher_criticism
from discrim.covariance import Diagonal, Shrunk, ShrunkCorrelation
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedColumnsWarning,
    NotSupportedError,
    PriorError,
    ScaleWarning,
)
from discrim.sklearn import LDAClassifier
from tests.turns import one_in

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "ranking.json").read_text(encoding="utf-8"))
IRIS = load_iris()
SHRUNK = {"covariance": "correlation"}
GIVEN = {"covariance": ShrunkCorrelation(0.3, variance_shrinkage=0.1)}
GIVEN_CORRELATIONS = {"covariance": ShrunkCorrelation(0.3)}
DIAGONAL = {"covariance": Diagonal("strimmer")}


def wide() -> pd.DataFrame:
    """24 rows of 40 columns, as in write_ranking.R."""
    i, j = np.arange(1, 25)[:, None], np.arange(1, 41)[None]
    k = np.repeat([1, 2, 3], [10, 8, 6])
    noise = (37 * i**2 + 101 * i * j + 53 * j**2 + 7 * i * j**2) % 97 / 97
    x = (noise + (29 * i) % 31 / 31 * (j % 5) + np.where(j % 7 == k[:, None], 0.75, 0.0)) * (1 + j % 4)
    return pd.DataFrame(x, columns=[f"g{c}" for c in range(1, 41)]).assign(y=np.array(list("abc"))[k - 1])


WIDE = wide()
TABLES = {
    "iris": ("species ~ .", IRIS),
    "two": ("species ~ .", IRIS.iloc[70:].reset_index(drop=True)),
    "wide": ("y ~ .", WIDE),
}


# ---- R's sda


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("case", "options"), [("estimated", SHRUNK), ("shares", SHRUNK), ("given", GIVEN), ("diagonal", DIAGONAL)]
)
def test_rule_and_ranking_agree_with_sda(name, case, options):
    formula, data = TABLES[name]
    theirs = GOLDEN[name][case]
    fit = lda(formula, data, prior=theirs["freqs"] if case == "estimated" else None, **options)
    if case == "diagonal":
        assert fit.shrinkage == pytest.approx(theirs["lambda_var"], rel=1e-12)
    else:
        assert fit.shrinkage == pytest.approx(theirs["lambda"], rel=1e-12)
        assert fit.covariance_model.variance_shrinkage == pytest.approx(theirs["lambda_var"], rel=1e-12)
    assert_allclose(fit.predict_log_proba(), theirs["log_posterior"], rtol=1e-9, atol=1e-11)
    letter = "t" if case == "diagonal" else "cat"
    scores = fit.ranking()[[f"{letter}.{label}" for label in fit.classes]].loc[fit.terms]
    assert_allclose(scores, theirs["cat"], rtol=1e-10, atol=1e-12)
    for by, other in (("entropy", "entropy"), ("average", "avg"), ("maximum", "max")):
        ranked = fit.ranking(by)
        assert_allclose(ranked["score"].loc[fit.terms], theirs[other], rtol=1e-11)
        assert ranked.index.tolist() == fit.terms[np.array(theirs[f"order_{other}"]) - 1].tolist()


def test_higher_criticism_and_false_discovery_rates_agree_with_r():
    theirs = {key: np.array(value) for key, value in GOLDEN["hc"].items()}
    assert_allclose(higher_criticism(theirs["p"]), theirs["hc"], rtol=1e-12)
    assert_allclose(benjamini_hochberg(theirs["p"]), theirs["bh"], rtol=1e-12)
    assert np.isnan(higher_criticism(np.array([0.3]))).all()


# ---- definitions


def parts(x, y, w=None):
    """Deviations from class means, and weights."""
    w = np.ones(len(x)) if w is None else w
    d = np.array(x, dtype=float)
    for label in np.unique(y):
        d[y == label] -= np.average(d[y == label], axis=0, weights=w[y == label])
    return d, w


def schaefer_strimmer(x, y, w=None):
    """The variances of all correlations over their squares, pair by pair."""
    d, w = parts(x, y, w)
    n = w.sum()
    s = d / np.sqrt((w[:, None] * d**2).sum(axis=0) / (n - 1))
    above = below = 0.0
    for j, k in combinations(range(d.shape[1]), 2):
        products = s[:, j] * s[:, k]
        mean = (w * products).sum() / n
        above += n / (n - 1) ** 3 * (w * (products - mean) ** 2).sum()
        below += (n / (n - 1) * mean) ** 2
    return min(1.0, above / below)


def covariance_of(x, y, g, h):
    d, _ = parts(x, y)
    scatter = d.T @ d / (len(x) - len(np.unique(y)))
    sd = np.sqrt(np.diag(scatter))
    shrunken = np.sqrt((1 - h) * sd**2 + h * np.median(sd**2))
    correlation = (1 - g) * scatter / np.outer(sd, sd) + g * np.eye(len(sd))
    return correlation * np.outer(shrunken, shrunken)


def simulate_rows(n, p, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = rng.standard_normal((n, p)) @ (np.eye(p) + 0.4 * rng.standard_normal((p, p))) + y[:, None]
    return np.round(x * 2**20) / 2**20 * np.linspace(1, 3, p) + offset, y


def as_frame(x, y):
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(y=np.array(list("abc"))[y])


@one_in(2, {"n, p": [(60, 2), (60, 5), (15, 30)], "offset": [0.0, 2.0**20]})
def test_the_covariance_is_its_definition(n, p, offset):
    x, y = simulate_rows(n, p)
    fit = lda("y ~ .", as_frame(x + offset, y), **SHRUNK)
    assert fit.shrinkage == pytest.approx(schaefer_strimmer(x, y), rel=1e-9)
    want = covariance_of(x, y, fit.shrinkage, fit.covariance_model.variance_shrinkage)
    assert_allclose(fit.cov, want, rtol=1e-8, atol=1e-10 * np.abs(want).max())
    fit_with_fixed = lda("y ~ .", as_frame(x + offset, y), **GIVEN)
    assert_allclose(
        fit_with_fixed.cov, covariance_of(x, y, 0.3, 0.1), rtol=1e-8, atol=1e-10 * np.abs(want).max()
    )


def test_one_column_has_no_correlation_to_shrink():
    fit = lda("species ~ petal_length", IRIS, **SHRUNK)
    assert_allclose(fit.cov, lda("species ~ petal_length", IRIS).cov, rtol=1e-12)
    assert fit.ranking().shape == (1, 7)


@pytest.mark.parametrize("name", ["pooled", "shrunk", "standardized", "correlation", "estimator", "t"])
def test_cat_scores_are_their_definition(name):
    options = {
        "standardized": {"covariance": Shrunk(standardize=True)},
        "estimator": {"covariance": ShrunkCovariance()},
        "t": {"covariance": "t"},
    }.get(name, {"covariance": name})
    prior = np.array([0.2, 0.3, 0.5])
    fit = lda("species ~ .", IRIS, prior=prior, **options)
    cov, means = fit.cov.to_numpy(), fit.means.to_numpy()
    sd = np.sqrt(np.diag(cov))
    root = np.linalg.inv(scipy.linalg.sqrtm(cov / np.outer(sd, sd)).real)
    want = (root @ ((means - prior @ means) / sd).T) * np.sqrt(150 * prior / (1 - prior))
    actual = fit.ranking().loc[fit.terms]
    assert_allclose(actual.iloc[:, 4:], want, rtol=1e-8, atol=1e-8)
    assert_allclose(actual["score"], want**2 @ (1 - prior), rtol=1e-8)
    assert actual["p"].isna().all() == (name == "t")


# ---- identities


def test_cat_scores_of_two_classes_decompose_hotelling_s_t2():
    two = IRIS.iloc[70:].reset_index(drop=True)
    fit = lda("species ~ .", two)
    table = fit.ranking()
    wilks = fit.wilks.statistic
    t2 = (1 / wilks - 1) * (len(two) - 2)
    assert_allclose(table["score"].sum(), t2, rtol=1e-10)
    assert_allclose((table["cat.versicolor"] ** 2).sum(), t2, rtol=1e-10)
    assert_allclose(table["cat.versicolor"], -table["cat.virginica"], rtol=1e-10)


@pytest.mark.parametrize("name", TABLES)
def test_correlations_shrunk_to_none_leave_t_scores(name):
    formula, data = TABLES[name]
    one = lda(formula, data, covariance=ShrunkCorrelation(1, variance_shrinkage=0.2)).ranking()
    other = lda(formula, data, covariance=Diagonal(0.2)).ranking()
    assert_allclose(one.iloc[:, [0, *range(4, one.shape[1])]], other.iloc[:, [0, *range(4, one.shape[1])]])
    assert one.index.equals(other.index)


def test_t_scores_agree_with_analysis_of_variance():
    fit = lda("species ~ .", IRIS.iloc[10:], covariance="diagonal")
    table, anova = fit.ranking(), fit.anova()
    assert_allclose(table["score"] / 2, anova["F"].loc[table.index], rtol=1e-10)
    assert_allclose(table["p"], anova["p"].loc[table.index], rtol=1e-8)
    two = lda("species ~ .", IRIS.iloc[50:], covariance="diagonal").ranking()
    for term, t in two["t.virginica"].items():
        groups = [chunk[term] for _, chunk in IRIS.iloc[50:].groupby("species", observed=True)]
        assert t == pytest.approx(scipy.stats.ttest_ind(groups[1], groups[0]).statistic, rel=1e-10)


def test_no_shrinkage_is_the_pooled_covariance():
    none = lda("species ~ .", IRIS, covariance=ShrunkCorrelation(0, variance_shrinkage=0))
    reference_fit = lda("species ~ .", IRIS)
    assert_allclose(none.cov, reference_fit.cov, rtol=1e-12)
    assert_allclose(none.ranking(), reference_fit.ranking(), rtol=1e-9)
    assert_allclose(none.leave_one_out().iloc[:5, 1:], reference_fit.leave_one_out().iloc[:5, 1:], rtol=1e-8)


def test_the_null_is_scaled_to_the_median_of_most_columns():
    fit = lda("y ~ .", WIDE, **SHRUNK)
    table = fit.ranking()
    assert table["p"].median() == pytest.approx(0.5, abs=0.02)
    pd.testing.assert_frame_equal(table, fit.ranking(null="empirical"))
    reference = fit.ranking(null="theoretical")
    assert_allclose(reference["p"], scipy.stats.f.sf(reference["score"] / 2, 2, 21), rtol=1e-10)
    assert (reference["p"] < table["p"]).all()
    # The tail is that of the entropy, whatever the order.
    assert_allclose(fit.ranking("maximum")["p"].loc[table.index], table["p"])
    pd.testing.assert_frame_equal(fit.ranking(top=3), table.head(3))


# ---- rows left out, weights, moments, files


@one_in(
    2,
    {
        "name": ["iris", "wide", "as many"],
        "options": [
            SHRUNK,
            GIVEN,
            {"covariance": ShrunkCorrelation(variance_shrinkage=0.1)},
            GIVEN_CORRELATIONS,
        ],
    },
)
def test_leave_one_out_scores_equal_refits(name, options):
    # Rows that sums stand for, and are solved together; rows of more columns; and those between.
    formula, data = TABLES.get(name, ("y ~ .", WIDE[["y", *WIDE.columns[:20]]]))
    weights = 1 + np.arange(len(data)) % 3
    for w in (None, weights):
        fit = lda(formula, data, weights=w, **options)
        left_out = fit.leave_one_out()
        for i in (0, len(data) // 2 + 1, len(data) - 2):
            less = data.drop(index=data.index[i]) if w is None else data
            remaining_weights = w if w is None else w - (np.arange(len(data)) == i)
            again = lda(formula, less, prior=fit.prior, weights=remaining_weights, **options)
            want = again.predict_proba(data.iloc[[i]]).to_numpy()[0]
            assert_allclose(left_out.iloc[i][list(fit.classes)].astype(float), want, rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("name", ["two", "wide"])
def test_weights_are_repeated_rows(name):
    formula, data = TABLES[name]
    w = 1 + np.arange(len(data)) % 3
    weighted, repeated = (
        lda(formula, data, weights=w, **SHRUNK),
        lda(formula, data.loc[data.index.repeat(w)], **SHRUNK),
    )
    assert weighted.shrinkage == pytest.approx(repeated.shrinkage, rel=1e-10)
    assert weighted.covariance_model.variance_shrinkage == pytest.approx(
        repeated.covariance_model.variance_shrinkage, rel=1e-10
    )
    assert_allclose(weighted.ranking(), repeated.ranking(), rtol=1e-8)
    x = data.drop(columns=formula.split()[0]).to_numpy()
    y = data[formula.split()[0]].to_numpy()
    assert weighted.shrinkage == pytest.approx(schaefer_strimmer(x, y, w.astype(float)), rel=1e-9)


def test_tables_in_parts_give_the_same():
    full_fit = lda("y ~ .", WIDE, **SHRUNK)
    frames = [WIDE.iloc[:9], WIDE.iloc[9:20], WIDE.iloc[20:]]
    in_parts = lda("y ~ .", lambda: iter(frames), **SHRUNK)
    assert_allclose(in_parts.ranking(), full_fit.ranking(), rtol=1e-9)


def test_moments_are_enough_for_shrinkages_that_are_given():
    stored_moments = discrim.moments("species ~ .", IRIS)
    assert_allclose(
        lda(moments=stored_moments, **GIVEN).ranking(), lda("species ~ .", IRIS, **GIVEN).ranking()
    )
    for options in (SHRUNK, GIVEN_CORRELATIONS):
        with pytest.raises(NotSupportedError) as caught:
            lda(moments=stored_moments, **options)
        assert "observations" in str(caught.value)


@pytest.mark.parametrize("name", ["iris", "wide"])
def test_a_file_keeps_shrinkages_and_ranking(name, tmp_path):
    formula, data = TABLES[name]
    for options in (SHRUNK, GIVEN):
        fit = lda(formula, data, **options)
        fit.save(tmp_path / "fit")
        loaded = discrim.load(tmp_path / "fit")
        pd.testing.assert_frame_equal(loaded.ranking(), fit.ranking(), check_exact=True)
        header = [results.summary(["header"]).tables["header"]["value"] for results in (fit, loaded)]
        for key in ("Shrinkage, correlations", "Shrinkage, variances"):
            assert header[0][key] == header[1][key]
        assert loaded.glance()["variance_shrinkage"].item() == fit.covariance_model.variance_shrinkage


# ---- words and refusals


def test_the_summary_says_what_was_shrunk_by_how_much():
    text = lda("species ~ .", IRIS, **GIVEN_CORRELATIONS).summary().as_text()
    assert "shrunk correlations, 1/(N-K)" in text
    assert "0.3, given" in text
    assert "0.07257, estimated" in text
    wide_fit = lda("y ~ .", WIDE, **SHRUNK)
    assert "Variables ranked by CAT scores, the first of 40" in wide_fit.summary().as_text()
    pd.testing.assert_frame_equal(
        wide_fit.summary().tables["ranking"], wide_fit.ranking(top=10).iloc[:, :4], check_names=False
    )
    alone = lda("species ~ .", IRIS, prior=[1, 0, 0], **SHRUNK)
    assert "ranking" not in alone.summary().tables


def test_prior_of_sda_agrees_with_the_notes():
    f = WIDE["y"].value_counts(normalize=True).sort_index()
    g = min(1.0, (1 - (f**2).sum()) / (23 * ((1 / 3 - f) ** 2).sum()))
    theirs = GOLDEN["wide"]["estimated"]["freqs"]
    assert_allclose(g / 3 + (1 - g) * f, [theirs[label] for label in "abc"], rtol=1e-12)


def test_columns_without_a_correlation_are_named():
    data = IRIS.assign(flat=pd.factorize(IRIS["species"])[0])
    with pytest.raises(CollinearError) as caught:
        lda("species ~ .", data, **SHRUNK)
    assert caught.value.columns == ("flat",)
    with pytest.warns(DroppedColumnsWarning, match="flat"):
        fit = lda("species ~ .", data, collinear="drop", **SHRUNK)
    assert_allclose(fit.ranking(), lda("species ~ .", IRIS, **SHRUNK).ranking())
    copied = IRIS.assign(copy=IRIS["sepal_length"] * 2)
    assert lda("species ~ .", copied, **SHRUNK).ranking().shape == (5, 7)
    with pytest.raises(CollinearError) as caught:
        lda("species ~ .", copied, covariance=ShrunkCorrelation(0))
    assert caught.value.columns == ("copy",)
    with pytest.raises(CollinearError) as caught:
        lda("y ~ .", WIDE, covariance=ShrunkCorrelation(0))
    assert "degrees" in str(caught.value)
    assert "freedom" in str(caught.value)


def test_a_ranking_that_there_is_none_of_is_refused():
    with pytest.warns(ScaleWarning):
        sphere = lda("y ~ .", WIDE, covariance="shrunk")
    with pytest.raises(NotSupportedError) as caught:
        sphere.ranking()
    assert 'covariance="correlation"' in str(caught.value)
    fit = lda("species ~ .", IRIS, prior=[1, 0, 0])
    with pytest.raises(PriorError) as caught:
        fit.ranking()
    assert caught.value.classes == ("setosa",)
    fit = lda("species ~ .", IRIS)
    for wrong in ({"by": "t"}, {"top": 0}, {"top": 5}, {"top": 1.5}, {"null": "flat"}):
        with pytest.raises(DataError):
            fit.ranking(**wrong)
    with pytest.raises(NotSupportedError) as caught:
        _ = fit.shrinkage
    assert "correlation" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = lda("species ~ .", IRIS, covariance="shrunk").covariance_model.variance_shrinkage
    assert "correlation" in str(caught.value)
    assert not hasattr(fit, "covariance_model")


def test_the_command_line_and_the_estimator_take_both_shrinkages(capsys):
    typed = "correlation(shrinkage=0.3, variance_shrinkage=0.1)"
    assert main(["lda", "species ~ .", "iris", "--covariance", typed]) == 0
    assert "shrunk correlations" in capsys.readouterr().out
    x, y = WIDE.drop(columns="y"), WIDE["y"]
    model = LDAClassifier(**SHRUNK).fit(x, y)
    assert_allclose(model.predict_proba(x), lda("y ~ .", WIDE, **SHRUNK).predict_proba(), rtol=1e-9)
    assert_allclose(LDAClassifier(**GIVEN).fit(x, y).results_.cov, lda("y ~ .", WIDE, **GIVEN).cov)
