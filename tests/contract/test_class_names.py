"""Whatever classes are called, no table has a name twice."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.errors import DiscrimError

HOSTILE = (
    "label", "total", "prior", "pooled", "estimate", "se", "rows", "class", "term", "constant", "LD1",
    "actual", "predicted", "set", "(label)", "(total)", "x0",
)  # fmt: skip

VERBS: dict[str, dict[str, Any]] = {
    "lda": {},
    "qda": {},
    "rda": {"alpha": 0.5, "gamma": 0.5},
    "naive_bayes": {},
    "logistic": {"penalty": "ridge", "strength": 1.0},
    "indicator": {},
    "perceptron": {"maxiter": 2},
    "knn": {"k": 3},
    "nearest_centroid": {},
    "shrunken_centroids": {"threshold": 0.1},
    "kernel_density": {"bandwidth": 1.0},
    "pls": {"components": 1},
    "sparse_lda": {"penalty": 0.1},
    "mixture": {"components": 1},
}

WRITING = {"save", "report", "plot", "to_onnx", "to_sql", "to_excel"}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(len(HOSTILE)), 6)
    x = rng.normal(size=(len(codes), 2)) + 5 * rng.normal(size=(len(HOSTILE), 2))[codes]
    return pd.DataFrame({"y": np.array(HOSTILE)[codes], "x0": x[:, 0], "x1": x[:, 1]})


def frames_of(value: Any) -> Iterator[pd.DataFrame | pd.Series]:
    if isinstance(value, pd.DataFrame | pd.Series):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from frames_of(each)


def answers(fit: Any, data: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    """All that a fit has and its methods give without arguments, or with the table or two classes."""
    for name in dir(fit):
        if name.startswith("_") or name in WRITING:
            continue
        try:
            value = getattr(fit, name)
            if inspect.ismethod(value):
                parameters = inspect.signature(value).parameters
                needed = [
                    each
                    for each, p in parameters.items()
                    if p.default is p.empty and p.kind < p.VAR_POSITIONAL
                ]
                known = {"a": HOSTILE[0], "b": HOSTILE[1], "data": data}
                if not set(needed) <= set(known):
                    continue
                value = value(**{each: known[each] for each in needed})
        except (DiscrimError, ImportError):
            continue
        yield name, value
        for inner in (
            "tables",
            "misclassified",
            "table",
            "brier",
            "by_class",
            "pairs",
            "confusion",
            "labels",
        ):
            yield f"{name}.{inner}", getattr(value, inner, None)


@pytest.mark.parametrize("verb", VERBS)
def test_no_table_has_a_name_twice(verb):
    data, seen = table(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = getattr(discrim, verb)("y ~ x0 + x1", data, **VERBS[verb])
        for name, value in answers(fit, data):
            for frame in frames_of(value):
                seen += 1
                assert frame.index.is_unique, name
                assert not isinstance(frame, pd.DataFrame) or frame.columns.is_unique, name
    assert seen > 8


def test_no_table_of_error_rates_has_a_name_twice():
    found = discrim.lda("y ~ x0 + x1", table()).error_rates(["apparent", "posterior"], by_class=True)
    assert found.columns.is_unique
    assert found.columns[:2].tolist() == ["(estimate)", "(se)"]
    assert "prior" in found.columns
    assert "(prior)" in found.columns
    chosen = discrim.stepwise("y ~ x0 + x1", table(), enter=0.9, stay=0.9)
    assert chosen.error_rates(["apparent", "cv"], by_class=True, folds=3, seed=1).columns.is_unique


def test_what_a_class_has_taken_stands_in_parentheses():
    fit = discrim.lda("y ~ x0 + x1", table())
    assert fit.leave_one_out().columns[0] == "((label))"
    assert fit.group_summary().index.get_level_values("class")[-1] == "((total))"
    plain = discrim.lda("species ~ .", discrim.datasets.load_iris())
    assert plain.leave_one_out().columns[0] == "label"
