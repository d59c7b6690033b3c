"""Nearest neighbours against R's class, scikit-learn, brute force and exact arithmetic.

``golden/knn.json`` was written by ``golden/write_knn.R``.
"""

from __future__ import annotations

import json
import re
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

import discrim
from discrim import knn
from discrim.core.moments.moments import gather
from discrim.core.neighbours import neighbours
from discrim.core.neighbours import neighbours as neighbour_cells
from discrim.core.neighbours import neighbours as neighbour_filter
from discrim.core.neighbours.knn import fit_knn
from discrim.datasets import load, load_iris, load_penguins
from discrim.errors import (
    CollinearError,
    DataError,
    DroppedColumnsWarning,
    NotSupportedError,
    PriorError,
)
from tests import support
from tests.turns import one_in

GOLDEN = json.loads((support.GOLDEN / "knn.json").read_text(encoding="utf-8"))["cases"]


# ---- R's class


def golden_rows(case):
    data = load(case["table"])[[case["response"], *case["columns"]]].dropna().reset_index(drop=True)
    data[case["columns"]] = (data[case["columns"]] * case["times"]).round()
    quoted = " + ".join(f"`{name}`" for name in case["columns"])
    return f"{case['response']} ~ {quoted}", data


def agree(posteriors: pd.DataFrame, labels: pd.Series, golden: dict, same: np.ndarray) -> None:
    """The winner's share of the votes, and the label where R does not draw it, in rows of the same ties."""
    np.testing.assert_allclose(posteriors.max(axis=1)[same], np.array(golden["prob"])[same], rtol=1e-12)
    theirs = np.array(golden["label"], dtype=float)
    sample = np.isnan(theirs)
    codes = labels.map({label: k + 1 for k, label in enumerate(posteriors.columns)}).to_numpy(dtype=int)
    np.testing.assert_array_equal(codes[same & ~sample], theirs[same & ~sample])
    top = posteriors.to_numpy()[same & sample]
    assert ((top > top.max(axis=1, keepdims=True) - 1e-12).sum(axis=1) > 1).all()


def ties_as_r(x: np.ndarray, q: np.ndarray, k: int, *, own: bool, rounding: bool) -> np.ndarray:
    """Rows of q whose k-th distance has no near tie, and no tie at all where these are lost in rounding."""
    measured = cdist(q, x)
    if own:
        np.fill_diagonal(measured, np.inf)
    last = np.sort(measured, axis=1)[:, k - 1 : k]
    low = 1 - 1e-9 if rounding else 1 + 1e-9
    nearby = ((measured > last * low) & (measured < last * (1 + 1e-4))).sum(axis=1)
    return np.asarray(nearby <= rounding)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['table']}-{len(case['columns'])}")
def test_votes_and_leave_one_out_agree_with_r(case):
    formula, data = golden_rows(case)
    for i, k in enumerate(case["k"]):
        x = data[case["columns"]].to_numpy()
        half = knn(formula, data.iloc[::2], k=k, scale=False)
        new = data.iloc[1::2]
        same = ties_as_r(x[::2], x[1::2], k, own=False, rounding=False)
        assert same.mean() > 0.9
        agree(half.predict_proba(new), half.predict(new), case["knn"][i], same)
        for key, scale in (("knn_cv", False), ("scaled_cv", True)):
            left_out = knn(formula, data, k=k, scale=scale).leave_one_out()
            z = x / x.std(axis=0) if scale else x
            same = ties_as_r(z, z, k, own=True, rounding=scale)
            # Scaled, two columns of few different values are little but ties.
            subset = 0.25 if len(case["columns"]) == 2 else 0.75
            assert same.mean() > (subset if scale else 0.9)
            agree(left_out.iloc[:, 1:], left_out["label"], case[key][i], same)


def test_the_golden_tables_have_ties_of_distances_and_of_votes():
    sample = [code is None for case in GOLDEN for chunk in case["knn_cv"] for code in chunk["label"]]
    assert sum(sample) > 20
    formula, data = golden_rows(GOLDEN[0])
    assert (knn(formula, data, k=4, scale=False).votes().sum(axis=1) > 4).any()


# ---- brute force, in exact arithmetic


