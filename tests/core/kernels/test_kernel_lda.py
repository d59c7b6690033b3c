"""The numbers of kernel discriminant analysis: rows left out by fits without them."""

from dataclasses import replace

import numpy as np
import pytest

from discrim.core.errors import InvalidStateError
from discrim.core.kernels.kernel_lda import fit_kernel_lda, restore_expansion
from discrim.core.kernels.kernel_ridge import ChosenKernel, KernelRows, fit_ridge
from discrim.core.kernels.kernels import Kernel, fit_coordinates, fit_standardization
from discrim.core.moments.moments import gather
from discrim.core.rules.calibration import Calibrator

RNG = np.random.default_rng(1)
N, P, K = 60, 4, 3
CODES = RNG.integers(0, K, N)
X = RNG.normal(size=(N, P)) + np.outer(CODES, [1.0, 0, 0, 0])
WEIGHTS = RNG.integers(1, 4, N).astype(float)
PRIOR = np.array([0.2, 0.3, 0.5])
KERNEL, RIDGE = Kernel("gaussian", 2.0), 0.3
STANDARD = fit_standardization(X, WEIGHTS)
COORDINATES = fit_coordinates(STANDARD.standardize(X), WEIGHTS, "sd")


def fitted(x, codes, weights, ncomp):
    """A fit in the coordinates of all rows."""
    moments = gather([(x, codes, weights)], n_classes=K, n_columns=P, required_moments="diagonal")
    u = STANDARD.standardize(x)
    sample = KernelRows(STANDARD, u, codes, weights, np.eye(K)[codes])
    z = COORDINATES.transform(u, "gaussian")
    ridge = fit_ridge(KERNEL.matrix(z, z), weights, sample.y, RIDGE)
    chosen = ChosenKernel("sd", KERNEL, RIDGE, COORDINATES, z, ridge)
    return fit_kernel_lda(chosen, sample, moments, PRIOR, ncomp=ncomp, calibrate=False)


@pytest.mark.parametrize("ncomp", [None, 1])
@pytest.mark.parametrize("weights", [WEIGHTS, 0.4 * WEIGHTS], ids=["whole", "fractions"])
def test_leave_one_out_scores_match_refits(weights, ncomp):
    found = fitted(X, CODES, weights, ncomp).leave_one_out_scores(np.log(PRIOR))
    for i in range(N):
        rest = weights.copy()
        rest[i] -= min(rest[i], 1.0)
        kept = rest > 0
        without = fitted(X[kept], CODES[kept], rest[kept], ncomp)
        expected = without.rule(np.log(PRIOR)).scores(X[i : i + 1])[0]
        gaps = found[i] - expected
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-11)


def test_unpenalized_variates_have_unit_variance_within_classes():
    kernel = Kernel("linear")
    moments = gather([(X, CODES, None)], n_classes=K, n_columns=P, required_moments="diagonal")
    sample = KernelRows.from_rows(X, CODES, None, K, ())
    coordinates = fit_coordinates(sample.u, None, "sd")
    z = coordinates.transform(sample.u, "linear")
    chosen = ChosenKernel(
        "sd", kernel, 1e-5, coordinates, z, fit_ridge(kernel.matrix(z, z), None, sample.y, 1e-5)
    )
    fit = fit_kernel_lda(chosen, sample, moments, PRIOR, calibrate=False)
    gaps = fit.variates(X) - fit.centroids[CODES]
    np.testing.assert_allclose(gaps.T @ gaps / N, np.eye(2), atol=1e-5)


def test_modified_rows_are_scored_by_leave_one_out_fits():
    elsewhere = X + RNG.normal(size=X.shape)
    found = fitted(X, CODES, WEIGHTS, None).modified_row_scorer(np.log(PRIOR))(
        STANDARD.standardize(elsewhere)
    )
    for i in range(0, N, 4):
        rest = WEIGHTS.copy()
        rest[i] -= 1.0
        kept = rest > 0
        rule = fitted(X[kept], CODES[kept], rest[kept], None).rule(np.log(PRIOR))
        gaps = found[i] - rule.scores(elsewhere[i : i + 1])[0]
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-11)


def test_stored_coefficients_that_do_not_fit_the_rows_are_rejected():
    fit = fitted(X, CODES, WEIGHTS, None)
    options = {"estimated_prior": True, "ncomp": None}
    again = restore_expansion(fit.moments, PRIOR, fit.state, **options)
    assert (again.values == fit.values).all()
    for name in ("coef", "intercept"):
        changed = replace(fit.state, **{name: 1.01 * getattr(fit.state, name)})
        with pytest.raises(InvalidStateError):
            restore_expansion(fit.moments, PRIOR, changed, **options)


def test_a_map_to_posteriors_of_a_file_has_the_classes_of_the_fit():
    fit = fitted(X, CODES, WEIGHTS, None)
    options = {"estimated_prior": True, "ncomp": None}
    right = Calibrator("vector", 1.0, np.inf, np.eye(K), np.zeros(K))
    assert restore_expansion(fit.moments, PRIOR, replace(fit.state, calibrator=right), **options)
    for wrong in (replace(right, intercepts=np.zeros(K + 1)), replace(right, mixing=np.eye(K + 1))):
        with pytest.raises(InvalidStateError):
            restore_expansion(fit.moments, PRIOR, replace(fit.state, calibrator=wrong), **options)
