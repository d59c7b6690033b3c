"""The certificate of separation and the nearest point of a hull: full programs, brute force, identities."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from discrim import logistic
from discrim.core.hyperplanes import separation as program
from discrim.core.hyperplanes.hyperplane import largest_margin, nearest_point, optimal_plane, plane_rule
from discrim.core.hyperplanes.separation import decide_separation, find_recession, standardize_rows
from discrim.errors import NotSupportedError, SeparationError

SEEDS = st.integers(0, 2**32 - 1)
EPS = np.finfo(float).eps


def unit(x: np.ndarray) -> np.ndarray:
    """Ones over columns of mean zero and unit variance."""
    return np.vstack([np.ones(len(x)), ((x - x.mean(axis=0)) / x.std(axis=0)).T])


def differences(columns: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """eta_y - eta_k of every row and other class, by all (p + 1) K coefficients."""
    lines = []
    for z, own in zip(columns.T, codes, strict=True):
        for k in range(n_classes):
            if k != own:
                line = np.zeros((n_classes, len(columns)))
                line[own], line[k] = z, -z
                lines.append(line[1:].ravel())
    return np.array(lines)


def full_program(columns: np.ndarray, codes: np.ndarray, n_classes: int) -> tuple[str, float]:
    """Kind and margin by the linear programs over all rows at once."""
    rows = differences(columns, codes, n_classes)
    size = rows.shape[1]
    wide = np.hstack([-rows, np.ones((len(rows), 1))])
    cost = np.append(np.zeros(size), -1.0)
    margin = -linprog(cost, A_ub=wide, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * size + [(0, None)]).fun
    if margin > 1e-7:
        return "complete", margin
    total = -linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * size).fun
    return ("quasi" if total > 1e-6 else "overlap"), 0.0


def gaps_of(coef: np.ndarray, columns: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """eta_y - eta_k (n, K), infinite for the class itself."""
    eta = columns.T @ coef
    gaps = eta[np.arange(len(codes)), codes][:, None] - eta
    gaps[np.arange(len(codes)), codes] = np.inf
    return gaps


def proves_overlap(weights: np.ndarray, columns: np.ndarray, codes: np.ndarray) -> None:
    """Weights of at least one under which the differences cancel, class by class."""
    n_classes = weights.shape[1]
    own = np.zeros_like(weights, dtype=bool)
    own[np.arange(len(codes)), codes] = True
    assert (weights[own] == 0).all()
    # A multiplier of zero carries the rounding of the program.
    assert weights[~own].min() >= 1 - 1e-9
    for k in range(n_classes):
        # What class k's coefficients are multiplied by in the weighted sum of differences.
        towards = columns[:, codes == k] @ weights[codes == k].sum(axis=1)
        away = columns @ weights[:, k]
        size = np.abs(columns) @ weights.sum(axis=1)
        np.testing.assert_array_less(np.abs(towards - away), 1e-9 * size)


def least_distance(constraints: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The shortest b with constraints @ b >= least, by non-negative least squares (Lawson and Hanson)."""
    stacked = np.vstack([constraints.T, least])
    unit_vector = np.append(np.zeros(constraints.shape[1]), 1.0)
    dual, _ = nnls(stacked, unit_vector, maxiter=100 * len(least))
    left = stacked @ dual - unit_vector
    return -left[:-1] / left[-1]


# ------------------------------------------------------------------ two classes in the plane