def exact_votes(x, codes, q, k, n_classes, leave=None):
    """Votes of the k nearest and of all as near, from fractions of the decimals as they are written."""
    rows = [[Fraction(str(value)) for value in row] for row in x]
    out = []
    for i, row in enumerate(q):
        exact_row = [Fraction(str(value)) for value in row]
        differences = [sum((a - b) ** 2 for a, b in zip(exact_row, other, strict=True)) for other in rows]
        candidates = [j for j in range(len(rows)) if leave is None or j != i]
        limit = sorted(differences[j] for j in candidates)[k - 1]
        votes = np.zeros(n_classes)
        for j in candidates:
            votes[codes[j]] += differences[j] <= limit
        out.append(votes)
    return np.array(out)


def fit_arrays(x, codes, k, scale=False, metric="euclidean"):
    n_classes = int(codes.max()) + 1
    moments = gather(
        [(x, codes, None)], n_classes=n_classes, n_columns=x.shape[1], required_moments="diagonal"
    )
    return fit_knn(x, codes, moments, moments.counts / len(x), k=k, metric=metric, scale=scale)


@one_in(3, {"offset": [0, 1000, 10**7], "unit": [1.0, 2.0**-500, 2.0**500]})
def test_decimal_ties_are_ties_far_from_zero_and_in_any_unit(offset, unit):
    rng = np.random.default_rng(0)
    decimals = np.round(rng.normal(0, 0.4, (70, 3)), 1) + offset
    codes = np.arange(70) % 3
    expected = exact_votes(decimals, codes, decimals, 4, 3, leave=True)
    assert (expected.sum(axis=1) > 4).sum() > 10
    fit = fit_arrays(decimals * unit, codes, 4)
    left_out = np.concatenate([next(tally.votes([4])) for _, tally in fit.left_out_vote_counts(4)])
    np.testing.assert_array_equal(left_out, expected)


def test_distances_are_precise_far_from_zero():
    rng = np.random.default_rng(1)
    # Multiples of 2^-10, exact beside 10^9: the square of an uncentred row would have none of the digits.
    nearby = np.round(rng.standard_normal((2000, 20)) * 2**10) / 2**10
    codes = rng.integers(0, 3, 2000)
    at_zero, distant = fit_arrays(nearby, codes, 6), fit_arrays(nearby + 1e9, codes, 6)
    assert at_zero.search.products is not None
    one, other = (
        at_zero.search.nearest_others(np.arange(2000), 6),
        distant.search.nearest_others(np.arange(2000), 6),
    )
    scale = at_zero.search.space.unit[0] / distant.search.space.unit[0]
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_allclose(one.distances, other.distances * scale, rtol=1e-12)


@settings(max_examples=20)
@given(
    n=st.integers(4, 30),
    p=st.integers(1, 4),
    k=st.integers(1, 4),
    most=st.integers(0, 3),
    seed=st.integers(0, 10**6),
)
def test_every_tied_row_votes_however_many_there_are(n, p, k, most, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, most + 1, (n, p)).astype(float)
    codes = rng.permutation(np.arange(n) % 3)
    fit = fit_arrays(x, codes, min(k, n - 1))
    new = rng.integers(-1, most + 2, (9, p)).astype(float)
    rule = fit.rule_with_prior(fit.prior)
    np.testing.assert_array_equal(rule.votes(new), exact_votes(x, codes, new, fit.k, 3))
    left_out = np.concatenate([next(tally.votes([fit.k])) for _, tally in fit.left_out_vote_counts(fit.k)])
    np.testing.assert_array_equal(left_out, exact_votes(x, codes, x, fit.k, 3, leave=True))


# ---- the engines agree


@pytest.mark.slow
@one_in(
    2,
    {
        "kind": ["normal", "whole numbers", "duplicates", "outlier", "clusters", "one point"],
        "p": [2, 5, 20],
    },
)
def test_tree_and_products_agree_with_brute_force(kind, p, monkeypatch):
    rng = np.random.default_rng(p)
    x = rng.standard_normal((1600, p))
    if kind == "whole numbers":
        x = np.round(x)
    elif kind == "duplicates":
        x[800:] = x[:800]
    elif kind == "outlier":
        x[7] = 1e9
    elif kind == "clusters":
        x[::2] += 1e6
    elif kind == "one point":
        x[:] = 3.25
    codes = rng.integers(0, 4, len(x))
    q = np.concatenate([x[:60], x[100:150] + 0.5, np.full((1, p), 1e12), np.full((1, p), 1e30)])
    actual = []
    for columns, subset in ((50, 10**9), (0, 0), (0, 10**9)):
        for limit in ("MAX_TREE_COLUMNS", "MAX_LOW_DIMENSIONAL_TREE_COLUMNS"):
            monkeypatch.setattr(neighbours, limit, columns)
        # Measured, every row for itself.
        monkeypatch.setattr(neighbour_cells, "MIN_ROWS_PER_POINT", 2 if columns or not subset else np.inf)
        monkeypatch.setattr(neighbour_filter, "MIN_PRODUCT_ROWS", subset)
        fit = fit_arrays(x, codes, 7)
        search = fit.search.point_index or fit.search
        assert (search.tree is not None, search.products is not None) == (columns > 0, subset == 0)
        repeats = len(np.unique(x, axis=0)) <= len(x) / 2
        assert (fit.search.point_rows is not None) == (repeats and (columns > 0 or subset == 0))
        votes = fit.rule_with_prior(fit.prior).votes(q)
        path = fit.left_out_errors_by_class([1, 3, 7, 20], fit.prior)
        actual.append((votes, path, fit.search.nearest(q, 7).distances))
    for votes, path, distances in actual[:2]:
        np.testing.assert_array_equal(votes, actual[2][0])
        np.testing.assert_array_equal(path, actual[2][1])
        np.testing.assert_allclose(distances, actual[2][2], rtol=1e-12)


