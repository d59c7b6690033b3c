"""One thing has one name: every table, attribute and argument of every verb is walked."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from typing import Any

import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

import discrim
from discrim.covariance import Shrunk
from discrim.datasets import load_iris
from discrim.models.registry import BY_VERB
from discrim.penalty import Lasso, Ridge

IRIS = load_iris()
ALIKE = IRIS[IRIS["species"] != "setosa"].astype({"species": str})
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
    "perceptron": lambda iris, alike: discrim.perceptron("species ~ .", iris[:100]),
    "hyperplane": lambda iris, alike: discrim.hyperplane("species ~ .", iris[:100].astype({"species": str})),
    "bayes": lambda iris, alike: discrim.bayes([0.5, 0.5], {"a": stats.norm(0, 1), "b": stats.norm(2, 1)}),
    "cross_validate": lambda iris, alike: discrim.cross_validate(
        discrim.lda("species ~ .", iris), 3, repeats=2, seed=1
    ),
    "choose": lambda iris, alike: discrim.choose("species ~ .", iris, candidates=["lda", "qda"], seed=1),
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
    "learning_curve": lambda iris, alike: discrim.lda("species ~ .", iris).learning_curve(repeats=1, seed=1),
    "covariance_models": lambda iris, alike: discrim.covariance_models("species ~ .", iris),
    "hausman": lambda iris, alike: discrim.hausman(*_fit_pair(alike)),
    "compare": lambda iris, alike: discrim.compare(*_fit_pair(alike)),
    "compare, log odds": lambda iris, alike: discrim.compare(*_fit_pair(alike)).log_odds(),
    "compare, pairs": lambda iris, alike: discrim.compare(*_fit_pair(alike), folds=3, seed=1).pairs(),
    "compare, folds": lambda iris, alike: discrim.compare(*_fit_pair(alike), folds=3, seed=1),
}
"""Fits and what is made of them, of irises of three classes and of the two that are alike."""

FITS = {name: partial(make, IRIS, ALIKE) for name, make in MADE.items()}

MODELLED = [name for name in FITS if name.partition(",")[0] in BY_VERB]
"""Those that a verb of a model gives."""

BROOM = {"estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"}
"""What `tidy()` says, and no other table."""

SYNONYMS = re.compile(
    r"std[_ .]?err|std_?error|stderr|^bse|standard|p[_-]?val|^prob$|^pr$|^P ?>|[<>|]|^\[?0\.\d+\]?$|"
    r"conf_|^ci|_ci$|^lower|^upper|^lcl|^ucl|^[tzf]_?(value|stat)|^coefs?icient|^estimates$|^dof|d\.f|^n_?obs_",
    re.IGNORECASE,
)
"""Other names of: estimate or coef, se, z, t, F, df, p, low, high."""

KEPT = {
    "bounds": {"lower"},  # A theorem's bound beside Chernoff's and Bhattacharyya's, no end of an interval.
}

FOLDS = {"cv", "n_folds", "nfolds", "kfold", "k_folds", "random_state", "confidence", "conf_level"}
"""Other names of folds=, seed= and level=."""


def _fit_pair(alike: pd.DataFrame) -> tuple[Any, Any]:
    formula = "species ~ sepal_length + sepal_width"
    return discrim.lda(formula, alike), discrim.logistic(formula, alike)


@cache
def fitted(name: str) -> Any:
    return FITS[name]()


def result_tables(result: Any, depth: int = 2) -> Iterator[tuple[str, pd.DataFrame]]:
    """Return all tables that an object and its parts return without arguments."""
    if isinstance(result, (pd.DataFrame, pd.Series)):
        yield "", result.to_frame() if isinstance(result, pd.Series) else result
        return
    for name in dir(result):
        if name.startswith("_") or name in ("plot", "save", "predict_set", "learning_curve"):
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


def names_in(table: pd.DataFrame) -> set[str]:
    """Return the names of columns at all levels."""
    levels = [table.columns.get_level_values(i) for i in range(table.columns.nlevels)]
    return {str(name) for level in levels for name in level}


def cases_with_slow(names: Iterable[str]) -> list[Any]:
    """Return names as cases, of which those whose tables take seconds are slow."""
    slow = ("lda, robust", "logistic, ridge", "pls", "sparse_lda", "stepwise, cv")
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in slow)) for name in names]


@pytest.mark.parametrize("name", cases_with_slow(FITS))
def test_tables_use_no_synonyms(name):
    found = list(result_tables(fitted(name)))
    assert found
    for path, table in found:
        last = path.rpartition(".")[2]
        names = names_in(table) - KEPT.get(last, set())
        if last == "tidy":
            names -= BROOM
            assert not names & {"se", "p", "low", "high", "z", "t", "coef"}, f"{name}.{path}"
        wrong = sorted(
            column
            for column in names
            if SYNONYMS.search(column) or column in BROOM - {"estimate", "statistic"}
        )
        if last in ("bse", "pvalues"):
            continue
        assert not wrong, f"{name}.{path} says {wrong}"
        assert ("low" in names) == ("high" in names) or last == "stability", f"{name}.{path}"


def test_the_walk_sees_every_model():
    assert set(BY_VERB) <= set(FITS)


@pytest.mark.slow
def test_the_walk_sees_tables_that_were_wrong():
    wrong = {
        "lda.error_rates",
        "lda.canonical.stability",
        "lda.summary.log_odds",
        "lr_test.table",
        "indicator.summary.coefficients",
        "indicator.summary.regressions",
        "logistic.summary.odds_ratios",
        "logistic.tidy",
        "knn.summary.path",
        "cross_validate.table",
        "cross_validate.summary.measures",
        "stepwise, cv.steps",
        "compare, folds",
    }
    names = {path.split(".")[0] for path in wrong}
    seen = {f"{name}.{path}".strip(".") for name in names for path, _ in result_tables(fitted(name))}
    assert len(seen) > 100
    assert wrong <= seen


@pytest.mark.parametrize(
    "name", ["std_err", "P>|z|", "[0.025", "pvalue", "p_value", "conf_low", "lower", "0.975]"]
)
def test_synonyms_are_detected(name):
    assert SYNONYMS.search(name)


@pytest.mark.parametrize(
    "name", ["se", "p", "p_exact", "se_folds", "wilks_p", "share", "proportion", "low", "df1"]
)
def test_standard_names_are_not_synonyms(name):
    assert not SYNONYMS.search(name)


def test_arguments_use_one_name_per_concept():
    wrong = []
    verbs = {
        name: getattr(discrim, name)
        for name in discrim.__all__
        if not inspect.ismodule(getattr(discrim, name))
    }
    for name, verb in verbs.items():
        parts = inspect.getmembers(verb, inspect.isfunction) if inspect.isclass(verb) else [("", verb)]
        for part, function in parts:
            if not part.startswith("_"):
                asked = FOLDS & set(inspect.signature(function).parameters)
                wrong += [(name, part, argument) for argument in asked]
    assert wrong == []


@pytest.mark.parametrize("module", ["discrim", "discrim.errors", "discrim.datasets", "discrim.sklearn"])
def test_dir_of_a_module_lists_its_public_names(module):
    imported = importlib.import_module(module)
    assert set(dir(imported)) - {"__all__", "__version__"} == set(imported.__all__)
    for name in ("Any", "TYPE_CHECKING", "annotations", "warn_user", "kept_warnings"):
        assert name not in dir(imported)


@pytest.mark.parametrize("name", ["lda", "mlm", "lda, robust"])
def test_public_attributes_are_lower_case(name):
    assert [each for each in dir(fitted(name)) if each[0].isupper()] == []


def test_renderings_keep_the_headings_of_statsmodels():
    text = fitted("lda").summary(["log_odds"]).as_text()
    assert all(heading in text for heading in ("std err", "P>|z|", "[0.025", "0.975]"))
    assert "std err" in fitted("lda").summary(["log_odds"]).as_markdown()
