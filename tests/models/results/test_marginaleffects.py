"""Fits in the hands of the package marginaleffects: its numbers beside ours, and by hand."""

import numpy as np
import pytest

import discrim
from discrim.errors import DataError, NotSupportedError
from discrim.penalty import Ridge

me = pytest.importorskip("marginaleffects", reason="marginaleffects is not installed")
pl = pytest.importorskip("polars")

pytestmark = pytest.mark.slow

NEW_POLARS = int(pl.__version__.partition(".")[0]) >= 2
"""marginaleffects 0.6 calls methods on columns of categories that polars 2 has removed."""


IRIS, PENGUINS = discrim.datasets.load_iris(), discrim.datasets.load_penguins()
TWO = IRIS.iloc[50:].astype({"species": str}).reset_index(drop=True)


@pytest.mark.parametrize("prior", [None, "equal"])
@pytest.mark.parametrize("form", ["petal_width + sepal_length", "petal_width + log(sepal_length)"])
def test_average_slopes_are_marginal_effects(form, prior):
    fit = discrim.logistic(f"species ~ {form}", TWO, prior=prior)
    ours = fit.marginal_effects()
    theirs = me.avg_slopes(fit.to_marginaleffects(), eps_vcov=1e-5).data
    assert theirs["term"].to_list() == ours.index.get_level_values("column").tolist()
    np.testing.assert_allclose(theirs["estimate"], ours["estimate"], rtol=1e-6)
    np.testing.assert_allclose(theirs["std_error"], ours["se"], rtol=1e-3)
    np.testing.assert_allclose(theirs["conf_low"], ours["low"], rtol=1e-3)


def test_average_slopes_of_three_classes_are_marginal_effects():
    rows = PENGUINS.dropna()
    fit = discrim.logistic("species ~ bill_length_mm + bill_depth_mm", rows, bias_reduction=True)
    ours = fit.marginal_effects(columns="bill_depth_mm").droplevel(["column", "change"])
    theirs = me.avg_slopes(fit.to_marginaleffects(), variables="bill_depth_mm", eps_vcov=1e-5).data
    assert theirs["group"].to_list() == ours.index.tolist()
    np.testing.assert_allclose(theirs["estimate"], ours["estimate"], rtol=1e-5)
    np.testing.assert_allclose(theirs["std_error"], ours["se"], rtol=2e-3)


@pytest.mark.skipif(NEW_POLARS, reason="marginaleffects 0.6 has no categories with polars 2")
def test_comparisons_of_categories_are_marginal_effects():
    fit = discrim.logistic("sex ~ bill_length_mm + island", PENGUINS)
    ours = fit.marginal_effects(columns="island")
    theirs = me.avg_comparisons(fit.to_marginaleffects(), variables="island").data
    assert theirs["contrast"].to_list() == ours.index.get_level_values("change").tolist()
    np.testing.assert_allclose(theirs["estimate"], ours["estimate"], rtol=1e-8)
    np.testing.assert_allclose(theirs["std_error"], ours["se"], rtol=1e-4)


def test_slopes_of_lda_equal_its_log_odds():
    fit = discrim.lda("species ~ petal_width + sepal_length", TWO)
    theirs = me.avg_slopes(fit.to_marginaleffects(), eps_vcov=1e-5).data
    x = np.column_stack([np.ones(len(TWO)), TWO[["petal_width", "sepal_length"]]])
    beta = fit.params.to_numpy()[:, 0]
    p = 1 / (1 + np.exp(-x @ beta))
    slopes = beta[1:] * (p * (1 - p)).mean()
    bent = (p * (1 - p) * (1 - 2 * p)) @ x / len(x)
    jacobian = np.outer(beta[1:], bent) + (p * (1 - p)).mean() * np.eye(3)[1:]
    errors = np.sqrt(np.diag(jacobian @ fit.cov_params().to_numpy() @ jacobian.T))
    order = [["petal_width", "sepal_length"].index(term) for term in theirs["term"]]
    np.testing.assert_allclose(theirs["estimate"], slopes[order], rtol=1e-6)
    np.testing.assert_allclose(theirs["std_error"], errors[order], rtol=1e-3)


@pytest.mark.parametrize(
    "fitted",
    [
        lambda table: discrim.lda(
            "species ~ .", table, prior={"setosa": 0.5, "versicolor": 0.3, "virginica": 0.2}
        ),
        lambda table: discrim.logistic("species ~ .", table, penalty=Ridge(0.01)),
        lambda table: discrim.qda("species ~ petal_width + sepal_width", table),
        lambda table: discrim.knn("species ~ .", table, k=5),
    ],
    ids=["lda", "penalized", "qda", "knn"],
)
def test_predictions_are_posteriors(fitted):
    fit = fitted(IRIS)
    theirs = me.predictions(fit.to_marginaleffects(), vcov=False).data
    wide = theirs.pivot(on="group", index="rowid", values="estimate").sort("rowid")
    assert wide.columns[1:] == fit.classes.tolist()
    np.testing.assert_allclose(wide.drop("rowid").to_numpy(), fit.predict_proba(), rtol=1e-12, atol=1e-300)
    by_class = me.avg_predictions(fit.to_marginaleffects(), by="group", vcov=False).data
    np.testing.assert_allclose(by_class["estimate"], fit.predict_proba().mean(), rtol=1e-12)


def test_only_fits_with_a_covariance_have_standard_errors():
    penalized = discrim.logistic("species ~ .", TWO, penalty=Ridge(0.01))
    table = me.avg_comparisons(penalized.to_marginaleffects()).data
    assert "std_error" not in table.columns
    assert len(table) == 4
    changed = TWO.assign(petal_width=TWO["petal_width"] + 1)
    by_hand = penalized.predict_proba(changed).iloc[:, 1].sub(penalized.predict_proba().iloc[:, 1]).mean()
    half = me.avg_comparisons(penalized.to_marginaleffects(), variables={"petal_width": [0.5, 1.5]}).data
    assert half["estimate"].item() == pytest.approx(
        penalized.predict_proba(TWO.assign(petal_width=1.5)).iloc[:, 1].mean()
        - penalized.predict_proba(TWO.assign(petal_width=0.5)).iloc[:, 1].mean()
    )
    assert by_hand > 0


@pytest.mark.filterwarnings("ignore::discrim.errors.NoSeparationWarning")
def test_unsupported_fits_are_refused(tmp_path):
    with pytest.raises(NotSupportedError) as caught:
        discrim.perceptron("species ~ .", IRIS, seed=1, maxiter=5).to_marginaleffects()
    assert "requires posterior probabilities" in str(caught.value)
    fit = discrim.lda("species ~ .", IRIS)
    fit.save(tmp_path / "fit")
    with pytest.raises(NotSupportedError) as caught:
        discrim.load(tmp_path / "fit").to_marginaleffects()
    assert "rows of the fit" in str(caught.value)
    IRIS.to_csv(tmp_path / "iris.csv", index=False)
    with pytest.raises(NotSupportedError) as caught:
        discrim.lda("species ~ .", tmp_path / "iris.csv").to_marginaleffects()
    assert "read in chunks" in str(caught.value)
    with pytest.raises(DataError) as caught:
        me.predictions(fit.to_marginaleffects(), vcov="HC3")
    assert "robust" in str(caught.value)
