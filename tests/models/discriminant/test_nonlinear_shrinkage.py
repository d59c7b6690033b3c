"""LDA and QDA with covariances by analytical nonlinear shrinkage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from discrim import lda, load, qda
from discrim.covariance import NonlinearShrinkage
from discrim.errors import CollinearError, MissingPredictionWarning, NotSupportedError
from discrim.sklearn import LDAClassifier
from tests.turns import one_in

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "nonlinear.json").read_text())["tables"]
Verb = Callable[..., Any]
verbs = pytest.mark.parametrize("verb", [lda, qda])
# The estimator is another one from the degrees of freedom on, 38 of the pooled covariance.
verbs_and_sizes = pytest.mark.parametrize(
    ("verb", "p"), [*((lda, p) for p in (5, 35, 36, 37, 38, 39, 60)), *((qda, p) for p in (5, 37, 60))]
)


def frame(x: Any, y: Any) -> pd.DataFrame:
    return pd.DataFrame(x).add_prefix("x").assign(y=y)


def simulated(p: int, n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Two classes of the same size."""
    rng = np.random.default_rng([p, n, seed])
    y = np.arange(n) % 2
    return frame(rng.standard_normal((n, p)) * np.linspace(1, 3, p) + 0.7 * y[:, None], y)


def golden_tables() -> dict[str, tuple[Verb, pd.DataFrame]]:
    wine, wines = load_wine(return_X_y=True)
    digits, labels = load_digits(return_X_y=True)
    tumours, diagnosis = load_breast_cancer(return_X_y=True)
    subset = np.flatnonzero(labels < 3)[:45]
    inked = np.ptp(digits[subset], axis=0) > 0
    return {
        "wine": (lda, frame(wine, wines)),
        "wine, standardized": (lda, frame((wine - wine.mean(axis=0)) / wine.std(axis=0), wines)),
        "iris, class 1": (qda, frame(*load_iris(return_X_y=True))),
        "breast cancer, 40 rows": (lda, frame(tumours[10:50], diagnosis[10:50])),
        "digits, 45 rows": (lda, frame(digits[subset][:, inked], labels[subset])),
    }


@pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")
@pytest.mark.parametrize("name", GOLDEN)
def test_covariances_agree_with_the_formulas_in_60_digits(name: str) -> None:
    verb, table = golden_tables()[name]
    fit = verb("y ~ .", table, covariance="nonlinear")
    actual = fit.cov if verb is lda else fit.covs[1]
    sd = np.sqrt(np.diag(GOLDEN[name]))
    np.testing.assert_allclose(actual / np.outer(sd, sd), GOLDEN[name] / np.outer(sd, sd), atol=1e-12)


@verbs_and_sizes
def test_leave_one_out_equals_refits(verb: Verb, p: int) -> None:
    table = simulated(p)
    options = {"covariance": "nonlinear", "prior": "equal"}
    left_out = verb("y ~ .", table, **options).leave_one_out()[[0, 1]].to_numpy()
    for i in (7, 22):
        again = verb("y ~ .", table.drop(index=i), **options)
        np.testing.assert_allclose(left_out[i], again.predict_proba(table.iloc[[i]]).to_numpy()[0], rtol=1e-8)


@one_in(2, {"verb": [lda, qda], "p": [5, 60], "method": ["moment", "mle"]})
def test_leaving_out_weighted_rows_equals_leaving_out_repeated_rows(verb: Verb, p: int, method: str) -> None:
    table = simulated(p)
    weights = np.random.default_rng(1).integers(1, 3, size=len(table))
    if verb is lda:
        table.loc[0, "y"] = 2
        weights[0] = 1
    options = {"covariance": "nonlinear", "prior": "equal", "method": method}
    left_out = verb("y ~ .", table, weights=weights, **options).leave_one_out()
    rows = np.repeat(table.index, weights)
    again = verb("y ~ .", table.loc[rows].reset_index(drop=True), **options).leave_one_out()
    classes = sorted(table["y"].unique())
    np.testing.assert_allclose(again[classes], left_out.loc[rows, classes], rtol=1e-8, atol=1e-12)


@verbs
@pytest.mark.parametrize("p", [5, 60])
def test_standard_deviations_are_kept_when_rows_are_left_out(verb: Verb, p: int) -> None:
    table = simulated(p)
    sd = np.sqrt(table.groupby("y").var().mean())
    left_out = verb("y ~ .", table, covariance=NonlinearShrinkage(standardize=True)).leave_one_out()
    again = verb("y ~ .", (table / sd).assign(y=table["y"]), covariance="nonlinear").leave_one_out()
    np.testing.assert_allclose(again[[0, 1]], left_out[[0, 1]], rtol=1e-8, atol=1e-13)


@verbs_and_sizes
def test_a_rotation_of_the_columns_rotates_the_covariance(verb: Verb, p: int) -> None:
    table = simulated(p)
    rotation = scipy.stats.ortho_group.rvs(p, random_state=1)
    rotated = frame(table.drop(columns="y").to_numpy() @ rotation, table["y"])
    fit = verb("y ~ .", table, covariance="nonlinear")
    again = verb("y ~ .", rotated, covariance="nonlinear")
    np.testing.assert_allclose(again.predict_proba(), fit.predict_proba(), rtol=1e-7, atol=1e-12)
    for k in [0, 1]:
        before, after = (each.cov if verb is lda else each.covs[k] for each in (fit, again))
        np.testing.assert_allclose(after, rotation.T @ before @ rotation, rtol=1e-8, atol=1e-10)