def test_products_resolve_almost_every_row():
    rng = np.random.default_rng(3)
    fit = fit_arrays(rng.standard_normal((4000, 20)), rng.integers(0, 3, 4000), 5)
    products = fit.search.products
    z = fit.search.space.coordinates(rng.standard_normal((products.queries_per_block, 20)))
    candidates = products.candidates(z, 5, fit.search.space.tie_limit, products.buffer())
    assert candidates.unresolved.mean() < 0.01
    assert len(candidates.queries) < 8 * len(z)


def test_number_of_candidate_groups_does_not_depend_on_ties():
    rng = np.random.default_rng(13)
    for values in (rng.normal(size=(20, 90)), rng.integers(0, 6, (20, 90)), np.zeros((20, 90))):
        minima = values.astype(np.float32)
        groups, bound = neighbour_filter._smallest_groups(minima, 12)
        in_order = np.sort(minima, axis=1)
        assert groups.shape == (20, 13)
        np.testing.assert_array_equal(
            np.sort(np.take_along_axis(minima, groups, axis=1), axis=1), in_order[:, :13]
        )
        np.testing.assert_array_equal(bound, in_order[:, 12])
        assert all(len(set(row)) == 13 for row in groups.tolist())


def test_trees_are_used_for_rows_of_low_dimension():
    """Of ten columns it visits most of its points: products find the neighbours in a quarter of its time."""
    rng = np.random.default_rng(14)
    rows = rng.normal(size=(2000, 10))
    subset = rng.normal(size=(2000, 2)) @ rng.normal(size=(2, 10)) + 0.01 * rows
    codes = rng.integers(0, 2, 2000)
    assert fit_arrays(rows, codes, 5).search.tree is None
    assert fit_arrays(subset, codes, 5).search.tree is not None
    assert fit_arrays(rows[:, :5], codes, 5).search.tree is not None


def test_slow_leave_one_out_shows_a_progress_bar(clock, bars):
    rng = np.random.default_rng(15)
    table = pd.DataFrame(rng.normal(size=(300, 12))).add_prefix("x").assign(y=["a", "b"] * 150)
    fit = knn("y ~ .", table, k=3, metric="cityblock")
    clock.seconds_per_read = 5.0
    fit._fit.refits.leave_one_out(fit._fit)
    assert [(bar.desc, bar.n, bar.total, bar.closed) for bar in bars] == [("rows left out", 300, 300, True)]


# ---- posteriors, priors, ties of votes


def test_posteriors_are_proportional_to_prior_times_density():
    data = load_penguins().dropna()
    prior = {"Adelie": 0.2, "Chinstrap": 0.5, "Gentoo": 0.3}
    fit = knn("species ~ bill_length_mm + bill_depth_mm", data, k=9, prior=prior)
    density = fit.votes() / fit.counts
    joint = density * pd.Series(prior)
    expected = joint.div(joint.sum(axis=1), axis=0)
    np.testing.assert_allclose(fit.predict_proba(), expected, rtol=1e-13)
    reference_fit = knn("species ~ bill_length_mm + bill_depth_mm", data, k=9)
    np.testing.assert_allclose(reference_fit.predict_proba(prior=prior), expected, rtol=1e-13)
    proportions = reference_fit.votes().div(reference_fit.votes().sum(axis=1), axis=0)
    np.testing.assert_allclose(reference_fit.predict_proba(), proportions, rtol=1e-14)


