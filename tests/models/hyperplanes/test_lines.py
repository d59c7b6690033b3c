"""The perceptron, the separating hyperplane, and the geometry of lines: brute force, programs, identities."""

from __future__ import annotations

import itertools
import re
import time
import warnings

import matplotlib.pyplot as plt
import mpmath
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matplotlib.contour import QuadContourSet
from scipy.optimize import nnls

import discrim
from discrim import compare, hyperplane, lda, logistic, perceptron, qda
from discrim.core.hyperplanes.perceptron import run_perceptron as one_perceptron
from discrim.datasets import load_iris
from discrim.errors import (
    CollinearError,
    ConvergenceWarning,
    DataError,
    DiscrimError,
    DiscrimWarning,
    DroppedColumnsWarning,
    MissingPredictionWarning,
    NoSeparationWarning,
    NotSupportedError,
    SeparationError,
)
from discrim.sklearn import PerceptronClassifier
from tests.turns import one_in

SEEDS = st.integers(0, 2**32 - 1)
IRIS = load_iris()
SETOSA = IRIS.assign(setosa=IRIS["species"] == "setosa").drop(columns="species")
IRIS_CLASSES = ["setosa", "versicolor", "virginica"]
PAIR = IRIS[IRIS["species"] != "setosa"].astype({"species": str})


def frame(x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """Columns x0, x1, ... and the response y."""
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]).assign(y=y)


def halves(n: int, p: int, gap: float, seed: int = 0) -> pd.DataFrame:
    """Normal rows at least a gap away from a plane, y on which side."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(n, p)), rng.normal(size=p)
    w /= np.linalg.norm(w)
    above = x @ w > 0
    return frame(x + gap * np.outer(np.where(above, 1, -1), w), above)


def arrays(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Rows x, and y = 1 or -1."""
    return data.drop(columns="y").to_numpy(dtype=float), np.where(data["y"], 1.0, -1.0)


# ------------------------------------------------------------------ the optimal plane


def least_distance(constraints: np.ndarray, smallest: np.ndarray) -> np.ndarray | None:
    """The shortest b with constraints @ b >= least, by non-negative least squares; None if there is none."""
    stacked = np.vstack([constraints.T, smallest])
    unit = np.append(np.zeros(constraints.shape[1]), 1.0)
    dual, remaining = nnls(stacked, unit, maxiter=1000 * len(smallest))
    if remaining < 1e-9:
        return None
    left = stacked @ dual - unit
    return -left[:-1] / left[-1]


def by_pairs(x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """coef by least-distance programming over all pairs of rows: (x_i - x_j)'b >= 2."""
    pairs = (x[y > 0][:, None, :] - x[y < 0][None, :, :]).reshape(-1, x.shape[1])
    return least_distance(pairs, np.full(len(pairs), 2.0))


def margin_by_enumeration(x: np.ndarray, y: np.ndarray) -> float:
    """Largest margin of a line in the plane: it halves the way between two rows, or is parallel to two."""
    up, down = x[y > 0], x[y < 0]
    normals = [a - b for a in up for b in down]
    for side in (up, down):
        normals += [np.array([b[1] - a[1], a[0] - b[0]]) for a, b in itertools.combinations(side, 2)]
    best = 0.0
    for n in normals:
        if n.any():
            for w in (n / np.linalg.norm(n), -n / np.linalg.norm(n)):
                best = max(best, ((up @ w).min() - (down @ w).max()) / 2)
    return best


def conditions_hold(fit: discrim.HyperplaneResults, data: pd.DataFrame, within: float = 1e-10) -> None:
    """Karush, Kuhn and Tucker's, about the mean of the rows, from what the fit shows."""
    x, y = arrays(data)
    coef, multipliers = fit.coef.to_numpy(), fit.multipliers.to_numpy()
    values = y * (x @ coef + fit.intercept)
    rows = data.index.get_indexer(fit.support)
    assert (multipliers > 0).all()
    assert values.min() >= 1 - within
    np.testing.assert_allclose(values[rows], 1, atol=within)
    assert abs(y[rows] @ multipliers) <= within * multipliers.sum()
    centred = x - x.mean(axis=0)
    gap = coef - (y[rows] * multipliers) @ centred[rows]
    assert np.linalg.norm(gap) <= within * np.linalg.norm(coef)
    assert fit.margin == pytest.approx(1 / np.linalg.norm(coef), rel=1e-14)
    # Strong duality: |b|^2 is the sum of the multipliers.
    assert multipliers.sum() == pytest.approx(coef @ coef, rel=1e-9)
    assert fit.kkt <= within


@given(SEEDS)
@settings(max_examples=30)
def test_the_optimal_plane_agrees_with_least_distance_programming(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 12)), int(rng.integers(1, 4))
    x = rng.normal(size=(n, p)) if rng.random() < 0.5 else rng.integers(-3, 4, size=(n, p)).astype(float)
    assume((np.ptp(x, axis=0) > 0).all())
    sure = x @ rng.normal(size=p)
    y = np.where(sure > np.median(sure), 1.0, -1.0) if rng.random() < 0.8 else rng.choice([-1.0, 1.0], n)
    assume(len(set(y)) == 2)
    data = frame(x, y > 0)
    coef = by_pairs(x, y)
    if coef is None:
        with pytest.raises(SeparationError):
            hyperplane("y ~ .", data)
        return
    fit = hyperplane("y ~ .", data)
    np.testing.assert_allclose(fit.coef, coef, rtol=1e-6, atol=1e-6 * np.abs(coef).max())
    conditions_hold(fit, data)
    if p == 2:
        assert fit.margin == pytest.approx(margin_by_enumeration(x, y), rel=1e-9)


