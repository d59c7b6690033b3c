"""Labels with each row left out, found without a table of scores, are those of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.rules import gaussian as nearest_means
from discrim.inference.error_rates import counted, counted_labels, counts_of
from discrim.models.judging import validation as left_out_codes

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


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("options", [{}, {"weights": "w"}], ids=["plain", "weighted"])
def test_labels_left_out_are_those_of_the_scores(
    verb: str, k: int, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = many_classes(k, 5 * k + 15)
    expected = VERBS[verb]("y ~ a + b", data, **options)
    whole = expected.error_rates(["loo", "apparent"], by_class=True)
    table = expected.confusion("loo")
    monkeypatch.setattr(left_out_codes, "HELD", 0)
    monkeypatch.setattr(left_out_codes, "PIECE", 7 * k)
    fit = VERBS[verb]("y ~ a + b", data, **options)
    pd.testing.assert_frame_equal(fit.error_rates(["loo", "apparent"], by_class=True), whole, rtol=1e-14)
    pd.testing.assert_frame_equal(fit.confusion("loo"), table)


@pytest.mark.parametrize("sampled", [True, False])
def test_errors_of_labels_are_those_of_their_table(sampled: bool) -> None:
    rng = np.random.default_rng(1)
    actual, predicted = rng.integers(-1, 6, (2, 200))
    weights, shares = rng.random(200), rng.dirichlet(np.ones(6))
    for w in (None, weights):
        counts = counts_of(actual, predicted, 6, w).astype(np.float64)
        whole = counted(counts, shares, None, 0.9, sampled=sampled)
        ours = counted_labels(actual, predicted, shares, w, 0.9, sampled=sampled)
        for name in ("by_class", "estimate", "se", "low", "high", "wrong", "total"):
            np.testing.assert_allclose(getattr(ours, name), getattr(whole, name), rtol=1e-12)


def test_crowds_are_the_same_whether_all_gaps_are_held_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    data = many_classes(60, 400)
    data.loc[data["y"] < 5, ["a", "b"]] += 1e6
    whole = discrim.lda("y ~ a + b", data)
    expected, crowds = whole.decision_function().to_numpy(), whole._fit.rule().crowds
    monkeypatch.setattr(nearest_means, "GAPS", 150)
    ours = discrim.lda("y ~ a + b", data)
    assert len(crowds) > 1
    assert [c.members.tolist() for c in ours._fit.rule().crowds] == [c.members.tolist() for c in crowds]
    assert (ours.decision_function().to_numpy() == expected).all()
