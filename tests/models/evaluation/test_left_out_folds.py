"""As many folds as rows: leave-one-out in closed form where there is one, against a fit without each row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import cross_validate
from discrim.covariance import Regularized, Shrunk
from discrim.datasets import load_iris
from discrim.errors import NotSupportedError

ROWS = load_iris()[34:118:3].astype({"species": str}).reset_index(drop=True)
FORMULA = "species ~ sepal_length + sepal_width"
CASES = {
    "lda": (discrim.lda, {}),
    "lda, equal": (discrim.lda, {"prior": "equal", "method": "mle"}),
    "lda, one axis": (discrim.lda, {"ncomp": 1}),
    "lda, standardized sphere": (discrim.lda, {"covariance": Shrunk(standardize=True)}),
    "lda, Ledoit and Wolf": (discrim.lda, {"covariance": Shrunk("ledoit-wolf")}),
    "qda": (discrim.qda, {}),
    "rda, standardized": (
        discrim.rda,
        {"alpha": 0.3, "gamma": 0.6, "parametrization": Regularized(standardize=True)},
    ),
    "naive_bayes, smoothed": (discrim.naive_bayes, {"smoothing": 0.01}),
    "shrunken_centroids": (discrim.shrunken_centroids, {"threshold": 0.3}),
    "sparse_lda": (discrim.sparse_lda, {"penalty": 0.05}),
    "nearest_centroid": (discrim.nearest_centroid, {}),
    "pls": (discrim.pls, {"ncomp": 2}),
}


@pytest.mark.parametrize(
    ("name", "refit_prior"),
    [
        # Each fit with a fixed and with a refitted prior in turn.
        pytest.param(name, refit_prior, marks=[pytest.mark.exhaustive] * ((i + j) % 2))
        for i, name in enumerate(CASES)
        for j, refit_prior in enumerate([None, True])
    ],
)
def test_folds_of_one_row_are_fits_without_it(name, refit_prior):
    verb, asked = CASES[name]
    fit = verb(FORMULA, ROWS, **asked)
    held = asked if refit_prior else {"prior": fit.prior} | asked
    found = cross_validate(fit, len(ROWS), seed=1, refit_prior=refit_prior).posteriors()
    for row in range(0, len(ROWS), 5):
        other = verb(FORMULA, ROWS.drop(index=row), **held)
        np.testing.assert_allclose(found.iloc[[row]], other.predict_proba(ROWS.loc[[row]]), atol=1e-13)


def test_folds_drop_whole_weighted_rows_and_estimate_transforms_again():
    weighted = ROWS.assign(times=np.arange(len(ROWS)) % 3 + 1.0)
    for fit, again in (
        (discrim.lda(FORMULA, weighted, weights="times"), {"weights": "times"}),
        (discrim.lda("species ~ poly(sepal_length, 2)", weighted), {}),
    ):
        found = cross_validate(fit, len(ROWS), seed=1).posteriors()
        for row in (0, 7, 20):
            other = discrim.lda(fit.formula, weighted.drop(index=row), prior=fit.prior, **again)
            np.testing.assert_allclose(
                found.iloc[[row]], other.predict_proba(weighted.loc[[row]]), atol=1e-12
            )


def test_a_row_without_a_rule_is_refused_by_its_fold():
    table = pd.DataFrame({"y": list("aaabbb"), "x": [1.0, 1.0, 2.0, 3.0, 4.0, 6.0]})
    with pytest.raises(NotSupportedError) as caught:
        cross_validate(discrim.qda("y ~ x", table), 6, seed=1)
    assert "Without" in str(caught.value)
    assert "fold" in str(caught.value)