def test_two_points_and_a_point_next_to_a_segment():
    two = pd.DataFrame({"u": [0.0, 3.0], "v": [0.0, 4.0], "y": ["a", "b"]}, index=["r", "s"])
    fit = hyperplane("y ~ .", two)
    np.testing.assert_allclose(fit.coef, [0.24, 0.32], rtol=1e-15)
    assert (fit.intercept, fit.margin) == (pytest.approx(-1.0), pytest.approx(2.5))
    assert fit.support.tolist() == ["r", "s"]
    np.testing.assert_allclose(fit.multipliers, 0.08)
    # The point (1, 2) is nearest to the inside of the segment from (0, 0) to (4, 0).
    three = pd.DataFrame({"u": [0.0, 4.0, 1.0, 9.0], "v": [0.0, 0.0, 2.0, 5.0], "y": [0, 0, 1, 1]})
    fit = hyperplane("y ~ u + v", three)
    np.testing.assert_allclose(fit.coef, [0.0, 1.0], atol=1e-15)
    assert (fit.intercept, fit.margin) == (pytest.approx(-1.0), pytest.approx(1.0))
    np.testing.assert_allclose(fit.multipliers, [0.375, 0.125, 0.5])
    assert fit.support.tolist() == [0, 1, 2]


def test_the_optimal_line_of_iris_by_enumeration():
    x, y = SETOSA[["petal_length", "petal_width"]].to_numpy(), np.where(SETOSA["setosa"], 1.0, -1.0)
    near = np.argsort(np.abs(x[:, 0] - 2.4))[:60]
    assert len(set(y[near])) == 2
    fit = hyperplane("setosa ~ petal_length + petal_width", SETOSA)
    assert fit.margin == pytest.approx(margin_by_enumeration(x[near], y[near]), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e-8, 1e-3, 1e3, 1e8, 1e150])
def test_units_scale_the_margin_and_offsets_move_the_intercept_only(unit):
    data = halves(60, 3, 0.2)
    plain = hyperplane("y ~ .", data)
    columns = ["x0", "x1", "x2"]
    scaled = hyperplane("y ~ .", data.assign(**{c: data[c] * unit for c in columns}))
    assert scaled.margin == pytest.approx(unit * plain.margin, rel=1e-12)
    np.testing.assert_allclose(scaled.coef * unit, plain.coef, rtol=1e-10)
    assert scaled.support.equals(plain.support)
    np.testing.assert_allclose(scaled.multipliers * unit**2, plain.multipliers, rtol=1e-9)
    # Numbers that 1e8 can be added to without rounding.
    coarse = data.assign(**{c: np.round(data[c] * 2**20) / 2**20 for c in columns})
    here, far = hyperplane("y ~ .", coarse), hyperplane("y ~ .", coarse.assign(x0=coarse["x0"] + 1e8))
    assert far.margin == pytest.approx(here.margin, rel=1e-7)
    shifted = coarse.assign(**{c: coarse[c] + 2.0**20 for c in columns})
    moved = hyperplane("y ~ .", shifted)
    np.testing.assert_allclose(moved.coef, here.coef, rtol=1e-9)
    assert moved.intercept == pytest.approx(here.intercept - 2.0**20 * here.coef.sum(), rel=1e-9)
    assert moved.kkt < 1e-10


def test_offsets_of_1e8_cost_the_distances_no_digit():
    data = halves(60, 3, 0.2, seed=5)
    columns = ["x0", "x1", "x2"]
    data[columns] = np.round(data[columns] * 2**24) / 2**24
    far = data.assign(**{c: data[c] + 1e8 for c in columns})
    np.testing.assert_array_equal(far[columns] - 1e8, data[columns])
    here, mask = hyperplane("y ~ .", data), hyperplane("y ~ .", far)
    np.testing.assert_allclose(mask.coef, here.coef, rtol=1e-6)
    np.testing.assert_allclose(mask.boundary().distance(), here.boundary().distance(), rtol=1e-6)
    assert mask.kkt < 1e-10


