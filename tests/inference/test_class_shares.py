"""Class shares by maximum likelihood: against mpmath, brute force, and the conditions of a maximum."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from discrim.inference.class_shares import (
    covariance_of_proportions,
    densities_relative_to_best,
    estimate_class_proportions,
    prior_likelihood_ratio_test,
    profile_limits,
)


def batch(seed, n, k, spread, weighted=False):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k)) * spread
    return densities_relative_to_best(scores), rng.integers(1, 9, n).astype(float) if weighted else None


def evenly(k):
    return np.full(k, 1.0 / k)


def total(densities, shares, weights=None):
    logs = np.log(densities @ shares)
    return logs.sum() if weights is None else weights @ logs


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.integers(1, 40),
    st.integers(2, 9),
    st.sampled_from([0.01, 1.0, 10.0, 800.0]),
    st.booleans(),
)
def test_estimates_satisfy_the_conditions_of_a_global_maximum(seed, n, k, spread, weighted):
    densities, weights = batch(seed, n, k, spread, weighted)
    estimates = estimate_class_proportions(densities, evenly(k), weights)
    over = np.ones(n) if weights is None else weights
    slope = (over / (densities @ estimates.proportions)) @ densities / over.sum() - 1
    assert estimates.converged
    assert abs(estimates.proportions.sum() - 1) < 1e-14
    assert (np.abs(slope[estimates.proportions > 0]) <= 1e-10).all()
    assert (slope <= 1e-10).all()
    others = np.random.default_rng(seed).dirichlet(np.ones(k), 50)
    with np.errstate(divide="ignore"):
        best = max(total(densities, other, weights) for other in [*others, *np.eye(k)])
    assert total(densities, estimates.proportions, weights) >= best - 1e-9 * over.sum()


def test_an_interior_maximum_agrees_with_mpmath():
    densities, weights = batch(4, 12, 3, 1.0, weighted=True)
    estimates = estimate_class_proportions(densities, evenly(3), weights)
    assert (estimates.proportions > 0).all()
    mpmath.mp.dps = 40
    rows = [[mpmath.mpf(float(v)) for v in row] for row in densities]

    def score(a, b):
        ratios = [w / (a * r[0] + b * r[1] + (1 - a - b) * r[2]) for w, r in zip(weights, rows, strict=True)]
        return [sum(t * (r[j] - r[2]) for t, r in zip(ratios, rows, strict=True)) for j in (0, 1)]

    root = mpmath.findroot(score, tuple(estimates.proportions[:2]))
    exact = np.array([float(root[0]), float(root[1]), float(1 - root[0] - root[1])])
    np.testing.assert_allclose(estimates.proportions, exact, rtol=1e-13)
    # Second derivatives of the log-likelihood, by differences of its slopes.
    information = mpmath.matrix(2, 2)
    step = mpmath.mpf(10) ** -15
    for j in (0, 1):
        ends = [score(*(root[i] + s * step * (i == j) for i in (0, 1))) for s in (1, -1)]
        for i in (0, 1):
            information[i, j] = -(ends[0][i] - ends[1][i]) / (2 * step)
    inverse = information**-1
    covariance, identified = covariance_of_proportions(densities, estimates.proportions, weights)
    assert identified.all()
    np.testing.assert_allclose(
        covariance[:2, :2], [[float(inverse[i, j]) for j in (0, 1)] for i in (0, 1)], rtol=1e-9
    )
    np.testing.assert_allclose(covariance.sum(axis=0), 0, atol=1e-15 * covariance.max())
    mpmath.mp.dps = 80


def test_weights_equal_repeated_rows():
    densities, weights = batch(8, 30, 4, 2.0, weighted=True)
    long = np.repeat(densities, weights.astype(int), axis=0)
    a, b = (
        estimate_class_proportions(densities, evenly(4), weights),
        estimate_class_proportions(long, evenly(4)),
    )
    np.testing.assert_allclose(a.proportions, b.proportions, atol=1e-14)
    one, other = (
        covariance_of_proportions(densities, a.proportions, weights)[0],
        covariance_of_proportions(long, a.proportions)[0],
    )
    np.testing.assert_allclose(one, other, rtol=1e-10)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    assert prior_likelihood_ratio_test(densities, a.proportions, prior, weights).statistic == pytest.approx(
        prior_likelihood_ratio_test(long, a.proportions, prior).statistic, rel=1e-12
    )


def test_two_class_proportions_are_the_root_of_the_score():
    densities, _ = batch(1, 200, 2, 1.5)
    estimates = estimate_class_proportions(densities, np.array([1 - 1e-9, 1e-9]))
    difference = densities[:, 1] - densities[:, 0]
    proportion = brentq(lambda u: (difference / (densities[:, 0] + u * difference)).sum(), 0, 1, xtol=1e-15)
    assert estimates.proportions[1] == pytest.approx(proportion, rel=1e-12)


def test_boundary_proportions_are_exactly_zero_unlike_with_em_alone():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    densities = np.column_stack([stats.norm(m).pdf(x) for m in (-0.5, 0.5, 1.6)])
    estimates = estimate_class_proportions(densities, evenly(3))
    assert estimates.proportions[2] == 0
    assert estimates.slope[2] < 0
    crept = evenly(3)
    for _ in range(2000):
        crept = crept * (densities / (densities @ crept)[:, None]).mean(axis=0)
    assert 0 < crept[2] < 1e-3
    np.testing.assert_allclose(estimates.proportions, crept, atol=1e-3)
    covariance, _ = covariance_of_proportions(densities, estimates.proportions)
    assert np.isnan(covariance[2]).all()
    assert np.isfinite(covariance[:2, :2]).all()


def test_classes_with_equal_densities_are_not_identified():
    densities, _ = batch(5, 60, 3, 1.0)
    doubled = densities[:, [0, 1, 1, 2]]
    estimates, unduplicated = (
        estimate_class_proportions(doubled, evenly(4)),
        estimate_class_proportions(densities, evenly(3)),
    )
    assert estimates.converged
    assert estimates.proportions[1] + estimates.proportions[2] == pytest.approx(
        unduplicated.proportions[1], abs=1e-12
    )
    covariance, identified = covariance_of_proportions(doubled, estimates.proportions)
    assert identified.tolist() == [True, False, False, True]
    unduplicated_covariance = covariance_of_proportions(densities, unduplicated.proportions)[0]
    np.testing.assert_allclose(
        np.diag(covariance)[[0, 3]], np.diag(unduplicated_covariance)[[0, 2]], rtol=1e-9
    )


def test_profile_limits_lower_the_log_likelihood_by_half_the_quantile():
    densities, weights = batch(2, 40, 3, 1.0, weighted=True)
    estimates = estimate_class_proportions(densities, evenly(3), weights)
    best = total(densities, estimates.proportions, weights)
    grid = np.linspace(0, 1, 4001)
    for k in range(3):
        limits = profile_limits(densities, estimates, k, 0.9, weights)
        others = [j for j in range(3) if j != k]
        for limit in limits:
            if limit in (0.0, 1.0):
                continue
            mixed = np.zeros((len(grid), 3))
            mixed[:, k] = limit
            mixed[:, others[0]], mixed[:, others[1]] = (1 - limit) * grid, (1 - limit) * (1 - grid)
            fall = 2 * (best - max(total(densities, each, weights) for each in mixed))
            assert fall == pytest.approx(stats.chi2.ppf(0.9, 1), abs=1e-4)


def test_underflowing_densities_keep_their_precision():
    """Log densities by thousands apart: only the rows' best classes count, and two that are near another."""
    scores = np.array([[0.0, -5000.0], [-5000.0, 0.0], [-1.0, 0.0], [0.0, -1e300]])
    estimates = estimate_class_proportions(densities_relative_to_best(scores), np.array([1e-12, 1.0]))
    d = np.exp(-1.0) - 1
    proportion = brentq(lambda u: 2 / u - 1 / (1 - u) + d / (1 + u * d), 0.1, 0.9, xtol=1e-15)
    assert estimates.proportions[0] == pytest.approx(proportion, rel=1e-13)
