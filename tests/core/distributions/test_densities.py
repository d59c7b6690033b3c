"""Known laws whose classes lie on planes, and densities of the user's that fail."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from discrim import bayes
from discrim.errors import DataError


def law(mean, cov):
    return multivariate_normal(mean, cov, allow_singular=True)


LINE = [[1.0, 1.0], [1.0, 1.0]]
SMALL = np.outer([0.1, 0.3], [0.1, 0.3])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (law([0, 0], np.diag([1.0, 0.0])), law([0, 0], np.eye(2))),
        (law([0, 0], LINE), law([1, 0], [[2, 0.3], [0.3, 1]])),
        (law([0, 0], LINE), law([0, 0], [[1, -1], [-1, 1]])),
        (law([0, 0], LINE), law([0, 1], LINE)),
        (law([1e6, 1e6], LINE), law([1e6, 1e6 + 1], np.eye(2))),
        (law([0, 0, 0], np.diag([1.0, 1.0, 0.0])), law([0, 0, 0], np.diag([1.0, 0.0, 0.0]))),
    ],
)
def test_class_on_a_plane_is_distinguished_from_others(first, second):
    known = bayes(None, {"a": first, "b": second})
    assert known.error_rate == 0
    assert known.error_bound < 1e-4
    points = np.concatenate([d.rvs(size=5, random_state=1) for d in (first, second)])
    assert known.predict(points).tolist() == ["a"] * 5 + ["b"] * 5


@pytest.mark.parametrize("cov", [LINE, SMALL.tolist()])
def test_error_of_two_classes_on_a_line_follows_their_distance(cov):
    # One standard deviation apart, so that the error is Phi(-1/2).
    step = np.sqrt(np.diag(cov))
    known = bayes(None, {"a": law([0, 0], cov), "b": law(step, cov)})
    np.testing.assert_allclose(known.error_rate, norm.cdf(-0.5), rtol=1e-12)
    np.testing.assert_allclose(known.bounds().iloc[-1]["chernoff"], 0.5 * np.exp(-1 / 8), rtol=1e-3)


def test_different_units_are_not_singular():
    cov = np.diag([1.0, 1e-12])
    known = bayes(None, {"a": law([0, 0], cov), "b": law([0, 1e-6], cov)})
    np.testing.assert_allclose(known.error_rate, norm.cdf(-0.5), rtol=1e-12)
    wider = bayes(None, {"a": law([0, 0], cov), "b": law([0, 0], cov * 4)})
    same = bayes(None, {"a": law([0, 0], np.eye(2)), "b": law([0, 0], 4 * np.eye(2))})
    np.testing.assert_allclose(wider.error_rate, same.error_rate, atol=1e-4)


def test_a_normal_without_a_variance_is_refused():
    with pytest.raises(DataError) as caught:
        bayes(None, {"a": law([0.0], [[0.0]]), "b": norm(0, 1)})
    assert "'a'" in str(caught.value)


def boom(x):
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("density", "said"),
    [
        (boom, "Class 'b': .*raised RuntimeError .*boom.*Correct the function"),
        (lambda x: np.full(len(x), np.nan), "Class 'b': The density is nan"),
        (lambda x: -norm.pdf(x), "Class 'b': The density is -"),
        (lambda x: np.ones((3, 3)), "Class 'b': .* returns one number for each"),
        (lambda x: [], "returns one number for each"),
        (lambda x: "a", "returns one number for each"),
        (lambda x: np.ones(len(x)) * 1j, "returns one number for each"),
        (lambda x: [object()] * len(x), "returns one number for each"),
    ],
)
def test_failing_density_names_its_class(density, said):
    with pytest.raises(DataError, match=f"(?s){said}"):
        bayes(None, {"a": norm(0, 1), "b": density})


def test_density_that_fails_later_names_its_class():
    known = bayes(None, {"a": norm(0, 1), "b": lambda x: norm.pdf(x) if len(x) > 5 else norm.pdf(x) * np.nan})
    with pytest.raises(DataError) as caught:
        known.predict([1.0, 2.0])
    assert "density" in str(caught.value)
