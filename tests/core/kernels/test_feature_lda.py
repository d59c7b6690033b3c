"""A regression on features against the one on the kernel, against each row left out, and part by part."""

from functools import partial

import numpy as np
import pytest

from discrim.core.kernels.feature_lda import (
    FeatureIndicators,
    FeatureSums,
    choose_feature_ridge,
    fit_feature_lda,
    fit_feature_ridge,
    residuals_and_leverages,
)
from discrim.core.kernels.features import FeatureMap, FeatureRows, make_landmarks, random_features
from discrim.core.kernels.kernel_ridge import KernelRows, fit_ridge
from discrim.core.kernels.kernels import Kernel
from discrim.core.kernels.row_sample import sample_rows
from discrim.core.moments.moments import gather, merge_rescaled

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, 80)
ROWS = RNG.normal(size=(80, 3)) + CODES[:, None]
WEIGHTS = RNG.integers(1, 4, 80).astype(float)
SAMPLE = KernelRows.from_rows(ROWS, CODES, None, 3, [])
NAMED = {"feature_type": "random", "scale": "sd", "sample": SAMPLE}
KERNEL = Kernel("gaussian", 1.3)
PRIOR = np.array([0.2, 0.3, 0.5])


def same(x):
    return x


def sums_of(features, x, codes, weights=None):
    rows = FeatureRows([(x, codes, weights)], features)
    return FeatureSums.from_moments(gather(rows, n_classes=3, n_columns=features.width, with_roots=False))


def indicators_of(features, x, codes, weights=None, ridge=0.5):
    return FeatureIndicators(KERNEL, features, fit_feature_ridge(sums_of(features, x, codes, weights), ridge))


@pytest.fixture(scope="module")
def waves():
    return FeatureMap(same, random_features("gaussian", 1.3, 3, 40))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_all_rows_as_landmarks_give_the_regression_on_the_kernel(weights):
    k = KERNEL.matrix
    exact = fit_ridge(k(ROWS, ROWS), weights, np.eye(3)[CODES], 0.5)
    features = FeatureMap(same, make_landmarks(k, ROWS))
    ours = indicators_of(features, ROWS, CODES, weights)
    new = RNG.normal(size=(20, 3)) * 2
    np.testing.assert_allclose(ours(new), k(new, ROWS) @ exact.coef + exact.intercept, rtol=0, atol=1e-9)
    _, residuals, left = residuals_and_leverages(ours, ROWS, CODES, weights)
    np.testing.assert_allclose(residuals, exact.residuals, rtol=0, atol=1e-9)
    np.testing.assert_allclose(left, exact.one_minus_leverages, rtol=0, atol=1e-9)


def test_leave_one_out_matches_refits(waves):
    _, residuals, left = residuals_and_leverages(
        indicators_of(waves, ROWS, CODES, WEIGHTS), ROWS, CODES, WEIGHTS
    )
    for i in range(0, 80, 9):
        rest = WEIGHTS.copy()
        rest[i] -= 1
        without = indicators_of(waves, ROWS, CODES, rest)
        wanted = np.eye(3)[CODES[i]] - without(ROWS[i : i + 1])[0]
        np.testing.assert_allclose(residuals[i] / left[i], wanted, rtol=0, atol=1e-10)


@pytest.mark.parametrize("ncomp", [None, 1])
def test_leave_one_out_of_normal_classes_matches_refits(waves, ncomp):
    def fitted(weights):
        indicators = indicators_of(waves, ROWS, CODES, weights)
        sums = sums_of(waves, ROWS, CODES, weights)
        moments = gather([(ROWS, CODES, weights)], n_classes=3, n_columns=3, required_moments="diagonal")
        return fit_feature_lda(indicators, sums, moments, PRIOR, ncomp=ncomp, **NAMED)

    scores = fitted(WEIGHTS).leave_one_out_scorer(np.log(PRIOR))(ROWS, CODES, WEIGHTS)
    for i in range(0, 80, 9):
        rest = WEIGHTS.copy()
        rest[i] -= 1
        wanted = fitted(rest).rule(np.log(PRIOR)).scores(ROWS[i : i + 1])[0]
        found = scores[i] - scores[i].mean()
        np.testing.assert_allclose(found, wanted - wanted.mean(), rtol=0, atol=1e-9)


