"""The covariance of the log odds of lda(), beside differences over what they are made of."""

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Shrunk
from discrim.errors import NotSupportedError

IRIS = discrim.datasets.load_iris()


def numeric_covariance(fit, columns, codes, *, diagonal):
    """Covariance of the log odds by differences, over means, covariance and shares, which are independent."""
    k, n = codes.max() + 1, np.bincount(codes)
    means = np.array([columns[codes == j].mean(axis=0) for j in range(k)])
    centred = columns - means[codes]
    nu = len(codes) - k
    s = centred.T @ centred / nu
    p = len(s)
    pairs = [(i, i) for i in range(p)] if diagonal else [(i, j) for i in range(p) for j in range(i, p)]

    def log_odds(theta):
        m = theta[: k * p].reshape(k, p)
        cov = np.zeros((p, p))
        for (i, j), value in zip(pairs, theta[k * p :], strict=False):
            cov[i, j] = cov[j, i] = value
        logs = theta[k * p + len(pairs) :]
        out = []
        for j in range(1, k):
            b = np.linalg.solve(cov, m[j] - m[0])
            out += [logs[j] - logs[0] - b @ (m[0] + m[j]) / 2, *b]
        return np.array(out)

    theta = np.concatenate([means.ravel(), [s[i, j] for i, j in pairs], np.log(n / n.sum())])
    theta_covariance = np.zeros((len(theta), len(theta)))
    start = np.diag(np.diag(s)) if diagonal else s
    for j in range(k):
        theta_covariance[j * p : (j + 1) * p, j * p : (j + 1) * p] = start / n[j]
        theta_covariance[-k + j, -k + j] = 1 / n[j]
    for a, (i, j) in enumerate(pairs):
        for b, (u, v) in enumerate(pairs):
            theta_covariance[k * p + a, k * p + b] = (
                start[i, u] * start[j, v] + start[i, v] * start[j, u]
            ) / nu
    steps = 1e-6 * np.maximum(np.abs(theta), 1e-3)
    jacobian = np.column_stack(
        [
            (log_odds(theta + h * e) - log_odds(theta - h * e)) / (2 * h)
            for h, e in zip(steps, np.eye(len(theta)), strict=True)
        ]
    )
    return jacobian @ theta_covariance @ jacobian.T


@pytest.mark.parametrize("covariance", ["pooled", "diagonal"])
def test_covariance_of_log_odds_equals_the_delta_method(covariance):
    fit = discrim.lda("species ~ petal_width + sepal_length + sepal_width", IRIS, covariance=covariance)
    columns = IRIS[["petal_width", "sepal_length", "sepal_width"]].to_numpy()
    expected = numeric_covariance(
        fit, columns, pd.factorize(IRIS["species"])[0], diagonal=covariance == "diagonal"
    )
    actual = fit.cov_params()
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(np.sqrt(np.diag(actual)), fit.bse.to_numpy().T.ravel(), rtol=1e-11)
    assert actual.index.equals(fit.log_odds().index)


def test_a_fixed_prior_adds_no_variance():
    fit = discrim.lda("species ~ .", IRIS, prior="equal", method="mle")
    actual = np.sqrt(np.diag(fit.cov_params()))
    np.testing.assert_allclose(actual, fit.bse.to_numpy().T.ravel(), rtol=1e-11)
    with pytest.raises(NotSupportedError):
        discrim.lda("species ~ .", IRIS, covariance=Shrunk(0.1)).cov_params()
