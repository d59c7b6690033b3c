"""Orthogonal polynomials far from zero and of skewed columns, against mpmath."""

from __future__ import annotations

import warnings

import mpmath
import numpy as np
import pandas as pd
import pytest

from discrim import lda
from discrim.errors import FormulaError, PrecisionWarning
from discrim.formula.transforms import apply, learn

RNG = np.random.default_rng(3)
NORMAL = RNG.normal(size=60)


def exact(x, degree):
    """Gram and Schmidt in 120 digits; signs as those of the leading coefficients."""
    with mpmath.workdps(120):
        values = [mpmath.mpf(float(v)) for v in x]
        middle = mpmath.fsum(values) / len(values)
        values = [v - middle for v in values]
        columns = [[1 / mpmath.sqrt(len(values))] * len(values)]
        for _ in range(degree):
            now = [v * last for v, last in zip(values, columns[-1], strict=True)]
            for held in columns:
                along = mpmath.fdot(held, now)
                now = [a - along * b for a, b in zip(now, held, strict=True)]
            length = mpmath.sqrt(mpmath.fdot(now, now))
            columns.append([a / length for a in now])
        return np.array([[float(a) for a in column] for column in columns[1:]]).T


def columns_of(x, degree):
    return apply(learn("poly", x, {"degree": degree}), x)


@pytest.mark.parametrize(
    ("x", "degree"),
    [
        (1e8 + NORMAL, 8),
        (1e12 + 100 * NORMAL, 5),
        (1e15 + np.arange(60.0) % 17, 8),
        (-1e300 * (1 + NORMAL / 100), 5),
        (np.arange(60) * 5e-324, 5),
        (np.exp(NORMAL), 6),
        (np.exp(3 * NORMAL), 3),
    ],
)
def test_poly_columns_without_warning_are_accurate(x, degree):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = columns_of(x, degree)
    np.testing.assert_allclose(found, exact(x, degree), atol=1e-9)


SKEWED = {
    "outlier": np.append(NORMAL, 1e6),
    "far outlier": np.append(NORMAL, 1e12),
    "wild outlier": np.append(NORMAL, 1e300),
    "lognormal": np.exp(6 * NORMAL),
    "many degrees": NORMAL,
}


@pytest.mark.parametrize("degree", [2, 3, 5, 12, 20, 40, 55])
@pytest.mark.parametrize("name", SKEWED)
def test_loss_of_orthogonality_warns_with_an_accurate_degree(name, degree):
    x = SKEWED[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = columns_of(x, degree)
        except FormulaError as error:
            found, said = None, str(error)
        else:
            said = str(told[0].message) if told else ""
    if found is not None:
        whole = np.column_stack([np.full(len(x), len(x) ** -0.5), found])
        lack = np.abs(whole.T @ whole - np.eye(degree + 1)).max()
        assert lack < (1e-3 if said else 1e-9)
    if said:
        least = int(said.split("degree up to ")[1].split(",")[0])
        assert least < degree
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            columns_of(x, least)


def test_options_above_limits_raise():
    data = pd.DataFrame({"x": RNG.normal(size=2000), "y": np.resize(["a", "b"], 2000)})
    with pytest.raises(FormulaError) as caught:
        lda("y ~ poly(x, 1000)", data)
    assert "1000" in str(caught.value)
    assert "inaccurate" in str(caught.value)
    data.loc[0, "x"] = 1e6
    with pytest.warns(PrecisionWarning):
        lda("y ~ poly(x, 3)", data)
