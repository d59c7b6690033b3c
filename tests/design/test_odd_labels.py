"""Labels that merge or are renamed, that look alike, and options in whose place something else is given."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DataError, DiscrimError, DroppedColumnsWarning, LabelWarning

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=N) + np.repeat([0, 2], N // 2)
Z = RNG.normal(size=N)
TEXT = np.repeat(["a", "b"], N // 2)
BIG = 2**53
"""From here on doubles miss whole numbers."""


def table(**columns):
    return pd.DataFrame({"x": X, "z": Z, "y": TEXT}).assign(**columns)


def with_one_missing(values):
    return [None, *values[1:]]


# Whole numbers beyond 2^53 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "Int64", "UInt64", "object", "int64[pyarrow]", "category"])
@pytest.mark.parametrize("formula", ["q ~ x + z", "C(q) ~ x + z"])
def test_large_whole_numbers_stay_apart_and_keep_their_names(dtype, formula, tmp_path):
    labels = [BIG] * 30 + [BIG + 1] * 30
    if dtype not in ("int64",):
        labels = with_one_missing(labels)
    q = pd.Series(pd.array(labels, dtype="Int64") if dtype == "category" else labels, dtype=dtype)
    data = table(q=q)
    fit = discrim.lda(formula, data)
    assert fit.classes.tolist() == [BIG, BIG + 1]
    assert set(fit.predict().astype(object)) == {BIG, BIG + 1}
    fit.save(tmp_path / "fit")
    loaded = discrim.load(tmp_path / "fit")
    assert loaded.predict(data).astype(object).tolist() == fit.predict().astype(object).tolist()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_large_categories_of_other_libraries_stay_apart(library):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    ids = with_one_missing(np.tile([BIG, BIG + 1, BIG + 2], 20).tolist())
    data = polars.DataFrame({"x": X, "y": TEXT, "id": ids})
    fit = discrim.lda("y ~ x + C(id)", data if library == "polars" else data.to_arrow())
    assert fit.terms.tolist() == ["x", f"C(id)[T.{BIG + 1}]", f"C(id)[T.{BIG + 2}]"]


@pytest.mark.parametrize("formula", ["q ~ x + z", "C(q) ~ x + z", "y ~ x + C(q)"])
@pytest.mark.parametrize(
    "q",
    [
        pd.Series([None] + [float(BIG)] * 29 + [BIG + 2.0] * 30),
        pd.Series([2.0**24] * 30 + [2.0**24 + 2] * 30, dtype="float32"),
        pd.Series([BIG] * 30 + [BIG + 2.0] * 30, dtype=object),
        pd.Series(pd.Categorical([float(BIG)] * 30 + [BIG + 2.0] * 30)),
    ],
    ids=["float64", "float32", "mixed", "categories"],
)
def test_rounded_labels_raise_with_a_working_hint(formula, q):
    with pytest.raises(DataError) as caught:
        discrim.lda(formula, table(q=q))
    assert caught.value.columns == ("q",)
    way_out = table(q=q.astype(object).where(q.notna(), q.iloc[-1]).astype(str))
    assert discrim.naive_bayes(formula, way_out).nobs == N


def test_rounded_ids_are_not_confused_in_prediction():
    data = table(q=np.tile([BIG, BIG + 2], 30))
    fit = discrim.lda("y ~ x + C(q)", data)
    with pytest.raises(DataError) as caught:
        fit.predict(data.assign(q=data["q"].astype(float)))
    assert caught.value.columns == ("q",)


# Labels that look alike ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("na\u00efve", "nai\u0308ve"),
        ("\ud55c", "\u1112\u1161\u11ab"),
        ("ab", "a\u200bb"),
        ("ab", "ab\ufeff"),
        ("ab", "a\u00adb"),
        ("ab", "\u2066ab\u2069"),
        ("ab", "ab\ufe0e"),
        ("ab", "a\u0000b"),
        ("a b", "a\u00a0b\u200d"),
        ("cat", "\u0441\u0430t"),
        ("CAT", "\u0421\u0410\u0422"),
        ("Cat", "\u0421at"),
        ("HOT", "\u0397\u039f\u03a4"),
        ("volvo", "\u03bd\u03bflv\u03bf"),
        ("ab", "\uff41\uff42"),
        ("cat", "\u03f2at"),
        ("MG", "\u03fa\u050c"),
        ("AB", "\U0001d6a8B"),
        ("x-ray", "x\u2011ray"),
        ("it's", "it\u2019s"),
    ],
)
def test_labels_that_look_alike_are_named_in_a_warning(one, other):
    data = table(y=np.repeat([one, other], 30))
    with pytest.warns(LabelWarning) as caught:
        fit = discrim.lda("y ~ x", data)
    # The message shows what a screen does not.
    assert ascii(other) in str(caught[0].message)
    assert len(fit.classes) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discrim.lda("y ~ x", data, levels=[one, other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe", "caf\u00e9"),
        ("o", "\u00f6"),
        ("1", "l"),
        ("\u0430", "\u0431"),
        ("a_b", "a-b"),
        ("\u4e00", "\u4e8c"),
        ("O", "\u03a3"),
        ("\u0393", "\u03a5"),
        ("R", "\u0413"),
        ("o", "\u03f2"),
    ],
)
def test_distinguishable_labels_cause_no_warning(one, other):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discrim.lda("y ~ x", table(y=np.repeat([one, other], 30)))


@pytest.mark.parametrize("other", ["A", " a", "a\u00a0"])
def test_labels_differing_by_case_and_blanks_warn_once(other):
    with pytest.warns(LabelWarning) as caught:
        discrim.lda("y ~ x", table(y=np.repeat(["a", other], 30)))
    assert len(caught) == 1
    assert "case or blanks" in str(caught[0].message)


# Options ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "levels", [{"a", "b"}, frozenset("ab"), "ab", b"ab", 3, True, 1.5, [], [["a"], ["b"]], ["a", None]]
)
def test_levels_are_a_list_in_order(levels):
    with pytest.raises(DataError) as caught:
        discrim.lda("y ~ x", table(), levels=levels)
    assert "levels" in str(caught.value)


def test_levels_may_come_from_anything_that_has_an_order():
    for levels in (
        ["b", "a"],
        ("b", "a"),
        np.array(["b", "a"]),
        pd.Index(["b", "a"]),
        iter("ba"),
        dict.fromkeys("ba"),
    ):
        assert discrim.lda("y ~ x", table(), levels=levels).classes.tolist() == ["b", "a"]


@pytest.mark.parametrize(
    "weights",
    [
        pd.date_range("2020", periods=N),
        pd.to_timedelta(np.arange(N), unit="s"),
        [str(i) for i in range(N)],
        np.array(["1"] * N, dtype=object),
        np.ones(N) + 0j,
        pd.Categorical([1] * N),
        pd.period_range("2020", periods=N, freq="D"),
        {"a", "b"},
        3,
        [[1]] * N,
    ],
    ids=lambda weights: type(weights).__name__,
)
@pytest.mark.parametrize("place", ["vector", "column"])
def test_weights_that_are_not_numeric_raise(weights, place):
    if place == "column":
        if isinstance(weights, set | int):
            return
        with pytest.raises(DataError) as caught:
            discrim.lda("y ~ x", table(w=weights), weights="w")
        assert "'w'" in str(caught.value)
        return
    with pytest.raises(DataError) as caught:
        discrim.lda("y ~ x", table(), weights=weights)
    assert "weights" in str(caught.value)


@pytest.mark.parametrize("place", ["vector", "column"])
def test_all_missing_weights_raise(place):
    weights = {"vector": [None] * N, "column": "w"}[place]
    with pytest.raises(DataError) as caught:
        discrim.lda("y ~ x", table(w=[None] * N), weights=weights)
    assert "zero" in str(caught.value)
    assert "missing" in str(caught.value)


def test_weights_may_be_numbers_of_any_type():
    from decimal import Decimal

    wanted = discrim.lda("y ~ x", table(), weights=np.full(N, 2.0)).means
    for weights in (
        [2] * N,
        [Decimal(2)] * N,
        pd.array([2] * N, dtype="Int64"),
        pd.Series([2] * N, dtype=object),
    ):
        pd.testing.assert_frame_equal(discrim.lda("y ~ x", table(), weights=weights).means, wanted)


@pytest.mark.parametrize("formula", ["y ~ x + b", "y ~ x * b", "y ~ x + I(b + 1)"])
@pytest.mark.parametrize("value", [7, 0.5, -1])
def test_boolean_columns_accept_only_0_and_1(formula, value, tmp_path):
    data = table(b=Z > 0)
    fit = discrim.lda(formula, data)
    fit.save(tmp_path / "fit")
    for each in (fit, discrim.load(tmp_path / "fit")):
        for ask in (each.predict, each.predict_proba, each.decision_function, each.augment, each.confusion):
            with pytest.raises(DataError) as caught:
                ask(data.assign(b=value))
            assert caught.value.columns == ("b",)
            assert caught.value.rows == (0,)
        pd.testing.assert_series_equal(each.predict(data.assign(b=data["b"].astype(int))), each.predict(data))
        assert (
            each.predict(data.assign(b=data["b"].astype(float).where(X > 0))).isna().sum() == (X <= 0).sum()
        )


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
def test_augment_overwrites_no_column():
    fit = discrim.lda("y ~ x + z", table())
    for name in (".fitted", ".posterior.a"):
        taken = table(**{name: 1})
        with pytest.raises(DataError, match=f"'{name}', which the table already has") as caught:
            fit.augment(taken)
        assert caught.value.columns == (name,)
        # The hint is an expression that works.
        renamed = eval(caught.value.hint.removeprefix("Rename it: ").rstrip("."), {"data": taken})
        assert fit.augment(renamed).columns.is_unique
    line = discrim.perceptron("y ~ x + z", table(), maxiter=5)
    with pytest.raises(DataError) as caught:
        line.augment(table(**{".fitted": 1}))
    assert caught.value.columns == (".fitted",)


@pytest.mark.parametrize(
    "bound", ["a", "0.1", np.array([0.1, 0.2]), [0.1], True, 1j, np.nan, b"1", {}, -1, np.inf]
)
@pytest.mark.parametrize("name", ["reject", "outlier"])
def test_bounds_are_numbers(name, bound):
    fit = discrim.lda("y ~ x + z", table())
    with pytest.raises(DataError, match=rf"{name}=.* is not valid\. Pass a .*number"):
        fit.predict(**{name: bound})


@pytest.mark.parametrize("sections", [3, True, 1.5, {"header"}, [3], [["header"]], "no such"])
def test_sections_are_names(sections):
    fit = discrim.lda("y ~ x + z", table())
    with pytest.raises(DataError, match=r"sections=|Unknown section"):
        fit.summary(sections)


def test_a_summary_of_long_labels_takes_time_in_proportion():
    from time import process_time

    took = {}
    for length in (1_000, 32_000):
        long = [letter * length for letter in "ab"]
        fit = discrim.lda("y ~ x + z", table(y=np.repeat(long, 30)))
        fit.summary().as_text()
        start = process_time()
        text = fit.summary().as_text()
        took[length] = process_time() - start
        assert max(map(len, text.splitlines())) <= 100
    # Quadratic time would be a thousand times as long.
    assert took[32_000] < 30 * took[1_000] + 1


# Columns of odd values -------------------------------------------------------------------------------------

ODD = {
    "lists": [[1, 2]] * N,
    "nulls": [None] * N,
    "missing numbers": [np.nan] * N,
    "NA": [pd.NA] * N,
    "beyond doubles": [10**400 + i for i in range(N)],
    "one beyond doubles": [-(10**5000)] + [1] * (N - 1),
    "infinite": [float("inf"), 1] * (N // 2),
    "bytes": [b"a", b"b"] * (N // 2),
    "types": [int, str] * (N // 2),
    "arrays": [np.ones(2)] * N,
    "dicts": [{"a": 1}] * N,
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("formula", ["y ~ x + q", "y ~ x + C(q)", "y ~ x + log(q)", "q ~ x", "C(q) ~ x"])
def test_odd_columns_are_refused_by_name(kind, formula):
    with pytest.raises(DiscrimError) as caught:
        discrim.lda(formula, table(q=pd.Series(ODD[kind], dtype=object)))
    assert "q" in str(caught.value)


@pytest.mark.filterwarnings("ignore::discrim.errors.PrecisionWarning")
@pytest.mark.parametrize("kind", ["lists", "nulls", "wide integers", "wide unsigned"])
@pytest.mark.parametrize("formula", ["y ~ x + q", "y ~ x + C(q)", "q ~ x"])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_odd_columns_of_other_libraries_are_read_or_refused(library, formula, kind):
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    if kind == "wide integers" and library == "pyarrow":
        pytest.skip("Arrow has no such integers")
    q = {
        "lists": lambda: polars.Series([[1, 2]] * N),
        "nulls": lambda: polars.Series([None] * N),
        "wide integers": lambda: polars.Series([10**30, 2 * 10**30] * (N // 2), dtype=polars.Int128),
        "wide unsigned": lambda: polars.Series([2**64 - 1, 1] * (N // 2), dtype=polars.UInt64),
    }[kind]()
    data = polars.DataFrame({"x": X, "y": TEXT, "q": q})
    if kind.startswith("wide"):
        assert (
            len(discrim.naive_bayes(formula, data if library == "polars" else data.to_arrow()).classes) == 2
        )
        return
    with pytest.raises(DataError) as caught:
        discrim.lda(formula, data if library == "polars" else data.to_arrow())
    assert "'q'" in str(caught.value)


@pytest.mark.parametrize("value", [[1], {"a": 1}, np.ones(2), {1}])
@pytest.mark.parametrize("formula", ["y ~ x + q", "y ~ x + C(q)"])
def test_values_that_cannot_be_levels_raise_with_the_row(formula, value):
    fit = discrim.lda(formula, table(q=["u", "v", "w"] * 20))
    new = table(q=pd.Series(["u", value] * 30, dtype=object))
    for ask in (fit.predict, fit.augment, fit.confusion):
        with pytest.raises(DataError) as caught:
            ask(new)
        assert caught.value.columns == ("q",)
        assert caught.value.rows == (1,)


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA])
def test_tables_with_missing_values_of_any_type_are_recognized(nothing):
    data = table(q=pd.Series(["u", "v", nothing] * 20, dtype=object))
    fit = discrim.lda("y ~ x + q", data)
    assert fit.predict().isna().sum() == 20
    assert fit.leave_one_out()["label"].isna().sum() == 20


def test_tables_are_recognized_if_a_column_was_dropped():
    data = pd.DataFrame(np.column_stack([X, Z]), columns=["x", "z"]).assign(y=TEXT, q="one")
    with pytest.warns(DroppedColumnsWarning, match="'q'"):
        fit = discrim.lda("y ~ .", data)
    fit.confusion()
    assert fit.error_rates("loo").shape[0] == 1


@pytest.mark.parametrize("verb", ["lda", "naive_bayes", "logistic"])
def test_missing_computed_category_is_not_the_last_level(verb):
    """A negative number has no root: its row once had the last level that was found before it."""
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.integers(1, 4, 60) ** 2.0, "z": rng.normal(size=60)})
    data["y"] = rng.choice(["u", "v"], 60)
    fit = getattr(discrim, verb)("y ~ C(sqrt(x)) + z", data)
    data.loc[[7, 30], "x"] = -1.0
    with pytest.raises(DataError) as caught:
        getattr(discrim, verb)("y ~ C(sqrt(x)) + z", data)
    assert "is nan at row 7, where x = -1" in str(caught.value)
    with pytest.raises(DataError) as caught:
        fit.predict(data)
    assert "is nan at row 7, where x = -1" in str(caught.value)
