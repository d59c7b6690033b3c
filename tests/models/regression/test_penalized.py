"""Logistic regression with ridge, lasso and elastic net penalties: glmnet, scikit-learn, its own conditions."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discrim import logistic
from discrim.datasets import load_breast_cancer, load_iris, load_penguins, load_wine
from discrim.frame.scan import quote
from tests import support

TABLES = support.TABLES / "classic"
GENES = support.TABLES / "genes"
GOLDEN = json.loads((support.GOLDEN / "penalty.json").read_text())
FITS, FOLDS = GOLDEN["fits"], GOLDEN["folds"]
BUNDLED = {
    "breast_cancer": load_breast_cancer, "iris": load_iris, "penguins": load_penguins, "wine": load_wine,
}  # fmt: skip
NAMES = {0: "ridge", 1: "lasso"}
IRIS = load_iris()


@cache
def table(file: str) -> pd.DataFrame:
    if file in BUNDLED:
        return BUNDLED[file]()
    path = TABLES / f"{file}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path.name} is not part of the project (GPL) and not beside it")
    return pd.read_csv(path)


def asked(case: dict[str, Any]) -> tuple[str, pd.DataFrame, dict[str, Any]]:
    """Formula, table and options of a golden case."""
    columns, data = case["columns"], table(case["file"])
    data = data.dropna(subset=[case["response"], *columns]).reset_index(drop=True)
    assert len(data) == case["nobs"]
    name = NAMES.get(case["alpha"], "elastic_net")
    options: dict[str, Any] = {"penalty": name}
    if name == "elastic_net":
        options["l1_ratio"] = case["alpha"]
    if case.get("weighted"):
        options["weights"] = 1.0 + np.arange(1, len(data) + 1) % 3
    return f"{case['response']} ~ {' + '.join(map(quote, columns))}", data, options


def standardized(coef: np.ndarray, fit: Any, data: pd.DataFrame, weights: Any) -> np.ndarray:
    """Coefficients (p + 1, K) of columns about their means, over their standard deviations, divisor N."""
    x = data[list(fit.terms)].to_numpy(float)
    slopes = coef[1:] * np.sqrt(np.atleast_2d(np.cov(x.T, aweights=weights, ddof=0)).diagonal())[:, None]
    return np.vstack([coef[0] + np.average(x, axis=0, weights=weights) @ coef[1:], slopes])


# ------------------------------------------------------------------ glmnet


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore:The weights of")
def test_coefficients_as_glmnet(name):
    case = FITS[name]
    formula, data, options = asked(case)
    for strength, coef, explained in zip(case["strengths"], case["coef"], case["explained"], strict=True):
        fit = logistic(formula, data, strength=strength, **options)
        wanted, found = np.array(coef).T, fit.class_params.to_numpy()
        if wanted.shape[1] == 1:
            wanted = np.column_stack([np.zeros(len(wanted)), wanted])
        wanted, found = (standardized(each, fit, data, options.get("weights")) for each in (wanted, found))
        if len(fit.classes) > 2:
            # Constants have a common part that is free, and by the lasso coefficients of an even number of classes.
            wanted, found = (each - np.median(each, axis=1, keepdims=True) for each in (wanted, found))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=5e-6)
        assert fit.prsquared == pytest.approx(explained, abs=1e-8)
        assert fit.penalty == (options["penalty"], strength, case["alpha"])


@pytest.mark.parametrize("name", FOLDS)
def test_the_choice_as_cv_glmnet(name):
    case = FOLDS[name]
    formula, data, options = asked(case)
    dealt = np.arange(len(data)) % 10
    splits = [(np.flatnonzero(dealt != k), np.flatnonzero(dealt == k)) for k in range(10)]
    fit = logistic(formula, data, grid=case["strengths"], folds=splits, **options)
    path = fit.path
    np.testing.assert_allclose(path["strength"], case["strengths"], rtol=1e-14)
    np.testing.assert_allclose(path["deviance"], case["deviance"], rtol=1e-6)
    np.testing.assert_allclose(path["se"], case["se"], rtol=1e-5)
    np.testing.assert_allclose(path["error"], case["error"], atol=1e-12)
    assert fit.penalty.strength == pytest.approx(case["min"])
    simpler = logistic(formula, data, grid=case["strengths"], folds=splits, select="1se", **options)
    assert simpler.penalty.strength == pytest.approx(case["one_se"])
