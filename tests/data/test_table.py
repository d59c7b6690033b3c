"""Posteriors of rows that lie row by row or column by column: the same bits, and missing values found."""

from __future__ import annotations

import mmap

import numpy as np
import pandas as pd
import pytest

from discrim import lda, qda
from discrim.core.rules.rules import LinearRule
from discrim.data.table import Table, array_table
from discrim.errors import DataError


@pytest.mark.parametrize("centre", [0.0, 50.0])
@pytest.mark.parametrize(("p", "k"), [(4, 3), (50, 10), (130, 3), (150, 20), (150, 70), (20, 300)])
def test_layouts_give_the_same_bits_and_missing_values_are_found(p, k, centre):
    rng = np.random.default_rng(p)
    x = rng.normal(centre, 1.0, (1500, p))
    rows = pd.DataFrame(x, copy=False).add_prefix("x")
    columns = pd.DataFrame(np.asfortranarray(x), copy=False).add_prefix("x")
    fit = lda("y ~ .", rows.assign(y=np.arange(1500) % k))
    expected = fit.predict_proba(rows)
    pd.testing.assert_frame_equal(fit.predict_proba(columns), expected, check_exact=True)
    holes = rows.copy()
    holes.iloc[[7, 1499], [2, p - 1]] = np.nan
    got = fit.predict_proba(holes).to_numpy()
    assert np.flatnonzero(np.isnan(got).all(axis=1)).tolist() == [7, 1499]
    assert np.isnan(got).sum() == 2 * k
    holes.iloc[9, 1] = np.inf
    with pytest.raises(DataError) as caught:
        fit.predict_proba(holes)
    assert caught.value.columns == ("x1",)
    assert caught.value.rows == (9,)


@pytest.mark.parametrize("order", ["C", "F"])
def test_single_precision_is_read_as_the_doubles_that_it_is(order):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((3000, 7)).astype(np.float32)
    single = pd.DataFrame(np.array(x, order=order), copy=False).add_prefix("x")
    assert Table(single).view(single.columns).dtype == np.float32
    codes = rng.integers(0, 3, 3000)
    fit = lda("y ~ .", single.assign(y=codes))
    pd.testing.assert_frame_equal(fit.cov, lda("y ~ .", single.astype(np.float64).assign(y=codes)).cov)
    expected = fit.predict_proba(single.astype(np.float64))
    pd.testing.assert_frame_equal(fit.predict_proba(single), expected, check_exact=True)
    pd.testing.assert_frame_equal(fit.predict_proba(single[2:3]), expected[2:3], rtol=1e-13)
    holes = single.copy()
    holes.iloc[[0, 2999], 1] = np.nan
    assert np.flatnonzero(fit.predict_proba(holes).isna().all(axis=1)).tolist() == [0, 2999]
    holes.iloc[2500, 3] = -np.inf
    with pytest.raises(DataError) as caught:
        fit.predict_proba(holes)
    assert caught.value.columns == ("x3",)
    assert caught.value.rows == (2500,)


@pytest.mark.parametrize(("p", "k"), [(4, 3), (50, 5), (130, 2)])
def test_quadratic_posteriors_of_either_layout_are_the_same_bits(p, k):
    x = np.random.default_rng(p).standard_normal((1500, p))
    rows, columns = (pd.DataFrame(each, copy=False).add_prefix("x") for each in (x, np.asfortranarray(x)))
    fit = qda("y ~ .", rows.assign(y=np.arange(1500) % k))
    expected = fit.predict_log_proba(rows)
    pd.testing.assert_frame_equal(fit.predict_log_proba(columns), expected, check_exact=True)


@pytest.mark.parametrize(("p", "k", "n"), [(100, 16, 9000), (30, 64, 5000), (301, 5, 6873)])
def test_posteriors_of_a_table_that_is_not_one_array_are_the_same_bits(p, k, n):
    rng = np.random.default_rng(p)
    x = rng.normal(0.0, 1.0, (n, p)).astype(np.float32).astype(np.float64)
    table = pd.DataFrame(x, copy=False).add_prefix("x")
    y = np.arange(1500) % k
    fit = lda("y ~ .", table[:1500].assign(y=y))
    expected = fit.predict_log_proba(table)
    apart = pd.DataFrame({name: x[:, j].copy() for j, name in enumerate(table)}, copy=False)
    for other in (apart, table.astype(np.float32)):
        pd.testing.assert_frame_equal(fit.predict_log_proba(other), expected, check_exact=True)


