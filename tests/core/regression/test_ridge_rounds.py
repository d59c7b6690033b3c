"""Penalized fits: steps by conjugate gradients, ends of a path, and paths of several training sets."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from discrim.core.regression.penalized import (
    TrainingPaths,
    fit_at_strength,
    path_scores,
    path_strengths,
    penalized_path,
    training_path_scores,
)
from discrim.core.regression.proximal_newton import ClassBlocks, Likelihood, minimize_quadratics, violations


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


def training_set(model, counts):
    """Standardize the rows of a training set; return its likelihood and all rows in its units."""
    weights = model.weights * counts / (model.weights @ counts)
    mean = model.z[1:] @ weights
    sd = np.sqrt((model.z[1:] - mean[:, None]) ** 2 @ weights)
    is_constant = sd < 1e-10
    z = model.z.copy()
    z[1:] = np.where(
        is_constant[:, None], 0.0, (z[1:] - mean[:, None]) / np.where(is_constant, 1, sd)[:, None]
    )
    used = counts > 0
    return Likelihood(z[:, used], model.codes[used], weights[used], model.n_classes), z


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [2, 3])
def test_paths_of_training_sets_are_those_of_separate_fits(k, l1_ratio):
    model = rows(90, 5, k)
    rng = np.random.default_rng(k)
    counts = np.ones((6, 90))
    counts[:4] = np.arange(90) % 4 != np.arange(4)[:, None]
    counts[4] = rng.multinomial(90, np.ones(90) / 90)
    # One column is constant outside the last test set.
    z = model.z.copy()
    z[1, 10:] = z[1, 10]
    counts[5, :10] = 0.0
    model = Likelihood(z, model.codes, model.weights, k)
    strengths = path_strengths(model, l1_ratio, 12)
    path = penalized_path(model, l1_ratio, strengths, 50)
    tests = [np.flatnonzero(set_counts == 0) for set_counts in counts]
    together = training_path_scores(model, counts, tests, l1_ratio, strengths, path, 50)
    for set_counts, test, scores in zip(counts, tests, together, strict=True):
        training, all_rows = training_set(model, set_counts)
        alone = path_scores(penalized_path(training, l1_ratio, strengths, 50), all_rows[:, test])
        difference = scores - alone
        if k > 2:
            # A constant may be added to the functions of a row.
            difference -= difference.mean(axis=1, keepdims=True)
        assert np.abs(difference).max() < 1e-3 * max(np.abs(alone).max(), 1.0)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [2, 4])
def test_solutions_of_training_sets_satisfy_the_conditions(k, l1_ratio):
    model = rows(120, 7, k, seed=5)
    counts = (np.arange(120) % 5 != np.arange(5)[:, None]).astype(float)
    strengths = path_strengths(model, l1_ratio, 15)
    path = penalized_path(model, l1_ratio, strengths, 50)
    sets = TrainingPaths(model, counts, l1_ratio, 50)
    last = model.null_coef()
    for strength, fit in zip(strengths, path, strict=True):
        sets.minimize(strength, fit.beta, fit.beta - last)
        last = fit.beta
        assert not sets.failed.any()
        for set_counts, beta, eta in zip(counts, sets.beta, sets.eta, strict=True):
            training, all_rows = training_set(model, set_counts)
            np.testing.assert_allclose(beta @ all_rows, eta, atol=1e-9)
            gradient = training.gradient(training.evaluate(training.linear_functions(beta)).residual)
            assert violations(gradient, beta, strength, l1_ratio).max() <= 1.01e-5 * strength


def test_diverging_training_sets_are_searched_with_a_line_search(monkeypatch):
    model = rows(100, 4, 2)
    counts = (np.arange(100) % 3 != np.arange(3)[:, None]).astype(float)
    strengths = path_strengths(model, 1.0, 20)
    path = penalized_path(model, 1.0, strengths, 50)
    tests = [np.flatnonzero(set_counts == 0) for set_counts in counts]
    expected = training_path_scores(model, counts, tests, 1.0, strengths, path, 50)
    target = "discrim.core.regression.penalized.minimize_quadratics"
    monkeypatch.setattr(target, lambda curvature, gradient, beta, *weights: beta + 1.0)
    repeated = training_path_scores(model, counts, tests, 1.0, strengths, path, 50)
    for scores, repeated_scores in zip(expected, repeated, strict=True):
        np.testing.assert_allclose(scores, repeated_scores, atol=1e-3)


@pytest.mark.parametrize(("l1_weight", "l2_weight"), [(0.3, 0.0), (0.3, 0.2), (0.0, 0.1)])
def test_quadratics_are_minimized_together(l1_weight, l2_weight):
    rng = np.random.default_rng(4)
    roots = rng.normal(size=(8, 12, 10))
    curvature = roots.swapaxes(1, 2) @ roots / 12
    gradient, beta = rng.normal(size=(2, 8, 2, 5))
    beta[rng.random(beta.shape) < 0.4] = 0.0
    found = minimize_quadratics(curvature, gradient, beta, l1_weight, l2_weight)
    change = np.einsum("fab,fb->fa", curvature, (found - beta).reshape(8, -1)).reshape(beta.shape)
    total = l1_weight + l2_weight
    assert violations(gradient + change, found, total, l1_weight / total).max() < 1e-8
    assert (found[..., 1:] == 0).any() == (l1_weight > 0)