def test_rows_behind_the_margin_and_copies_of_rows_change_nothing():
    data = halves(80, 2, 0.2, seed=3)
    fit = hyperplane("y ~ .", data)
    behind = data.index.difference(fit.support)
    normal = (fit.coef / np.linalg.norm(fit.coef)).to_numpy()
    outward = data.copy()
    step = np.where(data.loc[behind, "y"], 1.0, -1.0)[:, None] * normal
    outward.loc[behind, ["x0", "x1"]] += 10 * step
    for other in (outward, pd.concat([data, data], ignore_index=True), data.loc[fit.support]):
        again = hyperplane("y ~ .", other)
        np.testing.assert_allclose(again.coef, fit.coef, rtol=1e-11)
        assert again.margin == pytest.approx(fit.margin, rel=1e-12)
        assert again.intercept == pytest.approx(fit.intercept, abs=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_more_columns_than_rows_and_columns_that_repeat_others(seed):
    rng = np.random.default_rng(seed)
    wide = frame(rng.normal(size=(12, 40)), np.arange(12) % 2 == 0)
    conditions_hold(hyperplane("y ~ .", wide), wide)
    data = halves(30, 2, 0.1, seed)
    single, twice = hyperplane("y ~ .", data), hyperplane("y ~ .", data.assign(x2=data["x0"]))
    np.testing.assert_allclose(twice.coef["x0"], twice.coef["x2"], rtol=1e-10)
    assert twice.margin > single.margin
    line = data.assign(x1=2 * data["x0"] + 1, y=data["x0"] > data["x0"].median())
    conditions_hold(hyperplane("y ~ .", line), line)


def test_a_hundred_thousand_rows_take_seconds():
    data = halves(100_000, 8, 0.05)
    start = time.perf_counter()
    fit = hyperplane("y ~ .", data)
    assert time.perf_counter() - start < 20
    conditions_hold(fit, data)


XOR = pd.DataFrame(
    {"u": [0.0, 1, 0, 1], "v": [0.0, 1, 1, 0], "y": ["a", "a", "b", "b"]}, index=["p", "q", "r", "s"]
)


def test_inseparable_classes_name_rows_with_a_common_point():
    with pytest.raises(SeparationError) as raised:
        hyperplane("y ~ u + v", XOR)
    assert "'p'" in str(raised.value)
    assert "'q'" in str(raised.value)
    assert raised.value.certificate.kind == "overlap"
    shared = pd.DataFrame({"u": [0.0, 1, 1, 2], "v": [0.0, 2, 2, 1], "y": list("aabb")}, index=list("efgh"))
    with pytest.raises(SeparationError) as raised:
        hyperplane("y ~ u + v", shared)
    assert "'f'" in str(raised.value)
    assert "'a'" in str(raised.value)
    assert raised.value.certificate.kind == "quasi"
    # The end of b's segment lies inside a's.
    beside = pd.DataFrame({"u": [0.0, 2, 1, 1], "v": [0.0, 0, 0, 3], "y": list("aabb")})
    with pytest.raises(SeparationError) as caught:
        hyperplane("y ~ u + v", beside)
    assert "'a'" in str(caught.value)
    assert "'b'" in str(caught.value)


@pytest.mark.parametrize("seed", range(8))
def test_rows_named_in_a_refusal_have_a_mixture_in_common(seed):
    rng = np.random.default_rng(seed)
    data = frame(rng.normal(size=(40, 3)), rng.random(40) < 0.5)
    with pytest.raises(SeparationError) as raised:
        hyperplane("y ~ .", data)
    x, y = arrays(data)
    result = discrim.core.hyperplanes.hyperplane.optimal_plane(x - x.mean(axis=0), y > 0)
    rows, weights, side = result.rows, result.weights, y[result.rows]
    assert weights.min() > 0
    assert weights[side > 0].sum() == pytest.approx(1)
    assert weights[side < 0].sum() == pytest.approx(1)
    assert all(f"{row}" in str(raised.value) for row in rows)
    # The rows alone: non-negative weights of sum one a class, of equal mixtures, found anew.
    system = np.vstack([(side * x[rows].T), side > 0, side < 0]).astype(float)
    _, remaining = nnls(system, np.array([0, 0, 0, 1.0, 1.0]))
    assert remaining < 1e-9


def test_missing_rows_are_counted_and_the_support_keeps_its_labels():
    data = halves(40, 2, 0.2)
    fit = hyperplane("y ~ .", data)
    holes = pd.concat([pd.DataFrame({"x0": [np.nan], "x1": [0.0], "y": [True]}), data], ignore_index=True)
    holes = pd.concat([holes, pd.DataFrame({"x0": [1.0], "x1": [np.nan], "y": [False]})], ignore_index=True)
    holes.index = [f"row {i}" for i in range(len(holes))]
    with_holes = hyperplane("y ~ .", holes)
    assert with_holes.nobs == 40
    assert with_holes.support.tolist() == [f"row {i + 1}" for i in fit.support]
    np.testing.assert_array_equal(with_holes.coef, fit.coef)
    assert with_holes.boundary().distance().isna().to_numpy().nonzero()[0].tolist() == [0, 41]
    assert re.search(r"Dropped, missing values +2\b", with_holes.summary().as_text())
    with pytest.raises(DataError) as caught:
        hyperplane("y ~ .", holes, na_action="raise")
    assert caught.value.columns == ("x0",)
    assert caught.value.rows == ("row 0",)


def test_invalid_hyperplanes_are_refused():
    with pytest.raises(DataError) as caught:
        hyperplane("species ~ .", IRIS)
    assert "'species'" in str(caught.value)
    assert "'setosa'" in str(caught.value)
    with pytest.raises(CollinearError) as caught:
        hyperplane("y ~ k", XOR.assign(k=0.1))
    assert "'k'" in str(caught.value)
    with pytest.raises(DiscrimError) as caught:
        hyperplane("y ~ u", XOR[XOR["y"] == "a"])
    assert caught.value.classes == ("a",)


def test_one_row_a_class_has_a_plane_and_a_summary():
    data = pd.DataFrame({"x": [0.0, 1.0], "y": ["a", "b"]})
    fit = hyperplane("y ~ x", data)
    assert (fit.margin, fit.intercept, fit.coef["x"]) == (0.5, -1.0, 2.0)
    # Without either row the other class is the only one, and is predicted.
    assert fit.error_rates(["loo"])["estimate"].item() == 1
    assert "100.0 %" in fit.summary().as_text()


@pytest.mark.parametrize("seed", range(2))
def test_leaving_a_row_out_is_a_fit_without_it(seed):
    data = halves(14, 2, 0.05, seed)
    fit = hyperplane("y ~ .", data)
    left_out = fit.leave_one_out()
    for row in data.index:
        without = hyperplane("y ~ .", data.drop(index=row))
        expected = without.decision_function(data.loc[[row]]).iloc[0]
        assert left_out.loc[row].iloc[2] == pytest.approx(expected, rel=1e-9)
        assert left_out.loc[row, "label"] == without.predict(data.loc[[row]]).iloc[0]


def test_a_summary_refits_without_support_points_only():
    start = time.perf_counter()
    hyperplane("y ~ .", halves(1900, 5, 0.05)).summary().as_text()
    assert time.perf_counter() - start < 3
    assert hyperplane("y ~ .", halves(5000, 5, 0.05)).error_rates(["loo"])["total"].iloc[0] == 5000


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_plane_that_units_hide_is_not_called_a_common_point():
    data = pd.DataFrame({"big": [0.0, 1e8, 2e8] * 2, "small": [0.0] * 3 + [1e-8] * 3, "y": list("aaabbb")})
    with pytest.raises(SeparationError) as caught:
        hyperplane("y ~ big + small", data)
    assert "'a'" in str(caught.value)
    assert "'big'" in str(caught.value)
    fit = hyperplane("y ~ standardize(big) + standardize(small)", data)
    np.testing.assert_allclose(fit.coef, [0.0, 1.0], atol=1e-12)


# ------------------------------------------------------------------ the perceptron


def textbook(x: np.ndarray, y: np.ndarray, passes: int) -> tuple[np.ndarray, list[int]]:
    """Rosenblatt's rule, row by row: coefficients, intercept first, and moves by pass."""
    b, moves = np.zeros(x.shape[1] + 1), []
    while len(moves) < passes and (not moves or moves[-1]):
        moves.append(0)
        for row, side in zip(x, y, strict=True):
            z = np.append(1.0, row)
            if side * (z @ b) <= 0:
                b, moves[-1] = b + side * z, moves[-1] + 1
    return b, moves


def coefficients(fit: discrim.PerceptronResults, plane: object = None) -> np.ndarray:
    """Of a plane, the intercept first."""
    plane = fit.planes.index[0] if plane is None else plane
    return np.append(fit.intercept[plane], fit.coef[plane])


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_the_perceptron_equals_the_textbook_algorithm(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 60)), int(rng.integers(1, 4))
    x = rng.integers(-4, 5, size=(n, p)).astype(float)
    assume((np.ptp(x, axis=0) > 0).all())
    sure = x @ rng.integers(-3, 4, size=p)
    above = sure > np.median(sure)
    assume(above.any() and not above.all())
    data = frame(x, above)
    fit = perceptron("y ~ .", data, maxiter=5000)
    b, moves = textbook(*arrays(data), 5000)
    np.testing.assert_array_equal(coefficients(fit), b)
    assert fit.history["updates"].tolist() == moves
    assert fit.updates == fit.history["updates"].sum() == fit.planes["updates"].iloc[0] == sum(moves)
    assert fit.converged
    assert fit.separable
    assert fit.history["errors"].iloc[-1] == fit.planes["errors"].iloc[0] == 0
    assert (fit.predict() == data["y"]).all()
    # Novikoff's bound, its margin by least-distance programming through the origin of z = (1, x).
    signed = np.where(above, 1, -1)[:, None] * np.column_stack([np.ones(n), x])
    shortest = least_distance(signed, np.ones(n))
    bound = (signed**2).sum(axis=1).max() * (shortest @ shortest)
    assert fit.planes["bound"].iloc[0] == pytest.approx(bound, rel=1e-6)
    assert fit.updates <= bound