@pytest.mark.parametrize(("p", "k"), [(200, 10), (130, 3), (50, 16)])
def test_remainder_rows_have_equal_bits_in_both_layouts(p, k):
    rng = np.random.default_rng(p)
    coef = rng.standard_normal((p, k))
    rule = LinearRule(np.zeros(p), np.ones(p), coef, np.zeros(k))
    length = 2**19 // (p * k)
    for m in (1, length + 1, length // 64 * 64 + 1):
        x = rng.standard_normal((m, p))
        np.testing.assert_array_equal(rule.scores(np.asfortranarray(x)), rule.scores(x))


def test_separately_allocated_columns_have_no_view():
    """Two arrays lie at an even distance wherever they are; a fit to such columns once ended Python.

    The one lies in the heap and the other far above it, so that every new array lies between them.
    """
    x = np.random.default_rng(4).standard_normal((75, 3))
    above = np.frombuffer(mmap.mmap(-1, x[:, 1].nbytes), dtype=np.float64)
    above[:] = x[:, 1]
    frame = pd.DataFrame({"y": np.arange(75) % 3, "a": x[:, 0].copy(), "b": above}, copy=False)
    assert frame["b"].to_numpy().ctypes.data == above.ctypes.data
    assert Table(frame).view(["a", "b"]) is None
    for verb in (lda, qda):
        one, apart = (
            verb("y ~ a + b", pd.DataFrame(x, columns=list("abc")).assign(y=frame["y"])),
            verb("y ~ a + b", frame),
        )
        pd.testing.assert_frame_equal(one.predict_log_proba(frame), apart.predict_log_proba(frame))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("names", ["a", "abcd", "ac", "bd", "db", "abd"])
def test_a_view_is_of_one_array_at_even_distances(order, names):
    x = np.asarray(np.random.default_rng(5).standard_normal((9, 4)), order=order)
    frame = pd.DataFrame(x, columns=list("abcd"), copy=False)
    view = Table(frame).view(list(names))
    if names == "abd":
        assert view is None
        return
    assert np.shares_memory(view, x)
    np.testing.assert_array_equal(view, x[:, ["abcd".index(name) for name in names]].T)


def test_a_second_fingerprint_of_the_same_columns_keeps_the_first_values():
    frame = pd.DataFrame({"x": np.arange(6.0), "g": pd.array(["a", "b"] * 3, dtype="string")})
    table = Table(frame)
    table.take_fingerprint(["g", "x"])
    frame.loc[2, "x"] = 9.0
    # A fit under another prior is of the same table, as each fold makes one.
    table.take_fingerprint(["g", "x"])
    with pytest.raises(DataError) as caught:
        table.raise_if_changes()
    assert caught.value.columns == ("x",)
    assert caught.value.rows == (2,)


def test_views_of_columns_can_be_part_of_larger_selections():
    array = np.arange(40.0).reshape(4, 10)
    table = Table(pd.DataFrame(array.T, columns=list("abcd"), copy=False))
    assert table.view(("b", "c")).tolist() == array[1:3].tolist()
    assert table.view(tuple("abcd")).tolist() == array.tolist()
    assert table.view(("b", "d")).tolist() == array[[1, 3]].tolist()
    out = np.empty((3, 4))
    table.fill(tuple("abcd"), 2, 5, out)
    assert out.tolist() == array.T[2:5].tolist()


def test_frames_of_arrays_do_not_share_their_column_index():
    x = np.arange(6.0).reshape(3, 2)
    first = array_table(x, ["a", "b"])
    first.columns.name = "measured"
    second = array_table(x, ("a", "b"))
    assert second.columns.name is None
    assert list(second.columns) == ["a", "b"]
    assert second.columns.dtype == object
    assert np.shares_memory(second.to_numpy(), x)