@verbs
@pytest.mark.parametrize("p", [5, 60])
def test_units_do_not_matter_for_standardized_columns(verb: Verb, p: int) -> None:
    table = simulated(p)
    units = np.append(10.0 ** np.linspace(-5, 5, p), 1.0)
    covariance = NonlinearShrinkage(standardize=True)
    actual, again = (verb("y ~ .", t, covariance=covariance).predict_proba() for t in (table, table * units))
    np.testing.assert_allclose(again, actual, rtol=1e-9, atol=1e-13)


@verbs
@pytest.mark.parametrize("p", [5, 90])
def test_weights_are_numbers_of_rows(verb: Verb, p: int) -> None:
    table = simulated(p)
    weights = np.random.default_rng(1).integers(1, 4, size=len(table))
    fit = verb("y ~ .", table, weights=weights, covariance="nonlinear")
    repeated = verb("y ~ .", table.loc[np.repeat(table.index, weights)], covariance="nonlinear")
    new = simulated(p, seed=1)
    np.testing.assert_allclose(repeated.predict_proba(new), fit.predict_proba(new), rtol=1e-8, atol=1e-13)


@verbs
@pytest.mark.parametrize("p", [5, 60])
def test_eigenvalues_equal_those_of_the_covariances(verb: Verb, p: int) -> None:
    table = simulated(p) * 1e-3
    for standardize in (False, True):
        fit = verb("y ~ .", table, covariance=NonlinearShrinkage(standardize))
        sd = np.sqrt(table.groupby("y").var().mean()) if standardize else pd.Series(1.0, table.columns[:-1])
        for k, label in enumerate(fit.classes if verb is qda else ["all"]):
            cov = fit.cov if verb is lda else fit.covs[label]
            deviations = table.groupby("y").transform(lambda x: x - x.mean())
            rows = deviations if verb is lda else deviations[table["y"] == label]
            df = len(rows) - (2 if verb is lda else 1)
            sample = np.linalg.eigvalsh(rows.T @ rows / np.outer(sd, sd) / df)[::-1]
            actual = fit.covariance_model.eigenvalues.to_numpy()[k * p : (k + 1) * p]
            np.testing.assert_allclose(
                actual[:, 0], np.where(sample > 1e-9 * sample[0], sample, 0), rtol=1e-9
            )
            shrunk = np.linalg.eigvalsh(cov / np.outer(sd, sd))
            np.testing.assert_allclose(np.sort(actual[:, 1]), shrunk, rtol=1e-9)


@pytest.mark.parametrize("p", [5, 60])
def test_maximum_likelihood_changes_only_the_divisor(p: int) -> None:
    table = simulated(p)
    moment, mle = (lda("y ~ .", table, covariance="nonlinear", method=m).cov for m in ("moment", "mle"))
    sd = np.sqrt(np.diag(moment))
    # Correlations, because the rounding of a small covariance is relative to the standard deviations.
    expected = moment * (len(table) - 2) / len(table)
    np.testing.assert_allclose(mle / np.outer(sd, sd), expected / np.outer(sd, sd), rtol=1e-12, atol=1e-14)


@verbs
@pytest.mark.parametrize("p", [5, 60])
def test_files_and_the_estimator_predict_as_the_fit(verb: Verb, p: int, tmp_path: Path) -> None:
    table = simulated(p)
    fit = verb("y ~ .", table, covariance=NonlinearShrinkage(standardize=True))
    fit.save(tmp_path / "fit")
    new = simulated(p, seed=1).drop(columns="y")
    np.testing.assert_array_equal(load(tmp_path / "fit").predict_proba(new), fit.predict_proba(new))
    if verb is lda:
        model = LDAClassifier(covariance=NonlinearShrinkage(standardize=True))
        model.fit(table.drop(columns="y"), table["y"])
        np.testing.assert_allclose(model.predict_proba(new), fit.predict_proba(new), rtol=1e-9, atol=1e-13)


def test_likelihood_is_not_available() -> None:
    fit = lda("y ~ .", simulated(5), covariance="nonlinear")
    for name in ("llf", "aic", "bic", "df_model"):
        with pytest.raises(NotSupportedError):
            getattr(fit, name)


def test_few_degrees_of_freedom_are_refused() -> None:
    table = simulated(3, 26)
    with pytest.raises(CollinearError):
        lda("y ~ .", table.iloc[:13], covariance="nonlinear")
    assert lda("y ~ .", table.iloc[:14], covariance="nonlinear").nobs == 14
    with pytest.raises(CollinearError) as caught:
        qda("y ~ .", table.iloc[:25], covariance="nonlinear")
    assert "class 1" in str(caught.value)
    fit = qda("y ~ .", table, covariance="nonlinear")
    with pytest.warns(MissingPredictionWarning):
        assert fit.leave_one_out()[[0, 1]].isna().all(axis=None)


def test_dependent_columns_are_refused_unless_there_are_more_columns_than_degrees_of_freedom() -> None:
    table = simulated(5).assign(twice=lambda t: 2 * t["x0"] - t["x1"])
    with pytest.raises(CollinearError) as caught:
        lda("y ~ .", table, covariance="nonlinear")
    assert "twice" in str(caught.value)
    with pytest.warns(match="twice"):
        fit = lda("y ~ .", table, covariance="nonlinear", collinear="drop")
    np.testing.assert_allclose(fit.cov, lda("y ~ .", simulated(5), covariance="nonlinear").cov, rtol=1e-12)
    wide = simulated(60).assign(twice=lambda t: 2 * t["x0"] - t["x1"])
    assert np.linalg.eigvalsh(lda("y ~ .", wide, covariance="nonlinear").cov).min() > 0