@pytest.mark.parametrize("step", [1e-300, 0.3, 1e200])
def test_the_step_scales_coefficients_and_nothing_else(step):
    rng = np.random.default_rng(1)
    x = rng.integers(-5, 6, size=(60, 3)) / 10
    data = frame(x, x @ [1.0, -2.0, 1.0] > 0)
    one, other = perceptron("y ~ .", data), perceptron("y ~ .", data, step=step)
    np.testing.assert_allclose(coefficients(other), step * coefficients(one), rtol=1e-15)
    pd.testing.assert_frame_equal(one.history.drop(columns="loss"), other.history.drop(columns="loss"))
    np.testing.assert_allclose(other.history["loss"], step * one.history["loss"], rtol=1e-12)
    assert other.glance()["step"].iloc[0] == step


def test_a_seed_repeats_and_another_finds_another_line():
    data = halves(80, 2, 0.05, seed=2)
    lines = [coefficients(perceptron("y ~ .", data, seed=seed)) for seed in (1, 1, 2, 3)]
    np.testing.assert_array_equal(lines[0], lines[1])
    assert len({tuple(line) for line in lines}) == 3
    assert perceptron("y ~ .", data, seed=3).converged


def test_the_pocket_algorithm_handles_inseparable_classes():
    with pytest.warns(NoSeparationWarning, match=r"'versicolor'.*'virginica'") as message:
        fit = perceptron("species ~ .", PAIR)
    assert len(message) == 1
    assert "100 passes" in str(message[0].message)
    assert not fit.separable
    assert not fit.converged
    assert fit.planes["bound"].isna().all()
    assert len(fit.history) == 100
    x, y = PAIR.iloc[:, :4].to_numpy(), np.where(PAIR["species"] == "virginica", 1, -1)
    wrong = int((y * (np.column_stack([np.ones(100), x]) @ coefficients(fit)) <= 0).sum())
    assert wrong == fit.planes["errors"].iloc[0] <= fit.history["errors"].min()
    assert wrong < 50
    confusion = fit.confusion().to_numpy()
    assert confusion.sum() - np.trace(confusion) == wrong
    # Errors at the end of the last pass, by the textbook's coefficients.
    b, moves = textbook(x, y, 7)
    with pytest.warns(NoSeparationWarning):
        short = perceptron("species ~ .", PAIR, maxiter=7)
    assert short.history["updates"].tolist() == moves
    at_end = (y * (np.column_stack([np.ones(100), x]) @ b) <= 0).sum()
    assert short.history["errors"].iloc[-1] == at_end


def on_the_way(
    x: np.ndarray, y: np.ndarray, passes: int, begin: np.ndarray | None = None, step: float = 1.0
) -> tuple[np.ndarray, list[np.ndarray], list[float]]:
    """Rosenblatt's rule in whole numbers or fractions: the last plane, all on the way, losses by pass."""
    z = np.column_stack([np.ones(len(x)), x])
    b, every, losses = np.zeros(z.shape[1]) if begin is None else begin.astype(float), [], []
    for _ in range(passes):
        before = len(every)
        for row, side in zip(z, y, strict=True):
            if side * (row @ b) <= 0:
                every.append(b)
                b = b + step * side * row
        losses.append(float(np.maximum(-y * (z @ b), 0).sum()))
        if len(every) == before:
            break
    return b, [*every, b], losses


def wrong_rows(plane: np.ndarray, x: np.ndarray, y: np.ndarray) -> int:
    """A row on the plane is of the first class."""
    return int((np.where(plane[0] + x @ plane[1:] > 0, 1, -1) != y).sum())


@pytest.mark.parametrize("seed", range(6))
def test_the_pocket_keeps_the_plane_of_fewest_errors_on_the_way(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(10, 90)), int(rng.integers(1, 4))
    x = rng.integers(-6, 7, size=(n, p)).astype(float)
    above = x @ np.ones(p) + rng.normal(0, 4, n) > 0
    order = np.argsort(above, kind="stable") if seed % 2 else np.arange(n)
    data = frame(x[order], above[order])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = perceptron("y ~ .", data, maxiter=15)
    if fit.separable:
        assert fit.planes["errors"].iloc[0] == 0
        return
    x, y = arrays(data)
    _, every, _ = on_the_way(x, y, 15)
    fewest = min(wrong_rows(plane, x, y) for plane in every if plane.any())
    assert fit.planes["errors"].iloc[0] == fewest == wrong_rows(coefficients(fit), x, y)


