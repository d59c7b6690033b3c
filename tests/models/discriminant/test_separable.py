"""Separable covariances against R's MixMatrix (golden/separable.json), a search by scipy, and identities."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy

import discrim
from discrim import lda, load, qda
from discrim.covariance import Separable
from discrim.datasets import load_iris
from discrim.errors import CollinearError, DataError, DroppedColumnsWarning, NotSupportedError
from discrim.sklearn import LDAClassifier
from tests import support

WRITTEN = json.loads((support.GOLDEN / "separable.json").read_text(encoding="utf-8"))
IRIS = load_iris()


def waves() -> pd.DataFrame:
    i, j, k = np.arange(1, 31)[:, None], np.repeat([1, 2, 3], 4), np.tile([1, 2, 3, 4], 3)
    x = np.sin(i * i * (1 + 0.1 * j) + 2 * k) + 0.5 * np.cos(3 * i + j * k)
    return pd.DataFrame(x, columns=[f"x{a}" for a in range(12)]).assign(y=np.tile([1, 2], 15))


TABLES = {"iris": ("species ~ .", IRIS), "waves": ("y ~ .", waves())}


@pytest.mark.parametrize("name", TABLES)
def test_estimates_agree_with_mixmatrix(name):
    message = WRITTEN[name]
    fit = lda(*TABLES[name], covariance=Separable(*message["shape"]), method="mle")
    u, v = np.array(message["U"]), np.array(message["V"])
    np.testing.assert_allclose(fit.cov, message["scale"] * np.kron(u, v), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(fit.covariance_model.row_cov, u / np.trace(u) * len(u), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        np.kron(fit.covariance_model.row_cov, fit.covariance_model.column_cov),
        fit.cov,
        rtol=1e-12,
        atol=1e-14,
    )
    classes = float((fit.counts * np.log(fit.prior)).sum())
    assert fit.llf == pytest.approx(message["loglik"][-1] + classes, rel=1e-11)
    np.testing.assert_allclose(waves().iloc[1, :12].astype(float), WRITTEN["first"], rtol=1e-11)


@pytest.mark.parametrize("shape", [(4, 1), (1, 4)])
@pytest.mark.parametrize("verb", [lda, qda])
def test_a_matrix_of_one_row_or_column_is_the_full_covariance(verb, shape):
    fit, full = verb("species ~ .", IRIS, covariance=Separable(*shape)), verb("species ~ .", IRIS)
    np.testing.assert_allclose(fit.predict_log_proba(), full.predict_log_proba(), rtol=1e-9, atol=1e-9)
    assert fit.df_model == full.df_model
    assert fit.llf == pytest.approx(full.llf, rel=1e-12)
    assert fit.covariance_model.separability_test().df == 0


def test_direct_search_finds_no_larger_likelihood():
    fit, table = lda(*TABLES["waves"], covariance=Separable(3, 4), method="mle"), waves()
    x = table.drop(columns="y")
    deviations = (x - x.groupby(table["y"]).transform("mean")).to_numpy().reshape(30, 3, 4)
    lower = np.tril_indices(3), np.tril_indices(4)

    def minus(parameters):
        roots = np.zeros((3, 3)), np.zeros((4, 4))
        for root, positions, values in zip(roots, lower, np.split(parameters, [6]), strict=True):
            root[positions] = values
        left_out = np.linalg.solve(roots[0], deviations)
        both = np.linalg.solve(roots[1], left_out.transpose(0, 2, 1))
        logdet = 4 * np.log(np.diagonal(roots[0]) ** 2).sum() + 3 * np.log(np.diagonal(roots[1]) ** 2).sum()
        return 0.5 * ((both**2).sum() + 30 * (logdet + 12 * np.log(2 * np.pi)))

    start = np.concatenate([np.eye(3)[lower[0]], np.eye(4)[lower[1]]])
    optimum = scipy.optimize.minimize(minus, start, method="BFGS", options={"gtol": 1e-7})
    assert fit.llf - 30 * np.log(0.5) == pytest.approx(-optimum.fun, abs=1e-6)
    assert fit.df_model == 1 + 24 + 6 + 10 - 1


def test_units_of_rows_and_columns_do_not_matter():
    table = waves()
    units = np.kron([1.0, 1e3, 1e-4], [1.0, 10.0, 1e5, 0.1])
    other = table.copy()
    other.iloc[:, :12] = table.iloc[:, :12] * units
    one, two = (lda("y ~ .", rows, covariance=Separable(3, 4)) for rows in (table, other))
    np.testing.assert_allclose(one.predict_log_proba(), two.predict_log_proba(), rtol=1e-6, atol=1e-6)


def test_transposed_matrices_give_the_same_rule():
    table = waves()
    rotated = table[[f"x{4 * j + k}" for k in range(4) for j in range(3)] + ["y"]]
    one, two = (
        lda("y ~ .", table, covariance=Separable(3, 4)),
        lda("y ~ .", rotated, covariance=Separable(4, 3)),
    )
    np.testing.assert_allclose(one.predict_log_proba(), two.predict_log_proba(), rtol=1e-8, atol=1e-9)


def test_leave_one_out_with_more_columns_than_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 6, 5)) * np.arange(1, 6)
    table = pd.DataFrame(x.reshape(16, 30)).rename(columns="x{}".format).assign(y=np.arange(16) % 2)
    fit = lda("y ~ .", table, covariance=Separable(6, 5))
    assert np.isfinite(fit.predict_log_proba()).all(axis=None)
    left_out = fit.leave_one_out()
    for i in (0, 7):
        without = lda("y ~ .", table.drop(index=i), covariance=Separable(6, 5), prior=fit.prior)
        np.testing.assert_allclose(
            left_out.loc[i, [0, 1]], without.predict_proba(table.loc[[i]]).iloc[0], rtol=1e-7
        )
    with pytest.raises(NotSupportedError) as caught:
        fit.covariance_model.separability_test()
    assert "30" in str(caught.value)
    assert "degrees" in str(caught.value)


def test_the_test_of_separability_is_the_ratio_of_likelihoods():
    for verb in (lda, qda):
        small, large = verb("species ~ .", IRIS, covariance=Separable(2, 2)), verb("species ~ .", IRIS)
        test = small.covariance_model.separability_test()
        assert test.statistic == pytest.approx(2 * (large.llf - small.llf), rel=1e-9)
        assert test.df == large.df_model - small.df_model
    assert list(small.covariance_model.row_cov.index.unique(level=0)) == sorted(IRIS["species"].unique())


def test_moments_files_and_estimators(tmp_path):
    fit = lda("species ~ .", IRIS, covariance=Separable(2, 2))
    full_fit = sum(discrim.moments("species ~ .", IRIS[start : start + 40]) for start in range(0, 150, 40))
    np.testing.assert_allclose(lda(moments=full_fit, covariance=Separable(2, 2)).coef, fit.coef, rtol=1e-8)
    for one in (fit, qda("species ~ .", IRIS, covariance=Separable(2, 2))):
        one.save(tmp_path / "fit")
        again = load(tmp_path / "fit")
        np.testing.assert_allclose(again.predict_proba(IRIS), one.predict_proba(), rtol=1e-9, atol=1e-14)
        pd.testing.assert_frame_equal(
            again.covariance_model.column_cov, one.covariance_model.column_cov, rtol=1e-9
        )
    x, y = IRIS.drop(columns="species"), IRIS["species"].astype(str)
    np.testing.assert_allclose(
        LDAClassifier(covariance=Separable(2, 2)).fit(x, y).predict_proba(x), fit.predict_proba(), rtol=1e-8
    )
    assert fit.update(prior="equal").covariance_model.row_cov.equals(fit.covariance_model.row_cov)


def test_a_matrix_of_another_number_of_columns_is_refused():
    with pytest.raises(DataError) as caught:
        lda("species ~ .", IRIS, covariance=Separable(3, 2))
    assert "columns" in str(caught.value)


def test_options_that_cannot_be_combined_with_a_matrix_are_refused():
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", IRIS, components=2, covariance=Separable(2, 2))
    assert "components=" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ sepal_width + petal_width | sepal_length", IRIS, covariance=Separable(3, 1))
    assert "covariates" in str(caught.value)
    with pytest.raises(NotSupportedError) as caught:
        lda("species ~ .", IRIS).covariance_model.row_cov.head()
    assert "covariance_model" in str(caught.value)
    with (
        pytest.warns(DroppedColumnsWarning),
        pytest.raises(DataError, match="12 entries, and the formula has 11 columns that vary"),
    ):
        lda("y ~ .", waves().assign(x3=1.0), covariance=Separable(3, 4))
    subset = waves().iloc[:4]
    with pytest.raises(CollinearError) as caught:
        lda("y ~ .", subset, covariance=Separable(12, 1))
    assert "12" in str(caught.value)
    assert "matrices" in str(caught.value)
