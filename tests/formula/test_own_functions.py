"""Functions of the user's own: called once on a whole column, by row, in the order of the index."""

import warnings

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim import lda, naive_bayes, qda
from discrim.errors import DataError, DiscrimError, DiscrimWarning, FormulaError

ROWS = 20_000
"""More than a block of any width."""


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(14)
    x = rng.normal(size=300) * 3 + 10
    y = np.where(x + 4 * rng.normal(size=300) > 10, "b", "a")
    return pd.DataFrame({"y": y, "x": x, "z": rng.normal(size=300)})


@pytest.fixture(scope="module")
def long():
    rng = np.random.default_rng(15)
    x = np.sort(rng.normal(size=ROWS))
    y = np.where(x + 0.5 * rng.normal(size=ROWS) > 0, "b", "a")
    return pd.DataFrame({"y": y, "x": x, "z": rng.normal(size=ROWS)})


OTHER_ROWS = {
    "mean": lambda x: x - x.mean(),
    "ranks": lambda x: x.rank(),
    "share of ranks": lambda x: x.rank(pct=True),
    "zscore": lambda x: (x - x.mean()) / x.std(),
    "range": lambda x: (x - x.min()) / (x.max() - x.min()),
    "largest": lambda x: x / x.max(),
    "winsorized": lambda x: x.clip(upper=x.quantile(0.99)),
    "median": lambda x: x > x.median(),
    "order": lambda x: x.cumsum(),
    "differences": lambda x: x.diff().fillna(0),
    "shift": lambda x: x.shift(fill_value=0.0),
    "position": lambda x: np.arange(len(x)),
    "number of rows": lambda x: x * len(x),
    "chance": lambda x: x + np.random.default_rng().normal(size=len(x)),
    "quantile bins": lambda x: pd.qcut(x, 3, labels=["low", "mid", "high"]),
    "even bins": lambda x: pd.cut(x, 3, labels=["low", "mid", "high"]),
    "dummies": lambda x: pd.get_dummies(x.round(-1)).astype(float),
    "counts": lambda x: x.round().map(x.round().value_counts()),
    "codes": lambda x: x.round().astype("category").cat.codes,
    "sorted": lambda x: np.sort(x),
    "reset": lambda x: x.sort_values().reset_index(drop=True),
    "precomputed": lambda x: np.arange(300.0),
}


@pytest.mark.parametrize("own", OTHER_ROWS.values(), ids=OTHER_ROWS)
def test_functions_that_use_other_rows_raise(own, table):
    shuffled = table.sample(frac=1, random_state=3)
    with pytest.raises(FormulaError) as caught:
        lda("y ~ f(x) + z", shuffled, functions={"f": own})
    assert "functions=" in str(caught.value)


@pytest.mark.parametrize("formula", ["y ~ f(x)", "y ~ f(x) + z", "y ~ C(f(x))", "y ~ log(f(x) + 99)"])
def test_message_names_function_row_and_hint(formula, table):
    formula = formula.replace("log(f(x) + 99)", "log(I(f(x) + 99))")
    with pytest.raises(FormulaError) as caught:
        lda(formula, table, functions={"f": lambda x: x - x.mean()})
    assert caught.value.rows == (299,)


def test_hint_for_functions_of_several_rows_works(long):
    # The way out of the message: center() remembers, so that a row is the same by itself.
    fit = lda("y ~ center(x) + z", long)
    pd.testing.assert_frame_equal(fit.predict_proba(long.iloc[[7]]), fit.predict_proba().iloc[[7]])
    ready = long.assign(c=long["x"] - long["x"].mean())
    assert lda("y ~ c + z", ready).llf == pytest.approx(fit.llf, rel=1e-12)


BY_ROW = {
    "log": lambda x: np.log(np.abs(x)),
    "array": lambda x: np.sqrt(np.abs(x.to_numpy())),
    "list": lambda x: [float(v) ** 2 for v in x],
    "matrix": lambda x: np.column_stack([x, x**2]),
    "frame": lambda x: pd.DataFrame({"one": x, "two": np.sin(x)}),
    "product": lambda x: np.column_stack([x, x**2, x**3]) @ np.array([0.3, 0.1, 0.07]),
    "nullable": lambda x: x.astype("Float64") / 3,
    "truth": lambda x: x > 1,
    "fixed bins": lambda x: pd.cut(x, [-99, 0, 9, 99], labels=["low", "mid", "high"]),
    "text": lambda x: np.where(x > 9, "large", "small"),
    "words": lambda x: (x > 9).map({True: "large", False: "small"}).astype("category"),
    "fills nothing": lambda x: x.fillna(x.median()) * 2,
    "fresh index": lambda x: pd.Series(x.to_numpy() * 2),
    "turned": lambda x: (x * 2).sort_index(),
    "by value": lambda x: (x**2).sort_values(),
    "turned frame": lambda x: pd.DataFrame({"a": x, "b": x**2}).iloc[::-1],
}


