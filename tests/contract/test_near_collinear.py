"""Columns that are all but combinations of others: a warning names them, and there is none elsewhere."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from discrim import indicator, lda, logistic, qda
from discrim.core.covariance.covariance import near_dependencies
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.errors import CollinearWarning
from discrim.models.base.reading import class_moments


def nearly_equal_columns(gap: float) -> pd.DataFrame:
    rng = np.random.default_rng(21)
    y = np.repeat(["a", "b", "c"], 60)
    x = rng.normal(size=180) + np.repeat([0, 0.5, 1], 60)
    return pd.DataFrame({"y": y, "x": x, "w": rng.normal(size=180), "z": x + gap * rng.normal(size=180)})


@pytest.mark.parametrize("verb", [lda, qda, logistic, indicator])
def test_near_collinear_pair_is_named(verb):
    with pytest.warns(CollinearWarning) as said:
        verb("y ~ .", nearly_equal_columns(1e-9))
    text = str(said[0].message)
    assert "'z' is a linear combination of 'x' except for" in text
    assert "e-10 of its" in text or "e-09 of its" in text


@pytest.mark.parametrize("verb", [lda, qda, logistic, indicator])
def test_moderately_correlated_columns_do_not_warn(verb):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        verb("y ~ .", nearly_equal_columns(1e-4))


def test_unexplained_share_equals_one_minus_r_squared():
    """By least squares of the deviations from the class means, in 80 bits."""
    data = nearly_equal_columns(1e-8)
    with pytest.warns(CollinearWarning):
        fit = lda("y ~ .", data)
    (found,) = near_dependencies(class_moments(fit._fit.design_rows, "pooled"))
    centred = data[["x", "w", "z"]] - data.groupby("y")[["x", "w", "z"]].transform("mean")
    x, w, z = centred.to_numpy().T.astype(np.longdouble)
    gap = z - x
    gap -= x * (x @ gap) / (x @ x)
    across = w - x * (x @ w) / (x @ x)
    gap -= across * (across @ gap) / (across @ across)
    assert (found.column, found.predictors) == (2, (0,))
    assert found.residual_ratio == pytest.approx(float(np.sqrt((gap @ gap) / (z @ z))), rel=1e-6)


@pytest.mark.parametrize(
    ("formula", "load"),
    [
        ("species ~ .", load_iris),
        ("cultivar ~ .", load_wine),
        ("species ~ poly(petal_length, 5)", load_iris),
        ("species ~ bs(petal_length, df=8)", load_iris),
        ("species ~ (.)**2", load_iris),
        ("species ~ body_mass_g + I(body_mass_g**2) + island * sex", load_penguins),
    ],
)
def test_common_formulas_do_not_warn(formula, load):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        lda(formula, load().dropna())
    assert not [each for each in said if "collinear" in str(each.message)]


def test_bundled_table_with_highest_correlations_does_not_warn():
    data = load_breast_cancer()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lda("diagnosis ~ .", data)
