"""Kernels and coordinates, against scikit-learn, closed forms and simulation."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import pairwise

from discrim.core.kernels.kernels import Kernel, fit_coordinates, fit_standardization, median_distance
from discrim.errors import DataError

RNG = np.random.default_rng(3)
A, B = RNG.normal(size=(7, 4)), RNG.normal(size=(5, 4))


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("gaussian", lambda a, b: pairwise.rbf_kernel(a, b, gamma=1 / (2 * 1.7**2))),
        ("laplace", lambda a, b: pairwise.laplacian_kernel(a, b, gamma=1 / 1.7)),
        ("polynomial", lambda a, b: pairwise.polynomial_kernel(a, b, degree=3, gamma=1 / 1.7**2, coef0=1)),
        ("linear", pairwise.linear_kernel),
    ],
)
def test_kernels_match_scikit_learn(name, theirs):
    np.testing.assert_allclose(Kernel(name, 1.7).matrix(A, B), theirs(A, B), rtol=1e-12)


def test_arccos_kernel_matches_many_rectified_linear_units():
    weights = np.random.default_rng(0).normal(size=(5, 400_000))
    units = [np.maximum(np.column_stack([z / 1.7, np.ones(len(z))]) @ weights, 0.0) for z in (A, B)]
    products = 2 * units[0] @ units[1].T / weights.shape[1]
    found = Kernel("arccos", 1.7).matrix(A, B)
    spread = 2 * np.sqrt((units[0] ** 2) @ (units[1] ** 2).T / weights.shape[1] ** 2)
    assert (np.abs(found - products) < 5 * spread).all()


def test_distant_row_has_zero_kernel():
    far = np.full((1, 4), 1e100)
    assert Kernel("gaussian", 1.0).matrix(far, B).tolist() == [[0.0] * 5]
    assert Kernel("laplace", 1.0).matrix(far, B).tolist() == [[0.0] * 5]


def coordinates(x, scale, factors=(), weights=None, kernel="gaussian"):
    standard = fit_standardization(x, weights)
    found = fit_coordinates(standard.standardize(x), weights, scale, factors)
    return standard, found, found.transform(standard.standardize(x), kernel)


def test_standardized_columns_do_not_depend_on_units():
    weights = np.array([1.0, 3, 2, 1, 1, 2, 1])
    for unit in (1.0, 1e-250, 1e250):
        _, _, z = coordinates(A * unit, "sd", weights=weights)
        np.testing.assert_allclose(np.average(z, axis=0, weights=weights), 0, atol=1e-14)
        np.testing.assert_allclose(np.average(z**2, axis=0, weights=weights), 1, rtol=1e-13)


def test_ranks_are_normal_scores_and_are_interpolated():
    x = np.array([[1.0], [5.0], [2.0], [2.0], [100.0]])
    standard, found, z = coordinates(x, "ranks")
    scores = norm.ppf([0.1, 0.7, 0.4, 0.4, 0.9])
    expected = (scores - scores.mean()) / scores.std()
    np.testing.assert_allclose(z[:, 0], expected, rtol=1e-12)
    new = found.transform(standard.standardize(np.array([[1.5], [-10.0], [1e6]])), "gaussian")[:, 0]
    np.testing.assert_allclose(new, [(expected[0] + expected[2]) / 2, expected[0], expected[4]], rtol=1e-12)


def test_levels_are_equidistant_for_any_coding():
    level = np.array([0, 1, 2, 0, 1, 2, 0, 0])
    treatment, other = np.eye(3)[level][:, 1:], np.eye(3)[level][:, :2]
    effects = np.vstack([np.eye(2), [-1, -1]])[level]
    gaps = []
    for x in (treatment, other, effects):
        standard, found, z = coordinates(x, "sd", [[0, 1]])
        gaps.append(((z[:, None] - z) ** 2).sum(axis=2))
        unknown = found.transform(standard.standardize(np.array([[7.0, 7.0]])), "gaussian")
        far = ((unknown - z) ** 2).sum(axis=1)
        np.testing.assert_allclose(far, gaps[-1].max(), rtol=1e-12)
    np.testing.assert_allclose(gaps[1], gaps[0], rtol=1e-12)
    np.testing.assert_allclose(gaps[2], gaps[0], rtol=1e-12)
    # The mean over all pairs, those of a row with itself too, is that of a standardized column.
    assert gaps[0].mean() == pytest.approx(2.0)


@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_a_factor_of_two_levels_is_the_column_of_zeros_and_ones(kernel):
    x = np.array([[0.0], [1.0], [1.0], [1.0], [0.0]])
    as_number, as_factor = (
        coordinates(x, "sd", kernel=kernel)[2],
        coordinates(x, "sd", [[0]], kernel=kernel)[2],
    )
    kernels = [Kernel(kernel, 1.3).matrix(z, z) for z in (as_number, as_factor)]
    np.testing.assert_allclose(kernels[1], kernels[0], rtol=1e-12)


def test_median_distance_of_weighted_rows_matches_repeated_rows():
    times = np.array([1, 3, 2, 1, 4, 2, 1])
    repeated = median_distance(np.repeat(A, times, axis=0), "laplace")
    assert median_distance(A, "laplace", times.astype(float)) == pytest.approx(repeated, rel=1e-14)


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(DataError) as caught:
        median_distance(np.zeros((4, 2)), "gaussian")
    assert "equal" in str(caught.value)
