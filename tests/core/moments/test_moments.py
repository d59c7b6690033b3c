"""Identities of the numbers: merging, blocks, weights, affine maps, certified values."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discrim import lda, qda
from discrim.core.moments.moments import ClassMoments, gather, gather_wide, merge_rescaled

SPREADS = ("pooled", "class", "diagonal")
K = 3


@st.composite
def rows(draw, most=12, columns=2):
    n = draw(st.integers(0, most))
    x = draw(arrays(np.float64, (n, columns), elements=st.floats(-100, 100).map(lambda v: round(v, 3))))
    codes = draw(arrays(np.intp, n, elements=st.integers(0, K - 1)))
    return x, codes


def moments(x, codes, spread, weights=None):
    return ClassMoments.from_block(x, codes, weights, n_classes=K, required_moments=spread)


def reference_moments(x, codes, spread):
    """Counts, means and scatters by their definitions."""
    parts = [x[codes == k] for k in range(K)]
    means = np.array([p.mean(axis=0) if len(p) else np.zeros(x.shape[1]) for p in parts])
    scatters = np.array([(p - m).T @ (p - m) for p, m in zip(parts, means, strict=True)])
    if spread == "pooled":
        scatters = scatters.sum(axis=0, keepdims=True)
    if spread == "diagonal":
        scatters = np.diagonal(scatters, axis1=1, axis2=2)
    return np.array([len(p) for p in parts]), means, scatters


def assert_same(a: ClassMoments, b: ClassMoments) -> None:
    np.testing.assert_array_equal(a.counts, b.counts)
    np.testing.assert_array_equal(a.rows, b.rows)
    np.testing.assert_allclose(a.class_means, b.class_means, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(a.scatters, b.scatters, rtol=1e-10, atol=1e-8)


@settings(max_examples=60)
@given(rows(), st.sampled_from(SPREADS))
def test_moments_match_their_definitions(block, spread):
    gathered = moments(*block, spread)
    counts, means, scatters = reference_moments(*block, spread)
    np.testing.assert_array_equal(gathered.counts, counts)
    np.testing.assert_allclose(gathered.class_means, means, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(gathered.scatters, scatters, rtol=1e-10, atol=1e-8)


@pytest.mark.slow
@settings(max_examples=60)
@given(rows(), rows(), rows(), st.sampled_from(SPREADS))
def test_merging_is_associative_and_commutative_with_empty_identity(a, b, c, spread):
    x, y, z = (moments(*block, spread) for block in (a, b, c))
    together = moments(np.concatenate([a[0], b[0], c[0]]), np.concatenate([a[1], b[1], c[1]]), spread)
    assert_same(x.merge(y).merge(z), together)
    assert_same(x.merge(y.merge(z)), together)
    assert_same(z.merge(x).merge(y), together)
    nothing = moments(np.zeros((0, 2)), np.zeros(0, dtype=np.intp), spread)
    assert_same(x.merge(nothing), x)
    assert_same(nothing.merge(x), x)


@settings(max_examples=40)
@given(rows(most=8), st.sampled_from(SPREADS))
def test_integer_weights_equal_repeated_rows(block, spread):
    x, codes = block
    weights = np.arange(len(x)) % 4
    frequencies = weights.astype(int)
    weighted = moments(x, codes, spread, weights.astype(float))
    repeated = moments(np.repeat(x, frequencies, axis=0), np.repeat(codes, frequencies), spread)
    np.testing.assert_array_equal(weighted.counts, repeated.counts)
    np.testing.assert_allclose(weighted.class_means, repeated.class_means, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(weighted.scatters, repeated.scatters, rtol=1e-10, atol=1e-8)


@cache
def ordered_rows(order, apart):
    """Return rows, codes, and means and scatters of the classes in extended precision."""
    rng = np.random.default_rng(11)
    codes = np.sort(rng.integers(0, K, 9_000))
    x = rng.standard_normal((len(codes), 25)) + apart * codes[:, None]
    if order == "drifting":
        x += np.linspace(0, 1e4, len(x))[:, None]
    if order == "shuffled":
        turn = rng.permutation(len(x))
        x, codes = x[turn], codes[turn]
    _, means, scatters = reference_moments(np.asarray(x, dtype=np.longdouble), codes, "class")
    return x, codes, means, scatters


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("order", ["sorted", "shuffled", "drifting"])
@pytest.mark.parametrize("apart", [0.5, 1e3])
def test_row_order_and_class_distance_do_not_matter(spread, order, apart):
    x, codes, means, scatters = ordered_rows(order, apart)
    blocks = [(x[i : i + 300], codes[i : i + 300], None) for i in range(0, len(x), 300)]
    gathered = gather(blocks, n_classes=K, n_columns=25, required_moments=spread)
    if spread == "pooled":
        scatters = scatters.sum(axis=0, keepdims=True)
    if spread == "diagonal":
        scatters = np.diagonal(scatters, axis1=1, axis2=2)
    np.testing.assert_allclose(gathered.class_means, means.astype(float), rtol=1e-13)
    size = np.abs(scatters).max()
    np.testing.assert_allclose(gathered.scatters, scatters.astype(float), rtol=0, atol=float(size) * 1e-12)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([lda, qda]),
    st.sampled_from(["moment", "mle"]),
    st.floats(-1e3, 1e3),
)
def test_posteriors_are_invariant_to_affine_maps(seed, verb, method, shift):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], 15)
    x = rng.standard_normal((45, 3)) + rng.standard_normal((3, 3))[codes]
    turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    transformed = x @ (turn * rng.uniform(0.1, 10, 3)) + shift
    fits = [
        verb("y ~ .", pd.DataFrame(values, columns=list("abc")).assign(y=codes), method=method)
        for values in (x, transformed)
    ]
    one, other = (fit.predict_log_proba() for fit in fits)
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    assert fits[0].df_model == fits[1].df_model


def test_a_fit_from_merged_chunks_keeps_the_digits_of_far_data():
    rng = np.random.default_rng(2)
    codes = np.repeat([0, 1], 500)
    noise = np.round(rng.standard_normal((1000, 2)), 3)
    x = noise + 1e9 + codes[:, None]
    chunks = [moments(x[i : i + 100], codes[i : i + 100], "pooled") for i in range(0, 1000, 100)]
    merged = chunks[0]
    for chunk in chunks[1:]:
        merged = merged.merge(chunk)
    _, _, exact = reference_moments(x.astype(np.longdouble), codes, "pooled")
    np.testing.assert_allclose(merged.scatters, exact.astype(float), rtol=1e-13, atol=1e-10)


@pytest.mark.parametrize("exponents", [(-531, -531), (531, 0), (-540, 400)])
@pytest.mark.parametrize("spread", SPREADS)
def test_common_unit_makes_scatters_proportional_to_the_data(spread, exponents):
    x, codes = np.random.default_rng(3).normal(size=(30, 2)), np.arange(30) % K
    gathered = moments(x * np.ldexp(1.0, exponents), codes, spread)
    scales = np.sqrt(gathered.squares.sum(axis=0)) * gathered.common_unit
    unscaled = np.log2(np.sqrt(moments(x, codes, spread).squares.sum(axis=0))) + exponents
    np.testing.assert_allclose(np.diff(np.log2(scales)), np.diff(unscaled), rtol=1e-12)


@pytest.mark.parametrize("spread", SPREADS)
def test_class_first_seen_in_a_later_block_has_its_own_mean(spread):
    """The first two classes lie about one centre, about which the sums may be taken; the third is near."""
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [np.repeat(rng.standard_normal((100, 3)), 2, axis=0), 0.5 + rng.standard_normal((80, 3))]
    )
    codes = np.concatenate([np.arange(200) % 2, np.arange(80) % 2 + 1])
    blocks = [
        (x[position], codes[position], None) for position in (slice(0, 200), slice(200, 240), slice(240, 280))
    ]
    gathered = gather(blocks, n_classes=K, n_columns=3, required_moments=spread)
    means = np.stack([x[codes == k].mean(axis=0) for k in range(K)])
    np.testing.assert_allclose(gathered.class_means, means, atol=1e-13)
    squares = np.square((x - means[codes]) * gathered.scale).sum(axis=0)
    np.testing.assert_allclose(gathered.squares.sum(axis=0), squares, rtol=1e-12)


@pytest.mark.parametrize("spread", ["pooled", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_many_classes_equal_row_means(spread, weighted):
    rng = np.random.default_rng(8)
    n, k = 900, 60
    x, codes = rng.standard_normal((n, 4)) + 3.0, np.append(np.arange(k), rng.integers(0, k, n - k))
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    gathered = ClassMoments.from_block(x, codes, weights, n_classes=k, required_moments=spread)
    count = np.ones(n) if weights is None else weights
    for c in range(k):
        members = codes == c
        mean = np.average(x[members], axis=0, weights=count[members])
        np.testing.assert_allclose(gathered.means[c] + gathered.origin, mean, rtol=1e-13)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("unit", [1e-290, 1e-160, 1e160])
def test_moments_of_different_sizes_merge_in_either_order(spread, unit):
    """The scale is that of the larger values, also if these are of ordinary size."""
    rng = np.random.default_rng(0)
    unscaled, extreme = rng.normal(size=(30, 2)), unit * rng.normal(size=(30, 2))
    codes = np.arange(30) % K
    pieces = [moments(unscaled, codes, spread), moments(extreme, codes, spread)]
    direct = moments(np.concatenate([unscaled, extreme]), np.concatenate([codes, codes]), spread)
    with np.errstate(over="raise", invalid="raise"):
        for pair in (pieces, pieces[::-1]):
            both = merge_rescaled(*pair)
            np.testing.assert_allclose(both.class_means, direct.class_means, rtol=1e-12)
            np.testing.assert_allclose(
                np.sqrt(both.squares) / both.scale, np.sqrt(direct.squares) / direct.scale, rtol=1e-12
            )


@pytest.mark.parametrize("spread", ["thin", "diagonal"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_parts", [0, 4])
@pytest.mark.parametrize("m", [7, 40])
def test_moments_of_few_rows_of_many_columns(spread, weighted, n_parts, m):
    """Of all rows or without each part, they equal the moments of a pass over these rows."""
    rng = np.random.default_rng(m)
    n, p, offset = 40, 150, np.array([0.0, 1e6, -1e-3] * 50)
    codes = np.where(np.arange(n) < 3, 1, rng.integers(0, 2, n) * 2)
    x = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-3, 3, p) + offset
    x[:, 5] = 1e8
    x[4:, 6] = 0.1
    x[codes == 1] += 7.0
    weights = rng.integers(0, 4, n).astype(float) if weighted else None
    parts = rng.integers(0, max(n_parts, 1), n)
    blocks = [
        (x[i : i + m], (parts * K + codes)[i : i + m], None if weights is None else weights[i : i + m])
        for i in range(0, n, m)
    ]
    found = gather_wide(blocks, n_parts=n_parts, n_classes=K, n_columns=p, required_moments=spread)
    assert len(found) == max(n_parts, 1)
    for part, outside in enumerate(found):
        used = parts != part if n_parts else parts >= 0
        expected = moments(x[used], codes[used], spread, None if weights is None else weights[used])
        assert outside.scatter_type == spread
        np.testing.assert_array_equal(outside.rows, expected.rows)
        np.testing.assert_array_equal(outside.counts, expected.counts)
        sd = np.sqrt(expected.squares.sum(axis=0) / n) + 1e-15 * np.abs(expected.class_means).max(axis=0)
        assert (
            np.abs(outside.class_means - expected.class_means)
            <= 1e-13 * sd + np.spacing(np.abs(x).max(axis=0))
        ).all()
        np.testing.assert_allclose(outside.squares / sd**2, expected.squares / sd**2, rtol=1e-12, atol=1e-12)
        if spread == "thin":
            unit = np.where(sd > 0, sd, 1.0)
            found_root, root = outside.roots[0] / unit, expected.roots[0] / unit
            np.testing.assert_allclose(found_root.T @ found_root, root.T @ root, rtol=1e-11, atol=1e-11)


def test_moments_without_a_part_are_accurate_if_the_part_has_the_largest_deviations():
    rng = np.random.default_rng(8)
    n, p, n_parts = 40, 60, 4
    codes, parts = np.arange(n) % K, rng.permutation(np.arange(n) % n_parts)
    x = rng.standard_normal((n, p))
    row = int(np.flatnonzero(parts == 2)[0])
    x[row, 3] = 1e12
    x[:, 4] = np.where(parts == 1, x[:, 4], 0.1)
    found = gather_wide(
        [(x, parts * K + codes, None)], n_parts=n_parts, n_classes=K, n_columns=p, required_moments="diagonal"
    )
    assert (found[1].squares[:, 4] == 0).all()
    for part, outside in enumerate(found):
        means = np.stack([x[(parts != part) & (codes == k)].mean(axis=0) for k in range(K)])
        within = (x - means[codes])[parts != part] ** 2
        squares = np.stack([within[codes[parts != part] == k].sum(axis=0) for k in range(K)])
        np.testing.assert_allclose(outside.squares, squares, rtol=1e-12, atol=1e-28)
        np.testing.assert_allclose(outside.class_means, means, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_columns_of_extreme_sizes_are_not_gathered_without_a_scale(size):
    x = np.random.default_rng(1).standard_normal((6, 9)) * np.where(np.arange(9) == 4, size, 1.0)
    blocks = [(x, np.arange(6) % K, None)]
    assert gather_wide(blocks, n_classes=K, n_columns=9, required_moments="thin") is None


@cache
def weighted_rows(n_classes, mean, weighted):
    """Return rows, codes, weights or None, and the means by class and the pooled scatter by definition."""
    rng = np.random.default_rng(n_classes)
    x = rng.standard_normal((8000, 48)) + mean
    codes = rng.integers(0, n_classes, 8000)
    weights = rng.choice([0.0, 0.5, 2.0], 8000) if weighted else None
    w = np.ones(8000) if weights is None else weights
    scatter, means = np.zeros((48, 48)), {}
    for k in np.unique(codes[w > 0]):
        members = (codes == k) & (w > 0)
        means[k] = np.average(x[members], axis=0, weights=w[members])
        deviations = x[members] - means[k]
        scatter += (deviations * w[members, None]).T @ deviations
    return x, codes, weights, means, scatter


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n_classes", [3, 40, 700])
@pytest.mark.parametrize(("mean", "weighted"), [(0.0, False), (0.0, True), (50.0, False), (50.0, True)])
def test_moments_do_not_depend_on_the_memory_order_of_blocks(order, n_classes, mean, weighted):
    x, codes, weights, means, scatter = weighted_rows(n_classes, mean, weighted)
    ordered = np.asarray(x, order=order)
    blocks = [
        (ordered[rows], codes[rows], None if weights is None else weights[rows])
        for rows in (slice(0, 500), slice(500, 8000))
    ]
    before = ordered.copy()
    ours = gather(blocks, n_classes=n_classes, n_columns=48, required_moments="pooled", with_roots=False)
    assert (ordered == before).all()  # Blocks near zero are not copied, and must not be changed.
    expected = np.array(list(means.values()))
    np.testing.assert_allclose(ours.class_means[list(means)], expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ours.scatters[0], scatter, rtol=1e-10, atol=1e-9)