@pytest.mark.filterwarnings("ignore::discrim.errors.DroppedColumnsWarning")
@pytest.mark.parametrize("name", BY_ROW)
def test_a_row_is_the_same_whatever_its_neighbours(name, table):
    own = BY_ROW[name]
    shuffled = table.sample(frac=1, random_state=4)
    fit = lda("y ~ f(x) + z", shuffled, functions={"f": own})
    whole = fit.predict_proba()
    for rows in ([3], [250, 4, 17], list(range(0, 300, 7))):
        alone = fit.predict_proba(shuffled.iloc[rows])
        np.testing.assert_allclose(alone, whole.iloc[rows], rtol=1e-12)


@pytest.mark.parametrize("index", ["shuffled", "text", "default"])
@pytest.mark.parametrize(
    "turn",
    [
        lambda s: s.sort_values(),
        lambda s: s.sort_index(ascending=False),
        lambda s: s.sample(frac=1, random_state=1),
    ],
)
def test_a_series_is_aligned_by_its_index(turn, index, table):
    frame = {
        "shuffled": table.sample(frac=1, random_state=5),
        "text": table.set_index(np.array([f"r{(7 * i) % 300}" for i in range(300)])),
        "default": table,
    }[index]
    straight = lda("y ~ f(x) + z", frame, functions={"f": lambda x: x**2})
    turned = lda("y ~ f(x) + z", frame, functions={"f": lambda x: turn(x**2)})
    pd.testing.assert_frame_equal(turned.coef, straight.coef)
    pd.testing.assert_frame_equal(turned.predict_proba(), straight.predict_proba())


def test_a_series_of_a_foreign_index_is_refused(table):
    frame = table.set_index(np.arange(300) + 1000)
    with pytest.raises(FormulaError) as caught:
        lda("y ~ f(x)", frame, functions={"f": lambda x: x.set_axis(np.arange(len(x)) + 5)})
    assert "f()" in str(caught.value)
    twice = table.set_index(np.zeros(300, dtype=int))
    with pytest.raises(FormulaError) as caught:
        lda("y ~ f(x)", twice, functions={"f": lambda x: x.set_axis(np.ones(len(x), dtype=int))})
    assert "f()" in str(caught.value)
    assert lda("y ~ f(x)", twice, functions={"f": lambda x: x * 2}).nobs == 300


def test_a_function_is_called_once_on_the_whole_column(long):
    lengths = []

    def f(x):
        lengths.append(len(x))
        return x * 2

    fit = lda("y ~ f(x) + z", long, functions={"f": f})
    assert lengths[0] == ROWS
    assert lengths.count(ROWS) == 1
    assert len(lengths) <= 5
    fit.leave_one_out()
    fit.confusion()
    assert lengths.count(ROWS) == 1
    np.testing.assert_allclose(fit.predict_proba(), lda("y ~ x + z", long).predict_proba(), rtol=1e-9)


def test_a_category_that_is_missing_makes_its_row_missing(table):
    frame = table.copy()
    frame.loc[frame.index[:42], "x"] = 500.0
    own = {"f": lambda x: pd.cut(x, [-np.inf, 8, 12, 400], labels=["low", "mid", "high"])}
    fit = lda("y ~ f(x) + z", frame, functions=own)
    assert fit.nobs == 258
    assert fit.summary(["classes"]).as_text()
    ready = frame.assign(g=own["f"](frame["x"]))
    direct = lda("y ~ g + z", ready)
    np.testing.assert_allclose(fit.coef, direct.coef, rtol=1e-12)
    assert fit.predict().isna().sum() == 42
    assert fit.predict().iloc[:42].isna().all()
    pd.testing.assert_series_equal(fit.predict(frame.iloc[:1]), fit.predict().iloc[:1])
    pd.testing.assert_frame_equal(fit.leave_one_out(), direct.leave_one_out())
    with pytest.raises(DataError) as caught:
        lda("y ~ f(x) + z", frame, functions=own, na_action="raise")
    assert caught.value.rows == (0,)


@pytest.mark.parametrize(
    ("missing", "verb"),
    [
        *(
            ("cut", verb)
            for verb in (lda, qda, naive_bayes, discrim.logistic, discrim.knn, discrim.perceptron)
        ),
        ("None", lda),
        ("nan in text", discrim.logistic),
        ("C of a number", qda),
    ],
)
def test_missing_categories_in_every_kind_and_verb(verb, missing, table):
    def cut(x):
        return pd.cut(x, [-np.inf, 8, 12], labels=["low", "mid"])

    own = {
        "cut": cut,
        "None": lambda x: cut(x).astype(object).where(cut(x).notna(), None),
        "nan in text": lambda x: cut(x).astype(object),
        "C of a number": lambda x: cut(x).cat.codes.astype(float).where(cut(x).notna()),
    }[missing]
    formula = "y ~ C(f(x)) + z" if missing == "C of a number" else "y ~ f(x) + z"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        fit = verb(formula, table, functions={"f": own})
        direct = verb("y ~ g + z", table.assign(g=cut(table["x"]).astype(object)))
        assert fit.nobs == direct.nobs < 300
        pd.testing.assert_series_equal(fit.predict(), direct.predict())
        pd.testing.assert_series_equal(fit.predict(table.iloc[5:9]), direct.predict().iloc[5:9])


