"""Regression tests of defects that a review of the whole package found."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim.core.moments.moments import ClassMoments
from discrim.core.moments.sparse_rows import SparseRows, gather_sparse
from discrim.covariance import StudentT
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DataError
from discrim.sklearn import FormulaClassifier

IRIS = load_iris()
TWO = IRIS[IRIS["species"] != "setosa"].astype({"species": str})


def test_constant_columns_of_many_rows_raise_and_are_named() -> None:
    x = np.ones((2000, 100))
    moments = ClassMoments.from_block(x, np.repeat([0, 1], 1000), n_classes=2)
    assert (moments.scatters == 0).all()
    table = pd.DataFrame(x).add_prefix("x").assign(y=np.repeat(["a", "b"], 1000))
    with pytest.raises(CollinearError) as caught:
        discrim.lda("y ~ .", table)
    assert "'x0'" in str(caught.value)
    assert "'x1'" in str(caught.value)


def test_sparse_blocks_of_unlike_size_keep_their_squares() -> None:
    steps = [scipy.sparse.csr_array(np.array([values]).T) for values in ([1.0, 2.0], [1e200, 3e200])]
    blocks = [(SparseRows(np.zeros(1), each), np.zeros(2, np.intp), None) for each in steps]
    found = gather_sparse(blocks, n_classes=1, n_columns=1, required_moments="diagonal")
    # About the mean of 0, 0, 1e200 and 3e200 the squares sum to 6e400, in the units of the data.
    assert found is None or np.isfinite(found.scatters).all()


def test_refits_are_counted_by_rows_and_not_by_weights() -> None:
    data = IRIS.iloc[::3].assign(times=50)
    fit = discrim.lda(
        "species ~ petal_length + petal_width", data, weights="times", covariance=StudentT(nu=5)
    )
    assert fit.nobs == 2500
    assert len(fit.leave_one_out()) == 50


@pytest.mark.parametrize("verb", ["lda", "naive_bayes", "knn"])
@pytest.mark.parametrize("table", [pd.DataFrame(), IRIS.iloc[:0].drop(columns="petal_width")])
def test_empty_table_without_columns_gives_no_labels(verb: str, table: pd.DataFrame) -> None:
    fit = getattr(discrim, verb)("species ~ petal_length + petal_width", IRIS)
    assert len(fit.predict(table)) == 0


def test_empty_iterator_raises() -> None:
    with pytest.raises(DataError) as caught:
        discrim.lda("species ~ .", iter([IRIS.iloc[:0]]))
    assert "has no rows" in str(caught.value)


def test_counts_above_64_bit_integers_are_unchanged() -> None:
    counts = discrim.moments("species ~ .", IRIS, weights=np.full(150, 1e20)).counts
    assert counts.tolist() == [5e21] * 3


def test_effect_of_a_column_next_to_a_matrix_is_its_slope() -> None:
    formula = "species ~ I(bs(petal_length, df=4) + petal_width)"
    fit = discrim.logistic(formula, TWO, bias_reduction=True)
    effect = fit.marginal_effects(columns="petal_width").iloc[-1]
    step, label = 1e-6, fit.classes[-1]
    up, down = (
        fit.predict_proba(TWO.assign(petal_width=TWO["petal_width"] + sign * step))[label] for sign in (1, -1)
    )
    np.testing.assert_allclose(effect.iloc[0], ((up - down) / (2 * step)).mean(), rtol=1e-6)


def test_rda_accepts_any_numeric_type() -> None:
    assert discrim.rda("species ~ .", IRIS, alpha=Fraction(1, 2), gamma=np.array(0.5)).alpha == 0.5


def test_pls_with_another_rule_has_no_posteriors() -> None:
    x = IRIS.drop(columns="species")
    formula = "species ~ ."
    for rule, offered in (("lda", True), ("max", False)):
        made = FormulaClassifier(formula, verb="pls", options={"rule": rule}).fit(x, IRIS["species"])
        assert hasattr(made, "predict_proba") is offered