def test_weights_match_repeated_rows(waves):
    again = np.repeat(np.arange(80), WEIGHTS.astype(int))
    for power in (-4, 0, 4):
        a = fit_feature_ridge(sums_of(waves, ROWS, CODES, WEIGHTS), 2.0**power)
        b = fit_feature_ridge(sums_of(waves, ROWS[again], CODES[again]), 2.0**power)
        np.testing.assert_allclose(a.coef, b.coef, rtol=0, atol=1e-10)
        np.testing.assert_allclose([a.loss, a.df], [b.loss, b.df], rtol=1e-11)


def test_moments_of_chunks_add_up(waves):
    gathered = partial(gather, n_classes=3, n_columns=40, with_roots=False)
    parts = [
        gathered(FeatureRows([(ROWS[i], CODES[i], WEIGHTS[i])], waves)) for i in np.split(np.arange(80), 4)
    ]
    whole = fit_feature_ridge(sums_of(waves, ROWS, CODES, WEIGHTS), 0.5)
    summed = parts[0]
    for part in parts[1:]:
        summed = merge_rescaled(summed, part)
    np.testing.assert_allclose(
        fit_feature_ridge(FeatureSums.from_moments(summed), 0.5).coef, whole.coef, rtol=0, atol=1e-11
    )


def test_generalized_cross_validation_matches_its_definition(waves):
    sums = sums_of(waves, ROWS, CODES)
    fit = fit_feature_ridge(sums, 0.7)
    f = waves(ROWS)
    design = np.column_stack([np.ones(80), f])
    penalty = np.diag(np.r_[0, np.full(40, 0.7)])
    hat = design @ np.linalg.solve(design.T @ design + penalty, design.T)
    y = np.eye(3)[CODES]
    wanted = ((y - hat @ y) ** 2).sum() / 80 / (1 - np.trace(hat) / 80) ** 2
    np.testing.assert_allclose(fit.loss, wanted, rtol=1e-10)
    np.testing.assert_allclose(fit.df, np.trace(hat) - 1, rtol=1e-10)


def test_chosen_ridge_has_the_smallest_nearby_loss(waves):
    sums = sums_of(waves, ROWS, CODES)
    fit, tried = choose_feature_ridge(sums, lambda done: None)
    grid = [fit_feature_ridge(sums, sums.mean_squared_distance * 2.0**power).loss for power in range(-18, 9)]
    assert fit.loss == min(grid) == min(loss for loss in [each.loss for each in tried])


def test_sample_of_distinct_rows_is_independent_of_chunks_and_order():
    rows = np.concatenate([ROWS, ROWS[:30]])
    codes = np.r_[CODES, CODES[:30]]
    one = sample_rows([(rows, codes, None)], 25, 3)
    order = RNG.permutation(110)
    parts = [(rows[i], codes[i], None) for i in np.array_split(order, 7)]
    other = sample_rows(parts, 25, 3)
    assert (one.x == other.x).all()
    assert (one.keys == other.keys).all()
    assert (one.weights == other.weights).all()
    assert len(one.x) == 25
    counts = [int((rows == x).all(axis=1).sum()) for x in one.x]
    assert one.weights.tolist() == counts
    weighted = sample_rows([(ROWS, CODES, np.where(np.arange(80) < 30, 2.0, 1.0))], 25, 3)
    assert (weighted.x == one.x).all()
    assert (weighted.weights == one.weights).all()
    assert (one.truncate(9).x == sample_rows(parts, 9, 3).x).all()


def test_sample_is_uniform():
    """Each of 40 rows is in a sample of ten in a quarter of the tables, and so is each pair of neighbours."""
    tables = [RNG.normal(size=(40, 2)) for _ in range(400)]
    seen = np.zeros((400, 40))
    for table, line in zip(tables, seen, strict=True):
        sample = sample_rows([(table, np.zeros(40, dtype=np.intp), None)], 10, 2)
        line[:] = (table[:, None] == sample.x).all(axis=2).any(axis=1)
    assert (seen.sum(axis=1) == 10).all()
    assert abs(seen.mean(axis=0) - 0.25).max() < 4.5 * np.sqrt(0.25 * 0.75 / 400)
    pairs = (seen[:, ::2] * seen[:, 1::2]).mean()
    assert abs(pairs - 10 * 9 / (40 * 39)) < 0.01


def test_zeros_of_both_signs_are_equal():
    x = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert len(sample_rows([(x, np.zeros(2, dtype=np.intp), None)], 5, 2).x) == 1
