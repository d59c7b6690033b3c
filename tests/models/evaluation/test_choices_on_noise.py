"""What a fit chose by its rows: which of its errors holds the choice, and what is said of it.

Labels at random: every rule has an error of one half on new rows. An error that holds what the same rows
chose may lie below it, and the summary has to say so; one that chooses anew lies about it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Diagonal, FactorAnalytic, Shrunk, StudentT
from discrim.datasets import load_iris
from discrim.penalty import Ridge

IRIS = load_iris()

CHOICES: dict[str, tuple[str, dict[str, Any]]] = {
    "shrinkage": ("lda", {"covariance": Shrunk("loo")}),
    "shrinkage by class": ("qda", {"covariance": Shrunk("loo")}),
    "shrunk variances": ("lda", {"covariance": Diagonal("loo")}),
    "alpha and gamma": ("rda", {"seed": 1}),
    "neighbours": ("knn", {}),
    "many neighbours": ("knn", {"grid": [3, 33, 37]}),
    "components of pls": ("pls", {"seed": 1}),
    "components of mixtures": ("mixture", {"components": "bic", "most": 2, "seed": 1}),
    "covariances of mixtures": ("mixture", {"components": 1, "covariance": "bic", "seed": 1}),
    "bandwidth": ("kernel_density", {}),
    "kernel": ("kernel_lda", {}),
    "penalty": ("sparse_lda", {"seed": 1, "n_penalties": 6}),
    "threshold": ("shrunken_centroids", {"seed": 1}),
    "strength": ("logistic", {"penalty": Ridge(seed=1, n_strengths=8, folds=4)}),
}
"""Choices by an error or a criterion of the rows and their labels."""

ESTIMATES: dict[str, tuple[str, dict[str, Any]]] = {
    "oas": ("lda", {"covariance": "shrunk"}),
    "ledoit-wolf": ("qda", {"covariance": Shrunk("ledoit-wolf")}),
    "strimmer": ("lda", {"covariance": Diagonal("strimmer")}),
    "correlation": ("lda", {"covariance": "correlation"}),
    "dimensions by cattell": ("qda", {"covariance": "factor"}),
    "dimensions by bic": ("qda", {"covariance": FactorAnalytic("bic")}),
    "bandwidths of columns": ("naive_bayes", {"kernel": True}),
    "normal bandwidth": ("kernel_density", {"bandwidth": "normal"}),
    "degrees of freedom": ("lda", {"covariance": StudentT(nu=None)}),
    "unit variances": ("nearest_centroid", {}),
}
"""Choices in closed form, which leave-one-out makes anew without each row."""


def noise(seed: int, rows: int = 40, columns: int = 6) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(rows, columns))).rename(columns="x{}".format)
    return table.assign(y=rng.permutation(["a", "b"] * (rows // 2)))


def fitted(asked: tuple[str, dict[str, Any]], data: pd.DataFrame, formula: str = "y ~ ."):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(discrim, asked[0])(formula, data, **asked[1])


def note_of(fit) -> str:
    return " ".join(str(fit.summary(["header"])).split())


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_error_rates_state_whether_choices_are_fixed_or_repeated(name):
    fit = fitted(CHOICES[name], noise(0))
    assert fit._fit.choice_description
    rates = fit.error_rates(["apparent", "cv"], folds=4, seed=1)
    assert rates["choice"].tolist() == ["fixed", "repeated"]
    message = note_of(fit)
    assert "error_rates(['cv'])" in message
    assert "optimistic" in message
    found = [rates.loc["cv", "estimate"]]
    # Searches that take long, on fewer tables.
    is_slow = name in ("strength", "penalty", "components of mixtures", "covariances of mixtures")
    for seed in range(1, 4 if is_slow else 7):
        own = fitted(CHOICES[name], noise(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(own.error_rates(["cv"], folds=4, seed=seed)["estimate"].item())
    # Rows that are left out make the other class the larger one: errors are a little above one half.
    assert 0.5 - 3 * np.std(found, ddof=1) / np.sqrt(len(found)) - 0.02 < np.mean(found) < 0.66


@pytest.mark.filterwarnings("ignore:The likelihood is largest at nu:discrim.errors.DiscrimWarning")
@pytest.mark.parametrize(
    "name",
    # Degrees of freedom are chosen by a search for each row.
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "degrees of freedom")) for name in ESTIMATES],
)
def test_leave_one_out_repeats_choices_in_closed_form(name):
    data = IRIS.iloc[::5].reset_index(drop=True)
    asked = ESTIMATES[name]
    proportions = {"setosa": 0.3, "versicolor": 0.3, "virginica": 0.4}
    options = (asked[0], asked[1] | {"prior": proportions})
    fit = fitted(options, data, "species ~ .")
    left_out = fit.leave_one_out().drop(columns="label")
    for row in (0, 14, 29):
        own = fitted(options, data.drop(row), "species ~ .")
        np.testing.assert_allclose(
            own.predict_proba(data.loc[[row]]), left_out.loc[[row]], rtol=1e-6, atol=1e-9
        )


def test_leave_one_out_fixes_estimated_transforms_with_a_note():
    plain = fitted(("lda", {}), IRIS, "species ~ sepal_length")
    learnt = fitted(("lda", {}), IRIS, "species ~ poly(sepal_length, 2)")
    words = (
        "It fixes the estimated transforms of the formula; error_rates(['cv']) estimates them again in "
        "each fold."
    )
    assert words in note_of(learnt)
    assert "It fixes" not in note_of(plain)
    scaled = fitted(("lda", {"covariance": Shrunk(standardize=True)}), IRIS, "species ~ .")
    assert "It fixes the standard deviations of the columns" in note_of(scaled)


def test_error_tables_state_whether_each_method_fixes_choices():
    fit = fitted(("knn", {}), IRIS, "species ~ .")
    rates = fit.error_rates(["apparent", "loo", "cv"], seed=1)
    assert rates["choice"].tolist() == ["fixed", "fixed", "repeated"]
    assert "choice" not in fitted(("knn", {"k": 3}), IRIS, "species ~ .").error_rates()
    message = str(fit.assess("cv", seed=1).summary())
    assert "the choice of k is repeated" in " ".join(message.split())
    assert "the choice of k is fixed" in " ".join(str(fit.assess("loo").summary()).split())


def test_folds_with_fewer_rows_than_k_choose_k_again():
    """The k of all rows need not be there without a fold: the choice is that of the rest."""
    rows = noise(3, 24, 2)
    fit = fitted(("knn", {"grid": [3, 22]}), rows)
    far = discrim.knn("y ~ .", rows, k=22)
    fit._fit = replace(fit._fit, estimates=far._fit.estimates)
    validation = discrim.cross_validate(fit, 3, seed=1)
    for fold in (1, 2, 3):
        at = validation.folds[1] == fold
        refit = discrim.knn("y ~ .", rows[~at], grid=[3])
        assert validation.labels[1][at].tolist() == refit.predict(rows[at]).tolist()
