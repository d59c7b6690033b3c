"""Rows taken out of moments again, against exact arithmetic of the rows that are left."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discrim.core.moments.derived_moments import moments_without
from discrim.core.moments.moments import ClassMoments, merged


def rows_of(seed, n, p, k, *, far=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    return far + spread * rng.standard_normal((n, p)), rng.integers(0, k, n)


def squares(x, codes, k):
    """Sums of squares (K, p) about class means, as fractions."""
    found = []
    for each in range(k):
        own = [[Fraction(v) for v in row] for row in x[codes == each].tolist()]
        columns = list(zip(*own, strict=True))
        means = [sum(column) / len(own) for column in columns]
        found.append([sum((v - m) ** 2 for v in c) for c, m in zip(columns, means, strict=True)])
    return found


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.tuples(st.integers(6, 40), st.integers(1, 60)),
    far=st.sampled_from([0.0, 10.0, 1e6]),
    apart=st.sampled_from([0.0, 3.0, 1e3, 1e5]),
    wide=st.sampled_from([1.0, 1e2, 1e5]),
    spread=st.sampled_from(["class", "pooled", "diagonal"]),
)
def test_what_is_left_has_the_digits_that_are_promised(seed, sizes, far, apart, wide, spread):
    n, m = sizes
    x, codes = rows_of(seed, n, 3, 2, far=far)
    codes[:4] = [0, 0, 1, 1]
    other, own = rows_of(seed + 1, m, 3, 2, far=far + apart, spread=wide)
    gone = ClassMoments.from_block(other, own, n_classes=2, spread=spread)
    both = merged(ClassMoments.from_block(x, codes, n_classes=2, spread=spread), gone)
    left = moments_without(both, gone)
    if left.moments is None:
        # The bound says so, and nothing else is the matter.
        assert left.fault == "digits"
        return
    exact = squares(x, codes, 2)
    if spread == "pooled":
        exact = [[sum(column) for column in zip(*exact, strict=True)]]
    found = left.moments
    assert found.rows.tolist() == np.bincount(codes, minlength=2).tolist()
    for k, wanted in enumerate(exact):
        for j, value in enumerate(wanted):
            error = abs(Fraction(float(found.squares[k, j])) / value - 1)
            assert error <= left.error[k, j] + 1e-14
    means = np.stack([x[codes == k].mean(axis=0) for k in range(2)])
    reach = np.sqrt(1 + m) * (wide + apart) + far
    np.testing.assert_allclose(found.class_means, means, rtol=0, atol=1e-14 * reach)


def test_classes_that_lose_nothing_keep_their_bits():
    x, codes = rows_of(3, 60, 4, 3)
    whole = ClassMoments.from_block(x, codes, n_classes=3, spread="class")
    some = codes == 1
    some[np.flatnonzero(some)[9:]] = False
    gone = ClassMoments.from_block(x[some], codes[some], n_classes=3, spread="class")
    left = moments_without(whole, gone).moments
    for name in ("scatters", "roots", "centres"):
        np.testing.assert_array_equal(getattr(left, name)[[0, 2]], getattr(whole, name)[[0, 2]])


def test_a_class_of_one_row_left_has_no_scatter_and_one_of_none_no_mean():
    x, codes = rows_of(4, 30, 2, 3)
    codes[:3] = [0, 1, 2]
    stays = np.zeros(30, dtype=bool)
    stays[np.r_[0, np.flatnonzero(codes == 1)]] = True
    whole = ClassMoments.from_block(x, codes, n_classes=3, spread="class")
    left = moments_without(
        whole, ClassMoments.from_block(x[~stays], codes[~stays], n_classes=3, spread="class")
    )
    assert left.moments.rows.tolist() == [1, int((codes == 1).sum()), 0]
    assert not left.moments.scatters[[0, 2]].any()
    assert not left.moments.roots[[0, 2]].any()
    assert not left.moments.class_means[2].any()
    np.testing.assert_allclose(left.moments.class_means[0], x[0], atol=1e-14)


def test_weights_are_rows():
    x, codes = rows_of(5, 50, 2, 2)
    times = np.random.default_rng(5).integers(1, 4, 50).astype(float)
    part = slice(0, 20)
    both = ClassMoments.from_block(x, codes, times, n_classes=2, spread="class")
    gone = ClassMoments.from_block(x[part], codes[part], times[part], n_classes=2, spread="class")
    left = moments_without(both, gone).moments
    again = ClassMoments.from_block(
        np.repeat(x[20:], times[20:].astype(int), axis=0),
        np.repeat(codes[20:], times[20:].astype(int)),
        n_classes=2,
        spread="class",
    )
    np.testing.assert_array_equal(left.counts, again.counts)
    np.testing.assert_allclose(left.scatters, again.scatters, rtol=1e-12, atol=1e-12)


def test_collinear_columns_that_are_left_are_seen_as_such():
    from discrim.core.covariance.covariance import dependencies

    x, codes = rows_of(6, 400, 3, 2)
    x[:200, 2] = x[:200, 0] - x[:200, 1]
    whole = ClassMoments.from_block(x, codes, n_classes=2)
    gone = ClassMoments.from_block(x[200:], codes[200:], n_classes=2)
    left = moments_without(whole, gone).moments
    assert [each.column for each in dependencies(left)] == [2]


FAULTS = {
    "rows": (slice(0, 30), slice(0, 40)),
    "means": (slice(0, 30), slice(30, 60)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_rows_that_are_no_part_of_the_others(fault):
    x, _ = rows_of(7, 60, 2, 1)
    some, other = FAULTS[fault]
    codes = np.zeros(60, dtype=np.intp)
    held, gone = (ClassMoments.from_block(x[each], codes[each], n_classes=1) for each in (some, other))
    assert moments_without(held, gone).fault == fault
    wider = ClassMoments.from_block(x[:20] * 9, codes[:20], n_classes=1)
    assert moments_without(held, wider).fault == "squares"


@pytest.mark.parametrize("spread", ["class", "pooled", "diagonal"])
def test_a_column_without_digits_is_refused(spread):
    x, codes = rows_of(8, 60, 2, 2)
    x[:30, 1] = 5 + 1e-9 * x[:30, 1]
    whole = ClassMoments.from_block(x, codes, n_classes=2, spread=spread)
    gone = ClassMoments.from_block(x[30:], codes[30:], n_classes=2, spread=spread)
    left = moments_without(whole, gone)
    assert (left.moments, left.fault, left.at[1]) == (None, "digits", 1)
    assert left.at[0] == (-1 if spread == "pooled" else 0)


@pytest.mark.parametrize("spread", ["class", "pooled", "diagonal"])
def test_a_class_of_no_row_left_does_not_stand_for_one_of_two(spread):
    """Three rows are left of three classes, which are not one of each."""
    x, codes = np.random.default_rng(0).standard_normal((6, 2)), np.array([0, 0, 1, 1, 2, 2])
    whole, gone, left = (
        ClassMoments.from_block(x[at], codes[at], n_classes=3, spread=spread)
        for at in (slice(None), [3, 4, 5], [0, 1, 2])
    )
    found = moments_without(whole, gone).moments
    squares_of = [m.squares.sum(axis=0) / m.scale**2 for m in (found, left)]
    np.testing.assert_allclose(squares_of[0], squares_of[1], rtol=1e-12)
    assert squares_of[1].min() > 0