def test_rows_made_missing_teach_no_transform(table):
    own = {"f": lambda x: pd.cut(x, [8, 10, 12], labels=["low", "mid"])}
    fit = lda("y ~ f(x) + center(z)", table, functions=own)
    inside = table[(table["x"] > 8) & (table["x"] <= 12)]
    (factor,) = (each for each in fit._fit.design_rows.design.spec.factors if each.states)
    assert dict(factor.states[0].values)["mean"][0] == pytest.approx(inside["z"].mean(), rel=1e-12)


def test_a_response_made_missing_is_dropped(table):
    own = {"f": lambda x: pd.cut(x, [-np.inf, 8, 12], labels=["low", "mid"])}
    fit = lda("f(x) ~ z", table, functions=own)
    assert fit.nobs == (table["x"] <= 12).sum()
    assert fit.classes.tolist() == ["low", "mid"]
    assert fit.confusion().to_numpy().sum() == fit.nobs
    with pytest.raises(DataError) as caught:
        lda("f(x) ~ z", table, functions=own, na_action="raise")
    assert caught.value.rows == (0,)


def test_a_number_that_is_not_finite_is_refused_as_of_log(table):
    for own in (lambda x: x.where(x > 9), lambda x: 1 / (x * 0), lambda x: x.astype("Float64").where(x > 9)):
        with pytest.raises(DataError, match=r"f\(x\) is (nan|inf) at row \d+, where x = "):
            lda("y ~ f(x) + z", table, functions={"f": own})


@pytest.mark.parametrize(
    "own",
    [
        lambda x: np.empty((len(x), 0)),
        lambda x: pd.DataFrame(index=x.index),
        lambda x: x.iloc[:-1],
        lambda x: [*list(x), 0.0],
        lambda x: None,
        lambda x: "text",
        lambda x: {"a": 1},
        lambda x: 3.0,
        lambda x: [[1.0], [2.0, 3.0]],
        lambda x: np.zeros((len(x), 2, 2)),
        lambda x: pd.to_datetime(x, unit="D"),
        lambda x: x.astype(complex),
        lambda x: [object() for _ in x],
        lambda x: [v if v > 9 else "small" for v in x],
        lambda x: pd.DataFrame({"a": x, "b": "text"}),
        lambda x: x.round().astype("int64") + 2**53,
        lambda x: x.no_such_method(),
        lambda x, y: x,
    ],
)
def test_invalid_results_of_functions_raise(own, table):
    with pytest.raises(FormulaError) as caught:
        lda("y ~ f(x) + z", table, functions={"f": own})
    assert "functions=" in str(caught.value)


def test_a_masked_array_keeps_what_is_missing(table):
    def f(x):
        return np.ma.masked_array(np.where(x > 9, 1.0, 0.0), mask=np.asarray(x > 12))

    with pytest.raises(DataError) as caught:
        lda("y ~ f(x) + z", table, functions={"f": f})
    assert "f(x) is nan" in str(caught.value)
    fit = lda("y ~ C(f(x)) + z", table, functions={"f": f})
    assert fit.nobs == (table["x"] <= 12).sum()


def test_functions_may_modify_their_arguments(table):
    before = table.copy()

    def f(x):
        x.iloc[:] = x * 2
        return x

    fit = lda("y ~ f(x) + I(x**2)", table, functions={"f": f})
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(
        fit.predict_proba(), lda("y ~ I(2*x) + I(x**2)", table).predict_proba(), rtol=1e-12
    )


def test_functions_of_learnt_transforms(table):
    own = {"f": lambda x: pd.cut(x, [-1.5, 0, 1.5], labels=["low", "high"]), "g": lambda x: x**2}
    fit = lda("y ~ f(standardize(x)) + g(center(z)) + z", table, functions=own)
    whole = fit.predict_proba()
    assert whole.isna().any(axis=1).sum() > 5
    for row in (0, 77, 299):
        np.testing.assert_allclose(fit.predict_proba(table.iloc[[row]]), whole.iloc[[row]], rtol=1e-12)
    assert fit.error_rates(["cv"], seed=1)["estimate"].notna().all()


def test_options_of_one_function_are_told_apart(table):
    fit = lda("y ~ f(x, by=1) + f(x, by=2)", table, functions={"f": lambda x, by: x**by})
    direct = lda("y ~ x + I(x**2)", table)
    np.testing.assert_allclose(fit.coef, direct.coef, rtol=1e-9)


def test_loaded_fits_validate_functions(table, tmp_path):
    fit = lda("y ~ f(x) + z", table, functions={"f": lambda x: x**2})
    fit.save(tmp_path / "fit")
    again = discrim.load(tmp_path / "fit", functions={"f": lambda x: x - x.mean()})
    with pytest.raises(DiscrimError) as caught:
        again.predict(table)
    assert caught.value.rows == (299,)
