"""Labels with each row left out, found without a table of scores, are those of the table."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.rules import gaussian as nearest_means
from discrim.errors import MissingPredictionWarning
from discrim.inference.error_rates import confusion_counts, error_rate_from_counts, error_rate_from_labels
from discrim.models.evaluation import validation as left_out_codes

VERBS: dict[str, Callable[..., Any]] = {
    "lda": discrim.lda,
    "qda": discrim.qda,
    "diagonal": lambda formula, data, **more: discrim.lda(formula, data, covariance="diagonal", **more),
    "naive_bayes": discrim.naive_bayes,
    "indicator": discrim.indicator,
}


def many_classes(k: int, n: int) -> pd.DataFrame:
    """Rows of k classes, four of each at least, and one far from all others."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat(np.arange(k), 4), rng.integers(0, k, n - 4 * k)])
    x = rng.normal(size=(n, 2)) + 3 * rng.normal(size=(k, 2))[y]
    x[0] = 1e4
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=y, w=rng.integers(1, 3, n))


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have tables of scores held up to so many numbers."""
    return lambda most: monkeypatch.setattr(left_out_codes, "MAX_CACHED_SCORES", most)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("options", [{}, {"weights": "w"}], ids=["plain", "weighted"])
def test_leave_one_out_labels_match_their_scores(
    verb: str, k: int, options: dict[str, Any], hold: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = many_classes(k, 5 * k + 15)
    expected = VERBS[verb]("y ~ a + b", data, **options)
    rates = expected.error_rates(["loo", "apparent"], by_class=True)
    table = expected.confusion("loo")
    hold(0)
    monkeypatch.setattr(left_out_codes, "SCORES_PER_CHUNK", 7 * k)
    fit = VERBS[verb]("y ~ a + b", data, **options)
    pd.testing.assert_frame_equal(fit.error_rates(["loo", "apparent"], by_class=True), rates, rtol=1e-14)
    pd.testing.assert_frame_equal(fit.confusion("loo"), table)


@pytest.mark.parametrize("most", [2**23, 0])
def test_impossible_rows_warn_with_and_without_workers(most: int, hold: Callable[[int], None]) -> None:
    rng = np.random.default_rng(3)
    y = np.r_[0, rng.integers(0, 3, 39)]
    data = pd.DataFrame({"y": y, "a": np.where(y == 0, "u", "w"), "b": np.where(y == 0, "p", "q")})
    data.loc[0, "a"] = "w"
    hold(most)
    with pytest.warns(MissingPredictionWarning):
        assert discrim.naive_bayes("y ~ a + b", data).error_rates(["loo"])["total"].iloc[0] == 39


@pytest.mark.parametrize("most", [2**23, 0])
def test_rows_with_a_unique_level_are_not_counted(most: int, hold: Callable[[int], None]) -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.choice(list("uv"), 40), "y": rng.integers(0, 3, 40)})
    data.loc[0, "a"] = "w"
    hold(most)
    with pytest.warns(MissingPredictionWarning):
        assert discrim.naive_bayes("y ~ a", data, laplace=1).error_rates(["loo"])["total"].iloc[0] == 39


def test_summaries_of_many_classes_omit_the_table_of_scores(hold: Callable[[int], None]) -> None:
    n, k = 3_000, 300
    hold(n * k - 1)
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    data = pd.DataFrame(rng.normal(size=(k, 3))[y] + rng.normal(size=(n, 3)), columns=list("abc")).assign(y=y)
    fit = discrim.lda("y ~ .", data)
    tracemalloc.start()
    try:
        str(fit.summary())
        assert tracemalloc.get_traced_memory()[1] < 8 * n * k
    finally:
        tracemalloc.stop()


def test_left_out_distances_equal_distances_by_the_remaining_moments() -> None:
    data = many_classes(5, 40).drop(index=0)
    fit = discrim.lda("y ~ a + b", data, prior="equal")
    scores = fit._fit.refits.leave_one_out(fit._fit)(data[["a", "b"]].to_numpy(), data["y"].to_numpy(), None)
    for i in range(0, len(data), 5):
        less = data.drop(index=data.index[i])
        within = less[["a", "b"]] - less.groupby("y")[["a", "b"]].transform("mean")
        inverse = np.linalg.inv(within.T @ within / (len(less) - 5))
        gap = data[["a", "b"]].iloc[i] - less.groupby("y")[["a", "b"]].mean()
        expected = -0.5 * np.einsum("ij,jk,ik->i", gap, inverse, gap)
        np.testing.assert_allclose(scores[i] - scores[i, 0], expected - expected[0], atol=1e-9)


@pytest.mark.parametrize("sampled", [True, False])
def test_errors_of_labels_equal_errors_of_their_table(sampled: bool) -> None:
    rng = np.random.default_rng(1)
    actual, predicted = rng.integers(-1, 6, (2, 200))
    weights, proportions = rng.random(200), rng.dirichlet(np.ones(6))
    for w in (None, weights):
        counts = confusion_counts(actual, predicted, 6, w).astype(np.float64)
        whole = error_rate_from_counts(counts, proportions, None, 0.9, sampled=sampled)
        ours = error_rate_from_labels(actual, predicted, proportions, w, 0.9, sampled=sampled)
        for name in ("by_class", "estimate", "se", "low", "high", "wrong", "total"):
            np.testing.assert_allclose(getattr(ours, name), getattr(whole, name), rtol=1e-12)


def test_crowding_is_the_same_for_every_block_of_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    data = many_classes(60, 400)
    data.loc[data["y"] < 5, ["a", "b"]] += 1e6
    fit_lda = discrim.lda("y ~ a + b", data)
    expected, crowds = fit_lda.decision_function().to_numpy(), fit_lda._fit.rule().close_groups
    monkeypatch.setattr(nearest_means, "MAX_BLOCK_DISTANCES", 150)
    ours = discrim.lda("y ~ a + b", data)
    assert len(crowds) > 1
    assert [c.members.tolist() for c in ours._fit.rule().close_groups] == [c.members.tolist() for c in crowds]
    assert (ours.decision_function().to_numpy() == expected).all()
