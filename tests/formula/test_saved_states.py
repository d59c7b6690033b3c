"""States of stateful calls: those of a fit are read back, others are refused before use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import BSpline

from discrim.data.table import Table
from discrim.design.matrix import DesignMatrix
from discrim.errors import FormulaError
from discrim.formula.transforms import apply, check_state
from tests.support import resolve_formula

BS = {"degree": 3, "include_intercept": False, "knots": [0.5], "lower_bound": 0.0, "upper_bound": 1.0}
CR = {"knots": [0.5], "lower_bound": 0.0, "upper_bound": 1.0, "centre": [0.3, 0.4, 0.3]}
POLY = {"middle": 0.0, "spread": 1.0, "centres": [0.0], "norms": [10.0, 3.0]}
SD = {"mean": [1.0], "sd": [2.0]}


def state(function, values):
    return check_state(function, list(values.items()))


def spread(n=60):
    x = np.sin(np.arange(n)) + np.linspace(0, 2, n)
    return pd.DataFrame({"y": np.tile(["a", "b"], n // 2), "x": x, "z": x**2})


@pytest.mark.parametrize("degree", [0, 1, 3, 5, 12, 19])
def test_splines_of_every_degree_are_those_of_scipy(degree):
    data = spread()
    width = degree + 4
    design, _ = resolve_formula(
        f"y ~ bs(x, degree={degree}, df={width}, include_intercept=True)", Table(data)
    )
    learnt = dict(design.spec.factors[0].states[0].values)
    ends = np.repeat([learnt["lower_bound"], learnt["upper_bound"]], degree + 1)
    knots = np.insert(ends, degree + 1, learnt["knots"])
    out = np.empty((len(data), len(design.terms)))
    DesignMatrix(design, Table(data)).fill(0, len(data), out)
    np.testing.assert_allclose(out, BSpline.design_matrix(data["x"], knots, degree).toarray(), atol=1e-15)


@pytest.mark.parametrize("degree", [20, 21, 25, 1000, -1])
def test_degrees_above_the_limit_of_splev_raise(degree):
    with pytest.raises(FormulaError, match=rf"bs\(degree=\) is a whole number from 0 to 19, not {degree}"):
        resolve_formula(f"y ~ bs(x, degree={degree}, df={abs(degree) + 1})", Table(spread()))


@pytest.mark.parametrize(
    "call",
    [
        "center(x)",
        "scale(x)",
        "standardize(x)",
        "poly(x, 3)",
        "poly(x, 2, raw=True)",
        "bs(x, df=6)",
        "bs(x, degree=0, df=3)",
        "bs(x, degree=19, df=20)",
        "cr(x, df=4)",
        "cr(x, df=4, constraints='center')",
    ],
)
def test_saved_states_are_read_back(call):
    design, _ = resolve_formula(f"y ~ {call}", Table(spread()))
    (learnt,) = design.spec.factors[0].states
    assert check_state(learnt.function, learnt.values) == learnt


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("bs", BS | {"degree": 20}),
        ("bs", BS | {"degree": -1}),
        ("bs", BS | {"degree": 3.0}),
        ("bs", BS | {"degree": True}),
        ("bs", BS | {"degree": [3]}),
        ("bs", BS | {"include_intercept": 5}),
        ("bs", BS | {"knots": 0.5}),
        ("bs", BS | {"knots": [2.0]}),
        ("bs", BS | {"knots": [0.6, 0.5]}),
        ("bs", BS | {"knots": [[0.5]]}),
        ("bs", BS | {"lower_bound": 2.0}),
        ("bs", BS | {"lower_bound": [0.0]}),
        ("bs", BS | {"upper_bound": float("inf")}),
        ("bs", BS | {"upper_bound": 10**400}),
        ("bs", {name: BS[name] for name in BS if name != "knots"}),
        ("cr", CR | {"knots": [0.0]}),
        ("cr", {name: value for name, value in CR.items() if name != "centre"} | {"knots": []}),
        ("cr", CR | {"knots": [0.5, 0.5]}),
        ("cr", CR | {"centre": [1.0]}),
        ("cr", CR | {"centre": [0.0, 0.0, 0.0]}),
        ("poly", POLY | {"spread": 0.0}),
        ("poly", POLY | {"spread": [1.0]}),
        ("poly", POLY | {"norms": [10.0]}),
        ("poly", POLY | {"norms": [10.0, -3.0]}),
        ("poly", POLY | {"centres": []}),
        ("poly", {"raw_degree": 0}),
        ("poly", {"raw_degree": 10**6}),
        ("poly", {"raw_degree": 2.5}),
        ("center", {"mean": 3.0}),
        ("center", {"mean": []}),
        ("standardize", SD | {"sd": [0.0]}),
        ("standardize", SD | {"sd": [1.0, 2.0]}),
        ("scale", SD | {"sd": [-1.0]}),
        ("exec", {"mean": [1.0]}),
    ],
)
def test_a_state_that_no_fit_learns_is_refused(function, values):
    with pytest.raises(FormulaError) as caught:
        state(function, values)
    assert "design" in str(caught.value)
    assert "model" in str(caught.value)


@pytest.mark.parametrize(("function", "values"), [("bs", BS), ("cr", CR), ("poly", POLY), ("scale", SD)])
def test_unmodified_states_are_valid(function, values):
    assert state(function, values).function == function


@pytest.mark.parametrize(
    ("function", "values", "long", "most"),
    [
        ("scale", SD, "sd", 2.0**80),
        ("center", {"mean": [1.0]}, "mean", 2.0**80),
        ("poly", POLY, "norms", 2.0**80),
        ("poly", POLY, "centres", 2.0**80),
        ("bs", BS | {"upper_bound": 2.0**90}, "knots", 2.0**80),
        ("cr", CR | {"upper_bound": 2.0**90}, "knots", 2.0**80),
        ("cr", CR, "centre", 2.0**80),
    ],
)
def test_an_integer_of_any_length_is_read_as_the_double_it_is(function, values, long, most):
    """Python's own 2^80 in an array is an object, which no function of NumPy takes for a number."""
    x = np.array([0.1, 0.4, 0.8])
    whole, double = (
        state(function, values | {long: [number] * len(values[long])}) for number in (int(most), most)
    )
    found = apply(whole, x)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, apply(double, x))


@pytest.mark.parametrize("value", [True, "3", None, 2**1024, float("nan"), -(10**400)])
def test_a_learnt_number_is_a_number_and_no_truth_value(value):
    with pytest.raises(FormulaError) as caught:
        state("center", {"mean": [value]})
    assert "model" in str(caught.value)
    assert "again" in str(caught.value)
