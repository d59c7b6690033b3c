"""Regressions on kernels: against scikit-learn, and each row left out by a fit without it."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from discrim.core.kernels.kernel_ridge import (
    KernelCandidate,
    KernelRows,
    SearchSpace,
    choose_kernel,
    fit_ridge,
    kernel_spectrum,
    landmark_spectrum,
)
from discrim.core.kernels.kernels import Kernel

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = np.eye(3)[RNG.integers(0, 3, 40)]
WEIGHTS = RNG.integers(1, 4, 40).astype(float)
KERNEL = Kernel("gaussian", 1.5)
RIDGE = 0.2


def gram():
    return KERNEL.matrix(X, X)


def solved(x, y, w, ridge):
    """Coefficients and constant of the conditions of a minimum."""
    n = len(x)
    system = np.ones((n + 1, n + 1))
    system[:n, :n] = KERNEL.matrix(x, x) + np.diag(ridge / w)
    system[n, n] = 0.0
    found = np.linalg.solve(system, np.vstack([y, np.zeros((1, y.shape[1]))]))
    return found[:n], found[n]


def left_out_one_by_one(weights):
    out = np.empty_like(Y)
    for i in range(len(X)):
        w = weights.copy()
        w[i] -= min(w[i], 1.0)
        kept = w > 0
        coef, constant = solved(X[kept], Y[kept], w[kept], RIDGE)
        out[i] = Y[i] - KERNEL.matrix(X[i : i + 1], X[kept])[0] @ coef - constant
    return out


def test_coefficients_match_kernel_ridge_on_the_centred_kernel():
    n = len(X)
    centre = np.eye(n) - 1 / n
    theirs = KernelRidge(alpha=RIDGE, kernel="precomputed")
    theirs.fit(centre @ gram() @ centre, Y - Y.mean(axis=0))
    fit = fit_ridge(gram(), None, Y, RIDGE)
    np.testing.assert_allclose(fit.coef, theirs.dual_coef_, atol=1e-12)
    fitted = theirs.predict(centre @ gram() @ centre) + Y.mean(axis=0)
    np.testing.assert_allclose(Y - fit.residuals, fitted, atol=1e-12)
    np.testing.assert_allclose(gram() @ fit.coef + fit.intercept, fitted, atol=1e-12)


@pytest.mark.parametrize("weights", [np.ones(40), WEIGHTS, 0.3 * WEIGHTS], ids=["one", "whole", "fractions"])
def test_leave_one_out_residuals_match_refits(weights):
    fit = fit_ridge(gram(), weights, Y, RIDGE)
    coef, constant = solved(X, Y, weights, RIDGE)
    np.testing.assert_allclose(fit.coef, coef, atol=1e-12)
    np.testing.assert_allclose(fit.intercept, constant, atol=1e-12)
    expected = left_out_one_by_one(weights)
    np.testing.assert_allclose(fit.left_out_residuals(), expected, atol=1e-12)
    ((found,),) = kernel_spectrum(gram(), weights, Y).left_out_residuals(np.array([RIDGE]))
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_all_rows_as_landmarks_are_the_kernel_itself():
    ((found,),) = landmark_spectrum(gram(), gram(), WEIGHTS, Y).left_out_residuals(np.array([RIDGE]))
    np.testing.assert_allclose(found, left_out_one_by_one(WEIGHTS), atol=1e-7)


def test_weights_are_repeated_rows():
    again = np.repeat(np.arange(40), WEIGHTS.astype(int))
    fit = fit_ridge(gram(), WEIGHTS, Y, RIDGE)
    repeated = fit_ridge(KERNEL.matrix(X[again], X[again]), None, Y[again], RIDGE)
    np.testing.assert_allclose(repeated.residuals, fit.residuals[again], atol=1e-12)
    np.testing.assert_allclose(repeated.left_out_residuals(), fit.left_out_residuals()[again], atol=1e-12)


@pytest.mark.parametrize("n", [40, 420], ids=["few", "landmarks"])
@pytest.mark.parametrize("weight", [None, 1e9], ids=["rows", "weights"])
def test_chosen_ridge_can_be_passed_as_an_argument(n, weight):
    # Of classes far apart, and of rows that leave their equals behind, the least ridge is the best.
    rng = np.random.default_rng(8)
    codes = np.arange(n) % 2
    x = rng.normal(size=(n, 2)) + 30.0 * codes[:, None]
    sample = KernelRows.from_rows(x, codes, None if weight is None else np.full(n, weight), 2, [])
    found = choose_kernel(sample, SearchSpace(("laplace",), ("sd",), None, None))
    given = choose_kernel(sample, SearchSpace(("laplace",), ("sd",), found.kernel.width, found.ridge))
    np.testing.assert_array_equal(given.fit.coef, found.fit.coef)
    assert any(each.ridge == found.ridge and each.kernel == found.kernel for each in found.candidates)


def test_a_step_has_to_gain_a_thousandth():
    def tried(loss, squared):
        return KernelCandidate("sd", KERNEL, RIDGE, loss, 0.1, squared, True)

    assert tried(0.998, 0.5).improves_on(tried(1.0, 0.5))
    assert not tried(0.9995, 0.4999).improves_on(tried(1.0, 0.5))
    assert tried(1.0, 0.4).improves_on(tried(1.0, 0.5))
    assert not tried(1.1, 0.4).improves_on(tried(1.0, 0.5))
