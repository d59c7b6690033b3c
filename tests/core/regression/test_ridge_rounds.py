"""Ridges of many coefficients: steps by conjugate gradients against the whole system, and ends of a path."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from discrim.core.regression.penalized import fit_at_strength, path_strengths, penalized_path
from discrim.core.regression.proximal_newton import ClassBlocks, Likelihood


def rows(n, p, k, seed=3):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    # Columns that tell nearly the same, as the points of a curve do.
    x = rng.normal(size=(n, 6)) @ rng.normal(size=(6, p)) + 0.3 * rng.normal(size=(n, p))
    x += rng.normal(size=(k, p))[codes]
    weights = rng.uniform(0.5, 2, n)
    weights /= weights.sum()
    x -= weights @ x
    x /= np.sqrt(weights @ x**2)
    return Likelihood(np.vstack([np.ones(n), x.T]), codes, weights, k)


def slope(model, beta, strength):
    """The gradient of the loss with its ridge, row by row."""
    out = np.zeros_like(beta)
    for i, (code, weight) in enumerate(zip(model.codes, model.weights, strict=True)):
        shares = softmax(beta @ model.z[:, i]) if len(beta) > 1 else None
        if shares is None:
            residual = np.array([1 / (1 + np.exp(-(beta @ model.z[:, i])[0])) - code])
        else:
            residual = shares - np.eye(len(beta))[code]
        out += weight * np.outer(residual, model.z[:, i])
    out[:, 1:] += strength * beta[:, 1:]
    return out


@pytest.mark.parametrize("k", [2, 3, 5])
def test_conjugate_gradient_step_solves_the_full_system(k):
    model, second = rows(70, 9, k), 0.01
    functions, p1 = model.n_functions, len(model.z)
    beta = np.random.default_rng(1).normal(size=(functions, p1))
    shares = model.evaluate(model.linear_functions(beta)).probabilities
    whole = np.zeros((functions * p1, functions * p1))
    for i, weight in enumerate(model.weights):
        own = shares[:, i]
        bent = np.diag(own) - np.outer(own, own)
        whole += weight * np.kron(bent, np.outer(model.z[:, i], model.z[:, i]))
    whole += second * np.diag(np.tile(np.arange(p1) > 0, functions).astype(float))
    gradient = slope(model, beta, second)
    step, rounds = ClassBlocks(model, shares, second).step(model, shares, gradient, second)
    # Of more than two classes the constants may be moved by one number.
    exact = -np.linalg.lstsq(whole, gradient.ravel(), rcond=1e-12)[0].reshape(beta.shape)
    if k > 2:
        exact[:, 0] -= exact[:, 0].mean()
    assert rounds < 40
    np.testing.assert_allclose(step, exact, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize(("n", "p", "k"), [(120, 70, 4), (60, 80, 5), (90, 260, 2)])
def test_path_reaches_minima_from_any_start(n, p, k):
    model = rows(n, p, k)
    strengths = path_strengths(model, 0.0, 12)
    path = penalized_path(model, 0.0, strengths, 50)
    others = penalized_path(
        model, 0.0, strengths, 50, similar_path=penalized_path(rows(n, p, k, 4), 0.0, strengths, 50)
    )
    for strength, ended, other in zip(strengths, path, others, strict=True):
        assert ended.converged
        steepest = min(np.abs(ended.beta[:, 1:]).max(), 1.0)
        assert np.abs(slope(model, ended.beta, strength)).max() < 1.1e-5 * strength * steepest
        np.testing.assert_allclose(other.beta, ended.beta, atol=1e-4 * np.abs(ended.beta).max())
    least = fit_at_strength(model, 0.0, strengths[-1], tol=1e-8, maxiter=50, start=path[-1].beta)
    assert np.abs(slope(model, least.beta, strengths[-1])).max() < 1e-12
    np.testing.assert_allclose(path[-1].beta, least.beta, atol=1e-4 * np.abs(least.beta).max())


def test_path_matches_full_systems():
    model = rows(120, 70, 4)
    strengths = path_strengths(model, 0.0, 10)
    path = penalized_path(model, 0.0, strengths, 50)
    for strength, ended in zip(strengths, path, strict=True):
        whole = fit_at_strength(model, 0.0, strength, tol=1e-10, maxiter=50)
        assert ended.loss == pytest.approx(whole.loss, rel=1e-5)
        assert ended.steps <= 20
