"""What is written in pictures, of every kind: nothing clipped, nothing over another, no legend over marks.

A case is a table, a model, a kind and a size; not every table is drawn in every size (`MEASURED`). The size
"small" is a column of a journal, 3.35 inches with text of eight points. A kind that several models draw in
the same way is drawn of the first of them. What is wrong with a kind is told by

    python -m pytest tests/contract/test_text_boxes.py -k "structure and small" -m "" --tb=short
"""

from __future__ import annotations

from functools import cache
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

import discrim
from discrim.models.registry import BY_MODEL, spec_of
from discrim.penalty import Lasso
from tests.pictures import text_faults

pytestmark = pytest.mark.filterwarnings("ignore::discrim.errors.DiscrimWarning")

MODELS: dict[str, dict[str, Any]] = {
    "lda": {},
    "lda correlation": {"covariance": "correlation"},
    "lda t": {"covariance": "t"},
    "qda": {},
    "qda factor": {"covariance": "factor"},
    "rda": {"grid": [0.0, 0.5, 1.0], "folds": 5, "seed": 1},
    "naive_bayes": {},
    "logistic": {},
    "penalized_logistic": {"penalty": Lasso(folds=5, seed=1)},
    "indicator": {},
    "fda": {"engine": Ridge()},
    "kernel_lda": {},
    "mixture": {"most": 2, "starts": 1},
    "shrunken_centroids": {"folds": 5, "seed": 1},
    "nearest_centroid": {},
    "kernel_density": {},
    "knn": {},
    "pls": {"folds": 5, "seed": 1},
    "sparse_lda": {"folds": 3, "seed": 1, "n_penalties": 10},
    "perceptron": {"maxiter": 50},
    "hyperplane": {},
}
"""Rows of the registry, with what distinguishes their fits, and the options of these."""

DRAWN_OF = {
    ("lda", "distances"): "lda t",
    ("lda", "ranking"): "lda correlation",
    ("qda", "scree"): "qda factor",
}
"""Kinds that not every fit of a model has."""

SIZES: dict[str, dict[str, Any]] = {
    "small": {"figure.figsize": (3.35, 2.6), "font.size": 8},
    "normal": {},
    "large": {"figure.figsize": (11.0, 8.0)},
}
MEASURED: dict[str, tuple[str, ...]] = {
    "iris": ("small", "large"),
    "penguins": (),
    "wine": ("normal",),
    "breast": ("small",),
    "digits": ("small", "normal"),
    "two": ("small",),
    "long": ("small",),
    "big": ("small",),
}
"""Sizes at which the kinds of each table are drawn: narrow ones are the hardest, and what
fits into a small and a large one fits between. Those of penguins look as those of irises do; of each table
the defaults of all models are drawn."""

MANY_CLASSES = (
    "scores",
    "biplot",
    "structure",
    "scree",
    "territory",
    "regions",
    "confusion",
    "roc",
    "forest",
)
"""Kinds of digits that are drawn in the normal size as well, as what is written there is of many classes."""

QUICK = ("lda", "qda", "naive_bayes", "logistic", "indicator")
"""Models of whose kinds a third is drawn each time, on small pictures of irises."""

BIG = ("lda", "qda", "naive_bayes", "logistic", "indicator", "nearest_centroid", "pls")
"""Models that are fitted to very many rows in seconds."""


def long_names() -> pd.DataFrame:
    iris = discrim.datasets.load_iris()
    longer = {
        name: f"{name.replace('_', ' ')} measured at the first visit of the year" for name in iris.columns[:4]
    }
    labels = iris["species"].astype(str) + " (of the northern population)"
    return iris.rename(columns=longer).assign(species=labels)


def digits() -> pd.DataFrame:
    from sklearn.datasets import load_digits

    frame = load_digits(as_frame=True).frame
    frame = frame[[name for name in frame if name == "target" or frame[name].std() > 2.5]]
    return frame.rename(columns={"target": "digit"}).assign(digit=frame["target"].astype(str))


def many_classes() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 500_000)
    means = np.array([[0, 0, 0, 0], [2, 1, 0, 0.2], [1, 2.5, 1, 0]])
    x = rng.standard_normal((len(k), 4)) * [1, 1.5, 1, 2] + means[k]
    return pd.DataFrame(x, columns=list("abcd")).assign(group=np.array(["low", "mid", "high"])[k])


def two_classes() -> pd.DataFrame:
    iris = discrim.datasets.load_iris()
    return iris[iris["species"] != "setosa"].astype({"species": str})


TABLES: dict[str, tuple[str, Any]] = {
    "iris": ("species ~ .", discrim.datasets.load_iris),
    "penguins": ("species ~ .", discrim.datasets.load_penguins),
    "wine": ("cultivar ~ .", discrim.datasets.load_wine),
    "breast": ("diagnosis ~ .", discrim.datasets.load_breast_cancer),
    "digits": ("digit ~ .", digits),
    "two": ("species ~ .", two_classes),
    "long": ("species ~ .", long_names),
    "big": ("group ~ .", many_classes),
}


