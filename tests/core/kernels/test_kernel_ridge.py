"""Regressions on kernels: against scikit-learn, and each row left out by a fit without it."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from discrim.core.errors import CoreDataError
from discrim.core.kernels import kernel_ridge
from discrim.core.kernels.kernel_ridge import (
    KernelCandidate,
    KernelRows,
    SearchSpace,
    choose_kernel,
    fit_ridge,
    kernel_spectrum,
    landmark_spectrum,
)
from discrim.core.kernels.kernels import Kernel, fit_coordinates, median_distance
from discrim.core.numerics.arrays import sample_of_classes

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


@pytest.mark.parametrize("values", [1, 250, 2**18], ids=["one at a time", "pairs", "all"])
def test_residuals_at_many_ridges_come_in_the_order_of_the_ridges(monkeypatch, values):
    monkeypatch.setattr(kernel_ridge, "MAX_BLOCK_VALUES", values)
    ridges = np.array([3.0, 0.5, RIDGE, 0.01, 1e-4])
    spectrum = kernel_spectrum(gram(), WEIGHTS, Y)
    found = np.concatenate(list(spectrum.left_out_residuals(ridges)))
    expected = [fit_ridge(gram(), WEIGHTS, Y, ridge).left_out_residuals() for ridge in ridges]
    np.testing.assert_allclose(found, expected, atol=1e-10)


def curved_sample(n, weights=None):
    """Two classes of which one surrounds the other, with noise."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, 3))
    codes = ((x[:, :2] ** 2).sum(axis=1) + rng.normal(scale=0.7, size=n) > 1.4).astype(np.intp)
    return KernelRows.from_rows(x, codes, weights, 2, [])


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["rows", "weights"])
@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_the_widths_that_are_left_out_are_not_better(name, weights):
    sample = curved_sample(40, weights)
    found = choose_kernel(sample, SearchSpace((name,), ("sd",), None, None))
    z = fit_coordinates(sample.u, weights, "sd").transform(sample.u, name)
    unit = median_distance(z, name, weights)
    widths = sorted(candidate.kernel.width for candidate in found.candidates)
    assert len(widths) < 9
    losses = []
    for power in range(-5, 6):
        kernel = Kernel(name, unit * 2.0**power)
        for step in range(-18, 8):
            ridge = found.ridge * 2.0**step
            try:
                residuals = fit_ridge(kernel.matrix(z, z), weights, sample.y, ridge).left_out_residuals()
            except CoreDataError:
                continue
            losses.append(sample.mean((residuals**2).sum(axis=1)))
    best = min(candidate.loss for candidate in found.candidates)
    # The search has its own grid of ridges, shifted by less than a factor of two.
    assert best <= min(losses) * 1.01


def test_a_search_of_many_rows_starts_from_that_of_a_sample(monkeypatch):
    monkeypatch.setattr(kernel_ridge, "MAX_SEARCH_ROWS", 120)
    monkeypatch.setattr(kernel_ridge, "N_SAMPLE_ROWS", 80)
    monkeypatch.setattr(kernel_ridge, "MAX_EIGEN_ROWS", 60)
    monkeypatch.setattr(kernel_ridge, "N_LANDMARKS", 50)
    sample = curved_sample(150)
    space = SearchSpace(("gaussian", "laplace"), ("sd", "ranks"), None, None)
    found = choose_kernel(sample, space)
    rows = sample_of_classes(sample.codes, 80, 4)
    assert 80 <= len(rows) <= 82
    of_sample = choose_kernel(sample.subset(rows), space)
    count = len(of_sample.candidates)
    by_sample = found.candidates[:count]
    by_rows = found.candidates[count:]
    assert [each.loss for each in by_sample] == [each.loss for each in of_sample.candidates]
    assert {each.source for each in by_sample} == {"landmarks", "sample"}
    assert {each.source for each in by_rows} == {"rows"}
    first = by_rows[0]
    assert (first.kernel.name, first.kernel.width) == (of_sample.kernel.name, of_sample.kernel.width)
    assert (first.scale, first.ridge) == (of_sample.scale, of_sample.ridge)
    # The budget of these few rows allows the maximum number of widths and ridges.
    assert len(by_rows) == kernel_ridge.MIN_SECOND_STAGE_CANDIDATES
    assert min(each.loss for each in by_rows) < first.loss
    given = choose_kernel(
        sample, SearchSpace((found.kernel.name,), (found.scale,), found.kernel.width, found.ridge)
    )
    np.testing.assert_array_equal(given.fit.coef, found.fit.coef)
    monkeypatch.setattr(kernel_ridge, "MAX_FINAL_PRODUCTS", 1.0)
    assert choose_kernel(sample, space).kernel.width == of_sample.kernel.width


def test_rare_classes_are_in_the_sample_of_a_search(monkeypatch):
    monkeypatch.setattr(kernel_ridge, "MAX_SEARCH_ROWS", 300)
    monkeypatch.setattr(kernel_ridge, "N_SAMPLE_ROWS", 200)
    rng = np.random.default_rng(3)
    codes = rng.permutation(np.repeat([0, 1, 2], [250, 244, 6]))
    x = rng.normal(size=(500, 2)) + codes[:, None]
    searched = []
    subset = KernelRows.subset
    monkeypatch.setattr(KernelRows, "subset", lambda *args: searched.append(subset(*args)) or searched[-1])
    choose_kernel(
        KernelRows.from_rows(x, codes, None, 3, []), SearchSpace(("gaussian",), ("sd",), None, None)
    )
    (rows,) = searched
    assert np.bincount(rows.codes)[2] == 6
    assert 200 <= len(rows.codes) <= 220


@pytest.mark.parametrize("scale", ["sd", "ranks"])
def test_search_is_of_all_rows_if_the_sampled_ones_are_equal(scale, monkeypatch):
    monkeypatch.setattr(kernel_ridge, "MAX_SEARCH_ROWS", 600)
    monkeypatch.setattr(kernel_ridge, "N_SAMPLE_ROWS", 400)
    n = 640
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, n)
    outside = np.setdiff1d(np.arange(n), sample_of_classes(codes, kernel_ridge.N_SAMPLE_ROWS, 50))
    x = np.zeros((n, 2))
    x[outside[:200]] = rng.normal(size=(200, 2)) + codes[outside[:200], None]
    found = choose_kernel(
        KernelRows.from_rows(x, codes, None, 2, []), SearchSpace(("gaussian",), (scale,), None, None)
    )
    assert {candidate.source for candidate in found.candidates} == {"landmarks", "rows"}
    shuffled = rng.permutation(n)
    other = choose_kernel(
        KernelRows.from_rows(x[shuffled], codes[shuffled], None, 2, []),
        SearchSpace(("gaussian",), (scale,), None, None),
    )
    best, other_best = (min(each.loss for each in result.candidates) for result in (found, other))
    assert best == pytest.approx(other_best, rel=0.02)
    with pytest.raises(CoreDataError):
        choose_kernel(
            KernelRows.from_rows(np.zeros((n, 2)), codes, None, 2, []),
            SearchSpace(("gaussian",), (scale,), None, None),
        )


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
@pytest.mark.parametrize("weights", [np.full(40, 2.0), WEIGHTS], ids=["equal", "unequal"])
def test_median_distance_with_weights_is_that_of_repeated_rows(name, weights):
    repeated = np.repeat(X, weights.astype(int), axis=0)
    assert median_distance(X, name, weights) == pytest.approx(median_distance(repeated, name), rel=1e-14)
