"""Neighbours by Mahalanobis' distance, each row without it: against refits and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from discrim import knn
from discrim.core.neighbours import knn as neighbour_downdate
from discrim.datasets import load_iris, load_penguins, load_wine
from discrim.errors import CollinearError

PENGUINS = "species ~ bill_length_mm + bill_depth_mm + flipper_length_mm + body_mass_g"


@cache
def refits_without_rows(formula, load, k):
    """Return the rows without missing values, and labels and posteriors of some by fits to the others."""
    data = load().dropna().reset_index(drop=True)
    refits = {}
    for row in range(0, len(data), 17):
        refit = knn(formula, data.drop(index=row), k=k, metric="mahalanobis")
        refits[row] = refit.predict(data.loc[[row]]).iloc[0], refit.predict_proba(data.loc[[row]]).iloc[0]
    return data, refits


@pytest.mark.parametrize(("formula", "load"), [("cultivar ~ .", load_wine), (PENGUINS, load_penguins)])
@pytest.mark.parametrize("more", [8, 10**6, 0], ids=["a few more", "all", "none more"])
@pytest.mark.parametrize("k", [1, 6])
def test_leave_one_out_matches_a_refit(formula, load, more, k, monkeypatch):
    monkeypatch.setattr(neighbour_downdate, "N_SPARE_ROWS", more)
    data, refits = refits_without_rows(formula, load, k)
    left = knn(formula, data, k=k, metric="mahalanobis").leave_one_out()
    for row, (label, posteriors) in refits.items():
        np.testing.assert_allclose(left.iloc[row, 1:].astype(float), posteriors, rtol=1e-13)
        assert left["label"].iloc[row] == label


def exact_inverse(matrix):
    """Of a matrix of fractions, by Gauss and Jordan; None where it is singular."""
    p = len(matrix)
    rows = [list(row) + [Fraction(int(i == j)) for j in range(p)] for i, row in enumerate(matrix)]
    for j in range(p):
        pivot = next((i for i in range(j, p) if rows[i][j] != 0), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [value / rows[j][j] for value in rows[j]]
        for i in range(p):
            if i != j:
                rows[i] = [a - rows[i][j] * b for a, b in zip(rows[i], rows[j], strict=True)]
    return [row[p:] for row in rows]


def exact_votes_without(x, codes, k, n_classes):
    """Votes for each row by the covariance of the others; None where that is singular."""
    rows = [[Fraction(int(value)) for value in row] for row in x]
    n, p = x.shape
    out = []
    for i in range(n):
        scatter = [[Fraction(0)] * p for _ in range(p)]
        for g in range(n_classes):
            members = [rows[j] for j in range(n) if j != i and codes[j] == g]
            means = [sum(column) / len(members) for column in zip(*members, strict=True)] if members else []
            for row in members:
                u = [a - b for a, b in zip(row, means, strict=True)]
                scatter = [
                    [s + a * b for s, b in zip(line, u, strict=True)]
                    for line, a in zip(scatter, u, strict=True)
                ]
        inverse = exact_inverse(scatter)
        if inverse is None:
            out.append(None)
            continue
        others = [j for j in range(n) if j != i]
        gaps = {j: [a - b for a, b in zip(rows[i], rows[j], strict=True)] for j in others}
        squares = {
            j: sum(v[a] * inverse[a][b] * v[b] for a in range(p) for b in range(p)) for j, v in gaps.items()
        }
        limit = sorted(squares.values())[k - 1]
        votes = [0] * n_classes
        for j in others:
            votes[codes[j]] += squares[j] <= limit
        out.append(votes)
    return out


@pytest.mark.slow
@settings(max_examples=40)
@given(
    n=st.integers(8, 24),
    p=st.integers(1, 3),
    k=st.integers(1, 5),
    most=st.integers(1, 5),
    seed=st.integers(0, 10**6),
)
def test_votes_match_exact_covariance_without_the_row(n, p, k, most, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, most + 1, (n, p)).astype(float)
    # The third class has one row.
    codes = np.append(rng.permutation(np.arange(n - 1) % 2), 2)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    try:
        fit = knn("y ~ .", frame, k=k, metric="mahalanobis")._fit.estimates
    except CollinearError:
        return
    (found,) = [next(tally.votes([k])) for _, tally in fit.left_out_vote_counts(k)]
    for own, expected in zip(found.tolist(), exact_votes_without(x, codes, k, 3), strict=True):
        assert expected is None or own == expected


def test_a_row_without_which_the_covariance_is_singular_is_judged_by_its_limit():
    # Within classes, "b" varies in row 0 alone: without it, distances along "b" are beyond all others.
    data = pd.DataFrame(
        {
            "a": [0.0, 1.0, 2.0, 4.0, 0.5, 1.5, 2.5],
            "b": [3.0, 0.0, 0.0, 0.0, 2.0, 2.0, 2.0],
            "y": list("uuuuvvv"),
        }
    )
    left = knn("y ~ a + b", data, k=1, metric="mahalanobis").leave_one_out()
    assert left["label"].iloc[0] == "v"
    assert left.iloc[0, 1:].tolist() == [0.0, 1.0]


@pytest.mark.slow
def test_k_is_chosen_by_the_covariance_without_each_row():
    wine = load_wine()[::2]
    fit = knn("cultivar ~ .", wine, metric="mahalanobis", grid=[1, 5, 20])
    for k, error in zip(fit.path["k"], fit.path["error"], strict=True):
        wrong = [
            knn("cultivar ~ .", wine.drop(index=row), k=k, metric="mahalanobis")
            .predict(wine.loc[[row]])
            .iloc[0]
            != wine.loc[row, "cultivar"]
            for row in wine.index
        ]
        assert error == pytest.approx(np.mean(wrong))


def test_a_row_keeps_the_standard_deviations_of_all_when_it_is_left_out():
    iris = load_iris()
    numbers = iris.drop(columns="species")
    scaled = (numbers / numbers.std()).assign(species=iris["species"])
    held = knn("species ~ .", scaled, k=5, scale=False).leave_one_out()
    pd.testing.assert_frame_equal(knn("species ~ .", iris, k=5).leave_one_out(), held)


@pytest.mark.parametrize("p", [3, 12], ids=["tree", "products"])
def test_many_rows_have_the_neighbours_of_the_covariance_without_them(p):
    rng = np.random.default_rng(p)
    codes = rng.integers(0, 3, 1500)
    x = rng.standard_normal((1500, p)) @ rng.standard_normal((p, p)) + codes[:, None]
    # A row far from its class has a leverage that a few more neighbours do not make up for.
    x[0] += 300
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=codes)
    fit = knn("y ~ .", frame, k=9, metric="mahalanobis")._fit.estimates
    assert (fit.search.tree is not None, fit.search.products is not None) == (p == 3, p == 12)
    (votes,) = [next(tally.votes([9])) for _, tally in fit.left_out_vote_counts(9)]
    for row in range(0, 1500, 100):
        others = np.arange(1500) != row
        means = np.stack([x[others & (codes == g)].mean(axis=0) for g in range(3)])
        u = (x - means[codes])[others]
        near = np.argsort(cdist(x[[row]], x[others], "mahalanobis", VI=np.linalg.inv(u.T @ u))[0])[:9]
        assert votes[row].tolist() == np.bincount(codes[others][near], minlength=3).tolist()
