"""Sparse discriminant analysis: against sparseLDA and glmnet, conditions of a minimum, brute force.

``golden/sparse_lda.json`` was written by ``golden/write_sparse_lda.R``.
"""

from __future__ import annotations

import json
import time
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import sparse_lda
from discrim.datasets import load_breast_cancer, load_iris, load_wine
from discrim.errors import (
    CollinearError,
    DataError,
    NotSupportedError,
    UninformativeFitWarning,
)
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "sparse_lda.json").read_text(encoding="utf-8"))
TABLES = {
    "iris": (load_iris, "species"),
    "wine": (load_wine, "cultivar"),
    "cancer": (load_breast_cancer, "diagnosis"),
}


def golden_table(name, made):
    if name.startswith("wide"):
        fixed = GOLDEN["tables"][made]
        x = np.array(fixed["x"])
        return "y ~ .", pd.DataFrame(x, columns=[f"v{j}" for j in range(x.shape[1])]).assign(y=fixed["y"])
    load, response = TABLES[name.split("_")[0]]
    return f"{response} ~ .", load().astype({response: str})


def standard(data, response):
    """Columns over their standard deviations over all rows, and codes of the classes."""
    x = data.drop(columns=response).to_numpy(float)
    return (x - x.mean(axis=0)) / x.std(axis=0), np.unique(data[response], return_inverse=True)[1]


@pytest.mark.parametrize("name", GOLDEN["cases"])
def test_directions_and_posteriors_agree_with_sparselda(name):
    case = GOLDEN["cases"][name]
    formula, data = golden_table(name, "wide")
    stop = np.atleast_1d(case["stop"])
    asked = {"nonzero": (-stop).astype(int).tolist()} if stop[0] < 0 else {"penalty": stop.tolist()}
    fit = sparse_lda(formula, data, ridge=case["ridge"], **asked)
    ours, theirs = fit.standardized.to_numpy(), np.array(case["coef"])
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_array_equal(ours != 0, theirs != 0)
    np.testing.assert_allclose(ours, theirs * signs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fit.scores, np.array(case["scores"]) * signs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fit.predict_proba(), case["posterior"], rtol=0, atol=1e-8)
    assert fit.predict().tolist() == case["label"]