def brute_force(x: np.ndarray, y: np.ndarray) -> str:
    """Complete, quasi or overlap of two classes in the plane, by the lines through every pair of points."""
    kinds = set()
    angles = [0.0]
    for i, j in itertools.combinations(range(len(x)), 2):
        d = x[j] - x[i]
        if d.any():
            angles.append(np.arctan2(d[1], d[0]) + np.pi / 2)
    angles = np.unique(np.concatenate([np.array(angles) + s for s in (0.0, np.pi)]))
    # Directions across each pair of points, and those between neighbours.
    middle = (angles + np.roll(angles, -1)) / 2
    for angle in np.concatenate([angles, middle, middle + np.pi]):
        values = np.round(x @ [np.cos(angle), np.sin(angle)], 9)
        low, high = values[y == 1].min(), values[y == 0].max()
        if low > high:
            kinds.add("complete")
        elif low == high and values.max() > values.min():
            kinds.add("quasi")
    return "complete" if "complete" in kinds else "quasi" if "quasi" in kinds else "overlap"


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.booleans()), min_size=4, max_size=9).filter(
        lambda rows: len({r[2] for r in rows}) == 2 and len({r[:2] for r in rows}) > 2
    )
)
@settings(max_examples=75)
def test_the_certificate_of_two_classes_by_brute_force(rows):
    x = np.array([r[:2] for r in rows], dtype=float)
    y = np.array([r[2] for r in rows]).astype(int)
    if np.linalg.matrix_rank(x - x.mean(axis=0)) < 2:
        return
    columns = np.vstack([np.ones(len(x)), ((x - x.mean(axis=0)) / x.std(axis=0)).T])
    found = decide_separation(columns, y, 2)
    assert found.separation_type == brute_force(x, y)
    eta = found.coef.T @ columns
    gaps = np.where(y == 1, eta[1] - eta[0], eta[0] - eta[1])
    assert gaps.min() >= -1e-7
    if found.separation_type == "complete":
        assert gaps.min() == pytest.approx(found.margin, abs=1e-7)
        assert found.margin > 0
    if found.separation_type == "overlap":
        assert not found.coef.any()


# ------------------------------------------------------------------ more classes, against the full program


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_certificate_matches_the_program_over_all_rows(seed):
    rng = np.random.default_rng(seed)
    n_classes, p = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    n = int(rng.integers(n_classes + p + 1, 26))
    # Integers give ties and rows on planes; a few classes follow from the row, so that some separate.
    x = rng.integers(-3, 4, size=(n, p)).astype(float)
    sure = np.argsort(np.argsort(x @ rng.integers(-2, 3, size=p) + 1e-3 * x[:, 0])) * n_classes // n
    codes = np.where(rng.random(n) < rng.choice([0.0, 0.1, 1.0]), rng.integers(0, n_classes, n), sure)
    codes[:n_classes] = np.arange(n_classes)
    columns = standardize_rows(x).columns
    found = decide_separation(columns, codes, n_classes)
    kind, margin = full_program(columns, codes, n_classes)
    assert found.separation_type == kind
    gaps = gaps_of(found.coef, columns, codes)
    if kind == "complete":
        assert gaps.min() > 0
        assert found.margin == pytest.approx(gaps.min(), rel=1e-12)
        assert found.margin == pytest.approx(margin, rel=1e-6)
        assert np.abs(found.coef).max() <= 1 + 1e-9
    elif kind == "quasi":
        assert gaps.min() >= -1e-7
        assert np.isfinite(gaps).any()
        assert gaps[np.isfinite(gaps)].max() > 1e-7
        np.testing.assert_array_equal(
            found.on_plane, np.flatnonzero((gaps.min(axis=1) <= 1e-7) & rows_without_differences(gaps))
        )
    else:
        assert not found.coef.any()
        proves_overlap(found.weights, columns, codes)


def rows_without_differences(gaps: np.ndarray) -> np.ndarray:
    """Return a mask of the rows all of whose differences are zero."""
    return (np.where(np.isinf(gaps), 0.0, gaps) <= 1e-7).all(axis=1)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_weights_prove_overlap_of_many_rows(n_classes):
    rng = np.random.default_rng(n_classes)
    codes = rng.integers(0, n_classes, 4000)
    x = rng.normal(size=(4000, 5)) + rng.normal(size=(n_classes, 5))[codes]
    columns = standardize_rows(x).columns
    found = decide_separation(columns, codes, n_classes)
    assert found.separation_type == "overlap"
    proves_overlap(found.weights, columns, codes)


