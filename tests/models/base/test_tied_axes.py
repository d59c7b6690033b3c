"""A warning of axes with equal eigenvalues, of which some are kept, and none where axes are determined."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import discrim
from discrim import fda, kernel_lda, lda, plda, qda, rda
from discrim.covariance import FactorAnalytic
from discrim.errors import TiedAxesWarning
from discrim.subspace import MultipleCorrespondence

RENAMED = str.maketrans("pqrstuvklm", "sptrqvumkl")


def categories(seed: int = 0, rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    levels = {"y": "abc", "c": "pqrst", "d": "uv", "e": "klm"}
    drawn = {name: np.array(list(some))[rng.integers(0, len(some), rows)] for name, some in levels.items()}
    return pd.DataFrame(drawn).assign(x=rng.standard_normal(rows))


def square(stretch: float = 1.0) -> pd.DataFrame:
    """Rows in the corners of two squares, whose columns have one variance and are uncorrelated."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    x = np.concatenate([corners, 2 * corners])
    return pd.DataFrame({"u": stretch * x[:, 0], "v": x[:, 1], "y": list("abbabbaa")})


def triangle(stretch: float = 1.0) -> pd.DataFrame:
    """Three classes whose means are equally far apart, each of three rows that are so."""
    angles = np.arange(3) * 2 * np.pi / 3
    corners = np.column_stack([np.cos(angles), np.sin(angles)])
    x = np.concatenate([4 * mean * [1.0, stretch] + corners for mean in corners])
    return pd.DataFrame(x, columns=["u", "v"]).assign(y=np.repeat(list("abc"), 3))


def octahedra(stretch: float = 1.0) -> pd.DataFrame:
    """Two classes of rows along the axes of three columns, on both sides of the mean."""
    x = np.concatenate([np.eye(3), -np.eye(3)]) * [stretch**2, stretch, 1.0]
    chunks = [pd.DataFrame(size * x, columns=list("uvw")).assign(y=k) for size, k in ((1.0, "a"), (3.0, "b"))]
    return pd.concat(chunks, ignore_index=True)


def tied_warnings(call: Callable[[], Any]) -> int:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return sum(issubclass(each.category, TiedAxesWarning) for each in found)


@pytest.mark.parametrize(
    ("formula", "determined"),
    [
        # One factor of J levels has J - 1 eigenvalues of one; two have |J - K| of 1/2.
        ("y ~ c", [4]),
        ("y ~ d + e", [1, 2, 3]),
        ("y ~ c + d", [1, 4, 5]),
        ("y ~ c + e", [1, 2, 4, 5, 6]),
        ("y ~ c + x", [1, 4, 5]),
    ],
)
def test_correspondence_warns_if_the_rule_depends_on_the_names_of_levels(formula, determined):
    table = categories()
    renamed = table.assign(**{name: table[name].str.translate(RENAMED) for name in "cde"})
    for count in range(1, determined[-1] + 1):
        posteriors = []
        for rows in (table, renamed):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                fit = lda(formula, rows, components=MultipleCorrespondence(count))
            posteriors.append(fit.predict_proba().to_numpy())
            assert [each.category for each in found] == [TiedAxesWarning] * (count not in determined)
        difference = np.abs(posteriors[0] - posteriors[1]).max()
        assert (difference < 1e-10) == (count in determined)


@pytest.mark.parametrize(
    ("table", "verb", "options"),
    [
        (square, lda, {"components": 1}),
        (square, lda, {"components": 0.5}),
        (square, qda, {"components": 1}),
        (square, rda, {"components": 1, "alpha": 0.5, "gamma": 0.5}),
        (triangle, lda, {"ncomp": 1}),
        (triangle, plda, {"components": 1}),
        (triangle, fda, {"ncomp": 1, "engine": LinearRegression()}),
        (
            triangle,
            kernel_lda,
            {"ncomp": 1, "kernel": "gaussian", "width": 2.0, "ridge": 0.1, "scale": "none"},
        ),
        (octahedra, qda, {"covariance": FactorAnalytic(2)}),
        (octahedra, qda, {"covariance": FactorAnalytic(2, form="abQd")}),
    ],
)
def test_verbs_warn_of_ties_and_not_of_close_eigenvalues(table, verb, options):
    def fitted(stretch: float) -> Callable[[], Any]:
        return lambda: verb("y ~ .", table(stretch), **options)

    assert tied_warnings(fitted(1.0)) >= 1
    # The columns differ by so little, but clearly more than rounding.
    assert tied_warnings(fitted(1.0 + 1e-5)) == 0


def test_small_eigenvalues_that_differ_are_not_tied():
    table = categories().assign(u=lambda t: t["x"] * 1e6)
    rng = np.random.default_rng(3)
    table["v"], table["w"] = 1e-4 * rng.standard_normal((2, len(table)))
    assert tied_warnings(lambda: lda("y ~ u + v + w", table, components=2)) == 0


def test_refits_of_a_fit_do_not_repeat_the_warning():
    table = categories()
    with pytest.warns(TiedAxesWarning):
        fit = lda("y ~ c", table, components=MultipleCorrespondence(2))
    assert tied_warnings(lambda: fit.error_rates(methods=["loo", "cv", "632+"])) == 0
    assert tied_warnings(lambda: discrim.cross_validate(fit, 5)) == 0
    assert tied_warnings(lambda: fit.update(components=4)) == 0