def test_the_ratchet_of_many_rows_passes_no_better_plane_of_a_longer_run():
    """Gallant's rule by hand, of a table too long for every plane to be counted."""
    rng = np.random.default_rng(5)
    n, passes = 1300, 3
    x = rng.integers(-9, 10, size=(n, 2)).astype(float)
    data = frame(x, x.sum(axis=1) + rng.normal(0, 7, n) > 0)
    with pytest.warns(NoSeparationWarning):
        fit = perceptron("y ~ .", data, maxiter=passes)
    x, y = arrays(data)
    z, b = np.column_stack([np.ones(n), x]), np.zeros(3)
    fewest, longest, run = n, 0, 0
    for _ in range(passes):
        for row, side in zip(z, y, strict=True):
            if side * (row @ b) > 0:
                run += 1
                continue
            if b.any() and (run > longest or fewest == n) and wrong_rows(b, x, y) < fewest:
                fewest, longest = wrong_rows(b, x, y), run
            b, run = b + side * row, 0
        if wrong_rows(b, x, y) < fewest:
            fewest, longest = wrong_rows(b, x, y), run
    assert fit.planes["errors"].iloc[0] == fewest == wrong_rows(coefficients(fit), x, y)
    assert "among those that were counted" in " ".join(fit.summary().as_text().split())


@pytest.mark.parametrize("step", [1.0, 0.25])
@pytest.mark.parametrize("apart", [True, False])
def test_start_is_the_first_plane_of_the_textbook_algorithm(step, apart):
    rng = np.random.default_rng(8)
    x = rng.integers(-6, 7, size=(50, 2)).astype(float)
    data = frame(x, x @ [1.0, -2.0] + (0 if apart else rng.normal(0, 4, 50)) > 0)
    begin = np.array([5.0, -2.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = perceptron("y ~ .", data, start=begin, step=step, maxiter=400 if apart else 8)
    x, y = arrays(data)
    last, every, losses = on_the_way(x, y, 400 if apart else 8, begin, step)
    assert fit.separable == fit.converged == apart
    assert fit.updates == len(every) - 1
    np.testing.assert_allclose(fit.history["loss"], losses, rtol=1e-12)
    if apart:
        np.testing.assert_array_equal(coefficients(fit), last)
        assert fit.updates <= fit.planes["bound"].iloc[0]
    else:
        assert fit.planes["errors"].iloc[0] == min(wrong_rows(plane, x, y) for plane in every)
    np.testing.assert_array_equal(fit.start.iloc[:, 0], begin)


def test_irises_from_a_start_that_a_course_dwells_on():
    """In tenths of a centimetre all sums are whole; two flowers differ in the file that many texts read."""
    two = IRIS[IRIS["species"] != "virginica"]
    other = two.copy()
    other.loc[37, ["sepal_width", "petal_length"]] = [3.1, 1.5]
    for table, moves in ((two, 384), (other, 382)):
        fit = perceptron("species ~ petal_length + sepal_width", table, start=(5, -2, 1), step=0.01)
        z = np.column_stack([np.full(100, 10), np.rint(10 * table[["petal_length", "sepal_width"]])]).astype(
            int
        )
        y, b, counted, still = np.repeat([-1, 1], 50), np.array([5000, -2000, 1000]), 0, 0
        for i in (i % 100 for i in range(10**6)):
            wrong = y[i] * int(z[i] @ b) <= 0
            b, counted, still = (b + y[i] * z[i], counted + 1, 0) if wrong else (b, counted, still + 1)
            if still == 100:
                break
        assert fit.updates == counted == moves
        np.testing.assert_allclose(1000 * coefficients(fit), b, rtol=1e-9)


def test_the_bound_on_updates_is_novikoffs():
    data = SETOSA[["petal_length", "petal_width", "setosa"]]
    plain = perceptron("setosa ~ .", data).planes["bound"].iloc[0]
    begin, step = np.array([3.0, 4.0, 12.0]), 0.5
    z = np.column_stack([np.ones(len(data)), data.iloc[:, :2]])
    longest = np.linalg.norm(z, axis=1).max()
    margin = longest / np.sqrt(plain)
    far = perceptron("setosa ~ .", data, start=begin, step=step)
    assert far.planes["bound"].iloc[0] == pytest.approx(plain + 2 * 13 / (step * margin), rel=1e-9)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_a_start_goes_by_name_or_in_order_and_comes_back(tmp_path):
    named = {"petal_length": 2.0, "constant": -5.0, "sepal_width": 0.5}
    formula = "species ~ sepal_width + petal_length"
    fits = [
        perceptron(formula, PAIR, start=start, maxiter=5)
        for start in (named, pd.Series(named), [-5, 0.5, 2], np.array([-5, 0.5, 2]))
    ]
    for fit in fits:
        pd.testing.assert_frame_equal(fit.coef, fits[0].coef)
    three = pd.DataFrame(
        np.arange(9.0).reshape(3, 3), ["constant", "sepal_width", "petal_length"], IRIS_CLASSES
    )
    several = [
        perceptron(formula, IRIS, start=start, maxiter=5, seed=2)
        for start in (
            three,
            three.iloc[:, ::-1],
            three.to_dict(),
            three.to_numpy().T,
            three.T.to_numpy().tolist(),
        )
    ]
    for fit in several:
        pd.testing.assert_frame_equal(fit.start, three, check_names=False)
        pd.testing.assert_frame_equal(fit.coef, several[0].coef)
    several[0].save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.start, several[0].start)
    pd.testing.assert_frame_equal(again.history, several[0].history)
    model = PerceptronClassifier(start=[-5, 0.5, 2], maxiter=5).fit(
        PAIR[["sepal_width", "petal_length"]], PAIR["species"]
    )
    np.testing.assert_array_equal(model.results_.coef, fits[0].coef)
    # From where the rule came to rest there is nothing to move.
    remaining = perceptron("setosa ~ .", SETOSA)
    begin = np.append(remaining.intercept, remaining.coef)
    assert perceptron("setosa ~ .", SETOSA, start=begin).updates == 0
    assert perceptron("setosa ~ .", SETOSA, start=np.zeros(5)).updates == remaining.updates


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ((1, 2), r"finite.*numbers"),
        ("abc", r"finite.*numbers"),
        ((1, 2, np.nan), r"finite.*numbers"),
        (5, r"finite.*numbers"),
        ({"constant": 1.0, "sepal_width": 1.0}, "'petal_length'"),
        ((1e299, 0, 0), "larger step"),
    ],
)
def test_invalid_starts_are_refused(start, message):
    with pytest.raises(DataError, match=message):
        perceptron("species ~ sepal_width + petal_length", PAIR, start=start)


