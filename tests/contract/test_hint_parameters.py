"""Hints of errors name parameters of the verb and values that work."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import discrim
from discrim.covariance import Diagonal, Shrunk, ShrunkCorrelation
from discrim.errors import DiscrimError, DiscrimWarning

RNG = np.random.default_rng(21)


def simulate_table(n_rows: int = 60, n_columns: int = 4) -> pd.DataFrame:
    y = np.repeat(list("abc"), n_rows // 3)
    x = RNG.normal(size=(n_rows, n_columns)) + 0.5 * (y == "a")[:, None]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(n_columns)]).assign(y=y)


PLAIN = simulate_table()
IS_A = PLAIN["y"] == "a"
TABLES = {
    "sum": PLAIN.assign(z=PLAIN["x0"] + PLAIN["x1"]),
    "copy": PLAIN.assign(z=2.0 * PLAIN["x0"]),
    "constant within classes": PLAIN.assign(z=PLAIN["y"].map({"a": 0.0, "b": 1.0, "c": 5.0})),
    "constant in a class": PLAIN.assign(z=PLAIN["x0"].pow(2).mask(IS_A, 2.0)),
    "sum in a class": PLAIN.assign(z=(PLAIN["x0"] + PLAIN["x1"]).where(IS_A, RNG.normal(size=60))),
    "class of one row": pd.concat([PLAIN, PLAIN.tail(1).assign(y="z")], ignore_index=True),
    "class of two rows": pd.concat([PLAIN, PLAIN.tail(2).assign(y="z")], ignore_index=True),
    "more columns than rows": simulate_table(12, 30),
    "two rows of each class": PLAIN.groupby("y").head(2).reset_index(drop=True),
    "one row of each class": PLAIN.groupby("y").head(1).reset_index(drop=True),
    "one class": PLAIN[IS_A],
    "no value": PLAIN.assign(z=np.nan),
}

VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("lda", {}),
    ("lda", {"covariance": "diagonal"}),
    ("lda", {"covariance": Shrunk(0.0)}),
    ("lda", {"covariance": ShrunkCorrelation(0.0)}),
    ("lda", {"covariance": Diagonal(0.0)}),
    ("lda", {"covariance": "nonlinear"}),
    ("lda", {"covariance": "t"}),
    ("lda", {"missing": "em"}),
    ("lda", {"collinear": "drop"}),
    ("qda", {}),
    ("qda", {"covariance": "diagonal"}),
    ("qda", {"covariance": Shrunk(0.0)}),
    ("qda", {"covariance": Diagonal(0.0)}),
    ("qda", {"covariance": "nonlinear"}),
    ("qda", {"missing": "em"}),
    ("rda", {"alpha": 0.5, "gamma": 0.5}),
    ("rda", {"alpha": 1.0, "gamma": 0.0}),
    ("naive_bayes", {}),
    ("naive_bayes", {"smoothing": 1e-9}),
    ("naive_bayes", {"method": "mle"}),
    ("naive_bayes", {"kernel": True}),
    ("shrunken_centroids", {"threshold": 1.0}),
    ("nearest_centroid", {}),
    ("kernel_density", {"bandwidth": 1.0}),
    ("mixture", {"components": 1}),
    ("mixture", {"components": 1, "covariance": "diagonal"}),
    ("mixture", {"components": 1, "covariance": "pooled"}),
    ("mixture", {"components": "bic", "covariance": "diagonal", "most": 2}),
    ("mixture", {"components": 2, "covariance": "EII", "starts": 1}),
    ("location", {"smoothing": 0.1}),
    ("plda", {}),
    ("pls", {"ncomp": 2}),
    ("sparse_lda", {"penalty": 0.1}),
    ("knn", {"k": 3}),
    ("knn", {"k": 3, "metric": "mahalanobis"}),
    ("logistic", {"separation": "warn"}),
    ("logistic", {"bias_reduction": True}),
    ("indicator", {}),
    ("manova", {}),
    ("manova", {"method": "srivastava"}),
    ("box_m", {}),
    ("permanova", {"permutations": 19, "seed": 0}),
    ("mlm", {}),
    ("stepwise", {}),
    ("stepwise", {"direction": "backward"}),
    ("moments", {}),
]

CALL = re.compile(r"\b(?P<verb>[a-z_]+)\((?P<options>(?:[^()]|\([^()]*\))*)\)")
OPTION = re.compile(
    r"""\b(?P<name>[a-z_]+)=(?P<value>discrim\.[\w.]+\([^()]*\)|"[\w-]+"|'[\w-]+'|True|False|-?\d[\d.e+-]*\d|-?\d|)"""
)
CLAUSE = re.compile(r"\b(?:[Pp]ass|[Gg]ive|[Uu]se|fit with)\b((?:(?!\. |; ).)*)")
ADDRESSED = re.compile(r"\bto ([a-z_]+)\(")
WITHOUT = re.compile(r"\b(?:leave out|without) ([a-z_]+)=")


class Advice(NamedTuple):
    """One alternative that a hint offers: a verb, options to pass and options to leave out."""

    verb: str
    options: dict[str, Any]
    removed: tuple[str, ...]


def parsed_value(text: str) -> Any:
    return eval(text, {"discrim": discrim, "n": 2}) if text else None


def options_in(text: str) -> dict[str, Any]:
    return {each["name"]: parsed_value(each["value"]) for each in OPTION.finditer(text)}


def advice_of(verb: str, message: str) -> list[Advice]:
    """Parse the alternatives of a hint."""
    found = []
    for match in CLAUSE.finditer(message):
        clause = match[1]
        addressed = ADDRESSED.search(clause)
        if addressed is None:
            calls = [call for call in CALL.finditer(clause) if hasattr(discrim, call["verb"])]
            found += [Advice(call["verb"], options_in(call["options"]), ()) for call in calls]
        own = CALL.sub(" ", clause)
        if options := options_in(WITHOUT.sub(" ", own)):
            to = verb if addressed is None else addressed[1]
            found.append(Advice(to, options, tuple(WITHOUT.findall(own))))
    return found


def names_of(verb: str) -> set[str]:
    return set(inspect.signature(getattr(discrim, verb)).parameters)


def fitted(verb: str, data: pd.DataFrame, options: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiscrimWarning)
        return getattr(discrim, verb)("y ~ .", data, **options)


def check_hint(verb: str, options: dict[str, Any], table: str) -> None:
    """Check that the hint of an error, if there is one, names parameters of the verb and works."""
    data = TABLES[table]
    try:
        fitted(verb, data, options)
        return
    except DiscrimError as error:
        message = f"{table}: {error}"
    for advice in advice_of(verb, message):
        assert set(advice.options) <= names_of(advice.verb), message
        if advice.verb == verb:
            given = {name: value for name, value in advice.options.items() if value is not None}
            assert not any(options.get(name) == value for name, value in given.items()), message
            assert set(advice.removed) <= set(options), message
        # No verb has anything to estimate a covariance from if no class has two rows.
        if table != "one row of each class" and all(value is not None for value in advice.options.values()):
            kept = (
                {k: v for k, v in options.items() if k not in advice.removed} if advice.verb == verb else {}
            )
            fitted(advice.verb, data, kept | advice.options)


HALVES = [list(TABLES)[::2], list(TABLES)[1::2]]


@pytest.mark.parametrize(
    ("verb", "options", "tables"),
    [
        pytest.param(*variant, HALVES[(k + j) % 2], marks=[pytest.mark.exhaustive] * j)
        for k, variant in enumerate(VARIANTS)
        for j in range(2)
    ],
    ids=str,
)
def test_hints_name_parameters_of_the_verb_and_work(verb, options, tables):
    for table in tables:
        check_hint(verb, options, table)