def line(points):
    return pd.DataFrame(points, columns=["x", "y"])


@pytest.mark.parametrize(
    ("points", "prior", "winner"),
    [
        ([(-1.0, "a"), (2.0, "b")], None, "a"),
        ([(-2.0, "a"), (1.0, "b")], None, "b"),
        ([(-1.0, "a"), (1.0, "b")], None, "a"),
        ([(-1.0, "a"), (1.0, "b"), (9.0, "b")], None, "b"),
        # Votes 1 and 2 under 2/3 and 1/3 of as many rows are a tie; both are at distance one.
        ([(-1.0, "a"), (1.0, "b"), (-1.0, "b"), (9.0, "a")], [2 / 3, 1 / 3], "a"),
    ],
    ids=["nearest", "nearest is the second", "first level", "larger class", "larger prior"],
)
def test_ties_of_votes_are_broken_by_nearest_row_then_prior_then_level(points, prior, winner):
    fit = knn("y ~ x", line(points), k=2, scale=False, prior=prior)
    new = pd.DataFrame({"x": [0.0]})
    np.testing.assert_allclose(fit.predict_proba(new), 0.5, rtol=1e-12)
    assert fit.predict(new).tolist() == [winner]
    assert fit.predict_proba(new).idxmax(axis=1).tolist() == [winner]


def test_leave_one_out_with_class_proportions_does_not_favour_the_class_of_the_row():
    # Alternating classes on a line: each row's two nearest are of the other class.
    x = np.arange(40.0)
    fit = knn("y ~ x", pd.DataFrame({"x": x, "y": np.arange(40) % 2}), k=2, scale=False)
    assert fit.confusion(method="loo").to_numpy().trace() == 0


# ---- scikit-learn and scipy


@pytest.mark.parametrize("metric", [m for m in neighbours.METRICS if m not in neighbours.BINARY_METRICS])
def test_numeric_metrics_agree_with_scipy(metric):
    rng = np.random.default_rng(5)
    x, q = rng.gamma(2.0, 1.0, (80, 4)), rng.gamma(2.0, 1.0, (30, 4))
    codes = rng.integers(0, 3, 80)
    frame = pd.DataFrame(x, columns=list("abcd")).assign(y=codes)
    options = {}
    if metric == "mahalanobis":
        means = np.stack([x[codes == k].mean(axis=0) for k in range(3)])
        differences = x - means[codes]
        options = {"VI": np.linalg.inv(differences.T @ differences / (80 - 3))}
    fit = knn("y ~ .", frame, k=6, metric=metric)
    sd = np.ones(4) if metric == "mahalanobis" else x.std(axis=0, ddof=1)
    if metric == "seuclidean":
        options = {"V": np.ones(4)}
    nearby = np.argsort(cdist(q / sd, x / sd, metric, **options), axis=1)[:, :6]
    expected = np.stack([(codes[nearby] == k).sum(axis=1) for k in range(3)], axis=1)
    actual = fit.votes(pd.DataFrame(q, columns=list("abcd")))
    reference = actual.sum(axis=1) == 6
    assert reference.mean() > 0.9 or metric == "hamming"
    np.testing.assert_array_equal(actual[reference], expected[reference])


@pytest.mark.parametrize("metric", neighbours.BINARY_METRICS)
def test_boolean_metrics_agree_with_scipy(metric):
    rng = np.random.default_rng(6)
    x = rng.integers(0, 2, (60, 9)).astype(float)
    x[:, 0] = 1 - x[:, 1]  # No row is all zero or all one.
    codes = rng.integers(0, 2, 60)
    names = [f"x{j}" for j in range(9)]
    fit = knn("y ~ .", pd.DataFrame(x, columns=names).assign(y=codes), k=5, metric=metric)
    measured = cdist(x.astype(bool), x.astype(bool), metric)
    nearby = measured <= np.sort(measured, axis=1)[:, 4:5] + 1e-12
    np.testing.assert_array_equal(fit.votes(), nearby.astype(int) @ np.eye(2, dtype=int)[codes])
    with pytest.raises(DataError) as caught:
        fit.predict(pd.DataFrame(np.full((1, 9), 2.0), columns=names))
    assert "zeros" in str(caught.value)
    assert "ones" in str(caught.value)