@pytest.mark.parametrize("start", [(1, 2, 3), {"setosa": (1, 2, 3)}, [(1, 2, 3)] * 2, 3])
def test_invalid_starts_of_three_classes_are_refused(start):
    with pytest.raises(DataError) as caught:
        perceptron("species ~ sepal_width + petal_length", IRIS, start=start)
    assert "start=" in str(caught.value)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=10)
def test_leaving_a_row_out_of_the_perceptron_is_a_run_without_it(seed):
    """Rows of small whole numbers, so that no order of sums rounds; with and without a plane between them."""
    rng = np.random.default_rng(seed)
    n, p, k = int(rng.integers(4, 25)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    x = rng.integers(-4, 5, size=(n, p)).astype(float)
    codes = np.digitize(x @ rng.integers(-3, 4, size=p) + rng.integers(-2, 3, n), [-1, 3][: k - 1])
    assume((np.ptp(x, axis=0) > 0).all() and len(np.unique(codes)) == k)
    order = None if seed % 2 else seed % 1000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        begin = rng.integers(-3, 4, size=p + 1) if k == 2 and seed % 3 else None
        fit = perceptron("y ~ .", frame(x, codes), seed=order, step=0.5, start=begin)
        result = fit.leave_one_out()
    for i in range(n):
        remaining = np.arange(n) != i
        if len(np.unique(codes[remaining])) < k or (np.ptp(x[remaining], axis=0) == 0).any():
            continue
        expected = [0.0] if k == 2 else []
        for own, most in zip([1] if k == 2 else range(k), fit._fit.estimates.passes, strict=True):
            run = one_perceptron(
                x[remaining], codes[remaining] == own, step=0.5, passes=most, seed=order, start=begin
            )
            expected.append(run.coef[0] + x[i] @ run.coef[1:])
        np.testing.assert_array_equal(result.drop(columns="label").iloc[i], expected)
        assert result["label"].iloc[i] == int(np.argmax(expected))


def test_rows_that_take_a_class_a_level_or_a_column_with_them_have_no_run():
    data = SETOSA.iloc[::5].assign(kind=list("uvw" * 10), lone=0.0)
    data.loc[data.index[3], "kind"] = "only"
    data.loc[data.index[7], "lone"] = 1e-3
    fit = perceptron("setosa ~ petal_length + lone + kind", data)
    with pytest.warns(MissingPredictionWarning):
        result = fit.leave_one_out()
    assert result["label"].isna().to_numpy().nonzero()[0].tolist() == [3]
    # Without its only row that varies, the column is left out.
    part = data.drop(index=data.index[7])
    with pytest.warns(DroppedColumnsWarning, match="'lone'"):
        alone = perceptron("setosa ~ petal_length + lone + kind", part)
    value = alone.decision_function(data.iloc[[7]]).iloc[0]
    assert result[True].iloc[7] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]])
def test_the_pocket_holds_a_plane_even_where_every_pass_returns_to_zero(order):
    data = pd.DataFrame({"x": [1.0, 1, 2, 2], "y": list("abab")}).iloc[order]
    with pytest.warns(NoSeparationWarning):
        fit = perceptron("y ~ x", data)
    assert fit.planes["errors"].iloc[0] == 2
    assert coefficients(fit).any()


def test_too_few_passes_have_a_hint():
    data = halves(200, 3, 0.001)
    with pytest.warns(ConvergenceWarning):
        fit = perceptron("y ~ .", data, maxiter=2)
    assert fit.separable
    assert not fit.converged
    far = data.assign(x0=data["x0"] + 1e8)
    with pytest.warns(ConvergenceWarning):
        assert perceptron("y ~ .", far, maxiter=2).separable


@pytest.mark.parametrize("gap", [1e-7, 1e-10])
def test_the_perceptron_and_the_hyperplane_agree_on_narrow_margins(gap):
    data = pd.DataFrame({"x": [0, 0.5, 1, 1 + gap, 1.5, 2], "y": list("aaabbb")})
    with pytest.warns(ConvergenceWarning):
        assert perceptron("y ~ x", data, maxiter=5).separable
    assert hyperplane("y ~ x", data).margin == pytest.approx(gap / 2, rel=1e-5)


def test_one_against_the_rest():
    with pytest.warns(NoSeparationWarning, match=r"'versicolor'.*'virginica'"):
        fit = perceptron("species ~ .", IRIS)
    assert fit.planes["separable"].tolist() == [True, False, False]
    scores = fit.decision_function()
    expected = IRIS.iloc[:, :4].to_numpy() @ fit.coef.to_numpy() + fit.intercept.to_numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10)
    assert (fit.predict() == scores.idxmax(axis=1)).all()
    for k, name in enumerate(fit.classes):
        b, _ = textbook(
            IRIS.iloc[:, :4].to_numpy(), np.where(IRIS["species"] == name, 1, -1), 1000 if not k else 0
        )
        assert k or np.array_equal(coefficients(fit, name), b)
    assert fit.history.loc["setosa", "updates"].sum() == fit.planes.loc["setosa", "updates"]
    assert "each class against the rest" in fit.summary().as_text()


