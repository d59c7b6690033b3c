"""Posteriors and typicality of rows up to 1e99, against mpmath."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest

from discrim import lda, naive_bayes, qda, rda
from discrim.datasets import load_iris

IRIS = load_iris()
TERMS = IRIS.columns[:4]
DIRECTIONS = np.array([[1, 1, 1, 1], [-1, -1, -1, -1], [1, 0, 0, 0], [0, -1, 0, 1], [1, -1, 0.5, 2]]) / 2


def simulate_rows(size):
    return pd.DataFrame(size * DIRECTIONS, columns=TERMS)


def exact_posteriors(row, divisor, *, pooled=False, diagonal=False):
    """Posteriors of normal classes of equal priors, in 1,000 digits."""
    with mpmath.workdps(1000):
        scores, covs, means = [], [], []
        for _, own in IRIS.groupby("species", observed=True)[TERMS.tolist()]:
            x = own.to_numpy()
            means.append(x.mean(axis=0))
            covs.append(np.cov(x.T, ddof=divisor))
        common = sum(covs) / 3
        for mean, cov in zip(means, covs, strict=True):
            held = common if pooled else np.diag(np.diag(cov)) if diagonal else cov
            gap = mpmath.matrix(
                [mpmath.mpf(float(a)) - mpmath.mpf(float(b)) for a, b in zip(row, mean, strict=True)]
            )
            matrix = mpmath.matrix(held.tolist())
            scores.append(-((gap.T * mpmath.lu_solve(matrix, gap))[0] + mpmath.log(mpmath.det(matrix))) / 2)
        top = max(scores)
        shares = [mpmath.exp(score - top) for score in scores]
        return [float(share / sum(shares)) for share in shares]


VERBS = {
    "lda": (lda, {"pooled": True}),
    "qda": (qda, {}),
    "rda": (lambda f, d: rda(f, d, alpha=1.0, gamma=1.0), {}),
    "naive_bayes": (naive_bayes, {"diagonal": True}),
}


@pytest.mark.parametrize("size", [1e80, 1e99])
@pytest.mark.parametrize("verb", VERBS)
def test_posteriors_of_distant_rows_agree_with_mpmath(verb, size):
    fitted, options = VERBS[verb]
    fit = fitted("species ~ .", IRIS)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = fit.predict_proba(simulate_rows(size)).to_numpy()
    expected = [exact_posteriors(row, 1, **options) for row in simulate_rows(size).to_numpy()]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("verb", [lda, qda])
@pytest.mark.parametrize("size", [1e80, 1e99])
def test_typicality_of_distant_rows_is_zero(verb, size):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert (verb("species ~ .", IRIS).typicality(simulate_rows(size)) == 0).all(axis=None)
