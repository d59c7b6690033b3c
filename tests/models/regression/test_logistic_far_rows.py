"""Logistic regression of rows of which one lies far from all others: what is said, and leave-one-out."""

from __future__ import annotations

import mpmath
import numpy as np
import pandas as pd
import pytest

from discrim import logistic
from discrim.core.hyperplanes.separation import scale_rows
from discrim.errors import DataError, SeparationError
from tests.turns import one_in

RNG = np.random.default_rng(0)


def table(n, k, far):
    labels = np.repeat(np.array(list("abc"))[:k], n // k)
    data = pd.DataFrame({"y": labels, "x": RNG.normal(size=n), "z": RNG.normal(size=n)})
    data["x"] += 0.3 * (data["y"] == "b")
    data.loc[0, "x"] = far
    return data


def maximum(data):
    """Newton's method in 60 digits, of two classes."""
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(1), mpmath.mpf(float(x))] for x in data["x"]]
        y = [int(label == "b") for label in data["y"]]
        beta = mpmath.matrix(2, 1)
        for _ in range(400):
            score, information = mpmath.matrix(2, 1), mpmath.matrix(2, 2)
            for row, own in zip(rows, y, strict=True):
                p = 1 / (1 + mpmath.exp(-(beta[0] + beta[1] * row[1])))
                for i in range(2):
                    score[i] += (own - p) * row[i]
                    for j in range(2):
                        information[i, j] += p * (1 - p) * row[i] * row[j]
            step = mpmath.lu_solve(information, score)
            longest = max(abs(step[0]), abs(step[1]))
            beta += step * min(1, 1 / longest)
            if longest < mpmath.mpf(10) ** -40:
                break
        return np.array([float(beta[0]), float(beta[1])])


@pytest.mark.parametrize("far", [1e4, 1e6, -1e7, 1e8])
def test_a_far_row_leaves_the_estimates_of_many_digits(far):
    data = table(40, 2, far)
    values = logistic("y ~ x", data).params["b"].to_numpy()
    np.testing.assert_allclose(values, maximum(data), rtol=1e-4)


@one_in(2, {"k": [2, 3], "far": [1e12, -1e12, 1e90]})
def test_no_separation_is_claimed_of_a_far_row(k, far):
    data = table(120, k, far)
    message = ""
    try:
        logistic("y ~ x + z", data)
    except DataError as error:
        message = str(error)
    assert not message or "far from the others" in message
    logistic("y ~ x + z", data.drop(index=0))


def test_a_separation_next_to_a_far_row_is_still_found():
    data = table(60, 2, 1e12)
    data["z"] = np.where(data["y"] == "a", -1.0, 1.0) * (1 + RNG.random(60))
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ x + z", data)
    assert "'z'" in str(caught.value)


@pytest.mark.parametrize("k", [2, 3])
def test_leave_one_out_next_to_a_far_row_agrees_with_refits(k):
    data = table(30, k, 1e6)
    fit = logistic("y ~ x + z", data)
    result = fit.leave_one_out()
    assert result.notna().all(axis=None)
    for i in (0, 5, 29):
        remaining = logistic("y ~ x + z", data.drop(index=i))
        want = remaining.predict_proba(data.loc[[i]]).to_numpy()[0]
        np.testing.assert_allclose(result.iloc[i, 1:].to_numpy(dtype=float), want, rtol=1e-6, atol=1e-9)


def test_rows_over_their_sizes_span_what_the_rows_and_a_constant_span():
    x = RNG.normal(size=(30, 3))
    x[0, 0] = 1e9
    even = scale_rows(x)
    assert even.columns.shape == (4, 30)
    np.testing.assert_allclose(even.columns @ even.columns.T / 30, np.eye(4), atol=1e-12)
    full = np.column_stack([np.ones(30), x]) / even.size[:, None]
    slopes, *_ = np.linalg.lstsq(even.columns.T, full, rcond=None)
    np.testing.assert_allclose(even.columns.T @ slopes, full, rtol=1e-6, atol=1e-9 * np.abs(full).max())
