"""Likelihood ratios of terms are those of fits without them, found in as few passes as the longest search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.regression import newton


def table(n: int, p: int, k: int) -> pd.DataFrame:
    rng = np.random.default_rng(n + k)
    x = rng.normal(size=(n, p))
    slopes = np.vstack([np.zeros(p), rng.normal(size=(k - 1, p))])
    y = (x @ slopes.T + rng.gumbel(size=(n, k))).argmax(axis=1)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(p)]).assign(y=y, w=rng.integers(1, 4, n))


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("options", [{}, {"weights": "w"}], ids=["plain", "weighted"])
def test_likelihood_ratios_match_refits_without_the_term(k: int, options: dict[str, Any]) -> None:
    data, names = table(300, 4, k), [f"x{j}" for j in range(4)]
    fit = discrim.logistic("y ~ " + " + ".join(names), data, **options)
    found = fit.lr_test(by="term")["statistic"]
    for name in names:
        rest = " + ".join(other for other in names if other != name)
        less = discrim.logistic(f"y ~ {rest}", data, **options)
        np.testing.assert_allclose(found[name], 2 * (fit.llf - less.llf), rtol=1e-10, atol=1e-10)


def test_likelihood_ratios_have_float64_precision() -> None:
    data = table(60, 2, 2)
    found = discrim.logistic("y ~ x0 + x1", data).lr_test(by="term")["statistic"]
    with mpmath.workdps(40):
        whole = largest_log_likelihood(data[["x0", "x1"]].to_numpy(), data["y"].to_numpy())
        for j in range(2):
            less = largest_log_likelihood(data[[f"x{1 - j}"]].to_numpy(), data["y"].to_numpy())
            np.testing.assert_allclose(found[f"x{j}"], float(2 * (whole - less)), rtol=1e-12)


def largest_log_likelihood(x: np.ndarray, y: np.ndarray) -> Any:
    """Return the maximum of the log-likelihood of two classes, by Newton's method in forty digits."""
    rows = [[mpmath.mpf(1), *map(mpmath.mpf, row)] for row in x.tolist()]
    b = mpmath.zeros(len(rows[0]), 1)
    for _ in range(12):
        p = [1 / (1 + mpmath.exp(-mpmath.fdot(row, list(b)))) for row in rows]
        score = mpmath.matrix(
            [
                mpmath.fsum(r[i] * (t - q) for r, t, q in zip(rows, y.tolist(), p, strict=True))
                for i in range(len(b))
            ]
        )
        information = mpmath.matrix(
            [
                [
                    mpmath.fsum(r[i] * r[j] * q * (1 - q) for r, q in zip(rows, p, strict=True))
                    for j in range(len(b))
                ]
                for i in range(len(b))
            ]
        )
        b += mpmath.lu_solve(information, score)
    odds = [mpmath.fdot(row, list(b)) for row in rows]
    return mpmath.fsum(o * t - mpmath.log(1 + mpmath.exp(o)) for o, t in zip(odds, y.tolist(), strict=True))


@pytest.mark.parametrize(("p", "k"), [(8, 2), (8, 3), (24, 4)])
def test_terms_are_tested_in_shared_passes(p: int, k: int) -> None:
    data, passes = table(800, p, k), []

    def source() -> Iterator[pd.DataFrame]:
        passes.append(1)
        yield data

    fit = discrim.logistic("y ~ . - w", source, levels=range(k))
    passes.clear()
    fit.lr_test(by="term")
    assert 0 < len(passes) <= 2 * p


@pytest.mark.parametrize(("p1", "q"), [(3, 1), (4, 2), (9, 4), (40, 3)])
def test_information_at_several_points_matches_each_point(p1: int, q: int) -> None:
    rng = np.random.default_rng(p1)
    z, (shares, own, held) = rng.normal(size=(p1, 30)), rng.random((3, 5, q, 30))
    held *= shares
    together = newton.Information(p1, q, 30, (5,))
    together.add(z, own, held, shares)
    for i, found in enumerate(together.as_matrix()):
        alone = newton.Information(p1, q, 30)
        alone.add(z, own[i], held[i], shares[i])
        np.testing.assert_allclose(found, alone.as_matrix(), rtol=1e-12, atol=1e-12)
