"""Rows taken out of moments again, against exact arithmetic of the rows that are left."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim.core.moments.derived_moments import subtract_moments
from discrim.core.moments.moments import ClassMoments, merge_rescaled


def rows_of(seed, n, p, k, *, offset=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    return offset + spread * rng.standard_normal((n, p)), rng.integers(0, k, n)


def squares(x, codes, k):
    """Sums of squares (K, p) about class means, as fractions."""
    sums = []
    for each in range(k):
        members = [[Fraction(v) for v in row] for row in x[codes == each].tolist()]
        columns = list(zip(*members, strict=True))
        means = [sum(column) / len(members) for column in columns]
        sums.append([sum((v - m) ** 2 for v in c) for c, m in zip(columns, means, strict=True)])
    return sums


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.tuples(st.integers(6, 40), st.integers(1, 60)),
    offset=st.sampled_from([0.0, 10.0, 1e6]),
    apart=st.sampled_from([0.0, 3.0, 1e3, 1e5]),
    wide=st.sampled_from([1.0, 1e2, 1e5]),
    spread=st.sampled_from(["class", "pooled", "diagonal"]),
)
def test_remaining_moments_are_as_accurate_as_promised(seed, sizes, offset, apart, wide, spread):
    n, m = sizes
    x, codes = rows_of(seed, n, 3, 2, offset=offset)
    codes[:4] = [0, 0, 1, 1]
    other, members = rows_of(seed + 1, m, 3, 2, offset=offset + apart, spread=wide)
    removed = ClassMoments.from_block(other, members, n_classes=2, required_moments=spread)
    both = merge_rescaled(ClassMoments.from_block(x, codes, n_classes=2, required_moments=spread), removed)
    remaining = subtract_moments(both, removed)
    if remaining.moments is None:
        # The bound says so, and nothing else is the matter.
        assert remaining.fault == "digits"
        return
    exact = squares(x, codes, 2)
    if spread == "pooled":
        exact = [[sum(column) for column in zip(*exact, strict=True)]]
    actual = remaining.moments
    assert actual.rows.tolist() == np.bincount(codes, minlength=2).tolist()
    for k, expected in enumerate(exact):
        for j, value in enumerate(expected):
            error = abs(Fraction(float(actual.squares[k, j])) / value - 1)
            assert error <= remaining.error[k, j] + 1e-14
    means = np.stack([x[codes == k].mean(axis=0) for k in range(2)])
    tolerance = np.sqrt(1 + m) * (wide + apart) + offset
    np.testing.assert_allclose(actual.class_means, means, rtol=0, atol=1e-14 * tolerance)


def test_classes_without_removed_rows_are_unchanged():
    x, codes = rows_of(3, 60, 4, 3)
    full = ClassMoments.from_block(x, codes, n_classes=3, required_moments="class")
    subset = codes == 1
    subset[np.flatnonzero(subset)[9:]] = False
    removed = ClassMoments.from_block(x[subset], codes[subset], n_classes=3, required_moments="class")
    remaining = subtract_moments(full, removed).moments
    for name in ("scatters", "roots", "centres"):
        np.testing.assert_array_equal(getattr(remaining, name)[[0, 2]], getattr(full, name)[[0, 2]])


def test_classes_with_one_or_no_remaining_row():
    x, codes = rows_of(4, 30, 2, 3)
    codes[:3] = [0, 1, 2]
    stays = np.zeros(30, dtype=bool)
    stays[np.r_[0, np.flatnonzero(codes == 1)]] = True
    full = ClassMoments.from_block(x, codes, n_classes=3, required_moments="class")
    remaining = subtract_moments(
        full, ClassMoments.from_block(x[~stays], codes[~stays], n_classes=3, required_moments="class")
    )
    assert remaining.moments.rows.tolist() == [1, int((codes == 1).sum()), 0]
    assert not remaining.moments.scatters[[0, 2]].any()
    assert not remaining.moments.roots[[0, 2]].any()
    assert not remaining.moments.class_means[2].any()
    np.testing.assert_allclose(remaining.moments.class_means[0], x[0], atol=1e-14)


def test_weights_equal_repeated_rows():
    x, codes = rows_of(5, 50, 2, 2)
    frequencies = np.random.default_rng(5).integers(1, 4, 50).astype(float)
    subset = slice(0, 20)
    both = ClassMoments.from_block(x, codes, frequencies, n_classes=2, required_moments="class")
    removed = ClassMoments.from_block(
        x[subset], codes[subset], frequencies[subset], n_classes=2, required_moments="class"
    )
    remaining = subtract_moments(both, removed).moments
    again = ClassMoments.from_block(
        np.repeat(x[20:], frequencies[20:].astype(int), axis=0),
        np.repeat(codes[20:], frequencies[20:].astype(int)),
        n_classes=2,
        required_moments="class",
    )
    np.testing.assert_array_equal(remaining.counts, again.counts)
    np.testing.assert_allclose(remaining.scatters, again.scatters, rtol=1e-12, atol=1e-12)


def test_collinear_remaining_columns_are_detected():
    from discrim.core.covariance.covariance import dependencies

    x, codes = rows_of(6, 400, 3, 2)
    x[:200, 2] = x[:200, 0] - x[:200, 1]
    full = ClassMoments.from_block(x, codes, n_classes=2)
    removed = ClassMoments.from_block(x[200:], codes[200:], n_classes=2)
    remaining = subtract_moments(full, removed).moments
    assert [column.column for column in dependencies(remaining)] == [2]


FAULTS = {
    "rows": (slice(0, 30), slice(0, 40)),
    "means": (slice(0, 30), slice(30, 60)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_removed_rows_that_are_not_a_subset_are_refused(fault):
    x, _ = rows_of(7, 60, 2, 1)
    subset, other = FAULTS[fault]
    codes = np.zeros(60, dtype=np.intp)
    full, removed = (ClassMoments.from_block(x[case], codes[case], n_classes=1) for case in (subset, other))
    assert subtract_moments(full, removed).fault == fault
    wider = ClassMoments.from_block(x[:20] * 9, codes[:20], n_classes=1)
    assert subtract_moments(full, wider).fault == "squares"


@pytest.mark.parametrize("spread", ["class", "pooled", "diagonal"])
def test_column_without_correct_digits_is_refused(spread):
    x, codes = rows_of(8, 60, 2, 2)
    x[:30, 1] = 5 + 1e-9 * x[:30, 1]
    full = ClassMoments.from_block(x, codes, n_classes=2, required_moments=spread)
    removed = ClassMoments.from_block(x[30:], codes[30:], n_classes=2, required_moments=spread)
    remaining = subtract_moments(full, removed)
    assert (remaining.moments, remaining.fault, remaining.position[1]) == (None, "digits", 1)
    assert remaining.position[0] == (-1 if spread == "pooled" else 0)


@pytest.mark.parametrize("spread", ["class", "pooled", "diagonal"])
def test_empty_class_is_not_confused_with_a_class_of_two_rows(spread):
    """Three rows are left of three classes, which are not one of each."""
    x, codes = np.random.default_rng(0).standard_normal((6, 2)), np.array([0, 0, 1, 1, 2, 2])
    full, removed, remaining = (
        ClassMoments.from_block(x[position], codes[position], n_classes=3, required_moments=spread)
        for position in (slice(None), [3, 4, 5], [0, 1, 2])
    )
    actual = subtract_moments(full, removed).moments
    squares_of = [m.squares.sum(axis=0) / m.scale**2 for m in (actual, remaining)]
    np.testing.assert_allclose(squares_of[0], squares_of[1], rtol=1e-12)
    assert squares_of[1].min() > 0
