"""Features against the kernels whose products they are: landmarks exactly, random ones in the mean."""

import numpy as np
import pytest

from discrim.core.kernels.features import draw_landmarks, make_landmarks, random_features
from discrim.errors import DataError

ROWS = np.random.default_rng(1).normal(size=(60, 3))


def gaps(a, b):
    return a[:, None] - b[None]


def gaussian(a, b):
    return np.exp(-(gaps(a, b) ** 2).sum(axis=-1) / (2 * 1.5**2))


def laplace(a, b):
    return np.exp(-np.abs(gaps(a, b)).sum(axis=-1) / 1.5)


def arc_cosine(a, b):
    a, b = (np.column_stack([x / 1.5, np.ones(len(x))]) for x in (a, b))
    lengths = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    angles = np.arccos(np.clip(a @ b.T / lengths, -1, 1))
    return lengths * (np.sin(angles) + (np.pi - angles) * np.cos(angles)) / np.pi


LAWS = {"gaussian": gaussian, "laplace": laplace, "relu": arc_cosine}


def test_all_rows_as_landmarks_give_the_kernel():
    found = make_landmarks(gaussian, ROWS)
    f = found.features(ROWS)
    np.testing.assert_allclose(f @ f.T, gaussian(ROWS, ROWS), rtol=0, atol=1e-11)
    assert (found.width, found.n_omitted) == (60, 0)


def test_feature_products_match_projection_on_landmarks():
    points, new = ROWS[:12], ROWS[12:]
    f = make_landmarks(gaussian, points).features(new)
    between = gaussian(points, points)
    wanted = gaussian(new, points) @ np.linalg.solve(between, gaussian(points, new))
    np.testing.assert_allclose(f @ f.T, wanted, rtol=0, atol=1e-12)
    assert (np.diagonal(gaussian(new, new)) >= (f**2).sum(axis=1)).all()


def test_landmarks_that_others_span_are_left_out():
    doubled = np.concatenate([ROWS[:20], ROWS[:20]])
    found = make_landmarks(gaussian, doubled)
    assert (found.width, found.n_omitted) == (20, 20)
    linear = make_landmarks(lambda a, b: a @ b.T, ROWS)
    assert (linear.width, linear.n_omitted) == (3, 57)
    np.testing.assert_allclose(
        linear.features(ROWS) @ linear.features(ROWS).T, ROWS @ ROWS.T, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("kernel", [lambda a, b: -a @ b.T, lambda a, b: np.zeros((len(a), len(b)))])
def test_invalid_kernel_is_rejected(kernel):
    with pytest.raises(DataError) as caught:
        make_landmarks(kernel, ROWS)
    assert "negative" in str(caught.value)
    assert "finite" in str(caught.value)


def test_landmarks_are_distinct_and_reproducible():
    places = draw_landmarks(gaussian, ROWS, 25, seed=3)
    assert len(set(places.tolist())) == 25
    assert places.tolist() == draw_landmarks(gaussian, ROWS, 25, seed=3).tolist()
    assert places.tolist() != draw_landmarks(gaussian, ROWS, 25, seed=4).tolist()
    assert draw_landmarks(gaussian, ROWS, 60).tolist() == list(range(60))


def test_no_more_landmarks_are_drawn_than_span_the_rows():
    assert len(draw_landmarks(lambda a, b: a @ b.T, ROWS, 10)) == 3
    doubled = np.concatenate([ROWS[:20], ROWS[:20]])
    assert len(set((draw_landmarks(gaussian, doubled, 30) % 20).tolist())) == 20


def test_landmark_draws_follow_the_residual_kernel():
    """The first two landmarks have the law of a pivoted Cholesky, by its definition."""
    rows = np.array([[0.0], [0.3], [2.0], [2.2]])
    kernel = gaussian(rows, rows)
    wanted = np.zeros((4, 4))
    for i in range(4):
        left = np.maximum(np.diagonal(kernel) - kernel[i] ** 2 / kernel[i, i], 0)
        wanted[i] = np.diagonal(kernel)[i] / np.trace(kernel) * left / left.sum()
    seen, draws = np.zeros((4, 4)), 300
    for seed in range(draws):
        i, j = draw_landmarks(gaussian, rows, 2, seed=seed)
        seen[i, j] += 1
    error = np.sqrt(wanted * (1 - wanted) / draws)
    assert (np.abs(seen / draws - wanted) <= 4 * error + 1e-12).all()


@pytest.mark.parametrize("law", LAWS)
def test_random_features_have_the_kernel_as_their_mean(law):
    draws = np.stack(
        [f @ f.T for seed in range(300) for f in [random_features(law, 1.5, 3, 32, seed).features(ROWS[:6])]]
    )
    error = draws.std(axis=0) / np.sqrt(len(draws))
    gap = draws.mean(axis=0) - LAWS[law](ROWS[:6], ROWS[:6])
    assert (np.abs(gap) <= 4.5 * error + 1e-12).all()


def test_orthogonal_directions_vary_less_than_independent_ones():
    def squared_error(features):
        return np.mean((features @ features.T - gaussian(ROWS[:6], ROWS[:6])) ** 2)

    ours = [squared_error(random_features("gaussian", 1.5, 3, 60, s).features(ROWS[:6])) for s in range(100)]
    independent = []
    for seed in range(100):
        angles = ROWS[:6] @ np.random.default_rng(seed).normal(size=(3, 30)) / 1.5
        independent.append(squared_error(np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(30)))
    assert np.mean(ours) < 0.8 * np.mean(independent)


def test_waves_are_cosines_and_sines_to_digits():
    rows = np.concatenate([ROWS, 1e3 * ROWS, np.zeros((1, 3))])
    waves = random_features("gaussian", 0.7, 3, 40)
    angles = rows @ waves.directions
    wanted = np.column_stack([np.cos(angles), np.sin(angles)]) / np.sqrt(20)
    # An angle of a few thousands is itself known to some 1e-12.
    np.testing.assert_allclose(waves.features(rows), wanted, rtol=0, atol=3e-12)
    np.testing.assert_allclose(waves.features(ROWS), wanted[:60], rtol=0, atol=1e-14)


def test_an_odd_number_of_waves_is_refused():
    with pytest.raises(DataError) as caught:
        random_features("laplace", 1.0, 3, 7)
    assert "even" in str(caught.value)
    assert "number" in str(caught.value)