@pytest.mark.parametrize("p", [3, 30])
def test_posteriors_agree_with_scikit_learn_without_ties(p):
    rng = np.random.default_rng(p)
    x, q = rng.standard_normal((1500, p)), rng.standard_normal((400, p))
    codes = (x[:, 0] + rng.standard_normal(1500) > 0).astype(int) + (x[:, 1] > 1)
    names = [f"x{j}" for j in range(p)]
    ours = knn("y ~ .", pd.DataFrame(x, columns=names).assign(y=codes), k=7, scale=False)
    theirs = KNeighborsClassifier(7).fit(x, codes)
    np.testing.assert_allclose(
        ours.predict_proba(pd.DataFrame(q, columns=names)), theirs.predict_proba(q), atol=1e-14
    )


# ---- the choice of k


def test_path_contains_the_leave_one_out_error_of_each_k():
    data = load_penguins()
    fit = knn("species ~ bill_length_mm + body_mass_g", data)
    assert fit.path["k"].tolist() == list(range(1, 51))
    for k in (1, 2, 3, 8, 21, 50):
        rates = knn("species ~ bill_length_mm + body_mass_g", data, k=k).error_rates(["loo"]).loc["loo"]
        row = fit.path.set_index("k").loc[k]
        assert row["error"] == pytest.approx(rates["estimate"], rel=1e-12)
        assert row["se"] == pytest.approx(rates["se"], rel=1e-12)
    min_error = fit.path["error"].min()
    assert fit.k == fit.path.loc[fit.path["error"] < min_error + 1e-9, "k"].max()
    assert fit.error_rates(["loo"])["estimate"].iloc[0] == pytest.approx(min_error)


def test_the_path_under_a_prior_is_weighted_by_it():
    fit = knn("species ~ bill_length_mm", load_penguins(), grid=[3, 11], prior="equal")
    assert fit.path["k"].tolist() == [3, 11]
    loo = fit.error_rates(["loo"], by_class=True).loc["loo"]
    chosen = fit.path.set_index("k").loc[fit.k]
    assert chosen["error"] == pytest.approx(loo[list(fit.classes)].mean())


def test_leave_one_out_without_scaling_equals_refits():
    data = load_iris()
    fit = knn("species ~ .", data, k=6, scale=False)
    left_out = fit.leave_one_out()
    for row in (0, 70, 83, 106, 119, 133):
        refit = knn("species ~ .", data.drop(index=row), k=6, scale=False)
        np.testing.assert_allclose(
            left_out.iloc[row, 1:].astype(float), refit.predict_proba(data.loc[[row]]).iloc[0], rtol=1e-13
        )
        assert left_out["label"].iloc[row] == refit.predict(data.loc[[row]]).iloc[0]


@pytest.mark.parametrize("prior", [None, "equal", {"a": 0.2, "b": 0.5, "c": 0.3}])
def test_leave_one_out_under_a_prior_equals_refits(prior):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": np.repeat(["a", "b", "c"], [9, 6, 4]), "x": rng.normal(size=19)})
    data["x"] += data["y"] == "b"
    fit = knn("y ~ x", data, k=5, scale=False, prior=prior)
    refits = [knn("y ~ x", data.drop(index=i), k=5, scale=False, prior=prior) for i in data.index]
    expected = pd.concat([refit.predict_proba(data.loc[[i]]) for i, refit in enumerate(refits)])
    np.testing.assert_allclose(fit.leave_one_out().iloc[:, 1:].astype(float), expected, rtol=1e-12)
    chosen = knn("y ~ x", data, grid=[3, 5], scale=False, prior=prior)
    wrong = pd.concat([refit.predict(data.loc[[i]]) for i, refit in enumerate(refits)]) != data["y"]
    error = fit.prior @ wrong.groupby(data["y"]).mean()
    assert chosen.path.set_index("k").loc[5, "error"] == pytest.approx(error)


def test_folds_are_refitted_with_their_own_scales():
    data = load_penguins().dropna().reset_index(drop=True)
    fit = knn("species ~ bill_length_mm + bill_depth_mm", data, k=5)
    from discrim.models.evaluation.validation import assign_folds, fold_scores

    fold_ids = assign_folds(fit._fit, 5, 0)
    scores = fold_scores(fit._fit, fold_ids, 5)
    for fold in range(5):
        refit = knn("species ~ bill_length_mm + bill_depth_mm", data[fold_ids != fold], k=5)
        refit_labels = refit.predict(data[fold_ids == fold])
        assert (fit.classes[scores[fold_ids == fold].argmax(axis=1)] == refit_labels).all()


# ---- bad input


