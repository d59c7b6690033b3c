"""`update` is the verb called with what is changed."""

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import DataError, FormulaError, NotSupportedError
from discrim.formula.grammar import update_formula

IRIS = load_iris()
COUNTED = IRIS.assign(w=np.arange(150) % 3 + 1.0)


@pytest.mark.parametrize(
    ("formula", "earlier", "expected"),
    [
        (". ~ . - x", "y ~ .", "y ~ . - x"),
        (". ~ . + x", "y ~ a + b", "y ~ a + b + x"),
        ("~ . + x", "y ~ a", "y ~ a + x"),
        ("log(.) ~ .", "y ~ a", "log(y) ~ a"),
        (". ~ .:x", "y ~ a + b", "y ~ (a + b):x"),
        (". ~ x + .:x", "y ~ a + b", "y ~ x + (a + b):x"),
        (". ~ (.)^2", "y ~ a + b", "y ~ ((a + b))^2"),
        (". ~ . - `a.b`", "`the class` ~ `a.b` + c.d + 1.5:e", "`the class` ~ `a.b` + c.d + 1.5:e - `a.b`"),
        ("z ~ a", "y ~ b", "z ~ a"),
    ],
)
def test_dot_in_updates_means_the_previous_formula_side(formula, earlier, expected):
    assert update_formula(formula, earlier) == expected


def test_updated_columns_equal_the_whole_formula():
    fit = discrim.lda("species ~ sepal_length + sepal_width", IRIS)
    for change, whole in [
        (". ~ . + petal_width", "species ~ sepal_length + sepal_width + petal_width"),
        ("~ . - sepal_width", "species ~ sepal_length"),
        ("~ (.)^2", "species ~ sepal_length * sepal_width"),
        ("~ petal_width:(.)", "species ~ petal_width:sepal_length + petal_width:sepal_width"),
    ]:
        found, expected = fit.update(change), discrim.lda(whole, IRIS)
        assert set(found.terms) == set(expected.terms)
        assert found.llf == pytest.approx(expected.llf, rel=1e-12)


@pytest.mark.parametrize(
    ("verb", "options", "changes"),
    [
        ("lda", {"method": "mle", "prior": "equal"}, {"covariance": "diagonal"}),
        ("qda", {"covariance": Shrunk(0.2)}, {"covariance": Shrunk(0.4)}),
        ("rda", {"alpha": 0.5, "gamma": 0.1}, {"gamma": 0.2}),
        ("knn", {"k": 3}, {"k": 5, "metric": "mahalanobis"}),
        ("naive_bayes", {"kernel": ["petal_width"]}, {"prior": [0.2, 0.3, 0.5]}),
        ("logistic", {"bias_reduction": True}, {"reference": "virginica"}),
        ("nearest_centroid", {}, {"prior": None}),
        ("pls", {"ncomp": 2}, {"ncomp": 1}),
        ("indicator", {}, {}),
    ],
)
def test_updates_accept_all_options_of_the_verb(verb, options, changes):
    call = getattr(discrim, verb)
    fit = call("species ~ petal_length + petal_width", IRIS, **options)
    updated = fit.update(**changes)
    expected = call("species ~ petal_length + petal_width", IRIS, **options | changes)
    assert type(updated) is type(expected)
    assert str(updated.summary()) == str(expected.summary())
    # What is not changed is as it was, and so is the fit itself.
    assert str(fit.update().summary()) == str(fit.summary())


def test_updates_repeat_choices():
    fit = discrim.knn("species ~ .", IRIS)
    half = IRIS.iloc[::2]
    assert fit.update(data=half).k == discrim.knn("species ~ .", half).k


def test_updates_keep_weights_out_of_the_predictors():
    by_name = discrim.lda("species ~ .", COUNTED, weights="w")
    updated = by_name.update(". ~ . - petal_width")
    assert "w" not in updated.terms
    assert updated.nobs == by_name.nobs
    by_vector = discrim.lda("species ~ .", IRIS, weights=COUNTED["w"])
    assert by_vector.update(prior="equal").nobs == by_name.nobs
    with pytest.raises(DataError) as caught:
        by_name.update(data=COUNTED[::2])
    assert "weights=" in str(caught.value)
    assert by_name.update(data=COUNTED[::2], weights="w").nobs == COUNTED["w"][::2].sum()
    assert by_vector.update(data=IRIS[::2], weights=None).nobs == 75


def test_updates_keep_the_order_of_levels():
    order = ["virginica", "setosa", "versicolor"]
    assert (
        discrim.lda("species ~ .", IRIS, levels=order).update("~ . - petal_width").classes.tolist() == order
    )
    typed = IRIS.assign(species=pd.Categorical(IRIS["species"], order), other=np.arange(150) % 2)
    fit = discrim.lda("species ~ . - other", typed)
    assert fit.update("~ . - sepal_width").classes.tolist() == order
    assert fit.update("other ~ sepal_width").classes.tolist() == [0, 1]


def test_updates_keep_functions():
    fit = discrim.lda("species ~ f(petal_width)", IRIS, functions={"f": np.sqrt})
    assert fit.update("~ . + petal_length").terms.tolist() == ["f(petal_width)", "petal_length"]


def test_updates_read_sources_again():
    fit = discrim.lda("species ~ .", lambda: iter([IRIS[:80], IRIS[80:]]))
    assert fit.update("~ . - petal_width").llf == pytest.approx(
        discrim.lda("species ~ . - petal_width", IRIS).llf, rel=1e-12
    )


def test_loaded_fits_are_updated_with_rows(tmp_path):
    discrim.lda("species ~ .", IRIS, method="mle").save(tmp_path / "iris.fit")
    fit = discrim.load(tmp_path / "iris.fit")
    with pytest.raises(NotSupportedError) as caught:
        fit.update("~ petal_width")
    assert "update()" in str(caught.value)
    assert "data=" in str(caught.value)
    expected = discrim.lda("species ~ petal_width", IRIS, method="mle")
    pd.testing.assert_frame_equal(fit.update("~ petal_width", data=IRIS).means, expected.means)


def test_updated_fits_note_chosen_columns():
    chosen = discrim.stepwise("species ~ .", IRIS).fit
    assert "The same observations chose the columns" in str(chosen.update(prior="equal"))
    assert "The same observations chose" not in str(chosen.update(data=IRIS[::2]))


def test_invalid_updates_raise_the_errors_of_the_verb():
    fit = discrim.lda("species ~ .", IRIS)
    with pytest.raises(TypeError, match=r"lda\(\) has no keyword 'priors': use prior="):
        fit.update(priors="equal")
    with pytest.raises(FormulaError) as caught:
        fit.update("petal_width")
    assert "has no ~" in str(caught.value)
    with pytest.raises(FormulaError) as caught:
        fit.update(3)
    assert "not int" in str(caught.value)
