"""Log odds as maketables asks for them: the attributes that it reads, and what it prints."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import discrim
from discrim.datasets import load_iris, load_penguins
from discrim.errors import NotSupportedError

IRIS = load_iris()
PENGUINS = load_penguins().dropna()
RIGHT = "bill_depth_mm + C(species)"


@pytest.fixture(scope="module")
def theirs():
    data = PENGUINS.assign(male=(PENGUINS["sex"] == "male").astype(int))
    return smf.logit(f"male ~ {RIGHT}", data).fit(disp=0)


def test_a_logistic_equation_has_the_rows_and_numbers_of_statsmodels(theirs):
    fit = discrim.logistic(f"sex ~ {RIGHT}", PENGUINS)
    (equation,) = fit.to_list()
    table = equation.__maketables_coef_table__
    expected = pd.DataFrame({"b": theirs.params, "se": theirs.bse, "t": theirs.tvalues, "p": theirs.pvalues})
    for level in (95, 90):
        expected[[f"ci{level}l", f"ci{level}u"]] = theirs.conf_int(1 - level / 100)
    pd.testing.assert_frame_equal(table, expected.loc[table.index].rename_axis("Coefficient"), rtol=1e-6)
    stats = {"N": theirs.nobs, "ll": theirs.llf, "pseudo_r2": theirs.prsquared, "aic": theirs.aic}
    assert {key: equation.__maketables_stat__(key) for key in stats} == pytest.approx(stats, rel=1e-8)
    assert equation.__maketables_depvar__ == "sex: male"
    pd.testing.assert_frame_equal(fit.__maketables_coef_table__, table)


def test_each_class_but_the_reference_has_a_column():
    fit = discrim.lda("species ~ .", IRIS)
    odds = fit.log_odds()
    equations = fit.to_list()
    assert [equation.label for equation in equations] == ["versicolor", "virginica"]
    for equation in equations:
        table = equation.__maketables_coef_table__
        assert table.index.tolist() == ["Intercept", *fit.terms]
        np.testing.assert_array_equal(
            table[["b", "se", "t", "p", "ci95l", "ci95u"]], odds.loc[equation.label]
        )
    assert fit.__maketables_coef_table__.index[5] == "virginica, Intercept"
    # The likelihood of LDA is of class and row: it does not go beside that of a logistic regression.
    assert [equations[0].__maketables_stat__(key) for key in ("N", "ll", "aic", "other")] == [
        150,
        None,
        None,
        None,
    ]


def test_a_column_may_have_the_name_of_the_constant():
    data = IRIS.rename(columns={"sepal_length": "Intercept", "sepal_width": "constant"})
    table = discrim.lda("species ~ .", data).to_list()[0].__maketables_coef_table__
    assert table.index.tolist()[:3] == ["(Intercept)", "Intercept", "constant"]


def test_fits_without_standard_errors_raise_errors():
    fit = discrim.lda("species ~ .", IRIS, ncomp=1)
    with pytest.raises(NotSupportedError) as caught:
        fit.to_list()
    assert "ncomp" in str(caught.value)
    assert not hasattr(fit, "__maketables_coef_table__")


def test_maketables_prints_fits_next_to_other_packages(theirs):
    maketables = pytest.importorskip("maketables", reason="maketables is not installed")
    fits = [discrim.logistic(f"sex ~ {RIGHT}", PENGUINS), discrim.lda(f"sex ~ {RIGHT}", PENGUINS), theirs]
    shown = maketables.ETable(fits).df
    assert shown.shape[1] == 3
    assert shown.iloc[:, 0].tolist() == shown.iloc[:, 2].tolist()
    assert maketables.ETable(discrim.lda("species ~ .", IRIS)).df.shape[1] == 2