@pytest.mark.parametrize("k", [0, -1, 151, 2.5, "3", True])
def test_invalid_k_is_refused(k):
    with pytest.raises(DataError) as caught:
        knn("species ~ .", load_iris(), k=k)
    assert "150" in str(caught.value)


@pytest.mark.parametrize("grid", [[0], [150], [], [1.5], [True], 5, "12"])
def test_invalid_grids_are_refused(grid):
    with pytest.raises(DataError) as caught:
        knn("species ~ .", load_iris(), grid=grid)
    assert "grid=" in str(caught.value)


def test_every_row_may_vote_but_not_without_one_of_them():
    fit = knn("species ~ .", load_iris(), k=150)
    np.testing.assert_allclose(fit.predict_proba(), 1 / 3)
    with pytest.raises(NotSupportedError) as caught:
        fit.leave_one_out()
    assert "k=150" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        fit.confusion(method="cv")
    assert caught.value.classes == ("setosa",)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"metric": "manhattan"}, DataError, r"metric='manhattan'.*euclidean"),
        ({"metric": "seuclidean", "scale": False}, DataError, "scale=True"),
        ({"prior": [1.0, 0.0, 0.0]}, PriorError, r"versicolor.*is 0"),
        ({"na_action": "keep"}, DataError, "na_action"),
        ({"grid": [1, 3]}, DataError, "cannot be combined"),
        ({"scale": "no"}, DataError, "scale='no'.*True or False"),
    ],
)
def test_invalid_options_are_refused(options, error, match):
    with pytest.raises(error, match=match):
        knn("species ~ .", load_iris(), k=3, **options)


def test_there_are_no_weights_and_no_other_posteriors():
    with pytest.raises(TypeError, match="weights"):
        knn("species ~ .", load_iris(), k=3, weights=np.ones(150))
    fit = knn("species ~ .", load_iris(), k=3)
    for method in ("predictive", "debiased"):
        with pytest.raises(NotSupportedError, match=method):
            fit.predict_proba(method=method)
    with pytest.raises(NotSupportedError) as caught:
        _ = fit.llf
    assert "likelihood" in str(caught.value)
    with pytest.raises(PriorError) as caught:
        fit.predict(prior=[0.5, 0.5, 0.0])
    assert caught.value.classes == ("virginica",)


def test_errors_name_constant_columns_that_cannot_be_scaled():
    data = load_iris().assign(still=4.2, twice=lambda d: 2 * d["petal_width"])
    for scale in (True, False):
        reference_fit = knn("species ~ . - twice - still", data, k=3, scale=scale)
        with pytest.warns(DroppedColumnsWarning, match="'still'"):
            with_still = knn("species ~ . - twice", data, k=3, scale=scale)
        pd.testing.assert_frame_equal(reference_fit.predict_proba(), with_still.predict_proba())
    with pytest.raises(CollinearError) as caught:
        knn("species ~ . - still", data, k=3, metric="mahalanobis")
    assert "'twice'" in str(caught.value)


def test_a_new_row_with_a_missing_value_has_a_missing_label():
    fit = knn("species ~ .", load_iris(), k=3)
    new = load_iris().head(3)
    new.loc[1, "petal_width"] = np.nan
    assert fit.predict(new).isna().tolist() == [False, True, False]
    assert fit.votes(new).isna().all(axis=1).tolist() == [False, True, False]


def test_classes_of_one_row_are_not_predicted_without_the_row():
    data = load_iris().astype({"species": str})
    data.loc[0, "species"] = "alone"
    fit = knn("species ~ .", data, k=1)
    assert fit.predict().iloc[0] == "alone"
    left_out = fit.leave_one_out()
    assert left_out["label"].iloc[0] == "setosa"
    assert fit.confusion(method="loo").loc["alone", "alone"] == 0


@pytest.mark.parametrize(
    ("metric", "row", "match"), [("cosine", [0.0, 0.0], "all zero"), ("correlation", [1.0, 1.0], "equal")]
)
def test_rows_without_a_distance_are_refused(metric, row, match):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.gamma(2.0, 1.0, (20, 2)), columns=["a", "b"]).assign(y=np.arange(20) % 2)
    fit = knn("y ~ a + b", data, k=3, metric=metric, scale=False)
    data.loc[4, ["a", "b"]] = row
    with pytest.raises(DataError, match=f"row 4: .*{match}"):
        knn("y ~ a + b", data, k=3, metric=metric, scale=False)
    with pytest.raises(DataError, match=match):
        fit.predict(pd.DataFrame([row], columns=["a", "b"]))