@pytest.mark.parametrize("name", GOLDEN["pairs"])
def test_two_classes_are_the_lasso_of_codes_as_by_dsda(name):
    case = GOLDEN["pairs"][name]
    formula, data = golden_table(name, "pair")
    fit = sparse_lda(formula, data, penalty=case["penalty"])
    ours = fit.standardized["LD1"].to_numpy() / data[list(fit.terms)].to_numpy().std(axis=0)
    theirs = np.array(case["coef"])
    np.testing.assert_array_equal(ours != 0, theirs != 0)
    np.testing.assert_allclose(ours * np.sign(ours @ theirs), theirs, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fit.predict_proba(), case["posterior"], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("load", "formula"),
    [(load_iris, "species ~ ."), (load_wine, "cultivar ~ ."), (load_breast_cancer, "diagnosis ~ .")],
)
def test_without_a_penalty_it_is_lda(load, formula):
    data = load()
    fit, full = sparse_lda(formula, data, penalty=0.0), discrim.lda(formula, data)
    np.testing.assert_allclose(fit.scaling, full.scaling, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fit.transform(), full.transform(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(fit.predict_log_proba(), full.predict_log_proba(), rtol=1e-9, atol=1e-9)


def wide_table(rng, n, p, k):
    codes = np.arange(n) % k
    shift = rng.standard_normal((k, p)) * (rng.random((k, p)) < 0.1)
    x = rng.standard_normal((n, p)) + 1.5 * shift[codes]
    return pd.DataFrame(x, columns=[f"v{j}" for j in range(p)]).assign(y=codes)


@one_in(2, {"n, p, k": [(60, 8, 3), (40, 90, 2), (45, 90, 4)], "ridge": [0.0, 0.3]})
def test_conditions_of_a_minimum_hold(n, p, k, ridge):
    data = wide_table(np.random.default_rng(n + p), n, p, k)
    z, codes = standard(data, "y")
    indicators = np.eye(k)[codes]
    for penalty in (0.02, 0.1, 0.3):
        fit = sparse_lda("y ~ .", data, penalty=penalty, ridge=ridge)
        b, theta = fit.standardized.to_numpy(), fit.scores.to_numpy()
        result = len(fit.penalty)
        assert result == k - 1 or penalty > 0.1
        scores = indicators @ theta
        np.testing.assert_allclose(scores.T @ scores / n, np.eye(result), atol=1e-12)
        np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-12)
        slope = z.T @ (scores - z @ b) / n - ridge * b
        fixed = b != 0
        np.testing.assert_allclose(slope[fixed], penalty * np.sign(b[fixed]), atol=1e-11)
        assert (np.abs(slope[~fixed]) <= penalty * (1 + 1e-9)).all()
        # Given b, the scores are the class means of z b without the part along earlier ones.
        for r in range(result):
            best = np.linalg.lstsq(indicators, z @ b[:, r], rcond=None)[0]
            earlier = scores[:, :r]
            best = indicators @ best
            best -= earlier @ (earlier.T @ best) / n
            np.testing.assert_allclose(best / np.sqrt((best**2).mean()), scores[:, r], atol=1e-10)


@pytest.mark.slow
def test_the_minimum_is_below_all_signs_and_random_scores():
    # For each pattern of signs and each of many scores, the minimum is a linear system.
    rng = np.random.default_rng(3)
    data = wide_table(rng, 40, 4, 3)
    data[["v0", "v1"]] += np.array([[0, 0], [1, 0], [0, 2.0]])[data["y"]]
    z, codes = standard(data, "y")
    proportions = np.bincount(codes) / len(codes)
    correlations, means = z.T @ z / len(z), np.stack([z[codes == k].mean(axis=0) for k in range(3)])
    basis = np.linalg.qr(np.column_stack([np.sqrt(proportions), np.eye(3)[:, :2]]))[0][:, 1:]
    penalty, smallest = 0.15, np.inf
    for angle in np.linspace(0, np.pi, 301):
        c = (basis @ [np.cos(angle), np.sin(angle)] * np.sqrt(proportions)) @ means
        for signs in product([-1, 0, 1], repeat=4):
            s = np.array(signs)
            at = np.flatnonzero(s)
            b = np.linalg.solve(correlations[np.ix_(at, at)], c[at] - penalty * s[at])
            if (b * s[at] > 0).all():
                smallest = min(smallest, 0.5 - 0.5 * b @ (c[at] - penalty * s[at]))
    fit = sparse_lda("y ~ .", data, penalty=penalty)
    b, theta = fit.standardized["LD1"].to_numpy(), fit.scores["LD1"].to_numpy()
    value = ((theta[codes] - z @ b) ** 2).mean() / 2 + penalty * np.abs(b).sum()
    assert value <= smallest + 1e-12
    assert value > smallest - 1e-3


def test_numbers_of_columns_are_kept_and_the_next_is_about_to_enter():
    fit = sparse_lda("cultivar ~ .", load_wine(), nonzero=[4, 2])
    assert fit.counts_selected.tolist() == [4, 2]
    z, codes = standard(load_wine().astype({"cultivar": str}), "cultivar")
    for axis, penalty in fit.penalty.items():
        slope = z.T @ (fit.scores[axis].to_numpy()[codes] - z @ fit.standardized[axis].to_numpy()) / len(z)
        out = np.abs(slope[fit.standardized[axis].to_numpy() == 0]).max()
        assert out == pytest.approx(penalty, rel=1e-8)
    again = sparse_lda("cultivar ~ .", load_wine(), penalty=fit.penalty.tolist())
    np.testing.assert_allclose(again.standardized, fit.standardized, atol=1e-8)


def test_path_has_the_errors_of_fits_with_the_penalty_given():
    data = load_wine()
    fit = sparse_lda("cultivar ~ .", data, seed=3, folds=4, n_penalties=6)
    assert fit.path["penalty"].is_monotonic_decreasing
    assert fit.path["columns"].iloc[0] == 0
    for _, row in fit.path.iloc[1:4].iterrows():
        arguments = sparse_lda("cultivar ~ .", data, penalty=row["penalty"])
        own = arguments.error_rates(["cv"], folds=4, seed=3).iloc[0]
        assert row["error"] == pytest.approx(own["estimate"])
        assert row["se"] == pytest.approx(own["se"])
        assert row["columns"] == len(arguments.selected)
    smallest = fit.path["error"].min()
    best = fit.path.loc[fit.path["error"] <= smallest + 1e-12, "penalty"].max()
    assert fit.penalty.tolist() == [best] * 2
    coefs = fit.coefficient_path()
    np.testing.assert_allclose(
        coefs.loc[(best, "LD1")], fit.standardized.loc[list(coefs.columns), "LD1"], atol=1e-9
    )


def test_wide_tables_agree_with_their_augmented_tables():
    data = wide_table(np.random.default_rng(8), 30, 70, 3)
    fit = sparse_lda("y ~ .", data, penalty=0.2)
    assert fit._fit.estimates.moments.scatter_type == "thin"
    few = sparse_lda("y ~ " + " + ".join(fit.selected), data, penalty=0.2)
    assert few._fit.estimates.moments.scatter_type == "pooled"
    np.testing.assert_allclose(fit.predict_log_proba(), few.predict_log_proba(), rtol=1e-9, atol=1e-9)
    remaining = fit.leave_one_out()
    without = sparse_lda("y ~ .", data.drop(index=4), penalty=0.2, prior=fit.prior)
    np.testing.assert_allclose(
        remaining.iloc[4, 1:].to_numpy(float), without.predict_proba(data.loc[[4]]).iloc[0], rtol=1e-8
    )


def test_one_of_two_equal_columns_is_selected():
    data = load_iris()
    twice = data.assign(again=data["petal_length"], both=data["petal_length"] + data["sepal_width"])
    one, two = sparse_lda("species ~ .", data, penalty=0.1), sparse_lda("species ~ .", twice, penalty=0.1)
    np.testing.assert_allclose(
        sparse_lda("species ~ . - both", twice, penalty=0.1).predict_proba(), one.predict_proba(), atol=1e-9
    )
    assert np.isfinite(two.predict_log_proba()).all(axis=None)
    with pytest.raises(CollinearError) as caught:
        sparse_lda("species ~ .", twice, penalty=0.0)
    assert caught.value.columns == ("again", "both")
    assert sparse_lda("species ~ .", twice, penalty=0.0, ridge=0.1).nobs == 150


def test_invalid_requests_are_refused():
    iris = load_iris()
    for options, message in [
        ({"penalty": -1}, "penalty=-1"),
        ({"penalty": [0.1, 0.2, 0.3]}, "3 classes have 2 directions"),
        ({"nonzero": 0}, "nonzero=0"),
        ({"nonzero": 1.5}, "nonzero=1.5"),
        ({"nonzero": 1, "penalty": 1}, "Leave one of them out"),
        ({"ridge": -1.0}, "ridge=-1"),
        ({"ncomp": 3}, "ncomp=3"),
        ({"grid": []}, "empty"),
        ({"grid": [0.0, 1.0]}, "grid=.*0.0"),
        ({"n_penalties": 1}, "n_penalties=1"),
    ]:
        with pytest.raises(DataError, match=message):
            sparse_lda("species ~ .", iris, **options)
    wide = wide_table(np.random.default_rng(1), 20, 40, 2)
    with pytest.raises(CollinearError) as caught:
        sparse_lda("y ~ .", wide, penalty=0.0)
    assert "ridge=" in str(caught.value)
    perfect = iris.assign(
        own=iris["species"].map({"setosa": 0.0, "versicolor": 1.0, "virginica": 5.0}).astype(float)
    )
    with pytest.raises(CollinearError) as caught:
        sparse_lda("species ~ .", perfect, nonzero=1)
    assert "own" in str(caught.value)
    with pytest.warns(UninformativeFitWarning):
        none = sparse_lda("species ~ .", iris, penalty=1.0)
    np.testing.assert_allclose(none.predict_proba(), 1 / 3)
    with pytest.raises(NotSupportedError) as caught:
        _ = none.llf
    assert "likelihood" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        _ = none.path
    assert "path" in str(caught.value)


def test_units_and_offsets_do_not_matter():
    iris = load_iris()
    plain = sparse_lda("species ~ .", iris, penalty=0.1)
    shifted = iris.assign(
        petal_length=iris["petal_length"] * 1e-200, petal_width=iris["petal_width"] * 2.0**400,
        sepal_width=iris["sepal_width"] + 2.0**20,
    )  # fmt: skip
    fit = sparse_lda("species ~ .", shifted, penalty=0.1)
    np.testing.assert_allclose(fit.standardized, plain.standardized, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fit.predict_log_proba(), plain.predict_log_proba(), rtol=1e-7)


def test_scores_have_the_covariance_within_classes_that_plots_draw():
    wine = load_wine()
    fit = sparse_lda("cultivar ~ .", wine, nonzero=3)
    scores, within = fit.transform(), fit._scores_within()
    remaining = scores - scores.groupby(wine["cultivar"], observed=True).transform("mean")
    np.testing.assert_allclose(remaining.T @ remaining / (len(wine) - 3), within, atol=1e-12)
    # The map's rule is the fit's: nearest mean in that metric, but for the prior.
    white = np.linalg.inv(np.linalg.cholesky(within))
    gaps = (scores.to_numpy()[:, None] - fit._centroids().to_numpy()) @ white.T
    best = (np.log(fit.prior.to_numpy()) - (gaps**2).sum(axis=2) / 2).argmax(axis=1)
    assert (fit.classes[best] == fit.predict()).all()


@cache
def chosen_fit():
    return sparse_lda("species ~ .", load_iris(), n_penalties=5, seed=1)


@pytest.mark.parametrize("kind", ["path", "choice", "scores", "territory"])
def test_plots_are_drawn(kind):
    fit = chosen_fit()
    axes = fit.plot(kind)
    assert axes.get_title()
    if kind == "path":
        # A line of each column and direction that has a part somewhere, the two of the fit, and zero.
        table = fit.coefficient_path()
        drawn = [line for line in axes.lines if len(line.get_xdata()) == len(fit.path) - 1]
        assert len(drawn) == sum(table.xs(axis, level="axis").any().sum() for axis in ("LD1", "LD2"))


def test_genes_are_found_as_r_finds_them():
    data, train = support.leukemia_table()
    fit = sparse_lda("y ~ .", data[train], penalty=0.25)
    z, codes = standard(data[train], "y")
    b, theta = fit.standardized["LD1"].to_numpy(), fit.scores["LD1"].to_numpy()
    slope = z.T @ (theta[codes] - z @ b) / len(z)
    np.testing.assert_allclose(slope[b != 0], 0.25 * np.sign(b[b != 0]), atol=1e-10)
    assert np.abs(slope[b == 0]).max() <= 0.25
    assert (fit.predict(data[~train]) == data.loc[~train, "y"]).sum() >= 30


def test_collinear_columns_with_a_small_penalty_converge():
    # Rounding sent a column away and back again without end.
    rng = np.random.default_rng(51)
    x = rng.standard_normal((30, 12))
    x[:, 1], x[:, 5] = x[:, 0], x[:, 2] - 2 * x[:, 3]
    data = pd.DataFrame(x, columns=[f"v{j}" for j in range(12)]).assign(y=np.arange(30) % 3)
    start = time.perf_counter()
    fit = sparse_lda("y ~ .", data, penalty=1e-6)
    assert time.perf_counter() - start < 2
    z, codes = standard(data, "y")
    for axis in fit.penalty.index:
        slope = z.T @ (fit.scores[axis].to_numpy()[codes] - z @ fit.standardized[axis].to_numpy()) / len(z)
        assert np.abs(slope).max() <= 1e-6 + 1e-9