@one_in(
    2,
    {
        "labels": [("a", "b"), (0, 1), (False, True), (2.5, 7.5)],
        "verb": [perceptron, hyperplane],
    },
)
def test_classes_of_any_kind(verb, labels):
    data = halves(30, 2, 0.3)
    data["y"] = np.where(data["y"], labels[1], labels[0])
    fit = verb("y ~ .", data)
    assert fit.classes.tolist() == list(labels)
    assert (fit.predict() == data["y"]).all()
    rotated = verb("y ~ .", data.assign(y=pd.Categorical(data["y"], categories=labels[::-1])))
    assert rotated.classes.tolist() == list(labels[::-1])
    np.testing.assert_allclose(rotated.decision_function(), -fit.decision_function(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"step": 0}, "step=0"),
        ({"step": np.nan}, "step=nan"),
        ({"step": 1e308}, "step=1e+308 is not valid. Pass a positive number from 1e-300 to 1e200"),
        ({"step": 5e-324}, "step=5e-324"),
        ({"step": "1"}, "step='1'"),
        ({"maxiter": 0}, "maxiter=0"),
        ({"maxiter": 1.5}, "maxiter=1.5"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "a"}, "seed='a'"),
    ],
)
def test_invalid_options_of_the_perceptron_are_refused(option, message):
    with pytest.raises(DataError, match=re.escape(message)):
        perceptron("y ~ .", halves(10, 2, 0.5), **option)


def test_columns_must_be_compatible_with_the_step():
    data = halves(10, 2, 0.5)
    large = data.assign(**{name: data[name] * 1e60 for name in data.columns.drop("y")})
    with pytest.raises(DataError) as caught:
        perceptron("y ~ .", large, step=1e200)
    assert caught.value.columns == ("x0",)
    assert np.isfinite(perceptron("y ~ .", large, step=1e100).decision_function()).all()


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_tables_of_a_perceptron(tmp_path):
    fit = perceptron("species ~ .", IRIS, seed=4)
    tidy = fit.tidy().set_index(["plane", "term"])["estimate"]
    assert len(tidy) == 15
    assert tidy["setosa", "constant"] == fit.intercept["setosa"]
    assert tidy["virginica", "petal_width"] == fit.coef.loc["petal_width", "virginica"]
    assert fit.glance().iloc[0][["nobs", "updates"]].tolist() == [150, fit.updates]
    augmented = fit.augment()
    np.testing.assert_array_equal(augmented.filter(like=".score"), fit.decision_function())
    assert (augmented[".fitted"] == fit.predict()).all()
    summary = fit.summary()
    for text in (summary.as_text(), summary.as_html(), summary.as_latex(), summary.as_markdown()):
        assert "seed 4" in text
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit")
    pd.testing.assert_frame_equal(again.coef, fit.coef, check_exact=True)
    pd.testing.assert_frame_equal(again.history, fit.history)
    pd.testing.assert_frame_equal(again.planes, fit.planes, check_exact=True)
    pd.testing.assert_frame_equal(again.decision_function(IRIS), fit.decision_function(), check_exact=True)


def test_lines_compare_with_other_fits():
    with pytest.warns(NoSeparationWarning):
        table = compare(lda("species ~ .", PAIR), perceptron("species ~ .", PAIR))
    assert len(table) == 2
    assert np.isfinite(table.filter(like="error").to_numpy(dtype=float)).any(axis=1).all()


# ------------------------------------------------------------------ geometry


GEOMETRIES = {
    "lda": lda("species ~ .", PAIR, prior={"versicolor": 0.2, "virginica": 0.8}),
    "logistic": logistic("species ~ .", PAIR),
    "hyperplane": hyperplane("setosa ~ .", SETOSA),
    "perceptron": perceptron("setosa ~ .", SETOSA),
}