@pytest.mark.parametrize("metric", neighbours.BINARY_METRICS)
def test_boolean_metrics_refuse_other_values(metric):
    data = pd.DataFrame({"a": [0, 1, 2, 1, 0, 1], "b": [1, 0, 0, 1, 1, 1], "y": list("uvuvuv")})
    with pytest.raises(DataError, match=f"{metric}.*'a' is 2 in row 2"):
        knn("y ~ a + b", data, metric=metric)


def test_too_few_rows_for_a_covariance_suggest_another_metric():
    data = pd.DataFrame({"x": [0.0, 1.0], "y": ["a", "b"]})
    with pytest.raises(CollinearError) as caught:
        knn("y ~ x", data, k=1, metric="mahalanobis")
    assert 'metric="euclidean"' in str(caught.value)


def test_rows_that_do_not_fit_in_memory_are_refused_before_they_are_read(memory_of):
    memory_of(8 * 150 * 4)
    with pytest.raises(NotSupportedError) as caught:
        knn("species ~ .", load_iris(), k=3)
    assert "lda()" in str(caught.value)


# ---- files, tables, pictures


@pytest.mark.parametrize("options", [{}, {"metric": "mahalanobis"}, {"metric": "cosine", "scale": False}])
def test_files_contain_the_rows(options, tmp_path):
    data = load_penguins()
    formula = "species ~ bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g"
    fit = knn(formula, data, k=4, prior="equal", **options)
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(loaded.predict_proba(data), fit.predict_proba(data), check_exact=True)
    assert (loaded.k, loaded.metric, loaded._fit.estimates.scale) == (4, fit.metric, fit._fit.estimates.scale)
    with pytest.raises(NotSupportedError) as caught:
        _ = loaded.path
    assert "path" in str(caught.value)


def test_numpy_numbers_are_saved_without_the_choice_of_k(tmp_path):
    knn("species ~ .", load_iris(), k=np.int64(4), scale=np.True_).save(tmp_path / "given")
    loaded = discrim.load(tmp_path / "given")
    assert (loaded.k, loaded._fit.estimates.scale) == (4, True)
    knn("species ~ .", load_iris(), grid=[3, 5]).save(tmp_path / "chosen")
    text = discrim.load(tmp_path / "chosen").summary().as_text()
    assert "not in the file" in text
    assert "smallest error" not in text


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda about, tensors: about["estimates"].update(k=0), "k is 0"),
        (lambda about, tensors: about["estimates"]["space"].update(metric="near"), "metric is 'near'"),
        (lambda about, tensors: about["estimates"]["space"].update(metric="mahalanobis"), "metric is"),
        (lambda about, tensors: tensors["estimates.codes"].__setitem__(0, 7), "classes of its rows"),
        (
            lambda about, tensors: tensors["estimates.codes"].__setitem__(0, 0.5),
            "'codes' has values that are not integers",
        ),
        (lambda about, tensors: tensors["estimates.space.unit"].__setitem__(0, -1), "units"),
        (
            lambda about, tensors: tensors.update({"estimates.points": tensors["estimates.points"][1:]}),
            "classes of its rows",
        ),
    ],
)
def test_inconsistent_files_are_refused(change, match, tmp_path):
    from discrim.models.base.tensor_file import read_file, write_file

    knn("species ~ .", load_iris(), k=4).save(tmp_path / "fit")
    about, tensors = read_file(tmp_path / "fit")
    tensors = {name: values.copy() for name, values in tensors.items()}
    change(about, tensors)
    write_file(tmp_path / "fit", about, tensors)
    with pytest.raises(DataError, match=match):
        discrim.load(tmp_path / "fit")


def test_summary_shows_scaling_and_choice_of_k():
    fit = knn("species ~ .", load_iris())
    text = fit.summary().as_text()
    assert re.search(r"Columns divided by +SD, all rows", text)
    assert "leave-one-out" in text
    assert fit.summary().tables["path"].loc[fit.k, "chosen"] == "*"
    reference_fit = knn("species ~ .", load_iris(), k=3, scale=False).summary()
    assert "nothing" in reference_fit.as_text()
    assert "pooled, 1/(N-K)" in knn("species ~ .", load_iris(), k=3, metric="mahalanobis").summary().as_text()


