"""Regularized rules without each row, beside the covariances written out of the other rows."""

from __future__ import annotations

import numpy as np
import pytest

from discrim.core.discriminant.leave_one_out_rda import Regularization, rda_leave_one_out_scorer
from discrim.core.moments.moments import ClassMoments


@pytest.mark.parametrize(
    ("parametrization", "pair"), [("esl", (0.0, 0.4)), ("friedman", (0.0, 0.4)), ("klar", (0.0, 0.4))]
)
def test_leave_one_out_with_a_class_of_equal_rows(parametrization, pair):
    """Without that row its class does not vary, which a rule of the pooled covariance alone does not read."""
    rng, p = np.random.default_rng(2), 3
    codes = np.repeat([0, 1], [6, 9])
    x = rng.standard_normal((15, p)) + codes[:, None]
    x[1:6] = x[1]
    moments = ClassMoments.from_block(x, codes, n_classes=2, required_moments="class")
    scores = rda_leave_one_out_scorer(
        moments, Regularization(*pair), parametrization, "moment", np.log([0.4, 0.6])
    )(x, codes, None)
    for i in (0, 1, 8):
        rest, labels = np.delete(x, i, axis=0), np.delete(codes, i)
        means = np.stack([rest[labels == k].mean(axis=0) for k in (0, 1)])
        pooled = (rest - means[labels]).T @ (rest - means[labels]) / (len(rest) - 2)
        # ESL's gamma is the share of the pooled covariance, the others' that of the ridge.
        share = 1 - pair[1] if parametrization == "esl" else pair[1]
        sigma = (1 - share) * pooled + share * np.trace(pooled) / p * np.eye(p)
        gaps = x[i] - means
        d2 = (gaps * np.linalg.solve(sigma, gaps.T).T).sum(axis=1)
        expected = np.log([0.4, 0.6]) - 0.5 * (np.linalg.slogdet(sigma)[1] + d2)
        np.testing.assert_allclose(scores[i], expected, rtol=1e-10)
