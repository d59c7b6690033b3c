"""Calls that raise errors, whose messages are recorded, and results of the command line and estimators."""

from __future__ import annotations

import contextlib
import inspect
import io
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import discrim
import discrim.sklearn as estimators
from discrim.cli import main
from discrim.covariance import Shrunk
from tests.benchmarks.same_numbers.cases import tables
from tests.benchmarks.same_numbers.digests import Record

VERBS = (
    "lda", "qda", "rda", "naive_bayes", "shrunken_centroids", "indicator", "knn", "logistic", "perceptron",
)  # fmt: skip


def refused_calls() -> dict[str, Callable[[], Any]]:
    """Return calls with one wrong argument each."""
    iris = tables()["iris"].drop(columns="w")
    every = "species ~ ."
    nine_rows = iris.groupby("species").head(3)
    flat, twice = iris.assign(flat=1.0), iris.assign(twice=iris["petal_width"] * 2)
    holes = iris.assign(petal_width=iris["petal_width"].where(iris.index != 7))
    fit = discrim.lda(every, iris)
    calls: dict[str, Callable[[], Any]] = {
        "unknown column": lambda: discrim.lda("species ~ petal_lenght", iris),
        "no formula": lambda: discrim.lda("species petal_length", iris),
        "code": lambda: discrim.lda("species ~ __import__('os')", iris),
        "power": lambda: discrim.lda("species ~ (.)**9", iris),
        "prior": lambda: discrim.lda(every, iris, prior=[0.5, 0.6, 0.1]),
        "prior of no class": lambda: discrim.lda(every, iris, prior={"setosa": 0.5, "rose": 0.5}),
        "levels": lambda: discrim.lda(every, iris, levels=["setosa", "rose"]),
        "weights": lambda: discrim.lda(every, iris, weights=-np.ones(150)),
        "missing": lambda: discrim.lda(every, holes, na_action="raise"),
        "infinite": lambda: discrim.lda(every, iris.replace(1.4, np.inf)),
        "text": lambda: discrim.lda("petal_length ~ species", iris),
        "predict without a column": lambda: fit.predict(iris.drop(columns="petal_width")),
        "predict text": lambda: fit.predict(iris.assign(petal_width="wide")),
        "boundary": lambda: fit.boundary("setosa", "rose"),
        "covariance": lambda: discrim.lda(every, iris, covariance="shrunken"),
        "shrinkage": lambda: discrim.lda(every, iris, covariance=Shrunk(1.5)),
        "knn k": lambda: discrim.knn(every, iris, k=0),
        "knn metric": lambda: discrim.knn(every, iris, metric="euclid"),
        "rda alpha": lambda: discrim.rda(every, iris, alpha=1.5, gamma=0.1),
        "rda parametrization": lambda: discrim.rda(every, iris, parametrization="esls"),
        "hyperplane of three": lambda: discrim.hyperplane(every, iris),
        "load nothing": lambda: discrim.load("no_such_file.fit"),
        "hausman of two of a kind": lambda: discrim.hausman(fit, fit),
        "lr_test of two of a kind": lambda: discrim.lr_test(fit, fit),
        "compare none": lambda: discrim.compare(),
        "cross_validate folds": lambda: discrim.cross_validate(fit, folds=1),
        "stepwise criterion": lambda: discrim.stepwise(every, iris, criterion="aic"),
        "bayes": lambda: discrim.bayes([0.5, 0.6], pd.DataFrame(np.eye(2))),
        "from_stats": lambda: discrim.from_stats(iris.groupby("species").mean(), np.eye(3), [50, 50, 50]),
        "of the other kind": lambda: discrim.lda(every, iris, method="moments"),
        "an attribute": lambda: fit.covs,
    }
    odd_tables = {"few": nine_rows, "flat": flat, "twice": twice, "one class": iris[:50], "empty": iris[:0]}
    for verb in VERBS:
        call = getattr(discrim, verb)
        seeded = {"seed": 1} if "seed" in inspect.signature(call).parameters else {}
        for name, data in odd_tables.items():
            calls[f"{verb} {name}"] = partial(_repr_of, call, every, data, seeded)
        calls[f"{verb} unknown option"] = lambda call=call: call(every, iris, covarianse="pooled")
    return calls


def _repr_of(call: Callable[..., Any], formula: str, data: pd.DataFrame, options: dict[str, Any]) -> str:
    return repr(call(formula, data, **options))


def public_names(record: Record) -> None:
    """Record every public name, and every parameter of public functions and methods with its default."""
    for home in (discrim, estimators, discrim.errors, discrim.datasets):
        for name in sorted(home.__all__ if hasattr(home, "__all__") else dir(home)):
            thing, key = getattr(home, name, None), f"name {home.__name__}.{name}"
            if name.startswith("_"):
                continue
            record.add(key, type(thing).__name__)
            parts = {"": thing}
            if inspect.isclass(thing):
                parts = {n: getattr(thing, n, None) for n in sorted(dir(thing)) if not n.startswith("_")}
                parts["__init__"] = thing.__init__
            for part, function in parts.items():
                record.add(f"{key}.{part}", "callable" if callable(function) else "no function")
                if inspect.isroutine(function) and getattr(function, "__module__", "").startswith("discrim"):
                    for each in inspect.signature(function).parameters.values():
                        record.add(f"{key}.{part}({each.name})", f"{each.kind.description}, {each.default!r}")


def command_line(record: Record) -> None:
    """Record output and exit status of the command line."""
    folder = tempfile.mkdtemp()
    for line in (
        ["lda", "species ~ .", "iris"],
        ["qda", "species ~ .", "iris", "--format", "latex"],
        ["lda", "species ~ .", "iris", "--save", "cli.fit"],
        ["predict", "cli.fit", "iris"],
        ["knn", "species ~ .", "iris"],
        ["naive-bayes", "species ~ .", "penguins"],
        ["lda", "species ~ petal_lenght", "iris"],
        ["--help"],
    ):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(folder):
            try:
                status: Any = main(line)
            except SystemExit as stopped:
                status = stopped.code
        record.add(f"command {' '.join(line)}", [status, out.getvalue(), err.getvalue()])


def scikit_learn_results(record: Record) -> None:
    """Record labels and posteriors of the scikit-learn estimators."""
    plane = tables()["plane"]
    x, y = plane.iloc[:, :4].to_numpy(), plane["species"].to_numpy()
    for name in sorted(estimators.__all__):
        estimator = getattr(estimators, name)
        if not inspect.isclass(estimator) or name in ("FDAClassifier", "FormulaClassifier"):
            continue
        options = {"seed": 1} if "seed" in inspect.signature(estimator).parameters else {}
        fit = record.call(
            f"sklearn {name} fitted", lambda make=estimator, options=options: make(**options).fit(x, y)
        )
        if isinstance(fit, BaseException):
            continue
        for option, value in fit.get_params().items():
            record.add(f"sklearn {name}({option})", repr(value))
        for method in ("predict", "predict_proba", "decision_function", "transform"):
            if hasattr(fit, method):
                record.call(
                    f"sklearn {name}.{method}()", lambda fit=fit, method=method: getattr(fit, method)(x)
                )