@pytest.mark.parametrize(
    ("grid", "note"),
    [
        ([19, 40, 50], "smallest candidate"),
        (range(1, 51), None),
        (range(1, 13), "largest candidate"),
        ([5], None),
    ],
)
def test_summary_notes_a_chosen_k_at_a_limit_of_the_grid(grid, note):
    fit = knn("species ~ .", load_iris(), grid=grid)
    inside = fit.path["k"].min() < fit.k < fit.path["k"].max()
    assert inside == (note is None and len(grid) > 1)
    text = " ".join(fit.summary().as_text().split())
    assert ("see grid=" in text) == (note is not None)
    assert note is None or note in text


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_k_of_one_or_of_all_rows_is_not_noted_as_a_limit():
    line = pd.DataFrame({"x": np.repeat([0.0, 1.0, 2.0, 3.0], 2), "y": list("aabbaabb")})
    first = knn("y ~ x", line)
    assert first.k == 1
    every = knn("y ~ x", pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0], "y": list("aaab")}))
    assert every.k == 3
    for fit in (first, every):
        assert "see grid=" not in " ".join(fit.summary().as_text().split())


def test_plots():
    import matplotlib.pyplot as plt

    fit = knn("species ~ petal_length + petal_width", load_iris())
    axes = fit.plot("path")
    assert axes.get_xlabel() == "Neighbours k"
    np.testing.assert_allclose(axes.lines[0].get_ydata(), fit.path["error"])
    _, user_axes = plt.subplots()
    # Regions bear the names of their classes, and need no legend.
    for axes in (fit.plot(), fit.plot("regions", ax=user_axes)):
        assert axes.get_xlabel() == "petal_length"
        assert {text.get_text() for text in axes.texts} >= set(fit.classes)
    fit.plot("posteriors")
    with pytest.raises(NotSupportedError) as caught:
        knn("species ~ .", load_iris(), k=3).plot("path")
    assert "path" in str(caught.value)
    plt.close("all")


def test_scores_of_two_classes_are_log_odds_of_the_second():
    data = load_iris().query("species != 'setosa'").astype({"species": str})
    fit = knn("species ~ .", data, k=7)
    odds, proba = fit.decision_function(), fit.predict_proba()
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(odds, np.log(proba["virginica"]) - np.log(proba["versicolor"]), atol=1e-14)
    assert (fit.predict() == np.where(odds > 0, "virginica", "versicolor")).all()


def test_stepwise_chooses_columns_for_neighbours():
    chosen = discrim.stepwise(
        "species ~ .", load_iris(), criterion="cv", verb=partial(knn, k=5), folds=4, seed=0
    )
    assert {"petal_length", "petal_width"} & set(chosen.fit.terms)


def test_folds_choose_k_again_unless_it_is_fixed():
    iris = load_iris()
    fit = knn("species ~ .", iris, grid=[1, 5, 15])
    cross_validated = discrim.cross_validate(fit, 5, seed=2)
    fixed_fit = discrim.cross_validate(fit, 5, seed=2, nested=False)
    fold_ids = cross_validated.folds[1].to_numpy()
    for fold in np.unique(fold_ids):
        inside, outside = iris[fold_ids != fold], iris[fold_ids == fold]
        chosen = knn("species ~ .", inside, grid=[1, 5, 15], prior=fit.prior)
        given = knn("species ~ .", inside, k=fit.k, prior=fit.prior)
        assert cross_validated.labels[1][fold_ids == fold].tolist() == chosen.predict(outside).tolist()
        assert fixed_fit.labels[1][fold_ids == fold].tolist() == given.predict(outside).tolist()


@one_in(2, {"metric": ["euclidean", "mahalanobis", "cityblock", "chebyshev", "cosine"], "far": [1e80, 1e99]})
def test_distant_rows_have_the_correct_neighbours(metric, far):
    data = load_iris()
    fit = knn("species ~ .", data, k=3, metric=metric)
    signs = np.array([[1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 0, 0], [0, 0, 0, -1]])
    rows, nearby = (pd.DataFrame(size * signs, columns=data.columns[:4]) for size in (far, 1e60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        actual = fit.predict_proba(rows)
    pd.testing.assert_frame_equal(actual, fit.predict_proba(nearby))


def test_a_new_value_that_is_not_zero_or_one_is_refused_with_its_column() -> None:
    table = pd.DataFrame({"y": ["a", "b"] * 4, "u": [0, 1] * 4, "v": [0, 0, 1, 1] * 2})
    fit = knn("y ~ u + v", table, k=1, metric="jaccard")
    with pytest.raises(DataError) as caught:
        fit.predict(table.assign(v=2.0))
    assert caught.value.columns == ("v",)