def two_halves(n: int, p: int, gap: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal rows on both sides of a plane, at least a gap away from it."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(n, p)), rng.normal(size=p)
    w /= np.linalg.norm(w)
    codes = (x @ w > 0).astype(np.intp)
    return x + gap * np.outer(2 * codes - 1, w), codes


def test_adding_violated_rows_yields_the_margin_of_all_rows():
    x, codes = two_halves(3000, 4, 0.01)
    columns = unit(x)
    found = decide_separation(columns, codes, 2)
    kind, margin = full_program(columns, codes, 2)
    assert found.separation_type == kind == "complete"
    assert found.margin == pytest.approx(margin, rel=1e-6)
    assert gaps_of(found.coef, columns, codes).min() == pytest.approx(found.margin, rel=1e-12)


@pytest.mark.parametrize("wrong", [1, 3])
def test_one_row_in_twenty_thousand_decides(wrong):
    x, codes = two_halves(20_000, 3, 0.5)
    assert decide_separation(unit(x), codes, 2).separation_type == "complete"
    inner = np.argsort(np.abs(x - x[codes == 1].mean(axis=0)).sum(axis=1))[:wrong]
    codes[inner] = 0
    found = decide_separation(unit(x), codes, 2)
    assert found.separation_type == "overlap"
    proves_overlap(found.weights, unit(x), codes)


@pytest.mark.parametrize("seed", range(6))
def test_repeated_rows_change_nothing(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, size=(12, 2)).astype(float)
    codes = (x @ [1, 1] > 0).astype(np.intp) if seed % 2 else rng.integers(0, 2, 12)
    codes[:2] = 0, 1
    few = decide_separation(unit(x), codes, 2)
    many = decide_separation(unit(np.tile(x, (500, 1))), np.tile(codes, 500), 2)
    assert few.separation_type == many.separation_type
    assert few.margin == pytest.approx(many.margin, rel=1e-6, abs=1e-12)


def test_coordinates_omit_collinear_columns():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(50, 3)) * [1e-8, 1.0, 1e8] + [0.0, 0.0, -3e9]
    wide = np.column_stack([x, x[:, 0] + 2e-8 * x[:, 1], np.full(50, 0.1)])
    found = standardize_rows(wide)
    assert found.columns.shape == (4, 50)
    np.testing.assert_allclose(found.columns @ found.columns.T, 50 * np.eye(4), atol=1e-10)
    varying = wide[:, :4] - wide[:, :4].mean(axis=0)
    z = np.column_stack([varying / varying.std(axis=0), np.zeros(50)])
    np.testing.assert_allclose(z @ found.to_unit, found.columns[1:].T, atol=1e-8)


# ------------------------------------------------------------------ the nearest point


