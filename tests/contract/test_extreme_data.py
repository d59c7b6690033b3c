"""Columns of very different units, very few rows, and options of unusual types and sizes."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.core.moments.moments import ClassMoments
from discrim.datasets import load_iris
from discrim.errors import DiscrimError, DroppedColumnsWarning


def three_classes(gap=0.0, column="x"):
    """Three classes of 20 rows, the first of them far away in one column."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"g": np.repeat(list("abc"), 20), "x": rng.normal(size=60), "y": rng.normal(size=60)}
    )
    table.loc[table["g"] == "a", column] += gap
    return table


def test_columns_of_very_different_scale_are_fitted_for_close_classes():
    table = three_classes(3.0).assign(x=lambda frame: frame["x"] * 1e200)
    fit = discrim.lda("g ~ x + y", table)
    want = discrim.lda("g ~ x + y", three_classes(3.0)).predict_proba(three_classes(3.0))
    assert np.allclose(fit.predict_proba(table), want, rtol=1e-9, atol=0)


def test_moments_of_few_rows_equal_products_of_deviations():
    rng = np.random.default_rng(3)
    x, codes = rng.normal(size=(6, 300)), np.array([0, 0, 0, 1, 1, 1])
    for spread in ("class", "pooled"):
        held = ClassMoments.from_block(x, codes, n_classes=2, required_moments=spread)
        each = [x[codes == k] - x[codes == k].mean(axis=0) for k in range(2)]
        want = np.stack([own.T @ own for own in each])
        want = want if spread == "class" else want.sum(axis=0, keepdims=True)
        assert np.allclose(held.scatters, want, rtol=1e-12, atol=1e-13)


def test_stepwise_of_few_rows_agrees_with_the_full_scatter():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(20, 40)), columns=[f"x{j}" for j in range(40)])
    table["g"] = ["a", "b"] * 10
    table.loc[table["g"] == "a", ["x3", "x17"]] += 2
    wide = discrim.stepwise("g ~ .", table, enter=0.01, stay=0.01)
    few = wide.selected.tolist()
    assert {"x3", "x17"} & set(few)
    # The same rows twice over are no longer fewer than the columns, and the first term is the same.
    assert discrim.stepwise("g ~ " + " + ".join(few), table, enter=0.01, stay=0.01).selected[0] == few[0]
    step = wide.steps.iloc[0]
    own = table[few[0]] - table.groupby("g")[few[0]].transform("mean")
    whole = table[few[0]] - table[few[0]].mean()
    assert step["wilks"] == pytest.approx((own**2).sum() / (whole**2).sum(), rel=1e-12)


@pytest.mark.parametrize("formula", ["y ~ x * z", "y ~ z * u + x", "y ~ x * C(z)", "y ~ x * z * u"])
def test_single_level_category_is_allowed_in_an_interaction(formula):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"x": rng.normal(size=30), "z": "a", "u": list("pq") * 15, "y": list("abb") * 10})
    with pytest.warns(DroppedColumnsWarning):
        fit = discrim.lda(formula, table)
    plain = discrim.lda(formula.replace("C(z)", "z").replace("* z", "").replace("z *", ""), table)
    assert list(fit.terms) == list(plain.terms) or set(fit.terms) == set(plain.terms)
    assert np.allclose(fit.predict_proba(table), plain.predict_proba(table))


def fitted(iris):
    return discrim.lda("species ~ .", iris)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda iris: discrim.perceptron("species ~ .", iris, maxiter=10**400), "maxiter="),
        (
            lambda iris: discrim.stepwise("species ~ .", iris, verb=partial(discrim.lda, k=3)),
            r"Options in verb= that lda\(\) does not support here: 'k'",
        ),
        (
            lambda iris: discrim.stepwise("species ~ .", iris, verb=partial(discrim.lda, levels=3)),
            r"Options in verb= that lda\(\) does not support here: 'levels'",
        ),
        (
            lambda iris: discrim.stepwise("species ~ .", iris, verb=partial(discrim.lda, "species ~ .")),
            "options of the verb by name",
        ),
        (
            lambda iris: discrim.cross_validate(discrim.lda("species ~ .", iris), repeats=10**400),
            "fewer repeats",
        ),
        (lambda iris: discrim.cross_validate(fitted(iris), repeats=[1]), "repeats="),
        (lambda iris: discrim.shrunken_centroids("species ~ .", iris, n_thresholds=10**400), "n_thresholds="),
        (
            lambda iris: discrim.compare(*[fitted(iris)] * 2, repeats=np.ones(2)),
            "repeats=",
        ),
        (lambda _: discrim.bayes(None, pd.DataFrame([[0.5, 0.5]] * 2), columns=3), "columns=3"),
        (lambda _: discrim.bayes(None, pd.DataFrame([[0.5, 0.5]] * 2), response=[1, 2]), "response="),
    ],
)
def test_options_of_invalid_types_and_sizes_raise(call, said):
    with pytest.raises(DiscrimError, match=said) as caught:
        call(load_iris())
    assert len(str(caught.value)) < 500


def test_long_list_of_knots_is_abbreviated_in_the_message():
    table = three_classes()
    knots = ", ".join(["'a'"] * 1000)
    with pytest.raises(DiscrimError) as caught:
        discrim.lda(f"g ~ bs(x, knots=[{knots}])", table)
    assert "list" in str(caught.value)
    assert "numbers" in str(caught.value)
    assert len(str(caught.value)) < 1000
