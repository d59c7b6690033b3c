"""Results of every verb, made once in a process for the tests that walk all of them.

Tests must not change the results that `fitted` returns.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.errors import NotComparableWarning
from discrim.models.registry import BY_VERB
from discrim.penalty import Lasso, Ridge

IRIS = load_iris()[::2].reset_index(drop=True)
ALIKE = IRIS[IRIS["species"] != "setosa"].astype({"species": str})


def two_first(iris: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first two species, which a hyperplane separates."""
    return iris[: len(iris) * 2 // 3].astype({"species": str})


MADE = {
    "lda": lambda iris, alike: discrim.lda("species ~ .", iris),
    "lda, robust": lambda iris, alike: discrim.lda("species ~ .", iris, covariance="t"),
    "lda, shrunk": lambda iris, alike: discrim.lda(
        "species ~ .", iris, covariance=Shrunk("loo", grid=[0, 0.5])
    ),
    "qda": lambda iris, alike: discrim.qda("species ~ .", iris),
    "rda": lambda iris, alike: discrim.rda("species ~ .", iris, grid=[0.0, 1.0], seed=1),
    "naive_bayes": lambda iris, alike: discrim.naive_bayes("species ~ .", iris),
    "shrunken_centroids": lambda iris, alike: discrim.shrunken_centroids("species ~ .", iris, seed=1),
    "kernel_density": lambda iris, alike: discrim.kernel_density("species ~ .", iris),
    "mixture": lambda iris, alike: discrim.mixture("species ~ .", iris, most=2),
    "pls": lambda iris, alike: discrim.pls("species ~ .", iris, grid=[1, 2], seed=1),
    "sparse_lda": lambda iris, alike: discrim.sparse_lda("species ~ .", iris, n_penalties=5, seed=1),
    "nearest_centroid": lambda iris, alike: discrim.nearest_centroid("species ~ .", iris),
    "plda": lambda iris, alike: discrim.plda("species ~ .", iris),
    "location": lambda iris, alike: discrim.location(
        "species ~ early + petal_width", iris.assign(early=iris.index % 2 == 0), grid=[0.1, 0.5]
    ),
    "knn": lambda iris, alike: discrim.knn("species ~ .", iris, grid=[2, 5]),
    "logistic": lambda iris, alike: discrim.logistic("species ~ sepal_length + sepal_width", alike),
    "logistic, ridge": lambda iris, alike: discrim.logistic("species ~ .", iris, penalty=Ridge(0.1)),
    "logistic, lasso": lambda iris, alike: discrim.logistic(
        "species ~ .", iris, penalty=Lasso(n_strengths=5, seed=1)
    ),
    "indicator": lambda iris, alike: discrim.indicator("species ~ .", iris),
    "fda": lambda iris, alike: discrim.fda("species ~ .", iris, engine=LinearRegression()),
    "kernel_lda": lambda iris, alike: discrim.kernel_lda("species ~ .", iris, kernel="gaussian"),
    "perceptron": lambda iris, alike: discrim.perceptron("species ~ .", two_first(iris)),
    "hyperplane": lambda iris, alike: discrim.hyperplane("species ~ .", two_first(iris)),
    "bayes": lambda iris, alike: discrim.bayes([0.5, 0.5], {"a": stats.norm(0, 1), "b": stats.norm(2, 1)}),
    "cross_validate": lambda iris, alike: discrim.cross_validate(
        discrim.lda("species ~ .", iris), 3, repeats=2, seed=1
    ),
    "choose": lambda iris, alike: discrim.choose(
        "species ~ .", iris, candidates=["lda", "qda"], folds=2, seed=1
    ),
    "stepwise": lambda iris, alike: discrim.stepwise("species ~ .", iris),
    "stepwise, cv": lambda iris, alike: discrim.stepwise(
        "species ~ .", iris, criterion="cv", folds=3, seed=1
    ),
    "lr_test": lambda iris, alike: discrim.lr_test(
        discrim.lda("species ~ .", iris), discrim.qda("species ~ .", iris)
    ),
    "box_m": lambda iris, alike: discrim.box_m("species ~ .", iris),
    "manova": lambda iris, alike: discrim.manova("species ~ .", iris),
    "mlm": lambda iris, alike: discrim.mlm("species ~ .", iris),
    "manova, many columns": lambda iris, alike: discrim.manova("species ~ .", iris, method="chen-qin"),
    "sphericity_test": lambda iris, alike: discrim.sphericity_test("species ~ .", iris),
    "permanova": lambda iris, alike: discrim.permanova("species ~ .", iris, permutations=99, seed=1),
    "plan": lambda iris, alike: discrim.plan(2, 3, rows=[10, 20], draws=1000),
    "learning_curve": lambda iris, alike: discrim.lda("species ~ .", iris).learning_curve(
        sizes=[0.3, 0.5, 0.8], repeats=1, seed=1
    ),
    "covariance_models": lambda iris, alike: discrim.covariance_models("species ~ .", iris),
    "hausman": lambda iris, alike: discrim.hausman(*_fit_pair(alike)),
    "compare": lambda iris, alike: discrim.compare(*_fit_pair(alike)),
    "compare, log odds": lambda iris, alike: discrim.compare(*_fit_pair(alike)).log_odds(),
    "compare, pairs": lambda iris, alike: discrim.compare(*_fit_pair(alike), folds=3, seed=1).pairs(),
    "compare, folds": lambda iris, alike: discrim.compare(*_fit_pair(alike), folds=3, seed=1),
}
"""Functions that make a result of each verb from the irises of three classes and of the two similar ones."""

FITS = {name: partial(make, IRIS, ALIKE) for name, make in MADE.items()}

MODELLED = [name for name in FITS if name.partition(",")[0] in BY_VERB]
"""Names of the results that are fitted models."""

SLOW_TABLES = ("lda, robust", "logistic, ridge", "pls", "sparse_lda", "stepwise, cv")
"""Names of the results whose tables take seconds."""

NOT_WALKED = ("plot", "save", "predict_set", "learning_curve", "update", "to_marginaleffects")
"""Methods without a table, and those that are slow or repeat the fit."""

ALIKE_FOR_ALL = ("assess", "confusion", "cross_validate")
"""Evaluations, which return objects of the same classes for all models and fit many of them again."""


def _fit_pair(alike: pd.DataFrame) -> tuple[Any, Any]:
    formula = "species ~ sepal_length + sepal_width"
    return discrim.lda(formula, alike), discrim.logistic(formula, alike)


@cache
def fitted(name: str) -> Any:
    """Return a result of `FITS`."""
    with warnings.catch_warnings():
        # The likelihoods of lda() and logistic() are not comparable.
        warnings.simplefilter("ignore", NotComparableWarning)
        return FITS[name]()


def result_tables(
    result: Any, depth: int = 2, skipped: Sequence[str] = ()
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return all tables that an object and its parts return without arguments, except by skipped methods."""
    if isinstance(result, (pd.DataFrame, pd.Series)):
        yield "", result.to_frame() if isinstance(result, pd.Series) else result
        return
    for name in dir(result):
        if name.startswith("_") or name in NOT_WALKED or name in skipped:
            continue
        try:
            part = getattr(result, name)
            part = part() if callable(part) else part
        except (ValueError, TypeError):
            continue
        if name == "summary":
            yield from ((f"{name}.{key}", table) for key, table in part.tables.items())
        elif isinstance(part, (pd.DataFrame, pd.Series)) or (
            depth > 1 and type(part).__module__.startswith("discrim")
        ):
            for path, table in result_tables(part, depth - 1):
                yield f"{name}.{path}".strip("."), table


def mark_slow_cases(names: Iterable[str], slow: Sequence[str]) -> list[Any]:
    """Return names as cases; those in `slow`, whose fits search for their parameters, are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in names]
