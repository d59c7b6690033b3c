"""The log odds of LDA under the names that statsmodels and `logistic` have for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from discrim import lda, load, logistic
from discrim.covariance import Shrunk
from discrim.datasets import load_penguins, load_wine
from discrim.errors import NotSupportedError

PENGUINS = load_penguins()
FORMULA = "species ~ bill_length_mm + body_mass_g"
FIT = lda(FORMULA, PENGUINS)


def test_they_are_logs_of_ratios_of_posteriors():
    x = PENGUINS[["bill_length_mm", "body_mass_g"]].dropna()
    logs = FIT.predict_log_proba(x)
    ours = FIT.params.loc["constant"] + x @ FIT.params.drop("constant")
    for label in ("Chinstrap", "Gentoo"):
        np.testing.assert_allclose(ours[label], logs[label] - logs["Adelie"], atol=1e-9)


def test_shape_signs_and_reference_agree_with_logistic():
    formula = "island ~ bill_length_mm + body_mass_g"
    normal, logit = lda(formula, PENGUINS), logistic(formula, PENGUINS)
    for name in ("params", "bse", "zvalues", "pvalues"):
        ours, theirs = getattr(normal, name), getattr(logit, name)
        assert ours.index.equals(theirs.index)
        assert ours.columns.equals(theirs.columns)
        assert (ours.index.name, ours.columns.name) == (theirs.index.name, theirs.columns.name)
    assert normal.conf_int().index.equals(logit.conf_int().index)
    assert normal.conf_int().columns.equals(logit.conf_int().columns)
    strong = (logit.zvalues.abs() > 4).drop("constant")
    assert strong.any(axis=None)
    assert (np.sign(normal.params) == np.sign(logit.params)).where(strong, True).all(axis=None)


def test_errors_and_intervals_agree_with_log_odds():
    table = FIT.log_odds()
    for name, column in {"params": "coef", "bse": "se", "zvalues": "z", "pvalues": "p"}.items():
        pd.testing.assert_series_equal(
            getattr(FIT, name).T.stack(), table[column], check_names=False, check_exact=True
        )
    np.testing.assert_allclose(FIT.zvalues, FIT.params / FIT.bse)
    np.testing.assert_allclose(FIT.pvalues, 2 * norm.sf(FIT.zvalues.abs()), rtol=1e-10)
    half = norm.ppf(0.95) * FIT.bse.T.stack().to_numpy()
    np.testing.assert_allclose(FIT.conf_int(0.9)["high"], FIT.params.T.stack().to_numpy() + half)


@pytest.mark.parametrize("options", [{"covariance": Shrunk(0.3, standardize=True)}, {"ncomp": 1}])
def test_estimates_exist_without_standard_errors(options):
    fit = lda(FORMULA, PENGUINS, **options)
    assert fit.params.T.stack().tolist() == fit.tidy()["estimate"].tolist()
    for name in ("bse", "zvalues", "pvalues"):
        assert not hasattr(fit, name)
    with pytest.raises(NotSupportedError) as caught:
        fit.conf_int()
    assert "Standard errors" in str(caught.value)
    assert "errors" in str(caught.value)


def test_they_come_back_from_a_file(tmp_path):
    fit = lda("cultivar ~ alcohol + ash", load_wine())
    fit.save(tmp_path / "fit")
    for name in ("params", "bse", "pvalues"):
        pd.testing.assert_frame_equal(getattr(load(tmp_path / "fit"), name), getattr(fit, name))


def test_debiased_errors_of_constants_include_the_full_variance_of_estimated_priors():
    # var(log(n_k / n_0)) = 1/n_k + 1/n_0 is not reduced by the factor of the slopes.
    counts = PENGUINS.dropna(subset=["bill_length_mm", "body_mass_g"])["species"].value_counts()
    p, nu = 2, counts.sum() - 3
    factor = (nu - p - 1) / nu
    equal = lda(FORMULA, PENGUINS, prior="equal").log_odds()["se"].xs("constant", level="term")
    proportional = FIT.log_odds(debiased=True)["se"].xs("constant", level="term")
    for label in ("Chinstrap", "Gentoo"):
        expected = (factor * equal[label]) ** 2 + 1 / counts[label] + 1 / counts["Adelie"]
        assert proportional[label] ** 2 == pytest.approx(expected, rel=1e-12)