@given(SEEDS)
@settings(max_examples=150)
def test_nearest_point_matches_least_distance_programming(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    points = rng.normal(size=(n, p)) + rng.normal(size=p) * rng.choice([0.0, 2.0])
    if rng.random() < 0.3:
        points = np.round(points)

    def lowest(w: np.ndarray) -> tuple[int, np.ndarray]:
        i = int(np.argmin(points @ w))
        return i, points[i]

    found = nearest_point(lowest, points.mean(axis=0))
    assert found.weights.min() > 0
    assert found.weights.sum() == pytest.approx(1, abs=1e-13)
    assert len(set(found.keys)) == len(found.keys) <= p + 1
    np.testing.assert_allclose(found.weights @ points[found.keys], found.point, atol=1e-13)
    # Optimality: no point is lower along w than w itself.
    square = found.point @ found.point
    size = np.abs(points).max() + EPS
    assert (points @ found.point).min() >= square - 1e-12 * size**2
    if square > 1e-12:
        # Non-negative least squares sometimes stops before the minimum, and is never shorter.
        shortest = least_distance(points, np.ones(n))
        assert 1 / square <= shortest @ shortest * (1 + 1e-9)
        assert largest_margin(points) == pytest.approx(np.sqrt(square), rel=1e-9)


@pytest.mark.parametrize("spread", [1, 3, 5])
def test_optimal_planes_of_columns_in_unlike_units_keep_their_digits(spread):
    rng = np.random.default_rng(spread)
    for _ in range(20):
        p, n = int(rng.choice([2, 5, 10, 20])), int(rng.choice([20, 60, 200]))
        powers = 10.0 ** rng.integers(-spread, spread + 1, size=p)
        x = rng.normal(size=(n, p)) * powers
        w = rng.normal(size=p) / (powers if rng.random() < 0.5 else 1.0)
        positive = x @ w > np.median(x @ w)
        x -= x.mean(axis=0)
        found = optimal_plane(x, positive)
        longest = np.linalg.norm(x, axis=1).max()
        # The values of the plane at the rows carry this much rounding, relative to one.
        rounding = EPS * longest / found.margin
        values = np.where(positive, 1, -1) * (x @ found.coef + found.intercept)
        assert values.min() >= 1 - 100 * rounding
        np.testing.assert_allclose(values[found.support], 1, atol=100 * rounding)
        assert found.residual <= max(100 * rounding, 1e-13)


@pytest.mark.parametrize("gap", [1e-6, 1e-8, 1e-10, 1e-12])
def test_a_margin_below_the_slack_of_the_program_is_a_margin(gap):
    codes = np.repeat([0, 1, 2], 3)
    x = np.array([[0.0, 0.5, 1.0, 1 + gap, 1.5, 2.0, 2 + gap, 2.5, 3.0]]).T
    for known, k in ((codes, 3), (np.minimum(codes, 1), 2)):
        found = decide_separation(standardize_rows(x).columns, known, k)
        assert found.separation_type == "complete"
        assert 0 < found.margin < 2 * gap
        assert gaps_of(found.coef, standardize_rows(x).columns, known).min() > 0
    x[3] = x[2]
    found = decide_separation(standardize_rows(x).columns, np.minimum(codes, 1), 2)
    assert found.separation_type == "quasi"
    assert found.on_plane.tolist() == [2, 3]


@pytest.mark.parametrize("unit", [1e-160, 1e-8, 1e8, 1e160])
def test_units_do_not_matter_to_the_certificate(unit):
    x, codes = two_halves(50, 3, 0.1)
    here = decide_separation(standardize_rows(x).columns, codes, 2)
    there = decide_separation(standardize_rows(x * [unit, 1.0, 1 / unit]).columns, codes, 2)
    assert there.separation_type == here.separation_type == "complete"
    mixed = np.random.default_rng(1).integers(0, 2, 50)
    assert decide_separation(standardize_rows(x * unit).columns, mixed, 2).separation_type == "overlap"


def test_many_coefficients_are_certified_by_divergence():
    """Too many for the program: the direction is checked against every row, here again."""
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1, 2], 150)
    x = rng.standard_normal((450, 110))
    # The first class lies apart along one column, the others overlap in all.
    x[:, 0] += np.where(codes == 0, 9.0, 0.0)
    x[:, 1] += 0.3 * codes
    frame = pd.DataFrame(x[:, :110]).rename(columns="x{}".format).assign(y=codes)
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ .", frame)
    assert "0 from 1" in str(caught.value)
    certificate = caught.value.certificate
    eta = frame[certificate.direction.index[1:]] @ certificate.direction.iloc[1:]
    eta += certificate.direction.loc["constant"]
    own = eta.to_numpy()[np.arange(450), codes]
    leads = own[:, None] - eta.to_numpy()
    assert leads.min() > -1e-6
    assert leads[codes == 0][:, 1:].min() > 1e-3


# ------------------------------------------------------------------ many coefficients