def cases() -> list[Any]:
    """A case for each picture that some function draws, and for the default of each model.

    A sample runs each time, another one with the slow tests, and all others are exhaustive.
    """
    out = []
    for table in TABLES:
        seen = set()
        for model in MODELS if table != "big" else BIG:
            row = BY_MODEL[model.split()[0]]
            plots = [
                plot for plot in spec_of(row).plots() if DRAWN_OF.get((row.name, plot.kind), model) == model
            ]
            for plot in plots:
                if plot in seen or (table == "big" and plot.refits):
                    continue
                seen.add(plot)
                out += [(table, model, plot.kind, size) for size in sizes_of(table, plot.kind)]
            out += [(table, model, None, "small")] if " " not in model else []
    fast = [case for case in out if is_quick(*case)][::3]
    slow = [case for case in out if case not in fast][::4]
    return [
        pytest.param(
            *case,
            id=name_of(*case),
            marks=() if case in fast else pytest.mark.slow if case in slow else pytest.mark.exhaustive,
        )
        for case in out
    ]


def sizes_of(table: str, kind: str) -> list[str]:
    plain = table != "digits" or kind in MANY_CLASSES
    return [size for size in MEASURED[table] if plain or size != "normal"]


def name_of(table: str, model: str, kind: str | None, size: str) -> str:
    return "-".join([table, model.replace(" ", "_"), kind or "default", size])


def is_quick(table: str, model: str, kind: str | None, size: str) -> bool:
    return (
        table == "iris"
        and size == "small"
        and kind not in (None, "pairs", "partition", "path")
        and model in QUICK
    )


@cache
def table_of(name: str) -> pd.DataFrame:
    return TABLES[name][1]()


@cache
def fitted(table: str, model: str) -> Any:
    """A fit, or what was raised instead."""
    try:
        verb = getattr(discrim, BY_MODEL[model.split()[0]].verb)
        return verb(TABLES[table][0], data=table_of(table), **MODELS[model])
    except discrim.errors.DiscrimError as error:
        return error


@pytest.mark.parametrize(("table", "model", "kind", "size"), cases())
def test_texts_of_plots_do_not_overlap(table, model, kind, size):
    fit = fitted(table, model)
    if isinstance(fit, discrim.errors.DiscrimError):
        pytest.skip(f"no fit: {fit}")
    with plt.rc_context(SIZES[size]):
        try:
            axes = fit.plot(kind)
        except (discrim.errors.DataError, discrim.errors.NotSupportedError) as error:
            pytest.skip(str(error))
        faults = text_faults(axes)
    plt.close("all")
    assert not faults, "\n".join(faults)


OTHERS = (
    "margin",
    "margin distances",
    "updates",
    "history",
    "folds",
    "differences",
    "permutations",
    "steps",
    "densities",
    "panels of regions",
)


@cache
def other_pictures() -> dict[str, Any]:
    """Pictures of what is not a fit."""
    iris = discrim.datasets.load_iris()
    two = iris[iris["species"] != "virginica"].astype({"species": str})
    fit = discrim.lda("species ~ .", iris)
    validated = discrim.cross_validate(fit, folds=5, repeats=3, seed=1, permutations=50)
    law = discrim.bayes({"low": 0.6, "high": 0.4}, {"low": stats.norm(0, 1), "high": stats.norm(2.5, 1.5)})
    return {
        "folds": lambda: validated.plot("folds"),
        "differences": lambda: validated.plot(
            "differences", other=discrim.lda("species ~ sepal_length", iris)
        ),
        "permutations": lambda: validated.plot("permutations"),
        "steps": lambda: discrim.stepwise("cultivar ~ .", discrim.datasets.load_wine()).plot(),
        "densities": lambda: law.plot("densities"),
        "margin": lambda: discrim.hyperplane("species ~ petal_length + petal_width", two).plot(),
        "margin distances": lambda: discrim.hyperplane("species ~ .", two).plot("distances"),
        "updates": lambda: discrim.perceptron("species ~ petal_length + petal_width", two).plot("updates"),
        "history": lambda: discrim.perceptron("species ~ .", two).plot("history"),
        "panels of regions": lambda: fit.plot("regions", columns=list(iris.columns[:3])),
    }


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=pytest.mark.slow if size == "small" else pytest.mark.exhaustive)
        for name in OTHERS
        for size in SIZES
    ],
)
def test_texts_of_other_plots_do_not_overlap(name, size):
    with plt.rc_context(SIZES[size]):
        faults = text_faults(other_pictures()[name]())
    plt.close("all")
    assert not faults, "\n".join(faults)
