"""Partial least squares against R's pls, mdatools and mixOmics, and against scikit-learn's PLSRegression.

``golden/pls.json`` was written by ``golden/write_pls.R``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from discrim import pls
from discrim.datasets import load_breast_cancer, load_iris, load_wine

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "pls.json").read_text(encoding="utf-8"))
TABLES = {
    "iris": ("species ~ .", load_iris()),
    "wine": ("cultivar ~ .", load_wine().iloc[30:].reset_index(drop=True)),
    "breast_cancer": ("diagnosis ~ .", load_breast_cancer().iloc[:120].reset_index(drop=True)),
}
tables = pytest.mark.parametrize("name", TABLES)


def fitted(name, **options):
    formula, data = TABLES[name]
    return pls(formula, data, ncomp=GOLDEN[name]["components"], **options), GOLDEN[name]


def near(result, fixed, tol=1e-10):
    np.testing.assert_allclose(np.asarray(result), np.asarray(fixed), rtol=tol, atol=tol)


def check_components(fit, fixed, tol):
    for name in ("weights", "loadings", "rotations", "y_loadings"):
        near(getattr(fit, name), fixed[name], tol)
    near(fit.transform(), fixed["scores"], tol)
    near(fit.explained, fixed["explained"], tol)


@tables
def test_components_agree_with_r_pls(name):
    # Its power iteration stops at changes of sqrt(eps).
    tol = 1e-6
    fit, fixed = fitted(name)
    check_components(fit, fixed["pls"], tol)
    fit, fixed = fitted(name, scale="columns")
    check_components(fit, fixed["centred"], tol)


@tables
def test_simpls_agrees_with_r_pls_and_mdatools(name):
    fit, fixed = fitted(name, algorithm="simpls", scale="columns")
    check_components(fit, fixed["simpls"], 1e-9)
    # mdatools has the same with the indicators over their standard deviations.
    fit, fixed = fitted(name, algorithm="simpls")
    near(fit.predict_indicators(), np.reshape(fixed["mdatools"]["fitted"], (fit.nobs, -1)), 1e-9)
    near(fit.r2()[["x", "y"]].T, [fixed["mdatools"][f"{of}_explained"] for of in "xy"], 1e-9)


@tables
def test_scores_and_importance_agree_with_mixomics(name):
    fit, fixed = fitted(name)
    other = fixed["mixomics"]
    near(fit.weights, other["weights"], 1e-8)
    near(fit.transform(), other["scores"], 1e-8)
    near(fit.explained, other["x_explained"], 1e-8)
    near(fit.predict_indicators(), other["fitted"], 1e-8)
    for count in range(1, fit.ncomp + 1):
        near(fit.vip(count)[fit.terms], np.array(other["vip"])[:, count - 1], 1e-8)
    assert fitted(name, rule="max")[0].predict().tolist() == other["max"]
    assert fitted(name, rule="centroid")[0].predict().tolist() == other["centroid"]


@tables
def test_q2_agrees_with_fits_without_each_fold(name):
    formula, data = TABLES[name]
    fixed = GOLDEN[name]
    response = data[formula.split()[0]]
    fold = data.groupby(response, observed=True).cumcount().to_numpy() % fixed["folds"]["folds"]
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(fixed["folds"]["folds"])]
    fit = pls(formula, data, folds=splits, grid=range(1, fixed["components"] + 1))
    near(fit.path["Q2"], fixed["folds"]["Q2"], 1e-6)


@tables
@pytest.mark.parametrize("scale", [True, False])
def test_estimates_agree_with_scikit_learn(name, scale):
    regression = pytest.importorskip("sklearn.cross_decomposition").PLSRegression
    fit, fixed = fitted(name, scale=scale)
    formula, data = TABLES[name]
    response = formula.split()[0]
    x = data[list(fit.terms)].to_numpy()
    y = np.equal(data[response].to_numpy()[:, None], fit.classes.to_numpy()[None]) * 1.0
    other = regression(fixed["components"], scale=scale, tol=1e-28, max_iter=10**5).fit(x, y)
    near(fit.weights, other.x_weights_)
    near(fit.loadings, other.x_loadings_)
    near(fit.rotations, other.x_rotations_)
    near(fit.y_loadings, other.y_loadings_)
    near(fit.transform(), other.transform(x), 1e-9)
    near(fit.coef, other.coef_.T)
    near(fit.predict_indicators(), other.predict(x))
    near(fit.intercept, other.predict(np.zeros((1, x.shape[1])))[0], 1e-9)