@pytest.mark.parametrize("name", GEOMETRIES)
def test_distances_and_feet_by_their_formulas(name):
    fit, data = GEOMETRIES[name], SETOSA if name in ("hyperplane", "perceptron") else PAIR
    x = data[list(fit.terms)].to_numpy()
    plane = fit.boundary()
    normal, offset, midpoint = plane.normal, plane.offset, plane.midpoint
    value, length = x @ normal.to_numpy() + offset, np.linalg.norm(normal)
    size = (np.abs(x) @ np.abs(normal.to_numpy()) + abs(offset)) / length
    distance, foot = plane.distance(), plane.foot()
    np.testing.assert_array_less(np.abs(distance - value / length), 1e-12 * size)
    np.testing.assert_allclose(np.linalg.norm(x - foot, axis=1), distance.abs(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(foot @ normal.to_numpy() + offset, 0, atol=1e-11 * size.max() * length)
    assert (fit.predict() == np.where(distance > 0, fit.classes[1], fit.classes[0])).all()
    assert fit.boundary().from_origin == pytest.approx(abs(offset) / length, rel=1e-14)
    other = fit.boundary(*fit.classes)
    np.testing.assert_allclose(other.normal, -normal, rtol=1e-14)
    assert other.offset == pytest.approx(-offset, rel=1e-12)
    groups = data.groupby(fit.classes.name)[list(fit.terms)].mean()
    np.testing.assert_allclose(midpoint, groups.mean(), rtol=1e-12)
    if name in ("lda", "logistic"):
        log = fit.predict_log_proba()
        np.testing.assert_allclose(value, log.iloc[:, 1] - log.iloc[:, 0], rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_allclose(value, fit.decision_function(), rtol=1e-9, atol=1e-9)
    if name == "hyperplane":
        assert distance.abs().min() == pytest.approx(fit.margin, rel=1e-12)


def test_offsets_keep_the_digits_of_distances():
    rng = np.random.default_rng(0)
    columns = ["x0", "x1"]
    data = frame(rng.integers(-400, 400, size=(60, 2)) / 256, np.arange(60) % 2 == 0)
    data.loc[data["y"], "x0"] += 1
    far = data.assign(**{c: data[c] + 1e8 for c in columns})
    here, mask = lda("y ~ .", data).boundary(), lda("y ~ .", far).boundary()
    # As far as the classes' means can be held about 1e8.
    np.testing.assert_allclose(mask.distance(), here.distance(), rtol=0, atol=np.spacing(1e8))
    np.testing.assert_allclose(mask.foot() - 1e8, here.foot(), rtol=0, atol=4 * np.spacing(1e8))
    # The plane's distance from the origin, from the fit's own coefficients with 60 digits.
    fit = hyperplane("y ~ .", frame(*_shifted(halves(40, 2, 0.2))))
    origin, plane = fit._fit.estimates.origin, fit._fit.estimates.plane
    with mpmath.workdps(60):
        n = [mpmath.mpf(float(c)) for c in plane.coef]
        dot = sum(a * mpmath.mpf(float(b)) for a, b in zip(n, origin, strict=True))
        exact = abs(mpmath.mpf(plane.intercept) - dot) / mpmath.sqrt(sum(a * a for a in n))
    assert fit.boundary().from_origin == pytest.approx(float(exact), rel=1e-14)


def _shifted(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return data[["x0", "x1"]].to_numpy() + 1e8, data["y"].to_numpy()


def test_planes_of_three_classes_are_selected_by_name():
    fit = lda("species ~ .", IRIS)
    with pytest.raises(DataError) as caught:
        fit.boundary()
    assert caught.value.classes == ("setosa", "versicolor", "virginica")
    with pytest.raises(DataError) as caught:
        fit.boundary("setosa", "setosa")
    assert "'setosa'" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.boundary("setosa", "rosa")
    assert "'rosa'" in str(caught.value)
    scores = fit.predict_log_proba()
    distance = fit.boundary("virginica", "versicolor").distance()
    length = np.linalg.norm(fit.boundary("virginica", "versicolor").normal)
    np.testing.assert_allclose(
        distance * length, scores["virginica"] - scores["versicolor"], rtol=1e-8, atol=1e-8
    )
    assert not hasattr(qda("species ~ .", IRIS), "boundary")


def test_rows_with_missing_values_keep_their_place():
    fit = GEOMETRIES["hyperplane"]
    new = SETOSA.iloc[[0, 60, 120]].drop(columns="setosa").astype(float)
    new.index = ["u", "v", "w"]
    new.loc["v", "petal_width"] = np.nan
    assert fit.distance(new).isna().tolist() == [False, True, False]
    assert fit.boundary().foot(new).isna().all(axis=1).tolist() == [False, True, False]
    assert fit.distance(new)["w"] == pytest.approx(fit.distance()[120], rel=1e-13)
    with pytest.raises(DataError) as caught:
        fit.distance(new.drop(columns="petal_width"))
    assert "petal_width" in str(caught.value)


def test_a_zero_normal_has_no_plane():
    data = pd.DataFrame({"x": [1.0, 2, 1, 2], "y": list("aabb")})
    fit = lda("y ~ x", data)
    assert np.isnan(fit.boundary().from_origin)
    with pytest.raises(DataError) as caught:
        fit.boundary().distance()
    assert "'b' and 'a' are equal in all columns" in str(caught.value)


# ------------------------------------------------------------------ pictures


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_the_margin_is_drawn_where_it_is():
    data = SETOSA[["petal_length", "petal_width", "setosa"]]
    fit = hyperplane("setosa ~ petal_length + petal_width", data)
    axes = fit.plot()
    ringed = [c for c in axes.collections if len(c.get_offsets()) == len(fit.support)][-1]
    expected = data.loc[fit.support, ["petal_length", "petal_width"]].to_numpy(dtype=float)
    np.testing.assert_allclose(np.asarray(ringed.get_offsets()), expected)
    drawn = [c for c in axes.collections if isinstance(c, QuadContourSet)]
    for contours, levels in zip(drawn, [[0.0], [-1.0, 1.0]], strict=True):
        for path, level in zip(contours.get_paths(), levels, strict=True):
            values = path.vertices @ fit.coef.to_numpy() + fit.intercept
            np.testing.assert_allclose(values, level, atol=1e-9)


def test_distances_are_drawn_with_the_margin_and_wrong_rows_ringed():
    fit = hyperplane("setosa ~ .", SETOSA)
    axes = fit.plot()
    drawn = sorted(float(line.get_xdata()[0]) for line in axes.lines)
    np.testing.assert_allclose(drawn, [-fit.margin, 0, fit.margin], atol=1e-12)
    points = np.concatenate([np.asarray(c.get_offsets())[:, 0] for c in axes.collections])
    assert set(np.round(fit.distance(), 9)) <= set(np.round(points, 9))
    with pytest.warns(NoSeparationWarning):
        pocket = perceptron("species ~ .", PAIR)
    axes = pocket.plot("distances")
    wrong = pocket.boundary().distance()[pocket.predict() != PAIR["species"]]
    sizes = [len(c.get_offsets()) for c in axes.collections]
    assert len(wrong) in sizes


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_errors_of_the_perceptron_are_drawn_pass_by_pass():
    fit = perceptron("species ~ .", IRIS)
    _, ax = plt.subplots()
    assert fit.plot(ax=ax) is ax
    # Each is named with the errors of the plane that is kept.
    steps = {line.get_label().split(";")[0]: line for line in ax.lines if "kept" in line.get_label()}
    assert list(steps) == fit.classes.tolist()
    for name, line in steps.items():
        np.testing.assert_array_equal(line.get_ydata(), fit.history.loc[name, "errors"])
        np.testing.assert_array_equal(line.get_xdata(), fit.history.loc[name].index)


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
def test_unavailable_plots_are_refused():
    three = perceptron("species ~ .", IRIS)
    with pytest.raises(NotSupportedError) as caught:
        three.plot("distances")
    assert "has 3" in str(caught.value)
    with pytest.raises(DataError) as caught:
        hyperplane("setosa ~ .", SETOSA).plot("margin")
    assert "kind='margin'" in str(caught.value)
    _, ax = plt.subplots()
    assert perceptron("species ~ petal_length + petal_width", IRIS).plot("regions", ax=ax) is ax
    assert hyperplane("setosa ~ .", SETOSA).plot("distances", ax=ax) is ax