def degenerate_rows(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Integers, rare indicators, categories, columns in unlike units: what makes vertices degenerate."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(-3, 4, size=(n, p)).astype(float)
    if kind == 1:
        return (rng.random((n, p)) < 0.2).astype(float)
    if kind == 2:
        levels = rng.integers(0, 3, n)
        return np.column_stack([levels[:, None] == np.arange(3), rng.normal(size=n)]).astype(float)
    return rng.integers(0, 2, size=(n, p)) * rng.choice([1.0, 1e2, 1e4], p)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_recession_direction_matches_the_programs(seed):
    rng = np.random.default_rng(seed)
    n_classes, p = int(rng.integers(2, 6)), int(rng.integers(1, 6))
    n = int(rng.integers(n_classes + p + 1, 50))
    x = degenerate_rows(rng, n, p)
    sure = np.argsort(np.argsort(x @ rng.integers(-2, 3, x.shape[1]) + 1e-3 * x[:, 0])) * n_classes // n
    chance = rng.choice([0.0, 0.05, 0.1, 0.3, 1.0])
    codes = np.where(rng.random(n) < chance, rng.integers(0, n_classes, n), sure).astype(np.intp)
    codes[:n_classes] = np.arange(n_classes)
    columns = standardize_rows(x).columns
    if len(columns) < 2:
        return
    kind, _ = full_program(columns, codes, n_classes)
    found = find_recession(columns, codes, n_classes)
    gaps = gaps_of(found.coef, columns, codes)
    assert found.cancelling_weights is not None
    if kind == "overlap":
        assert not found.coef.any()
        proves_overlap(
            found.cancelling_weights.T / found.cancelling_weights[found.is_level].min(), columns, codes
        )
        return
    assert gaps.min() >= -1e-7
    np.testing.assert_array_equal(found.is_level, gaps.T <= 1e-7)
    assert found.is_level.any() == (kind == "quasi")
    if kind == "quasi":
        # What is left level overlaps, so that nothing could be raised besides: its own weights cancel.
        weights = found.cancelling_weights.T
        assert (weights[gaps <= 1e-7] > 0).all()
        assert (weights[gaps > 1e-7] == 0).all()
        for k in range(n_classes):
            left = columns[:, codes == k] @ weights[codes == k].sum(axis=1) - columns @ weights[:, k]
            np.testing.assert_array_less(np.abs(left), 1e-8 * np.abs(columns).sum(axis=1))


def coded_answers(n: int, p: int, n_classes: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of small integers, typical of their class but for noise; every third pair of classes is mixed."""
    rng = np.random.default_rng(2)
    codes = rng.permutation(np.arange(n) % n_classes)
    levels = rng.integers(2, 6, p)
    typical = rng.integers(0, levels, size=(n_classes, p))
    x = np.where(rng.random((n, p)) < noise, rng.integers(0, levels, size=(n, p)), typical[codes])
    for first in range(0, n_classes - 1, 3):
        mixed = np.flatnonzero((codes == first) | (codes == first + 1))
        codes[mixed] = rng.integers(first, first + 2, len(mixed))
    return x.astype(float), codes


@pytest.mark.parametrize("noise", [0.15, 0.4])
def test_many_classes_of_coded_answers_are_decided(noise):
    """Of 18 classes by 35 columns the programs did not end in minutes; these are two thirds of them."""
    x, codes = coded_answers(360, 24, 12, noise)
    columns = standardize_rows(x).columns
    found = decide_separation(columns, codes, 12)
    assert found.separation_type == "quasi"
    gaps = gaps_of(found.coef, columns, codes)
    assert gaps.min() >= -1e-7
    # Of a mixed pair no row can be told from its twin, all other pairs can.
    twin = (codes[:, None] // 3 == np.arange(12) // 3) & (codes[:, None] % 3 < 2) & (np.arange(12) % 3 < 2)
    assert (gaps[~twin] > 1e-7).all()


def test_time_limit_error_has_a_hint(monkeypatch):
    rng = np.random.default_rng(0)
    x, codes = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    monkeypatch.setattr(program, "FIRST_TIME_LIMIT", 0.0)
    assert decide_separation(standardize_rows(x).columns, codes, 3).separation_type == "overlap"
    monkeypatch.setattr(program, "LAST_TIME_LIMIT", 0.0)
    monkeypatch.setattr("discrim.core.hyperplanes.separation.MAX_NEWTON_STEPS", 0)
    with pytest.raises(NotSupportedError) as caught:
        decide_separation(standardize_rows(x).columns, codes, 3)
    assert "bias_red" in str(caught.value)


def test_message_uses_the_singular_for_one_more_pair():
    table = pd.DataFrame({"y": ["a", "b", "c", "d"] * 6, "z": [1.0, 1.0, 0.0, 0.0] * 6})
    with pytest.raises(SeparationError) as caught:
        logistic("y ~ z", table)
    assert "pair" in str(caught.value)


def test_the_first_of_two_classes_scores_zero_however_large_the_plane():
    rule = plane_rule(np.zeros(2), np.array([[np.inf], [1.0]]), np.array([2.0]))
    assert rule.coef[:, 0].tolist() == [0.0, 0.0]
    assert rule.intercept.tolist() == [0.0, 2.0]


def test_coordinates_of_huge_rows_lead_back_to_the_data():
    x = np.array([[0.0], [1.0], [3.0]])
    once, huge = (standardize_rows(unit * x).to_data(unit * x)[1, 1] * unit for unit in (1.0, 2.0**1000))
    assert once == huge > 0
